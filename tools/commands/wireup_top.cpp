// SPDX-License-Identifier: BSD-3-Clause
// wireup-top: the state of the servers of this node, and above all which processes are missing where a job hangs.
//
// Asks each server of the user (or of root's choice) as an observer, so that it works while hosts are stuck too, and
// shows the reports of several servers of one node together, or their counters. A server that does not answer is the
// likeliest reason of all: it is shown with its process, first, and makes the exit status 1.
#include <poll.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "counter_text.h"
#include "node_processes.h"
#include "server_page.h"
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
    "A server answers its own user and root, whether or not its resource manager takes tools.",
    {{"once", nullptr, "show it once (the default where stdout is no terminal)"},
     {"interval", "SECONDS", "show it again every so many seconds (default 2), until q is pressed"},
     {"json", nullptr, "as JSON, once, in the form of docs/reference/wireup-top.schema.json"},
     {"counters", nullptr, "what the servers have counted since their start, once, in Prometheus' text format"}},
    true,
    0,
    0,
    {{"wireup-top --once", "all servers of yours on this node"},
     {"wireup-top --json --pid 4711", "one server, for a script"},
     {"wireup-top --counters", "for a monitoring system"}},
};

// A query and its answer, or none; alive until the callback was called, even if nobody waits for it any more.
struct Report {
    explicit Report(const char* asked) : key(asked) {}
    std::string key;
    char* keys[2] = {key.data(), nullptr};
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
        return problem.empty() && report != nullptr ? report->answers.find(report->key.c_str()) : nullptr;
    }
};

void print(const Server& server, const Started& started) {
    size_t n = 0;
    const pmix_value_t* report = server.value();
    const pmix_info_t* infos = report == nullptr ? nullptr : infos_in(*report, n);
    if (infos == nullptr) {
        std::printf("server %s%s\n", *server.name.nspace == '\0' ? "" : (shown(server.name) + " ").c_str(),
                    server.problem.c_str());
        return;
    }
    print_server(server.name, infos, n, started);
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
    const bool counters = line.has("counters");
    server.report = std::make_shared<Report>(counters ? WIREUP_QUERY_COUNTERS : WIREUP_QUERY_REPORT);
    if (!get_report(*server.report, new std::shared_ptr<Report>(server.report), seconds)) {
        server.problem = "does not answer";
        make_silent(address_in(uri), server);
    } else if (server.report->answers.status != PMIX_SUCCESS) {
        server.problem = std::string(counters ? "has no counters: " : "has no report: ") +
                         PMIx_Error_string(server.report->answers.status);
    }
    PMIx_tool_disconnect(&server.name);
}

std::string json(const Server& server, const Started& started) {
    if (!server.silent) {
        size_t n = 0;
        const pmix_info_t* infos = infos_in(*server.value(), n);
        return server_json(infos, n, started);
    }
    Infos none;
    none.add(PMIX_SERVER_PIDINFO, &server.process.pid, PMIX_PID);
    none.text("problem", "does not answer");
    none.text("condition", server.condition);
    return server_json(none.data(), none.size(), started);
}

std::string counters_of(const std::vector<Server>& servers) {
    std::vector<CountedServer> counted;
    for (const Server& server : servers) {
        CountedServer& one = counted.emplace_back();
        one.pid = server.process.pid;
        if (server.value() != nullptr) one.infos = infos_in(*server.value(), one.count);
        if (one.infos == nullptr && !server.silent) counted.pop_back();
    }
    return counter_text(counted);
}

// What is waited for here: servers that do not answer, then those of which a process is missing, then the others.
int urgency(const Server& server) {
    if (server.silent) return 0;
    size_t n = 0;
    const pmix_value_t* report = server.value();
    const pmix_info_t* infos = report == nullptr ? nullptr : infos_in(*report, n);
    return infos != nullptr && waits_for_process(infos, n) ? 1 : 2;
}

