// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstring>
#include <new>

#include "common/base/log.h"
#include "common/base/standard_streams.h"
#include "dstore/layout.h"
#include "dstore/pages.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace pmix::dstore {
namespace {

constexpr uint64_t kSmallestReservation = 1u << 20;

uint64_t round_up(uint64_t n, uint64_t to) noexcept {
    return (n + to - 1) / to * to;
}

// How much address space to take for a segment that is `needed` large and may become `wanted`. Under a limit the
// application's own needs come first: twice what is needed, or a small part of the limit.
uint64_t affordable(uint64_t wanted, uint64_t needed) noexcept {
    wanted = std::min(wanted, std::min<uint64_t>(layout::kMaxSegment, SIZE_MAX / 2));
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        wanted = std::min(wanted, std::max({kSmallestReservation, needed * 2, uint64_t{limit.rlim_cur} / 256}));
    }
    return round_up(std::max(wanted, needed), page_size());
}

// Maps `wanted` bytes, or less, but at least `needed`. nullptr when even that does not go.
uint8_t* map_file(int fd, int protection, uint64_t wanted, uint64_t needed, uint64_t* mapped) noexcept {
    needed = round_up(std::max<uint64_t>(needed, 1), page_size());
    for (uint64_t size = affordable(wanted, needed);; size = std::max(round_up(size / 2, page_size()), needed)) {
        void* p = mmap(nullptr, size, protection, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (p != MAP_FAILED) {
            *mapped = size;
            return static_cast<uint8_t*>(p);
        }
        if (size == needed) return nullptr;
    }
}

int close_quietly(int fd) noexcept {
    int keep = errno;
    if (fd >= 0) close(fd);
    errno = keep;
    return -1;
}

pmix_status_t status_of(int error) noexcept {
    switch (error) {
        case EMFILE:
        case ENFILE:
        case ENOSPC:
        case EFBIG:
        case EDQUOT:
            return PMIX_ERR_OUT_OF_RESOURCE;
        case ENOMEM:
            return PMIX_ERR_OUT_OF_RESOURCE;
        case ENOSYS:
        case EINVAL:
            return PMIX_ERR_NOT_SUPPORTED;
        default:
            return PMIX_ERROR;
    }
}

// A system call that a container may forbid (seccomp). Said once: what needs it tries again and again.
pmix_status_t refused(const char* call, int error) noexcept {
    static std::atomic<bool> told{false};
    const pmix_status_t status = status_of(error);
    if (status != PMIX_ERR_OUT_OF_RESOURCE && !told.exchange(true))
        WIREUP_LOG(api, error, "no shared memory for the data of jobs: %s: %s", call, std::strerror(error));
    return status;
}

}  // namespace

// ---- Mapping --------------------------------------------------------------------------------------------------------

common::Result<std::unique_ptr<Mapping>> Mapping::take_over(int descriptor) {
    std::unique_ptr<Mapping> m;
    try {
        m.reset(new Mapping);
    } catch (const std::bad_alloc&) {
        close_quietly(descriptor);
        throw;
    }
    common::MutexLock lock(m->mutex_);
    m->descriptor_ = descriptor;
    m->ours_ = true;
    struct stat st {};
    if (fstat(descriptor, &st) != 0) return PMIX_ERR_BAD_PARAM;
    // Reading a page that the file no longer has raises SIGBUS: accept only a file that cannot shrink.
    const int seals = fcntl(descriptor, F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) return PMIX_ERR_NOT_SUPPORTED;
    const auto size = static_cast<uint64_t>(st.st_size);
    if (size < layout::kHeaderSize) return PMIX_ERR_NOT_SUPPORTED;

    uint8_t first[layout::kHeaderSize];
    if (pread(descriptor, first, sizeof first, 0) != static_cast<ssize_t>(sizeof first)) return PMIX_ERROR;
    if (layout::get64(first + layout::kHdrMagic) != layout::kSegmentMagic ||
        layout::get64(first + layout::kHdrStamp) != layout::kStamp) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    m->views_.reserve(4);
    uint64_t mapped = 0;
    uint8_t* base = map_file(descriptor, PROT_READ, layout::get64(first + layout::kHdrReservation), size, &mapped);
    if (base == nullptr) return PMIX_ERR_OUT_OF_RESOURCE;
    madvise(base, mapped, MADV_DONTDUMP);
    try {
        m->use(base, mapped, size);
    } catch (const std::bad_alloc&) {
        munmap(base, mapped);
        throw;
    }
    return m;
}

std::unique_ptr<Mapping> Mapping::over(const uint8_t* base, uint64_t size) {
    std::unique_ptr<Mapping> m(new Mapping);
    common::MutexLock lock(m->mutex_);
    m->use(base, size, size);
    return m;
}

