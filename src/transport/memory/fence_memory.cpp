// SPDX-License-Identifier: BSD-3-Clause
#include "transport/memory/fence_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cassert>
#include <climits>
#include <new>

#include "common/base/standard_streams.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace pmix::transport {

// What lies in the memory. The places of all processes follow, and from the next page on their mailboxes.
struct FenceMemory::Shared {
    static constexpr uint32_t kMagic = 0x57464d33;  // "WFM3"

    struct Place {
        std::atomic<uint64_t> commits;
        std::atomic<uint64_t> joined;  // kJoins and the round
    };

    uint32_t magic;
    uint32_t processes;
    std::atomic<uint32_t> server_takes_part;
    alignas(64) std::atomic<uint64_t> word;
    std::atomic<uint64_t> ends[2];  // of even rounds and of odd ones
    alignas(64) CommitMailboxes::Word watch;
    alignas(64) Place places[1];
};

namespace {

using Mode = FenceMemory::Mode;

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
constexpr uint32_t kRounds = 1u << 30;
constexpr uint64_t kAsk = uint64_t{1} << 32;
constexpr uint64_t kJoins = uint64_t{1} << 32;
// A process that writes without end could keep the server from changing the word by comparison.
constexpr int kTries = 1000;

static_assert(std::atomic<uint64_t>::is_always_lock_free && sizeof(std::atomic<uint64_t>) == sizeof(uint64_t));

// The word: round 30 bits, mode 2 | collect 1, server 1, joined 16 bits.
struct Word {
    uint64_t bits;

