// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output and input at the client's end: callbacks, credit, buffering, and the process's own stdin.
#include "support/status.h"
#include "unit/client/iof_setting.h"

namespace pmix::client::iof_test {
namespace {

// rows: O2
TEST_F(IofTest, CallbacksComeInOrderAndMayKeepThePayload) {
    ASSERT_EQ(0, pull());
    output(1, "one\n");
    Got::take = true;
    output(2, "two", kErr);
    Got::take = false;
    output(1, std::string_view("\0x", 2));
    output(1, "");
    EXPECT_EQ((std::vector<std::string>{"1:one\n", "2!two", std::string("1:\0x", 4), "1$"}), Got::all());
}

// rows: O1
// proves: PMIx_IOF_pull PMIX_IOF_CACHE_SIZE PMIX_IOF_FILE_ONLY client
TEST_F(IofTest, WhatCannotBePulled) {
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, pull({}, &Got::on, PMIX_FWD_STDIN_CHANNEL));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, pull({}, &Got::on, PMIX_FWD_ALL_CHANNELS));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pull({}, &Got::on, PMIX_FWD_NO_CHANNELS));
    InfoList wrong;
    wrong.append_string(PMIX_IOF_CACHE_SIZE, "many");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pull(std::move(wrong)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pull(flags({PMIX_IOF_FILE_ONLY}))) << "which file?";
    InfoList unknown;
    unknown.append("some.key", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, pull(std::move(unknown)));
    status = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, pull());
    output(1, "nobody");
    EXPECT_TRUE(Got::all().empty());
    channel->open = false;
    EXPECT_STATUS(PMIX_ERR_UNREACH, pull());
}

// rows: O1
TEST_F(IofTest, TheNumberComesByCallbackWhereOneIsGiven) {
    struct Number {
        pmix_status_t status = 1;
        size_t reference = 99;
        static void on(pmix_status_t status, size_t reference, void* self) {
            *static_cast<Number*>(self) = {status, reference};
        }
    } good, bad;
    const pmix_proc_t all = ProcId("far", PMIX_RANK_WILDCARD).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, session->iof().pull(&all, 1, nullptr, 0, kOut, &Got::on, &Number::on, &good));
    settle();
    EXPECT_STATUS(PMIX_SUCCESS, good.status);
    EXPECT_EQ(0u, good.reference);
    status = PMIX_ERR_NOT_SUPPORTED;
    ASSERT_STATUS(PMIX_SUCCESS, session->iof().pull(&all, 1, nullptr, 0, kOut, &Got::on, &Number::on, &bad));
    settle();
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, bad.status);
    // An error at once: no callback.
    Number none;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().pull(nullptr, 0, nullptr, 0, kOut, &Got::on, &Number::on, &none));
    settle();
    EXPECT_EQ(1, none.status);
}

// A host that says yes after the caller's limit has made a reader that nobody knows of, and that gives no credit.
// rows: O1 O8
TEST_F(IofTest, WhatIsPulledTooLateIsGivenBack) {
    status = PMIX_ERR_TIMEOUT;
    ASSERT_STATUS(PMIX_ERR_TIMEOUT, pull());
    status = PMIX_SUCCESS;
    for (int i = 0; i < 2; ++i) output(1, "late");
    int ended = 0;
    for (const Frame& f : channel->sent()) {
        if (f.header.command != static_cast<uint16_t>(Command::iof_deregister)) continue;
        EXPECT_EQ(0u, FakeChannel::decoded<common::IofDeregisterRequest>(f).reference);
        ++ended;
    }
    EXPECT_EQ(1, ended);
    EXPECT_TRUE(Got::all().empty());
}

