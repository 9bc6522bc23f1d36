// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "common/values/describe.h"
#include "common/values/value.h"
#include "support/data_samples.h"
#include "support/portable_random.h"
#include "support/status.h"

namespace data_api_test {

namespace {

using pmix::common::compare_elements;
using pmix::common::destroy_array;
using pmix::common::kTypeRows;
using pmix::common::type_row;

struct Buffer : pmix_data_buffer_t {
    Buffer() : pmix_data_buffer_t{} {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { PMIx_Data_buffer_destruct(this); }
};

// rows: D1
TEST(DataApi, PackChecksItsArguments) {
    Buffer b;
    int number = 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_pack(nullptr, nullptr, &number, 1, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_pack(nullptr, &b, nullptr, 1, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_pack(nullptr, &b, &number, -1, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Data_pack(nullptr, &b, &number, 1, PMIX_UNDEF));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Data_pack(nullptr, &b, &number, 1, 60000));
    EXPECT_EQ(b.bytes_used, 0u);
    // A count of zero is valid too, with or without an array; the target makes no difference.
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, &number, 0, PMIX_INT));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, nullptr, 0, PMIX_INFO));
    pmix_proc_t target = {"somewhere", 3};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(&target, &b, &number, 1, PMIX_INT));
    EXPECT_EQ(b.bytes_used, 4u);
    int back = 7;
    int32_t n = 1;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &back, &n, PMIX_INT));
    EXPECT_EQ(n, 0);
    n = 1;
    pmix_info_t none;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &none, &n, PMIX_INFO));
    EXPECT_EQ(n, 0);
    n = 3;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(&target, &b, &back, &n, PMIX_INT));
    EXPECT_EQ(n, 1);
    EXPECT_EQ(back, 1);
}

// rows: D2
TEST(DataApi, UnpackChecksItsArguments) {
    Buffer b;
    int number = 1;
    int32_t n = 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unpack(nullptr, nullptr, &number, &n, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unpack(nullptr, &b, nullptr, &n, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unpack(nullptr, &b, &number, nullptr, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Data_unpack(nullptr, &b, &number, &n, PMIX_UNDEF));
    n = 1;
    EXPECT_STATUS(PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER, PMIx_Data_unpack(nullptr, &b, &number, &n, PMIX_INT));
    EXPECT_EQ(n, 0);
    // Another type than was packed.
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, &number, 1, PMIX_INT));
    char* text = nullptr;
    n = 1;
    EXPECT_NE(PMIx_Data_unpack(nullptr, &b, &text, &n, PMIX_STRING), PMIX_SUCCESS);
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(b.unpack_ptr, b.base_ptr);
}

// rows: D3
TEST(DataApi, CopiesOfEveryType) {
    void* copy = &copy;
    int number = 1;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_copy(nullptr, &number, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_copy(&copy, nullptr, PMIX_INT));
    EXPECT_EQ(copy, nullptr);
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Data_copy(&copy, &number, 60000));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy(&copy, const_cast<char*>("text"), PMIX_STRING));
    EXPECT_STREQ(static_cast<char*>(copy), "text");
    free(copy);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy(&copy, const_cast<char*>("pmix[a]"), PMIX_REGEX));
    EXPECT_STREQ(static_cast<char*>(copy), "pmix[a]");
    free(copy);
    for (pmix_data_type_t type : pmix::test::PortableRandom::types()) {
        if (type == PMIX_STRING || type == PMIX_REGEX) continue;
        for (uint32_t seed = 0; seed < 8; ++seed) {
            void* element = calloc(1, type_row(type)->size);
            pmix::test::RandomValue random(seed * 17 + type);
            random.element(type, element);
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy(&copy, element, type)) << type;
            ASSERT_NE(copy, element);
            EXPECT_EQ(compare_elements(type, element, copy, 1), 0) << type;
            destroy_array(type, element, 1);  // the copy owns all of its own
            destroy_array(type, copy, 1);
        }
    }
}

std::string printed(const void* src, pmix_data_type_t type, const char* prefix = nullptr) {
    char* text = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_print(&text, const_cast<char*>(prefix), const_cast<void*>(src), type));
    std::string out = text == nullptr ? "" : text;
    free(text);
    return out;
}

