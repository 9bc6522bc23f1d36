// SPDX-License-Identifier: BSD-3-Clause
// Maps of any bytes: no crash, no memory beyond the bounds, and what parses is the same after a round trip.
#include <cstdlib>

#include "common/placement/node_map.h"

using namespace pmix::common;

namespace {

// Aborts in every build: assert() would vanish from a release one.
void must(bool holds) {
    if (!holds) std::abort();
}

void check_procs(Bytes map) {
    Result<ProcMap> procs = parse_proc_map(map);
    if (!procs) return;
    must(procs->nnodes() != 0 && procs->nnodes() <= kMaxMapNodes);
    must(procs->nranks() != 0 && procs->nranks() <= procs->rank_limit() && procs->rank_limit() <= kMaxMapRanks);
    if (procs->rank_limit() > 100'000) return;  // a few bytes can stand for millions; once through the parser is enough
    uint32_t total = 0;
    for (uint32_t node = 0; node < procs->nnodes(); ++node) {
        const uint32_t count = procs->count_on(node);
        total += count;
        for (uint32_t i = 0; i < count; ++i) {
            const Rank rank = procs->rank_on(node, i);
            must(i == 0 || rank > procs->rank_on(node, i - 1));
            must(procs->node_of(rank) == node && procs->local_rank(rank) == i);
        }
    }
    must(total == procs->nranks());
    Result<ProcMap> again = parse_proc_map(generate_proc_map(*procs));
    must(again && *again == *procs);
    Result<std::string> text =
        generate_proc_map(std::string_view{reinterpret_cast<const char*>(map.data()), map.size()});
    must(text.ok());
    again = parse_proc_map(*text);
    must(again && *again == *procs);
}

void check_nodes(Bytes map) {
    Result<std::vector<std::string>> nodes = parse_node_map(map);
    if (!nodes) return;
    must(!nodes->empty() && nodes->size() <= kMaxMapNodes);
    if (nodes->size() > 10'000) return;
    Result<std::vector<std::string>> again = parse_node_map(generate_node_map(*nodes));
    must(again && *again == *nodes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const Bytes map{data, size};
    must(regex_size(map) <= size);
    check_nodes(map);
    check_procs(map);
    return 0;
}
