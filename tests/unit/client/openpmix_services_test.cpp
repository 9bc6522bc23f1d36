// SPDX-License-Identifier: BSD-3-Clause
// What a process asks of a server of OpenPMIx's beside data, where that server leaves things to its clients: a
// process's own events, registrations that handlers share, heartbeats, and what becomes of answers that come late.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_tool.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/openpmix/exchange.h"
#include "support/openpmix_server.h"
#include "support/status.h"

namespace pmix::test::openpmix_services_test {
namespace {

namespace theirs = openpmix;
using common::Value;

// What handlers have been told.
struct Heard {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<pmix_status_t> codes;
    pmix_proc_t source{};
};
Heard g_heard;
void on_event(size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t[], size_t, pmix_info_t[], size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_heard.mutex);
        g_heard.codes.push_back(code);
        g_heard.source = *source;
        g_heard.changed.notify_all();
    }
    if (done != nullptr) done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}
size_t count_of(pmix_status_t code) {
    return static_cast<size_t>(std::count(g_heard.codes.begin(), g_heard.codes.end(), code));
}
bool heard(pmix_status_t code, size_t count = 1) {
    std::unique_lock lock(g_heard.mutex);
    return g_heard.changed.wait_for(lock, std::chrono::seconds(60), [&] { return count_of(code) >= count; });
}

// The end of a registration that is not waited for.
struct Registered {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    pmix_status_t status = PMIX_ERROR;
    size_t reference = 0;
    static void on(pmix_status_t status, size_t reference, void* cbdata) {
        auto* self = static_cast<Registered*>(cbdata);
        const std::lock_guard lock(self->mutex);
        self->status = status;
        self->reference = reference;
        self->done = true;
        self->changed.notify_all();
    }
    bool is_done() {
        const std::lock_guard lock(mutex);
        return done;
    }
    pmix_status_t wait() {
        std::unique_lock lock(mutex);
        EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return done; }));
        return status;
    }
};

class OpenPmixServices : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
  protected:
    void SetUp() override {
        server_ = std::make_unique<OpenPmixServer>(GetParam().first, GetParam().second);
        g_heard.codes.clear();
    }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_Finalize(nullptr, 0);
        OpenPmixServer::clear_environment();
    }
    void init() {
        server_->start();
        server_->set_environment();
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0));
    }
    static pmix_status_t handle(std::vector<pmix_status_t> codes) {
        return PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, &on_event, nullptr, nullptr);
    }
    static pmix_status_t custom(pmix_status_t code, const pmix_proc_t& target) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_EVENT_CUSTOM_RANGE, &target, PMIX_PROC);
        const pmix_status_t rc = PMIx_Notify_event(code, nullptr, PMIX_RANGE_CUSTOM, &info, 1, nullptr, nullptr);
        PMIX_INFO_DESTRUCT(&info);
        return rc;
    }
    static pmix_proc_t proc(pmix_rank_t rank) {
        pmix_proc_t p;
        PMIX_LOAD_PROCID(&p, "job", rank);
        return p;
    }

    std::unique_ptr<OpenPmixServer> server_;
    pmix_proc_t self_{};
};

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixServices,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2rc2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

// ---- a process's own events ----

// The server sends none of them back.
TEST_P(OpenPmixServices, Notify_OwnEvent_ReachesOwnHandlersOnce) {
    init();
    ASSERT_GE(handle({-3001, -3002}), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(heard(-3001));
    EXPECT_STREQ("job", g_heard.source.nspace);
    EXPECT_EQ(0u, g_heard.source.rank);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3002, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(heard(-3002));
    EXPECT_EQ(1u, count_of(-3001));
}

TEST_P(OpenPmixServices, Notify_RangeWithoutThisProcess_ReachesNoOwnHandler) {
    init();
    ASSERT_GE(handle({-3001, -3002, -3003, -3004}), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_RM, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, custom(-3002, proc(1)));
    EXPECT_STATUS(PMIX_SUCCESS, custom(-3003, proc(0)));
    EXPECT_STATUS(PMIX_SUCCESS, custom(-3004, proc(PMIX_RANK_WILDCARD)));
    EXPECT_TRUE(heard(-3003));
    EXPECT_TRUE(heard(-3004));
    EXPECT_EQ(0u, count_of(-3001));
    EXPECT_EQ(0u, count_of(-3002));
}

// There are managers that take such an event and do not answer.
TEST_P(OpenPmixServices, Notify_ToTheManager_DoesNotWaitForIt) {
    std::vector<pmix_status_t> taken;
    server_->on(theirs::Command::notify, [&](uint32_t, common::Bytes payload) {
        const auto request = server_->decoded<theirs::NotifyRequest>(payload);
        EXPECT_EQ(PMIX_RANGE_RM, request.range.value);
        taken.push_back(request.code.value);
    });
    init();
    std::atomic<pmix_status_t> status{PMIX_ERROR};
    const auto notified = [](pmix_status_t rc, void* cbdata) {
        *static_cast<std::atomic<pmix_status_t>*>(cbdata) = rc;
    };
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_RM, nullptr, 0, notified, &status));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_EQ(std::vector<pmix_status_t>{-3001}, taken);
}

