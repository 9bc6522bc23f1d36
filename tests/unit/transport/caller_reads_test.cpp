// SPDX-License-Identifier: BSD-3-Clause
// The read side handed from the loop to waiting callers and back, with real threads: nobody may miss an answer.
#include <dlfcn.h>
#include <errno.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <map>
#include <new>
#include <thread>

#include "support/long_wait.h"
#include "support/recording_handler.h"
#include "support/sanitizers.h"
#include "support/status.h"
#include "transport/connection.h"
#include "transport/send_queue.h"

#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN)  // they stand in front of it themselves
static std::atomic<bool> room_for_threads{true};

// In front of the C library's, for the tests of a process that may have no thread.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                              void* argument) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return room_for_threads ? create(thread, attributes, run, argument) : EAGAIN;
}
#endif

namespace pmix::transport::caller_reads_test {
namespace {

using common::FrameHeader;
using common::FrameKind;
using common::MutexLock;
using test::bytes_of;

// A client as it will be: calls by id, replies taken on whatever thread reads, everything else on the loop.
class Client final : public ConnectionHandler {
  public:
    struct Call {
        Waiter waiter;
        std::string payload;
        pmix_status_t status = PMIX_SUCCESS;
        std::thread::id completed_on;
    };

    bool take_anywhere(ReceivedFrame& frame) noexcept override {
        if (takes_all && frame.header.kind == FrameKind::notify) return ++events;
        if (frame.header.kind != FrameKind::reply || on_loop_only) return false;
        complete(frame);
        return true;
    }
    void on_frame(ReceivedFrame frame) override {
        if (frame.header.kind == FrameKind::reply) return complete(frame);
        ++events;
    }
    void on_closed(pmix_status_t why) override {
        closed = why;
        MutexLock lock(mutex);
        for (auto& [id, call] : calls) {
            call->status = why;
            call->waiter.complete();
        }
        calls.clear();
    }
    void complete(ReceivedFrame& frame) {
        Call* call = nullptr;
        {
            MutexLock lock(mutex);
            auto at = calls.find(frame.header.id);
            if (at == calls.end()) return;
            call = at->second;
            calls.erase(at);
        }
        call->payload = test::text_of(frame.payload);
        call->status = frame.header.status;
        call->completed_on = std::this_thread::get_id();
        call->waiter.complete();
    }
    uint32_t enter(Call& call) {
        MutexLock lock(mutex);
        calls[++last] = &call;
        return last;
    }
    // False: too late, it is being completed.
    bool forget(uint32_t id) {
        MutexLock lock(mutex);
        return calls.erase(id) == 1;
    }

