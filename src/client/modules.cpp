// SPDX-License-Identifier: BSD-3-Clause
#include "client/modules.h"

#include <utility>

#include "client/groups/group_invite.h"
#include "common/protocol/messages.h"

namespace pmix::client {

Modules::Modules(Session& session) : events_(session), iof_(session), groups_(session), fabrics_(session) {
    events_.set_observer(this);
    session.set_parts({&events_, &iof_, &groups_, &fabrics_});
}

bool Modules::notified(common::Command command, common::Bytes payload) {
    switch (command) {
        case common::Command::event: {
            common::EventNotify event;
            const pmix_status_t rc = common::decode_message(payload, event);
            if (rc == PMIX_SUCCESS) events_.on_notify(std::move(event));
            return rc == PMIX_SUCCESS || rc == PMIX_ERR_OUT_OF_RESOURCE;  // the one that is too large is lost
        }
        case common::Command::iof: {
            common::IofNotify output;
            if (common::decode_message(payload, output) == PMIX_SUCCESS) iof_.on_notify(std::move(output));
            return true;
        }
        default:
            return true;
    }
}

void Modules::disconnected(const common::ProcId& server) {
    groups_.shut(PMIX_ERR_LOST_CONNECTION);
    events_.raise_lost_connection(server);
}

void Modules::without_server() {
    groups_.invites().server_gone(PMIX_ERR_LOST_CONNECTION);
}

void Modules::shut(pmix_status_t why) noexcept {
    iof_.shut();
    groups_.shut(why);
    events_.shut();
}

std::unique_ptr<Session> make_session(transport::EventLoop& loop, common::ProcId self, common::ProcId server) {
    auto session = std::make_unique<Session>(loop, std::move(self), std::move(server));
    session->set_modules(std::make_unique<Modules>(*session));
    return session;
}

}  // namespace pmix::client