// However many there are.
TEST_F(IofTest, LateOutput_OfManyPullsThatTimedOut_IsGivenBackForEach) {
    constexpr uint64_t kPulls = 300;
    status = PMIX_ERR_TIMEOUT;
    for (uint64_t i = 0; i < kPulls; ++i) ASSERT_STATUS(PMIX_ERR_TIMEOUT, pull());
    for (uint64_t i = 0; i < kPulls; ++i) output(1, "late", kOut, i);
    std::set<uint64_t> ended;
    for (const Frame& f : channel->sent()) {
        if (f.header.command == static_cast<uint16_t>(Command::iof_deregister))
            ended.insert(FakeChannel::decoded<common::IofDeregisterRequest>(f).reference);
    }
    EXPECT_EQ(kPulls, ended.size());
    EXPECT_TRUE(Got::all().empty());
}

// rows: O8
TEST_F(IofTest, CreditIsGivenForWhatWasDealtWith) {
    ASSERT_EQ(0, pull());
    const std::string block(30'000, 'x');
    for (int i = 0; i < 10; ++i) output(1, block);
    EXPECT_LE(credit(), 10 * (block.size() + common::kIofFrameCost));
    EXPECT_GE(credit() + common::kIofWindow / 4, 10 * (block.size() + common::kIofFrameCost));
}

// rows: O2
TEST_F(IofTest, WhatTheServerHadToDropIsTold) {
    ASSERT_EQ(0, pull());
    output(1, "after", kOut, 0, 17);
    EXPECT_EQ(1u, Got::infos);
}

// rows: O5 O6
// proves: PMIx_IOF_pull PMIX_IOF_BUFFERING_SIZE client
TEST_F(IofTest, BufferedOutputComesBySizeAndAtTheEnd) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_SIZE, 8, PMIX_UINT32);
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "abc");
    output(2, "xyz");
    output(1, "def");
    EXPECT_TRUE(Got::all().empty());
    output(1, "ghijklmnopq");
    EXPECT_EQ((std::vector<std::string>{"1:abcdefgh", "1:ijklmnop"}), Got::all());
    output(2, "");
    EXPECT_EQ((std::vector<std::string>{"1:abcdefgh", "1:ijklmnop", "2:xyz", "2$"}), Got::all());
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().deregister(0, nullptr, 0, nullptr, nullptr));
    EXPECT_EQ("1:q", Got::all().back());
    output(1, "later");
    EXPECT_EQ(5u, Got::all().size());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().deregister(0, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().deregister(12, nullptr, 0, nullptr, nullptr));
}

// A server that is stopped. The handler is none in any case.
// rows: O6
// proves: PMIx_IOF_deregister PMIX_TIMEOUT client
TEST_F(IofTest, Deregister_ServerIsSilent_EndsWithTheLimit) {
    ASSERT_EQ(0, pull());
    ASSERT_EQ(1, pull());
    session->on_loop_and_wait([this] { channel->on_send = nullptr; });
    InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, session->iof().deregister(0, infos.c_array(), 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().deregister(0, infos.c_array(), 1, nullptr, nullptr));
    std::promise<pmix_status_t> ended;
    const auto note = [](pmix_status_t how, void* to) {
        static_cast<std::promise<pmix_status_t>*>(to)->set_value(how);
    };
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().deregister(1, infos.c_array(), 1, note, &ended));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, ended.get_future().get());
    infos = InfoList();
    infos.append_number<int>(PMIX_TIMEOUT, -1, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().deregister(0, infos.c_array(), 1, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().deregister(0, nullptr, 1, nullptr, nullptr));
}

// What ends the wait for a server that owes its answer: nothing is due any more.
class DeregisterEnds : public IofTest {
  protected:
    // How the call ends.
    pmix_status_t when(const std::function<void()>& happens) {
        EXPECT_EQ(0, pull());
        session->on_loop_and_wait([this] { channel->on_send = nullptr; });
        std::promise<pmix_status_t> ended;
        const auto note = [](pmix_status_t how, void* to) {
            static_cast<std::promise<pmix_status_t>*>(to)->set_value(how);
        };
        EXPECT_STATUS(PMIX_SUCCESS, session->iof().deregister(0, nullptr, 0, note, &ended));
        session->on_loop_and_wait(happens);
        return ended.get_future().get();
    }
};

