// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rendezvous/server_list.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "transport/descriptor.h"
#include "transport/unix_socket.h"

namespace pmix::transport {
namespace {

constexpr std::string_view kPrefix = "@wireup/";
// SO_ACCEPTCON: it listens. The sockets that a listener accepted carry its name too.
constexpr std::string_view kListens = "00010000";

template <class T>
bool take_number(std::string_view& text, T& out) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc() || end == text.data() + text.size() || *end != '/') return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
    return true;
}

}  // namespace

// Num RefCount Protocol Flags Type St Inode Path
bool parse_unix_line(std::string_view line, ListedServer& out) {
    std::string_view field;
    for (int i = 0; i < 8; ++i) {
        const size_t begin = line.find_first_not_of(' ');
        if (begin == line.npos) return false;
        line.remove_prefix(begin);
        const size_t end = std::min(line.find(' '), line.size());
        field = line.substr(0, end);
        line.remove_prefix(end);
        if (i == 3 && field != kListens) return false;
    }
    if (!line.empty() || !field.starts_with(kPrefix) || !is_abstract_address(field)) return false;
    std::string_view rest = field.substr(kPrefix.size());
    if (!take_number(rest, out.uid) || !take_number(rest, out.pid) || rest.empty()) return false;
    out.address = field;
    return true;
}

std::vector<ListedServer> list_servers() {
    std::vector<ListedServer> servers;
    const Descriptor file(::open("/proc/net/unix", O_RDONLY | O_CLOEXEC));
    if (!file) return servers;
    std::string text;
    char chunk[16384];
    for (;;) {
        const ssize_t n = ::read(file.get(), chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        text.append(chunk, static_cast<size_t>(n));
        size_t begin = 0;
        for (size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
            ListedServer found;
            if (!parse_unix_line(std::string_view(text).substr(begin, end - begin), found)) continue;
            const bool known = std::any_of(servers.begin(), servers.end(),
                                           [&](const ListedServer& s) { return s.address == found.address; });
            if (!known) servers.push_back(std::move(found));
        }
        text.erase(0, begin);
    }
    return servers;
}

}  // namespace pmix::transport
