/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions for values and other objects, their macros, and names that are no longer used.
 *
 * The name of this file is history: the functions and macros that it declares are in full use, and pmix_common.h
 * includes it. Sections: older names; names of processes and keys; arrays of strings; values; infos; lists of infos;
 * arrays of values and packed buffers; objects; inline helpers.
 *
 * No function here needs a server or an init. Two threads must not use one object at once; on different objects any
 * thread may call any of them. Memory is of malloc, one block for each array, string or object. Where there is no
 * memory, what makes something returns NULL, what returns a status says PMIX_ERR_NOMEM, and the others leave the
 * object cleared.
 *
 * The macros are what programs are written with; each stands for one call. Those that free set the variable to NULL.
 */
#ifndef PMIX_DEPRECATED_H
#define PMIX_DEPRECATED_H

#include <pmix_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ==================================================================================================================
 * Older names
 *
 * For programs that still use them. New ones take the names in pmix_common.h.
 * ================================================================================================================== */

/* Status codes. */
#define PMIX_ERR_SILENT                    (-2)
#define PMIX_ERR_DEBUGGER_RELEASE          (-3)
#define PMIX_ERR_PROC_ABORTED              (-7)
#define PMIX_ERR_PROC_ABORTING             (-9)
#define PMIX_ERR_SERVER_FAILED_REQUEST     (-10)
#define PMIX_EXISTS                        (-11)
#define PMIX_ERR_HANDSHAKE_FAILED          (-13)
#define PMIX_ERR_READY_FOR_HANDSHAKE       (-14)
#define PMIX_ERR_PROC_ENTRY_NOT_FOUND      (-17)
#define PMIX_ERR_PACK_MISMATCH             (-22)
#define PMIX_ERR_IN_ERRNO                  (-26)
#define PMIX_ERR_DATA_VALUE_NOT_FOUND      (-30)
#define PMIX_ERR_INVALID_ARG               (-33)
#define PMIX_ERR_INVALID_KEY               (-34)
#define PMIX_ERR_INVALID_KEY_LENGTH        (-35)
#define PMIX_ERR_INVALID_VAL               (-36)
#define PMIX_ERR_INVALID_VAL_LENGTH        (-37)
#define PMIX_ERR_INVALID_LENGTH            (-38)
#define PMIX_ERR_INVALID_NUM_ARGS          (-39)
#define PMIX_ERR_INVALID_ARGS              (-40)
#define PMIX_ERR_INVALID_NUM_PARSED        (-41)
#define PMIX_ERR_INVALID_KEYVALP           (-42)
#define PMIX_ERR_INVALID_SIZE              (-43)
#define PMIX_ERR_INVALID_NAMESPACE         (-44)
#define PMIX_ERR_SERVER_NOT_AVAIL          (-45)
#define PMIX_ERR_NOT_IMPLEMENTED           (-48)
#define PMIX_DEBUG_WAITING_FOR_NOTIFY      (-58)
#define PMIX_ERR_FATAL                     (-63)
#define PMIX_ERR_VALUE_OUT_OF_BOUNDS       (-65)
#define PMIX_ERR_FILE_OPEN_FAILURE         (-67)
#define PMIX_ERR_FILE_READ_FAILURE         (-68)
#define PMIX_ERR_FILE_WRITE_FAILURE        (-69)
#define PMIX_ERR_SYS_LIMITS_PIPES          (-70)
#define PMIX_ERR_SYS_LIMITS_CHILDREN       (-71)
#define PMIX_ERR_PIPE_SETUP_FAILURE        (-72)
#define PMIX_ERR_EXE_NOT_ACCESSIBLE        (-73)
#define PMIX_ERR_JOB_WDIR_NOT_ACCESSIBLE   (-74)
#define PMIX_ERR_SYS_LIMITS_FILES          (-75)
#define PMIX_ERR_LOST_CONNECTION_TO_SERVER (-101)
#define PMIX_ERR_LOST_PEER_CONNECTION      (-102)
#define PMIX_ERR_LOST_CONNECTION_TO_CLIENT (-103)
#define PMIX_NOTIFY_ALLOC_COMPLETE         (-105)
#define PMIX_ERR_INVALID_TERMINATION       (-112)
#define PMIX_ERR_JOB_TERMINATED            (-145)
#define PMIX_ERR_UPDATE_ENDPOINTS          (-146)
#define PMIX_GDS_ACTION_COMPLETE           (-148)
#define PMIX_PROC_HAS_CONNECTED            (-149)
#define PMIX_CONNECT_REQUESTED             (-150)
#define PMIX_ERR_SYS_BASE                  (-230)
#define PMIX_ERR_NODE_DOWN                 (-231)
#define PMIX_ERR_NODE_OFFLINE              (-232)
#define PMIX_ERR_SYS_OTHER                 (-330)

/* A job state and a data type. */
#define PMIX_BUFFER            26 /* of other implementations */
#define PMIX_JOB_STATE_PREPPED 1

/* Attributes. */
/* clang-format off */
#define PMIX_EVENT_BASE                "pmix.evbase"          /* struct event_base *: the caller's event base */
#define PMIX_TOPOLOGY                  "pmix.topo"            /* hwloc_topology_t: see PMIX_TOPOLOGY2 */
#define PMIX_DEBUG_JOB                 "pmix.dbg.job"         /* char*: job to be debugged; see PMIX_DEBUG_TARGET */
#define PMIX_RECONNECT_SERVER          "pmix.cnct.recon"      /* bool: connect to another server; see
                                                                 PMIx_tool_attach_to_server */