Mapping::~Mapping() {
    common::MutexLock lock(mutex_);
    if (ours_) {
        for (const auto& v : views_) munmap(const_cast<uint8_t*>(v->base), v->mapped);
        for (const Range& r : remains_) munmap(reinterpret_cast<void*>(r.begin), r.end - r.begin);
        close_quietly(descriptor_);
    }
}

void Mapping::use(const uint8_t* base, uint64_t mapped, uint64_t backed) {
    assert(views_.empty() || mapped >= views_.back()->mapped);
    auto v = std::make_unique<View>(base, mapped);
    v->backed.store(std::min(mapped, backed), std::memory_order_relaxed);
    uint64_t readable = 0;
    if (backed >= layout::kHeaderSize) {
        readable = std::min(layout::load_word(base + layout::kHdrPublished), std::min(mapped, backed));
    }
    v->readable.store(readable, std::memory_order_relaxed);
    views_.push_back(std::move(v));
    view_.store(views_.back().get(), std::memory_order_release);
}

void Mapping::moved(const uint8_t* base, uint64_t mapped, uint64_t backed) {
    common::MutexLock lock(mutex_);
    View& last = *views_.back();
    assert(!ours_ && std::min(mapped, backed) >= last.backed.load(std::memory_order_relaxed));  // no segment shrinks
    if (last.base == base && last.mapped == mapped) {
        last.backed.store(std::min(mapped, backed), std::memory_order_release);
    } else {
        use(base, mapped, backed);
    }
}

bool Mapping::extend(uint64_t size) noexcept {
    const View* v = view_.load(std::memory_order_acquire);
    if (v->backed.load(std::memory_order_acquire) < layout::kHeaderSize) return false;
    const uint64_t published = layout::load_word(v->base + layout::kHdrPublished);
    if (published < size) return false;
    if (published > v->backed.load(std::memory_order_acquire)) {
        common::MutexLock lock(mutex_);
        if (!map_again(published)) return false;
        v = view_.load(std::memory_order_acquire);
    }
    uint64_t seen = v->readable.load(std::memory_order_relaxed);
    while (seen < published && !v->readable.compare_exchange_weak(seen, published, std::memory_order_acq_rel)) {
    }
    return v->readable.load(std::memory_order_acquire) >= size;
}

// The file has grown since we looked: believe the file, not the header.
bool Mapping::map_again(uint64_t published) noexcept {
    View& last = *views_.back();
    if (descriptor_ < 0) return published <= last.backed.load(std::memory_order_acquire);
    struct stat st {};
    if (fstat(descriptor_, &st) != 0 || static_cast<uint64_t>(st.st_size) < published) return false;
    const auto size = static_cast<uint64_t>(st.st_size);
    if (published <= last.mapped) {
        last.backed.store(std::min(last.mapped, size), std::memory_order_release);
        return true;
    }
    uint64_t mapped = 0;
    uint8_t* base = map_file(descriptor_, PROT_READ, std::max(last.mapped * 2, size), published, &mapped);
    if (base == nullptr) return false;
    madvise(base, mapped, MADV_DONTDUMP);
    try {
        use(base, mapped, size);
    } catch (const std::bad_alloc&) {
        munmap(base, mapped);
        return false;
    }
    return true;
}

