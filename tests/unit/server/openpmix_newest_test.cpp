// SPDX-License-Identifier: BSD-3-Clause
// What clients of OpenPMIx 7 do that earlier ones do not: they delete keys, have their server form groups by
// invitation, leave groups by events alone, share values in a group, and are told when their input is to stop.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <optional>
#include <set>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "common/values/proc_array.h"
#include "support/fake_client.h"
#include "support/openpmix_client.h"
#include "support/remote_data.h"
#include "support/served_job.h"
#include "support/status.h"

namespace openpmix_newest_test {

using namespace pmix;
using namespace pmix::test;
using common::ProcList;
using common::Value;

namespace {

constexpr const char* kNewest = "7.0.0rc1";

// A host that assigns numbers to groups and takes input.
pmix_status_t form_group(pmix_group_operation_t, char*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                         pmix_info_cbfunc_t done, void* cbdata) {
    InfoList results;
    results.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
    done(PMIX_SUCCESS, results.c_array(), results.size(), cbdata, nullptr, nullptr);
    return PMIX_SUCCESS;
}
pmix_status_t take_input(const pmix_proc_t*, const pmix_proc_t[], size_t, const pmix_info_t[], size_t,
                         const pmix_byte_object_t*, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}
pmix_server_module_t host_module() {
    pmix_server_module_t module{};
    module.group = form_group;
    module.push_stdin = take_input;
    return module;
}

// A server with a job of three local ranks, and a client of the newest release for each.
class OpenPmixNewestTest : public ::testing::Test {
  protected:
    OpenPmixNewestTest()
        : module_(host_module()), server_(&module_, ServerHere::named()), uri_(register_served_job(kRanks)) {}
    void SetUp() override {
        for (uint32_t rank = 0; rank < kRanks; ++rank) connect(clients_[rank], rank, kNewest, "v61");
    }
    void connect(std::optional<OpenPmixClient>& client, uint32_t rank, const char* version, const char* encoding) {
        client.emplace(uri_);
        client->request.version = version;
        client->request.encoding = encoding;
        client->request.stray_nul = false;
        ASSERT_TRUE(client->hello({"job", rank}));
    }
    OpenPmixClient& of(uint32_t rank) { return *clients_[rank]; }

    // ---- groups ----
    pmix_status_t notify(uint32_t rank, pmix_status_t code, InfoList infos) {
        openpmix::NotifyRequest request;
        request.code.value = code;
        request.range.value = PMIX_RANGE_CUSTOM;
        request.infos.infos = std::move(infos);
        return of(rank).status_of(request);
    }
    static InfoList about(const ProcList& targets, const char* group) {
        InfoList infos;
        common::append_proc_array(infos, PMIX_EVENT_CUSTOM_RANGE, targets);
        if (group != nullptr) infos.append_string(PMIX_GROUP_ID, group);
        return infos;
    }
    // By the calls of these.
    void construct_group(const std::vector<uint32_t>& callers = {0, 1, 2}) { construct_group(callers, all_); }
    void construct_group(const std::vector<uint32_t>& callers, const ProcList& members) {
        openpmix::GroupConstructRequest request;
        request.group = openpmix::Text("group");
        request.procs.procs = members;
        std::vector<uint32_t> tags;
        for (const uint32_t rank : callers) tags.push_back(of(rank).send(request));
        for (size_t i = 0; i < callers.size(); ++i) {
            const auto reply = of(callers[i]).receive<openpmix::GroupReply>(tags[i]);
            EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
            ASSERT_TRUE(reply.members);
            EXPECT_EQ(members, reply.members->procs);
        }
    }
    void listen(uint32_t rank, std::vector<pmix_status_t> codes) {
        openpmix::RegisterEventsRequest registration;
        registration.codes.codes = std::move(codes);
        ASSERT_STATUS(PMIX_SUCCESS, of(rank).status_of(registration));
    }
    openpmix::EventMessage event(uint32_t rank) {
        return of(rank).receive<openpmix::EventMessage>(openpmix::kEventTag);
    }
    static common::InfoView view_of(const openpmix::EventMessage& event) {
        return {event.infos.infos.data(), event.infos.infos.size()};
    }
    static ProcList members_in(const openpmix::EventMessage& event) {
        ProcList members;
        const pmix_info_t* said = view_of(event).find(PMIX_GROUP_MEMBERSHIP);
        EXPECT_TRUE(said != nullptr && common::read_proc_array(said->value, members));
        return members;
    }
    static openpmix::GroupDestructRequest destruct_of(const ProcList& members) {
        openpmix::GroupDestructRequest request;
        request.group = openpmix::Text("group");
        request.procs.procs = members;
        return request;
    }
    void expect_destruct(const std::vector<uint32_t>& ranks, pmix_status_t status) {
        ProcList members;
        for (const uint32_t rank : ranks) members.emplace_back("job", rank);
        std::vector<uint32_t> tags;
        for (const uint32_t rank : ranks) tags.push_back(of(rank).send(destruct_of(members)));
        for (size_t i = 0; i < ranks.size(); ++i)
            EXPECT_EQ(status, of(ranks[i]).receive<openpmix::StatusReply>(tags[i]).status.value) << ranks[i];
    }

