// SPDX-License-Identifier: BSD-3-Clause
// A process whose launcher has OpenPMIx's library: from its environment to a library that runs, on a server that speaks
// the protocol by this tree's codec (tests/support/openpmix_server.h); and servers that say what is false.
#include <gtest/gtest.h>
#include <pmix.h>
#include <unistd.h>

#include <condition_variable>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "client/openpmix/environment.h"
#include "client/openpmix/greeting.h"
#include "client/openpmix/job_blob.h"
#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/openpmix_server.h"
#include "support/status.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::test::openpmix_client_test {
namespace {

namespace theirs = openpmix;
using common::Value;

// ---- what is said of a job ----

TEST(OpenPmixJobBlob, Read_RanksBytesThatAreNone_IsAFailure) {
    const theirs::Traits traits = *theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed);
    theirs::KeyValues values;
    values.pairs.push_back({PMIX_PROC_BLOB, Value::u32(1)});
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, client::JobBlob::read(values, traits).status());
    values.pairs[0].value = OpenPmixServer::bytes({1, 2, 3});
    EXPECT_NE(PMIX_SUCCESS, client::JobBlob::read(values, traits).status());
}

TEST(OpenPmixJobBlob, Place_RankFarAboveTheOthers_SizesNothing) {
    const theirs::Traits traits = *theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed);
    theirs::RankData one;
    one.rank.value = 16'000'000;
    one.values.pairs.push_back({PMIX_HOSTNAME, OpenPmixServer::text("here")});
    std::vector<uint8_t> bytes;
    ASSERT_STATUS(PMIX_SUCCESS, theirs::encode(one, traits, &bytes));
    theirs::KeyValues values;
    values.pairs.push_back({PMIX_PROC_BLOB, OpenPmixServer::bytes(bytes)});
    auto blob = client::JobBlob::read(values, traits);
    ASSERT_TRUE(blob.ok());
    EXPECT_TRUE(blob->procs.empty());
    ASSERT_EQ(1u, blob->facts.size());
    EXPECT_EQ(dstore::Owner::proc_info(16'000'000), blob->facts[0].owner);
}

// ---- a library that runs ----

class OpenPmixClient : public OpenPmixProcess {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixClient,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2rc2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixClient, Init_KnowsTheJob) {
    init();
    EXPECT_STREQ("job", self_.nspace);
    EXPECT_EQ(0u, self_.rank);
    EXPECT_EQ("native", server_->hello.security);
    EXPECT_EQ("hash", server_->hello.store);
    EXPECT_EQ(8u, server_->hello.credential.size());
    EXPECT_FALSE(server_->hello.stray_nul);
    const int asked = server_->requests;
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE));
    EXPECT_EQ(8u, number(proc(PMIX_RANK_WILDCARD), PMIX_UNIV_SIZE));
    EXPECT_EQ(9u, number(proc(PMIX_RANK_WILDCARD), PMIX_SESSION_ID));
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD), PMIX_APP_SIZE));
    EXPECT_EQ("0,1", text(proc(PMIX_RANK_WILDCARD), PMIX_LOCAL_PEERS));
    EXPECT_EQ(1u, number(proc(1), PMIX_LOCAL_RANK));
    EXPECT_EQ("there", text(proc(2), PMIX_HOSTNAME));
    EXPECT_EQ(4u, number(proc(0), PMIX_NODEID));
    EXPECT_EQ(7u, number(proc(2), PMIX_NODEID));
    EXPECT_EQ("server", text(proc(PMIX_RANK_WILDCARD), PMIX_SERVER_NSPACE));
    EXPECT_EQ(asked, server_->requests) << "all of it is in the segment";
    char* nodes = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_nodes("job", &nodes));
    EXPECT_STREQ("here,there", nodes);
    std::free(nodes);
}

size_t count_tasks() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<size_t>(std::distance(begin(tasks), end(tasks)));
}
// One that has been joined may be listed for a moment yet.
size_t threads() {
    size_t count = count_tasks();
    for (int equal = 0; equal < 10; ++equal) {
        ::usleep(1000);
        if (const size_t now = count_tasks(); now != count) {
            count = now;
            equal = 0;
        }
    }
    return count;
}

