// SPDX-License-Identifier: BSD-3-Clause
// Commits of a session: what is sent, what a refusal keeps, frames that are too many or too large, and deletions.
#include "support/status.h"
#include "unit/client/session_setting.h"

namespace pmix::client::session_commit_test {
namespace {

// A commit is sent when the server has room for it, and stays staged when it will have none any more.
TEST_F(SessionTest, Commit_ServerDoesNotRead_WaitsForRoomFirst) {
    pmix_value_t value;
    memset(&value, 0, sizeof value);
    value.type = PMIX_BOOL;
    ASSERT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "k", &value));
    channel->queue_status = PMIX_ERR_NOMEM;
    EXPECT_STATUS(PMIX_ERR_NOMEM, commit(*session));
    EXPECT_TRUE(channel->sent().empty());
    channel->queue_status = PMIX_SUCCESS;
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(channel->sent().size(), 1u);
    EXPECT_EQ(channel->queue_waits, 2);
}

// rows: K38
TEST_F(SessionTest, Put_OfADeletion_IsSentInItsPlaceAndOnlyToServersThatTakeIt) {
    pmix_value_t one;
    one.type = PMIX_UINT32;
    one.data.uint32 = 1;
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "kept", &one));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_REMOTE, "kept", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_GLOBAL, "gone", &one));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_INTERNAL, "mine", &one));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_INTERNAL, "mine", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    const auto sent = channel->sent();
    ASSERT_EQ(sent.size(), 1u);
    const auto request = FakeChannel::decoded<common::CommitRequest>(sent[0]);
    ASSERT_EQ(request.entries.size(), 3u);
    EXPECT_EQ(request.entries[0].scope, PMIX_GLOBAL);
    EXPECT_EQ(request.entries[1].scope, PMIX_DEL_REMOTE);
    EXPECT_EQ(request.entries[1].key, "kept");
    EXPECT_TRUE(request.entries[1].value.empty());
    EXPECT_EQ(request.entries[2].scope, PMIX_DEL_GLOBAL);
    EXPECT_EQ(request.entries[2].key, "gone");
    // A server of an older release would refuse all of the commit.
    session->set_features(common::kFeatureSegments | common::kFeatureRanges);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, put(*session, PMIX_DEL_GLOBAL, "kept", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_INTERNAL, "mine", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(channel->sent().size(), 1u);
}

// rows: K7 K38
TEST_F(SessionTest, Put_OfTheDeletionOfAnInternalValue_LeavesThatOfPeers) {
    pmix_value_t value;
    value.type = PMIX_UINT32;
    value.data.uint32 = 1;
    const auto found = [&] {
        pmix_value_t* got = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "k", nullptr, 0, &got));
        const uint32_t number = got == nullptr ? 0 : got->data.uint32;
        PMIx_Value_free(got, 1);
        return number;
    };
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_GLOBAL, "k", &value));
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_INTERNAL, "k", nullptr));
    EXPECT_EQ(found(), 1u);
    value.data.uint32 = 2;
    EXPECT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "k", &value));
    EXPECT_EQ(found(), 2u);
    EXPECT_STATUS(PMIX_SUCCESS, put(*session, PMIX_DEL_INTERNAL, "k", nullptr));
    EXPECT_EQ(found(), 1u);
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    const auto sent = channel->sent();
    ASSERT_EQ(sent.size(), 1u);
    const auto request = FakeChannel::decoded<common::CommitRequest>(sent[0]);
    ASSERT_EQ(request.entries.size(), 1u);
    EXPECT_EQ(request.entries[0].scope, PMIX_GLOBAL);
    EXPECT_EQ(request.entries[0].key, "k");
}

