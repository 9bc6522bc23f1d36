// SPDX-License-Identifier: BSD-3-Clause
// plookup: what processes have published.
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "plookup",
    "what processes have published",
    "KEY...",
    "Looks up keys that processes have published with PMIx_Publish and shows the values with their publishers.",
    {{"range", "RANGE", "where to look: namespace, session, local, global (default session)"},
     {"wait-for-keys", nullptr, "wait until all keys are published"},
     {"wait-seconds", "SECONDS", "with --wait-for-keys: wait no longer"},
     {"json", nullptr, "as JSON"}},
    true,
    1,
    64,
    {{"plookup ocean.port", "one key"},
     {"plookup --wait-for-keys --wait-seconds 10 a b", "two keys, as soon as both are published"}},
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    const struct {
        const char* name;
        pmix_data_range_t range;
    } ranges[] = {{"namespace", PMIX_RANGE_NAMESPACE},
                  {"session", PMIX_RANGE_SESSION},
                  {"local", PMIX_RANGE_LOCAL},
                  {"global", PMIX_RANGE_GLOBAL}};
    Infos infos;
    const std::string wanted = line.text("range", "session");
    for (const auto& r : ranges)
        if (wanted == r.name) infos.add(PMIX_RANGE, &r.range, PMIX_DATA_RANGE);
    if (infos.size() == 0) line.wrong("there is no range " + wanted);
    for (const std::string& key : line.operands())
        if (key.empty() || key.size() > PMIX_MAX_KEYLEN) line.wrong("no key: " + key);
    const int seconds = static_cast<int>(line.number("wait-seconds", 0, 1));
    const Tool tool(line);
    if (line.has("wait-for-keys")) {
        const int all = 0;
        infos.add(PMIX_WAIT, &all, PMIX_INT);
    }
    if (seconds > 0) infos.add(PMIX_TIMEOUT, &seconds, PMIX_INT);
    const size_t n = line.operands().size();
    std::vector<pmix_pdata_t> data(n);
    for (size_t i = 0; i < n; ++i) {
        PMIx_Pdata_construct(&data[i]);
        PMIx_Load_key(data[i].key, line.operands()[i].c_str());
    }
    const pmix_status_t rc = PMIx_Lookup(data.data(), n, infos.data(), infos.size());
    int status = kGood;
    std::string out;
    for (size_t i = 0; i < n; ++i) {
        const std::string& key = line.operands()[i];
        if (data[i].value.type == PMIX_UNDEF) {
            status = failed(kProgram.name, key.c_str(),
                            rc == PMIX_SUCCESS || rc == PMIX_ERR_PARTIAL_SUCCESS ? PMIX_ERR_NOT_FOUND : rc);
        } else if (line.has("json")) {
            out += json_comma(out);
            out += json_text(key) + ":{\"value\":" + json(data[i].value) +
                   ",\"publisher\":" + json_text(shown(data[i].proc)) + "}";
        } else {
            std::printf("%s: %s (from %s)\n", key.c_str(), shown(data[i].value).c_str(), shown(data[i].proc).c_str());
        }
        PMIx_Pdata_destruct(&data[i]);
    }
    if (line.has("json")) std::printf("{%s}\n", out.c_str());
    return status;
}
