// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's collectives: who comes late to an operation that has failed elsewhere, or that a job's end ended.
//
// groups.c and collective.c between frames that the test makes and a mesh that only notes what is answered.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

extern "C" {
#include "loop.h"
#include "node.h"
}

#include "support/sanitizers.h"
#include "support/status.h"

namespace {

struct Mesh {
    std::map<uint64_t, pmix_status_t> answered;  // by request
};
Mesh* mesh;

enum { kForgiving = 4 };
struct Limit {
    void (*function)(void*);
    void* argument;
};

uint32_t on_two(const char* name, uint32_t size, job** made) {
    app* one = static_cast<app*>(xcalloc(1, sizeof(app)));
    one->size = size;
    pmix_proc_t nobody;
    PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
    *made = job_new(name, 1, 2, layout{BY_NODE, BY_NODE, 0}, one, 1, &nobody);
    jobs_add(*made);
    return size;
}

class PmixrunGroups : public ::testing::Test {
  protected:
    void SetUp() override {
        mesh = &mesh_;
        on_two("parent", 4, &parent_);
        on_two("child", 3, &child_);
    }
    void TearDown() override {
        if (child_ != nullptr) end_child();
        for (uint32_t r = 0; r < parent_->size; ++r) parent_->procs[r].phase = PROC_ENDED;
        groups_proc_ended();
        groups_job_ended("parent");
        collective_job_ended("parent");
        jobs_remove(parent_);
        EXPECT_EQ(0u, timers.size());
    }
    void end_child() {
        for (uint32_t r = 0; r < child_->size; ++r) child_->procs[r].phase = PROC_ENDED;
        groups_proc_ended();
        collective_job_ended("child");
        groups_job_ended("child");
        jobs_remove(child_);
        child_ = nullptr;
    }
    // The upcall of a node's server. The answer may come later: answer(request).
    uint64_t comes(int node, pmix_group_operation_t what, std::vector<const char*> jobs,
                   pmix_status_t status = PMIX_SUCCESS, uint32_t flags = 0) {
        std::vector<pmix_proc_t> procs(jobs.size());
        for (size_t i = 0; i < jobs.size(); ++i) PMIX_LOAD_PROCID(&procs[i], jobs[i], PMIX_RANK_WILDCARD);
        buffer body{};
        wire_put_u32(&body, what);
        wire_put_string(&body, "group");
        wire_put_procs(&body, procs.data(), procs.size());
        wire_put_u32(&body, flags);
        wire_put_u32(&body, static_cast<uint32_t>(status));
        wire_put_u64(&body, 0);
        wire_put_bytes(&body, nullptr, 0);
        on_group(node, ++request_, &body);
        wire_free(&body);
        return request_;
    }
    static void time_passes() {
        const auto due = std::move(timers);
        timers.clear();
        for (const auto& limit : due) limit->function(limit->argument);
    }
    bool open(uint64_t request) const { return mesh_.answered.count(request) == 0; }
    pmix_status_t answer(uint64_t request) const {
        return open(request) ? PMIX_ERR_TIMEOUT : mesh_.answered.at(request);
    }

  public:
    static inline std::vector<std::unique_ptr<Limit>> timers;
    static inline int lost_node = -1;

  protected:
    Mesh mesh_;
    job *parent_ = nullptr, *child_ = nullptr;
    uint64_t request_ = 0;
};

}  // namespace

#ifdef UNDER_ASAN
// A failed allocation is what a test here is about, not an error of the test.
extern "C" const char* __asan_default_options();
const char* __asan_default_options() {
    return "allocator_may_return_null=1";
}
#endif

// pmixrun ends where there is no memory for what it needs, and does not go on with nothing.
TEST(PmixrunMemory, InfosNew_WithoutMemory_EndsTheProgram) {
    EXPECT_EXIT(infos_new(SIZE_MAX / 4096), ::testing::ExitedWithCode(1), "out of memory");
    EXPECT_EQ(nullptr, infos_new(0));
    infos_free(infos_new(3), 3);
}

