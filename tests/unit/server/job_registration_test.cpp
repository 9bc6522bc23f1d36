// SPDX-License-Identifier: BSD-3-Clause
// The host's arrays in all their dresses, what is derived from them, and how they land in the store.
#include "support/status.h"
#include "unit/server/registration_setting.h"

namespace job_registration_test {

using namespace pmix;
using namespace pmix::test;
using namespace pmix::test::registration;

// rows: V6 V4 K34
// proves: PMIx_server_register_nspace PMIX_NODE_MAP PMIX_PROC_MAP
TEST(JobRegistrationTest, MapsAndSizeAreEnough) {
    TestServer server(nullptr);
    InfoList list =
        list_of({{PMIX_NODE_MAP, text("n0,n1")}, {PMIX_PROC_MAP, text("0,2;1,3")}, {PMIX_JOB_SIZE, u32(4)}});
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list));
    EXPECT_EQ(2, read(server, "job", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_EQ("n0,n1", read(server, "job", Owner::job(), PMIX_NODE_LIST).string());
    EXPECT_EQ(4, read(server, "job", Owner::job(), PMIX_JOB_SIZE).number());
    EXPECT_EQ(0, read(server, "job", Owner::job(), PMIX_APPNUM).number());
    EXPECT_EQ(PMIX_UINT32, read(server, "job", Owner::job(), PMIX_APPNUM).value.type());
    EXPECT_EQ("0,2", read(server, "job", Owner::node(0), PMIX_LOCAL_PEERS).string());
    EXPECT_EQ(2, read(server, "job", Owner::node(1), PMIX_LOCAL_SIZE).number());
    EXPECT_EQ(1, read(server, "job", Owner::node(1), PMIX_LOCALLDR).number());
    EXPECT_EQ("n1", read(server, "job", Owner::node(1), PMIX_HOSTNAME).string());
    for (uint32_t r = 0; r < 4; ++r) {
        auto local = read(server, "job", Owner::proc(r), PMIX_LOCAL_RANK);
        EXPECT_EQ(PMIX_UINT16, local.value.type());
        EXPECT_EQ(r / 2, local.number()) << r;
        EXPECT_EQ(PMIX_UINT16, read(server, "job", Owner::proc(r), PMIX_NODE_RANK).value.type());
        EXPECT_EQ(r % 2, read(server, "job", Owner::proc(r), PMIX_NODEID).number()) << r;
        EXPECT_EQ(r % 2 ? "n1" : "n0", read(server, "job", Owner::proc(r), PMIX_HOSTNAME).string());
        EXPECT_EQ(r, read(server, "job", Owner::proc(r), PMIX_APP_RANK).number());
    }
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "job", Owner::proc(4), PMIX_LOCAL_RANK).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "job", Owner::job(), PMIX_PARENT_ID).status);
    server::Nspace* n = server.parts().registry.find("job");
    EXPECT_EQ(0u, n->own_node);
    EXPECT_EQ((std::vector<common::Rank>{0, 2}), n->local_ranks());
}

// The server's own name finds its node as well as the name in the list. rows: V6 K34
TEST(JobRegistrationTest, OwnNode_UnderAFullOrAShortName_IsFoundByBoth) {
    for (const bool full : {true, false}) {
        server::ServerOptions options;
        options.hostname = full ? "n0" : "n0.cluster.example";
        TestServer server(nullptr, std::move(options));
        InfoList list = list_of({{PMIX_NODE_MAP, text(full ? "n0.cluster.example,n1.cluster.example" : "n0,n1")},
                                 {PMIX_PROC_MAP, text("0;1")},
                                 {PMIX_JOB_SIZE, u32(2)}});
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 1, list));
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 1, list_of({{"more", u32(2)}}))) << "once more";
        const dstore::Reader& reader = server.parts().registry.find("job")->data->reader();
        EXPECT_EQ(0u, reader.node_by_name("n0").value_or(99));
        EXPECT_EQ(0u, reader.node_by_name("n0.cluster.example").value_or(99));
        EXPECT_FALSE(reader.node_by_name(full ? "n1" : "n1.cluster.example")) << "of another node nobody knows it";
    }
}

