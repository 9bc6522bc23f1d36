/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "trace.h"

void p_proc(line_t* l, const pmix_proc_t* p) {
    if (!p) {
        add(l, "NULL");
        return;
    }
    add(l, "%s:", p->nspace);
    if (p->rank == PMIX_RANK_WILDCARD)
        add(l, "*");
    else if (p->rank == PMIX_RANK_UNDEF)
        add(l, "undef");
    else
        add(l, "%u", p->rank);
}

void p_procs(line_t* l, const pmix_proc_t* p, size_t n) {
    add(l, "[");
    for (size_t i = 0; i < n && i < 16; i++) {
        if (i) add(l, ",");
        p_proc(l, p + i);
    }
    add(l, n > 16 ? ",...%zu]" : "]", n);
}

static void p_string(line_t* l, const char* s) {
    size_t i, len;
    if (!s) {
        add(l, "NULL string");
        return;
    }
    len = strlen(s);
    add(l, "\"");
    for (i = 0; i < len && i < 300; i++) {
        if (s[i] == '\n')
            add(l, "\\n");
        else if (s[i] == '"')
            add(l, "\\\"");
        else
            add(l, "%c", s[i]);
    }
    add(l, i < len ? "...\"(%zu)" : "\"", len);
}

void p_value(line_t* l, const pmix_value_t* v) {
    if (!v) {
        add(l, "NULL");
        return;
    }
    switch (v->type) {
        case PMIX_UNDEF:
            add(l, "undef");
            break;
        case PMIX_BOOL:
            add(l, "%s", v->data.flag ? "true" : "false");
            break;
        case PMIX_STRING:
            p_string(l, v->data.string);
            break;
        case PMIX_SIZE:
            add(l, "size %zu", v->data.size);
            break;
        case PMIX_PID:
            add(l, "pid %d", (int)v->data.pid);
            break;
        case PMIX_INT:
            add(l, "int %d", v->data.integer);
            break;
        case PMIX_INT32:
            add(l, "i32 %d", v->data.int32);
            break;
        case PMIX_INT64:
            add(l, "i64 %lld", (long long)v->data.int64);
            break;
        case PMIX_UINT:
            add(l, "uint %u", v->data.uint);
            break;
        case PMIX_UINT8:
            add(l, "u8 %u", v->data.uint8);
            break;
        case PMIX_UINT16:
            add(l, "u16 %u", v->data.uint16);
            break;
        case PMIX_UINT32:
            add(l, "u32 %u", v->data.uint32);
            break;
        case PMIX_UINT64:
            add(l, "u64 %llu", (unsigned long long)v->data.uint64);
            break;
        case PMIX_STATUS:
            add(l, "status %d", v->data.status);
            break;
        case PMIX_PROC_RANK:
            add(l, "rank %u", v->data.rank);
            break;
        case PMIX_DATA_RANGE:
            add(l, "range %u", v->data.range);
            break;
        case PMIX_PERSIST:
            add(l, "persist %u", v->data.persist);
            break;
        case PMIX_PROC:
            add(l, "proc ");
            p_proc(l, v->data.proc);
            break;
        case PMIX_BYTE_OBJECT:
            add(l, "bytes[%zu]", v->data.bo.size);
            break;
        case PMIX_COMPRESSED_STRING:
            add(l, "zstring[%zu]", v->data.bo.size);
            break;
        case PMIX_POINTER:
            add(l, "pointer");
            break;
        case PMIX_TIMEVAL:
            add(l, "tv %ld.%06ld", (long)v->data.tv.tv_sec, (long)v->data.tv.tv_usec);
            break;
        case PMIX_DATA_ARRAY:
            if (!v->data.darray) {
                add(l, "array NULL");
                break;
            }
            if (v->data.darray->type == PMIX_INFO) {
                p_infos(l, v->data.darray->array, v->data.darray->size);
                break;
            }
            add(l, "array of %zu type %u", v->data.darray->size, v->data.darray->type);
            break;
        default:
            add(l, "type %u", v->type);
    }
}

void p_infos(line_t* l, const pmix_info_t* in, size_t n) {
    add(l, "{");
    for (size_t i = 0; in && i < n && i < 64; i++) {
        add(l, "%s%s=", i ? ", " : "", in[i].key);
        p_value(l, &in[i].value);
        if (in[i].flags & PMIX_INFO_REQD) add(l, "!");
    }
    add(l, "}");
}

void p_keys(line_t* l, char** keys) {
    for (; keys && *keys; keys++) add(l, " %s", *keys);
}

void p_apps(line_t* l, const pmix_app_t* a, size_t n) {
    for (size_t i = 0; i < n; i++) {
        add(l, " app(%s maxprocs %d cwd %s argv", a[i].cmd ? a[i].cmd : "-", a[i].maxprocs, a[i].cwd ? a[i].cwd : "-");
        p_keys(l, a[i].argv);
        add(l, " ");
        p_infos(l, a[i].info, a[i].ninfo);
        add(l, ")");
    }
}
