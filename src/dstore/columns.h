// SPDX-License-Identifier: BSD-3-Clause
// Facts that are known for every rank (or every node): one column per key, not one record per rank.
//
// ColumnBuilder takes values in any order of ranks and finds the cheapest column that holds them: one value for all,
// index + c, an array of the narrowest width, an array of numbers of distinct values, or a function of the placement
// that is named here and costs nothing. Placement is where the processes run. Both are input to Writer, used by one
// thread. What can go wrong: memory (std::bad_alloc).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/placement/node_map.h"
#include "dstore/store.h"

namespace pmix::dstore {

// What can be computed from the placement. For a rank: its node, local rank, host and app. For a node: its name, id,
// number of ranks, lowest rank, and its ranks as text ("0,1,2").
enum class Computed : uint8_t {
    rank = 1,          // the rank itself
    node_id = 2,       // of the rank, or of the node
    local_rank = 3,    // of the rank, also its node rank where only one job is known
    node_name = 4,     // of the rank, or of the node; a string
    app_number = 5,    // of the rank
    app_rank = 6,      // of the rank
    app_leader = 7,    // lowest rank of the rank's app
    local_size = 8,    // of the node (for a rank: of its node)
    local_leader = 9,  // of the node (for a rank: of its node)
    local_peers = 10,  // of the node (for a rank: of its node); a string
    node_index = 11,   // place of the node in the list
};

struct AppRange {
    common::Rank first = 0;
    uint32_t size = 0;
};

struct NodeAlias {
    uint32_t node = 0;
    std::string_view name;
};

// Where the processes of a namespace run. Everything is borrowed until Writer::set_placement returns.
struct Placement {
    const common::ProcMap* procs = nullptr;   // none: only the nodes are known
    std::span<const std::string> nodes = {};  // name of each node
    std::span<const uint32_t> node_ids = {};  // empty: node i has id i
    std::span<const NodeAlias> aliases = {};
    std::span<const AppRange> apps = {};  // by app number
};

// What the builder hands to the writer for one key. Numbers are encoded values of one type with at most 8 bytes of
// payload; everything else is interned, its numbers say which of `values`.
struct ColumnData {
    enum class Form : uint8_t { constant = 1, affine = 2, numbers = 3, interned = 4, computed = 5 };
    std::string key;
    Form form = Form::computed;
    uint16_t type = 0;
    uint8_t payload = 0;
    uint8_t width = 0;   // bytes per element; 0: no elements, all are number 0
    uint64_t base = 0;   // constant: the number; affine: what is added to the index
    uint32_t limit = 0;  // one more than the highest index that has a value
    std::vector<uint8_t> elements;
    std::vector<uint64_t> valid;  // a bit per index; empty: all below limit have one
    std::vector<std::vector<uint8_t>> values;
    Computed function{};  // 0: none
    uint16_t function_type = 0;
    uint8_t function_payload = 0;
};

class ColumnBuilder {
  public:
    // kind: proc or node. expected: how many indices there will be.
    explicit ColumnBuilder(OwnerKind kind, uint32_t expected = 0);
    ~ColumnBuilder();
    ColumnBuilder(ColumnBuilder&&) noexcept;
    ColumnBuilder& operator=(ColumnBuilder&&) noexcept;

    OwnerKind kind() const noexcept;
    // The last value for a key and index counts. False: the index is so high (kMaxMapRanks) that a column would be
    // mostly air; such a rank's facts are records of Owner::proc_info.
    bool set(uint32_t index, std::string_view key, common::Bytes value);
    // The key is this function of the placement, as a value of this type and payload size (0 for strings). Values that
    // were or will be set go before it.
    void compute(std::string_view key, Computed function, pmix_data_type_t type, uint8_t payload);
    bool empty() const noexcept;

    // What was set so far.
    std::vector<std::string_view> keys() const;
    bool get(uint32_t index, std::string_view key, std::vector<uint8_t>* value) const;
    uint32_t limit(std::string_view key) const noexcept;
    bool computes(std::string_view key) const noexcept { return function(key) != Computed{}; }
    Computed function(std::string_view key) const noexcept;
    // Empties the builder.
    std::vector<ColumnData> finish();

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmix::dstore
