/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array of pmix_info_t, for what the daemon tells its server. The caller's thread; freed by i_free
 * (values.h). */
#ifndef BENCH_INFOS_H
#define BENCH_INFOS_H
#include <pmix_common.h>

typedef struct {
    pmix_info_t* v;
    size_t n, cap;
} infos_t;

pmix_value_t* in_new(infos_t* a, const char* key);
void in_str(infos_t* a, const char* key, const char* s);
void in_u32(infos_t* a, const char* key, uint32_t u);
void in_u16(infos_t* a, const char* key, uint16_t u);
void in_rank(infos_t* a, const char* key, pmix_rank_t r);
void in_bool(infos_t* a, const char* key, bool f);
void in_arr(infos_t* a, const char* key, infos_t* sub); /* takes the contents of sub */

/* What is registered about the job: the maps, and an array for each node, the application and each rank. */
void job_info(infos_t* a);
#endif
