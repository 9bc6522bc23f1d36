// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_served.h"

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

#include "client/session/session.h"
#include "client/state/group_membership.h"
#include "common/values/info_view.h"

namespace pmix::client {

using common::Command;
using common::GroupCall;
using common::InfoList;

namespace {

// An invitation's limit is the server's to keep: at its end there may be a group of those that are in it.
constexpr int kAnswerS = 7;

pmix_status_t ask_for_group(Session& session, common::GroupRequest&& request, int timeout_s, GroupDone done) {
    const std::string name = request.name;
    const bool forms = request.call != GroupCall::decline;
    if (forms) session.group_membership().constructing(name);
    const auto finish = [&session, name, forms, done = std::move(done)](pmix_status_t rc, common::GroupReply& reply) {
        try {
            InfoList results = reply.infos.take();
            if (forms) session.group_membership().constructed(name, rc, results);
            if (!session.is_shut()) {
                // Behind the handlers of the events that were before it, which are about the members.
                return session.loop().post([done, rc, results = std::move(results)]() mutable {
                    done(common::plain(rc), std::move(results));
                });
            }
            done(common::plain(rc), std::move(results));
        } catch (const std::bad_alloc&) {  // the caller waits
            done(PMIX_ERR_NOMEM, {});
        }
    };
    const pmix_status_t rc = session.ask_nb<Command::group>(request, finish, timeout_s);
    if (rc != PMIX_SUCCESS && forms) session.group_membership().constructed(name, rc, {});
    return rc;
}

common::GroupRequest request_of(GroupCall call, std::string&& name, common::ProcList&& procs, const InfoList& infos) {
    common::GroupRequest request;
    request.call = call;
    request.name = std::move(name);
    request.procs = std::move(procs);
    request.infos = common::Infos::borrow(infos.c_array(), infos.size());
    return request;
}

int limit_in(const InfoList& infos) noexcept {
    int seconds = 0;
    return common::InfoView(infos).get(PMIX_TIMEOUT, &seconds) == PMIX_SUCCESS && seconds > 0 ? seconds : 0;
}

}  // namespace

pmix_status_t invite_by_server(Session& session, std::string name, common::ProcList members, const InfoList& infos,
                               GroupDone done) {
    const int seconds = limit_in(infos);
    return ask_for_group(session, request_of(GroupCall::invite, std::move(name), std::move(members), infos),
                         seconds == 0 ? 0 : seconds + std::min(kAnswerS, INT_MAX - seconds), std::move(done));
}

pmix_status_t join_by_server(Session& session, std::string name, common::ProcList leader, bool accept,
                             const InfoList& infos, GroupDone done) {
    const GroupCall call = accept ? GroupCall::accept : GroupCall::decline;
    return ask_for_group(session, request_of(call, std::move(name), std::move(leader), infos), limit_in(infos),
                         std::move(done));
}

}  // namespace pmix::client