#define PMIX_USOCK_DISABLE             "pmix.usock.disable"   /* bool: no Unix sockets */
#define PMIX_SOCKET_MODE               "pmix.sockmode"        /* uint32_t: permissions of the socket */
#define PMIX_SINGLE_LISTENER           "pmix.sing.listnr"     /* bool: one listening socket only */
#define PMIX_ALLOC_NETWORK             "pmix.alloc.net"       /* array: see PMIX_ALLOC_FABRIC */
#define PMIX_ALLOC_NETWORK_ID          "pmix.alloc.netid"     /* char*: see PMIX_ALLOC_FABRIC_ID */
#define PMIX_ALLOC_NETWORK_QOS         "pmix.alloc.netqos"    /* char*: see PMIX_ALLOC_FABRIC_QOS */
#define PMIX_ALLOC_NETWORK_TYPE        "pmix.alloc.nettype"   /* char*: see PMIX_ALLOC_FABRIC_TYPE */
#define PMIX_ALLOC_NETWORK_PLANE       "pmix.alloc.netplane"  /* char*: see PMIX_ALLOC_FABRIC_PLANE */
#define PMIX_ALLOC_NETWORK_ENDPTS      "pmix.alloc.endpts"    /* size_t: see PMIX_ALLOC_FABRIC_ENDPTS */
#define PMIX_ALLOC_NETWORK_ENDPTS_NODE "pmix.alloc.endpts.nd" /* size_t: see PMIX_ALLOC_FABRIC_ENDPTS_NODE */
#define PMIX_ALLOC_NETWORK_SEC_KEY     "pmix.alloc.nsec"      /* pmix_byte_object_t: see PMIX_ALLOC_FABRIC_SEC_KEY */
#define PMIX_PROC_DATA                 "pmix.pdata"           /* array: see PMIX_PROC_INFO_ARRAY */
#define PMIX_LOCALITY                  "pmix.loc"             /* uint16_t: see PMIx_Get_relative_locality */
#define PMIX_LOCAL_TOPO                "pmix.ltopo"           /* char*: topology as XML */
#define PMIX_TOPOLOGY_XML              "pmix.topo.xml"        /* char*: topology as XML */
#define PMIX_TOPOLOGY_FILE             "pmix.topo.file"       /* char*: file with the topology as XML */
#define PMIX_TOPOLOGY_SIGNATURE        "pmix.toposig"         /* char*: signature of the topology */
#define PMIX_HWLOC_SHMEM_ADDR          "pmix.hwlocaddr"       /* size_t: shared topology: address */
#define PMIX_HWLOC_SHMEM_SIZE          "pmix.hwlocsize"       /* size_t: shared topology: size */
#define PMIX_HWLOC_SHMEM_FILE          "pmix.hwlocfile"       /* char*: shared topology: file */
#define PMIX_HWLOC_XML_V1              "pmix.hwlocxml1"       /* char*: topology as XML, version 1 */
#define PMIX_HWLOC_XML_V2              "pmix.hwlocxml2"       /* char*: topology as XML, version 2 */
#define PMIX_HWLOC_SHARE_TOPO          "pmix.hwlocsh"         /* bool: share the topology */
#define PMIX_HWLOC_HOLE_KIND           "pmix.hwlocholek"      /* char*: where to map it */
#define PMIX_DSTPATH                   "pmix.dstpath"         /* char*: path of a data store */
#define PMIX_COLLECTIVE_ALGO           "pmix.calgo"           /* char*: algorithms for a collective, a list */
#define PMIX_COLLECTIVE_ALGO_REQD      "pmix.calreqd"         /* bool: no other will do */
#define PMIX_PROC_BLOB                 "pmix.pblob"           /* pmix_byte_object_t: packed data of a process */
#define PMIX_MAP_BLOB                  "pmix.mblob"           /* pmix_byte_object_t: packed maps */
#define PMIX_MAPPER                    "pmix.mapper"          /* char*: mapper to use */
#define PMIX_NON_PMI                   "pmix.nonpmi"          /* bool: the program does not use PMIx */
#define PMIX_PROC_URI                  "pmix.puri"            /* char*: URI of a process */
#define PMIX_ARCH                      "pmix.arch"            /* uint32_t: architecture */
#define PMIX_DEBUG_JOB_DIRECTIVES      "pmix.dbg.jdirs"       /* array: for the job (infos) */
#define PMIX_DEBUG_APP_DIRECTIVES      "pmix.dbg.adirs"       /* array: for the application (infos) */
#define PMIX_EVENT_NO_TERMINATION      "pmix.evnoterm"        /* bool: the handler has dealt with it */
#define PMIX_EVENT_WANT_TERMINATION    "pmix.evterm"          /* bool: the handler wants the end */
#define PMIX_TAG_OUTPUT                "pmix.tagout"          /* bool: see PMIX_IOF_TAG_OUTPUT */
#define PMIX_TIMESTAMP_OUTPUT          "pmix.tsout"           /* bool: see PMIX_IOF_TIMESTAMP_OUTPUT */
#define PMIX_MERGE_STDERR_STDOUT       "pmix.mergeerrout"     /* bool: see PMIX_IOF_MERGE_STDERR_STDOUT */
#define PMIX_OUTPUT_TO_FILE            "pmix.outfile"         /* char*: see PMIX_IOF_OUTPUT_TO_FILE */
#define PMIX_OUTPUT_TO_DIRECTORY       "pmix.outdir"          /* char*: see PMIX_IOF_OUTPUT_TO_DIRECTORY */
#define PMIX_OUTPUT_NOCOPY             "pmix.nocopy"          /* bool: see PMIX_IOF_FILE_ONLY */
#define PMIX_GDS_MODULE                "pmix.gds.mod"         /* char*: store of another implementation */
#define PMIX_BFROPS_MODULE             "pmix.bfrops.mod"      /* char*: packer of another implementation */
#define PMIX_PNET_SETUP_APP            "pmix.pnet.setapp"     /* pmix_byte_object_t: data of a fabric plug-in */
#define PMIX_IOF_STOP                  "pmix.iof.stop"        /* bool: stop forwarding */
#define PMIX_NOTIFY_LAUNCH             "pmix.note.lnch"       /* bool: see PMIX_NOTIFY_JOB_EVENTS */
/* clang-format on */

/* Older form of PMIx_tool_attach_to_server that leaves the present server. */
PMIX_EXPORT pmix_status_t PMIx_tool_connect_to_server(pmix_proc_t *proc, pmix_info_t info[], size_t ninfo);

/* ==================================================================================================================
 * Names of processes and keys
 * ================================================================================================================== */

/* Copies a key; what is longer than PMIX_MAX_KEYLEN is cut. NULL clears it. */
PMIX_EXPORT void PMIx_Load_key(pmix_key_t key, const char *src);

/* Whether two keys are the same. */
PMIX_EXPORT bool PMIx_Check_key(const char *key, const char *str);

/* Whether the key starts with "pmix". */
PMIX_EXPORT bool PMIx_Check_reserved_key(const char *key);

/* Copies a namespace; what is longer than PMIX_MAX_NSLEN is cut. NULL clears it. */
PMIX_EXPORT void PMIx_Load_nspace(pmix_nspace_t nspace, const char *str);

/* Whether two namespaces are the same. One that is NULL or empty is the same as every other. */
PMIX_EXPORT bool PMIx_Check_nspace(const char *key1, const char *key2);

/* Whether two namespaces are the same. One that is NULL or empty is the same as none, not even as itself. */
PMIX_EXPORT bool PMIx_Check_nspace_strict(const char *key1, const char *key2);

/* Whether the namespace is NULL or empty. */
PMIX_EXPORT bool PMIx_Nspace_invalid(const char *nspace);

/* Sets namespace and rank. */
PMIX_EXPORT void PMIx_Load_procid(pmix_proc_t *p, const char *ns, pmix_rank_t rk);

/* Copies namespace and rank. */
PMIX_EXPORT void PMIx_Xfer_procid(pmix_proc_t *dst, const pmix_proc_t *src);

/* Whether two processes are the same: namespaces by PMIx_Check_nspace, ranks by PMIx_Check_rank. */
PMIX_EXPORT bool PMIx_Check_procid(const pmix_proc_t *a, const pmix_proc_t *b);

/* Whether two processes are the same: namespaces by PMIx_Check_nspace_strict, ranks by their number. */
PMIX_EXPORT bool PMIx_Check_procid_strict(const pmix_proc_t *a, const pmix_proc_t *b);

/* Whether two ranks are the same. PMIX_RANK_WILDCARD is the same as every other. */
PMIX_EXPORT bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b);

/* Whether the rank can be that of a process. */
PMIX_EXPORT bool PMIx_Rank_valid(pmix_rank_t a);

/* Whether the namespace is empty or the rank cannot be that of a process. */
PMIX_EXPORT bool PMIx_Procid_invalid(const pmix_proc_t *p);

/* As PMIx_Load_procid. */
PMIX_EXPORT void PMIx_Proc_load(pmix_proc_t *p, const char *nspace, pmix_rank_t rank);

/* Makes "cluster:nspace" in @p target. */
PMIX_EXPORT void PMIx_Multicluster_nspace_construct(pmix_nspace_t target, char cluster[], char nspace[]);

/* Takes @p target apart at its first colon. */
PMIX_EXPORT void PMIx_Multicluster_nspace_parse(pmix_nspace_t target, pmix_nspace_t cluster, pmix_nspace_t nspace);

