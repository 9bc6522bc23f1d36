// SPDX-License-Identifier: BSD-3-Clause
#include "server_notes.h"

#include <algorithm>
#include <vector>

#include "server_page.h"

namespace commands {
namespace {

void add_notes(pid_t pid, const std::string& condition, bool stacks, Infos& to) {
    to.text(kCondition, condition);
    if (condition.empty() || condition == "ended") return;
    if (const std::string place = process_wait_channel(pid); !place.empty()) to.text(kWaitChannel, place);
    if (!stacks) return;
    if (const std::string stack = process_kernel_stack(pid); !stack.empty()) to.text(kStack, stack);
}

pmix_proc_state_t state_of(const pmix_info_t* proc, size_t n) {
    const pmix_value_t* state = value_of(proc, n, PMIX_PROC_STATE_STATUS);
    return state == nullptr || state->type != PMIX_PROC_STATE ? pmix_proc_state_t{PMIX_PROC_STATE_UNDEF}
                                                              : state->data.state;
}

struct NotedProcess {
    pmix_rank_t rank = 0;
    bool well = true;
    Infos infos;
};

NotedProcess process_with_notes(const std::string& nspace, const pmix_info_t* proc, size_t n,
                                const NoteOptions& options) {
    NotedProcess out;
    long number = 0;
    pid_t pid = 0;
    if (to_number(text_of(proc, n, PMIX_RANK), number)) out.rank = static_cast<pmix_rank_t>(number);
    if (to_number(text_of(proc, n, PMIX_PROC_PID), number)) pid = static_cast<pid_t>(number);
    if (options.started != nullptr && pid == 0)
        if (const auto at = options.started->find({nspace, out.rank}); at != options.started->end()) pid = at->second;
    for (size_t i = 0; i < n; ++i)
        if (!PMIx_Check_key(proc[i].key, PMIX_PROC_PID)) out.infos.copy(proc[i]);
    out.infos.add(PMIX_PROC_PID, &pid, PMIX_PID);
    const bool look = options.started != nullptr && state_of(proc, n) != PMIX_PROC_STATE_TERMINATED;
    add_notes(pid, look && pid != 0 ? process_condition(pid) : "", options.stacks, out.infos);
    out.well = is_well(out.infos.data(), out.infos.size());
    return out;
}

Infos job_with_notes(const pmix_info_t* job, size_t n, const NoteOptions& options) {
    Infos out;
    std::vector<NotedProcess> all;
    const std::string nspace = text_of(job, n, PMIX_NSPACE);
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* proc = infos_in(job[i].value, parts);
        if (!PMIx_Check_key(job[i].key, WIREUP_REPORT_PROC)) {
            out.copy(job[i]);
        } else {
            all.push_back(process_with_notes(nspace, proc, parts, options));
        }
    }
    std::stable_sort(all.begin(), all.end(), [](const NotedProcess& a, const NotedProcess& b) {
        return a.well != b.well ? !a.well : a.rank < b.rank;
    });
    for (NotedProcess& process : all) out.part(WIREUP_REPORT_PROC, process.infos);
    return out;
}

}  // namespace

bool is_well(const pmix_info_t* proc, size_t n) {
    const pmix_proc_state_t state = state_of(proc, n);
    const std::string condition = text_of(proc, n, kCondition);
    return state != PMIX_PROC_STATE_LAUNCH_UNDERWAY && state != PMIX_PROC_STATE_COMM_FAILED && condition != "stopped" &&
           condition != "traced";
}

Infos with_notes(const pmix_info_t* infos, size_t n, const NoteOptions& options) {
    Infos out;
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) {
            Infos job = job_with_notes(inner, parts, options);
            out.part(WIREUP_REPORT_JOB, job);
        } else {
            out.copy(infos[i]);
        }
    }
    return out;
}

Infos silent_server(const std::string& hostname, pid_t pid, const std::string& problem, bool stacks) {
    Infos out;
    if (!hostname.empty()) out.text(PMIX_HOSTNAME, hostname);
    if (pid != 0) {
        out.add(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
        out.text(kName, process_name(pid));
    }
    out.text(kProblem, problem);
    std::string condition = pid == 0 ? "" : process_condition(pid);
    // The loop of a server is a thread of its own: what its main thread does says little.
    if (condition == "sleeping" && any_thread_runs(pid)) condition = "running";
    add_notes(pid, condition, stacks, out);
    return out;
}

}  // namespace commands
