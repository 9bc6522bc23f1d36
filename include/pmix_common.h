/* SPDX-License-Identifier: BSD-3-Clause */
/* Constants, attributes, types and callbacks shared by clients, servers and tools. */
#ifndef PMIX_COMMON_H
#define PMIX_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <pmix_version.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Every function of the library carries PMIX_EXPORT; nothing else of it can be reached by name. */
#define PMIX_HAVE_VISIBILITY 1
#if defined(__GNUC__)
#    define PMIX_EXPORT __attribute__((visibility("default")))
#else
#    define PMIX_EXPORT
#endif

/* ==================================================================================================================
 * Names and ranks
 * ================================================================================================================== */
#define PMIX_MAX_NSLEN                              255
#define PMIX_MAX_KEYLEN                             511

typedef char pmix_nspace_t[PMIX_MAX_NSLEN + 1];
typedef char pmix_key_t[PMIX_MAX_KEYLEN + 1];

typedef uint32_t pmix_rank_t;
#define PMIX_RANK_VALID                             (UINT32_MAX - 50)
#define PMIX_RANK_LOCAL_PEERS                       (UINT32_MAX - 4)
#define PMIX_RANK_INVALID                           (UINT32_MAX - 3)
#define PMIX_RANK_LOCAL_NODE                        (UINT32_MAX - 2)
#define PMIX_RANK_WILDCARD                          (UINT32_MAX - 1)
#define PMIX_RANK_UNDEF                             UINT32_MAX
#define PMIX_RANK_IS_VALID(r) ((r) < PMIX_RANK_VALID)

/* ==================================================================================================================
 * Status codes
 * ================================================================================================================== */
typedef int pmix_status_t;
#define PMIX_SUCCESS                                0
#define PMIX_ERROR                                  (-1)
#define PMIX_DEBUGGER_RELEASE                       (-3)
#define PMIX_ERR_PROC_RESTART                       (-4)
#define PMIX_ERR_PROC_CHECKPOINT                    (-5)
#define PMIX_ERR_PROC_MIGRATE                       (-6)
#define PMIX_ERR_PROC_REQUESTED_ABORT               (-8)
#define PMIX_ERR_EXISTS                             (-11)
#define PMIX_ERR_INVALID_CRED                       (-12)
#define PMIX_ERR_WOULD_BLOCK                        (-15)
#define PMIX_ERR_UNKNOWN_DATA_TYPE                  (-16)
#define PMIX_ERR_TYPE_MISMATCH                      (-18)
#define PMIX_ERR_UNPACK_INADEQUATE_SPACE            (-19)
#define PMIX_ERR_UNPACK_FAILURE                     (-20)
#define PMIX_ERR_PACK_FAILURE                       (-21)
#define PMIX_ERR_NO_PERMISSIONS                     (-23)
#define PMIX_ERR_TIMEOUT                            (-24)
#define PMIX_ERR_UNREACH                            (-25)
#define PMIX_ERR_BAD_PARAM                          (-27)
#define PMIX_ERR_RESOURCE_BUSY                      (-28)
#define PMIX_ERR_OUT_OF_RESOURCE                    (-29)
#define PMIX_ERR_INIT                               (-31)
#define PMIX_ERR_NOMEM                              (-32)
#define PMIX_ERR_NOT_FOUND                          (-46)
#define PMIX_ERR_NOT_SUPPORTED                      (-47)
#define PMIX_ERR_COMM_FAILURE                       (-49)
#define PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER     (-50)
#define PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES     (-51)
#define PMIX_ERR_PARTIAL_SUCCESS                    (-52)
#define PMIX_ERR_DUPLICATE_KEY                      (-53)
#define PMIX_PROCESS_SET_DEFINE                     (-55)
#define PMIX_PROCESS_SET_DELETE                     (-56)
#define PMIX_READY_FOR_DEBUG                        (-58)
#define PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED          (-59)
#define PMIX_ERR_EMPTY                              (-60)
#define PMIX_ERR_LOST_CONNECTION                    (-61)
#define PMIX_ERR_EXISTS_OUTSIDE_SCOPE               (-62)
#define PMIX_ERR_NOT_AVAILABLE                      (-64)
#define PMIX_QUERY_PARTIAL_SUCCESS                  (-104)
#define PMIX_JCTRL_CHECKPOINT                       (-106)
#define PMIX_JCTRL_CHECKPOINT_COMPLETE              (-107)
#define PMIX_JCTRL_PREEMPT_ALERT                    (-108)
#define PMIX_MONITOR_HEARTBEAT_ALERT                (-109)
#define PMIX_MONITOR_FILE_ALERT                     (-110)
#define PMIX_PROC_TERMINATED                        (-111)
#define PMIX_FABRIC_UPDATE_ENDPOINTS                (-113)
#define PMIX_MONITOR_RESUSAGE_UPDATE                (-114)
#define PMIX_ERR_EVENT_REGISTRATION                 (-144)
#define PMIX_EVENT_JOB_END                          (-145)
#define PMIX_MODEL_DECLARED                         (-147)
#define PMIX_MODEL_RESOURCES                        (-151)
#define PMIX_OPENMP_PARALLEL_ENTERED                (-152)
#define PMIX_OPENMP_PARALLEL_EXITED                 (-153)
#define PMIX_LAUNCHER_READY                         (-155)
#define PMIX_OPERATION_IN_PROGRESS                  (-156)
#define PMIX_OPERATION_SUCCEEDED                    (-157)
#define PMIX_ERR_INVALID_OPERATION                  (-158)
#define PMIX_GROUP_INVITED                          (-159)
#define PMIX_GROUP_LEFT                             (-160)
#define PMIX_GROUP_INVITE_ACCEPTED                  (-161)
#define PMIX_GROUP_INVITE_DECLINED                  (-162)
#define PMIX_GROUP_INVITE_FAILED                    (-163)
#define PMIX_GROUP_MEMBERSHIP_UPDATE                (-164)
#define PMIX_GROUP_CONSTRUCT_ABORT                  (-165)
#define PMIX_GROUP_CONSTRUCT_COMPLETE               (-166)
#define PMIX_GROUP_LEADER_SELECTED                  (-167)
#define PMIX_GROUP_LEADER_FAILED                    (-168)
#define PMIX_GROUP_CONTEXT_ID_ASSIGNED              (-169)
#define PMIX_GROUP_MEMBER_FAILED                    (-170)
#define PMIX_ERR_REPEAT_ATTR_REGISTRATION           (-171)
#define PMIX_ERR_IOF_FAILURE                        (-172)
#define PMIX_ERR_IOF_COMPLETE                       (-173)
#define PMIX_LAUNCH_COMPLETE                        (-174)
#define PMIX_FABRIC_UPDATED                         (-175)
#define PMIX_FABRIC_UPDATE_PENDING                  (-176)
#define PMIX_ERR_JOB_APP_NOT_EXECUTABLE             (-177)
#define PMIX_ERR_JOB_NO_EXE_SPECIFIED               (-178)
#define PMIX_ERR_JOB_FAILED_TO_MAP                  (-179)
#define PMIX_ERR_JOB_CANCELED                       (-180)
#define PMIX_ERR_JOB_FAILED_TO_LAUNCH               (-181)
#define PMIX_ERR_JOB_ABORTED                        (-182)
#define PMIX_ERR_JOB_KILLED_BY_CMD                  (-183)
#define PMIX_ERR_JOB_ABORTED_BY_SIG                 (-184)
#define PMIX_ERR_JOB_TERM_WO_SYNC                   (-185)
#define PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED          (-186)
#define PMIX_ERR_JOB_NON_ZERO_TERM                  (-187)
#define PMIX_ERR_JOB_ALLOC_FAILED                   (-188)
#define PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT           (-189)
#define PMIX_ERR_JOB_EXE_NOT_FOUND                  (-190)
#define PMIX_EVENT_JOB_START                        (-191)
#define PMIX_EVENT_SESSION_START                    (-192)
#define PMIX_EVENT_SESSION_END                      (-193)
#define PMIX_ERR_PROC_TERM_WO_SYNC                  (-200)
#define PMIX_EVENT_PROC_TERMINATED                  (-201)
#define PMIX_EVENT_SYS_BASE                         (-230)
#define PMIX_EVENT_NODE_DOWN                        (-231)
#define PMIX_EVENT_NODE_OFFLINE                     (-232)
#define PMIX_ERR_JOB_WDIR_NOT_FOUND                 (-233)
#define PMIX_ERR_JOB_INSUFFICIENT_RESOURCES         (-234)
#define PMIX_ERR_JOB_SYS_OP_FAILED                  (-235)
#define PMIX_EVENT_SYS_OTHER                        (-330)
#define PMIX_EVENT_NO_ACTION_TAKEN                  (-331)
#define PMIX_EVENT_PARTIAL_ACTION_TAKEN             (-332)
#define PMIX_EVENT_ACTION_DEFERRED                  (-333)
#define PMIX_EVENT_ACTION_COMPLETE                  (-334)
#define PMIX_ERR_LOST_PRECISION                     (-400)
#define PMIX_ERR_PROC_KILLED_BY_CMD                 (-400)
#define PMIX_ERR_CHANGE_SIGN                        (-401)
#define PMIX_ERR_PROC_FAILED_TO_START               (-401)
#define PMIX_ERR_PROC_ABORTED_BY_SIG                (-402)
#define PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED         (-403)
#define PMIX_ERR_EXIT_NONZERO_TERM                  (-404)
#define PMIX_EXTERNAL_ERR_BASE                      (-3000)
#define PMIX_SYSTEM_EVENT(a) ((a) <= PMIX_EVENT_SYS_BASE && (a) >= PMIX_EVENT_SYS_OTHER)

/* ==================================================================================================================
 * Scalar types and their values
 * ================================================================================================================== */

/* State of a process */
typedef uint8_t pmix_proc_state_t;
#define PMIX_PROC_STATE_UNDEF                       0
#define PMIX_PROC_STATE_PREPPED                     1
#define PMIX_PROC_STATE_LAUNCH_UNDERWAY             2
#define PMIX_PROC_STATE_RESTART                     3
#define PMIX_PROC_STATE_TERMINATE                   4
#define PMIX_PROC_STATE_RUNNING                     5
#define PMIX_PROC_STATE_CONNECTED                   6
#define PMIX_PROC_STATE_UNTERMINATED                15
#define PMIX_PROC_STATE_TERMINATED                  20
#define PMIX_PROC_STATE_ERROR                       50
#define PMIX_PROC_STATE_KILLED_BY_CMD               51
#define PMIX_PROC_STATE_ABORTED                     52
#define PMIX_PROC_STATE_FAILED_TO_START             53
#define PMIX_PROC_STATE_ABORTED_BY_SIG              54
#define PMIX_PROC_STATE_TERM_WO_SYNC                55
#define PMIX_PROC_STATE_COMM_FAILED                 56
#define PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED       57
#define PMIX_PROC_STATE_CALLED_ABORT                58
#define PMIX_PROC_STATE_HEARTBEAT_FAILED            59
#define PMIX_PROC_STATE_MIGRATING                   60
#define PMIX_PROC_STATE_CANNOT_RESTART              61
#define PMIX_PROC_STATE_TERM_NON_ZERO               62
#define PMIX_PROC_STATE_FAILED_TO_LAUNCH            63

/* State of a job */
typedef uint8_t pmix_job_state_t;
#define PMIX_JOB_STATE_UNDEF                        0
#define PMIX_JOB_STATE_AWAITING_ALLOC               1
#define PMIX_JOB_STATE_LAUNCH_UNDERWAY              2
#define PMIX_JOB_STATE_RUNNING                      3
#define PMIX_JOB_STATE_SUSPENDED                    4
#define PMIX_JOB_STATE_CONNECTED                    5
#define PMIX_JOB_STATE_UNTERMINATED                 15
#define PMIX_JOB_STATE_TERMINATED                   20
#define PMIX_JOB_STATE_TERMINATED_WITH_ERROR        50

