// SPDX-License-Identifier: BSD-3-Clause
// Work that may take long or block (removing files, looking at them, writing to streams), off the loop, and with the
// rights of the user it is for.
//
// Owns one thread, started with the first task. Tasks run in order, one at a time. add() and finish() are called on
// the loop; work runs on the thread, done on the loop. Where this process may act for other users (it is root), the
// thread takes the user's place in the file system, so that the kernel decides what that user may do. What can go
// wrong: no thread: the work is done at once, on the loop. A task that hangs (a file system whose server is dead)
// holds up later ones, and finish() for a while: then the thread is left behind with it, and what waited is not done.
// Work may therefore outlive the server: it holds all that it uses by value, and only done may refer to the server's
// objects.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>

#include "common/base/callback.h"
#include "server/base/scheduler.h"

namespace pmix::server {

struct Rights {
    uid_t uid = 0;
    gid_t gid = 0;
};

class BlockingTasks {
  public:
    explicit BlockingTasks(Scheduler& scheduler);
    ~BlockingTasks();
    BlockingTasks(const BlockingTasks&) = delete;
    BlockingTasks& operator=(const BlockingTasks&) = delete;

    // as_user: the thread has the user's rights and no others. False: it has this process's.
    using Work = common::Callback<void(bool as_user)>;
    void add(Rights who, Work work, transport::Task done = {});
    // For this process itself.
    void add(Work work, transport::Task done = {});
    // Waits until all is done, and ends the thread; the done of each is posted all the same. Another may come.
    // False: one task has taken longer than patience_ms. It is given up, and so are those behind it: their done goes
    // without a call.
    static constexpr int64_t kPatienceMs = 30'000;
    bool finish(int64_t patience_ms = kPatienceMs) noexcept;

  private:
    struct State;
    std::shared_ptr<State> state_;  // the thread's too
};

}  // namespace pmix::server
