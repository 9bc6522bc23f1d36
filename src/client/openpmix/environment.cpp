// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/environment.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "common/base/comma_list.h"
#include "common/base/limits.h"
#include "openpmix/hello.h"

namespace pmix::client {

using common::Result;

namespace {

constexpr size_t kMaxText = 16u << 10;
constexpr size_t kMaxModule = 64;  // bytes of the name of a module

// The best encoding first. version: what a server is that does not say it.
struct Name {
    const char* variable;
    const char* encoding;
    const char* version;
};
constexpr Name kNames[] = {{"PMIX_SERVER_URI61", "v61", "6.1.0"},
                           {"PMIX_SERVER_URI51", "v51", "6.0.0"},
                           {"PMIX_SERVER_URI41", "v41", "4.1.0"},
                           {"PMIX_SERVER_URI4", "v4", "4.0.0"}};

// Where a server and its processes are told to speak some encodings only, its variables are those of all.
bool may_speak(std::string_view encodings, std::string_view name) noexcept {
    if (encodings.empty()) return true;
    const bool others = encodings.front() == '^';
    for (const std::string_view listed : common::CommaList(encodings.substr(others ? 1 : 0)))
        if (listed == name) return !others;
    return others;
}

std::string_view variable(transport::EnvironmentReader read, const char* name) {
    const char* text = read(name);
    if (text == nullptr) return {};
    return {text, common::bounded_length(text, kMaxText + 1)};
}

// Of the modules that the server lists, the one that needs nothing but what the kernel reports of us anyway.
const char* choose_security(std::string_view list) noexcept {
    if (list.empty()) return "native";
    bool none = false;
    for (const std::string_view module : common::CommaList(list)) {
        if (module == "native") return "native";
        none = none || module == "none";
    }
    return none ? "none" : nullptr;
}

// "hash" is plain data in messages. Where a server serves a whole job by the module that the newest of its processes
// has named, processes with OpenPMIx's library, which name the first of the list, would get data that they cannot use:
// then it is that one for us too, and what an answer lacks is asked for as data.
std::string choose_store(std::string_view list, const openpmix::Traits& traits) {
    const std::string_view first = list.substr(0, list.find(','));
    if (!traits.one_store_for_all || first.empty() || first.size() > kMaxModule) return "hash";
    return std::string(first);
}

}  // namespace

Result<OpenPmixEnvironment> read_openpmix_server(transport::EnvironmentReader read) {
    const Name* found = nullptr;
    std::string_view uri;
    const std::string_view encodings = variable(read, "PMIX_MCA_bfrops");
    // An inner launcher sets the names that its release has.
    const auto outer = transport::read_outer_server(read);
    for (const Name& name : kNames) {
        const std::string_view here = variable(read, name.variable);
        if (here.empty() || (outer && transport::is_of_server(here, *outer))) continue;
        uri = here;
        found = &name;
        if (may_speak(encodings, name.encoding)) break;
    }
    if (uri.empty()) return PMIX_ERR_NOT_FOUND;
    if (!may_speak(encodings, found->encoding)) return PMIX_ERR_NOT_SUPPORTED;
    OpenPmixEnvironment out;
    auto address = parse_openpmix_address(uri);
    if (!address) return address.status();
    static_cast<OpenPmixAddress&>(out) = std::move(*address);
    const char* security = choose_security(variable(read, "PMIX_SECURITY_MODE"));
    if (security == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    out.security = security;
    out.encoding = found->encoding;
    const std::string_view form = variable(read, "PMIX_BFROP_BUFFER_TYPE");
    out.buffer_kind = form == "PMIX_BFROP_BUFFER_FULLY_DESC" ? openpmix::kFullyDescribed : openpmix::kNotDescribed;
    std::string_view version = variable(read, "PMIX_VERSION");
    if (!openpmix::parse_version(version)) version = found->version;
    const auto traits = openpmix::traits_of(version, out.encoding, out.buffer_kind);
    if (!traits) return PMIX_ERR_NOT_SUPPORTED;
    out.traits = *traits;
    out.store = choose_store(variable(read, "PMIX_GDS_MODULE"), out.traits);
    return out;
}

Result<OpenPmixEnvironment> read_openpmix_environment(transport::EnvironmentReader read) {
    if (read("PMIX_NAMESPACE") == nullptr) return PMIX_ERR_NOT_FOUND;
    auto out = read_openpmix_server(read);
    if (!out) return out;
    auto self = transport::read_identity(read);
    if (!self) return self.status() == PMIX_ERR_NOT_FOUND ? PMIX_ERR_BAD_PARAM : self.status();
    out->self = std::move(*self);
    return out;
}

// In the job of a tool, which nobody else is in, nobody else's data is of another module.
Result<OpenPmixEnvironment> describe_openpmix_server(const OpenPmixContact& contact) {
    OpenPmixEnvironment out;
    static_cast<OpenPmixAddress&>(out) = contact.address;
    out.security = "native";
    out.store = "hash";
    out.buffer_kind = openpmix::kNotDescribed;
    const auto version = openpmix::parse_version(contact.version);
    if (!version) return PMIX_ERR_NOT_SUPPORTED;
    const auto* const name = std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& one) {
        return *version >= *openpmix::parse_version(one.version);
    });
    if (name == std::end(kNames)) return PMIX_ERR_NOT_SUPPORTED;
    out.encoding = name->encoding;
    const auto traits = openpmix::traits_of(contact.version, out.encoding, out.buffer_kind);
    if (!traits) return PMIX_ERR_NOT_SUPPORTED;
    out.traits = *traits;
    return out;
}

}  // namespace pmix::client
