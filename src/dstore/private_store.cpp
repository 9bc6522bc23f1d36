// SPDX-License-Identifier: BSD-3-Clause
#include "dstore/private_store.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace pmix::dstore {

using common::Bytes;

// Why a reader needs no lock. A slot, once filled, belongs to one (namespace, rank, key) for ever; only the node in it
// is exchanged. Tables that were outgrown are kept until the store goes (together they are smaller than the newest), so
// probing touches nothing that could be freed, and nearly every miss ends there: a slot is a node's address with 16
// bits of hash above it. One word instead of two halves the fresh pages that a client's first puts touch, and memory
// that is touched for the first time, not the instructions, is what a put costs. For the same reason a node has no
// more of a head than it needs.
//
// Only where the 16 bits agree is a node looked at, which a put may replace at that moment. The reader first counts
// itself in, then loads the slot; the writer first exchanges it, then looks at the count, all four in one total order.
// So if the writer sees no reader, every later reader sees the new node, and the replaced one may be freed. If it sees
// a reader it begins a new epoch: the exchange of the counter tells how many entered during the old one, none can enter
// it afterwards (the same instruction counts a reader and tells it its epoch), and when as many have left, what was
// replaced before the new epoch may be freed, however many readers overlap in the new one. One old epoch drains at a
// time.
struct PrivateStore::Node {
    // The head of a node that is in a slot, and of one that is retired. Never both.
    struct Staged {
        uint32_t place;   // in the staged list, plus one; 0: not staged
        uint32_t commit;  // the mark under which it was taken; 0: it was not
    };
    union {
        Staged staged;
        Node* next;
    };
    uint32_t rank;
    Nspace nspace;
    uint32_t value_length;
    uint16_t key_length;
    uint8_t scope;
    std::atomic<uint8_t> flags;
    static constexpr uint8_t kPinned = 1, kBehind = 2;  // kBehind: what remote peers alone see was put later

    // The value's payload (6 bytes in) is aligned for whatever a caller keeps in a byte object.
    static constexpr size_t kValueAt = 26;
    uint8_t* value_bytes() noexcept { return reinterpret_cast<uint8_t*>(this) + kValueAt; }
    char* key_bytes() noexcept { return reinterpret_cast<char*>(value_bytes()) + value_length; }
    Bytes value() noexcept { return {value_bytes(), value_length}; }
    std::string_view key() noexcept { return {key_bytes(), key_length}; }
    bool is(uint8_t flag) const noexcept { return (flags.load(std::memory_order_acquire) & flag) != 0; }
    void set_behind(bool behind) noexcept {
        behind ? flags.fetch_or(kBehind, std::memory_order_release)
               : flags.fetch_and(static_cast<uint8_t>(~kBehind), std::memory_order_relaxed);
    }
    size_t size() const noexcept { return kValueAt + value_length + key_length; }
    uint64_t tag() noexcept;
    void write(Nspace in, common::Rank of, const Key& name, pmix_scope_t put_with, Bytes head, Bytes body) noexcept {
        rank = of;
        nspace = in;
        scope = put_with;
        key_length = static_cast<uint16_t>(name.name().size());
        value_length = static_cast<uint32_t>(head.size() + body.size());
        if (!head.empty()) std::memcpy(value_bytes(), head.data(), head.size());
        if (!body.empty()) std::memcpy(value_bytes() + head.size(), body.data(), body.size());
        std::memcpy(key_bytes(), name.name().data(), name.name().size());
    }
};

// Empty, or the node and the upper 16 bits of its tag.
struct PrivateStore::Slot {
    std::atomic<uint64_t> word{0};

    static constexpr uint64_t kAddress = (uint64_t{1} << NodeArena::kAddressBits) - 1;
    static uint64_t pack(uint64_t tag, Node* node) noexcept {
        return (tag & ~kAddress) | reinterpret_cast<uintptr_t>(node);
    }
    // Where a search begins. Small tables take it from the bits that the slot has, so that growing reads no node.
    static constexpr size_t kSmall = 1u << 11;
    static size_t home(uint64_t tag, size_t mask) noexcept {
        return (mask < kSmall ? tag >> NodeArena::kAddressBits : tag) & mask;
    }
    static bool may_be(uint64_t word, uint64_t tag) noexcept { return ((word ^ tag) & ~kAddress) == 0; }
    static Node* node_of(uint64_t word) noexcept { return reinterpret_cast<Node*>(word & kAddress); }
};

