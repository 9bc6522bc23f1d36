/* SPDX-License-Identifier: BSD-3-Clause */
/* Data Structures and Types: constructors, helpers of keys, namespaces and ranks, info lists, argument arrays. */
#include "check.h"

#define CHAPTER "Data Structures and Types / "
#define KEYS "Data Structures and Types / Key Structure"
#define NAMESPACES "Data Structures and Types / Namespace Structure"
#define RANKS "Data Structures and Types / Rank Structure"
#define PROCS "Data Structures and Types / Process Structure"
#define VALUES "Data Structures and Types / Value Structure"
#define INFOS "Data Structures and Types / Info Structure"
#define DIRECTIVES "Data Structures and Types / Info Type Directives"
#define ARGV "Data Structures and Types / Argument Array Functions"

__attribute__((constructor)) static void need_library(void) {
    rows_need_library = true;
}

/* The four macros of a structure: CONSTRUCT, DESTRUCT, CREATE, FREE. */
#define FOUR(name, type, PREFIX)                                                                             \
    ROW(name##_construct, CHAPTER #type,                                                                     \
        "After " #PREFIX "_CONSTRUCT all pointers and counts are zero, and destruction may follow") {        \
        type one;                                                                                            \
        memset(&one, 0xff, sizeof(one));                                                                     \
        PREFIX##_CONSTRUCT(&one);                                                                            \
        expect_constructed_##name(&one);                                                                     \
        PREFIX##_DESTRUCT(&one);                                                                             \
    }                                                                                                        \
    ROW(name##_create, CHAPTER #type,                                                                        \
        #PREFIX "_CREATE makes an array of constructed elements, which " #PREFIX "_FREE releases") {         \
        type* all = NULL;                                                                                    \
        PREFIX##_CREATE(all, 5);                                                                             \
        EXPECT(all != NULL);                                                                                 \
        for (int i = 0; i < 5; ++i) expect_constructed_##name(&all[i]);                                      \
        PREFIX##_FREE(all, 5);                                                                               \
    }                                                                                                        \
    ROW(name##_again, CHAPTER #type, "A structure is destructed with its contents, and constructed again") { \
        type one;                                                                                            \
        PREFIX##_CONSTRUCT(&one);                                                                            \
        fill_##name(&one);                                                                                   \
        PREFIX##_DESTRUCT(&one);                                                                             \
        PREFIX##_CONSTRUCT(&one);                                                                            \
        expect_constructed_##name(&one);                                                                     \
    }

static void expect_constructed_proc(const pmix_proc_t* p) {
    EXPECT_STRING("", p->nspace);
}
static void fill_proc(pmix_proc_t* p) {
    *p = proc_of("job", 1);
}
FOUR(proc, pmix_proc_t, PMIX_PROC)

static void expect_constructed_value(const pmix_value_t* p) {
    EXPECT_INT(PMIX_UNDEF, p->type);
}
static void fill_value(pmix_value_t* p) {
    PMIX_VALUE_LOAD(p, "text", PMIX_STRING);
}
FOUR(value, pmix_value_t, PMIX_VALUE)

static void expect_constructed_info(const pmix_info_t* p) {
    EXPECT_STRING("", p->key);
    EXPECT_INT(PMIX_UNDEF, p->value.type);
    EXPECT(!PMIX_INFO_IS_REQUIRED(p));
}
static void fill_info(pmix_info_t* p) {
    PMIX_INFO_LOAD(p, "key", "text", PMIX_STRING);
}
FOUR(info, pmix_info_t, PMIX_INFO)

static void expect_constructed_pdata(const pmix_pdata_t* p) {
    EXPECT_STRING("", p->key);
    EXPECT_STRING("", p->proc.nspace);
    EXPECT_INT(PMIX_UNDEF, p->value.type);
}
static void fill_pdata(pmix_pdata_t* p) {
    PMIX_VALUE_LOAD(&p->value, "text", PMIX_STRING);
}
FOUR(pdata, pmix_pdata_t, PMIX_PDATA)

static void expect_constructed_app(const pmix_app_t* p) {
    EXPECT(p->cmd == NULL && p->argv == NULL && p->env == NULL && p->cwd == NULL && p->info == NULL);
    EXPECT_INT(0, p->ninfo);
}
static void fill_app(pmix_app_t* p) {
    p->cmd = strdup("program");
}
FOUR(app, pmix_app_t, PMIX_APP)

