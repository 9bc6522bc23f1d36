// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/value.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <climits>
#include <cmath>
#include <limits>
#include <string>

#include "common/base/opaque.h"
#include "common/values/print.h"
#include "support/random_value.h"
#include "support/status.h"

namespace pmix::common::value_test {
namespace {

using test::RandomValue;

TEST(Describe, EveryPublicTypeHasARow) {
    for (pmix_data_type_t t = 0; t < kTypeRows; ++t) {
        // 26 and 28 name private structs, 29 and 44 were never given out.
        bool none = t == PMIX_BUFFER || t == PMIX_KVAL || t == 29 || t == 44;
        EXPECT_EQ(type_row(t) == nullptr, none) << t;
    }
    EXPECT_EQ(type_row(kTypeRows), nullptr);
    EXPECT_EQ(type_row(PMIX_DATA_TYPE_MAX), nullptr);
    EXPECT_EQ(type_row(0xffff), nullptr);
}

// The fields of a struct, with what their pointers count, must account for every byte but padding.
TEST(Describe, FieldsFitTheirStructs) {
    for (pmix_data_type_t t : RandomValue::types()) {
        const TypeRow& row = *type_row(t);
        size_t end = 0;
        for (const Field& f : fields_of(row)) {
            EXPECT_GE(f.offset, end) << row.name << "." << f.name;
            EXPECT_LE(size_t{f.offset} + f.width, row.size) << row.name << "." << f.name;
            EXPECT_LT(size_t{f.offset} - end, 8u) << row.name << ": a gap before " << f.name;
            end = f.offset + f.width;
            if (f.form == Form::blob || f.form == Form::list) {
                EXPECT_EQ(f.count_offset, end);
                end = f.count_offset + sizeof(size_t);
            }
            if (f.form == Form::record || f.form == Form::list) {
                EXPECT_NE(type_row(f.type), nullptr);
            }
        }
        EXPECT_LT(row.size - end, 8u) << row.name << ": something at the end is not described";
        if (row.held == Held::in_place) {
            EXPECT_LE(row.size, sizeof(pmix_value_t) - offsetof(pmix_value_t, data)) << row.name;
        }
    }
}

// rows: D9 K6
TEST(Value, CopyEqualsOriginalAndIsItsOwn) {
    for (pmix_data_type_t type : RandomValue::types()) {
        for (uint32_t seed = 0; seed < 40; ++seed) {
            RandomValue random(seed * 1000 + type);
            pmix_value_t original;
            random.value(&original, type);
            pmix_value_t copy;
            memset(&copy, 0xee, sizeof copy);
            ASSERT_STATUS(PMIX_SUCCESS, copy_value(&copy, original)) << type << " seed " << seed;
            EXPECT_EQ(copy.type, type);
            EXPECT_EQ(compare_values(original, copy), PMIX_EQUAL) << type << " seed " << seed;
            size_t a = 0, b = 0;
            EXPECT_EQ(value_size(original, &a), value_size(copy, &b));
            EXPECT_EQ(a, b);
            std::string before, after;
            print_value(before, copy);
            destroy_value(&original);
            destroy_value(&original);
            print_value(after, copy);
            EXPECT_TRUE(before == after) << type << " seed " << seed << ": the copy leans on the original";
            destroy_value(&copy);
            EXPECT_EQ(copy.type, PMIX_UNDEF);
        }
    }
}

TEST(Value, OrderIsAntisymmetric) {
    for (pmix_data_type_t type : RandomValue::types()) {
        for (uint32_t seed = 0; seed < 20; ++seed) {
            RandomValue random(seed * 77 + type);
            pmix_value_t a, b;
            random.value(&a, type, 1);
            random.value(&b, type, 1);
            pmix_value_cmp_t ab = compare_values(a, b);
            pmix_value_cmp_t ba = compare_values(b, a);
            if (ab == PMIX_VALUE1_GREATER) {
                EXPECT_EQ(ba, PMIX_VALUE2_GREATER);
            } else if (ab == PMIX_VALUE2_GREATER) {
                EXPECT_EQ(ba, PMIX_VALUE1_GREATER);
            } else {
                EXPECT_EQ(ab, ba);
            }
            destroy_value(&a);
            destroy_value(&b);
        }
    }
}

// rows: D10
TEST(Value, CompareTellsWhatDiffers) {
    Value one = Value::u32(1), two = Value::u32(2);
    EXPECT_EQ(compare_values(one.get(), two.get()), PMIX_VALUE2_GREATER);
    EXPECT_EQ(compare_values(two.get(), one.get()), PMIX_VALUE1_GREATER);
    EXPECT_EQ(compare_values(one.get(), one.get()), PMIX_EQUAL);
    EXPECT_EQ(compare_values(one.get(), Value::flag(true).get()), PMIX_VALUE_TYPE_DIFFERENT);
    EXPECT_EQ(compare_values(Value::number(int32_t{-1}, PMIX_INT32).get(), Value::number(int32_t{1}, PMIX_INT32).get()),
              PMIX_VALUE2_GREATER);
    uint32_t numbers[] = {1, 2};
    int8_t small[] = {1, 2};
    pmix_data_array_t a = {PMIX_UINT32, 2, numbers}, b = {PMIX_INT8, 2, small}, shorter = {PMIX_UINT32, 1, numbers};
    auto va = Value::load(&a, PMIX_DATA_ARRAY), vb = Value::load(&b, PMIX_DATA_ARRAY),
         vs = Value::load(&shorter, PMIX_DATA_ARRAY);
    EXPECT_EQ(compare_values(va->get(), vb->get()), PMIX_VALUE_INCOMPATIBLE_OBJECTS);
    EXPECT_EQ(compare_values(va->get(), vs->get()), PMIX_VALUE1_GREATER);
    pmix_value_t unknown = {};
    unknown.type = 444;
    EXPECT_EQ(compare_values(unknown, unknown), PMIX_VALUE_COMPARISON_NOT_AVAIL);
}

TEST(Value, UnknownTypesAreRefused) {
    pmix_value_t v = {}, out;
    for (pmix_data_type_t t : {pmix_data_type_t{PMIX_BUFFER}, pmix_data_type_t{29}, pmix_data_type_t{500}}) {
        v.type = t;
        EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, copy_value(&out, v));
        EXPECT_EQ(out.type, PMIX_UNDEF);
        EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, load_value(&out, "x", t));
    }
    destroy_value(&v);  // nothing known, nothing freed
}

