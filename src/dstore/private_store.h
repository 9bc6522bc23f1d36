// SPDX-License-Identifier: BSD-3-Clause
// The values of this process alone: what it has put, and what PMIx_Store_internal was given.
//
// Owns the encoded values in process memory. put() and the staged list: any thread, under one mutex. find(): any
// thread, no lock; a miss costs a probe and no atomic write, a hit holds the value by a Lookup: a replaced value is
// freed when the readers that were inside when it was replaced have left, however many entered later. Pinned values are
// kept as long as the store. What can go wrong: memory (std::bad_alloc, nothing changed).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "dstore/node_arena.h"
#include "dstore/store.h"

namespace pmix::dstore {

class PrivateStore {
    struct Node;
    struct Table;
    struct Slot;
    struct NspaceNode;

  public:
    // A namespace that something was stored for. kNone is never one.
    using Nspace = uint32_t;
    static constexpr Nspace kNone = 0;

    PrivateStore();
    ~PrivateStore();
    PrivateStore(const PrivateStore&) = delete;
    PrivateStore& operator=(const PrivateStore&) = delete;

    // Number of a namespace, made if need be. Callers keep it, so that a look-up compares no names.
    Nspace intern(std::string_view nspace);
    // kNone: nothing was ever stored for it. No lock.
    Nspace nspace(std::string_view nspace) const noexcept;

    // Replaces what is there for the same peers. Scopes local, remote and global are staged for take_staged(); internal
    // is not, and leaves staged what was put for peers before it.
    void put(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope, common::Bytes value) {
        put(nspace, rank, key, scope, value, {});
    }
    // The same for a value in two buffers.
    void put(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope, common::Bytes head,
             common::Bytes body);

    // Deletes a key: for peers of the scope, which is then staged as a put of kDeletedValue would be, or, of scope
    // internal, what the process has stored for itself alone. An internal value stays when peers' values are deleted.
    void remove(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope);

    // A hit. The value is kept until this is destroyed.
    class Lookup {
      public:
        Lookup() = default;
        Lookup(Lookup&& o) noexcept;
        Lookup& operator=(Lookup&&) = delete;
        ~Lookup();
        explicit operator bool() const noexcept { return node_ != nullptr; }
        common::Bytes bytes() const noexcept;
        pmix_scope_t scope() const noexcept;
        // The key was deleted; find_remaining() may have what is left of it.
        bool deleted() const noexcept { return is_deleted(bytes()); }
        // Keeps the value until the store is destroyed, even when it is replaced.
        void pin() const noexcept;

      private:
        friend class PrivateStore;
        bool is_behind() const noexcept;
        Lookup(std::atomic<uint64_t>* left, Node* node) noexcept : left_(left), node_(node) {}
        std::atomic<uint64_t>* left_ = nullptr;
        Node* node_ = nullptr;
    };
    // What the process itself gets back: what it has put last, for whichever peers.
    Lookup find(Nspace nspace, common::Rank rank, const Key& key) const noexcept;
    // What is left for the process itself where find() has met a deletion: the value for the other peers, or the one
    // for peers behind an internal value that was deleted. A hit that is deleted() as well: the key is gone. No hit: it
    // was internal only, and other stores decide.
    Lookup find_remaining(Nspace nspace, common::Rank rank, const Key& key) const noexcept;
    // What local peers see, or the process has stored for itself, where remote peers see another value; and otherwise
    // what is there, whatever its scope.
    Lookup find_for_local(Nspace nspace, common::Rank rank, const Key& key) const noexcept;
    // What remote peers see, where that is another value; and otherwise as find_for_local().
    Lookup find_for_remote(Nspace nspace, common::Rank rank, const Key& key) const noexcept;

    // fn(std::string_view key, pmix_scope_t scope, common::Bytes value) for every key of a process, with the value of
    // find(). Takes the mutex: fn must not call back.
    template <class F>
    void for_each(Nspace nspace, common::Rank rank, F&& fn) const {
        visit(nspace, rank, true, call<F>, const_cast<void*>(static_cast<const void*>(&fn)));
    }
    // The same with the values of find_for_local().
    template <class F>
    void for_each_for_local(Nspace nspace, common::Rank rank, F&& fn) const {
        visit(nspace, rank, false, call<F>, const_cast<void*>(static_cast<const void*>(&fn)));
    }
    // The same for the values that remote peers see where local ones see another.
    template <class F>
    void for_each_apart(Nspace nspace, common::Rank rank, F&& fn) const {
        visit(nspace | kForRemote, rank, false, call<F>, const_cast<void*>(static_cast<const void*>(&fn)));
    }

    // fn(std::string_view key, pmix_scope_t scope, common::Bytes value) for each value that was put since the last
    // take_staged, the newest per key and peers that it is meant for (see audience_of), in the order in which they
    // were put. What fn has seen is not staged any more. An fn that answers bool ends the walk with false: that value
    // and all behind it stay staged. If fn throws, all stay staged. Takes the mutex: fn must not call back.
    // commit: marks what is taken, for stage_again(); 0: nothing does.
    template <class F>
    size_t take_staged(F&& fn, uint32_t commit = 0) {
        return visit_staged(call_while<F>, const_cast<void*>(static_cast<const void*>(&fn)), commit);
    }
    // Stages anew, in front of what is staged, what was taken with this mark or a later one (they wrap around) and is
    // still the value of its key. May throw; nothing has changed then.
    void stage_again(Nspace nspace, common::Rank rank, uint32_t since_commit);
    // Until it is destroyed, all values that were passed to fn of for_each and take_staged are kept.
    class Hold {
      public:
        explicit Hold(const PrivateStore& store) noexcept : left_(store.enter()) {}
        ~Hold() { left_->fetch_add(1, std::memory_order_release); }
        Hold(const Hold&) = delete;
        Hold& operator=(const Hold&) = delete;

