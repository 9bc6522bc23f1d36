/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Version of the programming interface that these headers offer, for configure scripts that compare these numbers.
 *
 * They hold every name of OpenPMIx 4.2.2, 5.0.10, 6.1.0 and 7.0.0rc1, with the values of the last, and so they claim 7.0.0,
 * as do pmix.pc, the CMake package and the second word of PMIx_Get_version().
 *
 * A program whose configure script knows no release 7, such as Slurm up to 26.05, is built with PMIX_CLAIM_RELEASE_5
 * defined (in CPPFLAGS): the numbers are then those of 5.0.10 and nothing else changes.
 */
#ifndef PMIX_VERSION_H
#define PMIX_VERSION_H

#ifdef PMIX_CLAIM_RELEASE_5
#    define PMIX_VERSION_MAJOR   5L
#    define PMIX_VERSION_MINOR   0L
#    define PMIX_VERSION_RELEASE 10L
#    define PMIX_NUMERIC_VERSION 0x0005000a
#else
#    define PMIX_VERSION_MAJOR   7L
#    define PMIX_VERSION_MINOR   0L
#    define PMIX_VERSION_RELEASE 0L
/* 0x00MMmmrr, for comparisons as one number. */
#    define PMIX_NUMERIC_VERSION 0x00070000
#endif

/*
 * Capabilities. Each macro's presence says that the library has the ability; PMIX_CAPABILITIES is the older form,
 * where a configure script tests bits of one number, so PMIX_CAP_BASE keeps the value it had in that form.
 */
#define PMIX_CAP_BASE          1
#define PMIX_CAP_LTO           1
#define PMIX_CAP_INMEMHELP     2
#define PMIX_CAP_UPCALLS2      3
#define PMIX_CAP_STOP_PRGTHRD  4
#define PMIX_CAP_GET_NUMBER_FN 5
#define PMIX_CAP_REGEX2        6
#define PMIX_CAPABILITIES      3

#define PMIX_CAP_GROUP_FT             7
#define PMIX_CAP_IOF_FILE_PATTERN     9
#define PMIX_CAP_TOOL_FINALIZED       11
#define PMIX_CAP_IOF_DELIVER_LOCAL    12
#define PMIX_CAP_GROUP_JOIN_COMPLETES 13
#define PMIX_CAP_IOF_FLOW_CONTROL     14
#define PMIX_CAP_DATA_DELETE          17
#define PMIX_CAP_SESSION_REGISTRATION 19
#define PMIX_CAP_DEVICE_DIST_ORIGIN   20

#endif /* PMIX_VERSION_H */
