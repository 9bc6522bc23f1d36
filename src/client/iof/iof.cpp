// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof.h"

#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <set>

#include "client/events/events.h"
#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/codec/pack.h"
#include "common/values/support.h"

namespace pmix::client {

using common::Bytes;
using common::Command;
using common::InfoList;
using common::InfoView;
using common::ProcId;

namespace {

constexpr int kDrainMs = 2000;  // what the terminal may take for the last of it
constexpr pmix_iof_channel_t kOutputs = PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL | PMIX_FWD_STDDIAG_CHANNEL;

std::string_view view_of(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string now_text() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return iof_timestamp(now.tv_sec, static_cast<int>(now.tv_nsec / 1'000'000));
}

// What can travel: an address means nothing to another process.
pmix_status_t copy_for_server(const pmix_info_t infos[], size_t n, InfoList& out) {
    for (const pmix_info_t& info : InfoView(infos, n)) {
        if (info.value.type == PMIX_POINTER) continue;
        WIREUP_RETURN_IF_ERROR(out.append(info));
    }
    return PMIX_SUCCESS;
}

}  // namespace

// One process and channel, for one registration.
struct Iof::Stream {
    Stream(IofFormat format, const ProcId& s, pmix_iof_channel_t c, std::string_view where)
        : source(s), channel(c), lines(format, s, c, where) {}
    ProcId source;
    pmix_iof_channel_t channel;
    Lines lines;
    std::vector<uint8_t> buffered;
    transport::TimerId timer = 0;
    transport::Descriptor file;
    bool file_asked = false;
    bool ended = false;
};

struct Iof::Handler {
    pmix_iof_cbfunc_t function = nullptr;
    IofFormat format;
    IofFileNames files;
    bool console = false;
    bool merge = false;
    pmix_iof_channel_t channels = kOutputs;
    std::set<std::string> shared_files;  // that it has made
    uint32_t buffer_bytes = 0;           // 0, with no time either: not buffered
    uint32_t buffer_seconds = 0;
    bool active = false;
    size_t owed = 0;
    std::map<std::pair<ProcId, pmix_iof_channel_t>, Stream> streams;

    // shows: what it is given to call is no reason not to write too.
    pmix_status_t read(InfoView infos, bool has_function, bool shows = false);
    bool buffers() const noexcept { return buffer_bytes != 0 || buffer_seconds != 0; }
    // The other one of two merged channels may still have output of this process.
    bool other_goes_on(const ProcId& source, pmix_iof_channel_t channel) const;
};

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

// What is under way when a server is told that nobody takes it: enough that it is mostly told once.
constexpr size_t kToldGone = 64;

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
    if ((channels & kOutputs) == 0 || nprocs == 0) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_infos(infos, ninfos);
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
    r.handler->channels = r.request.channels = channels & kOutputs;
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
    r.request.channels = kOutputs;
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
void Iof::leave(size_t reference, bool wait_for_server, std::function<void(pmix_status_t)> answer) {
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
        flush_and_drop();
        // A server that is gone delivers nothing any more either.
        answer(status == PMIX_ERR_BAD_PARAM ? status : PMIX_SUCCESS);
    };
    common::IofDeregisterRequest request;
    request.reference = reference;
    const pmix_status_t rc = session_.ask_nb<Command::iof_deregister>(request, done);
    common::Nothing nothing;
    if (rc != PMIX_SUCCESS) done(rc, nothing);
}

