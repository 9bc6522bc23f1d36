// SPDX-License-Identifier: BSD-3-Clause
// Reading maps: regex_size, the wrappings, node lists, process maps.
//
// What OpenPMIx 4.2 to 6.1 writes, found by running it and by looking at what it accepts:
//   pmix[n[3:1-64,70],gpu[1:1-4]x]   names with ranges: prefix, width, numbers, suffix (also for ranks: pmix[0-3;4-7])
//   raw:a,b,c                        the list itself
//   blob:\0component=zlib:\0size=N:\0...  N bytes: the text's length in 4 bytes, then a stream of the list: zlib,
//                                    from 7.0 on also zstd or lz4, in spite of the label
// and anything else that a host passes is the list itself.
#include <cstring>

#include "common/base/decompress.h"
#include "common/placement/node_map_text.h"

namespace pmix::common {
namespace {

using namespace map_text;

constexpr std::string_view kBlobTag{"blob:\0", 6};
constexpr std::string_view kBlobComponent{"component=zlib:\0", 16};
constexpr std::string_view kBlobSize{"size="};
constexpr size_t kBlobSizeDigits = 20;
// Inside the blob, before the zlib stream.
constexpr size_t kBlobPrefix = kCompressedPrefix;

// Where the payload of a blob starts and how long it is, reading byte by byte through `at(i)`, which answers -1 where
// there is nothing more to read. Stops at the first byte that does not fit, so that a text is never read past its NUL
// unless all before it was the tag of a blob.
template <class At>
bool blob_header(At&& at, size_t& payload, size_t& size) {
    size_t i = 0;
    for (std::string_view part : {kBlobTag, kBlobComponent, kBlobSize}) {
        for (char c : part) {
            if (at(i++) != static_cast<unsigned char>(c)) return false;
        }
    }
    size = 0;
    const size_t digits = i;
    for (int c = at(i); c >= '0' && c <= '9'; c = at(++i)) {
        if (i - digits == kBlobSizeDigits) return false;
        size = size * 10 + static_cast<size_t>(c - '0');
        if (size > kMaxMapText) return false;
    }
    if (i == digits || at(i) != ':' || at(i + 1) != 0) return false;
    payload = i + 2;
    return true;
}

bool blob_header(Bytes bytes, size_t& payload, size_t& size) {
    return blob_header([&](size_t i) { return i < bytes.size() ? int{bytes[i]} : -1; }, payload, size) &&
           size <= bytes.size() - payload;
}

std::string_view as_text(Bytes b) noexcept {
    return {reinterpret_cast<const char*>(b.data()), b.size()};
}

}  // namespace

size_t regex_size(const char* regex) noexcept {
    if (regex == nullptr) return 0;
    size_t payload = 0;
    size_t size = 0;
    const auto* bytes = reinterpret_cast<const uint8_t*>(regex);
    if (blob_header([&](size_t i) { return int{bytes[i]}; }, payload, size)) return payload + size;
    return std::strlen(regex) + 1;
}

size_t regex_size(Bytes bytes) noexcept {
    size_t payload = 0;
    size_t size = 0;
    if (blob_header(bytes, payload, size)) return payload + size;
    if (as_text(bytes).starts_with(kBlobTag)) return 0;
    const void* nul = bytes.empty() ? nullptr : std::memchr(bytes.data(), 0, bytes.size());
    return nul == nullptr ? 0 : static_cast<size_t>(static_cast<const uint8_t*>(nul) - bytes.data()) + 1;
}

namespace map_text {

Result<Unwrapped> unwrap(Bytes map) {
    if (map.size() > kMaxMapText) return PMIX_ERR_BAD_PARAM;
    Unwrapped out;
    if (as_text(map).starts_with(kBlobTag)) {
        size_t payload = 0;
        size_t size = 0;
        if (!blob_header(map, payload, size) || size < kBlobPrefix) return PMIX_ERR_BAD_PARAM;
        const Bytes stream = map.subspan(payload + kBlobPrefix, size - kBlobPrefix);
        // The length is in the sender's byte order, so it is a hint and never more: the stream has its own checksum.
        auto text = decompress_bounded(stream, kMaxMapText, load_le<uint32_t>(map.data() + payload));
        if (!text) return text.status() == PMIX_ERR_NOT_SUPPORTED ? text.status() : PMIX_ERR_BAD_PARAM;
        out.inflated = std::move(*text);
        out.text = as_text(out.inflated);
    } else {
        out.text = as_text(map);
    }
    while (!out.text.empty() && out.text.back() == '\0') out.text.remove_suffix(1);
    // A NUL after "raw:" or "pmix:" is what descriptions of the format suggest, though no host was seen to write it.
    const auto take = [&](std::string_view tag) {
        if (!out.text.starts_with(tag)) return false;
        out.text.remove_prefix(tag.size());
        if (out.text.starts_with('\0')) out.text.remove_prefix(1);
        return true;
    };
    if (!take("raw:")) {  // behind that tag everything is a name, whatever it looks like
        take("pmix:");
        if (out.text.starts_with("pmix[")) {
            if (out.text.back() != ']') return PMIX_ERR_BAD_PARAM;
            out.text.remove_prefix(5);
            out.text.remove_suffix(1);
            out.native = true;
        }
    }
    if (out.text.find('\0') != std::string_view::npos) return PMIX_ERR_BAD_PARAM;
    return out;
}

}  // namespace map_text

namespace {

// Longer than any host name; a wider number field only makes memory.
constexpr size_t kMaxNodeName = 4096;
constexpr uint64_t kMaxNumberWidth = 256;
constexpr uint64_t kMaxNodeNumber = 1'000'000'000'000'000'000;

class NodeList {
  public:
    bool add(std::string_view name) {
        if (name.empty()) return true;
        if (!charge(name.size())) return false;
        names.emplace_back(name);
        return true;
    }

