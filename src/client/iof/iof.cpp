// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "client/events/events.h"
#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "client/iof/iof_streams.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/values/support.h"

namespace pmix::client {

using common::Bytes;
using common::Command;
using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

constexpr int kDrainMs = 2000;  // what the terminal may take for the last of it

// What can travel: an address means nothing to another process.
pmix_status_t copy_for_server(const pmix_info_t infos[], size_t n, InfoList& out) {
    for (const pmix_info_t& info : InfoView(infos, n)) {
        if (info.value.type == PMIX_POINTER) continue;
        WIREUP_RETURN_IF_ERROR(out.append(info));
    }
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t Iof::Handler::read(InfoView infos, bool has_function, bool shows) {
    pmix_status_t rc =
        common::check_required(infos, common::Function::PMIx_IOF_pull, common::level::client | common::level::server);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_IOF_BUFFERING_SIZE, &buffer_bytes);
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_IOF_BUFFERING_TIME, &buffer_seconds);
    if (rc == PMIX_SUCCESS) rc = read_iof_file_names(infos, files);
    uint32_t cache = 0;
    if (rc == PMIX_SUCCESS) rc = infos.get(PMIX_IOF_CACHE_SIZE, &cache);
    if (rc != PMIX_SUCCESS) return rc;
    format = read_iof_format(infos);
    merge = infos.flag(PMIX_IOF_MERGE_STDERR_STDOUT) || infos.flag(PMIX_MERGE_STDERR_STDOUT);
    const bool file_only = infos.flag(PMIX_IOF_FILE_ONLY) || infos.flag(PMIX_OUTPUT_NOCOPY);
    const bool too = infos.has(PMIX_IOF_LOCAL_OUTPUT) ? infos.flag(PMIX_IOF_LOCAL_OUTPUT) : shows;
    console = !file_only && (!has_function || too);
    return file_only && !files.any() ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
}

bool Iof::Handler::other_goes_on(const ProcId& source, pmix_iof_channel_t channel) const {
    const pmix_iof_channel_t both = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL;
    if (!merge || (channel & both) == 0 || (channels & both) != both) return false;
    const auto other = streams.find({source, static_cast<pmix_iof_channel_t>(both & ~channel)});
    return other == streams.end() || !other->second.ended;
}

struct Iof::Registration {
    std::shared_ptr<Handler> handler;
    common::IofPullRequest request;
    int timeout_s = 0;
};

Iof::Iof(Session& session)
    : session_(session),
      console_(session.loop(), [this](uint64_t reference, size_t cost) { give_credit(reference, cost); }),
      stdin_(session) {}

Iof::~Iof() = default;

// ---- registration ----

common::Result<size_t> Iof::add(Registration& r) {
    if (shut_) return PMIX_ERR_INIT;
    const size_t reference = next_++;
    handlers_.emplace(reference, r.handler);
    r.request.reference = reference;
    return reference;
}

void Iof::settle(size_t reference, pmix_status_t status) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end()) return;
    assert(!it->second->active);  // a registration is answered once
    if (common::succeeded(status)) {
        it->second->active = true;
    } else {
        handlers_.erase(it);
    }
}

