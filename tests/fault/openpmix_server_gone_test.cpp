// SPDX-License-Identifier: BSD-3-Clause
// A launcher with OpenPMIx's library that goes, or falls silent, at any moment: while a process connects, and while it
// waits for an answer of any kind. Each call ends with a status, and so do the calls after it.
//
// How the server goes: it closes its end, it is killed with unread bytes (a reset), or it goes in the middle of an
// answer. A stopped server is one that does not answer; a call with a limit ends by it.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_server_gone_test {
namespace {

namespace theirs = openpmix;
using common::Value;

enum class End { closed, reset, in_an_answer };

// A call that waits for the server: what it is, what the server is asked, and the call with infos.
struct Waiting {
    const char* name;
    theirs::Command command;
    std::function<pmix_status_t(const pmix_info_t infos[], size_t ninfos)> call;
};

pmix_proc_t named(const char* nspace, pmix_rank_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, nspace, rank);
    return proc;
}

std::vector<Waiting> waiting_calls() {
    return {
        {"get", theirs::Command::get,
         [](const pmix_info_t infos[], size_t n) {
             const pmix_proc_t proc = named("job", 1);
             pmix_value_t* value = nullptr;
             return PMIx_Get(&proc, "key", infos, n, &value);
         }},
        {"fence", theirs::Command::fence,
         [](const pmix_info_t infos[], size_t n) { return PMIx_Fence(nullptr, 0, infos, n); }},
        {"connect", theirs::Command::connect,
         [](const pmix_info_t infos[], size_t n) {
             const pmix_proc_t procs[] = {named("job", 0), named("other", 0)};
             return PMIx_Connect(procs, 2, infos, n);
         }},
        {"disconnect", theirs::Command::disconnect,
         [](const pmix_info_t infos[], size_t n) {
             const pmix_proc_t procs[] = {named("job", 0), named("other", 0)};
             return PMIx_Disconnect(procs, 2, infos, n);
         }},
        {"spawn", theirs::Command::spawn,
         [](const pmix_info_t infos[], size_t n) {
             char command[] = "true";
             pmix_app_t app;
             PMIX_APP_CONSTRUCT(&app);
             app.cmd = command;
             app.maxprocs = 1;
             pmix_nspace_t nspace;
             return PMIx_Spawn(infos, n, &app, 1, nspace);
         }},
        {"group", theirs::Command::group_construct,
         [](const pmix_info_t infos[], size_t n) {
             const pmix_proc_t procs[] = {named("job", 0), named("job", 1)};
             pmix_info_t* results = nullptr;
             size_t nresults = 0;
             return PMIx_Group_construct("group", procs, 2, infos, n, &results, &nresults);
         }},
        {"publish", theirs::Command::publish,
         [](const pmix_info_t infos[], size_t n) {
             std::vector<pmix_info_t> all(n + 1);
             PMIX_INFO_LOAD(&all[0], "port", "text", PMIX_STRING);
             for (size_t i = 0; i < n; ++i) PMIX_INFO_XFER(&all[i + 1], &infos[i]);
             const pmix_status_t rc = PMIx_Publish(all.data(), all.size());
             for (pmix_info_t& info : all) PMIX_INFO_DESTRUCT(&info);
             return rc;
         }},
        {"lookup", theirs::Command::lookup,
         [](const pmix_info_t infos[], size_t n) {
             pmix_pdata_t wanted;
             PMIX_PDATA_CONSTRUCT(&wanted);
             PMIX_LOAD_KEY(wanted.key, "port");
             return PMIx_Lookup(&wanted, 1, infos, n);
         }},
        {"unpublish", theirs::Command::unpublish,
         [](const pmix_info_t infos[], size_t n) {
             char key[] = "port";
             char* keys[] = {key, nullptr};
             return PMIx_Unpublish(keys, infos, n);
         }},
        {"credential", theirs::Command::get_credential,
         [](const pmix_info_t infos[], size_t n) {
             pmix_byte_object_t credential{};
             return PMIx_Get_credential(infos, n, &credential);
         }},
    };
}

