// SPDX-License-Identifier: BSD-3-Clause
// Process sets of a server: their names, their members, how they are announced.
#include "support/cpu_time.h"
#include "support/sanitizers.h"
#include "support/status.h"
#include "unit/server/server_events_setting.h"

namespace server_process_sets_test {

using namespace pmix;
using namespace pmix::test;

// rows: S1 S2 S3
TEST(ServerEventsTest, MembersFindTheNamesOfTheirSets) {
    EventsSetting s;
    const auto define = [&](const char* name, std::vector<ProcId> members) {
        return s.server.on_loop([&] { return s.server.setup().define_process_set(name, std::move(members)); });
    };
    const auto names_of = [&](FakeClient& c, uint32_t rank) {
        std::vector<std::string> names;
        dstore::Found found;
        common::Value value;
        if (c.reader()->find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found) != PMIX_SUCCESS)
            return std::vector<std::string>{"not found"};
        EXPECT_STATUS(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr()));
        EXPECT_EQ(PMIX_DATA_ARRAY, value.type());
        const pmix_data_array_t& array = *value.get().data.darray;
        EXPECT_EQ(PMIX_STRING, array.type);
        for (size_t i = 0; i < array.size; ++i) names.emplace_back(static_cast<char**>(array.array)[i]);
        return names;
    };
    using Names = std::vector<std::string>;
    ASSERT_STATUS(PMIX_SUCCESS, define("all", {{"job", PMIX_RANK_WILDCARD}, {"later", PMIX_RANK_WILDCARD}}));
    ASSERT_STATUS(PMIX_SUCCESS, define("one", {{"job", 1}, {"later", 0}}));
    EXPECT_EQ((Names{"all"}), names_of(s.a, 0));
    EXPECT_EQ((Names{"all", "one"}), names_of(s.a, 1));
    EXPECT_EQ((Names{"not found"}), names_of(s.o, 0));
    ASSERT_STATUS(PMIX_SUCCESS, s.server.on_loop([&] { return s.server.setup().delete_process_set("all"); }));
    EXPECT_EQ(Names{}, names_of(s.a, 0));
    EXPECT_EQ((Names{"one"}), names_of(s.b, 1));
    // A job that is registered afterwards.
    s.server.job("later", 1, 1);
    FakeClient later(s.server, {"later", 0});
    ASSERT_STATUS(PMIX_SUCCESS, later.hello());
    EXPECT_EQ((Names{"one"}), names_of(later, 0));
}

// A set of several jobs stays, for the others. rows: S1 S2 S3
TEST(ServerEventsTest, ProcessSets_OfAJobThatEnds_EndWithIt) {
    EventsSetting s;
    const auto define = [&](const char* name, std::vector<ProcId> members) {
        return s.server.on_loop([&] { return s.server.setup().define_process_set(name, std::move(members)); });
    };
    s.server.job("brief", 1, 2);
    ASSERT_STATUS(PMIX_SUCCESS, define("own", {{"brief", PMIX_RANK_WILDCARD}}));
    ASSERT_STATUS(PMIX_SUCCESS, define("gone", {{"brief", 0}}));
    ASSERT_STATUS(PMIX_SUCCESS, define("shared", {{"brief", 1}, {"job", 0}}));
    ASSERT_STATUS(PMIX_SUCCESS, s.server.on_loop([&] { return s.server.setup().delete_process_set("gone"); }));
    {
        const transport::LoopRole role(*s.server.loop);
        s.server.setup().deregister_nspace("brief");
    }
    const auto& sets = s.server.parts().registry.process_sets();
    ASSERT_EQ(1u, sets.size());
    EXPECT_EQ("shared", sets[0].name);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, s.server.on_loop([&] { return s.server.setup().delete_process_set("own"); }));
    // A process of the next job of that name is told of nothing that the first one had.
    s.server.job("brief", 1, 2);
    ASSERT_STATUS(PMIX_SUCCESS, define("own", {{"brief", 0}}));
    FakeClient next(s.server, {"brief", 1});
    ASSERT_STATUS(PMIX_SUCCESS, next.hello());
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(next, {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE}, 1));
    s.server.settle();
    std::vector<std::string> told;
    while (const auto event = next.take_event()) {
        std::string_view name;
        common::InfoView(event->infos.data(), event->infos.size()).get(PMIX_PSET_NAME, &name);
        told.emplace_back(name);
    }
    EXPECT_EQ((std::vector<std::string>{"shared", "own"}), told);
}

