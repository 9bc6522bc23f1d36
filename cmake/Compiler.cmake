# SPDX-License-Identifier: BSD-3-Clause
# How everything of ours is compiled. Nothing is visible unless cmake/pmix.map says so. Warnings are errors for us and not
# for users, whose compilers and flags warn of what ours do not.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
find_program(WIREUP_CCACHE ccache)
if(WIREUP_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${WIREUP_CCACHE})
  # Objects that read a precompiled header are kept too.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${WIREUP_CCACHE})
endif()

# wireup_warnings: for every target. wireup_options: for the library's own objects.
add_library(wireup_warnings INTERFACE)
target_compile_options(wireup_warnings INTERFACE -Wall -Wextra -Wshadow -Wvla -Wpointer-arith
  $<$<BOOL:${WIREUP_WERROR}>:-Werror>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
# What the builder's own flags say of warnings comes last: it takes a warning, or its being an error, away again.
foreach(_language C CXX)
  separate_arguments(_flags UNIX_COMMAND "${CMAKE_${_language}_FLAGS}")
  list(FILTER _flags INCLUDE REGEX "^-W")
  list(FILTER _flags EXCLUDE REGEX "^-W[alp],")
  foreach(_flag IN LISTS _flags)
    target_compile_options(wireup_warnings INTERFACE $<$<COMPILE_LANGUAGE:${_language}>:${_flag}>)
  endforeach()
endforeach()
target_compile_features(wireup_warnings INTERFACE cxx_std_20 c_std_11)
target_compile_definitions(wireup_warnings INTERFACE _GNU_SOURCE)
if(WIREUP_CHECK_ONLY)
  target_compile_options(wireup_warnings INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:WIREUP_OBJECTS>>>:-fsyntax-only>)
endif()
if(WIREUP_SANITIZE)
  target_compile_options(wireup_warnings INTERFACE -fsanitize=${WIREUP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(wireup_warnings INTERFACE -fsanitize=${WIREUP_SANITIZE})
  # Undefined behaviour ends the process at the place, and AddressSanitizer prints the stack of it. The data of UBSan's
  # messages made objects of gcc twice as large, and their relocations a third of the start of a process.
  if(WIREUP_SANITIZE MATCHES undefined)
    # A callback of the caller's has its type from another program: clang takes it for another function's.
    target_compile_options(wireup_warnings INTERFACE
      $<IF:$<C_COMPILER_ID:Clang>,-fsanitize-trap=undefined$<SEMICOLON>-fno-sanitize=function,-fsanitize-undefined-trap-on-error>)
  endif()
endif()
if(WIREUP_FUZZ)
  # libFuzzer is led by the coverage of the library itself, not only by that of a target's own file.
  target_compile_options(wireup_warnings INTERFACE -fsanitize=fuzzer-no-link)
  target_link_options(wireup_warnings INTERFACE -fsanitize=fuzzer-no-link)
endif()

add_library(wireup_options INTERFACE)
target_link_libraries(wireup_options INTERFACE wireup_warnings)
target_include_directories(wireup_options INTERFACE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
target_compile_options(wireup_options INTERFACE -fvisibility=hidden -ffunction-sections -fdata-sections
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>
  # The table of attributes is sorted while compiling, which is more than clang allows unasked.
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety$<SEMICOLON>-fconstexpr-steps=16777216>)
# The library defines PMIx_server_init, which is a macro too for those who call it.
target_compile_definitions(wireup_options INTERFACE WIREUP_VERSION="${PROJECT_VERSION}"
  WIREUP_PMIX_RELEASE="${WIREUP_PMIX_RELEASE}" WIREUP_PMIX_NUMERIC=${WIREUP_PMIX_NUMERIC} PMIX_SERVER_INIT_PLAIN)
