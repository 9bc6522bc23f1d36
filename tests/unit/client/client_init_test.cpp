// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Init and PMIx_Finalize without a server: the process's identity, how calls are counted, what a fork and bad
// directives do, which thread runs the loop, and what a declared model raises.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>

#include "support/alone.h"
#include "support/sanitizers.h"
#include "support/status.h"
#include "support/thread_binding.h"

namespace client_init_test {

using namespace pmix::test;

// rows: I2 I4 I12
TEST_F(Alone, IdentityAndCounting) {
    EXPECT_EQ(std::string(self.nspace).rfind("singleton.", 0), 0u);
    EXPECT_NE(std::string(self.nspace).find("." + std::to_string(getpid())), std::string::npos);
    EXPECT_EQ(self.rank, 0u);
    pmix_proc_t again;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(&again, nullptr, 0));
    EXPECT_EQ(memcmp(&again, &self, sizeof self), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_EQ(PMIx_Initialized(), 1);
}

// rows: I1 G18
TEST_F(Refused, BadOrStaleAddress) {
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_RANK", "0", 1);
    for (const char* uri : {"server.0;wireup:@wireup/0/1/0000000000000000", "nonsense", "server.0;wireup:", "",
                            "server.0;wireup:/nonexistent/socket"}) {
        setenv("PMIX_SERVER_URI_WIREUP", uri, 1);
        pmix_proc_t p = proc("kept", 5);
        const pmix_status_t rc = PMIx_Init(&p, nullptr, 0);
        EXPECT_LT(rc, 0) << uri;
        EXPECT_NE(rc, PMIX_ERR_UNREACH) << uri << ": an MPI library would go on as a job of one";
        EXPECT_EQ(PMIx_Initialized(), 0) << uri;
        EXPECT_STREQ(p.nspace, "kept") << uri;
    }
    setenv("PMIX_SERVER_URI_WIREUP", "server.0;wireup:@wireup/0/1/0000000000000000", 1);
    setenv("PMIX_RANK", "many", 1);
    EXPECT_LT(PMIx_Init(nullptr, nullptr, 0), 0);
    if (PMIx_Initialized()) PMIx_Finalize(nullptr, 0);
}

// A rank whose launcher runs another libpmix is no job of one: MPI libraries take PMIX_ERR_UNREACH for that. rows: I4
TEST_F(Refused, Init_ServerOfAnotherLibraryDescribed_IsACommunicationFailure) {
    for (const char* name : {"PMIX_SERVER_URI", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3",
                             "PMIX_SERVER_URI4", "PMIX_SERVER_URI41", "PMIX_SERVER_URI51", "PMIX_SERVER_URI61"}) {
        setenv("PMIX_NAMESPACE", "prterun-host-17@1", 1);
        setenv("PMIX_RANK", "0", 1);
        setenv(name, "prterun-host-17@0.0;tcp4://127.0.0.1:9", 1);
        EXPECT_STATUS(PMIX_ERR_COMM_FAILURE, PMIx_Init(nullptr, nullptr, 0)) << name;
        EXPECT_EQ(PMIx_Initialized(), 0) << name;
        unsetenv("PMIX_RANK");
        EXPECT_STATUS(PMIX_ERR_COMM_FAILURE, PMIx_Init(nullptr, nullptr, 0)) << name << " without a rank";
        // An address alone describes no server to this process: a program that a rank's shell started by hand.
        unsetenv("PMIX_NAMESPACE");
        EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0)) << name << " without a namespace";
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        unsetenv(name);
    }
    setenv("PMIX_NAMESPACE", "job", 1);
    setenv("PMIX_RANK", "0", 1);
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0)) << "a namespace without any address";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: I3 I7
TEST_F(Alone, DirectivesOfALaterInit) {
    pmix_info_t external = info(PMIX_EXTERNAL_PROGRESS);
    external.value.type = PMIX_BOOL;
    external.value.data.flag = true;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Init(nullptr, &external, 1));
    external.value.data.flag = false;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &external, 1));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Init(nullptr, nullptr, 1));
}

// rows: I7 G7
TEST_F(Refused, RequiredUnknownDirectiveOfInit) {
    pmix_info_t i = info("site.needs");
    i.flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Init(nullptr, &i, 1));
    EXPECT_EQ(PMIx_Initialized(), 0);
    // The only way to the server is such a socket.
    i = info(PMIX_USOCK_DISABLE);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Init(nullptr, &i, 1)) << "a number is no flag";
    EXPECT_EQ(PMIx_Initialized(), 0);
    i.value.type = PMIX_UNDEF;
    i.flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Init(nullptr, &i, 1));
    i.flags = 0;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &i, 1));
    i.flags = PMIX_INFO_REQD;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Init(nullptr, &i, 1)) << "a later init too";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_EQ(PMIx_Initialized(), 0) << "and it was not counted";
}

// rows: I7
TEST_F(Refused, InitTakesWhatItFollowsAsRequired) {
    for (const char* key : {PMIX_SINGLE_LISTENER, PMIX_TIMEOUT, PMIX_MODEL_NUM_THREADS}) {
        pmix_info_t i = info(key);
        i.flags = PMIX_INFO_REQD;
        if (std::string_view(key) == PMIX_SINGLE_LISTENER) i.value.type = PMIX_UNDEF;
        EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &i, 1)) << key;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    }
    pmix_info_t i = info(PMIX_TIMEOUT, -1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Init(nullptr, &i, 1));
    EXPECT_EQ(PMIx_Initialized(), 0);
}