// Names in records and in a column, of sets of all sizes that overlap, come and go: as a plain model says.
// rows: S1 S2 S3
TEST(ServerEventsTest, ProcessSets_LargeAndSmallOnesThatOverlap_AreFoundAsDefined) {
    constexpr uint32_t kRanks = 200;
    TestServer server(nullptr);
    server.job("wide", 1, kRanks, false);
    server.add_client("wide", 0);
    FakeClient client(server, {"wide", 0});
    ASSERT_STATUS(PMIX_SUCCESS, client.hello());
    struct Set {
        std::string name;
        std::set<uint32_t> ranks;
    };
    std::vector<Set> model;
    std::set<uint32_t> ever;
    uint32_t seed = 7;
    const auto random = [&](uint32_t n) {
        seed = seed * 1664525 + 1013904223;
        return (seed >> 8) % n;
    };
    for (int step = 0; step < 60; ++step) {
        if (model.size() > 4 && random(3) == 0) {
            const size_t gone = random(static_cast<uint32_t>(model.size()));
            ASSERT_STATUS(PMIX_SUCCESS,
                          server.on_loop([&] { return server.setup().delete_process_set(model[gone].name); }));
            model.erase(model.begin() + static_cast<ptrdiff_t>(gone));
        } else {
            Set set{"set" + std::to_string(step), {}};
            std::vector<ProcId> members{{"elsewhere", 3}};
            for (uint32_t n = step % 3 == 0 ? 3 : step % 3 == 1 ? 20 : 150; n > 0; --n) {
                const uint32_t rank = random(kRanks + 5);
                members.push_back({"wide", rank});
                if (rank < kRanks) set.ranks.insert(rank);
            }
            if (step % 10 == 9) {
                members.push_back({"wide", PMIX_RANK_WILDCARD});
                for (uint32_t rank = 0; rank < kRanks; ++rank) set.ranks.insert(rank);
            }
            ever.insert(set.ranks.begin(), set.ranks.end());
            ASSERT_STATUS(PMIX_SUCCESS,
                          server.on_loop([&] { return server.setup().define_process_set(set.name, members); }));
            model.push_back(std::move(set));
        }
        for (uint32_t rank = 0; rank < kRanks; ++rank) {
            dstore::Found found;
            const auto rc = client.reader()->find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found);
            ASSERT_STATUS(ever.count(rank) != 0 ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, rc) << step << ' ' << rank;
            if (rc != PMIX_SUCCESS) continue;
            common::Value value;
            ASSERT_STATUS(PMIX_SUCCESS, common::decode_value_into(found.bytes(), value.c_ptr()));
            const pmix_data_array_t& array = *value.get().data.darray;
            std::vector<std::string> names, expected;
            for (size_t i = 0; i < array.size; ++i) names.emplace_back(static_cast<char**>(array.array)[i]);
            for (const Set& set : model)
                if (set.ranks.count(rank) != 0) expected.push_back(set.name);
            ASSERT_EQ(expected, names) << step << ' ' << rank;
        }
    }
}