// rows: D4
TEST(DataApi, PrintsEveryType) {
    char* text = nullptr;
    int number = -5;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_print(nullptr, nullptr, &number, PMIX_INT));
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, PMIx_Data_print(&text, nullptr, &number, 60000));
    EXPECT_EQ(text, nullptr);
    EXPECT_EQ(printed(&number, PMIX_INT), "PMIX_INT -5");
    EXPECT_EQ(printed(&number, PMIX_INT, "  > "), "  > PMIX_INT -5");
    EXPECT_EQ(printed("two\nlines \"x\"", PMIX_STRING), "PMIX_STRING \"two\\nlines \\\"x\\\"\"");
    EXPECT_EQ(printed("pmix[a]", PMIX_REGEX), "PMIX_REGEX \"pmix[a]\"");
    EXPECT_EQ(printed(nullptr, PMIX_REGEX), "PMIX_REGEX NULL");
    EXPECT_EQ(printed(nullptr, PMIX_INFO), "PMIX_INFO NULL");
    const pmix_status_t status = PMIX_ERR_NOT_FOUND;
    EXPECT_EQ(printed(&status, PMIX_STATUS), "PMIX_STATUS PMIX_ERR_NOT_FOUND");
    // Nothing set at all, and anything set: each field is named.
    for (pmix_data_type_t type : pmix::test::PortableRandom::types()) {
        if (type == PMIX_STRING || type == PMIX_REGEX) continue;
        const auto& row = *type_row(type);
        void* element = calloc(1, row.size);
        std::string empty = printed(element, type);
        EXPECT_TRUE(empty.starts_with(row.name)) << empty;
        for (uint32_t seed = 0; seed < 8; ++seed) {
            pmix::test::RandomValue random(seed * 13 + type);
            memset(element, 0, row.size);
            random.element(type, element);
            const std::string full = printed(element, type);
            EXPECT_EQ(full.find('\n'), std::string::npos) << full;
            if (row.count > 1) {
                for (const auto& f : fields_of(row)) EXPECT_NE(full.find(f.name), std::string::npos) << full;
            }
            pmix::common::destroy_elements(type, element, 1);
        }
        free(element);
    }
}

// rows: D4
TEST(DataApi, PrintedStructsCanBeRead) {
    make_samples();
    std::string all;
    for (size_t i = 0; i < g_nsamples; ++i) {
        if (g_samples[i].type == PMIX_STRING || g_samples[i].type == PMIX_REGEX) continue;
        all += printed(g_samples[i].values, g_samples[i].type) + '\n';
    }
    for (const char* part : {"PMIX_PROC {nspace=ns, rank=3}", "argv=[\"first\", \"second\"]", "type=PMIX_DEVTYPE_GPU",
                             "view=PMIX_COORD_LOGICAL_VIEW", "type=PMIX_INT", "key=pmix.hname",
                             "value=PMIX_STRING \"node7\"", "PMIX_UINT32[3] {1, 200, 70000}"}) {
        EXPECT_NE(all.find(part), std::string::npos) << part << " in\n" << all;
    }
    const pmix_proc_t everybody = {"job", PMIX_RANK_WILDCARD};
    EXPECT_EQ(printed(&everybody, PMIX_PROC), "PMIX_PROC {nspace=job, rank=WILDCARD}");
}

// rows: Y4
TEST(DataApi, StringsForPeople) {
    auto take = [](char* text) {
        std::string out = text == nullptr ? "(none)" : text;
        free(text);
        return out;
    };
    EXPECT_EQ(take(PMIx_Proc_string(nullptr)), "NULL");
    EXPECT_EQ(take(PMIx_Value_string(nullptr)), "NULL");
    EXPECT_EQ(take(PMIx_Info_string(nullptr)), "NULL");
    EXPECT_EQ(take(PMIx_App_string(nullptr)), "NULL");
    pmix_proc_t proc = {"job", 4};
    EXPECT_EQ(take(PMIx_Proc_string(&proc)), "[job:4]");
    pmix_info_t info;
    PMIx_Info_construct(&info);
    int32_t timeout = 10;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Info_load(&info, PMIX_TIMEOUT, &timeout, PMIX_INT32));
    PMIx_Info_required(&info);
    EXPECT_EQ(take(PMIx_Info_string(&info)), "{key=pmix.timeout, flags=PMIX_INFO_REQD, value=PMIX_INT32 10}");
    EXPECT_EQ(take(PMIx_Value_string(&info.value)), "PMIX_INT32 10");
    char* argv[] = {const_cast<char*>("prog"), const_cast<char*>("-x"), nullptr};
    pmix_app_t app = {};
    app.cmd = argv[0];
    app.argv = argv;
    app.maxprocs = 2;
    app.info = &info;
    app.ninfo = 1;
    EXPECT_EQ(take(PMIx_App_string(&app)),
              "{cmd=\"prog\", argv=[\"prog\", \"-x\"], env=NULL, cwd=NULL, maxprocs=2, info=PMIX_INFO[1] "
              "{{key=pmix.timeout, flags=PMIX_INFO_REQD, value=PMIX_INT32 10}}}");
    pmix_app_t empty = {};
    EXPECT_EQ(take(PMIx_App_string(&empty)),
              "{cmd=NULL, argv=NULL, env=NULL, cwd=NULL, maxprocs=0, info=PMIX_INFO[0]}");
    PMIx_Info_destruct(&info);
}

