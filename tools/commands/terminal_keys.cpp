// SPDX-License-Identifier: BSD-3-Clause
#include "terminal_keys.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>

namespace commands {
namespace {

termios g_terminal{};
volatile std::sig_atomic_t g_changed = 0;

void restore() {
    if (g_changed) ::tcsetattr(STDIN_FILENO, TCSANOW, &g_terminal);
    g_changed = 0;
}

}  // namespace

TerminalKeys::TerminalKeys() {
    if (::tcgetattr(STDIN_FILENO, &g_terminal) != 0) return;
    g_changed = 1;
    std::atexit(&restore);  // where the command ends in the midst of its work
    for (const int signal : {SIGINT, SIGTERM, SIGHUP})
        std::signal(signal, [](int number) {
            restore();
            std::signal(number, SIG_DFL);
            std::raise(number);
        });
    termios raw = g_terminal;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
}

TerminalKeys::~TerminalKeys() {
    restore();
}

char TerminalKeys::pressed_before(std::chrono::steady_clock::time_point end) const {
    pollfd in{STDIN_FILENO, POLLIN, 0};
    for (;;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        if (left <= 0) return 0;
        if (::poll(&in, g_changed ? 1 : 0, static_cast<int>(std::min<int64_t>(left, INT_MAX))) <= 0) continue;
        char key = 0;
        return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
    }
}

}  // namespace commands
