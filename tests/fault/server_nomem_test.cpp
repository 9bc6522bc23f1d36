// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation of a server fails, for every n, while processes wait for others: each requester is answered, with
// whatever status, or loses its connection. Nobody waits for an answer that was lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "client/session/handshake.h"
#include "runtime/library.h"
#include "support/failing_node.h"
#include "support/info_lists.h"
#include "support/status.h"

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

TEST(ServerNomemTest, Fence_OneAllocationFails_EveryCallerIsAnswered) {
    for (const Style style : {Style::before_return, Style::later}) {
        fail_everywhere([&](Node& node) {
            node.host.styles["fence"] = style;
            const uint32_t ia = node.a->start_fence({}, true), ib = node.b->start_fence({}, true);
            await_both(node, ia, ib);
        });
    }
}

TEST(ServerNomemTest, Fence_OneAllocationFails_HostHearsOfItsPart) {
    fail_everywhere([&](Node& node) {
        const uint32_t ia = node.a->start_fence({}, true), ib = node.b->start_fence({}, true);
        await_both(node, ia, ib);
        // The other nodes count upcalls. A caller whose request could not be read has not called.
        if (!node.a->hung_up() && !node.b->hung_up()) node.server.settle();
        EXPECT_LE(node.host.count("fence"), 1u);
    });
}

TEST(ServerNomemTest, Group_OneAllocationFails_EveryCallerIsAnswered) {
    for (const unsigned ranks : {2u, 4u}) {
        fail_everywhere([&](Node& node) {
            std::vector<ProcId> procs;
            for (unsigned r = 0; r < ranks; ++r) procs.emplace_back("job", r);
            const auto construct = group_request(common::GroupCall::construct, procs);
            const auto [ca, cb] =
                await_both(node, node.a->start<Command::group>(construct), node.b->start<Command::group>(construct));
            if (ca != PMIX_SUCCESS || cb != PMIX_SUCCESS) return;
            const auto destruct = group_request(common::GroupCall::destruct, {});
            await_both(node, node.a->start<Command::group>(destruct), node.b->start<Command::group>(destruct));
        });
    }
}

TEST(ServerNomemTest, Destruct_OneAllocationFails_EveryCallerIsAnswered) {
    for (const unsigned ranks : {2u, 4u}) {
        fail_everywhere([&](Node& node) {
            std::vector<ProcId> procs;
            for (unsigned r = 0; r < ranks; ++r) procs.emplace_back("job", r);
            const auto construct = group_request(common::GroupCall::construct, procs);
            const uint32_t ia = node.a->start<Command::group>(construct), ib = node.b->start<Command::group>(construct);
            ASSERT_TRUE(node.a->wait(ia) && node.b->wait(ib));
            const auto destruct = group_request(common::GroupCall::destruct, {});
            await_both(node, node.a->start<Command::group>(destruct), node.b->start<Command::group>(destruct));
        });
    }
}

// A participant ends before it has called, and the others are asked whether they go on: each that is asked agrees.
TEST(ServerNomemTest, ConstructThatAParticipantLeaves_OneAllocationFails_NobodyWaitsForOneThatWasNotAsked) {
    fail_everywhere([&](Node& node) {
        node.server.job("third", 1, 1);
        FakeClient c(node.server, {"third", 0});
        ASSERT_STATUS(PMIX_SUCCESS, c.hello());
        common::RegisterEventsRequest handler;
        handler.codes = {PMIX_GROUP_MEMBER_FAILED};
        for (FakeClient* member : {node.a.get(), node.b.get()})
            ASSERT_STATUS(PMIX_SUCCESS, member->ask<Command::register_events>(handler));
        auto construct = group_request(common::GroupCall::construct, {{"job", 0}, {"job", 1}, {"third", 0}});
        construct.infos = flag(PMIX_GROUP_NOTIFY_TERMINATION);
        const uint32_t ia = node.a->start<Command::group>(construct);
        construct.infos = flag(PMIX_GROUP_NOTIFY_TERMINATION);
        const uint32_t ib = node.b->start<Command::group>(construct);
        node.server.settle();
        c.kill();
        std::optional<pmix_status_t> sa, sb;
        const auto decide = group_request(common::GroupCall::decide, {});
        std::map<FakeClient*, uint32_t> decisions;
        const auto both = [&] {
            node.host.answer_waiting();
            for (FakeClient* member : {node.a.get(), node.b.get()}) {
                if (member->take_event()) decisions[member] = member->start<Command::group>(decide);
                // As the client library does it.
                if (decisions.count(member) == 0) continue;
                const auto answer = outcome(*member, decisions[member]);
                if (answer == PMIX_ERR_NOMEM || answer == PMIX_ERROR)
                    decisions[member] = member->start<Command::group>(decide);
            }
            if (!sa) sa = outcome(*node.a, ia);
            if (!sb) sb = outcome(*node.b, ib);
            return sa && sb;
        };
        EXPECT_TRUE(node.turn_until(both)) << (sa ? "" : "rank 0 waits ") << (sb ? "" : "rank 1 waits");
    });
}