pmix_status_t Iof::pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t infos[], size_t ninfos,
                        pmix_iof_channel_t channels, pmix_iof_cbfunc_t function, pmix_hdlr_reg_cbfunc_t callback,
                        void* cbdata) {
    if ((channels & PMIX_FWD_STDIN_CHANNEL) != 0) return PMIX_ERR_NOT_SUPPORTED;
    if ((channels & kIofOutputs) == 0 || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_directives(session_, infos, ninfos);
    auto list = checked_procs(procs, nprocs);
    if (rc == PMIX_SUCCESS && !list) rc = list.status();
    Registration r;
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &r.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    r.handler = std::make_shared<Handler>();
    r.handler->function = InfoView(infos, ninfos).flag(PMIX_IOF_FILE_ONLY) ? nullptr : function;
    rc = r.handler->read({infos, ninfos}, function != nullptr, writes_too_);
    InfoList copy;
    if (rc == PMIX_SUCCESS) rc = copy_for_server(infos, ninfos, copy);
    if (rc != PMIX_SUCCESS) return rc;
    if (!session_.connected()) return PMIX_ERR_UNREACH;
    r.handler->channels = r.request.channels = channels & kIofOutputs;
    r.request.procs = std::move(list).value();
    r.request.infos = common::Infos(std::move(copy));

    // Answers are taken on the loop, in their place among the frames: what comes behind finds the handler in service.
    if (callback != nullptr) {
        session_.loop().post([this, r = std::move(r), callback, cbdata]() mutable {
            auto added = add(r);
            if (!added) return callback(added.status(), SIZE_MAX, cbdata);
            const size_t reference = added.value();
            const auto answer = [this, reference, callback, cbdata](pmix_status_t status, common::Nothing&) {
                settle(reference, status);
                const bool good = common::succeeded(status);
                callback(good ? PMIX_SUCCESS : status, good ? reference : SIZE_MAX, cbdata);
            };
            const pmix_status_t asked = session_.ask_nb<Command::iof_pull>(r.request, answer, r.timeout_s);
            common::Nothing nothing;
            if (asked != PMIX_SUCCESS) answer(asked, nothing);
        });
        return PMIX_SUCCESS;
    }
    common::Result<size_t> added = PMIX_ERROR;
    session_.on_loop_and_wait([&] { added = add(r); });
    if (!added) return added.status();
    const size_t reference = added.value();
    if (session_.must_not_wait()) {
        rc = session_.ask_nb<Command::iof_pull>(
            r.request, [this, reference](pmix_status_t status, common::Nothing&) { settle(reference, status); });
        if (rc != PMIX_SUCCESS) settle(reference, rc);
        return rc == PMIX_SUCCESS ? static_cast<pmix_status_t>(reference) : rc;
    }
    pmix_status_t answered = PMIX_ERROR;
    transport::Waiter done;
    const auto finish = [&](pmix_status_t status) {
        const transport::CompleteAtEnd at_end(done);
        settle(reference, status);
        answered = status;
    };
    rc = session_.ask_nb<Command::iof_pull>(
        r.request, [&finish](pmix_status_t status, common::Nothing&) { finish(status); }, r.timeout_s);
    if (rc != PMIX_SUCCESS) session_.loop().post([&finish, rc] { finish(rc); });
    session_.loop().wait(done, transport::Deadline::never());
    return common::succeeded(answered) ? static_cast<pmix_status_t>(reference) : answered;
}

pmix_status_t Iof::show_all(InfoView infos) {
    Registration r;
    r.handler = std::make_shared<Handler>();
    pmix_status_t rc = r.handler->read(infos, false);
    if (rc != PMIX_SUCCESS) return rc;
    auto added = add(r);
    if (!added) return added.status();
    r.request.channels = kIofOutputs;
    return session_.ask_nb<Command::iof_pull>(
        r.request,
        [this, reference = added.value()](pmix_status_t status, common::Nothing&) { settle(reference, status); });
}

void Iof::drop(size_t reference) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end()) return;
    const auto handler = std::move(it->second);
    handlers_.erase(it);
    for (auto& [key, stream] : handler->streams) {
        transport::assert_on_loop();
        if (stream.timer != 0) session_.loop().cancel(stream.timer);
    }
}

// What comes for it from here on is for nobody.
void Iof::tell_gone(size_t reference) {
    common::IofDeregisterRequest request;
    request.reference = reference;
    if (auto payload = common::message_bytes(request)) session_.tell(Command::iof_deregister, payload.value());
}

// Everything that was received before is flushed; with the server's help also what the server still has. Where the
// caller must not wait, only what was received.
void Iof::leave(size_t reference, bool wait_for_server, int timeout_s, std::function<void(pmix_status_t)> answer) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end() || !it->second->active) return answer(PMIX_ERR_BAD_PARAM);
    const auto flush_and_drop = [this, reference] {
        auto at = handlers_.find(reference);
        if (at == handlers_.end()) return;
        const auto handler = at->second;
        finish_all(reference, *handler);
        drop(reference);
    };
    if (!wait_for_server) {
        flush_and_drop();
        tell_gone(reference);
        return answer(PMIX_SUCCESS);
    }
    const auto done = [flush_and_drop, answer](pmix_status_t status, common::Nothing&) {
        try {
            flush_and_drop();
        } catch (const std::bad_alloc&) {  // what was left of the output is lost
        }
        // A server that is gone delivers nothing any more either.
        answer(status == PMIX_ERR_BAD_PARAM || status == PMIX_ERR_TIMEOUT ? status : PMIX_SUCCESS);
    };
    common::IofDeregisterRequest request;
    request.reference = reference;
    pmix_status_t rc = PMIX_ERR_NOMEM;
    try {
        rc = session_.ask_nb<Command::iof_deregister>(request, done, timeout_s);
    } catch (const std::bad_alloc&) {
    }
    common::Nothing nothing;
    if (rc != PMIX_SUCCESS) done(rc, nothing);
}

