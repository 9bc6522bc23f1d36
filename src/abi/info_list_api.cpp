// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Info_list_*: an opaque list of infos that grows and is converted to an array.
//
// Owns the list between start and release. Needs no library; a list belongs to one thread at a time. Everything added
// is copied, except by PMIx_Info_list_insert, whose point is to keep the caller's pointers: such an info is marked
// persistent and its value never freed by us. NULL lists and infos, and keys that are NULL or too long, are
// PMIX_ERR_BAD_PARAM.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>

#include "common/values/value.h"

namespace {

using namespace pmix::common;

struct Item {
    Item* next;
    pmix_info_t info;
};

struct List {
    Item* first;
    Item* last;
    size_t size;
};

List* as_list(void* ptr) noexcept {
    return static_cast<List*>(ptr);
}

void discard(Item* item) noexcept {
    destroy_elements(PMIX_INFO, &item->info, 1);
    std::free(item);
}

void put_last(List* list, Item* item) noexcept {
    (list->last == nullptr ? list->first : list->last->next) = item;
    list->last = item;
    ++list->size;
}

void put_first(List* list, Item* item) noexcept {
    item->next = list->first;
    list->first = item;
    if (list->last == nullptr) list->last = item;
    ++list->size;
}

Item* find(List* list, const char* key) noexcept {
    for (Item* item = list->first; item != nullptr; item = item->next) {
        if (PMIx_Check_key(item->info.key, key)) return item;
    }
    return nullptr;
}

// A new item whose info is filled by fill(&info); PMIX_SUCCESS with *out, or nothing.
template <class F>
pmix_status_t make_item(Item** out, F&& fill) noexcept {
    auto* item = static_cast<Item*>(std::calloc(1, sizeof(Item)));
    if (item == nullptr) return PMIX_ERR_NOMEM;
    pmix_status_t rc = fill(&item->info);
    if (rc != PMIX_SUCCESS) {
        std::free(item);
        return rc;
    }
    *out = item;
    return PMIX_SUCCESS;
}

template <class F>
pmix_status_t append(void* ptr, F&& fill) noexcept {
    if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
    Item* item = nullptr;
    pmix_status_t rc = make_item(&item, fill);
    if (rc == PMIX_SUCCESS) put_last(as_list(ptr), item);
    return rc;
}

// Appends unless the key is there: then its value is replaced (overwrite) or stays.
template <class F>
pmix_status_t append_unique(void* ptr, const char* key, bool overwrite, F&& fill) noexcept {
    if (ptr == nullptr || key == nullptr) return PMIX_ERR_BAD_PARAM;
    Item* there = find(as_list(ptr), key);
    if (there == nullptr) return append(ptr, fill);
    if (!overwrite) return PMIX_SUCCESS;
    Item* item = nullptr;
    pmix_status_t rc = make_item(&item, fill);
    if (rc != PMIX_SUCCESS) return rc;
    destroy_elements(PMIX_INFO, &there->info, 1);
    there->info = item->info;
    std::free(item);
    return PMIX_SUCCESS;
}

pmix_status_t fill_from_value(pmix_info_t* info, const char* key, const pmix_value_t* value) noexcept {
    if (value == nullptr) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = PMIx_Info_load(info, key, nullptr, PMIX_UNDEF);
    return rc == PMIX_SUCCESS ? copy_value(&info->value, *value) : rc;
}

}  // namespace

