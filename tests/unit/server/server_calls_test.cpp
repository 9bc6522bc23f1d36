// SPDX-License-Identifier: BSD-3-Clause
// PMIx_server_init and the calls that a server makes as if it were a client, through the public API, in this process.
// The calls that set up jobs: job_calls_test.cpp.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <future>
#include <set>
#include <string>
#include <string_view>

#include "support/own_module.h"
#include "support/sanitizers.h"
#include "support/server_here.h"
#include "support/status.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/unix_socket.h"

namespace server_calls_test {

using namespace pmix::test;

// rows: V1
TEST(ServerCallsTest, InitTakesNoModuleAndAModuleOfNulls) {
    for (bool with_module : {false, true}) {
        pmix_server_module_t nothing{};
        ServerHere server(with_module ? &nothing : nullptr);
        register_job("job");
        pmix_proc_t proc = ProcId("job", 0).to_c();
        EXPECT_EQ("0", ChildEnvironment(proc).get("PMIX_RANK"));
    }
}

namespace {

int g_listener_calls = 0;
pmix_status_t listener_of_host(int, pmix_connection_cbfunc_t, void*) {
    ++g_listener_calls;
    return PMIX_SUCCESS;
}

}  // namespace

// rows: U11
TEST(ServerCallsTest, TheLibraryListensItselfEvenIfTheHostWould) {
#ifdef UNDER_TSAN
    GTEST_SKIP() << "the child of a process with threads starts a thread, which this sanitizer does not allow";
#endif
    for (bool offered : {false, true}) {
        pmix_server_module_t module{};
        if (offered) module.listener = &listener_of_host;
        ServerHere server(&module);
        register_job("job");
        // Children are told an address, and somebody answers there.
        const std::string uri = ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI_WIREUP");
        const pid_t child = ::fork();
        if (child == 0) {
            ::setenv("PMIX_NAMESPACE", "job", 1);
            ::setenv("PMIX_RANK", "0", 1);
            ::setenv("PMIX_SERVER_URI_WIREUP", uri.c_str(), 1);
            pmix_proc_t me;
            const bool well = PMIx_Init(&me, nullptr, 0) == PMIX_SUCCESS && me.rank == 0;
            ::_exit(well && PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : 1);
        }
        int status = -1;
        ASSERT_EQ(child, ::waitpid(child, &status, 0));
        EXPECT_EQ(0, status) << offered;
    }
    EXPECT_EQ(0, g_listener_calls);
}

namespace {

std::set<std::string> open_sockets() {
    std::set<std::string> names;
    for (int fd = 0; fd < 256; ++fd) {
        char name[64] = "";
        if (::readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), name, sizeof name - 1) > 0 &&
            std::string_view(name).starts_with("socket:"))
            names.insert(name);
    }
    return names;
}

}  // namespace

// A daemon's forked child that is a library of its own must not keep the daemon's sockets and connections open.
TEST(ServerCallsTest, AForkedChildGivesBackTheServersSockets) {
#ifdef UNDER_TSAN
    GTEST_SKIP() << "the child of a process with threads starts a thread, which this sanitizer does not allow";
#endif
    const std::set<std::string> before = open_sockets();
    ServerHere server;
    register_job("job");
    const std::string uri = ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI_WIREUP");
    auto contact = pmix::transport::parse_uri(uri);
    ASSERT_TRUE(contact.ok()) << uri;
    const auto half_open =
        pmix::transport::connect_to(contact->addresses.front(), pmix::transport::Deadline::in_ms(60'000));
    ASSERT_TRUE(half_open.ok());
    std::set<std::string> servers;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (servers.size() < before.size() + 3 && std::chrono::steady_clock::now() < until) {
        servers = open_sockets();
        ::usleep(100);
    }
    EXPECT_GE(servers.size(), before.size() + 3) << "a listening socket, and both ends of a connection";
    const pid_t child = ::fork();
    if (child == 0) {
        InfoList alone;
        alone.append_flag(PMIX_TOOL_DO_NOT_CONNECT, true);
        if (PMIx_tool_init(nullptr, alone.c_array(), alone.size()) != PMIX_SUCCESS) ::_exit(1);
        // What is left is what was there before, and this test's own end.
        const size_t left = open_sockets().size();
        if (PMIx_tool_finalize() != PMIX_SUCCESS) ::_exit(2);
        ::_exit(left == before.size() + 1 ? 0 : 3);
    }
    int status = -1;
    ASSERT_EQ(child, ::waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
}

// rows: V1
TEST(ServerCallsTest, InitIsCounted) {
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_finalize());
    EXPECT_EQ(0, PMIx_Initialized());
    {
        ServerHere server;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, nullptr, 0));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        EXPECT_NE(0, PMIx_Initialized()) << "one init is still open";
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "k", Text("v").get()));
    }
    EXPECT_EQ(0, PMIx_Initialized());
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_finalize());
    ServerHere again;
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(ServerHere::self(), "k")) << "the second instance has nothing of the first";
}