    static constexpr uint32_t kRanks = 3;
    const ProcList all_{{"job", 0}, {"job", 1}, {"job", 2}};
    pmix_server_module_t module_;
    ServerHere server_;
    std::string uri_;
    std::optional<OpenPmixClient> clients_[kRanks];
};

// As their commit: first what is deleted, each key with a value that is none, then all that there is.
pmix_status_t commit_deletion(OpenPmixClient& client, const char* key, const std::vector<pmix_scope_t>& scopes,
                              std::vector<std::pair<const char*, uint32_t>> left) {
    std::vector<uint8_t> gone, values;
    openpmix::SectionData deleted, data;
    deleted.values.pairs.push_back({key, Value()});
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::encode(deleted, client.traits, &gone));
    for (const auto& [name, number] : left) data.values.pairs.push_back({name, Value::u32(number)});
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::encode(data, client.traits, &values));
    openpmix::CommitRequest commit;
    for (const pmix_scope_t scope : scopes) commit.sections.sections.push_back({scope, gone});
    if (!left.empty()) {
        commit.sections.sections.push_back({PMIX_LOCAL, values});
        commit.sections.sections.push_back({PMIX_REMOTE, values});
    }
    return client.status_of(commit);
}

std::map<std::string, Value> values_of(OpenPmixClient& client, uint32_t rank, const char* key, pmix_status_t status) {
    const auto reply = client.ask<openpmix::GetReply>(get_of("job", rank, key));
    EXPECT_EQ(status, reply.status.value);
    if (reply.objects.objects.empty()) return {};
    openpmix::ProcData proc;
    return values_in(reply.objects.objects.back(), client.traits, &proc);
}

}  // namespace

// ---- deletions ----

TEST_F(OpenPmixNewestTest, Commit_ThatDeletesAKey_TakesItFromAll) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(of(0), "victim", 1));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(of(0), "keeper", 2));
    EXPECT_EQ(1u, values_of(of(1), 0, "victim", PMIX_SUCCESS).count("victim"));
    ASSERT_STATUS(PMIX_SUCCESS, commit_deletion(of(0), "victim", {PMIX_DEL_LOCAL, PMIX_DEL_REMOTE}, {{"keeper", 2}}));
    for (const uint32_t rank : {1u, 2u}) {
        const auto told = of(rank).receive<openpmix::DeletionMessage>(openpmix::kDeletionTag);
        EXPECT_EQ(ProcId("job", 0), told.proc.id);
        EXPECT_EQ(PMIX_DEL_GLOBAL, told.scope.value);
        EXPECT_EQ("victim", told.key.text);
    }
    values_of(of(1), 0, "victim", PMIX_ERR_NOT_FOUND);
    const auto left = values_of(of(1), 0, "keeper", PMIX_SUCCESS);
    EXPECT_EQ(1u, left.count("keeper"));
    EXPECT_EQ(0u, left.count("victim"));
    // Its own library has taken it out before.
    EXPECT_TRUE(of(0).is_silent(50));
}

