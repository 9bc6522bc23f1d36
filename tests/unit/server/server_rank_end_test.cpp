// SPDX-License-Identifier: BSD-3-Clause
// A rank is the process that the host has started: it ends with that one, and not with a program that has finalized.
#include <sys/prctl.h>
#include <sys/resource.h>

#include "support/group_requests.h"
#include "support/status.h"
#include "unit/server/server_fence_setting.h"

namespace server_rank_end_test {

using namespace pmix;
using namespace pmix::test;
using transport::Descriptor;

// A child of this process, as a host starts a rank. It makes connections itself, or starts a program that makes one.
class Started {
  public:
    Started() {
        auto [mine, theirs] = socket_pair();
        ::fcntl(mine.get(), F_SETFL, 0);
        ::fcntl(theirs.get(), F_SETFL, 0);
        pid_ = ::fork();
        if (pid_ == 0) {
            mine.reset();
            serve(theirs.get());
        }
        line_ = std::move(mine);
    }
    ~Started() { end(); }
    pid_t pid() const { return pid_; }
    void end() {
        line_.reset();
        if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
        pid_ = 0;
    }
    ConnectionEnds connect() { return ask_for_ends('c'); }
    ConnectionEnds start_program() { return ask_for_ends('p'); }
    void end_program() {
        char answer = 'e';
        EXPECT_EQ(1, ::write(line_.get(), &answer, 1));
        EXPECT_EQ(1, ::read(line_.get(), &answer, 1));
    }
    pid_t program() {
        pid_t pid = 0;
        EXPECT_EQ(1, ::write(line_.get(), "n", 1));
        EXPECT_EQ(static_cast<ssize_t>(sizeof pid), ::read(line_.get(), &pid, sizeof pid));
        return pid;
    }

  private:
    static constexpr size_t kControl = CMSG_SPACE(2 * sizeof(int));
    struct Letter {
        char byte = 'f';
        iovec part{&byte, 1};
        alignas(cmsghdr) char control[kControl] = {};
        msghdr head{};
        Letter() {
            head.msg_iov = &part;
            head.msg_iovlen = 1;
            head.msg_control = control;
            head.msg_controllen = sizeof control;
        }
    };
    // Both ends: the kernel notes who has made them.
    static void send_ends(int line) {
        int ends[2];
        if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) ::_exit(1);
        Letter letter;
        cmsghdr* const rights = CMSG_FIRSTHDR(&letter.head);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof ends);
        std::memcpy(CMSG_DATA(rights), ends, sizeof ends);
        if (::sendmsg(line, &letter.head, 0) != 1) ::_exit(1);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    [[noreturn]] static void serve(int line) {
        pid_t program = 0;
        for (char asked; ::read(line, &asked, 1) == 1;) {
            if (asked == 'c') send_ends(line);
            if (asked == 'p' && (program = ::fork()) == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                send_ends(line);
                ::close(line);
                for (;;) ::pause();
            }
            if (asked == 'n' && ::write(line, &program, sizeof program) < 0) break;
            if (asked != 'e') continue;
            ::kill(program, SIGKILL);
            ::waitpid(program, nullptr, 0);
            if (::write(line, &asked, 1) != 1) break;
        }
        ::_exit(0);
    }
    ConnectionEnds ask_for_ends(char what) {
        EXPECT_EQ(1, ::write(line_.get(), &what, 1));
        Letter letter;
        int ends[2] = {-1, -1};
        EXPECT_EQ(1, ::recvmsg(line_.get(), &letter.head, MSG_CMSG_CLOEXEC));
        const cmsghdr* const rights = CMSG_FIRSTHDR(&letter.head);
        if (rights == nullptr || rights->cmsg_len != CMSG_LEN(sizeof ends)) {
            ADD_FAILURE() << "no connection";
            return {};
        }
        std::memcpy(ends, CMSG_DATA(rights), sizeof ends);
        return {Descriptor(ends[0]), Descriptor(ends[1])};
    }

    Descriptor line_;
    pid_t pid_ = 0;
};

