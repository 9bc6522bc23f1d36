// SPDX-License-Identifier: BSD-3-Clause
// InfoList (info_view.h): an array of infos that it owns.
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::common {

Result<InfoList> InfoList::from_c(const pmix_info_t* array, size_t n) noexcept {
    InfoList list;
    void* p = nullptr;
    pmix_status_t rc = copy_array(PMIX_INFO, array, n, &p);
    if (rc != PMIX_SUCCESS) return rc;
    list.array_ = static_cast<pmix_info_t*>(p);
    list.size_ = list.capacity_ = p == nullptr ? 0 : n;
    return list;
}

InfoList InfoList::take_over(pmix_info_t* array, size_t n) noexcept {
    InfoList list;
    list.array_ = array;
    list.size_ = list.capacity_ = array == nullptr ? 0 : n;
    return list;
}

pmix_status_t InfoList::reserve(size_t n) noexcept {
    if (n <= capacity_) return PMIX_SUCCESS;
    size_t bytes = 0;
    if (__builtin_mul_overflow(n, sizeof(pmix_info_t), &bytes)) return PMIX_ERR_NOMEM;
    auto* grown = static_cast<pmix_info_t*>(std::realloc(static_cast<void*>(array_), bytes));
    if (grown == nullptr) return PMIX_ERR_NOMEM;
    array_ = grown;
    capacity_ = n;
    return PMIX_SUCCESS;
}

pmix_info_t* InfoList::next_slot() noexcept {
    if (size_ == capacity_ && reserve(capacity_ == 0 ? 4 : capacity_ * 2) != PMIX_SUCCESS) return nullptr;
    pmix_info_t* slot = array_ + size_;
    std::memset(slot, 0, sizeof *slot);
    return slot;
}

pmix_status_t InfoList::append(std::string_view key, const void* data, pmix_data_type_t type,
                               pmix_info_directives_t flags) noexcept {
    Result<Value> value = Value::load(data, type);
    if (!value.ok()) return value.status();
    return append(key, std::move(value).value(), flags);
}

pmix_status_t InfoList::append(std::string_view key, Value&& value, pmix_info_directives_t flags) noexcept {
    pmix_info_t* slot = next_slot();
    if (slot == nullptr) return PMIX_ERR_NOMEM;
    if (!set_key(slot->key, key)) return PMIX_ERR_BAD_PARAM;
    slot->flags = flags;
    slot->value = value.take();
    ++size_;
    move_end_mark();
    return PMIX_SUCCESS;
}

pmix_status_t InfoList::append_string(std::string_view key, std::string_view text) noexcept {
    Result<Value> value = Value::string(text);
    if (!value.ok()) return value.status();
    return append(key, std::move(value).value());
}

pmix_status_t InfoList::append(const pmix_info_t& info) noexcept {
    pmix_info_t* slot = next_slot();
    if (slot == nullptr) return PMIX_ERR_NOMEM;
    pmix_status_t rc = copy_elements(PMIX_INFO, slot, &info, 1);
    if (rc != PMIX_SUCCESS) return rc;
    ++size_;
    move_end_mark();
    return PMIX_SUCCESS;
}

// Of an array that was received, whose last entry says that it is the last one.
void InfoList::move_end_mark() noexcept {
    if (size_ < 2 || (array_[size_ - 2].flags & PMIX_INFO_ARRAY_END) == 0) return;
    array_[size_ - 2].flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_ARRAY_END);
    array_[size_ - 1].flags |= PMIX_INFO_ARRAY_END;
}

pmix_status_t InfoList::append_all(const pmix_info_t* array, size_t n) noexcept {
    if (array == nullptr) return PMIX_SUCCESS;
    size_t before = size_;
    for (size_t i = 0; i < n; ++i) {
        pmix_status_t rc = append(array[i]);
        if (rc != PMIX_SUCCESS) {
            destroy_elements(PMIX_INFO, array_ + before, size_ - before);
            size_ = before;
            return rc;
        }
    }
    return PMIX_SUCCESS;
}

void InfoList::remove(std::string_view key) noexcept {
    size_t left = 0;
    for (size_t i = 0; i < size_; ++i) {
        if (key_view(array_[i]) == key) {
            destroy_elements(PMIX_INFO, array_ + i, 1);
        } else {
            if (left != i) std::memcpy(&array_[left], &array_[i], sizeof array_[i]);
            ++left;
        }
    }
    size_ = left;
}

pmix_info_t* InfoList::find(std::string_view key) noexcept {
    for (size_t i = 0; i < size_; ++i) {
        if (std::string_view(array_[i].key, bounded_length(array_[i].key, kMaxKeyLength)) == key) return array_ + i;
    }
    return nullptr;
}

pmix_info_t* InfoList::release(size_t* n) noexcept {
    if (size_ == 0) reset();
    if (size_ > 0) {
        for (size_t i = 0; i + 1 < size_; ++i)
            array_[i].flags &= ~static_cast<pmix_info_directives_t>(PMIX_INFO_ARRAY_END);
        array_[size_ - 1].flags |= PMIX_INFO_ARRAY_END;
    }
    *n = std::exchange(size_, 0);
    capacity_ = 0;
    return std::exchange(array_, nullptr);
}

void InfoList::reset() noexcept {
    if (array_ != nullptr) destroy_array(PMIX_INFO, array_, size_);
    array_ = nullptr;
    size_ = capacity_ = 0;
}

}  // namespace pmix::common
