// The first two frames: connect, say who we are, learn who the server is and where the job's data lies.
//
// Runs on the caller's thread of PMIx_Init, before the loop turns: one round trip, no thread involved. Owns nothing
// afterwards; the socket goes to SocketChannel.
//
// What can go wrong: nobody listens (PMIX_ERR_UNREACH), silence (PMIX_ERR_TIMEOUT), the server's refusal, a server that
// is not who it should be (PMIX_ERR_INVALID_CRED), or no protocol in common (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include <vector>

#include "common/hello.h"
#include "common/status.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/io.h"
#include "transport/rendezvous.h"

namespace pmix::client {

struct Greeting {
    transport::Descriptor socket;
    common::HelloReply reply;
    std::vector<transport::Descriptor> descriptors;  // of reply.segments
};

common::Result<Greeting> shake_hands(const transport::ClientEnvironment& environment, const pmix_info_t infos[],
                                     size_t ninfos, transport::Deadline deadline, const transport::Io& io);

}  // namespace pmix::client
