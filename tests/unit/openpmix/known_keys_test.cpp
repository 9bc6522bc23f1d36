// SPDX-License-Identifier: BSD-3-Clause
// Reserved keys by release, held against the table of the attributes of all releases.
#include "openpmix/known_keys.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "openpmix/hello.h"

namespace pmix::openpmix::known_keys_test {
namespace {

Traits of(const char* version, const char* encoding) {
    return *traits_of(version, encoding, kNotDescribed);
}

// The strings of the attributes, each with the releases that have it.
std::vector<std::pair<std::string, std::string>> attributes() {
    std::ifstream file(WIREUP_SOURCE_DIR "/tests/abi/tables/attributes.csv");
    std::vector<std::pair<std::string, std::string>> out;
    std::string line;
    std::getline(file, line);
    while (std::getline(file, line)) {
        std::istringstream in(line);
        std::vector<std::string> fields(7);
        for (std::string& field : fields) std::getline(in, field, ',');
        if (fields[1].rfind("pmix.", 0) == 0) out.emplace_back(fields[1], " " + fields[6] + " ");
    }
    return out;
}

TEST(KnownKeys, Release4_2_KnowsThoseOfItsHeaders) {
    const auto all = attributes();
    ASSERT_GT(all.size(), 600u);
    // Two names of one string: known by either.
    std::set<std::string> known;
    for (const auto& [key, releases] : all)
        if (releases.find(" 4.2.2 ") != releases.npos) known.insert(key);
    // Its headers give other strings to these names: 7.0 has changed them.
    for (const char* changed : {"pmix.qry.supqual", "pmix.jctrl.ckpttime", "pmix.fabdev.coord"}) known.erase(changed);
    const Traits traits = of("4.2.2", "v41");
    size_t refused = 0;
    for (const auto& [key, releases] : all) {
        // The library's own, which 4.2.2 does not survive; none is ever sent there.
        if (key == "pmix.qual.val") continue;
        EXPECT_EQ(known.count(key) != 0, is_known_key(traits, key)) << key;
        refused += known.count(key) == 0;
    }
    EXPECT_GT(refused, 100u);
}

TEST(KnownKeys, KeyOfNobody_IsKnownToThoseThatTakeAny) {
    for (const char* key : {"pmix.no.such.key", "pmix.iof.inhrt", "pmix.ruid", "pmix.", "pmix", "pmixkey"}) {
        EXPECT_FALSE(is_known_key(of("4.2.2rc2", "v41"), key)) << key;
        EXPECT_FALSE(is_known_key(of("4.2.9", "v41"), key)) << key;
        EXPECT_TRUE(is_known_key(of("4.1.2", "v41"), key)) << key;
        EXPECT_TRUE(is_known_key(of("5.0.7", "v41"), key)) << key;
        EXPECT_TRUE(is_known_key(of("7.0.0rc1", "v61"), key)) << key;
    }
    for (const char* key : {"a.users.key", "pmi.key", ""}) EXPECT_TRUE(is_known_key(of("4.2.2", "v41"), key)) << key;
}

}  // namespace
}  // namespace pmix::openpmix::known_keys_test
