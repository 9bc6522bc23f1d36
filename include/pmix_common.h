/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Constants, attributes, types and callbacks: everything that clients, servers and tools share.
 *
 * Sections: names and ranks; status codes; scalar types and their values; attributes; structures; callbacks;
 * extensions. Older names, and the functions for these types with their macros, are in pmix_deprecated.h, which is
 * included at the end. "Chapter" means the chapter of the PMIx Standard 5.0 that defines what is meant.
 *
 * Rules that hold everywhere:
 *
 *   - What a function returns in an output argument is the caller's, in memory of malloc: one block for each array,
 *     string or object, so that free() of that block is right wherever no function of the library is named.
 *   - What a caller passes in stays the caller's. It may be changed as soon as a blocking call has returned, or when
 *     the callback of a non-blocking call has been called.
 *   - info NULL with ninfo 0 is always good. An attribute that nobody knows is ignored, unless it carries
 *     PMIX_INFO_REQD.
 *   - A flag (an attribute of type bool) has a PMIX_BOOL, no value (PMIX_UNDEF), which is true, or a text ("true", "no",
 *     "1"). With another value, a number for instance, the call is PMIX_ERR_BAD_PARAM.
 *   - A non-blocking call that returns PMIX_SUCCESS calls its callback exactly once, never before it has returned.
 *     After any other return the callback is not called; PMIX_OPERATION_SUCCEEDED says that all is done already.
 *   - Callbacks run on the library's own thread, or inside PMIx_Progress. They must not wait: a blocking call made
 *     there returns PMIX_ERR_WOULD_BLOCK. Non-blocking calls may be made.
 *   - Before init and after the last finalize, and in a forked child, every call returns PMIX_ERR_INIT, except those
 *     that need no server: texts, versions, and the functions for values.
 */
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

/* ===========================================================================================================
 * Names and ranks (chapter 3)
 *
 * A process is known by its namespace, which is the name of its job, and its rank there. Keys that start with "pmix"
 * are reserved for the Standard and for hosts.
 * ================================================================================================================== */

#define PMIX_MAX_NSLEN  255 /* longest namespace, without the final NUL */
#define PMIX_MAX_KEYLEN 511 /* longest key, without the final NUL */

typedef char pmix_nspace_t[PMIX_MAX_NSLEN + 1];
typedef char pmix_key_t[PMIX_MAX_KEYLEN + 1];

typedef uint32_t pmix_rank_t;
#define PMIX_RANK_VALID       (UINT32_MAX - 50) /* ranks are below this */
#define PMIX_RANK_LOCAL_PEERS (UINT32_MAX - 4)  /* all processes of the namespace on this node */
#define PMIX_RANK_INVALID     (UINT32_MAX - 3)  /* no rank */
#define PMIX_RANK_LOCAL_NODE  (UINT32_MAX - 2)  /* all processes on this node */
#define PMIX_RANK_WILDCARD    (UINT32_MAX - 1)  /* all processes of the namespace, or the job itself */
#define PMIX_RANK_UNDEF       UINT32_MAX        /* rank not known, or not asked for */
#define PMIX_RANK_IS_VALID(r) ((r) < PMIX_RANK_VALID)

/* ==================================================================================================================
 * Status codes (chapter 3)
 *
 * Results of calls and codes of events are one type: 0 is success, everything else is negative.
 * ================================================================================================================== */

typedef int pmix_status_t;

/*
 * Results of calls: what a function returns, or hands to a callback. 0 and PMIX_OPERATION_SUCCEEDED are success, all
 * else is not.
 */
#define PMIX_SUCCESS                            0      /* done, or for a non-blocking call: the callback will come */
#define PMIX_OPERATION_SUCCEEDED                (-157) /* done at once: no callback will come */
#define PMIX_OPERATION_IN_PROGRESS              (-156) /* it is being done already */
#define PMIX_ERROR                              (-1)   /* an error with no better name */
#define PMIX_ERR_INIT                           (-31)  /* the library is not initialised */
#define PMIX_ERR_BAD_PARAM                      (-27)  /* an argument is wrong */
#define PMIX_ERR_PARAM_VALUE_NOT_SUPPORTED      (-59)  /* the attribute is known, its value is not */
#define PMIX_ERR_NOT_SUPPORTED                  (-47)  /* nobody here can do it */
#define PMIX_ERR_NOT_FOUND                      (-46)  /* not found */
#define PMIX_ERR_EXISTS_OUTSIDE_SCOPE           (-62)  /* there, but not for the requester */
#define PMIX_ERR_PARTIAL_SUCCESS                (-52)  /* a part was done */
#define PMIX_QUERY_PARTIAL_SUCCESS              (-104) /* a part was found */
#define PMIX_ERR_TIMEOUT                        (-24)  /* the time is up */
#define PMIX_ERR_WOULD_BLOCK                    (-15)  /* a blocking call where none may wait */
#define PMIX_ERR_UNREACH                        (-25)  /* no server, or it cannot be reached */
#define PMIX_ERR_LOST_CONNECTION                (-61)  /* the peer or the server is gone */
#define PMIX_ERR_COMM_FAILURE                   (-49)  /* a message could not be sent or understood */
#define PMIX_ERR_NOMEM                          (-32)  /* no memory */
#define PMIX_ERR_OUT_OF_RESOURCE                (-29)  /* a resource is exhausted */
#define PMIX_ERR_RESOURCE_BUSY                  (-28)  /* busy; ask again later */
#define PMIX_ERR_NOT_AVAILABLE                  (-64)  /* not available */
#define PMIX_ERR_EMPTY                          (-60)  /* there is nothing */
#define PMIX_ERR_EXISTS                         (-11)  /* there is one already */
#define PMIX_ERR_DUPLICATE_KEY                  (-53)  /* the key is published already in that range */
#define PMIX_ERR_NO_PERMISSIONS                 (-23)  /* not allowed */
#define PMIX_ERR_INVALID_CRED                   (-12)  /* the credential is not valid */
#define PMIX_ERR_INVALID_OPERATION              (-158) /* not possible in this state */
#define PMIX_ERR_NOT_A_MEMBER                   (-66)  /* the process is not a member of the group */
#define PMIX_ERR_OUTDATED                       (-76)  /* the peer's release is too old */
#define PMIX_ERR_EVENT_REGISTRATION             (-144) /* a handler could not be registered */
#define PMIX_ERR_REPEAT_ATTR_REGISTRATION       (-171) /* registered already */
#define PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES (-51)  /* two cleanup directives contradict */
#define PMIX_ERR_IOF_FAILURE                    (-172) /* output could not be delivered */
#define PMIX_ERR_IOF_XOFF                       (-405) /* the receiver takes no input for now: push again later */

/* Values and packed data. */
#define PMIX_ERR_UNKNOWN_DATA_TYPE              (-16)  /* no such data type */
#define PMIX_ERR_TYPE_MISMATCH                  (-18)  /* the data have another type */
#define PMIX_ERR_PACK_FAILURE                   (-21)  /* the data cannot be packed */
#define PMIX_ERR_UNPACK_FAILURE                 (-20)  /* the data cannot be unpacked */
#define PMIX_ERR_UNPACK_INADEQUATE_SPACE        (-19)  /* more values than the caller has room for */
#define PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER (-50)  /* the buffer has no more data */
#define PMIX_ERR_LOST_PRECISION                 (-202) /* the number was rounded (-400 in OpenPMIx 6) */
#define PMIX_ERR_CHANGE_SIGN                    (-203) /* the number changed its sign (-401 in OpenPMIx 6) */

/*
 * Processes: events about a process, and how it ended.
 */
#define PMIX_PROC_TERMINATED                (-111) /* a process ended */
#define PMIX_EVENT_PROC_TERMINATED          (-201) /* a process ended */
#define PMIX_ERR_PROC_REQUESTED_ABORT       (-8)   /* the process called PMIx_Abort */
#define PMIX_ERR_PROC_TERM_WO_SYNC          (-200) /* ended without finalize */
#define PMIX_ERR_PROC_KILLED_BY_CMD         (-400) /* killed on command */
#define PMIX_ERR_PROC_FAILED_TO_START       (-401) /* did not start */
#define PMIX_ERR_PROC_ABORTED_BY_SIG        (-402) /* ended by a signal */
#define PMIX_ERR_PROC_KILLED_BY_RELEASE     (-204) /* killed because its resources were released */
#define PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED (-403) /* used too much */
#define PMIX_ERR_EXIT_NONZERO_TERM          (-404) /* exit status not 0 */
#define PMIX_ERR_PROC_RESTART               (-4)   /* a process was started again */
#define PMIX_ERR_PROC_CHECKPOINT            (-5)   /* a process shall write a checkpoint */
#define PMIX_ERR_PROC_MIGRATE               (-6)   /* a process shall move */

/* Jobs and sessions: events about a job, and why it failed. */
#define PMIX_EVENT_JOB_START                (-191) /* the first process has started */
#define PMIX_EVENT_JOB_END                  (-145) /* the last process has ended */
#define PMIX_EVENT_SESSION_START            (-192) /* a session has started */
#define PMIX_EVENT_SESSION_END              (-193) /* a session has ended */
#define PMIX_LAUNCHER_READY                 (-155) /* a launcher waits for its directives */
#define PMIX_LAUNCH_COMPLETE                (-174) /* all processes have started */
#define PMIX_ERR_JOB_APP_NOT_EXECUTABLE     (-177) /* a program may not be executed */
#define PMIX_ERR_JOB_NO_EXE_SPECIFIED       (-178) /* no program was named */
#define PMIX_ERR_JOB_EXE_NOT_FOUND          (-190) /* a program was not found */
#define PMIX_ERR_JOB_WDIR_NOT_FOUND         (-233) /* the working folder was not found */
#define PMIX_ERR_JOB_FAILED_TO_MAP          (-179) /* the processes cannot be placed */
#define PMIX_ERR_JOB_INSUFFICIENT_RESOURCES (-234) /* not enough for this job */
#define PMIX_ERR_JOB_ALLOC_FAILED           (-188) /* no allocation */
#define PMIX_ALLOC_TIMEOUT_WARNING          (-194) /* an allocation is about to end */
#define PMIX_DVM_IS_READY                   (-195) /* a virtual machine of daemons is ready */
#define PMIX_ERR_DVM_MOD                    (-196) /* a virtual machine of daemons could not be changed */
#define PMIX_ERR_JOB_FAILED_TO_LAUNCH       (-181) /* could not be launched */
#define PMIX_ERR_JOB_SYS_OP_FAILED          (-235) /* a system call failed */
#define PMIX_ERR_JOB_CANCELED               (-180) /* cancelled */
#define PMIX_ERR_JOB_ABORTED                (-182) /* aborted */
#define PMIX_ERR_JOB_KILLED_BY_CMD          (-183) /* killed on command */
#define PMIX_ERR_JOB_KILLED_BY_RELEASE      (-236) /* killed because its resources were released */
#define PMIX_ERR_JOB_ABORTED_BY_SIG         (-184) /* ended by a signal */
#define PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT   (-189) /* ended by an event of the system */
#define PMIX_ERR_JOB_TERM_WO_SYNC           (-185) /* a process ended without finalize */
#define PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED  (-186) /* used too much */
#define PMIX_ERR_JOB_NON_ZERO_TERM          (-187) /* an exit status was not 0 */

/* Sets, groups, models, control, debuggers, fabrics: events of these services. */
#define PMIX_PROCESS_SET_DEFINE        (-55)  /* a process set was defined */
#define PMIX_PROCESS_SET_DELETE        (-56)  /* a process set was deleted */
#define PMIX_GROUP_INVITED             (-159) /* this process is invited */
#define PMIX_GROUP_INVITE_ACCEPTED     (-161) /* a process accepts */
#define PMIX_GROUP_INVITE_DECLINED     (-162) /* a process declines */
#define PMIX_GROUP_INVITE_FAILED       (-163) /* a process failed while it was invited */
#define PMIX_GROUP_CONSTRUCT_COMPLETE  (-166) /* the group has formed */
#define PMIX_GROUP_CONSTRUCT_ABORT     (-165) /* the group will not form */
#define PMIX_GROUP_CONTEXT_ID_ASSIGNED (-169) /* the host has assigned a number */
#define PMIX_GROUP_MEMBERSHIP_UPDATE   (-164) /* the members have changed */
#define PMIX_GROUP_MEMBER_FAILED       (-170) /* a member failed */
#define PMIX_GROUP_LEFT                (-160) /* a member has left */
#define PMIX_GROUP_LEADER_FAILED       (-168) /* the leader failed */
#define PMIX_GROUP_LEADER_SELECTED     (-167) /* a new leader */
#define PMIX_MODEL_DECLARED            (-147) /* a programming model says what it is */
#define PMIX_MODEL_RESOURCES           (-151) /* a programming model uses resources */
#define PMIX_OPENMP_PARALLEL_ENTERED   (-152) /* a parallel region begins */
#define PMIX_OPENMP_PARALLEL_EXITED    (-153) /* a parallel region ends */
#define PMIX_JCTRL_CHECKPOINT          (-106) /* write a checkpoint */
#define PMIX_JCTRL_CHECKPOINT_COMPLETE (-107) /* the checkpoint is written */
#define PMIX_JCTRL_PREEMPT_ALERT       (-108) /* the job will be preempted */
#define PMIX_MONITOR_HEARTBEAT_ALERT   (-109) /* heartbeats are missing */
#define PMIX_MONITOR_FILE_ALERT        (-110) /* a file does not change */
#define PMIX_MONITOR_RESUSAGE_UPDATE   (-114) /* a sample of resources */
#define PMIX_READY_FOR_DEBUG           (-58)  /* all have stopped for a debugger */
#define PMIX_DEBUGGER_RELEASE          (-3)   /* go on after a stop for a debugger */
#define PMIX_ERR_IOF_COMPLETE          (-173) /* a stream has ended */
#define PMIX_FABRIC_UPDATE_PENDING     (-176) /* a fabric will change */
#define PMIX_FABRIC_UPDATED            (-175) /* a fabric has changed */
#define PMIX_FABRIC_UPDATE_ENDPOINTS   (-113) /* endpoints have changed */

/* The system: events of nodes and hardware: those for which PMIX_SYSTEM_EVENT() is true. */
#define PMIX_EVENT_SYS_BASE     (-230) /* from here to PMIX_EVENT_SYS_OTHER: the system */
#define PMIX_EVENT_NODE_DOWN    (-231) /* a node is down */
#define PMIX_EVENT_NODE_OFFLINE (-232) /* a node is taken out */
#define PMIX_EVENT_SYS_OTHER    (-330) /* something else in the system */

/*
 * Answers of an event handler. The chain ends at PMIX_EVENT_ACTION_COMPLETE. PMIX_SUCCESS ends it too, but only from a
 * handler registered by PMIX_EVENT_NAME or PMIX_EVENT_GROUP_NAME; from all others it means: call the next handler.
 */
#define PMIX_EVENT_NO_ACTION_TAKEN      (-331) /* nothing: call the next handler */
#define PMIX_EVENT_PARTIAL_ACTION_TAKEN (-332) /* something: call the next handler */
#define PMIX_EVENT_ACTION_DEFERRED      (-333) /* later: call the next handler */
#define PMIX_EVENT_ACTION_COMPLETE      (-334) /* all: call no other handler */

/* Codes of programs: a program's own event codes are below this one; the library never uses them. */
#define PMIX_EXTERNAL_ERR_BASE (-3000) /* codes below are the program's own */

#define PMIX_SYSTEM_EVENT(a) ((a) <= PMIX_EVENT_SYS_BASE && (a) >= PMIX_EVENT_SYS_OTHER)

/* ==================================================================================================================
 * Scalar types and their values
 * ================================================================================================================== */

/* State of a process, in the order of its life cycle (chapter 12). */
typedef uint8_t pmix_proc_state_t;
#define PMIX_PROC_STATE_UNDEF                 0  /* not known */
#define PMIX_PROC_STATE_PREPPED               1  /* ready to be started */
#define PMIX_PROC_STATE_LAUNCH_UNDERWAY       2  /* being started */
#define PMIX_PROC_STATE_RESTART               3  /* to be started again */
#define PMIX_PROC_STATE_TERMINATE             4  /* to be ended */
#define PMIX_PROC_STATE_RUNNING               5  /* runs, has not called init */
#define PMIX_PROC_STATE_CONNECTED             6  /* has called init */
#define PMIX_PROC_STATE_UNTERMINATED          15 /* below this: not ended */
#define PMIX_PROC_STATE_TERMINATED            20 /* ended normally */
#define PMIX_PROC_STATE_ERROR                 50 /* above this: ended badly */
#define PMIX_PROC_STATE_KILLED_BY_CMD         51 /* on command */
#define PMIX_PROC_STATE_ABORTED               52 /* itself */
#define PMIX_PROC_STATE_FAILED_TO_START       53 /* never ran */
#define PMIX_PROC_STATE_ABORTED_BY_SIG        54 /* by a signal */
#define PMIX_PROC_STATE_TERM_WO_SYNC          55 /* without finalize */
#define PMIX_PROC_STATE_COMM_FAILED           56 /* connection lost */
#define PMIX_PROC_STATE_SENSOR_BOUND_EXCEEDED 57 /* used too much */
#define PMIX_PROC_STATE_CALLED_ABORT          58 /* with PMIx_Abort */
#define PMIX_PROC_STATE_HEARTBEAT_FAILED      59 /* no heartbeat */
#define PMIX_PROC_STATE_MIGRATING             60 /* moves to another node */
#define PMIX_PROC_STATE_CANNOT_RESTART        61 /* cannot be started again */
#define PMIX_PROC_STATE_TERM_NON_ZERO         62 /* exit status not 0 */
#define PMIX_PROC_STATE_FAILED_TO_LAUNCH      63 /* could not be launched */
#define PMIX_PROC_STATE_KILLED_BY_RELEASE     64 /* killed because its resources were released */

