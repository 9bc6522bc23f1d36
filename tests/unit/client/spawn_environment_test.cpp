// SPDX-License-Identifier: BSD-3-Clause
// PMIX_SETUP_APP_ENVARS of a spawn: what of the caller's environment goes along with the request, and what
// is told; in which folder its programs start, and with which name in front of their arguments.
#include <gtest/gtest.h>
#include <pmix.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "client/modules.h"
#include "client/services/spawn.h"
#include "client/session/session.h"
#include "support/fake_channel.h"
#include "support/status.h"

namespace pmix::client::spawn_environment_test {
namespace {

using common::Command;
using common::InfoList;
using common::InfoView;
using common::ProcId;
using test::FakeChannel;

// What goes to the server of a spawn of two programs.
class SpawnEnvironment : public ::testing::Test {
  protected:
    void SetUp() override {
        for (const auto& [name, value] : kHere) ASSERT_EQ(0, ::setenv(name, value, 1));
    }
    void TearDown() override {
        for (const auto& [name, value] : kHere) ::unsetenv(name);
    }

    void spawn_two(InfoList of_job, InfoList of_second = {}, std::vector<std::string> env_of_second = {},
                   pmix_status_t status = PMIX_ERR_NOT_SUPPORTED) {
        auto loop = std::move(transport::EventLoop::create()).value();
        const auto holder = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
        client::Session& session = *holder;
        auto owned = std::make_unique<FakeChannel>(*loop, session);
        FakeChannel& channel = *owned;
        channel.on_send = [&](const common::Frame& frame) {
            ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(frame.payload, request));
            channel.answer(frame, PMIX_ERR_NOT_SUPPORTED, common::SpawnReply());
        };
        session.set_channel(std::move(owned));
        ASSERT_STATUS(PMIX_SUCCESS, loop->start());
        std::string command = command_of_both;
        std::vector<char*> env;
        for (std::string& entry : env_of_second) env.push_back(entry.data());
        env.push_back(nullptr);
        pmix_app_t apps[2] = {};
        for (pmix_app_t& app : apps) {
            app.cmd = command.data();
            app.maxprocs = 1;
        }
        if (!cwd_of_first.empty()) apps[0].cwd = cwd_of_first.data();
        apps[1].env = env.data();
        std::vector<char*> argv;
        if (argv_of_second.has_value()) {
            for (std::string& word : *argv_of_second) argv.push_back(word.data());
            argv.push_back(nullptr);
            apps[1].argv = argv.data();
        }
        apps[1].info = of_second.c_array();
        apps[1].ninfo = of_second.size();
        EXPECT_EQ(status, spawn(session, of_job.c_array(), of_job.size(), apps, 2, nullptr));
        EXPECT_EQ(env.data(), apps[1].env) << "the caller's arrays stay as they are";
        EXPECT_EQ(argv_of_second.has_value() ? argv.data() : nullptr, apps[1].argv);
        loop->post([&] { session.shut(PMIX_ERR_INIT); });
        loop->stop();
        transport::LoopRole role(*loop);
    }
    std::vector<std::string> env(size_t app) const {
        std::vector<std::string> all;
        for (char** e = request.apps[app].env; e != nullptr && *e != nullptr; ++e) all.emplace_back(*e);
        std::erase_if(all, [](const std::string& e) { return e.find("test_spawn") == std::string::npos; });
        std::sort(all.begin(), all.end());
        return all;
    }
    std::vector<std::string> argv(size_t app) const {
        std::vector<std::string> all;
        for (char** word = request.apps[app].argv; word != nullptr && *word != nullptr; ++word) all.emplace_back(*word);
        return all;
    }
    bool told() const { return InfoView(request.infos.data(), request.infos.size()).flag(PMIX_ENVARS_HARVESTED); }

    static constexpr std::pair<const char*, const char*> kHere[] = {{"OMPI_MCA_test_spawn", "a=b"},
                                                                    {"PMIX_MCA_test_spawn", "1"},
                                                                    {"OMPI_COMM_WORLD_test_spawn", "7"},
                                                                    {"test_spawn", "x"}};
    common::SpawnRequest request;
    std::string cwd_of_first;
    std::string command_of_both = "true";
    std::optional<std::vector<std::string>> argv_of_second;
};

using Strings = std::vector<std::string>;
const Strings kAll = {"OMPI_MCA_test_spawn=a=b", "PMIX_MCA_test_spawn=1"};

InfoList flags(std::vector<const char*> keys) {
    InfoList infos;
    for (const char* key : keys) infos.append_flag(key, true);
    return infos;
}

}  // namespace

// rows: C8
// proves: PMIx_Spawn PMIX_SETUP_APP_ENVARS client
TEST_F(SpawnEnvironment, OfTheWholeJob) {
    spawn_two({});
    EXPECT_EQ(Strings{}, env(0));
    EXPECT_FALSE(told());
    spawn_two(flags({PMIX_SETUP_APP_ENVARS}));
    EXPECT_EQ(kAll, env(0));
    EXPECT_EQ(kAll, env(1));
    EXPECT_TRUE(told());
    InfoList other = flags({PMIX_SETUP_APP_ENVARS});
    other.append_string(PMIX_PROGRAMMING_MODEL, "shmem");
    spawn_two(std::move(other));
    EXPECT_EQ(Strings{"PMIX_MCA_test_spawn=1"}, env(0));
}

