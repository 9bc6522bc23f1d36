// What a job's processes need from the node where it is launched: the variables of its programming model, and what the
// host said about that model.
//
// Reads this process's environment on the calling thread; nothing owned. What can go wrong: no memory, or a wish of a
// wrong type (PMIX_ERR_BAD_PARAM).
#pragma once

#include <string_view>

#include "common/info_view.h"
#include "common/status.h"
#include "common/value.h"

namespace pmix::server {

// "ompi", "Open MPI", "prrte,ompi" and so on.
bool names_open_mpi(std::string_view model) noexcept;
// A key by which a host says what a job's program is written with.
bool is_model_key(std::string_view key) noexcept;

// The answer to PMIx_server_setup_application. PMIX_SETUP_APP_ENVARS: PMIX_MCA_* and, unless the model is another one,
// OMPI_*, as PMIX_SET_ENVAR; what names one process of a job (ranks, sizes) is not for others and stays.
// PMIX_SETUP_APP_NONENVARS: the model. PMIX_SETUP_APP_ALL: both. None of them: nothing. Fabrics: fabric_setup.h.
common::Result<common::InfoList> set_up_application(common::InfoView wishes);

}  // namespace pmix::server
