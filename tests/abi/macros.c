/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every macro of the public headers, used once, in a program that checks what it did.
 *
 * One source for three uses: as C and as C++ against our headers, and as C against headers of 4.2.2, whose macros are
 * inlined code. There the objects are made by malloc in this program and released by the library, or the other way
 * round, which is what binaries of that age do. Runs in one thread and needs no server. Exit status: failed checks.
 */
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>

/* Macros became calls in 4.2.9; before, some left the variable as it was. */
#define WITH_INLINED_CODE (PMIX_NUMERIC_VERSION < 0x00040209)
/* Inline functions of 4.2, which our headers have still; header_view.py takes them away. */
#ifndef WIREUP_HEADER_VIEW
#define WITH_OLD_HELPERS
#endif
#define GONE(p) (NULL == (p) || WITH_INLINED_CODE)

static int failed;
#define CHECK(x)                                                    \
    do {                                                            \
        if (!(x)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #x); \
            ++failed;                                               \
        }                                                           \
    } while (0)

static int same(const char* a, const char* b) {
    return NULL != a && NULL != b && 0 == strcmp(a, b);
}

static void names(void) {
    pmix_proc_t a = PMIX_PROC_STATIC_INIT;
    pmix_proc_t b;
    pmix_proc_t* list = NULL;
    pmix_nspace_t ns, cluster, inner;
    pmix_info_t info;

    CHECK(PMIX_RANK_UNDEF == a.rank);
    CHECK(PMIX_PROCID_INVALID(&a));
    PMIX_LOAD_PROCID(&a, "job", 3);
    PMIX_XFER_PROCID(&b, &a);
    CHECK(PMIX_CHECK_PROCID(&a, &b));
    PMIX_PROC_LOAD(&b, "job", PMIX_RANK_WILDCARD);
    CHECK(PMIX_CHECK_PROCID(&a, &b));
    PMIX_PROCID_XFER(&b, &a);
    CHECK(PMIX_CHECK_RANK(b.rank, 3));
    CHECK(PMIX_CHECK_RANK(PMIX_RANK_WILDCARD, 3));
    CHECK(!PMIX_CHECK_RANK(2, 3));
    CHECK(PMIX_RANK_IS_VALID(b.rank));
    CHECK(!PMIX_RANK_IS_VALID(PMIX_RANK_WILDCARD));

    PMIX_LOAD_NSPACE(ns, "a-namespace");
    CHECK(same(ns, "a-namespace"));
    CHECK(PMIX_CHECK_NSPACE(ns, "a-namespace"));
    CHECK(!PMIX_CHECK_NSPACE(ns, "a-namespac"));
    CHECK(!PMIX_NSPACE_INVALID(ns));
    PMIX_LOAD_NSPACE(ns, NULL);
    CHECK(PMIX_NSPACE_INVALID(ns));

    memset(cluster, 0, sizeof(cluster));
    memset(inner, 0, sizeof(inner));
    memset(ns, 0, sizeof(ns));
    PMIX_LOAD_NSPACE(cluster, "east");
    PMIX_LOAD_NSPACE(inner, "job7");
    PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(ns, cluster, inner);
    CHECK(same(ns, "east:job7"));
    memset(cluster, 0, sizeof(cluster));
    memset(inner, 0, sizeof(inner));
    PMIX_MULTICLUSTER_NSPACE_PARSE(ns, cluster, inner);
    CHECK(same(cluster, "east"));
    CHECK(same(inner, "job7"));

    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, PMIX_JOB_SIZE);
    CHECK(PMIX_CHECK_KEY(&info, PMIX_JOB_SIZE));
    CHECK(!PMIX_CHECK_KEY(&info, PMIX_APP_SIZE));
    CHECK(PMIX_CHECK_RESERVED_KEY(info.key));
    CHECK(!PMIX_CHECK_RESERVED_KEY("mine"));
    PMIX_INFO_DESTRUCT(&info);

    PMIX_PROC_CONSTRUCT(&a);
    PMIX_PROC_DESTRUCT(&a);
    PMIX_PROC_CREATE(list, 3);
    CHECK(NULL != list);
    PMIX_PROC_FREE(list, 3);
    CHECK(GONE(list));
    PMIX_PROC_CREATE(list, 1);
    PMIX_PROC_RELEASE(list);
    CHECK(GONE(list));

    CHECK(PMIX_SYSTEM_EVENT(PMIX_EVENT_NODE_DOWN));
    CHECK(!PMIX_SYSTEM_EVENT(PMIX_ERR_TIMEOUT));
}

