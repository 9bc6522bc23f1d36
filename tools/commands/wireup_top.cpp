// SPDX-License-Identifier: BSD-3-Clause
// wireup-top: the state of servers, and above all which processes are missing where a job hangs.
//
// Those of this node by asking them (server_reports.h), those of other nodes by the resource manager or by a starter of
// programs (carried_reports.h); the likeliest reason of a hang comes first. A server that does not answer makes the
// exit status 1.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carried_reports.h"
#include "counter_text.h"
#include "hang_report.h"
#include "server_page.h"
#include "server_reports.h"
#include "terminal_keys.h"
#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "wireup-top",
    "what the PMIx servers of a node or of a job are doing, and which processes are missing where a job hangs",
    "",
    "Asks the servers of this node and shows for each: its jobs with the state of every process, the operations in\n"
    "progress that wait for several processes (fence, connect, disconnect, groups) with the processes of the node "
    "that\n"
    "have joined and those that are missing, the pending requests for data with the process that each waits for, and\n"
    "the memory of the jobs' data.\n\n"
    "What the resource manager has not answered yet (a lookup that waits, a spawn) is shown with the process that "
    "asked.\n"
    "Of each process the page has its state as of the kernel: one that is stopped is not one that computes.\n"
    "Servers of which a process is missing come first, and among processes those that are not connected or stopped.\n\n"
    "A job that hangs in MPI_Init usually waits in a fence: the missing ranks have not called it. A rank whose state\n"
    "is \"not connected\" has not even called PMIx_Init. Where all ranks of the node have joined, the operation waits\n"
    "for the resource manager and other nodes: run this there.\n\n"
    "A server that does not answer, because it is stopped or hangs, is shown first, with its process and what that "
    "one\n"
    "does; the exit status is then 1.\n\n"
    "A server answers its own user and root, whether or not its resource manager takes tools.\n\n"
    "Other nodes are shown too with --all-nodes, where the resource manager brings the reports of its servers, or "
    "with\n"
    "--through, which starts this command once on each node by another one. The first lines name the missing\n"
    "processes of all nodes.\n\n"
    "On a terminal: q ends it, s sorts processes by rank or by what may be wrong, f folds the jobs of all servers, j\n"
    "shows the next job alone, a all jobs. n selects the next server and p the one before it; space folds its jobs "
    "and\n"
    "unfolds them. k shows where the missing processes, and servers that do not answer, wait in the kernel, which the\n"
    "kernel tells root only. Any other key renews the page.",
    {{"all-nodes", nullptr, "the servers of all nodes, by the resource manager of each server that is asked"},
     {"through", "COMMAND", "the servers of the nodes on which COMMAND starts this command, once on each"},
     {"report", "FILE", "write a report of a hang that can be sent to somebody into FILE, which must not exist"},
     {"part", nullptr, "as lines for --through, which calls it so"},
     {"once", nullptr, "show it once (the default where stdout is no terminal)"},
     {"interval", "SECONDS", "show it again every so many seconds (default 2), until q is pressed"},
     {"json", nullptr, "as JSON, once, in the form of docs/reference/wireup-top.schema.json"},
     {"counters", nullptr, "what the servers have counted since their start, once, in Prometheus' text format"}},
    true,
    0,
    0,
    {{"wireup-top --once", "all servers of yours on this node"},
     {"wireup-top --json --pid 4711", "one server, for a script"},
     {"wireup-top --all-nodes", "all nodes of the jobs, where the resource manager brings their reports"},
     {"wireup-top --through 'srun --jobid=17 --overlap --mpi=none'", "all nodes of job 17 of Slurm"},
     {"wireup-top --report hang.txt", "a report to send"},
     {"wireup-top --counters", "for a monitoring system"}},
};

constexpr long kNodesSeconds = 60;  // that --through has

std::string own_path() {
    char path[4096] = "";
    return ::readlink("/proc/self/exe", path, sizeof path - 1) > 0 ? path : "wireup-top";
}

// What was found, and whether all that was wanted is in it.
struct State {
    std::vector<ServerState> servers;
    std::vector<MissingProcess> missing{};
    bool whole = true;
    bool starter_failed = false;
    bool any_silent() const {
        return std::any_of(servers.begin(), servers.end(), [](const ServerState& s) { return s.silent; });
    }
    bool any_answered() const {
        return std::any_of(servers.begin(), servers.end(), [](const ServerState& s) { return s.answered; });
    }
};

