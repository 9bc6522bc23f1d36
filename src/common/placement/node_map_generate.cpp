// SPDX-License-Identifier: BSD-3-Clause
// Writing maps: the shorter of "pmix[...]" and "raw:...".
//
// OpenPMIx's own compressed form is read (node_map_parse.cpp) but never written: 4.2 cannot read it, its generator
// costs more than everything else in registering a large job, and ranges are smaller for all but scattered maps.
#include <charconv>
#include <memory>
#include <optional>

#include "common/placement/node_map_text.h"

namespace pmix::common {
namespace {

using namespace map_text;

void append_number(std::string& text, uint64_t number) {
    char digits[20];
    text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

// Names that differ in one number of the same width, as prefix[width:numbers]suffix.
struct Pattern {
    std::string_view prefix;
    std::string_view suffix;
    size_t width = 0;

    // The number of a name that fits.
    std::optional<uint64_t> number_in(std::string_view name) const noexcept {
        if (name.size() != prefix.size() + width + suffix.size()) return std::nullopt;
        if (!name.starts_with(prefix) || !name.ends_with(suffix)) return std::nullopt;
        uint64_t number = 0;
        for (char c : name.substr(prefix.size(), width)) {
            if (!is_digit(c)) return std::nullopt;
            number = number * 10 + static_cast<uint64_t>(c - '0');
        }
        return number;
    }
};

// 18 digits fit every reader's integer.
constexpr size_t kMaxDigits = 18;

// The pattern that holds both names: the digits around the only place where they differ.
std::optional<Pattern> common_pattern(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return std::nullopt;
    size_t at = 0;
    while (at < a.size() && a[at] == b[at]) ++at;
    if (at == a.size()) {  // the same name twice: any number will do, the last is usual
        while (at > 0 && !is_digit(a[at - 1])) --at;
        if (at-- == 0) return std::nullopt;
    }
    if (!is_digit(a[at]) || !is_digit(b[at])) return std::nullopt;
    size_t low = at;
    size_t high = at;
    while (low > 0 && is_digit(a[low - 1])) --low;
    while (high < a.size() && is_digit(a[high])) ++high;
    if (high - low > kMaxDigits) return std::nullopt;
    Pattern pattern{a.substr(0, low), a.substr(high), high - low};
    if (!pattern.number_in(b)) return std::nullopt;
    return pattern;
}

// Appends names[i] and those after it that share its pattern; returns the index behind them.
template <class Names>
size_t append_group(std::string& text, const Names& names, size_t i) {
    const std::string_view name = names[i];
    std::optional<Pattern> pattern;
    if (i + 1 < names.size()) pattern = common_pattern(name, names[i + 1]);
    if (!pattern) {
        text.append(name);
        return i + 1;
    }
    const size_t begin = text.size();
    text.append(pattern->prefix).push_back('[');
    append_number(text, pattern->width);
    text.push_back(':');
    uint64_t first = *pattern->number_in(name);
    uint64_t last = first;
    size_t plain = name.size();
    auto append_range = [&] {
        append_number(text, first);
        if (last == first) return;
        text.push_back('-');
        append_number(text, last);
    };
    size_t next = i + 1;
    for (; next < names.size(); ++next) {
        const std::optional<uint64_t> number = pattern->number_in(names[next]);
        if (!number) break;
        plain += pattern->prefix.size() + pattern->width + pattern->suffix.size() + 1;
        if (*number == last + 1) {
            last = *number;
            continue;
        }
        append_range();
        text.push_back(',');
        first = last = *number;
    }
    append_range();
    text.append("]").append(pattern->suffix);
    if (text.size() - begin > plain) {
        text.resize(begin);
        for (size_t k = i; k < next; ++k) text.append(k == i ? "" : ",").append(names[k]);
    }
    return next;
}

template <class Names>
std::string write_nodes(const Names& names) {
    size_t raw = 4;
    bool brackets = false;
    for (std::string_view name : names) {
        raw += name.size() + 1;
        for (const char c : name) brackets |= c == '[' || c == ']';
    }
    --raw;
    if (!brackets) {  // names with brackets of their own cannot be told from patterns
        std::string text = "pmix[";
        for (size_t i = 0; i < names.size();) {
            if (i != 0) text.push_back(',');
            i = append_group(text, names, i);
        }
        text.push_back(']');
        if (text.size() <= raw) return text;
    }
    std::string text = "raw:";
    text.reserve(raw);
    for (size_t i = 0; i < names.size(); ++i) text.append(i == 0 ? "" : ",").append(names[i]);
    return text;
}

// A process map as text, run by run. A million runs are a million numbers, so they are written into space that has been
// reserved before instead of being appended one by one.
class RankWriter {
  public:
    bool run(uint32_t first, uint32_t count) {
        if (left() < kMaxRun) grow();
        if (!node_empty_) *next_++ = ',';
        node_empty_ = false;
        any_ = true;
        next_ = std::to_chars(next_, end_, first).ptr;
        if (count > 1) {
            *next_++ = '-';
            next_ = std::to_chars(next_, end_, first + count - 1).ptr;
            pairs_ = true;
            long_runs_ = long_runs_ || count > 2;
        }
        return true;
    }
    bool end_node() {
        if (left() < kMaxRun) grow();
        *next_++ = ';';
        node_empty_ = true;
        return true;
    }
    bool any() const noexcept { return any_; }

    // A run of three or more pays for the longer frame; a run of two is as long with a comma as with a dash.
    std::string take() {
        --next_;  // the last ';'
        const std::string_view inside{buffer_.get(), static_cast<size_t>(next_ - buffer_.get())};
        if (!long_runs_ && pairs_) std::replace(buffer_.get(), next_, '-', ',');
        std::string text;
        text.reserve(inside.size() + 6);
        text.append(long_runs_ ? "pmix[" : "raw:").append(inside).append(long_runs_ ? "]" : "");
        return text;
    }

  private:
    static constexpr size_t kMaxRun = 32;  // two numbers and their separators

    size_t left() const noexcept { return static_cast<size_t>(end_ - next_); }
    void grow() {
        const auto used = static_cast<size_t>(next_ - buffer_.get());
        const size_t size = std::max<size_t>(4096, used * 2);
        auto bigger = std::make_unique_for_overwrite<char[]>(size);
        std::copy_n(buffer_.get(), used, bigger.get());
        buffer_ = std::move(bigger);
        next_ = buffer_.get() + used;
        end_ = buffer_.get() + size;
    }

    std::unique_ptr<char[]> buffer_;
    char* next_ = nullptr;
    char* end_ = nullptr;
    bool node_empty_ = true;
    bool pairs_ = false;
    bool long_runs_ = false;
    bool any_ = false;
};

}  // namespace

std::string generate_node_map(std::span<const std::string> nodes) {
    return write_nodes(nodes);
}

Result<std::string> generate_node_map(std::string_view list) {
    Result<std::vector<std::string>> nodes = parse_node_map(list);
    if (!nodes) return nodes.status();
    return write_nodes(*nodes);
}

Result<std::string> generate_proc_map(std::string_view list) {
    Result<Unwrapped> unwrapped = unwrap(as_bytes(list));
    if (!unwrapped) return unwrapped.status();
    RankWriter writer;
    if (scan_ranks(unwrapped->text, writer) != Scan::done || !writer.any()) return PMIX_ERR_BAD_PARAM;
    std::string made = writer.take();
    // What no job can be registered with (a rank of two nodes) is none.
    if (const auto read = parse_proc_map(as_bytes(made)); !read.ok()) return read.status();
    return made;
}

std::string generate_proc_map(const ProcMap& procs) {
    if (procs.nnodes() == 0) return {};
    RankWriter writer;
    for (uint32_t node = 0; node < procs.nnodes(); ++node) {
        uint32_t first = 0;
        uint32_t count = 0;
        procs.for_each_on(node, [&](Rank rank) {
            if (count != 0 && rank == first + count) {
                ++count;
                return;
            }
            if (count != 0) writer.run(first, count);
            first = rank;
            count = 1;
        });
        if (count != 0) writer.run(first, count);
        writer.end_node();
    }
    return writer.take();
}

}  // namespace pmix::common