// rows: K4 K8
TEST_F(SessionTest, CommitSendsOnlyWhatChanged) {
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    ASSERT_EQ(channel->sent().size(), 1u) << "that there was one, is sent once";
    EXPECT_TRUE(FakeChannel::decoded<common::CommitRequest>(channel->sent()[0]).entries.empty());
    const auto put_text = [&](pmix_scope_t scope, const char* key, const char* text) {
        pmix_value_t v;
        v.type = PMIX_STRING;
        v.data.string = const_cast<char*>(text);
        EXPECT_STATUS(PMIX_SUCCESS, put(*session, scope, key, &v));
    };
    put_text(PMIX_GLOBAL, "a", "1");
    put_text(PMIX_LOCAL, "b", "2");
    put_text(PMIX_INTERNAL, "c", "3");
    put_text(PMIX_GLOBAL, "a", "4");
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    put_text(PMIX_REMOTE, "d", "5");
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));

    const auto sent = channel->sent();
    ASSERT_EQ(sent.size(), 3u);
    const auto first = FakeChannel::decoded<common::CommitRequest>(sent[1]);
    const auto second = FakeChannel::decoded<common::CommitRequest>(sent[2]);
    EXPECT_EQ(first.generation, 2u);
    EXPECT_EQ(second.generation, 3u);
    ASSERT_EQ(first.entries.size(), 2u);
    EXPECT_EQ(first.entries[0].key, "a");
    EXPECT_EQ(first.entries[1].key, "b");
    EXPECT_EQ(first.entries[1].scope, PMIX_LOCAL);
    common::Value newest;
    ASSERT_STATUS(PMIX_SUCCESS, common::decode_value_into(first.entries[0].value, newest.c_ptr()));
    EXPECT_STREQ(newest.get().data.string, "4");
    ASSERT_EQ(second.entries.size(), 1u);
    EXPECT_EQ(second.entries[0].key, "d");
}

// What a server has of a session's commits, which it may refuse.
struct Committed {
    std::map<std::string, std::string> values;
    struct One {
        uint64_t generation, resent_up_to;
        std::vector<std::string> keys;
    };
    std::vector<One> commits;

    static std::string text_of(common::Bytes encoded) {
        common::Value value;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(encoded, value.c_ptr()));
        return value.type() == PMIX_STRING ? value.get().data.string : "";
    }
    void take(const Frame& frame) {
        const auto request = FakeChannel::decoded<common::CommitRequest>(frame);
        EXPECT_EQ(request.generation, commits.size() + 1);
        commits.push_back({request.generation, request.resent_up_to, {}});
        for (const auto& e : request.entries) {
            values[std::string(e.key)] = text_of(e.value);
            commits.back().keys.emplace_back(e.key);
        }
    }
};

class CommitTest : public SessionTest {
  protected:
    CommitTest() {
        channel->on_send = [this](const Frame& frame) {
            if (frame.header.command == static_cast<uint16_t>(Command::commit)) {
                server.take(frame);
                if (refuse_next-- <= 0) return;
                common::CommitRefusedNotify refused;
                refused.generation = server.commits.back().generation;
                refused.status = PMIX_ERR_OUT_OF_RESOURCE;
                channel->notify(refused);
            } else if (frame.header.command == static_cast<uint16_t>(Command::fence)) {
                channel->answer(frame, fence_status, common::FenceReply());
            } else if (frame.header.command == static_cast<uint16_t>(Command::get)) {
                common::GetReply reply;
                reply.is_inline = true;
                common::ByteWriter w;
                common::encode_string_value(w, "peer's");
                reply.value = w.take();
                channel->answer(frame, get_status, reply);
            }
        };
    }
    void put_text(const std::string& key, const std::string& text, pmix_scope_t scope = PMIX_GLOBAL) {
        pmix_value_t v;
        v.type = PMIX_STRING;
        v.data.string = const_cast<char*>(text.c_str());
        ASSERT_STATUS(PMIX_SUCCESS, put(*session, scope, key.c_str(), &v));
    }
    // What the server has sent by now has been read.
    void settle() {
        session->on_loop_and_wait([] {});
    }
    pmix_status_t get_from_peer() {
        pmix_value_t* value = nullptr;
        const pmix_proc_t peer = common::ProcId("job", 2).to_c();
        const pmix_status_t rc = get(*session, &peer, "k", nullptr, 0, &value);
        EXPECT_EQ(rc == PMIX_SUCCESS, value != nullptr);
        if (value != nullptr) {
            common::destroy_value(value);
            free(value);
        }
        return rc;
    }

