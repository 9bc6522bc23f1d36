/* SPDX-License-Identifier: BSD-3-Clause */
/* Data Packing and Unpacking: the buffers and every error answer; the types themselves are in types.c. */
#include "check.h"

#define CHAPTER "Data Packing and Unpacking / "
#define PACK "Data Packing and Unpacking / PMIx_Data_pack"
#define UNPACK "Data Packing and Unpacking / PMIx_Data_unpack"
#define COPY "Data Packing and Unpacking / PMIx_Data_copy"
#define PRINT "Data Packing and Unpacking / PMIx_Data_print"
#define PAYLOAD "Data Packing and Unpacking / PMIx_Data_copy_payload"
#define UNLOAD "Data Packing and Unpacking / PMIx_Data_unload"
#define LOAD "Data Packing and Unpacking / PMIx_Data_load"
#define COMPRESS "Data Packing and Unpacking / PMIx_Data_compress"

static pmix_data_buffer_t* buffer;

static void start(void) {
    EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
    PMIX_DATA_BUFFER_CREATE(buffer);
    EXPECT(buffer != NULL);
}

static void pack_int(pmix_data_buffer_t* into, int number) {
    EXPECT_OK(PMIx_Data_pack(NULL, into, &number, 1, PMIX_INT));
}

static int unpack_int(pmix_data_buffer_t* from) {
    int number = 0;
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_unpack(NULL, from, &number, &count, PMIX_INT));
    EXPECT_INT(1, count);
    return number;
}

ROW(buffer_create, CHAPTER "PMIX_DATA_BUFFER_CREATE", "A new buffer is empty") {
    start();
    EXPECT(buffer->base_ptr == NULL);
    EXPECT_INT(0, buffer->bytes_used);
    PMIX_DATA_BUFFER_RELEASE(buffer);
}

ROW(buffer_construct, CHAPTER "PMIX_DATA_BUFFER_CONSTRUCT",
    "A constructed buffer is empty, whatever its memory contained") {
    pmix_data_buffer_t local;
    memset(&local, 0xff, sizeof(local));
    PMIX_DATA_BUFFER_CONSTRUCT(&local);
    EXPECT(local.base_ptr == NULL && local.pack_ptr == NULL && local.unpack_ptr == NULL);
    EXPECT_INT(0, local.bytes_used);
    EXPECT_INT(0, local.bytes_allocated);
    PMIX_DATA_BUFFER_DESTRUCT(&local);
}

ROW(buffer_destruct_used, CHAPTER "PMIX_DATA_BUFFER_DESTRUCT",
    "The data of a buffer is released, and the buffer can be used again") {
    start();
    pmix_data_buffer_t local;
    PMIX_DATA_BUFFER_CONSTRUCT(&local);
    pack_int(&local, 1);
    PMIX_DATA_BUFFER_DESTRUCT(&local);
    PMIX_DATA_BUFFER_CONSTRUCT(&local);
    pack_int(&local, 2);
    EXPECT_INT(2, unpack_int(&local));
    PMIX_DATA_BUFFER_DESTRUCT(&local);
}

ROW(buffer_load_unload, CHAPTER "PMIX_DATA_BUFFER_LOAD, PMIX_DATA_BUFFER_UNLOAD",
    "The blob of one buffer, loaded into another, is unpacked there") {
    start();
    pack_int(buffer, 77);
    char* bytes = NULL;
    size_t size = 0;
    PMIX_DATA_BUFFER_UNLOAD(buffer, bytes, size);
    EXPECT(bytes != NULL);
    EXPECT(size > 0);
    EXPECT(buffer->base_ptr == NULL);
    pmix_data_buffer_t* other;
    PMIX_DATA_BUFFER_CREATE(other);
    PMIX_DATA_BUFFER_LOAD(other, bytes, size);
    EXPECT_INT(77, unpack_int(other));
    PMIX_DATA_BUFFER_RELEASE(other);
    PMIX_DATA_BUFFER_RELEASE(buffer);
}

#ifdef PMIX_DATA_BUFFER_STATIC_INIT
ROW(buffer_static_init, CHAPTER "PMIX_DATA_BUFFER_STATIC_INIT",
    "A buffer from the static initializer is ready for packing") {
    start();
    pmix_data_buffer_t local = PMIX_DATA_BUFFER_STATIC_INIT;
    pack_int(&local, 3);
    EXPECT_INT(3, unpack_int(&local));
    PMIX_DATA_BUFFER_DESTRUCT(&local);
}
#endif