static void expect_constructed_query(const pmix_query_t* p) {
    EXPECT(p->keys == NULL && p->qualifiers == NULL);
    EXPECT_INT(0, p->nqual);
}
static void fill_query(pmix_query_t* p) {
    PMIX_INFO_CREATE(p->qualifiers, 2);
    p->nqual = 2;
}
FOUR(query, pmix_query_t, PMIX_QUERY)

static void expect_constructed_envar(const pmix_envar_t* p) {
    EXPECT(p->envar == NULL && p->value == NULL);
}
static void fill_envar(pmix_envar_t* p) {
    PMIX_ENVAR_LOAD(p, "PATH", "/bin", ':');
}
FOUR(envar, pmix_envar_t, PMIX_ENVAR)

static void expect_constructed_bytes(const pmix_byte_object_t* p) {
    EXPECT(p->bytes == NULL);
    EXPECT_INT(0, p->size);
}
static void fill_bytes(pmix_byte_object_t* p) {
    p->bytes = malloc(3);
    p->size = 3;
}
FOUR(bytes, pmix_byte_object_t, PMIX_BYTE_OBJECT)

static void expect_constructed_proc_info(const pmix_proc_info_t* p) {
    EXPECT(p->hostname == NULL && p->executable_name == NULL);
    EXPECT_STRING("", p->proc.nspace);
}
static void fill_proc_info(pmix_proc_info_t* p) {
    p->hostname = strdup("host");
}
FOUR(proc_info, pmix_proc_info_t, PMIX_PROC_INFO)

static void expect_constructed_regattr(const pmix_regattr_t* p) {
    EXPECT(p->name == NULL && p->description == NULL);
    EXPECT_STRING("", p->string);
}
static void fill_regattr(pmix_regattr_t* p) {
    p->name = strdup("PMIX_TIMEOUT");
}
FOUR(regattr, pmix_regattr_t, PMIX_REGATTR)

static void expect_constructed_geometry(const pmix_geometry_t* p) {
    EXPECT(p->uuid == NULL && p->osname == NULL && p->coordinates == NULL);
    EXPECT_INT(0, p->ncoords);
}
static void fill_geometry(pmix_geometry_t* p) {
    p->uuid = strdup("fab://host::0");
}
#ifdef PMIX_GEOMETRY_CONSTRUCT
FOUR(geometry, pmix_geometry_t, PMIX_GEOMETRY)
#endif

static void expect_constructed_device_distance(const pmix_device_distance_t* p) {
    EXPECT(p->uuid == NULL && p->osname == NULL);
}
static void fill_device_distance(pmix_device_distance_t* p) {
    p->uuid = strdup("gpu://host::0");
}
#ifdef PMIX_DEVICE_DIST_CONSTRUCT
FOUR(device_distance, pmix_device_distance_t, PMIX_DEVICE_DIST)
#endif

static void expect_constructed_endpoint(const pmix_endpoint_t* p) {
    EXPECT(p->uuid == NULL && p->osname == NULL && p->endpt.bytes == NULL);
    EXPECT_INT(0, p->endpt.size);
}
static void fill_endpoint(pmix_endpoint_t* p) {
    p->uuid = strdup("fab://host::0");
}
#ifdef PMIX_ENDPOINT_CONSTRUCT
FOUR(endpoint, pmix_endpoint_t, PMIX_ENDPOINT)
#endif

/* ---- keys, namespaces, ranks ---- */

