// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/client.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <set>

#include "simulation/host.h"
#include "simulation/memory.h"
#include "simulation/values.h"

namespace pmix::simulation {

namespace {

class Rank {
  public:
    Rank(int rank, const Library& pmix, History& history) : rank_(rank), pmix_(pmix), history_(history) {}

    void run() {
        pmix_proc_t self{};
        int status = pmix_.Init(&self, nullptr, 0);
        if (status != PMIX_SUCCESS) {
            note("cannot initialise: %d", status);
            history_.died[static_cast<size_t>(rank_)] = ++history_.positions;
            if (refused_allocations() == 0) fail("PMIx_Init", status);
            pmix_.Finalize(nullptr, 0);  // alone, where the server could not describe itself
            return;
        }
        if (self.rank != static_cast<uint32_t>(rank_))
            return fail("the rank of PMIx_Init", static_cast<int>(self.rank));
        for (size_t i = 0; i < history_.program.size(); ++i) {
            const Step& s = history_.program[i];
            bool mine = false;
            for (int r : s.ranks) mine |= r == rank_;
            if (gives_up_) break;
            if (mine && !undone_.count(s.unit)) take(static_cast<int>(i), s);
        }
        wait_for_later();
        // Events still travel to handlers.
        wait_until([] { return false; }, now() + 200 * kMillisecond, "the last events");
        note("finalizes");
        history_.left[static_cast<size_t>(rank_)] = now();
        status = pmix_.Finalize(nullptr, 0);
        for (int tries = 0; status == PMIX_ERR_NOMEM && tries < 5; ++tries) status = pmix_.Finalize(nullptr, 0);
        note("has finalized: %d", status);
        if (status != PMIX_SUCCESS && refused_allocations() == 0) fail("PMIx_Finalize", status);
    }

  private:
    [[noreturn]] static void fail(const char* what, int status) {
        std::printf("WRONG %s: %d\n", what, status);
        std::fflush(stdout);
        _exit(1);
    }

    void take(int index, const Step& s) {
        const size_t at = history_.calls.size();
        history_.calls.push_back({index, rank_, ++history_.positions, 0, 0, 0, now(), 0});
        note("begins step %d: %s", index, text_of(s).c_str());
        uint32_t value = 0;
        if (s.kind == Kind::get && s.later) return get_later(s, at);
        int status = call(s, value);
        // Others wait for the data.
        while (status == PMIX_ERR_NOMEM && (s.kind == Kind::put || s.kind == Kind::commit)) status = call(s, value);
        // The others may have succeeded: all that is left to a program is to end.
        const bool is_collective = s.kind == Kind::fence || s.kind == Kind::connect || s.kind == Kind::disconnect ||
                                   s.kind == Kind::construct || s.kind == Kind::destruct || s.kind == Kind::again;
        gives_up_ = history_.short_of_memory && is_collective && status != PMIX_SUCCESS && status != kHostFailure &&
                    status != PMIX_ERR_NOT_SUPPORTED && status != PMIX_ERR_TIMEOUT;
        end(at, status, value);
        // Without the first part of what belongs together the others are not taken.
        if (status != PMIX_SUCCESS && (s.kind == Kind::construct || s.kind == Kind::connect)) undone_.insert(s.unit);
    }

    void end(size_t at, int status, uint32_t value) const {
        Call& c = history_.calls[at];
        c.status = status;
        c.value = value;
        c.ended = ++history_.positions;
        c.until = now();
        note("ends step %d: %s: %d%s", c.step, text_of(history_.program[static_cast<size_t>(c.step)]).c_str(), status,
             value == 0 ? "" : (" value " + std::to_string(value)).c_str());
    }

    struct Later {
        const Rank* rank;
        size_t at;
    };
    void get_later(const Step& s, size_t at) {
        pmix_info_t infos[kGetInfos];
        const size_t n = get_infos(s, infos);
        const pmix_proc_t from = proc(static_cast<uint32_t>(s.target));
        ++open_;
        auto* later = new Later{this, at};
        const int status = pmix_.Get_nb(
            &from, ("k" + std::to_string(s.key)).c_str(), infos, n,
            [](pmix_status_t of_get, pmix_value_t* v, void* p) {
                auto* l = static_cast<Later*>(p);
                l->rank->end(l->at, of_get, of_get == PMIX_SUCCESS && v != nullptr ? number_of(*v) : 0);
                --l->rank->open_;
                delete l;
            },
            later);
        if (status == PMIX_SUCCESS) return;
        end(at, status, 0);
        --open_;
        delete later;
    }
    void wait_for_later() const {
        wait_until([this] { return open_ == 0; }, kNever, "answers to requests");
    }

    static pmix_proc_t proc(uint32_t rank) {
        pmix_proc_t p{};
        std::strcpy(p.nspace, kJob);
        p.rank = rank;
        return p;
    }
    std::vector<pmix_proc_t> members(const Step& s) const {
        std::vector<pmix_proc_t> all;
        if (s.by_name) {
            pmix_proc_t group{};
            std::strcpy(group.nspace, ("g" + std::to_string(s.key)).c_str());
            group.rank = PMIX_RANK_WILDCARD;
            return {group};
        }
        if (static_cast<int>(s.ranks.size()) == history_.size.ranks() && s.kind == Kind::fence)
            return {proc(PMIX_RANK_WILDCARD)};
        for (int r : s.ranks) all.push_back(proc(static_cast<uint32_t>(r)));
        return all;
    }

