/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints which release the header, the library and an answer of the library name: WHAT: RELEASE, a line each. */
#include <inttypes.h>
#include <pmix.h>
#include <stdio.h>

static void print(const char* what, uint32_t number) {
    printf("%s: %" PRIu32 ".%" PRIu32 ".%" PRIu32 "\n", what, number >> 16, (number >> 8) & 255, number & 255);
}

int main(void) {
    pmix_proc_t self;
    pmix_value_t* value = NULL;

    printf("header, three numbers: %ld.%ld.%ld\n", PMIX_VERSION_MAJOR, PMIX_VERSION_MINOR, PMIX_VERSION_RELEASE);
    print("header, one number", PMIX_NUMERIC_VERSION);
    printf("PMIx_Get_version: %s\n", PMIx_Get_version());
    (void)PMIx_Init(&self, NULL, 0); /* of one process, without a server */
    if (PMIX_SUCCESS != PMIx_Get(NULL, PMIX_VERSION_NUMERIC, NULL, 0, &value)) return 1;
    print("PMIX_VERSION_NUMERIC", value->data.uint32);
    PMIX_VALUE_RELEASE(value);
    return PMIX_SUCCESS == PMIx_Finalize(NULL, 0) ? 0 : 1;
}
