// SPDX-License-Identifier: BSD-3-Clause
// What a client of OpenPMIx is told of a job, and of a process: calls of keys with their values, read from the job's
// segment and written as the client reads them.
//
// A job's data is the same for all its clients of one release, so it is made once for each state of what the host has
// said and shared. Loop thread only. What can go wrong: no memory (std::bad_alloc), a value that cannot be written
// (it is left out), a damaged segment (PMIX_ERR_UNPACK_FAILURE).
#pragma once

#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <vector>

#include "openpmix/messages.h"
#include "openpmix/traits.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

class OpenPmixJobData final : public LifecycleObserver {
  public:
    // Beyond so much the processes of other nodes are left out: clients ask for them one by one. Releases since 6.1
    // close a connection that brings them a message of 32 MiB.
    static constexpr size_t kMostBytes = size_t{24} << 20;
    using Calls = std::shared_ptr<const std::vector<uint8_t>>;

    explicit OpenPmixJobData(size_t most = kMostBytes) : most_(most) {}  // most: kMostBytes, or a test's

    // The whole job: what it is, its session, its nodes, its applications, its processes. PMIX_ERR_NOT_FOUND: nothing
    // is known of it but its name.
    common::Result<Calls> job(const Nspace& nspace, const openpmix::Traits& traits);
    // One key of the job. PMIX_ERR_NOT_FOUND.
    static common::Result<std::vector<uint8_t>> job_key(const Nspace& nspace, std::string_view key,
                                                        const openpmix::Traits& traits);
    // What processes of this node may see of a process. committed_only: without what the host has said of it.
    static common::Result<std::vector<uint8_t>> proc(const Nspace& nspace, common::Rank rank, bool committed_only,
                                                     const openpmix::Traits& traits);
    // The first process that has the key (PMIX_RANK_UNDEF).
    static common::Result<std::vector<uint8_t>> any_proc(const Nspace& nspace, std::string_view key,
                                                         const openpmix::Traits& traits);
    // LifecycleObserver
    void namespace_gone(Nspace& nspace) override;

  private:
    // Releases whose bytes are the same.
    using Form = std::tuple<bool, bool, bool, pmix_data_type_t, bool, bool, bool>;
    struct Entry {
        uint64_t state = 0;  // NamespaceData::described()
        Calls calls;
    };
    const size_t most_;
    std::map<std::pair<uint32_t, Form>, Entry> entries_;  // by the namespace's number
};

}  // namespace pmix::server