    Committed server;
    int refuse_next = 0;
    pmix_status_t fence_status = PMIX_SUCCESS;
    pmix_status_t get_status = PMIX_SUCCESS;
};

// A server that reads slowly may have too much before it after each frame of a commit. rows: K8
TEST_F(CommitTest, Commit_OfSeveralFrames_WaitsForRoomBeforeEachWithoutTheLock) {
    put_text("a", std::string(600, 'a'));
    put_text("b", std::string(600, 'b'));
    put_text("c", std::string(600, 'c'));
    int waits = 0;
    channel->on_wait_for_room = [&] {
        EXPECT_EQ(waits++, static_cast<int>(server.commits.size())) << "one wait before each frame";
        const bool is_free = session->commit_mutex().try_lock();
        EXPECT_TRUE(is_free);
        if (is_free) session->commit_mutex().unlock();
        // A callback on the loop, which drains the queue, may commit too.
        if (waits == 3) {
            EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 1000));
        }
    };
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 1000));
    EXPECT_EQ(server.commits.size(), 3u) << "the third by the other commit";
    EXPECT_EQ(server.values.size(), 3u);
    // The connection ends while it waits between two frames: the rest stays staged.
    put_text("a", std::string(601, 'a'));
    put_text("b", std::string(601, 'b'));
    waits = 3;
    channel->on_wait_for_room = [&] {
        if (++waits == 5) channel->queue_status = PMIX_ERR_NOMEM;
    };
    EXPECT_STATUS(PMIX_ERR_NOMEM, commit(*session, 1000));
    EXPECT_EQ(server.commits.size(), 4u);
    channel->queue_status = PMIX_SUCCESS;
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 1000));
    EXPECT_EQ(server.commits.size(), 5u);
}

// rows: K8
TEST_F(CommitTest, Commit_AfterRefusal_ReportsItOnceAndSendsAllAgain) {
    put_text("a", "1");
    put_text("b", "2");
    refuse_next = 1;
    ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
    settle();
    put_text("c", "3");
    put_text("b", "4");
    put_text("i", "internal", PMIX_INTERNAL);
    server.values.clear();
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit(*session));
    EXPECT_EQ(server.commits.size(), 1u) << "what fails sends nothing";
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    ASSERT_EQ(server.commits.size(), 2u);
    EXPECT_EQ(server.commits[1].resent_up_to, 1u);
    EXPECT_EQ(server.values, (std::map<std::string, std::string>{{"a", "1"}, {"b", "4"}, {"c", "3"}}));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(server.commits.size(), 2u) << "nothing is staged";
    put_text("d", "5");
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(server.commits.back().resent_up_to, 0u);
    EXPECT_EQ(server.commits.back().keys.size(), 1u);
}

// rows: K8
TEST_F(CommitTest, Commit_AfterRefusalOfValuesThatWereReplacedSince_TellsTheServerSo) {
    put_text("a", "1");
    refuse_next = 1;
    ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
    put_text("a", "2");
    const pmix_status_t second = commit(*session);
    // The refusal may have overtaken this commit, which then tells it: the case of the test above.
    if (second == PMIX_ERR_OUT_OF_RESOURCE) return;
    ASSERT_STATUS(PMIX_SUCCESS, second);
    settle();
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit(*session));
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    ASSERT_EQ(server.commits.size(), 3u);
    EXPECT_EQ(server.commits[2].resent_up_to, 1u);
    EXPECT_EQ(server.values["a"], "2");
}

// rows: F1
TEST_F(CommitTest, Fence_OfThisAndAnotherProcess_IsUpToTheServer) {
    const common::ProcId self = session->self(), other(self.nspace, self.rank + 1);
    const pmix_proc_t both[] = {self.to_c(), other.to_c()};
    fence_status = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, fence(*session, both, 2, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, both, 1, nullptr, 0)) << "alone there is nobody to wait for";
}

