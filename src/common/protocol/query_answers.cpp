// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/query_answers.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

#include "common/codec/pack.h"
#include "common/values/array_value.h"

namespace pmix::common {

namespace {

// What narrows a query, keys and encoded values, in an order that does not depend on the one in which it was written.
using Qualifiers = std::vector<std::pair<std::string, std::string>>;

Qualifiers qualifiers_in(InfoView infos) {
    Qualifiers out;
    for (const pmix_info_t& info : infos) {
        if (key_view(info) == PMIX_USERID || key_view(info) == PMIX_GRPID) continue;
        ByteWriter value;
        if (encode_value(value, info.value) != PMIX_SUCCESS) continue;
        const Bytes bytes = value.view();
        out.emplace_back(key_view(info), std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    std::ranges::sort(out);
    return out;
}

// Do they give a key that both have another value?
bool contradict(const Qualifiers& one, const Qualifiers& other) {
    return std::ranges::any_of(one, [&](const auto& named) {
        const auto has_key = [&](const auto& its) { return its.first == named.first; };
        return std::ranges::any_of(other, has_key) && !std::ranges::binary_search(other, named);
    });
}

class Matching {
  public:
    Matching(std::span<const pmix_query_t> queries, std::span<const AskedKey> asked) : asked_(asked) {
        answers_.resize(asked.size());
        for (size_t place = 0; place < asked.size(); ++place) {
            const auto [at, fresh] = qualifiers_.try_emplace(asked[place].query);
            if (fresh) at->second = qualifiers_in({queries[at->first].qualifiers, queries[at->first].nqual});
            open_[asked[place].key].push_back(place);
        }
        // Of one key, in the order of the queries, whatever the order in which the keys were found to be missing.
        for (auto& [key, places] : open_)
            std::ranges::stable_sort(places, {}, [&](size_t place) { return asked[place].query; });
        for (const auto& [query, qualifiers] : qualifiers_) alike_[qualifiers].push_back(query);
    }

    void take(InfoView answers) {
        std::vector<InfoView> bare;  // groups without qualifiers
        size_t groups = 0;
        for (const pmix_info_t& info : answers) {
            if (key_view(info) != PMIX_QUERY_RESULTS) {
                list(info);
                continue;
            }
            ++groups;
            const InfoView group = infos_in(info.value);
            const pmix_info_t* said = group.find(PMIX_QUERY_QUALIFIERS);
            if (said == nullptr) {
                bare.push_back(group);
            } else if (const auto* meant = meant_by(qualifiers_in(infos_in(said->value)))) {
                give_all(group, *meant);
            }
        }
        if (groups == bare.size() && are_in_order(bare)) {
            auto query = qualifiers_.begin();
            for (const InfoView& group : bare) give_all(group, {query++->first});
        } else {
            // Beside groups that name their query's qualifiers, those that name none are of a query without any.
            const auto plain = alike_.find({});
            const bool of_plain = groups != bare.size() && plain != alike_.end();
            for (const InfoView& group : bare) {
                if (of_plain) {
                    give_all(group, plain->second);
                } else {
                    std::ranges::for_each(group, [this](const pmix_info_t& info) { list(info); });
                }
            }
        }
        give_listed();
    }

    std::vector<const pmix_info_t*> answers() && { return std::move(answers_); }

  private:
    using Queries = std::vector<size_t>;

    auto is_of(const Queries& queries) const {
        return
            [this, queries](size_t place) { return std::ranges::find(queries, asked_[place].query) != queries.end(); };
    }

    // The queries that a group with these qualifiers may be of. A host may leave out what it has not looked at, as long
    // as that leaves one question; where there is one only, it may say more too.
    const Queries* meant_by(const Qualifiers& named) const {
        if (const auto at = alike_.find(named); at != alike_.end()) return &at->second;
        if (alike_.size() == 1) {
            const auto& [qualifiers, queries] = *alike_.begin();
            return contradict(named, qualifiers) ? nullptr : &queries;
        }
        const Queries* meant = nullptr;
        for (const auto& [qualifiers, queries] : alike_) {
            if (!std::ranges::includes(qualifiers, named)) continue;
            if (meant != nullptr) return nullptr;
            meant = &queries;
        }
        return meant;
    }

    // One group for each query, with keys of that one only.
    bool are_in_order(const std::vector<InfoView>& groups) const {
        if (groups.size() != qualifiers_.size()) return false;
        auto query = qualifiers_.begin();
        for (const InfoView& group : groups) {
            const size_t expected = query++->first;
            for (const pmix_info_t& info : group) {
                const auto at = open_.find(key_view(info));
                if (at != open_.end() && std::ranges::none_of(at->second, is_of({expected}))) return false;
            }
        }
        return true;
    }

    // Each to the first of these queries that still misses it.
    void give_all(InfoView group, const Queries& queries) {
        for (const pmix_info_t& info : group) {
            const auto at = open_.find(key_view(info));
            if (at == open_.end()) continue;
            const auto place = std::ranges::find_if(at->second, is_of(queries));
            if (place == at->second.end()) continue;
            answers_[*place] = &info;
            at->second.erase(place);
        }
    }

    void list(const pmix_info_t& info) {
        if (open_.contains(key_view(info))) listed_[key_view(info)].push_back(&info);
    }

    // In the order of the queries that ask for the key, where there is an answer for each of these or all of these ask
    // the same.
    void give_listed() {
        for (const auto& [key, infos] : listed_) {
            const std::vector<size_t>& places = open_[key];
            const auto same = [&](size_t place) {
                return qualifiers_.at(asked_[place].query) == qualifiers_.at(asked_[places.front()].query);
            };
            if (infos.size() < places.size() && !std::ranges::all_of(places, same)) continue;
            for (size_t n = 0; n < std::min(infos.size(), places.size()); ++n) answers_[places[n]] = infos[n];
        }
    }

    std::span<const AskedKey> asked_;
    std::vector<const pmix_info_t*> answers_;
    std::map<size_t, Qualifiers> qualifiers_;                         // of each query that is asked, in their order
    std::map<Qualifiers, Queries> alike_;                             // the queries that have them
    std::unordered_map<std::string_view, std::vector<size_t>> open_;  // by key, the places that have no answer yet
    std::unordered_map<std::string_view, std::vector<const pmix_info_t*>> listed_;
};

}  // namespace

std::vector<const pmix_info_t*> answers_by_query(std::span<const pmix_query_t> queries, std::span<const AskedKey> asked,
                                                 InfoView answers) {
    if (asked.empty()) return {};
    Matching matching(queries, asked);
    matching.take(answers);
    return std::move(matching).answers();
}

}  // namespace pmix::common
