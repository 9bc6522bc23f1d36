// SPDX-License-Identifier: BSD-3-Clause
/*
 * The same values in every program that includes this, C or C++, whichever library's headers it is built with: what one
 * library packs, another must pack to the same bytes. No field has its neighbour's value, so that swapped ones are
 * seen. Everything is static memory; one thread.
 */
#ifndef WIREUP_DATA_SAMPLES_H
#define WIREUP_DATA_SAMPLES_H

#include <pmix.h>
#include <stdint.h>
#include <string.h>
#include <sys/time.h>

typedef struct {
    char name[40];
    pmix_data_type_t type;
    const void* values; /* as PMIx_Data_pack takes them */
    int32_t n;
} pmix_sample_t;

#define MAX_SAMPLES 128

static pmix_sample_t g_samples[MAX_SAMPLES];
static size_t g_nsamples;

static void sample(const char* name, pmix_data_type_t type, const void* values, int32_t n) {
    pmix_sample_t* s = &g_samples[g_nsamples++];
    strncpy(s->name, name, sizeof(s->name) - 1);
    s->type = type;
    s->values = values;
    s->n = n;
}

static void sample_numbers(void) {
    static bool flags[] = {true, false, true};
    static uint8_t bytes[] = {0, 1, 0x7f, 0x80, 0xff};
    static int8_t int8s[] = {0, 1, -1, 127, -128};
    static size_t sizes[] = {0, 127, 128, (size_t)1 << 55, ((size_t)1 << 56) - 1, (size_t)1 << 56, SIZE_MAX};
    static pid_t pids[] = {1, 4711, 4194303};
    static int ints[] = {0, -1, 1, -64, 64, INT32_MAX, INT32_MIN};
    static unsigned uints[] = {0, 1, 127, 128, 0x80000000u, UINT32_MAX};
    static int16_t int16s[] = {0, -1, 300, INT16_MAX, INT16_MIN};
    static uint16_t uint16s[] = {0, 127, 128, 16383, 16384, UINT16_MAX};
    static int32_t int32s[] = {0, -1, 70000, INT32_MAX, INT32_MIN};
    static uint32_t uint32s[] = {0, 127, 128, 70000, UINT32_MAX};
    static int64_t int64s[] = {0, -1, (int64_t)1 << 54, (int64_t)1 << 55, -((int64_t)1 << 55), INT64_MAX, INT64_MIN};
    static uint64_t uint64s[] = {0, 127, 128, (uint64_t)1 << 55, (uint64_t)1 << 56, UINT64_MAX};
    static float floats[] = {0.0f, 1.5f, -0.1f, 16777216.0f, 0.000001f};
    static double doubles[] = {0.0, 1.5, -0.1, 123456789.25, 0.000001};
    static struct timeval times[] = {{5, 6}, {1700000000, 999999}};
    static time_t clocks[] = {0, 1700000000};
    static pmix_status_t statuses[] = {PMIX_SUCCESS, PMIX_ERR_NOT_FOUND, -1000000};
    static pmix_rank_t ranks[] = {0, 3, PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF};
    sample("bool", PMIX_BOOL, flags, 3);
    sample("byte", PMIX_BYTE, bytes, 5);
    sample("size", PMIX_SIZE, sizes, 7);
    sample("pid", PMIX_PID, pids, 3);
    sample("int", PMIX_INT, ints, 7);
    sample("int8", PMIX_INT8, int8s, 5);
    sample("int16", PMIX_INT16, int16s, 5);
    sample("int32", PMIX_INT32, int32s, 5);
    sample("int64", PMIX_INT64, int64s, 7);
    sample("uint", PMIX_UINT, uints, 6);
    sample("uint8", PMIX_UINT8, bytes, 5);
    sample("uint16", PMIX_UINT16, uint16s, 6);
    sample("uint32", PMIX_UINT32, uint32s, 5);
    sample("uint64", PMIX_UINT64, uint64s, 6);
    sample("float", PMIX_FLOAT, floats, 5);
    sample("double", PMIX_DOUBLE, doubles, 5);
    sample("timeval", PMIX_TIMEVAL, times, 2);
    sample("time", PMIX_TIME, clocks, 2);
    sample("status", PMIX_STATUS, statuses, 3);
    sample("rank", PMIX_PROC_RANK, ranks, 4);
    sample("persistence", PMIX_PERSIST, bytes, 5);
    sample("scope", PMIX_SCOPE, bytes, 5);
    sample("range", PMIX_DATA_RANGE, bytes, 5);
    sample("command", PMIX_COMMAND, bytes, 5);
    sample("directives", PMIX_INFO_DIRECTIVES, uint32s, 5);
    sample("data type", PMIX_DATA_TYPE, uint16s, 6);
    sample("process state", PMIX_PROC_STATE, bytes, 5);
    sample("allocation", PMIX_ALLOC_DIRECTIVE, bytes, 5);
    sample("channel", PMIX_IOF_CHANNEL, uint16s, 6);
    sample("job state", PMIX_JOB_STATE, bytes, 5);
    sample("link state", PMIX_LINK_STATE, bytes, 5);
    sample("device type", PMIX_DEVTYPE, uint64s, 6);
    sample("locality", PMIX_LOCTYPE, uint16s, 6);
    sample("storage medium", PMIX_STOR_MEDIUM, uint64s, 6);
    sample("storage access", PMIX_STOR_ACCESS, uint64s, 6);
    sample("storage persistence", PMIX_STOR_PERSIST, uint64s, 6);
    sample("storage access type", PMIX_STOR_ACCESS_TYPE, uint16s, 6);
    sample("nothing", PMIX_UINT64, uint64s, 0);
}

