// SPDX-License-Identifier: BSD-3-Clause
#include "topology/node_topology.h"

#include <pmix_common.h>
#include <strings.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>

#include "common/base/opaque.h"
#include "common/values/array_value.h"
#include "topology/topology_walk.h"

namespace pmix::api {
namespace {

using common::InfoList;
using common::InfoView;
using common::MutexLock;

// The keys under which hosts and other libraries give XML in the form of hwloc 2; the first that parses is used.
constexpr const char* kXmlKeys[] = {PMIX_HWLOC_XML_V2, PMIX_TOPOLOGY_XML, PMIX_LOCAL_TOPO, PMIX_HWLOC_XML_V1};

struct Free {
    void operator()(void* p) const noexcept { std::free(p); }
};
using Text = std::unique_ptr<char, Free>;

// Which hwloc found it. Absent in what was read from XML, where it would name another program's hwloc.
std::string source_of(const Hwloc& hwloc, hwloc_topology_t topology, bool from_xml) {
    std::string source(common::kHwlocSource);
    const hwloc_obj* machine = from_xml ? nullptr : hwloc.get_obj_by_depth(topology, 0, 0);
    for (unsigned i = 0; machine != nullptr && i < machine->infos_count; ++i) {
        if (std::string_view(machine->infos[i].name) == "hwlocVersion")
            source += ':' + std::string(machine->infos[i].value);
    }
    return source;
}

pmix_status_t offer(InfoList& to_share, const char* xml) {
    pmix_status_t rc = to_share.append_string(PMIX_HWLOC_XML_V2, xml);
    if (rc == PMIX_SUCCESS) rc = to_share.append_string(PMIX_LOCAL_TOPO, xml);
    return rc;
}

}  // namespace

NodeTopology::~NodeTopology() {
    if (topology_.pointer == nullptr) return;
    if (owned_) {
        topology_.hwloc->topology_destroy(topology_.tree());
    } else {
        forget_library_topology(topology_.pointer);
    }
}

bool NodeTopology::install(void* pointer, const char* source, bool owned) {
    if (!note_library_topology(pointer)) return false;
    source_ = source;
    const Hwloc* hwloc = common::is_hwloc_source(source) ? Hwloc::open() : nullptr;
    if (hwloc != nullptr && hwloc->topology_abi_check(static_cast<hwloc_topology_t>(pointer)) != 0) hwloc = nullptr;
    topology_ = {pointer, source_.c_str(), hwloc};
    owned_ = owned;
    return true;
}

bool NodeTopology::install_xml(const char* xml) {
    const Hwloc* hwloc = Hwloc::open();
    if (hwloc == nullptr || xml == nullptr) return false;
    hwloc_topology_t topology = topology_from_xml(*hwloc, xml, false);
    if (topology == nullptr) return false;
    if (install(topology, source_of(*hwloc, topology, true).c_str(), true)) return true;
    hwloc->topology_destroy(topology);
    return false;
}

pmix_status_t NodeTopology::take_from_host(InfoView infos, InfoList& to_share) {
    MutexLock lock(mutex_);
    const bool share = infos.flag(PMIX_SERVER_SHARE_TOPOLOGY);
    const bool hide = infos.has(PMIX_SERVER_SHARE_TOPOLOGY) && !share;

    void* pointer = nullptr;
    const char* source = common::kHwlocSource.data();
    if (const pmix_info_t* info = infos.find(PMIX_TOPOLOGY2)) {
        if (info->value.type != PMIX_TOPO || info->value.data.topo == nullptr) return PMIX_ERR_BAD_PARAM;
        pointer = info->value.data.topo->topology;
        if (info->value.data.topo->source != nullptr) source = info->value.data.topo->source;
    } else if (const pmix_status_t rc = infos.get(PMIX_TOPOLOGY, &pointer); rc != PMIX_SUCCESS) {
        return rc;
    }
    if (pointer != nullptr) {
        if (!install(pointer, source, false)) return PMIX_ERR_NOMEM;
        if (hide || topology_.hwloc == nullptr) return PMIX_SUCCESS;
        const Text xml(common::open_opaque_ops()->print_topology(pointer));
        return xml == nullptr ? PMIX_SUCCESS : offer(to_share, xml.get());
    }
    // XML is given to the clients unchanged, also where this process cannot read it.
    for (const char* key : kXmlKeys) {
        const char* xml = nullptr;
        WIREUP_RETURN_IF_ERROR(infos.get(key, &xml));
        if (xml == nullptr) continue;
        install_xml(xml);
        return hide ? PMIX_SUCCESS : offer(to_share, xml);
    }
    const char* file = nullptr;
    if (const pmix_status_t rc = infos.get(PMIX_TOPOLOGY_FILE, &file); rc != PMIX_SUCCESS) return rc;
    if ((file == nullptr && !share) || Hwloc::open() == nullptr) return PMIX_SUCCESS;
    if (const pmix_status_t rc = discover(file); rc != PMIX_SUCCESS) return file == nullptr ? PMIX_SUCCESS : rc;
    if (hide) return PMIX_SUCCESS;
    const Text xml(common::open_opaque_ops()->print_topology(topology_.pointer));
    return xml == nullptr ? PMIX_SUCCESS : offer(to_share, xml.get());
}

// What the server put into our job's data. Looked for without the lock: a server's own call asks its loop, which may
// be waiting for the lock.
struct NodeTopology::Shared {
    common::Value whole;
    common::Value texts[std::size(kXmlKeys)];

