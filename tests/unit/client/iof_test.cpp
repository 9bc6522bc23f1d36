// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output and input at the client's end: callbacks, credit, buffering, formats, files, own stdin.
#include "client/iof/iof.h"

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
#include "client/iof/iof_console.h"
#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "support/fake_channel.h"

namespace pmix::client {
namespace {

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
            EXPECT_EQ(PMIX_SUCCESS, iof->deregister(reference, nullptr, nullptr));
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
        EXPECT_EQ(loop->start(), PMIX_SUCCESS);
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

InfoList flags(std::initializer_list<const char*> keys) {
    InfoList list;
    for (const char* key : keys) list.append_flag(key, true);
    return list;
}

std::string formatted(IofFormat format, std::initializer_list<std::string_view> parts,
                      pmix_iof_channel_t channel = kOut) {
    Lines lines(format, ProcId("far", 3), channel, "n1:77");
    std::string out;
    for (auto part : parts) lines.add(part, "NOW", out);
    lines.end("NOW", out);
    return out;
}

}  // namespace

// rows: O2
TEST_F(IofTest, CallbacksComeInOrderAndMayKeepThePayload) {
    ASSERT_EQ(0, pull());
    output(1, "one\n");
    Got::take = true;
    output(2, "two", kErr);
    Got::take = false;
    output(1, std::string_view("\0x", 2));
    output(1, "");
    EXPECT_EQ((std::vector<std::string>{"1:one\n", "2!two", std::string("1:\0x", 4), "1$"}), Got::all());
}

// rows: O1
// proves: PMIx_IOF_pull PMIX_IOF_CACHE_SIZE PMIX_IOF_FILE_ONLY client
TEST_F(IofTest, WhatCannotBePulled) {
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, pull({}, &Got::on, PMIX_FWD_STDIN_CHANNEL));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, pull({}, &Got::on, PMIX_FWD_ALL_CHANNELS));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, pull({}, &Got::on, PMIX_FWD_NO_CHANNELS));
    InfoList wrong;
    wrong.append_string(PMIX_IOF_CACHE_SIZE, "many");
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, pull(std::move(wrong)));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, pull(flags({PMIX_IOF_FILE_ONLY}))) << "which file?";
    InfoList unknown;
    unknown.append("some.key", common::Value::flag(true), PMIX_INFO_REQD);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, pull(std::move(unknown)));
    status = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, pull());
    output(1, "nobody");
    EXPECT_TRUE(Got::all().empty());
    channel->open = false;
    EXPECT_EQ(PMIX_ERR_UNREACH, pull());
}

// rows: O1
TEST_F(IofTest, TheNumberComesByCallbackWhereOneIsGiven) {
    struct Number {
        pmix_status_t status = 1;
        size_t reference = 99;
        static void on(pmix_status_t status, size_t reference, void* self) {
            *static_cast<Number*>(self) = {status, reference};
        }
    } good, bad;
    const pmix_proc_t all = ProcId("far", PMIX_RANK_WILDCARD).to_c();
    ASSERT_EQ(PMIX_SUCCESS, session->iof().pull(&all, 1, nullptr, 0, kOut, &Got::on, &Number::on, &good));
    settle();
    EXPECT_EQ(PMIX_SUCCESS, good.status);
    EXPECT_EQ(0u, good.reference);
    status = PMIX_ERR_NOT_SUPPORTED;
    ASSERT_EQ(PMIX_SUCCESS, session->iof().pull(&all, 1, nullptr, 0, kOut, &Got::on, &Number::on, &bad));
    settle();
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, bad.status);
    // An error at once: no callback.
    Number none;
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, session->iof().pull(nullptr, 0, nullptr, 0, kOut, &Got::on, &Number::on, &none));
    settle();
    EXPECT_EQ(1, none.status);
}

// A host that says yes after the caller's limit has made a reader that nobody knows of, and that gives no credit.
// rows: O1 O8
TEST_F(IofTest, WhatIsPulledTooLateIsGivenBack) {
    status = PMIX_ERR_TIMEOUT;
    ASSERT_EQ(PMIX_ERR_TIMEOUT, pull());
    status = PMIX_SUCCESS;
    for (int i = 0; i < 2; ++i) output(1, "late");
    int ended = 0;
    for (const Frame& f : channel->sent()) {
        if (f.header.command != static_cast<uint16_t>(Command::iof_deregister)) continue;
        EXPECT_EQ(0u, FakeChannel::decoded<common::IofDeregisterRequest>(f).reference);
        ++ended;
    }
    EXPECT_EQ(1, ended);
    EXPECT_TRUE(Got::all().empty());
}