// A chain of n arrays, the innermost with one number.
pmix_data_array_t* nest(unsigned n) {
    auto* inner = static_cast<pmix_data_array_t*>(calloc(1, sizeof(pmix_data_array_t)));
    inner->type = PMIX_UINT8;
    inner->size = 1;
    inner->array = calloc(1, 1);
    for (unsigned i = 1; i < n; ++i) {
        auto* outer = static_cast<pmix_data_array_t*>(calloc(1, sizeof(pmix_data_array_t)));
        outer->type = PMIX_DATA_ARRAY;
        outer->size = 1;
        outer->array = inner;
        inner = outer;
    }
    return inner;
}

TEST(Value, ArraysNestUpToTheBound) {
    for (unsigned depth : {1u, 2u, kMaxValueDepth, kMaxValueDepth + 1, 3 * kMaxValueDepth}) {
        pmix_value_t v = {}, copy;
        v.type = PMIX_DATA_ARRAY;
        v.data.darray = nest(depth);
        pmix_status_t rc = copy_value(&copy, v);
        EXPECT_STATUS(depth <= kMaxValueDepth ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM, rc) << depth;
        if (rc == PMIX_SUCCESS) {
            EXPECT_EQ(compare_values(v, copy), PMIX_EQUAL);
        }
        std::string text;
        print_value(text, v);
        destroy_value(&copy);
        destroy_value(&v);
    }
}