/* Type of a value */
typedef uint16_t pmix_data_type_t;
#define PMIX_UNDEF                                  0
#define PMIX_BOOL                                   1
#define PMIX_BYTE                                   2
#define PMIX_STRING                                 3
#define PMIX_SIZE                                   4
#define PMIX_PID                                    5
#define PMIX_INT                                    6
#define PMIX_INT8                                   7
#define PMIX_INT16                                  8
#define PMIX_INT32                                  9
#define PMIX_INT64                                  10
#define PMIX_UINT                                   11
#define PMIX_UINT8                                  12
#define PMIX_UINT16                                 13
#define PMIX_UINT32                                 14
#define PMIX_UINT64                                 15
#define PMIX_FLOAT                                  16
#define PMIX_DOUBLE                                 17
#define PMIX_TIMEVAL                                18
#define PMIX_TIME                                   19
#define PMIX_STATUS                                 20
#define PMIX_VALUE                                  21
#define PMIX_PROC                                   22
#define PMIX_APP                                    23
#define PMIX_INFO                                   24
#define PMIX_PDATA                                  25
#define PMIX_BYTE_OBJECT                            27
#define PMIX_KVAL                                   28
#define PMIX_PERSIST                                30
#define PMIX_POINTER                                31
#define PMIX_SCOPE                                  32
#define PMIX_DATA_RANGE                             33
#define PMIX_COMMAND                                34
#define PMIX_INFO_DIRECTIVES                        35
#define PMIX_DATA_TYPE                              36
#define PMIX_PROC_STATE                             37
#define PMIX_PROC_INFO                              38
#define PMIX_DATA_ARRAY                             39
#define PMIX_PROC_RANK                              40
#define PMIX_QUERY                                  41
#define PMIX_COMPRESSED_STRING                      42
#define PMIX_ALLOC_DIRECTIVE                        43
#define PMIX_IOF_CHANNEL                            45
#define PMIX_ENVAR                                  46
#define PMIX_COORD                                  47
#define PMIX_REGATTR                                48
#define PMIX_REGEX                                  49
#define PMIX_JOB_STATE                              50
#define PMIX_LINK_STATE                             51
#define PMIX_PROC_CPUSET                            52
#define PMIX_GEOMETRY                               53
#define PMIX_DEVICE_DIST                            54
#define PMIX_ENDPOINT                               55
#define PMIX_TOPO                                   56
#define PMIX_DEVTYPE                                57
#define PMIX_LOCTYPE                                58
#define PMIX_COMPRESSED_BYTE_OBJECT                 59
#define PMIX_PROC_NSPACE                            60
#define PMIX_PROC_STATS                             61
#define PMIX_DISK_STATS                             62
#define PMIX_NET_STATS                              63
#define PMIX_NODE_STATS                             64
#define PMIX_DATA_BUFFER                            65
#define PMIX_STOR_MEDIUM                            66
#define PMIX_STOR_ACCESS                            67
#define PMIX_STOR_PERSIST                           68
#define PMIX_STOR_ACCESS_TYPE                       69
#define PMIX_DEVICE                                 70
#define PMIX_RESBLOCK_DIRECTIVE                     71
#define PMIX_RESOURCE_UNIT                          72
#define PMIX_NODE_PID                               73
#define PMIX_DATA_TYPE_MAX                          500

/* Scope of a put value */
typedef uint8_t pmix_scope_t;
#define PMIX_SCOPE_UNDEF                            0
#define PMIX_LOCAL                                  1
#define PMIX_REMOTE                                 2
#define PMIX_GLOBAL                                 3
#define PMIX_INTERNAL                               4

/* Range of published data and events */
typedef uint8_t pmix_data_range_t;
#define PMIX_RANGE_UNDEF                            0
#define PMIX_RANGE_RM                               1
#define PMIX_RANGE_LOCAL                            2
#define PMIX_RANGE_NAMESPACE                        3
#define PMIX_RANGE_SESSION                          4
#define PMIX_RANGE_GLOBAL                           5
#define PMIX_RANGE_CUSTOM                           6
#define PMIX_RANGE_PROC_LOCAL                       7
#define PMIX_RANGE_INVALID                          255

/* Persistence of published data */
typedef uint8_t pmix_persistence_t;
#define PMIX_PERSIST_INDEF                          0
#define PMIX_PERSIST_FIRST_READ                     1
#define PMIX_PERSIST_PROC                           2
#define PMIX_PERSIST_APP                            3
#define PMIX_PERSIST_SESSION                        4
#define PMIX_PERSIST_INVALID                        255

/* Flags of an info */
typedef uint32_t pmix_info_directives_t;
#define PMIX_INFO_REQD                              1
#define PMIX_INFO_ARRAY_END                         2
#define PMIX_INFO_REQD_PROCESSED                    4
#define PMIX_INFO_QUALIFIER                         8
#define PMIX_INFO_PERSISTENT                        0x10
#define PMIX_INFO_DIR_RESERVED                      0xffff0000

/* Allocation requests */
typedef uint8_t pmix_alloc_directive_t;
#define PMIX_ALLOC_NEW                              1
#define PMIX_ALLOC_EXTEND                           2
#define PMIX_ALLOC_RELEASE                          3
#define PMIX_ALLOC_REAQUIRE                         4
#define PMIX_ALLOC_REQ_CANCEL                       5
#define PMIX_ALLOC_EXTERNAL                         128

/* Resource block requests */
typedef uint8_t pmix_resource_block_directive_t;
#define PMIX_RESOURCE_BLOCK_DEFINE                  1
#define PMIX_RESOURCE_BLOCK_EXTEND                  2
#define PMIX_RESOURCE_BLOCK_REMOVE                  3
#define PMIX_RESOURCE_BLOCK_DELETE                  4
#define PMIX_RESOURCE_BLOCK_EXTERNAL                128

/* I/O channels */
typedef uint16_t pmix_iof_channel_t;
#define PMIX_FWD_NO_CHANNELS                        0
#define PMIX_FWD_STDIN_CHANNEL                      1
#define PMIX_FWD_STDOUT_CHANNEL                     2
#define PMIX_FWD_STDERR_CHANNEL                     4
#define PMIX_FWD_STDDIAG_CHANNEL                    8
#define PMIX_FWD_ALL_CHANNELS                       0xff

/* Storage medium */
typedef uint64_t pmix_storage_medium_t;
#define PMIX_STORAGE_MEDIUM_UNKNOWN                 1
#define PMIX_STORAGE_MEDIUM_TAPE                    2
#define PMIX_STORAGE_MEDIUM_HDD                     4
#define PMIX_STORAGE_MEDIUM_SSD                     8
#define PMIX_STORAGE_MEDIUM_NVME                    0x10
#define PMIX_STORAGE_MEDIUM_PMEM                    0x20
#define PMIX_STORAGE_MEDIUM_RAM                     0x40

/* Storage accessibility */
typedef uint64_t pmix_storage_accessibility_t;
#define PMIX_STORAGE_ACCESSIBILITY_NODE             1
#define PMIX_STORAGE_ACCESSIBILITY_SESSION          2
#define PMIX_STORAGE_ACCESSIBILITY_JOB              4
#define PMIX_STORAGE_ACCESSIBILITY_RACK             8
#define PMIX_STORAGE_ACCESSIBILITY_CLUSTER          0x10
#define PMIX_STORAGE_ACCESSIBILITY_REMOTE           0x20

/* Storage persistence */
typedef uint64_t pmix_storage_persistence_t;
#define PMIX_STORAGE_PERSISTENCE_TEMPORARY          1
#define PMIX_STORAGE_PERSISTENCE_NODE               2
#define PMIX_STORAGE_PERSISTENCE_SESSION            4
#define PMIX_STORAGE_PERSISTENCE_JOB                8
#define PMIX_STORAGE_PERSISTENCE_SCRATCH            0x10
#define PMIX_STORAGE_PERSISTENCE_PROJECT            0x20
#define PMIX_STORAGE_PERSISTENCE_ARCHIVE            0x40

/* Storage access */
typedef uint16_t pmix_storage_access_type_t;
#define PMIX_STORAGE_ACCESS_RD                      1
#define PMIX_STORAGE_ACCESS_WR                      2
#define PMIX_STORAGE_ACCESS_RDWR                    3

/* View of a coordinate */
typedef uint8_t pmix_coord_view_t;
#define PMIX_COORD_VIEW_UNDEF                       0
#define PMIX_COORD_LOGICAL_VIEW                     1
#define PMIX_COORD_PHYSICAL_VIEW                    2

/* State of a link */
typedef uint8_t pmix_link_state_t;
#define PMIX_LINK_STATE_UNKNOWN                     0
#define PMIX_LINK_DOWN                              1
#define PMIX_LINK_UP                                2

/* What a cpuset is asked of */
typedef uint8_t pmix_bind_envelope_t;
#define PMIX_CPUBIND_PROCESS                        0
#define PMIX_CPUBIND_THREAD                         1

/* Relative locality */
typedef uint16_t pmix_locality_t;
#define PMIX_LOCALITY_UNKNOWN                       0
#define PMIX_LOCALITY_SHARE_HWTHREAD                1
#define PMIX_LOCALITY_SHARE_CORE                    2
#define PMIX_LOCALITY_SHARE_L1CACHE                 4
#define PMIX_LOCALITY_SHARE_L2CACHE                 8
#define PMIX_LOCALITY_SHARE_L3CACHE                 0x10
#define PMIX_LOCALITY_SHARE_PACKAGE                 0x20
#define PMIX_LOCALITY_SHARE_NUMA                    0x40
#define PMIX_LOCALITY_SHARE_NODE                    0x4000
#define PMIX_LOCALITY_NONLOCAL                      0x8000

/* Device types */
typedef uint64_t pmix_device_type_t;
#define PMIX_DEVTYPE_UNKNOWN                        0
#define PMIX_DEVTYPE_BLOCK                          1
#define PMIX_DEVTYPE_GPU                            2
#define PMIX_DEVTYPE_NETWORK                        4
#define PMIX_DEVTYPE_OPENFABRICS                    8
#define PMIX_DEVTYPE_DMA                            0x10
#define PMIX_DEVTYPE_COPROC                         0x20
#define PMIX_DEVTYPE_MEMORY                         0x40
#define PMIX_DEVTYPE_CORE                           0x80
#define PMIX_DEVTYPE_HWT                            0x100
#define PMIX_DEVTYPE_CPU                            0x200
#define PMIX_DEVTYPE_NODE                           0x400

#define PMIX_APP_WILDCARD UINT32_MAX

typedef enum {
    PMIX_EQUAL = 0,
    PMIX_VALUE1_GREATER = 1,
    PMIX_VALUE2_GREATER = 2,
    PMIX_VALUE_TYPE_DIFFERENT = 3,
    PMIX_VALUE_INCOMPATIBLE_OBJECTS = 4,
    PMIX_VALUE_COMPARISON_NOT_AVAIL = 5
} pmix_value_cmp_t;

typedef enum {
    PMIX_GROUP_DECLINE = 0,
    PMIX_GROUP_ACCEPT = 1
} pmix_group_opt_t;

typedef enum {
    PMIX_GROUP_CONSTRUCT = 0,
    PMIX_GROUP_DESTRUCT = 1,
    PMIX_GROUP_NONE = 2
} pmix_group_operation_t;

typedef enum {
    PMIX_BOOL_TRUE = 0,
    PMIX_BOOL_FALSE = 1,
    PMIX_NON_BOOL = 2
} pmix_boolean_t;

typedef enum {
    PMIX_FABRIC_REQUEST_INFO = 0,
    PMIX_FABRIC_UPDATE_INFO = 1
} pmix_fabric_operation_t;

/* ==================================================================================================================
 * Attributes
 * ================================================================================================================== */
