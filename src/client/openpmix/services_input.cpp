// SPDX-License-Identifier: BSD-3-Clause
// Input that this process pushes, which a server may stop.
#include <utility>

#include "client/openpmix/services.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::FrameHeader;

namespace {

constexpr size_t kMostHeldInput = size_t{16} << 20;  // bytes; a push beyond it is refused

}  // namespace

// Whether input can be forwarded at all, a server does not say before it has some.
void OpenPmixServices::push(const FrameHeader& header, Bytes payload) {
    common::IofPushRequest asked;
    if (const pmix_status_t rc = common::decode_message(payload, asked); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    if (asked.probe) return exchange_.reply(header, PMIX_SUCCESS, common::Nothing{});
    if (!input_stopped_) return send_push(header, payload);
    // As a server of this library's own does it: without an answer the process's own input is read no further, and a
    // call that waits goes on waiting. Of calls that do not wait there may be any number.
    if (held_input_ >= kMostHeldInput) return exchange_.refuse(header, PMIX_ERR_OUT_OF_RESOURCE);
    held_pushes_.push_back({header, {payload.begin(), payload.end()}});
    held_input_ += payload.size();
}

void OpenPmixServices::send_push(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::IofPushRequest>(header, payload, [&](common::IofPushRequest& ours) {
        theirs::IofPushRequest request;
        request.procs.procs = std::move(ours.procs);
        request.infos.infos = std::move(ours.infos);
        request.data.bytes = ours.data;
        return exchange_.ask(request, [this, header](Bytes answer) {
            theirs::StatusReply got;
            const pmix_status_t status = exchange_.status_of(answer, &got);
            // The data was taken, and no more is wanted.
            const bool stops = status == PMIX_ERR_IOF_XOFF;
            if (stops) input_stopped_ = true;
            if (!stops && !common::succeeded(status)) return exchange_.refuse(header, status);
            exchange_.reply(header, stops ? PMIX_SUCCESS : status, common::Nothing{});
        });
    });
}

// Only servers from 7.0 on say it.
void OpenPmixServices::control_input(Bytes payload) {
    theirs::FlowMessage got;
    if (exchange_.decode(payload, &got) != PMIX_SUCCESS) return;
    const common::ProcId& source = got.source.id;
    const bool meant = (source.nspace.empty() || source.nspace == self_.nspace) &&
                       (source.rank == PMIX_RANK_WILDCARD || source.rank == self_.rank);
    if (!meant || (got.channel.value & PMIX_FWD_STDIN_CHANNEL) == 0) return;
    input_stopped_ = got.stop.value;
    while (!input_stopped_ && !held_pushes_.empty()) {
        const common::Frame next = std::move(held_pushes_.front());
        held_pushes_.pop_front();
        held_input_ -= next.payload.size();
        send_push(next.header, next.payload);
    }
}

}  // namespace pmix::client
