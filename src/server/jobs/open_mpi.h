// SPDX-License-Identifier: BSD-3-Clause
// The variables by which Open MPI's users find their place in a job before MPI_Init: its launcher sets them, so a host
// that launches Open MPI programs through this library gets them too.
//
// Loop thread, nothing owned. Values that the host did not give are left out.
#pragma once

#include "common/base/ids.h"
#include "server/jobs/launch_env.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// Is the job's program said to be Open MPI's: by the job's own data, or by PMIx_server_setup_local_support?
bool is_open_mpi(const Nspace& nspace);
// OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_RANK, ..., for one rank of this node.
Variables open_mpi_variables(const Nspace& nspace, common::Rank rank);

}  // namespace pmix::server
