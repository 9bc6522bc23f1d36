// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's coordinator of groups whose leaders have their number but not their names: which callers belong together.
//
// bootstrap.c between frames that the test makes and a mesh that only notes what is answered.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

extern "C" {
#include "loop.h"
#include "node.h"
}

#include "support/status.h"

namespace {

using Members = std::vector<std::pair<std::string, uint32_t>>;

struct Answer {
    pmix_status_t status;
    Members members;
};

struct World {
    std::map<uint64_t, Answer> answered;  // by request
    std::map<int, std::pair<void (*)(void*), void*>> timers;
    int next_timer = 0;
    Members forming;  // what the next answers say
};
World* world;

struct Proc {
    const char* job;
    uint32_t rank;
};

class PmixrunBootstrap : public ::testing::Test {
  protected:
    void SetUp() override {
        world = &world_;
        for (const char* name : {"one", "two", "three", "four"}) {
            app* program = static_cast<app*>(xcalloc(1, sizeof(app)));
            program->size = 4;
            pmix_proc_t nobody;
            PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
            jobs_[name] = job_new(name, 1, 2, layout{BY_NODE, BY_NODE, 0}, program, 1, &nobody);
            jobs_add(jobs_[name]);
        }
    }
    void TearDown() override {
        while (!jobs_.empty()) end(jobs_.begin()->first);
        EXPECT_EQ(0u, world_.timers.size());
    }
    void end(const std::string& name) {
        job* job = jobs_.at(name);
        for (uint32_t r = 0; r < job->size; ++r) job->procs[r].phase = PROC_ENDED;
        bootstrap_proc_ended();
        bootstrap_job_ended(name.c_str());
        jobs_remove(job);
        jobs_.erase(name);
    }
    void end(const Proc& proc) {
        jobs_.at(proc.job)->procs[proc.rank].phase = PROC_ENDED;
        bootstrap_proc_ended();
    }
    // One process calls: a leader (leaders > 0) with those that it adds, or a process that names nobody.
    uint64_t calls(const Proc& proc, uint64_t leaders = 0, const std::vector<Proc>& added = {}, uint64_t seconds = 0,
                   uint32_t uid = 1000, pmix_status_t failed = PMIX_SUCCESS) {
        std::vector<pmix_proc_t> procs(added.size());
        for (size_t i = 0; i < added.size(); ++i) PMIX_LOAD_PROCID(&procs[i], added[i].job, added[i].rank);
        pmix_proc_t self;
        PMIX_LOAD_PROCID(&self, proc.job, proc.rank);
        buffer body{};
        wire_put_string(&body, "group");
        wire_put_proc(&body, &self);
        wire_put_u32(&body, uid);
        wire_put_u64(&body, leaders);
        wire_put_procs(&body, procs.data(), procs.size());
        wire_put_u8(&body, 0);
        wire_put_u64(&body, seconds);
        wire_put_u32(&body, static_cast<uint32_t>(failed));
        wire_put_bytes(&body, nullptr, 0);
        on_bootstrap(0, ++request_, &body);
        wire_free(&body);
        return request_;
    }
    bool open(uint64_t request) const { return world_.answered.count(request) == 0; }
    pmix_status_t status(uint64_t request) const {
        return open(request) ? PMIX_ERR_WOULD_BLOCK : world_.answered.at(request).status;
    }
    Members members(uint64_t request) const { return open(request) ? Members() : world_.answered.at(request).members; }
    void fire_timers() {
        while (!world_.timers.empty()) {
            const auto [fire, argument] = world_.timers.begin()->second;
            world_.timers.erase(world_.timers.begin());
            fire(argument);
        }
    }

    World world_;
    std::map<std::string, job*> jobs_;
    uint64_t request_ = 0;
};

constexpr uint32_t kAll = PMIX_RANK_WILDCARD;

}  // namespace

