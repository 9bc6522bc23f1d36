// SPDX-License-Identifier: BSD-3-Clause
// A server that accepts and says nothing, that falls silent after some answers, or that dies: each call of a client
// ends by the rule of docs/design/threads.md, "What ends a wait".
//
// The server is in this process and runs only while the test runs it: one that does not run is, for its clients, one
// that has stopped. Each client is a forked child, which reports by its exit status; one that hangs is ended by
// SIGALRM.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <thread>
#include <vector>

#include "server/jobs/launch_env.h"
#include "support/fake_client.h"
#include "transport/unix_socket.h"

namespace silent_server_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

constexpr unsigned kHangSeconds = 180;

// Ends the child where the condition does not hold; the status is the line.
#define NEED(condition)                                                              \
    do {                                                                             \
        if (!(condition)) {                                                          \
            ::dprintf(STDERR_FILENO, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            ::_exit(1);                                                              \
        }                                                                            \
    } while (0)

// What a child and the test tell each other.
struct Board {
    std::atomic<int> ready{0};  // children that have done what they need the server for
    std::atomic<bool> go{false};
    void await_go() {
        ++ready;
        while (!go) ::usleep(1000);
    }
};

InfoList limited(int seconds) {
    InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, seconds, PMIX_INT);
    return infos;
}

pmix_proc_t remote() {
    return ProcId("job", 1000).to_c();
}

pmix_status_t get_remote(const InfoList& infos) {
    pmix_value_t* value = nullptr;
    const pmix_proc_t proc = remote();
    return PMIx_Get(&proc, "no.such.key", infos.c_array(), infos.size(), &value);
}

class SilentServerTest : public testing::Test {
  protected:
    void SetUp() override {
        void* page = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, page);
        board_ = new (page) Board;
    }
    void TearDown() override { ::munmap(board_, sizeof(Board)); }

    // A server of one of two nodes, with so many processes.
    void start(unsigned ppn, bool stops_in_init = false) {
        server_ = std::make_unique<TestServer>(&module_);
        if (stops_in_init) {
            InfoList stop;
            stop.append_flag(PMIX_DEBUG_STOP_IN_INIT, true);
            server_->add_job("job", 1, stop);
        }
        server_->job("job", 2, ppn);
    }
    // A child as rank r. It has nothing of ours but its environment.
    void run(uint32_t rank, const std::function<void(Board&)>& client) {
        const pid_t pid = ::fork();
        ASSERT_GE(pid, 0);
        if (pid == 0) {
            ::alarm(kHangSeconds);
            const auto* environment = server::LaunchEnv::current();
            if (environment != nullptr) NEED(environment->apply("job", rank, &environ) == PMIX_SUCCESS);
            for (int fd = STDERR_FILENO + 1; fd < 1024; ++fd) ::close(fd);
            client(*board_);
            ::_exit(0);
        }
        children_.push_back(pid);
    }
    void turn_until_ready() {
        const auto limit = transport::Deadline::in_ms(120'000);
        while (board_->ready < static_cast<int>(children_.size()) && !limit.passed()) {
            server_->run_once();
            ::usleep(200);
        }
        ASSERT_EQ(static_cast<int>(children_.size()), board_->ready.load());
    }
    // turning: the server serves meanwhile.
    void expect_good_ends(bool turning = false) {
        for (const pid_t pid : children_) {
            int status = 0;
            while (turning && ::waitpid(pid, &status, WNOHANG) == 0) {
                server_->run_once();
                ::usleep(200);
            }
            if (!turning) {
                EXPECT_EQ(pid, ::waitpid(pid, &status, 0));
            }
            EXPECT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) << "a call hangs";
            EXPECT_EQ(0, status);
        }
        children_.clear();
    }

    FakeHost host_;
    pmix_server_module_t module_ = host_.module();
    std::unique_ptr<TestServer> server_;
    Board* board_ = nullptr;
    std::vector<pid_t> children_;
};

void init_and_wait(Board& board) {
    NEED(PMIx_Init(nullptr, nullptr, 0) == PMIX_SUCCESS);
    board.await_go();
}

// At exit status 0 of a child without exec the library's threads are gone with the process.
void finalize(pmix_status_t expected = PMIX_SUCCESS) {
    NEED(PMIx_Finalize(nullptr, 0) == expected);
    NEED(PMIx_Initialized() == 0);
}

}  // namespace

// rows: I1
TEST_F(SilentServerTest, Init_ServerNeverAccepts_EndsByItself) {
    start(1);
    run(0, [](Board&) { NEED(PMIx_Init(nullptr, nullptr, 0) == PMIX_ERR_TIMEOUT); });
    expect_good_ends();
}

