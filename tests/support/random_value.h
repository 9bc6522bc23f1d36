// SPDX-License-Identifier: BSD-3-Clause
// Random values of every data type, made from the same field lists that the code under test walks. Deterministic: one
// seed, one value. Memory is malloc's; destroy with destroy_value.
#pragma once

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/values/describe.h"
#include "common/values/elements.h"
#include "common/values/value.h"

namespace pmix::test {

class RandomValue {
  public:
    explicit RandomValue(uint32_t seed) : random_(seed) {}

    // Every type that has a row, hwloc's two opaque ones included (with NULL inside).
    static std::vector<pmix_data_type_t> types() {
        std::vector<pmix_data_type_t> all;
        for (pmix_data_type_t t = 0; t < common::kTypeRows; ++t) {
            if (common::type_row(t) != nullptr) all.push_back(t);
        }
        return all;
    }

    void value(pmix_value_t* v, pmix_data_type_t type, int depth = 3) {
        std::memset(v, 0, sizeof *v);
        v->type = type;
        const common::TypeRow& row = *common::type_row(type);
        void* element = &v->data;
        if (row.held == common::Held::by_pointer) {
            if (below(10) == 0) return;  // nothing there
            element = v->data.ptr = std::calloc(1, row.size);
        }
        if (row.size != 0) fields(row, element, depth);
    }

    void element(pmix_data_type_t type, void* zeroed, int depth = 3) { fields(*common::type_row(type), zeroed, depth); }

    pmix_data_type_t type() {
        static const std::vector<pmix_data_type_t> all = types();
        return all[below(all.size())];
    }
    size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
    uint64_t number() { return random_() | (uint64_t{random_()} << 32); }

  private:
    char* string() {
        if (below(8) == 0) return nullptr;
        size_t n = below(5) == 0 ? below(600) : below(12);
        auto* s = static_cast<char*>(std::malloc(n + 1));
        for (size_t i = 0; i < n; ++i) s[i] = static_cast<char>(1 + below(255));
        s[n] = '\0';
        return s;
    }

    char** argv() {
        if (below(5) == 0) return nullptr;
        size_t n = below(4);
        auto** a = static_cast<char**>(std::calloc(n + 1, sizeof(char*)));
        for (size_t i = 0; i < n; ++i) {
            do {
                a[i] = string();
            } while (a[i] == nullptr);
        }
        return a;
    }

    void list(pmix_data_type_t type, void** out, size_t* n, int depth) {
        const common::TypeRow& row = *common::type_row(type);
        *n = depth <= 0 || row.size == 0 ? 0 : below(4);
        if (*n == 0) return;
        *out = std::calloc(*n, row.size);
        for (size_t i = 0; i < *n; ++i) fields(row, static_cast<char*>(*out) + i * row.size, depth - 1);
    }

    void fields(const common::TypeRow& row, void* element, int depth) {
        for (const common::Field& f : common::fields_of(row)) field(f, element, depth);
    }

    void field(const common::Field& f, void* element, int depth) {
        using common::Form;
        char* p = static_cast<char*>(element) + f.offset;
        uint64_t n = number();
        switch (f.form) {
            case Form::boolean:
                *p = n & 1;
                break;
            case Form::sint:
            case Form::uint:
                std::memcpy(p, &n, f.width);
                break;
            case Form::real:
                if (f.width == sizeof(float)) {
                    common::store_field(p, 0, static_cast<float>(n) / 7);
                } else {
                    common::store_field(p, 0, static_cast<double>(n) / 7);
                }
                break;
            case Form::timeval: {
                struct timeval tv = {static_cast<time_t>(n >> 20), static_cast<suseconds_t>(n % 1000000)};
                common::store_field(p, 0, tv);
                break;
            }
            case Form::address:
                common::store_field(p, 0, n);
                break;
            case Form::string:
                common::store_field(p, 0, string());
                break;
            case Form::argv:
                common::store_field(p, 0, argv());
                break;
            case Form::chars: {
                size_t most = f.width - 1u;
                size_t length = below(6) == 0 ? most : below(20);
                for (size_t i = 0; i < length; ++i) p[i] = static_cast<char>(1 + below(255));
                break;
            }
            case Form::blob: {
                if (below(5) == 0) break;
                size_t length = below(80);
                auto* b = static_cast<char*>(std::malloc(length + 1));
                for (size_t i = 0; i < length; ++i) b[i] = static_cast<char>(below(256));
                common::store_field(p, 0, b);
                common::store_field(element, f.count_offset, length);
                break;
            }
            case Form::list: {
                void* array = nullptr;
                size_t length = 0;
                list(f.type, &array, &length, depth);
                common::store_field(p, 0, array);
                common::store_field(element, f.count_offset, length);
                break;
            }
            case Form::record:
                fields(*common::type_row(f.type), p, depth);
                break;
            case Form::value: {
                pmix_value_t v;
                value(&v, depth <= 0 ? pmix_data_type_t{PMIX_UINT32} : type(), depth - 1);
                std::memcpy(p, &v, sizeof v);
                break;
            }
            case Form::array: {
                pmix_data_array_t a = {};
                do {
                    a.type = type();
                } while (common::type_row(a.type)->size == 0);
                list(a.type, &a.array, &a.size, depth);
                std::memcpy(p, &a, sizeof a);
                break;
            }
            case Form::buffer: {
                size_t length = below(40);
                if (length == 0) break;
                pmix_data_buffer_t b = {};
                b.base_ptr = static_cast<char*>(std::malloc(length));
                std::memset(b.base_ptr, 'b', length);
                b.pack_ptr = b.base_ptr + length;
                b.unpack_ptr = b.base_ptr + below(length + 1);
                b.bytes_allocated = b.bytes_used = length;
                std::memcpy(p, &b, sizeof b);
                break;
            }
            case Form::info_flags:
                common::store_field(p, 0, pmix_info_directives_t{PMIX_INFO_REQD} & static_cast<uint32_t>(n));
                break;
            case Form::bitmap:
            case Form::topology:
                break;
        }
    }

    std::mt19937 random_;
};

}  // namespace pmix::test