ROW(pack_null_buffer, PACK, "No buffer is PMIX_ERR_BAD_PARAM") {
    start();
    int number = 1;
    EXPECT_STATUS(PMIx_Data_pack(NULL, NULL, &number, 1, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(pack_null_source, PACK, "No source is PMIX_ERR_BAD_PARAM") {
    start();
    EXPECT_STATUS(PMIx_Data_pack(NULL, buffer, NULL, 1, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(pack_unknown_type, PACK, "A type that is unknown is PMIX_ERR_UNKNOWN_DATA_TYPE") {
    start();
    int number = 1;
    EXPECT_STATUS(PMIx_Data_pack(NULL, buffer, &number, 1, 499), PMIX_ERR_UNKNOWN_DATA_TYPE);
    EXPECT_STATUS(PMIx_Data_pack(NULL, buffer, &number, 1, 60000), PMIX_ERR_UNKNOWN_DATA_TYPE);
}
ROW(pack_unknown_harmless, PACK, "A refused type leaves the buffer as it was") {
    start();
    pack_int(buffer, 1);
    int number = 2;
    (void)PMIx_Data_pack(NULL, buffer, &number, 1, 499);
    pack_int(buffer, 3);
    EXPECT_INT(1, unpack_int(buffer));
    EXPECT_INT(3, unpack_int(buffer));
}
ROW(pack_appends, PACK, "Later values follow those that a buffer has") {
    start();
    for (int i = 0; i < 1000; ++i) pack_int(buffer, i * i);
    for (int i = 0; i < 1000; ++i) EXPECT_INT(i * i, unpack_int(buffer));
}
ROW(pack_after_unpack, PACK, "Values may be added after some were unpacked") {
    start();
    pack_int(buffer, 1);
    EXPECT_INT(1, unpack_int(buffer));
    pack_int(buffer, 2);
    EXPECT_INT(2, unpack_int(buffer));
}
ROW(pack_null_string, PACK, "A string that is NULL comes back as NULL or empty") {
    start();
    char *text = NULL, *back = (char*)1;
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &text, 1, PMIX_STRING));
    pack_int(buffer, 5);
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &back, &count, PMIX_STRING));
    EXPECT(back == NULL || back[0] == '\0');
    EXPECT_INT(5, unpack_int(buffer));
}
ROW(pack_strings, PACK, "Several strings of any length count as one value each") {
    start();
    char *texts[] = {"one", "", "three words here"}, *back[3] = {NULL, NULL, NULL};
    int32_t count = 3;
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, texts, 3, PMIX_STRING));
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, PMIX_STRING));
    EXPECT_INT(3, count);
    for (int i = 0; i < 3; ++i) EXPECT_STRING(texts[i], back[i]);
}
ROW(pack_own_target, PACK, "The namespace of the packer itself may be named as the target", .ranks = 1) {
    PMIX_DATA_BUFFER_CREATE(buffer);
    int number = 9, back = 0;
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_pack(&me, buffer, &number, 1, PMIX_INT));
    EXPECT_OK(PMIx_Data_unpack(&me, buffer, &back, &count, PMIX_INT));
    EXPECT_INT(9, back);
}
ROW(pack_peer_target, PACK, "A peer of the namespace may be named, and unpacks what it is sent", .ranks = 2) {
    PMIX_DATA_BUFFER_CREATE(buffer);
    pmix_proc_t peer = proc_of(me.nspace, (pmix_rank_t)(1 - my_rank));
    char* text = "between peers";
    EXPECT_OK(PMIx_Data_pack(&peer, buffer, &text, 1, PMIX_STRING));
    pmix_value_t value;
    memset(&value, 0, sizeof(value));
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = buffer->base_ptr;
    value.data.bo.size = buffer->bytes_used;
    EXPECT_OK(PMIx_Put(PMIX_GLOBAL, "blob", &value));
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_value_t* got = NULL;
    EXPECT_OK(PMIx_Get(&peer, "blob", NULL, 0, &got));
    pmix_data_buffer_t* other;
    PMIX_DATA_BUFFER_CREATE(other);
    PMIX_DATA_BUFFER_LOAD(other, got->data.bo.bytes, got->data.bo.size);
    char* back = NULL;
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_unpack(&peer, other, &back, &count, PMIX_STRING));
    EXPECT_STRING(text, back);
}

