// SPDX-License-Identifier: BSD-3-Clause
// PMIX_TIMEOUT of each call that takes one, at the client's end: a server that never answers does not hold it for
// longer.
#include <gtest/gtest.h>
#include <pmix.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "client/data/fence.h"
#include "client/data/publish.h"
#include "client/events/events.h"
#include "client/groups/group_api.h"
#include "client/groups/group_invite_api.h"
#include "client/iof/iof.h"
#include "client/modules.h"
#include "client/services/control.h"
#include "client/services/credentials.h"
#include "client/services/fabric.h"
#include "client/services/monitor.h"
#include "client/services/pmix_log.h"
#include "client/services/query.h"
#include "client/services/resolve.h"
#include "client/services/spawn.h"
#include "client/session/connect.h"
#include "client/session/session.h"
#include "dstore/writer.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client::client_timeouts_test {
namespace {

using common::InfoList;
using common::ProcId;
using test::FakeChannel;

void no_handler(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                pmix_event_notification_cbfunc_fn_t, void*) {}
void nobody(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t*, pmix_info_t*, size_t) {}

// All at once: each waits for its second, and for the margin that a server is given.
// rows: G11
// proves: PMIx_Publish PMIX_TIMEOUT client
// proves: PMIx_Lookup PMIX_TIMEOUT client
// proves: PMIx_Unpublish PMIX_TIMEOUT client
// proves: PMIx_Fence PMIX_TIMEOUT client
// proves: PMIx_Connect PMIX_TIMEOUT client
// proves: PMIx_Disconnect PMIX_TIMEOUT client
// proves: PMIx_Spawn PMIX_TIMEOUT client
// proves: PMIx_Spawn PMIX_SPAWN_TIMEOUT client
// proves: PMIx_Job_control PMIX_TIMEOUT client
// proves: PMIx_Log PMIX_TIMEOUT client
// proves: PMIx_Group_construct PMIX_TIMEOUT client
// proves: PMIx_Group_destruct PMIX_TIMEOUT client
// proves: PMIx_IOF_pull PMIX_TIMEOUT client
// proves: PMIx_Allocation_request PMIX_TIMEOUT client
// proves: PMIx_Session_control PMIX_TIMEOUT client
// proves: PMIx_Resource_block PMIX_TIMEOUT client
// proves: PMIx_Process_monitor PMIX_TIMEOUT client
// proves: PMIx_Get_credential PMIX_TIMEOUT client
// proves: PMIx_Validate_credential PMIX_TIMEOUT client
// proves: PMIx_Fabric_register PMIX_TIMEOUT client
// proves: PMIx_Query_info PMIX_TIMEOUT client
// proves: PMIx_Register_event_handler PMIX_TIMEOUT client
// proves: PMIx_Notify_event PMIX_TIMEOUT client
TEST(ClientTimeouts, ASilentServerHoldsNoCallThatHasOne) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    client::Session& session = *owned;
    auto channel = std::make_unique<FakeChannel>(*loop, session);
    channel->no_call_without_a_limit = true;
    session.set_channel(std::move(channel));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());

    InfoList infos, offer;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    offer.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    offer.append_string("an.offer", "x");
    InfoList spawn_limit;
    spawn_limit.append_number<int>(PMIX_SPAWN_TIMEOUT, 1, PMIX_INT);
    const pmix_info_t* info = infos.c_array();
    const pmix_proc_t procs[] = {ProcId("job", 1).to_c(), ProcId("job", 2).to_c()};
    pmix_pdata_t wanted = {};
    std::snprintf(wanted.key, sizeof wanted.key, "%s", "an.offer");
    char key[] = "an.offer", command[] = "true";
    char* keys[] = {key, nullptr};
    pmix_app_t app = {};
    app.cmd = command;
    app.maxprocs = 1;
    pmix_nspace_t child;
    const pmix_proc_t all_of_another = ProcId("another", PMIX_RANK_WILDCARD).to_c();
    pmix_info_t *none = nullptr, *results = nullptr, *group_results = nullptr;
    size_t no_number = 0, nresults = 0, group_nresults = 0;
    pmix_info_t* more[3] = {};
    size_t nmore[3] = {};
    pmix_byte_object_t credential = PMIX_BYTE_OBJECT_STATIC_INIT, proof = {key, sizeof key};
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    // The shortest limit of all queries is the call's.
    InfoList long_limit;
    long_limit.append_number<int>(PMIX_TIMEOUT, 1000, PMIX_INT);
    char namespaces[] = PMIX_QUERY_NAMESPACES;
    char* asked[] = {namespaces, nullptr};
    const pmix_query_t queries[] = {{asked, long_limit.c_array(), 1}, {asked, infos.c_array(), 1}, {asked, nullptr, 0}};
    pmix_info_t *answered = nullptr, *of_one = nullptr;
    size_t nanswered = 0, nof_one = 0;
    std::promise<pmix_status_t> called;
    const auto call_back = [](pmix_status_t status, pmix_info_t*, size_t, void* self, pmix_release_cbfunc_t, void*) {
        static_cast<std::promise<pmix_status_t>*>(self)->set_value(status);
    };
    std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls = {
        {"publish", [&] { return publish(session, offer.c_array(), offer.size()); }},
        {"lookup", [&] { return lookup(session, &wanted, 1, info, 1); }},
        {"unpublish", [&] { return unpublish(session, keys, info, 1); }},
        {"fence", [&] { return fence(session, procs, 2, info, 1); }},
        {"connect", [&] { return connect(session, procs, 2, info, 1); }},
        {"disconnect", [&] { return disconnect(session, procs, 2, info, 1); }},
        {"spawn", [&] { return spawn(session, info, 1, &app, 1, child); }},
        {"spawn with its own limit", [&] { return spawn(session, spawn_limit.c_array(), 1, &app, 1, child); }},
        {"job_control",
         [&] {
             return job_control(session, procs, 2, info, 1, {&results, &nresults});
         }},
        {"log", [&] { return log(session, offer.c_array() + 1, 1, info, 1); }},
        {"group_construct",
         [&] { return group_construct(session, "g", procs, 2, info, 1, &group_results, &group_nresults); }},
        {"group_destruct", [&] { return group_destruct(session, "g", info, 1); }},
        {"group_join, declined",
         [&] { return group_join(session, "h", procs + 1, PMIX_GROUP_DECLINE, info, 1, &none, &no_number); }},
        {"group_invite of a job that is not known",
         [&] { return group_invite(session, "i", &all_of_another, 1, info, 1, &none, &no_number); }},
        {"allocation",
         [&] {
             return allocation_request(session, PMIX_ALLOC_NEW, infos.c_array(), 1, {&more[0], &nmore[0]});
         }},
        {"session_control", [&] { return session_control(session, 1, info, 1, nullptr, nullptr); }},
        {"resource_block",
         [&] { return resource_block(session, PMIX_RESOURCE_BLOCK_DEFINE, key, nullptr, 0, info, 1); }},
        {"monitor",
         [&] {
             return process_monitor(session, offer.c_array() + 1, PMIX_SUCCESS, info, 1, {&more[1], &nmore[1]});
         }},
        {"get_credential", [&] { return get_credential(session, info, 1, &credential); }},
        {"validate_credential",
         [&] {
             return validate_credential(session, &proof, info, 1, {&more[2], &nmore[2]});
         }},
        {"query", [&] { return query(session, queries, 3, &answered, &nanswered); }},
        {"query_of_one", [&] { return query(session, queries + 1, 1, &of_one, &nof_one); }},
        {"query_nb",
         [&] {
             const pmix_status_t rc = query_nb(session, queries, 3, call_back, &called);
             if (rc != PMIX_SUCCESS) return rc;
             auto answer = called.get_future();
             const auto ended = answer.wait_for(std::chrono::seconds(30));
             return ended == std::future_status::ready ? answer.get() : PMIX_ERROR;
         }},
        {"fabric_register", [&] { return session.fabrics().add(&fabric, info, 1); }},
        {"iof_pull",
         [&] { return session.iof().pull(procs, 1, info, 1, PMIX_FWD_STDOUT_CHANNEL, &nobody, nullptr, nullptr); }},
    };
    const pmix_status_t code = -3300;
    const auto ends = [](std::promise<pmix_status_t>& promise, pmix_status_t begun) {
        if (begun != PMIX_SUCCESS) return begun;
        auto answer = promise.get_future();
        return answer.wait_for(std::chrono::seconds(30)) == std::future_status::ready ? answer.get() : PMIX_ERROR;
    };
    std::promise<pmix_status_t> registered, notified;
    const auto on_registered = [](pmix_status_t status, size_t, void* self) {
        static_cast<std::promise<pmix_status_t>*>(self)->set_value(status);
    };
    const auto on_notified = [](pmix_status_t status, void* self) {
        static_cast<std::promise<pmix_status_t>*>(self)->set_value(status);
    };
    calls.insert(
        calls.end(),
        {{"register", [&] { return session.events().register_handler(&code, 1, info, 1, &no_handler, nullptr, {}); }},
         {"register_nb",
          [&] {
              return ends(registered, session.events().register_handler(&code, 1, info, 1, &no_handler, on_registered,
                                                                        &registered));
          }},
         {"notify", [&] { return session.events().notify(code, procs, PMIX_RANGE_GLOBAL, info, 1, nullptr, nullptr); }},
         {"notify_nb", [&] {
              return ends(notified,
                          session.events().notify(code, procs, PMIX_RANGE_GLOBAL, info, 1, on_notified, &notified));
          }}});
    std::vector<pmix_status_t> answers(calls.size(), PMIX_SUCCESS);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < calls.size(); ++i) threads.emplace_back([&, i] { answers[i] = calls[i].second(); });
    for (std::thread& thread : threads) thread.join();
    for (size_t i = 0; i < calls.size(); ++i) EXPECT_STATUS(PMIX_ERR_TIMEOUT, answers[i]) << calls[i].first;

    loop->post([&] { session.shut(PMIX_ERR_INIT); });
    loop->stop();
    transport::LoopRole role(*loop);
}

