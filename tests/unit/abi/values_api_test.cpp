// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <climits>
#include <cstring>
#include <string>

#include "common/values/value.h"
#include "support/status.h"

namespace values_api_test {

namespace {

// construct, destruct (twice), create, fill by hand, free: for every struct; the sanitizer sees what is left.
// clang-format off
#define WITH_STRUCTS(X) \
    X(App, pmix_app_t) \
    X(Byte_object, pmix_byte_object_t) \
    X(Cpuset, pmix_cpuset_t) \
    X(Device, pmix_device_t) \
    X(Device_distance, pmix_device_distance_t) \
    X(Disk_stats, pmix_disk_stats_t) \
    X(Endpoint, pmix_endpoint_t) \
    X(Envar, pmix_envar_t) \
    X(Geometry, pmix_geometry_t) \
    X(Info, pmix_info_t) \
    X(Net_stats, pmix_net_stats_t) \
    X(Node_pid, pmix_node_pid_t) \
    X(Node_stats, pmix_node_stats_t) \
    X(Pdata, pmix_pdata_t) \
    X(Proc, pmix_proc_t) \
    X(Proc_info, pmix_proc_info_t) \
    X(Proc_stats, pmix_proc_stats_t) \
    X(Query, pmix_query_t) \
    X(Regattr, pmix_regattr_t) \
    X(Regex2, pmix_regex2_t) \
    X(Resource_unit, pmix_resource_unit_t) \
    X(Topology, pmix_topology_t) \
    X(Value, pmix_value_t)
// clang-format on

// rows: D13
TEST(Structs, ConstructDestructCreateFree){
#define ONE(NAME, TYPE)                                                  \
    {                                                                    \
        TYPE one;                                                        \
        memset(&one, 0xee, sizeof one);                                  \
        PMIx_##NAME##_construct(&one);                                   \
        PMIx_##NAME##_destruct(&one);                                    \
        PMIx_##NAME##_destruct(&one);                                    \
        PMIx_##NAME##_construct(nullptr);                                \
        PMIx_##NAME##_destruct(nullptr);                                 \
        EXPECT_EQ(PMIx_##NAME##_create(0), nullptr) << #NAME;            \
        TYPE* many = PMIx_##NAME##_create(3);                            \
        ASSERT_NE(many, nullptr) << #NAME;                               \
        TYPE like;                                                       \
        memset(&like, 0, sizeof like);                                   \
        PMIx_##NAME##_construct(&like);                                  \
        EXPECT_EQ(memcmp(&many[0], &like, sizeof like), 0) << #NAME;     \
        PMIx_##NAME##_free(many, 3);                                     \
        PMIx_##NAME##_free(nullptr, 3);                                  \
        EXPECT_EQ(PMIx_##NAME##_create(SIZE_MAX / 2), nullptr) << #NAME; \
    }
    WITH_STRUCTS(ONE)
#undef ONE
}

// Coordinates are made with their dimensions, unlike the others; construct and destruct are like them. rows: D13
TEST(Structs, Coordinates) {
    pmix_coord_t coord;
    memset(&coord, 0xee, sizeof coord);
    PMIx_Coord_construct(&coord);
    EXPECT_EQ(coord.view, PMIX_COORD_VIEW_UNDEF);
    EXPECT_EQ(coord.coord, nullptr);
    EXPECT_EQ(coord.dims, 0u);
    coord.coord = static_cast<uint32_t*>(calloc(3, sizeof(uint32_t)));
    coord.dims = 3;
    PMIx_Coord_destruct(&coord);
    PMIx_Coord_destruct(&coord);
    EXPECT_EQ(coord.coord, nullptr);
    EXPECT_EQ(coord.dims, 0u);
    PMIx_Coord_construct(nullptr);
    PMIx_Coord_destruct(nullptr);
}

// rows: D13
TEST(Structs, FreeingFreesTheMembers) {
    pmix_app_t* app = PMIx_App_create(2);
    app[1].cmd = strdup("cmd");
    PMIx_Argv_append_nosize(&app[1].argv, "a");
    PMIx_Argv_append_nosize(&app[1].env, "A=1");
    app[1].cwd = strdup("/");
    PMIx_App_info_create(&app[1], 2);
    ASSERT_EQ(app[1].ninfo, 2u);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&app[1].info[0], "k", "v", PMIX_STRING));
    PMIx_App_free(app, 2);
    pmix_app_t* single = PMIx_App_create(1);
    single->cmd = strdup("x");
    PMIx_App_release(single);
    PMIx_App_release(nullptr);
    PMIx_App_info_create(nullptr, 1);

    pmix_query_t* query = PMIx_Query_create(1);
    PMIx_Argv_append_nosize(&query->keys, "pmix.key");
    PMIx_Query_qualifiers_create(query, 1);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&query->qualifiers[0], "k", "v", PMIX_STRING));
    PMIx_Query_release(query);

