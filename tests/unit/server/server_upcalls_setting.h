// SPDX-License-Identifier: BSD-3-Clause
// What the tests of upcalls share: every way in which a host may answer, and a server with two connected ranks.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <thread>

#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test {

using common::InfoList;

const Style kStyles[] = {Style::before_return, Style::later, Style::other_thread, Style::succeeded, Style::fails};

// Runs one request in every style and checks that there is one reply with the host's status.
template <class Ask>
inline void in_every_style(const std::string& what, Ask&& ask, unsigned nodes = 1) {
    for (Style style : kStyles) {
        SCOPED_TRACE(what + " style " + std::to_string(static_cast<int>(style)));
        FakeHost host;
        host.styles[what] = style;
        host.statuses[what] = style == Style::fails ? PMIX_ERR_NO_PERMISSIONS : PMIX_SUCCESS;
        auto module = host.module();
        TestServer server(&module);
        server.job("job", nodes, 1);
        FakeClient a(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        uint32_t id = ask(a);
        if (style == Style::later) {
            ASSERT_TRUE(server.turn_until([&] { return host.waiting() == 1; }));
            server.settle();
            EXPECT_FALSE(a.take(id));
            host.answer_waiting();
        }
        EXPECT_EQ(host.statuses[what], status_of(a, id));
        server.settle();
        EXPECT_FALSE(a.take(id)) << "answered twice";
        EXPECT_EQ(1u, host.count(what));
        EXPECT_EQ(0u, server.parts().host.open());
    }
}

struct UpcallsSetting {
    explicit UpcallsSetting(unsigned nodes = 1, unsigned ppn = 2) : module(host.module()), server(&module) {
        server.job("job", nodes, ppn);
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
};

}  // namespace pmix::test
