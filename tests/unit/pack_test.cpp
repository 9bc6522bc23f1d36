#include "common/pack.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

namespace pmix::common {
namespace {

Value decoded(const ByteWriter& w) {
    ByteReader r(w.view());
    Value v;
    EXPECT_EQ(decode_value(r, v.c_ptr()), PMIX_SUCCESS);
    EXPECT_TRUE(r.finished());
    return v;
}

TEST(Pack, BytesOfCommonTypes) {
    ByteWriter w;
    ASSERT_EQ(encode_value(w, Value::u32(0x01020304).get()), PMIX_SUCCESS);
    EXPECT_EQ(std::vector<uint8_t>(w.view().begin(), w.view().end()), (std::vector<uint8_t>{14, 0, 4, 3, 2, 1}));
    w.clear();
    Result<Value> text = Value::string("ab");
    ASSERT_EQ(encode_value(w, text->get()), PMIX_SUCCESS);
    EXPECT_EQ(std::vector<uint8_t>(w.view().begin(), w.view().end()),
              (std::vector<uint8_t>{3, 0, 3, 0, 0, 0, 'a', 'b', 0}));
}

TEST(Pack, StringAndNull) {
    ByteWriter w;
    Result<Value> null = Value::load(nullptr, PMIX_STRING);
    ASSERT_EQ(encode_value(w, null->get()), PMIX_SUCCESS);
    Value back = decoded(w);
    EXPECT_EQ(back.type(), PMIX_STRING);
    EXPECT_EQ(back.get().data.string, nullptr);
    pmix_value_t fast;
    ASSERT_EQ(decode_value_into(w.view(), &fast), PMIX_SUCCESS);
    EXPECT_EQ(fast.type, PMIX_STRING);
    EXPECT_EQ(fast.data.string, nullptr);
}

TEST(Pack, LentBytesPointIntoTheEncoding) {
    ByteWriter w;
    pmix_byte_object_t bo{const_cast<char*>("hello"), 5};
    Result<Value> v = Value::load(&bo, PMIX_BYTE_OBJECT);
    ASSERT_EQ(encode_value(w, v->get()), PMIX_SUCCESS);
    pmix_value_t lent;
    ASSERT_EQ(lend_value(w.view(), &lent), PMIX_SUCCESS);
    EXPECT_EQ(reinterpret_cast<uint8_t*>(lent.data.bo.bytes), w.data() + kBytesOffset);
    EXPECT_EQ(lent.data.bo.size, 5u);
    pmix_value_t copy;
    ASSERT_EQ(decode_value_into(w.view(), &copy), PMIX_SUCCESS);
    EXPECT_EQ(memcmp(copy.data.bo.bytes, "hello", 5), 0);
    destroy_value(&copy);
}

TEST(Pack, InfosRoundTripWithoutMemoryFlags) {
    InfoList list;
    ASSERT_EQ(list.append_string("pmix.one", "1"), PMIX_SUCCESS);
    ASSERT_EQ(list.append_number("pmix.two", uint32_t{2}, PMIX_UINT32), PMIX_SUCCESS);
    list[0].flags = PMIX_INFO_REQD | PMIX_INFO_ARRAY_END;
    ByteWriter w;
    ASSERT_EQ(encode_infos(w, list.c_array(), list.size()), PMIX_SUCCESS);
    ByteReader r(w.view());
    InfoList back;
    ASSERT_EQ(decode_infos(r, &back), PMIX_SUCCESS);
    ASSERT_EQ(back.size(), 2u);
    EXPECT_EQ(back[0].flags, pmix_info_directives_t{PMIX_INFO_REQD});
    EXPECT_EQ(back[1].flags, pmix_info_directives_t{PMIX_INFO_ARRAY_END});
    EXPECT_STREQ(back.find("pmix.one")->value.data.string, "1");
    EXPECT_EQ(back.find("pmix.two")->value.data.uint32, 2u);
    EXPECT_EQ(back.find("pmix.three"), nullptr);
}

}  // namespace
}  // namespace pmix::common
