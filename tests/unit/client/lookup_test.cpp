// SPDX-License-Identifier: BSD-3-Clause
// Realms, ranks and precedence of a Get in the stores.
#include "client/data/lookup.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "common/codec/pack.h"
#include "common/placement/node_map.h"
#include "dstore/writer.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::client::lookup_test {
namespace {

using common::ProcId;
using dstore::Owner;
using dstore::Record;

// A job of six ranks in two applications (0 to 3, 4 and 5) on nodes "n0" (0, 2, 4) and "n1" (1, 3, 5); the requester
// is rank 1.
class LookupTest : public ::testing::Test {
  protected:
    LookupTest() : self("job", 1) {
        auto made = dstore::Writer::create({6, 0, 0, 1 << 20});
        writer = std::move(made).value();
        put(Owner::job(), PMIX_JOB_SIZE, test::u32(6));
        put(Owner::job(), PMIX_NUM_NODES, test::u32(2));
        put(Owner::job(), PMIX_SESSION_ID, test::u32(9));
        put(Owner::session(9), PMIX_UNIV_SIZE, test::u32(64));
        put(Owner::session(9), PMIX_NUM_NODES, test::u32(10));
        put(Owner::session(12345), PMIX_NUM_NODES, test::u32(77));
        put(Owner::app(0), PMIX_NUM_NODES, test::u32(1));
        put(Owner::app(1), PMIX_NUM_NODES, test::u32(2));
        put(Owner::app(0), PMIX_APP_SIZE, test::u32(4));
        put(Owner::app(1), PMIX_APP_SIZE, test::u32(2));
        put(Owner::node(0), PMIX_MAX_PROCS, test::u32(32));
        put(Owner::node(1), PMIX_MAX_PROCS, test::u32(48));
        put(Owner::node(0), PMIX_NODE_SIZE, test::u32(5));
        put(Owner::node(1), PMIX_NODE_SIZE, test::u32(6));
        put(Owner::proc_info(2), PMIX_CPUSET, test::text("2-3"));

        auto map = common::parse_proc_map("0,2,4;1,3,5");
        procs = std::move(map).value();
        nodes = {"n0", "n1"};
        apps = {{0, 4}, {4, 2}};
        dstore::Placement placement;
        placement.procs = &procs;
        placement.nodes = nodes;
        node_ids = {100, 101};
        placement.node_ids = node_ids;
        placement.apps = apps;
        EXPECT_STATUS(PMIX_SUCCESS, writer->set_placement(placement));

        writer->add_local(1);
        const Record record{"app.key", encoded("from-1"), PMIX_GLOBAL};
        EXPECT_TRUE(writer->commit(1, {&record, 1}).ok());
        writer->add_local(3);
        const Record other{"rare", encoded("from-3"), PMIX_LOCAL};
        EXPECT_TRUE(writer->commit(3, {&other, 1}).ok());
        own_nspace = mine.intern("job");
    }

    common::Bytes encoded(const char* s) {
        kept.push_back(test::text(s));
        return kept.back();
    }
    void put(Owner owner, const char* key, const test::Buffer& value) {
        const Record record{key, value, PMIX_SCOPE_UNDEF};
        ASSERT_STATUS(PMIX_SUCCESS, writer->put(owner, {&record, 1}));
    }
    void store(pmix_rank_t rank, const char* key, const char* value, pmix_scope_t scope = PMIX_INTERNAL) {
        mine.put(own_nspace, rank, dstore::Key(key), scope, encoded(value));
    }
    Sources sources() { return {self, &writer->reader(), &writer->reader(), mine, own_nspace}; }

