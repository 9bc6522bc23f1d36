// SPDX-License-Identifier: BSD-3-Clause
// How wireup-top shows the reports of servers: as text for people, as JSON for scripts.
//
// One thread; nothing owned. The JSON is described by docs/reference/wireup-top.schema.json: what may occur several
// times is an array, also when it occurs once or never.
#pragma once

#include <pmix_common.h>

#include <set>
#include <string>
#include <vector>

namespace commands {

// What is shown of a report, and how.
struct View {
    bool folded = false;           // servers without their jobs,
    std::set<std::string> unlike;  // but for these, by name, which are shown the other way
    std::string selected;          // the name of a server; empty: none
    bool by_rank = false;          // processes; else those that may be the reason of a hang come first
    bool stacks = false;           // where what may be the reason of a hang waits in the kernel
    std::string job;               // this one only; empty: all
    bool folds(const std::string& server) const { return folded != (unlike.count(server) != 0); }
};

// infos: a report with its notes (server_notes.h). The name is the one in the first line of its text.
std::string server_name(const pmix_info_t* infos, size_t n);
std::string server_text(const pmix_info_t* infos, size_t n, const View& view);
std::string server_json(const pmix_info_t* infos, size_t n);
// A report with its notes.
struct ReportView {
    const pmix_info_t* infos;
    size_t count;
};
// A process that an operation in progress misses.
struct MissingProcess {
    size_t report;      // in which it is
    std::string line;   // with what is known of it
    std::string stack;  // kernel_stack() of it
};
// Of all nodes together: a server does not know an operation that none of its own processes has joined.
std::vector<MissingProcess> missing_processes(const std::vector<ReportView>& reports);
// The jobs of a report.
std::vector<std::string> jobs_of(const pmix_info_t* infos, size_t n);

// The calls in the kernel among the notes of a process or a server, a line for each. Empty: none.
std::string kernel_stack(const pmix_info_t* infos, size_t n);
// As it is shown on a page, with a line in its place where there is none.
std::string stack_text(const std::string& stack);

// Of infos: the value of a key as text, or the value, or empty and null.
std::string text_of(const pmix_info_t* infos, size_t n, const char* key);
const pmix_value_t* value_of(const pmix_info_t* infos, size_t n, const char* key);

}  // namespace commands