TEST_F(OpenPmixNewestTest, Commit_ThatDeletesAKeyAndPutsItAgain_LeavesTheNewValue) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(of(0), "key", 1));
    ASSERT_STATUS(PMIX_SUCCESS, commit_deletion(of(0), "key", {PMIX_DEL_LOCAL, PMIX_DEL_REMOTE}, {{"key", 9}}));
    // What it keeps is old all the same.
    EXPECT_EQ("key", of(1).receive<openpmix::DeletionMessage>(openpmix::kDeletionTag).key.text);
    auto values = values_of(of(1), 0, "key", PMIX_SUCCESS);
    ASSERT_EQ(1u, values.count("key"));
    EXPECT_EQ(9u, values["key"].get().data.uint32);
}

TEST_F(OpenPmixNewestTest, Commit_ThatDeletesForOtherNodesOnly_ChangesNothingHere) {
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(of(0), "key", 1));
    ASSERT_STATUS(PMIX_SUCCESS, commit_deletion(of(0), "key", {PMIX_DEL_REMOTE}, {}));
    EXPECT_EQ(1u, values_of(of(1), 0, "key", PMIX_SUCCESS).count("key"));
    EXPECT_TRUE(of(1).is_silent(50));
}

// They have no place for that message, and end the connection.
TEST_F(OpenPmixNewestTest, Client_OfAnEarlierRelease_IsNotToldOfDeletions) {
    std::optional<OpenPmixClient> earlier;
    connect(earlier, 1, "6.1.1rc2", "v61");
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(of(0), "key", 1));
    ASSERT_STATUS(PMIX_SUCCESS, commit_deletion(of(0), "key", {PMIX_DEL_LOCAL, PMIX_DEL_REMOTE}, {}));
    of(1).receive<openpmix::DeletionMessage>(openpmix::kDeletionTag);
    EXPECT_TRUE(earlier->is_silent(50));
}

namespace {

// The keys of which it was told.
struct Watched final : server::Deletions::Watcher {
    explicit Watched(TestServer& on) : server(on) { server.parts().deletions.add(*this); }
    ~Watched() { server.parts().deletions.remove(*this); }
    void key_deleted(const server::Nspace& nspace, common::Rank rank, std::string_view key,
                     const server::Peer* by) override {
        EXPECT_EQ(nullptr, by);
        told.push_back(nspace.name + ":" + std::to_string(rank) + " " + std::string(key));
    }
    void take_over(const std::vector<uint8_t>& blob) {
        server.on_loop([&] { return server.parts().get.ingest(blob); });
    }
    TestServer& server;
    std::vector<std::string> told;
};

}  // namespace

TEST(OpenPmixNewest, DataOfAnotherNode_WithoutWhatWasThere_IsToldAsADeletion) {
    TestServer server(nullptr);
    server.job("job", 2, 1);
    Watched watched(server);
    watched.take_over(blob_of(1, "victim", "text", 1, "keeper"));
    EXPECT_TRUE(watched.told.empty());
    watched.take_over(blob_of(1, "keeper", "text", 2));
    EXPECT_EQ(std::vector<std::string>{"job:1 victim"}, watched.told);
    // Once, and not by what is older.
    watched.take_over(blob_of(1, "keeper", "text", 2));
    EXPECT_EQ(1u, watched.told.size());
}

TEST(OpenPmixNewest, DataOfAnotherNode_ThatDeletesAKey_IsTold) {
    TestServer server(nullptr);
    server.job("job", 2, 1);
    Watched watched(server);
    watched.take_over(blob_of(1, "victim", "text", 1, "keeper"));
    dstore::ChunkBuilder chunk;
    chunk.begin(dstore::Owner::proc(1), {2, 1, false});
    chunk.add(dstore::Key("victim"), PMIX_GLOBAL, dstore::kDeletedValue);
    chunk.add(dstore::Key("never there"), PMIX_GLOBAL, dstore::kDeletedValue);
    watched.take_over(server::wrap_section("job", *chunk.finish(1)).value());
    EXPECT_EQ(std::vector<std::string>{"job:1 victim"}, watched.told);
}

// ---- invitations ----

namespace {

openpmix::GroupInviteRequest invitation_of(const ProcList& procs) {
    openpmix::GroupInviteRequest request;
    request.group = openpmix::Text("group");
    request.procs.procs = procs;
    return request;
}
openpmix::GroupJoinRequest answer_to(uint32_t inviter, pmix_status_t answer = PMIX_GROUP_INVITE_ACCEPTED) {
    openpmix::GroupJoinRequest request;
    request.group = openpmix::Text("group");
    request.answer.value = answer;
    request.has_leader.value = true;
    request.leader.emplace().id = {"job", inviter};
    return request;
}
const ProcList kWholeJob{{"job", PMIX_RANK_WILDCARD}};

}  // namespace

