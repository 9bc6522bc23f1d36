// SPDX-License-Identifier: BSD-3-Clause
// What is said of supported attributes, and how a host registers its own.
#include "support/status.h"
#include "unit/common/query_setting.h"

namespace attribute_support_test {

using namespace pmix::test;

// rows: Q3 Q11
// proves: PMIx_Query_info PMIX_QUERY_ATTRIBUTE_SUPPORT PMIX_CLIENT_ATTRIBUTES PMIX_CLIENT_FUNCTIONS client
// proves: PMIx_Query_info PMIX_TOOL_ATTRIBUTES PMIX_TOOL_FUNCTIONS client
// proves: PMIx_Query_info PMIX_SERVER_ATTRIBUTES PMIX_SERVER_FUNCTIONS PMIX_HOST_ATTRIBUTES PMIX_HOST_FUNCTIONS server
TEST_F(QueryTest, AttributeSupportByLevel) {
    start();
    char entry[] = "fence_nb", one[] = "PMIX_TIMEOUT", two[] = "my.own.attribute";
    char* attributes[] = {one, two, nullptr};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(entry, attributes));

    Ask all({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Fence", "PMIx_Get", "PMIx_Nonsense"});
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, all.status) << "one of the functions does not exist";
    ASSERT_EQ(2u, all.n) << "one per function";
    const InfoView fence = infos_in(*all.value("PMIx_Fence"));
    ASSERT_EQ(4u, fence.size()) << "no level named: all of them";
    EXPECT_TRUE(has(attribute_names(fence.find(PMIX_CLIENT_ATTRIBUTES)->value), "PMIX_TIMEOUT"));
    EXPECT_TRUE(has(attribute_names(fence.find(PMIX_SERVER_ATTRIBUTES)->value), "PMIX_COLLECT_DATA"));
    const pmix_value_t& hosts = fence.find(PMIX_HOST_ATTRIBUTES)->value;
    ASSERT_EQ(PMIX_DATA_ARRAY, hosts.type);
    const auto* rows = static_cast<const pmix_regattr_t*>(hosts.data.darray->array);
    ASSERT_EQ(2u, hosts.data.darray->size);
    EXPECT_STREQ(PMIX_TIMEOUT, rows[0].string);
    EXPECT_EQ(PMIX_INT, rows[0].type);
    EXPECT_STREQ("my.own.attribute", rows[1].name);
    const InfoView get = infos_in(*all.value("PMIx_Get"));
    EXPECT_EQ(PMIX_UNDEF, get.find(PMIX_HOST_ATTRIBUTES)->value.type) << "the host said nothing of it";

    Ask client({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Get_nb"}, flag(PMIX_CLIENT_ATTRIBUTES));
    ASSERT_STATUS(PMIX_SUCCESS, client.status);
    const InfoView levels = infos_in(*client.value("PMIx_Get_nb"));
    ASSERT_EQ(1u, levels.size());
    const auto names = attribute_names(levels[0].value);
    EXPECT_TRUE(has(names, "PMIX_OPTIONAL"));
    EXPECT_FALSE(has(names, "PMIX_COLLECT_DATA"));

    // What only tools can do, and what tools read of a call that clients have too.
    Ask attach({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_tool_attach_to_server", "PMIx_Get"}, flag(PMIX_TOOL_ATTRIBUTES));
    ASSERT_STATUS(PMIX_SUCCESS, attach.status);
    const InfoView of_tools = infos_in(*attach.value("PMIx_tool_attach_to_server"));
    ASSERT_EQ(1u, of_tools.size());
    EXPECT_STREQ(PMIX_TOOL_ATTRIBUTES, of_tools[0].key);
    EXPECT_TRUE(has(attribute_names(of_tools[0].value), "PMIX_SERVER_URI"));
    EXPECT_TRUE(has(attribute_names(infos_in(*attach.value("PMIx_Get"))[0].value), "PMIX_OPTIONAL"));
    EXPECT_EQ(PMIX_UNDEF,
              infos_in(*Ask({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_tool_attach_to_server"}, flag(PMIX_CLIENT_ATTRIBUTES))
                            .value("PMIx_tool_attach_to_server"))[0]
                  .value.type);

    // As OpenPMIx's tools ask: the functions in a qualifier's text.
    InfoList text;
    text.append_string(PMIX_SERVER_ATTRIBUTES, "PMIx_Fence,PMIx_Connect");
    Ask tools({PMIX_QUERY_ATTRIBUTE_SUPPORT}, std::move(text));
    ASSERT_STATUS(PMIX_SUCCESS, tools.status);
    EXPECT_NE(nullptr, tools.value("PMIx_Connect"));

    Ask functions({PMIX_QUERY_ATTRIBUTE_SUPPORT});
    EXPECT_NE(std::string::npos, functions.text(PMIX_CLIENT_FUNCTIONS).find("PMIx_Fence_nb"));
    EXPECT_NE(std::string::npos, functions.text(PMIX_SERVER_FUNCTIONS).find("PMIx_server_setup_fork"));
    EXPECT_EQ("PMIx_Fence", functions.text(PMIX_HOST_FUNCTIONS));
    EXPECT_EQ(std::string::npos, functions.text(PMIX_CLIENT_FUNCTIONS).find("PMIx_tool_attach_to_server"));
    Ask tool_functions({PMIX_QUERY_ATTRIBUTE_SUPPORT}, flag(PMIX_TOOL_FUNCTIONS));
    ASSERT_STATUS(PMIX_SUCCESS, tool_functions.status);
    EXPECT_NE(std::string::npos, tool_functions.text(PMIX_TOOL_FUNCTIONS).find("PMIx_tool_attach_to_server"));
    EXPECT_EQ(nullptr, tool_functions.value(PMIX_CLIENT_FUNCTIONS)) << "only the level that was named";
    EXPECT_EQ(0, host.upcalls) << "the library answers all of it";
}

// rows: Q12
TEST_F(QueryTest, RegisteringAttributes) {
    char entry[] = "fence_nb", function[] = "PMIx_Fence", other[] = "publish", nonsense[] = "fly";
    char one[] = "PMIX_TIMEOUT";
    char* attributes[] = {one, nullptr};
    EXPECT_STATUS(PMIX_ERR_INIT, PMIx_Register_attributes(entry, attributes));
    start();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(entry, attributes));
    EXPECT_STATUS(PMIX_ERR_REPEAT_ATTR_REGISTRATION, PMIx_Register_attributes(entry, attributes));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(function, attributes)) << "another name of it is no repeat";
    EXPECT_STATUS(PMIX_ERR_REPEAT_ATTR_REGISTRATION, PMIx_Register_attributes(function, attributes));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(other, nullptr)) << "no attributes at all";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Register_attributes(nonsense, attributes));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Register_attributes(nullptr, attributes));
    Ask ask({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Publish"}, flag(PMIX_HOST_ATTRIBUTES));
    ASSERT_STATUS(PMIX_SUCCESS, ask.status);
    EXPECT_EQ(PMIX_UNDEF, infos_in(*ask.value("PMIx_Publish"))[0].value.type);
}

// PRRTE registers both forms of each function. rows: Q12
TEST_F(QueryTest, RegisterAttributes_BothFormsOfAFunction_EachKeepsItsOwn) {
    char blocking[] = "PMIx_Fence", nonblocking[] = "PMIx_Fence_nb";
    char one[] = "PMIX_TIMEOUT", two[] = "PMIX_COLLECT_DATA";
    char* both[] = {one, two, nullptr};
    char* first[] = {one, nullptr};
    start();
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(blocking, both));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(nonblocking, first));
    EXPECT_STATUS(PMIX_ERR_REPEAT_ATTR_REGISTRATION, PMIx_Register_attributes(nonblocking, first));
    Ask ask({PMIX_QUERY_ATTRIBUTE_SUPPORT, "PMIx_Fence", "PMIx_Fence_nb"}, flag(PMIX_HOST_ATTRIBUTES));
    ASSERT_STATUS(PMIX_SUCCESS, ask.status);
    EXPECT_EQ(2u, attribute_names(infos_in(*ask.value("PMIx_Fence"))[0].value).size());
    EXPECT_EQ(1u, attribute_names(infos_in(*ask.value("PMIx_Fence_nb"))[0].value).size());
    Ask functions({PMIX_QUERY_ATTRIBUTE_SUPPORT}, flag(PMIX_HOST_FUNCTIONS));
    EXPECT_EQ("PMIx_Fence,PMIx_Fence_nb", functions.text(PMIX_HOST_FUNCTIONS));
}

// Every function of the interface can be registered, under every name that it has. rows: Q12
TEST_F(QueryTest, RegisterAttributes_AllPairs_NoneIsARepeat) {
    start();
    char one[] = "PMIX_TIMEOUT";
    char* attributes[] = {one, nullptr};
    for (const char* name : {"Init",         "Finalize",          "Abort",           "Fence",
                             "Get",          "Publish",           "Lookup",          "Unpublish",
                             "Spawn",        "Connect",           "Disconnect",      "Query_info",
                             "Log",          "Job_control",       "Group_construct", "Group_invite",
                             "Group_join",   "Group_leave",       "Group_destruct",  "Register_event_handler",
                             "Notify_event", "Allocate_resources"}) {
        std::string blocking = std::string("PMIx_") + name, nonblocking = blocking + "_nb";
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(blocking.data(), attributes)) << blocking;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(nonblocking.data(), attributes)) << nonblocking;
    }
}

