// SPDX-License-Identifier: BSD-3-Clause
#include "common/codec/portable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/opaque.h"
#include "common/base/portable_bytes.h"
#include "common/values/real_text.h"
#include "support/data_golden.h"
#include "support/data_samples.h"
#include "support/portable_random.h"
#include "support/status.h"

namespace pmix::common::portable_test {
namespace {

using ByteVector = std::vector<uint8_t>;

// A buffer that goes with its scope.
struct Buffer : pmix_data_buffer_t {
    Buffer() : pmix_data_buffer_t{} {}
    explicit Buffer(const ByteVector& bytes) : Buffer() {
        // Exactly as long, so that a sanitizer sees one byte too far.
        base_ptr = static_cast<char*>(malloc(bytes.empty() ? 1 : bytes.size()));
        if (!bytes.empty()) memcpy(base_ptr, bytes.data(), bytes.size());
        unpack_ptr = base_ptr;
        pack_ptr = base_ptr + bytes.size();
        bytes_allocated = bytes_used = bytes.size();
    }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { free(base_ptr); }
    ByteVector bytes() const { return {base_ptr, base_ptr + bytes_used}; }
};

std::string hex(const pmix_data_buffer_t& b) {
    std::string text;
    for (size_t i = 0; i < b.bytes_used; ++i) {
        text += "0123456789abcdef"[static_cast<uint8_t>(b.base_ptr[i]) >> 4];
        text += "0123456789abcdef"[static_cast<uint8_t>(b.base_ptr[i]) & 15];
    }
    return text;
}

template <class T>
std::string packed_hex(const T& value, pmix_data_type_t type) {
    Buffer b;
    EXPECT_STATUS(PMIX_SUCCESS, pack_values(&b, &value, 1, type));
    return hex(b);
}

void destroy_unpacked(pmix_data_type_t type, void* values, size_t n) {
    destroy_elements(type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type, values, n);
}

// rows: D1
TEST(Portable, SamplesPackToTheBytesKept) {
    make_samples();
    ASSERT_EQ(g_nsamples, std::size(test::kGolden));
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        Buffer b;
        ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, s.values, static_cast<size_t>(s.n), s.type)) << s.name;
        EXPECT_STREQ(s.name, test::kGolden[i].name);
        EXPECT_EQ(hex(b), test::kGolden[i].hex) << s.name;
    }
}

TEST(Portable, TypesOfLaterReleases) {
    pmix_device_t device = {const_cast<char*>("u"), const_cast<char*>("gpu0"), PMIX_DEVTYPE_GPU};
    EXPECT_EQ(packed_hex(device, PMIX_DEVICE),
              "0204"
              "7500"
              "0a"
              "6770753000"
              "02");
    pmix_resource_unit_t unit = {PMIX_DEVTYPE_NETWORK, 300};
    EXPECT_EQ(packed_hex(unit, PMIX_RESOURCE_UNIT),
              "0204"
              "ac02");
    pmix_node_pid_t node = {const_cast<char*>("n"), 130, 7};
    EXPECT_EQ(packed_hex(node, PMIX_NODE_PID),
              "02046e00"
              "8201"
              "0e07");
    EXPECT_EQ(packed_hex(pmix_resource_block_directive_t{2}, PMIX_RESBLOCK_DIRECTIVE), "0202");
}

// rows: D1 D2
TEST(Portable, EveryTypeComesBackEqual) {
    for (pmix_data_type_t type : test::PortableRandom::types()) {
        for (uint32_t seed = 0; seed < 60; ++seed) {
            test::PortableRandom random(seed * 911 + type);
            const size_t n = 1 + seed % 4;
            test::Elements went(type, n);
            random.fill(&went);
            Buffer b;
            ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, went.data(), n, type)) << type << " seed " << seed;
            test::Elements unpacked(type, n + 1);
            auto count = static_cast<int32_t>(n + 1);
            ASSERT_STATUS(PMIX_SUCCESS, unpack_values(&b, unpacked.data(), &count, type)) << type << " seed " << seed;
            ASSERT_EQ(count, static_cast<int32_t>(n));
            EXPECT_EQ(b.unpack_ptr, b.base_ptr + b.bytes_used);
            for (size_t i = 0; i < n; ++i) {
                const pmix_data_type_t compared = type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type;
                EXPECT_EQ(compare_elements(compared, went.at(i), unpacked.at(i), 1), 0) << type << " seed " << seed;
            }
            Buffer again;
            ASSERT_STATUS(PMIX_SUCCESS, pack_values(&again, unpacked.data(), n, type));
            EXPECT_EQ(again.bytes(), b.bytes()) << type << " seed " << seed;
        }
    }
}

