// SPDX-License-Identifier: BSD-3-Clause
// The segments of a process whose server speaks OpenPMIx's protocol and has none: what the server sends is written into
// private memory of the process in the form of a store, and handed out as a server hands out its segments. What
// looks up values does not notice.
//
// One store for each namespace that something is known of: those that this process is connected with, and of the others
// the newest; what is given back is asked for anew when it is wanted. Used by one thread at a time: that of the init,
// then the loop. What can go wrong: a blob that cannot be read (PMIX_ERR_UNPACK_FAILURE, PMIX_ERR_BAD_PARAM), no memory
// or no room for a descriptor (PMIX_ERR_OUT_OF_RESOURCE, std::bad_alloc); what was published before stays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/openpmix/freshness.h"
#include "client/openpmix/job_blob.h"
#include "common/base/ids.h"
#include "common/protocol/message_fields.h"
#include "dstore/writer.h"
#include "openpmix/messages.h"
#include "transport/descriptor.h"

namespace pmix::client {

class Shadow {
  public:
    // hostname: the server's name for this node, to which keys of a node belong that come outside of an array.
    Shadow(const openpmix::Traits& traits, std::string hostname) : traits_(traits), hostname_(std::move(hostname)) {}

    // A namespace that nothing else may be said of.
    pmix_status_t obtain(std::string_view nspace);
    // Job data, or keys of the job.
    pmix_status_t take_job(std::string_view nspace, const openpmix::KeyValues& values);
    // What a process has put, as the server had it after so many exchanges.
    pmix_status_t take_proc(const common::ProcId& proc, openpmix::KeyValues&& values, uint64_t exchanges);
    pmix_status_t take_proc(const common::ProcId& proc, openpmix::KeyValues&& values) {
        return take_proc(proc, std::move(values), freshness_->exchanges());
    }
    const std::shared_ptr<Freshness>& freshness() const noexcept { return freshness_; }

    // What a process has deleted is not found here any more. Nothing happens where it has not been here.
    pmix_status_t take_deletion(const common::ProcId& proc, std::string_view key);

    // Connected with a namespace: kept until it has been released as often. The last release gives its segment back.
    void hold(std::string_view nspace);
    void release(std::string_view nspace);

    // Null: nothing is known of it.
    const dstore::Reader* reader(std::string_view nspace) const noexcept;

    // The processes of known namespaces that are on a node; empty: this node.
    common::ProcList procs_of_all(std::string_view node) const;

    // How many processes a namespace has; 0: it has not been said.
    uint32_t job_size(std::string_view nspace) const;

    // The nodes that processes of known namespaces are on, each once, with commas between.
    std::string nodes_of_all() const;

    // Takes a segment at once to where it is read, before anything else is said of it: an answer may come too late for
    // the one that it is for, and two that are answered may be read in the other order.
    using Outlet = std::function<pmix_status_t(const common::SegmentRef& segment, transport::Descriptor&& descriptor)>;
    // A segment that was handed out is given back: nothing is to be found in it any more.
    using Gone = std::function<void(const std::string& nspace, uint64_t instance)>;
    void set_outlet(Outlet outlet, Gone gone = {}) {
        outlet_ = std::move(outlet);
        gone_ = std::move(gone);
    }

    // Stores of namespaces that this process is not connected with, its own among them.
    static constexpr size_t kMostOthers = 256;

    // The segment of a namespace as a message names it. One that has not been handed out before goes to the outlet, and
    // where there is none, its descriptor comes with it. lacks: the process has said that it does not have it.
    struct Grant {
        common::SegmentRef segment;
        transport::Descriptor descriptor;  // empty if there is none
    };
    common::Result<Grant> grant(std::string_view nspace, bool lacks = false);

  private:
    struct Entry {
        std::unique_ptr<dstore::Writer> writer;
        uint64_t instance = 0;
        uint64_t shown = 0;  // the instance that was handed out last; 0: none
        bool handed_out = false;
        bool computes = false;  // columns that follow from the placement
        std::vector<std::string> nodes;
        std::set<common::Rank> procs;  // that have values
    };
    common::Result<Entry*> obtain_entry(std::string_view nspace);
    pmix_status_t apply(Entry& entry, JobBlob&& blob);
    void written(Entry& entry);
    using Entries = std::map<std::string, Entry, std::less<>>;
    void give_back(Entries::iterator entry);
    void make_space();

    const openpmix::Traits traits_;
    const std::string hostname_;
    const std::shared_ptr<Freshness> freshness_ = std::make_shared<Freshness>();
    Outlet outlet_;
    Gone gone_;
    uint64_t next_instance_ = 1;
    Entries entries_;
    std::string own_;                                  // the first namespace, which is never given back
    std::map<std::string, size_t, std::less<>> held_;  // how often
};

}  // namespace pmix::client
