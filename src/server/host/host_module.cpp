// SPDX-License-Identifier: BSD-3-Clause
#include "server/host/host_module.h"

#include <cstring>

namespace pmix::server {

namespace {

constexpr size_t kSlot = sizeof(void (*)());
constexpr size_t kSafe = 28 * kSlot;
constexpr size_t kOf50 = kSafe + kSlot;
constexpr size_t kOf60 = kSafe + 2 * kSlot;
constexpr size_t kOf61 = kSafe + 4 * kSlot;
static_assert(offsetof(pmix_server_module_t, client_connected2) == kSafe - kSlot);
static_assert(offsetof(pmix_server_module_t, resource_block) ==
              offsetof(pmix_server_module_t, session_control) + kSlot);
static_assert(sizeof(pmix_server_module_t) == kOf61);

}  // namespace

pmix_server_module_t read_module(const pmix_server_module_t* from, size_t size) noexcept {
    pmix_server_module_t module;
    std::memset(&module, 0, sizeof module);
    if (from == nullptr) return module;
    const auto* bytes = reinterpret_cast<const unsigned char*>(from);
    auto* to = reinterpret_cast<unsigned char*>(&module);
    std::memcpy(to, bytes, kSafe);
    if (size == kOf50 || size == kOf60) {  // session_control, resource_block where 6.1 has two others
        std::memcpy(to + offsetof(pmix_server_module_t, session_control), bytes + kSafe, size - kSafe);
    } else if (size == kOf61) {
        std::memcpy(to + kSafe, bytes + kSafe, kOf61 - kSafe);
    }
    return module;
}

}  // namespace pmix::server
