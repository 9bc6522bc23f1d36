// SPDX-License-Identifier: BSD-3-Clause
// What the tests of forwarded output share: a client whose server the test plays, and what its callbacks were given.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <mutex>
#include <set>
#include <sstream>

#include "client/events/events.h"
#include "client/iof/iof.h"
#include "client/iof/iof_console.h"
#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client {

using common::Command;
using common::Frame;
using common::InfoList;
using common::ProcId;
using test::FakeChannel;

constexpr pmix_iof_channel_t kOut = PMIX_FWD_STDOUT_CHANNEL, kErr = PMIX_FWD_STDERR_CHANNEL;

// What callbacks got, as text: "1:hello" is rank 1's output, "1!oops" its error output, "1$" its end.
struct Got {
    static inline std::mutex mutex;
    static inline std::vector<std::string> parts;
    static inline size_t infos = 0;
    static inline bool take = false;
    static inline bool deregister_in_callback = false;
    static inline Iof* iof = nullptr;
    static void on(size_t reference, pmix_iof_channel_t channel, pmix_proc_t* source, pmix_byte_object_t* payload,
                   pmix_info_t info[], size_t ninfo) {
        std::lock_guard lock(mutex);
        std::string text = std::to_string(source->rank);
        text += payload->size == 0 ? "$" : channel == kOut ? ":" : "!";
        text.append(payload->bytes == nullptr ? "" : payload->bytes, payload->size);
        parts.push_back(text);
        infos = ninfo;
        for (size_t i = 0; i < ninfo; ++i) EXPECT_NE('\0', info[i].key[0]);
        if (take) PMIX_BYTE_OBJECT_DESTRUCT(payload);  // as the standard's text has it
        if (deregister_in_callback) {
            EXPECT_STATUS(PMIX_SUCCESS, iof->deregister(reference, nullptr, 0, nullptr, nullptr));
        }
    }
    static std::vector<std::string> all() {
        std::lock_guard lock(mutex);
        return parts;
    }
};

class IofTest : public ::testing::Test {
  protected:
    IofTest() {
        Got::parts.clear();
        Got::take = Got::deregister_in_callback = false;
        loop = std::move(transport::EventLoop::create()).value();
        session = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
        auto made = std::make_unique<FakeChannel>(*loop, *session);
        channel = made.get();
        channel->on_send = [this](const Frame& f) {
            if (f.header.kind == common::FrameKind::request) channel->answer(f, status, common::Nothing{});
        };
        session->set_channel(std::move(made));
        Got::iof = &session->iof();
        EXPECT_STATUS(PMIX_SUCCESS, loop->start());
        char name[] = "/tmp/iof_test.XXXXXX";
        directory = ::mkdtemp(name);
    }
    ~IofTest() override {
        loop->post([this] { session->shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
        session.reset();
        std::string command = "rm -rf " + directory;
        EXPECT_EQ(0, ::system(command.c_str()));
    }
    pmix_status_t pull(InfoList infos = {}, pmix_iof_cbfunc_t function = &Got::on,
                       pmix_iof_channel_t channels = kOut | kErr) {
        const pmix_proc_t all = ProcId("far", PMIX_RANK_WILDCARD).to_c();
        return session->iof().pull(&all, 1, infos.c_array(), infos.size(), channels, function, nullptr, nullptr);
    }
    void output(uint32_t rank, std::string_view text, pmix_iof_channel_t where = kOut, uint64_t reference = 0,
                uint64_t lost = 0) {
        common::IofNotify n;
        n.source = ProcId("far", rank);
        n.channel = where;
        n.data = common::Bytes(reinterpret_cast<const uint8_t*>(text.data()), text.size());
        n.reference = reference;
        n.lost = lost;
        channel->notify(n);
        settle();
    }
    // All that was posted so far has run.
    void settle() {
        for (int i = 0; i < 3; ++i) session->on_loop_and_wait([] {});
    }
    std::string file(const std::string& name) {
        std::ifstream in(directory + "/" + name);
        std::stringstream text;
        text << in.rdbuf();
        return in ? text.str() : "(none)";
    }
    uint64_t credit() {
        uint64_t n = 0;
        for (const Frame& f : channel->sent()) {
            if (f.header.command == static_cast<uint16_t>(Command::iof_credit))
                n += FakeChannel::decoded<common::IofCredit>(f).bytes;
        }
        return n;
    }

    // The codes of forwarding's own events, as they come.
    struct Heard {
        static inline std::mutex mutex;
        static inline std::vector<pmix_status_t> codes;
        static inline uint64_t lost = 0;
        static void on(size_t, pmix_status_t code, const pmix_proc_t*, pmix_info_t infos[], size_t n, pmix_info_t[],
                       size_t, pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
            EXPECT_TRUE(common::InfoView(infos, n).flag(PMIX_EVENT_NON_DEFAULT)) << "the process goes on without it";
            {
                std::lock_guard lock(mutex);
                codes.push_back(code);
                if (const pmix_info_t* info = common::InfoView(infos, n).find(kIofLostKey))
                    lost = info->value.data.uint64;
            }
            done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
        }
        static std::vector<pmix_status_t> all() {
            std::lock_guard lock(mutex);
            return codes;
        }
    };
    void listen() {
        Heard::codes.clear();
        Heard::lost = 0;
        pmix_status_t codes[] = {PMIX_ERR_IOF_FAILURE, PMIX_ERR_IOF_COMPLETE};
        EXPECT_GE(session->events().register_handler(codes, 2, nullptr, 0, &Heard::on, nullptr, nullptr), 0);
    }
    bool hears(size_t n) {
        const auto deadline = transport::Deadline::in_ms(60'000);
        while (Heard::all().size() < n && !deadline.passed()) settle();
        return Heard::all().size() == n;
    }

    std::atomic<pmix_status_t> status{PMIX_SUCCESS};
    std::string directory;
    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<Session> session;
    FakeChannel* channel = nullptr;
};

inline InfoList flags(std::initializer_list<const char*> keys) {
    InfoList list;
    for (const char* key : keys) list.append_flag(key, true);
    return list;
}

inline std::string formatted(IofFormat format, std::initializer_list<std::string_view> parts,
                             pmix_iof_channel_t channel = kOut) {
    Lines lines(format, ProcId("far", 3), channel, "n1:77");
    std::string out;
    for (auto part : parts) lines.add(part, "NOW", out);
    lines.end("NOW", out);
    return out;
}

}  // namespace pmix::client
