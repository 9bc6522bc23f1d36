// SPDX-License-Identifier: BSD-3-Clause
#include "common/placement/regex2.h"

#include <cstdlib>
#include <cstring>

#include "common/base/compress.h"
#include "common/base/decompress.h"
#include "common/placement/node_map.h"

namespace pmix::common {
namespace {

constexpr const char* kRaw = "raw";
constexpr const char* kCompress = "compress";

pmix_status_t hand_out(const char* type, const void* bytes, size_t n, pmix_regex2_t* out) noexcept {
    out->type = ::strdup(type);
    out->bytes = static_cast<uint8_t*>(std::malloc(n));
    if (out->type == nullptr || out->bytes == nullptr) {
        std::free(out->type);
        std::free(out->bytes);
        *out = {};
        return PMIX_ERR_NOMEM;
    }
    std::memcpy(out->bytes, bytes, n);
    out->len = n;
    return PMIX_SUCCESS;
}

}  // namespace

pmix_status_t make_regex2(std::string_view list, pmix_regex2_t* out) {
    *out = {};
    if (list.size() <= UINT32_MAX) {
        if (auto packed = deflate_if_smaller(as_bytes(list), kCompressedPrefix)) {
            store_le(packed->data(), static_cast<uint32_t>(list.size()));
            return hand_out(kCompress, packed->data(), packed->size(), out);
        }
    }
    const std::string text(list);
    return hand_out(kRaw, text.c_str(), text.size() + 1, out);
}

Result<std::string> read_regex2(const pmix_regex2_t& regex) {
    if (regex.type == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    if (regex.bytes == nullptr && regex.len != 0) return PMIX_ERR_BAD_PARAM;
    const Bytes bytes{regex.bytes, regex.len};
    std::string text;
    if (std::strcmp(regex.type, kRaw) == 0) {
        if (bytes.size() > kMaxMapText) return PMIX_ERR_OUT_OF_RESOURCE;
        text.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    } else if (std::strcmp(regex.type, kCompress) == 0) {
        if (bytes.size() < kCompressedPrefix) return PMIX_ERR_UNPACK_FAILURE;
        auto plain = decompress_bounded(bytes.subspan(kCompressedPrefix), kMaxMapText, load_le<uint32_t>(bytes.data()));
        if (!plain.ok()) return plain.status();
        text.assign(plain->begin(), plain->end());
    } else {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    while (!text.empty() && text.back() == '\0') text.pop_back();
    if (text.find('\0') != std::string::npos) return PMIX_ERR_UNPACK_FAILURE;
    return text;
}

pmix_status_t map_bytes(const pmix_value_t& value, std::string& expanded, Bytes* out) {
    switch (value.type) {
        case PMIX_STRING:
            if (value.data.string == nullptr) return PMIX_ERR_TYPE_MISMATCH;
            *out = {reinterpret_cast<const uint8_t*>(value.data.string), regex_size(value.data.string)};
            return PMIX_SUCCESS;
        case PMIX_REGEX:
        case PMIX_BYTE_OBJECT:
            if (value.data.bo.bytes == nullptr) return PMIX_ERR_TYPE_MISMATCH;
            *out = {reinterpret_cast<const uint8_t*>(value.data.bo.bytes), value.data.bo.size};
            return PMIX_SUCCESS;
        case PMIX_REGEX2: {
            if (value.data.regex2 == nullptr) return PMIX_ERR_TYPE_MISMATCH;
            auto list = read_regex2(*value.data.regex2);
            if (!list.ok()) return list.status();
            expanded = std::move(list).value();
            *out = as_bytes(expanded);
            return PMIX_SUCCESS;
        }
        default:
            return PMIX_ERR_TYPE_MISMATCH;
    }
}

}  // namespace pmix::common
