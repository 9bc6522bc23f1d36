// SPDX-License-Identifier: BSD-3-Clause
#include "common/values/describe.h"

#include <sys/time.h>

#include <algorithm>
#include <string_view>
#include <type_traits>

namespace pmix::common {
namespace {

// A field while the tables are being put together at compile time.
constexpr Field make(Form form, size_t width, size_t offset, size_t count_offset, pmix_data_type_t type,
                     std::string_view name) {
    Field f{form,
            Travel::plain,
            static_cast<uint16_t>(width),
            static_cast<uint16_t>(offset),
            static_cast<uint16_t>(count_offset),
            type,
            {}};
    std::copy(name.begin(), name.end(), f.name);
    return f;
}

constexpr Field sent(Travel travel, Field f) {
    f.travel = travel;
    return f;
}

template <class T>
constexpr Form number_form() {
    if constexpr (std::is_same_v<T, bool>) return Form::boolean;
    if constexpr (std::is_floating_point_v<T>) return Form::real;
    if constexpr (std::is_same_v<T, char>) return Form::uint;  // a byte, whatever the compiler's char is
    return std::is_signed_v<T> ? Form::sint : Form::uint;
}

// One macro per form: S the struct, F its field.
#define NUMBER(S, F) make(number_form<decltype(S::F)>(), sizeof(S::F), offsetof(S, F), 0, 0, #F)
#define NAMED(S, F, T) make(number_form<decltype(S::F)>(), sizeof(S::F), offsetof(S, F), 0, T, #F)
#define PID(S, F) sent(Travel::pid, NUMBER(S, F))
#define TIMEVAL(S, F) make(Form::timeval, sizeof(S::F), offsetof(S, F), 0, 0, #F)
#define STRING(S, F) make(Form::string, sizeof(char*), offsetof(S, F), 0, 0, #F)
#define ARGV(S, F) make(Form::argv, sizeof(char**), offsetof(S, F), 0, 0, #F)
#define CHARS(S, F) make(Form::chars, sizeof(S::F), offsetof(S, F), 0, 0, #F)
#define BLOB(S, F, N) make(Form::blob, sizeof(char*), offsetof(S, F), offsetof(S, N), 0, #F)
#define LIST(S, F, N, T) make(Form::list, sizeof(void*), offsetof(S, F), offsetof(S, N), T, #F)
#define RECORD(S, F, T) make(Form::record, sizeof(S::F), offsetof(S, F), 0, T, #F)
#define SPECIAL(FORM, S, F) make(Form::FORM, sizeof(S::F), offsetof(S, F), 0, 0, #F)

constexpr Field kProc[] = {CHARS(pmix_proc_t, nspace), NAMED(pmix_proc_t, rank, PMIX_PROC_RANK)};
constexpr Field kInfo[] = {CHARS(pmix_info_t, key), SPECIAL(info_flags, pmix_info_t, flags),
                           RECORD(pmix_info_t, value, PMIX_VALUE)};
constexpr Field kPdata[] = {RECORD(pmix_pdata_t, proc, PMIX_PROC), CHARS(pmix_pdata_t, key),
                            RECORD(pmix_pdata_t, value, PMIX_VALUE)};
constexpr Field kApp[] = {STRING(pmix_app_t, cmd),
                          sent(Travel::typed, ARGV(pmix_app_t, argv)),
                          ARGV(pmix_app_t, env),
                          STRING(pmix_app_t, cwd),
                          sent(Travel::typed, NUMBER(pmix_app_t, maxprocs)),
                          LIST(pmix_app_t, info, ninfo, PMIX_INFO)};
constexpr Field kQuery[] = {ARGV(pmix_query_t, keys), LIST(pmix_query_t, qualifiers, nqual, PMIX_INFO)};
constexpr Field kRegex[] = {sent(Travel::regex, BLOB(pmix_byte_object_t, bytes, size))};
constexpr Field kByteObject[] = {BLOB(pmix_byte_object_t, bytes, size)};
constexpr Field kEnvar[] = {STRING(pmix_envar_t, envar), STRING(pmix_envar_t, value),
                            NAMED(pmix_envar_t, separator, kCharacter)};
constexpr Field kProcInfo[] = {RECORD(pmix_proc_info_t, proc, PMIX_PROC),
                               STRING(pmix_proc_info_t, hostname),
                               STRING(pmix_proc_info_t, executable_name),
                               PID(pmix_proc_info_t, pid),
                               sent(Travel::absent, NUMBER(pmix_proc_info_t, exit_code)),
                               NAMED(pmix_proc_info_t, state, PMIX_PROC_STATE)};
constexpr Field kCoord[] = {NAMED(pmix_coord_t, view, kCoordView), LIST(pmix_coord_t, coord, dims, PMIX_UINT32)};
constexpr Field kRegattr[] = {STRING(pmix_regattr_t, name), CHARS(pmix_regattr_t, string),
                              NAMED(pmix_regattr_t, type, PMIX_DATA_TYPE), ARGV(pmix_regattr_t, description)};
constexpr Field kCpuset[] = {sent(Travel::hwloc, STRING(pmix_cpuset_t, source)),
                             SPECIAL(bitmap, pmix_cpuset_t, bitmap)};
constexpr Field kTopology[] = {sent(Travel::hwloc, STRING(pmix_topology_t, source)),
                               SPECIAL(topology, pmix_topology_t, topology)};
constexpr Field kGeometry[] = {NUMBER(pmix_geometry_t, fabric), STRING(pmix_geometry_t, uuid),
                               STRING(pmix_geometry_t, osname),
                               LIST(pmix_geometry_t, coordinates, ncoords, PMIX_COORD)};
constexpr Field kDeviceDistance[] = {STRING(pmix_device_distance_t, uuid), STRING(pmix_device_distance_t, osname),
                                     NAMED(pmix_device_distance_t, type, PMIX_DEVTYPE),
                                     NUMBER(pmix_device_distance_t, mindist), NUMBER(pmix_device_distance_t, maxdist)};
constexpr Field kEndpoint[] = {STRING(pmix_endpoint_t, uuid), STRING(pmix_endpoint_t, osname),
                               RECORD(pmix_endpoint_t, endpt, PMIX_BYTE_OBJECT)};
constexpr Field kProcStats[] = {
    STRING(pmix_proc_stats_t, node),
    RECORD(pmix_proc_stats_t, proc, PMIX_PROC),
    PID(pmix_proc_stats_t, pid),
    STRING(pmix_proc_stats_t, cmd),
    NAMED(pmix_proc_stats_t, state, kCharacter),
    TIMEVAL(pmix_proc_stats_t, time),
    sent(Travel::absent, NUMBER(pmix_proc_stats_t, percent_cpu)),
    NUMBER(pmix_proc_stats_t, priority),
    sent(Travel::as_sint, NUMBER(pmix_proc_stats_t, num_threads)),
    NUMBER(pmix_proc_stats_t, pss),
    NUMBER(pmix_proc_stats_t, vsize),
    NUMBER(pmix_proc_stats_t, rss),
    sent(Travel::optional, NUMBER(pmix_proc_stats_t, peak_vsize)),
    sent(Travel::as_sint, NUMBER(pmix_proc_stats_t, processor)),
    TIMEVAL(pmix_proc_stats_t, sample_time),
};
constexpr Field kDiskStats[] = {
    STRING(pmix_disk_stats_t, disk),
    NUMBER(pmix_disk_stats_t, num_reads_completed),
    NUMBER(pmix_disk_stats_t, num_reads_merged),
    NUMBER(pmix_disk_stats_t, num_sectors_read),
    NUMBER(pmix_disk_stats_t, milliseconds_reading),
    NUMBER(pmix_disk_stats_t, num_writes_completed),
    NUMBER(pmix_disk_stats_t, num_writes_merged),
    NUMBER(pmix_disk_stats_t, num_sectors_written),
    NUMBER(pmix_disk_stats_t, milliseconds_writing),
    NUMBER(pmix_disk_stats_t, num_ios_in_progress),
    NUMBER(pmix_disk_stats_t, milliseconds_io),
    NUMBER(pmix_disk_stats_t, weighted_milliseconds_io),
};
constexpr Field kNetStats[] = {
    STRING(pmix_net_stats_t, net_interface),     NUMBER(pmix_net_stats_t, num_bytes_recvd),
    NUMBER(pmix_net_stats_t, num_packets_recvd), NUMBER(pmix_net_stats_t, num_recv_errs),
    NUMBER(pmix_net_stats_t, num_bytes_sent),    NUMBER(pmix_net_stats_t, num_packets_sent),
    NUMBER(pmix_net_stats_t, num_send_errs),
};
constexpr Field kNodeStats[] = {
    STRING(pmix_node_stats_t, node),
    NUMBER(pmix_node_stats_t, la),
    NUMBER(pmix_node_stats_t, la5),
    NUMBER(pmix_node_stats_t, la15),
    NUMBER(pmix_node_stats_t, total_mem),
    NUMBER(pmix_node_stats_t, free_mem),
    NUMBER(pmix_node_stats_t, buffers),
    NUMBER(pmix_node_stats_t, cached),
    NUMBER(pmix_node_stats_t, swap_cached),
    NUMBER(pmix_node_stats_t, swap_total),
    NUMBER(pmix_node_stats_t, swap_free),
    NUMBER(pmix_node_stats_t, mapped),
    TIMEVAL(pmix_node_stats_t, sample_time),
    LIST(pmix_node_stats_t, diskstats, ndiskstats, PMIX_DISK_STATS),
    LIST(pmix_node_stats_t, netstats, nnetstats, PMIX_NET_STATS),
};
constexpr Field kDevice[] = {STRING(pmix_device_t, uuid), STRING(pmix_device_t, osname),
                             NAMED(pmix_device_t, type, PMIX_DEVTYPE)};
constexpr Field kResourceUnit[] = {NAMED(pmix_resource_unit_t, type, PMIX_DEVTYPE),
                                   NUMBER(pmix_resource_unit_t, count)};
constexpr Field kNodePid[] = {STRING(pmix_node_pid_t, hostname), NUMBER(pmix_node_pid_t, nodeid),
                              PID(pmix_node_pid_t, pid)};
constexpr Field kRegex2[] = {STRING(pmix_regex2_t, type), BLOB(pmix_regex2_t, bytes, len)};

// Types that are one field: the element is the field.
constexpr Field one(Form form, size_t width) {
    return make(form, width, 0, 0, 0, "");
}

// Everything put together: rows point into one table of fields.
struct Tables {
    std::array<TypeRow, kTypeRows> rows{};
    std::array<Field, kFieldRows> fields{};
    size_t used = 0;

