// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/store.h"

namespace pmix::dstore {
namespace {

constexpr uint64_t kMultiplier = 0x9fb21c651e98df25ull;

uint64_t mix(uint64_t h, uint64_t word) noexcept {
    h = (h ^ word) * kMultiplier;
    return h ^ (h >> 32);
}

}  // namespace

// Eight characters a step, the last step overlapping the one before, so that a key of usual length takes three
// multiplications and no byte loop.
uint32_t hash_key(std::string_view name) noexcept {
    const char* p = name.data();
    const size_t n = name.size();
    uint64_t h = 0x2545f4914f6cdd1dull + n * kMultiplier;
    if (n >= 8) {
        size_t at = 0;
        for (; at + 8 < n; at += 8) h = mix(h, common::load_le<uint64_t>(p + at));
        h = mix(h, common::load_le<uint64_t>(p + n - 8));
    } else if (n >= 4) {
        h = mix(h, common::load_le<uint32_t>(p) | uint64_t{common::load_le<uint32_t>(p + n - 4)} << 32);
    } else if (n != 0) {
        h = mix(h, uint64_t{static_cast<uint8_t>(p[0])} | uint64_t{static_cast<uint8_t>(p[n / 2])} << 8 |
                       uint64_t{static_cast<uint8_t>(p[n - 1])} << 16);
    }
    h *= kMultiplier;
    return static_cast<uint32_t>(h >> 32);
}

}  // namespace pmix::dstore
