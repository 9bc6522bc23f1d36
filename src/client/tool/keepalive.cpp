// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/keepalive.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <new>

#include "client/events/events.h"
#include "client/session/session.h"

namespace pmix::client {

common::Result<std::unique_ptr<Keepalive>> Keepalive::open(Session& session, const std::string& number) {
    int fd = -1;
    const char* end = number.data() + number.size();
    auto [stopped, error] = std::from_chars(number.data(), end, fd);
    struct stat info {};
    if (error != std::errc() || stopped != end || fd < 0) return PMIX_ERR_BAD_PARAM;
    // A number from the environment may be anybody's descriptor: only a pipe is taken over.
    if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return PMIX_ERR_BAD_PARAM;
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0 || ::fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return PMIX_ERR_BAD_PARAM;
    std::unique_ptr<Keepalive> made(new Keepalive(session, fd));
    made->watch_ = session.loop().watch(fd, *made);
    if (made->watch_ == nullptr || !made->watch_->set(true, false)) return PMIX_ERR_OUT_OF_RESOURCE;
    return made;
}

void Keepalive::on_ready(bool, bool) noexcept {
    transport::assert_on_loop();
    char bytes[256];
    ssize_t n = 0;
    while ((n = ::read(pipe_.get(), bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
    }
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    watch_.reset();
    try {
        common::InfoList infos;
        infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
        session_.events().raise(PMIX_EVENT_JOB_END, session_.server(), std::move(infos));
    } catch (const std::bad_alloc&) {  // nobody can be told
    }
}

}  // namespace pmix::client
