// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a server's events share: a server with clients that have connected.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test {

using common::InfoList;

struct EventsSetting {
    explicit EventsSetting(server::ServerOptions options = {})
        : module(host.module()),
          server(&module, std::move(options)),
          a(server, {"job", 0}),
          b(server, {"job", 1}),
          o(server, {"other", 0}) {
        server.job("job", 1, 2);
        server.job("other", 1, 1);
        EXPECT_STATUS(PMIX_SUCCESS, a.hello());
        EXPECT_STATUS(PMIX_SUCCESS, b.hello());
        EXPECT_STATUS(PMIX_SUCCESS, o.hello());
    }
    pmix_status_t listen(FakeClient& client, std::vector<int32_t> codes, uint64_t reference) {
        common::RegisterEventsRequest request;
        request.codes = std::move(codes);
        request.reference = reference;
        return client.ask<Command::register_events>(request);
    }
    pmix_status_t notify(FakeClient& client, ProcId source, int32_t code, pmix_data_range_t range,
                         InfoList infos = {}) {
        common::NotifyEventRequest request;
        request.status = code;
        request.source = std::move(source);
        request.range = range;
        request.infos = std::move(infos);
        return client.ask<Command::notify_event>(request);
    }
    size_t count(FakeClient& client, int32_t code) {
        server.settle();
        size_t n = 0;
        while (auto event = client.take_event()) n += event->status == code;
        return n;
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b, o;
};

}  // namespace pmix::test