pmix_status_t Iof::deregister(size_t reference, pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback != nullptr) {
        session_.loop().post([this, reference, callback, cbdata] {
            leave(reference, true, [callback, cbdata](pmix_status_t status) { callback(status, cbdata); });
        });
        return PMIX_SUCCESS;
    }
    pmix_status_t rc = PMIX_ERROR;
    if (session_.must_not_wait()) {
        leave(reference, false, [&rc](pmix_status_t status) { rc = status; });
        return rc;
    }
    transport::Waiter done;
    session_.loop().post([&] {
        leave(reference, true, [&](pmix_status_t status) {
            rc = status;
            done.complete();
        });
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

// ---- output comes in ----

std::string Iof::where_of(const ProcId& source) const {
    const dstore::Reader* reader = session_.reader(source.nspace);
    if (reader == nullptr || !common::is_real_rank(source.rank)) return {};
    std::string where;
    if (const auto node = reader->node_of(source.rank)) where = reader->node_name(*node);
    dstore::Found found;
    common::Value pid;
    uint64_t number = 0;
    if (reader->find(dstore::Owner::proc(source.rank), dstore::Key(PMIX_PROC_PID), found) == PMIX_SUCCESS &&
        common::decode_value_into(found.bytes(), pid.c_ptr()) == PMIX_SUCCESS) {
        if (pid.type() == PMIX_PID) number = static_cast<uint64_t>(pid.get().data.pid);
        if (number != 0 || common::read_number(pid.get(), &number) == PMIX_SUCCESS)
            where += ':' + std::to_string(number);
    }
    return where;
}

Iof::Stream& Iof::stream_of(Handler& handler, const ProcId& source, pmix_iof_channel_t channel) {
    const auto key = std::make_pair(source, channel);
    auto it = handler.streams.find(key);
    if (it == handler.streams.end()) {
        const std::string where = handler.format.detailed ? where_of(source) : std::string();
        it = handler.streams.emplace(key, Stream(handler.format, source, channel, where)).first;
        if (handler.files.any()) open_file(handler, it->second);
    }
    return it->second;
}

// Merged streams share the file of stdout.
void Iof::open_file(Handler& handler, Stream& stream) {
    if (handler.merge && stream.channel == PMIX_FWD_STDERR_CHANNEL) {
        stream_of(handler, stream.source, PMIX_FWD_STDOUT_CHANNEL);
        return;
    }
    const IofPath path = iof_path(handler.files, stream.source, stream.channel);
    // The next process's output is not to be the end of what those before have written.
    const bool first = !handler.files.shared() || handler.shared_files.insert(path.base + '/' + path.below[2]).second;
    auto file = create_iof_file(path, first ? Before::dropped : Before::kept);
    if (file.ok()) {
        stream.file = std::move(file).value();
    } else {
        tell_failure(stream, 0);
    }
}

void Iof::give_credit(size_t reference, size_t cost) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end() || cost == 0) return;
    it->second->owed += cost;
    if (it->second->owed < common::kIofWindow / 4) return;
    common::IofCredit credit;
    credit.reference = reference;
    credit.bytes = std::exchange(it->second->owed, 0);
    if (auto payload = common::message_bytes(credit)) session_.tell(Command::iof_credit, payload.value());
}

void Iof::tell_failure(const Stream& stream, uint64_t lost) {
    InfoList infos;
    const pmix_proc_t source = stream.source.to_c();
    infos.append(PMIX_EVENT_AFFECTED_PROC, &source, PMIX_PROC);
    infos.append_number(kIofChannelKey, stream.channel, PMIX_IOF_CHANNEL);
    if (lost != 0) infos.append_number(kIofLostKey, lost, PMIX_UINT64);
    infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    session_.events().raise(PMIX_ERR_IOF_FAILURE, stream.source, std::move(infos));
}

