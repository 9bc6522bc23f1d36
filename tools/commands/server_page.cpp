// SPDX-License-Identifier: BSD-3-Clause
#include "server_page.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "tool.h"

namespace commands {

std::string text_of(const pmix_info_t* infos, size_t n, const char* key) {
    for (size_t i = 0; i < n; ++i)
        if (PMIx_Check_key(infos[i].key, key)) return shown(infos[i].value);
    return "";
}

const pmix_value_t* value_of(const pmix_info_t* infos, size_t n, const char* key) {
    for (size_t i = 0; i < n; ++i)
        if (PMIx_Check_key(infos[i].key, key)) return &infos[i].value;
    return nullptr;
}

namespace {

// "job:0-3,7": the members of a list, with ranges.
std::string ranks(const pmix_value_t* value) {
    if (value == nullptr || value->type != PMIX_DATA_ARRAY || value->data.darray == nullptr) return "";
    const auto* given = static_cast<const pmix_proc_t*>(value->data.darray->array);
    const size_t n = value->data.darray->size;
    std::vector<pmix_proc_t> procs(given, given + n);
    std::stable_sort(procs.begin(), procs.end(), [](const pmix_proc_t& a, const pmix_proc_t& b) {
        const int order = std::strcmp(a.nspace, b.nspace);
        return order != 0 ? order < 0 : a.rank < b.rank;
    });
    std::string out;
    for (size_t i = 0; i < n;) {
        const bool same_job = i > 0 && std::strcmp(procs[i].nspace, procs[i - 1].nspace) == 0;
        size_t end = i;
        while (end + 1 < n && std::strcmp(procs[end + 1].nspace, procs[i].nspace) == 0 &&
               procs[end + 1].rank == procs[end].rank + 1)
            ++end;
        if (same_job) {
            out += "," + std::to_string(procs[i].rank);
        } else {
            out += (i == 0 ? "" : " ") + shown(procs[i]);
        }
        if (end > i) out += "-" + std::to_string(procs[end].rank);
        i = end + 1;
    }
    return out;
}

const char* state_text(const pmix_value_t* value) {
    if (value == nullptr) return "?";
    switch (value->data.state) {
        case PMIX_PROC_STATE_LAUNCH_UNDERWAY:
            return "not connected";
        case PMIX_PROC_STATE_CONNECTED:
            return "connected";
        case PMIX_PROC_STATE_TERMINATED:
            return "finalized";
        case PMIX_PROC_STATE_COMM_FAILED:
            return "lost";
        default:
            return PMIx_Proc_state_string(value->data.state);
    }
}

struct Process {
    pmix_rank_t rank = 0;
    const pmix_value_t* state = nullptr;
    pid_t pid = 0;
    std::string condition;
    bool well = true;
};

// Those that may be the reason of a hang come first: not connected, lost, stopped. By rank otherwise.
std::vector<Process> processes(const pmix_info_t* infos, size_t n, const Started& started) {
    std::vector<Process> all;
    const std::string nspace = text_of(infos, n, PMIX_NSPACE);
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_PROC)) continue;
        size_t parts = 0;
        const pmix_info_t* proc = infos_in(infos[i].value, parts);
        Process one;
        long number = 0;
        if (to_number(text_of(proc, parts, PMIX_RANK), number)) one.rank = static_cast<pmix_rank_t>(number);
        if (to_number(text_of(proc, parts, PMIX_PROC_PID), number)) one.pid = static_cast<pid_t>(number);
        one.state = value_of(proc, parts, PMIX_PROC_STATE_STATUS);
        const pmix_proc_state_t state = one.state == nullptr ? PMIX_PROC_STATE_UNDEF : one.state->data.state;
        if (const auto at = started.find({nspace, one.rank}); one.pid == 0 && at != started.end()) one.pid = at->second;
        if (one.pid != 0 && state != PMIX_PROC_STATE_TERMINATED) one.condition = process_condition(one.pid);
        one.well = state != PMIX_PROC_STATE_LAUNCH_UNDERWAY && state != PMIX_PROC_STATE_COMM_FAILED &&
                   one.condition != "stopped" && one.condition != "traced";
        all.push_back(std::move(one));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Process& a, const Process& b) { return a.well != b.well ? !a.well : a.rank < b.rank; });
    return all;
}

void print_job(const pmix_info_t* infos, size_t n, const Started& started) {
    const pmix_value_t* store = value_of(infos, n, WIREUP_REPORT_STORE);
    std::printf("  job %s: %s processes, %s here; data %.1f KiB\n", text_of(infos, n, PMIX_NSPACE).c_str(),
                text_of(infos, n, PMIX_JOB_SIZE).c_str(), text_of(infos, n, PMIX_LOCAL_SIZE).c_str(),
                store == nullptr ? 0.0 : static_cast<double>(store->data.uint64) / 1024.0);
    for (const Process& process : processes(infos, n, started)) {
        std::string line = state_text(process.state);
        line.resize(std::max<size_t>(line.size(), 14), ' ');
        if (process.pid != 0) line += " pid " + std::to_string(process.pid);
        if (!process.condition.empty()) line += ", " + process.condition;
        std::printf("    rank %-6s %s\n", std::to_string(process.rank).c_str(), line.c_str());
    }
}