static pmix_value_t sample_value(pmix_data_type_t type) {
    pmix_value_t v;
    memset(&v, 0, sizeof(v));
    v.type = type;
    return v;
}

static void sample_texts(void) {
    static char long_text[301];
    static char* strings[4];
    static pmix_byte_object_t objects[3];
    static char object_bytes[] = {0, 1, 2, (char)0xff, 9};
    static pmix_nspace_t nspaces[2];
    static char map[] = "pmix[node[3:1-64,70]]";
    static char* maps[2];
    static void* pointer = long_text;
    static pmix_envar_t envars[2];
    memset(long_text, 'x', 300);
    strings[0] = (char*)"text";
    strings[1] = NULL;
    strings[2] = (char*)"";
    strings[3] = long_text;
    objects[0].bytes = object_bytes;
    objects[0].size = sizeof(object_bytes);
    objects[2].bytes = long_text;
    objects[2].size = 300;
    strcpy(nspaces[0], "job-1");
    memset(nspaces[1], 'n', PMIX_MAX_NSLEN);
    maps[0] = map;
    maps[1] = (char*)"pmix[0-3;4-7]";
    envars[0].envar = (char*)"PATH";
    envars[0].value = (char*)"/opt/bin";
    envars[0].separator = ':';
    sample("string", PMIX_STRING, strings, 4);
    sample("byte object", PMIX_BYTE_OBJECT, objects, 3);
    sample("compressed string", PMIX_COMPRESSED_STRING, objects, 3);
    sample("compressed object", PMIX_COMPRESSED_BYTE_OBJECT, objects, 3);
    sample("namespace", PMIX_PROC_NSPACE, nspaces, 2);
    sample("map", PMIX_REGEX, maps, 2);
    sample("pointer", PMIX_POINTER, &pointer, 1);
    sample("envar", PMIX_ENVAR, envars, 2);
}

static pmix_proc_t g_sample_proc;
static pmix_info_t g_sample_infos[2];
static char* g_sample_argv[3];

