// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_Init, PMIx_Finalize, PMIx_Initialized, PMIx_Get_version, PMIx_Abort, PMIx_Progress,
// PMIx_Progress_thread_stop.
//
// Any thread. No state here: see library.
#include <pmix.h>

#include "abi/boundary.h"
#include "client/services/spawn.h"
#include "client/session/session.h"
#include "common/base/version.h"
#include "common/values/info_view.h"
#include "transport/event_loop.h"

using pmix::api::boundary;
using pmix::api::guarded;
using pmix::api::Library;

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* proc, pmix_info_t info[], size_t ninfo) {
    pmix::transport::CancelShield no_cancel;
    return guarded([&] { return Library::init_client(proc, info, ninfo); });
}

pmix_status_t PMIx_Finalize(const pmix_info_t info[], size_t ninfo) {
    pmix::transport::CancelShield no_cancel;
    return guarded([&] { return Library::finalize_client(info, ninfo); });
}

int PMIx_Initialized(void) {
    return Library::current() != nullptr ? 1 : 0;
}

const char* PMIx_Get_version(void) {
    return pmix::common::kVersionText;
}

pmix_status_t PMIx_Abort(int status, const char msg[], pmix_proc_t procs[], size_t nprocs) {
    return boundary(
        [&](Library& library) { return pmix::client::abort(library.client(), status, msg, procs, nprocs); });
}

void PMIx_Progress(void) {
    boundary([](Library& library) {
        library.loop().progress();
        return PMIX_SUCCESS;
    });
}

void PMIx_Progress_thread_stop(const pmix_info_t* info, size_t ninfo) {
    boundary([&](Library& library) -> pmix_status_t {
        if (info == nullptr && ninfo != 0) return PMIX_ERR_BAD_PARAM;
        const pmix::common::InfoView infos(info, ninfo);
        WIREUP_RETURN_IF_ERROR(pmix::common::check_flags(infos));
        std::string_view name;
        pmix_status_t rc = infos.get(PMIX_PROGRESS_THREAD_NAME, &name);
        // Until OpenPMIx 6 the attribute had the string that PMIX_EVENT_HDLR_NAME still has.
        if (rc == PMIX_SUCCESS && !infos.has(PMIX_PROGRESS_THREAD_NAME)) rc = infos.get(PMIX_EVENT_HDLR_NAME, &name);
        if (rc != PMIX_SUCCESS) return rc;
        if (!name.empty() && name != pmix::transport::kLoopThreadName) return PMIX_ERR_NOT_FOUND;
        const bool flush = !infos.has(PMIX_PROGRESS_THREAD_FLUSH) || infos.flag(PMIX_PROGRESS_THREAD_FLUSH);
        return library.loop().hand_over(flush);
    });
}

}  // extern "C"