// rows: V6
TEST(JobRegistrationTest, TheHostsWordWins) {
    TestServer server(nullptr);
    InfoList proc = list_of({{PMIX_RANK, rank(1)},
                             {PMIX_LOCAL_RANK, common::Value::number<uint16_t>(7, PMIX_UINT16)},
                             {PMIX_NODEID, u32(42)},
                             {"my.own", text("x")}});
    InfoList list = list_of({{PMIX_NODE_MAP, text("n0")},
                             {PMIX_PROC_MAP, text("0,1")},
                             {PMIX_JOB_SIZE, u32(2)},
                             {PMIX_NUM_NODES, u32(9)},
                             {PMIX_LOCAL_PEERS, text("0,1,77")},
                             {PMIX_PROC_INFO_ARRAY, array(proc)}});
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list));
    EXPECT_EQ(9, read(server, "job", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_EQ(7, read(server, "job", Owner::proc(1), PMIX_LOCAL_RANK).number());
    EXPECT_EQ(0, read(server, "job", Owner::proc(0), PMIX_LOCAL_RANK).number()) << "derived where nothing was said";
    EXPECT_EQ(42, read(server, "job", Owner::proc(1), PMIX_NODEID).number());
    EXPECT_EQ("x", read(server, "job", Owner::proc_info(1), "my.own").string());
    EXPECT_EQ("0,1,77", read(server, "job", Owner::node(0), PMIX_LOCAL_PEERS).string()) << "flat, so this node's";
}

// rows: V4
// proves: PMIx_server_register_nspace PMIX_JOB_INFO_ARRAY PMIX_SESSION_INFO_ARRAY PMIX_APP_INFO_ARRAY
// proves: PMIx_server_register_nspace PMIX_NODE_INFO_ARRAY PMIX_SESSION_ID
TEST(JobRegistrationTest, EveryArrayAndAnyNesting) {
    TestServer server(nullptr);
    // the rank last, and as a plain number
    InfoList proc = list_of({{PMIX_NODEID, u32(1)}, {PMIX_RANK, u32(3)}, {"p", text("proc")}});
    InfoList node = list_of({{PMIX_HOSTNAME, text("n1")}, {"n", text("node")}, {PMIX_PROC_DATA, array(proc)}});
    InfoList app = list_of({{PMIX_APPNUM, u32(1)},
                            {PMIX_APP_SIZE, u32(2)},
                            {PMIX_APPLDR, rank(2)},
                            {"a", text("app")},
                            {PMIX_NODE_INFO_ARRAY, array(node)}});
    InfoList app0 = list_of({{PMIX_APPNUM, u32(0)}, {PMIX_APP_SIZE, u32(2)}, {PMIX_APPLDR, rank(0)}});
    InfoList job = list_of({{PMIX_JOB_SIZE, u32(4)},
                            {"j", text("job")},
                            {PMIX_NODE_MAP, text("n0,n1")},
                            {PMIX_PROC_MAP, text("0,1;2,3")},
                            {PMIX_APP_INFO_ARRAY, array(app0)},
                            {PMIX_APP_INFO_ARRAY, array(app)}});
    InfoList session = list_of({{PMIX_SESSION_ID, u32(77)},
                                {"s", text("session")},
                                {PMIX_UNIV_SIZE, u32(64)},
                                {PMIX_JOB_INFO_ARRAY, array(job)}});
    InfoList other = list_of({{PMIX_SESSION_ID, u32(78)}, {"s", text("other")}});
    InfoList list = list_of({{PMIX_SESSION_INFO_ARRAY, array(session)}, {PMIX_SESSION_INFO_ARRAY, array(other)}});
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list));
    EXPECT_EQ("session", read(server, "job", Owner::session(77), "s").string());
    EXPECT_EQ("other", read(server, "job", Owner::session(78), "s").string());
    EXPECT_EQ(77, read(server, "job", Owner::job(), PMIX_SESSION_ID).number()) << "so that a client finds its session";
    EXPECT_EQ(64, read(server, "job", Owner::session(77), PMIX_UNIV_SIZE).number());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "job", Owner::job(), PMIX_UNIV_SIZE).status)
        << "the session says it";
    EXPECT_EQ("job", read(server, "job", Owner::job(), "j").string());
    EXPECT_EQ("app", read(server, "job", Owner::app(1), "a").string());
    EXPECT_EQ("node", read(server, "job", Owner::node(1), "n").string());
    EXPECT_EQ("proc", read(server, "job", Owner::proc_info(3), "p").string());
    EXPECT_EQ(1, read(server, "job", Owner::proc(3), PMIX_APPNUM).number());
    EXPECT_EQ(1, read(server, "job", Owner::proc(3), PMIX_APP_RANK).number());
    EXPECT_EQ(2, read(server, "job", Owner::proc(3), PMIX_APPLDR).number());
    EXPECT_EQ(2, read(server, "job", Owner::job(), PMIX_JOB_NUM_APPS).number());
}