TEST_F(DeregisterEnds, ServerEnds_IsOver) {
    EXPECT_STATUS(PMIX_SUCCESS, when([this] { session->on_closed(PMIX_ERR_LOST_CONNECTION); }));
}

TEST_F(DeregisterEnds, ProcessFinalizes_IsOver) {
    EXPECT_STATUS(PMIX_SUCCESS, when([this] { session->shut(PMIX_ERR_INIT); }));
}

// rows: O5
// proves: PMIx_IOF_pull PMIX_IOF_BUFFERING_TIME client
TEST_F(IofTest, BufferedOutputComesByTime) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_SIZE, 1000, PMIX_UINT32);
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_TIME, 1, PMIX_UINT32);
    ASSERT_EQ(0, pull(std::move(infos)));
    const auto began = std::chrono::steady_clock::now();
    output(1, "abc");
    const bool waits = Got::all().empty();
    // A process that was stopped for a second may find it already.
    EXPECT_TRUE(waits || std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));
    transport::Waiter later;
    loop->post([&] {
        transport::assert_on_loop();
        loop->after(1100, [&] { later.complete(); });
    });
    ASSERT_TRUE(later.wait(transport::Deadline::in_ms(60'000)));
    EXPECT_EQ((std::vector<std::string>{"1:abc"}), Got::all());
}

// rows: O6
TEST_F(IofTest, ACallbackMayDeregisterItself) {
    ASSERT_EQ(0, pull());
    Got::deregister_in_callback = true;
    output(1, "first");
    output(1, "second");
    EXPECT_EQ((std::vector<std::string>{"1:first"}), Got::all());
}

TEST_F(IofTest, NothingIsKeptOfWhatHasEnded) {
    const auto streams = [&] {
        size_t n = 0;
        session->on_loop_and_wait([&] { n = session->iof().streams(); });
        return n;
    };
    InfoList merged;
    merged.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/out");
    merged.append_flag(PMIX_IOF_MERGE_STDERR_STDOUT, true);
    ASSERT_EQ(0, pull());
    ASSERT_EQ(1, pull(std::move(merged)));
    for (uint32_t rank = 0; rank < 3; ++rank) {
        for (uint64_t reference : {0, 1}) {
            output(rank, "out\n", kOut, reference);
            output(rank, "", kOut, reference);
            // Where both go to one file the first that ends waits for the other.
            EXPECT_EQ(reference == 1 ? 1u : 0u, streams());
            output(rank, "err\n", kErr, reference);
            output(rank, "", kErr, reference);
            EXPECT_EQ(0u, streams());
        }
        EXPECT_EQ("out\nerr\n", file("out.far." + std::to_string(rank) + ".stdout"));
    }
}

// rows: O7
// proves: PMIx_IOF_push PMIX_IOF_PUSH_STDIN PMIX_IOF_COMPLETE client
TEST_F(IofTest, WhatIsPushed) {
    const pmix_proc_t target = ProcId("far", 2).to_c();
    char text[] = "input";
    pmix_byte_object_t bytes{text, 5};
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
    auto request = FakeChannel::decoded<common::IofPushRequest>(channel->sent().back());
    EXPECT_EQ(5u, request.data.size());
    EXPECT_EQ((common::ProcList{{"far", 2}}), request.procs);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().push(&target, 1, nullptr, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, session->iof().push(nullptr, 0, &bytes, nullptr, 0, nullptr, nullptr));
    pmix_byte_object_t none{nullptr, 0};
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, &none, nullptr, 0, nullptr, nullptr)) << "the end";
    InfoList end = flags({PMIX_IOF_COMPLETE});
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, end.c_array(), 1, nullptr, nullptr));
    status = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, session->iof().push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
}

