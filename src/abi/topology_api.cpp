// SPDX-License-Identifier: BSD-3-Clause
// Topology, cpusets, locality and distances to devices: what a process may ask of its node.
//
// Owns nothing; the topology is the Library's (topology/node_topology.h), everything else that goes out is malloc'ed
// or, for bitmaps, hwloc's, and the caller's to destruct. Any thread. Without hwloc all of them but
// PMIx_Get_relative_locality answer PMIX_ERR_NOT_SUPPORTED. The PMIx_server_* calls serve every role: clients use them
// to print their cpuset.
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "abi/boundary.h"
#include "client/session/session.h"
#include "common/base/opaque.h"
#include "common/values/info_view.h"
#include "common/values/support.h"
#include "server/server.h"
#include "topology/cpu_binding.h"
#include "topology/node_topology.h"
#include "topology/topology_walk.h"
#include "transport/event_loop.h"

namespace {

using namespace pmix::api;
using namespace pmix::common;

char* c_copy(const std::string& text) {
    char* copy = strdup(text.c_str());
    if (copy == nullptr) throw std::bad_alloc();
    return copy;
}

struct FreeBitmap {
    const Hwloc* hwloc = nullptr;
    void operator()(hwloc_bitmap_t bitmap) const noexcept { hwloc->bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

pmix_status_t parse_cpuset(const char* text, pmix_cpuset_t* cpuset) {
    if (text == nullptr || cpuset == nullptr) return PMIX_ERR_BAD_PARAM;
    *cpuset = PMIX_CPUSET_STATIC_INIT;
    const auto list = parse_cpuset_text(text);
    if (!list) return list.status();
    const Hwloc* hwloc = Hwloc::open();
    if (hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    Bitmap bitmap(make_bitmap(*hwloc, list.value()), {hwloc});
    cpuset->source = c_copy(std::string(kHwlocSource));
    cpuset->bitmap = bitmap.release();
    return PMIX_SUCCESS;
}

// A topology given by the caller, or this node's.
Result<Topology> topology_for(Library& library, const pmix_topology_t* given) {
    if (given == nullptr) {
        auto own = library.topology().get(library.client().self());
        if (own && own->hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        return own;
    }
    if (!is_hwloc_source(given->source)) return PMIX_ERR_NOT_SUPPORTED;
    if (given->topology == nullptr) return PMIX_ERR_BAD_PARAM;
    const Hwloc* hwloc = Hwloc::open();
    if (hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    Topology topology{given->topology, given->source, hwloc};
    if (hwloc->topology_abi_check(topology.tree()) != 0) return PMIX_ERR_NOT_SUPPORTED;
    return topology;
}

pmix_status_t read_filter(InfoView infos, DeviceFilter& filter) {
    WIREUP_RETURN_IF_ERROR(pmix::common::check_required(infos, pmix::common::Function::PMIx_Compute_distances,
                                                        pmix::common::level::client));
    bool any_kind = false;
    for (const pmix_info_t& info : infos) {
        const InfoView one(&info, 1);
        pmix_device_type_t kind = 0;
        std::string_view id;
        if (one.get(PMIX_DEVICE_TYPE, &kind) != PMIX_SUCCESS || one.get(PMIX_DEVICE_ID, &id) != PMIX_SUCCESS) {
            return PMIX_ERR_BAD_PARAM;
        }
        any_kind |= one.has(PMIX_DEVICE_TYPE);
        filter.kinds |= kind;
        if (!id.empty()) filter.ids.push_back(id);
    }
    if (!any_kind) filter.kinds = kAllDeviceKinds;
    return PMIX_SUCCESS;
}

std::string hostname_of(Library& library) {
    if (library.server() != nullptr) return library.server()->options().hostname;
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    return name;
}

Result<CArray<pmix_device_distance_t>> compute(Library& library, const pmix_topology_t* topo,
                                               const pmix_cpuset_t* cpuset, InfoView infos) {
    if (!library.client().is_servers_own()) WIREUP_RETURN_IF_ERROR(check_flags(infos));
    DeviceFilter filter;
    if (const pmix_status_t rc = read_filter(infos, filter); rc != PMIX_SUCCESS) return rc;
    if (cpuset != nullptr && !is_hwloc_source(cpuset->source)) return PMIX_ERR_NOT_SUPPORTED;
    if (cpuset != nullptr && cpuset->bitmap == nullptr) return PMIX_ERR_BAD_PARAM;
    auto topology = topology_for(library, topo);
    if (!topology) return topology.status();

    std::string_view origin;
    if (infos.get(PMIX_DEVICE_DIST_ORIGIN, &origin) != PMIX_SUCCESS) return PMIX_ERR_BAD_PARAM;
    if (!origin.empty()) return distances_from(*topology, origin, filter, hostname_of(library));
    Bitmap own;
    auto* cpus = cpuset == nullptr ? nullptr : static_cast<hwloc_const_bitmap_t>(cpuset->bitmap);
    if (cpus == nullptr) {
        const auto bound = current_binding(PMIX_CPUBIND_PROCESS);
        if (!bound) return bound.status();
        own = Bitmap(make_bitmap(*topology->hwloc, bound.value()), {topology->hwloc});
        cpus = own.get();
    }
    return distances(*topology, cpus, filter, hostname_of(library));
}

struct HandedOut {
    CArray<pmix_device_distance_t> array;
};
void release_distances(void* handed) {
    delete static_cast<HandedOut*>(handed);
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Load_topology(pmix_topology_t* topo) {
    return boundary([&](Library& library) -> pmix_status_t {
        if (topo == nullptr) return PMIX_ERR_BAD_PARAM;
        topo->topology = nullptr;
        const auto found = library.topology().get(library.client().self(), topo->source);
        if (!found) return found.status();
        if (topo->source == nullptr) topo->source = c_copy(found.value().source);
        topo->topology = found.value().pointer;
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Parse_cpuset_string(const char* cpuset_string, pmix_cpuset_t* cpuset) {
    return boundary([&](Library&) { return parse_cpuset(cpuset_string, cpuset); });
}

pmix_status_t PMIx_server_generate_cpuset(const char* cpuset_string, pmix_cpuset_t* cpuset) {
    return boundary([&](Library&) { return parse_cpuset(cpuset_string, cpuset); });
}

pmix_status_t PMIx_Get_cpuset(pmix_cpuset_t* cpuset, pmix_bind_envelope_t ref) {
    return boundary([&](Library&) -> pmix_status_t {
        if (cpuset == nullptr) return PMIX_ERR_BAD_PARAM;
        cpuset->bitmap = nullptr;
        if (ref != PMIX_CPUBIND_PROCESS && ref != PMIX_CPUBIND_THREAD) return PMIX_ERR_BAD_PARAM;
        if (!is_hwloc_source(cpuset->source)) return PMIX_ERR_NOT_SUPPORTED;
        const Hwloc* hwloc = Hwloc::open();
        if (hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        const auto bound = current_binding(ref);
        if (!bound) return bound.status();
        Bitmap bitmap(make_bitmap(*hwloc, bound.value()), {hwloc});
        if (cpuset->source == nullptr) cpuset->source = c_copy(std::string(kHwlocSource));
        cpuset->bitmap = bitmap.release();
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_server_generate_cpuset_string(const pmix_cpuset_t* cpuset, char** cpuset_string) {
    if (cpuset_string != nullptr) *cpuset_string = nullptr;
    return boundary([&](Library&) -> pmix_status_t {
        if (cpuset == nullptr || cpuset_string == nullptr || cpuset->bitmap == nullptr) return PMIX_ERR_BAD_PARAM;
        if (!is_hwloc_source(cpuset->source)) return PMIX_ERR_NOT_SUPPORTED;
        const OpaqueOps* ops = open_opaque_ops();
        if (ops == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        const std::unique_ptr<char, decltype(&std::free)> list(ops->print_bitmap(cpuset->bitmap), &std::free);
        if (list == nullptr) return PMIX_ERR_NOMEM;
        *cpuset_string = c_copy(std::string(kHwlocSource) + ':' + list.get());
        return PMIX_SUCCESS;
    });
}

// A process that is not bound is nowhere in particular: success without a text.
pmix_status_t PMIx_server_generate_locality_string(const pmix_cpuset_t* cpuset, char** locality) {
    if (locality != nullptr) *locality = nullptr;
    return boundary([&](Library& library) -> pmix_status_t {
        if (cpuset == nullptr || locality == nullptr) return PMIX_ERR_BAD_PARAM;
        if (!is_hwloc_source(cpuset->source)) return PMIX_ERR_NOT_SUPPORTED;
        auto* cpus = static_cast<hwloc_const_bitmap_t>(cpuset->bitmap);
        const Hwloc* hwloc = Hwloc::open();
        if (hwloc == nullptr) return PMIX_ERR_NOT_SUPPORTED;
        if (cpus == nullptr || hwloc->bitmap_isfull(cpus) != 0) return PMIX_SUCCESS;
        const auto topology = topology_for(library, nullptr);
        if (!topology) return topology.status();
        const std::string text = locality_text(places_of(topology.value(), cpus));
        if (!text.empty()) *locality = c_copy(text);
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Get_relative_locality(const char* locality1, const char* locality2, pmix_locality_t* locality) {
    if (locality != nullptr) *locality = PMIX_LOCALITY_UNKNOWN;
    return boundary([&](Library&) -> pmix_status_t {
        if (locality1 == nullptr || locality2 == nullptr || locality == nullptr) return PMIX_ERR_BAD_PARAM;
        const auto shared = relative_locality(locality1, locality2);
        if (!shared) return shared.status();
        *locality = shared.value();
        return PMIX_SUCCESS;
    });
}

pmix_status_t PMIx_Compute_distances(pmix_topology_t* topo, pmix_cpuset_t* cpuset, pmix_info_t info[], size_t ninfo,
                                     pmix_device_distance_t* distances[], size_t* ndist) {
    if (distances != nullptr) *distances = nullptr;
    if (ndist != nullptr) *ndist = 0;
    return boundary([&](Library& library) -> pmix_status_t {
        if (distances == nullptr || ndist == nullptr || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
        auto found = compute(library, topo, cpuset, {info, ninfo});
        if (!found) return found.status();
        *ndist = found->size();
        *distances = found->release();
        return PMIX_SUCCESS;
    });
}

// The walk is short and done here; only the answer goes round by the loop, so that it never comes on this stack.
pmix_status_t PMIx_Compute_distances_nb(pmix_topology_t* topo, pmix_cpuset_t* cpuset, pmix_info_t info[], size_t ninfo,
                                        pmix_device_dist_cbfunc_t cbfunc, void* cbdata) {
    return boundary([&](Library& library) -> pmix_status_t {
        if (cbfunc == nullptr || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
        auto found = compute(library, topo, cpuset, {info, ninfo});
        if (!found) return found.status();
        auto handed = std::make_unique<HandedOut>(HandedOut{std::move(found).value()});
        library.loop().post([handed = std::move(handed), cbfunc, cbdata]() mutable {
            HandedOut* out = handed.release();
            cbfunc(PMIX_SUCCESS, out->array.data(), out->array.size(), cbdata, &release_distances, out);
        });
        return PMIX_SUCCESS;
    });
}

}  // extern "C"
