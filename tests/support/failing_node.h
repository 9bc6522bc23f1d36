// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a server without memory have in common: a node with two processes, and scenarios that run with each
// allocation failing in turn. One thread (failing_memory.h).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/failing_memory.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test {

// As long as it is there, no allocation is counted.
class Spared {
  public:
    Spared() noexcept { FailingMemory::pause(); }
    ~Spared() {
        if (counted_) FailingMemory::resume();
    }
    Spared(const Spared&) = delete;
    Spared& operator=(const Spared&) = delete;

  private:
    const bool counted_ = FailingMemory::counts();
};

// The host always has the memory to note this upcall, and to answer it.
template <auto Entry, class... Args>
struct SparedEntry {
    static inline pmix_status_t (*entry)(Args...) = nullptr;
    static pmix_status_t call(Args... args) {
        const Spared spared;
        return entry(args...);
    }
};
template <auto Entry, class... Args>
void spare_entry(pmix_server_module_t& module, pmix_status_t (*entry)(Args...)) {
    SparedEntry<Entry, Args...>::entry = entry;
    module.*Entry = &SparedEntry<Entry, Args...>::call;
}
template <auto Entry>
void spare(pmix_server_module_t& module) {
    spare_entry<Entry>(module, module.*Entry);
}
inline pmix_server_module_t spared_module(const FakeHost& host) {
    pmix_server_module_t module = host.module();
    spare<&pmix_server_module_t::client_connected2>(module);
    spare<&pmix_server_module_t::fence_nb>(module);
    spare<&pmix_server_module_t::connect>(module);
    spare<&pmix_server_module_t::disconnect>(module);
    spare<&pmix_server_module_t::group>(module);
    spare<&pmix_server_module_t::notify_event>(module);
    return module;
}

// A server of the first of two nodes with two processes on each, and the two that are here.
struct Node {
    FakeHost host;
    pmix_server_module_t module;
    TestServer server{&module};
    std::unique_ptr<FakeClient> a, b;

    explicit Node(bool spares_host = false) : module(spares_host ? spared_module(host) : host.module()) {
        server.job("job", 2, 2);
        a = std::make_unique<FakeClient>(server, ProcId("job", 0));
        b = std::make_unique<FakeClient>(server, ProcId("job", 1));
        EXPECT_STATUS(PMIX_SUCCESS, a->hello());
        EXPECT_STATUS(PMIX_SUCCESS, b->hello());
        a->put("key", "of rank 0");
        b->put("key", "of rank 1");
        server.settle();
    }
    // Runs the loop, with the allocations of the server counted, until the condition holds or a minute is over.
    bool turn_until(const std::function<bool()>& done) {
        const auto deadline = transport::Deadline::in_ms(60'000);
        bool is = false;
        while (!is && !deadline.passed()) {
            FailingMemory::resume();
            server.run_once();
            FailingMemory::pause();
            is = done();
        }
        return is;
    }
};

inline std::optional<pmix_status_t> outcome(FakeClient& client, uint32_t id) {
    if (auto reply = client.take(id)) return reply->header.status;
    if (client.hung_up()) return PMIX_ERR_LOST_CONNECTION;
    return std::nullopt;
}

// Runs a scenario with the first, the second, ... allocation failing, until none fails any more.
// spares_host: not those of the host in its upcalls.
inline void fail_everywhere(const std::function<void(Node&)>& scenario, long least = 5, bool spares_host = false) {
    for (long n = 0; n < 3000; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n) + " fails");
        Node node(spares_host);
        FailingMemory::arm(n);
        scenario(node);
        if (::testing::Test::HasFailure() || !FailingMemory::failed()) {
            EXPECT_GE(n, least) << "hardly any allocation was made to fail";
            return;
        }
    }
    ADD_FAILURE() << "there is no end of allocations";
}

// Both clients have started something: both get an answer, their statuses are returned. A process whose call failed
// has not taken part, and ends: it may be for this that the other one waits.
inline std::pair<pmix_status_t, pmix_status_t> await_both(Node& node, uint32_t ia, uint32_t ib) {
    std::optional<pmix_status_t> sa, sb;
    const auto both = [&] {
        node.host.answer_waiting();
        if (!sa) sa = outcome(*node.a, ia);
        if (!sb) sb = outcome(*node.b, ib);
        if (sa && !sb && *sa != PMIX_SUCCESS) node.a->kill();
        if (sb && !sa && *sb != PMIX_SUCCESS) node.b->kill();
        return sa && sb;
    };
    EXPECT_TRUE(node.turn_until(both)) << (sa ? "" : "rank 0 waits ") << (sb ? "" : "rank 1 waits");
    return {sa.value_or(PMIX_ERR_TIMEOUT), sb.value_or(PMIX_ERR_TIMEOUT)};
}

inline common::GroupRequest group_request(common::GroupCall call, const std::vector<ProcId>& procs) {
    common::GroupRequest request;
    request.call = call;
    request.name = "group";
    request.procs = procs;
    return request;
}

}  // namespace pmix::test
