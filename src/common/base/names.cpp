// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/names.h"

#include <pmix_common.h>
#include <pmix_deprecated.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace pmix::common {
namespace {

struct Texts {
#define CONSTANT(group, name) char name##_[sizeof(#name)];
#include "common/base/names.def"
#undef CONSTANT
};

constexpr Texts kTexts = {
#define CONSTANT(group, name) #name,
#include "common/base/names.def"
#undef CONSTANT
};
static_assert(sizeof(Texts) <= 0xffff, "offsets are 16 bits");

struct Row {
    int64_t value;
    uint16_t name;
    Names group;
};

constexpr bool before(const Row& a, const Row& b) {
    return a.group != b.group ? a.group < b.group : a.value < b.value;
}

constexpr Row kWritten[] = {
#define CONSTANT(group, name) {static_cast<int64_t>(name), offsetof(Texts, name##_), Names::group},
#include "common/base/names.def"
#undef CONSTANT
};

// By group and value; rows of one value stay in the order of names.def (an insertion sort is stable, and constexpr).
constexpr std::array<Row, std::size(kWritten)> sorted() {
    std::array<Row, std::size(kWritten)> rows{};
    for (size_t i = 0; i < rows.size(); ++i) {
        size_t k = i;
        for (; k > 0 && before(kWritten[i], rows[k - 1]); --k) rows[k] = rows[k - 1];
        rows[k] = kWritten[i];
    }
    return rows;
}
constexpr auto kRows = sorted();

const char* text(const Row& row) noexcept {
    return reinterpret_cast<const char*>(&kTexts) + row.name;
}

class Text {
  public:
    Text(char* out, size_t size) noexcept : out_(out), size_(size) {}
    void add(std::string_view s) noexcept {
        for (char c : s) {
            if (used_ + 1 < size_) out_[used_] = c;
            ++used_;
        }
    }
    size_t finish() noexcept {
        if (size_ != 0) out_[std::min(used_, size_ - 1)] = '\0';
        return used_;
    }
    bool empty() const noexcept { return used_ == 0; }

  private:
    char* out_;
    size_t size_;
    size_t used_ = 0;
};

}  // namespace

const char* constant_name(Names group, int64_t value) noexcept {
    const Row wanted{value, 0, group};
    auto row = std::lower_bound(kRows.begin(), kRows.end(), wanted, before);
    if (row == kRows.end() || row->group != group || row->value != value) return nullptr;
    return text(*row);
}

bool constant_value(Names group, std::string_view name, int64_t* out) noexcept {
    for (const Row& row : kRows) {
        if (row.group != group) continue;
        const char* own = text(row);
        if (std::strlen(own) == name.size() && strncasecmp(own, name.data(), name.size()) == 0) {
            *out = row.value;
            return true;
        }
    }
    return false;
}

size_t describe_bits(Names group, uint64_t mask, char* out, size_t size) noexcept {
    Text t(out, size);
    uint64_t left = mask;
    for (const Row& row : kRows) {
        auto bit = static_cast<uint64_t>(row.value);
        bool single = bit != 0 && (bit & (bit - 1)) == 0;
        if (row.group != group || !single || (left & bit) == 0) continue;
        if (!t.empty()) t.add("|");
        t.add(text(row));
        left &= ~bit;
    }
    if (left != 0) {
        char hex[24];
        int n = std::snprintf(hex, sizeof hex, "0x%llx", static_cast<unsigned long long>(left));
        if (!t.empty()) t.add("|");
        t.add({hex, static_cast<size_t>(n)});
    }
    if (t.empty()) {
        const char* zero = constant_name(group, 0);
        t.add(zero == nullptr ? "NONE" : zero);
    }
    return t.finish();
}

}  // namespace pmix::common