TEST(Value, NestedValuesAreBoundedToo) {
    // value → (pointer) value → ... without an array in between.
    pmix_value_t v = {}, copy;
    pmix_value_t* at = &v;
    for (unsigned i = 0; i < 2 * kMaxValueDepth; ++i) {
        at->type = PMIX_VALUE;
        at->data.ptr = calloc(1, sizeof(pmix_value_t));
        at = static_cast<pmix_value_t*>(at->data.ptr);
    }
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, copy_value(&copy, v));
    EXPECT_EQ(copy.type, PMIX_UNDEF);
    destroy_value(&v);
}

TEST(Value, InfoArraysAreMarkedAtTheirEnd) {
    pmix_info_t infos[2] = {};
    infos[0].flags = PMIX_INFO_ARRAY_END | PMIX_INFO_REQD;
    infos[1].flags = PMIX_INFO_QUALIFIER;
    void* copy = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, copy_array(PMIX_INFO, infos, 2, &copy));
    auto* c = static_cast<pmix_info_t*>(copy);
    EXPECT_EQ(c[0].flags, pmix_info_directives_t{PMIX_INFO_REQD});
    EXPECT_EQ(c[1].flags, pmix_info_directives_t{PMIX_INFO_QUALIFIER | PMIX_INFO_ARRAY_END});
    destroy_array(PMIX_INFO, copy, 2);
}

TEST(Value, APersistentInfoKeepsItsValueAndItsCopyOwnsOne) {
    char text[] = "not ours";
    pmix_info_t info = {};
    info.flags = PMIX_INFO_PERSISTENT;
    info.value.type = PMIX_STRING;
    info.value.data.string = text;
    void* copy = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, copy_array(PMIX_INFO, &info, 1, &copy));
    auto* c = static_cast<pmix_info_t*>(copy);
    EXPECT_EQ(c->flags & PMIX_INFO_PERSISTENT, 0u);
    EXPECT_NE(c->value.data.string, text);
    destroy_array(PMIX_INFO, copy, 1);
    destroy_elements(PMIX_INFO, &info, 1);
    EXPECT_EQ(info.value.data.string, text);
}

TEST(Value, ArraysThatCannotBe) {
    void* out = &out;
    EXPECT_STATUS(PMIX_ERR_NOMEM, create_array(PMIX_INFO, SIZE_MAX / 2, &out));
    EXPECT_EQ(out, nullptr);
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, create_array(PMIX_UNDEF, 1, &out));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, create_array(444, 1, &out));
    EXPECT_STATUS(PMIX_SUCCESS, create_array(PMIX_PROC, 0, &out));
    EXPECT_EQ(out, nullptr);
}

TEST(Value, WhatIsLoadedFromNothing) {
    auto text = Value::load(nullptr, PMIX_STRING);
    EXPECT_EQ(text->get().data.string, nullptr);
    EXPECT_EQ(text->type(), PMIX_STRING);
    EXPECT_TRUE(Value::load(nullptr, PMIX_BOOL)->get().data.flag);
    EXPECT_EQ(Value::load(nullptr, PMIX_UINT32)->get().data.uint32, 0u);
    EXPECT_EQ(Value::load(nullptr, PMIX_PROC)->get().data.proc, nullptr);
    EXPECT_EQ(Value::load(nullptr, PMIX_REGEX)->get().data.bo.bytes, nullptr);
}

TEST(Value, MapsAreLoadedWithTheNulsInside) {
    auto plain = Value::load("pmix[node[1:1-3]]", PMIX_REGEX);
    EXPECT_EQ(plain->get().data.bo.size, sizeof "pmix[node[1:1-3]]");
    static const char blob[] = "blob:\0component=zlib:\0size=4:\0ab\0d";
    auto binary = Value::load(blob, PMIX_REGEX);
    ASSERT_TRUE(binary.ok());
    ASSERT_EQ(binary->get().data.bo.size, sizeof blob - 1);
    EXPECT_EQ(memcmp(binary->get().data.bo.bytes, blob, sizeof blob - 1), 0);
}

