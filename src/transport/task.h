// SPDX-License-Identifier: BSD-3-Clause
// Task: a move-only void() that keeps small closures in itself. std::function copies; the loop's queue must not.
//
// Owned by its holder; runs only where its holder runs it. A closure that fits (48 bytes, nothrow move)
// costs no allocation.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace pmix::transport {

class Task {
  public:
    Task() noexcept = default;
    template <class F, class D = std::decay_t<F>>
    requires(!std::is_same_v<D, Task> && std::is_invocable_v<D&>) Task(F&& f) {  // not explicit: a lambda is a task
        if constexpr (kFits<D>) {
            ::new (static_cast<void*>(storage_)) D(std::forward<F>(f));
            ops_ = &kInlineOps<D>;
        } else {
            *reinterpret_cast<D**>(storage_) = new D(std::forward<F>(f));
            ops_ = &kHeapOps<D>;
        }
    }
    Task(Task&& other) noexcept { take(other); }
    Task& operator=(Task&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~Task() { reset(); }

    explicit operator bool() const noexcept { return ops_ != nullptr; }
    void operator()() { ops_->call(storage_); }
    void reset() noexcept {
        if (ops_ != nullptr) std::exchange(ops_, nullptr)->destroy(storage_);
    }

  private:
    static constexpr size_t kInlineSize = 48;
    struct Ops {
        void (*call)(void*);
        void (*move)(void* from, void* to) noexcept;  // leaves nothing behind in from
        void (*destroy)(void*) noexcept;
    };
    template <class D>
    static constexpr bool kFits = sizeof(D) <= kInlineSize &&
                                  alignof(D) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<D>;
    template <class D>
    static constexpr Ops kInlineOps{[](void* p) { (*static_cast<D*>(p))(); },
                                    [](void* from, void* to) noexcept {
                                        ::new (to) D(std::move(*static_cast<D*>(from)));
                                        static_cast<D*>(from)->~D();
                                    },
                                    [](void* p) noexcept { static_cast<D*>(p)->~D(); }};
    template <class D>
    static constexpr Ops kHeapOps{
        [](void* p) { (**static_cast<D**>(p))(); },
        [](void* from, void* to) noexcept { *static_cast<D**>(to) = *static_cast<D**>(from); },
        [](void* p) noexcept { delete *static_cast<D**>(p); }};

    void take(Task& other) noexcept {
        if (other.ops_ == nullptr) return;
        other.ops_->move(other.storage_, storage_);
        ops_ = std::exchange(other.ops_, nullptr);
    }

    alignas(std::max_align_t) unsigned char storage_[kInlineSize];
    const Ops* ops_ = nullptr;
};

}  // namespace pmix::transport
