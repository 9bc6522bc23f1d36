// SPDX-License-Identifier: BSD-3-Clause
// What narrows a query for what a host said about a job: whose word counts when several have one. Each question is put
// twice, to the client half, which reads what is mapped, and past it to the server half.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/query_here.h"
#include "support/status.h"

namespace query_realms_test {

using namespace pmix::test;

namespace {

constexpr const char* kColor = "pmix.test.color";  // a key that every realm has, each with a word of its own

InfoList inside(const char* key, uint32_t number, const char* color) {
    InfoList infos;
    if (key != nullptr) infos.append_number<uint32_t>(key, number, PMIX_UINT32);
    infos.append_string(kColor, color);
    return infos;
}

void append_array(InfoList& to, const char* key, InfoList&& inner) {
    to.append(key, std::move(pmix::common::array_value(std::move(inner))).value());
}

InfoList node(const char* name, uint32_t id, const char* peers, const char* color) {
    InfoList infos = inside(PMIX_NODEID, id, color);
    infos.append_string(PMIX_HOSTNAME, name);
    infos.append_string(PMIX_LOCAL_PEERS, peers);
    return infos;
}

class QueryRealms : public QueryTest {
  protected:
    void SetUp() override {
        start();  // with a host that knows nothing of this
        InfoList infos;
        infos.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
        infos.append_number<uint32_t>(PMIX_SESSION_ID, 7, PMIX_UINT32);
        append_array(infos, PMIX_JOB_INFO_ARRAY, inside(nullptr, 0, "of the job"));
        append_array(infos, PMIX_SESSION_INFO_ARRAY, inside(PMIX_SESSION_ID, 7, "of the session"));
        append_array(infos, PMIX_SESSION_INFO_ARRAY, inside(PMIX_SESSION_ID, 8, "of another session"));
        append_array(infos, PMIX_APP_INFO_ARRAY, inside(PMIX_APPNUM, 0, "of app 0"));
        append_array(infos, PMIX_APP_INFO_ARRAY, inside(PMIX_APPNUM, 1, "of app 1"));
        append_array(infos, PMIX_NODE_INFO_ARRAY, node("n0", 40, "0", "of n0"));
        append_array(infos, PMIX_NODE_INFO_ARRAY, node("n1", 41, "1", "of n1"));
        for (pmix_rank_t rank : {0u, 1u}) {
            InfoList proc = inside(PMIX_APPNUM, rank, rank == 0 ? "of rank 0" : "of rank 1");
            proc.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
            append_array(infos, PMIX_PROC_INFO_ARRAY, std::move(proc));
        }
        pmix_nspace_t nspace;
        PMIx_Load_nspace(nspace, "job");
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(nspace, 1, infos.c_array(), infos.size(), nullptr, nullptr));
    }

    // The same of both halves, or what each said. A refresh is never answered by the client half.
    std::string color(const InfoList& given) {
        InfoList one, two;
        one.append_all(given.c_array(), given.size());
        two.append_all(given.c_array(), given.size());
        two.append_flag(PMIX_QUERY_REFRESH_CACHE, true);
        Ask of_client({kColor}, std::move(one)), of_server({kColor}, std::move(two));
        const auto said = [](const Ask& ask) {
            return ask.status == PMIX_SUCCESS ? ask.text(kColor) : std::string(PMIx_Error_string(ask.status));
        };
        if (said(of_client) == said(of_server)) return said(of_client);
        return "client: " + said(of_client) + ", server: " + said(of_server);
    }
    std::string color_by_flag(const char* key) {
        InfoList infos = of_job("job");
        infos.append_flag(key, true);
        return color(infos);
    }
    std::string color_by_number(const char* key, uint32_t number) {
        InfoList infos = of_job("job");
        infos.append_number<uint32_t>(key, number, PMIX_UINT32);
        return color(infos);
    }
};

}  // namespace

