// SPDX-License-Identifier: BSD-3-Clause
// What the calls that a host serves have in common: infos go up, a status and infos come back.
//
// Free functions, callers' threads. What can go wrong: see request.h and session.h.
#pragma once

#include "client/services/control.h"
#include "client/session/request.h"
#include "client/session/results.h"
#include "client/session/session.h"

namespace pmix::client {

// Passes on the results of the reply, also with a refusal.
template <common::Command C>
pmix_status_t ask_for_results(Session& session, const common::ControlRequest& request, int timeout_s,
                              ResultsOut results) {
    common::ControlReply reply;
    const pmix_status_t rc = plain(session.ask<C>(request, reply, timeout_s));
    if (results.infos != nullptr && results.ninfos != nullptr)
        *results.infos = reply.infos.take().release(results.ninfos);
    return rc;
}

template <common::Command C>
pmix_status_t ask_for_results_nb(Session& session, const common::ControlRequest& request, int timeout_s,
                                 pmix_info_cbfunc_t callback, void* cbdata) {
    const auto done = [callback, cbdata](pmix_status_t rc, common::ControlReply& reply) {
        give_results(callback, cbdata, plain(rc), reply.infos.take());
    };
    return session.ask_nb<C>(request, done, timeout_s);
}

template <common::Command C>
pmix_status_t ask_for_status_nb(Session& session, const common::ControlRequest& request, int timeout_s,
                                pmix_op_cbfunc_t callback, void* cbdata) {
    const auto done = [callback, cbdata](pmix_status_t rc, common::ControlReply&) {
        if (callback != nullptr) callback(plain(rc), cbdata);
    };
    return session.ask_nb<C>(request, done, timeout_s);
}

}  // namespace pmix::client