// rows: V3 V4
TEST(JobRegistrationTest, MapsAsRegexToo) {
    TestServer server(nullptr);
    auto nodes = common::generate_node_map(std::string_view("n0,n1,n2"));
    auto procs = common::generate_proc_map(std::string_view("0;1;2"));
    pmix_byte_object_t bo;
    InfoList list;
    bo.bytes = nodes->data();
    bo.size = nodes->size() + 1;
    pmix_value_t v{};
    v.type = PMIX_REGEX;
    v.data.bo = bo;
    list.append(PMIX_NODE_MAP, std::move(common::Value::copy_of(v)).value());
    v.data.bo.bytes = procs->data();
    v.data.bo.size = procs->size() + 1;
    list.append(PMIX_PROC_MAP, std::move(common::Value::copy_of(v)).value());
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 1, list));
    EXPECT_EQ(3, read(server, "job", Owner::job(), PMIX_JOB_SIZE).number());
    EXPECT_EQ("n2", read(server, "job", Owner::proc(2), PMIX_HOSTNAME).string());
}

// rows: V3 V6
// proves: PMIx_server_register_nspace PMIX_NODE_MAP_RAW PMIX_PROC_MAP_RAW
TEST(JobRegistrationTest, MapsByTheirPlainNames) {
    TestServer server(nullptr);
    ASSERT_STATUS(
        PMIX_SUCCESS,
        server.add_job("job", 1, list_of({{PMIX_NODE_MAP_RAW, text("n0,n1")}, {PMIX_PROC_MAP_RAW, text("0,2;1")}})));
    EXPECT_EQ(3, read(server, "job", Owner::job(), PMIX_JOB_SIZE).number());
    EXPECT_EQ("n0", read(server, "job", Owner::proc(2), PMIX_HOSTNAME).string());
    EXPECT_EQ("n1", read(server, "job", Owner::proc(1), PMIX_HOSTNAME).string());
}

