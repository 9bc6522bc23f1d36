// SPDX-License-Identifier: BSD-3-Clause
// What others have put, at a server that speaks OpenPMIx's protocol: asked for again after an exchange, since the
// server does not tell of what was put since, and asked for ahead where Gets follow the ranks.
#include <gtest/gtest.h>
#include <pmix.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "client/openpmix/freshness.h"
#include "common/base/mutex.h"
#include "openpmix/read_ahead.h"
#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_fresh_test {
namespace {

namespace theirs = openpmix;
using client::Freshness;
using common::Value;
using openpmix::ReadAhead;

constexpr pmix_rank_t kProcs = 70;

template <class Condition>
void eventually(Condition condition) {
    LongWait wait;
    while (!condition() && !wait.over()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(condition());
}

// A job of kProcs, or `procs`. Each of them has put "key", with its rank and `round` in it, and nothing else.
class OpenPmixFresh : public OpenPmixProcess {
  protected:
    struct Asked {
        pmix_rank_t rank;
        std::string key;
        bool at_once;
    };

    void SetUp() override {
        OpenPmixProcess::SetUp();
        server_->on(theirs::Command::job_data, [this](uint32_t tag, common::Bytes) {
            theirs::JobData data;
            data.nspace = theirs::Text("job");
            data.values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(procs)});
            server_->send(tag, data);
        });
        server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes payload) {
            const auto request = server_->decoded<theirs::GetRequest>(payload);
            const common::InfoView infos(request.infos.infos.data(), request.infos.infos.size());
            const Asked asked{request.rank.value, request.key ? request.key->text : "", infos.flag(PMIX_IMMEDIATE)};
            {
                common::MutexLock lock(mutex_);
                asked_.push_back(asked);
            }
            if (!instead || !instead(tag, asked)) answer(tag, asked.rank);
        });
    }
    void answer(uint32_t tag, pmix_rank_t rank, size_t more = 0) {
        theirs::ProcData data;
        data.proc.id = {"job", rank};
        data.values.pairs.push_back({"key", Value::u32(rank + 1000 * round)});
        if (more != 0) data.values.pairs.push_back({"more", OpenPmixServer::bytes(OpenPmixServer::Bytes(more, 7))});
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    }
    std::vector<Asked> take_asked() {
        common::MutexLock lock(mutex_);
        return std::exchange(asked_, {});
    }
    static void put() {
        pmix_value_t value{};
        value.type = PMIX_UINT32;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "mine", &value));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    }
    static void fence() { ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0)); }
    // Until the server has answered so many Gets.
    void await_asked(size_t count) {
        eventually([&] {
            common::MutexLock lock(mutex_);
            return asked_.size() >= count;
        });
    }

    uint32_t procs = kProcs;  // before init()
    std::atomic<uint32_t> round{0};
    std::function<bool(uint32_t tag, const Asked& asked)> instead;  // true: has answered, or will

  private:
    common::Mutex mutex_;
    std::vector<Asked> asked_ GUARDED_BY(mutex_);
};

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixFresh,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

// ---- which may be old ----

// Of the own job, and of another one.
class OpenPmixFreshness : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Jobs, OpenPmixFreshness, ::testing::Values("job", "elsewhere"));

TEST_P(OpenPmixFreshness, FetchedBeforeAnExchange_MayBeOld) {
    Freshness freshness;
    freshness.set_own(GetParam());
    freshness.note_fetched({"job", 1}, freshness.exchanges());
    EXPECT_FALSE(freshness.may_be_old("job", 1)) << "nothing was exchanged";
    EXPECT_TRUE(freshness.is_new("job", 1));
    const uint64_t asked = freshness.exchanges();
    freshness.note_exchange();
    EXPECT_TRUE(freshness.may_be_old("job", 1));
    EXPECT_FALSE(freshness.is_new("job", 1));
    EXPECT_FALSE(freshness.may_be_old("job", 2)) << "nothing of it is here";
    EXPECT_FALSE(freshness.is_new("job", 2));
    EXPECT_FALSE(freshness.may_be_old("other", 1));
    freshness.note_fetched({"job", 1}, asked);
    EXPECT_TRUE(freshness.may_be_old("job", 1)) << "asked before, answered after";
    freshness.note_fetched({"job", 1}, freshness.exchanges());
    freshness.note_fetched({"job", 1}, asked);
    EXPECT_TRUE(freshness.is_new("job", 1)) << "an older answer behind a newer one";
    freshness.forget("unknown");
    EXPECT_TRUE(freshness.is_new("job", 1));
    if (std::string_view(GetParam()) == "job") return;  // which nobody forgets
    freshness.forget("job");
    EXPECT_FALSE(freshness.is_new("job", 1));
}