static void lists_of_strings(void) {
    char **a = NULL, **b = NULL, *s = NULL, **env = NULL;
    int n = 0;
    pmix_status_t rc;

    PMIX_ARGV_APPEND(rc, a, "two");
    CHECK(PMIX_SUCCESS == rc);
    PMIX_ARGV_PREPEND(rc, a, "one");
    CHECK(PMIX_SUCCESS == rc);
    PMIX_ARGV_APPEND_UNIQUE(rc, &a, "two");
    CHECK(PMIX_SUCCESS == rc);
    PMIX_ARGV_COUNT(n, a);
    CHECK(2 == n);
    CHECK(same(a[0], "one") && same(a[1], "two"));
    PMIX_ARGV_JOIN(s, a, ',');
    CHECK(same(s, "one,two"));
    PMIX_ARGV_COPY(b, a);
    CHECK(same(b[1], "two") && b[1] != a[1] && NULL == b[2]);
    PMIX_ARGV_FREE(b);
    CHECK(GONE(b));
    PMIX_ARGV_SPLIT(b, s, ',');
    CHECK(same(b[0], "one") && same(b[1], "two") && NULL == b[2]);
    free(s);
    PMIX_ARGV_FREE(a);
    PMIX_ARGV_FREE(b);
    PMIX_SETENV(rc, "WIREUP_TEST", "1", &env);
    CHECK(PMIX_SUCCESS == rc);
    CHECK(NULL != env && same(env[0], "WIREUP_TEST=1"));
    PMIX_ARGV_FREE(env);
    a = env = NULL;

    /* The same in lower case. */
    CHECK(PMIX_SUCCESS == pmix_argv_append_nosize(&a, "c"));
    CHECK(PMIX_SUCCESS == pmix_argv_prepend_nosize(&a, "a"));
    CHECK(PMIX_SUCCESS == pmix_argv_append_unique_nosize(&a, "c"));
    CHECK(2 == pmix_argv_count(a));
    s = pmix_argv_join(a, ':');
    CHECK(same(s, "a:c"));
    free(s);
    b = pmix_argv_copy(a);
    pmix_argv_free(a);
    CHECK(2 == pmix_argv_count(b));
    pmix_argv_free(b);
    a = pmix_argv_split("x::y", ':');
    CHECK(2 == pmix_argv_count(a));
    pmix_argv_free(a);
    a = pmix_argv_split_with_empty("x::y", ':');
    CHECK(3 == pmix_argv_count(a));
    pmix_argv_free(a);
#ifdef WITH_OLD_HELPERS
    a = pmix_argv_split_inter("x::y", ':', true);
    CHECK(3 == pmix_argv_count(a));
    pmix_argv_free(a);
#endif
    CHECK(PMIX_SUCCESS == pmix_setenv("WIREUP_TEST", "2", true, &env));
    CHECK(NULL != env && same(env[0], "WIREUP_TEST=2"));
    pmix_argv_free(env);
}

static void inline_helpers(void) {
    char text[8];
    void* p = pmix_malloc(8);
    CHECK(NULL != p);
    pmix_free(p);
    p = pmix_calloc(2, 4);
    CHECK(NULL != p && 0 == *(char*)p);
    pmix_free(p);
    pmix_strncpy(text, "longer than that", sizeof(text) - 1);
    CHECK(same(text, "longer "));
    CHECK(3 == pmix_keylen("key"));
    CHECK(2 == pmix_nslen("ns"));
}

