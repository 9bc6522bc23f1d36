// SPDX-License-Identifier: BSD-3-Clause
// Asks all servers of a list at once for their identity.
//
// Runs on the caller's thread, for kPatienceMs at most, and owns its sockets. The names of a list are what their owners
// made them, so none of them may cost the others their time: connects do not wait, the questions are all under way
// together, and a name whose listener does not accept is tried again beside the rest, for kBusyMs where somebody else
// can be had. A name that claims to be root's is accepted only where the kernel reports that root listens there.
// Servers of users that are neither the caller nor root are asked so many at a time, and those that no time is left for
// are skipped.
//
// What can go wrong: nothing is an error; servers that do not answer are left out.
#pragma once

#include <functional>
#include <vector>

#include "client/session/handshake.h"
#include "transport/rendezvous/server_list.h"
#include "transport/unix_socket.h"

namespace pmix::client {

struct SurveyedServer {
    transport::ListedServer listed;
    transport::Descriptor socket;     // connected, everything read; hello may follow
    transport::PeerCredentials peer;  // the owner, from the kernel
    common::IdentityReply identity;
};

// Calls visit(server) for each that answers, in the order of the list (those that did not accept at first come last),
// until it answers true: enough. Servers that may not be trusted (see is_trusted) are left out; the caller's own is
// among them.
using SurveyVisit = std::function<bool(SurveyedServer& server)>;
void survey_servers(std::vector<transport::ListedServer> servers, Trust trust, transport::Deadline deadline,
                    const transport::Io& io, const SurveyVisit& visit);

}  // namespace pmix::client
