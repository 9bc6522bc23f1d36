// Calls of the interface that the library does not serve yet. Owns nothing; any thread may call them, at any time.
// Each answers PMIX_ERR_INIT where there is no library and PMIX_ERR_NOT_SUPPORTED where there is one, and makes its
// outputs safe: callers free them without a look at the status.
// A call leaves this file in the commit that brings the real one; the headings name the file where it will be.
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>

#include "api/library.h"

namespace {

pmix_status_t unsupported() noexcept {
    return pmix::api::Library::current() == nullptr ? PMIX_ERR_INIT : PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t unsupported_by_server() noexcept {
    pmix::api::Library* library = pmix::api::Library::current();
    return library == nullptr || library->server() == nullptr ? PMIX_ERR_INIT : PMIX_ERR_NOT_SUPPORTED;
}

template <class T>
void no_object(T** object) {
    if (object != nullptr) *object = nullptr;
}

template <class T>
void no_array(T** array, size_t* count) {
    no_object(array);
    if (count != nullptr) *count = 0;
}

}  // namespace

extern "C" {

// client_control.cpp: fabric

pmix_status_t PMIx_Fabric_register(pmix_fabric_t*, const pmix_info_t*, size_t) {
    return unsupported();
}

pmix_status_t PMIx_Fabric_register_nb(pmix_fabric_t*, const pmix_info_t*, size_t, pmix_op_cbfunc_t, void*) {
    return unsupported();
}

pmix_status_t PMIx_Fabric_update(pmix_fabric_t*) {
    return unsupported();
}

pmix_status_t PMIx_Fabric_update_nb(pmix_fabric_t*, pmix_op_cbfunc_t, void*) {
    return unsupported();
}

pmix_status_t PMIx_Fabric_deregister(pmix_fabric_t*) {
    return unsupported();
}

pmix_status_t PMIx_Fabric_deregister_nb(pmix_fabric_t*, pmix_op_cbfunc_t, void*) {
    return unsupported();
}

// client_init.cpp: progress thread

void PMIx_Progress_thread_stop(const pmix_info_t*, size_t) {}

// server_api.cpp: a job's information in one buffer

pmix_status_t PMIx_server_collect_job_info(pmix_proc_t*, size_t, pmix_data_buffer_t*) {
    return unsupported_by_server();
}

}  // extern "C"
