/* SPDX-License-Identifier: BSD-3-Clause */
#include "values.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

static size_t fixed_size(pmix_data_type_t t) {
    switch (t) {
        case PMIX_BOOL:
            return sizeof(bool);
        case PMIX_BYTE:
        case PMIX_INT8:
        case PMIX_UINT8:
            return 1;
        case PMIX_INT16:
        case PMIX_UINT16:
            return 2;
        case PMIX_INT32:
        case PMIX_UINT32:
            return 4;
        case PMIX_INT:
        case PMIX_UINT:
            return sizeof(int);
        case PMIX_INT64:
        case PMIX_UINT64:
            return 8;
        case PMIX_SIZE:
            return sizeof(size_t);
        case PMIX_PID:
            return sizeof(pid_t);
        case PMIX_FLOAT:
            return sizeof(float);
        case PMIX_DOUBLE:
            return sizeof(double);
        case PMIX_TIMEVAL:
            return sizeof(struct timeval);
        case PMIX_TIME:
            return sizeof(time_t);
        case PMIX_STATUS:
            return sizeof(pmix_status_t);
        case PMIX_PROC_RANK:
            return sizeof(pmix_rank_t);
        case PMIX_PERSIST:
            return sizeof(pmix_persistence_t);
        case PMIX_SCOPE:
            return sizeof(pmix_scope_t);
        case PMIX_DATA_RANGE:
            return sizeof(pmix_data_range_t);
        default:
            return 0;
    }
}
void b_value(buf_t* b, const pmix_value_t* v) {
    size_t fs = fixed_size(v->type), esz, i;
    pmix_data_array_t* a;

    if (fs) {
        b_u32(b, v->type);
        b_put(b, &v->data, fs);
        return;
    }
    switch (v->type) {
        case PMIX_STRING:
            b_u32(b, PMIX_STRING);
            b_str(b, v->data.string);
            return;
        case PMIX_BYTE_OBJECT:
            b_u32(b, PMIX_BYTE_OBJECT);
            b_u64(b, v->data.bo.size);
            b_put(b, v->data.bo.bytes, v->data.bo.size);
            return;
        case PMIX_PROC:
            b_u32(b, PMIX_PROC);
            b_put(b, v->data.proc, sizeof(pmix_proc_t));
            return;
        case PMIX_DATA_ARRAY:
            a = v->data.darray;
            if (!a) break;
            esz = a->type == PMIX_PROC ? sizeof(pmix_proc_t) : fixed_size(a->type);
            if (a->type != PMIX_INFO && a->type != PMIX_STRING && !esz) break;
            b_u32(b, PMIX_DATA_ARRAY);
            b_u32(b, a->type);
            b_u64(b, a->size);
            if (a->type == PMIX_INFO)
                b_info(b, a->array, a->size);
            else if (a->type == PMIX_STRING)
                for (i = 0; i < a->size; i++) b_str(b, ((char**)a->array)[i]);
            else
                b_put(b, a->array, a->size * esz);
            return;
        default:
            break;
    }
    b_u32(b, PMIX_UNDEF);
}
void g_value(buf_t* b, pmix_value_t* v) {
    memset(v, 0, sizeof *v);
    v->type = (pmix_data_type_t)g_u32(b);
    size_t fs = fixed_size(v->type), esz, n, i;
    pmix_data_array_t* a;

    if (fs) {
        b_get(b, &v->data, fs);
        return;
    }
    switch (v->type) {
        case PMIX_STRING:
            v->data.string = g_str(b);
            return;
        case PMIX_BYTE_OBJECT:
            n = g_u64(b);
            if (n > b->n - b->r) break;
            v->data.bo.size = n;
            v->data.bo.bytes = xcalloc(n, 1);
            b_get(b, v->data.bo.bytes, n);
            return;
        case PMIX_PROC:
            v->data.proc = xcalloc(1, sizeof(pmix_proc_t));
            b_get(b, v->data.proc, sizeof(pmix_proc_t));
            return;
        case PMIX_DATA_ARRAY:
            a = xcalloc(1, sizeof *a);
            v->data.darray = a;
            a->type = (pmix_data_type_t)g_u32(b);
            n = g_u64(b);
            if (n > b->n - b->r && n > 0) break;
            a->size = n;
            if (a->type == PMIX_INFO) {
                a->array = g_info(b, &n);
            } else if (a->type == PMIX_STRING) {
                a->array = xcalloc(n + 1, sizeof(char*));
                for (i = 0; i < n; i++) ((char**)a->array)[i] = g_str(b);
            } else {
                esz = a->type == PMIX_PROC ? sizeof(pmix_proc_t) : fixed_size(a->type);
                a->array = xcalloc(n + 1, esz ? esz : 1);
                b_get(b, a->array, n * esz);
            }
            return;
        default:
            break;
    }
    v->type = PMIX_UNDEF;
}
void i_free(pmix_info_t* info, size_t n) {
    for (size_t i = 0; i < n; i++) v_free(&info[i].value);
    free(info);
}
void v_free(pmix_value_t* v) {
    pmix_data_array_t* a;
    switch (v->type) {
        case PMIX_STRING:
            free(v->data.string);
            break;
        case PMIX_BYTE_OBJECT:
            free(v->data.bo.bytes);
            break;
        case PMIX_PROC:
            free(v->data.proc);
            break;
        case PMIX_DATA_ARRAY:
            a = v->data.darray;
            if (!a) break;
            if (a->type == PMIX_INFO)
                i_free(a->array, a->size);
            else {
                if (a->type == PMIX_STRING)
                    for (size_t i = 0; i < a->size; i++) free(((char**)a->array)[i]);
                free(a->array);
            }
            free(a);
            break;
        default:
            break;
    }
    memset(v, 0, sizeof *v);
}
void b_info(buf_t* b, const pmix_info_t* info, size_t n) {
    b_u64(b, n);
    for (size_t i = 0; i < n; i++) {
        b_str(b, info[i].key);
        b_u32(b, info[i].flags);
        b_value(b, &info[i].value);
    }
}
pmix_info_t* g_info(buf_t* b, size_t* n) {
    size_t c = g_u64(b);
    if (b->bad || c > b->n - b->r) c = 0;
    pmix_info_t* info = xcalloc(c + 1, sizeof *info);
    for (size_t i = 0; i < c; i++) {
        g_into(b, info[i].key, sizeof info[i].key);
        info[i].flags = g_u32(b);
        g_value(b, &info[i].value);
    }
    *n = c;
    return info;
}
