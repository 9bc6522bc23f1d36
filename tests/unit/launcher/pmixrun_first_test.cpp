// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's groups when the node that coordinates them is lost: the next one has what the others bring to it.
//
// The parts of node 1 of three. The test carries its frames, and is the other nodes.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

extern "C" {
#include "first.h"
#include "loop.h"
#include "node.h"
}

#include "support/status.h"

namespace {

struct Frame {
    int to;
    enum frame kind;
    std::vector<uint8_t> body;
    reply_handler done;
    void* argument;
};
struct World {
    bool lost[3] = {};
    std::vector<Frame> sent;                    // not delivered yet
    std::map<uint64_t, pmix_status_t> replies;  // of this node to others, by request
    std::map<uint64_t, Frame> own;              // requests of this node to itself
    uint64_t request = 100;
};
World* world;

void note(pmix_status_t status, pmix_info_t*, size_t, void* cbdata, pmix_release_cbfunc_t release, void* held) {
    *static_cast<pmix_status_t*>(cbdata) = status;
    if (release != nullptr) release(held);
}

class PmixrunFirst : public ::testing::Test {
  protected:
    void SetUp() override {
        world = &world_;
        app* one = static_cast<app*>(xcalloc(1, sizeof(app)));
        one->size = 3;
        pmix_proc_t nobody;
        PMIX_LOAD_PROCID(&nobody, "", PMIX_RANK_UNDEF);
        job_ = job_new("job", 1, 3, layout{BY_NODE, BY_NODE, 0}, one, 1, &nobody);
        jobs_add(job_);
    }
    void TearDown() override {
        for (uint32_t r = 0; r < job_->size; ++r) job_->procs[r].phase = PROC_ENDED;
        groups_proc_ended();
        groups_job_ended("job");
        jobs_remove(job_);
        for (int i = 0; i < 2; ++i) world->lost[i] = false;
        first_check();
    }
    static pmix_proc_t rank(uint32_t number) {
        pmix_proc_t proc;
        PMIX_LOAD_PROCID(&proc, "job", number);
        return proc;
    }
    // Rank 1, of this node.
    void calls(pmix_group_operation_t what, std::vector<uint32_t> members, pmix_status_t* status,
               std::vector<pmix_info_t> infos = {}) {
        std::vector<pmix_proc_t> procs;
        for (const uint32_t m : members) procs.push_back(rank(m));
        char name[] = "group";
        *status = PMIX_ERR_WOULD_BLOCK;
        ASSERT_STATUS(PMIX_SUCCESS,
                      up_group(what, name, procs.data(), procs.size(), infos.data(), infos.size(), &note, status));
    }
    // Rank 2, of node 2.
    uint64_t other_calls(pmix_group_operation_t what, std::vector<uint32_t> members) {
        std::vector<pmix_proc_t> procs;
        for (const uint32_t m : members) procs.push_back(rank(m));
        buffer body{};
        wire_put_u32(&body, what);
        wire_put_string(&body, "group");
        wire_put_procs(&body, procs.data(), procs.size());
        wire_put_u32(&body, 0);
        wire_put_u32(&body, PMIX_SUCCESS);
        wire_put_u64(&body, 0);
        wire_put_bytes(&body, nullptr, 0);
        on_group(2, ++world_.request, &body);
        wire_free(&body);
        return world_.request;
    }
    pmix_status_t answer(uint64_t request) const {
        const auto at = world_.replies.find(request);
        return at == world_.replies.end() ? PMIX_ERR_WOULD_BLOCK : at->second;
    }
    // The first node answers the last request with a status.
    void first_answers(pmix_status_t status, uint32_t flags = 0) {
        ASSERT_FALSE(world_.sent.empty());
        const Frame frame = world_.sent.back();
        world_.sent.pop_back();
        ASSERT_EQ(0, frame.to);
        buffer body{};
        wire_put_u32(&body, static_cast<uint32_t>(status));
        wire_put_u32(&body, flags);
        wire_put_u64(&body, 0);
        wire_put_procs(&body, nullptr, 0);
        wire_put_bytes(&body, nullptr, 0);
        frame.done(PMIX_SUCCESS, &body, frame.argument);
        wire_free(&body);
    }
    // As mesh.c and daemon.c do it.
    void lose_first() {
        world_.lost[0] = true;
        job_->procs[0].phase = PROC_ENDED;
        for (const Frame& frame : std::exchange(world_.sent, {})) {
            buffer none{};
            if (frame.to == 0 && frame.done != nullptr) frame.done(PMIX_ERR_LOST_CONNECTION, &none, frame.argument);
        }
        first_check();
        deliver();
        groups_proc_ended();
        deliver();
    }
    void deliver() {
        while (!world_.sent.empty()) {
            const Frame frame = world_.sent.front();
            world_.sent.erase(world_.sent.begin());
            ASSERT_EQ(1, frame.to);
            buffer body = wire_view(frame.body.data(), frame.body.size());
            const uint64_t id = frame.done != nullptr ? ++world_.request : 0;
            if (id != 0) world_.own[id] = frame;
            if (frame.kind == FRAME_GROUP) on_group(1, id, &body);
            if (frame.kind == FRAME_BOOTSTRAP) on_bootstrap(1, id, &body);
            if (frame.kind == FRAME_GROUP_LEFT) on_group_left(1, id, &body);
        }
    }

