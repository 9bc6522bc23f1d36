// SPDX-License-Identifier: BSD-3-Clause
// pmix_info: which library this is and what it supports. Asks no server.
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pmix_info",
    "which PMIx library this is and what it supports",
    "",
    "Shows the version of the library that programs use here, the versions of the interface that it offers,\n"
    "and the functions that it implements for clients and tools. Asks no server.",
    {{"functions", nullptr, "show the functions too"}, {"json", nullptr, "as JSON"}},
    false,
    0,
    0,
    {{"pmix_info --functions", "everything"}},
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
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
