// Numbers and truth in a value, whatever numeric type it has.
#include <strings.h>

#include "common/elements.h"
#include "common/value.h"

namespace pmix::common {
namespace {

// A number of any numeric type, widened without loss.
struct Number {
    enum class Kind : uint8_t { none, negative, natural, real } kind = Kind::none;
    int64_t negative = 0;
    uint64_t natural = 0;
    double real = 0;
};

// Types that are numbers to the ABI: the integers, floats, pid, rank, status, time and the enumerations held as integers.
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
            case 1: n.natural = load_field<uint8_t>(p, 0); break;
            case 2: n.natural = load_field<uint16_t>(p, 0); break;
            case 4: n.natural = load_field<uint32_t>(p, 0); break;
            default: n.natural = load_field<uint64_t>(p, 0); break;
        }
        return n;
    }
    int64_t v = 0;
    switch (f.width) {
        case 1: v = load_field<int8_t>(p, 0); break;
        case 2: v = load_field<int16_t>(p, 0); break;
        case 4: v = load_field<int32_t>(p, 0); break;
        default: v = load_field<int64_t>(p, 0); break;
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
        case Number::Kind::none: return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative: *out = n.negative; return PMIX_SUCCESS;
        case Number::Kind::natural:
            if (n.natural > static_cast<uint64_t>(INT64_MAX)) return PMIX_ERR_VALUE_OUT_OF_BOUNDS;
            *out = static_cast<int64_t>(n.natural);
            return PMIX_SUCCESS;
        case Number::Kind::real: return PMIX_ERR_BAD_PARAM;  // an integer is asked for; nothing is rounded in silence
    }
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_number(const pmix_value_t& value, uint64_t* out) noexcept {
    Number n = widen(value);
    switch (n.kind) {
        case Number::Kind::none: return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative: return PMIX_ERR_VALUE_OUT_OF_BOUNDS;
        case Number::Kind::natural: *out = n.natural; return PMIX_SUCCESS;
        case Number::Kind::real: return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_ERR_BAD_PARAM;
}

pmix_status_t read_number(const pmix_value_t& value, double* out) noexcept {
    Number n = widen(value);
    switch (n.kind) {
        case Number::Kind::none: return PMIX_ERR_BAD_PARAM;
        case Number::Kind::negative: *out = static_cast<double>(n.negative); return PMIX_SUCCESS;
        case Number::Kind::natural: *out = static_cast<double>(n.natural); return PMIX_SUCCESS;
        case Number::Kind::real: *out = n.real; return PMIX_SUCCESS;
    }
    return PMIX_ERR_BAD_PARAM;
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
