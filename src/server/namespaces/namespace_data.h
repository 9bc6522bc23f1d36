// SPDX-License-Identifier: BSD-3-Clause
// The data of one namespace on this node: job information, commits, data received from other nodes. The only caller of
// the dstore writer.
//
// Loop thread only. The caller of commit() and ingest_blob() answers the requests that wait for data, not this class.
// What can go wrong: no memory or a full quota (PMIX_ERR_OUT_OF_RESOURCE), a blob of another library
// (PMIX_ERR_NOT_SUPPORTED) or a damaged one (PMIX_ERR_UNPACK_FAILURE); what was published before stays.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/protocol/messages.h"
#include "dstore/writer.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/modex_blob.h"
#include "server/namespaces/value_sources.h"

namespace pmix::server {

class Registry;
struct Nspace;

class NamespaceData {
  public:
    // instance: the number of its segment, which renew() changes. Clients know segments by it.
    static common::Result<std::unique_ptr<NamespaceData>> create(uint32_t job_size, uint64_t origin, uint32_t instance);

    // Puts data provided by the host into the store, with its placement and what follows from both. own_node: the node
    // that node keys outside of a node array belong to.
    pmix_status_t apply(JobInfo&& setup, const Placed& placed, uint32_t own_node);
    // What the host said for several jobs: of its session (host), or resources, whose later values replace earlier
    // ones. What was registered for this namespace itself takes precedence.
    pmix_status_t apply_shared(const std::vector<Fact>& facts, const Placed& current, ValueSource source);

    // Takes back values of PMIx_server_register_resources: processes that look from now on do not find them. A fact of
    // a node without name and number means every node.
    pmix_status_t withdraw_resources(const std::vector<Fact>& facts, const Placed& current);

    // What the server itself states of one process, and of many at once: encoded values, which replace earlier ones.
    pmix_status_t put_proc_info(common::Rank rank, std::string_view key, common::Bytes encoded);
    pmix_status_t put_proc_columns(dstore::ColumnBuilder&& columns) {
        ++described_;
        return writer_->add_columns(std::move(columns));
    }

    common::Result<uint64_t> commit(common::Rank rank, const std::vector<common::CommitEntry>& entries);
    void add_local(common::Rank rank) { writer_->add_local(rank); }
    uint64_t committed(common::Rank rank) const noexcept { return writer_->committed(rank); }
    bool exists_outside_scope(common::Rank rank, std::string_view key) const noexcept {
        return writer_->exists_outside_scope(rank, dstore::Key(key));
    }
    // A key (empty: anything) of a process, in what local processes can read.
    bool has(common::Rank rank, std::string_view key) const noexcept;
    bool has_anywhere(std::string_view key) const noexcept;

    // Wrapped for a fence or direct modex; empty when there is nothing newer. Several sections where one with at most
    // `most` bytes cannot hold it.
    common::Result<std::vector<uint8_t>> contribution(std::string_view nspace, std::span<const dstore::RankSince> ranks,
                                                      size_t most = kMaxBlobPayload) const;
    // A section that names the keys which a local rank shows to its node only; empty when there are none.
    std::vector<uint8_t> kept_names(std::string_view nspace, common::Rank rank) const;
    dstore::Ingested ingest(common::Bytes chunks) { return writer_->ingest(chunks); }

    int descriptor() const noexcept { return writer_->descriptor(); }
    uint32_t instance() const noexcept { return instance_; }
    // Much was replaced: a new segment may be worth while (server/segment_compaction.h).
    bool compaction_due() const noexcept { return writer_->compaction_due(); }
    // True: descriptor() and reader() are now those of a new segment.
    common::Result<bool> renew(uint32_t instance);
    // A process that still reads in the segment sees that it is not the newest any more.
    void supersede() noexcept { writer_->supersede(); }
    void count_refusal() noexcept { writer_->count_refusal(); }
    // Shared memory in use.
    uint64_t bytes() const noexcept { return writer_->published_bytes(); }
    uint64_t generation() const noexcept { return writer_->reader().publications(); }
    // Rises with all that is not a process's commit: the host's data, and what this server derives from it.
    uint64_t described() const noexcept { return described_; }
    const dstore::Reader& reader() const noexcept { return writer_->reader(); }

  private:
    NamespaceData(std::unique_ptr<dstore::Writer> writer, uint32_t instance) noexcept
        : writer_(std::move(writer)), instance_(instance) {}
    bool said_before(dstore::Owner owner, std::string_view key) const;
    std::unique_ptr<dstore::Writer> writer_;
    uint32_t instance_;
    uint64_t described_ = 1;
    ValueSources sources_;
    bool nodes_declared_ = false, ranks_declared_ = false;  // what follows from the placement; once
};

// For a server that has the namespace's data from here: the user that the namespace belongs to, if that is known.
void append_owner(const Nspace& nspace, std::vector<uint8_t>& blob);

// Takes over what the sections of a blob hold, each into its namespace. Sections of namespaces unknown here are
// skipped; only `remote` is created, as a remote namespace. Hosts concatenate the blobs of nodes in any order. before,
// where given, is called with the chunks of each section before they are taken over.
using BeforeIngest = std::function<void(const Nspace&, common::Bytes chunks)>;
pmix_status_t ingest_blob(Registry& registry, common::Bytes blob, std::string_view remote = {},
                          const BeforeIngest& before = {});

}  // namespace pmix::server