void print_collective(const pmix_info_t* infos, size_t n) {
    const std::string missing = ranks(value_of(infos, n, WIREUP_REPORT_MISSING));
    const bool at_host = text_of(infos, n, WIREUP_REPORT_WAITS_FOR) == "host";
    std::printf("  %s of %s for %s s\n", text_of(infos, n, WIREUP_REPORT_OPERATION).c_str(),
                ranks(value_of(infos, n, WIREUP_REPORT_MEMBERS)).c_str(), text_of(infos, n, WIREUP_REPORT_AGE).c_str());
    std::printf("    joined:  %s\n", ranks(value_of(infos, n, WIREUP_REPORT_ARRIVED)).c_str());
    if (!missing.empty()) std::printf("    missing: %s\n", missing.c_str());
    if (at_host) std::printf("    waits for the resource manager and other nodes\n");
}

void print_request(const pmix_info_t* infos, size_t n) {
    const std::string key = text_of(infos, n, WIREUP_REPORT_KEY), target = text_of(infos, n, WIREUP_REPORT_TARGET);
    const bool at_host = text_of(infos, n, WIREUP_REPORT_WAITS_FOR) == "host";
    std::printf("  %s of %s: waits %s s for ", text_of(infos, n, WIREUP_REPORT_OPERATION).c_str(),
                text_of(infos, n, WIREUP_REPORT_ASKER).c_str(), text_of(infos, n, WIREUP_REPORT_AGE).c_str());
    if (!target.empty())
        std::printf("%s of %s%s\n", key.empty() ? "all data" : ("\"" + key + "\"").c_str(), target.c_str(),
                    at_host ? ", from the resource manager" : "");
    else
        std::printf("the resource manager\n");
}

// What occurs several times in a report.
bool is_list(const char* key) {
    for (const char* list : {WIREUP_REPORT_JOB, WIREUP_REPORT_COLLECTIVE, WIREUP_REPORT_REQUEST, WIREUP_REPORT_PROC})
        if (PMIx_Check_key(key, list)) return true;
    return false;
}

std::string list_json(const pmix_info_t* infos, size_t n, const char* key) {
    std::string out = json_text(key) + ":[";
    bool first = true;
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, key)) continue;
        out += (first ? "" : ",") + json(infos[i].value);
        first = false;
    }
    return out + "]";
}

std::string fields_json(const pmix_info_t* infos, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) {
        if (is_list(infos[i].key)) continue;
        out += json_text(infos[i].key) + ":" + json(infos[i].value) + ",";
    }
    return out;
}

std::string job_json(const pmix_info_t* infos, size_t n, const Started& started) {
    std::string out;
    for (const Process& process : processes(infos, n, started)) {
        for (size_t i = 0; i < n; ++i) {
            size_t parts = 0;
            const pmix_info_t* proc = infos_in(infos[i].value, parts);
            if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_PROC) ||
                text_of(proc, parts, PMIX_RANK) != std::to_string(process.rank))
                continue;
            out += std::string(out.empty() ? "" : ",") + "{";
            for (size_t k = 0; k < parts; ++k)
                if (!PMIx_Check_key(proc[k].key, PMIX_PROC_PID))
                    out += json_text(proc[k].key) + ":" + json(proc[k].value) + ",";
            out += json_text(PMIX_PROC_PID) + ":" + std::to_string(process.pid) +
                   ",\"condition\":" + json_text(process.condition) + "}";
        }
    }
    return "{" + fields_json(infos, n) + json_text(WIREUP_REPORT_PROC) + ":[" + out + "]}";
}

}  // namespace

void print_server(const pmix_proc_t& name, const pmix_info_t* infos, size_t n, const Started& started) {
    std::printf("server %s on %s, pid %s\n", shown(name).c_str(), text_of(infos, n, PMIX_HOSTNAME).c_str(),
                text_of(infos, n, PMIX_SERVER_PIDINFO).c_str());
    bool waits = false;
    // What misses a process of this node, then what waits for others, then who is there.
    for (const bool missing : {true, false}) {
        for (size_t i = 0; i < n; ++i) {
            if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE)) continue;
            size_t parts = 0;
            const pmix_info_t* inner = infos_in(infos[i].value, parts);
            waits = true;
            if (ranks(value_of(inner, parts, WIREUP_REPORT_MISSING)).empty() != missing) print_collective(inner, parts);
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_REQUEST)) continue;
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        waits = true;
        print_request(inner, parts);
    }
    if (!waits) std::printf("  nothing waits here\n");
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) print_job(inner, parts, started);
    }
}

bool waits_for_process(const pmix_info_t* infos, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE)) continue;
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (!ranks(value_of(inner, parts, WIREUP_REPORT_MISSING)).empty()) return true;
    }
    return false;
}

std::string server_json(const pmix_info_t* infos, size_t n, const Started& started) {
    std::string jobs;
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB))
            jobs += (jobs.empty() ? "" : ",") + job_json(inner, parts, started);
    }
    return "{" + fields_json(infos, n) + json_text(WIREUP_REPORT_JOB) + ":[" + jobs + "]," +
           list_json(infos, n, WIREUP_REPORT_COLLECTIVE) + "," + list_json(infos, n, WIREUP_REPORT_REQUEST) + "}";
}

}  // namespace commands
