// SPDX-License-Identifier: BSD-3-Clause
#include "transport/rendezvous/rendezvous.h"

#include <gtest/gtest.h>

#include <map>

#include "support/status.h"

namespace pmix::transport::rendezvous_test {
namespace {

using common::ProcId;
using common::Token;

std::map<std::string, std::string> g_environment;
const char* read_test(const char* name) {
    auto at = g_environment.find(name);
    return at == g_environment.end() ? nullptr : at->second.c_str();
}

Contact contact(std::vector<std::string> addresses) {
    return {ProcId("pmix-server.17", 3), std::move(addresses)};
}

TEST(Uri, RoundTrip) {
    for (const auto& addresses :
         std::vector<std::vector<std::string>>{{"@wireup/0/17/00ff"},
                                               {"@wireup/0/17/00ff", "/tmp/a/server"},
                                               {"/odd;path/with%percent and space\n\xc3\xa4"}}) {
        auto parsed = parse_uri(format_uri(contact(addresses)));
        ASSERT_TRUE(parsed.ok()) << format_uri(contact(addresses));
        EXPECT_EQ(addresses, parsed->addresses);
        EXPECT_EQ(ProcId("pmix-server.17", 3), parsed->server);
    }
    EXPECT_EQ("pmix-server.17.3;wireup:@wireup/0/17/00ff", format_uri(contact({"@wireup/0/17/00ff"})));
}

TEST(Uri, RefusesWhatIsNone) {
    for (const std::string& bad : std::vector<std::string>{"",
                                                           ";",
                                                           "a.0",
                                                           "a.0;",
                                                           "a.0;wireup:",
                                                           "a.0;tcp4://127.0.0.1:5000",
                                                           "a;wireup:@wireup/x",
                                                           ".0;wireup:@wireup/x",
                                                           "a.;wireup:@wireup/x",
                                                           "a.-1;wireup:@wireup/x",
                                                           "a.4294967295;wireup:@wireup/x",
                                                           "a.99999999999;wireup:@wireup/x",
                                                           "a.0x;wireup:@wireup/x",
                                                           "a.0;wireup:@other/x",
                                                           "a.0;wireup:relative",
                                                           "a.0;wireup:/x;",
                                                           "a.0;wireup:/x%",
                                                           "a.0;wireup:/x%4",
                                                           "a.0;wireup:/x%zz",
                                                           "a.0;wireup:/x%00",
                                                           "a.0;wireup:/x y",
                                                           "a.0;wireup:/x\x80",
                                                           "a.0;wireup:@wireup/x;;",
                                                           std::string(20000, 'a'),
                                                           std::string(300, 'n') + ".0;wireup:@wireup/x",
                                                           "a.0;wireup:/" + std::string(5000, 'p'),
                                                           "a.0;wireup:/1;/2;/3;/4;/5;/6;/7;/8;/9"}) {
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_uri(bad).status()) << bad.substr(0, 100);
    }
}

Token token() {
    Token t;
    for (size_t i = 0; i < common::kTokenHalf; ++i) {
        t.client[i] = static_cast<uint8_t>(i);
        t.server[i] = static_cast<uint8_t>(0xf0 + i);
    }
    return t;
}

void set_environment() {
    g_environment.clear();
    for (auto& [name, value] : server_variables(format_uri(contact({"@wireup/0/17/00ff"}))))
        g_environment[name] = value;
    for (auto& [name, value] : client_variables(ProcId("job-1", 5), token())) g_environment[name] = value;
}

TEST(ClientEnvironment, SaysWhatTheServerSet) {
    set_environment();
    EXPECT_EQ("000102030405060708090a0b0c0d0e0ff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", g_environment[kTokenVariable]);
    // The names that other libraries look for.
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4",
                             "PMIX_SERVER_URI3", "PMIX_SERVER_URI2", "PMIX_SERVER_URI21"}) {
        EXPECT_NE(nullptr, read_test(name)) << name;
    }
    auto read = read_client_environment(read_test);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(ProcId("job-1", 5), read->self);
    EXPECT_EQ(contact({"@wireup/0/17/00ff"}).addresses, read->contact.addresses);
    EXPECT_EQ(token().client, read->token.client);
    EXPECT_EQ(token().server, read->token.server);

    g_environment.erase(kTokenVariable);
    read = read_client_environment(read_test);
    ASSERT_TRUE(read.ok());
    EXPECT_FALSE(read->token.present());
}

TEST(ClientEnvironment, WithoutAServerThereIsStillAnIdentity) {
    set_environment();
    g_environment.erase(kUriVariable);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read_client_environment(read_test).status());
    auto self = read_identity(read_test);
    ASSERT_TRUE(self.ok());
    EXPECT_EQ(ProcId("job-1", 5), *self);
    g_environment.erase("PMIX_RANK");
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read_identity(read_test).status());
    g_environment.clear();
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, read_identity(read_test).status());
}

// Each variable alone, spoiled; the last is what a server of another library sets.
TEST(ClientEnvironment, HostileValues) {
    const std::vector<std::pair<std::string, std::string>> spoiled{
        {"PMIX_NAMESPACE", ""},
        {"PMIX_NAMESPACE", std::string(256, 'n')},
        {"PMIX_NAMESPACE", std::string(1'000'000, 'n')},
        {"PMIX_RANK", ""},
        {"PMIX_RANK", "-2"},
        {"PMIX_RANK", "5 "},
        {"PMIX_RANK", "0x5"},
        {"PMIX_RANK", "4294967294"},
        {"PMIX_RANK", std::string(100000, '1')},
        {kTokenVariable, "00"},
        {kTokenVariable, std::string(64, 'g')},
        {kTokenVariable, std::string(65, '0')},
        {kUriVariable, std::string(1'000'000, 'x')},
        {kUriVariable, "pmix-server.1;tcp4://127.0.0.1:41233"},
    };
    for (const auto& [name, value] : spoiled) {
        set_environment();
        g_environment[name] = value;
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_client_environment(read_test).status())
            << name << "=" << value.substr(0, 40);
    }
}

}  // namespace
}  // namespace pmix::transport::rendezvous_test
