// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/scheduler.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <queue>

#include "simulation/descriptors.h"
#include "simulation/real.h"

namespace pmix::simulation {

thread_local Thread* t_self = nullptr;
bool g_verbose = false;

namespace {

std::unique_ptr<Dice> g_dice;
Nanoseconds g_now = 1'700'000'000'000'000'000;
uint64_t g_steps = 0;
bool g_stuck = false;
std::vector<std::unique_ptr<Process>> g_processes;
std::vector<Thread*> g_threads;  // those that have not ended
std::priority_queue<Nanoseconds, std::vector<Nanoseconds>, std::greater<>> g_alarms;
pthread_key_t g_exit_key;
int g_thread_numbers = 0;

long futex(int* word, int operation, int value) {
    return real().syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, nullptr, nullptr, 0);
}

void sleep_until_called(Thread& t) {
    while (__atomic_load_n(&t.go, __ATOMIC_ACQUIRE) == 0) futex(&t.go, FUTEX_WAIT, 0);
    t.go = 0;
    environ = t.process->environment.data();
}

void wake(Thread& t) {
    __atomic_store_n(&t.go, 1, __ATOMIC_RELEASE);
    futex(&t.go, FUTEX_WAKE, 1);
}

bool can_run(const Thread& t) {
    if (!t.process->alive || t.process->stopped) return false;
    return t.ready == nullptr || t.deadline <= g_now || t.ready(t.ready_of);
}

// The next to run, by the seed; time moves on when none can.
Thread* next_thread() {
    static std::vector<Thread*> ready;
    ++g_steps;
    g_now += 200 + dice().below(800);
    for (;;) {
        ready.clear();
        for (Thread* t : g_threads)
            if (can_run(*t)) ready.push_back(t);
        if (!ready.empty()) return ready[dice().below(static_cast<uint32_t>(ready.size()))];
        while (!g_alarms.empty() && g_alarms.top() <= g_now) g_alarms.pop();
        Nanoseconds next = g_alarms.empty() ? kNever : g_alarms.top();
        for (Thread* t : g_threads)
            if (t->process->alive && !t->process->stopped) next = std::min(next, t->deadline);
        if (next != kNever) {
            g_now = std::max(g_now, next);
            continue;
        }
        if (g_stuck) {
            std::fputs("the simulation's own thread waits for nothing\n", stderr);
            std::abort();
        }
        g_stuck = true;
    }
}

void give_way() {
    Thread* next = next_thread();
    if (next == t_self) return;
    wake(*next);
    if (!t_self->ended) sleep_until_called(*t_self);
}

// The last of what a thread does, behind the destructors of its variables: the implementation calls this four times.
void thread_exits(void* of) {
    auto* t = static_cast<Thread*>(of);
    if (++t->exits < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(g_exit_key, t);
        return;
    }
    t->ended = true;
    auto& own = t->process->threads;
    own.erase(std::find(own.begin(), own.end(), t));
    g_threads.erase(std::find(g_threads.begin(), g_threads.end(), t));
    give_way();
}

void* thread_main(void* of) {
    auto* t = static_cast<Thread*>(of);
    t_self = t;
    sleep_until_called(*t);
    pthread_setspecific(g_exit_key, t);
    t->result = t->start(t->argument);
    return t->result;
}

Thread& add_thread(Process& process) {
    auto* t = new Thread;
    t->process = &process;
    t->number = g_thread_numbers++;
    process.threads.push_back(t);
    g_threads.push_back(t);
    return *t;
}

}  // namespace

uint32_t Dice::next() {  // xorshift*
    state_ ^= state_ >> 12;
    state_ ^= state_ << 25;
    state_ ^= state_ >> 27;
    return static_cast<uint32_t>((state_ * 2685821657736338717ull) >> 32);
}

void begin(uint64_t seed) {
    g_dice = std::make_unique<Dice>(seed);
    pthread_key_create(&g_exit_key, thread_exits);
    Process& director = new_process("director", {});
    t_self = &add_thread(director);
    environ = director.environment.data();
}

Dice& dice() {
    return *g_dice;
}
Nanoseconds now() {
    return g_now;
}
uint64_t steps() {
    return g_steps;
}
bool is_stuck() {
    return g_stuck;
}
const std::vector<std::unique_ptr<Process>>& processes() {
    return g_processes;
}

Process& new_process(std::string name, std::vector<std::string> variables) {
    auto p = std::make_unique<Process>();
    p->pid = 3'000'000 + static_cast<int>(g_processes.size());
    p->parent = t_self == nullptr ? nullptr : t_self->process;
    p->name = std::move(name);
    p->variables = std::move(variables);
    for (std::string& v : p->variables) p->environment.push_back(v.data());
    p->environment.push_back(nullptr);
    g_processes.push_back(std::move(p));
    return *g_processes.back();
}

Process* process_of(int pid) {
    const auto i = static_cast<size_t>(pid - 3'000'000);
    return pid >= 3'000'000 && i < g_processes.size() ? g_processes[i].get() : nullptr;
}

void start(Process& process, std::function<void()> main) {
    Process* before = t_self->process;
    t_self->process = &process;  // whose thread it is
    uint64_t real_thread;
    new_thread(
        &real_thread, nullptr,
        [](void* of) -> void* {
            std::unique_ptr<std::function<void()>> f(static_cast<std::function<void()>*>(of));
            (*f)();
            return nullptr;
        },
        new std::function<void()>(std::move(main)));
    t_self->process = before;
}

void kill(Process& process) {
    process.alive = false;
    g_threads.erase(
        std::remove_if(g_threads.begin(), g_threads.end(), [&](Thread* t) { return t->process == &process; }),
        g_threads.end());
    close_all_of(process);
}

void yield(const char* call) {
    t_self->ready = nullptr;
    t_self->call = call;
    give_way();
}

bool wait_for(bool (*ready)(void*), void* of, Nanoseconds deadline, const char* call) {
    t_self->ready = ready;
    t_self->ready_of = of;
    t_self->deadline = deadline;
    t_self->call = call;
    give_way();
    t_self->ready = nullptr;
    t_self->deadline = kNever;
    return ready(of);
}

void alarm_at(Nanoseconds at) {
    if (at > g_now) g_alarms.push(at);
}

int new_thread(uint64_t* real_thread, const void* attributes, void* (*start)(void*), void* argument) {
    Thread& t = add_thread(*t_self->process);
    t.start = start;
    t.argument = argument;
    const int rc = real().pthread_create(&t.real, attributes, thread_main, &t);
    if (rc == 0) *real_thread = t.real;
    return rc;
}

int join_thread(uint64_t real_thread, void** result) {
    for (Thread* t : g_threads)
        if (t->real == real_thread) {
            wait_until([t] { return t->ended; }, kNever, "pthread_join");
            break;
        }
    return real().pthread_join(real_thread, result);
}

void note(const char* format, ...) {
    if (!g_verbose) return;
    std::fprintf(stderr, "%10.3f ms %-10s ", static_cast<double>(g_now - 1'700'000'000'000'000'000) / 1e6,
                 t_self == nullptr ? "" : t_self->process->name.c_str());
    va_list list;
    va_start(list, format);
    std::vfprintf(stderr, format, list);
    va_end(list);
    std::fputc('\n', stderr);
}

}  // namespace pmix::simulation
