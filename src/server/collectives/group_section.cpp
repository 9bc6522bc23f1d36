// SPDX-License-Identifier: BSD-3-Clause
#include "server/collectives/group_section.h"

#include <algorithm>

#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"

namespace pmix::server {

using common::ByteReader;
using common::Bytes;
using common::ByteWriter;
using common::ProcId;
using common::ProcList;

namespace {

constexpr uint8_t kVersion = 1;

void put(ByteWriter& w, const ProcId& proc) {
    w.string(proc.nspace);
    w.u32(proc.rank);
}

bool take(ByteReader& r, ProcId& proc) {
    std::string_view nspace = r.string();
    if (nspace.size() > common::kMaxNspaceLength) return false;
    proc.nspace = nspace;
    proc.rank = r.u32();
    return r.ok();
}

void put(ByteWriter& w, const ProcList& procs) {
    w.u32(static_cast<uint32_t>(procs.size()));
    for (const ProcId& p : procs) put(w, p);
}

bool take(ByteReader& r, ProcList& procs) {
    uint32_t n = r.count(8);
    if (!r.ok()) return false;
    procs.resize(n);
    return std::all_of(procs.begin(), procs.end(), [&](ProcId& p) { return take(r, p); });
}

}  // namespace

common::Result<std::vector<uint8_t>> encode_group_section(const GroupSection& section) {
    ByteWriter w;
    w.u8(kVersion);
    w.u8(section.leads);
    put(w, section.requester);
    put(w, section.order.list());
    put(w, section.failed);
    w.u32(static_cast<uint32_t>(section.shared.size()));
    for (const GroupSection::Shared& s : section.shared) {
        put(w, s.proc);
        ByteWriter infos;
        pmix_status_t rc = common::encode_infos(infos, s.infos.c_array(), s.infos.size());
        if (rc != PMIX_SUCCESS) return rc;
        w.bytes(infos.view());
    }
    return w.take();
}

common::Result<GroupSection> decode_group_section(Bytes bytes) {
    ByteReader r(bytes);
    GroupSection section;
    if (r.u8() != kVersion) return PMIX_ERR_UNPACK_FAILURE;
    section.leads = r.u8() != 0;
    ProcList order;
    if (!take(r, section.requester) || !take(r, order) || !take(r, section.failed)) return PMIX_ERR_UNPACK_FAILURE;
    section.order = common::ProcOrder(order);
    for (uint32_t left = r.count(12); left > 0 && r.ok(); --left) {
        GroupSection::Shared s;
        if (!take(r, s.proc)) return PMIX_ERR_UNPACK_FAILURE;
        ByteReader inner(r.bytes());
        if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
        pmix_status_t rc = common::decode_infos(inner, &s.infos);
        if (rc != PMIX_SUCCESS) return rc;
        section.shared.push_back(std::move(s));
    }
    if (!r.ok()) return PMIX_ERR_UNPACK_FAILURE;
    return section;
}

namespace {

// Another value would be left out without a word.
bool is_array_of_infos(const pmix_value_t& value) noexcept {
    return value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr && value.data.darray->type == PMIX_INFO;
}

}  // namespace

pmix_status_t check_group_infos(const common::InfoList& infos) noexcept {
    const bool well = std::all_of(infos.begin(), infos.end(), [](const pmix_info_t& info) {
        return common::key_view(info) != PMIX_GROUP_INFO || is_array_of_infos(info.value);
    });
    return well ? PMIX_SUCCESS : PMIX_ERR_TYPE_MISMATCH;
}

common::InfoList group_shared_by(const common::InfoList& infos) {
    common::InfoList out;
    for (const pmix_info_t& info : infos) {
        std::string_view key = common::key_view(info);
        if (key == PMIX_GROUP_LOCAL_CID || key == PMIX_GROUP_ENDPT_DATA) out.append(info);
        if (key != PMIX_GROUP_INFO || !is_array_of_infos(info.value)) continue;
        // Some name themselves first: the result has the name of each in any case.
        for (const pmix_info_t& shared : common::infos_in(info.value))
            if (common::key_view(shared) != PMIX_PROCID) out.append(shared);
    }
    return out;
}

void merge_group_section(GroupSection& into, GroupSection&& other) {
    bool better = other.leads != into.leads ? other.leads : other.requester < into.requester;
    if (into.order.empty() || (better && !other.order.empty())) {
        into.order = std::move(other.order);
        into.requester = std::move(other.requester);
        into.leads = other.leads;
    }
    for (ProcId& p : other.failed)
        if (std::find(into.failed.begin(), into.failed.end(), p) == into.failed.end())
            into.failed.push_back(std::move(p));
    for (GroupSection::Shared& s : other.shared) {
        if (into.sharers.insert(s.proc).second) into.shared.push_back(std::move(s));
    }
}

}  // namespace pmix::server
