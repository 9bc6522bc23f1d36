// SPDX-License-Identifier: BSD-3-Clause
// pquery: one query to a server.
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pquery",
    "ask a PMIx server",
    "KEY...",
    "Asks the server for one or more keys of PMIx_Query_info and shows the answers. A key is given by its name in the\n"
    "headers or by its string. PMIX_QUERY_SUPPORTED_KEYS lists those that can be asked for.",
    {{"qualifier", "NAME=VALUE", "narrows the query; may be repeated"},
     {"timeout-query", "SECONDS", "limit of time for the host"},
     {"json", nullptr, "as JSON"}},
    true,
    1,
    64,
    {{"pquery PMIX_QUERY_NAMESPACES", "the jobs"},
     {"pquery --qualifier PMIX_NSPACE=myjob PMIX_JOB_SIZE PMIX_NUM_NODES", "the size of one"}},
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    Infos qualifiers;
    for (const std::string& setting : line.all("qualifier")) qualifiers.from_text(line, setting);
    const int seconds = static_cast<int>(line.number("timeout-query", 0, 1));
    if (seconds > 0) qualifiers.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
    std::vector<std::string> keys;
    for (const std::string& name : line.operands()) keys.push_back(attribute_string(name));
    const Tool tool(line, Role::either);
    Answers answers;
    query(keys, qualifiers, answers);
    std::string out;
    int status = kGood;
    for (size_t i = 0; i < keys.size(); ++i) {
        const pmix_value_t* value = answers.find(keys[i].c_str());
        const std::string& name = line.operands()[i];
        if (value == nullptr) {
            status = failed(kProgram.name, name.c_str(),
                            answers.status == PMIX_ERR_PARTIAL_SUCCESS ? PMIX_ERR_NOT_FOUND : answers.status);
        } else if (line.has("json")) {
            out += json_comma(out);
            out += json_text(name) + ":" + json(*value);
        } else {
            std::printf("%s: %s\n", name.c_str(), shown(*value).c_str());
        }
    }
    if (line.has("json")) std::printf("{%s}\n", out.c_str());
    return status;
}
