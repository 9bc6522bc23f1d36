// SPDX-License-Identifier: BSD-3-Clause
// What the attributes of PMIx_server_init about sockets, files, tools, threads and the module do, seen from outside of
// the server: by its sockets and files, by its answers to tools, and by the thread on which it calls back.
#include <event2/event.h>
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "client/tool/tool_search.h"
#include "runtime/library.h"
#include "server/parts.h"
#include "support/listening.h"
#include "support/own_module.h"
#include "support/server_here.h"
#include "support/status.h"
#include "support/temporary_folder.h"
#include "support/thread_binding.h"

using namespace pmix::test;
using pmix::common::IdentityReply;

namespace {

InfoList with(const char* key, bool value = true) {
    InfoList infos = ServerHere::named();
    infos.append_flag(key, value);
    return infos;
}

void on_tool(pmix_info_t*, size_t, pmix_tool_connection_cbfunc_t done, void* cbdata) {
    done(PMIX_ERR_NOT_SUPPORTED, nullptr, cbdata);
}

// What a server with this attribute answers to an unknown tool; 999: it was not found.
uint32_t offers(InfoList infos, bool host_takes_tools = true) {
    pmix_server_module_t module{};
    if (host_takes_tools) module.tool_connected = &on_tool;
    ServerHere server(&module, std::move(infos));
    // The tool has little patience with each server; where this process is stopped for longer, it asks again.
    for (int i = 0; i < 5; ++i)
        for (const IdentityReply& identity :
             pmix::client::look_around(pmix::transport::Deadline::in_ms(60'000), pmix::transport::kRealIo))
            if (identity.pid == static_cast<uint32_t>(::getpid())) return identity.offers;
    return 999;
}

}  // namespace

// rows: V1
// proves: PMIx_server_init PMIX_SERVER_TOOL_SUPPORT PMIX_SERVER_SESSION_SUPPORT PMIX_SERVER_SYSTEM_SUPPORT
// proves: PMIx_server_init PMIX_SERVER_SCHEDULER
TEST(ServerAttributes, WhatItIsToTools) {
    EXPECT_EQ(0u, offers(ServerHere::named()));
    EXPECT_EQ(IdentityReply::kTools, offers(with(PMIX_SERVER_TOOL_SUPPORT)));
    EXPECT_EQ(0u, offers(with(PMIX_SERVER_TOOL_SUPPORT, false)));
    EXPECT_EQ(0u, offers(with(PMIX_SERVER_TOOL_SUPPORT), false)) << "a host without the entry takes none";
    EXPECT_EQ(IdentityReply::kTools | IdentityReply::kSession, offers(with(PMIX_SERVER_SESSION_SUPPORT)));
    EXPECT_EQ(IdentityReply::kTools | IdentityReply::kSystem, offers(with(PMIX_SERVER_SYSTEM_SUPPORT)));
    EXPECT_EQ(IdentityReply::kTools | IdentityReply::kScheduler, offers(with(PMIX_SERVER_SCHEDULER)));
    EXPECT_EQ(IdentityReply::kScheduler, offers(with(PMIX_SERVER_SCHEDULER), false));
}

// rows: V1
// proves: PMIx_server_init PMIX_LAUNCHER_RENDEZVOUS_FILE
TEST(ServerAttributes, RendezvousFile_HasTheServersAddress) {
    TemporaryFolder folder;
    {
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_LAUNCHER_RENDEZVOUS_FILE, folder.path("where"));
        ServerHere server(nullptr, std::move(infos));
        register_job("job");
        const std::string uri = ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI_WIREUP");
        ASSERT_NE("", uri);
        EXPECT_NE(std::string::npos, folder.text("where").find(uri)) << folder.text("where");
    }
    EXPECT_EQ(0u, folder.files()) << "it goes with the server";
}

// rows: V1
// proves: PMIx_server_init PMIX_TCP_REPORT_URI
TEST(ServerAttributes, ReportUri_WritesTheServersAddressToAStreamOrAFile) {
    TemporaryFolder folder;
    const auto report_to = [&](const std::string& where) {
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_TCP_REPORT_URI, where);
        infos[infos.size() - 1].flags |= PMIX_INFO_REQD;
        ServerHere server(nullptr, std::move(infos));
        register_job("job");
        const std::string uri = ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI_WIREUP");
        EXPECT_NE("", uri);
        const bool in_file = where.size() > 1;
        EXPECT_EQ(in_file, in_file && folder.text("where").find(uri) != std::string::npos);
        return uri + "\n";
    };
    ::testing::internal::CaptureStdout();
    const std::string out = report_to("-");
    EXPECT_EQ(out, ::testing::internal::GetCapturedStdout());
    ::testing::internal::CaptureStderr();
    const std::string err = report_to("+");
    EXPECT_EQ(err, ::testing::internal::GetCapturedStderr());
    report_to(folder.path("where"));
    EXPECT_EQ(0u, folder.files()) << "it goes with the server";
    {
        InfoList both = ServerHere::named();
        both.append_string(PMIX_TCP_REPORT_URI, folder.path("where"));
        both.append_string(PMIX_LAUNCHER_RENDEZVOUS_FILE, folder.path("launcher"));
        ServerHere server(nullptr, std::move(both));
        EXPECT_NE("", folder.text("where"));
        EXPECT_NE("", folder.text("launcher"));
    }
    EXPECT_EQ(0u, folder.files());
}

// A socket with a name in a folder, for processes that cannot reach the abstract one; or nothing but that.
// rows: V1
// proves: PMIx_server_init PMIX_WIREUP_SOCKET_FILE PMIX_SINGLE_LISTENER
TEST(ServerAttributes, SingleListener_HasOneSocket) {
    TemporaryFolder folder;
    const size_t before = listening_sockets();
    const auto start = [&](bool file, bool single) {
        InfoList infos = ServerHere::named();
        infos.append_string(PMIX_SERVER_TMPDIR, folder.name());
        infos.append_flag(PMIX_WIREUP_SOCKET_FILE, file);
        infos.append_flag(PMIX_SINGLE_LISTENER, single);
        infos.append_flag(PMIX_WIREUP_OPENPMIX, false);
        return infos;
    };
    const auto uri = [] {
        register_job("job");
        return ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_SERVER_URI_WIREUP");
    };
    {
        ServerHere server(nullptr, start(false, false));
        EXPECT_EQ(before + 1, listening_sockets());
        EXPECT_EQ(0u, folder.files());
    }
    {
        ServerHere server(nullptr, start(true, false));
        EXPECT_EQ(before + 2, listening_sockets());
        EXPECT_EQ(1u, folder.files());
        const std::string text = uri();
        EXPECT_NE(std::string::npos, text.find("@wireup/")) << text;
        EXPECT_NE(std::string::npos, text.find(folder.name())) << text;
    }
    {
        ServerHere server(nullptr, start(true, true));
        EXPECT_EQ(before + 1, listening_sockets());
        EXPECT_EQ(1u, folder.files());
        const std::string text = uri();
        EXPECT_EQ(std::string::npos, text.find("@wireup/")) << text;
        EXPECT_NE(std::string::npos, text.find(folder.name())) << text;
    }
    {
        ServerHere server(nullptr, start(false, true));
        EXPECT_EQ(before + 1, listening_sockets());
    }
    EXPECT_EQ(0u, folder.files());
}

// It is about the ways of one protocol: mpirun asks for a single one, and its ranks may have OpenPMIx's library.
// rows: V1
// proves: PMIx_server_init PMIX_WIREUP_OPENPMIX
TEST(ServerAttributes, SocketForOpenPmix_IsThereUnlessForbidden) {
    const size_t before = listening_sockets();
    const auto listening = [&](const char* key, bool flag) {
        InfoList infos = ServerHere::named();
        infos.append_flag(key, flag);
        ServerHere server(nullptr, std::move(infos));
        return listening_sockets() - before;
    };
    EXPECT_EQ(2u, listening(PMIX_SINGLE_LISTENER, false));
    EXPECT_EQ(2u, listening(PMIX_SINGLE_LISTENER, true));
    EXPECT_EQ(2u, listening(PMIX_WIREUP_OPENPMIX, true));
    EXPECT_EQ(1u, listening(PMIX_WIREUP_OPENPMIX, false));
    EXPECT_EQ(before, listening_sockets());
}

// proves: PMIx_server_init PMIX_WIREUP_USER_MEMORY
TEST(ServerAttributes, UserMemory_ByAttributeOrEnvironment_IsTheLimitOfEachUser) {
    const auto limit = [] { return pmix::api::Library::current()->server()->parts().budget.limit(); };
    const auto given = [](size_t bytes) {
        InfoList infos = ServerHere::named();
        infos.append_number<size_t>(PMIX_WIREUP_USER_MEMORY, bytes, PMIX_SIZE);
        return infos;
    };
    {
        ServerHere server;
        EXPECT_EQ(pmix::server::Budget::default_limit(), limit());
    }
    ::setenv("WIREUP_USER_MEMORY", "7654321", 1);
    {
        ServerHere server;
        EXPECT_EQ(7654321u, limit());
    }
    {
        ServerHere server(nullptr, given(1234567));
        EXPECT_EQ(1234567u, limit()) << "the attribute counts";
    }
    ::setenv("WIREUP_USER_MEMORY", "much", 1);
    InfoList named = ServerHere::named();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, named.c_array(), named.size()));
    ::unsetenv("WIREUP_USER_MEMORY");
    InfoList none = given(0);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, none.c_array(), none.size()));
}

