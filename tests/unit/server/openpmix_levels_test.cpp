// SPDX-License-Identifier: BSD-3-Clause
// Everything that a server sends an OpenPMIx client of a job of several applications: a key of a node, an application
// or a session stands in the array of its level, whichever message brings it. Their libraries end the reading of a
// message at such a key, or take it for another level's.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "common/values/array_value.h"
#include "server/server.h"
#include "support/openpmix_client.h"
#include "support/served_job.h"
#include "support/sockets.h"
#include "support/status.h"

namespace openpmix_levels_test {

using namespace pmix;
using namespace pmix::test;

namespace {

constexpr uint32_t kApps = 3;

struct Release {
    const char* version;
    const char* encoding;
};
constexpr Release kReleases[] = {
    {"4.1.2", "v41"}, {"4.2.2", "v41"}, {"5.0.7", "v41"}, {"6.1.0", "v61"}, {"7.0.0rc1", "v61"}};

// A job of three applications of a process each, as a resource manager describes it.
class OpenPmixLevelsTest : public ::testing::TestWithParam<Release> {
  protected:
    void connect(OpenPmixClient& client, uint32_t rank) {
        client.request.version = GetParam().version;
        client.request.encoding = GetParam().encoding;
        client.request.stray_nul = client.request.encoding != "v61";
        ASSERT_TRUE(client.hello({"job", rank}));
    }
    OpenPmixLevelsTest() : server_(nullptr, serving_openpmix()) {
        InfoList infos;
        for (uint32_t app = 0; app < kApps; ++app) {
            InfoList of_app;
            const pmix_rank_t leader = app;
            of_app.append_number<uint32_t>(PMIX_APPNUM, app, PMIX_UINT32);
            of_app.append_number<uint32_t>(PMIX_APP_SIZE, 1, PMIX_UINT32);
            of_app.append(PMIX_APPLDR, &leader, PMIX_PROC_RANK);
            of_app.append_string(PMIX_WDIR, "/");
            of_app.append_string(PMIX_APP_ARGV, "program" + std::to_string(app));
            infos.append(PMIX_APP_INFO_ARRAY, std::move(common::array_value(std::move(of_app))).value());
        }
        for (pmix_rank_t rank = 0; rank < kApps; ++rank) {
            InfoList of_proc;
            of_proc.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
            of_proc.append_number<uint32_t>(PMIX_APPNUM, rank, PMIX_UINT32);
            // As hosts do that describe a process by all that they know of it.
            const pmix_rank_t leader = rank;
            of_proc.append(PMIX_APPLDR, &leader, PMIX_PROC_RANK);
            of_proc.append_string(PMIX_WDIR, "/");
            of_proc.append_number<uint32_t>(PMIX_LOCAL_SIZE, kApps, PMIX_UINT32);
            of_proc.append_number<uint32_t>(PMIX_REINCARNATION, 0, PMIX_UINT32);
            infos.append(PMIX_PROC_INFO_ARRAY, std::move(common::array_value(std::move(of_proc))).value());
        }
        InfoList of_session;
        of_session.append_number<uint32_t>(PMIX_SESSION_ID, 5, PMIX_UINT32);
        of_session.append_number<uint32_t>(PMIX_UNIV_SIZE, 7, PMIX_UINT32);
        infos.append(PMIX_SESSION_INFO_ARRAY, std::move(common::array_value(std::move(of_session))).value());
        char* regex = nullptr;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_regex(::pmix::server::local_hostname().c_str(), &regex));
        infos.append(PMIX_NODE_MAP, regex, PMIX_REGEX);
        std::free(regex);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_generate_ppn("0,1,2", &regex));
        infos.append(PMIX_PROC_MAP, regex, PMIX_REGEX);
        std::free(regex);
        uri_ = register_served_job(kApps, std::move(infos));
    }

    // No key of a level may stand by itself.
    static void expect_in_levels(const std::map<std::string, common::Value>& values, bool of_a_process) {
        for (const char* key : {PMIX_APPLDR, PMIX_APP_SIZE, PMIX_APP_ARGV, PMIX_WDIR, PMIX_LOCAL_SIZE, PMIX_LOCAL_PEERS,
                                PMIX_NODE_SIZE, PMIX_LOCALLDR, PMIX_PSET_NAME, PMIX_NODE_MAP, PMIX_PROC_MAP})
            EXPECT_EQ(0u, values.count(key)) << key;
        if (of_a_process) return;
        for (const char* key : {PMIX_HOSTNAME, PMIX_NODEID}) EXPECT_EQ(0u, values.count(key)) << key;
        // 4.1 reads a session's keys by themselves.
        if (std::string_view("4.1.2") == GetParam().version) return;
        EXPECT_EQ(0u, values.count(PMIX_UNIV_SIZE));
    }
    template <class Reply>
    void expect_objects_in_levels(const Reply& reply, const openpmix::Traits& traits) {
        for (const auto& object : reply.objects.objects) {
            openpmix::ProcData proc;
            expect_in_levels(values_in(object, traits, &proc), proc.proc.id.rank != PMIX_RANK_WILDCARD);
        }
    }