// rows: V1
// proves: PMIx_server_init PMIX_SERVER_TMPDIR PMIX_SYSTEM_TMPDIR
TEST(ServerCallsTest, InitTakesNameAndFolders) {
    InfoList infos = ServerHere::named();
    infos.append_string(PMIX_SERVER_TMPDIR, "/tmp/of-server");
    infos.append_string(PMIX_SYSTEM_TMPDIR, "/tmp/of-system");
    ServerHere server(nullptr, std::move(infos));
    register_job("job");
    ChildEnvironment child(ProcId("job", 0).to_c());
    ASSERT_STATUS(PMIX_SUCCESS, child.status);
    EXPECT_EQ("/tmp/of-server", child.get("PMIX_SERVER_TMPDIR"));
    EXPECT_EQ("/tmp/of-system", child.get("PMIX_SYSTEM_TMPDIR"));
    // What it puts is found under the name and rank that init was given.
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "k", Text("v").get()));
    EXPECT_EQ("v", text_of(ServerHere::self(), "k"));
}

// rows: V1
// proves: PMIx_server_init PMIX_SERVER_NSPACE PMIX_SERVER_RANK
TEST(ServerCallsTest, InitRefusesWhatItCannotRead) {
    InfoList number_as_name;
    number_as_name.append_number<uint32_t>(PMIX_SERVER_NSPACE, 7, PMIX_UINT32);
    EXPECT_NE(PMIX_SUCCESS, PMIx_server_init(nullptr, number_as_name.c_array(), number_as_name.size()));
    InfoList wildcard;
    pmix_rank_t rank = PMIX_RANK_WILDCARD;
    wildcard.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, wildcard.c_array(), wildcard.size()));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, nullptr, 1));
    EXPECT_EQ(0, PMIx_Initialized());
}

namespace {

// Every directive that the set-up of a server reads, each with a value that it can read.
InfoList all_directives() {
    InfoList infos = ServerHere::named();
    for (const char* key :
         {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION, PMIX_THREADING_MODEL,
          PMIX_MODEL_CPU_TYPE, PMIX_MODEL_AFFINITY_POLICY, PMIX_HOSTNAME, PMIX_SERVER_TMPDIR, PMIX_SYSTEM_TMPDIR,
          PMIX_TOPOLOGY_XML, PMIX_HWLOC_XML_V1, PMIX_HWLOC_XML_V2, PMIX_LOCAL_TOPO})
        infos.append_string(key, "/some/text");
    for (const char* key : {PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS})
        infos.append_number<uint32_t>(key, 2, PMIX_UINT32);
    infos.append_number<size_t>(PMIX_SERVER_CACHE_SIZE, 16, PMIX_SIZE);
    infos.append_number<size_t>(PMIX_SERVER_MODULE_SIZE, 0, PMIX_SIZE);
    for (const char* key : {PMIX_EXTERNAL_PROGRESS, PMIX_SERVER_SHARE_TOPOLOGY, PMIX_SINGLE_LISTENER})
        infos.append_flag(key, false);
    for (const char* key : {PMIX_EVENT_BASE, PMIX_TOPOLOGY}) infos.append(key, nullptr, PMIX_POINTER);
    return infos;
}

}  // namespace

// rows: V1 G7
TEST(ServerCallsTest, InitRefusesARequiredDirectiveThatItDoesNotFollow) {
    for (const char* key : {"site.needs", PMIX_SERVER_REMOTE_CONNECTIONS, PMIX_TCP_DISABLE_IPV6, PMIX_TCP_IPV4_PORT}) {
        InfoList infos = ServerHere::named();
        infos.append_flag(key, true);
        {
            ServerHere optional(nullptr, ServerHere::named());
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
            EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
            PMIx_Info_required(infos.find(key));
            EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
        }
        EXPECT_EQ(0, PMIx_Initialized()) << "the refused init was not counted";
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
        EXPECT_EQ(0, PMIx_Initialized());
        EXPECT_STATUS(PMIX_ERR_INIT, PMIx_server_finalize());
        ServerHere afterwards;
    }
}

