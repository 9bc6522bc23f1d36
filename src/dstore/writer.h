// SPDX-License-Identifier: BSD-3-Clause
// The write side of one namespace's segment on one node, and what local peers may not see of it.
//
// Owns the segment and the records of remote scope of the local ranks. Published bytes are never written again; values
// that were replaced are given back by compact(), which begins a new segment. Called by the server's loop only; each
// call that succeeds has published before it returns, and readers see all of a record or nothing. What can go wrong: no
// memory or a full quota (PMIX_ERR_OUT_OF_RESOURCE), bytes from another node that are none of ours
// (PMIX_ERR_NOT_SUPPORTED, PMIX_ERR_UNPACK_FAILURE). A failed call leaves what was published as it was.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "dstore/columns.h"
#include "dstore/reader.h"
#include "dstore/store.h"

namespace pmix::dstore {

struct WriterOptions {
    uint32_t job_size = 0;     // expected ranks; only a hint
    uint64_t reservation = 0;  // address space; 0: by the size of the job
    uint64_t origin = 0;       // marks our chunks, for logs
    uint64_t rank_quota = common::kMaxRankBytes;
};

// What a destination knows of a rank: everything up to `since`. 0 asks for a full snapshot.
struct RankSince {
    common::Rank rank = 0;
    uint64_t since = 0;
};

// The result of taking over the bytes of other nodes. On failure the chunks before the bad one are in the segment.
struct Ingested {
    pmix_status_t status = PMIX_SUCCESS;
    uint32_t chunks = 0;
    uint32_t blocks = 0;   // taken over
    uint32_t skipped = 0;  // known already, or our own
};

// Work that is done again for what was there before. For tests.
struct WriterCounts {
    uint64_t indexed = 0;  // records that an index was written over
    uint64_t moved = 0;    // records for other nodes that were moved
};

class Writer {
  public:
    static common::Result<std::unique_ptr<Writer>> create(const WriterOptions& options);
    ~Writer();
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    // For clients, by descriptor passing; stays ours.
    int descriptor() const noexcept;
    // Through the writer's own mapping; any thread, until compact() or the writer's destruction.
    const Reader& reader() const noexcept;
    uint64_t published_bytes() const noexcept;
    WriterCounts counts() const noexcept;

    // Data provided by the host. A key that is there already is replaced. Not for OwnerKind::proc: that is commit's.
    pmix_status_t put(Owner owner, std::span<const Record> records);
    // Adds to the columns that are there: where both have a value, the new one counts.
    pmix_status_t add_columns(ColumnBuilder&& columns);
    // Replaces the placement.
    pmix_status_t set_placement(const Placement& placement);

    // Ranks whose commits are made here: their blocks in a collected blob are our own and skipped.
    void add_local(common::Rank rank);
    bool is_local(common::Rank rank) const noexcept;
    // Takes over what a local rank has put. Local and global records are published here; remote and global ones wait
    // for contribution(). A record with kDeletedValue deletes its key for the peers of its scope. Records that change
    // nothing are dropped. Answers the generation that the rank has reached.
    common::Result<uint64_t> commit(common::Rank rank, std::span<const Record> records);
    // The generation a local rank has reached, 0 before its first commit. A commit without records counts as one.
    uint64_t committed(common::Rank rank) const noexcept;
    // The key has a value here in a scope that local peers do not see.
    bool exists_outside_scope(common::Rank rank, const Key& key) const noexcept;
    // The rank has deleted the key for processes of other nodes and has put no value for them since.
    bool deleted_for_remote(common::Rank rank, const Key& key) const noexcept;

    // What local ranks have to say to other nodes, as one chunk. A rank that has nothing newer is left out; the chunk
    // is empty bytes when that leaves nobody. Ranks that never committed are left out as well.
    common::Result<std::vector<uint8_t>> contribution(std::span<const RankSince> ranks) const;
    // Chunks of other nodes, one behind the other.
    Ingested ingest(common::Bytes chunks);

    // So much was published that replaces something that compact() may be worth while.
    bool compaction_due() const noexcept;
    // Begins a new segment with what counts, and lets the old one go: descriptor() and reader() are others then, and
    // clients are to be given them. False: too little would be won, and all is as it was; likewise on failure.
    common::Result<bool> compact();
    // Marks the segment for its readers as one that is not the newest any more, without another one.
    void supersede() noexcept;
    // Tells the readers that a commit was not taken over (Reader::refusals).
    void count_refusal() noexcept;

  private:
    Writer();
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pmix::dstore
