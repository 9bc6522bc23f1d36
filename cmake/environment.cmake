# SPDX-License-Identifier: BSD-3-Clause
# The table of variables, made from the page about them: cmake -DPAGE=environment.md -DOUT=FILE -P environment.cmake
#
# VARIABLE(names with blanks between them, who reads them, what they mean), a row each, as text without marks.

cmake_minimum_required(VERSION 3.22)

file(READ "${PAGE}" text)
# What means something in a list of CMake's.
string(ASCII 1 semicolon)
string(REPLACE ";" "${semicolon}" text "${text}")
string(REPLACE "[" "<" text "${text}")
string(REPLACE "]" ">" text "${text}")
string(REGEX MATCHALL "\n\\| `[^\n]*" found "${text}")
set(rows)
foreach(line IN LISTS found)
    string(REGEX MATCH "^\n\\| ([^|]*) \\| ([^|]*) \\| (.*) \\|$" ok "${line}")
    set(names "${CMAKE_MATCH_1}")
    set(readers "${CMAKE_MATCH_2}")
    set(meaning "${CMAKE_MATCH_3}")
    if(NOT ok)
        message(FATAL_ERROR "${PAGE}: not a row of three: ${line}")
    endif()
    string(REGEX REPLACE "[`,]" "" names "${names}")
    string(REPLACE "`" "" meaning "${meaning}")
    string(REPLACE "\\" "\\\\" meaning "${meaning}")
    string(REPLACE "\"" "\\\"" meaning "${meaning}")
    string(APPEND rows "VARIABLE(\"${names}\", \"${readers}\", \"${meaning}\")\n")
endforeach()
if(NOT rows)
    message(FATAL_ERROR "${PAGE}: no variables")
endif()
string(REPLACE "<" "[" rows "${rows}")
string(REPLACE ">" "]" rows "${rows}")
string(REPLACE "${semicolon}" ";" rows "${rows}")
file(WRITE "${OUT}" "// Made by cmake/environment.cmake from docs/reference/environment.md.\n${rows}")