#define PMIX_LAUNCHER_RNDZ_URI                      "PMIX_LAUNCHER_RNDZ_URI"
#define PMIX_LAUNCHER_RNDZ_FILE                     "PMIX_LAUNCHER_RNDZ_FILE"
#define PMIX_KEEPALIVE_PIPE                         "PMIX_KEEPALIVE_PIPE"
#define PMIX_ATTR_UNDEF                             "pmix.undef"
#define PMIX_EXTERNAL_PROGRESS                      "pmix.evext"             /* bool */
#define PMIX_PROGRESS_THREAD_FLUSH                  "pmix.evflush"           /* bool */
#define PMIX_PROGRESS_THREAD_NAME                   "pmix.evname"            /* char* */
#define PMIX_EXTERNAL_AUX_EVENT_BASE                "pmix.evaux"             /* void* */
#define PMIX_SERVER_TOOL_SUPPORT                    "pmix.srvr.tool"         /* bool */
#define PMIX_SERVER_ALLOW_FOREIGN_TOOLS             "pmix.srvr.ftools"       /* bool */
#define PMIX_ALLOW_CLIENT_CLONES                    "pmix.allow.clones"      /* bool */
#define PMIX_SERVER_REMOTE_CONNECTIONS              "pmix.srvr.remote"       /* bool */
#define PMIX_SERVER_SYSTEM_SUPPORT                  "pmix.srvr.sys"          /* bool */
#define PMIX_SERVER_SESSION_SUPPORT                 "pmix.srvr.sess"         /* bool */
#define PMIX_SERVER_TMPDIR                          "pmix.srvr.tmpdir"       /* char* */
#define PMIX_SYSTEM_TMPDIR                          "pmix.sys.tmpdir"        /* char* */
#define PMIX_SERVER_SHARE_TOPOLOGY                  "pmix.srvr.share"        /* bool */
#define PMIX_SERVER_ENABLE_MONITORING               "pmix.srv.monitor"       /* bool */
#define PMIX_SERVER_NSPACE                          "pmix.srv.nspace"        /* char* */
#define PMIX_SERVER_RANK                            "pmix.srv.rank"          /* pmix_rank_t */
#define PMIX_SERVER_GATEWAY                         "pmix.srv.gway"          /* bool */
#define PMIX_SERVER_SYS_CONTROLLER                  "pmix.srv.ctrlr"         /* bool */
#define PMIX_SERVER_SCHEDULER                       "pmix.srv.sched"         /* bool */
#define PMIX_SERVER_START_TIME                      "pmix.srv.strtime"       /* char* */
#define PMIX_HOMOGENEOUS_SYSTEM                     "pmix.homo"              /* bool */
#define PMIX_SINGLETON                              "pmix.singleton"         /* char* */
#define PMIX_BIND_PROGRESS_THREAD                   "pmix.bind.pt"           /* char* */
#define PMIX_BIND_REQUIRED                          "pmix.bind.reqd"         /* bool */
#define PMIX_TOOL_NSPACE                            "pmix.tool.nspace"       /* char* */
#define PMIX_TOOL_RANK                              "pmix.tool.rank"         /* uint32_t */
#define PMIX_SERVER_PIDINFO                         "pmix.srvr.pidinfo"      /* pid_t */
#define PMIX_CONNECT_TO_SYSTEM                      "pmix.cnct.sys"          /* bool */
#define PMIX_CONNECT_SYSTEM_FIRST                   "pmix.cnct.sys.first"    /* bool */
#define PMIX_CONNECT_TO_SCHEDULER                   "pmix.cnct.sched"        /* bool */
#define PMIX_CONNECT_TO_SYS_CONTROLLER              "pmix.cnct.ctrlr"        /* bool */
#define PMIX_CONNECTION_ORDER                       "pmix.cnct.ord"          /* char* */
#define PMIX_SERVER_URI                             "pmix.srvr.uri"          /* char* */
#define PMIX_MYSERVER_URI                           "pmix.mysrvr.uri"        /* char* */
#define PMIX_SERVER_HOSTNAME                        "pmix.srvr.host"         /* char* */
#define PMIX_CONNECT_MAX_RETRIES                    "pmix.tool.mretries"     /* uint32_t */
#define PMIX_CONNECT_RETRY_DELAY                    "pmix.tool.retry"        /* uint32_t */
#define PMIX_TOOL_DO_NOT_CONNECT                    "pmix.tool.nocon"        /* bool */
#define PMIX_TOOL_CONNECT_OPTIONAL                  "pmix.tool.conopt"       /* bool */
#define PMIX_LAUNCHER                               "pmix.tool.launcher"     /* bool */
#define PMIX_LAUNCHER_RENDEZVOUS_FILE               "pmix.tool.lncrnd"       /* char* */
#define PMIX_TOOL_ATTACHMENT_FILE                   "pmix.tool.attach"       /* char* */
#define PMIX_PRIMARY_SERVER                         "pmix.pri.srvr"          /* bool */
#define PMIX_NOHUP                                  "pmix.nohup"             /* bool */
#define PMIX_LAUNCHER_DAEMON                        "pmix.lnch.dmn"          /* char* */
#define PMIX_EXEC_AGENT                             "pmix.exec.agnt"         /* char* */
#define PMIX_LAUNCH_DIRECTIVES                      "pmix.lnch.dirs"         /* pmix_data_array_t* */
#define PMIX_REALUID                                "pmix.ruid"              /* uint32_t */
#define PMIX_USERID                                 "pmix.euid"              /* uint32_t */
#define PMIX_REALGID                                "pmix.rgid"              /* uint32_t */
#define PMIX_GRPID                                  "pmix.egid"              /* uint32_t */
#define PMIX_REQUESTOR                              "pmix.requestor"         /* pmix_proc_t* */
#define PMIX_VERSION_INFO                           "pmix.version"           /* char* */
#define PMIX_REQUESTOR_IS_TOOL                      "pmix.req.tool"          /* bool */
#define PMIX_REQUESTOR_IS_CLIENT                    "pmix.req.client"        /* bool */
#define PMIX_PSET_NAME                              "pmix.pset.nm"           /* char* */
#define PMIX_PSET_NAMES                             "pmix.pset.nms"          /* pmix_data_array_t* */
#define PMIX_PSET_MEMBERS                           "pmix.pset.mems"         /* pmix_data_array_t* */
#define PMIX_REINCARNATION                          "pmix.reinc"             /* uint32_t */
#define PMIX_PROGRAMMING_MODEL                      "pmix.pgm.model"         /* char* */
#define PMIX_MODEL_LIBRARY_NAME                     "pmix.mdl.name"          /* char* */
#define PMIX_MODEL_LIBRARY_VERSION                  "pmix.mld.vrs"           /* char* */
#define PMIX_THREADING_MODEL                        "pmix.threads"           /* char* */
#define PMIX_MODEL_NUM_THREADS                      "pmix.mdl.nthrds"        /* uint64_t */
#define PMIX_MODEL_NUM_CPUS                         "pmix.mdl.ncpu"          /* uint64_t */
#define PMIX_MODEL_CPU_TYPE                         "pmix.mdl.cputype"       /* char* */
#define PMIX_MODEL_PHASE_NAME                       "pmix.mdl.phase"         /* char* */
#define PMIX_MODEL_PHASE_TYPE                       "pmix.mdl.ptype"         /* char* */
#define PMIX_MODEL_AFFINITY_POLICY                  "pmix.mdl.tap"           /* char* */
#define PMIX_TCP_REPORT_URI                         "pmix.tcp.repuri"        /* char* */
#define PMIX_TCP_URI                                "pmix.tcp.uri"           /* char* */
#define PMIX_TCP_IF_INCLUDE                         "pmix.tcp.ifinclude"     /* char* */
#define PMIX_TCP_IF_EXCLUDE                         "pmix.tcp.ifexclude"     /* char* */
#define PMIX_TCP_IPV4_PORT                          "pmix.tcp.ipv4"          /* int */
#define PMIX_TCP_IPV6_PORT                          "pmix.tcp.ipv6"          /* int */
#define PMIX_TCP_DISABLE_IPV4                       "pmix.tcp.disipv4"       /* bool */
#define PMIX_TCP_DISABLE_IPV6                       "pmix.tcp.disipv6"       /* bool */
#define PMIX_CPUSET                                 "pmix.cpuset"            /* char* */
#define PMIX_CPUSET_BITMAP                          "pmix.bitmap"            /* pmix_cpuset_t* */
#define PMIX_CREDENTIAL                             "pmix.cred"              /* char* */
#define PMIX_SPAWNED                                "pmix.spawned"           /* bool */
#define PMIX_NODE_OVERSUBSCRIBED                    "pmix.ndosub"            /* bool */
#define PMIX_TMPDIR                                 "pmix.tmpdir"            /* char* */
#define PMIX_NSDIR                                  "pmix.nsdir"             /* char* */
#define PMIX_PROCDIR                                "pmix.pdir"              /* char* */
#define PMIX_TDIR_RMCLEAN                           "pmix.tdir.rmclean"      /* bool */
#define PMIX_CLUSTER_ID                             "pmix.clid"              /* char* */
#define PMIX_PROCID                                 "pmix.procid"            /* pmix_proc_t* */
#define PMIX_NSPACE                                 "pmix.nspace"            /* char* */
#define PMIX_JOBID                                  "pmix.jobid"             /* char* */
#define PMIX_APPNUM                                 "pmix.appnum"            /* uint32_t */
#define PMIX_RANK                                   "pmix.rank"              /* pmix_rank_t */
#define PMIX_GLOBAL_RANK                            "pmix.grank"             /* pmix_rank_t */
#define PMIX_APP_RANK                               "pmix.apprank"           /* pmix_rank_t */
#define PMIX_NPROC_OFFSET                           "pmix.offset"            /* pmix_rank_t */
#define PMIX_LOCAL_RANK                             "pmix.lrank"             /* uint16_t */
#define PMIX_NODE_RANK                              "pmix.nrank"             /* uint16_t */
#define PMIX_PACKAGE_RANK                           "pmix.pkgrank"           /* uint16_t */
#define PMIX_LOCALLDR                               "pmix.lldr"              /* pmix_rank_t */
#define PMIX_APPLDR                                 "pmix.aldr"              /* pmix_rank_t */
#define PMIX_PROC_PID                               "pmix.ppid"              /* pid_t */
#define PMIX_SESSION_ID                             "pmix.session.id"        /* uint32_t */
#define PMIX_NODE_LIST                              "pmix.nlist"             /* char* */
#define PMIX_ALLOCATED_NODELIST                     "pmix.alist"             /* char* */
#define PMIX_HOSTNAME                               "pmix.hname"             /* char* */
#define PMIX_HOSTNAME_ALIASES                       "pmix.alias"             /* char* */
#define PMIX_HOSTNAME_KEEP_FQDN                     "pmix.fqdn"              /* bool */
#define PMIX_NODEID                                 "pmix.nodeid"            /* uint32_t */
#define PMIX_LOCAL_PEERS                            "pmix.lpeers"            /* char* */
#define PMIX_LOCAL_PROCS                            "pmix.lprocs"            /* pmix_data_array_t* */
#define PMIX_LOCAL_CPUSETS                          "pmix.lcpus"             /* char* */
#define PMIX_PARENT_ID                              "pmix.parent"            /* pmix_proc_t* */
#define PMIX_EXIT_CODE                              "pmix.exit.code"         /* int */
#define PMIX_UNIV_SIZE                              "pmix.univ.size"         /* uint32_t */
#define PMIX_JOB_SIZE                               "pmix.job.size"          /* uint32_t */
#define PMIX_JOB_NUM_APPS                           "pmix.job.napps"         /* uint32_t */
#define PMIX_APP_SIZE                               "pmix.app.size"          /* uint32_t */
#define PMIX_LOCAL_SIZE                             "pmix.local.size"        /* uint32_t */
#define PMIX_NODE_SIZE                              "pmix.node.size"         /* uint32_t */
#define PMIX_MAX_PROCS                              "pmix.max.size"          /* uint32_t */
#define PMIX_NUM_SLOTS                              "pmix.num.slots"         /* uint32_t */
#define PMIX_NUM_NODES                              "pmix.num.nodes"         /* uint32_t */
#define PMIX_NUM_ALLOCATED_NODES                    "pmix.num.anodes"        /* uint32_t */
#define PMIX_AVAIL_PHYS_MEMORY                      "pmix.pmem"              /* uint64_t */
#define PMIX_DAEMON_MEMORY                          "pmix.dmn.mem"           /* float */
#define PMIX_CLIENT_AVG_MEMORY                      "pmix.cl.mem.avg"        /* float */
#define PMIX_TOPOLOGY2                              "pmix.topo2"             /* pmix_topology_t* */
#define PMIX_LOCALITY_STRING                        "pmix.locstr"            /* char* */
#define PMIX_TOPOLOGY_INDEX                         "pmix.topo.index"        /* int */
#define PMIX_COLLECT_DATA                           "pmix.collect"           /* bool */
#define PMIX_ALL_CLONES_PARTICIPATE                 "pmix.clone.part"        /* bool */
#define PMIX_COLLECT_GENERATED_JOB_INFO             "pmix.collect.gen"       /* bool */
#define PMIX_TIMEOUT                                "pmix.timeout"           /* int */
#define PMIX_IMMEDIATE                              "pmix.immediate"         /* bool */
#define PMIX_WAIT                                   "pmix.wait"              /* int */
#define PMIX_NOTIFY_COMPLETION                      "pmix.notecomp"          /* bool */
#define PMIX_RANGE                                  "pmix.range"             /* pmix_data_range_t */
#define PMIX_PERSISTENCE                            "pmix.persist"           /* pmix_persistence_t */
#define PMIX_DATA_SCOPE                             "pmix.scope"             /* pmix_scope_t */
#define PMIX_OPTIONAL                               "pmix.optional"          /* bool */
#define PMIX_GET_STATIC_VALUES                      "pmix.get.static"        /* bool */
#define PMIX_GET_POINTER_VALUES                     "pmix.get.pntrs"         /* bool */
#define PMIX_EMBED_BARRIER                          "pmix.embed.barrier"     /* bool */
#define PMIX_JOB_TERM_STATUS                        "pmix.job.term.status"   /* pmix_status_t */
#define PMIX_PROC_TERM_STATUS                       "pmix.proc.term.status"  /* pmix_status_t */
#define PMIX_PROC_STATE_STATUS                      "pmix.proc.state"        /* pmix_proc_state_t */
#define PMIX_GET_REFRESH_CACHE                      "pmix.get.refresh"       /* bool */
#define PMIX_ACCESS_PERMISSIONS                     "pmix.aperms"            /* pmix_data_array_t* */
#define PMIX_ACCESS_USERIDS                         "pmix.auids"             /* pmix_data_array_t* */
#define PMIX_ACCESS_GRPIDS                          "pmix.agids"             /* pmix_data_array_t* */
#define PMIX_WAIT_FOR_CONNECTION                    "pmix.wait.conn"         /* bool */
#define PMIX_QUALIFIED_VALUE                        "pmix.qual.val"          /* pmix_data_array_t* */
#define PMIX_REGISTER_NODATA                        "pmix.reg.nodata"        /* bool */
#define PMIX_NODE_MAP                               "pmix.nmap"              /* char* */
#define PMIX_NODE_MAP_RAW                           "pmix.nmap.raw"          /* char* */
#define PMIX_PROC_MAP                               "pmix.pmap"              /* char* */
#define PMIX_PROC_MAP_RAW                           "pmix.pmap.raw"          /* char* */
#define PMIX_ANL_MAP                                "pmix.anlmap"            /* char* */
#define PMIX_APP_MAP_TYPE                           "pmix.apmap.type"        /* char* */
#define PMIX_APP_MAP_REGEX                          "pmix.apmap.regex"       /* char* */
#define PMIX_REQUIRED_KEY                           "pmix.req.key"           /* char* */
#define PMIX_LOCAL_COLLECTIVE_STATUS                "pmix.loc.col.st"        /* pmix_status_t */
#define PMIX_SORTED_PROC_ARRAY                      "pmix.sorted.parr"       /* bool */
#define PMIX_EVENT_HDLR_NAME                        "pmix.evname"            /* char* */
#define PMIX_EVENT_HDLR_FIRST                       "pmix.evfirst"           /* bool */
#define PMIX_EVENT_HDLR_LAST                        "pmix.evlast"            /* bool */
#define PMIX_EVENT_HDLR_FIRST_IN_CATEGORY           "pmix.evfirstcat"        /* bool */
#define PMIX_EVENT_HDLR_LAST_IN_CATEGORY            "pmix.evlastcat"         /* bool */
#define PMIX_EVENT_HDLR_BEFORE                      "pmix.evbefore"          /* char* */
#define PMIX_EVENT_HDLR_AFTER                       "pmix.evafter"           /* char* */
#define PMIX_EVENT_HDLR_PREPEND                     "pmix.evprepend"         /* bool */
#define PMIX_EVENT_HDLR_APPEND                      "pmix.evappend"          /* bool */
#define PMIX_EVENT_CUSTOM_RANGE                     "pmix.evrange"           /* pmix_data_array_t* */
#define PMIX_EVENT_AFFECTED_PROC                    "pmix.evproc"            /* pmix_proc_t* */
#define PMIX_EVENT_AFFECTED_PROCS                   "pmix.evaffected"        /* pmix_data_array_t* */
#define PMIX_EVENT_NON_DEFAULT                      "pmix.evnondef"          /* bool */
#define PMIX_EVENT_RETURN_OBJECT                    "pmix.evobject"          /* void* */
#define PMIX_EVENT_DO_NOT_CACHE                     "pmix.evnocache"         /* bool */
#define PMIX_EVENT_SILENT_TERMINATION               "pmix.evsilentterm"      /* bool */
#define PMIX_EVENT_PROXY                            "pmix.evproxy"           /* pmix_proc_t* */
#define PMIX_EVENT_TEXT_MESSAGE                     "pmix.evtext"            /* char* */
#define PMIX_EVENT_TIMESTAMP                        "pmix.evtstamp"          /* time_t */
#define PMIX_EVENT_ONESHOT                          "pmix.evone"             /* bool */
#define PMIX_EVENT_STAYS_LOCAL                      "pmix.evlocal"           /* bool */
#define PMIX_EVENT_TERMINATE_SESSION                "pmix.evterm.sess"       /* bool */
#define PMIX_EVENT_TERMINATE_JOB                    "pmix.evterm.job"        /* bool */
#define PMIX_EVENT_TERMINATE_NODE                   "pmix.evterm.node"       /* bool */
#define PMIX_EVENT_TERMINATE_PROC                   "pmix.evterm.proc"       /* bool */
#define PMIX_EVENT_ACTION_TIMEOUT                   "pmix.evtimeout"         /* int */
#define PMIX_PERSONALITY                            "pmix.pers"              /* char* */
#define PMIX_HOST                                   "pmix.host"              /* char* */
#define PMIX_HOSTFILE                               "pmix.hostfile"          /* char* */
#define PMIX_ADD_HOST                               "pmix.addhost"           /* char* */
#define PMIX_ADD_HOSTFILE                           "pmix.addhostfile"       /* char* */
#define PMIX_PREFIX                                 "pmix.prefix"            /* char* */
#define PMIX_WDIR                                   "pmix.wdir"              /* char* */
#define PMIX_WDIR_USER_SPECIFIED                    "pmix.wdir.user"         /* bool */
#define PMIX_DISPLAY_MAP                            "pmix.dispmap"           /* bool */
#define PMIX_DISPLAY_MAP_DETAILED                   "pmix.dispmapdet"        /* bool */
#define PMIX_DISPLAY_ALLOCATION                     "pmix.dispalloc"         /* bool */
#define PMIX_DISPLAY_TOPOLOGY                       "pmix.disptopo"          /* char* */
#define PMIX_DISPLAY_PROCESSORS                     "pmix.dispcpus"          /* char* */
#define PMIX_DISPLAY_PARSEABLE_OUTPUT               "pmix.dispparse"         /* bool */
#define PMIX_PPR                                    "pmix.ppr"               /* char* */
#define PMIX_MAPBY                                  "pmix.mapby"             /* char* */
#define PMIX_RANKBY                                 "pmix.rankby"            /* char* */
#define PMIX_BINDTO                                 "pmix.bindto"            /* char* */
#define PMIX_PRELOAD_BIN                            "pmix.preloadbin"        /* bool */
#define PMIX_PRELOAD_FILES                          "pmix.preloadfiles"      /* char* */
#define PMIX_STDIN_TGT                              "pmix.stdin"             /* pmix_proc_t* */
#define PMIX_DEBUGGER_DAEMONS                       "pmix.debugger"          /* bool */
#define PMIX_COSPAWN_APP                            "pmix.cospawn"           /* bool */
#define PMIX_COLOCATE_PROCS                         "pmix.colproc"           /* pmix_data_array_t* */
#define PMIX_COLOCATE_NPERPROC                      "pmix.colnum.proc"       /* uint16_t */
#define PMIX_COLOCATE_NPERNODE                      "pmix.colnum.node"       /* uint16_t */
#define PMIX_SET_SESSION_CWD                        "pmix.ssncwd"            /* bool */
#define PMIX_INDEX_ARGV                             "pmix.indxargv"          /* bool */
#define PMIX_CPUS_PER_PROC                          "pmix.cpuperproc"        /* uint32_t */
#define PMIX_NO_PROCS_ON_HEAD                       "pmix.nolocal"           /* bool */
#define PMIX_NO_OVERSUBSCRIBE                       "pmix.noover"            /* bool */
#define PMIX_REPORT_BINDINGS                        "pmix.repbind"           /* bool */
#define PMIX_REPORT_PHYSICAL_CPUS                   "pmix.repphys.cpus"      /* bool */
#define PMIX_CPU_LIST                               "pmix.cpulist"           /* char* */
#define PMIX_JOB_RECOVERABLE                        "pmix.recover"           /* bool */
#define PMIX_JOB_CONTINUOUS                         "pmix.continuous"        /* bool */
#define PMIX_MAX_RESTARTS                           "pmix.maxrestarts"       /* uint32_t */
#define PMIX_FWD_STDIN                              "pmix.fwd.stdin"         /* bool */
#define PMIX_FWD_STDOUT                             "pmix.fwd.stdout"        /* bool */
#define PMIX_FWD_STDERR                             "pmix.fwd.stderr"        /* bool */
#define PMIX_FWD_STDDIAG                            "pmix.fwd.stddiag"       /* bool */
#define PMIX_SPAWN_TOOL                             "pmix.spwn.tool"         /* bool */
#define PMIX_CMD_LINE                               "pmix.cmd.line"          /* char* */
#define PMIX_FORKEXEC_AGENT                         "pmix.fe.agnt"           /* char* */
#define PMIX_JOB_TIMEOUT                            "pmix.job.time"          /* int */
#define PMIX_SPAWN_TIMEOUT                          "pmix.sp.time"           /* int */
#define PMIX_TIMEOUT_STACKTRACES                    "pmix.tim.stack"         /* bool */
#define PMIX_TIMEOUT_REPORT_STATE                   "pmix.tim.state"         /* bool */
#define PMIX_APP_ARGV                               "pmix.app.argv"          /* char* */
#define PMIX_NOTIFY_JOB_EVENTS                      "pmix.note.jev"          /* bool */
#define PMIX_NOTIFY_PROC_TERMINATION                "pmix.noteproc"          /* bool */
#define PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION       "pmix.noteabproc"        /* bool */
#define PMIX_ENVARS_HARVESTED                       "pmix.evar.hvstd"        /* bool */
#define PMIX_RUNTIME_OPTIONS                        "pmix.runopt"            /* char* */
#define PMIX_ABORT_NON_ZERO_TERM                    "pmix.abnz"              /* bool */
#define PMIX_DO_NOT_LAUNCH                          "pmix.dnl"               /* bool */
#define PMIX_SHOW_LAUNCH_PROGRESS                   "pmix.showprog"          /* bool */
#define PMIX_AGGREGATE_HELP                         "pmix.agg.help"          /* bool */
#define PMIX_REPORT_CHILD_SEP                       "pmix.rptchildsep"       /* bool */
#define PMIX_SPAWN_CHILD_SEP                        "pmix.spchildsep"        /* bool */
#define PMIX_FWD_ENVIRONMENT                        "pmix.fwdenv"            /* bool */
#define PMIX_SPAWN_PTY                              "pmix.spawn.pty"         /* bool */
#define PMIX_PTY_TERMIO                             "pmix.pty.termio"        /* pmix_byte_object_t */
#define PMIX_PTY_WSIZE                              "pmix.pty.wsize"         /* pmix_byte_object_t */
#define PMIX_QUERY_SUPPORTED_KEYS                   "pmix.qry.keys"          /* char* */
#define PMIX_QUERY_NAMESPACES                       "pmix.qry.ns"            /* char* */
#define PMIX_QUERY_NAMESPACE_INFO                   "pmix.qry.nsinfo"        /* pmix_data_array_t* */
#define PMIX_QUERY_JOB_STATUS                       "pmix.qry.jst"           /* pmix_status_t */
#define PMIX_QUERY_QUEUE_LIST                       "pmix.qry.qlst"          /* char* */
#define PMIX_QUERY_QUEUE_STATUS                     "pmix.qry.qst"           /* pmix_data_array_t* */
#define PMIX_QUERY_PROC_TABLE                       "pmix.qry.ptable"        /* pmix_data_array_t* */
#define PMIX_QUERY_LOCAL_PROC_TABLE                 "pmix.qry.lptable"       /* pmix_data_array_t* */
#define PMIX_QUERY_AUTHORIZATIONS                   "pmix.qry.auths"         /* pmix_data_array_t* */
#define PMIX_QUERY_SPAWN_SUPPORT                    "pmix.qry.spawn"         /* char* */
#define PMIX_QUERY_DEBUG_SUPPORT                    "pmix.qry.debug"         /* char* */
#define PMIX_QUERY_MEMORY_USAGE                     "pmix.qry.mem"           /* pmix_data_array_t* */
#define PMIX_QUERY_ALLOC_STATUS                     "pmix.query.alloc"       /* char* */
#define PMIX_QUERY_ALLOCATION                       "pmix.query.allc"        /* pmix_data_array_t* */
#define PMIX_TIME_REMAINING                         "pmix.time.remaining"    /* uint32_t */
#define PMIX_QUERY_NUM_PSETS                        "pmix.qry.psetnum"       /* size_t */
#define PMIX_QUERY_PSET_NAMES                       "pmix.qry.psets"         /* char* */
#define PMIX_QUERY_PSET_MEMBERSHIP                  "pmix.qry.pmems"         /* pmix_data_array_t* */
#define PMIX_QUERY_NUM_GROUPS                       "pmix.qry.pgrpnum"       /* size_t */
#define PMIX_QUERY_GROUP_NAMES                      "pmix.qry.pgrp"          /* pmix_data_array_t* */
#define PMIX_QUERY_GROUP_MEMBERSHIP                 "pmix.qry.pgrpmems"      /* pmix_data_array_t* */
#define PMIX_QUERY_ATTRIBUTE_SUPPORT                "pmix.qry.attrs"         /* pmix_data_array_t* */
#define PMIX_CLIENT_FUNCTIONS                       "pmix.client.fns"        /* char* */
#define PMIX_SERVER_FUNCTIONS                       "pmix.srvr.fns"          /* char* */
#define PMIX_TOOL_FUNCTIONS                         "pmix.tool.fns"          /* char* */
#define PMIX_HOST_FUNCTIONS                         "pmix.host.fns"          /* char* */
#define PMIX_QUERY_AVAIL_SERVERS                    "pmix.qry.asrvrs"        /* pmix_data_array_t* */
#define PMIX_QUERY_QUALIFIERS                       "pmix.qry.quals"         /* pmix_data_array_t* */
#define PMIX_QUERY_RESULTS                          "pmix.qry.res"           /* pmix_data_array_t* */
#define PMIX_QUERY_MIN_ALLOC_UNIT                   "pmix.qry.minau"         /* pmix_data_array_t* */
#define PMIX_QUERY_RES_BLOCKS                       "pmix.qry.resblks"       /* pmix_data_array_t* */
#define PMIX_QUERY_RES_BLOCK_DEF                    "pmix.qry.resdef"        /* pmix_data_array_t* */
#define PMIX_QUERY_DEVICES                          "pmix.qry.dev"           /* pmix_data_array_t* */
#define PMIX_QUERY_AVAILABLE_SLOTS                  "pmix.qry.aslots"        /* uint32_t */
#define PMIX_QUERY_RESOLVE_PEERS                    "pmix.qry.peers"         /* pmix_data_array_t* */
#define PMIX_QUERY_RESOLVE_NODE                     "pmix.qry.node"          /* char* */
#define PMIX_QUERY_PROC_RESOURCE_USAGE              "pmix.qry.pres"          /* pmix_proc_t* */
#define PMIX_QUERY_NODE_RESOURCE_USAGE              "pmix.qry.nres"          /* char* */
#define PMIX_QUERY_REFRESH_CACHE                    "pmix.qry.rfsh"          /* bool */
#define PMIX_QUERY_LOCAL_ONLY                       "pmix.qry.local"         /* bool */
#define PMIX_QUERY_REPORT_AVG                       "pmix.qry.avg"           /* bool */
#define PMIX_QUERY_REPORT_MINMAX                    "pmix.qry.minmax"        /* bool */
#define PMIX_CLIENT_ATTRIBUTES                      "pmix.client.attrs"      /* char* */
#define PMIX_SERVER_ATTRIBUTES                      "pmix.srvr.attrs"        /* char* */
#define PMIX_HOST_ATTRIBUTES                        "pmix.host.attrs"        /* char* */
#define PMIX_TOOL_ATTRIBUTES                        "pmix.tool.attrs"        /* char* */
#define PMIX_QUERY_SUPPORTED_QUALIFIERS             "pmix.qry.quals"         /* bool */
#define PMIX_RESOURCE_BLOCK_NAME                    "pmix.resblkname"        /* char* */
#define PMIX_SESSION_INFO                           "pmix.ssn.info"          /* bool */
#define PMIX_JOB_INFO                               "pmix.job.info"          /* bool */
#define PMIX_APP_INFO                               "pmix.app.info"          /* bool */
#define PMIX_NODE_INFO                              "pmix.node.info"         /* bool */
#define PMIX_SESSION_INFO_ARRAY                     "pmix.ssn.arr"           /* pmix_data_array_t* */
#define PMIX_JOB_INFO_ARRAY                         "pmix.job.arr"           /* pmix_data_array_t* */
#define PMIX_APP_INFO_ARRAY                         "pmix.app.arr"           /* pmix_data_array_t* */
#define PMIX_PROC_INFO_ARRAY                        "pmix.pdata"             /* pmix_data_array_t* */
#define PMIX_NODE_INFO_ARRAY                        "pmix.node.arr"          /* pmix_data_array_t* */
#define PMIX_SERVER_INFO_ARRAY                      "pmix.srv.arr"           /* pmix_data_array_t* */
#define PMIX_LOG_SOURCE                             "pmix.log.source"        /* pmix_proc_t* */
#define PMIX_LOG_STDERR                             "pmix.log.stderr"        /* char* */
#define PMIX_LOG_STDOUT                             "pmix.log.stdout"        /* char* */
#define PMIX_LOG_SYSLOG                             "pmix.log.syslog"        /* char* */
#define PMIX_LOG_LOCAL_SYSLOG                       "pmix.log.lsys"          /* char* */
#define PMIX_LOG_GLOBAL_SYSLOG                      "pmix.log.gsys"          /* char* */
#define PMIX_LOG_SYSLOG_PRI                         "pmix.log.syspri"        /* int */
#define PMIX_LOG_TIMESTAMP                          "pmix.log.tstmp"         /* time_t */
#define PMIX_LOG_GENERATE_TIMESTAMP                 "pmix.log.gtstmp"        /* bool */
#define PMIX_LOG_TAG_OUTPUT                         "pmix.log.tag"           /* bool */
#define PMIX_LOG_TIMESTAMP_OUTPUT                   "pmix.log.tsout"         /* bool */
#define PMIX_LOG_XML_OUTPUT                         "pmix.log.xml"           /* bool */
#define PMIX_LOG_ONCE                               "pmix.log.once"          /* bool */
#define PMIX_LOG_MSG                                "pmix.log.msg"           /* pmix_byte_object_t */
#define PMIX_LOG_KEY                                "pmix.log.key"           /* char* */
#define PMIX_LOG_VAL                                "pmix.log.val"           /* char* */
#define PMIX_LOG_AGG                                "pmix.log.agg"           /* bool */
#define PMIX_LOG_EMAIL                              "pmix.log.email"         /* pmix_data_array_t* */
#define PMIX_LOG_EMAIL_ADDR                         "pmix.log.emaddr"        /* char* */
#define PMIX_LOG_EMAIL_SENDER_ADDR                  "pmix.log.emfaddr"       /* char* */
#define PMIX_LOG_EMAIL_SUBJECT                      "pmix.log.emsub"         /* char* */
#define PMIX_LOG_EMAIL_MSG                          "pmix.log.emmsg"         /* char* */
#define PMIX_LOG_EMAIL_SERVER                       "pmix.log.esrvr"         /* char* */
#define PMIX_LOG_EMAIL_SRVR_PORT                    "pmix.log.esrvrprt"      /* int32_t */
#define PMIX_LOG_GLOBAL_DATASTORE                   "pmix.log.gstore"        /* bool */
#define PMIX_LOG_JOB_RECORD                         "pmix.log.jrec"          /* bool */
#define PMIX_LOG_PROC_TERMINATION                   "pmix.logproc"           /* bool */
#define PMIX_LOG_PROC_ABNORMAL_TERMINATION          "pmix.logabproc"         /* bool */
#define PMIX_LOG_JOB_EVENTS                         "pmix.log.jev"           /* bool */
#define PMIX_LOG_COMPLETION                         "pmix.logcomp"           /* bool */
#define PMIX_DEBUG_STOP_ON_EXEC                     "pmix.dbg.exec"          /* varies */
#define PMIX_DEBUG_STOP_IN_INIT                     "pmix.dbg.init"          /* varies */
#define PMIX_DEBUG_STOP_IN_APP                      "pmix.dbg.notify"        /* varies */
#define PMIX_BREAKPOINT                             "pmix.brkpnt"            /* char* */
#define PMIX_DEBUG_TARGET                           "pmix.dbg.tgt"           /* pmix_proc_t* */
#define PMIX_DEBUG_DAEMONS_PER_PROC                 "pmix.dbg.dpproc"        /* uint16_t */
#define PMIX_DEBUG_DAEMONS_PER_NODE                 "pmix.dbg.dpnd"          /* uint16_t */
#define PMIX_RM_NAME                                "pmix.rm.name"           /* char* */
#define PMIX_RM_VERSION                             "pmix.rm.version"        /* char* */
#define PMIX_SET_ENVAR                              "pmix.envar.set"         /* pmix_envar_t* */
#define PMIX_ADD_ENVAR                              "pmix.envar.add"         /* pmix_envar_t* */
#define PMIX_UNSET_ENVAR                            "pmix.envar.unset"       /* char* */
#define PMIX_PREPEND_ENVAR                          "pmix.envar.prepnd"      /* pmix_envar_t* */
#define PMIX_APPEND_ENVAR                           "pmix.envar.appnd"       /* pmix_envar_t* */
#define PMIX_FIRST_ENVAR                            "pmix.envar.first"       /* pmix_envar_t* */
#define PMIX_ALLOC_REQ_ID                           "pmix.alloc.reqid"       /* char* */
#define PMIX_ALLOC_ID                               "pmix.alloc.id"          /* char* */
#define PMIX_ALLOC_NUM_NODES                        "pmix.alloc.nnodes"      /* uint64_t */
#define PMIX_ALLOC_NODE_LIST                        "pmix.alloc.nlist"       /* char* */
#define PMIX_ALLOC_EXCLUDE                          "pmix.alloc.exclude"     /* char* */
#define PMIX_ALLOC_NUM_CPUS                         "pmix.alloc.ncpus"       /* uint64_t */
#define PMIX_ALLOC_NUM_CPU_LIST                     "pmix.alloc.ncpulist"    /* char* */
#define PMIX_ALLOC_CPU_LIST                         "pmix.alloc.cpulist"     /* char* */
#define PMIX_ALLOC_MEM_SIZE                         "pmix.alloc.msize"       /* float */
#define PMIX_ALLOC_FABRIC                           "pmix.alloc.net"         /* pmix_data_array_t* */
#define PMIX_ALLOC_FABRIC_ID                        "pmix.alloc.netid"       /* char* */
#define PMIX_ALLOC_BANDWIDTH                        "pmix.alloc.bw"          /* float */
#define PMIX_ALLOC_FABRIC_QOS                       "pmix.alloc.netqos"      /* char* */
#define PMIX_ALLOC_TIME                             "pmix.alloc.time"        /* char* */
#define PMIX_ALLOC_FABRIC_TYPE                      "pmix.alloc.nettype"     /* char* */
#define PMIX_ALLOC_FABRIC_PLANE                     "pmix.alloc.netplane"    /* char* */
#define PMIX_ALLOC_FABRIC_ENDPTS                    "pmix.alloc.endpts"      /* size_t */
#define PMIX_ALLOC_FABRIC_ENDPTS_NODE               "pmix.alloc.endpts.nd"   /* size_t */
#define PMIX_ALLOC_FABRIC_SEC_KEY                   "pmix.alloc.nsec"        /* pmix_byte_object_t */
#define PMIX_ALLOC_QUEUE                            "pmix.alloc.queue"       /* char* */
#define PMIX_ALLOC_PREEMPTIBLE                      "pmix.alloc.preempt"     /* bool */
#define PMIX_ALLOC_LEND                             "pmix.alloc.lend"        /* char* */
#define PMIX_ALLOC_IMAGE                            "pmix.alloc.image"       /* char* */
#define PMIX_ALLOC_WAIT_ALL_NODES                   "pmix.alloc.waitall"     /* bool */
#define PMIX_ALLOC_SHARE                            "pmix.alloc.share"       /* bool */
#define PMIX_ALLOC_NOSHELL                          "pmix.alloc.noshell"     /* bool */
#define PMIX_ALLOC_DEPENDENCY                       "pmix.alloc.depend"      /* char* */
#define PMIX_ALLOC_BEGIN                            "pmix.alloc.begin"       /* char* */
#define PMIX_ALLOC_NOT_WAITING                      "pmix.alloc.notwait"     /* bool */
#define PMIX_ALLOC_RES_BLOCK                        "pmix.alloc.blk"         /* char* */
#define PMIX_ALLOC_NUM_BLOCKS                       "pmix.alloc.nblks"       /* uint64_t */
#define PMIX_ALLOC_MAU                              "pmix.alloc.mau"         /* pmix_data_array_t* */
#define PMIX_ALLOC_CHILD_SEP                        "pmix.alloc.sep"         /* bool */
#define PMIX_MEM_ALLOC_KIND                         "pmix.alloc.mkind"       /* char* */
#define PMIX_GPU_SUPPORT                            "pmix.gpu.support"       /* bool */
#define PMIX_JOB_CTRL_ID                            "pmix.jctrl.id"          /* char* */
#define PMIX_JOB_CTRL_PAUSE                         "pmix.jctrl.pause"       /* bool */
#define PMIX_JOB_CTRL_RESUME                        "pmix.jctrl.resume"      /* bool */
#define PMIX_JOB_CTRL_CANCEL                        "pmix.jctrl.cancel"      /* char* */
#define PMIX_JOB_CTRL_KILL                          "pmix.jctrl.kill"        /* bool */
#define PMIX_JOB_CTRL_RESTART                       "pmix.jctrl.restart"     /* char* */
#define PMIX_JOB_CTRL_CHECKPOINT                    "pmix.jctrl.ckpt"        /* char* */
#define PMIX_JOB_CTRL_CHECKPOINT_EVENT              "pmix.jctrl.ckptev"      /* bool */
#define PMIX_JOB_CTRL_CHECKPOINT_SIGNAL             "pmix.jctrl.ckptsig"     /* int */
#define PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT            "pmix.jctrl.ckptsig"     /* int */
#define PMIX_JOB_CTRL_CHECKPOINT_METHOD             "pmix.jctrl.ckmethod"    /* pmix_data_array_t* */
#define PMIX_JOB_CTRL_SIGNAL                        "pmix.jctrl.sig"         /* int */
#define PMIX_JOB_CTRL_PROVISION                     "pmix.jctrl.pvn"         /* char* */
#define PMIX_JOB_CTRL_PROVISION_IMAGE               "pmix.jctrl.pvnimg"      /* char* */
#define PMIX_JOB_CTRL_PREEMPTIBLE                   "pmix.jctrl.preempt"     /* bool */
#define PMIX_JOB_CTRL_TERMINATE                     "pmix.jctrl.term"        /* bool */
#define PMIX_JOB_CTRL_DEFINE_PSET                   "pmix.jctrl.defpset"     /* char* */
#define PMIX_REGISTER_CLEANUP                       "pmix.reg.cleanup"       /* char* */
#define PMIX_REGISTER_CLEANUP_DIR                   "pmix.reg.cleanupdir"    /* char* */
#define PMIX_CLEANUP_RECURSIVE                      "pmix.clnup.recurse"     /* bool */
#define PMIX_CLEANUP_EMPTY                          "pmix.clnup.empty"       /* bool */
#define PMIX_CLEANUP_IGNORE                         "pmix.clnup.ignore"      /* char* */
#define PMIX_CLEANUP_LEAVE_TOPDIR                   "pmix.clnup.lvtop"       /* bool */
#define PMIX_JOB_CTRL_SEP                           "pmix.jctrl.sep"         /* bool */
#define PMIX_SESSION_CTRL_ID                        "pmix.ssnctrl.id"        /* char* */
#define PMIX_SESSION_INSTANTIATE                    "pmix.ssn.inst"          /* bool */
#define PMIX_SESSION_RESOURCES                      "pmix.ssn.res"           /* pmix_data_array_t* */
#define PMIX_SESSION_JOB                            "pmix.ssn.job"           /* pmix_data_array_t* */
#define PMIX_SESSION_APP                            "pmix.ssn.app"           /* pmix_data_array_t* */
#define PMIX_SESSION_PROVISION_NODES                "pmix.ssn.pvnnds"        /* char* */
#define PMIX_SESSION_PROVISION_IMAGE                "pmix.ssn.pvnimg"        /* char* */
#define PMIX_SESSION_PAUSE                          "pmix.ssn.pause"         /* bool */
#define PMIX_SESSION_RESUME                         "pmix.ssn.resume"        /* bool */
#define PMIX_SESSION_TERMINATE                      "pmix.ssn.terminate"     /* bool */
#define PMIX_SESSION_PREEMPT                        "pmix.ssn.preempt"       /* bool */
#define PMIX_SESSION_RESTORE                        "pmix.ssn.restore"       /* bool */
#define PMIX_SESSION_SIGNAL                         "pmix.ssn.sig"           /* int */
#define PMIX_SESSION_SEP                            "pmix.ssn.sep"           /* bool */
#define PMIX_SESSION_EXTEND                         "pmix.ssn.xtend"         /* bool */
#define PMIX_SESSION_COMPLETE                       "pmix.ssn.complete"      /* bool */
#define PMIX_MONITOR_ID                             "pmix.monitor.id"        /* char* */
#define PMIX_MONITOR_PROXY                          "pmix.monitor.proxy"     /* pmix_proc_t* */
#define PMIX_MONITOR_CANCEL                         "pmix.monitor.cancel"    /* char* */
#define PMIX_MONITOR_APP_CONTROL                    "pmix.monitor.appctrl"   /* bool */
#define PMIX_MONITOR_HEARTBEAT                      "pmix.monitor.mbeat"     /* bool */
#define PMIX_SEND_HEARTBEAT                         "pmix.monitor.beat"      /* bool */
#define PMIX_MONITOR_HEARTBEAT_TIME                 "pmix.monitor.btime"     /* uint32_t */
#define PMIX_MONITOR_HEARTBEAT_DROPS                "pmix.monitor.bdrop"     /* uint32_t */
#define PMIX_MONITOR_FILE                           "pmix.monitor.fmon"      /* char* */
#define PMIX_MONITOR_FILE_SIZE                      "pmix.monitor.fsize"     /* bool */
#define PMIX_MONITOR_FILE_ACCESS                    "pmix.monitor.faccess"   /* char* */
#define PMIX_MONITOR_FILE_MODIFY                    "pmix.monitor.fmod"      /* char* */
#define PMIX_MONITOR_FILE_CHECK_TIME                "pmix.monitor.ftime"     /* uint32_t */
#define PMIX_MONITOR_FILE_DROPS                     "pmix.monitor.fdrop"     /* uint32_t */
#define PMIX_MONITOR_RESOURCE_RATE                  "pmix.monitor.resrate"   /* uint32_t */
#define PMIX_MONITOR_TARGET_PROCS                   "pmix.monitor.tgtproc"   /* pmix_data_array_t* */
#define PMIX_MONITOR_TARGET_PIDS                    "pmix.monitor.tgtpid"    /* pmix_data_array_t* */
#define PMIX_MONITOR_TARGET_NODES                   "pmix.monitor.tgtnode"   /* pmix_data_array_t* */
#define PMIX_MONITOR_TARGET_NODEIDS                 "pmix.monitor.tgtndids"  /* pmix_data_array_t* */
#define PMIX_MONITOR_TARGET_DISKS                   "pmix.monitor.tgtdks"    /* pmix_data_array_t* */
#define PMIX_MONITOR_TARGET_NETS                    "pmix.monitor.tgtnets"   /* pmix_data_array_t* */
#define PMIX_MONITOR_PROC_RESOURCE_USAGE            "pmix.monitor.presuse"   /* pmix_data_array_t* */
#define PMIX_MONITOR_NODE_RESOURCE_USAGE            "pmix.monitor.ndresuse"  /* pmix_data_array_t* */
#define PMIX_MONITOR_DISK_RESOURCE_USAGE            "pmix.monitor.dkresuse"  /* pmix_data_array_t* */
#define PMIX_MONITOR_NET_RESOURCE_USAGE             "pmix.monitor.netresuse" /* pmix_data_array_t* */
#define PMIX_MONITOR_LOCAL_ONLY                     "pmix.monitor.local"     /* bool */
#define PMIX_PROC_RESOURCE_USAGE                    "pmix.proc.res"          /* pmix_data_array_t* */
#define PMIX_PROC_OS_STATE                          "pmix.proc.osstate"      /* char* */
#define PMIX_PROC_TIME                              "pmix.proc.time"         /* struct timeval */
#define PMIX_PROC_PERCENT_CPU                       "pmix.proc.pcpu"         /* float */
#define PMIX_PROC_PRIORITY                          "pmix.proc.pri"          /* int32_t */
#define PMIX_PROC_NUM_THREADS                       "pmix.proc.nthr"         /* uint16_t */
#define PMIX_PROC_PSS                               "pmix.proc.pss"          /* float */
#define PMIX_PROC_VSIZE                             "pmix.proc.vsize"        /* float */
#define PMIX_PROC_RSS                               "pmix.proc.rss"          /* float */
#define PMIX_PROC_PEAK_VSIZE                        "pmix.proc.pkvsize"      /* float */
#define PMIX_PROC_CPU                               "pmix.proc.cpu"          /* uint16_t */
#define PMIX_PROC_SAMPLE_TIME                       "pmix.proc.samptime"     /* time_t */
#define PMIX_DISK_RESOURCE_USAGE                    "pmix.disk.res"          /* pmix_data_array_t* */
#define PMIX_DISK_ID                                "pmix.disk.id"           /* char* */
#define PMIX_DISK_READ_COMPLETED                    "pmix.disk.rdscomp"      /* uint64_t */
#define PMIX_DISK_READ_MERGED                       "pmix.disk.rdsmrgd"      /* uint64_t */
#define PMIX_DISK_READ_SECTORS                      "pmix.disk.rdsct"        /* uint64_t */
#define PMIX_DISK_READ_MILLISEC                     "pmix.disk.rdms"         /* uint64_t */
#define PMIX_DISK_WRITE_COMPLETED                   "pmix.disk.wtscomp"      /* uint64_t */
#define PMIX_DISK_WRITE_MERGED                      "pmix.disk.wtsmrgd"      /* uint64_t */
#define PMIX_DISK_WRITE_SECTORS                     "pmix.disk.wtsct"        /* uint64_t */
#define PMIX_DISK_WRITE_MILLISEC                    "pmix.disk.wtms"         /* uint64_t */
#define PMIX_DISK_IO_IN_PROGRESS                    "pmix.disk.ios"          /* uint64_t */
#define PMIX_DISK_IO_MILLISEC                       "pmix.disk.ioms"         /* uint64_t */
#define PMIX_DISK_IO_WEIGHTED                       "pmix.disk.iowght"       /* uint64_t */
#define PMIX_DISK_SAMPLE_TIME                       "pmix.disk.samptime"     /* time_t */
#define PMIX_NETWORK_RESOURCE_USAGE                 "pmix.net.res"           /* pmix_data_array_t* */
#define PMIX_NETWORK_ID                             "pmix.net.id"            /* char* */
#define PMIX_NET_RECVD_BYTES                        "pmix.net.rcb"           /* uint64_t */
#define PMIX_NET_RECVD_PCKTS                        "pmix.net.rcp"           /* uint64_t */
#define PMIX_NET_RECVD_ERRS                         "pmix.net.rcerr"         /* uint64_t */
#define PMIX_NET_SENT_BYTES                         "pmix.net.sntb"          /* uint64_t */
#define PMIX_NET_SENT_PCKTS                         "pmix.net.sntp"          /* uint64_t */
#define PMIX_NET_SENT_ERRS                          "pmix.net.snterr"        /* uint64_t */
#define PMIX_NET_SAMPLE_TIME                        "pmix.net.samptime"      /* time_t */
#define PMIX_NODE_RESOURCE_USAGE                    "pmix.node.res"          /* pmix_data_array_t* */
#define PMIX_NODE_LOAD_AVG                          "pmix.node.la"           /* float */
#define PMIX_NODE_LOAD_AVG5                         "pmix.node.la5"          /* float */
#define PMIX_NODE_LOAD_AVG15                        "pmix.node.la15"         /* float */
#define PMIX_NODE_MEM_TOTAL                         "pmix.node.mtot"         /* float */
#define PMIX_NODE_MEM_FREE                          "pmix.node.mfree"        /* float */
#define PMIX_NODE_MEM_BUFFERS                       "pmix.node.mbuf"         /* float */
#define PMIX_NODE_MEM_CACHED                        "pmix.node.mcache"       /* float */
#define PMIX_NODE_MEM_SWAP_CACHED                   "pmix.node.mswpc"        /* float */
#define PMIX_NODE_SWAP_TOTAL                        "pmix.node.mswpt"        /* float */
#define PMIX_NODE_MEM_SWAP_FREE                     "pmix.node.mswpfree"     /* float */
#define PMIX_NODE_MEM_MAPPED                        "pmix.node.mmap"         /* float */
#define PMIX_NODE_SAMPLE_TIME                       "pmix.node.samptime"     /* time_t */
#define PMIX_CRED_TYPE                              "pmix.sec.ctype"         /* char* */
#define PMIX_CRYPTO_KEY                             "pmix.sec.key"           /* pmix_byte_object_t */
#define PMIX_IOF_CACHE_SIZE                         "pmix.iof.csize"         /* uint32_t */
#define PMIX_IOF_DROP_OLDEST                        "pmix.iof.old"           /* bool */
#define PMIX_IOF_DROP_NEWEST                        "pmix.iof.new"           /* bool */
#define PMIX_IOF_BUFFERING_SIZE                     "pmix.iof.bsize"         /* uint32_t */
#define PMIX_IOF_BUFFERING_TIME                     "pmix.iof.btime"         /* uint32_t */
#define PMIX_IOF_COMPLETE                           "pmix.iof.cmp"           /* bool */
#define PMIX_IOF_PUSH_STDIN                         "pmix.iof.stdin"         /* bool */
#define PMIX_IOF_TAG_OUTPUT                         "pmix.iof.tag"           /* bool */
#define PMIX_IOF_TAG_DETAILED_OUTPUT                "pmix.iof.tagdet"        /* bool */
#define PMIX_IOF_TAG_FULLNAME_OUTPUT                "pmix.iof.tagfull"       /* bool */
#define PMIX_IOF_RANK_OUTPUT                        "pmix.iof.rank"          /* bool */
#define PMIX_IOF_TIMESTAMP_OUTPUT                   "pmix.iof.ts"            /* bool */
#define PMIX_IOF_MERGE_STDERR_STDOUT                "pmix.iof.mrg"           /* bool */
#define PMIX_IOF_XML_OUTPUT                         "pmix.iof.xml"           /* bool */
#define PMIX_IOF_OUTPUT_TO_FILE                     "pmix.iof.file"          /* char* */
#define PMIX_IOF_FILE_PATTERN                       "pmix.iof.fpt"           /* bool */
#define PMIX_IOF_OUTPUT_TO_DIRECTORY                "pmix.iof.dir"           /* char* */
#define PMIX_IOF_FILE_ONLY                          "pmix.iof.fonly"         /* bool */
#define PMIX_IOF_COPY                               "pmix.iof.cpy"           /* bool */
#define PMIX_IOF_REDIRECT                           "pmix.iof.redir"         /* bool */
#define PMIX_IOF_LOCAL_OUTPUT                       "pmix.iof.local"         /* bool */
#define PMIX_IOF_OUTPUT_RAW                         "pmix.iof.raw"           /* bool */
#define PMIX_SETUP_APP_ENVARS                       "pmix.setup.env"         /* bool */
#define PMIX_SETUP_APP_NONENVARS                    "pmix.setup.nenv"        /* bool */
#define PMIX_SETUP_APP_ALL                          "pmix.setup.all"         /* bool */
#define PMIX_GROUP_ID                               "pmix.grp.id"            /* char* */
#define PMIX_GROUP_LEADER                           "pmix.grp.ldr"           /* bool */
#define PMIX_GROUP_OPTIONAL                         "pmix.grp.opt"           /* bool */
#define PMIX_GROUP_NOTIFY_TERMINATION               "pmix.grp.notterm"       /* bool */
#define PMIX_GROUP_FT_COLLECTIVE                    "pmix.grp.ftcoll"        /* bool */
#define PMIX_GROUP_MEMBERSHIP                       "pmix.grp.mbrs"          /* pmix_data_array_t* */
#define PMIX_GROUP_ASSIGN_CONTEXT_ID                "pmix.grp.actxid"        /* bool */
#define PMIX_GROUP_CONTEXT_ID                       "pmix.grp.ctxid"         /* size_t */
#define PMIX_GROUP_LOCAL_ONLY                       "pmix.grp.lcl"           /* bool */
#define PMIX_GROUP_ENDPT_DATA                       "pmix.grp.endpt"         /* pmix_byte_object_t */
#define PMIX_GROUP_NAMES                            "pmix.pgrp.nm"           /* pmix_data_array_t* */
#define PMIX_GROUP_INFO                             "pmix.grp.info"          /* pmix_data_array_t* */
#define PMIX_GROUP_INFO_ARRAY                       "pmix.grp.infoarray"     /* pmix_data_array_t* */
#define PMIX_GROUP_LOCAL_CID                        "pmix.grp.lclid"         /* size_t */
#define PMIX_GROUP_ADD_MEMBERS                      "pmix.grp.add"           /* pmix_data_array_t* */
#define PMIX_GROUP_BOOTSTRAP                        "pmix.grp.btstrp"        /* size_t */
#define PMIX_GROUP_JOB_INFO                         "pmix.grp.jinfo"         /* pmix_byte_object_t */
#define PMIX_GROUP_FINAL_MEMBERSHIP_ORDER           "pmix.grp.finord"        /* pmix_data_array_t* */
#define PMIX_QUERY_STORAGE_LIST                     "pmix.strg.list"         /* char* */
#define PMIX_STORAGE_CAPACITY_LIMIT                 "pmix.strg.cap"          /* uint64_t */
#define PMIX_STORAGE_OBJECT_LIMIT                   "pmix.strg.obj"          /* uint64_t */
#define PMIX_STORAGE_ID                             "pmix.strg.id"           /* char* */
#define PMIX_STORAGE_PATH                           "pmix.strg.path"         /* char* */
#define PMIX_STORAGE_TYPE                           "pmix.strg.type"         /* char* */
#define PMIX_STORAGE_ACCESSIBILITY                  "pmix.strg.access"       /* pmix_storage_accessibility_t */
#define PMIX_STORAGE_ACCESS_TYPE                    "pmix.strg.atype"        /* pmix_storage_access_type_t */
#define PMIX_STORAGE_BW_CUR                         "pmix.strg.bwcur"        /* double */
#define PMIX_STORAGE_BW_MAX                         "pmix.strg.bwmax"        /* double */
#define PMIX_STORAGE_CAPACITY_USED                  "pmix.strg.capuse"       /* double */
#define PMIX_STORAGE_IOPS_CUR                       "pmix.strg.iopscur"      /* double */
#define PMIX_STORAGE_IOPS_MAX                       "pmix.strg.iopsmax"      /* double */
#define PMIX_STORAGE_MEDIUM                         "pmix.strg.medium"       /* pmix_storage_medium_t */
#define PMIX_STORAGE_MINIMAL_XFER_SIZE              "pmix.strg.minxfer"      /* double */
#define PMIX_STORAGE_OBJECTS_USED                   "pmix.strg.objuse"       /* uint64_t */
#define PMIX_STORAGE_PERSISTENCE                    "pmix.strg.persist"      /* pmix_storage_persistence_t */
#define PMIX_STORAGE_SUGGESTED_XFER_SIZE            "pmix.strg.sxfer"        /* double */
#define PMIX_STORAGE_VERSION                        "pmix.strg.ver"          /* char* */
#define PMIX_FABRIC_COST_MATRIX                     "pmix.fab.cm"            /* pointer */
#define PMIX_FABRIC_GROUPS                          "pmix.fab.grps"          /* char* */
#define PMIX_FABRIC_VENDOR                          "pmix.fab.vndr"          /* char* */
#define PMIX_FABRIC_IDENTIFIER                      "pmix.fab.id"            /* char* */
#define PMIX_FABRIC_INDEX                           "pmix.fab.idx"           /* size_t */
#define PMIX_FABRIC_COORDINATES                     "pmix.fab.coord"         /* pmix_data_array_t* */
#define PMIX_FABRIC_DEVICE_VENDORID                 "pmix.fabdev.vendid"     /* char* */
#define PMIX_FABRIC_NUM_DEVICES                     "pmix.fab.nverts"        /* size_t */
#define PMIX_FABRIC_DIMS                            "pmix.fab.dims"          /* uint32_t */
#define PMIX_FABRIC_PLANE                           "pmix.fab.plane"         /* char* */
#define PMIX_FABRIC_SWITCH                          "pmix.fab.switch"        /* char* */
#define PMIX_FABRIC_ENDPT                           "pmix.fab.endpt"         /* pmix_data_array_t* */
#define PMIX_FABRIC_SHAPE                           "pmix.fab.shape"         /* pmix_data_array_t* */
#define PMIX_FABRIC_SHAPE_STRING                    "pmix.fab.shapestr"      /* char* */
#define PMIX_SWITCH_PEERS                           "pmix.speers"            /* char* */
#define PMIX_FABRIC_DEVICE                          "pmix.fabdev"            /* pmix_data_array_t* */
#define PMIX_FABRIC_DEVICES                         "pmix.fab.devs"          /* pmix_data_array_t* */
#define PMIX_FABRIC_DEVICE_NAME                     "pmix.fabdev.nm"         /* char* */
#define PMIX_FABRIC_DEVICE_INDEX                    "pmix.fabdev.idx"        /* uint32_t */
#define PMIX_FABRIC_DEVICE_VENDOR                   "pmix.fabdev.vndr"       /* char* */
#define PMIX_FABRIC_DEVICE_BUS_TYPE                 "pmix.fabdev.btyp"       /* char* */
#define PMIX_FABRIC_DEVICE_DRIVER                   "pmix.fabdev.driver"     /* char* */
#define PMIX_FABRIC_DEVICE_FIRMWARE                 "pmix.fabdev.fmwr"       /* char* */
#define PMIX_FABRIC_DEVICE_ADDRESS                  "pmix.fabdev.addr"       /* char* */
#define PMIX_FABRIC_DEVICE_COORDINATES              "pmix.fab.coord"         /* pmix_geometry_t */
#define PMIX_FABRIC_DEVICE_MTU                      "pmix.fabdev.mtu"        /* size_t */
#define PMIX_FABRIC_DEVICE_SPEED                    "pmix.fabdev.speed"      /* size_t */
#define PMIX_FABRIC_DEVICE_STATE                    "pmix.fabdev.state"      /* pmix_link_state_t */
#define PMIX_FABRIC_DEVICE_TYPE                     "pmix.fabdev.type"       /* char* */
#define PMIX_FABRIC_DEVICE_PCI_DEVID                "pmix.fabdev.pcidevid"   /* char* */
#define PMIX_DEVICE_DISTANCES                       "pmix.dev.dist"          /* pmix_data_array_t* */
#define PMIX_DEVICE_TYPE                            "pmix.dev.type"          /* pmix_device_type_t */
#define PMIX_DEVICE_ID                              "pmix.dev.id"            /* char* */
#define PMIX_MAX_VALUE                              "pmix.descr.maxval"      /* varies */
#define PMIX_MIN_VALUE                              "pmix.descr.minval"      /* varies */
#define PMIX_ENUM_VALUE                             "pmix.descr.enum"        /* char* */
#define PMIX_QUERY_STABLE_ABI_VERSION               "pmix.qry.stabiver"      /* char* */
#define PMIX_QUERY_PROVISIONAL_ABI_VERSION          "pmix.qry.prabiver"      /* char* */
#define PMIX_VERSION_NUMERIC                        "pmix.vers.num"          /* uint32_t */
#define PMIX_SESSION_PROVISION                      "pmix.ssn.pvn"           /* pmix_data_array_t* */

