// SPDX-License-Identifier: BSD-3-Clause
// How a field of each type is written, read and printed. For messages.cpp; nobody else includes it.
//
// Pure templates, any thread. A visitor is handed to a message's fields() and meets the members in wire order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "common/base/limits.h"
#include "common/codec/pack.h"
#include "common/protocol/messages.h"

namespace pmix::common::codec {

template <class T>
inline constexpr bool kIsVector = false;
template <class T>
inline constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
inline constexpr bool kIsAbiArray = false;
template <class T>
inline constexpr bool kIsAbiArray<AbiArray<T>> = true;
template <class T>
concept Struct = requires(void (*v)(const char*)) {
    typename T::Self;
}
&&std::is_same_v<typename T::Self, T>;

// The least an element takes: a count beyond left / this is a lie and sizes nothing.
template <class T>
constexpr size_t min_size() {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) return sizeof(T);
    if constexpr (std::is_same_v<T, ProcId>) return 8;
    return 4;
}

// ---- write ----

template <class M>
pmix_status_t write_fields(ByteWriter& w, const M& message);

template <class T>
pmix_status_t write(ByteWriter& w, const T& v) {
    if constexpr (std::is_enum_v<T>) {
        return write(w, static_cast<std::underlying_type_t<T>>(v));
    } else if constexpr (sizeof(T) == 1 && std::is_integral_v<T>) {
        w.u8(static_cast<uint8_t>(v));
    } else if constexpr (sizeof(T) == 2 && std::is_integral_v<T>) {
        w.u16(static_cast<uint16_t>(v));
    } else if constexpr (sizeof(T) == 4 && std::is_integral_v<T>) {
        w.u32(static_cast<uint32_t>(v));
    } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
        w.u64(static_cast<uint64_t>(v));
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        if (v.size() > kMaxFramePayload) return PMIX_ERR_BAD_PARAM;
        w.string(v);
    } else if constexpr (std::is_same_v<T, Blob> || std::is_same_v<T, Bytes>) {
        if (v.size() > kMaxFramePayload) return PMIX_ERR_BAD_PARAM;
        w.bytes(v);
    } else if constexpr (std::is_same_v<T, ProcId>) {
        if (v.nspace.size() > kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        w.string(v.nspace);
        w.u32(v.rank);
    } else if constexpr (std::is_same_v<T, Infos>) {
        if (v.size() > kMaxInfosPerMessage) return PMIX_ERR_BAD_PARAM;
        return encode_infos(w, v.data(), v.size());
    } else if constexpr (kIsAbiArray<T>) {
        if (v.size() > kMaxInfosPerMessage) return PMIX_ERR_BAD_PARAM;
        return encode_array(w, v.data(), v.size());
    } else if constexpr (std::is_same_v<T, Reserved>) {
        w.u32(0);
    } else if constexpr (kIsVector<T>) {
        if (v.size() > kMaxListLength) return PMIX_ERR_BAD_PARAM;
        w.u32(static_cast<uint32_t>(v.size()));
        for (const auto& element : v) {
            WIREUP_RETURN_IF_ERROR(write(w, element));
        }
    } else {
        static_assert(Struct<T>);
        const size_t length_at = w.hole_u32();
        WIREUP_RETURN_IF_ERROR(write_fields(w, v));
        w.patch_u32(length_at, static_cast<uint32_t>(w.size() - length_at - 4));
    }
    return PMIX_SUCCESS;
}

template <class M>
pmix_status_t write_fields(ByteWriter& w, const M& message) {
    pmix_status_t rc = PMIX_SUCCESS;
    M::fields([&](const char*, auto member) {
        if (rc == PMIX_SUCCESS) rc = write(w, message.*member);
    });
    return rc;
}

// ---- read ----

template <class M>
pmix_status_t read_fields(ByteReader& r, M& message);

inline pmix_status_t status_of(const ByteReader& r) noexcept {
    return r.ok() ? PMIX_SUCCESS : PMIX_ERR_UNPACK_FAILURE;
}

// Looks at a count without taking it.
inline bool count_within(ByteReader r, uint32_t max) noexcept {
    const uint32_t n = r.u32();
    return r.ok() && n <= max;
}

// A receiver of an event has nobody to answer to: what it cannot make is left out, and the rest is delivered.
template <class M>
constexpr Opaque kOpaque = std::is_same_v<M, EventNotify> ? Opaque::left_out : Opaque::required;

