// SPDX-License-Identifier: BSD-3-Clause
// The blob that a host carries between nodes, with any bytes: section after section, compressed or not. No crash, no
// more memory than the bounds allow, and each section takes at least one byte.
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
    for (int sections = 0; !rest.empty() && sections < 1000; ++sections) {
        auto section = server::read_section(rest);
        if (!section.ok()) break;
        must(section->size != 0 && section->size <= rest.size());
        must(section->payload.size() <= section->size && section->nspace.size() <= common::kMaxNspaceLength);
        if (!section->compressed || section->raw_size <= kMost) {
            std::vector<uint8_t> storage;
            auto chunks = server::section_chunks(*section, storage);
            if (chunks.ok()) (void)dstore::ChunkView::check(*chunks);
        }
        rest = rest.subspan(section->size);
    }
    return 0;
}
