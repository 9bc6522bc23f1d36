// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/frame.h"

namespace pmix::common {
namespace {

constexpr uint16_t kKindMask = 0x0003;
constexpr uint16_t kErrorBit = 0x0004;
constexpr unsigned kDescriptorShift = 8;
constexpr uint16_t kDescriptorMask = 0x0f00;
constexpr uint16_t kKnownBits = kKindMask | kErrorBit | kDescriptorMask;

bool is_error(const FrameHeader& header) noexcept {
    return header.kind == FrameKind::reply && !succeeded(header.status);
}

}  // namespace

void build_frame_header(const FrameHeader& header, uint8_t out[kFrameHeaderSize]) noexcept {
    unsigned flags =
        static_cast<unsigned>(header.kind) | (static_cast<unsigned>(header.descriptors) << kDescriptorShift);
    if (is_error(header)) flags |= kErrorBit;
    store_le<uint32_t>(out, header.payload);
    store_le<uint16_t>(out + 4, header.command);
    store_le<uint16_t>(out + 6, static_cast<uint16_t>(flags));
    store_le<uint32_t>(out + 8, header.id);
    store_le<uint32_t>(out + 12, static_cast<uint32_t>(header.status));
}

Result<FrameHeader> parse_frame_header(Bytes bytes, uint32_t max_payload) noexcept {
    if (bytes.size() < kFrameHeaderSize) return PMIX_ERR_UNPACK_FAILURE;
    const uint8_t* p = bytes.data();
    FrameHeader header;
    header.payload = load_le<uint32_t>(p);
    header.command = load_le<uint16_t>(p + 4);
    const uint16_t flags = load_le<uint16_t>(p + 6);
    header.id = load_le<uint32_t>(p + 8);
    header.status = static_cast<pmix_status_t>(load_le<uint32_t>(p + 12));

    if ((flags & ~kKnownBits) != 0 || (flags & kKindMask) == 0) return PMIX_ERR_UNPACK_FAILURE;
    header.kind = static_cast<FrameKind>(flags & kKindMask);
    header.descriptors = static_cast<uint8_t>((flags & kDescriptorMask) >> kDescriptorShift);
    if (((flags & kErrorBit) != 0) != is_error(header)) return PMIX_ERR_UNPACK_FAILURE;
    if ((header.kind == FrameKind::notify) != (header.id == 0)) return PMIX_ERR_UNPACK_FAILURE;
    if (header.kind != FrameKind::reply && header.status != PMIX_SUCCESS) return PMIX_ERR_UNPACK_FAILURE;
    if (header.payload > max_payload) return PMIX_ERR_OUT_OF_RESOURCE;
    return header;
}

}  // namespace pmix::common
