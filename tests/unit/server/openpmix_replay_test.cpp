// SPDX-License-Identifier: BSD-3-Clause
// What clients of releases that nobody has as packages have sent (unit/openpmix/recordings), sent again to our server.
#include <gtest/gtest.h>
#include <poll.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "support/long_wait.h"
#include "support/openpmix_client.h"
#include "support/server_here.h"
#include "support/status.h"
#include "unit/openpmix/recording.h"

namespace openpmix_replay_test {

using namespace pmix;
using namespace pmix::test;

namespace {

using Message = std::vector<uint8_t>;

struct Frame {
    uint32_t tag;
    Message payload;
};

// One process's half of a recording, and the answers that it got then.
struct Half {
    Message hello;
    openpmix::ConnectRequest claim;
    openpmix::Traits traits;
    std::vector<Frame> requests;
    std::map<uint32_t, Message> answers;
};

std::vector<Frame> frames_of(common::Bytes bytes) {
    std::vector<Frame> frames;
    openpmix::FrameHeader header;
    while (bytes.size() >= openpmix::kHeaderSize && openpmix::parse_header(bytes.data(), &header) == PMIX_SUCCESS &&
           bytes.size() >= openpmix::kHeaderSize + header.payload) {
        const auto payload = bytes.subspan(openpmix::kHeaderSize, header.payload);
        frames.push_back({header.tag, {payload.begin(), payload.end()}});
        bytes = bytes.subspan(openpmix::kHeaderSize + header.payload);
    }
    EXPECT_EQ(0u, bytes.size());
    return frames;
}

Half half_of(const openpmix::testing::Streams& streams) {
    Half half;
    const common::Bytes sent(streams.client);
    size_t size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::read_connect_header(sent.first(openpmix::kHeaderSize), &size));
    const common::Bytes hello = sent.first(openpmix::kHeaderSize + size);
    half.hello.assign(hello.begin(), hello.end());
    EXPECT_STATUS(PMIX_SUCCESS,
                  openpmix::ConnectRequest::decode(hello.subspan(openpmix::kHeaderSize), &half.claim, &half.traits));
    half.requests = frames_of(sent.subspan(hello.size()));
    for (Frame& frame : frames_of(common::Bytes(streams.server).subspan(8)))
        half.answers[frame.tag] = std::move(frame.payload);
    return half;
}

// Behind the count of the call: one byte, or four of fixed size.
uint8_t command_of(const Half& half, const Message& payload) {
    const size_t at = half.claim.encoding == "v3" || half.claim.encoding == "v21" ? 4 : 1;
    return payload.size() > at ? payload[at] : 0xff;
}

bool is_answered(const Half& half, const Frame& request) {
    return request.tag != openpmix::kHeartbeatTag &&
           command_of(half, request.payload) != static_cast<uint8_t>(openpmix::Command::deregister_events);
}

// Whose answer is the same whatever else the server's host does.
bool has_fixed_answer(uint8_t command) {
    using openpmix::Command;
    for (const Command known : {Command::commit, Command::fence, Command::finalize, Command::register_events})
        if (command == static_cast<uint8_t>(known)) return true;
    return false;
}

bool read_frame(OpenPmixClient& client, uint32_t* tag, Message* payload) {
    uint8_t bytes[openpmix::kHeaderSize];
    openpmix::FrameHeader header;
    if (!client.read(bytes, sizeof bytes)) return false;
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::parse_header(bytes, &header));
    *tag = header.tag;
    payload->resize(header.payload);
    return payload->empty() || client.read(payload->data(), payload->size());
}

class OpenPmixReplayTest : public ::testing::TestWithParam<const char*> {};

}  // namespace

// One request at a time, as the recorded programs did: each is answered, and where the answer depends on nothing else
// by the bytes that their own server sent.
TEST_P(OpenPmixReplayTest, RecordedClients_AreAnsweredAsByTheirServer) {
    std::vector<Half> halves;
    const std::string path = std::string(WIREUP_RECORDINGS) + '/' + GetParam() + ".jsonl";
    for (const auto& [number, streams] : openpmix::testing::load_recording(path)) halves.push_back(half_of(streams));
    ASSERT_FALSE(halves.empty());

    InfoList wanted = ServerHere::named();
    wanted.append_flag(PMIX_WIREUP_OPENPMIX, true);
    ServerHere server(nullptr, std::move(wanted));
    InfoList job;
    job.append_number<uint32_t>(PMIX_JOB_SIZE, static_cast<uint32_t>(halves.size()), PMIX_UINT32);
    pmix_nspace_t name;
    PMIx_Load_nspace(name, halves[0].claim.id.nspace.c_str());
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(name, static_cast<int>(halves.size()), job.c_array(),
                                                            job.size(), nullptr, nullptr));
    for (const Half& half : halves) {
        const pmix_proc_t proc = half.claim.id.to_c();
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
    }
    const std::string uri = ChildEnvironment(halves[0].claim.id.to_c()).get("PMIX_SERVER_URI41");

    struct Replay {
        const Half* half;
        OpenPmixClient client;
        size_t next = 0;
        std::optional<uint32_t> waits_for;
    };
    std::vector<Replay> replays;
    for (const Half& half : halves) {
        Replay& replay = replays.emplace_back(Replay{&half, OpenPmixClient(uri), 0, {}});
        replay.client.write(half.hello);
        uint8_t reply[8];
        ASSERT_TRUE(replay.client.read(reply, sizeof reply));
        EXPECT_EQ(Message(4), Message(reply, reply + 4));  // success, and its number here
    }
    const LongWait wait;
    size_t compared = 0;
    for (size_t over = 0; over < replays.size();) {
        ASSERT_FALSE(wait.over());
        over = 0;
        for (Replay& replay : replays) {
            const auto& requests = replay.half->requests;
            while (!replay.waits_for && replay.next < requests.size()) {
                const Frame& request = requests[replay.next++];
                replay.client.write(request.tag, request.payload);
                if (is_answered(*replay.half, request)) replay.waits_for = request.tag;
            }
            if (!replay.waits_for) {
                // The recorded client of 6.1.1rc2 crashes in the middle: the other's fence ends with an error.
                replay.client.socket.reset();
                ++over;
                continue;
            }
            pollfd readable{replay.client.socket.get(), POLLIN, 0};
            if (::poll(&readable, 1, 5) != 1) continue;
            uint32_t tag = 0;
            Message payload;
            ASSERT_TRUE(read_frame(replay.client, &tag, &payload)) << "request " << replay.next;
            if (tag != *replay.waits_for) continue;  // an event
            replay.waits_for.reset();
            const uint8_t command = command_of(*replay.half, requests[replay.next - 1].payload);
            const auto before = replay.half->answers.find(tag);
            if (before == replay.half->answers.end() || !has_fixed_answer(command)) continue;
            EXPECT_EQ(before->second, payload) << "command " << int{command} << ", tag " << tag;
            ++compared;
        }
    }
    // The recorded client of 3.1.5 has read data only.
    EXPECT_LE(std::string(GetParam()) == "b42-u31" ? 0 : 3 * replays.size(), compared);
}

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixReplayTest,
                         ::testing::Values("b42-u31", "b42-u41", "b42-u501", "u506-u506", "b42-u509", "b42-u61"));

}  // namespace openpmix_replay_test