// The bytes that clients of 7.0.0rc1 have sent.
TEST_F(OpenPmixNewestTest, Invitation_AndItsAnswer_HaveTheirBytes) {
    auto invitation = invitation_of({{"job", 0}, {"job", 3}});
    invitation.timeout.value = 3;
    invitation.optional.value = true;
    std::vector<uint8_t> bytes;
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(invitation, of(0).traits, &bytes));
    EXPECT_EQ((std::vector<uint8_t>{2,   26, 2, 12, 'g', 'r', 'o', 'u', 'p', 0, 2, 2, 4, 8, 'j', 'o',
                                    'b', 0,  0, 8,  'j', 'o', 'b', 0,   3,   2, 3, 2, 1, 2, 0}),
              bytes);
    bytes.clear();
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(answer_to(0), of(0).traits, &bytes));
    EXPECT_EQ(
        (std::vector<uint8_t>{2, 25, 2, 12, 'g', 'r', 'o', 'u', 'p', 0, 2, 0xc1, 2, 2, 1, 2, 8, 'j', 'o', 'b', 0, 0}),
        bytes);
}

TEST_F(OpenPmixNewestTest, Invitation_ThatAllAccept_MakesAGroup) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) listen(rank, {PMIX_GROUP_INVITED, PMIX_GROUP_CONSTRUCT_COMPLETE});
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation_of(kWholeJob)));
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const auto invited = event(rank);
        EXPECT_STATUS(PMIX_GROUP_INVITED, invited.code.value) << rank;
        EXPECT_TRUE(view_of(invited).flag(PMIX_EVENT_NON_DEFAULT)) << "a default handler may end its process";
        if (rank == 0) continue;
        ASSERT_STATUS(PMIX_SUCCESS, of(rank).status_of(answer_to(0)));
    }
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const auto complete = event(rank);
        EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_COMPLETE, complete.code.value);
        EXPECT_EQ(ProcId("job", 0), complete.source.id);
        EXPECT_EQ(all_, members_in(complete));
        EXPECT_EQ(nullptr, view_of(complete).find(PMIX_GROUP_CONTEXT_ID));
        EXPECT_TRUE(view_of(complete).flag(PMIX_EVENT_NON_DEFAULT));
    }
    // All of them know the group by its name.
    openpmix::FenceRequest fence;
    fence.procs.procs = {{"group", PMIX_RANK_WILDCARD}};
    const uint32_t first = of(0).send(fence), second = of(1).send(fence);
    EXPECT_STATUS(PMIX_SUCCESS, of(2).status_of(fence));
    EXPECT_STATUS(PMIX_SUCCESS, of(0).receive<openpmix::StatusReply>(first).status.value);
    EXPECT_STATUS(PMIX_SUCCESS, of(1).receive<openpmix::StatusReply>(second).status.value);
    expect_destruct({0, 1, 2}, PMIX_SUCCESS);
    expect_destruct({0}, PMIX_ERR_NOT_FOUND);
}

TEST_F(OpenPmixNewestTest, Invitation_ThatSomebodyDeclines_AbortsForAll) {
    for (uint32_t rank = 0; rank < kRanks; ++rank) listen(rank, {PMIX_GROUP_CONSTRUCT_ABORT});
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation_of(all_)));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    ASSERT_STATUS(PMIX_SUCCESS, of(2).status_of(answer_to(0, PMIX_GROUP_INVITE_DECLINED)));
    for (uint32_t rank = 0; rank < kRanks; ++rank) EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, event(rank).code.value);
    for (const uint32_t rank : {0u, 1u, 2u}) expect_destruct({rank}, PMIX_ERR_NOT_FOUND);
}

