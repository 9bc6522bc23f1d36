// SPDX-License-Identifier: BSD-3-Clause
// Keys as they are pressed, until this ends; a signal that ends the command restores the terminal too.
//
// One thread; owns the settings of the terminal until its end. Without a terminal no key is ever pressed.
#pragma once

#include <chrono>

namespace commands {

class TerminalKeys {
  public:
    TerminalKeys();
    TerminalKeys(const TerminalKeys&) = delete;
    TerminalKeys& operator=(const TerminalKeys&) = delete;
    ~TerminalKeys();

    // 0: none until then. 'q' also where the terminal is gone.
    char pressed_before(std::chrono::steady_clock::time_point end) const;
};

}  // namespace commands
