// SPDX-License-Identifier: BSD-3-Clause
// Data buffers as containers: create, fill, empty. What packs into them is elsewhere.
//
// Owns nothing; needs no library; any thread. base_ptr is one malloc block that callers may free.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>

#include "common/values/strict.h"
#include "common/values/value.h"

namespace {

using pmix::common::process_is_strict;

// The bytes not yet unpacked, if the buffer's pointers make sense.
bool unread(const pmix_data_buffer_t& b, const char** from, size_t* n) noexcept {
    *from = nullptr;
    *n = 0;
    if (b.base_ptr == nullptr) return true;
    const char* start = b.unpack_ptr == nullptr ? b.base_ptr : b.unpack_ptr;
    size_t read = static_cast<size_t>(start - b.base_ptr);
    if (read > b.bytes_used) return false;
    *from = start;
    *n = b.bytes_used - read;
    return true;
}

void fill(pmix_data_buffer_t* b, char* bytes, size_t n) noexcept {
    std::memset(b, 0, sizeof *b);
    if (bytes == nullptr) return;
    b->base_ptr = b->unpack_ptr = bytes;
    b->pack_ptr = bytes + n;
    b->bytes_allocated = b->bytes_used = n;
}

}  // namespace

extern "C" {

void PMIx_Data_buffer_construct(pmix_data_buffer_t* b) {
    if (b != nullptr) std::memset(b, 0, sizeof *b);
}

pmix_data_buffer_t* PMIx_Data_buffer_create(void) {
    return static_cast<pmix_data_buffer_t*>(std::calloc(1, sizeof(pmix_data_buffer_t)));
}

void PMIx_Data_buffer_destruct(pmix_data_buffer_t* b) {
    pmix::common::destroy_elements(PMIX_DATA_BUFFER, b, 1);
}

void PMIx_Data_buffer_release(pmix_data_buffer_t* b) {
    pmix::common::destroy_array(PMIX_DATA_BUFFER, b, 1);
}

void PMIx_Data_buffer_load(pmix_data_buffer_t* b, char* bytes, size_t sz) {
    pmix_byte_object_t payload = {bytes, sz};
    (void)PMIx_Data_load(b, &payload);
}

void PMIx_Data_buffer_unload(pmix_data_buffer_t* b, char** bytes, size_t* sz) {
    pmix_byte_object_t payload = {nullptr, 0};
    (void)PMIx_Data_unload(b, &payload);
    if (bytes != nullptr) {
        *bytes = payload.bytes;
    } else {
        std::free(payload.bytes);
    }
    if (sz != nullptr) *sz = payload.size;
}

// Takes the payload's bytes over and leaves it empty; what the buffer held is freed.
pmix_status_t PMIx_Data_load(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload) {
    if (buffer == nullptr) return PMIX_ERR_BAD_PARAM;
    PMIx_Data_buffer_destruct(buffer);
    if (payload == nullptr || payload->bytes == nullptr) return PMIX_SUCCESS;
    fill(buffer, payload->bytes, payload->size);
    payload->bytes = nullptr;
    payload->size = 0;
    return PMIX_SUCCESS;
}

// The same with a copy. No payload empties the buffer; in strict mode it is PMIX_ERR_BAD_PARAM.
pmix_status_t PMIx_Data_embed(pmix_data_buffer_t* buffer, const pmix_byte_object_t* payload) {
    if (buffer == nullptr || (payload == nullptr && process_is_strict())) return PMIX_ERR_BAD_PARAM;
    char* copy = nullptr;
    size_t n = 0;
    if (payload != nullptr && payload->bytes != nullptr && payload->size != 0) {
        n = payload->size;
        copy = static_cast<char*>(std::malloc(n));
        if (copy == nullptr) return PMIX_ERR_NOMEM;
        std::memcpy(copy, payload->bytes, n);
    }
    PMIx_Data_buffer_destruct(buffer);
    fill(buffer, copy, n);
    return PMIX_SUCCESS;
}

// Hands out what was not unpacked yet and leaves the buffer empty.
pmix_status_t PMIx_Data_unload(pmix_data_buffer_t* buffer, pmix_byte_object_t* payload) {
    if (payload != nullptr) *payload = {nullptr, 0};
    if (buffer == nullptr || payload == nullptr) return PMIX_ERR_BAD_PARAM;
    const char* from = nullptr;
    size_t n = 0;
    if (!unread(*buffer, &from, &n)) return PMIX_ERR_BAD_PARAM;
    if (n != 0 && from == buffer->base_ptr) {
        *payload = {buffer->base_ptr, n};
        PMIx_Data_buffer_construct(buffer);
        return PMIX_SUCCESS;
    }
    if (n != 0) {
        payload->bytes = static_cast<char*>(std::malloc(n));
        if (payload->bytes == nullptr) return PMIX_ERR_NOMEM;
        std::memcpy(payload->bytes, from, n);
        payload->size = n;
    }
    PMIx_Data_buffer_destruct(buffer);
    return PMIX_SUCCESS;
}

}  // extern "C"