// proves: PMIx_Query_info PMIX_QUERY_SUPPORTED_KEYS PMIX_QUERY_SUPPORTED_QUALIFIERS client
// proves: PMIx_Query_info PMIX_QUERY_SPAWN_SUPPORT PMIX_QUERY_DEBUG_SUPPORT server
TEST_F(QueryTest, SupportedKeysAndQualifiers) {
    start();
    char entry[] = "query", one[] = "PMIX_QUERY_QUEUE_LIST", spawn[] = "spawn", two[] = "PMIX_MAPBY",
         three[] = "PMIX_DEBUG_STOP_ON_EXEC", four[] = "PMIX_DEBUG_TARGET";
    char* attributes[] = {one, nullptr};
    char* spawning[] = {three, two, four, nullptr};
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({PMIX_QUERY_DEBUG_SUPPORT}).status) << "nothing is registered";
    EXPECT_EQ(1, host.upcalls) << "it may have an answer";
    host.upcalls = 0;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(entry, attributes));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Register_attributes(spawn, spawning));
    Ask keys({PMIX_QUERY_SUPPORTED_KEYS, PMIX_QUERY_SPAWN_SUPPORT, PMIX_QUERY_DEBUG_SUPPORT});
    ASSERT_STATUS(PMIX_SUCCESS, keys.status);
    const std::string list = "," + keys.text(PMIX_QUERY_SUPPORTED_KEYS) + ",";
    for (const char* key : {PMIX_QUERY_ATTRIBUTE_SUPPORT, PMIX_QUERY_NAMESPACES, PMIX_QUERY_QUEUE_LIST})
        EXPECT_NE(std::string::npos, list.find("," + std::string(key) + ",")) << key;
    const std::string of_debuggers = std::string(PMIX_DEBUG_STOP_ON_EXEC) + "," + PMIX_DEBUG_TARGET;
    EXPECT_EQ(std::string(PMIX_DEBUG_STOP_ON_EXEC) + "," + PMIX_MAPBY + "," + PMIX_DEBUG_TARGET,
              keys.text(PMIX_QUERY_SPAWN_SUPPORT));
    EXPECT_EQ(of_debuggers, keys.text(PMIX_QUERY_DEBUG_SUPPORT));
    Ask qualifiers({PMIX_QUERY_SUPPORTED_QUALIFIERS, PMIX_QUERY_MEMORY_USAGE, PMIX_QUERY_NAMESPACES});
    ASSERT_STATUS(PMIX_SUCCESS, qualifiers.status);
    EXPECT_EQ(std::string(PMIX_NSPACE) + "," + PMIX_RANK + "," + PMIX_PROCID + "," + PMIX_HOSTNAME + "," + PMIX_NODEID +
                  "," + PMIX_QUERY_REPORT_AVG + "," + PMIX_QUERY_REPORT_MINMAX,
              qualifiers.text(PMIX_QUERY_MEMORY_USAGE));
    EXPECT_EQ("", qualifiers.text(PMIX_QUERY_NAMESPACES));
    Ask older({"pmix.qry.quals", PMIX_QUERY_MEMORY_USAGE});  // its string until OpenPMIx 6
    ASSERT_STATUS(PMIX_SUCCESS, older.status);
    EXPECT_EQ(qualifiers.text(PMIX_QUERY_MEMORY_USAGE), older.text(PMIX_QUERY_MEMORY_USAGE));
    EXPECT_EQ(0, host.upcalls);
}

