/* SPDX-License-Identifier: BSD-3-Clause */
/* without_zlib.c: a process on libpmix.so.2 loads zlib when it first compresses, and not before; where there is no
 * zlib, nothing is compressed and compressed data is refused. usage: without_zlib [absent] */
#include <pmix.h>
#include <pmix_server.h>
#include <stdlib.h>

#include "first_use.h"

int main(int argc, char** argv) {
    enum { SIZE = 100000 };
    static uint8_t zeros[SIZE];
    /* The length, and a zlib stream of four zeros. */
    static const uint8_t stream[] = {4,    0,    0,    0,    0x78, 0x9c, 0x63, 0x60,
                                     0x60, 0x60, 0x00, 0x00, 0x00, 0x04, 0x00, 0x01};
    uint8_t* out = NULL;
    size_t n = 0;
    absent = argc > 1 && strcmp(argv[1], "absent") == 0;
    CHECK(!is_mapped("/libz.so"));
    const bool compressed = PMIx_Data_compress(zeros, SIZE, &out, &n);
    if (absent) {
        CHECK(!compressed);
        CHECK(!PMIx_Data_decompress(stream, sizeof stream, &out, &n));
        CHECK(!is_mapped("/libz.so"));
        return 0;
    }
    CHECK(compressed && n < SIZE / 100);
    CHECK(is_mapped("/libz.so"));
    free(out);
    CHECK(PMIx_Data_decompress(stream, sizeof stream, &out, &n) && n == 4 && memcmp(out, zeros, 4) == 0);
    free(out);
    return 0;
}