      private:
        std::atomic<uint64_t>* const left_;
    };
    bool anything_staged() const noexcept { return staged_count_.load(std::memory_order_relaxed) != 0; }

    // Bytes held, replaced ones that are not freed yet included.
    size_t bytes() const noexcept;

  private:
    using Visit = void (*)(void* context, std::string_view key, pmix_scope_t scope, common::Bytes value);
    template <class F>
    static void call(void* f, std::string_view key, pmix_scope_t scope, common::Bytes value) {
        (*static_cast<std::remove_reference_t<F>*>(f))(key, scope, value);
    }
    using VisitWhile = bool (*)(void* context, std::string_view key, pmix_scope_t scope, common::Bytes value);
    template <class F>
    static bool call_while(void* f, std::string_view key, pmix_scope_t scope, common::Bytes value) {
        auto& fn = *static_cast<std::remove_reference_t<F>*>(f);
        if constexpr (std::is_same_v<decltype(fn(key, scope, value)), bool>) {
            return fn(key, scope, value);
        } else {
            fn(key, scope, value);
            return true;
        }
    }
    void visit(Nspace nspace, common::Rank rank, bool newest, Visit fn, void* context) const;
    size_t visit_staged(VisitWhile fn, void* context, uint32_t commit);
    // Part of a namespace's number in a slot whose value only remote peers see.
    static constexpr Nspace kForRemote = Nspace{1} << 31;
    // The same, of a value that was put for peers and that an internal one has replaced.
    static constexpr Nspace kForPeers = Nspace{1} << 30;
    Node* copy_for(Nspace slots_of, Node* node) REQUIRES(mutex_);
    void keep_for_peers(Node* old, const Key& key) REQUIRES(mutex_);
    void supersede_kept(const Node& node, const Key& key) REQUIRES(mutex_);
    void remove_behind_internal(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope) REQUIRES(mutex_);
    Node* new_node(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope, common::Bytes value)
        REQUIRES(mutex_);
    Slot* probe(uint64_t tag, Nspace nspace, common::Rank rank, const Key& key) REQUIRES(mutex_);
    Node* allocate(size_t size) REQUIRES(mutex_);
    void insert(Node* node, const Key& key) REQUIRES(mutex_);
    void replace_for(Audience meant_for, Slot& slot, uint64_t tag, Node* node, Node* old, const Key& key)
        REQUIRES(mutex_);
    void fill(Slot& slot, uint64_t tag, Node* node) REQUIRES(mutex_);
    void exchange(Slot& slot, uint64_t tag, Node* node, bool takes_place) REQUIRES(mutex_);
    void grow() REQUIRES(mutex_);
    void reserve_staged(size_t size) REQUIRES(mutex_);
    void number_staged() REQUIRES(mutex_);
    void retire(Node* node) REQUIRES(mutex_);
    void free_retired() REQUIRES(mutex_);
    void reclaim() REQUIRES(mutex_);
    void free_list(Node* list) REQUIRES(mutex_);
    // Counts a reader in. Where it counts itself out.
    std::atomic<uint64_t>* enter() const noexcept {
        return &left_[entered_.fetch_add(1, std::memory_order_seq_cst) >> kEpochBit];
    }

    mutable common::Mutex mutex_;
    NodeArena arena_ GUARDED_BY(mutex_);
    std::atomic<Table*> table_{nullptr};
    std::atomic<NspaceNode*> nspaces_{nullptr};
    // Readers that have come in during the present epoch; the highest bit is the epoch's number. And those of each of
    // the two epochs that have left.
    static constexpr unsigned kEpochBit = 63;
    mutable std::atomic<uint64_t> entered_{0};
    mutable std::atomic<uint64_t> left_[2] = {};
    std::atomic<size_t> staged_count_{0};
    bool apart_ GUARDED_BY(mutex_) = false;           // some key has two slots
    bool kept_for_peers_ GUARDED_BY(mutex_) = false;  // some value was kept for peers
    size_t used_ GUARDED_BY(mutex_) = 0;
    size_t bytes_ GUARDED_BY(mutex_) = 0;
    Nspace last_nspace_ GUARDED_BY(mutex_) = kNone;
    Node* retired_ GUARDED_BY(mutex_) = nullptr;   // in the present epoch
    Node* draining_ GUARDED_BY(mutex_) = nullptr;  // in the one before, which so many readers entered
    uint64_t drained_at_ GUARDED_BY(mutex_) = 0;
    Node* pinned_ GUARDED_BY(mutex_) = nullptr;  // retired, but a caller holds a pointer
    std::vector<Node*, ArenaAllocator<Node*>> staged_ GUARDED_BY(mutex_);
};

}  // namespace pmix::dstore