// The checks follow the table: a required attribute is accepted exactly where its row is. rows: G7
TEST(SupportTest, TheTableIsWhatIsChecked) {
    using namespace pmix::common;
    size_t rows = 0;
    for (const auto& row : support_rows::kAttributes) {
        ++rows;
        InfoList infos;
        infos.append(row.string, Value::flag(true), PMIX_INFO_REQD);
        for (Levels level : {level::client, level::server}) {
            EXPECT_STATUS((row.levels & level) != 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED,
                          check_required(infos, row.function, level))
                << function_name(row.function) << " " << row.string;
        }
        const Attribute known = attribute_by_string(row.string);
        ASSERT_NE(nullptr, known.name) << row.string;
        auto told = supported_attributes(row.function, row.levels);
        ASSERT_TRUE(told.ok());
        // Some strings have two names: the one that is told must be a name of this one.
        const auto names = attribute_names(told->get());
        EXPECT_TRUE(std::any_of(names.begin(), names.end(), [&](const std::string& name) {
            return PMIx_Get_attribute_string(name.c_str()) == row.string;
        })) << row.string;
    }
    EXPECT_GT(rows, 100u);
    InfoList unknown;
    unknown.append("test.unknown", Value::flag(true), PMIX_INFO_REQD);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, check_required(unknown, Function::PMIx_Get, level::client));
    unknown[0].flags |= PMIX_INFO_REQD_PROCESSED;
    EXPECT_STATUS(PMIX_SUCCESS, check_required(unknown, Function::PMIx_Get, level::client)) << "somebody saw to it";
}

}  // namespace attribute_support_test