    static Word of(uint32_t round, Mode mode) noexcept {
        return {static_cast<uint64_t>((round % kRounds) << 2 | static_cast<uint32_t>(mode)) << 32};
    }
    uint32_t upper() const noexcept { return static_cast<uint32_t>(bits >> 32); }
    uint32_t round() const noexcept { return upper() >> 2; }
    uint32_t mode() const noexcept { return upper() & 3; }
    bool is(Mode mode) const noexcept { return this->mode() == static_cast<uint32_t>(mode); }
    uint32_t joined() const noexcept { return bits & 0xffff; }
    uint64_t by_request() const noexcept { return of(round(), Mode::by_request).bits | (bits & 0xffff'ffff); }
    static constexpr uint64_t kServer = 1u << 16;
    static constexpr uint64_t kCollect = 1u << 17;
};

constexpr size_t whole_pages(size_t bytes) noexcept {
    constexpr size_t kPage = 4096;
    return (bytes + kPage - 1) / kPage * kPage;
}

// The half that says round and mode.
uint32_t* upper_half(std::atomic<uint64_t>& word) noexcept {
    auto* halves = reinterpret_cast<uint32_t*>(&word);
    return std::endian::native == std::endian::little ? halves + 1 : halves;
}

// A raw system call, so no cancellation point of the C library's. Shared between processes.
long futex(std::atomic<uint64_t>& word, int operation, uint32_t value, const timespec* until) noexcept {
    return syscall(SYS_futex, upper_half(word), operation, value, until, nullptr, FUTEX_BITSET_MATCH_ANY);
}

}  // namespace

FenceMemory::FenceMemory(Shared* shared, uint32_t processes, Descriptor descriptor) noexcept
    : shared_(shared),
      processes_(processes),
      descriptor_(std::move(descriptor)),
      mailboxes_(reinterpret_cast<uint8_t*>(shared) + mailboxes_at(processes), CommitMailboxes::count_for(processes),
                 shared->watch) {}

size_t FenceMemory::mailboxes_at(uint32_t processes) noexcept {
    return whole_pages(sizeof(Shared) + size_t{processes} * sizeof(Shared::Place));
}

size_t FenceMemory::size_for(uint32_t processes) noexcept {
    return mailboxes_at(processes) +
           whole_pages(size_t{CommitMailboxes::count_for(processes)} * CommitMailboxes::kBytes);
}

common::Result<std::unique_ptr<FenceMemory>> FenceMemory::create(uint32_t processes, uint32_t round) {
    if (processes == 0 || processes > kMaxProcesses) return PMIX_ERR_BAD_PARAM;
    int fd = ::memfd_create("wireup-fence", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);
    if (fd < 0 && errno == EINVAL) fd = ::memfd_create("wireup-fence", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    fd = common::above_standard(fd);
    Descriptor descriptor(fd);
    const size_t size = size_for(processes);
    // With its pages, so that no access fails later.
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0 ||
        ::fallocate(fd, 0, 0, static_cast<off_t>(size)) != 0 || ::fcntl(fd, F_ADD_SEALS, kSeals) != 0)
        return PMIX_ERR_OUT_OF_RESOURCE;
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return PMIX_ERR_OUT_OF_RESOURCE;
    auto* shared = new (at) Shared{};
    shared->magic = Shared::kMagic;
    shared->processes = processes;
    shared->word.store(Word::of(round, Mode::by_request).bits, std::memory_order_release);
    auto* const made = new (std::nothrow) FenceMemory(shared, processes, std::move(descriptor));
    if (made == nullptr) {
        ::munmap(at, size);
        return PMIX_ERR_NOMEM;
    }
    return std::unique_ptr<FenceMemory>(made);
}

bool FenceMemory::is_before(uint32_t round, uint32_t other) noexcept {
    const uint32_t ahead = (other - round) % kRounds;
    return ahead != 0 && ahead < kRounds / 2;
}

common::Result<std::unique_ptr<FenceMemory>> FenceMemory::take_over(Descriptor descriptor, uint32_t processes) {
    if (processes == 0 || processes > kMaxProcesses) return PMIX_ERR_NOT_SUPPORTED;
    const size_t size = size_for(processes);
    struct stat file {};
    const int seals = descriptor ? ::fcntl(descriptor.get(), F_GET_SEALS) : -1;
    if (seals < 0 || (seals & kSeals) != kSeals || ::fstat(descriptor.get(), &file) != 0 ||
        file.st_size != static_cast<off_t>(size))
        return PMIX_ERR_NOT_SUPPORTED;
    void* const at = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor.get(), 0);
    if (at == MAP_FAILED) return PMIX_ERR_OUT_OF_RESOURCE;
    auto* shared = static_cast<Shared*>(at);
    FenceMemory* made = nullptr;
    if (shared->magic == Shared::kMagic && shared->processes == processes)
        made = new (std::nothrow) FenceMemory(shared, processes, Descriptor());
    if (made == nullptr) {
        ::munmap(at, size);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return std::unique_ptr<FenceMemory>(made);
}

FenceMemory::~FenceMemory() {
    ::munmap(static_cast<void*>(shared_), size_for(processes_));
}

void FenceMemory::set_server_takes_part(bool always) noexcept {
    shared_->server_takes_part.store(always ? 1 : 0, std::memory_order_relaxed);
}

void FenceMemory::turn_to_requests() noexcept {
    Word word{shared_->word.load(std::memory_order_acquire)};
    for (int tries = 0; !word.is(Mode::by_request); ++tries) {
        const uint64_t next = word.by_request();
        if (tries == kTries) {
            shared_->word.store(next, std::memory_order_release);
        } else if (!shared_->word.compare_exchange_weak(word.bits, next, std::memory_order_acq_rel,
                                                        std::memory_order_acquire)) {
            continue;
        }
        return wake_all();
    }
}

void FenceMemory::set_end(uint32_t round, pmix_status_t status, bool ask) noexcept {
    const uint64_t end = static_cast<uint32_t>(status) | (ask ? kAsk : 0);
    shared_->ends[round % 2].store(end, std::memory_order_relaxed);
}

void FenceMemory::end_round(uint32_t round, pmix_status_t status, bool ask, Mode next) noexcept {
    set_end(round, status, ask);
    shared_->word.store(Word::of(round + 1, next).bits, std::memory_order_release);
    wake_all();
}

uint64_t FenceMemory::commits(uint32_t slot) const noexcept {
    assert(slot < processes_);
    return shared_->places[slot].commits.load(std::memory_order_relaxed);
}

bool FenceMemory::has_joined(uint32_t slot, uint32_t round) const noexcept {
    return slot < processes_ && shared_->places[slot].joined.load(std::memory_order_acquire) == (kJoins | round);
}

FenceMemory::Joined FenceMemory::join(uint32_t slot, bool server, bool collect, uint64_t commits) noexcept {
    if (slot >= processes_) return {};
    shared_->places[slot].commits.store(commits, std::memory_order_relaxed);
    if (shared_->server_takes_part.load(std::memory_order_relaxed) != 0) server = true;
    const uint64_t asks = (server ? Word::kServer : 0) | (collect ? Word::kCollect : 0);
    Word word{shared_->word.load(std::memory_order_acquire)};
    const uint32_t round = word.round();
    if (!word.is(Mode::open) || word.joined() >= processes_) return {};
    // Before it counts: a server that makes it one of requests finds all that have joined. It may find this one too
    // when it has not, and so this one asks for that round, whatever has become of it.
    shared_->places[slot].joined.store(kJoins | round, std::memory_order_release);
    for (;;) {
        if (word.round() != round || !word.is(Mode::open) || word.joined() >= processes_)
            return {Joined::Kind::turned, round};
        const Word mine{(word.bits | asks) + 1};
        const bool last = mine.joined() == processes_;
        uint64_t next = mine.bits;
        if (last && (mine.bits & Word::kServer) != 0) {
            next = Word::of(round, Mode::at_server).bits | (mine.bits & 0xffff'ffff);
        } else if (last) {
            // Nobody reads it before the word says that the round is over. The round before the last one is.
            set_end(round, PMIX_SUCCESS, false);
            next = Word::of(round + 1, Mode::open).bits;
        }
        if (!shared_->word.compare_exchange_weak(word.bits, next, std::memory_order_acq_rel, std::memory_order_acquire))
            continue;
        if (!last) return {Joined::Kind::waits, round};
        if ((mine.bits & Word::kServer) != 0) return {Joined::Kind::last_to_server, round};
        wake_all();
        return {Joined::Kind::ended, round};
    }
}

void FenceMemory::leave(uint32_t round) noexcept {
    Word word{shared_->word.load(std::memory_order_acquire)};
    for (int tries = 0; tries < kTries && word.round() == round && word.is(Mode::open); ++tries) {
        if (shared_->word.compare_exchange_weak(word.bits, word.by_request(), std::memory_order_acq_rel,
                                                std::memory_order_acquire))
            return wake_all();
    }
}

FenceMemory::End FenceMemory::wait(uint32_t round, Deadline deadline) const noexcept {
    timespec until{};
    until.tv_sec = static_cast<time_t>(deadline.ns() / 1'000'000'000);
    until.tv_nsec = static_cast<long>(deadline.ns() % 1'000'000'000);
    for (bool late = false;;) {
        const Word word{shared_->word.load(std::memory_order_acquire)};
        if (word.round() != round) {
            const uint64_t end = shared_->ends[round % 2].load(std::memory_order_relaxed);
            return {End::Kind::ended, static_cast<pmix_status_t>(static_cast<uint32_t>(end)), (end & kAsk) != 0};
        }
        if (word.is(Mode::by_request)) return {End::Kind::by_request};
        if (late) return {End::Kind::late};
        futex(shared_->word, FUTEX_WAIT_BITSET, word.upper(), deadline.is_never() ? nullptr : &until);
        // Not the call's own report: a process that changes the half without end would keep it from sleeping.
        late = deadline.passed();
    }
}

void FenceMemory::wake_all() const noexcept {
    futex(shared_->word, FUTEX_WAKE, INT_MAX, nullptr);
}

FenceMemory::State FenceMemory::state() const noexcept {
    const Word word{shared_->word.load(std::memory_order_acquire)};
    State state;
    state.round = word.round();
    state.mode = word.is(Mode::open) ? Mode::open : word.is(Mode::at_server) ? Mode::at_server : Mode::by_request;
    state.collect = (word.bits & Word::kCollect) != 0;
    state.joined = word.joined();
    return state;
}

}  // namespace pmix::transport
