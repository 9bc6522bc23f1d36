/* SPDX-License-Identifier: BSD-3-Clause */
/* A data type as the rows of types.c see it, and the rows that each type has. */
#ifndef CONFORMANCE_TYPES_H
#define CONFORMANCE_TYPES_H

#include "check.h"

struct type {
    pmix_data_type_t number;
    const char* name;
    size_t size;
    void (*make)(void* place, int variant); /* three different values: variants 0, 1 and 2 */
    bool (*same)(const void* one, const void* other);
    bool by_pointer; /* a pmix_value_t has a pointer to it */
};

void check_pack(const struct type* type);
void check_pack_mixed(const struct type* type);
void check_copy(const struct type* type);
void check_print(const struct type* type);
void check_array(const struct type* type);
void check_load(const struct type* type);
void check_xfer(const struct type* type);
void check_unload(const struct type* type);
void check_info(const struct type* type);
void check_get(const struct type* type);
void check_store(const struct type* type);
void check_size(const struct type* type);

#define PACK "Data Packing and Unpacking / PMIx_Data_pack, PMIx_Data_unpack"
#define STRUCTURES "Data Structures and Types / "

#define ROWS_OF_DATA(name, TYPE, ...)                                                                              \
    ROW(name##_pack, PACK, "Three " #TYPE " are unpacked as they were packed, twice from the same buffer",         \
        __VA_ARGS__) {                                                                                             \
        check_pack(&type_##name);                                                                                  \
    }                                                                                                              \
    ROW(name##_pack_mixed, PACK, #TYPE " between other types is unpacked in the order of packing", __VA_ARGS__) {  \
        check_pack_mixed(&type_##name);                                                                            \
    }                                                                                                              \
    ROW(name##_copy, "Data Packing and Unpacking / PMIx_Data_copy",                                                \
        "The copy of a " #TYPE " is equal and independent of the original", __VA_ARGS__) {                         \
        check_copy(&type_##name);                                                                                  \
    }                                                                                                              \
    ROW(name##_print, "Data Packing and Unpacking / PMIx_Data_print",                                              \
        "A " #TYPE " has a text, which begins with the prefix", __VA_ARGS__) {                                     \
        check_print(&type_##name);                                                                                 \
    }                                                                                                              \
    ROW(name##_array, STRUCTURES "pmix_data_array_t", "An array of " #TYPE " travels through a buffer and a copy", \
        __VA_ARGS__) {                                                                                             \
        check_array(&type_##name);                                                                                 \
    }

#ifdef HAVE_PMIx_Value_get_size
#define ROW_OF_SIZE(name, TYPE, ...)                                                    \
    ROW(name##_size, STRUCTURES "PMIx_Value_get_size",                                  \
        "The size of a value of " #TYPE " is at least that of its data", __VA_ARGS__) { \
        check_size(&type_##name);                                                       \
    }
#else
#define ROW_OF_SIZE(name, TYPE, ...)                   \
    ROW(name##_size, STRUCTURES "PMIx_Value_get_size", \
        "The size of a value of " #TYPE " is at least that of its data", .absent = true) {}
#endif

#define ROWS_OF_VALUE(name, TYPE, ...)                                                                              \
    ROWS_OF_DATA(name, TYPE, __VA_ARGS__)                                                                           \
    ROW(name##_load, STRUCTURES "PMIx_Value_load", "A value of " #TYPE " has a copy of what was loaded",            \
        __VA_ARGS__) {                                                                                              \
        check_load(&type_##name);                                                                                   \
    }                                                                                                               \
    ROW(name##_xfer, STRUCTURES "PMIx_Value_xfer", "The copy of a value of " #TYPE " is independent of the source", \
        __VA_ARGS__) {                                                                                              \
        check_xfer(&type_##name);                                                                                   \
    }                                                                                                               \
    ROW(name##_unload, STRUCTURES "PMIx_Value_unload",                                                              \
        "Memory with a copy of a " #TYPE " is returned, the value stays as it is", __VA_ARGS__) {                   \
        check_unload(&type_##name);                                                                                 \
    }                                                                                                               \
    ROW(name##_info, STRUCTURES "PMIx_Info_load, PMIx_Info_xfer",                                                   \
        "An info with a " #TYPE " is loaded and copied with its key", __VA_ARGS__) {                                \
        check_info(&type_##name);                                                                                   \
    }                                                                                                               \
    ROW(name##_store, "Data Access and Sharing / PMIx_Store_internal",                                              \
        "A stored " #TYPE " is returned to the same process", .ranks = 1, __VA_ARGS__) {                            \
        check_store(&type_##name);                                                                                  \
    }                                                                                                               \
    ROW(name##_get, "Data Access and Sharing / PMIx_Put, PMIx_Get",                                                 \
        "A " #TYPE " that one process posts is read by another with its type", .ranks = 2, __VA_ARGS__) {           \
        check_get(&type_##name);                                                                                    \
    }                                                                                                               \
    ROW_OF_SIZE(name, TYPE, __VA_ARGS__)

/* A type that the headers lack: its rows are there as "absent". */
#define NO_TYPE(rows, name, TYPE)         \
    static const struct type type_##name; \
    rows(name, TYPE, .absent = true)

#define SCALAR(rows, name, TYPE, c_type, first, second, third)                                             \
    static void make_##name(void* place, int variant) {                                                    \
        const c_type values[] = {first, second, third};                                                    \
        *(c_type*)place = values[variant];                                                                 \
    }                                                                                                      \
    static bool same_##name(const void* one, const void* other) {                                          \
        return *(const c_type*)one == *(const c_type*)other;                                               \
    }                                                                                                      \
    static const struct type type_##name = {TYPE, #TYPE, sizeof(c_type), make_##name, same_##name, false}; \
    rows(name, TYPE)

/* make_NAME and same_NAME stand above. */
#define STRUCTURE(rows, name, TYPE, c_type, by_pointer)                                                         \
    static const struct type type_##name = {TYPE, #TYPE, sizeof(c_type), make_##name, same_##name, by_pointer}; \
    rows(name, TYPE)

#endif