// A thread for the loop would cost each process its stack, and each call two switches. Deletions by other processes
// come without a call.
TEST_P(OpenPmixClient, CallsThatWait_RunTheLoopThemselves) {
    answer_get("job", 1, {{"their.key", 11}});
    const size_t others = threads() + 1;  // the server's
    init();
    const size_t from_start = others + (server_->traits.deletes_keys ? 1 : 0);
    EXPECT_EQ(from_start, threads());
    Value value = Value::u32(7);
    for (int round = 0; round < 3; ++round) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "key", value.c_ptr()));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
        EXPECT_EQ(11u, number(proc(1), "their.key"));
    }
    EXPECT_EQ(from_start, threads());
    // What comes while no call waits is the thread's.
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 41;
    const auto ignore = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                           pmix_event_notification_cbfunc_fn_t, void*) {};
    EXPECT_LE(0, PMIx_Register_event_handler(&code, 1, nullptr, 0, ignore, nullptr, nullptr));
    EXPECT_EQ(others + 1, threads());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
}

TEST_P(OpenPmixClient, CallsThatWait_OfTwoThreads_BothEnd) {
    // The first fence is not answered before the second request was received.
    std::optional<uint32_t> fence;
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes) { fence = tag; });
    server_->on(theirs::Command::publish, [&](uint32_t tag, common::Bytes) {
        server_->send_status(tag, PMIX_SUCCESS);
        if (fence) server_->send_status(*fence, PMIX_SUCCESS);
    });
    init();
    const int asked = server_->requests;
    auto first = std::async(std::launch::async, [] { return PMIx_Fence(nullptr, 0, nullptr, 0); });
    const test::LongWait wait;
    while (server_->requests == asked && !wait.over()) std::this_thread::yield();
    pmix_info_t info;
    const bool yes = true;
    PMIX_INFO_LOAD(&info, "published", &yes, PMIX_BOOL);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Publish(&info, 1));
    EXPECT_STATUS(PMIX_SUCCESS, first.get());
}

TEST_P(OpenPmixClient, Commit_HasEveryValueInItsSections) {
    std::vector<theirs::SectionData> sections;
    std::vector<pmix_scope_t> scopes;
    server_->on(theirs::Command::commit, [&](uint32_t tag, common::Bytes payload) {
        const auto commit = server_->decoded<theirs::CommitRequest>(payload);
        for (const theirs::Section& section : commit.sections.sections) {
            scopes.push_back(section.scope);
            sections.push_back(server_->decoded<theirs::SectionData>(section.values));
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    Value value = Value::u32(7);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "for.all", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "for.here", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_REMOTE, "for.there", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    ASSERT_EQ((std::vector<pmix_scope_t>{PMIX_LOCAL, PMIX_REMOTE}), scopes);
    ASSERT_EQ(2u, sections[0].values.pairs.size());
    EXPECT_EQ("for.all", sections[0].values.pairs[0].key);
    EXPECT_EQ("for.here", sections[0].values.pairs[1].key);
    ASSERT_EQ(2u, sections[1].values.pairs.size());
    EXPECT_EQ("for.there", sections[1].values.pairs[1].key);
    EXPECT_EQ(7u, number(self_, "for.all")) << "its own";
}

TEST_P(OpenPmixClient, Commit_Refused_IsToldByTheNextCall) {
    server_->answer_status(theirs::Command::commit, PMIX_ERR_OUT_OF_RESOURCE);
    init();
    Value value = Value::u32(7);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "key", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, PMIx_Fence(nullptr, 0, nullptr, 0));
}

TEST_P(OpenPmixClient, Get_OfAPeer_IsAskedForOnce) {
    answer_get("job", 1, {{"their.key", 11}, {"their.other", 12}});
    init();
    const int asked = server_->requests;
    EXPECT_EQ(11u, number(proc(1), "their.key"));
    EXPECT_EQ(asked + 1, server_->requests);
    EXPECT_EQ(11u, number(proc(1), "their.key"));
    EXPECT_EQ(12u, number(proc(1), "their.other")) << "what comes with an answer is kept";
    EXPECT_EQ(asked + 1, server_->requests);
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "their.third", &value));
}

