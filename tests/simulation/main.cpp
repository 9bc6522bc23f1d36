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
#include <cstring>
#include <string>
#include <vector>

#include "simulation/client.h"
#include "simulation/descriptors.h"
#include "simulation/host.h"
#include "simulation/mappings.h"
#include "simulation/streams.h"

namespace pmix::simulation {
namespace {

struct Options {
    std::string library;
    uint64_t seed = 1, seeds = UINT64_MAX;
    double seconds = 1e9;
    bool story = false;
    Size size{};
};

constexpr int kNodes = 3, kRanksPerNode = 3;  // at most
constexpr uint64_t kSteps = 200'000;         // of a schedule, and then it makes no progress

struct Fault {
    uint64_t at = 0;  // a step of the schedule
    int rank = 0;
    Nanoseconds stops = 0;  // for so long; 0: it is killed
};

std::vector<Fault> faults_of(Dice& dice, const Size& size) {
    std::vector<Fault> all;
    if (dice.one_in(2)) return all;
    for (uint32_t n = 1 + dice.below(3); n > 0; --n)
        all.push_back({50 + dice.below(800), static_cast<int>(dice.below(static_cast<uint32_t>(size.ranks()))), dice.one_in(2) ? dice.below(300) * kMillisecond : 0});
    std::sort(all.begin(), all.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
    return all;
}

// Of a seed: the program without the steps that are left out, and everything else.
[[noreturn]] void run_one(uint64_t seed, const std::vector<bool>& left_out, const std::vector<Library>& copies) {
    Dice choices(seed ^ 0x5eed);
    History history;
    history.size.nodes = 1 + static_cast<int>(choices.below(kNodes));
    history.size.ranks_per_node = 1 + static_cast<int>(choices.below(kRanksPerNode));
    if (history.size.ranks() == 1) history.size.ranks_per_node = 2;
    history.size.steps = 4 + static_cast<int>(choices.below(24));
    Program program = random_program(choices, history.size);
    for (const Step& step : program)
        if (static_cast<size_t>(step.unit) >= left_out.size() || !left_out[static_cast<size_t>(step.unit)]) history.program.push_back(step);
    history.died.assign(static_cast<size_t>(history.size.ranks()), 0);
    network().one_in = 10 + choices.below(100);
    network().torn_in = 4 + choices.below(40);
    begin(seed);
    ResourceManager manager(history.size, copies);
    note("%d nodes, %d ranks each, %zu steps", history.size.nodes, history.size.ranks_per_node, history.program.size());
    manager.start([&history](int rank, const Library& pmix) { run_rank(rank, pmix, history); });
    const Nanoseconds limit = now() + 600 * 1000 * kMillisecond;
    const auto over = [&] { return manager.all_ended() || is_stuck() || steps() > kSteps; };
    for (const Fault& f : faults_of(choices, history.size)) {
        wait_until([&] { return over() || steps() >= f.at; }, limit, "a fault");
        Process* p = manager.clients[static_cast<size_t>(f.rank)];
        if (over()) break;
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
    bool wrong = false;
    for (const std::string& v : violations(history)) {
        std::printf("WRONG %s\n", v.c_str());
        wrong = true;
    }
    if (!manager.all_ended()) {
        std::printf("WRONG %s after %.1f s and %lu steps\n", is_stuck() ? "nothing can go on" : "no end", static_cast<double>(now() - limit) / 1e9 + 600, steps());
        for (const auto& p : processes())
            for (const Thread* t : p->threads)
                if (p->alive && p->name != "director") std::printf("  %s waits in %s\n", p->name.c_str(), t->call);
        wrong = true;
    }
    if (wrong) std::printf("(%d nodes, %d ranks each)\n", history.size.nodes, history.size.ranks_per_node);
    for (size_t i = 0; wrong && i < history.program.size(); ++i) std::printf("  %2zu %s\n", i, text_of(history.program[i]).c_str());
    std::fprintf(stderr, "STEPS %lu %zu\n", steps(), history.calls.size());
    std::fflush(stdout);
    _exit(wrong ? 1 : 0);
}

struct Outcome {
    bool failed = false;
    std::string text;
    uint64_t steps = 0, calls = 0;
};

Outcome run_in_child(uint64_t seed, const std::vector<bool>& left_out, const std::vector<Library>& copies) {
    int out[2], err[2];
    if (pipe(out) != 0 || pipe(err) != 0) std::abort();
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        dup2(out[1], 1);
        if (!g_verbose) dup2(err[1], 2);
        close(out[0]), close(err[0]);
        alarm(60);
        run_one(seed, left_out, copies);
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
    if (WIFSIGNALED(status)) o.text += "WRONG signal " + std::to_string(WTERMSIG(status)) + (WTERMSIG(status) == SIGALRM ? ", a minute of real time" : "") + "\n" + errors;
    const auto at = errors.rfind("STEPS ");
    if (at != std::string::npos) std::sscanf(errors.c_str() + at, "STEPS %lu %lu", &o.steps, &o.calls);
    else if (!o.text.empty() || !errors.empty()) o.text += errors;
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

// Leaves out steps as long as the seed still fails in the same way.
std::string shrink(uint64_t seed, const std::vector<Library>& copies, std::string text) {
    std::vector<bool> left_out(64, false);
    for (size_t width : {8u, 4u, 2u, 1u}) {
        for (size_t i = 0; i < left_out.size(); i += width) {
            std::vector<bool> tried = left_out;
            for (size_t k = i; k < std::min(i + width, tried.size()); ++k) tried[k] = true;
            if (tried == left_out) continue;
            const Outcome o = run_in_child(seed, tried, copies);
            if (!o.failed || kind_of(o.text) != kind_of(text)) continue;
            left_out = tried;
            text = o.text;
        }
    }
    return text;
}

int run(const Options& options) {
    std::vector<Library> copies;
    for (int i = 0; i < kNodes + kNodes * kRanksPerNode; ++i) copies.push_back(load_copy(options.library));
    dlopen("libevent_core-2.1.so.7", RTLD_NOW | RTLD_GLOBAL);
    dlopen("libevent_pthreads-2.1.so.7", RTLD_NOW | RTLD_GLOBAL);
    g_verbose = options.story;
    const double began = seconds();
    uint64_t done = 0, failed = 0, all_steps = 0, calls = 0;
    for (uint64_t seed = options.seed; done < options.seeds && seconds() - began < options.seconds; ++seed) {
        const Outcome o = run_in_child(seed, {}, copies);
        ++done;
        all_steps += o.steps;
        calls += o.calls;
        if (!o.failed) continue;
        ++failed;
        std::printf("seed %lu fails:\n%s", seed, (options.story ? o.text : shrink(seed, copies, o.text)).c_str());
        if (failed == 10) break;
    }
    const double took = seconds() - began;
    std::printf("%lu schedules, %lu failed, %lu calls, %lu steps, %.1f s, %.0f schedules a second\n", done, failed, calls, all_steps, took, static_cast<double>(done) / took);
    return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace pmix::simulation

int main(int argc, char** argv) {
    // Addresses are the same in each run of a seed.
    if ((personality(0xffffffff) & ADDR_NO_RANDOMIZE) == 0 && personality(ADDR_NO_RANDOMIZE) != -1) {
        setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=16384", 1);
        execv("/proc/self/exe", argv);
    }
    pmix::simulation::Options o;
    for (int i = 1; i < argc; ++i) {
        const std::string a = argv[i];
        const char* next = i + 1 < argc ? argv[i + 1] : "";
        if (a == "--library") o.library = next, ++i;
        else if (a == "--seed") o.seed = std::strtoull(next, nullptr, 10), o.seeds = 1, ++i;
        else if (a == "--from") o.seed = std::strtoull(next, nullptr, 10), ++i;
        else if (a == "--seeds") o.seeds = std::strtoull(next, nullptr, 10), ++i;
        else if (a == "--seconds") o.seconds = std::strtod(next, nullptr), ++i;
        else if (a == "--story") o.story = true;
        else {
            std::fprintf(stderr, "usage: simulation --library FILE [--seed S] [--from S] [--seeds N] [--seconds N] [--story]\n");
            return 2;
        }
    }
    return pmix::simulation::run(o);
}