extern "C" {
struct node node;
int mesh_self(void) {
    return 0;
}
int mesh_nodes(void) {
    return 2;
}
bool mesh_alive(int number) {
    return number != PmixrunGroups::lost_node;
}
void mesh_request(int, enum frame, const struct buffer*, double, reply_handler, void*) {}
void mesh_reply(int, uint64_t id, pmix_status_t status, const struct buffer* body) {
    EXPECT_EQ(0u, mesh->answered.count(id)) << "once";
    buffer view = body != nullptr ? wire_view(body->data, body->size) : buffer{};
    mesh->answered[id] = status == PMIX_SUCCESS ? static_cast<pmix_status_t>(wire_get_u32(&view)) : status;
}
void mesh_send(int, enum frame, const struct buffer*) {}
void loop_post(void (*task)(void*), void* argument) {
    task(argument);
}
struct timer* loop_after(double, void (*function)(void*), void* argument) {
    PmixrunGroups::timers.push_back(std::make_unique<Limit>(Limit{function, argument}));
    return reinterpret_cast<struct timer*>(PmixrunGroups::timers.back().get());
}
double loop_now(void) {
    return 0;
}
void loop_cancel(struct timer* timer) {
    std::erase_if(PmixrunGroups::timers,
                  [timer](const auto& t) { return reinterpret_cast<struct timer*>(t.get()) == timer; });
}
void bootstrap_proc_ended(void) {}
void bootstrap_job_ended(const char*) {}
}

// The members of one node have called, and failed, when the other job ends; those of the other node call afterwards.
TEST_F(PmixrunGroups, WhoIsLateForADestructThatFailedIsAnsweredAfterTheJobsEndToo) {
    uint64_t first = comes(0, PMIX_GROUP_DESTRUCT, {"child", "parent"}, PMIX_ERR_PROC_TERM_WO_SYNC);
    EXPECT_TRUE(open(first)) << "a caller of the other node may allow it";
    time_passes();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(first));
    end_child();
    uint64_t late = comes(1, PMIX_GROUP_DESTRUCT, {"parent"}, PMIX_ERR_PROC_TERM_WO_SYNC);
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(late));
    // Nothing of it affects the next group of that name.
    uint64_t a = comes(0, PMIX_GROUP_DESTRUCT, {"parent"});
    EXPECT_TRUE(open(a));
    uint64_t b = comes(1, PMIX_GROUP_DESTRUCT, {"parent"});
    EXPECT_STATUS(PMIX_SUCCESS, answer(a));
    EXPECT_STATUS(PMIX_SUCCESS, answer(b));
}

TEST_F(PmixrunGroups, AJobsEndEndsTheDestructForThoseToComeToo) {
    uint64_t first = comes(0, PMIX_GROUP_DESTRUCT, {"child", "parent"});
    EXPECT_TRUE(open(first));
    end_child();
    EXPECT_TRUE(open(first));
    time_passes();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(first));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC,
                  answer(comes(1, PMIX_GROUP_DESTRUCT, {"parent"}, PMIX_ERR_PROC_TERM_WO_SYNC)));
    uint64_t a = comes(1, PMIX_GROUP_DESTRUCT, {"parent"}), b = comes(0, PMIX_GROUP_DESTRUCT, {"parent"});
    EXPECT_STATUS(PMIX_SUCCESS, answer(a));
    EXPECT_STATUS(PMIX_SUCCESS, answer(b));
}

TEST_F(PmixrunGroups, Construct_SameNameOfTwoJobs_AreTwoOperations) {
    const uint64_t parents = comes(0, PMIX_GROUP_CONSTRUCT, {"parent"});
    const uint64_t children = comes(0, PMIX_GROUP_CONSTRUCT, {"child"});
    EXPECT_STATUS(PMIX_SUCCESS, answer(comes(1, PMIX_GROUP_CONSTRUCT, {"child"})));
    EXPECT_STATUS(PMIX_SUCCESS, answer(children));
    EXPECT_TRUE(open(parents));
    EXPECT_STATUS(PMIX_SUCCESS, answer(comes(1, PMIX_GROUP_CONSTRUCT, {"parent"})));
    EXPECT_STATUS(PMIX_SUCCESS, answer(parents));
}

