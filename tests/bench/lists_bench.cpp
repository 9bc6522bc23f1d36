// SPDX-License-Identifier: BSD-3-Clause
// What a fence of many listed processes costs a server's loop, for each local process that calls it.
//
// lists_bench [listed [local]]: 100,000 and 32. One line for each way of naming the participants: microseconds of the
// loop's processor time for each local process, the upcall and its array of processes (which does not depend on the
// number of local ones) apart, as the difference to a fence that waits for one more.
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "common/protocol/proc_set.h"
#include "support/fake_client.h"

using namespace pmix;
using namespace pmix::test;

namespace {

double cpu_us() {
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) / 1e3;
}

struct Cost {
    double each_us, whole_us;
};

Cost fence_cost(TestServer& server, std::vector<std::unique_ptr<FakeClient>>& clients,
                const common::FenceRequest& request) {
    const auto payload = common::message_bytes(request).value();
    const size_t n = clients.size();
    Cost best{1e12, 1e12};
    for (uint32_t round = 0; round < 7; ++round) {
        const auto send = [&](size_t from, size_t to) {
            std::thread writer([&, from, to] {
                for (size_t i = from; i < to; ++i)
                    write_all(clients[i]->fd(), frame_bytes(common::FrameHeader::request(
                                                                static_cast<uint16_t>(Command::fence), 1000 + round),
                                                            payload));
            });
            std::atomic<bool> written{false};
            std::thread joiner([&] {
                writer.join();
                written = true;
            });
            const double from_us = cpu_us();
            while (!written) server.run_once();
            server.settle();
            const double us = cpu_us() - from_us;
            joiner.join();
            return us;
        };
        const double some = send(0, n - 1), rest = send(n - 1, n);
        for (auto& client : clients)
            if (!client->wait(1000 + round)) std::abort();
        best.each_us = std::min(best.each_us, some / static_cast<double>(n - 1));
        best.whole_us = std::min(best.whole_us, some + rest);
    }
    return best;
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned listed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 100'000;
    const unsigned local = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 32;
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", (2 * listed + local - 1) / local, local);
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (unsigned r = 0; r < local; ++r) {
        clients.push_back(std::make_unique<FakeClient>(server, ProcId("job", r)));
        if (clients.back()->hello() != PMIX_SUCCESS) return 1;
    }
    common::FenceRequest whole, list, ranges, scattered, unsorted;
    whole.procs = {{"job", PMIX_RANK_WILDCARD}};
    for (unsigned r = 0; r < listed; ++r) list.procs.emplace_back("job", r);
    ranges.ranges = common::ranges_of(list.procs);
    common::ProcList every_second;
    for (unsigned r = 0; r < local; ++r) every_second.emplace_back("job", r);
    for (unsigned r = local; r < 2 * listed - local; r += 2) every_second.emplace_back("job", r + 1);
    scattered.ranges = common::ranges_of(every_second);
    std::reverse(every_second.begin(), every_second.end());
    unsorted.ranges = common::ranges_of(every_second);
    const auto say = [&](const char* what, const common::FenceRequest& request) {
        const Cost cost = fence_cost(server, clients, request);
        std::printf("%-38s %9.1f us for each of %u processes, %9.1f us in all with the upcall, frame of %zu bytes\n",
                    what, cost.each_us, local, cost.whole_us, common::message_bytes(request).value().size());
    };
    say("wildcard", whole);
    say("ranks in order, as ranges", ranges);
    say("every second rank, as ranges", scattered);
    say("every second rank, descending", unsorted);
    say("ranks in order, as a list", list);
    return 0;
}
