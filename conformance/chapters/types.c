/* SPDX-License-Identifier: BSD-3-Clause */
/* Every data type: packing, copying, printing, values, and its way from one process to another. A scalar type is one
 * line. */
#include "types.h"

#include <limits.h>
#include <sys/time.h>
#include <time.h>

SCALAR(ROWS_OF_VALUE, boolean, PMIX_BOOL, bool, true, false, true)
SCALAR(ROWS_OF_VALUE, byte, PMIX_BYTE, uint8_t, 0, 0x7f, 0xff)
SCALAR(ROWS_OF_VALUE, size, PMIX_SIZE, size_t, 0, 1, SIZE_MAX)
SCALAR(ROWS_OF_VALUE, pid, PMIX_PID, pid_t, 1, 4711, INT_MAX)
SCALAR(ROWS_OF_VALUE, int, PMIX_INT, int, INT_MIN, 0, INT_MAX)
SCALAR(ROWS_OF_VALUE, int8, PMIX_INT8, int8_t, INT8_MIN, 0, INT8_MAX)
SCALAR(ROWS_OF_VALUE, int16, PMIX_INT16, int16_t, INT16_MIN, 0, INT16_MAX)
SCALAR(ROWS_OF_VALUE, int32, PMIX_INT32, int32_t, INT32_MIN, 0, INT32_MAX)
SCALAR(ROWS_OF_VALUE, int64, PMIX_INT64, int64_t, INT64_MIN, 0, INT64_MAX)
SCALAR(ROWS_OF_VALUE, uint, PMIX_UINT, unsigned int, 0, 1, UINT_MAX)
SCALAR(ROWS_OF_VALUE, uint8, PMIX_UINT8, uint8_t, 0, 1, UINT8_MAX)
SCALAR(ROWS_OF_VALUE, uint16, PMIX_UINT16, uint16_t, 0, 1, UINT16_MAX)
SCALAR(ROWS_OF_VALUE, uint32, PMIX_UINT32, uint32_t, 0, 1, UINT32_MAX)
SCALAR(ROWS_OF_VALUE, uint64, PMIX_UINT64, uint64_t, 0, 1, UINT64_MAX)
SCALAR(ROWS_OF_VALUE, float, PMIX_FLOAT, float, -1.5f, 0.0f, 1024.25f)
SCALAR(ROWS_OF_VALUE, double, PMIX_DOUBLE, double, -1.5, 0.0, 1048576.125)
SCALAR(ROWS_OF_VALUE, time, PMIX_TIME, time_t, 0, 1, 4102444800)
SCALAR(ROWS_OF_VALUE, status, PMIX_STATUS, pmix_status_t, PMIX_SUCCESS, PMIX_ERR_NOT_FOUND, -4000)
SCALAR(ROWS_OF_VALUE, rank, PMIX_PROC_RANK, pmix_rank_t, 0, PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF)
SCALAR(ROWS_OF_VALUE, persistence, PMIX_PERSIST, pmix_persistence_t, PMIX_PERSIST_INDEF, PMIX_PERSIST_FIRST_READ,
       PMIX_PERSIST_SESSION)
SCALAR(ROWS_OF_VALUE, scope, PMIX_SCOPE, pmix_scope_t, PMIX_LOCAL, PMIX_REMOTE, PMIX_INTERNAL)
SCALAR(ROWS_OF_VALUE, range, PMIX_DATA_RANGE, pmix_data_range_t, PMIX_RANGE_RM, PMIX_RANGE_SESSION, PMIX_RANGE_CUSTOM)
SCALAR(ROWS_OF_VALUE, proc_state, PMIX_PROC_STATE, pmix_proc_state_t, PMIX_PROC_STATE_PREPPED, PMIX_PROC_STATE_RUNNING,
       PMIX_PROC_STATE_TERMINATED)
SCALAR(ROWS_OF_VALUE, allocation, PMIX_ALLOC_DIRECTIVE, pmix_alloc_directive_t, PMIX_ALLOC_NEW, PMIX_ALLOC_EXTEND,
       PMIX_ALLOC_RELEASE)
