// SPDX-License-Identifier: BSD-3-Clause
#include "common/codec/pack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/random_value.h"
#include "support/status.h"

namespace pmix::common::pack_test {
namespace {

Value decoded(const ByteWriter& w) {
    ByteReader r(w.view());
    Value v;
    EXPECT_STATUS(PMIX_SUCCESS, decode_value(r, v.c_ptr()));
    EXPECT_TRUE(r.finished());
    return v;
}

TEST(Pack, BytesOfCommonTypes) {
    ByteWriter w;
    ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, Value::u32(0x01020304).get()));
    EXPECT_EQ(std::vector<uint8_t>(w.view().begin(), w.view().end()), (std::vector<uint8_t>{14, 0, 4, 3, 2, 1}));
    w.clear();
    Result<Value> text = Value::string("ab");
    ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, text->get()));
    EXPECT_EQ(std::vector<uint8_t>(w.view().begin(), w.view().end()),
              (std::vector<uint8_t>{3, 0, 3, 0, 0, 0, 'a', 'b', 0}));
}

TEST(Pack, StringAndNull) {
    ByteWriter w;
    Result<Value> null = Value::load(nullptr, PMIX_STRING);
    ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, null->get()));
    Value back = decoded(w);
    EXPECT_EQ(back.type(), PMIX_STRING);
    EXPECT_EQ(back.get().data.string, nullptr);
    pmix_value_t fast;
    ASSERT_STATUS(PMIX_SUCCESS, decode_value_into(w.view(), &fast));
    EXPECT_EQ(fast.type, PMIX_STRING);
    EXPECT_EQ(fast.data.string, nullptr);
}

// rows: K6
TEST(Pack, EveryTypeComesBackEqual) {
    for (pmix_data_type_t type : test::RandomValue::types()) {
        for (uint32_t seed = 0; seed < 60; ++seed) {
            test::RandomValue random(seed * 997 + type);
            pmix_value_t v;
            random.value(&v, type);
            ByteWriter w;
            ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v)) << type << " seed " << seed;
            EXPECT_EQ(encoded_type(w.view()), type);
            Value back = decoded(w);
            EXPECT_EQ(compare_values(v, back.get()), PMIX_EQUAL) << type << " seed " << seed;
            pmix_value_t fast;
            ASSERT_STATUS(PMIX_SUCCESS, decode_value_into(w.view(), &fast)) << type << " seed " << seed;
            EXPECT_EQ(compare_values(v, fast), PMIX_EQUAL) << type << " seed " << seed;
            destroy_value(&fast);
            pmix_value_t borrowed;
            pmix_status_t rc = borrow_value(w.view(), &borrowed);
            if (rc == PMIX_SUCCESS) {
                EXPECT_EQ(compare_values(v, borrowed), PMIX_EQUAL) << type << " seed " << seed;
            } else {
                EXPECT_STATUS(PMIX_ERR_GET_MALLOC_REQD, rc);
                EXPECT_EQ(borrowed.type, PMIX_UNDEF);
            }
            ByteWriter again;
            ASSERT_STATUS(PMIX_SUCCESS, encode_value(again, back.get()));
            EXPECT_TRUE(std::ranges::equal(w.view(), again.view())) << type << " seed " << seed;
            destroy_value(&v);
        }
    }
}

// The sanitizer watches: an exact buffer, so that one byte too far is seen, and leaks at the end.
pmix_status_t decode_exact(const uint8_t* bytes, size_t n) {
    auto* exact = static_cast<uint8_t*>(malloc(n == 0 ? 1 : n));
    if (n != 0) memcpy(exact, bytes, n);
    pmix_value_t v;
    pmix_status_t rc = decode_value_into({exact, n}, &v);
    if (rc == PMIX_SUCCESS) {
        destroy_value(&v);
    } else {
        EXPECT_EQ(v.type, PMIX_UNDEF);
        EXPECT_EQ(v.data.ptr, nullptr);
    }
    ByteReader r({exact, n});
    InfoList infos;
    if (decode_infos(r, &infos) != PMIX_SUCCESS) {
        EXPECT_TRUE(infos.empty());
    }
    pmix_value_t borrowed;
    (void)borrow_value({exact, n}, &borrowed);
    free(exact);
    return rc;
}