// rows: V1
// proves: PMIx_server_init PMIX_WIREUP_LOG
TEST(ServerAttributes, TheLogGoesWhereItIsSent) {
    TemporaryFolder folder;
    for (bool asked : {false, true}) {
        InfoList infos = ServerHere::named();
        if (asked) infos.append_string(PMIX_WIREUP_LOG, "info@" + folder.path("log"));
        { ServerHere server(nullptr, std::move(infos)); }
        EXPECT_EQ(asked, folder.text("log").find("here:3") != std::string::npos) << folder.text("log");
    }
}

// What strict mode does stands with the operations that have one; here: who is in it.
// proves: PMIx_server_init PMIX_WIREUP_STRICT
TEST(ServerAttributes, StrictMode_OfTheServer_IsPassedOnToItsProcesses) {
    for (bool asked : {false, true}) {
        InfoList infos = ServerHere::named();
        infos.append_flag(PMIX_WIREUP_STRICT, asked);
        ServerHere server(nullptr, std::move(infos));
        register_job("job");
        EXPECT_EQ(asked ? "1" : "", ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_WIREUP_STRICT"));
    }
    ::setenv("PMIX_WIREUP_STRICT", "1", 1);
    {
        ServerHere server(nullptr, ServerHere::named());
        register_job("job");
        EXPECT_EQ("1", ChildEnvironment(ProcId("job", 0).to_c()).get("PMIX_WIREUP_STRICT"));
    }
    ::unsetenv("PMIX_WIREUP_STRICT");
}

namespace {

struct Told {
    int calls = 0;
    std::thread::id thread;
    event_base* base = nullptr;
    static void done(pmix_status_t status, void* cbdata) {
        auto* t = static_cast<Told*>(cbdata);
        EXPECT_STATUS(PMIX_SUCCESS, status);
        ++t->calls;
        t->thread = std::this_thread::get_id();
        if (t->base != nullptr) event_base_loopbreak(t->base);
    }
};

pmix_status_t register_job_nb(Told& told) {
    pmix_nspace_t name;
    PMIx_Load_nspace(name, "job");
    return PMIx_server_register_nspace(name, 1, nullptr, 0, &Told::done, &told);
}

}  // namespace

// rows: V1
// proves: PMIx_server_init PMIX_EVENT_BASE
TEST(ServerAttributes, TheHostsEventBaseIsTheLoop) {
    event_base* base = event_base_new();
    {
        InfoList infos = ServerHere::named();
        infos.append(PMIX_EVENT_BASE, base, PMIX_POINTER);
        ServerHere server(nullptr, std::move(infos));
        Told told;
        told.base = base;
        ASSERT_STATUS(PMIX_SUCCESS, register_job_nb(told));
        EXPECT_EQ(0, told.calls);
        event_base_dispatch(base);
        EXPECT_EQ(1, told.calls);
        EXPECT_EQ(std::this_thread::get_id(), told.thread);
    }
    event_base_free(base);
}

// proves: PMIx_server_init PMIX_BIND_PROGRESS_THREAD PMIX_BIND_REQUIRED
TEST(ServerAttributes, ProgressThreadIsBound) {
    InfoList refused = binding("1000000", true);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, (PMIx_server_init)(nullptr, refused.c_array(), refused.size()));
    InfoList infos = ServerHere::named();
    InfoList where = binding(std::to_string(last_cpu()), true);
    infos.append_all(where.c_array(), where.size());
    ServerHere server(nullptr, std::move(infos));
    EXPECT_TRUE(is_only(cpus_of_progress_thread(), last_cpu()));
}