// A handler that comes later is told of what was before; others are not told again.
TEST_P(OpenPmixServices, Notify_BeforeTheRegistration_IsKept) {
    init();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    pmix_info_t once;
    PMIX_INFO_LOAD(&once, PMIX_EVENT_DO_NOT_CACHE, nullptr, PMIX_BOOL);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3002, nullptr, PMIX_RANGE_LOCAL, &once, 1, nullptr, nullptr));
    ASSERT_GE(handle({-3001, -3002}), 0);
    EXPECT_TRUE(heard(-3001));
    ASSERT_GE(handle({-3001, -3003}), 0);
    EXPECT_TRUE(heard(-3001, 2)) << "the second handler";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3003, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(heard(-3003));
    EXPECT_EQ(2u, count_of(-3001));
    EXPECT_EQ(0u, count_of(-3002));
}

// A server that keeps a process's own events, too, sends them when the code is registered.
TEST_P(OpenPmixServices, Notify_BeforeTheRegistration_KeptByTheServerToo_IsToldOnce) {
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes) {
        server_->send_status(tag, PMIX_SUCCESS);
        theirs::EventMessage event;
        event.source.id = {"job", 0};
        // The second is none that the process has raised, but said in its name.
        for (const pmix_status_t code : {-3001, -3002}) {
            event.code.value = code;
            server_->send(theirs::kEventTag, event);
        }
        event.source.id = {"job", 1};
        event.code.value = -3001;
        server_->send(theirs::kEventTag, event);
    });
    init();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    ASSERT_GE(handle({-3001, -3002}), 0);
    EXPECT_TRUE(heard(-3002));
    EXPECT_TRUE(heard(-3001, 2)) << "its own, and that of another process";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3002, nullptr, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(heard(-3002, 2));
    EXPECT_EQ(2u, count_of(-3001));
}

// A server sends some events to a process that has asked for none: its handlers come later, and each of them has them.
TEST_P(OpenPmixServices, Event_BeforeTheFirstHandler_IsKeptForThoseToCome) {
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes) {
        theirs::EventMessage event;
        event.source.id = {"server", 0};
        event.code.value = PMIX_PROCESS_SET_DEFINE;
        server_->send(theirs::kEventTag, event);
        event.code.value = -3002;
        InfoList once;
        once.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
        event.infos.infos = common::Infos::borrow(once.c_array(), once.size());
        server_->send(theirs::kEventTag, event);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    ASSERT_GE(handle({PMIX_PROCESS_SET_DEFINE, -3002}), 0);
    EXPECT_TRUE(heard(PMIX_PROCESS_SET_DEFINE));
    ASSERT_GE(handle({PMIX_PROCESS_SET_DEFINE}), 0);
    EXPECT_TRUE(heard(PMIX_PROCESS_SET_DEFINE, 2)) << "the second handler";
    // From now on it has handlers, which are called at once and alone.
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_TRUE(heard(PMIX_PROCESS_SET_DEFINE, 4));
    ASSERT_GE(handle({PMIX_PROCESS_SET_DEFINE}), 0);
    EXPECT_TRUE(heard(PMIX_PROCESS_SET_DEFINE, 5)) << "what was sent before there was any";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_TRUE(heard(-3002, 2));
    EXPECT_EQ(2u, count_of(-3002)) << "only while it had a handler";
}

// ---- registrations ----

// Two handlers of one code, of which the first is registered when the second comes: both wait for the server.
TEST_P(OpenPmixServices, Register_CodeUnderWay_WaitsForTheServer) {
    std::atomic<int> asked{0};
    std::atomic<uint32_t> first{0};
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::RegisterEventsRequest>(payload);
        if (++asked == 1) {
            EXPECT_EQ(std::vector<pmix_status_t>{-3001}, request.codes.codes);
            first = tag;
            return;
        }
        EXPECT_EQ(std::vector<pmix_status_t>{-3002}, request.codes.codes);
        server_->send_status(tag, PMIX_SUCCESS);
        server_->send_status(first, PMIX_SUCCESS);
    });
    init();
    Registered one, same, both;
    pmix_status_t codes[] = {-3001, -3002};
    PMIx_Register_event_handler(codes, 1, nullptr, 0, &on_event, &Registered::on, &one);
    PMIx_Register_event_handler(codes, 1, nullptr, 0, &on_event, &Registered::on, &same);
    while (first == 0) ::usleep(1000);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_FALSE(one.is_done());
    EXPECT_FALSE(same.is_done()) << "the server has not answered";
    PMIx_Register_event_handler(codes, 2, nullptr, 0, &on_event, &Registered::on, &both);
    EXPECT_STATUS(PMIX_SUCCESS, one.wait());
    EXPECT_STATUS(PMIX_SUCCESS, same.wait());
    EXPECT_STATUS(PMIX_SUCCESS, both.wait());
    EXPECT_EQ(2, asked);
}

