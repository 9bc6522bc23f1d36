// SPDX-License-Identifier: BSD-3-Clause
// What PMIx_Data_pack and PMIx_Data_unpack cost, for every sample of support/data_samples.h. (run_pack_compare holds
// the same calls against another library.)
#include <benchmark/benchmark.h>
#include <pmix.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "common/codec/portable.h"
#include "common/values/value.h"
#include "support/data_samples.h"

namespace {

using namespace pmix::common;

void Pack(benchmark::State& state, const pmix_sample_t& s) {
    pmix_data_buffer_t b = {};
    for (auto _ : state) {
        b.bytes_used = 0;
        b.pack_ptr = b.unpack_ptr = b.base_ptr;
        if (PMIx_Data_pack(nullptr, &b, const_cast<void*>(s.values), s.n, s.type) != PMIX_SUCCESS) {
            state.SkipWithError("pack");
            break;
        }
    }
    state.counters["bytes"] = static_cast<double>(b.bytes_used);
    free(b.base_ptr);
}

// What was unpacked is freed in the loop too.
void Unpack(benchmark::State& state, const pmix_sample_t& s) {
    pmix_data_buffer_t b = {};
    if (PMIx_Data_pack(nullptr, &b, const_cast<void*>(s.values), s.n, s.type) != PMIX_SUCCESS) {
        state.SkipWithError("pack");
        return;
    }
    const pmix_data_type_t owned = s.type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : s.type;
    std::vector<char> space(element_size(*type_row(s.type), s.type) * static_cast<size_t>(s.n));
    for (auto _ : state) {
        int32_t n = s.n;
        b.unpack_ptr = b.base_ptr;
        if (PMIx_Data_unpack(nullptr, &b, space.data(), &n, s.type) != PMIX_SUCCESS) {
            state.SkipWithError("unpack");
            break;
        }
        destroy_elements(owned, space.data(), static_cast<size_t>(n));
    }
    free(b.base_ptr);
}

[[maybe_unused]] const bool kRegistered = [] {
    make_samples();
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        if (s.n == 0) continue;
        benchmark::RegisterBenchmark((std::string("Pack/") + s.name).c_str(), Pack, s);
        benchmark::RegisterBenchmark((std::string("Unpack/") + s.name).c_str(), Unpack, s);
    }
    return true;
}();

}  // namespace
