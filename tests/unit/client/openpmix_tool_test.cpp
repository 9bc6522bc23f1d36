// SPDX-License-Identifier: BSD-3-Clause
// A tool at servers that speak OpenPMIx's protocol, scripted ones (tests/support/openpmix_server.h): what is said at
// the start, servers that say what is false, answers and output.
#include <chrono>
#include <future>

#include "support/status.h"
#include "unit/client/openpmix_tool_setting.h"

namespace pmix::test::openpmix_tool_test {
namespace {

namespace fs = std::filesystem;
namespace theirs = openpmix;
using common::InfoView;

class OpenPmixTool : public OpenPmixToolSetting {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixTool, kToolReleases);

TEST_P(OpenPmixTool, Init_WithoutAName_IsNamedByTheServer) {
    InfoList infos = by_uri();
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_STREQ("tool", me_.nspace);
    EXPECT_EQ(0u, me_.rank);
    EXPECT_TRUE(has_server("server"));
    EXPECT_TRUE(PMIx_tool_is_connected());
    const theirs::ConnectRequest& hello = server_->hello;
    EXPECT_EQ(theirs::PeerKind::tool, hello.kind);
    EXPECT_EQ(::geteuid(), hello.uid);
    EXPECT_EQ(::getegid(), hello.gid);
    EXPECT_EQ("native", hello.security);
    EXPECT_EQ("hash", hello.store);
    EXPECT_STREQ(GetParam().second, hello.encoding.c_str());
    const InfoView told(hello.infos.data(), hello.infos.size());
    ASSERT_NE(nullptr, told.find(PMIX_PROC_PID));
    EXPECT_EQ(::getpid(), told.find(PMIX_PROC_PID)->value.data.pid);
    std::string_view command;
    EXPECT_STATUS(PMIX_SUCCESS, told.get(PMIX_CMD_LINE, &command));
    EXPECT_NE(command.npos, command.find("test")) << command;
    EXPECT_TRUE(told.has(PMIX_SERVER_URI)) << "as the user gave it";
}

TEST_P(OpenPmixTool, Init_WithAName_KeepsIt) {
    answer_as("mine", "server", theirs::PeerKind::named_tool);
    InfoList infos = by_uri();
    infos.append_string(PMIX_TOOL_NSPACE, "mine");
    const pmix_rank_t rank = 3;
    infos.append(PMIX_TOOL_RANK, &rank, PMIX_PROC_RANK);
    infos.append_number<void*>("their.pointer", this, PMIX_POINTER);
    infos.append_flag("wireup.something", true);
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_STREQ("mine", me_.nspace);
    EXPECT_EQ(3u, me_.rank);
    EXPECT_EQ(theirs::PeerKind::named_tool, server_->hello.kind);
    EXPECT_EQ(common::ProcId("mine", 3), server_->hello.id);
    const InfoView told(server_->hello.infos.data(), server_->hello.infos.size());
    EXPECT_TRUE(told.has(PMIX_TOOL_NSPACE));
    EXPECT_FALSE(told.has("their.pointer")) << "an address means nothing there";
    EXPECT_FALSE(told.has("wireup.something"));
}

TEST_P(OpenPmixTool, Init_OfALauncher_SaysSo) {
    answer_as("tool", "server", theirs::PeerKind::launcher);
    InfoList infos = by_uri();
    infos.append_flag(PMIX_LAUNCHER, true);
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_EQ(theirs::PeerKind::launcher, server_->hello.kind);
}

// Started by the server itself: a process of its job, and a tool.
TEST_P(OpenPmixTool, Init_InTheEnvironmentOfARank_IsThatProcess) {
    answer_as("job", "server", theirs::PeerKind::client_tool);
    server_->set_environment();
    ::setenv("PMIX_HOSTNAME", "node", 1);
    InfoList none;
    ASSERT_STATUS(PMIX_SUCCESS, init(none));
    EXPECT_STREQ("job", me_.nspace);
    EXPECT_EQ(theirs::PeerKind::client_tool, server_->hello.kind);
    EXPECT_EQ(common::ProcId("job", 0), server_->hello.id);
}

TEST_P(OpenPmixTool, Init_WithTheAddressAloneInTheEnvironment_IsATool) {
    server_->set_environment();
    ::unsetenv("PMIX_NAMESPACE");
    ::unsetenv("PMIX_RANK");
    ::setenv("PMIX_HOSTNAME", "node", 1);
    InfoList none;
    ASSERT_STATUS(PMIX_SUCCESS, init(none));
    EXPECT_STREQ("tool", me_.nspace);
    EXPECT_EQ(theirs::PeerKind::tool, server_->hello.kind);
}

TEST_P(OpenPmixTool, Finalize_IsToldToTheServer) {
    InfoList infos = by_uri();
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    server_->stop();  // it has read to the end
    EXPECT_EQ(1, finalized_);
}

// A server of 5.0 that has not seen a tool's finalize when the tool's process has ended uses freed memory.
TEST_P(OpenPmixTool, Finalize_EndsWithTheServersAnswer) {
    std::promise<uint32_t> asked;
    std::atomic<bool> answered{false};
    server_->on(theirs::Command::finalize, [&](uint32_t tag, common::Bytes) { asked.set_value(tag); });
    InfoList infos = by_uri();
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    auto end = std::async(std::launch::async, [&] {
        const pmix_status_t rc = PMIx_tool_finalize();
        return answered ? rc : PMIX_ERROR;
    });
    const uint32_t tag = asked.get_future().get();
    EXPECT_EQ(std::future_status::timeout, end.wait_for(std::chrono::milliseconds(50)));
    answered = true;
    server_->send_status(tag, PMIX_SUCCESS);
    EXPECT_STATUS(PMIX_SUCCESS, end.get());
}

// A second server of the tool, not its primary one, that answers a finalize when it is let.
class SecondServer {
  public:
    SecondServer(const char* release, const char* encoding) : release_(release), server_(release, encoding) {
        theirs::ConnectReply reply;
        reply.status = PMIX_SUCCESS;
        reply.self = common::ProcId("tool", 0);
        reply.server = common::ProcId("second", 0);
        reply.security = PMIX_SUCCESS;
        server_.hello_answer =
            theirs::encode_reply(reply, theirs::reply_form(theirs::PeerKind::named_tool, server_.traits));
        server_.on(theirs::Command::job_data, [this](uint32_t tag, common::Bytes) {
            theirs::JobData data;
            data.nspace = theirs::Text("tool");
            server_.send(tag, data);
        });
        server_.on(theirs::Command::finalize, [this](uint32_t tag, common::Bytes) {
            ++times;
            asked_.set_value(tag);
        });
        server_.start();
    }
    // By a file, which says what release it is.
    pmix_status_t attach(const std::string& file) {
        std::string uri = server_.uri;
        uri.replace(0, uri.find('.'), "second");
        std::ofstream(file) << uri << "\nv" << release_ << '\n' << ::getppid() << "\n0:0\nnow\n";
        if (::chmod(file.c_str(), 0600) != 0) return PMIX_ERROR;
        InfoList infos;
        infos.append_flag(PMIX_CONNECT_TO_SYS_CONTROLLER, true);
        return PMIx_tool_attach_to_server(nullptr, &id, infos.c_array(), infos.size());
    }
    // `call` is to end by what is done then, and not before.
    void answer(
        const std::function<pmix_status_t()>& call, const std::function<void()>& meanwhile = [] {}) {
        end_by(call, [&](uint32_t tag) {
            meanwhile();
            server_.send_status(tag, PMIX_SUCCESS);
        });
    }
    void end_by(const std::function<pmix_status_t()>& call, const std::function<void(uint32_t tag)>& act) {
        std::atomic<bool> acted{false};
        auto end = std::async(std::launch::async, [&] {
            const pmix_status_t rc = call();
            return acted ? rc : PMIX_ERROR;
        });
        const uint32_t tag = asked_.get_future().get();
        EXPECT_EQ(std::future_status::timeout, end.wait_for(std::chrono::milliseconds(50)));
        acted = true;
        act(tag);
        EXPECT_STATUS(PMIX_SUCCESS, end.get());
    }
    void stop() { server_.stop(); }

