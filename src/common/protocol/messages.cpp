// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/messages.h"

#include "common/protocol/message_codec.h"
#include "common/protocol/message_memory.h"

namespace pmix::common {
namespace {

// What a frame's number and kind stand for: one row per list entry of commands.def.
struct Row {
    uint16_t number;
    const char* name;
    void (*print_request)(std::string&, Bytes);  // or the notification
    void (*print_reply)(std::string&, Bytes);
    pmix_status_t (*reencode_request)(Bytes, ByteWriter&);
    pmix_status_t (*reencode_reply)(Bytes, ByteWriter&);
    bool notify;
};

template <class M>
void print_payload(std::string& out, Bytes payload) {
    M message;
    if (decode_message(payload, message) == PMIX_SUCCESS) {
        print_message(out, message);
    } else {
        out += "malformed";
    }
}

template <class M>
pmix_status_t reencode(Bytes payload, ByteWriter& w) {
    M message;
    const pmix_status_t rc = decode_message(payload, message);
    return rc == PMIX_SUCCESS ? encode_message(w, message) : rc;
}

constexpr Row kRows[] = {
#define WIREUP_COMMAND(number, name, request, reply, since) \
    {number, #name, print_payload<request>, print_payload<reply>, reencode<request>, reencode<reply>, false},
#define WIREUP_NOTIFY(number, name, message, since) \
    {number, #name, print_payload<message>, nullptr, reencode<message>, nullptr, true},
#include "common/protocol/commands.def"
};

const Row* find_row(uint16_t number) noexcept {
    for (const Row& row : kRows) {
        if (row.number == number) return &row;
    }
    return nullptr;
}

template <class M>
constexpr const char* kMessageName = nullptr;
#define WIREUP_MESSAGE(type) \
    template <>              \
    constexpr const char* kMessageName<type> = #type;
#include "common/protocol/commands.def"

// The row's function for a frame of this kind. A sender that needs no reply may send a request as a notification.
template <class F>
F pick(const Row* row, FrameKind kind, F Row::*request, F Row::*reply) noexcept {
    if (row == nullptr) return nullptr;
    if (kind == FrameKind::reply) return row->*reply;
    if (kind == FrameKind::request && row->notify) return nullptr;
    return row->*request;
}

}  // namespace

const char* command_name(uint16_t command) noexcept {
    const Row* row = find_row(command);
    return row == nullptr ? nullptr : row->name;
}

// Of the messages of a job's start, of fences and of events, nearly all are shorter.
constexpr size_t kUsualMessage = 256;

template <class M>
pmix_status_t encode_message(ByteWriter& w, const M& message) {
    w.expect(kUsualMessage);
    const size_t before = w.size();
    pmix_status_t rc = codec::write_fields(w, message);
    if (rc == PMIX_SUCCESS && w.size() - before > kMaxFramePayload) rc = PMIX_ERR_BAD_PARAM;
    if (rc != PMIX_SUCCESS) w.truncate(before);
    return rc;
}

template <class M>
pmix_status_t decode_message(Bytes payload, M& message, size_t& memory) {
    ByteReader r(payload);
    const size_t most = kMaxDecoded + kMaxDecodedPerByte * payload.size();
    size_t budget = most;
    r.set_budget(&budget);
    const pmix_status_t rc = codec::read_fields(r, message);
    memory = payload.size();
    // Well-formed perhaps, and too much.
    if (budget == ByteReader::kOverspent) return PMIX_ERR_OUT_OF_RESOURCE;
    memory += most - budget;
    return rc;
}

template <class M>
pmix_status_t decode_message(Bytes payload, M& message) {
    size_t memory;
    return decode_message(payload, message, memory);
}

template <class M>
void print_message(std::string& out, const M& message) {
    out += kMessageName<M>;
    out += '{';
    codec::print_fields(out, message);
    out += '}';
}

#define WIREUP_MESSAGE(type)                                               \
    template pmix_status_t encode_message<type>(ByteWriter&, const type&); \
    template pmix_status_t decode_message<type>(Bytes, type&);             \
    template pmix_status_t decode_message<type>(Bytes, type&, size_t&);    \
    template void print_message<type>(std::string&, const type&);
#include "common/protocol/commands.def"

std::string describe_frame(const FrameHeader& header, Bytes payload) {
    const Row* row = find_row(header.command);
    std::string out = row != nullptr ? row->name : "command " + std::to_string(header.command);
    if (header.kind != FrameKind::notify) out += " #" + std::to_string(header.id);
    if (header.kind == FrameKind::reply) out += " status " + std::to_string(header.status);
    if (header.descriptors != 0) out += " +" + std::to_string(header.descriptors) + " descriptors";
    out += header.kind == FrameKind::reply ? " <- " : " -> ";
    auto print = pick(row, header.kind, &Row::print_request, &Row::print_reply);
    if (print != nullptr) {
        print(out, payload);
    } else {
        out += "<" + std::to_string(payload.size()) + " bytes>";
    }
    return out;
}

pmix_status_t reencode_payload(const FrameHeader& header, Bytes payload, ByteWriter& w) {
    auto run = pick(find_row(header.command), header.kind, &Row::reencode_request, &Row::reencode_reply);
    return run == nullptr ? PMIX_ERR_NOT_FOUND : run(payload, w);
}

}  // namespace pmix::common
