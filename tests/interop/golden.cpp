// SPDX-License-Identifier: BSD-3-Clause
// The portable encoding without a test framework, so that it can be built for another machine and run there or under an
// emulator: every sample must be packed to the bytes kept in support/data_golden.h, and those bytes must come back
// equal. See run_big_endian.
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "common/codec/portable.h"
#include "common/values/describe.h"
#include "common/values/value.h"
#include "support/data_golden.h"
#include "support/data_samples.h"

using namespace pmix::common;

namespace {

std::vector<char> bytes_of(const char* hex) {
    const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
    std::vector<char> bytes;
    for (; *hex != '\0'; hex += 2) bytes.push_back(static_cast<char>(digit(hex[0]) << 4 | digit(hex[1])));
    return bytes;
}

bool packs(const pmix_sample_t& s, const std::vector<char>& golden) {
    pmix_data_buffer_t b{};
    const bool same = pack_values(&b, s.values, static_cast<size_t>(s.n), s.type) == PMIX_SUCCESS &&
                      b.bytes_used == golden.size() && memcmp(b.base_ptr, golden.data(), golden.size()) == 0;
    free(b.base_ptr);
    return same;
}

// What the kept bytes unpack to is packed again: two ways that only agree where both are right.
bool comes_back(const pmix_sample_t& s, std::vector<char> golden) {
    pmix_data_buffer_t b{};
    b.base_ptr = b.unpack_ptr = golden.data();
    b.pack_ptr = golden.data() + golden.size();
    b.bytes_used = b.bytes_allocated = golden.size();
    int32_t n = s.n + 1;  // a sample may have no values, and nobody unpacks into no room
    std::vector<char> memory(static_cast<size_t>(n) * element_size(*type_row(s.type), s.type));
    if (unpack_values(&b, memory.data(), &n, s.type) != PMIX_SUCCESS || n != s.n) return false;
    pmix_sample_t again = s;
    again.values = memory.data();
    const bool same = packs(again, bytes_of(pmix::test::kGolden[&s - g_samples].hex));
    const pmix_data_type_t type = s.type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : s.type;
    destroy_elements(type, memory.data(), static_cast<size_t>(s.n));
    return same;
}

}  // namespace

int main() {
    make_samples();
    int wrong = g_nsamples != std::size(pmix::test::kGolden);
    for (size_t i = 0; i < g_nsamples; ++i) {
        const std::vector<char> golden = bytes_of(pmix::test::kGolden[i].hex);
        if (!packs(g_samples[i], golden)) ++wrong, std::printf("%s is packed to other bytes\n", g_samples[i].name);
        if (!comes_back(g_samples[i], golden)) ++wrong, std::printf("%s does not come back\n", g_samples[i].name);
    }
    const uint16_t one = 1;
    std::printf("%s-endian: %zu samples, %d wrong\n", *reinterpret_cast<const char*>(&one) == 1 ? "little" : "big",
                g_nsamples, wrong);
    return wrong != 0;
}
