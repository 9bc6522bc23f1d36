// SPDX-License-Identifier: BSD-3-Clause
// A command's connection: the server that its options name, and what is said where there is none or no single one.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tool.h"

namespace commands {

void add_choice(const CommandLine& line, Infos& infos) {
    if (line.has("uri")) infos.text(PMIX_SERVER_URI, line.text("uri"));
    if (line.has("nspace")) infos.text(PMIX_SERVER_NSPACE, line.text("nspace"));
    if (line.has("pid")) {
        const auto pid = static_cast<pid_t>(line.number("pid", 0, 1));
        infos.add(PMIX_SERVER_PIDINFO, &pid, PMIX_PID);
    }
    if (line.has("system")) infos.flag(PMIX_CONNECT_TO_SYSTEM);
    if (line.has("system-first")) infos.flag(PMIX_CONNECT_SYSTEM_FIRST);
    if (line.has("wait")) infos.flag(PMIX_WAIT_FOR_CONNECTION);
    const int seconds = static_cast<int>(line.number("timeout", 0, 1));
    if (seconds > 0) infos.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
}

bool is_openpmix_address(const std::string& uri) {
    constexpr std::string_view kFile = "file:";
    char text[4096];
    std::string_view address = uri;
    if (address.starts_with(kFile)) {
        // What is no file with an address has been refused before; a FIFO must not hold up the command.
        const int fd = ::open(uri.c_str() + kFile.size(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
        if (fd < 0) return false;
        const ssize_t length = ::read(fd, text, sizeof text);
        ::close(fd);
        address = std::string_view(text, length > 0 ? static_cast<size_t>(length) : 0);
    }
    address = address.substr(0, address.find('\n'));
    const size_t separator = address.find(';');
    return separator != address.npos && address.substr(separator).starts_with(";tcp");
}

std::vector<SeenServer> seen_servers() {
    std::vector<SeenServer> all;
    Infos none;
    Answers answers;
    query({PMIX_QUERY_AVAIL_SERVERS}, none, answers);
    size_t n = 0;
    const pmix_value_t* list = answers.find(PMIX_QUERY_AVAIL_SERVERS);
    const pmix_info_t* infos = list == nullptr ? nullptr : infos_in(*list, n);
    for (size_t i = 0; i < n; ++i) {
        size_t parts = 0;
        const pmix_info_t* server = infos_in(infos[i].value, parts);
        const auto text = [&](const char* key) -> std::string {
            for (size_t k = 0; k < parts; ++k)
                if (PMIx_Check_key(server[k].key, key)) return shown(server[k].value);
            return "";
        };
        if (text(PMIX_SERVER_TOOL_SUPPORT) != "true") continue;
        all.push_back({text(PMIX_NSPACE) + ":" + text(PMIX_RANK), text(PMIX_SERVER_URI), text(PMIX_SERVER_PIDINFO),
                       text(PMIX_SERVER_TMPDIR)});
    }
    return all;
}

Tool::Tool(const CommandLine& line, Role role, Alike alike) {
    Infos infos;
    if (role == Role::none) {
        infos.flag(PMIX_TOOL_DO_NOT_CONNECT);
    } else {
        add_choice(line, infos);
    }
    connect(line, role, infos, alike);
}

Tool::Tool(const CommandLine& line, Role role, const std::string& uri) {
    Infos infos;
    infos.text(PMIX_SERVER_URI, uri);
    connect(line, role, infos, Alike::refused);
}

void Tool::connect(const CommandLine& line, Role role, Infos& infos, Alike alike) {
    if (role == Role::observer) infos.flag(WIREUP_OBSERVER);
    // In the environment of a rank a command would be that rank, and its end the rank's: lost, where it is killed.
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_WIREUP_TOKEN"}) ::unsetenv(name);
    pmix_status_t rc = PMIx_tool_init(&self_, infos.data(), infos.size());
    if (role == Role::either && (rc == PMIX_ERR_NOT_SUPPORTED || rc == PMIX_ERR_UNREACH)) {
        infos.flag(WIREUP_OBSERVER);
        const pmix_status_t second = PMIx_tool_init(&self_, infos.data(), infos.size());
        // That nobody takes observers does not explain why there is no tool either.
        if (second != PMIX_ERR_NOT_SUPPORTED && second != PMIX_ERR_UNREACH) rc = second;
    }
    if (rc == PMIX_SUCCESS) return;
    const char* name = line.program().name;
    if (rc == PMIX_ERR_NOT_AVAILABLE) {
        Infos alone;
        alone.flag(PMIX_TOOL_DO_NOT_CONNECT);
        if (PMIx_tool_init(&self_, alone.data(), alone.size()) == PMIX_SUCCESS) alike_ = seen_servers();
        if (alike == Alike::listed && !alike_.empty()) return;
        std::fprintf(stderr, "%s: several servers may be meant; --pid, --nspace or --uri names one:\n", name);
        for (const SeenServer& server : alike_)
            std::fprintf(stderr, "  %s  pid %s  folder %s\n", server.name.c_str(), server.pid.c_str(),
                         server.folder.c_str());
        std::exit(kFailed);
    }
    switch (rc) {
        case PMIX_ERR_UNREACH:
        case PMIX_ERR_TIMEOUT:
        case PMIX_ERR_NOT_FOUND:
            std::fprintf(stderr, "%s: no server answers (%s)\n", name, PMIx_Error_string(rc));
            std::exit(kNoServer);
        case PMIX_ERR_NOT_SUPPORTED:
            std::fprintf(stderr, "%s: the server takes no tools: %s\n", name,
                         is_openpmix_address(line.text("uri"))
                             ? "its library is OpenPMIx's, and no file shows that it does"
                             : "its resource manager serves none");
            std::exit(kNoServer);
        case PMIX_ERR_NO_PERMISSIONS:
        case PMIX_ERR_INVALID_CRED:
            std::fprintf(stderr, "%s: the server refuses this user\n", name);
            std::exit(kFailed);
        case PMIX_ERR_BAD_PARAM:
            line.wrong("no such server address");
        default:
            std::exit(failed(name, "cannot connect", rc));
    }
}

Tool::~Tool() {
    PMIx_tool_finalize();
}

}  // namespace commands
