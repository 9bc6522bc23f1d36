/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing array of bytes that is written at its end and read from its front: numbers in host order, strings with
 * their length. No owner of its own: the caller's thread. A read beyond the end gives zeros and sets bad; a lack of
 * memory ends the process. */
#ifndef BENCH_BUFFER_H
#define BENCH_BUFFER_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint8_t* p;
    size_t n, cap, r; /* n bytes are there, r of them are read */
    bool bad;
} buf_t;

void* xcalloc(size_t n, size_t s); /* never NULL */

void b_need(buf_t* b, size_t n); /* room for n more bytes */
void b_put(buf_t* b, const void* d, size_t n);
void b_u32(buf_t* b, uint32_t v);
void b_u64(buf_t* b, uint64_t v);
void b_str(buf_t* b, const char* s);
void b_free(buf_t* b);

void b_get(buf_t* b, void* d, size_t n);
uint32_t g_u32(buf_t* b);
uint64_t g_u64(buf_t* b);
char* g_str(buf_t* b);                          /* the caller's */
void g_into(buf_t* b, char* text, size_t size); /* a string, cut to size */
bool b_same(const buf_t* a, const buf_t* b);
#endif
