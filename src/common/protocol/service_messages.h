// SPDX-License-Identifier: BSD-3-Clause
// The requests that a host may serve, and groups: each has the fields of its call.
//
// Pure values, any thread; field lists as in messages.h, which includes this. On the wire all of these requests have
// one layout, and so have the replies, because protocol version 1 has one: a number, a name, processes, infos,
// directives, queries, bytes. What a request lacks is Reserved. New fields follow the last one, as in every message.
#pragma once

#include "common/protocol/group_calls.h"
#include "common/protocol/message_fields.h"

namespace pmix::common {

struct QueryRequest {
    Queries queries;
    Reserved reserved;
    WIREUP_FIELDS(QueryRequest, reserved, reserved, reserved, reserved, reserved, queries, reserved)
};

struct LogRequest {
    Infos infos;  // what to log, an entry for each channel
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(LogRequest, reserved, reserved, reserved, infos, directives, reserved, reserved)
};

struct JobControlRequest {
    ProcList procs;  // the targets; empty: all of the sender's job
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(JobControlRequest, reserved, reserved, procs, reserved, directives, reserved, reserved)
};

struct MonitorRequest {
    int32_t code = 0;  // of the event that reports a failure
    Infos infos;       // what to watch: one
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(MonitorRequest, code, reserved, reserved, infos, directives, reserved, reserved)
};

struct AllocateRequest {
    uint32_t directive = 0;  // pmix_alloc_directive_t
    Infos infos;
    Reserved reserved;
    WIREUP_FIELDS(AllocateRequest, directive, reserved, reserved, infos, reserved, reserved, reserved)
};

struct GetCredentialRequest {
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(GetCredentialRequest, reserved, reserved, reserved, reserved, directives, reserved, reserved)
};

struct ValidateCredentialRequest {
    Infos directives;
    Blob credential;
    Reserved reserved;
    WIREUP_FIELDS(ValidateCredentialRequest, reserved, reserved, reserved, reserved, directives, reserved, credential)
};

struct SessionControlRequest {
    uint32_t session_id = 0;
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(SessionControlRequest, session_id, reserved, reserved, reserved, directives, reserved, reserved)
};

struct GroupRequest {
    GroupCall call = GroupCall::construct;  // which fields a call has: group_calls.h
    std::string name;
    ProcList procs;
    Infos infos;
    Infos directives;
    Reserved reserved;
    RangeList ranges;  // of a construct, in place of procs and in their order, without bits
    WIREUP_FIELDS(GroupRequest, call, name, procs, infos, directives, reserved, reserved, ranges)
};

struct FabricRequest {
    uint32_t operation = PMIX_FABRIC_REQUEST_INFO;  // pmix_fabric_operation_t
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(FabricRequest, operation, reserved, reserved, reserved, directives, reserved, reserved)
};

struct ResourceBlockRequest {
    uint32_t directive = 0;  // pmix_resource_block_directive_t
    std::string block;       // its name
    Infos units;             // none, or one: an array of PMIX_RESOURCE_UNIT
    Infos directives;
    Reserved reserved;
    WIREUP_FIELDS(ResourceBlockRequest, directive, block, reserved, units, directives, reserved, reserved)
};

// ---- replies: infos, processes, bytes, a number of eight bytes, segments ----

struct ResultsReply {
    Infos infos;
    Reserved reserved;
    WIREUP_FIELDS(ResultsReply, infos, reserved, reserved, reserved, reserved, reserved)
};

struct CredentialReply {
    Infos infos;
    Blob credential;
    Reserved reserved;
    WIREUP_FIELDS(CredentialReply, infos, reserved, credential, reserved, reserved, reserved)
};

struct GroupReply {
    Infos infos;
    SegmentList segments;
    Reserved reserved;
    WIREUP_FIELDS(GroupReply, infos, reserved, reserved, reserved, reserved, segments)
};

}  // namespace pmix::common
