// SPDX-License-Identifier: BSD-3-Clause
// What the tests of a session share: a session on a channel that the test answers.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "client/data/commit_frame.h"
#include "client/data/fence.h"
#include "client/data/get.h"
#include "client/data/publish.h"
#include "client/data/put.h"
#include "client/events/events.h"
#include "client/modules.h"
#include "client/services/spawn.h"
#include "client/session/session.h"
#include "common/codec/pack.h"
#include "dstore/writer.h"
#include "server/base/peer.h"
#include "support/fake_channel.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace pmix::client {

using common::Command;
using common::Frame;
using test::FakeChannel;

// A completion that a test waits for.
struct Once {
    std::atomic<int> calls{0};
    pmix_status_t status = 1;
    std::thread::id thread;
    transport::Waiter waiter;
    void fire(pmix_status_t rc) {
        status = rc;
        thread = std::this_thread::get_id();
        if (++calls == 1) waiter.complete();
    }
    bool wait() {
        const test::LongWait most;
        return waiter.wait(most.deadline()) || !most.over();
    }
    static void op(pmix_status_t rc, void* self) { static_cast<Once*>(self)->fire(rc); }
};

class SessionTest : public ::testing::Test {
  protected:
    SessionTest() {
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, common::ProcId("job", 1), common::ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        session->set_channel(std::move(made));
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
    }
    ~SessionTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
    }
    template <class Message>
    void answer_all(pmix_status_t status, Message message = {}) {
        channel->on_send = [this, status, message = std::make_shared<Message>(std::move(message))](const Frame& f) {
            if (f.header.kind == common::FrameKind::request) channel->answer(f, status, *message);
        };
    }

    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

}  // namespace pmix::client
