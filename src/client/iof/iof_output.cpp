// SPDX-License-Identifier: BSD-3-Clause
// Output as it comes in: to the terminal, into files, to the callback of its registration, and credit for the server.
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/events/events.h"
#include "client/iof/iof_streams.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/codec/pack.h"

namespace pmix::client {

using common::Bytes;
using common::Command;
using common::InfoList;
using common::ProcId;

namespace {

// What is under way when a server is told that nobody takes it: enough that it is mostly told once.
constexpr size_t kToldGone = 64;

std::string_view view_of(Bytes bytes) noexcept {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string now_text() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return iof_timestamp(now.tv_sec, static_cast<int>(now.tv_nsec / 1'000'000));
}

}  // namespace

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

}  // namespace pmix::client