/* ==================================================================================================================
 * Structures
 * ================================================================================================================== */
typedef struct pmix_byte_object {
    char *bytes;
    size_t size;
} pmix_byte_object_t;

typedef struct {
    char *envar;
    char *value;
    char separator;
} pmix_envar_t;

typedef struct pmix_data_buffer {
    char *base_ptr;
    char *pack_ptr;
    char *unpack_ptr;
    size_t bytes_allocated;
    size_t bytes_used;
} pmix_data_buffer_t;

typedef struct pmix_proc {
    pmix_nspace_t nspace;
    pmix_rank_t rank;
} pmix_proc_t;

typedef struct pmix_proc_info {
    pmix_proc_t proc;
    char *hostname;
    char *executable_name;
    pid_t pid;
    int exit_code;
    pmix_proc_state_t state;
} pmix_proc_info_t;

typedef struct pmix_data_array {
    pmix_data_type_t type;
    size_t size;
    void *array;
} pmix_data_array_t;

typedef struct pmix_coord {
    pmix_coord_view_t view;
    uint32_t *coord;
    size_t dims;
} pmix_coord_t;

typedef struct {
    char *source;
    void *bitmap;
} pmix_cpuset_t;

typedef struct {
    char *source;
    void *topology;
} pmix_topology_t;

