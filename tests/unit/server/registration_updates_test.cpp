// SPDX-License-Identifier: BSD-3-Clause
// What a host says in several calls, or in part: where processes are, what follows from it, and what stays.
#include "support/group_requests.h"
#include "support/server_here.h"
#include "support/status.h"
#include "unit/server/registration_setting.h"

namespace registration_updates_test {

using namespace pmix;
using namespace pmix::test;
using namespace pmix::test::registration;
using Ranks = std::vector<common::Rank>;

namespace {

struct Setting {
    FakeHost host;
    pmix_server_module_t module = host.module();
    TestServer server{&module};
    server::Nspace& nspace(const char* name = "job") { return *server.parts().registry.find(name); }
    pmix_status_t resources(const InfoList& list, bool gone = false) {
        return server.on_loop([&] {
            auto said = server::read_resources(list.c_array(), list.size());
            return gone ? server.setup().deregister_resources(*said)
                        : server.setup().register_resources(std::move(said).value());
        });
    }
    void deregister(uint32_t rank) {
        server.on_loop([&] { server.setup().deregister_client({"job", rank}); });
    }
};

common::Value node(const char* name, const char* peers = nullptr, const char* own = nullptr) {
    InfoList list = list_of({{PMIX_HOSTNAME, text(name)}});
    if (peers != nullptr) list.append_string(PMIX_LOCAL_PEERS, peers);
    if (own != nullptr) list.append_string("site.k", own);
    return array(list);
}

}  // namespace

// Nodes without names are several nodes. rows: V6
TEST(RegistrationUpdatesTest, ProcMapAlone_RanksOfOtherNodesAreNotHere) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS,
                  s.server.add_job("job", 2, list_of({{PMIX_PROC_MAP, text("1,3;0,2")}, {PMIX_JOB_SIZE, u32(4)}})));
    EXPECT_EQ(common::kNoNode, s.nspace().own_node);
    EXPECT_EQ(2, read(s.server, "job", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "job", Owner::job(), PMIX_NODE_LIST).status);
    s.server.add_client("job", 0);
    EXPECT_EQ((Ranks{0, 2}), s.nspace().local_ranks()) << "where a process of ours is, there we are";
    EXPECT_EQ("0,2", read(s.server, "job", Owner::node(1), PMIX_LOCAL_PEERS).string());
    EXPECT_EQ("n0", read(s.server, "job", Owner::proc(2), PMIX_HOSTNAME).string());
    EXPECT_EQ(1u, s.nspace().data->reader().node_by_name("n0").value_or(9));
    EXPECT_EQ(2, read(s.server, "job", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_FALSE(s.nspace().is_local(1));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "job", Owner::proc(1), PMIX_HOSTNAME).status) << "no name yet";
    // The names follow, in the order of the map.
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_NODE_MAP, text("far,n0")}})));
    EXPECT_EQ("far", read(s.server, "job", Owner::proc(3), PMIX_HOSTNAME).string());
    EXPECT_EQ("far,n0", read(s.server, "job", Owner::job(), PMIX_NODE_LIST).string());
    EXPECT_EQ((Ranks{0, 2}), s.nspace().local_ranks());
}

