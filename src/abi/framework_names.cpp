// SPDX-License-Identifier: BSD-3-Clause
// pmix_framework_names, the one datum of the binary interface (src/include/pmix_frameworks.h).
//
// Owns the array: the names of OpenPMIx 5.0 and of 6.0 to 7.0 together. Never written; any thread reads it. Nothing can
// go wrong. It is not const because Open MPI's binaries were built against an array of char*.
#include <src/include/pmix_frameworks.h>

namespace {

char g_names[][13] = {"bfrops", "gds",  "pcompress", "pdl",     "pgpu",    "pif",   "pinstalldirs", "plog", "pmdl",
                      "pnet",   "preg", "psec",      "psensor", "psquash", "pstat", "ptl",          "mca"};

}  // namespace

char* pmix_framework_names[] = {g_names[0],  g_names[1],  g_names[2],  g_names[3],  g_names[4],  g_names[5],
                                g_names[6],  g_names[7],  g_names[8],  g_names[9],  g_names[10], g_names[11],
                                g_names[12], g_names[13], g_names[14], g_names[15], g_names[16], nullptr};
