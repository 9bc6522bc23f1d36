// SPDX-License-Identifier: BSD-3-Clause
/* wire.h: a growing byte buffer, and PMIx values in it.
 *
 * What this owns: the encoding of what the daemons of one pmixrun send each other. A host needs a codec of its own
 * only because it keeps values (published data, events) for longer than the upcall that has them, and moves
 * them to other nodes. Numbers are fixed-width in the byte order of the machine: all nodes are this machine.
 * Which thread calls it: any; a buffer belongs to one thread at a time.
 * What can go wrong: a type without an encoding, here or in the library (and a topology), makes wire_put_* return
 * false; reading past the end, or an impossible count, sets `bad`, after which every read yields zero, so a reader
 * checks once, at the end. */
#ifndef PMIXRUN_WIRE_H
#define PMIXRUN_WIRE_H

#include <pmix.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer {
    uint8_t* data;
    size_t size;     /* bytes written */
    size_t capacity; /* bytes allocated */
    size_t position; /* bytes read */
    bool bad;        /* a read failed */
};

/* Memory: a resource manager that has none left can only stop. */
void* xcalloc(size_t count, size_t size);
void* xrealloc(void* block, size_t size);
char* xstrdup(const char* text);

void wire_free(struct buffer* b);
void wire_append(struct buffer* b, const void* bytes, size_t size);
void wire_consume(struct buffer* b, size_t size); /* drops bytes at the front */
/* A view of `size` borrowed bytes: read, never written or freed. */
struct buffer wire_view(const void* bytes, size_t size);

void wire_put_u8(struct buffer* b, uint8_t number);
void wire_put_u32(struct buffer* b, uint32_t number);
void wire_put_u64(struct buffer* b, uint64_t number);
void wire_put_string(struct buffer* b, const char* text); /* NULL stays NULL */
void wire_put_strings(struct buffer* b, char* const* list);
void wire_put_bytes(struct buffer* b, const void* bytes, size_t size);
void wire_put_proc(struct buffer* b, const pmix_proc_t* proc);
void wire_put_procs(struct buffer* b, const pmix_proc_t* procs, size_t count);
bool wire_put_value(struct buffer* b, const pmix_value_t* value);
bool wire_put_infos(struct buffer* b, const pmix_info_t* infos, size_t count);

uint8_t wire_get_u8(struct buffer* b);
uint32_t wire_get_u32(struct buffer* b);
uint64_t wire_get_u64(struct buffer* b);
char* wire_get_string(struct buffer* b);       /* the caller frees it */
char** wire_get_strings(struct buffer* b);     /* NULL-terminated; strings_free() */
struct buffer wire_get_view(struct buffer* b); /* what wire_put_bytes put; valid as long as b is */
void wire_get_proc(struct buffer* b, pmix_proc_t* proc);
pmix_proc_t* wire_get_procs(struct buffer* b, size_t* count); /* free() */
void wire_get_value(struct buffer* b, pmix_value_t* value);   /* PMIX_VALUE_DESTRUCT */
pmix_info_t* wire_get_infos(struct buffer* b, size_t* count); /* infos_free() */

void strings_free(char** list);
size_t strings_count(char* const* list);
pmix_info_t* infos_new(size_t count); /* infos_free(); NULL for none, and only then */
void infos_free(pmix_info_t* infos, size_t count);

/* Reading an info array that a caller of PMIx gave. */
const pmix_value_t* info_find(const pmix_info_t* infos, size_t count, const char* key);
bool info_true(const pmix_info_t* infos, size_t count, const char* key);
/* The attribute as a number, of any integer type; `otherwise` if it is absent or no number. */
int64_t info_number(const pmix_info_t* infos, size_t count, const char* key, int64_t otherwise);
const char* info_string(const pmix_info_t* infos, size_t count, const char* key);

#endif
