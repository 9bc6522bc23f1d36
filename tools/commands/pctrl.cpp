// SPDX-License-Identifier: BSD-3-Clause
// pctrl: controls the processes of a job.
#include <csignal>
#include <cstdio>

#include "tool.h"

using namespace commands;

namespace {

const Program kProgram = {
    "pctrl",
    "pause, resume, signal or end the processes of a job",
    "JOB[:RANK,...]...",
    "Asks the resource manager through its PMIx server to control the processes of a job, or some of them.",
    {{"pause", nullptr, "stop the processes"},
     {"resume", nullptr, "let stopped processes continue"},
     {"terminate", nullptr, "ask the processes to end"},
     {"kill", nullptr, "end the processes at once"},
     {"signal", "N", "send the signal of this number"},
     {"cancel", "ID", "cancel the request of this name"},
     {"request-id", "ID", "the name of this request"},
     {"info", "NAME=VALUE", "another attribute of the request; may be repeated"}},
    true,
    1,
    64,
    {{"pctrl --pause myjob", "all processes of it"}, {"pctrl --signal 10 myjob:0,3", "two of them"}},
};

}  // namespace

int main(int argc, char** argv) {
    const CommandLine line(kProgram, argc, argv);
    Infos infos;
    if (line.has("pause")) infos.flag(PMIX_JOB_CTRL_PAUSE);
    if (line.has("resume")) infos.flag(PMIX_JOB_CTRL_RESUME);
    if (line.has("terminate")) infos.flag(PMIX_JOB_CTRL_TERMINATE);
    if (line.has("kill")) infos.flag(PMIX_JOB_CTRL_KILL);
    if (line.has("cancel")) infos.text(PMIX_JOB_CTRL_CANCEL, line.text("cancel"));
    if (line.has("signal")) {
        long n = 0;
        if (!to_number(line.text("signal"), n) || n < 1 || n >= NSIG)
            line.wrong("--signal needs the number of a signal, from 1 to " + std::to_string(NSIG - 1) + ", not " +
                       line.text("signal"));
        const int signal = static_cast<int>(n);
        infos.add(PMIX_JOB_CTRL_SIGNAL, &signal, PMIX_INT);
    }
    const size_t deeds = infos.size();
    if (line.has("request-id")) infos.text(PMIX_JOB_CTRL_ID, line.text("request-id"));
    for (const std::string& setting : line.all("info")) infos.from_text(line, setting);
    if (deeds > 1) line.wrong("only one action at a time");
    if (infos.size() == 0) line.wrong("missing option: the action");
    std::vector<pmix_proc_t> targets;
    for (const std::string& text : line.operands()) {
        const std::vector<pmix_proc_t> procs = to_procs(text);
        if (procs.empty()) line.wrong("no processes: " + text);
        targets.insert(targets.end(), procs.begin(), procs.end());
    }
    const Tool tool(line);
    const pmix_status_t rc =
        PMIx_Job_control(targets.data(), targets.size(), infos.data(), infos.size(), nullptr, nullptr);
    if (rc == PMIX_SUCCESS || rc == PMIX_OPERATION_SUCCEEDED) return kGood;
    for (const pmix_proc_t& target : targets) {
        if (rc == PMIX_ERR_UNREACH || rc == PMIX_ERR_LOST_CONNECTION || job_exists(target.nspace)) continue;
        std::fprintf(stderr, "%s: there is no job %s\n", kProgram.name, target.nspace);
        return kFailed;
    }
    return failed(kProgram.name, "the request failed", rc);
}