SCALAR(ROWS_OF_DATA, job_state, PMIX_JOB_STATE, pmix_job_state_t, 1, 2, 20)
SCALAR(ROWS_OF_DATA, link_state, PMIX_LINK_STATE, pmix_link_state_t, 0, 1, 2)
SCALAR(ROWS_OF_DATA, device_type, PMIX_DEVTYPE, pmix_device_type_t, 1, 2, 4)
SCALAR(ROWS_OF_DATA, locality, PMIX_LOCTYPE, pmix_locality_t, 0, 1, 0x4000)
SCALAR(ROWS_OF_DATA, data_type, PMIX_DATA_TYPE, pmix_data_type_t, PMIX_UNDEF, PMIX_STRING, PMIX_DATA_ARRAY)
SCALAR(ROWS_OF_DATA, directives, PMIX_INFO_DIRECTIVES, pmix_info_directives_t, 0, PMIX_INFO_REQD,
       PMIX_INFO_REQD | PMIX_INFO_ARRAY_END)
SCALAR(ROWS_OF_DATA, channel, PMIX_IOF_CHANNEL, pmix_iof_channel_t, PMIX_FWD_STDIN_CHANNEL, PMIX_FWD_STDOUT_CHANNEL,
       PMIX_FWD_ALL_CHANNELS)
#ifdef PMIX_STOR_MEDIUM
SCALAR(ROWS_OF_DATA, storage_medium, PMIX_STOR_MEDIUM, pmix_storage_medium_t, 1, 2, 4)
SCALAR(ROWS_OF_DATA, storage_access, PMIX_STOR_ACCESS, pmix_storage_accessibility_t, 1, 2, 4)
SCALAR(ROWS_OF_DATA, storage_persistence, PMIX_STOR_PERSIST, pmix_storage_persistence_t, 1, 2, 4)
SCALAR(ROWS_OF_DATA, storage_access_type, PMIX_STOR_ACCESS_TYPE, pmix_storage_access_type_t, 1, 2, 3)
#else
NO_TYPE(ROWS_OF_DATA, storage_medium, PMIX_STOR_MEDIUM)
NO_TYPE(ROWS_OF_DATA, storage_access, PMIX_STOR_ACCESS)
NO_TYPE(ROWS_OF_DATA, storage_persistence, PMIX_STOR_PERSIST)
NO_TYPE(ROWS_OF_DATA, storage_access_type, PMIX_STOR_ACCESS_TYPE)
#endif

static bool same_text(const char* one, const char* other) {
    return one == NULL || other == NULL ? one == other : strcmp(one, other) == 0;
}

static void make_string(void* place, int variant) {
    char* text = NULL;
    if (variant == 0) text = strdup("a text");
    if (variant == 1) text = strdup("");
    if (variant == 2) {
        text = malloc(5000);
        memset(text, 'x', 4999);
        text[4999] = '\0';
    }
    *(char**)place = text;
}
static bool same_string(const void* one, const void* other) {
    return same_text(*(char* const*)one, *(char* const*)other);
}
STRUCTURE(ROWS_OF_VALUE, string, PMIX_STRING, char*, false)

static void make_timeval(void* place, int variant) {
    struct timeval* time = place;
    memset(time, 0, sizeof(*time));
    time->tv_sec = variant * 1000000;
    time->tv_usec = variant * 7;
}
static bool same_timeval(const void* one, const void* other) {
    const struct timeval *a = one, *b = other;
    return a->tv_sec == b->tv_sec && a->tv_usec == b->tv_usec;
}
STRUCTURE(ROWS_OF_VALUE, timeval, PMIX_TIMEVAL, struct timeval, false)

static void make_byte_object(void* place, int variant) {
    pmix_byte_object_t* bytes = place;
    bytes->size = (size_t)(variant == 2 ? 100000 : variant * 3);
    bytes->bytes = bytes->size > 0 ? malloc(bytes->size) : NULL;
    for (size_t i = 0; i < bytes->size; ++i) bytes->bytes[i] = (char)(i * 31);
}
static bool same_byte_object(const void* one, const void* other) {
    const pmix_byte_object_t *a = one, *b = other;
    return a->size == b->size && (a->size == 0 || memcmp(a->bytes, b->bytes, a->size) == 0);
}
STRUCTURE(ROWS_OF_VALUE, byte_object, PMIX_BYTE_OBJECT, pmix_byte_object_t, false)

