/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Version of the programming interface that these headers offer.
 *
 * They hold every name of OpenPMIx 4.2.2, 5.0.10, 6.1.0 and 7.0.0rc1 and claim the level 5.0, that is: what a configure script
 * may rely on when it compares these numbers. The version of the library itself is told by PMIx_Get_version().
 */
#ifndef PMIX_VERSION_H
#define PMIX_VERSION_H

#define PMIX_VERSION_MAJOR   5L
#define PMIX_VERSION_MINOR   0L
#define PMIX_VERSION_RELEASE 10L

/* 0x00MMmmrr, for comparisons as one number. */
#define PMIX_NUMERIC_VERSION 0x0005000a

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

#define PMIX_CAP_IOF_FLOW_CONTROL     14
#define PMIX_CAP_DATA_DELETE          17
#define PMIX_CAP_SESSION_REGISTRATION 19
#define PMIX_CAP_DEVICE_DIST_ORIGIN   20

#endif /* PMIX_VERSION_H */
