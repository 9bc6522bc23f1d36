// SPDX-License-Identifier: BSD-3-Clause
// The programming model that an Init declares, told to the process's own handlers (PMIX_MODEL_DECLARED).
//
// Any thread. Nothing can go wrong that the caller would want to know.
#pragma once

#include "common/values/info_view.h"

namespace pmix::client {

class Session;

// Does nothing where no model attribute is given.
void declare_model(Session& session, common::InfoView infos);

}  // namespace pmix::client
