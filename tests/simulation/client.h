// SPDX-License-Identifier: BSD-3-Clause
// A rank of a simulated job: it takes its steps of a program with its own copy of the library.
#pragma once

#include "simulation/library.h"
#include "simulation/model.h"

namespace pmix::simulation {

// From PMIx_Init to PMIx_Finalize; each call is entered into the history.
void run_rank(int rank, const Library& pmix, History& history);

}  // namespace pmix::simulation
