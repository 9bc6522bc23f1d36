// SPDX-License-Identifier: BSD-3-Clause
// pps: the processes of jobs.
#include <cstdio>
#include <cstring>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pps",
    "the processes of PMIx jobs",
    "[JOB...]",
    "Lists the processes of all jobs of the server, or of the named ones: rank, node, pid, state and program.",
    {{"local", nullptr, "only those of the server's own node"}, {"json", nullptr, "as JSON"}},
    true,
    0,
    64,
    {{"pps", "all jobs of the server"}, {"pps --local --json myjob", "one job's processes on this node"}},
};

pmix_status_t table(const CommandLine& line, const std::string& job, Answers& answers) {
    const char* keys[] = {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE};
    pmix_status_t rc = PMIX_ERR_NOT_FOUND;
    // A server may have the table of its own node only.
    for (int i = line.has("local") ? 1 : 0; i < 2; ++i) {
        Infos about;
        about.text(PMIX_NSPACE, job);
        if (answers.infos != nullptr) PMIx_Info_free(answers.infos, answers.count);
        answers.infos = nullptr;
        query({keys[i]}, about, answers);
        rc = answers.status;
        if (rc == PMIX_SUCCESS) break;
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

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    const Tool tool(line, Role::either);
    std::vector<std::string> jobs = line.operands();
    if (jobs.empty()) {
        Infos none;
        Answers answers;
        query({PMIX_QUERY_NAMESPACES}, none, answers);
        const pmix_value_t* value = answers.find(PMIX_QUERY_NAMESPACES);
        if (value == nullptr) return failed(kProgram.name, "cannot list the jobs", answers.status);
        for (const std::string& job : split_all(shown(*value), ','))
            if (!job.empty()) jobs.push_back(job);
    }
    int status = kGood;
    std::string out;
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
        if (line.has("json")) {
            out += (out.empty() ? "" : ",") + json_text(job) + ":" + json(all);
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
    }
    if (line.has("json")) std::printf("{%s}\n", out.c_str());
    return status;
}
