// SPDX-License-Identifier: BSD-3-Clause
// What OpenPMIx's messages are made of: each kind of field is one or more pack calls in a certain order.
//
// Pure values, any thread. How each is written and read: message_codec.h. Ownership: fields own what they hold, but for
// bytes (ByteObject, ByteObjects, Sections), which point into the payload they were decoded from or to what the
// encoder's caller keeps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"
#include "common/protocol/message_fields.h"
#include "common/values/value.h"

namespace pmix::openpmix {

// One value of a type that is a number.
template <pmix_data_type_t Type, class T>
struct Item {
    T value{};
};
using Status = Item<PMIX_STATUS, pmix_status_t>;
using Size = Item<PMIX_SIZE, size_t>;
using Number32 = Item<PMIX_UINT32, uint32_t>;
using RankItem = Item<PMIX_PROC_RANK, common::Rank>;
using Flag = Item<PMIX_BOOL, bool>;
using Scope = Item<PMIX_SCOPE, pmix_scope_t>;
using Range = Item<PMIX_DATA_RANGE, pmix_data_range_t>;
using Channel = Item<PMIX_IOF_CHANNEL, pmix_iof_channel_t>;
using Time = Item<PMIX_TIME, time_t>;
using Scope = Item<PMIX_SCOPE, pmix_scope_t>;
using Flag = Item<PMIX_BOOL, bool>;
using BlockDirective = Item<PMIX_RESBLOCK_DIRECTIVE, pmix_resource_block_directive_t>;
using AllocDirective = Item<PMIX_ALLOC_DIRECTIVE, pmix_alloc_directive_t>;

struct Text {
    std::string text;
    bool null = true;  // NULL, as opposed to empty
    Text() = default;
    Text(std::string_view t) : text(t), null(false) {}
};

struct Proc {
    common::ProcId id;
};

// How an array follows its size: one call even for none, one call if there are any, or a call for each.
enum class ArrayForm : uint8_t { always, if_any, apart };

template <ArrayForm Form>
struct ProcArray {
    common::ProcList procs;
};
using Procs = ProcArray<ArrayForm::always>;
using ProcsIfAny = ProcArray<ArrayForm::if_any>;

template <class T, ArrayForm Form>
struct Array {
    common::CArray<T> elements;
};
using Apps = Array<pmix_app_t, ArrayForm::if_any>;
using Queries = Array<pmix_query_t, ArrayForm::always>;
using PublishedData = Array<pmix_pdata_t, ArrayForm::if_any>;
using Distances = Array<pmix_device_distance_t, ArrayForm::if_any>;
using Units = Array<pmix_resource_unit_t, ArrayForm::if_any>;

template <ArrayForm Form>
struct InfoArray {
    common::Infos infos;
};
using Infos = InfoArray<ArrayForm::if_any>;
using InfosApart = InfoArray<ArrayForm::apart>;

// One struct, without a size.
template <class T>
struct One {
    common::CArray<T> element;  // empty: one that is zero
};
using OneInfo = One<pmix_info_t>;
using Topology = One<pmix_topology_t>;
using Cpuset = One<pmix_cpuset_t>;

// A size, then a call for each.
struct Keys {
    std::vector<Text> keys;
};

// A size, then one call if there are any.
struct Statuses {
    std::vector<pmix_status_t> codes;
};

struct ByteObject {
    common::Bytes bytes;
};

// Whether there is one, and then it.
struct ContextId {
    bool given = false;
    size_t id = 0;
};

// To the end of the message: calls of one value each.
struct KeyValue {
    std::string key;
    common::Value value;
};
struct KeyValues {
    std::vector<KeyValue> pairs;
};
struct ByteObjects {
    std::vector<common::Bytes> objects;
};
struct InfosToEnd {
    std::vector<OneInfo> infos;
};
// Each call by itself.
struct StatusesToEnd {
    std::vector<std::vector<pmix_status_t>> calls;
};

// To the end: what a process commits for each scope, each a KeyValues message by itself.
struct Section {
    pmix_scope_t scope = PMIX_SCOPE_UNDEF;
    common::Bytes values;
};
struct Sections {
    std::vector<Section> sections;
};

}  // namespace pmix::openpmix
