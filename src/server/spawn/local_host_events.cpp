// SPDX-License-Identifier: BSD-3-Clause
// The events that a spawn's requester is sent about the job, as far as it has asked for them.
#include <ctime>

#include "server/events/events.h"
#include "server/spawn/local_host.h"

namespace pmix::server {

using common::InfoList;

// To the requester alone. The source is this process, which is the job's resource manager.
void LocalHost::tell(const LocalJob& job, pmix_status_t code, common::Rank about, InfoList infos) {
    const pmix_proc_t affected = common::ProcId(job.nspace, about).to_c(), to = job.parent.to_c();
    pmix_status_t rc = infos.append(PMIX_EVENT_AFFECTED_PROC, &affected, PMIX_PROC);
    if (rc == PMIX_SUCCESS) rc = infos.append(PMIX_EVENT_CUSTOM_RANGE, &to, PMIX_PROC);
    // The requester asked for these, and not for its default handler, which may take any event for a failure.
    if (rc == PMIX_SUCCESS) rc = infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
    if (rc == PMIX_SUCCESS) rc = infos.append_string(PMIX_NSPACE, job.nspace);
    if (rc == PMIX_SUCCESS) rc = infos.append_string(PMIX_JOBID, job.nspace);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<time_t>(PMIX_EVENT_TIMESTAMP, ::time(nullptr), PMIX_TIME);
    if (rc == PMIX_SUCCESS) around_.events.raise(code, around_.self, PMIX_RANGE_CUSTOM, std::move(infos));
}

void LocalHost::tell_started(const LocalJob& job) {
    if (!job.notices.job_events) return;
    tell(job, PMIX_EVENT_JOB_START, PMIX_RANK_WILDCARD, {});
    tell(job, PMIX_LAUNCH_COMPLETE, PMIX_RANK_WILDCARD, {});
}

void LocalHost::tell_process_ended(const LocalJob& job, common::Rank rank, pmix_status_t how, std::optional<int> code) {
    const bool abnormal = how != PMIX_SUCCESS && job.notices.abnormal_ends;
    if (!job.notices.process_ends && !abnormal) return;
    InfoList infos;
    pmix_status_t rc = infos.append_number(PMIX_PROC_TERM_STATUS, how, PMIX_STATUS);
    if (rc == PMIX_SUCCESS && code) rc = infos.append_number(PMIX_EXIT_CODE, *code, PMIX_INT);
    if (rc == PMIX_SUCCESS) tell(job, PMIX_EVENT_PROC_TERMINATED, rank, std::move(infos));
}

void LocalHost::tell_over(const LocalJob& job) {
    const bool silent = job.notices.silent_end && job.term_status == PMIX_SUCCESS;
    if (silent || !(job.notices.job_events || job.notices.completion)) return;
    InfoList infos;
    pmix_status_t rc = infos.append_number(PMIX_JOB_TERM_STATUS, job.term_status, PMIX_STATUS);
    if (job.failed) {
        const pmix_proc_t failed = common::ProcId(job.nspace, *job.failed).to_c();
        if (rc == PMIX_SUCCESS) rc = infos.append(PMIX_PROCID, &failed, PMIX_PROC);
        if (rc == PMIX_SUCCESS && job.failed_code) rc = infos.append_number(PMIX_EXIT_CODE, *job.failed_code, PMIX_INT);
    }
    if (rc == PMIX_SUCCESS) tell(job, PMIX_EVENT_JOB_END, PMIX_RANK_WILDCARD, std::move(infos));
}

}  // namespace pmix::server
