// SPDX-License-Identifier: BSD-3-Clause
#include "server_page.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "server_notes.h"
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

std::string kernel_stack(const pmix_info_t* infos, size_t n) {
    const pmix_value_t* stack = value_of(infos, n, kStack);
    std::string out;
    if (stack == nullptr || stack->type != PMIX_STRING || stack->data.string == nullptr) return out;
    for (const std::string& line : split_all(stack->data.string, '\n'))
        if (!line.empty()) out += "    " + line + "\n";
    return out;
}

namespace {

void say(std::string& out, const char* format, ...) __attribute__((format(printf, 2, 3)));
void say(std::string& out, const char* format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int size = std::vsnprintf(nullptr, 0, format, arguments);
    va_end(arguments);
    std::string text(static_cast<size_t>(std::max(size, 0)) + 1, '\0');
    std::vsnprintf(text.data(), text.size(), format, again);
    va_end(again);
    text.pop_back();
    out += text;
}

std::vector<pmix_proc_t> procs_in(const pmix_value_t* value) {
    if (value == nullptr || value->type != PMIX_DATA_ARRAY || value->data.darray == nullptr) return {};
    if (value->data.darray->type != PMIX_PROC || value->data.darray->size == 0) return {};
    const auto* given = static_cast<const pmix_proc_t*>(value->data.darray->array);
    return {given, given + value->data.darray->size};
}

// "job:0-3,7": the members of a list, with ranges.
std::string ranks(const pmix_value_t* value) {
    std::vector<pmix_proc_t> procs = procs_in(value);
    const size_t n = procs.size();
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

constexpr char kFinalized[] = "finalized", kLost[] = "lost";

const char* state_text(const pmix_value_t* value) {
    if (value == nullptr || value->type != PMIX_PROC_STATE) return "?";
    switch (value->data.state) {
        case PMIX_PROC_STATE_LAUNCH_UNDERWAY:
            return "not connected";
        case PMIX_PROC_STATE_CONNECTED:
            return "connected";
        case PMIX_PROC_STATE_TERMINATED:
            return kFinalized;
        case PMIX_PROC_STATE_COMM_FAILED:
            return kLost;
        default:
            return PMIx_Proc_state_string(value->data.state);
    }
}

struct Process {
    pmix_rank_t rank = 0;
    std::string state;
    std::string rest;  // pid and condition
    std::string wait_channel;
    std::string stack;
    bool ended = false;  // nobody waits for it any more
};

std::vector<Process> processes(const pmix_info_t* infos, size_t n) {
    std::vector<Process> all;
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_PROC)) continue;
        size_t parts = 0;
        const pmix_info_t* proc = infos_in(infos[i].value, parts);
        Process one;
        long number = 0;
        if (to_number(text_of(proc, parts, PMIX_RANK), number)) one.rank = static_cast<pmix_rank_t>(number);
        const std::string pid = text_of(proc, parts, PMIX_PROC_PID), condition = text_of(proc, parts, kCondition);
        one.state = state_text(value_of(proc, parts, PMIX_PROC_STATE_STATUS));
        one.ended = one.state == kFinalized || one.state == kLost;
        if (!pid.empty() && pid != "0") one.rest += " pid " + pid;
        if (!condition.empty()) one.rest += ", " + condition;
        one.wait_channel = text_of(proc, parts, kWaitChannel);
        one.stack = kernel_stack(proc, parts);
        all.push_back(std::move(one));
    }
    return all;
}

void print_job(std::string& out, const pmix_info_t* infos, size_t n, const View& view) {
    const pmix_value_t* store = value_of(infos, n, WIREUP_REPORT_STORE);
    say(out, "  job %s: %s processes, %s here; data %.1f KiB\n", text_of(infos, n, PMIX_NSPACE).c_str(),
        text_of(infos, n, PMIX_JOB_SIZE).c_str(), text_of(infos, n, PMIX_LOCAL_SIZE).c_str(),
        store == nullptr ? 0.0 : static_cast<double>(store->data.uint64) / 1024.0);
    std::vector<Process> all = processes(infos, n);
    if (view.by_rank)
        std::stable_sort(all.begin(), all.end(), [](const Process& a, const Process& b) { return a.rank < b.rank; });
    for (const Process& process : all)
        say(out, "    rank %-6s %-14s%s\n", std::to_string(process.rank).c_str(), process.state.c_str(),
            process.rest.c_str());
}

