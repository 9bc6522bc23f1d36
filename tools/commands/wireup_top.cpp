// SPDX-License-Identifier: BSD-3-Clause
// wireup-top: the state of the servers of this node, and above all which processes are missing where a job hangs.
//
// Asks each server of the user (or of root's choice) as an observer, so that it works while hosts are stuck too, and
// shows the reports of several servers of one node together. A server that does not answer is the likeliest reason of
// all: it is shown with its process, first, and makes the exit status 1.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "node_processes.h"
#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "wireup-top",
    "what the PMIx servers of this node are doing, and which processes are missing where a job hangs",
    "",
    "Asks the servers of this node and shows for each: its jobs with the state of every process, the operations in\n"
    "progress that wait for several processes (fence, connect, disconnect, groups) with the processes of the node "
    "that\n"
    "have joined and those that are missing, the pending requests for data with the process that each waits for, and\n"
    "the memory of the jobs' data.\n\n"
    "A job that hangs in MPI_Init usually waits in a fence: the missing ranks have not called it. A rank whose state\n"
    "is \"not connected\" has not even called PMIx_Init. Where all ranks of the node have joined, the operation waits\n"
    "for the resource manager and other nodes: run this there.\n\n"
    "A server that does not answer, because it is stopped or hangs, is shown first, with its process and what that "
    "one\n"
    "does; the exit status is then 1.\n\n"
    "A server answers its own user and root, whether or not its resource manager takes tools.",
    {{"once", nullptr, "show it once (the default where stdout is no terminal)"},
     {"interval", "SECONDS", "show it again every so many seconds (default 2)"},
     {"json", nullptr, "as JSON, once"}},
    true,
    0,
    0,
    {{"wireup-top --once", "all servers of yours on this node"},
     {"wireup-top --json --pid 4711", "one server, for a script"}},
};

// A query and its answer, or none; alive until the callback was called, even if nobody waits for it any more.
struct Report {
    char key[sizeof WIREUP_QUERY_REPORT] = WIREUP_QUERY_REPORT;
    char* keys[2] = {key, nullptr};
    pmix_query_t request{keys, nullptr, 0};
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    Answers answers;
};

struct Server {
    pmix_proc_t name{};
    std::shared_ptr<Report> report;
    std::string problem;    // empty: it answered
    bool silent = false;    // it exists and does not answer
    NodeServer process;     // of a silent one; pid 0: not known
    std::string condition;  // of that process
    const pmix_value_t* value() const {
        return problem.empty() && report != nullptr ? report->answers.find(WIREUP_QUERY_REPORT) : nullptr;
    }
};

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

// "job:0-3,7": the members of a list, with ranges.
std::string ranks(const pmix_value_t* value) {
    if (value == nullptr || value->type != PMIX_DATA_ARRAY || value->data.darray == nullptr) return "";
    const auto* procs = static_cast<const pmix_proc_t*>(value->data.darray->array);
    const size_t n = value->data.darray->size;
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

void print_job(const pmix_info_t* infos, size_t n) {
    const pmix_value_t* store = value_of(infos, n, WIREUP_REPORT_STORE);
    std::printf("  job %s: %s processes, %s here; data %.1f KiB\n", text_of(infos, n, PMIX_NSPACE).c_str(),
                text_of(infos, n, PMIX_JOB_SIZE).c_str(), text_of(infos, n, PMIX_LOCAL_SIZE).c_str(),
                store == nullptr ? 0.0 : static_cast<double>(store->data.uint64) / 1024.0);
    for (size_t i = 0; i < n; ++i) {
        if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_PROC)) continue;
        size_t parts = 0;
        const pmix_info_t* proc = infos_in(infos[i].value, parts);
        const std::string pid = text_of(proc, parts, PMIX_PROC_PID);
        std::printf("    rank %-6s %-14s%s%s\n", text_of(proc, parts, PMIX_RANK).c_str(),
                    state_text(value_of(proc, parts, PMIX_PROC_STATE_STATUS)), pid == "0" ? "" : " pid ",
                    pid == "0" ? "" : pid.c_str());
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
    const std::string key = text_of(infos, n, WIREUP_REPORT_KEY);
    const bool at_host = text_of(infos, n, WIREUP_REPORT_WAITS_FOR) == "host";
    std::printf("  %s of %s: waits %s s for %s of %s%s\n", text_of(infos, n, WIREUP_REPORT_OPERATION).c_str(),
                text_of(infos, n, WIREUP_REPORT_ASKER).c_str(), text_of(infos, n, WIREUP_REPORT_AGE).c_str(),
                key.empty() ? "all data" : ("\"" + key + "\"").c_str(), text_of(infos, n, WIREUP_REPORT_TARGET).c_str(),
                at_host ? ", from the resource manager" : "");
}

