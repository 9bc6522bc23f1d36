// SPDX-License-Identifier: BSD-3-Clause
#include "hang_report.h"

#include <fcntl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "server_notes.h"
#include "server_page.h"

namespace commands {
namespace {

std::string versions() {
    utsname system{};
    ::uname(&system);
    char clock[64] = "";
    const time_t now = ::time(nullptr);
    tm parts{};
    ::strftime(clock, sizeof clock, "%Y-%m-%dT%H:%M:%SZ", ::gmtime_r(&now, &parts));
    return std::string("time: ") + clock + "\nlibrary: " + PMIx_Get_version() + "\nmade on: " + system.nodename + ", " +
           system.sysname + " " + system.release + " " + system.machine + "\n";
}

void add_process(const std::string& title, const pmix_info_t* infos, size_t n, std::string& out) {
    const std::string place = text_of(infos, n, kWaitChannel);
    const std::string stack = kernel_stack(infos, n);
    if (place.empty() && stack.empty()) return;
    out += title + ": " + text_of(infos, n, kCondition) + (place.empty() ? "" : " in " + place) + "\n";
    out += stack;
}

// Where the processes wait in the kernel, as far as it shows that.
std::string places(const std::vector<ServerState>& servers) {
    std::string out;
    for (const ServerState& server : servers) {
        const pmix_info_t* infos = server.infos.data();
        const size_t n = server.infos.size();
        const std::string host = text_of(infos, n, PMIX_HOSTNAME);
        const std::string where = host.empty() ? "" : " on " + host;
        if (server.silent) add_process("server " + text_of(infos, n, PMIX_SERVER_PIDINFO) + where, infos, n, out);
        for (size_t i = 0; i < n; ++i) {
            size_t parts = 0;
            const pmix_info_t* job = infos_in(infos[i].value, parts);
            if (!PMIx_Check_key(infos[i].key, WIREUP_REPORT_JOB)) continue;
            const std::string name = text_of(job, parts, PMIX_NSPACE);
            for (size_t k = 0; k < parts; ++k) {
                size_t count = 0;
                const pmix_info_t* proc = infos_in(job[k].value, count);
                if (PMIx_Check_key(job[k].key, WIREUP_REPORT_PROC))
                    add_process(name + ":" + text_of(proc, count, PMIX_RANK) + where, proc, count, out);
            }
        }
    }
    return out.empty() ? "none is shown to this user\n" : out;
}

}  // namespace

bool write_hang_report(const char* program, const std::string& path, const std::vector<ServerState>& servers,
                       const std::string& page, const std::string& json, const std::string& counters) {
    std::string text = "# wireup-top hang report\n\n## versions\n" + versions() + "\n## what waits\n" + page +
                       "\n## where processes wait in the kernel\n" + places(servers);
    if (!counters.empty()) text += "\n## counters\n" + counters;
    text += "\n## reports\n" + json;
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    size_t at = 0;
    while (fd >= 0 && at < text.size()) {
        const ssize_t put = ::write(fd, text.data() + at, text.size() - at);
        if (put <= 0 && errno != EINTR) break;
        if (put > 0) at += static_cast<size_t>(put);
    }
    const bool good = fd >= 0 && at == text.size() && ::close(fd) == 0;
    if (!good) std::fprintf(stderr, "%s: cannot write %s: %s\n", program, path.c_str(), std::strerror(errno));
    return good;
}

}  // namespace commands