TEST_F(SilentServerTest, Init_BacklogIsFull_EndsByItself) {
    const std::string address = transport::make_abstract_address();
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::memcpy(name.sun_path + 1, address.data() + 1, address.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    ASSERT_EQ(0, ::bind(listener, reinterpret_cast<sockaddr*>(&name), length));
    ASSERT_EQ(0, ::listen(listener, 0));
    std::vector<transport::Descriptor> waiting;
    for (int rc = 0; rc == 0;) {
        waiting.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
        rc = ::connect(waiting.back().get(), reinterpret_cast<sockaddr*>(&name), length);
        ASSERT_LT(waiting.size(), 100u);
    }
    ASSERT_EQ(EAGAIN, errno);
    run(0, [&](Board&) {
        ::setenv("PMIX_NAMESPACE", "job", 1);
        ::setenv("PMIX_RANK", "0", 1);
        ::setenv("PMIX_SERVER_URI_WIREUP", ("server.0;wireup:" + address).c_str(), 1);
        NEED(PMIx_Init(nullptr, nullptr, 0) == PMIX_ERR_TIMEOUT);
    });
    // A tool that is given the address, too.
    run(0, [&](Board&) {
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, "server.0;wireup:" + address);
        NEED(PMIx_tool_init(nullptr, infos.c_array(), infos.size()) == PMIX_ERR_TIMEOUT);
    });
    expect_good_ends();
    ::close(listener);
}