typedef struct pmix_geometry {
    size_t fabric;
    char *uuid;
    char *osname;
    pmix_coord_t *coordinates;
    size_t ncoords;
} pmix_geometry_t;

typedef struct pmix_device {
    char *uuid;
    char *osname;
    pmix_device_type_t type;
} pmix_device_t;

typedef struct pmix_device_distance {
    char *uuid;
    char *osname;
    pmix_device_type_t type;
    uint16_t mindist;
    uint16_t maxdist;
} pmix_device_distance_t;

typedef struct pmix_resource_unit {
    pmix_device_type_t type;
    size_t count;
} pmix_resource_unit_t;

typedef struct pmix_node_pid {
    char *hostname;
    uint32_t nodeid;
    pid_t pid;
} pmix_node_pid_t;

typedef struct pmix_endpoint {
    char *uuid;
    char *osname;
    pmix_byte_object_t endpt;
} pmix_endpoint_t;

typedef struct pmix_proc_stats {
    char *node;
    pmix_proc_t proc;
    pid_t pid;
    char *cmd;
    char state;
    struct timeval time;
    float percent_cpu;
    int32_t priority;
    uint16_t num_threads;
    float pss;
    float vsize;
    float rss;
    float peak_vsize;
    uint16_t processor;
    struct timeval sample_time;
} pmix_proc_stats_t;

