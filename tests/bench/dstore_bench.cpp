// SPDX-License-Identifier: BSD-3-Clause
// The store by itself: look-ups, puts, taking over what other nodes send. Goals are in docs/reports/performance.md.
#include <benchmark/benchmark.h>

#include "dstore/private_store.h"
#include "support/store_values.h"

namespace {

using namespace pmix;
using namespace pmix::dstore;
using namespace pmix::test;

std::string key_name(uint32_t i) {
    return "bench.key." + std::to_string(i);
}

// 32 ranks with 10 keys each, as after a fence; another key and rank in every iteration.
void BM_FindPeerKey(benchmark::State& state) {
    auto w = make_writer();
    for (uint32_t r = 0; r < 32; ++r) {
        Records records;
        for (uint32_t k = 0; k < 10; ++k) records.add(key_name(k), blob(64, static_cast<uint8_t>(k)));
        if (w->ingest(chunk_of(r, {1, 0, true}, records)).blocks != 1) state.SkipWithError("ingest");
    }
    auto reader = open_reader(*w);
    std::vector<std::string> names;
    for (uint32_t k = 0; k < 10; ++k) names.push_back(key_name(k));
    uint32_t i = 0;
    for (auto _ : state) {
        Found f;
        if (reader->find(Owner::proc(i % 32), Key(names[i % 10]), f) != PMIX_SUCCESS) state.SkipWithError("find");
        benchmark::DoNotOptimize(f.bytes().data());
        ++i;
    }
}
BENCHMARK(BM_FindPeerKey);

void BM_HashKey(benchmark::State& state) {
    std::vector<std::string> names;
    for (uint32_t k = 0; k < 10; ++k) names.push_back(key_name(k));
    uint32_t i = 0;
    for (auto _ : state) benchmark::DoNotOptimize(hash_key(names[i++ % 10]));
}
BENCHMARK(BM_HashKey);

void BM_FindJobKey(benchmark::State& state) {
    auto w = make_writer();
    Records records;
    for (int64_t k = 0; k < state.range(0); ++k)
        records.add("pmix.job." + std::to_string(k), u32(static_cast<uint32_t>(k)));
    w->put(Owner::job(), records.list());
    auto reader = open_reader(*w);
    uint32_t i = 0;
    std::vector<std::string> names;
    for (int64_t k = 0; k < state.range(0); ++k) names.push_back("pmix.job." + std::to_string(k));
    for (auto _ : state) {
        Found f;
        if (reader->find(Owner::job(), Key(names[i]), f) != PMIX_SUCCESS) state.SkipWithError("find");
        benchmark::DoNotOptimize(f.bytes().data());
        if (++i == names.size()) i = 0;
    }
}
BENCHMARK(BM_FindJobKey)->Arg(10)->Arg(30)->Arg(100)->Arg(1000);

// A reserved key of a rank: from an interned column, and computed from the placement.
void BM_FindColumn(benchmark::State& state) {
    auto w = make_writer();
    const auto map = common::ProcMap::make_regular(1000, 100'000, 100).value();
    std::vector<std::string> nodes;
    for (int i = 0; i < 1000; ++i) nodes.push_back("n" + std::to_string(i));
    w->set_placement({&map, nodes, {}, {}, {}});
    ColumnBuilder b(OwnerKind::proc, 100'000);
    for (uint32_t r = 0; r < 100'000; ++r) b.set(r, "pmix.given", text(nodes[r / 100]));
    b.compute("pmix.hname", Computed::node_name, PMIX_STRING, 0);
    b.compute("pmix.lrank", Computed::local_rank, PMIX_UINT16, 2);
    w->add_columns(std::move(b));
    auto reader = open_reader(*w);
    const char* const names[] = {"pmix.given", "pmix.hname", "pmix.lrank"};
    const char* name = names[state.range(0)];
    uint32_t r = 0;
    for (auto _ : state) {
        Found f;
        if (reader->find(Owner::proc(r), Key(name), f) != PMIX_SUCCESS) state.SkipWithError("find");
        benchmark::DoNotOptimize(f.bytes().data());
        r = (r + 7919) % 100'000;
    }
}
BENCHMARK(BM_FindColumn)->Arg(0)->Arg(1)->Arg(2);

void BM_Commit100KeysOf1KiB(benchmark::State& state) {
    Records records;
    for (uint32_t k = 0; k < 100; ++k) records.add(key_name(k), blob(1024, 1));
    const auto list = records.list();
    WriterOptions options;
    options.rank_quota = uint64_t{1} << 40;
    auto w = make_writer(options);
    uint32_t r = 0;
    for (auto _ : state) {
        if (w->published_bytes() > (512u << 20)) {
            state.PauseTiming();
            w = make_writer(options);
            state.ResumeTiming();
        }
        w->add_local(r);
        if (!w->commit(r, list).ok()) state.SkipWithError("commit");
        ++r;
    }
}
BENCHMARK(BM_Commit100KeysOf1KiB);

void BM_CommitAgain100KeysOf1KiB(benchmark::State& state) {
    auto w = make_writer();
    w->add_local(0);
    Records records;
    for (uint32_t k = 0; k < 100; ++k) records.add(key_name(k), blob(1024, 1));
    const auto list = records.list();
    for (auto _ : state) {
        if (!w->commit(0, list).ok()) state.SkipWithError("commit");
    }
}
BENCHMARK(BM_CommitAgain100KeysOf1KiB);

// What 10,000 nodes of 100 ranks send after a first fence: 3 keys of 64 bytes for each rank.
void BM_IngestMillionRanks(benchmark::State& state) {
    Buffer all;
    const std::string names[] = {"btl.tcp.5.0", "pml.base.2.0", "ompi.hostid"};
    const Buffer value = blob(64, 7);
    for (uint32_t node = 0; node < 10'000; ++node) {
        ChunkBuilder b;
        for (uint32_t i = 0; i < 100; ++i) {
            b.begin(Owner::proc(node * 100 + i), {1, 0, true});
            for (const std::string& n : names) b.add(Key(n), PMIX_GLOBAL, value);
        }
        const Buffer chunk = b.finish(node).value();
        all.insert(all.end(), chunk.begin(), chunk.end());
    }
    double overhead = 0;
    for (auto _ : state) {
        WriterOptions options;
        options.job_size = 1'000'000;
        auto w = make_writer(options);
        const uint64_t before = w->published_bytes();
        const Ingested in = w->ingest(all);
        if (in.status != PMIX_SUCCESS || in.blocks != 1'000'000) state.SkipWithError("ingest");
        overhead = static_cast<double>(w->published_bytes() - before) / 3e6 - 64;
        state.PauseTiming();
        w.reset();
        state.ResumeTiming();
    }
    state.counters["overhead_per_key"] = overhead;
    state.counters["chunk_bytes_per_key"] = static_cast<double>(all.size()) / 3e6;
}
BENCHMARK(BM_IngestMillionRanks)->Unit(benchmark::kMillisecond);

void BM_IngestNothingNew(benchmark::State& state) {
    auto w = make_writer();
    Buffer all;
    for (uint32_t r = 0; r < 32; ++r) {
        const Buffer c = chunk_of(r, {1, 0, true}, Records().add("a", blob(64, 1)).add("b", blob(64, 1)));
        all.insert(all.end(), c.begin(), c.end());
    }
    w->ingest(all);
    for (auto _ : state) benchmark::DoNotOptimize(w->ingest(all));
}
BENCHMARK(BM_IngestNothingNew);

void BM_Register100kRanksSixFacts(benchmark::State& state) {
    const Buffer app = u32(0);
    std::vector<Buffer> hosts;
    for (uint32_t n = 0; n < 1000; ++n) hosts.push_back(text("n" + std::to_string(n)));
    for (auto _ : state) {
        auto w = make_writer();
        ColumnBuilder b(OwnerKind::proc, 100'000);
        uint8_t two[4], four[6];
        for (uint32_t r = 0; r < 100'000; ++r) {
            common::store_le<uint16_t>(four, PMIX_PROC_RANK);
            common::store_le<uint32_t>(four + 2, r);
            b.set(r, "pmix.rank", four);
            common::store_le<uint16_t>(two, PMIX_UINT16);
            common::store_le<uint16_t>(two + 2, static_cast<uint16_t>(r % 100));
            b.set(r, "pmix.lrank", two);
            b.set(r, "pmix.nrank", two);
            common::store_le<uint16_t>(four, PMIX_UINT32);
            common::store_le<uint32_t>(four + 2, r / 100);
            b.set(r, "pmix.nodeid", four);
            b.set(r, "pmix.appnum", app);
            b.set(r, "pmix.hname", hosts[r / 100]);
        }
        if (w->add_columns(std::move(b)) != PMIX_SUCCESS) state.SkipWithError("columns");
        state.counters["bytes"] = static_cast<double>(w->published_bytes());
    }
}
BENCHMARK(BM_Register100kRanksSixFacts)->Unit(benchmark::kMillisecond);

void BM_PrivatePut64(benchmark::State& state) {
    PrivateStore s;
    const auto ns = s.intern("job");
    const Buffer v = blob(64, 1);
    std::vector<std::string> names;
    for (uint32_t k = 0; k < 100; ++k) names.push_back(key_name(k));
    uint32_t i = 0;
    for (auto _ : state) {
        s.put(ns, 0, Key(names[i]), PMIX_GLOBAL, v);
        if (++i == 100) i = 0;
    }
}
BENCHMARK(BM_PrivatePut64);

void BM_PrivateFind(benchmark::State& state) {
    PrivateStore s;
    const auto ns = s.intern("job");
    std::vector<std::string> names;
    for (uint32_t k = 0; k < 10; ++k) {
        names.push_back(key_name(k));
        s.put(ns, 0, Key(names[k]), PMIX_GLOBAL, blob(64, 1));
    }
    const bool hit = state.range(0) != 0;
    uint32_t i = 0;
    for (auto _ : state) {
        auto found = s.find(ns, hit ? 0 : 1, Key(names[i % 10]));
        if (static_cast<bool>(found) != hit) state.SkipWithError("find");
        ++i;
    }
}
BENCHMARK(BM_PrivateFind)->Arg(0)->Arg(1);

}  // namespace