void print_collective(std::string& out, const pmix_info_t* infos, size_t n) {
    const std::string missing = ranks(value_of(infos, n, WIREUP_REPORT_MISSING));
    const bool at_host = text_of(infos, n, WIREUP_REPORT_WAITS_FOR) == "host";
    const std::string inviter = text_of(infos, n, WIREUP_REPORT_ASKER);
    const std::string members = ranks(value_of(infos, n, WIREUP_REPORT_MEMBERS));
    const std::string joined = ranks(value_of(infos, n, WIREUP_REPORT_ARRIVED));
    say(out, "  %s %s for %s s\n", text_of(infos, n, WIREUP_REPORT_OPERATION).c_str(),
        inviter.empty() ? ("of " + members).c_str() : ("by " + inviter + " to " + members).c_str(),
        text_of(infos, n, WIREUP_REPORT_AGE).c_str());
    if (inviter.empty())
        say(out, "    joined:  %s\n", joined.c_str());
    else if (!joined.empty())
        say(out, "    answered: %s\n", joined.c_str());
    if (!missing.empty()) say(out, "    missing: %s\n", missing.c_str());
    if (at_host) say(out, "    waits for the resource manager and other nodes\n");
}

void print_request(std::string& out, const pmix_info_t* infos, size_t n) {
    const std::string key = text_of(infos, n, WIREUP_REPORT_KEY), target = text_of(infos, n, WIREUP_REPORT_TARGET);
    const bool at_host = text_of(infos, n, WIREUP_REPORT_WAITS_FOR) == "host";
    say(out, "  %s of %s: waits %s s for ", text_of(infos, n, WIREUP_REPORT_OPERATION).c_str(),
        text_of(infos, n, WIREUP_REPORT_ASKER).c_str(), text_of(infos, n, WIREUP_REPORT_AGE).c_str());
    if (!target.empty())
        say(out, "%s of %s%s\n", key.empty() ? "all data" : ("\"" + key + "\"").c_str(), target.c_str(),
            at_host ? ", from the resource manager" : "");
    else
        say(out, "the resource manager\n");
}

// What occurs several times in a report.
bool is_list(const char* key) {
    for (const char* list : {WIREUP_REPORT_JOB, WIREUP_REPORT_COLLECTIVE, WIREUP_REPORT_REQUEST, WIREUP_REPORT_PROC})
        if (PMIx_Check_key(key, list)) return true;
    return false;
}

std::string list_json(const pmix_info_t* infos, size_t n, const char* key) {
    std::string elements;
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, key)) continue;
        elements += json_comma(elements);
        elements += json(infos[i].value);
    }
    return json_text(key) + ":[" + elements + "]";
}

std::string fields_json(const pmix_info_t* infos, size_t n) {
    std::string out;
    for (size_t i = 0; i < n; ++i) {
        if (is_list(infos[i].key)) continue;
        out += json_text(infos[i].key) + ":" + json(infos[i].value) + ",";
    }
    return out;
}

std::string job_json(const pmix_info_t* infos, size_t n) {
    return "{" + fields_json(infos, n) + list_json(infos, n, WIREUP_REPORT_PROC) + "}";
}

// An operation or a request that is about a job.
bool is_about(const pmix_info_t* infos, size_t n, const std::string& job) {
    if (job.empty()) return true;
    for (const pmix_proc_t& proc : procs_in(value_of(infos, n, WIREUP_REPORT_MEMBERS)))
        if (job == proc.nspace) return true;
    const std::string requester = text_of(infos, n, WIREUP_REPORT_ASKER);
    return requester.compare(0, job.size() + 1, job + ":") == 0;
}

bool is_silent(const pmix_info_t* infos, size_t n) {
    return value_of(infos, n, kProblem) != nullptr;
}

void print_silent(std::string& out, const pmix_info_t* infos, size_t n, const View& view) {
    const std::string condition = text_of(infos, n, kCondition);
    out += " " + text_of(infos, n, kProblem);
    const bool has_pid = !text_of(infos, n, PMIX_SERVER_PIDINFO).empty();
    if (has_pid) out += ": the process is " + (condition.empty() ? "not visible here" : condition);
    out += "\n";
    if (view.stacks && has_pid) out += stack_text(kernel_stack(infos, n));
}

}  // namespace

std::string stack_text(const std::string& stack) {
    return stack.empty() ? "    where it waits in the kernel is not shown to this user\n" : stack;
}

std::string server_name(const pmix_info_t* infos, size_t n) {
    const std::string host = text_of(infos, n, PMIX_HOSTNAME), pid = text_of(infos, n, PMIX_SERVER_PIDINFO);
    if (!is_silent(infos, n))
        return "server " + text_of(infos, n, PMIX_SERVER_NSPACE) + ":" + text_of(infos, n, PMIX_SERVER_RANK) + " on " +
               host + ", pid " + pid;
    std::string out = "server";
    if (!host.empty()) out += " on " + host;
    if (!pid.empty()) out += " in process " + pid + " (" + text_of(infos, n, kName) + ")";
    return out;
}