void Iof::on_notify(common::IofNotify&& message) {
    const auto reference = static_cast<size_t>(message.reference);
    auto it = handlers_.find(reference);
    // The host has accepted the registration after the caller stopped waiting, or this was under way when the
    // registration ended. A reader that gives no credit would block the source, so tell the server; it ignores a second
    // notice.
    if (!shut_ && it == handlers_.end() && reference < next_ &&
        std::find(told_gone_.begin(), told_gone_.end(), reference) == told_gone_.end()) {
        if (told_gone_.size() == kToldGone) told_gone_.pop_front();
        told_gone_.push_back(reference);
        tell_gone(reference);
    }
    if (shut_ || it == handlers_.end() || !it->second->active) return;
    const auto keep = it->second;  // its callback may deregister it
    Handler& handler = *keep;
    const size_t cost = message.data.size() + common::kIofFrameCost;
    Stream& stream = stream_of(handler, message.source, message.channel);
    const bool ends = message.data.empty();
    InfoList infos = message.infos.take();
    if (message.lost != 0) {
        infos.append_number(kIofLostKey, message.lost, PMIX_UINT64);
        tell_failure(stream, message.lost);
    }
    if (ends) {
        finish_stream(reference, handler, stream, cost, std::move(infos));
        return forget_stream(handler, message.source, message.channel);
    }
    if (handler.function != nullptr) {
        if (handler.format.any()) {
            std::string text;
            stream.lines.add(view_of(message.data), now_text(), text);
            bool shows = false;  // and gives the credit when it has
            // Shown below too: lines are put together once.
            const Bytes shown(reinterpret_cast<const uint8_t*>(text.data()), text.size());
            if (handler.console || handler.files.any()) {
                Stream& target = target_of(handler, stream);
                write_file(target, text);
                shows = handler.console && !text.empty();
                if (shows) console_.write(target.channel, text, reference, cost);
            }
            if (!text.empty()) {
                if (handler.buffers()) {
                    buffer(reference, stream, shown);
                } else {
                    call(reference, stream, text, std::move(infos));
                }
            }
            if (!shows) give_credit(reference, cost);
            return;
        }
        if (handler.buffers()) {
            buffer(reference, stream, message.data);
        } else {
            call(reference, stream, view_of(message.data), std::move(infos));
        }
    }
    show(handler, stream, view_of(message.data), false, reference, cost);
}

// To the terminal and the file. The cost is given back when both have taken it.
void Iof::show(Handler& handler, Stream& stream, std::string_view bytes, bool ends, size_t reference, size_t cost) {
    if (!handler.console && !handler.files.any()) return give_credit(reference, cost);
    Stream& target = target_of(handler, stream);
    std::string text;
    const std::string now = handler.format.timestamp ? now_text() : std::string();
    stream.lines.add(bytes, now, text);
    if (ends) stream.lines.end(now, text);
    write_file(target, text);
    if (!handler.console || text.empty()) return give_credit(reference, cost);
    console_.write(target.channel, std::move(text), reference, cost);
}

// Where merged streams are written.
Iof::Stream& Iof::target_of(Handler& handler, Stream& stream) {
    return handler.merge && stream.channel == PMIX_FWD_STDERR_CHANNEL
               ? stream_of(handler, stream.source, PMIX_FWD_STDOUT_CHANNEL)
               : stream;
}

void Iof::write_file(Stream& target, std::string_view text) {
    if (!target.file || text.empty() || write_iof_file(target.file.get(), text) == PMIX_SUCCESS) return;
    target.file.reset();
    tell_failure(target, 0);
}

// What is buffered, and a line that has no end yet: nothing is added to them any more. The cost is given back with what
// the terminal takes, and is 0 then.
void Iof::flush_all(size_t reference, Handler& handler, Stream& stream, size_t& cost) {
    flush(reference, stream);
    if (handler.function == nullptr || !handler.format.any()) return;
    std::string text;
    stream.lines.end(now_text(), text);
    if (text.empty()) return;
    Stream& target = target_of(handler, stream);
    call(reference, stream, text, {});
    write_file(target, text);
    if (handler.console) console_.write(target.channel, text, reference, std::exchange(cost, 0));
}

// The registration ends before the streams do.
void Iof::finish_all(size_t reference, Handler& handler) {
    for (auto& [key, stream] : handler.streams) {
        size_t nothing = 0;
        flush_all(reference, handler, stream, nothing);
        show(handler, stream, {}, true, reference, 0);
    }
}

