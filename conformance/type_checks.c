/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds of every data type; chapters/types.c has the types. */
#include "chapters/types.h"

enum { kValues = 3 };

static char* make_all(const struct type* type) {
    char* values = calloc(kValues, type->size);
    for (int i = 0; i < kValues; ++i) type->make(values + (size_t)i * type->size, i);
    return values;
}

static void need_same(const struct type* type, const void* wanted, const void* got, int i, const char* after) {
    if (got == NULL || !type->same(wanted, got)) failed("%s: value %d differs after %s", type->name, i, after);
}

/* Packing needs a library that knows its own version of the data: outside of a job a server is the simplest. */
static void start(void) {
    if (!PMIx_Initialized()) EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
}

void check_pack(const struct type* type) {
    start();
    char* values = make_all(type);
    pmix_data_buffer_t* buffer;
    PMIX_DATA_BUFFER_CREATE(buffer);
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, values, kValues, type->number));
    char* begin = buffer->unpack_ptr;
    for (int round = 0; round < 2; ++round) {
        char* back = calloc(kValues, type->size);
        int32_t count = kValues;
        EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, type->number));
        EXPECT_INT(kValues, count);
        for (int i = 0; i < kValues; ++i)
            need_same(type, values + (size_t)i * type->size, back + (size_t)i * type->size, i, "unpacking");
        buffer->unpack_ptr = begin;
    }
    PMIX_DATA_BUFFER_RELEASE(buffer);
}

void check_pack_mixed(const struct type* type) {
    start();
    char* values = make_all(type);
    pmix_data_buffer_t* buffer;
    PMIX_DATA_BUFFER_CREATE(buffer);
    int32_t before = -77;
    char* after = "after";
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &before, 1, PMIX_INT32));
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, values + type->size, 1, type->number));
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &after, 1, PMIX_STRING));
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, values, 1, type->number));
    int32_t number = 0, count = 1;
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &number, &count, PMIX_INT32));
    EXPECT_INT(before, number);
    char* back = calloc(1, type->size);
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, type->number));
    need_same(type, values + type->size, back, 1, "unpacking");
    char* text = NULL;
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &text, &count, PMIX_STRING));
    EXPECT_STRING(after, text);
    back = calloc(1, type->size);
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, back, &count, type->number));
    need_same(type, values, back, 0, "unpacking");
    EXPECT_ERROR(PMIx_Data_unpack(NULL, buffer, back, &count, type->number));
}

/* PMIx_Data_copy takes and returns a string as a char *, other types by their address. */
static void* argument_of(const struct type* type, void* place) {
    return type->number == PMIX_STRING ? *(void**)place : place;
}

void check_copy(const struct type* type) {
    start();
    char* values = make_all(type);
    for (int i = 0; i < kValues; ++i) {
        void* place = values + (size_t)i * type->size;
        char* kept = calloc(1, type->size);
        type->make(kept, i);
        void* copy = NULL;
        EXPECT_OK(PMIx_Data_copy(&copy, argument_of(type, place), type->number));
        EXPECT(copy != NULL);
        EXPECT(copy != argument_of(type, place));
        memset(place, 0x5a, type->size);
        need_same(type, kept, type->number == PMIX_STRING ? (void*)&copy : copy, i, "copying");
    }
}

void check_print(const struct type* type) {
    start();
    char* values = make_all(type);
    for (int i = 0; i < kValues; ++i) {
        void* place = values + (size_t)i * type->size;
        char* text = NULL;
        EXPECT_OK(PMIx_Data_print(&text, "conformance-prefix ", argument_of(type, place), type->number));
        EXPECT(text != NULL);
        if (strncmp(text, "conformance-prefix ", 19) != 0)
            failed("%s: the text of value %d does not begin with the prefix: %.60s", type->name, i, text);
        EXPECT(strlen(text) > 19);
        free(text);
        text = NULL;
        EXPECT_OK(PMIx_Data_print(&text, NULL, argument_of(type, place), type->number));
        EXPECT(text != NULL);
        free(text);
    }
}

void check_array(const struct type* type) {
    start();
    pmix_data_array_t array = {type->number, kValues, make_all(type)};
    pmix_data_buffer_t* buffer;
    PMIX_DATA_BUFFER_CREATE(buffer);
    EXPECT_OK(PMIx_Data_pack(NULL, buffer, &array, 1, PMIX_DATA_ARRAY));
    pmix_data_array_t back = {PMIX_UNDEF, 0, NULL};
    int32_t count = 1;
    EXPECT_OK(PMIx_Data_unpack(NULL, buffer, &back, &count, PMIX_DATA_ARRAY));
    pmix_data_array_t* copy = NULL;
    EXPECT_OK(PMIx_Data_copy((void**)&copy, &array, PMIX_DATA_ARRAY));
    const pmix_data_array_t* arrays[] = {&back, copy};
    for (int k = 0; k < 2; ++k) {
        EXPECT(arrays[k] != NULL);
        EXPECT_INT(type->number, arrays[k]->type);
        EXPECT_INT(kValues, arrays[k]->size);
        EXPECT(arrays[k]->array != array.array);
        for (int i = 0; i < kValues; ++i) {
            need_same(type, (char*)array.array + (size_t)i * type->size,
                      (char*)arrays[k]->array + (size_t)i * type->size, i, k == 0 ? "unpacking" : "copying");
        }
    }
}

