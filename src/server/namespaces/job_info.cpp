// SPDX-License-Identifier: BSD-3-Clause
// Reads the host's arrays in two passes: the first finds maps, ids and sizes, which may follow what needs them; the
// second stores.
#include "server/namespaces/job_info.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <utility>

#include "common/base/comma_list.h"
#include "common/base/log.h"
#include "common/base/names.h"
#include "common/codec/pack.h"
#include "common/placement/regex2.h"
#include "common/values/array_value.h"
#include "common/values/attributes.h"
#include "common/values/declared_types.h"
#include "dstore/qualified.h"
#include "server/namespaces/node_index.h"

namespace pmix::server {

using common::Bytes;
using common::ByteWriter;
using common::InfoView;
using common::Result;
using dstore::Owner;
using dstore::OwnerKind;

namespace {

// Deeper than any array of the Standard; a host that links an array into itself must not end the stack.
constexpr unsigned kMaxDepth = 16;

// Facts that hosts give for every rank: a few bytes per rank as a column. Sorted.
constexpr auto kColumnKeys = [] {
    std::array keys{
        std::string_view(PMIX_RANK),      std::string_view(PMIX_GLOBAL_RANK),  std::string_view(PMIX_APP_RANK),
        std::string_view(PMIX_APPNUM),    std::string_view(PMIX_APPLDR),       std::string_view(PMIX_LOCAL_RANK),
        std::string_view(PMIX_NODE_RANK), std::string_view(PMIX_NODEID),       std::string_view(PMIX_HOSTNAME),
        std::string_view(PMIX_LOCALITY),  std::string_view(PMIX_REINCARNATION)};
    std::sort(keys.begin(), keys.end());
    return keys;
}();

bool is_column_key(std::string_view key) noexcept {
    return std::binary_search(kColumnKeys.begin(), kColumnKeys.end(), key);
}

bool number(const pmix_value_t& value, uint32_t* out) noexcept {
    uint64_t n = 0;
    if (common::read_number(value, &n) != PMIX_SUCCESS || n > UINT32_MAX) return false;
    *out = static_cast<uint32_t>(n);
    return true;
}

// A C program reads the same number from both; 0: no integer.
size_t width_of(pmix_data_type_t type) noexcept {
    switch (type) {
        case PMIX_INT8:
        case PMIX_UINT8:
        case PMIX_BYTE:
        case PMIX_PERSIST:
        case PMIX_SCOPE:
        case PMIX_DATA_RANGE:
        case PMIX_PROC_STATE:
        case PMIX_ALLOC_DIRECTIVE:
            return 1;
        case PMIX_INT16:
        case PMIX_UINT16:
        case PMIX_LOCTYPE:
            return 2;
        case PMIX_INT:
        case PMIX_UINT:
        case PMIX_INT32:
        case PMIX_UINT32:
        case PMIX_PID:
        case PMIX_STATUS:
        case PMIX_PROC_RANK:
            return 4;
        case PMIX_INT64:
        case PMIX_UINT64:
        case PMIX_SIZE:
        case PMIX_DEVTYPE:
            return 8;
        default:
            return 0;
    }
}

bool is_as_good(pmix_data_type_t given, pmix_data_type_t wanted) noexcept {
    // Maps and other texts have packed forms.
    const bool is_packed = given == PMIX_REGEX || given == PMIX_COMPRESSED_STRING || given == PMIX_BYTE_OBJECT;
    return given == wanted || (width_of(given) != 0 && width_of(given) == width_of(wanted)) ||
           (wanted == PMIX_STRING && is_packed);
}

const char* type_name_of(pmix_data_type_t type) noexcept {
    const char* name = common::constant_name(common::Names::data_type, type);
    return name == nullptr ? "value of an unknown type" : name;
}

// The elements of a value that is an array of infos.
bool nested(const pmix_value_t& value, const pmix_info_t** out, size_t* n) noexcept {
    if (value.type != PMIX_DATA_ARRAY || value.data.darray == nullptr) return false;
    const pmix_data_array_t& array = *value.data.darray;
    if (array.type != PMIX_INFO && array.size != 0) return false;
    *out = static_cast<const pmix_info_t*>(array.array);
    *n = array.array == nullptr ? 0 : array.size;
    return true;
}

bool is_envar_key(std::string_view key) noexcept {
    return key == PMIX_SET_ENVAR || key == PMIX_ADD_ENVAR || key == PMIX_UNSET_ENVAR || key == PMIX_PREPEND_ENVAR ||
           key == PMIX_APPEND_ENVAR || key == PMIX_FIRST_ENVAR;
}

}  // namespace

pmix_status_t check_variable(const pmix_info_t& info) noexcept {
    if (!is_envar_key(common::key_view(info))) return PMIX_SUCCESS;
    const pmix_value_t& v = info.value;
    const bool name_alone = v.type == PMIX_STRING && common::key_view(info) == PMIX_UNSET_ENVAR;
    if (!name_alone && v.type != PMIX_ENVAR) return PMIX_ERR_BAD_PARAM;
    const char* name = name_alone ? v.data.string : v.data.envar.envar;
    return name != nullptr && *name != '\0' && std::strchr(name, '=') == nullptr ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

namespace {

class JobReader {
  public:
    explicit JobReader(JobInfo& setup) : setup_(setup), arena_(4096) {}

    pmix_status_t scan(const pmix_info_t* infos, size_t n, unsigned depth, bool job_level);
    pmix_status_t store(const pmix_info_t* infos, size_t n, unsigned depth, Owner owner);
    void finish() { setup_.arena = arena_.take(); }

  private:
    // The array's own identity, at any place in it.
    static uint32_t app_number(const pmix_info_t* infos, size_t n) noexcept;
    uint32_t node_place(const pmix_info_t* infos, size_t n);
    static bool rank_of(const pmix_info_t* infos, size_t n, common::Rank* out) noexcept;
    pmix_status_t store_proc(const pmix_info_t* infos, size_t n, unsigned depth);
    pmix_status_t store_qualified(const pmix_value_t& value, const pmix_info_t* infos, size_t n, unsigned depth,
                                  Owner owner);
    pmix_status_t store_value(Owner owner, std::string_view key, const pmix_value_t& value);
    void note_place(common::Rank rank, const pmix_info_t* infos, size_t n);
    void warn_of_type(const pmix_info_t& info);
    AppRef& app(uint32_t number);

    // A node without a name is the one of that number.
    static std::optional<uint32_t> find(const NodeIndex& index, std::string_view name, std::optional<uint32_t> id) {
        if (!name.empty()) return index.find(name);
        return id ? index.find(*id) : std::nullopt;
    }
    static void note(NodeIndex& index, std::string_view name, std::optional<uint32_t> id, uint32_t place) {
        index.note(name, place);
        if (id) index.note(*id, place);
    }

    JobInfo& setup_;
    NodeIndex named_, placed_on_;  // the names lie in the host's arrays
    bool warned_of_rank_ = false;
    common::DeclaredTypes declared_;
    std::vector<const char*> warned_of_type_;
    ByteWriter arena_;
    ByteWriter scratch_;
};

uint32_t JobReader::app_number(const pmix_info_t* infos, size_t n) noexcept {
    uint32_t app = 0;
    if (const pmix_info_t* i = InfoView(infos, n).find(PMIX_APPNUM)) number(i->value, &app);
    return app;
}

bool JobReader::rank_of(const pmix_info_t* infos, size_t n, common::Rank* out) noexcept {
    // Nearly always the first entry.
    for (size_t i = 0; i < n; ++i) {
        std::string_view key = common::key_view(infos[i]);
        if (key == PMIX_RANK) return number(infos[i].value, out);
        if (key == PMIX_PROCID && infos[i].value.type == PMIX_PROC && infos[i].value.data.proc != nullptr) {
            *out = infos[i].value.data.proc->rank;
            return true;
        }
    }
    return false;
}

AppRef& JobReader::app(uint32_t n) {
    for (AppRef& a : setup_.apps)
        if (a.number == n) return a;
    setup_.apps.push_back({n, {}, {}});
    return setup_.apps.back();
}

uint32_t JobReader::node_place(const pmix_info_t* infos, size_t n) {
    InfoView view(infos, n);
    std::string_view name;
    view.get(PMIX_HOSTNAME, &name);
    std::optional<uint32_t> id;
    view.get(PMIX_NODEID, &id);
    if (const auto known = find(named_, name, id)) return *known;
    const auto place = static_cast<uint32_t>(setup_.nodes_named.size());
    setup_.nodes_named.push_back({std::string(name), id, {}, {}});
    note(named_, name, id, place);
    return place;
}

// Of another type than the Standard's: it is stored as it is, and a process that reads by the type finds nothing. Once
// for each key.
void JobReader::warn_of_type(const pmix_info_t& info) {
    const common::Attribute known = common::attribute_by_string(common::key_view(info));
    if (known.name == nullptr || known.type == PMIX_UNDEF || info.value.type == PMIX_UNDEF ||
        is_as_good(info.value.type, known.type))
        return;
    // An array of texts in the Standard, one text in OpenPMIx's header.
    if (common::key_view(info) == PMIX_LOCAL_CPUSETS && info.value.type == PMIX_DATA_ARRAY) return;
    if (std::ranges::find(warned_of_type_, known.name) != warned_of_type_.end()) return;
    warned_of_type_.push_back(known.name);
    WIREUP_LOG(api, warn, "PMIx_server_register_nspace of \"%s\": %s is a %s and should be a %s", setup_.nspace.c_str(),
               known.name, type_name_of(info.value.type), type_name_of(known.type));
}

// First walk. Proc arrays are left out: there are many, and they say nothing that others wait for.
pmix_status_t JobReader::scan(const pmix_info_t* infos, size_t n, unsigned depth, bool job_level) {
    if (depth > kMaxDepth) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < n; ++i) {
        std::string_view key = common::key_view(infos[i]);
        const pmix_value_t& value = infos[i].value;
        if (key == PMIX_PROC_INFO_ARRAY) continue;
        if (common::log_on(common::LogArea::api, common::LogLevel::warn)) [[unlikely]]
            warn_of_type(infos[i]);
        const pmix_info_t* sub = nullptr;
        size_t nsub = 0;
        if (key == PMIX_JOB_INFO_ARRAY || key == PMIX_SESSION_INFO_ARRAY || key == PMIX_APP_INFO_ARRAY ||
            key == PMIX_NODE_INFO_ARRAY) {
            if (!nested(value, &sub, &nsub)) return PMIX_ERR_BAD_PARAM;
            if (key == PMIX_APP_INFO_ARRAY) {
                AppRef& a = app(app_number(sub, nsub));
                uint32_t x = 0;
                InfoView view(sub, nsub);
                if (const pmix_info_t* size = view.find(PMIX_APP_SIZE); size != nullptr && number(size->value, &x))
                    a.size = x;
                if (const pmix_info_t* first = view.find(PMIX_APPLDR); first != nullptr && number(first->value, &x))
                    a.leader = x;
            } else if (key == PMIX_NODE_INFO_ARRAY) {
                NodeRef& node = setup_.nodes_named[node_place(sub, nsub)];
                InfoView view(sub, nsub);
                std::string_view text;
                if (view.get(PMIX_LOCAL_PEERS, &text) == PMIX_SUCCESS && !text.empty()) node.peers = text;
                text = {};
                if (view.get(PMIX_HOSTNAME_ALIASES, &text) == PMIX_SUCCESS) {
                    for (const std::string_view alias : common::CommaList(text)) node.aliases.emplace_back(alias);
                }
            } else if (key == PMIX_SESSION_INFO_ARRAY) {
                if (const pmix_info_t* id = InfoView(sub, nsub).find(PMIX_SESSION_ID)) {
                    uint32_t x = 0;
                    // The first is the job's own, if the job itself does not say which: others are told for
                    // information.
                    if (!setup_.session_id && number(id->value, &x)) setup_.session_id = x;
                }
            }
            pmix_status_t rc = scan(sub, nsub, depth + 1, key == PMIX_JOB_INFO_ARRAY);
            if (rc != PMIX_SUCCESS) return rc;
            continue;
        }
        const bool node_map = (key == PMIX_NODE_MAP || key == PMIX_NODE_MAP_RAW) && !setup_.has_nodes;
        const bool proc_map = (key == PMIX_PROC_MAP || key == PMIX_PROC_MAP_RAW) && !setup_.has_procs;
        Bytes map;
        std::string expanded;
        pmix_status_t is_map = PMIX_ERR_TYPE_MISMATCH;
        if (node_map || proc_map) is_map = common::map_bytes(value, expanded, &map);
        if (is_map != PMIX_SUCCESS && is_map != PMIX_ERR_TYPE_MISMATCH) return is_map;
        if (is_map != PMIX_SUCCESS && (node_map || proc_map))
            WIREUP_LOG(api, warn, "PMIx_server_register_nspace of \"%s\": %s is no map", setup_.nspace.c_str(),
                       node_map ? "PMIX_NODE_MAP" : "PMIX_PROC_MAP");
        if (is_map == PMIX_SUCCESS && node_map) {
            auto nodes = common::parse_node_map(map);
            if (!nodes.ok()) return nodes.status();
            setup_.nodes = std::move(nodes).value();
            setup_.has_nodes = true;
        } else if (is_map == PMIX_SUCCESS) {
            auto procs = common::parse_proc_map(map);
            if (!procs.ok()) return procs.status();
            setup_.procs = std::move(procs).value();
            setup_.has_procs = true;
        } else if (job_level) {
            uint32_t x = 0;
            const bool is_number = number(value, &x);
            // Without its size a job would be one whose collectives never end.
            if (key == PMIX_JOB_SIZE && !is_number) {
                WIREUP_LOG(api, warn, "PMIx_server_register_nspace of \"%s\": PMIX_JOB_SIZE is no number",
                           setup_.nspace.c_str());
                return PMIX_ERR_BAD_PARAM;
            }
            if (key == PMIX_JOB_SIZE) setup_.job_size = x;
            if (key == PMIX_SESSION_ID && is_number) setup_.session_id = x;
            if (key == PMIX_USERID && is_number) setup_.user = x;
            if (key == PMIX_REGISTER_NODATA && common::truth_of(value) == PMIX_BOOL_TRUE) setup_.nodata = true;
            if (is_envar_key(key)) {
                pmix_status_t rc = check_variable(infos[i]);
                if (rc == PMIX_SUCCESS) rc = setup_.envars.append(infos[i]);
                if (rc != PMIX_SUCCESS) return rc;
            }
        }
    }
    return PMIX_SUCCESS;
}

pmix_status_t JobReader::store_value(Owner owner, std::string_view key, const pmix_value_t& value) {
    if (key.empty() || value.type == PMIX_UNDEF) return PMIX_SUCCESS;
    JobInfo::Item item;
    item.owner = owner;
    item.key_at = static_cast<uint32_t>(arena_.size());
    item.key_size = static_cast<uint32_t>(key.size());
    arena_.raw(key.data(), key.size());
    item.value_at = static_cast<uint32_t>(arena_.size());
    pmix_status_t rc = common::encode_value(arena_, value);
    // A type that cannot be stored (a live hwloc object, say) is of no use to a client: the rest of the job is.
    if (rc == PMIX_ERR_NOMEM) return rc;
    if (rc != PMIX_SUCCESS) {
        WIREUP_LOG(api, warn, "PMIx_server_register_nspace of \"%s\": %.*s cannot be kept: %s", setup_.nspace.c_str(),
                   static_cast<int>(key.size()), key.data(), common::log_status(rc));
        return PMIX_SUCCESS;
    }
    item.value_size = static_cast<uint32_t>(arena_.size() - item.value_at);
    if (arena_.size() > UINT32_MAX / 2) return PMIX_ERR_OUT_OF_RESOURCE;
    setup_.items.push_back(item);
    return PMIX_SUCCESS;
}

void JobReader::note_place(common::Rank rank, const pmix_info_t* infos, size_t n) {
    if (rank >= common::kMaxMapRanks) return;
    InfoView view(infos, n);
    std::string_view name;
    view.get(PMIX_HOSTNAME, &name);
    std::optional<uint32_t> id;
    view.get(PMIX_NODEID, &id);
    if (name.empty() && !id) return;
    auto place = find(placed_on_, name, id);
    if (!place) {
        place = static_cast<uint32_t>(setup_.placed_on.size());
        setup_.placed_on.push_back({std::string(name), id, {}, {}});
        note(placed_on_, name, id, *place);
    }
    if (setup_.placed.size() <= rank) setup_.placed.resize(rank + 1, common::kNoNode);
    setup_.placed[rank] = *place;
}

pmix_status_t JobReader::store_proc(const pmix_info_t* infos, size_t n, unsigned depth) {
    common::Rank rank = 0;
    if (!rank_of(infos, n, &rank) || !common::is_real_rank(rank)) return PMIX_ERR_BAD_PARAM;
    if (setup_.job_size && rank >= *setup_.job_size && !std::exchange(warned_of_rank_, true))
        WIREUP_LOG(api, warn, "PMIx_server_register_nspace of \"%s\": it describes rank %u of a job of %u",
                   setup_.nspace.c_str(), rank, *setup_.job_size);
    if (!setup_.has_procs) note_place(rank, infos, n);
    for (size_t i = 0; i < n; ++i) {
        std::string_view key = common::key_view(infos[i]);
        if (common::log_on(common::LogArea::api, common::LogLevel::warn)) [[unlikely]]
            warn_of_type(infos[i]);
        if (rank < common::kMaxMapRanks && is_column_key(key)) {
            scratch_.clear();
            pmix_status_t rc = common::encode_value(scratch_, declared_.as_declared(key, infos[i].value));
            if (rc != PMIX_SUCCESS) continue;
            setup_.procs_known.set(rank, key, scratch_.view());
            if (setup_.proc_columns.find(key) == setup_.proc_columns.end()) setup_.proc_columns.emplace(key);
            continue;
        }
        pmix_status_t rc = store(infos + i, 1, depth + 1, Owner::proc_info(rank));
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

// The first entry is the key and its value. Entries behind it that name a process, an application, a session or a node
// say whose it is; those that are marked as qualifiers are what a Get has to name.
pmix_status_t JobReader::store_qualified(const pmix_value_t& value, const pmix_info_t* infos, size_t n, unsigned depth,
                                         Owner owner) {
    if (n == 0) return PMIX_SUCCESS;
    auto what = dstore::QualifiedValue::read(value);
    // As store_value: what cannot be stored is of no use to a client, but the rest of the job is.
    if (!what) return what.status() == PMIX_ERR_NOT_SUPPORTED ? PMIX_SUCCESS : what.status();
    Owner unmarked = owner;
    bool others = false;
    for (size_t i = 1; i < n; ++i) {
        const std::string_view key = common::key_view(infos[i]);
        uint32_t x = 0;
        std::optional<Owner> named;
        if (key == PMIX_RANK && number(infos[i].value, &x)) named = Owner::proc_info(x);
        if (key == PMIX_APPNUM && number(infos[i].value, &x)) named = Owner::app(x);
        if (key == PMIX_SESSION_ID && number(infos[i].value, &x)) named = Owner::session(x);
        if (key == PMIX_HOSTNAME || key == PMIX_NODEID) named = Owner::node(node_place(infos + 1, n - 1));
        const bool marked = dstore::is_qualifier(infos[i]);
        if (named) owner = *named;
        if (named && !marked) unmarked = *named;
        if (!named && marked) others = true;
    }
    if (!what->qualifiers.empty()) {
        auto stored = dstore::QualifiedValue::stored(value);
        if (!stored) return stored.status();
        WIREUP_RETURN_IF_ERROR(store_value(unmarked, what->qualifiers.key_for(what->primary), stored->get()));
    }
    // With nothing but an owner it is also that owner's value, to be had by the level of information.
    return others ? PMIX_SUCCESS : store(infos, 1, depth + 1, owner);
}

// Second walk.
pmix_status_t JobReader::store(const pmix_info_t* infos, size_t n, unsigned depth, Owner owner) {
    if (depth > kMaxDepth) return PMIX_ERR_BAD_PARAM;
    for (size_t i = 0; i < n; ++i) {
        std::string_view key = common::key_view(infos[i]);
        const pmix_value_t& value = infos[i].value;
        const pmix_info_t* sub = nullptr;
        size_t nsub = 0;
        pmix_status_t rc = PMIX_SUCCESS;
        if (key == PMIX_PROC_INFO_ARRAY) {
            if (!nested(value, &sub, &nsub)) return PMIX_ERR_BAD_PARAM;
            rc = store_proc(sub, nsub, depth + 1);
        } else if (key == PMIX_JOB_INFO_ARRAY || key == PMIX_SESSION_INFO_ARRAY || key == PMIX_APP_INFO_ARRAY ||
                   key == PMIX_NODE_INFO_ARRAY || key == PMIX_QUALIFIED_VALUE) {
            if (!nested(value, &sub, &nsub)) return PMIX_ERR_BAD_PARAM;
            if (key == PMIX_JOB_INFO_ARRAY) rc = store(sub, nsub, depth + 1, Owner::job());
            if (key == PMIX_SESSION_INFO_ARRAY) {
                uint32_t id = setup_.session_id.value_or(0);
                bool numbered = setup_.session_id.has_value();
                if (const pmix_info_t* given = InfoView(sub, nsub).find(PMIX_SESSION_ID))
                    numbered = number(given->value, &id) || numbered;
                const size_t first = setup_.items.size();
                rc = store(sub, nsub, depth + 1, Owner::session(id));
                // Without a number nobody can say which other jobs are in it.
                for (size_t k = first; k < setup_.items.size(); ++k)
                    setup_.items[k].of_session = numbered && setup_.items[k].owner == Owner::session(id);
            }
            if (key == PMIX_APP_INFO_ARRAY) rc = store(sub, nsub, depth + 1, Owner::app(app_number(sub, nsub)));
            if (key == PMIX_NODE_INFO_ARRAY) rc = store(sub, nsub, depth + 1, Owner::node(node_place(sub, nsub)));
            if (key == PMIX_QUALIFIED_VALUE) rc = store_qualified(value, sub, nsub, depth + 1, owner);
        } else if (key == PMIX_REGISTER_NODATA || is_envar_key(key)) {
            continue;
        } else {
            const pmix_value_t declared = declared_.as_declared(key, value);
            rc = store_value(owner, key, declared);
            // A session's or an app's key outside of an array is the job's and also theirs, so that it is found under a
            // realm qualifier too. (A flat node key belongs to this server's node, which is not known here.)
            OwnerKind natural = natural_owner(key);
            if (rc == PMIX_SUCCESS && owner.kind == OwnerKind::job) {
                if (natural == OwnerKind::session)
                    rc = store_value(Owner::session(setup_.session_id.value_or(0)), key, declared);
                if (natural == OwnerKind::app && setup_.apps.size() <= 1)
                    rc = store_value(Owner::app(setup_.apps.empty() ? 0 : setup_.apps[0].number), key, declared);
            }
        }
        if (rc != PMIX_SUCCESS) return rc;
    }
    return PMIX_SUCCESS;
}

}  // namespace

OwnerKind natural_owner(std::string_view key) noexcept {
    constexpr std::string_view kNode[] = {PMIX_HOSTNAME,    PMIX_HOSTNAME_ALIASES, PMIX_NODEID,        PMIX_NODE_SIZE,
                                          PMIX_LOCAL_SIZE,  PMIX_LOCAL_PEERS,      PMIX_LOCAL_CPUSETS, PMIX_LOCALLDR,
                                          PMIX_LOCAL_PROCS, PMIX_AVAIL_PHYS_MEMORY};
    constexpr std::string_view kSession[] = {
        PMIX_UNIV_SIZE,  PMIX_SESSION_ID, PMIX_ALLOCATED_NODELIST, PMIX_CLUSTER_ID,          PMIX_RM_NAME,
        PMIX_RM_VERSION, PMIX_TMPDIR,     PMIX_TDIR_RMCLEAN,       PMIX_NUM_ALLOCATED_NODES, PMIX_HOSTNAME_KEEP_FQDN};
    constexpr std::string_view kApp[] = {PMIX_APP_SIZE, PMIX_APPLDR, PMIX_APP_ARGV, PMIX_WDIR};
    if (std::find(std::begin(kNode), std::end(kNode), key) != std::end(kNode)) return OwnerKind::node;
    if (std::find(std::begin(kSession), std::end(kSession), key) != std::end(kSession)) return OwnerKind::session;
    if (std::find(std::begin(kApp), std::end(kApp), key) != std::end(kApp)) return OwnerKind::app;
    return OwnerKind::job;
}

bool JobInfo::has(Owner owner, std::string_view key) const noexcept {
    return std::any_of(items.begin(), items.end(),
                       [&](const Item& item) { return item.owner == owner && key_of(item) == key; });
}

void JobInfo::add(Owner owner, std::string_view key, Bytes value) {
    Item item;
    item.owner = owner;
    item.key_at = static_cast<uint32_t>(arena.size());
    item.key_size = static_cast<uint32_t>(key.size());
    arena.insert(arena.end(), key.begin(), key.end());
    item.value_at = static_cast<uint32_t>(arena.size());
    item.value_size = static_cast<uint32_t>(value.size());
    arena.insert(arena.end(), value.begin(), value.end());
    items.push_back(item);
}

std::vector<Fact> facts_of(const JobInfo& said) {
    std::vector<Fact> facts;
    facts.reserve(said.items.size());
    for (const JobInfo::Item& item : said.items) {
        const NodeRef* node = item.owner.kind == OwnerKind::node ? &said.nodes_named[item.owner.index] : nullptr;
        facts.push_back({item.owner, node, said.key_of(item), said.value_of(item)});
    }
    return facts;
}

std::vector<Fact> session_facts_of(const JobInfo& said) {
    std::vector<Fact> facts;
    for (const JobInfo::Item& item : said.items)
        if (item.of_session) facts.push_back({item.owner, nullptr, said.key_of(item), said.value_of(item)});
    return facts;
}

Result<JobInfo> read_job(std::string_view nspace, int nlocalprocs, const pmix_info_t* infos, size_t n) {
    if (infos == nullptr) n = 0;
    JobInfo setup;
    setup.nspace = nspace;
    setup.nlocalprocs = nlocalprocs;
    JobReader reader(setup);
    pmix_status_t rc = reader.scan(infos, n, 0, true);
    if (rc != PMIX_SUCCESS) return rc;
    if (!setup.nodata) {
        rc = reader.store(infos, n, 0, Owner::job());
        if (rc != PMIX_SUCCESS) return rc;
    }
    reader.finish();
    return setup;
}

// As a job would say it of its session.
Result<JobInfo> read_resource_names(const pmix_info_t* infos, size_t n) {
    common::InfoList named;
    for (size_t i = 0; i < n; ++i) {
        const bool undefined = infos[i].value.type == PMIX_UNDEF;
        const pmix_status_t rc =
            undefined ? named.append_flag(common::key_view(infos[i]), true) : named.append(infos[i]);
        if (rc != PMIX_SUCCESS) return rc;
    }
    return read_resources(named.c_array(), named.size());
}

Result<JobInfo> read_session(uint32_t id, const pmix_info_t* infos, size_t n) {
    common::InfoList about;
    pmix_status_t rc = about.append_number<uint32_t>(PMIX_SESSION_ID, id, PMIX_UINT32);
    if (rc == PMIX_SUCCESS) rc = about.append_all(infos, n);
    if (rc != PMIX_SUCCESS) return rc;
    auto array = common::array_value(std::move(about));
    if (!array.ok()) return array.status();
    common::InfoList session;
    rc = session.append(PMIX_SESSION_INFO_ARRAY, std::move(array).value());
    if (rc != PMIX_SUCCESS) return rc;
    return read_resources(session.c_array(), session.size());
}

}  // namespace pmix::server
