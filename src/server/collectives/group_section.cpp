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

constexpr uint8_t kVersion = 2;

uint8_t to_bits(const GroupDirectives& d) noexcept {
    return static_cast<uint8_t>(d.assign | d.optional << 1 | d.notify << 2 | d.tolerant << 3 | d.adds << 4 |
                                d.differ << 5);
}

GroupDirectives from_bits(uint8_t bits) noexcept {
    return {(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0, (bits & 8) != 0, (bits & 16) != 0, (bits & 32) != 0};
}

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
    w.u8(to_bits(section.directives));
    put(w, section.requester);
    put(w, section.order.list());
    put(w, section.final_order.list());
    put(w, section.failed);
    put(w, section.untold);
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
    section.directives = from_bits(r.u8());
    ProcList order, final_order;
    if (!take(r, section.requester) || !take(r, order) || !take(r, final_order) || !take(r, section.failed) ||
        !take(r, section.untold))
        return PMIX_ERR_UNPACK_FAILURE;
    section.order = common::ProcOrder(order);
    section.final_order = common::ProcOrder(final_order);
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

void add_new(ProcList& to, ProcList&& procs) {
    for (ProcId& p : procs)
        if (std::find(to.begin(), to.end(), p) == to.end()) to.push_back(std::move(p));
}

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

GroupDirectives group_directives(const common::InfoList& infos) noexcept {
    const common::InfoView view(infos);
    GroupDirectives out;
    out.assign = view.flag(PMIX_GROUP_ASSIGN_CONTEXT_ID);
    out.optional = view.flag(PMIX_GROUP_OPTIONAL);
    out.notify = view.flag(PMIX_GROUP_NOTIFY_TERMINATION);
    out.tolerant = view.flag(PMIX_GROUP_FT_COLLECTIVE);
    out.adds = view.find(PMIX_GROUP_ADD_MEMBERS) != nullptr;
    return out;
}

void GroupDirectives::merge(const GroupDirectives& other) noexcept {
    assign = assign || other.assign;
    optional = optional || other.optional;
    notify = notify || other.notify;
    tolerant = tolerant || other.tolerant;
    adds = adds || other.adds;
    differ = differ || other.differ;
}

void merge_group_section(GroupSection& into, GroupSection&& other) {
    into.directives.merge(other.directives);
    if (into.final_order.empty()) {
        into.final_order = std::move(other.final_order);
    } else if (!other.final_order.empty() && into.final_order.list() != other.final_order.list()) {
        into.directives.differ = true;
    }
    bool better = other.leads != into.leads ? other.leads : other.requester < into.requester;
    if (into.order.empty() || (better && !other.order.empty())) {
        into.order = std::move(other.order);
        into.requester = std::move(other.requester);
        into.leads = other.leads;
    }
    add_new(into.failed, std::move(other.failed));
    add_new(into.untold, std::move(other.untold));
    for (GroupSection::Shared& s : other.shared) {
        if (into.sharers.insert(s.proc).second) into.shared.push_back(std::move(s));
    }
}

}  // namespace pmix::server
