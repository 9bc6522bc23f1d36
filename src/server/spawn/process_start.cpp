// SPDX-License-Identifier: BSD-3-Clause
#include "server/spawn/process_start.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string_view>

namespace pmix::server {
namespace {

constexpr const char* kSystemPath = "/usr/local/bin:/bin:/usr/bin";

// What a failure to become the program means. Missing interpreters count as missing programs.
pmix_status_t meaning_of(int error) noexcept {
    switch (error) {
        case ENOENT:
            return PMIX_ERR_JOB_EXE_NOT_FOUND;
        case EAGAIN:
        case ENOMEM:
        case EMFILE:
        case ENFILE:
        case EBADF:
            return PMIX_ERR_JOB_SYS_OP_FAILED;
        default:
            return PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    }
}

// 0, or what is wrong with it.
int look_at(const std::string& file, int folder) noexcept {
    struct stat info {};
    if (::fstatat(folder, file.c_str(), &info, 0) != 0) return errno == ENOTDIR ? ENOENT : errno;
    if (!S_ISREG(info.st_mode)) return EACCES;
    return ::faccessat(folder, file.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// The attributes and the actions of posix_spawn, which have to be given back.
struct Actions {
    posix_spawn_file_actions_t list;
    int error = ::posix_spawn_file_actions_init(&list);
    ~Actions() {
        if (made) ::posix_spawn_file_actions_destroy(&list);
    }
    const bool made = error == 0;
    // Onto its own number: the child inherits it.
    void move(int fd, int to) noexcept {
        if (error == 0) error = ::posix_spawn_file_actions_adddup2(&list, fd, to);
    }
    void enter(int folder) noexcept {
        if (error == 0) error = ::posix_spawn_file_actions_addfchdir_np(&list, folder);
    }
};

struct Attributes {
    posix_spawnattr_t list;
    int error = ::posix_spawnattr_init(&list);
    ~Attributes() {
        if (made) ::posix_spawnattr_destroy(&list);
    }
    const bool made = error == 0;
    void set() noexcept {
        sigset_t none, usual;
        ::sigemptyset(&none);
        ::sigemptyset(&usual);
        // This process may ignore them for reasons of its own; the program counts on what they usually do.
        ::sigaddset(&usual, SIGPIPE);
        ::sigaddset(&usual, SIGCHLD);
        if (error == 0) error = ::posix_spawnattr_setpgroup(&list, 0);
        if (error == 0) error = ::posix_spawnattr_setsigmask(&list, &none);
        if (error == 0) error = ::posix_spawnattr_setsigdefault(&list, &usual);
        if (error == 0)
            error = ::posix_spawnattr_setflags(&list,
                                               POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    }
};

}  // namespace

common::Result<std::string> find_program(const std::string& name, const char* path, int folder) {
    if (name.empty()) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
    if (name.find('/') != std::string::npos) {
        const int error = look_at(name, folder);
        if (error != 0) return meaning_of(error);
        return name;
    }
    pmix_status_t worst = PMIX_ERR_JOB_EXE_NOT_FOUND;
    // An empty folder is the working folder, which is the last one too.
    const std::string folders = std::string(path == nullptr ? kSystemPath : path) + ':';
    std::string_view rest = folders;
    for (bool more = true; more;) {
        const size_t colon = rest.find(':');
        more = colon != std::string_view::npos;
        std::string file(rest.substr(0, colon));
        rest = more ? rest.substr(colon + 1) : std::string_view();
        file += file.empty() ? "./" : "/";
        file += name;
        const int error = look_at(file, folder);
        if (error == 0) return file;
        if (error != ENOENT) worst = PMIX_ERR_JOB_APP_NOT_EXECUTABLE;
    }
    return worst;
}

pmix_status_t start_process(const StartSpec& spec, pid_t* child) noexcept {
    Actions actions;
    // First, since its number may be that of a stream.
    if (spec.folder >= 0) actions.enter(spec.folder);
    for (int i = 0; i < 3; ++i)
        if (spec.streams[i] >= 0) actions.move(spec.streams[i], i);
    if (spec.kept >= 0) actions.move(spec.kept, spec.kept);
    Attributes attributes;
    attributes.set();
    if (actions.error != 0 || attributes.error != 0) return PMIX_ERR_NOMEM;
    const int error = ::posix_spawn(child, spec.file, &actions.list, &attributes.list, spec.argv, spec.env);
    return error == 0 ? PMIX_SUCCESS : meaning_of(error);
}

}  // namespace pmix::server
