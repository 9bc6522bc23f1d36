// SPDX-License-Identifier: BSD-3-Clause
// The main function of the test programs, which may hold several test files: `PROGRAM FILE_test` runs the tests of one
// file. GoogleTest's own options stay what they are; --gtest_filter takes the file's place. Without either all tests
// run in one process, and those fail that want one in which nothing has happened before. WIREUP_TEST_EXCEPT is a filter
// of tests of that file that are left out (tests/machines/run).
//
// The thread that runs the tests. A file that the program does not hold, or a second one, is an error: exit status 2.
#include <gtest/gtest.h>

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

}  // namespace

int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
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
