// SPDX-License-Identifier: BSD-3-Clause
// The output of spawned jobs, which goes to the tools that read the jobs which have spawned them.
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "server/iof/spawners.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace server_iof_spawned_test {

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

constexpr pmix_iof_channel_t kOut = PMIX_FWD_STDOUT_CHANNEL, kErr = PMIX_FWD_STDERR_CHANNEL;

void accept_tool(pmix_info_t[], size_t, pmix_tool_connection_cbfunc_t done, void* cbdata) {
    pmix_proc_t proc = ProcId("tool", 0).to_c();
    done(PMIX_SUCCESS, &proc, cbdata);
}

pmix_server_module_t module_of(FakeHost& host) {
    pmix_server_module_t module = host.module();
    module.tool_connected = &accept_tool;
    return module;
}

struct Setting {
    Setting()
        : module(module_of(host)), server(&module, options()), tool(server, {"tool", 0}), rank(server, {"job", 0}) {
        server.job("job", 1, 2);
        EXPECT_STATUS(PMIX_SUCCESS, tool.hello({}, common::PeerRole::tool));
        EXPECT_STATUS(PMIX_SUCCESS, rank.hello());
    }
    static server::ServerOptions options() {
        server::ServerOptions out;
        out.tool_support = true;
        return out;
    }
    // A job of one process, which this one has spawned.
    void spawned(const std::string& nspace, const ProcId& parent, std::optional<bool> inherits = {}) {
        InfoList list;
        list.append_number<uint32_t>(PMIX_JOB_SIZE, 1, PMIX_UINT32);
        const pmix_proc_t proc = parent.to_c();
        list.append(PMIX_PARENT_ID, &proc, PMIX_PROC);
        if (inherits) list.append_flag(PMIX_IOF_INHERIT, *inherits);
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job(nspace, 0, list));
    }
    pmix_status_t pull(FakeClient& client, uint64_t reference, common::ProcList procs,
                       pmix_iof_channel_t channels = kOut) {
        common::IofPullRequest request;
        request.reference = reference;
        request.channels = channels;
        request.procs = std::move(procs);
        return client.ask<Command::iof_pull>(request);
    }
    void deliver(ProcId source, std::string_view text, pmix_iof_channel_t channel = kOut) {
        server.on_loop([&] {
            server::IofDelivery d;
            d.source = std::move(source);
            d.channel = channel;
            d.data.assign(text.begin(), text.end());
            d.done = [](pmix_status_t) {};
            server.parts().iof.deliver(std::move(d));
            return 0;
        });
    }
    // What has come: "REFERENCE NSPACE TEXT;" for each part.
    std::string got(FakeClient& client) {
        server.settle();
        std::string all;
        while (auto output = client.take_output())
            all += std::to_string(output->reference) + ' ' + output->source.nspace + ' ' +
                   std::string(reinterpret_cast<const char*>(output->data.data()), output->data.size()) + ';';
        return all;
    }
    common::ProcList line(const ProcId& proc) {
        return server.on_loop([&] { return server::spawners_of(server.parts().registry, proc); });
    }

    FakeHost host;
    pmix_server_module_t module;
    TestServer server;
    FakeClient tool, rank;
};

}  // namespace

// proves: PMIx_server_register_nspace PMIX_PARENT_ID PMIX_IOF_INHERIT server
TEST(ServerIofSpawnedTest, Output_OfASpawnedJob_GoesToTheReadersOfItsParent) {
    Setting s;
    s.spawned("child", {"job", 1});
    s.spawned("grandchild", {"child", 0}, true);
    s.spawned("silent", {"job", 1}, false);
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 1, {{"job", PMIX_RANK_WILDCARD}}));
    s.deliver({"child", 0}, "a");
    s.deliver({"grandchild", 0}, "b");
    s.deliver({"silent", 0}, "c");
    s.deliver({"child", 0}, "d", kErr);
    s.deliver({"other", 0}, "e");
    s.deliver({"job", 0}, "f");
    EXPECT_EQ("1 child a;1 grandchild b;1 job f;", s.got(s.tool));
    EXPECT_EQ(1u, s.host.count("iof_pull"));
}

// The end of the output too, which is a part without bytes.
TEST(ServerIofSpawnedTest, Output_OfAProcessSpawnedByAnotherRank_IsNotMeant) {
    Setting s;
    s.spawned("child", {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 1, {{"job", 0}}));
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 2, {{"job", 1}}));
    s.deliver({"child", 0}, "a");
    s.deliver({"child", 0}, "");
    EXPECT_EQ("2 child a;2 child ;", s.got(s.tool));
}

