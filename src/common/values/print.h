// SPDX-License-Identifier: BSD-3-Clause
// Values and structs as text for people: "PMIX_PROC {nspace=job, rank=3}".
//
// Owns nothing; any thread. May throw std::bad_alloc. The text is for reading, never parsed: one line, with quotes and
// control characters in strings escaped. Everything is in it but the end of a long byte object, of which the number of
// bytes and the first ones are shown; nesting is bounded by kMaxValueDepth.
#pragma once

#include <pmix_common.h>

#include <string>

namespace pmix::common {

void print_value(std::string& out, const pmix_value_t& value);
void print_element(std::string& out, pmix_data_type_t type, const void* element);
// As PMIx_Data_print has it: the type's name first; src is the char* itself for strings and maps, and may be NULL.
void print_data(std::string& out, pmix_data_type_t type, const void* src);
void print_proc(std::string& out, const pmix_proc_t& proc);  // "[nspace:rank]"

}  // namespace pmix::common
