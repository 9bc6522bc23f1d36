// Real numbers as decimal text that brings back the same number, whatever the locale.
//
// Owns nothing; any thread. Cannot fail but for text that is no number.
#pragma once

#include <cstddef>

namespace pmix::common {

inline constexpr size_t kMaxDecimal = 40;  // with its NUL

// Six decimals where they are exact ("0.100000"), else as many digits as it takes ("1.0000000000000001e-09").
// Returns the length without the NUL.
size_t print_decimal(float number, char (&out)[kMaxDecimal]) noexcept;
size_t print_decimal(double number, char (&out)[kMaxDecimal]) noexcept;

// text[length] is NUL. False: not a number, or something behind it.
bool parse_decimal(const char* text, size_t length, float* out) noexcept;
bool parse_decimal(const char* text, size_t length, double* out) noexcept;

}  // namespace pmix::common
