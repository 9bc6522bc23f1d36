// SPDX-License-Identifier: BSD-3-Clause
// The modules of a process's library beside its session, and the session that has them: event handlers, forwarded
// output, groups, fabrics.
//
// Owns them, as the session owns this. Loop thread, except where a module says otherwise.
#pragma once

#include <memory>

#include "client/events/event_observer.h"
#include "client/events/events.h"
#include "client/groups/group_events.h"
#include "client/iof/iof.h"
#include "client/services/fabric.h"
#include "client/session/session.h"
#include "client/session/session_modules.h"

namespace pmix::client {

class Modules final : public SessionModules, public EventObserver {
  public:
    explicit Modules(Session& session);

    // SessionModules
    bool notified(common::Command command, common::Bytes payload) override;
    void unreadable() override { events_.raise_failed_comm(); }
    void disconnected(const common::ProcId& server) override;
    void server_lost(const common::ProcId& server) override { events_.raise_lost_connection(server); }
    void without_server() override;
    void shut(pmix_status_t why) noexcept override;

    // EventObserver
    void group_event(pmix_status_t code, const common::ProcId& source, const common::InfoList& infos,
                     const common::InfoList& results, bool replayed) override {
        groups_.heard(code, source, infos, results, replayed);
    }
    void fabric_update_pending() override { fabrics_.update_all(); }

  private:
    Events events_;
    Iof iof_;
    GroupEvents groups_;
    Fabrics fabrics_;
};

// A session with its modules. Arguments: see Session.
std::unique_ptr<Session> make_session(transport::EventLoop& loop, common::ProcId self, common::ProcId server);

}  // namespace pmix::client