// One destructs, the other leaves instead, or loses its connection.
TEST(ServerNomemTest, DestructThatAMemberLeaves_OneAllocationFails_OthersAreAnswered) {
    fail_everywhere([&](Node& node) {
        const auto construct = group_request(common::GroupCall::construct, {{"job", 0}, {"job", 1}});
        const uint32_t ia = node.a->start<Command::group>(construct), ib = node.b->start<Command::group>(construct);
        ASSERT_TRUE(node.a->wait(ia) && node.b->wait(ib));
        const uint32_t destruct = node.a->start<Command::group>(group_request(common::GroupCall::destruct, {}));
        node.server.settle();
        const uint32_t leave = node.b->start<Command::group>(group_request(common::GroupCall::leave, {}));
        await_both(node, destruct, leave);
    });
}

TEST(ServerNomemTest, Connect_OneAllocationFails_EveryCallerIsAnswered) {
    fail_everywhere([&](Node& node) {
        common::ConnectRequest request;
        request.procs = {{"job", PMIX_RANK_WILDCARD}};
        await_both(node, node.a->start<Command::connect>(request), node.b->start<Command::connect>(request));
    });
}

// Both ask for a code that the host is to report: one upcall for both of them.
TEST(ServerNomemTest, RegisterEvents_OneAllocationFails_EveryCallerIsAnswered) {
    for (const Style style : {Style::before_return, Style::later, Style::fails}) {
        fail_everywhere([&](Node& node) {
            node.host.styles["register_events"] = style;
            if (style == Style::fails) node.host.statuses["register_events"] = PMIX_ERR_NO_PERMISSIONS;
            common::RegisterEventsRequest request;
            request.codes = {PMIX_EXTERNAL_ERR_BASE - 10};
            const uint32_t ia = node.a->start<Command::register_events>(request);
            request.codes.push_back(PMIX_EXTERNAL_ERR_BASE - 11);
            const uint32_t ib = node.b->start<Command::register_events>(request);
            await_both(node, ia, ib);
        });
    }
}

// The codes of a registration that failed are as if it had never been: the next one is answered, and hears of events.
TEST(ServerNomemTest, RegisterEvents_OneBeforeItFailed_NextIsAnsweredAndTold) {
    fail_everywhere([&](Node& node) {
        const pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 10;
        common::RegisterEventsRequest request;
        request.codes = {code};
        const uint32_t ia = node.a->start<Command::register_events>(request);
        std::optional<pmix_status_t> sa, sb;
        EXPECT_TRUE(node.turn_until([&] {
            if (!sa) sa = outcome(*node.a, ia);
            return sa.has_value();
        })) << "rank 0 waits";
        if (!sa) return;
        const uint32_t ib = node.b->start<Command::register_events>(request);
        ASSERT_TRUE(node.turn_until([&] {
            if (!sb) sb = outcome(*node.b, ib);
            return sb.has_value();
        })) << "rank 1 waits";
        if (sa != PMIX_SUCCESS || sb != PMIX_SUCCESS) return;
        if (node.a->hung_up() || node.b->hung_up() || !FailingMemory::failed()) return;
        // Success means that there is a handler.
        common::NotifyEventRequest event;
        event.status = code;
        event.source = ProcId("job", 1);
        event.range = PMIX_RANGE_NAMESPACE;
        node.b->start<Command::notify_event>(event);
        EXPECT_TRUE(node.turn_until([&] { return node.a->take_event().has_value(); })) << "rank 0 is not told";
    });
}

