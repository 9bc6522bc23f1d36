/* Attributes that the tests and pmixrun use and the headers of 4.2.2 do not have. Included before those headers. */
#define PMIX_SERVER_CACHE_SIZE "PMIx_server_cache_size"
#define PMIX_GROUP_BOOTSTRAP "pmix.grp.btstrp"
#define WIREUP_OBSERVER "wireup.tool.observe"
#define WIREUP_QUERY_REPORT "wireup.report"
#define WIREUP_REPORT_JOB "wireup.rep.job"
#define WIREUP_REPORT_COLLECTIVE "wireup.rep.coll"
#define WIREUP_REPORT_REQUEST "wireup.rep.req"
#define WIREUP_REPORT_OPERATION "wireup.rep.op"
#define WIREUP_REPORT_ARRIVED "wireup.rep.arrived"
#define WIREUP_REPORT_MISSING "wireup.rep.missing"

/* And two functions. */
#include <stdbool.h>
bool PMIx_tool_is_connected(void);
int PMIx_tool_set_server_module();
