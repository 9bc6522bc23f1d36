// SPDX-License-Identifier: BSD-3-Clause
// The data of a rank of "job" as another node's server sends it: what a host brings back from a fence or a direct
// modex. Values; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/codec/pack.h"
#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"

namespace pmix::test {

// With one key, two, or none ("").
inline std::vector<uint8_t> blob_of(uint32_t rank, const std::string& key, const std::string& text,
                                    uint64_t generation = 1, const std::string& second_key = {}) {
    common::ByteWriter w;
    common::encode_string_value(w, text);
    dstore::ChunkBuilder chunk;
    chunk.begin(dstore::Owner::proc(rank), {generation, 0, true});
    if (!key.empty()) chunk.add(dstore::Key(key), PMIX_GLOBAL, w.view());
    if (!second_key.empty()) chunk.add(dstore::Key(second_key), PMIX_GLOBAL, w.view());
    auto bytes = chunk.finish(1);
    return server::wrap_section("job", *bytes).value();
}

}  // namespace pmix::test
