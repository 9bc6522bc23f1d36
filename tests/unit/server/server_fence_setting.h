// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a server's fence share.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"

namespace pmix::test {

const ProcId kJob("job", PMIX_RANK_WILDCARD);

// A blob as another node's server would make it: rank `rank` of "job" has one key.
inline std::vector<uint8_t> blob_of(uint32_t rank, const std::string& key, const std::string& text,
                                    uint64_t generation = 1) {
    common::ByteWriter w;
    common::encode_string_value(w, text);
    dstore::ChunkBuilder chunk;
    chunk.begin(dstore::Owner::proc(rank), {generation, 0, true});
    chunk.add(dstore::Key(key), PMIX_GLOBAL, w.view());
    auto bytes = chunk.finish(1);
    return server::wrap_section("job", *bytes).value();
}

// The last fence reached the host without any data.
inline bool sent_nothing(const FakeHost& host) {
    return server::is_presence_only(host.last("fence")->blob);
}

inline pmix_status_t status_of(FakeClient& client, uint32_t id) {
    auto reply = client.wait(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}

}  // namespace pmix::test