static void sample_infos(void) {
    static pmix_query_t queries[2];
    static pmix_app_t apps[2];
    static char* env[2];
    static pmix_pdata_t pdata[2];
    static pmix_regattr_t regattr;
    strcpy(g_sample_proc.nspace, "ns");
    g_sample_proc.rank = 3;
    g_sample_argv[0] = (char*)"first";
    g_sample_argv[1] = (char*)"second";
    strcpy(g_sample_infos[0].key, "pmix.timeout");
    g_sample_infos[0].flags = PMIX_INFO_REQD;
    g_sample_infos[0].value = sample_value(PMIX_INT);
    g_sample_infos[0].value.data.integer = 10;
    strcpy(g_sample_infos[1].key, "pmix.hname");
    g_sample_infos[1].flags = PMIX_INFO_ARRAY_END;
    g_sample_infos[1].value = sample_value(PMIX_STRING);
    g_sample_infos[1].value.data.string = (char*)"node7";
    queries[0].keys = g_sample_argv;
    queries[0].qualifiers = g_sample_infos;
    queries[0].nqual = 2;
    env[0] = (char*)"A=1";
    apps[0].cmd = (char*)"prog";
    apps[0].argv = g_sample_argv;
    apps[0].env = env;
    apps[0].cwd = (char*)"/tmp";
    apps[0].maxprocs = 12;
    apps[0].info = g_sample_infos;
    apps[0].ninfo = 2;
    pdata[0].proc = g_sample_proc;
    strcpy(pdata[0].key, "published");
    pdata[0].value = sample_value(PMIX_UINT32);
    pdata[0].value.data.uint32 = 99;
    regattr.name = (char*)"PMIX_TIMEOUT";
    strcpy(regattr.string, "pmix.timeout");
    regattr.type = PMIX_INT;
    regattr.description = g_sample_argv;
    sample("proc", PMIX_PROC, &g_sample_proc, 1);
    sample("info", PMIX_INFO, g_sample_infos, 2);
    sample("query", PMIX_QUERY, queries, 2);
    sample("app", PMIX_APP, apps, 2);
    sample("pdata", PMIX_PDATA, pdata, 2);
    sample("regattr", PMIX_REGATTR, &regattr, 1);
}

static void sample_structs(void) {
    static pmix_proc_info_t proc_info;
    static uint32_t axes[] = {5, 600, 70000};
    static pmix_coord_t coords[2];
    static pmix_geometry_t geometry;
    static pmix_device_distance_t distance;
    static pmix_endpoint_t endpoint;
    static pmix_data_buffer_t buffer;
    static char buffer_bytes[] = {2, 4, 6};
    static pmix_proc_stats_t proc_stats;
    static pmix_disk_stats_t disk;
    static pmix_net_stats_t net;
    static pmix_node_stats_t node;
    proc_info.proc = g_sample_proc;
    proc_info.hostname = (char*)"host";
    proc_info.executable_name = (char*)"exe";
    proc_info.pid = 12;
    proc_info.exit_code = -3;
    proc_info.state = 7;
    coords[0].view = PMIX_COORD_LOGICAL_VIEW;
    coords[0].coord = axes;
    coords[0].dims = 3;
    coords[1].view = PMIX_COORD_PHYSICAL_VIEW;
    geometry.fabric = 77;
    geometry.uuid = (char*)"uuid";
    geometry.osname = (char*)"ib0";
    geometry.coordinates = coords;
    geometry.ncoords = 2;
    distance.uuid = (char*)"gpu://1";
    distance.osname = (char*)"gpu1";
    distance.type = PMIX_DEVTYPE_GPU;
    distance.mindist = 300;
    distance.maxdist = 400;
    endpoint.uuid = (char*)"uuid";
    endpoint.osname = (char*)"ib1";
    endpoint.endpt.bytes = buffer_bytes;
    endpoint.endpt.size = 3;
    buffer.base_ptr = buffer.unpack_ptr = buffer_bytes;
    buffer.pack_ptr = buffer_bytes + 3;
    buffer.bytes_allocated = buffer.bytes_used = 3;
    proc_stats.node = (char*)"node";
    proc_stats.proc = g_sample_proc;
    proc_stats.pid = 9;
    proc_stats.cmd = (char*)"cmd";
    proc_stats.state = 'R';
    proc_stats.time.tv_sec = 1;
    proc_stats.time.tv_usec = 2;
    proc_stats.percent_cpu = 1.5f;
    proc_stats.priority = -3;
    proc_stats.num_threads = 400;
    proc_stats.pss = 0.5f;
    proc_stats.vsize = 2.5f;
    proc_stats.rss = 3.5f;
    proc_stats.peak_vsize = 4.5f;
    proc_stats.processor = 500;
    proc_stats.sample_time.tv_sec = 6;
    proc_stats.sample_time.tv_usec = 7;
    disk.disk = (char*)"sda";
    disk.num_reads_completed = 1;
    disk.num_reads_merged = 200;
    disk.num_sectors_read = 3;
    disk.milliseconds_reading = 4;
    disk.num_writes_completed = 5;
    disk.num_writes_merged = 6;
    disk.num_sectors_written = 7;
    disk.milliseconds_writing = 8;
    disk.num_ios_in_progress = 9;
    disk.milliseconds_io = 10;
    disk.weighted_milliseconds_io = 11;
    net.net_interface = (char*)"eth0";
    net.num_bytes_recvd = 1;
    net.num_packets_recvd = 200;
    net.num_recv_errs = 3;
    net.num_bytes_sent = 4;
    net.num_packets_sent = 5;
    net.num_send_errs = 6;
    node.node = (char*)"node";
    node.la = 1;
    node.la5 = 2;
    node.la15 = 3;
    node.total_mem = 4;
    node.free_mem = 5;
    node.buffers = 6;
    node.cached = 7;
    node.swap_cached = 8;
    node.swap_total = 9;
    node.swap_free = 10;
    node.mapped = 11;
    node.sample_time.tv_sec = 12;
    node.sample_time.tv_usec = 13;
    sample("process info", PMIX_PROC_INFO, &proc_info, 1);
    sample("coordinates", PMIX_COORD, coords, 2);
    sample("geometry", PMIX_GEOMETRY, &geometry, 1);
    sample("device distance", PMIX_DEVICE_DIST, &distance, 1);
    sample("endpoint", PMIX_ENDPOINT, &endpoint, 1);
    sample("data buffer", PMIX_DATA_BUFFER, &buffer, 1);
    sample("process statistics", PMIX_PROC_STATS, &proc_stats, 1);
    sample("disk statistics", PMIX_DISK_STATS, &disk, 1);
    sample("network statistics", PMIX_NET_STATS, &net, 1);
    sample("node statistics", PMIX_NODE_STATS, &node, 1);
}