#define PMIX_LOAD_KEY(a, b)                         PMIx_Load_key((a), (b))
#define PMIX_CHECK_KEY(a, b)                        PMIx_Check_key((a)->key, (b))
#define PMIX_CHECK_RESERVED_KEY(a)                  PMIx_Check_reserved_key(a)
#define PMIX_LOAD_NSPACE(a, b)                      PMIx_Load_nspace((a), (b))
#define PMIX_CHECK_NSPACE(a, b)                     PMIx_Check_nspace((a), (b))
#define PMIX_CHECK_NSPACE_STRICT(a, b)              PMIx_Check_nspace_strict((a), (b))
#define PMIX_NSPACE_INVALID(a)                      PMIx_Nspace_invalid(a)
#define PMIX_LOAD_PROCID(a, b, c)                   PMIx_Load_procid((a), (b), (c))
#define PMIX_XFER_PROCID(a, b)                      PMIx_Xfer_procid((a), (b))
#define PMIX_PROCID_XFER(a, b)                      PMIX_XFER_PROCID((a), (b))
#define PMIX_CHECK_PROCID(a, b)                     PMIx_Check_procid((a), (b))
#define PMIX_CHECK_PROCID_STRICT(a, b)              PMIx_Check_procid_strict((a), (b))
#define PMIX_CHECK_RANK(a, b)                       PMIx_Check_rank((a), (b))
#define PMIX_PROCID_INVALID(a)                      PMIx_Procid_invalid(a)
#define PMIX_PROC_LOAD(m, n, r)                     PMIx_Proc_load((m), (n), (r))
#define PMIX_MULTICLUSTER_NSPACE_CONSTRUCT(t, c, n) PMIx_Multicluster_nspace_construct((t), (c), (n))
#define PMIX_MULTICLUSTER_NSPACE_PARSE(t, c, n)     PMIx_Multicluster_nspace_parse((t), (c), (n))

/* ==================================================================================================================
 * Arrays of strings
 *
 * Arrays that end with NULL, as argv and environ are; a NULL array is an empty one. Each string is a block of its own.
 * ================================================================================================================== */

/* Strings in the array. */
PMIX_EXPORT int PMIx_Argv_count(char **a);

/* Appends a copy of @p arg. */
PMIX_EXPORT pmix_status_t PMIx_Argv_append_nosize(char ***argv, const char *arg);

/* Puts a copy of @p arg in front. */
PMIX_EXPORT pmix_status_t PMIx_Argv_prepend_nosize(char ***argv, const char *arg);

/* Appends a copy of @p arg unless it is there. */
PMIX_EXPORT pmix_status_t PMIx_Argv_append_unique_nosize(char ***argv, const char *arg);

/* Frees the array and its strings. */
PMIX_EXPORT void PMIx_Argv_free(char **argv);

/* Splits at each @p delimiter and leaves empty parts out. */
PMIX_EXPORT char **PMIx_Argv_split(const char *src_string, int delimiter);

/* Splits at each @p delimiter and keeps empty parts. */
PMIX_EXPORT char **PMIx_Argv_split_with_empty(const char *src_string, int delimiter);

/* Splits at each @p delimiter. Empty parts are kept if @p include_empty. */
PMIX_EXPORT char **PMIx_Argv_split_inter(const char *src_string, int delimiter, bool include_empty);

/* One string of all, with @p delimiter between them. The caller frees it. */
PMIX_EXPORT char *PMIx_Argv_join(char **argv, int delimiter);

/* A deep copy. */
PMIX_EXPORT char **PMIx_Argv_copy(char **argv);

/*
 * Sets NAME=VALUE in *env, or in the environment of the process if @p env points to environ. PMIX_ERR_EXISTS if it is
 * there and @p overwrite is false. @p value NULL sets an empty one.
 */
PMIX_EXPORT pmix_status_t PMIx_Setenv(const char *name, const char *value, bool overwrite, char ***env);

#define PMIX_ARGV_COUNT(r, a)            (r) = PMIx_Argv_count(a)
#define PMIX_ARGV_APPEND(r, a, b)        (r) = PMIx_Argv_append_nosize((char ***) &(a), (b))
#define PMIX_ARGV_PREPEND(r, a, b)       (r) = PMIx_Argv_prepend_nosize((char ***) &(a), (b))
#define PMIX_ARGV_APPEND_UNIQUE(r, a, b) (r) = PMIx_Argv_append_unique_nosize((a), (b))
#define PMIX_ARGV_FREE(a) \
    do { \
        PMIx_Argv_free(a); \
        (a) = NULL; \
    } while (0)
#define PMIX_ARGV_SPLIT(a, b, c) (a) = PMIx_Argv_split((b), (c))
#define PMIX_ARGV_JOIN(a, b, c)  (a) = PMIx_Argv_join((b), (c))
#define PMIX_ARGV_COPY(a, b)     (a) = PMIx_Argv_copy(b)
#define PMIX_SETENV(r, a, b, c)  (r) = PMIx_Setenv((a), (b), true, (c))

/* The same in lower case, as older programs have them. */
#define pmix_argv_append_nosize(a, b)        PMIx_Argv_append_nosize((a), (b))
#define pmix_argv_append_unique_nosize(a, b) PMIx_Argv_append_unique_nosize((a), (b))
#define pmix_argv_split(a, b)                PMIx_Argv_split((a), (b))
#define pmix_argv_split_with_empty(a, b)     PMIx_Argv_split_with_empty((a), (b))
#define pmix_argv_split_inter(a, b, c)       PMIx_Argv_split_inter((a), (b), (c))
#define pmix_argv_free(a)                    PMIx_Argv_free(a)
#define pmix_argv_count(a)                   PMIx_Argv_count(a)
#define pmix_argv_join(a, b)                 PMIx_Argv_join((a), (b))
#define pmix_argv_prepend_nosize(a, b)       PMIx_Argv_prepend_nosize((a), (b))
#define pmix_argv_copy(a)                    PMIx_Argv_copy(a)
#define pmix_setenv(a, b, c, d)              PMIx_Setenv((a), (b), (c), (d))
#define pmix_check_true(a)                   PMIx_Value_true(a)

/* ==================================================================================================================
 * Values
 *
 * As for every object below: construct makes what memory holds an empty object; destruct frees what the object owns,
 * and leaves it empty; create makes an array of n empty objects; free destructs n objects and frees their array.
 * ================================================================================================================== */

PMIX_EXPORT void PMIx_Value_construct(pmix_value_t *val);
PMIX_EXPORT void PMIx_Value_destruct(pmix_value_t *val);
PMIX_EXPORT pmix_value_t *PMIx_Value_create(size_t n);
PMIX_EXPORT void PMIx_Value_free(pmix_value_t *v, size_t n);

/*
 * Makes the value a copy of the @p type at @p data; what it held before is not freed. A string is given as char *,
 * every other type by its address, PMIX_POINTER as the pointer itself. NULL loads an empty value of the type; as
 * PMIX_BOOL it means true.
 */
PMIX_EXPORT pmix_status_t PMIx_Value_load(pmix_value_t *val, const void *data, pmix_data_type_t type);

/*
 * The reverse of PMIx_Value_load. A number or another type of fixed size is copied to where *data points, which must
 * have room for it; where *data is NULL, PMIX_ERR_BAD_PARAM. A string, bytes, or an object with parts come as new memory
 * in *data, which the caller frees. @p sz receives the size in bytes.
 */
PMIX_EXPORT pmix_status_t PMIx_Value_unload(pmix_value_t *val, void **data, size_t *sz);

/* Makes @p dest a deep copy of @p src; what it held before is not freed. */
PMIX_EXPORT pmix_status_t PMIx_Value_xfer(pmix_value_t *dest, const pmix_value_t *src);

/* Compares two values. */
PMIX_EXPORT pmix_value_cmp_t PMIx_Value_compare(pmix_value_t *v1, pmix_value_t *v2);

/* Whether the value means true: a bool, a number, or text such as "yes". */
PMIX_EXPORT pmix_boolean_t PMIx_Value_true(const pmix_value_t *v);

