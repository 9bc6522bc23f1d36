/* SPDX-License-Identifier: BSD-3-Clause */
/* first_use.h: for programs that see when libpmix.so.2 opens a library, and what it does where there is none of it. */
#ifndef FIRST_USE_H
#define FIRST_USE_H
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool absent;

/* In place of the C library's. */
void* dlopen(const char* file, int mode) {
    if (absent) return NULL;
    void* (*real)(const char*, int) = (void* (*)(const char*, int))(uintptr_t)dlsym(RTLD_NEXT, "dlopen");
    return real(file, mode);
}

/* name: as in "/libz.so". */
static bool is_mapped(const char* name) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found = found || strstr(line, name) != NULL;
    if (maps != NULL) fclose(maps);
    return found;
}

#define CHECK(what)                                       \
    do {                                                  \
        if (!(what)) {                                    \
            fprintf(stderr, "it is not so: %s\n", #what); \
            return 1;                                     \
        }                                                 \
    } while (0)
#endif