// However many there are.
TEST_F(IofTest, LateOutput_OfManyPullsThatTimedOut_IsGivenBackForEach) {
    constexpr uint64_t kPulls = 300;
    status = PMIX_ERR_TIMEOUT;
    for (uint64_t i = 0; i < kPulls; ++i) ASSERT_EQ(PMIX_ERR_TIMEOUT, pull());
    for (uint64_t i = 0; i < kPulls; ++i) output(1, "late", kOut, i);
    std::set<uint64_t> ended;
    for (const Frame& f : channel->sent()) {
        if (f.header.command == static_cast<uint16_t>(Command::iof_deregister))
            ended.insert(FakeChannel::decoded<common::IofDeregisterRequest>(f).reference);
    }
    EXPECT_EQ(kPulls, ended.size());
    EXPECT_TRUE(Got::all().empty());
}

// A thread of the application's that shows output (it finalizes, or drives the loop) gets no signal for a reader that
// left.
TEST(IofConsoleTest, Write_WhoseReaderHasLeft_RaisesNoSignalInThisThread) {
    static volatile sig_atomic_t raised;
    raised = 0;
    struct sigaction note {
    }, saved{};
    note.sa_handler = [](int) { raised = 1; };
    ASSERT_EQ(0, ::sigaction(SIGPIPE, &note, &saved));
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    ::close(ends[0]);
    ::fflush(stdout);
    const int before = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(1, ::dup2(ends[1], 1));
    size_t written = 0;
    {
        transport::EventLoopOptions drive;
        drive.drive = transport::Drive::caller;
        auto loop = std::move(transport::EventLoop::create(drive)).value();
        transport::LoopRole role(*loop);
        IofConsole console(*loop, [&](uint64_t, size_t cost) { written += cost; });
        console.write(kOut, "nobody reads this", 1, 17);
        console.drain(1000);
    }
    ::dup2(before, 1);
    ::close(before);
    ::close(ends[1]);
    EXPECT_EQ(17u, written);
    EXPECT_EQ(0, raised);
    // None is left pending either.
    sigset_t pipe, old, pending;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    ASSERT_EQ(0, ::pthread_sigmask(SIG_BLOCK, &pipe, &old));
    ASSERT_EQ(0, ::sigpending(&pending));
    EXPECT_EQ(0, sigismember(&pending, SIGPIPE));
    ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
    ::sigaction(SIGPIPE, &saved, nullptr);
}

// rows: O8
TEST_F(IofTest, CreditIsGivenForWhatWasDealtWith) {
    ASSERT_EQ(0, pull());
    const std::string block(30'000, 'x');
    for (int i = 0; i < 10; ++i) output(1, block);
    EXPECT_LE(credit(), 10 * (block.size() + common::kIofFrameCost));
    EXPECT_GE(credit() + common::kIofWindow / 4, 10 * (block.size() + common::kIofFrameCost));
}

// rows: O2
TEST_F(IofTest, WhatTheServerHadToDropIsTold) {
    ASSERT_EQ(0, pull());
    output(1, "after", kOut, 0, 17);
    EXPECT_EQ(1u, Got::infos);
}

// rows: O5 O6
// proves: PMIx_IOF_pull PMIX_IOF_BUFFERING_SIZE client
TEST_F(IofTest, BufferedOutputComesBySizeAndAtTheEnd) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_SIZE, 8, PMIX_UINT32);
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "abc");
    output(2, "xyz");
    output(1, "def");
    EXPECT_TRUE(Got::all().empty());
    output(1, "ghijklmnopq");
    EXPECT_EQ((std::vector<std::string>{"1:abcdefgh", "1:ijklmnop"}), Got::all());
    output(2, "");
    EXPECT_EQ((std::vector<std::string>{"1:abcdefgh", "1:ijklmnop", "2:xyz", "2$"}), Got::all());
    EXPECT_EQ(PMIX_SUCCESS, session->iof().deregister(0, nullptr, nullptr));
    EXPECT_EQ("1:q", Got::all().back());
    output(1, "later");
    EXPECT_EQ(5u, Got::all().size());
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, session->iof().deregister(0, nullptr, nullptr));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, session->iof().deregister(12, nullptr, nullptr));
}

