// SPDX-License-Identifier: BSD-3-Clause
// The kinds of credential, and lists of them as PMIX_CRED_TYPE has them: "munge,native", the preferred first.
//
// Pure; a list is a view of its text. Any thread. Nothing can go wrong: unknown names are a host's.
#pragma once

#include <string_view>

namespace pmix::common {

inline constexpr std::string_view kNativeCredential = "native";  // the ids that the kernel reports, sent by the server
inline constexpr std::string_view kMungeCredential = "munge";    // made and read by libmunge, in the process itself

class CredentialTypes {
  public:
    explicit CredentialTypes(std::string_view list) noexcept : list_(list) {}

    template <class F>
    void for_each(F&& fn) const {
        for (std::string_view left = list_; !left.empty();) {
            const size_t comma = left.find(',');
            const std::string_view name = left.substr(0, comma);
            if (!name.empty()) fn(name);
            left = comma == left.npos ? std::string_view() : left.substr(comma + 1);
        }
    }
    bool has(std::string_view name) const {
        bool found = false;
        for_each([&](std::string_view n) { found = found || n == name; });
        return found;
    }
    // Empty: none.
    std::string_view first() const {
        std::string_view first;
        for_each([&](std::string_view n) {
            if (first.empty()) first = n;
        });
        return first;
    }
    // The list from behind that name on.
    CredentialTypes after(std::string_view name) const {
        std::string_view left = list_;
        while (!left.empty()) {
            const size_t comma = left.find(',');
            const std::string_view n = left.substr(0, comma);
            left = comma == left.npos ? std::string_view() : left.substr(comma + 1);
            if (n == name) break;
        }
        return CredentialTypes(left);
    }
    std::string_view text() const noexcept { return list_; }

  private:
    std::string_view list_;
};

}  // namespace pmix::common
