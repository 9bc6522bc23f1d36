/* SPDX-License-Identifier: BSD-3-Clause */
/* topology: a program that has a topology of its own, of the same hwloc that the library opens at need. Run under
 * pmixrun. */
#include <hwloc.h>

#include "../check.h"

int main(void) {
    hwloc_topology_t own;
    CHECK(hwloc_topology_init(&own) == 0 && hwloc_topology_load(own) == 0);
    const int cpus = hwloc_get_nbobjs_by_type(own, HWLOC_OBJ_PU);
    char *before = NULL, *after = NULL, *text = NULL;
    CHECK(hwloc_bitmap_asprintf(&before, hwloc_topology_get_allowed_cpuset(own)) > 0);
    start();

    /* The library's topology is another object than the program's, with the same machine in it. */
    pmix_topology_t loaded = {NULL, NULL};
    CHECK_OK(PMIx_Load_topology(&loaded));
    CHECK(loaded.topology && loaded.topology != (void*)own && strncmp(loaded.source, "hwloc", 5) == 0);
    CHECK(hwloc_get_nbobjs_by_type(loaded.topology, HWLOC_OBJ_PU) == cpus);

    /* A cpuset goes over from the one to the other: it is a bitmap of hwloc's on both sides. */
    pmix_cpuset_t bound = {NULL, NULL};
    CHECK_OK(PMIx_Get_cpuset(&bound, PMIX_CPUBIND_PROCESS));
    CHECK(hwloc_bitmap_isincluded(bound.bitmap, hwloc_topology_get_complete_cpuset(own)));
    hwloc_bitmap_t made = hwloc_bitmap_alloc();
    CHECK(hwloc_get_cpubind(own, made, HWLOC_CPUBIND_PROCESS) == 0 && hwloc_bitmap_isequal(made, bound.bitmap));
    hwloc_bitmap_free(made);
    CHECK(hwloc_bitmap_list_asprintf(&text, bound.bitmap) > 0);
    free(text);
    PMIX_CPUSET_DESTRUCT(&bound);
    PMIX_TOPOLOGY_DESTRUCT(&loaded);

    /* The program's stays its own, while the library is initialised and after it. */
    hwloc_topology_check(own);
    int status = finish();
    hwloc_topology_check(own);
    CHECK(hwloc_bitmap_asprintf(&after, hwloc_topology_get_allowed_cpuset(own)) > 0 && strcmp(before, after) == 0);
    free(before);
    free(after);
    hwloc_topology_destroy(own);
    return status;
}
