// SPDX-License-Identifier: BSD-3-Clause
// docs/reference/wire.md's tables are what the lists in src/common say. Run with WIREUP_UPDATE_DOCS=1 to write them
// anew.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "common/protocol/messages.h"

namespace pmix::common::wire_page_test {
namespace {

template <class T>
std::string type_name() {
    if constexpr (std::is_enum_v<T>) {
        return type_name<std::underlying_type_t<T>>();
    } else if constexpr (std::is_same_v<T, bool>) {
        return "bool";
    } else if constexpr (std::is_integral_v<T>) {
        return (std::is_signed_v<T> ? "i" : "u") + std::to_string(sizeof(T) * 8);
    } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, std::string_view>) {
        return "string";
    } else if constexpr (std::is_same_v<T, Blob> || std::is_same_v<T, Bytes>) {
        return "bytes";
    } else if constexpr (std::is_same_v<T, ProcId>) {
        return "proc";
    } else if constexpr (std::is_same_v<T, Infos>) {
        return "infos";
    } else if constexpr (std::is_same_v<T, Apps>) {
        return "apps";
    } else if constexpr (std::is_same_v<T, Queries>) {
        return "queries";
    } else if constexpr (std::is_same_v<T, Reserved>) {
        return "reserved";
    } else if constexpr (std::is_same_v<T, SegmentRef>) {
        return "SegmentRef";
    } else if constexpr (std::is_same_v<T, CommitEntry>) {
        return "CommitEntry";
    } else if constexpr (std::is_same_v<T, PublishedItem>) {
        return "PublishedItem";
    } else if constexpr (std::is_same_v<T, RankRanges>) {
        return "RankRanges";
    } else {
        return "list of " + type_name<typename T::value_type>();
    }
}

template <class M>
std::string row(const char* name) {
    std::string out = "| `" + std::string(name) + "` | ";
    bool first = true;
    M::fields([&](const char* field, auto member) {
        M* none = nullptr;
        using T = std::remove_reference_t<decltype(none->*member)>;
        const std::string label = std::is_same_v<T, Reserved> ? "" : std::string(field) + " ";
        out += (first ? "" : ", ") + label + "*" + type_name<T>() + "*";
        first = false;
    });
    return out + (first ? "(none) |\n" : " |\n");
}

std::string tables() {
    std::string out = "| number | name | request or notification | reply | since |\n|---:|---|---|---|---:|\n";
#define WIREUP_COMMAND(number, name, request, reply, since) \
    out += "| " #number " | " #name " | `" #request "` | `" #reply "` | " #since " |\n";
#define WIREUP_NOTIFY(number, name, message, since) \
    out += "| " #number " | " #name " | `" #message "` | | " #since " |\n";
#include "common/protocol/commands.def"
    out += "\n| message | fields, in order |\n|---|---|\n";
#define WIREUP_MESSAGE(type) out += row<type>(#type);
#include "common/protocol/commands.def"
    out += row<SegmentRef>("SegmentRef") + row<CommitEntry>("CommitEntry") + row<PublishedItem>("PublishedItem") +
           row<RankRanges>("RankRanges");
    return out;
}

TEST(WirePage, IsEqualToTheListsOfTheSource) {
    const std::string path = WIREUP_SOURCE_DIR "/docs/reference/wire.md";
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    std::string page = text.str();
    const std::string begin = "<!-- tables: begin -->\n", end = "<!-- tables: end -->";
    const size_t from = page.find(begin), to = page.find(end);
    ASSERT_NE(std::string::npos, from);
    ASSERT_NE(std::string::npos, to);
    const size_t start = from + begin.size();
    if (std::getenv("WIREUP_UPDATE_DOCS") != nullptr) {
        page.replace(start, to - start, tables());
        std::ofstream(path) << page;
        return;
    }
    EXPECT_EQ(tables(), page.substr(start, to - start)) << "run this test with WIREUP_UPDATE_DOCS=1";
}

}  // namespace
}  // namespace pmix::common::wire_page_test