// rows: V6
TEST(RegistrationUpdatesTest, ProcMapWithNodeArrays_TheyNameTheNodes) {
    Setting s;
    const auto add = [&](const char* nspace, std::initializer_list<const char*> names, bool peers) {
        InfoList list = list_of({{PMIX_PROC_MAP, text("0,2;1,3")}, {PMIX_JOB_SIZE, u32(4)}});
        for (const char* name : names)
            list.append(PMIX_NODE_INFO_ARRAY, node(name, !peers ? nullptr : name[1] == '0' ? "0,2" : "1,3"));
        return s.server.add_job(nspace, 2, list);
    };
    ASSERT_STATUS(PMIX_SUCCESS, add("one", {"n0"}, true));
    EXPECT_EQ((Ranks{0, 2}), s.nspace("one").local_ranks());
    EXPECT_EQ("n0", read(s.server, "one", Owner::proc(2), PMIX_HOSTNAME).string());
    ASSERT_STATUS(PMIX_SUCCESS, add("unknown", {"n0"}, false));
    EXPECT_TRUE(s.nspace("unknown").local_ranks().empty()) << "nothing says which of the two it is";
    s.server.add_client("unknown", 1);
    EXPECT_EQ((Ranks{1, 3}), s.nspace("unknown").local_ranks());
    ASSERT_STATUS(PMIX_SUCCESS, add("peers", {"n1", "n0"}, true));
    EXPECT_EQ((Ranks{0, 2}), s.nspace("peers").local_ranks()) << "by their ranks";
    ASSERT_STATUS(PMIX_SUCCESS, add("order", {"n1", "n0"}, false));
    EXPECT_EQ((Ranks{1, 3}), s.nspace("order").local_ranks()) << "in their order";
}

// rows: V6
TEST(RegistrationUpdatesTest, ArrayOfThisNodeAlone_IsNotAllOfTheJob) {
    Setting s;
    const auto add = [&](const char* nspace, int here, common::Value array) {
        InfoList list = list_of({{PMIX_JOB_SIZE, u32(4)}});
        list.append(PMIX_NODE_INFO_ARRAY, std::move(array));
        EXPECT_STATUS(PMIX_SUCCESS, s.server.add_job(nspace, here, list));
    };
    add("peers", 0, node("n0", "0,2"));
    EXPECT_EQ((Ranks{0, 2}), s.nspace("peers").local_ranks());
    EXPECT_EQ("0,2", read(s.server, "peers", Owner::node(0), PMIX_LOCAL_PEERS).string());
    EXPECT_EQ("n0", read(s.server, "peers", Owner::proc(2), PMIX_HOSTNAME).string());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "peers", Owner::proc(1), PMIX_HOSTNAME).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "peers", Owner::job(), PMIX_NUM_NODES).status);
    EXPECT_TRUE(s.nspace("peers").has_rank(3));
    EXPECT_FALSE(s.nspace("peers").has_rank(4));
    EXPECT_FALSE(s.nspace("peers").all_local());
    // The others follow.
    InfoList rest = list_of({{PMIX_NODE_INFO_ARRAY, node("n1", "1,3")}});
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("peers", 0, rest));
    EXPECT_EQ("n1", read(s.server, "peers", Owner::proc(1), PMIX_HOSTNAME).string());
    EXPECT_EQ(2, read(s.server, "peers", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_EQ((Ranks{0, 2}), s.nspace("peers").local_ranks());

    add("number", 2, node("n0"));
    EXPECT_TRUE(s.nspace("number").local_ranks().empty());
    EXPECT_EQ(2u, s.nspace("number").local_count());
    EXPECT_FALSE(s.nspace("number").all_local());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "number", Owner::job(), PMIX_NUM_NODES).status);
    add("all", 4, node("n0"));
    EXPECT_EQ((Ranks{0, 1, 2, 3}), s.nspace("all").local_ranks());
    add("unsaid", 0, node("n0"));
    EXPECT_EQ((Ranks{0, 1, 2, 3}), s.nspace("unsaid").local_ranks());
}

