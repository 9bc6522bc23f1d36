// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rendezvous/rendezvous.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "common/base/limits.h"
#include "transport/unix_socket.h"

namespace pmix::transport {

using common::kTokenHalf;
using common::ProcId;
using common::Result;
using common::Token;

namespace {

constexpr std::string_view kScheme = "wireup:";
// A contact is a name and a few addresses; paths are bounded by the kernel at 4096.
constexpr size_t kMaxUri = 16u << 10;
constexpr size_t kMaxAddresses = 8;
constexpr size_t kMaxPath = 4095;

// Under these names other libraries expect a server: the URI variables of PMIx 2 to 6, and the plain one that Open
// MPI's singleton component asks for.
constexpr size_t kOpenPmixUriVariables = 5;  // the first of these
constexpr const char* kForeignUriVariables[] = {
    "PMIX_SERVER_URI61", "PMIX_SERVER_URI51", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
    "PMIX_SERVER_URI3",  "PMIX_SERVER_URI2",  "PMIX_SERVER_URI21", "PMIX_SERVER_URI",
};

bool printable(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string escape(std::string_view path) {
    static constexpr char kDigits[] = "0123456789ABCDEF";
    std::string out;
    for (char c : path) {
        const auto byte = static_cast<unsigned char>(c);
        if (c <= ' ' || byte >= 0x7f || c == ';' || c == '%') {
            out += '%';
            out += kDigits[byte >> 4];
            out += kDigits[byte & 15];
        } else {
            out += c;
        }
    }
    return out;
}

int hex_digit(char c) noexcept {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

// Empty: not an escaped path.
std::string unescape(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
        if (high < 0 || low < 0 || (high == 0 && low == 0)) return {};
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

bool parse_rank(std::string_view text, common::Rank& rank) noexcept {
    const char* end = text.data() + text.size();
    auto [stopped, error] = std::from_chars(text.data(), end, rank);
    return error == std::errc() && stopped == end && common::is_real_rank(rank);
}

Result<Token> parse_token(std::string_view text) noexcept {
    Token token;
    if (text.size() != 4 * kTokenHalf) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < 2 * kTokenHalf; ++i) {
        const int high = hex_digit(text[2 * i]);
        const int low = hex_digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return PMIX_ERR_BAD_PARAM;
        auto& half = i < kTokenHalf ? token.client : token.server;
        half[i % kTokenHalf] = static_cast<uint8_t>(high * 16 + low);
    }
    return token;
}

std::string format_token(const Token& token) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string out;
    for (const auto* half : {&token.client, &token.server}) {
        for (uint8_t byte : *half) {
            out += kDigits[byte >> 4];
            out += kDigits[byte & 15];
        }
    }
    return out;
}

// A variable as a bounded view; nullopt-like: ok is false with the status.
Result<std::string_view> variable(EnvironmentReader read, const char* name, size_t max) noexcept {
    const char* text = read(name);
    if (text == nullptr) return PMIX_ERR_NOT_FOUND;
    const size_t length = common::bounded_length(text, max + 1);
    if (length == 0 || length > max) return PMIX_ERR_BAD_PARAM;
    return std::string_view{text, length};
}

enum class Names : uint8_t { nobody, server, another };

// The server that a text names, in this library's form or in OpenPMIx's, which escapes nothing.
Names named_by(std::string_view uri, const ProcId& server) {
    const std::string_view name = uri.substr(0, uri.find(';'));
    const size_t dot = name.rfind('.');
    common::Rank rank = 0;
    if (name.size() == uri.size() || dot == name.npos || !parse_rank(name.substr(dot + 1), rank)) return Names::nobody;
    const std::string_view nspace = name.substr(0, dot);
    const bool same = rank == server.rank && (nspace == server.nspace || unescape(nspace) == server.nspace);
    return same ? Names::server : Names::another;
}

}  // namespace

std::string format_uri(const Contact& contact) {
    std::string out = escape(contact.server.nspace) + "." + std::to_string(contact.server.rank) + ";";
    out += kScheme;
    bool first = true;
    for (const std::string& address : contact.addresses) {
        if (!first) out += ';';
        first = false;
        out += escape(address);
    }
    return out;
}

Result<Contact> parse_uri(std::string_view uri) {
    if (uri.size() > kMaxUri || !printable(uri)) return PMIX_ERR_BAD_PARAM;
    const size_t separator = uri.find(';');
    if (separator == uri.npos) return PMIX_ERR_BAD_PARAM;
    const std::string_view name = uri.substr(0, separator);
    std::string_view rest = uri.substr(separator + 1);

    Contact contact;
    const size_t dot = name.rfind('.');  // a namespace may have dots, a rank has none
    if (dot == name.npos || !parse_rank(name.substr(dot + 1), contact.server.rank)) return PMIX_ERR_BAD_PARAM;
    contact.server.nspace = unescape(name.substr(0, dot));
    if (contact.server.nspace.empty() || contact.server.nspace.size() > common::kMaxNspaceLength)
        return PMIX_ERR_BAD_PARAM;

    if (!rest.starts_with(kScheme)) return PMIX_ERR_BAD_PARAM;
    rest.remove_prefix(kScheme.size());
    for (;;) {
        const size_t end = rest.find(';');
        std::string address = unescape(rest.substr(0, end));
        const bool good = address.starts_with('@') ? is_abstract_address(address)
                                                   : address.starts_with('/') && address.size() <= kMaxPath;
        if (!good || contact.addresses.size() == kMaxAddresses) return PMIX_ERR_BAD_PARAM;
        contact.addresses.push_back(std::move(address));
        if (end == rest.npos) break;
        rest.remove_prefix(end + 1);
    }
    return contact;
}

Result<ProcId> read_identity(EnvironmentReader read) {
    auto nspace = variable(read, "PMIX_NAMESPACE", common::kMaxNspaceLength);
    if (!nspace) return nspace.status();
    auto rank = variable(read, "PMIX_RANK", 16);
    if (!rank) return rank.status();
    ProcId self;
    self.nspace = *nspace;
    if (!parse_rank(*rank, self.rank)) return PMIX_ERR_BAD_PARAM;
    return self;
}

std::optional<ProcId> read_outer_server(EnvironmentReader read) {
    auto ours = variable(read, kUriVariable, kMaxUri);
    auto contact = ours ? parse_uri(*ours) : Result<Contact>(ours.status());
    if (!contact) return std::nullopt;
    for (const char* name : kForeignUriVariables) {
        auto theirs = variable(read, name, kMaxUri);
        if (theirs && named_by(*theirs, contact->server) == Names::another) return contact->server;
    }
    return std::nullopt;
}

bool is_of_server(std::string_view uri, const ProcId& server) {
    return named_by(uri, server) == Names::server;
}

Result<ClientEnvironment> read_client_environment(EnvironmentReader read) {
    if (read_outer_server(read)) return PMIX_ERR_NOT_FOUND;
    ClientEnvironment environment;
    auto self = read_identity(read);
    if (!self) return self.status();
    environment.self = std::move(*self);
    auto uri = variable(read, kUriVariable, kMaxUri);
    if (!uri) return uri.status();
    auto contact = parse_uri(*uri);
    if (!contact) return contact.status();
    environment.contact = std::move(*contact);
    auto text = variable(read, kTokenVariable, 4 * kTokenHalf);
    if (text.ok()) {
        auto token = parse_token(*text);
        if (!token) return token.status();
        environment.token = *token;
    } else if (text.status() != PMIX_ERR_NOT_FOUND) {
        return text.status();
    }
    return environment;
}

// By prefix and not by the list above: each release of OpenPMIx may add a name.
bool describes_server(EnvironmentReader read, const char* const* variables) {
    static constexpr std::string_view kPrefix = "PMIX_SERVER_URI";
    if (read("PMIX_NAMESPACE") == nullptr || variables == nullptr) return false;
    for (; *variables != nullptr; ++variables)
        if (std::string_view(*variables).starts_with(kPrefix)) return true;
    return false;
}

std::vector<std::pair<std::string, std::string>> server_variables(const std::string& uri,
                                                                  const std::string& openpmix_uri) {
    std::vector<std::pair<std::string, std::string>> out;
    out.reserve(1 + std::size(kForeignUriVariables));
    out.emplace_back(kUriVariable, uri);
    size_t i = 0;
    for (const char* name : kForeignUriVariables)
        out.emplace_back(name, i++ < kOpenPmixUriVariables && !openpmix_uri.empty() ? openpmix_uri : uri);
    return out;
}

std::vector<std::pair<std::string, std::string>> client_variables(const ProcId& child, const Token& token) {
    std::vector<std::pair<std::string, std::string>> out;
    out.reserve(3);
    out.emplace_back("PMIX_NAMESPACE", child.nspace);
    out.emplace_back("PMIX_RANK", std::to_string(child.rank));
    if (token.present()) out.emplace_back(kTokenVariable, format_token(token));
    return out;
}

}  // namespace pmix::transport
