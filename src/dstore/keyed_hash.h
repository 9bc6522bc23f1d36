// SPDX-License-Identifier: BSD-3-Clause
// Where a hash that others can compute goes in a table of this process.
//
// hash_key is part of the format, so a process can choose keys whose hashes fall together in a table whose size it can
// guess. Tables in process memory therefore place a hash by a random function of this process (multiply-shift with two
// secret numbers). Equal hashes stay equal: how many keys of one owner may have one is bounded
// (layout::kMaxEqualHashes). Any thread; nothing can go wrong.
#pragma once

#include <sys/auxv.h>
#include <sys/random.h>

#include <cstdint>
#include <cstring>

namespace pmix::dstore {

class KeyedHash {
  public:
    uint32_t operator()(uint32_t hash) const noexcept {
        const Secret& s = secret();
        return static_cast<uint32_t>((hash + s.offset) * s.factor >> 32);
    }

  private:
    struct Secret {
        uint64_t offset = 0x2545f4914f6cdd1dull;
        uint64_t factor = 0x9fb21c651e98df25ull;
        Secret() noexcept {
            // What the kernel gave this process at its start serves where there is no random number now.
            const auto* start = reinterpret_cast<const void*>(::getauxval(AT_RANDOM));
            uint64_t random[2];
            if (::getrandom(random, sizeof random, GRND_NONBLOCK) == static_cast<ssize_t>(sizeof random)) {
                offset = random[0];
                factor = random[1];
            } else if (start != nullptr) {
                std::memcpy(random, start, sizeof random);
                offset ^= random[0];
                factor ^= random[1];
            }
            factor |= 1;
        }
    };
    static const Secret& secret() noexcept {
        static const Secret s;
        return s;
    }
};

}  // namespace pmix::dstore
