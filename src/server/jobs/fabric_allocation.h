// SPDX-License-Identifier: BSD-3-Clause
// The fabric of a job: what a host asks for with PMIX_ALLOC_FABRIC before a launch, answered from the inventory that
// was delivered, and what processes find of it afterwards.
//
// Plain functions over what they are given; the inventory belongs to the loop thread, so they run there. Nothing is
// reserved: there is no fabric manager behind this library. What goes out is which devices of the wanted kind the job's
// nodes have, and a key, the same for all of the job. What can go wrong: a request without a name or a type
// (PMIX_ERR_BAD_PARAM); a node without such a device, or a required option that this library cannot meet
// (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::server {

class Inventory;

inline constexpr size_t kFabricKeyBytes = 32;

// Appends an answer for each PMIX_ALLOC_FABRIC of the options. It is one info of that key: an array that begins with
// the request's own name (PMIX_ALLOC_FABRIC_ID) and the devices by node, then what of the request was met.
pmix_status_t set_up_fabrics(common::InfoView options, const Inventory& inventory, common::InfoList& answer);

// On a job's node: what such an answer means to its processes, who find the array under the request's name. Other infos
// are passed over.
pmix_status_t fabric_facts(common::InfoView delivered, common::InfoList& facts);

}  // namespace pmix::server
