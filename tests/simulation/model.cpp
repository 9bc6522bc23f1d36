// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/model.h"

#include <pmix_common.h>

#include <algorithm>
#include <map>
#include <optional>

namespace pmix::simulation {

namespace {

class Judge {
  public:
    explicit Judge(const History& h) : h_(h), by_step_(h.program.size()) {
        for (const Call& c : h.calls) by_step_[static_cast<size_t>(c.step)][c.rank] = &c;
    }

    std::vector<std::string> all() {
        for (const Call& c : h_.calls) {
            if (c.ended == 0) {
                if (h_.died[static_cast<size_t>(c.rank)] == 0) wrong(c, "never returns");
                continue;
            }
            if (h_.short_of_memory && c.status != PMIX_SUCCESS) continue;
            switch (step_of(c).kind) {
                case Kind::fence:
                case Kind::connect:
                case Kind::disconnect:
                case Kind::construct:
                case Kind::destruct:
                    collective(c);
                    break;
                case Kind::get:
                    get(c);
                    break;
                case Kind::lookup:
                    lookup(c);
                    break;
                case Kind::unpublish:
                    break;
                case Kind::fetch:
                case Kind::peers:
                    fetch(c);
                    break;
                case Kind::publish:
                    if (lacks(Lacks::publish) ? c.status != PMIX_ERR_NOT_SUPPORTED : c.status != PMIX_SUCCESS)
                        wrong(c, "ends with " + std::to_string(c.status));
                    break;
                case Kind::notify:
                    if (c.status != PMIX_SUCCESS && !(c.status == PMIX_ERR_NOT_SUPPORTED && lacks(Lacks::notify)))
                        wrong(c, "fails with " + std::to_string(c.status));
                    break;
                default:
                    if (c.status != PMIX_SUCCESS) wrong(c, "fails with " + std::to_string(c.status));
            }
        }
        events();
        modexes();
        return std::move(found_);
    }

  private:
    static constexpr Nanoseconds kTravels = 150 * kMillisecond;  // an event, or a connection's end, at most

    const Step& step_of(const Call& c) const { return h_.program[static_cast<size_t>(c.step)]; }
    bool same_node(int a, int b) const { return a / h_.size.ranks_per_node == b / h_.size.ranks_per_node; }
    bool is_member(const Step& s, int rank) const {
        return std::find(s.ranks.begin(), s.ranks.end(), rank) != s.ranks.end();
    }
    const Call* call_of(int step, int rank) const {
        const auto& calls = by_step_[static_cast<size_t>(step)];
        const auto i = calls.find(rank);
        return i == calls.end() ? nullptr : i->second;
    }
    // Where memory was short, any call may fail, and what depends on its success. A success is one.
    void wrong(const Call& c, const std::string& what) {
        if (!h_.short_of_memory || c.ended == 0) surely_wrong(c, what);
    }
    void surely_wrong(const Call& c, const std::string& what) {
        found_.push_back("step " + std::to_string(c.step) + " (" + text_of(step_of(c)) + "), rank " +
                         std::to_string(c.rank) + ": " + what);
    }

    bool lost_one(const Step& s) const {
        return std::any_of(s.ranks.begin(), s.ranks.end(), [&](int r) { return h_.died[static_cast<size_t>(r)] != 0; });
    }
    bool spans_nodes(const Step& s) const {
        return std::any_of(s.ranks.begin(), s.ranks.end(), [&](int r) { return !same_node(r, s.ranks[0]); });
    }
    bool lacks(Lacks what) const { return !h_.host.has(what); }

    // What the resource manager has answered to this step; null: nothing yet, or it was never asked.
    const Answered* answer_of(int step) const {
        const Step& s = h_.program[static_cast<size_t>(step)];
        const auto name = [](const Step& of) {
            const bool has_group = of.kind == Kind::construct || of.kind == Kind::destruct;
            return operation_name(name_of(of.kind) + (has_group ? " g" + std::to_string(of.key) : ""), of.ranks);
        };
        const auto all = h_.answered.find(name(s));
        size_t before = 0;
        for (size_t i = 0; i < static_cast<size_t>(step); ++i)
            before += name(h_.program[i]) == name(s) && !by_step_[i].empty();
        return all == h_.answered.end() || all->second.size() <= before ? nullptr : &all->second[before];
    }

    // How much later than the first member the last one has called.
    Nanoseconds lateness(int step) const {
        Nanoseconds first = kNever, last = 0;
        for (const auto& [rank, call] : by_step_[static_cast<size_t>(step)]) {
            first = std::min(first, call->from);
            last = std::max(last, call->from);
        }
        return last - first;
    }