    common::Mutex mutex;
    std::map<uint32_t, Call*> calls GUARDED_BY(mutex);
    uint32_t last GUARDED_BY(mutex) = 0;
    std::atomic<int> events{0};
    std::atomic<pmix_status_t> closed{PMIX_SUCCESS};
    std::atomic<bool> on_loop_only{false};
    bool takes_all = false;
};

// The loop in its own thread, the server a thread that answers frames on the raw end.
struct Pair {
    explicit Pair(bool caller_reads = true, bool late = false) {
        auto [ours, theirs] = test::socket_pair();
        peer = std::move(theirs);
        EventLoopOptions of_loop;
        of_loop.late = late;
        loop = std::move(*EventLoop::create(of_loop));
        ConnectionOptions options;
        options.caller_reads = caller_reads;
        {
            LoopRole role(*loop);
            connection = *Connection::open(*loop, std::move(ours), client, options);
        }
        loop->start();
    }
    ~Pair() {
        on_loop([this] {
            assert_on_loop();
            connection->close();
            connection.reset();
        });
        loop->stop();
    }
    void on_loop(Task task) {
        Waiter waiter;
        loop->post([&] {
            task();
            waiter.complete();
        });
        loop->wait(waiter, Deadline::never());
    }
    // One request and its answer; the status, or PMIX_ERR_TIMEOUT.
    pmix_status_t ask(const std::string& text, std::string* answer = nullptr, int timeout_ms = -1,
                      std::thread::id* completed_on = nullptr) {
        Client::Call call;
        const uint32_t id = client.enter(call);
        const Deadline deadline = timeout_ms < 0 ? Deadline::never() : Deadline::in_ms(timeout_ms);
        const pmix_status_t rc =
            connection->send_and_wait(FrameHeader::request(3, id), bytes_of(text), call.waiter, deadline);
        if (rc != PMIX_SUCCESS) {
            if (client.forget(id)) return rc;
            call.waiter.wait();
        }
        if (answer != nullptr) *answer = call.payload;
        if (completed_on != nullptr) *completed_on = call.completed_on;
        return call.status;
    }
    // Answers n requests with their own payload.
    void serve(int n) {
        for (int i = 0; i < n; ++i) {
            const auto request = test::read_frame(peer.get());
            test::write_all(peer.get(),
                            test::frame_bytes(FrameHeader::reply(3, request.header.id, PMIX_SUCCESS), request.payload));
        }
    }
    Client client;
    Descriptor peer;
    std::unique_ptr<EventLoop> loop;
    std::shared_ptr<Connection> connection;
};

TEST(CallerReads, TheWaitingThreadReadsItsOwnAnswer) {
    test::DescriptorCheck check;
    Pair p;
    std::thread server([&] { p.serve(200); });
    int own = 0;
    for (int i = 0; i < 200; ++i) {
        std::string answer;
        std::thread::id by;
        ASSERT_STATUS(PMIX_SUCCESS, p.ask("q" + std::to_string(i), &answer, -1, &by));
        ASSERT_EQ("q" + std::to_string(i), answer);
        own += by == std::this_thread::get_id();
    }
    server.join();
    EXPECT_EQ(200, own) << "the read side was taken before the request went out";
}

TEST(CallerReads, ManyCallersNoneIsForgotten) {
    for (bool caller_reads : {true, false}) {
        Pair p(caller_reads);
        constexpr int kThreads = 4, kRounds = 1500;
        std::thread server([&] { p.serve(kThreads * kRounds); });
        std::vector<std::thread> callers;
        for (int t = 0; t < kThreads; ++t) {
            callers.emplace_back([&, t] {
                for (int i = 0; i < kRounds; ++i) {
                    const std::string text = std::to_string(t) + "/" + std::to_string(i);
                    std::string answer;
                    ASSERT_STATUS(PMIX_SUCCESS, p.ask(text, &answer));
                    ASSERT_EQ(text, answer);
                }
            });
        }
        for (auto& c : callers) c.join();
        server.join();
    }
}

// What the reader on a caller's thread does not take reaches the loop, in order; what comes while nobody waits, too.
TEST(CallerReads, NotificationsReachTheLoopFromAnyReader) {
    Pair p;
    constexpr int kRounds = 1000;
    std::thread server([&] {
        for (int i = 0; i < kRounds; ++i) {
            const auto request = test::read_frame(p.peer.get());
            auto out = test::frame_bytes(FrameHeader::notify(16), {});
            const auto reply = test::frame_bytes(FrameHeader::reply(3, request.header.id, PMIX_SUCCESS), {});
            out.insert(out.end(), reply.begin(), reply.end());
            const auto after = test::frame_bytes(FrameHeader::notify(16), {});
            out.insert(out.end(), after.begin(), after.end());
            test::write_all(p.peer.get(), out);
        }
    });
    for (int i = 0; i < kRounds; ++i) ASSERT_STATUS(PMIX_SUCCESS, p.ask("x"));
    server.join();
    while (p.client.events < 2 * kRounds) std::this_thread::yield();
    EXPECT_EQ(2 * kRounds, p.client.events);
}

// As long as one caller at a time asks and the server sends nothing else, there is nothing for the loop to read.
TEST(CallerReads, LateThread_OneCallerAtATime_NoneIsStarted) {
    Pair p(true, true);
    std::thread server([&] { p.serve(200); });
    for (int i = 0; i < 200; ++i) {
        std::string answer;
        ASSERT_STATUS(PMIX_SUCCESS, p.ask("q" + std::to_string(i), &answer));
        ASSERT_EQ("q" + std::to_string(i), answer);
        p.connection->read_pending();
    }
    server.join();
    EXPECT_FALSE(p.loop->is_turned());
}

// The second caller's answer may come when the first has gone. It is started in the middle of a caller's reading.
TEST(CallerReads, LateThread_ManyCallersNoneIsForgotten) {
    for (int round = 0; round < 50; ++round) {
        Pair p(true, true);
        constexpr int kThreads = 3, kRounds = 20;
        std::thread server([&] { p.serve(kThreads * kRounds); });
        std::vector<std::thread> callers;
        for (int t = 0; t < kThreads; ++t) {
            callers.emplace_back([&, t] {
                for (int i = 0; i < kRounds; ++i) {
                    const std::string text = std::to_string(t) + "/" + std::to_string(i);
                    std::string answer;
                    ASSERT_STATUS(PMIX_SUCCESS, p.ask(text, &answer));
                    ASSERT_EQ(text, answer);
                }
            });
        }
        for (auto& c : callers) c.join();
        server.join();
    }
}

// What the server sends unasked waits in the socket until a caller reads it; where it is for the loop, the thread is
// started.
TEST(CallerReads, LateThread_WhatIsPendingIsReadWhenAsked) {
    Pair p(true, true);
    p.connection->read_pending();
    EXPECT_FALSE(p.loop->is_turned()) << "there is nothing";
    test::write_all(p.peer.get(), test::frame_bytes(FrameHeader::notify(16), {}));
    EXPECT_FALSE(p.loop->is_turned());
    p.connection->read_pending();
    const test::LongWait most;
    while (p.client.events == 0 && !most.over()) std::this_thread::yield();
    EXPECT_EQ(1, p.client.events);
    EXPECT_TRUE(p.loop->is_turned());
    // Now the thread reads by itself.
    test::write_all(p.peer.get(), test::frame_bytes(FrameHeader::notify(16), {}));
    while (p.client.events == 1 && !most.over()) std::this_thread::yield();
    EXPECT_EQ(2, p.client.events);
}

// The kernel ends a read behind bytes that have descriptors.
TEST(CallerReads, LateThread_PendingBehindDescriptors_IsReadToo) {
    Pair p(true, true);
    p.client.takes_all = true;
    for (const size_t descriptors : {1, 0}) {
        FrameHeader header = FrameHeader::notify(16);
        header.descriptors = static_cast<uint8_t>(descriptors);
        auto bytes = test::frame_bytes(header, {});
        iovec part{bytes.data(), bytes.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        DescriptorControl control;
        const int fd = p.peer.get();
        control.attach(message, &fd, descriptors);
        ASSERT_EQ(static_cast<ssize_t>(bytes.size()), ::sendmsg(p.peer.get(), &message, 0));
    }
    EXPECT_TRUE(p.connection->read_pending());
    EXPECT_EQ(2, p.client.events);
    EXPECT_FALSE(p.loop->is_turned());
}

// The server's end is seen by the next reader.
TEST(CallerReads, LateThread_ServerHasGone_TheNextReaderIsTold) {
    for (const bool by_ask : {true, false}) {
        Pair p(true, true);
        p.peer.reset();
        if (by_ask)
            EXPECT_NE(PMIX_SUCCESS, p.ask("x"));
        else
            p.connection->read_pending();
        const test::LongWait most;
        while (p.client.closed == PMIX_SUCCESS && !most.over()) std::this_thread::yield();
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.client.closed);
    }
}

// A notification that finds the server gone waits for nothing: the loop reads the end.
TEST(CallerReads, LateThread_ServerHasGone_ASenderThatDoesNotWaitIsEnough) {
    Pair p(true, true);
    p.peer.reset();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.connection->send(FrameHeader::notify(3), bytes_of("x")));
    const test::LongWait most;
    while (p.client.closed == PMIX_SUCCESS && !most.over()) std::this_thread::yield();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.client.closed);
}

