// SPDX-License-Identifier: BSD-3-Clause
// What a fence, and a group, of many listed processes costs a server's loop, for each local process that calls it.
//
// lists_bench [ranks [local]]: a job of 100,000, of which 32 are here. One line for each way of naming the
// participants: microseconds of the loop's processor time for each local process, and of the whole fence with the
// upcall, whose array of processes does not depend on the number of local ones. The parts of what the longest message
// costs follow, and the array. The host answers at once and copies nothing.
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
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

// payload: of a round, which may have a name of its own.
template <class F>
Cost cost_of(TestServer& server, std::vector<std::unique_ptr<FakeClient>>& clients, Command command, F&& payload_of) {
    const size_t n = clients.size();
    Cost best{1e12, 1e12};
    for (uint32_t round = 0; round < 7; ++round) {
        const std::vector<uint8_t> payload = payload_of(round);
        const auto send = [&](size_t from, size_t to) {
            std::thread writer([&, from, to] {
                for (size_t i = from; i < to; ++i)
                    write_all(clients[i]->fd(),
                              frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(command), 1000 + round),
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

pmix_status_t answer_at_once(const pmix_proc_t*, size_t, const pmix_info_t*, size_t, char* data, size_t,
                             pmix_modex_cbfunc_t done, void* cbdata) {
    std::free(data);
    done(PMIX_SUCCESS, nullptr, 0, cbdata, nullptr, nullptr);
    return PMIX_SUCCESS;
}

pmix_status_t form_at_once(pmix_group_operation_t, char*, const pmix_proc_t*, size_t, const pmix_info_t*, size_t,
                           pmix_info_cbfunc_t done, void* cbdata) {
    done(PMIX_SUCCESS, nullptr, 0, cbdata, nullptr, nullptr);
    return PMIX_SUCCESS;
}

template <class F>
void time_part(const char* what, F&& part) {
    double best = 1e12;
    for (int i = 0; i < 20; ++i) {
        const double from_us = cpu_us();
        part();
        best = std::min(best, cpu_us() - from_us);
    }
    std::printf("  %-36s %9.1f us\n", what, best);
}

// What the server does with one such message, part by part.
void time_parts(const common::FenceRequest& request) {
    const auto payload = common::message_bytes(request).value();
    common::FenceRequest read;
    time_part("decoding", [&] { common::decode_message(payload, read); });
    const auto set = common::read_ranges(read.procs, common::RangeList(read.ranges)).value();
    time_part("checking, putting in order (and a copy)",
              [&] { (void)common::read_ranges(read.procs, common::RangeList(read.ranges)); });
    const std::map<common::ProcSet, int> sets{{set, 1}};
    time_part("finding the round of this set", [&] { (void)sets.find(set); });
    const auto sockets = socket_pair();
    std::vector<uint8_t> in(payload.size());
    time_part("reading it from a socket", [&] {
        size_t written = 0, received = 0;
        while (received < in.size()) {
            const ssize_t w =
                ::send(sockets.first.get(), payload.data() + written, payload.size() - written, MSG_DONTWAIT);
            written += w > 0 ? static_cast<size_t>(w) : 0;
            const ssize_t n = ::recv(sockets.second.get(), in.data() + received, in.size() - received, MSG_DONTWAIT);
            received += n > 0 ? static_cast<size_t>(n) : 0;
        }
    });
    std::vector<pmix_proc_t> array;
    time_part("the host's array, once for the fence", [&] {
        array = {};
        array.reserve(set.size());
        set.for_each([&](const std::string& nspace, common::Rank rank) {
            pmix_proc_t& proc = array.emplace_back();
            nspace.copy(proc.nspace, sizeof proc.nspace - 1);
            proc.rank = rank;
        });
    });
}

}  // namespace

int main(int argc, char** argv) {
    const unsigned ranks = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 100'000;
    const unsigned local = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 32;
    FakeHost host;
    auto module = host.module();
    module.fence_nb = &answer_at_once;
    module.group = &form_at_once;
    TestServer server(&module);
    server.job("job", (ranks + local - 1) / local, local);
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (unsigned r = 0; r < local; ++r) {
        clients.push_back(std::make_unique<FakeClient>(server, ProcId("job", r)));
        if (clients.back()->hello() != PMIX_SUCCESS) return 1;
    }
    common::FenceRequest whole, list, ranges, scattered, unsorted, bits;
    whole.procs = {{"job", PMIX_RANK_WILDCARD}};
    for (unsigned r = 0; r < ranks; ++r) list.procs.emplace_back("job", r);
    ranges.ranges = common::ranges_of(list.procs);
    // The local ranks, so that all clients take part, and every second one of the others.
    common::ProcList every_second;
    for (unsigned r = 0; r < local; ++r) every_second.emplace_back("job", r);
    for (unsigned r = local + 1; r < ranks; r += 2) every_second.emplace_back("job", r);
    scattered.ranges = common::ranges_of(every_second);
    std::reverse(every_second.begin(), every_second.end());
    unsorted.ranges = common::ranges_of(every_second);
    bits.ranges = unsorted.ranges;
    common::use_bits(bits.ranges);
    const auto measure = [&](const char* what, const common::FenceRequest& request) {
        const Cost cost =
            cost_of(server, clients, Command::fence, [&](uint32_t) { return common::message_bytes(request).value(); });
        std::printf("%-38s %9.1f us for each of %u processes, %9.1f us in all with the upcall, frame of %zu bytes\n",
                    what, cost.each_us, local, cost.whole_us, common::message_bytes(request).value().size());
    };
    measure("wildcard", whole);
    measure("all ranks in order, as ranges", ranges);
    measure("every second rank, as ranges", scattered);
    measure("every second rank, descending", unsorted);
    measure("every second rank, as bits", bits);
    measure("all ranks in order, as a list", list);
    const auto measure_group = [&](const char* what, const common::ProcList& procs,
                                   const common::RangeList& as_ranges) {
        common::GroupRequest request;
        request.procs = procs;
        request.ranges = as_ranges;
        const Cost cost = cost_of(server, clients, Command::group, [&](uint32_t round) {
            request.name = what + std::to_string(round);
            return common::message_bytes(request).value();
        });
        std::printf("%-38s %9.1f us for each of %u processes, %9.1f us in all with the upcall, frame of %zu bytes\n",
                    what, cost.each_us, local, cost.whole_us, common::message_bytes(request).value().size());
    };
    measure_group("group, wildcard", whole.procs, {});
    measure_group("group, all ranks as ranges", {}, ranges.ranges);
    measure_group("group, all ranks as a list", list.procs, {});
    std::printf("every second rank as ranges, part by part:\n");
    time_parts(scattered);
    std::printf("every second rank as bits, part by part:\n");
    time_parts(bits);
    return 0;
}
