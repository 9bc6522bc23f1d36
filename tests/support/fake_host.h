// SPDX-License-Identifier: BSD-3-Clause
// A tiny resource manager: every upcall is noted and answered in the style that the test chose.
//
// The module's functions carry no user data, so one FakeHost at a time; it is registered until its destruction. Upcalls
// are on the thread that runs the loop. answer_waiting() is for Style::later; join() for Style::other_thread.
#pragma once

#include <gtest/gtest.h>
#include <pmix_server.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "common/base/ids.h"
#include "common/values/value.h"

namespace pmix::test {

enum class Style {
    before_return,  // the callback runs inside the upcall
    later,          // the test says when
    other_thread,   // from a thread of the host's
    succeeded,      // PMIX_OPERATION_SUCCEEDED and no callback
    fails,          // an error return and no callback
};

// What an upcall looked like.
struct Seen {
    std::string what;
    common::ProcId proc;
    std::vector<common::ProcId> procs;
    bool null_procs = false;
    void* object = nullptr;
    bool null_callback = false;
    common::InfoList infos;
    std::vector<std::string> keys;
    bool null_keys = false;
    std::vector<uint8_t> blob;
    bool null_blob = true;
    std::vector<pmix_status_t> codes;
    int status = 0;
    std::string message;
    pmix_data_range_t range = PMIX_RANGE_UNDEF;
    size_t napps = 0;
    pmix_iof_channel_t channels = 0;
};

class FakeHost {
  public:
    FakeHost() { current() = this; }
    ~FakeHost() {
        join();
        current() = nullptr;
    }

    // An upcall that is not in here has Style::before_return and PMIX_SUCCESS.
    std::map<std::string, Style> styles;
    std::map<std::string, pmix_status_t> statuses;  // of the callback, or of the error return
    // What fence and direct modex bring back; the default fence brings back what it was given.
    std::function<std::vector<uint8_t>(const Seen&)> data;
    std::vector<std::pair<std::string, std::string>> published;  // what lookup finds, by key
    std::string spawned = "child.1";
    std::map<std::string, std::function<void()>>
        inside;  // what the host does while it is in an upcall, before it answers
    std::function<void(const Seen&, common::InfoList&)> group_results;  // default: nothing
    std::vector<Seen> seen;
    int released = 0;  // blobs given back by the library

    pmix_server_module_t module() const {
        pmix_server_module_t m{};
        m.client_finalized = &client_finalized;
        m.client_connected2 = &client_connected2;
        m.abort = &abort_;
        m.fence_nb = &fence_nb;
        m.direct_modex = &direct_modex;
        m.publish = &publish;
        m.lookup = &lookup;
        m.unpublish = &unpublish;
        m.spawn = &spawn;
        m.connect = &connect;
        m.disconnect = &disconnect;
        m.register_events = &register_events;
        m.deregister_events = &deregister_events;
        m.notify_event = &notify_event;
        m.group = &group;
        m.iof_pull = &iof_pull;
        m.push_stdin = &push_stdin;
        return m;
    }
    static pmix_status_t client_connected(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("client_connected", proc);
        s.object = object;
        s.null_callback = cb == nullptr;
        if (cb == nullptr) {
            current()->seen.push_back(std::move(s));
            return current()->status_of("client_connected");
        }
        return current()->op(std::move(s), cb, cbdata);
    }

    size_t count(const std::string& what) const {
        size_t n = 0;
        for (const Seen& s : seen) n += s.what == what;
        return n;
    }
    const Seen* last(const std::string& what) const {
        for (auto it = seen.rbegin(); it != seen.rend(); ++it)
            if (it->what == what) return &*it;
        return nullptr;
    }
    size_t waiting() const { return waiting_.size(); }
    void answer_waiting() {
        auto now = std::move(waiting_);
        waiting_.clear();
        for (auto& f : now) f();
    }
    void answer_first() {
        auto first = std::move(waiting_.front());
        waiting_.erase(waiting_.begin());
        first();
    }
    void answer_last() {
        auto last = std::move(waiting_.back());
        waiting_.pop_back();
        last();
    }
    void join() {
        for (auto& t : threads_) t.join();
        threads_.clear();
    }