// A server that has taken the request late would send events for a handler that is not there.
TEST(ClientTimeouts, ARegistrationThatWasNotAnswered_IsTakenBack) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    auto made = std::make_unique<FakeChannel>(*loop, *owned);
    FakeChannel& channel = *made;
    owned->set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    const pmix_status_t code = -3300;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT,
                  owned->events().register_handler(&code, 1, infos.c_array(), 1, &no_handler, nullptr, nullptr));
    const auto sent = channel.sent();
    ASSERT_EQ(2u, sent.size());
    EXPECT_EQ(static_cast<uint16_t>(common::Command::deregister_events), sent[1].header.command);
    EXPECT_EQ(FakeChannel::decoded<common::RegisterEventsRequest>(sent[0]).reference,
              FakeChannel::decoded<common::DeregisterEventsRequest>(sent[1]).reference);
    loop->post([&] { owned->shut(PMIX_ERR_INIT); });
    loop->stop();
    transport::LoopRole role(*loop);
}

// They have no attributes, and a limit of their own.
TEST(ClientTimeouts, CallsWithoutAttributes_HaveALimit) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    auto made = std::make_unique<FakeChannel>(*loop, *owned);
    FakeChannel& channel = *made;
    channel.no_call_without_a_limit = true;
    channel.on_send = [&](const common::Frame& frame) {
        if (frame.header.command == static_cast<uint16_t>(common::Command::resolve_peers))
            channel.answer(frame, PMIX_ERR_NOT_FOUND, common::ResolvePeersReply());
        if (frame.header.command == static_cast<uint16_t>(common::Command::resolve_nodes))
            channel.answer(frame, PMIX_ERR_NOT_FOUND, common::ResolveNodesReply());
    };
    owned->set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    pmix_proc_t* procs = nullptr;
    size_t nprocs = 0;
    char* nodes = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, resolve_peers(*owned, "node9", "other", &procs, &nprocs));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, resolve_nodes(*owned, "other", &nodes));
    EXPECT_EQ(2u, channel.sent().size());

    // A server that has not answered within the limit is not asked once more.
    auto store = std::move(dstore::Writer::create({})).value();
    ASSERT_STATUS(PMIX_SUCCESS, owned->namespaces().add("job", 1, transport::Descriptor(::dup(store->descriptor()))));
    ASSERT_TRUE(store->compact().ok());
    channel.before_send = [](const common::Frame& frame) {
        EXPECT_EQ(static_cast<uint16_t>(common::Command::attach_nspace), frame.header.command);
        return PMIX_ERR_TIMEOUT;
    };
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, resolve_peers(*owned, "node9", "job", &procs, &nprocs));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, resolve_nodes(*owned, "job", &nodes));
    loop->post([&] { owned->shut(PMIX_ERR_INIT); });
    loop->stop();
    transport::LoopRole role(*loop);
}

}  // namespace
}  // namespace pmix::client::client_timeouts_test
