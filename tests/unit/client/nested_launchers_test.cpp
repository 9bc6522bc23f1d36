// SPDX-License-Identifier: BSD-3-Clause
// A launcher inside a job of another launcher: which server the processes that it starts take for theirs. What the
// inner launcher sets replaces what the processes inherit, under the names that its release has.
#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "client/openpmix/environment.h"
#include "client/tool/tool_search.h"
#include "support/status.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::test::nested_launchers_test {
namespace {

using common::ProcId;
using common::Token;

std::map<std::string, std::string, std::less<>> g_variables;
const char* read_variable(const char* name) {
    const auto it = g_variables.find(name);
    return it == g_variables.end() ? nullptr : it->second.c_str();
}

enum class Launcher : uint8_t {
    none,        // starts processes and sets nothing, as a shell does
    ours,        // serves processes with OpenPMIx's library too
    ours_alone,  // does not
    theirs_3,    // OpenPMIx 3
    theirs_4,    // mpirun 4.1.4 and Slurm with OpenPMIx 4.2, mpirun 5.0
    theirs_6,
};

// level: "outer" or "inner"; the port is another one at each.
void launch(Launcher by, const std::string& level) {
    const ProcId server("server-" + level + "@1.2", 0), child("job-" + level, 7);
    const std::string tcp = server.nspace + ".0;tcp4://127.0.0.1:" + (level == "outer" ? "1001" : "1002");
    const bool ours = by == Launcher::ours || by == Launcher::ours_alone;
    if (by == Launcher::none) return;
    if (ours) {
        Token token;
        token.client.fill(level == "outer" ? 1 : 2);
        const std::string uri = transport::format_uri({server, {"@wireup/0/17/" + level}});
        for (auto& [name, value] : transport::server_variables(uri, by == Launcher::ours ? tcp : std::string()))
            g_variables[name] = value;
        for (auto& [name, value] : transport::client_variables(child, token)) g_variables[name] = value;
        return;
    }
    std::vector<const char*> names = {"PMIX_SERVER_URI2", "PMIX_SERVER_URI21", "PMIX_SERVER_URI3"};
    if (by != Launcher::theirs_3) names.insert(names.end(), {"PMIX_SERVER_URI4", "PMIX_SERVER_URI41"});
    if (by == Launcher::theirs_6) names.insert(names.end(), {"PMIX_SERVER_URI51", "PMIX_SERVER_URI61"});
    for (const char* name : names) g_variables[name] = tcp;
    g_variables["PMIX_NAMESPACE"] = child.nspace;
    g_variables["PMIX_RANK"] = "7";
    g_variables["PMIX_VERSION"] = by == Launcher::theirs_3 ? "3.2.5" : by == Launcher::theirs_4 ? "4.2.2" : "6.1.0";
}

// What PMIx_Init chooses: the address, in whose protocol, and with whose token.
std::string chosen() {
    auto ours = transport::read_client_environment(&read_variable);
    if (ours) {
        const bool own_token = ours->token.client[0] == (ours->self.nspace == "job-outer" ? 1 : 2);
        return ours->contact.addresses.front() + (own_token ? "" : " with another's token");
    }
    if (ours.status() != PMIX_ERR_NOT_FOUND) return "error " + std::to_string(ours.status());
    std::vector<const char*> environ;
    for (const auto& [name, value] : g_variables) environ.push_back(name.c_str());
    environ.push_back(nullptr);
    if (!transport::describes_server(&read_variable, environ.data())) return "none";
    auto theirs = client::read_openpmix_environment(&read_variable);
    if (!theirs) return "cannot be spoken to";
    return std::to_string(ntohs(theirs->address.sin_port)) + " " + theirs->encoding;
}

// What PMIx_tool_init without directives chooses.
std::string chosen_by_tool() {
    auto options = client::read_tool_options({nullptr, 0}, &read_variable);
    if (!options) return "error " + std::to_string(options.status());
    if (options->way != client::ToolOptions::Way::uri) return "any";
    if (options->openpmix)
        return std::to_string(ntohs(options->openpmix->address.sin_port)) + " " + options->openpmix->encoding;
    return options->text.substr(options->text.find('@', options->text.find(';')));
}

struct Row {
    Launcher outer, inner;
    const char* client;
    const char* tool;
};

// Not here: OpenPMIx's library inside a job of a newer release of it, where nothing tells which address is inherited.
constexpr Row kRows[] = {
    {Launcher::none, Launcher::none, "none", "any"},
    {Launcher::none, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::none, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::none, Launcher::theirs_3, "cannot be spoken to", "any"},
    {Launcher::none, Launcher::theirs_4, "1002 v41", "1002 v41"},
    {Launcher::none, Launcher::theirs_6, "1002 v61", "1002 v61"},
    {Launcher::ours, Launcher::none, "@wireup/0/17/outer", "@wireup/0/17/outer"},
    {Launcher::ours, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::ours, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::ours, Launcher::theirs_3, "cannot be spoken to", "any"},
    {Launcher::ours, Launcher::theirs_4, "1002 v41", "1002 v41"},
    {Launcher::ours, Launcher::theirs_6, "1002 v61", "1002 v61"},
    {Launcher::ours_alone, Launcher::none, "@wireup/0/17/outer", "@wireup/0/17/outer"},
    {Launcher::ours_alone, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::ours_alone, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::ours_alone, Launcher::theirs_3, "cannot be spoken to", "any"},
    {Launcher::ours_alone, Launcher::theirs_4, "1002 v41", "1002 v41"},
    {Launcher::ours_alone, Launcher::theirs_6, "1002 v61", "1002 v61"},
    {Launcher::theirs_3, Launcher::none, "cannot be spoken to", "any"},
    {Launcher::theirs_3, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_3, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_3, Launcher::theirs_4, "1002 v41", "1002 v41"},
    {Launcher::theirs_3, Launcher::theirs_6, "1002 v61", "1002 v61"},
    {Launcher::theirs_4, Launcher::none, "1001 v41", "1001 v41"},
    {Launcher::theirs_4, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_4, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_4, Launcher::theirs_4, "1002 v41", "1002 v41"},
    {Launcher::theirs_4, Launcher::theirs_6, "1002 v61", "1002 v61"},
    {Launcher::theirs_6, Launcher::none, "1001 v61", "1001 v61"},
    {Launcher::theirs_6, Launcher::ours, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_6, Launcher::ours_alone, "@wireup/0/17/inner", "@wireup/0/17/inner"},
    {Launcher::theirs_6, Launcher::theirs_6, "1002 v61", "1002 v61"},
};

}  // namespace