extern "C" {
struct node node;
int mesh_self(void) {
    return 0;
}
int mesh_nodes(void) {
    return 2;
}
bool mesh_alive(int) {
    return true;
}
void mesh_reply(int, uint64_t id, pmix_status_t status, const struct buffer* body) {
    EXPECT_EQ(0u, world->answered.count(id)) << "once";
    buffer view = wire_view(body->data, body->size);
    if (status == PMIX_SUCCESS) status = static_cast<pmix_status_t>(wire_get_u32(&view));
    world->answered[id] = {status, status == PMIX_SUCCESS ? world->forming : Members()};
}
void groups_forget_departures(const char*, const pmix_proc_t*, size_t) {}
void groups_put_answer(struct buffer*, bool, const pmix_proc_t* members, size_t nmembers, const struct buffer*) {
    world->forming.clear();
    for (size_t i = 0; i < nmembers; ++i) world->forming.emplace_back(members[i].nspace, members[i].rank);
}
struct timer* loop_after(double, void (*fire)(void*), void* argument) {
    world->timers[++world->next_timer] = {fire, argument};
    return reinterpret_cast<struct timer*>(static_cast<uintptr_t>(world->next_timer));
}
void loop_cancel(struct timer* timer) {
    if (timer != nullptr) world->timers.erase(static_cast<int>(reinterpret_cast<uintptr_t>(timer)));
}
}

// rows: R1
TEST_F(PmixrunBootstrap, Add_Wildcard_StandsForTheWholeJob) {
    std::vector<uint64_t> calls_of;
    calls_of.push_back(calls({"one", 2}));  // before any leader
    calls_of.push_back(calls({"one", 0}, 2, {{"one", kAll}, {"one", 3}}));
    calls_of.push_back(calls({"two", 1}, 2, {{"two", kAll}}));
    for (const uint32_t rank : {1u, 3u}) calls_of.push_back(calls({"one", rank}));
    for (const uint32_t rank : {0u, 2u}) calls_of.push_back(calls({"two", rank}));
    for (const uint64_t id : calls_of) EXPECT_TRUE(open(id)) << "one is missing";
    calls_of.push_back(calls({"two", 3}));
    const Members all = {{"one", 0}, {"one", 1}, {"one", 2}, {"one", 3},
                         {"two", 0}, {"two", 1}, {"two", 2}, {"two", 3}};
    for (const uint64_t id : calls_of) {
        EXPECT_STATUS(PMIX_SUCCESS, status(id));
        EXPECT_EQ(all, members(id));
    }
}

// rows: R8
TEST_F(PmixrunBootstrap, Add_WildcardWithADeadProcess_Fails) {
    const uint64_t leader = calls({"one", 0}, 1, {{"one", kAll}});
    const uint64_t member = calls({"one", 1});
    EXPECT_TRUE(open(leader));
    end(Proc{"one", 2});
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status(leader));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status(member));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status(calls({"one", 3}))) << "it is late";
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status(calls({"two", 0}, 1, {{"no-such-job", kAll}})));
}

// The name is all that a process which was added knows: its leader says which group is meant. rows: R1
TEST_F(PmixrunBootstrap, SameName_OtherNumberOfLeaders_IsAnotherGroup) {
    const uint64_t a = calls({"one", 0}, 2, {{"one", 1}}), x = calls({"three", 0}, 1, {{"three", 1}});
    const uint64_t y = calls({"three", 1});
    EXPECT_EQ((Members{{"three", 0}, {"three", 1}}), members(x));
    EXPECT_EQ(members(x), members(y));
    EXPECT_TRUE(open(a));
    const uint64_t b = calls({"one", 1}), c = calls({"two", 0}, 2);
    EXPECT_EQ((Members{{"one", 0}, {"one", 1}, {"two", 0}}), members(a));
    EXPECT_EQ(members(a), members(b));
    EXPECT_EQ(members(a), members(c));
}

// rows: R1
TEST_F(PmixrunBootstrap, SameName_OtherUser_IsAnotherGroup) {
    const uint64_t a = calls({"one", 0}, 2), x = calls({"three", 0}, 2, {}, 0, 1001);
    EXPECT_TRUE(open(a));
    EXPECT_TRUE(open(x));
    const uint64_t y = calls({"four", 0}, 2, {}, 0, 1001), b = calls({"two", 0}, 2);
    EXPECT_EQ((Members{{"one", 0}, {"two", 0}}), members(a));
    EXPECT_EQ(members(a), members(b));
    EXPECT_EQ((Members{{"four", 0}, {"three", 0}}), members(x));
    EXPECT_EQ(members(x), members(y));
}

// All leaders of one are there, its members are not yet: the next two are others. rows: R1
TEST_F(PmixrunBootstrap, SameName_AllLeadersHaveCalled_TheNextOnesFormAnotherGroup) {
    const uint64_t a = calls({"one", 0}, 2, {{"one", 1}}), b = calls({"two", 0}, 2);
    const uint64_t x = calls({"three", 0}, 2), y = calls({"four", 0}, 2);
    EXPECT_EQ((Members{{"four", 0}, {"three", 0}}), members(x));
    EXPECT_EQ(members(x), members(y));
    EXPECT_TRUE(open(a));
    const uint64_t c = calls({"one", 1});
    EXPECT_EQ((Members{{"one", 0}, {"one", 1}, {"two", 0}}), members(c));
    EXPECT_EQ(members(c), members(b));
}

