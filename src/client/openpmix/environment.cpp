// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/environment.h"

#include <arpa/inet.h>

#include <charconv>
#include <cstring>
#include <string_view>

#include "common/base/limits.h"
#include "openpmix/hello.h"

namespace pmix::client {

using common::Result;

namespace {

constexpr size_t kMaxText = 16u << 10;
constexpr size_t kMaxModule = 64;  // bytes of the name of a module

// The best encoding first. version: what a server is that does not say it.
struct Name {
    const char* variable;
    const char* encoding;
    const char* version;
};
constexpr Name kNames[] = {{"PMIX_SERVER_URI61", "v61", "6.1.0"},
                           {"PMIX_SERVER_URI51", "v51", "6.0.0"},
                           {"PMIX_SERVER_URI41", "v41", "4.1.0"},
                           {"PMIX_SERVER_URI4", "v4", "4.0.0"}};

std::string_view variable(transport::EnvironmentReader read, const char* name) {
    const char* text = read(name);
    if (text == nullptr) return {};
    return {text, common::bounded_length(text, kMaxText + 1)};
}

template <class T>
bool parse_number(std::string_view text, T* out) noexcept {
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, *out);
    return error == std::errc() && stopped == end && !text.empty();
}

// NSPACE.RANK;tcp4://A.B.C.D:PORT
pmix_status_t parse_uri(std::string_view uri, OpenPmixEnvironment* out) {
    constexpr std::string_view kScheme = "tcp4://";
    const size_t separator = uri.find(';');
    if (uri.size() > kMaxText || separator == uri.npos) return PMIX_ERR_BAD_PARAM;
    const std::string_view name = uri.substr(0, separator);
    const size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0 || dot > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    if (!parse_number(name.substr(dot + 1), &out->server.rank)) return PMIX_ERR_BAD_PARAM;
    out->server.nspace = name.substr(0, dot);

    std::string_view place = uri.substr(separator + 1);
    if (!place.starts_with(kScheme)) return PMIX_ERR_NOT_SUPPORTED;
    place.remove_prefix(kScheme.size());
    const size_t colon = place.rfind(':');
    uint16_t port = 0;
    if (colon == place.npos || !parse_number(place.substr(colon + 1), &port) || port == 0) return PMIX_ERR_BAD_PARAM;
    const std::string host(place.substr(0, colon));
    out->address.sin_family = AF_INET;
    out->address.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &out->address.sin_addr) != 1) return PMIX_ERR_BAD_PARAM;
    out->uri = uri;
    return PMIX_SUCCESS;
}

// Of the modules that the server lists, the one that needs nothing but what the kernel reports of us anyway.
const char* choose_security(std::string_view list) noexcept {
    if (list.empty()) return "native";
    bool none = false;
    while (!list.empty()) {
        const size_t end = std::min(list.find(','), list.size());
        const std::string_view module = list.substr(0, end);
        if (module == "native") return "native";
        none = none || module == "none";
        list.remove_prefix(std::min(end + 1, list.size()));
    }
    return none ? "none" : nullptr;
}

// "hash" is plain data in messages. Where a server serves a whole job by the module that the newest of its processes
// has named, processes with OpenPMIx's library, which name the first of the list, would get data that they cannot use:
// then it is that one for us too, and what an answer lacks is asked for as data.
std::string choose_store(std::string_view list, const openpmix::Traits& traits) {
    const std::string_view first = list.substr(0, list.find(','));
    if (!traits.one_store_for_all || first.empty() || first.size() > kMaxModule) return "hash";
    return std::string(first);
}

}  // namespace

Result<OpenPmixEnvironment> read_openpmix_environment(transport::EnvironmentReader read) {
    const Name* found = nullptr;
    std::string_view uri;
    for (const Name& name : kNames) {
        uri = variable(read, name.variable);
        found = &name;
        if (!uri.empty()) break;
    }
    if (uri.empty() || read("PMIX_NAMESPACE") == nullptr) return PMIX_ERR_NOT_FOUND;
    OpenPmixEnvironment out;
    WIREUP_RETURN_IF_ERROR(parse_uri(uri, &out));
    auto self = transport::read_identity(read);
    if (!self) return self.status() == PMIX_ERR_NOT_FOUND ? PMIX_ERR_BAD_PARAM : self.status();
    out.self = std::move(*self);
    const char* security = choose_security(variable(read, "PMIX_SECURITY_MODE"));
    if (security == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    out.security = security;
    out.encoding = found->encoding;
    const std::string_view form = variable(read, "PMIX_BFROP_BUFFER_TYPE");
    out.buffer_kind = form == "PMIX_BFROP_BUFFER_FULLY_DESC" ? openpmix::kFullyDescribed : openpmix::kNotDescribed;
    std::string_view version = variable(read, "PMIX_VERSION");
    if (!openpmix::parse_version(version)) version = found->version;
    const auto traits = openpmix::traits_of(version, out.encoding, out.buffer_kind);
    if (!traits) return PMIX_ERR_NOT_SUPPORTED;
    out.traits = *traits;
    out.store = choose_store(variable(read, "PMIX_GDS_MODULE"), out.traits);
    return out;
}

}  // namespace pmix::client
