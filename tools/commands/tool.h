// SPDX-License-Identifier: BSD-3-Clause
// A command's connection, the infos of its calls, and how it shows the answers.
//
// One thread. A command that finds no server prints one sentence and exits (status 3); one that is refused exits 1.
#pragma once

#include <pmix_tool.h>

#include <string>
#include <utility>
#include <vector>

#include "options.h"

namespace commands {

// Infos for a call; freed with it.
class Infos {
  public:
    Infos() = default;
    Infos(const Infos&) = delete;
    Infos& operator=(const Infos&) = delete;
    Infos(Infos&& other) noexcept : infos_(std::exchange(other.infos_, {})) {}
    Infos& operator=(Infos&& other) noexcept {
        std::swap(infos_, other.infos_);
        return *this;
    }
    ~Infos();
    void copy(const pmix_info_t& info);
    // A value that is an array of infos.
    void part(const std::string& key, Infos& inner);
    void add(const std::string& key, const void* value, pmix_data_type_t type);
    void text(const std::string& key, const std::string& value) { add(key, value.c_str(), PMIX_STRING); }
    void flag(const std::string& key) {
        const bool yes = true;
        add(key, &yes, PMIX_BOOL);
    }
    // NAME=VALUE from a command line: a name of the headers or its string. The value takes the type that the headers
    // give the attribute, and what is no such value is a wrong command line. For other keys: true, false, a number or
    // text. NAME alone is true.
    void from_text(const CommandLine& line, const std::string& setting);
    pmix_info_t* data() { return infos_.empty() ? nullptr : infos_.data(); }
    const pmix_info_t* data() const { return infos_.empty() ? nullptr : infos_.data(); }
    size_t size() const { return infos_.size(); }

  private:
    std::vector<pmix_info_t> infos_;
};

// The role in which a command connects: a tool, which the host may refuse; an observer, which asks the server's library
// only; either, for commands that only ask: a tool, or an observer where the host takes no tools; none, for what this
// process's library answers.
enum class Role { tool, observer, either, none };

// A server of this node, as it describes itself.
struct SeenServer {
    std::string name, uri, pid, folder;
};
std::vector<SeenServer> seen_servers();

// When several servers may be meant: an end of the command, with their list, or a tool without a server.
enum class Alike { refused, listed };

// Connected from construction to destruction. In a rank's environment it is not that rank: only the server is taken
// from there.
class Tool {
  public:
    explicit Tool(const CommandLine& line, Role role = Role::tool, Alike alike = Alike::refused);
    // At this server, whatever the options name.
    Tool(const CommandLine& line, Role role, const std::string& uri);
    ~Tool();
    const pmix_proc_t& self() const { return self_; }
    // Those that may be meant, of a tool that has none.
    const std::vector<SeenServer>& alike() const { return alike_; }

  private:
    void connect(const CommandLine& line, Role role, Infos& infos, Alike alike);

    pmix_proc_t self_;
    std::vector<SeenServer> alike_;
};

// The infos that the options give about the server to look for.
void add_choice(const CommandLine& line, Infos& infos);

// True: an address, or "file:PATH" of a file with one, as servers with OpenPMIx's library have. They take tools where
// their resource manager does, and no observers.
bool is_openpmix_address(const std::string& uri);

// The answers to one query; keys as strings. Empty: none, and status is the reason.
struct Answers {
    pmix_status_t status = PMIX_ERROR;
    pmix_info_t* infos = nullptr;
    size_t count = 0;
    Answers() = default;
    Answers(const Answers&) = delete;
    Answers& operator=(const Answers&) = delete;
    ~Answers();
    // The value of a key, or nullptr.
    const pmix_value_t* find(const char* key) const;
};
void query(const std::vector<std::string>& keys, Infos& qualifiers, Answers& answers);

// "pmix.qry.ns" for "PMIX_QUERY_NAMESPACES" and for itself.
std::string attribute_string(const std::string& name);
// A status by name or number. False: neither.
bool to_status(const std::string& text, pmix_status_t& out);
// "NSPACE" or "NSPACE:RANK[,RANK...]". Empty: neither.
std::vector<pmix_proc_t> to_procs(const std::string& text);

// For people: one line, or indented lines for arrays and structs.
std::string shown(const pmix_value_t& value, unsigned indent = 0);
std::string shown(const pmix_proc_t& proc);
// As JSON. Lists are arrays, infos objects; keys that occur several times become arrays. What is no number for JSON
// (NaN, infinite) is null, and bytes that are no UTF-8 are U+FFFD.
std::string json(const pmix_value_t& value);
std::string json_text(const std::string& text);
// The text before the next element of a list or object: a comma, or nothing before the first element.
const char* json_comma(const std::string& elements_so_far);
std::string json_infos(const pmix_info_t* infos, size_t n);

// False: no job of this name is in the server or its resource manager, and no tool of the server has it.
bool job_exists(const std::string& nspace);
// False: the job is known to be smaller.
bool has_rank(const pmix_proc_t& proc);

// "it failed" on stderr; the exit status.
int failed(const char* command, const char* what, pmix_status_t status);

// The infos in a value, or none.
inline const pmix_info_t* infos_in(const pmix_value_t& value, size_t& n) {
    const bool has =
        value.type == PMIX_DATA_ARRAY && value.data.darray != nullptr && value.data.darray->type == PMIX_INFO;
    n = has ? value.data.darray->size : 0;
    return has ? static_cast<const pmix_info_t*>(value.data.darray->array) : nullptr;
}

}  // namespace commands
