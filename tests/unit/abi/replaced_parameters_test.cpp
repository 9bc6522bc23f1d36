// SPDX-License-Identifier: BSD-3-Clause
// Parameters of OpenPMIx that a user has set: which are named in the log, how often, and that nobody sees it unasked.
#include "runtime/replaced_parameters.h"

#include <gtest/gtest.h>
#include <src/include/pmix_frameworks.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "support/server_here.h"
#include "support/temporary_folder.h"

namespace replaced_parameters_test {

using namespace pmix::test;
using pmix::api::replaced_parameters;
using Lines = std::vector<std::string>;

namespace {

Lines of_environment(std::vector<const char*> entries) {
    entries.push_back(nullptr);
    return replaced_parameters(entries.data(), {});
}

size_t count(const std::string& text, const std::string& part) {
    size_t n = 0;
    for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

TEST(ReplacedParameters, OfTheEnvironment_KnownOnesWithWhatReplacesThem) {
    EXPECT_EQ((Lines{"PMIX_MCA_gds has no effect in this library: data is in sealed shared memory, without a choice",
                     "PMIX_MCA_ptl_base_verbose has no effect in this library: WIREUP_LOG says what is logged"}),
              of_environment({"PMIX_MCA_ptl_base_verbose=10", "HOME=/", "PMIX_MCA_gds=hash", "PMIX_MCA_gds=hash",
                              "OMPI_MCA_btl=self"}));
    EXPECT_EQ(Lines{}, of_environment({"PMIX_MCA_", "PMIX_MCA_=1", "PMIX_MCA_zoo=1", "PMIX_MCA_gdsx=1", "PMIX_RANK=1",
                                       "PMIX_MCA_gds\n=1", "PMIX_MCA_gds_\x1b[2J=1"}))
        << "no parameters, and nothing that a terminal would take for a command";
    EXPECT_EQ(Lines{}, replaced_parameters(nullptr, {}));
    const std::string longest = "PMIX_MCA_gds_" + std::string(300, 'x') + "=1";
    EXPECT_EQ(Lines{}, of_environment({longest.c_str()}));
}

// Those of OpenPMIx's base, which is no framework, and of each framework that the headers name.
TEST(ReplacedParameters, OfTheEnvironment_EachFrameworkIsKnown) {
    EXPECT_EQ(
        (Lines{"PMIX_MCA_mca_base_component_path has no effect in this library: there are no components to look for",
               "PMIX_MCA_mca_base_verbose has no effect in this library: WIREUP_LOG says what is logged"}),
        of_environment({"PMIX_MCA_mca_base_verbose=5", "PMIX_MCA_mca_base_component_path=/opt/pmix"}));
    size_t known = 0;
    for (char** framework = pmix_framework_names; *framework != nullptr; ++framework, ++known) {
        const std::string name = std::string("PMIX_MCA_") + *framework;
        const std::string alone = name + "=x", of_base = name + "_base_x=1";
        EXPECT_EQ(2u, of_environment({alone.c_str(), of_base.c_str()}).size()) << name;
    }
    EXPECT_EQ(17u, known);
}

TEST(ReplacedParameters, OfTheFile_LinesWithANameAndAValue) {
    const Lines lines = replaced_parameters(
        nullptr,
        "# gds = hash\n  psec = native # or munge\r\n\n=\npreg\n = 5\nptl_tcp_if_include=lo\nzoo = 1\npsec=none");
    ASSERT_EQ(2u, lines.size());
    EXPECT_EQ(
        "psec in ~/.pmix/mca-params.conf has no effect in this library: the kernel reports the user of each "
        "connection",
        lines[0]);
    EXPECT_TRUE(lines[1].starts_with("ptl_tcp_if_include in ~/.pmix/mca-params.conf has no effect")) << lines[1];
}

TEST(ReplacedParameters, VeryMany_AreCounted) {
    std::string file;
    for (int i = 0; i < 100; ++i) file += "gds_" + std::to_string(i) + "=1\n";
    const Lines lines = replaced_parameters(nullptr, file);
    ASSERT_EQ(65u, lines.size());
    EXPECT_TRUE(lines.back().starts_with("36 more parameters")) << lines.back();
}

// In a process of its own, because it is once in each.
class ReplacedParametersInTheLog : public ::testing::Test {
  protected:
    void SetUp() override {
        std::filesystem::create_directory(home.path(".pmix"));
        std::ofstream(home.path(".pmix/mca-params.conf")) << "psec = munge\n";
    }
    // A server that is initialised twice. Returns what it has written to its two streams.
    std::string in_a_child(const std::string& log) const {
        int out[2];
        EXPECT_EQ(0, ::pipe(out));
        const pid_t child = ::fork();
        if (child == 0) {
            ::dup2(out[1], 1);
            ::dup2(out[1], 2);
            ::setenv("HOME", home.name().c_str(), 1);
            ::setenv("PMIX_MCA_gds", "a-value-of-mine", 1);
            log.empty() ? ::unsetenv("WIREUP_LOG") : ::setenv("WIREUP_LOG", log.c_str(), 1);
            int bad = 0;
            for (int i = 0; i < 2; ++i) {
                InfoList infos = ServerHere::named();
                bad += PMIx_server_init(nullptr, infos.c_array(), infos.size()) != PMIX_SUCCESS;
                bad += PMIx_server_finalize() != PMIX_SUCCESS;
            }
            ::_exit(bad);
        }
        ::close(out[1]);
        std::string text;
        char part[512];
        for (ssize_t n; (n = ::read(out[0], part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(n));
        ::close(out[0]);
        int status = 0;
        EXPECT_EQ(child, ::waitpid(child, &status, 0));
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
        return text;
    }
    TemporaryFolder home;
};

TEST_F(ReplacedParametersInTheLog, Init_TheLogIsOn_OnceInAProcess) {
    EXPECT_EQ("", in_a_child("warn@" + home.path("log")));
    const std::string log = home.text("log");
    EXPECT_EQ(1u, count(log, "PMIX_MCA_gds has no effect")) << log;
    EXPECT_EQ(1u, count(log, "psec in ~/.pmix/mca-params.conf has no effect")) << log;
    EXPECT_EQ(0u, count(log, "a-value-of-mine")) << log;
}

TEST_F(ReplacedParametersInTheLog, Init_TheLogIsOffOrAsksForLess_Nothing) {
    EXPECT_EQ("", in_a_child("")) << "a program's output is its own";
    EXPECT_EQ("", in_a_child("error@" + home.path("log")));
    EXPECT_EQ(0u, count(home.text("log"), "PMIX_MCA_gds"));
}

// The user's file is no file: nobody writes to it, and nobody waits for that.
TEST_F(ReplacedParametersInTheLog, Init_TheFileIsAPipe_IsPassedOver) {
    ASSERT_TRUE(std::filesystem::remove(home.path(".pmix/mca-params.conf")));
    ASSERT_EQ(0, ::mkfifo(home.path(".pmix/mca-params.conf").c_str(), 0600));
    EXPECT_EQ("", in_a_child("warn@" + home.path("log")));
    EXPECT_EQ(1u, count(home.text("log"), "has no effect"));
}

}  // namespace

}  // namespace replaced_parameters_test
