// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/process_use.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "transport/descriptor.h"

namespace pmix::server {
namespace {

std::string path_of(pid_t pid, const char* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

std::string read_proc_file(const std::string& path) {
    std::string text;
    const transport::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return text;
    char part[4096];
    for (ssize_t n; (n = ::read(file.get(), part, sizeof part)) > 0 && text.size() < (64u << 10);) {
        text.append(part, static_cast<size_t>(n));
    }
    return text;
}

// "Name:   123 kB": the number of the line, 0 without one.
double number_of(std::string_view text, std::string_view name) {
    for (size_t at = 0; at < text.size();) {
        if (text.substr(at).starts_with(name)) return std::strtod(text.data() + at + name.size(), nullptr);
        const size_t end = text.find('\n', at);
        if (end == std::string_view::npos) break;
        at = end + 1;
    }
    return 0;
}

}  // namespace

bool read_process_use(pid_t pid, ProcessUse& out) {
    if (pid <= 0) return false;
    const std::string status = read_proc_file(path_of(pid, "status"));
    if (status.empty()) return false;
    constexpr double kUnit = 1024;  // the kernel counts in KiB
    out.resident = number_of(status, "VmRSS:") * kUnit;
    out.virtual_now = number_of(status, "VmSize:") * kUnit;
    out.virtual_peak = number_of(status, "VmPeak:") * kUnit;
    out.threads = static_cast<uint16_t>(number_of(status, "Threads:"));
    const size_t state = status.find("State:\t");
    if (state != std::string::npos) out.state = status[state + 7];
    out.proportional = number_of(read_proc_file(path_of(pid, "smaps_rollup")), "Pss:") * kUnit;
    if (out.proportional == 0) out.proportional = out.resident;
    return true;
}

std::string program_of(pid_t pid) {
    if (pid <= 0) return {};
    char path[4096];
    const ssize_t n = ::readlink(path_of(pid, "exe").c_str(), path, sizeof path);
    return n <= 0 ? std::string() : std::string(path, static_cast<size_t>(n));
}

}  // namespace pmix::server
