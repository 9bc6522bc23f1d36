// SPDX-License-Identifier: BSD-3-Clause
// A flag with a number as its value: the same answer of every call, and nothing is sent.
#include <gtest/gtest.h>
#include <pmix.h>

#include <cstdio>
#include <functional>
#include <vector>

#include "client/data/fence.h"
#include "client/data/get.h"
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
#include "client/services/spawn.h"
#include "client/session/connect.h"
#include "client/session/session.h"
#include "support/alone.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client::flags_test {
namespace {

using common::InfoList;
using common::ProcId;
using test::Alone;
using test::FakeChannel;

void no_handler(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                pmix_event_notification_cbfunc_fn_t, void*) {}
void no_reader(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t*, pmix_info_t*, size_t) {}

}  // namespace

// rows: G17
TEST(Flags, WithANumber_AreBadParamInEveryCall) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    client::Session& session = *owned;
    auto made = std::make_unique<FakeChannel>(*loop, session);
    FakeChannel& channel = *made;
    channel.no_call_without_a_limit = true;
    session.set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());

    InfoList infos, offer, text;
    infos.append_number<int>(PMIX_EVENT_HDLR_FIRST, 1, PMIX_INT);
    infos.append_number<int>(PMIX_OPTIONAL, 1, PMIX_INT);
    offer.append_string("an.offer", "x");
    offer.append_number<int>(PMIX_COLLECT_DATA, 1, PMIX_INT);
    text.append_string(PMIX_LOG_STDERR, "x");
    const pmix_info_t* info = infos.c_array();
    const size_t n = infos.size();
    const pmix_proc_t procs[] = {ProcId("job", 1).to_c(), ProcId("job", 2).to_c()};
    pmix_pdata_t wanted = {};
    std::snprintf(wanted.key, sizeof wanted.key, "%s", "an.offer");
    char key[] = "an.offer", command[] = "true", namespaces[] = PMIX_QUERY_NAMESPACES;
    char* keys[] = {key, nullptr};
    char* asked[] = {namespaces, nullptr};
    pmix_app_t app = {}, app_with_info = {};
    app.cmd = app_with_info.cmd = command;
    app.maxprocs = app_with_info.maxprocs = 1;
    app_with_info.info = infos.c_array();
    app_with_info.ninfo = n;
    const pmix_query_t query_with_info = {asked, infos.c_array(), n};
    pmix_nspace_t child;
    pmix_info_t* results = nullptr;
    size_t nresults = 0;
    pmix_byte_object_t credential = PMIX_BYTE_OBJECT_STATIC_INIT, proof = {key, sizeof key};
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    pmix_value_t* value = nullptr;
    const pmix_status_t code = -3300;
    const std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls = {
        {"get", [&] { return get(session, procs, "k", info, n, &value); }},
        {"publish", [&] { return publish(session, offer.c_array(), offer.size()); }},
        {"lookup", [&] { return lookup(session, &wanted, 1, info, n); }},
        {"unpublish", [&] { return unpublish(session, keys, info, n); }},
        {"fence", [&] { return fence(session, procs, 2, info, n); }},
        {"connect", [&] { return connect(session, procs, 2, info, n); }},
        {"disconnect", [&] { return disconnect(session, procs, 2, info, n); }},
        {"spawn", [&] { return spawn(session, info, n, &app, 1, child); }},
        {"spawn of an application", [&] { return spawn(session, nullptr, 0, &app_with_info, 1, child); }},
        {"job_control",
         [&] {
             return job_control(session, procs, 2, info, n, {&results, &nresults});
         }},
        {"log", [&] { return log(session, text.c_array(), 1, info, n); }},
        {"group_construct", [&] { return group_construct(session, "g", procs, 2, info, n, &results, &nresults); }},
        {"group_destruct", [&] { return group_destruct(session, "g", info, n); }},
        {"group_leave", [&] { return group_leave(session, "g", info, n); }},
        {"group_invite", [&] { return group_invite(session, "g", procs, 2, info, n, &results, &nresults); }},
        {"group_join",
         [&] { return group_join(session, "g", procs, PMIX_GROUP_ACCEPT, info, n, &results, &nresults); }},
        {"allocation",
         [&] {
             return allocation_request(session, PMIX_ALLOC_NEW, infos.c_array(), n, {&results, &nresults});
         }},
        {"session_control", [&] { return session_control(session, 1, info, n, nullptr, nullptr); }},
        {"resource_block",
         [&] { return resource_block(session, PMIX_RESOURCE_BLOCK_DEFINE, key, nullptr, 0, info, n); }},
        {"monitor",
         [&] {
             return process_monitor(session, text.c_array(), PMIX_SUCCESS, info, n, {&results, &nresults});
         }},
        {"get_credential", [&] { return get_credential(session, info, n, &credential); }},
        {"validate_credential",
         [&] {
             return validate_credential(session, &proof, info, n, {&results, &nresults});
         }},
        {"query", [&] { return query(session, &query_with_info, 1, &results, &nresults); }},
        {"fabric_register", [&] { return session.fabrics().add(&fabric, info, n); }},
        {"iof_pull",
         [&] { return session.iof().pull(procs, 1, info, n, PMIX_FWD_STDOUT_CHANNEL, &no_reader, nullptr, nullptr); }},
        {"iof_push", [&] { return session.iof().push(procs, 1, &proof, info, n, nullptr, nullptr); }},
        {"register", [&] { return session.events().register_handler(&code, 1, info, n, &no_handler, nullptr, {}); }},
    };
    for (const auto& [name, call] : calls) EXPECT_STATUS(PMIX_ERR_BAD_PARAM, call()) << name;
    EXPECT_TRUE(channel.sent().empty());

    loop->post([&] { session.shut(PMIX_ERR_INIT); });
    loop->stop();
    transport::LoopRole role(*loop);
}

