// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/debug_stop.h"

#include <pmix.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iterator>

#include "client/data/get.h"
#include "client/events/events.h"
#include "client/session/session.h"
#include "common/base/log.h"
#include "common/values/info_view.h"
#include "common/values/value.h"
#include "runtime/library.h"
#include "transport/event_loop.h"
#include "transport/waiter.h"

namespace pmix::api {
namespace {

using common::InfoList;
using common::InfoView;
using common::ProcId;

bool is_one_of(const pmix_data_array_t& array, const ProcId& self) noexcept {
    const auto is_self = [&](pmix_rank_t rank) { return rank == self.rank || rank == PMIX_RANK_WILDCARD; };
    const auto* ranks = static_cast<const pmix_rank_t*>(array.array);
    const auto* procs = static_cast<const pmix_proc_t*>(array.array);
    if (array.type == PMIX_PROC_RANK) return std::any_of(ranks, ranks + array.size, is_self);
    return array.type == PMIX_PROC && std::any_of(procs, procs + array.size, [&](const pmix_proc_t& proc) {
               return is_self(proc.rank) && common::nspace_view(proc.nspace) == self.nspace;
           });
}

// All ranks (true), one of them, or several.
bool means(const pmix_value_t& value, const ProcId& self) noexcept {
    if (value.type == PMIX_PROC_RANK) return value.data.rank == self.rank || value.data.rank == PMIX_RANK_WILDCARD;
    if (value.type == PMIX_DATA_ARRAY) return value.data.darray != nullptr && is_one_of(*value.data.darray, self);
    return common::truth_of(value) == PMIX_BOOL_TRUE;
}

bool is_to_stop(client::Session& session) {
    const ProcId& self = session.self();
    pmix_proc_t job = self.to_c();
    job.rank = PMIX_RANK_WILDCARD;
    InfoList optional;
    if (optional.append_flag(PMIX_OPTIONAL, true) != PMIX_SUCCESS) return false;
    pmix_value_t* value = nullptr;
    if (client::get(session, &job, PMIX_DEBUG_STOP_IN_INIT, optional.c_array(), optional.size(), &value) !=
            PMIX_SUCCESS ||
        value == nullptr)
        return false;
    const bool stop = means(*value, self);
    common::destroy_value(value);
    std::free(value);
    return stop;
}

// More than one release may come.
struct Stop {
    std::string nspace;  // the process's own: the end of a neighbour is no release
    transport::Waiter waiter;
    std::atomic<bool> over{false};
};

bool is_of_neighbour(const Stop& stop, pmix_status_t status, const pmix_proc_t* source) noexcept {
    return status == PMIX_ERR_LOST_CONNECTION && source != nullptr &&
           common::nspace_view(source->nspace) == stop.nspace;
}

void released(size_t, pmix_status_t status, const pmix_proc_t* source, pmix_info_t infos[], size_t ninfos, pmix_info_t*,
              size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    void* stop = nullptr;
    InfoView(infos, ninfos).get(PMIX_EVENT_RETURN_OBJECT, &stop);
    if (stop != nullptr && !is_of_neighbour(*static_cast<Stop*>(stop), status, source) &&
        !static_cast<Stop*>(stop)->over.exchange(true))
        static_cast<Stop*>(stop)->waiter.complete();
    done(PMIX_SUCCESS, nullptr, 0, nullptr, nullptr, cbdata);
}

pmix_status_t tell_host(client::Session& session, const char* where) {
    InfoList infos;
    const pmix_proc_t me = session.self().to_c();
    pmix_status_t rc = infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    if (rc == PMIX_SUCCESS) rc = infos.append_string(PMIX_BREAKPOINT, where);
    if (rc == PMIX_SUCCESS) rc = infos.append(PMIX_EVENT_AFFECTED_PROC, &me, PMIX_PROC);
    if (rc != PMIX_SUCCESS) return rc;
    return session.events().notify(PMIX_READY_FOR_DEBUG, &me, PMIX_RANGE_RM, infos.c_array(), infos.size(), nullptr,
                                   nullptr);
}

}  // namespace

void stop_for_debugger(Library& library, const char* where) {
    client::Session& session = library.client();
    if (!session.connected() || !is_to_stop(session)) return;
    Stop stop;
    stop.nspace = session.self().nspace;
    void* object = &stop;
    InfoList infos;
    if (infos.append_number(PMIX_EVENT_RETURN_OBJECT, object, PMIX_POINTER) != PMIX_SUCCESS) return;
    // Before the host is told: the release may come at once.
    pmix_status_t codes[] = {PMIX_DEBUGGER_RELEASE, PMIX_ERR_LOST_CONNECTION};
    const pmix_status_t handler = session.events().register_handler(codes, std::size(codes), infos.c_array(),
                                                                    infos.size(), released, nullptr, nullptr);
    if (handler < 0) return;
    const pmix_status_t told = tell_host(session, where);
    WIREUP_LOG(api, info, "waits in %s for a debugger; the host: %s", where, common::log_status(told));
    library.loop().wait(stop.waiter, transport::Deadline::never());
    // On the loop, where handlers run: it does not run any more when this has returned.
    session.events().deregister_handler(static_cast<size_t>(handler), nullptr, nullptr);
}

}  // namespace pmix::api