static void values(void) {
    pmix_value_t v = PMIX_VALUE_STATIC_INIT, *pv = NULL, other;
    pmix_status_t rc;
    uint32_t u = 42, got = 0;
    void* data = &got; /* a number is copied to where the caller says */
    size_t size = 0;
    int number = 0;
    bool yes = true;

    CHECK(PMIX_UNDEF == v.type);
    PMIX_VALUE_CONSTRUCT(&v);
    PMIX_VALUE_LOAD(&v, &u, PMIX_UINT32);
    CHECK(PMIX_UINT32 == v.type && 42 == v.data.uint32);
    PMIX_VALUE_GET_NUMBER(rc, &v, number, int);
    CHECK(PMIX_SUCCESS == rc && 42 == number);
    PMIX_VALUE_UNLOAD(rc, &v, &data, &size);
    CHECK(PMIX_SUCCESS == rc && sizeof(got) == size && &got == data && 42 == got);
    PMIX_VALUE_LOAD(&v, "text", PMIX_STRING);
    PMIX_VALUE_GET_NUMBER(rc, &v, number, int);
    CHECK(PMIX_ERR_BAD_PARAM == rc);
    PMIX_VALUE_XFER(rc, pv, &v);
    CHECK(PMIX_SUCCESS == rc && NULL != pv && same(pv->data.string, "text"));
    PMIX_VALUE_CONSTRUCT(&other);
    PMIX_VALUE_XFER_DIRECT(rc, &other, &v);
    CHECK(PMIX_SUCCESS == rc && same(other.data.string, "text"));
    PMIX_VALUE_DESTRUCT(&other);
    PMIX_VALUE_DESTRUCT(&v);
    PMIX_VALUE_RELEASE(pv);
    CHECK(GONE(pv));
    PMIX_VALUE_CREATE(pv, 2);
    CHECK(NULL != pv);
    PMIX_VALUE_LOAD(&pv[1], &yes, PMIX_BOOL);
    CHECK(PMIX_CHECK_BOOL(&pv[1]));
    CHECK(PMIX_CHECK_TRUE(&pv[1]));
#ifdef WITH_OLD_HELPERS
    CHECK(PMIX_BOOL_TRUE == pmix_check_true(&pv[1]));
#endif
    PMIX_VALUE_FREE(pv, 2);
    CHECK(GONE(pv));
}

static void infos(void) {
    pmix_info_t one = PMIX_INFO_STATIC_INIT, *array = NULL;
    pmix_data_array_t converted = PMIX_DATA_ARRAY_STATIC_INIT;
    uint32_t n = 7;
    bool no = false;
    void* list = NULL;
    pmix_status_t rc;

    PMIX_INFO_CONSTRUCT(&one);
    PMIX_INFO_LOAD(&one, PMIX_JOB_SIZE, &n, PMIX_UINT32);
    CHECK(same(one.key, PMIX_JOB_SIZE) && 7 == one.value.data.uint32);
    PMIX_INFO_REQUIRED(&one);
    CHECK(PMIX_INFO_IS_REQUIRED(&one));
    PMIX_INFO_OPTIONAL(&one);
    CHECK(PMIX_INFO_IS_OPTIONAL(&one));
    PMIX_INFO_PROCESSED(&one);
    CHECK(PMIX_INFO_WAS_PROCESSED(&one));
    PMIX_INFO_SET_END(&one);
    CHECK(PMIX_INFO_IS_END(&one));
    PMIX_INFO_SET_QUALIFIER(&one);
    CHECK(PMIX_INFO_IS_QUALIFIER(&one));
    PMIX_INFO_SET_PERSISTENT(&one);
    CHECK(PMIX_INFO_IS_PERSISTENT(&one));
    PMIX_INFO_DESTRUCT(&one);

    PMIX_INFO_CREATE(array, 3);
    CHECK(NULL != array);
    PMIX_INFO_LOAD(&array[0], PMIX_HOSTNAME, "node1", PMIX_STRING);
    PMIX_INFO_XFER(&array[1], &array[0]);
    CHECK(same(array[1].value.data.string, "node1"));
    PMIX_INFO_LOAD(&array[2], PMIX_OPTIONAL, NULL, PMIX_BOOL);
    CHECK(PMIX_INFO_TRUE(&array[2]));
    PMIX_INFO_LOAD(&array[2], PMIX_OPTIONAL, &no, PMIX_BOOL);
    CHECK(!PMIX_INFO_TRUE(&array[2]));

    PMIX_INFO_LIST_START(list);
    CHECK(NULL != list);
    PMIX_INFO_LIST_ADD(rc, list, PMIX_JOB_SIZE, &n, PMIX_UINT32);
    CHECK(PMIX_SUCCESS == rc);
#ifdef PMIX_INFO_LIST_PREPEND
    PMIX_INFO_LIST_PREPEND(rc, list, PMIX_APP_SIZE, &n, PMIX_UINT32);
#else
    PMIX_INFO_LIST_ADD(rc, list, PMIX_APP_SIZE, &n, PMIX_UINT32);
#endif
    CHECK(PMIX_SUCCESS == rc);
    PMIX_INFO_LIST_XFER(rc, list, &array[0]);
    CHECK(PMIX_SUCCESS == rc);
    PMIX_INFO_LIST_INSERT(rc, list, &array[1]);
    CHECK(PMIX_SUCCESS == rc);
    PMIX_INFO_LIST_CONVERT(rc, list, &converted);
    CHECK(PMIX_SUCCESS == rc && PMIX_INFO == converted.type && 4 == converted.size);
    PMIX_INFO_LIST_RELEASE(list);
    PMIX_DATA_ARRAY_DESTRUCT(&converted);
    PMIX_INFO_FREE(array, 3);
    CHECK(GONE(array));
}