typedef struct {
    char *disk;
    uint64_t num_reads_completed;
    uint64_t num_reads_merged;
    uint64_t num_sectors_read;
    uint64_t milliseconds_reading;
    uint64_t num_writes_completed;
    uint64_t num_writes_merged;
    uint64_t num_sectors_written;
    uint64_t milliseconds_writing;
    uint64_t num_ios_in_progress;
    uint64_t milliseconds_io;
    uint64_t weighted_milliseconds_io;
} pmix_disk_stats_t;

typedef struct {
    char *net_interface;
    uint64_t num_bytes_recvd;
    uint64_t num_packets_recvd;
    uint64_t num_recv_errs;
    uint64_t num_bytes_sent;
    uint64_t num_packets_sent;
    uint64_t num_send_errs;
} pmix_net_stats_t;

typedef struct {
    char *node;
    float la;
    float la5;
    float la15;
    float total_mem;
    float free_mem;
    float buffers;
    float cached;
    float swap_cached;
    float swap_total;
    float swap_free;
    float mapped;
    struct timeval sample_time;
    pmix_disk_stats_t *diskstats;
    size_t ndiskstats;
    pmix_net_stats_t *netstats;
    size_t nnetstats;
} pmix_node_stats_t;

typedef struct pmix_value {
    pmix_data_type_t type;
    union {
        bool flag;
        uint8_t byte;
        char *string;
        size_t size;
        pid_t pid;
        int integer;
        int8_t int8;
        int16_t int16;
        int32_t int32;
        int64_t int64;
        unsigned int uint;
        uint8_t uint8;
        uint16_t uint16;
        uint32_t uint32;
        uint64_t uint64;
        float fval;
        double dval;
        struct timeval tv;
        time_t time;
        pmix_status_t status;
        pmix_rank_t rank;
        pmix_nspace_t *nspace;
        pmix_proc_t *proc;
        pmix_byte_object_t bo;
        pmix_persistence_t persist;
        pmix_scope_t scope;
        pmix_data_range_t range;
        pmix_proc_state_t state;
        pmix_proc_info_t *pinfo;
        pmix_data_array_t *darray;
        void *ptr;
        pmix_alloc_directive_t adir;
        pmix_resource_block_directive_t rbdir;
        pmix_envar_t envar;
        pmix_coord_t *coord;
        pmix_link_state_t linkstate;
        pmix_job_state_t jstate;
        pmix_topology_t *topo;
        pmix_cpuset_t *cpuset;
        pmix_locality_t locality;
        pmix_geometry_t *geometry;
        pmix_device_type_t devtype;
        pmix_device_t *device;
        pmix_device_distance_t *devdist;
        pmix_endpoint_t *endpoint;
        pmix_data_buffer_t *dbuf;
        pmix_resource_unit_t *resunit;
        pmix_node_pid_t *nodepid;
        pmix_proc_stats_t *pstats;
        pmix_disk_stats_t *dkstats;
        pmix_net_stats_t *netstats;
        pmix_node_stats_t *ndstats;
    } data;
} pmix_value_t;

