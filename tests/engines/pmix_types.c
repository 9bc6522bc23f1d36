/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data types that OpenPMIx 7 has added and what it compresses, in files from one library to another.
 *   pmix_types write FOLDER    packs them, and compresses a text
 *   pmix_types read FOLDER     unpacks what another packed, and compares it with what went in
 *   pmix_types text FOLDER     the same of the compressed text
 *   pmix_types forms FOLDER    prints in which forms they are there: of lists, and of the compressed text
 * The process is a server without a host, because packing needs the library to be initialised.
 */
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES 3000
#define REQUIRE(condition)                                              \
    do {                                                                \
        if (!(condition)) {                                             \
            printf("FAIL %s:%d: %s\n", __FILE__, __LINE__, #condition); \
            return 1;                                                   \
        }                                                               \
    } while (0)
#define SUCCEEDS(call)                                                                         \
    do {                                                                                       \
        pmix_status_t rc_ = (call);                                                            \
        if (PMIX_SUCCESS != rc_) {                                                             \
            printf("FAIL %s:%d: %s: %s\n", __FILE__, __LINE__, #call, PMIx_Error_string(rc_)); \
            return 1;                                                                          \
        }                                                                                      \
    } while (0)

static const char* const short_list = "node1,node2,other";
static char long_list[NODES * 12];
/* No list: bytes of a form that neither library has, which go through unread, a zero among them. */
static uint8_t odd_bytes[] = {1, 0, 2, 255};
static pmix_alloc_inheritance_t rules[] = {PMIX_ALLOC_INHERIT_NONE, PMIX_ALLOC_INHERIT_CHILD,
                                           PMIX_ALLOC_INHERIT_DEFAULT, PMIX_ALLOC_INHERIT_CHILD_DEFAULT};

static const char* path(const char* folder, const char* name) {
    static char all[4096];
    snprintf(all, sizeof all, "%s/%s", folder, name);
    return all;
}

static int save(const char* file, const void* bytes, size_t size) {
    FILE* out = fopen(file, "wb");
    REQUIRE(NULL != out && size == fwrite(bytes, 1, size, out) && 0 == fclose(out));
    return 0;
}

static int load(const char* file, uint8_t** bytes, size_t* size) {
    FILE* in = fopen(file, "rb");
    REQUIRE(NULL != in && NULL != (*bytes = malloc(1 << 20)));
    *size = fread(*bytes, 1, 1 << 20, in);
    REQUIRE(*size > 0 && *size < (1 << 20) && 0 == fclose(in));
    return 0;
}

/* The short list, the long one and the odd form; in values and infos the long one. */
static int fill(pmix_regex2_t lists[3]) {
    SUCCEEDS(PMIx_generate_regex2(short_list, NULL, 0, &lists[0]));
    SUCCEEDS(PMIx_generate_regex2(long_list, NULL, 0, &lists[1]));
    PMIx_Regex2_construct(&lists[2]);
    lists[2].type = strdup("odd:form");
    lists[2].bytes = odd_bytes;
    lists[2].len = sizeof odd_bytes;
    return 0;
}

static int write_all(const char* folder) {
    pmix_data_buffer_t buffer;
    pmix_byte_object_t packed;
    pmix_regex2_t lists[3];
    pmix_value_t value;
    pmix_info_t infos[2];
    pmix_data_array_t array = {.type = PMIX_REGEX2, .size = 3, .array = lists};
    uint8_t* text = NULL;
    size_t size = 0;
    if (fill(lists)) return 1;
    PMIx_Data_buffer_construct(&buffer);
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, lists, 3, PMIX_REGEX2));
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, rules, 4, PMIX_ALLOC_INHERIT));
    memset(&value, 0, sizeof value);
    value.type = PMIX_REGEX2;
    value.data.regex2 = &lists[1];
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, &value, 1, PMIX_VALUE));
    value.type = PMIX_ALLOC_INHERIT;
    value.data.inheritance = PMIX_ALLOC_INHERIT_CHILD;
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, &value, 1, PMIX_VALUE));
    memset(infos, 0, sizeof infos);
    PMIX_LOAD_KEY(infos[0].key, PMIX_NODE_MAP);
    infos[0].value.type = PMIX_REGEX2;
    infos[0].value.data.regex2 = &lists[1];
    PMIX_LOAD_KEY(infos[1].key, PMIX_ALLOC_INHERITANCE);
    infos[1].value.type = PMIX_ALLOC_INHERIT;
    infos[1].value.data.inheritance = PMIX_ALLOC_INHERIT_CHILD_DEFAULT;
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, infos, 2, PMIX_INFO));
    SUCCEEDS(PMIx_Data_pack(NULL, &buffer, &array, 1, PMIX_DATA_ARRAY));
    SUCCEEDS(PMIx_Data_unload(&buffer, &packed));
    if (save(path(folder, "packed"), packed.bytes, packed.size)) return 1;
    REQUIRE(PMIx_Data_compress((const uint8_t*)long_list, sizeof long_list, &text, &size));
    return save(path(folder, "text"), text, size);
}

static int is_list(const pmix_regex2_t* form, const char* list) {
    char* items = NULL;
    SUCCEEDS(PMIx_parse_regex2(form, NULL, 0, &items));
    REQUIRE(NULL != items && 0 == strcmp(items, list));
    free(items);
    return 0;
}