// In the arena, its slots behind it, and there until the arena goes.
struct PrivateStore::Table {
    size_t mask;
    Slot* slots() noexcept { return reinterpret_cast<Slot*>(this + 1); }
    const Slot* slots() const noexcept { return reinterpret_cast<const Slot*>(this + 1); }
};

struct PrivateStore::NspaceNode {
    NspaceNode* next;
    Nspace number;
    std::string name;
};

namespace {

uint64_t tag_of(uint32_t nspace, common::Rank rank, uint32_t hash) noexcept {
    uint64_t h = (uint64_t{rank} << 32 | hash) ^ uint64_t { nspace } * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    return h != 0 ? h : 1;
}

}  // namespace

uint64_t PrivateStore::Node::tag() noexcept {
    return tag_of(nspace, rank, Key(key()).hash());
}

PrivateStore::PrivateStore() : staged_(ArenaAllocator<Node*>(arena_)) {
    static_assert(sizeof(Node) <= Node::kValueAt && (Node::kValueAt + 6) % NodeArena::kAlignment == 0);
    static_assert(std::is_trivially_destructible_v<Node> && std::is_trivially_destructible_v<Slot>);
}

// Nodes and tables go with the arena.
PrivateStore::~PrivateStore() {
    for (NspaceNode* n = nspaces_.load(std::memory_order_relaxed); n != nullptr;) delete std::exchange(n, n->next);
}

PrivateStore::Nspace PrivateStore::nspace(std::string_view name) const noexcept {
    for (NspaceNode* n = nspaces_.load(std::memory_order_acquire); n != nullptr; n = n->next) {
        if (n->name == name) return n->number;
    }
    return kNone;
}

PrivateStore::Nspace PrivateStore::intern(std::string_view name) {
    common::MutexLock lock(mutex_);
    if (Nspace known = nspace(name); known != kNone) return known;
    auto* n = new NspaceNode{nspaces_.load(std::memory_order_relaxed), last_nspace_ + 1, std::string(name)};
    ++last_nspace_;
    nspaces_.store(n, std::memory_order_release);
    return n->number;
}

// The slot of a key, or the free one where it belongs. There always is a free one.
PrivateStore::Slot* PrivateStore::probe(uint64_t tag, Nspace nspace, common::Rank rank, const Key& key) {
    Table* table = table_.load(std::memory_order_relaxed);
    assert(used_ <= table->mask);
    for (size_t i = Slot::home(tag, table->mask);; i = (i + 1) & table->mask) {
        Slot& slot = table->slots()[i];
        const uint64_t there = slot.word.load(std::memory_order_relaxed);
        if (there == 0) return &slot;
        if (!Slot::may_be(there, tag)) continue;
        Node* n = Slot::node_of(there);
        if (n->rank == rank && n->nspace == nspace && n->key() == key.name()) return &slot;
    }
}

void PrivateStore::grow() {
    Table* old = table_.load(std::memory_order_relaxed);
    const size_t size = old == nullptr ? 64 : (old->mask + 1) * 2;
    void* memory = arena_.allocate(sizeof(Table) + size * sizeof(Slot));
    if (memory == nullptr) throw std::bad_alloc();
    assert(std::has_single_bit(size));
    auto* table = new (memory) Table{size - 1};
    for (size_t i = 0; i < size; ++i) new (table->slots() + i) Slot;
    for (size_t i = 0; old != nullptr && i <= old->mask; ++i) {
        const uint64_t word = old->slots()[i].word.load(std::memory_order_relaxed);
        if (word == 0) continue;
        size_t s = Slot::home(table->mask < Slot::kSmall ? word : Slot::node_of(word)->tag(), table->mask);
        while (table->slots()[s].word.load(std::memory_order_relaxed) != 0) s = (s + 1) & table->mask;
        table->slots()[s].word.store(word, std::memory_order_relaxed);
    }
    assert(used_ * 4 <= size * 3);
    // In the same order as counting in and looking at the count: who is not seen inside finds the new table.
    table_.store(table, std::memory_order_seq_cst);
}