// What is waited for here: servers that do not answer, then those of which a process is missing, then the others.
void sort_by_urgency(State& state) {
    std::vector<ReportView> views;
    for (const ServerState& server : state.servers) views.push_back({server.infos.data(), server.infos.size()});
    std::vector<int> urgency(views.size(), 2);
    for (MissingProcess& one : missing_processes(views)) {
        urgency[one.report] = 1;
        state.missing.push_back(std::move(one));
    }
    std::vector<std::pair<int, ServerState>> sorted;
    for (size_t i = 0; i < state.servers.size(); ++i)
        sorted.emplace_back(state.servers[i].silent ? 0 : urgency[i], std::move(state.servers[i]));
    std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (size_t i = 0; i < sorted.size(); ++i) state.servers[i] = std::move(sorted[i].second);
}

State look(const CommandLine& line, bool stacks = false) {
    State state;
    Wanted wanted;
    wanted.counters = line.has("counters");
    wanted.all_nodes = line.has("all-nodes");
    wanted.stacks = stacks || line.has("report") || line.has("part");
    if (line.has("through")) {
        // Quotes in the path of a program are its installer's mistake.
        const std::string command = line.text("through") + " '" + own_path() + "' --part";
        const int seconds = static_cast<int>(line.number("timeout", kNodesSeconds, 1));
        state.whole = receive_reports(line.program().name, command, seconds, state.servers, state.starter_failed);
    } else {
        state.whole = get_reports(line, wanted, state.servers);
    }
    if (!wanted.counters) sort_by_urgency(state);
    return state;
}

std::string counters_of(const std::vector<ServerState>& servers) {
    std::vector<CountedServer> counted;
    for (const ServerState& server : servers) {
        if (!server.answered && !server.silent) continue;
        CountedServer& one = counted.emplace_back();
        one.pid = server.pid;
        if (!server.answered) continue;
        one.infos = server.infos.data();
        one.count = server.infos.size();
    }
    return counted.empty() ? "" : counter_text(counted);
}

std::string json_of(const State& state) {
    std::string all;
    for (const ServerState& server : state.servers)
        if (server.silent || server.answered)
            all += (all.empty() ? "" : ",\n") + server_json(server.infos.data(), server.infos.size());
    return "[" + all + "]\n";
}

std::string page_of(const State& state, const View& view) {
    constexpr size_t kMost = 16;
    // First the processes that others wait for: the servers may have long pages.
    std::string out;
    for (size_t i = 0; i < std::min(state.missing.size(), kMost); ++i) {
        out += state.missing[i].line + "\n";
        if (view.stacks) out += stack_text(state.missing[i].stack);
    }
    if (state.missing.size() > kMost) out += "and " + std::to_string(state.missing.size() - kMost) + " more\n";
    for (const ServerState& server : state.servers)
        out += server.silent || server.answered ? server_text(server.infos.data(), server.infos.size(), view)
                                                : "server " + server.problem + "\n";
    return out;
}

bool report(const CommandLine& line, const State& state) {
    State counted;
    Wanted wanted;
    wanted.counters = true;
    if (!line.has("through")) get_reports(line, wanted, counted.servers);
    const std::string path = line.text("report");
    const bool good = write_hang_report(line.program().name, path, state.servers, page_of(state, View()),
                                        json_of(state), counters_of(counted.servers));
    if (good)
        std::printf("%s: written; names of jobs, nodes and programs are in it, values of keys are not\n", path.c_str());
    return good;
}

// Exit status. to_terminal: nothing beside the page.
int show(const CommandLine& line, const State& state, const View& view, bool to_terminal) {
    bool good = state.whole;
    if (line.has("part")) return send_reports(state.servers);
    if (line.has("counters")) {
        std::fputs(counters_of(state.servers).c_str(), stdout);
        for (const ServerState& server : state.servers)
            if (!server.silent && !server.answered)
                std::fprintf(stderr, "%s: server %s\n", kProgram.name, server.problem.c_str());
    } else if (line.has("json")) {
        std::fputs(json_of(state).c_str(), stdout);
    } else if (line.has("report")) {
        if (state.any_answered() || state.any_silent()) good = report(line, state) && good;
    } else {
        std::fputs(page_of(state, view).c_str(), stdout);
    }
    for (const ServerState& server : state.servers)
        if (server.silent && !to_terminal)
            std::fprintf(stderr, "%s: the server %s\n", kProgram.name, server.problem.c_str());
    if (state.any_silent() || (!good && state.any_answered())) return kFailed;
    if (state.any_answered()) return good ? kGood : kFailed;
    if (state.starter_failed) return kFailed;  // whether there are servers is not known
    std::fprintf(stderr, "%s: no server answers\n", kProgram.name);
    return kNoServer;
}

