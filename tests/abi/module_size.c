/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host that calls PMIx_server_init hands in the size of its module without knowing. The program takes the library's
 * place, with the two functions that the call needs, and looks at what is passed. Runs in one thread, without a
 * library.
 */
#include <pmix_server.h>

static int failed;
#define CHECK(x)                                                    \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            ++failed;                                               \
        }                                                           \
    } while (0)

static pmix_server_module_t* seen_module;
static size_t seen_ninfo, seen_sizes, seen_size;

pmix_status_t(PMIx_server_init)(pmix_server_module_t* module, pmix_info_t info[], size_t ninfo) {
    size_t i;
    seen_module = module;
    seen_ninfo = ninfo;
    seen_sizes = 0;
    for (i = 0; i < ninfo; ++i) {
        if (0 == strcmp(info[i].key, PMIX_SERVER_MODULE_SIZE)) {
            CHECK(PMIX_SIZE == info[i].value.type);
            seen_size = info[i].value.data.size;
            ++seen_sizes;
        } else {
            info[i].flags |= PMIX_INFO_REQD_PROCESSED;
        }
    }
    return PMIX_ERR_NOT_AVAILABLE;
}

pmix_status_t PMIx_Info_load(pmix_info_t* info, const char* key, const void* data, pmix_data_type_t type) {
    CHECK(PMIX_SIZE == type);
    memcpy(info->key, key, strlen(key) + 1);
    info->flags = 0;
    info->value.type = type;
    memcpy(&info->value.data.size, data, sizeof(size_t));
    return PMIX_SUCCESS;
}

int main(void) {
    pmix_server_module_t module;
    pmix_info_t info[2];

    memset(&module, 0, sizeof(module));
    memset(info, 0, sizeof(info));
    strcpy(info[0].key, PMIX_SERVER_TMPDIR);
    strcpy(info[1].key, PMIX_SERVER_NSPACE);

    CHECK(PMIX_ERR_NOT_AVAILABLE == PMIx_server_init(&module, info, 2));
    CHECK(&module == seen_module && 3 == seen_ninfo && 1 == seen_sizes && sizeof(module) == seen_size);
    CHECK(PMIX_INFO_REQD_PROCESSED == info[0].flags && PMIX_INFO_REQD_PROCESSED == info[1].flags);

    PMIx_server_init(&module, NULL, 0);
    CHECK(1 == seen_ninfo && 1 == seen_sizes && sizeof(module) == seen_size);

    /* A host that gives the size itself is taken at its word. */
    seen_size = 232;
    PMIx_Info_load(&info[1], PMIX_SERVER_MODULE_SIZE, &seen_size, PMIX_SIZE);
    PMIx_server_init(&module, info, 2);
    CHECK(2 == seen_ninfo && 1 == seen_sizes && 232 == seen_size);

    /* No module: nothing to tell. */
    PMIx_server_init(NULL, NULL, 0);
    CHECK(NULL == seen_module && 0 == seen_ninfo && 0 == seen_sizes);

    /* The plain function is still there. */
    (PMIx_server_init)(&module, NULL, 0);
    CHECK(0 == seen_ninfo);
    return failed;
}