ROW(unpack_null_buffer, UNPACK, "No buffer is PMIX_ERR_BAD_PARAM") {
    start();
    int number;
    int32_t count = 1;
    EXPECT_STATUS(PMIx_Data_unpack(NULL, NULL, &number, &count, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(unpack_null_destination, UNPACK, "No destination is PMIX_ERR_BAD_PARAM") {
    start();
    pack_int(buffer, 1);
    int32_t count = 1;
    EXPECT_STATUS(PMIx_Data_unpack(NULL, buffer, NULL, &count, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(unpack_unknown_type, UNPACK, "A type that is unknown is PMIX_ERR_UNKNOWN_DATA_TYPE") {
    start();
    pack_int(buffer, 1);
    int number;
    int32_t count = 1;
    EXPECT_STATUS(PMIx_Data_unpack(NULL, buffer, &number, &count, 499), PMIX_ERR_UNKNOWN_DATA_TYPE);
}
ROW(unpack_other_type, UNPACK, "Another type than the one that was packed is an error") {
    start();
    pack_int(buffer, 1);
    char* text = NULL;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &text, &count, PMIX_STRING));
}
ROW(unpack_empty, UNPACK, "Reading a buffer without data is an error") {
    start();
    int number;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT));
}
ROW(unpack_past_end, UNPACK, "Reading beyond the data is an error") {
    start();
    pack_int(buffer, 1);
    EXPECT_INT(1, unpack_int(buffer));
    int number;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT));
}
ROW(unpack_too_many, UNPACK, "More values than there is room for: those that fit, and an error") {
    start();
    int numbers[4] = {1, 2, 3, 4}, back[4] = {0, 0, 0, -1};
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, numbers, 4, PMIX_INT));
    int32_t count = 2;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, back, &count, PMIX_INT));
    EXPECT(count <= 2);
    EXPECT_INT(-1, back[3]);
    if (count == 2) {
        EXPECT_INT(1, back[0]);
        EXPECT_INT(2, back[1]);
    }
}
ROW(unpack_fewer, UNPACK, "The count is set to the number of values that were there") {
    start();
    pack_int(buffer, 6);
    int back[3] = {0, 0, 0};
    int32_t count = 3;
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, PMIX_INT));
    EXPECT_INT(1, count);
    EXPECT_INT(6, back[0]);
}
ROW(unpack_again, UNPACK, "Values can be unpacked again after the pointer is reset") {
    start();
    char* begin = buffer->unpack_ptr;
    pack_int(buffer, 8);
    begin = buffer->base_ptr;
    EXPECT_INT(8, unpack_int(buffer));
    buffer->unpack_ptr = begin;
    EXPECT_INT(8, unpack_int(buffer));
}
ROW(unpack_truncated, UNPACK, "Data that ends in the middle of a value is an error, never a crash") {
    start();
    char* text = "a string of some length";
    pmix_info_t info = info_of("key", "value of the key", PMIX_STRING);
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &text, 1, PMIX_STRING));
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &info, 1, PMIX_INFO));
    for (size_t size = 0; size < buffer->bytes_used; ++size) {
        char* copy = malloc(size + 1);
        memcpy(copy, buffer->base_ptr, size);
        pmix_data_buffer_t cut;
        PMIX_DATA_BUFFER_CONSTRUCT(&cut);
        cut.base_ptr = copy;
        cut.unpack_ptr = copy;
        cut.pack_ptr = copy + size;
        cut.bytes_allocated = size;
        cut.bytes_used = size;
        char* back = NULL;
        pmix_info_t other;
        memset(&other, 0, sizeof(other));
        int32_t count = 1;
        if (PMIx_Data_unpack(NULL, &cut, &back, &count, PMIX_STRING) == PMIX_SUCCESS) {
            count = 1;
            EXPECT_ERROR(PMIx_Data_unpack(NULL, &cut, &other, &count, PMIX_INFO));
        }
    }
}

