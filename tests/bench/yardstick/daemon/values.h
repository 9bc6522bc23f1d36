/* SPDX-License-Identifier: BSD-3-Clause */
/* Values and infos as bytes between daemons of one run: numbers, strings, byte objects, processes and arrays of those.
 * Another type travels as PMIX_UNDEF. Written with the public structures alone, because the library's own packing is
 * one of the things that are measured. Pure; what was read is the caller's and freed here, not by the library. */
#ifndef BENCH_VALUES_H
#define BENCH_VALUES_H
#include <pmix_common.h>

#include "buffer.h"

void b_value(buf_t* b, const pmix_value_t* v);
void g_value(buf_t* b, pmix_value_t* v);
void v_free(pmix_value_t* v);

void b_info(buf_t* b, const pmix_info_t* info, size_t n);
pmix_info_t* g_info(buf_t* b, size_t* n);
void i_free(pmix_info_t* info, size_t n);
#endif