/* State of a job, in the order of its life cycle (chapter 12). */
typedef uint8_t pmix_job_state_t;
#define PMIX_JOB_STATE_UNDEF                 0  /* not known */
#define PMIX_JOB_STATE_AWAITING_ALLOC        1  /* waits for its allocation */
#define PMIX_JOB_STATE_LAUNCH_UNDERWAY       2  /* being started */
#define PMIX_JOB_STATE_RUNNING               3  /* all processes run */
#define PMIX_JOB_STATE_SUSPENDED             4  /* suspended */
#define PMIX_JOB_STATE_CONNECTED             5  /* all processes have called init */
#define PMIX_JOB_STATE_UNTERMINATED          15 /* below this: not ended */
#define PMIX_JOB_STATE_TERMINATED            20 /* ended normally */
#define PMIX_JOB_STATE_TERMINATED_WITH_ERROR 50 /* ended badly */

/*
 * Type of a value (chapter 3). The name contains the type, as PMIX_PROC for pmix_proc_t. Statistics, 61 to 64,
 * exist until OpenPMIx 5; the last four since 6.
 */
typedef uint16_t pmix_data_type_t;
#define PMIX_UNDEF                  0 /* nothing; in an info: true */
#define PMIX_BOOL                   1
#define PMIX_BYTE                   2
#define PMIX_STRING                 3
#define PMIX_SIZE                   4
#define PMIX_PID                    5
#define PMIX_INT                    6
#define PMIX_INT8                   7
#define PMIX_INT16                  8
#define PMIX_INT32                  9
#define PMIX_INT64                  10
#define PMIX_UINT                   11
#define PMIX_UINT8                  12
#define PMIX_UINT16                 13
#define PMIX_UINT32                 14
#define PMIX_UINT64                 15
#define PMIX_FLOAT                  16
#define PMIX_DOUBLE                 17
#define PMIX_TIMEVAL                18
#define PMIX_TIME                   19
#define PMIX_STATUS                 20
#define PMIX_VALUE                  21
#define PMIX_PROC                   22
#define PMIX_APP                    23
#define PMIX_INFO                   24
#define PMIX_PDATA                  25
#define PMIX_BYTE_OBJECT            27 /* pmix_byte_object_t */
#define PMIX_KVAL                   28 /* a key and its value */
#define PMIX_PERSIST                30
#define PMIX_POINTER                31 /* void *, inside one process only */
#define PMIX_SCOPE                  32
#define PMIX_DATA_RANGE             33
#define PMIX_COMMAND                34 /* of other implementations */
#define PMIX_INFO_DIRECTIVES        35
#define PMIX_DATA_TYPE              36
#define PMIX_PROC_STATE             37
#define PMIX_PROC_INFO              38
#define PMIX_DATA_ARRAY             39
#define PMIX_PROC_RANK              40
#define PMIX_QUERY                  41
#define PMIX_COMPRESSED_STRING      42 /* a string, as compressed bytes */
#define PMIX_ALLOC_DIRECTIVE        43
#define PMIX_IOF_CHANNEL            45
#define PMIX_ENVAR                  46
#define PMIX_COORD                  47
#define PMIX_REGATTR                48
#define PMIX_REGEX                  49 /* a map as a regular expression */
#define PMIX_JOB_STATE              50
#define PMIX_LINK_STATE             51
#define PMIX_PROC_CPUSET            52
#define PMIX_GEOMETRY               53
#define PMIX_DEVICE_DIST            54
#define PMIX_ENDPOINT               55
#define PMIX_TOPO                   56
#define PMIX_DEVTYPE                57
#define PMIX_LOCTYPE                58
#define PMIX_COMPRESSED_BYTE_OBJECT 59 /* bytes, compressed */
#define PMIX_PROC_NSPACE            60
#define PMIX_PROC_STATS             61
#define PMIX_DISK_STATS             62
#define PMIX_NET_STATS              63
#define PMIX_NODE_STATS             64
#define PMIX_DATA_BUFFER            65
#define PMIX_STOR_MEDIUM            66
#define PMIX_STOR_ACCESS            67
#define PMIX_STOR_PERSIST           68
#define PMIX_STOR_ACCESS_TYPE       69
#define PMIX_DEVICE                 70
#define PMIX_RESBLOCK_DIRECTIVE     71
#define PMIX_RESOURCE_UNIT          72
#define PMIX_NODE_PID               73
#define PMIX_REGEX2                 74 /* a list in a short form, with its type */
#define PMIX_ALLOC_INHERIT          75
#define PMIX_DATA_TYPE_MAX          500 /* ids are below this */

/* Scope of a value that was put: who can get it (chapter 5). */
typedef uint8_t pmix_scope_t;
#define PMIX_SCOPE_UNDEF 0 /* not known */
#define PMIX_LOCAL       1 /* for processes on the node of the putter */
#define PMIX_REMOTE      2 /* for processes on other nodes */
#define PMIX_GLOBAL      3 /* for all */
#define PMIX_INTERNAL    4 /* for the putter alone */
/* As a scope of PMIx_Put: delete what was put with that scope; the value is not read. */
#define PMIX_DEL_LOCAL    5
#define PMIX_DEL_REMOTE   6
#define PMIX_DEL_GLOBAL   7 /* whatever its scope is, PMIX_INTERNAL excepted */
#define PMIX_DEL_INTERNAL 8

/* Range: who can see published data or gets an event (chapters 9, 10). */
typedef uint8_t pmix_data_range_t;
#define PMIX_RANGE_UNDEF      0   /* not known */
#define PMIX_RANGE_RM         1   /* the host */
#define PMIX_RANGE_LOCAL      2   /* processes on this node */
#define PMIX_RANGE_NAMESPACE  3   /* processes of this namespace */
#define PMIX_RANGE_SESSION    4   /* processes of this session */
#define PMIX_RANGE_GLOBAL     5   /* all processes */
#define PMIX_RANGE_CUSTOM     6   /* those that an attribute lists */
#define PMIX_RANGE_PROC_LOCAL 7   /* this process alone */
#define PMIX_RANGE_INVALID    255 /* no range */

/* Persistence: how long published data live (chapter 9). */
typedef uint8_t pmix_persistence_t;
#define PMIX_PERSIST_INDEF      0   /* until it is unpublished */
#define PMIX_PERSIST_FIRST_READ 1   /* until it is read once */
#define PMIX_PERSIST_PROC       2   /* until the publisher ends */
#define PMIX_PERSIST_APP        3   /* until its application ends */
#define PMIX_PERSIST_SESSION    4   /* until its session ends */
#define PMIX_PERSIST_NSPACE     5   /* until its namespace ends */
#define PMIX_PERSIST_INVALID    255 /* no persistence */

/* Flags of an info, bit by bit (chapter 3). */
typedef uint32_t pmix_info_directives_t;
#define PMIX_INFO_REQD           1          /* fail where nobody supports it */
#define PMIX_INFO_ARRAY_END      2          /* last element of its array */
#define PMIX_INFO_REQD_PROCESSED 4          /* somebody has acted on it */
#define PMIX_INFO_QUALIFIER      8          /* it qualifies a value */
#define PMIX_INFO_PERSISTENT     0x10       /* its data are borrowed: not to be released */
#define PMIX_INFO_DIR_RESERVED   0xffff0000 /* bits for implementations */

/* What an allocation request wants (chapter 13). */
typedef uint8_t pmix_alloc_directive_t;
#define PMIX_ALLOC_NEW        1   /* a new allocation */
#define PMIX_ALLOC_EXTEND     2   /* more of it, or longer */
#define PMIX_ALLOC_RELEASE    3   /* give it back */
#define PMIX_ALLOC_REAQUIRE   4   /* take back borrowed ones */
#define PMIX_ALLOC_REQ_CANCEL 5   /* take back a request */
#define PMIX_ALLOC_ACTIVATE   6   /* make it usable */
#define PMIX_ALLOC_EXTERNAL   128 /* from here: the host's own */

/* Which jobs inherit an allocation (OpenPMIx 7). */
typedef uint8_t pmix_alloc_inheritance_t;
#define PMIX_ALLOC_INHERIT_NONE          1 /* none */
#define PMIX_ALLOC_INHERIT_CHILD         2 /* those that its jobs spawn */
#define PMIX_ALLOC_INHERIT_DEFAULT       3 /* those that name no allocation */
#define PMIX_ALLOC_INHERIT_CHILD_DEFAULT 4 /* both */

/* What a resource block request wants (OpenPMIx 6). */
typedef uint8_t pmix_resource_block_directive_t;
#define PMIX_RESOURCE_BLOCK_DEFINE   1   /* define a block */
#define PMIX_RESOURCE_BLOCK_EXTEND   2   /* add to it */
#define PMIX_RESOURCE_BLOCK_REMOVE   3   /* take from it */
#define PMIX_RESOURCE_BLOCK_DELETE   4   /* delete it */
#define PMIX_RESOURCE_BLOCK_EXTERNAL 128 /* from here: the host's own */

/* Channels of forwarded input and output, bit by bit (chapter 18). */
typedef uint16_t pmix_iof_channel_t;
#define PMIX_FWD_NO_CHANNELS     0
#define PMIX_FWD_STDIN_CHANNEL   1
#define PMIX_FWD_STDOUT_CHANNEL  2
#define PMIX_FWD_STDERR_CHANNEL  4
#define PMIX_FWD_STDDIAG_CHANNEL 8
#define PMIX_FWD_ALL_CHANNELS    0xff

/* Media of a storage system, bit by bit; greater is faster (chapter 19). */
typedef uint64_t pmix_storage_medium_t;
#define PMIX_STORAGE_MEDIUM_UNKNOWN 1
#define PMIX_STORAGE_MEDIUM_TAPE    2
#define PMIX_STORAGE_MEDIUM_HDD     4
#define PMIX_STORAGE_MEDIUM_SSD     8
#define PMIX_STORAGE_MEDIUM_NVME    0x10
#define PMIX_STORAGE_MEDIUM_PMEM    0x20
#define PMIX_STORAGE_MEDIUM_RAM     0x40

/* From where a storage system can be reached, bit by bit (chapter 19). */
typedef uint64_t pmix_storage_accessibility_t;
#define PMIX_STORAGE_ACCESSIBILITY_NODE    1
#define PMIX_STORAGE_ACCESSIBILITY_SESSION 2
#define PMIX_STORAGE_ACCESSIBILITY_JOB     4
#define PMIX_STORAGE_ACCESSIBILITY_RACK    8
#define PMIX_STORAGE_ACCESSIBILITY_CLUSTER 0x10
#define PMIX_STORAGE_ACCESSIBILITY_REMOTE  0x20

/* How long a storage system keeps data, bit by bit; greater is longer (chapter 19). */
typedef uint64_t pmix_storage_persistence_t;
#define PMIX_STORAGE_PERSISTENCE_TEMPORARY 1 /* until the process ends, or at any time */
#define PMIX_STORAGE_PERSISTENCE_NODE      2
#define PMIX_STORAGE_PERSISTENCE_SESSION   4
#define PMIX_STORAGE_PERSISTENCE_JOB       8
#define PMIX_STORAGE_PERSISTENCE_SCRATCH   0x10 /* for some time after the job */
#define PMIX_STORAGE_PERSISTENCE_PROJECT   0x20
#define PMIX_STORAGE_PERSISTENCE_ARCHIVE   0x40

/* How a storage system can be used, bit by bit (chapter 19). */
typedef uint16_t pmix_storage_access_type_t;
#define PMIX_STORAGE_ACCESS_RD   1
#define PMIX_STORAGE_ACCESS_WR   2
#define PMIX_STORAGE_ACCESS_RDWR 3

/* View of a coordinate (chapter 15). */
typedef uint8_t pmix_coord_view_t;
#define PMIX_COORD_VIEW_UNDEF    0
#define PMIX_COORD_LOGICAL_VIEW  1 /* as the scheduler sees it */
#define PMIX_COORD_PHYSICAL_VIEW 2 /* as the cables are */

/* State of a link (chapter 15). */
typedef uint8_t pmix_link_state_t;
#define PMIX_LINK_STATE_UNKNOWN 0
#define PMIX_LINK_DOWN          1
#define PMIX_LINK_UP            2

/* Whose CPUs are asked (chapter 12). */
typedef uint8_t pmix_bind_envelope_t;
#define PMIX_CPUBIND_PROCESS 0 /* the process */
#define PMIX_CPUBIND_THREAD  1 /* the calling thread */

/* What two processes share, bit by bit (chapter 12). */
typedef uint16_t pmix_locality_t;
#define PMIX_LOCALITY_UNKNOWN        0 /* not known */
#define PMIX_LOCALITY_SHARE_HWTHREAD 1
#define PMIX_LOCALITY_SHARE_CORE     2
#define PMIX_LOCALITY_SHARE_L1CACHE  4
#define PMIX_LOCALITY_SHARE_L2CACHE  8
#define PMIX_LOCALITY_SHARE_L3CACHE  0x10
#define PMIX_LOCALITY_SHARE_PACKAGE  0x20
#define PMIX_LOCALITY_SHARE_NUMA     0x40
#define PMIX_LOCALITY_SHARE_NODE     0x4000
#define PMIX_LOCALITY_NONLOCAL       0x8000 /* on different nodes */

/* Kinds of device, bit by bit (chapters 12, 15). */
typedef uint64_t pmix_device_type_t;
#define PMIX_DEVTYPE_UNKNOWN     0
#define PMIX_DEVTYPE_BLOCK       1
#define PMIX_DEVTYPE_GPU         2
#define PMIX_DEVTYPE_NETWORK     4
#define PMIX_DEVTYPE_OPENFABRICS 8
#define PMIX_DEVTYPE_DMA         0x10
#define PMIX_DEVTYPE_COPROC      0x20
#define PMIX_DEVTYPE_MEMORY      0x40
#define PMIX_DEVTYPE_CORE        0x80
#define PMIX_DEVTYPE_HWT         0x100
#define PMIX_DEVTYPE_CPU         0x200
#define PMIX_DEVTYPE_NODE        0x400

/* In the place of an application number. */
#define PMIX_APP_WILDCARD UINT32_MAX /* all applications of the job */

/* Result of PMIx_Value_compare. */
typedef enum {
    PMIX_EQUAL = 0,                      /* the same */
    PMIX_VALUE1_GREATER = 1,             /* the first is greater */
    PMIX_VALUE2_GREATER = 2,             /* the second is greater */
    PMIX_VALUE_TYPE_DIFFERENT = 3,       /* different types: not compared */
    PMIX_VALUE_INCOMPATIBLE_OBJECTS = 4, /* same type, cannot be compared */
    PMIX_VALUE_COMPARISON_NOT_AVAIL = 5  /* no rule for this type */
} pmix_value_cmp_t;

/* Answer to an invitation (chapter 14). */
typedef enum {
    PMIX_GROUP_DECLINE = 0, /* do not join */
    PMIX_GROUP_ACCEPT = 1   /* join */
} pmix_group_opt_t;

/* What a group upcall wants (chapter 17). */
typedef enum {
    PMIX_GROUP_CONSTRUCT = 0,
    PMIX_GROUP_DESTRUCT = 1,
    PMIX_GROUP_NONE = 2,  /* no operation */
    PMIX_GROUP_CANCEL = 3 /* give up a construct (OpenPMIx 7) */
} pmix_group_operation_t;

/* Whether a value means true; note that true is 0. */
typedef enum {
    PMIX_BOOL_TRUE = 0,  /* true, or "true", "yes", a number not 0 */
    PMIX_BOOL_FALSE = 1, /* false, or "false", "no", 0 */
    PMIX_NON_BOOL = 2    /* neither */
} pmix_boolean_t;

/* What a fabric upcall wants (chapter 17). */
typedef enum {
    PMIX_FABRIC_REQUEST_INFO = 0, /* tell about the fabric */
    PMIX_FABRIC_UPDATE_INFO = 1   /* tell what has changed */
} pmix_fabric_operation_t;

/* ==================================================================================================================
 * Attributes
 *
 * Keys of infos, with the type of their value. "array" is a pmix_data_array_t *, of the elements in brackets; "a list"
 * is text with commas. A bool attribute without a value, which is of type PMIX_UNDEF, is true.
 *
 * Some strings have two names with different meanings, as they have been released: pmix.evname, pmix.qry.quals,
 * pmix.jctrl.ckptsig, pmix.fab.coord; and, as old and new name of one thing, pmix.pdata and the pmix.alloc.net family.
 * ================================================================================================================== */

/* clang-format off */

/* Environment variables, not attributes: names of variables that a launcher or a tool reads from its environment. */
#define PMIX_LAUNCHER_RNDZ_URI  "PMIX_LAUNCHER_RNDZ_URI"  /* where the launcher must connect back to */
#define PMIX_LAUNCHER_RNDZ_FILE "PMIX_LAUNCHER_RNDZ_FILE" /* file in which the launcher leaves its URI */
#define PMIX_KEEPALIVE_PIPE     "PMIX_KEEPALIVE_PIPE"     /* descriptor whose closing tells that the parent is gone */
#define PMIX_ATTR_UNDEF         "pmix.undef"              /* no attribute: a place holder */

