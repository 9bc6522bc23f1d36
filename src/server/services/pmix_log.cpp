// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/pmix_log.h"

#include <algorithm>

#include "server/host/required.h"

namespace pmix::server {

using common::InfoList;

namespace {

bool is_for_file(const LogEntry& entry) {
    return entry.channel == LogChannel::file;
}

auto answer_with(Reply reply) {
    return [reply = std::move(reply)](pmix_status_t status) mutable { reply.status(status); };
}

}  // namespace

// Its entries go out in their order, neighbours for the same writer together.
struct Log::Divided {
    std::shared_ptr<const LogTask> task;
    InfoList data, directives;
    common::ProcId source;
    bool known = false;  // what is required is known to the library
    Reply reply;
    size_t next = 0;
    bool written = false;
    pmix_status_t trouble = PMIX_SUCCESS;

    bool finished() const { return next == task->entries.size() || (task->once && written); }
    void note(pmix_status_t rc) {
        written = written || rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS;
        if (rc != PMIX_SUCCESS && (trouble == PMIX_SUCCESS || trouble == PMIX_ERR_NOT_SUPPORTED)) trouble = rc;
    }
    pmix_status_t answer() const {
        if (trouble == PMIX_SUCCESS || (task->once && written)) return PMIX_SUCCESS;
        return written ? PMIX_ERR_PARTIAL_SUCCESS : trouble;
    }
};

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
        return rc == PMIX_SUCCESS ? write(std::move(task), answer_with(std::move(reply))) : reply.status(rc);
    }
    // The time is that of the request, wherever it is written.
    if (task->generate_time && directives.find(PMIX_LOG_TIMESTAMP) == nullptr)
        rc = directives.append(PMIX_LOG_TIMESTAMP, &task->time, PMIX_TIME);
    if (rc == PMIX_SUCCESS) rc = append_ids(directives, peer.credentials());
    if (rc != PMIX_SUCCESS) return reply.status(rc);
    const Required required = required_in_service(host_, directives, common::Function::PMIx_Log);
    if (required == Required::unmet) return reply.status(PMIX_ERR_NOT_SUPPORTED);
    const bool known = required == Required::met_here;
    const auto files = static_cast<size_t>(std::count_if(task->entries.begin(), task->entries.end(), is_for_file));
    if (files != 0 && files != task->entries.size()) {
        auto divided = std::make_shared<Divided>();
        divided->task = std::move(task);
        divided->data = std::move(data);
        divided->directives = std::move(directives);
        divided->source = peer.id();
        divided->known = known;
        divided->reply = std::move(reply);
        return go_on(std::move(divided));
    }
    host_.log(peer.id(), std::move(data), std::move(directives),
              [this, known, task = std::move(task), reply = std::move(reply)](HostAnswer& a) mutable {
                  if (a.status == PMIX_ERR_NOT_SUPPORTED && known)
                      return write(std::move(task), answer_with(std::move(reply)));
                  reply.status(common::plain(a.status));
              });
}

void Log::go_on(std::shared_ptr<Divided> request) {
    if (request->finished()) return request->reply.status(request->answer());
    auto part = std::make_shared<LogTask>(*request->task);
    const auto first = request->task->entries.begin() + static_cast<ptrdiff_t>(request->next);
    const bool file = is_for_file(*first);
    const auto end = std::find_if(first, request->task->entries.end(),
                                  [file](const LogEntry& entry) { return is_for_file(entry) != file; });
    part->entries.assign(first, end);
    const auto size = static_cast<size_t>(end - first);
    const pmix_info_t* infos = request->data.c_array() + request->next;
    request->next += size;
    auto noted = [this, request](pmix_status_t rc) {
        request->note(rc);
        go_on(request);
    };
    if (file) return write(std::move(part), std::move(noted));
    auto data = InfoList::from_c(infos, size);
    auto directives = InfoList::from_c(request->directives.c_array(), request->directives.size());
    if (!data.ok() || !directives.ok()) return request->reply.status(PMIX_ERR_NOMEM);
    host_.log(request->source, std::move(*data), std::move(*directives),
              [this, request, part = std::move(part), noted = std::move(noted)](HostAnswer& a) mutable {
                  if (a.status == PMIX_ERR_NOT_SUPPORTED && request->known)
                      return write(std::move(part), std::move(noted));
                  noted(common::plain(a.status));
              });
}

// `done` gets the status.
template <class Done>
void Log::write(std::shared_ptr<const LogTask> task, Done done) {
    auto status = std::make_shared<pmix_status_t>(PMIX_ERROR);
    blocking_tasks_.add(
        task->user,
        [task, status, sinks = sinks_, streams = streams_](bool as_user) {
            *status = write_log(*task, sinks, *streams, as_user);
        },
        [status, done = std::move(done)]() mutable { done(*status); });
}

}  // namespace pmix::server