    int call(const Step& s, uint32_t& value) const {
        const std::string key = "k" + std::to_string(s.key), published = "p" + std::to_string(s.key),
                          group = "g" + std::to_string(s.key);
        switch (s.kind) {
            case Kind::put: {
                pmix_value_t v = value_of(pmix_, s.value);
                const int status = pmix_.Put(static_cast<pmix_scope_t>(s.scope), key.c_str(), &v);
                pmix_.Value_destruct(&v);
                return status;
            }
            case Kind::commit:
                return pmix_.Commit();
            case Kind::get:
                return get(s, key, value);
            case Kind::fence: {
                const auto all = members(s);
                pmix_info_t infos[2];
                const size_t n = operation_infos(s, s.collects ? PMIX_COLLECT_DATA : nullptr, infos);
                return pmix_.Fence(all.data(), all.size(), n == 0 ? nullptr : infos, n);
            }
            case Kind::publish: {
                pmix_info_t info;
                pmix_value_t v = value_of(pmix_, s.value);
                pmix_.Load_key(info.key, published.c_str());
                info.flags = 0;
                info.value = v;
                const int status = pmix_.Publish(&info, 1);
                pmix_.Value_destruct(&v);
                return status;
            }
            case Kind::lookup: {
                pmix_pdata_t data{};
                std::strcpy(data.key, published.c_str());
                const int status = pmix_.Lookup(&data, 1, nullptr, 0);
                if (status == PMIX_SUCCESS) value = number_of(data.value);
                pmix_.Pdata_destruct(&data);
                return status;
            }
            case Kind::unpublish: {
                std::string k = published;
                char* keys[] = {k.data(), nullptr};
                return pmix_.Unpublish(keys, nullptr, 0);
            }
            case Kind::connect:
            case Kind::disconnect: {
                const auto all = members(s);
                return s.kind == Kind::connect ? pmix_.Connect(all.data(), all.size(), nullptr, 0)
                                               : pmix_.Disconnect(all.data(), all.size(), nullptr, 0);
            }
            case Kind::construct: {
                const auto all = members(s);
                pmix_info_t* results = nullptr;
                size_t nresults = 0;
                pmix_info_t infos[2];
                const size_t n = operation_infos(s, s.assigns ? PMIX_GROUP_ASSIGN_CONTEXT_ID : nullptr, infos);
                const int status = pmix_.Group_construct(group.c_str(), all.data(), all.size(),
                                                         n == 0 ? nullptr : infos, n, &results, &nresults);
                for (size_t i = 0; i < nresults; ++i)
                    if (std::strcmp(results[i].key, PMIX_GROUP_CONTEXT_ID) == 0 && results[i].value.type == PMIX_SIZE)
                        value = static_cast<uint32_t>(results[i].value.data.size);
                if (results != nullptr) pmix_.Info_free(results, nresults);
                return status;
            }
            case Kind::listen:
                return listen(s.key);
            case Kind::notify: {
                const pmix_proc_t self = proc(static_cast<uint32_t>(rank_));
                pmix_info_t info;
                pmix_.Info_load(&info, "number", &s.value, PMIX_UINT32);
                return pmix_.Notify_event(kFirstCode - s.key, &self, static_cast<pmix_data_range_t>(s.scope), &info, 1,
                                          nullptr, nullptr);
            }
            case Kind::destruct:
                return pmix_.Group_destruct(group.c_str(), nullptr, 0);
            case Kind::deaf:
                return deaf(s.key);
            case Kind::fetch:
                return fetch(s, value);
            case Kind::peers: {
                pmix_proc_t* procs = nullptr;
                size_t n = 0;
                const int status = pmix_.Resolve_peers(("n" + std::to_string(s.key)).c_str(), kJob, &procs, &n);
                for (size_t i = 0; i < n; ++i) value |= 1u << procs[i].rank;
                std::free(procs);
                return status;
            }
            case Kind::again: {
                wait_for_later();
                const int status = pmix_.Finalize(nullptr, 0);
                if (status != PMIX_SUCCESS) return status;
                listens_.clear();
                pmix_proc_t self{};
                return pmix_.Init(&self, nullptr, 0);
            }
            case Kind::wait:
                wait_until([] { return false; }, now() + s.milliseconds * kMillisecond, "a wait of the program");
                return PMIX_SUCCESS;
        }
        return PMIX_ERROR;
    }