    Shared(const JobData& job_data, const common::ProcId& self) {
        if (self.nspace.empty() || !job_data) return;
        whole = job_data(self, PMIX_TOPOLOGY2);
        for (size_t i = 0; i < std::size(kXmlKeys); ++i) texts[i] = job_data(self, kXmlKeys[i]);
    }
};

bool NodeTopology::loaded() {
    MutexLock lock(mutex_);
    return topology_.pointer != nullptr;
}

bool NodeTopology::install_shared(Shared& shared) {
    if (shared.whole.type() == PMIX_TOPO && shared.whole.get().data.topo != nullptr &&
        shared.whole.get().data.topo->topology != nullptr &&
        common::is_hwloc_source(shared.whole.get().data.topo->source)) {
        pmix_topology_t& got = *shared.whole.c_ptr()->data.topo;
        if (install(got.topology, common::kHwlocSource.data(), true)) {
            got.topology = nullptr;
            return true;
        }
    }
    for (const common::Value& text : shared.texts) {
        if (text.type() == PMIX_STRING && install_xml(text.get().data.string)) return true;
    }
    return false;
}

// From an XML file, or from the machine itself.
pmix_status_t NodeTopology::discover(const char* file) {
    const Hwloc* hwloc = Hwloc::open();
    if (hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    hwloc_topology_t topology = nullptr;
    if (hwloc->topology_init(&topology) != 0) return PMIX_ERR_NOMEM;
    // gl talks to X servers, for nothing that is of use here.
    hwloc->topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "gl");
    if ((file == nullptr || hwloc->topology_set_xml(topology, file) == 0) &&
        hwloc->topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT) == 0 &&
        hwloc->topology_set_flags(topology, file == nullptr ? 0 : HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM) == 0 &&
        hwloc->topology_load(topology) == 0 &&
        install(topology, source_of(*hwloc, topology, file != nullptr).c_str(), true)) {
        return PMIX_SUCCESS;
    }
    hwloc->topology_destroy(topology);
    return file == nullptr ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_BAD_PARAM;
}

common::Result<Topology> NodeTopology::get(const common::ProcId& self, const char* wanted) {
    std::unique_ptr<Shared> shared;
    if (!loaded()) {
        if (!common::is_hwloc_source(wanted)) return PMIX_ERR_NOT_SUPPORTED;  // nothing is discovered for that
        if (Hwloc::open() == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        shared = std::make_unique<Shared>(job_data_, self);
    }
    MutexLock lock(mutex_);
    if (topology_.pointer == nullptr && !install_shared(*shared)) {
        if (const pmix_status_t rc = discover(nullptr); rc != PMIX_SUCCESS) return rc;
    }
    if (wanted != nullptr && ::strncasecmp(wanted, topology_.source, std::strlen(wanted)) != 0) {
        return PMIX_ERR_NOT_SUPPORTED;
    }
    return topology_;
}

common::Result<common::Value> topology_value(NodeTopology& topology) {
    const auto found = topology.get(common::ProcId());
    if (!found) return found.status();
    auto* described = static_cast<pmix_topology_t*>(std::calloc(1, sizeof(pmix_topology_t)));
    if (described == nullptr) return PMIX_ERR_NOMEM;
    described->source = ::strdup(found.value().source);
    described->topology = found.value().pointer;
    pmix_value_t value{};
    value.type = PMIX_TOPO;
    value.data.topo = described;
    common::Value out(value);
    if (described->source == nullptr) return PMIX_ERR_NOMEM;
    return out;
}

common::Result<InfoList> node_fabric_devices(NodeTopology& topology, const common::ProcId& self,
                                             const std::string& hostname) {
    auto loaded = topology.get(self);
    if (!loaded) return loaded.status();
    if (loaded->hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    return fabric_devices(*loaded, hostname);
}

std::vector<common::Gpu> node_gpus(NodeTopology& topology, const std::string& hostname) {
    auto loaded = topology.get(common::ProcId());
    return loaded && loaded->hwloc != nullptr ? gpus(*loaded, hostname) : std::vector<common::Gpu>();
}

std::vector<common::Nic> node_nics(NodeTopology& topology, const std::string& hostname) {
    auto loaded = topology.get(common::ProcId());
    return loaded && loaded->hwloc != nullptr ? nics(*loaded, hostname) : std::vector<common::Nic>();
}

common::Result<InfoList> collect_inventory(NodeTopology& topology, const common::ProcId& self,
                                           const std::string& hostname) {
    InfoList node;
    pmix_status_t rc = node.append_string(PMIX_HOSTNAME, hostname);
    const long pages = ::sysconf(_SC_PHYS_PAGES);
    const long page = ::sysconf(_SC_PAGESIZE);
    if (rc == PMIX_SUCCESS && pages > 0 && page > 0) {
        const uint64_t bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
        rc = node.append_number(PMIX_AVAIL_PHYS_MEMORY, bytes, PMIX_UINT64);
    }
    if (rc != PMIX_SUCCESS) return rc;
    auto loaded = topology.get(self);
    if (loaded && loaded->hwloc != nullptr) {
        const Text xml(common::open_opaque_ops()->print_topology(loaded->pointer));
        if (xml != nullptr) rc = node.append_string(PMIX_HWLOC_XML_V2, xml.get());
        auto devices = fabric_devices(*loaded, hostname);
        if (!devices) return devices.status();
        auto list = common::array_value(std::move(devices).value());
        if (!list) return list.status();
        if (rc == PMIX_SUCCESS) rc = node.append(PMIX_FABRIC_DEVICES, std::move(list).value());
        if (rc != PMIX_SUCCESS) return rc;
    }
    auto array = common::array_value(std::move(node));
    if (!array) return array.status();
    InfoList all;
    rc = all.append(PMIX_NODE_INFO_ARRAY, std::move(array).value());
    if (rc != PMIX_SUCCESS) return rc;
    return all;
}

}  // namespace pmix::api
