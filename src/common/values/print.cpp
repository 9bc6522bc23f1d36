// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/print.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>

#include "common/base/limits.h"
#include "common/base/names.h"
#include "common/base/opaque.h"
#include "common/placement/node_map.h"
#include "common/values/elements.h"
#include "common/values/real_text.h"
#include "common/values/value.h"

namespace pmix::common {
namespace {

constexpr size_t kMaxPrintedBytes = 32;

void print_fields(std::string& out, const TypeRow& row, pmix_data_type_t type, const void* element, unsigned depth);
void print_deep(std::string& out, const pmix_value_t& value, unsigned depth);

template <class... A>
void format(std::string& out, const char* form, A... args) {
    char text[64];
    int n = std::snprintf(text, sizeof text, form, args...);
    out.append(text, static_cast<size_t>(n));
}

// One line, whatever is in it.
void print_chars(std::string& out, const char* text, size_t n, bool quoted) {
    for (size_t i = 0; i < n; ++i) {
        const char c = text[i];
        if (c == '\n') {
            out += "\\n";
        } else if (c == '\t') {
            out += "\\t";
        } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
            format(out, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            if (quoted && (c == '"' || c == '\\')) out += '\\';
            out += c;
        }
    }
}

void print_string(std::string& out, const char* text) {
    if (text == nullptr) {
        out += "NULL";
        return;
    }
    out += '"';
    print_chars(out, text, std::strlen(text), true);
    out += '"';
}

// A map is text, or a blob of which the text is the beginning.
void print_regex(std::string& out, const char* map, size_t n) {
    if (map == nullptr) {
        out += "NULL";
        return;
    }
    const size_t text = bounded_length(map, n);
    out += '"';
    print_chars(out, map, text, true);
    out += '"';
    if (text + 1 < n) format(out, " and %zu bytes", n - text - 1);
}

void print_bitmap(std::string& out, const Field& f, const void* element) {
    const auto* bitmap = load_field<const void*>(element, f.offset);
    if (bitmap == nullptr) {
        out += "NULL";
        return;
    }
    const OpaqueOps* ops = opaque_ops_for(element);
    char* text = ops == nullptr ? nullptr : ops->print_bitmap(bitmap);
    if (text == nullptr) {
        format(out, "%p", bitmap);
        return;
    }
    try {
        out += text;
    } catch (...) {
        std::free(text);
        throw;
    }
    std::free(text);
}

void print_address(std::string& out, const void* p) {
    if (p == nullptr) {
        out += "NULL";
    } else {
        format(out, "%p", p);
    }
}

void print_bytes(std::string& out, const char* bytes, size_t n) {
    if (bytes == nullptr) {
        out += "NULL";
        return;
    }
    format(out, "%zu bytes", n);
    if (n != 0) out += ": ";
    for (size_t i = 0; i < n && i < kMaxPrintedBytes; ++i) format(out, "%02x", static_cast<unsigned char>(bytes[i]));
    if (n > kMaxPrintedBytes) out += "...";
}

void print_rank(std::string& out, pmix_rank_t rank) {
    switch (rank) {
        case PMIX_RANK_UNDEF:
            out += "UNDEF";
            break;
        case PMIX_RANK_WILDCARD:
            out += "WILDCARD";
            break;
        case PMIX_RANK_LOCAL_NODE:
            out += "LOCAL_NODE";
            break;
        case PMIX_RANK_LOCAL_PEERS:
            out += "LOCAL_PEERS";
            break;
        case PMIX_RANK_INVALID:
            out += "INVALID";
            break;
        default:
            format(out, "%" PRIu32, rank);
    }
}

// Numbers that have names, by the type that holds them.
bool print_named(std::string& out, pmix_data_type_t type, int64_t number) {
    static constexpr struct {
        pmix_data_type_t type;
        Names names;
        bool bits;
    } kNamed[] = {
        {PMIX_STATUS, Names::status, false},
        {kCoordView, Names::coord_view, false},
        {PMIX_DATA_TYPE, Names::data_type, false},
        {PMIX_PROC_STATE, Names::proc_state, false},
        {PMIX_SCOPE, Names::scope, false},
        {PMIX_DATA_RANGE, Names::data_range, false},
        {PMIX_PERSIST, Names::persistence, false},
        {PMIX_ALLOC_DIRECTIVE, Names::alloc_directive, false},
        {PMIX_JOB_STATE, Names::job_state, false},
        {PMIX_LINK_STATE, Names::link_state, false},
        {PMIX_RESBLOCK_DIRECTIVE, Names::resource_block_directive, false},
        {PMIX_ALLOC_INHERIT, Names::alloc_inheritance, false},
        {PMIX_INFO_DIRECTIVES, Names::info_directives, true},
        {PMIX_IOF_CHANNEL, Names::iof_channel, true},
        {PMIX_DEVTYPE, Names::device_type, true},
        {PMIX_LOCTYPE, Names::locality, true},
        {PMIX_STOR_MEDIUM, Names::storage_medium, true},
        {PMIX_STOR_ACCESS, Names::storage_accessibility, true},
        {PMIX_STOR_PERSIST, Names::storage_persistence, true},
        {PMIX_STOR_ACCESS_TYPE, Names::storage_access_type, true},
    };
    for (const auto& named : kNamed) {
        if (named.type != type) continue;
        if (named.bits) {
            char text[512];
            describe_bits(named.names, static_cast<uint64_t>(number), text, sizeof text);
            out += text;
            return true;
        }
        const char* name = constant_name(named.names, number);
        if (name == nullptr) return false;
        out += name;
        return true;
    }
    return false;
}

// The shortest decimals that are this number and no other. (std::to_chars would do the same with 130 KB of tables.)
template <class Real>
void print_shortest(std::string& out, Real number) {
    char text[48];
    int n = 0;
    for (int digits = 6; digits <= std::numeric_limits<Real>::max_digits10; ++digits) {
        n = std::snprintf(text, sizeof text, "%.*g", digits, static_cast<double>(number));
        Real back = 0;
        if (parse_real(text, static_cast<size_t>(n), &back) && back == number) break;
    }
    std::replace(text, text + n, ',', '.');  // of locales that write it so
    out.append(text, static_cast<size_t>(n));
}

// Seconds, and what they are in a calendar.
void print_time(std::string& out, time_t seconds) {
    format(out, "%lld", static_cast<long long>(seconds));
    struct tm utc {};
    char text[40];
    if (::gmtime_r(&seconds, &utc) == nullptr || std::strftime(text, sizeof text, " (%Y-%m-%dT%H:%M:%SZ)", &utc) == 0)
        return;
    out += text;
}

void print_number(std::string& out, const Field& f, pmix_data_type_t type, const void* p) {
    if (f.form == Form::sint) {
        int64_t n = 0;
        switch (f.width) {
            case 1:
                n = load_field<int8_t>(p, 0);
                break;
            case 2:
                n = load_field<int16_t>(p, 0);
                break;
            case 4:
                n = load_field<int32_t>(p, 0);
                break;
            default:
                n = load_field<int64_t>(p, 0);
                break;
        }
        if (type == PMIX_TIME) {
            print_time(out, static_cast<time_t>(n));
        } else if (!print_named(out, type, n)) {
            format(out, "%" PRId64, n);
        }
        return;
    }
    uint64_t n = 0;
    switch (f.width) {
        case 1:
            n = load_field<uint8_t>(p, 0);
            break;
        case 2:
            n = load_field<uint16_t>(p, 0);
            break;
        case 4:
            n = load_field<uint32_t>(p, 0);
            break;
        default:
            n = load_field<uint64_t>(p, 0);
            break;
    }
    if (type == PMIX_PROC_RANK) {
        print_rank(out, static_cast<pmix_rank_t>(n));
    } else if (type == kCharacter && n > ' ' && n < 0x7f) {
        format(out, "'%c'", static_cast<char>(n));
    } else if (!print_named(out, type, static_cast<int64_t>(n))) {
        format(out, "%" PRIu64, n);
    }
}

void print_elements(std::string& out, pmix_data_type_t type, const void* elements, size_t n, unsigned depth) {
    const TypeRow* row = type_row(type);
    format(out, "%s[%zu]", row == nullptr ? "UNKNOWN" : row->name, n);
    if (row == nullptr || elements == nullptr || n == 0) return;
    out += " {";
    for (size_t i = 0; i < n; ++i) {
        if (i != 0) out += ", ";
        print_fields(out, *row, type, at(elements, i * row->size), depth);
    }
    out += '}';
}

void print_argv(std::string& out, char* const* argv) {
    if (argv == nullptr) {
        out += "NULL";
        return;
    }
    out += '[';
    for (size_t i = 0; argv[i] != nullptr; ++i) {
        if (i != 0) out += ", ";
        print_string(out, argv[i]);
    }
    out += ']';
}

void print_field(std::string& out, const Field& f, pmix_data_type_t type, const void* element, unsigned depth) {
    const char* p = at(element, f.offset);
    switch (f.form) {
        case Form::boolean:
            out += load_field<uint8_t>(p, 0) != 0 ? "true" : "false";
            break;
        case Form::sint:
        case Form::uint:
            print_number(out, f, type, p);
            break;
        case Form::real:
            if (f.width == sizeof(float)) {
                print_shortest(out, load_field<float>(p, 0));
            } else {
                print_shortest(out, load_field<double>(p, 0));
            }
            break;
        case Form::timeval: {
            auto tv = load_field<struct timeval>(p, 0);
            format(out, "%lld.%06ld", static_cast<long long>(tv.tv_sec), static_cast<long>(tv.tv_usec));
            break;
        }
        case Form::address:
        case Form::topology:
            print_address(out, load_field<const void*>(p, 0));
            break;
        case Form::bitmap:
            print_bitmap(out, f, element);
            break;
        case Form::string:
            print_string(out, load_field<const char*>(p, 0));
            break;
        case Form::argv:
            print_argv(out, load_field<char* const*>(p, 0));
            break;
        case Form::chars:
            print_chars(out, p, bounded_length(p, f.width - 1u), false);
            break;
        case Form::blob: {
            const auto* bytes = load_field<const char*>(p, 0);
            const auto n = load_field<size_t>(element, f.count_offset);
            if (f.travel == Travel::regex) {
                print_regex(out, bytes, n);
            } else {
                print_bytes(out, bytes, n);
            }
            break;
        }
        case Form::list:
            print_elements(out, f.type, load_field<const void*>(p, 0), load_field<size_t>(element, f.count_offset),
                           depth);
            break;
        case Form::record:
            print_fields(out, kTypeTable[f.type], f.type, p, depth);
            break;
        case Form::value:
            print_deep(out, *reinterpret_cast<const pmix_value_t*>(p), depth);
            break;
        case Form::array: {
            const auto* a = reinterpret_cast<const pmix_data_array_t*>(p);
            if (depth == 0) {
                out += "...";
                break;
            }
            print_elements(out, a->type, a->array, a->size, depth - 1);
            break;
        }
        case Form::buffer: {
            const auto* b = reinterpret_cast<const pmix_data_buffer_t*>(p);
            print_bytes(out, b->base_ptr, b->bytes_used);
            break;
        }
        case Form::info_flags:
            print_named(out, PMIX_INFO_DIRECTIVES, load_field<pmix_info_directives_t>(p, 0));
            break;
    }
}

void print_fields(std::string& out, const TypeRow& row, pmix_data_type_t type, const void* element, unsigned depth) {
    auto fields = fields_of(row);
    if (fields.size() == 1) {  // a scalar, a value, an array: no name of its own
        print_field(out, fields[0], type, element, depth);
        return;
    }
    out += '{';
    bool first = true;
    for (const Field& f : fields) {
        if (!first) out += ", ";
        first = false;
        out += f.name;
        out += '=';
        print_field(out, f, f.type, element, depth);
    }
    out += '}';
}

void print_deep(std::string& out, const pmix_value_t& value, unsigned depth) {
    const TypeRow* row = type_row(value.type);
    if (row == nullptr) {
        format(out, "UNKNOWN TYPE %u", static_cast<unsigned>(value.type));
        return;
    }
    out += row->name;
    if (row->size == 0) return;
    out += ' ';
    const void* element = held_element(*row, &value);
    if (element == nullptr) {
        out += "NULL";
    } else if (depth == 0) {
        out += "...";
    } else {
        print_fields(out, *row, value.type, element, depth - 1);
    }
}

}  // namespace

void print_value(std::string& out, const pmix_value_t& value) {
    print_deep(out, value, kMaxValueDepth);
}

void print_element(std::string& out, pmix_data_type_t type, const void* element) {
    const TypeRow* row = type_row(type);
    if (row == nullptr) {
        out += "UNKNOWN";
    } else if (element == nullptr) {
        out += "NULL";
    } else {
        print_fields(out, *row, type, element, kMaxValueDepth);
    }
}

void print_data(std::string& out, pmix_data_type_t type, const void* src) {
    const TypeRow* row = type_row(type);
    out += row == nullptr ? "UNKNOWN" : row->name;
    out += ' ';
    const auto* text = static_cast<const char*>(src);
    if (type == PMIX_STRING) {
        print_string(out, text);
    } else if (type == PMIX_REGEX) {
        print_regex(out, text, regex_size(text));
    } else if (type == PMIX_VALUE && src != nullptr) {
        print_value(out, *static_cast<const pmix_value_t*>(src));
    } else {
        print_element(out, type, src);
    }
}

void print_proc(std::string& out, const pmix_proc_t& proc) {
    out += '[';
    print_chars(out, proc.nspace, bounded_length(proc.nspace, sizeof proc.nspace - 1), false);
    out += ':';
    print_rank(out, proc.rank);
    out += ']';
}

}  // namespace pmix::common
