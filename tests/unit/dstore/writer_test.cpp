// SPDX-License-Identifier: BSD-3-Clause
// The write side: what is published, what stays private, what is skipped, and what memory it costs.
#include "support/status.h"
#include "unit/dstore/writer_setting.h"

namespace pmix::dstore::writer_test {
namespace {

TEST(Writer, Commit_OfManyKeysWithOneHash_IsRefusedAndChangesNothing) {
    const auto keys = chosen_keys([](uint32_t) { return 0x1234'5678u; });
    const auto value = u32(1);
    for (const pmix_scope_t scope : {PMIX_GLOBAL, PMIX_REMOTE, PMIX_LOCAL}) {
        auto w = make_writer();
        w->add_local(0);
        EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->commit(0, records_of(keys, value, scope)).status());
        EXPECT_EQ(w->committed(0), 0u);
        // In small commits: as many as a table of them may have, and no more.
        size_t taken = 0;
        for (size_t i = 0; i < 1000; ++i) taken += w->commit(0, records_of({keys[i]}, value, scope)).ok();
        EXPECT_GE(taken, size_t{layout::kMaxEqualHashes});
        EXPECT_LE(taken, size_t{2 * layout::kMaxEqualHashes});
        EXPECT_TRUE(w->commit(0, records_of({keys[3]}, u32(2), scope)).ok()) << "one that is there may change";
        EXPECT_TRUE(w->commit(0, records_of({"another"}, value, scope)).ok());
        EXPECT_EQ(get(w->reader(), Owner::proc(0), keys[3]), scope == PMIX_REMOTE ? Buffer{} : u32(2));
    }
}

// Hashes that differ, but that fall together in tables whose sizes are known: powers of two, and libstdc++'s primes.
TEST(Writer, CommitAndContribution_OfKeysWhoseHashesFallTogether_TakeWhatOthersTake) {
    const auto value = u32(1);
    const auto seconds = [&](const std::vector<std::string>& keys) {
        auto w = make_writer();
        w->add_local(0);
        const double begin = cpu_seconds();
        EXPECT_TRUE(w->commit(0, records_of(keys, value)).ok());
        const RankSince all{0, 0};
        auto chunk = w->contribution({&all, 1});
        EXPECT_TRUE(chunk.ok());
        auto there = make_writer();
        EXPECT_STATUS(PMIX_SUCCESS, there->ingest(*chunk).status);
        return cpu_seconds() - begin;
    };
    const double usual = seconds(chosen_keys([](uint32_t i) { return i * 0x9e37'79b1u; }));
    std::unordered_multimap<uint32_t, uint32_t> sizes;
    for (uint32_t i = 0; i < 60'000; ++i) sizes.emplace(i, i);
    const auto buckets = static_cast<uint32_t>(sizes.bucket_count());
    for (const uint32_t step : {uint32_t{1} << 16, buckets}) {
        const uint32_t n = std::min(60'000u, UINT32_MAX / step);
        EXPECT_LT(seconds(chosen_keys([&](uint32_t i) { return i * step; }, n)), 10 * usual + 0.5) << step;
    }
}

TEST(Writer, Commit_OfOneKeyInManyScopes_LeavesWhatCounts) {
    // As a plain model says: which of the records of one key nobody replaced.
    const pmix_scope_t scopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL};
    for (uint32_t n = 0; n < 81; ++n) {
        const uint32_t digits[] = {n % 3, n / 3 % 3, n / 9 % 3, n / 27};
        auto w = make_writer();
        w->add_local(0);
        std::vector<Record> records;
        std::vector<std::vector<uint8_t>> values;
        for (uint32_t i = 0; i < 4; ++i) values.push_back(u32(i));
        for (uint32_t i = 0; i < 4; ++i) records.push_back({"k", values[i], scopes[digits[i]]});
        ASSERT_TRUE(w->commit(0, records).ok());
        std::optional<uint32_t> here;
        for (uint32_t i = 0; i < 4; ++i) {
            Audience left = audience_of(scopes[digits[i]]);
            for (uint32_t k = i + 1; k < 4; ++k) left &= ~audience_of(scopes[digits[k]]);
            if ((left & audience::local) != 0) here = i;
        }
        pmix_status_t rc = PMIX_SUCCESS;
        const auto found = get(w->reader(), Owner::proc(0), "k", &rc);
        ASSERT_STATUS(here ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, rc) << n;
        EXPECT_EQ(found, here ? values[*here] : Buffer{}) << n;
    }
}

TEST(Writer, PutIsSeenAtEveryAddress) {
    auto w = make_writer();
    auto one = open_reader(*w);
    ASSERT_STATUS(PMIX_SUCCESS,
                  w->put(Owner::job(), Records().add("pmix.job.size", u32(8)).add("x", text("job")).list()));
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::session(77), Records().add("x", text("session")).list()));
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::app(3), Records().add("x", text("app")).list()));
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::node(4), Records().add("x", text("node")).list()));
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::proc_info(4'000'000'000u), Records().add("x", text("proc")).list()));
    auto two = open_reader(*w);
    const Reader* const readers[] = {one.get(), two.get(), &w->reader()};
    for (const Reader* r : readers) {
        EXPECT_EQ(get(*r, Owner::job(), "pmix.job.size"), u32(8));
        EXPECT_EQ(get(*r, Owner::job(), "x"), text("job"));
        EXPECT_EQ(get(*r, Owner::session(77), "x"), text("session"));
        EXPECT_EQ(get(*r, Owner::app(3), "x"), text("app"));
        EXPECT_EQ(get(*r, Owner::node(4), "x"), text("node"));
        EXPECT_EQ(get(*r, Owner::proc(4'000'000'000u), "x"), text("proc"));
        pmix_status_t rc;
        get(*r, Owner::proc(3'999'999'999u), "x", &rc);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc);
        get(*r, Owner::job(), "y", &rc);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc);
        get(*r, Owner::app(2), "x", &rc);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc);
    }
}

TEST(Writer, ReplacingKeepsOldBytes) {
    auto w = make_writer();
    auto r = open_reader(*w);
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("k", text("old")).list()));
    Found old;
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::job(), Key("k"), old));
    EXPECT_TRUE(old.lendable());
    EXPECT_EQ((reinterpret_cast<uintptr_t>(old.bytes().data()) + common::kBytesOffset) % 8, 0u);
    const uint64_t before = r->publications();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("k", text("new")).list()));
    EXPECT_GT(r->publications(), before);
    EXPECT_EQ(get(*r, Owner::job(), "k"), text("new"));
    EXPECT_EQ(copy_of(old), text("old"));
    // The same again is no news.
    const uint64_t after = r->publications();
    const uint64_t bytes = w->published_bytes();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("k", text("new")).list()));
    EXPECT_EQ(r->publications(), after);
    EXPECT_EQ(w->published_bytes(), bytes);
}

