// SPDX-License-Identifier: BSD-3-Clause
// What a child finds in its environment, and that a forked child of a process with threads can be given it.
#include "server/jobs/launch_env.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <random>
#include <thread>

#include "support/cpu_time.h"
#include "support/status.h"

namespace launch_env_test {

using namespace pmix::server;
using pmix::common::ProcId;
using How = LaunchEnv::Edit::How;

namespace {

struct Env {
    char** v = nullptr;
    ~Env() {
        for (char** e = v; e != nullptr && *e != nullptr; ++e) std::free(*e);
        std::free(v);
    }
    void add(const char* entry) {
        size_t n = size();
        v = static_cast<char**>(std::realloc(v, (n + 2) * sizeof(char*)));
        v[n] = ::strdup(entry);
        v[n + 1] = nullptr;
    }
    size_t size() const {
        size_t n = 0;
        while (v != nullptr && v[n] != nullptr) ++n;
        return n;
    }
    std::string get(const std::string& name) const {
        for (char** e = v; e != nullptr && *e != nullptr; ++e)
            if (std::strncmp(*e, (name + "=").c_str(), name.size() + 1) == 0) return *e + name.size() + 1;
        return "<unset>";
    }
};

std::shared_ptr<const Variables> shared(Variables variables) {
    return std::make_shared<const Variables>(std::move(variables));
}

std::shared_ptr<const LaunchEnv::Edits> edits(LaunchEnv::Edits of) {
    return std::make_shared<const LaunchEnv::Edits>(std::move(of));
}

}  // namespace

// rows: V12
TEST(LaunchEnvTest, StartsFromNothingReplacesAndKnowsNobodyElse) {
    LaunchEnv launch;
    launch.set({{"job", 0}, shared({{"A", "0"}, {"B", "2"}}), {{"A", "1"}}, {}, {}});  // its own goes over the shared
    Env env;
    ASSERT_STATUS(PMIX_SUCCESS, launch.apply("job", 0, &env.v));
    EXPECT_EQ(2u, env.size());
    EXPECT_EQ("1", env.get("A"));
    Env other;
    other.add("A=old");
    other.add("AA=keep");
    other.add("C=3");
    ASSERT_STATUS(PMIX_SUCCESS, launch.apply("job", 0, &other.v));
    EXPECT_EQ(4u, other.size());
    EXPECT_EQ("1", other.get("A"));
    EXPECT_EQ("keep", other.get("AA"));
    EXPECT_EQ("3", other.get("C"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, launch.apply("job", 1, &env.v));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, launch.apply("jo", 0, &env.v));
    launch.set({{"job", 0}, {}, {{"A", "9"}}, {}, {}});
    ASSERT_STATUS(PMIX_SUCCESS, launch.apply("job", 0, &env.v));
    EXPECT_EQ("9", env.get("A"));
    launch.remove("job");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, launch.apply("job", 0, &env.v));
}

// rows: C8 V12
TEST(LaunchEnvTest, EditsInTheirOrder) {
    LaunchEnv launch;
    launch.set({{"job", 0},
                {},
                {},
                edits({{How::set, "S", "new", ':'},
                       {How::add, "P", "ignored", ':'},
                       {How::add, "N", "added", ':'},
                       {How::prepend, "P", "front", ':'},
                       {How::append, "P", "back", ':'},
                       {How::first, "P", "mid", ':'},
                       {How::unset, "U", "", ':'},
                       {How::append, "E", "only", ':'}}),
                {}});
    Env env;
    env.add("S=old");
    env.add("P=a:mid:b");
    env.add("U=x");
    ASSERT_STATUS(PMIX_SUCCESS, launch.apply("job", 0, &env.v));
    EXPECT_EQ("new", env.get("S"));
    EXPECT_EQ("added", env.get("N"));
    EXPECT_EQ("mid:front:a:b:back", env.get("P"));
    EXPECT_EQ("<unset>", env.get("U"));
    EXPECT_EQ("only", env.get("E"));
}

// rows: V12
TEST(LaunchEnvTest, AnyOrderOfRegistrationAndOfLeaving) {
    LaunchEnv launch;
    std::vector<uint32_t> order(200);
    std::iota(order.begin(), order.end(), 0u);
    // In order they are appended, then backwards and mixed they are put between.
    std::mt19937 random(7);
    for (const char* job : {"m", "b", "z"}) {
        for (uint32_t r : order) launch.set({{job, r}, {}, {{"R", job + std::to_string(r)}}, {}, {}});
        std::shuffle(order.begin(), order.end(), random);
    }
    for (uint32_t r = 0; r < 200; r += 2) launch.remove(ProcId("b", r));
    for (uint32_t r = 0; r < 200; r += 4) launch.set({{"b", r}, {}, {{"R", "again" + std::to_string(r)}}, {}, {}});
    launch.remove("z");
    for (uint32_t r = 0; r < 200; ++r) {
        Env m, b, z;
        EXPECT_STATUS(PMIX_SUCCESS, launch.apply("m", r, &m.v));
        EXPECT_EQ("m" + std::to_string(r), m.get("R"));
        EXPECT_STATUS(r % 4 == 2 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS, launch.apply("b", r, &b.v)) << r;
        EXPECT_EQ(r % 4 == 2 ? "<unset>" : (r % 4 == 0 ? "again" : "b") + std::to_string(r), b.get("R"));
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, launch.apply("z", r, &z.v));
    }
}

