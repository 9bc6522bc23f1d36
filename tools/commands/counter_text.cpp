// SPDX-License-Identifier: BSD-3-Clause
#include "counter_text.h"

#include <cinttypes>
#include <cstdio>

#include "server_page.h"
#include "tool.h"

namespace commands {
namespace {

struct Metric {
    const char* name;
    const char* type;
    const char* help;
    const char* key;
    const char* label;  // tells the numbers of an array apart; nullptr: there is one number
    bool microseconds = false;
};

constexpr Metric kMetrics[] = {
    {"wireup_requests_total", "counter", "Requests received since the start of the server, by kind.",
     WIREUP_COUNTER_REQUESTS, "kind"},
    {"wireup_refused_total", "counter", "Requests, connections and commits that the server has refused.",
     WIREUP_COUNTER_REFUSED, "what"},
    {"wireup_upcalls_total", "counter", "Calls of the resource manager's entries.", WIREUP_COUNTER_UPCALLS, nullptr},
    {"wireup_upcalls_open", "gauge", "Calls that the resource manager has not answered yet.", WIREUP_COUNTER_OPEN,
     nullptr},
    {"wireup_held_bytes", "gauge", "Memory that the server holds for the processes of a user, beside the data of jobs.",
     WIREUP_COUNTER_HELD, "uid"},
    {"wireup_connections", "gauge", "Processes that are connected, by kind.", WIREUP_COUNTER_PEERS, "kind"},
    {"wireup_loop_longest_pass_seconds", "gauge",
     "Longest time for which one pass has kept the event loop busy, since the start of the server.",
     WIREUP_COUNTER_STALL, nullptr, true},
    {"wireup_loop_slow_passes_total", "counter", "Passes that have kept the event loop busy for 50 ms or longer.",
     WIREUP_COUNTER_SLOW, nullptr},
};

// Of a label's value: a namespace may have any characters.
std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') out += '\\';
        out += c == '\n' ? std::string("\\n") : std::string(1, c);
    }
    return out;
}

std::string number(const pmix_value_t& value, bool microseconds) {
    if (value.type != PMIX_UINT64) return "NaN";
    char text[32];
    if (microseconds) {
        std::snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, value.data.uint64 / 1'000'000,
                      value.data.uint64 % 1'000'000);
    } else {
        std::snprintf(text, sizeof text, "%" PRIu64, value.data.uint64);
    }
    return text;
}

std::string labels_of(const CountedServer& server) {
    if (server.infos == nullptr) return "server=\"\",pid=\"" + std::to_string(server.pid) + '"';
    const auto text = [&](const char* key) { return escaped(text_of(server.infos, server.count, key)); };
    return "server=\"" + text(PMIX_SERVER_NSPACE) + ":" + text(PMIX_SERVER_RANK) + "\",pid=\"" +
           text(PMIX_SERVER_PIDINFO) + '"';
}

std::string heading(const char* name, const char* type, const char* help) {
    return std::string("# HELP ") + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n';
}

std::string lines(const Metric& metric, const CountedServer& server) {
    const pmix_value_t* value = value_of(server.infos, server.count, metric.key);
    if (value == nullptr) return "";
    const std::string start = metric.name + ("{" + labels_of(server));
    if (metric.label == nullptr) return start + "} " + number(*value, metric.microseconds) + '\n';
    std::string out;
    size_t n = 0;
    const pmix_info_t* parts = infos_in(*value, n);
    for (size_t i = 0; i < n; ++i)
        out +=
            start + ',' + metric.label + "=\"" + escaped(parts[i].key) + "\"} " + number(parts[i].value, false) + '\n';
    return out;
}

}  // namespace

std::string counter_text(const std::vector<CountedServer>& servers) {
    std::string out = heading("wireup_up", "gauge", "1: the server answers; 0: it exists and does not.");
    for (const CountedServer& server : servers)
        out += "wireup_up{" + labels_of(server) + "} " + (server.infos != nullptr ? "1\n" : "0\n");
    for (const Metric& metric : kMetrics) {
        out += heading(metric.name, metric.type, metric.help);
        for (const CountedServer& server : servers) out += lines(metric, server);
    }
    return out;
}

}  // namespace commands