static void published(void) {
    pmix_pdata_t one = PMIX_LOOKUP_STATIC_INIT, *p = NULL;
    pmix_proc_t me;

    PMIX_LOAD_PROCID(&me, "job", 1);
    PMIX_PDATA_CONSTRUCT(&one);
    PMIX_PDATA_LOAD(&one, &me, "port", "1234", PMIX_STRING);
    CHECK(same(one.key, "port") && same(one.value.data.string, "1234"));
    PMIX_PDATA_CREATE(p, 2);
    CHECK(NULL != p);
    PMIX_PDATA_XFER(&p[1], &one);
    CHECK(same(p[1].value.data.string, "1234") && 1 == p[1].proc.rank);
    PMIX_PDATA_DESTRUCT(&one);
    PMIX_PDATA_FREE(p, 2);
    CHECK(GONE(p));
    PMIX_PDATA_CREATE(p, 1);
    PMIX_PDATA_RELEASE(p);
    CHECK(GONE(p));
#ifdef WITH_OLD_HELPERS
    PMIX_PDATA_CREATE(p, 1);
    pmix_pdata_free(p, 1);
    free(p);
#endif
}

static void apps_and_queries(void) {
    pmix_app_t app = PMIX_APP_STATIC_INIT, *apps = NULL;
    pmix_query_t query = PMIX_QUERY_STATIC_INIT, *queries = NULL;
    pmix_status_t rc;

    PMIX_APP_CONSTRUCT(&app);
    PMIX_ARGV_APPEND(rc, app.argv, "prog");
    CHECK(PMIX_SUCCESS == rc);
    PMIX_APP_INFO_CREATE(&app, 2);
    CHECK(2 == app.ninfo && NULL != app.info);
    PMIX_APP_DESTRUCT(&app);
    PMIX_APP_CREATE(apps, 2);
    CHECK(NULL != apps);
    PMIX_APP_FREE(apps, 2);
    CHECK(GONE(apps));
    PMIX_APP_CREATE(apps, 1);
    PMIX_APP_RELEASE(apps);
    CHECK(GONE(apps));
#ifdef WITH_OLD_HELPERS
    PMIX_APP_CREATE(apps, 1);
    pmix_app_free(apps, 1);
    free(apps);
#endif

    PMIX_QUERY_CONSTRUCT(&query);
    PMIX_ARGV_APPEND(rc, query.keys, PMIX_QUERY_NAMESPACES);
    PMIX_QUERY_QUALIFIERS_CREATE(&query, 2);
    CHECK(2 == query.nqual && NULL != query.qualifiers);
    PMIX_QUERY_DESTRUCT(&query);
    PMIX_QUERY_CREATE(queries, 2);
    CHECK(NULL != queries);
    PMIX_QUERY_FREE(queries, 2);
    CHECK(GONE(queries));
    PMIX_QUERY_CREATE(queries, 1);
    PMIX_QUERY_RELEASE(queries);
    CHECK(GONE(queries));
}

