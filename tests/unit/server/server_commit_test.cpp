// SPDX-License-Identifier: BSD-3-Clause
// Commits that a server cannot take over: the process, the requesters of its keys and its fences learn it; a second
// try.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

#include "support/fake_client.h"
#include "support/status.h"

namespace server_commit_test {

using namespace pmix;
using namespace pmix::test;

namespace {

const ProcId kJob("job", PMIX_RANK_WILDCARD);
constexpr size_t kTooMuch = 100'000;  // more than the limit, less than a socket takes at once

// No file may grow beyond 64 KiB, shared memory included.
class NoRoom {
  public:
    NoRoom() {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        rlimit small = before_;
        small.rlim_cur = 64u << 10;
        EXPECT_EQ(0, ::setrlimit(RLIMIT_FSIZE, &small));
    }
    ~NoRoom() { ::setrlimit(RLIMIT_FSIZE, &before_); }

  private:
    rlimit before_{};
};

void commit(FakeClient& client, uint64_t generation, const std::string& key, size_t size, uint64_t resent_up_to = 0) {
    common::ByteWriter w;
    common::encode_string_value(w, std::string(size, 'x'));
    common::CommitRequest request;
    request.generation = generation;
    request.entries.push_back({PMIX_GLOBAL, key, w.view()});
    request.resent_up_to = resent_up_to;
    client.tell<Command::commit>(request);
}

struct Setting {
    explicit Setting(unsigned nodes)
        : module(host.module()), server(&module), a(server, {"job", 0}), b(server, {"job", 1}) {
        server.job("job", nodes, 2);
        EXPECT_STATUS(PMIX_SUCCESS, a.hello());
        EXPECT_STATUS(PMIX_SUCCESS, b.hello());
    }
    // A commit of b's that is refused; a has nothing to do with it.
    void refuse(uint64_t generation, const std::string& key) {
        NoRoom no_room;
        commit(b, generation, key, kTooMuch);
        std::optional<common::CommitRefusedNotify> told;
        EXPECT_TRUE(server.turn_until([&] {
            return (told = b.take_notify<Command::commit_refused, common::CommitRefusedNotify>()).has_value();
        }));
        EXPECT_EQ(generation, told->generation);
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, told->status);
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b;
};

}  // namespace

// rows: K38
TEST(ServerCommitTest, Commit_ThatDeletesAKey_HidesItFromPeersAndFromTheNextDirectModex) {
    Setting s(2);
    s.b.put("k", "value");
    s.b.put("stays", "value");
    s.server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 1}, "k")));
    common::CommitRequest request;
    request.generation = 3;
    request.entries.push_back({PMIX_DEL_GLOBAL, "k", {}});
    EXPECT_STATUS(PMIX_SUCCESS, s.b.ask<Command::commit>(request));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status_of(s.a, s.a.start_get({"job", 1}, "k"))) << "as one never put";
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 1}, "stays")));
    // One that waits for it gets the next value.
    const uint32_t waiting = s.a.start_get({"job", 1}, "k", 600);
    s.server.settle();
    EXPECT_FALSE(s.a.take(waiting));
    s.b.put("k", "value");
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, waiting));
}

// rows: K38
TEST(ServerCommitTest, Commit_WithADeletionThatNoClientSends_IsRefused) {
    Setting s(1);
    s.b.put("k", "value");
    s.server.settle();
    const uint8_t text[] = {3, 0, 1, 0, 0, 0, 0};
    const common::CommitEntry wrong[] = {{PMIX_DEL_GLOBAL, "k", text},
                                         {PMIX_DEL_INTERNAL, "k", {}},
                                         {PMIX_DEL_INTERNAL + 1, "k", {}},
                                         {PMIX_DEL_LOCAL, "", {}},
                                         {PMIX_GLOBAL, "k", dstore::kDeletedValue},
                                         {PMIX_GLOBAL, "k", {}}};
    uint64_t generation = 1;
    for (const common::CommitEntry& entry : wrong) {
        common::CommitRequest request;
        request.generation = ++generation;
        request.entries.push_back(entry);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, s.b.ask<Command::commit>(request)) << generation;
    }
    EXPECT_EQ("value", s.a.read_text(1, "k"));
}

