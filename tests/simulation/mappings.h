// SPDX-License-Identifier: BSD-3-Clause
// Which file a page of memory belongs to: one word that several processes have mapped is one futex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace pmix::simulation {

// The same for each mapping of the same file: its number and the offset. Of other memory the address.
std::pair<uint64_t, uint64_t> place_of(const void* address);

struct Process;
// Bytes of files that the process has mapped.
size_t mapped_by(const Process& process);

}  // namespace pmix::simulation
