// SPDX-License-Identifier: BSD-3-Clause
// Encoded values and chunks for the tests of the store.
#pragma once

#include <sys/mman.h>

#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/bytes.h"
#include "common/codec/pack.h"
#include "dstore/contribution.h"
#include "dstore/store.h"
#include "dstore/writer.h"

namespace pmix::test {

using Buffer = std::vector<uint8_t>;

inline Buffer text(std::string_view s) {
    common::ByteWriter w;
    common::encode_string_value(w, s);
    return w.take();
}
inline Buffer number(uint16_t type, uint64_t v, size_t width) {
    Buffer b(2 + width);
    common::store_le(b.data(), type);
    for (size_t i = 0; i < width; ++i) b[2 + i] = static_cast<uint8_t>(v >> 8 * i);
    return b;
}
inline Buffer u16(uint16_t v) {
    return number(PMIX_UINT16, v, 2);
}
inline Buffer u32(uint32_t v) {
    return number(PMIX_UINT32, v, 4);
}
inline Buffer rank(uint32_t v) {
    return number(PMIX_PROC_RANK, v, 4);
}
inline Buffer blob(size_t n, uint8_t fill) {
    common::ByteWriter w;
    w.u16(PMIX_BYTE_OBJECT);
    w.u32(static_cast<uint32_t>(n));
    Buffer bytes(n, fill);
    w.raw(bytes.data(), n);
    return w.take();
}

inline Buffer copy_of(const dstore::Found& f) {
    return Buffer(f.bytes().begin(), f.bytes().end());
}

// What a reader says about a key; empty: not found or an error, which is stored in *status.
inline Buffer get(const dstore::Reader& r, dstore::Owner owner, std::string_view key, pmix_status_t* status = nullptr) {
    dstore::Found f;
    const pmix_status_t rc = r.find(owner, dstore::Key(key), f);
    if (status != nullptr) *status = rc;
    return rc == PMIX_SUCCESS ? copy_of(f) : Buffer{};
}

// A list of records that owns its bytes.
class Records {
  public:
    Records& add(std::string key, Buffer value, pmix_scope_t scope = PMIX_GLOBAL) {
        parts_.emplace_back(std::move(key), std::move(value), scope);
        return *this;
    }
    std::vector<dstore::Record> list() const {
        std::vector<dstore::Record> out;
        for (const Part& p : parts_) out.push_back({p.key, p.value, p.scope});
        return out;
    }

  private:
    struct Part {
        Part(std::string k, Buffer v, pmix_scope_t s) : key(std::move(k)), value(std::move(v)), scope(s) {}
        std::string key;
        Buffer value;
        pmix_scope_t scope;
    };
    std::vector<Part> parts_;
};

// One block of one rank as a chunk.
inline Buffer chunk_of(uint32_t rank, const dstore::BlockGenerations& generations, const Records& records) {
    dstore::ChunkBuilder b;
    b.begin(dstore::Owner::proc(rank), generations);
    const auto list = records.list();
    for (const dstore::Record& r : list) b.add(dstore::Key(r.key), r.scope, r.value);
    return b.finish(7).value();
}

inline std::unique_ptr<dstore::Writer> make_writer(dstore::WriterOptions options = {}) {
    return dstore::Writer::create(options).value();
}
// A client's view of the same memory, at an address of its own.
inline std::unique_ptr<dstore::Reader> open_reader(const dstore::Writer& w) {
    return dstore::Reader::open(dup(w.descriptor())).value();
}

// A value that has its number in it 25 times over. A torn one would not.
inline Buffer telling(uint32_t n) {
    common::ByteWriter w;
    w.u16(PMIX_BYTE_OBJECT);
    w.u32(100);
    for (int i = 0; i < 25; ++i) w.u32(n);
    return w.take();
}
inline bool told(common::Bytes b, uint32_t* n) {
    if (b.size() != 106) return false;
    *n = common::load_le<uint32_t>(b.data() + 6);
    for (size_t i = 0; i < 25; ++i) {
        if (common::load_le<uint32_t>(b.data() + 6 + 4 * i) != *n) return false;
    }
    return true;
}

}  // namespace pmix::test
