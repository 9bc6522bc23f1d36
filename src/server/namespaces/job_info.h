// SPDX-License-Identifier: BSD-3-Clause
// What a host said about a job with PMIx_server_register_nspace, read out of its arrays into a compact form.
//
// read_job() runs on the caller's thread, because the arrays stay the host's; the JobInfo it makes owns all it holds
// and travels to the loop, where namespace_data puts it into the store. No deep copy of the infos is made on the way:
// facts of every rank go straight into columns, everything else is encoded once.
//
// Arrays may nest to any depth, and the same facts come in several dresses: flat or in a job array, proc arrays with
// the rank first or not, maps as text or as PMIX_REGEX, deprecated names. What can go wrong: a map that is none, an
// array that is no array of infos where one must be (PMIX_ERR_BAD_PARAM).
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "common/placement/node_map.h"
#include "common/values/info_view.h"
#include "common/values/value.h"
#include "dstore/columns.h"
#include "dstore/store.h"

namespace pmix::server {

// A node as an array names it: by name, by number or by both.
struct NodeRef {
    std::string name;
    std::optional<uint32_t> id;
    std::vector<std::string> aliases;
    std::string peers;  // PMIX_LOCAL_PEERS of this job there, as text
};

struct AppRef {
    uint32_t number = 0;
    std::optional<uint32_t> size;
    std::optional<common::Rank> leader;
};

struct JobInfo {
    // A key and its encoded value, in `arena`. For OwnerKind::node the index is a place in `nodes_named`.
    struct Item {
        dstore::Owner owner;
        uint32_t key_at = 0;
        uint32_t key_size = 0;
        uint32_t value_at = 0;
        uint32_t value_size = 0;
        bool of_session = false;  // in an array about a session: all its jobs have it
    };

    std::string nspace;
    int nlocalprocs = 0;
    bool nodata = false;  // PMIX_REGISTER_NODATA: known by name only

    std::optional<uint32_t> job_size;
    std::optional<uint32_t> session_id;
    std::optional<uint32_t> user;  // PMIX_USERID in the job's own data
    bool has_nodes = false;        // PMIX_NODE_MAP was given
    bool has_procs = false;        // PMIX_PROC_MAP was given
    std::vector<std::string> nodes;
    common::ProcMap procs;
    std::vector<NodeRef> nodes_named;
    std::vector<AppRef> apps;
    // Where proc arrays put ranks, kept only when no process map says it: place in placed_on of each rank.
    std::vector<uint32_t> placed;
    std::vector<NodeRef> placed_on;

    std::vector<Item> items;
    std::vector<uint8_t> arena;
    dstore::ColumnBuilder procs_known{dstore::OwnerKind::proc};
    std::set<std::string, std::less<>> proc_columns;  // keys that procs_known has
    common::InfoList envars;                          // PMIX_SET_ENVAR and its like

    std::string_view key_of(const Item& item) const noexcept {
        return {reinterpret_cast<const char*>(arena.data()) + item.key_at, item.key_size};
    }
    common::Bytes value_of(const Item& item) const noexcept { return {arena.data() + item.value_at, item.value_size}; }
    bool has(dstore::Owner owner, std::string_view key) const noexcept;
    void add(dstore::Owner owner, std::string_view key, common::Bytes value);
};

// One of them, borrowed. node: of Owner::node.
struct Fact {
    dstore::Owner owner;
    const NodeRef* node = nullptr;
    std::string_view key;
    common::Bytes value;
};
std::vector<Fact> facts_of(const JobInfo& said);
// Those that it contains about sessions, in arrays of theirs.
std::vector<Fact> session_facts_of(const JobInfo& said);

common::Result<JobInfo> read_job(std::string_view nspace, int nlocalprocs, const pmix_info_t* infos, size_t n);

// The same arrays as PMIx_server_register_resources takes them: what is said there holds for every job.
inline common::Result<JobInfo> read_resources(const pmix_info_t* infos, size_t n) {
    return read_job({}, 0, infos, n);
}

// The same for PMIx_server_deregister_resources, which takes the keys alone: a value may be undefined.
common::Result<JobInfo> read_resource_names(const pmix_info_t* infos, size_t n);

// What PMIx_server_register_session takes: infos of the session, or arrays of its nodes and others.
common::Result<JobInfo> read_session(uint32_t id, const pmix_info_t* infos, size_t n);

// A directive for the environment of children (PMIX_SET_ENVAR and its like) has a name that a variable can have:
// PMIX_ERR_BAD_PARAM. Success for every other info.
pmix_status_t check_variable(const pmix_info_t& info) noexcept;

// Keys that belong to a node, to a session or to an app even when a host gives them flat, beside the job's own keys.
dstore::OwnerKind natural_owner(std::string_view key) noexcept;

// Where the processes of a job run.
struct Placed {
    std::vector<std::string> nodes;  // an empty name: nobody has named it
    std::vector<uint32_t> node_ids;  // empty: as listed
    std::vector<std::pair<uint32_t, std::string>> aliases;
    std::vector<dstore::AppRange> apps;
    common::ProcMap procs;
    bool has_procs = false;
    bool guessed = false;     // all on one node, because nothing says otherwise
    bool partial = false;     // procs has the ranks of some nodes only
    bool more_nodes = false;  // than are listed
    // As the host said it, and all of it.
    bool is_firm() const noexcept { return has_procs && !guessed && !partial; }
};
// `hostname` is this server's. before: what was derived from earlier calls for this job, which has what this call
// leaves out. What can be concluded from one map alone, or from no map, never undoes what both said.
common::Result<Placed> derive_placement(const JobInfo& setup, std::string_view hostname, const Placed& before);
// The place of this server's node in the list: by name, by alias, by the name up to the first dot; kNoNode if unknown.
uint32_t find_own_node(const Placed& placed, std::string_view hostname) noexcept;

// What hosts leave out and clients expect: job keys that follow from the size and the placement. said: whether the host
// provided the value in an earlier call; those of this call are in `setup`.
void derive_values(JobInfo& setup, const Placed& placed,
                   const std::function<bool(dstore::Owner, std::string_view)>& said);
// The facts of every node, and of every rank. They are functions of the placement, so they are declared once and follow
// it when it changes.
void declare_nodes(dstore::ColumnBuilder& nodes);
void declare_ranks(const Placed& placed, dstore::ColumnBuilder& nodes, dstore::ColumnBuilder& procs);

}  // namespace pmix::server