// A late thread is started by the first need of it, here by a handler.
// rows: I7
// proves: PMIx_Init PMIX_BIND_PROGRESS_THREAD PMIX_BIND_REQUIRED
TEST_F(Refused, ProgressThreadIsBound) {
    const auto init = [](const std::string& cpus, bool required) {
        pmix::common::InfoList infos = binding(cpus, required);
        return PMIx_Init(nullptr, infos.c_array(), infos.size());
    };
    const cpu_set_t before = cpus_here();
    ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::to_string(last_cpu()), true));
    EXPECT_TRUE(is_only(cpus_of_progress_thread(), last_cpu()));
    const cpu_set_t after = cpus_here();
    EXPECT_TRUE(CPU_EQUAL(&before, &after)) << "the caller's own binding is as it was";
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init("all", false));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init("1000000", true)) << "there is none";
    EXPECT_EQ(0, PMIx_Initialized());
    EXPECT_STATUS(PMIX_ERR_UNREACH, init("1000000", false));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: I8 I12
TEST_F(Alone, ForkedChildIsUninitialisedAndMayInitAgain) {
#ifdef UNDER_TSAN
    GTEST_SKIP() << "ThreadSanitizer has no threads in the child of a process with threads";
#endif
    pmix_value_t v = number(5);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "before", &v));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        int bad = 0;
        pmix_value_t* out = nullptr;
        bad |= PMIx_Initialized() != 0;
        bad |= PMIx_Get(nullptr, "before", nullptr, 0, &out) != PMIX_ERR_INIT;
        bad |= PMIx_Finalize(nullptr, 0) != PMIX_ERR_INIT;
        pmix_proc_t me;
        bad |= PMIx_Init(&me, nullptr, 0) != PMIX_ERR_UNREACH;
        bad |= strcmp(me.nspace, self.nspace) == 0;
        bad |= PMIx_Get(nullptr, "before", nullptr, 0, &out) != PMIX_ERR_NOT_FOUND;
        bad |= PMIx_Fence(nullptr, 0, nullptr, 0) != PMIX_SUCCESS;
        bad |= PMIx_Finalize(nullptr, 0) != PMIX_SUCCESS;
        _exit(bad);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_STATUS(PMIX_SUCCESS, get(nullptr, "before"));
}

// rows: I12
TEST_F(Refused, AThousandCyclesLeaveNoDescriptorAndNoThread) {
    const auto descriptors = [] {
        const int fd = dup(0);
        close(fd);
        return fd;  // the lowest free number
    };
    PMIx_Init(nullptr, nullptr, 0);
    PMIx_Finalize(nullptr, 0);
    const int before = descriptors();
    for (int i = 0; i < 1100; ++i) {
        ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    }
    EXPECT_EQ(descriptors(), before);
}

// rows: I13
// proves: PMIx_Init PMIX_EXTERNAL_PROGRESS
TEST_F(Refused, ExternalProgress) {
    pmix_info_t external = info(PMIX_EXTERNAL_PROGRESS);
    external.value.type = PMIX_UNDEF;
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &external, 1));
    pmix_value_t v = number(5);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "k", &v));
    struct Got {
        int calls = 0, n = 0;
        std::thread::id thread;
    } got;
    const auto on_got = [](pmix_status_t, pmix_value_t* value, void* self) {
        auto* g = static_cast<Got*>(self);
        ++g->calls;
        if (value != nullptr) g->n = value->data.integer;
        g->thread = std::this_thread::get_id();
        PMIx_Progress();  // harmless from inside
    };
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(nullptr, "k", nullptr, 0, on_got, &got));
    EXPECT_EQ(got.calls, 0);
    for (int i = 0; i < 1000 && got.calls == 0; ++i) PMIx_Progress();
    EXPECT_EQ(got.calls, 1);
    EXPECT_EQ(got.n, 5);
    EXPECT_EQ(got.thread, std::this_thread::get_id());
    // A blocking call runs the loop itself.
    EXPECT_GE(PMIx_Register_event_handler(nullptr, 0, nullptr, 0, on_event, nullptr, nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: I6
// proves: PMIx_Init PMIX_PROGRAMMING_MODEL
TEST_F(Refused, ADeclaredModelReachesAHandlerThatComesLater) {
    struct Seen {
        std::atomic<int> calls{0};
        std::string model;
    };
    static Seen seen;
    pmix_info_t model = info(PMIX_PROGRAMMING_MODEL);
    char mpi[] = "MPI", shmem[] = "SHMEM";
    model.value.type = PMIX_STRING;
    model.value.data.string = mpi;
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &model, 1));
    const auto on_model = [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t n, pmix_info_t*,
                             size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        for (size_t i = 0; i < n; ++i) {
            if (strcmp(infos[i].key, PMIX_PROGRAMMING_MODEL) == 0) seen.model += infos[i].value.data.string;
        }
        ++seen.calls;
        seen.calls.notify_all();
        done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
    };
    pmix_status_t code = PMIX_MODEL_DECLARED;
    ASSERT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, on_model, nullptr, nullptr), 0);
    seen.calls.wait(0);
    EXPECT_EQ(seen.model, "MPI");
    model.value.data.string = shmem;
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, &model, 1));
    seen.calls.wait(1);
    EXPECT_EQ(seen.model, "MPISHMEM");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

}  // namespace client_init_test
