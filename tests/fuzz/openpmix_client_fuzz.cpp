// SPDX-License-Identifier: BSD-3-Clause
// What a client takes from a server of OpenPMIx's: answers to requests of every kind, events, output and job data from
// any bytes. Input: u8 release (bits 0-2: release, bit 3: described), then messages: u8 which (0 event, 1 output, 2 job
// data, else an answer to a request, in the order below), u16 size (low byte first), payload. Every frame that the
// session is handed decodes.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "client/openpmix/translator.h"
#include "common/codec/pack.h"
#include "common/protocol/messages.h"
#include "openpmix/hello.h"

using namespace pmix;
using common::Bytes;
using common::Command;
using common::FrameHeader;

namespace {

template <class Message>
void must_decode(Bytes payload) {
    Message message;
    if (common::decode_message(payload, message) != PMIX_SUCCESS) std::abort();
}

class Ends final : public client::OpenPmixExchange::Ends {
  public:
    void send_message(uint32_t tag, Bytes) override { tags.push_back(tag); }
    void deliver_frame(const FrameHeader& header, Bytes payload,
                       std::vector<transport::Descriptor>&& descriptors) override {
        if (header.payload != payload.size() || header.descriptors != descriptors.size()) std::abort();
        if (header.kind == common::FrameKind::reply && !common::succeeded(header.status)) return;
        const bool reply = header.kind == common::FrameKind::reply;
        switch (static_cast<Command>(header.command)) {
            case Command::attach_nspace:
                return must_decode<common::AttachNspaceReply>(payload);
            case Command::segment_gone:
                return must_decode<common::SegmentGoneNotify>(payload);
            case Command::event:
                return must_decode<common::EventNotify>(payload);
            case Command::iof:
                return must_decode<common::IofNotify>(payload);
            case Command::get:
                return reply ? must_decode<common::GetReply>(payload) : void();
            case Command::lookup:
                return must_decode<common::LookupReply>(payload);
            case Command::spawn:
                return must_decode<common::SpawnReply>(payload);
            case Command::group:
                return must_decode<common::GroupReply>(payload);
            default:
                return;
        }
    }
    std::vector<uint32_t> tags;
};

const common::ProcId kSelf("job1", 0), kPeer("job1", 1), kOther("job2", 0);

class Session {
  public:
    explicit Session(client::OpenPmixTranslator& translator) : translator_(translator) {}

    template <Command C>
    void ask(typename common::CommandTypes<C>::Request request = {}) {
        auto payload = common::message_bytes(request);
        if (!payload.ok()) std::abort();
        FrameHeader header = FrameHeader::request(static_cast<uint16_t>(C), ++id_);
        header.payload = static_cast<uint32_t>(payload->size());
        translator_.frame(header, *payload);
    }
    // In this order the answers are numbered, from 3.
    void ask_all() {
        common::CommitRequest commit;
        const std::vector<uint8_t> flag = {PMIX_BOOL, 0, 1};
        commit.entries.push_back({PMIX_GLOBAL, "key", flag});
        ask<Command::commit>(std::move(commit));
        ask<Command::fence>();
        get(kPeer, "key");
        get({"job1", PMIX_RANK_WILDCARD}, PMIX_JOB_SIZE);
        get(kOther, "");
        common::GetRequest fresh;
        fresh.proc = kPeer;
        fresh.key = "key";
        common::InfoList anew;
        if (anew.append_flag(PMIX_GET_REFRESH_CACHE, true) != PMIX_SUCCESS) std::abort();
        fresh.infos = std::move(anew);
        ask<Command::get>(std::move(fresh));
        common::AttachNspaceRequest attach;
        attach.nspace = "job2";
        ask<Command::attach_nspace>(std::move(attach));
        ask<Command::publish>();
        common::LookupRequest lookup;
        lookup.keys = {"key"};
        ask<Command::lookup>(std::move(lookup));
        ask<Command::spawn>();
        common::ConnectRequest connect, disconnect;
        connect.procs = disconnect.procs = {kSelf, kOther};
        ask<Command::connect>(std::move(connect));
        ask<Command::disconnect>(std::move(disconnect));
        common::GroupRequest group;
        group.name = "group";
        group.procs = {kSelf, kPeer, kOther};
        ask<Command::group>(std::move(group));
        ask<Command::query>();
        ask<Command::log>();
        common::RegisterEventsRequest events;
        events.codes = {-3001};
        events.reference = 1;
        ask<Command::register_events>(std::move(events));
        common::IofPullRequest pull;
        pull.reference = 1;
        pull.channels = PMIX_FWD_STDOUT_CHANNEL;
        pull.procs = {kPeer};
        ask<Command::iof_pull>(std::move(pull));
        ask<Command::get_credential>();
        ask<Command::resolve_peers>();
        ask<Command::resolve_nodes>();
        ask<Command::finalize>();
    }

  private:
    void get(common::ProcId proc, const char* key) {
        common::GetRequest request;
        request.proc = std::move(proc);
        request.key = key;
        ask<Command::get>(std::move(request));
    }
    client::OpenPmixTranslator& translator_;
    uint32_t id_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 1) return 0;
    static constexpr const char* kReleases[][2] = {{"4.2.2", "v41"}, {"5.0.7", "v41"}, {"7.0.0rc1", "v61"},
                                                   {"3.1.5", "v3"},  {"4.0.0", "v4"},  {"6.1.1rc2", "v61"},
                                                   {"4.1.2", "v4"},  {"5.0.9", "v51"}};
    const auto& release = kReleases[data[0] & 7];
    const auto traits = openpmix::traits_of(release[0], release[1],
                                            (data[0] & 8) != 0 ? openpmix::kFullyDescribed : openpmix::kNotDescribed);
    Bytes input(data + 1, size - 1);
    Ends ends;
    auto owned = std::make_unique<client::Shadow>(*traits, "here");
    client::Shadow& shadow = *owned;
    if (shadow.obtain(kSelf.nspace) != PMIX_SUCCESS) return 0;
    client::OpenPmixTranslator translator(ends, std::move(owned), kSelf, *traits);
    Session(translator).ask_all();
    while (input.size() >= 3) {
        const uint8_t which = input[0];
        const size_t announced = input[1] + size_t{256} * input[2];
        const Bytes payload = input.subspan(3, std::min(announced, input.size() - 3));
        input = input.subspan(3 + payload.size());
        openpmix::FrameHeader header;
        header.payload = static_cast<uint32_t>(payload.size());
        if (which == 2) {
            openpmix::JobData job;
            if (openpmix::decode(payload, *traits, &job) == PMIX_SUCCESS)
                (void)shadow.take_job(kSelf.nspace, job.values);
            continue;
        }
        header.tag = which == 0   ? openpmix::kEventTag
                     : which == 1 ? openpmix::kOutputTag
                                  : ends.tags[(which - 3u) % ends.tags.size()];
        translator.message(header, payload);
    }
    return 0;
}