TEST(Numbers, ReadFromEveryIntegerType) {
    int64_t n = 0;
    uint64_t u = 0;
    double d = 0;
    EXPECT_STATUS(PMIX_SUCCESS, read_number(Value::number(int8_t{-5}, PMIX_INT8).get(), &n));
    EXPECT_EQ(n, -5);
    EXPECT_STATUS(PMIX_ERR_VALUE_OUT_OF_BOUNDS, read_number(Value::number(int8_t{-5}, PMIX_INT8).get(), &u));
    EXPECT_STATUS(PMIX_ERR_VALUE_OUT_OF_BOUNDS, read_number(Value::number(UINT64_MAX, PMIX_UINT64).get(), &n));
    EXPECT_STATUS(PMIX_SUCCESS, read_number(Value::number(UINT64_MAX, PMIX_UINT64).get(), &u));
    EXPECT_EQ(u, UINT64_MAX);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_number(Value::number(2.5, PMIX_DOUBLE).get(), &n));
    EXPECT_STATUS(PMIX_SUCCESS, read_number(Value::number(2.5, PMIX_DOUBLE).get(), &d));
    EXPECT_EQ(d, 2.5);
    auto text = Value::string("5");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_number(text->get(), &n));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_number(Value::flag(true).get(), &n));
}

// rows: D10
TEST(Numbers, ConversionsKeepTheValueOrRefuse) {
    auto convert = [](const Value& v, pmix_data_type_t type, auto* out) { return convert_number(v.get(), type, out); };
    uint8_t u8 = 77;
    int i = 77;
    size_t size = 77;
    float f = 77;
    double d = 77;
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::u32(255), PMIX_UINT8, &u8));
    EXPECT_EQ(u8, 255);
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::u32(256), PMIX_UINT8, &u8));
    EXPECT_EQ(u8, 255);
    EXPECT_STATUS(PMIX_ERR_CHANGE_SIGN, convert(Value::number(-1, PMIX_INT), PMIX_SIZE, &size));
    EXPECT_EQ(size, 77u);
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(SIZE_MAX, PMIX_SIZE), PMIX_INT, &i));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(2.5f, PMIX_FLOAT), PMIX_INT, &i));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(double{NAN}, PMIX_DOUBLE), PMIX_INT, &i));
    EXPECT_EQ(i, 77);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(2.0f, PMIX_FLOAT), PMIX_INT, &i));
    EXPECT_EQ(i, 2);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(-3.0, PMIX_DOUBLE), PMIX_INT, &i));
    EXPECT_EQ(i, -3);
    EXPECT_STATUS(PMIX_ERR_CHANGE_SIGN, convert(Value::number(-3.0, PMIX_DOUBLE), PMIX_SIZE, &size));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(256.0, PMIX_DOUBLE), PMIX_UINT8, &u8));
    int64_t wide = 77;
    for (const double beyond : {0x1p63, -0x1.0000000000001p63, 0x1p64, 1e300, double{INFINITY}})
        EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(beyond, PMIX_DOUBLE), PMIX_INT64, &wide));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(0x1p64, PMIX_DOUBLE), PMIX_SIZE, &size));
    EXPECT_EQ(wide, 77);
    EXPECT_EQ(size, 77u);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(-0x1p63, PMIX_DOUBLE), PMIX_INT64, &wide));
    EXPECT_EQ(wide, INT64_MIN);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(0x1p63, PMIX_DOUBLE), PMIX_SIZE, &size));
    EXPECT_EQ(size, size_t{1} << 63);
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(1e300, PMIX_DOUBLE), PMIX_FLOAT, &f));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(0.1, PMIX_DOUBLE), PMIX_FLOAT, &f));
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(0.5, PMIX_DOUBLE), PMIX_FLOAT, &f));
    EXPECT_EQ(f, 0.5f);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(double{INFINITY}, PMIX_DOUBLE), PMIX_FLOAT, &f));
    EXPECT_TRUE(std::isinf(f));
    EXPECT_STATUS(PMIX_ERR_LOST_PRECISION, convert(Value::number(UINT64_MAX, PMIX_UINT64), PMIX_DOUBLE, &d));
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(INT64_MIN, PMIX_INT64), PMIX_DOUBLE, &d));
    EXPECT_EQ(d, -0x1p63);
    EXPECT_STATUS(PMIX_SUCCESS, convert(Value::number(pid_t{42}, PMIX_PID), PMIX_INT, &i));
    EXPECT_EQ(i, 42);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, convert(Value::u32(1), PMIX_STRING, &i));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, convert(Value::flag(true), PMIX_INT, &i));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, convert(Value::number(uint8_t{1}, PMIX_SCOPE), PMIX_INT, &i));
}