// Unpacks and checks what is promised of failures. Returns the status.
pmix_status_t unpack_hostile(const ByteVector& bytes, pmix_data_type_t type, size_t capacity) {
    Buffer b(bytes);
    const size_t size = capacity * element_size(*type_row(type), type);
    auto* out = static_cast<uint8_t*>(malloc(size));
    memset(out, 0xa5, size);
    auto n = static_cast<int32_t>(capacity);
    const pmix_status_t rc = unpack_values(&b, out, &n, type);
    if (rc == PMIX_SUCCESS || rc == PMIX_ERR_UNPACK_INADEQUATE_SPACE) {
        destroy_unpacked(type, out, static_cast<size_t>(n));
    } else {
        EXPECT_EQ(n, 0);
    }
    if (rc != PMIX_SUCCESS) {
        EXPECT_EQ(b.unpack_ptr, b.base_ptr);
    }
    free(out);
    return rc;
}

// rows: D2
TEST(Portable, EveryTruncationIsAnError) {
    for (pmix_data_type_t type : test::PortableRandom::types()) {
        for (uint32_t seed = 0; seed < 6; ++seed) {
            test::PortableRandom random(seed * 37 + type);
            test::Elements e(type, 2);
            random.fill(&e);
            Buffer b;
            ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, e.data(), 2, type));
            const ByteVector whole = b.bytes();
            const size_t step = whole.size() > 2000 ? 7 : 1;
            for (size_t cut = 0; cut < whole.size(); cut += step) {
                const ByteVector part(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(cut));
                EXPECT_NE(unpack_hostile(part, type, 2), PMIX_SUCCESS) << type << " cut at " << cut;
            }
        }
    }
}

// rows: D2
TEST(Portable, FlippedBytesAreHarmless) {
    for (pmix_data_type_t type : test::PortableRandom::types()) {
        test::PortableRandom random(type);
        test::Elements e(type, 1);
        random.fill(&e);
        Buffer b;
        ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, e.data(), 1, type));
        ByteVector bytes = b.bytes();
        for (size_t i = 0; i < std::min<size_t>(bytes.size(), 400); ++i) {
            for (uint8_t x : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
                const uint8_t before = bytes[i];
                bytes[i] = x;
                (void)unpack_hostile(bytes, type, 1);
                bytes[i] = before;
            }
        }
    }
}

// rows: D2
TEST(Portable, CountsAreHeldAgainstTheBytesLeft) {
    // 2^30 elements, of which none is there: nothing of that size is made.
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({0x80, 0x80, 0x80, 0x80, 0x08}, PMIX_INFO, 4));
    // An array, a list, an argv, a string, an object that claim to be large; a negative count; a string without its
    // NUL.
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, PMIX_INFO, 0xff, 0xff, 0xff, 0xff, 0x0f}, PMIX_DATA_ARRAY, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, 0, 0xff, 0xff, 0xff, 0xff, 0x0f}, PMIX_QUERY, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, 0xfe, 0xff, 0xff, 0x0f, 0}, PMIX_QUERY, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, 0xfe, 0xff, 0xff, 0x0f, 'a'}, PMIX_STRING, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1}, PMIX_BYTE_OBJECT, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({1, 0}, PMIX_INT, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, 3, 'a', 0}, PMIX_STRING, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, 4, 'a', 'b'}, PMIX_STRING, 1));
    // More pointers than anybody sends in the one byte that they take.
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER,
                  unpack_hostile({2, PMIX_POINTER, 0xff, 0xff, 0x7f, 1}, PMIX_DATA_ARRAY, 1));
    // Numbers that do not fit, types that are none, a namespace too long.
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, 0x80, 0x80, 0x04}, PMIX_UINT16, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, 0x80, 0x80, 0x80, 0x80, 0x10}, PMIX_INT32, 1));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, unpack_hostile({2, 0xf4, 0x03}, PMIX_VALUE, 1));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, unpack_hostile({2, 26, 1}, PMIX_DATA_ARRAY, 1));
    ByteVector nspace(262, 'n');
    nspace[0] = 2;
    nspace[1] = 0x86;  // 259 bytes
    nspace[2] = 0x04;
    nspace.back() = 0;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile(nspace, PMIX_PROC_NSPACE, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, 8, 'x', '.', 'y', 0}, PMIX_DOUBLE, 1));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile({2, PMIX_STRING, 4}, PMIX_PID, 1));
}

