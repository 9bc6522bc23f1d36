// SPDX-License-Identifier: BSD-3-Clause
// What it costs to encode a value, to hand it out of the store, and to carry an info array.
#include <benchmark/benchmark.h>
#include <pmix.h>

#include <cstring>

#include "common/codec/pack.h"

namespace {

using namespace pmix::common;

pmix_value_t number(uint32_t n) {
    pmix_value_t value;
    std::memset(&value, 0, sizeof value);
    value.type = PMIX_UINT32;
    value.data.uint32 = n;
    return value;
}

// Borrows the bytes: never destructed.
pmix_value_t bytes_of(std::vector<char>& bytes) {
    pmix_value_t value;
    std::memset(&value, 0, sizeof value);
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo = {bytes.data(), bytes.size()};
    return value;
}

void EncodeNumber(benchmark::State& state) {
    const pmix_value_t value = number(42);
    ByteWriter writer(64);
    for (auto _ : state) {
        writer.clear();
        benchmark::DoNotOptimize(encode_value(writer, value));
    }
}
BENCHMARK(EncodeNumber);

void EncodeBytes(benchmark::State& state) {
    std::vector<char> bytes(static_cast<size_t>(state.range(0)), 'x');
    const pmix_value_t value = bytes_of(bytes);
    ByteWriter writer(bytes.size() + 64);
    for (auto _ : state) {
        writer.clear();
        benchmark::DoNotOptimize(encode_value(writer, value));
    }
}
BENCHMARK(EncodeBytes)->Arg(64)->Arg(1024)->Arg(65536);

void HandOutNumber(benchmark::State& state) {
    ByteWriter writer;
    if (encode_value(writer, number(42)) != PMIX_SUCCESS) state.SkipWithError("encode");
    pmix_value_t out;
    for (auto _ : state) benchmark::DoNotOptimize(decode_value_into(writer.view(), &out));
}
BENCHMARK(HandOutNumber);

void HandOutBytes(benchmark::State& state) {
    std::vector<char> bytes(static_cast<size_t>(state.range(0)), 'x');
    ByteWriter writer;
    if (encode_value(writer, bytes_of(bytes)) != PMIX_SUCCESS) state.SkipWithError("encode");
    for (auto _ : state) {
        pmix_value_t out;
        benchmark::DoNotOptimize(decode_value_into(writer.view(), &out));
        PMIx_Value_destruct(&out);
    }
}
BENCHMARK(HandOutBytes)->Arg(64)->Arg(1024)->Arg(65536);

void InfosThereAndBack(benchmark::State& state) {
    const auto n = static_cast<size_t>(state.range(0));
    pmix_info_t* infos = PMIx_Info_create(n);
    for (size_t i = 0; i < n; ++i) {
        if (PMIx_Info_load(&infos[i], PMIX_HOSTNAME, "node0001.site.org", PMIX_STRING) != PMIX_SUCCESS) {
            state.SkipWithError("load");
        }
    }
    ByteWriter writer;
    for (auto _ : state) {
        writer.clear();
        InfoList list;
        if (encode_infos(writer, infos, n) != PMIX_SUCCESS) state.SkipWithError("encode");
        ByteReader reader(writer.view());
        if (decode_infos(reader, &list) != PMIX_SUCCESS) state.SkipWithError("decode");
        benchmark::DoNotOptimize(list);
    }
    PMIx_Info_free(infos, n);
}
BENCHMARK(InfosThereAndBack)->Arg(1)->Arg(16)->Arg(256);

}  // namespace