TEST(ServerNomemTest, Get_OneAllocationFails_EveryCallerIsAnswered) {
    for (const Style style : {Style::before_return, Style::later}) {
        fail_everywhere([&](Node& node) {
            node.host.styles["direct_modex"] = style;
            const uint32_t ia = node.a->start_get({"job", 2}, "key"), ib = node.b->start_get({"job", 3}, "key");
            await_both(node, ia, ib);
        });
    }
}

TEST(ServerNomemTest, GetOfANeighbour_OneAllocationFails_EveryCallerIsAnswered) {
    fail_everywhere([&](Node& node) {
        const uint32_t ia = node.a->start_get({"job", 1}, "later");
        node.server.settle();
        node.b->put("later", "comes");
        std::optional<pmix_status_t> sa;
        EXPECT_TRUE(node.turn_until([&] {
            if (!sa) sa = outcome(*node.a, ia);
            return sa.has_value();
        })) << "rank 0 waits";
    });
}

// Asked of a rank whose data is here, and answered in the call.
TEST(ServerNomemTest, DirectModex_OneAllocationFails_HostIsAnswered) {
    fail_everywhere(
        [&](Node& node) {
            int answers = 0;
            node.server.on_loop([&] {
                server::Get::Respond respond = [&](pmix_status_t, common::Bytes) { ++answers; };
                FailingMemory::resume();
                try {
                    node.server.parts().get.modex_request({"job", 0}, std::move(respond));
                } catch (const std::bad_alloc&) {
                }
                FailingMemory::pause();
                return 0;
            });
            EXPECT_TRUE(node.turn_until([&] { return answers > 0; })) << "the host waits";
            EXPECT_EQ(1, answers);
        },
        3);
}

TEST(ServerNomemTest, DirectModexOfARankToCome_OneAllocationFails_HostIsAnswered) {
    fail_everywhere([&](Node& node) {
        node.server.job("late", 2, 1);
        FakeClient c(node.server, {"late", 0});
        ASSERT_STATUS(PMIX_SUCCESS, c.hello());
        int answers = 0;
        node.server.on_loop([&] {
            node.server.parts().get.modex_request({"late", 0}, [&](pmix_status_t, common::Bytes) { ++answers; });
            return 0;
        });
        c.put("key", "text");
        EXPECT_TRUE(node.turn_until([&] { return answers > 0; })) << "the host waits";
        EXPECT_EQ(1, answers);
    });
}

TEST(ServerNomemTest, LossOfAMember_OneAllocationFails_OthersAreAnswered) {
    fail_everywhere([&](Node& node) {
        const uint32_t ia = node.a->start_fence({}, true);
        common::GroupRequest construct = group_request(common::GroupCall::construct, {{"job", 0}, {"job", 1}});
        const uint32_t ig = node.a->start<Command::group>(construct);
        const uint32_t iget = node.a->start_get({"job", 1}, "never");
        node.server.settle();
        node.b->kill();
        std::optional<pmix_status_t> fence, group, get;
        EXPECT_TRUE(node.turn_until([&] {
            if (!fence) fence = outcome(*node.a, ia);
            if (!group) group = outcome(*node.a, ig);
            if (!get) get = outcome(*node.a, iget);
            return fence && group && get;
        })) << (fence ? "" : "fence waits ")
            << (group ? "" : "group waits ") << (get ? "" : "get waits");
    });
}

// The host makes a call without a callback again until there is memory.
TEST(ServerNomemTest, EndOfANamespace_OneAllocationFails_FencesWithOthersEnd) {
    fail_everywhere([&](Node& node) {
        node.server.job("two", 1, 1);
        const uint32_t ia = node.a->start_fence({{"job", 0}, {"two", 0}});
        const uint32_t ib = node.b->start_fence({{"job", 1}, {"two", 0}});
        node.server.settle();
        bool done = false;
        for (int tries = 0; tries < 2 && !done; ++tries) {
            node.server.on_loop([&] {
                FailingMemory::resume();
                try {
                    node.server.setup().deregister_nspace("two");
                    done = true;
                } catch (const std::bad_alloc&) {
                    node.server.loop->step_lost();
                }
                FailingMemory::pause();
                return 0;
            });
        }
        EXPECT_TRUE(done);
        await_both(node, ia, ib);
    });
}

