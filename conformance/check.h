/* SPDX-License-Identifier: BSD-3-Clause */
/* Rows of the executable Standard: how a row is declared, and what it may ask. conformance/README.md shows how to add
 * one. */
#ifndef CONFORMANCE_CHECK_H
#define CONFORMANCE_CHECK_H

#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "have.h" /* made by pmix-check: HAVE_PMIx_NAME for each function that the header declares */

/* Functions that the oldest headers have only as macros. */
#ifndef HAVE_PMIx_Value_xfer
static inline pmix_status_t PMIx_Value_xfer(pmix_value_t* to, const pmix_value_t* from) {
    pmix_status_t status = PMIX_SUCCESS;
    pmix_value_t *target = to, *source = (pmix_value_t*)(uintptr_t)from;
    PMIX_VALUE_XFER(status, target, source);
    return status;
}
#endif
#ifndef HAVE_PMIx_Value_unload
static inline pmix_status_t PMIx_Value_unload(pmix_value_t* value, void** data, size_t* size) {
    pmix_status_t status = PMIX_SUCCESS;
    PMIX_VALUE_UNLOAD(status, value, data, size);
    return status;
}
#endif
#ifndef HAVE_PMIx_Info_xfer
static inline pmix_status_t PMIx_Info_xfer(pmix_info_t* to, const pmix_info_t* from) {
    pmix_info_t* source = (pmix_info_t*)(uintptr_t)from;
    PMIX_INFO_XFER(to, source);
    return PMIX_SUCCESS;
}
#endif

struct row {
    const char *name, *chapter, *says;
    void (*run)(void);    /* the row; in each client where ranks > 0, else in the row's own process */
    int ranks;            /* clients under the small host; 0: no host */
    int nodes;            /* 2: two hosts with half of the ranks each; 0 is 1 */
    int launched;         /* ranks under the launcher of --launcher, which is run instead of the small host */
    bool absent;          /* the headers lack a name of the row; only for rows that a macro makes */
    bool raw;             /* clients do not call PMIx_Init and PMIx_Finalize by themselves */
    bool tool;            /* clients are tools: no namespace is registered for them, always raw */
    void (*before)(void); /* in the host, before PMIx_server_init: change the module */
    void (*during)(void); /* in the host, while the clients run */
    void (*after)(void);  /* in the host, when all clients have ended */
    struct row* next;
};

/* ROW(name, "chapter / function", "what must hold", .ranks = 2, ...) { body } */
#define ROW(name_, chapter_, says_, ...)                                                 \
    static void run_##name_(void);                                                       \
    static struct row row_##name_ = {#name_, chapter_, says_, run_##name_, __VA_ARGS__}; \
    __attribute__((constructor)) static void add_##name_(void) {                         \
        add_row(&row_##name_);                                                           \
    }                                                                                    \
    static void run_##name_(void)

void add_row(struct row* row);
extern bool rows_need_library; /* a program may set it in a constructor: its rows without clients begin in an
                                  initialized server */

/* The row ends at the first of these that does not hold. */
#define EXPECT(condition) (at(__FILE__, __LINE__), (condition) ? (void)0 : failed("expected: %s", #condition))
#define EXPECT_STRING(wanted, text) (at(__FILE__, __LINE__), expect_string(wanted, text, #text))
#define EXPECT_INT(wanted, number) \
    (at(__FILE__, __LINE__), expect_int((long long)(wanted), (long long)(number), #number))
/* EXPECT_STATUS(call, allowed statuses...) returns the status. */
#define EXPECT_STATUS(call, ...)                                                                       \
    (at(__FILE__, __LINE__), expect_status((call), #call, false, (const pmix_status_t[]){__VA_ARGS__}, \
                                           sizeof((const pmix_status_t[]){__VA_ARGS__}) / sizeof(pmix_status_t)))
/* The same where the Standard makes support optional: PMIX_ERR_NOT_SUPPORTED ends the row as "not supported". */
#define EXPECT_OPTIONAL(call, ...)                                                                    \
    (at(__FILE__, __LINE__), expect_status((call), #call, true, (const pmix_status_t[]){__VA_ARGS__}, \
                                           sizeof((const pmix_status_t[]){__VA_ARGS__}) / sizeof(pmix_status_t)))
#define EXPECT_OK(call) EXPECT_STATUS(call, PMIX_SUCCESS)
/* Any error, where the Standard asks for one and leaves open which. */
#define EXPECT_ERROR(call) (at(__FILE__, __LINE__), expect_error((call), #call))
/* Success of a call that may have a callback. */
#define EXPECT_ACCEPTED(call) EXPECT_STATUS(call, PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED)

void at(const char* file, int line);
__attribute__((format(printf, 1, 2), noreturn)) void failed(const char* format, ...);
__attribute__((noreturn)) void unsupported(const char* why);
pmix_status_t expect_status(pmix_status_t got, const char* call, bool optional, const pmix_status_t* allowed, size_t n);
pmix_status_t expect_error(pmix_status_t got, const char* call);
void expect_string(const char* wanted, const char* text, const char* name);
void expect_int(long long wanted, long long number, const char* name);

extern pmix_proc_t me; /* a client: its identity */
extern int my_rank;    /* a client or tool: its number, also before PMIx_Init */
extern int rank_count; /* of the row */
extern char row_nspace[PMIX_MAX_NSLEN + 1];

/* A flag that callbacks raise and rows wait for (10 seconds, then the row fails). */
struct signal {
    int count;
    pmix_status_t status;
};
void raise_signal(struct signal* signal, pmix_status_t status);
void wait_signal(struct signal* signal, int count, const char* what);
int signal_count(struct signal* signal);
void op_done(pmix_status_t status, void* signal); /* a pmix_op_cbfunc_t whose cbdata is a struct signal */

/* Between clients and host: small messages over pipes. */
void tell_host(void);            /* client: one token to the host */
void wait_clients(int tokens);   /* host, in .during: so many tokens */
void tell_clients(int tokens);   /* host: so many tokens for the clients */
void wait_host(void);            /* client: one token */
void pause_ms(int milliseconds); /* only to look that something does not happen */

/* An info of a type that has no storage to free: string, int, uint32_t, size_t, bool, rank, status. */
pmix_info_t info_of(const char* key, const void* data, pmix_data_type_t type);
pmix_info_t info_timeout(int seconds);
pmix_info_t info_true(const char* key);
pmix_proc_t proc_of(const char* nspace, pmix_rank_t rank);
pmix_value_t value_int(int number);
pmix_value_t value_string(const char* text); /* borrows the text */
void put_int(pmix_scope_t scope, const char* key, int number);
int get_int(const pmix_proc_t* proc, const char* key); /* the row fails where the value is not an int */
void barrier(bool collect);
pmix_status_t status_of_get(const pmix_proc_t* proc, const char* key, const pmix_info_t* info, size_t ninfo);

#endif
