// SPDX-License-Identifier: BSD-3-Clause
// A server's answers to clients that speak OpenPMIx's protocol: what each request becomes, and what is read back.
#include <gtest/gtest.h>
#include <pmix_tool.h>

#include <optional>

#include "common/values/array_value.h"
#include "server/server.h"
#include "support/openpmix_client.h"
#include "support/served_job.h"
#include "support/sockets.h"
#include "support/status.h"

namespace openpmix_serving_test {

using namespace pmix;
using namespace pmix::test;
using common::Value;

namespace {

// A server with a job of two local ranks, and a client for each.
class OpenPmixServingTest : public ::testing::Test {
  protected:
    OpenPmixServingTest() : server_(nullptr, serving_openpmix()) {
        InfoList infos;
        // Keys of a node and of an application among the job's, as some hosts give them.
        infos.append_number<uint32_t>(PMIX_NODE_SIZE, 2, PMIX_UINT32);
        infos.append_flag(PMIX_NODE_OVERSUBSCRIBED, true);
        infos.append_string(PMIX_PSET_NAME, "set");
        // Keys that are newer than a release, or nobody's.
        infos.append_flag(PMIX_IOF_INHERIT, false);
        infos.append_flag("pmix.no.such.key", true);
        InfoList of_one;
        const pmix_rank_t rank_one = 1;
        of_one.append(PMIX_RANK, &rank_one, PMIX_PROC_RANK);
        of_one.append_number<uint32_t>(PMIX_REALUID, 1001, PMIX_UINT32);
        infos.append(PMIX_PROC_INFO_ARRAY, std::move(common::array_value(std::move(of_one))).value());
        const pmix_proc_t parent = ProcId("parent", 3).to_c();
        infos.append(PMIX_PARENT_ID, &parent, PMIX_PROC);
        char* regex = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_regex(::pmix::server::local_hostname().c_str(), &regex));
        infos.append(PMIX_NODE_MAP, regex, PMIX_REGEX);
        std::free(regex);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_ppn("0,1", &regex));
        infos.append(PMIX_PROC_MAP, regex, PMIX_REGEX);
        std::free(regex);
        uri_ = register_served_job(2, std::move(infos));
    }
    void SetUp() override {
        zero_.emplace(uri_);
        one_.emplace(uri_);
        ASSERT_TRUE(zero_->hello({"job", 0}));
        ASSERT_TRUE(one_->hello({"job", 1}));
    }

    ServerHere server_;
    std::string uri_;
    std::optional<OpenPmixClient> zero_, one_;
};

}  // namespace