TEST(Writer, LastOfAKeyCounts) {
    auto w = make_writer();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("k", u32(1)).add("k", u32(2)).list()));
    EXPECT_EQ(get(w->reader(), Owner::job(), "k"), u32(2));
    w->add_local(0);
    ASSERT_TRUE(w->commit(0, Records().add("c", u32(1)).add("c", u32(2)).list()).ok());
    EXPECT_EQ(get(w->reader(), Owner::proc(0), "c"), u32(2));
}

// A job may be registered with any number of values: time grows with their number, not with its square.
TEST(Writer, Put_ManyKeysOfOneOwner_TakesTimeForEachOnce) {
    constexpr uint32_t kKeys = 400'000;
    std::vector<std::string> keys;
    keys.reserve(kKeys);
    for (uint32_t i = 0; i < kKeys; ++i) keys.push_back("key." + std::to_string(i));
    const Buffer old = u32(1), fresh = u32(2);
    std::vector<Record> records = records_of(keys, old, PMIX_SCOPE_UNDEF);
    for (uint32_t i = 0; i < kKeys; i += 1000) records.push_back({keys[i], fresh, PMIX_SCOPE_UNDEF});
    auto w = make_writer();
    const double before = cpu_seconds();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), records));
    EXPECT_LT(cpu_seconds() - before, 12.0) << "compared with each other they take minutes";
    for (uint32_t i = 0; i < kKeys; i += 500)
        EXPECT_EQ(get(w->reader(), Owner::job(), keys[i]), i % 1000 == 0 ? fresh : old);
}