// The answer to the hello ends after so many bytes.
TEST_F(SilentServerTest, Init_ServerDiesInItsAnswer_IsRefused) {
    const std::string address = transport::make_abstract_address();
    auto listener = transport::listen_abstract(address);
    ASSERT_TRUE(listener.ok());
    common::FrameHeader header = common::FrameHeader::reply(static_cast<uint16_t>(Command::hello), 1, PMIX_SUCCESS);
    header.payload = 64;
    std::vector<uint8_t> answer = frame_bytes(header, std::vector<uint8_t>(64));
    for (const size_t sent : {size_t{0}, size_t{1}, common::kFrameHeaderSize - 1, common::kFrameHeaderSize,
                              common::kFrameHeaderSize + 1, answer.size() - 1, answer.size()}) {
        SCOPED_TRACE(sent);
        run(0, [&](Board&) {
            ::setenv("PMIX_NAMESPACE", "job", 1);
            ::setenv("PMIX_RANK", "0", 1);
            ::setenv("PMIX_SERVER_URI_WIREUP", ("server.0;wireup:" + address).c_str(), 1);
            const pmix_status_t rc = PMIx_Init(nullptr, nullptr, 0);
            NEED(rc != PMIX_SUCCESS && rc != PMIX_ERR_UNREACH && rc != PMIX_ERR_TIMEOUT);
        });
        pollfd ready{listener->get(), POLLIN, 0};
        ASSERT_EQ(1, ::poll(&ready, 1, 120'000));
        transport::Descriptor socket(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
        char hello[4096];
        ASSERT_GT(::recv(socket.get(), hello, sizeof hello, 0), 0);
        ASSERT_EQ(static_cast<ssize_t>(sent), ::send(socket.get(), answer.data(), sent, MSG_NOSIGNAL));
        socket.reset();
        expect_good_ends();
    }
}

// All of them beside each other: each takes as long as its limit. rows: C10 G11 I9 I10
TEST_F(SilentServerTest, Calls_ServerStopsAfterInit_EndByTheirLimits) {
    start(7);
    run(0, [](Board& board) {
        init_and_wait(board);
        NEED(get_remote(limited(1)) == PMIX_ERR_TIMEOUT);
        const InfoList infos = limited(1);
        NEED(PMIx_Fence(nullptr, 0, infos.c_array(), infos.size()) == PMIX_ERR_TIMEOUT);
        finalize();
    });
    run(1, [](Board& board) {
        init_and_wait(board);
        NEED(PMIx_Abort(1, "the server has stopped", nullptr, 0) == PMIX_ERR_TIMEOUT);
    });
    // Others wait in calls without a limit.
    run(2, [](Board& board) {
        init_and_wait(board);
        std::atomic<int> ended{0};
        const auto end = [&](pmix_status_t rc) {
            NEED(rc != PMIX_SUCCESS);
            ++ended;
        };
        std::thread fence([&] { end(PMIx_Fence(nullptr, 0, nullptr, 0)); });
        std::thread get([&] { end(get_remote({})); });
        std::thread lookup([&] {
            pmix_pdata_t wanted = {};
            std::snprintf(wanted.key, sizeof wanted.key, "%s", "no.such.key");
            end(PMIx_Lookup(&wanted, 1, nullptr, 0));
        });
        finalize();
        fence.join(), get.join(), lookup.join();
        NEED(ended == 3);
    });
    run(3, [](Board& board) {
        init_and_wait(board);
        InfoList infos = limited(1);
        infos.append_flag(PMIX_EMBED_BARRIER, true);
        NEED(PMIx_Finalize(infos.c_array(), infos.size()) == PMIX_SUCCESS);
    });
    run(4, [](Board& board) {
        init_and_wait(board);
        std::atomic<bool> returned{false};
        pmix_status_t answered = PMIX_SUCCESS;
        struct Call {
            std::atomic<bool>& returned;
            pmix_status_t& answered;
            static void* main(void* self) {
                auto* call = static_cast<Call*>(self);
                call->answered = get_remote(limited(2));
                call->returned = true;
                for (;;) ::pause();
            }
        } call{returned, answered};
        pthread_t thread;
        NEED(::pthread_create(&thread, nullptr, &Call::main, &call) == 0);
        NEED(::pthread_cancel(thread) == 0);
        void* result = nullptr;
        NEED(::pthread_join(thread, &result) == 0);
        NEED(result == PTHREAD_CANCELED);
        NEED(returned ? answered == PMIX_ERR_TIMEOUT : true);
        finalize();
    });
    // A child of a process with a thread inside a call.
    run(5, [](Board& board) {
        init_and_wait(board);
        std::atomic<bool> entered{false};
        std::thread get([&] {
            entered = true;
            NEED(get_remote(limited(8)) == PMIX_ERR_TIMEOUT);
        });
        while (!entered) ::usleep(1000);
        const pid_t pid = ::fork();
        NEED(pid >= 0);
        if (pid == 0) {
            ::alarm(kHangSeconds);
            NEED(PMIx_Initialized() == 0);
            NEED(get_remote({}) == PMIX_ERR_INIT);
            InfoList infos = limited(1);
            NEED(PMIx_Init(nullptr, infos.c_array(), infos.size()) == PMIX_ERR_TIMEOUT);
            ::_exit(0);
        }
        int status = 1;
        NEED(::waitpid(pid, &status, 0) == pid && status == 0);
        get.join();
        finalize();
    });
    // Handlers run on the thread that they would wait for.
    run(6, [](Board& board) {
        NEED(PMIx_Init(nullptr, nullptr, 0) == PMIX_SUCCESS);
        static std::atomic<int> handled{0};
        const pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 1;
        const auto handler = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                                pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
            NEED(PMIx_Fence(nullptr, 0, nullptr, 0) == PMIX_ERR_WOULD_BLOCK);
            NEED(get_remote({}) == PMIX_ERR_WOULD_BLOCK);
            NEED(PMIx_Finalize(nullptr, 0) == PMIX_ERR_WOULD_BLOCK);
            done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
            ++handled;
        };
        pmix_status_t wanted = code;
        NEED(PMIx_Register_event_handler(&wanted, 1, nullptr, 0, handler, nullptr, nullptr) >= 0);
        board.await_go();
        NEED(PMIx_Notify_event(code, nullptr, PMIX_RANGE_PROC_LOCAL, nullptr, 0, nullptr, nullptr) >= 0);
        while (handled == 0) ::usleep(1000);
        finalize();
    });
    turn_until_ready();
    board_->go = true;
    expect_good_ends();
}

TEST_F(SilentServerTest, CallsWithoutALimit_ServerGoesOn_AreAnswered) {
    start(1);
    run(0, [](Board& board) {
        init_and_wait(board);
        InfoList infos;
        const pmix_proc_t me = ProcId("job", 0).to_c();
        NEED(PMIx_Fence(&me, 1, infos.c_array(), infos.size()) == PMIX_SUCCESS);
        finalize();
    });
    turn_until_ready();
    board_->go = true;
    ::usleep(300'000);  // meanwhile it sends nothing, as one that was sent SIGSTOP
    expect_good_ends(true);
}

TEST_F(SilentServerTest, CallsWithoutALimit_ServerDies_EndWithIt) {
    start(3);
    for (uint32_t rank = 0; rank < 3; ++rank) {
        run(rank, [rank](Board& board) {
            init_and_wait(board);
            pmix_status_t rc = PMIX_SUCCESS;
            if (rank == 0) rc = PMIx_Fence(nullptr, 0, nullptr, 0);
            if (rank == 1) rc = get_remote({});
            if (rank == 2) rc = PMIx_Abort(1, "", nullptr, 0);
            NEED(rc == PMIX_ERR_UNREACH || rc == PMIX_ERR_LOST_CONNECTION);
            finalize();
        });
    }
    turn_until_ready();
    board_->go = true;
    ::usleep(300'000);  // so that some of them wait already; those that do not are answered the same
    server_.reset();
    expect_good_ends();
}

// Its server dies as soon as it has let the process in: before the process has a handler for that, or after.
TEST_F(SilentServerTest, DebugStop_ServerDiesAfterTheHello_InitReturns) {
    for (int runs = 0; runs < 8; ++runs) {
        SCOPED_TRACE(runs);
        start(1, true);
        run(0, [](Board&) {
            (void)PMIx_Init(nullptr, nullptr, 0);
            finalize();
        });
        ASSERT_TRUE(server_->turn_until([&] {
            for (const auto& [serial, peer] : server_->parts().peers)
                if (peer->id() == ProcId("job", 0)) return true;
            return false;
        }));
        for (int i = 0; i < runs; ++i) server_->run_once();
        // It does stop.
        if (runs == 7) {
            ASSERT_TRUE(server_->turn_until([&] { return host_.count("notify_event") > 0; }));
        }
        server_.reset();
        expect_good_ends();
    }
}

TEST_F(SilentServerTest, DebugStop_JobEnds_InitReturns) {
    start(1, true);
    run(0, [](Board&) {
        (void)PMIx_Init(nullptr, nullptr, 0);
        finalize();
    });
    ASSERT_TRUE(server_->turn_until([&] { return host_.count("notify_event") > 0; }));
    server_->on_loop([&] { server_->setup().deregister_nspace("job"); });
    expect_good_ends(true);
}

// Its fence ends as any other, and a finalize succeeds all the same. rows: I10
TEST_F(SilentServerTest, FinalizeWithABarrier_JobEndsMeanwhile_Succeeds) {
    start(2);
    run(0, [](Board&) {
        NEED(PMIx_Init(nullptr, nullptr, 0) == PMIX_SUCCESS);
        InfoList infos;
        infos.append_flag(PMIX_EMBED_BARRIER, true);
        NEED(PMIx_Finalize(infos.c_array(), infos.size()) == PMIX_SUCCESS);
    });
    ASSERT_TRUE(server_->turn_until([&] { return server_->parts().fence.open() > 0; }));
    server_->on_loop([&] { server_->setup().deregister_nspace("job"); });
    expect_good_ends(true);
}

TEST_F(SilentServerTest, Attach_WaitsForAServerThatNeverComes_EndsWithFinalize) {
    run(0, [](Board&) {
        InfoList alone;
        alone.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
        NEED(PMIx_tool_init(nullptr, alone.c_array(), alone.size()) == PMIX_SUCCESS);
        std::thread attach([] {
            InfoList infos;
            infos.append_string(PMIX_SERVER_NSPACE, "no.such.server");
            infos.append_flag(PMIX_WAIT_FOR_CONNECTION, true);
            pmix_proc_t server = {};
            NEED(PMIx_tool_attach_to_server(nullptr, &server, infos.c_array(), infos.size()) == PMIX_ERR_INIT);
        });
        ::usleep(200'000);  // so that it waits by then; where it does not, it is refused
        NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
        attach.join();
    });
    expect_good_ends();
}

// A later init of a tool waits for its server; all other calls of the process go on, and the last finalize ends it.
// rows: T5
TEST_F(SilentServerTest, SecondToolInit_WaitsForAServerThatNeverComes_HoldsUpNoOtherCall) {
    const std::string address = transport::make_abstract_address();
    auto listener = transport::listen_abstract(address);
    ASSERT_TRUE(listener.ok());
    run(0, [&](Board& board) {
        InfoList alone;
        alone.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
        NEED(PMIx_tool_init(nullptr, alone.c_array(), alone.size()) == PMIX_SUCCESS);
        std::thread second([&] {
            InfoList infos;
            infos.append_string(PMIX_SERVER_URI, "server.0;wireup:" + address);
            infos.append_flag(PMIX_WAIT_FOR_CONNECTION, true);
            NEED(PMIx_tool_init(nullptr, infos.c_array(), infos.size()) == PMIX_ERR_INIT);
        });
        board.await_go();
        NEED(PMIx_Initialized() == 1);
        pmix_proc_t self = {};
        NEED(PMIx_tool_init(&self, alone.c_array(), alone.size()) == PMIX_SUCCESS);
        pmix_value_t* value = nullptr;
        NEED(PMIx_Get(&self, PMIX_RANK, nullptr, 0, &value) == PMIX_SUCCESS);
        PMIX_VALUE_RELEASE(value);
        NEED(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS);
        NEED(PMIx_Initialized() == 1);
        NEED(PMIx_tool_finalize() == PMIX_SUCCESS);
        NEED(PMIx_Initialized() == 0);
        second.join();
        NEED(PMIx_tool_finalize() == PMIX_ERR_INIT);
    });
    // Its connection shows that it is inside. The server ends it, and does not come back.
    pollfd ready{listener->get(), POLLIN, 0};
    ASSERT_EQ(1, ::poll(&ready, 1, 120'000));
    transport::Descriptor socket(::accept4(listener->get(), nullptr, nullptr, SOCK_CLOEXEC));
    listener->reset();
    socket.reset();
    board_->go = true;
    expect_good_ends();
}

}  // namespace silent_server_test