// A host may pass on what a client gave it. rows: G17
TEST(Flags, WithANumber_ArePassedOnForAHost) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("server", 0), ProcId("server", 0));
    client::Session& session = *owned;
    auto made = std::make_unique<FakeChannel>(*loop, session);
    FakeChannel& channel = *made;
    channel.on_send = [&](const common::Frame& frame) {
        channel.answer(frame, PMIX_ERR_NOT_SUPPORTED, common::Nothing());
    };
    session.set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());

    InfoList infos, text;
    infos.append_number<int>(PMIX_COLLECT_DATA, 1, PMIX_INT);
    text.append_string(PMIX_LOG_STDERR, "x");
    const pmix_info_t* info = infos.c_array();
    const pmix_proc_t procs[] = {ProcId("job", 1).to_c(), ProcId("job", 2).to_c()};
    char command[] = "true", asked[] = "a.key";
    char* keys[] = {asked, nullptr};
    pmix_app_t app = {};
    app.cmd = command;
    app.maxprocs = 1;
    app.info = infos.c_array();
    app.ninfo = 1;
    const pmix_query_t question = {keys, infos.c_array(), 1};
    pmix_nspace_t child;
    pmix_info_t* results = nullptr;
    size_t nresults = 0;
    const std::vector<std::pair<const char*, std::function<pmix_status_t()>>> calls = {
        {"spawn", [&] { return spawn(session, info, 1, &app, 1, child); }},
        {"log", [&] { return log(session, text.c_array(), 1, info, 1); }},
        {"query", [&] { return query(session, &question, 1, &results, &nresults); }},
        {"monitor",
         [&] {
             return process_monitor(session, text.c_array(), PMIX_SUCCESS, info, 1, {&results, &nresults});
         }},
        {"job_control",
         [&] {
             return job_control(session, procs, 2, info, 1, {&results, &nresults});
         }},
        {"publish", [&] { return publish(session, info, 1); }},
        {"fence", [&] { return fence(session, procs, 2, info, 1); }},
        {"connect", [&] { return connect(session, procs, 2, info, 1); }},
    };
    size_t sent = 0;
    for (const auto& [name, call] : calls) {
        EXPECT_NE(PMIX_ERR_BAD_PARAM, call()) << name;
        EXPECT_GT(channel.sent().size(), sent) << name;
        sent = channel.sent().size();
    }

    loop->post([&] { session.shut(PMIX_ERR_INIT); });
    loop->stop();
    transport::LoopRole role(*loop);
}

// Calls of the library as a whole: one that is refused has done nothing. rows: G17 I12
TEST_F(Alone, FlagsWithANumber_AreBadParamOfTheOtherCallsToo) {
    const pmix_info_t barrier = test::info(PMIX_EMBED_BARRIER);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Finalize(&barrier, 1));
    EXPECT_EQ(1, PMIx_Initialized());
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Finalize(&barrier, 1));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0)) << "the second init";
    EXPECT_EQ(1, PMIx_Initialized());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_IOF_deregister(1, &barrier, 1, nullptr, nullptr));
    pmix_device_distance_t* distances = nullptr;
    size_t n = 0;
    pmix_info_t required = barrier;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Compute_distances(nullptr, nullptr, &required, 1, &distances, &n));
}

}  // namespace pmix::client::flags_test
