// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/server_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <utility>

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

constexpr std::string_view kTcp4 = "tcp4://";
constexpr std::string_view kTcp6 = "tcp6://";
constexpr std::string_view kOthers = "alturis:";

// HOST:PORT; host is empty where there is none.
bool split_place(std::string_view place, std::string* host, uint16_t* port) {
    const size_t colon = place.rfind(':');
    if (colon == place.npos || !parse_whole(place.substr(colon + 1), port) || *port == 0) return false;
    *host = place.substr(0, colon);
    return !host->empty() && host->find('\0') == std::string::npos;
}

bool parse_place(std::string_view place, sockaddr_in* out) {
    std::string host;
    uint16_t port = 0;
    if (!split_place(place, &host, &port)) return false;
    out->sin_family = AF_INET;
    out->sin_port = htons(port);
    return ::inet_pton(AF_INET, host.c_str(), &out->sin_addr) == 1;
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
    if (!place.starts_with(kTcp4)) return PMIX_ERR_NOT_SUPPORTED;
    if (!parse_place(place.substr(kTcp4.size()), &out.address)) return PMIX_ERR_BAD_PARAM;
    out.uri = text;
    return out;
}

Result<std::vector<sockaddr_in>> parse_openpmix_others(std::string_view list) {
    if (list.size() > kMaxAddress) return PMIX_ERR_BAD_PARAM;
    std::vector<sockaddr_in> out;
    for (bool more = true; more;) {
        const size_t comma = list.find(',');
        const std::string_view one = list.substr(0, comma);
        more = comma != list.npos;
        if (more) list.remove_prefix(comma + 1);
        std::string host;
        uint16_t port = 0;
        if (one.starts_with(kTcp6) && split_place(one.substr(kTcp6.size()), &host, &port)) continue;
        sockaddr_in address{};
        if (!one.starts_with(kTcp4) || !parse_place(one.substr(kTcp4.size()), &address)) return PMIX_ERR_BAD_PARAM;
        out.push_back(address);
    }
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
    bool third = true;
    while (text.find('\n') != text.npos) {
        std::string_view line = take_line(text);
        if (std::exchange(third, false) && parse_whole(line, &pid) && pid > 0) out.pid = pid;
        if (!line.starts_with(kOthers)) continue;
        line.remove_prefix(kOthers.size());
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        if (auto others = parse_openpmix_others(line)) out.address.others = std::move(*others);
    }
    return out;
}

}  // namespace pmix::client