// What grows with the square of the members takes an hour here.
// rows: S1
TEST(ServerEventsTest, ProcessSet_OfAMillionMembers_TakesTimeThatGrowsWithTheirNumber) {
#if defined(UNDER_ASAN) || defined(UNDER_TSAN)
    constexpr uint32_t kRanks = 200'000;
#else
    constexpr uint32_t kRanks = 1'000'000;
#endif
    TestServer server(nullptr);
    common::InfoList list;
    list.append_number<uint32_t>(PMIX_JOB_SIZE, kRanks, PMIX_UINT32);
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("million", 1, list));
    std::vector<ProcId> members;
    for (uint32_t rank = kRanks; rank-- > 0;) members.push_back({"million", rank});
    // The loop runs on this thread.
    const auto cpu_ms = [] { return static_cast<int>(cpu_seconds() * 1000); };
    const int begin = cpu_ms();
    ASSERT_STATUS(PMIX_SUCCESS,
                  server.on_loop([&] { return server.setup().define_process_set("all", std::move(members)); }));
    const int defined = cpu_ms();
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("million", 1, list));
    const int registered = cpu_ms();
    ASSERT_STATUS(PMIX_SUCCESS, server.on_loop([&] {
        return server.setup().define_process_set("two", {{"million", 5}, {"million", 7}});
    }));
    const int second = cpu_ms();
    RecordProperty("define_ms", defined - begin);
    RecordProperty("register_ms", registered - defined);
    RecordProperty("small_ms", second - registered);
    EXPECT_LT(second - begin, 40'000);
#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN) && defined(__OPTIMIZE__)
    // Of processor time, which others on the machine do not lengthen much; of the library as users have it.
    EXPECT_LT(defined - begin, 1000);
    EXPECT_LT(registered - defined, 1000);
    EXPECT_LT(second - registered, 1000);
#endif
    const auto& reader = server.parts().registry.find("million")->data->reader();
    for (uint32_t rank : {0u, 5u, kRanks - 1}) {
        dstore::Found found;
        EXPECT_STATUS(PMIX_SUCCESS, reader.find(dstore::Owner::proc(rank), dstore::Key(PMIX_PSET_NAMES), found));
    }
}

// rows: S1 S2
TEST(ServerEventsTest, ProcessSetsAreAnnounced) {
    EventsSetting s;
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.a, {PMIX_PROCESS_SET_DEFINE, PMIX_PROCESS_SET_DELETE}, 0));
    auto on_loop = [&](auto f) { return s.server.on_loop(f); };
    EXPECT_STATUS(PMIX_SUCCESS, on_loop([&] {
                      return s.server.setup().define_process_set("set", {{"job", 0}, {"job", 1}});
                  }));
    EXPECT_STATUS(PMIX_ERR_EXISTS, on_loop([&] { return s.server.setup().define_process_set("set", {{"job", 0}}); }));
    s.server.settle();
    auto event = s.a.take_event();
    ASSERT_TRUE(event);
    EXPECT_STATUS(PMIX_PROCESS_SET_DEFINE, event->status);
    common::InfoView view(event->infos.data(), event->infos.size());
    std::string_view name;
    ASSERT_STATUS(PMIX_SUCCESS, view.get(PMIX_PSET_NAME, &name));
    EXPECT_EQ("set", name);
    const pmix_data_array_t* members = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, view.get(PMIX_PSET_MEMBERS, PMIX_PROC, &members));
    ASSERT_NE(nullptr, members);
    EXPECT_EQ(2u, members->size);
    EXPECT_TRUE(view.flag(PMIX_EVENT_NON_DEFAULT)) << "Open MPI aborts in its default handler";
    EXPECT_STATUS(PMIX_SUCCESS, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, on_loop([&] { return s.server.setup().delete_process_set("set"); }));
    s.server.settle();
    event = s.a.take_event();
    ASSERT_TRUE(event);
    EXPECT_STATUS(PMIX_PROCESS_SET_DELETE, event->status);
    EXPECT_TRUE(common::InfoView(event->infos.data(), event->infos.size()).flag(PMIX_EVENT_NON_DEFAULT));
    // a late handler hears of both
    ASSERT_STATUS(PMIX_SUCCESS, s.listen(s.o, {PMIX_PROCESS_SET_DEFINE}, 3));
    EXPECT_EQ(1u, s.count(s.o, PMIX_PROCESS_SET_DEFINE));
}

}  // namespace server_process_sets_test
