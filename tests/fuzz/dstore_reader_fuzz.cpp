// SPDX-License-Identifier: BSD-3-Clause
// A segment with any bytes: every question ends, and none reads outside. The input is a list of changes to a small
// sound segment ({u16 or, from 0x8000 on, a place counted from the end; u8 value}), because random bytes alone would
// never get past the header. An input that starts with the segment's magic is taken as the whole segment.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <memory>

#include "dstore/layout.h"
#include "dstore/segment.h"
#include "support/store_values.h"

namespace {

using namespace pmix;
using namespace pmix::dstore;
using namespace pmix::test;

const Buffer& sound_segment() {
    static const Buffer* image = [] {
        auto w = make_writer();
        const auto map = common::parse_proc_map(std::string_view("0,2;1,3")).value();
        const std::vector<std::string> nodes = {"alpha", "beta"};
        const uint32_t ids[] = {70, 71};
        const AppRange apps[] = {{0, 4}};
        w->set_placement({&map, nodes, ids, {}, apps});
        ColumnBuilder b(OwnerKind::proc);
        for (uint32_t r = 0; r < 4; ++r) {
            b.set(r, "pmix.rank", rank(r));
            if (r != 2) b.set(r, "pmix.loc", text(r < 2 ? "near" : "far"));
            b.set(r, "pmix.num", u16(static_cast<uint16_t>(r * r)));
        }
        b.compute("pmix.hname", Computed::node_name, PMIX_STRING, 0);
        b.compute("pmix.lpeers", Computed::local_peers, PMIX_STRING, 0);
        w->add_columns(std::move(b));
        for (uint32_t i = 0; i < 6; ++i)
            w->put(Owner::job(), Records().add("n", u32(i)).add("j" + std::to_string(i), u32(i)).list());
        Records many;
        for (uint32_t i = 0; i < 20; ++i) many.add("many." + std::to_string(i), u32(i));
        w->ingest(chunk_of(3, {1, 0, true}, many));
        w->ingest(chunk_of(5000, {1, 0, true}, Records().add("far", u32(1))));
        auto* bytes = new Buffer(w->published_bytes());
        if (pread(w->descriptor(), bytes->data(), bytes->size(), 0) < 0) std::abort();
        return bytes;
    }();
    return *image;
}

void ask(const Reader& r) {
    volatile uint8_t sink = 0;
    auto use = [&](common::Bytes bytes) {
        for (uint8_t b : bytes) sink = b;
    };
    const Owner owners[] = {Owner::job(), Owner::node(1), Owner::proc(0), Owner::proc(3), Owner::proc(5000)};
    for (const char* name :
         {"pmix.rank", "pmix.loc", "pmix.num", "pmix.hname", "pmix.lpeers", "n", "j0", "many.7", "far"}) {
        const Key key(name);
        for (const Owner& o : owners) {
            Found f;
            if (r.find(o, key, f) == PMIX_SUCCESS) use(f.bytes());
        }
        Found f;
        if (r.find_any_rank(key, f) == PMIX_SUCCESS) use(f.bytes());
    }
    for (const Owner& o : owners) {
        r.for_each(o, [&](std::string_view, const Found& f) { use(f.bytes()); });
        r.generation_of(o.index);
        r.node_of(o.index);
        r.local_rank(o.index);
        r.app_of(o.index);
        r.node_by_id(o.index);
        r.node_name(o.index);
        r.rank_on(o.index, 1);
    }
    r.node_by_name("beta");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Buffer image;
    if (size >= 8 && common::load_le<uint64_t>(data) == layout::kSegmentMagic) {
        image.assign(data, data + size);
    } else {
        image = sound_segment();
        for (size_t i = 0; i + 3 <= size; i += 3) {
            const uint16_t place = common::load_le<uint16_t>(data + i);
            const size_t at = place < 0x8000 ? place : image.size() - (place - 0x8000u) - 1;
            if (at < image.size()) image[at] = data[i + 2];
        }
    }
    // Exactly as long as it is, so that one byte too far is seen.
    auto copy = std::make_unique<uint8_t[]>(image.size());
    std::copy(image.begin(), image.end(), copy.get());
    auto mapping = Mapping::over(copy.get(), image.size());
    ask(Reader(*mapping));
    return 0;
}