    pmix_coord_t* coords = PMIx_Coord_create(3, 2);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(coords[i].dims, 3u);
        EXPECT_EQ(coords[i].coord[2], 0u);
    }
    PMIx_Coord_free(coords, 2);
    EXPECT_EQ(PMIx_Coord_create(3, 0), nullptr);

    pmix_regattr_t attr, copy;
    PMIx_Regattr_load(&attr, "NAME", "pmix.key", PMIX_INT, "what it is");
    PMIx_Regattr_xfer(&copy, &attr);
    PMIx_Regattr_destruct(&attr);
    EXPECT_STREQ(copy.name, "NAME");
    EXPECT_STREQ(copy.string, "pmix.key");
    EXPECT_STREQ(copy.description[0], "what it is");
    PMIx_Regattr_destruct(&copy);
    PMIx_Regattr_load(&attr, nullptr, nullptr, PMIX_INT, nullptr);
    PMIx_Regattr_destruct(&attr);

    pmix_envar_t envar;
    PMIx_Envar_construct(&envar);
    char name[] = "PATH", value[] = "/bin";
    PMIx_Envar_load(&envar, name, value, ':');
    EXPECT_NE(envar.envar, name);
    EXPECT_EQ(envar.separator, ':');
    PMIx_Envar_destruct(&envar);

    pmix_byte_object_t bo;
    PMIx_Byte_object_construct(&bo);
    PMIx_Byte_object_load(&bo, strdup("12345"), 5);
    EXPECT_EQ(bo.size, 5u);
    PMIx_Byte_object_destruct(&bo);
    EXPECT_EQ(bo.bytes, nullptr);
    EXPECT_EQ(bo.size, 0u);

    pmix_fabric_t fabric;
    memset(&fabric, 0xee, sizeof fabric);
    PMIx_Fabric_construct(&fabric);
    EXPECT_EQ(fabric.module, nullptr);
}

// rows: D13
TEST(Structs, DefaultsThatAreNotZero) {
    pmix_proc_t proc;
    PMIx_Proc_construct(&proc);
    EXPECT_EQ(proc.rank, PMIX_RANK_UNDEF);
    pmix_device_distance_t distance;
    PMIx_Device_distance_construct(&distance);
    EXPECT_EQ(distance.mindist, UINT16_MAX);
    pmix_info_t* infos = PMIx_Info_create(3);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(PMIx_Info_is_end(&infos[i]), i == 2);
    PMIx_Info_free(infos, 3);
}

TEST(DataArrays, OfEveryType) {
    for (pmix_data_type_t type = 0; type < 80; ++type) {
        const auto* row = pmix::common::type_row(type);
        bool has_elements = row != nullptr && row->size != 0;
        pmix_data_array_t* array = PMIx_Data_array_create(4, type);
        ASSERT_NE(array, nullptr);
        EXPECT_EQ(array->type, type);
        EXPECT_EQ(array->size, has_elements ? 4u : 0u) << type;
        EXPECT_EQ(array->array != nullptr, has_elements) << type;
        pmix_value_t value;
        if (has_elements) {
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&value, array, PMIX_DATA_ARRAY)) << type;
            pmix_value_t same = {};
            same.type = PMIX_DATA_ARRAY;
            same.data.darray = array;
            EXPECT_EQ(PMIx_Value_compare(&value, &same), PMIX_EQUAL) << type;
            PMIx_Value_destruct(&value);
        }
        PMIx_Data_array_free(array);
    }
    PMIx_Data_array_free(nullptr);
    PMIx_Data_array_destruct(nullptr);
    PMIx_Data_array_construct(nullptr, 1, PMIX_INT);
    PMIx_Data_array_init(nullptr, PMIX_INT);
    pmix_data_array_t none;
    PMIx_Data_array_construct(&none, 0, PMIX_INFO);
    EXPECT_EQ(none.array, nullptr);
    PMIx_Data_array_destruct(&none);
    PMIx_Data_array_destruct(&none);
}

