// SPDX-License-Identifier: BSD-3-Clause
// Where forwarded output goes: formats, files, and the process's own streams.
#include "support/status.h"
#include "unit/client/iof_setting.h"

namespace pmix::client::iof_output_test {
namespace {

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

// A line that has no end yet is written where the lines before it are. rows: O3
TEST_F(IofTest, MergedLineWithoutItsEnd_IsInTheFileWithTheOthers) {
    InfoList infos = flags({PMIX_IOF_TAG_OUTPUT, PMIX_IOF_MERGE_STDERR_STDOUT});
    infos.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/name");
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "one\ntwo");
    output(1, "err\nor", kErr);
    output(1, "", kErr);
    output(1, "");
    EXPECT_EQ("[far,1]<stdout>: one\n[far,1]<stderr>: err\n[far,1]<stderr>: or\n[far,1]<stdout>: two\n",
              file("name.far.1.stdout"));
    EXPECT_EQ("(none)", file("name.far.1.stderr"));
}

// What was received before the end of the registration is not lost with it. rows: O3
TEST_F(IofTest, LineWithoutItsEnd_IsHandedOutWhenTheRegistrationEnds) {
    InfoList infos = flags({PMIX_IOF_TAG_OUTPUT});
    infos.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/name");
    ASSERT_EQ(0, pull(std::move(infos)));
    output(1, "one\ntwo");
    EXPECT_EQ((std::vector<std::string>{"1:[far,1]<stdout>: one\n"}), Got::all());
    EXPECT_STATUS(PMIX_SUCCESS, session->iof().deregister(0, nullptr, 0, nullptr, nullptr));
    EXPECT_EQ((std::vector<std::string>{"1:[far,1]<stdout>: one\n", "1:[far,1]<stdout>: two\n"}), Got::all());
    EXPECT_EQ("[far,1]<stdout>: one\n[far,1]<stdout>: two\n", file("name.far.1.stdout"));
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
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pull(flags({PMIX_OUTPUT_NOCOPY}))) << "no copy, and no file";
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
TEST_F(IofTest, APatternWithoutTheRankIsOneFileOfAllProcesses) {
    for (const char* name : {"/all-of-%n", "/100%%r"}) {
        const std::string made = std::string(name) == "/100%%r" ? "100%r" : "all-of-far";
        std::ofstream(directory + "/" + made + ".stdout") << "before\n";
        InfoList infos = flags({PMIX_IOF_FILE_PATTERN, PMIX_IOF_FILE_ONLY});
        infos.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + name);
        const pmix_status_t reference = pull(std::move(infos));
        ASSERT_GE(reference, 0);
        output(4, "four\nfo", kOut, static_cast<uint64_t>(reference));
        output(5, "five\n", kOut, static_cast<uint64_t>(reference));
        output(5, "", kOut, static_cast<uint64_t>(reference));
        output(4, "ur\n", kOut, static_cast<uint64_t>(reference));
        output(6, "six\n", kOut, static_cast<uint64_t>(reference));
        EXPECT_EQ("four\nfive\nfour\nsix\n", file(made + ".stdout"));
    }
}

TEST_F(IofTest, MergedOutputHasOneEnd) {
    ASSERT_EQ(0, pull(flags({PMIX_IOF_MERGE_STDERR_STDOUT})));
    output(1, "out\n");
    output(1, "");
    output(2, "", kErr);
    output(1, "err\n", kErr);
    output(1, "", kErr);
    output(2, "");
    EXPECT_EQ((std::vector<std::string>{"1:out\n", "1:err\n", "1$", "2$"}), Got::all());
    Got::parts.clear();
    ASSERT_EQ(1, pull(flags({PMIX_IOF_MERGE_STDERR_STDOUT}), &Got::on, kErr));
    output(1, "err\n", kErr, 1);
    output(1, "", kErr, 1);
    EXPECT_EQ((std::vector<std::string>{"1:err\n", "1$"}), Got::all()) << "the other channel is not read";
}

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
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, create_iof_file(iof_path(names, ProcId("far", 1), kOut)).status());
    ASSERT_EQ(0, ::mkfifo((base + "/x.far.2.stdout").c_str(), 0600));
    EXPECT_FALSE(create_iof_file(iof_path(names, ProcId("far", 2), kOut)).ok()) << "and does not wait";
    std::ofstream(base + "/y") << "precious";
    ASSERT_EQ(0, ::link((base + "/y").c_str(), (base + "/x.far.3.stdout").c_str()));
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, create_iof_file(iof_path(names, ProcId("far", 3), kOut)).status());
    EXPECT_EQ("precious", file("d/y"));
    // A namespace stays below the folder, whatever it is called.
    names.file.clear();
    names.directory = base;
    EXPECT_EQ("_..", iof_path(names, ProcId("..", 1), kOut).below[0]);
    EXPECT_EQ("_.._etc", iof_path(names, ProcId("../etc", 1), kOut).below[0]);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, pull([&] {
                      InfoList both;
                      both.append_string(PMIX_IOF_OUTPUT_TO_FILE, "a");
                      both.append_string(PMIX_IOF_OUTPUT_TO_DIRECTORY, "b");
                      return both;
                  }()));
}

// rows: O2 O3
TEST_F(IofTest, LostBytesAndFilesThatCannotBeWrittenAreEvents) {
    listen();
    ASSERT_EQ(0, pull());
    output(1, "late", kOut, 0, 77);
    EXPECT_TRUE(hears(1));
    EXPECT_STATUS(PMIX_ERR_IOF_FAILURE, Heard::all().front());
    EXPECT_EQ(77u, Heard::lost);
    // A folder stands where the file is to be.
    ASSERT_EQ(0, ::mkdir((directory + "/x.far.1.stdout").c_str(), 0700));
    InfoList file;
    file.append_string(PMIX_IOF_OUTPUT_TO_FILE, directory + "/x");
    ASSERT_EQ(1, pull(std::move(file)));
    output(1, "line\n", kOut, 1);
    EXPECT_TRUE(hears(2));
    EXPECT_STATUS(PMIX_ERR_IOF_FAILURE, Heard::all().back());
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
    EXPECT_STATUS(PMIX_SUCCESS, rc);
    ASSERT_GT(got, 0);
    EXPECT_EQ("one\nother\ntwo\n", std::string(text, static_cast<size_t>(got))) << "whole lines";
    const auto request = FakeChannel::decoded<common::IofPullRequest>(channel->sent().front());
    EXPECT_TRUE(request.procs.empty());
    ::close(ends[0]);
    ::close(ends[1]);
}

}  // namespace
}  // namespace pmix::client::iof_output_test
