// SPDX-License-Identifier: BSD-3-Clause
// A recorded conversation (recordings/README.md), taken apart into the handshake and frames of each connection.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/bytes.h"

namespace pmix::openpmix::testing {

struct Streams {
    std::vector<uint8_t> client;
    std::vector<uint8_t> server;
};

// By the number of the connection.
inline std::map<int, Streams> load_recording(const std::string& path) {
    std::map<int, Streams> connections;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const size_t comma = line.find(',');
        const size_t side = line.find('"');
        const size_t hex = line.find('"', line.find('"', side + 1) + 1) + 1;
        const size_t end = line.rfind('"');
        Streams& streams = connections[std::stoi(line.substr(1, comma - 1))];
        auto& stream = line[side + 1] == 'C' ? streams.client : streams.server;
        for (size_t i = hex; i + 1 < end; i += 2) {
            stream.push_back(static_cast<uint8_t>(std::stoi(line.substr(i, 2), nullptr, 16)));
        }
    }
    return connections;
}

// The release meant by the first part of a recording's name.
inline const char* release_of(const std::string& name) {
    static const std::map<std::string, const char*> releases = {
        {"u31", "3.1.5"},    {"e40", "4.0.0"},    {"u41", "4.1.2"},    {"b42", "4.2.2"},      {"u501", "5.0.1"},
        {"u506", "5.0.6"},   {"t50", "5.0.7"},    {"u509", "5.0.9"},   {"u61", "6.1.1rc2"},   {"s70", "7.0.0rc1"},
        {"ompi41", "4.2.2"}, {"ompi50", "5.0.7"}, {"ompi60", "7.0.0"}, {"prun-t50", "5.0.7"}, {"prun-s70", "7.0.0rc1"},
    };
    const auto whole = releases.find(name);
    const auto found = whole != releases.end() ? whole : releases.find(name.substr(0, name.find('-')));
    return found == releases.end() ? nullptr : found->second;
}

}  // namespace pmix::openpmix::testing