// rows: O5
// proves: PMIx_IOF_pull PMIX_IOF_BUFFERING_TIME client
TEST_F(IofTest, BufferedOutputComesByTime) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_SIZE, 1000, PMIX_UINT32);
    infos.append_number<uint32_t>(PMIX_IOF_BUFFERING_TIME, 1, PMIX_UINT32);
    ASSERT_EQ(0, pull(std::move(infos)));
    const auto began = std::chrono::steady_clock::now();
    output(1, "abc");
    const bool waits = Got::all().empty();
    // A process that was stopped for a second may find it already.
    EXPECT_TRUE(waits || std::chrono::steady_clock::now() - began >= std::chrono::seconds(1));
    transport::Waiter later;
    loop->post([&] {
        transport::assert_on_loop();
        loop->after(1100, [&] { later.complete(); });
    });
    ASSERT_TRUE(later.wait(transport::Deadline::in_ms(60'000)));
    EXPECT_EQ((std::vector<std::string>{"1:abc"}), Got::all());
}

// rows: O6
TEST_F(IofTest, ACallbackMayDeregisterItself) {
    ASSERT_EQ(0, pull());
    Got::deregister_in_callback = true;
    output(1, "first");
    output(1, "second");
    EXPECT_EQ((std::vector<std::string>{"1:first"}), Got::all());
}

TEST_F(IofTest, NothingIsKeptOfWhatHasEnded) {
    const auto streams = [&] {
        size_t n = 0;
        session->on_loop_and_wait([&] { n = session->iof().streams(); });
        return n;
    };
    InfoList merged;
    merged.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/out");
    merged.append_flag(PMIX_IOF_MERGE_STDERR_STDOUT, true);
    ASSERT_EQ(0, pull());
    ASSERT_EQ(1, pull(std::move(merged)));
    for (uint32_t rank = 0; rank < 3; ++rank) {
        for (uint64_t reference : {0, 1}) {
            output(rank, "out\n", kOut, reference);
            output(rank, "", kOut, reference);
            // Where both go to one file the first that ends waits for the other.
            EXPECT_EQ(reference == 1 ? 1u : 0u, streams());
            output(rank, "err\n", kErr, reference);
            output(rank, "", kErr, reference);
            EXPECT_EQ(0u, streams());
        }
        EXPECT_EQ("out\nerr\n", file("out.far." + std::to_string(rank) + ".stdout"));
    }
}

// rows: O3
TEST(IofFormatTest, TagsStandOnceInFrontOfEachLine) {
    IofFormat tag, rank, time, detailed, raw;
    tag.tag = true;
    EXPECT_EQ("[far,3]<stdout>: one\n[far,3]<stdout>: two\n", formatted(tag, {"one\ntw", "o\n"}));
    EXPECT_EQ("[far,3]<stderr>: no end\n", formatted(tag, {"no ", "end"}, kErr));
    rank.rank = true;
    EXPECT_EQ("[3]<stdout>: x\n", formatted(rank, {"x\n"}));
    time.timestamp = time.tag = true;
    EXPECT_EQ("NOW[far,3]<stddiag>: x\n", formatted(time, {"x\n"}, PMIX_FWD_STDDIAG_CHANNEL));
    detailed.detailed = true;
    EXPECT_EQ("[far,3][n1:77]<stdout>: x\n", formatted(detailed, {"x\n"}));
    raw.raw = raw.tag = true;
    EXPECT_EQ("[far,3]<stdout>: one\n[far,3]<stdout>: two\n", formatted(raw, {"one\ntw", "o\n"}));
    Lines lines(raw, ProcId("far", 3), kOut, "");
    std::string out;
    lines.add("Password: ", "NOW", out);
    EXPECT_EQ("[far,3]<stdout>: Password: ", out) << "raw: nothing is kept back";
    EXPECT_EQ("one\ntwo", formatted({}, {"one\ntw", "o"})) << "without tags nothing is added";
}

// rows: O3
TEST(IofFormatTest, XmlIsWellFormed) {
    IofFormat xml;
    xml.xml = true;
    EXPECT_EQ("<stdout rank=\"3\">a &lt;b&gt; &amp; &quot;c&quot;&#010;</stdout>\n",
              formatted(xml, {"a <b> & \"c\"\n"}));
    xml.tag = xml.timestamp = true;
    EXPECT_EQ("<stderr nspace=\"far\" rank=\"3\" timestamp=\"NOW\">x&#000;</stderr>\n",
              formatted(xml, {std::string_view("x\0", 2)}, kErr));
}

// rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_TAG_OUTPUT PMIX_IOF_MERGE_STDERR_STDOUT client
TEST_F(IofTest, FormatsReachTheCallbackThatAskedForThem) {
    ASSERT_EQ(0, pull(flags({PMIX_IOF_TAG_OUTPUT, PMIX_IOF_MERGE_STDERR_STDOUT})));
    output(1, "a\nb");
    output(1, "e\n", kErr);
    output(1, "c\n");
    EXPECT_EQ((std::vector<std::string>{"1:[far,1]<stdout>: a\n", "1:[far,1]<stderr>: e\n", "1:[far,1]<stdout>: bc\n"}),
              Got::all());
}

// rows: O3
// proves: PMIx_IOF_pull PMIX_OUTPUT_NOCOPY PMIX_MERGE_STDERR_STDOUT client
TEST_F(IofTest, FilesAloneAndMergedByTheirFormerNames) {
    InfoList infos = flags({PMIX_OUTPUT_NOCOPY, PMIX_MERGE_STDERR_STDOUT});
    infos.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/name");
    ASSERT_EQ(0, pull(std::move(infos), nullptr));
    output(1, "one\n");
    output(1, "err\n", kErr);
    EXPECT_EQ("one\nerr\n", file("name.far.1.stdout"));
    EXPECT_EQ("(none)", file("name.far.1.stderr"));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, pull(flags({PMIX_OUTPUT_NOCOPY}))) << "no copy, and no file";
}

// The host has the other sink: it must hear of them.
// rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_COPY PMIX_IOF_REDIRECT client
TEST_F(IofTest, CopyAndRedirectAreForTheHost) {
    for (const char* key : {PMIX_IOF_COPY, PMIX_IOF_REDIRECT}) {
        ASSERT_GE(pull(flags({key})), 0);
        const auto request = FakeChannel::decoded<common::IofPullRequest>(channel->sent().back());
        EXPECT_TRUE(common::InfoView(request.infos.data(), request.infos.size()).flag(key)) << key;
    }
}

// rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_OUTPUT_TO_FILE PMIX_IOF_FILE_ONLY client
TEST_F(IofTest, FilesPerRankAndChannel) {
    InfoList infos = flags({PMIX_IOF_FILE_ONLY});
    infos.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/new/folder/name");
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "one\n");
    output(1, "err\n", kErr);
    output(2, "two");
    output(2, "");
    EXPECT_EQ("one\n", file("new/folder/name.far.1.stdout"));
    EXPECT_EQ("err\n", file("new/folder/name.far.1.stderr"));
    EXPECT_EQ("two", file("new/folder/name.far.2.stdout"));
    EXPECT_TRUE(Got::all().empty()) << "only in the files";
}

// rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_OUTPUT_TO_DIRECTORY PMIX_IOF_FILE_PATTERN client
TEST_F(IofTest, DirectoryPatternAndMerge) {
    InfoList infos = flags({PMIX_IOF_MERGE_STDERR_STDOUT});
    infos.append_string(PMIX_IOF_OUTPUT_TO_DIRECTORY, directory + "/d");
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "one\n");
    output(1, "err\n", kErr);
    EXPECT_EQ("one\nerr\n", file("d/far/rank.1/stdout"));
    EXPECT_EQ("(none)", file("d/far/rank.1/stderr"));
    EXPECT_EQ((std::vector<std::string>{"1:one\n", "1:err\n"}), Got::all()) << "and the callback";

    InfoList pattern = flags({PMIX_IOF_FILE_PATTERN, PMIX_IOF_FILE_ONLY});
    pattern.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/%r-of-%n-100%%");
    ASSERT_EQ(1, pull(std::move(pattern)));
    output(4, "p\n", kOut, 1);
    EXPECT_EQ("p\n", file("4-of-far-100%.stdout"));
}

// rows: O3
TEST_F(IofTest, FilesAreNotMadeThroughTraps) {
    const std::string base = directory + "/d";
    ASSERT_EQ(0, ::mkdir(base.c_str(), 0700));
    ASSERT_EQ(0, ::mkdir((directory + "/elsewhere").c_str(), 0700));
    ASSERT_EQ(0, ::symlink("../elsewhere", (base + "/far").c_str()));
    IofFileNames names;
    names.directory = base;
    auto through_folder = create_iof_file(iof_path(names, ProcId("far", 1), kOut));
    EXPECT_FALSE(through_folder.ok());
    names.directory.clear();
    names.file = base + "/x";
    ASSERT_EQ(0, ::symlink("../elsewhere/victim", (base + "/x.far.1.stdout").c_str()));
    EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, create_iof_file(iof_path(names, ProcId("far", 1), kOut)).status());
    ASSERT_EQ(0, ::mkfifo((base + "/x.far.2.stdout").c_str(), 0600));
    EXPECT_FALSE(create_iof_file(iof_path(names, ProcId("far", 2), kOut)).ok()) << "and does not wait";
    std::ofstream(base + "/y") << "precious";
    ASSERT_EQ(0, ::link((base + "/y").c_str(), (base + "/x.far.3.stdout").c_str()));
    EXPECT_EQ(PMIX_ERR_NO_PERMISSIONS, create_iof_file(iof_path(names, ProcId("far", 3), kOut)).status());
    EXPECT_EQ("precious", file("d/y"));
    // A namespace stays below the folder, whatever it is called.
    names.file.clear();
    names.directory = base;
    EXPECT_EQ("_..", iof_path(names, ProcId("..", 1), kOut).below[0]);
    EXPECT_EQ("_.._etc", iof_path(names, ProcId("../etc", 1), kOut).below[0]);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, pull([&] {
                  InfoList both;
                  both.append_string(PMIX_IOF_OUTPUT_TO_FILE, "a");
                  both.append_string(PMIX_IOF_OUTPUT_TO_DIRECTORY, "b");
                  return both;
              }()));
}

