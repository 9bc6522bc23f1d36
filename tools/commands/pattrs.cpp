// SPDX-License-Identifier: BSD-3-Clause
// pattrs: which attributes are supported, function by function.
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pattrs",
    "which functions and attributes are supported",
    "[FUNCTION...]",
    "Shows which attributes the library, the server and its host support, for the named functions, or without\n"
    "operands which functions they support. The library answers for clients and tools, the server for server and host.",
    {{"client", nullptr, "in clients"},
     {"tool", nullptr, "in tools"},
     {"server", nullptr, "in the server"},
     {"host", nullptr, "by its host"},
     {"json", nullptr, "as JSON"}},
    true,
    0,
    64,
    {{"pattrs --client", "the functions of clients; no server is needed"},
     {"pattrs --host PMIx_Spawn", "what this resource manager can do"}},
};

struct Level {
    const char* name;
    const char* functions;
    const char* attributes;
};
const Level kLevels[] = {{"client", PMIX_CLIENT_FUNCTIONS, PMIX_CLIENT_ATTRIBUTES},
                         {"tool", PMIX_TOOL_FUNCTIONS, PMIX_TOOL_ATTRIBUTES},
                         {"server", PMIX_SERVER_FUNCTIONS, PMIX_SERVER_ATTRIBUTES},
                         {"host", PMIX_HOST_FUNCTIONS, PMIX_HOST_ATTRIBUTES}};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    bool any = false;
    for (const Level& level : kLevels) any = any || line.has(level.name);
    const auto wanted = [&](const Level& level) { return !any || line.has(level.name); };
    const bool connect = wanted(kLevels[2]) || wanted(kLevels[3]);
    const Tool tool(line, connect ? Role::either : Role::none);
    Infos levels;
    for (const Level& level : kLevels)
        if (wanted(level)) levels.flag(line.operands().empty() ? level.functions : level.attributes);
    Answers answers;
    std::vector<std::string> keys = line.operands();
    keys.insert(keys.begin(), PMIX_QUERY_ATTRIBUTE_SUPPORT);
    query(keys, levels, answers);
    if (answers.infos == nullptr) return failed(kProgram.name, "no answer about support", answers.status);
    int status = kGood;
    if (line.has("json")) {
        std::printf("%s\n", json_infos(answers.infos, answers.count).c_str());
        for (const std::string& function : line.operands())
            if (answers.find(function.c_str()) == nullptr)
                status = failed(kProgram.name, function.c_str(), PMIX_ERR_NOT_FOUND);
        return status;
    }
    if (line.operands().empty()) {
        for (const Level& level : kLevels) {
            const pmix_value_t* value = answers.find(level.functions);
            if (!wanted(level)) continue;
            std::printf("%s:\n", level.name);
            if (value == nullptr) continue;
            for (const std::string& name : split_all(shown(*value), ',')) std::printf("  %s\n", name.c_str());
        }
        return status;
    }
    for (const std::string& function : line.operands()) {
        const pmix_value_t* value = answers.find(function.c_str());
        if (value == nullptr) {
            status = failed(kProgram.name, function.c_str(), PMIX_ERR_NOT_FOUND);
            continue;
        }
        std::printf("%s\n", function.c_str());
        size_t n = 0;
        const pmix_info_t* infos = infos_in(*value, n);
        for (const Level& level : kLevels) {
            if (!wanted(level)) continue;
            for (size_t i = 0; i < n; ++i) {
                if (!PMIx_Check_key(infos[i].key, level.attributes)) continue;
                const bool none = infos[i].value.type != PMIX_DATA_ARRAY;
                std::printf("  %s:%s\n", level.name, none ? " none" : shown(infos[i].value, 2).c_str());
            }
        }
    }
    return status;
}