TEST_F(OpenPmixNewestTest, Invitation_ThatIsOptional_MakesAGroupOfThoseThatAccept) {
    listen(0, {PMIX_GROUP_INVITE_FAILED, PMIX_GROUP_CONSTRUCT_COMPLETE});
    auto invitation = invitation_of(all_);
    invitation.optional.value = true;
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation));
    ASSERT_STATUS(PMIX_SUCCESS, of(2).status_of(answer_to(0, PMIX_GROUP_INVITE_DECLINED)));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    const auto failed = event(0);
    EXPECT_STATUS(PMIX_GROUP_INVITE_FAILED, failed.code.value);
    const pmix_proc_t* who = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, view_of(failed).get(PMIX_EVENT_AFFECTED_PROC, &who));
    ASSERT_NE(nullptr, who);
    EXPECT_EQ(2u, who->rank);
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), members_in(event(0)));
    expect_destruct({2}, PMIX_ERR_NOT_FOUND);
    expect_destruct({0, 1}, PMIX_SUCCESS);
}

TEST_F(OpenPmixNewestTest, Invitation_ThatIsNotAnsweredInTime_IsOver) {
    listen(0, {PMIX_GROUP_CONSTRUCT_ABORT, PMIX_GROUP_CONSTRUCT_COMPLETE});
    for (const bool optional : {false, true}) {
        auto invitation = invitation_of({{"job", 0}, {"job", 1}});
        invitation.timeout.value = 1;
        invitation.optional.value = optional;
        ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation));
        EXPECT_STATUS(PMIX_ERR_EXISTS, of(0).status_of(invitation));
        EXPECT_EQ(optional ? PMIX_GROUP_CONSTRUCT_COMPLETE : PMIX_GROUP_CONSTRUCT_ABORT, event(0).code.value);
    }
    expect_destruct({0}, PMIX_SUCCESS);
}

// A process that only the host could reach, and the host passes on no events.
TEST_F(OpenPmixNewestTest, Invitation_ThatReachesNobody_IsRefused) {
    for (int i = 0; i < 2; ++i)  // no group of the name is being formed after it
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, of(0).status_of(invitation_of({{"elsewhere", 0}})));
    listen(0, {PMIX_GROUP_CONSTRUCT_COMPLETE});
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation_of({{"job", 0}, {"job", 1}})));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    EXPECT_EQ((ProcList{{"job", 0}, {"job", 1}}), members_in(event(0)));
    expect_destruct({0, 1}, PMIX_SUCCESS);
}

// The lists of those asked are held for a user as everything else is.
TEST_F(OpenPmixNewestTest, Invitation_IsChargedToTheUser_UntilItIsOver) {
    listen(0, {PMIX_GROUP_CONSTRUCT_ABORT});
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation_of(all_)));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0, PMIX_GROUP_INVITE_DECLINED)));
    ASSERT_STATUS(PMIX_SUCCESS, of(2).status_of(answer_to(0)));
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, event(0).code.value);
    const uint64_t before = held_by_server(of(0));
    ASSERT_NE(0u, before);
    // All of this node: without the host's help the others would not be reached.
    const uint32_t size = 1000;
    InfoList about;
    about.append_number<uint32_t>(PMIX_JOB_SIZE, size, PMIX_UINT32);
    pmix_nspace_t wide;
    PMIx_Load_nspace(wide, "wide");
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_register_nspace(wide, size, about.c_array(), about.size(), nullptr, nullptr));
    ProcList many;
    for (uint32_t rank = 0; rank < size; ++rank) many.emplace_back("wide", rank);
    auto invitation = invitation_of(many);
    invitation.timeout.value = 1;
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation));
    EXPECT_GE(held_by_server(of(0)), before + many.size() * 2 * sizeof(ProcId));
    EXPECT_STATUS(PMIX_GROUP_CONSTRUCT_ABORT, event(0).code.value);
    EXPECT_EQ(before, held_by_server(of(0)));
}

// Its number comes from the host, as that of any group.
TEST_F(OpenPmixNewestTest, Invitation_WithAContextId_HasTheHosts) {
    listen(0, {PMIX_GROUP_CONSTRUCT_COMPLETE});
    auto invitation = invitation_of({{"job", 0}, {"job", 1}});
    invitation.assigns_id.value = true;
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    size_t number = 0;
    const auto complete = event(0);
    EXPECT_STATUS(PMIX_SUCCESS, view_of(complete).get(PMIX_GROUP_CONTEXT_ID, &number));
    EXPECT_EQ(7u, number);
    expect_destruct({0, 1}, PMIX_SUCCESS);
}