// One call, which its host does not make again.
TEST(ServerNomemTest, EndOfANamespace_OneAllocationFails_AllItsProcessesAreCutOffOrNone) {
    fail_everywhere([&](Node& node) {
        node.a->start_fence({{"job", PMIX_RANK_WILDCARD}}, true);
        node.server.settle();
        node.server.on_loop([&] {
            FailingMemory::resume();
            try {
                node.server.setup().deregister_nspace("job");
            } catch (const std::bad_alloc&) {
            }
            FailingMemory::pause();
            return 0;
        });
        node.server.settle();
        EXPECT_EQ(node.a->hung_up(), node.b->hung_up());
    });
}

TEST(ServerNomemTest, Stop_OneAllocationFails_NobodyWaits) {
    fail_everywhere([&](Node& node) {
        const uint32_t ia = node.a->start_fence({{"job", 0}, {"job", 1}});
        const uint32_t ib =
            node.b->start<Command::group>(group_request(common::GroupCall::construct, {{"job", 0}, {"job", 1}}));
        node.server.settle();
        FailingMemory::resume();
        node.server.stop();
        FailingMemory::pause();
        EXPECT_TRUE(outcome(*node.a, ia)) << "rank 0 waits";
        EXPECT_TRUE(outcome(*node.b, ib)) << "rank 1 waits";
        EXPECT_TRUE(node.a->hung_up() && node.b->hung_up());
    });
}

TEST(ServerNomemTest, Start_OneAllocationFails_ConnectionsAreAccepted) {
    for (long n = 0; n < 100; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        TestServer server(nullptr);
        FailingMemory::arm(n);
        FailingMemory::resume();
        for (int i = 0; i < 5; ++i) server.run_once();
        FailingMemory::pause();
        auto socket = client::connect_any(server.parts().listener.addresses(), transport::Deadline::in_ms(60'000),
                                          transport::kRealIo);
        ASSERT_TRUE(socket.ok());
        const char nonsense[64] = {};
        ASSERT_EQ(64, ::send(socket->get(), nonsense, sizeof nonsense, MSG_NOSIGNAL));
        char end;
        EXPECT_TRUE(server.turn_until([&] {
            const ssize_t got = ::recv(socket->get(), &end, 1, MSG_DONTWAIT);
            return got == 0 || (got < 0 && errno == ECONNRESET);
        })) << "nobody looks at the connection";
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) return;
    }
    ADD_FAILURE() << "there is no end of allocations";
}

