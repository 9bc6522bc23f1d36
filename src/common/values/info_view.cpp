// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/info_view.h"

#include "common/values/attributes.h"

namespace pmix::common {

pmix_status_t InfoView::get(std::string_view key, bool* out) const noexcept {
    const pmix_info_t* info = find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    pmix_boolean_t truth = truth_of(info->value);
    if (truth == PMIX_NON_BOOL) return PMIX_ERR_BAD_PARAM;
    *out = truth == PMIX_BOOL_TRUE;
    return PMIX_SUCCESS;
}

pmix_status_t InfoView::get(std::string_view key, std::string_view* out) const noexcept {
    const char* text = nullptr;
    pmix_status_t rc = get(key, &text);
    if (rc == PMIX_SUCCESS && text != nullptr) *out = text;
    return rc;
}

pmix_status_t InfoView::get(std::string_view key, const char** out) const noexcept {
    const pmix_info_t* info = find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    if (info->value.type != PMIX_STRING) return PMIX_ERR_BAD_PARAM;
    if (info->value.data.string != nullptr) *out = info->value.data.string;
    return PMIX_SUCCESS;
}

pmix_status_t InfoView::get(std::string_view key, const pmix_proc_t** out) const noexcept {
    const pmix_info_t* info = find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    if (info->value.type != PMIX_PROC || info->value.data.proc == nullptr) return PMIX_ERR_BAD_PARAM;
    *out = info->value.data.proc;
    return PMIX_SUCCESS;
}

pmix_status_t InfoView::get(std::string_view key, void** out) const noexcept {
    const pmix_info_t* info = find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    if (info->value.type != PMIX_POINTER) return PMIX_ERR_BAD_PARAM;
    *out = info->value.data.ptr;
    return PMIX_SUCCESS;
}

pmix_status_t InfoView::get(std::string_view key, pmix_data_type_t element,
                            const pmix_data_array_t** out) const noexcept {
    const pmix_info_t* info = find(key);
    if (info == nullptr) return PMIX_SUCCESS;
    const pmix_data_array_t* array = info->value.data.darray;
    if (info->value.type != PMIX_DATA_ARRAY || array == nullptr) return PMIX_ERR_BAD_PARAM;
    bool empty = array->size == 0 || array->array == nullptr;
    if (!empty && array->type != element) return PMIX_ERR_BAD_PARAM;
    *out = array;
    return PMIX_SUCCESS;
}

pmix_status_t check_flags(InfoView infos) noexcept {
    for (const pmix_info_t& info : infos) {
        if (info.value.type == PMIX_BOOL || truth_of(info.value) != PMIX_NON_BOOL) continue;
        const std::string_view key = key_view(info);
        // Named by a flag, or by the rank that it is for.
        if (!is_reserved_key(key) || key == PMIX_FWD_STDIN) continue;
        if (attribute_by_string(key).type == PMIX_BOOL) return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::common