    // The one status that a collective operation may have where no process is lost; nothing: it is a matter of time.
    std::optional<int> status_of(int step) const {
        constexpr Nanoseconds kMargin = 400 * kMillisecond;  // a stopped process, or a slow message
        const Step& s = h_.program[static_cast<size_t>(step)];
        const bool unsupported = (s.kind == Kind::fence && lacks(Lacks::fence)) ||
                                 ((s.kind == Kind::connect || s.kind == Kind::disconnect) && lacks(Lacks::connect)) ||
                                 ((s.kind == Kind::construct || s.kind == Kind::destruct) && lacks(Lacks::group));
        const Nanoseconds limit = s.milliseconds * kMillisecond;
        const Answered* answer = answer_of(step);
        if (limit != 0 && unsupported && spans_nodes(s)) return std::nullopt;     // each node ends its own part
        if (limit != 0 && lateness(step) > limit + kMargin) return std::nullopt;  // members may have ended meanwhile
        if (limit != 0 && answer != nullptr && answer->late) return PMIX_ERR_TIMEOUT;
        if (limit != 0 && lateness(step) > limit - kMargin) return std::nullopt;
        if (unsupported && (spans_nodes(s) || s.assigns)) return PMIX_ERR_NOT_SUPPORTED;
        return answer == nullptr ? PMIX_SUCCESS : answer->status;
    }

    // Nobody returns before all living members have called, and all have one status.
    void collective(const Call& c) {
        const Step& s = step_of(c);
        const bool lost = lost_one(s);
        const auto expected = status_of(c.step);
        if (!lost && expected && c.status != *expected)
            return wrong(c, "ends with " + std::to_string(c.status) + " in place of " + std::to_string(*expected));
        if (!lost && !expected && c.status != PMIX_SUCCESS && c.status != PMIX_ERR_TIMEOUT &&
            c.status != kHostFailure && c.status != PMIX_ERR_NOT_SUPPORTED && c.status != PMIX_ERR_PARTIAL_SUCCESS)
            return wrong(c, "fails with " + std::to_string(c.status));
        if (s.milliseconds != 0 && c.status == PMIX_SUCCESS && lateness(c.step) > (s.milliseconds + 400) * kMillisecond)
            wrong(c, "succeeds although a member has joined after the limit");
        for (int r : s.ranks) {
            const Call* other = call_of(c.step, r);
            if (expected && !(lost && s.milliseconds != 0) && other != nullptr && other->ended != 0 &&
                other->status != c.status && r > c.rank)
                wrong(c, "ends with " + std::to_string(c.status) + ", and at rank " + std::to_string(r) + " with " +
                             std::to_string(other->status));
            if (c.status == PMIX_SUCCESS && (other == nullptr || other->begun > c.ended) &&
                h_.died[static_cast<size_t>(r)] == 0)
                wrong(c, "returns before rank " + std::to_string(r) + " has called");
            if (c.status == PMIX_SUCCESS && other != nullptr && other->ended != 0 && other->status == PMIX_SUCCESS &&
                other->value != c.value)
                wrong(c, "has number " + std::to_string(c.value) + ", and rank " + std::to_string(r) + " has " +
                             std::to_string(other->value));
        }
        if (c.status == PMIX_SUCCESS && (c.value != 0) != s.assigns) wrong(c, "has a number, or none, unasked");
        if (s.milliseconds != 0 && !h_.has_faults && c.until - c.from > (s.milliseconds + 600) * kMillisecond)
            wrong(c, "takes " + std::to_string((c.until - c.from) / kMillisecond) + " ms");
        const Answered* answer = answer_of(c.step);
        if (answer == nullptr || lost || (s.milliseconds != 0 && c.status == PMIX_ERR_TIMEOUT)) return;
        if (answer->asked.milliseconds != s.milliseconds || answer->asked.collects != s.collects ||
            answer->asked.assigns != s.assigns)
            wrong(c, "reaches the resource manager with other directives");
        if (c.status == PMIX_SUCCESS && answer->number != c.value)
            wrong(c, "has not the number of the resource manager");
    }

    // All puts of a key by a rank, oldest first.
    std::vector<const Call*> puts(int rank, int key) const {
        std::vector<const Call*> all;
        for (const Call& c : h_.calls)
            if (c.rank == rank && step_of(c).kind == Kind::put && step_of(c).key == key) all.push_back(&c);
        return all;
    }