// rows: K8 F1
TEST_F(CommitTest, Fence_AfterRefusal_ReportsItAndTheNextCommitTriesAgain) {
    const pmix_proc_t self = session->self().to_c();
    for (const bool by_server : {false, true}) {
        put_text("a", by_server ? "1" : "2");
        refuse_next = 1;
        ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
        fence_status = by_server ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS;
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, fence(*session, nullptr, 0, nullptr, 0));
        fence_status = PMIX_SUCCESS;
        EXPECT_STATUS(PMIX_SUCCESS, fence(*session, nullptr, 0, nullptr, 0)) << "once";
        server.values.clear();
        EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
        EXPECT_EQ(server.values.count("a"), 1u);
    }
    put_text("a", "3");
    refuse_next = 1;
    ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
    settle();
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, fence(*session, &self, 1, nullptr, 0)) << "of this process alone";
    EXPECT_STATUS(PMIX_SUCCESS, fence(*session, &self, 1, nullptr, 0));
    put_text("a", "4");
    refuse_next = 1;
    ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
    Once once;
    ASSERT_STATUS(PMIX_SUCCESS, fence_nb(*session, nullptr, 0, nullptr, 0, &Once::op, &once));
    ASSERT_TRUE(once.wait());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, once.status);
}

// rows: K8
TEST_F(CommitTest, Get_ThatAsksAfterRefusal_ReportsIt) {
    put_text("a", "1");
    refuse_next = 1;
    ASSERT_STATUS(PMIX_SUCCESS, commit(*session));
    get_status = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_from_peer()) << "a failure of its own comes first";
    get_status = PMIX_SUCCESS;
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, get_from_peer());
    EXPECT_STATUS(PMIX_SUCCESS, get_from_peer());
}

// rows: K8
TEST_F(CommitTest, Commit_OfMoreThanAFrame_SendsSeveralInOrder) {
    const std::string large(1000, 'l');
    for (int i = 0; i < 10; ++i) put_text("k" + std::to_string(i), large);
    put_text("larger than a frame", std::string(5000, 'm'));
    put_text("last", "x");
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 4096));
    ASSERT_EQ(server.commits.size(), 6u);
    EXPECT_EQ(server.values.size(), 12u);
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(server.commits[static_cast<size_t>(i) / 3].keys.at(static_cast<size_t>(i) % 3),
                  "k" + std::to_string(i));
    }
    for (const Frame& frame : channel->sent()) {
        const bool single = FakeChannel::decoded<common::CommitRequest>(frame).entries.size() == 1;
        EXPECT_TRUE(frame.payload.size() <= 4096 || single);
    }
    EXPECT_EQ(server.commits[4].keys.size(), 1u);
}

// rows: K8
TEST_F(CommitTest, Commit_WhoseSecondFrameIsNotSent_KeepsItForTheNext) {
    const std::string large(1000, 'l');
    put_text("both", "near", PMIX_LOCAL);
    for (int i = 0; i < 10; ++i) put_text("k" + std::to_string(i), large);
    int sends = 0;
    channel->before_send = [&](const Frame&) { return ++sends == 2 ? PMIX_ERR_OUT_OF_RESOURCE : PMIX_SUCCESS; };
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit(*session, 4096));
    EXPECT_EQ(sends, 2) << "order is kept: nothing overtakes what was not sent";
    channel->before_send = nullptr;
    server.commits.clear();
    channel->on_send = [this](const Frame& frame) {
        for (const auto& e : FakeChannel::decoded<common::CommitRequest>(frame).entries) {
            server.values[std::string(e.key)] = Committed::text_of(e.value);
        }
    };
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 4096));
    EXPECT_EQ(server.values.size(), 11u);
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session, 4096));
}

// rows: K8
TEST_F(CommitTest, Commit_ToLostServer_FailsEachTime) {
    put_text("a", "1");
    channel->open = false;
    EXPECT_STATUS(PMIX_ERR_UNREACH, commit(*session));
    EXPECT_STATUS(PMIX_ERR_UNREACH, commit(*session)) << "it is not there now either";
    channel->open = true;
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_EQ(server.values["a"], "1");
}