void print(const Server& server) {
    size_t n = 0;
    const pmix_value_t* report = server.value();
    const pmix_info_t* infos = report == nullptr ? nullptr : infos_in(*report, n);
    if (infos == nullptr) {
        std::printf("server %s%s\n", *server.name.nspace == '\0' ? "" : (shown(server.name) + " ").c_str(),
                    server.problem.c_str());
        return;
    }
    std::printf("server %s on %s, pid %s\n", shown(server.name).c_str(), text_of(infos, n, PMIX_HOSTNAME).c_str(),
                text_of(infos, n, PMIX_SERVER_PIDINFO).c_str());
    bool waits = false;
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* inner = infos_in(infos[i].value, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) print_job(inner, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE)) print_collective(inner, parts);
        if (PMIx_Check_key(infos[i].key, WIREUP_REPORT_REQUEST)) print_request(inner, parts);
        waits = waits || PMIx_Check_key(infos[i].key, WIREUP_REPORT_COLLECTIVE) ||
                PMIx_Check_key(infos[i].key, WIREUP_REPORT_REQUEST);
    }
    if (!waits) std::printf("  nothing waits here\n");
}

// A server that does not answer, as far as its process still exists.
bool make_silent(const std::string& address, Server& server) {
    if (!find_owner(address, server.process) || server.process.pid == ::getpid()) return false;
    const pid_t pid = server.process.pid;
    server.condition = process_condition(pid);
    const std::string condition = server.condition.empty() ? "not visible here" : server.condition;
    server.problem = "in process " + std::to_string(pid) + " (" + process_name(pid) +
                     ") does not answer: the process is " + condition;
    server.silent = true;
    return true;
}

std::string address_in(const std::string& uri) {
    const size_t at = uri.find("@wireup/");
    return at == uri.npos ? "" : uri.substr(at, uri.find_first_of(";,", at) - at);
}

// The server that the options name, or all that can be found: the URIs of those that answer, and the others.
std::vector<std::string> look_around(const CommandLine& line, std::vector<Server>& silent) {
    const std::vector<std::string> before = server_addresses();
    Infos none;
    Answers answers;
    query({PMIX_QUERY_AVAIL_SERVERS}, none, answers);
    std::vector<std::string> uris, answered;
    const pmix_value_t* all = answers.find(PMIX_QUERY_AVAIL_SERVERS);
    size_t n = 0;
    const pmix_info_t* infos = all == nullptr ? nullptr : infos_in(*all, n);
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* server = infos_in(infos[i].value, parts);
        const std::string uri = text_of(server, parts, PMIX_SERVER_URI);
        answered.push_back(address_in(uri));
        if (line.has("pid") && text_of(server, parts, PMIX_SERVER_PIDINFO) != line.text("pid")) continue;
        if (line.has("nspace") && text_of(server, parts, PMIX_NSPACE) != line.text("nspace")) continue;
        if (line.has("system") && text_of(server, parts, PMIX_SERVER_SYSTEM_SUPPORT) != "true") continue;
        uris.push_back(uri);
    }
    // What a silent server is called is not known: where one was asked for and has answered, it is none of these.
    if ((line.has("nspace") || line.has("system")) && !uris.empty()) return uris;
    const auto in = [](const std::vector<std::string>& list, const std::string& one) {
        return std::find(list.begin(), list.end(), one) != list.end();
    };
    const std::vector<std::string> after = server_addresses();  // without those that ended meanwhile
    for (const std::string& address : before) {
        Server server;
        if (in(answered, address) || !in(after, address) || !make_silent(address, server)) continue;
        if (line.has("pid") && std::to_string(server.process.pid) != line.text("pid")) continue;
        silent.push_back(std::move(server));
    }
    return uris;
}

std::vector<std::string> choose(const CommandLine& line, std::vector<Server>& silent) {
    if (line.has("uri")) return {line.text("uri")};
    std::vector<std::string> uris = look_around(line, silent);
    const auto busy = [](const Server& server) { return server.condition != "stopped"; };
    if (std::any_of(silent.begin(), silent.end(), busy)) {  // on a loaded node it may only have been slow
        silent.clear();
        uris = look_around(line, silent);
    }
    return uris;
}