    pmix_proc_t id{};
    std::atomic<int> times{0};

  private:
    const char* const release_;
    OpenPmixServer server_;
    std::promise<uint32_t> asked_;
};

// A tool that is connected to both.
class OpenPmixToolOfTwo : public OpenPmixToolSetting {
  protected:
    void SetUp() override {
        OpenPmixToolSetting::SetUp();
        InfoList infos = by_uri();
        ASSERT_STATUS(PMIX_SUCCESS, init(infos));
        ASSERT_STATUS(PMIX_SUCCESS, second.attach(folder_.path("pmix.sysctrlr.node")));
    }
    SecondServer second{GetParam().first, GetParam().second};
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixToolOfTwo, kToolReleases);

TEST_P(OpenPmixToolOfTwo, Finalize_EndsWithTheAnswersOfAllServers) {
    second.answer([] { return PMIx_tool_finalize(); });
    second.stop();
    server_->stop();
    EXPECT_EQ(1, second.times);
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixToolOfTwo, Disconnect_OfAnotherServerThanThePrimary_EndsWithItsAnswer) {
    second.answer([&] { return PMIx_tool_disconnect(&second.id); });
    EXPECT_EQ(0, finalized_) << "that was not meant";
    EXPECT_TRUE(has_server("server"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    second.stop();
    server_->stop();
    EXPECT_EQ(1, second.times);
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixToolOfTwo, Disconnect_OfOneServerTwiceAtOnce_IsDoneOnce) {
    second.answer([&] { return PMIx_tool_disconnect(&second.id); },
                  [&] { EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_tool_disconnect(&second.id)); });
    EXPECT_EQ(0, finalized_);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    second.stop();
    EXPECT_EQ(1, second.times);
    EXPECT_EQ(1, finalized_);
}

// It ends the connection instead of answering: it is left all the same, and not lost.
TEST_P(OpenPmixToolOfTwo, Disconnect_TheServerEndsMeanwhile_IsNoLoss) {
    static std::atomic<int> losses;
    losses = 0;
    pmix_status_t lost = PMIX_ERR_LOST_CONNECTION;
    ASSERT_EQ(0, PMIx_Register_event_handler(
                     &lost, 1, nullptr, 0,
                     [](size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* object) {
                         ++losses;
                         done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, object);
                     },
                     nullptr, nullptr));
    second.end_by([&] { return PMIx_tool_disconnect(&second.id); }, [&](uint32_t) { second.stop(); });
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    EXPECT_EQ(0, losses);
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixTool, Disconnect_IsToldToTheServer) {
    InfoList infos = by_uri();
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    const pmix_proc_t server = common::ProcId("server", 0).to_c();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_disconnect(&server));
    EXPECT_FALSE(PMIx_tool_is_connected());
    server_->stop();
    EXPECT_EQ(1, finalized_);
}

TEST_P(OpenPmixTool, Init_Refused_IsTheServersStatus) {
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_ERR_NOT_SUPPORTED);
    InfoList infos = by_uri();
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init(infos));
}

