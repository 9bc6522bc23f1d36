// SPDX-License-Identifier: BSD-3-Clause
// The API: PMIx_IOF_pull, PMIx_IOF_deregister, PMIx_IOF_push, and the host's PMIx_server_IOF_deliver.
//
// Any thread. Conversions only: what the calls do is in client/iof/iof and server/iof/iof. The host's callback is
// called when the readers have room for the bytes: until then the host should read no more from a process whose readers
// are slow.
#include <pmix_server.h>
#include <pmix_tool.h>

#include "abi/boundary.h"
#include "client/iof/iof.h"
#include "client/session/session.h"
#include "common/base/ids.h"
#include "server/server.h"
#include "transport/event_loop.h"

using pmix::api::boundary;
using pmix::api::guarded;
using pmix::api::Library;
using pmix::server::Server;

extern "C" {

pmix_status_t PMIx_IOF_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                            pmix_iof_channel_t channel, pmix_iof_cbfunc_t cbfunc, pmix_hdlr_reg_cbfunc_t regcbfunc,
                            void* regcbdata) {
    return boundary([&](Library& library) {
        return library.client().iof().pull(procs, nprocs, directives, ndirs, channel, cbfunc, regcbfunc, regcbdata);
    });
}

pmix_status_t PMIx_IOF_deregister(size_t iofhdlr, const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc,
                                  void* cbdata) {
    return boundary([&](Library& library) -> pmix_status_t {
        return library.client().iof().deregister(iofhdlr, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_IOF_push(const pmix_proc_t targets[], size_t ntargets, pmix_byte_object_t* bo,
                            const pmix_info_t directives[], size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) {
        return library.client().iof().push(targets, ntargets, bo, directives, ndirs, cbfunc, cbdata);
    });
}

pmix_status_t PMIx_server_IOF_deliver(const pmix_proc_t* source, pmix_iof_channel_t channel,
                                      const pmix_byte_object_t* bo, const pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return pmix::api::server_boundary([&](Library& library, Server& srv) -> pmix_status_t {
        if (source == nullptr) return PMIX_ERR_BAD_PARAM;
        const size_t length = pmix::common::bounded_length(source->nspace, sizeof source->nspace);
        if (length == 0 || length > pmix::common::kMaxNspaceLength) return PMIX_ERR_BAD_PARAM;
        if ((info == nullptr && ninfo != 0) || (bo != nullptr && bo->bytes == nullptr && bo->size != 0))
            return PMIX_ERR_BAD_PARAM;
        // Input goes to the process itself, by the host that has its stdin.
        if (channel == PMIX_FWD_STDIN_CHANNEL) return PMIX_ERR_NOT_SUPPORTED;
        if (channel != PMIX_FWD_STDOUT_CHANNEL && channel != PMIX_FWD_STDERR_CHANNEL &&
            channel != PMIX_FWD_STDDIAG_CHANNEL)
            return PMIX_ERR_BAD_PARAM;
        pmix::server::IofDelivery delivery;
        delivery.source = pmix::common::ProcId(*source);
        delivery.channel = channel;
        if (bo != nullptr) delivery.data.assign(bo->bytes, bo->bytes + bo->size);
        auto infos = pmix::common::InfoList::from_c(info, ninfo);
        if (!infos.ok()) return infos.status();
        delivery.infos = std::move(infos).value();

        auto& loop = library.loop();
        if (cbfunc != nullptr) {
            delivery.done = [cbfunc, cbdata](pmix_status_t status) { cbfunc(status, cbdata); };
            loop.post([&srv, d = std::move(delivery)]() mutable {
                guarded([&] {
                    srv.deliver_output(std::move(d));
                    return PMIX_SUCCESS;
                });
            });
            return PMIX_SUCCESS;
        }
        if (loop.on_loop_thread()) {
            // Inside an upcall: taken over, and nobody waits for the readers.
            srv.deliver_output(std::move(delivery));
            return PMIX_SUCCESS;
        }
        pmix_status_t rc = PMIX_ERROR;
        pmix::transport::Waiter done;
        delivery.done = [&](pmix_status_t status) {
            rc = status;
            done.complete();
        };
        loop.post([&srv, d = std::move(delivery)]() mutable { srv.deliver_output(std::move(d)); });
        loop.wait(done, pmix::transport::Deadline::never());
        return rc;
    });
}

}  // extern "C"
