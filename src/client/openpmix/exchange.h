// SPDX-License-Identifier: BSD-3-Clause
// Requests to a server that speaks OpenPMIx's protocol and their answers, and answers to the frames of this process's
// session: what a translation between the two is made of.
//
// Owned by an OpenPmixChannel. Loop thread only. A request that the server never answers stays open until the
// connection ends; the session then ends all its calls. What can go wrong: a request that cannot be encoded for this
// server (the status of the encoder, and nothing is sent), no memory (std::bad_alloc).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "common/protocol/messages.h"
#include "openpmix/frame.h"
#include "openpmix/messages.h"
#include "openpmix/traits.h"
#include "transport/descriptor.h"

namespace pmix::client {

class OpenPmixExchange {
  public:
    // Both ways out of here.
    class Ends {
      public:
        virtual void send_message(uint32_t tag, common::Bytes payload) = 0;
        virtual void deliver_frame(const common::FrameHeader& header, common::Bytes payload,
                                   std::vector<transport::Descriptor>&& descriptors) = 0;

      protected:
        ~Ends() = default;
    };
    using Done = std::function<void(common::Bytes payload)>;

    OpenPmixExchange(Ends& ends, const openpmix::Traits& traits) : ends_(ends), traits_(traits) {}

    const openpmix::Traits& traits() const noexcept { return traits_; }

    // done is called once with the answer, if there is one.
    template <class Theirs>
    pmix_status_t ask(const Theirs& request, Done done) {
        std::vector<uint8_t> payload;
        WIREUP_RETURN_IF_ERROR(encoded(request, &payload));
        const uint32_t tag = next_tag();
        open_.emplace(tag, Open{std::move(done), Theirs::kCommand == openpmix::Command::fence});
        ends_.send_message(tag, payload);
        return PMIX_SUCCESS;
    }
    // A request that has no answer.
    template <class Theirs>
    pmix_status_t tell(const Theirs& request) {
        std::vector<uint8_t> payload;
        WIREUP_RETURN_IF_ERROR(encoded(request, &payload));
        ends_.send_message(next_tag(), payload);
        return PMIX_SUCCESS;
    }
    // That this process is alive. Nobody answers it.
    void beat() { ends_.send_message(openpmix::kHeartbeatTag, {}); }
    // Is the message with this tag a fence's answer, and nothing else is to come?
    bool is_all_awaited(uint32_t tag) const noexcept {
        const auto it = open_.size() == 1 ? open_.find(tag) : open_.end();
        return it != open_.end() && it->second.fence;
    }
    // The server's message with a tag of a request. Nobody may have asked.
    void answered(uint32_t tag, common::Bytes payload) {
        const auto it = open_.find(tag);
        if (it == open_.end()) return;
        const Done done = std::move(it->second.done);
        open_.erase(it);
        done(payload);
    }
    template <class Theirs>
    pmix_status_t decode(common::Bytes payload, Theirs* out) const {
        return openpmix::decode(payload, traits_, out);
    }

    // An object of an answer to a Get: the data of a process or of a whole job, which has a name of its own only or a
    // wildcard rank.
    pmix_status_t decode_data(common::Bytes object, openpmix::ProcData* out) const {
        if (decode(object, out) == PMIX_SUCCESS) return PMIX_SUCCESS;
        openpmix::JobData job;
        WIREUP_RETURN_IF_ERROR(decode(object, &job));
        *out = {};
        out->proc.id = {job.nspace.text, PMIX_RANK_WILDCARD};
        out->values = std::move(job.values);
        return PMIX_SUCCESS;
    }