static int are_lists(const pmix_regex2_t lists[3]) {
    if (is_list(&lists[0], short_list) || is_list(&lists[1], long_list)) return 1;
    REQUIRE(0 == strcmp(lists[2].type, "odd:form") && sizeof odd_bytes == lists[2].len);
    REQUIRE(0 == memcmp(odd_bytes, lists[2].bytes, sizeof odd_bytes));
    return 0;
}

static int read_all(const char* folder) {
    pmix_data_buffer_t buffer;
    pmix_byte_object_t packed;
    pmix_regex2_t lists[3];
    pmix_alloc_inheritance_t got[4];
    pmix_value_t value;
    pmix_info_t infos[2];
    pmix_data_array_t array;
    uint8_t* bytes = NULL;
    size_t size = 0;
    int32_t n = 3;
    if (load(path(folder, "packed"), &bytes, &size)) return 1;
    packed.bytes = (char*)bytes;
    packed.size = size;
    PMIx_Data_buffer_construct(&buffer);
    SUCCEEDS(PMIx_Data_load(&buffer, &packed));
    memset(lists, 0, sizeof lists);
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, lists, &n, PMIX_REGEX2));
    REQUIRE(3 == n);
    if (are_lists(lists)) return 1;
    n = 4;
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, got, &n, PMIX_ALLOC_INHERIT));
    REQUIRE(4 == n && 0 == memcmp(got, rules, sizeof rules));
    n = 1;
    memset(&value, 0, sizeof value);
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, &value, &n, PMIX_VALUE));
    REQUIRE(PMIX_REGEX2 == value.type && NULL != value.data.regex2);
    if (is_list(value.data.regex2, long_list)) return 1;
    n = 1;
    memset(&value, 0, sizeof value);
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, &value, &n, PMIX_VALUE));
    REQUIRE(PMIX_ALLOC_INHERIT == value.type && PMIX_ALLOC_INHERIT_CHILD == value.data.inheritance);
    n = 2;
    memset(infos, 0, sizeof infos);
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, infos, &n, PMIX_INFO));
    REQUIRE(2 == n && PMIX_CHECK_KEY(&infos[0], PMIX_NODE_MAP) && PMIX_CHECK_KEY(&infos[1], PMIX_ALLOC_INHERITANCE));
    REQUIRE(PMIX_REGEX2 == infos[0].value.type && PMIX_ALLOC_INHERIT == infos[1].value.type);
    REQUIRE(PMIX_ALLOC_INHERIT_CHILD_DEFAULT == infos[1].value.data.inheritance);
    if (is_list(infos[0].value.data.regex2, long_list)) return 1;
    n = 1;
    memset(&array, 0, sizeof array);
    SUCCEEDS(PMIx_Data_unpack(NULL, &buffer, &array, &n, PMIX_DATA_ARRAY));
    REQUIRE(PMIX_REGEX2 == array.type && 3 == array.size);
    if (are_lists(array.array)) return 1;
    n = 1; /* and nothing is left */
    REQUIRE(PMIX_SUCCESS != PMIx_Data_unpack(NULL, &buffer, got, &n, PMIX_ALLOC_INHERIT));
    return 0;
}

static int read_text(const char* folder) {
    uint8_t *bytes = NULL, *text = NULL;
    size_t size = 0, length = 0;
    if (load(path(folder, "text"), &bytes, &size)) return 1;
    REQUIRE(PMIx_Data_decompress(bytes, size, &text, &length));
    REQUIRE(sizeof long_list == length && 0 == memcmp(text, long_list, length));
    return 0;
}

/* By its first bytes, after the length. */
static const char* form_of(const uint8_t* bytes, size_t size) {
    static const uint8_t zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (size > 8 && 0 == memcmp(bytes + 4, zstd, sizeof zstd)) return "zstd";
    if (size > 6 && 0x78 == bytes[4]) return "zlib";
    return "another";
}

static int forms(const char* folder) {
    pmix_regex2_t lists[3];
    uint8_t* text = NULL;
    size_t size = 0;
    if (load(path(folder, "text"), &text, &size) || fill(lists)) return 1;
    printf("text %s, short list %s, long list %s %s\n", form_of(text, size), lists[0].type, lists[1].type,
           form_of(lists[1].bytes, lists[1].len));
    return 0;
}

int main(int argc, char** argv) {
    size_t used = 0;
    int rc = 2;
    if (argc != 3) return rc;
    for (int i = 0; i < NODES; i++)
        used += (size_t)snprintf(long_list + used, sizeof long_list - used, "%sn%d", 0 == i ? "" : ",", i * 7);
    SUCCEEDS(PMIx_server_init(NULL, NULL, 0));
    if (0 == strcmp(argv[1], "write")) rc = write_all(argv[2]);
    if (0 == strcmp(argv[1], "read")) rc = read_all(argv[2]);
    if (0 == strcmp(argv[1], "text")) rc = read_text(argv[2]);
    if (0 == strcmp(argv[1], "forms")) rc = forms(argv[2]);
    PMIx_server_finalize();
    if (0 == rc) printf("OK %s\n", argv[1]);
    return rc;
}