void Iof::finish_stream(size_t reference, Handler& handler, Stream& stream, size_t cost, InfoList infos) {
    flush_all(reference, handler, stream, cost);
    if (!handler.other_goes_on(stream.source, stream.channel)) call(reference, stream, {}, std::move(infos));
    show(handler, stream, {}, true, reference, cost);
    // A merged stream's file may still be written by the other.
    if (!handler.merge) stream.file.reset();
}

// What has ended leaves nothing behind, or a server that shows the output of its jobs would keep all that ever ran.
// Of two merged channels the one that ends first waits for the other: they have one end, and one file.
void Iof::forget_stream(Handler& handler, const ProcId& source, pmix_iof_channel_t channel) {
    auto it = handler.streams.find({source, channel});
    if (it == handler.streams.end()) return;
    it->second.ended = true;
    if (handler.other_goes_on(source, channel)) return;
    handler.streams.erase(it);
    if (!handler.merge || (channel & (PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL)) == 0) return;
    handler.streams.erase({source, PMIX_FWD_STDOUT_CHANNEL});
    handler.streams.erase({source, PMIX_FWD_STDERR_CHANNEL});
}

size_t Iof::streams() const noexcept {
    size_t n = 0;
    for (const auto& [reference, handler] : handlers_) n += handler->streams.size();
    return n;
}

// ---- buffering ----

void Iof::buffer(size_t reference, Stream& stream, Bytes bytes) {
    transport::assert_on_loop();
    const auto handler = handlers_.at(reference);
    const size_t full = handler->buffer_bytes != 0 ? handler->buffer_bytes : common::kIofFrameBytes;
    while (!bytes.empty()) {
        const size_t n = std::min(full - stream.buffered.size(), bytes.size());
        stream.buffered.insert(stream.buffered.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
        bytes = bytes.subspan(n);
        if (stream.buffered.size() == full) flush(reference, stream);
        if (handlers_.count(reference) == 0) return;
    }
    if (stream.buffered.empty() || handler->buffer_seconds == 0 || stream.timer != 0) return;
    stream.timer = session_.loop().after(int64_t{handler->buffer_seconds} * 1000,
                                         [this, reference, source = stream.source, channel = stream.channel] {
                                             auto it = handlers_.find(reference);
                                             if (it == handlers_.end()) return;
                                             const auto held = it->second;
                                             Stream& late = stream_of(*held, source, channel);
                                             late.timer = 0;
                                             flush(reference, late);
                                         });
}

void Iof::flush(size_t reference, Stream& stream) {
    transport::assert_on_loop();
    if (stream.timer != 0) session_.loop().cancel(std::exchange(stream.timer, 0));
    if (stream.buffered.empty()) return;
    const std::vector<uint8_t> bytes = std::exchange(stream.buffered, {});
    call(reference, stream, view_of(bytes), {});
}

void Iof::call(size_t reference, const Stream& stream, std::string_view bytes, InfoList infos) {
    auto it = handlers_.find(reference);
    if (it == handlers_.end() || it->second->function == nullptr) return;
    const auto keep = it->second;
    const bool merged = keep->merge && stream.channel == PMIX_FWD_STDERR_CHANNEL;
    pmix_proc_t source = stream.source.to_c();
    pmix_byte_object_t payload = PMIX_BYTE_OBJECT_STATIC_INIT;
    if (!bytes.empty()) {
        payload.bytes = static_cast<char*>(std::malloc(bytes.size()));
        if (payload.bytes == nullptr) return tell_failure(stream, bytes.size());
        std::memcpy(payload.bytes, bytes.data(), bytes.size());
        payload.size = bytes.size();
    }
    keep->function(reference, merged ? PMIX_FWD_STDOUT_CHANNEL : stream.channel, &source, &payload, infos.c_array(),
                   infos.size());
    std::free(payload.bytes);  // what the callback has left
}

// ---- input ----

pmix_status_t Iof::push(const pmix_proc_t targets[], size_t ntargets, const pmix_byte_object_t* bytes,
                        const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata) {
    pmix_status_t rc = check_infos(infos, ninfos);
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
