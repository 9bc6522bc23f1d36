// SPDX-License-Identifier: BSD-3-Clause
// A test that does not end, for the time limit of main.cpp.
#include <gtest/gtest.h>
#include <unistd.h>

TEST(Endless, Waits) {
    for (;;) ::pause();
}