    // The position until which the puts of `target` are known to `reader` at a point: its commits before the last
    // fence that both have completed. `collected`: such a fence has brought the data.
    uint64_t known_until(int reader, int target, uint64_t point, bool collected) const {
        uint64_t known = 0;
        for (size_t i = 0; i < h_.program.size(); ++i) {
            const Step& s = h_.program[i];
            if (s.kind != Kind::fence || !is_member(s, reader) || !is_member(s, target)) continue;
            // A node sends its data where one of its own processes asks for it (decision F3).
            if (collected && !(s.collects && (!s.by_one || same_node(target, s.ranks[0])))) continue;
            const Call *mine = call_of(static_cast<int>(i), reader), *theirs = call_of(static_cast<int>(i), target);
            if (mine == nullptr || theirs == nullptr || mine->ended == 0 || mine->ended > point ||
                mine->status != PMIX_SUCCESS)
                continue;
            for (const Call& c : h_.calls)
                if (c.rank == target && step_of(c).kind == Kind::commit && c.ended != 0 && c.ended < theirs->begun)
                    known = std::max(known, c.begun);
        }
        return known;
    }

    // The position at which the rank's last step of a kind before a point began; 0: none.
    uint64_t last_of(int rank, Kind kind, uint64_t point) const {
        uint64_t last = 0;
        for (const Call& c : h_.calls)
            if (c.rank == rank && step_of(c).kind == kind && c.begun < point) last = c.begun;
        return last;
    }

    // A value that is not committed goes with PMIx_Finalize.
    bool is_lost(const Call& put, uint64_t point) const { return last_of(put.rank, Kind::again, point) > put.begun; }
    bool is_committed(const Call& put, uint64_t until) const {
        return std::any_of(h_.calls.begin(), h_.calls.end(), [&](const Call& c) {
            return c.rank == put.rank && step_of(c).kind == Kind::commit && c.begun > put.ended && c.begun <= until &&
                   !is_lost(put, c.begun);
        });
    }

    void get(const Call& c) {
        const Step& s = step_of(c);
        if (!h_.has_faults && is_decided(c) && c.until - c.from > 500 * kMillisecond)
            wrong(c, "takes " + std::to_string((c.until - c.from) / kMillisecond) + " ms");
        const auto all = puts(s.target, s.key);
        const bool own = s.target == c.rank, near = same_node(s.target, c.rank);
        const auto visible = [&](const Call& p) {
            const int scope = step_of(p).scope;
            return own || scope == PMIX_GLOBAL || scope == (near ? PMIX_LOCAL : PMIX_REMOTE);
        };
        const uint64_t known = own ? c.begun : known_until(c.rank, s.target, c.begun, false);
        const uint64_t fresh =
            own || near || (s.refresh && !lacks(Lacks::modex)) ? known : known_until(c.rank, s.target, c.begun, true);
        const Call *must = nullptr, *newest_sure = nullptr;  // the last known; the last that must not be missed
        for (const Call* p : all) {
            if (p->ended == 0) continue;
            const bool mine = own && p->ended < c.begun && !is_lost(*p, c.begun);
            const bool goes = step_of(*p).scope != PMIX_INTERNAL;
            if (mine || (goes && is_committed(*p, known))) must = p;
            if (mine || (goes && is_committed(*p, fresh))) newest_sure = p;
        }
        if (c.status == PMIX_SUCCESS) {
            for (const Call* p : all) {
                if (step_of(*p).value != c.value || p->begun > c.ended) continue;
                if (!visible(*p)) return surely_wrong(c, "gets a value of a scope that it is not in");
                if (newest_sure != nullptr && visible(*newest_sure) && p->begun < newest_sure->begun)
                    return wrong(c, "gets " + std::to_string(c.value) + ", which is older than " +
                                        std::to_string(step_of(*newest_sure).value));
                return;
            }
            return surely_wrong(c, "gets " + std::to_string(c.value) + ", which nobody has put there");
        }
        const bool dead = h_.died[static_cast<size_t>(s.target)] != 0;
        const bool failed =
            c.status == kHostFailure && h_.failed_modex.count({c.rank / h_.size.ranks_per_node, s.target}) != 0;
        const bool may_be_elsewhere = !own && !near && (s.optional || s.immediate || failed || lacks(Lacks::modex));
        const bool sure = must != nullptr && visible(*must) &&
                          !(may_be_elsewhere && (newest_sure == nullptr || !visible(*newest_sure)));
        // A later value of another scope takes the place of the one that was visible.
        bool hidden = false;
        for (const Call* p : all) hidden |= must != nullptr && p->begun > must->begun && !visible(*p);
        if (sure && !hidden && !dead)
            wrong(c, "fails with " + std::to_string(c.status) + " although " + std::to_string(step_of(*must).value) +
                         " is there");
        else if (!failed && c.status != PMIX_ERR_NOT_FOUND && c.status != PMIX_ERR_TIMEOUT &&
                 c.status != PMIX_ERR_EXISTS_OUTSIDE_SCOPE && !dead)
            wrong(c, "fails with " + std::to_string(c.status));
    }