    World world_;
    job* job_ = nullptr;
};

}  // namespace

extern "C" {
struct node node;
int mesh_self(void) {
    return 1;
}
int mesh_nodes(void) {
    return 3;
}
bool mesh_alive(int number) {
    return !world->lost[number];
}
void mesh_request(int to, enum frame kind, const struct buffer* body, double, reply_handler done, void* argument) {
    world->sent.push_back({to, kind, {body->data, body->data + body->size}, done, argument});
}
void mesh_send(int to, enum frame kind, const struct buffer* body) {
    world->sent.push_back({to, kind, {body->data, body->data + body->size}, nullptr, nullptr});
}
void mesh_reply(int to, uint64_t id, pmix_status_t status, const struct buffer* body) {
    buffer view = body != nullptr ? wire_view(body->data, body->size) : buffer{};
    if (to != 1) {
        world->replies[id] = status == PMIX_SUCCESS ? static_cast<pmix_status_t>(wire_get_u32(&view)) : status;
        return;
    }
    const Frame frame = world->own.at(id);
    world->own.erase(id);
    frame.done(status, &view, frame.argument);
}
void loop_post(void (*task)(void*), void* argument) {
    task(argument);
}
struct timer* loop_after(double, void (*)(void*), void*) {
    return nullptr;
}
double loop_now(void) {
    return 0;
}
void loop_cancel(struct timer*) {}
}

// rows: R8
TEST_F(PmixrunFirst, Call_WaitsWhenTheFirstNodeIsLost_IsMadeAtTheNext) {
    pmix_status_t status;
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    ASSERT_EQ(1u, world_.sent.size());
    EXPECT_EQ(0, world_.sent[0].to);
    lose_first();
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, status) << "the other member runs";
    const uint64_t other = other_calls(PMIX_GROUP_CONSTRUCT, {1, 2});
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_STATUS(PMIX_SUCCESS, answer(other));
}

// rows: R8
TEST_F(PmixrunFirst, Call_WithAMemberOnTheLostNode_Fails) {
    pmix_status_t status;
    calls(PMIX_GROUP_CONSTRUCT, {0, 1, 2}, &status);
    lose_first();
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, status) << "a caller of the other node may allow it";
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, answer(other_calls(PMIX_GROUP_CONSTRUCT, {0, 1, 2})));
    EXPECT_STATUS(PMIX_ERR_PROC_TERM_WO_SYNC, status);
}

// rows: R1
TEST_F(PmixrunFirst, Bootstrap_WaitsWhenTheFirstNodeIsLost_IsMadeAtTheNext) {
    pmix_status_t status;
    size_t leaders = 1;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_BOOTSTRAP, &leaders, PMIX_SIZE);
    calls(PMIX_GROUP_CONSTRUCT, {1}, &status, {info});
    lose_first();
    EXPECT_STATUS(PMIX_SUCCESS, status);
}

// Others may still call for what has failed, and it would wait for those that will not call again. rows: R8
TEST_F(PmixrunFirst, Failure_IsLostWithTheFirstNode_ReachesTheLateOnes) {
    pmix_status_t status;
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    first_answers(PMIX_ERR_TIMEOUT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, status);
    lose_first();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, answer(other_calls(PMIX_GROUP_CONSTRUCT, {1, 2})));
    // That was for all: the next one is a new group.
    const uint64_t other = other_calls(PMIX_GROUP_CONSTRUCT, {1, 2});
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    deliver();
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_STATUS(PMIX_SUCCESS, answer(other));
}

// rows: R8
TEST_F(PmixrunFirst, PartialGroup_IsLostWithTheFirstNode_LateOnesAreRefused) {
    pmix_status_t status;
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    first_answers(PMIX_SUCCESS, PARTIAL);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, status);
    lose_first();
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, answer(other_calls(PMIX_GROUP_CONSTRUCT, {1, 2})));
}

// A failure does not outlive its job. rows: R8
TEST_F(PmixrunFirst, Failure_OfAJobThatHasEnded_IsForgotten) {
    pmix_status_t status;
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    first_answers(PMIX_ERR_TIMEOUT);
    groups_job_ended("job");
    lose_first();
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, answer(other_calls(PMIX_GROUP_CONSTRUCT, {1, 2})));
}

// rows: R9
TEST_F(PmixrunFirst, Departure_IsLostWithTheFirstNode_IsToldToTheNext) {
    const pmix_proc_t leaver = rank(1);
    group_left("group", &leaver);
    lose_first();
    EXPECT_STATUS(PMIX_SUCCESS, answer(other_calls(PMIX_GROUP_DESTRUCT, {1, 2}))) << "it does not wait for rank 1";
}

// rows: R9
TEST_F(PmixrunFirst, Departure_OfAMemberThatHasReturned_IsNotTold) {
    const pmix_proc_t leaver = rank(1);
    pmix_status_t status;
    group_left("group", &leaver);
    calls(PMIX_GROUP_CONSTRUCT, {1, 2}, &status);
    first_answers(PMIX_SUCCESS);
    lose_first();
    EXPECT_STATUS(PMIX_ERR_WOULD_BLOCK, answer(other_calls(PMIX_GROUP_DESTRUCT, {1, 2})));
}
