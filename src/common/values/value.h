// SPDX-License-Identifier: BSD-3-Clause
// Values as the ABI has them: deep copy, destruction, comparison, and owners of pmix_value_t and pmix_info_t[].
//
// Owns: Value one value's contents, InfoList one malloc'ed array of infos, CArray<T> one malloc'ed array of any ABI
// struct. Any thread; an owner belongs to one thread at a time. All memory is malloc's, one block each, so that what
// release() hands out is freed by any caller's inlined free(). Out of memory is PMIX_ERR_NOMEM with nothing leaked and
// outputs left empty; nothing here throws.
#pragma once

#include <pmix_common.h>

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/values/describe.h"

namespace pmix::common {

// The union's bytes: where every member starts.
inline void* value_data(pmix_value_t* v) noexcept {
    return &v->data;
}
inline const void* value_data(const pmix_value_t* v) noexcept {
    return &v->data;
}

// Frees what the value holds and leaves it PMIX_UNDEF. NULL and a zeroed value are fine.
void destroy_value(pmix_value_t* value) noexcept;

// dst is taken as empty (it may be uninitialised). On failure it is PMIX_UNDEF.
pmix_status_t copy_value(pmix_value_t* dst, const pmix_value_t& src) noexcept;

// Fills dst from `data`, as PMIx_Value_load: a char* for strings, a pointer to the element for everything else; NULL is
// a NULL string, a true flag, an empty object. A copy of what was given. dst is taken as empty.
pmix_status_t load_value(pmix_value_t* dst, const void* data, pmix_data_type_t type) noexcept;

// Elements of any described type. destroy_elements leaves the memory, destroy_array frees it too. An array of infos
// carries PMIX_INFO_ARRAY_END on its last element; nobody of ours relies on it.
void destroy_elements(pmix_data_type_t type, void* elements, size_t n) noexcept;
void destroy_array(pmix_data_type_t type, void* array, size_t n) noexcept;
pmix_status_t copy_elements(pmix_data_type_t type, void* dst, const void* src, size_t n) noexcept;
pmix_status_t copy_array(pmix_data_type_t type, const void* src, size_t n, void** out) noexcept;
// n zeroed elements; *out is NULL for n == 0.
pmix_status_t create_array(pmix_data_type_t type, size_t n, void** out) noexcept;

// Defaults that are not zero (ranks undefined, distances unknown), in elements that are zeroed.
void construct_elements(pmix_data_type_t type, void* elements, size_t n) noexcept;

// Field by field, -1, 0 or 1; NULL sorts before everything, a shorter list before a longer one. Above 1: no order.
int compare_elements(pmix_data_type_t type, const void* a, const void* b, size_t n) noexcept;
pmix_value_cmp_t compare_values(const pmix_value_t& a, const pmix_value_t& b) noexcept;

// Bytes of the payload, as PMIx_Value_get_size counts them: the struct plus all it points to.
pmix_status_t value_size(const pmix_value_t& value, size_t* out) noexcept;

// The number in a value of any integer type (the double: any numeric type). PMIX_ERR_BAD_PARAM: not such a number;
// PMIX_ERR_VALUE_OUT_OF_BOUNDS: does not fit.
pmix_status_t read_number(const pmix_value_t& value, int64_t* out) noexcept;
pmix_status_t read_number(const pmix_value_t& value, uint64_t* out) noexcept;
pmix_status_t read_number(const pmix_value_t& value, double* out) noexcept;

// The number in `value` as `type` into *dest, or nothing: PMIX_ERR_BAD_PARAM where one of them is no number,
// PMIX_ERR_CHANGE_SIGN for a negative number into an unsigned type, PMIX_ERR_LOST_PRECISION where it does not fit
// (a real number goes into an integer where it has no fraction).
pmix_status_t convert_number(const pmix_value_t& value, pmix_data_type_t type, void* dest) noexcept;

// The Standard's truth: no value at all is true, a bool counts by its flag; texts as pmix_boolean_t says.
pmix_boolean_t truth_of(const pmix_value_t& value) noexcept;

// A key into its array: false (and an empty key) when NULL or longer than kMaxKeyLength.
bool set_key(char (&dst)[PMIX_MAX_KEYLEN + 1], std::string_view key) noexcept;

// The data type id that goes with a C type, for the templates below.
template <class T>
struct TypeId;
#define PMIX_COMMON_TYPE_ID(T, ID)                    \
    template <>                                       \
    struct TypeId<T> {                                \
        static constexpr pmix_data_type_t value = ID; \
    }
PMIX_COMMON_TYPE_ID(pmix_proc_t, PMIX_PROC);
PMIX_COMMON_TYPE_ID(pmix_info_t, PMIX_INFO);
PMIX_COMMON_TYPE_ID(pmix_app_t, PMIX_APP);
PMIX_COMMON_TYPE_ID(pmix_query_t, PMIX_QUERY);
PMIX_COMMON_TYPE_ID(pmix_pdata_t, PMIX_PDATA);
PMIX_COMMON_TYPE_ID(pmix_value_t, PMIX_VALUE);
PMIX_COMMON_TYPE_ID(pmix_byte_object_t, PMIX_BYTE_OBJECT);
PMIX_COMMON_TYPE_ID(pmix_envar_t, PMIX_ENVAR);
PMIX_COMMON_TYPE_ID(pmix_regattr_t, PMIX_REGATTR);
PMIX_COMMON_TYPE_ID(pmix_proc_info_t, PMIX_PROC_INFO);
PMIX_COMMON_TYPE_ID(pmix_proc_stats_t, PMIX_PROC_STATS);
PMIX_COMMON_TYPE_ID(pmix_device_distance_t, PMIX_DEVICE_DIST);
PMIX_COMMON_TYPE_ID(pmix_resource_unit_t, PMIX_RESOURCE_UNIT);
PMIX_COMMON_TYPE_ID(pmix_topology_t, PMIX_TOPO);
PMIX_COMMON_TYPE_ID(pmix_cpuset_t, PMIX_PROC_CPUSET);
#undef PMIX_COMMON_TYPE_ID

// One malloc'ed array of an ABI struct, elements included.
template <class T>
class CArray {
  public:
    CArray() = default;
    CArray(T* array, size_t n) noexcept : array_(array), size_(n) {}  // takes over
    CArray(CArray&& o) noexcept : array_(std::exchange(o.array_, nullptr)), size_(std::exchange(o.size_, 0)) {}
    CArray& operator=(CArray&& o) noexcept {
        if (this != &o) {
            reset();
            array_ = std::exchange(o.array_, nullptr);
            size_ = std::exchange(o.size_, 0);
        }
        return *this;
    }
    ~CArray() { reset(); }