// Many puts make long chains, which are merged; nothing is lost and the newest counts.
TEST(Writer, ChainsAreMerged) {
    auto w = make_writer();
    auto r = open_reader(*w);
    for (uint32_t i = 0; i < 100; ++i) {
        Records records;
        records.add("key." + std::to_string(i), u32(i)).add("always", u32(i));
        ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), records.list()));
        for (uint32_t k = 0; k <= i; ++k) ASSERT_EQ(get(*r, Owner::job(), "key." + std::to_string(k)), u32(k)) << i;
        ASSERT_EQ(get(*r, Owner::job(), "always"), u32(i));
    }
    std::map<std::string, Buffer> seen;
    ASSERT_STATUS(PMIX_SUCCESS, r->for_each(Owner::job(), [&](std::string_view key, const Found& f) {
        EXPECT_TRUE(seen.emplace(std::string(key), copy_of(f)).second) << key;
    }));
    EXPECT_EQ(seen.size(), 101u);
    EXPECT_EQ(seen["always"], u32(99));
    EXPECT_EQ(seen["key.0"], u32(0));
}

// One commit for each key: what was there before is gone through again a bounded number of times, and takes no memory
// that grows with the square.
TEST(Writer, Commit_ManyOfOneNewKeyEach_IndexAndMoveEachRecordAFewTimes) {
    constexpr uint32_t kCommits = 20'000;
    const auto key = [](uint32_t i) { return "key." + std::to_string(i); };
    const auto scope = [](uint32_t i) { return i % 3 == 0 ? PMIX_LOCAL : i % 3 == 1 ? PMIX_REMOTE : PMIX_GLOBAL; };
    auto w = make_writer();
    w->add_local(0);
    for (uint32_t i = 0; i < kCommits; ++i) {
        Records records;
        records.add(key(i), u32(i), scope(i));
        // And a new value for a key from before, of the same scope.
        if (i % 10 == 0) records.add(key(i / 7 * 3), u32(kCommits + i), scope(i / 7 * 3)).add("always", u32(i));
        ASSERT_TRUE(w->commit(0, records.list()).ok()) << i;
    }
    EXPECT_LT(w->counts().indexed, uint64_t{kCommits} * 256);
    EXPECT_LT(w->counts().moved, uint64_t{kCommits} * 32);
    EXPECT_LT(w->published_bytes(), uint64_t{32} << 20);

    std::vector<uint32_t> newest(kCommits);
    for (uint32_t i = 0; i < kCommits; ++i) {
        newest[i] = i;
        if (i % 10 == 0) newest[i / 7 * 3] = kCommits + i;
    }
    auto other = make_writer();
    auto chunk = w->contribution(std::array{RankSince{0, 0}});
    ASSERT_TRUE(chunk.ok());
    ASSERT_EQ(other->ingest(*chunk).blocks, 1u);
    const auto check = [&](const Writer& writer, pmix_scope_t kept_back) {
        for (uint32_t i = 0; i < kCommits; ++i) {
            const Buffer there = get(writer.reader(), Owner::proc(0), key(i));
            ASSERT_EQ(there, scope(i) == kept_back ? Buffer{} : u32(newest[i])) << i;
        }
        EXPECT_EQ(get(writer.reader(), Owner::proc(0), "always"), u32(kCommits - 10));
    };
    check(*w, PMIX_REMOTE);
    check(*other, PMIX_LOCAL);
    auto old = open_reader(*w);
    EXPECT_FALSE(old->is_superseded());
    EXPECT_EQ(0u, old->refusals());
    w->count_refusal();
    EXPECT_EQ(1u, old->refusals());
    ASSERT_TRUE(w->compact().ok());
    EXPECT_TRUE(old->is_superseded());
    auto fresh = open_reader(*w);
    EXPECT_FALSE(fresh->is_superseded());
    EXPECT_EQ(1u, fresh->refusals()) << "a process that has not looked yet must see that there is something";
    w->supersede();
    EXPECT_TRUE(fresh->is_superseded());
    check(*w, PMIX_REMOTE);
    auto again = w->contribution(std::array{RankSince{0, 0}});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*chunk, *again);
    auto news = w->contribution(std::array{RankSince{0, kCommits - 1}});
    ASSERT_TRUE(news.ok());
    EXPECT_LT(news->size(), 200u);
}