TEST(Pack, EveryTruncationIsAnError) {
    for (pmix_data_type_t type : test::RandomValue::types()) {
        for (uint32_t seed = 0; seed < 6; ++seed) {
            test::RandomValue random(seed * 31 + type);
            pmix_value_t v;
            random.value(&v, type, 2);
            ByteWriter w;
            ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v));
            destroy_value(&v);
            size_t step = w.size() > 4000 ? 7 : 1;
            for (size_t n = 0; n < w.size(); n += step) {
                EXPECT_NE(decode_exact(w.data(), n), PMIX_SUCCESS) << type << " cut at " << n << " of " << w.size();
            }
            w.u8(0);
            EXPECT_NE(decode_exact(w.data(), w.size()), PMIX_SUCCESS) << type << " with a byte too many";
        }
    }
}

TEST(Pack, HostileBytesNeverCrash) {
    test::RandomValue random(4711);
    for (int round = 0; round < 20000; ++round) {
        uint8_t bytes[200];
        size_t n = random.below(sizeof bytes);
        for (size_t i = 0; i < n; ++i) bytes[i] = static_cast<uint8_t>(random.below(4) == 0 ? random.below(256) : 0);
        if (n > 2) store_le<uint16_t>(bytes, static_cast<uint16_t>(random.below(76)));
        decode_exact(bytes, n);
    }
    for (int round = 0; round < 3000; ++round) {
        pmix_value_t v;
        random.value(&v, random.type(), 2);
        ByteWriter w;
        ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v));
        destroy_value(&v);
        if (w.size() < 3) continue;
        for (int flips = 0; flips < 3; ++flips)
            w.data()[2 + random.below(w.size() - 2)] = static_cast<uint8_t>(random.below(256));
        decode_exact(w.data(), w.size());
    }
}

TEST(Pack, CountsNeverSizeAnAllocation) {
    // A list of 2^32-1 infos in ten bytes, the same as an array in a value, an argv, and a string.
    ByteWriter list;
    list.u32(0xffffffff);
    list.u64(0);
    ByteReader r(list.view());
    InfoList infos;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_infos(r, &infos));
    for (pmix_data_type_t type :
         {pmix_data_type_t{PMIX_INFO}, pmix_data_type_t{PMIX_UINT8}, pmix_data_type_t{PMIX_DATA_ARRAY},
          pmix_data_type_t{PMIX_UNDEF}, pmix_data_type_t{444}}) {
        ByteWriter w;
        w.u16(PMIX_DATA_ARRAY);
        w.u8(1);
        w.u16(type);
        w.u32(0x7fffffff);
        w.u64(0);
        EXPECT_NE(decode_exact(w.data(), w.size()), PMIX_SUCCESS);
    }
    ByteWriter query;
    query.u16(PMIX_QUERY);
    query.u8(1);
    query.u32(0xffffffff);
    query.u64(0);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_exact(query.data(), query.size()));
}

TEST(Pack, ArraysOfNumbers_AreBoundedByTheirBytes) {
    constexpr size_t kMany = (17u << 20) + 3;
    std::vector<uint8_t> bytes(kMany, 7);
    bytes.back() = 9;
    pmix_data_array_t array{PMIX_UINT8, bytes.size(), bytes.data()};
    pmix_value_t value{};
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    ByteWriter w;
    ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, value));
    Value back;
    ASSERT_STATUS(PMIX_SUCCESS, decode_value_into(w.view(), back.c_ptr()));
    ASSERT_EQ(kMany, back.get().data.darray->size);
    EXPECT_EQ(9, static_cast<const uint8_t*>(back.get().data.darray->array)[kMany - 1]);
    array.size = size_t{kMaxFramePayload} + 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, encode_value(w, value));
    array.type = PMIX_UINT64;
    array.size = kMaxFramePayload / 8 + 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, encode_value(w, value));
    array.type = PMIX_INFO;  // which take more memory than bytes
    array.size = kMaxListLength + 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, encode_value(w, value));
}