PrivateStore::Node* PrivateStore::allocate(size_t size) {
    void* const memory = arena_.allocate(size);
    if (memory == nullptr) throw std::bad_alloc();
    return new (memory) Node{};
}

inline void PrivateStore::free_retired() {
    if (retired_ != nullptr || draining_ != nullptr) reclaim();
}

void PrivateStore::put(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope, Bytes head, Bytes body) {
    const size_t length = head.size() + body.size();
    const size_t size = Node::kValueAt + length + key.name().size();
    if (length > UINT32_MAX || key.name().size() > UINT16_MAX) throw std::bad_alloc();
    Node* node = nullptr;
    // Locking twice costs less than others' waiting for a long copy, and more than a short one.
    constexpr size_t kLongCopy = 4096;
    if (size > kLongCopy) {
        {
            common::MutexLock lock(mutex_);
            node = allocate(size);
        }
        node->write(nspace, rank, key, scope, head, body);
    }
    common::MutexLock lock(mutex_);
    if (node == nullptr) (node = allocate(size))->write(nspace, rank, key, scope, head, body);
    assert(node->size() == size && node->staged.place == 0);
    try {
        insert(node, key);
    } catch (...) {
        arena_.free(node, size);
        throw;
    }
    free_retired();
    arena_.prefetch();
}

PrivateStore::Node* PrivateStore::new_node(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope,
                                           Bytes value) {
    Node* node = allocate(Node::kValueAt + value.size() + key.name().size());
    node->write(nspace, rank, key, scope, value, {});
    return node;
}

void PrivateStore::remove(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope) {
    if (key.name().size() > UINT16_MAX) throw std::bad_alloc();
    common::MutexLock lock(mutex_);
    Node* there = nullptr;
    if (table_.load(std::memory_order_relaxed) != nullptr)
        there = Slot::node_of(
            probe(tag_of(nspace, rank, key.hash()), nspace, rank, key)->word.load(std::memory_order_relaxed));
    const bool internal = there != nullptr && there->scope == PMIX_INTERNAL;
    if (scope == PMIX_INTERNAL && !internal) return;
    if (scope != PMIX_INTERNAL && internal) {
        remove_behind_internal(nspace, rank, key, scope);
        if (scope != PMIX_LOCAL) there->set_behind(false);
    } else {
        Node* const node = new_node(nspace, rank, key, scope, kDeletedValue);
        try {
            insert(node, key);
        } catch (...) {
            arena_.free(node, node->size());
            throw;
        }
    }
    free_retired();
}

// The slot of the key has what the process stored for itself, which stays. What peers are to be told goes to the slots
// from which what an internal value has replaced is sent. If that throws, nothing has changed.
void PrivateStore::remove_behind_internal(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope) {
    Node* const node = new_node(nspace | kForPeers, rank, key, scope, kDeletedValue);
    const Nspace apart = nspace | kForRemote;
    const uint64_t tag = tag_of(apart, rank, key.hash());
    const bool has_apart =
        scope != PMIX_LOCAL && probe(tag, apart, rank, key)->word.load(std::memory_order_relaxed) != 0;
    Node* for_remote = nullptr;
    try {
        if (has_apart) for_remote = new_node(apart, rank, key, PMIX_REMOTE, kDeletedValue);
        insert(node, key);
    } catch (...) {
        arena_.free(node, node->size());
        if (for_remote != nullptr) arena_.free(for_remote, for_remote->size());
        throw;
    }
    // What remote peers were to see apart from others is not sent any more.
    if (has_apart) exchange(*probe(tag, apart, rank, key), tag, for_remote, false);
    kept_for_peers_ = true;
}