ROW(check_key, KEYS, "An info has the key that it was loaded with, and no other") {
    pmix_info_t info = info_of("conformance.key", "text", PMIX_STRING);
    EXPECT(PMIX_CHECK_KEY(&info, "conformance.key"));
    EXPECT(!PMIX_CHECK_KEY(&info, "conformance.keys"));
    EXPECT(!PMIX_CHECK_KEY(&info, "conformance.ke"));
    EXPECT(!PMIX_CHECK_KEY(&info, "CONFORMANCE.KEY"));
}
ROW(load_key_longest, KEYS,
    "A key of PMIX_MAX_KEYLEN characters is loaded whole, a longer one is cut with its end kept") {
    char text[PMIX_MAX_KEYLEN + 50];
    memset(text, 'k', sizeof(text));
    text[PMIX_MAX_KEYLEN] = '\0';
    pmix_key_t key;
    memset(key, 0x55, PMIX_MAX_KEYLEN + 1);
    PMIX_LOAD_KEY(key, text);
    EXPECT_STRING(text, key);
    memset(text, 'k', sizeof(text));
    text[PMIX_MAX_KEYLEN + 20] = '\0';
    PMIX_LOAD_KEY(key, text);
    EXPECT(strlen(key) <= PMIX_MAX_KEYLEN);
}
#ifdef PMIX_CHECK_RESERVED_KEY
ROW(reserved_key, KEYS, "Keys that begin with pmix are reserved") {
    EXPECT(PMIX_CHECK_RESERVED_KEY(PMIX_JOB_SIZE));
    EXPECT(PMIX_CHECK_RESERVED_KEY("pmix.conformance"));
    EXPECT(!PMIX_CHECK_RESERVED_KEY("conformance.pmix"));
    EXPECT(!PMIX_CHECK_RESERVED_KEY("PMIX"));
    EXPECT(!PMIX_CHECK_RESERVED_KEY("pmi"));
}
#endif
ROW(check_nspace, NAMESPACES, "Namespaces are equal where all characters are") {
    EXPECT(PMIX_CHECK_NSPACE("job", "job"));
    EXPECT(!PMIX_CHECK_NSPACE("job", "jobs"));
    EXPECT(!PMIX_CHECK_NSPACE("job", "Job"));
}
ROW(load_nspace, NAMESPACES, "A namespace is loaded whole; NULL makes it empty") {
    pmix_nspace_t nspace;
    char text[PMIX_MAX_NSLEN + 50];
    memset(text, 'n', sizeof(text));
    text[PMIX_MAX_NSLEN] = '\0';
    PMIX_LOAD_NSPACE(nspace, text);
    EXPECT_STRING(text, nspace);
    PMIX_LOAD_NSPACE(nspace, NULL);
    for (int i = 0; i <= PMIX_MAX_NSLEN; ++i) EXPECT(nspace[i] == '\0');
}
#ifdef PMIX_NSPACE_INVALID
ROW(nspace_invalid, NAMESPACES, "Only the empty namespace is invalid") {
    EXPECT(PMIX_NSPACE_INVALID(""));
    EXPECT(!PMIX_NSPACE_INVALID("job"));
}
#endif
ROW(rank_constants, RANKS, "The special ranks have the values of the Standard") {
    EXPECT_INT(UINT32_MAX, PMIX_RANK_UNDEF);
    EXPECT_INT(UINT32_MAX - 1, PMIX_RANK_WILDCARD);
    EXPECT_INT(UINT32_MAX - 2, PMIX_RANK_LOCAL_NODE);
    EXPECT_INT(UINT32_MAX - 3, PMIX_RANK_INVALID);
    EXPECT_INT(UINT32_MAX - 4, PMIX_RANK_LOCAL_PEERS);
    EXPECT_INT(UINT32_MAX - 50, PMIX_RANK_VALID);
}
#ifdef PMIX_CHECK_RANK
ROW(check_rank, RANKS, "Ranks are equal by number, and the wildcard equals any") {
    EXPECT(PMIX_CHECK_RANK(3, 3));
    EXPECT(!PMIX_CHECK_RANK(3, 4));
    EXPECT(PMIX_CHECK_RANK(3, PMIX_RANK_WILDCARD));
    EXPECT(PMIX_CHECK_RANK(PMIX_RANK_WILDCARD, 0));
    EXPECT(!PMIX_CHECK_RANK(3, PMIX_RANK_UNDEF));
}
#endif
#ifdef PMIX_RANK_IS_VALID
ROW(rank_valid, RANKS, "Ranks below PMIX_RANK_VALID are valid") {
    EXPECT(PMIX_RANK_IS_VALID(0));
    EXPECT(PMIX_RANK_IS_VALID(PMIX_RANK_VALID - 1));
    EXPECT(!PMIX_RANK_IS_VALID(PMIX_RANK_VALID));
    EXPECT(!PMIX_RANK_IS_VALID(PMIX_RANK_WILDCARD));
}
#endif
ROW(load_procid, PROCS, "Namespace and rank are loaded, also over an older identifier") {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, "a-rather-long-name", 3);
    PMIX_LOAD_PROCID(&proc, "job", PMIX_RANK_WILDCARD);
    EXPECT_STRING("job", proc.nspace);
    EXPECT_INT(PMIX_RANK_WILDCARD, proc.rank);
}
ROW(check_procid, PROCS, "Identifiers are equal by namespace and rank; a wildcard rank equals any") {
    pmix_proc_t a = proc_of("job", 1), b = proc_of("job", 1), c = proc_of("job", 2), d = proc_of("other", 1),
                any = proc_of("job", PMIX_RANK_WILDCARD);
    EXPECT(PMIX_CHECK_PROCID(&a, &b));
    EXPECT(!PMIX_CHECK_PROCID(&a, &c));
    EXPECT(!PMIX_CHECK_PROCID(&a, &d));
    EXPECT(PMIX_CHECK_PROCID(&a, &any));
    EXPECT(PMIX_CHECK_PROCID(&any, &c));
    EXPECT(!PMIX_CHECK_PROCID(&any, &d));
}
#ifdef PMIX_PROCID_INVALID
ROW(procid_invalid, PROCS, "An empty namespace or PMIX_RANK_INVALID makes an identifier invalid") {
    pmix_proc_t good = proc_of("job", 1), no_name = proc_of("", 1), no_rank = proc_of("job", PMIX_RANK_INVALID),
                any = proc_of("job", PMIX_RANK_WILDCARD);
    EXPECT(!PMIX_PROCID_INVALID(&good));
    EXPECT(PMIX_PROCID_INVALID(&no_name));
    EXPECT(PMIX_PROCID_INVALID(&no_rank));
    EXPECT(!PMIX_PROCID_INVALID(&any));
}
#endif
#ifdef PMIX_PROCID_XFER
ROW(procid_xfer, PROCS, "An identifier is copied") {
    pmix_proc_t source = proc_of("job", 12), target = proc_of("another", 5);
    PMIX_PROCID_XFER(&target, &source);
    EXPECT_STRING("job", target.nspace);
    EXPECT_INT(12, target.rank);
}
#endif
#ifdef PMIX_MULTICLUSTER_NSPACE_CONSTRUCT
ROW(multicluster, PROCS, "Cluster and namespace are found again in a multi-cluster name") {
    pmix_nspace_t both, cluster, nspace;
    PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(both, "cluster", "job");
    EXPECT(strstr(both, "cluster") != NULL && strstr(both, "job") != NULL);
    PMIX_MULTICLUSTER_NSPACE_PARSE(both, cluster, nspace);
    EXPECT_STRING("cluster", cluster);
    EXPECT_STRING("job", nspace);
}
#endif