  private:
    static FakeHost*& current() {
        static FakeHost* host = nullptr;
        return host;
    }
    static Seen about(const char* what, const pmix_proc_t* proc, const pmix_info_t* infos = nullptr, size_t n = 0) {
        Seen s;
        s.what = what;
        if (proc != nullptr) s.proc = common::ProcId(*proc);
        s.infos.append_all(infos, n);
        return s;
    }
    static void set_procs(Seen& s, const pmix_proc_t* procs, size_t n) {
        s.null_procs = procs == nullptr;
        for (size_t i = 0; i < n; ++i) s.procs.emplace_back(procs[i]);
    }
    static void set_keys(Seen& s, char** keys) {
        s.null_keys = keys == nullptr;
        for (char** k = keys; k != nullptr && *k != nullptr; ++k) s.keys.emplace_back(*k);
    }
    pmix_status_t status_of(const std::string& what) const {
        auto it = statuses.find(what);
        return it == statuses.end() ? PMIX_SUCCESS : it->second;
    }
    template <class F>
    pmix_status_t answer(const std::string& what, F&& call) {
        if (auto at = inside.find(what); at != inside.end()) at->second();
        auto it = styles.find(what);
        switch (it == styles.end() ? Style::before_return : it->second) {
            case Style::before_return:
                call(status_of(what));
                return PMIX_SUCCESS;
            case Style::later:
                waiting_.push_back([call, status = status_of(what)] { call(status); });
                return PMIX_SUCCESS;
            case Style::other_thread:
                threads_.emplace_back([call, status = status_of(what)] { call(status); });
                return PMIX_SUCCESS;
            case Style::succeeded:
                return PMIX_OPERATION_SUCCEEDED;
            case Style::fails:
                return status_of(what);
        }
        return PMIX_ERROR;
    }
    pmix_status_t op(Seen&& s, pmix_op_cbfunc_t cb, void* cbdata) {
        s.null_callback = cb == nullptr;
        std::string what = s.what;
        seen.push_back(std::move(s));
        return answer(what, [cb, cbdata](pmix_status_t status) { cb(status, cbdata); });
    }
    static void release(void* blob) {
        ++current()->released;
        delete static_cast<std::vector<uint8_t>*>(blob);
    }
    pmix_status_t modex(Seen&& s, pmix_modex_cbfunc_t cb, void* cbdata) {
        // The library gives back what an answer hands out; an answer that is never given owns it.
        auto kept = std::make_shared<std::vector<uint8_t>>(data ? data(s) : s.blob);
        std::string what = s.what;
        seen.push_back(std::move(s));
        return answer(what, [cb, cbdata, kept](pmix_status_t status) {
            auto* bytes = new std::vector<uint8_t>(std::move(*kept));
            cb(status, bytes->empty() ? nullptr : reinterpret_cast<const char*>(bytes->data()), bytes->size(), cbdata,
               &release, bytes);
        });
    }

