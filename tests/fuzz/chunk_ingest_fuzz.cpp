// SPDX-License-Identifier: BSD-3-Clause
// What other nodes send, with any bytes: it is refused, or taken over and then reads as it should.
#include <cstdlib>

#include "dstore/contribution.h"
#include "support/store_values.h"

using namespace pmix;
using namespace pmix::dstore;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const common::Bytes bytes(data, size);
    auto chunk = ChunkView::check(bytes);
    volatile uint8_t sink = 0;
    if (chunk.ok()) {
        size_t at = chunk->first();
        for (uint32_t b = 0; b < chunk->blocks(); ++b) {
            const BlockView block = chunk->at(at);
            for (uint32_t i = 0; i < block.records; ++i) {
                const Record r = chunk->record(block, i);
                for (uint8_t v : r.value) sink = v;
            }
            at += block.size;
        }
        if (at != chunk->size()) std::abort();
    }
    for_each_key(bytes, [&](std::string_view key) {
        for (char c : key) sink = static_cast<uint8_t>(c);
    });
    auto writer = test::make_writer();
    writer->add_local(1);
    for (int pass = 0; pass < 2; ++pass) {
        const Ingested in = writer->ingest(bytes);
        if (pass == 1 && in.status == PMIX_SUCCESS && in.chunks == 1 && chunk.ok() && chunk->blocks() == 1 &&
            in.blocks != 0 && chunk->at(chunk->first()).generations.base_generation == 0) {
            std::abort();  // known already
        }
    }
    // Whatever was taken over can be found.
    if (chunk.ok()) {
        size_t at = chunk->first();
        for (uint32_t b = 0; b < chunk->blocks(); ++b) {
            const BlockView block = chunk->at(at);
            at += block.size;
            const pmix_status_t rc = writer->reader().for_each(block.owner, [&](std::string_view, const Found& f) {
                for (uint8_t v : f.bytes()) sink = v;
            });
            if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND) std::abort();
        }
    }
    return 0;
}
