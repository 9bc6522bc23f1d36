// SPDX-License-Identifier: BSD-3-Clause
// The main function of the test programs, which may hold several test files: `PROGRAM FILE_test` runs the tests of one
// file. GoogleTest's own options stay what they are; --gtest_filter takes the file's place. Without either all tests
// run in one process, and those fail that want one in which nothing has happened before. WIREUP_TEST_EXCEPT is a filter
// of tests of that file that are left out (tests/machines/run).
//
// WIREUP_TEST_LIMIT is a number of seconds, after which the program prints the stacks of its threads, where gdb is
// installed, and fails: ctest, whose own limit is a little higher, ends a program and says nothing about it.
//
// The thread that runs the tests. A file that the program does not hold, or a second one, is an error: exit status 2.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

namespace {

std::string_view stem(std::string_view path) {
    path.remove_prefix(path.rfind('/') + 1);
    return path.substr(0, path.find('.'));
}

// "Suite.Test:Suite.Other": what stands in that file.
std::string tests_of(std::string_view file) {
    std::string filter;
    const auto& all = *testing::UnitTest::GetInstance();
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
        const auto& suite = *all.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            const auto& test = *suite.GetTestInfo(t);
            if (stem(test.file()) == file) filter.append(suite.name()).append(".").append(test.name()).append(":");
        }
    }
    return filter;
}

char own_number[16];

void say(std::string_view text) {
    if (::write(2, text.data(), text.size()) < 0) return;
}

// A signal's handler: it may have interrupted anything, so it allocates nothing.
void end_with_stacks(int) {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const pid_t child = ::vfork();
    if (child == 0) {
        ::execlp("gdb", "gdb", "-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", own_number, "-ex",
                 "thread apply all bt 20", nullptr);
        say("gdb is not installed: the stacks of this test are not shown\n");
        ::_exit(127);
    }
    while (child > 0 && ::waitpid(child, nullptr, 0) < 0 && errno == EINTR) continue;
    say("the test did not end within its time limit\n");
    ::_exit(1);
}

// The signal is one that no test uses: forked children have alarms of their own.
void limit_time(const char* seconds) {
    std::snprintf(own_number, sizeof own_number, "%d", ::getpid());
    struct sigaction action {};
    action.sa_handler = end_with_stacks;
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGRTMAX;
    itimerspec limit{};
    limit.it_value.tv_sec = std::atol(seconds);
    timer_t timer;
    if (::sigaction(SIGRTMAX, &action, nullptr) != 0 || ::timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
        ::timer_settime(timer, 0, &limit, nullptr) != 0) {
        std::perror("WIREUP_TEST_LIMIT");
    }
}

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    if (const char* seconds = std::getenv("WIREUP_TEST_LIMIT"); seconds != nullptr) limit_time(seconds);
    // What begins with a dash is GoogleTest's: it has printed its help.
    if (argc == 1 || argv[1][0] == '-' || testing::GTEST_FLAG(filter) != "*") return RUN_ALL_TESTS();
    testing::GTEST_FLAG(filter) = tests_of(argv[1]);
    if (argc > 2 || testing::GTEST_FLAG(filter).empty()) {
        std::cerr << argv[0] << ": has no test of a file " << argv[argc - 1] << ", or was given two\n";
        return 2;
    }
    if (const char* except = std::getenv("WIREUP_TEST_EXCEPT"); except != nullptr && *except != 0) {
        testing::GTEST_FLAG(filter).append("-").append(except);
    }
    return RUN_ALL_TESTS();
}