TEST(Pack, ANumber_TakesNoMemoryAndTheSameBytes) {
    size_t numbers = 0;
    for (pmix_data_type_t type = 0; type < kTypeRows; ++type) {
        const TypeRow* row = type_row(type);
        if (row == nullptr || row->held == Held::by_pointer) continue;
        pmix_value_t value{};
        value.type = type;
        uint8_t bytes[kMaxScalarBytes];
        if (!row->plain) {
            EXPECT_EQ(0u, encode_number(value, bytes)) << row->name;
            continue;
        }
        ++numbers;
        std::memset(&value.data, 0x5a, row->size);
        ByteWriter w;
        ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, value)) << row->name;
        const size_t size = encode_number(value, bytes);
        ASSERT_EQ(w.size(), size) << row->name;
        EXPECT_EQ(0, std::memcmp(w.data(), bytes, size)) << row->name;
    }
    EXPECT_LT(20u, numbers);
    pmix_value_t unknown{};
    unknown.type = 9999;
    uint8_t bytes[kMaxScalarBytes];
    EXPECT_EQ(0u, encode_number(unknown, bytes));
}

TEST(Pack, NestingIsBounded) {
    for (unsigned depth : {kMaxValueDepth, kMaxValueDepth + 1, 100000u}) {
        ByteWriter w;
        w.u16(PMIX_DATA_ARRAY);
        w.u8(1);
        for (unsigned i = 1; i < depth; ++i) {
            w.u16(PMIX_DATA_ARRAY);
            w.u32(1);
        }
        w.u16(PMIX_UINT8);
        w.u32(1);
        w.u8(7);
        EXPECT_STATUS(depth <= kMaxValueDepth ? PMIX_SUCCESS : PMIX_ERR_UNPACK_FAILURE,
                      decode_exact(w.data(), w.size()));
    }
    ByteWriter values;
    for (unsigned i = 0; i < 100000; ++i) {
        values.u16(PMIX_VALUE);
        values.u8(1);
    }
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_exact(values.data(), values.size()));
}

TEST(Pack, AnEncoderThatFailsLeavesNothing) {
    ByteWriter w;
    w.u32(42);
    pmix_info_t infos[2] = {};
    infos[0].value.type = PMIX_UINT32;
    infos[1].value.type = 444;
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, encode_infos(w, infos, 2));
    EXPECT_EQ(w.size(), 4u);
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, encode_value(w, infos[1].value));
    EXPECT_EQ(w.size(), 4u);
}

TEST(Pack, ScalarsWithoutMemory) {
    uint8_t bytes[kMaxScalarBytes];
    const pmix_data_type_t types[] = {PMIX_BOOL, PMIX_UINT8,     PMIX_UINT16, PMIX_UINT32, PMIX_UINT64,
                                      PMIX_INT,  PMIX_PROC_RANK, PMIX_SIZE,   PMIX_STATUS};
    for (pmix_data_type_t type : types) {
        size_t n = encode_scalar(type, 1, bytes);
        pmix_value_t v;
        ASSERT_STATUS(PMIX_SUCCESS, decode_value_into({bytes, n}, &v)) << type;
        EXPECT_EQ(v.type, type);
        uint64_t number = type == PMIX_BOOL && v.data.flag;
        if (type != PMIX_BOOL) {
            EXPECT_STATUS(PMIX_SUCCESS, read_number(v, &number)) << type;
        }
        EXPECT_EQ(number, 1u) << type;
        ByteWriter w;
        ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v));
        EXPECT_TRUE(std::ranges::equal(w.view(), Bytes(bytes, n)));
    }
    EXPECT_EQ(encode_scalar(PMIX_STRING, 1, bytes), 0u);
    EXPECT_EQ(encode_scalar(PMIX_TIMEVAL, 1, bytes), 0u);
    EXPECT_EQ(encode_scalar(444, 1, bytes), 0u);
    ByteWriter w;
    encode_string_value(w, "text");
    Value text = decoded(w);
    EXPECT_STREQ(text.get().data.string, "text");
}

