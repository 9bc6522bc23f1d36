// SPDX-License-Identifier: BSD-3-Clause
// The values that programs put: a number chooses type, size and bytes, so that a value that was read names its put.
#pragma once

#include <cstdint>

#include "simulation/library.h"

namespace pmix::simulation {

// The caller destructs the value with this copy of the library.
pmix_value_t value_of(const Library& pmix, uint32_t number);
// 0: no value of any number.
uint32_t number_of(const pmix_value_t& value);

}  // namespace pmix::simulation
