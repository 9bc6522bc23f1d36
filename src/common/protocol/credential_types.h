// SPDX-License-Identifier: BSD-3-Clause
// The kinds of credential, and lists of them as PMIX_CRED_TYPE has them: "munge,native", the preferred first.
//
// Pure; a list is a view of its text. Any thread. Nothing can go wrong: unknown names are a host's.
#pragma once

#include <string_view>

#include "common/base/comma_list.h"

namespace pmix::common {

inline constexpr std::string_view kNativeCredential = "native";  // the ids that the kernel reports, sent by the server
inline constexpr std::string_view kMungeCredential = "munge";    // made and read by libmunge, in the process itself

class CredentialTypes {
  public:
    explicit CredentialTypes(std::string_view list) noexcept : list_(list) {}

    template <class F>
    void for_each(F&& fn) const {
        for (const std::string_view name : CommaList(list_)) fn(name);
    }
    bool has(std::string_view name) const {
        bool found = false;
        for_each([&](std::string_view n) { found = found || n == name; });
        return found;
    }
    // Empty: none.
    std::string_view first() const { return *CommaList(list_).begin(); }
    // The list from behind that name on.
    CredentialTypes after(std::string_view name) const {
        const CommaList list(list_);
        auto at = list.begin();
        while (at != list.end() && *at != name) ++at;
        return CredentialTypes(at.left());
    }
    std::string_view text() const noexcept { return list_; }

  private:
    std::string_view list_;
};

}  // namespace pmix::common