// rows: O7
// proves: PMIx_IOF_push PMIX_IOF_PUSH_STDIN PMIX_IOF_COMPLETE client
TEST_F(IofTest, WhatIsPushed) {
    const pmix_proc_t target = ProcId("far", 2).to_c();
    char text[] = "input";
    pmix_byte_object_t bytes{text, 5};
    EXPECT_EQ(PMIX_SUCCESS, session->iof().push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
    auto request = FakeChannel::decoded<common::IofPushRequest>(channel->sent().back());
    EXPECT_EQ(5u, request.data.size());
    EXPECT_EQ((common::ProcList{{"far", 2}}), request.procs);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, session->iof().push(&target, 1, nullptr, nullptr, 0, nullptr, nullptr));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, session->iof().push(nullptr, 0, &bytes, nullptr, 0, nullptr, nullptr));
    pmix_byte_object_t none{nullptr, 0};
    EXPECT_EQ(PMIX_SUCCESS, session->iof().push(&target, 1, &none, nullptr, 0, nullptr, nullptr)) << "the end";
    InfoList end = flags({PMIX_IOF_COMPLETE});
    EXPECT_EQ(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, end.c_array(), 1, nullptr, nullptr));
    status = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, session->iof().push(&target, 1, &bytes, nullptr, 0, nullptr, nullptr));
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
}

