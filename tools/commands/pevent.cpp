// SPDX-License-Identifier: BSD-3-Clause
// pevent: raises an event, or waits for events.
#include <pthread.h>
#include <time.h>

#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pevent",
    "raise a PMIx event, or wait for some",
    "CODE...",
    "Raises the event of the given code, or with --listen waits for events of the given codes and prints each. A code "
    "is\n"
    "a name of the headers or a number.",
    {{"range", "RANGE", "which processes get it: namespace, session, local, global, rm (default global)"},
     {"target", "JOB[:RANK,...]", "only these processes get it; may be repeated"},
     {"info", "NAME=VALUE", "an info of the event; may be repeated"},
     {"listen", nullptr, "wait for events instead"},
     {"count", "N", "with --listen: end after so many (default 1)"},
     {"for", "SECONDS", "with --listen: wait no longer (default: no limit)"}},
    true,
    1,
    64,
    {{"pevent --target myjob PMIX_EVENT_JOB_END", "notify a job"},
     {"pevent --listen --for 60 PMIX_EVENT_JOB_END", "wait a minute for the end of a job"}},
};

pthread_mutex_t g_mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t g_heard = PTHREAD_COND_INITIALIZER;
long g_left = 0;
bool g_lost = false;  // the server: nothing will be heard any more

void on_event(size_t, pmix_status_t code, const pmix_proc_t* source, pmix_info_t infos[], size_t n, pmix_info_t*,
              size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    pthread_mutex_lock(&g_mutex);
    if (g_left > 0) {
        std::printf("%s (%d) from %s %s\n", PMIx_Error_string(code), code, shown(*source).c_str(),
                    json_infos(infos, n).c_str());
        std::fflush(stdout);
        --g_left;
    }
    pthread_cond_signal(&g_heard);
    pthread_mutex_unlock(&g_mutex);
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

void on_loss(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t*, size_t,
             pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    pthread_mutex_lock(&g_mutex);
    g_lost = true;
    pthread_cond_signal(&g_heard);
    pthread_mutex_unlock(&g_mutex);
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

// seconds: 0 is no limit.
int listen(std::vector<pmix_status_t>& codes, long seconds) {
    const pmix_status_t handler =
        PMIx_Register_event_handler(codes.data(), codes.size(), nullptr, 0, &on_event, nullptr, nullptr);
    if (handler < 0) return failed(kProgram.name, "cannot register for the event", handler);
    pmix_status_t loss = PMIX_ERR_LOST_CONNECTION;
    const pmix_status_t end = PMIx_Register_event_handler(&loss, 1, nullptr, 0, &on_loss, nullptr, nullptr);
    if (end < 0) return failed(kProgram.name, "cannot register for the loss of the server", end);
    timespec until{};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += seconds;
    pthread_mutex_lock(&g_mutex);
    int waited = 0;
    while (g_left > 0 && !g_lost && waited == 0)
        waited =
            seconds > 0 ? pthread_cond_timedwait(&g_heard, &g_mutex, &until) : pthread_cond_wait(&g_heard, &g_mutex);
    const bool all = g_left == 0, lost = g_lost;
    pthread_mutex_unlock(&g_mutex);
    PMIx_Deregister_event_handler(static_cast<size_t>(handler), nullptr, nullptr);
    PMIx_Deregister_event_handler(static_cast<size_t>(end), nullptr, nullptr);
    if (all) return kGood;
    if (lost) {
        std::fprintf(stderr, "%s: the server has gone\n", kProgram.name);
        return kNoServer;
    }
    std::fprintf(stderr, "%s: no such event within the time\n", kProgram.name);
    return kFailed;
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    std::vector<pmix_status_t> codes;
    for (const std::string& text : line.operands()) {
        pmix_status_t code = 0;
        if (!to_status(text, code)) line.wrong("there is no code " + text);
        codes.push_back(code);
    }
    pmix_data_range_t range = PMIX_RANGE_GLOBAL;
    const struct {
        const char* name;
        pmix_data_range_t range;
    } ranges[] = {{"namespace", PMIX_RANGE_NAMESPACE},
                  {"session", PMIX_RANGE_SESSION},
                  {"local", PMIX_RANGE_LOCAL},
                  {"global", PMIX_RANGE_GLOBAL},
                  {"rm", PMIX_RANGE_RM}};
    const std::string wanted = line.text("range", "global");
    bool known = false;
    for (const auto& r : ranges) {
        if (wanted != r.name) continue;
        range = r.range;
        known = true;
    }
    if (!known) line.wrong("there is no range " + wanted);
    std::vector<pmix_proc_t> targets;
    for (const std::string& text : line.all("target")) {
        const std::vector<pmix_proc_t> procs = to_procs(text);
        if (procs.empty()) line.wrong("no processes: " + text);
        targets.insert(targets.end(), procs.begin(), procs.end());
    }
    Infos infos;
    for (const std::string& setting : line.all("info")) infos.from_text(line, setting);
    g_left = line.number("count", 1, 1);
    const long seconds = line.number("for", 0, 1);
    const Tool tool(line);
    if (line.has("listen")) return listen(codes, seconds);
    // The server would take it, and nobody would get it.
    for (const pmix_proc_t& target : targets) {
        if (!job_exists(target.nspace)) {
            std::fprintf(stderr, "%s: there is no job %s\n", kProgram.name, target.nspace);
            return kFailed;
        }
        if (has_rank(target)) continue;
        std::fprintf(stderr, "%s: job %s has no rank %u\n", kProgram.name, target.nspace, target.rank);
        return kFailed;
    }
    if (!targets.empty()) {
        pmix_data_array_t array{};
        array.type = PMIX_PROC;
        array.size = targets.size();
        array.array = targets.data();
        infos.add(PMIX_EVENT_CUSTOM_RANGE, &array, PMIX_DATA_ARRAY);
        range = PMIX_RANGE_CUSTOM;
    }
    for (const pmix_status_t code : codes) {
        const pmix_status_t rc =
            PMIx_Notify_event(code, &tool.self(), range, infos.data(), infos.size(), nullptr, nullptr);
        if (rc != PMIX_SUCCESS && rc != PMIX_OPERATION_SUCCEEDED)
            return failed(kProgram.name, PMIx_Error_string(code), rc);
    }
    return kGood;
}