/* Initialisation of every role (chapters 4, 17, 18): progress thread and event base; given to the init call. */
#define PMIX_EXTERNAL_PROGRESS       "pmix.evext"   /* bool: the caller drives the library with PMIx_Progress */
#define PMIX_PROGRESS_THREAD_FLUSH   "pmix.evflush" /* bool: run what is queued before the progress thread stops */
#define PMIX_PROGRESS_THREAD_NAME    "pmix.pthrdnm" /* char*: name of the progress thread meant */
#define PMIX_EXTERNAL_AUX_EVENT_BASE "pmix.evaux"   /* void*: second event base of the caller's, for its own use */

/*
 * Server initialisation (chapter 17): given to PMIx_server_init, and to PMIx_tool_init by a tool that serves others.
 */
#define PMIX_SERVER_TOOL_SUPPORT        "pmix.srvr.tool"    /* bool: accept connections of tools */
#define PMIX_SERVER_ALLOW_FOREIGN_TOOLS "pmix.srvr.ftools"  /* bool: also of tools of other users */
#define PMIX_ALLOW_CLIENT_CLONES        "pmix.allow.clones" /* bool: several processes may connect with one identity */
#define PMIX_SERVER_REMOTE_CONNECTIONS  "pmix.srvr.remote"  /* bool: accept connections from other nodes */
#define PMIX_SERVER_SYSTEM_SUPPORT      "pmix.srvr.sys"     /* bool: this is the system's server on the node */
#define PMIX_SERVER_SESSION_SUPPORT     "pmix.srvr.sess"    /* bool: this is the session's server on the node */
#define PMIX_SERVER_TMPDIR              "pmix.srvr.tmpdir"  /* char*: folder for the server's own files */
#define PMIX_SYSTEM_TMPDIR              "pmix.sys.tmpdir"   /* char*: folder for files that all servers of the node
                                                               share */
#define PMIX_SERVER_SHARE_TOPOLOGY      "pmix.srvr.share"   /* bool: hand the hardware topology to clients */
#define PMIX_SERVER_ENABLE_MONITORING   "pmix.srv.monitor"  /* bool: let the server monitor processes */
#define PMIX_SERVER_NSPACE              "pmix.srv.nspace"   /* char*: namespace of the server itself */
#define PMIX_SERVER_RANK                "pmix.srv.rank"     /* pmix_rank_t: rank of the server itself */
#define PMIX_SERVER_GATEWAY             "pmix.srv.gway"     /* bool: this server is the gateway to the system */
#define PMIX_SERVER_SYS_CONTROLLER      "pmix.srv.ctrlr"    /* bool: this server belongs to the system's controller */
#define PMIX_SERVER_SCHEDULER           "pmix.srv.sched"    /* bool: this server belongs to the scheduler */
#define PMIX_SERVER_START_TIME          "pmix.srv.strtime"  /* char*: when the server started */
#define PMIX_HOMOGENEOUS_SYSTEM         "pmix.homo"         /* bool: all nodes are alike: no conversion is needed */
#define PMIX_SINGLETON                  "pmix.singleton"    /* char*: process that started without a launcher */
#define PMIX_BIND_PROGRESS_THREAD       "pmix.bind.pt"      /* char*: CPUs for the progress thread, as a list of
                                                               ranges */
#define PMIX_BIND_REQUIRED              "pmix.bind.reqd"    /* bool: fail when the progress thread cannot be bound so */

/*
 * Tools: connecting (chapter 18): given to PMIx_tool_init and the attach calls: who the tool is, and which server it
 * wants.
 */
#define PMIX_TOOL_NSPACE               "pmix.tool.nspace"    /* char*: namespace the tool takes */
#define PMIX_TOOL_RANK                 "pmix.tool.rank"      /* uint32_t: rank the tool takes */
#define PMIX_SERVER_PIDINFO            "pmix.srvr.pidinfo"   /* pid_t: process id of the server wanted */
#define PMIX_CONNECT_TO_SYSTEM         "pmix.cnct.sys"       /* bool: only the system's server will do */
#define PMIX_CONNECT_SYSTEM_FIRST      "pmix.cnct.sys.first" /* bool: prefer the system's server */
#define PMIX_CONNECT_TO_SCHEDULER      "pmix.cnct.sched"     /* bool: connect to the scheduler */
#define PMIX_CONNECT_TO_SYS_CONTROLLER "pmix.cnct.ctrlr"     /* bool: connect to the system's controller */
#define PMIX_CONNECTION_ORDER          "pmix.cnct.ord"       /* char*: servers to try, in this order, as a list */
#define PMIX_SERVER_URI                "pmix.srvr.uri"       /* char*: URI of the server wanted */
#define PMIX_SERVER_ALT_URIS           "pmix.srvr.alturis"   /* char*: its other addresses, a list */
#define PMIX_MYSERVER_URI              "pmix.mysrvr.uri"     /* char*: URI of the server that serves this process */
#define PMIX_MYSERVER_ALT_URIS         "pmix.mysrvr.alturis" /* char*: other addresses of that server, a list */
#define PMIX_SERVER_HOSTNAME           "pmix.srvr.host"      /* char*: node of the server wanted */
#define PMIX_CONNECT_MAX_RETRIES       "pmix.tool.mretries"  /* uint32_t: how often to try */
#define PMIX_CONNECT_RETRY_DELAY       "pmix.tool.retry"     /* uint32_t: seconds between two tries */
#define PMIX_TOOL_DO_NOT_CONNECT       "pmix.tool.nocon"     /* bool: stay alone */
#define PMIX_TOOL_CONNECT_OPTIONAL     "pmix.tool.conopt"    /* bool: stay alone when no server is found */
#define PMIX_LAUNCHER                  "pmix.tool.launcher"  /* bool: the tool is a launcher */
#define PMIX_LAUNCHER_RENDEZVOUS_FILE  "pmix.tool.lncrnd"    /* char*: file that tells where the launcher listens */
#define PMIX_TOOL_ATTACHMENT_FILE      "pmix.tool.attach"    /* char*: file that tells where the server listens */
#define PMIX_PRIMARY_SERVER            "pmix.pri.srvr"       /* bool: make the server attached to the primary one */
#define PMIX_NOHUP                     "pmix.nohup"          /* bool: keep the jobs when the tool leaves */
#define PMIX_LAUNCHER_DAEMON           "pmix.lnch.dmn"       /* char*: program for the launcher's daemons */
#define PMIX_EXEC_AGENT                "pmix.exec.agnt"      /* char*: program that starts the processes */
#define PMIX_LAUNCH_DIRECTIVES         "pmix.lnch.dirs"      /* array: infos for the launcher */

/* Identity of a requester (chapters 3, 17): added by the library to what a host sees; hosts decide on them. */
#define PMIX_REALUID             "pmix.ruid"       /* uint32_t: real user id */
#define PMIX_USERID              "pmix.euid"       /* uint32_t: effective user id */
#define PMIX_REALGID             "pmix.rgid"       /* uint32_t: real group id */
#define PMIX_GRPID               "pmix.egid"       /* uint32_t: effective group id */
#define PMIX_REQUESTOR           "pmix.requestor"  /* pmix_proc_t*: process that asks */
#define PMIX_VERSION_INFO        "pmix.version"    /* char*: version of the requester's library */
#define PMIX_REQUESTOR_IS_TOOL   "pmix.req.tool"   /* bool: the requester is a tool */
#define PMIX_REQUESTOR_IS_CLIENT "pmix.req.client" /* bool: the requester is a client */
#define PMIX_PSET_NAME           "pmix.pset.nm"    /* char*: name of a process set */
#define PMIX_PSET_NAMES          "pmix.pset.nms"   /* array: names of the process sets one is a member of (char*) */
#define PMIX_PSET_MEMBERS        "pmix.pset.mems"  /* array: members of a process set (pmix_proc_t) */
#define PMIX_REINCARNATION       "pmix.reinc"      /* uint32_t: how often the process has been started again */

/*
 * Programming models (chapter 4): what a library declares in PMIx_Init; others receive it from
 * PMIX_MODEL_DECLARED.
 */
#define PMIX_PROGRAMMING_MODEL     "pmix.pgm.model"   /* char*: such as MPI or OpenMP */
#define PMIX_MODEL_LIBRARY_NAME    "pmix.mdl.name"    /* char*: name of the library */
#define PMIX_MODEL_LIBRARY_VERSION "pmix.mld.vrs"     /* char*: version of the library */
#define PMIX_THREADING_MODEL       "pmix.threads"     /* char*: such as pthreads */
#define PMIX_MODEL_NUM_THREADS     "pmix.mdl.nthrds"  /* uint64_t: threads in use */
#define PMIX_MODEL_NUM_CPUS        "pmix.mdl.ncpu"    /* uint64_t: CPUs in use */
#define PMIX_MODEL_CPU_TYPE        "pmix.mdl.cputype" /* char*: granularity of those CPUs, such as hwthread or core */
#define PMIX_MODEL_PHASE_NAME      "pmix.mdl.phase"   /* char*: name of the phase entered */
#define PMIX_MODEL_PHASE_TYPE      "pmix.mdl.ptype"   /* char*: kind of the phase entered */
#define PMIX_MODEL_AFFINITY_POLICY "pmix.mdl.tap"     /* char*: how threads are bound */

/* TCP connections (chapters 17, 18): kept for programs that give them. A tool reads PMIX_TCP_URI, and takes it for
 * PMIX_SERVER_URI; PMIx_server_init reads PMIX_TCP_REPORT_URI, and a file there is PMIX_LAUNCHER_RENDEZVOUS_FILE. */
#define PMIX_TCP_REPORT_URI   "pmix.tcp.repuri"    /* char*: where to report the URI: "-" (output), "+" (errors), a file */
#define PMIX_TCP_URI          "pmix.tcp.uri"       /* char*: URI to connect to */
#define PMIX_TCP_IF_INCLUDE   "pmix.tcp.ifinclude" /* char*: interfaces to use, a list */
#define PMIX_TCP_IF_EXCLUDE   "pmix.tcp.ifexclude" /* char*: interfaces to leave out, a list */
#define PMIX_TCP_IPV4_PORT    "pmix.tcp.ipv4"      /* int: port */
#define PMIX_TCP_IPV6_PORT    "pmix.tcp.ipv6"      /* int: port */
#define PMIX_TCP_DISABLE_IPV4 "pmix.tcp.disipv4"   /* bool: no IPv4 */
#define PMIX_TCP_DISABLE_IPV6 "pmix.tcp.disipv6"   /* bool: no IPv6 */

/* General (chapter 6): job-level data that no other group takes. */
#define PMIX_CPUSET              "pmix.cpuset"  /* char*: CPUs that a process is bound to, as text */
#define PMIX_CPUSET_BITMAP       "pmix.bitmap"  /* pmix_cpuset_t*: the same as a bitmap */
#define PMIX_CREDENTIAL          "pmix.cred"    /* char*: credential of a process */
#define PMIX_SPAWNED             "pmix.spawned" /* bool: the process was started by PMIx_Spawn */
#define PMIX_NODE_OVERSUBSCRIBED "pmix.ndosub"  /* bool: more processes than slots on this node */

/* Scratch folders (chapter 6): named by the host; who removes them is told by the last one. */
#define PMIX_TMPDIR       "pmix.tmpdir"       /* char*: folder of the session on the node */
#define PMIX_NSDIR        "pmix.nsdir"        /* char*: folder of the namespace, under PMIX_TMPDIR */
#define PMIX_PROCDIR      "pmix.pdir"         /* char*: folder of the process, under PMIX_NSDIR */
#define PMIX_TDIR_RMCLEAN "pmix.tdir.rmclean" /* bool: the resource manager removes them */

/* Identity and place of a process (chapter 6): names, ranks and relations; process realm unless said otherwise. */
#define PMIX_CLUSTER_ID         "pmix.clid"       /* char*: name of the cluster */
#define PMIX_PROCID             "pmix.procid"     /* pmix_proc_t*: the process itself */
#define PMIX_NSPACE             "pmix.nspace"     /* char*: namespace of the job */
#define PMIX_JOBID              "pmix.jobid"      /* char*: the scheduler's name of the job */
#define PMIX_APPNUM             "pmix.appnum"     /* uint32_t: number of the application in the job */
#define PMIX_RANK               "pmix.rank"       /* pmix_rank_t: rank in the job */
#define PMIX_GLOBAL_RANK        "pmix.grank"      /* pmix_rank_t: rank over all jobs of the session */
#define PMIX_APP_RANK           "pmix.apprank"    /* pmix_rank_t: rank in the application */
#define PMIX_NPROC_OFFSET       "pmix.offset"     /* pmix_rank_t: lowest global rank of the job */
#define PMIX_LOCAL_RANK         "pmix.lrank"      /* uint16_t: rank among the job's processes on the node */
#define PMIX_NODE_RANK          "pmix.nrank"      /* uint16_t: rank among all processes on the node */
#define PMIX_PACKAGE_RANK       "pmix.pkgrank"    /* uint16_t: rank among the job's processes on the package */
#define PMIX_LOCALLDR           "pmix.lldr"       /* pmix_rank_t: lowest rank of the job on the node */
#define PMIX_APPLDR             "pmix.aldr"       /* pmix_rank_t: lowest rank of the application */
#define PMIX_PROC_PID           "pmix.ppid"       /* pid_t: process id at the operating system */
#define PMIX_SESSION_ID         "pmix.session.id" /* uint32_t: number of the session */
#define PMIX_NODE_LIST          "pmix.nlist"      /* char*: nodes of the job, a list */
#define PMIX_ALLOCATED_NODELIST "pmix.alist"      /* char*: nodes of the allocation, a list */
#define PMIX_HOSTNAME           "pmix.hname"      /* char*: node of the process */
#define PMIX_HOSTNAME_ALIASES   "pmix.alias"      /* char*: other names of the node, a list */
#define PMIX_HOSTNAME_KEEP_FQDN "pmix.fqdn"       /* bool: names are not shortened */
#define PMIX_NODEID             "pmix.nodeid"     /* uint32_t: number of the node */
#define PMIX_LOCAL_PEERS        "pmix.lpeers"     /* char*: ranks of the job on the node, a list */
#define PMIX_LOCAL_PROCS        "pmix.lprocs"     /* array: processes on the node (pmix_proc_t) */
#define PMIX_LOCAL_PARTICIPANTS "pmix.lcl.part"   /* array: processes of this node in a collective (pmix_proc_t) */
#define PMIX_LOCAL_CPUSETS      "pmix.lcpus"      /* char*: CPUs of each local peer, parted by colons */
#define PMIX_PARENT_ID          "pmix.parent"     /* pmix_proc_t*: process that spawned this job */
#define PMIX_SPAWN_TREE_ROOT    "pmix.spwn.root"  /* char*: first job of the spawns that this job comes from */
#define PMIX_SPAWN_TREE_ACTIVE  "pmix.spwn.actv"  /* uint32_t: other jobs of that tree that have not ended */
#define PMIX_EXIT_CODE          "pmix.exit.code"  /* int: status at the end of the process */

/* Sizes (chapter 6): how many there are; session, job, application or node realm. */
#define PMIX_UNIV_SIZE           "pmix.univ.size"  /* uint32_t: slots of the session */
#define PMIX_JOB_SIZE            "pmix.job.size"   /* uint32_t: processes of the job */
#define PMIX_JOB_NUM_APPS        "pmix.job.napps"  /* uint32_t: applications of the job */
#define PMIX_APP_SIZE            "pmix.app.size"   /* uint32_t: processes of the application */
#define PMIX_LOCAL_SIZE          "pmix.local.size" /* uint32_t: processes of the job on the node */
#define PMIX_NODE_SIZE           "pmix.node.size"  /* uint32_t: processes of all jobs on the node */
#define PMIX_MAX_PROCS           "pmix.max.size"   /* uint32_t: most processes that may run there */
#define PMIX_NUM_SLOTS           "pmix.num.slots"  /* uint32_t: slots there */
#define PMIX_NUM_NODES           "pmix.num.nodes"  /* uint32_t: nodes there */
#define PMIX_NUM_ALLOCATED_NODES "pmix.num.anodes" /* uint32_t: nodes of the allocation */

/* Memory and topology (chapters 6, 12). */
#define PMIX_AVAIL_PHYS_MEMORY "pmix.pmem"       /* uint64_t: physical memory of the node */
#define PMIX_DAEMON_MEMORY     "pmix.dmn.mem"    /* float: megabytes that the daemon uses */
#define PMIX_CLIENT_AVG_MEMORY "pmix.cl.mem.avg" /* float: megabytes that a client uses on average */
#define PMIX_TOPOLOGY2         "pmix.topo2"      /* pmix_topology_t*: hardware topology of the node */
#define PMIX_LOCALITY_STRING   "pmix.locstr"     /* char*: places of a process, for PMIx_Get_relative_locality */
#define PMIX_TOPOLOGY_INDEX    "pmix.topo.index" /* int: number of the topology, where nodes differ */

