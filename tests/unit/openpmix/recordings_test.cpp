// SPDX-License-Identifier: BSD-3-Clause
// Conversations of real OpenPMIx libraries: every message decodes to its last byte and encodes again to the same bytes.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "openpmix/messages.h"
#include "support/status.h"
#include "unit/openpmix/recording.h"

namespace pmix::openpmix::recordings_test {
namespace {

using common::Bytes;

std::string hex(Bytes bytes) {
    std::string out;
    char text[3];
    for (const uint8_t b : bytes) {
        std::snprintf(text, sizeof text, "%02x", b);
        out += text;
    }
    return out;
}

// What was seen, so that a recording that is not read at all is no success.
struct Seen {
    size_t messages = 0;
    size_t blobs = 0;
};

template <class M>
void same_again(Bytes bytes, const Traits& traits, M* message) {
    size_t left = 0;
    ASSERT_STATUS(PMIX_SUCCESS, decode(bytes, traits, message, &left)) << hex(bytes);
    EXPECT_EQ(left, 0u) << hex(bytes);
    std::vector<uint8_t> again;
    ASSERT_STATUS(PMIX_SUCCESS, encode(*message, traits, &again));
    EXPECT_EQ(hex(again), hex(bytes));
    std::string text;
    print(text, *message);
    EXPECT_NE(text.find('{'), std::string::npos);
}

void check_values(const KeyValues& values, const Traits& traits, Seen& seen) {
    for (const KeyValue& pair : values.pairs) {
        const pmix_value_t& value = pair.value.get();
        if (pair.key != "pmix.pblob" || value.type != PMIX_BYTE_OBJECT) continue;
        RankData blob;
        same_again({reinterpret_cast<const uint8_t*>(value.data.bo.bytes), value.data.bo.size}, traits, &blob);
        ++seen.blobs;
    }
}

template <class Blob>
void check_objects(const ByteObjects& objects, const Traits& traits, Seen& seen) {
    for (const Bytes& object : objects.objects) {
        Blob blob;
        same_again(object, traits, &blob);
        check_values(blob.values, traits, seen);
        ++seen.blobs;
    }
}

template <class M>
void check(Bytes bytes, const Traits& traits, Seen& seen) {
    M message;
    same_again(bytes, traits, &message);
    if (::testing::Test::HasFatalFailure()) return;
    ++seen.messages;
    if constexpr (std::is_same_v<M, CommitRequest>) {
        for (const Section& section : message.sections.sections) {
            SectionData data;
            same_again(section.values, traits, &data);
            ++seen.blobs;
        }
    } else if constexpr (std::is_same_v<M, GetReply>) {
        check_objects<ProcData>(message.objects, traits, seen);
    } else if constexpr (std::is_same_v<M, ConnectReplyMessage> || std::is_same_v<M, GroupMembersReply>) {
        check_objects<JobData>(message.objects, traits, seen);
    } else if constexpr (std::is_same_v<M, JobData>) {
        check_values(message.values, traits, seen);
    }
}

void check_request(uint8_t command, Bytes bytes, const Traits& traits, Seen& seen) {
    if (command == static_cast<uint8_t>(Command::group_destruct)) {
        return traits.destruct_has_members ? check<GroupDestructRequest>(bytes, traits, seen)
                                           : check<PlainGroupDestructRequest>(bytes, traits, seen);
    }
    bool known = false;
#define WIREUP_CHECK(type)                                           \
    if (!known && command == static_cast<uint8_t>(type::kCommand)) { \
        known = true;                                                \
        check<type>(bytes, traits, seen);                            \
    }
    WIREUP_OPENPMIX_REQUESTS(WIREUP_CHECK)
    EXPECT_TRUE(known) << "command " << int{command};
}

void check_reply(Command command, Bytes bytes, const Traits& traits, Seen& seen) {
    switch (command) {
        case Command::job_data:
            return check<JobData>(bytes, traits, seen);
        case Command::get:
            return check<GetReply>(bytes, traits, seen);
        case Command::lookup:
            return check<LookupReply>(bytes, traits, seen);
        case Command::spawn:
            return check<SpawnReply>(bytes, traits, seen);
        case Command::connect:
            return check<ConnectReplyMessage>(bytes, traits, seen);
        case Command::query:
        case Command::allocation:
        case Command::job_control:
        case Command::monitor:
        case Command::validate_credential:
        case Command::fabric_register:
        case Command::fabric_update:
        case Command::session_control:
            return check<InfosReply>(bytes, traits, seen);
        case Command::get_credential:
            return check<CredentialReply>(bytes, traits, seen);
        case Command::iof_pull:
            return check<IofPullReply>(bytes, traits, seen);
        case Command::device_distances:
            return check<DeviceDistancesReply>(bytes, traits, seen);
        case Command::refresh:
            return check<RefreshReply>(bytes, traits, seen);
        case Command::resolve_peers:
            return check<ResolvePeersReply>(bytes, traits, seen);
        case Command::resolve_node:
            return check<ResolveNodeReply>(bytes, traits, seen);
        case Command::group_construct:
            switch (traits.group_reply) {
                case GroupReplyForm::context_id:
                    return check<GroupContextReply>(bytes, traits, seen);
                case GroupReplyForm::members:
                    return check<GroupMembersReply>(bytes, traits, seen);
                case GroupReplyForm::optional_id:
                    return check<GroupReply>(bytes, traits, seen);
            }
            return;
        default:
            return check<StatusReply>(bytes, traits, seen);
    }
}

// Calls f(header, payload) for each frame; false if the last one is not whole.
template <class F>
bool for_each_frame(Bytes stream, F f) {
    while (!stream.empty()) {
        FrameHeader header;
        if (stream.size() < kHeaderSize || parse_header(stream.data(), &header) != PMIX_SUCCESS) return false;
        uint8_t again[kHeaderSize];
        build_header(header, again);
        EXPECT_EQ(hex({again, sizeof again}), hex(stream.first(kHeaderSize)));
        stream = stream.subspan(kHeaderSize);
        if (stream.size() < header.payload) return false;
        f(header, stream.first(header.payload));
        stream = stream.subspan(header.payload);
    }
    return true;
}

void check_connection(const testing::Streams& streams, const char* server_release, Seen& seen) {
    ASSERT_GE(streams.client.size(), kHeaderSize);
    const Bytes client = streams.client;
    size_t size = 0;
    ASSERT_STATUS(PMIX_SUCCESS, read_connect_header(client.first(kHeaderSize), &size));
    ASSERT_GE(client.size(), kHeaderSize + size);
    ConnectRequest hello;
    Traits theirs;
    ASSERT_STATUS(PMIX_SUCCESS, ConnectRequest::decode(client.subspan(kHeaderSize, size), &hello, &theirs))
        << hex(client.subspan(kHeaderSize, size));
    std::vector<uint8_t> again;
    ASSERT_STATUS(PMIX_SUCCESS, hello.encode(&again));
    EXPECT_EQ(hex(again), hex(client.first(kHeaderSize + size)));
    ++seen.messages;

    const Bytes server = streams.server;
    const ReplyForm form = reply_form(hello.kind, theirs);
    ConnectReply reply;
    size_t used = 0;
    ASSERT_STATUS(PMIX_SUCCESS, decode_reply(server, form, &reply, &used));
    if (server.empty()) return;  // refused
    ASSERT_NE(used, 0u);
    EXPECT_EQ(hex(encode_reply(reply, form)), hex(server.first(used)));

    std::map<uint32_t, Command> asked;
    EXPECT_TRUE(for_each_frame(client.subspan(kHeaderSize + size), [&](const FrameHeader& header, Bytes payload) {
        if (header.tag < kFirstRequestTag) {
            EXPECT_EQ(header.tag, kHeartbeatTag);
            return;
        }
        uint8_t command = 0;
        ASSERT_STATUS(PMIX_SUCCESS, read_command(payload, theirs, &command)) << hex(payload);
        asked[header.tag] = static_cast<Command>(command);
        check_request(command, payload, theirs, seen);
    }));
    const auto ours = traits_of(server_release, hello.encoding, hello.buffer_kind);
    ASSERT_TRUE(ours);
    EXPECT_TRUE(for_each_frame(server.subspan(used), [&](const FrameHeader& header, Bytes payload) {
        if (header.tag == kEventTag) return check<EventMessage>(payload, *ours, seen);
        if (header.tag == kOutputTag) return check<OutputMessage>(payload, *ours, seen);
        if (header.tag == kHeartbeatTag) return;
        ASSERT_TRUE(asked.count(header.tag)) << header.tag;
        check_reply(asked[header.tag], payload, *ours, seen);
    }));
}

class RecordingsTest : public ::testing::TestWithParam<std::string> {};

TEST_P(RecordingsTest, EveryMessage_DecodedAndEncoded_SameBytes) {
    const std::string name = std::filesystem::path(GetParam()).stem();
    const char* release = testing::release_of(name);
    ASSERT_NE(release, nullptr) << name;
    Seen seen;
    for (const auto& [number, streams] : testing::load_recording(GetParam())) {
        SCOPED_TRACE("connection " + std::to_string(number));
        check_connection(streams, release, seen);
    }
    EXPECT_GT(seen.messages, 1u);
    RecordProperty("messages", static_cast<int>(seen.messages));
    RecordProperty("blobs", static_cast<int>(seen.blobs));
}

std::vector<std::string> recordings() {
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::directory_iterator(WIREUP_RECORDINGS)) {
        if (entry.path().extension() == ".jsonl") paths.push_back(entry.path());
    }
    return paths;
}

std::string name_of(const ::testing::TestParamInfo<std::string>& info) {
    std::string name = std::filesystem::path(info.param).stem();
    for (char& c : name) {
        if (c == '-') c = '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(All, RecordingsTest, ::testing::ValuesIn(recordings()), name_of);

}  // namespace
}  // namespace pmix::openpmix::recordings_test