#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN)
// Until the end of the scope there is no room for another thread.
struct NoRoom {
    NoRoom() { room_for_threads = false; }
    ~NoRoom() { room_for_threads = true; }
};

// The reader is told of the end by the loop, and there is no thread that runs it.
TEST(CallerReads, NoRoomForTheThread_ServerGoesMeanwhile_CallerIsTold) {
    Pair p(true, true);
    std::thread server([&] {
        test::read_frame(p.peer.get());
        p.peer.reset();
    });
    NoRoom no_room;
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.ask("x", nullptr, 60'000));
    server.join();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.client.closed);
    EXPECT_FALSE(p.loop->is_turned());
    EXPECT_NE(PMIX_SUCCESS, p.ask("y", nullptr, 60'000));
}

// The end is found by a call that does not wait. What the loop owes is done by the next one that would wait.
TEST(CallerReads, NoRoomForTheThread_ServerHasGone_NextCallsAreToldSo) {
    for (const bool by_looking : {true, false}) {
        Pair p(true, true);
        p.peer.reset();
        NoRoom no_room;
        if (by_looking) {
            EXPECT_FALSE(p.connection->read_pending());
        }
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.ask("x"));
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.client.closed);
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.ask("y"));
    }
}

// What is for the loop waits for it, and the connection goes on.
TEST(CallerReads, NoRoomForTheThread_WhatIsForTheLoopWaits) {
    Pair p(true, true);
    std::thread server([&] {
        const auto request = test::read_frame(p.peer.get());
        auto out = test::frame_bytes(FrameHeader::notify(16), {});
        const auto reply = test::frame_bytes(FrameHeader::reply(3, request.header.id, PMIX_SUCCESS), {});
        out.insert(out.end(), reply.begin(), reply.end());
        test::write_all(p.peer.get(), out);
        p.serve(1);
    });
    {
        NoRoom no_room;
        EXPECT_STATUS(PMIX_SUCCESS, p.ask("x"));
        EXPECT_STATUS(PMIX_SUCCESS, p.ask("y"));
        EXPECT_EQ(0, p.client.events);
        // One that waits for something else runs the loop in its stead.
        Waiter waiter;
        EXPECT_FALSE(p.loop->wait(waiter, Deadline::in_ms(1)));
        EXPECT_EQ(1, p.client.events);
        EXPECT_FALSE(p.loop->is_turned());
    }
    server.join();
}

