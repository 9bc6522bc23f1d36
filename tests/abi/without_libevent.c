/* SPDX-License-Identifier: BSD-3-Clause */
/* without_libevent.c: a process on libpmix.so.2 loads libevent with its first event loop, and not before; where there
 * is no libevent, what needs a loop fails with a status. usage: without_libevent [absent] */
#include <pmix.h>
#include <pmix_server.h>

#include "first_use.h"

int main(int argc, char** argv) {
    pmix_server_module_t module = {0};
    absent = argc > 1 && strcmp(argv[1], "absent") == 0;
    CHECK(PMIx_Get_version() != NULL && PMIx_Error_code("PMIX_ERROR") == PMIX_ERROR);
    CHECK(!is_mapped("/libevent"));
    const pmix_status_t rc = PMIx_server_init(&module, NULL, 0);
    if (absent) {
        CHECK(rc == PMIX_ERR_OUT_OF_RESOURCE);
        CHECK(!PMIx_Initialized() && PMIx_server_finalize() == PMIX_ERR_INIT);
        CHECK(!is_mapped("/libevent"));
        return 0;
    }
    CHECK(rc == PMIX_SUCCESS);
    CHECK(is_mapped("/libevent_core-2.1.so.7") || is_mapped("/libevent-2.1.so.7"));
    CHECK(PMIx_server_finalize() == PMIX_SUCCESS);
    return 0;
}
