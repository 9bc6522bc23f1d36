// SPDX-License-Identifier: BSD-3-Clause
// pmix_regex2_t, the two calls on it, and the compressed payloads of other releases.
#include "common/placement/regex2.h"

#include <gtest/gtest.h>
#include <pmix_server.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/base/decompress.h"
#include "common/placement/node_map.h"
#include "support/status.h"

namespace pmix::common::regex2_test {
namespace {

// "n0,n1,...,n9," four times and "end", as the tools of zstd 1.5 and lz4 1.9 compress it.
const std::vector<uint8_t> kZstd{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x7b, 0x4d, 0x01, 0x00, 0x14, 0x02, 0x6e, 0x30,
                                 0x2c, 0x6e, 0x31, 0x2c, 0x6e, 0x32, 0x2c, 0x6e, 0x33, 0x2c, 0x6e, 0x34, 0x2c,
                                 0x6e, 0x35, 0x2c, 0x6e, 0x36, 0x2c, 0x6e, 0x37, 0x2c, 0x6e, 0x38, 0x2c, 0x6e,
                                 0x39, 0x2c, 0x65, 0x6e, 0x64, 0x01, 0x00, 0x5e, 0x98, 0x94, 0x13};
const std::vector<uint8_t> kLz4{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x29, 0x00, 0x00, 0x00, 0xff, 0x0f, 0x6e,
                                0x30, 0x2c, 0x6e, 0x31, 0x2c, 0x6e, 0x32, 0x2c, 0x6e, 0x33, 0x2c, 0x6e, 0x34, 0x2c,
                                0x6e, 0x35, 0x2c, 0x6e, 0x36, 0x2c, 0x6e, 0x37, 0x2c, 0x6e, 0x38, 0x2c, 0x6e, 0x39,
                                0x2c, 0x1e, 0x00, 0x45, 0x50, 0x39, 0x2c, 0x65, 0x6e, 0x64, 0x00, 0x00, 0x00, 0x00};

std::string plain() {
    std::string text;
    for (int i = 0; i < 4; ++i) text += "n0,n1,n2,n3,n4,n5,n6,n7,n8,n9,";
    return text + "end";
}

std::vector<uint8_t> with_length(const std::vector<uint8_t>& stream, uint32_t length) {
    std::vector<uint8_t> out(kCompressedPrefix);
    store_le(out.data(), length);
    out.insert(out.end(), stream.begin(), stream.end());
    return out;
}

std::string text_of(const Result<std::vector<uint8_t>>& r) {
    return r.ok() ? std::string(r.value().begin(), r.value().end()) : "status " + std::to_string(r.status());
}

TEST(Decompress, StreamsOfOtherReleases_AreReadByTheirFirstBytes) {
    for (const auto& stream : {kZstd, kLz4}) {
        for (size_t hint : {size_t{0}, size_t{1}, plain().size(), size_t{1} << 40})
            EXPECT_EQ(plain(), text_of(decompress_bounded(stream, 1000, hint)));
        EXPECT_EQ(plain(), text_of(decompress_bounded(stream, plain().size())));
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, decompress_bounded(stream, plain().size() - 1).status());
    }
}

TEST(Decompress, DamagedStreams_AreAStatus) {
    for (const auto& stream : {kZstd, kLz4}) {
        for (size_t n = 4; n < stream.size(); ++n)
            EXPECT_FALSE(decompress_bounded(Bytes(stream.data(), n), 1000).ok()) << n;
        auto longer = stream;
        longer.push_back(0);
        EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decompress_bounded(longer, 1000).status());
        for (size_t i = 4; i < stream.size(); ++i) {
            auto changed = stream;
            changed[i] ^= 0x55;
            (void)decompress_bounded(changed, 1000);  // whatever it is, the sanitizers see a wrong access
        }
    }
}

TEST(Decompress, DataOfOtherReleases_ByTheCall) {
    for (const auto& stream : {kZstd, kLz4}) {
        const auto bytes = with_length(stream, static_cast<uint32_t>(plain().size()));
        uint8_t* out = nullptr;
        size_t n = 0;
        ASSERT_TRUE(PMIx_Data_decompress(bytes.data(), bytes.size(), &out, &n));
        EXPECT_EQ(plain(), std::string(out, out + n));
        std::free(out);
        const auto wrong = with_length(stream, static_cast<uint32_t>(plain().size() + 1));
        EXPECT_FALSE(PMIx_Data_decompress(wrong.data(), wrong.size(), &out, &n));
        EXPECT_EQ(nullptr, out);
    }
}

// The payload behind the label "zlib" of a map may be any of them.
TEST(Decompress, MapsOfOtherReleases_AreRead) {
    for (const auto& stream : {kZstd, kLz4}) {
        const auto payload = with_length(stream, static_cast<uint32_t>(plain().size()));
        std::string blob("blob:\0component=zlib:\0", 22);
        blob += "size=" + std::to_string(payload.size()) + ":";
        blob.push_back('\0');
        blob.append(payload.begin(), payload.end());
        auto nodes = parse_node_map(blob);
        ASSERT_TRUE(nodes.ok());
        EXPECT_EQ(41u, nodes->size());
        EXPECT_EQ("end", nodes->back());
    }
}

