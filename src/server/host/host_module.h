// SPDX-License-Identifier: BSD-3-Clause
// How much of a host's module is read. Owns nothing; pure; called once, when the server starts.
// The structure carries no size and its tail moved from release to release, so a byte too many may be another object of
// the host's, or an unmapped page.
#pragma once

#include <pmix_server.h>

#include <cstddef>

namespace pmix::server {

// Copies the module as it is laid out in the release that had one of this size (what the host said with
// PMIX_SERVER_MODULE_SIZE). Of a size that no release had, as of none at all (0), the 28 entries that are the same in
// all of them. The other entries are null. from may be null.
pmix_server_module_t read_module(const pmix_server_module_t* from, size_t size) noexcept;

}  // namespace pmix::server
