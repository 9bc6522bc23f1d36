// SPDX-License-Identifier: BSD-3-Clause
// The main function of the test programs, each of which holds several test files: `PROGRAM FILE_test` runs those of one
// file, without a word it runs all. GoogleTest's own options stay what they are; --gtest_filter takes the file's place.
//
// The thread that runs the tests. A file that the program does not hold is an error: exit status 2.
#include <gtest/gtest.h>

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
    if (argc > 1 && testing::GTEST_FLAG(filter) == "*") {
        testing::GTEST_FLAG(filter) = tests_of(argv[1]);
        if (testing::GTEST_FLAG(filter).empty()) {
            std::cerr << argv[0] << ": has no test of a file " << argv[1] << "\n";
            return 2;
        }
    }
    return RUN_ALL_TESTS();
}
