// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/replaced_parameters.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "common/base/log.h"
#include "transport/descriptor.h"

namespace pmix::api {
namespace {

constexpr std::string_view kPrefix = "PMIX_MCA_";
constexpr size_t kMaxFile = 64u << 10;
constexpr size_t kMaxName = 128;
constexpr size_t kMaxLines = 64;

struct Row {
    std::string_view framework;
    const char* instead;
};
constexpr const char* kNothing = "there is nothing to choose";
// The page docs/guide/parameters.md has the same in more words.
constexpr Row kRows[] = {
    {"bfrops", "both forms of packed data are read"},
    {"gds", "data is in sealed shared memory, without a choice"},
    {"mca", "there are no components to look for"},
    {"pcompress", kNothing},
    {"pdl", kNothing},
    {"pgpu", "the variables that go along are a fixed list"},
    {"pif", kNothing},
    {"pinstalldirs", kNothing},
    {"plog", kNothing},
    {"pmdl", kNothing},
    {"pnet", "the variables that go along are a fixed list"},
    {"preg", kNothing},
    {"prm", kNothing},
    {"psec", "the kernel reports the user of each connection"},
    {"psensor", kNothing},
    {"psquash", kNothing},
    {"pstat", kNothing},
    {"ptl", "no port and no interface is used; WIREUP_SOCKET_FILE=1 makes a socket file for other network namespaces"},
};

// Null: not a parameter that OpenPMIx has.
const char* instead_of(std::string_view name) noexcept {
    const std::string_view framework = name.substr(0, name.find('_'));
    const auto* row =
        std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.framework == framework; });
    if (row == std::end(kRows)) return nullptr;
    return name.ends_with("_verbose") || name.ends_with("_debug") ? "WIREUP_LOG says what is logged" : row->instead;
}

bool is_name(std::string_view text) noexcept {
    const auto part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; };
    return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), part);
}

std::string_view trimmed(std::string_view text) noexcept {
    const size_t begin = std::min(text.find_first_not_of(" \t\r"), text.size());
    const size_t end = text.find_last_not_of(" \t\r");
    return begin == text.size() ? std::string_view() : text.substr(begin, end + 1 - begin);
}

std::set<std::string> names_in_environment(const char* const* environment) {
    std::set<std::string> names;
    for (; environment != nullptr && *environment != nullptr; ++environment) {
        std::string_view entry(*environment);
        if (!entry.starts_with(kPrefix)) continue;
        entry.remove_prefix(kPrefix.size());
        const std::string_view name = entry.substr(0, entry.find('='));
        if (is_name(name)) names.emplace(name);
    }
    return names;
}

// "name = value" in each line; what follows a # is a comment.
std::set<std::string> names_in_file(std::string_view text) {
    std::set<std::string> names;
    while (!text.empty()) {
        const size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        line = line.substr(0, line.find('#'));
        const size_t equals = line.find('=');
        const std::string_view name = trimmed(line.substr(0, std::min(equals, line.size())));
        if (equals != std::string_view::npos && is_name(name)) names.emplace(name);
    }
    return names;
}

std::string read_users_file() {
    std::string text;
    const char* home = ::secure_getenv("HOME");
    if (home == nullptr || home[0] != '/') return text;
    const std::string path = std::string(home) + "/.pmix/mca-params.conf";
    // Something that is no file is not waited for.
    const transport::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat info;
    if (file.get() < 0 || ::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode)) return text;
    text.resize(kMaxFile);
    size_t size = 0;
    while (size < text.size()) {
        const ssize_t n = ::read(file.get(), text.data() + size, text.size() - size);
        if (n <= 0) break;
        size += static_cast<size_t>(n);
    }
    text.resize(size);
    return text;
}

}  // namespace

std::vector<std::string> replaced_parameters(const char* const* environment, std::string_view file) {
    std::vector<std::string> lines;
    size_t more = 0;
    const auto add = [&](const std::string& shown, std::string_view name) {
        const char* instead = instead_of(name);
        if (instead == nullptr) return;
        if (lines.size() < kMaxLines) {
            lines.push_back(shown + " has no effect in this library: " + instead);
        } else {
            ++more;
        }
    };
    for (const std::string& name : names_in_environment(environment)) add(std::string(kPrefix) + name, name);
    for (const std::string& name : names_in_file(file)) add(name + " in ~/.pmix/mca-params.conf", name);
    if (more > 0) lines.push_back(std::to_string(more) + " more parameters of OpenPMIx have no effect in this library");
    return lines;
}

void log_replaced_parameters() {
    static pid_t logged_by = 0;  // a forked child is another process
    if (!common::log_on(common::LogArea::api, common::LogLevel::warn) || logged_by == ::getpid()) return;
    logged_by = ::getpid();
    if (::getauxval(AT_SECURE) != 0) return;
    for (const std::string& line : replaced_parameters(environ, read_users_file()))
        WIREUP_LOG(api, warn, "%s", line.c_str());
}

}  // namespace pmix::api
