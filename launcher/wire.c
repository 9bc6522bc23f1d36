/* SPDX-License-Identifier: BSD-3-Clause */
/* One function encodes an element of any usual type; values, arrays and infos are made of elements. Rare types are
 * packed by the library. */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Arrays within arrays, as many as the library has: deeper ones are refused, not followed down the stack. */
enum { MAX_DEPTH = 32 };

static _Noreturn void no_memory(void) {
    fputs("pmixrun: out of memory\n", stderr);
    _Exit(1);
}

void* xcalloc(size_t count, size_t size) {
    void* block = calloc(count ? count : 1, size ? size : 1);
    if (!block) no_memory();
    return block;
}

void* xrealloc(void* block, size_t size) {
    block = realloc(block, size ? size : 1);
    if (!block) no_memory();
    return block;
}

char* xstrdup(const char* text) {
    size_t size = strlen(text) + 1;
    return memcpy(xcalloc(size, 1), text, size);
}

/* --- bytes -------------------------------------------------------------------------------------------------------- */

void wire_free(struct buffer* b) {
    free(b->data);
    memset(b, 0, sizeof *b);
}

void wire_append(struct buffer* b, const void* bytes, size_t size) {
    if (size > b->capacity - b->size) {
        b->capacity = (b->size + size) * 2 + 64;
        b->data = xrealloc(b->data, b->capacity);
    }
    if (size) memcpy(b->data + b->size, bytes, size);
    b->size += size;
}

void wire_consume(struct buffer* b, size_t size) {
    if (size) memmove(b->data, b->data + size, b->size - size);
    b->size -= size;
}

struct buffer wire_view(const void* bytes, size_t size) {
    return (struct buffer){.data = (uint8_t*)(uintptr_t)bytes, .size = size};
}

static void read_bytes(struct buffer* b, void* bytes, size_t size) {
    if (b->bad || size > b->size - b->position) {
        b->bad = true;
        memset(bytes, 0, size);
        return;
    }
    if (size) memcpy(bytes, b->data + b->position, size);
    b->position += size;
}

/* A count of things that take at least one byte each: reject a count above the bytes that remain. */
static size_t read_count(struct buffer* b) {
    uint64_t count = wire_get_u64(b);
    if (b->bad || count > b->size - b->position) {
        b->bad = true;
        return 0;
    }
    return (size_t)count;
}

void wire_put_u8(struct buffer* b, uint8_t number) {
    wire_append(b, &number, sizeof number);
}
void wire_put_u32(struct buffer* b, uint32_t number) {
    wire_append(b, &number, sizeof number);
}
void wire_put_u64(struct buffer* b, uint64_t number) {
    wire_append(b, &number, sizeof number);
}

uint8_t wire_get_u8(struct buffer* b) {
    uint8_t number;
    read_bytes(b, &number, sizeof number);
    return number;
}

uint32_t wire_get_u32(struct buffer* b) {
    uint32_t number;
    read_bytes(b, &number, sizeof number);
    return number;
}

uint64_t wire_get_u64(struct buffer* b) {
    uint64_t number;
    read_bytes(b, &number, sizeof number);
    return number;
}

void wire_put_bytes(struct buffer* b, const void* bytes, size_t size) {
    wire_put_u64(b, size);
    wire_append(b, bytes, size);
}

struct buffer wire_get_view(struct buffer* b) {
    size_t size = read_count(b);
    struct buffer view = wire_view(b->data ? b->data + b->position : NULL, size);
    b->position += size;
    return view;
}

/* --- strings, processes ------------------------------------------------------------------------------------------- */

void wire_put_string(struct buffer* b, const char* text) {
    wire_put_u8(b, text != NULL);
    if (text) wire_put_bytes(b, text, strlen(text));
}

char* wire_get_string(struct buffer* b) {
    if (!wire_get_u8(b)) return NULL;
    struct buffer view = wire_get_view(b);
    char* text = xcalloc(view.size + 1, 1);
    if (view.size) memcpy(text, view.data, view.size);
    return text;
}

size_t strings_count(char* const* list) {
    size_t count = 0;
    while (list && list[count]) count++;
    return count;
}

void strings_free(char** list) {
    for (size_t i = 0; list && list[i]; i++) free(list[i]);
    free(list);
}