// proves: PMIx_server_init PMIX_WIREUP_OPENPMIX
TEST_F(OpenPmixServingTest, Environment_DescribesTheServerInTheirForm) {
    const pmix_proc_t proc = ProcId("job", 0).to_c();
    ChildEnvironment child(proc);
    for (const char* name : {"PMIX_SERVER_URI61", "PMIX_SERVER_URI51", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3"})
        EXPECT_EQ(uri_, child.get(name)) << name;
    EXPECT_EQ(0u, uri_.find("here.3;tcp4://127.0.0.1:"));
    EXPECT_EQ("hash", child.get("PMIX_GDS_MODULE"));
    EXPECT_EQ("native,none", child.get("PMIX_SECURITY_MODE"));
    EXPECT_EQ("PMIX_BFROP_BUFFER_NON_DESC", child.get("PMIX_BFROP_BUFFER_TYPE"));
    // Our own clients find the other address.
    EXPECT_NE(std::string::npos, child.get("PMIX_SERVER_URI_WIREUP").find("wireup:@"));
}

TEST_F(OpenPmixServingTest, JobData_OfARegisteredJob_HasItsLevels) {
    const uint32_t tag = zero_->send(openpmix::JobDataRequest{});
    OpenPmixClient::Bytes payload;
    ASSERT_TRUE(zero_->receive(tag, &payload));
    openpmix::JobData job;
    auto values = values_in(payload, zero_->traits, &job);
    EXPECT_EQ("job", job.nspace.text);
    ASSERT_EQ(1u, values.count(PMIX_JOB_SIZE));
    EXPECT_EQ(2u, values[PMIX_JOB_SIZE].get().data.uint32);
    // Node keys are in the array of their node, and nowhere else.
    for (const char* key : {PMIX_LOCAL_PEERS, PMIX_NODE_SIZE, PMIX_NODE_OVERSUBSCRIBED, PMIX_PSET_NAME})
        EXPECT_EQ(0u, values.count(key)) << key;
    EXPECT_EQ(0u, values.count(PMIX_NODE_MAP));
    ASSERT_EQ(1u, values.count(PMIX_NODE_INFO_ARRAY));
    const common::InfoView node = common::infos_in(values[PMIX_NODE_INFO_ARRAY].get());
    std::string_view name, peers;
    EXPECT_STATUS(PMIX_SUCCESS, node.get(PMIX_HOSTNAME, &name));
    EXPECT_EQ(server::local_hostname(), name);
    EXPECT_STATUS(PMIX_SUCCESS, node.get(PMIX_LOCAL_PEERS, &peers));
    EXPECT_EQ("0,1", peers);
    // The last of the processes' blobs.
    ASSERT_EQ(1u, values.count(PMIX_PROC_BLOB));
    const pmix_byte_object_t& blob = values[PMIX_PROC_BLOB].get().data.bo;
    openpmix::RankData rank;
    auto facts = values_in({reinterpret_cast<const uint8_t*>(blob.bytes), blob.size}, zero_->traits, &rank);
    EXPECT_EQ(1u, rank.rank.value);
    ASSERT_EQ(1u, facts.count(PMIX_LOCAL_RANK));
    EXPECT_EQ(1u, facts[PMIX_LOCAL_RANK].get().data.uint16);
    // Of the job, and clients from 7.0 on look for it with their own process: a spawned job took itself for a first
    // one.
    for (auto* of : {&values, &facts}) {
        ASSERT_EQ(1u, of->count(PMIX_PARENT_ID));
        ASSERT_EQ(PMIX_PROC, (*of)[PMIX_PARENT_ID].get().type);
        EXPECT_EQ(3u, (*of)[PMIX_PARENT_ID].get().data.proc->rank);
    }
}

// 4.2 gives up what it is told of a job at a reserved key that it has no name for; other releases take any.
TEST_F(OpenPmixServingTest, JobData_KeysThatAReleaseCannotKeep_AreNotToldToIt) {
    for (const char* version : {"4.1.2", "4.2.2", "5.0.7"}) {
        SCOPED_TRACE(version);
        one_.emplace(uri_);
        one_->request.version = version;
        ASSERT_TRUE(one_->hello({"job", 1}));
        const size_t told = std::string(version) == "4.2.2" ? 0 : 1;
        OpenPmixClient::Bytes payload;
        ASSERT_TRUE(one_->receive(one_->send(openpmix::JobDataRequest{}), &payload));
        openpmix::JobData job;
        auto values = values_in(payload, one_->traits, &job);
        EXPECT_EQ(told, values.count(PMIX_IOF_INHERIT));
        EXPECT_EQ(told, values.count("pmix.no.such.key"));
        EXPECT_EQ(1u, values.count(PMIX_JOB_SIZE));
        ASSERT_EQ(1u, values.count(PMIX_PROC_BLOB));
        const pmix_byte_object_t& blob = values[PMIX_PROC_BLOB].get().data.bo;
        openpmix::RankData rank;
        auto facts = values_in({reinterpret_cast<const uint8_t*>(blob.bytes), blob.size}, one_->traits, &rank);
        EXPECT_EQ(1u, rank.rank.value);
        EXPECT_EQ(told, facts.count(PMIX_REALUID));
        EXPECT_EQ(1u, facts.count(PMIX_LOCAL_RANK));
        // Nor to one that asks for it.
        const auto reply = one_->ask<openpmix::GetReply>(get_of("job", PMIX_RANK_WILDCARD, PMIX_IOF_INHERIT));
        EXPECT_EQ(told != 0, reply.status.value == PMIX_SUCCESS) << reply.status.value;
    }
}

TEST_F(OpenPmixServingTest, Get_AfterTheCommit_BringsAllOfTheProcess) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "first", 10));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "second", 20));
    const auto reply = one_->ask<openpmix::GetReply>(get_of("job", 0, "second"));
    EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
    ASSERT_EQ(1u, reply.objects.objects.size());
    openpmix::ProcData proc;
    auto values = values_in(reply.objects.objects[0], one_->traits, &proc);
    EXPECT_EQ(ProcId("job", 0), proc.proc.id);
    ASSERT_EQ(1u, values.count("first"));
    ASSERT_EQ(1u, values.count("second"));
    EXPECT_EQ(10u, values["first"].get().data.uint32);
    EXPECT_EQ(20u, values["second"].get().data.uint32);
    EXPECT_EQ(0u, values.count(PMIX_LOCAL_RANK));  // it has had that
}

