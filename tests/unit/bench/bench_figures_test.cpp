// SPDX-License-Identifier: BSD-3-Clause
// What the benchmark's programs refuse to print: figures that cannot be true.
#include <gtest/gtest.h>

#include "bench/yardstick/figures.h"

namespace bench_figures_test {

TEST(BenchFigures, Rate_MoreThanThreadsCanMake_IsRefused) {
    EXPECT_TRUE(rate_is_possible(11e6, 1));
    EXPECT_TRUE(rate_is_possible(3.9e9, 4));
    EXPECT_FALSE(rate_is_possible(15.9e9, 4)) << "was published once: the clock was started after the barrier";
    EXPECT_FALSE(rate_is_possible(1.1e9, 1));
    EXPECT_FALSE(rate_is_possible(0, 4));
    EXPECT_FALSE(rate_is_possible(-1, 4));
    EXPECT_FALSE(rate_is_possible(HUGE_VAL, 4)) << "no time has passed";
    EXPECT_FALSE(rate_is_possible(NAN, 4));
}

TEST(BenchFigures, Duration_ZeroNegativeOrEndless_IsRefused) {
    EXPECT_TRUE(figure_is_possible("job_size_ns", "ns", 52));
    EXPECT_TRUE(figure_is_possible("fence_us", "us", 0.5));
    EXPECT_FALSE(figure_is_possible("job_size_ns", "ns", 0));
    EXPECT_FALSE(figure_is_possible("job_size_ns", "ns", 0.06)) << "16,000 million calls a second";
    EXPECT_FALSE(figure_is_possible("fence_us", "us", -3));
    EXPECT_FALSE(figure_is_possible("fence_us", "us", 1e18)) << "a difference of times that fell below zero";
    EXPECT_FALSE(figure_is_possible("fence_us", "us", NAN));
    EXPECT_TRUE(figure_is_possible("fence_cpu_us", "us", 0)) << "processor time has coarse clocks";
    EXPECT_FALSE(figure_is_possible("fence_cpu_us", "us", -1));
}

TEST(BenchFigures, Amount_BelowZero_IsRefusedUnlessItIsAChange) {
    EXPECT_TRUE(figure_is_possible("mem_init_client_pss", "KiB", 0));
    EXPECT_FALSE(figure_is_possible("mem_init_client_pss", "KiB", -1));
    EXPECT_TRUE(figure_is_possible("mem_peer_client_pss_growth", "KiB", -12));
    EXPECT_FALSE(figure_is_possible("errors", "count", -1));
}

}  // namespace bench_figures_test
