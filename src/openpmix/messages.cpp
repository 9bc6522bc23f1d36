// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/messages.h"

#include <memory>

#include "openpmix/hello.h"
#include "openpmix/message_codec.h"

namespace pmix::openpmix {
namespace {

template <class M>
concept Request = requires {
    M::kCommand;
};

template <class M>
constexpr const char* kMessageName = nullptr;
#define WIREUP_NAME(type) \
    template <>           \
    constexpr const char* kMessageName<type> = #type;
WIREUP_OPENPMIX_REQUESTS(WIREUP_NAME)
WIREUP_OPENPMIX_OTHERS(WIREUP_NAME)

// The buffer that calls are written to before they are bytes of a message.
struct OwnBuffer {
    pmix_data_buffer_t buffer{};
    OwnBuffer() = default;
    OwnBuffer(const OwnBuffer&) = delete;
    OwnBuffer& operator=(const OwnBuffer&) = delete;
    ~OwnBuffer() { std::free(buffer.base_ptr); }
};

}  // namespace

pmix_status_t read_command(common::Bytes payload, const Traits& traits, uint8_t* command) noexcept {
    codec::Reader r(payload, traits, nullptr);
    *command = r.one<uint8_t>(PMIX_COMMAND);
    return r.ok() ? PMIX_SUCCESS : PMIX_ERR_UNPACK_FAILURE;
}

template <class M>
pmix_status_t encode(const M& message, const Traits& traits, std::vector<uint8_t>* out) {
    OwnBuffer own;
    pmix_status_t rc;
    {
        common::BufferWriter bytes(&own.buffer);
        codec::Writer w(bytes, traits);
        if constexpr (Request<M>) {
            const auto command = static_cast<uint8_t>(M::kCommand);
            w.call(&command, 1, PMIX_COMMAND);
        }
        M::fields([&](const char*, auto member) { codec::write(w, message.*member); });
        rc = w.status();
        if (rc == PMIX_SUCCESS) bytes.commit();
    }
    if (rc != PMIX_SUCCESS) return rc;
    const auto* begin = reinterpret_cast<const uint8_t*>(own.buffer.base_ptr);
    if (own.buffer.bytes_used != 0) out->insert(out->end(), begin, begin + own.buffer.bytes_used);
    return PMIX_SUCCESS;
}

template <class M>
pmix_status_t decode(common::Bytes payload, const Traits& traits, M* out, size_t* left) {
    size_t budget = common::kMaxDecoded + common::kMaxDecodedPerByte * payload.size();
    codec::Reader r(payload, traits, &budget);
    if constexpr (Request<M>) {
        if (r.one<uint8_t>(PMIX_COMMAND) != static_cast<uint8_t>(M::kCommand)) r.bad();
    }
    M::fields([&](const char*, auto member) {
        if (r.ok()) codec::read(r, out->*member);
    });
    if (left != nullptr) *left = r.left();
    return r.status();
}

template <class M>
void print(std::string& out, const M& message) {
    out += kMessageName<M>;
    out += '{';
    bool first = true;
    M::fields([&](const char* name, auto member) {
        if (!first) out += ' ';
        first = false;
        out += name;
        out += '=';
        codec::print(out, message.*member);
    });
    out += '}';
}

#define WIREUP_INSTANTIATE(type)                                                            \
    template pmix_status_t encode<type>(const type&, const Traits&, std::vector<uint8_t>*); \
    template pmix_status_t decode<type>(common::Bytes, const Traits&, type*, size_t*);      \
    template void print<type>(std::string&, const type&);
WIREUP_OPENPMIX_REQUESTS(WIREUP_INSTANTIATE)
WIREUP_OPENPMIX_OTHERS(WIREUP_INSTANTIATE)

}  // namespace pmix::openpmix