// rows: V6
// proves: PMIx_server_register_nspace PMIX_PROC_INFO_ARRAY PMIX_NODE_INFO_ARRAY PMIX_JOB_SIZE
TEST(JobRegistrationTest, PlacementFromNodeArraysFromProcArraysOrFromNothing) {
    TestServer server(nullptr);
    InfoList n0 = list_of({{PMIX_HOSTNAME, text("n0")}, {PMIX_NODEID, u32(5)}, {PMIX_LOCAL_PEERS, text("0,1")}});
    InfoList n1 = list_of({{PMIX_HOSTNAME, text("n1")},
                           {PMIX_NODEID, u32(6)},
                           {PMIX_LOCAL_PEERS, text("2")},
                           {PMIX_HOSTNAME_ALIASES, text("one,uno")}});
    ASSERT_STATUS(
        PMIX_SUCCESS,
        server.add_job(
            "nodes", 2,
            list_of({{PMIX_JOB_SIZE, u32(3)}, {PMIX_NODE_INFO_ARRAY, array(n0)}, {PMIX_NODE_INFO_ARRAY, array(n1)}})));
    EXPECT_EQ("n1", read(server, "nodes", Owner::proc(2), PMIX_HOSTNAME).string());
    EXPECT_EQ(6, read(server, "nodes", Owner::proc(2), PMIX_NODEID).number());
    server::Nspace* n = server.parts().registry.find("nodes");
    EXPECT_EQ(1u, server::find_own_node(n->placed, "uno"));

    InfoList p0 = list_of({{PMIX_RANK, rank(0)}, {PMIX_HOSTNAME, text("n0")}});
    InfoList p1 = list_of({{PMIX_RANK, rank(1)}, {PMIX_HOSTNAME, text("far")}});
    ASSERT_STATUS(
        PMIX_SUCCESS,
        server.add_job(
            "procs", 1,
            list_of({{PMIX_JOB_SIZE, u32(2)}, {PMIX_PROC_INFO_ARRAY, array(p0)}, {PMIX_PROC_INFO_ARRAY, array(p1)}})));
    EXPECT_EQ(2, read(server, "procs", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_FALSE(server.parts().registry.find("procs")->is_local(1));

    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("bare", 3, list_of({{PMIX_JOB_SIZE, u32(3)}})));
    EXPECT_EQ("n0", read(server, "bare", Owner::proc(2), PMIX_HOSTNAME).string());
    EXPECT_EQ("0,1,2", read(server, "bare", Owner::node(0), PMIX_LOCAL_PEERS).string());
}

// rows: V4
// proves: PMIx_server_register_nspace PMIX_REGISTER_NODATA
TEST(JobRegistrationTest, KnownByNameOnly) {
    TestServer server(nullptr);
    ASSERT_STATUS(
        PMIX_SUCCESS,
        server.add_job("name", 0, list_of({{PMIX_REGISTER_NODATA, common::Value::flag(true)}, {"k", text("v")}})));
    ASSERT_NE(nullptr, server.parts().registry.find("name"));
    EXPECT_EQ(nullptr, server.parts().registry.find("name")->data);
    // data may follow
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("name", 0, list_of({{"k", text("v")}})));
    EXPECT_EQ("v", read(server, "name", Owner::job(), "k").string());
}

// rows: V5
TEST(JobRegistrationTest, RegisteringAgainAdds) {
    TestServer server(nullptr);
    server.job("job", 2, 2);
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list_of({{"later", text("v")}, {PMIX_NUM_NODES, u32(11)}})));
    EXPECT_EQ("v", read(server, "job", Owner::job(), "later").string());
    EXPECT_EQ(11, read(server, "job", Owner::job(), PMIX_NUM_NODES).number());
    EXPECT_EQ(4, read(server, "job", Owner::job(), PMIX_JOB_SIZE).number());
    EXPECT_EQ(1, read(server, "job", Owner::proc(3), PMIX_LOCAL_RANK).number()) << "the placement stays";
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list_of({{"later", text("w")}})));
    EXPECT_EQ("w", read(server, "job", Owner::job(), "later").string());
    EXPECT_EQ(11, read(server, "job", Owner::job(), PMIX_NUM_NODES).number()) << "what was said is not derived again";
}

// A job registered with PMIX_USERID may be read by that user only, under whichever user its processes run. rows: V6
// proves: PMIx_server_register_nspace PMIX_USERID
TEST(JobRegistrationTest, TheUserOfAJobMayReadIt) {
    TestServer server(nullptr);
    ASSERT_STATUS(PMIX_SUCCESS,
                  server.add_job("theirs", 1, list_of({{PMIX_JOB_SIZE, u32(1)}, {PMIX_USERID, u32(54321)}})));
    const auto may = [&](uint32_t uid, const char* nspace) {
        class Plain final : public server::Peer {
          public:
            using Peer::Peer;
            void send(const common::FrameHeader&, common::Bytes, std::span<const int>) override {}
            void close() override {}
        } peer(server::PeerKind::tool, {"tool", 0}, server::Credentials{uid, uid, 1});
        return server.parts().segments.may_map(peer, *server.parts().registry.find(nspace));
    };
    EXPECT_TRUE(may(54321, "theirs"));
    EXPECT_FALSE(may(54322, "theirs"));
}