// rows: D9
TEST(Values, Unload_OfEachKind_IntoTheCallersPlaceOrNewMemory) {
    pmix_value_t v;
    uint32_t n = 7;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, &n, PMIX_UINT32));
    uint32_t place = 0;
    void* data = &place;
    size_t size = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(place, 7u);
    EXPECT_EQ(size, sizeof place);
    data = nullptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(data, nullptr);

    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, "hello", PMIX_STRING));
    data = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_STREQ(static_cast<char*>(data), "hello");
    EXPECT_NE(data, v.data.string);
    EXPECT_EQ(size, 5u);
    free(data);
    PMIx_Value_destruct(&v);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, nullptr, PMIX_STRING));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(data, nullptr);
    EXPECT_EQ(size, 0u);

    pmix_byte_object_t bo = {const_cast<char*>("ab\0cd"), 5};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, &bo, PMIX_BYTE_OBJECT));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(size, 5u);
    EXPECT_EQ(memcmp(data, "ab\0cd", 5), 0);
    EXPECT_NE(data, v.data.bo.bytes);
    free(data);
    PMIx_Value_destruct(&v);

    pmix_proc_t proc;
    PMIx_Load_procid(&proc, "job", 3);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, &proc, PMIX_PROC));
    pmix_proc_t back = {};
    data = &back;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(memcmp(&proc, &back, sizeof proc), 0);
    PMIx_Value_destruct(&v);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, "job", PMIX_PROC_NSPACE));
    pmix_nspace_t nspace;
    data = nspace;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_STREQ(nspace, "job");
    EXPECT_EQ(size, 3u);
    PMIx_Value_destruct(&v);

    pmix_proc_info_t pinfo = {};
    pinfo.hostname = const_cast<char*>("node1");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, &pinfo, PMIX_PROC_INFO));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(size, sizeof pinfo);
    EXPECT_STREQ(static_cast<pmix_proc_info_t*>(data)->hostname, "node1");
    PMIx_Proc_info_free(static_cast<pmix_proc_info_t*>(data), 1);
    PMIx_Value_destruct(&v);

    int thing = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, &thing, PMIX_POINTER));
    data = nullptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_unload(&v, &data, &size));
    data = nspace;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&v, &data, &size));
    EXPECT_EQ(data, &thing);
    PMIx_Value_construct(&v);
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Value_unload(&v, &data, &size));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_unload(nullptr, &data, &size));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_unload(&v, nullptr, &size));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_unload(&v, &data, nullptr));
}

// rows: D9 D10
TEST(Values, NullArguments) {
    pmix_value_t v = {};
    size_t size;
    int number;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_load(nullptr, "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_xfer(nullptr, &v));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_xfer(&v, nullptr));
    EXPECT_EQ(PMIx_Value_compare(&v, nullptr), PMIX_VALUE_COMPARISON_NOT_AVAIL);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_get_size(nullptr, &size));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_get_size(&v, nullptr));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Value_get_size(&v, &size));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_get_number(nullptr, &number, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_get_number(&v, nullptr, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Value_get_number(&v, &number, PMIX_INT));
    EXPECT_EQ(PMIx_Value_true(nullptr), PMIX_NON_BOOL);
    EXPECT_EQ(PMIx_Info_true(nullptr), PMIX_NON_BOOL);
    pmix_value_t same;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&same, "x", PMIX_STRING));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_xfer(&same, &same));
    PMIx_Value_destruct(&same);
}

TEST(Values, Sizes) {
    auto size_of = [](const void* data, pmix_data_type_t type) {
        pmix_value_t v;
        size_t size = 0;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, data, type));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_get_size(&v, &size));
        PMIx_Value_destruct(&v);
        return size;
    };
    EXPECT_EQ(size_of("12345", PMIX_STRING), 6u);
    EXPECT_EQ(size_of(nullptr, PMIX_STRING), 1u);
    EXPECT_EQ(size_of(nullptr, PMIX_UINT64), 8u);
    pmix_byte_object_t bo = {const_cast<char*>("12345"), 5};
    EXPECT_EQ(size_of(&bo, PMIX_BYTE_OBJECT), sizeof bo + 5);
    uint32_t numbers[3] = {};
    pmix_data_array_t array = {PMIX_UINT32, 3, numbers};
    EXPECT_EQ(size_of(&array, PMIX_DATA_ARRAY), sizeof array + 12);
    pmix_info_t info;
    size_t size = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, "key", "12345", PMIX_STRING));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_get_size(&info, &size));
    EXPECT_EQ(size, sizeof info + 4 + 6);
    PMIx_Info_destruct(&info);
}

