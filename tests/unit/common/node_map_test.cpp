// SPDX-License-Identifier: BSD-3-Clause
// Node lists and process maps: every form that hosts pass, round trips, hostile text, and what a large job costs.
#include "support/status.h"
#include "unit/common/placement_setting.h"

namespace pmix::common::node_map_test {
namespace {

// rows: V3
TEST(NodeMap, EveryFormThatHostsPass) {
    const NameList two{"node1", "node2"};
    EXPECT_EQ(two, names_of("node1,node2"));
    EXPECT_EQ(two, names_of("raw:node1,node2"));
    EXPECT_EQ(two, names_of("pmix[node[1:1-2]]"));
    EXPECT_EQ(two, names_of("pmix[node1,node2]"));
    EXPECT_EQ(two, names_of(std::string_view{"pmix[node[1:1-2]]\0", 18}));
    EXPECT_EQ(two, names_of(std::string_view{"raw:\0node1,node2\0", 17}));
    EXPECT_EQ(two, names_of(std::string_view{"pmix:\0node1,node2\0", 18}));
    EXPECT_EQ(two, names_of(blob_of("node1,node2")));
    EXPECT_EQ(two, names_of(blob_of("node1,node2") + '\0'));
    EXPECT_EQ(NameList{"node1"}, names_of("node1"));
    EXPECT_EQ(NameList{"node1"}, names_of("pmix[node[1:1]]"));
    // These were written by 4.2.2.
    EXPECT_EQ((NameList{"n001", "n002", "n003", "n010"}), names_of("pmix[n[3:1-3,10]]"));
    EXPECT_EQ((NameList{"a1b", "a2b", "a3b"}), names_of("pmix[a[1:1-3]b]"));
    EXPECT_EQ((NameList{"node1", "gpu1", "node2"}), names_of("pmix[node[1:1],gpu[1:1],node[1:2]]"));
    EXPECT_EQ((NameList{"n9", "n10"}), names_of("pmix[n[1:9],n[2:10]]"));
    EXPECT_EQ((NameList{"10", "11"}), names_of("pmix[[2:10-11]]"));
    EXPECT_EQ((NameList{"n5", "n4", "n3"}), names_of("pmix[n[1:5,4,3]]"));
    EXPECT_EQ((NameList{"a1b2", "a1b3"}), names_of("pmix[a[1:1]b2,a[1:1]b3]"));
    EXPECT_EQ((NameList{"n1.x.org", "n2.x.org"}), names_of("pmix[n1.x.org,n2.x.org]"));
    // A width that is too small for the number does not cut it.
    EXPECT_EQ((NameList{"n9", "n10", "n11"}), names_of("pmix[n[1:9-11]]"));
    EXPECT_EQ((NameList{"n007"}), names_of("pmix[n[3:007]]"));
    // Only a map that says so has patterns; these are names, as odd as they are.
    EXPECT_EQ((NameList{"x[1-2]"}), names_of("x[1-2]"));
    EXPECT_EQ((NameList{"pmix1", "pmix2"}), names_of("pmix1,pmix2"));
    EXPECT_EQ((NameList{"pmix"}), names_of("pmix"));
    EXPECT_EQ((NameList{"pmix[n[1:1]]", "raw:x"}), names_of("raw:pmix[n[1:1]],raw:x"));
}

// rows: V3
TEST(NodeMap, OrderAndDuplicatesAreKeptEmptyItemsAreNot) {
    EXPECT_EQ((NameList{"b", "a", "b"}), names_of("b,a,b"));
    EXPECT_EQ((NameList{"a", "b"}), names_of(",a,,b,"));
    EXPECT_EQ((NameList{"a", "b"}), names_of(" a ,\tb\n"));
    EXPECT_EQ((NameList{"a1x", "b"}), names_of("pmix[ a[1:1]x , b ]"));
    EXPECT_EQ((NameList{"node1", "node2"}), names_of("pmix[node[1:1-2],]"));  // 4.2.2's text for "node1,,node2"
    EXPECT_EQ((NameList{"node1", "node1"}), names_of("pmix[node[1:1,1]]"));
}

// rows: V3
TEST(NodeMap, WhatIsNoListIsRefused) {
    for (std::string_view text : {"",
                                  ",",
                                  " , ",
                                  "raw:",
                                  "raw:,",
                                  "pmix:",
                                  "pmix[]",
                                  "pmix[",
                                  "pmix[a",
                                  "pmix[a[1:1]",
                                  "pmix[a[1:]]",
                                  "pmix[a[:1]]",
                                  "pmix[a[1]]",
                                  "pmix[a[1-2]]",
                                  "pmix[a[1:2-1]]",
                                  "pmix[a[1:1-]]",
                                  "pmix[a[1:-1]]",
                                  "pmix[a[1:1,]]",
                                  "pmix[a[1:x]]",
                                  "pmix[a[x:1]]",
                                  "pmix[a[1:1 2]]",
                                  "pmix[a[999:1]]",
                                  "pmix[a[1:99999999999999999999999]]",
                                  "pmix[a[1:0-4294967295]]",
                                  "pmix[a[1:0-1048576]]"}) {
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_node_map(text).status()) << text;
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, generate_node_map(text).status()) << text;
    }
    EXPECT_FALSE(parse_node_map(std::string_view{"a\0b", 3}));
    EXPECT_FALSE(parse_node_map(Bytes{}));
    EXPECT_FALSE(parse_node_map(std::string(5000, 'n')));
    // Few bytes that stand for much: each within its bound, together not.
    std::string many = "pmix[";
    for (int i = 0; i < 3; ++i) many += "n[6:0-499999],";
    many.back() = ']';
    EXPECT_FALSE(parse_node_map(many));
    EXPECT_FALSE(parse_node_map("pmix[" + std::string(3900, 'n') + "[1:0-999999]]"));
}