// A node as remote peers see it, or as all peers do, for a slot of its own. Not staged.
PrivateStore::Node* PrivateStore::copy_for(Nspace slots_of, Node* node) {
    return new_node(node->nspace | slots_of, node->rank, Key(node->key()), node->scope, node->value());
}

// Puts a node in its place. If that throws, nothing has changed.
//
// A key has one slot, or two: where remote peers see another value than local ones, theirs is in a slot of its own, and
// the usual slot has what local peers see, or the process alone. A slot is never given back, so once there are two,
// both are kept up to date. What an internal value replaces that was put for peers goes to a further pair of slots,
// from which it is still sent, and sent again.
void PrivateStore::insert(Node* node, const Key& key) {
    const Audience meant_for = audience_of(node->scope);
    if (meant_for != audience::nobody && staged_.size() == staged_.capacity()) reserve_staged(staged_.size() + 1);
    const Table* table = table_.load(std::memory_order_relaxed);
    // No put fills more than one free slot.
    if (table == nullptr || (used_ + 1) * 4 > (table->mask + 1) * 3) grow();
    const uint64_t tag = tag_of(node->nspace, node->rank, key.hash());
    Slot* slot = probe(tag, node->nspace, node->rank, key);
    const uint64_t before = slot->word.load(std::memory_order_relaxed);
    if (before == 0) {
        fill(*slot, tag, node);
    } else if (Node* old = Slot::node_of(before); old->scope != node->scope || apart_) {
        if (meant_for == audience::nobody && old->scope != PMIX_INTERNAL) {
            keep_for_peers(old, key);
            exchange(*slot, tag, node, true);
        } else {
            if (kept_for_peers_ && old->scope == PMIX_INTERNAL && meant_for != audience::nobody)
                supersede_kept(*node, key);
            replace_for(meant_for, *slot, tag, node, old, key);
        }
    } else {
        exchange(*slot, tag, node, true);
    }
    if (meant_for != audience::nobody && node->staged.place == 0) {
        assert(staged_.size() < staged_.capacity());  // nothing fails any more
        staged_.push_back(node);
        node->staged.place = static_cast<uint32_t>(staged_.size());
    }
    staged_count_.store(staged_.size(), std::memory_order_relaxed);
}

// The scopes of the old and of the new value differ, or may have differed before.
void PrivateStore::replace_for(Audience meant_for, Slot& slot, uint64_t tag, Node* node, Node* old, const Key& key) {
    const uint64_t apart_tag = tag_of(node->nspace | kForRemote, node->rank, key.hash());
    Slot* const apart = probe(apart_tag, node->nspace | kForRemote, node->rank, key);
    const uint64_t word = apart->word.load(std::memory_order_relaxed);
    const auto put_apart = [&](Node* for_remote, bool takes_place) REQUIRES(mutex_) {
        apart_ = true;
        if (word == 0) return fill(*apart, apart_tag, for_remote);
        exchange(*apart, apart_tag, for_remote, takes_place);
    };
    if (meant_for == audience::remote && old->scope != PMIX_REMOTE) {
        const bool deletes = is_deleted(node->value());
        node->nspace |= kForRemote;
        put_apart(node, true);
        old->set_behind(!deletes);
        if (kept_for_peers_ && old->scope == PMIX_INTERNAL) {
            const Nspace kept = old->nspace | kForPeers;
            const Slot* const slot_of = probe(tag_of(kept, old->rank, key.hash()), kept, old->rank, key);
            if (const uint64_t there = slot_of->word.load(std::memory_order_relaxed))
                Slot::node_of(there)->set_behind(!deletes);
        }
        return;
    }
    if (meant_for == audience::everybody) {
        if (word != 0) put_apart(copy_for(kForRemote, node), false);
    } else if (meant_for == audience::local &&
               (old->scope == PMIX_REMOTE ||
                (old->scope == PMIX_GLOBAL && (word == 0 || Slot::node_of(word)->scope == PMIX_GLOBAL)))) {
        // Remote peers go on to see the old one, and its copy takes over its place among the staged.
        Node* for_remote = copy_for(kForRemote, old);
        for_remote->staged = std::exchange(old->staged, {});
        assert(for_remote->staged.place == 0 || staged_[for_remote->staged.place - 1] == old);
        if (const uint32_t place = for_remote->staged.place; place != 0) staged_[place - 1] = for_remote;
        put_apart(for_remote, false);
    }
    exchange(slot, tag, node, true);
}

