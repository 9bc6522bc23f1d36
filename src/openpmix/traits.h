// SPDX-License-Identifier: BSD-3-Clause
// What a peer's OpenPMIx release writes and expects: the one place where versions are compared.
//
// Made once when a connection has said its version and its encoding, and kept with it. Pure values, any thread. A text
// that names no version, and an encoding that this library does not speak, give nothing: the connection is closed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "common/codec/portable.h"

namespace pmix::openpmix {

struct Version {
    unsigned major = 0;
    unsigned minor = 0;
    unsigned patch = 0;
    auto operator<=>(const Version&) const = default;
};
// The leading digits of each part: "4.2.2rc2" is 4.2.2, and what is missing is 0.
std::optional<Version> parse_version(std::string_view text) noexcept;

// How a release writes and reads the reply of a group's construction.
enum class GroupReplyForm : uint8_t {
    context_id,  // the context id, if one was asked for
    members,     // the members and the context id, then data of other namespaces
    optional_id  // the members, whether there is a context id, the id, the group's infos
};

struct Traits {
    Version version;
    common::CallForm form;
    GroupReplyForm group_reply = GroupReplyForm::optional_id;
    bool short_empty_arrays = false;   // leaves out the size of an array without a type
    bool destruct_has_members = true;  // of a group
    bool resolves = true;              // knows the commands that resolve peers and nodes
    bool refreshes = true;             // knows the command that refreshes what a client keeps
    bool one_store_for_all = false;    // serves all of a job by the module of data that its newest process has named
    bool survives_refusal = true;      // of a tool by its host; 4.2.2 crashes then, and its jobs end
    bool heeds_refusal = true;         // reads a failure status of the handshake; others hang on it
    bool connect_has_extras = false;   // sends and expects its data with PMIx_Connect
    bool loses_split_headers = true;   // a header must reach it whole
    bool session_array = true;         // reads session keys in their array, not only by themselves
    bool singleton_is_client = true;   // expects a client's reply to the handshake as a singleton
    bool pull_has_id = true;           // sends an identifier with a request for output
    bool topology_support = true;      // has hwloc's bytes of support behind a topology's XML
    bool reserved_at_once = true;      // its own client asks for a reserved key with PMIX_IMMEDIATE
    bool forms_invited = false;        // forms the groups of processes that are invited
    bool keeps_own_events = false;     // hands its process's events to handlers that are registered later by itself
    bool leaves_by_event = false;      // an event to the members is how a process leaves a group
    bool deletes_keys = false;         // takes deletions in a commit, and tells its clients of them
    bool qualifies = false;            // keeps values with qualifiers, each by itself
    bool takes_notices = false;        // of deleted keys, and of input that is to stop or may go on
    bool numbers_keys = false;         // has a number for each reserved key, and keeps no others (known_keys.h):
                                       // one of them in a commit, and the next fence of the job fails
    size_t most_payload = 0;           // bytes of a message that it takes; 0: no bound

    pmix_data_type_t newest_type = 0;  // the highest data type that its encoding has
    bool lacks_statistics = false;     // PMIX_PROC_STATS to PMIX_NODE_STATS are not among them

    // Can it read such a value? One that it cannot read ends its reading of the message.
    bool knows(pmix_data_type_t type) const noexcept {
        return type <= newest_type && !(lacks_statistics && type >= PMIX_PROC_STATS && type <= PMIX_NODE_STATS);
    }
};

// kind: 1 not described, 2 fully described, as the handshake says it.
std::optional<Traits> traits_of(std::string_view version, std::string_view encoding, uint8_t kind) noexcept;

}  // namespace pmix::openpmix