// rows: D2
TEST(Portable, NestingIsBounded) {
    ByteVector deep = {2};
    for (int i = 0; i < 100000; ++i) deep.insert(deep.end(), {PMIX_DATA_ARRAY, 1});
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile(deep, PMIX_DATA_ARRAY, 1));
    ByteVector values = {2};
    for (int i = 0; i < 100000; ++i) values.push_back(PMIX_VALUE);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack_hostile(values, PMIX_VALUE, 1));
    pmix_data_array_t arrays[64];
    for (size_t i = 0; i < 63; ++i) arrays[i] = {PMIX_DATA_ARRAY, 1, &arrays[i + 1]};
    arrays[63] = {PMIX_DATA_ARRAY, 0, nullptr};
    Buffer b;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pack_values(&b, &arrays[0], 1, PMIX_DATA_ARRAY));
    EXPECT_EQ(b.bytes_used, 0u);
    EXPECT_STATUS(PMIX_SUCCESS, pack_values(&b, &arrays[40], 1, PMIX_DATA_ARRAY));
}

// rows: D2
TEST(Portable, LessRoomThanValues) {
    Buffer b;
    char* words[] = {const_cast<char*>("one"), const_cast<char*>("two"), const_cast<char*>("three")};
    ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, words, 3, PMIX_STRING));
    char* back[3] = {};
    int32_t n = 2;
    EXPECT_STATUS(PMIX_ERR_UNPACK_INADEQUATE_SPACE, unpack_values(&b, back, &n, PMIX_STRING));
    EXPECT_EQ(n, 2);
    EXPECT_STREQ(back[1], "two");
    EXPECT_EQ(back[2], nullptr);
    destroy_elements(PMIX_STRING, back, 2);
    EXPECT_EQ(b.unpack_ptr, b.base_ptr);
    n = 0;
    EXPECT_STATUS(PMIX_ERR_UNPACK_INADEQUATE_SPACE, unpack_values(&b, back, &n, PMIX_STRING));
    n = -1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, unpack_values(&b, back, &n, PMIX_STRING));
    n = 3;
    EXPECT_STATUS(PMIX_SUCCESS, unpack_values(&b, back, &n, PMIX_STRING));
    EXPECT_STREQ(back[2], "three");
    destroy_elements(PMIX_STRING, back, 3);
    n = 3;
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER, unpack_values(&b, back, &n, PMIX_STRING));
    EXPECT_EQ(n, 0);
    // Reading takes nothing away.
    b.unpack_ptr = b.base_ptr;
    n = 3;
    EXPECT_STATUS(PMIX_SUCCESS, unpack_values(&b, back, &n, PMIX_STRING));
    destroy_elements(PMIX_STRING, back, 3);
}