    GetRequest request(pmix_rank_t rank, const char* key) {
        GetRequest r;
        r.nspace = "job";
        r.own_nspace = true;
        r.rank = rank;
        r.key = key;
        return r;
    }
    // The value as a number; -1 for not found.
    int64_t number(const GetRequest& r) {
        Hit hit;
        if (look_up(sources(), r, hit) != PMIX_SUCCESS) return -1;
        common::Value v;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(hit.bytes(), v.c_ptr()));
        int64_t n = -2;
        EXPECT_STATUS(PMIX_SUCCESS, common::read_number(v.get(), &n));
        return n;
    }
    std::string text(const GetRequest& r) {
        Hit hit;
        if (look_up(sources(), r, hit) != PMIX_SUCCESS) return "-";
        common::Value v;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(hit.bytes(), v.c_ptr()));
        return v.type() == PMIX_STRING ? v.get().data.string : "?";
    }

    ProcId self;
    std::unique_ptr<dstore::Writer> writer;
    dstore::PrivateStore mine;
    dstore::PrivateStore::Nspace own_nspace = 0;
    common::ProcMap procs;
    std::vector<std::string> nodes;
    std::vector<uint32_t> node_ids;
    std::vector<dstore::AppRange> apps;
    std::vector<test::Buffer> kept;
};

// rows: K25
TEST_F(LookupTest, SessionExamples) {
    EXPECT_EQ(number(request(PMIX_RANK_WILDCARD, PMIX_UNIV_SIZE)), 64);
    GetRequest r = request(PMIX_RANK_WILDCARD, PMIX_NUM_NODES);
    r.realm = Realm::session;
    EXPECT_EQ(number(r), 10);
    r.rank = 3;  // the process does not count
    r.session_id = 12345;
    EXPECT_EQ(number(r), 77);
    r.session_id = 1;
    EXPECT_EQ(number(r), -1);
}

// rows: K23 K24 I5
TEST_F(LookupTest, JobExamples) {
    EXPECT_EQ(number(request(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE)), 6);
    EXPECT_EQ(number(request(PMIX_RANK_UNDEF, PMIX_JOB_SIZE)), 6);
    EXPECT_EQ(number(request(1, PMIX_JOB_SIZE)), 6);
    GetRequest r = request(PMIX_RANK_WILDCARD, PMIX_NUM_NODES);
    EXPECT_EQ(number(r), 2);
    r.realm = Realm::job;
    EXPECT_EQ(number(r), 2);
}

// rows: K26
TEST_F(LookupTest, ApplicationExamples) {
    EXPECT_EQ(number(request(1, PMIX_APP_SIZE)), 4);
    EXPECT_EQ(number(request(4, PMIX_APP_SIZE)), 2);
    GetRequest r = request(4, PMIX_NUM_NODES);
    r.realm = Realm::app;
    EXPECT_EQ(number(r), 2);
    r = request(1, PMIX_NUM_NODES);
    r.realm = Realm::app;
    EXPECT_EQ(number(r), 1);
    r.appnum = 1;
    EXPECT_EQ(number(r), 2);
    r.appnum = 5;
    EXPECT_EQ(number(r), -1);
    r = request(PMIX_RANK_WILDCARD, PMIX_APP_SIZE);  // the caller's
    EXPECT_EQ(number(r), 4);
}

// rows: K27 K28
TEST_F(LookupTest, NodeExamples) {
    EXPECT_EQ(number(request(1, PMIX_NODE_SIZE)), 6);
    EXPECT_EQ(number(request(2, PMIX_NODE_SIZE)), 5);
    EXPECT_EQ(number(request(PMIX_RANK_WILDCARD, PMIX_NODE_SIZE)), 6);  // the caller's node
    GetRequest r = request(1, PMIX_MAX_PROCS);
    r.realm = Realm::node;
    EXPECT_EQ(number(r), 48);
    r.hostname = "n0";
    EXPECT_EQ(number(r), 32);
    r.hostname = {};
    r.node_id = 100;
    EXPECT_EQ(number(r), 32);
    r.node_id = 7;
    EXPECT_EQ(number(r), -1);
    r.node_id.reset();
    r.hostname = "elsewhere";
    EXPECT_EQ(number(r), -1);
}

