/* SPDX-License-Identifier: BSD-3-Clause */
#include "infos.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"

pmix_value_t* in_new(infos_t* a, const char* key) {
    if (a->n == a->cap) {
        size_t c = a->cap ? a->cap * 2 : 16;
        a->v = realloc(a->v, c * sizeof *a->v);
        memset(a->v + a->cap, 0, (c - a->cap) * sizeof *a->v);
        a->cap = c;
    }
    pmix_info_t* i = &a->v[a->n++];
    snprintf(i->key, sizeof i->key, "%s", key);
    return &i->value;
}
void in_str(infos_t* a, const char* k, const char* s) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_STRING;
    v->data.string = strdup(s);
}
void in_u32(infos_t* a, const char* k, uint32_t u) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_UINT32;
    v->data.uint32 = u;
}
void in_u16(infos_t* a, const char* k, uint16_t u) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_UINT16;
    v->data.uint16 = u;
}
void in_rank(infos_t* a, const char* k, pmix_rank_t r) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_PROC_RANK;
    v->data.rank = r;
}
void in_bool(infos_t* a, const char* k, bool f) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_BOOL;
    v->data.flag = f;
}
void in_arr(infos_t* a, const char* k, infos_t* sub) {
    pmix_value_t* v = in_new(a, k);
    v->type = PMIX_DATA_ARRAY;
    v->data.darray = xcalloc(1, sizeof(pmix_data_array_t));
    v->data.darray->type = PMIX_INFO;
    v->data.darray->size = sub->n;
    v->data.darray->array = sub->v;
    memset(sub, 0, sizeof *sub);
}
