// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/setup_application.h"

#include <unistd.h>

#include <string>

#include "common/protocol/app_environment.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::InfoView;

pmix_status_t append_environment(bool open_mpi, InfoList& out) {
    return common::harvest(environ, open_mpi, [&](std::string_view name_view, std::string_view value_view) {
        std::string name(name_view), value(value_view);
        const pmix_envar_t variable{name.data(), value.data(), '\0'};
        // Settings of devices in a process's own environment stay.
        const char* key = common::is_device_variable(name_view) ? PMIX_ADD_ENVAR : PMIX_SET_ENVAR;
        return out.append(key, &variable, PMIX_ENVAR);
    });
}

}  // namespace

common::Result<InfoList> set_up_application(InfoView options) {
    bool all = false, variables = false, others = false, harvested = false;
    pmix_status_t rc = options.get(PMIX_SETUP_APP_ALL, &all);
    if (rc == PMIX_SUCCESS) rc = options.get(PMIX_SETUP_APP_ENVARS, &variables);
    if (rc == PMIX_SUCCESS) rc = options.get(PMIX_SETUP_APP_NONENVARS, &others);
    if (rc == PMIX_SUCCESS) rc = options.get(PMIX_ENVARS_HARVESTED, &harvested);
    if (rc != PMIX_SUCCESS) return rc;

    // Without a word on the model, what Open MPI would need goes along: others do not mind it.
    bool said = false, open_mpi = false;
    for (const pmix_info_t& info : options) {
        const std::string_view key = common::key_view(info);
        if (!common::is_model_key(key) || key == PMIX_MODEL_LIBRARY_VERSION) continue;
        if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
        said = true;
        open_mpi = open_mpi || common::names_open_mpi(info.value.data.string);
    }
    InfoList answer;
    if ((all || variables) && !harvested) rc = append_environment(open_mpi || !said, answer);
    for (const pmix_info_t& info : options) {
        if (rc == PMIX_SUCCESS && (all || others) && common::is_model_key(common::key_view(info)))
            rc = answer.append(info);
    }
    if (rc != PMIX_SUCCESS) return rc;
    return answer;
}

}  // namespace pmix::server