// rows: D11 G13
TEST(Infos, KeysAreCheckedAndFlagsKept) {
    pmix_info_t info, copy;
    std::string longest(PMIX_MAX_KEYLEN, 'k');
    memset(&info, 0xee, sizeof info);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, longest.c_str(), "v", PMIX_STRING));
    EXPECT_EQ(info.key, longest);
    EXPECT_EQ(info.flags, 0u);
    PMIx_Info_required(&info);
    PMIx_Info_set_end(&info);
    memset(&copy, 0xee, sizeof copy);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Info_xfer(&copy, &info));
    EXPECT_EQ(copy.flags, pmix_info_directives_t{PMIX_INFO_REQD});
    EXPECT_EQ(copy.key, longest);
    EXPECT_NE(copy.value.data.string, info.value.data.string);
    PMIx_Info_destruct(&copy);
    PMIx_Info_destruct(&info);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_load(&info, (longest + "k").c_str(), "v", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_load(&info, nullptr, "v", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_load(nullptr, "k", "v", PMIX_STRING));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_xfer(nullptr, &info));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Info_xfer(&info, nullptr));
    pmix_pdata_t pdata, pcopy;
    pmix_proc_t proc = {"job", 1};
    PMIx_Pdata_load(&pdata, &proc, "key", "v", PMIX_STRING);
    PMIx_Pdata_xfer(&pcopy, &pdata);
    PMIx_Pdata_destruct(&pdata);
    EXPECT_STREQ(pcopy.value.data.string, "v");
    EXPECT_EQ(pcopy.proc.rank, 1u);
    PMIx_Pdata_destruct(&pcopy);
    PMIx_Pdata_load(nullptr, &proc, "key", "v", PMIX_STRING);
    PMIx_Pdata_xfer(nullptr, &pdata);
}

// rows: D11 D14
TEST(Infos, FlagHelpers) {
    pmix_info_t info = {};
    EXPECT_TRUE(PMIx_Info_is_optional(&info));
    PMIx_Info_required(&info);
    PMIx_Info_processed(&info);
    PMIx_Info_qualifier(&info);
    PMIx_Info_persistent(&info);
    PMIx_Info_set_end(&info);
    EXPECT_TRUE(PMIx_Info_is_required(&info) && PMIx_Info_was_processed(&info) && PMIx_Info_is_qualifier(&info) &&
                PMIx_Info_is_persistent(&info) && PMIx_Info_is_end(&info));
    PMIx_Info_optional(&info);
    EXPECT_TRUE(PMIx_Info_is_optional(&info));
    EXPECT_EQ(info.flags, 0x1eu);
    PMIx_Info_required(nullptr);
    EXPECT_FALSE(PMIx_Info_is_required(nullptr));
}

