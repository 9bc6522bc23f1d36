// SPDX-License-Identifier: BSD-3-Clause
// In place of libstdc++'s file of this name, which takes its bits out of glibc's <ctype.h>: bits of our own. Objects
// are compiled with it and never linked, so only the names count.
namespace std {
struct ctype_base {
    using mask = unsigned short;
    using __to_type = const int*;
    static const mask upper = 1 << 0;
    static const mask lower = 1 << 1;
    static const mask alpha = 1 << 2;
    static const mask digit = 1 << 3;
    static const mask xdigit = 1 << 4;
    static const mask space = 1 << 5;
    static const mask print = 1 << 6;
    static const mask cntrl = 1 << 7;
    static const mask punct = 1 << 8;
    static const mask blank = 1 << 9;
    static const mask alnum = alpha | digit;
    static const mask graph = alnum | punct;
};
}  // namespace std
