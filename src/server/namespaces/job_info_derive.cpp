// SPDX-License-Identifier: BSD-3-Clause
// Data that hosts leave out, derived from what they provide. Data provided by a host always takes precedence.
#include <algorithm>

#include "common/codec/pack.h"
#include "server/namespaces/job_info.h"

namespace pmix::server {

using common::ByteWriter;
using dstore::Computed;
using dstore::Owner;

namespace {

class Values {
  public:
    using Said = std::function<bool(Owner, std::string_view)>;
    Values(JobInfo& setup, const Said& said) : setup_(setup), said_(said) {}
    bool has(Owner owner, std::string_view key) const { return setup_.has(owner, key) || said_(owner, key); }
    void u32(Owner owner, std::string_view key, uint32_t n, pmix_data_type_t type = PMIX_UINT32) {
        if (has(owner, key)) return;
        uint8_t bytes[common::kMaxScalarBytes];
        size_t size = common::encode_scalar(type, n, bytes);
        setup_.add(owner, key, {bytes, size});
    }
    void text(Owner owner, std::string_view key, std::string_view s) {
        if (has(owner, key)) return;
        ByteWriter w;
        common::encode_string_value(w, s);
        setup_.add(owner, key, w.view());
    }

  private:
    JobInfo& setup_;
    const Said& said_;
};

}  // namespace

void derive_values(JobInfo& setup, const Placed& placed, const std::function<bool(Owner, std::string_view)>& said) {
    Values values(setup, said);
    const Owner job = Owner::job();
    uint32_t size = setup.job_size.value_or(placed.has_procs ? placed.procs.nranks() : 0);
    // A job knows its session's number, by which its session is found; and what is the session's comes from there.
    const Owner session = Owner::session(setup.session_id.value_or(0));
    if (setup.session_id) values.u32(job, PMIX_SESSION_ID, *setup.session_id);
    if (size != 0) {
        values.u32(job, PMIX_JOB_SIZE, size);
        // Of the session alone: a copy with the job would hide what is registered for the session later.
        values.u32(session, PMIX_UNIV_SIZE, size);
    }
    values.u32(job, PMIX_APPNUM, 0);
    values.u32(job, PMIX_JOB_NUM_APPS, std::max<uint32_t>(1, static_cast<uint32_t>(setup.apps.size())));
    if (!setup.nspace.empty()) {
        values.text(job, PMIX_JOBID, setup.nspace);
        values.text(job, PMIX_NSPACE, setup.nspace);
    }
    if (!placed.nodes.empty() && !placed.more_nodes) {
        values.u32(job, PMIX_NUM_NODES, static_cast<uint32_t>(placed.nodes.size()));
        if (!values.has(job, PMIX_NODE_LIST)) {
            std::string list;
            bool complete = true;
            for (const std::string& node : placed.nodes) {
                if (!list.empty()) list += ',';
                list += node;
                complete = complete && !node.empty();
            }
            if (complete) values.text(job, PMIX_NODE_LIST, list);
        }
    }
    for (uint32_t i = 0; i < placed.apps.size(); ++i) {
        if (placed.apps[i].size == 0) continue;
        values.u32(Owner::app(i), PMIX_APP_SIZE, placed.apps[i].size);
        values.u32(Owner::app(i), PMIX_APPLDR, placed.apps[i].first, PMIX_PROC_RANK);
        values.u32(Owner::app(i), PMIX_APPNUM, i);
    }
}

void declare_nodes(dstore::ColumnBuilder& nodes) {
    nodes.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    nodes.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
}

void declare_ranks(const Placed& placed, dstore::ColumnBuilder& nodes, dstore::ColumnBuilder& procs) {
    nodes.compute(PMIX_LOCAL_SIZE, Computed::local_size, PMIX_UINT32, 4);
    nodes.compute(PMIX_NODE_SIZE, Computed::local_size, PMIX_UINT32, 4);
    nodes.compute(PMIX_LOCALLDR, Computed::local_leader, PMIX_PROC_RANK, 4);
    nodes.compute(PMIX_LOCAL_PEERS, Computed::local_peers, PMIX_STRING, 0);
    procs.compute(PMIX_RANK, Computed::rank, PMIX_PROC_RANK, 4);
    procs.compute(PMIX_GLOBAL_RANK, Computed::rank, PMIX_PROC_RANK, 4);
    procs.compute(PMIX_NODEID, Computed::node_id, PMIX_UINT32, 4);
    procs.compute(PMIX_HOSTNAME, Computed::node_name, PMIX_STRING, 0);
    procs.compute(PMIX_LOCAL_RANK, Computed::local_rank, PMIX_UINT16, 2);
    procs.compute(PMIX_NODE_RANK, Computed::local_rank, PMIX_UINT16, 2);
    if (!placed.apps.empty()) {
        procs.compute(PMIX_APPNUM, Computed::app_number, PMIX_UINT32, 4);
        procs.compute(PMIX_APP_RANK, Computed::app_rank, PMIX_PROC_RANK, 4);
        procs.compute(PMIX_APPLDR, Computed::app_leader, PMIX_PROC_RANK, 4);
    }
}

}  // namespace pmix::server