// An internal value is about to replace this one, which was put for peers. If it may still have to be sent, a copy
// takes over its place among the staged and its mark. If that throws, nothing has changed.
void PrivateStore::keep_for_peers(Node* old, const Key& key) {
    const Node::Staged was = old->staged;
    if (was.place == 0 && was.commit == 0) return;
    assert(was.place == 0 || staged_[was.place - 1] == old);
    Node* const copy = copy_for(kForPeers, old);
    copy->set_behind(old->is(Node::kBehind));
    const uint64_t tag = tag_of(copy->nspace, copy->rank, key.hash());
    Slot* const slot = probe(tag, copy->nspace, copy->rank, key);
    const uint64_t before = slot->word.load(std::memory_order_relaxed);
    old->staged = {};
    copy->staged = {0, was.commit};
    if (was.place != 0) staged_[was.place - 1] = nullptr;
    if (before == 0) {
        fill(*slot, tag, copy);
    } else {
        try {
            replace_for(audience_of(copy->scope), *slot, tag, copy, Slot::node_of(before), key);
        } catch (...) {
            arena_.free(copy, copy->size());
            old->staged = was;
            if (was.place != 0) staged_[was.place - 1] = old;
            throw;
        }
    }
    kept_for_peers_ = true;
    if (was.place != 0 && copy->staged.place == 0) {
        staged_[was.place - 1] = copy;
        copy->staged.place = was.place;
    }
}

// A value for peers is about to follow an internal one: what was kept for the same peers before that is not sent any
// more.
void PrivateStore::supersede_kept(const Node& node, const Key& key) {
    for (const Nspace slots_of : {kForPeers, kForPeers | kForRemote}) {
        const Nspace nspace = node.nspace | slots_of;
        const Slot* const slot = probe(tag_of(nspace, node.rank, key.hash()), nspace, node.rank, key);
        const uint64_t word = slot->word.load(std::memory_order_relaxed);
        if (word == 0) continue;
        Node* const kept = Slot::node_of(word);
        if (node.scope != PMIX_GLOBAL && kept->scope != node.scope) continue;
        assert(kept->staged.place == 0 || staged_[kept->staged.place - 1] == kept);
        if (const uint32_t place = kept->staged.place; place != 0) staged_[place - 1] = nullptr;
        kept->staged = {};
    }
}

void PrivateStore::fill(Slot& slot, uint64_t tag, Node* node) {
    slot.word.store(Slot::pack(tag, node), std::memory_order_seq_cst);
    bytes_ += node->size();
    ++used_;
    assert(used_ <= table_.load(std::memory_order_relaxed)->mask);  // a search finds a free slot
}

// Puts a node into its slot and retires what was there. Where that is staged, the new one is in its place, or none is.
void PrivateStore::exchange(Slot& slot, uint64_t tag, Node* node, bool takes_place) {
    Node* old = Slot::node_of(slot.word.load(std::memory_order_relaxed));
    slot.word.store(Slot::pack(tag, node), std::memory_order_seq_cst);
    bytes_ += node->size();
    assert(old != node);
    if (const uint32_t place = old->staged.place; place != 0) {
        assert(place <= staged_.size() && staged_[place - 1] == old);
        staged_[place - 1] = takes_place ? node : nullptr;
        if (takes_place) node->staged.place = place;
    }
    retire(old);
}

void PrivateStore::retire(Node* node) {
    node->next = retired_;
    retired_ = node;
}

