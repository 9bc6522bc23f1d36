// SPDX-License-Identifier: BSD-3-Clause
// What the tests of tools at OpenPMIx's servers share: a scripted server of a release, its files, and a tool at it.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "client/openpmix/environment.h"
#include "common/values/info_view.h"
#include "support/openpmix_server.h"
#include "support/server_here.h"
#include "support/temporary_folder.h"

namespace pmix::test {

inline pmix_status_t init_tool(pmix_proc_t* me, common::InfoList& infos) {
    return PMIx_tool_init(me, infos.c_array(), infos.size());
}

inline bool has_server(const char* nspace) {
    pmix_proc_t* servers = nullptr;
    size_t n = 0;
    if (PMIx_tool_get_servers(&servers, &n) != PMIX_SUCCESS) return false;
    const bool there = n == 1 && std::string(servers[0].nspace) == nspace;
    std::free(servers);
    return there;
}

class OpenPmixToolSetting : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
  protected:
    void SetUp() override {
        OpenPmixServer::clear_environment();
        server_ = std::make_unique<OpenPmixServer>(GetParam().first, GetParam().second);
        answer_as("tool", "server", openpmix::PeerKind::tool);
        server_->on(openpmix::Command::finalize, [this](uint32_t tag, common::Bytes) {
            ++finalized_;
            server_->send_status(tag, PMIX_SUCCESS);
        });
        ::setenv("PMIX_HOSTNAME", "node", 1);
        ::setenv("PMIX_SYSTEM_TMPDIR", folder_.name().c_str(), 1);
    }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_tool_finalize();
        OpenPmixServer::clear_environment();
        ::unsetenv("PMIX_SYSTEM_TMPDIR");
    }
    // The server's answer to the hello, and the data of the tool, which is only its name.
    void answer_as(const char* tool, const char* server, openpmix::PeerKind kind, pmix_status_t status = PMIX_SUCCESS,
                   pmix_status_t security = PMIX_SUCCESS) {
        openpmix::ConnectReply reply;
        reply.status = status;
        reply.self = common::ProcId(tool, 0);
        reply.server = common::ProcId(server, 0);
        reply.security = security;
        server_->hello_answer = openpmix::encode_reply(reply, openpmix::reply_form(kind, server_->traits));
        server_->on(openpmix::Command::job_data, [this, name = std::string(tool)](uint32_t tag, common::Bytes) {
            openpmix::JobData data;
            data.nspace = openpmix::Text(name);
            server_->send(tag, data);
        });
    }
    pmix_status_t init(common::InfoList& infos) {
        server_->start();
        return init_tool(&me_, infos);
    }
    common::InfoList by_uri() const {
        put_file("session/pmix.node.tool.server");
        common::InfoList infos;
        infos.append_string(PMIX_SERVER_URI, server_->uri.c_str());
        return infos;
    }
    // pid: of a process that is there, and is not this one, whose own servers a tool does not look for.
    void put_file(const std::string& name, pid_t pid = ::getppid()) const {
        const std::string path = folder_.path(name);
        std::filesystem::create_directories(std::filesystem::path(path).parent_path());
        std::ofstream(path) << server_->uri << "\nv" << GetParam().first << '\n' << pid << "\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(path.c_str(), 0600));
    }
    // Left by a server that is gone.
    void put_stale_file(const std::string& name) const {
        // A process that is there now, as that of the number may be.
        std::ofstream(folder_.path(name)) << "server.0;tcp4://127.0.0.1:1\nv5.0.7\n" << ::getppid() << "\n0:0\nnow\n";
        ASSERT_EQ(0, ::chmod(folder_.path(name).c_str(), 0600));
    }

    TemporaryFolder folder_;
    std::unique_ptr<OpenPmixServer> server_;
    std::atomic<int> finalized_{0};
    pmix_proc_t me_{};
};
// Whose tools a server may be asked by: since 5.0.
inline const auto kToolReleases = ::testing::Values(std::make_pair("5.0.7", "v41"), std::make_pair("6.1.1rc2", "v61"),
                                                    std::make_pair("7.0.0rc1", "v61"));

}  // namespace pmix::test
