/* SPDX-License-Identifier: BSD-3-Clause */
/* without_zlib.c: a process on libpmix.so.2 loads zlib when it first compresses, and not before; where there is no
 * zlib, nothing is compressed and compressed data is refused. usage: without_zlib [absent] */
#include <dlfcn.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool absent;

/* In place of the C library's. */
void* dlopen(const char* file, int mode) {
    if (absent) return NULL;
    void* (*real)(const char*, int) = (void* (*)(const char*, int))(uintptr_t)dlsym(RTLD_NEXT, "dlopen");
    return real(file, mode);
}

static bool zlib_is_mapped(void) {
    FILE* maps = fopen("/proc/self/maps", "r");
    char line[4096];
    bool found = false;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) found = found || strstr(line, "/libz.so") != NULL;
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

int main(int argc, char** argv) {
    enum { SIZE = 100000 };
    static uint8_t zeros[SIZE];
    /* The length, and a zlib stream of four zeros. */
    static const uint8_t stream[] = {4,    0,    0,    0,    0x78, 0x9c, 0x63, 0x60,
                                     0x60, 0x60, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01};
    uint8_t* out = NULL;
    size_t n = 0;
    absent = argc > 1 && strcmp(argv[1], "absent") == 0;
    CHECK(!zlib_is_mapped());
    const bool compressed = PMIx_Data_compress(zeros, SIZE, &out, &n);
    if (absent) {
        CHECK(!compressed);
        CHECK(!PMIx_Data_decompress(stream, sizeof stream, &out, &n));
        CHECK(!zlib_is_mapped());
        return 0;
    }
    CHECK(compressed && n < SIZE / 100);
    CHECK(zlib_is_mapped());
    free(out);
    CHECK(PMIx_Data_decompress(stream, sizeof stream, &out, &n) && n == 4 && memcmp(out, zeros, 4) == 0);
    free(out);
    return 0;
}