/* Directives to data calls (chapters 5, 8, 9): how put data are collected, got, published and looked up. */
#define PMIX_COLLECT_DATA               "pmix.collect"          /* bool: fence: bring everybody's data to everybody */
#define PMIX_ALL_CLONES_PARTICIPATE     "pmix.clone.part"       /* bool: collective: every clone takes part */
#define PMIX_COLLECT_GENERATED_JOB_INFO "pmix.collect.gen"      /* bool: fence: bring job data that servers made
                                                                   themselves */
#define PMIX_TIMEOUT                    "pmix.timeout"          /* int: seconds until PMIX_ERR_TIMEOUT; 0 waits for
                                                                   ever */
#define PMIX_IMMEDIATE                  "pmix.immediate"        /* bool: get: ask the local server and nobody behind
                                                                   it */
#define PMIX_WAIT                       "pmix.wait"             /* int: lookup: wait until so many keys are there; 0
                                                                   means all */
#define PMIX_NOTIFY_COMPLETION          "pmix.notecomp"         /* bool: spawn: tell the requester by an event when
                                                                   the job ends */
#define PMIX_RANGE                      "pmix.range"            /* pmix_data_range_t: who can see the published data */
#define PMIX_PERSISTENCE                "pmix.persist"          /* pmix_persistence_t: how long published data live */
#define PMIX_DATA_SCOPE                 "pmix.scope"            /* pmix_scope_t: get: look at data of this scope only */
#define PMIX_OPTIONAL                   "pmix.optional"         /* bool: get: what this process has; do not ask the
                                                                   server */
#define PMIX_GET_STATIC_VALUES          "pmix.get.static"       /* bool: get: write into the caller's value */
#define PMIX_GET_POINTER_VALUES         "pmix.get.pntrs"        /* bool: get: a pointer to the library's value */
#define PMIX_EMBED_BARRIER              "pmix.embed.barrier"    /* bool: finalize: nobody leaves before all have come */
#define PMIX_JOB_TERM_STATUS            "pmix.job.term.status"  /* pmix_status_t: status the job ended with */
#define PMIX_PROC_TERM_STATUS           "pmix.proc.term.status" /* pmix_status_t: status the process ended with */
#define PMIX_PROC_STATE_STATUS          "pmix.proc.state"       /* pmix_proc_state_t: state the process is in */
#define PMIX_GET_REFRESH_CACHE          "pmix.get.refresh"      /* bool: get: bring the local copy up to date first */
#define PMIX_ACCESS_PERMISSIONS         "pmix.aperms"           /* array: who may see the data (infos of the next
                                                                   two) */
#define PMIX_ACCESS_USERIDS             "pmix.auids"            /* array: user ids that may (uint32_t) */
#define PMIX_ACCESS_GRPIDS              "pmix.agids"            /* array: group ids that may (uint32_t) */
#define PMIX_WAIT_FOR_CONNECTION        "pmix.wait.conn"        /* bool: wait until the process named has connected */
#define PMIX_QUALIFIED_VALUE            "pmix.qual.val"         /* array: a value and its qualifiers (infos, the
                                                                   value first) */

/* Registration of jobs (chapter 17): given by a host to PMIx_server_register_nspace and collective upcalls. */
#define PMIX_REGISTER_NODATA         "pmix.reg.nodata"  /* bool: no job data for this namespace */
#define PMIX_NODE_MAP                "pmix.nmap"        /* char*: nodes, as made by PMIx_generate_regex */
#define PMIX_NODE_MAP_RAW            "pmix.nmap.raw"    /* char*: nodes, a list */
#define PMIX_PROC_MAP                "pmix.pmap"        /* char*: ranks on each node, as made by PMIx_generate_ppn */
#define PMIX_PROC_MAP_RAW            "pmix.pmap.raw"    /* char*: ranks on each node: commas inside a node,
                                                           semicolons between */
#define PMIX_ANL_MAP                 "pmix.anlmap"      /* char*: process map in the form of one laboratory */
#define PMIX_APP_MAP_TYPE            "pmix.apmap.type"  /* char*: kind of the mapping of applications */
#define PMIX_APP_MAP_REGEX           "pmix.apmap.regex" /* char*: mapping of applications */
#define PMIX_REQUIRED_KEY            "pmix.req.key"     /* char*: direct modex: answer when this key is there */
#define PMIX_LOCAL_COLLECTIVE_STATUS "pmix.loc.col.st"  /* pmix_status_t: collective: how it went on this node */
#define PMIX_SORTED_PROC_ARRAY       "pmix.sorted.parr" /* bool: the processes come in the order of their ranks */

/* Event handlers and events (chapter 10): to order handlers, to limit what they get, and what an event carries. */
#define PMIX_EVENT_HDLR_NAME              "pmix.evname"       /* char*: name of the handler */
#define PMIX_EVENT_HDLR_FIRST             "pmix.evfirst"      /* bool: before all other handlers */
#define PMIX_EVENT_HDLR_LAST              "pmix.evlast"       /* bool: after all other handlers */
#define PMIX_EVENT_HDLR_FIRST_IN_CATEGORY "pmix.evfirstcat"   /* bool: before the others of its category */
#define PMIX_EVENT_HDLR_LAST_IN_CATEGORY  "pmix.evlastcat"    /* bool: after the others of its category */
#define PMIX_EVENT_HDLR_BEFORE            "pmix.evbefore"     /* char*: right before the handler of this name */
#define PMIX_EVENT_HDLR_AFTER             "pmix.evafter"      /* char*: right after the handler of this name */
#define PMIX_EVENT_HDLR_PREPEND           "pmix.evprepend"    /* bool: at the front of its category */
#define PMIX_EVENT_HDLR_APPEND            "pmix.evappend"     /* bool: at the end of its category */
#define PMIX_EVENT_CUSTOM_RANGE           "pmix.evrange"      /* array: processes the event is for (pmix_proc_t) */
#define PMIX_EVENT_AFFECTED_PROC          "pmix.evproc"       /* pmix_proc_t*: process the event is about */
#define PMIX_EVENT_AFFECTED_PROCS         "pmix.evaffected"   /* array: processes the event is about (pmix_proc_t) */
#define PMIX_EVENT_NON_DEFAULT            "pmix.evnondef"     /* bool: not for default handlers */
#define PMIX_EVENT_RETURN_OBJECT          "pmix.evobject"     /* void*: the handler gets this pointer back */
#define PMIX_EVENT_DO_NOT_CACHE           "pmix.evnocache"    /* bool: do not keep it for handlers registered later */
#define PMIX_EVENT_SILENT_TERMINATION     "pmix.evsilentterm" /* bool: no event when this job ends normally */
#define PMIX_EVENT_PROXY                  "pmix.evproxy"      /* pmix_proc_t*: process that sends it for another */
#define PMIX_EVENT_TEXT_MESSAGE           "pmix.evtext"       /* char*: text for people */
#define PMIX_EVENT_TIMESTAMP              "pmix.evtstamp"     /* time_t: when it happened */
#define PMIX_EVENT_ONESHOT                "pmix.evone"        /* bool: drop the handler after its first call */
#define PMIX_EVENT_STAYS_LOCAL            "pmix.evlocal"      /* bool: not beyond this node */
#define PMIX_EVENT_TERMINATE_SESSION      "pmix.evterm.sess"  /* bool: the host will end the session */
#define PMIX_EVENT_TERMINATE_JOB          "pmix.evterm.job"   /* bool: the host will end the job */
#define PMIX_EVENT_TERMINATE_NODE         "pmix.evterm.node"  /* bool: the host will end all processes of the node */
#define PMIX_EVENT_TERMINATE_PROC         "pmix.evterm.proc"  /* bool: the host will end the process */
#define PMIX_EVENT_ACTION_TIMEOUT         "pmix.evtimeout"    /* int: seconds until the host acts */

/* Spawn (chapter 12): where and how a new job runs; given for the job or for one application of it. */
#define PMIX_PERSONALITY                      "pmix.pers"         /* char*: programming model the job expects */
#define PMIX_HOST                             "pmix.host"         /* char*: nodes to use, a list */
#define PMIX_HOSTFILE                         "pmix.hostfile"     /* char*: file that names the nodes */
#define PMIX_ADD_HOST                         "pmix.addhost"      /* char*: nodes to add to the allocation, a list */
#define PMIX_ADD_HOSTFILE                     "pmix.addhostfile"  /* char*: file that names nodes to add */
#define PMIX_PREFIX                           "pmix.prefix"       /* char*: where programs and libraries are
                                                                     installed */
#define PMIX_WDIR                             "pmix.wdir"         /* char*: working folder */
#define PMIX_WDIR_USER_SPECIFIED              "pmix.wdir.user"    /* bool: the user named it */
#define PMIX_DISPLAY_MAP                      "pmix.dispmap"      /* bool: show the mapping */
#define PMIX_DISPLAY_MAP_DETAILED             "pmix.dispmapdet"   /* bool: show it with details */
#define PMIX_DISPLAY_ALLOCATION               "pmix.dispalloc"    /* bool: show the allocation */
#define PMIX_DISPLAY_TOPOLOGY                 "pmix.disptopo"     /* char*: show the topology of these nodes */
#define PMIX_DISPLAY_PROCESSORS               "pmix.dispcpus"     /* char*: show the CPUs of these nodes */
#define PMIX_DISPLAY_PARSEABLE_OUTPUT         "pmix.dispparse"    /* bool: show it for programs to read */
#define PMIX_PPR                              "pmix.ppr"          /* char*: processes per resource */
#define PMIX_MAPBY                            "pmix.mapby"        /* char*: mapping policy */
#define PMIX_RANKBY                           "pmix.rankby"       /* char*: ranking policy */
#define PMIX_BINDTO                           "pmix.bindto"       /* char*: binding policy */
#define PMIX_PRELOAD_BIN                      "pmix.preloadbin"   /* bool: bring the program to the nodes first */
#define PMIX_PRELOAD_FILES                    "pmix.preloadfiles" /* char*: bring these files to the nodes first */
#define PMIX_STDIN_TGT                        "pmix.stdin"        /* pmix_proc_t*: the receiver of the standard input */
#define PMIX_DEBUGGER_DAEMONS                 "pmix.debugger"     /* bool: this application is debugger daemons */
#define PMIX_COSPAWN_APP                      "pmix.cospawn"      /* bool: this application is a job apart, such as
                                                                     debugger daemons */
#define PMIX_COLOCATE_PROCS                   "pmix.colproc"      /* array: processes to be placed beside
                                                                     (pmix_proc_t) */
#define PMIX_COLOCATE_NPERPROC                "pmix.colnum.proc"  /* uint16_t: so many beside each of them */
#define PMIX_COLOCATE_NPERNODE                "pmix.colnum.node"  /* uint16_t: so many on each of their nodes */
#define PMIX_SET_SESSION_CWD                  "pmix.ssncwd"       /* bool: run in the working folder of the session */
#define PMIX_INDEX_ARGV                       "pmix.indxargv"     /* bool: append the rank to the program's name */
#define PMIX_CPUS_PER_PROC                    "pmix.cpuperproc"   /* uint32_t: CPUs for each process */
#define PMIX_NO_PROCS_ON_HEAD                 "pmix.nolocal"      /* bool: none on the head node */
#define PMIX_NO_OVERSUBSCRIBE                 "pmix.noover"       /* bool: never more processes than slots */
#define PMIX_REPORT_BINDINGS                  "pmix.repbind"      /* bool: report the bindings */
#define PMIX_REPORT_PHYSICAL_CPUS             "pmix.repphys.cpus" /* bool: by their physical numbers */
#define PMIX_CPU_LIST                         "pmix.cpulist"      /* char*: CPUs to use, a list */
#define PMIX_JOB_RECOVERABLE                  "pmix.recover"      /* bool: the job survives the loss of processes */
#define PMIX_JOB_CONTINUOUS                   "pmix.continuous"   /* bool: restart processes for ever */
#define PMIX_MAX_RESTARTS                     "pmix.maxrestarts"  /* uint32_t: restart a process so often */
#define PMIX_FWD_STDIN                        "pmix.fwd.stdin"    /* bool: forward this process's input to the job */
#define PMIX_FWD_STDOUT                       "pmix.fwd.stdout"   /* bool: forward the job's output to this process */
#define PMIX_FWD_STDERR                       "pmix.fwd.stderr"   /* bool: forward its error output too */
#define PMIX_FWD_STDDIAG                      "pmix.fwd.stddiag"  /* bool: forward its diagnostics too */
#define PMIX_SPAWN_TOOL                       "pmix.spwn.tool"    /* bool: the job is a tool */
#define PMIX_CMD_LINE                         "pmix.cmd.line"     /* char*: command line that started it */
#define PMIX_FORKEXEC_AGENT                   "pmix.fe.agnt"      /* char*: program that starts the processes */
#define PMIX_JOB_TIMEOUT                      "pmix.job.time"     /* int: seconds the job may run */
#define PMIX_SPAWN_TIMEOUT                    "pmix.sp.time"      /* int: seconds the start may take */
#define PMIX_TIMEOUT_STACKTRACES              "pmix.tim.stack"    /* bool: collect stack traces when time is up */
#define PMIX_TIMEOUT_REPORT_STATE             "pmix.tim.state"    /* bool: report the states when time is up */
#define PMIX_APP_ARGV                         "pmix.app.argv"     /* char*: command line of the application */
#define PMIX_NOTIFY_JOB_EVENTS                "pmix.note.jev"     /* bool: tell the requester about the job */
#define PMIX_NOTIFY_PROC_TERMINATION          "pmix.noteproc"     /* bool: about each process that ends */
#define PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION "pmix.noteabproc"   /* bool: about each that ends badly */
#define PMIX_ENVARS_HARVESTED                 "pmix.evar.hvstd"   /* bool: the environment was collected already */
#define PMIX_RUNTIME_OPTIONS                  "pmix.runopt"       /* char*: options for the runtime, a list */
#define PMIX_ABORT_NON_ZERO_TERM              "pmix.abnz"         /* bool: a non-zero exit ends the job */
#define PMIX_DO_NOT_LAUNCH                    "pmix.dnl"          /* bool: map only */
#define PMIX_SHOW_LAUNCH_PROGRESS             "pmix.showprog"     /* bool: show how far the start is */
#define PMIX_AGGREGATE_HELP                   "pmix.agg.help"     /* bool: say the same message once */
#define PMIX_REPORT_CHILD_SEP                 "pmix.rptchildsep"  /* bool: report a spawned job apart from its parent */
#define PMIX_SPAWN_CHILD_SEP                  "pmix.spchildsep"   /* bool: a spawned job continues without its parent */
#define PMIX_FWD_ENVIRONMENT                  "pmix.fwdenv"       /* bool: give the job this process's environment */
#define PMIX_SPAWN_PTY                        "pmix.spawn.pty"    /* bool: give the processes a terminal */
#define PMIX_SPAWN_TARGET                     "pmix.spwn.tgt"     /* char* or array of them: allocations to use, by id */
#define PMIX_SPAWN_ALLOC                      "pmix.spwn.alloc"   /* array: an allocation request to be met first:
                                                                   * PMIX_ALLOC_REQ_DIRECTIVE and its infos */
#define PMIX_PTY_TERMIO                       "pmix.pty.termio"   /* pmix_byte_object_t: its settings (struct
                                                                     termios) */
#define PMIX_PTY_WSIZE                        "pmix.pty.wsize"    /* pmix_byte_object_t: its size (struct winsize) */

/* Query keys (chapter 7): what can be asked with PMIx_Query_info; the type is that of the answer. */
#define PMIX_QUERY_SUPPORTED_KEYS      "pmix.qry.keys"       /* char*: keys that can be asked, a list */
#define PMIX_QUERY_NAMESPACES          "pmix.qry.ns"         /* char*: active namespaces, a list */
#define PMIX_QUERY_NAMESPACE_INFO      "pmix.qry.nsinfo"     /* array: infos of each active namespace */
#define PMIX_QUERY_JOB_STATUS          "pmix.qry.jst"        /* pmix_status_t: status of a job */
#define PMIX_QUERY_QUEUE_LIST          "pmix.qry.qlst"       /* char*: queues of the scheduler, a list */
#define PMIX_QUERY_QUEUE_STATUS        "pmix.qry.qst"        /* array: status of queues */
#define PMIX_QUERY_PROC_TABLE          "pmix.qry.ptable"     /* array: processes of a job (pmix_proc_info_t) */
#define PMIX_QUERY_LOCAL_PROC_TABLE    "pmix.qry.lptable"    /* array: those on this node (pmix_proc_info_t) */
#define PMIX_QUERY_AUTHORIZATIONS      "pmix.qry.auths"      /* array: what the requester may do */
#define PMIX_QUERY_SPAWN_SUPPORT       "pmix.qry.spawn"      /* char*: attributes that spawn takes, a list */
#define PMIX_QUERY_DEBUG_SUPPORT       "pmix.qry.debug"      /* char*: attributes for debuggers, a list */
#define PMIX_QUERY_MEMORY_USAGE        "pmix.qry.mem"        /* array: memory in use */
#define PMIX_QUERY_ALLOC_STATUS        "pmix.query.alloc"    /* char*: status of an allocation */
#define PMIX_QUERY_ALLOCATION          "pmix.query.allc"     /* array: allocation of the session */
#define PMIX_QUERY_ALLOC_IDS           "pmix.query.alloc.ids"  /* array: infos of PMIX_ALLOC_ID */
#define PMIX_QUERY_ALLOC_PROPERTIES    "pmix.query.alloc.prop" /* array: properties of the allocation PMIX_ALLOC_ID;
                                                                * PMIX_ALLOC_PROPERTY: of this one alone */
