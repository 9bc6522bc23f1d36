// SPDX-License-Identifier: BSD-3-Clause
// One server of a job of up to a million processes: what grows with the job, and what does not.
//
// usage: large_job [NODES [PPN]]          one row; without numbers 10, 100, 1,000 and 10,000 nodes of 100, a row each
//
// The server, with two processes of the job, is real: they are children of this process and talk to it as to any
// server. The other nodes are played by its host: their blobs, 3 keys of 64 bytes for each process, are made beforehand
// by the code that makes them on those nodes. They are received in two ways: all in the answer to one fence, in random
// order; and, in a second job, as the answers to direct modexes, one node after the other in random order.
//
// Threads: the library has its own, on which the host's functions are called; they only hand on to main(). What can go
// wrong ends the program with a line and status 1: a wrong value, a status, a wait of 120 s.
#include <pmix.h>
#include <pmix_server.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/progress.h"
#include "support/store_values.h"

namespace {

using namespace pmix;

constexpr const char* kTogether = "large.1";  // its data comes with a fence
constexpr const char* kOneByOne = "large.2";  // its data comes by direct modex
constexpr uint32_t kLocal = 2;
constexpr size_t kValue = 64;
constexpr std::array<const char*, 3> kKeys = {"large.address", "large.endpoint", "large.host"};
constexpr pmix_status_t kPing = -4000;  // an event of ours
constexpr auto kLimit = std::chrono::seconds(120);

[[noreturn]] void fail(const char* format, ...) {
    test::progress_hide();
    va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    std::fputc('\n', stderr);
    va_end(args);
    std::_Exit(1);
}
void must(pmix_status_t status, const char* what) {
    if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) fail("%s: %s", what, PMIx_Error_string(status));
}

