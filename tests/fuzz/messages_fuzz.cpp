// SPDX-License-Identifier: BSD-3-Clause
// Each message from any bytes. Input: u16 command, u8 kind, then the payload. What decodes is encoded, and that is a
// fixed point: it decodes and encodes to itself.
#include <algorithm>
#include <cstdlib>

#include "common/protocol/messages.h"

using namespace pmix::common;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 3) return 0;
    FrameHeader header;
    header.command = load_le<uint16_t>(data);
    header.kind = static_cast<FrameKind>(1 + data[2] % 3);
    const Bytes payload(data + 3, size - 3);
    describe_frame(header, payload);
    ByteWriter first;
    if (reencode_payload(header, payload, first) != PMIX_SUCCESS) {
        if (first.size() != 0) std::abort();
        return 0;
    }
    ByteWriter second;
    if (reencode_payload(header, first.view(), second) != PMIX_SUCCESS) std::abort();
    if (first.view().size() != second.view().size() ||
        !std::equal(first.view().begin(), first.view().end(), second.view().begin())) {
        std::abort();
    }
    return 0;
}