void PrivateStore::reclaim() {
    if (draining_ != nullptr) {
        const uint64_t now = entered_.load(std::memory_order_relaxed) >> kEpochBit;
        std::atomic<uint64_t>& left = left_[now ^ 1];
        if (left.load(std::memory_order_seq_cst) != drained_at_) return;
        left.store(0, std::memory_order_relaxed);
        free_list(std::exchange(draining_, nullptr));
    }
    if (retired_ == nullptr) return;
    // First the number of those that have left: if as many have entered by then, no reader was inside in between.
    const uint64_t present = entered_.load(std::memory_order_relaxed) >> kEpochBit;
    const uint64_t left = left_[present].load(std::memory_order_seq_cst);
    if ((entered_.load(std::memory_order_seq_cst) & ~(uint64_t{1} << kEpochBit)) == left) {
        return free_list(std::exchange(retired_, nullptr));
    }
    draining_ = std::exchange(retired_, nullptr);
    // From here on readers count in the other epoch, in which nobody is.
    drained_at_ =
        entered_.exchange((present ^ 1) << kEpochBit, std::memory_order_seq_cst) & ~(uint64_t{1} << kEpochBit);
}

void PrivateStore::free_list(Node* list) {
    Node* kept = nullptr;
    for (Node* n = list; n != nullptr;) {
        Node* next = n->next;
        if (n->is(Node::kPinned)) {
            n->next = kept;
            kept = n;
        } else {
            const size_t size = n->size();
            assert(bytes_ >= size);
            bytes_ -= size;
            arena_.free(n, size);
        }
        n = next;
    }
    // Pinned nodes stay to the end; they move to a list that is not walked again.
    while (kept != nullptr) {
        Node* next = kept->next;
        kept->next = pinned_;
        pinned_ = kept;
        kept = next;
    }
}

PrivateStore::Lookup PrivateStore::find(Nspace nspace, common::Rank rank, const Key& key) const noexcept {
    Lookup found = find_for_local(nspace, rank, key);
    if (!found || !found.is_behind()) [[likely]]
        return found;
    return find_for_remote(nspace, rank, key);
}

PrivateStore::Lookup PrivateStore::find_for_local(Nspace nspace, common::Rank rank, const Key& key) const noexcept {
    if (nspace == kNone) return {};
    const uint64_t tag = tag_of(nspace, rank, key.hash());
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return {};
    size_t i = Slot::home(tag, table->mask);
    for (;; i = (i + 1) & table->mask) {
        const uint64_t there = table->slots()[i].word.load(std::memory_order_acquire);
        if (there == 0) return {};
        if (Slot::may_be(there, tag)) break;
    }
    std::atomic<uint64_t>* const left = enter();
    // The table again: the slot found above may be one that puts no longer touch.
    table = table_.load(std::memory_order_seq_cst);
    for (i = Slot::home(tag, table->mask);; i = (i + 1) & table->mask) {
        const uint64_t there = table->slots()[i].word.load(std::memory_order_seq_cst);
        if (there == 0) break;
        if (!Slot::may_be(there, tag)) continue;
        Node* n = Slot::node_of(there);
        if (n->rank == rank && n->nspace == nspace && n->key() == key.name()) return {left, n};
    }
    left->fetch_add(1, std::memory_order_release);
    return {};
}

// Of each pair of slots the one for remote peers alone, once it is there, has what they see. Where an internal value
// was there the pair of what was kept for peers has what no later value has replaced.
PrivateStore::Lookup PrivateStore::find_remaining(Nspace nspace, common::Rank rank, const Key& key) const noexcept {
    Lookup own = find(nspace, rank, key);
    if (!own || !own.deleted()) return own;
    const bool internal = own.scope() == PMIX_INTERNAL;
    Lookup kept = internal || own.scope() == PMIX_LOCAL ? find_for_local(nspace | kForPeers, rank, key) : Lookup();
    if (internal && kept && kept.scope() != PMIX_REMOTE && !kept.deleted() && !kept.is_behind()) return kept;
    if (Lookup apart = find_for_local(nspace | kForRemote, rank, key)) return apart;
    if (Lookup kept_apart = kept ? find_for_local(nspace | kForPeers | kForRemote, rank, key) : Lookup())
        return kept_apart;
    if (kept && kept.scope() != PMIX_LOCAL) return kept;
    if (!internal) return own;
    return kept;
}

