// SPDX-License-Identifier: BSD-3-Clause
// What stands between the commas of a text, from front to back; where nothing stands there is nothing.
//
// A view: the text belongs to the caller and outlives it. Any thread. Nothing can go wrong; who has to refuse an empty
// place ("a,,b") reads the text itself.
#pragma once

#include <string_view>

namespace pmix::common {

class CommaList {
  public:
    explicit constexpr CommaList(std::string_view text) noexcept : text_(text) {}

    struct End {};
    class Iterator {
      public:
        explicit constexpr Iterator(std::string_view left) noexcept : left_(left) { ++*this; }
        constexpr std::string_view operator*() const noexcept { return item_; }
        constexpr Iterator& operator++() noexcept {
            item_ = {};
            while (item_.empty() && !left_.empty()) {
                const size_t comma = left_.find(',');
                item_ = left_.substr(0, comma);
                left_ = comma == left_.npos ? std::string_view() : left_.substr(comma + 1);
            }
            return *this;
        }
        constexpr bool operator==(End) const noexcept { return item_.empty(); }
        // The text behind the item and its comma.
        constexpr std::string_view left() const noexcept { return left_; }

      private:
        std::string_view item_, left_;
    };
    constexpr Iterator begin() const noexcept { return Iterator(text_); }
    constexpr End end() const noexcept { return {}; }

  private:
    std::string_view text_;
};

}  // namespace pmix::common
