// SPDX-License-Identifier: BSD-3-Clause
// How a translator reads a client's request, hands one to the server and writes a message: templates by the message.
// For translator_*.cpp; nobody else includes it. Loop thread only. What can go wrong: no memory (std::bad_alloc).
#pragma once

#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "common/base/log.h"
#include "openpmix/tellable.h"
#include "server/openpmix/translator.h"

namespace pmix::server {

// Answers a request that cannot be read. The header gives its length, so the connection goes on.
template <class Theirs>
bool OpenPmixTranslator::read(uint32_t tag, common::Bytes payload, Theirs* out) {
    const pmix_status_t rc = openpmix::decode(payload, traits_, out);
    if (rc == PMIX_SUCCESS) return true;
    WIREUP_LOG(server, info, "%s:%u: a request of OpenPMIx's command %u cannot be read: %s", peer_.id().nspace.c_str(),
               peer_.id().rank, static_cast<unsigned>(Theirs::kCommand), common::log_status(rc));
    answer_status(tag, rc);
    return false;
}

template <class Ours>
void OpenPmixTranslator::pass(uint32_t tag, common::Command command, const Ours& request, Pending pending) {
    auto payload = common::message_bytes(request);
    if (!payload.ok()) return reply(tag, pending, payload.status(), {});
    pending_.emplace(tag, std::move(pending));
    common::FrameHeader header = common::FrameHeader::request(static_cast<uint16_t>(command), tag);
    header.payload = static_cast<uint32_t>(payload->size());
    ends_.serve_frame(header, *payload);
}

// The answer is nothing to the client.
template <class Ours>
void OpenPmixTranslator::pass_own(common::Command command, const Ours& request) {
    Pending pending;
    pending.own = true;
    pass(next_own_tag_++, command, request, std::move(pending));
}

template <class Theirs>
void OpenPmixTranslator::answer(uint32_t tag, const Theirs& reply) {
    std::vector<uint8_t> message;
    pmix_status_t rc = openpmix::encode(reply, traits_, &message);
    // One value that this client cannot be told costs that value.
    if constexpr (requires { openpmix::tellable_part(reply, traits_); }) {
        if (rc != PMIX_SUCCESS) rc = openpmix::encode(openpmix::tellable_part(reply, traits_), traits_, &message);
    }
    const bool too_large = traits_.most_payload != 0 && message.size() > traits_.most_payload;
    if (rc == PMIX_SUCCESS && !too_large) return ends_.send_message(tag, message);
    if (tag < openpmix::kFirstRequestTag) return;  // a message that nobody asked for is left out
    if constexpr (std::is_same_v<Theirs, openpmix::StatusReply>) throw std::bad_alloc();  // nothing smaller can be said
    answer_status(tag, rc == PMIX_SUCCESS ? PMIX_ERR_OUT_OF_RESOURCE : rc);
}

}  // namespace pmix::server
