#include "dstore/private_store.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace pmix::dstore {

using common::Bytes;

// Why a reader needs no lock. A slot, once filled, belongs to one (namespace, rank, key) for ever; only the node in it
// is exchanged. Tables that were outgrown are kept until the store goes (together they are smaller than the newest), so
// probing touches nothing that could be freed, and nearly every miss ends there: a slot is a node's address with 16
// bits of hash above it. One word instead of two halves the fresh pages that a client's first puts touch, and those
// pages, not the instructions, are what a put costs.
//
// Only where the 16 bits agree is a node looked at, which a put may replace at that moment. The reader first counts
// itself in, then loads the slot; the writer first exchanges it, then looks at the count, all four in one total order.
// So if the writer sees nobody, whoever comes later sees the new node, and what was replaced may be freed.
struct PrivateStore::Node {
    uint64_t tag;
    uint32_t rank;
    Nspace nspace;
    pmix_scope_t scope;
    uint16_t key_length;
    std::atomic<bool> lent;
    bool replaced;  // no slot has it any more; only the staged list does
    uint32_t value_length;
    uint32_t staged;  // place in the staged list, plus one
    Node* next;       // among the retired

    // The value's payload (6 bytes in) is aligned for whatever a caller keeps in a byte object.
    static constexpr size_t kValueAt = 42;
    uint8_t* value_bytes() noexcept { return reinterpret_cast<uint8_t*>(this) + kValueAt; }
    char* key_bytes() noexcept { return reinterpret_cast<char*>(value_bytes()) + value_length; }
    Bytes value() noexcept { return {value_bytes(), value_length}; }
    std::string_view key() noexcept { return {key_bytes(), key_length}; }
    size_t size() const noexcept { return kValueAt + value_length + key_length; }
};

// Empty, or the node and the upper 16 bits of its tag.
struct PrivateStore::Slot {
    std::atomic<uint64_t> word{0};

    static constexpr int kAddressBits = 48;  // of user space, on every machine we know without asking for more
    static constexpr uint64_t kAddress = (uint64_t{1} << kAddressBits) - 1;
    static uint64_t pack(uint64_t tag, Node* node) noexcept {
        return (tag & ~kAddress) | reinterpret_cast<uintptr_t>(node);
    }
    // Where a search begins. Small tables take it from the bits that the slot has, so that growing reads no node.
    static constexpr size_t kSmall = 1u << 11;
    static size_t home(uint64_t tag, size_t mask) noexcept { return (mask < kSmall ? tag >> kAddressBits : tag) & mask; }
    static bool may_be(uint64_t word, uint64_t tag) noexcept { return ((word ^ tag) & ~kAddress) == 0; }
    static Node* node_of(uint64_t word) noexcept { return reinterpret_cast<Node*>(word & kAddress); }
};

struct PrivateStore::Table {
    explicit Table(size_t n) : mask(n - 1), slots(new Slot[n]) {}
    const size_t mask;
    std::unique_ptr<Slot[]> slots;
    std::unique_ptr<Table> older;
};

struct PrivateStore::NspaceNode {
    NspaceNode* next;
    Nspace number;
    std::string name;
};

namespace {

uint64_t tag_of(uint32_t nspace, common::Rank rank, uint32_t hash) noexcept {
    uint64_t h = (uint64_t{rank} << 32 | hash) ^ uint64_t{nspace} * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93ull;
    h ^= h >> 32;
    return h != 0 ? h : 1;
}

}  // namespace

// What a put costs is mostly the first touch of fresh pages, and a client's first puts are on the way to its first fence.
// Touched together, before anybody waits, pages cost two thirds; freed again, they are what the allocator hands out next.
static void touch_ahead() noexcept {
#ifdef MADV_POPULATE_WRITE
    constexpr size_t kAhead = 32 * 1024;
    void* block = std::malloc(kAhead);
    if (block == nullptr) return;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t from = (reinterpret_cast<uintptr_t>(block) + page - 1) & ~(page - 1);
    const uintptr_t to = (reinterpret_cast<uintptr_t>(block) + kAhead) & ~(page - 1);
    if (to > from) ::madvise(reinterpret_cast<void*>(from), to - from, MADV_POPULATE_WRITE);
    std::free(block);
#endif
}

