/* SPDX-License-Identifier: BSD-3-Clause */
/* fabric: the fabric of pmixrun's simulated nodes, as a client registers it.
 * usage: fabric registered|refused */
#include "check.h"

static const pmix_value_t* in(const pmix_info_t* infos, size_t count, const char* key) {
    for (size_t i = 0; i < count; i++)
        if (PMIX_CHECK_KEY(&infos[i], key)) return &infos[i].value;
    return NULL;
}

static const char* text_of(const pmix_fabric_t* fabric, const char* key) {
    const pmix_value_t* value = in(fabric->info, fabric->ninfo, key);
    CHECK(value && value->type == PMIX_STRING);
    return value->data.string;
}

/* Node of a device, by its number. */
static const char* host_of(const pmix_fabric_t* fabric, size_t number, const pmix_geometry_t** where) {
    const pmix_value_t* devices = in(fabric->info, fabric->ninfo, PMIX_FABRIC_DEVICES);
    CHECK(devices && devices->type == PMIX_DATA_ARRAY && number < devices->data.darray->size);
    const pmix_info_t* device = &((const pmix_info_t*)devices->data.darray->array)[number];
    CHECK(PMIX_CHECK_KEY(device, PMIX_FABRIC_DEVICE));
    const pmix_info_t* facts = device->value.data.darray->array;
    size_t nfacts = device->value.data.darray->size;
    const pmix_value_t* index = in(facts, nfacts, PMIX_FABRIC_DEVICE_INDEX);
    CHECK(index && index->data.uint32 == number);
    *where = in(facts, nfacts, PMIX_FABRIC_DEVICE_COORDINATES)->data.geometry;
    const pmix_value_t* before_7 = in(facts, nfacts, "pmix.fab.coord");
    CHECK(before_7 && before_7->type == PMIX_GEOMETRY && before_7->data.geometry->ncoords == (*where)->ncoords);
    return in(facts, nfacts, PMIX_HOSTNAME)->data.string;
}

static void check_contents(const pmix_fabric_t* fabric, uint32_t nodes) {
    const pmix_value_t* size = in(fabric->info, fabric->ninfo, PMIX_FABRIC_NUM_DEVICES);
    const pmix_value_t* costs = in(fabric->info, fabric->ninfo, PMIX_FABRIC_COST_MATRIX);
    CHECK(strcmp(text_of(fabric, PMIX_FABRIC_VENDOR), "pmixrun") == 0);
    CHECK(strcmp(text_of(fabric, PMIX_FABRIC_IDENTIFIER), "simulated") == 0);
    CHECK(strcmp(text_of(fabric, PMIX_FABRIC_GROUPS), nodes == 1 ? "0:node1" : "0:node1,node2;1:node3") == 0);
    CHECK(size && size->type == PMIX_SIZE && size->data.size == nodes);
    CHECK(costs && costs->type == PMIX_POINTER && costs->data.ptr);
    const uint16_t* matrix = costs->data.ptr;
    for (uint32_t i = 0; i < nodes; i++) {
        const pmix_geometry_t* at;
        char name[32];
        snprintf(name, sizeof name, "node%u", i + 1);
        CHECK(strcmp(host_of(fabric, i, &at), name) == 0);
        CHECK(at->ncoords == 1 && at->coordinates->dims == 2 && at->coordinates->coord[0] == i / 2);
        for (uint32_t j = 0; j < nodes; j++) CHECK(matrix[i * nodes + j] == (i == j ? 0 : i / 2 == j / 2 ? 1 : 3));
    }
}

static void done(pmix_status_t status, void* box) {
    box_signal(box, status);
}

/* rows: X3 X4 U17 */
static void registered(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    static struct signal_box box = SIGNAL_BOX;
    uint32_t nodes = job_u32(PMIX_NUM_NODES);
    char* selectors[][2] = {
        {PMIX_FABRIC_VENDOR, "pmixrun"}, {PMIX_FABRIC_IDENTIFIER, "simulated"}, {PMIX_FABRIC_PLANE, "0"}};
    pmix_fabric_t fabric, other;
    pmix_info_t info;
    PMIX_FABRIC_CONSTRUCT(&fabric);
    PMIX_FABRIC_CONSTRUCT(&other);
    CHECK_OK(PMIx_Fabric_register(&fabric, NULL, 0));
    check_contents(&fabric, nodes);
    for (int i = 0; i < 3; i++) {
        PMIX_INFO_LOAD(&info, selectors[i][0], selectors[i][1], PMIX_STRING);
        CHECK_OK(PMIx_Fabric_register_nb(&other, &info, 1, done, &box));
        PMIX_INFO_DESTRUCT(&info);
        CHECK(box_wait(&box, 3 * i + 1, 60) && box.status == PMIX_SUCCESS);
        CHECK(other.index == fabric.index); /* the same one, under the same number */
        check_contents(&other, nodes);
        CHECK_OK(PMIx_Fabric_update_nb(&other, done, &box));
        CHECK(box_wait(&box, 3 * i + 2, 60) && box.status == PMIX_SUCCESS);
        check_contents(&other, nodes);
        CHECK_OK(PMIx_Fabric_deregister_nb(&other, done, &box));
        CHECK(box_wait(&box, 3 * i + 3, 60) && box.status == PMIX_SUCCESS);
        CHECK(other.info == NULL && other.ninfo == 0);
    }
    CHECK_OK(PMIx_Fabric_update(&fabric));
    check_contents(&fabric, nodes);
    CHECK_OK(PMIx_Fabric_deregister(&fabric));
    CHECK(PMIx_Fabric_update(&fabric) != PMIX_SUCCESS);
    CHECK(PMIx_Fabric_deregister(&fabric) != PMIX_SUCCESS);
    finish();
}

/* rows: X3 */
static void refused(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    const char* keys[] = {PMIX_FABRIC_VENDOR, PMIX_FABRIC_IDENTIFIER, PMIX_FABRIC_PLANE};
    pmix_fabric_t fabric;
    pmix_info_t info;
    PMIX_FABRIC_CONSTRUCT(&fabric);
    for (int i = 0; i < 3; i++) {
        PMIX_INFO_LOAD(&info, keys[i], "nowhere", PMIX_STRING);
        CHECK_STATUS(PMIx_Fabric_register(&fabric, &info, 1), PMIX_ERR_NOT_FOUND);
        PMIX_INFO_DESTRUCT(&info);
        CHECK(fabric.info == NULL && fabric.ninfo == 0);
    }
    CHECK_OK(PMIx_Fabric_register(&fabric, NULL, 0));
    const size_t own = fabric.index, other = own + 7;
    CHECK_OK(PMIx_Fabric_deregister(&fabric));
    PMIX_INFO_LOAD(&info, PMIX_FABRIC_INDEX, &other, PMIX_SIZE);
    CHECK_STATUS(PMIx_Fabric_register(&fabric, &info, 1), PMIX_ERR_NOT_FOUND);
    PMIX_INFO_LOAD(&info, PMIX_FABRIC_INDEX, &own, PMIX_SIZE);
    CHECK_OK(PMIx_Fabric_register(&fabric, &info, 1));
    CHECK(fabric.index == own);
    CHECK_OK(PMIx_Fabric_deregister(&fabric));
    CHECK_STATUS(PMIx_Fabric_register(NULL, NULL, 0), PMIX_ERR_BAD_PARAM);
    CHECK_STATUS(PMIx_Fabric_deregister(&fabric), PMIX_ERR_BAD_PARAM);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"registered", registered}, {"refused", refused}};
    RUN_CASE(cases);
    return 0;
}
