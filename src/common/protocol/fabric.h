// SPDX-License-Identifier: BSD-3-Clause
// What the halves have in common of fabrics: their numbers, how a description travels, and the description that can be
// made of devices alone.
//
// Owns nothing but FabricNumbers its table. Any thread; a table belongs to one thread at a time. What can go wrong: no
// device at all (PMIX_ERR_NOT_SUPPORTED), none that fits (PMIX_ERR_NOT_FOUND), a value of a wrong type
// (PMIX_ERR_BAD_PARAM).
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::common {

// Vendor, name and plane together are one fabric. Numbers are given once and never again.
class FabricNumbers {
  public:
    // Of a description. A new fabric gets the next number.
    size_t of(InfoView description);

  private:
    std::vector<std::string> names_;
};

// A description by a host in a form that can leave the process: the costs, which a host gives as a pointer to
// PMIX_FABRIC_NUM_DEVICES squared numbers, become an array of PMIX_UINT16. Other pointers are left out, and so are
// costs for more devices than one message carries.
Result<InfoList> portable_fabric(const pmix_info_t* infos, size_t n) noexcept;

// Such costs again, if they are there and as many as the description's number of devices asks for; null otherwise.
const pmix_data_array_t* portable_costs(InfoView description) noexcept;

// What devices alone say of a fabric: devices of one type are one, its name is the type. Plain network interfaces are
// none. devices: PMIX_FABRIC_DEVICE each. Without directives the one whose type is the most likely to carry a job's
// messages. What the devices are is no part of it: bindings of other languages free the arrays of infos that an object
// shows them, and PMIx_Get has them (PMIX_FABRIC_DEVICES).
Result<InfoList> describe_fabric(InfoView devices, InfoView directives, FabricNumbers& numbers);

}  // namespace pmix::common
