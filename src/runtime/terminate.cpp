// SPDX-License-Identifier: BSD-3-Clause
// What the C++ runtime inside libpmix.so.2 does where an exception finds no handler: one line, and abort().
//
// The runtime's own function prints the exception's type, for which it brings a demangler: 50 KiB of text, and a page
// of relocated tables that each process would have of its own. Any thread. In a program that links the static library
// this object is not taken: the program's runtime has its function.
#include <stdlib.h>
#include <unistd.h>

namespace __gnu_cxx {

[[noreturn]] void __verbose_terminate_handler();

[[noreturn]] void __verbose_terminate_handler() {
    static const char text[] =
        "libpmix: an exception was thrown where none may be; please report it with a backtrace\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, sizeof text - 1);
    ::abort();
}

}  // namespace __gnu_cxx
