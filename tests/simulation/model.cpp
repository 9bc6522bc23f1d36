// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/model.h"

#include <pmix_common.h>

#include <algorithm>
#include <map>

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
                default:
                    if (c.status != PMIX_SUCCESS) wrong(c, "fails with " + std::to_string(c.status));
            }
        }
        events();
        return std::move(found_);
    }

  private:
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
    void wrong(const Call& c, const std::string& what) {
        found_.push_back("step " + std::to_string(c.step) + " (" + text_of(step_of(c)) + "), rank " +
                         std::to_string(c.rank) + ": " + what);
    }

    // Nobody returns before all living members have called, and all have one status.
    void collective(const Call& c) {
        const Step& s = step_of(c);
        bool lost_one = false;
        for (int r : s.ranks) lost_one |= h_.died[static_cast<size_t>(r)] != 0;
        if (c.status != PMIX_SUCCESS && !lost_one) return wrong(c, "fails with " + std::to_string(c.status));
        for (int r : s.ranks) {
            const Call* other = call_of(c.step, r);
            if (other != nullptr && other->ended != 0 && other->status != c.status && r > c.rank)
                wrong(c, "ends with " + std::to_string(c.status) + ", and at rank " + std::to_string(r) + " with " +
                             std::to_string(other->status));
            if (c.status == PMIX_SUCCESS && (other == nullptr || other->begun > c.ended) &&
                h_.died[static_cast<size_t>(r)] == 0)
                wrong(c, "returns before rank " + std::to_string(r) + " has called");
        }
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
            if (s.kind != Kind::fence || (collected && !s.collects) || !is_member(s, reader) || !is_member(s, target))
                continue;
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
        const auto all = puts(s.target, s.key);
        const bool own = s.target == c.rank, near = same_node(s.target, c.rank);
        const auto visible = [&](const Call& p) {
            const int scope = step_of(p).scope;
            return own || scope == PMIX_GLOBAL || scope == (near ? PMIX_LOCAL : PMIX_REMOTE);
        };
        const uint64_t known = own ? c.begun : known_until(c.rank, s.target, c.begun, false);
        const uint64_t fresh = own || near || s.refresh ? known : known_until(c.rank, s.target, c.begun, true);
        const Call *must = nullptr, *newest_sure = nullptr;  // the last known; the last that must not be missed
        for (const Call* p : all) {
            if (p->ended == 0) continue;
            const bool mine = own && p->ended < c.begun && !is_lost(*p, c.begun);
            if (mine || is_committed(*p, known)) must = p;
            if (mine || is_committed(*p, fresh)) newest_sure = p;
        }
        if (c.status == PMIX_SUCCESS) {
            for (const Call* p : all) {
                if (step_of(*p).value != c.value || p->begun > c.ended) continue;
                if (!visible(*p)) return wrong(c, "gets a value of a scope that it is not in");
                if (newest_sure != nullptr && visible(*newest_sure) && p->begun < newest_sure->begun)
                    return wrong(c, "gets " + std::to_string(c.value) + ", which is older than " +
                                        std::to_string(step_of(*newest_sure).value));
                return;
            }
            return wrong(c, "gets " + std::to_string(c.value) + ", which nobody has put there");
        }
        const bool dead = h_.died[static_cast<size_t>(s.target)] != 0;
        const bool may_be_elsewhere = !own && !near && (s.optional || s.immediate);
        const bool sure = must != nullptr && visible(*must) &&
                          !(may_be_elsewhere && (newest_sure == nullptr || !visible(*newest_sure)));
        // A later value of another scope takes the place of the one that was visible.
        bool hidden = false;
        for (const Call* p : all) hidden |= must != nullptr && p->begun > must->begun && !visible(*p);
        if (sure && !hidden && !dead)
            wrong(c, "fails with " + std::to_string(c.status) + " although " + std::to_string(step_of(*must).value) +
                         " is there");
        else if (c.status != PMIX_ERR_NOT_FOUND && c.status != PMIX_ERR_TIMEOUT &&
                 c.status != PMIX_ERR_EXISTS_OUTSIDE_SCOPE && !dead)
            wrong(c, "fails with " + std::to_string(c.status));
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
            if (!delivered.emplace(std::pair(d.rank, d.event), d.position).second)
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
                        listens(rank, s.key, c.begun) && h_.died[static_cast<size_t>(rank)] == 0 &&
                        h_.died[static_cast<size_t>(c.rank)] == 0)
                        wrong(c, "does not reach rank " + std::to_string(rank));
                    continue;
                }
                if (!in_range(s, rank))
                    wrong(c, "reaches rank " + std::to_string(rank) + ", which is not in its range");
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
                c.ended < before && c.status == PMIX_SUCCESS && last_of(rank, Kind::again, UINT64_MAX) < c.begun)
                return true;
        return false;
    }

    void lookup(const Call& c) {
        const Step& s = step_of(c);
        const Call *published = nullptr, *removed = nullptr;
        for (const Call& o : h_.calls) {
            const Step& other = step_of(o);
            if (other.key != s.key) continue;
            if (other.kind == Kind::publish) published = &o;
            if (other.kind == Kind::unpublish) removed = &o;
        }
        if (c.status == PMIX_SUCCESS) {
            if (published == nullptr || published->begun > c.ended || step_of(*published).value != c.value)
                wrong(c, "finds what was not published");
            else if (removed != nullptr && removed->ended != 0 && removed->ended < c.begun &&
                     removed->begun > published->ended)
                wrong(c, "finds what was removed");
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

std::vector<std::string> violations(const History& history) {
    return Judge(history).all();
}

}  // namespace pmix::simulation