TEST(CallerReads, NoRoomForTheThread_TasksThatMustNotBeLost) {
    EventLoopOptions options;
    options.late = true;
    auto loop = std::move(*EventLoop::create(options));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    int ran = 0;
    bool inside_it_has_one = false;
    std::thread::id by;
    Waiter waiter;
    {
        NoRoom no_room;
        EXPECT_THROW(loop->post([&] { ++ran; }), std::bad_alloc);
        loop->post_anyway([&] {
            by = std::this_thread::get_id();
            // It is the loop: what is called from here finds one.
            inside_it_has_one = loop->need_thread() == PMIX_SUCCESS && loop->stop() == PMIX_ERR_WOULD_BLOCK;
            loop->post([&] { waiter.complete(); });
        });
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, loop->need_thread());
        EXPECT_TRUE(loop->wait(waiter, Deadline::never()));
        EXPECT_EQ(std::this_thread::get_id(), by);
        EXPECT_TRUE(inside_it_has_one);
        loop->post_anyway([&] { ran += 10; });
    }
    // There is room again, and the thread finds what was left.
    EXPECT_STATUS(PMIX_SUCCESS, loop->need_thread());
    EXPECT_STATUS(PMIX_SUCCESS, loop->stop());
    EXPECT_EQ(10, ran);
}
#endif

// The loop completes the call while the caller sleeps in poll: a write to its eventfd wakes it.
TEST(CallerReads, ACompletionByTheLoopWakesTheReader) {
    Pair p;
    p.client.on_loop_only = true;  // the caller reads the reply, hands it to the loop, and goes on reading
    std::thread server([&] { p.serve(300); });
    for (int i = 0; i < 300; ++i) {
        std::string answer;
        ASSERT_STATUS(PMIX_SUCCESS, p.ask("loop", &answer));
        ASSERT_EQ("loop", answer);
    }
    server.join();

    // And a completion that has nothing to do with the socket.
    Client::Call call;
    p.client.enter(call);
    std::atomic<bool> fired{false};
    p.loop->post([&] {
        assert_on_loop();
        p.loop->after(2, [&] {
            fired = true;
            call.waiter.complete();
        });
    });
    EXPECT_TRUE(p.connection->read_until(call.waiter, Deadline::never()));
    EXPECT_TRUE(fired);
}

TEST(CallerReads, DeadlinesEndTheWaitAndTheReadSideGoesBack) {
    Pair p;
    for (int i = 0; i < 20; ++i) EXPECT_STATUS(PMIX_ERR_TIMEOUT, p.ask("unanswered", nullptr, 1));
    // The loop reads again: a notification is received while no caller waits.
    test::write_all(p.peer.get(), test::frame_bytes(FrameHeader::notify(16), {}));
    while (p.client.events == 0) std::this_thread::yield();
    // Late answers to forgotten calls are nobody's.
    std::thread server([&] { p.serve(21); });
    EXPECT_STATUS(PMIX_SUCCESS, p.ask("answered"));
    server.join();
}