    static Result<CArray> copy_of(const T* src, size_t n) noexcept {
        void* p = nullptr;
        pmix_status_t rc = copy_array(TypeId<T>::value, src, n, &p);
        if (rc != PMIX_SUCCESS) return rc;
        return CArray(static_cast<T*>(p), n);
    }
    static Result<CArray> zeroed(size_t n) noexcept {
        void* p = nullptr;
        pmix_status_t rc = create_array(TypeId<T>::value, n, &p);
        if (rc != PMIX_SUCCESS) return rc;
        return CArray(static_cast<T*>(p), n);
    }

    T* data() noexcept { return array_; }
    const T* data() const noexcept { return array_; }
    size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    T& operator[](size_t i) noexcept { return array_[i]; }
    const T& operator[](size_t i) const noexcept { return array_[i]; }
    T* begin() noexcept { return array_; }
    T* end() noexcept { return array_ + size_; }
    const T* begin() const noexcept { return array_; }
    const T* end() const noexcept { return array_ + size_; }
    // Hands the block to a caller who frees it with the ABI's macros.
    T* release() noexcept {
        size_ = 0;
        return std::exchange(array_, nullptr);
    }
    void reset() noexcept {
        if (array_ != nullptr) destroy_array(TypeId<T>::value, array_, size_);
        array_ = nullptr;
        size_ = 0;
    }

  private:
    T* array_ = nullptr;
    size_t size_ = 0;
};

// Owns the contents of one value.
class Value {
  public:
    Value() noexcept { clear(); }
    explicit Value(pmix_value_t taken) noexcept : v_(taken) {}  // takes over the contents
    Value(Value&& o) noexcept : v_(o.v_) { o.clear(); }
    Value& operator=(Value&& o) noexcept {
        if (this != &o) {
            destroy_value(&v_);
            v_ = o.v_;
            o.clear();
        }
        return *this;
    }
    ~Value() { destroy_value(&v_); }

