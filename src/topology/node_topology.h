// SPDX-License-Identifier: BSD-3-Clause
// The topology of this node: what the host gave, what a server shares, or what hwloc finds, in this order; kept until
// the last finalize.
//
// Owned by the Library, so that a forked child starts with none. take_from_host() runs inside PMIx_server_init before
// anybody can see the Library; the rest on any thread. The first load of a large machine may take seconds; others that
// want the topology wait for it, the loop among them: so the thread that holds the lock waits for nothing but hwloc.
// Not used by a client's PMIx_Init. What can go wrong: hwloc is not installed (PMIX_ERR_NOT_SUPPORTED), or it finds
// nothing. A shared text that does not parse is passed over.
#pragma once

#include <pmix_common.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/placement/gpu.h"
#include "common/placement/nic.h"
#include "common/values/info_view.h"
#include "common/values/value.h"
#include "topology/hwloc_library.h"

namespace pmix::api {

// A topology and how to read it. Valid until the last finalize.
struct Topology {
    void* pointer = nullptr;
    const char* source = nullptr;
    const Hwloc* hwloc = nullptr;  // NULL: of another source, or of a copy of hwloc that we cannot read

    hwloc_topology_t tree() const noexcept { return static_cast<hwloc_topology_t>(pointer); }
};

class NodeTopology {
  public:
    // A value of the process's own job, or an empty one; asked on the caller's thread without a lock.
    using JobData = std::function<common::Value(const common::ProcId& self, const char* key)>;

    explicit NodeTopology(JobData job_data = {}) : job_data_(std::move(job_data)) {}
    ~NodeTopology();
    NodeTopology(const NodeTopology&) = delete;
    NodeTopology& operator=(const NodeTopology&) = delete;

    // Reads PMIX_TOPOLOGY2, PMIX_TOPOLOGY (the pointer stays the host's and must stay valid), PMIX_TOPOLOGY_XML and
    // its older names, PMIX_TOPOLOGY_FILE. to_share: what clients shall find in their job's data. A topology of the
    // host's is shared unless PMIX_SERVER_SHARE_TOPOLOGY is false; our own only if it is true.
    pmix_status_t take_from_host(common::InfoView infos, common::InfoList& to_share);

    // Loads it if need be. self: the process that asks, for what its server shares; nobody: no server is asked. wanted:
    // the source that it must have ("hwloc", "hwloc:2.9.0"), or NULL; PMIX_ERR_NOT_SUPPORTED when it has another.
    common::Result<Topology> get(const common::ProcId& self, const char* wanted = nullptr);

  private:
    struct Shared;

    bool loaded();
    bool install(void* pointer, const char* source, bool owned) REQUIRES(mutex_);
    bool install_xml(const char* xml) REQUIRES(mutex_);
    bool install_shared(Shared& shared) REQUIRES(mutex_);
    pmix_status_t discover(const char* file) REQUIRES(mutex_);

    const JobData job_data_;
    common::Mutex mutex_;
    Topology topology_ GUARDED_BY(mutex_);
    std::string source_ GUARDED_BY(mutex_);
    bool owned_ GUARDED_BY(mutex_) = false;
};

// The devices by which this node reaches others, PMIX_FABRIC_DEVICE each. May load the topology.
common::Result<common::InfoList> node_fabric_devices(NodeTopology& topology, const common::ProcId& self,
                                                     const std::string& hostname);
// The same as a function to call later; it keeps the topology.
inline auto later_fabric_devices(std::shared_ptr<NodeTopology> topology, common::ProcId self, std::string hostname) {
    return [topology = std::move(topology), self = std::move(self), hostname = std::move(hostname)] {
        return node_fabric_devices(*topology, self, hostname);
    };
}

// The node's GPUs; none where there is no topology. May load it: no server is asked.
std::vector<common::Gpu> node_gpus(NodeTopology& topology, const std::string& hostname);
// Its network devices whose libraries can be told by name which of them to use.
std::vector<common::Nic> node_nics(NodeTopology& topology, const std::string& hostname);
// The same as functions to call later; they keep the topology.
inline auto later_nics(std::shared_ptr<NodeTopology> topology, std::string hostname) {
    return [topology = std::move(topology), hostname = std::move(hostname)] { return node_nics(*topology, hostname); };
}
inline auto later_gpus(std::shared_ptr<NodeTopology> topology, std::string hostname) {
    return [topology = std::move(topology), hostname = std::move(hostname)] { return node_gpus(*topology, hostname); };
}

// A topology as a value (PMIX_TOPO): the library's own, which is not the caller's to destroy.
common::Result<common::Value> topology_value(NodeTopology& topology);
// The same as a function to call later. No server is asked: this process is one.
inline auto later_topology(std::shared_ptr<NodeTopology> topology) {
    return [topology = std::move(topology)] { return topology_value(*topology); };
}

// What hwloc and the kernel report of this node: one PMIX_NODE_INFO_ARRAY. For a node that hwloc cannot read it still
// has the name and the memory.
common::Result<common::InfoList> collect_inventory(NodeTopology& topology, const common::ProcId& self,
                                                   const std::string& hostname);

}  // namespace pmix::api
