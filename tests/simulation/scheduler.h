// SPDX-License-Identifier: BSD-3-Clause
// Simulated time, processes and threads. A seed decides which thread runs next, and for how long messages travel.
//
// A simulated process is a copy of the shared library with variables and an environment of its own; its threads are
// threads of this process of which one runs at a time. A thread gives way only in a call that the simulation has
// replaced (calls_*.cpp). Nothing here is protected against a second running thread: there is none.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace pmix::simulation {

using Nanoseconds = int64_t;
constexpr Nanoseconds kNever = INT64_MAX;
constexpr Nanoseconds kMillisecond = 1'000'000;

// What the seed decides, in the order in which it is asked.
class Dice {
  public:
    explicit Dice(uint64_t seed) : state_(seed * 2 + 1) { next(); }
    uint32_t below(uint32_t n) { return n < 2 ? 0 : next() % n; }
    bool one_in(uint32_t n) { return below(n) == 0; }

  private:
    uint32_t next();
    uint64_t state_;
};

struct Thread;

struct Process {
    int pid = 0;
    const Process* parent = nullptr;  // which has started it
    std::string name;
    bool alive = true;
    bool stopped = false;                // by SIGSTOP: none of its threads runs
    std::vector<std::string> variables;  // NAME=VALUE
    std::vector<char*> environment;      // what `environ` is while it runs
    std::vector<Thread*> threads;        // those that have not ended
    void* user = nullptr;                // the node or the client that it is
};

struct Thread {
    Process* process = nullptr;
    int number = 0;
    int go = 0;  // the word on which it sleeps while others run
    bool ended = false;
    bool (*ready)(void*) = nullptr;  // none: it can run
    void* ready_of = nullptr;
    Nanoseconds deadline = kNever;
    uint64_t real = 0;  // pthread_t
    void* (*start)(void*) = nullptr;
    void* argument = nullptr;
    void* result = nullptr;
    int exits = 0;
    const char* call = "";  // what it waits in, for a report
};

// The thread that runs; none before the simulation begins.
extern thread_local Thread* t_self;

void begin(uint64_t seed);
Dice& dice();
Nanoseconds now();
uint64_t steps();
// No thread can run, and no time will come at which one can.
bool is_stuck();

Process& new_process(std::string name, std::vector<std::string> variables);
// The first thread of a process; `main` is deleted when it returns.
void start(Process& process, std::function<void()> main);
void kill(Process& process);
Process* process_of(int pid);
const std::vector<std::unique_ptr<Process>>& processes();

// The caller's own scheduling points.
void yield(const char* call = "yield");
bool wait_for(bool (*ready)(void*), void* of, Nanoseconds deadline, const char* call);
// False: the deadline has passed.
template <class F>
bool wait_until(F&& ready, Nanoseconds deadline = kNever, const char* call = "wait") {
    return wait_for([](void* f) { return bool((*static_cast<std::remove_reference_t<F>*>(f))()); },
                    const_cast<void*>(static_cast<const void*>(&ready)), deadline, call);
}
// A condition becomes true at that time without any thread: a message can be read.
void alarm_at(Nanoseconds at);

// Of pthread_create and pthread_join.
int new_thread(uint64_t* real, const void* attributes, void* (*start)(void*), void* argument);
int join_thread(uint64_t real, void** result);

// A line of the story, if one is told.
extern bool g_verbose;
void note(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace pmix::simulation
