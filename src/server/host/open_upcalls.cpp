// SPDX-License-Identifier: BSD-3-Clause
#include "server/host/open_upcalls.h"

#include <algorithm>
#include <string>
#include <vector>

#include "common/base/log.h"
#include "server/base/report_rows.h"

namespace pmix::server {

using common::ProcId;

namespace {

constexpr size_t kMostNamed = 16;
constexpr size_t kMostLines = 32;

// The processes of this node that have joined, those whose requests are for the data, or the requester of the call.
std::vector<ProcId> requesters_of(const ModuleHost::LateUpcall& late, const ReportRows& rows) {
    std::vector<ProcId> all;
    const std::string_view name = late.name;
    for (const CollectiveReport& row : rows.collectives) {
        const bool it_is = row.at_host && row.operation.starts_with(name) && !row.members.empty() &&
                           row.members.front().nspace == late.about.nspace;
        if (it_is) all.insert(all.end(), row.joined.begin(), row.joined.end());
    }
    if (name == "direct_modex")
        for (const RequestReport& row : rows.requests)
            if (row.at_host && row.target == late.about && row.requester) all.push_back(*row.requester);
    if (all.empty() && name != "direct_modex" && common::is_real_rank(late.about.rank)) all.push_back(late.about);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

std::string text_of_procs(const std::vector<ProcId>& procs) {
    std::string text;
    for (size_t i = 0; i < std::min(procs.size(), kMostNamed); ++i)
        text += (i == 0 ? "" : ", ") + procs[i].nspace + ":" + std::to_string(procs[i].rank);
    if (procs.size() > kMostNamed) text += " and " + std::to_string(procs.size() - kMostNamed) + " more";
    return text.empty() ? "nobody of this node" : text;
}

}  // namespace

OpenUpcalls::OpenUpcalls(ModuleHost& host, const LifecycleObservers& observers) : host_(host), observers_(observers) {
    host.watch([this](const std::vector<ModuleHost::LateUpcall>& late) { log_late(late); });
}

// A host that has stopped answering leaves many: the first of them have a line.
void OpenUpcalls::log_late(const std::vector<ModuleHost::LateUpcall>& all) const {
    ReportRows rows;
    observers_.report(rows);
    for (size_t i = 0; i < std::min(all.size(), kMostLines); ++i) {
        const ModuleHost::LateUpcall& late = all[i];
        const std::string of = late.name == std::string_view("direct_modex")
                                   ? " for the data of " + late.about.nspace + ":" + std::to_string(late.about.rank)
                                   : "";
        WIREUP_LOG(host, warn, "%s #%llu%s is not answered after %d s; waiting: %s", late.name,
                   static_cast<unsigned long long>(late.number), of.c_str(), ModuleHost::kLateSeconds,
                   text_of_procs(requesters_of(late, rows)).c_str());
    }
    if (all.size() > kMostLines)
        WIREUP_LOG(host, warn, "%zu more upcalls are not answered after %d s", all.size() - kMostLines,
                   ModuleHost::kLateSeconds);
}

}  // namespace pmix::server
