// SPDX-License-Identifier: BSD-3-Clause
// How wireup-top shows the report of one server: as text for people, as JSON for scripts.
//
// One thread; nothing owned. The JSON is described by docs/reference/wireup-top.schema.json: what may occur several
// times is an array, also when it occurs once or never.
#pragma once

#include <pmix_common.h>

#include <string>

#include "node_processes.h"

namespace commands {

// infos: the value of WIREUP_QUERY_REPORT. started: where the pid of a process is looked up that has not connected.
void print_server(const pmix_proc_t& name, const pmix_info_t* infos, size_t n, const Started& started);
std::string server_json(const pmix_info_t* infos, size_t n, const Started& started);
// An operation in progress misses a process of this node.
bool waits_for_process(const pmix_info_t* infos, size_t n);

// Of infos: the value of a key as text, or the value, or empty and null.
std::string text_of(const pmix_info_t* infos, size_t n, const char* key);
const pmix_value_t* value_of(const pmix_info_t* infos, size_t n, const char* key);

}  // namespace commands
