// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/client.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "simulation/host.h"

namespace pmix::simulation {

namespace {

class Rank {
  public:
    Rank(int rank, const Library& pmix, History& history) : rank_(rank), pmix_(pmix), history_(history) {}

    void run() {
        pmix_proc_t self{};
        int status = pmix_.Init(&self, nullptr, 0);
        if (status != PMIX_SUCCESS) return fail("PMIx_Init", status);
        if (self.rank != static_cast<uint32_t>(rank_))
            return fail("the rank of PMIx_Init", static_cast<int>(self.rank));
        for (size_t i = 0; i < history_.program.size(); ++i) {
            const Step& s = history_.program[i];
            bool mine = false;
            for (int r : s.ranks) mine |= r == rank_;
            if (mine) take(static_cast<int>(i), s);
        }
        // Events still travel to handlers.
        wait_until([] { return false; }, now() + 200 * kMillisecond, "the last events");
        note("finalizes");
        status = pmix_.Finalize(nullptr, 0);
        if (status != PMIX_SUCCESS) return fail("PMIx_Finalize", status);
    }

  private:
    [[noreturn]] static void fail(const char* what, int status) {
        std::printf("WRONG %s: %d\n", what, status);
        std::fflush(stdout);
        _exit(1);
    }

    void take(int index, const Step& s) {
        const size_t at = history_.calls.size();
        history_.calls.push_back({index, rank_, ++history_.positions, 0, 0, 0});
        note("begins step %d: %s", index, text_of(s).c_str());
        uint32_t value = 0;
        const int status = call(s, value);
        Call& c = history_.calls[at];
        c.status = status;
        c.value = value;
        c.ended = ++history_.positions;
        note("ends step %d: %s: %d%s", index, text_of(s).c_str(), status,
             value == 0 ? "" : (" value " + std::to_string(value)).c_str());
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
                pmix_value_t v{};
                v.type = PMIX_UINT32;
                v.data.uint32 = s.value;
                return pmix_.Put(static_cast<pmix_scope_t>(s.scope), key.c_str(), &v);
            }
            case Kind::commit:
                return pmix_.Commit();
            case Kind::get:
                return get(s, key, value);
            case Kind::fence: {
                const auto all = members(s);
                std::vector<pmix_info_t> infos(1);
                pmix_.Info_load(infos.data(), PMIX_COLLECT_DATA, nullptr, PMIX_BOOL);
                return pmix_.Fence(all.data(), all.size(), s.collects ? infos.data() : nullptr, s.collects ? 1 : 0);
            }
            case Kind::publish: {
                pmix_info_t info;
                pmix_.Info_load(&info, published.c_str(), &s.value, PMIX_UINT32);
                return pmix_.Publish(&info, 1);
            }
            case Kind::lookup: {
                pmix_pdata_t data{};
                std::strcpy(data.key, published.c_str());
                const int status = pmix_.Lookup(&data, 1, nullptr, 0);
                if (status == PMIX_SUCCESS) value = data.value.data.uint32;
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
                return pmix_.Group_construct(group.c_str(), all.data(), all.size(), nullptr, 0, &results, &nresults);
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
            case Kind::again: {
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
        if (!listens_.insert(key).second) return PMIX_SUCCESS;
        pmix_status_t code = kFirstCode - key;
        const pmix_status_t id = pmix_.Register_event_handler(&code, 1, nullptr, 0, handler, nullptr, nullptr);
        return id >= 0 ? PMIX_SUCCESS : id;
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

    int get(const Step& s, const std::string& key, uint32_t& value) const {
        pmix_info_t infos[4];
        size_t n = 0;
        if (s.optional) pmix_.Info_load(&infos[n++], PMIX_OPTIONAL, nullptr, PMIX_BOOL);
        if (s.immediate) pmix_.Info_load(&infos[n++], PMIX_IMMEDIATE, nullptr, PMIX_BOOL);
        if (s.refresh) pmix_.Info_load(&infos[n++], PMIX_GET_REFRESH_CACHE, nullptr, PMIX_BOOL);
        const int seconds = 1 + s.milliseconds / 1000;
        pmix_.Info_load(&infos[n++], PMIX_TIMEOUT, &seconds, PMIX_INT);
        const pmix_proc_t from = proc(static_cast<uint32_t>(s.target));
        pmix_value_t* v = nullptr;
        const int status = pmix_.Get(&from, key.c_str(), infos, n, &v);
        if (status != PMIX_SUCCESS) return status;
        if (v == nullptr || v->type != PMIX_UINT32) return PMIX_ERR_TYPE_MISMATCH;
        value = v->data.uint32;
        pmix_.Value_destruct(v);
        std::free(v);
        return status;
    }

    static constexpr pmix_status_t kFirstCode = -3'000'000;  // beyond what the Standard has
    mutable std::set<int> listens_;
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