// rows: V7 V9
TEST(JobRegistrationTest, ResourcesAreEverybodysAndLoseAgainstTheJobsOwn) {
    TestServer server(nullptr);
    server.job("early", 1, 1);
    auto resources = [&](const InfoList& list) {
        return server.on_loop([&] {
            auto r = server::read_resources(list.c_array(), list.size());
            return server.setup().register_resources(std::move(r).value());
        });
    };
    ASSERT_STATUS(PMIX_SUCCESS, resources(list_of({{"res.a", text("all")}, {"res.b", text("all")}})));
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("late", 1, list_of({{PMIX_JOB_SIZE, u32(1)}, {"res.b", text("own")}})));
    EXPECT_EQ("all", read(server, "early", Owner::job(), "res.a").string());
    EXPECT_EQ("all", read(server, "late", Owner::job(), "res.a").string());
    EXPECT_EQ("own", read(server, "late", Owner::job(), "res.b").string());
    server.on_loop([&] {
        InfoList gone = list_of({{"res.a", u32(0)}});
        auto r = server::read_resources(gone.c_array(), gone.size());
        return server.setup().deregister_resources(*r);
    });
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("later", 1, list_of({{PMIX_JOB_SIZE, u32(1)}})));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "later", Owner::job(), "res.a").status);
    EXPECT_EQ("all", read(server, "later", Owner::job(), "res.b").string());
}

// What a host registers of a session is found by its jobs, before and after; others and what a job says itself stay.
// rows: V17
TEST(JobRegistrationTest, RegisteredSession_ItsJobsFindIt) {
    TestServer server(nullptr);
    const auto job_of = [&](const char* name, uint32_t session, const char* own) {
        InfoList about = list_of({{PMIX_JOB_SIZE, u32(1)}, {PMIX_SESSION_ID, u32(session)}});
        if (own != nullptr) {
            InfoList in = list_of({{PMIX_SESSION_ID, u32(session)}, {"s.b", text(own)}});
            about.append_all(list_of({{PMIX_SESSION_INFO_ARRAY, array(in)}}).c_array(), 1);
        }
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job(name, 1, about));
    };
    const auto session = [&](uint32_t id, const InfoList& list) {
        return server.on_loop([&] {
            auto s = server::read_session(id, list.c_array(), list.size());
            return s.ok() ? server.parts().registration.register_session(id, std::move(s).value()) : s.status();
        });
    };
    job_of("early", 7, nullptr);
    ASSERT_STATUS(PMIX_SUCCESS, session(7, list_of({{"s.a", text("seven")}, {"s.b", text("seven")}})));
    job_of("late", 7, "own");
    job_of("other", 8, nullptr);
    const Owner seven = Owner::session(7);
    EXPECT_EQ("seven", read(server, "early", seven, "s.a").string());
    EXPECT_EQ("seven", read(server, "late", seven, "s.a").string());
    EXPECT_EQ("own", read(server, "late", seven, "s.b").string());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "other", seven, "s.a").status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "other", Owner::session(8), "s.a").status);
    ASSERT_STATUS(PMIX_SUCCESS, session(7, list_of({{"s.a", text("again")}, {"s.c", text("again")}})));
    job_of("third", 7, nullptr);
    EXPECT_EQ("seven", read(server, "third", seven, "s.a").string()) << "a session that is known stays as it is";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "third", seven, "s.c").status);
    server.on_loop([&] {
        server.parts().registration.deregister_session(7);
        server.parts().registration.deregister_session(99);
        return PMIX_SUCCESS;
    });
    job_of("fourth", 7, nullptr);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "fourth", seven, "s.a").status);
    EXPECT_EQ("seven", read(server, "early", seven, "s.a").string());
}

