// SPDX-License-Identifier: BSD-3-Clause
#include "tool.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>

namespace commands {

Infos::~Infos() {
    for (pmix_info_t& info : infos_) PMIx_Info_destruct(&info);
}

void Infos::add(const std::string& key, const void* value, pmix_data_type_t type) {
    pmix_info_t info;
    PMIx_Info_construct(&info);
    PMIx_Info_load(&info, key.c_str(), value, type);
    infos_.push_back(info);
}

void Infos::copy(const pmix_info_t& info) {
    pmix_info_t copied;
    PMIx_Info_construct(&copied);
    PMIx_Info_xfer(&copied, &info);
    infos_.push_back(copied);
}

void Infos::part(const std::string& key, Infos& inner) {
    pmix_data_array_t array{};
    array.type = PMIX_INFO;
    array.size = inner.size();
    array.array = inner.data();
    add(key, &array, PMIX_DATA_ARRAY);
}

namespace {

// PMIX_UNDEF: no attribute of the headers, or one whose type differs from use to use.
pmix_data_type_t type_of(const std::string& key) {
    static const std::map<std::string, pmix_data_type_t> types = {
#define ATTRIBUTE(name, string, type) {string, type},
#define ALIAS(name, string, type)
#include "common/values/attributes.def"
#undef ATTRIBUTE
#undef ALIAS
    };
    const auto found = types.find(key);
    return found == types.end() ? pmix_data_type_t{PMIX_UNDEF} : found->second;
}

template <class T>
bool add_number(Infos& infos, const std::string& key, const std::string& text, pmix_data_type_t type) {
    T number{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end) return false;
    infos.add(key, &number, type);
    return true;
}

bool add_rank(Infos& infos, const std::string& key, const std::string& text) {
    long n = 0;
    if (!to_number(text, n) || n < INT32_MIN || n > static_cast<long>(UINT32_MAX)) return false;
    const auto rank = static_cast<pmix_rank_t>(n);
    infos.add(key, &rank, PMIX_PROC_RANK);
    return true;
}

bool add_proc(Infos& infos, const std::string& key, const std::string& text) {
    const std::vector<pmix_proc_t> procs = to_procs(text);
    if (procs.size() != 1) return false;
    infos.add(key, procs.data(), PMIX_PROC);
    return true;
}

bool add_status(Infos& infos, const std::string& key, const std::string& text) {
    pmix_status_t status = 0;
    if (!to_status(text, status)) return false;
    infos.add(key, &status, PMIX_STATUS);
    return true;
}

bool add_truth(Infos& infos, const std::string& key, const std::string& text) {
    const bool yes = text == "true" || text == "1";
    if (!yes && text != "false" && text != "0") return false;
    infos.add(key, &yes, PMIX_BOOL);
    return true;
}

bool add_guessed(Infos& infos, const std::string& key, const std::string& text) {
    if (text == "true" || text == "false") return add_truth(infos, key, text);
    if (!add_number<int32_t>(infos, key, text, PMIX_INT) && !add_number<int64_t>(infos, key, text, PMIX_INT64))
        infos.text(key, text);
    return true;
}

// False: text is no value of the type, or the type has none that fits on a command line.
bool add_typed(Infos& infos, const std::string& key, const std::string& text, pmix_data_type_t type) {
    switch (type) {
        case PMIX_UNDEF:
            return add_guessed(infos, key, text);
        case PMIX_STRING:
            infos.text(key, text);
            return true;
        case PMIX_BOOL:
            return add_truth(infos, key, text);
        case PMIX_PROC_RANK:
            return add_rank(infos, key, text);
        case PMIX_PROC:
            return add_proc(infos, key, text);
        case PMIX_STATUS:
            return add_status(infos, key, text);
        case PMIX_INT:
        case PMIX_INT32:
        case PMIX_PID:
            return add_number<int32_t>(infos, key, text, type);
        case PMIX_UINT16:
            return add_number<uint16_t>(infos, key, text, type);
        case PMIX_UINT32:
            return add_number<uint32_t>(infos, key, text, type);
        case PMIX_UINT64:
        case PMIX_SIZE:
        case PMIX_DEVTYPE:
            return add_number<uint64_t>(infos, key, text, type);
        case PMIX_TIME:
            return add_number<int64_t>(infos, key, text, type);
        case PMIX_FLOAT:
            return add_number<float>(infos, key, text, type);
        case PMIX_DOUBLE:
            return add_number<double>(infos, key, text, type);
        case PMIX_SCOPE:
        case PMIX_PERSIST:
        case PMIX_DATA_RANGE:
        case PMIX_PROC_STATE:
        case PMIX_ALLOC_DIRECTIVE:
        case PMIX_ALLOC_INHERIT:
        case PMIX_LINK_STATE:
            return add_number<uint8_t>(infos, key, text, type);
        default:
            return false;
    }
}

}  // namespace

void Infos::from_text(const CommandLine& line, const std::string& setting) {
    const auto [name, value] = split(setting, '=');
    if (name.empty()) line.wrong("NAME=VALUE needs a name: " + setting);
    const std::string key = attribute_string(name);
    const pmix_data_type_t type = type_of(key);
    const bool alone = setting.find('=') == setting.npos;
    if (alone && (type == PMIX_BOOL || type == PMIX_UNDEF)) {
        flag(key);
    } else if (alone || !add_typed(*this, key, value, type)) {
        line.wrong(name + " needs a value of type " + PMIx_Data_type_string(type) + (alone ? "" : ", not " + value));
    }
}

Answers::~Answers() {
    if (infos != nullptr) PMIx_Info_free(infos, count);
}

const pmix_value_t* Answers::find(const char* key) const {
    for (size_t i = 0; i < count; ++i)
        if (PMIx_Check_key(infos[i].key, key)) return &infos[i].value;
    return nullptr;
}

void query(const std::vector<std::string>& keys, Infos& qualifiers, Answers& answers) {
    pmix_query_t request;
    PMIx_Query_construct(&request);
    std::vector<char*> pointers;
    for (const std::string& key : keys) pointers.push_back(const_cast<char*>(key.c_str()));
    pointers.push_back(nullptr);
    request.keys = pointers.data();
    request.qualifiers = qualifiers.data();
    request.nqual = qualifiers.size();
    answers.status = PMIx_Query_info(&request, 1, &answers.infos, &answers.count);
}

std::string attribute_string(const std::string& name) {
    const char* string = PMIx_Get_attribute_string(name.c_str());
    return string != nullptr && *string != '\0' ? string : name;
}

bool to_status(const std::string& text, pmix_status_t& out) {
    long n = 0;
    if (to_number(text, n)) {
        if (n < INT32_MIN || n > INT32_MAX) return false;
        out = static_cast<pmix_status_t>(n);
        return true;
    }
    if (text == "PMIX_SUCCESS") {
        out = PMIX_SUCCESS;
        return true;
    }
    out = PMIx_Error_code(text.c_str());
    return out != PMIX_SUCCESS && std::strcmp(PMIx_Error_string(out), text.c_str()) == 0;
}

std::vector<pmix_proc_t> to_procs(const std::string& text) {
    std::vector<pmix_proc_t> procs;
    pmix_proc_t proc;
    const size_t colon = text.rfind(':');
    const std::string nspace = text.substr(0, colon);
    if (nspace.empty() || nspace.size() > PMIX_MAX_NSLEN) return {};
    if (colon == text.npos) {
        PMIx_Load_procid(&proc, nspace.c_str(), PMIX_RANK_WILDCARD);
        procs.push_back(proc);
        return procs;
    }
    for (const std::string& rank : split_all(text.substr(colon + 1), ',')) {
        long n = 0;
        if (!to_number(rank, n) || n < 0 || n >= PMIX_RANK_VALID) return {};
        PMIx_Load_procid(&proc, nspace.c_str(), static_cast<pmix_rank_t>(n));
        procs.push_back(proc);
    }
    return procs;
}

// ---- showing ----

std::string shown(const pmix_proc_t& proc) {
    const std::string name = proc.nspace;
    if (proc.rank == PMIX_RANK_WILDCARD) return name + ":*";
    if (proc.rank == PMIX_RANK_UNDEF) return name + ":?";
    return name + ":" + std::to_string(proc.rank);
}

namespace {

std::string number(const char* format, double n) {
    char text[64];
    std::snprintf(text, sizeof text, format, n);
    return text;
}

// Numbers, names and texts; false for arrays and structs.
bool simple(const pmix_value_t& value, std::string& out, bool& is_text) {
    is_text = false;
    int64_t n = 0;
    switch (value.type) {
        case PMIX_STRING:
            out = value.data.string == nullptr ? "" : value.data.string;
            is_text = true;
            return true;
        case PMIX_BOOL:
            out = value.data.flag ? "true" : "false";
            return true;
        case PMIX_FLOAT:
            out = number("%.6g", static_cast<double>(value.data.fval));
            return true;
        case PMIX_DOUBLE:
            out = number("%.9g", value.data.dval);
            return true;
        case PMIX_UINT64:
            out = std::to_string(value.data.uint64);
            return true;
        case PMIX_SIZE:
            out = std::to_string(value.data.size);
            return true;
        case PMIX_PROC_RANK:
            out = std::to_string(value.data.rank);
            return true;
        case PMIX_PROC_STATE:
            out = PMIx_Proc_state_string(value.data.state);
            is_text = true;
            return true;
        case PMIX_STATUS:
            out = PMIx_Error_string(value.data.status);
            is_text = true;
            return true;
        case PMIX_PROC:
            out = value.data.proc == nullptr ? "" : shown(*value.data.proc);
            is_text = true;
            return true;
        case PMIX_UNDEF:
            out = "";
            is_text = true;
            return true;
        case PMIX_DATA_ARRAY:
            return false;
        default:
            break;
    }
    pmix_value_t copy = value;
    if (PMIx_Value_get_number(&copy, &n, PMIX_INT64) == PMIX_SUCCESS) {
        out = std::to_string(n);
        return true;
    }
    char* text = PMIx_Value_string(&value);
    out = text == nullptr ? "" : text;
    std::free(text);
    is_text = true;
    return true;
}

// The bytes of an element that a value has in itself. 0: not so, or a type that is not shown.
size_t size_in_value(pmix_data_type_t type) {
    static const std::map<pmix_data_type_t, size_t> sizes = {{PMIX_STRING, sizeof(char*)},
                                                             {PMIX_BOOL, sizeof(bool)},
                                                             {PMIX_BYTE, 1},
                                                             {PMIX_SIZE, sizeof(size_t)},
                                                             {PMIX_PID, sizeof(pid_t)},
                                                             {PMIX_INT, sizeof(int)},
                                                             {PMIX_INT8, 1},
                                                             {PMIX_INT16, 2},
                                                             {PMIX_INT32, 4},
                                                             {PMIX_INT64, 8},
                                                             {PMIX_UINT, sizeof(unsigned)},
                                                             {PMIX_UINT8, 1},
                                                             {PMIX_UINT16, 2},
                                                             {PMIX_UINT32, 4},
                                                             {PMIX_UINT64, 8},
                                                             {PMIX_FLOAT, sizeof(float)},
                                                             {PMIX_DOUBLE, sizeof(double)},
                                                             {PMIX_TIMEVAL, sizeof(timeval)},
                                                             {PMIX_TIME, sizeof(time_t)},
                                                             {PMIX_STATUS, sizeof(pmix_status_t)},
                                                             {PMIX_PROC_RANK, sizeof(pmix_rank_t)},
                                                             {PMIX_PROC_STATE, sizeof(pmix_proc_state_t)}};
    const auto found = sizes.find(type);
    return found == sizes.end() ? 0 : found->second;
}

// An element of an array as a value that borrows it. False: a type that is not shown.
bool element(const pmix_data_array_t& array, size_t i, pmix_value_t& out) {
    std::memset(&out, 0, sizeof out);
    out.type = array.type;
    if (const size_t size = size_in_value(array.type); size != 0) {
        std::memcpy(&out.data, static_cast<const char*>(array.array) + i * size, size);
        return true;
    }
    switch (array.type) {
        case PMIX_PROC:
            out.data.proc = static_cast<pmix_proc_t*>(array.array) + i;
            return true;
        case PMIX_DATA_ARRAY:
            out.data.darray = static_cast<pmix_data_array_t*>(array.array) + i;
            return true;
        case PMIX_VALUE:
            out = static_cast<pmix_value_t*>(array.array)[i];
            return true;
        default:
            return false;
    }
}

// Rows of arrays of structs.
std::vector<std::pair<std::string, std::string>> fields(const pmix_data_array_t& array, size_t i) {
    std::vector<std::pair<std::string, std::string>> out;
    const auto text = [](const char* s) { return s == nullptr ? std::string() : std::string(s); };
    if (array.type == PMIX_PROC_INFO) {
        const auto& row = static_cast<const pmix_proc_info_t*>(array.array)[i];
        out = {{"proc", shown(row.proc)},
               {"host", text(row.hostname)},
               {"executable", text(row.executable_name)},
               {"pid", std::to_string(row.pid)},
               {"state", PMIx_Proc_state_string(row.state)},
               {"exit", std::to_string(row.exit_code)}};
    } else if (array.type == PMIX_PROC_STATS) {
        const auto& row = static_cast<const pmix_proc_stats_t*>(array.array)[i];
        out = {{"proc", shown(row.proc)},
               {"host", text(row.node)},
               {"pid", std::to_string(row.pid)},
               {"threads", std::to_string(row.num_threads)},
               {"pss_mb", number("%.2f", static_cast<double>(row.pss))},
               {"rss_mb", number("%.2f", static_cast<double>(row.rss))},
               {"vsize_mb", number("%.2f", static_cast<double>(row.vsize))}};
    } else if (array.type == PMIX_REGATTR) {
        const auto& row = static_cast<const pmix_regattr_t*>(array.array)[i];
        out = {{"name", text(row.name)}, {"string", row.string}, {"type", PMIx_Data_type_string(row.type)}};
    }
    return out;
}

}  // namespace

std::string shown(const pmix_value_t& value, unsigned indent) {
    std::string out;
    bool is_text = false;
    if (simple(value, out, is_text)) return out;
    const pmix_data_array_t* array = value.data.darray;
    const std::string margin(indent + 2, ' ');
    if (array == nullptr || array->size == 0) return "(none)";
    for (size_t i = 0; i < array->size; ++i) {
        pmix_value_t one;
        if (array->type == PMIX_INFO) {
            const auto& info = static_cast<const pmix_info_t*>(array->array)[i];
            out += "\n" + margin + info.key + ": " + shown(info.value, indent + 2);
        } else if (const auto parts = fields(*array, i); !parts.empty()) {
            out += "\n" + margin;
            for (const auto& [name, text] : parts) out += name + "=" + text + " ";
            out.pop_back();
        } else if (element(*array, i, one)) {
            out += (i == 0 ? "" : ", ") + shown(one, indent + 2);
        } else {
            return "(" + std::to_string(array->size) + " of " + PMIx_Data_type_string(array->type) + ")";
        }
    }
    return out;
}

namespace {

// The bytes of the character of UTF-8 at the start of text, or 0: it starts with none.
size_t utf8_length(std::string_view text) {
    const auto at = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = at(0);
    const size_t length = first < 0x80                    ? 1
                          : first >= 0xc2 && first < 0xe0 ? 2
                          : first >= 0xe0 && first < 0xf0 ? 3
                          : first >= 0xf0 && first < 0xf5 ? 4
                                                          : 0;
    for (size_t i = 1; i < length; ++i)
        if ((at(i) & 0xc0) != 0x80) return 0;
    // Longer than it need be, a half of a pair of UTF-16, or beyond the last character.
    const bool none = (first == 0xe0 && at(1) < 0xa0) || (first == 0xed && at(1) > 0x9f) ||
                      (first == 0xf0 && at(1) < 0x90) || (first == 0xf4 && at(1) > 0x8f);
    return none ? 0 : length;
}

}  // namespace

const char* json_comma(const std::string& elements_so_far) {
    return elements_so_far.empty() ? "" : ",";
}

std::string json_text(const std::string& text) {
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const char c = text[i];
        const auto byte = static_cast<unsigned char>(c);
        const size_t length = utf8_length(std::string_view(text).substr(i));
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (byte < 0x20) {
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", byte);
            out += code;
        } else if (length == 0) {
            out += "\\ufffd";
        } else {
            out.append(text, i, length);
        }
        i += length == 0 ? 1 : length;
    }
    return out + "\"";
}

