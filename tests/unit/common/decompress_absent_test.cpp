// SPDX-License-Identifier: BSD-3-Clause
// Where libzstd and liblz4 are not installed: what they compressed is PMIX_ERR_NOT_SUPPORTED, not damaged data.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/base/decompress.h"
#include "common/placement/node_map.h"
#include "support/status.h"

namespace {
int g_opened = 0;
}

// In place of the C library's: there is nothing to open.
extern "C" void* dlopen(const char* file, int) {
    if (file != nullptr && (std::strstr(file, "zstd") != nullptr || std::strstr(file, "lz4") != nullptr)) ++g_opened;
    return nullptr;
}

namespace pmix::common {
namespace {

TEST(DecompressAbsent, StreamsAndMaps_AreNotSupported) {
    EXPECT_EQ(g_opened, 0) << "not before it is needed";
    const std::vector<uint8_t> zstd{0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x7b, 0x4d, 0x01};
    const std::vector<uint8_t> lz4{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 0x29};
    for (const auto& stream : {zstd, lz4}) {
        for (int again = 0; again < 2; ++again)
            EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, decompress_bounded(stream, 1000).status());
        std::vector<uint8_t> payload{4, 0, 0, 0};  // the length of what comes out
        payload.insert(payload.end(), stream.begin(), stream.end());
        uint8_t* out = nullptr;
        size_t n = 0;
        EXPECT_FALSE(PMIx_Data_decompress(payload.data(), payload.size(), &out, &n));
        EXPECT_EQ(nullptr, out);
        std::string blob("blob:\0component=zlib:\0", 22);
        blob += "size=" + std::to_string(payload.size()) + ":";
        blob.push_back('\0');
        blob.append(payload.begin(), payload.end());
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, parse_node_map(blob).status());
    }
    EXPECT_EQ(g_opened, 2) << "each is looked for once";
}

}  // namespace
}  // namespace pmix::common