TEST_F(OpenPmixServingTest, Get_BeforeTheCommit_WaitsForIt) {
    const uint32_t tag = one_->send(get_of("job", 0, "late"));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "late", 7));
    const auto reply = one_->receive<openpmix::GetReply>(tag);
    EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
    EXPECT_EQ(1u, reply.objects.objects.size());
}

TEST_F(OpenPmixServingTest, Get_OfWhatIsNotThere_IsABareStatus) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "there", 1));
    for (const auto& request : {get_of("job", 0, "missing"), get_of("job", 0, PMIX_CREDENTIAL),
                                get_of("job", PMIX_RANK_WILDCARD, PMIX_CREDENTIAL), get_of("nobody", 0, "there")}) {
        const auto reply = one_->ask<openpmix::GetReply>(request);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reply.status.value);
        EXPECT_TRUE(reply.objects.objects.empty());
    }
}

// Their libraries read the value of a map as an empty one, with success.
TEST_F(OpenPmixServingTest, Get_OfAMap_IsNotFound) {
    for (const char* key : {PMIX_NODE_MAP, PMIX_PROC_MAP}) {
        const auto reply = one_->ask<openpmix::GetReply>(get_of("job", PMIX_RANK_WILDCARD, key));
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reply.status.value) << key;
        EXPECT_TRUE(reply.objects.objects.empty()) << key;
    }
}

TEST_F(OpenPmixServingTest, Commit_WithALocalAndARemoteValue_KeepsThemApart) {
    std::vector<uint8_t> local, remote;
    openpmix::SectionData data;
    data.values.pairs.push_back({"key", Value::u32(1)});
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, zero_->traits, &local));
    data.values.pairs[0].value = Value::u32(2);
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, zero_->traits, &remote));
    openpmix::CommitRequest commit;
    commit.sections.sections = {{PMIX_LOCAL, local}, {PMIX_REMOTE, remote}};
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(commit));
    const auto reply = one_->ask<openpmix::GetReply>(get_of("job", 0, "key"));
    ASSERT_EQ(1u, reply.objects.objects.size());
    openpmix::ProcData proc;
    auto values = values_in(reply.objects.objects[0], one_->traits, &proc);
    ASSERT_EQ(1u, values.count("key"));
    EXPECT_EQ(1u, values["key"].get().data.uint32);
}

TEST_F(OpenPmixServingTest, Fence_OfTheWholeJob_EndsForBoth) {
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    const uint32_t first = zero_->send(fence);
    EXPECT_TRUE(zero_->is_silent(50));
    EXPECT_STATUS(PMIX_SUCCESS, one_->status_of(fence));
    EXPECT_STATUS(PMIX_SUCCESS, zero_->receive<openpmix::StatusReply>(first).status.value);
}