// rows: V5
TEST(RegistrationUpdatesTest, OneMap_IsReadWithWhatWasKnown) {
    Setting s;
    s.server.job("job", 2, 2, false);
    InfoList about =
        list_of({{PMIX_HOSTNAME, text("n1")}, {PMIX_NODEID, u32(7)}, {PMIX_HOSTNAME_ALIASES, text("uno")}});
    const auto add = [&](const char* key, const char* map) {
        InfoList list = list_of({{key, text(map)}});
        list.append(PMIX_NODE_INFO_ARRAY, array(about));
        EXPECT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list)) << map;
    };
    const auto expect = [&](const char* peers, const char* of_2, const char* nodes) {
        EXPECT_EQ(peers, read(s.server, "job", Owner::node(s.nspace().own_node), PMIX_LOCAL_PEERS).string());
        EXPECT_EQ(of_2, read(s.server, "job", Owner::proc(2), PMIX_HOSTNAME).string());
        EXPECT_EQ(nodes, read(s.server, "job", Owner::job(), PMIX_NODE_LIST).string());
        EXPECT_EQ(
            7,
            read(s.server, "job", Owner::node(server::find_own_node(s.nspace().placed, "uno")), PMIX_NODEID).number());
        EXPECT_EQ(2u, s.nspace().local_ranks().size());
    };
    add(PMIX_NODE_MAP, "n0,n1");
    expect("0,1", "n1", "n0,n1");
    add(PMIX_PROC_MAP, "0,2;1,3");
    expect("0,2", "n0", "n0,n1");
    add(PMIX_NODE_MAP, "n1,n2,n0");
    expect("0,2", "n0", "n1,n2,n0");
    add(PMIX_NODE_MAP, "other,n0");
    expect("0,2", "n0", "n1,n2,n0");
    add(PMIX_PROC_MAP, "0;1");
    expect("0,2", "n0", "n1,n2,n0");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  s.server.add_job("job", 2, list_of({{PMIX_NODE_MAP, text("n0")}, {PMIX_PROC_MAP, text("0;1;2;3")}})));
    expect("0,2", "n0", "n1,n2,n0");
}

// What was taken for one node because of the number of its processes is not, once there are more. rows: V5
TEST(RegistrationUpdatesTest, GuessedPlacement_FollowsTheNumbers) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(2)}})));
    EXPECT_EQ((Ranks{0, 1}), s.nspace().local_ranks());
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 3, list_of({{PMIX_JOB_SIZE, u32(3)}})));
    EXPECT_EQ((Ranks{0, 1, 2}), s.nspace().local_ranks());
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 0, list_of({{"later", u32(1)}})));
    EXPECT_EQ((Ranks{0, 1, 2}), s.nspace().local_ranks());
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 0, list_of({{PMIX_JOB_SIZE, u32(5)}})));
    EXPECT_TRUE(s.nspace().local_ranks().empty());
    EXPECT_EQ(3u, s.nspace().local_count());
    EXPECT_TRUE(s.nspace().has_rank(4));
}

// rows: V5
TEST(RegistrationUpdatesTest, DerivedValues_FollowAndGivenOnesStay) {
    Setting s;
    InfoList app = list_of({{PMIX_APPNUM, u32(1)}, {PMIX_APPLDR, rank(1)}, {PMIX_APP_SIZE, u32(1)}});
    InfoList app0 = list_of({{PMIX_APPNUM, u32(0)}, {PMIX_APP_SIZE, u32(1)}});
    const auto grow = [&](const char* nspace, uint32_t size, const char* map, const InfoList& more) {
        InfoList list = list_of({{PMIX_JOB_SIZE, u32(size)}, {PMIX_NODE_MAP, text("n0")}, {PMIX_PROC_MAP, text(map)}});
        list.append_all(more.c_array(), more.size());
        ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job(nspace, static_cast<int>(size), list));
    };
    const auto number = [&](const char* nspace, Owner owner, const char* key) {
        return read(s.server, nspace, owner, key).number();
    };
    grow("job", 2, "0,1", {});
    grow("job", 4, "0-3", {});
    EXPECT_EQ(4, number("job", Owner::session(0), PMIX_UNIV_SIZE));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(s.server, "job", Owner::job(), PMIX_UNIV_SIZE).status)
        << "the session's alone";
    EXPECT_EQ(4, number("job", Owner::app(0), PMIX_APP_SIZE));
    EXPECT_EQ(4, number("job", Owner::job(), PMIX_JOB_SIZE));
    // The host's own word is not derived again; after it, neither is what was derived before it.
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 4, list_of({{PMIX_UNIV_SIZE, u32(64)}})));
    grow("job", 5, "0-4", {});
    EXPECT_EQ(64, number("job", Owner::job(), PMIX_UNIV_SIZE));
    EXPECT_EQ(64, number("job", Owner::session(0), PMIX_UNIV_SIZE));
    EXPECT_EQ(5, number("job", Owner::app(0), PMIX_APP_SIZE));
    // Applications that this call does not describe are still there.
    grow("apps", 2, "0,1", list_of({{PMIX_APP_INFO_ARRAY, array(app0)}, {PMIX_APP_INFO_ARRAY, array(app)}}));
    grow("apps", 2, "0,1", {});
    EXPECT_EQ(2, number("apps", Owner::job(), PMIX_JOB_NUM_APPS));
    EXPECT_EQ(1, number("apps", Owner::proc(1), PMIX_APPNUM));
    EXPECT_EQ(1, number("apps", Owner::app(0), PMIX_APP_SIZE));
    // Nothing is written where nothing has changed.
    const uint64_t bytes = s.nspace("apps").data->bytes();
    for (int i = 0; i < 10; ++i) grow("apps", 2, "0,1", {});
    EXPECT_EQ(bytes, s.nspace("apps").data->bytes());
}