// A server is asked once for each code, whatever handlers share it.
TEST_P(OpenPmixServices, Register_CodeThatIsRegistered_IsNotAskedForAgain) {
    std::vector<std::vector<pmix_status_t>> requests;
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        requests.push_back(server_->decoded<theirs::RegisterEventsRequest>(payload).codes.codes);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    ASSERT_GE(handle({-3001}), 0);
    ASSERT_GE(handle({-3001, -3002}), 0);
    EXPECT_EQ((std::vector<std::vector<pmix_status_t>>{{-3001}, {-3002}}), requests);
}

// The server refuses the first, which asks for another code as well: the second asks for itself.
TEST_P(OpenPmixServices, Register_Refused_OthersAskForThemselves) {
    std::vector<std::vector<pmix_status_t>> requests;
    std::atomic<uint32_t> first{0};
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        requests.push_back(server_->decoded<theirs::RegisterEventsRequest>(payload).codes.codes);
        if (requests.size() > 1) return server_->send_status(tag, PMIX_SUCCESS);
        first = tag;
    });
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes) {
        server_->send_status(first, PMIX_ERR_NOT_SUPPORTED);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    Registered refused, good;
    pmix_status_t codes[] = {-3001, -3002};
    PMIx_Register_event_handler(codes, 2, nullptr, 0, &on_event, &Registered::on, &refused);
    PMIx_Register_event_handler(codes, 1, nullptr, 0, &on_event, &Registered::on, &good);
    while (first == 0) ::usleep(1000);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, refused.wait());
    EXPECT_STATUS(PMIX_SUCCESS, good.wait());
    EXPECT_GE(handle({-3002}), 0);
    EXPECT_EQ((std::vector<std::vector<pmix_status_t>>{{-3002, -3001}, {-3001}, {-3002}}), requests);
}

// ---- heartbeats ----

// Of all handlers for any code the server is asked once, without a code, and is told of the end by the code that stands
// for them.
TEST_P(OpenPmixServices, Register_ForAnyCode_IsAskedForOnceAndTakenBack) {
    constexpr pmix_status_t kCode = -3200;
    std::atomic<int> asked{0}, taken_back{0};
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        EXPECT_TRUE(server_->decoded<theirs::RegisterEventsRequest>(payload).codes.codes.empty());
        ++asked;
        server_->send_status(tag, PMIX_SUCCESS);
        theirs::EventMessage event;
        event.code.value = kCode;
        event.source.id = {"job", 1};
        server_->send(theirs::kEventTag, event);
    });
    server_->on(theirs::Command::deregister_events, [&](uint32_t, common::Bytes payload) {
        const auto request = server_->decoded<theirs::DeregisterEventsRequest>(payload);
        EXPECT_EQ((std::vector<std::vector<pmix_status_t>>{{theirs::kDefaultHandlerCode}}), request.codes.calls);
        ++taken_back;
    });
    init();
    const pmix_status_t first = handle({});
    ASSERT_GE(first, 0);
    EXPECT_TRUE(heard(kCode));
    const pmix_status_t second = handle({});
    ASSERT_GE(second, 0);
    EXPECT_EQ(1, asked);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(first), nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(0, taken_back) << "there is another handler";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(second), nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(1, taken_back);
}

TEST_P(OpenPmixServices, Heartbeat_IsTold) {
    init();
    PMIx_Heartbeat();
    PMIx_Heartbeat();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(2, server_->heartbeats);
}

// ---- resolving ----

// A server that cannot name the nodes of all jobs, or refuses to: those of the known jobs are named. Of one job there
// is nothing else to say.
TEST_P(OpenPmixServices, ResolveNodesOfAll_ServerRefuses_KnownOnesAreNamed) {
    server_->answer_status(theirs::Command::resolve_node, PMIX_ERR_INVALID_NAMESPACE);
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    init();
    char* nodes = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_nodes(nullptr, &nodes));
    EXPECT_STREQ("here,there", nodes);
    std::free(nodes);
    nodes = nullptr;
    EXPECT_NE(PMIX_SUCCESS, PMIx_Resolve_nodes("unknown", &nodes));
    EXPECT_EQ(nullptr, nodes);
}