TEST_F(OpenPmixServingTest, Event_OfOneClient_ReachesTheOtherUntilItDeregisters) {
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3001};
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    openpmix::NotifyRequest notify;
    notify.code.value = -3001;
    notify.range.value = PMIX_RANGE_LOCAL;
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(notify));
    const auto event = one_->receive<openpmix::EventMessage>(openpmix::kEventTag);
    EXPECT_EQ(-3001, event.code.value);
    EXPECT_EQ(ProcId("job", 0), event.source.id);
    ASSERT_TRUE(event.range);
    EXPECT_EQ(PMIX_RANGE_LOCAL, event.range->value);
    // Not answered; the request behind it is, so it has been carried out.
    openpmix::DeregisterEventsRequest deregistration;
    deregistration.codes.calls = {{-3001}};
    one_->send(deregistration);
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*one_, "behind", 1));
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(notify));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*one_, "behind", 2));
    EXPECT_TRUE(one_->is_silent(100));
}

TEST_F(OpenPmixServingTest, Event_WithAValueThatCannotBeTold_IsSentWithoutIt) {
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3001};
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    InfoList infos;
    infos.append_flag("fine", true);
    infos.append_flag("odd", true);
    infos[1].value.type = PMIX_PROC;
    infos[1].value.data.proc = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Notify_event(-3001, nullptr, PMIX_RANGE_LOCAL, infos.c_array(), infos.size(), nullptr, nullptr));
    const auto event = one_->receive<openpmix::EventMessage>(openpmix::kEventTag);
    const common::InfoView told(event.infos.infos.data(), event.infos.infos.size());
    EXPECT_TRUE(told.has("fine"));
    EXPECT_FALSE(told.has("odd"));
}

TEST_F(OpenPmixServingTest, Event_BeforeTheRegistration_FollowsItsAnswerOnce) {
    openpmix::NotifyRequest notify;
    notify.code.value = -3002;
    notify.range.value = PMIX_RANGE_LOCAL;
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(notify));
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3002};
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    EXPECT_EQ(-3002, one_->receive<openpmix::EventMessage>(openpmix::kEventTag).code.value);
    // A second registration of the code: the client has told its handlers already.
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*one_, "behind", 1));
    EXPECT_TRUE(one_->is_silent(100));
}

// Its library has told its own handlers, and keeps the event for later ones.
TEST_F(OpenPmixServingTest, Event_OfTheClientItself_IsNotPassedBack) {
    openpmix::NotifyRequest notify;
    notify.code.value = -3003;
    notify.range.value = PMIX_RANGE_LOCAL;
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(notify));
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3003};
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    EXPECT_EQ(-3003, one_->receive<openpmix::EventMessage>(openpmix::kEventTag).code.value);
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(registration));
    ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(notify));
    EXPECT_EQ(-3003, one_->receive<openpmix::EventMessage>(openpmix::kEventTag).code.value);
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "behind", 1));
    EXPECT_TRUE(zero_->is_silent(100));
}

// An alarm of its own monitor has its name, and so has what the host reports of it: it has not raised these.
TEST_F(OpenPmixServingTest, Event_InTheClientsName_IsSentToIt) {
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3004};
    ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(registration));
    const pmix_proc_t source = ProcId("job", 1).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(-3004, &source, PMIX_RANGE_NAMESPACE, nullptr, 0, nullptr, nullptr));
    const auto event = one_->receive<openpmix::EventMessage>(openpmix::kEventTag);
    EXPECT_EQ(-3004, event.code.value);
    EXPECT_EQ(ProcId("job", 1), event.source.id);
}

