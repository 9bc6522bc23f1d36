// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a server's fence share.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dstore/contribution.h"
#include "server/namespaces/modex_blob.h"
#include "support/fake_client.h"
#include "support/remote_data.h"

namespace pmix::test {

const ProcId kJob("job", PMIX_RANK_WILDCARD);

// The last fence reached the host without any data.
inline bool sent_nothing(const FakeHost& host) {
    return server::is_presence_only(host.last("fence")->blob);
}

}  // namespace pmix::test