// rows: V1 I13
// proves: PMIx_server_init PMIX_EXTERNAL_PROGRESS
TEST(ServerAttributes, NothingHappensButInPMIxProgress) {
    ServerHere server(nullptr, with(PMIX_EXTERNAL_PROGRESS));
    Told told;
    ASSERT_STATUS(PMIX_SUCCESS, register_job_nb(told));
    EXPECT_EQ(0, told.calls);
    for (int i = 0; i < 1000 && told.calls == 0; ++i) PMIx_Progress();
    EXPECT_EQ(1, told.calls);
    EXPECT_EQ(std::this_thread::get_id(), told.thread);
}

namespace {

int g_controls = 0;
pmix_status_t session_control(const pmix_proc_t*, uint32_t, const pmix_info_t[], size_t, pmix_info_cbfunc_t, void*) {
    ++g_controls;
    return PMIX_ERR_NO_PERMISSIONS;
}

}  // namespace

// An entry that releases before 5.0 did not have is read only when the host says how much it has.
// rows: U18
// proves: PMIx_server_init PMIX_SERVER_MODULE_SIZE
TEST(ServerAttributes, TheModulesSizeSaysWhichEntriesItHas) {
    pmix_server_module_t module{};
    module.session_control = &session_control;
    InfoList nothing;
    for (size_t size : {size_t{0}, size_t{224}, sizeof module}) {
        InfoList infos = ServerHere::named();
        if (size != 0) infos.append_number<size_t>(PMIX_SERVER_MODULE_SIZE, size, PMIX_SIZE);
        g_controls = 0;
        // Not the macro of the same name, which says the size by itself.
        ASSERT_STATUS(PMIX_SUCCESS, (PMIx_server_init)(&module, infos.c_array(), infos.size()));
        ask_own_module();
        const pmix_status_t rc = PMIx_Session_control(1, nothing.c_array(), 0, nullptr, nullptr);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
        EXPECT_STATUS(size == sizeof module ? PMIX_ERR_NO_PERMISSIONS : PMIX_ERR_NOT_SUPPORTED, rc) << size;
        EXPECT_EQ(size == sizeof module ? 1 : 0, g_controls) << size;
    }
}