// Later releases hand it out once, and leave what is for later handlers to their server.
TEST_F(OpenPmixServingTest, Event_OfTheClientItself_IsKeptForALaterRelease) {
    OpenPmixClient later(uri_);
    one_.reset();
    later.request.version = "5.0.7";
    ASSERT_TRUE(later.hello({"job", 1}));
    openpmix::NotifyRequest notify;
    notify.code.value = -3004;
    notify.range.value = PMIX_RANGE_LOCAL;
    ASSERT_STATUS(PMIX_SUCCESS, later.status_of(notify));
    openpmix::RegisterEventsRequest registration;
    registration.codes.codes = {-3004};
    ASSERT_STATUS(PMIX_SUCCESS, later.status_of(registration));
    const auto event = later.receive<openpmix::EventMessage>(openpmix::kEventTag);
    EXPECT_EQ(-3004, event.code.value);
    EXPECT_EQ(ProcId("job", 1), event.source.id);
    // What is new has its handlers there.
    ASSERT_STATUS(PMIX_SUCCESS, later.status_of(notify));
    ASSERT_STATUS(PMIX_SUCCESS, later.status_of(registration));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(later, "behind", 1));
    EXPECT_TRUE(later.is_silent(100));
}

// A client hands what it is sent to all its handlers: none is to have an event twice.
TEST_F(OpenPmixServingTest, Event_BeforeARegistrationForAll_IsTheirsThatNobodyHasHad) {
    const auto notify = [&](pmix_status_t code) {
        openpmix::NotifyRequest request;
        request.code.value = code;
        request.range.value = PMIX_RANGE_LOCAL;
        ASSERT_STATUS(PMIX_SUCCESS, zero_->status_of(request));
    };
    const auto registers = [&](std::vector<pmix_status_t> codes) {
        openpmix::RegisterEventsRequest request;
        request.codes.codes = std::move(codes);
        ASSERT_STATUS(PMIX_SUCCESS, one_->status_of(request));
    };
    const auto next = [&] { return one_->receive<openpmix::EventMessage>(openpmix::kEventTag).code.value; };
    registers({-3005});
    notify(-3005);
    EXPECT_EQ(-3005, next());
    notify(-3006);
    notify(-3007);
    // A code that is new, with one that is not.
    registers({-3005, -3006});
    EXPECT_EQ(-3006, next());
    registers({});
    EXPECT_EQ(-3007, next());
    registers({});
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*one_, "behind", 1));
    EXPECT_TRUE(one_->is_silent(100));
}

TEST_F(OpenPmixServingTest, Resolve_PeersAndNodes_AreToldFromTheRegistry) {
    one_->traits = *openpmix::traits_of("5.0.7", "v41", openpmix::kNotDescribed);
    openpmix::ResolvePeersRequest peers;
    peers.nspace = openpmix::Text("job");
    const auto reply = one_->ask<openpmix::ResolvePeersReply>(peers);
    EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
    ASSERT_TRUE(reply.procs);
    EXPECT_EQ(2u, reply.procs->procs.size());
    openpmix::ResolveNodeRequest nodes;
    nodes.nspace = openpmix::Text("job");
    const auto named = one_->ask<openpmix::ResolveNodeReply>(nodes);
    ASSERT_TRUE(named.nodes);
    EXPECT_EQ(server::local_hostname(), named.nodes->text);
}

// Their programs look for the keys that they asked for: a group of answers in place of one crashed Debian's example.
TEST_F(OpenPmixServingTest, Query_OfTwoQueries_HasEachAnswerUnderItsKey) {
    char namespaces[] = PMIX_QUERY_NAMESPACES, sets[] = PMIX_QUERY_NUM_PSETS;
    char *first[] = {namespaces, nullptr}, *second[] = {sets, nullptr};
    pmix_query_t both[2]{};
    both[0].keys = first;
    both[1].keys = second;
    openpmix::QueryRequest request;
    request.queries.elements = common::CArray<pmix_query_t>::copy_of(both, 2).value();
    const auto reply = zero_->ask<openpmix::InfosReply>(request);
    EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
    ASSERT_TRUE(reply.infos);
    std::vector<std::string> keys;
    for (const pmix_info_t& info : reply.infos->infos) keys.emplace_back(info.key);
    EXPECT_EQ((std::vector<std::string>{PMIX_QUERY_NAMESPACES, PMIX_QUERY_NUM_PSETS}), keys);
}