/* ---- values and infos ---- */

ROW(value_load_null_bool, VALUES, "No data with PMIX_BOOL is true") {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_INFO_LOAD(&info, "flag", NULL, PMIX_BOOL);
    EXPECT_INT(PMIX_BOOL, info.value.type);
    EXPECT(info.value.data.flag);
}
ROW(info_true, INFOS, "True are PMIX_UNDEF and a PMIX_BOOL that is set") {
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    EXPECT(PMIX_INFO_TRUE(&info));
    bool no = false, yes = true;
    info = info_of("flag", &yes, PMIX_BOOL);
    EXPECT(PMIX_INFO_TRUE(&info));
    info = info_of("flag", &no, PMIX_BOOL);
    EXPECT(!PMIX_INFO_TRUE(&info));
}
ROW(info_longest_key, INFOS, "A key of PMIX_MAX_KEYLEN characters is kept whole") {
    char text[PMIX_MAX_KEYLEN + 1];
    memset(text, 'k', PMIX_MAX_KEYLEN);
    text[PMIX_MAX_KEYLEN] = '\0';
    pmix_info_t info = info_of(text, "value", PMIX_STRING);
    EXPECT_STRING(text, info.key);
}
ROW(info_required, DIRECTIVES, "Required and optional are set and tested") {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT(!PMIX_INFO_IS_REQUIRED(&info));
    PMIX_INFO_REQUIRED(&info);
    EXPECT(PMIX_INFO_IS_REQUIRED(&info));
    PMIX_INFO_OPTIONAL(&info);
    EXPECT(!PMIX_INFO_IS_REQUIRED(&info));
    EXPECT(PMIX_INFO_IS_OPTIONAL(&info));
}
#ifdef PMIX_INFO_PROCESSED
ROW(info_processed, DIRECTIVES, "A directive is marked as processed beside being required") {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    PMIX_INFO_REQUIRED(&info);
    EXPECT(!PMIX_INFO_WAS_PROCESSED(&info));
    PMIX_INFO_PROCESSED(&info);
    EXPECT(PMIX_INFO_WAS_PROCESSED(&info));
    EXPECT(PMIX_INFO_IS_REQUIRED(&info));
}
#endif
#ifdef PMIX_INFO_SET_QUALIFIER
ROW(info_qualifier, DIRECTIVES, "A qualifier is marked as one") {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    EXPECT(!PMIX_INFO_IS_QUALIFIER(&info));
    PMIX_INFO_SET_QUALIFIER(&info);
    EXPECT(PMIX_INFO_IS_QUALIFIER(&info));
    EXPECT_STRING("value", info.value.data.string);
}
#endif
#ifdef PMIX_INFO_SET_PERSISTENT
ROW(info_persistent, DIRECTIVES, "The data of a persistent info stays when the info is released") {
    pmix_info_t info = info_of("key", "value", PMIX_STRING);
    char* kept = info.value.data.string;
    PMIX_INFO_SET_PERSISTENT(&info);
    EXPECT(PMIX_INFO_IS_PERSISTENT(&info));
    PMIX_INFO_DESTRUCT(&info);
    EXPECT_STRING("value", kept);
    free(kept);
}
#endif
ROW(info_end, DIRECTIVES, "The last element of PMIX_INFO_CREATE is marked as the end, no other") {
    pmix_info_t* infos;
    PMIX_INFO_CREATE(infos, 3);
    EXPECT(!PMIX_INFO_IS_END(&infos[0]));
    EXPECT(!PMIX_INFO_IS_END(&infos[1]));
    EXPECT(PMIX_INFO_IS_END(&infos[2]));
    PMIX_INFO_FREE(infos, 3);
}
ROW(directive_constants, DIRECTIVES, "The bits of the directives have the values of the Standard") {
    EXPECT_INT(1, PMIX_INFO_REQD);
    EXPECT_INT(2, PMIX_INFO_ARRAY_END);
    EXPECT_INT(0xffff0000, PMIX_INFO_DIR_RESERVED);
#ifdef PMIX_INFO_REQD_PROCESSED
    EXPECT_INT(4, PMIX_INFO_REQD_PROCESSED);
#endif
}

