// The event codes that the host has been asked to report: each once, from its first user to its last.
//
// Loop thread only. Owns the count of users of each code and the registrations that wait for the host's word. The host
// is asked only for codes that none of its earlier answers covers, and told when the last user of a code has gone.
// What can go wrong: the host refuses; then whoever waits for one of these codes is refused too, and its other codes
// are given back. A host that has no such events (PMIX_ERR_NOT_SUPPORTED) refuses nothing.
#pragma once

#include <pmix_common.h>

#include <map>
#include <memory>
#include <vector>

#include "common/values/value.h"
#include "server/base/callback.h"
#include "server/host/host.h"

namespace pmix::server {

class EventCodes {
  public:
    using Done = Callback<void(pmix_status_t)>;

    explicit EventCodes(Host& host) : host_(host) {}
    EventCodes(const EventCodes&) = delete;
    EventCodes& operator=(const EventCodes&) = delete;

    // One more user of each of these codes (each given once). done may run before this returns; when it is told of a
    // failure, nothing of this call is left.
    void want(const std::vector<pmix_status_t>& codes, common::InfoList infos, Done done);
    void drop(const std::vector<pmix_status_t>& codes);

  private:
    struct Wish {
        std::vector<pmix_status_t> codes;
        size_t unanswered = 0;  // of its codes
        bool failed = false;
        Done done;
    };
    using WishPtr = std::shared_ptr<Wish>;
    enum class Phase : uint8_t { asked, reported, unknown_to_host };
    struct Code {
        size_t users = 0;
        Phase phase = Phase::asked;
        std::vector<WishPtr> waiting;
    };

    void answered(const std::vector<pmix_status_t>& codes, pmix_status_t status);
    void refused(const std::vector<pmix_status_t>& codes, pmix_status_t status);

    Host& host_;
    std::map<pmix_status_t, Code> codes_;
};

}  // namespace pmix::server