// Every pair of numeric types and every edge value: what comes out equals what went in, or nothing was written.
TEST(Numbers, EveryPairOfTypes) {
    const pmix_data_type_t types[] = {PMIX_BYTE,   PMIX_SIZE,  PMIX_PID,    PMIX_INT,   PMIX_INT8,   PMIX_INT16,
                                      PMIX_INT32,  PMIX_INT64, PMIX_UINT,   PMIX_UINT8, PMIX_UINT16, PMIX_UINT32,
                                      PMIX_UINT64, PMIX_FLOAT, PMIX_DOUBLE, PMIX_TIME,  PMIX_STATUS, PMIX_PROC_RANK};
    const int64_t edges[] = {0,         1,
                             -1,        127,
                             128,       -128,
                             255,       256,
                             32767,     -32769,
                             65536,     INT_MAX,
                             INT_MIN,   INT64_MAX,
                             INT64_MIN, int64_t{UINT_MAX},
                             1 << 24,   (1 << 24) + 1};
    for (pmix_data_type_t from : types) {
        for (int64_t edge : edges) {
            pmix_value_t v = {};
            v.type = PMIX_INT64;
            v.data.int64 = edge;
            pmix_value_t in = {};
            in.type = from;
            if (convert_number(v, from, value_data(&in)) != PMIX_SUCCESS) continue;
            for (pmix_data_type_t to : types) {
                pmix_value_t out = {};
                out.type = to;
                if (convert_number(in, to, value_data(&out)) != PMIX_SUCCESS) continue;
                int64_t back = 0;
                if (from == PMIX_FLOAT || from == PMIX_DOUBLE || to == PMIX_FLOAT || to == PMIX_DOUBLE) {
                    double d = 0;
                    ASSERT_STATUS(PMIX_SUCCESS, read_number(out, &d));
                    EXPECT_EQ(d, static_cast<double>(edge)) << from << "→" << to;
                } else {
                    ASSERT_STATUS(PMIX_SUCCESS, read_number(out, &back));
                    EXPECT_EQ(back, edge) << from << "→" << to;
                }
            }
        }
    }
}

// rows: G17
TEST(Truth, Truth_OfTextsAndOfNoValue) {
    pmix_value_t undef = {};
    EXPECT_EQ(truth_of(undef), PMIX_BOOL_TRUE);
    EXPECT_EQ(truth_of(Value::flag(false).get()), PMIX_BOOL_FALSE);
    EXPECT_EQ(truth_of(Value::flag(true).get()), PMIX_BOOL_TRUE);
    auto truth = [](const char* text) { return truth_of(Value::load(text, PMIX_STRING)->get()); };
    for (const char* yes :
         {static_cast<const char*>(nullptr), "", "  ", "yes", "TRUE", " true", "1", "007", "99999999999999999999999"}) {
        EXPECT_EQ(truth(yes), PMIX_BOOL_TRUE) << (yes ? yes : "NULL");
    }
    for (const char* no : {"no", "False", "0", "000"}) EXPECT_EQ(truth(no), PMIX_BOOL_FALSE) << no;
    EXPECT_EQ(truth("maybe"), PMIX_NON_BOOL);
    EXPECT_EQ(truth_of(Value::u32(1).get()), PMIX_NON_BOOL);
}