// Nobody is put into a group by another's word.
TEST_F(OpenPmixNewestTest, Announcement_OfProcessesThatHaveNotAccepted_MakesNoGroup) {
    const auto announce = [&](uint32_t rank) {
        InfoList infos = about(all_, "group");
        common::append_proc_array(infos, PMIX_GROUP_MEMBERSHIP, all_);
        EXPECT_STATUS(PMIX_SUCCESS, notify(rank, PMIX_GROUP_CONSTRUCT_COMPLETE, std::move(infos)));
    };
    announce(0);  // without an invitation
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(invitation_of(all_)));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    ASSERT_STATUS(PMIX_SUCCESS, of(2).status_of(answer_to(1)));  // to somebody else
    announce(0);
    announce(1);
    for (const uint32_t rank : {0u, 1u, 2u}) expect_destruct({rank}, PMIX_ERR_NOT_FOUND);
}

// As this library's inviters do: the members construct the group when the inviter names them. Such a client waits for
// the announcement, so its part is done for it.
TEST_F(OpenPmixNewestTest, Invitation_OfAnInviterWithThisLibrary_IsConstructedForTheClient) {
    for (const uint32_t rank : {1u, 2u}) listen(rank, {PMIX_GROUP_INVITED});
    listen(0, {PMIX_GROUP_INVITE_ACCEPTED});
    InfoList invitation = about({{"job", 1}, {"job", 2}}, "group");
    common::append_proc_array(invitation, PMIX_GROUP_MEMBERSHIP, all_);
    ASSERT_STATUS(PMIX_SUCCESS, notify(0, PMIX_GROUP_INVITED, std::move(invitation)));
    for (const uint32_t rank : {1u, 2u}) {
        EXPECT_STATUS(PMIX_GROUP_INVITED, event(rank).code.value);
        ASSERT_STATUS(PMIX_SUCCESS, of(rank).status_of(answer_to(0)));
        EXPECT_EQ(ProcId("job", rank), event(0).source.id);
    }
    InfoList update = about({{"job", 1}, {"job", 2}}, "group");
    common::append_proc_array(update, PMIX_GROUP_MEMBERSHIP, all_);
    ASSERT_STATUS(PMIX_SUCCESS, notify(0, PMIX_GROUP_MEMBERSHIP_UPDATE, std::move(update)));
    construct_group({0});
    expect_destruct({0, 1, 2}, PMIX_SUCCESS);
    for (const uint32_t rank : {1u, 2u}) EXPECT_TRUE(of(rank).is_silent(50));  // it has not registered for more
}

// The inviter ends, and another member leads in its place. Members accept once more; for such a client its server does.
TEST_F(OpenPmixNewestTest, Invitation_WhoseLeaderIsReplaced_IsAcceptedOnceMore) {
    const ProcList left{{"job", 1}, {"job", 2}};
    listen(2, {PMIX_GROUP_LEADER_FAILED, PMIX_GROUP_INVITE_ACCEPTED});
    listen(1, {PMIX_GROUP_INVITED});
    InfoList invitation = about(left, "group");
    common::append_proc_array(invitation, PMIX_GROUP_MEMBERSHIP, all_);
    ASSERT_STATUS(PMIX_SUCCESS, notify(0, PMIX_GROUP_INVITED, std::move(invitation)));
    EXPECT_STATUS(PMIX_GROUP_INVITED, event(1).code.value);
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    clients_[0].reset();
    EXPECT_STATUS(PMIX_GROUP_LEADER_FAILED, event(2).code.value);
    InfoList successor = about({{"job", 1}}, "group");
    const pmix_proc_t leader = ProcId("job", 2).to_c();
    successor.append(PMIX_GROUP_LEADER, &leader, PMIX_PROC);
    ASSERT_STATUS(PMIX_SUCCESS, notify(2, PMIX_GROUP_LEADER_SELECTED, std::move(successor)));
    const auto accepted = event(2);
    EXPECT_STATUS(PMIX_GROUP_INVITE_ACCEPTED, accepted.code.value);
    EXPECT_EQ(ProcId("job", 1), accepted.source.id);
    InfoList update = about({{"job", 1}}, "group");
    common::append_proc_array(update, PMIX_GROUP_MEMBERSHIP, left);
    ASSERT_STATUS(PMIX_SUCCESS, notify(2, PMIX_GROUP_MEMBERSHIP_UPDATE, std::move(update)));
    construct_group({2}, left);
    expect_destruct({1, 2}, PMIX_SUCCESS);
}