void on_report(pmix_status_t status, pmix_info_t* infos, size_t n, void* cbdata, pmix_release_cbfunc_t release,
               void* release_data) {
    const std::unique_ptr<std::shared_ptr<Report>> held(static_cast<std::shared_ptr<Report>*>(cbdata));
    Report& report = **held;
    const std::lock_guard<std::mutex> lock(report.mutex);
    report.answers.status = status;
    if (n != 0 && (report.answers.infos = PMIx_Info_create(n)) != nullptr) {
        for (size_t i = 0; i < n; ++i) PMIx_Info_xfer(&report.answers.infos[i], &infos[i]);
        report.answers.count = n;
    }
    if (release != nullptr) release(release_data);
    report.over = true;
    report.changed.notify_all();
}

// False: no answer within the time. The server may be stopped at any moment, also between attaching and asking.
bool get_report(Report& report, std::shared_ptr<Report>* held, int seconds) {
    const pmix_status_t rc = PMIx_Query_info_nb(&report.request, 1, &on_report, held);
    std::unique_lock<std::mutex> lock(report.mutex);
    if (rc != PMIX_SUCCESS) {
        delete held;
        report.answers.status = rc;
        return true;
    }
    return report.changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return report.over; });
}

void ask(const CommandLine& line, const std::string& uri, Server& server) {
    Infos where;
    where.text(PMIX_SERVER_URI, uri);
    where.flag(WIREUP_OBSERVER);
    where.flag(PMIX_PRIMARY_SERVER);
    const int seconds = static_cast<int>(line.number("timeout", 5, 1));
    where.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
    const pmix_status_t rc = PMIx_tool_attach_to_server(nullptr, &server.name, where.data(), where.size());
    if (rc != PMIX_SUCCESS) {
        server.problem = std::string("does not answer: ") + PMIx_Error_string(rc);
        if (rc != PMIX_ERR_NO_PERMISSIONS && rc != PMIX_ERR_BAD_PARAM) make_silent(address_in(uri), server);
        return;
    }
    server.report = std::make_shared<Report>();
    if (!get_report(*server.report, new std::shared_ptr<Report>(server.report), seconds)) {
        server.problem = "does not answer";
        make_silent(address_in(uri), server);
    } else if (server.report->answers.status != PMIX_SUCCESS) {
        server.problem = std::string("has no report: ") + PMIx_Error_string(server.report->answers.status);
    }
    PMIx_tool_disconnect(&server.name);
}

std::string json(const Server& server) {
    if (const pmix_value_t* report = server.value()) return commands::json(*report);
    return "{" + json_text(PMIX_SERVER_PIDINFO) + ":" + std::to_string(server.process.pid) +
           ",\"problem\":\"does not answer\",\"condition\":" + json_text(server.condition) + "}";
}

// Exit status. to_terminal: nothing beside the page.
int show(const CommandLine& line, bool to_terminal) {
    std::vector<Server> servers;
    const std::vector<std::string> uris = choose(line, servers);
    for (const std::string& uri : uris) {
        servers.emplace_back();
        ask(line, uri, servers.back());
    }
    std::stable_partition(servers.begin(), servers.end(), [](const Server& s) { return s.silent; });
    const auto answered = std::count_if(servers.begin(), servers.end(), [](const Server& s) { return s.value(); });
    const bool silent = !servers.empty() && servers.front().silent;
    if (line.has("json")) {
        std::string all;
        for (const Server& server : servers)
            if (server.silent || server.value() != nullptr) all += (all.empty() ? "" : ",\n") + json(server);
        std::printf("[%s]\n", all.c_str());
    } else {
        for (const Server& server : servers) print(server);
    }
    for (const Server& server : servers)
        if (server.silent && !to_terminal)
            std::fprintf(stderr, "%s: the server %s\n", kProgram.name, server.problem.c_str());
    if (silent) return kFailed;
    if (answered != 0) return kGood;
    std::fprintf(stderr, "%s: no server answers\n", kProgram.name);
    return kNoServer;
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    const Tool tool(line, Role::none);
    const bool once = line.has("once") || line.has("json") || ::isatty(STDOUT_FILENO) == 0;
    const long interval = line.number("interval", 2, 1);
    for (const char* number : {"pid", "timeout"}) static_cast<void>(line.number(number, 0, 1));  // before any is used
    for (;;) {
        if (!once) {
            const time_t now = ::time(nullptr);
            char clock[32] = "";
            ::strftime(clock, sizeof clock, "%H:%M:%S", ::localtime(&now));
            std::printf("\033[H\033[2J%s, every %ld s\n", clock, interval);
        }
        const int status = show(line, !once);
        std::fflush(stdout);
        if (once) return status;
        ::sleep(static_cast<unsigned>(interval));
    }
}