double now_us() {
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double median(std::vector<double> v) {
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}
// Of this process: with the segments, which are shared memory.
double resident_mib() {
    long size = 0, pages = 0;
    std::FILE* f = std::fopen("/proc/self/statm", "r");
    if (f == nullptr || std::fscanf(f, "%ld %ld", &size, &pages) != 2) fail("no /proc/self/statm");
    std::fclose(f);
    return static_cast<double>(pages) * 4096 / (1 << 20);
}

struct Job {
    uint32_t nodes = 10, ppn = 100;
    uint32_t size() const { return kLocal + (nodes - 1) * ppn; }
    uint32_t node_of(uint32_t rank) const { return rank < kLocal ? 0 : 1 + (rank - kLocal) / ppn; }
    uint32_t first_of(uint32_t node) const { return node == 0 ? 0 : kLocal + (node - 1) * ppn; }
    uint32_t count_of(uint32_t node) const { return node == 0 ? kLocal : ppn; }
};

// What rank has put under its key number `key`: bytes that do not compress.
void fill(char* bytes, uint32_t rank, size_t key) {
    uint64_t state = rank * kKeys.size() + key;
    for (size_t i = 0; i < kValue; i += sizeof state) {
        state = (state + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
        state ^= state >> 29;
        std::memcpy(bytes + i, &state, sizeof state);
    }
}

// --- a client: measures, and writes its figures as one line to descriptor 3 ------------------------------------------

struct Client {
    pmix_proc_t me{};
    pmix_proc_t everybody{};
    Job job;

    void fence(bool collect) const {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
        must(PMIx_Fence(&everybody, 1, collect ? &info : nullptr, collect ? 1 : 0), "PMIx_Fence");
    }
    void check(uint32_t rank, size_t key) const {
        pmix_proc_t proc = me;
        proc.rank = rank;
        pmix_value_t* v = nullptr;
        must(PMIx_Get(&proc, kKeys[key], nullptr, 0, &v), "PMIx_Get");
        char due[kValue];
        fill(due, rank, key);
        if (v->type != PMIX_BYTE_OBJECT || v->data.bo.size != kValue || std::memcmp(v->data.bo.bytes, due, kValue) != 0)
            fail("rank %u's %s has another value", rank, kKeys[key]);
        PMIX_VALUE_RELEASE(v);
    }
    void put() const {
        for (size_t k = 0; k < kKeys.size(); ++k) {
            char bytes[kValue];
            fill(bytes, me.rank, k);
            pmix_value_t v;
            v.type = PMIX_BYTE_OBJECT;
            v.data.bo = {bytes, kValue};
            must(PMIx_Put(PMIX_GLOBAL, kKeys[k], &v), "PMIx_Put");
        }
        must(PMIx_Commit(), "PMIx_Commit");
    }
    // Nanoseconds each.
    double get_random(unsigned seed) const {
        std::mt19937 random(seed);
        constexpr int n = 100'000;
        const double from = now_us();
        for (int i = 0; i < n; ++i) check(static_cast<uint32_t>(random() % job.size()), random() % kKeys.size());
        return (now_us() - from) * 1e3 / n;
    }
    double fence_us() const {
        std::vector<double> each;
        for (int i = 0; i < 200; ++i) {
            const double from = now_us();
            fence(false);
            each.push_back(now_us() - from);
        }
        return median(std::move(each));
    }
};

struct Heard {
    std::mutex mutex;
    std::condition_variable changed;
    int pings = 0;
    double death_us = 0;
};
Heard g_heard;

void on_event(size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t[], size_t, pmix_info_t*, size_t,
              pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        std::lock_guard lock(g_heard.mutex);
        if (status == kPing) ++g_heard.pings;
        if (status == PMIX_ERR_LOST_CONNECTION) g_heard.death_us = now_us();
    }
    g_heard.changed.notify_all();
    done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
}

void wait_heard(const std::function<bool()>& until) {
    std::unique_lock lock(g_heard.mutex);
    if (!g_heard.changed.wait_for(lock, kLimit, until)) fail("an event was not delivered");
}

void ping(const Client& c, uint32_t rank) {
    pmix_proc_t to = c.me;
    to.rank = rank;
    pmix_data_array_t targets = {PMIX_PROC, 1, &to};
    pmix_info_t info[2];
    PMIX_INFO_LOAD(&info[0], PMIX_EVENT_CUSTOM_RANGE, &targets, PMIX_DATA_ARRAY);
    bool yes = true;
    PMIX_INFO_LOAD(&info[1], PMIX_EVENT_NON_DEFAULT, &yes, PMIX_BOOL);
    must(PMIx_Notify_event(kPing, &c.me, PMIX_RANGE_CUSTOM, info, 2, nullptr, nullptr), "PMIx_Notify_event");
    PMIX_INFO_DESTRUCT(&info[0]);
}

// Microseconds there and back.
double event_us(const Client& c) {
    std::vector<double> each;
    for (int i = 1; i <= 100; ++i) {
        const double from = now_us();
        if (c.me.rank == 0) ping(c, 1);
        wait_heard([i] { return g_heard.pings >= i; });
        if (c.me.rank != 0) ping(c, 0);
        each.push_back(now_us() - from);
    }
    return median(std::move(each));
}

int client(const Job& job) {
    Client c;
    c.job = job;
    must(PMIx_Init(&c.me, nullptr, 0), "PMIx_Init");
    PMIX_LOAD_PROCID(&c.everybody, c.me.nspace, PMIX_RANK_WILDCARD);
    c.put();
    if (std::strcmp(c.me.nspace, kOneByOne) == 0) {
        c.fence(false);
        if (c.me.rank == 0) {
            std::vector<uint32_t> nodes;
            for (uint32_t n = 1; n < job.nodes; ++n) nodes.push_back(n);
            std::shuffle(nodes.begin(), nodes.end(), std::mt19937(11));
            std::vector<double> each;
            const double from = now_us();
            for (const uint32_t n : nodes) {
                const double before = now_us();
                c.check(job.first_of(n) + n % job.ppn, n % kKeys.size());
                each.push_back(now_us() - before);
            }
            const double all_ms = (now_us() - from) / 1e3;
            dprintf(3, "%.0f %.0f\n", all_ms, median(std::move(each)));
        }
        c.fence(false);
        return PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : 1;
    }

    pmix_status_t codes[] = {kPing, PMIX_ERR_LOST_CONNECTION};
    for (pmix_status_t& code : codes)
        if (PMIx_Register_event_handler(&code, 1, nullptr, 0, &on_event, nullptr, nullptr) < 0) fail("no handler");
    c.fence(true);
    const double fenced_us = now_us();
    const double first_ns = c.get_random(1), again_ns = c.get_random(1);
    c.fence(false);
    const double fence_us = c.fence_us(), there_and_back_us = event_us(c);
    c.fence(false);
    if (c.me.rank != 0) {
        ::sleep(120);  // until it is killed
        return 1;
    }
    dprintf(3, "%.1f %.0f %.0f %.0f %.0f\n", fenced_us, first_ns, again_ns, fence_us, there_and_back_us);
    wait_heard([] { return g_heard.death_us > 0; });
    dprintf(3, "%.1f\n", g_heard.death_us);
    return PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : 1;
}

// --- the host
// ---------------------------------------------------------------------------------------------------------

// What the host's functions hand on to main().
struct Tasks {
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::function<void()>> list;

    void add(std::function<void()> task) {
        std::lock_guard lock(mutex);
        list.push_back(std::move(task));
        changed.notify_all();
    }
    void run_until(const std::function<bool()>& done) {
        const auto end = std::chrono::steady_clock::now() + kLimit;
        std::unique_lock lock(mutex);
        while (!done()) {
            if (list.empty()) {
                if (changed.wait_until(lock, end) == std::cv_status::timeout) fail("nothing happens any more");
                continue;
            }
            auto task = std::move(list.front());
            list.pop_front();
            lock.unlock();
            task();
            lock.lock();
        }
    }
};
Tasks g_tasks;
std::vector<std::vector<uint8_t>> g_blobs;  // by node; node 0's is empty
std::vector<uint8_t> g_together;            // all of them, in random order
Job g_job;
double g_answered_us = 0;

std::vector<uint8_t> blob_of(const Job& job, const char* nspace, uint32_t node) {
    dstore::ChunkBuilder builder;
    std::deque<test::Buffer> values;  // borrowed until finish()
    for (uint32_t i = 0; i < job.count_of(node); ++i) {
        const uint32_t rank = job.first_of(node) + i;
        builder.begin(dstore::Owner::proc(rank), {1, 0, true});
        for (size_t k = 0; k < kKeys.size(); ++k) {
            test::Buffer value = test::blob(kValue, 0);
            fill(reinterpret_cast<char*>(value.data() + value.size() - kValue), rank, k);
            values.push_back(std::move(value));
            builder.add(dstore::Key(kKeys[k]), PMIX_GLOBAL, values.back());
        }
    }
    const auto chunk = builder.finish(node);
    if (!chunk.ok()) fail("no chunk: %s", PMIx_Error_string(chunk.status()));
    auto section = server::wrap_section(nspace, chunk.value());
    if (!section.ok()) fail("no section: %s", PMIx_Error_string(section.status()));
    std::vector<uint8_t> all = server::wrap_owner(nspace, ::geteuid());
    all.insert(all.end(), section.value().begin(), section.value().end());
    return all;
}

void make_blobs(const Job& job, const char* nspace) {
    g_blobs.assign(job.nodes, {});
    for (uint32_t n = 1; n < job.nodes; ++n) g_blobs[n] = blob_of(job, nspace, n);
}

pmix_status_t up_fence(const pmix_proc_t*, size_t, const pmix_info_t infos[], size_t ninfos, char* data, size_t ndata,
                       pmix_modex_cbfunc_t done, void* cbdata) {
    bool collect = false;
    for (size_t i = 0; i < ninfos; ++i) {
        if (PMIX_CHECK_KEY(&infos[i], PMIX_COLLECT_DATA)) collect = PMIX_INFO_TRUE(&infos[i]);
    }
    g_tasks.add([=] {
        if (!collect) {
            done(PMIX_SUCCESS, data, ndata, cbdata, &std::free, data);
            return;
        }
        g_together.insert(g_together.end(), data, data + ndata);
        std::free(data);
        g_answered_us = now_us();
        done(PMIX_SUCCESS, reinterpret_cast<const char*>(g_together.data()), g_together.size(), cbdata, nullptr,
             nullptr);
    });
    return PMIX_SUCCESS;
}

pmix_status_t up_direct_modex(const pmix_proc_t* proc, const pmix_info_t[], size_t, pmix_modex_cbfunc_t done,
                              void* cbdata) {
    const uint32_t node = g_job.node_of(proc->rank);
    g_tasks.add([=] {
        const auto& blob = g_blobs[node];
        done(PMIX_SUCCESS, reinterpret_cast<const char*>(blob.data()), blob.size(), cbdata, nullptr, nullptr);
    });
    return PMIX_SUCCESS;
}

pmix_status_t up_connected(const pmix_proc_t*, void*, pmix_op_cbfunc_t, void*) {
    return PMIX_OPERATION_SUCCEEDED;
}
pmix_status_t up_event(pmix_status_t, const pmix_proc_t*, pmix_data_range_t, pmix_info_t[], size_t, pmix_op_cbfunc_t,
                       void*) {
    return PMIX_OPERATION_SUCCEEDED;
}

void wait_op(const char* what, const std::function<pmix_status_t(pmix_op_cbfunc_t, void*)>& call) {
    struct Result {
        bool done = false;
        pmix_status_t status = PMIX_SUCCESS;
    } result;
    const pmix_status_t rc = call(
        [](pmix_status_t status, void* cbdata) {
            g_tasks.add([=] { *static_cast<Result*>(cbdata) = {true, status}; });
        },
        &result);
    if (rc == PMIX_OPERATION_SUCCEEDED) return;
    must(rc, what);
    g_tasks.run_until([&] { return result.done; });
    must(result.status, what);
}

struct Registered {
    double ms, mib;
};

Registered register_job(const Job& job, const char* name) {
    std::string nodes, procs;
    for (uint32_t n = 0; n < job.nodes; ++n) {
        char host[16];
        std::snprintf(host, sizeof host, "n%06u", n);
        nodes += (n != 0 ? "," : "") + std::string(host);
        for (uint32_t i = 0; i < job.count_of(n); ++i)
            procs += (i != 0 ? "," : n != 0 ? ";" : "") + std::to_string(job.first_of(n) + i);
    }
    char *node_map = nullptr, *proc_map = nullptr;
    must(PMIx_generate_regex(nodes.c_str(), &node_map), "PMIx_generate_regex");
    must(PMIx_generate_ppn(procs.c_str(), &proc_map), "PMIx_generate_ppn");
    uint32_t size = job.size();
    pmix_info_t info[4];
    PMIX_INFO_LOAD(&info[0], PMIX_JOB_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[1], PMIX_UNIV_SIZE, &size, PMIX_UINT32);
    PMIX_INFO_LOAD(&info[2], PMIX_NODE_MAP, node_map, PMIX_REGEX);
    PMIX_INFO_LOAD(&info[3], PMIX_PROC_MAP, proc_map, PMIX_REGEX);
    const double before = resident_mib(), from = now_us();
    wait_op("PMIx_server_register_nspace", [&](pmix_op_cbfunc_t done, void* cbdata) {
        return PMIx_server_register_nspace(name, static_cast<int>(kLocal), info, 4, done, cbdata);
    });
    const Registered out{(now_us() - from) / 1e3, resident_mib() - before};
    for (pmix_info_t& i : info) PMIX_INFO_DESTRUCT(&i);
    std::free(node_map);
    std::free(proc_map);
    return out;
}

struct Child {
    pid_t pid = 0;
    std::FILE* figures = nullptr;
};

Child start_client(const Job& job, const char* name, uint32_t rank) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, name, rank);
    wait_op("PMIx_server_register_client", [&](pmix_op_cbfunc_t done, void* cbdata) {
        return PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, done, cbdata);
    });
    char** env = nullptr;
    must(PMIx_server_setup_fork(&proc, &env), "PMIx_server_setup_fork");
    int ends[2];
    if (::pipe(ends) != 0) fail("no pipe");
    const std::string n = std::to_string(job.nodes), p = std::to_string(job.ppn);
    const char* argv[] = {"large_job", "client", n.c_str(), p.c_str(), nullptr};
    const pid_t pid = ::fork();
    if (pid == 0) {
        ::dup2(ends[1], 3);
        ::execve("/proc/self/exe", const_cast<char**>(argv), env);
        std::_Exit(127);
    }
    ::close(ends[1]);
    PMIX_ARGV_FREE(env);
    return {pid, ::fdopen(ends[0], "r")};
}