    ServerHere server_;
    std::string uri_;
};

}  // namespace

TEST_P(OpenPmixLevelsTest, AJobOfThreeApplications_EveryMessage_HasKeysInTheirLevels) {
    OpenPmixClient zero(uri_), one(uri_);
    connect(zero, 0);
    connect(one, 1);

    OpenPmixClient::Bytes payload;
    ASSERT_TRUE(one.receive(one.send(openpmix::JobDataRequest{}), &payload));
    openpmix::JobData job;
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::decode(payload, one.traits, &job));
    std::set<uint32_t> apps, ranks;
    std::map<std::string, common::Value> plain;
    for (auto& pair : job.values.pairs) {
        if (pair.key == PMIX_APP_INFO_ARRAY) {
            uint32_t number = 0;
            EXPECT_STATUS(PMIX_SUCCESS, common::infos_in(pair.value.get()).get(PMIX_APPNUM, &number));
            apps.insert(number);
        } else if (pair.key == PMIX_PROC_BLOB) {
            const pmix_byte_object_t& blob = pair.value.get().data.bo;
            openpmix::RankData rank;
            const auto facts = values_in({reinterpret_cast<const uint8_t*>(blob.bytes), blob.size}, one.traits, &rank);
            expect_in_levels(facts, true);
            EXPECT_EQ(1u, facts.count(PMIX_APPNUM)) << rank.rank.value;
            EXPECT_EQ(1u, facts.count(PMIX_HOSTNAME)) << rank.rank.value;
            ranks.insert(rank.rank.value);
        } else {
            plain.insert_or_assign(pair.key, std::move(pair.value));
        }
    }
    expect_in_levels(plain, false);
    EXPECT_EQ((std::set<uint32_t>{0, 1, 2}), apps);
    EXPECT_EQ((std::set<uint32_t>{0, 1, 2}), ranks);

    ASSERT_STATUS(PMIX_SUCCESS, commit_global(zero, "put", 10));
    struct Row {
        pmix_rank_t rank;
        const char* key;
    };
    const Row rows[] = {{0, "put"},
                        {0, PMIX_APPLDR},
                        {2, PMIX_WDIR},
                        {0, PMIX_REINCARNATION},
                        {0, PMIX_HOSTNAME},
                        {PMIX_RANK_WILDCARD, PMIX_APP_SIZE},
                        {PMIX_RANK_WILDCARD, PMIX_APPLDR},
                        {PMIX_RANK_WILDCARD, PMIX_LOCAL_SIZE},
                        {PMIX_RANK_WILDCARD, PMIX_JOB_SIZE},
                        {PMIX_RANK_UNDEF, "put"},
                        {PMIX_RANK_UNDEF, PMIX_APPLDR}};
    for (const Row& row : rows) {
        SCOPED_TRACE(std::string(row.key) + " of " + std::to_string(row.rank));
        const auto reply = one.ask<openpmix::GetReply>(get_of("job", row.rank, row.key));
        expect_objects_in_levels(reply, one.traits);
    }
}

// The application of a process is found in the job's arrays, which come with the answer.
TEST_P(OpenPmixLevelsTest, AKeyOfTheApplicationOfAProcess_IsAnsweredWithTheJob) {
    OpenPmixClient one(uri_);
    connect(one, 1);
    const auto reply = one.ask<openpmix::GetReply>(get_of("job", 2, PMIX_APPLDR));
    ASSERT_STATUS(PMIX_SUCCESS, reply.status.value);
    ASSERT_EQ(2u, reply.objects.objects.size());
    openpmix::ProcData job;
    const auto values = values_in(reply.objects.objects[0], one.traits, &job);
    EXPECT_EQ(PMIX_RANK_WILDCARD, job.proc.id.rank);
    EXPECT_EQ(1u, values.count(PMIX_APP_INFO_ARRAY));
}

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixLevelsTest, ::testing::ValuesIn(kReleases), [](const auto& release) {
    std::string name = release.param.version;
    std::replace(name.begin(), name.end(), '.', '_');
    return "V" + name;
});

}  // namespace openpmix_levels_test
