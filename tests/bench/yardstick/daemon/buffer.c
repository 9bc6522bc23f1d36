/* SPDX-License-Identifier: BSD-3-Clause */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void* xcalloc(size_t n, size_t s) {
    void* p = calloc(n ? n : 1, s);
    if (!p) {
        fprintf(stderr, "host: out of memory\n");
        _exit(1);
    }
    return p;
}

void b_need(buf_t* b, size_t n) {
    if (b->n + n > b->cap) {
        b->cap = (b->n + n) * 2 + 64;
        b->p = realloc(b->p, b->cap);
        if (!b->p) {
            fprintf(stderr, "host: out of memory\n");
            _exit(1);
        }
    }
}
void b_put(buf_t* b, const void* d, size_t n) {
    b_need(b, n);
    if (n) memcpy(b->p + b->n, d, n);
    b->n += n;
}
void b_u32(buf_t* b, uint32_t v) {
    b_put(b, &v, 4);
}
void b_u64(buf_t* b, uint64_t v) {
    b_put(b, &v, 8);
}
void b_str(buf_t* b, const char* s) {
    uint32_t n = s ? (uint32_t)strlen(s) : 0;
    b_u32(b, n);
    b_put(b, s, n);
}
void b_get(buf_t* b, void* d, size_t n) {
    if (b->bad || n > b->n - b->r) {
        b->bad = true;
        memset(d, 0, n);
        return;
    }
    memcpy(d, b->p + b->r, n);
    b->r += n;
}
uint32_t g_u32(buf_t* b) {
    uint32_t v;
    b_get(b, &v, 4);
    return v;
}
uint64_t g_u64(buf_t* b) {
    uint64_t v;
    b_get(b, &v, 8);
    return v;
}
char* g_str(buf_t* b) {
    uint32_t n = g_u32(b);
    if (b->bad || n > b->n - b->r) {
        b->bad = true;
        n = 0;
    }
    char* s = xcalloc(n + 1, 1);
    b_get(b, s, n);
    return s;
}
void b_free(buf_t* b) {
    free(b->p);
    memset(b, 0, sizeof *b);
}
void g_into(buf_t* b, char* text, size_t size) {
    char* s = g_str(b);
    snprintf(text, size, "%s", s);
    free(s);
}
bool b_same(const buf_t* a, const buf_t* b) {
    return a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}