/* PMIX_VALUE_GET_NUMBER(status, value, destination, C type) in the older headers, a function in the newer ones. */
#ifdef HAVE_PMIx_Value_get_number
#define GET_NUMBER "Data Structures and Types / PMIx_Value_get_number"
ROW(number_widen, GET_NUMBER, "A number is returned in a wider type") {
    uint8_t small = 200;
    pmix_info_t info = info_of("n", &small, PMIX_UINT8);
    uint16_t wide = 0;
    EXPECT_OK(PMIx_Value_get_number(&info.value, &wide, PMIX_UINT16));
    EXPECT_INT(200, wide);
    int64_t wider = 0;
    EXPECT_OK(PMIx_Value_get_number(&info.value, &wider, PMIX_INT64));
    EXPECT_INT(200, wider);
}
ROW(number_text, GET_NUMBER, "A value that is no number is PMIX_ERR_BAD_PARAM") {
    pmix_info_t info = info_of("n", "7", PMIX_STRING);
    int number = 5;
    EXPECT_STATUS(PMIx_Value_get_number(&info.value, &number, PMIX_INT), PMIX_ERR_BAD_PARAM);
    EXPECT_INT(5, number);
}
ROW(number_sign, GET_NUMBER, "A negative number in an unsigned type is PMIX_ERR_CHANGE_SIGN, and nothing is stored") {
    int negative = -3;
    pmix_info_t info = info_of("n", &negative, PMIX_INT);
    size_t number = 5;
    EXPECT_STATUS(PMIx_Value_get_number(&info.value, &number, PMIX_SIZE), PMIX_ERR_CHANGE_SIGN);
    EXPECT_INT(5, number);
}
ROW(number_precision, GET_NUMBER, "A fraction in an integer type is PMIX_ERR_LOST_PRECISION, and nothing is stored") {
    float fraction = 1.5f;
    pmix_info_t info = info_of("n", &fraction, PMIX_FLOAT);
    int number = 5;
    EXPECT_STATUS(PMIx_Value_get_number(&info.value, &number, PMIX_INT), PMIX_ERR_LOST_PRECISION);
    EXPECT_INT(5, number);
}
#endif