    // To the session.
    template <class Ours>
    void reply(const common::FrameHeader& request, pmix_status_t status, const Ours& message,
               std::vector<transport::Descriptor>&& descriptors = {}) {
        if (request.kind != common::FrameKind::request) return;
        auto payload = common::message_bytes(message);
        if (!payload.ok()) return refuse(request, payload.status());
        common::FrameHeader header = common::FrameHeader::reply(request.command, request.id, status);
        header.payload = static_cast<uint32_t>(payload->size());
        header.descriptors = static_cast<uint8_t>(descriptors.size());
        ends_.deliver_frame(header, *payload, std::move(descriptors));
    }
    void refuse(const common::FrameHeader& request, pmix_status_t status) {
        if (request.kind != common::FrameKind::request) return;
        ends_.deliver_frame(common::FrameHeader::reply(request.command, request.id, status), {}, {});
    }
    template <class Ours>
    void notify(common::Command command, const Ours& message) {
        auto payload = common::message_bytes(message);
        if (!payload.ok()) return;
        common::FrameHeader header = common::FrameHeader::notify(static_cast<uint16_t>(command));
        header.payload = static_cast<uint32_t>(payload->size());
        ends_.deliver_frame(header, *payload, {});
    }

    // A whole request of the session's: pass(ours) asks the server for it, or answers why it cannot.
    template <class Ours, class Pass>
    void take(const common::FrameHeader& header, common::Bytes payload, Pass pass) {
        Ours ours;
        pmix_status_t rc = common::decode_message(payload, ours);
        if (rc == PMIX_SUCCESS) rc = pass(ours);
        if (rc != PMIX_SUCCESS) refuse(header, rc);
    }
    // Asks in the session's name. A refusal is the session's; else then(status, got) is called with the answer.
    template <class Answer, class Theirs, class Then>
    pmix_status_t ask_for(const common::FrameHeader& header, const Theirs& request, Then then) {
        return ask(request, [this, header, then = std::move(then)](common::Bytes answer) mutable {
            Answer got;
            const pmix_status_t status = status_of(answer, &got);
            if (!common::succeeded(status)) return refuse(header, status);
            then(status, got);
        });
    }
    // The status in an answer, or that the answer cannot be read. No status is positive.
    template <class Answer>
    pmix_status_t status_of(common::Bytes answer, Answer* got) const {
        const pmix_status_t status = decode(answer, got);
        if (status != PMIX_SUCCESS) return status;
        return got->status.value > 0 ? PMIX_ERROR : got->status.value;
    }
    // Where the answer is a status alone.
    template <class Theirs>
    pmix_status_t ask_for_status(const common::FrameHeader& header, const Theirs& request) {
        return ask_for<openpmix::StatusReply>(header, request,
                                              [this, header](pmix_status_t status, const openpmix::StatusReply&) {
                                                  reply(header, status, common::Nothing{});
                                              });
    }
    // Both: convert(ours) makes theirs.
    template <class Ours, class Convert>
    void relay_status(const common::FrameHeader& header, common::Bytes payload, Convert convert) {
        take<Ours>(header, payload, [&](Ours& ours) { return ask_for_status(header, convert(ours)); });
    }

  private:
    struct Open {
        Done done;
        bool fence;
    };

    template <class Theirs>
    pmix_status_t encoded(const Theirs& request, std::vector<uint8_t>* payload) const {
        WIREUP_RETURN_IF_ERROR(openpmix::encode(request, traits_, payload));
        const bool too_large = payload->size() > common::kMaxFramePayload ||
                               (traits_.most_payload != 0 && payload->size() > traits_.most_payload);
        return too_large ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
    }
    // Servers number their own messages in the upper half.
    uint32_t next_tag() noexcept {
        do {
            last_tag_ = last_tag_ >= INT32_MAX ? openpmix::kFirstRequestTag + 1 : last_tag_ + 1;
        } while (open_.count(last_tag_) != 0);
        return last_tag_;
    }

    Ends& ends_;
    const openpmix::Traits traits_;
    uint32_t last_tag_ = openpmix::kFirstRequestTag + 2;  // the greeting has used two
    std::map<uint32_t, Open> open_;
};

}  // namespace pmix::client