std::string json_infos(const pmix_info_t* infos, size_t n) {
    std::vector<std::string> keys;
    std::map<std::string, std::vector<std::string>> values;
    for (size_t i = 0; i < n; ++i) {
        auto& of_key = values[infos[i].key];
        if (of_key.empty()) keys.push_back(infos[i].key);
        of_key.push_back(json(infos[i].value));
    }
    std::string out = "{";
    for (const std::string& key : keys) {
        if (out.size() > 1) out += ",";
        out += json_text(key) + ":";
        const auto& of_key = values[key];
        if (of_key.size() == 1) {
            out += of_key.front();
            continue;
        }
        for (size_t i = 0; i < of_key.size(); ++i) out += (i == 0 ? "[" : ",") + of_key[i];
        out += "]";
    }
    return out + "}";
}

std::string json(const pmix_value_t& value) {
    std::string out;
    bool is_text = false;
    // JSON has no number for these.
    if (value.type == PMIX_FLOAT && !std::isfinite(value.data.fval)) return "null";
    if (value.type == PMIX_DOUBLE && !std::isfinite(value.data.dval)) return "null";
    if (simple(value, out, is_text)) return is_text ? json_text(out) : out;
    const pmix_data_array_t* array = value.data.darray;
    if (array == nullptr) return "[]";
    if (array->type == PMIX_INFO) return json_infos(static_cast<const pmix_info_t*>(array->array), array->size);
    out = "[";
    for (size_t i = 0; i < array->size; ++i) {
        pmix_value_t one;
        if (i != 0) out += ",";
        if (const auto parts = fields(*array, i); !parts.empty()) {
            std::string row;
            for (const auto& [name, text] : parts)
                row += (row.empty() ? "{" : ",") + json_text(name) + ":" + json_text(text);
            out += row + "}";
        } else if (element(*array, i, one)) {
            out += json(one);
        } else {
            out += "null";
        }
    }
    return out + "]";
}

