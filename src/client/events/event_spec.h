// SPDX-License-Identifier: BSD-3-Clause
// The contents of a registration, read out of its codes and infos. Pure.
//
// What can go wrong: PMIX_ERR_BAD_PARAM for a value of a wrong type, PMIX_ERR_NOT_SUPPORTED for a required attribute
// that is unknown here.
#pragma once

#include <pmix.h>

#include "client/events/event_order.h"
#include "common/values/info_view.h"

namespace pmix::client {

struct HandlerAttributes {
    HandlerSpec spec;
    void* return_object = nullptr;
    bool has_return_object = false;
    bool oneshot = false;
    // Its events were named by infos, not by codes: then its PMIX_SUCCESS ends a chain, see pmix_common.h.
    bool success_ends = false;
};

common::Result<HandlerAttributes> read_handler_attributes(const pmix_status_t codes[], size_t ncodes,
                                                          common::InfoView infos);

}  // namespace pmix::client
