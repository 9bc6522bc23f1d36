// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/server_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>

#include "common/base/limits.h"
#include "openpmix/traits.h"

namespace pmix::client {

using common::Result;

namespace {

constexpr size_t kMaxAddress = 16u << 10;
constexpr size_t kMaxVersion = 64;

template <class T>
bool parse_whole(std::string_view text, T* out) noexcept {
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, *out);
    return error == std::errc() && stopped == end && !text.empty();
}

bool is_encoding_list(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return c == ':' || (c >= '0' && c <= '9'); });
}

std::string_view take_line(std::string_view& text) noexcept {
    const size_t end = text.find('\n');
    if (end == text.npos) return {};
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    return line;
}

}  // namespace

bool is_openpmix_address(std::string_view text) noexcept {
    const size_t scheme = text.find("://");
    if (scheme == text.npos) return false;
    const size_t separator = text.rfind(';', scheme);
    return separator != text.npos && text.substr(separator + 1).starts_with("tcp");
}

Result<OpenPmixAddress> parse_openpmix_address(std::string_view text) {
    constexpr std::string_view kScheme = "tcp4://";
    if (text.size() > kMaxAddress) return PMIX_ERR_BAD_PARAM;
    size_t separator = text.find(';');
    if (separator != text.npos && text.find(';', separator + 1) != text.npos &&
        is_encoding_list(text.substr(0, separator))) {
        text.remove_prefix(separator + 1);
        separator = text.find(';');
    }
    if (separator == text.npos) return PMIX_ERR_BAD_PARAM;
    const std::string_view name = text.substr(0, separator);
    const size_t dot = name.rfind('.');
    if (dot == name.npos || dot == 0 || dot > common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
    OpenPmixAddress out;
    if (!parse_whole(name.substr(dot + 1), &out.server.rank)) return PMIX_ERR_BAD_PARAM;
    out.server.nspace = name.substr(0, dot);
    if (out.server.nspace.find('\0') != std::string::npos) return PMIX_ERR_BAD_PARAM;

    std::string_view place = text.substr(separator + 1);
    if (!place.starts_with(kScheme)) return PMIX_ERR_NOT_SUPPORTED;
    place.remove_prefix(kScheme.size());
    const size_t colon = place.rfind(':');
    uint16_t port = 0;
    if (colon == place.npos || !parse_whole(place.substr(colon + 1), &port) || port == 0) return PMIX_ERR_BAD_PARAM;
    const std::string host(place.substr(0, colon));
    if (host.find('\0') != std::string::npos) return PMIX_ERR_BAD_PARAM;
    out.address.sin_family = AF_INET;
    out.address.sin_port = htons(port);
    if (::inet_pton(AF_INET, host.c_str(), &out.address.sin_addr) != 1) return PMIX_ERR_BAD_PARAM;
    out.uri = text;
    return out;
}

Result<OpenPmixContact> parse_openpmix_contact(std::string_view text) {
    if (text.find('\n') == text.npos) return PMIX_ERR_NOT_FOUND;
    auto address = parse_openpmix_address(take_line(text));
    if (!address) return address.status();
    OpenPmixContact out;
    out.address = std::move(*address);
    std::string_view version = take_line(text);
    if (version.starts_with('v')) version.remove_prefix(1);
    if (version.size() <= kMaxVersion && openpmix::parse_version(version)) out.version = version;
    pid_t pid = 0;
    if (parse_whole(take_line(text), &pid) && pid > 0) out.pid = pid;
    return out;
}

}  // namespace pmix::client
