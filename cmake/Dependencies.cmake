# SPDX-License-Identifier: BSD-3-Clause
# libevent (core), hwloc and zlib are opened at first use, so only their headers are needed. The static library links
# libevent and zlib.
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(LIBEVENT_CORE REQUIRED IMPORTED_TARGET libevent_core)
pkg_check_modules(HWLOC REQUIRED hwloc)

add_library(wireup_dependencies INTERFACE)
target_link_libraries(wireup_dependencies INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
target_include_directories(wireup_dependencies SYSTEM INTERFACE ${LIBEVENT_CORE_INCLUDE_DIRS} ${ZLIB_INCLUDE_DIRS} ${HWLOC_INCLUDE_DIRS})

# gcc before 13 calls libatomic for atomics of one byte where the machine has none (riscv64).
include(CheckCXXSourceCompiles)
check_cxx_source_compiles("#include <atomic>
std::atomic<bool> flag;
int main() { return flag.exchange(true); }" WIREUP_ATOMICS_ARE_INLINE)
if(NOT WIREUP_ATOMICS_ARE_INLINE)
  target_link_libraries(wireup_dependencies INTERFACE atomic)
  set(WIREUP_LIBATOMIC " -latomic")  # for pmix.pc
endif()