static void bytes(void) {
    pmix_byte_object_t bo = PMIX_BYTE_OBJECT_STATIC_INIT, *bos = NULL;
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT, *pb = NULL;
    pmix_envar_t var = PMIX_ENVAR_STATIC_INIT, *vars = NULL;
    char *data = (char*)malloc(4), *out = NULL;
    size_t size = 4;

    memcpy(data, "abcd", 4);
    PMIX_BYTE_OBJECT_CONSTRUCT(&bo);
    PMIX_BYTE_OBJECT_LOAD(&bo, data, size);
    CHECK(4 == bo.size && 0 == memcmp(bo.bytes, "abcd", 4) && NULL == data && 0 == size);
    PMIX_BYTE_OBJECT_DESTRUCT(&bo);
    PMIX_BYTE_OBJECT_CREATE(bos, 2);
    CHECK(NULL != bos);
    PMIX_BYTE_OBJECT_FREE(bos, 2);
    CHECK(GONE(bos));

    PMIX_DATA_BUFFER_CONSTRUCT(&buffer);
    data = (char*)malloc(4);
    memcpy(data, "efgh", 4);
    size = 4;
    PMIX_DATA_BUFFER_LOAD(&buffer, data, size);
    PMIX_DATA_BUFFER_UNLOAD(&buffer, out, size);
    CHECK(4 == size && NULL != out && 0 == memcmp(out, "efgh", 4));
    free(out);
    PMIX_DATA_BUFFER_DESTRUCT(&buffer);
    PMIX_DATA_BUFFER_CREATE(pb);
    CHECK(NULL != pb);
    PMIX_DATA_BUFFER_RELEASE(pb);
    CHECK(GONE(pb));

    PMIX_ENVAR_CONSTRUCT(&var);
    PMIX_ENVAR_LOAD(&var, (char*)"PATH", (char*)"/bin", ':');
    CHECK(same(var.envar, "PATH") && same(var.value, "/bin") && ':' == var.separator);
    PMIX_ENVAR_DESTRUCT(&var);
    PMIX_ENVAR_CREATE(vars, 2);
    CHECK(NULL != vars);
    PMIX_ENVAR_FREE(vars, 2);
    CHECK(GONE(vars));
}

static void arrays(void) {
    pmix_data_array_t a = PMIX_DATA_ARRAY_STATIC_INIT, *pa = NULL;

    PMIX_DATA_ARRAY_INIT(&a, PMIX_INFO);
    CHECK(PMIX_INFO == a.type && NULL == a.array);
    PMIX_DATA_ARRAY_CONSTRUCT(&a, 3, PMIX_STRING);
    CHECK(PMIX_STRING == a.type && 3 == a.size && NULL != a.array);
    ((char**)a.array)[0] = strdup("freed by the library");
    PMIX_DATA_ARRAY_DESTRUCT(&a);
    PMIX_DATA_ARRAY_CREATE(pa, 2, PMIX_INFO);
    CHECK(NULL != pa && 2 == pa->size);
    PMIX_INFO_LOAD(&((pmix_info_t*)pa->array)[1], PMIX_HOSTNAME, "n", PMIX_STRING);
    PMIX_DATA_ARRAY_FREE(pa);
    CHECK(GONE(pa));
}

/* What has nothing but the usual four macros. */
#define USUAL(TYPE, NAME)              \
    do {                               \
        TYPE one, *some = NULL;        \
        PMIX_##NAME##_CONSTRUCT(&one); \
        PMIX_##NAME##_DESTRUCT(&one);  \
        PMIX_##NAME##_CREATE(some, 2); \
        CHECK(NULL != some);           \
        PMIX_##NAME##_FREE(some, 2);   \
        CHECK(GONE(some));             \
    } while (0)