    // One handler a code, however often the program asks for it.
    int listen(int key) const {
        if (listens_.count(key) != 0) return PMIX_SUCCESS;
        pmix_status_t code = kFirstCode - key;
        const pmix_status_t id = pmix_.Register_event_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr);
        if (id >= 0) listens_[key] = static_cast<size_t>(id);
        return id >= 0 ? PMIX_SUCCESS : id;
    }
    int deaf(int key) const {
        const auto at = listens_.find(key);
        if (at == listens_.end()) return PMIX_SUCCESS;
        const size_t id = at->second;
        listens_.erase(at);
        return pmix_.Deregister_event_handler(id, nullptr, nullptr);
    }
    static void handler(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[], size_t n, pmix_info_t*, size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* of) {
        const auto& self = *static_cast<const Rank*>(t_self->process->user);
        for (size_t i = 0; i < n; ++i)
            if (std::strcmp(infos[i].key, "number") == 0) {
                note("gets event %u", infos[i].value.data.uint32);
                self.history_.deliveries.push_back({self.rank_, infos[i].value.data.uint32, ++self.history_.positions});
            }
        if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, of);
    }

    // A limit is each member's; another directive may be one member's alone.
    size_t operation_infos(const Step& s, const char* directive, pmix_info_t infos[2]) const {
        size_t n = 0;
        const int seconds = s.milliseconds / 1000;
        if (directive != nullptr && (!s.by_one || s.ranks[0] == rank_))
            pmix_.Info_load(&infos[n++], directive, nullptr, PMIX_BOOL);
        if (seconds > 0) pmix_.Info_load(&infos[n++], PMIX_TIMEOUT, &seconds, PMIX_INT);
        return n;
    }

    static constexpr size_t kGetInfos = 6;
    size_t get_infos(const Step& s, pmix_info_t infos[kGetInfos]) const {
        size_t n = 0;
        if (s.pointer) pmix_.Info_load(&infos[n++], PMIX_GET_POINTER_VALUES, nullptr, PMIX_BOOL);
        if (s.fixed) pmix_.Info_load(&infos[n++], PMIX_GET_STATIC_VALUES, nullptr, PMIX_BOOL);
        if (s.optional) pmix_.Info_load(&infos[n++], PMIX_OPTIONAL, nullptr, PMIX_BOOL);
        if (s.immediate) pmix_.Info_load(&infos[n++], PMIX_IMMEDIATE, nullptr, PMIX_BOOL);
        if (s.refresh) pmix_.Info_load(&infos[n++], PMIX_GET_REFRESH_CACHE, nullptr, PMIX_BOOL);
        const int seconds = 1 + s.milliseconds / 1000;
        if (s.milliseconds != 0) pmix_.Info_load(&infos[n++], PMIX_TIMEOUT, &seconds, PMIX_INT);
        return n;
    }

    int get(const Step& s, const std::string& key, uint32_t& value) const {
        pmix_info_t infos[kGetInfos];
        const size_t n = get_infos(s, infos);
        const pmix_proc_t from = proc(static_cast<uint32_t>(s.target));
        pmix_value_t storage{};
        pmix_value_t* v = s.fixed ? &storage : nullptr;
        const int status = pmix_.Get(&from, key.c_str(), infos, n, &v);
        if (status != PMIX_SUCCESS) return status;
        value = number_of(*v);
        if (s.pointer) return status;
        pmix_.Value_destruct(v);
        if (!s.fixed) std::free(v);
        return status;
    }

    // Data that the resource manager has registered.
    int fetch(const Step& s, uint32_t& value) const {
        constexpr const char* kKeys[] = {PMIX_JOB_SIZE, PMIX_LOCAL_RANK,  PMIX_HOSTNAME,
                                         PMIX_NODEID,   PMIX_LOCAL_PEERS, "k0"};
        const bool of_job = s.key == kJobSize || s.key == kLocalPeers;
        const pmix_proc_t from = proc(of_job               ? PMIX_RANK_WILDCARD
                                      : s.key == kOfNobody ? static_cast<uint32_t>(history_.size.ranks() + 3)
                                                           : static_cast<uint32_t>(s.target));
        pmix_value_t* v = nullptr;
        const int status = pmix_.Get(&from, kKeys[s.key], nullptr, 0, &v);
        if (status != PMIX_SUCCESS) return status;
        if (v->type == PMIX_UINT32)
            value = v->data.uint32;
        else if (v->type == PMIX_UINT16)
            value = v->data.uint16;
        else if (v->type == PMIX_STRING && s.key == kHostname)
            value = static_cast<uint32_t>(std::atoi(v->data.string + 1));
        else if (v->type == PMIX_STRING && s.key == kLocalPeers)
            for (const char* c = v->data.string; *c != '\0'; ++c)
                if (*c != ',') value |= 1u << (*c - '0');
        pmix_.Value_destruct(v);
        std::free(v);
        return status;
    }

    static constexpr pmix_status_t kFirstCode = -3'000'000;  // beyond what the Standard has
    mutable std::map<int, size_t> listens_;                  // code: handler
    std::set<int> undone_;                                   // units
    bool gives_up_ = false;
    mutable int open_ = 0;  // requests of PMIx_Get_nb
    const int rank_;
    const Library& pmix_;
    History& history_;
};

}  // namespace

void run_rank(int rank, const Library& pmix, History& history) {
    Rank self(rank, pmix, history);
    t_self->process->user = &self;
    self.run();
}

}  // namespace pmix::simulation