// What one job is registered with about its session is the session's: its other jobs have it, before and after. What a
// job is told itself, and what is flat and so the job's, stays apart. rows: V17
TEST(JobRegistrationTest, SessionArrayOfOneJob_IsForAllJobsOfTheSession) {
    TestServer server(nullptr);
    const auto job_of = [&](const char* name, uint32_t session, const InfoList& in, const InfoList& flat = {}) {
        InfoList about = list_of({{PMIX_JOB_SIZE, u32(1)}, {PMIX_SESSION_ID, u32(session)}});
        about.append_all(flat.c_array(), flat.size());
        if (!in.empty()) about.append_all(list_of({{PMIX_SESSION_INFO_ARRAY, array(in)}}).c_array(), 1);
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job(name, 1, about));
    };
    const Owner seven = Owner::session(7);
    const auto text_of = [&](const char* job, const char* key) { return read(server, job, seven, key).string(); };
    const auto universe = [&](const char* job) { return read(server, job, seven, PMIX_UNIV_SIZE).number(); };
    job_of("early", 7, {});
    job_of("other", 8, {});
    EXPECT_EQ(1, universe("early"));
    job_of("first", 7, list_of({{PMIX_SESSION_ID, u32(7)}, {PMIX_UNIV_SIZE, u32(100)}, {"s.queue", text("long")}}));
    job_of("late", 7, {});
    for (const char* job : {"early", "first", "late"}) {
        EXPECT_EQ(100, universe(job)) << job;
        EXPECT_EQ("long", text_of(job, "s.queue")) << job;
    }
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "other", seven, "s.queue").status);
    EXPECT_EQ(1, read(server, "other", Owner::session(8), PMIX_UNIV_SIZE).number());
    // The newest counts, but not against a job's own.
    job_of("own", 7, list_of({{PMIX_SESSION_ID, u32(7)}, {"s.queue", text("short")}}));
    EXPECT_EQ("short", text_of("early", "s.queue"));
    EXPECT_EQ("long", text_of("first", "s.queue"));
    job_of("flat", 7, {}, list_of({{PMIX_UNIV_SIZE, u32(5)}}));
    EXPECT_EQ(5, universe("flat"));
    EXPECT_EQ(100, universe("early"));
    // An array without a number, of jobs without one: nobody has said that they are of one session.
    const auto unnumbered = [&](const char* name, const InfoList& in) {
        InfoList about = list_of({{PMIX_JOB_SIZE, u32(1)}});
        if (!in.empty()) about.append_all(list_of({{PMIX_SESSION_INFO_ARRAY, array(in)}}).c_array(), 1);
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job(name, 1, about));
    };
    unnumbered("one", list_of({{"s.queue", text("its own")}}));
    unnumbered("two", {});
    job_of("null", 0, {});
    EXPECT_EQ("its own", read(server, "one", Owner::session(0), "s.queue").string());
    for (const char* job : {"two", "null"})
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, job, Owner::session(0), "s.queue").status) << job;
    // Zero is a number like others.
    job_of("null again", 0, list_of({{PMIX_SESSION_ID, u32(0)}, {"s.queue", text("of zero")}}));
    EXPECT_EQ("of zero", read(server, "null", Owner::session(0), "s.queue").string());
    EXPECT_EQ("its own", read(server, "one", Owner::session(0), "s.queue").string());
    // The session outlives the job, and ends when the host says so.
    server.on_loop([&] {
        server.setup().deregister_nspace("first");
        return PMIX_SUCCESS;
    });
    job_of("later", 7, {});
    EXPECT_EQ(100, universe("later"));
    server.on_loop([&] {
        server.parts().registration.deregister_session(7);
        return PMIX_SUCCESS;
    });
    job_of("last", 7, {});
    EXPECT_EQ(1, universe("last"));
}

// Maps as hosts of OpenPMIx 7 give them. rows: V18
TEST(JobRegistrationTest, MapsWithTheirForm_PlaceTheRanks) {
    TestServer server(nullptr);
    InfoList list = list_of({{PMIX_JOB_SIZE, u32(4)}});
    pmix_regex2_t nodes{}, procs{};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex2("n0,n1", nullptr, 0, &nodes));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex2("0,1;2,3", nullptr, 0, &procs));
    list.append(PMIX_NODE_MAP, &nodes, PMIX_REGEX2);
    list.append(PMIX_PROC_MAP, &procs, PMIX_REGEX2);
    EXPECT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list));
    EXPECT_EQ("2,3", read(server, "job", Owner::node(1), PMIX_LOCAL_PEERS).string());
    procs.type[0] = 'x';
    InfoList bad = list_of({{PMIX_JOB_SIZE, u32(4)}});
    bad.append(PMIX_PROC_MAP, &procs, PMIX_REGEX2);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, server.add_job("bad", 2, bad));
    PMIx_Regex2_destruct(&nodes);
    PMIx_Regex2_destruct(&procs);
}

