// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/report.h"

#include <unistd.h>

#include "common/values/array_value.h"
#include "server/base/report_rows.h"
#include "transport/deadline.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::ProcId;
using common::Value;

// Collects the status of the first thing that fails, so that a report reads as a list of what is in it.
class ReportPage {
  public:
    template <class T>
    void number(const char* key, T n, pmix_data_type_t type) {
        keep(infos_.append_number(key, n, type));
    }
    void text(const char* key, std::string_view s) { keep(infos_.append_string(key, s)); }
    void proc(const char* key, const ProcId& id) {
        const pmix_proc_t p = id.to_c();
        keep(infos_.append(key, &p, PMIX_PROC));
    }
    void procs(const char* key, const std::vector<ProcId>& ids) {
        auto array = common::CArray<pmix_proc_t>::zeroed(ids.size());
        if (!array) return keep(array.status());
        for (size_t i = 0; i < ids.size(); ++i) (*array)[i] = ids[i].to_c();
        value(key, common::array_value(std::move(array).value()));
    }
    void page(const char* key, ReportPage&& inner) { value(key, std::move(inner).done()); }
    common::Result<Value> done() && {
        if (status_ != PMIX_SUCCESS) return status_;
        return common::array_value(std::move(infos_));
    }

  private:
    void keep(pmix_status_t rc) {
        if (status_ == PMIX_SUCCESS) status_ = rc;
    }
    void value(const char* key, common::Result<Value> v) {
        keep(v ? infos_.append(key, std::move(v).value()) : v.status());
    }

    InfoList infos_;
    pmix_status_t status_ = PMIX_SUCCESS;
};

double seconds_since(int64_t began_ms) noexcept {
    return static_cast<double>(transport::monotonic_ms() - began_ms) / 1000.0;
}

// Of the connections of a rank.
struct Connected {
    pid_t pid = 0;
    uint64_t lost_events = 0;
};

ReportPage job_page(const Nspace& nspace, const std::map<ProcId, Connected>& connected) {
    ReportPage page;
    page.text(PMIX_NSPACE, nspace.name);
    if (nspace.size_known()) page.number(PMIX_JOB_SIZE, nspace.size(), PMIX_UINT32);
    page.number(PMIX_LOCAL_SIZE, nspace.local_count(), PMIX_UINT32);
    page.number(WIREUP_REPORT_STORE, nspace.data == nullptr ? uint64_t{0} : nspace.data->bytes(), PMIX_UINT64);
    for (const auto& [rank, client] : nspace.clients) {
        ReportPage one;
        const auto known = connected.find(ProcId(nspace.name, rank));
        const Connected here = known == connected.end() ? Connected() : known->second;
        one.number(PMIX_RANK, rank, PMIX_PROC_RANK);
        one.number(PMIX_PROC_STATE_STATUS, process_state(client.state), PMIX_PROC_STATE);
        one.number(PMIX_PROC_PID, here.pid, PMIX_PID);
        one.number(WIREUP_REPORT_CLONES, client.connections, PMIX_UINT32);
        one.number(WIREUP_REPORT_LOST_EVENTS, here.lost_events, PMIX_UINT64);
        page.page(WIREUP_REPORT_PROC, std::move(one));
    }
    return page;
}

ReportPage collective_page(const CollectiveReport& r) {
    ReportPage page;
    page.text(WIREUP_REPORT_OPERATION, r.operation);
    if (r.inviter) page.proc(WIREUP_REPORT_ASKER, *r.inviter);
    page.procs(WIREUP_REPORT_MEMBERS, r.members);
    page.procs(WIREUP_REPORT_ARRIVED, r.joined);
    page.procs(WIREUP_REPORT_MISSING, r.missing);
    page.text(WIREUP_REPORT_WAITS_FOR, r.at_host ? "host" : "process");
    page.number(WIREUP_REPORT_AGE, seconds_since(r.began_ms), PMIX_DOUBLE);
    return page;
}

ReportPage request_page(const RequestReport& r, const ProcId& self) {
    ReportPage page;
    page.text(WIREUP_REPORT_OPERATION, r.operation);
    page.proc(WIREUP_REPORT_ASKER, r.requester.value_or(self));
    if (r.target) page.proc(WIREUP_REPORT_TARGET, *r.target);
    page.text(WIREUP_REPORT_KEY, r.key);
    page.text(WIREUP_REPORT_WAITS_FOR, r.at_host ? "host" : "process");
    page.number(WIREUP_REPORT_AGE, seconds_since(r.began_ms), PMIX_DOUBLE);
    return page;
}

}  // namespace

common::Result<Value> make_report(const Known& known) {
    ReportPage page;
    const ProcId& self = known.server;
    page.text(PMIX_SERVER_NSPACE, self.nspace);
    page.number(PMIX_SERVER_RANK, self.rank, PMIX_PROC_RANK);
    page.text(PMIX_HOSTNAME, known.registry.hostname());
    page.number(PMIX_SERVER_PIDINFO, ::getpid(), PMIX_PID);

    std::map<ProcId, Connected> connected;
    for (const auto& [serial, peer] : known.peers) {
        if (peer->kind() != PeerKind::client) continue;
        Connected& one = connected.try_emplace(peer->id(), Connected{peer->credentials().pid, 0}).first->second;
        one.lost_events += peer->lost_events();
    }
    for (const auto& [name, nspace] : known.registry.nspaces()) {
        // Its own name is there for its own puts.
        if (name != self.nspace || nspace->data != nullptr) page.page(WIREUP_REPORT_JOB, job_page(*nspace, connected));
    }
    ReportRows rows;
    known.observers.report(rows);
    for (const CollectiveReport& r : rows.collectives) page.page(WIREUP_REPORT_COLLECTIVE, collective_page(r));
    for (const RequestReport& r : rows.requests) page.page(WIREUP_REPORT_REQUEST, request_page(r, self));
    return std::move(page).done();
}

}  // namespace pmix::server