bool Mapping::let_go(std::span<const common::Bytes> borrowed) {
    common::MutexLock lock(mutex_);
    if (!ours_) return false;
    const uint64_t page = page_size();
    // Whole pages of the borrowed ranges, view by view, in order and without overlap.
    std::vector<Range> keep;
    for (const auto& v : views_) {
        const auto begin = reinterpret_cast<uintptr_t>(v->base);
        const uintptr_t end = begin + v->mapped;
        for (const common::Bytes& range : borrowed) {
            const auto at = reinterpret_cast<uintptr_t>(range.data());
            if (at < begin || at >= end || range.empty()) continue;
            keep.push_back({at / page * page, std::min<uintptr_t>(round_up(at + range.size(), page), end)});
        }
    }
    std::sort(keep.begin(), keep.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    std::vector<Range> merged;
    for (const Range& r : keep) {
        if (!merged.empty() && r.begin <= merged.back().end) {
            merged.back().end = std::max(merged.back().end, r.end);
        } else {
            merged.push_back(r);
        }
    }
    assert(
        std::is_sorted(merged.begin(), merged.end(), [](const Range& a, const Range& b) { return a.end < b.begin; }));
    // From here on nothing fails.
    for (const auto& v : views_) {
        auto from = reinterpret_cast<uintptr_t>(v->base);
        const uintptr_t end = from + v->mapped;
        for (const Range& r : merged) {
            if (r.end <= from || r.begin >= end) continue;
            if (r.begin > from) munmap(reinterpret_cast<void*>(from), r.begin - from);
            from = std::min(r.end, end);
        }
        if (from < end) munmap(reinterpret_cast<void*>(from), end - from);
    }
    views_.clear();
    view_.store(nullptr, std::memory_order_release);
    descriptor_ = close_quietly(descriptor_);
    remains_ = std::move(merged);
    return !remains_.empty();
}

// ---- Segment --------------------------------------------------------------------------------------------------------

common::Result<std::unique_ptr<Segment>> Segment::create(uint64_t reservation) {
    std::unique_ptr<Segment> s(new Segment);
    s->windows_.reserve(8);
    // Not executable, said to kernels that know the word: others warn in their log when it is not said.
    int fd = memfd_create("wireup-store", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = memfd_create("wireup-store", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return refused("memfd_create", errno);
    fd = common::above_standard(fd);
    if (fd < 0) return status_of(errno);
    s->descriptor_ = fd;

    s->base_ = map_file(fd, PROT_READ | PROT_WRITE, reservation, kSmallestReservation, &s->mapped_);
    if (s->base_ == nullptr) return PMIX_ERR_OUT_OF_RESOURCE;
    s->windows_.push_back({s->base_, s->mapped_});
    madvise(s->base_, s->mapped_, MADV_DONTFORK);
    madvise(s->base_, s->mapped_, MADV_DONTDUMP);

    // Only now: the mapping above goes on writing, nobody else ever can.
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        if (errno != EINVAL || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_SEAL) != 0) return status_of(errno);
        // Before Linux 5.1: others get a descriptor that was opened for reading.
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        s->reading_ = common::above_standard(open(path, O_RDONLY | O_CLOEXEC));
        if (s->reading_ < 0) return status_of(errno);
    }
    s->mapping_ = Mapping::over(s->base_, 0);
    return s;
}

Segment::~Segment() {
    mapping_.reset();
    for (const Window& w : windows_) munmap(w.base, w.size);
    close_quietly(reading_);
    close_quietly(descriptor_);
}

void Segment::prepare(uint64_t offset, uint64_t size) noexcept {
    assert(size <= size_ && offset <= size_ - size);
    const uint64_t page = page_size();
    const uint64_t from = offset / page * page;
    madvise(base_ + from, round_up(offset + size, page) - from, MADV_POPULATE_WRITE);
}

pmix_status_t Segment::grow(uint64_t size) {
    if (size <= size_) return PMIX_SUCCESS;
    if (size > layout::kMaxSegment) return PMIX_ERR_OUT_OF_RESOURCE;
    // In steps that follow the size: few system calls for large stores, few idle pages for small ones.
    uint64_t goal = round_up(std::max(size, size_ + std::clamp<uint64_t>(size_ / 4, 16u << 10, 4u << 20)), page_size());
    goal = std::min(goal, std::max(round_up(size, page_size()), mapped_));
    // Where files are limited (RLIMIT_FSIZE), growing past the limit would raise a signal.
    rlimit files{};
    if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur != RLIM_INFINITY && goal > files.rlim_cur) {
        goal = files.rlim_cur / page_size() * page_size();
        if (goal < size) return PMIX_ERR_OUT_OF_RESOURCE;
    }
    if (goal > mapped_) {
        // A second, larger mapping of the same pages: an old size of 0 asks for exactly that, and as it is no new
        // mapping of the file the seal allows it to be writable. The first stays for those who read through it.
        uint64_t larger = affordable(std::max(mapped_ * 2, goal), goal);
        void* p = mremap(base_, 0, larger, MREMAP_MAYMOVE);
        if (p == MAP_FAILED && larger > goal) p = mremap(base_, 0, larger = goal, MREMAP_MAYMOVE);
        if (p == MAP_FAILED) return PMIX_ERR_OUT_OF_RESOURCE;
        try {
            windows_.push_back({static_cast<uint8_t*>(p), larger});
        } catch (const std::bad_alloc&) {
            munmap(p, larger);
            throw;
        }
        madvise(p, larger, MADV_DONTFORK);
        madvise(p, larger, MADV_DONTDUMP);
        base_ = static_cast<uint8_t*>(p);
        mapped_ = larger;
    }
    assert(goal > size_ && goal >= size && goal <= mapped_);
    int rc;
    do {
        rc = fallocate(descriptor_, 0, static_cast<off_t>(size_), static_cast<off_t>(goal - size_));
    } while (rc != 0 && errno == EINTR);
    if (rc != 0) return refused("fallocate", errno);
    mapping_->moved(base_, mapped_, goal);
    size_ = goal;
    return PMIX_SUCCESS;
}

}  // namespace pmix::dstore