    constexpr size_t min_bytes(const Field& f) const {
        switch (f.form) {
            case Form::boolean:
            case Form::sint:
            case Form::uint:
            case Form::real:
                return f.width;
            case Form::timeval:
                return 16;
            case Form::address:
                return 8;
            case Form::chars:
            case Form::value:
                return 2;
            case Form::string:
            case Form::argv:
            case Form::blob:
            case Form::list:
            case Form::info_flags:
            case Form::bitmap:
            case Form::topology:
                return 4;
            case Form::array:
                return 6;
            case Form::buffer:
                return 8;
            case Form::record:
                return rows[f.type].min_bytes;
        }
        return 1;
    }
    constexpr size_t min_portable(const Field& f) const {
        switch (f.travel) {
            case Travel::absent:
            case Travel::optional:
            case Travel::hwloc:
            case Travel::sentinel:
                return 0;
            case Travel::regex:
                return 2;
            default:
                break;
        }
        switch (f.form) {
            case Form::timeval:
            case Form::array:
                return 2;
            case Form::record:
                return rows[f.type].min_portable;
            default:
                return 1;
        }
    }
    // A record's row must stand before the rows that embed it: min_bytes and min_portable are taken from it.
    constexpr void row(pmix_data_type_t id, std::string_view name, size_t size, Held held,
                       std::span<const Field> list) {
        TypeRow& r = rows[id];
        r.size = static_cast<uint16_t>(size);
        r.first = static_cast<uint8_t>(used);
        r.count = static_cast<uint8_t>(list.size());
        r.held = held;
        std::copy(name.begin(), name.end(), r.name);
        size_t least = 0;
        size_t least_portable = 0;
        for (const Field& f : list) {
            least += min_bytes(f);
            least_portable += min_portable(f);
            fields[used++] = f;
        }
        r.min_bytes = static_cast<uint16_t>(least);
        r.min_portable = static_cast<uint16_t>(least_portable);
        Form form = list.empty() ? Form::record : list[0].form;
        r.plain = list.size() == 1 && (form == Form::sint || form == Form::uint || form == Form::real);
    }
    constexpr void one_field(pmix_data_type_t id, std::string_view name, size_t size, Held held, Field f) {
        row(id, name, size, held, {&f, 1});
    }
    template <class T>
    constexpr void number(pmix_data_type_t id, std::string_view name, Travel travel = Travel::plain) {
        one_field(id, name, sizeof(T), Held::in_place, sent(travel, one(number_form<T>(), sizeof(T))));
    }
};

constexpr Tables build() {
    Tables t;
#define NUMBER_TYPE(ID, T) t.number<T>(ID, #ID)
#define STRUCT_TYPE(ID, T, LIST_) t.row(ID, #ID, sizeof(T), Held::by_pointer, LIST_)
#define STRUCT_IN_PLACE(ID, T, LIST_) t.row(ID, #ID, sizeof(T), Held::in_place, LIST_)
#define SPECIAL_TYPE(ID, T, FORM, HELD) t.one_field(ID, #ID, sizeof(T), Held::HELD, one(Form::FORM, sizeof(T)))
    t.row(PMIX_UNDEF, "PMIX_UNDEF", 0, Held::in_place, {});
    NUMBER_TYPE(PMIX_BOOL, bool);
    NUMBER_TYPE(PMIX_BYTE, uint8_t);
    SPECIAL_TYPE(PMIX_STRING, char*, string, in_place);
    t.number<size_t>(PMIX_SIZE, "PMIX_SIZE", Travel::typed);
    t.number<pid_t>(PMIX_PID, "PMIX_PID", Travel::pid);
    t.number<int>(PMIX_INT, "PMIX_INT", Travel::typed);
    NUMBER_TYPE(PMIX_INT8, int8_t);
    NUMBER_TYPE(PMIX_INT16, int16_t);
    NUMBER_TYPE(PMIX_INT32, int32_t);
    NUMBER_TYPE(PMIX_INT64, int64_t);
    t.number<unsigned>(PMIX_UINT, "PMIX_UINT", Travel::as_sint);
    NUMBER_TYPE(PMIX_UINT8, uint8_t);
    NUMBER_TYPE(PMIX_UINT16, uint16_t);
    NUMBER_TYPE(PMIX_UINT32, uint32_t);
    NUMBER_TYPE(PMIX_UINT64, uint64_t);
    NUMBER_TYPE(PMIX_FLOAT, float);
    NUMBER_TYPE(PMIX_DOUBLE, double);
    SPECIAL_TYPE(PMIX_TIMEVAL, struct timeval, timeval, in_place);
    t.number<time_t>(PMIX_TIME, "PMIX_TIME", Travel::as_uint);
    NUMBER_TYPE(PMIX_STATUS, pmix_status_t);
    SPECIAL_TYPE(PMIX_VALUE, pmix_value_t, value, by_pointer);
    STRUCT_TYPE(PMIX_PROC, pmix_proc_t, kProc);
    STRUCT_TYPE(PMIX_APP, pmix_app_t, kApp);
    STRUCT_TYPE(PMIX_INFO, pmix_info_t, kInfo);
    STRUCT_TYPE(PMIX_PDATA, pmix_pdata_t, kPdata);
    // PMIX_BUFFER (26) and PMIX_KVAL (28) name structs that no public header defines.
    STRUCT_IN_PLACE(PMIX_BYTE_OBJECT, pmix_byte_object_t, kByteObject);
    NUMBER_TYPE(PMIX_PERSIST, pmix_persistence_t);
    t.one_field(PMIX_POINTER, "PMIX_POINTER", sizeof(void*), Held::in_place,
                sent(Travel::sentinel, one(Form::address, sizeof(void*))));
    NUMBER_TYPE(PMIX_SCOPE, pmix_scope_t);
    NUMBER_TYPE(PMIX_DATA_RANGE, pmix_data_range_t);
    NUMBER_TYPE(PMIX_COMMAND, uint8_t);
    NUMBER_TYPE(PMIX_INFO_DIRECTIVES, pmix_info_directives_t);
    NUMBER_TYPE(PMIX_DATA_TYPE, pmix_data_type_t);
    NUMBER_TYPE(PMIX_PROC_STATE, pmix_proc_state_t);
    STRUCT_TYPE(PMIX_PROC_INFO, pmix_proc_info_t, kProcInfo);
    SPECIAL_TYPE(PMIX_DATA_ARRAY, pmix_data_array_t, array, by_pointer);
    NUMBER_TYPE(PMIX_PROC_RANK, pmix_rank_t);
    STRUCT_TYPE(PMIX_QUERY, pmix_query_t, kQuery);
    STRUCT_IN_PLACE(PMIX_COMPRESSED_STRING, pmix_byte_object_t, kByteObject);
    NUMBER_TYPE(PMIX_ALLOC_DIRECTIVE, pmix_alloc_directive_t);
    NUMBER_TYPE(PMIX_IOF_CHANNEL, pmix_iof_channel_t);
    STRUCT_IN_PLACE(PMIX_ENVAR, pmix_envar_t, kEnvar);
    STRUCT_TYPE(PMIX_COORD, pmix_coord_t, kCoord);
    STRUCT_TYPE(PMIX_REGATTR, pmix_regattr_t, kRegattr);
    STRUCT_IN_PLACE(PMIX_REGEX, pmix_byte_object_t, kRegex);
    NUMBER_TYPE(PMIX_JOB_STATE, pmix_job_state_t);
    NUMBER_TYPE(PMIX_LINK_STATE, pmix_link_state_t);
    STRUCT_TYPE(PMIX_PROC_CPUSET, pmix_cpuset_t, kCpuset);
    STRUCT_TYPE(PMIX_GEOMETRY, pmix_geometry_t, kGeometry);
    STRUCT_TYPE(PMIX_DEVICE_DIST, pmix_device_distance_t, kDeviceDistance);
    STRUCT_TYPE(PMIX_ENDPOINT, pmix_endpoint_t, kEndpoint);
    STRUCT_TYPE(PMIX_TOPO, pmix_topology_t, kTopology);
    NUMBER_TYPE(PMIX_DEVTYPE, pmix_device_type_t);
    NUMBER_TYPE(PMIX_LOCTYPE, pmix_locality_t);
    STRUCT_IN_PLACE(PMIX_COMPRESSED_BYTE_OBJECT, pmix_byte_object_t, kByteObject);
    SPECIAL_TYPE(PMIX_PROC_NSPACE, pmix_nspace_t, chars, by_pointer);
    STRUCT_TYPE(PMIX_PROC_STATS, pmix_proc_stats_t, kProcStats);
    STRUCT_TYPE(PMIX_DISK_STATS, pmix_disk_stats_t, kDiskStats);
    STRUCT_TYPE(PMIX_NET_STATS, pmix_net_stats_t, kNetStats);
    STRUCT_TYPE(PMIX_NODE_STATS, pmix_node_stats_t, kNodeStats);
    SPECIAL_TYPE(PMIX_DATA_BUFFER, pmix_data_buffer_t, buffer, by_pointer);
    NUMBER_TYPE(PMIX_STOR_MEDIUM, pmix_storage_medium_t);
    NUMBER_TYPE(PMIX_STOR_ACCESS, pmix_storage_accessibility_t);
    NUMBER_TYPE(PMIX_STOR_PERSIST, pmix_storage_persistence_t);
    NUMBER_TYPE(PMIX_STOR_ACCESS_TYPE, pmix_storage_access_type_t);
    STRUCT_TYPE(PMIX_DEVICE, pmix_device_t, kDevice);
    NUMBER_TYPE(PMIX_RESBLOCK_DIRECTIVE, pmix_resource_block_directive_t);
    STRUCT_TYPE(PMIX_RESOURCE_UNIT, pmix_resource_unit_t, kResourceUnit);
    STRUCT_TYPE(PMIX_NODE_PID, pmix_node_pid_t, kNodePid);
    STRUCT_TYPE(PMIX_REGEX2, pmix_regex2_t, kRegex2);
    NUMBER_TYPE(PMIX_ALLOC_INHERIT, pmix_alloc_inheritance_t);
    return t;
}

constexpr Tables kTables = build();
static_assert(kTables.used <= 255, "TypeRow::first is one byte");

}  // namespace

const std::array<TypeRow, kTypeRows> kTypeTable = kTables.rows;
const std::array<Field, kFieldRows> kFieldTable = kTables.fields;

}  // namespace pmix::common
