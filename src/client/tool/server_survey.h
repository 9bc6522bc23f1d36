// SPDX-License-Identifier: BSD-3-Clause
// Asks all servers of a list at once for their identity.
//
// Runs on the caller's thread, and owns its sockets. The names of a list are what their owners made them, so none of
// them may cost the others their time: connects do not wait, the questions are all under way together, those that have
// answered within SurveyLimits::answer_ms are visited then, and a name whose listener does not accept is tried again
// beside the rest, for busy_ms where somebody else can be had. Where nobody who was meant has answered by then, the
// survey goes on with those that have accepted its question, for alone_ms in all: on a busy node they are only slow.
// A name that claims to be root's is accepted only where the kernel reports that root listens there.
// Servers of users that are neither the caller nor root are asked so many at a time, and those that no time is left for
// are skipped. Where the servers of certain processes are meant, nobody else is asked: the kernel names the process
// behind a name when the connection is made. A server that is stopped delays none of the others, and is given up after
// answer_ms.
//
// What can go wrong: nothing is an error; servers that do not answer are left out.
#pragma once

#include <functional>
#include <vector>

#include "client/session/handshake.h"
#include "common/base/limits.h"
#include "transport/rendezvous/server_list.h"
#include "transport/unix_socket.h"

namespace pmix::client {

struct SurveyedServer {
    transport::ListedServer listed;
    transport::Descriptor socket;     // connected, everything read; hello may follow
    transport::PeerCredentials peer;  // the owner, from the kernel
    common::IdentityReply identity;
};

struct SurveyLimits {
    int64_t answer_ms = 2000;  // one that does not answer must not use up the time of the others
    int64_t alone_ms = common::kHelloTimeoutMs;
    int64_t busy_ms = 250;  // for names whose listener accepts nobody, where there are others
};

// nspace: each is asked whether it has this namespace. concerns: may the server in this process be meant?
struct SurveyQuestion {
    std::string nspace;
    std::function<bool(pid_t)> concerns;
};

// Calls visit(server) for each that answers, in the order of the list (those that did not accept at first, or answered
// late, come last), until it answers that it has enough. Servers that may not be trusted (see is_trusted) are left out;
// the caller's own is among them.
enum class Visited : uint8_t { not_meant, meant, enough };
using SurveyVisit = std::function<Visited(SurveyedServer& server)>;
void survey_servers(std::vector<transport::ListedServer> servers, Trust trust, transport::Deadline deadline,
                    const transport::Io& io, const SurveyVisit& visit, const SurveyLimits& limits = {},
                    const SurveyQuestion& question = {});

}  // namespace pmix::client
