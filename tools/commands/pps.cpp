// SPDX-License-Identifier: BSD-3-Clause
// pps: the processes of jobs.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pps",
    "the processes of PMIx jobs",
    "[JOB...]",
    "Lists the processes of all jobs of the server, or of the named ones: rank, node, pid, state and program. Where\n"
    "several servers may be meant and no job is named, these are the jobs of all of them.\n\n"
    "With --local, and where only the server answers because its resource manager takes no tools, these are the\n"
    "processes of the server's own node. Where the job has others, a line says so (with --json on stderr).",
    {{"local", nullptr, "only those of the server's own node"},
     {"json", nullptr, "as JSON"},
     {"timeout-query", "SECONDS", "limit of time for each answer (default 60)"}},
    true,
    0,
    64,
    {{"pps", "all jobs of the server"}, {"pps --local --json myjob", "one job's processes on this node"}},
};

constexpr long kQuerySeconds = 60;

int query_seconds(const CommandLine& line) {
    return static_cast<int>(line.number("timeout-query", kQuerySeconds, 1));
}

// A server or resource manager that is stopped must not hold up the command for ever.
void limit(const CommandLine& line, Infos& about) {
    const int seconds = query_seconds(line);
    about.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
}

pmix_status_t table(const CommandLine& line, const std::string& job, Answers& answers) {
    const char* keys[] = {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE};
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    // A server may have the table of its own node only.
    for (int i = line.has("local") ? 1 : 0; i < 2; ++i) {
        Infos about;
        about.text(PMIX_NSPACE, job);
        limit(line, about);
        if (answers.infos != nullptr) PMIx_Info_free(answers.infos, answers.count);
        answers.infos = nullptr;
        query({keys[i]}, about, answers);
        rc = answers.status;
        if (rc == PMIX_SUCCESS || rc == PMIX_ERR_TIMEOUT) break;
    }
    return rc;
}

const pmix_data_array_t* rows_of(const Answers& answers) {
    for (const char* key : {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE}) {
        const pmix_value_t* value = answers.find(key);
        if (value != nullptr && value->type == PMIX_DATA_ARRAY && value->data.darray->type == PMIX_PROC_INFO)
            return value->data.darray;
    }
    return nullptr;
}

// Where these are not all processes of the job: "2 of 4 processes: those of node1 only". Empty: all, or it is not
// known.
std::string part_of_job(const CommandLine& line, const std::string& job, const pmix_data_array_t& rows) {
    Infos about;
    about.text(PMIX_NSPACE, job);
    limit(line, about);
    Answers answers;
    query({PMIX_JOB_SIZE}, about, answers);
    const pmix_value_t* size = answers.find(PMIX_JOB_SIZE);
    long all = 0;
    if (size == nullptr || !to_number(shown(*size), all) || rows.size >= static_cast<size_t>(all)) return "";
    const auto* procs = static_cast<const pmix_proc_info_t*>(rows.array);
    std::vector<std::string> nodes;
    for (size_t i = 0; i < rows.size; ++i) {
        const std::string node = procs[i].hostname == nullptr ? "this node" : procs[i].hostname;
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
    }
    std::string names;
    for (const std::string& node : nodes) names += (names.empty() ? "" : ", ") + node;
    return std::to_string(rows.size) + " of " + std::to_string(all) + " processes: those of " +
           (names.empty() ? "this node" : names) + " only";
}

}  // namespace

namespace {

// The named jobs, or all of the server. The exit status.
int list_jobs(const CommandLine& line, std::vector<std::string> jobs, std::string& out) {
    if (jobs.empty()) {
        Infos limited;
        Answers answers;
        limit(line, limited);
        query({PMIX_QUERY_NAMESPACES}, limited, answers);
        const pmix_value_t* value = answers.find(PMIX_QUERY_NAMESPACES);
        if (value == nullptr) return failed(kProgram.name, "cannot list the jobs", answers.status);
        for (const std::string& job : split_all(shown(*value), ','))
            if (!job.empty()) jobs.push_back(job);
    }
    int status = kGood;
    for (const std::string& job : jobs) {
        Answers answers;
        const pmix_status_t rc = table(line, job, answers);
        const pmix_data_array_t* rows = rows_of(answers);
        if (rows == nullptr) {
            status = failed(kProgram.name, job.c_str(), rc);
            continue;
        }
        pmix_value_t all{};
        all.type = PMIX_DATA_ARRAY;
        all.data.darray = const_cast<pmix_data_array_t*>(rows);
        const std::string part = part_of_job(line, job, *rows);
        if (line.has("json")) {
            if (!part.empty()) std::fprintf(stderr, "%s: %s: %s\n", kProgram.name, job.c_str(), part.c_str());
            out += json_comma(out);
            out += json_text(job) + ":" + json(all);
            continue;
        }
        std::printf("job %s\n  %8s %-16s %8s %-24s %s\n", job.c_str(), "rank", "node", "pid", "state", "program");
        const auto* procs = static_cast<const pmix_proc_info_t*>(rows->array);
        for (size_t i = 0; i < rows->size; ++i) {
            std::printf("  %8u %-16s %8d %-24s %s\n", procs[i].proc.rank,
                        procs[i].hostname == nullptr ? "" : procs[i].hostname, static_cast<int>(procs[i].pid),
                        PMIx_Proc_state_string(procs[i].state),
                        procs[i].executable_name == nullptr ? "" : procs[i].executable_name);
        }
        if (!part.empty()) std::printf("  %s\n", part.c_str());
    }
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    static_cast<void>(query_seconds(line));  // a wrong one is refused before anything is done
    auto tool = std::make_unique<Tool>(line, Role::either, line.operands().empty() ? Alike::listed : Alike::refused);
    const std::vector<SeenServer> alike = tool->alike();
    int status = kGood;
    std::string out;
    if (alike.empty()) status = list_jobs(line, line.operands(), out);
    for (const SeenServer& server : alike) {
        tool.reset();
        tool = std::make_unique<Tool>(line, Role::either, server.uri);
        if (!line.has("json")) std::printf("server %s pid %s\n", server.name.c_str(), server.pid.c_str());
        status = std::max(status, list_jobs(line, {}, out));
    }
    if (line.has("json")) std::printf("{%s}\n", out.c_str());
    return status;
}