class OpenPmixGone : public OpenPmixProcess {
  protected:
    void go(uint32_t tag, End how) {
        if (how == End::in_an_answer) {
            uint8_t head[theirs::kHeaderSize];
            theirs::build_header({0, tag, 100}, head);
            std::vector<uint8_t> part(std::begin(head), std::end(head));
            part.insert(part.end(), {2, 0, 2});
            server_->write(part);
        }
        how == End::reset ? server_->reset() : server_->cut();
    }
    void restart() {
        if (PMIx_Initialized()) PMIx_Finalize(nullptr, 0);
        OpenPmixServer::clear_environment();
        server_ = std::make_unique<OpenPmixServer>(GetParam().first, GetParam().second);
    }
};

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixGone,
                         ::testing::Values(std::make_pair("4.2.2", "v41"), std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixGone, InACall_EndsItAndAllThatFollow) {
    for (const Waiting& waiting : waiting_calls()) {
        for (const End how : {End::closed, End::reset, End::in_an_answer}) {
            SCOPED_TRACE(std::string(waiting.name) + ' ' + std::to_string(static_cast<int>(how)));
            restart();
            server_->on(waiting.command, [&](uint32_t tag, common::Bytes) { go(tag, how); });
            init();
            const LongWait wait(30'000);
            EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, waiting.call(nullptr, 0));
            EXPECT_FALSE(wait.over());
            for (const Waiting& after : waiting_calls()) {
                SCOPED_TRACE(after.name);
                EXPECT_STATUS(PMIX_ERR_UNREACH, after.call(nullptr, 0));
            }
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
            EXPECT_FALSE(wait.over());
        }
    }
}

TEST_P(OpenPmixGone, InFinalize_EndsIt) {
    for (const End how : {End::closed, End::reset, End::in_an_answer}) {
        SCOPED_TRACE(static_cast<int>(how));
        restart();
        server_->on(theirs::Command::finalize, [&](uint32_t tag, common::Bytes) { go(tag, how); });
        init();
        const LongWait wait(30'000);
        (void)PMIx_Finalize(nullptr, 0);
        EXPECT_FALSE(PMIx_Initialized());
        EXPECT_FALSE(wait.over());
    }
}

// While it asks for its job's data, which is the second step of the handshake.
TEST_P(OpenPmixGone, InInit_IsAStatus) {
    for (const End how : {End::closed, End::reset, End::in_an_answer}) {
        SCOPED_TRACE(static_cast<int>(how));
        restart();
        server_->on(theirs::Command::job_data, [&](uint32_t tag, common::Bytes) { go(tag, how); });
        server_->start();
        server_->set_environment();
        const LongWait wait(30'000);
        EXPECT_NE(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0));
        EXPECT_FALSE(PMIx_Initialized());
        EXPECT_FALSE(wait.over());
    }
}

// Its kernel takes the connection, and nobody reads.
TEST_P(OpenPmixGone, StoppedBeforeTheHandshake_EndsWithTheLimit) {
    server_->set_environment();
    pmix_info_t limit;
    int seconds = 1;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    const LongWait wait(30'000);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, PMIx_Init(&self_, &limit, 1));
    EXPECT_FALSE(wait.over());
}

// With a limit each call ends by it; without one, at the latest when the server goes.
TEST_P(OpenPmixGone, Stopped_EndsWithTheLimit) {
    std::atomic<int> fences{0};
    for (const Waiting& waiting : waiting_calls()) server_->on(waiting.command, [](uint32_t, common::Bytes) {});
    server_->on(theirs::Command::fence, [&fences](uint32_t, common::Bytes) { ++fences; });
    init();
    pmix_info_t limit;
    int seconds = 1;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    for (const Waiting& waiting : waiting_calls()) {
        SCOPED_TRACE(waiting.name);
        const LongWait wait(30'000);
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, waiting.call(&limit, 1));
        EXPECT_FALSE(wait.over());
    }
    const int with_limit = fences;
    ASSERT_GE(with_limit, 1);
    std::thread killer([&] {
        const LongWait most;
        while (fences == with_limit && !most.over()) std::this_thread::yield();
        server_->stop();
    });
    EXPECT_STATUS(PMIX_ERR_LOST_CONNECTION, PMIx_Fence(nullptr, 0, nullptr, 0));
    killer.join();
}

}  // namespace
}  // namespace pmix::test::openpmix_server_gone_test