TEST_P(OpenPmixClient, Get_WhatTheServerDoesNotHave_IsNotFound) {
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes) { server_->send_status(tag, PMIX_SUCCESS); });
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "key", &value)) << "success, and nothing with it";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), "pmix.nosuch", &value));
    const int asked = server_->requests;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), "pmix.nosuch", &value));
    EXPECT_EQ(asked, server_->requests) << "a reserved key is asked for once";
}

TEST_P(OpenPmixClient, Get_TimeLimitOfTheServersOwn_IsNotFound) {
    server_->answer_status(theirs::Command::get, PMIX_ERR_TIMEOUT);
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "key", &value));
    pmix_info_t limit;
    int seconds = 60;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, get(proc(1), "key", &value, &limit, 1));
}

TEST_P(OpenPmixClient, Get_ReservedKeyThatWasNotSaid_IsAskedFor) {
    answer_get("job", PMIX_RANK_WILDCARD, {{PMIX_MAX_PROCS, 64}});
    init();
    EXPECT_EQ(64u, number(proc(PMIX_RANK_WILDCARD), PMIX_MAX_PROCS));
    const int asked = server_->requests;
    EXPECT_EQ(64u, number(proc(PMIX_RANK_WILDCARD), PMIX_MAX_PROCS));
    EXPECT_EQ(asked, server_->requests);
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, nullptr, PMIX_BOOL);
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), PMIX_CLUSTER_ID, &value, &optional, 1));
    EXPECT_EQ(asked, server_->requests) << "nobody else is asked";
}

TEST_P(OpenPmixClient, Get_ReservedKey_IsAskedForAtOnceAsByTheReleasesOwnClient) {
    init();
    std::promise<bool> reserved, other;
    const auto immediate = [this](common::Bytes payload) {
        theirs::GetRequest request;
        EXPECT_STATUS(PMIX_SUCCESS, theirs::decode(payload, server_->traits, &request));
        const auto& infos = request.infos.infos;
        return common::InfoView(infos.data(), infos.size()).flag(PMIX_IMMEDIATE);
    };
    for (const auto& [key, seen] : {std::pair(PMIX_CLUSTER_ID, &reserved), std::pair("their.key", &other)}) {
        server_->on(theirs::Command::get, [this, immediate, seen = seen](uint32_t tag, common::Bytes payload) {
            seen->set_value(immediate(payload));
            server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        });
        Value value;
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), key, &value));
    }
    EXPECT_EQ(server_->traits.version < (theirs::Version{7, 0, 0}), reserved.get_future().get());
    EXPECT_FALSE(other.get_future().get()) << "a key that a process may still put";
}

TEST_P(OpenPmixClient, Get_OfAnotherNamespace_BringsItsJobToo) {
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes) {
        theirs::JobData job;
        job.nspace = theirs::Text("other");
        job.values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(5)});
        theirs::ProcData data;
        data.proc.id = {"other", 2};
        data.values.pairs.push_back({"key", Value::u32(21)});
        const auto first = server_->encoded(job), second = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects = {first, second};
        server_->send(tag, reply);
    });
    init();
    EXPECT_EQ(21u, number(proc(2, "other"), "key"));
    EXPECT_EQ(5u, number(proc(PMIX_RANK_WILDCARD, "other"), PMIX_JOB_SIZE));
}

TEST_P(OpenPmixClient, Get_AnswerOfAnotherJob_IsNotBelieved) {
    answer_get("lie", 1, {{"key", 1}});
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, get(proc(1), "key", &value));
}

TEST_P(OpenPmixClient, Request_OfWhatTheServerLacks_IsNotSupported) {
    init();
    pmix_value_t value = Value::u32(1).take();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "key", &value));
    EXPECT_STATUS(server_->traits.deletes_keys ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                  PMIx_Put(PMIX_DEL_GLOBAL, "key", nullptr))
        << "releases before 7.0 know no deletions";
    EXPECT_STATUS(server_->traits.leaves_by_event ? PMIX_ERR_NOT_FOUND : PMIX_ERR_NOT_SUPPORTED,
                  PMIx_Group_leave("group", nullptr, 0));
    pmix_info_t* results = nullptr;
    size_t nresults = 0;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Allocation_request(PMIX_ALLOC_NEW, nullptr, 0, &results, &nresults));
}

// ---- events and services ----