// rows: K8 K20
TEST(ServerCommitTest, Get_OfRankWhoseCommitWasRefused_AnswersItsStatus) {
    Setting s(1);
    const uint32_t before = s.a.start_get({"job", 1}, "big");
    s.server.settle();
    EXPECT_FALSE(s.a.take(before));
    s.refuse(1, "big");
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, before));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, s.a.start_get({"job", 1}, "big"))) << "asked afterwards";
    EXPECT_EQ(0u, s.server.parts().get.waiting());
    EXPECT_FALSE((s.a.take_notify<Command::commit_refused, common::CommitRefusedNotify>()));
    // What fits is taken over, and is found; what is missing is still missing.
    commit(s.b, 2, "small", 10);
    s.server.settle();
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 1}, "small")));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, s.a.start_get({"job", 1}, "big")));
}

// rows: K8 F1
TEST(ServerCommitTest, Fence_WithMemberWhoseCommitWasRefused_EndsWithItsStatusForAll) {
    Setting s(1);
    s.refuse(1, "big");
    for (int round = 0; round < 2; ++round) {
        const uint32_t fa = s.a.start_fence({kJob}, round == 0);
        const uint32_t fb = s.b.start_fence({kJob});
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, fa));
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.b, fb));
    }
    const uint32_t alone = s.a.start_fence({{"job", 0}});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, alone)) << "of others";
}

// rows: F4 U5
// proves: PMIx_Fence PMIX_LOCAL_COLLECTIVE_STATUS server
TEST(ServerCommitTest, Fence_OverNodesAfterRefusedCommit_CarriesItInTheLocalStatus) {
    Setting s(2);
    s.refuse(1, "big");
    const uint32_t fb = s.b.start_fence({kJob}, true);
    const uint32_t fa = s.a.start_fence({kJob}, true);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, fa));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.b, fb));
    const Seen* seen = s.host.last("fence");
    ASSERT_NE(nullptr, seen);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, number_of(seen->infos, PMIX_LOCAL_COLLECTIVE_STATUS));
}

// rows: K8
TEST(ServerCommitTest, Commit_ThatSendsAllAgain_EndsTheRefusal) {
    Setting s(1);
    s.refuse(1, "big");
    s.refuse(2, "bigger");
    commit(s.b, 3, "big", kTooMuch, 1);
    s.server.settle();
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, status_of(s.a, s.a.start_get({"job", 1}, "bigger")))
        << "the second is still missing";
    commit(s.b, 4, "bigger", kTooMuch, 2);
    s.server.settle();
    for (const char* key : {"big", "bigger"})
        EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, s.a.start_get({"job", 1}, key)));
    const uint32_t fa = s.a.start_fence({kJob}), fb = s.b.start_fence({kJob});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, fa));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.b, fb));
}

// rows: K8 U6
TEST(ServerCommitTest, DirectModexRequest_ForRankWhoseCommitWasRefused_AnswersItsStatus) {
    Setting s(2);
    std::vector<pmix_status_t> answers;
    const auto ask = [&] {
        s.server.on_loop([&] {
            s.server.parts().get.modex_request({"job", 1},
                                               [&](pmix_status_t rc, common::Bytes) { answers.push_back(rc); });
            return 0;
        });
    };
    ask();
    s.server.settle();
    EXPECT_TRUE(answers.empty());
    s.refuse(1, "big");
    EXPECT_TRUE(s.server.turn_until([&] { return answers.size() == 1; }));
    ask();
    EXPECT_TRUE(s.server.turn_until([&] { return answers.size() == 2; }));
    EXPECT_EQ(std::vector<pmix_status_t>(2, PMIX_ERR_OUT_OF_RESOURCE), answers);
}

// rows: K8
TEST(ServerCommitTest, RefusedCommit_OfCloneThatEnds_CountsNoMore) {
    Setting s(1);
    FakeClient clone(s.server, {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, clone.hello());
    s.refuse(1, "big");
    s.b.kill();
    const server::Nspace* job = s.server.parts().registry.find("job");
    EXPECT_TRUE(s.server.turn_until([&] { return job->clients.at(1).connections == 1; }));
    EXPECT_TRUE(job->refused_commits.empty());
    const uint32_t fa = s.a.start_fence({kJob}), fb = clone.start_fence({kJob});
    EXPECT_STATUS(PMIX_SUCCESS, status_of(s.a, fa));
    EXPECT_STATUS(PMIX_SUCCESS, status_of(clone, fb));
}

}  // namespace server_commit_test
