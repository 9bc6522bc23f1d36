// SPDX-License-Identifier: BSD-3-Clause
// A job's own data for a server that does not know the job: the answer to a direct modex of the whole namespace
// (PMIX_RANK_WILDCARD).
//
// Contains what the host registered for the job as a whole, with the two maps from which the receiver derives the rest;
// data of this node is not included. Loop thread only, nothing owned. What can go wrong: a namespace without data
// (PMIX_ERR_NOT_FOUND), bytes that are no description (PMIX_ERR_UNPACK_FAILURE).
#pragma once

#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// What such a description says.
common::Result<common::InfoList> job_facts(const Nspace& nspace);
common::Result<std::vector<uint8_t>> describe_job(const Nspace& nspace);
// The description of that namespace in a blob; PMIX_ERR_NOT_FOUND: it has none.
common::Result<JobInfo> described_job(common::Bytes blob, std::string_view nspace);

}  // namespace pmix::server