    // One item of "pmix[...]": a name, or prefix[width:number,number-number]suffix.
    bool add_native(std::string_view prefix, std::string_view brackets, std::string_view suffix) {
        const char* p = brackets.data();
        const char* const end = p + brackets.size();
        uint64_t width = 0;
        if (!read_number(p, end, kMaxNumberWidth, width) || p == end || *p++ != ':' || p == end) return false;
        while (!prefix.empty() && is_space(prefix.front())) prefix.remove_prefix(1);
        while (!suffix.empty() && is_space(suffix.back())) suffix.remove_suffix(1);
        std::string name{prefix};
        for (;;) {
            uint64_t low = 0;
            if (!read_number(p, end, kMaxNodeNumber, low)) return false;
            uint64_t high = low;
            if (p != end && *p == '-' && (!read_number(++p, end, kMaxNodeNumber, high) || high < low)) return false;
            if (high - low >= kMaxMapNodes) return false;
            for (uint64_t number = low; number <= high; ++number) {
                name.resize(prefix.size());
                append_padded(name, number, width);
                name.append(suffix);
                if (!charge(name.size())) return false;
                names.push_back(name);
            }
            if (p == end) return true;
            if (*p++ != ',') return false;
        }
    }

    std::vector<std::string> names;

  private:
    bool charge(size_t size) noexcept {
        text_ += size;
        return size <= kMaxNodeName && text_ <= kMaxMapText && names.size() < kMaxMapNodes;
    }

    static void append_padded(std::string& name, uint64_t number, uint64_t width) {
        char digits[20];
        char* p = digits + sizeof digits;
        do {
            *--p = static_cast<char>('0' + number % 10);
            number /= 10;
        } while (number != 0);
        const auto length = static_cast<size_t>(digits + sizeof digits - p);
        if (length < width) name.append(width - length, '0');
        name.append(p, length);
    }

    size_t text_ = 0;
};

// Tries the forms that need no table, so that a regular job of a million ranks costs its text and nothing more.
class ClosedForms {
  public:
    explicit ClosedForms(uint32_t nnodes) : nnodes_(nnodes) { starts_.reserve(size_t{nnodes} + 1); }

    bool run(uint32_t first, uint32_t count) {
        const uint64_t total = uint64_t{starts_.back()} + on_node_;
        contiguous_ = contiguous_ && first == total;
        if (regular_) {
            if (block_ == 0) block_ = count;
            // Where a regular map has the on_node_-th rank of this node; only its last run may be shorter than a block.
            const uint64_t expected = uint64_t{on_node_} * nnodes_ + uint64_t{node_} * block_;
            regular_ = on_node_ % block_ == 0 && count <= block_ && first == expected;
        }
        on_node_ += count;
        return (regular_ || contiguous_) && total + count <= kMaxMapRanks;
    }

