// SPDX-License-Identifier: BSD-3-Clause
// Directives of groups that a caller on another node gives: they count as those of the callers here.
#include <gtest/gtest.h>

#include "common/values/info_view.h"
#include "server/collectives/group_section.h"
#include "server/namespaces/modex_blob.h"
#include "support/group_requests.h"
#include "support/status.h"

namespace server_group_directives_test {

using namespace pmix;
using namespace pmix::test;
using server::GroupSection;

namespace {

common::ProcOrder order_of(const std::vector<common::Rank>& ranks) {
    ProcList procs;
    for (const common::Rank rank : ranks) procs.emplace_back("job", rank);
    return common::ProcOrder(procs);
}

// The host hands back what another node's server has given it, beside this node's part.
void other_node_gives(FakeHost& host, GroupSection section) {
    section.requester = {"job", 3};
    section.order = common::ProcOrder({kAll});
    auto blob = server::wrap_group(kName, server::encode_group_section(section).value()).value();
    host.group_results = [blob](const Seen& seen, InfoList& out) {
        std::vector<uint8_t> all = blob;
        if (const pmix_info_t* mine = seen.infos.find(PMIX_GROUP_ENDPT_DATA)) {
            const auto* bytes = reinterpret_cast<const uint8_t*>(mine->value.data.bo.bytes);
            all.insert(all.end(), bytes, bytes + mine->value.data.bo.size);
        }
        pmix_byte_object_t object{reinterpret_cast<char*>(all.data()), all.size()};
        out.append(PMIX_GROUP_ENDPT_DATA, &object, PMIX_BYTE_OBJECT);
        if (common::InfoView(seen.infos).flag(PMIX_GROUP_ASSIGN_CONTEXT_ID))
            out.append_number<size_t>(PMIX_GROUP_CONTEXT_ID, 7, PMIX_SIZE);
    };
}

// All callers of this node construct; the answer of each.
std::vector<Done> construct_all(Setting& s, size_t callers, InfoList first = {}) {
    std::vector<uint32_t> ids;
    for (size_t i = 0; i < callers; ++i) ids.push_back(construct(s[i], {kAll}, i == 0 ? std::move(first) : InfoList()));
    std::vector<Done> out;
    for (size_t i = 0; i < callers; ++i) out.push_back(done_of(s[i], ids[i]));
    return out;
}

InfoList order_info(const std::vector<common::Rank>& ranks) {
    InfoList infos;
    common::append_proc_array(infos, PMIX_GROUP_FINAL_MEMBERSHIP_ORDER, order_of(ranks).list());
    return infos;
}

}  // namespace

// rows: R8 R10
TEST(ServerGroupDirectives, MemberEndsHere_CallerThereAllowsIt_GroupForms) {
    for (bool server::GroupDirectives::*given :
         {&server::GroupDirectives::tolerant, &server::GroupDirectives::optional, &server::GroupDirectives::notify}) {
        Setting s(2, 3);
        s.kill(2);
        GroupSection there;
        there.directives.*given = true;
        other_node_gives(s.host, std::move(there));
        for (const Done& done : construct_all(s, 2)) {
            EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done.status);
            EXPECT_EQ(5u, done.members.size());
        }
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, number_of(s.host.last("group")->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
    }
}

// rows: R8
TEST(ServerGroupDirectives, MemberEndsThere_NobodyAllowsIt_IsAnErrorHere) {
    Setting s(2, 2);
    GroupSection there;
    there.failed = there.untold = {{"job", 3}};
    other_node_gives(s.host, std::move(there));
    for (const Done& done : construct_all(s, 2)) EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, done.status);
}

// The server there has told nobody, because none of its callers asked for it. rows: R8 R10
TEST(ServerGroupDirectives, MemberEndsThere_CallerHereAsksToBeNotified_MembersHereAreTold) {
    for (const bool told : {false, true}) {
        Setting s(2, 2);
        listen(s[1], {PMIX_GROUP_MEMBER_FAILED});
        GroupSection there;
        there.failed = {{"job", 3}};
        if (!told) there.untold = there.failed;
        other_node_gives(s.host, std::move(there));
        for (const Done& done : construct_all(s, 2, flag(PMIX_GROUP_NOTIFY_TERMINATION)))
            EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, done.status);
        s.server->settle();
        EXPECT_EQ(!told, s[1].take_event().has_value());
    }
}

// rows: R12
TEST(ServerGroupDirectives, Destruct_CallerThereAllowsTheEndOfAMember_Succeeds) {
    for (const bool allows : {false, true}) {
        Setting s(2, 3);
        other_node_gives(s.host, {});
        for (const Done& done : construct_all(s, 3)) ASSERT_STATUS(PMIX_SUCCESS, done.status);
        s.kill(2);
        GroupSection there;
        there.directives.tolerant = allows;
        other_node_gives(s.host, std::move(there));
        const uint32_t a = destruct(s[0]), b = destruct(s[1]);
        EXPECT_STATUS(allows ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[0], a).status);
        EXPECT_STATUS(allows ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, done_of(s[1], b).status);
    }
}

// rows: R4
TEST(ServerGroupDirectives, FinalOrder_GivenThere_IsTheOrderHere) {
    Setting s(2, 2);
    GroupSection there;
    there.final_order = order_of({3, 1, 0, 2});
    other_node_gives(s.host, std::move(there));
    for (const Done& done : construct_all(s, 2)) EXPECT_EQ(order_of({3, 1, 0, 2}).list(), done.members);
}

// What two ask for differently is refused for all, here and there. rows: R4
TEST(ServerGroupDirectives, FinalOrders_ThatDiffer_AreRefused) {
    {
        Setting s(1, 3);
        const uint32_t a = construct(s[0], {kAll}, order_info({2, 1, 0})),
                       b = construct(s[1], {kAll}, order_info({0, 1, 2}));
        const uint32_t c = construct(s[2], {kAll}, order_info({2, 1, 0}));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[0], a).status);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[1], b).status);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done_of(s[2], c).status);
    }
    for (const bool both_there : {false, true}) {
        Setting s(2, 2);
        GroupSection there;
        there.directives.differ = both_there;
        there.final_order = order_of({3, 1, 0, 2});
        other_node_gives(s.host, std::move(there));
        for (const Done& done : construct_all(s, 2, both_there ? InfoList() : order_info({0, 1, 2, 3})))
            EXPECT_STATUS(PMIX_ERR_BAD_PARAM, done.status);
    }
}

// Where the host carries nothing, its own order is all that the nodes have in common. rows: R4
TEST(ServerGroupDirectives, MembershipOfAHostThatCarriesNoData_HasTheHostsOrder) {
    Setting s(2, 2);
    const ProcList order = order_of({1, 3, 2, 0}).list();
    s.host.group_results = [&](const Seen&, InfoList& out) {
        common::append_proc_array(out, PMIX_GROUP_MEMBERSHIP, order);
    };
    for (const Done& done : construct_all(s, 2)) EXPECT_EQ(order, done.members);
}

// A number that a caller there asks for, and that the host does not give. rows: R3
TEST(ServerGroupDirectives, ContextId_AskedForThereAndNotGiven_IsAnErrorHere) {
    Setting s(2, 2);
    GroupSection there;
    there.directives.assign = true;
    other_node_gives(s.host, std::move(there));
    for (const Done& done : construct_all(s, 2)) EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, done.status);
}

}  // namespace server_group_directives_test