// To connect there, or to say it to others of its kind.
TEST_F(OpenPmixServingTest, Query_OfTheServersAddress_NamesTheirs) {
    char address[] = PMIX_SERVER_URI;
    char* keys[] = {address, nullptr};
    pmix_query_t query{};
    query.keys = keys;
    openpmix::QueryRequest request;
    request.queries.elements = common::CArray<pmix_query_t>::copy_of(&query, 1).value();
    const auto reply = zero_->ask<openpmix::InfosReply>(request);
    ASSERT_TRUE(reply.infos);
    std::string_view told;
    EXPECT_STATUS(PMIX_SUCCESS,
                  common::InfoView(reply.infos->infos.data(), reply.infos->infos.size()).get(PMIX_SERVER_URI, &told));
    EXPECT_EQ(uri_, told);
}

TEST_F(OpenPmixServingTest, Request_ThatTheHostDoesNotServe_IsNotSupported) {
    openpmix::PublishRequest publish;
    InfoList data;
    data.append_number<uint32_t>("key", 1, PMIX_UINT32);
    publish.infos.infos = std::move(data);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, zero_->status_of(publish));
    openpmix::SpawnRequest spawn;
    EXPECT_NE(PMIX_SUCCESS, zero_->ask<openpmix::SpawnReply>(spawn).status.value);
    openpmix::DeviceDistancesRequest distances;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, zero_->ask<openpmix::StatusReply>(distances).status.value);
}

TEST_F(OpenPmixServingTest, Request_OfAnUnknownCommand_IsNotSupported) {
    const uint8_t command[] = {2, 99};  // a call of one command
    zero_->write(++zero_->tag, command);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, zero_->receive<openpmix::StatusReply>(zero_->tag).status.value);
}

TEST_F(OpenPmixServingTest, Request_ThatIsCutShort_IsAnsweredAndNothingElseSuffers) {
    const uint8_t fence[] = {2, 3, 2};  // the command, and half a size
    zero_->write(++zero_->tag, fence);
    EXPECT_NE(PMIX_SUCCESS, zero_->receive<openpmix::StatusReply>(zero_->tag).status.value);
    EXPECT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "still", 1));
}

// The next one, which a client may send before it has an answer, is kept back by Nagle's algorithm until then.
TEST_F(OpenPmixServingTest, Message_ThatIsNotAnsweredAtOnce_IsAcknowledged) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*one_, "there", 1));
    const auto answers_take_acknowledgements = [&] {
        for (int i = 0; i < 32; ++i)
            ASSERT_STATUS(PMIX_SUCCESS, zero_->ask<openpmix::GetReply>(get_of("job", 1, "there")).status.value);
    };
    const auto server_has_read = [&] {
        EXPECT_STATUS(PMIX_SUCCESS, one_->ask<openpmix::GetReply>(get_of("job", 1, "there")).status.value);
    };
    answers_take_acknowledgements();
    zero_->send(get_of("job", 0, "late"));
    server_has_read();
    EXPECT_TRUE(is_acknowledged(zero_->socket.get()));
    answers_take_acknowledgements();
    zero_->write(openpmix::kHeartbeatTag, {});
    server_has_read();
    EXPECT_TRUE(is_acknowledged(zero_->socket.get()));
    // A fence too, if it is not over in a moment, and so the next one.
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    for (int round = 0; round < 2; ++round) {
        answers_take_acknowledgements();
        const uint32_t tag = zero_->send(fence);
        server_has_read();
        EXPECT_TRUE(is_acknowledged(zero_->socket.get())) << round;
        EXPECT_STATUS(PMIX_SUCCESS, one_->ask<openpmix::StatusReply>(fence).status.value);
        EXPECT_STATUS(PMIX_SUCCESS, zero_->receive<openpmix::StatusReply>(tag).status.value);
    }
}

TEST_F(OpenPmixServingTest, Heartbeat_IsNeverAnswered) {
    zero_->write(openpmix::kHeartbeatTag, {});
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "behind", 1));
    EXPECT_TRUE(zero_->is_silent(100));
}

