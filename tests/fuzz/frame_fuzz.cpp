// SPDX-License-Identifier: BSD-3-Clause
// A stream of frames of any bytes, as a connection would cut it: headers parse to what builds the same header, and the
// payloads they announce lie inside the stream.
#include <cstdlib>
#include <cstring>

#include "common/protocol/frame.h"
#include "common/protocol/messages.h"

using namespace pmix::common;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Bytes rest(data, size);
    while (rest.size() >= kFrameHeaderSize) {
        auto header = parse_frame_header(rest, kMaxFramePayload);
        if (!header) break;
        uint8_t again[kFrameHeaderSize];
        build_frame_header(*header, again);
        if (std::memcmp(again, rest.data(), kFrameHeaderSize) != 0) std::abort();
        rest = rest.subspan(kFrameHeaderSize);
        if (header->payload > rest.size()) break;
        const Bytes payload = rest.first(header->payload);
        if (describe_frame(*header, payload).empty()) std::abort();
        rest = rest.subspan(header->payload);
    }
    return 0;
}