// A session's values are provided by the host; those that follow from the job's size are not. rows: V17
TEST(RegistrationUpdatesTest, RegisteredSession_GoesBeforeWhatIsDerived) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS,
                  s.server.add_job("job", 1, list_of({{PMIX_JOB_SIZE, u32(1)}, {PMIX_SESSION_ID, u32(7)}})));
    EXPECT_EQ(1, read(s.server, "job", Owner::session(7), PMIX_UNIV_SIZE).number());
    const InfoList list = list_of({{PMIX_UNIV_SIZE, u32(64)}});
    ASSERT_STATUS(PMIX_SUCCESS, s.server.on_loop([&] {
        auto session = server::read_session(7, list.c_array(), list.size());
        return s.server.setup().register_session(7, std::move(session).value());
    }));
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(2)}})));
    EXPECT_EQ(64, read(s.server, "job", Owner::session(7), PMIX_UNIV_SIZE).number());
}

// rows: V7 V9
TEST(RegistrationUpdatesTest, Resources_TheNewestValueCounts) {
    Setting s;
    s.server.job("early", 2, 1);
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(list_of({{"site.load", u32(1)}})));
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("own", 1, list_of({{PMIX_JOB_SIZE, u32(1)}, {"site.load", u32(77)}})));
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(list_of({{"site.load", u32(2)}})));
    s.server.job("late", 1, 1);
    const auto load = [&](const char* nspace) { return read(s.server, nspace, Owner::job(), "site.load").number(); };
    EXPECT_EQ(2, load("early"));
    EXPECT_EQ(2, load("late"));
    EXPECT_EQ(77, load("own"));
    // From here on it is the job's own.
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("early", 1, list_of({{"site.load", u32(55)}})));
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(list_of({{"site.load", u32(3)}})));
    EXPECT_EQ(55, load("early"));
    EXPECT_EQ(3, load("late"));
}

// However often they are said, no more is kept than there is. rows: V7
TEST(RegistrationUpdatesTest, Resources_GivenAgain_TakeNoMoreMemory) {
    server::Resources kept;
    const auto said = [](uint32_t load, common::Value array) {
        InfoList list = list_of({{"site.load", u32(load)}});
        list.append(PMIX_NODE_INFO_ARRAY, std::move(array));
        return std::move(server::read_resources(list.c_array(), list.size())).value();
    };
    for (uint32_t i = 0; i < 100; ++i) kept.add(said(i, node("n0", nullptr, "v")));
    EXPECT_EQ(3u, kept.all().size()) << "the load, the node's name and its own";
    kept.add(said(1, array(list_of({{PMIX_HOSTNAME, text("n0")}, {PMIX_NODEID, u32(5)}, {"site.k", text("w")}}))));
    kept.add(said(1, array(list_of({{PMIX_NODEID, u32(5)}, {"site.k", text("x")}}))));
    size_t of_node = 0;
    for (const server::Fact& fact : kept.all()) {
        if (fact.key != "site.k") continue;
        ++of_node;
        EXPECT_EQ("n0", fact.node->name);
        EXPECT_EQ('x', fact.value.back() != 0 ? fact.value.back() : fact.value[fact.value.size() - 2]);
    }
    EXPECT_EQ(1u, of_node) << "by name or by number it is one node";
    kept.remove(said(0, array(list_of({{PMIX_NODEID, u32(5)}, {PMIX_HOSTNAME, text("n0")}, {"site.k", text("")}}))));
    EXPECT_TRUE(kept.all().empty());
}