#define PMIX_TIME_REMAINING            "pmix.time.remaining" /* uint32_t: seconds left of the allocation */
#define PMIX_QUERY_NUM_PSETS           "pmix.qry.psetnum"    /* size_t: number of process sets */
#define PMIX_QUERY_PSET_NAMES          "pmix.qry.psets"      /* char*: their names, a list */
#define PMIX_QUERY_PSET_MEMBERSHIP     "pmix.qry.pmems"      /* array: members of one (pmix_proc_t) */
#define PMIX_QUERY_NUM_GROUPS          "pmix.qry.pgrpnum"    /* size_t: number of groups */
#define PMIX_QUERY_GROUP_NAMES         "pmix.qry.pgrp"       /* array: their names (char*) */
#define PMIX_QUERY_GROUP_MEMBERSHIP    "pmix.qry.pgrpmems"   /* array: members of one (pmix_proc_t) */
#define PMIX_QUERY_ATTRIBUTE_SUPPORT   "pmix.qry.attrs"      /* array: attributes that functions take
                                                                (pmix_regattr_t) */
#define PMIX_CLIENT_FUNCTIONS          "pmix.client.fns"     /* char*: functions of the client, a list */
#define PMIX_SERVER_FUNCTIONS          "pmix.srvr.fns"       /* char*: functions of the server, a list */
#define PMIX_TOOL_FUNCTIONS            "pmix.tool.fns"       /* char*: functions of a tool, a list */
#define PMIX_HOST_FUNCTIONS            "pmix.host.fns"       /* char*: functions of the host, a list */
#define PMIX_QUERY_AVAIL_SERVERS       "pmix.qry.asrvrs"     /* array: servers to which a tool could connect */
#define PMIX_QUERY_QUALIFIERS          "pmix.qry.quals"      /* array: in an answer: the qualifiers it is for (infos) */
#define PMIX_QUERY_RESULTS             "pmix.qry.res"        /* array: in an answer: one query's results (infos) */
#define PMIX_QUERY_MIN_ALLOC_UNIT      "pmix.qry.minau"      /* array: smallest unit that can be allocated */
#define PMIX_QUERY_RES_BLOCKS          "pmix.qry.resblks"    /* array: resource blocks defined */
#define PMIX_QUERY_RES_BLOCK_DEF       "pmix.qry.resdef"     /* array: definition of one block */
#define PMIX_QUERY_DEVICES             "pmix.qry.dev"        /* array: devices of a node (pmix_device_t) */
#define PMIX_QUERY_AVAILABLE_SLOTS     "pmix.qry.aslots"     /* uint32_t: slots that are free */
#define PMIX_QUERY_RESOLVE_PEERS       "pmix.qry.peers"      /* array: processes of a job on a node (pmix_proc_t) */
#define PMIX_QUERY_RESOLVE_NODE        "pmix.qry.node"       /* char*: nodes of a job, a list */
#define PMIX_QUERY_PROC_RESOURCE_USAGE "pmix.qry.pres"       /* pmix_proc_t*: resources that a process uses */
#define PMIX_QUERY_NODE_RESOURCE_USAGE "pmix.qry.nres"       /* char*: resources in use on a node */

/* Query qualifiers (chapter 7): they narrow a query to a place, a time or a level. */
#define PMIX_QUERY_REFRESH_CACHE        "pmix.qry.rfsh"     /* bool: ask again, do not answer from memory */
#define PMIX_QUERY_LOCAL_ONLY           "pmix.qry.local"    /* bool: from the local server alone */
#define PMIX_QUERY_REPORT_AVG           "pmix.qry.avg"      /* bool: averages */
#define PMIX_QUERY_REPORT_MINMAX        "pmix.qry.minmax"   /* bool: smallest and largest */
#define PMIX_CLIENT_ATTRIBUTES          "pmix.client.attrs" /* char*: attributes of the client library */
#define PMIX_SERVER_ATTRIBUTES          "pmix.srvr.attrs"   /* char*: attributes of the server library */
#define PMIX_HOST_ATTRIBUTES            "pmix.host.attrs"   /* char*: attributes of the host */
#define PMIX_TOOL_ATTRIBUTES            "pmix.tool.attrs"   /* char*: attributes of the tool library */
#define PMIX_QUERY_SUPPORTED_QUALIFIERS "pmix.qry.supqual"    /* bool: qualifiers that can be used */
#define PMIX_RESOURCE_BLOCK_NAME        "pmix.resblkname"   /* char*: name of a resource block */

/*
 * Data realms (chapter 6): as directive to Get: which realm is meant. As array in a registration: the values of one
 * member of the realm, whose first info identifies it.
 */
#define PMIX_SESSION_INFO       "pmix.ssn.info"  /* bool: the session's value */
#define PMIX_JOB_INFO           "pmix.job.info"  /* bool: the job's value */
#define PMIX_APP_INFO           "pmix.app.info"  /* bool: the application's value */
#define PMIX_NODE_INFO          "pmix.node.info" /* bool: the node's value */
#define PMIX_SESSION_INFO_ARRAY "pmix.ssn.arr"   /* array: values of one session (infos) */
#define PMIX_JOB_INFO_ARRAY     "pmix.job.arr"   /* array: values of one job (infos) */
#define PMIX_APP_INFO_ARRAY     "pmix.app.arr"   /* array: values of one application (infos) */
#define PMIX_PROC_INFO_ARRAY    "pmix.pdata"     /* array: values of one process (infos) */
#define PMIX_NODE_INFO_ARRAY    "pmix.node.arr"  /* array: values of one node (infos) */
#define PMIX_SERVER_INFO_ARRAY  "pmix.srv.arr"   /* array: values of one server (infos) */

/* Log (chapter 13): channels are the data of PMIx_Log, in the order of preference; the rest are directives. */
#define PMIX_LOG_SOURCE                    "pmix.log.source"   /* pmix_proc_t*: process that logs */
#define PMIX_LOG_STDERR                    "pmix.log.stderr"   /* char*: channel: error output */
#define PMIX_LOG_STDOUT                    "pmix.log.stdout"   /* char*: channel: output */
#define PMIX_LOG_SYSLOG                    "pmix.log.syslog"   /* char*: channel: a syslog, global first */
#define PMIX_LOG_LOCAL_SYSLOG              "pmix.log.lsys"     /* char*: channel: syslog of the node */
#define PMIX_LOG_GLOBAL_SYSLOG             "pmix.log.gsys"     /* char*: channel: syslog of the system */
#define PMIX_LOG_SYSLOG_PRI                "pmix.log.syspri"   /* int: priority there */
#define PMIX_LOG_TIMESTAMP                 "pmix.log.tstmp"    /* time_t: time of the report */
#define PMIX_LOG_GENERATE_TIMESTAMP        "pmix.log.gtstmp"   /* bool: add a time */
#define PMIX_LOG_TAG_OUTPUT                "pmix.log.tag"      /* bool: tag it with channel and source */
#define PMIX_LOG_TIMESTAMP_OUTPUT          "pmix.log.tsout"    /* bool: print the time */
#define PMIX_LOG_XML_OUTPUT                "pmix.log.xml"      /* bool: print it as XML */
#define PMIX_LOG_ONCE                      "pmix.log.once"     /* bool: only on the first channel that works */
#define PMIX_LOG_MSG                       "pmix.log.msg"      /* pmix_byte_object_t: the message, for a host's own
                                                                  channels */
#define PMIX_LOG_KEY                       "pmix.log.key"      /* char*: key under which it is kept */
#define PMIX_LOG_VAL                       "pmix.log.val"      /* char*: value that is kept */
#define PMIX_LOG_AGG                       "pmix.log.agg"      /* bool: messages that repeat are counted */
#define PMIX_LOG_EMAIL                     "pmix.log.email"    /* array: channel: mail (infos of those below) */
#define PMIX_LOG_EMAIL_ADDR                "pmix.log.emaddr"   /* char*: receivers, a list */
#define PMIX_LOG_EMAIL_SENDER_ADDR         "pmix.log.emfaddr"  /* char*: sender */
#define PMIX_LOG_EMAIL_SUBJECT             "pmix.log.emsub"    /* char*: subject */
#define PMIX_LOG_EMAIL_MSG                 "pmix.log.emmsg"    /* char*: text */
#define PMIX_LOG_EMAIL_SERVER              "pmix.log.esrvr"    /* char*: mail server */
#define PMIX_LOG_EMAIL_SRVR_PORT           "pmix.log.esrvrprt" /* int32_t: its port */
#define PMIX_LOG_GLOBAL_DATASTORE          "pmix.log.gstore"   /* bool: channel: the system's data store */
#define PMIX_LOG_JOB_RECORD                "pmix.log.jrec"     /* bool: channel: the job's record */
#define PMIX_LOG_PROC_TERMINATION          "pmix.logproc"      /* bool: log each process that ends */
#define PMIX_LOG_PROC_ABNORMAL_TERMINATION "pmix.logabproc"    /* bool: log each that ends badly */
#define PMIX_LOG_JOB_EVENTS                "pmix.log.jev"      /* bool: log what happens to the job */
#define PMIX_LOG_COMPLETION                "pmix.logcomp"      /* bool: log the end of the job */

/* Debuggers (chapter 18): where processes stop for a debugger, and what a daemon attaches to. */
#define PMIX_DEBUG_STOP_ON_EXEC     "pmix.dbg.exec"   /* stop at the first instruction; bool or pmix_rank_t or array of it */
#define PMIX_DEBUG_STOP_IN_INIT     "pmix.dbg.init"   /* stop in PMIx_Init; bool or pmix_rank_t or array of it */
#define PMIX_DEBUG_STOP_IN_APP      "pmix.dbg.notify" /* stop where the program says; bool or pmix_rank_t or array of it */
#define PMIX_BREAKPOINT             "pmix.brkpnt"     /* char*: name of the place it stops at */
#define PMIX_DEBUG_TARGET           "pmix.dbg.tgt"    /* pmix_proc_t*: processes to be debugged */
#define PMIX_DEBUG_DAEMONS_PER_PROC "pmix.dbg.dpproc" /* uint16_t: daemons beside each process */
#define PMIX_DEBUG_DAEMONS_PER_NODE "pmix.dbg.dpnd"   /* uint16_t: daemons on each node */

/* Resource manager (chapter 6). */
#define PMIX_RM_NAME    "pmix.rm.name"    /* char*: its name */
#define PMIX_RM_VERSION "pmix.rm.version" /* char*: its version */

/* Changes to the environment (chapter 12): applied to a job or an application in the order given. */
#define PMIX_SET_ENVAR     "pmix.envar.set"    /* pmix_envar_t*: set, overwriting */
#define PMIX_ADD_ENVAR     "pmix.envar.add"    /* pmix_envar_t*: set where it is not set */
#define PMIX_UNSET_ENVAR   "pmix.envar.unset"  /* char*: remove */
#define PMIX_PREPEND_ENVAR "pmix.envar.prepnd" /* pmix_envar_t*: put in front, with the separator */
#define PMIX_APPEND_ENVAR  "pmix.envar.appnd"  /* pmix_envar_t*: put behind, with the separator */
#define PMIX_FIRST_ENVAR   "pmix.envar.first"  /* pmix_envar_t*: put in front once: removed elsewhere in the list */

/* Allocations (chapter 13): given to PMIx_Allocation_request, and in its answer. */
#define PMIX_ALLOC_REQ_ID             "pmix.alloc.reqid"     /* char*: the caller's name of the request */
#define PMIX_ALLOC_REQ_DIRECTIVE      "pmix.alloc.dir"       /* pmix_alloc_directive_t: what a request wants, where
                                                              * it is data (PMIX_SPAWN_ALLOC) */
#define PMIX_ALLOC_ID                 "pmix.alloc.id"        /* char*: the host's name of the allocation */
#define PMIX_ALLOC_STATUS             "pmix.alloc.status"    /* pmix_status_t: result of a request, in an event */
#define PMIX_ALLOC_PROPERTY           "pmix.alloc.property"  /* char*: name of a property */
#define PMIX_ALLOC_RELEASABLE         "pmix.alloc.releasable" /* bool: all of it may be given back */
#define PMIX_ALLOC_SEQUENCE           "pmix.alloc.seq"       /* uint32_t: order in which the host got its allocations */
#define PMIX_ALLOC_TARGET             "pmix.alloc.tgt"       /* char*: namespace that it is reserved for */
#define PMIX_ALLOC_INHERITANCE        "pmix.alloc.inhrt"     /* pmix_alloc_inheritance_t: who keeps it when that ends */
#define PMIX_ALLOC_WARN_TIMEOUT       "pmix.alloc.wtmo"      /* uint32_t: seconds before its end that a
                                                              * PMIX_ALLOC_TIMEOUT_WARNING is raised */
#define PMIX_ALLOC_NUM_NODES          "pmix.alloc.nnodes"    /* uint64_t: nodes */
#define PMIX_ALLOC_NODE_LIST          "pmix.alloc.nlist"     /* char*: nodes, a list */
#define PMIX_ALLOC_EXCLUDE            "pmix.alloc.exclude"   /* char*: nodes to leave out, a list */
#define PMIX_ALLOC_NUM_CPUS           "pmix.alloc.ncpus"     /* uint64_t: CPUs */
#define PMIX_ALLOC_NUM_CPU_LIST       "pmix.alloc.ncpulist"  /* char*: CPUs on each node, a list */
#define PMIX_ALLOC_CPU_LIST           "pmix.alloc.cpulist"   /* char*: which CPUs, a list */
#define PMIX_ALLOC_MEM_SIZE           "pmix.alloc.msize"     /* float: megabytes for each process */
#define PMIX_ALLOC_FABRIC             "pmix.alloc.net"       /* array: fabric resources (infos of the fabric's
                                                                attributes below) */
#define PMIX_ALLOC_FABRIC_ID          "pmix.alloc.netid"     /* char*: name of this fabric request */
#define PMIX_ALLOC_BANDWIDTH          "pmix.alloc.bw"        /* float: megabits a second */
#define PMIX_ALLOC_FABRIC_QOS         "pmix.alloc.netqos"    /* char*: quality of service */
#define PMIX_ALLOC_TIME               "pmix.alloc.time"      /* char*: seconds as a number, or a time as text; both
                                                                are taken */
#define PMIX_ALLOC_FABRIC_TYPE        "pmix.alloc.nettype"   /* char*: kind of transport */
#define PMIX_ALLOC_FABRIC_PLANE       "pmix.alloc.netplane"  /* char*: plane */
#define PMIX_ALLOC_FABRIC_ENDPTS      "pmix.alloc.endpts"    /* size_t: endpoints for each process */
#define PMIX_ALLOC_FABRIC_ENDPTS_NODE "pmix.alloc.endpts.nd" /* size_t: endpoints for each node */
#define PMIX_ALLOC_FABRIC_SEC_KEY     "pmix.alloc.nsec"      /* pmix_byte_object_t: key for the fabric */
#define PMIX_ALLOC_QUEUE              "pmix.alloc.queue"     /* char*: queue */
#define PMIX_ALLOC_PREEMPTIBLE        "pmix.alloc.preempt"   /* bool: it may be taken back */
#define PMIX_ALLOC_LEND               "pmix.alloc.lend"      /* char*: give them for a time, until when */
#define PMIX_ALLOC_IMAGE              "pmix.alloc.image"     /* char*: image to boot */
#define PMIX_ALLOC_WAIT_ALL_NODES     "pmix.alloc.waitall"   /* bool: wait until all nodes are up */
#define PMIX_ALLOC_SHARE              "pmix.alloc.share"     /* bool: nodes may be shared */
#define PMIX_ALLOC_NOSHELL            "pmix.alloc.noshell"   /* bool: start no shell */
#define PMIX_ALLOC_DEPENDENCY         "pmix.alloc.depend"    /* char*: jobs it waits for, a list */
#define PMIX_ALLOC_BEGIN              "pmix.alloc.begin"     /* char*: when it may begin */
#define PMIX_ALLOC_NOT_WAITING        "pmix.alloc.notwait"   /* bool: fail instead of waiting */
#define PMIX_ALLOC_RES_BLOCK          "pmix.alloc.blk"       /* char*: resource blocks, a list */
#define PMIX_ALLOC_NUM_BLOCKS         "pmix.alloc.nblks"     /* uint64_t: how many blocks */
#define PMIX_ALLOC_MAU                "pmix.alloc.mau"       /* array: minimal units wanted (pmix_resource_unit_t) */
#define PMIX_ALLOC_CHILD_SEP          "pmix.alloc.sep"       /* bool: it continues without the parent */
#define PMIX_MEM_ALLOC_KIND           "pmix.alloc.mkind"     /* char*: kinds of memory allocation that the program
                                                                knows */
#define PMIX_GPU_SUPPORT              "pmix.gpu.support"     /* bool: the program uses GPUs */

/* Job control (chapter 13): directives to PMIx_Job_control. */
#define PMIX_JOB_CTRL_ID                 "pmix.jctrl.id"       /* char*: name of the request */
#define PMIX_JOB_CTRL_PAUSE              "pmix.jctrl.pause"    /* bool: pause */
#define PMIX_JOB_CTRL_RESUME             "pmix.jctrl.resume"   /* bool: resume */
#define PMIX_JOB_CTRL_CANCEL             "pmix.jctrl.cancel"   /* char*: take back the request of this name; NULL
                                                                  means all */
