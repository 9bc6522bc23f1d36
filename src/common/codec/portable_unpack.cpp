// SPDX-License-Identifier: BSD-3-Clause
// Bytes to values (portable.h). The bytes are hostile.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "common/base/limits.h"
#include "common/base/opaque.h"
#include "common/base/portable_bytes.h"
#include "common/codec/portable.h"
#include "common/placement/node_map.h"
#include "common/values/elements.h"
#include "common/values/real_text.h"
#include "common/values/value.h"

namespace pmix::common {
namespace {

// How numbers are read (portable_pack.cpp). A signed one comes back as the bits of its own width.
struct FlexibleIn {
    static constexpr bool kTyped = false;
    static pmix_data_type_t type(PortableReader& r) noexcept {
        return static_cast<pmix_data_type_t>(r.flex(UINT16_MAX));
    }
    static int64_t count(PortableReader& r) noexcept { return unfold(r.flex()); }
    static uint64_t size(PortableReader& r) noexcept { return r.flex(); }
    template <class T>
    static T number(PortableReader& r) noexcept {
        // Folding keeps the width, so what does not fit is above the unsigned type's limit.
        const uint64_t n = r.flex(std::numeric_limits<std::make_unsigned_t<T>>::max());
        if constexpr (std::is_signed_v<T>) return static_cast<T>(unfold(n));
        return static_cast<T>(n);
    }
};
struct FixedIn {
    static constexpr bool kTyped = true;
    static pmix_data_type_t type(PortableReader& r) noexcept { return r.big<uint16_t>(); }
    static int64_t count(PortableReader& r) noexcept { return static_cast<int32_t>(r.big<uint32_t>()); }
    static uint64_t size(PortableReader& r) noexcept {
        switch (type(r)) {
            case PMIX_UINT64:
                return r.big<uint64_t>();
            case PMIX_UINT32:
                return r.big<uint32_t>();
            default:
                return r.bad();
        }
    }
    template <class T>
    static T number(PortableReader& r) noexcept {
        return static_cast<T>(r.big<std::make_unsigned_t<T>>());
    }
};

// All of these leave what they fill so that its owner can destroy it, whatever they return.
template <class N>
pmix_status_t get_fields(PortableReader& r, const TypeRow& row, void* element, unsigned depth) noexcept;
template <class N>
pmix_status_t get_elements(PortableReader& r, pmix_data_type_t type, void* elements, size_t n, unsigned depth) noexcept;
template <class N>
pmix_status_t get_value(PortableReader& r, pmix_value_t* out, unsigned depth) noexcept;

// A signed count: none is negative.
template <class N>
uint64_t get_count(PortableReader& r) noexcept {
    const int64_t n = N::count(r);
    return n < 0 || n > INT32_MAX ? r.bad() : static_cast<uint64_t>(n);
}

template <class N, class T>
pmix_status_t get_numbers(PortableReader& r, char* p, size_t n, size_t stride) noexcept {
    for (size_t i = 0; i < n; ++i, p += stride) store_field(p, 0, N::template number<T>(r));
    return r.status();
}

// A process id may come in another width than ours.
template <class N, class Wide>
pmix_status_t get_pids_as(PortableReader& r, char* p, size_t n, size_t stride) noexcept {
    for (size_t i = 0; i < n; ++i, p += stride) {
        const Wide id = N::template number<Wide>(r);
        // Its bits, as a pid_t's are.
        const auto narrow = static_cast<std::conditional_t<std::is_signed_v<Wide>, int32_t, uint32_t>>(id);
        if (static_cast<Wide>(narrow) != id) r.bad();
        store_field(p, 0, narrow);
    }
    return r.status();
}

template <class N>
pmix_status_t get_pids(PortableReader& r, char* p, size_t n, size_t stride) noexcept {
    if (n == 0) return r.status();
    switch (N::type(r)) {
        case PMIX_UINT16:
            return get_pids_as<N, uint16_t>(r, p, n, stride);
        case PMIX_UINT32:
            return get_pids_as<N, uint32_t>(r, p, n, stride);
        case PMIX_UINT64:
            return get_pids_as<N, uint64_t>(r, p, n, stride);
        case PMIX_INT16:
            return get_pids_as<N, int16_t>(r, p, n, stride);
        case PMIX_INT32:
            return get_pids_as<N, int32_t>(r, p, n, stride);
        case PMIX_INT64:
            return get_pids_as<N, int64_t>(r, p, n, stride);
        default:
            r.bad();
            return r.status();
    }
}

// In the fixed form numbers of no certain width come with the type that they have.
pmix_status_t get_typed(PortableReader& r, const Field& f, char* p, size_t n, size_t stride) noexcept {
    switch (const pmix_data_type_t type = FixedIn::type(r); type) {
        case PMIX_INT32:
        case PMIX_UINT32:
            if (f.width == 4) return get_numbers<FixedIn, uint32_t>(r, p, n, stride);
            for (size_t i = 0; i < n; ++i, p += stride) store_field(p, 0, uint64_t{r.big<uint32_t>()});
            return r.status();
        case PMIX_UINT64:
            if (f.width == 8) return get_numbers<FixedIn, uint64_t>(r, p, n, stride);
            [[fallthrough]];
        default:
            r.bad();
            return r.status();
    }
}

template <class N>
pmix_status_t get_integers(PortableReader& r, const Field& f, char* p, size_t n, size_t stride) noexcept {
    const bool is_signed = f.travel == Travel::as_sint || (f.travel != Travel::as_uint && f.form == Form::sint);
    if (f.travel == Travel::pid) return get_pids<N>(r, p, n, stride);
    if (N::kTyped && n != 0 && (f.travel == Travel::typed || f.travel == Travel::as_sint)) {
        return get_typed(r, f, p, n, stride);
    }
    switch (f.width) {
        case 1: {
            const Bytes b = r.raw(n);
            if (!r.ok()) return r.status();
            for (size_t i = 0; i < n && stride != 1; ++i) store_field(p, i * stride, b[i]);
            if (stride == 1 && n != 0) std::memcpy(p, b.data(), n);
            return PMIX_SUCCESS;
        }
        case 2:
            return is_signed ? get_numbers<N, int16_t>(r, p, n, stride) : get_numbers<N, uint16_t>(r, p, n, stride);
        case 4:
            return is_signed ? get_numbers<N, int32_t>(r, p, n, stride) : get_numbers<N, uint32_t>(r, p, n, stride);
        default:
            return is_signed ? get_numbers<N, int64_t>(r, p, n, stride) : get_numbers<N, uint64_t>(r, p, n, stride);
    }
}

// The string's bytes with their NUL; empty for NULL.
template <class N>
Bytes view_string(PortableReader& r) noexcept {
    const Bytes b = r.raw(get_count<N>(r));
    if (!b.empty() && b.back() != 0) {
        r.bad();
        return {};
    }
    return b;
}

template <class N>
pmix_status_t get_string(PortableReader& r, char** out) noexcept {
    *out = nullptr;
    const Bytes b = view_string<N>(r);
    if (!r.ok()) return r.status();
    return b.empty() ? PMIX_SUCCESS : copy_out(b, out);
}

template <class N>
pmix_status_t get_chars(PortableReader& r, char* p, size_t width) noexcept {
    const Bytes b = view_string<N>(r);
    if (b.size() > width) r.bad();
    if (!r.ok()) return r.status();
    if (!b.empty()) std::memcpy(p, b.data(), b.size());
    return PMIX_SUCCESS;
}

// The argv is linked to its owner before its strings are there.
template <class N>
pmix_status_t get_argv(PortableReader& r, const Field& f, char*** out) noexcept {
    if (N::kTyped && f.travel == Travel::typed && N::type(r) != PMIX_INT32) r.bad();
    const size_t n = r.count(get_count<N>(r), 1);
    if (!r.ok() || n == 0 || !r.spend((n + 1) * sizeof(char*))) return r.status();
    auto** argv = static_cast<char**>(std::calloc(n + 1, sizeof(char*)));
    if (argv == nullptr) return PMIX_ERR_NOMEM;
    *out = argv;
    for (size_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = get_string<N>(r, &argv[i]); rc != PMIX_SUCCESS) return rc;
        if (argv[i] == nullptr) return PMIX_ERR_UNPACK_FAILURE;  // a NULL inside would hide what follows
    }
    return PMIX_SUCCESS;
}

// Bytes behind their size. NULL when there are none.
template <class N>
pmix_status_t get_bytes(PortableReader& r, char** out, size_t* n) noexcept {
    const Bytes b = r.raw(N::size(r));
    if (!r.ok() || b.empty()) return r.status();
    if (pmix_status_t rc = copy_out(b, out); rc != PMIX_SUCCESS) return rc;
    *n = b.size();
    return PMIX_SUCCESS;
}

template <class N, class T>
pmix_status_t get_real(PortableReader& r, char* p) noexcept {
    const Bytes b = view_string<N>(r);
    if (!r.ok()) return r.status();
    T number = 0;
    if (!b.empty() && !parse_real(reinterpret_cast<const char*>(b.data()), b.size() - 1, &number)) {
        return PMIX_ERR_UNPACK_FAILURE;
    }
    store_field(p, 0, number);
    return PMIX_SUCCESS;
}

// Whether a number's text comes next, whole or cut. What may stand in its place is a small number and then a time of
// our days, whose first byte is no character.
template <class N>
bool real_follows(PortableReader r) noexcept {
    const uint64_t length = get_count<N>(r);
    const uint8_t first = r.byte();
    return r.ok() && length > 1 && ((first >= '0' && first <= '9') || first == '-' || first == 'i' || first == 'n');
}

template <class N>
pmix_status_t get_regex(PortableReader& r, char** out, size_t* n) noexcept {
    const Bytes rest = r.rest();
    const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
    Bytes map;
    if (text.starts_with("pmix") || text.starts_with("raw:") || text.starts_with("blob:")) {
        const size_t size = regex_size(rest);
        if (size == 0) return PMIX_ERR_UNPACK_FAILURE;
        map = r.raw(size);
    } else {
        if (get_count<N>(r) != 1) r.bad();
        map = view_string<N>(r);
        // As text a blob would end at its first NUL.
        if (map.size() > 5 && std::memcmp(map.data(), "blob:", 6) == 0) r.bad();
    }
    if (!r.ok() || map.empty()) return r.status();
    *n = map.size();
    return copy_out(map, out);
}

// This library parses a bitmap itself. A topology's XML goes to hwloc's parser, which was not written for hostile
// input: only a process that works with topologies itself accepts one.
template <class N>
pmix_status_t get_opaque(PortableReader& r, Form form, void* p) noexcept {
    const Bytes text = view_string<N>(r);
    if (!r.ok() || text.empty()) return r.status();
    const OpaqueOps* ops = form == Form::bitmap ? open_opaque_ops() : opaque_ops();
    Bytes support;
    if (form == Form::topology) {
        if (r.topologies() == PortableReader::Topologies::stop) r.stop_at_topology();
        support = r.raw(r.support_bytes() == kUnknownSupport ? support_bytes(ops) : r.support_bytes());
        if (std::any_of(support.begin(), support.end(), [](uint8_t byte) { return byte > 1; })) r.bad();
    }
    if (!r.ok()) return r.status();
    if (form == Form::topology && r.topologies() == PortableReader::Topologies::skip) return PMIX_SUCCESS;
    if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    const auto* chars = reinterpret_cast<const char*>(text.data());
    void* object = (form == Form::bitmap ? ops->parse_bitmap : ops->parse_topology)(chars);
    if (object == nullptr) return PMIX_ERR_UNPACK_FAILURE;
    store_field(p, 0, object);
    if (!support.empty() && ops->set_support != nullptr) {
        ops->set_support(object, support.data(), support.size());
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t get_buffer(PortableReader& r, pmix_data_buffer_t* b) noexcept {
    const pmix_status_t rc = get_bytes<N>(r, &b->base_ptr, &b->bytes_used);
    if (rc != PMIX_SUCCESS || b->base_ptr == nullptr) return rc;
    b->bytes_allocated = b->bytes_used;
    b->pack_ptr = b->base_ptr + b->bytes_used;
    b->unpack_ptr = b->base_ptr;
    return PMIX_SUCCESS;
}

// Elements in a list or array of their own: *out and *n are set first, over zeroed elements.
template <class N>
pmix_status_t get_list(PortableReader& r, pmix_data_type_t type, uint64_t claimed, void** out, size_t* n,
                       unsigned depth) noexcept {
    if (!r.ok() || claimed == 0) return r.status();
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    const size_t count = r.count(claimed, row->min_portable);
    if (!r.ok() || !r.spend(count * row->size)) return r.status();
    if (pmix_status_t rc = create_array(type, count, out); rc != PMIX_SUCCESS) return rc;
    *n = count;
    const pmix_status_t rc = get_elements<N>(r, type, *out, count, depth);
    if (rc != PMIX_SUCCESS) return rc;
    // Where an array of infos ends is said by its memory, not by its sender.
    for (size_t i = 0; type == PMIX_INFO && !r.keep_array_ends() && i < count; ++i) {
        auto& flags = static_cast<pmix_info_t*>(*out)[i].flags;
        flags = (flags & ~static_cast<uint32_t>(PMIX_INFO_ARRAY_END)) | (i + 1 == count ? PMIX_INFO_ARRAY_END : 0u);
    }
    return rc;
}

template <class N>
pmix_status_t get_field(PortableReader& r, const Field& f, void* element, unsigned depth) noexcept {
    char* p = at(element, f.offset);
    if (f.travel == Travel::absent) return PMIX_SUCCESS;
    if (f.travel == Travel::optional && !real_follows<N>(r)) return PMIX_SUCCESS;
    if (f.travel == Travel::hwloc) {
        char* source = strdup("hwloc");
        store_field(p, 0, source);
        return source == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
    }
    switch (f.form) {
        case Form::boolean:
            store_field<uint8_t>(p, 0, r.byte() != 0);
            return r.status();
        case Form::sint:
        case Form::uint:
            return get_integers<N>(r, f, p, 1, f.width);
        case Form::real:
            return f.width == sizeof(float) ? get_real<N, float>(r, p) : get_real<N, double>(r, p);
        case Form::timeval: {
            struct timeval tv;
            tv.tv_sec = static_cast<time_t>(N::template number<int64_t>(r));
            tv.tv_usec = static_cast<suseconds_t>(N::template number<int64_t>(r));
            store_field(p, 0, tv);
            return r.status();
        }
        case Form::address:
            (void)r.byte();
            return r.status();
        case Form::info_flags:
            store_field(p, 0, N::template number<uint32_t>(r) & ~static_cast<uint32_t>(PMIX_INFO_PERSISTENT));
            return r.status();
        case Form::chars:
            return get_chars<N>(r, p, f.width);
        case Form::string: {
            char* text = nullptr;
            const pmix_status_t rc = get_string<N>(r, &text);
            store_field(p, 0, text);
            return rc;
        }
        case Form::argv: {
            char** argv = nullptr;
            const pmix_status_t rc = get_argv<N>(r, f, &argv);
            store_field(p, 0, argv);
            return rc;
        }
        case Form::blob: {
            char* bytes = nullptr;
            size_t n = 0;
            const pmix_status_t rc =
                f.travel == Travel::regex ? get_regex<N>(r, &bytes, &n) : get_bytes<N>(r, &bytes, &n);
            store_field(p, 0, bytes);
            store_field(element, f.count_offset, bytes == nullptr ? size_t{0} : n);
            return rc;
        }
        case Form::list: {
            void* list = nullptr;
            size_t n = 0;
            const pmix_status_t rc = get_list<N>(r, f.type, N::size(r), &list, &n, depth);
            store_field(p, 0, list);
            store_field(element, f.count_offset, n);
            return rc;
        }
        case Form::record:
            return get_fields<N>(r, kTypeTable[f.type], p, depth);
        case Form::value:
            return get_value<N>(r, reinterpret_cast<pmix_value_t*>(p), depth);
        case Form::array: {
            auto* a = reinterpret_cast<pmix_data_array_t*>(p);
            if (depth == 0) return PMIX_ERR_UNPACK_FAILURE;
            a->type = N::type(r);
            if (a->type == PMIX_UNDEF && r.short_empty_arrays()) return r.status();
            const uint64_t n = N::size(r);
            return a->type == PMIX_UNDEF ? r.status() : get_list<N>(r, a->type, n, &a->array, &a->size, depth - 1);
        }
        case Form::buffer:
            return get_buffer<N>(r, reinterpret_cast<pmix_data_buffer_t*>(p));
        case Form::bitmap:
        case Form::topology:
            return get_opaque<N>(r, f.form, p);
    }
    return PMIX_ERR_UNKNOWN_DATA_TYPE;
}

template <class N>
pmix_status_t get_fields(PortableReader& r, const TypeRow& row, void* element, unsigned depth) noexcept {
    for (const Field& f : fields_of(row)) {
        if (pmix_status_t rc = get_field<N>(r, f, element, depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t get_elements(PortableReader& r, pmix_data_type_t type, void* elements, size_t n,
                           unsigned depth) noexcept {
    const TypeRow& row = kTypeTable[type];
    const Field& first = fields_of(row)[0];
    if (row.count == 1 && (first.form == Form::sint || first.form == Form::uint)) {
        return get_integers<N>(r, first, static_cast<char*>(elements), n, row.size);
    }
    if (first.form == Form::boolean) {
        const Bytes b = r.raw(n);
        copy_bools(elements, b.data(), b.size());
        return r.status();
    }
    if (first.travel == Travel::sentinel && n > 1) n = 1;  // one byte for all
    for (size_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = get_fields<N>(r, row, at(elements, i * row.size), depth); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

template <class N>
pmix_status_t get_value(PortableReader& r, pmix_value_t* out, unsigned depth) noexcept {
    std::memset(out, 0, sizeof *out);
    const pmix_data_type_t type = N::type(r);
    if (!r.ok()) return r.status();
    const TypeRow* row = type_row(type);
    if (row == nullptr) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    out->type = type;
    void* element = value_data(out);
    if (row->held == Held::by_pointer) {
        if (type != PMIX_DATA_ARRAY) {
            if (depth == 0) return PMIX_ERR_UNPACK_FAILURE;
            --depth;
        }
        if (!r.spend(row->size)) return r.status();
        element = std::calloc(1, row->size);
        if (element == nullptr) return PMIX_ERR_NOMEM;
        out->data.ptr = element;
    }
    return get_fields<N>(r, *row, element, depth);
}

template <class N>
pmix_status_t get_regexes(PortableReader& r, char** dest, size_t n) noexcept {
    size_t size = 0;
    for (size_t i = 0; i < n; ++i) {
        if (pmix_status_t rc = get_regex<N>(r, &dest[i], &size); rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// n elements into uninitialised memory, all or none.
template <class N>
pmix_status_t fill_once(PortableReader& r, pmix_data_type_t type, void* dest, size_t n) noexcept {
    const TypeRow& row = kTypeTable[type];
    const size_t bytes = n * element_size(row, type);
    if (!row.plain) std::memset(dest, 0, bytes);
    pmix_status_t rc;
    if (type == PMIX_REGEX) {
        rc = get_regexes<N>(r, static_cast<char**>(dest), n);
        if (rc == PMIX_SUCCESS) return rc;
        destroy_elements(PMIX_STRING, dest, n);
    } else {
        rc = get_elements<N>(r, type, dest, n, kMaxValueDepth);
        if (rc == PMIX_SUCCESS) return rc;
        destroy_elements(type, dest, n);
    }
    std::memset(dest, 0, bytes);
    return rc;
}

// The same for a call with topologies, which starts at `start`: with as many bytes behind them as their writer has
// (kSupportBytes). whole: these are all values of the call, so that another call follows or nothing. hwloc's parser
// runs once for each topology.
template <class N>
pmix_status_t fill_with_topologies(PortableReader& r, const PortableReader& start, size_t budget, pmix_data_type_t type,
                                   void* dest, size_t n, bool whole) noexcept {
    const auto read = [&](size_t support, PortableReader::Topologies how) {
        r = start;
        if (r.budget() != nullptr) *r.budget() = budget;
        r.set_support_bytes(support);
        r.set_topologies(how);
        const pmix_status_t rc = fill_once<N>(r, type, dest, n);
        r.set_topologies(PortableReader::Topologies::stop);
        return rc;
    };
    const size_t usual = start.support_bytes() == kUnknownSupport ? support_bytes(opaque_ops()) : start.support_bytes();
    for (const size_t support : {usual, kSupportBytesSince211, kSupportBytes, size_t{0}}) {
        if (read(support, PortableReader::Topologies::skip) != PMIX_SUCCESS) continue;
        destroy_elements(type, dest, n);
        if (!whole || r.left() == 0 || r.rest()[0] > 1) return read(support, PortableReader::Topologies::make);
    }
    return read(usual, PortableReader::Topologies::make);
}

template <class N>
pmix_status_t fill(PortableReader& r, pmix_data_type_t type, void* dest, size_t n, bool whole) noexcept {
    const PortableReader start = r;
    const size_t budget = r.budget() == nullptr ? 0 : *r.budget();
    const pmix_status_t rc = fill_once<N>(r, type, dest, n);
    if (rc == PMIX_SUCCESS || !r.stopped_at_topology()) [[likely]]
        return rc;
    return fill_with_topologies<N>(r, start, budget, type, dest, n, whole);
}

}  // namespace

pmix_status_t unpack_values(pmix_data_buffer_t* buffer, void* dest, int32_t* n, pmix_data_type_t type) noexcept {
    const int32_t capacity = *n;
    *n = 0;
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    BufferView view;
    if (capacity < 0 || !view_buffer(*buffer, &view)) return PMIX_ERR_BAD_PARAM;
    if (capacity == 0) return PMIX_ERR_UNPACK_INADEQUATE_SPACE;
    PortableReader r(view.unread);
    // The bytes may be another process's. An info takes 544 bytes for some ten of them.
    constexpr size_t kPerByte = 64;
    size_t budget = kMaxDecoded + kPerByte * view.unread.size();
    r.set_budget(&budget);
    const bool described = !view.unread.empty() && view.unread[0] == PMIX_INT32;
    if (described) (void)r.byte();
    const uint64_t claimed = get_count<FlexibleIn>(r);
    if (described && FlexibleIn::type(r) != type && r.ok()) return PMIX_ERR_PACK_MISMATCH;
    const size_t count = r.count(claimed, row->min_portable);
    if (!r.ok()) return r.status();
    const bool all = count <= static_cast<size_t>(capacity);
    const size_t fits = all ? count : static_cast<size_t>(capacity);
    WIREUP_RETURN_IF_ERROR(fill<FlexibleIn>(r, type, dest, fits, all));
    *n = static_cast<int32_t>(fits);
    if (!all) return PMIX_ERR_UNPACK_INADEQUATE_SPACE;
    buffer->unpack_ptr = buffer->base_ptr + (r.position() - view.whole.data());
    return PMIX_SUCCESS;
}

size_t open_call(PortableReader& r, pmix_data_type_t type, CallForm form) noexcept {
    const TypeRow* row = type_row(type);
    return open_call(r, type, row == nullptr ? 1 : row->min_portable, form);
}

size_t open_call(PortableReader& r, pmix_data_type_t type, size_t least, CallForm form) noexcept {
    const auto read_type = form.fixed ? FixedIn::type : FlexibleIn::type;
    if (form.described && read_type(r) != PMIX_INT32) r.bad();
    const uint64_t claimed = form.fixed ? get_count<FixedIn>(r) : get_count<FlexibleIn>(r);
    if (form.described && read_type(r) != type) r.bad();
    return r.count(claimed, least);
}

Bytes view_bytes(PortableReader& r, CallForm form) noexcept {
    const uint64_t n = form.fixed ? FixedIn::size(r) : FlexibleIn::size(r);
    return r.raw(n);
}

pmix_status_t read_elements(PortableReader& r, void* dest, size_t n, pmix_data_type_t type, CallForm form) noexcept {
    const TypeRow* row = type_row(type);
    if (row == nullptr || row->size == 0) return PMIX_ERR_UNKNOWN_DATA_TYPE;
    return form.fixed ? fill<FixedIn>(r, type, dest, n, true) : fill<FlexibleIn>(r, type, dest, n, true);
}

}  // namespace pmix::common