std::string server_text(const pmix_info_t* infos, size_t n, const View& view) {
    const std::string name = server_name(infos, n);
    std::string out = (name == view.selected ? "> " : "") + name;
    if (is_silent(infos, n)) return print_silent(out, infos, n, view), out;
    out += "\n";
    bool waits = false;
    // What misses a process of this node, then what waits for others, then who is there.
    for (const bool missing : {true, false}) {
        for (size_t i = 0; i < n; ++i) {
            size_t parts = 0;
            const pmix_info_t* inner = infos_in(infos[i].value, parts);
            if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE) || !is_about(inner, parts, view.job)) continue;
            waits = true;
            if (ranks(value_of(inner, parts, WIREUP_REPORT_MISSING)).empty() != missing)
                print_collective(out, inner, parts);
        }
    }
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_REQUEST) || !is_about(inner, parts, view.job)) continue;
        waits = true;
        print_request(out, inner, parts);
    }
    if (!waits) say(out, "  nothing waits here\n");
    for (size_t i = 0; i < n && !view.folds(name); ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) continue;
        if (view.job.empty() || view.job == text_of(inner, parts, PMIX_NSPACE)) print_job(out, inner, parts, view);
    }
    return out;
}

std::vector<MissingProcess> missing_processes(const std::vector<ReportView>& reports) {
    using Name = std::pair<std::string, pmix_rank_t>;
    struct Operation {
        std::string what;
        double age = 0;
        std::vector<pmix_proc_t> members;
        std::set<Name> joined;
    };
    // One operation has a row in the report of each node of which a process has joined it.
    std::map<std::pair<std::string, std::string>, Operation> operations;
    struct Place {
        size_t report;
        Process process;
    };
    std::map<Name, Place> all;
    for (size_t which = 0; which < reports.size(); ++which) {
        const auto& [infos, n] = reports[which];
        for (size_t i = 0; i < n; ++i) {
            size_t parts = 0;
            const pmix_info_t* inner = infos_in(infos[i].value, parts);
            if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE)) {
                const pmix_value_t* members = value_of(inner, parts, WIREUP_REPORT_MEMBERS);
                const pmix_value_t* age = value_of(inner, parts, WIREUP_REPORT_AGE);
                const std::string what = text_of(inner, parts, WIREUP_REPORT_OPERATION);
                Operation& operation = operations[{what, ranks(members)}];
                operation.what = what;
                operation.members = procs_in(members);
                if (age != nullptr && age->type == PMIX_DOUBLE) operation.age = std::max(operation.age, age->data.dval);
                for (const pmix_proc_t& proc : procs_in(value_of(inner, parts, WIREUP_REPORT_ARRIVED)))
                    operation.joined.emplace(proc.nspace, proc.rank);
            } else if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) {
                const std::string job = text_of(inner, parts, PMIX_NSPACE);
                for (Process& process : processes(inner, parts))
                    all.insert({{job, process.rank}, {which, std::move(process)}});
            }
        }
    }
    std::vector<MissingProcess> out;
    for (const auto& [name, place] : all) {
        const Process& process = place.process;
        for (const auto& [key, operation] : operations) {
            // Clang before 16 captures no structured binding.
            const auto is_of = [&process_name = name](const auto& p) {
                return process_name.first == p.nspace &&
                       (p.rank == process_name.second || p.rank == PMIX_RANK_WILDCARD);
            };
            const bool is_member = std::any_of(operation.members.begin(), operation.members.end(), is_of);
            if (!is_member || process.ended || operation.joined.count(name) != 0) continue;
            const auto& [infos, n] = reports[place.report];
            std::string line;
            say(line, "%s waits %.1f s for %s:%u on %s: %s%s%s%s%s", operation.what.c_str(), operation.age,
                name.first.c_str(), name.second, text_of(infos, n, PMIX_HOSTNAME).c_str(), process.state.c_str(),
                process.rest.empty() ? "" : ",", process.rest.c_str(), process.wait_channel.empty() ? "" : " in ",
                process.wait_channel.c_str());
            out.push_back({place.report, std::move(line), process.stack});
            break;  // one line for each process
        }
    }
    return out;
}

std::vector<std::string> jobs_of(const pmix_info_t* infos, size_t n) {
    std::vector<std::string> out;
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) out.push_back(text_of(inner, parts, PMIX_NSPACE));
    }
    return out;
}

std::string server_json(const pmix_info_t* infos, size_t n) {
    std::string jobs;
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) continue;
        jobs += json_comma(jobs);
        jobs += job_json(inner, parts);
    }
    return "{" + fields_json(infos, n) + json_text(WIREUP_REPORT_JOB) + ":[" + jobs + "]," +
           list_json(infos, n, WIREUP_REPORT_COLLECTIVE) + "," + list_json(infos, n, WIREUP_REPORT_REQUEST) + "}";
}

}  // namespace commands