// Rank 0 is this process; what starts rank 1 is another one.
class ServerRankEnd : public ::testing::Test {
  protected:
    ServerRankEnd() {
        server_.job("job", 1, 2);
        EXPECT_STATUS(PMIX_SUCCESS, zero_.hello());
    }
    std::unique_ptr<FakeClient> rank_one(ConnectionEnds ends) {
        auto client = std::make_unique<FakeClient>(server_, kOne, std::move(ends));
        EXPECT_STATUS(PMIX_SUCCESS, client->hello());
        return client;
    }
    void finalize(std::unique_ptr<FakeClient>& client) {
        EXPECT_STATUS(PMIX_SUCCESS, client->ask<Command::finalize>(common::FinalizeRequest{}));
        client->kill();
        EXPECT_TRUE(server_.turn_until([&] { return server_.parts().peers.size() == 1; }));
    }

    const ProcId kOne{"job", 1};
    Started started_;
    TestServer server_{nullptr};
    FakeClient zero_{server_, {"job", 0}};
};

// As a fence does. rows: F7 I12
TEST_F(ServerRankEnd, ProgramOfAScriptHasEnded_GroupWaitsForTheNextOne) {
    auto first = rank_one(started_.start_program());
    finalize(first);
    const uint32_t early = construct(zero_);
    server_.settle();
    EXPECT_FALSE(zero_.take(early)) << "its program has finalized";
    started_.end_program();
    auto second = rank_one(started_.start_program());
    const uint32_t late = construct(*second);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(*second, late).status);
    EXPECT_STATUS(PMIX_SUCCESS, done_of(zero_, early).status);
}

// What the host has started ends without a second program.
TEST_F(ServerRankEnd, HostsProcessHasEnded_GroupWaitsForItNoMore) {
    auto first = rank_one(started_.start_program());
    finalize(first);
    const uint32_t early = construct(zero_);
    server_.settle();
    EXPECT_FALSE(zero_.take(early));
    started_.end();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done_of(zero_, early).status);
}

// A script starts two programs one after the other. rows: F7 I12
TEST_F(ServerRankEnd, ProgramOfAScriptHasEnded_FenceAndGetWaitForTheNextOne) {
    auto first = rank_one(started_.start_program());
    first->put("of the first", "1");
    finalize(first);
    const uint32_t early = zero_.start_fence({kJob}), asked = zero_.start_get(kOne, "of the second", 600);
    server_.settle();
    EXPECT_FALSE(zero_.take(early)) << "its program has finalized";
    started_.end_program();
    server_.settle();
    EXPECT_FALSE(zero_.take(early)) << "its program has ended";
    EXPECT_FALSE(zero_.take(asked));
    auto second = rank_one(started_.start_program());
    second->put("of the second", "2");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(*second, second->start_fence({kJob})));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(zero_, early));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(zero_, asked));
    EXPECT_EQ("2", zero_.read_text(1, "of the second"));
    finalize(second);
    started_.end_program();
    const uint32_t late = zero_.start_fence({kJob}), never = zero_.start_get(kOne, "of a third", 600);
    server_.settle();
    EXPECT_FALSE(zero_.take(late));
    EXPECT_FALSE(zero_.take(never));
    started_.end();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(zero_, late)) << "the script has ended";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(zero_, never));
}

// Another node asks for what the second program will commit. rows: K22
TEST_F(ServerRankEnd, ProgramOfAScriptHasEnded_DirectModexOfAnotherNodeIsNotOver) {
    auto first = rank_one(started_.start_program());
    finalize(first);
    started_.end_program();
    std::optional<pmix_status_t> answer;
    server_.on_loop([&] {
        server_.parts().get.modex_request(kOne, [&](pmix_status_t status, common::Bytes) { answer = status; });
        return 0;
    });
    server_.settle();
    EXPECT_FALSE(answer) << "nothing is committed";
    auto second = rank_one(started_.start_program());
    second->put("key", "value");
    ASSERT_TRUE(server_.turn_until([&] { return answer.has_value(); }));
    EXPECT_STATUS(PMIX_SUCCESS, *answer);
}

// rows: F7
TEST_F(ServerRankEnd, ProgramThatTheHostHasStarted_ItsEndIsTheRanks) {
    auto client = rank_one(started_.connect());
    finalize(client);
    const uint32_t fence = zero_.start_fence({kJob});
    server_.settle();
    EXPECT_FALSE(zero_.take(fence));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(zero_, zero_.start_get(kOne, "key")));
    started_.end();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(zero_, fence));
}