static void make_proc(void* place, int variant) {
    const char* names[] = {"job", "another-job@0", "x"};
    const pmix_rank_t ranks[] = {0, PMIX_RANK_WILDCARD, 70000};
    *(pmix_proc_t*)place = proc_of(names[variant], ranks[variant]);
}
static bool same_proc(const void* one, const void* other) {
    const pmix_proc_t *a = one, *b = other;
    return strcmp(a->nspace, b->nspace) == 0 && a->rank == b->rank;
}
STRUCTURE(ROWS_OF_VALUE, proc, PMIX_PROC, pmix_proc_t, true)

static void make_proc_info(void* place, int variant) {
    pmix_proc_info_t* info = place;
    memset(info, 0, sizeof(*info));
    make_proc(&info->proc, variant);
    info->hostname = strdup("host");
    info->executable_name = variant == 1 ? NULL : strdup("/bin/program");
    info->pid = 4711 + variant;
    info->exit_code = -variant;
    info->state = PMIX_PROC_STATE_RUNNING;
}
static bool same_proc_info(const void* one, const void* other) {
    const pmix_proc_info_t *a = one, *b = other;
    return same_proc(&a->proc, &b->proc) && same_text(a->hostname, b->hostname) &&
           same_text(a->executable_name, b->executable_name) && a->pid == b->pid && a->exit_code == b->exit_code &&
           a->state == b->state;
}
STRUCTURE(ROWS_OF_VALUE, proc_info, PMIX_PROC_INFO, pmix_proc_info_t, true)

static void make_data_array(void* place, int variant) {
    pmix_data_array_t* array = place;
    array->type = variant == 1 ? PMIX_STRING : PMIX_INT;
    array->size = (size_t)(variant == 2 ? 1000 : variant + 1);
    if (variant == 1) {
        char** texts = malloc(array->size * sizeof(char*));
        texts[0] = strdup("one");
        texts[1] = strdup("two");
        array->array = texts;
    } else {
        int* numbers = malloc(array->size * sizeof(int));
        for (size_t i = 0; i < array->size; ++i) numbers[i] = (int)i - 5;
        array->array = numbers;
    }
}
static bool same_data_array(const void* one, const void* other) {
    const pmix_data_array_t *a = one, *b = other;
    if (a->type != b->type || a->size != b->size) return false;
    for (size_t i = 0; i < a->size; ++i) {
        if (a->type == PMIX_STRING ? !same_text(((char**)a->array)[i], ((char**)b->array)[i])
                                   : ((int*)a->array)[i] != ((int*)b->array)[i])
            return false;
    }
    return true;
}
STRUCTURE(ROWS_OF_VALUE, data_array, PMIX_DATA_ARRAY, pmix_data_array_t, true)

static void make_envar(void* place, int variant) {
    pmix_envar_t* envar = place;
    envar->envar = strdup("PATH");
    envar->value = variant == 1 ? NULL : strdup("/usr/bin");
    envar->separator = variant == 2 ? ';' : ':';
}
static bool same_envar(const void* one, const void* other) {
    const pmix_envar_t *a = one, *b = other;
    return same_text(a->envar, b->envar) && same_text(a->value, b->value) && a->separator == b->separator;
}
STRUCTURE(ROWS_OF_VALUE, envar, PMIX_ENVAR, pmix_envar_t, false)

static void make_coord(void* place, int variant) {
    pmix_coord_t* coord = place;
    memset(coord, 0, sizeof(*coord));
    coord->view = PMIX_COORD_LOGICAL_VIEW;
    coord->dims = (size_t)variant + 1;
    coord->coord = malloc(coord->dims * sizeof(uint32_t));
    for (size_t i = 0; i < coord->dims; ++i) coord->coord[i] = (uint32_t)(i * 10 + 1);
}
static bool same_coord(const void* one, const void* other) {
    const pmix_coord_t *a = one, *b = other;
    return a->view == b->view && a->dims == b->dims && memcmp(a->coord, b->coord, a->dims * sizeof(uint32_t)) == 0;
}
STRUCTURE(ROWS_OF_VALUE, coord, PMIX_COORD, pmix_coord_t, true)

