// SPDX-License-Identifier: BSD-3-Clause
// Bounded access to the bytes of a segment: the one place where an offset from shared memory becomes a pointer.
//
// On the stack of one look-up. Any thread. at() returns nullptr for everything that is not published; a caller that
// gets nullptr reports the segment as damaged.
#pragma once

#include <cstdint>
#include <cstring>

#include "dstore/layout.h"
#include "dstore/segment.h"
#include "dstore/store.h"

namespace pmix::dstore {

class Access {
  public:
    explicit Access(Mapping& mapping) noexcept : mapping_(mapping), view_(&mapping.view()) {
        limit_ = view_->readable.load(std::memory_order_acquire);
    }

    const uint8_t* at(uint64_t offset, uint64_t size) noexcept {
        if (size <= limit_ && offset <= limit_ - size) [[likely]]
            return view_->base + offset;
        return look_again(offset, size);
    }
    const uint8_t* ref(uint32_t reference, uint64_t size) noexcept { return at(reference * layout::kUnit, size); }
    // All that is published by now.
    uint64_t readable() noexcept {
        if (const uint8_t* h = header(); h != nullptr) {
            const uint64_t published = layout::load_word(h + layout::kHdrPublished);
            if (published > limit_) at(published - 1, 1);
        }
        return limit_;
    }
    // nullptr only if nothing was ever published.
    const uint8_t* header() noexcept { return at(0, layout::kHeaderSize); }

    // Newest block of an owner; 0: none. *ok is false for a damaged table.
    uint32_t newest(Owner owner, bool* ok) noexcept {
        using namespace layout;
        const uint8_t* h = header();
        if (h == nullptr) return 0;
        const size_t kind = static_cast<size_t>(owner.kind);
        uint32_t leaf;
        if (owner.index < kLeafEntries) [[likely]] {
            leaf = load_ref(h + kHdrLeaf + 4 * kind);
        } else {
            leaf = leaf_of(h, kind, owner.index, ok);
        }
        if (leaf == 0) return 0;
        const uint8_t* entries = ref(leaf, uint64_t{4} * kLeafEntries);
        if (entries == nullptr) return damaged(ok);
        const uint32_t i = owner.index % kLeafEntries;
        neighbour_ = i + 1 < kLeafEntries ? entries + 4 * (i + 1) : nullptr;
        return load_ref(entries + 4 * i);
    }

    // A caller that reads one rank mostly reads the next one shortly after, and neighbours have mostly put the same
    // keys: brings the next rank's newest block, and the place in it where this rank's record (in units from its block)
    // was, into the cache. After newest(). A hint only: nothing is checked, because a prefetch of a wrong address does
    // nothing.
    void prefetch_neighbour(uint64_t record) const noexcept {
        if (neighbour_ == nullptr) return;
        const uint32_t reference = layout::load_ref(neighbour_);
        if (reference == 0) return;
        const uintptr_t block = reinterpret_cast<uintptr_t>(view_->base) + reference * layout::kUnit;
        const uintptr_t bytes = block + record * layout::kUnit;
        __builtin_prefetch(reinterpret_cast<const void*>(block));
        __builtin_prefetch(reinterpret_cast<const void*>(block + 64));
        __builtin_prefetch(reinterpret_cast<const void*>(bytes));
        __builtin_prefetch(reinterpret_cast<const void*>(bytes + 64));
    }

    // Leaf for an index that is not in the first one.
    uint32_t leaf_of(const uint8_t* h, size_t kind, uint32_t index, bool* ok) noexcept {
        using namespace layout;
        const uint32_t root = load_ref(h + kHdrRoot + 4 * kind);
        if (root == 0) return 0;
        const uint8_t* r = ref(root, uint64_t{4} * kRootEntries);
        if (r == nullptr) return damaged(ok);
        const uint32_t middle = load_ref(r + 4 * (index >> (kLeafBits + kMiddleBits)));
        if (middle == 0) return 0;
        const uint8_t* m = ref(middle, uint64_t{4} * kMiddleEntries);
        if (m == nullptr) return damaged(ok);
        return load_ref(m + 4 * (index >> kLeafBits & (kMiddleEntries - 1)));
    }

  private:
    const uint8_t* look_again(uint64_t offset, uint64_t size) noexcept {
        if (offset > layout::kMaxSegment || size > layout::kMaxSegment || !mapping_.extend(offset + size))
            return nullptr;
        view_ = &mapping_.view();
        limit_ = view_->readable.load(std::memory_order_acquire);
        return size <= limit_ && offset <= limit_ - size ? view_->base + offset : nullptr;
    }
    static uint32_t damaged(bool* ok) noexcept {
        *ok = false;
        return 0;
    }

