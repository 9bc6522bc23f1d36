// SPDX-License-Identifier: BSD-3-Clause
#include "server/jobs/open_mpi.h"

#include "common/codec/pack.h"
#include "common/protocol/app_environment.h"

namespace pmix::server {
namespace {

using common::Rank;
using common::Value;

bool read(const Nspace& nspace, dstore::Owner owner, const char* key, Value& out) {
    dstore::Found found;
    return nspace.data != nullptr && nspace.data->reader().find(owner, dstore::Key(key), found) == PMIX_SUCCESS &&
           common::decode_value_into(found.bytes(), out.c_ptr()) == PMIX_SUCCESS;
}

void add_number(Variables& to, const char* name, const Nspace& nspace, dstore::Owner owner, const char* key) {
    Value value;
    uint64_t number = 0;
    if (read(nspace, owner, key, value) && common::read_number(value.get(), &number) == PMIX_SUCCESS)
        to.emplace_back(name, std::to_string(number));
}

}  // namespace

bool is_open_mpi(const Nspace& nspace) {
    if (nspace.open_mpi) return true;
    for (const char* key : {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_PERSONALITY}) {
        Value value;
        if (read(nspace, dstore::Owner::job(), key, value) && value.type() == PMIX_STRING &&
            value.get().data.string != nullptr && common::names_open_mpi(value.get().data.string))
            return true;
    }
    return false;
}

Variables open_mpi_variables(const Nspace& nspace, Rank rank) {
    Variables v;
    const dstore::Owner job = dstore::Owner::job();
    const dstore::Owner proc = dstore::Owner::proc(rank);
    v.emplace_back("OMPI_COMM_WORLD_RANK", std::to_string(rank));
    add_number(v, "OMPI_COMM_WORLD_SIZE", nspace, job, PMIX_JOB_SIZE);
    add_number(v, "OMPI_UNIVERSE_SIZE", nspace, job, PMIX_UNIV_SIZE);
    add_number(v, "OMPI_COMM_WORLD_LOCAL_RANK", nspace, proc, PMIX_LOCAL_RANK);
    add_number(v, "OMPI_COMM_WORLD_NODE_RANK", nspace, proc, PMIX_NODE_RANK);
    if (nspace.own_node != common::kNoNode)
        add_number(v, "OMPI_COMM_WORLD_LOCAL_SIZE", nspace, dstore::Owner::node(nspace.own_node), PMIX_LOCAL_SIZE);
    add_number(v, "OMPI_NUM_APP_CTX", nspace, job, PMIX_JOB_NUM_APPS);
    std::string sizes, first;
    for (const dstore::AppRange& app : nspace.placed.apps) {
        if (!sizes.empty()) {
            sizes += ' ';
            first += ' ';
        }
        sizes += std::to_string(app.size);
        first += std::to_string(app.first);
    }
    if (!sizes.empty()) {
        v.emplace_back("OMPI_APP_CTX_NUM_PROCS", sizes);
        v.emplace_back("OMPI_FIRST_RANKS", first);
    }
    return v;
}

}  // namespace pmix::server