// In a table that grows, and beyond it.
TEST_P(OpenPmixFreshness, ManyRanks_AreToldApart) {
    Freshness freshness;
    freshness.set_own(GetParam());
    const std::vector<pmix_rank_t> ranks = {0, 63, 64, 5, 1000, 65535, 65536, 2000000, 7};
    for (size_t i = 0; i < ranks.size(); ++i) {
        freshness.note_fetched({"job", ranks[i]}, freshness.exchanges());
        EXPECT_FALSE(freshness.is_new("job", ranks[i] + 1)) << ranks[i];
        for (size_t k = 0; k <= i; ++k) {
            EXPECT_EQ(k == i, freshness.is_new("job", ranks[k])) << ranks[k];
            EXPECT_EQ(k != i, freshness.may_be_old("job", ranks[k])) << ranks[k];
        }
        freshness.note_exchange();
    }
}

// What a thread sees as old is not new: it has been fetched before an exchange that was before the look.
TEST(OpenPmixFreshnessThreads, LooksWhileFetching) {
    Freshness freshness;
    freshness.set_own("job");
    std::atomic<bool> over{false};
    std::atomic<uint64_t> seen{0};
    std::thread looks([&] {
        while (!over) {
            for (pmix_rank_t rank = 0; rank < 2000; rank += 7) {
                const uint64_t before = freshness.exchanges();
                if (freshness.is_new("job", rank) && before == freshness.exchanges()) ++seen;
            }
        }
    });
    for (int round = 0; round < 50; ++round) {
        for (pmix_rank_t rank = 0; rank < 2000; ++rank) {
            freshness.note_fetched({"job", rank}, freshness.exchanges());
            EXPECT_TRUE(freshness.is_new("job", rank));
        }
        freshness.note_exchange();
        for (pmix_rank_t rank = 0; rank < 2000; ++rank) EXPECT_TRUE(freshness.may_be_old("job", rank));
    }
    over = true;
    looks.join();
}

// ---- at a server ----

TEST_P(OpenPmixFresh, Get_AfterAFence_HasWhatWasPutSince) {
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    EXPECT_EQ(7u, number(proc(7), "key"));
    EXPECT_EQ(1u, take_asked().size());
    for (round = 1; round < 4; ++round) {
        fence();
        const uint32_t now = 7 + 1000 * round;
        EXPECT_EQ(now, number(proc(7), "key"));
        EXPECT_EQ(now, number(proc(7), "key"));
        const auto asked = take_asked();
        ASSERT_EQ(1u, asked.size()) << "once after each";
        EXPECT_TRUE(asked[0].at_once) << "there is a value, which would do";
    }
}

TEST_P(OpenPmixFresh, Get_WithACallback_AfterAFence_HasWhatWasPutSince) {
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    round = 1;
    fence();
    std::atomic<uint32_t> found{0};
    const auto callback = [](pmix_status_t status, pmix_value_t* value, void* cbdata) {
        *static_cast<std::atomic<uint32_t>*>(cbdata) = status == PMIX_SUCCESS ? value->data.uint32 : 1;
    };
    const pmix_proc_t peer = proc(7);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(&peer, "key", nullptr, 0, callback, &found));
    eventually([&] { return found != 0; });
    EXPECT_EQ(1007u, found);
}

TEST_P(OpenPmixFresh, Get_AfterAFenceThatFailed_IsNotAskedAgain) {
    server_->answer_status(theirs::Command::fence, PMIX_ERR_TIMEOUT);
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(7u, number(proc(7), "key"));
    EXPECT_EQ(1u, take_asked().size());
}

TEST_P(OpenPmixFresh, Get_OfWhatTheServerDoesNotHaveAnyMore_HasTheValue) {
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    fence();
    instead = [this](uint32_t tag, const Asked&) {
        server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        return true;
    };
    EXPECT_EQ(7u, number(proc(7), "key"));
    EXPECT_EQ(2u, take_asked().size());
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(7), "unknown", &value));
    const auto asked = take_asked();
    ASSERT_EQ(1u, asked.size());
    EXPECT_FALSE(asked[0].at_once) << "it may still be put";
}

