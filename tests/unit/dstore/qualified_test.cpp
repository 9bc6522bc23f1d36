// SPDX-License-Identifier: BSD-3-Clause
// Qualified values: how they are told apart in a store, and how a Get finds those of a host.
#include "dstore/qualified.h"

#include <gtest/gtest.h>

#include <array>

#include "client/data/get_request.h"
#include "client/data/lookup_qualified.h"
#include "common/codec/pack.h"
#include "common/values/array_value.h"
#include "server/namespaces/namespace_data.h"
#include "server/namespaces/registry.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::qualified_test {
namespace {

using common::InfoList;
using common::ProcId;
using common::Value;
using dstore::Owner;
using test::TestServer;

Value text(const char* s) {
    return std::move(Value::string(s)).value();
}

// Infos as a program writes them; a leading '*' of a key marks a qualifier.
InfoList list_of(std::initializer_list<std::pair<const char*, Value>> entries) {
    InfoList list;
    for (const auto& [key, value] : entries) {
        const bool marked = key[0] == '*';
        auto copy = Value::copy_of(value.get());
        list.append(marked ? key + 1 : key, std::move(copy).value(), marked ? PMIX_INFO_QUALIFIER : 0);
    }
    return list;
}
Value array(InfoList&& inner) {
    return std::move(common::array_value(std::move(inner))).value();
}

dstore::Qualifiers marked(const InfoList& infos) {
    return std::move(dstore::Qualifiers::marked_in(infos)).value();
}

TEST(Qualifiers, Set_OrderAndRepetition_MakeNoDifference) {
    const auto one = marked(list_of({{"*a", text("1")}, {"*b", Value::u32(2)}, {"c", text("no qualifier")}}));
    const auto same = marked(list_of({{"*b", Value::u32(2)}, {"*a", text("1")}, {"*a", text("1")}}));
    const auto other = marked(list_of({{"*a", text("1")}, {"*b", Value::u32(3)}}));
    const auto fewer = marked(list_of({{"*a", text("1")}}));
    EXPECT_EQ(2u, one.size());
    EXPECT_EQ(one, same);
    EXPECT_NE(one, other);
    EXPECT_EQ(one.key_for("key"), same.key_for("key"));
    EXPECT_NE(one.key_for("key"), other.key_for("key"));
    EXPECT_NE(one.key_for("key"), one.key_for("key2"));
    EXPECT_TRUE(fewer.all_in(one));
    EXPECT_FALSE(one.all_in(fewer));
}

TEST(Qualifiers, StoredKey_LongPrimaryKey_IsAKeyAndKeepsItsKind) {
    const auto set = marked(list_of({{"*a", text("1")}}));
    const std::string longest(common::kMaxKeyLength, 'k');
    EXPECT_TRUE(common::is_valid_key(set.key_for(longest)));
    EXPECT_TRUE(dstore::may_qualify(set.key_for(longest), longest));
    EXPECT_NE(set.key_for(longest), set.key_for(longest.substr(1)));
    EXPECT_TRUE(common::is_reserved_key(set.key_for(PMIX_JOB_SIZE)));
    EXPECT_FALSE(common::is_reserved_key(set.key_for("app.key")));
    EXPECT_FALSE(dstore::may_qualify("app.key", "app.key"));
    EXPECT_FALSE(dstore::may_qualify(set.key_for("app.key2"), "app.key"));
}

// A process may put anything under a key that looks like one of ours.
TEST(Qualifiers, StoredValue_OfAnotherForm_IsNotTakenForOne) {
    const auto encoded = [](const Value& value) {
        common::ByteWriter w;
        EXPECT_STATUS(PMIX_SUCCESS, common::encode_value(w, value.get()));
        return w.take();
    };
    const auto status = [&](const Value& value) { return dstore::read_stored(encoded(value), "key").status(); };
    EXPECT_STATUS(PMIX_SUCCESS, status(array(list_of({{"key", text("v")}, {"*a", text("1")}}))));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(text("no array")));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(array(InfoList())));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(array(list_of({{"other", text("v")}, {"*a", text("1")}}))));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, status(array(list_of({{"key", text("v")}, {"a", text("1")}}))));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, dstore::read_stored({}, "key").status());
}