// rows: O7
TEST_F(IofTest, OwnStdinIsCollectedUntilItsEnd) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    const pmix_proc_t target = ProcId("far", 2).to_c();
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    listen();
    ASSERT_EQ(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    ASSERT_EQ(5, ::write(ends[1], "input", 5));
    ::close(ends[1]);
    std::string all;
    bool end = false;
    const auto deadline = transport::Deadline::in_ms(60'000);
    while (!end && !deadline.passed()) {
        settle();
        all.clear();
        for (const Frame& f : channel->sent()) {
            if (f.header.command != static_cast<uint16_t>(Command::iof_push)) continue;
            auto request = FakeChannel::decoded<common::IofPushRequest>(f);
            all.append(reinterpret_cast<const char*>(request.data.data()), request.data.size());
            end = end || (!request.probe && request.data.empty());
        }
    }
    EXPECT_TRUE(end);
    EXPECT_EQ("input", all);
    EXPECT_TRUE(hears(1));
    EXPECT_EQ(PMIX_ERR_IOF_COMPLETE, Heard::all().front());
    ::dup2(before, 0);
    ::close(before);
    ::close(ends[0]);
}

// A process that shares stdin takes what made it ready. rows: O7
TEST_F(IofTest, OwnStdinThatAnotherHasEmptiedIsNotWaitedFor) {
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    for (bool socket : {false, true}) {
        SCOPED_TRACE(socket ? "socket" : "pipe");
        int ends[2];
        ASSERT_EQ(0, socket ? ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) : ::pipe2(ends, O_CLOEXEC));
        ASSERT_EQ(0, ::dup2(ends[0], 0));
        const size_t sent = channel->sent().size();
        IofStdin in(*session);
        std::promise<void> promise;
        auto back = promise.get_future();
        loop->post([&] {
            in.start({{"far", 2}}, {});
            in.on_ready(true, false);
            promise.set_value();
        });
        const bool returned = back.wait_for(std::chrono::seconds(60)) == std::future_status::ready;
        EXPECT_TRUE(returned) << "the loop waits for input";
        EXPECT_EQ(sent, channel->sent().size());
        EXPECT_EQ(0, ::fcntl(0, F_GETFL) & O_NONBLOCK) << "that is not ours to change";
        ASSERT_EQ(5, ::write(ends[1], "input", 5));  // it goes on, and reads on
        back.wait();
        const auto deadline = transport::Deadline::in_ms(60'000);
        while (channel->sent().size() == sent && !deadline.passed()) settle();
        ASSERT_GT(channel->sent().size(), sent);
        EXPECT_EQ(5u, FakeChannel::decoded<common::IofPushRequest>(channel->sent()[sent]).data.size());
        session->on_loop_and_wait([&] { in.stop(false); });
        settle();
        ::dup2(before, 0);
        ::close(ends[0]);
        ::close(ends[1]);
    }
    ::close(before);
}

// rows: O7
TEST_F(IofTest, InputThatTheHostRefusesEndsForwardingWithAnEvent) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    const int before = ::fcntl(0, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(0, ::dup2(ends[0], 0));
    const pmix_proc_t target = ProcId("far", 2).to_c();
    InfoList own = flags({PMIX_IOF_PUSH_STDIN});
    listen();
    ASSERT_EQ(PMIX_SUCCESS, session->iof().push(&target, 1, nullptr, own.c_array(), 1, nullptr, nullptr));
    status = PMIX_ERR_NOT_FOUND;
    ASSERT_EQ(5, ::write(ends[1], "input", 5));
    EXPECT_TRUE(hears(1));
    EXPECT_EQ(PMIX_ERR_IOF_FAILURE, Heard::all().front());
    ::dup2(before, 0);
    ::close(before);
    ::close(ends[0]);
    ::close(ends[1]);
}

// rows: O2 O3
TEST_F(IofTest, LostBytesAndFilesThatCannotBeWrittenAreEvents) {
    listen();
    ASSERT_EQ(0, pull());
    output(1, "late", kOut, 0, 77);
    EXPECT_TRUE(hears(1));
    EXPECT_EQ(PMIX_ERR_IOF_FAILURE, Heard::all().front());
    EXPECT_EQ(77u, Heard::lost);
    // A folder stands where the file is to be.
    ASSERT_EQ(0, ::mkdir((directory + "/x.far.1.stdout").c_str(), 0700));
    InfoList file;
    file.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/x");
    ASSERT_EQ(1, pull(std::move(file)));
    output(1, "line\n", kOut, 1);
    EXPECT_TRUE(hears(2));
    EXPECT_EQ(PMIX_ERR_IOF_FAILURE, Heard::all().back());
    EXPECT_EQ((std::vector<std::string>{"1:late", "1:line\n"}), Got::all()) << "and the output goes on";
}

// rows: O1
// proves: PMIx_IOF_pull PMIX_IOF_RANK_OUTPUT client
TEST_F(IofTest, WithoutACallbackItIsShownOnOwnStreams) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    ::fflush(stdout);
    const int before = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(1, ::dup2(ends[1], 1));
    const pmix_status_t reference = pull(flags({PMIX_IOF_RANK_OUTPUT}), nullptr);
    // More than the pipe takes: the loop does not wait for the reader, and gives no credit for what waits.
    const std::string line = std::string(999, 'x') + '\n';
    for (int i = 0; i < 200; ++i) output(1, line);
    const uint64_t early = credit();
    std::string all;
    char chunk[4096];
    const size_t wanted = 200 * (line.size() + std::string("[1]<stdout>: ").size());
    const auto deadline = transport::Deadline::in_ms(60'000);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    while (all.size() < wanted && !deadline.passed()) {
        const ssize_t got = ::read(ends[0], chunk, sizeof chunk);
        if (got > 0) all.append(chunk, static_cast<size_t>(got));
    }
    settle();
    ::dup2(before, 1);
    ::close(before);
    EXPECT_EQ(0, reference);
    EXPECT_EQ(wanted, all.size());
    EXPECT_EQ(0u, all.find("[1]<stdout>: x"));
    EXPECT_LT(early, 200 * line.size() - 60'000);
    EXPECT_GT(credit(), early);
    ::close(ends[0]);
    ::close(ends[1]);
}

// rows: O1
// proves: PMIx_IOF_pull PMIX_IOF_LOCAL_OUTPUT client
TEST_F(IofTest, WithACallbackItIsShownTooWhereThatIsAskedFor) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
    ::fflush(stdout);
    const int before = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(1, ::dup2(ends[1], 1));
    const pmix_status_t plain = pull(), shown = pull(flags({PMIX_IOF_LOCAL_OUTPUT}));
    output(1, "for the callback\n", kOut, static_cast<uint64_t>(plain));
    output(1, "for both\n", kOut, static_cast<uint64_t>(shown));
    settle();
    char text[100];
    const ssize_t got = ::read(ends[0], text, sizeof text);
    ::dup2(before, 1);
    for (int fd : {before, ends[0], ends[1]}) ::close(fd);
    EXPECT_EQ("for both\n", std::string(text, got > 0 ? static_cast<size_t>(got) : 0));
}

