// SPDX-License-Identifier: BSD-3-Clause
// A process's fences over all of its namespace through memory: arriving there, waiting, and when to ask the server. And
// its commits, where they can be left there for the server (transport/memory/commit_mailboxes.h).
//
// Owns the mapping (transport/memory/fence_memory.h), which the server gives with the answer to a fence once the
// job has fenced often enough. One thread is in it at a time; another one that fences meanwhile asks the server, and so
// does every fence while a request for one is on its way: the server counts those, and the order of a process's fences
// is kept.
//
// Callers' threads. What can go wrong: the memory makes no sense, somebody is late, the server has more to say than a
// status, or is lost: then the caller asks (Outcome::ended is false), and the server or the loss of it answers.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "common/base/bytes.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "transport/descriptor.h"
#include "transport/memory/fence_memory.h"

namespace pmix::client {

class MemoryFence {
  public:
    // A fence that takes longer goes on by request, where the server sees it: for its limits of time and its reports.
    static constexpr int64_t kPatienceMs = 250;

    // This process's server is one that gives the memory. Before the first call.
    void allow() noexcept { allowed_ = true; }
    // Out of an answer; an empty descriptor was lost on its way.
    void take(transport::Descriptor descriptor, uint32_t ranks, uint32_t slot) noexcept;

    // What a request for a fence over the whole namespace says of the memory. From before it is sent until it is
    // answered it counts. commit: one that is sent before it.
    class Request {
      public:
        Request(MemoryFence& owner, uint64_t commit) noexcept : owner_(&owner), commit_(commit) {
            owner.requests_.fetch_add(1, std::memory_order_acq_rel);
        }
        Request(Request&& other) noexcept : owner_(std::exchange(other.owner_, nullptr)), commit_(other.commit_) {}
        Request& operator=(Request&& other) noexcept {
            std::swap(owner_, other.owner_);
            std::swap(commit_, other.commit_);
            return *this;
        }
        ~Request() {
            if (owner_ != nullptr) owner_->requests_.fetch_sub(1, std::memory_order_acq_rel);
        }

        // It has been answered with success: the server had read the commit before. One that is lost or given up says
        // nothing of that.
        void settled() noexcept { owner_->settled_.store(commit_, std::memory_order_release); }

      private:
        MemoryFence* owner_;
        uint64_t commit_;
    };
    struct Outcome {
        bool ended = false;
        bool news = false;                    // ended: the server has taken a commit in for it
        pmix_status_t status = PMIX_SUCCESS;  // ended
        // Joined, but not ended: the request names the round. It counts from before another thread may join.
        std::optional<Request> request;
        uint32_t round = 0;
    };
    // tell(round): notifies the server that all have joined. commit: the newest one that was sent.
    template <class Tell>
    Outcome fence(bool collect, uint64_t commit, Tell tell) {
        const Entry entry = enter();
        if (entry.memory == nullptr) return {};
        const Leaving leaving{*this};
        const bool news = commit != settled_.load(std::memory_order_acquire);
        const auto join = entry.memory->join(entry.slot, news, collect, commit);
        using Kind = transport::FenceMemory::Joined::Kind;
        Outcome outcome;
        if (join.kind == Kind::ended) {
            outcome.ended = true;
        } else if (join.kind != Kind::refused) {
            outcome.round = join.round;
            const bool waits = join.kind == Kind::waits || (join.kind == Kind::last_to_server && tell(join.round));
            if (waits) wait(*entry.memory, outcome);
            if (!outcome.ended) outcome.request.emplace(*this, commit);
        }
        if (outcome.ended) settled_.store(commit, std::memory_order_relaxed);
        outcome.news = news;
        return outcome;
    }
    common::FenceUse use() const;

    // Leaves the process's commit of this number in the memory. False: it is to be sent. Commits keep their order: the
    // one before is with the server. Under the commit mutex, as the next one.
    bool leave_commit(std::span<const common::Bytes> parts, uint64_t number) noexcept;
    // A call that has joined this round ends, perhaps without an answer.
    void leave_round(uint32_t round) noexcept;

  private:
    struct Entry {
        std::shared_ptr<transport::FenceMemory> memory;  // none: by request
        uint32_t slot = 0;
    };
    struct Leaving {
        ~Leaving() { owner.leave(); }
        MemoryFence& owner;
    };
    Entry enter();
    void leave() noexcept { in_memory_.store(false, std::memory_order_release); }
    static void wait(transport::FenceMemory& memory, Outcome& outcome) noexcept;

    bool allowed_ = false;
    std::atomic<bool> refuses_{false};  // it could not be mapped
    std::atomic<bool> in_memory_{false};
    std::atomic<uint32_t> requests_{0};
    std::atomic<uint64_t> settled_{0};  // the newest commit that the server has seen to
    mutable common::Mutex mutex_;
    Entry entry_ GUARDED_BY(mutex_);
    uint64_t left_ GUARDED_BY(mutex_) = 0;  // the newest commit that was left in this memory
};

}  // namespace pmix::client
