# SPDX-License-Identifier: BSD-3-Clause
# What every kind of package states of itself: cpack's (cmake/Packages.cmake), Debian's source package (debian/control.in) and
# the RPM (wireup.spec.in) are filled from here. TEXT_*: paragraphs, one line each.
set(WIREUP_SUMMARY "Process management interface for exascale (PMIx), independent implementation")
set(WIREUP_LIB_SUMMARY "independent implementation of PMIx: library")
set(WIREUP_DEV_SUMMARY "independent implementation of PMIx: development files")
set(WIREUP_TOOLS_SUMMARY "independent implementation of PMIx: commands")
set(WIREUP_TEXT "PMIx is the interface by which MPI libraries, resource managers and tools\nstart the processes of a parallel job, exchange their addresses and tell each\nother about events. Wireup implements it with the binary interface of OpenPMIx\n4.2 to 7.0.")
set(WIREUP_LIB_TEXT "The shared library libpmix.so.2.")
set(WIREUP_DEV_TEXT "Headers, static library, pkg-config and CMake files.")
set(WIREUP_TOOLS_TEXT "The commands wireup-top, pps, pquery, pevent, plookup, pattrs, palloc, pctrl\nand pmix_info, and the launcher pmixrun.")
# hwloc is opened at first use and munge where it is wanted; nothing breaks without them.
set(WIREUP_LIB_RECOMMENDS libhwloc15)
set(WIREUP_LIB_SUGGESTS libmunge2)
