/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of OpenPMIx's frameworks, which Open MPI 5 and later read when they are loaded: an environment variable
 * OMPI_MCA_<name>_<rest> whose <name> is among these is meant for PMIx, and Open MPI sets PMIX_MCA_<name>_<rest> for it.
 * This library has no such frameworks. Not part of the Standard; the path is the one that Open MPI's sources include.
 */
#ifndef PMIX_FRAMEWORKS_H
#define PMIX_FRAMEWORKS_H

#include <pmix_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Ends with NULL. Only for reading; the library owns the names. */
PMIX_EXPORT extern char *pmix_framework_names[];

#ifdef __cplusplus
}
#endif

#endif
