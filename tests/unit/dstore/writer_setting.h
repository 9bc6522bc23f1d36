// SPDX-License-Identifier: BSD-3-Clause
// What the tests of the store's writer share: keys with chosen hashes, and records of many keys.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "dstore/layout.h"
#include "dstore/writer.h"
#include "support/cpu_time.h"
#include "support/sanitizers.h"
#include "support/store_values.h"

namespace pmix::dstore {

using namespace test;

// Keys of 16 bytes with chosen hashes: the second half is what the first half and the hash leave, hash_key read
// backwards.
class ChosenKeys {
  public:
    ChosenKeys() {
        while (kMultiplier * inverse_ != 1) inverse_ *= 2 - kMultiplier * inverse_;
    }
    std::string with(uint32_t hash) {
        for (;;) {
            const uint64_t first = 0x3031'3233'0000'0000ull + ++next_ * 0x0101 % 0xffff'ffffull;
            const uint64_t before = step((kStart + 16 * kMultiplier) ^ first);
            const uint64_t mixed = ((uint64_t{hash} << 32 | 0x1234'5678u)) * inverse_;
            const uint64_t second = (mixed ^ mixed >> 32) * inverse_ ^ before;
            std::string key(16, '\0');
            common::store_le(reinterpret_cast<uint8_t*>(key.data()), first);
            common::store_le(reinterpret_cast<uint8_t*>(key.data()) + 8, second);
            if (key.find('\0') == key.npos) return key;
        }
    }

  private:
    static constexpr uint64_t kMultiplier = 0x9fb21c651e98df25ull, kStart = 0x2545f4914f6cdd1dull;
    static uint64_t step(uint64_t word) { return word * kMultiplier ^ (word * kMultiplier) >> 32; }
    uint64_t inverse_ = kMultiplier;
    uint64_t next_ = 0;
};

// Many keys, each with this hash.
template <class F>
inline std::vector<std::string> chosen_keys(F&& hash_of, uint32_t n = 60'000) {
    ChosenKeys chosen;
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < n; ++i) {
        keys.push_back(chosen.with(hash_of(i)));
        EXPECT_EQ(hash_of(i), hash_key(keys.back()));
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys.end(), std::unique(keys.begin(), keys.end()));
    return keys;
}

inline std::vector<Record> records_of(const std::vector<std::string>& keys, common::Bytes value,
                                      pmix_scope_t scope = PMIX_GLOBAL) {
    std::vector<Record> records;
    for (const std::string& key : keys) records.push_back({key, value, scope});
    return records;
}

inline Buffer deleted() {
    return {std::begin(kDeletedValue), std::end(kDeletedValue)};
}

}  // namespace pmix::dstore
