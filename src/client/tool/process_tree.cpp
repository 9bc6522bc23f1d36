// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/process_tree.h"

#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <string>
#include <string_view>

#include "transport/descriptor.h"

namespace pmix::client {
namespace {

// Deeper than processes are started, so that pids that are used anew meanwhile make no endless walk.
constexpr size_t kMaxAncestors = 256;

struct ProcessLine {
    char state = '?';
    pid_t parent = 0;
};

// PID (NAME) STATE PARENT ...; a name may have anything in it.
ProcessLine process_line(pid_t pid) {
    ProcessLine line;
    const std::string path = "/proc/" + std::to_string(pid) + "/stat";
    const transport::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return line;
    char text[512];
    const ssize_t length = ::read(file.get(), text, sizeof text);
    std::string_view rest(text, length > 0 ? static_cast<size_t>(length) : 0);
    const size_t name_end = rest.rfind(')');
    if (name_end == rest.npos || rest.size() < name_end + 5) return line;
    line.state = rest[name_end + 2];
    rest.remove_prefix(name_end + 4);
    std::from_chars(rest.data(), rest.data() + rest.size(), line.parent);
    return line;
}

}  // namespace

std::vector<pid_t> ancestry_of(pid_t pid) {
    std::vector<pid_t> all;
    for (; pid > 0 && all.size() < kMaxAncestors; pid = process_line(pid).parent) all.push_back(pid);
    return all;
}

bool is_stopped(pid_t pid) {
    return process_line(pid).state == 'T';
}

}  // namespace pmix::client
