// SPDX-License-Identifier: BSD-3-Clause
// A message of any type with something in every field, made by walking its field list.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "common/protocol/messages.h"

namespace pmix::test {

// Key and value bytes of a CommitEntry are borrowed: these live for ever.
inline constexpr std::string_view kSampleKey = "sample.key";
inline constexpr uint8_t kSampleValue[] = {14, 0, 1, 2, 3, 4};

template <class M>
M sample_message();

template <class T>
void fill_sample(T& v, unsigned& n) {
    ++n;
    if constexpr (std::is_same_v<T, common::Reserved>) {
        // It has no content.
    } else if constexpr (std::is_same_v<T, bool>) {
        v = true;
    } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
        v = static_cast<T>(n);
    } else if constexpr (std::is_same_v<T, std::string>) {
        v = "text" + std::to_string(n);
    } else if constexpr (std::is_same_v<T, std::string_view>) {
        v = kSampleKey;
    } else if constexpr (std::is_same_v<T, common::Bytes>) {
        v = kSampleValue;
    } else if constexpr (std::is_same_v<T, common::Blob>) {
        v.assign(kSampleValue, kSampleValue + sizeof kSampleValue);
    } else if constexpr (std::is_same_v<T, common::ProcId>) {
        v = common::ProcId("job-" + std::to_string(n), n);
    } else if constexpr (std::is_same_v<T, common::Infos>) {
        common::InfoList list;
        list.append_flag("pmix.collect", true);
        list.append_string("sample.text", "some text");
        v = common::Infos(std::move(list));
    } else if constexpr (std::is_same_v<T, common::Apps>) {
        auto apps = common::CArray<pmix_app_t>::zeroed(2).value();
        for (auto& app : apps) {
            app.cmd = ::strdup("program");
            app.maxprocs = 3;
        }
        v = common::Apps(std::move(apps));
    } else if constexpr (std::is_same_v<T, common::Queries>) {
        auto queries = common::CArray<pmix_query_t>::zeroed(1).value();
        queries[0].keys = static_cast<char**>(std::calloc(2, sizeof(char*)));
        queries[0].keys[0] = ::strdup("pmix.qry.ns");
        v = common::Queries(std::move(queries));
    } else if constexpr (requires { typename T::Self; }) {
        v = sample_message<T>();
    } else {
        v.resize(2);
        for (auto& element : v) fill_sample(element, n);
    }
}

template <class M>
M sample_message() {
    M message;
    unsigned n = 0;
    M::fields([&](const char*, auto member) { fill_sample(message.*member, n); });
    return message;
}

}  // namespace pmix::test