void wire_put_strings(struct buffer* b, char* const* list) {
    size_t count = strings_count(list);
    wire_put_u64(b, count);
    for (size_t i = 0; i < count; i++) wire_put_string(b, list[i]);
}

char** wire_get_strings(struct buffer* b) {
    size_t count = read_count(b), filled = 0;
    char** list = xcalloc(count + 1, sizeof *list);
    for (size_t i = 0; i < count; i++) {
        list[filled] = wire_get_string(b);
        if (list[filled]) filled++;
    }
    return list;
}

void wire_put_proc(struct buffer* b, const pmix_proc_t* proc) {
    char nspace[PMIX_MAX_NSLEN + 1] = "";
    memcpy(nspace, proc->nspace, PMIX_MAX_NSLEN);
    wire_put_string(b, nspace);
    wire_put_u32(b, proc->rank);
}

void wire_get_proc(struct buffer* b, pmix_proc_t* proc) {
    memset(proc, 0, sizeof *proc);
    char* nspace = wire_get_string(b);
    if (nspace) snprintf(proc->nspace, sizeof proc->nspace, "%s", nspace);
    free(nspace);
    proc->rank = wire_get_u32(b);
}

void wire_put_procs(struct buffer* b, const pmix_proc_t* procs, size_t count) {
    wire_put_u64(b, count);
    for (size_t i = 0; i < count; i++) wire_put_proc(b, &procs[i]);
}