// A host's job, and a client's Gets of it.
class HostsQualified : public ::testing::Test {
  protected:
    HostsQualified() : server(nullptr) { own_nspace = mine.intern("job"); }
    void add(InfoList&& more) {
        InfoList list = list_of({{PMIX_JOB_SIZE, Value::u32(2)},
                                 {PMIX_SESSION_ID, Value::u32(7)},
                                 {PMIX_NODE_MAP, text("n0,n1")},
                                 {PMIX_PROC_MAP, text("0;1")}});
        list.append_all(more.c_array(), more.size());
        ASSERT_STATUS(PMIX_SUCCESS, server.add_job("job", 1, list));
    }
    // As client/data/get searches.
    std::string get(pmix_rank_t rank, const char* key, const InfoList& infos) {
        const ProcId self("job", 0);
        const pmix_proc_t proc = ProcId("job", rank).to_c();
        auto request = client::parse_get(self, &proc, key, infos.c_array(), infos.size());
        if (!request) return "refused";
        const auto& reader = server.parts().registry.find("job")->data->reader();
        const client::Sources from{self, &reader, &reader, mine, own_nspace};
        if (request->qualified) {
            auto value = client::look_up_qualified(from, *request);
            if (value) return value->get().type == PMIX_STRING ? value->get().data.string : "?";
            if (!client::qualifies_realm_only(*request)) return "-";
        }
        client::Hit hit;
        if (client::look_up(from, *request, hit) != PMIX_SUCCESS) return "-";
        Value value;
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(hit.bytes(), value.c_ptr()));
        return value.type() == PMIX_STRING ? value.get().data.string : "?";
    }
    static Value qualified(std::initializer_list<std::pair<const char*, Value>> entries) {
        return array(list_of(entries));
    }

    TestServer server;
    dstore::PrivateStore mine;
    dstore::PrivateStore::Nspace own_nspace = 0;
};

// rows: K36
TEST_F(HostsQualified, Job_SeveralValuesOfOneKey_EachByItsQualifiers) {
    InfoList list = list_of({{"host.key", text("plain")}});
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"host.key", text("red")}, {"*colour", text("red")}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"host.key", text("blue")}, {"*colour", text("blue")}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"pmix.host", text("of 1")}, {"*number", Value::u32(1)}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"pmix.host", text("of 2")}, {"*number", Value::u32(2)}}));
    add(std::move(list));
    EXPECT_EQ("plain", get(PMIX_RANK_WILDCARD, "host.key", {}));
    EXPECT_EQ("red", get(PMIX_RANK_WILDCARD, "host.key", list_of({{"*colour", text("red")}})));
    EXPECT_EQ("blue", get(PMIX_RANK_WILDCARD, "host.key", list_of({{"*colour", text("blue")}})));
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, "host.key", list_of({{"*colour", text("green")}})));
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, "host.key", list_of({{"*colour", Value::u32(1)}}))) << "another type";
    EXPECT_EQ("of 1", get(0, "pmix.host", list_of({{"*number", Value::u32(1)}})));
    EXPECT_EQ("of 2", get(0, "pmix.host", list_of({{"*number", Value::u32(2)}})));
    EXPECT_EQ("-", get(0, "pmix.host", {}));
}

