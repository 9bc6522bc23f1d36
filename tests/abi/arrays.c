/* SPDX-License-Identifier: BSD-3-Clause */
/* Data arrays as old binaries make them: built by the macros of the headers it is compiled with (release 4.2.2's make
 * the memory themselves), handed to the library, which may not read a byte behind them. Each array ends where a page
 * ends that nobody may touch, so an element taken for larger than it is ends this program.
 *
 * Types that release 4.2.2's macro does not know come out as an array of none, and are left out. So is PMIX_POINTER:
 * that macro makes one byte for each pointer, which its own library reads beyond as ours would; arrays that have space
 * for their pointers are tested at the end. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void* guarded(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), space = (size + page - 1) / page * page;
    char* all = mmap(NULL, space + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED || mprotect(all + space, page, PROT_NONE) != 0) abort();
    return all + space - size;
}
static void* guarded_calloc(size_t n, size_t size) {
    return guarded(n * size);
}

/* From here on the headers' own allocations are guarded. What they make is never freed. */
#define malloc guarded
#define calloc guarded_calloc
#include <pmix.h>
#undef malloc
#undef calloc

static int failed;

#define CHECK(condition)                                                                        \
    do {                                                                                        \
        if (!(condition)) printf("%s: %s (line %d)\n", name, #condition, __LINE__), failed = 1; \
    } while (0)

enum { COUNT = 5 };

/* Copied and compared in every way there is for an array; `bytes` of it, 0: not numbers. */
static void pass_on(const char* name, pmix_data_array_t* array, size_t bytes) {
    pmix_value_t value, copy;
    pmix_info_t info, other;
    pmix_data_buffer_t packed;
    memset(&value, 0, sizeof value);
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = array;
    CHECK(PMIx_Value_xfer(&copy, &value) == PMIX_SUCCESS);
    CHECK(copy.type == PMIX_DATA_ARRAY && copy.data.darray->size == COUNT && copy.data.darray->type == array->type);
    if (bytes) CHECK(memcmp(copy.data.darray->array, array->array, bytes) == 0);
    PMIX_VALUE_DESTRUCT(&copy);

    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, "an.array", array, PMIX_DATA_ARRAY);
    CHECK(info.value.type == PMIX_DATA_ARRAY && info.value.data.darray->size == COUNT);
    PMIX_INFO_CONSTRUCT(&other);
    PMIX_INFO_XFER(&other, &info);
    CHECK(other.value.type == PMIX_DATA_ARRAY && other.value.data.darray->size == COUNT);
    PMIX_INFO_DESTRUCT(&other);
    PMIX_INFO_DESTRUCT(&info);

    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    pmix_status_t status = PMIx_Data_pack(NULL, &packed, &value, 1, PMIX_VALUE);
    CHECK(status == PMIX_SUCCESS || status == PMIX_ERR_NOT_SUPPORTED);
    int32_t one = 1;
    if (status == PMIX_SUCCESS && bytes && array->type != PMIX_POINTER) {
        memset(&copy, 0, sizeof copy);
        CHECK(PMIx_Data_unpack(NULL, &packed, &copy, &one, PMIX_VALUE) == PMIX_SUCCESS);
        CHECK(copy.type == PMIX_DATA_ARRAY && memcmp(copy.data.darray->array, array->array, bytes) == 0);
        PMIX_VALUE_DESTRUCT(&copy);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&packed);

    char* text = NULL;
    CHECK(PMIx_Data_print(&text, NULL, &value, PMIX_VALUE) == PMIX_SUCCESS);
    free(text);
}

/* `element` is what the type is in these headers; 0: a struct, left as it was constructed. */
static void try_type(const char* name, pmix_data_type_t type, size_t element) {
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, COUNT, type);
    if (array.array == NULL) return;
    for (size_t i = 0; i < COUNT * element; i++)
        ((unsigned char*)array.array)[i] = type == PMIX_BOOL ? i & 1 : (unsigned char)(i % 100 + 1);
    pass_on(name, &array, COUNT * element);
}