pmix_proc_t* wire_get_procs(struct buffer* b, size_t* count) {
    *count = read_count(b);
    pmix_proc_t* procs = xcalloc(*count, sizeof *procs);
    for (size_t i = 0; i < *count; i++) wire_get_proc(b, &procs[i]);
    return procs;
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* Types without pointers, stored as they are in memory; 0 for all others. */
static size_t flat_size(pmix_data_type_t type) {
    switch (type) {
        case PMIX_BOOL:
            return sizeof(bool);
        case PMIX_BYTE:
        case PMIX_INT8:
        case PMIX_UINT8:
            return 1;
        case PMIX_INT16:
        case PMIX_UINT16:
            return 2;
        case PMIX_INT32:
        case PMIX_UINT32:
            return 4;
        case PMIX_INT64:
        case PMIX_UINT64:
            return 8;
        case PMIX_INT:
        case PMIX_UINT:
            return sizeof(int);
        case PMIX_SIZE:
            return sizeof(size_t);
        case PMIX_PID:
            return sizeof(pid_t);
        case PMIX_FLOAT:
            return sizeof(float);
        case PMIX_DOUBLE:
            return sizeof(double);
        case PMIX_TIMEVAL:
            return sizeof(struct timeval);
        case PMIX_TIME:
            return sizeof(time_t);
        case PMIX_STATUS:
            return sizeof(pmix_status_t);
        case PMIX_PROC_RANK:
            return sizeof(pmix_rank_t);
        case PMIX_PERSIST:
            return sizeof(pmix_persistence_t);
        case PMIX_SCOPE:
            return sizeof(pmix_scope_t);
        case PMIX_DATA_RANGE:
            return sizeof(pmix_data_range_t);
        case PMIX_PROC_STATE:
            return sizeof(pmix_proc_state_t);
        case PMIX_JOB_STATE:
            return sizeof(pmix_job_state_t);
        case PMIX_LINK_STATE:
            return sizeof(pmix_link_state_t);
        case PMIX_ALLOC_DIRECTIVE:
            return sizeof(pmix_alloc_directive_t);
        case PMIX_INFO_DIRECTIVES:
            return sizeof(pmix_info_directives_t);
        case PMIX_DATA_TYPE:
            return sizeof(pmix_data_type_t);
        case PMIX_IOF_CHANNEL:
            return sizeof(pmix_iof_channel_t);
        case PMIX_LOCTYPE:
            return sizeof(pmix_locality_t);
        case PMIX_DEVTYPE:
            return sizeof(pmix_device_type_t);
        default:
            return 0;
    }
}

static size_t element_size(pmix_data_type_t type) {
    switch (type) {
        case PMIX_STRING:
            return sizeof(char*);
        case PMIX_BYTE_OBJECT:
        case PMIX_REGEX:
        case PMIX_COMPRESSED_STRING:
        case PMIX_COMPRESSED_BYTE_OBJECT:
            return sizeof(pmix_byte_object_t);
        case PMIX_PROC:
            return sizeof(pmix_proc_t);
        case PMIX_PROC_NSPACE:
            return sizeof(pmix_nspace_t);
        case PMIX_PROC_INFO:
            return sizeof(pmix_proc_info_t);
        case PMIX_ENVAR:
            return sizeof(pmix_envar_t);
        case PMIX_INFO:
            return sizeof(pmix_info_t);
        case PMIX_VALUE:
            return sizeof(pmix_value_t);
        case PMIX_DATA_ARRAY:
            return sizeof(pmix_data_array_t);
        default:
            return flat_size(type);
    }
}

/* In a value these types are held by pointer; in an array they follow each other. */
static bool held_by_pointer(pmix_data_type_t type) {
    return type == PMIX_PROC || type == PMIX_PROC_NSPACE || type == PMIX_PROC_INFO || type == PMIX_DATA_ARRAY;
}

static bool put_value(struct buffer* b, const pmix_value_t* value, int depth);
static void get_value(struct buffer* b, pmix_value_t* value, int depth);

static bool put_element(struct buffer* b, pmix_data_type_t type, const void* element, int depth) {
    size_t flat = flat_size(type);
    if (flat) {
        wire_append(b, element, flat);
        return true;
    }
    switch (type) {
        case PMIX_STRING:
            wire_put_string(b, *(char* const*)element);
            return true;
        case PMIX_BYTE_OBJECT:
        case PMIX_REGEX:
        case PMIX_COMPRESSED_STRING:
        case PMIX_COMPRESSED_BYTE_OBJECT: {
            const pmix_byte_object_t* object = element;
            wire_put_bytes(b, object->bytes, object->bytes ? object->size : 0);
            return true;
        }
        case PMIX_PROC:
            wire_put_proc(b, element);
            return true;
        case PMIX_PROC_NSPACE:
            wire_append(b, element, sizeof(pmix_nspace_t));
            return true;
        case PMIX_PROC_INFO: {
            const pmix_proc_info_t* info = element;
            wire_put_proc(b, &info->proc);
            wire_put_string(b, info->hostname);
            wire_put_string(b, info->executable_name);
            wire_put_u32(b, (uint32_t)info->pid);
            wire_put_u32(b, (uint32_t)info->exit_code);
            wire_put_u32(b, info->state);
            return true;
        }
        case PMIX_ENVAR: {
            const pmix_envar_t* envar = element;
            wire_put_string(b, envar->envar);
            wire_put_string(b, envar->value);
            wire_put_u8(b, (uint8_t)envar->separator);
            return true;
        }
        case PMIX_INFO: {
            const pmix_info_t* info = element;
            wire_put_string(b, info->key);
            wire_put_u32(b, info->flags);
            return put_value(b, &info->value, depth);
        }
        case PMIX_VALUE:
            return put_value(b, element, depth);
        case PMIX_DATA_ARRAY: {
            const pmix_data_array_t* array = element;
            size_t step = element_size(array->type), count = array->array ? array->size : 0;
            if (depth >= MAX_DEPTH || (step == 0 && count > 0)) return false;
            wire_put_u32(b, array->type);
            wire_put_u64(b, count);
            for (size_t i = 0; i < count; i++) {
                if (!put_element(b, array->type, (const char*)array->array + i * step, depth + 1)) return false;
            }
            return true;
        }
        default:
            return false;
    }
}

static void get_element(struct buffer* b, pmix_data_type_t type, void* element, int depth) {
    size_t flat = flat_size(type);
    if (flat) {
        read_bytes(b, element, flat);
        return;
    }
    switch (type) {
        case PMIX_STRING:
            *(char**)element = wire_get_string(b);
            break;
        case PMIX_BYTE_OBJECT:
        case PMIX_REGEX:
        case PMIX_COMPRESSED_STRING:
        case PMIX_COMPRESSED_BYTE_OBJECT: {
            struct buffer view = wire_get_view(b);
            pmix_byte_object_t* object = element;
            object->size = view.size;
            object->bytes = view.size ? memcpy(xcalloc(view.size, 1), view.data, view.size) : NULL;
            break;
        }
        case PMIX_PROC:
            wire_get_proc(b, element);
            break;
        case PMIX_PROC_NSPACE:
            read_bytes(b, element, sizeof(pmix_nspace_t));
            break;
        case PMIX_PROC_INFO: {
            pmix_proc_info_t* info = element;
            wire_get_proc(b, &info->proc);
            info->hostname = wire_get_string(b);
            info->executable_name = wire_get_string(b);
            info->pid = (pid_t)wire_get_u32(b);
            info->exit_code = (int)wire_get_u32(b);
            info->state = (pmix_proc_state_t)wire_get_u32(b);
            break;
        }
        case PMIX_ENVAR: {
            pmix_envar_t* envar = element;
            envar->envar = wire_get_string(b);
            envar->value = wire_get_string(b);
            envar->separator = (char)wire_get_u8(b);
            break;
        }
        case PMIX_INFO: {
            pmix_info_t* info = element;
            char* key = wire_get_string(b);
            snprintf(info->key, sizeof info->key, "%s", key ? key : "");
            free(key);
            info->flags = wire_get_u32(b);
            get_value(b, &info->value, depth);
            break;
        }
        case PMIX_VALUE:
            get_value(b, element, depth);
            break;
        case PMIX_DATA_ARRAY: {
            pmix_data_array_t* array = element;
            array->type = (pmix_data_type_t)wire_get_u32(b);
            array->size = read_count(b);
            size_t step = element_size(array->type);
            if (depth >= MAX_DEPTH || (step == 0 && array->size > 0)) {
                b->bad = true;
                array->size = 0;
            }
            array->array = array->size ? xcalloc(array->size, step) : NULL;
            for (size_t i = 0; i < array->size; i++) {
                get_element(b, array->type, (char*)array->array + i * step, depth + 1);
            }
            break;
        }
        default:
            b->bad = true;
    }
}

/* What has no encoding here goes as the library packs it, behind a number that is no type. A topology does not: the
 * receiver may have no hwloc in use. */
static const uint32_t packed_value = UINT32_MAX;

static bool is_ours(pmix_data_type_t type, const void* element, int depth) {
    if (element_size(type) == 0) return false;
    if (type != PMIX_DATA_ARRAY || !element || depth >= MAX_DEPTH) return true;
    const pmix_data_array_t* array = element;
    size_t count = array->array ? array->size : 0, step = element_size(array->type);
    bool ours = count == 0 || step > 0;
    for (size_t i = 0; array->type == PMIX_DATA_ARRAY && ours && i < count; i++) {
        ours = is_ours(PMIX_DATA_ARRAY, (const char*)array->array + i * step, depth + 1);
    }
    return ours;
}

static bool put_packed(struct buffer* b, const pmix_value_t* value) {
    pmix_data_buffer_t packed;
    bool topology = value->type == PMIX_TOPO ||
                    (value->type == PMIX_DATA_ARRAY && value->data.darray && value->data.darray->type == PMIX_TOPO);
    if (topology) return false;
    PMIX_DATA_BUFFER_CONSTRUCT(&packed);
    bool good = PMIx_Data_pack(NULL, &packed, (void*)(uintptr_t)value, 1, PMIX_VALUE) == PMIX_SUCCESS;
    if (good) {
        wire_put_u32(b, packed_value);
        wire_put_bytes(b, packed.base_ptr, packed.bytes_used);
    }
    PMIX_DATA_BUFFER_DESTRUCT(&packed);
    return good;
}

static void get_packed(struct buffer* b, pmix_value_t* value) {
    struct buffer view = wire_get_view(b);
    int32_t count = 1;
    char* bytes = (char*)view.data;
    pmix_data_buffer_t packed = {
        .base_ptr = bytes, .unpack_ptr = bytes, .bytes_allocated = view.size, .bytes_used = view.size};
    packed.pack_ptr = bytes ? bytes + view.size : NULL;
    if (!b->bad && PMIx_Data_unpack(NULL, &packed, value, &count, PMIX_VALUE) == PMIX_SUCCESS) return;
    memset(value, 0, sizeof *value);
    b->bad = true;
}

static bool put_value(struct buffer* b, const pmix_value_t* value, int depth) {
    const void* element = value->type == PMIX_DATA_ARRAY ? value->data.darray : NULL;
    if (value->type != PMIX_UNDEF && !is_ours(value->type, element, depth)) return put_packed(b, value);
    wire_put_u32(b, value->type);
    if (value->type == PMIX_UNDEF) return true;
    if (!held_by_pointer(value->type)) return put_element(b, value->type, &value->data, depth);
    wire_put_u8(b, value->data.ptr != NULL);
    return value->data.ptr ? put_element(b, value->type, value->data.ptr, depth) : true;
}

static void get_value(struct buffer* b, pmix_value_t* value, int depth) {
    memset(value, 0, sizeof *value);
    uint32_t number = wire_get_u32(b);
    pmix_data_type_t type = (pmix_data_type_t)number;
    if (number == packed_value) get_packed(b, value);
    if (number == packed_value || type == PMIX_UNDEF) return;
    if (element_size(type) == 0) {
        b->bad = true;
        return;
    }
    value->type = type;
    if (!held_by_pointer(type)) {
        get_element(b, type, &value->data, depth);
    } else if (wire_get_u8(b)) {
        value->data.ptr = xcalloc(1, element_size(type));
        get_element(b, type, value->data.ptr, depth);
    }
}

bool wire_put_value(struct buffer* b, const pmix_value_t* value) {
    return put_value(b, value, 0);
}
void wire_get_value(struct buffer* b, pmix_value_t* value) {
    get_value(b, value, 0);
}

bool wire_put_infos(struct buffer* b, const pmix_info_t* infos, size_t count) {
    wire_put_u64(b, count);
    for (size_t i = 0; i < count; i++) {
        if (!put_element(b, PMIX_INFO, &infos[i], 0)) return false;
    }
    return true;
}

pmix_info_t* wire_get_infos(struct buffer* b, size_t* count) {
    *count = read_count(b);
    pmix_info_t* infos = infos_new(*count);
    for (size_t i = 0; i < *count; i++) get_element(b, PMIX_INFO, &infos[i], 0);
    return infos;
}

/* --- info arrays -------------------------------------------------------------------------------------------------- */

pmix_info_t* infos_new(size_t count) {
    pmix_info_t* infos = NULL;
    if (count == 0) return NULL;
    PMIX_INFO_CREATE(infos, count);
    if (!infos) no_memory();
    return infos;
}

void infos_free(pmix_info_t* infos, size_t count) {
    if (infos) PMIX_INFO_FREE(infos, count);
}

const pmix_value_t* info_find(const pmix_info_t* infos, size_t count, const char* key) {
    for (size_t i = 0; i < count; i++) {
        if (strncmp(infos[i].key, key, PMIX_MAX_KEYLEN) == 0) return &infos[i].value;
    }
    return NULL;
}

bool info_true(const pmix_info_t* infos, size_t count, const char* key) {
    const pmix_value_t* value = info_find(infos, count, key);
    if (!value) return false;
    return value->type == PMIX_BOOL ? value->data.flag : value->type == PMIX_UNDEF; /* naming it is enough */
}

int64_t info_number(const pmix_info_t* infos, size_t count, const char* key, int64_t otherwise) {
    const pmix_value_t* value = info_find(infos, count, key);
    if (!value) return otherwise;
    switch (value->type) {
        case PMIX_INT:
            return value->data.integer;
        case PMIX_INT8:
            return value->data.int8;
        case PMIX_INT16:
            return value->data.int16;
        case PMIX_INT32:
            return value->data.int32;
        case PMIX_INT64:
            return value->data.int64;
        case PMIX_UINT:
            return value->data.uint;
        case PMIX_UINT8:
            return value->data.uint8;
        case PMIX_UINT16:
            return value->data.uint16;
        case PMIX_UINT32:
            return value->data.uint32;
        case PMIX_UINT64:
            return (int64_t)value->data.uint64;
        case PMIX_SIZE:
            return (int64_t)value->data.size;
        case PMIX_STATUS:
            return value->data.status;
        case PMIX_PROC_RANK:
            return value->data.rank;
        case PMIX_PERSIST:
            return value->data.persist;
        case PMIX_DATA_RANGE:
            return value->data.range;
        default:
            return otherwise;
    }
}

const char* info_string(const pmix_info_t* infos, size_t count, const char* key) {
    const pmix_value_t* value = info_find(infos, count, key);
    return value && value->type == PMIX_STRING ? value->data.string : NULL;
}