extern "C" {

void* PMIx_Info_list_start(void) {
    return std::calloc(1, sizeof(List));
}

void PMIx_Info_list_release(void* ptr) {
    if (ptr == nullptr) return;
    for (Item* item = as_list(ptr)->first; item != nullptr;) {
        Item* next = item->next;
        discard(item);
        item = next;
    }
    std::free(ptr);
}

pmix_status_t PMIx_Info_list_add(void* ptr, const char* key, const void* value, pmix_data_type_t type) {
    return append(ptr, [&](pmix_info_t* info) { return PMIx_Info_load(info, key, value, type); });
}

pmix_status_t PMIx_Info_list_add_unique(void* ptr, const char* key, const void* value, pmix_data_type_t type,
                                        bool overwrite) {
    return append_unique(ptr, key, overwrite,
                         [&](pmix_info_t* info) { return PMIx_Info_load(info, key, value, type); });
}

pmix_status_t PMIx_Info_list_add_value(void* ptr, const char* key, const pmix_value_t* value) {
    return append(ptr, [&](pmix_info_t* info) { return fill_from_value(info, key, value); });
}

pmix_status_t PMIx_Info_list_add_value_unique(void* ptr, const char* key, const pmix_value_t* value, bool overwrite) {
    if (value == nullptr) return PMIX_ERR_BAD_PARAM;
    return append_unique(ptr, key, overwrite, [&](pmix_info_t* info) { return fill_from_value(info, key, value); });
}

pmix_status_t PMIx_Info_list_prepend(void* ptr, const char* key, const void* value, pmix_data_type_t type) {
    if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
    Item* item = nullptr;
    pmix_status_t rc = make_item(&item, [&](pmix_info_t* info) { return PMIx_Info_load(info, key, value, type); });
    if (rc == PMIX_SUCCESS) put_first(as_list(ptr), item);
    return rc;
}

pmix_status_t PMIx_Info_list_insert(void* ptr, pmix_info_t* info) {
    if (info == nullptr) return PMIX_ERR_BAD_PARAM;
    return append(ptr, [&](pmix_info_t* copy) {
        *copy = *info;
        copy->flags |= PMIX_INFO_PERSISTENT;
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Info_list_xfer(void* ptr, const pmix_info_t* info) {
    return append(ptr, [&](pmix_info_t* copy) { return PMIx_Info_xfer(copy, info); });
}

pmix_status_t PMIx_Info_list_xfer_unique(void* ptr, const pmix_info_t* info, bool overwrite) {
    if (info == nullptr) return PMIX_ERR_BAD_PARAM;
    return append_unique(ptr, info->key, overwrite, [&](pmix_info_t* copy) { return PMIx_Info_xfer(copy, info); });
}

// The list stays as it is and may be converted again. On failure the array is empty.
pmix_status_t PMIx_Info_list_convert(void* ptr, pmix_data_array_t* par) {
    if (par == nullptr) return PMIX_ERR_BAD_PARAM;
    PMIx_Data_array_init(par, PMIX_INFO);
    if (ptr == nullptr) return PMIX_ERR_BAD_PARAM;
    const List& list = *as_list(ptr);
    if (list.size == 0) return PMIX_ERR_EMPTY;
    pmix_info_t* array = PMIx_Info_create(list.size);
    if (array == nullptr) return PMIX_ERR_NOMEM;
    size_t n = 0;
    for (const Item* item = list.first; item != nullptr; item = item->next, ++n) {
        pmix_status_t rc = PMIx_Info_xfer(&array[n], &item->info);
        if (rc != PMIX_SUCCESS) {
            array[n].flags = 0;
            PMIx_Info_free(array, list.size);
            return rc;
        }
    }
    array[list.size - 1].flags |= PMIX_INFO_ARRAY_END;
    par->array = array;
    par->size = list.size;
    return PMIX_SUCCESS;
}

// Walks the list: prev is NULL for the first, then what *next was given.
pmix_info_t* PMIx_Info_list_get_info(void* ptr, void* prev, void** next) {
    if (next != nullptr) *next = nullptr;
    if (ptr == nullptr) return nullptr;
    Item* item = prev == nullptr ? as_list(ptr)->first : static_cast<Item*>(prev);
    if (item == nullptr) return nullptr;
    if (next != nullptr) *next = item->next;
    return &item->info;
}

size_t PMIx_Info_list_get_size(void* ptr) {
    return ptr == nullptr ? 0 : as_list(ptr)->size;
}

}  // extern "C"