TEST_F(OpenPmixServingTest, Tag_ThatIsInUse_EndsTheConnection) {
    const uint32_t tag = one_->send(get_of("job", 0, "never"));
    one_->tag = tag - 1;
    one_->send(get_of("job", 0, "never"));
    EXPECT_TRUE(one_->sees_end());
}

TEST_F(OpenPmixServingTest, Finalize_IsAnsweredBeforeTheClientCloses) {
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(openpmix::FinalizeRequest{}));
    // Its peer sees that it has left: what it has not put is not waited for.
    zero_->socket.reset();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, one_->ask<openpmix::GetReply>(get_of("job", 0, "never")).status.value);
}

// It may initialise again: until then the others wait for it, as for one with this library.
TEST_F(OpenPmixServingTest, Finalize_AndInitialiseAgain_OthersWaitForIt) {
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(openpmix::FinalizeRequest{}));
    zero_->socket.reset();
    const uint32_t first = one_->send(fence);
    (void)one_->is_silent(20);  // it is with the server
    zero_.emplace(uri_);
    ASSERT_TRUE(zero_->hello({"job", 0}));
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(fence));
    EXPECT_STATUS(PMIX_SUCCESS, one_->receive<openpmix::StatusReply>(first).status.value);
}

// Its host starts another process for the rank: what the first one has joined is not the new one's.
TEST_F(OpenPmixServingTest, Finalize_AndRegisteredAgain_ANewProcessIsWaitedFor) {
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    zero_->send(fence);
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(openpmix::FinalizeRequest{}));
    zero_->socket.reset();
    const pmix_proc_t proc = ProcId("job", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
    zero_.emplace(uri_);
    ASSERT_TRUE(zero_->hello({"job", 0}));
    const uint32_t first = one_->send(fence);
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(fence));
    EXPECT_STATUS(PMIX_SUCCESS, one_->receive<openpmix::StatusReply>(first).status.value);
}

// The kernel does not tell when it ends: the host does.
TEST_F(OpenPmixServingTest, Finalize_ForGood_OthersWaitForTheHost) {
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"job", PMIX_RANK_WILDCARD}};
    EXPECT_STATUS(PMIX_SUCCESS, zero_->status_of(openpmix::FinalizeRequest{}));
    zero_->socket.reset();
    const uint32_t first = one_->send(fence);
    EXPECT_TRUE(one_->is_silent(20));
    const pmix_proc_t proc = ProcId("job", 0).to_c();
    PMIx_server_deregister_client(&proc, nullptr, nullptr);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, one_->receive<openpmix::StatusReply>(first).status.value);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, one_->status_of(fence)) << "at once";
}

TEST_F(OpenPmixServingTest, Data_OfAnotherRelease_IsReadByAll) {
    // The same rank's clone with fixed numbers, and one that describes its calls.
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(*zero_, "key", 42));
    for (const auto& [version, encoding, kind] :
         {std::tuple("3.2.5", "v3", openpmix::kNotDescribed), std::tuple("7.0.0rc1", "v61", openpmix::kNotDescribed),
          std::tuple("4.2.2", "v41", openpmix::kFullyDescribed)}) {
        OpenPmixClient clone(uri_);
        clone.request.version = version;
        clone.request.encoding = encoding;
        clone.request.buffer_kind = kind;
        clone.request.stray_nul = false;
        ASSERT_TRUE(clone.hello({"job", 1})) << version;
        const auto reply = clone.ask<openpmix::GetReply>(get_of("job", 0, "key"));
        ASSERT_EQ(1u, reply.objects.objects.size()) << version;
        openpmix::ProcData proc;
        auto values = values_in(reply.objects.objects[0], clone.traits, &proc);
        ASSERT_EQ(1u, values.count("key")) << version;
        EXPECT_EQ(42u, values["key"].get().data.uint32) << version;
    }
}

