// SPDX-License-Identifier: BSD-3-Clause
// Numbers and truth in a value, whatever numeric type it has.
#include <strings.h>

#include <cmath>
#include <limits>

#include "common/values/elements.h"
#include "common/values/value.h"

namespace pmix::common {
namespace {

// A number of any numeric type, widened without loss.
struct Number {
    enum class Kind : uint8_t { none, negative, natural, real } kind = Kind::none;
    int64_t negative = 0;
    uint64_t natural = 0;
    double real = 0;
};

// Types that are numbers to the ABI: the integers, floats, pid, rank, status, time and the enumerations held as
// integers.
Number widen(const pmix_value_t& value) noexcept {
    Number n;
    const TypeRow* row = type_row(value.type);
    if (row == nullptr || !row->plain) return n;
    const Field& f = fields_of(*row)[0];
    const void* p = value_data(&value);
    if (f.form == Form::real) {
        n.kind = Number::Kind::real;
        n.real = f.width == sizeof(float) ? static_cast<double>(load_field<float>(p, 0)) : load_field<double>(p, 0);
        return n;
    }
    n.kind = Number::Kind::natural;
    if (f.form == Form::uint) {
        switch (f.width) {
            case 1:
                n.natural = load_field<uint8_t>(p, 0);
                break;
            case 2:
                n.natural = load_field<uint16_t>(p, 0);
                break;
            case 4:
                n.natural = load_field<uint32_t>(p, 0);
                break;
            default:
                n.natural = load_field<uint64_t>(p, 0);
                break;
        }
        return n;
    }
    int64_t v = 0;
    switch (f.width) {
        case 1:
            v = load_field<int8_t>(p, 0);
            break;
        case 2:
            v = load_field<int16_t>(p, 0);
            break;
        case 4:
            v = load_field<int32_t>(p, 0);
            break;
        default:
            v = load_field<int64_t>(p, 0);
            break;
    }
    if (v < 0) {
        n.kind = Number::Kind::negative;
        n.negative = v;
    } else {
        n.natural = static_cast<uint64_t>(v);
    }
    return n;
}

}  // namespace

pmix_status_t read_number(const pmix_value_t& value, int64_t* out) noexcept {
    Number n = widen(value);
    switch (n.kind) {
        case Number::Kind::none:
            return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative:
            *out = n.negative;
            return PMIX_SUCCESS;
        case Number::Kind::natural:
            if (n.natural > static_cast<uint64_t>(INT64_MAX)) return PMIX_ERR_VALUE_OUT_OF_BOUNDS;
            *out = static_cast<int64_t>(n.natural);
            return PMIX_SUCCESS;
        case Number::Kind::real:
            return PMIX_ERR_BAD_PARAM;  // an integer is asked for; nothing is rounded in silence
    }
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_number(const pmix_value_t& value, uint64_t* out) noexcept {
    Number n = widen(value);
    switch (n.kind) {
        case Number::Kind::none:
            return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative:
            return PMIX_ERR_VALUE_OUT_OF_BOUNDS;
        case Number::Kind::natural:
            *out = n.natural;
            return PMIX_SUCCESS;
        case Number::Kind::real:
            return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_number(const pmix_value_t& value, double* out) noexcept {
    Number n = widen(value);
    switch (n.kind) {
        case Number::Kind::none:
            return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative:
            *out = static_cast<double>(n.negative);
            return PMIX_SUCCESS;
        case Number::Kind::natural:
            *out = static_cast<double>(n.natural);
            return PMIX_SUCCESS;
        case Number::Kind::real:
            *out = n.real;
            return PMIX_SUCCESS;
    }
    return PMIX_ERR_BAD_PARAM;
}

namespace {

// What the Standard calls numeric; enumerations are not.
bool is_numeric(pmix_data_type_t type) noexcept {
    switch (type) {
        case PMIX_BYTE:
        case PMIX_TIME:
        case PMIX_PID:
        case PMIX_PROC_RANK:
        case PMIX_STATUS:
            return true;
        default:
            return type == PMIX_SIZE || (type >= PMIX_INT && type <= PMIX_DOUBLE);
    }
}

template <class T>
pmix_status_t put_real(const Number& n, void* dest) noexcept {
    T v;
    bool same;
    switch (n.kind) {
        case Number::Kind::negative:
            v = static_cast<T>(n.negative);
            same = v >= static_cast<T>(-0x1p63) && static_cast<int64_t>(v) == n.negative;
            break;
        case Number::Kind::natural:
            v = static_cast<T>(n.natural);
            same = v < static_cast<T>(0x1p64) && static_cast<uint64_t>(v) == n.natural;
            break;
        default:
            if (std::isfinite(n.real) && std::fabs(n.real) > static_cast<double>(std::numeric_limits<T>::max())) {
                return PMIX_ERR_LOST_PRECISION;
            }
            v = static_cast<T>(n.real);
            same = static_cast<double>(v) == n.real || std::isnan(n.real);  // NaN stays NaN
            break;
    }
    if (!same) return PMIX_ERR_LOST_PRECISION;
    store_field(dest, 0, v);
    return PMIX_SUCCESS;
}

// A real number without a fraction as an integer; all others stay as they are.
Number as_integer(Number n) noexcept {
    if (n.kind != Number::Kind::real || std::trunc(n.real) != n.real) return n;
    if (n.real >= 0 && n.real < 0x1p64) {
        n.kind = Number::Kind::natural;
        n.natural = static_cast<uint64_t>(n.real);
    } else if (n.real < 0 && n.real >= -0x1p63) {
        n.kind = Number::Kind::negative;
        n.negative = static_cast<int64_t>(n.real);
    }
    return n;
}

template <class S, class U>
pmix_status_t put_integer(const Number& number, bool is_signed, void* dest) noexcept {
    const Number n = as_integer(number);
    if (n.kind == Number::Kind::real) return PMIX_ERR_LOST_PRECISION;
    if (n.kind == Number::Kind::negative) {
        if (!is_signed) return PMIX_ERR_CHANGE_SIGN;
        if (n.negative < std::numeric_limits<S>::min()) return PMIX_ERR_LOST_PRECISION;
        store_field(dest, 0, static_cast<S>(n.negative));
        return PMIX_SUCCESS;
    }
    uint64_t most = is_signed ? static_cast<uint64_t>(std::numeric_limits<S>::max()) : std::numeric_limits<U>::max();
    if (n.natural > most) return PMIX_ERR_LOST_PRECISION;
    store_field(dest, 0, static_cast<U>(n.natural));
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t convert_number(const pmix_value_t& value, pmix_data_type_t type, void* dest) noexcept {
    if (!is_numeric(value.type) || !is_numeric(type)) return PMIX_ERR_BAD_PARAM;
    if (value.type == type) {
        std::memcpy(dest, value_data(&value), type_row(type)->size);
        return PMIX_SUCCESS;
    }
    Number n = widen(value);
    const Field& f = fields_of(*type_row(type))[0];
    if (f.form == Form::real) return f.width == sizeof(float) ? put_real<float>(n, dest) : put_real<double>(n, dest);
    bool is_signed = f.form == Form::sint;
    switch (f.width) {
        case 1:
            return put_integer<int8_t, uint8_t>(n, is_signed, dest);
        case 2:
            return put_integer<int16_t, uint16_t>(n, is_signed, dest);
        case 4:
            return put_integer<int32_t, uint32_t>(n, is_signed, dest);
        default:
            return put_integer<int64_t, uint64_t>(n, is_signed, dest);
    }
}

pmix_boolean_t truth_of(const pmix_value_t& value) noexcept {
    if (value.type == PMIX_UNDEF) return PMIX_BOOL_TRUE;
    if (value.type == PMIX_BOOL) return value.data.flag ? PMIX_BOOL_TRUE : PMIX_BOOL_FALSE;
    if (value.type != PMIX_STRING) return PMIX_NON_BOOL;
    const char* text = value.data.string;
    if (text == nullptr) return PMIX_BOOL_TRUE;
    while (*text == ' ' || (*text >= '\t' && *text <= '\r')) ++text;
    if (*text == '\0') return PMIX_BOOL_TRUE;
    if (*text >= '0' && *text <= '9') {
        // Any digit but zero makes the number true; no conversion, so no overflow.
        for (; *text >= '0' && *text <= '9'; ++text) {
            if (*text != '0') return PMIX_BOOL_TRUE;
        }
        return PMIX_BOOL_FALSE;
    }
    if (strncasecmp(text, "yes", 3) == 0 || strncasecmp(text, "true", 4) == 0) return PMIX_BOOL_TRUE;
    if (strncasecmp(text, "no", 2) == 0 || strncasecmp(text, "false", 5) == 0) return PMIX_BOOL_FALSE;
    return PMIX_NON_BOOL;
}

}  // namespace pmix::common
