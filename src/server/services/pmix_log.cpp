// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/pmix_log.h"

#include <time.h>

#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;

void Log::request(Peer& peer, common::LogRequest& request, Reply reply) {
    auto task = std::make_shared<LogTask>();
    task->gateway = gateway_;
    task->source = peer.id();
    task->user = {peer.credentials().uid, peer.credentials().gid};
    InfoList data = request.infos.take(), directives = request.directives.take();
    const bool own = peer.kind() == PeerKind::self;
    pmix_status_t rc = read_log_task(data, directives, own, *task);
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    if (own || !host_.has_log()) {
        // The library writes it: what is required must be known to the library.
        rc = check_log_directives(directives);
        return rc == PMIX_SUCCESS ? write(std::move(task), std::move(reply)) : reply.status(rc);
    }
    // The time is that of the request, wherever it is written.
    if (task->generate_time && directives.find(PMIX_LOG_TIMESTAMP) == nullptr)
        rc = directives.append(PMIX_LOG_TIMESTAMP, &task->time, PMIX_TIME);
    if (rc == PMIX_SUCCESS) rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const Required required = required_in_service(host_, directives, common::Function::PMIx_Log);
    if (required == Required::unmet) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    const bool known = required == Required::met_here;
    host_.log(peer.id(), std::move(data), std::move(directives),
              [this, known, task = std::move(task), reply = std::move(reply)](HostAnswer& a) mutable {
                  if (a.status == PMIX_ERR_NOT_SUPPORTED && known) return write(std::move(task), std::move(reply));
                  reply.status(common::plain(a.status));
              });
}

void Log::write(std::shared_ptr<const LogTask> task, Reply reply) {
    auto status = std::make_shared<pmix_status_t>(PMIX_ERROR);
    blocking_tasks_.add(
        task->user,
        [task, status, sinks = sinks_, streams = streams_](bool as_user) {
            *status = write_log(*task, sinks, *streams, as_user);
        },
        [status, reply = std::move(reply)]() mutable { reply.status(*status); });
}

}  // namespace pmix::server