// Only in the place of one that has ended.
TEST_F(OpenPmixNewestTest, Invitation_ThatAnotherClaims_IsNotAcceptedOnceMore) {
    listen(2, {PMIX_GROUP_INVITE_ACCEPTED, PMIX_GROUP_INVITE_DECLINED});
    listen(1, {PMIX_GROUP_INVITED});
    InfoList invitation = about({{"job", 1}, {"job", 2}}, "group");
    common::append_proc_array(invitation, PMIX_GROUP_MEMBERSHIP, all_);
    ASSERT_STATUS(PMIX_SUCCESS, notify(0, PMIX_GROUP_INVITED, std::move(invitation)));
    EXPECT_STATUS(PMIX_GROUP_INVITED, event(1).code.value);
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(0)));
    ASSERT_STATUS(PMIX_SUCCESS, notify(2, PMIX_GROUP_LEADER_SELECTED, about({{"job", 1}}, "group")));
    ASSERT_STATUS(PMIX_SUCCESS, of(1).status_of(answer_to(2, PMIX_GROUP_INVITE_DECLINED)));
    EXPECT_STATUS(PMIX_GROUP_INVITE_DECLINED, event(2).code.value) << "the first that it is told";
}

// ---- leaving groups ----

TEST_F(OpenPmixNewestTest, Member_ThatLeavesByItsEvent_IsNotWaitedFor) {
    construct_group();
    const pmix_proc_t leaver = ProcId("job", 1).to_c();
    InfoList infos = about({{"job", 0}, {"job", 2}}, "group");
    infos.append(PMIX_EVENT_AFFECTED_PROC, &leaver, PMIX_PROC);
    ASSERT_STATUS(PMIX_SUCCESS, notify(1, PMIX_GROUP_LEFT, std::move(infos)));
    expect_destruct({1}, PMIX_ERR_NOT_FOUND);
    expect_destruct({0, 2}, PMIX_SUCCESS);
}

TEST_F(OpenPmixNewestTest, Leave_ThatAnotherNames_IsNotTheMembers) {
    construct_group();
    const pmix_proc_t other = ProcId("job", 1).to_c();
    InfoList infos = about({{"job", 2}}, "group");
    infos.append(PMIX_EVENT_AFFECTED_PROC, &other, PMIX_PROC);
    ASSERT_STATUS(PMIX_SUCCESS, notify(0, PMIX_GROUP_LEFT, std::move(infos)));
    expect_destruct({0, 1, 2}, PMIX_SUCCESS);
}

// ---- what the members of a group share ----

namespace {

Value array_of(InfoList infos) {
    auto array = common::array_value(std::move(infos));
    EXPECT_TRUE(array.ok());
    return std::move(array).value();
}

// As a client of that release asks for it: signed with its own name.
openpmix::GroupConstructRequest sharing(const ProcList& members, uint32_t rank) {
    InfoList shared, infos;
    const pmix_proc_t self = ProcId("job", rank).to_c();
    shared.append(PMIX_PROCID, &self, PMIX_PROC);
    shared.append_number<size_t>(PMIX_GROUP_LOCAL_CID, 1234 + rank, PMIX_SIZE);
    infos.append_flag(PMIX_GROUP_ASSIGN_CONTEXT_ID, true);
    infos.append(PMIX_GROUP_INFO, array_of(std::move(shared)));
    openpmix::GroupConstructRequest request;
    request.group = openpmix::Text("group");
    request.procs.procs = members;
    request.infos.infos = std::move(infos);
    return request;
}

}  // namespace