static void make_device_distance(void* place, int variant) {
    pmix_device_distance_t* distance = place;
    memset(distance, 0, sizeof(*distance));
    distance->uuid = strdup("gpu://host::0");
    distance->osname = variant == 1 ? NULL : strdup("gpu0");
    distance->type = 1;
    distance->mindist = (uint16_t)variant;
    distance->maxdist = UINT16_MAX;
}
static bool same_device_distance(const void* one, const void* other) {
    const pmix_device_distance_t *a = one, *b = other;
    return same_text(a->uuid, b->uuid) && same_text(a->osname, b->osname) && a->type == b->type &&
           a->mindist == b->mindist && a->maxdist == b->maxdist;
}
STRUCTURE(ROWS_OF_VALUE, device_distance, PMIX_DEVICE_DIST, pmix_device_distance_t, true)

static void make_geometry(void* place, int variant) {
    pmix_geometry_t* geometry = place;
    memset(geometry, 0, sizeof(*geometry));
    geometry->fabric = (size_t)variant;
    geometry->uuid = strdup("fab://host::0");
    geometry->osname = strdup("eth0");
    geometry->ncoords = 2;
    geometry->coordinates = calloc(2, sizeof(pmix_coord_t));
    make_coord(&geometry->coordinates[0], 0);
    make_coord(&geometry->coordinates[1], 2);
}
static bool same_geometry(const void* one, const void* other) {
    const pmix_geometry_t *a = one, *b = other;
    return a->fabric == b->fabric && same_text(a->uuid, b->uuid) && same_text(a->osname, b->osname) &&
           a->ncoords == b->ncoords && same_coord(&a->coordinates[0], &b->coordinates[0]) &&
           same_coord(&a->coordinates[1], &b->coordinates[1]);
}
STRUCTURE(ROWS_OF_VALUE, geometry, PMIX_GEOMETRY, pmix_geometry_t, true)

static void make_endpoint(void* place, int variant) {
    pmix_endpoint_t* endpoint = place;
    memset(endpoint, 0, sizeof(*endpoint));
    endpoint->uuid = strdup("fab://host::0");
    endpoint->osname = strdup("eth0");
    make_byte_object(&endpoint->endpt, variant);
}
static bool same_endpoint(const void* one, const void* other) {
    const pmix_endpoint_t *a = one, *b = other;
    return same_text(a->uuid, b->uuid) && same_text(a->osname, b->osname) && same_byte_object(&a->endpt, &b->endpt);
}
STRUCTURE(ROWS_OF_VALUE, endpoint, PMIX_ENDPOINT, pmix_endpoint_t, true)

static void make_regattr(void* place, int variant) {
    pmix_regattr_t* attribute = place;
    memset(attribute, 0, sizeof(*attribute));
    attribute->name = strdup("PMIX_TIMEOUT");
    PMIX_LOAD_KEY(attribute->string, PMIX_TIMEOUT);
    attribute->type = PMIX_INT;
    attribute->description = calloc(3, sizeof(char*));
    attribute->description[0] = strdup("seconds");
    if (variant == 2) attribute->description[1] = strdup("zero is never");
}
static bool same_regattr(const void* one, const void* other) {
    const pmix_regattr_t *a = one, *b = other;
    if (!same_text(a->name, b->name) || strcmp(a->string, b->string) != 0 || a->type != b->type ||
        b->description == NULL)
        return false;
    for (size_t i = 0; a->description[i] != NULL; ++i) {
        if (!same_text(a->description[i], b->description[i])) return false;
    }
    return true;
}
STRUCTURE(ROWS_OF_DATA, regattr, PMIX_REGATTR, pmix_regattr_t, true)

/* ---- types that contain values ---- */

static void make_value(void* place, int variant) {
    pmix_value_t* value = place;
    *value = value_int(variant * 11);
    if (variant == 1) {
        value->type = PMIX_STRING;
        value->data.string = strdup("a value");
    }
}
static bool same_value(const void* one, const void* other) {
    const pmix_value_t *a = one, *b = other;
    if (a->type != b->type) return false;
    return a->type == PMIX_STRING ? same_text(a->data.string, b->data.string) : a->data.integer == b->data.integer;
}
STRUCTURE(ROWS_OF_DATA, value, PMIX_VALUE, pmix_value_t, false)