// rows: V1 G7
TEST(ServerCallsTest, InitTakesWhatItFollowsAsRequired) {
    InfoList infos = all_directives();
    for (size_t i = 0; i < infos.size(); ++i) PMIx_Info_required(&infos.c_array()[i]);
    ServerHere server(nullptr, std::move(infos));
    EXPECT_STATUS(PMIX_SUCCESS, server.status);
}

// rows: G15
TEST(ServerCallsTest, AServerPutsAndGets) {
    ServerHere server;
    pmix_proc_t self = ServerHere::self(), other = ProcId("other", 5).to_c();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "mine", Text("put").get()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_EQ("put", text_of(self, "mine"));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(&other, "theirs", Text("stored").get()));
    EXPECT_EQ("stored", text_of(other, "theirs"));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(self, "theirs"));
}

namespace {

struct Publisher {
    static inline std::promise<ProcId>* asked = nullptr;
    static inline std::string key;
    static pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t n, pmix_op_cbfunc_t done,
                                 void* cbdata) {
        key = n == 0 ? "" : infos[0].key;
        asked->set_value(ProcId(*proc));
        done(PMIX_SUCCESS, cbdata);
        return PMIX_SUCCESS;
    }
};

}  // namespace

// rows: G15
TEST(ServerCallsTest, Publish_OfALauncherThatIsItsOwnServer_GoesToItsModule) {
    std::promise<ProcId> asked;
    Publisher::asked = &asked;
    pmix_server_module_t module{};
    module.publish = &Publisher::publish;
    ServerHere server(&module);
    ask_own_module();
    InfoList infos;
    infos.append_string("offer", "here");
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Publish(infos.c_array(), infos.size()));
    EXPECT_EQ(ProcId("here", 3), asked.get_future().get());
    EXPECT_EQ("offer", Publisher::key);
}

namespace {

struct Heard {
    static inline std::promise<ProcId>* source = nullptr;
    static void handler(size_t, pmix_status_t, const pmix_proc_t* from, pmix_info_t[], size_t, pmix_info_t[], size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        source->set_value(ProcId(*from));
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
};

}  // namespace

// rows: G15
TEST(ServerCallsTest, AServerGetsTheEventsThatItNotifies) {
    std::promise<ProcId> source;
    Heard::source = &source;
    ServerHere server;
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
    pmix_status_t reference = PMIx_Register_event_handler(&code, 1, nullptr, 0, &Heard::handler, nullptr, nullptr);
    ASSERT_GE(reference, 0);
    pmix_proc_t self = ServerHere::self();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(code, &self, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    auto heard = source.get_future();
    ASSERT_EQ(std::future_status::ready, heard.wait_for(std::chrono::seconds(60)));
    EXPECT_EQ(ProcId("here", 3), heard.get());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr));
}

namespace {

void on_lookup(pmix_status_t status, pmix_pdata_t[], size_t, void* cbdata) {
    Answer::done(status, cbdata);
}

// Of an _nb call: the status is either the return value or the callback's.
template <class Call>
pmix_status_t outcome(Call&& call) {
    Answer answer;
    pmix_status_t rc = call(&answer);
    return rc == PMIX_SUCCESS ? answer.wait() : rc;
}

}  // namespace

// rows: P9
TEST(ServerCallsTest, PublishFamilyWithoutHostIsNotSupported) {
    ServerHere server;
    InfoList infos;
    infos.append_string("offer", "here");
    pmix_info_t* array = infos.c_array();
    char key[] = "offer";
    char* keys[] = {key, nullptr};
    pmix_pdata_t wanted;
    PMIx_Pdata_construct(&wanted);
    PMIx_Load_key(wanted.key, key);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(array, 1));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Lookup(&wanted, 1, nullptr, 0));
    EXPECT_EQ(PMIX_UNDEF, wanted.value.type);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(keys, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(nullptr, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  outcome([&](void* a) { return PMIx_Publish_nb(array, 1, &Answer::done, a); }));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  outcome([&](void* a) { return PMIx_Lookup_nb(keys, nullptr, 0, &on_lookup, a); }));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  outcome([&](void* a) { return PMIx_Unpublish_nb(keys, nullptr, 0, &Answer::done, a); }));
    PMIx_Pdata_destruct(&wanted);
}

}  // namespace server_calls_test