TEST_P(OpenPmixTool, Init_RefusedForItsCredential_IsTheServersStatus) {
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_SUCCESS, PMIX_ERR_INVALID_CRED);
    InfoList infos = by_uri();
    EXPECT_STATUS(PMIX_ERR_INVALID_CRED, init(infos));
}

TEST_P(OpenPmixTool, Init_AnotherServerAtTheAddress_IsNotTheOne) {
    answer_as("tool", "another", theirs::PeerKind::tool);
    InfoList infos = by_uri();
    EXPECT_STATUS(PMIX_ERR_UNREACH, init(infos));
}

TEST_P(OpenPmixTool, Init_NamedByNobody_Fails) {
    answer_as("", "server", theirs::PeerKind::tool);
    InfoList infos = by_uri();
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, init(infos));
}

TEST_P(OpenPmixTool, Init_AServerThatSaysNothing_HasItsLimit) {
    server_->answers_hello = false;
    InfoList infos = by_uri();
    const int seconds = 1;
    infos.append(PMIX_TIMEOUT, &seconds, PMIX_INT);
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, init(infos));
}

TEST_P(OpenPmixTool, Init_NobodyThere_IsUnreachable) {
    put_stale_file("pmix.node.tool.server");
    InfoList infos;
    infos.append_string(PMIX_TCP_URI, "server.0;tcp4://127.0.0.1:1");
    EXPECT_STATUS(PMIX_ERR_UNREACH, init_tool(&me_, infos));
    InfoList other;
    other.append_string(PMIX_SERVER_URI, "server.0;tcp6://[::1]:1");
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init_tool(&me_, other));
    InfoList bad;
    bad.append_string(PMIX_SERVER_URI, "server.0;tcp4://here");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init_tool(&me_, bad));
}