// Exit status. to_terminal: nothing beside the page.
int show(const CommandLine& line, bool to_terminal) {
    std::vector<Server> servers;
    const std::vector<std::string> uris = choose(line, servers);
    for (const std::string& uri : uris) {
        servers.emplace_back();
        ask(line, uri, servers.back());
    }
    std::stable_sort(servers.begin(), servers.end(),
                     [](const Server& a, const Server& b) { return urgency(a) < urgency(b); });
    const Started started = started_processes();
    const auto answered = std::count_if(servers.begin(), servers.end(), [](const Server& s) { return s.value(); });
    const bool silent = !servers.empty() && servers.front().silent;
    if (line.has("counters")) {
        if (silent || answered != 0) std::fputs(counters_of(servers).c_str(), stdout);
        for (const Server& server : servers)
            if (!server.silent && server.value() == nullptr)
                std::fprintf(stderr, "%s: server %s\n", kProgram.name, server.problem.c_str());
    } else if (line.has("json")) {
        std::string all;
        for (const Server& server : servers)
            if (server.silent || server.value() != nullptr) all += (all.empty() ? "" : ",\n") + json(server, started);
        std::printf("[%s]\n", all.c_str());
    } else {
        for (const Server& server : servers) print(server, started);
    }
    for (const Server& server : servers)
        if (server.silent && !to_terminal)
            std::fprintf(stderr, "%s: the server %s\n", kProgram.name, server.problem.c_str());
    if (silent) return kFailed;
    if (answered != 0) return kGood;
    std::fprintf(stderr, "%s: no server answers\n", kProgram.name);
    return kNoServer;
}

// Keys are read as they are pressed, until this ends; a signal that ends the command restores the terminal too.
class Keys {
  public:
    Keys() {
        if (::tcgetattr(STDIN_FILENO, &g_terminal) != 0) return;
        g_changed = 1;
        for (const int signal : {SIGINT, SIGTERM, SIGHUP})
            std::signal(signal, [](int number) {
                restore();
                std::signal(number, SIG_DFL);
                std::raise(number);
            });
        termios raw = g_terminal;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    Keys(const Keys&) = delete;
    Keys& operator=(const Keys&) = delete;
    ~Keys() { restore(); }

    // True: it is to end. Without a terminal there is nothing to read.
    bool quit_within(long seconds) const {
        pollfd in{STDIN_FILENO, POLLIN, 0};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
        for (;;) {
            const auto left =
                std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
            if (left <= 0) return false;
            const int ready = ::poll(&in, g_changed ? 1 : 0, static_cast<int>(left));
            char key = 0;
            if (ready <= 0) continue;
            if (::read(STDIN_FILENO, &key, 1) != 1 || key == 'q') return true;
        }
    }

  private:
    static void restore() {
        if (g_changed) ::tcsetattr(STDIN_FILENO, TCSANOW, &g_terminal);
        g_changed = 0;
    }
    static inline termios g_terminal{};
    static inline volatile std::sig_atomic_t g_changed = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    const Tool tool(line, Role::none);
    if (line.has("json") && line.has("counters")) line.wrong("only one of --json and --counters");
    const bool once = line.has("once") || line.has("json") || line.has("counters") || ::isatty(STDOUT_FILENO) == 0;
    const long interval = line.number("interval", 2, 1);
    for (const char* number : {"pid", "timeout"}) static_cast<void>(line.number(number, 0, 1));  // before any is used
    const std::unique_ptr<Keys> keys(once ? nullptr : new Keys);
    for (;;) {
        if (!once) {
            const time_t now = ::time(nullptr);
            char clock[32] = "";
            ::strftime(clock, sizeof clock, "%H:%M:%S", ::localtime(&now));
            std::printf("\033[H\033[2J%s, every %ld s; q ends it\n", clock, interval);
        }
        const int status = show(line, !once);
        std::fflush(stdout);
        if (once) return status;
        if (keys->quit_within(interval)) return status;
    }
}
