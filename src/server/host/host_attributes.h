// SPDX-License-Identifier: BSD-3-Clause
// The attributes that the host says it supports, by function (PMIx_Register_attributes).
//
// Loop thread only; plain state. The two forms of a function (PMIx_Fence, PMIx_Fence_nb) and the entry of the module
// that serves them are registrations of their own, because hosts register them one after the other: a query gets the
// list that was registered under the very name it asks for, else the union of those that serve this function.
// PMIX_ERR_REPEAT_ATTR_REGISTRATION: the same name has been registered; PMIX_ERR_BAD_PARAM: it is no entry of the
// module and has not the form of a function's name.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/values/value.h"

namespace pmix::server {

class HostAttributes {
  public:
    // function: an entry of the module ("fence_nb"), or the function that users know it by. attributes: names or
    // strings.
    pmix_status_t add(std::string_view function, std::vector<std::string> attributes);

    // Of a function by its users' name; PMIX_UNDEF: none.
    common::Result<common::Value> of(std::string_view function) const;
    bool knows(std::string_view function) const noexcept;
    // Is this one, by its name or its string, among those of a function?
    bool lists(std::string_view function, std::string_view attribute) const;
    // Comma-separated, as users know them.
    std::string functions() const;
    // Strings of the attributes of a function, comma-separated.
    std::string strings_of(std::string_view function) const;

  private:
    std::vector<std::string> names_of(std::string_view function) const;
    std::map<std::string, std::vector<std::string>, std::less<>> attributes_;
};

}  // namespace pmix::server