struct Heard {
    std::mutex mutex;
    std::condition_variable changed;
    int count = 0;
    pmix_status_t code = 0;
    std::string source;
    bool marked = false;
};
Heard g_heard;
void on_event(size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[], size_t ninfos, pmix_info_t[],
              size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        const std::lock_guard lock(g_heard.mutex);
        ++g_heard.count;
        g_heard.code = code;
        g_heard.source = source->nspace;
        for (size_t i = 0; i < ninfos; ++i)
            g_heard.marked = g_heard.marked || std::string(infos[i].key) == "pmix.srvr.internal.notify";
        g_heard.changed.notify_all();
    }
    if (done != nullptr) done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}
bool heard(int count) {
    std::unique_lock lock(g_heard.mutex);
    return g_heard.changed.wait_for(lock, std::chrono::seconds(60), [&] { return g_heard.count >= count; });
}

TEST_P(OpenPmixClient, Events_OneRegistrationOfACodeForAllHandlers) {
    std::atomic<int> registered{0}, taken_back{0};
    g_heard.count = 0;
    server_->on(theirs::Command::register_events, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::RegisterEventsRequest>(payload);
        EXPECT_EQ(std::vector<pmix_status_t>{-3000}, request.codes.codes);
        ++registered;
        server_->send_status(tag, PMIX_SUCCESS);
        theirs::EventMessage event;
        event.code.value = -3000;
        event.source.id = {"job", 1};
        common::InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_flag("pmix.srvr.internal.notify", true));
        event.infos.infos = std::move(infos);
        server_->send(theirs::kEventTag, event);
    });
    server_->on(theirs::Command::deregister_events, [&](uint32_t, common::Bytes payload) {
        const auto request = server_->decoded<theirs::DeregisterEventsRequest>(payload);
        EXPECT_EQ((std::vector<std::vector<pmix_status_t>>{{-3000}}), request.codes.calls);
        ++taken_back;
    });
    init();
    pmix_status_t code = -3000;
    const pmix_status_t first = PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr);
    ASSERT_GE(first, 0);
    EXPECT_TRUE(heard(1));
    EXPECT_EQ(-3000, g_heard.code);
    EXPECT_EQ("job", g_heard.source);
    EXPECT_FALSE(g_heard.marked) << "the server's own mark is not the user's";
    const pmix_status_t second = PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr);
    ASSERT_GE(second, 0);
    EXPECT_EQ(1, registered);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(first), nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(0, taken_back) << "there is another handler";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(second), nullptr, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(1, taken_back);
}

TEST_P(OpenPmixClient, Lookup_FindsWhatThereIs) {
    server_->on(theirs::Command::lookup, [this](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::LookupRequest>(payload);
        EXPECT_EQ(1u, request.keys.keys.size());
        theirs::LookupReply reply;
        auto data = common::CArray<pmix_pdata_t>::zeroed(1);
        ASSERT_TRUE(data.ok());
        (*data)[0].proc = proc(2);
        common::set_key((*data)[0].key, "port");
        (*data)[0].value = Value::u32(4711).take();
        reply.data.emplace().elements = std::move(data).value();
        server_->send(tag, reply);
    });
    init();
    pmix_pdata_t wanted;
    PMIX_PDATA_CONSTRUCT(&wanted);
    PMIX_LOAD_KEY(wanted.key, "port");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Lookup(&wanted, 1, nullptr, 0));
    EXPECT_EQ(2u, wanted.proc.rank);
    EXPECT_EQ(4711u, wanted.value.data.uint32);
}

