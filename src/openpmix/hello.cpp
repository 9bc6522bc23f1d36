// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/hello.h"

#include <cstring>

#include "common/base/portable_bytes.h"
#include "openpmix/frame.h"
#include "openpmix/messages.h"

namespace pmix::openpmix {

using common::Bytes;

namespace {

// Names of modules and versions are short.
constexpr size_t kMaxName = 255;
constexpr size_t kFixedNspace = PMIX_MAX_NSLEN + 1;

class ConnectReader {
  public:
    explicit ConnectReader(Bytes bytes) noexcept : r_(bytes) {}

    std::string text() {
        const Bytes rest = r_.rest();
        const void* end = rest.empty() ? nullptr : std::memchr(rest.data(), 0, rest.size());
        const auto length =
            end == nullptr ? kMaxName + 1 : static_cast<size_t>(static_cast<const uint8_t*>(end) - rest.data());
        if (length > kMaxName) {
            (void)r_.bad();
            return {};
        }
        (void)r_.raw(length + 1);
        return {reinterpret_cast<const char*>(rest.data()), length};
    }
    uint32_t number() noexcept { return r_.big<uint32_t>(); }
    uint8_t byte() noexcept { return r_.byte(); }
    Bytes raw(size_t n) noexcept { return r_.raw(n); }
    Bytes rest() const noexcept { return r_.rest(); }
    bool ok() const noexcept { return r_.ok(); }