TEST_F(PmixrunGroups, LateForAConstructIsWhoNamesTheSameProcesses) {
    const uint64_t first = comes(0, PMIX_GROUP_CONSTRUCT, {"child", "parent"}, PMIX_ERR_PROC_TERM_WO_SYNC);
    time_passes();
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(first));
    end_child();
    // The survivors make a group of that name without those who are gone; nobody has been late for the first.
    uint64_t a = comes(1, PMIX_GROUP_CONSTRUCT, {"parent"});
    EXPECT_TRUE(open(a));
    uint64_t b = comes(0, PMIX_GROUP_CONSTRUCT, {"parent"});
    EXPECT_STATUS(PMIX_SUCCESS, answer(a));
    EXPECT_STATUS(PMIX_SUCCESS, answer(b));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(comes(1, PMIX_GROUP_CONSTRUCT, {"child", "parent"})))
        << "late after all";
}

// What one node's callers allow holds for all, whether they come first or last.
TEST_F(PmixrunGroups, Construct_MemberLostOnOneNode_IsForgivenByTheOthersCallers) {
    for (const pmix_group_operation_t what : {PMIX_GROUP_CONSTRUCT, PMIX_GROUP_DESTRUCT}) {
        for (const int loser : {0, 1}) {
            const int other = 1 - loser;
            SCOPED_TRACE("node " + std::to_string(loser) + " has lost a member");
            uint64_t lost = comes(loser, what, {"parent"}, PMIX_ERR_PROC_TERM_WO_SYNC);
            EXPECT_TRUE(open(lost));
            EXPECT_STATUS(PMIX_SUCCESS, answer(comes(other, what, {"parent"}, PMIX_SUCCESS, kForgiving)));
            EXPECT_STATUS(PMIX_SUCCESS, answer(lost));
            const uint64_t allows = comes(other, what, {"parent"}, PMIX_SUCCESS, kForgiving);
            EXPECT_STATUS(PMIX_SUCCESS, answer(comes(loser, what, {"parent"}, PMIX_ERR_PROC_TERM_WO_SYNC)));
            EXPECT_STATUS(PMIX_SUCCESS, answer(allows));
            lost = comes(loser, what, {"parent"}, PMIX_ERR_PROC_TERM_WO_SYNC);
            EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(comes(other, what, {"parent"})));
            EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(lost));
            EXPECT_EQ(0u, timers.size());
        }
    }
}

TEST_F(PmixrunGroups, WhereMembersMayEndItGoesOnWithoutTheJob) {
    uint64_t a = comes(0, PMIX_GROUP_CONSTRUCT, {"child", "parent"}, PMIX_SUCCESS, kForgiving);
    end_child();
    EXPECT_TRUE(open(a)) << "node 1 has members of the parent";
    uint64_t b = comes(1, PMIX_GROUP_CONSTRUCT, {"parent"}, PMIX_SUCCESS, kForgiving);
    EXPECT_STATUS(PMIX_SUCCESS, answer(a));
    EXPECT_STATUS(PMIX_SUCCESS, answer(b));
}

// A node's word that its processes have ended comes from it directly, their call through its server.
TEST_F(PmixrunGroups, WhoCallsAndEndsIsNoBeginningOfAnotherGroup) {
    for (uint32_t i = 0; i < job_size_on(parent_, 1); ++i)
        parent_->procs[job_rank_at(parent_, 1, i)].phase = PROC_ENDED;
    groups_proc_ended();
    for (uint32_t flags : {0u, static_cast<uint32_t>(kForgiving)}) {
        uint64_t a = comes(0, PMIX_GROUP_CONSTRUCT, {"parent"}, PMIX_SUCCESS, flags);
        EXPECT_STATUS(flags != 0 ? PMIX_SUCCESS : PMIX_ERR_PROC_TERM_WO_SYNC, answer(a));
        uint64_t b = comes(1, PMIX_GROUP_CONSTRUCT, {"parent"}, PMIX_SUCCESS, flags);
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(b)) << "nobody else comes to it";
    }
}

