// The attributes that the host says it supports, by function (PMIx_Register_attributes).
//
// Loop thread only; plain state. PMIX_ERR_REPEAT_ATTR_REGISTRATION: the function has been registered;
// PMIX_ERR_BAD_PARAM: it is no entry of the module and no function of the interface.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "common/value.h"

namespace pmix::server {

class HostAttributes {
  public:
    // function: an entry of the module ("fence_nb"), or the function that users know it by. attributes: names or
    // strings.
    pmix_status_t add(std::string_view function, std::vector<std::string> attributes);

    // Of a function by its users' name; PMIX_UNDEF: none.
    common::Result<common::Value> of(std::string_view function) const;
    bool knows(std::string_view function) const noexcept;
    // Comma-separated, as users know them.
    std::string functions() const;
    // Strings of the attributes of a function, comma-separated.
    std::string strings_of(std::string_view function) const;

  private:
    std::vector<std::string> names_of(std::string_view function) const;
    std::map<std::string, std::vector<std::string>, std::less<>> attributes_;
};

}  // namespace pmix::server