PrivateStore::Lookup PrivateStore::find_for_remote(Nspace nspace, common::Rank rank, const Key& key) const noexcept {
    if (nspace == kNone) return {};
    if (Lookup apart = find_for_local(nspace | kForRemote, rank, key)) return apart;
    return find_for_local(nspace, rank, key);
}

PrivateStore::Lookup::Lookup(Lookup&& o) noexcept
    : left_(std::exchange(o.left_, nullptr)), node_(std::exchange(o.node_, nullptr)) {}
PrivateStore::Lookup::~Lookup() {
    if (node_ != nullptr) left_->fetch_add(1, std::memory_order_release);
}
Bytes PrivateStore::Lookup::bytes() const noexcept {
    return node_->value();
}
pmix_scope_t PrivateStore::Lookup::scope() const noexcept {
    return node_->scope;
}
void PrivateStore::Lookup::pin() const noexcept {
    node_->flags.fetch_or(Node::kPinned, std::memory_order_release);
}
bool PrivateStore::Lookup::is_behind() const noexcept {
    return node_->is(Node::kBehind);
}

void PrivateStore::visit(Nspace nspace, common::Rank rank, bool newest, Visit fn, void* context) const {
    common::MutexLock lock(mutex_);
    const Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr) return;
    for (size_t i = 0; i <= table->mask; ++i) {
        Node* n = Slot::node_of(table->slots()[i].word.load(std::memory_order_relaxed));
        if (n == nullptr || n->nspace != nspace || n->rank != rank) continue;
        const Lookup apart = newest && n->is(Node::kBehind) ? find_for_remote(nspace, rank, Key(n->key())) : Lookup();
        if (apart) n = apart.node_;
        fn(context, n->key(), n->scope, n->value());
    }
}

size_t PrivateStore::visit_staged(VisitWhile fn, void* context, uint32_t commit) {
    common::MutexLock lock(mutex_);
    size_t told = 0;
    size_t end = 0;
    for (; end < staged_.size(); ++end) {
        Node* const n = staged_[end];
        if (n == nullptr) continue;
        if (!fn(context, n->key(), n->scope, n->value())) break;
        ++told;
    }
    for (size_t i = 0; i < end; ++i) {
        if (staged_[i] != nullptr) staged_[i]->staged = {0, commit};
    }
    staged_.erase(staged_.begin(), staged_.begin() + static_cast<ptrdiff_t>(end));
    number_staged();
    free_retired();
    return told;
}

void PrivateStore::reserve_staged(size_t size) {
    if (size <= staged_.capacity()) return;
    if (size > UINT32_MAX) throw std::bad_alloc();
    staged_.reserve(std::max(size, staged_.size() * 2 + 16));
}

void PrivateStore::stage_again(Nspace nspace, common::Rank rank, uint32_t since_commit) {
    common::MutexLock lock(mutex_);
    const Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr) return;
    std::vector<Node*> again;
    // In front of what was put since; and of one key, what remote peers alone see before what was put over it, and what
    // was kept for peers before both.
    for (const Nspace slots_of : {nspace | kForPeers | kForRemote, nspace | kForPeers, nspace | kForRemote, nspace}) {
        for (size_t i = 0; i <= table->mask; ++i) {
            Node* n = Slot::node_of(table->slots()[i].word.load(std::memory_order_relaxed));
            if (n == nullptr || n->nspace != slots_of || n->rank != rank) continue;
            if (n->staged.place != 0 || n->staged.commit == 0) continue;
            if (static_cast<int32_t>(n->staged.commit - since_commit) >= 0) again.push_back(n);
        }
    }
    reserve_staged(staged_.size() + again.size());
    staged_.insert(staged_.begin(), again.begin(), again.end());
    number_staged();
}

// Places follow from the list.
void PrivateStore::number_staged() {
    for (size_t i = 0; i < staged_.size(); ++i) {
        if (staged_[i] != nullptr) staged_[i]->staged.place = static_cast<uint32_t>(i + 1);
    }
    staged_count_.store(staged_.size(), std::memory_order_relaxed);
}

size_t PrivateStore::bytes() const noexcept {
    common::MutexLock lock(mutex_);
    return bytes_;
}

}  // namespace pmix::dstore
