// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/random.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "common/base/log.h"
#include "common/base/standard_streams.h"

namespace pmix::common {
namespace {

constexpr const char* kDevice = "/dev/urandom";

// step(to, n) as read(2). 0, or errno.
template <class Step>
int fill_by(uint8_t* out, size_t n, Step step) noexcept {
    while (n != 0) {
        const ssize_t got = step(out, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return got < 0 ? errno : EIO;
        out += got;
        n -= static_cast<size_t>(got);
    }
    return 0;
}

int fill_from_device(uint8_t* out, size_t n) noexcept {
    const int fd = above_standard(::open(kDevice, O_RDONLY | O_CLOEXEC));
    if (fd < 0) return errno;
    const int error = fill_by(out, n, [fd](uint8_t* to, size_t most) { return ::read(fd, to, most); });
    ::close(fd);
    return error;
}

}  // namespace

bool fill_random(void* out, size_t n) noexcept {
    static std::atomic<bool> warned{false};
    auto* const bytes = static_cast<uint8_t*>(out);
    const int refused = fill_by(bytes, n, [](uint8_t* to, size_t most) { return ::getrandom(to, most, 0); });
    if (refused == 0) return true;
    const int error = fill_from_device(bytes, n);
    if (error != 0) {
        WIREUP_LOG(api, error, "no random numbers: getrandom fails (error %d), and so does %s: %s", refused, kDevice,
                   std::strerror(error));
        return false;
    }
    if (!warned.exchange(true, std::memory_order_relaxed))
        WIREUP_LOG(api, warn, "getrandom fails (%s): %s is read instead", std::strerror(refused), kDevice);
    return true;
}

}  // namespace pmix::common