TEST(NodeMap, GeneratedTextIsShortAndKnown) {
    EXPECT_EQ("pmix[n[5:0-3]]", *generate_node_map("n00000,n00001,n00002,n00003"));
    EXPECT_EQ("raw:node1", *generate_node_map("node1"));
    EXPECT_EQ("raw:node1,node2", *generate_node_map("raw:node1,node2"));
    EXPECT_EQ("pmix[rack2-node[2:8-10].site.org]",
              *generate_node_map("rack2-node08.site.org,rack2-node09.site.org,rack2-node10.site.org"));
    EXPECT_EQ("raw:10,n2,11", *generate_node_map("10,n2,11"));
    EXPECT_EQ("raw:x[1-2],x[1-3]", *generate_node_map("x[1-2],x[1-3]"));
    std::string list;
    for (int i = 0; i < 10'000; ++i) {
        char name[16];
        std::snprintf(name, sizeof name, "%sn%05d", i == 0 ? "" : ",", i);
        list += name;
    }
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map(list));
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map("pmix[n[5:0-9999]]"));
    EXPECT_EQ("pmix[n[5:0-9999]]", *generate_node_map(blob_of(list)));
    EXPECT_EQ(list, [](const NameList& names) {
        std::string all;
        for (auto& name : names) all += (all.empty() ? "" : ",") + name;
        return all;
    }(names_of("pmix[n[5:0-9999]]")));
}

// rows: V3
TEST(NodeMap, AnyListComesBackAsItWas) {
    std::mt19937 random(20);
    const char* parts[] = {"n",
                           "gpu",
                           "-",
                           ".",
                           "x.org",
                           "0",
                           "1",
                           "9",
                           "07",
                           "008",
                           "41",
                           "999",
                           "rack",
                           "_",
                           ":",
                           "123456789012345678",
                           "1234567890123456789012"};
    for (int round = 0; round < 5'000; ++round) {
        NameList names;
        while (names.empty() || random() % 8 != 0) {
            std::string name;
            if (!names.empty() && random() % 3 != 0) {
                // A neighbour of the name before, as real lists have them.
                name = names.back();
                char& c = name[random() % name.size()];
                if (c >= '0' && c <= '9') c = static_cast<char>('0' + (c - '0' + (random() % 2 ? 1 : 7)) % 10);
            } else {
                for (size_t n = 1 + random() % 5; n > 0; --n) name += parts[random() % std::size(parts)];
            }
            names.push_back(name);
        }
        const std::string text = generate_node_map(names);
        ASSERT_EQ(names, names_of(text)) << text;
        std::string list;
        for (auto& name : names) list += (list.empty() ? "" : ",") + name;
        ASSERT_EQ(text, *generate_node_map(list));
        ASSERT_LE(text.size(), list.size() + 4);
    }
}