// rows: K36
// proves: PMIx_server_register_nspace PMIX_QUALIFIED_VALUE
TEST_F(HostsQualified, ByAppSessionAndProcess_EachLevel_HasItsOwn) {
    InfoList list = list_of({{"q", text("job")}});
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("app 0")}, {"*" PMIX_APPNUM, Value::u32(0)}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("app 1")}, {"*" PMIX_APPNUM, Value::u32(1)}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("session 7")}, {"*" PMIX_SESSION_ID, Value::u32(7)}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("session 8")}, {"*" PMIX_SESSION_ID, Value::u32(8)}}));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("node 1")}, {PMIX_HOSTNAME, text("n1")}}));
    add(std::move(list));
    const auto yes = [] { return Value::flag(true); };
    const auto level = [&](const char* realm, const char* which, uint32_t number) {
        InfoList infos;
        infos.append_flag(realm, true);
        infos.append_number<uint32_t>(which, number, PMIX_UINT32);
        return get(PMIX_RANK_WILDCARD, "q", infos);
    };
    EXPECT_EQ("job", get(PMIX_RANK_WILDCARD, "q", {}));
    EXPECT_EQ("app 0", level(PMIX_APP_INFO, PMIX_APPNUM, 0));
    EXPECT_EQ("app 1", level(PMIX_APP_INFO, PMIX_APPNUM, 1));
    EXPECT_EQ("-", level(PMIX_APP_INFO, PMIX_APPNUM, 2));
    EXPECT_EQ("session 7", level(PMIX_SESSION_INFO, PMIX_SESSION_ID, 7));
    EXPECT_EQ("session 8", level(PMIX_SESSION_INFO, PMIX_SESSION_ID, 8));
    EXPECT_EQ("app 1", get(PMIX_RANK_WILDCARD, "q", list_of({{"*" PMIX_APPNUM, Value::u32(1)}})));
    EXPECT_EQ("session 8", get(PMIX_RANK_WILDCARD, "q", list_of({{"*" PMIX_SESSION_ID, Value::u32(8)}})));
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, "q", list_of({{"*" PMIX_SESSION_ID, Value::u32(9)}})));
    EXPECT_EQ("node 1", get(PMIX_RANK_WILDCARD, "q", list_of({{PMIX_NODE_INFO, yes()}, {PMIX_HOSTNAME, text("n1")}})));
    // A level is a qualifier of values that no host has qualified, too.
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, "nothing", list_of({{"*" PMIX_APPNUM, Value::u32(1)}})));
}

// rows: K36
TEST_F(HostsQualified, InArraysOfALevel_TheValueIsThatLevels) {
    InfoList app = list_of({{PMIX_APPNUM, Value::u32(1)}, {PMIX_WDIR, text("/one")}});
    app.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("app 1, red")}, {"*colour", text("red")}}));
    InfoList session = list_of({{PMIX_SESSION_ID, Value::u32(7)}, {PMIX_CLUSTER_ID, text("cluster 7")}});
    InfoList next = list_of({{PMIX_SESSION_ID, Value::u32(8)}, {PMIX_CLUSTER_ID, text("cluster 8")}});
    session.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("session, red")}, {"*colour", text("red")}}));
    InfoList process = list_of({{PMIX_RANK, Value::number<pmix_rank_t>(1, PMIX_PROC_RANK)}});
    process.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("rank 1, red")}, {"*colour", text("red")}}));
    process.append(PMIX_QUALIFIED_VALUE,
                   qualified({{"q", text("rank 1, both")}, {"*colour", text("blue")}, {"*size", Value::u32(3)}}));
    InfoList list;
    list.append(PMIX_APP_INFO_ARRAY, array(std::move(app)));
    list.append(PMIX_SESSION_INFO_ARRAY, array(std::move(session)));
    list.append(PMIX_SESSION_INFO_ARRAY, array(std::move(next)));
    list.append(PMIX_PROC_INFO_ARRAY, array(std::move(process)));
    list.append(PMIX_QUALIFIED_VALUE, qualified({{"q", text("unmarked")}, {"colour", text("red")}}));
    add(std::move(list));
    const auto yes = [] { return Value::flag(true); };
    const auto red = [] { return text("red"); };
    EXPECT_EQ("app 1, red", get(PMIX_RANK_WILDCARD, "q",
                                list_of({{PMIX_APP_INFO, yes()}, {PMIX_APPNUM, Value::u32(1)}, {"*colour", red()}})));
    EXPECT_EQ("session, red", get(PMIX_RANK_WILDCARD, "q", list_of({{PMIX_SESSION_INFO, yes()}, {"*colour", red()}})));
    EXPECT_EQ("/one", get(PMIX_RANK_WILDCARD, PMIX_WDIR, list_of({{"*" PMIX_APPNUM, Value::u32(1)}})))
        << "it lies with the application, and nobody has qualified it";
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, PMIX_WDIR, list_of({{"*" PMIX_APPNUM, Value::u32(1)}, {"*colour", red()}})));
    for (const uint32_t id : {7u, 8u}) {
        EXPECT_EQ("cluster " + std::to_string(id),
                  get(PMIX_RANK_WILDCARD, PMIX_CLUSTER_ID, list_of({{"*" PMIX_SESSION_ID, Value::u32(id)}})))
            << "it lies with the session, by whose number alone it is asked for";
    }
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, PMIX_CLUSTER_ID, list_of({{"*" PMIX_SESSION_ID, Value::u32(9)}})));
    EXPECT_EQ("-", get(PMIX_RANK_WILDCARD, PMIX_CLUSTER_ID,
                       list_of({{"*" PMIX_SESSION_ID, Value::u32(7)}, {"*colour", red()}})));
    EXPECT_EQ("rank 1, red", get(1, "q", list_of({{"*colour", red()}})));
    EXPECT_EQ("-", get(0, "q", list_of({{"*colour", red()}})));
    EXPECT_EQ("rank 1, both", get(1, "q", list_of({{"*size", Value::u32(3)}, {"*colour", text("blue")}})));
    EXPECT_EQ("rank 1, both", get(1, "q", list_of({{"*size", Value::u32(3)}}))) << "these, and more";
    EXPECT_EQ("-", get(1, "q", list_of({{"*size", Value::u32(4)}})));
    // Without a mark there is no qualifier, and the value is an ordinary one.
    EXPECT_EQ("unmarked", get(PMIX_RANK_WILDCARD, "q", {}));
}

