// SPDX-License-Identifier: BSD-3-Clause
// What a host carries between nodes, with any bytes: piece after piece, packed or not. No crash, no more memory than
// the bounds allow, and each piece is a step forward.
#include <cstdlib>
#include <vector>

#include "common/base/compress.h"
#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"

using namespace pmix;

namespace {

// Aborts in every build: assert() would vanish from a release one.
void must(bool holds) {
    if (!holds) std::abort();
}

// A few bytes of zlib can stand for very many.
constexpr size_t kMost = size_t{1} << 20;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    common::Bytes rest(data, size);
    (void)server::says_kept(rest, "job", 1, "key");
    (void)server::is_presence_only(rest);
    auto plain = common::inflate_bounded(rest, kMost, 64);
    must(!plain.ok() || plain->size() <= kMost);
    for (int pieces = 0; !rest.empty() && pieces < 1000; ++pieces) {
        auto piece = server::read_piece(rest);
        if (!piece.ok()) break;
        must(piece->size != 0 && piece->size <= rest.size());
        must(piece->payload.size() <= piece->size && piece->nspace.size() <= common::kMaxNspaceLength);
        if (!piece->compressed || piece->raw_size <= kMost) {
            std::vector<uint8_t> storage;
            auto chunks = server::piece_chunks(*piece, storage);
            if (chunks.ok()) (void)dstore::ChunkView::check(*chunks);
        }
        rest = rest.subspan(piece->size);
    }
    return 0;
}
