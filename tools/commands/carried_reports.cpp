// SPDX-License-Identifier: BSD-3-Clause
#include "carried_reports.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>

#include "server_notes.h"
#include "server_page.h"

namespace commands {
namespace {

// "wireup-top: NODE/PID SERVER PART TEXT" and, as the last line, "wireup-top: NODE/PID end SERVERS". TEXT is a packed
// report in hexadecimal digits.
constexpr char kMark[] = "wireup-top: ";
constexpr size_t kTextOfLine = 600;
constexpr size_t kMostBytes = size_t{256} << 20;  // of all nodes together

std::string packed(Infos& infos) {
    pmix_data_array_t array{};
    array.type = PMIX_INFO;
    array.size = infos.size();
    array.array = infos.data();
    pmix_value_t value;
    PMIx_Value_construct(&value);
    value.type = PMIX_DATA_ARRAY;
    value.data.darray = &array;
    pmix_data_buffer_t buffer;
    pmix_byte_object_t bytes{};
    PMIx_Data_buffer_construct(&buffer);
    std::string out;
    if (PMIx_Data_pack(nullptr, &buffer, &value, 1, PMIX_VALUE) == PMIX_SUCCESS &&
        PMIx_Data_unload(&buffer, &bytes) == PMIX_SUCCESS) {
        constexpr char kDigits[] = "0123456789abcdef";
        for (size_t i = 0; i < bytes.size; ++i) {
            const auto byte = static_cast<unsigned char>(bytes.bytes[i]);
            out += kDigits[byte >> 4];
            out += kDigits[byte & 15];
        }
        std::free(bytes.bytes);
    }
    PMIx_Data_buffer_destruct(&buffer);
    return out;
}

int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool unpack(const std::string& text, Infos& out) {
    pmix_byte_object_t bytes{};
    bytes.size = text.size() / 2;
    bytes.bytes = static_cast<char*>(std::malloc(bytes.size + 1));
    if (bytes.bytes == nullptr || text.size() % 2 != 0) return std::free(bytes.bytes), false;
    for (size_t i = 0; i < bytes.size; ++i) {
        const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return std::free(bytes.bytes), false;
        bytes.bytes[i] = static_cast<char>(high * 16 + low);
    }
    pmix_data_buffer_t buffer;
    PMIx_Data_buffer_construct(&buffer);
    pmix_value_t value;
    PMIx_Value_construct(&value);
    int32_t count = 1;
    size_t n = 0;
    const pmix_info_t* infos = nullptr;
    if (PMIx_Data_load(&buffer, &bytes) == PMIX_SUCCESS &&
        PMIx_Data_unpack(nullptr, &buffer, &value, &count, PMIX_VALUE) == PMIX_SUCCESS && count == 1)
        infos = infos_in(value, n);
    for (size_t i = 0; i < n; ++i) out.copy(infos[i]);
    PMIx_Value_destruct(&value);
    PMIx_Data_buffer_destruct(&buffer);
    return n != 0;
}

struct Node {
    std::map<unsigned, std::map<unsigned, std::string>> servers;  // their parts
    int count = -1;                                               // of servers; -1: the last line has not come
};
using Nodes = std::map<std::string, Node>;

void take_line(const std::string& line, Nodes& nodes) {
    const size_t at = line.find(kMark);
    if (at == line.npos) return;
    char name[300] = "", text[kTextOfLine + 1] = "";
    unsigned server = 0, part = 0, count = 0;
    static_assert(kTextOfLine == 600 && sizeof name == 300);
    const char* rest = line.c_str() + at + sizeof kMark - 1;
    if (std::sscanf(rest, "%299s %u %u %600[0-9a-f]", name, &server, &part, text) == 4) {
        nodes[name].servers[server][part] = text;
    } else if (std::sscanf(rest, "%299s end %u", name, &count) == 2) {
        nodes[name].count = static_cast<int>(count & INT_MAX);
    }
}

bool take_node(const std::string& name, const Node& node, std::vector<ServerState>& out) {
    bool whole = node.count >= 0 && node.servers.size() == static_cast<size_t>(node.count);
    const std::string host = name.substr(0, name.rfind('/'));
    for (const auto& [number, parts] : node.servers) {
        std::string text;
        unsigned expected = 0;
        for (const auto& [part, bytes] : parts) {
            whole = whole && part == expected++;
            text += bytes;
        }
        ServerState server;
        if (!unpack(text, server.infos)) {
            whole = false;
            continue;
        }
        const Infos& infos = server.infos;
        server.silent = value_of(infos.data(), infos.size(), kProblem) != nullptr;
        server.answered = !server.silent;
        if (server.silent) server.problem = "on " + host + " " + text_of(infos.data(), infos.size(), kProblem);
        out.push_back(std::move(server));
    }
    return whole;
}

struct Child {
    pid_t pid = -1;
    int out = -1;
};

// The command runs in a group of its own, so that all of it can be ended. A signal that ends this process is its end
// too.
volatile std::sig_atomic_t g_group = 0;
constexpr int kEnds[] = {SIGINT, SIGTERM, SIGHUP};

void end_with_group(int signal) {
    if (g_group > 0) ::kill(-static_cast<pid_t>(g_group), SIGKILL);
    ::signal(signal, SIG_DFL);
    ::raise(signal);
}

class WithGroup {
  public:
    explicit WithGroup(pid_t group) {
        g_group = static_cast<std::sig_atomic_t>(group);
        for (size_t i = 0; i < std::size(kEnds); ++i) {
            struct sigaction act {};
            act.sa_handler = &end_with_group;
            ::sigaction(kEnds[i], nullptr, &before_[i]);
            if (before_[i].sa_handler == SIG_DFL) ::sigaction(kEnds[i], &act, nullptr);
        }
    }
    ~WithGroup() {
        g_group = 0;
        for (size_t i = 0; i < std::size(kEnds); ++i) ::sigaction(kEnds[i], &before_[i], nullptr);
    }
    WithGroup(const WithGroup&) = delete;
    WithGroup& operator=(const WithGroup&) = delete;

