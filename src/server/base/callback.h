// SPDX-License-Identifier: BSD-3-Clause
// A move-only function object: completions own a Reply, which cannot be copied, so std::function does not do.
//
// Owned by its holder; no thread of its own. Calling an empty one does nothing.
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

namespace pmix::server {

template <class Signature>
class Callback;

template <class... Args>
class Callback<void(Args...)> {
  public:
    Callback() noexcept = default;
    Callback(std::nullptr_t) noexcept {}
    template <class F>
    requires(!std::is_same_v<std::decay_t<F>, Callback> && std::is_invocable_v<std::decay_t<F>&, Args...>)
        Callback(F&& f)
        : held_(std::make_unique<Held<std::decay_t<F>>>(std::forward<F>(f))) {}

    explicit operator bool() const noexcept { return held_ != nullptr; }
    void operator()(Args... args) {
        if (held_) held_->call(std::forward<Args>(args)...);
    }
    void reset() noexcept { held_.reset(); }

  private:
    struct Base {
        virtual ~Base() = default;
        virtual void call(Args... args) = 0;
    };
    template <class F>
    struct Held final : Base {
        template <class G>
        explicit Held(G&& g) : f(std::forward<G>(g)) {}
        void call(Args... args) override { f(std::forward<Args>(args)...); }
        F f;
    };
    std::unique_ptr<Base> held_;
};

}  // namespace pmix::server