TEST_P(OpenPmixFresh, Get_Optional_AsksNobody) {
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    fence();
    round = 1;
    pmix_info_t optional;
    PMIX_INFO_LOAD(&optional, PMIX_OPTIONAL, nullptr, PMIX_BOOL);
    Value value;
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(7), "key", &value, &optional, 1));
    EXPECT_EQ(7u, value.get().data.uint32);
    EXPECT_EQ(1u, take_asked().size());
}

TEST_P(OpenPmixFresh, Get_AfterTheServerHasGone_HasTheValue) {
    init();
    EXPECT_EQ(7u, number(proc(7), "key"));
    fence();
    server_->stop();
    eventually([&] {
        Value value;
        return get(proc(7), "key", &value) == PMIX_SUCCESS && value.get().data.uint32 == 7;
    });
}

TEST_P(OpenPmixFresh, Gets_InTheOrderOfRanks_AreAskedForAhead) {
    init();
    fence();
    for (pmix_rank_t rank = 1; rank < kProcs; ++rank) EXPECT_EQ(rank, number(proc(rank), "key"));
    std::map<pmix_rank_t, int> times;
    size_t by_key = 0;
    for (const Asked& asked : take_asked()) {
        ++times[asked.rank];
        by_key += !asked.key.empty();
        EXPECT_EQ(asked.key.empty(), asked.at_once) << asked.rank;
    }
    EXPECT_EQ(kProcs - 1, times.size());
    for (const auto& [rank, count] : times) EXPECT_EQ(1, count) << rank;
    EXPECT_LT(by_key, 10u) << "the others went with them";
}

TEST_P(OpenPmixFresh, Gets_WithImmediate_AreAskedForAhead) {
    init();
    fence();
    pmix_info_t at_once;
    PMIX_INFO_LOAD(&at_once, PMIX_IMMEDIATE, nullptr, PMIX_BOOL);
    for (pmix_rank_t rank = 1; rank < kProcs; ++rank) {
        Value value;
        EXPECT_STATUS(PMIX_SUCCESS, get(proc(rank), "key", &value, &at_once, 1));
    }
    size_t by_key = 0;
    for (const Asked& asked : take_asked()) by_key += !asked.key.empty();
    EXPECT_LT(by_key, 10u);
}

TEST_P(OpenPmixFresh, Gets_AskedForAheadBeforeAnExchange_AreAskedForAgain) {
    init();
    fence();
    EXPECT_EQ(1u, number(proc(1), "key"));
    await_asked(1 + ReadAhead::kFirst);
    round = 1;
    fence();
    EXPECT_EQ(1003u, number(proc(3), "key"));
}

TEST_P(OpenPmixFresh, Gets_BeforeAnExchange_AreNotAskedForAhead) {
    init();
    for (pmix_rank_t rank = 1; rank < 6; ++rank) EXPECT_EQ(rank, number(proc(rank), "key"));
    const auto asked = take_asked();
    EXPECT_EQ(5u, asked.size());
    for (const Asked& each : asked) EXPECT_EQ("key", each.key);
}

TEST_P(OpenPmixFresh, Get_OfWhatIsOnItsWay_WaitsForIt) {
    std::atomic<uint32_t> held{0};
    instead = [&](uint32_t tag, const Asked& asked) {
        if (asked.rank != 2 || !asked.key.empty()) return false;
        held = tag;
        return true;
    };
    init();
    fence();
    EXPECT_EQ(1u, number(proc(1), "key"));
    await_asked(1 + ReadAhead::kFirst);
    std::atomic<uint32_t> found{0};
    std::thread other([&] { found = static_cast<uint32_t>(number(proc(2), "key")); });
    EXPECT_EQ(3u, number(proc(3), "key"));
    EXPECT_EQ(0u, found);
    EXPECT_EQ(5u, take_asked().size());
    answer(held, 2);
    other.join();
    EXPECT_EQ(2u, found);
    EXPECT_EQ(0u, take_asked().size()) << "it did not ask for itself";
}

