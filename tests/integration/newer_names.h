// SPDX-License-Identifier: BSD-3-Clause
/* Names that the tests and pmixrun use and the headers of other releases do not have. Included before those of 4.2.2,
 * after the view of a later release (tests/abi/header_view.py). */
#ifndef PMIX_SERVER_CACHE_SIZE
#define PMIX_SERVER_CACHE_SIZE "PMIx_server_cache_size"
#endif
#ifndef PMIX_GROUP_BOOTSTRAP
#define PMIX_GROUP_BOOTSTRAP "pmix.grp.btstrp"
#endif
#ifndef PMIX_GROUP_FINAL_MEMBERSHIP_ORDER
#define PMIX_GROUP_FINAL_MEMBERSHIP_ORDER "pmix.grp.finord"
#endif
#ifndef PMIX_ERR_NOT_A_MEMBER
#define PMIX_ERR_NOT_A_MEMBER (-66)
#endif
#ifndef PMIX_ERR_NOT_AVAILABLE
#define PMIX_ERR_NOT_AVAILABLE (-64)
#endif
#ifndef WIREUP_LAUNCHER_PID
#define WIREUP_LAUNCHER_PID "wireup.srv.launcher"
#endif
#ifndef WIREUP_OBSERVER
#define WIREUP_OBSERVER "wireup.tool.observe"
#endif
#ifndef WIREUP_QUERY_REPORT
#define WIREUP_QUERY_REPORT "wireup.report"
#endif
#ifndef WIREUP_REPORT_JOB
#define WIREUP_REPORT_JOB "wireup.rep.job"
#endif
#ifndef WIREUP_REPORT_COLLECTIVE
#define WIREUP_REPORT_COLLECTIVE "wireup.rep.coll"
#endif
#ifndef WIREUP_REPORT_REQUEST
#define WIREUP_REPORT_REQUEST "wireup.rep.req"
#endif
#ifndef WIREUP_REPORT_OPERATION
#define WIREUP_REPORT_OPERATION "wireup.rep.op"
#endif
#ifndef WIREUP_REPORT_ARRIVED
#define WIREUP_REPORT_ARRIVED "wireup.rep.arrived"
#endif
#ifndef WIREUP_REPORT_MISSING
#define WIREUP_REPORT_MISSING "wireup.rep.missing"
#endif
#ifndef PMIX_PERSIST_NSPACE
#define PMIX_PERSIST_NSPACE 5
#endif
#ifndef PMIX_DEL_LOCAL
#define PMIX_DEL_LOCAL 5
#define PMIX_DEL_REMOTE 6
#define PMIX_DEL_GLOBAL 7
#define PMIX_DEL_INTERNAL 8
#endif
#ifndef PMIX_SPAWN_CHILD_SEP
#define PMIX_SPAWN_CHILD_SEP "pmix.spchildsep"
#endif
#ifndef PMIX_SPAWN_ALLOC
#define PMIX_SPAWN_ALLOC "pmix.spwn.alloc"
#endif
#ifndef PMIX_SPAWN_TARGET
#define PMIX_SPAWN_TARGET "pmix.spwn.tgt"
#endif

/* And two functions of 4.2.9. */
#ifndef PMIX_NUMERIC_VERSION
#include <stdbool.h>
bool PMIx_tool_is_connected(void);
int PMIx_tool_set_server_module();
#endif