// What another thread's Commit has taken from the store is on its way when this thread's Commit returns.
// rows: K8 G3
TEST_F(CommitTest, Commit_BesideAnotherThreads_ReturnsWhenItIsSent) {
    std::atomic<bool> sending{false}, go_on{false}, sent{false};
    channel->before_send = [&](const Frame&) {
        sending = true;
        while (!go_on) std::this_thread::yield();
        sent = true;
        return PMIX_SUCCESS;
    };
    put_text("a", "1");
    std::thread other([&] { EXPECT_STATUS(PMIX_SUCCESS, commit(*session)); });
    while (!sending) std::this_thread::yield();
    std::thread release([&] {
        // Time for a Commit that does not wait to return.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        go_on = true;
    });
    EXPECT_STATUS(PMIX_SUCCESS, commit(*session));
    EXPECT_TRUE(sent);
    other.join();
    release.join();
}

// A frame takes so much; what could never be sent is refused by Put.
TEST_F(CommitTest, Put_OfValueThatNoFrameCanTake_IsRefused) {
    const std::string key = "k";
    const size_t most =
        common::kMaxFramePayload - CommitFrame::kEmptySize - CommitFrame::entry_size(key.size(), common::kBytesOffset);
    // Never touched: it is not copied.
    const std::unique_ptr<void, decltype(&free)> bytes(calloc(most + 1, 1), &free);
    ASSERT_NE(bytes, nullptr);
    pmix_value_t v;
    v.type = PMIX_BYTE_OBJECT;
    v.data.bo = {static_cast<char*>(bytes.get()), most + 1};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, put(*session, PMIX_GLOBAL, key.c_str(), &v));
    EXPECT_FALSE(session->mine().anything_staged());
}

TEST(CommitFrame, IsACommitRequest) {
    common::CommitRequest request;
    request.generation = 7;
    const common::Blob value{1, 2, 3}, large(CommitFrame::kBorrowedFrom, 9), larger(100'000, 8);
    request.entries.push_back({PMIX_LOCAL, "a key", value});
    request.entries.push_back({PMIX_GLOBAL, "borrowed", large});
    request.entries.push_back({PMIX_GLOBAL, "b", {}});
    std::vector<std::string> keys;
    for (size_t i = 0; i < CommitFrame::kMaxBorrowed + 3; ++i) keys.push_back("k" + std::to_string(i));
    for (const std::string& key : keys) {
        request.entries.push_back({PMIX_REMOTE, key, key.size() % 2 == 0 ? larger : large});
    }
    for (size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, request.entries.size()}) {
        common::CommitRequest some;
        some.generation = 7;
        some.entries.assign(request.entries.begin(), request.entries.begin() + static_cast<ptrdiff_t>(n));
        CommitFrame frame(7, 0);
        some.resent_up_to = 5;
        size_t expected = CommitFrame::kEmptySize;
        for (const auto& e : some.entries) {
            expected += CommitFrame::entry_size(e.key.size(), e.value.size());
            EXPECT_TRUE(frame.has_room(e.key.size(), e.value.size(), expected));
            EXPECT_FALSE(frame.has_room(e.key.size(), e.value.size(), expected - 1));
            frame.add(e.scope, e.key, e.value);
        }
        frame.finish(5);
        EXPECT_EQ(expected, frame.size());
        common::Blob mine;
        const auto parts = frame.parts();
        EXPECT_LE(parts.size(), transport::Connection::kMaxParts);
        for (const common::Bytes& part : parts) {
            EXPECT_FALSE(part.empty());
            mine.insert(mine.end(), part.begin(), part.end());
        }
        EXPECT_EQ(frame.size(), mine.size());
        EXPECT_EQ(mine, common::message_bytes(some).value()) << n;
    }
}

}  // namespace
}  // namespace pmix::client::session_commit_test