// It would be printed as the process's own and collected again.
TEST(ServerIofSpawnedTest, Output_OfASpawnedJob_GoesToNoProcess) {
    Setting s;
    s.spawned("child", {"job", 1});
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.rank, 1, {{"job", PMIX_RANK_WILDCARD}}));
    s.deliver({"child", 0}, "a");
    EXPECT_EQ("", s.got(s.rank));
}

// As without inheritance: they have all of it, and have it once.
TEST(ServerIofSpawnedTest, ReadersOfTheJobItself_HaveWhatTheyHadBefore) {
    Setting s;
    s.spawned("child", {"job", 1});
    s.spawned("grandchild", {"child", 0});
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 1, {{"job", PMIX_RANK_WILDCARD}}));
    s.deliver({"child", 0}, "early");
    EXPECT_EQ("1 child early;", s.got(s.tool));
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 2, {{"child", PMIX_RANK_WILDCARD}}));
    EXPECT_EQ("2 child early;", s.got(s.tool));
    s.deliver({"child", 0}, "late");
    EXPECT_EQ("2 child late;", s.got(s.tool));
    s.deliver({"grandchild", 0}, "b");
    EXPECT_EQ("2 grandchild b;", s.got(s.tool)) << "by what is read of the nearest";
}

// proves: PMIx_Spawn PMIX_FWD_STDDIAG server
TEST(ServerIofSpawnedTest, Spawn_ThatSaysWhatIsForwarded_HasSettledIt) {
    Setting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.pull(s.tool, 1, {{"job", PMIX_RANK_WILDCARD}}));
    for (const char* says : {"", PMIX_FWD_STDOUT, PMIX_FWD_STDERR, PMIX_FWD_STDDIAG}) {
        s.spawned("child.1", {"job", 0});
        common::SpawnRequest request;
        auto apps = common::CArray<pmix_app_t>::zeroed(1);
        (*apps)[0].cmd = ::strdup("/bin/true");
        (*apps)[0].maxprocs = 1;
        request.apps = common::Apps(std::move(apps).value());
        InfoList infos;
        if (*says != 0) infos.append_flag(says, false);
        request.infos = common::Infos(std::move(infos));
        ASSERT_STATUS(PMIX_SUCCESS, s.rank.ask<Command::spawn>(request));
        s.deliver({"child.1", 0}, "a");
        EXPECT_EQ(*says != 0 ? "" : "1 child.1 a;", s.got(s.tool)) << says;
        s.server.on_loop([&] {
            s.server.setup().deregister_nspace("child.1");
            return 0;
        });
    }
    // Another job by this name.
    s.spawned("child.1", {"job", 0});
    s.deliver({"child.1", 0}, "b");
    EXPECT_EQ("1 child.1 b;", s.got(s.tool));
}

TEST(ServerIofSpawnedTest, Line_HasAnEnd) {
    Setting s;
    EXPECT_EQ((common::ProcList{}), s.line({"job", 0}));
    s.spawned("self", {"self", 0});
    EXPECT_EQ((common::ProcList{}), s.line({"self", 0}));
    s.spawned("a", {"b", 0});
    s.spawned("b", {"c", 0});
    s.spawned("c", {"b", 0});
    EXPECT_EQ((common::ProcList{{"b", 0}, {"c", 0}}), s.line({"a", 0}));
    s.spawned("j0", {"job", 0});
    for (int i = 1; i < 40; ++i) s.spawned("j" + std::to_string(i), {"j" + std::to_string(i - 1), 0});
    EXPECT_EQ(server::kMostSpawners, s.line({"j39", 0}).size());
    EXPECT_EQ((common::ProcList{{"j1", 0}, {"j0", 0}, {"job", 0}}), s.line({"j2", 0}));
    // Of one process, beside the job's.
    InfoList one;
    one.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
    InfoList proc;
    const pmix_rank_t rank = 1;
    const pmix_proc_t parent = ProcId("job", 1).to_c();
    proc.append(PMIX_RANK, &rank, PMIX_PROC_RANK);
    proc.append(PMIX_PARENT_ID, &parent, PMIX_PROC);
    one.append(PMIX_PROC_INFO_ARRAY, std::move(common::array_value(std::move(proc))).value());
    ASSERT_STATUS(PMIX_SUCCESS, s.server.add_job("mixed", 0, one));
    EXPECT_EQ((common::ProcList{{"job", 1}}), s.line({"mixed", 1}));
    EXPECT_EQ((common::ProcList{}), s.line({"mixed", 0}));
}

}  // namespace server_iof_spawned_test
