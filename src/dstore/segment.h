// SPDX-License-Identifier: BSD-3-Clause
// The memory under a store: one growing, sealed memfd and its mappings in this process.
//
// Segment is the server's side: it creates, seals, grows and writes. Mapping is a client's side: it reads. Both map a
// whole reservation once. Where address space is limited (RLIMIT_AS) the reservation is smaller, and a segment that
// outgrows it is mapped a second time, larger; the smaller view stays until the end, so a pointer into it stays good.
//
// Segment: the server's loop. Mapping: base() and in() from any thread without a lock; extend() takes a mutex, in the
// rare case only. What can go wrong: no memory (PMIX_ERR_OUT_OF_RESOURCE, nothing published), or a descriptor that is
// not a sealed segment of our layout (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"

namespace pmix::dstore {

// Read side. A view is an address range of the file; the newest and largest one is used, older ones are only kept.
class Mapping {
  public:
    // Takes the descriptor, whatever happens.
    static common::Result<std::unique_ptr<Mapping>> take_over(int descriptor);
    // Bytes that somebody else keeps: a writer's own pages, or a copy in a test.
    static std::unique_ptr<Mapping> over(const uint8_t* base, uint64_t size);
    ~Mapping();
    Mapping(const Mapping&) = delete;
    Mapping& operator=(const Mapping&) = delete;

    struct View {
        View(const uint8_t* at, uint64_t size) noexcept : base(at), mapped(size) {}
        const uint8_t* const base;
        const uint64_t mapped;
        std::atomic<uint64_t> backed{0};            // of it, by memory; no more than the file's size
        mutable std::atomic<uint64_t> readable{0};  // of that, published when we last looked
    };
    const View& view() const noexcept { return *view_.load(std::memory_order_acquire); }
    // Looks again how much is published. False: less than `size`, or it cannot be mapped.
    bool extend(uint64_t size) noexcept;
    // What lies under over() has grown, or can be reached at another address too.
    void moved(const uint8_t* base, uint64_t mapped, uint64_t backed);
    // After the namespace has ended, when no thread reads here any more: unmaps all but the pages that contain ranges
    // of `borrowed`, which stay until destruction. False: nothing is left.
    bool let_go(std::span<const common::Bytes> borrowed);

  private:
    Mapping() = default;
    void use(const uint8_t* base, uint64_t mapped, uint64_t backed) REQUIRES(mutex_);
    bool map_again(uint64_t published) noexcept REQUIRES(mutex_);

    std::atomic<const View*> view_{nullptr};
    common::Mutex mutex_;
    int descriptor_ GUARDED_BY(mutex_) = -1;
    bool ours_ GUARDED_BY(mutex_) = false;  // the address ranges, to unmap
    std::vector<std::unique_ptr<View>> views_ GUARDED_BY(mutex_);
    struct Range {
        uintptr_t begin, end;
    };
    std::vector<Range> remains_ GUARDED_BY(mutex_);  // after let_go()
};

// Write side.
class Segment {
  public:
    // reservation: address space to map at once; less is taken where the limit asks for it.
    static common::Result<std::unique_ptr<Segment>> create(uint64_t reservation);
    ~Segment();
    Segment(const Segment&) = delete;
    Segment& operator=(const Segment&) = delete;

    // What clients get, by descriptor passing. Stays ours.
    int descriptor() const noexcept { return reading_ >= 0 ? reading_ : descriptor_; }
    uint8_t* base() noexcept { return base_; }
    // Bytes that are backed by memory.
    uint64_t size() const noexcept { return size_; }
    // Backs at least `size` bytes. On failure nothing has changed. base() may have moved.
    pmix_status_t grow(uint64_t size);
    // Brings the pages of a range that is about to be written into the mapping, all at once rather than by one fault
    // each. Never needed, only faster.
    void prepare(uint64_t offset, uint64_t size) noexcept;
    // This process reads through the same pages.
    Mapping& mapping() noexcept { return *mapping_; }

  private:
    Segment() = default;
    struct Window {
        uint8_t* base;
        uint64_t size;
    };
    int descriptor_ = -1;
    int reading_ = -1;  // where the kernel cannot seal against writing
    uint8_t* base_ = nullptr;
    uint64_t mapped_ = 0;
    uint64_t size_ = 0;
    std::vector<Window> windows_;
    std::unique_ptr<Mapping> mapping_;
};

}  // namespace pmix::dstore