// This process is nobody's child here: only the host can know the end of what it has started.
TEST_F(ServerRankEnd, ProcessThatTheHostHasStartedIsNotKnown_HostDeregistersIt) {
    auto client = rank_one(socket_pair());
    finalize(client);
    const auto member = server_.parts().registry.member(kOne);
    const uint32_t fence = zero_.start_fence({kJob});
    server_.settle();
    EXPECT_FALSE(zero_.take(fence));
    ASSERT_EQ(1u, server_.parts().leaving.count(*member));
    EXPECT_FALSE(server_.parts().leaving.at(*member).is_known());
    server_.on_loop([&] { server_.setup().deregister_client(kOne); });
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(zero_, fence));
    EXPECT_EQ(0u, server_.parts().leaving.size());
}

// rows: F7
TEST_F(ServerRankEnd, KernelHasNoWatch_TheServerLooksFromTimeToTime) {
    auto client = rank_one(started_.connect());
    rlimit before{};
    ASSERT_EQ(0, ::getrlimit(RLIMIT_NOFILE, &before));
    Descriptor lowest(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const rlimit none{static_cast<rlim_t>(lowest.get()), before.rlim_max};
    lowest.reset();
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &none));
    EXPECT_STATUS(PMIX_SUCCESS, client->ask<Command::finalize>(common::FinalizeRequest{}));
    ASSERT_EQ(0, ::setrlimit(RLIMIT_NOFILE, &before));
    client->kill();
    const auto member = server_.parts().registry.member(kOne);
    ASSERT_EQ(1u, server_.parts().leaving.count(*member));
    EXPECT_EQ(nullptr, server_.parts().leaving.at(*member).watch);
    const uint32_t fence = zero_.start_fence({kJob});
    server_.settle();
    EXPECT_FALSE(zero_.take(fence));
    started_.end();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(zero_, fence));
}

// Both are there when they finalize, so neither is the last one then. rows: F7 V14
TEST_F(ServerRankEnd, ProgramWithTwoConnections_RankIsWaitedForAllTheSame) {
    auto one = rank_one(started_.start_program());
    auto other = rank_one(started_.connect());
    for (const auto& client : {&one, &other})
        EXPECT_STATUS(PMIX_SUCCESS, (*client)->ask<Command::finalize>(common::FinalizeRequest{}));
    one->kill();
    other->kill();
    started_.end_program();
    ASSERT_TRUE(server_.turn_until([&] { return server_.parts().peers.size() == 1; }));
    const uint32_t fence = zero_.start_fence({kJob});
    server_.settle();
    EXPECT_FALSE(zero_.take(fence));
    started_.end();
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(zero_, fence));
}

// What a program has registered for removal goes at the end of its rank. rows: J3
TEST_F(ServerRankEnd, Cleanup_ProgramOfAScriptHasEnded_StaysUntilTheScriptEnds) {
    auto client = rank_one(started_.start_program());
    const auto member = server_.parts().registry.member(kOne);
    server_.on_loop([&] {
        server::CleanupRequest request{*member, {}, {*member}, {::geteuid(), ::getegid()}};
        EXPECT_STATUS(PMIX_SUCCESS, server_.parts().cleanup.add(request, {"/nonexistent/of a rank"}, {}, {}));
    });
    finalize(client);
    started_.end_program();
    server_.settle();
    EXPECT_EQ(1u, server_.parts().cleanup.size());
    started_.end();
    EXPECT_TRUE(server_.turn_until([&] { return server_.parts().cleanup.size() == 0; }));
}

TEST_F(ServerRankEnd, StartedProcess_IsTheChildAmongTheAncestors) {
    (void)started_.start_program();
    const pid_t program = started_.program();
    EXPECT_EQ(started_.pid(), server::started_process_of(started_.pid()));
    EXPECT_EQ(started_.pid(), server::started_process_of(program));
    EXPECT_TRUE(server::is_running_child(started_.pid()));
    EXPECT_FALSE(server::is_running_child(program));
    for (const pid_t none : {pid_t{0}, pid_t{-1}, pid_t{1}, ::getpid(), ::getppid()})
        EXPECT_EQ(0, server::started_process_of(none)) << none;
    started_.end_program();
    EXPECT_EQ(0, server::started_process_of(program)) << "it is no more";
}

}  // namespace server_rank_end_test
