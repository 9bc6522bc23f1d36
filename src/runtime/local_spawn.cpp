// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/local_spawn.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/base/limits.h"

namespace pmix::api {

using common::CArray;

namespace {

// The launcher of this process set these variables to identify it; they must not identify its children.
bool is_of_this_process(std::string_view entry) noexcept {
    for (std::string_view name : {"PMIX_NAMESPACE=", "PMIX_RANK=", "PMIX_SERVER_",
                                  "PMIX_KEEPALIVE_PIPE=", "PMIX_LAUNCHER_RNDZ_", "PMIX_WIREUP_TOKEN="})
        if (entry.starts_with(name)) return true;
    return false;
}

std::string_view name_of(std::string_view entry) noexcept {
    return entry.substr(0, entry.find('='));
}

bool has(char* const* env, std::string_view name) noexcept {
    for (; env != nullptr && *env != nullptr; ++env)
        if (name_of(*env) == name) return true;
    return false;
}

size_t count(char* const* list) noexcept {
    size_t n = 0;
    while (list != nullptr && list[n] != nullptr) ++n;
    return n;
}

// What is said of the app counts over what this process has.
pmix_status_t complete_environment(pmix_app_t& app) noexcept {
    const size_t own = count(app.env), inherited = count(environ);
    auto** grown = static_cast<char**>(std::realloc(app.env, (own + inherited + 1) * sizeof(char*)));
    if (grown == nullptr) return PMIX_ERR_NOMEM;
    app.env = grown;
    size_t n = own;
    grown[n] = nullptr;
    for (size_t i = 0; i < inherited && environ[i] != nullptr; ++i) {
        if (is_of_this_process(environ[i]) || has(grown, name_of(environ[i]))) continue;
        if ((grown[n] = ::strdup(environ[i])) == nullptr) return PMIX_ERR_NOMEM;
        grown[++n] = nullptr;
    }
    return PMIX_SUCCESS;
}

}  // namespace

common::Result<CArray<pmix_app_t>> apps_to_start_here(Library& library, const pmix_app_t apps[], size_t napps) {
    // What is wrong with these is said where every spawn is looked at.
    if (library.servers() == nullptr || apps == nullptr || napps == 0 || napps > common::kMaxListLength)
        return CArray<pmix_app_t>();
    for (size_t i = 0; i < napps; ++i)
        if (apps[i].info == nullptr && apps[i].ninfo != 0) return PMIX_ERR_BAD_PARAM;
    auto here = library.spawns_here();
    if (!here) return here.status();
    if (!*here) return CArray<pmix_app_t>();
    auto copy = CArray<pmix_app_t>::copy_of(apps, napps);
    if (!copy) return copy.status();
    for (pmix_app_t& app : *copy) {
        WIREUP_RETURN_IF_ERROR(complete_environment(app));
    }
    return copy;
}

}  // namespace pmix::api
