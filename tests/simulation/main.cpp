// SPDX-License-Identifier: BSD-3-Clause
// Runs random programs of whole jobs in simulated processes, one seed after the other, and judges each history.
//
// A seed runs in a child of this process, so that nothing of it is there for the next.
#include <dlfcn.h>
#include <poll.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "simulation/client.h"
#include "simulation/descriptors.h"
#include "simulation/host.h"
#include "simulation/memory.h"
#include "simulation/scenario.h"
#include "simulation/streams.h"

namespace pmix::simulation {
namespace {

struct Options {
    std::string library;
    uint64_t seed = 1, seeds = UINT64_MAX;
    double seconds = 1e9;
    bool story = false;
    std::optional<Scenario> scenario;  // one that was kept
    bool is_swept = false;             // its shortage begins at each allocation, one run for each
};

constexpr uint64_t kSteps = 200'000;  // of a schedule, and then it makes no progress
constexpr Nanoseconds kLimit = 600 * 1000 * kMillisecond;

[[noreturn]] void run_one(const Scenario& scenario, const std::vector<Library>& copies) {
    History history;
    history.size = scenario.size;
    history.program = scenario.program;
    history.short_of_memory = scenario.shortage.fails != 0;
    history.left.assign(static_cast<size_t>(history.size.ranks()), 0);
    history.died.assign(static_cast<size_t>(history.size.ranks()), 0);
    network().one_in = scenario.rare_in;
    network().torn_in = scenario.torn_in;
    begin(scenario.seed);
    ResourceManager manager(history.size, copies, scenario.host);
    manager.positions = &history.positions;
    manager.start([&history](int rank, const Library& pmix) { run_rank(rank, pmix, history); });
    const Nanoseconds limit = now() + kLimit;
    const auto over = [&] { return manager.all_ended() || is_stuck() || steps() > kSteps; };
    if (const Shortage& m = scenario.shortage; m.fails != 0) {
        wait_until([&] { return over() || steps() >= m.at; }, limit, "a shortage");
        const Process* p = m.process < 0 ? manager.nodes[static_cast<size_t>(-1 - m.process)]->process
                                         : manager.clients[static_cast<size_t>(m.process)];
        if (p != nullptr) run_short(*p, m.after, m.fails);
    }
    for (const Fault& f : scenario.faults) {
        wait_until([&] { return over() || steps() >= f.at; }, limit, "a fault");
        if (over() || now() >= limit) break;
        Process* p = manager.clients[static_cast<size_t>(f.rank)];
        if (p == nullptr || !p->alive) continue;
        note("%s %s", p->name.c_str(), f.stops > 0 ? "is stopped" : "is killed");
        if (f.stops > 0) {
            p->stopped = true;
            wait_until([] { return false; }, now() + f.stops, "a stopped process");
            p->stopped = false;
        } else {
            history.died[static_cast<size_t>(f.rank)] = ++history.positions;
            kill(*p);
        }
    }
    wait_until(over, limit, "the end");
    history.host = scenario.host;
    history.has_faults = !scenario.faults.empty() || history.short_of_memory;
    history.answered = manager.answered;
    history.failed_modex = manager.failed_modex;
    history.modexes = manager.modexes;
    bool wrong = false;
    for (const std::string& v : violations(history)) {
        std::printf("WRONG %s\n", v.c_str());
        wrong = true;
    }
    if (!manager.all_ended()) {
        std::printf("WRONG %s after %.1f s and %lu steps\n", is_stuck() ? "nothing can go on" : "no end",
                    static_cast<double>(now() + kLimit - limit) / 1e9, steps());
        for (const auto& p : processes())
            for (const Thread* t : p->threads)
                if (p->alive && p->name != "director") std::printf("  %s waits in %s\n", p->name.c_str(), t->call);
        wrong = true;
    }
    std::fprintf(stderr, "STEPS %lu %zu\n", steps(), history.calls.size());
    std::fflush(stdout);
    _exit(wrong ? 1 : 0);
}

struct Outcome {
    bool failed = false;
    std::string text;
    uint64_t steps = 0, calls = 0;
};

Outcome run_in_child(const Scenario& scenario, const std::vector<Library>& copies) {
    int out[2], err[2];
    if (pipe(out) != 0 || pipe(err) != 0) std::abort();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        if (!g_verbose) dup2(err[1], 2);
        close(out[0]), close(err[0]);
        alarm(60);
        run_one(scenario, copies);
    }
    close(out[1]), close(err[1]);
    Outcome o;
    std::string errors;
    char buffer[4096];
    pollfd fds[2] = {{out[0], POLLIN, 0}, {err[0], POLLIN, 0}};
    int open = 2;
    while (open > 0) {
        poll(fds, 2, -1);
        for (int i = 0; i < 2; ++i) {
            if (fds[i].revents == 0) continue;
            const ssize_t n = read(fds[i].fd, buffer, sizeof buffer);
            if (n <= 0) {
                fds[i].fd = -1;
                --open;
            } else {
                (i == 0 ? o.text : errors).append(buffer, static_cast<size_t>(n));
            }
        }
    }
    close(out[0]), close(err[0]);
    int status = 0;
    waitpid(child, &status, 0);
    o.failed = status != 0;
    if (WIFSIGNALED(status))
        o.text += "WRONG signal " + std::to_string(WTERMSIG(status)) +
                  (WTERMSIG(status) == SIGALRM ? ", a minute of real time" : "") + "\n" + errors;
    const auto at = errors.rfind("STEPS ");
    if (at != std::string::npos)
        std::sscanf(errors.c_str() + at, "STEPS %lu %lu", &o.steps, &o.calls);
    else if (!o.text.empty() || !errors.empty())
        o.text += errors;
    return o;
}

double seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

// The kind of a failure: its first sentence without numbers and without the step.
std::string kind_of(const std::string& text) {
    std::string kind = text.substr(0, text.find('\n'));
    kind.erase(0, kind.rfind(": ") == std::string::npos ? 0 : kind.rfind(": "));
    kind.erase(std::remove_if(kind.begin(), kind.end(), [](char c) { return c >= '0' && c <= '9'; }), kind.end());
    return kind;
}

// Leaves out steps and faults as long as the scenario still fails in the same way.
std::string shrink(Scenario scenario, const std::vector<Library>& copies, std::string text) {
    const auto attempt = [&](Scenario tried) {
        const Outcome o = run_in_child(tried, copies);
        if (!o.failed || kind_of(o.text) != kind_of(text)) return false;
        text = o.text;
        scenario = std::move(tried);
        return true;
    };
    for (size_t i = scenario.faults.size(); i-- > 0;) {
        Scenario tried = scenario;
        tried.faults.erase(tried.faults.begin() + static_cast<long>(i));
        attempt(std::move(tried));
    }
    const int units = scenario.program.empty() ? 0 : scenario.program.back().unit + 1;
    for (int width : {8, 4, 2, 1}) {
        for (int from = 0; from < units; from += width) {
            Scenario tried = scenario;
            std::erase_if(tried.program, [&](const Step& s) { return s.unit >= from && s.unit < from + width; });
            if (tried.program.size() != scenario.program.size() && has_sound_gets(tried.program, tried.size))
                attempt(std::move(tried));
        }
    }
    return text + text_of(scenario);
}

int run(const Options& options) {
    std::vector<Library> copies;
    for (int i = 0; i < 12; ++i) copies.push_back(load_copy(options.library));
    dlopen("libevent_core-2.1.so.7", RTLD_NOW | RTLD_GLOBAL);
    dlopen("libevent_pthreads-2.1.so.7", RTLD_NOW | RTLD_GLOBAL);
    g_verbose = options.story;
    const double began = seconds();
    // Which allocation is meant changes with the library.
    constexpr uint64_t kSwept = 100;
    const bool is_swept = options.is_swept && options.scenario->shortage.fails != 0 && !options.story;
    const uint64_t seeds = is_swept ? kSwept : options.seeds;
    uint64_t done = 0, failed = 0, all_steps = 0, calls = 0;
    for (uint64_t seed = options.seed; done < seeds && seconds() - began < options.seconds; ++seed) {
        Scenario scenario = options.scenario ? *options.scenario : random_scenario(seed);
        if (is_swept) scenario.shortage.after = done;
        const Outcome o = run_in_child(scenario, copies);
        ++done;
        all_steps += o.steps;
        calls += o.calls;
        if (!o.failed) continue;
        ++failed;
        std::printf("seed %lu fails:\n%s", scenario.seed,
                    (options.story || options.scenario ? o.text : shrink(scenario, copies, o.text)).c_str());
        if (failed == 10) break;
    }
    const double took = seconds() - began;
    std::printf("%lu schedules, %lu failed, %lu calls, %lu steps, %.1f s, %.0f schedules a second\n", done, failed,
                calls, all_steps, took, static_cast<double>(done) / took);
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pmix::simulation

int main(int argc, char** argv) {
    // Addresses are the same in each run of a seed, where that is permitted; and the copies have room for their
    // variables of threads.
    if (getenv("GLIBC_TUNABLES") == nullptr) {
        personality(ADDR_NO_RANDOMIZE);
        setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384", 1);
        execv("/proc/self/exe", argv);
    }
    pmix::simulation::Options o;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        const char* next = i + 1 < argc ? argv[i + 1] : "";
        if (a == "--library")
            o.library = next, ++i;
        else if (a == "--seed")
            o.seed = std::strtoull(next, nullptr, 10), o.seeds = 1, ++i;
        else if (a == "--from")
            o.seed = std::strtoull(next, nullptr, 10), ++i;
        else if (a == "--seeds")
            o.seeds = std::strtoull(next, nullptr, 10), ++i;
        else if (a == "--seconds")
            o.seconds = std::strtod(next, nullptr), ++i;
        else if (a == "--story")
            o.story = true;
        else if (a == "--replay") {
            std::ifstream file(next);
            o.scenario = pmix::simulation::read_scenario({std::istreambuf_iterator<char>(file), {}});
            if (!o.scenario) return 2;
            o.seeds = 1, ++i;
            o.is_swept = true;
        } else {
            std::fprintf(stderr,
                         "usage: simulation --library FILE [--seed S] [--from S] [--seeds N] [--seconds N] [--replay "
                         "FILE] [--story]\n");
            return 2;
        }
    }
    return pmix::simulation::run(o);
}