  private:
    struct sigaction before_[std::size(kEnds)]{};
};

Child start(const std::string& command) {
    Child child;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return child;
    child.pid = ::fork();
    if (child.pid > 0) ::setpgid(child.pid, child.pid);  // whichever of the two is first
    if (child.pid == 0) {
        ::setpgid(0, 0);
        const int nothing = ::open("/dev/null", O_RDONLY);
        ::dup2(nothing, STDIN_FILENO);
        ::dup2(ends[1], STDOUT_FILENO);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), static_cast<char*>(nullptr));
        ::_exit(127);
    }
    ::close(ends[1]);
    if (child.pid < 0) ::close(ends[0]);
    if (child.pid > 0) child.out = ends[0];
    return child;
}

}  // namespace

int send_reports(const std::vector<ServerState>& servers) {
    char host[256] = "";
    ::gethostname(host, sizeof host - 1);
    const std::string start = kMark + std::string(host) + "/" + std::to_string(::getpid()) + " ";
    unsigned number = 0;
    for (const ServerState& server : servers) {
        if (!server.answered && !server.silent) continue;
        Infos infos;
        const pmix_info_t* given = server.infos.data();
        for (size_t i = 0; i < server.infos.size(); ++i) infos.copy(given[i]);
        if (server.silent && value_of(given, server.infos.size(), PMIX_HOSTNAME) == nullptr)
            infos.text(PMIX_HOSTNAME, host);
        const std::string text = packed(infos);
        unsigned part = 0;
        for (size_t at = 0; at < text.size(); at += kTextOfLine)
            std::printf("%s%u %u %s\n", start.c_str(), number, part++, text.substr(at, kTextOfLine).c_str());
        ++number;
    }
    std::printf("%send %u\n", start.c_str(), number);
    return kGood;
}

bool receive_reports(const char* program, const std::string& command, int seconds, std::vector<ServerState>& out,
                     bool& failed) {
    const Child child = start(command);
    failed = child.out < 0;
    if (failed) {
        std::fprintf(stderr, "%s: cannot start %s\n", program, command.c_str());
        return false;
    }
    const WithGroup with_group(child.pid);
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    Nodes nodes;
    std::string open;  // the line that has not ended
    size_t total = 0;
    bool in_time = true;
    for (char bytes[65536];;) {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
        pollfd ready{child.out, POLLIN, 0};
        in_time = left > 0 && ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(left, INT_MAX))) > 0;
        const ssize_t got = in_time ? ::read(child.out, bytes, sizeof bytes) : 0;
        if (got <= 0) break;
        total += static_cast<size_t>(got);
        if (total > kMostBytes) break;
        open.append(bytes, static_cast<size_t>(got));
        size_t from = 0;
        for (size_t at = open.find('\n'); at != open.npos; from = at + 1, at = open.find('\n', from))
            take_line(open.substr(from, at - from), nodes);
        open.erase(0, from);
    }
    ::close(child.out);
    int status = 0;
    while (in_time && ::waitpid(child.pid, &status, WNOHANG) == 0) {  // it may go on without its output
        ::usleep(10'000);
        in_time = std::chrono::steady_clock::now() < end;
    }
    if (!in_time) {
        ::kill(-child.pid, SIGKILL);
        ::waitpid(child.pid, &status, 0);
    }
    failed = in_time && status != 0;
    bool whole = in_time && total <= kMostBytes;
    if (!in_time) {
        std::fprintf(stderr, "%s: no answer of all nodes within %d s\n", program, seconds);
    } else if (total > kMostBytes) {
        std::fprintf(stderr, "%s: the nodes have sent too much\n", program);
    } else if (nodes.empty()) {
        std::fprintf(stderr, "%s: no reports come from: %s\n", program, command.c_str());
        whole = false;
    } else if (status != 0) {
        std::fprintf(stderr, "%s: nodes may be missing, because this has failed: %s\n", program, command.c_str());
        whole = false;
    }
    for (const auto& [name, node] : nodes) {
        if (take_node(name, node, out)) continue;
        std::fprintf(stderr, "%s: the reports of %s are not all here\n", program, name.c_str());
        whole = false;
    }
    return whole;
}

}  // namespace commands
