// SPDX-License-Identifier: BSD-3-Clause
// For tests of upcalls in one process: what the server's own process requests goes to its module, as in a launcher that
// began as a tool. A host that called PMIx_server_init gets no upcall for requests of its own.
#pragma once

#include <gtest/gtest.h>

#include "runtime/library.h"
#include "server/parts.h"
#include "server/server.h"

namespace pmix::test {

inline void ask_own_module() {
    api::Library* library = api::Library::enter();
    ASSERT_NE(nullptr, library);
    library->server()->parts().host.serve_itself();
    api::Library::leave();
}

}  // namespace pmix::test
