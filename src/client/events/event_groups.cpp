// SPDX-License-Identifier: BSD-3-Clause
#include "client/events/event_groups.h"

#include <pmix_deprecated.h>

#include <span>

namespace pmix::client {
namespace {

constexpr pmix_status_t kComm[] = {
    PMIX_ERR_COMM_FAILURE,
    PMIX_ERR_LOST_CONNECTION,
    PMIX_ERR_UNREACH,
    PMIX_ERR_LOST_CONNECTION_TO_SERVER,
    PMIX_ERR_LOST_CONNECTION_TO_CLIENT,
    PMIX_ERR_LOST_PEER_CONNECTION,
};
constexpr pmix_status_t kMigrate[] = {
    PMIX_ERR_PROC_MIGRATE, PMIX_ERR_PROC_RESTART,          PMIX_ERR_PROC_CHECKPOINT,
    PMIX_JCTRL_CHECKPOINT, PMIX_JCTRL_CHECKPOINT_COMPLETE, PMIX_JCTRL_PREEMPT_ALERT,
};
constexpr pmix_status_t kProc[] = {
    PMIX_PROC_TERMINATED,          PMIX_EVENT_PROC_TERMINATED,    PMIX_ERR_EXIT_NONZERO_TERM,
    PMIX_ERR_PROC_ABORTED,         PMIX_ERR_PROC_REQUESTED_ABORT, PMIX_ERR_PROC_ABORTING,
    PMIX_ERR_PROC_ENTRY_NOT_FOUND, PMIX_ERR_PROC_TERM_WO_SYNC,    PMIX_ERR_PROC_KILLED_BY_CMD,
    PMIX_ERR_PROC_FAILED_TO_START, PMIX_ERR_PROC_ABORTED_BY_SIG,  PMIX_ERR_PROC_SENSOR_BOUND_EXCEEDED,
};
constexpr pmix_status_t kJob[] = {
    PMIX_EVENT_JOB_START,
    PMIX_EVENT_JOB_END,
    PMIX_LAUNCH_COMPLETE,
    PMIX_ERR_JOB_WDIR_NOT_ACCESSIBLE,
    PMIX_ERR_JOB_APP_NOT_EXECUTABLE,
    PMIX_ERR_JOB_NO_EXE_SPECIFIED,
    PMIX_ERR_JOB_EXE_NOT_FOUND,
    PMIX_ERR_JOB_WDIR_NOT_FOUND,
    PMIX_ERR_JOB_FAILED_TO_MAP,
    PMIX_ERR_JOB_INSUFFICIENT_RESOURCES,
    PMIX_ERR_JOB_ALLOC_FAILED,
    PMIX_ERR_JOB_FAILED_TO_LAUNCH,
    PMIX_ERR_JOB_SYS_OP_FAILED,
    PMIX_ERR_JOB_CANCELED,
    PMIX_ERR_JOB_ABORTED,
    PMIX_ERR_JOB_KILLED_BY_CMD,
    PMIX_ERR_JOB_ABORTED_BY_SIG,
    PMIX_ERR_JOB_ABORTED_BY_SYS_EVENT,
    PMIX_ERR_JOB_TERM_WO_SYNC,
    PMIX_ERR_JOB_SENSOR_BOUND_EXCEEDED,
    PMIX_ERR_JOB_NON_ZERO_TERM,
};

// The text of a group is the last part of its flag's key.
struct Group {
    std::string_view flag;
    std::span<const pmix_status_t> codes;
    std::string_view name() const noexcept { return flag.substr(flag.rfind('.') + 1); }
};
constexpr Group kGroups[] = {
    {PMIX_EVENT_GROUP_COMM, kComm}, {PMIX_EVENT_GROUP_MIGRATE, kMigrate}, {PMIX_EVENT_GROUP_PROC, kProc},
    {PMIX_EVENT_GROUP_JOB, kJob},   {PMIX_EVENT_GROUP_NODE, {}},
};

void add(const Group& group, std::vector<pmix_status_t>& codes) {
    codes.insert(codes.end(), group.codes.begin(), group.codes.end());
    if (group.flag != PMIX_EVENT_GROUP_NODE) return;
    for (pmix_status_t code = PMIX_EVENT_SYS_BASE; code >= PMIX_EVENT_SYS_OTHER; --code) codes.push_back(code);
}

}  // namespace

pmix_status_t add_event_groups(common::InfoView infos, std::vector<pmix_status_t>& codes, bool* any) {
    for (const pmix_info_t& info : infos) {
        const std::string_view key = common::key_view(info);
        const bool by_text = key == PMIX_EVENT_GROUP_NAME;
        std::string_view name = key;
        if (by_text) {
            if (info.value.type != PMIX_STRING || info.value.data.string == nullptr) return PMIX_ERR_BAD_PARAM;
            name = info.value.data.string;
        }
        bool known = false;
        for (const Group& group : kGroups) {
            if (name != group.flag && !(by_text && name == group.name())) continue;
            known = true;
            const pmix_boolean_t wanted = by_text ? PMIX_BOOL_TRUE : common::truth_of(info.value);
            if (wanted == PMIX_NON_BOOL) return PMIX_ERR_BAD_PARAM;
            if (wanted != PMIX_BOOL_TRUE) continue;
            add(group, codes);
            *any = true;
        }
        if (by_text && !known) return PMIX_ERR_BAD_PARAM;
    }
    return PMIX_SUCCESS;
}

}  // namespace pmix::client
