// SPDX-License-Identifier: BSD-3-Clause
// Reading and writing of simulated stream sockets. The seed decides how long a fragment travels, and where it is torn.
#pragma once

#include <sys/socket.h>

#include "simulation/descriptors.h"

namespace pmix::simulation {

// As recvmsg and sendmsg.
ssize_t receive(Socket& socket, msghdr& message, int flags);
ssize_t transmit(Socket& socket, const msghdr& message, int flags);

// How the network of this run behaves, chosen by its seed.
struct Network {
    Nanoseconds usual = 20'000, rare = 5 * kMillisecond;
    uint32_t one_in = 50;   // fragments that take up to `rare`
    uint32_t torn_in = 20;  // reads and writes that do less than they could
};
Network& network();

}  // namespace pmix::simulation