static void* place_in(const struct type* type, pmix_value_t* value) {
    return type->by_pointer ? (void*)value->data.proc : (void*)&value->data;
}

static void need_value(const struct type* type, pmix_value_t* value, int i, const char* after) {
    EXPECT_INT(type->number, value->type);
    char* wanted = calloc(1, type->size);
    type->make(wanted, i);
    need_same(type, wanted, place_in(type, value), i, after);
}

static void load(const struct type* type, pmix_value_t* value, int i) {
    memset(value, 0, sizeof(*value));
    char* place = calloc(1, type->size);
    type->make(place, i);
    PMIX_VALUE_LOAD(value, argument_of(type, place), type->number);
    if (type->number == PMIX_STRING && strlen(*(char**)place) > 0) **(char**)place = '#';
    memset(place, 0x5a, type->size);
    free(place);
}

void check_load(const struct type* type) {
    start();
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t value;
        load(type, &value, i);
        need_value(type, &value, i, "loading");
        PMIX_VALUE_DESTRUCT(&value);
    }
}

void check_xfer(const struct type* type) {
    start();
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t value, copy;
        load(type, &value, i);
        memset(&copy, 0, sizeof(copy));
        EXPECT_OK(PMIx_Value_xfer(&copy, &value));
        PMIX_VALUE_DESTRUCT(&value);
        need_value(type, &copy, i, "PMIx_Value_xfer");
        PMIX_VALUE_DESTRUCT(&copy);
    }
}

void check_unload(const struct type* type) {
    start();
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t value;
        load(type, &value, i);
        char* wanted = calloc(1, type->size);
        type->make(wanted, i);
        void* data = NULL;
        size_t size = 0;
        EXPECT_OK(PMIx_Value_unload(&value, &data, &size));
        need_value(type, &value, i, "PMIx_Value_unload of another copy");
        PMIX_VALUE_DESTRUCT(&value);
        if (type->number == PMIX_BYTE_OBJECT) {
            /* Either the bytes themselves and their number, or the object: the samples have other sizes. */
            pmix_byte_object_t bytes = {data, size};
            need_same(type, wanted, size == sizeof(bytes) ? data : &bytes, i, "PMIx_Value_unload");
        } else {
            need_same(type, wanted, type->number == PMIX_STRING ? (void*)&data : data, i, "PMIx_Value_unload");
            if (type->number != PMIX_STRING) EXPECT(size > 0);
        }
    }
}

void check_info(const struct type* type) {
    start();
    for (int i = 0; i < kValues; ++i) {
        char* place = calloc(1, type->size);
        type->make(place, i);
        pmix_info_t info, copy;
        memset(&info, 0, sizeof(info));
        memset(&copy, 0, sizeof(copy));
        PMIX_INFO_LOAD(&info, "conformance.key", argument_of(type, place), type->number);
        EXPECT_STRING("conformance.key", info.key);
        need_value(type, &info.value, i, "PMIx_Info_load");
        PMIX_INFO_REQUIRED(&info);
        EXPECT_OK(PMIx_Info_xfer(&copy, &info));
        PMIX_INFO_DESTRUCT(&info);
        EXPECT_STRING("conformance.key", copy.key);
        EXPECT(PMIX_INFO_IS_REQUIRED(&copy));
        need_value(type, &copy.value, i, "PMIx_Info_xfer");
        PMIX_INFO_DESTRUCT(&copy);
    }
}

void check_store(const struct type* type) {
    pmix_proc_t other = proc_of(me.nspace, 7);
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t value, *back = NULL;
        load(type, &value, i);
        EXPECT_OK(PMIx_Store_internal(&other, "conformance.stored", &value));
        PMIX_VALUE_DESTRUCT(&value);
        pmix_info_t optional = info_true(PMIX_OPTIONAL);
        EXPECT_OK(PMIx_Get(&other, "conformance.stored", &optional, 1, &back));
        need_value(type, back, i, "PMIx_Store_internal");
        PMIX_VALUE_RELEASE(back);
    }
}

void check_get(const struct type* type) {
    char key[40];
    for (int i = 0; my_rank == 0 && i < kValues; ++i) {
        pmix_value_t value;
        load(type, &value, i);
        snprintf(key, sizeof(key), "value-%d", i);
        EXPECT_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
        PMIX_VALUE_DESTRUCT(&value);
    }
    EXPECT_OK(PMIx_Commit());
    barrier(true);
    pmix_proc_t poster = proc_of(me.nspace, 0);
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t* back = NULL;
        snprintf(key, sizeof(key), "value-%d", i);
        EXPECT_OK(PMIx_Get(&poster, key, NULL, 0, &back));
        need_value(type, back, i, "PMIx_Get");
        PMIX_VALUE_RELEASE(back);
    }
}

#ifdef HAVE_PMIx_Value_get_size
void check_size(const struct type* type) {
    start();
    for (int i = 0; i < kValues; ++i) {
        pmix_value_t value;
        load(type, &value, i);
        size_t size = 0;
        EXPECT_OK(PMIx_Value_get_size(&value, &size));
        size_t least = type->size;
        if (type->number == PMIX_STRING) least = strlen(value.data.string);
        if (type->number == PMIX_BYTE_OBJECT) least = value.data.bo.size;
        if (type->number == PMIX_ENVAR || type->by_pointer) least = 1;
        if (size < least) failed("%s: size %zu of value %d, expected %zu at least", type->name, size, i, least);
    }
}
#endif
