// SPDX-License-Identifier: BSD-3-Clause
#include "server/namespaces/job_section.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "common/codec/pack.h"
#include "server/namespaces/modex_blob.h"
#include "server/namespaces/namespace_data.h"

namespace pmix::server {

using common::ByteReader;
using common::Bytes;
using common::ByteWriter;
using common::InfoList;
using common::Result;
using dstore::Owner;
using dstore::OwnerKind;

namespace {

// Flat among the job's keys, and true here only.
bool is_about_this_node(std::string_view key) noexcept {
    constexpr std::string_view kHere[] = {PMIX_NSDIR,        PMIX_PROCDIR,  PMIX_LOCAL_TOPO, PMIX_HWLOC_XML_V1,
                                          PMIX_HWLOC_XML_V2, PMIX_NODE_MAP, PMIX_PROC_MAP};
    return std::find(std::begin(kHere), std::end(kHere), key) != std::end(kHere);
}

std::string node_text(const Placed& placed) {
    std::string text;
    for (const std::string& node : placed.nodes) {
        if (!text.empty()) text += ',';
        text += node;
    }
    return text;
}

std::string proc_text(const Placed& placed) {
    std::string text;
    for (uint32_t node = 0; node < placed.nodes.size(); ++node) {
        if (node != 0) text += ';';
        bool first = true;
        placed.procs.for_each_on(node, [&](common::Rank rank) {
            if (!first) text += ',';
            first = false;
            text += std::to_string(rank);
        });
    }
    return text;
}

}  // namespace

Result<InfoList> job_facts(const Nspace& nspace) {
    if (nspace.data == nullptr) return PMIX_ERR_NOT_FOUND;
    InfoList infos;
    pmix_status_t rc = PMIX_SUCCESS;
    nspace.data->reader().for_each(Owner::job(), [&](std::string_view key, const dstore::Found& found) {
        if (rc != PMIX_SUCCESS || natural_owner(key) != OwnerKind::job || is_about_this_node(key)) return;
        pmix_info_t info{};
        common::set_key(info.key, key);
        rc = common::decode_value_into(found.bytes(), &info.value);
        if (rc != PMIX_SUCCESS) return;
        rc = infos.append(info);
        common::destroy_value(&info.value);
    });
    if (rc == PMIX_SUCCESS && !infos.find(PMIX_JOB_SIZE) && nspace.size_known())
        rc = infos.append_number<uint32_t>(PMIX_JOB_SIZE, nspace.size(), PMIX_UINT32);
    const auto& nodes = nspace.placed.nodes;
    const bool named = std::none_of(nodes.begin(), nodes.end(), [](const auto& name) { return name.empty(); });
    const bool placed = nspace.placed.has_procs && !nspace.placed.partial;
    if (rc == PMIX_SUCCESS && placed && named) rc = infos.append_string(PMIX_NODE_MAP, node_text(nspace.placed));
    if (rc == PMIX_SUCCESS && placed) rc = infos.append_string(PMIX_PROC_MAP, proc_text(nspace.placed));
    if (rc != PMIX_SUCCESS) return rc;
    return infos;
}

Result<std::vector<uint8_t>> describe_job(const Nspace& nspace) {
    auto infos = job_facts(nspace);
    if (!infos) return infos.status();
    ByteWriter w;
    WIREUP_RETURN_IF_ERROR(common::encode_infos(w, infos->c_array(), infos->size()));
    return wrap_job(nspace.name, w.view());
}

Result<JobInfo> described_job(Bytes blob, std::string_view nspace) {
    std::vector<uint8_t> storage;
    while (!blob.empty()) {
        auto section = read_section(blob);
        if (!section.ok()) return section.status();
        blob = blob.subspan(section->size);
        if (!section->job || section->nspace != nspace) continue;
        auto bytes = section_chunks(*section, storage);
        if (!bytes.ok()) return bytes.status();
        ByteReader r(*bytes);
        InfoList infos;
        pmix_status_t rc = common::decode_infos(r, &infos);
        if (rc != PMIX_SUCCESS) return rc;
        return read_job(nspace, 0, infos.c_array(), infos.size());
    }
    return PMIX_ERR_NOT_FOUND;
}

}  // namespace pmix::server
