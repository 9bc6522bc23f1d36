/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Another PMIx library's packing, behind a pipe: reads requests from stdin, answers on stdout, ends with its input.
 * Built with that library's headers and linked to it. All numbers are 32 bits, as this machine has them.
 *   request   operation, data type, capacity, length, bytes
 *   'v'       its version                             answer: status, number of values, length, bytes
 *   's'       packs the sample number `capacity` of support/data_samples.h
 *   'r'       unpacks the bytes into `capacity` elements and packs the result
 *   'c' 'd'   compresses, decompresses
 */
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/data_samples.h"

typedef struct {
    uint32_t operation;
    uint32_t type;
    uint32_t capacity;
    uint32_t length;
} request_t;

typedef struct {
    int32_t status;
    int32_t count;
    uint32_t length;
} answer_t;

enum { MAX_ELEMENT = 1024 }; /* bytes; the largest struct of the interface has 800 */

static void answer(int32_t status, int32_t count, const void* bytes, size_t length) {
    answer_t a = {status, count, (uint32_t)length};
    if (fwrite(&a, sizeof(a), 1, stdout) != 1 || (length != 0 && fwrite(bytes, length, 1, stdout) != 1)) {
        exit(1);
    }
    fflush(stdout);
}

static void answer_packed(void* values, int32_t n, pmix_data_type_t type) {
    pmix_data_buffer_t buffer;
    memset(&buffer, 0, sizeof(buffer));
    pmix_status_t rc = PMIx_Data_pack(NULL, &buffer, values, n, type);
    answer(rc, n, buffer.base_ptr, rc == PMIX_SUCCESS ? buffer.bytes_used : 0);
    free(buffer.base_ptr);
}

static void repack(const request_t* r, char* bytes) {
    pmix_data_buffer_t buffer;
    memset(&buffer, 0, sizeof(buffer));
    buffer.base_ptr = buffer.unpack_ptr = bytes;
    buffer.pack_ptr = bytes + r->length;
    buffer.bytes_allocated = buffer.bytes_used = r->length;
    void* values = calloc(r->capacity + 1, MAX_ELEMENT);
    int32_t n = (int32_t)r->capacity;
    if (values == NULL) {
        exit(1);
    }
    pmix_status_t rc = PMIx_Data_unpack(NULL, &buffer, values, &n, (pmix_data_type_t)r->type);
    if (rc != PMIX_SUCCESS) {
        answer(rc, n, NULL, 0);
    } else if (buffer.unpack_ptr != bytes + r->length) {
        answer(PMIX_ERR_UNPACK_FAILURE, n, NULL, 0); /* some was left */
    } else {
        answer_packed(values, n, (pmix_data_type_t)r->type);
    }
    free(values); /* what they point to goes with the process */
}

int main(void) {
    pmix_proc_t me;
    request_t r;
    /* Alone: no server answers, yet packing works from here on. */
    (void)PMIx_Init(&me, NULL, 0);
    make_samples();
    while (fread(&r, sizeof(r), 1, stdin) == 1) {
        char* bytes = malloc(r.length + 1);
        if (bytes == NULL || (r.length != 0 && fread(bytes, r.length, 1, stdin) != 1)) {
            return 1;
        }
        switch (r.operation) {
            case 'v':
                answer(PMIX_SUCCESS, 0, PMIx_Get_version(), strlen(PMIx_Get_version()));
                break;
            case 's':
                answer_packed((void*)g_samples[r.capacity].values, g_samples[r.capacity].n, g_samples[r.capacity].type);
                break;
            case 'r':
                repack(&r, bytes);
                break;
            case 'c':
            case 'd': {
                uint8_t* out = NULL;
                size_t n = 0;
                bool done = r.operation == 'c' ? PMIx_Data_compress((uint8_t*)bytes, r.length, &out, &n)
                                               : PMIx_Data_decompress((uint8_t*)bytes, r.length, &out, &n);
                answer(done ? PMIX_SUCCESS : PMIX_ERROR, 0, out, done ? n : 0);
                free(out);
                break;
            }
            default:
                return 2;
        }
        free(bytes);
    }
    return 0;
}