#define PMIX_JOB_CTRL_KILL               "pmix.jctrl.kill"     /* bool: kill at once */
#define PMIX_JOB_CTRL_RESTART            "pmix.jctrl.restart"  /* char*: restart from this checkpoint */
#define PMIX_JOB_CTRL_CHECKPOINT         "pmix.jctrl.ckpt"     /* char*: write a checkpoint of this name */
#define PMIX_JOB_CTRL_CHECKPOINT_EVENT   "pmix.jctrl.ckptev"   /* bool: ask for it by an event */
#define PMIX_JOB_CTRL_CHECKPOINT_SIGNAL  "pmix.jctrl.ckptsig"  /* int: ask for it by this signal */
#define PMIX_JOB_CTRL_CHECKPOINT_TIMEOUT "pmix.jctrl.ckpttime"  /* int: seconds it may take */
#define PMIX_JOB_CTRL_CHECKPOINT_METHOD  "pmix.jctrl.ckmethod" /* array: ways the program knows (infos) */
#define PMIX_JOB_CTRL_SIGNAL             "pmix.jctrl.sig"      /* int: send this signal */
#define PMIX_JOB_CTRL_PROVISION          "pmix.jctrl.pvn"      /* char*: prepare these nodes */
#define PMIX_JOB_CTRL_PROVISION_IMAGE    "pmix.jctrl.pvnimg"   /* char*: with this image */
#define PMIX_JOB_CTRL_PREEMPTIBLE        "pmix.jctrl.preempt"  /* bool: the job may be preempted */
#define PMIX_JOB_CTRL_TERMINATE          "pmix.jctrl.term"     /* bool: end politely */
#define PMIX_JOB_CTRL_DEFINE_PSET        "pmix.jctrl.defpset"  /* char*: make the targets a process set of this name */
#define PMIX_REGISTER_CLEANUP            "pmix.reg.cleanup"    /* char*: remove these files at the end, a list */
#define PMIX_REGISTER_CLEANUP_DIR        "pmix.reg.cleanupdir" /* char*: remove these folders at the end, a list */
#define PMIX_CLEANUP_RECURSIVE           "pmix.clnup.recurse"  /* bool: with everything below */
#define PMIX_CLEANUP_EMPTY               "pmix.clnup.empty"    /* bool: only what is empty */
#define PMIX_CLEANUP_IGNORE              "pmix.clnup.ignore"   /* char*: except these, a list */
#define PMIX_CLEANUP_LEAVE_TOPDIR        "pmix.clnup.lvtop"    /* bool: empty the folder and keep it */
#define PMIX_JOB_CTRL_SEP                "pmix.jctrl.sep"      /* bool: the targets live on without the requester */

/* Session control (OpenPMIx 5 and later): directives to PMIx_Session_control. */
#define PMIX_SESSION_CTRL_ID         "pmix.ssnctrl.id"    /* char*: name of the request */
#define PMIX_SESSION_INSTANTIATE     "pmix.ssn.inst"      /* bool: start the session */
#define PMIX_SESSION_RESOURCES       "pmix.ssn.res"       /* array: its resources (infos) */
#define PMIX_SESSION_JOB             "pmix.ssn.job"       /* array: a job to run in it (infos) */
#define PMIX_SESSION_APP             "pmix.ssn.app"       /* array: an application of that job */
#define PMIX_SESSION_PROVISION_NODES "pmix.ssn.pvnnds"    /* char*: prepare these nodes, a list */
#define PMIX_SESSION_PROVISION_IMAGE "pmix.ssn.pvnimg"    /* char*: with this image */
#define PMIX_SESSION_PAUSE           "pmix.ssn.pause"     /* bool: pause it */
#define PMIX_SESSION_RESUME          "pmix.ssn.resume"    /* bool: resume it */
#define PMIX_SESSION_TERMINATE       "pmix.ssn.terminate" /* bool: end it */
#define PMIX_SESSION_PREEMPT         "pmix.ssn.preempt"   /* bool: preempt it */
#define PMIX_SESSION_RESTORE         "pmix.ssn.restore"   /* bool: restore it after that */
#define PMIX_SESSION_SIGNAL          "pmix.ssn.sig"       /* int: send this signal to all its processes */
#define PMIX_SESSION_SEP             "pmix.ssn.sep"       /* bool: it continues without the requester */
#define PMIX_SESSION_EXTEND          "pmix.ssn.xtend"     /* bool: add to it */
#define PMIX_SESSION_COMPLETE        "pmix.ssn.complete"  /* bool: it has ended */

/* Monitoring (chapter 13): what PMIx_Process_monitor watches, how often, and when it raises the event. */
#define PMIX_MONITOR_ID                  "pmix.monitor.id"        /* char*: name of the request */
#define PMIX_MONITOR_PROXY               "pmix.monitor.proxy"     /* pmix_proc_t*: watch in the name of this process */
#define PMIX_MONITOR_CANCEL              "pmix.monitor.cancel"    /* char*: end the request of this name; NULL means
                                                                     all */
#define PMIX_MONITOR_APP_CONTROL         "pmix.monitor.appctrl"   /* bool: the program itself acts on the event */
#define PMIX_MONITOR_HEARTBEAT           "pmix.monitor.mbeat"     /* bool: expect heartbeats */
#define PMIX_SEND_HEARTBEAT              "pmix.monitor.beat"      /* bool: this is a heartbeat */
#define PMIX_MONITOR_HEARTBEAT_TIME      "pmix.monitor.btime"     /* uint32_t: seconds between them */
#define PMIX_MONITOR_HEARTBEAT_DROPS     "pmix.monitor.bdrop"     /* uint32_t: so many may be missed */
#define PMIX_MONITOR_FILE                "pmix.monitor.fmon"      /* char*: watch this file */
#define PMIX_MONITOR_FILE_SIZE           "pmix.monitor.fsize"     /* bool: its size must grow */
#define PMIX_MONITOR_FILE_ACCESS         "pmix.monitor.faccess"   /* char*: it must be read */
#define PMIX_MONITOR_FILE_MODIFY         "pmix.monitor.fmod"      /* char*: it must be written */
#define PMIX_MONITOR_FILE_CHECK_TIME     "pmix.monitor.ftime"     /* uint32_t: seconds between checks */
#define PMIX_MONITOR_FILE_DROPS          "pmix.monitor.fdrop"     /* uint32_t: so many checks may fail */
#define PMIX_MONITOR_RESOURCE_RATE       "pmix.monitor.resrate"   /* uint32_t: seconds between samples */
#define PMIX_MONITOR_TARGET_PROCS        "pmix.monitor.tgtproc"   /* array: sample these (pmix_proc_t) */
#define PMIX_MONITOR_TARGET_PIDS         "pmix.monitor.tgtpid"    /* array: sample these (pmix_node_pid_t) */
#define PMIX_MONITOR_TARGET_NODES        "pmix.monitor.tgtnode"   /* array: sample these (char*) */
#define PMIX_MONITOR_TARGET_NODEIDS      "pmix.monitor.tgtndids"  /* array: sample these (uint32_t) */
#define PMIX_MONITOR_TARGET_DISKS        "pmix.monitor.tgtdks"    /* array: sample these (char*) */
#define PMIX_MONITOR_TARGET_NETS         "pmix.monitor.tgtnets"   /* array: sample these (char*) */
#define PMIX_MONITOR_PROC_RESOURCE_USAGE "pmix.monitor.presuse"   /* array: what to sample of processes */
#define PMIX_MONITOR_NODE_RESOURCE_USAGE "pmix.monitor.ndresuse"  /* array: what to sample of nodes */
#define PMIX_MONITOR_DISK_RESOURCE_USAGE "pmix.monitor.dkresuse"  /* array: what to sample of disks */
#define PMIX_MONITOR_NET_RESOURCE_USAGE  "pmix.monitor.netresuse" /* array: what to sample of networks */
#define PMIX_MONITOR_LOCAL_ONLY          "pmix.monitor.local"     /* bool: only on this node */

/*
 * Samples of processes, disks, networks and nodes (OpenPMIx 6): members of the arrays that monitoring reports. Memory
 * is in megabytes.
 */
#define PMIX_PROC_RESOURCE_USAGE    "pmix.proc.res"      /* array: sample of one process (infos) */
#define PMIX_PROC_OS_STATE          "pmix.proc.osstate"  /* char*: state at the operating system */
#define PMIX_PROC_TIME              "pmix.proc.time"     /* struct timeval: CPU time used */
#define PMIX_PROC_PERCENT_CPU       "pmix.proc.pcpu"     /* float: share of a CPU */
#define PMIX_PROC_PRIORITY          "pmix.proc.pri"      /* int32_t: priority */
#define PMIX_PROC_NUM_THREADS       "pmix.proc.nthr"     /* uint16_t: threads */
#define PMIX_PROC_PSS               "pmix.proc.pss"      /* float: proportional memory */
#define PMIX_PROC_VSIZE             "pmix.proc.vsize"    /* float: virtual memory */
#define PMIX_PROC_RSS               "pmix.proc.rss"      /* float: resident memory */
#define PMIX_PROC_PEAK_VSIZE        "pmix.proc.pkvsize"  /* float: largest virtual memory */
#define PMIX_PROC_CPU               "pmix.proc.cpu"      /* uint16_t: CPU it last ran on */
#define PMIX_PROC_SAMPLE_TIME       "pmix.proc.samptime" /* time_t: when */
#define PMIX_DISK_RESOURCE_USAGE    "pmix.disk.res"      /* array: sample of one disk (infos) */
#define PMIX_DISK_ID                "pmix.disk.id"       /* char*: disk */
#define PMIX_DISK_READ_COMPLETED    "pmix.disk.rdscomp"  /* uint64_t: reads done */
#define PMIX_DISK_READ_MERGED       "pmix.disk.rdsmrgd"  /* uint64_t: reads merged */
#define PMIX_DISK_READ_SECTORS      "pmix.disk.rdsct"    /* uint64_t: sectors read */
#define PMIX_DISK_READ_MILLISEC     "pmix.disk.rdms"     /* uint64_t: milliseconds reading */
#define PMIX_DISK_WRITE_COMPLETED   "pmix.disk.wtscomp"  /* uint64_t: writes done */
#define PMIX_DISK_WRITE_MERGED      "pmix.disk.wtsmrgd"  /* uint64_t: writes merged */
#define PMIX_DISK_WRITE_SECTORS     "pmix.disk.wtsct"    /* uint64_t: sectors written */
#define PMIX_DISK_WRITE_MILLISEC    "pmix.disk.wtms"     /* uint64_t: milliseconds writing */
#define PMIX_DISK_IO_IN_PROGRESS    "pmix.disk.ios"      /* uint64_t: requests under way */
#define PMIX_DISK_IO_MILLISEC       "pmix.disk.ioms"     /* uint64_t: milliseconds busy */
#define PMIX_DISK_IO_WEIGHTED       "pmix.disk.iowght"   /* uint64_t: milliseconds, times requests */
#define PMIX_DISK_SAMPLE_TIME       "pmix.disk.samptime" /* time_t: when */
#define PMIX_NETWORK_RESOURCE_USAGE "pmix.net.res"       /* array: sample of one interface (infos) */
#define PMIX_NETWORK_ID             "pmix.net.id"        /* char*: interface */
#define PMIX_NET_RECVD_BYTES        "pmix.net.rcb"       /* uint64_t: bytes received */
#define PMIX_NET_RECVD_PCKTS        "pmix.net.rcp"       /* uint64_t: packets received */
#define PMIX_NET_RECVD_ERRS         "pmix.net.rcerr"     /* uint64_t: errors receiving */
#define PMIX_NET_SENT_BYTES         "pmix.net.sntb"      /* uint64_t: bytes sent */
#define PMIX_NET_SENT_PCKTS         "pmix.net.sntp"      /* uint64_t: packets sent */
#define PMIX_NET_SENT_ERRS          "pmix.net.snterr"    /* uint64_t: errors sending */
#define PMIX_NET_SAMPLE_TIME        "pmix.net.samptime"  /* time_t: when */
#define PMIX_NODE_RESOURCE_USAGE    "pmix.node.res"      /* array: sample of one node (infos) */
#define PMIX_NODE_LOAD_AVG          "pmix.node.la"       /* float: load over one minute */
#define PMIX_NODE_LOAD_AVG5         "pmix.node.la5"      /* float: over five minutes */
#define PMIX_NODE_LOAD_AVG15        "pmix.node.la15"     /* float: over fifteen minutes */
#define PMIX_NODE_MEM_TOTAL         "pmix.node.mtot"     /* float: memory */
#define PMIX_NODE_MEM_FREE          "pmix.node.mfree"    /* float: free memory */
#define PMIX_NODE_MEM_BUFFERS       "pmix.node.mbuf"     /* float: in buffers */
#define PMIX_NODE_MEM_CACHED        "pmix.node.mcache"   /* float: in the page cache */
#define PMIX_NODE_MEM_SWAP_CACHED   "pmix.node.mswpc"    /* float: cached swap */
#define PMIX_NODE_SWAP_TOTAL        "pmix.node.mswpt"    /* float: swap */
#define PMIX_NODE_MEM_SWAP_FREE     "pmix.node.mswpfree" /* float: free swap */
#define PMIX_NODE_MEM_MAPPED        "pmix.node.mmap"     /* float: mapped memory */
#define PMIX_NODE_SAMPLE_TIME       "pmix.node.samptime" /* time_t: when */

/* Credentials (chapter 16). */
#define PMIX_CRED_TYPE  "pmix.sec.ctype" /* char*: kinds of credential wanted, a list */
#define PMIX_CRYPTO_KEY "pmix.sec.key"   /* pmix_byte_object_t: key of one's own */

/*
 * Forwarded input and output (chapters 12, 18): directives to PMIx_IOF_pull, PMIx_IOF_push, to spawn and to the
 * server's delivery.
 */
#define PMIX_IOF_CACHE_SIZE          "pmix.iof.csize"   /* uint32_t: bytes kept while nobody takes them */
#define PMIX_IOF_DROP_OLDEST         "pmix.iof.old"     /* bool: when they are too many, drop the oldest */
#define PMIX_IOF_DROP_NEWEST         "pmix.iof.new"     /* bool: when they are too many, drop the newest */
#define PMIX_IOF_BUFFERING_SIZE      "pmix.iof.bsize"   /* uint32_t: collect so many bytes before delivery */
#define PMIX_IOF_BUFFERING_TIME      "pmix.iof.btime"   /* uint32_t: deliver after so many seconds at the latest */
#define PMIX_IOF_COMPLETE            "pmix.iof.cmp"     /* bool: this was the last of the stream */
#define PMIX_IOF_PUSH_STDIN          "pmix.iof.stdin"   /* bool: forward this process's own input */
#define PMIX_IOF_TAG_OUTPUT          "pmix.iof.tag"     /* bool: tag lines with job, rank and channel */
#define PMIX_IOF_TAG_DETAILED_OUTPUT "pmix.iof.tagdet"  /* bool: and with node and process id */
#define PMIX_IOF_TAG_FULLNAME_OUTPUT "pmix.iof.tagfull" /* bool: with the namespace in full */
#define PMIX_IOF_RANK_OUTPUT         "pmix.iof.rank"    /* bool: tag lines with the rank */
#define PMIX_IOF_TIMESTAMP_OUTPUT    "pmix.iof.ts"      /* bool: with the time */
#define PMIX_IOF_MERGE_STDERR_STDOUT "pmix.iof.mrg"     /* bool: error output goes with output */
#define PMIX_IOF_XML_OUTPUT          "pmix.iof.xml"     /* bool: as XML */
#define PMIX_IOF_OUTPUT_TO_FILE      "pmix.iof.file"    /* char*: into files of this name, one per rank */
#define PMIX_IOF_FILE_PATTERN        "pmix.iof.fpt"     /* bool: that name is a pattern */
#define PMIX_IOF_OUTPUT_TO_DIRECTORY "pmix.iof.dir"     /* char*: into files below this folder */
#define PMIX_IOF_FILE_ONLY           "pmix.iof.fonly"   /* bool: and nowhere else */
#define PMIX_IOF_COPY                "pmix.iof.cpy"     /* bool: deliver a copy; others get it as well */
#define PMIX_IOF_REDIRECT            "pmix.iof.redir"   /* bool: deliver it here and not where it went */
#define PMIX_IOF_LOCAL_OUTPUT        "pmix.iof.local"   /* bool: write it where the process runs */
#define PMIX_IOF_OUTPUT_RAW          "pmix.iof.raw"     /* bool: as it is, not by lines */
#define PMIX_IOF_INHERIT             "pmix.iof.inhrt"   /* bool: who gets the output of the spawning job gets that
                                                         * of this one too (default: true) */

/* Setup of an application (chapter 17): what PMIx_server_setup_application shall prepare. */
#define PMIX_SETUP_APP_ENVARS    "pmix.setup.env"  /* bool: environment variables */
#define PMIX_SETUP_APP_NONENVARS "pmix.setup.nenv" /* bool: everything else */
#define PMIX_SETUP_APP_ALL       "pmix.setup.all"  /* bool: both */