// rows: V3
TEST(RegexSize, IsWhatTheHostHolds) {
    EXPECT_EQ(0u, regex_size(nullptr));
    EXPECT_EQ(1u, regex_size(""));
    EXPECT_EQ(12u, regex_size("node1,node2"));
    EXPECT_EQ(18u, regex_size("pmix[node[1:1-2]]"));
    EXPECT_EQ(16u, regex_size("raw:node1,node2"));
    EXPECT_EQ(6u, regex_size("blob:\0"));
    EXPECT_EQ(7u, regex_size("blob:x"));
    const std::string blob = blob_of("node1,node2");
    EXPECT_EQ(blob.size(), regex_size(blob.data()));
    EXPECT_EQ(blob.size(), regex_size(as_bytes(blob)));
    EXPECT_EQ(blob.size(), regex_size(as_bytes(blob + "behind it")));
    EXPECT_EQ(12u, regex_size(as_bytes(std::string_view{"node1,node2\0x", 13})));
    EXPECT_EQ(0u, regex_size(as_bytes("node1,node2")));
    EXPECT_EQ(0u, regex_size(Bytes{}));
    for (size_t n = 0; n < blob.size(); ++n) {
        // Copies of exactly n bytes, so that a sanitizer sees a read beyond them.
        const std::vector<uint8_t> cut(blob.begin(), blob.begin() + static_cast<ptrdiff_t>(n));
        EXPECT_EQ(0u, regex_size(cut)) << n;
        if (n > 5) {
            EXPECT_FALSE(parse_node_map(cut)) << n;  // a shorter one is the name of a node
        }
    }
}

TEST(Blob, DamageIsRefused) {
    std::string list = "node1";
    for (int i = 2; i < 500; ++i) list += ",node" + std::to_string(i);
    const std::string blob = blob_of(list);
    ASSERT_EQ(499u, names_of(blob).size());
    for (size_t i = 32; i < blob.size(); ++i) {
        std::string bent = blob;
        bent[i] = static_cast<char>(bent[i] ^ 0x20);
        // The first 4 bytes of the payload are a hint; everything behind them is under the checksum.
        const size_t payload = blob.find('\0', 23) + 1;
        if (i >= payload && i < payload + 4) {
            EXPECT_EQ(499u, names_of(bent).size()) << i;
        } else {
            EXPECT_FALSE(parse_node_map(bent)) << i;
        }
    }
    for (const char* size :
         {"0", "1", "3", "4", "99999999", "18446744073709551615", "18446744073709551616", "-1", ""}) {
        const std::string lie =
            std::string("blob:\0component=zlib:\0size=", 27) + size + std::string(":\0", 2) + blob.substr(31);
        EXPECT_FALSE(parse_node_map(lie)) << size;
        EXPECT_LE(regex_size(as_bytes(lie)), lie.size()) << size;
    }
    EXPECT_FALSE(parse_node_map(std::string("blob:\0component=lz4:\0size=4:\0abcd", 33)));
    // A blob in a blob is a list of one odd name at most, never another level.
    EXPECT_FALSE(parse_node_map(blob_of(blob)));
}

TEST(Blob, ABombIsStopped) {
    EXPECT_FALSE(parse_proc_map(blob_of(std::string(8u << 20, ';'))));
    EXPECT_FALSE(parse_node_map(blob_of(std::string(8u << 20, ','))));
}

}  // namespace
}  // namespace pmix::common::node_map_test