// rows: V7
TEST(RegistrationUpdatesTest, DeregisterResources_OfOneNode_LeavesThoseOfOthers) {
    Setting s;
    const auto of_both = [&](const char* nspace) {
        s.server.job(nspace, 2, 1);
        return std::pair(read(s.server, nspace, Owner::node(0), "site.k").string(),
                         read(s.server, nspace, Owner::node(1), "site.k").string());
    };
    const auto nodes =
        list_of({{PMIX_NODE_INFO_ARRAY, node("n0", nullptr, "a")}, {PMIX_NODE_INFO_ARRAY, node("n1", nullptr, "b")}});
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(nodes));
    EXPECT_EQ(std::pair(std::string("a"), std::string("b")), of_both("j1"));
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(list_of({{PMIX_NODE_INFO_ARRAY, node("n0", nullptr, "")}}), true));
    EXPECT_EQ(std::pair(std::string("<none>"), std::string("b")), of_both("j2"));
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(nodes));
    EXPECT_EQ(std::pair(std::string("a"), std::string("b")), of_both("j3"));
    InfoList of_all = list_of({{"site.k", text("")}});
    ASSERT_STATUS(PMIX_SUCCESS, s.resources(list_of({{PMIX_NODE_INFO_ARRAY, array(of_all)}}), true));
    EXPECT_EQ(std::pair(std::string("<none>"), std::string("<none>")), of_both("j4")) << "an array that names no node";
}

// rows: V12
TEST(RegistrationUpdatesTest, Variables_GivenAgain_AreOneChange) {
    ServerHere server;
    const auto variable = [](InfoList& list, const char* key, std::string name, std::string value) {
        pmix_envar_t envar{name.data(), value.data(), ':'};
        list.append(key, &envar, PMIX_ENVAR);
    };
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    const auto add = [&](InfoList& list) {
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_register_nspace(job, 1, list.c_array(), list.size(), nullptr, nullptr));
    };
    const auto get = [](const char* name) { return ChildEnvironment(ProcId("job", 0).to_c()).get(name); };
    InfoList first, second;
    variable(first, PMIX_PREPEND_ENVAR, "SEARCH", "/x");
    variable(first, PMIX_SET_ENVAR, "COLOUR", "blue");
    variable(second, PMIX_PREPEND_ENVAR, "SEARCH", "/y");
    variable(second, PMIX_SET_ENVAR, "COLOUR", "red");
    add(first);
    add(first);
    EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED, PMIx_server_setup_local_support(job, first.c_array(), 1, nullptr, nullptr));
    EXPECT_EQ("/x", get("SEARCH"));
    add(second);
    EXPECT_EQ("/y:/x", get("SEARCH"));
    EXPECT_EQ("red", get("COLOUR"));
    add(first);
    EXPECT_EQ("blue", get("COLOUR")) << "the last one counts";
    PMIx_server_deregister_nspace(job, nullptr, nullptr);
}

