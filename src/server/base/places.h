// SPDX-License-Identifier: BSD-3-Clause
// Places in this process's descriptor table: how many there may be, and more of them.
//
// Free functions, any thread. The kernel gives the lowest free number, so the number of a descriptor that has just been
// opened says how many are taken. The soft limit is raised only when places run out, because processes that the host
// starts inherit it: in a job of usual size they find the limit that the host began with. What can go wrong: the hard
// limit is reached.
#pragma once

#include <cstddef>

namespace pmix::server {

// The soft limit now.
size_t descriptor_limit() noexcept;
// What the soft limit may be raised to.
size_t highest_descriptor_limit() noexcept;
// Raises the soft limit so that `wanted` descriptors fit, to twice what it is at least. True: it is higher than before.
bool raise_descriptor_limit(size_t wanted) noexcept;

}  // namespace pmix::server
