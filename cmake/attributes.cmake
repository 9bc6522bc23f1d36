# SPDX-License-Identifier: BSD-3-Clause
# The table of attributes, made from the headers: cmake -DINCLUDE=include -DOUT=FILE -P attributes.cmake
#
# An attribute is a #define of a name to a string; the comment behind it begins with the C type of the value. The first
# name of a string is its attribute, later ones are aliases. Rows are sorted by name.

cmake_minimum_required(VERSION 3.22)

set(types
    "array=DATA_ARRAY" "bool=BOOL" "char*=STRING" "double=DOUBLE" "float=FLOAT" "hwloc_topology_t=POINTER"
    "infos=DATA_ARRAY" "int32_t=INT32" "int=INT" "pid_t=PID" "pmix_alloc_directive_t=ALLOC_DIRECTIVE"
    "pmix_alloc_inheritance_t=ALLOC_INHERIT" "pmix_byte_object_t=BYTE_OBJECT"
    "pmix_cpuset_t*=PROC_CPUSET" "pmix_data_range_t=DATA_RANGE" "pmix_device_type_t=DEVTYPE" "pmix_envar_t*=ENVAR"
    "pmix_geometry_t=GEOMETRY" "pmix_link_state_t=LINK_STATE" "pmix_persistence_t=PERSIST"
    "pmix_proc_state_t=PROC_STATE" "pmix_proc_t=PROC" "pmix_proc_t*=PROC" "pmix_proc_t<>=DATA_ARRAY"
    "pmix_rank_t=PROC_RANK" "pmix_scope_t=SCOPE" "pmix_status_t=STATUS"
    "pmix_storage_access_type_t=STOR_ACCESS_TYPE" "pmix_storage_accessibility_t=STOR_ACCESS"
    "pmix_storage_medium_t=STOR_MEDIUM" "pmix_storage_persistence_t=STOR_PERSIST" "pmix_topology_t*=TOPO"
    "pointer=POINTER" "size_t=SIZE" "struct event_base *=POINTER" "struct timeval=TIMEVAL" "time_t=TIME"
    "uint16_t=UINT16" "uint32_t=UINT32" "uint64_t=UINT64" "void*=POINTER" "=DATA_ARRAY")
foreach(row IN LISTS types)
    string(REGEX MATCH "^(.*)=(.*)$" ok "${row}")
    set("type_${CMAKE_MATCH_1}" "PMIX_${CMAKE_MATCH_2}")
    list(APPEND known "type_${CMAKE_MATCH_1}")
endforeach()
# Names of environment variables, which look the same.
set(no_attributes PMIX_LAUNCHER_RNDZ_URI PMIX_LAUNCHER_RNDZ_FILE PMIX_KEEPALIVE_PIPE)

set(rows)
set(strings)
foreach(header pmix_common.h pmix.h pmix_server.h pmix_tool.h pmix_deprecated.h)
    file(READ "${INCLUDE}/${header}" text)
    # What means something in a list of CMake's.
    string(REPLACE ";" "," text "${text}")
    string(REPLACE "[" "<" text "${text}")
    string(REPLACE "]" ">" text "${text}")
    string(REPLACE "\\\n" " " text "${text}")
    string(REGEX MATCHALL "#define +(PMIX|WIREUP)_[A-Z0-9_]+ +\"[^\"\n]*\"( */\\*[^\n]*)?" found "${text}")
    foreach(line IN LISTS found)
        string(REGEX MATCH "#define +([A-Z0-9_]+) +\"([^\"]*)\" *(/\\* *([^\n]*))?$" ok "${line}")
        set(name "${CMAKE_MATCH_1}")
        set(string "${CMAKE_MATCH_2}")
        string(REGEX REPLACE "[:,].*$" "" type "${CMAKE_MATCH_4}")
        string(REGEX REPLACE "\\*/.*$" "" type "${type}")
        string(STRIP "${type}" type)
        if(name IN_LIST no_attributes)
            continue()
        endif()
        set(kind ATTRIBUTE)
        if(string IN_LIST strings)
            set(kind ALIAS)
        else()
            list(APPEND strings "${string}")
        endif()
        if(NOT "type_${type}" IN_LIST known)
            set("type_${type}" PMIX_UNDEF)
        endif()
        list(APPEND rows "${name} ${kind}(${name}, \"${string}\", ${type_${type}})")
    endforeach()
endforeach()
list(SORT rows)
list(TRANSFORM rows REPLACE "^[^ ]+ (.*)$" "\\1")
list(JOIN rows "\n" text)
file(WRITE "${OUT}" "// Made by cmake/attributes.cmake from the headers.\n${text}\n")
