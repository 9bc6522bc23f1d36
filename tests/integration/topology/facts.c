/* SPDX-License-Identifier: BSD-3-Clause */
/* facts: what a libpmix.so.2 says of a topology, one fact a line, so that two libraries can be compared.
 * usage: facts CPUSET...   (cpusets as in "0-3,8"). The topology is hwloc's choice: HWLOC_XMLFILE, HWLOC_SYNTHETIC.
 * Built with our headers, on functions that release 4.2.2 has; which library answers is LD_LIBRARY_PATH's choice.
 */
#define PMIX_SERVER_INIT_PLAIN
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The text behind the source: some libraries leave the source out. */
static const char* place(const char* locality) {
    if (locality == NULL) return "";
    return strncmp(locality, "hwloc:", 6) == 0 ? locality + 6 : locality;
}

static void print_distances(pmix_topology_t* topology, pmix_cpuset_t* cpuset, const char* text) {
    if (*text == '\0') return;
    pmix_device_type_t kinds = PMIX_DEVTYPE_GPU | PMIX_DEVTYPE_NETWORK | PMIX_DEVTYPE_OPENFABRICS;
    pmix_device_distance_t* distances = NULL;
    pmix_info_t info;
    size_t n = 0;
    PMIX_INFO_LOAD(&info, PMIX_DEVICE_TYPE, &kinds, PMIX_DEVTYPE);
    pmix_status_t rc = PMIx_Compute_distances(topology, cpuset, &info, 1, &distances, &n);
    printf("distances %s: %zu\n", text, rc == PMIX_SUCCESS ? n : 0);
    for (size_t i = 0; i < n; i++) {
        printf("  %s %s %lx %u %u\n", distances[i].uuid, distances[i].osname, (unsigned long)distances[i].type,
               distances[i].mindist, distances[i].maxdist);
    }
    /* Also where the other library has no function for it. */
    for (size_t i = 0; i < n; i++) {
        free(distances[i].uuid);
        free(distances[i].osname);
    }
    free(distances);
}

int main(int argc, char** argv) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    fprintf(stderr, "library %s\n", PMIx_Get_version());
    if (PMIx_server_init(&module, NULL, 0) != PMIX_SUCCESS) return 1;
    pmix_topology_t topology = {NULL, NULL};
    if (PMIx_Load_topology(&topology) != PMIX_SUCCESS) return 1;
    printf("source %s\n", topology.source);

    char** places = calloc((size_t)argc, sizeof *places);
    if (places == NULL) return 1;
    for (int i = 1; i < argc; i++) {
        char text[1024];
        char *again = NULL, *locality = NULL;
        pmix_cpuset_t cpuset = {NULL, NULL};
        snprintf(text, sizeof text, "hwloc:%s", argv[i]);
        if (PMIx_Parse_cpuset_string(text, &cpuset) != PMIX_SUCCESS) {
            printf("cpuset %s: not parsed\n", argv[i]);
            continue;
        }
        PMIx_server_generate_cpuset_string(&cpuset, &again);
        PMIx_server_generate_locality_string(&cpuset, &locality);
        printf("cpuset %s: source %s, text %s, locality %s\n", argv[i], cpuset.source, again, place(locality));
        snprintf(text, sizeof text, "hwloc:%s", place(locality));
        if (*place(locality) != '\0') places[i] = strdup(text); /* 4.2.2 crashes without places */
        print_distances(&topology, &cpuset, argv[i]);
        free(again);
        free(locality);
        PMIx_Cpuset_destruct(&cpuset);
    }
    for (int i = 1; i < argc; i++) {
        for (int k = 1; k < argc; k++) {
            if (places[i] == NULL || places[k] == NULL) continue;
            pmix_locality_t shared = 0;
            /* 4.2.2 gives the mask and an internal status. */
            PMIx_Get_relative_locality(places[i], places[k], &shared);
            printf("shared %s | %s: %04x\n", argv[i], argv[k], shared);
        }
    }
    if (getenv("HWLOC_XMLFILE") == NULL && getenv("HWLOC_SYNTHETIC") == NULL) {
        for (pmix_bind_envelope_t which = PMIX_CPUBIND_PROCESS; which <= PMIX_CPUBIND_THREAD; which++) {
            pmix_cpuset_t cpuset = {NULL, NULL};
            char* text = NULL;
            pmix_status_t rc = PMIx_Get_cpuset(&cpuset, which);
            if (rc == PMIX_SUCCESS) rc = PMIx_server_generate_cpuset_string(&cpuset, &text);
            printf("bound %u: %d %s\n", which, rc, text == NULL ? "" : text);
            free(text);
            PMIx_Cpuset_destruct(&cpuset);
        }
    }
    for (int i = 1; i < argc; i++) free(places[i]);
    free(places);
    free(topology.source);
    PMIx_server_finalize();
    return 0;
}