PrivateStore::PrivateStore() {
    static_assert(sizeof(Node) <= Node::kValueAt && (Node::kValueAt + 6) % 8 == 0);
    touch_ahead();
}

PrivateStore::~PrivateStore() {
    common::MutexLock lock(mutex_);
    // First those that only the staged list knows: it also names nodes of the table.
    for (Node* n : staged_) {
        if (n != nullptr && n->replaced) std::free(n);
    }
    Table* table = table_.load(std::memory_order_relaxed);
    if (table != nullptr) {
        for (size_t i = 0; i <= table->mask; ++i)
            std::free(Slot::node_of(table->slots[i].word.load(std::memory_order_relaxed)));
        delete table;
    }
    while (retired_ != nullptr) std::free(std::exchange(retired_, retired_->next));
    while (lent_ != nullptr) std::free(std::exchange(lent_, lent_->next));
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
    for (size_t i = Slot::home(tag, table->mask);; i = (i + 1) & table->mask) {
        Slot& slot = table->slots[i];
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
    auto table = std::make_unique<Table>(size);
    for (size_t i = 0; old != nullptr && i <= old->mask; ++i) {
        const uint64_t word = old->slots[i].word.load(std::memory_order_relaxed);
        if (word == 0) continue;
        size_t s = Slot::home(table->mask < Slot::kSmall ? word : Slot::node_of(word)->tag, table->mask);
        while (table->slots[s].word.load(std::memory_order_relaxed) != 0) s = (s + 1) & table->mask;
        table->slots[s].word.store(word, std::memory_order_relaxed);
    }
    table->older.reset(old);
    // In the same order as counting in and looking at the count: who is not seen inside finds the new table.
    table_.store(table.release(), std::memory_order_seq_cst);
}

void PrivateStore::put(Nspace nspace, common::Rank rank, const Key& key, pmix_scope_t scope, Bytes head, Bytes body) {
    const uint64_t tag = tag_of(nspace, rank, key.hash());
    const size_t length = head.size() + body.size();
    const size_t size = Node::kValueAt + length + key.name().size();
    auto* node = static_cast<Node*>(std::malloc(size));
    if (node == nullptr || (reinterpret_cast<uintptr_t>(node) & ~Slot::kAddress) != 0 || length > UINT32_MAX ||
        key.name().size() > UINT16_MAX) {
        std::free(node);
        throw std::bad_alloc();
    }
    new (node) Node{};
    node->tag = tag;
    node->rank = rank;
    node->nspace = nspace;
    node->scope = scope;
    node->key_length = static_cast<uint16_t>(key.name().size());
    node->value_length = static_cast<uint32_t>(length);
    if (!head.empty()) std::memcpy(node->value_bytes(), head.data(), head.size());
    if (!body.empty()) std::memcpy(node->value_bytes() + head.size(), body.data(), body.size());
    std::memcpy(node->key_bytes(), key.name().data(), key.name().size());

    common::MutexLock lock(mutex_);
    const bool stage = scope == PMIX_LOCAL || scope == PMIX_REMOTE || scope == PMIX_GLOBAL;
    try {
        Table* table = table_.load(std::memory_order_relaxed);
        if (table == nullptr || (used_ + 1) * 4 > (table->mask + 1) * 3) grow();
        if (stage && staged_.size() == staged_.capacity()) staged_.reserve(staged_.size() * 2 + 16);
    } catch (...) {
        std::free(node);
        throw;
    }
    bytes_ += size;
    Slot* slot = probe(tag, nspace, rank, key);
    const uint64_t before = slot->word.load(std::memory_order_relaxed);
    slot->word.store(Slot::pack(tag, node), std::memory_order_seq_cst);
    if (before == 0) {
        ++used_;
    } else {
        Node* old = Slot::node_of(before);
        if (old->staged != 0 && other_audience(old->scope, scope)) {
            old->replaced = true;
        } else {
            if (old->staged != 0) {
                staged_[old->staged - 1] = stage ? node : nullptr;
                if (stage) node->staged = old->staged;
            }
            retire(old);
        }
    }
    if (stage && node->staged == 0) {
        staged_.push_back(node);
        node->staged = static_cast<uint32_t>(staged_.size());
    }
    staged_count_.store(staged_.size(), std::memory_order_relaxed);
    free_retired();
}

void PrivateStore::retire(Node* node) {
    node->next = retired_;
    retired_ = node;
}

void PrivateStore::free_retired() {
    if (retired_ == nullptr || readers_.load(std::memory_order_seq_cst) != 0) return;
    Node* kept = nullptr;
    for (Node* n = std::exchange(retired_, nullptr); n != nullptr;) {
        Node* next = n->next;
        if (n->lent.load(std::memory_order_acquire)) {
            n->next = kept;
            kept = n;
        } else {
            bytes_ -= n->size();
            std::free(n);
        }
        n = next;
    }
    // Lent nodes stay to the end; they move to a list that is not walked again.
    while (kept != nullptr) {
        Node* next = kept->next;
        kept->next = lent_;
        lent_ = kept;
        kept = next;
    }
}

PrivateStore::Lookup PrivateStore::find(Nspace nspace, common::Rank rank, const Key& key) const noexcept {
    if (nspace == kNone) return {};
    const uint64_t tag = tag_of(nspace, rank, key.hash());
    const Table* table = table_.load(std::memory_order_acquire);
    if (table == nullptr) return {};
    size_t i = Slot::home(tag, table->mask);
    for (;; i = (i + 1) & table->mask) {
        const uint64_t there = table->slots[i].word.load(std::memory_order_acquire);
        if (there == 0) return {};
        if (Slot::may_be(there, tag)) break;
    }
    readers_.fetch_add(1, std::memory_order_seq_cst);
    // The table again: the slot found above may be one that puts no longer touch.
    table = table_.load(std::memory_order_seq_cst);
    for (i = Slot::home(tag, table->mask);; i = (i + 1) & table->mask) {
        const uint64_t there = table->slots[i].word.load(std::memory_order_seq_cst);
        if (there == 0) break;
        if (!Slot::may_be(there, tag)) continue;
        Node* n = Slot::node_of(there);
        if (n->rank == rank && n->nspace == nspace && n->key() == key.name()) return {this, n};
    }
    readers_.fetch_sub(1, std::memory_order_release);
    return {};
}

PrivateStore::Lookup::Lookup(Lookup&& o) noexcept
    : store_(std::exchange(o.store_, nullptr)), node_(std::exchange(o.node_, nullptr)) {}
PrivateStore::Lookup::~Lookup() {
    if (node_ != nullptr) store_->readers_.fetch_sub(1, std::memory_order_release);
}
Bytes PrivateStore::Lookup::bytes() const noexcept { return node_->value(); }
pmix_scope_t PrivateStore::Lookup::scope() const noexcept { return node_->scope; }
void PrivateStore::Lookup::lend() const noexcept { node_->lent.store(true, std::memory_order_release); }

void PrivateStore::visit(Nspace nspace, common::Rank rank, Visit fn, void* context) const {
    common::MutexLock lock(mutex_);
    const Table* table = table_.load(std::memory_order_relaxed);
    if (table == nullptr) return;
    for (size_t i = 0; i <= table->mask; ++i) {
        Node* n = Slot::node_of(table->slots[i].word.load(std::memory_order_relaxed));
        if (n != nullptr && n->nspace == nspace && n->rank == rank) fn(context, n->key(), n->scope, n->value());
    }
}

size_t PrivateStore::visit_staged(Visit fn, void* context) {
    common::MutexLock lock(mutex_);
    size_t told = 0;
    for (Node* n : staged_) {
        if (n == nullptr) continue;
        fn(context, n->key(), n->scope, n->value());
        ++told;
    }
    for (Node* n : staged_) {
        if (n == nullptr) continue;
        n->staged = 0;
        if (n->replaced) retire(n);
    }
    staged_.clear();
    staged_count_.store(0, std::memory_order_relaxed);
    free_retired();
    return told;
}

size_t PrivateStore::bytes() const noexcept {
    common::MutexLock lock(mutex_);
    return bytes_;
}

}  // namespace pmix::dstore
