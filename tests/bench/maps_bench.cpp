// SPDX-License-Identifier: BSD-3-Clause
// What the maps of a large job cost: 10,000 nodes of 100 ranks, by node, cyclic, and at random.
#include <benchmark/benchmark.h>

#include <random>

#include "common/base/compress.h"
#include "common/placement/node_map.h"

namespace {

using namespace pmix::common;

constexpr uint32_t kNodes = 10'000;
constexpr uint32_t kEach = 100;

std::string node_list() {
    std::string list;
    char name[16];
    for (uint32_t i = 0; i < kNodes; ++i) {
        std::snprintf(name, sizeof name, "%sn%05u", i == 0 ? "" : ",", i);
        list += name;
    }
    return list;
}

enum Shape : int64_t { by_node, cyclic, at_random };

std::string rank_list(int64_t shape) {
    std::vector<std::vector<uint32_t>> nodes(kNodes);
    std::mt19937 random(1);
    for (uint32_t rank = 0; rank < kNodes * kEach; ++rank) {
        const uint32_t node = shape == by_node ? rank / kEach : shape == cyclic ? rank % kNodes : random() % kNodes;
        nodes[node].push_back(rank);
    }
    std::string list;
    for (uint32_t node = 0; node < kNodes; ++node) {
        if (node != 0) list += ';';
        for (size_t i = 0; i < nodes[node].size(); ++i) list += (i == 0 ? "" : ",") + std::to_string(nodes[node][i]);
    }
    return list;
}

void GenerateNodes(benchmark::State& state) {
    const std::string list = node_list();
    for (auto _ : state) benchmark::DoNotOptimize(generate_node_map(list));
}
BENCHMARK(GenerateNodes)->Unit(benchmark::kMillisecond);

void ParseNodes(benchmark::State& state) {
    const std::string map = *generate_node_map(node_list());
    for (auto _ : state) benchmark::DoNotOptimize(parse_node_map(map));
}
BENCHMARK(ParseNodes)->Unit(benchmark::kMillisecond);

void GenerateRanks(benchmark::State& state) {
    const std::string list = rank_list(state.range(0));
    size_t size = 0;
    for (auto _ : state) size = generate_proc_map(list)->size();
    state.counters["bytes"] = static_cast<double>(size);
}
BENCHMARK(GenerateRanks)->Arg(by_node)->Arg(cyclic)->Arg(at_random)->Unit(benchmark::kMillisecond);

void ParseRanks(benchmark::State& state) {
    const std::string map = *generate_proc_map(rank_list(state.range(0)));
    for (auto _ : state) benchmark::DoNotOptimize(parse_proc_map(map));
}
BENCHMARK(ParseRanks)->Arg(by_node)->Arg(cyclic)->Arg(at_random)->Unit(benchmark::kMillisecond);

void AskEveryRank(benchmark::State& state) {
    const auto map = parse_proc_map(rank_list(state.range(0)));
    for (auto _ : state) {
        uint64_t sum = 0;
        for (Rank rank = 0; rank < map.value().nranks(); ++rank) {
            sum += map.value().node_of(rank) + map.value().local_rank(rank);
        }
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * kNodes * kEach);
}
BENCHMARK(AskEveryRank)->Arg(by_node)->Arg(cyclic)->Arg(at_random)->Unit(benchmark::kMillisecond);

void LocalPeers(benchmark::State& state) {
    const auto map = ProcMap::make_regular(kNodes, kNodes * kEach, kEach);
    uint32_t node = 0;
    for (auto _ : state) {
        benchmark::DoNotOptimize(map.value().local_peers_string(node));
        node = (node + 1) % kNodes;
    }
}
BENCHMARK(LocalPeers)->Unit(benchmark::kMicrosecond);

void Deflate(benchmark::State& state) {
    const std::string list = rank_list(by_node);
    for (auto _ : state) benchmark::DoNotOptimize(deflate_if_smaller(as_bytes(list)));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(list.size()));
}
BENCHMARK(Deflate)->Unit(benchmark::kMillisecond);

void Inflate(benchmark::State& state) {
    const std::string list = rank_list(by_node);
    const auto packed = *deflate_if_smaller(as_bytes(list));
    for (auto _ : state) benchmark::DoNotOptimize(inflate_bounded(packed, kMaxMapText, list.size()));
    state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(list.size()));
}
BENCHMARK(Inflate)->Unit(benchmark::kMillisecond);

}  // namespace
