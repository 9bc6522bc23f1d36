// Attributes of events as the chain needs them: read out of a caller's or a message's infos. Pure.
//
// What can go wrong: PMIX_ERR_BAD_PARAM for a value of a wrong type, PMIX_ERR_NOT_SUPPORTED for a required attribute
// that nobody here knows.
#pragma once

#include <pmix.h>

#include "client/event_order.h"
#include "common/info_view.h"

namespace pmix::client {

struct HandlerAttributes {
    HandlerSpec spec;
    void* return_object = nullptr;
    bool has_return_object = false;
    bool oneshot = false;
};

common::Result<HandlerAttributes> read_handler_attributes(const pmix_status_t codes[], size_t ncodes,
                                                          common::InfoView infos);

// Who an event is about and who may hear it, as far as its infos say.
struct EventAttributes {
    bool non_default = false;
    bool do_not_cache = false;
    std::vector<common::ProcId> affected;
    std::vector<common::ProcId> custom_range;
};
common::Result<EventAttributes> read_event_attributes(common::InfoView infos);

}  // namespace pmix::client