    static pmix_status_t client_connected2(const pmix_proc_t* proc, void* object, pmix_info_t* infos, size_t n,
                                           pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("client_connected2", proc, infos, n);
        s.object = object;
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t client_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("client_finalized", proc);
        s.object = object;
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t abort_(const pmix_proc_t* proc, void* object, int status, const char* message,
                                pmix_proc_t* procs, size_t n, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("abort", proc);
        s.object = object;
        s.status = status;
        s.message = message == nullptr ? "" : message;
        set_procs(s, procs, n);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t fence_nb(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t n,
                                  char* blob, size_t size, pmix_modex_cbfunc_t cb, void* cbdata) {
        Seen s = about("fence", nullptr, infos, n);
        set_procs(s, procs, nprocs);
        s.null_blob = blob == nullptr;
        if (blob != nullptr) s.blob.assign(blob, blob + size);
        std::free(blob);  // it is the host's
        return current()->modex(std::move(s), cb, cbdata);
    }
    static pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t* infos, size_t n,
                                      pmix_modex_cbfunc_t cb, void* cbdata) {
        return current()->modex(about("direct_modex", proc, infos, n), cb, cbdata);
    }
    static pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t* infos, size_t n, pmix_op_cbfunc_t cb,
                                 void* cbdata) {
        return current()->op(about("publish", proc, infos, n), cb, cbdata);
    }
    static pmix_status_t lookup(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos, size_t n,
                                pmix_lookup_cbfunc_t cb, void* cbdata) {
        Seen s = about("lookup", proc, infos, n);
        set_keys(s, keys);
        FakeHost* host = current();
        common::ProcId owner = s.proc;
        host->seen.push_back(std::move(s));
        return host->answer("lookup", [host, owner, cb, cbdata](pmix_status_t status) {
            auto found = common::CArray<pmix_pdata_t>::zeroed(host->published.size());
            for (size_t i = 0; i < host->published.size(); ++i) {
                pmix_pdata_t& p = (*found)[i];
                p.proc = owner.to_c();
                common::set_key(p.key, host->published[i].first);
                common::load_value(&p.value, host->published[i].second.c_str(), PMIX_STRING);
            }
            cb(status, found->data(), found->size(), cbdata);
        });
    }
    static pmix_status_t unpublish(const pmix_proc_t* proc, char** keys, const pmix_info_t* infos, size_t n,
                                   pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("unpublish", proc, infos, n);
        set_keys(s, keys);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t spawn(const pmix_proc_t* proc, const pmix_info_t* infos, size_t n, const pmix_app_t*,
                               size_t napps, pmix_spawn_cbfunc_t cb, void* cbdata) {
        Seen s = about("spawn", proc, infos, n);
        s.napps = napps;
        FakeHost* host = current();
        host->seen.push_back(std::move(s));
        return host->answer("spawn", [host, cb, cbdata](pmix_status_t status) {
            pmix_proc_t child = common::ProcId(host->spawned, 0).to_c();
            cb(status, child.nspace, cbdata);
        });
    }
    static pmix_status_t connect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t n,
                                 pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("connect", nullptr, infos, n);
        set_procs(s, procs, nprocs);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t disconnect(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t n,
                                    pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("disconnect", nullptr, infos, n);
        set_procs(s, procs, nprocs);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t group(pmix_group_operation_t what, char* name, const pmix_proc_t* procs, size_t nprocs,
                               const pmix_info_t* infos, size_t n, pmix_info_cbfunc_t cb, void* cbdata) {
        Seen s = about("group", nullptr, infos, n);
        set_procs(s, procs, nprocs);
        s.status = what;
        s.message = name;
        FakeHost* host = current();
        auto results = std::make_shared<common::InfoList>();
        if (host->group_results && what != PMIX_GROUP_CANCEL) host->group_results(s, *results);
        host->seen.push_back(std::move(s));
        return host->answer("group", [cb, cbdata, results](pmix_status_t status) {
            cb(status, results->c_array(), results->size(), cbdata, nullptr, nullptr);
        });
    }
    static pmix_status_t register_events(pmix_status_t* codes, size_t ncodes, const pmix_info_t* infos, size_t n,
                                         pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("register_events", nullptr, infos, n);
        s.codes.assign(codes, codes + ncodes);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t deregister_events(pmix_status_t* codes, size_t ncodes, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("deregister_events", nullptr);
        s.codes.assign(codes, codes + ncodes);
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                                      pmix_info_t* infos, size_t n, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("notify_event", source, infos, n);
        s.codes.push_back(code);
        s.range = range;
        return current()->op(std::move(s), cb, cbdata);
    }

    static pmix_status_t iof_pull(const pmix_proc_t* procs, size_t nprocs, const pmix_info_t* infos, size_t n,
                                  pmix_iof_channel_t channels, pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("iof_pull", nullptr, infos, n);
        set_procs(s, procs, nprocs);
        s.channels = channels;
        return current()->op(std::move(s), cb, cbdata);
    }
    static pmix_status_t push_stdin(const pmix_proc_t* source, const pmix_proc_t* targets, size_t ntargets,
                                    const pmix_info_t* infos, size_t n, const pmix_byte_object_t* bytes,
                                    pmix_op_cbfunc_t cb, void* cbdata) {
        Seen s = about("push_stdin", source, infos, n);
        set_procs(s, targets, ntargets);
        s.null_blob = bytes->bytes == nullptr;
        s.blob.assign(bytes->bytes, bytes->bytes + bytes->size);
        return current()->op(std::move(s), cb, cbdata);
    }

    std::vector<std::function<void()>> waiting_;
    std::vector<std::thread> threads_;
};

}  // namespace pmix::test