/* Arrays of this and that, an array of infos that hold arrays, arrays of arrays. */
static void sample_arrays(void) {
    static uint32_t numbers[] = {1, 200, 70000};
    static char* strings[2];
    static pmix_data_array_t flat[4];
    static pmix_info_t nested_infos[2];
    static pmix_data_array_t inner;
    static pmix_data_array_t of_infos;
    static pmix_data_array_t of_arrays;
    static pmix_value_t values[5];
    strings[0] = (char*)"a";
    strings[1] = (char*)"bc";
    flat[0].type = PMIX_UINT32;
    flat[0].size = 3;
    flat[0].array = numbers;
    flat[1].type = PMIX_STRING;
    flat[1].size = 2;
    flat[1].array = strings;
    flat[2].type = PMIX_PROC;
    flat[2].size = 1;
    flat[2].array = &g_sample_proc;
    flat[3].type = PMIX_INFO; /* and nothing in it */
    inner.type = PMIX_INFO;
    inner.size = 2;
    inner.array = g_sample_infos;
    strcpy(nested_infos[0].key, "pmix.proc.data");
    nested_infos[0].value = sample_value(PMIX_DATA_ARRAY);
    nested_infos[0].value.data.darray = &inner;
    strcpy(nested_infos[1].key, "pmix.rank");
    nested_infos[1].flags = PMIX_INFO_ARRAY_END;
    nested_infos[1].value = sample_value(PMIX_PROC_RANK);
    nested_infos[1].value.data.rank = 17;
    of_infos.type = PMIX_INFO;
    of_infos.size = 2;
    of_infos.array = nested_infos;
    of_arrays.type = PMIX_DATA_ARRAY;
    of_arrays.size = 3;
    of_arrays.array = flat;
    values[0] = sample_value(PMIX_UNDEF);
    values[1] = sample_value(PMIX_DATA_ARRAY);
    values[1].data.darray = &of_infos;
    values[2] = sample_value(PMIX_PROC);
    values[2].data.proc = &g_sample_proc;
    values[3] = sample_value(PMIX_DOUBLE);
    values[3].data.dval = 0.25;
    values[4] = sample_value(PMIX_ENVAR);
    values[4].data.envar.envar = (char*)"E";
    values[4].data.envar.separator = ';';
    sample("arrays", PMIX_DATA_ARRAY, flat, 4);
    sample("array of infos with arrays", PMIX_DATA_ARRAY, &of_infos, 1);
    sample("array of arrays", PMIX_DATA_ARRAY, &of_arrays, 1);
    sample("values", PMIX_VALUE, values, 5);
}

static void make_samples(void) {
    if (g_nsamples != 0) {
        return;
    }
    sample_numbers();
    sample_texts();
    sample_infos();
    sample_structs();
    sample_arrays();
}

#endif
