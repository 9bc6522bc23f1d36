// SPDX-License-Identifier: BSD-3-Clause
// What a job's processes need from the node where it is launched: the variables of its programming model, and what the
// host said about that model.
//
// Reads this process's environment on the calling thread; nothing owned. What can go wrong: no memory, or an option of
// a wrong type (PMIX_ERR_BAD_PARAM).
#pragma once

#include "common/base/status.h"
#include "common/values/info_view.h"
#include "common/values/value.h"

namespace pmix::server {

// The answer to PMIx_server_setup_application. PMIX_SETUP_APP_ENVARS: PMIX_MCA_* and, unless the model is another one,
// OMPI_*, as PMIX_SET_ENVAR, and those of GPUs and fabrics as PMIX_ADD_ENVAR (common/protocol/app_environment.h),
// unless PMIX_ENVARS_HARVESTED is set: then the requester of the job has sent its own. PMIX_SETUP_APP_NONENVARS: the
// model. PMIX_SETUP_APP_ALL: both. None of them: nothing. Fabrics: fabric_allocation.h.
common::Result<common::InfoList> set_up_application(common::InfoView options);

}  // namespace pmix::server