// rows: C8
TEST_F(SpawnEnvironment, OfOneProgramWhoseOwnWordCounts) {
    spawn_two({}, flags({PMIX_SETUP_APP_ENVARS}), {"OMPI_MCA_test_spawn=mine"});
    EXPECT_EQ(Strings{}, env(0));
    EXPECT_EQ((Strings{"OMPI_MCA_test_spawn=mine", "PMIX_MCA_test_spawn=1"}), env(1));
    EXPECT_TRUE(told());
}

// rows: C8
// proves: PMIx_Spawn PMIX_ENVARS_HARVESTED client
TEST_F(SpawnEnvironment, NotWhenItWasDoneAlready) {
    spawn_two(flags({PMIX_SETUP_APP_ENVARS, PMIX_ENVARS_HARVESTED}));
    EXPECT_EQ(Strings{}, env(0));
    EXPECT_TRUE(told());
}

// rows: C5
TEST_F(SpawnEnvironment, AFolderThatIsNoFullPathIsTheCallers) {
    std::vector<char> own(4096);
    ASSERT_NE(nullptr, ::getcwd(own.data(), own.size()));
    const std::string here = own.data();
    const auto folder_of = [](InfoView infos) { return std::string(infos.find(PMIX_WDIR)->value.data.string); };
    InfoList of_job, of_second;
    of_job.append_string(PMIX_WDIR, "bin");
    of_second.append_string(PMIX_WDIR, "../lib");
    spawn_two(std::move(of_job), std::move(of_second));
    EXPECT_EQ(here + "/bin", folder_of({request.infos.data(), request.infos.size()}));
    EXPECT_EQ(here + "/../lib", folder_of({request.apps[1].info, request.apps[1].ninfo}));
    EXPECT_EQ(nullptr, request.apps[0].cwd);

    InfoList full;
    full.append_string(PMIX_WDIR, "/usr");
    cwd_of_first = "sub";
    spawn_two({}, std::move(full));
    EXPECT_EQ(here + "/sub", request.apps[0].cwd);
    EXPECT_EQ("/usr", folder_of({request.apps[1].info, request.apps[1].ninfo}));
    EXPECT_EQ(nullptr, request.apps[1].cwd);
}

// rows: C5
TEST_F(SpawnEnvironment, ArgumentsWithoutTheProgramsNameGetIt) {
    const struct {
        const char* command;
        std::optional<Strings> given;
        Strings sent;
    } cases[] = {
        {"/usr/bin/child", Strings{"-v", "2"}, {"child", "-v", "2"}},
        {"./child", Strings{"child.so"}, {"child", "child.so"}},
        {"child", Strings{}, {"child"}},
        {"/usr/bin/child", std::nullopt, {"child"}},
        {"./child", Strings{"/elsewhere/child", "x"}, {"/elsewhere/child", "x"}},
        {"/usr/bin/child", Strings{"child", "child"}, {"child", "child"}},
        {"child", Strings{"bin/"}, {"child", "bin/"}},
        {"bin/child/", Strings{"child//"}, {"child//"}},
        {"/", Strings{"//", "x"}, {"//", "x"}},
        {"child", Strings{""}, {"child", ""}},
    };
    for (const auto& c : cases) {
        SCOPED_TRACE(c.command);
        command_of_both = c.command;
        argv_of_second = c.given;
        spawn_two({});
        EXPECT_EQ(c.sent, argv(1));
    }
}

// rows: C5
TEST_F(SpawnEnvironment, WithTheRankInIt_TheNameIsTheFirstArgument) {
    argv_of_second = Strings{"worker", "x"};
    spawn_two(flags({PMIX_INDEX_ARGV}));
    EXPECT_EQ((Strings{"worker", "x"}), argv(1));
    EXPECT_EQ((Strings{"true"}), argv(0));
    spawn_two({}, flags({PMIX_INDEX_ARGV}));
    EXPECT_EQ((Strings{"worker", "x"}), argv(1));
    InfoList no;
    no.append_flag(PMIX_INDEX_ARGV, false);
    spawn_two(flags({PMIX_INDEX_ARGV}), std::move(no));
    EXPECT_EQ((Strings{"true", "worker", "x"}), argv(1));
}

// rows: C5
TEST_F(SpawnEnvironment, ParentThatIsNoProcess_IsBadParamAndNotSent) {
    InfoList infos;
    infos.append_number(PMIX_PARENT_ID, uint32_t{1}, PMIX_UINT32);
    spawn_two(std::move(infos), {}, {}, PMIX_ERR_BAD_PARAM);
    EXPECT_TRUE(request.apps.empty());
}

}  // namespace pmix::client::spawn_environment_test
