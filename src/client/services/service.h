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

template <common::Command C>
using RequestOf = typename common::CommandTypes<C>::Request;

// A request and how long its caller waits; 0: without a limit.
template <class Request>
struct Prepared {
    Request request;
    int timeout_s = 0;
};

// A call whose infos are the directives of its request: both are checked, and the limit is read.
template <class Request>
common::Result<Prepared<Request>> prepare_directives(const Session& session, const pmix_info_t directives[],
                                                     size_t ndirectives) {
    Prepared<Request> p;
    pmix_status_t rc = check_directives(session, directives, ndirectives);
    if (rc == PMIX_SUCCESS) rc = read_timeout(directives, ndirectives, &p.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    p.request.directives = common::Infos::borrow(directives, ndirectives);
    return p;
}

// Passes on the results of the reply, also with a refusal.
template <common::Command C>
pmix_status_t ask_for_results(Session& session, const Prepared<RequestOf<C>>& asked, ResultsOut results) {
    common::ResultsReply reply;
    const pmix_status_t rc = plain(session.ask<C>(asked.request, reply, asked.timeout_s));
    if (results.infos != nullptr && results.ninfos != nullptr)
        *results.infos = reply.infos.take().release(results.ninfos);
    return rc;
}

template <common::Command C>
pmix_status_t ask_for_results_nb(Session& session, const Prepared<RequestOf<C>>& asked, pmix_info_cbfunc_t callback,
                                 void* cbdata) {
    const auto done = [callback, cbdata](pmix_status_t rc, common::ResultsReply& reply) {
        give_results(callback, cbdata, plain(rc), reply.infos.take());
    };
    return session.ask_nb<C>(asked.request, done, asked.timeout_s);
}

template <common::Command C>
pmix_status_t ask_for_status_nb(Session& session, const Prepared<RequestOf<C>>& asked, pmix_op_cbfunc_t callback,
                                void* cbdata) {
    const auto done = [callback, cbdata](pmix_status_t rc, common::ResultsReply&) {
        if (callback != nullptr) callback(plain(rc), cbdata);
    };
    return session.ask_nb<C>(asked.request, done, asked.timeout_s);
}

}  // namespace pmix::client
