/* SPDX-License-Identifier: BSD-3-Clause */
/* LD_PRELOAD library: logs what a consumer asks of libpmix.so.2, and which host upcalls the library makes of a server.
 * For looking, not for timing.
 *
 *   gcc -shared -fPIC -o pmix_trace.so pmix_trace/[a-z]*.c $(pkg-config --cflags pmix) -ldl
 *   PMIX_TRACE_DIR=DIR LD_PRELOAD=.../pmix_trace.so PROGRAM
 *
 * Each process appends to DIR/HOST.COMM.PID. Public API only: client.c and server.c have the functions, upcalls.c the
 * host's module. They run on whatever thread calls them; a line is built on its stack and written whole. Without
 * PMIX_TRACE_DIR nothing is written; without a libpmix.so.2 or one of its functions the process ends with status 127.
 */
#ifndef PMIX_TRACE_H
#define PMIX_TRACE_H
#include <pmix_server.h>
#include <pmix_tool.h>

/* Nothing of this may stand in for a program's own functions. */
#pragma GCC visibility push(hidden)

typedef struct {
    char b[16384];
    size_t n;
} line_t;

/* log.c. What does not fit into a line is left out. */
void add(line_t* l, const char* fmt, ...) __attribute__((format(printf, 2, 3)));
void emit(line_t* l); /* errno stays as it is */
void* real(const char* name);
extern __thread int depth; /* calls of this thread inside one another: a library's call of itself is no consumer's */

/* print.c */
void p_proc(line_t* l, const pmix_proc_t* p);
void p_procs(line_t* l, const pmix_proc_t* p, size_t n);
void p_value(line_t* l, const pmix_value_t* v);
void p_infos(line_t* l, const pmix_info_t* in, size_t n);
void p_keys(line_t* l, char** keys);
void p_apps(line_t* l, const pmix_app_t* a, size_t n);

/* upcalls.c: a module whose upcalls are logged and passed on to those of host; what it has is added to the line. */
pmix_server_module_t* traced_module(const pmix_server_module_t* host, line_t* l);

#pragma GCC visibility pop

/* A function of the interface: BEGIN, arguments, the call by fn, RC, END. */
#define REAL(name)               \
    static __typeof__(&name) fn; \
    if (!fn) fn = (__typeof__(&name))real(#name)
#define BEGIN(name)         \
    line_t l = {.n = 0};    \
    REAL(name);             \
    int top = depth++ == 0; \
    if (top) add(&l, "%s ", #name)
#define END()              \
    do {                   \
        depth--;           \
        if (top) emit(&l); \
    } while (0)
#define RC(rc) add(&l, " -> %d", (int)(rc))
#endif
