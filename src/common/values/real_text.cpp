// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/real_text.h"

#include <locale.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

namespace pmix::common {
namespace {

// Below 2^31 the sixth decimal is further apart than doubles are, so the six decimals next to a number are unique.
constexpr double kFixedLimit = 2147483648.0;
constexpr uint64_t kMillion = 1'000'000;

// A double half-way between two floats may not be what was rounded to get it.
bool half_way(double d) noexcept {
    return (std::bit_cast<uint64_t>(d) & 0x1fffffff) == 0x10000000;
}

template <class T>
bool is_exactly(double d, T number) noexcept {
    if constexpr (std::is_same_v<T, float>) {
        return static_cast<float>(d) == number && !half_way(d);
    } else {
        return d == number;
    }
}

// The C locale for a short while: others may write a comma.
class CLocale {
  public:
    CLocale() noexcept : c_(newlocale(LC_ALL_MASK, "C", nullptr)) {}
    ~CLocale() { freelocale(c_); }
    CLocale(const CLocale&) = delete;
    CLocale& operator=(const CLocale&) = delete;
    locale_t get() const noexcept { return c_; }

  private:
    locale_t c_;
};

// Every bit of the number; a float is a double too.
size_t print_hex(double number, char (&out)[kMaxRealText]) noexcept {
    const auto bits = std::bit_cast<uint64_t>(number);
    uint64_t fraction = bits & 0xfffffffffffff;
    int exponent = static_cast<int>(bits >> 52 & 0x7ff);
    char* p = out;
    if (bits >> 63 != 0) *p++ = '-';
    if (exponent == 0x7ff) {
        std::memcpy(p, fraction == 0 ? "inf" : "nan", 4);
        return static_cast<size_t>(p + 3 - out);
    }
    *p++ = '0';
    *p++ = 'x';
    *p++ = exponent == 0 ? '0' : '1';
    exponent = exponent == 0 ? -1022 : exponent - 1023;
    if (fraction != 0) *p++ = '.';
    for (; fraction != 0; fraction = fraction << 4 & 0xfffffffffffff) *p++ = "0123456789abcdef"[fraction >> 48];
    *p++ = 'p';
    *p++ = exponent < 0 ? '-' : '+';
    unsigned rest = exponent < 0 ? static_cast<unsigned>(-exponent) : static_cast<unsigned>(exponent);
    char digits[4];
    int n = 0;
    do {
        digits[n++] = static_cast<char>('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    while (n != 0) *p++ = digits[--n];
    *p = '\0';
    return static_cast<size_t>(p - out);
}

// What print_hex writes of normal numbers, and nothing else; rounding is not needed.
bool parse_hex(const char* text, size_t length, double* out) noexcept {
    const char* p = text;
    const char* const end = text + length;
    const bool negative = p != end && *p == '-';
    if (negative) ++p;
    if (end - p < 5 || p[0] != '0' || p[1] != 'x' || p[2] != '1') return false;
    p += 3;
    uint64_t fraction = 0;
    int shift = 52;
    if (*p == '.') {
        for (++p; *p != 'p'; ++p) {
            const unsigned digit = *p >= '0' && *p <= '9'   ? static_cast<unsigned>(*p - '0')
                                   : *p >= 'a' && *p <= 'f' ? static_cast<unsigned>(*p - 'a' + 10)
                                                            : 16u;
            if (digit == 16 || shift == 0) return false;  // also the NUL
            shift -= 4;
            fraction |= uint64_t{digit} << shift;
        }
    }
    if (*p++ != 'p') return false;
    const bool down = *p == '-';
    if (*p != '-' && *p != '+') return false;
    int exponent = 0;
    const char* const first = ++p;
    for (; *p >= '0' && *p <= '9'; ++p) {
        if (p - first == 4) return false;
        exponent = exponent * 10 + (*p - '0');
    }
    if (p != end || p == first) return false;
    if (down) exponent = -exponent;
    if (exponent < -1022 || exponent > 1023) return false;
    *out = std::bit_cast<double>(uint64_t{negative} << 63 | static_cast<uint64_t>(exponent + 1023) << 52 | fraction);
    return true;
}

// To the nearest whole number, ties to even, as llrint does: that alone would have every process load the mathematical
// library.
uint64_t nearest(double positive) noexcept {
    const auto whole = static_cast<uint64_t>(positive);
    const double rest = positive - static_cast<double>(whole);  // exact
    return whole + (rest > 0.5 || (rest == 0.5 && whole % 2 != 0));
}

template <class T>
size_t print(T number, char (&out)[kMaxRealText]) noexcept {
    const double magnitude = std::fabs(static_cast<double>(number));
    if (magnitude < kFixedLimit) {
        // An exact quotient of two exact numbers is what any correct reader makes of the text.
        const auto millionths = nearest(magnitude * static_cast<double>(kMillion));
        if (is_exactly(static_cast<double>(millionths) / static_cast<double>(kMillion), static_cast<T>(magnitude))) {
            char digits[24];
            char* p = digits + sizeof digits;
            uint64_t rest = millionths % kMillion;
            for (int i = 0; i < 6; ++i, rest /= 10) *--p = static_cast<char>('0' + rest % 10);
            *--p = '.';
            rest = millionths / kMillion;
            do {
                *--p = static_cast<char>('0' + rest % 10);
                rest /= 10;
            } while (rest != 0);
            if (std::signbit(number)) *--p = '-';
            size_t n = 0;
            while (p != digits + sizeof digits) out[n++] = *p++;
            out[n] = '\0';
            return n;
        }
    }
    return print_hex(static_cast<double>(number), out);
}

template <class T>
bool parse(const char* text, size_t length, T* out) noexcept {
    static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    // Up to 15 digits make an exact integer, and its quotient by a power of ten is rounded once. A comma is what a
    // sender in another locale writes.
    const bool negative = text[0] == '-';
    uint64_t number = 0;
    size_t digits = 0;
    size_t decimals = 0;
    bool point = false;
    bool simple = length <= 17;
    for (size_t i = negative ? 1 : 0; simple && i < length; ++i) {
        const char ch = text[i];
        if (ch >= '0' && ch <= '9') {
            number = number * 10 + static_cast<uint64_t>(ch - '0');
            ++digits;
            if (point) ++decimals;
        } else if ((ch == '.' || ch == ',') && !point) {
            point = true;
        } else {
            simple = false;
        }
    }
    if (simple && digits != 0 && digits <= 15) {
        const double d = static_cast<double>(number) / kPowers[decimals];
        const T value = static_cast<T>(d);
        if (std::is_same_v<T, double> || !half_way(d)) {
            *out = negative ? -value : value;
            return true;
        }
    }
    if (length == 0) return false;
    double exact = 0;
    // Converting to a float rounds once more only where the sender's was no float, and then as strtof() would.
    if (parse_hex(text, length, &exact)) {
        *out = static_cast<T>(exact);
        return true;
    }
    const CLocale c;
    char* end = nullptr;
    if constexpr (std::is_same_v<T, float>) {
        *out = strtof_l(text, &end, c.get());
    } else {
        *out = strtod_l(text, &end, c.get());
    }
    return end == text + length;
}

}  // namespace

size_t print_real(float number, char (&out)[kMaxRealText]) noexcept {
    return print(number, out);
}
size_t print_real(double number, char (&out)[kMaxRealText]) noexcept {
    return print(number, out);
}
bool parse_real(const char* text, size_t length, float* out) noexcept {
    return parse(text, length, out);
}
bool parse_real(const char* text, size_t length, double* out) noexcept {
    return parse(text, length, out);
}

}  // namespace pmix::common