// rows: D5
TEST(DataApi, CopyPayloadAppendsWhatIsUnread) {
    Buffer a;
    Buffer b;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_copy_payload(nullptr, &a));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_copy_payload(&a, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_copy_payload(&a, &b));  // nothing to nothing
    EXPECT_EQ(a.bytes_used, 0u);
    int numbers[] = {1, 2, 3};
    for (int& n : numbers) ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, &n, 1, PMIX_INT));
    int back = 0;
    int32_t n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &back, &n, PMIX_INT));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &a, &numbers[2], 1, PMIX_INT));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy_payload(&a, &b));
    for (int expected : {3, 2, 3}) {
        n = 1;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &a, &back, &n, PMIX_INT));
        EXPECT_EQ(back, expected);
    }
    n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &back, &n, PMIX_INT));  // the source is as it was
    EXPECT_EQ(back, 2);
    // A buffer to itself, until it has moved.
    for (int i = 0; i < 10; ++i) ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_copy_payload(&b, &b));
    for (int i = 0; i < 1024; ++i) {
        n = 1;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &back, &n, PMIX_INT));
        EXPECT_EQ(back, 3);
    }
    EXPECT_EQ(b.unpack_ptr, b.pack_ptr);
}

// rows: D6 D7
TEST(DataApi, LoadEmbedUnload) {
    Buffer b;
    pmix_byte_object_t payload = {static_cast<char*>(malloc(3)), 3};
    memcpy(payload.bytes, "\2\4\6", 3);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_load(nullptr, &payload));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_embed(nullptr, &payload));
    char* given = payload.bytes;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&b, &payload));
    EXPECT_NE(b.base_ptr, given);
    EXPECT_EQ(payload.bytes, given);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_load(&b, &payload));  // what was embedded is freed
    EXPECT_EQ(b.base_ptr, given);
    EXPECT_EQ(payload.bytes, nullptr);
    EXPECT_EQ(payload.size, 0u);
    int back = 0;
    int32_t n = 1;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &back, &n, PMIX_INT));
    EXPECT_EQ(back, 2);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, &back, 1, PMIX_INT));  // it goes on behind what was loaded
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unload(nullptr, &payload));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Data_unload(&b, nullptr));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unload(&b, &payload));
    ASSERT_EQ(payload.size, 3u);
    EXPECT_EQ(memcmp(payload.bytes, "\6\2\4", 3), 0);
    EXPECT_EQ(b.base_ptr, nullptr);
    EXPECT_EQ(b.bytes_used, 0u);
    free(payload.bytes);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unload(&b, &payload));
    EXPECT_EQ(payload.bytes, nullptr);
    EXPECT_EQ(payload.size, 0u);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_load(&b, nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&b, &payload));
    EXPECT_EQ(b.base_ptr, nullptr);
}

// rows: D8
TEST(DataApi, CompressSaysNoWithDefinedOutputs) {
    uint8_t tiny[] = {1, 2, 3};
    uint8_t* out = tiny;
    size_t n = 9;
    EXPECT_FALSE(PMIx_Data_compress(tiny, sizeof tiny, &out, &n));
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(n, 0u);
    out = tiny;
    n = 9;
    EXPECT_FALSE(PMIx_Data_decompress(tiny, sizeof tiny, &out, &n));
    EXPECT_EQ(out, nullptr);
    EXPECT_EQ(n, 0u);
    EXPECT_FALSE(PMIx_Data_compress(nullptr, 0, &out, &n));
    EXPECT_FALSE(PMIx_Data_decompress(nullptr, 0, &out, &n));
    EXPECT_FALSE(PMIx_Data_compress(tiny, sizeof tiny, nullptr, &n));
    EXPECT_FALSE(PMIx_Data_decompress(tiny, sizeof tiny, &out, nullptr));
    std::string text(100000, 'x');
    const std::string before = text;
    auto* in = reinterpret_cast<uint8_t*>(text.data());
    ASSERT_TRUE(PMIx_Data_compress(in, text.size(), &out, &n));
    EXPECT_EQ(text, before);
    EXPECT_LT(n, text.size());
    uint8_t* plain = nullptr;
    size_t length = 0;
    ASSERT_TRUE(PMIx_Data_decompress(out, n, &plain, &length));
    EXPECT_EQ(std::string(plain, plain + length), text);
    free(plain);
    // Every byte of it damaged: no, or by chance what a checksum misses; never a crash.
    for (size_t i = 0; i < n; ++i) {
        out[i] ^= 0x55;
        if (PMIx_Data_decompress(out, n, &plain, &length)) free(plain);
        out[i] ^= 0x55;
    }
    free(out);
}

}  // namespace

}  // namespace data_api_test
