// SPDX-License-Identifier: BSD-3-Clause
#include "server/base/kernel_figures.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "transport/descriptor.h"

namespace pmix::server {
namespace {

using transport::Descriptor;

// The lists of disks and interfaces of large machines have some hundred lines of some hundred bytes.
constexpr size_t kMaxFile = 256u << 10;
constexpr size_t kMaxCommand = 4096;
constexpr size_t kMaxDevices = 1024;
constexpr double kKiB = 1024;
constexpr size_t kMaxDecimals = 9;  // the kernel writes two

// Up to `limit` bytes; empty: not there, or not to be read.
std::string read_file(int folder, const char* path, size_t limit) {
    std::string text;
    const Descriptor file(::openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (file.get() < 0) return text;
    char part[4096];
    while (text.size() < limit) {
        const ssize_t n = ::read(file.get(), part, std::min(sizeof part, limit - text.size()));
        if (n <= 0) break;
        text.append(part, static_cast<size_t>(n));
    }
    return text;
}

std::string read_file(const std::string& path, size_t limit = kMaxFile) {
    return read_file(AT_FDCWD, path.c_str(), limit);
}

// The words of a text, one after another.
class Words {
  public:
    explicit Words(std::string_view text) noexcept : rest_(text) {}
    std::string_view next() noexcept {
        const size_t begin = std::min(rest_.find_first_not_of(" \t"), rest_.size());
        const size_t end = std::min(rest_.find_first_of(" \t", begin), rest_.size());
        const std::string_view word = rest_.substr(begin, end - begin);
        rest_.remove_prefix(end);
        return word;
    }
    // "12.34", as the kernel writes a time or a load. (std::from_chars of a double needs libm, which each process would
    // load.)
    bool next(double& number) noexcept {
        const std::string_view word = next();
        const size_t point = std::min(word.find('.'), word.size());
        const std::string_view decimals = word.substr(std::min(point + 1, word.size()));
        uint64_t whole = 0, fraction = 0;
        if (decimals.size() > kMaxDecimals || !Words(word.substr(0, point)).next(whole)) return false;
        if (point < word.size() && !Words(decimals).next(fraction)) return false;
        double unit = 1;
        for (size_t i = 0; i < decimals.size(); ++i) unit *= 10;
        number = static_cast<double>(whole) + static_cast<double>(fraction) / unit;
        return true;
    }
    template <class T>
    bool next(T& number) noexcept {
        const std::string_view word = next();
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        return !word.empty() && error == std::errc() && end == word.data() + word.size();
    }
    bool skip(size_t words) noexcept {
        for (; words > 0; --words)
            if (next().empty()) return false;
        return true;
    }

  private:
    std::string_view rest_;
};

std::string_view next_line(std::string_view& text) noexcept {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

// "Name:   123 kB": the number of the line, in bytes.
std::optional<double> size_named(std::string_view text, std::string_view name) noexcept {
    while (!text.empty()) {
        const std::string_view line = next_line(text);
        if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
        uint64_t n = 0;
        return Words(line.substr(name.size() + 1)).next(n) ? std::optional(static_cast<double>(n) * kKiB)
                                                           : std::nullopt;
    }
    return {};
}

// The name within is the process's own choice and may have anything in it: what follows begins at the last parenthesis.
bool parse_stat(std::string_view text, ProcessFigures& out) {
    const size_t begin = text.find('('), end = text.rfind(')');
    if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) return false;
    out.command = "[" + std::string(text.substr(begin + 1, end - begin - 1)) + "]";
    std::string_view rest = text.substr(end + 1);
    Words words(next_line(rest));
    const std::string_view state = words.next();
    uint64_t user = 0, kernel = 0, bytes = 0;
    // The numbers are the fields' in proc(5), where the state is the third.
    const bool read = state.size() == 1 && words.skip(10) && words.next(user) && words.next(kernel) &&  // 14, 15
                      words.skip(2) && words.next(out.priority) &&                                      // 18
                      words.skip(1) && words.next(out.threads) &&                                       // 20
                      words.skip(1) && words.next(out.start_ticks) && words.next(bytes) &&              // 22, 23
                      words.skip(15) && words.next(out.cpu);                                            // 39
    if (!read) return false;
    out.state = state[0];
    out.cpu_ticks = user + kernel;
    out.virtual_now = static_cast<double>(bytes);
    return true;
}

// The arguments end with zeros.
void take_command(std::string text, std::string& out) {
    while (!text.empty() && text.back() == 0) text.pop_back();
    if (text.empty()) return;
    std::replace(text.begin(), text.end(), '\0', ' ');
    out = std::move(text);
}

bool is_named(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_real_disk(const KernelFiles& files, std::string_view name) {
    for (const std::string_view made_of_memory_or_files : {"loop", "ram", "zram"})
        if (name.starts_with(made_of_memory_or_files)) return false;
    std::string folder(name);
    std::replace(folder.begin(), folder.end(), '/', '!');  // as the kernel does
    return ::access((files.sys + "/class/block/" + folder + "/partition").c_str(), F_OK) != 0;
}

}  // namespace

std::optional<ProcessFigures> read_process(const KernelFiles& files, pid_t pid, std::optional<uint32_t> owner,
                                           ProcessParts parts) {
    if (pid <= 0) return {};
    const std::string path = files.proc + "/" + std::to_string(pid);
    const Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    struct stat info;
    if (folder.get() < 0 || ::fstat(folder.get(), &info) != 0) return {};
    if (owner && info.st_uid != *owner) return {};
    ProcessFigures out;
    if (!parse_stat(read_file(folder.get(), "stat", kMaxCommand), out)) return {};
    if (parts.command) take_command(read_file(folder.get(), "cmdline", kMaxCommand), out.command);
    if (parts.sizes) {
        const std::string status = read_file(folder.get(), "status", kMaxFile);
        out.virtual_peak = size_named(status, "VmPeak");
        out.resident = size_named(status, "VmRSS");
    }
    if (parts.proportional) out.proportional = size_named(read_file(folder.get(), "smaps_rollup", kMaxFile), "Pss");
    return out;
}

double ticks_per_second() noexcept {
    const long n = ::sysconf(_SC_CLK_TCK);
    return n > 0 ? static_cast<double>(n) : 100;
}

std::optional<double> read_uptime(const KernelFiles& files) {
    const std::string text = read_file(files.proc + "/uptime");
    double seconds = 0;
    return Words(text).next(seconds) ? std::optional(seconds) : std::nullopt;
}

NodeFigures read_node(const KernelFiles& files) {
    static constexpr std::string_view kMemory[NodeFigures::kCount - NodeFigures::kLoads] = {
        "MemTotal", "MemFree", "Buffers", "Cached", "SwapCached", "SwapTotal", "SwapFree", "Mapped"};
    NodeFigures out;
    const std::string loads = read_file(files.proc + "/loadavg");
    Words words(loads);
    for (size_t i = 0; i < NodeFigures::kLoads; ++i) {
        double load = 0;
        if (!words.next(load)) break;
        out.figures[i] = load;
    }
    const std::string memory = read_file(files.proc + "/meminfo");
    for (size_t i = 0; i < std::size(kMemory); ++i)
        out.figures[NodeFigures::kLoads + i] = size_named(memory, kMemory[i]);
    return out;
}

std::vector<DiskFigures> read_disks(const KernelFiles& files, const std::vector<std::string>& names) {
    std::vector<DiskFigures> out;
    const std::string text = read_file(files.proc + "/diskstats");
    for (std::string_view rest = text; !rest.empty() && out.size() < kMaxDevices;) {
        Words words(next_line(rest));
        if (!words.skip(2)) continue;  // the device's numbers
        const std::string_view name = words.next();
        DiskFigures disk;
        if (!std::all_of(disk.figures.begin(), disk.figures.end(), [&](uint64_t& n) { return words.next(n); }))
            continue;
        if (names.empty() ? !is_real_disk(files, name) : !is_named(names, name)) continue;
        disk.name = name;
        out.push_back(std::move(disk));
    }
    return out;
}

std::vector<NetFigures> read_nets(const KernelFiles& files, const std::vector<std::string>& names) {
    // Of the columns those of what was received are first, and eight later those of what was sent.
    constexpr size_t kBetween = 5;
    std::vector<NetFigures> out;
    const std::string text = read_file(files.proc + "/net/dev");
    for (std::string_view rest = text; !rest.empty() && out.size() < kMaxDevices;) {
        const std::string_view line = next_line(rest);
        const size_t colon = line.find(':');  // a heading has none
        if (colon == std::string_view::npos) continue;
        const std::string_view name = Words(line.substr(0, colon)).next();
        Words words(line.substr(colon + 1));
        NetFigures net;
        const auto take = [&](size_t from) {
            return words.next(net.figures[from]) && words.next(net.figures[from + 1]) &&
                   words.next(net.figures[from + 2]);
        };
        if (name.empty() || !take(0) || !words.skip(kBetween) || !take(3)) continue;
        if (!names.empty() && !is_named(names, name)) continue;
        net.name = name;
        out.push_back(std::move(net));
    }
    return out;
}

}  // namespace pmix::server