// rows: D14 G14
TEST(Ids, ChecksAndLoads) {
    pmix_proc_t proc;
    memset(&proc, 0xee, sizeof proc);
    PMIx_Proc_load(&proc, "job", 7);
    EXPECT_STREQ(proc.nspace, "job");
    EXPECT_EQ(proc.rank, 7u);
    EXPECT_EQ(proc.nspace[sizeof proc.nspace - 1], '\0') << "nothing of what was there before";
    PMIx_Proc_load(&proc, nullptr, PMIX_RANK_WILDCARD);
    EXPECT_STREQ(proc.nspace, "");
    EXPECT_TRUE(PMIx_Check_reserved_key("pmixer"));
    EXPECT_TRUE(PMIx_Check_reserved_key("pmix.x"));
    EXPECT_FALSE(PMIx_Check_reserved_key("PMIX"));
    EXPECT_FALSE(PMIx_Check_reserved_key("xpmix"));
    EXPECT_FALSE(PMIx_Check_reserved_key(nullptr));
    EXPECT_TRUE(PMIx_Check_key("a", "a"));
    EXPECT_FALSE(PMIx_Check_key("a", nullptr));
    EXPECT_TRUE(PMIx_Nspace_invalid(nullptr) && PMIx_Nspace_invalid(""));
    EXPECT_TRUE(PMIx_Check_nspace("", "x") && PMIx_Check_nspace("x", "x"));
    EXPECT_FALSE(PMIx_Check_nspace("x", "y"));
    EXPECT_TRUE(PMIx_Check_nspace_strict("x", "x"));
    EXPECT_FALSE(PMIx_Check_nspace_strict("x", "y"));
    EXPECT_FALSE(PMIx_Check_nspace_strict("", "") || PMIx_Check_nspace_strict(nullptr, nullptr) ||
                 PMIx_Check_nspace_strict("x", "") || PMIx_Check_nspace_strict(nullptr, "x"));
    pmix_proc_t all, three, unnamed;
    PMIx_Load_procid(&all, "x", PMIX_RANK_WILDCARD);
    PMIx_Load_procid(&three, "x", 3);
    PMIx_Load_procid(&unnamed, "", 3);
    EXPECT_TRUE(PMIx_Check_procid_strict(&all, &all) && PMIx_Check_procid_strict(&three, &three));
    EXPECT_FALSE(PMIx_Check_procid_strict(&all, &three) || PMIx_Check_procid_strict(&three, &unnamed) ||
                 PMIx_Check_procid_strict(&unnamed, &unnamed) || PMIx_Check_procid_strict(nullptr, &three));
    EXPECT_TRUE(PMIx_Check_rank(PMIX_RANK_WILDCARD, 3) && PMIx_Check_rank(3, 3));
    EXPECT_FALSE(PMIx_Check_rank(PMIX_RANK_UNDEF, 3));
    EXPECT_TRUE(PMIx_Rank_valid(0) && PMIx_Rank_valid(PMIX_RANK_VALID - 1));
    EXPECT_FALSE(PMIx_Rank_valid(PMIX_RANK_VALID) || PMIx_Rank_valid(PMIX_RANK_WILDCARD));
    pmix_proc_t a, b;
    PMIx_Load_procid(&a, "job", 1);
    PMIx_Load_procid(&b, "job", PMIX_RANK_WILDCARD);
    EXPECT_TRUE(PMIx_Check_procid(&a, &b));
    PMIx_Load_procid(&b, "other", 1);
    EXPECT_FALSE(PMIx_Check_procid(&a, &b) || PMIx_Check_procid(&a, nullptr));
    PMIx_Xfer_procid(&b, &a);
    EXPECT_EQ(memcmp(&a, &b, sizeof a), 0);
    EXPECT_FALSE(PMIx_Procid_invalid(&a));
    b.rank = PMIX_RANK_INVALID;
    EXPECT_TRUE(PMIx_Procid_invalid(&b) && PMIx_Procid_invalid(nullptr));
    pmix_key_t key;
    memset(key, 0xee, sizeof key);
    std::string longer(600, 'k');
    PMIx_Load_key(key, longer.c_str());
    EXPECT_EQ(strlen(key), size_t{PMIX_MAX_KEYLEN});
    PMIx_Load_key(key, nullptr);
    for (char c : key) EXPECT_EQ(c, 0);
    pmix_nspace_t nspace;
    PMIx_Load_nspace(nspace, longer.c_str());
    EXPECT_EQ(strlen(nspace), size_t{PMIX_MAX_NSLEN});
    PMIx_Load_nspace(nspace, nspace);  // onto itself
    EXPECT_EQ(strlen(nspace), size_t{PMIX_MAX_NSLEN});
    PMIx_Load_key(nullptr, "k");
    PMIx_Load_nspace(nullptr, "n");
    PMIx_Load_procid(nullptr, "n", 0);
}

TEST(Ids, ClustersOfNamespaces) {
    pmix_nspace_t target, cluster = "c1", nspace = "job", c, n;
    PMIx_Multicluster_nspace_construct(target, cluster, nspace);
    EXPECT_STREQ(target, "c1:job");
    PMIx_Multicluster_nspace_parse(target, c, n);
    EXPECT_STREQ(c, "c1");
    EXPECT_STREQ(n, "job");
    memset(cluster, 'c', 200);
    memset(nspace, 'n', 54);
    cluster[200] = nspace[54] = '\0';
    PMIx_Multicluster_nspace_construct(target, cluster, nspace);
    EXPECT_EQ(strlen(target), 255u);
    PMIx_Multicluster_nspace_parse(target, c, n);
    EXPECT_STREQ(n, nspace);
    nspace[54] = 'n';
    nspace[55] = '\0';
    PMIx_Multicluster_nspace_construct(target, cluster, nspace);
    EXPECT_STREQ(target, "");
    PMIx_Load_nspace(target, "nocolon");
    PMIx_Multicluster_nspace_parse(target, c, n);
    EXPECT_STREQ(c, "nocolon");
    EXPECT_STREQ(n, "");
}