TEST(Writer, LargeBlocksAreSearched) {
    auto w = make_writer();
    for (size_t n : {15u, 16u, 17u, 18u, 40u, 1000u, 20'000u}) {
        Records records;
        for (size_t i = 0; i < n; ++i) records.add("k" + std::to_string(i), u32(static_cast<uint32_t>(i)));
        ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::app(static_cast<uint32_t>(n)), records.list()));
        for (size_t i = 0; i < n; ++i) {
            ASSERT_EQ(get(w->reader(), Owner::app(static_cast<uint32_t>(n)), "k" + std::to_string(i)),
                      u32(static_cast<uint32_t>(i)));
            ASSERT_EQ(get(w->reader(), Owner::app(static_cast<uint32_t>(n)), "q" + std::to_string(i)), Buffer{});
        }
    }
}

TEST(Writer, CommitByScope) {
    auto w = make_writer();
    auto r = open_reader(*w);
    w->add_local(2);
    EXPECT_TRUE(w->is_local(2));
    EXPECT_FALSE(w->is_local(1));
    EXPECT_FALSE(r->has_commits(2));
    const Records records = Records()
                                .add("local", text("here"), PMIX_LOCAL)
                                .add("remote.secret", text("there"), PMIX_REMOTE)
                                .add("global", text("everywhere"), PMIX_GLOBAL);
    EXPECT_EQ(w->commit(2, records.list()).value(), 1u);
    EXPECT_EQ(w->committed(2), 1u);
    EXPECT_TRUE(r->has_commits(2));
    EXPECT_EQ(r->generation_of(2), 1u);
    EXPECT_EQ(get(*r, Owner::proc(2), "local"), text("here"));
    EXPECT_EQ(get(*r, Owner::proc(2), "global"), text("everywhere"));
    EXPECT_EQ(get(*r, Owner::proc(2), "remote.secret"), Buffer{});
    Found f;
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::proc(2), Key("local"), f));
    EXPECT_EQ(f.scope(), PMIX_LOCAL);
    EXPECT_TRUE(w->exists_outside_scope(2, Key("remote.secret")));
    EXPECT_FALSE(w->exists_outside_scope(2, Key("global")));
    EXPECT_FALSE(w->exists_outside_scope(2, Key("nothing")));
    EXPECT_FALSE(w->exists_outside_scope(1, Key("remote.secret")));

    // Neither key nor value of remote scope is in what clients map.
    const uint64_t n = w->published_bytes();
    auto* p = static_cast<const char*>(mmap(nullptr, n, PROT_READ, MAP_SHARED, w->descriptor(), 0));
    ASSERT_NE(static_cast<const void*>(p), MAP_FAILED);
    EXPECT_EQ(std::string_view(p, n).find("remote.secret"), std::string_view::npos);
    EXPECT_EQ(std::string_view(p, n).find("there"), std::string_view::npos);
    EXPECT_NE(std::string_view(p, n).find("everywhere"), std::string_view::npos);
    munmap(const_cast<char*>(p), n);

    // And the other node sees the other two.
    auto other = make_writer();
    const RankSince all[] = {{2, 0}, {3, 0}};
    const Buffer chunk = w->contribution(all).value();
    const Ingested in = other->ingest(chunk);
    EXPECT_STATUS(PMIX_SUCCESS, in.status);
    EXPECT_EQ(in.blocks, 1u);
    EXPECT_EQ(get(other->reader(), Owner::proc(2), "remote.secret"), text("there"));
    EXPECT_EQ(get(other->reader(), Owner::proc(2), "global"), text("everywhere"));
    EXPECT_EQ(get(other->reader(), Owner::proc(2), "local"), Buffer{});
}