TEST(NestedLaunchers, EveryTwoLevels_TheInnerServerIsTheProcesss) {
    for (const Row& row : kRows) {
        SCOPED_TRACE(std::to_string(int(row.outer)) + " outside of " + std::to_string(int(row.inner)));
        g_variables.clear();
        launch(row.outer, "outer");
        launch(row.inner, "inner");
        EXPECT_EQ(row.client, chosen());
        EXPECT_EQ(row.tool, chosen_by_tool());
    }
}

// Three levels, and one server with two ranks of its namespace.
TEST(NestedLaunchers, ServersOfOneNamespace_AreToldApartByTheirRanks) {
    g_variables.clear();
    launch(Launcher::ours, "outer");
    g_variables["PMIX_SERVER_URI41"] = "server-outer@1.2.1;tcp4://127.0.0.1:1003";
    EXPECT_EQ("1003 v41", chosen());
    g_variables["PMIX_SERVER_URI41"] = "server-outer@1.2.0;tcp4://127.0.0.1:1003";
    EXPECT_EQ("@wireup/0/17/outer", chosen()) << "the same server";
    for (const char* nonsense : {"", "nonsense", "nonsense;", ".;", "a.b;tcp4://127.0.0.1:1"}) {
        g_variables["PMIX_SERVER_URI41"] = nonsense;
        EXPECT_EQ("@wireup/0/17/outer", chosen()) << nonsense;
    }
}

TEST(NestedLaunchers, OuterNamespaceThatIsWrittenInAnotherWay_IsTheSameServer) {
    g_variables.clear();
    const ProcId server("a;b%41", 3);
    for (auto& [name, value] : transport::server_variables(transport::format_uri({server, {"@wireup/0/17/x"}})))
        g_variables[name] = value;
    for (auto& [name, value] : transport::client_variables(ProcId("job", 0), {})) g_variables[name] = value;
    EXPECT_EQ(server, transport::read_client_environment(&read_variable)->contact.server);
    EXPECT_FALSE(transport::read_outer_server(&read_variable));
    EXPECT_TRUE(transport::is_of_server("a%3Bb%2541.3;wireup:@wireup/0/17/x", server));
    EXPECT_FALSE(transport::is_of_server("a%3Bb%2541.4;wireup:@wireup/0/17/x", server));
    EXPECT_TRUE(transport::is_of_server("plain.0;tcp4://127.0.0.1:1", ProcId("plain", 0)));
}

}  // namespace pmix::test::nested_launchers_test