static void make_an_info(void* place, int variant) {
    pmix_info_t* info = place;
    memset(info, 0, sizeof(*info));
    snprintf(info->key, sizeof(info->key), "key %d", variant);
    info->flags = variant == 2 ? PMIX_INFO_REQD : 0;
    make_value(&info->value, variant);
}
static bool same_an_info(const void* one, const void* other) {
    const pmix_info_t *a = one, *b = other;
    return strcmp(a->key, b->key) == 0 && (a->flags & PMIX_INFO_REQD) == (b->flags & PMIX_INFO_REQD) &&
           same_value(&a->value, &b->value);
}
#define make_info make_an_info
#define same_info same_an_info
STRUCTURE(ROWS_OF_DATA, info, PMIX_INFO, pmix_info_t, false)

static void make_pdata(void* place, int variant) {
    pmix_pdata_t* pdata = place;
    memset(pdata, 0, sizeof(*pdata));
    make_proc(&pdata->proc, variant);
    snprintf(pdata->key, sizeof(pdata->key), "key %d", variant);
    make_value(&pdata->value, variant);
}
static bool same_pdata(const void* one, const void* other) {
    const pmix_pdata_t *a = one, *b = other;
    return same_proc(&a->proc, &b->proc) && strcmp(a->key, b->key) == 0 && same_value(&a->value, &b->value);
}
STRUCTURE(ROWS_OF_DATA, pdata, PMIX_PDATA, pmix_pdata_t, false)

static char** two_texts(void) {
    char** texts = calloc(3, sizeof(char*));
    texts[0] = strdup("first");
    texts[1] = strdup("");
    return texts;
}
static bool same_texts(char** one, char** other) {
    size_t i = 0;
    if (one == NULL || other == NULL) return one == other;
    for (; one[i] != NULL; ++i) {
        if (!same_text(one[i], other[i])) return false;
    }
    return other[i] == NULL;
}

static void make_app(void* place, int variant) {
    pmix_app_t* app = place;
    memset(app, 0, sizeof(*app));
    app->cmd = strdup("/bin/true");
    app->argv = two_texts();
    app->env = variant == 0 ? NULL : two_texts();
    app->cwd = variant == 1 ? NULL : strdup("/tmp");
    app->maxprocs = variant + 1;
    app->ninfo = (size_t)variant;
    app->info = variant > 0 ? calloc(2, sizeof(pmix_info_t)) : NULL;
    for (int i = 0; i < variant; ++i) make_an_info(&app->info[i], i);
}
static bool same_app(const void* one, const void* other) {
    const pmix_app_t *a = one, *b = other;
    if (!same_text(a->cmd, b->cmd) || !same_texts(a->argv, b->argv) || !same_text(a->cwd, b->cwd) ||
        a->maxprocs != b->maxprocs || a->ninfo != b->ninfo)
        return false;
    if (a->env != NULL && !same_texts(a->env, b->env)) return false;
    for (size_t i = 0; i < a->ninfo; ++i) {
        if (!same_an_info(&a->info[i], &b->info[i])) return false;
    }
    return true;
}
STRUCTURE(ROWS_OF_DATA, app, PMIX_APP, pmix_app_t, false)

static void make_query(void* place, int variant) {
    pmix_query_t* query = place;
    memset(query, 0, sizeof(*query));
    query->keys = two_texts();
    query->nqual = (size_t)variant;
    query->qualifiers = variant > 0 ? calloc(2, sizeof(pmix_info_t)) : NULL;
    for (int i = 0; i < variant; ++i) make_an_info(&query->qualifiers[i], i);
}
static bool same_query(const void* one, const void* other) {
    const pmix_query_t *a = one, *b = other;
    if (!same_texts(a->keys, b->keys) || a->nqual != b->nqual) return false;
    for (size_t i = 0; i < a->nqual; ++i) {
        if (!same_an_info(&a->qualifiers[i], &b->qualifiers[i])) return false;
    }
    return true;
}
STRUCTURE(ROWS_OF_DATA, query, PMIX_QUERY, pmix_query_t, false)