static void places(void) {
    pmix_coord_t coord = PMIX_COORD_STATIC_INIT;
    pmix_cpuset_t cpuset = PMIX_CPUSET_STATIC_INIT, *cpusets = NULL;
    pmix_topology_t topo = PMIX_TOPOLOGY_STATIC_INIT, *topos = NULL;
    pmix_geometry_t geometry = PMIX_GEOMETRY_STATIC_INIT;
    pmix_device_distance_t distance = PMIX_DEVICE_DIST_STATIC_INIT;
    pmix_endpoint_t endpoint = PMIX_ENDPOINT_STATIC_INIT;
    pmix_regattr_t attr = PMIX_REGATTR_STATIC_INIT, copy;
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    pmix_proc_info_t info = PMIX_PROC_INFO_STATIC_INIT, *pinfo = NULL;

    (void)cpuset, (void)topo, (void)geometry, (void)distance, (void)endpoint, (void)info, (void)coord;
    PMIX_COORD_CONSTRUCT(&coord);
    PMIX_COORD_DESTRUCT(&coord);
#if !WITH_INLINED_CODE /* before, PMIX_COORD_CREATE cleared memory through the old pointer */
    {
        pmix_coord_t* coords = NULL;
        PMIX_COORD_CREATE(coords, 2, 3);
        CHECK(NULL != coords && 3 == coords[0].dims && NULL != coords[0].coord);
        PMIX_COORD_FREE(coords, 2);
        CHECK(GONE(coords));
    }
#endif
    PMIX_CPUSET_CONSTRUCT(&cpuset);
    PMIX_CPUSET_CREATE(cpusets, 2);
    CHECK(NULL != cpusets);
#ifdef PMIX_CPUSET_FREE
    PMIX_CPUSET_DESTRUCT(&cpuset);
    PMIX_CPUSET_FREE(cpusets, 2);
    CHECK(GONE(cpusets));
#else
    free(cpusets);
#endif
    PMIX_TOPOLOGY_CONSTRUCT(&topo);
    PMIX_TOPOLOGY_DESTRUCT(&topo);
    PMIX_TOPOLOGY_CREATE(topos, 2);
    CHECK(NULL != topos);
#ifdef PMIX_TOPOLOGY_FREE
    PMIX_TOPOLOGY_FREE(topos, 2);
    CHECK(GONE(topos));
#else
    free(topos);
#endif
    USUAL(pmix_geometry_t, GEOMETRY);
    USUAL(pmix_device_distance_t, DEVICE_DIST);
    USUAL(pmix_endpoint_t, ENDPOINT);
    USUAL(pmix_regattr_t, REGATTR);
    USUAL(pmix_proc_info_t, PROC_INFO);
    PMIX_PROC_INFO_CREATE(pinfo, 1);
    pinfo->hostname = strdup("node1");
    PMIX_PROC_INFO_RELEASE(pinfo);
    CHECK(GONE(pinfo));
#ifdef PMIX_DEVICE_STATIC_INIT
    {
        pmix_device_t device = PMIX_DEVICE_STATIC_INIT;
        pmix_resource_unit_t unit = PMIX_RESOURCE_UNIT_STATIC_INIT;
        pmix_node_pid_t pid = PMIX_NODE_PID_STATIC_INIT;
        (void)device, (void)unit, (void)pid;
        USUAL(pmix_device_t, DEVICE);
        USUAL(pmix_resource_unit_t, RESOURCE_UNIT);
    }
#endif
#ifdef PMIX_REGEX2_STATIC_INIT
    {
        pmix_regex2_t regex = PMIX_REGEX2_STATIC_INIT;
        pmix_proc_t one, other;
        PMIX_LOAD_PROCID(&one, "job", PMIX_RANK_WILDCARD);
        PMIX_LOAD_PROCID(&other, "job", 3);
        CHECK(NULL == regex.type && NULL == regex.bytes && 0 == regex.len);
        CHECK(PMIX_CHECK_NSPACE_STRICT(one.nspace, "job") && !PMIX_CHECK_NSPACE_STRICT(one.nspace, ""));
        CHECK(PMIX_CHECK_PROCID_STRICT(&one, &one) && !PMIX_CHECK_PROCID_STRICT(&one, &other));
    }
#endif
    PMIX_REGATTR_CONSTRUCT(&attr);
#if !WITH_INLINED_CODE /* before, PMIX_REGATTR_LOAD did not compile */
    PMIX_REGATTR_LOAD(&attr, "PMIX_TIMEOUT", PMIX_TIMEOUT, PMIX_INT, "seconds");
    PMIX_REGATTR_XFER(&copy, &attr);
    CHECK(same(copy.name, "PMIX_TIMEOUT") && same(copy.string, PMIX_TIMEOUT) && PMIX_INT == copy.type);
#else
    PMIX_REGATTR_XFER(&copy, &attr);
#endif
    PMIX_REGATTR_DESTRUCT(&attr);
    PMIX_REGATTR_DESTRUCT(&copy);
    PMIX_FABRIC_CONSTRUCT(&fabric);
    CHECK(NULL == fabric.name && 0 == fabric.ninfo);
}