// The two opaque pointers: handled by the functions that were installed first, refused with another source than theirs.
struct Bitmap {
    int bits;
};
int g_bitmaps = 0;
const OpaqueOps kOps = {
    [](const void* b) -> void* {
        ++g_bitmaps;
        return new Bitmap(*static_cast<const Bitmap*>(b));
    },
    [](void* b) {
        --g_bitmaps;
        delete static_cast<Bitmap*>(b);
    },
    [](const void* b) { return strdup(std::to_string(static_cast<const Bitmap*>(b)->bits).c_str()); },
    [](const char* t) -> void* {
        ++g_bitmaps;
        return new Bitmap{atoi(t)};
    },
    [](const void* a, const void* b) {
        return static_cast<const Bitmap*>(a)->bits == static_cast<const Bitmap*>(b)->bits;
    },
    nullptr,
    nullptr,
    nullptr,
    nullptr};

TEST(Opaque, ABitmapNeedsSomebodyWhoKnowsIt) {
    Bitmap bitmap{5};
    char source[] = "hwloc", foreign[] = "other";
    pmix_cpuset_t cpuset = {source, &bitmap};
    install_opaque_ops(&kOps);
    pmix_cpuset_t of_another = {foreign, &bitmap};
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, Value::load(&of_another, PMIX_PROC_CPUSET).status());
    {
        auto v = Value::load(&cpuset, PMIX_PROC_CPUSET);
        ASSERT_TRUE(v.ok());
        EXPECT_EQ(g_bitmaps, 1);
        auto again = Value::copy_of(v->get());
        EXPECT_EQ(compare_values(v->get(), again->get()), PMIX_EQUAL);
        EXPECT_EQ(g_bitmaps, 2);
    }
    EXPECT_EQ(g_bitmaps, 0);
    install_opaque_ops(nullptr);
}

TEST(InfoListTest, GrowsKeepsAndReleases) {
    InfoList list;
    for (uint32_t i = 0; i < 100; ++i) {
        std::string key = "key." + std::to_string(i);
        ASSERT_STATUS(PMIX_SUCCESS, list.append_number(key, i, PMIX_UINT32));
        ASSERT_STATUS(PMIX_SUCCESS, list.append_string(key + ".text", "x"));
    }
    EXPECT_EQ(list.find("key.57")->value.data.uint32, 57u);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, list.append_string(std::string(512, 'k'), "x"));
    EXPECT_STATUS(PMIX_SUCCESS, list.append_string(std::string(511, 'k'), "x"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, list.append_string("", "x"));
    EXPECT_EQ(list.size(), 201u);
    auto copy = InfoList::from_c(list.c_array(), list.size());
    EXPECT_EQ(copy->size(), list.size());
    EXPECT_STATUS(PMIX_SUCCESS, copy->append_all(list.c_array(), 3));
    size_t n = 0;
    pmix_info_t* raw = copy->release(&n);
    EXPECT_EQ(n, 204u);
    for (size_t i = 0; i < n; ++i) EXPECT_EQ((raw[i].flags & PMIX_INFO_ARRAY_END) != 0, i + 1 == n);
    destroy_array(PMIX_INFO, raw, n);
    InfoList empty;
    EXPECT_EQ(empty.release(&n), nullptr);
    EXPECT_EQ(n, 0u);
}

// As an array that was received, to which the server adds something.
TEST(InfoListTest, AppendBehindAMarkedEntry_TheLastOneIsMarked) {
    InfoList list;
    ASSERT_STATUS(PMIX_SUCCESS, list.append_flag("first", true));
    ASSERT_STATUS(PMIX_SUCCESS, list.append_flag("received", true));
    list[1].flags = PMIX_INFO_REQD | PMIX_INFO_ARRAY_END;
    ASSERT_STATUS(PMIX_SUCCESS, list.append_flag("added", true));
    InfoList more;
    ASSERT_STATUS(PMIX_SUCCESS, more.append_flag("more", true));
    ASSERT_STATUS(PMIX_SUCCESS, list.append_all(more.c_array(), more.size()));
    for (size_t i = 0; i < list.size(); ++i)
        EXPECT_EQ((list[i].flags & PMIX_INFO_ARRAY_END) != 0, i + 1 == list.size()) << i;
    EXPECT_NE(list[1].flags & PMIX_INFO_REQD, 0u);
}

}  // namespace
}  // namespace pmix::common::value_test