// The same behind a callback that gets formatted lines: it has them at once, but the console's reader sets the pace.
TEST_F(IofTest, ShownBesideACallbackItIsNotDealtWithBeforeItIsWritten) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    ::fflush(stdout);
    const int before = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(1, ::dup2(ends[1], 1));
    const pmix_status_t reference = pull(flags({PMIX_IOF_RANK_OUTPUT, PMIX_IOF_LOCAL_OUTPUT}));
    const std::string line = std::string(999, 'x') + '\n';
    for (int i = 0; i < 200; ++i) output(1, line);
    output(1, "its last words");
    output(1, "");  // the end
    const uint64_t early = credit();
    ::close(ends[0]);  // nobody reads any more: what waits is dropped, and counts as written
    const auto deadline = transport::Deadline::in_ms(60'000);
    while (credit() < 200 * line.size() - 60'000 && !deadline.passed()) settle();
    ::dup2(before, 1);
    ::close(before);
    ::close(ends[1]);
    EXPECT_EQ(0, reference);
    EXPECT_LT(early, 200 * line.size() - 60'000);
    EXPECT_GE(credit(), 200 * line.size() - 60'000);
}

// rows: V1
TEST_F(IofTest, AServerShowsAllOutputWhereItIsToldTo) {
    int ends[2];
    ASSERT_EQ(0, ::pipe2(ends, O_CLOEXEC));
    ::fflush(stdout);
    const int before = ::fcntl(1, F_DUPFD_CLOEXEC, 3);
    ASSERT_EQ(1, ::dup2(ends[1], 1));
    pmix_status_t rc = PMIX_ERROR;
    session->on_loop_and_wait([&] { rc = session->iof().show_all(InfoList()); });
    settle();
    output(1, "one\ntw");
    output(2, "other\n");
    output(1, "o\n");
    char text[100];
    const ssize_t got = ::read(ends[0], text, sizeof text);
    ::dup2(before, 1);
    ::close(before);
    EXPECT_EQ(PMIX_SUCCESS, rc);
    ASSERT_GT(got, 0);
    EXPECT_EQ("one\nother\ntwo\n", std::string(text, static_cast<size_t>(got))) << "whole lines";
    const auto request = FakeChannel::decoded<common::IofPullRequest>(channel->sent().front());
    EXPECT_TRUE(request.procs.empty());
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace pmix::client
