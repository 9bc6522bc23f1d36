// SPDX-License-Identifier: BSD-3-Clause
// Real numbers as text that strtod() reads back as the same number, whatever the locale it is written in.
//
// Owns nothing; any thread. Cannot fail but for text that is no number.
#pragma once

#include <cstddef>

namespace pmix::common {

inline constexpr size_t kMaxRealText = 32;  // with its NUL

// Six decimals where they are exact ("0.100000"), else C's hexadecimal form ("0x1.5555555555555p-2"), "inf" or "nan".
// Returns the length without the NUL.
size_t print_real(float number, char (&out)[kMaxRealText]) noexcept;
size_t print_real(double number, char (&out)[kMaxRealText]) noexcept;

// text[length] is NUL. Any form that strtod() knows, with a point or a comma. False: not a number, or something behind
// it.
bool parse_real(const char* text, size_t length, float* out) noexcept;
bool parse_real(const char* text, size_t length, double* out) noexcept;

}  // namespace pmix::common
