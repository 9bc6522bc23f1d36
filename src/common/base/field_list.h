// SPDX-License-Identifier: BSD-3-Clause
// The list of a struct's fields, once: encoding, decoding, printing and the samples of tests follow from it.
//
// Macros only. WIREUP_FIELDS stands at the end of a struct, with its name and then its fields in wire order.
#pragma once

// fields(v) calls v(name, pointer to member) for each field. As many as 27.
#define WIREUP_FIELDS(type, ...)                     \
    using Self = type;                               \
    template <class V>                               \
    static void fields(V&& v) {                      \
        WIREUP_EACH_3(WIREUP_EACH_STEP(__VA_ARGS__)) \
    }

// A macro is not expanded inside itself, but by the next scan: each of these scans three times what it is given.
#define WIREUP_EACH_3(...) WIREUP_EACH_2(WIREUP_EACH_2(WIREUP_EACH_2(__VA_ARGS__)))
#define WIREUP_EACH_2(...) WIREUP_EACH_1(WIREUP_EACH_1(WIREUP_EACH_1(__VA_ARGS__)))
#define WIREUP_EACH_1(...) WIREUP_EACH_0(WIREUP_EACH_0(WIREUP_EACH_0(__VA_ARGS__)))
#define WIREUP_EACH_0(...) __VA_ARGS__
#define WIREUP_EACH_STEP(member, ...) \
    v(#member, &Self::member);        \
    __VA_OPT__(WIREUP_EACH_NEXT WIREUP_EACH_PARENS(__VA_ARGS__))
#define WIREUP_EACH_NEXT() WIREUP_EACH_STEP
#define WIREUP_EACH_PARENS ()