TEST(ServerNomemTest, Hello_OneAllocationFails_CallerIsAnsweredOrHungUp) {
    fail_everywhere([&](Node& node) {
        node.server.job("other", 1, 1);
        FakeClient c(node.server, {"other", 0});
        common::HelloRequest mine;
        mine.role = common::PeerRole::client;
        mine.nspace = "other";
        mine.rank = 0;
        common::HelloClient hello(std::move(mine), {});
        const uint32_t id = c.start<Command::hello>(hello.request());
        const auto began = transport::monotonic_ns();
        EXPECT_TRUE(node.turn_until([&] { return outcome(c, id).has_value(); })) << "it waits";
        // Not by the limit of time that a hello has.
        EXPECT_LT((transport::monotonic_ns() - began) / 1'000'000, 20'000);
    });
}

// Its host takes the rank as connected, and so waits for the server to see its end.
TEST(ServerNomemTest, HelloOfAMember_OneAllocationFails_FenceOfTheOthersEnds) {
    fail_everywhere([&](Node& node) {
        node.server.job("pair", 1, 2);
        FakeClient waiting(node.server, {"pair", 0});
        ASSERT_STATUS(PMIX_SUCCESS, waiting.hello());
        const uint32_t fence = waiting.start_fence({{"pair", PMIX_RANK_WILDCARD}});
        node.server.settle();
        FakeClient c(node.server, {"pair", 1});
        common::HelloRequest mine;
        mine.role = common::PeerRole::client;
        mine.nspace = "pair";
        mine.rank = 1;
        common::HelloClient hello(std::move(mine), {});
        const uint32_t id = c.start<Command::hello>(hello.request());
        std::optional<pmix_status_t> status;
        ASSERT_TRUE(node.turn_until([&] {
            if (!status) status = outcome(c, id);
            return status.has_value();
        })) << "it waits";
        c.kill();
        const Seen* connected = node.host.last("client_connected2");
        ASSERT_NE(nullptr, connected);
        if (connected->proc != ProcId("pair", 1)) {
            // The host was not asked: it is the host that says that the rank will not join.
            node.server.on_loop([&] {
                node.server.server->deregister_client({"pair", 1});
                return 0;
            });
        }
        std::optional<pmix_status_t> answer;
        EXPECT_TRUE(node.turn_until([&] {
            if (!answer) answer = outcome(waiting, fence);
            return answer.has_value();
        })) << "the fence waits for a rank that has gone";
    });
}

// Its program has finalized before: the end of the process that the host has started is that of the rank.
TEST(ServerNomemTest, EndOfARanksProcess_OneAllocationFails_FenceOfTheOthersEnds) {
    fail_everywhere([&](Node& node) {
        ASSERT_STATUS(PMIX_SUCCESS, node.b->ask<Command::finalize>(common::FinalizeRequest{}));
        node.b->kill();
        ASSERT_TRUE(node.server.turn_until([&] { return node.server.parts().peers.size() == 1; }));
        const uint32_t fence = node.a->start_fence({{"job", 0}, {"job", 1}});
        node.server.settle();
        ASSERT_FALSE(node.a->take(fence));
        const pid_t child = ::fork();
        if (child == 0) {
            for (;;) ::pause();
        }
        server::Server::Parts& parts = node.server.parts();
        const auto member = parts.registry.member({"job", 1});
        node.server.on_loop([&] {
            parts.leaving.at(*member).watch =
                server::ExitWatch::open(*node.server.loop, child, [&parts, m = *member] { parts.exited(m); });
            return 0;
        });
        ::kill(child, SIGKILL);
        std::optional<pmix_status_t> answer;
        EXPECT_TRUE(node.turn_until([&] {
            if (!answer) answer = outcome(*node.a, fence);
            return answer.has_value();
        })) << "the fence waits for a rank that has ended";
        ::waitpid(child, nullptr, 0);
    });
}

// Its requests take no socket to the server that it is itself.
TEST(ServerNomemTest, HostsOwnQuery_OneAllocationFails_CallbackIsCalledOnce) {
    InfoList options;
    options.append_flag(PMIX_EXTERNAL_PROGRESS, true);
    pmix_server_module_t module{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, options.c_array(), options.size()));
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        pmix_query_t query;
        PMIX_QUERY_CONSTRUCT(&query);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Argv_append_nosize(&query.keys, PMIX_QUERY_NAMESPACES));
        int called = 0;
        const auto answered = [](pmix_status_t, pmix_info_t*, size_t, void* count, pmix_release_cbfunc_t release,
                                 void* held) {
            ++*static_cast<int*>(count);
            if (release != nullptr) release(held);
        };
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info_nb(&query, 1, answered, &called));
        FailingMemory::arm(n);
        const auto deadline = transport::Deadline::in_ms(60'000);
        while (called == 0 && !deadline.passed()) {
            FailingMemory::resume();
            PMIx_Progress();
            FailingMemory::pause();
        }
        for (int i = 0; i < 20; ++i) PMIx_Progress();
        EXPECT_EQ(1, called);
        PMIX_QUERY_DESTRUCT(&query);
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            break;
        }
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

// It has no callback that could tell of a failure, and no result.
TEST(ServerNomemTest, DeregisterClient_OneAllocationFails_IsDone) {
    InfoList options;
    options.append_flag(PMIX_EXTERNAL_PROGRESS, true);
    pmix_server_module_t module{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(&module, options.c_array(), options.size()));
    for (long n = 0; n < 1000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        for (uint32_t rank : {0u, 1u}) {
            const pmix_proc_t proc = ProcId("job", rank).to_c();
            ASSERT_STATUS(PMIX_SUCCESS,
                          PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
        }
        const pmix_proc_t proc = ProcId("job", 1).to_c();
        FailingMemory::arm(n);
        FailingMemory::resume();
        PMIx_server_deregister_client(&proc, nullptr, nullptr);
        FailingMemory::pause();
        auto& registry = api::Library::current()->server()->parts().registry;
        EXPECT_EQ(nullptr, registry.find_client({"job", 1}));
        EXPECT_NE(nullptr, registry.find_client({"job", 0}));
        FailingMemory::resume();
        PMIx_server_deregister_nspace(proc.nspace, nullptr, nullptr);
        FailingMemory::pause();
        EXPECT_EQ(nullptr, registry.find("job"));
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, 5) << "hardly any allocation was made to fail";
            break;
        }
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}
