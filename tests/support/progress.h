// SPDX-License-Identifier: BSD-3-Clause
// One line on a terminal that says how far a long run is: rewritten in place, gone at the end. Nothing is written where
// standard error is no terminal. As progress.py and progress.sh.
//
// Free functions; nothing owned, so that a process and those that it starts may write the same line. Any thread, one at
// a time. What can go wrong: a terminal that does not tell its width is taken to have 80 columns.
#pragma once

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace pmix::test {

// Before something else is written, and at the end.
inline void progress_hide() {
    if (::isatty(STDERR_FILENO) != 0) std::fputs("\r\033[K", stderr);
}

inline void progress_say(const std::string& text) {
    if (::isatty(STDERR_FILENO) == 0) return;
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    const size_t width = known ? size.ws_col : 80;
    std::fprintf(stderr, "\r\033[K%s", text.substr(0, width - 1).c_str());
}

}  // namespace pmix::test