// rows: D2
TEST(Portable, DescribedBuffersAreReadAndContinued) {
    const uint32_t number = 300;
    Buffer b(ByteVector{9, 2, PMIX_UINT32, 0xac, 2});
    uint32_t back = 0;
    int32_t n = 1;
    EXPECT_STATUS(PMIX_ERR_PACK_MISMATCH, unpack_values(&b, &back, &n, PMIX_INT32));
    n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, unpack_values(&b, &back, &n, PMIX_UINT32));
    EXPECT_EQ(back, number);
    ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, &number, 1, PMIX_UINT32));
    EXPECT_EQ(b.bytes(), (ByteVector{9, 2, PMIX_UINT32, 0xac, 2, 9, 2, PMIX_UINT32, 0xac, 2}));
    n = 1;
    EXPECT_STATUS(PMIX_SUCCESS, unpack_values(&b, &back, &n, PMIX_UINT32));
    // The two kinds do not go into one buffer.
    Buffer plain;
    ASSERT_STATUS(PMIX_SUCCESS, pack_values(&plain, &number, 1, PMIX_UINT32));
    b.unpack_ptr = b.base_ptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, append_unread(&plain, b));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, append_unread(&b, plain));
    Buffer empty;
    EXPECT_STATUS(PMIX_SUCCESS, append_unread(&empty, b));
    EXPECT_EQ(empty.bytes(), b.bytes());
}

// rows: D1
TEST(Portable, AFailureLeavesTheBufferAsItWas) {
    Buffer b;
    const uint32_t number = 5;
    ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, &number, 1, PMIX_UINT32));
    const ByteVector before = b.bytes();
    pmix_value_t values[2] = {};
    values[0].type = PMIX_STRING;
    values[0].data.string = const_cast<char*>("kept out");
    values[1].type = PMIX_PROC;  // that is not there
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pack_values(&b, values, 2, PMIX_VALUE));
    EXPECT_EQ(b.bytes(), before);
    values[1].type = 500;
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, pack_values(&b, values, 2, PMIX_VALUE));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, pack_values(&b, values, 1, PMIX_UNDEF));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, pack_values(&b, values, 1, 500));
    pmix_topology_t topology = {const_cast<char*>("other"), nullptr};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, pack_values(&b, &topology, 1, PMIX_TOPO));
    EXPECT_EQ(b.bytes(), before);
    EXPECT_EQ(b.pack_ptr, b.base_ptr + b.bytes_used);
    EXPECT_EQ(b.unpack_ptr, b.base_ptr);
    b.unpack_ptr = b.base_ptr + 100;  // beyond what is there
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pack_values(&b, &number, 1, PMIX_UINT32));
    uint32_t back;
    int32_t n = 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, unpack_values(&b, &back, &n, PMIX_UINT32));
    b.unpack_ptr = b.base_ptr;
}

TEST(Portable, GrowingKeepsBothPositions) {
    Buffer b;
    for (uint64_t i = 0; i < 3000; ++i) {
        ASSERT_STATUS(PMIX_SUCCESS, pack_values(&b, &i, 1, PMIX_UINT64));
        if (i % 2 == 0) continue;
        uint64_t back = 0;
        int32_t n = 1;
        ASSERT_STATUS(PMIX_SUCCESS, unpack_values(&b, &back, &n, PMIX_UINT64));
        ASSERT_EQ(back, i / 2);
        ASSERT_EQ(b.pack_ptr, b.base_ptr + b.bytes_used);
        ASSERT_GE(b.bytes_allocated, b.bytes_used);
    }
}

TEST(Portable, BoolsOfAnyByte) {
    uint8_t in[300];
    for (size_t i = 0; i < sizeof in; ++i) in[i] = static_cast<uint8_t>(i * 37);
    for (size_t n : {0, 1, 7, 8, 9, 256, 300}) {
        std::vector<uint8_t> out(n);
        copy_bools(out.data(), in, n);
        for (size_t i = 0; i < n; ++i) EXPECT_EQ(out[i], in[i] != 0) << i;
    }
}

