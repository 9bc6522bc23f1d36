// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's messages and handshake from any bytes. Input: u8 message, u8 form (bits 0-1: release, bit 2: described),
// then the payload. What decodes encodes again, and from then on to the same bytes.
#include <cstdlib>
#include <string>

#include "openpmix/hello.h"
#include "openpmix/messages.h"

using namespace pmix::openpmix;
using pmix::common::Bytes;

namespace {

template <class M>
void check(Bytes payload, const Traits& traits) {
    M message;
    if (decode(payload, traits, &message) != PMIX_SUCCESS) return;
    std::string text;
    print(text, message);
    std::vector<uint8_t> first;
    // An opaque object of a process without topologies cannot be written, and an empty pointer has no form.
    if (encode(message, traits, &first) != PMIX_SUCCESS) return;
    M again;
    size_t left = 0;
    if (decode(first, traits, &again, &left) != PMIX_SUCCESS || left != 0) std::abort();
    std::vector<uint8_t> second;
    if (encode(again, traits, &second) != PMIX_SUCCESS || first != second) std::abort();
}

void check_hello(Bytes payload) {
    ConnectRequest request;
    Traits traits;
    if (ConnectRequest::decode(payload, &request, &traits) != PMIX_SUCCESS) return;
    std::vector<uint8_t> bytes;
    const pmix_status_t rc = request.encode(&bytes);
    // As above, and an empty array of a type that nobody knows.
    if (rc == PMIX_ERR_NOT_SUPPORTED) return;
    if (rc != PMIX_SUCCESS || bytes.size() > kHeaderSize + kMaxConnectPayload) std::abort();
    if (request.stray_nul && request.infos.size() == 0) return;  // behind an empty list it may be read as the list's
    ConnectRequest again;
    if (ConnectRequest::decode(Bytes(bytes).subspan(kHeaderSize), &again, &traits) != PMIX_SUCCESS) std::abort();
    std::vector<uint8_t> second;
    if (again.encode(&second) != PMIX_SUCCESS || bytes != second) std::abort();
}

void check_reply(Bytes payload, uint8_t form) {
    ConnectReply reply;
    size_t used = 0;
    const ReplyForm reply_form{(form & 1) != 0, (form & 2) != 0};
    if (decode_reply(payload, reply_form, &reply, &used) != PMIX_SUCCESS || used == 0) return;
    if (encode_reply(reply, reply_form).size() != used) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    static constexpr const char* kReleases[][2] = {
        {"4.2.2", "v41"}, {"5.0.7", "v41"}, {"7.0.0", "v61"}, {"3.1.5", "v3"}};
    const auto& release = kReleases[data[1] & 3];
    const auto traits = traits_of(release[0], release[1], (data[1] & 4) != 0 ? kFullyDescribed : kNotDescribed);
    const Bytes payload(data + 2, size - 2);
    static constexpr void (*kChecks[])(Bytes, const Traits&) = {
#define WIREUP_CHECK(type) check<type>,
        WIREUP_OPENPMIX_REQUESTS(WIREUP_CHECK) WIREUP_OPENPMIX_OTHERS(WIREUP_CHECK)};
    if (data[0] < std::size(kChecks)) {
        kChecks[data[0]](payload, *traits);
    } else if (data[0] == 0xfe) {
        check_reply(payload, data[1]);
    } else {
        check_hello(payload);
    }
    return 0;
}