TEST_F(OpenPmixNewestTest, Construct_WithSharedValues_BringsThemAllInTheReply) {
    uint32_t tags[kRanks];
    for (uint32_t rank = 0; rank < kRanks; ++rank) tags[rank] = of(rank).send(sharing(all_, rank));
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
        const auto reply = of(rank).receive<openpmix::GroupReply>(tags[rank]);
        EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
        ASSERT_TRUE(reply.context_id && reply.context_id->given);
        EXPECT_EQ(7u, reply.context_id->id);
        ASSERT_TRUE(reply.infos);
        ASSERT_EQ(kRanks, reply.infos->infos.size());
        std::set<uint32_t> members;  // in the order in which they have called, which sockets do not keep
        for (const pmix_info_t& of_member : reply.infos->infos) {
            EXPECT_STREQ(PMIX_GROUP_INFO, of_member.key);
            const common::InfoView shared = common::infos_in(of_member.value);
            // Its name once, and first: their clients read it there.
            ASSERT_EQ(2u, shared.size());
            ASSERT_STREQ(PMIX_PROCID, shared.begin()->key);
            const uint32_t member = shared.begin()->value.data.proc->rank;
            size_t number = 0;
            EXPECT_STATUS(PMIX_SUCCESS, shared.get(PMIX_GROUP_LOCAL_CID, &number));
            EXPECT_EQ(1234u + member, number);
            members.insert(member);
        }
        EXPECT_EQ(kRanks, members.size());
        EXPECT_EQ(kRanks - 1, *members.rbegin());
    }
}

// The forms of earlier releases have no place for it.
TEST_F(OpenPmixNewestTest, Construct_OfClientsOfEachForm_HasWhatTheFormHas) {
    connect(clients_[0], 0, "4.2.2", "v41");
    connect(clients_[1], 1, "5.0.7", "v41");
    const ProcList all = all_;
    uint32_t tags[kRanks];
    for (uint32_t rank = 0; rank < kRanks; ++rank) tags[rank] = of(rank).send(sharing(all, rank));
    const auto number = of(0).receive<openpmix::GroupContextReply>(tags[0]);
    ASSERT_TRUE(number.context_id);
    EXPECT_EQ(7u, number.context_id->value);
    const auto members = of(1).receive<openpmix::GroupMembersReply>(tags[1]);
    ASSERT_TRUE(members.members && members.context_id);
    EXPECT_EQ(all_, members.members->procs);
    EXPECT_EQ(7u, members.context_id->value);
    EXPECT_TRUE(members.objects.objects.empty());
    const auto newest = of(2).receive<openpmix::GroupReply>(tags[2]);
    ASSERT_TRUE(newest.infos);
    EXPECT_EQ(kRanks, newest.infos->infos.size());
}

TEST_F(OpenPmixNewestTest, Construct_WithSharedValuesThatAreNone_IsRefused) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_GROUP_INFO, 42, PMIX_UINT32);
    openpmix::GroupConstructRequest request;
    request.group = openpmix::Text("group");
    request.procs.procs = all_;
    request.infos.infos = std::move(infos);
    EXPECT_STATUS(PMIX_ERR_TYPE_MISMATCH, of(0).status_of(request));
}

// ---- input ----

TEST_F(OpenPmixNewestTest, Client_WhoseInputIsToStop_IsTold) {
    openpmix::IofPushRequest push;
    push.procs.procs = {{"job", 2}};
    const std::vector<uint8_t> bytes{'x'};
    push.data.bytes = bytes;
    ASSERT_STATUS(PMIX_SUCCESS, of(0).status_of(push));
    const pmix_proc_t producer = ProcId("job", 0).to_c();
    for (const bool stop : {true, false}) {
        ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED, PMIx_server_IOF_flow_control(&producer, PMIX_FWD_STDIN_CHANNEL, stop,
                                                                             nullptr, 0, nullptr, nullptr));
        const auto told = of(0).receive<openpmix::FlowMessage>(openpmix::kFlowTag);
        EXPECT_EQ(ProcId("job", 0), told.source.id);
        EXPECT_EQ(PMIX_FWD_STDIN_CHANNEL, told.channel.value);
        EXPECT_EQ(stop, told.stop.value);
        EXPECT_TRUE(told.infos.infos.empty());
    }
    // Everybody's; who pushes none is not told.
    ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED,
                  PMIx_server_IOF_flow_control(nullptr, PMIX_FWD_STDIN_CHANNEL, true, nullptr, 0, nullptr, nullptr));
    const auto told = of(0).receive<openpmix::FlowMessage>(openpmix::kFlowTag);
    EXPECT_EQ(ProcId("", PMIX_RANK_WILDCARD), told.source.id);
    EXPECT_TRUE(of(1).is_silent(50));
}

}  // namespace openpmix_newest_test