template <class T>
pmix_status_t read(ByteReader& r, T& v, [[maybe_unused]] Opaque opaque = Opaque::required) {
    if constexpr (std::is_enum_v<T>) {
        std::underlying_type_t<T> number{};
        const pmix_status_t rc = read(r, number);
        v = static_cast<T>(number);
        return rc;
    } else if constexpr (std::is_same_v<T, bool>) {
        v = r.u8() != 0;
    } else if constexpr (sizeof(T) == 1 && std::is_integral_v<T>) {
        v = static_cast<T>(r.u8());
    } else if constexpr (sizeof(T) == 2 && std::is_integral_v<T>) {
        v = static_cast<T>(r.u16());
    } else if constexpr (sizeof(T) == 4 && std::is_integral_v<T>) {
        v = static_cast<T>(r.u32());
    } else if constexpr (sizeof(T) == 8 && std::is_integral_v<T>) {
        v = static_cast<T>(r.u64());
    } else if constexpr (std::is_same_v<T, std::string>) {
        v = r.string();
    } else if constexpr (std::is_same_v<T, std::string_view>) {
        v = r.string();
    } else if constexpr (std::is_same_v<T, Bytes>) {
        v = r.bytes();
    } else if constexpr (std::is_same_v<T, Blob>) {
        const Bytes b = r.bytes();
        v.assign(b.begin(), b.end());
    } else if constexpr (std::is_same_v<T, ProcId>) {
        const std::string_view nspace = r.string();
        if (nspace.size() > kMaxNspaceLength || nspace.find('\0') != nspace.npos) return PMIX_ERR_UNPACK_FAILURE;
        v.nspace = nspace;
        v.rank = r.u32();
    } else if constexpr (std::is_same_v<T, Infos>) {
        if (!count_within(r, kMaxInfosPerMessage)) return PMIX_ERR_UNPACK_FAILURE;
        InfoList list;
        WIREUP_RETURN_IF_ERROR(decode_infos(r, &list, opaque));
        v = Infos(std::move(list));
    } else if constexpr (kIsAbiArray<T>) {
        if (!count_within(r, kMaxInfosPerMessage)) return PMIX_ERR_UNPACK_FAILURE;
        typename T::Owner array;
        WIREUP_RETURN_IF_ERROR(decode_array(r, &array));
        v = T(std::move(array));
    } else if constexpr (std::is_same_v<T, Reserved>) {
        if (r.u32() != 0) return PMIX_ERR_UNPACK_FAILURE;
    } else if constexpr (kIsVector<T>) {
        const uint32_t n = r.count(min_size<typename T::value_type>());
        if (!r.ok() || n > kMaxListLength || !r.spend(n * sizeof(typename T::value_type)))
            return PMIX_ERR_UNPACK_FAILURE;
        v.clear();
        v.resize(n);
        if constexpr (std::is_same_v<typename T::value_type, uint32_t> && std::endian::native == std::endian::little) {
            const Bytes all = r.raw(size_t{n} * sizeof(uint32_t));
            if (r.ok() && n != 0) std::memcpy(v.data(), all.data(), all.size());
        } else {
            for (auto& element : v) {
                WIREUP_RETURN_IF_ERROR(read(r, element));
            }
        }
    } else {
        static_assert(Struct<T>);
        ByteReader inner = r.inner();
        if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
        return read_fields(inner, v);
    }
    return status_of(r);
}

// A missing trailing field keeps its default; bytes after the last known field are a newer sender's.
template <class M>
pmix_status_t read_fields(ByteReader& r, M& message) {
    pmix_status_t rc = PMIX_SUCCESS;
    M::fields([&](const char*, auto member) {
        if (rc == PMIX_SUCCESS && !r.at_end()) rc = read(r, message.*member, kOpaque<M>);
    });
    return rc;
}

// ---- print ----

inline constexpr size_t kMaxPrintedElements = 8;
inline constexpr size_t kMaxPrintedText = 80;

template <class M>
void print_fields(std::string& out, const M& message);

inline void print_text(std::string& out, std::string_view text) {
    for (char c : text.substr(0, kMaxPrintedText)) out += c >= ' ' && c < 0x7f ? c : '?';
    if (text.size() > kMaxPrintedText) out += "...";
}

inline void print_number(std::string& out, unsigned long long n) {
    out += std::to_string(n);
}

inline void print_element(std::string& out, const pmix_info_t& info) {
    print_text(out, {info.key, bounded_length(info.key, kMaxKeyLength)});
    const TypeRow* row = type_row(info.value.type);
    out += ':';
    out += row != nullptr ? row->name : "?";
}
inline void print_element(std::string& out, const pmix_app_t& app) {
    print_text(out, app.cmd == nullptr ? "" : app.cmd);
}
inline void print_element(std::string& out, const pmix_query_t& query) {
    for (char** key = query.keys; key != nullptr && *key != nullptr; ++key) {
        if (key != query.keys) out += ',';
        print_text(out, *key);
    }
}

template <class T>
void print(std::string& out, const T& v) {
    if constexpr (std::is_enum_v<T>) {
        print_number(out, static_cast<unsigned long long>(v));
    } else if constexpr (std::is_same_v<T, bool>) {
        out += v ? "yes" : "no";
    } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
        out += std::to_string(v);
    } else if constexpr (std::is_integral_v<T>) {
        print_number(out, v);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        out += '"';
        print_text(out, v);
        out += '"';
    } else if constexpr (std::is_same_v<T, Blob> || std::is_same_v<T, Bytes>) {
        out += '<';
        print_number(out, v.size());
        out += " bytes>";
    } else if constexpr (std::is_same_v<T, ProcId>) {
        print_text(out, v.nspace);
        out += '.';
        if (v.rank == PMIX_RANK_WILDCARD) {
            out += '*';
        } else if (v.rank == PMIX_RANK_UNDEF) {
            out += '?';
        } else {
            print_number(out, v.rank);
        }
    } else if constexpr (kIsVector<T> || kIsAbiArray<T>) {
        out += '[';
        size_t n = 0;
        for (const auto& element : v) {
            if (n != 0) out += ' ';
            if (n++ == kMaxPrintedElements) {
                out += "... of ";
                print_number(out, v.size());
                break;
            }
            if constexpr (kIsVector<T>) {
                print(out, element);
            } else {
                print_element(out, element);
            }
        }
        out += ']';
    } else {
        out += '{';
        print_fields(out, v);
        out += '}';
    }
}

template <class M>
void print_fields(std::string& out, const M& message) {
    bool first = true;
    M::fields([&](const char* name, auto member) {
        if constexpr (!std::is_same_v<decltype(member), Reserved M::*>) {
            if (!first) out += ' ';
            first = false;
            out += name;
            out += '=';
            // What proves an identity is no matter for a log.
            if (std::string_view(name) == "token") {
                out += "<secret>";
            } else {
                print(out, message.*member);
            }
        }
    });
}

}  // namespace pmix::common::codec
