// SPDX-License-Identifier: BSD-3-Clause
// PMIx_server_setup_fork beside the end of the library: finalize waits for the callers inside.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <future>
#include <thread>

#include "support/server_here.h"
#include "support/status.h"

namespace setup_fork_test {

using namespace pmix;
using namespace pmix::test;

namespace {

// A page that cannot be read until the test allows it. The first reader stops there: so the test can tell that
// setup_fork is in the middle of the caller's environment, and keeps it there.
struct SlowPage {
    static inline SlowPage* current = nullptr;
    char* text = nullptr;
    size_t size = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
    int there[2] = {-1, -1}, go[2] = {-1, -1};
    struct sigaction before {};

    SlowPage() {
        EXPECT_EQ(0, ::pipe(there));
        EXPECT_EQ(0, ::pipe(go));
        void* page = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        EXPECT_NE(MAP_FAILED, page);
        text = static_cast<char*>(page);
        std::strcpy(text, "FIRST=1");
        EXPECT_EQ(0, ::mprotect(text, size, PROT_NONE));
        current = this;
        struct sigaction how {};
        how.sa_sigaction = &stop;
        how.sa_flags = SA_SIGINFO;
        EXPECT_EQ(0, ::sigaction(SIGSEGV, &how, &before));
    }
    ~SlowPage() {
        ::sigaction(SIGSEGV, &before, nullptr);
        ::munmap(text, size);
        for (int fd : {there[0], there[1], go[0], go[1]}) ::close(fd);
    }
    static void stop(int, siginfo_t* info, void*) {
        auto* at = static_cast<char*>(info->si_addr);
        char letter = 'x';
        // Another fault is a bug, and ends the process when it comes again.
        if (at < current->text || at >= current->text + current->size) {
            ::signal(SIGSEGV, SIG_DFL);
            return;
        }
        if (::write(current->there[1], &letter, 1) != 1 || ::read(current->go[0], &letter, 1) != 1) ::abort();
        if (::mprotect(current->text, current->size, PROT_READ) != 0) ::abort();
    }
    bool somebody_reads() const {
        pollfd p{there[0], POLLIN, 0};
        return ::poll(&p, 1, 60'000) == 1;
    }
    void let_go() const { EXPECT_EQ(1, ::write(go[1], "x", 1)); }
};

}  // namespace

// rows: V12 V2
TEST(SetupForkTest, Finalize_CallerInside_WaitsForIt) {
    InfoList infos = ServerHere::named();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size()));
    register_job("job");
    SlowPage page;
    char** env = static_cast<char**>(std::calloc(2, sizeof(char*)));
    ASSERT_NE(nullptr, env);
    env[0] = page.text;
    pmix_status_t status = PMIX_ERROR;
    std::thread child([&] {
        const pmix_proc_t rank = ProcId("job", 0).to_c();
        status = PMIx_server_setup_fork(&rank, &env);
    });
    ASSERT_TRUE(page.somebody_reads());
    std::promise<pmix_status_t> promise;
    auto ended = promise.get_future();
    std::thread end([&] { promise.set_value(PMIx_server_finalize()); });
    // Whatever is seen here is right only one way: it cannot have ended.
    EXPECT_EQ(std::future_status::timeout, ended.wait_for(std::chrono::milliseconds(500))) << "its data is in use";
    page.let_go();
    child.join();
    EXPECT_STATUS(PMIX_SUCCESS, status);
    EXPECT_STATUS(PMIX_SUCCESS, ended.get());
    end.join();
    size_t n = 0;
    bool told = false;
    for (; env[n] != nullptr; ++n) {
        told = told || std::strncmp(env[n], "PMIX_RANK=0", 11) == 0;
        if (env[n] != page.text) std::free(env[n]);
    }
    EXPECT_TRUE(told);
    EXPECT_GT(n, 1u);
    std::free(env);
    // And after it, there is nothing to be inside of.
    char** none = nullptr;
    const pmix_proc_t rank = ProcId("job", 0).to_c();
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_setup_fork(&rank, &none));
}

}  // namespace setup_fork_test
