// SPDX-License-Identifier: BSD-3-Clause
// What a server that speaks OpenPMIx's protocol says of a job, as records for a store: the answer to the first request,
// the job data of another namespace, and keys of a job that are asked for later.
//
//   pmix.ssn.arr, pmix.node.arr, pmix.app.arr   arrays of a session, a node, an application
//   pmix.job.arr                                an array of keys of the job
//   pmix.pblob                                  bytes: a rank and its keys
//   pmix.pdata                                  the same as an array that begins with the rank
//   another key with an array that has pmix.hname   a node, as older servers write it
//   all else                                    a key of the job, or of the level that it always belongs to
//
// Pure, any thread; owns what it has read. The values are hostile. What can go wrong: PMIX_ERR_UNPACK_FAILURE for a
// rank's bytes that are none, PMIX_ERR_BAD_PARAM for a list of ranks that is none, no memory (std::bad_alloc). A value
// that the store has no encoding for is left out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/message_fields.h"
#include "dstore/columns.h"
#include "dstore/store.h"
#include "openpmix/messages.h"
#include "openpmix/traits.h"

namespace pmix::client {

struct JobBlob {
    // For OwnerKind::node the index is a place in `nodes`; for a session, 0.
    struct Fact {
        dstore::Owner owner;
        std::string key;
        common::Blob value;  // encoded
    };
    struct Node {
        std::string name;
        std::optional<uint32_t> id;
        std::vector<std::string> aliases;
        std::string peers;  // ranks of the job, as text
    };
    struct App {
        uint32_t number = 0;
        std::optional<uint32_t> size;
        std::optional<common::Rank> leader;
    };

    std::vector<Fact> facts;
    std::vector<Node> nodes;
    std::vector<App> apps;
    dstore::ColumnBuilder procs{dstore::OwnerKind::proc};
    std::vector<std::pair<common::Rank, std::string>> hosts;  // of ranks, by name
    std::optional<uint32_t> job_size;
    std::optional<uint32_t> session;
    bool places = false;  // nodes, or hosts of ranks, are named

    static common::Result<JobBlob> read(const openpmix::KeyValues& values, const openpmix::Traits& traits);
};

// Where the ranks of a job run, as far as a blob has it. PMIX_ERR_BAD_PARAM: a list of ranks that is none.
struct PlacedJob {
    std::vector<std::string> nodes;
    std::vector<uint32_t> ids;  // empty: as listed
    std::vector<std::pair<uint32_t, std::string>> aliases;
    std::vector<dstore::AppRange> apps;
    common::ProcMap procs;
    bool has_procs = false;

    static common::Result<PlacedJob> of(const JobBlob& blob);
    // The place of a node by its name or another name of it; kNoNode.
    uint32_t place_of(std::string_view name) const noexcept;
};

}  // namespace pmix::client
