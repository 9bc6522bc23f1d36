// SPDX-License-Identifier: BSD-3-Clause
#include "client/events/model.h"

#include <algorithm>

#include "client/events/events.h"
#include "client/session/session.h"

namespace pmix::client {

void declare_model(Session& session, common::InfoView infos) {
    constexpr std::string_view kModelKeys[] = {
        PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION, PMIX_THREADING_MODEL,
        PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS,     PMIX_MODEL_CPU_TYPE,        PMIX_MODEL_AFFINITY_POLICY};
    common::InfoList told;
    for (const pmix_info_t& info : infos) {
        const auto key = common::key_view(info);
        if (std::find(std::begin(kModelKeys), std::end(kModelKeys), key) != std::end(kModelKeys)) told.append(info);
    }
    if (told.empty()) return;
    told.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    session.events().raise(PMIX_MODEL_DECLARED, session.self(), std::move(told));
}

}  // namespace pmix::client