ROW(copy_null_destination, COPY, "No destination is PMIX_ERR_BAD_PARAM") {
    start();
    int number = 1;
    EXPECT_STATUS(PMIx_Data_copy(NULL, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(copy_null_source, COPY, "No source is PMIX_ERR_BAD_PARAM") {
    start();
    void* copy = NULL;
    EXPECT_STATUS(PMIx_Data_copy(&copy, NULL, PMIX_INT), PMIX_ERR_BAD_PARAM);
}
ROW(copy_unknown_type, COPY, "A type that is unknown is PMIX_ERR_UNKNOWN_DATA_TYPE") {
    start();
    void* copy = NULL;
    int number = 1;
    EXPECT_STATUS(PMIx_Data_copy(&copy, &number, 499), PMIX_ERR_UNKNOWN_DATA_TYPE);
}
ROW(copy_nested, COPY, "Arrays inside of arrays are copied to the bottom") {
    start();
    int* numbers = malloc(3 * sizeof(int));
    for (int i = 0; i < 3; ++i) numbers[i] = i + 10;
    pmix_data_array_t inner = {PMIX_INT, 3, numbers};
    pmix_info_t infos[2];
    infos[0] = info_of("inner", &inner, PMIX_DATA_ARRAY);
    infos[1] = info_of("text", "below", PMIX_STRING);
    pmix_data_array_t outer = {PMIX_INFO, 2, infos}, *copy = NULL;
    EXPECT_OK(PMIx_Data_copy((void**)&copy, &outer, PMIX_DATA_ARRAY));
    PMIX_INFO_DESTRUCT(&infos[0]);
    PMIX_INFO_DESTRUCT(&infos[1]);
    memset(numbers, 0, 3 * sizeof(int));
    EXPECT_INT(2, copy->size);
    pmix_info_t* copied = copy->array;
    EXPECT_STRING("inner", copied[0].key);
    EXPECT_INT(PMIX_DATA_ARRAY, copied[0].value.type);
    EXPECT_INT(3, copied[0].value.data.darray->size);
    EXPECT_INT(12, ((int*)copied[0].value.data.darray->array)[2]);
    EXPECT_STRING("below", copied[1].value.data.string);
    PMIX_DATA_ARRAY_FREE(copy);
}

ROW(print_unknown_type, PRINT, "A type that is unknown is PMIX_ERR_BAD_PARAM") {
    start();
    char* text = NULL;
    int number = 1;
    EXPECT_STATUS(PMIx_Data_print(&text, NULL, &number, 499), PMIX_ERR_BAD_PARAM);
}
ROW(print_nested, PRINT, "An array of infos with arrays has a text that contains the keys") {
    start();
    int numbers[2] = {1, 2};
    pmix_data_array_t inner = {PMIX_INT, 2, numbers};
    pmix_info_t info = info_of("conformance.inner", &inner, PMIX_DATA_ARRAY);
    char* text = NULL;
    EXPECT_OK(PMIx_Data_print(&text, NULL, &info, PMIX_INFO));
    EXPECT(text != NULL && strstr(text, "conformance.inner") != NULL);
}

ROW(payload_appends, PAYLOAD, "The values of one buffer follow those of the other; the source stays as it is") {
    start();
    pmix_data_buffer_t* other;
    PMIX_DATA_BUFFER_CREATE(other);
    pack_int(buffer, 1);
    pack_int(other, 2);
    pack_int(other, 3);
    EXPECT_OPTIONAL(PMIx_Data_copy_payload(buffer, other), PMIX_SUCCESS);
    for (int i = 1; i <= 3; ++i) EXPECT_INT(i, unpack_int(buffer));
    EXPECT_INT(2, unpack_int(other));
    EXPECT_INT(3, unpack_int(other));
}
ROW(payload_not_unpacked, PAYLOAD, "What was unpacked from the source already is not copied") {
    start();
    pmix_data_buffer_t* other;
    PMIX_DATA_BUFFER_CREATE(other);
    pack_int(other, 2);
    pack_int(other, 3);
    EXPECT_INT(2, unpack_int(other));
    EXPECT_OPTIONAL(PMIx_Data_copy_payload(buffer, other), PMIX_SUCCESS);
    EXPECT_INT(3, unpack_int(buffer));
    int number;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT));
}
ROW(payload_empty, PAYLOAD, "An empty source changes nothing") {
    start();
    pmix_data_buffer_t* other;
    PMIX_DATA_BUFFER_CREATE(other);
    pack_int(buffer, 1);
    EXPECT_OPTIONAL(PMIx_Data_copy_payload(buffer, other), PMIX_SUCCESS);
    EXPECT_INT(1, unpack_int(buffer));
}

#ifdef HAVE_PMIx_Data_load
ROW(unload_rest, UNLOAD, "The bytes that were not unpacked are handed out, and the buffer is left without them") {
    start();
    pack_int(buffer, 1);
    pack_int(buffer, 2);
    EXPECT_INT(1, unpack_int(buffer));
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OK(PMIx_Data_unload(buffer, &bytes));
    EXPECT(bytes.bytes != NULL);
    EXPECT(bytes.size > 0);
    PMIX_DATA_BUFFER_RELEASE(buffer);
    PMIX_DATA_BUFFER_CREATE(buffer);
    EXPECT_OK(PMIx_Data_load(buffer, &bytes));
    EXPECT_INT(2, unpack_int(buffer));
    int number;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT));
}
ROW(unload_null_buffer, UNLOAD, "No buffer is PMIX_ERR_BAD_PARAM") {
    start();
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_STATUS(PMIx_Data_unload(NULL, &bytes), PMIX_ERR_BAD_PARAM);
}
ROW(unload_null_destination, UNLOAD, "No destination is PMIX_ERR_BAD_PARAM") {
    start();
    EXPECT_STATUS(PMIx_Data_unload(buffer, NULL), PMIX_ERR_BAD_PARAM);
}
ROW(load_null_buffer, LOAD, "No buffer is PMIX_ERR_BAD_PARAM") {
    start();
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_STATUS(PMIx_Data_load(NULL, &bytes), PMIX_ERR_BAD_PARAM);
}
ROW(load_replaces, LOAD, "A payload that the buffer has is replaced") {
    start();
    pack_int(buffer, 5);
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OK(PMIx_Data_unload(buffer, &bytes));
    pack_int(buffer, 6);
    pack_int(buffer, 7);
    EXPECT_OK(PMIx_Data_load(buffer, &bytes));
    EXPECT_INT(5, unpack_int(buffer));
    int number;
    int32_t count = 1;
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT));
}
#endif

