// SPDX-License-Identifier: BSD-3-Clause
// Texts for constants, masks and structs; names and strings of attributes.
//
// Owns the texts of masks, made once each and kept (they are handed out as static text). Needs no library; any thread.
// const char* results are static and never NULL; char* results are malloc'ed for the caller, NULL only without memory.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <atomic>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "common/base/names.h"
#include "common/values/attributes.h"
#include "common/values/print.h"
#include "common/values/value.h"

namespace {

using namespace pmix::common;

const char* name_or_unknown(Names group, int64_t value) noexcept {
    const char* name = constant_name(group, value);
    return name == nullptr ? "UNKNOWN" : name;
}

// A caller in C may pass any number as an enum, which C++ must not read as one.
template <class Enum>
int64_t number_of(const Enum& value) noexcept {
    return std::bit_cast<std::underlying_type_t<Enum>>(value);
}

// The text of a mask that has no name of its own. The first caller fills a slot; a text, once there, stays.
constexpr size_t kMaskBits = 11;
std::atomic<char*> g_device_texts[size_t{1} << kMaskBits];
std::atomic<char*> g_channel_texts[size_t{1} << 4];

const char* mask_text(Names group, uint64_t mask, std::atomic<char*>* slots, size_t count) noexcept {
    if (const char* name = constant_name(group, static_cast<int64_t>(mask))) return name;
    if (mask >= count) return "UNKNOWN";
    char* text = slots[mask].load(std::memory_order_acquire);
    if (text != nullptr) return text;
    char buffer[512];
    describe_bits(group, mask, buffer, sizeof buffer);
    text = strdup(buffer);
    if (text == nullptr) return "UNKNOWN";
    char* there = nullptr;
    if (slots[mask].compare_exchange_strong(there, text, std::memory_order_acq_rel)) return text;
    std::free(text);
    return there;
}

// Runs print(std::string&) and hands its text out in malloc memory.
template <class F>
char* printed(F&& print) noexcept {
    try {
        std::string text;
        print(text);
        return strdup(text.c_str());
    } catch (...) {
        return nullptr;
    }
}

}  // namespace

extern "C" {

const char* PMIx_Error_string(pmix_status_t status) {
    return name_or_unknown(Names::status, status);
}
const char* PMIx_Proc_state_string(pmix_proc_state_t state) {
    return name_or_unknown(Names::proc_state, state);
}
const char* PMIx_Scope_string(pmix_scope_t scope) {
    return name_or_unknown(Names::scope, scope);
}
const char* PMIx_Persistence_string(pmix_persistence_t persist) {
    return name_or_unknown(Names::persistence, persist);
}
const char* PMIx_Data_range_string(pmix_data_range_t range) {
    return name_or_unknown(Names::data_range, range);
}
const char* PMIx_Data_type_string(pmix_data_type_t type) {
    return name_or_unknown(Names::data_type, type);
}
const char* PMIx_Alloc_directive_string(pmix_alloc_directive_t directive) {
    return name_or_unknown(Names::alloc_directive, directive);
}
const char* PMIx_Alloc_inheritance_string(pmix_alloc_inheritance_t inheritance) {
    return name_or_unknown(Names::alloc_inheritance, inheritance);
}
const char* PMIx_Job_state_string(pmix_job_state_t state) {
    return name_or_unknown(Names::job_state, state);
}
const char* PMIx_Link_state_string(pmix_link_state_t state) {
    return name_or_unknown(Names::link_state, state);
}
const char* PMIx_Value_comparison_string(pmix_value_cmp_t cmp) {
    return name_or_unknown(Names::value_comparison, number_of(cmp));
}
const char* PMIx_Group_operation_string(pmix_group_operation_t op) {
    return name_or_unknown(Names::group_operation, number_of(op));
}
const char* PMIx_Resource_block_directive_string(pmix_resource_block_directive_t directive) {
    return name_or_unknown(Names::resource_block_directive, directive);
}

const char* PMIx_Device_type_string(pmix_device_type_t type) {
    return mask_text(Names::device_type, type, g_device_texts, std::size(g_device_texts));
}
const char* PMIx_IOF_channel_string(pmix_iof_channel_t channel) {
    return mask_text(Names::iof_channel, channel, g_channel_texts, std::size(g_channel_texts));
}

char* PMIx_Info_directives_string(pmix_info_directives_t directives) {
    char text[512];
    describe_bits(Names::info_directives, directives, text, sizeof text);
    return strdup(text);
}

// INT_MIN for a name that is no status: no status has that value.
pmix_status_t PMIx_Error_code(const char* errname) {
    int64_t value = 0;
    if (errname == nullptr || !constant_value(Names::status, errname, &value)) return INT_MIN;
    return static_cast<pmix_status_t>(value);
}

// "PMIX_TIMEOUT" → "pmix.timeout" and back, as a user may have typed them; what is unknown comes back as it is.
const char* PMIx_Get_attribute_string(const char* attribute) {
    if (attribute == nullptr) return "UNKNOWN";
    const char* string = attribute_by_name(attribute).string;
    if (string == nullptr) string = attribute_like(attribute).string;
    return string == nullptr ? attribute : string;
}
const char* PMIx_Get_attribute_name(const char* attrstring) {
    if (attrstring == nullptr) return "UNKNOWN";
    const char* name = attribute_by_string(attrstring).name;
    if (name == nullptr) name = attribute_like(attrstring).name;
    return name == nullptr ? attrstring : name;
}

char* PMIx_Proc_string(const pmix_proc_t* proc) {
    return printed([&](std::string& out) {
        if (proc == nullptr) {
            out = "NULL";
        } else {
            print_proc(out, *proc);
        }
    });
}

char* PMIx_Value_string(const pmix_value_t* value) {
    return printed([&](std::string& out) {
        if (value == nullptr) {
            out = "NULL";
        } else {
            print_value(out, *value);
        }
    });
}

char* PMIx_Info_string(const pmix_info_t* info) {
    return printed([&](std::string& out) { print_element(out, PMIX_INFO, info); });
}

char* PMIx_App_string(const pmix_app_t* app) {
    return printed([&](std::string& out) { print_element(out, PMIX_APP, app); });
}

char* PMIx_Resource_unit_string(const pmix_resource_unit_t* unit) {
    return printed([&](std::string& out) {
        if (unit == nullptr) {
            out = "NULL";
            return;
        }
        out = PMIx_Device_type_string(unit->type);
        out += " x ";
        out += std::to_string(unit->count);
    });
}

}  // extern "C"
