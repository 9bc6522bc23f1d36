// SPDX-License-Identifier: BSD-3-Clause
// What the fields of messages are made of: arrays of the C interface, lists, bytes, segments.
//
// Pure values, any thread. How each is written, read and printed: message_codec.h. Ownership: as messages.h says.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "common/base/field_list.h"
#include "common/base/ids.h"
#include "common/values/value.h"

namespace pmix::common {

// Infos, apps or queries in a message: owned (after decoding, or moved in), or borrowed until encoded.
template <class T>
class AbiArray {
  public:
    using Owner = std::conditional_t<std::is_same_v<T, pmix_info_t>, InfoList, CArray<T>>;

    AbiArray() = default;
    AbiArray(Owner&& owner) noexcept : owner_(std::move(owner)) {}
    static AbiArray borrow(const T* array, size_t n) noexcept {
        AbiArray a;
        a.borrowed_ = array;
        a.borrowed_size_ = array == nullptr ? 0 : n;
        return a;
    }

    const T* data() const noexcept { return borrowed_ != nullptr ? borrowed_ : owned_data(owner_); }
    size_t size() const noexcept { return borrowed_ != nullptr ? borrowed_size_ : owner_.size(); }
    bool empty() const noexcept { return size() == 0; }
    const T* begin() const noexcept { return data(); }
    const T* end() const noexcept { return data() + size(); }
    const T& operator[](size_t i) const noexcept { return data()[i]; }
    // What is owned (empty for a borrowed array).
    Owner& owned() noexcept { return owner_; }
    const Owner& owned() const noexcept { return owner_; }
    Owner take() noexcept { return std::move(owner_); }

  private:
    static const T* owned_data(const InfoList& l) noexcept { return l.c_array(); }
    static const T* owned_data(const CArray<T>& a) noexcept { return a.data(); }
    Owner owner_;
    const T* borrowed_ = nullptr;
    size_t borrowed_size_ = 0;
};
using Infos = AbiArray<pmix_info_t>;
using Apps = AbiArray<pmix_app_t>;
using Queries = AbiArray<pmix_query_t>;

using ProcList = std::vector<ProcId>;
inline bool contains(const ProcList& list, const ProcId& proc) {
    return std::find(list.begin(), list.end(), proc) != list.end();
}
using KeyList = std::vector<std::string>;
using Blob = std::vector<uint8_t>;  // opaque, or one value as common/codec/pack.h encodes it

// Four bytes that are zero, in the place of a field that another message of the same layout has. Anything else is
// malformed.
struct Reserved {};

// A segment of a namespace's store that the receiver may map.
struct SegmentRef {
    std::string nspace;
    uint32_t index = 0;           // a namespace may have several
    uint64_t instance = 0;        // tells apart two namespaces of the same name
    uint64_t reservation = 0;     // bytes of address space to map
    uint64_t generation = 0;      // published when this was written
    bool has_descriptor = false;  // the frame's next descriptor is this segment's; false: the receiver has it already
    WIREUP_FIELDS(SegmentRef, nspace, index, instance, reservation, generation, has_descriptor)
};
using SegmentList = std::vector<SegmentRef>;

}  // namespace pmix::common