TEST(Portable, FlexNumbers) {
    for (uint64_t n : {0ull, 1ull, 127ull, 128ull, 16383ull, 16384ull, (1ull << 55), (1ull << 56) - 1, (1ull << 56),
                       ~0ull, 1ull << 63}) {
        uint8_t bytes[kMaxFlexBytes];
        const auto length = static_cast<size_t>(put_flex(bytes, n) - bytes);
        EXPECT_LE(length, kMaxFlexBytes);
        PortableReader r({bytes, length});
        EXPECT_EQ(r.flex(), n);
        EXPECT_TRUE(r.ok());
        EXPECT_EQ(r.left(), 0u);
        PortableReader cut({bytes, length - 1});
        (void)cut.flex();
        EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER, cut.status());
    }
    for (int64_t n : {int64_t{0}, int64_t{-1}, int64_t{1}, INT64_MAX, INT64_MIN}) EXPECT_EQ(unfold(fold(n)), n);
    EXPECT_EQ(fold(-2), 3u);
}

template <class T>
void expect_there_and_back(T number) {
    char text[kMaxRealText];
    const size_t n = print_real(number, text);
    ASSERT_LT(n, kMaxRealText);
    ASSERT_EQ(n, std::strlen(text));
    T back = 0;
    ASSERT_TRUE(parse_real(text, n, &back)) << text;
    if (std::isnan(number)) {
        EXPECT_TRUE(std::isnan(back));
    } else {
        EXPECT_EQ(std::memcmp(&back, &number, sizeof number), 0) << text;
    }
}

TEST(Portable, RealsComeBackExactly) {
    for (double d : {0.0, -0.0, 0.1, 1e-9, 1.0 / 3, 123456789.987654, 2147483647.999999, 2147483648.5, 1e300, 5e-324,
                     std::numeric_limits<double>::max(), std::numeric_limits<double>::infinity(),
                     -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        expect_there_and_back(d);
        expect_there_and_back(static_cast<float>(d));
    }
    std::mt19937_64 random(7);
    for (int i = 0; i < 200000; ++i) {
        const uint64_t bits = random();
        double d;
        std::memcpy(&d, &bits, sizeof d);
        expect_there_and_back(d);
        float f;
        std::memcpy(&f, &bits, sizeof f);
        expect_there_and_back(f);
        expect_there_and_back(static_cast<double>(bits % 1000000007) / 1e6);
        expect_there_and_back(static_cast<float>(bits % 1000003) / 1000);
    }
}

TEST(Portable, RealsLookAsTheirs) {
    // Whatever six decimals say exactly is written as printf would.
    std::mt19937_64 random(11);
    for (int i = 0; i < 20000; ++i) {
        const double d = static_cast<double>(static_cast<int64_t>(random() % 4'000'000'000'000)) / 1e6 - 2e6;
        char ours[kMaxRealText];
        char theirs[400];
        print_real(d, ours);
        std::snprintf(theirs, sizeof theirs, "%f", d);
        if (std::strtod(theirs, nullptr) == d) {
            EXPECT_STREQ(ours, theirs);
        }
        const auto f = static_cast<float>(d);
        print_real(f, ours);
        std::snprintf(theirs, sizeof theirs, "%f", static_cast<double>(f));
        if (std::strtof(theirs, nullptr) == f) {
            EXPECT_STREQ(ours, theirs);
        }
    }
    double d = 0;
    for (const char* text :
         {"0x1p", "0x1p+", "0x1.p1x", "0x1.5555555555555p-2 ", "0x1.zp+0", "0x", "1.5x", "-", ".", ""}) {
        EXPECT_FALSE(parse_real(text, std::strlen(text), &d)) << text;
    }
    char text[kMaxRealText];
    EXPECT_EQ(print_real(1.0 / 3, text), 20u);
    EXPECT_STREQ(text, "0x1.5555555555555p-2");
    EXPECT_TRUE(parse_real("0x1.55555555555551p-2", 21, &d));  // a digit more than a double has
    EXPECT_EQ(d, 1.0 / 3);
    EXPECT_TRUE(parse_real("1e3", 3, &d));
    EXPECT_EQ(d, 1000);
    EXPECT_TRUE(parse_real("1,500000", 8, &d));
    EXPECT_EQ(d, 1.5);
}

}  // namespace
}  // namespace pmix::common::portable_test
