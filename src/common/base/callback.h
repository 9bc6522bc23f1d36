// SPDX-License-Identifier: BSD-3-Clause
// Callback: a move-only function object that keeps small closures in itself. std::function copies what it holds, and a
// closure that owns a reply, a descriptor or a buffer cannot be copied.
//
// Owned by its holder, who decides on which thread it runs; no thread of its own. A closure that fits (48 bytes,
// nothrow move) costs no allocation. Calling an empty one does nothing.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace pmix::common {

template <class Signature>
class Callback;

template <class... Args>
class Callback<void(Args...)> {
  public:
    Callback() noexcept = default;
    Callback(std::nullptr_t) noexcept {}
    template <class F, class D = std::decay_t<F>>
    requires(!std::is_same_v<D, Callback> && std::is_invocable_v<D&, Args...>)
        Callback(F&& f) {  // not explicit: a lambda is a function
        if constexpr (kFits<D>) {
            ::new (static_cast<void*>(storage_)) D(std::forward<F>(f));
            ops_ = &kInlineOps<D>;
        } else {
            *reinterpret_cast<D**>(storage_) = new D(std::forward<F>(f));
            ops_ = &kHeapOps<D>;
        }
    }
    Callback(Callback&& other) noexcept { take(other); }
    Callback& operator=(Callback&& other) noexcept {
        if (this != &other) {
            reset();
            take(other);
        }
        return *this;
    }
    ~Callback() { reset(); }

    explicit operator bool() const noexcept { return ops_ != nullptr; }
    void operator()(Args... args) {
        if (ops_ != nullptr) ops_->call(storage_, std::forward<Args>(args)...);
    }
    void reset() noexcept {
        if (ops_ != nullptr) std::exchange(ops_, nullptr)->destroy(storage_);
    }

  private:
    static constexpr size_t kInlineSize = 48;
    struct Ops {
        void (*call)(void*, Args&&...);
        void (*move)(void* from, void* to) noexcept;  // leaves nothing behind in from
        void (*destroy)(void*) noexcept;
    };
    template <class D>
    static constexpr bool kFits = sizeof(D) <= kInlineSize &&
                                  alignof(D) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<D>;
    template <class D>
    static constexpr Ops kInlineOps{[](void* p, Args&&... args) { (*static_cast<D*>(p))(std::forward<Args>(args)...); },
                                    [](void* from, void* to) noexcept {
                                        ::new (to) D(std::move(*static_cast<D*>(from)));
                                        static_cast<D*>(from)->~D();
                                    },
                                    [](void* p) noexcept { static_cast<D*>(p)->~D(); }};
    template <class D>
    static constexpr Ops kHeapOps{
        [](void* p, Args&&... args) { (**static_cast<D**>(p))(std::forward<Args>(args)...); },
        [](void* from, void* to) noexcept { *static_cast<D**>(to) = *static_cast<D**>(from); },
        [](void* p) noexcept { delete *static_cast<D**>(p); }};

    void take(Callback& other) noexcept {
        if (other.ops_ == nullptr) return;
        other.ops_->move(other.storage_, storage_);
        ops_ = std::exchange(other.ops_, nullptr);
    }

    alignas(std::max_align_t) unsigned char storage_[kInlineSize];
    const Ops* ops_ = nullptr;
};

}  // namespace pmix::common