// rows: K24
TEST_F(LookupTest, ThreeRealmsThreeValues) {
    GetRequest r = request(PMIX_RANK_WILDCARD, PMIX_NUM_NODES);
    std::map<Realm, int64_t> got;
    for (const Realm realm : {Realm::session, Realm::job, Realm::app}) {
        r.realm = realm;
        got[realm] = number(r);
    }
    EXPECT_EQ(got, (std::map<Realm, int64_t>{{Realm::session, 10}, {Realm::job, 2}, {Realm::app, 1}}));
}

// rows: K23
TEST_F(LookupTest, ProcessKeyNeedsARank) {
    EXPECT_EQ(text(request(2, PMIX_CPUSET)), "2-3");
    EXPECT_EQ(text(request(PMIX_RANK_WILDCARD, PMIX_CPUSET)), "-");
    EXPECT_EQ(text(request(1, PMIX_CPUSET)), "-");
}

// rows: K18 K22
TEST_F(LookupTest, PlainKeys) {
    EXPECT_EQ(text(request(1, "app.key")), "from-1");
    EXPECT_EQ(text(request(2, "app.key")), "-");
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "rare")), "from-3");
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "nobody")), "-");
    EXPECT_EQ(text(request(PMIX_RANK_WILDCARD, "app.key")), "-");
    EXPECT_EQ(text(request(99, "app.key")), "-");
}

// rows: K2 K7 K18
TEST_F(LookupTest, OwnPutsGoFirstForPlainKeysAndLastForReservedOnes) {
    store(1, "app.key", "newer", PMIX_GLOBAL);
    EXPECT_EQ(text(request(1, "app.key")), "newer");
    store(2, PMIX_CPUSET, "mine");
    EXPECT_EQ(text(request(2, PMIX_CPUSET)), "2-3");
    store(2, "pmix.only.here", "mine");
    EXPECT_EQ(text(request(2, "pmix.only.here")), "mine");
    EXPECT_EQ(text(request(3, "pmix.only.here")), "-");
}

// What the host says of anything that the process is in comes before what the process has put under that key.
TEST_F(LookupTest, CommittedReservedKey_DoesNotHideTheHosts) {
    const auto fake = test::u32(6);
    const Record records[] = {{PMIX_NUM_NODES, fake, PMIX_GLOBAL}, {PMIX_UNIV_SIZE, fake, PMIX_GLOBAL},
                              {PMIX_APP_SIZE, fake, PMIX_GLOBAL},  {PMIX_NODE_SIZE, fake, PMIX_GLOBAL},
                              {PMIX_CPUSET, fake, PMIX_GLOBAL},    {"pmix.only.here", fake, PMIX_GLOBAL}};
    writer->add_local(2);
    EXPECT_TRUE(writer->commit(2, records).ok());
    EXPECT_EQ(number(request(2, PMIX_NUM_NODES)), 2);
    EXPECT_EQ(number(request(2, PMIX_UNIV_SIZE)), 64);
    EXPECT_EQ(number(request(2, PMIX_APP_SIZE)), 4);
    EXPECT_EQ(number(request(2, PMIX_NODE_SIZE)), 5);
    EXPECT_EQ(text(request(2, PMIX_CPUSET)), "2-3");
    EXPECT_EQ(number(request(2, "pmix.only.here")), 6) << "nobody else says it";
}

// A caller that does not know whose key it is may have put it itself, for whichever peers.
TEST_F(LookupTest, KeyOfAnyRank_IsFoundWhereTheCallerHasPutIt) {
    store(self.rank, "inside", "mine");
    store(self.rank, "remote", "mine", PMIX_REMOTE);
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "inside")), "mine");
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "remote")), "mine");
    store(PMIX_RANK_UNDEF, "for.any", "mine");
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "for.any")), "mine");
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "rare")), "from-3");
    mine.remove(own_nspace, self.rank, dstore::Key("rare"), PMIX_GLOBAL);
    EXPECT_EQ(text(request(PMIX_RANK_UNDEF, "rare")), "from-3") << "another process has one";
}