// rows: D6 D7
TEST(Buffers, LoadEmbedUnload) {
    pmix_data_buffer_t* buffer = PMIx_Data_buffer_create();
    pmix_byte_object_t payload = {strdup("12345"), 5};
    char* given = payload.bytes;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_load(buffer, &payload));
    EXPECT_EQ(payload.bytes, nullptr);
    EXPECT_EQ(buffer->base_ptr, given);
    EXPECT_EQ(buffer->bytes_used, 5u);
    buffer->unpack_ptr += 2;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unload(buffer, &payload));
    EXPECT_EQ(payload.size, 3u);
    EXPECT_EQ(memcmp(payload.bytes, "345", 3), 0);
    EXPECT_EQ(buffer->base_ptr, nullptr);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(buffer, &payload));
    EXPECT_EQ(payload.size, 3u);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(buffer, &payload));  // the old content is freed
    char* bytes = nullptr;
    size_t size = 0;
    PMIx_Data_buffer_unload(buffer, &bytes, &size);
    EXPECT_EQ(size, 3u);
    PMIx_Data_buffer_load(buffer, bytes, size);
    EXPECT_EQ(buffer->base_ptr, bytes);
    PMIx_Byte_object_destruct(&payload);
    PMIx_Data_buffer_release(buffer);

    pmix_data_buffer_t empty;
    PMIx_Data_buffer_construct(&empty);
    payload.bytes = reinterpret_cast<char*>(&payload);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unload(&empty, &payload));
    EXPECT_EQ(payload.bytes, nullptr);
    EXPECT_EQ(payload.size, 0u);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_load(&empty, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&empty, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_load(nullptr, &payload));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_embed(nullptr, &payload));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unload(nullptr, &payload));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unload(&empty, nullptr));
    PMIx_Data_buffer_destruct(&empty);
    PMIx_Data_buffer_destruct(nullptr);
    PMIx_Data_buffer_release(nullptr);
    PMIx_Data_buffer_unload(nullptr, &bytes, &size);
    EXPECT_EQ(bytes, nullptr);
    EXPECT_EQ(size, 0u);
}

// rows: H9
TEST(Hwloc, ObjectsOfAnotherSourceAreLeftAlone) {
    int object = 0;  // freeing it would crash
    pmix_topology_t topology;
    PMIx_Topology_construct(&topology);
    topology.source = strdup("other:1.0");
    topology.topology = &object;
    PMIx_Topology_destruct(&topology);
    EXPECT_EQ(topology.source, nullptr);
    EXPECT_EQ(topology.topology, nullptr);
    PMIx_Topology_destruct(&topology);
    pmix_cpuset_t* cpusets = PMIx_Cpuset_create(2);
    cpusets[0].source = strdup("other");
    cpusets[0].bitmap = &object;
    PMIx_Cpuset_free(cpusets, 2);
}

// rows: Y4
TEST(Texts, OfStructs) {
    pmix_proc_t proc = {"job", PMIX_RANK_WILDCARD};
    char* text = PMIx_Proc_string(&proc);
    EXPECT_STREQ(text, "[job:WILDCARD]");
    free(text);
    pmix_value_t v;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&v, "x", PMIX_STRING));
    text = PMIx_Value_string(&v);
    EXPECT_STREQ(text, "PMIX_STRING \"x\"");
    free(text);
    PMIx_Value_destruct(&v);
    pmix_info_t info;
    uint32_t n = 5;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, "k", &n, PMIX_UINT32));
    text = PMIx_Info_string(&info);
    EXPECT_STREQ(text, "{key=k, flags=NONE, value=PMIX_UINT32 5}");
    free(text);
    pmix_resource_unit_t unit = {PMIX_DEVTYPE_GPU, 4};
    text = PMIx_Resource_unit_string(&unit);
    EXPECT_STREQ(text, "PMIX_DEVTYPE_GPU x 4");
    free(text);
    pmix_app_t app = {};
    for (char* null : {PMIx_Proc_string(nullptr), PMIx_Value_string(nullptr), PMIx_Info_string(nullptr),
                       PMIx_App_string(nullptr), PMIx_Resource_unit_string(nullptr), PMIx_App_string(&app)}) {
        ASSERT_NE(null, nullptr);
        free(null);
    }
}

}  // namespace

}  // namespace values_api_test