TEST(CallerReads, APeerThatDiesEndsEveryWait) {
    for (int round = 0; round < 30; ++round) {
        Pair p;
        std::vector<std::thread> callers;
        std::atomic<int> ended{0};
        for (int t = 0; t < 3; ++t) {
            callers.emplace_back([&] {
                EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.ask("never answered"));
                ++ended;
            });
        }
        test::read_frame(p.peer.get());  // at least one is on its way
        p.peer.reset();
        for (auto& c : callers) c.join();
        EXPECT_EQ(3, ended);
        // One that had not been sent yet hears it from send(); then on_closed may still be about to come.
        while (p.client.closed == PMIX_SUCCESS) std::this_thread::yield();
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.client.closed.load());
        EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, p.ask("afterwards"));
    }
}

// The owner closes while callers read: they leave, and what they wait for is the owner's to complete.
TEST(CallerReads, CloseEndsTheReader) {
    for (int round = 0; round < 50; ++round) {
        Pair p;
        const bool surely_sent = round % 2 == 0;
        std::thread caller([&] {
            const pmix_status_t rc = p.ask("x");
            EXPECT_TRUE(rc == PMIX_ERR_INIT || (!surely_sent && rc == PMIX_ERR_LOST_CONNECTION)) << rc;
        });
        if (surely_sent) test::read_frame(p.peer.get());
        p.on_loop([&] {
            assert_on_loop();
            p.connection->close();
        });
        // As a session does: no new calls, the open ones completed.
        for (bool done = false; !done;) {
            MutexLock lock(p.client.mutex);
            for (auto& [id, call] : p.client.calls) {
                call->status = PMIX_ERR_INIT;
                call->waiter.complete();
                done = true;
            }
            p.client.calls.clear();
            if (!surely_sent && p.client.last > 0) done = true;
        }
        caller.join();
    }
}

// The loop's thread ends while a caller reads: the next caller runs the loop, and gets an answer that the first reads.
TEST(CallerReads, ReaderReadsAReply_CallerRunsTheLoop_IsCompleted) {
    for (int round = 0; round < 50; ++round) {
        Pair p;
        std::thread reader([&] { EXPECT_STATUS(PMIX_SUCCESS, p.ask("first")); });
        const auto first = test::read_frame(p.peer.get());
        ASSERT_STATUS(PMIX_SUCCESS, p.loop->hand_over(true));
        std::thread server([&] {
            const auto second = test::read_frame(p.peer.get());
            for (const auto* id : {&second, &first})
                test::write_all(p.peer.get(),
                                test::frame_bytes(FrameHeader::reply(3, id->header.id, PMIX_SUCCESS), {}));
        });
        EXPECT_STATUS(PMIX_SUCCESS, p.ask("second"));
        reader.join();
        server.join();
    }
}

// Driven from outside: a caller that waits runs the loop.
TEST(CallerReads, ExternalProgress) {
    auto [ours, theirs] = test::socket_pair();
    EventLoopOptions external;
    external.drive = Drive::caller;
    auto loop = std::move(*EventLoop::create(external));
    Client client;
    std::shared_ptr<Connection> connection;
    {
        LoopRole role(*loop);
        ConnectionOptions options;
        options.caller_reads = true;
        connection = *Connection::open(*loop, std::move(ours), client, options);
    }
    std::thread server([fd = theirs.get()] {
        const auto request = test::read_frame(fd);
        test::write_all(fd, test::frame_bytes(FrameHeader::reply(3, request.header.id, PMIX_SUCCESS), request.payload));
    });
    Client::Call call;
    const uint32_t id = client.enter(call);
    EXPECT_STATUS(PMIX_SUCCESS, connection->send_and_wait(FrameHeader::request(3, id), bytes_of("hi"), call.waiter,
                                                          Deadline::never()));
    EXPECT_EQ("hi", call.payload);
    server.join();
    LoopRole role(*loop);
    connection->close();
    connection.reset();
}

}  // namespace
}  // namespace pmix::transport::caller_reads_test