// rows: Q1 Q4
// proves: PMIx_Query_info PMIX_SESSION_INFO PMIX_JOB_INFO PMIX_APP_INFO PMIX_NODE_INFO client server
TEST_F(QueryRealms, AFlagNamesTheRealm) {
    EXPECT_EQ("of the job", color(of_job("job")));
    EXPECT_EQ("of the session", color_by_flag(PMIX_SESSION_INFO));
    EXPECT_EQ("of app 0", color_by_flag(PMIX_APP_INFO));
    EXPECT_EQ("of n0", color_by_flag(PMIX_NODE_INFO)) << "the node of this server";
    // A process has a word of its own, and then the job's is meant.
    InfoList infos = of_job("job");
    pmix_rank_t rank = 1;
    infos.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    infos.append_flag(PMIX_JOB_INFO, true);
    EXPECT_EQ("of the job", color(infos));
}

// proves: PMIx_Query_info PMIX_SESSION_ID PMIX_APPNUM PMIX_NODEID PMIX_HOSTNAME client server
TEST_F(QueryRealms, ANumberOrNameSelectsOne) {
    EXPECT_EQ("of another session", color_by_number(PMIX_SESSION_ID, 8));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", color_by_number(PMIX_SESSION_ID, 9));
    EXPECT_EQ("of app 1", color_by_number(PMIX_APPNUM, 1));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", color_by_number(PMIX_APPNUM, 2));
    EXPECT_EQ("of n1", color_by_number(PMIX_NODEID, 41));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", color_by_number(PMIX_NODEID, 42));
    InfoList infos = of_job("job");
    infos.append_string(PMIX_HOSTNAME, "n1");
    EXPECT_EQ("of n1", color(infos));
}

// A job on other nodes has these numbers to itself, and calls this node by another name than the server.
// rows: Q1 V16
TEST_F(QueryRealms, ANumberIsThatOfTheJobThatIsNamed) {
    const auto add = [](const char* name, const char* first, uint32_t id) {
        InfoList infos;
        infos.append_number<uint32_t>(PMIX_JOB_SIZE, 1, PMIX_UINT32);
        append_array(infos, PMIX_NODE_INFO_ARRAY, node(first, id, "0", "of the other"));
        pmix_nspace_t nspace;
        PMIx_Load_nspace(nspace, name);
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_server_register_nspace(nspace, 0, infos.c_array(), infos.size(), nullptr, nullptr));
    };
    add("elsewhere", "n7", 40);
    add("dotted", "n0.cluster", 50);
    InfoList delivered, far;
    delivered.append_string("test.device", "near");
    far.append_string(PMIX_HOSTNAME, "n7");
    far.append_string("test.device", "far");
    append_array(delivered, PMIX_NODE_INFO_ARRAY, std::move(far));
    InfoList by_long_name;
    by_long_name.append_string(PMIX_HOSTNAME, "n0.cluster");
    by_long_name.append_string("test.rack", "seven");
    append_array(delivered, PMIX_NODE_INFO_ARRAY, std::move(by_long_name));
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_deliver_inventory(delivered.c_array(), delivered.size(), nullptr, 0, nullptr, nullptr));
    const auto device = [](const char* job, uint32_t id, const char* key = "test.device") {
        InfoList infos = of_job(job);
        infos.append_number<uint32_t>(PMIX_NODEID, id, PMIX_UINT32);
        Ask ask({key}, std::move(infos));
        return ask.status == PMIX_SUCCESS ? ask.text(key) : std::string(PMIx_Error_string(ask.status));
    };
    EXPECT_EQ("near", device("job", 40));
    EXPECT_EQ("far", device("elsewhere", 40)) << "40 is this node in another job";
    EXPECT_EQ("near", device("dotted", 50)) << "the inventory has the server's name of the node";
    EXPECT_EQ("seven", device("dotted", 50, "test.rack")) << "or the job's";
}

// proves: PMIx_Query_info PMIX_RANK PMIX_NSPACE PMIX_PROCID client server
TEST_F(QueryRealms, AProcessByRankOrWhole) {
    InfoList by_rank = of_job("job");
    pmix_rank_t rank = 1;
    by_rank.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    EXPECT_EQ("of rank 1", color(by_rank));
    EXPECT_EQ("of rank 1", color_by_number(PMIX_RANK, 1)) << "any integer is a rank";
    const pmix_proc_t proc = ProcId("job", 1).to_c();
    InfoList whole;
    whole.append(PMIX_PROCID, &proc, PMIX_PROC);
    EXPECT_EQ("of rank 1", color(whole));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", color({})) << "no job is named: this process's own, which has none";
}

}  // namespace query_realms_test