    Mapping& mapping_;
    const Mapping::View* view_;
    const uint8_t* neighbour_ = nullptr;
    uint64_t limit_;
};

// A block whose header and arrays lie inside what is published.
class Block {
  public:
    // False: damaged.
    bool load(Access& access, uint32_t reference) noexcept {
        using namespace layout;
        const uint8_t* b = access.ref(reference, kBlkArrays);
        if (b == nullptr) return false;
        const uint64_t size = uint64_t{get32(b + kBlkSize)} * kUnit;
        count_ = get32(b + kBlkCount);
        if (size < kBlkArrays || uint64_t{count_} > (size - kBlkArrays) / 8) return false;
        at_ = access.ref(reference, size);
        if (at_ == nullptr) return false;
        reference_ = reference;
        size_ = size;
        return true;
    }

    uint32_t count() const noexcept { return count_; }
    uint64_t size() const noexcept { return size_; }
    uint32_t reference() const noexcept { return reference_; }
    uint32_t prev() const noexcept { return layout::get32(at_ + layout::kBlkPrev); }
    uint32_t held() const noexcept { return layout::get32(at_ + layout::kBlkHeld); }
    uint8_t flags() const noexcept { return at_[layout::kBlkFlags]; }
    uint8_t chain() const noexcept { return at_[layout::kBlkChain]; }
    uint64_t generation() const noexcept { return layout::get64(at_ + layout::kBlkGeneration); }
    uint64_t base() const noexcept { return layout::get64(at_ + layout::kBlkBase); }
    uint32_t hash(uint32_t i) const noexcept { return layout::get32(at_ + layout::kBlkArrays + 4 * size_t{i}); }
    // Where record i lies in the segment, in units.
    uint64_t record(uint32_t i) const noexcept {
        const uint64_t w = layout::get32(at_ + layout::kBlkArrays + 4 * (size_t{count_} + i));
        return (flags() & layout::kFlagIndex) != 0 ? w : reference_ + w;
    }

    // The first i whose hash is not below `hash`, if the array is sorted; some i up to count() if it is not.
    uint32_t lower_bound(uint32_t hash) const noexcept {
        const uint8_t* h = at_ + layout::kBlkArrays;
        if (count_ <= layout::kLinearRecords) {
            uint32_t below = 0;
            for (uint32_t i = 0; i < count_; ++i) below += layout::get32(h + 4 * i) < hash;
            return below;
        }
        // Hashes are spread evenly: start where this one is expected and widen from there.
        uint64_t low = 0;
        uint64_t high = count_;
        uint64_t guess = uint64_t{hash} * count_ >> 32;
        uint64_t step = 4;
        if (layout::get32(h + 4 * guess) < hash) {
            low = guess + 1;
            while (low + step < high && layout::get32(h + 4 * (low + step)) < hash) {
                low += step + 1;
                step *= 2;
            }
            if (low + step < high) high = low + step;
        } else {
            high = guess;
            while (high > low + step && layout::get32(h + 4 * (high - step)) >= hash) {
                high -= step;
                step *= 2;
            }
            if (high > low + step) low = high - step + 1;
        }
        while (low < high) {
            const uint64_t middle = (low + high) / 2;
            if (layout::get32(h + 4 * middle) < hash) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return static_cast<uint32_t>(low);
    }

  private:
    const uint8_t* at_ = nullptr;
    uint32_t reference_ = 0;
    uint32_t count_ = 0;
    uint64_t size_ = 0;
};

// A record with its key, both inside what is published.
struct RecordView {
    const uint8_t* value = nullptr;
    uint32_t length = 0;
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
    uint64_t key_unit = 0;
    std::string_view key;

    // False: damaged.
    bool load(Access& access, uint64_t unit) noexcept {
        using namespace layout;
        const uint8_t* r = access.at(unit * kUnit, kRecValue);
        if (r == nullptr) return false;
        length = get32(r + kRecLength);
        const uint32_t back = get32(r + kRecKeyBack);
        value = access.at(unit * kUnit + kRecValue, length);
        if (value == nullptr || back > unit) return false;
        scope = static_cast<pmix_scope_t>(get16(r + kRecScope));
        return back == 0 || load_key(access, unit - back);
    }
    bool load_key(Access& access, uint64_t unit) noexcept {
        using namespace layout;
        const uint8_t* k = access.at(unit * kUnit, kKeyName);
        if (k == nullptr) return false;
        const size_t n = get16(k + kKeyLength);
        const uint8_t* name = access.at(unit * kUnit + kKeyName, n);
        if (name == nullptr || n > common::kMaxKeyLength) return false;
        key_unit = unit;
        key = {reinterpret_cast<const char*>(name), n};
        return true;
    }
};

}  // namespace pmix::dstore
