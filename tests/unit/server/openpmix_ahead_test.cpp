// SPDX-License-Identifier: BSD-3-Clause
// What a client of OpenPMIx's protocol is sent of others' data, of the processes that it will ask about next too.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>

#include "support/openpmix_client.h"
#include "support/served_job.h"
#include "support/status.h"

namespace openpmix_ahead_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;
using common::Rank;
using common::Value;

namespace {

constexpr Rank kRanks = 6;

// A job of six local ranks, of which the last one reads what the others have put.
class OpenPmixAheadTest : public ::testing::Test {
  protected:
    OpenPmixAheadTest() : server_(nullptr, serving_openpmix()), uri_(register_served_job(kRanks)) {}
    void SetUp() override {
        for (Rank rank = 0; rank < kRanks; ++rank) {
            clients_.emplace_back(uri_);
            ASSERT_TRUE(clients_.back().hello({"job", rank}));
        }
    }
    OpenPmixClient& reader() { return clients_.back(); }

    // Which ranks' values of a key a Get has brought.
    std::map<Rank, uint32_t> brought(Rank rank, const char* key, bool renews = false) {
        openpmix::GetRequest request = get_of("job", rank, key);
        if (renews) {
            InfoList infos;
            EXPECT_STATUS(PMIX_SUCCESS, infos.append_flag(PMIX_GET_REFRESH_CACHE, true));
            request.infos.infos = std::move(infos);
        }
        const auto reply = reader().ask<openpmix::GetReply>(request);
        EXPECT_STATUS(PMIX_SUCCESS, reply.status.value);
        std::map<Rank, uint32_t> values;
        for (const common::Bytes object : reply.objects.objects) {
            openpmix::ProcData proc;
            auto of_proc = values_in(object, reader().traits, &proc);
            EXPECT_EQ("job", proc.proc.id.nspace);
            EXPECT_EQ(1u, of_proc.count(key));
            values[proc.proc.id.rank] = of_proc[key].get().data.uint32;
        }
        return values;
    }
    using Brought = std::map<Rank, uint32_t>;

    ServerHere server_;
    std::string uri_;
    std::deque<OpenPmixClient> clients_;
};

}  // namespace

TEST_F(OpenPmixAheadTest, GetsThatFollowTheRanks_BringTheNextOnes) {
    for (Rank rank = 0; rank + 1 < kRanks; ++rank)
        ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[rank], "key", 10 * rank));
    EXPECT_EQ((Brought{{0, 0}}), brought(0, "key")) << "one Get is no loop";
    EXPECT_EQ((Brought{{1, 10}, {2, 20}, {3, 30}, {4, 40}}), brought(1, "key"));
}

TEST_F(OpenPmixAheadTest, ARankThatHasPutNothing_IsLeftOut) {
    for (Rank rank : {0u, 1u, 3u}) ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[rank], "key", 10 * rank));
    EXPECT_EQ((Brought{{0, 0}}), brought(0, "key"));
    EXPECT_EQ((Brought{{1, 10}, {3, 30}}), brought(1, "key"));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[2], "key", 21));
    EXPECT_EQ((Brought{{2, 21}}), brought(2, "key")) << "asked for by itself";
}

TEST_F(OpenPmixAheadTest, OtherGets_BringWhatTheyAskFor) {
    for (Rank rank = 0; rank + 1 < kRanks; ++rank)
        ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[rank], "key", 10 * rank));
    EXPECT_EQ((Brought{{3, 30}}), brought(3, "key"));
    EXPECT_EQ((Brought{{1, 10}}), brought(1, "key"));
    EXPECT_EQ((Brought{{2, 20}}), brought(2, "key", true)) << "what is renewed is that one";
}

TEST_F(OpenPmixAheadTest, GetsOfSeveralExchanges_AreNoLoop) {
    for (uint32_t step = 0; step < 3; ++step) {
        for (Rank rank = 0; rank + 1 < kRanks; ++rank)
            ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[rank], "key", 10 * rank + step));
        openpmix::FenceRequest fence;
        fence.procs.procs = {{"job", kRanks - 1}};
        ASSERT_STATUS(PMIX_SUCCESS, reader().status_of(fence));
        EXPECT_EQ((Brought{{step, 10 * step + step}}), brought(step, "key")) << "the one that was put last";
    }
}

TEST_F(OpenPmixAheadTest, LargeData_IsLeftToItsOwnGet) {
    for (Rank rank : {0u, 1u, 2u, 4u}) ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[rank], "key", 10 * rank));
    ASSERT_STATUS(PMIX_SUCCESS, commit_global(clients_[3], "key", 30));
    std::vector<uint8_t> values;
    openpmix::SectionData data;
    auto large = Value::string(std::string(size_t{65} << 10, 'x'));
    ASSERT_TRUE(large.ok());
    data.values.pairs.push_back({"large", std::move(*large)});
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, clients_[3].traits, &values));
    openpmix::CommitRequest commit;
    commit.sections.sections = {{PMIX_LOCAL, values}};
    ASSERT_STATUS(PMIX_SUCCESS, clients_[3].status_of(commit));
    EXPECT_EQ((Brought{{0, 0}}), brought(0, "key"));
    EXPECT_EQ((Brought{{1, 10}, {2, 20}}), brought(1, "key"));
    EXPECT_EQ((Brought{{3, 30}}), brought(3, "key"));
}

// Its PMIx_Commit has ended with success: what can be read of it is there, and nobody waits for the rest.
TEST_F(OpenPmixAheadTest, CommitThatCannotBeReadToItsEnd_KeepsWhatCanBe) {
    std::vector<uint8_t> values;
    openpmix::SectionData data;
    data.values.pairs.push_back({"first", Value::u32(1)});
    data.values.pairs.push_back({"second", Value::u32(2)});
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, clients_[0].traits, &values));
    values.push_back(0xff);
    openpmix::CommitRequest commit;
    commit.sections.sections = {{PMIX_LOCAL, values}, {PMIX_REMOTE, values}};
    EXPECT_STATUS(PMIX_SUCCESS, clients_[0].status_of(commit));
    EXPECT_EQ((Brought{{0, 1}}), brought(0, "first"));
    EXPECT_EQ((Brought{{0, 2}}), brought(0, "second"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reader().ask<openpmix::GetReply>(get_of("job", 0, "third")).status.value);
}

}  // namespace openpmix_ahead_test