// rows: O7
TEST_F(IofTest, OwnStdinIsCollectedUntilItsEnd) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    const pmix_proc_t target = ProcId("far", 2).to_c();
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    listen();
    ASSERT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    ASSERT_EQ(5, ::write(ends[1], "input", 5));
    ::close(ends[1]);
    std::string all;
    bool end = false;
    const auto deadline = transport::Deadline::in_ms(60'000);
    while (!end && !deadline.passed()) {
        settle();
        all.clear();
        for (const Frame& f : channel->sent()) {
            if (f.header.command != static_cast<uint16_t>(Command::iof_push)) continue;
            auto request = FakeChannel::decoded<common::IofPushRequest>(f);
            all.append(reinterpret_cast<const char*>(request.data.data()), request.data.size());
            end = end || (!request.probe && request.data.empty());
        }
    }
    EXPECT_TRUE(end);
    EXPECT_EQ("input", all);
    EXPECT_TRUE(hears(1));
    EXPECT_STATUS(PMIX_ERR_IOF_COMPLETE, Heard::all().front());
    ::dup2(before, 0);
    ::close(before);
    ::close(ends[0]);
}

// A process that shares stdin takes what made it ready. rows: O7
TEST_F(IofTest, OwnStdinEndsForItsTargetsWhenThisProcessFinalizes) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    const pmix_proc_t target = ProcId("far", 2).to_c();
    session->iof().end_own_input();
    EXPECT_TRUE(channel->sent().empty()) << "there is none";
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    ASSERT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    for (int i = 0; i < 2; ++i) {
        session->iof().end_own_input();
        settle();
        ASSERT_EQ(2u, channel->sent().size());
        auto request = FakeChannel::decoded<common::IofPushRequest>(channel->sent().back());
        EXPECT_TRUE(request.data.empty() && !request.probe);
        EXPECT_EQ((common::ProcList{{"far", 2}}), request.procs);
        EXPECT_TRUE(common::InfoView(request.infos.data(), request.infos.size()).flag(PMIX_IOF_COMPLETE));
    }
    ::dup2(before, 0);
    for (int fd : {before, ends[0], ends[1]}) ::close(fd);
}

TEST_F(IofTest, OwnStdinThatAnotherHasEmptiedIsNotWaitedFor) {
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    for (bool socket : {false, true}) {
        SCOPED_TRACE(socket ? "socket" : "pipe");
        int ends[2];
        ASSERT_EQ(0, socket ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : ::pipe2(ends, O_CLOEXEC));
        ASSERT_EQ(0, ::dup2(ends[0], 0));
        const size_t sent = channel->sent().size();
        IofStdin in(*session);
        std::promise<void> promise;
        auto back = promise.get_future();
        loop->post([&] {
            in.start({{"far", 2}}, {});
            in.on_ready(true, false);
            promise.set_value();
        });
        const bool returned = back.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
        EXPECT_TRUE(returned) << "the loop waits for input";
        EXPECT_EQ(sent, channel->sent().size());
        EXPECT_EQ(0, ::fcntl(0, F_GETFL) & O_NONBLOCK) << "that is not ours to change";
        ASSERT_EQ(5, ::write(ends[1], "input", 5));  // it goes on, and reads on
        back.wait();
        const auto deadline = transport::Deadline::in_ms(60'000);
        while (channel->sent().size() == sent && !deadline.passed()) settle();
        ASSERT_GT(channel->sent().size(), sent);
        EXPECT_EQ(5u, FakeChannel::decoded<common::IofPushRequest>(channel->sent()[sent]).data.size());
        session->on_loop_and_wait([&] { in.stop(false); });
        settle();
        ::dup2(before, 0);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ::close(before);
}

// rows: O7
TEST_F(IofTest, InputThatTheHostRefusesEndsForwardingWithAnEvent) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    const pmix_proc_t target = ProcId("far", 2).to_c();
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    listen();
    ASSERT_STATUS(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    status = PMIX_ERR_NOT_FOUND;
    ASSERT_EQ(5, ::write(ends[1], "input", 5));
    EXPECT_TRUE(hears(1));
    EXPECT_STATUS(PMIX_ERR_IOF_FAILURE, Heard::all().front());
    ::dup2(before, 0);
    ::close(before);
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace pmix::client::iof_test