// rows: G13
TEST(Pack, LongestKeysAndNamespacesSurvive) {
    pmix_pdata_t pdata = {};
    memset(pdata.key, 'k', PMIX_MAX_KEYLEN);
    memset(pdata.proc.nspace, 'n', PMIX_MAX_NSLEN);
    pdata.proc.rank = 5;
    ByteWriter w;
    ASSERT_STATUS(PMIX_SUCCESS, encode_array(w, &pdata, 1));
    ByteReader r(w.view());
    CArray<pmix_pdata_t> back;
    ASSERT_STATUS(PMIX_SUCCESS, decode_array(r, &back));
    ASSERT_EQ(back.size(), 1u);
    EXPECT_EQ(strlen(back[0].key), size_t{PMIX_MAX_KEYLEN});
    EXPECT_EQ(strlen(back[0].proc.nspace), size_t{PMIX_MAX_NSLEN});
    // One more is not a key.
    ByteWriter longer;
    longer.u32(1);
    longer.u16(512);
    for (int i = 0; i < 512; ++i) longer.u8('k');
    longer.u32(0);
    longer.u16(PMIX_UNDEF);
    ByteReader r2(longer.view());
    InfoList infos;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_infos(r2, &infos));
}

TEST(Pack, RequestsCarryAppsQueriesAndProcs) {
    for (uint32_t seed = 0; seed < 30; ++seed) {
        test::RandomValue random(seed);
        void* p = nullptr;
        for (int type_id : {PMIX_APP, PMIX_QUERY, PMIX_PROC, PMIX_PDATA, PMIX_REGATTR, PMIX_NODE_STATS}) {
            auto type = static_cast<pmix_data_type_t>(type_id);
            ASSERT_STATUS(PMIX_SUCCESS, create_array(type, 3, &p));
            for (size_t i = 0; i < 3; ++i) random.element(type, static_cast<char*>(p) + i * type_row(type)->size);
            ByteWriter w;
            ASSERT_STATUS(PMIX_SUCCESS, encode_list(w, type, p, 3));
            void* back = nullptr;
            size_t n = 0;
            ByteReader r(w.view());
            ASSERT_STATUS(PMIX_SUCCESS, decode_list(r, type, &back, &n));
            EXPECT_TRUE(r.finished());
            ASSERT_EQ(n, 3u);
            EXPECT_EQ(compare_elements(type, p, back, 3), 0);
            destroy_array(type, p, 3);
            destroy_array(type, back, n);
        }
    }
}

TEST(Pack, BorrowedBytesPointIntoTheEncoding) {
    ByteWriter w;
    pmix_byte_object_t bo{const_cast<char*>("hello"), 5};
    Result<Value> v = Value::load(&bo, PMIX_BYTE_OBJECT);
    ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v->get()));
    pmix_value_t borrowed;
    ASSERT_STATUS(PMIX_SUCCESS, borrow_value(w.view(), &borrowed));
    EXPECT_EQ(reinterpret_cast<uint8_t*>(borrowed.data.bo.bytes), w.data() + kBytesOffset);
    EXPECT_EQ(borrowed.data.bo.size, 5u);
    pmix_value_t copy;
    ASSERT_STATUS(PMIX_SUCCESS, decode_value_into(w.view(), &copy));
    EXPECT_EQ(memcmp(copy.data.bo.bytes, "hello", 5), 0);
    destroy_value(&copy);
}

TEST(Pack, InfosRoundTripWithoutMemoryFlags) {
    InfoList list;
    ASSERT_STATUS(PMIX_SUCCESS, list.append_string("pmix.one", "1"));
    ASSERT_STATUS(PMIX_SUCCESS, list.append_number("pmix.two", uint32_t{2}, PMIX_UINT32));
    list[0].flags = PMIX_INFO_REQD | PMIX_INFO_ARRAY_END;
    ByteWriter w;
    ASSERT_STATUS(PMIX_SUCCESS, encode_infos(w, list.c_array(), list.size()));
    ByteReader r(w.view());
    InfoList back;
    ASSERT_STATUS(PMIX_SUCCESS, decode_infos(r, &back));
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0].flags, pmix_info_directives_t{PMIX_INFO_REQD});
    EXPECT_EQ(back[1].flags, pmix_info_directives_t{PMIX_INFO_ARRAY_END});
    EXPECT_STREQ(back.find("pmix.one")->value.data.string, "1");
    EXPECT_EQ(back.find("pmix.two")->value.data.uint32, 2u);
    EXPECT_EQ(back.find("pmix.three"), nullptr);
}

}  // namespace
}  // namespace pmix::common::pack_test
