// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/frame.h"

#include "common/base/portable_bytes.h"

namespace pmix::openpmix {

void build_header(const FrameHeader& header, uint8_t out[16]) noexcept {
    out = common::put_big(out, static_cast<uint32_t>(header.index));
    out = common::put_big(out, header.tag);
    out = common::put_big(out, header.payload);
    common::put_big(out, uint32_t{0});
}

pmix_status_t parse_header(const uint8_t in[16], FrameHeader* out) noexcept {
    common::PortableReader r({in, 16});
    out->index = static_cast<int32_t>(r.big<uint32_t>());
    out->tag = r.big<uint32_t>();
    out->payload = r.big<uint32_t>();
    return out->tag == kConnectTag ? PMIX_ERR_UNPACK_FAILURE : PMIX_SUCCESS;
}

}  // namespace pmix::openpmix