    // A request whose answer does not depend on what the target will do waits for messages only.
    bool is_decided(const Call& c) const {
        const Step& s = step_of(c);
        const Nanoseconds left = h_.left[static_cast<size_t>(s.target)];
        return s.optional || s.immediate || (s.milliseconds == 0 && left != 0 && left + kTravels < c.from) ||
               std::any_of(h_.calls.begin(), h_.calls.end(), [&](const Call& o) {
                   return s.milliseconds == 0 && o.rank == s.target && step_of(o).kind == Kind::commit &&
                          o.ended != 0 && o.ended < c.begun;
               });
    }

    // A get for which the reader's node has all: a collecting fence has brought the newest that may be visible.
    bool has_been_brought(const Call& c) const {
        const Step& s = step_of(c);
        if (s.refresh || same_node(c.rank, s.target)) return false;
        const uint64_t known = known_until(c.rank, s.target, c.begun, true);
        const Call* newest = nullptr;
        for (const Call* p : puts(s.target, s.key))
            if (p->ended != 0 && step_of(*p).scope != PMIX_INTERNAL && is_committed(*p, known)) newest = p;
        return newest != nullptr && (step_of(*newest).scope == PMIX_GLOBAL || step_of(*newest).scope == PMIX_REMOTE);
    }

    // A server asks another node only for what one of its processes waits for and cannot find.
    void modexes() {
        if (h_.has_faults) return;
        for (const Modex& m : h_.modexes) {
            const bool needed = std::any_of(h_.calls.begin(), h_.calls.end(), [&](const Call& c) {
                const Step& s = step_of(c);
                return s.kind == Kind::get && s.target == m.rank && s.key == m.key &&
                       c.rank / h_.size.ranks_per_node == m.node && !s.optional && c.begun < m.position &&
                       (c.ended == 0 || c.ended > m.position) && !has_been_brought(c);
            });
            if (!needed)
                found_.push_back("node " + std::to_string(m.node) + " asks for k" + std::to_string(m.key) +
                                 " of rank " + std::to_string(m.rank) +
                                 ", which no process waits for, or a fence has brought");
        }
    }

    bool in_range(const Step& s, int rank) const {
        const int source = s.ranks[0];
        return s.scope == PMIX_RANGE_PROC_LOCAL ? rank == source
                                                : s.scope != PMIX_RANGE_LOCAL || same_node(rank, source);
    }