TEST_P(OpenPmixClient, Group_AnswerOfEachRelease_HasTheMembers) {
    server_->on(theirs::Command::group_construct, [this](uint32_t tag, common::Bytes payload) {
        const common::ProcList members{{"job", 0}, {"job", 2}};
        auto request = server_->decoded<theirs::GroupConstructRequest>(payload);
        ASSERT_EQ(1u, request.infos.infos.size());
        const common::InfoView shared = common::infos_in(request.infos.infos[0].value);
        EXPECT_EQ(server_->traits.connect_has_extras, shared.has(PMIX_PROCID)) << "releases since 6.0 expect the name";
        EXPECT_TRUE(shared.has("shared"));
        switch (server_->traits.group_reply) {
            case theirs::GroupReplyForm::context_id: {
                theirs::GroupContextReply reply;
                reply.context_id.emplace().value = 77;
                return server_->send(tag, reply);
            }
            case theirs::GroupReplyForm::members: {
                theirs::GroupMembersReply reply;
                reply.members.emplace().procs = members;
                reply.context_id.emplace().value = 77;
                return server_->send(tag, reply);
            }
            case theirs::GroupReplyForm::optional_id: {
                theirs::GroupReply reply;
                reply.members.emplace().procs = members;
                reply.context_id.emplace().given = true;
                reply.context_id->id = 77;
                reply.infos.emplace().infos = std::move(request.infos.infos);
                return server_->send(tag, reply);
            }
        }
    });
    server_->answer_status(theirs::Command::group_destruct, PMIX_SUCCESS);
    init();
    const pmix_proc_t members[] = {proc(0), proc(2)};
    pmix_info_t* results = nullptr;
    size_t nresults = 0;
    common::InfoList infos;
    ASSERT_STATUS(PMIX_SUCCESS, infos.append(PMIX_GROUP_INFO, OpenPmixServer::infos({{"shared", Value::u32(5)}})));
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Group_construct("group", members, 2, infos.c_array(), infos.size(), &results, &nresults));
    const common::InfoView view(results, nresults);
    ASSERT_NE(0u, nresults);
    EXPECT_STREQ(PMIX_GROUP_CONTEXT_ID, results[0].key) << "programs read it without looking";
    EXPECT_EQ(server_->traits.group_reply == theirs::GroupReplyForm::optional_id, view.has(PMIX_GROUP_INFO_ARRAY));
    size_t context = 0;
    EXPECT_STATUS(PMIX_SUCCESS, view.get(PMIX_GROUP_CONTEXT_ID, &context));
    EXPECT_EQ(77u, context);
    EXPECT_TRUE(view.has(PMIX_GROUP_MEMBERSHIP));
    PMIX_INFO_FREE(results, nresults);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Group_destruct("group", nullptr, 0));
}

// ---- servers that fail, and servers that lie ----

TEST_P(OpenPmixClient, Server_Dies_EveryCallEnds) {
    server_->on(theirs::Command::fence, [this](uint32_t, common::Bytes) { server_->cut(); });
    init();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Fence(nullptr, 0, nullptr, 0));
    Value value;
    EXPECT_STATUS(PMIX_ERR_UNREACH, get(proc(1), "key", &value));
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE)) << "what is known stays known";
}

TEST_P(OpenPmixClient, Answer_ThatIsNone_IsAStatus) {
    init();
    for (const std::vector<uint8_t>& bytes :
         {std::vector<uint8_t>{}, {0xff}, {2, 0, 2}, {2, 0, 2, 0xff, 0xff, 0xff, 0xff, 0x7f}, {0x80, 0x80}}) {
        server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) { server_->send_bytes(tag, bytes); });
        Value value;
        EXPECT_NE(PMIX_SUCCESS, get(proc(1), "key", &value));
        server_->on(theirs::Command::lookup, [&](uint32_t tag, common::Bytes) { server_->send_bytes(tag, bytes); });
        pmix_pdata_t wanted;
        PMIX_PDATA_CONSTRUCT(&wanted);
        PMIX_LOAD_KEY(wanted.key, "port");
        EXPECT_NE(PMIX_SUCCESS, PMIx_Lookup(&wanted, 1, nullptr, 0));
    }
    // What nobody has asked for.
    for (const uint32_t tag : {0u, 1u, 2u, 3u, 77u, 4711u, 0x80000000u}) server_->send_bytes(tag, {1, 2, 3});
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
}

TEST_P(OpenPmixClient, Answer_TooLarge_EndsTheConnection) {
    server_->on(theirs::Command::fence, [this](uint32_t tag, common::Bytes) {
        uint8_t head[theirs::kHeaderSize];
        theirs::build_header({0, tag, 0xfffffff0}, head);
        server_->write({std::begin(head), std::end(head)});
    });
    init();
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, PMIx_Fence(nullptr, 0, nullptr, 0));
}

