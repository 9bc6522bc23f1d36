// SPDX-License-Identifier: BSD-3-Clause
#include "server/host/host.h"

#include <cstdlib>
#include <utility>

namespace pmix::server {

using common::InfoList;

void remove_ids(InfoList& infos) {
    infos.remove(PMIX_USERID);
    infos.remove(PMIX_GRPID);
}

pmix_status_t append_ids(InfoList& infos, const Credentials& user) {
    remove_ids(infos);
    pmix_status_t rc = infos.append_number<uint32_t>(PMIX_USERID, user.uid, PMIX_UINT32);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<uint32_t>(PMIX_GRPID, user.gid, PMIX_UINT32);
    return rc;
}

void replace_ids(pmix_app_t& app, const Credentials& user) noexcept {
    for (size_t i = 0; i < app.ninfo; ++i) {
        pmix_info_t& info = app.info[i];
        const std::string_view key = common::key_view(info);
        if (key != PMIX_USERID && key != PMIX_GRPID) continue;
        common::destroy_value(&info.value);
        info.value.type = PMIX_UINT32;
        info.value.data.uint32 = key == PMIX_USERID ? user.uid : user.gid;
    }
}

void Host::answer(Done done, pmix_status_t status) {
    scheduler_.post([done = std::move(done), status]() mutable {
        HostAnswer a;
        a.status = status;
        done(a);
    });
}

void Host::fence(const common::ProcSet&, InfoList, char* blob, size_t, Done done) {
    std::free(blob);
    refuse(std::move(done));
}

}  // namespace pmix::server