    static Result<Value> copy_of(const pmix_value_t& src) noexcept {
        Value v;
        pmix_status_t rc = copy_value(&v.v_, src);
        if (rc != PMIX_SUCCESS) return rc;
        return v;
    }
    static Result<Value> load(const void* data, pmix_data_type_t type) noexcept {
        Value v;
        pmix_status_t rc = load_value(&v.v_, data, type);
        if (rc != PMIX_SUCCESS) return rc;
        return v;
    }
    static Result<Value> string(std::string_view text) noexcept;
    // A number of the ABI's fixed-width or integer types; type must be one that is held as a T.
    template <class T>
    static Value number(T n, pmix_data_type_t type) noexcept {
        Value v;
        v.v_.type = type;
        std::memcpy(value_data(&v.v_), &n, sizeof n);
        return v;
    }
    static Value u32(uint32_t n) noexcept { return number(n, PMIX_UINT32); }
    static Value flag(bool b) noexcept { return number(b, PMIX_BOOL); }

    const pmix_value_t& get() const noexcept { return v_; }
    pmix_value_t* c_ptr() noexcept { return &v_; }  // to be filled by a decoder; must be empty then
    pmix_data_type_t type() const noexcept { return v_.type; }
    void reset() noexcept {
        destroy_value(&v_);
        clear();
    }
    // The contents, now the caller's.
    pmix_value_t take() noexcept {
        pmix_value_t v = v_;
        clear();
        return v;
    }
    // The same in a malloc'ed pmix_value_t, as PMIx_Get hands out. NULL when out of memory; the contents stay then.
    pmix_value_t* release() noexcept {
        auto* p = static_cast<pmix_value_t*>(std::malloc(sizeof(pmix_value_t)));
        if (p != nullptr) *p = take();
        return p;
    }

  private:
    void clear() noexcept { std::memset(&v_, 0, sizeof v_); }
    pmix_value_t v_;
};

// A growing array of infos in one malloc block.
class InfoList {
  public:
    InfoList() = default;
    InfoList(InfoList&& o) noexcept
        : array_(std::exchange(o.array_, nullptr)),
          size_(std::exchange(o.size_, 0)),
          capacity_(std::exchange(o.capacity_, 0)) {}
    InfoList& operator=(InfoList&& o) noexcept {
        if (this != &o) {
            reset();
            array_ = std::exchange(o.array_, nullptr);
            size_ = std::exchange(o.size_, 0);
            capacity_ = std::exchange(o.capacity_, 0);
        }
        return *this;
    }
    ~InfoList() { reset(); }

    // A deep copy of a caller's array.
    static Result<InfoList> from_c(const pmix_info_t* array, size_t n) noexcept;
    // Takes over a malloc'ed array.
    static InfoList take_over(pmix_info_t* array, size_t n) noexcept;

    // All of these copy what they are given, and leave the list as it was when they fail. PMIX_ERR_BAD_PARAM: bad key.
    pmix_status_t append(std::string_view key, const void* data, pmix_data_type_t type,
                         pmix_info_directives_t flags = 0) noexcept;
    pmix_status_t append(std::string_view key, Value&& value, pmix_info_directives_t flags = 0) noexcept;
    pmix_status_t append_string(std::string_view key, std::string_view text) noexcept;
    template <class T>
    pmix_status_t append_number(std::string_view key, T n, pmix_data_type_t type) noexcept {
        return append(key, Value::number(n, type));
    }
    pmix_status_t append_flag(std::string_view key, bool flag) noexcept { return append(key, Value::flag(flag)); }
    pmix_status_t append(const pmix_info_t& info) noexcept;
    pmix_status_t append_all(const pmix_info_t* array, size_t n) noexcept;
    pmix_status_t reserve(size_t n) noexcept;

    size_t size() const noexcept { return size_; }
    bool empty() const noexcept { return size_ == 0; }
    pmix_info_t* c_array() noexcept { return array_; }
    const pmix_info_t* c_array() const noexcept { return array_; }
    pmix_info_t& operator[](size_t i) noexcept { return array_[i]; }
    const pmix_info_t& operator[](size_t i) const noexcept { return array_[i]; }
    const pmix_info_t* begin() const noexcept { return array_; }
    const pmix_info_t* end() const noexcept { return array_ + size_; }
    // The first info with the key, or NULL.
    pmix_info_t* find(std::string_view key) noexcept;
    const pmix_info_t* find(std::string_view key) const noexcept { return const_cast<InfoList*>(this)->find(key); }
    // Takes out every info with the key.
    void remove(std::string_view key) noexcept;

    // Hands the array out: NULL for an empty list. The last element is marked PMIX_INFO_ARRAY_END.
    pmix_info_t* release(size_t* n) noexcept;
    void reset() noexcept;

  private:
    pmix_info_t* next_slot() noexcept;  // zeroed, not yet counted; NULL when out of memory
    void move_end_mark() noexcept;

    pmix_info_t* array_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

}  // namespace pmix::common