// Of local processes the number is known first, and their ranks are with their registration. rows: F1 F6
TEST(RegistrationUpdatesTest, Fence_OverRanksThatAreNotRegisteredYet_WaitsForThem) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(4)}})));
    s.server.add_client("job", 0);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const uint32_t both = a.start_fence({{"job", 0}, {"job", 1}});
    s.server.settle();
    EXPECT_FALSE(a.take(both)) << "rank 1 may be the second of this node";
    EXPECT_EQ(0u, s.host.count("fence"));
    s.server.add_client("job", 1);
    FakeClient b(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    s.server.settle();
    EXPECT_FALSE(a.take(both));
    const uint32_t second = b.start_fence({{"job", 0}, {"job", 1}});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, both));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(b, second));
    EXPECT_EQ(0u, s.host.count("fence"));
    // The ranks of this node are known by now, and the others are elsewhere.
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, a.start_fence({{"job", 0}, {"job", 3}})));
    EXPECT_EQ(1u, s.host.count("fence"));
    // One that has been here and was withdrawn is one of this node.
    s.deregister(1);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, a.start_fence({{"job", 0}, {"job", 1}})));
}

// rows: F1
TEST(RegistrationUpdatesTest, Fence_OverRanksOfOtherNodes_WaitsForTheRegistrationsOnly) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(4)}})));
    s.server.add_client("job", 0);
    FakeClient a(s.server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const uint32_t far = a.start_fence({{"job", 0}, {"job", 3}});
    s.server.settle();
    EXPECT_EQ(0u, s.host.count("fence"));
    s.server.add_client("job", 1);
    EXPECT_STATUS(PMIX_SUCCESS, status_of(a, far));
    EXPECT_EQ(1u, s.host.count("fence"));
}

// rows: R1
TEST(RegistrationUpdatesTest, Group_OfRanksThatAreNotRegisteredYet_WaitsForThem) {
    for (const bool whole : {false, true}) {
        Setting s;
        ASSERT_STATUS(
            PMIX_SUCCESS,
            s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(whole ? 2 : 4)}, {PMIX_NODE_MAP, text("n0,n1")}})));
        s.server.add_client("job", 0);
        FakeClient a(s.server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        const common::ProcList members = whole ? common::ProcList{kAll} : common::ProcList{{"job", 0}, {"job", 1}};
        const uint32_t first = construct(a, members);
        s.server.settle();
        EXPECT_FALSE(a.take(first));
        s.server.add_client("job", 1);
        FakeClient b(s.server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        const uint32_t second = construct(b, members);
        EXPECT_EQ((common::ProcList{{"job", 0}, {"job", 1}}), done_of(a, first).members);
        EXPECT_STATUS(PMIX_SUCCESS, done_of(b, second).status);
    }
}

// The host's only way to say that a process will not start. rows: F10
TEST(RegistrationUpdatesTest, DeregisterClient_NeverRegistered_IsNotWaitedFor) {
    for (const bool placed : {true, false}) {
        Setting s;
        if (placed)
            s.server.job("job", 1, 2, false);
        else
            ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("job", 2, list_of({{PMIX_JOB_SIZE, u32(4)}})));
        s.server.add_client("job", 0);
        FakeClient a(s.server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        const uint32_t both = a.start_fence({{"job", 0}, {"job", 1}});
        s.server.settle();
        EXPECT_FALSE(a.take(both));
        s.deregister(9);
        s.deregister(PMIX_RANK_WILDCARD);
        s.server.settle();
        EXPECT_FALSE(a.take(both)) << "no rank of this job";
        s.deregister(1);
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status_of(a, both)) << placed;
        s.deregister(1);
        EXPECT_EQ(1u, s.nspace().gone.size());
        // It starts after all.
        s.server.add_client("job", 1);
        FakeClient b(s.server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
        const uint32_t again = a.start_fence({{"job", 0}, {"job", 1}});
        EXPECT_STATUS(PMIX_SUCCESS, status_of(b, b.start_fence({{"job", 0}, {"job", 1}})));
        EXPECT_STATUS(PMIX_SUCCESS, status_of(a, again));
    }
}

}  // namespace registration_updates_test
