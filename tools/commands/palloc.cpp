// SPDX-License-Identifier: BSD-3-Clause
// palloc: asks the resource manager for resources, or gives some back.
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "palloc",
    "ask for an allocation of resources",
    "",
    "Asks the resource manager through its PMIx server for a new allocation, or with --extend, --release or "
    "--reaquire\n"
    "to change one, and shows the answer.",
    {{"extend", nullptr, "add resources to an allocation"},
     {"release", nullptr, "give resources of an allocation back"},
     {"reaquire", nullptr, "take back resources that the scheduler has borrowed"},
     {"id", "ID", "the allocation to change"},
     {"request-id", "ID", "the name of this request"},
     {"nodes", "N", "number of nodes"},
     {"node-list", "NODES", "these nodes"},
     {"cpus", "N", "number of CPUs"},
     {"memory", "MB", "memory, in megabytes"},
     {"time", "SECONDS", "for how long"},
     {"info", "NAME=VALUE", "another attribute of the request; may be repeated"},
     {"json", nullptr, "as JSON"}},
    true,
    0,
    0,
    {{"palloc --nodes 4 --time 3600", "four nodes for an hour"}, {"palloc --release --id 17", "give one back"}},
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    if (line.has("extend") + line.has("release") + line.has("reaquire") > 1)
        line.wrong("only one of --extend, --release and --reaquire");
    const pmix_alloc_directive_t what = line.has("extend")     ? PMIX_ALLOC_EXTEND
                                        : line.has("release")  ? PMIX_ALLOC_RELEASE
                                        : line.has("reaquire") ? PMIX_ALLOC_REAQUIRE
                                                               : PMIX_ALLOC_NEW;
    Infos infos;
    const auto count = [&](const char* option, const char* key) {
        const auto n = static_cast<uint64_t>(line.number(option, 0, 1, LONG_MAX));
        if (n != 0) infos.add(key, &n, PMIX_UINT64);
    };
    count("nodes", PMIX_ALLOC_NUM_NODES);
    count("cpus", PMIX_ALLOC_NUM_CPUS);
    if (line.has("memory")) {
        const float megabytes = static_cast<float>(line.number("memory", 0, 1, LONG_MAX));
        infos.add(PMIX_ALLOC_MEM_SIZE, &megabytes, PMIX_FLOAT);
    }
    if (line.has("time")) infos.text(PMIX_ALLOC_TIME, std::to_string(line.number("time", 0, 1, LONG_MAX)));
    if (line.has("id")) infos.text(PMIX_ALLOC_ID, line.text("id"));
    if (line.has("request-id")) infos.text(PMIX_ALLOC_REQ_ID, line.text("request-id"));
    if (line.has("node-list")) infos.text(PMIX_ALLOC_NODE_LIST, line.text("node-list"));
    for (const std::string& setting : line.all("info")) infos.from_text(line, setting);
    if (infos.size() == 0) line.wrong("missing option: which resources");
    const Tool tool(line);
    Answers answers;
    answers.status = PMIx_Allocation_request(what, infos.data(), infos.size(), &answers.infos, &answers.count);
    if (answers.status != PMIX_SUCCESS && answers.status != PMIX_OPERATION_SUCCEEDED)
        return failed(kProgram.name, "the resource manager refused the request", answers.status);
    if (line.has("json")) {
        std::printf("%s\n", json_infos(answers.infos, answers.count).c_str());
    } else {
        for (size_t i = 0; i < answers.count; ++i)
            std::printf("%s: %s\n", answers.infos[i].key, shown(answers.infos[i].value).c_str());
    }
    return kGood;
}