typedef struct pmix_info {
    pmix_key_t key;
    pmix_info_directives_t flags;
    pmix_value_t value;
} pmix_info_t;

typedef struct pmix_pdata {
    pmix_proc_t proc;
    pmix_key_t key;
    pmix_value_t value;
} pmix_pdata_t;

typedef struct pmix_app {
    char *cmd;
    char **argv;
    char **env;
    char *cwd;
    int maxprocs;
    pmix_info_t *info;
    size_t ninfo;
} pmix_app_t;

typedef struct pmix_query {
    char **keys;
    pmix_info_t *qualifiers;
    size_t nqual;
} pmix_query_t;

typedef struct pmix_regattr_t {
    char *name;
    pmix_key_t string;
    pmix_data_type_t type;
    char **description;
} pmix_regattr_t;

typedef struct pmix_fabric_s {
    char *name;
    size_t index;
    pmix_info_t *info;
    size_t ninfo;
    void *module;
} pmix_fabric_t;

/* Initialisers, for objects that a program declares itself. */
#define PMIX_COORD_STATIC_INIT         {PMIX_COORD_VIEW_UNDEF, NULL, 0}
#define PMIX_CPUSET_STATIC_INIT        {NULL, NULL}
#define PMIX_TOPOLOGY_STATIC_INIT      {NULL, NULL}
#define PMIX_GEOMETRY_STATIC_INIT      {0, NULL, NULL, NULL, 0}
#define PMIX_DEVICE_STATIC_INIT        {NULL, NULL, PMIX_DEVTYPE_UNKNOWN}
#define PMIX_RESOURCE_UNIT_STATIC_INIT {PMIX_DEVTYPE_UNKNOWN, 0}
#define PMIX_DEVICE_DIST_STATIC_INIT   {NULL, NULL, PMIX_DEVTYPE_UNKNOWN, UINT16_MAX, UINT16_MAX}
#define PMIX_NODE_PID_STATIC_INIT      {NULL, UINT32_MAX, 0}
#define PMIX_BYTE_OBJECT_STATIC_INIT   {NULL, 0}
#define PMIX_ENDPOINT_STATIC_INIT      {NULL, NULL, PMIX_BYTE_OBJECT_STATIC_INIT}
#define PMIX_ENVAR_STATIC_INIT         {NULL, NULL, '\0'}
#define PMIX_DATA_BUFFER_STATIC_INIT   {NULL, NULL, NULL, 0, 0}
#define PMIX_PROC_STATIC_INIT          {{0}, PMIX_RANK_UNDEF}
#define PMIX_PROC_INFO_STATIC_INIT     {PMIX_PROC_STATIC_INIT, NULL, NULL, 0, 0, PMIX_PROC_STATE_UNDEF}
#define PMIX_DATA_ARRAY_STATIC_INIT    {PMIX_UNDEF, 0, NULL}
#define PMIX_INFO_STATIC_INIT          {{0}, 0, PMIX_VALUE_STATIC_INIT}
#define PMIX_LOOKUP_STATIC_INIT        {PMIX_PROC_STATIC_INIT, {0}, PMIX_VALUE_STATIC_INIT}
#define PMIX_APP_STATIC_INIT           {NULL, NULL, NULL, NULL, 0, NULL, 0}
#define PMIX_QUERY_STATIC_INIT         {NULL, NULL, 0}
#define PMIX_REGATTR_STATIC_INIT       {NULL, {0}, PMIX_UNDEF, NULL}
#define PMIX_FABRIC_STATIC_INIT        {NULL, 0, NULL, 0, NULL}
#define PMIX_PROC_STATS_STATIC_INIT \
    {NULL, PMIX_PROC_STATIC_INIT, 0, NULL, '\0', {0, 0}, 0.0f, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f, 0, {0, 0}}