/* Groups (chapter 14): directives to the group calls and members of their results. */
#define PMIX_GROUP_ID                     "pmix.grp.id"        /* char*: name of the group */
#define PMIX_GROUP_LEADER                 "pmix.grp.ldr"       /* bool: this process leads it */
#define PMIX_GROUP_OPTIONAL               "pmix.grp.opt"       /* bool: no error when one ends without having joined */
#define PMIX_GROUP_NOTIFY_TERMINATION     "pmix.grp.notterm"   /* bool: tell the members when one ends */
#define PMIX_GROUP_FT_COLLECTIVE          "pmix.grp.ftcoll"    /* bool: go on without members that die */
#define PMIX_GROUP_MEMBERSHIP             "pmix.grp.mbrs"      /* array: the members (pmix_proc_t) */
#define PMIX_GROUP_ASSIGN_CONTEXT_ID      "pmix.grp.actxid"    /* bool: let the host assign a number */
#define PMIX_GROUP_CONTEXT_ID             "pmix.grp.ctxid"     /* size_t: that number */
#define PMIX_GROUP_LOCAL_ONLY             "pmix.grp.lcl"       /* bool: all members are on this node */
#define PMIX_GROUP_ENDPT_DATA             "pmix.grp.endpt"     /* pmix_byte_object_t: data to be collected while it
                                                                  forms */
#define PMIX_GROUP_NAMES                  "pmix.pgrp.nm"       /* array: groups a process is a member of (char*) */
#define PMIX_GROUP_INFO                   "pmix.grp.info"      /* array: infos to be shared while it forms */
#define PMIX_GROUP_INFO_ARRAY             "pmix.grp.infoarray" /* array: those of all members */
#define PMIX_GROUP_LOCAL_CID              "pmix.grp.lclid"     /* size_t: this process's own number of the group */
#define PMIX_GROUP_ADD_MEMBERS            "pmix.grp.add"       /* array: members who cannot call themselves
                                                                  (pmix_proc_t) */
#define PMIX_GROUP_BOOTSTRAP              "pmix.grp.btstrp"    /* size_t: number of leaders who start it */
#define PMIX_GROUP_JOB_INFO               "pmix.grp.jinfo"     /* pmix_byte_object_t: job data for members of other
                                                                  jobs */
#define PMIX_GROUP_FINAL_MEMBERSHIP_ORDER "pmix.grp.finord"    /* array: order of the members (pmix_proc_t) */

/* Storage (chapter 19): asked with PMIx_Query_info. */
#define PMIX_QUERY_STORAGE_LIST          "pmix.strg.list"    /* char*: storage systems, a list */
#define PMIX_STORAGE_CAPACITY_LIMIT      "pmix.strg.cap"     /* uint64_t: most bytes */
#define PMIX_STORAGE_OBJECT_LIMIT        "pmix.strg.obj"     /* uint64_t: most objects */
#define PMIX_STORAGE_ID                  "pmix.strg.id"      /* char*: name of the storage system */
#define PMIX_STORAGE_PATH                "pmix.strg.path"    /* char*: where it is mounted */
#define PMIX_STORAGE_TYPE                "pmix.strg.type"    /* char*: kind of it */
#define PMIX_STORAGE_ACCESSIBILITY       "pmix.strg.access"  /* pmix_storage_accessibility_t: from where it can be
                                                                reached */
#define PMIX_STORAGE_ACCESS_TYPE         "pmix.strg.atype"   /* pmix_storage_access_type_t: reading, writing or both */
#define PMIX_STORAGE_BW_CUR              "pmix.strg.bwcur"   /* double: bytes a second now */
#define PMIX_STORAGE_BW_MAX              "pmix.strg.bwmax"   /* double: bytes a second at best */
#define PMIX_STORAGE_CAPACITY_USED       "pmix.strg.capuse"  /* double: bytes used */
#define PMIX_STORAGE_IOPS_CUR            "pmix.strg.iopscur" /* double: operations a second now */
#define PMIX_STORAGE_IOPS_MAX            "pmix.strg.iopsmax" /* double: operations a second at best */
#define PMIX_STORAGE_MEDIUM              "pmix.strg.medium"  /* pmix_storage_medium_t: what it is made of */
#define PMIX_STORAGE_MINIMAL_XFER_SIZE   "pmix.strg.minxfer" /* double: smallest transfer, in bytes */
#define PMIX_STORAGE_OBJECTS_USED        "pmix.strg.objuse"  /* uint64_t: objects used */
#define PMIX_STORAGE_PERSISTENCE         "pmix.strg.persist" /* pmix_storage_persistence_t: how long data stay */
#define PMIX_STORAGE_SUGGESTED_XFER_SIZE "pmix.strg.sxfer"   /* double: best transfer, in bytes */
#define PMIX_STORAGE_VERSION             "pmix.strg.ver"     /* char*: version of the storage system */

/* Fabrics and devices (chapters 12, 15): of a fabric registered, of one device, and of distances to devices. */
#define PMIX_FABRIC_COST_MATRIX        "pmix.fab.cm"          /* pointer: costs between endpoints, a matrix of
                                                                 uint16_t */
#define PMIX_FABRIC_GROUPS             "pmix.fab.grps"        /* char*: nodes of each group, such as 0:a,b;1:c,d */
#define PMIX_FABRIC_VENDOR             "pmix.fab.vndr"        /* char*: vendor */
#define PMIX_FABRIC_IDENTIFIER         "pmix.fab.id"          /* char*: name */
#define PMIX_FABRIC_INDEX              "pmix.fab.idx"         /* size_t: number */
#define PMIX_FABRIC_COORDINATES        "pmix.fab.coord"       /* array: coordinates of devices */
#define PMIX_FABRIC_DEVICE_VENDORID    "pmix.fabdev.vendid"   /* char*: vendor's number of a device */
#define PMIX_FABRIC_NUM_DEVICES        "pmix.fab.nverts"      /* size_t: devices, which is the side of the cost
                                                                 matrix */
#define PMIX_FABRIC_DIMS               "pmix.fab.dims"        /* uint32_t: dimensions */
#define PMIX_FABRIC_PLANE              "pmix.fab.plane"       /* char*: plane */
#define PMIX_FABRIC_SWITCH             "pmix.fab.switch"      /* char*: switch */
#define PMIX_FABRIC_ENDPT              "pmix.fab.endpt"       /* array: endpoints of a process (pmix_endpoint_t) */
#define PMIX_FABRIC_SHAPE              "pmix.fab.shape"       /* array: size of each dimension (uint32_t) */
#define PMIX_FABRIC_SHAPE_STRING       "pmix.fab.shapestr"    /* char*: the same as text, such as 10x12x2 */
#define PMIX_SWITCH_PEERS              "pmix.speers"          /* char*: ranks on the same switch, a list */
#define PMIX_FABRIC_DEVICE             "pmix.fabdev"          /* array: one device (infos) */
#define PMIX_FABRIC_DEVICES            "pmix.fab.devs"        /* array: all devices (infos) */
#define PMIX_FABRIC_DEVICE_NAME        "pmix.fabdev.nm"       /* char*: name at the operating system */
#define PMIX_FABRIC_DEVICE_INDEX       "pmix.fabdev.idx"      /* uint32_t: number */
#define PMIX_FABRIC_DEVICE_VENDOR      "pmix.fabdev.vndr"     /* char*: vendor */
#define PMIX_FABRIC_DEVICE_BUS_TYPE    "pmix.fabdev.btyp"     /* char*: bus */
#define PMIX_FABRIC_DEVICE_DRIVER      "pmix.fabdev.driver"   /* char*: driver */
#define PMIX_FABRIC_DEVICE_FIRMWARE    "pmix.fabdev.fmwr"     /* char*: firmware */
#define PMIX_FABRIC_DEVICE_ADDRESS     "pmix.fabdev.addr"     /* char*: address */
#define PMIX_FABRIC_DEVICE_COORDINATES "pmix.fabdev.coord"     /* pmix_geometry_t: coordinates */
#define PMIX_FABRIC_DEVICE_MTU         "pmix.fabdev.mtu"      /* size_t: bytes in a packet */
#define PMIX_FABRIC_DEVICE_SPEED       "pmix.fabdev.speed"    /* size_t: bits a second */
#define PMIX_FABRIC_DEVICE_STATE       "pmix.fabdev.state"    /* pmix_link_state_t: state of the link */
#define PMIX_FABRIC_DEVICE_TYPE        "pmix.fabdev.type"     /* char*: kind of interface */
#define PMIX_FABRIC_DEVICE_PCI_DEVID   "pmix.fabdev.pcidevid" /* char*: number on the PCI bus */
#define PMIX_DEVICE_DISTANCES          "pmix.dev.dist"        /* array: distances of a process to devices
                                                                 (pmix_device_distance_t) */
#define PMIX_DEVICE_DIST_ORIGIN        "pmix.dev.dist.origin" /* char*: measure from this device (uuid, name of the
                                                               * operating system, PCI id), not from a process */
#define PMIX_DEVICE_TYPE               "pmix.dev.type"        /* pmix_device_type_t: kinds of device wanted */
#define PMIX_DEVICE_ID                 "pmix.dev.id"          /* char*: name of a device */

/* Descriptions of attributes (chapter 17): used in the text that a host registers for an attribute. */
#define PMIX_MAX_VALUE  "pmix.descr.maxval" /* largest value */
#define PMIX_MIN_VALUE  "pmix.descr.minval" /* smallest value */
#define PMIX_ENUM_VALUE "pmix.descr.enum"   /* char*: possible values, a list */

/* Versions of the binary interface (chapter 7): may be asked before PMIx_Init. */
#define PMIX_QUERY_STABLE_ABI_VERSION      "pmix.qry.stabiver" /* char*: of the stable part */
#define PMIX_QUERY_PROVISIONAL_ABI_VERSION "pmix.qry.prabiver" /* char*: of the provisional part */
#define PMIX_VERSION_NUMERIC               "pmix.vers.num"     /* uint32_t: number of the library's version */

/* Names of 5.0 that 6.1 dropped. */
#define PMIX_SESSION_PROVISION "pmix.ssn.pvn" /* array: prepare nodes for the session (infos) */

/* clang-format on */

/* ==================================================================================================================
 * Structures (chapter 3)
 *
 * Layouts are fixed by what has been released: no member may move, none may be added.
 * ================================================================================================================== */

/* Bytes of any content. */
typedef struct pmix_byte_object {
    char *bytes;
    size_t size;
} pmix_byte_object_t;

/* A change to an environment variable. */
typedef struct {
    char *envar;    /* name of the variable */
    char *value;    /* text to set, to prepend or to append */
    char separator; /* between it and what is there */
} pmix_envar_t;

/*
 * A buffer to pack values into and to unpack them from. The members are the library's, except that base_ptr is malloc
 * memory.
 */
typedef struct pmix_data_buffer {
    char *base_ptr;
    char *pack_ptr;
    char *unpack_ptr;
    size_t bytes_allocated;
    size_t bytes_used;
} pmix_data_buffer_t;

/* The name of a process. */
typedef struct pmix_proc {
    pmix_nspace_t nspace;
    pmix_rank_t rank;
} pmix_proc_t;

/* What a query tells about a process. */
typedef struct pmix_proc_info {
    pmix_proc_t proc;
    char *hostname;
    char *executable_name;
    pid_t pid;
    int exit_code; /* valid when it has ended */
    pmix_proc_state_t state;
} pmix_proc_info_t;

/* An array of values of one type: size elements at array, which is one malloc block. */
typedef struct pmix_data_array {
    pmix_data_type_t type;
    size_t size;
    void *array;
} pmix_data_array_t;

/* Place of a device in a fabric: dims numbers at coord. */
typedef struct pmix_coord {
    pmix_coord_view_t view;
    uint32_t *coord; /* one number for each dimension */
    size_t dims;
} pmix_coord_t;

/* A set of CPUs in the form of the library named by source, such as "hwloc". */
typedef struct {
    char *source;
    void *bitmap;
} pmix_cpuset_t;

/* A hardware topology in the form of the library named by source, such as "hwloc". */
typedef struct {
    char *source;
    void *topology;
} pmix_topology_t;

/* Coordinates of one device, in each view there is. */
typedef struct pmix_geometry {
    size_t fabric; /* number of the fabric */
    char *uuid;
    char *osname;
    pmix_coord_t *coordinates;
    size_t ncoords;
} pmix_geometry_t;

/* A device. */
typedef struct pmix_device {
    char *uuid;
    char *osname;
    pmix_device_type_t type;
} pmix_device_t;

/* Distance between a process and a device; UINT16_MAX: not known. */
typedef struct pmix_device_distance {
    char *uuid;
    char *osname;
    pmix_device_type_t type;
    uint16_t mindist; /* from the nearest CPU of the process */
    uint16_t maxdist; /* from the farthest */
} pmix_device_distance_t;

/* So many of one kind of resource. */
typedef struct pmix_resource_unit {
    pmix_device_type_t type;
    size_t count;
} pmix_resource_unit_t;

/* A process by its number at the operating system. */
typedef struct pmix_node_pid {
    char *hostname;
    uint32_t nodeid;
    pid_t pid;
} pmix_node_pid_t;

/* A list in a short form: the form's name and its bytes (OpenPMIx 7). See PMIx_generate_regex2. */
typedef struct pmix_regex2 {
    char *type;
    uint8_t *bytes;
    size_t len;
} pmix_regex2_t;

/* Where a device is reached on a fabric. */
typedef struct pmix_endpoint {
    char *uuid;
    char *osname;
    pmix_byte_object_t endpt;
} pmix_endpoint_t;

/* Sample of a process (until OpenPMIx 5). Memory in megabytes. */
typedef struct pmix_proc_stats {
    char *node;
    pmix_proc_t proc;
    pid_t pid;
    char *cmd;
    char state; /* letter of the operating system */
    struct timeval time;
    float percent_cpu;
    int32_t priority;
    uint16_t num_threads;
    float pss; /* proportional */
    float vsize;
    float rss;
    float peak_vsize;
    uint16_t processor;
    struct timeval sample_time;
} pmix_proc_stats_t;

/* Sample of a disk (until OpenPMIx 5). */
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

/* Sample of a network interface (until OpenPMIx 5). */
typedef struct {
    char *net_interface;
    uint64_t num_bytes_recvd;
    uint64_t num_packets_recvd;
    uint64_t num_recv_errs;
    uint64_t num_bytes_sent;
    uint64_t num_packets_sent;
    uint64_t num_send_errs;
} pmix_net_stats_t;

/* Sample of a node (until OpenPMIx 5). Memory in megabytes. */
typedef struct {
    char *node;
    float la;   /* load over one minute */
    float la5;  /* over five */
    float la15; /* over fifteen */
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

/*
 * A value: its type says which member of data holds it. Pointers are owned by the value and are malloc memory, one
 * block each; PMIX_VALUE_DESTRUCT frees them. PMIX_POINTER is never freed.
 */
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
        pmix_alloc_inheritance_t inheritance;
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
        pmix_regex2_t *regex2;
        pmix_proc_stats_t *pstats;
        pmix_disk_stats_t *dkstats;
        pmix_net_stats_t *netstats;
        pmix_node_stats_t *ndstats;
    } data;
} pmix_value_t;

/* A key with its value: data, a directive, or a result. */
typedef struct pmix_info {
    pmix_key_t key;
    pmix_info_directives_t flags; /* PMIX_INFO_* */
    pmix_value_t value;
} pmix_info_t;

/* Published data: key, value, and its publisher. */
typedef struct pmix_pdata {
    pmix_proc_t proc;
    pmix_key_t key;
    pmix_value_t value;
} pmix_pdata_t;

/* One application of a job to be spawned: maxprocs processes of cmd. */
typedef struct pmix_app {
    char *cmd;    /* program */
    char **argv;  /* arguments, the program's name first; ends with NULL. Where the first one is another name than cmd's
                     (without folders), or none is there, PMIx_Spawn puts cmd's in front, but not with PMIX_INDEX_ARGV */
    char **env;   /* environment, ends with NULL */
    char *cwd;    /* working folder; NULL: the caller's */
    int maxprocs; /* processes */
    pmix_info_t *info;
    size_t ninfo;
} pmix_app_t;

/* Keys to be asked, a NULL-terminated array, under the same qualifiers. */
typedef struct pmix_query {
    char **keys;
    pmix_info_t *qualifiers;
    size_t nqual;
} pmix_query_t;

/* Description of an attribute that a function supports. */
typedef struct pmix_regattr_t {
    char *name;        /* such as "PMIX_TIMEOUT" */
    pmix_key_t string; /* such as "pmix.timeout" */
    pmix_data_type_t type;
    char **description; /* lines of text, ends with NULL */
} pmix_regattr_t;

/* A fabric that was registered. The library fills and frees all but name. */
typedef struct pmix_fabric_s {
    char *name;        /* fabric wanted; NULL: any */
    size_t index;      /* its number; 0 and SIZE_MAX: not registered */
    pmix_info_t *info; /* its description */
    size_t ninfo;
    void *module; /* the library's own */
} pmix_fabric_t;

/* Initialisers, for objects that a program declares itself. */
#define PMIX_COORD_STATIC_INIT \
    { PMIX_COORD_VIEW_UNDEF, NULL, 0 }
#define PMIX_CPUSET_STATIC_INIT \
    { NULL, NULL }
#define PMIX_TOPOLOGY_STATIC_INIT \
    { NULL, NULL }
#define PMIX_GEOMETRY_STATIC_INIT \
    { 0, NULL, NULL, NULL, 0 }
#define PMIX_DEVICE_STATIC_INIT \
    { NULL, NULL, PMIX_DEVTYPE_UNKNOWN }
#define PMIX_RESOURCE_UNIT_STATIC_INIT \
    { PMIX_DEVTYPE_UNKNOWN, 0 }
