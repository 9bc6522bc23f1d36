#include "common/decimal.h"

#include <locale.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
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

template <class T>
size_t print(T number, char (&out)[kMaxDecimal]) noexcept {
    const double magnitude = std::fabs(static_cast<double>(number));
    if (magnitude < kFixedLimit) {
        // An exact quotient of two exact numbers is what any correct reader makes of the text.
        const auto millionths = static_cast<uint64_t>(std::llrint(magnitude * static_cast<double>(kMillion)));
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
    const CLocale c;
    const locale_t before = uselocale(c.get());
    const int n =
        std::snprintf(out, sizeof out, "%.*g", std::is_same_v<T, float> ? 9 : 17, static_cast<double>(number));
    uselocale(before);
    return static_cast<size_t>(n);
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

size_t print_decimal(float number, char (&out)[kMaxDecimal]) noexcept {
    return print(number, out);
}
size_t print_decimal(double number, char (&out)[kMaxDecimal]) noexcept {
    return print(number, out);
}
bool parse_decimal(const char* text, size_t length, float* out) noexcept {
    return parse(text, length, out);
}
bool parse_decimal(const char* text, size_t length, double* out) noexcept {
    return parse(text, length, out);
}

}  // namespace pmix::common