// rows: K29
TEST_F(LookupTest, ScopeOfAHit) {
    store(1, "own", "x", PMIX_REMOTE);
    Hit own, local, host;
    ASSERT_STATUS(PMIX_SUCCESS, look_up(sources(), request(1, "own"), own));
    EXPECT_EQ(own.scope(), PMIX_REMOTE);
    ASSERT_STATUS(PMIX_SUCCESS, look_up(sources(), request(3, "rare"), local));
    EXPECT_EQ(local.scope(), PMIX_LOCAL);
    ASSERT_STATUS(PMIX_SUCCESS, look_up(sources(), request(PMIX_RANK_WILDCARD, PMIX_JOB_SIZE), host));
    EXPECT_EQ(host.scope(), PMIX_SCOPE_UNDEF);
}

// rows: K29
TEST_F(LookupTest, DataScope_OwnKeyInTwoScopes_EachIsFound) {
    const auto in = [&](pmix_scope_t scope, common::Rank rank, const char* key) {
        GetRequest r = request(rank, key);
        r.scope = scope;
        Hit hit;
        const pmix_status_t rc = look_up_in_scope(sources(), r, hit);
        if (rc == PMIX_ERR_NOT_FOUND) return std::string("-");
        EXPECT_STATUS(PMIX_SUCCESS, rc);
        common::Value v;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(hit.bytes(), v.c_ptr()));
        return std::string(v.get().data.string);
    };
    store(1, "two", "near", PMIX_LOCAL);
    EXPECT_EQ(in(PMIX_REMOTE, 1, "two"), "-");
    store(1, "two", "far", PMIX_REMOTE);
    store(1, "all", "everywhere", PMIX_GLOBAL);
    store(1, "far", "there", PMIX_REMOTE);
    store(1, "mine", "here", PMIX_INTERNAL);
    EXPECT_EQ(text(request(1, "two")), "far") << "what was put last";
    EXPECT_EQ(in(PMIX_LOCAL, 1, "two"), "near");
    EXPECT_EQ(in(PMIX_REMOTE, 1, "two"), "far");
    EXPECT_EQ(in(PMIX_GLOBAL, 1, "two"), "-");
    for (pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL}) EXPECT_EQ(in(scope, 1, "all"), "everywhere");
    EXPECT_EQ(in(PMIX_INTERNAL, 1, "all"), "-");
    EXPECT_EQ(in(PMIX_LOCAL, 1, "far"), "-");
    EXPECT_EQ(in(PMIX_INTERNAL, 1, "mine"), "here");
    EXPECT_EQ(in(PMIX_LOCAL, 1, "mine"), "-");
    // Of peers: rank 3 put it for local peers, rank 1 (before) for everybody.
    EXPECT_EQ(in(PMIX_LOCAL, 3, "rare"), "from-3");
    EXPECT_EQ(in(PMIX_REMOTE, 3, "rare"), "-");

    GetRequest all = request(1, "");
    all.scope = PMIX_REMOTE;
    auto infos = look_up_all(sources(), all);
    ASSERT_TRUE(infos.ok());
    std::map<std::string, std::string> seen;
    const pmix_data_array_t& array = *infos->get().data.darray;
    for (size_t i = 0; i < array.size; ++i) {
        const auto& info = static_cast<const pmix_info_t*>(array.array)[i];
        seen[info.key] = info.value.data.string;
    }
    const std::map<std::string, std::string> remote = {
        {"two", "far"}, {"all", "everywhere"}, {"far", "there"}, {"app.key", "from-1"}};
    EXPECT_EQ(seen, remote);
    // All keys with what the process itself finds, and with what local peers see.
    const auto two_in = [&](pmix_scope_t scope) {
        GetRequest r = request(1, "");
        r.scope = scope;
        auto all_infos = look_up_all(sources(), r);
        const pmix_data_array_t& list = *all_infos->get().data.darray;
        std::vector<std::string> found;
        for (size_t i = 0; i < list.size; ++i) {
            const auto& info = static_cast<const pmix_info_t*>(list.array)[i];
            if (std::string_view(info.key) == "two") found.emplace_back(info.value.data.string);
        }
        return found;
    };
    EXPECT_EQ(two_in(PMIX_SCOPE_UNDEF), std::vector<std::string>{"far"});
    EXPECT_EQ(two_in(PMIX_LOCAL), std::vector<std::string>{"near"});
}