    // A handler that was there before gets each event of its range once, those of one process in their order; nobody
    // gets one twice.
    void events() {
        std::map<std::pair<int, uint32_t>, uint64_t> delivered;
        for (const Delivery& d : h_.deliveries)
            if (const auto [first, is_new] = delivered.emplace(std::pair(d.rank, d.event), d.position);
                !is_new && !has_registered(d.rank, first->second, d.position))
                found_.push_back("event " + std::to_string(d.event) + " reaches rank " + std::to_string(d.rank) +
                                 " twice");
        for (int rank = 0; rank < h_.size.ranks(); ++rank) {
            std::map<int, uint64_t> last;  // by source
            for (const Call& c : h_.calls) {
                const Step& s = step_of(c);
                if (s.kind != Kind::notify) continue;
                const auto d = delivered.find({rank, s.value});
                if (d == delivered.end()) {
                    if (c.ended != 0 && c.status == PMIX_SUCCESS && in_range(s, rank) &&
                        c.until + kTravels < h_.left[static_cast<size_t>(rank)] &&
                        (same_node(rank, c.rank) || !lacks(Lacks::notify)) && listens(rank, s.key, c.begun) &&
                        h_.died[static_cast<size_t>(rank)] == 0 && h_.died[static_cast<size_t>(c.rank)] == 0)
                        wrong(c, "does not reach rank " + std::to_string(rank));
                    continue;
                }
                if (!in_range(s, rank))
                    surely_wrong(c, "reaches rank " + std::to_string(rank) + ", which is not in its range");
                if (!may_hear(rank, s.key, d->second))
                    wrong(c, "reaches a handler of rank " + std::to_string(rank) + " that is gone");
                if (!listens(rank, s.key, c.begun)) continue;
                uint64_t& before = last[c.rank];
                if (d->second < before) wrong(c, "reaches rank " + std::to_string(rank) + " behind a later one");
                before = std::max(before, d->second);
            }
        }
    }
    bool listens(int rank, int code, uint64_t before) const {
        for (const Call& c : h_.calls)
            if (c.rank == rank && step_of(c).kind == Kind::listen && step_of(c).key == code && c.ended != 0 &&
                c.ended < before && c.status == PMIX_SUCCESS && last_of(rank, Kind::again, UINT64_MAX) < c.begun &&
                !is_deaf(rank, code, c.begun, UINT64_MAX))
                return true;
        return false;
    }
    bool is_deaf(int rank, int code, uint64_t after, uint64_t until) const {
        return std::any_of(h_.calls.begin(), h_.calls.end(), [&](const Call& c) {
            return c.rank == rank && step_of(c).kind == Kind::deaf && step_of(c).key == code && c.begun > after &&
                   c.ended != 0 && c.ended < until;
        });
    }
    // A new handler gets what the server keeps, though one before it has had the same.
    bool has_registered(int rank, uint64_t after, uint64_t until) const {
        return std::any_of(h_.calls.begin(), h_.calls.end(), [&](const Call& c) {
            return c.rank == rank && step_of(c).kind == Kind::listen && c.ended > after && c.begun < until;
        });
    }
    bool may_hear(int rank, int code, uint64_t at) const {
        for (const Call& c : h_.calls)
            if (c.rank == rank && step_of(c).kind == Kind::listen && step_of(c).key == code && c.begun < at &&
                !is_deaf(rank, code, c.begun, at))
                return true;
        return false;
    }

    // What the resource manager has registered is there at any time.
    void fetch(const Call& c) {
        const Step& s = step_of(c);
        const auto ranks_of = [&](int node) {
            uint32_t mask = 0;
            for (int r = 0; r < h_.size.ranks(); ++r)
                if (r / h_.size.ranks_per_node == node) mask |= 1u << r;
            return mask;
        };
        if (s.kind == Kind::fetch && s.key == kOfNobody) {
            if (c.status != PMIX_ERR_NOT_FOUND) wrong(c, "ends with " + std::to_string(c.status));
            return;
        }
        int value = 0;
        if (s.kind == Kind::peers)
            value = static_cast<int>(ranks_of(s.key));
        else if (s.key == kJobSize)
            value = h_.size.ranks();
        else if (s.key == kLocalRank)
            value = s.target % h_.size.ranks_per_node;
        else if (s.key == kHostname || s.key == kNodeNumber)
            value = s.target / h_.size.ranks_per_node;
        else
            value = static_cast<int>(ranks_of(c.rank / h_.size.ranks_per_node));
        if (c.status != PMIX_SUCCESS || static_cast<int>(c.value) != value)
            wrong(c, "ends with " + std::to_string(c.status) + " and " + std::to_string(c.value) + " in place of " +
                         std::to_string(value));
    }

    void lookup(const Call& c) {
        const Step& s = step_of(c);
        const Call *published = nullptr, *removed = nullptr;
        for (const Call& o : h_.calls) {
            const Step& other = step_of(o);
            if (other.key != s.key) continue;
            if (other.kind == Kind::publish && o.status == PMIX_SUCCESS) published = &o;
            if (other.kind == Kind::unpublish) removed = &o;
        }
        if (c.status == PMIX_SUCCESS) {
            if (published == nullptr || published->begun > c.ended || step_of(*published).value != c.value)
                surely_wrong(c, "finds what was not published");
            else if (removed != nullptr && removed->ended != 0 && removed->ended < c.begun &&
                     removed->begun > published->ended)
                surely_wrong(c, "finds what was removed");
        } else if (c.status != PMIX_ERR_NOT_FOUND) {
            wrong(c, "fails with " + std::to_string(c.status));
        } else if (published != nullptr && published->ended != 0 && published->ended < c.begun && removed == nullptr) {
            wrong(c, "does not find what was published");
        }
    }

    const History& h_;
    std::vector<std::map<int, const Call*>> by_step_;
    std::vector<std::string> found_;
};

}  // namespace

std::string operation_name(const std::string& kind, const std::vector<int>& members) {
    std::string name = kind;
    for (int r : members) name += ' ' + std::to_string(r);
    return name;
}

std::vector<std::string> violations(const History& history) {
    return Judge(history).all();
}

}  // namespace pmix::simulation