// The jobs of all servers, in their order.
std::vector<std::string> all_jobs(const State& state) {
    std::vector<std::string> all;
    for (const ServerState& server : state.servers)
        for (const std::string& job : jobs_of(server.infos.data(), server.infos.size()))
            if (std::find(all.begin(), all.end(), job) == all.end()) all.push_back(job);
    return all;
}

// The one behind `now`, or the first; empty: there is none.
std::string next_of(const std::vector<std::string>& all, const std::string& now) {
    const auto at = std::find(all.begin(), all.end(), now);
    return all.empty() ? "" : at == all.end() || at + 1 == all.end() ? all.front() : *(at + 1);
}

// What a key does to the view.
void press(char key, const State& state, View& view) {
    if (key == 's') view.by_rank = !view.by_rank;
    if (key == 'f') {
        view.folded = !view.folded;
        view.unlike.clear();
    }
    if (key == ' ' && !view.selected.empty() && view.unlike.erase(view.selected) == 0)
        view.unlike.insert(view.selected);
    if (key == 'k') view.stacks = !view.stacks;
    if (key == 'a') view.job.clear();
    if (key == 'j') view.job = next_of(all_jobs(state), view.job);
    if (key != 'n' && key != 'p') return;
    std::vector<std::string> servers;
    for (const ServerState& server : state.servers)
        if (server.silent || server.answered) servers.push_back(server_name(server.infos.data(), server.infos.size()));
    if (key == 'p') std::reverse(servers.begin(), servers.end());
    view.selected = next_of(servers, view.selected);
}

// Two lines: what was shown when, and what can be done.
std::string heading(long interval, const View& view) {
    const time_t now = ::time(nullptr);
    char clock[32] = "";
    ::strftime(clock, sizeof clock, "%H:%M:%S", ::localtime(&now));
    return std::string(clock) + ", every " + std::to_string(interval) + " s; q ends it, s sorts " +
           (view.by_rank ? "by trouble" : "by rank") + ", " + (view.folded ? "f unfolds" : "f folds") +
           ", j next job, a all jobs" + (view.job.empty() ? "" : "; job ") + view.job +
           "\nn next server, p the one before, space " +
           (view.selected.empty()       ? "folds it"
            : view.folds(view.selected) ? "unfolds it"
                                        : "folds it") +
           (view.stacks ? ", k hides the kernel's calls" : ", k shows the kernel's calls") + "\n";
}

int watch(const CommandLine& line) {
    const long interval = line.number("interval", 2, 1);
    const TerminalKeys keys;
    View view;
    for (;;) {
        const State state = look(line, view.stacks);
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(interval);
        for (char key = 0;;) {
            std::printf("\033[H\033[2J%s", heading(interval, view).c_str());
            const int status = show(line, state, view, true);
            std::fflush(stdout);
            key = keys.pressed_before(end);
            if (key == 'q') return status;
            if (key == 0 || std::strchr("sfjanp k", key) == nullptr) break;
            press(key, state, view);
            if (key == 'k') break;  // what it shows has to be fetched
        }
    }
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    const Tool tool(line, Role::none);
    int forms = 0;
    for (const char* form : {"json", "counters", "report", "part"}) forms += line.has(form);
    if (forms > 1) line.wrong("only one of --json, --counters, --report and --part");
    if (line.has("counters") && (line.has("all-nodes") || line.has("through")))
        line.wrong("--counters is for the servers of this node");
    if (line.has("through") && line.has("all-nodes")) line.wrong("only one of --through and --all-nodes");
    for (const char* number : {"interval", "pid", "timeout"}) static_cast<void>(line.number(number, 0, 1));
    if (forms == 0 && !line.has("once") && ::isatty(STDOUT_FILENO) != 0) return watch(line);
    return show(line, look(line), View(), false);
}