pmix_status_t Iof::deregister(size_t reference, const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback,
                              void* cbdata) {
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(check_directives(session_, infos, ninfos));
    WIREUP_RETURN_IF_ERROR(read_timeout(infos, ninfos, &timeout_s));
    if (callback != nullptr) {
        session_.loop().post([this, reference, timeout_s, callback, cbdata] {
            try {
                leave(reference, true, timeout_s,
                      [callback, cbdata](pmix_status_t status) { callback(status, cbdata); });
            } catch (const std::bad_alloc&) {  // before it has been answered: the handler stays
                callback(PMIX_ERR_NOMEM, cbdata);
            }
        });
        return PMIX_SUCCESS;
    }
    pmix_status_t rc = PMIX_ERROR;
    if (session_.must_not_wait()) {
        leave(reference, false, 0, [&rc](pmix_status_t status) { rc = status; });
        return rc;
    }
    transport::Waiter done;
    session_.loop().post([&] {
        const auto answered = [&](pmix_status_t status) {
            rc = status;
            done.complete();
        };
        try {
            leave(reference, true, timeout_s, answered);
        } catch (const std::bad_alloc&) {
            answered(PMIX_ERR_NOMEM);
        }
    });
    session_.loop().wait(done, transport::Deadline::never());
    return rc;
}

// A child that reads its input to the end would wait for ever.
void Iof::end_own_input() {
    if (stdin_.running()) session_.on_loop_and_wait([this] { stdin_.stop(true); });
}

void Iof::shut() noexcept {
    if (shut_) return;
    try {
        for (const auto& [reference, handler] : std::map<size_t, std::shared_ptr<Handler>>(handlers_)) {
            finish_all(reference, *handler);
            drop(reference);
        }
        stdin_.stop(false);
    } catch (const std::bad_alloc&) {
    }
    shut_ = true;
    console_.drain(kDrainMs);
}

// ---- input ----

pmix_status_t Iof::push(const pmix_proc_t targets[], size_t ntargets, const pmix_byte_object_t* bytes,
                        const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    pmix_status_t rc = check_directives(session_, infos, ninfos);
    if (rc != PMIX_SUCCESS) return rc;
    const InfoView view(infos, ninfos);
    const bool ends = view.flag(PMIX_IOF_COMPLETE);
    const bool own_stdin = view.flag(PMIX_IOF_PUSH_STDIN);
    if (bytes == nullptr && !ends && !own_stdin) return PMIX_ERR_BAD_PARAM;
    if (bytes != nullptr && bytes->bytes == nullptr && bytes->size != 0) return PMIX_ERR_BAD_PARAM;
    if (bytes != nullptr && bytes->size > common::kMaxFramePayload / 2) return PMIX_ERR_OUT_OF_RESOURCE;
    if (!session_.connected()) return PMIX_ERR_UNREACH;

    const auto stop_own = [this, callback, cbdata] {
        session_.loop().post([this, callback, cbdata] {
            stdin_.stop(true);
            if (callback != nullptr) callback(PMIX_SUCCESS, cbdata);
        });
        return PMIX_SUCCESS;
    };
    if (ends && bytes == nullptr && (own_stdin || ntargets == 0)) return stop_own();

    auto list = checked_procs(targets, ntargets);
    if (!list) return list.status();
    if (ntargets == 0) return PMIX_ERR_BAD_PARAM;
    int timeout_s = 0;
    InfoList copy;
    rc = read_timeout(infos, ninfos, &timeout_s);
    if (rc == PMIX_SUCCESS) rc = copy_for_server(infos, ninfos, copy);
    if (rc != PMIX_SUCCESS) return rc;

    common::IofPushRequest request;
    request.procs = std::move(list).value();
    request.infos = common::Infos::borrow(copy.c_array(), copy.size());
    if (bytes != nullptr && bytes->size != 0)
        request.data = Bytes(reinterpret_cast<const uint8_t*>(bytes->bytes), bytes->size);
    request.probe = own_stdin;

    // Its own input goes on from the answer to the question whether it can go anywhere.
    const auto start_own = [this, own_stdin, procs = request.procs](InfoList&& given) {
        if (own_stdin) stdin_.start(procs, std::move(given));
    };
    if (callback == nullptr && !session_.must_not_wait()) {
        common::Nothing nothing;
        rc = session_.ask<Command::iof_push>(request, nothing, timeout_s);
        if (common::succeeded(rc)) session_.on_loop_and_wait([&] { start_own(std::move(copy)); });
        return common::plain(rc);
    }
    auto held = std::make_shared<InfoList>(std::move(copy));
    request.infos = common::Infos::borrow(held->c_array(), held->size());
    return session_.ask_nb<Command::iof_push>(
        request,
        [start_own, held, callback, cbdata](pmix_status_t status, common::Nothing&) {
            if (common::succeeded(status)) start_own(std::move(*held));
            if (callback != nullptr) callback(common::plain(status), cbdata);
        },
        timeout_s);
}

}  // namespace pmix::client