#ifdef HAVE_PMIx_Data_embed
ROW(embed_copies, CHAPTER "PMIx_Data_embed", "The payload is copied: it stays where it was, and both are independent") {
    start();
    pack_int(buffer, 5);
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OK(PMIx_Data_unload(buffer, &bytes));
    EXPECT_OPTIONAL(PMIx_Data_embed(buffer, &bytes), PMIX_SUCCESS);
    EXPECT(bytes.bytes != NULL && bytes.size > 0);
    memset(bytes.bytes, 0, bytes.size);
    EXPECT_INT(5, unpack_int(buffer));
}
ROW(embed_null_buffer, CHAPTER "PMIx_Data_embed", "No buffer is PMIX_ERR_BAD_PARAM") {
    start();
    pmix_byte_object_t bytes = {NULL, 0};
    EXPECT_OPTIONAL(PMIx_Data_embed(NULL, &bytes), PMIX_ERR_BAD_PARAM);
}
ROW(embed_null_payload, CHAPTER "PMIx_Data_embed", "No payload is PMIX_ERR_BAD_PARAM") {
    start();
    EXPECT_OPTIONAL(PMIx_Data_embed(buffer, NULL), PMIX_ERR_BAD_PARAM);
}
#endif

#ifdef HAVE_PMIx_Data_compress
ROW(compress_round, COMPRESS, "What was compressed is smaller, and is decompressed to the same bytes") {
    start();
    enum { kSize = 1 << 20 };
    uint8_t *bytes = malloc(kSize), *small = NULL, *back = NULL;
    for (int i = 0; i < kSize; ++i) bytes[i] = (uint8_t)(i / 1000);
    size_t size = 0, back_size = 0;
    if (!PMIx_Data_compress(bytes, kSize, &small, &size)) unsupported("PMIx_Data_compress");
    EXPECT(small != NULL);
    EXPECT(size < kSize);
    for (int i = 0; i < kSize; ++i) EXPECT(bytes[i] == (uint8_t)(i / 1000));
    EXPECT(PMIx_Data_decompress(small, size, &back, &back_size));
    EXPECT_INT(kSize, back_size);
    EXPECT(memcmp(bytes, back, kSize) == 0);
    free(small);
    free(back);
}
ROW(compress_small, COMPRESS, "Data that would not be smaller is not compressed") {
    start();
    uint8_t bytes[4] = {1, 2, 3, 4}, *small = NULL;
    size_t size = 0;
    EXPECT(!PMIx_Data_compress(bytes, sizeof(bytes), &small, &size));
}
#endif