// rows: R1
TEST_F(PmixrunBootstrap, Leaders_WithDifferentNumbersAndACommonMember_AreRefused) {
    const uint64_t a = calls({"one", 0}, 2, {{"one", 1}, {"one", 2}}), m = calls({"one", 1});
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status(calls({"two", 0}, 3, {{"one", kAll}})));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status(a));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status(m));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status(calls({"one", 2}))) << "it is late";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, status(calls({"three", 0}, 2))) << "the second leader is late";
    // The same processes may begin again.
    const uint64_t again = calls({"one", 0}, 1, {{"one", 1}}), member = calls({"one", 1});
    EXPECT_STATUS(PMIX_SUCCESS, status(again));
    EXPECT_STATUS(PMIX_SUCCESS, status(member));
}

// rows: R1 R11
TEST_F(PmixrunBootstrap, Member_ThatNobodyAdds_IsToldWhenItsJobHasTheGroup) {
    const uint64_t other = calls({"three", 1}), lost = calls({"one", 3}), timed = calls({"one", 2}, 0, {}, 5);
    const uint64_t a = calls({"one", 0}, 1, {{"one", 1}});
    EXPECT_TRUE(open(lost)) << "its leader may be another";
    calls({"one", 1});
    EXPECT_STATUS(PMIX_SUCCESS, status(a));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(lost));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(timed));
    EXPECT_TRUE(open(other)) << "of a job that has no part in it: its leader is still to call";
    EXPECT_EQ((Members{{"three", 0}, {"three", 1}}), members(calls({"three", 0}, 1, {{"three", 1}})));
    EXPECT_STATUS(PMIX_SUCCESS, status(other));
}

// rows: R8 R11
TEST_F(PmixrunBootstrap, Member_ThatNobodyAdds_EndsWithItsLimitAndItsProcess) {
    const uint64_t timed = calls({"one", 2}, 0, {}, 5), ended = calls({"one", 3});
    fire_timers();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status(timed));
    end(Proc{"one", 3});
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status(ended));
    const uint64_t leader = calls({"one", 0}, 1, {{"one", 2}});
    EXPECT_TRUE(open(leader)) << "it has given up and must call again";
    EXPECT_STATUS(PMIX_SUCCESS, status(calls({"one", 2})));
    EXPECT_STATUS(PMIX_SUCCESS, status(leader));
}

// rows: R11
TEST_F(PmixrunBootstrap, Limit_OfAnyCaller_EndsItForAll) {
    const uint64_t a = calls({"one", 0}, 2, {{"one", 1}, {"one", 2}}), b = calls({"one", 1}, 0, {}, 5);
    fire_timers();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status(a));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status(b));
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status(calls({"one", 2}))) << "late";
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status(calls({"two", 0}, 2))) << "late";
    const uint64_t c = calls({"one", 0}, 2), d = calls({"two", 0}, 2);
    EXPECT_EQ((Members{{"one", 0}, {"two", 0}}), members(c));
    EXPECT_STATUS(PMIX_SUCCESS, status(d));
}

// A first node has failed it and was lost: its callers bring that here, where the others call. rows: R1
TEST_F(PmixrunBootstrap, Failure_OfAnEarlierFirstNode_EndsTheLateCallers) {
    const pmix_status_t lost = PMIX_ERR_PROC_TERM_WO_SYNC;
    const auto brings = [&](const Proc& proc, uint64_t leaders, const std::vector<Proc>& added) {
        return calls(proc, leaders, added, 0, 1000, lost);
    };
    const uint64_t early = calls({"one", 1});
    brings({"one", 2}, 0, {});
    EXPECT_TRUE(open(early));
    brings({"one", 0}, 2, {{"one", 1}, {"one", 3}});
    EXPECT_STATUS(lost, status(early));
    EXPECT_STATUS(lost, status(calls({"two", 0}, 2))) << "the other leader is late";
    EXPECT_STATUS(lost, status(calls({"one", 3}))) << "so is a process that was added";
    // All have their answer: the name is free for the next group.
    const uint64_t a = calls({"one", 0}, 2), b = calls({"two", 0}, 2);
    EXPECT_STATUS(PMIX_SUCCESS, status(a));
    EXPECT_STATUS(PMIX_SUCCESS, status(b));
}