// In whichever order the values were stored: of those that match, the one with the fewest further qualifiers. rows: K36
TEST_F(HostsQualified, Get_SeveralValuesMatch_FewestFurtherQualifiersWin) {
    const auto red = [] { return text("red"); };
    const auto three = [&](const char* key) {
        return qualified({{key, text("three")}, {"*colour", red()}, {"*size", Value::u32(1)}, {"*shape", text("o")}});
    };
    const auto two = [&](const char* key) {
        return qualified({{key, text("two")}, {"*colour", red()}, {"*size", Value::u32(1)}});
    };
    InfoList list;
    list.append(PMIX_QUALIFIED_VALUE, three("down"));
    list.append(PMIX_QUALIFIED_VALUE, two("down"));
    list.append(PMIX_QUALIFIED_VALUE, two("up"));
    list.append(PMIX_QUALIFIED_VALUE, three("up"));
    add(std::move(list));
    for (const char* key : {"down", "up"}) {
        EXPECT_EQ("two", get(PMIX_RANK_WILDCARD, key, list_of({{"*colour", red()}}))) << key;
        EXPECT_EQ("three", get(PMIX_RANK_WILDCARD, key, list_of({{"*shape", text("o")}}))) << key;
    }
}

// A value that has more qualifiers than were asked for is found in its own scope only. rows: K36
TEST_F(HostsQualified, Get_OwnValueWithMoreQualifiers_ItsScopeCounts) {
    add({});
    const Value value = qualified({{"q", text("local")}, {"*colour", text("red")}, {"*size", Value::u32(1)}});
    auto what = dstore::QualifiedValue::read(value.get());
    auto stored = dstore::QualifiedValue::stored(value.get());
    ASSERT_TRUE(what.ok() && stored.ok());
    common::ByteWriter bytes;
    ASSERT_STATUS(PMIX_SUCCESS, common::encode_value(bytes, stored->get()));
    mine.put(own_nspace, 0, dstore::Key(what->qualifiers.key_for("q")), PMIX_LOCAL, bytes.view());
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE}) {
        InfoList infos = list_of({{"*colour", text("red")}});
        infos.append(PMIX_DATA_SCOPE, &scope, PMIX_SCOPE);
        EXPECT_EQ(scope == PMIX_LOCAL ? "local" : "-", get(0, "q", infos)) << int(scope);
    }
}

TEST_F(HostsQualified, Malformed_AreRefused) {
    for (Value& bad :
         std::array{text("no array"), array(list_of({{PMIX_QUALIFIED_VALUE, text("v")}, {"*a", text("1")}}))}) {
        InfoList list;
        list.append(PMIX_QUALIFIED_VALUE, std::move(bad));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, server.add_job("bad", 1, list));
    }
}

}  // namespace
}  // namespace pmix::qualified_test
