// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/frame.h"

#include <gtest/gtest.h>

#include <array>

#include "support/status.h"

namespace pmix::common::frame_test {
namespace {

using Header = std::array<uint8_t, kFrameHeaderSize>;

Header build(const FrameHeader& header) {
    Header out;
    build_frame_header(header, out.data());
    return out;
}

// The drawing in frame.h, spelled a second time.
TEST(Frame, BytesAreAsDrawn) {
    FrameHeader request = FrameHeader::request(0x0304, 0x0a0b0c0d);
    request.payload = 0x00010203;
    request.descriptors = 2;
    EXPECT_EQ((Header{0x03, 0x02, 0x01, 0x00, 0x04, 0x03, 0x01, 0x02, 0x0d, 0x0c, 0x0b, 0x0a, 0, 0, 0, 0}),
              build(request));

    const FrameHeader failed = FrameHeader::reply(4, 7, PMIX_ERR_TIMEOUT);  // -24
    ASSERT_STATUS(PMIX_ERR_TIMEOUT, -24);
    EXPECT_EQ((Header{0, 0, 0, 0, 4, 0, 0x06, 0, 7, 0, 0, 0, 0xe8, 0xff, 0xff, 0xff}), build(failed));

    EXPECT_EQ((Header{0, 0, 0, 0, 16, 0, 0x03, 0, 0, 0, 0, 0, 0, 0, 0, 0}), build(FrameHeader::notify(16)));
}

TEST(Frame, ParsesWhatItBuilds) {
    for (FrameHeader header : {FrameHeader::request(1, 1), FrameHeader::reply(2, 0xffffffff, PMIX_SUCCESS),
                               FrameHeader::reply(3, 9, PMIX_ERR_NOT_FOUND),
                               FrameHeader::reply(3, 9, PMIX_OPERATION_SUCCEEDED), FrameHeader::notify(0xffff)}) {
        header.payload = 1000;
        header.descriptors = kMaxFrameDescriptors;
        const auto bytes = build(header);
        const auto parsed = parse_frame_header(bytes, 1000);
        ASSERT_TRUE(parsed.ok());
        EXPECT_EQ(header, *const_cast<Result<FrameHeader>&>(parsed));
    }
}

TEST(Frame, RefusesWhatIsNoHeader) {
    auto refused = [](size_t at, uint8_t value, Header bytes) {
        bytes[at] = value;
        return parse_frame_header(bytes, kMaxFramePayload).status();
    };
    const Header request = build(FrameHeader::request(4, 7));
    const Header notify = build(FrameHeader::notify(4));
    const Header failed = build(FrameHeader::reply(4, 7, PMIX_ERR_TIMEOUT));
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(6, 0x00, request)) << "no kind";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(6, 0x09, request)) << "unknown bit";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(7, 0x10, request)) << "unknown bit";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(6, 0x05, request)) << "a request that failed";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(12, 1, request)) << "a request with a status";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(8, 0, request)) << "a request without id";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(8, 1, notify)) << "a notification with id";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, refused(6, 0x02, failed)) << "error bit and status disagree";
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, parse_frame_header({request.data(), 15}, 100).status()) << "too short";
}

TEST(Frame, BoundsThePayload) {
    FrameHeader header = FrameHeader::request(1, 1);
    header.payload = kMaxHelloPayload;
    EXPECT_TRUE(parse_frame_header(build(header), kMaxHelloPayload).ok());
    ++header.payload;
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, parse_frame_header(build(header), kMaxHelloPayload).status());
    header.payload = 0xffffffff;
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, parse_frame_header(build(header), kMaxFramePayload).status());
}

}  // namespace
}  // namespace pmix::common::frame_test