// proves: PMIx_server_register_nspace PMIX_QUALIFIED_VALUE
TEST(JobRegistrationTest, NullStringAndQualifiedValues) {
    TestServer server(nullptr);
    InfoList list = list_of({{PMIX_JOB_SIZE, u32(2)}, {PMIX_NODE_MAP, text("n0")}, {PMIX_PROC_MAP, text("0,1")}});
    list.append(PMIX_LOCALITY_STRING, nullptr, PMIX_STRING);
    InfoList qualified = list_of({{"q", text("of rank 1")}, {PMIX_RANK, rank(1)}});
    list.append(PMIX_QUALIFIED_VALUE, array(qualified));
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 2, list));
    auto a = read(server, "job", Owner::job(), PMIX_LOCALITY_STRING);
    EXPECT_STATUS(PMIX_SUCCESS, a.status);
    EXPECT_EQ(PMIX_STRING, a.value.type());
    EXPECT_EQ(nullptr, a.value.get().data.string);
    EXPECT_EQ("of rank 1", read(server, "job", Owner::proc_info(1), "q").string());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read(server, "job", Owner::job(), "q").status);
}

// rows: K37
TEST(JobRegistrationTest, RankOfAServer_OfAnyNumber_IsARank) {
    TestServer server(nullptr);
    ASSERT_STATUS(PMIX_SUCCESS,
                  server.add_job("job", 1, list_of({{PMIX_JOB_SIZE, u32(1)}, {PMIX_SERVER_RANK, u32(3)}})));
    auto a = read(server, "job", Owner::job(), PMIX_SERVER_RANK);
    ASSERT_STATUS(PMIX_SUCCESS, a.status);
    EXPECT_EQ(PMIX_PROC_RANK, a.value.type());
    EXPECT_EQ(3u, a.value.get().data.rank);
}

TEST(JobRegistrationTest, MalformedArraysAreRefusedAndLeaveNothing) {
    TestServer server(nullptr);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, server.add_job("a", 1, list_of({{PMIX_PROC_INFO_ARRAY, text("no array")}})));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, server.add_job("b", 1, list_of({{PMIX_PROC_MAP, text("0,0")}})));
    InfoList nameless = list_of({{"k", text("v")}});
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, server.add_job("c", 1, list_of({{PMIX_PROC_INFO_ARRAY, array(nameless)}})));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  server.add_job("d", 1, list_of({{PMIX_NODE_MAP, text("n0,n1")}, {PMIX_PROC_MAP, text("0;1;2")}})));
    for (const char* n : {"a", "b", "c", "d"}) EXPECT_EQ(nullptr, server.parts().registry.find(n)) << n;
    InfoList deep = list_of({{"k", text("v")}});
    for (int i = 0; i < 30; ++i) deep = list_of({{PMIX_JOB_INFO_ARRAY, array(deep)}});
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, server.add_job("e", 1, deep));
}

// A million ranks are a few numbers.
TEST(JobRegistrationTest, LargeRegularJobStaysSmall) {
    TestServer server(nullptr);
    std::string names, ranks;
    for (unsigned n = 0; n < 2000; ++n) {
        names += (n ? ",n" : "n") + std::to_string(n);
        ranks += (n ? ";" : "") + std::to_string(n * 100) + "-" + std::to_string(n * 100 + 99);
    }
    ASSERT_STATUS(
        PMIX_SUCCESS,
        server.add_job("big", 100,
                       list_of({{PMIX_NODE_MAP, text(names.c_str())}, {PMIX_PROC_MAP, text(ranks.c_str())}})));
    EXPECT_EQ(99, read(server, "big", Owner::proc(199'999), PMIX_LOCAL_RANK).number());
    EXPECT_EQ("n1999", read(server, "big", Owner::proc(199'999), PMIX_HOSTNAME).string());
    server::Nspace* n = server.parts().registry.find("big");
    EXPECT_EQ(100u, n->local_count());
    EXPECT_FALSE(n->all_local());
}

}  // namespace job_registration_test
