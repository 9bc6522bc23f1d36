// SPDX-License-Identifier: BSD-3-Clause
// What PMIx_Data_pack and PMIx_Data_unpack do with what is unusual, and with what is not to be trusted.
#include <gtest/gtest.h>
#include <pmix.h>
#include <sys/resource.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "support/status.h"

namespace pmix::test::data_bounds_test {
namespace {

struct Buffer {
    pmix_data_buffer_t buffer = PMIX_DATA_BUFFER_STATIC_INIT;
    ~Buffer() { PMIx_Data_buffer_destruct(&buffer); }
};

// A number as OpenPMIx packs it: seven bits in each byte.
void add(std::string& bytes, uint64_t number) {
    for (; number >= 0x80; number >>= 7) bytes += static_cast<char>(number | 0x80);
    bytes += static_cast<char>(number);
}

long resident_kib() {
    rusage used;
    EXPECT_EQ(0, ::getrusage(RUSAGE_SELF, &used));
    return used.ru_maxrss;
}

// The text of a map that has been packed as a value and unpacked; "-" for none.
std::string map_of(const char* bytes, size_t size) {
    std::vector<char> exact(bytes, bytes + size);  // nothing behind it may be read
    pmix_value_t value{};
    value.type = PMIX_REGEX;
    value.data.bo.bytes = exact.data();
    value.data.bo.size = size;
    char none = 'a';
    if (size == 0) value.data.bo.bytes = &none;
    Buffer packed;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &packed.buffer, &value, 1, PMIX_VALUE));
    pmix_value_t back{};
    int32_t count = 1;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &packed.buffer, &back, &count, PMIX_VALUE));
    const std::string text = back.data.bo.bytes == nullptr ? "-" : back.data.bo.bytes;
    PMIx_Value_destruct(&back);
    return text;
}

TEST(DataBounds, ManyPointers_AreUnpacked) {
    std::vector<void*> pointers(1000), back(1000);
    Buffer packed;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &packed.buffer, pointers.data(), 1000, PMIX_POINTER));
    int32_t count = 1000;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &packed.buffer, back.data(), &count, PMIX_POINTER));
    EXPECT_EQ(1000, count);
}

// Each of 31 levels claims as many infos as could be in the bytes that are left.
TEST(DataBounds, NestedClaims_TakeNoMemoryBeyondABound) {
    std::string bytes;
    const size_t size = 200'000;
    add(bytes, 2);
    for (int level = 0; level < 31; ++level) {
        add(bytes, PMIX_INFO);
        add(bytes, (size - bytes.size() - 10) / 3);
        add(bytes, 2);
        bytes += '\0';
        add(bytes, 0);
        add(bytes, PMIX_DATA_ARRAY);
    }
    bytes.resize(size);
    const long before = resident_kib();
    pmix_data_buffer_t hostile = PMIX_DATA_BUFFER_STATIC_INIT;
    hostile.base_ptr = hostile.unpack_ptr = bytes.data();
    hostile.pack_ptr = bytes.data() + size;
    hostile.bytes_used = hostile.bytes_allocated = size;
    pmix_data_array_t array{};
    int32_t count = 1;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, PMIx_Data_unpack(nullptr, &hostile, &array, &count, PMIX_DATA_ARRAY))
        << "the bound ends it, not the end of the buffer";
    EXPECT_LT(resident_kib() - before, 800 * 1024) << "1.1 GB would be what it claims";
}

TEST(DataBounds, MapWithoutASizeOrAnEnd_IsPackedAsFarAsItGoes) {
    EXPECT_EQ("-", map_of("a", 0));
    EXPECT_EQ("abc", map_of("abc", 3)) << "without a NUL";
    EXPECT_EQ("abc", map_of("abc", 4));
    const char map[] = "pmix[n[1:1-3]]";
    EXPECT_EQ(map, map_of(map, sizeof map - 1));
    EXPECT_EQ(map, map_of(map, sizeof map));
}

TEST(DataBounds, NoNumber_IsEqualToNoNumberOnly) {
    pmix_value_t number{}, none{};
    number.type = none.type = PMIX_DOUBLE;
    number.data.dval = 1.0;
    none.data.dval = std::nan("");
    EXPECT_EQ(PMIX_VALUE_COMPARISON_NOT_AVAIL, PMIx_Value_compare(&number, &none));
    EXPECT_EQ(PMIX_VALUE_COMPARISON_NOT_AVAIL, PMIx_Value_compare(&none, &number));
    EXPECT_EQ(PMIX_EQUAL, PMIx_Value_compare(&none, &none));
    EXPECT_EQ(PMIX_EQUAL, PMIx_Value_compare(&number, &number));
}

}  // namespace
}  // namespace pmix::test::data_bounds_test