bool job_exists(const std::string& nspace) {
    Infos none, about;
    Answers jobs, size;
    query({PMIX_QUERY_NAMESPACES}, none, jobs);
    if (const pmix_value_t* list = jobs.find(PMIX_QUERY_NAMESPACES))
        for (const std::string& job : split_all(shown(*list), ','))
            if (job == nspace) return true;
    about.text(PMIX_NSPACE, nspace);
    Infos here;
    Answers tool;
    here.text(PMIX_NSPACE, nspace);
    here.flag(PMIX_QUERY_LOCAL_ONLY);
    query({PMIX_PROC_PID}, here, tool);  // a tool is in no job
    if (tool.find(PMIX_PROC_PID) != nullptr) return true;
    query({PMIX_JOB_SIZE}, about, size);  // of a job that has no process here, the resource manager
    return size.status != PMIX_ERR_NOT_FOUND && size.status != PMIX_ERR_INVALID_NAMESPACE;
}

bool has_rank(const pmix_proc_t& proc) {
    if (proc.rank == PMIX_RANK_WILDCARD) return true;
    Infos about;
    about.text(PMIX_NSPACE, proc.nspace);
    Answers size;
    query({PMIX_JOB_SIZE}, about, size);
    const pmix_value_t* value = size.find(PMIX_JOB_SIZE);
    return value == nullptr || value->type != PMIX_UINT32 || proc.rank < value->data.uint32;
}

int failed(const char* command, const char* what, pmix_status_t status) {
    std::fprintf(stderr, "%s: %s: %s (%d)\n", command, what, PMIx_Error_string(status), status);
    return status == PMIX_ERR_UNREACH || status == PMIX_ERR_LOST_CONNECTION ? kNoServer : kFailed;
}

}  // namespace commands