struct Regex2 : pmix_regex2_t {
    Regex2() : pmix_regex2_t{} {}
    ~Regex2() { PMIx_Regex2_destruct(this); }
    Regex2(const Regex2&) = delete;
    std::string parsed() const {
        char* text = nullptr;
        const pmix_status_t rc = PMIx_parse_regex2(this, nullptr, 0, &text);
        std::string out = rc == PMIX_SUCCESS ? text : "status " + std::to_string(rc);
        std::free(text);
        return out;
    }
};

std::string long_list() {
    std::string list;
    for (int i = 0; i < 5000; ++i) list += (i == 0 ? "node" : ",node") + std::to_string(i);
    return list;
}

// rows: V18
TEST(Regex2Test, Generate_ShortList_IsTheListWithItsNul) {
    Regex2 r;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex2("c,a,b", nullptr, 0, &r));
    EXPECT_STREQ("raw", r.type);
    ASSERT_EQ(6u, r.len);
    EXPECT_STREQ("c,a,b", reinterpret_cast<const char*>(r.bytes));
    EXPECT_EQ("c,a,b", r.parsed());
}

// rows: V18
TEST(Regex2Test, Generate_LongList_IsCompressedAndReadBack) {
    Regex2 r;
    const std::string list = long_list();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex2(list.c_str(), nullptr, 0, &r));
    EXPECT_STREQ("compress", r.type);
    EXPECT_LT(r.len, list.size() / 2);
    EXPECT_EQ(list, r.parsed());
}

// rows: V18
TEST(Regex2Test, BadInput_IsRefusedAndNothingIsLeft) {
    Regex2 r;
    pmix_info_t info{};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_regex2(nullptr, nullptr, 0, &r));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_regex2("", nullptr, 0, &r));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_regex2("a", nullptr, 1, &r));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_generate_regex2("a", &info, 0, nullptr));
    EXPECT_EQ(nullptr, r.type);
    char* text = reinterpret_cast<char*>(1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_parse_regex2(nullptr, nullptr, 0, &text));
    EXPECT_EQ(nullptr, text);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_parse_regex2(&r, nullptr, 0, nullptr));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_parse_regex2(&r, nullptr, 0, &text)) << "no type";
}

// rows: V18
TEST(Regex2Test, Parse_UnknownFormOrDamage_IsAStatus) {
    const auto read = [](const char* type, std::vector<uint8_t> bytes) {
        const pmix_regex2_t r = {const_cast<char*>(type), bytes.data(), bytes.size()};
        return read_regex2(r).status();
    };
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, read("pmix", {'a', 0}));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read("raw", {'a', 0, 'b', 0}));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read("compress", {1, 0, 0}));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read("compress", {1, 0, 0, 0, 'x', 'y'}));
    const pmix_regex2_t none = {const_cast<char*>("raw"), nullptr, 3};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_regex2(none).status());
    for (const auto& stream : {kZstd, kLz4}) {
        auto bytes = with_length(stream, static_cast<uint32_t>(plain().size()));
        const pmix_regex2_t r = {const_cast<char*>("compress"), bytes.data(), bytes.size()};
        auto text = read_regex2(r);
        ASSERT_TRUE(text.ok());
        EXPECT_EQ(plain(), *text);
    }
}

// rows: V18
TEST(Regex2Test, MapBytes_EachTypeOfValue_IsTheSameMap) {
    std::string text = "a,b";
    Regex2 r;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex2(text.c_str(), nullptr, 0, &r));
    pmix_value_t value{};
    std::string expanded;
    Bytes bytes;
    const auto nodes = [&] {
        EXPECT_STATUS(PMIX_SUCCESS, map_bytes(value, expanded, &bytes)) << value.type;
        auto list = parse_node_map(bytes);
        return list.ok() ? *list : std::vector<std::string>{};
    };
    const std::vector<std::string> expected = {"a", "b"};
    value.type = PMIX_STRING;
    value.data.string = text.data();
    EXPECT_EQ(expected, nodes());
    for (pmix_data_type_t type : {PMIX_REGEX, PMIX_BYTE_OBJECT}) {
        value.type = type;
        value.data.bo = {text.data(), text.size()};
        EXPECT_EQ(expected, nodes());
    }
    value.type = PMIX_REGEX2;
    value.data.regex2 = &r;
    EXPECT_EQ(expected, nodes());
    value.data.regex2 = nullptr;
    EXPECT_STATUS(PMIX_ERR_TYPE_MISMATCH, map_bytes(value, expanded, &bytes));
    value.type = PMIX_UINT32;
    EXPECT_STATUS(PMIX_ERR_TYPE_MISMATCH, map_bytes(value, expanded, &bytes));
}

}  // namespace
}  // namespace pmix::common::regex2_test