namespace {

struct Answers {
    int count = 0;
    pmix_status_t status = PMIX_ERR_TIMEOUT;
    static void op(pmix_status_t status, void* cbdata) {
        auto* self = static_cast<Answers*>(cbdata);
        ++self->count;
        self->status = status;
    }
    static void data(pmix_status_t status, const char*, size_t, void* cbdata, pmix_release_cbfunc_t release,
                     void* borrowed) {
        op(status, cbdata);
        if (release != nullptr) release(borrowed);
    }
};

using Begin = void (*)(const std::vector<pmix_proc_t>&, Answers*);
const Begin begins[] = {
    [](const std::vector<pmix_proc_t>& procs, Answers* a) {
        EXPECT_STATUS(PMIX_SUCCESS, up_fence_nb(procs.data(), procs.size(), nullptr, 0, nullptr, 0, Answers::data, a));
    },
    [](const std::vector<pmix_proc_t>& procs, Answers* a) {
        EXPECT_STATUS(PMIX_SUCCESS, up_connect(procs.data(), procs.size(), nullptr, 0, Answers::op, a));
    },
    [](const std::vector<pmix_proc_t>& procs, Answers* a) {
        EXPECT_STATUS(PMIX_SUCCESS, up_disconnect(procs.data(), procs.size(), nullptr, 0, Answers::op, a));
    },
};

std::vector<pmix_proc_t> both_jobs() {
    std::vector<pmix_proc_t> procs(2);
    PMIX_LOAD_PROCID(&procs[0], "child", PMIX_RANK_WILDCARD);
    PMIX_LOAD_PROCID(&procs[1], "parent", PMIX_RANK_WILDCARD);
    return procs;
}

// Another node's part of a round: it has joined, or failed.
void hear(void (*what)(int, uint64_t, struct buffer*), uint32_t kind, uint64_t number, pmix_status_t status) {
    const std::vector<pmix_proc_t> procs = both_jobs();
    buffer body{};
    wire_put_u32(&body, kind);
    wire_put_procs(&body, procs.data(), procs.size());
    wire_put_u64(&body, number);
    wire_put_u32(&body, static_cast<uint32_t>(status));
    wire_put_bytes(&body, nullptr, 0);
    what(1, 0, &body);
    wire_free(&body);
}

}  // namespace

// Fence, connect, disconnect: in, and late for what another node has failed, and later than the job.
TEST_F(PmixrunGroups, LateCaller_OfARound_IsAnsweredToo) {
    enum { CONNECT = 1, DISCONNECT = 2 };
    Answers connected;
    begins[CONNECT](both_jobs(), &connected);
    hear(on_collective, CONNECT, 0, PMIX_SUCCESS);
    ASSERT_STATUS(PMIX_SUCCESS, connected.status);
    for (uint32_t kind = 0; kind < 3; ++kind) {
        Answers late, waits;
        hear(on_collective_failed, kind, kind == CONNECT ? 1 : 0, PMIX_ERR_PARTIAL_SUCCESS);
        begins[kind](both_jobs(), &late);
        EXPECT_EQ(1, late.count);
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, late.status);
        begins[kind](both_jobs(), &waits);
        EXPECT_EQ(0, waits.count) << "the next round is another";
        if (kind != DISCONNECT) {
            hear(on_collective, kind, kind == CONNECT ? 2 : 1, PMIX_SUCCESS);
            EXPECT_STATUS(PMIX_SUCCESS, waits.status);
            continue;
        }
        end_child();
        EXPECT_EQ(1, waits.count);
        EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, waits.status);
        for (Begin begin : begins) {
            Answers gone;
            begin(both_jobs(), &gone);
            EXPECT_EQ(1, gone.count);
            EXPECT_NE(PMIX_SUCCESS, gone.status);
        }
    }
}

// A lost member has one status, wherever it was and however it is lost: that of a collective on one node. rows: F7
TEST_F(PmixrunGroups, MemberOfAnotherNode_IsLost_RoundIsPartialSuccess) {
    enum { CONNECT = 1 };
    Answers connected;
    begins[CONNECT](both_jobs(), &connected);
    hear(on_collective, CONNECT, 0, PMIX_SUCCESS);
    for (const bool with_its_node : {true, false}) {
        for (Begin begin : begins) {
            Answers waits;
            begin(both_jobs(), &waits);
            EXPECT_EQ(0, waits.count);
            lost_node = with_its_node ? 1 : -1;
            for (job* one : {parent_, child_})
                for (uint32_t i = 0; !with_its_node && i < job_size_on(one, 1); ++i)
                    one->procs[job_rank_at(one, 1, i)].phase = PROC_ENDED;
            collective_proc_ended();
            lost_node = -1;
            EXPECT_EQ(1, waits.count);
            EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, waits.status);
            for (job* one : {parent_, child_})
                for (uint32_t i = 0; i < job_size_on(one, 1); ++i)
                    one->procs[job_rank_at(one, 1, i)].phase = PROC_RUNNING;
        }
    }
}