// The next line of a client's figures, while the host goes on.
std::vector<double> read_figures(const Child& child, size_t count) {
    std::vector<double> out(count);
    bool done = false;
    std::thread reader([&] {
        for (double& v : out)
            if (std::fscanf(child.figures, "%lf", &v) != 1) fail("a client has ended without its figures");
        g_tasks.add([&] { done = true; });
    });
    g_tasks.run_until([&] { return done; });
    reader.join();
    return out;
}

int run(const Job& job) {
    g_job = job;
    pmix_server_module_t module[2];
    std::memset(module, 0, sizeof module);  // zeros behind it, for longer layouts
    module->client_connected = nullptr;
    module->client_finalized = &up_connected;
    module->fence_nb = &up_fence;
    module->direct_modex = &up_direct_modex;
    module->notify_event = &up_event;
    pmix_info_t host;
    PMIX_INFO_LOAD(&host, PMIX_HOSTNAME, "n000000", PMIX_STRING);
    must(PMIx_server_init(module, &host, 1), "PMIx_server_init");
    PMIX_INFO_DESTRUCT(&host);

    const Registered registered = register_job(job, kTogether);
    make_blobs(job, kTogether);
    std::vector<uint32_t> order;
    for (uint32_t n = 1; n < job.nodes; ++n) order.push_back(n);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    for (const uint32_t n : order) g_together.insert(g_together.end(), g_blobs[n].begin(), g_blobs[n].end());
    g_blobs.clear();
    g_together.reserve(g_together.size() + (1 << 16));  // for this node's

    const double before = resident_mib();
    const Child first = start_client(job, kTogether, 0), second = start_client(job, kTogether, 1);
    const auto f = read_figures(first, 5);
    const double store_mib = resident_mib() - before;
    const double killed_us = now_us();
    ::kill(second.pid, SIGKILL);
    const double death_us = read_figures(first, 1)[0] - killed_us;
    int status = 0;
    if (::waitpid(first.pid, &status, 0) != first.pid || status != 0) fail("rank 0 failed");
    ::waitpid(second.pid, nullptr, 0);
    wait_op("PMIx_server_deregister_nspace", [&](pmix_op_cbfunc_t done, void* cbdata) {
        PMIx_server_deregister_nspace(kTogether, done, cbdata);
        return PMIX_SUCCESS;
    });
    std::vector<uint8_t>().swap(g_together);

    register_job(job, kOneByOne);
    make_blobs(job, kOneByOne);
    const Child third = start_client(job, kOneByOne, 0), fourth = start_client(job, kOneByOne, 1);
    const auto one_by_one = read_figures(third, 2);
    for (const Child& c : {third, fourth}) {
        bool ended = false;
        std::thread waiter([&] {
            ::waitpid(c.pid, &status, 0);
            g_tasks.add([&] { ended = true; });
        });
        g_tasks.run_until([&] { return ended; });
        waiter.join();
        if (status != 0) fail("a client of the second job failed");
    }
    test::progress_hide();
    std::printf("| %'u | %u | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n",
                job.size(), job.nodes, registered.ms, registered.mib, (f[0] - g_answered_us) / 1e3, store_mib, f[1],
                f[2], f[3], f[4], death_us, one_by_one[0], one_by_one[1]);
    std::fflush(stdout);
    return PMIx_server_finalize() == PMIX_SUCCESS ? 0 : 1;
}

