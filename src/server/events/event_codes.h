// SPDX-License-Identifier: BSD-3-Clause
// The event codes that the host has been asked to report: each once, from its first user to its last.
//
// Loop thread only. Owns the count of users of each code and the registrations that wait for the host's answer. The
// host is asked only for codes that none of its earlier answers covers, and told when the last user of a code has gone.
// What can go wrong: the host refuses; then each registration that waits for one of these codes is refused too, and its
// other codes are given back. A host that has no such events (PMIX_ERR_NOT_SUPPORTED) refuses nothing. A step is lost
// for lack of memory, the host's answer perhaps: every registration that waits for it is answered all the same, by the
// step itself or by recover().
#pragma once

#include <pmix_common.h>

#include <list>
#include <map>
#include <memory>
#include <vector>

#include "common/base/callback.h"
#include "common/values/value.h"
#include "server/host/host.h"

namespace pmix::server {

class EventCodes {
  public:
    using Done = common::Callback<void(pmix_status_t)>;

    explicit EventCodes(Host& host) : host_(host) {}
    EventCodes(const EventCodes&) = delete;
    EventCodes& operator=(const EventCodes&) = delete;

    // One more user of each of these codes (each given once). done may run before this returns; when it is told of a
    // failure, nothing of this call is left.
    void want(const std::vector<pmix_status_t>& codes, common::InfoList infos, Done done);
    void drop(const std::vector<pmix_status_t>& codes);
    // As CollectiveOperation::recover().
    void recover();

  private:
    struct Registration {
        std::vector<pmix_status_t> codes;
        size_t unanswered = 0;  // of its codes
        pmix_status_t failure = PMIX_SUCCESS;
        Done done;
    };
    using RegistrationPtr = std::shared_ptr<Registration>;
    enum class Phase : uint8_t { asked, reported, unknown_to_host };
    struct Code {
        size_t users = 0;
        Phase phase = Phase::asked;
        std::list<RegistrationPtr> waiting;
        std::weak_ptr<const void> answer_due;  // expired, while the host is asked: its answer was lost
    };

    void take_back(const RegistrationPtr& registration) noexcept;
    void answered(const std::vector<pmix_status_t>& codes, pmix_status_t status);
    void refused(const std::vector<pmix_status_t>& codes, pmix_status_t status);
    void answer_served(const std::vector<pmix_status_t>& codes);
    void answer_refused();
    void forget_unused(const std::vector<pmix_status_t>& codes);
    void forget_unused();

    Host& host_;
    std::map<pmix_status_t, Code> codes_;
    std::list<RegistrationPtr> refused_;  // to be told; their codes are given back
};

}  // namespace pmix::server
