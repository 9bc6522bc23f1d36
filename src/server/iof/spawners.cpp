// SPDX-License-Identifier: BSD-3-Clause
#include "server/iof/spawners.h"

#include <algorithm>
#include <optional>

#include "common/codec/pack.h"
#include "dstore/reader.h"

namespace pmix::server {

using common::ProcId;
using common::Value;
using dstore::Owner;

namespace {

bool read_of_host(const dstore::Reader& reader, Owner owner, const char* key, Value* out) {
    dstore::Found found;
    return reader.find(owner, dstore::Key(key), found) == PMIX_SUCCESS && found.scope() == PMIX_SCOPE_UNDEF &&
           common::decode_value_into(found.bytes(), out->c_ptr()) == PMIX_SUCCESS;
}

std::optional<ProcId> spawner_of(const Registry& registry, const ProcId& proc) {
    const Nspace* nspace = registry.find(proc.nspace);
    if (nspace == nullptr || nspace->data == nullptr) return std::nullopt;
    const dstore::Reader& reader = nspace->data->reader();
    Value inherits;
    if (read_of_host(reader, Owner::job(), PMIX_IOF_INHERIT, &inherits) && inherits.type() == PMIX_BOOL &&
        !inherits.get().data.flag)
        return std::nullopt;
    Value parent;
    const bool known =
        (common::is_real_rank(proc.rank) && read_of_host(reader, Owner::proc(proc.rank), PMIX_PARENT_ID, &parent)) ||
        read_of_host(reader, Owner::job(), PMIX_PARENT_ID, &parent);
    if (!known || parent.type() != PMIX_PROC || parent.get().data.proc == nullptr) return std::nullopt;
    return ProcId(*parent.get().data.proc);
}

}  // namespace

common::ProcList spawners_of(const Registry& registry, const ProcId& proc) {
    common::ProcList out;
    for (auto next = spawner_of(registry, proc); next && out.size() < kMostSpawners;
         next = spawner_of(registry, *next)) {
        const bool circle = next->nspace == proc.nspace || std::any_of(out.begin(), out.end(), [&](const ProcId& p) {
                                return p.nspace == next->nspace;
                            });
        if (circle) break;
        out.push_back(*next);
    }
    return out;
}

}  // namespace pmix::server
