/* SPDX-License-Identifier: BSD-3-Clause */
/* Process Management: topology, cpusets, locality, distances; Fabric Support Definitions. */
#include "check.h"
#include "host.h"

#define LOAD "Process Management / PMIx_Load_topology"
#define CPUSET "Process Management / PMIx_Parse_cpuset_string"
#define GET_CPUSET "Process Management / PMIx_Get_cpuset"
#define LOCALITY "Process Management / PMIx_Get_relative_locality"
#define DISTANCES "Process Management / PMIx_Compute_distances"
#define FABRIC "Fabric Support Definitions / PMIx_Fabric_register"

#ifdef HAVE_PMIx_Load_topology
static pmix_topology_t topology;
static pmix_cpuset_t cpuset;
static void load(void) {
    memset(&topology, 0, sizeof(topology));
    EXPECT_OPTIONAL(PMIx_Load_topology(&topology), PMIX_SUCCESS);
}

ROW(topology_load, LOAD, "The topology of the node is returned with its source", .ranks = 1) {
    load();
    EXPECT(topology.source != NULL);
    EXPECT(topology.topology != NULL);
}
ROW(topology_again, LOAD, "A second request for the same source works", .ranks = 1) {
    load();
    pmix_topology_t again = {strdup(topology.source), NULL};
    EXPECT_OK(PMIx_Load_topology(&again));
    EXPECT(again.topology != NULL);
}
ROW(topology_unknown_source, LOAD, "A source that is unknown is PMIX_ERR_NOT_SUPPORTED", .ranks = 1) {
    topology.source = strdup("conformance-no-such-source");
    EXPECT_STATUS(PMIx_Load_topology(&topology), PMIX_ERR_NOT_SUPPORTED);
}
ROW(cpuset_own, GET_CPUSET, "The binding of the process is returned with its source", .ranks = 1) {
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    EXPECT_OPTIONAL(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND);
    if (cpuset.bitmap != NULL) EXPECT(cpuset.source != NULL);
}
ROW(cpuset_thread, GET_CPUSET, "The binding of the thread is returned", .ranks = 1) {
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    EXPECT_OPTIONAL(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_THREAD), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND);
    if (cpuset.bitmap != NULL) EXPECT(cpuset.source != NULL);
}
ROW(cpuset_null, GET_CPUSET, "No place for the result is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Get_cpuset(NULL, PMIX_CPUBIND_PROCESS));
}
ROW(cpuset_no_colon, CPUSET, "A string without the name of its source is an error", .ranks = 1) {
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    EXPECT_ERROR(PMIx_Parse_cpuset_string("0-3", &cpuset));
}
ROW(cpuset_unknown_source, CPUSET, "A source that is unknown is PMIX_ERR_NOT_SUPPORTED", .ranks = 1) {
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    EXPECT_STATUS(PMIx_Parse_cpuset_string("conformance-none:0-3", &cpuset), PMIX_ERR_NOT_SUPPORTED);
}
ROW(cpuset_round, "Server-Specific Interfaces / PMIx_server_generate_cpuset_string",
    "A cpuset has a string with its source, which is parsed again") {
    EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    if (EXPECT_OPTIONAL(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND) !=
        PMIX_SUCCESS)
        unsupported("no binding");
    char *text = NULL, *again = NULL;
    EXPECT_OPTIONAL(PMIx_server_generate_cpuset_string(&cpuset, &text), PMIX_SUCCESS);
    EXPECT(strncmp(text, cpuset.source, strlen(cpuset.source)) == 0);
    EXPECT(strchr(text, ':') != NULL);
    pmix_cpuset_t back;
    memset(&back, 0, sizeof(back));
    EXPECT_OK(PMIx_Parse_cpuset_string(text, &back));
    EXPECT_OK(PMIx_server_generate_cpuset_string(&back, &again));
    EXPECT_STRING(text, again);
}
ROW(locality_string, "Server-Specific Interfaces / PMIx_server_generate_locality_string",
    "A cpuset has a locality string") {
    EXPECT_OK(PMIx_server_init(NULL, NULL, 0));
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    if (EXPECT_OPTIONAL(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND) !=
        PMIX_SUCCESS)
        unsupported("no binding");
    char* text = NULL;
    EXPECT_OPTIONAL(PMIx_server_generate_locality_string(&cpuset, &text), PMIX_SUCCESS);
    EXPECT(text != NULL);
    EXPECT(strchr(text, ':') != NULL);
    pmix_locality_t locality = 0;
    EXPECT_OPTIONAL(PMIx_Get_relative_locality(text, text, &locality), PMIX_SUCCESS);
    EXPECT((locality & PMIX_LOCALITY_SHARE_NODE) != 0);
}
ROW(locality_null, LOCALITY, "Without the strings of both processes an error is returned", .ranks = 1) {
    pmix_locality_t locality = 0;
    EXPECT_ERROR(PMIx_Get_relative_locality(NULL, NULL, &locality));
}
ROW(distances, DISTANCES, "The distances to devices are returned, which may be none", .ranks = 1) {
    load();
    memset(&cpuset, 0, sizeof(cpuset));
    if (EXPECT_OPTIONAL(PMIx_Get_cpuset(&cpuset, PMIX_CPUBIND_PROCESS), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND) !=
        PMIX_SUCCESS)
        unsupported("no binding");
    pmix_device_distance_t* all = NULL;
    size_t count = 0;
    EXPECT_OPTIONAL(PMIx_Compute_distances(&topology, &cpuset, NULL, 0, &all, &count), PMIX_SUCCESS,
                    PMIX_ERR_NOT_FOUND);
    for (size_t i = 0; i < count; ++i) {
        EXPECT(all[i].uuid != NULL);
        EXPECT(all[i].mindist <= all[i].maxdist);
    }
}
#endif

static pmix_fabric_t fabric;
ROW(fabric_register, FABRIC, "A fabric is registered, updated and deregistered where there is one", .ranks = 1) {
    memset(&fabric, 0, sizeof(fabric));
    EXPECT_OPTIONAL(PMIx_Fabric_register(&fabric, NULL, 0), PMIX_SUCCESS, PMIX_ERR_NOT_FOUND);
    (void)PMIx_Fabric_deregister(&fabric);
}
ROW(fabric_null, FABRIC, "No structure for the result is an error", .ranks = 1) {
    EXPECT_ERROR(PMIx_Fabric_register(NULL, NULL, 0));
}
ROW(fabric_update_unregistered, "Fabric Support Definitions / PMIx_Fabric_update",
    "A fabric that was never registered is an error", .ranks = 1) {
    memset(&fabric, 0, sizeof(fabric));
    EXPECT_ERROR(PMIx_Fabric_update(&fabric));
}
