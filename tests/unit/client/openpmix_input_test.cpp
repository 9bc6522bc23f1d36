// SPDX-License-Identifier: BSD-3-Clause
// Input that a process pushes to a server of OpenPMIx's, which from 7.0 on may stop it for a while.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_tool.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "common/values/info_view.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_input_test {
namespace {

namespace theirs = openpmix;

class OpenPmixInput : public OpenPmixProcess {
  protected:
    void SetUp() override {
        OpenPmixProcess::SetUp();
        server_->on(theirs::Command::iof_push, [this](uint32_t tag, common::Bytes payload) {
            const auto pushed = server_->decoded<theirs::IofPushRequest>(payload);
            {
                const std::lock_guard lock(mutex_);
                taken_.append(reinterpret_cast<const char*>(pushed.data.bytes.data()), pushed.data.bytes.size());
            }
            server_->send_status(tag, answer_.exchange(PMIX_SUCCESS));
        });
        // What is told before the answer to a fence has been heard when the fence is over.
        server_->on(theirs::Command::fence, [this](uint32_t tag, common::Bytes) {
            server_->send(theirs::kFlowTag, flow_);
            server_->send_status(tag, PMIX_SUCCESS);
        });
    }
    void tell(bool stop, common::ProcId source = {"job", 0}, pmix_iof_channel_t channel = PMIX_FWD_STDIN_CHANNEL) {
        flow_ = {};
        flow_.source.id = std::move(source);
        flow_.channel.value = channel;
        flow_.stop.value = stop;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    }
    static void on_pushed(pmix_status_t status, void* cbdata) {
        EXPECT_STATUS(PMIX_SUCCESS, status);
        ++*static_cast<std::atomic<int>*>(cbdata);
    }
    pmix_status_t push(std::string text) {
        const pmix_proc_t target = proc(2);
        const pmix_byte_object_t bytes{text.data(), text.size()};
        return PMIx_IOF_push(&target, 1, const_cast<pmix_byte_object_t*>(&bytes), nullptr, 0, &on_pushed, &pushed_);
    }
    std::string taken() {
        const std::lock_guard lock(mutex_);
        return taken_;
    }
    static bool until(const std::function<bool()>& holds) {
        const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (!holds() && std::chrono::steady_clock::now() < limit) ::usleep(1000);
        return holds();
    }

    theirs::FlowMessage flow_;
    std::atomic<pmix_status_t> answer_{PMIX_SUCCESS};
    std::atomic<int> pushed_{0};
    std::mutex mutex_;
    std::string taken_;
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixInput, ::testing::Values(std::make_pair("7.0.0rc1", "v61")));

// Nothing is lost, and nothing overtakes.
TEST_P(OpenPmixInput, Pushes_WhileStopped_WaitForTheServer) {
    init();
    ASSERT_STATUS(PMIX_SUCCESS, push("a"));
    EXPECT_TRUE(until([&] { return pushed_ == 1; }));
    tell(true);
    ASSERT_STATUS(PMIX_SUCCESS, push("b"));
    ASSERT_STATUS(PMIX_SUCCESS, push("c"));
    tell(true);  // again
    EXPECT_EQ("a", taken());
    EXPECT_EQ(1, pushed_);
    tell(false);
    ASSERT_STATUS(PMIX_SUCCESS, push("d"));
    EXPECT_TRUE(until([&] { return pushed_ == 4; }));
    EXPECT_EQ("abcd", taken());
}

TEST_P(OpenPmixInput, Flow_OfOthers_IsNotThisProcesss) {
    init();
    tell(true, {"job", 1});
    tell(true, {"other", PMIX_RANK_WILDCARD});
    tell(true, {"job", 0}, PMIX_FWD_STDOUT_CHANNEL);
    ASSERT_STATUS(PMIX_SUCCESS, push("a"));
    EXPECT_TRUE(until([&] { return pushed_ == 1; }));
    for (const common::ProcId& all :
         {common::ProcId("", PMIX_RANK_WILDCARD), common::ProcId("job", PMIX_RANK_WILDCARD)}) {
        const std::string before = taken();
        tell(true, all);
        ASSERT_STATUS(PMIX_SUCCESS, push("b"));
        tell(false, {"job", 1});
        EXPECT_EQ(before, taken());
        tell(false, all);
        EXPECT_TRUE(until([&] { return taken() == before + "b"; }));
    }
}

// The data that is answered so was taken.
TEST_P(OpenPmixInput, Push_AnsweredWithXoff_IsTheLastForNow) {
    init();
    answer_ = PMIX_ERR_IOF_XOFF;
    ASSERT_STATUS(PMIX_SUCCESS, push("a"));
    EXPECT_TRUE(until([&] { return pushed_ == 1; }));
    ASSERT_STATUS(PMIX_SUCCESS, push("b"));
    tell(false, {"job", 1});
    EXPECT_EQ("a", taken());
    tell(false);
    EXPECT_TRUE(until([&] { return pushed_ == 2; }));
    EXPECT_EQ("ab", taken());
}

// A process that does not wait for its pushes cannot fill its memory with them.
TEST_P(OpenPmixInput, Pushes_WhileStopped_HaveABound) {
    init();
    tell(true);
    const std::string much(size_t{1} << 20, 'x');
    std::atomic<int> refused{0};
    const auto on_end = [](pmix_status_t status, void* cbdata) {
        if (status == PMIX_ERR_OUT_OF_RESOURCE) ++*static_cast<std::atomic<int>*>(cbdata);
    };
    const pmix_proc_t target = proc(2);
    pmix_byte_object_t bytes{const_cast<char*>(much.data()), much.size()};
    for (int i = 0; i < 17; ++i)
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_IOF_push(&target, 1, &bytes, nullptr, 0, on_end, &refused));
    EXPECT_TRUE(until([&] { return refused == 1; }));
    EXPECT_EQ("", taken());
}

// The library's own forwarding reads a buffer at most, and the rest stays where it is.
TEST_P(OpenPmixInput, OwnStdin_WhileStopped_IsNotRead) {
    init();
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    common::InfoList own;
    own.append_flag(PMIX_IOF_PUSH_STDIN, true);
    const pmix_proc_t target = proc(2);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_IOF_push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    ASSERT_EQ(1, ::write(ends[1], "a", 1));
    EXPECT_TRUE(until([&] { return taken() == "a"; }));
    tell(true);
    ASSERT_EQ(1, ::write(ends[1], "b", 1));
    const auto is_read = [&] {
        int waiting = 0;
        return ::ioctl(ends[0], FIONREAD, &waiting) == 0 && waiting == 0;
    };
    EXPECT_TRUE(until(is_read));
    ASSERT_EQ(1, ::write(ends[1], "c", 1));
    tell(true);
    ::usleep(20'000);
    EXPECT_FALSE(is_read());
    EXPECT_EQ("a", taken());
    tell(false);
    ::close(ends[1]);
    EXPECT_TRUE(until([&] { return taken() == "abc"; }));
    PMIx_Finalize(nullptr, 0);
    ::dup2(before, 0);
    ::close(before);
    ::close(ends[0]);
}

}  // namespace
}  // namespace pmix::test::openpmix_input_test