int main(void) {
#define NUMBERS(ID, T) try_type(#ID, ID, sizeof(T))
#define STRUCTS(ID) try_type(#ID, ID, 0)
    NUMBERS(PMIX_BOOL, bool);
    NUMBERS(PMIX_BYTE, uint8_t);
    NUMBERS(PMIX_SIZE, size_t);
    NUMBERS(PMIX_PID, pid_t);
    NUMBERS(PMIX_INT, int);
    NUMBERS(PMIX_INT8, int8_t);
    NUMBERS(PMIX_INT16, int16_t);
    NUMBERS(PMIX_INT32, int32_t);
    NUMBERS(PMIX_INT64, int64_t);
    NUMBERS(PMIX_UINT, unsigned);
    NUMBERS(PMIX_UINT8, uint8_t);
    NUMBERS(PMIX_UINT16, uint16_t);
    NUMBERS(PMIX_UINT32, uint32_t);
    NUMBERS(PMIX_UINT64, uint64_t);
    NUMBERS(PMIX_FLOAT, float);
    NUMBERS(PMIX_DOUBLE, double);
    NUMBERS(PMIX_TIME, time_t);
    NUMBERS(PMIX_STATUS, pmix_status_t);
    NUMBERS(PMIX_PERSIST, pmix_persistence_t);
    NUMBERS(PMIX_SCOPE, pmix_scope_t);
    NUMBERS(PMIX_DATA_RANGE, pmix_data_range_t);
    NUMBERS(PMIX_INFO_DIRECTIVES, pmix_info_directives_t);
    NUMBERS(PMIX_DATA_TYPE, pmix_data_type_t);
    NUMBERS(PMIX_PROC_STATE, pmix_proc_state_t);
    NUMBERS(PMIX_PROC_RANK, pmix_rank_t);
    NUMBERS(PMIX_ALLOC_DIRECTIVE, pmix_alloc_directive_t);
    NUMBERS(PMIX_IOF_CHANNEL, pmix_iof_channel_t);
    NUMBERS(PMIX_JOB_STATE, pmix_job_state_t);
    NUMBERS(PMIX_LINK_STATE, pmix_link_state_t);
    NUMBERS(PMIX_DEVTYPE, pmix_device_type_t);
    NUMBERS(PMIX_LOCTYPE, pmix_locality_t);
    STRUCTS(PMIX_TIMEVAL);
    STRUCTS(PMIX_STRING);
    STRUCTS(PMIX_VALUE);
    STRUCTS(PMIX_PROC);
    STRUCTS(PMIX_APP);
    STRUCTS(PMIX_INFO);
    STRUCTS(PMIX_PDATA);
    STRUCTS(PMIX_BYTE_OBJECT);
    STRUCTS(PMIX_COMPRESSED_STRING);
    STRUCTS(PMIX_PROC_INFO);
    STRUCTS(PMIX_QUERY);
    STRUCTS(PMIX_ENVAR);
    STRUCTS(PMIX_COORD);
    STRUCTS(PMIX_REGATTR);
    STRUCTS(PMIX_PROC_CPUSET);
    STRUCTS(PMIX_GEOMETRY);
    STRUCTS(PMIX_DEVICE_DIST);
    STRUCTS(PMIX_ENDPOINT);
    STRUCTS(PMIX_PROC_NSPACE);
#ifdef PMIX_PROC_STATS /* gone in 6.0 */
    STRUCTS(PMIX_PROC_STATS);
    STRUCTS(PMIX_DISK_STATS);
    STRUCTS(PMIX_NET_STATS);
    STRUCTS(PMIX_NODE_STATS);
#endif

    int here;
    pmix_data_array_t pointers = {.type = PMIX_POINTER, .size = COUNT, .array = guarded(COUNT * sizeof(void*))};
    for (size_t i = 0; i < COUNT; i++) ((void**)pointers.array)[i] = i % 2 ? (void*)&here : NULL;
    pass_on("PMIX_POINTER", &pointers, COUNT * sizeof(void*));
    return failed;
}