  private:
    common::PortableReader r_;
};

void put_number(std::vector<uint8_t>& out, uint32_t n) {
    uint8_t bytes[4];
    common::put_big(bytes, n);
    out.insert(out.end(), bytes, bytes + sizeof bytes);
}

void put_text(std::vector<uint8_t>& out, std::string_view text) {
    out.insert(out.end(), text.begin(), text.end());
    out.push_back(0);
}

void put_nspace(std::vector<uint8_t>& out, const common::ProcId& id) {
    const pmix_proc_t proc = id.to_c();
    out.insert(out.end(), proc.nspace, proc.nspace + kFixedNspace);
    put_number(out, id.rank);
}

bool read_nspace(common::PortableReader& r, common::ProcId* id) {
    const Bytes text = r.raw(kFixedNspace);
    id->rank = r.big<uint32_t>();
    if (!r.ok()) return true;  // more bytes are needed
    if (std::memchr(text.data(), 0, text.size()) == nullptr) return false;
    id->nspace = reinterpret_cast<const char*>(text.data());
    return true;
}

}  // namespace

pmix_status_t read_connect_header(Bytes header, size_t* payload) noexcept {
    uint32_t words[4];
    if (header.size() != sizeof words) return PMIX_ERR_UNPACK_FAILURE;
    std::memcpy(words, header.data(), sizeof words);  // in the byte order of this host
    if (words[1] != kConnectTag || words[2] == 0 || words[2] > kMaxConnectPayload) return PMIX_ERR_UNPACK_FAILURE;
    *payload = words[2];
    return PMIX_SUCCESS;
}

pmix_status_t ConnectRequest::decode(Bytes payload, ConnectRequest* out, Traits* traits) {
    ConnectReader r(payload);
    ConnectRequest m;
    m.security = r.text();
    const Bytes credential = r.raw(r.number());
    m.credential.assign(credential.begin(), credential.end());
    const uint8_t kind = r.byte();
    if (kind >= kPeerKinds) return PMIX_ERR_UNPACK_FAILURE;
    m.kind = static_cast<PeerKind>(kind);
    if (m.kind != PeerKind::client) {
        m.uid = r.number();
        m.gid = r.number();
    }
    if (has_identity(m.kind)) {
        m.id.nspace = r.text();
        m.id.rank = r.number();
    }
    m.version = r.text();
    m.encoding = r.text();
    m.buffer_kind = r.byte();
    m.store = r.text();
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    const auto known = traits_of(m.version, m.encoding, m.buffer_kind);
    if (!known) return PMIX_ERR_NOT_SUPPORTED;
    Bytes rest = r.rest();
    if (rest.size() == 1 && rest[0] == 0) {
        m.stray_nul = true;
        rest = {};
    }
    if (!rest.empty()) {
        m.has_infos = true;
        HelloInfosMessage infos;
        size_t left = 0;
        WIREUP_RETURN_IF_ERROR(openpmix::decode(rest, *known, &infos, &left));
        m.infos = std::move(infos.infos.infos);
        m.stray_nul = left == 1 && rest.back() == 0;
        if (left != 0 && !m.stray_nul) return PMIX_ERR_UNPACK_FAILURE;
    }
    *traits = *known;
    *out = std::move(m);
    return PMIX_SUCCESS;
}

pmix_status_t ConnectRequest::encode(std::vector<uint8_t>* out) const {
    const auto known = traits_of(version, encoding, buffer_kind);
    if (!known) return PMIX_ERR_NOT_SUPPORTED;
    std::vector<uint8_t> payload;
    put_text(payload, security);
    put_number(payload, static_cast<uint32_t>(credential.size()));
    payload.insert(payload.end(), credential.begin(), credential.end());
    payload.push_back(static_cast<uint8_t>(kind));
    if (kind != PeerKind::client) {
        put_number(payload, uid);
        put_number(payload, gid);
    }
    if (has_identity(kind)) {
        put_text(payload, id.nspace);
        put_number(payload, id.rank);
    }
    put_text(payload, version);
    put_text(payload, encoding);
    payload.push_back(buffer_kind);
    put_text(payload, store);
    if (has_infos) {
        HelloInfosMessage message;
        message.infos.infos = common::Infos::borrow(infos.data(), infos.size());
        WIREUP_RETURN_IF_ERROR(openpmix::encode(message, *known, &payload));
    }
    if (stray_nul) payload.push_back(0);
    if (payload.size() > kMaxConnectPayload) return PMIX_ERR_BAD_PARAM;
    const uint32_t words[4] = {UINT32_MAX, kConnectTag, static_cast<uint32_t>(payload.size()), 0};
    const auto* header = reinterpret_cast<const uint8_t*>(words);
    out->insert(out->end(), header, header + sizeof words);
    out->insert(out->end(), payload.begin(), payload.end());
    return PMIX_SUCCESS;
}

ReplyForm reply_form(PeerKind kind, const Traits& traits) noexcept {
    const bool client = kind == PeerKind::client || (kind == PeerKind::singleton && traits.singleton_is_client);
    return {!client, !has_identity(kind)};
}

std::vector<uint8_t> encode_reply(const ConnectReply& reply, ReplyForm form) {
    std::vector<uint8_t> out;
    put_number(out, static_cast<uint32_t>(reply.status));
    if (reply.status != PMIX_SUCCESS) return out;
    if (!form.tool) {
        put_number(out, reply.peer_index);
        return out;
    }
    if (form.assigns) put_nspace(out, reply.self ? *reply.self : common::ProcId());
    put_nspace(out, reply.server);
    put_number(out, static_cast<uint32_t>(reply.security));
    return out;
}

pmix_status_t decode_reply(Bytes bytes, ReplyForm form, ConnectReply* out, size_t* used) {
    common::PortableReader r(bytes);
    ConnectReply m;
    *used = 0;
    m.status = static_cast<pmix_status_t>(r.big<uint32_t>());
    if (r.ok() && m.status == PMIX_SUCCESS) {
        if (!form.tool) {
            m.peer_index = r.big<uint32_t>();
        } else {
            if (form.assigns && !read_nspace(r, &m.self.emplace())) return PMIX_ERR_UNPACK_FAILURE;
            if (!read_nspace(r, &m.server)) return PMIX_ERR_UNPACK_FAILURE;
            m.security = static_cast<pmix_status_t>(r.big<uint32_t>());
        }
    }
    if (!r.ok()) return PMIX_SUCCESS;
    *used = bytes.size() - r.left();
    *out = std::move(m);
    return PMIX_SUCCESS;
}

}  // namespace pmix::openpmix