// Five times as many take some five times as long, and not 25: the table is not copied for each that leaves.
TEST(LaunchEnvTest, ManyLeave_CostGrowsWithTheirNumber) {
    const auto seconds = [](uint32_t n) {
        LaunchEnv launch;
        for (uint32_t i = 0; i < n; ++i) launch.set({{"job", i}, {}, {{"A", "1"}}, {}, {}});
        const double before = pmix::test::cpu_seconds();
        for (uint32_t i = 0; i < n; ++i) launch.remove(ProcId("job", i));
        return pmix::test::cpu_seconds() - before;
    };
    seconds(1000);
    const double few = std::min({seconds(4000), seconds(4000), seconds(4000)});
    EXPECT_LT(seconds(20000), 12 * few);
}

// Those that have left are unknown at once, whatever the table does about them, and may come again.
TEST(LaunchEnvTest, SomeLeaveAndSomeComeAgain) {
    constexpr uint32_t kRanks = 40;
    LaunchEnv launch;
    std::vector<int> wanted(kRanks, -1);
    std::mt19937 random(7);
    for (int step = 0; step < 2000; ++step) {
        const uint32_t rank = static_cast<uint32_t>(random() % kRanks);
        const auto how = random() % 8;
        if (how < 4) {
            launch.remove(ProcId("job", rank));
            wanted[rank] = -1;
        } else if (how < 7) {
            launch.set({{"job", rank}, {}, {{"A", std::to_string(step)}}, {}, {}});
            wanted[rank] = step;
        } else {
            std::vector<LaunchEnv::Block> blocks;
            for (uint32_t i = rank; i < std::min(rank + 3, kRanks); ++i) {
                blocks.push_back({{"job", i}, {}, {{"A", std::to_string(step)}}, {}, {}});
                wanted[i] = step;
            }
            launch.set_all(std::move(blocks));
        }
        for (uint32_t i = 0; i < kRanks; ++i) {
            Env env;
            ASSERT_STATUS(wanted[i] < 0 ? PMIX_ERR_NOT_FOUND : PMIX_SUCCESS, launch.apply("job", i, &env.v));
            if (wanted[i] >= 0) {
                ASSERT_EQ(std::to_string(wanted[i]), env.get("A"));
            }
        }
    }
    launch.remove("job");
    Env env;
    for (uint32_t i = 0; i < kRanks; ++i) EXPECT_STATUS(PMIX_ERR_NOT_FOUND, launch.apply("job", i, &env.v));
}

// rows: V12
TEST(LaunchEnvTest, ManyAtOnce_ReplaceAndJoinTheOthers) {
    LaunchEnv launch;
    launch.set_all({});
    for (const char* job : {"a", "b", "c"})
        for (const uint32_t r : {1u, 3u}) launch.set({{job, r}, {}, {{"R", job}}, {}, {}});
    std::vector<LaunchEnv::Block> blocks;
    for (uint32_t r = 0; r < 40; ++r) blocks.push_back({{"b", r}, {}, {{"R", "new" + std::to_string(r)}}, {}, {}});
    launch.set_all(std::move(blocks));
    for (uint32_t r = 0; r < 40; ++r) {
        Env env;
        ASSERT_STATUS(PMIX_SUCCESS, launch.apply("b", r, &env.v)) << r;
        EXPECT_EQ("new" + std::to_string(r), env.get("R"));
    }
    for (const char* job : {"a", "c"}) {
        for (uint32_t r = 0; r < 5; ++r) {
            Env env;
            EXPECT_STATUS(r % 2 == 1 && r < 4 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, launch.apply(job, r, &env.v));
            if (env.v == nullptr) continue;
            EXPECT_EQ(job, env.get("R"));
        }
    }
    launch.set({{"d", 0}, {}, {{"R", "d"}}, {}, {}});
    Env last;
    EXPECT_STATUS(PMIX_SUCCESS, launch.apply("d", 0, &last.v)) << "appended to the new table";
}

// rows: V12
TEST(LaunchEnvTest, InAForkedChildWhileTheHostGoesOn) {
    LaunchEnv launch;
    LaunchEnv::set_current(&launch);
    launch.set({{"job", 0}, {}, {{"A", "1"}}, {}, {}});
    std::atomic<bool> stop{false};
    // Another thread forks, as hosts do, while this one, the loop, registers.
    int good = 0;
    std::thread forker([&] {
        for (int i = 0; i < 50; ++i) {
            pid_t pid = ::fork();
            if (pid == 0) {
                char** env = nullptr;
                const LaunchEnv* mine = LaunchEnv::current();
                bool fine = mine != nullptr && mine->apply("job", 0, &env) == PMIX_SUCCESS && env != nullptr &&
                            std::strcmp(env[0], "A=1") == 0;
                ::_exit(fine ? 0 : 1);
            }
            int status = 0;
            ::waitpid(pid, &status, 0);
            good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
        }
        stop = true;
    });
    for (uint32_t r = 1; !stop; ++r) {
        launch.set({{"other", r % 64}, {}, {{"X", std::to_string(r)}}, {}, {}});
        if (r % 64 == 0) launch.remove("other");
    }
    forker.join();
    EXPECT_EQ(50, good);
    LaunchEnv::set_current(nullptr);
    EXPECT_EQ(nullptr, LaunchEnv::current());
}

}  // namespace launch_env_test