// rows: K14
// What the segment still shows of a key that the process has deleted is not found any more, and what is left of a key
// is. rows: K38
TEST_F(LookupTest, DeletedKey_OfTheProcessItself_IsFoundInNoStore) {
    ASSERT_TRUE(writer->commit(1, test::Records().add("k", test::u32(1)).add("other", test::u32(2)).list()).ok());
    const auto ns = own_nspace;
    mine.put(ns, 1, dstore::Key("k"), PMIX_GLOBAL, test::u32(1));
    GetRequest r = request(1, "k");
    Hit before;
    ASSERT_STATUS(PMIX_SUCCESS, look_up(sources(), r, before));
    mine.remove(ns, 1, dstore::Key("k"), PMIX_GLOBAL);
    Hit after;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up(sources(), r, after));
    for (pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL}) {
        r.scope = scope;
        Hit in_scope;
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up_in_scope(sources(), r, in_scope)) << unsigned(scope);
    }
    r.scope = PMIX_SCOPE_UNDEF;
    r.key = {};
    auto all = look_up_all(sources(), r);
    ASSERT_TRUE(all.ok());
    for (size_t i = 0; i < all->get().data.darray->size; ++i)
        EXPECT_STRNE(static_cast<pmix_info_t*>(all->get().data.darray->array)[i].key, "k");
    // The process has stored the key for itself as well: then that is what is found, and afterwards nothing again.
    mine.put(ns, 1, dstore::Key("k"), PMIX_INTERNAL, test::u32(3));
    r.key = "k";
    Hit internal;
    EXPECT_STATUS(PMIX_SUCCESS, look_up(sources(), r, internal));
    EXPECT_EQ(internal.scope(), PMIX_INTERNAL);
    mine.remove(ns, 1, dstore::Key("k"), PMIX_INTERNAL);
    Hit again;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up(sources(), r, again));
    // A value for all that was deleted for local peers is no local data; it is left for remote ones.
    mine.put(ns, 1, dstore::Key("k"), PMIX_GLOBAL, test::u32(4));
    mine.remove(ns, 1, dstore::Key("k"), PMIX_LOCAL);
    EXPECT_EQ(number(r), 4) << "the process itself finds what is left";
    r.scope = PMIX_LOCAL;
    Hit local, remote;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up_in_scope(sources(), r, local));
    r.scope = PMIX_REMOTE;
    EXPECT_STATUS(PMIX_SUCCESS, look_up_in_scope(sources(), r, remote));
}

TEST_F(LookupTest, AllKeysOfARankOnceEach) {
    store(1, "app.key", "newer", PMIX_GLOBAL);
    store(1, "own", "x");
    GetRequest r = request(1, "");
    auto all = look_up_all(sources(), r);
    ASSERT_TRUE(all.ok());
    ASSERT_EQ(all->type(), PMIX_DATA_ARRAY);
    const pmix_data_array_t& array = *all->get().data.darray;
    ASSERT_EQ(array.type, PMIX_INFO);
    const auto* infos = static_cast<const pmix_info_t*>(array.array);
    std::map<std::string, int> seen;
    for (size_t i = 0; i < array.size; ++i) {
        ++seen[infos[i].key];
        if (std::string_view(infos[i].key) == "app.key") {
            EXPECT_STREQ(infos[i].value.data.string, "newer");
        }
    }
    EXPECT_EQ(seen["app.key"], 1);
    EXPECT_EQ(seen["own"], 1);
    r.rank = 99;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up_all(sources(), r).status());
}

// rows: K17
TEST_F(LookupTest, ForeignNamespaceWithoutASegment) {
    GetRequest r = request(0, PMIX_JOB_SIZE);
    r.nspace = "other";
    r.own_nspace = false;
    Sources from{self, nullptr, &writer->reader(), mine, own_nspace};
    Hit hit;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, look_up(from, r, hit));
}

}  // namespace
}  // namespace pmix::client::lookup_test