    bool end_node() {
        starts_.push_back(starts_.back() + on_node_);
        on_node_ = 0;
        ++node_;
        regular_ = regular_ && block_ != 0;  // an empty first node
        return regular_ || contiguous_;
    }

    // Nothing when neither form holds the map.
    Result<ProcMap> take() {
        if (contiguous_) return ProcMap::from_starts(std::move(starts_));
        const uint32_t nranks = starts_.back();
        Result<ProcMap> map = ProcMap::make_regular(nnodes_, nranks, block_);
        if (!map) return map.status();
        for (uint32_t node = 0; node < nnodes_; ++node) {
            if (map->count_on(node) != starts_[node + 1] - starts_[node]) return PMIX_ERR_NOT_FOUND;
        }
        return map;
    }

  private:
    const uint32_t nnodes_;
    std::vector<uint32_t> starts_{0};
    uint32_t node_ = 0;
    uint32_t on_node_ = 0;
    uint32_t block_ = 0;
    bool regular_ = true;
    bool contiguous_ = true;
};

// Any map: the node of each rank, by rank.
class RankTable {
  public:
    bool run(uint32_t first, uint32_t count) {
        if (uint64_t{first} + count > node_of_rank.size()) node_of_rank.resize(uint64_t{first} + count, kNoNode);
        for (uint32_t rank = first; rank < first + count; ++rank) {
            if (node_of_rank[rank] != kNoNode) return false;  // on two nodes, or twice on one
            node_of_rank[rank] = nnodes;
        }
        return true;
    }
    bool end_node() noexcept { return ++nnodes != 0; }

    std::vector<uint32_t> node_of_rank;
    uint32_t nnodes = 0;
};

}  // namespace

Result<std::vector<std::string>> parse_node_map(Bytes map) {
    Result<Unwrapped> unwrapped = unwrap(map);
    if (!unwrapped) return unwrapped.status();
    std::string_view text = unwrapped->text;
    NodeList list;
    while (!text.empty()) {
        const size_t stop = text.find_first_of(unwrapped->native ? ",[" : ",");
        if (stop == std::string_view::npos || text[stop] == ',') {
            if (!list.add(trim(text.substr(0, stop)))) return PMIX_ERR_BAD_PARAM;
            text.remove_prefix(stop == std::string_view::npos ? text.size() : stop + 1);
            continue;
        }
        const size_t close = text.find(']', stop);
        if (close == std::string_view::npos) return PMIX_ERR_BAD_PARAM;
        const size_t next = std::min(text.find(',', close), text.size());
        if (!list.add_native(text.substr(0, stop), text.substr(stop + 1, close - stop - 1),
                             text.substr(close + 1, next - close - 1))) {
            return PMIX_ERR_BAD_PARAM;
        }
        text.remove_prefix(std::min(next + 1, text.size()));
    }
    if (list.names.empty()) return PMIX_ERR_BAD_PARAM;
    return std::move(list.names);
}

Result<ProcMap> parse_proc_map(Bytes map) {
    Result<Unwrapped> unwrapped = unwrap(map);
    if (!unwrapped) return unwrapped.status();
    const std::string_view text = unwrapped->text;
    const auto nnodes = static_cast<size_t>(std::count(text.begin(), text.end(), ';')) + 1;
    if (nnodes > kMaxMapNodes) return PMIX_ERR_BAD_PARAM;
    {
        ClosedForms closed(static_cast<uint32_t>(nnodes));
        const Scan scan = scan_ranks(text, closed);
        if (scan == Scan::malformed) return PMIX_ERR_BAD_PARAM;
        if (scan == Scan::done) {
            Result<ProcMap> found = closed.take();
            if (found || found.status() != PMIX_ERR_NOT_FOUND) return found;
        }
    }
    RankTable table;
    if (scan_ranks(text, table) != Scan::done) return PMIX_ERR_BAD_PARAM;
    return ProcMap::from_node_index(table.nnodes, std::move(table.node_of_rank));
}

}  // namespace pmix::common