/*
 * Writes a number, whatever its type, to @p dest as a @p type. PMIX_ERR_LOST_PRECISION and PMIX_ERR_CHANGE_SIGN: it
 * does not fit. PMIX_ERR_BAD_PARAM: it is no number.
 */
PMIX_EXPORT pmix_status_t PMIx_Value_get_number(const pmix_value_t *value, void *dest, pmix_data_type_t type);

#define PMIX_VALUE_CONSTRUCT(m) PMIx_Value_construct(m)
#define PMIX_VALUE_DESTRUCT(m)  PMIx_Value_destruct(m)
#define PMIX_VALUE_CREATE(m, n) (m) = PMIx_Value_create(n)
#define PMIX_VALUE_FREE(m, n) \
    do { \
        PMIx_Value_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_VALUE_RELEASE(m)         PMIX_VALUE_FREE((m), 1)
#define PMIX_CHECK_TRUE(a)            (PMIX_BOOL_TRUE == PMIx_Value_true(a))
#define PMIX_CHECK_BOOL(a)            (PMIX_NON_BOOL != PMIx_Value_true(a))
#define PMIX_VALUE_LOAD(v, d, t)      PMIx_Value_load((v), (d), (t))
#define PMIX_VALUE_UNLOAD(r, k, d, s) (r) = PMIx_Value_unload((k), (d), (s))
#define PMIX_VALUE_XFER(r, v, s) \
    do { \
        if (NULL == (v)) { \
            (v) = PMIx_Value_create(1); \
        } \
        (r) = NULL == (v) ? PMIX_ERR_NOMEM : PMIx_Value_xfer((v), (s)); \
    } while (0)
#define PMIX_VALUE_XFER_DIRECT(r, v, s) (r) = PMIx_Value_xfer((v), (s))
#define PMIX_VALUE_GET_NUMBER(s, m, n, t) \
    do { \
        (s) = PMIX_SUCCESS; \
        switch ((m)->type) { \
            case PMIX_SIZE: \
                (n) = (t) (m)->data.size; \
                break; \
            case PMIX_PID: \
                (n) = (t) (m)->data.pid; \
                break; \
            case PMIX_INT: \
                (n) = (t) (m)->data.integer; \
                break; \
            case PMIX_INT8: \
                (n) = (t) (m)->data.int8; \
                break; \
            case PMIX_INT16: \
                (n) = (t) (m)->data.int16; \
                break; \
            case PMIX_INT32: \
                (n) = (t) (m)->data.int32; \
                break; \
            case PMIX_INT64: \
                (n) = (t) (m)->data.int64; \
                break; \
            case PMIX_UINT: \
                (n) = (t) (m)->data.uint; \
                break; \
            case PMIX_UINT8: \
                (n) = (t) (m)->data.uint8; \
                break; \
            case PMIX_UINT16: \
                (n) = (t) (m)->data.uint16; \
                break; \
            case PMIX_UINT32: \
                (n) = (t) (m)->data.uint32; \
                break; \
            case PMIX_UINT64: \
                (n) = (t) (m)->data.uint64; \
                break; \
            case PMIX_FLOAT: \
                (n) = (t) (m)->data.fval; \
                break; \
            case PMIX_DOUBLE: \
                (n) = (t) (m)->data.dval; \
                break; \
            case PMIX_STATUS: \
                (n) = (t) (m)->data.status; \
                break; \
            case PMIX_PROC_RANK: \
                (n) = (t) (m)->data.rank; \
                break; \
            default: \
                (s) = PMIX_ERR_BAD_PARAM; \
        } \
    } while (0)

/* ==================================================================================================================
 * Infos
 * ================================================================================================================== */

PMIX_EXPORT void PMIx_Info_construct(pmix_info_t *p);
PMIX_EXPORT void PMIx_Info_destruct(pmix_info_t *p);
PMIX_EXPORT pmix_info_t *PMIx_Info_create(size_t n);
PMIX_EXPORT void PMIx_Info_free(pmix_info_t *p, size_t n);

/* Sets key and value, as PMIx_Value_load does, and clears the flags. */
PMIX_EXPORT pmix_status_t PMIx_Info_load(pmix_info_t *info, const char *key, const void *data, pmix_data_type_t type);

/* Makes @p dest a copy of @p src, flags included: a deep one, unless @p src is persistent. */
PMIX_EXPORT pmix_status_t PMIx_Info_xfer(pmix_info_t *dest, const pmix_info_t *src);

/* As PMIx_Value_true. */
PMIX_EXPORT pmix_boolean_t PMIx_Info_true(const pmix_info_t *p);

/* Sets PMIX_INFO_REQD. */
PMIX_EXPORT void PMIx_Info_required(pmix_info_t *p);

/* Whether PMIX_INFO_REQD is set. */
PMIX_EXPORT bool PMIx_Info_is_required(const pmix_info_t *p);

/* Clears PMIX_INFO_REQD. */
PMIX_EXPORT void PMIx_Info_optional(pmix_info_t *p);

/* Whether PMIX_INFO_REQD is not set. */
PMIX_EXPORT bool PMIx_Info_is_optional(const pmix_info_t *p);

/* Sets PMIX_INFO_REQD_PROCESSED. */
PMIX_EXPORT void PMIx_Info_processed(pmix_info_t *p);

/* Whether PMIX_INFO_REQD_PROCESSED is set. */
PMIX_EXPORT bool PMIx_Info_was_processed(const pmix_info_t *p);

/* Sets PMIX_INFO_ARRAY_END. */
PMIX_EXPORT void PMIx_Info_set_end(pmix_info_t *p);

/* Whether PMIX_INFO_ARRAY_END is set. */
PMIX_EXPORT bool PMIx_Info_is_end(const pmix_info_t *p);

/* Sets PMIX_INFO_QUALIFIER. */
PMIX_EXPORT void PMIx_Info_qualifier(pmix_info_t *p);

/* Whether PMIX_INFO_QUALIFIER is set. */
PMIX_EXPORT bool PMIx_Info_is_qualifier(const pmix_info_t *p);

/* Sets PMIX_INFO_PERSISTENT: to destruct the info leaves its value alone. */
PMIX_EXPORT void PMIx_Info_persistent(pmix_info_t *p);

/* Whether PMIX_INFO_PERSISTENT is set. */
PMIX_EXPORT bool PMIx_Info_is_persistent(const pmix_info_t *p);

#define PMIX_INFO_CONSTRUCT(m) PMIx_Info_construct(m)
#define PMIX_INFO_DESTRUCT(m)  PMIx_Info_destruct(m)
#define PMIX_INFO_CREATE(m, n) (m) = PMIx_Info_create(n)
#define PMIX_INFO_FREE(m, n) \
    do { \
        PMIx_Info_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_INFO_REQUIRED(m)        PMIx_Info_required(m)
#define PMIX_INFO_OPTIONAL(m)        PMIx_Info_optional(m)
#define PMIX_INFO_IS_REQUIRED(m)     PMIx_Info_is_required(m)
#define PMIX_INFO_IS_OPTIONAL(m)     PMIx_Info_is_optional(m)
#define PMIX_INFO_PROCESSED(m)       PMIx_Info_processed(m)
#define PMIX_INFO_WAS_PROCESSED(m)   PMIx_Info_was_processed(m)
#define PMIX_INFO_SET_END(m)         PMIx_Info_set_end(m)
#define PMIX_INFO_IS_END(m)          PMIx_Info_is_end(m)
#define PMIX_INFO_SET_QUALIFIER(i)   PMIx_Info_qualifier(i)
#define PMIX_INFO_IS_QUALIFIER(i)    PMIx_Info_is_qualifier(i)
#define PMIX_INFO_SET_PERSISTENT(ii) PMIx_Info_persistent(ii)
#define PMIX_INFO_IS_PERSISTENT(ii)  PMIx_Info_is_persistent(ii)
#define PMIX_INFO_LOAD(i, k, d, t)   (void) PMIx_Info_load((i), (k), (d), (t))
#define PMIX_INFO_XFER(d, s)         (void) PMIx_Info_xfer((d), (s))
#define PMIX_INFO_TRUE(m)            (PMIX_BOOL_TRUE == PMIx_Info_true(m))

/* ==================================================================================================================
 * Lists of infos
 *
 * To collect infos whose number is not known, and make an array of them at the end. The list is opaque.
 * ================================================================================================================== */

/* A new, empty list. NULL if there is no memory. */
PMIX_EXPORT void *PMIx_Info_list_start(void);

/* Appends a new info, loaded as by PMIx_Info_load. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_add(void *ptr, const char *key, const void *value, pmix_data_type_t type);

/* The same, unless the key is there; then it is replaced if @p overwrite. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_unique(void *ptr, const char *key, const void *value,
                                                    pmix_data_type_t type, bool overwrite);

/* Appends a new info with a copy of @p value. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_value(void *ptr, const char *key, const pmix_value_t *value);

/* The same, unless the key is there; then it is replaced if @p overwrite. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_add_value_unique(void *ptr, const char *key, const pmix_value_t *value,
                                                          bool overwrite);

/* Puts a new info in front. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_prepend(void *ptr, const char *key, const void *value, pmix_data_type_t type);

/* Appends the info itself: its value belongs to the list from then on. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_insert(void *ptr, pmix_info_t *info);

/* Appends a copy of @p info. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_xfer(void *ptr, const pmix_info_t *info);

/* The same, unless the key is there; then it is replaced if @p overwrite. */
PMIX_EXPORT pmix_status_t PMIx_Info_list_xfer_unique(void *ptr, const pmix_info_t *info, bool overwrite);

/*
 * Makes @p par an array with copies of the infos, which the caller destructs; the list stays. PMIX_ERR_EMPTY: there is
 * none.
 */
PMIX_EXPORT pmix_status_t PMIx_Info_list_convert(void *ptr, pmix_data_array_t *par);

/*
 * Walks the list: the first info for @p prev NULL, later what @p next received, which is NULL at the end. It stays in
 * the list.
 */
PMIX_EXPORT pmix_info_t *PMIx_Info_list_get_info(void *ptr, void *prev, void **next);

/* Infos in the list. */
PMIX_EXPORT size_t PMIx_Info_list_get_size(void *ptr);

/* Frees the list with all in it. */
PMIX_EXPORT void PMIx_Info_list_release(void *ptr);

#define PMIX_INFO_LIST_START(p)               (p) = PMIx_Info_list_start()
#define PMIX_INFO_LIST_ADD(r, p, a, v, t)     (r) = PMIx_Info_list_add((p), (a), (v), (t))
#define PMIX_INFO_LIST_PREPEND(r, p, a, v, t) (r) = PMIx_Info_list_prepend((p), (a), (v), (t))
#define PMIX_INFO_LIST_INSERT(r, p, i)        (r) = PMIx_Info_list_insert((p), (i))
#define PMIX_INFO_LIST_XFER(r, p, a)          (r) = PMIx_Info_list_xfer((p), (a))
#define PMIX_INFO_LIST_CONVERT(r, p, m)       (r) = PMIx_Info_list_convert((p), (m))
#define PMIX_INFO_LIST_RELEASE(p)             PMIx_Info_list_release(p)

/* ==================================================================================================================
 * Arrays of values and packed buffers
 *
 * A data array owns its elements. The content of a buffer is what the Data functions in pmix.h pack and unpack.
 * ================================================================================================================== */

/* Makes it an empty array of @p type. */
PMIX_EXPORT void PMIx_Data_array_init(pmix_data_array_t *p, pmix_data_type_t type);

/* Gives it @p num elements of @p type, constructed. */
PMIX_EXPORT void PMIx_Data_array_construct(pmix_data_array_t *p, size_t num, pmix_data_type_t type);

/* Frees the elements with all they own. */
PMIX_EXPORT void PMIx_Data_array_destruct(pmix_data_array_t *d);

/* A new array of @p n elements of @p type, constructed. */
PMIX_EXPORT pmix_data_array_t *PMIx_Data_array_create(size_t n, pmix_data_type_t type);

/* Frees the elements and the array. */
PMIX_EXPORT void PMIx_Data_array_free(pmix_data_array_t *p);

#define PMIX_DATA_ARRAY_INIT(m, t)         PMIx_Data_array_init((m), (t))
#define PMIX_DATA_ARRAY_CONSTRUCT(m, n, t) PMIx_Data_array_construct((m), (n), (t))
#define PMIX_DATA_ARRAY_DESTRUCT(m)        PMIx_Data_array_destruct(m)
#define PMIX_DATA_ARRAY_CREATE(m, n, t)    (m) = PMIx_Data_array_create((n), (t))
#define PMIX_DATA_ARRAY_FREE(m) \
    do { \
        PMIx_Data_array_free(m); \
        (m) = NULL; \
    } while (0)

/* A new, empty buffer. */
PMIX_EXPORT pmix_data_buffer_t *PMIx_Data_buffer_create(void);

/* Frees buffer and content. */
PMIX_EXPORT void PMIx_Data_buffer_release(pmix_data_buffer_t *b);

/* Makes it empty. */
PMIX_EXPORT void PMIx_Data_buffer_construct(pmix_data_buffer_t *b);

/* Frees its content and makes it empty. */
PMIX_EXPORT void PMIx_Data_buffer_destruct(pmix_data_buffer_t *b);

/* Takes over the block @p bytes as content to be unpacked. */
PMIX_EXPORT void PMIx_Data_buffer_load(pmix_data_buffer_t *b, char *bytes, size_t sz);

/* Moves the content out to *bytes, which the caller frees. The buffer is empty afterwards. */
PMIX_EXPORT void PMIx_Data_buffer_unload(pmix_data_buffer_t *b, char **bytes, size_t *sz);

#define PMIX_DATA_BUFFER_CREATE(m) (m) = PMIx_Data_buffer_create()
#define PMIX_DATA_BUFFER_RELEASE(m) \
    do { \
        PMIx_Data_buffer_release(m); \
        (m) = NULL; \
    } while (0)
#define PMIX_DATA_BUFFER_CONSTRUCT(m)    PMIx_Data_buffer_construct(m)
#define PMIX_DATA_BUFFER_DESTRUCT(m)     PMIx_Data_buffer_destruct(m)
#define PMIX_DATA_BUFFER_LOAD(b, d, s)   PMIx_Data_buffer_load((b), (d), (s))
#define PMIX_DATA_BUFFER_UNLOAD(b, d, s) PMIx_Data_buffer_unload((b), (char **) &(d), (size_t *) &(s))

/* ==================================================================================================================
 * Objects
 *
 * construct, destruct, create and free as for values.
 * ================================================================================================================== */

/* Names of processes. */
PMIX_EXPORT void PMIx_Proc_construct(pmix_proc_t *p);
PMIX_EXPORT void PMIx_Proc_destruct(pmix_proc_t *p);
PMIX_EXPORT pmix_proc_t *PMIx_Proc_create(size_t n);
PMIX_EXPORT void PMIx_Proc_free(pmix_proc_t *p, size_t n);

#define PMIX_PROC_CONSTRUCT(m) PMIx_Proc_construct(m)
#define PMIX_PROC_DESTRUCT(m)  PMIx_Proc_destruct(m)
#define PMIX_PROC_CREATE(m, n) (m) = PMIx_Proc_create(n)
#define PMIX_PROC_FREE(m, n) \
    do { \
        PMIx_Proc_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_PROC_RELEASE(m) PMIX_PROC_FREE((m), 1)

/* What is known about a process. */
PMIX_EXPORT void PMIx_Proc_info_construct(pmix_proc_info_t *p);
PMIX_EXPORT void PMIx_Proc_info_destruct(pmix_proc_info_t *p);
PMIX_EXPORT pmix_proc_info_t *PMIx_Proc_info_create(size_t n);
PMIX_EXPORT void PMIx_Proc_info_free(pmix_proc_info_t *p, size_t n);

#define PMIX_PROC_INFO_CONSTRUCT(m) PMIx_Proc_info_construct(m)
#define PMIX_PROC_INFO_DESTRUCT(m)  PMIx_Proc_info_destruct(m)
#define PMIX_PROC_INFO_CREATE(m, n) (m) = PMIx_Proc_info_create(n)
#define PMIX_PROC_INFO_FREE(m, n) \
    do { \
        PMIx_Proc_info_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_PROC_INFO_RELEASE(m) PMIX_PROC_INFO_FREE((m), 1)

/* Published data. */
PMIX_EXPORT void PMIx_Pdata_construct(pmix_pdata_t *p);
PMIX_EXPORT void PMIx_Pdata_destruct(pmix_pdata_t *p);
PMIX_EXPORT pmix_pdata_t *PMIx_Pdata_create(size_t n);
PMIX_EXPORT void PMIx_Pdata_free(pmix_pdata_t *p, size_t n);

/* Sets publisher, key and value, as PMIx_Value_load does. */
PMIX_EXPORT void PMIx_Pdata_load(pmix_pdata_t *dest, const pmix_proc_t *p, const char *key, const void *data,
                                 pmix_data_type_t type);

/* Makes @p dest a deep copy of @p src. */
PMIX_EXPORT void PMIx_Pdata_xfer(pmix_pdata_t *dest, pmix_pdata_t *src);

#define PMIX_PDATA_CONSTRUCT(m) PMIx_Pdata_construct(m)
#define PMIX_PDATA_DESTRUCT(m)  PMIx_Pdata_destruct(m)
#define PMIX_PDATA_CREATE(m, n) (m) = PMIx_Pdata_create(n)
#define PMIX_PDATA_FREE(m, n) \
    do { \
        PMIx_Pdata_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_PDATA_RELEASE(m)          PMIX_PDATA_FREE((m), 1)
#define PMIX_PDATA_LOAD(m, p, k, v, t) PMIx_Pdata_load((m), (p), (k), (v), (t))
#define PMIX_PDATA_XFER(d, s)          PMIx_Pdata_xfer((d), (s))

/* Applications. */
PMIX_EXPORT void PMIx_App_construct(pmix_app_t *p);
PMIX_EXPORT void PMIx_App_destruct(pmix_app_t *p);
PMIX_EXPORT pmix_app_t *PMIx_App_create(size_t n);
PMIX_EXPORT void PMIx_App_free(pmix_app_t *p, size_t n);

/* Gives the application an array of @p n infos. */
PMIX_EXPORT void PMIx_App_info_create(pmix_app_t *p, size_t n);

/* Frees one application that was created alone. */
PMIX_EXPORT void PMIx_App_release(pmix_app_t *p);

#define PMIX_APP_CONSTRUCT(m) PMIx_App_construct(m)
#define PMIX_APP_DESTRUCT(m)  PMIx_App_destruct(m)
#define PMIX_APP_CREATE(m, n) (m) = PMIx_App_create(n)
#define PMIX_APP_FREE(m, n) \
    do { \
        PMIx_App_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_APP_RELEASE(m)        PMIX_APP_FREE((m), 1)
#define PMIX_APP_INFO_CREATE(m, n) PMIx_App_info_create((m), (n))

/* Queries. */
PMIX_EXPORT void PMIx_Query_construct(pmix_query_t *p);
PMIX_EXPORT void PMIx_Query_destruct(pmix_query_t *p);
PMIX_EXPORT pmix_query_t *PMIx_Query_create(size_t n);
PMIX_EXPORT void PMIx_Query_free(pmix_query_t *p, size_t n);

/* Gives the query an array of @p n qualifiers. */
PMIX_EXPORT void PMIx_Query_qualifiers_create(pmix_query_t *p, size_t n);

/* Frees one query that was created alone. */
PMIX_EXPORT void PMIx_Query_release(pmix_query_t *p);

#define PMIX_QUERY_CONSTRUCT(m) PMIx_Query_construct(m)
#define PMIX_QUERY_DESTRUCT(m)  PMIx_Query_destruct(m)
#define PMIX_QUERY_CREATE(m, n) (m) = PMIx_Query_create(n)
#define PMIX_QUERY_FREE(m, n) \
    do { \
        PMIx_Query_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_QUERY_QUALIFIERS_CREATE(m, n) PMIx_Query_qualifiers_create((m), (n))
#define PMIX_QUERY_RELEASE(m) \
    do { \
        PMIx_Query_release(m); \
        (m) = NULL; \
    } while (0)

/* Bytes. */
PMIX_EXPORT void PMIx_Byte_object_construct(pmix_byte_object_t *b);
PMIX_EXPORT void PMIx_Byte_object_destruct(pmix_byte_object_t *g);
PMIX_EXPORT pmix_byte_object_t *PMIx_Byte_object_create(size_t n);
PMIX_EXPORT void PMIx_Byte_object_free(pmix_byte_object_t *g, size_t n);

/* Takes over the block @p d of @p sz bytes. */
PMIX_EXPORT void PMIx_Byte_object_load(pmix_byte_object_t *b, char *d, size_t sz);

#define PMIX_BYTE_OBJECT_CONSTRUCT(m) PMIx_Byte_object_construct(m)
#define PMIX_BYTE_OBJECT_DESTRUCT(m)  PMIx_Byte_object_destruct(m)
#define PMIX_BYTE_OBJECT_CREATE(m, n) (m) = PMIx_Byte_object_create(n)
#define PMIX_BYTE_OBJECT_FREE(m, n) \
    do { \
        PMIx_Byte_object_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_BYTE_OBJECT_LOAD(b, d, s) \
    do { \
        PMIx_Byte_object_load((b), (d), (s)); \
        (d) = NULL; \
        (s) = 0; \
    } while (0)

/* Environment variables. */
PMIX_EXPORT void PMIx_Envar_construct(pmix_envar_t *e);
PMIX_EXPORT void PMIx_Envar_destruct(pmix_envar_t *e);
PMIX_EXPORT pmix_envar_t *PMIx_Envar_create(size_t n);
PMIX_EXPORT void PMIx_Envar_free(pmix_envar_t *e, size_t n);

/* Sets the members to copies. */
PMIX_EXPORT void PMIx_Envar_load(pmix_envar_t *e, char *var, char *value, char separator);

#define PMIX_ENVAR_CONSTRUCT(m) PMIx_Envar_construct(m)
#define PMIX_ENVAR_DESTRUCT(m)  PMIx_Envar_destruct(m)
#define PMIX_ENVAR_CREATE(m, n) (m) = PMIx_Envar_create(n)
#define PMIX_ENVAR_FREE(m, n) \
    do { \
        PMIx_Envar_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_ENVAR_LOAD(m, e, v, s) PMIx_Envar_load((m), (e), (v), (s))

/* Descriptions of attributes. */
PMIX_EXPORT void PMIx_Regattr_construct(pmix_regattr_t *p);
PMIX_EXPORT void PMIx_Regattr_destruct(pmix_regattr_t *p);
PMIX_EXPORT pmix_regattr_t *PMIx_Regattr_create(size_t n);
PMIX_EXPORT void PMIx_Regattr_free(pmix_regattr_t *p, size_t n);

/* Sets the members to copies. */
PMIX_EXPORT void PMIx_Regattr_load(pmix_regattr_t *info, const char *name, const char *key, pmix_data_type_t type,
                                   const char *description);

/* Makes @p dest a deep copy of @p src. */
PMIX_EXPORT void PMIx_Regattr_xfer(pmix_regattr_t *dest, const pmix_regattr_t *src);

#define PMIX_REGATTR_CONSTRUCT(m) PMIx_Regattr_construct(m)
#define PMIX_REGATTR_DESTRUCT(m)  PMIx_Regattr_destruct(m)
#define PMIX_REGATTR_CREATE(m, n) (m) = PMIx_Regattr_create(n)
#define PMIX_REGATTR_FREE(m, n) \
    do { \
        PMIx_Regattr_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_REGATTR_LOAD(a, n, k, t, v) PMIx_Regattr_load((a), (n), (k), (t), (v))
#define PMIX_REGATTR_XFER(a, b)          PMIx_Regattr_xfer((a), (b))

/* Topologies. One that the library shares is not freed by destruct. */
PMIX_EXPORT void PMIx_Topology_construct(pmix_topology_t *t);
PMIX_EXPORT void PMIx_Topology_destruct(pmix_topology_t *topo);
PMIX_EXPORT pmix_topology_t *PMIx_Topology_create(size_t n);
PMIX_EXPORT void PMIx_Topology_free(pmix_topology_t *t, size_t n);

#define PMIX_TOPOLOGY_CONSTRUCT(m) PMIx_Topology_construct(m)
#define PMIX_TOPOLOGY_DESTRUCT(m)  PMIx_Topology_destruct(m)
#define PMIX_TOPOLOGY_CREATE(m, n) (m) = PMIx_Topology_create(n)
#define PMIX_TOPOLOGY_FREE(m, n) \
    do { \
        PMIx_Topology_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Sets of CPUs. */
PMIX_EXPORT void PMIx_Cpuset_construct(pmix_cpuset_t *cpuset);
PMIX_EXPORT void PMIx_Cpuset_destruct(pmix_cpuset_t *cpuset);
PMIX_EXPORT pmix_cpuset_t *PMIx_Cpuset_create(size_t n);
PMIX_EXPORT void PMIx_Cpuset_free(pmix_cpuset_t *c, size_t n);

#define PMIX_CPUSET_CONSTRUCT(m) PMIx_Cpuset_construct(m)
#define PMIX_CPUSET_DESTRUCT(m)  PMIx_Cpuset_destruct(m)
#define PMIX_CPUSET_CREATE(m, n) (m) = PMIx_Cpuset_create(n)
#define PMIX_CPUSET_FREE(m, n) \
    do { \
        PMIx_Cpuset_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Coordinates. */
PMIX_EXPORT void PMIx_Coord_construct(pmix_coord_t *m);
PMIX_EXPORT void PMIx_Coord_destruct(pmix_coord_t *m);

/* An array of @p number coordinates of @p dims dimensions each. */
PMIX_EXPORT pmix_coord_t *PMIx_Coord_create(size_t dims, size_t number);

/* Frees an array of @p number coordinates. */
PMIX_EXPORT void PMIx_Coord_free(pmix_coord_t *m, size_t number);

#define PMIX_COORD_CREATE(m, n, d) (m) = PMIx_Coord_create((d), (n))
#define PMIX_COORD_CONSTRUCT(m)    PMIx_Coord_construct(m)
#define PMIX_COORD_DESTRUCT(m)     PMIx_Coord_destruct(m)
#define PMIX_COORD_FREE(m, n) \
    do { \
        PMIx_Coord_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Geometries. */
PMIX_EXPORT void PMIx_Geometry_construct(pmix_geometry_t *g);
PMIX_EXPORT void PMIx_Geometry_destruct(pmix_geometry_t *g);
PMIX_EXPORT pmix_geometry_t *PMIx_Geometry_create(size_t n);
PMIX_EXPORT void PMIx_Geometry_free(pmix_geometry_t *g, size_t n);

#define PMIX_GEOMETRY_CONSTRUCT(m) PMIx_Geometry_construct(m)
#define PMIX_GEOMETRY_DESTRUCT(m)  PMIx_Geometry_destruct(m)
#define PMIX_GEOMETRY_CREATE(m, n) (m) = PMIx_Geometry_create(n)
#define PMIX_GEOMETRY_FREE(m, n) \
    do { \
        PMIx_Geometry_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Endpoints. */
PMIX_EXPORT void PMIx_Endpoint_construct(pmix_endpoint_t *e);
PMIX_EXPORT void PMIx_Endpoint_destruct(pmix_endpoint_t *e);
PMIX_EXPORT pmix_endpoint_t *PMIx_Endpoint_create(size_t n);
PMIX_EXPORT void PMIx_Endpoint_free(pmix_endpoint_t *e, size_t n);

#define PMIX_ENDPOINT_CONSTRUCT(m) PMIx_Endpoint_construct(m)
#define PMIX_ENDPOINT_DESTRUCT(m)  PMIx_Endpoint_destruct(m)
#define PMIX_ENDPOINT_CREATE(m, n) (m) = PMIx_Endpoint_create(n)
#define PMIX_ENDPOINT_FREE(m, n) \
    do { \
        PMIx_Endpoint_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Devices. */
PMIX_EXPORT void PMIx_Device_construct(pmix_device_t *d);
PMIX_EXPORT void PMIx_Device_destruct(pmix_device_t *d);
PMIX_EXPORT pmix_device_t *PMIx_Device_create(size_t n);
PMIX_EXPORT void PMIx_Device_free(pmix_device_t *d, size_t n);

#define PMIX_DEVICE_CONSTRUCT(m) PMIx_Device_construct(m)
#define PMIX_DEVICE_DESTRUCT(m)  PMIx_Device_destruct(m)
#define PMIX_DEVICE_CREATE(m, n) (m) = PMIx_Device_create(n)
#define PMIX_DEVICE_FREE(m, n) \
    do { \
        PMIx_Device_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Distances to devices. */
PMIX_EXPORT void PMIx_Device_distance_construct(pmix_device_distance_t *d);
PMIX_EXPORT void PMIx_Device_distance_destruct(pmix_device_distance_t *d);
PMIX_EXPORT pmix_device_distance_t *PMIx_Device_distance_create(size_t n);
PMIX_EXPORT void PMIx_Device_distance_free(pmix_device_distance_t *d, size_t n);

#define PMIX_DEVICE_DIST_CONSTRUCT(m) PMIx_Device_distance_construct(m)
#define PMIX_DEVICE_DIST_DESTRUCT(m)  PMIx_Device_distance_destruct(m)
#define PMIX_DEVICE_DIST_CREATE(m, n) (m) = PMIx_Device_distance_create(n)
#define PMIX_DEVICE_DIST_FREE(m, n) \
    do { \
        PMIx_Device_distance_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Resource units. */
PMIX_EXPORT void PMIx_Resource_unit_construct(pmix_resource_unit_t *d);
PMIX_EXPORT void PMIx_Resource_unit_destruct(pmix_resource_unit_t *d);
PMIX_EXPORT pmix_resource_unit_t *PMIx_Resource_unit_create(size_t n);
PMIX_EXPORT void PMIx_Resource_unit_free(pmix_resource_unit_t *d, size_t n);

#define PMIX_RESOURCE_UNIT_CONSTRUCT(m) PMIx_Resource_unit_construct(m)
#define PMIX_RESOURCE_UNIT_DESTRUCT(m)  PMIx_Resource_unit_destruct(m)
#define PMIX_RESOURCE_UNIT_CREATE(m, n) (m) = PMIx_Resource_unit_create(n)
#define PMIX_RESOURCE_UNIT_FREE(m, n) \
    do { \
        PMIx_Resource_unit_free((m), (n)); \
        (m) = NULL; \
    } while (0)

/* Processes by their number at the operating system. */
PMIX_EXPORT void PMIx_Node_pid_construct(pmix_node_pid_t *d);
PMIX_EXPORT void PMIx_Node_pid_destruct(pmix_node_pid_t *d);
PMIX_EXPORT pmix_node_pid_t *PMIx_Node_pid_create(size_t n);
PMIX_EXPORT void PMIx_Node_pid_free(pmix_node_pid_t *d, size_t n);

/* Lists in a short form (PMIx_generate_regex2). */
PMIX_EXPORT void PMIx_Regex2_construct(pmix_regex2_t *d);
PMIX_EXPORT void PMIx_Regex2_destruct(pmix_regex2_t *d);
PMIX_EXPORT pmix_regex2_t *PMIx_Regex2_create(size_t n);
PMIX_EXPORT void PMIx_Regex2_free(pmix_regex2_t *d, size_t n);

/* Fabrics. */
PMIX_EXPORT void PMIx_Fabric_construct(pmix_fabric_t *p);

#define PMIX_FABRIC_CONSTRUCT(x) PMIx_Fabric_construct(x)

/* Statistics, which OpenPMIx 6 no longer has. */
PMIX_EXPORT void PMIx_Proc_stats_construct(pmix_proc_stats_t *p);
PMIX_EXPORT void PMIx_Proc_stats_destruct(pmix_proc_stats_t *p);
PMIX_EXPORT pmix_proc_stats_t *PMIx_Proc_stats_create(size_t n);
PMIX_EXPORT void PMIx_Proc_stats_free(pmix_proc_stats_t *p, size_t n);
#define PMIX_PROC_STATS_CONSTRUCT(m) PMIx_Proc_stats_construct(m)
#define PMIX_PROC_STATS_DESTRUCT(m)  PMIx_Proc_stats_destruct(m)
#define PMIX_PROC_STATS_CREATE(m, n) (m) = PMIx_Proc_stats_create(n)
#define PMIX_PROC_STATS_FREE(m, n) \
    do { \
        PMIx_Proc_stats_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_PROC_STATS_RELEASE(m) PMIX_PROC_STATS_FREE((m), 1)

PMIX_EXPORT void PMIx_Disk_stats_construct(pmix_disk_stats_t *p);
PMIX_EXPORT void PMIx_Disk_stats_destruct(pmix_disk_stats_t *p);
PMIX_EXPORT pmix_disk_stats_t *PMIx_Disk_stats_create(size_t n);
PMIX_EXPORT void PMIx_Disk_stats_free(pmix_disk_stats_t *p, size_t n);
#define PMIX_DISK_STATS_CONSTRUCT(m) PMIx_Disk_stats_construct(m)
#define PMIX_DISK_STATS_DESTRUCT(m)  PMIx_Disk_stats_destruct(m)
#define PMIX_DISK_STATS_CREATE(m, n) (m) = PMIx_Disk_stats_create(n)
#define PMIX_DISK_STATS_FREE(m, n) \
    do { \
        PMIx_Disk_stats_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_DISK_STATS_RELEASE(m) PMIX_DISK_STATS_FREE((m), 1)

PMIX_EXPORT void PMIx_Net_stats_construct(pmix_net_stats_t *p);
PMIX_EXPORT void PMIx_Net_stats_destruct(pmix_net_stats_t *p);
PMIX_EXPORT pmix_net_stats_t *PMIx_Net_stats_create(size_t n);
PMIX_EXPORT void PMIx_Net_stats_free(pmix_net_stats_t *p, size_t n);
#define PMIX_NET_STATS_CONSTRUCT(m) PMIx_Net_stats_construct(m)
#define PMIX_NET_STATS_DESTRUCT(m)  PMIx_Net_stats_destruct(m)
#define PMIX_NET_STATS_CREATE(m, n) (m) = PMIx_Net_stats_create(n)
#define PMIX_NET_STATS_FREE(m, n) \
    do { \
        PMIx_Net_stats_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_NET_STATS_RELEASE(m) PMIX_NET_STATS_FREE((m), 1)

PMIX_EXPORT void PMIx_Node_stats_construct(pmix_node_stats_t *p);
PMIX_EXPORT void PMIx_Node_stats_destruct(pmix_node_stats_t *p);
PMIX_EXPORT pmix_node_stats_t *PMIx_Node_stats_create(size_t n);
PMIX_EXPORT void PMIx_Node_stats_free(pmix_node_stats_t *p, size_t n);
#define PMIX_NODE_STATS_CONSTRUCT(m) PMIx_Node_stats_construct(m)
#define PMIX_NODE_STATS_DESTRUCT(m)  PMIx_Node_stats_destruct(m)
#define PMIX_NODE_STATS_CREATE(m, n) (m) = PMIx_Node_stats_create(n)
#define PMIX_NODE_STATS_FREE(m, n) \
    do { \
        PMIx_Node_stats_free((m), (n)); \
        (m) = NULL; \
    } while (0)
#define PMIX_NODE_STATS_RELEASE(m) PMIX_NODE_STATS_FREE((m), 1)

/* ==================================================================================================================
 * Inline helpers
 *
 * Compiled into the program; the library has none of them.
 * ================================================================================================================== */

/* The functions of the C library, by the names that programs of the field use. */
static inline void *pmix_malloc(size_t n) {
    return malloc(n);
}

static inline void pmix_free(void *m) {
    free(m);
}

static inline void *pmix_calloc(size_t n, size_t m) {
    return calloc(n, m);
}

/* Copies at most len bytes and ends the copy with a NUL: dest has room for len + 1. */
static inline void pmix_strncpy(char *dest, const char *src, size_t len) {
    size_t i = 0;
    while (i < len && src[i] != '\0') {
        dest[i] = src[i];
        ++i;
    }
    dest[i] = '\0';
}

/* Length of a key, looking no further than one may be long. */
static inline size_t pmix_keylen(const char *src) {
    size_t i = 0;
    while (i < PMIX_MAX_KEYLEN && src[i] != '\0') {
        ++i;
    }
    return i;
}

/* Length of a namespace, looking no further than one may be long. */
static inline size_t pmix_nslen(const char *src) {
    size_t i = 0;
    while (i < PMIX_MAX_NSLEN && src[i] != '\0') {
        ++i;
    }
    return i;
}

/* They destruct n objects and leave their array to the caller. */
static inline void pmix_app_free(pmix_app_t *ap, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_App_destruct(&ap[i]);
    }
}

static inline void pmix_pdata_free(pmix_pdata_t *pd, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_Pdata_destruct(&pd[i]);
    }
}

static inline void pmix_proc_stats_free(pmix_proc_stats_t *ps, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_Proc_stats_destruct(&ps[i]);
    }
}

static inline void pmix_disk_stats_free(pmix_disk_stats_t *d, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_Disk_stats_destruct(&d[i]);
    }
}

static inline void pmix_net_stats_free(pmix_net_stats_t *nst, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_Net_stats_destruct(&nst[i]);
    }
}

static inline void pmix_node_stats_free(pmix_node_stats_t *nd, size_t n) {
    size_t i;
    for (i = 0; i < n; ++i) {
        PMIx_Node_stats_destruct(&nd[i]);
    }
}

#ifdef __cplusplus
}
#endif

#endif /* PMIX_DEPRECATED_H */