// Each row in a process of its own, whose memory begins small.
int run_apart(const Job& job) {
    const pid_t pid = ::fork();
    if (pid == 0) {
        const std::string n = std::to_string(job.nodes), p = std::to_string(job.ppn);
        ::execl("/proc/self/exe", "large_job", n.c_str(), p.c_str(), nullptr);
        std::_Exit(127);
    }
    int status = 1;
    return ::waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

int main(int argc, char** argv) {
    const bool is_client = argc == 4 && std::strcmp(argv[1], "client") == 0;
    const auto number = [&](int i, uint32_t otherwise) {
        return argc > i ? static_cast<uint32_t>(std::strtoul(argv[i], nullptr, 10)) : otherwise;
    };
    if (is_client) return client({number(2, 0), number(3, 0)});
    if (argc > 1) {
        const Job job{number(1, 0), number(2, 100)};
        if (job.nodes < 2 || job.ppn < 1 || job.nodes > 100'000 || job.ppn > 10'000) {
            std::fputs("usage: large_job [NODES [PPN]]\n", stderr);
            return 2;
        }
        test::progress_say("large_job: " + std::to_string(job.nodes) + " nodes of " + std::to_string(job.ppn) +
                           " processes");
        return run(job);
    }
    std::puts(
        "| ranks | nodes | register, ms | register, MiB | fence with all data, ms | store, MiB | Get, first, ns | Get, "
        "again, ns |"
        " fence, us | event and back, us | death to handler, us | all nodes by direct modex, ms | each, us |\n"
        "|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    std::fflush(stdout);
    for (const uint32_t nodes : {10u, 100u, 1'000u, 10'000u}) {
        if (const int rc = run_apart({nodes, 100}); rc != 0) return rc;
    }
    return 0;
}