// One commit with a key in several scopes does what as many commits would. rows: K5 K29
TEST(Writer, OneCommitOfAKeyInSeveralScopes_EachAudienceHasItsNewest) {
    constexpr pmix_scope_t kScopes[] = {PMIX_LOCAL, PMIX_REMOTE, PMIX_GLOBAL};
    for (unsigned order = 0; order < 27; ++order) {
        const pmix_scope_t scopes[] = {kScopes[order % 3], kScopes[order / 3 % 3], kScopes[order / 9]};
        auto at_once = make_writer(), one_by_one = make_writer();
        at_once->add_local(2);
        one_by_one->add_local(2);
        Records all;
        for (uint32_t n = 1; n <= 3; ++n) {
            all.add("k", u32(n), scopes[n - 1]);
            ASSERT_TRUE(one_by_one->commit(2, Records().add("k", u32(n), scopes[n - 1]).list()).ok());
        }
        ASSERT_TRUE(at_once->commit(2, all.list()).ok());
        const auto seen = [](const Writer& w) {
            auto other = make_writer();
            const RankSince since[] = {{2, 0}};
            EXPECT_STATUS(PMIX_SUCCESS, other->ingest(w.contribution(since).value()).status);
            return std::pair(get(w.reader(), Owner::proc(2), "k"), get(other->reader(), Owner::proc(2), "k"));
        };
        EXPECT_EQ(seen(*at_once), seen(*one_by_one)) << order;
    }
}