// The addresses of one server are tried until one accepts; what comes from there is its answer.
// proves: PMIx_tool_init PMIX_SERVER_ALT_URIS
TEST_P(OpenPmixTool, Init_NobodyAtTheFirstAddress_IsTriedAtTheOthers) {
    const std::string there = server_->uri.substr(server_->uri.find(';') + 1);
    const std::string nowhere = "tcp4://127.0.0.1:1";
    const auto infos = [&](const std::string& first, const std::string& others) {
        // What tells the release is its file.
        std::ofstream(folder_.path("pmix.node.tool.server"))
            << "server.0;" << first << "\nv" << GetParam().first << "\n0\n";
        EXPECT_EQ(0, ::chmod(folder_.path("pmix.node.tool.server").c_str(), 0600));
        InfoList out;
        out.append_string(PMIX_SERVER_URI, ("server.0;" + first).c_str());
        if (!others.empty()) out.append_string(PMIX_SERVER_ALT_URIS, others.c_str());
        return out;
    };
    server_->start();
    InfoList none = infos(nowhere, "");
    EXPECT_STATUS(PMIX_ERR_UNREACH, init_tool(&me_, none));
    InfoList bad = infos(nowhere, there + ",here");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init_tool(&me_, bad));
    EXPECT_EQ(0, server_->connections);
    InfoList found = infos(nowhere, nowhere + ",tcp6://[::1]:1," + there);
    ASSERT_STATUS(PMIX_SUCCESS, init_tool(&me_, found));
    EXPECT_TRUE(has_server("server"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    const int before = server_->connections;
    answer_as("tool", "server", theirs::PeerKind::tool, PMIX_ERR_NOT_SUPPORTED);
    InfoList refused = infos(there, there);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init_tool(&me_, refused));
    EXPECT_EQ(before + 1, server_->connections);
}

// They answer requests of ours, which an observer's are.
TEST_P(OpenPmixTool, Init_OfAnObserver_IsNotSupported) {
    InfoList infos = by_uri();
    infos.append_flag(WIREUP_OBSERVER, true);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init(infos));
    EXPECT_EQ(0, server_->connections);
}

// ---- output ----

std::atomic<int> g_outputs{0};
void on_output(size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t* bytes, pmix_info_t*, size_t) {
    if (bytes != nullptr && bytes->size != 0) ++g_outputs;
}

