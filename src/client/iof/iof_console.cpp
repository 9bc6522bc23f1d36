// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof_console.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "client/iof/iof_files.h"
#include "transport/deadline.h"

namespace pmix::client {
namespace {

constexpr size_t kTerminalBytes = 256;  // a terminal that is ready has room for so many

// What epoll cannot watch never keeps a writer waiting.
enum class Kind { stream, terminal, always_ready };
Kind kind_of(int fd) noexcept {
    struct stat what {};
    if (::fstat(fd, &what) != 0 || S_ISREG(what.st_mode)) return Kind::always_ready;
    if (!S_ISCHR(what.st_mode)) return Kind::stream;
    return ::isatty(fd) ? Kind::terminal : Kind::always_ready;
}

// write() to a pipe or socket whose reader may be gone, without the SIGPIPE that the kernel would send this thread for
// it. One that was pending before stays.
ssize_t write_quietly(int fd, const void* bytes, size_t size) noexcept {
    sigset_t pipe, before, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    if (::sigpending(&pending) != 0 || ::pthread_sigmask(SIG_BLOCK, &pipe, &before) != 0) return -1;
    const ssize_t put = ::write(fd, bytes, size);
    const int error = errno;
    if (put < 0 && error == EPIPE && sigismember(&pending, SIGPIPE) == 0) {
        const timespec at_once{};
        while (::sigtimedwait(&pipe, nullptr, &at_once) < 0 && errno == EINTR) {
        }
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    errno = error;
    return put;
}

bool ready(int fd, int ms) noexcept {
    pollfd p{fd, POLLOUT, 0};
    return ::poll(&p, 1, ms) > 0;
}

}  // namespace

struct IofConsole::Output final : transport::WatchHandler {
    Output(int f, transport::EventLoop& l, const Written& w) : fd(f), loop(l), written(w) {}

    struct Chunk {
        std::string bytes;
        uint64_t reference;
        size_t cost;
    };
    const int fd;
    transport::EventLoop& loop;
    Written written;
    Kind kind = Kind::always_ready;
    std::deque<Chunk> chunks;
    size_t offset = 0;
    std::unique_ptr<transport::Watch> watch;
    bool broken = false;

    void pop() {
        const Chunk chunk = std::move(chunks.front());
        chunks.pop_front();
        offset = 0;
        written(chunk.reference, chunk.cost);
    }
    // One write. False: not now.
    bool step() {
        const std::string& bytes = chunks.front().bytes;
        const size_t left = bytes.size() - offset;
        const size_t most = kind == Kind::terminal ? kTerminalBytes : kind == Kind::stream ? PIPE_BUF : left;
        if (!broken && left > 0) {
            const ssize_t put = write_quietly(fd, bytes.data() + offset, left < most ? left : most);
            if (put < 0 && (errno == EINTR || errno == EAGAIN)) return errno == EINTR;
            if (put < 0) broken = true;
            if (put > 0) offset += static_cast<size_t>(put);
        }
        if (broken || offset == bytes.size()) pop();
        return true;
    }
    void run() {
        transport::assert_on_loop();
        while (!chunks.empty() && (broken || kind == Kind::always_ready || ready(fd, 0)))
            if (!step()) break;
        if (kind == Kind::always_ready) return;
        if (watch == nullptr && !chunks.empty()) watch = loop.watch(fd, *this);
        if (watch != nullptr) watch->set(false, !chunks.empty());
    }
    void on_ready(bool, bool) noexcept override {
        try {
            run();
        } catch (const std::bad_alloc&) {
            broken = true;
        }
    }
};

IofConsole::IofConsole(transport::EventLoop& loop, Written written)
    : outputs_{std::make_unique<Output>(STDOUT_FILENO, loop, written),
               std::make_unique<Output>(STDERR_FILENO, loop, written)} {}

IofConsole::~IofConsole() = default;

void IofConsole::write(pmix_iof_channel_t channel, std::string bytes, uint64_t reference, size_t cost) {
    Output& out = *outputs_[channel == PMIX_FWD_STDOUT_CHANNEL ? 0 : 1];
    const bool idle = out.chunks.empty();
    if (idle) out.kind = kind_of(out.fd);  // the user may have put something else there
    out.chunks.push_back({std::move(bytes), reference, cost});
    if (idle) out.run();
}

void IofConsole::drain(int ms) noexcept {
    const auto deadline = transport::Deadline::in_ms(ms);
    for (auto& out : outputs_) {
        while (!out->chunks.empty() && !out->broken && !deadline.passed()) {
            if (out->kind != Kind::always_ready && !ready(out->fd, 50)) continue;
            try {
                out->step();
            } catch (const std::bad_alloc&) {
                break;
            }
        }
        out->chunks.clear();
        out->watch.reset();
    }
}

}  // namespace pmix::client