// A server without a command for it: the processes of the known jobs are named.
TEST_P(OpenPmixServices, ResolvePeersOfAll_ServerCannot_KnownOnesAreNamed) {
    if (server_->traits.resolves) return;  // it is asked: openpmix_answers_test
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    init();
    pmix_proc_t* procs = nullptr;
    size_t count = 0;
    for (const char* node : {static_cast<const char*>(nullptr), "here"}) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers(node, nullptr, &procs, &count));
        ASSERT_EQ(2u, count);
        EXPECT_STREQ("job", procs[1].nspace);
        EXPECT_EQ(1u, procs[1].rank);
        PMIX_PROC_FREE(procs, count);
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_peers("nowhere", nullptr, &procs, &count));
    EXPECT_EQ(0u, count);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Resolve_peers("here", "unknown", &procs, &count));
    char* nodes = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Resolve_nodes("unknown", &nodes));
}

// ---- queries ----

// A server of theirs lists its answers, in an order of its own; each is found under the key that was asked for.
TEST_P(OpenPmixServices, Query_AnswersInAList_AreFoundByTheirKeys) {
    server_->on(theirs::Command::query, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::QueryRequest>(payload);
        EXPECT_EQ(2u, request.queries.elements.size());
        common::InfoList answers;
        answers.append_number<size_t>(PMIX_QUERY_NUM_PSETS, 2, PMIX_SIZE);
        answers.append_string(PMIX_QUERY_NAMESPACES, "job");
        answers.append_string("not.asked.for", "text");
        theirs::InfosReply reply;
        reply.infos.emplace().infos = std::move(answers);
        server_->send(tag, reply);
    });
    init();
    char namespaces[] = PMIX_QUERY_NAMESPACES, sets[] = PMIX_QUERY_NUM_PSETS, version[] = PMIX_QUERY_STABLE_ABI_VERSION;
    char *first[] = {namespaces, version, nullptr}, *second[] = {sets, nullptr};
    pmix_query_t queries[2]{};
    queries[0].keys = first;
    queries[1].keys = second;
    pmix_info_t* results = nullptr;
    size_t count = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info(queries, 2, &results, &count));
    ASSERT_EQ(3u, count);
    EXPECT_STREQ(PMIX_QUERY_NAMESPACES, results[0].key);
    EXPECT_STREQ("job", results[0].value.data.string);
    EXPECT_STREQ(PMIX_QUERY_STABLE_ABI_VERSION, results[1].key);
    EXPECT_STREQ(PMIX_QUERY_NUM_PSETS, results[2].key);
    EXPECT_EQ(2u, results[2].value.data.size);
    PMIX_INFO_FREE(results, count);
}

// ---- output ----

void on_output(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t*, pmix_info_t*, size_t) {}

// What ends is named by the server's own number, and by no other.
TEST_P(OpenPmixServices, Pull_Ends_ByTheServersNumber) {
    std::vector<size_t> ended;
    std::atomic<bool> tells_number{true};
    server_->on(theirs::Command::iof_pull, [&](uint32_t tag, common::Bytes) {
        theirs::IofPullReply reply;
        if (tells_number) reply.reference.emplace().value = 4711;
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::iof_deregister, [&](uint32_t tag, common::Bytes payload) {
        ended.push_back(server_->decoded<theirs::IofDeregisterRequest>(payload).reference.value);
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    const pmix_proc_t all = proc(PMIX_RANK_WILDCARD);
    pmix_status_t pull = PMIx_IOF_pull(&all, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &on_output, nullptr, nullptr);
    ASSERT_GE(pull, 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_IOF_deregister(static_cast<size_t>(pull), nullptr, 0, nullptr, nullptr));
    tells_number = false;
    pull = PMIx_IOF_pull(&all, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &on_output, nullptr, nullptr);
    ASSERT_GE(pull, 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_IOF_deregister(static_cast<size_t>(pull), nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(std::vector<size_t>{4711}, ended);
}

// ---- the exchange ----

struct Delivered final : client::OpenPmixExchange::Ends {
    void send_message(uint32_t, common::Bytes) override {}
    void deliver_frame(const common::FrameHeader&, common::Bytes, std::vector<transport::Descriptor>&&) override {
        ++count;
    }
    int count = 0;
};

TEST(OpenPmixExchange, Reply_ToWhatIsNoRequest_IsNotSent) {
    Delivered ends;
    client::OpenPmixExchange exchange(ends, *theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed));
    auto header = common::FrameHeader::notify(static_cast<uint16_t>(common::Command::commit));
    exchange.reply(header, PMIX_SUCCESS, common::Nothing{});
    exchange.refuse(header, PMIX_ERR_NOT_FOUND);
    EXPECT_EQ(0, ends.count);
    header.kind = common::FrameKind::request;
    exchange.reply(header, PMIX_SUCCESS, common::Nothing{});
    EXPECT_EQ(1, ends.count);
}

}  // namespace
}  // namespace pmix::test::openpmix_services_test
