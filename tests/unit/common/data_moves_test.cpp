// SPDX-License-Identifier: BSD-3-Clause
// Values of every type through every call that moves bytes without looking into them: copy_payload, unload, compress,
// decompress, load and embed. What is read at the end is what was packed at the start.
#include <gtest/gtest.h>
#include <pmix.h>

#include <cstdlib>
#include <cstring>
#include <memory>

#include "common/codec/portable.h"
#include "common/values/value.h"
#include "support/portable_random.h"
#include "support/status.h"

namespace pmix::common::data_moves_test {
namespace {

using test::Elements;
using test::PortableRandom;

struct Buffer : pmix_data_buffer_t {
    Buffer() { PMIx_Data_buffer_construct(this); }
    ~Buffer() { PMIx_Data_buffer_destruct(this); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
};

// Reads n values and holds them against what went in. The buffer is at its end afterwards, or before `more` bytes.
void expect_values(pmix_data_buffer_t& buffer, Elements& went, const char* how) {
    Elements unpacked(went.type(), went.size());
    auto n = static_cast<int32_t>(went.size());
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &buffer, unpacked.data(), &n, went.type()))
        << how << " " << went.type();
    ASSERT_EQ(went.size(), static_cast<size_t>(n)) << how;
    const pmix_data_type_t compared = went.type() == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : went.type();
    for (size_t i = 0; i < went.size(); ++i)
        EXPECT_EQ(0, compare_elements(compared, went.at(i), unpacked.at(i), 1)) << how << " " << went.type();
}

class Moves : public ::testing::TestWithParam<pmix_data_type_t> {};

// rows: D5 D6 D7 D8
TEST_P(Moves, EveryTypeIsUnpackedWhole) {
    for (uint32_t seed = 0; seed < 12; ++seed) {
        PortableRandom random(seed * 733 + GetParam());
        Elements went(GetParam(), 1 + seed % 5);
        random.fill(&went);
        Buffer packed;
        ASSERT_STATUS(PMIX_SUCCESS,
                      PMIx_Data_pack(nullptr, &packed, went.data(), static_cast<int32_t>(went.size()), GetParam()));

        // Behind other values, and with other values behind.
        Buffer joined;
        int32_t mark = 77, n = 1;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &joined, &mark, 1, PMIX_INT32));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy_payload(&joined, &packed));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &joined, &mark, 1, PMIX_INT32));
        mark = 0;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &joined, &mark, &n, PMIX_INT32));
        EXPECT_EQ(77, mark);
        expect_values(joined, went, "joined");
        mark = 0;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &joined, &mark, &n, PMIX_INT32));
        EXPECT_EQ(77, mark);
        EXPECT_EQ(joined.unpack_ptr, joined.pack_ptr);

        // A copy of the bytes in another buffer; the first stays as it is.
        pmix_byte_object_t seen = {packed.base_ptr, packed.bytes_used};
        Buffer embedded;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&embedded, &seen));
        expect_values(embedded, went, "embedded");

        // Out of the buffer, made small enough to be worth it, back, and into another buffer.
        pmix_byte_object_t payload = {};
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unload(&packed, &payload));
        EXPECT_EQ(nullptr, packed.base_ptr);
        std::string long_payload;
        while (long_payload.size() < 8192) long_payload.append(payload.bytes, payload.size);
        uint8_t *small = nullptr, *again = nullptr;
        size_t small_size = 0, again_size = 0;
        ASSERT_TRUE(PMIx_Data_compress(reinterpret_cast<uint8_t*>(long_payload.data()), long_payload.size(), &small,
                                       &small_size));
        EXPECT_LT(small_size, long_payload.size());
        ASSERT_TRUE(PMIx_Data_decompress(small, small_size, &again, &again_size));
        ASSERT_EQ(long_payload.size(), again_size);
        EXPECT_EQ(0, std::memcmp(long_payload.data(), again, again_size));
        std::free(small);
        pmix_byte_object_t whole = {reinterpret_cast<char*>(again), again_size};
        Buffer loaded;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_load(&loaded, &whole));
        EXPECT_EQ(nullptr, whole.bytes);
        expect_values(loaded, went, "decompressed");
        expect_values(loaded, went, "decompressed, the second of them");
        std::free(payload.bytes);
    }
}

std::string name_of(const ::testing::TestParamInfo<pmix_data_type_t>& info) {
    return PMIx_Data_type_string(info.param);
}
INSTANTIATE_TEST_SUITE_P(Types, Moves, ::testing::ValuesIn(PortableRandom::types()), name_of);

}  // namespace
}  // namespace pmix::common::data_moves_test