class OpenPmixInit : public OpenPmixClient {
  protected:
    pmix_status_t try_init(int seconds = 0) {
        server_->start();
        server_->set_environment();
        pmix_info_t limit;
        PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
        const pmix_status_t rc = PMIx_Init(&self_, &limit, seconds == 0 ? 0 : 1);
        EXPECT_EQ(rc == PMIX_SUCCESS, PMIx_Initialized() != 0);
        return rc;
    }
    void answer_job(std::vector<uint8_t> bytes) {
        server_->on(theirs::Command::job_data,
                    [this, bytes](uint32_t tag, common::Bytes) { server_->send_bytes(tag, bytes); });
    }
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixInit, ::testing::Values(std::make_pair("4.2.2", "v41")));

TEST_P(OpenPmixInit, Refused_ByTheEndOfTheConnection_IsNoJobOfOne) {
    server_->hello_answer.clear();
    server_->start();
    server_->set_environment();
    std::thread closer([this] {
        while (server_->connections == 0) std::this_thread::yield();
        server_->stop();
    });
    EXPECT_STATUS(PMIX_ERR_COMM_FAILURE, PMIx_Init(&self_, nullptr, 0));
    closer.join();
    EXPECT_STATUS(PMIX_ERR_COMM_FAILURE, PMIx_Init(&self_, nullptr, 0)) << "nobody listens";
}

TEST_P(OpenPmixInit, Refused_ByAStatus_IsThatStatus) {
    server_->hello_answer = theirs::encode_reply({.status = PMIX_ERR_INVALID_CRED, .self = {}, .server = {}}, {});
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, try_init());
}

TEST_P(OpenPmixInit, Exchange_OfASecurityModule_IsNotSupported) {
    server_->hello_answer =
        theirs::encode_reply({.status = PMIX_ERR_READY_FOR_HANDSHAKE, .self = {}, .server = {}}, {});
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, try_init());
}

TEST_P(OpenPmixInit, Silence_EndsWithTheLimit) {
    server_->answers_hello = false;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, try_init(1));
}

TEST_P(OpenPmixInit, JobOfAnother_IsNotTaken) {
    theirs::JobData data;
    data.nspace = theirs::Text("other");
    answer_job(server_->encoded(data));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, try_init());
}

TEST_P(OpenPmixInit, JobThatIsNone_IsAStatus) {
    answer_job({0xff, 0xff, 0xff, 0xff});
    EXPECT_NE(PMIX_SUCCESS, try_init());
    answer_job({});
    EXPECT_NE(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0));
    auto torn = server_->job();
    torn.resize(torn.size() / 2);
    answer_job(torn);
    EXPECT_NE(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0));
}

TEST_P(OpenPmixInit, JobOfNothingButItsName_IsEnough) {
    theirs::JobData data;
    data.nspace = theirs::Text("job");
    answer_job(server_->encoded(data));
    EXPECT_STATUS(PMIX_SUCCESS, try_init());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
}

// Their data modules share one place for a namespace.
TEST_P(OpenPmixInit, JobInSharedMemoryOfTheirs_IsAskedForAsData) {
    theirs::JobData data;
    data.nspace = theirs::Text("job");
    data.values.pairs.push_back({"pmix.shmem.path", OpenPmixServer::text("/dev/shm/none")});
    answer_job(server_->encoded(data));
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes payload) {
        EXPECT_EQ(PMIX_RANK_WILDCARD, server_->decoded<theirs::GetRequest>(payload).rank.value);
        theirs::ProcData whole;
        whole.proc.id = {"job", PMIX_RANK_WILDCARD};
        whole.values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(2)});
        whole.values.pairs.push_back(
            {PMIX_PROC_INFO_ARRAY,
             OpenPmixServer::infos({{PMIX_RANK, Value::number<uint32_t>(1, PMIX_PROC_RANK)},
                                    {PMIX_LOCAL_RANK, Value::number<uint16_t>(1, PMIX_UINT16)}})});
        const auto bytes = server_->encoded(whole);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    });
    EXPECT_STATUS(PMIX_SUCCESS, try_init());
    EXPECT_EQ(2u, number(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE));
    EXPECT_EQ(1u, number(proc(1), PMIX_LOCAL_RANK));
}

// Nobody there can be trusted, and nothing is sent.
TEST_P(OpenPmixInit, AddressOfAnotherNode_IsRefusedAtOnce) {
    server_->uri = "server.0;tcp4://192.0.2.1:4711";
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, try_init());
}

}  // namespace
}  // namespace pmix::test::openpmix_client_test
