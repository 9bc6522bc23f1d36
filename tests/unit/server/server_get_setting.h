// SPDX-License-Identifier: BSD-3-Clause
// What the tests of Get share: a server whose job has its first two ranks here, and direct modexes that its host
// answers.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"
#include "support/remote_data.h"
#include "support/status.h"

namespace pmix::test {

inline std::vector<uint8_t> joined(std::vector<uint8_t> one, const std::vector<uint8_t>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

// What the host was told of its n-th direct modex: the key and the limit.
inline std::pair<std::string, int> asked_for(const FakeHost& host, size_t n) {
    for (const Seen& seen : host.seen) {
        if (seen.what != "direct_modex" || n-- != 0) continue;
        int limit = 0;
        common::InfoView(seen.infos).get(PMIX_TIMEOUT, &limit);
        return {seen.infos.find(PMIX_REQUIRED_KEY)->value.data.string, limit};
    }
    return {};
}

// Of an answer that neither a limit of time nor another thread decides: there is nothing to wait for.
inline pmix_status_t status_at_once(FakeClient& client, uint32_t id) {
    auto reply = client.wait_at_once(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}

struct GetSetting {
    explicit GetSetting(unsigned nodes, bool with_host = true, server::ServerOptions options = {})
        : module(host.module()),
          server(with_host ? &module : nullptr, std::move(options)),
          a(server, {"job", 0}),
          b(server, {"job", 1}) {
        server.job("job", nodes, 2);
    }
    void connect() {
        ASSERT_STATUS(PMIX_SUCCESS, a.hello());
        ASSERT_STATUS(PMIX_SUCCESS, b.hello());
    }
    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient a, b;
};

}  // namespace pmix::test
