// SPDX-License-Identifier: BSD-3-Clause
// pmix_info: which library this is, what it supports and what can be set. Asks no server.
#include <cstdio>
#include <cstdlib>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pmix_info",
    "which PMIx library this is and what it supports",
    "[FRAMEWORK [COMPONENT]]",
    "Shows the version of the library that programs use here, the versions of the interface that it offers,\n"
    "and the functions that it implements for clients and tools. Asks no server.\n"
    "\n"
    "With --param: the variables of the environment that the library reads, who reads them, and how they are\n"
    "set here. OpenPMIx's parameters (PMIX_MCA_*) have no effect on this library, and a FRAMEWORK and a\n"
    "COMPONENT, which its command takes, choose nothing.",
    {{"functions", nullptr, "show the functions too"},
     {"param", nullptr, "show the variables that can be set instead"},
     {"json", nullptr, "as JSON"}},
    false,
    0,
    2,
    {{"pmix_info --functions", "everything"}, {"pmix_info --param all all", "what can be set"}},
};

struct Variable {
    const char* names;
    const char* readers;
    const char* meaning;
};
#define VARIABLE(names, readers, meaning) {names, readers, meaning},
constexpr Variable kVariables[] = {
#include "environment.def"
};
#undef VARIABLE

void show_variables(bool as_json) {
    std::string out;
    for (const Variable& row : kVariables) {
        for (const std::string& name : split_all(row.names, ' ')) {
            const char* value = std::getenv(name.c_str());
            // What is shown may be sent to others.
            if (value != nullptr && name == "PMIX_WIREUP_TOKEN") value = "set";
            if (as_json) {
                out += json_comma(out);
                out += json_text(name) + ":{\"read by\":" + json_text(row.readers) +
                       ",\"meaning\":" + json_text(row.meaning) +
                       (value == nullptr ? "" : ",\"value\":" + json_text(value)) + "}";
            } else if (value == nullptr) {
                std::printf("%s: not set\n", name.c_str());
            } else {
                std::printf("%s: \"%s\"\n", name.c_str(), value);
            }
        }
        if (!as_json) std::printf("  %s: %s\n", row.readers, row.meaning);
    }
    if (as_json) std::printf("{%s}\n", out.c_str());
}

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    if (line.has("param")) {
        show_variables(line.has("json"));
        return kGood;
    }
    if (!line.operands().empty()) line.wrong("only --param takes " + line.operands()[0]);
    const Tool tool(line, Role::none);
    struct Row {
        const char* label;
        const char* key;
        bool list;
    };
    const Row rows[] = {{"stable ABI", PMIX_QUERY_STABLE_ABI_VERSION, false},
                        {"provisional ABI", PMIX_QUERY_PROVISIONAL_ABI_VERSION, false},
                        {"client functions", PMIX_CLIENT_FUNCTIONS, true},
                        {"tool functions", PMIX_TOOL_FUNCTIONS, true}};
    std::string out = "{\"library\":" + json_text(PMIx_Get_version());
    if (!line.has("json")) std::printf("library: %s\n", PMIx_Get_version());
    for (const Row& row : rows) {
        if (row.list && !line.has("functions") && !line.has("json")) continue;
        Infos none;
        Answers answers;
        std::string key = row.key;
        if (row.list) {
            none.flag(row.key);
            key = PMIX_QUERY_ATTRIBUTE_SUPPORT;
        }
        query({key}, none, answers);
        const pmix_value_t* value = answers.find(row.key);
        if (value == nullptr) continue;
        if (line.has("json")) {
            out += "," + json_text(row.label) + ":" + json(*value);
        } else if (row.list) {
            std::printf("%s:\n", row.label);
            for (const std::string& name : split_all(shown(*value), ',')) std::printf("  %s\n", name.c_str());
        } else {
            std::printf("%s: %s\n", row.label, shown(*value).c_str());
        }
    }
    if (line.has("json")) std::printf("%s}\n", out.c_str());
    return kGood;
}