namespace {

std::string g_logged;

}  // namespace

// In libc's place, so that nothing of this reaches the machine's log.
extern "C" void syslog(int, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char text[256];
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    g_logged += text;
}

// A log that is there, and of another kind of socket than the library's own: syslog() has the entry then.
extern "C" int connect(int fd, const sockaddr* address, socklen_t size) {
    const auto* local = reinterpret_cast<const sockaddr_un*>(address);
    if (address->sa_family == AF_UNIX && std::strcmp(local->sun_path, "/dev/log") == 0) {
        errno = EPROTOTYPE;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_connect, fd, address, size));
}

// Only the server of the system's gateway speaks for the system's log. rows: V1
// proves: PMIx_server_init PMIX_SERVER_GATEWAY
TEST(ServerAttributes, TheGatewayWritesTheSystemsLog) {
    for (bool gateway : {false, true}) {
        g_logged.clear();
        {
            ServerHere server(nullptr, with(PMIX_SERVER_GATEWAY, gateway));
            InfoList data;
            data.append_string(PMIX_LOG_GLOBAL_SYSLOG, "a line for all");
            EXPECT_STATUS(gateway ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                          PMIx_Log(data.c_array(), data.size(), nullptr, 0));
        }
        EXPECT_EQ(gateway, g_logged.find("a line for all") != std::string::npos) << g_logged;
    }
}