#define PMIX_DISK_STATS_STATIC_INIT    {NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
#define PMIX_NET_STATS_STATIC_INIT     {NULL, 0, 0, 0, 0, 0, 0}
#define PMIX_NODE_STATS_STATIC_INIT \
    {NULL, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, {0, 0}, NULL, 0, NULL, 0}

/* C sets the union's pointer; C++ before C++20 can only name the first member, whose initialiser zeroes the rest. */
#ifdef __cplusplus
#    define PMIX_VALUE_STATIC_INIT {PMIX_UNDEF, {false}}
#else
#    define PMIX_VALUE_STATIC_INIT {PMIX_UNDEF, {.ptr = NULL}}
#endif

/* ==================================================================================================================
 * Callbacks
 * ================================================================================================================== */
typedef void (*pmix_release_cbfunc_t)(void *cbdata);

typedef void (*pmix_modex_cbfunc_t)(pmix_status_t status, const char *data, size_t ndata, void *cbdata,
                                    pmix_release_cbfunc_t release_fn, void *release_cbdata);

typedef void (*pmix_spawn_cbfunc_t)(pmix_status_t status, pmix_nspace_t nspace, void *cbdata);

typedef void (*pmix_op_cbfunc_t)(pmix_status_t status, void *cbdata);

typedef void (*pmix_lookup_cbfunc_t)(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void *cbdata);

typedef void (*pmix_event_notification_cbfunc_fn_t)(pmix_status_t status, pmix_info_t *results, size_t nresults,
                                                    pmix_op_cbfunc_t cbfunc, void *thiscbdata,
                                                    void *notification_cbdata);

typedef void (*pmix_notification_fn_t)(size_t evhdlr_registration_id, pmix_status_t status, const pmix_proc_t *source,
                                       pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                                       pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata);

typedef void (*pmix_hdlr_reg_cbfunc_t)(pmix_status_t status, size_t refid, void *cbdata);

typedef void (*pmix_evhdlr_reg_cbfunc_t)(pmix_status_t status, size_t refid, void *cbdata);

typedef void (*pmix_value_cbfunc_t)(pmix_status_t status, pmix_value_t *kv, void *cbdata);

typedef void (*pmix_info_cbfunc_t)(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                                   pmix_release_cbfunc_t release_fn, void *release_cbdata);

typedef void (*pmix_credential_cbfunc_t)(pmix_status_t status, pmix_byte_object_t *credential, pmix_info_t info[],
                                         size_t ninfo, void *cbdata);

typedef void (*pmix_validation_cbfunc_t)(pmix_status_t status, pmix_info_t info[], size_t ninfo, void *cbdata);

typedef void (*pmix_device_dist_cbfunc_t)(pmix_status_t status, pmix_device_distance_t *dist, size_t ndist,
                                          void *cbdata, pmix_release_cbfunc_t release_fn, void *release_cbdata);

/* ==================================================================================================================
 * Extensions
 * ================================================================================================================== */
#define PMIX_EVENT_JOB_LEVEL                        "pmix.evjob"                 /* bool */
#define PMIX_EVENT_ENVIRO_LEVEL                     "pmix.evenv"                 /* bool */
#define PMIX_EVENT_NAME                             "wireup.evcode"              /* pmix_status_t */
#define PMIX_EVENT_GROUP_NAME                       "wireup.evgrp"               /* char* */
#define PMIX_EVENT_GROUP_COMM                       "wireup.evgrp.comm"          /* bool */
#define PMIX_EVENT_GROUP_MIGRATE                    "wireup.evgrp.migrate"       /* bool */
#define PMIX_EVENT_GROUP_PROC                       "wireup.evgrp.proc"          /* bool */
#define PMIX_EVENT_GROUP_JOB                        "wireup.evgrp.job"           /* bool */
#define PMIX_EVENT_GROUP_NODE                       "wireup.evgrp.node"          /* bool */
#define PMIX_EVENT_ORDER_PREPEND                    "wireup.evprepend"           /* bool */
#define PMIX_SERVER_CACHE_SIZE                      "PMIx_server_cache_size"     /* size_t */
#define PMIX_SERVER_MODULE_SIZE                     "wireup.srv.modsz"           /* size_t */
#define PMIX_ERR_GET_MALLOC_REQD                    (-2800)
#define PMIX_ERR_LOST_SERVER_CONNECTION             PMIX_ERR_LOST_CONNECTION
#define PMIX_ERR_FAILED_COMM                        PMIX_ERR_COMM_FAILURE

#ifdef __cplusplus
}
#endif

#include <pmix_deprecated.h>

#endif /* PMIX_COMMON_H */