static void statistics(void) {
#ifdef PMIX_PROC_STATS /* gone in 6.0 */
    pmix_disk_stats_t disk = PMIX_DISK_STATS_STATIC_INIT, *disks = NULL;
    pmix_net_stats_t net = PMIX_NET_STATS_STATIC_INIT, *nets = NULL;
    pmix_node_stats_t node = PMIX_NODE_STATS_STATIC_INIT, *nodes = NULL;
    pmix_proc_stats_t* procs = NULL;
#if PMIX_NUMERIC_VERSION == 0x00070000 /* ours; elsewhere it does not compile */
    pmix_proc_stats_t proc = PMIX_PROC_STATS_STATIC_INIT;
    (void)proc;
#endif
    (void)disk, (void)net, (void)node;
    USUAL(pmix_proc_stats_t, PROC_STATS);
    USUAL(pmix_disk_stats_t, DISK_STATS);
    USUAL(pmix_net_stats_t, NET_STATS);
    USUAL(pmix_node_stats_t, NODE_STATS);
    PMIX_PROC_STATS_CREATE(procs, 1);
    procs->cmd = strdup("prog");
    PMIX_PROC_STATS_RELEASE(procs);
    CHECK(GONE(procs));
    PMIX_DISK_STATS_CREATE(disks, 1);
    PMIX_DISK_STATS_RELEASE(disks);
    PMIX_NET_STATS_CREATE(nets, 1);
    PMIX_NET_STATS_RELEASE(nets);
    PMIX_NODE_STATS_CREATE(nodes, 1);
    PMIX_NODE_STATS_RELEASE(nodes);
#ifdef WITH_OLD_HELPERS
    PMIX_PROC_STATS_CREATE(procs, 1);
    pmix_proc_stats_free(procs, 1);
    free(procs);
    PMIX_DISK_STATS_CREATE(disks, 1);
    pmix_disk_stats_free(disks, 1);
    free(disks);
    PMIX_NET_STATS_CREATE(nets, 1);
    pmix_net_stats_free(nets, 1);
    free(nets);
    PMIX_NODE_STATS_CREATE(nodes, 1);
    pmix_node_stats_free(nodes, 1);
    free(nodes);
#endif
#endif
}

/* A namespace or key may be written as a literal: compilers that know the size of an array must not warn (gcc 12 does
 * where a parameter is one of 256 bytes). Compiled, never called. */
void literals(void);
void literals(void) {
    pmix_proc_t proc, *procs = NULL;
    pmix_nspace_t nspace;
    pmix_key_t key;
    pmix_info_t info;
    size_t count = 0;
    char* list = NULL;
    PMIX_LOAD_PROCID(&proc, "job", 3);
    PMIX_LOAD_NSPACE(nspace, "job");
    PMIX_LOAD_KEY(key, "key");
    PMIX_INFO_LOAD(&info, "key", "text", PMIX_STRING);
    failed += PMIX_CHECK_NSPACE(nspace, "job") + PMIX_CHECK_NSPACE("job", proc.nspace) + PMIX_CHECK_KEY(&info, "key");
    failed += PMIX_CHECK_RESERVED_KEY("key");
    failed += PMIx_server_register_nspace("job", 1, &info, 1, NULL, NULL);
    PMIx_server_deregister_nspace("job", NULL, NULL);
    failed += PMIx_server_setup_application("job", &info, 1, NULL, NULL);
    failed += PMIx_server_setup_local_support("job", &info, 1, NULL, NULL);
    failed += PMIx_Resolve_peers("node", "job", &procs, &count);
    failed += PMIx_Resolve_nodes("job", &list);
#ifndef __cplusplus /* there the parameters are char* */
    PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(nspace, "cluster", "job");
#endif
}

int main(void) {
    names();
    lists_of_strings();
    inline_helpers();
    values();
    infos();
    published();
    apps_and_queries();
    bytes();
    arrays();
    places();
    statistics();
    return failed > 100 ? 100 : failed;
}
