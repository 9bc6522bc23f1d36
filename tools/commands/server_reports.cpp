// SPDX-License-Identifier: BSD-3-Clause
#include "server_reports.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <set>

#include "node_processes.h"
#include "server_notes.h"
#include "server_page.h"

namespace commands {
namespace {

constexpr int kHostSeconds = 10;  // that a resource manager has to ask all its nodes

// A query and its answer, or none; alive until the callback was called, even if nobody waits for it any more.
struct Question {
    explicit Question(const char* asked) : key(asked) {}
    std::string key;
    char* keys[2] = {key.data(), nullptr};
    pmix_query_t request{keys, nullptr, 0};
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    Answers answers;
    const pmix_value_t* value() const { return answers.find(key.c_str()); }
};

template <class Visit>
void for_each_server(const Answers& answers, Visit&& visit) {
    size_t n = 0;
    const pmix_value_t* all = answers.find(PMIX_QUERY_AVAIL_SERVERS);
    const pmix_info_t* infos = all == nullptr ? nullptr : infos_in(*all, n);
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* server = infos_in(infos[i].value, parts);
        visit(server, parts);
    }
}

// Servers of this machine by what their reports say of them, to know those again that a resource manager reports.
using Known = std::set<std::string>;

std::string identity(const pmix_info_t* infos, size_t n, const char* nspace, const char* rank) {
    return text_of(infos, n, nspace) + ":" + text_of(infos, n, rank) + " " + text_of(infos, n, PMIX_HOSTNAME) + " " +
           text_of(infos, n, PMIX_SERVER_PIDINFO);
}

// Root's servers do not answer every user: one that runs has refused this one.
bool refuses_us(const NodeServer& server) {
    constexpr int kPatienceMs = 2000;
    return ::geteuid() != 0 && server.uid != ::geteuid() && hangs_up(server.address, kPatienceMs);
}

// A server that does not answer, as far as its process still exists.
bool make_silent(const std::string& address, bool stacks, ServerState& server, const std::string& host = "") {
    NodeServer process;
    if (!find_owner(address, process) || process.pid == ::getpid() || refuses_us(process)) return false;
    server.pid = process.pid;
    server.infos = silent_server(host, process.pid, "does not answer", stacks);
    const std::string condition = text_of(server.infos.data(), server.infos.size(), kCondition);
    server.problem = (host.empty() ? "" : "on " + host + " ") + "in process " + std::to_string(process.pid) + " (" +
                     process_name(process.pid) + ") does not answer: the process is " +
                     (condition.empty() ? "not visible here" : condition);
    server.silent = true;
    return true;
}

std::string address_in(const std::string& uri) {
    const size_t at = uri.find("@wireup/");
    return at == uri.npos ? "" : uri.substr(at, uri.find_first_of(";,", at) - at);
}

// The server is in the process that was named, or of the launcher that this one is.
bool is_named_process(const CommandLine& line, const pmix_info_t* server, size_t n) {
    const std::string pid = line.text("pid");
    return text_of(server, n, PMIX_SERVER_PIDINFO) == pid || text_of(server, n, WIREUP_LAUNCHER_PID) == pid;
}

// The servers of this node: the URIs of those that were wanted and answer, and the others.
struct Around {
    std::vector<std::string> uris;
    std::vector<ServerState> silent;
    Known known;
};

void look_around(const CommandLine& line, bool stacks, Around& out) {
    out = Around();
    const std::vector<std::string> before = server_addresses();
    Infos none, named;
    Answers answers, of_name;
    query({PMIX_QUERY_AVAIL_SERVERS}, none, answers);
    std::set<std::string> meant;
    if (line.has("nspace")) {
        named.text(PMIX_NSPACE, line.text("nspace"));
        query({PMIX_QUERY_AVAIL_SERVERS}, named, of_name);
        for_each_server(of_name, [&](const pmix_info_t* server, size_t parts) {
            meant.insert(text_of(server, parts, PMIX_SERVER_URI));
        });
    }
    std::vector<std::string> answered;
    for_each_server(answers, [&](const pmix_info_t* server, size_t parts) {
        const std::string uri = text_of(server, parts, PMIX_SERVER_URI);
        answered.push_back(address_in(uri));
        out.known.insert(identity(server, parts, PMIX_NSPACE, PMIX_RANK));
        if (line.has("pid") && !is_named_process(line, server, parts)) return;
        if (line.has("nspace") && meant.count(uri) == 0) return;
        if (line.has("system") && text_of(server, parts, PMIX_SERVER_SYSTEM_SUPPORT) != "true") return;
        out.uris.push_back(uri);
    });
    // What a silent server is called is not known: where one was asked for and has answered, it is none of these.
    if ((line.has("nspace") || line.has("system")) && !out.uris.empty()) return;
    const auto in = [](const std::vector<std::string>& list, const std::string& one) {
        return std::find(list.begin(), list.end(), one) != list.end();
    };
    const std::vector<std::string> after = server_addresses();  // without those that ended meanwhile
    for (const std::string& address : before) {
        ServerState server;
        if (in(answered, address) || !in(after, address) || !make_silent(address, stacks, server)) continue;
        if (line.has("pid") && !descends_from(server.pid, static_cast<pid_t>(line.number("pid", 0, 1)))) continue;
        out.silent.push_back(std::move(server));
    }
}

bool is_stopped(const ServerState& server) {
    return text_of(server.infos.data(), server.infos.size(), kCondition) == "stopped";
}

Around choose(const CommandLine& line, const Wanted& wanted) {
    Around around;
    if (!line.has("uri") || wanted.all_nodes) look_around(line, wanted.stacks, around);
    if (line.has("uri")) {
        around.uris = {line.text("uri")};
        around.silent.clear();
        return around;
    }
    const auto busy = [](const ServerState& server) { return !is_stopped(server); };
    // On a loaded node it may only have been slow.
    if (std::any_of(around.silent.begin(), around.silent.end(), busy)) look_around(line, wanted.stacks, around);
    return around;
}

void on_answer(pmix_status_t status, pmix_info_t* infos, size_t n, void* cbdata, pmix_release_cbfunc_t release,
               void* release_data) {
    const std::unique_ptr<std::shared_ptr<Question>> held(static_cast<std::shared_ptr<Question>*>(cbdata));
    Question& question = **held;
    const std::lock_guard<std::mutex> lock(question.mutex);
    question.answers.status = status;
    if (n != 0 && (question.answers.infos = PMIx_Info_create(n)) != nullptr) {
        for (size_t i = 0; i < n; ++i) PMIx_Info_xfer(&question.answers.infos[i], &infos[i]);
        question.answers.count = n;
    }
    if (release != nullptr) release(release_data);
    question.over = true;
    question.changed.notify_all();
}

// False: no answer within the time. The server may be stopped at any moment, also between attaching and asking.
bool answered(const std::shared_ptr<Question>& question, int seconds) {
    auto* held = new std::shared_ptr<Question>(question);
    const pmix_status_t rc = PMIx_Query_info_nb(&question->request, 1, &on_answer, held);
    std::unique_lock<std::mutex> lock(question->mutex);
    if (rc != PMIX_SUCCESS) {
        delete held;
        question->answers.status = rc;
        return true;
    }
    return question->changed.wait_for(lock, std::chrono::seconds(seconds), [&] { return question->over; });
}

pmix_status_t attach(const std::string& uri, bool observer, int seconds, pmix_proc_t& name) {
    Infos where;
    where.text(PMIX_SERVER_URI, uri);
    if (observer) where.flag(WIREUP_OBSERVER);
    where.flag(PMIX_PRIMARY_SERVER);
    where.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
    return PMIx_tool_attach_to_server(nullptr, &name, where.data(), where.size());
}

void ask(const CommandLine& line, const std::string& uri, const Wanted& wanted, const Started& started,
         ServerState& server) {
    pmix_proc_t name{};
    const int seconds = static_cast<int>(line.number("timeout", 5, 1));
    const pmix_status_t rc = attach(uri, true, seconds, name);
    if (rc == PMIX_ERR_BAD_PARAM && line.has("uri") && !is_openpmix_address(uri)) line.wrong("no such server address");
    if (rc != PMIX_SUCCESS) {
        server.problem = is_openpmix_address(uri) ? std::string("has OpenPMIx's library, which has no reports")
                                                  : std::string("does not answer: ") + PMIx_Error_string(rc);
        if (rc != PMIX_ERR_NO_PERMISSIONS && rc != PMIX_ERR_BAD_PARAM)
            make_silent(address_in(uri), wanted.stacks, server);
        return;
    }
    const auto question = std::make_shared<Question>(wanted.counters ? WIREUP_QUERY_COUNTERS : WIREUP_QUERY_REPORT);
    if (!answered(question, seconds)) {
        server.problem = shown(name) + " does not answer";
        make_silent(address_in(uri), wanted.stacks, server);
    } else if (const pmix_value_t* value = question->value(); value != nullptr) {
        size_t n = 0;
        const pmix_info_t* infos = infos_in(*value, n);
        server.answered = true;
        if (wanted.counters) {
            for (size_t i = 0; i < n; ++i) server.infos.copy(infos[i]);
        } else {
            server.infos = with_notes(infos, n, {&started, wanted.stacks});
        }
    } else {
        server.problem = shown(name) + (wanted.counters ? " has no counters: " : " has no report: ") +
                         PMIx_Error_string(question->answers.status);
    }
    PMIx_tool_disconnect(&name);
}

// A server that its resource manager reports as silent, where it is one of this machine's.
bool is_silent_here(const std::string& host, const std::string& pid, bool stacks, std::vector<ServerState>& out) {
    long number = 0;
    if (!to_number(pid, number)) return false;
    for (const std::string& address : server_addresses()) {
        NodeServer process;
        ServerState server;
        if (!find_owner(address, process) || process.pid != number) continue;
        if (!make_silent(address, stacks, server, host)) continue;
        std::erase_if(out, [&](const ServerState& known) { return known.silent && known.pid == process.pid; });
        out.push_back(std::move(server));
        return true;
    }
    return false;
}

// One report that a resource manager has brought. Servers of this node that have been asked are there already.
void take(const pmix_info_t* infos, size_t n, const Wanted& wanted, const Started& started, const Known& here,
          Known& taken, std::vector<ServerState>& out) {
    ServerState server;
    if (const std::string problem = text_of(infos, n, WIREUP_REPORT_PROBLEM); !problem.empty()) {
        const std::string host = text_of(infos, n, PMIX_HOSTNAME);
        if (is_silent_here(host, text_of(infos, n, PMIX_SERVER_PIDINFO), wanted.stacks, out)) return;
        server.infos = silent_server(host, 0, problem, false);
        server.problem = "on " + host + " " + problem;
        server.silent = true;
    } else {
        const std::string name = identity(infos, n, PMIX_SERVER_NSPACE, PMIX_SERVER_RANK);
        if (!taken.insert(name).second) return;
        const Started* local = here.count(name) != 0 ? &started : nullptr;
        server.infos = with_notes(infos, n, {local, wanted.stacks});
        server.answered = true;
    }
    out.push_back(std::move(server));
}

pmix_status_t ask_host(const std::string& uri, const Wanted& wanted, const Started& started, const Known& here,
                       Known& taken, std::vector<ServerState>& out) {
    pmix_proc_t name{};
    const pmix_status_t rc = attach(uri, false, kHostSeconds, name);
    if (rc != PMIX_SUCCESS) return rc;
    const auto question = std::make_shared<Question>(WIREUP_QUERY_REPORTS);
    pmix_status_t status = PMIX_ERR_TIMEOUT;
    if (answered(question, kHostSeconds)) {
        status = question->answers.status;
        size_t count = 0;
        const pmix_value_t* value = question->value();
        const pmix_info_t* reports = value == nullptr ? nullptr : infos_in(*value, count);
        for (size_t i = 0; i < count; ++i) {
            size_t n = 0;
            const pmix_info_t* infos = infos_in(reports[i].value, n);
            if (PMIx_Check_key(reports[i].key, WIREUP_QUERY_REPORT)) take(infos, n, wanted, started, here, taken, out);
        }
    }
    PMIx_tool_disconnect(&name);
    return status;
}

}  // namespace

bool get_reports(const CommandLine& line, const Wanted& wanted, std::vector<ServerState>& out) {
    Around around = choose(line, wanted);
    const Started started = started_processes();
    out = std::move(around.silent);
    Known taken;
    bool hosts_answer = true;
    for (const std::string& uri : around.uris) {
        ServerState server;
        ask(line, uri, wanted, started, server);
        const std::string name =
            server.answered ? identity(server.infos.data(), server.infos.size(), PMIX_SERVER_NSPACE, PMIX_SERVER_RANK)
                            : "";
        // Of a server that another one's resource manager has reported, that report is as good.
        if (server.answered && wanted.all_nodes && !taken.insert(name).second) continue;
        const bool ask_too = wanted.all_nodes && server.answered;
        out.push_back(std::move(server));
        if (!ask_too) continue;
        const pmix_status_t rc = ask_host(uri, wanted, started, around.known, taken, out);
        if (rc == PMIX_SUCCESS) continue;
        std::fprintf(stderr, "%s: the resource manager of %s has no reports of its other nodes: %s\n",
                     line.program().name, name.substr(0, name.find(' ')).c_str(), PMIx_Error_string(rc));
        hosts_answer = false;
    }
    return hosts_answer;
}

}  // namespace commands