#define PMIX_DEVICE_DIST_STATIC_INIT \
    { NULL, NULL, PMIX_DEVTYPE_UNKNOWN, UINT16_MAX, UINT16_MAX }
#define PMIX_NODE_PID_STATIC_INIT \
    { NULL, UINT32_MAX, 0 }
#define PMIX_REGEX2_STATIC_INIT \
    { NULL, NULL, 0 }
#define PMIX_BYTE_OBJECT_STATIC_INIT \
    { NULL, 0 }
#define PMIX_ENDPOINT_STATIC_INIT \
    { NULL, NULL, PMIX_BYTE_OBJECT_STATIC_INIT }
#define PMIX_ENVAR_STATIC_INIT \
    { NULL, NULL, '\0' }
#define PMIX_DATA_BUFFER_STATIC_INIT \
    { NULL, NULL, NULL, 0, 0 }
#define PMIX_PROC_STATIC_INIT \
    { {0}, PMIX_RANK_UNDEF }
#define PMIX_PROC_INFO_STATIC_INIT \
    { PMIX_PROC_STATIC_INIT, NULL, NULL, 0, 0, PMIX_PROC_STATE_UNDEF }
#define PMIX_DATA_ARRAY_STATIC_INIT \
    { PMIX_UNDEF, 0, NULL }
#define PMIX_INFO_STATIC_INIT \
    { {0}, 0, PMIX_VALUE_STATIC_INIT }
#define PMIX_LOOKUP_STATIC_INIT \
    { PMIX_PROC_STATIC_INIT, {0}, PMIX_VALUE_STATIC_INIT }
#define PMIX_APP_STATIC_INIT \
    { NULL, NULL, NULL, NULL, 0, NULL, 0 }
#define PMIX_QUERY_STATIC_INIT \
    { NULL, NULL, 0 }
#define PMIX_REGATTR_STATIC_INIT \
    { NULL, {0}, PMIX_UNDEF, NULL }
#define PMIX_FABRIC_STATIC_INIT \
    { NULL, SIZE_MAX, NULL, 0, NULL }
#define PMIX_PROC_STATS_STATIC_INIT \
    { \
        NULL, PMIX_PROC_STATIC_INIT, 0, NULL, '\0', {0, 0}, 0.0f, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f, 0, { \
            0, 0 \
        } \
    }
#define PMIX_DISK_STATS_STATIC_INIT \
    { NULL, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
#define PMIX_NET_STATS_STATIC_INIT \
    { NULL, 0, 0, 0, 0, 0, 0 }
#define PMIX_NODE_STATS_STATIC_INIT \
    { NULL, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f, {0, 0}, NULL, 0, NULL, 0 }

/* C sets the union's pointer; C++ before C++20 can only name the first member, whose initialiser zeroes the rest. */
#ifdef __cplusplus
#    define PMIX_VALUE_STATIC_INIT \
        { \
            PMIX_UNDEF, { \
                false \
            } \
        }
#else
#    define PMIX_VALUE_STATIC_INIT \
        { \
            PMIX_UNDEF, { \
                .ptr = NULL \
            } \
        }
#endif

/* ==================================================================================================================
 * Callbacks (chapter 3 and those of the calls)
 *
 * What every callback gets as cbdata is what the call was given, unchanged.
 * ================================================================================================================== */

/* Called by the borrower of data, when done with them; their owner frees them then. */
typedef void (*pmix_release_cbfunc_t)(void *cbdata);

/*
 * Host to library: the result of a fence or a direct modex. @p data stay the host's; the library calls @p release_fn
 * when it has taken them over, which may be after this call has returned.
 */
typedef void (*pmix_modex_cbfunc_t)(pmix_status_t status, const char *data, size_t ndata, void *cbdata,
                                    pmix_release_cbfunc_t release_fn, void *release_cbdata);

/* The new job's name, or why there is none. @p nspace is gone when the callback returns. */
typedef void (*pmix_spawn_cbfunc_t)(pmix_status_t status, pmix_nspace_t nspace, void *cbdata);

/* An operation has ended with @p status. */
typedef void (*pmix_op_cbfunc_t)(pmix_status_t status, void *cbdata);

/* What was found. @p data are the caller's of this callback, gone when it returns. */
typedef void (*pmix_lookup_cbfunc_t)(pmix_status_t status, pmix_pdata_t data[], size_t ndata, void *cbdata);

/*
 * An event handler's answer: it has done @p status and has @p results for the handlers after it. Must be called once
 * for each call of a handler, then or later, from any thread. The library calls @p cbfunc with @p thiscbdata when it
 * has copied @p results.
 */
typedef void (*pmix_event_notification_cbfunc_fn_t)(pmix_status_t status, pmix_info_t *results, size_t nresults,
                                                    pmix_op_cbfunc_t cbfunc, void *thiscbdata,
                                                    void *notification_cbdata);

/*
 * An event handler. @p source, @p info and @p results, which holds what the handlers before it have left, are the
 * library's, and stay until the handler has called @p cbfunc with @p cbdata. Until then no further handler is called
 * for this event.
 */
typedef void (*pmix_notification_fn_t)(size_t evhdlr_registration_id, pmix_status_t status, const pmix_proc_t *source,
                                       pmix_info_t info[], size_t ninfo, pmix_info_t *results, size_t nresults,
                                       pmix_event_notification_cbfunc_fn_t cbfunc, void *cbdata);

/* A handler was registered; @p refid is its reference number. */
typedef void (*pmix_hdlr_reg_cbfunc_t)(pmix_status_t status, size_t refid, void *cbdata);

/* Older name of pmix_hdlr_reg_cbfunc_t. */
typedef void (*pmix_evhdlr_reg_cbfunc_t)(pmix_status_t status, size_t refid, void *cbdata);

/* A value, or NULL unless @p status is PMIX_SUCCESS. It is the library's, gone when the callback returns. */
typedef void (*pmix_value_cbfunc_t)(pmix_status_t status, pmix_value_t *kv, void *cbdata);

/*
 * Results. The receiver calls @p release_fn with @p release_cbdata when done with them, then or later; it may be NULL.
 * Used in both directions: by the library towards programs, and by a host that answers an upcall.
 */
typedef void (*pmix_info_cbfunc_t)(pmix_status_t status, pmix_info_t *info, size_t ninfo, void *cbdata,
                                   pmix_release_cbfunc_t release_fn, void *release_cbdata);

/* A credential and infos about it, gone when the callback returns. */
typedef void (*pmix_credential_cbfunc_t)(pmix_status_t status, pmix_byte_object_t *credential, pmix_info_t info[],
                                         size_t ninfo, void *cbdata);

/* What a credential proves; the infos are gone when the callback returns. */
typedef void (*pmix_validation_cbfunc_t)(pmix_status_t status, pmix_info_t info[], size_t ninfo, void *cbdata);

/* Distances. The receiver calls @p release_fn with @p release_cbdata when done with them. */
typedef void (*pmix_device_dist_cbfunc_t)(pmix_status_t status, pmix_device_distance_t *dist, size_t ndist,
                                          void *cbdata, pmix_release_cbfunc_t release_fn, void *release_cbdata);
/*
 * Registration of event handlers, beside the attributes above. The first two limit a handler; the others are another
 * way to name its events and its place.
 */
#define PMIX_EVENT_JOB_LEVEL     "pmix.evjob"       /* bool: only events about processes and jobs */
#define PMIX_EVENT_ENVIRO_LEVEL  "pmix.evenv"       /* bool: only events of the environment */
#define PMIX_EVENT_NAME          "wireup.evcode"    /* pmix_status_t: an event to handle; may be given several times */
#define PMIX_EVENT_ORDER_PREPEND "wireup.evprepend" /* bool: before the handlers of its category registered so far */

/*
 * Groups of events. A handler for a group comes after those for a single code and before default handlers. The first
 * one names a group by text, which is the last part of the others' strings; those are flags. What belongs to a group:
 *
 *   comm     PMIX_ERR_COMM_FAILURE, PMIX_ERR_LOST_CONNECTION, PMIX_ERR_UNREACH, the three older codes of a lost link
 *   migrate  PMIX_ERR_PROC_MIGRATE, PMIX_ERR_PROC_RESTART, PMIX_ERR_PROC_CHECKPOINT, PMIX_JCTRL_CHECKPOINT,
 *            PMIX_JCTRL_CHECKPOINT_COMPLETE, PMIX_JCTRL_PREEMPT_ALERT
 *   proc     PMIX_PROC_TERMINATED, PMIX_EVENT_PROC_TERMINATED, PMIX_ERR_EXIT_NONZERO_TERM, and PMIX_ERR_PROC_* except
 *            those of migrate
 *   job      PMIX_EVENT_JOB_START, PMIX_EVENT_JOB_END, PMIX_LAUNCH_COMPLETE and PMIX_ERR_JOB_*
 *   node     the codes for which PMIX_SYSTEM_EVENT() is true
 */
#define PMIX_EVENT_GROUP_NAME    "wireup.evgrp"         /* char*: name of a group; may be given several times */
#define PMIX_EVENT_GROUP_COMM    "wireup.evgrp.comm"    /* bool: communication */
#define PMIX_EVENT_GROUP_MIGRATE "wireup.evgrp.migrate" /* bool: processes that move, stop or start again */
#define PMIX_EVENT_GROUP_PROC    "wireup.evgrp.proc"    /* bool: the end of processes */
#define PMIX_EVENT_GROUP_JOB     "wireup.evgrp.job"     /* bool: jobs */
#define PMIX_EVENT_GROUP_NODE    "wireup.evgrp.node"    /* bool: nodes and hardware */

/* Initialisation of a server. */
#define PMIX_SERVER_CACHE_SIZE  "PMIx_server_cache_size" /* size_t: events kept for handlers registered later */
#define PMIX_SERVER_MODULE_SIZE "wireup.srv.modsz"       /* size_t: bytes of the module handed in; see pmix_server.h */

/* Initialisation of a server. A tool that names this process (PMIX_SERVER_PIDINFO) means the server: the launcher that users
 * see, where its daemons have the servers. */
#define WIREUP_LAUNCHER_PID "wireup.srv.launcher" /* pid_t */

/* Any initialisation. */
#define PMIX_WIREUP_LOG "wireup.log" /* char*: what to log and where, as WIREUP_LOG in the environment */

/* Any initialisation, or PMIX_WIREUP_STRICT=1 in the environment: operations do what the Standard says, also where MPI
 * libraries and resource managers need another default. A server in strict mode passes it on to the processes that it
 * starts. */
#define PMIX_WIREUP_STRICT "wireup.strict" /* bool */

/* Initialisation of a server; WIREUP_SOCKET_FILE in its environment does the same. A name in the kernel cannot be reached from
 * another network namespace: with this the server listens at a socket file too, of mode 0600, in the directory that
 * PMIX_SERVER_TMPDIR names. It is removed at finalize; one that a killed server left is replaced by the next of its name. */
#define PMIX_WIREUP_SOCKET_FILE "wireup.sock" /* bool */

/* Initialisation of a server; WIREUP_UNMAPPED_USERS=0 in its environment forbids it as well. A process whose user the
 * server's user namespace does not map may connect as a rank if it shows the rank's token. False: only users that the
 * kernel can name. */
#define PMIX_WIREUP_UNMAPPED_USERS "wireup.unmapped" /* bool, default true */

/* Initialisation of a server; WIREUP_OPENPMIX=1 or 0 in its environment does the same. Processes with OpenPMIx's
 * library are served too: the server listens at a port of 127.0.0.1 and speaks their protocol. A process is let in as a
 * rank if the kernel reports the user that the host registered for it. False: no TCP socket is made. */
#define PMIX_WIREUP_OPENPMIX "wireup.openpmix" /* bool, default true */

/* Initialisation of a server; WIREUP_USER_MEMORY in its environment does the same. Memory that the processes of one
 * user may make the server hold beyond the data of their jobs: requests that wait, unfinished messages, registrations.
 * Beyond it their requests are answered PMIX_ERR_OUT_OF_RESOURCE. Default: 1 GiB, or a sixteenth of the machine's
 * memory where that is more. */
#define PMIX_WIREUP_USER_MEMORY "wireup.usermem" /* size_t: bytes */

/* A log. PMIX_LOG_MSG among the data of PMIx_Log is then a line for that file, written with the rights of the caller. */
#define PMIX_LOG_FILE "wireup.logfile" /* char*: file, with its full path */

/* Initialisation of a tool. */
#define WIREUP_OBSERVER \
    "wireup.tool.observe" /* bool: only to ask how things stand in the server's library: its host is
                                                 not told, and need not serve tools. Of the server's user or root only */

/*
 * How things stand in a server: the answer to the query WIREUP_QUERY_REPORT, for its own user and root. It is an array of
 * infos: where the server is (PMIX_SERVER_NSPACE, PMIX_SERVER_RANK, PMIX_HOSTNAME, PMIX_SERVER_PIDINFO), and one of the
 * next three arrays of infos for each job (PMIX_NSPACE, PMIX_JOB_SIZE, PMIX_LOCAL_SIZE, the store and the processes),
 * each operation that gathers processes, and each request that waits, for data or for the host.
 */
#define WIREUP_QUERY_REPORT       "wireup.report"
#define WIREUP_REPORT_JOB         "wireup.rep.job"
#define WIREUP_REPORT_COLLECTIVE  "wireup.rep.coll"
#define WIREUP_REPORT_REQUEST     "wireup.rep.req"
#define WIREUP_REPORT_PROC        "wireup.rep.proc" /* infos: PMIX_RANK, _PROC_STATE_STATUS, _PROC_PID (or 0), the next two */
#define WIREUP_REPORT_LOST_EVENTS "wireup.rep.lostev" /* uint64_t: events dropped because their process did not read */
#define WIREUP_REPORT_CLONES      "wireup.rep.clones" /* uint32_t: processes connected under one rank */
#define WIREUP_REPORT_STORE       "wireup.rep.store" /* uint64_t: bytes of shared memory that a job's data takes here */
#define WIREUP_REPORT_OPERATION   "wireup.rep.op"    /* char*: fence, connect, disconnect, group, get, lookup, ... */
#define WIREUP_REPORT_MEMBERS     "wireup.rep.members" /* pmix_proc_t[]: participants */
#define WIREUP_REPORT_ARRIVED     "wireup.rep.arrived" /* pmix_proc_t[]: those of this node that are waiting in it */
#define WIREUP_REPORT_MISSING     "wireup.rep.missing" /* pmix_proc_t[]: those of this node that have not joined */
#define WIREUP_REPORT_WAITS_FOR   "wireup.rep.for"     /* char*: process, or host (other nodes with it) */
#define WIREUP_REPORT_ASKER       "wireup.rep.asker"   /* pmix_proc_t: requester; a server where its host asked */
#define WIREUP_REPORT_TARGET      "wireup.rep.target"  /* pmix_proc_t: whose data it is, if for data */
#define WIREUP_REPORT_KEY         "wireup.rep.key"     /* char*: which; empty for all */
#define WIREUP_REPORT_AGE         "wireup.rep.age"     /* double: seconds since it began */

/* Status codes. The last two are other names of released codes. */
#define PMIX_ERR_GET_MALLOC_REQD        (-2800)                  /* of old releases; no function returns it */
#define PMIX_ERR_LOST_SERVER_CONNECTION PMIX_ERR_LOST_CONNECTION /* the connection to the local server is lost */
#define PMIX_ERR_FAILED_COMM            PMIX_ERR_COMM_FAILURE    /* a message could not be packed or unpacked */

#ifdef __cplusplus
}
#endif

#include <pmix_deprecated.h>

/*
 * What a server has done since its start: the answer to the query WIREUP_QUERY_COUNTERS, for its own user and root. It is
 * an array of infos: where the server is, as in its report, and these. Numbers are uint64_t; where several belong together
 * they are an array of infos whose keys tell them apart.
 */
#define WIREUP_QUERY_COUNTERS   "wireup.counters"
#define WIREUP_COUNTER_REQUESTS "wireup.cnt.req"     /* infos: requests received, by kind (fence, get, ..., unknown) */
#define WIREUP_COUNTER_REFUSED  "wireup.cnt.refused" /* infos: refused, by what it was: request, connection, commit */
#define WIREUP_COUNTER_UPCALLS  "wireup.cnt.upcalls" /* calls of the host's entries */
#define WIREUP_COUNTER_OPEN     "wireup.cnt.open"    /* those that the host has not answered yet */
#define WIREUP_COUNTER_HELD     "wireup.cnt.held"    /* infos: bytes held for the processes of a user, by its number */
#define WIREUP_COUNTER_PEERS    "wireup.cnt.peers"   /* infos: connections now, by kind: client, tool, observer */
#define WIREUP_COUNTER_STALL    "wireup.cnt.stall"   /* longest pass of the event loop, in microseconds */
#define WIREUP_COUNTER_SLOW     "wireup.cnt.slow"    /* passes of the event loop of 50 ms and more */

/*
 * The reports of all servers of a job's resource manager, which alone can ask them: an array of infos, each with the key
 * WIREUP_QUERY_REPORT and the report of one server. Of a server that does not answer its place has PMIX_HOSTNAME and
 * WIREUP_REPORT_PROBLEM only.
 */
#define WIREUP_QUERY_REPORTS  "wireup.reports"
#define WIREUP_REPORT_PROBLEM "wireup.rep.problem" /* char*: why a server has no report */

#endif /* PMIX_COMMON_H */