TEST_P(OpenPmixFresh, Get_OfWhatDidNotComeAhead_IsAskedFor) {
    instead = [this](uint32_t tag, const Asked& asked) {
        if (!asked.key.empty()) return false;
        server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        return true;
    };
    init();
    fence();
    for (pmix_rank_t rank = 1; rank < 20; ++rank) EXPECT_EQ(rank, number(proc(rank), "key"));
    size_t by_key = 0;
    for (const Asked& asked : take_asked()) {
        if (asked.key.empty()) continue;
        ++by_key;
        EXPECT_FALSE(asked.at_once);
    }
    EXPECT_EQ(19u, by_key);
}

TEST_P(OpenPmixFresh, LargeData_IsNotAskedForAhead) {
    instead = [this](uint32_t tag, const Asked& asked) {
        answer(tag, asked.rank, size_t{1} << 17);
        return true;
    };
    init();
    fence();
    for (pmix_rank_t rank = 1; rank < 40; ++rank) EXPECT_EQ(rank, number(proc(rank), "key"));
    size_t ahead = 0;
    for (const Asked& asked : take_asked()) ahead += asked.key.empty();
    EXPECT_LE(ahead, size_t{ReadAhead::kFirst});
}

TEST_P(OpenPmixFresh, ServerEnds_WhatWaitsForDataAheadEnds) {
    std::atomic<uint32_t> held{0};
    instead = [&](uint32_t tag, const Asked& asked) {
        if (asked.rank != 2) return false;
        held = tag;
        return true;
    };
    init();
    fence();
    EXPECT_EQ(1u, number(proc(1), "key"));
    eventually([&] { return held != 0; });
    std::atomic<pmix_status_t> status{PMIX_SUCCESS};
    std::thread other([&] {
        Value value;
        status = get(proc(2), "key", &value);
    });
    server_->stop();  // it reads `held`
    other.join();
    EXPECT_TRUE(status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION) << status;
}

TEST_P(OpenPmixFresh, AnswerAheadThatIsNone_IsAskedForByItself) {
    instead = [this](uint32_t tag, const Asked& asked) {
        if (!asked.key.empty()) return false;
        server_->send_bytes(tag, {0xff, 0xff, 0xff});
        return true;
    };
    init();
    fence();
    for (pmix_rank_t rank = 1; rank < 6; ++rank) EXPECT_EQ(rank, number(proc(rank), "key"));
}

TEST_P(OpenPmixFresh, TheOnlyPeer_IsAskedWithTheFenceAfterAPut) {
    procs = 2;
    init();
    for (const uint32_t value : {1u, 1001u}) {
        round = value / 1000;
        put();
        fence();
        await_asked(1);
        EXPECT_EQ(value, number(proc(1), "key"));
        const auto asked = take_asked();
        ASSERT_EQ(1u, asked.size()) << "the Get had nothing to ask";
        EXPECT_EQ(1u, asked[0].rank);
        EXPECT_EQ("", asked[0].key);
        EXPECT_TRUE(asked[0].at_once);
    }
    round = 2;
    fence();
    EXPECT_EQ(2001u, number(proc(1), "key"));
    const auto asked = take_asked();
    ASSERT_EQ(1u, asked.size());
    EXPECT_EQ("key", asked[0].key) << "nobody has put: only the Get asks";
}

TEST_P(OpenPmixFresh, SeveralPeers_AreNotAskedWithTheFence) {
    procs = 3;
    init();
    put();
    fence();
    EXPECT_EQ(2u, number(proc(2), "key"));
    const auto asked = take_asked();
    ASSERT_EQ(1u, asked.size());
    EXPECT_EQ("key", asked[0].key);
}

TEST_P(OpenPmixFresh, TheOnlyPeer_WithLargeData_IsAskedOnce) {
    procs = 2;
    instead = [this](uint32_t tag, const Asked& asked) {
        answer(tag, asked.rank, size_t{1} << 17);
        return true;
    };
    init();
    put();
    fence();
    await_asked(1);
    EXPECT_EQ(1u, number(proc(1), "key"));
    put();
    fence();
    EXPECT_EQ(1u, number(proc(1), "key"));
    const auto asked = take_asked();
    ASSERT_EQ(2u, asked.size());
    EXPECT_EQ("", asked[0].key);
    EXPECT_EQ("key", asked[1].key);
}

}  // namespace
}  // namespace pmix::test::openpmix_fresh_test