// rows: K38
TEST(Writer, Commit_OfADeletion_HidesTheKeyFromThePeersOfItsScopeOnly) {
    struct Case {
        pmix_scope_t put, removed;
        bool here, there;  // is the key found afterwards?
    };
    constexpr Case kCases[] = {{PMIX_LOCAL, PMIX_LOCAL, false, false},   {PMIX_LOCAL, PMIX_REMOTE, true, false},
                               {PMIX_LOCAL, PMIX_GLOBAL, false, false},  {PMIX_REMOTE, PMIX_LOCAL, false, true},
                               {PMIX_REMOTE, PMIX_REMOTE, false, false}, {PMIX_REMOTE, PMIX_GLOBAL, false, false},
                               {PMIX_GLOBAL, PMIX_LOCAL, false, true},   {PMIX_GLOBAL, PMIX_REMOTE, true, false},
                               {PMIX_GLOBAL, PMIX_GLOBAL, false, false}};
    for (const Case& c : kCases) {
        SCOPED_TRACE(std::to_string(c.put) + " deleted as " + std::to_string(c.removed));
        auto w = make_writer();
        auto delta = make_writer(), snapshot = make_writer();
        w->add_local(2);
        ASSERT_TRUE(w->commit(2, Records().add("k", u32(7), c.put).add("other", u32(1)).list()).ok());
        RankSince since[] = {{2, 0}};
        ASSERT_STATUS(PMIX_SUCCESS, delta->ingest(w->contribution(since).value()).status);
        ASSERT_TRUE(w->commit(2, Records().add("k", deleted(), c.removed).list()).ok());
        const Buffer value = u32(7), none;
        EXPECT_EQ(get(w->reader(), Owner::proc(2), "k"), c.here ? value : none);
        EXPECT_EQ(w->exists_outside_scope(2, Key("k")), !c.here && c.there);
        ASSERT_STATUS(PMIX_SUCCESS, snapshot->ingest(w->contribution(since).value()).status);
        EXPECT_EQ(get(snapshot->reader(), Owner::proc(2), "k"), c.there ? value : none);
        since[0].since = 1;
        ASSERT_STATUS(PMIX_SUCCESS, delta->ingest(w->contribution(since).value()).status);
        EXPECT_EQ(get(delta->reader(), Owner::proc(2), "k"), c.there ? value : none);
        for (const Reader* reader : {&w->reader(), &delta->reader(), &snapshot->reader()}) {
            size_t listed = 0;
            reader->for_each(Owner::proc(2), [&](std::string_view, const Found&) { ++listed; });
            EXPECT_EQ(listed, 1u + (reader == &w->reader() ? c.here : c.there));
            Found any;
            const bool found = reader == &w->reader() ? c.here : c.there;
            EXPECT_STATUS(found ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, reader->find_any_rank(Key("k"), any));
        }
        // A later put brings it back.
        ASSERT_TRUE(w->commit(2, Records().add("k", u32(7)).list()).ok());
        since[0].since = w->committed(2) - 1;
        ASSERT_STATUS(PMIX_SUCCESS, delta->ingest(w->contribution(since).value()).status);
        EXPECT_EQ(get(w->reader(), Owner::proc(2), "k"), value);
        EXPECT_EQ(get(delta->reader(), Owner::proc(2), "k"), value);
    }
}

// rows: K38
TEST(Writer, Commit_OfADeletionOfWhatIsNotThere_ChangesNothing) {
    auto w = make_writer();
    w->add_local(0);
    ASSERT_EQ(w->commit(0, Records().add("k", u32(1), PMIX_LOCAL).list()).value(), 1u);
    const uint64_t before = w->published_bytes();
    EXPECT_EQ(w->commit(0, Records().add("never", deleted()).add("k", deleted(), PMIX_REMOTE).list()).value(), 1u);
    EXPECT_EQ(w->published_bytes(), before);
    ASSERT_EQ(w->commit(0, Records().add("k", deleted()).list()).value(), 2u);
    EXPECT_EQ(w->commit(0, Records().add("k", deleted()).list()).value(), 2u);
    // The process has put nothing for other nodes, so they are told nothing of it.
    const RankSince since[] = {{0, 1}};
    const Buffer chunk = w->contribution(since).value();
    EXPECT_EQ(ChunkView::check(chunk)->at(ChunkView::check(chunk)->first()).records, 0u);
}

TEST(Writer, CommitRefuses) {
    auto w = make_writer();
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->commit(0, Records().add("k", u32(1)).list()).status());
    w->add_local(0);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->commit(0, Records().add("k", u32(1), PMIX_INTERNAL).list()).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->commit(0, Records().add("", u32(1)).list()).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->commit(0, Records().add(std::string(512, 'k'), u32(1)).list()).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->commit(0, Records().add("k", Buffer{1}).list()).status());
    EXPECT_EQ(w->committed(0), 0u);
    EXPECT_TRUE(w->commit(0, Records().add(std::string(511, 'k'), u32(1)).list()).ok());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, w->put(Owner::proc(0), Records().add("k", u32(1)).list()));
}

TEST(Writer, Find_OfKeysWithOneHash_TellsThemApart) {
    const auto keys = chosen_keys([](uint32_t) { return 0x1234'5678u; }, 3);
    auto w = make_writer();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add(keys[0], u32(0)).add(keys[1], u32(1)).list()));
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[0]), u32(0));
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[1]), u32(1));
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[2]), Buffer{});
}

}  // namespace
}  // namespace pmix::dstore::writer_test