// A server forwards to a tool by itself too, under the number 0.
TEST_P(OpenPmixTool, Output_ThatWasAskedFor_ComesOnce) {
    g_outputs = 0;
    std::atomic<size_t> number{0};
    server_->on(theirs::Command::iof_pull, [&](uint32_t tag, common::Bytes payload) {
        const auto request = server_->decoded<theirs::IofPullRequest>(payload);
        number = request.reference ? request.reference->value : 0;
        theirs::IofPullReply reply;
        reply.reference.emplace().value = 1;
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::log, [&](uint32_t tag, common::Bytes) {
        const std::vector<uint8_t> line{'o', 'n', 'e', 10};
        for (const size_t id : {size_t{0}, number.load(), size_t{0}}) {
            theirs::OutputMessage output;
            output.source.id = {"job", 1};
            output.channel.value = PMIX_FWD_STDOUT_CHANNEL;
            output.reference.value = id;
            output.data.bytes = line;
            server_->send(theirs::kOutputTag, output);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    InfoList infos = by_uri();
    ASSERT_STATUS(PMIX_SUCCESS, init(infos));
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    ASSERT_GE(PMIx_IOF_pull(&job, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, &on_output, nullptr, nullptr), 0);
    EXPECT_NE(0u, number);
    InfoList text;
    text.append_string("site.log", "words");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Log(text.c_array(), text.size(), nullptr, 0)) << "behind the output";
    EXPECT_EQ(1, g_outputs);
}

// Each query has its answers, however the server writes them.
TEST_P(OpenPmixTool, Query_TheAnswersOfAll_AreSortedByQuery) {
    for (const bool grouped : {false, true}) {
        server_->on(theirs::Command::query, [this, grouped](uint32_t tag, common::Bytes) {
            theirs::InfosReply reply;
            InfoList answers;
            const auto add = [&](const char* key, const char* text) {
                if (!grouped) return (void)answers.append_string(key, text);
                InfoList one;
                one.append_string(key, text);
                InfoList qualifiers;
                qualifiers.append_string(PMIX_NSPACE, "job");
                one.append(PMIX_QUERY_QUALIFIERS, std::move(common::array_value(std::move(qualifiers))).value());
                answers.append(PMIX_QUERY_RESULTS, std::move(common::array_value(std::move(one))).value());
            };
            add("site.one", "1");
            add("site.two", "2");
            add("site.one", "3");
            reply.infos.emplace().infos = common::Infos(std::move(answers));
            server_->send(tag, reply);
        });
        InfoList infos = by_uri();
        if (!grouped) server_->start();
        ASSERT_STATUS(PMIX_SUCCESS, init_tool(&me_, infos));
        char* first[] = {const_cast<char*>("site.one"), const_cast<char*>("site.missing"), nullptr};
        char* second[] = {const_cast<char*>("site.one"), const_cast<char*>("site.two"), nullptr};
        pmix_query_t queries[] = {{first, nullptr, 0}, {second, nullptr, 0}};
        pmix_info_t* results = nullptr;
        size_t n = 0;
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Query_info(queries, 2, &results, &n)) << grouped;
        std::string said;
        for (size_t i = 0; i < n; ++i) said += std::string(results[i].key) + "=" + results[i].value.data.string + " ";
        EXPECT_EQ("site.one=1 site.one=3 site.two=2 ", said) << grouped;
        PMIx_Info_free(results, n);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_tool_finalize());
    }
}

// ---- releases ----

// 4.2.2 crashes when its host refuses a tool, and mpirun of Open MPI 4.1 refuses all.
TEST(OpenPmixToolRelease, Init_AtAServerThatMayNotSurviveARefusal_IsNotAsked) {
    TemporaryFolder folder;
    ::setenv("PMIX_HOSTNAME", "node", 1);
    ::setenv("PMIX_SYSTEM_TMPDIR", folder.name().c_str(), 1);
    OpenPmixServer server("4.2.2rc2", "v41");
    server.start();
    for (const char* version : {"", "release", "4.2.2rc2", "3.2.5"}) {
        const std::string path = folder.path("pmix.node.tool.server");
        std::ofstream(path) << server.uri << '\n' << version << "\n1\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(path.c_str(), 0600));
        InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server.uri.c_str());
        pmix_proc_t me{};
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init_tool(&me, infos)) << version;
        fs::remove(path);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, init_tool(&me, infos)) << "nothing says which release it is";
    }
    EXPECT_EQ(0, server.connections);
    OpenPmixServer::clear_environment();
    ::unsetenv("PMIX_SYSTEM_TMPDIR");
}

TEST(OpenPmixToolEnvironment, Describe_AKnownRelease_HasItsEncoding) {
    client::OpenPmixContact contact;
    for (const auto& [version, encoding] :
         {std::pair{"7.0.0rc1", "v61"}, std::pair{"6.1.1rc2", "v61"}, std::pair{"6.0.0", "v51"},
          std::pair{"5.0.7a1", "v41"}, std::pair{"4.2.2", "v41"}, std::pair{"4.0.0", "v4"}}) {
        contact.version = version;
        auto server = client::describe_openpmix_server(contact);
        ASSERT_TRUE(server.ok()) << version;
        EXPECT_EQ(encoding, server->encoding) << version;
    }
    for (const char* version : {"3.2.5", ""}) {
        contact.version = version;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, client::describe_openpmix_server(contact).status());
    }
}

}  // namespace
}  // namespace pmix::test::openpmix_tool_test