namespace {

// What a child of this server is told of addresses of theirs.
void expect_served(bool served, InfoList infos, const std::string& said) {
    ServerHere server(nullptr, std::move(infos));
    register_job("job");
    ChildEnvironment child(ProcId("job", 0).to_c());
    EXPECT_EQ(served, child.get("PMIX_SERVER_URI41").find(";tcp4://") != std::string::npos) << said;
    EXPECT_EQ(served ? "hash" : "", child.get("PMIX_GDS_MODULE")) << said;
}

}  // namespace

// proves: PMIx_server_init PMIX_WIREUP_OPENPMIX
TEST(OpenPmixServing, Server_ThatIsToldNotTo_GivesNoAddressOfTheirs) {
    expect_served(true, ServerHere::named(), "nothing");
    for (const char* asked : {"", "0", "1"}) {
        ::setenv("WIREUP_OPENPMIX", asked, 1);
        expect_served(std::string(asked) != "0", ServerHere::named(), asked);
        for (const bool wanted : {false, true}) {
            InfoList infos = ServerHere::named();
            infos.append_flag(PMIX_WIREUP_OPENPMIX, wanted);
            expect_served(wanted, std::move(infos), std::string(asked) + " and the attribute");
        }
        ::unsetenv("WIREUP_OPENPMIX");
    }
}

namespace {

// A tool that is a server; nspace: its own name.
class ToolHere {
  public:
    ToolHere(bool launcher, InfoList infos, const char* nspace = "tool") {
        infos.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
        infos.append_flag(PMIX_LAUNCHER, launcher);
        infos.append_string(PMIX_TOOL_NSPACE, nspace);
        pmix_proc_t self;
        status = PMIx_tool_init(&self, infos.c_array(), infos.size());
        EXPECT_STATUS(PMIX_SUCCESS, status);
    }
    ~ToolHere() {
        if (status == PMIX_SUCCESS) {
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
        }
    }
    ToolHere(const ToolHere&) = delete;
    ToolHere& operator=(const ToolHere&) = delete;

    pmix_status_t status;
};

std::string address_for_children() {
    register_job("job");
    return ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI41");
}

bool is_theirs(const std::string& uri) {
    return uri.find(";tcp4://") != std::string::npos;
}

}  // namespace

TEST(OpenPmixServing, Launcher_ServesTheirClients) {
    ToolHere tool(true, {});
    const std::string uri = address_for_children();
    ASSERT_EQ(0u, uri.find("tool.0;tcp4://127.0.0.1:"));
    OpenPmixClient client(uri);
    ASSERT_TRUE(client.hello({"job", 0}));
    EXPECT_STATUS(PMIX_SUCCESS, commit_global(client, "key", 1));
    EXPECT_STATUS(PMIX_SUCCESS, client.status_of(openpmix::FinalizeRequest{}));
}

// proves: PMIx_tool_init PMIX_WIREUP_OPENPMIX
TEST(OpenPmixServing, Launcher_ThatIsToldNotTo_GivesNoAddressOfTheirs) {
    InfoList infos;
    infos.append_flag(PMIX_WIREUP_OPENPMIX, false);
    ToolHere tool(true, std::move(infos));
    EXPECT_FALSE(is_theirs(address_for_children()));
}

// Their addresses end a name at that character.
TEST(OpenPmixServing, Launcher_OfANameThatTheyCannotRead_GivesNoAddressOfTheirs) {
    ToolHere tool(true, {}, "to;ol");
    EXPECT_FALSE(is_theirs(address_for_children()));
}

// A tool without PMIX_LAUNCHER, from when it chooses itself.
TEST(OpenPmixServing, Tool_ThatBecomesAServer_ServesTheirClients) {
    ToolHere tool(false, {});
    const pmix_proc_t self = ProcId("tool", 0).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_tool_set_server(&self, nullptr, 0));
    OpenPmixClient client(address_for_children());
    EXPECT_TRUE(client.hello({"job", 0}));
}

}  // namespace openpmix_serving_test
