// SPDX-License-Identifier: BSD-3-Clause
// decode_message, with what the message takes in memory once decoded.
//
// Any thread. Few bytes may ask for much: an info takes 552 bytes, however short it was in its frame. Who keeps a
// decoded message counts these bytes (server/base/budget.h).
#pragma once

#include "common/protocol/messages.h"

namespace pmix::common {

// As decode_message(payload, message). memory: the payload's bytes and the elements of all lists and arrays.
template <class M>
pmix_status_t decode_message(Bytes payload, M& message, size_t& memory);

}  // namespace pmix::common
