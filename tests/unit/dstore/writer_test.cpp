// SPDX-License-Identifier: BSD-3-Clause
// The write side: what is published, what stays private, what is skipped, and what memory it costs.
#include "dstore/writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <unordered_map>

#include "dstore/layout.h"
#include "support/sanitizers.h"
#include "support/store_values.h"

namespace pmix::dstore {
namespace {

using namespace test;

// Keys of 16 bytes with chosen hashes: the second half is what the first half and the hash leave, hash_key read
// backwards.
class ChosenKeys {
  public:
    ChosenKeys() {
        while (kMultiplier * inverse_ != 1) inverse_ *= 2 - kMultiplier * inverse_;
    }
    std::string with(uint32_t hash) {
        for (;;) {
            const uint64_t first = 0x3031'3233'0000'0000ull + ++next_ * 0x0101 % 0xffff'ffffull;
            const uint64_t before = step((kStart + 16 * kMultiplier) ^ first);
            const uint64_t mixed = ((uint64_t{hash} << 32 | 0x1234'5678u)) * inverse_;
            const uint64_t second = (mixed ^ mixed >> 32) * inverse_ ^ before;
            std::string key(16, '\0');
            common::store_le(reinterpret_cast<uint8_t*>(key.data()), first);
            common::store_le(reinterpret_cast<uint8_t*>(key.data()) + 8, second);
            if (key.find('\0') == key.npos) return key;
        }
    }

  private:
    static constexpr uint64_t kMultiplier = 0x9fb21c651e98df25ull, kStart = 0x2545f4914f6cdd1dull;
    static uint64_t step(uint64_t word) { return word * kMultiplier ^ (word * kMultiplier) >> 32; }
    uint64_t inverse_ = kMultiplier;
    uint64_t next_ = 0;
};

// Many keys, each with this hash.
template <class F>
std::vector<std::string> chosen_keys(F&& hash_of, uint32_t n = 60'000) {
    ChosenKeys chosen;
    std::vector<std::string> keys;
    for (uint32_t i = 0; i < n; ++i) {
        keys.push_back(chosen.with(hash_of(i)));
        EXPECT_EQ(hash_of(i), hash_key(keys.back()));
    }
    std::sort(keys.begin(), keys.end());
    EXPECT_EQ(keys.end(), std::unique(keys.begin(), keys.end()));
    return keys;
}

std::vector<Record> records_of(const std::vector<std::string>& keys, common::Bytes value,
                               pmix_scope_t scope = PMIX_GLOBAL) {
    std::vector<Record> records;
    for (const std::string& key : keys) records.push_back({key, value, scope});
    return records;
}

double cpu_seconds() {
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

TEST(Writer, Commit_OfManyKeysWithOneHash_IsRefusedAndChangesNothing) {
    const auto keys = chosen_keys([](uint32_t) { return 0x1234'5678u; });
    const auto value = u32(1);
    for (const pmix_scope_t scope : {PMIX_GLOBAL, PMIX_REMOTE, PMIX_LOCAL}) {
        auto w = make_writer();
        w->add_local(0);
        EXPECT_EQ(w->commit(0, records_of(keys, value, scope)).status(), PMIX_ERR_OUT_OF_RESOURCE);
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
        EXPECT_EQ(there->ingest(*chunk).status, PMIX_SUCCESS);
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
        ASSERT_EQ(here ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND, rc) << n;
        EXPECT_EQ(found, here ? values[*here] : Buffer{}) << n;
    }
}

TEST(Writer, PutIsSeenAtEveryAddress) {
    auto w = make_writer();
    auto one = open_reader(*w);
    ASSERT_EQ(w->put(Owner::job(), Records().add("pmix.job.size", u32(8)).add("x", text("job")).list()), PMIX_SUCCESS);
    ASSERT_EQ(w->put(Owner::session(77), Records().add("x", text("session")).list()), PMIX_SUCCESS);
    ASSERT_EQ(w->put(Owner::app(3), Records().add("x", text("app")).list()), PMIX_SUCCESS);
    ASSERT_EQ(w->put(Owner::node(4), Records().add("x", text("node")).list()), PMIX_SUCCESS);
    ASSERT_EQ(w->put(Owner::proc_info(4'000'000'000u), Records().add("x", text("proc")).list()), PMIX_SUCCESS);
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
        EXPECT_EQ(rc, PMIX_ERR_NOT_FOUND);
        get(*r, Owner::job(), "y", &rc);
        EXPECT_EQ(rc, PMIX_ERR_NOT_FOUND);
        get(*r, Owner::app(2), "x", &rc);
        EXPECT_EQ(rc, PMIX_ERR_NOT_FOUND);
    }
}

TEST(Writer, SealedAgainstClients) {
    auto w = make_writer();
    const int fd = w->descriptor();
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    char c = 1;
    EXPECT_LT(pwrite(fd, &c, 1, 0), 0);
    EXPECT_NE(ftruncate(fd, 0), 0);
    EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_EQ(w->put(Owner::job(), Records().add("x", blob(1 << 20, 1)).list()), PMIX_SUCCESS);
    // Growing harms nobody.
    ASSERT_EQ(ftruncate(fd, 64 << 20), 0);
    EXPECT_EQ(w->put(Owner::job(), Records().add("y", blob(1 << 20, 2)).list()), PMIX_SUCCESS);
    EXPECT_EQ(get(*open_reader(*w), Owner::job(), "y"), blob(1 << 20, 2));
}

TEST(Writer, ReplacingKeepsOldBytes) {
    auto w = make_writer();
    auto r = open_reader(*w);
    ASSERT_EQ(w->put(Owner::job(), Records().add("k", text("old")).list()), PMIX_SUCCESS);
    Found old;
    ASSERT_EQ(r->find(Owner::job(), Key("k"), old), PMIX_SUCCESS);
    EXPECT_TRUE(old.lendable());
    EXPECT_EQ((reinterpret_cast<uintptr_t>(old.bytes().data()) + common::kBytesOffset) % 8, 0u);
    const uint64_t before = r->publications();
    ASSERT_EQ(w->put(Owner::job(), Records().add("k", text("new")).list()), PMIX_SUCCESS);
    EXPECT_GT(r->publications(), before);
    EXPECT_EQ(get(*r, Owner::job(), "k"), text("new"));
    EXPECT_EQ(copy_of(old), text("old"));
    // The same again is no news.
    const uint64_t after = r->publications();
    const uint64_t bytes = w->published_bytes();
    ASSERT_EQ(w->put(Owner::job(), Records().add("k", text("new")).list()), PMIX_SUCCESS);
    EXPECT_EQ(r->publications(), after);
    EXPECT_EQ(w->published_bytes(), bytes);
}

TEST(Writer, LastOfAKeyCounts) {
    auto w = make_writer();
    ASSERT_EQ(w->put(Owner::job(), Records().add("k", u32(1)).add("k", u32(2)).list()), PMIX_SUCCESS);
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
    ASSERT_EQ(w->put(Owner::job(), records), PMIX_SUCCESS);
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
        ASSERT_EQ(w->put(Owner::job(), records.list()), PMIX_SUCCESS);
        for (uint32_t k = 0; k <= i; ++k) ASSERT_EQ(get(*r, Owner::job(), "key." + std::to_string(k)), u32(k)) << i;
        ASSERT_EQ(get(*r, Owner::job(), "always"), u32(i));
    }
    std::map<std::string, Buffer> seen;
    ASSERT_EQ(r->for_each(Owner::job(),
                          [&](std::string_view key, const Found& f) {
                              EXPECT_TRUE(seen.emplace(std::string(key), copy_of(f)).second) << key;
                          }),
              PMIX_SUCCESS);
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
    ASSERT_TRUE(w->compact().ok());
    check(*w, PMIX_REMOTE);
    auto again = w->contribution(std::array{RankSince{0, 0}});
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(*chunk, *again);
    auto news = w->contribution(std::array{RankSince{0, kCommits - 1}});
    ASSERT_TRUE(news.ok());
    EXPECT_LT(news->size(), 200u);
}

// The same for what another node sends bit by bit.
TEST(Writer, Ingest_ManyDeltasOfOneRank_IndexEachRecordAFewTimes) {
    constexpr uint32_t kDeltas = 12'000;
    auto w = make_writer();
    for (uint32_t g = 1; g <= kDeltas; ++g) {
        const Buffer c =
            chunk_of(3, {g, g - 1, false}, Records().add("n", u32(g)).add("k" + std::to_string(g), u32(g)));
        ASSERT_EQ(w->ingest(c).blocks, 1u) << g;
        ASSERT_EQ(w->reader().generation_of(3), g);
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "n"), u32(g));
    }
    EXPECT_LT(w->counts().indexed, uint64_t{kDeltas} * 256);
    for (uint32_t g = 1; g <= kDeltas; ++g)
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "k" + std::to_string(g)), u32(g));
}

TEST(Writer, LargeBlocksAreSearched) {
    auto w = make_writer();
    for (size_t n : {15u, 16u, 17u, 18u, 40u, 1000u, 20'000u}) {
        Records records;
        for (size_t i = 0; i < n; ++i) records.add("k" + std::to_string(i), u32(static_cast<uint32_t>(i)));
        ASSERT_EQ(w->put(Owner::app(static_cast<uint32_t>(n)), records.list()), PMIX_SUCCESS);
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
    ASSERT_EQ(r->find(Owner::proc(2), Key("local"), f), PMIX_SUCCESS);
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
    EXPECT_EQ(in.status, PMIX_SUCCESS);
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
            EXPECT_EQ(other->ingest(w.contribution(since).value()).status, PMIX_SUCCESS);
            return std::pair(get(w.reader(), Owner::proc(2), "k"), get(other->reader(), Owner::proc(2), "k"));
        };
        EXPECT_EQ(seen(*at_once), seen(*one_by_one)) << order;
    }
}

Buffer deleted() {
    return {std::begin(kDeletedValue), std::end(kDeletedValue)};
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
        ASSERT_EQ(delta->ingest(w->contribution(since).value()).status, PMIX_SUCCESS);
        ASSERT_TRUE(w->commit(2, Records().add("k", deleted(), c.removed).list()).ok());
        const Buffer value = u32(7), none;
        EXPECT_EQ(get(w->reader(), Owner::proc(2), "k"), c.here ? value : none);
        EXPECT_EQ(w->exists_outside_scope(2, Key("k")), !c.here && c.there);
        ASSERT_EQ(snapshot->ingest(w->contribution(since).value()).status, PMIX_SUCCESS);
        EXPECT_EQ(get(snapshot->reader(), Owner::proc(2), "k"), c.there ? value : none);
        since[0].since = 1;
        ASSERT_EQ(delta->ingest(w->contribution(since).value()).status, PMIX_SUCCESS);
        EXPECT_EQ(get(delta->reader(), Owner::proc(2), "k"), c.there ? value : none);
        for (const Reader* reader : {&w->reader(), &delta->reader(), &snapshot->reader()}) {
            size_t listed = 0;
            reader->for_each(Owner::proc(2), [&](std::string_view, const Found&) { ++listed; });
            EXPECT_EQ(listed, 1u + (reader == &w->reader() ? c.here : c.there));
            Found any;
            const bool found = reader == &w->reader() ? c.here : c.there;
            EXPECT_EQ(reader->find_any_rank(Key("k"), any), found ? PMIX_SUCCESS : PMIX_ERR_NOT_FOUND);
        }
        // A later put brings it back.
        ASSERT_TRUE(w->commit(2, Records().add("k", u32(7)).list()).ok());
        since[0].since = w->committed(2) - 1;
        ASSERT_EQ(delta->ingest(w->contribution(since).value()).status, PMIX_SUCCESS);
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

// rows: K38
TEST(Writer, Ingest_OfADeletionBehindAGap_HidesWhatIsReceivedLater) {
    auto w = make_writer(), other = make_writer();
    w->add_local(0);
    std::vector<Buffer> deltas;
    for (const Buffer& value : {u32(1), u32(2), deleted()}) {
        ASSERT_TRUE(w->commit(0, Records().add("k", value).list()).ok());
        const RankSince since[] = {{0, w->committed(0) - 1}};
        deltas.push_back(w->contribution(since).value());
    }
    ASSERT_EQ(other->ingest(deltas[0]).status, PMIX_SUCCESS);
    ASSERT_EQ(other->ingest(deltas[2]).status, PMIX_SUCCESS);
    EXPECT_EQ(get(other->reader(), Owner::proc(0), "k"), Buffer{});
    ASSERT_EQ(other->ingest(deltas[1]).status, PMIX_SUCCESS);
    EXPECT_EQ(get(other->reader(), Owner::proc(0), "k"), Buffer{});
}

TEST(Writer, CommitRefuses) {
    auto w = make_writer();
    EXPECT_EQ(w->commit(0, Records().add("k", u32(1)).list()).status(), PMIX_ERR_BAD_PARAM);
    w->add_local(0);
    EXPECT_EQ(w->commit(0, Records().add("k", u32(1), PMIX_INTERNAL).list()).status(), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(w->commit(0, Records().add("", u32(1)).list()).status(), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(w->commit(0, Records().add(std::string(512, 'k'), u32(1)).list()).status(), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(w->commit(0, Records().add("k", Buffer{1}).list()).status(), PMIX_ERR_BAD_PARAM);
    EXPECT_EQ(w->committed(0), 0u);
    EXPECT_TRUE(w->commit(0, Records().add(std::string(511, 'k'), u32(1)).list()).ok());
    EXPECT_EQ(w->put(Owner::proc(0), Records().add("k", u32(1)).list()), PMIX_ERR_BAD_PARAM);
}

TEST(Writer, EmptyCommitCountsOnce) {
    auto w = make_writer();
    w->add_local(0);
    EXPECT_EQ(w->commit(0, {}).value(), 1u);
    EXPECT_TRUE(w->reader().has_commits(0));
    EXPECT_EQ(w->commit(0, {}).value(), 1u);
    // Other nodes learn that there is nothing.
    auto other = make_writer();
    const RankSince all[] = {{0, 0}};
    EXPECT_EQ(other->ingest(w->contribution(all).value()).blocks, 1u);
    EXPECT_TRUE(other->reader().has_commits(0));
    pmix_status_t rc;
    get(other->reader(), Owner::proc(0), "k", &rc);
    EXPECT_EQ(rc, PMIX_ERR_NOT_FOUND);
}

TEST(Writer, DeltasCarryOnlyNews) {
    auto w = make_writer();
    auto other = make_writer();
    w->add_local(5);
    ASSERT_EQ(w->commit(5, Records().add("a", u32(1)).add("b", u32(1), PMIX_REMOTE).list()).value(), 1u);
    RankSince since[] = {{5, 0}};
    EXPECT_EQ(other->ingest(w->contribution(since).value()).blocks, 1u);
    ASSERT_EQ(w->commit(5, Records().add("b", u32(2), PMIX_REMOTE).add("a", u32(1)).list()).value(), 2u);
    since[0].since = 1;
    const Buffer delta = w->contribution(since).value();
    EXPECT_EQ(ChunkView::check(delta)->at(ChunkView::check(delta)->first()).records, 1u);
    EXPECT_EQ(other->ingest(delta).blocks, 1u);
    EXPECT_EQ(other->reader().generation_of(5), 2u);
    EXPECT_EQ(get(other->reader(), Owner::proc(5), "a"), u32(1));
    EXPECT_EQ(get(other->reader(), Owner::proc(5), "b"), u32(2));
    since[0].since = 2;
    EXPECT_TRUE(w->contribution(since).value().empty());
}

TEST(Writer, OwnContributionIsSkipped) {
    auto w = make_writer();
    w->add_local(5);
    ASSERT_TRUE(w->commit(5, Records().add("a", u32(1)).list()).ok());
    const RankSince since[] = {{5, 0}};
    const uint64_t bytes = w->published_bytes();
    const Ingested in = w->ingest(w->contribution(since).value());
    EXPECT_EQ(in.status, PMIX_SUCCESS);
    EXPECT_EQ(in.blocks, 0u);
    EXPECT_EQ(in.skipped, 1u);
    EXPECT_EQ(w->published_bytes(), bytes);
}

TEST(Writer, FencesWithoutNewsCostNothing) {
    auto w = make_writer();
    Buffer blob_of_all;
    for (uint32_t r = 0; r < 16; ++r) {
        const Buffer c = chunk_of(r, {1, 0, true}, Records().add("addr", blob(64, 1)).add("more", u32(r)));
        blob_of_all.insert(blob_of_all.end(), c.begin(), c.end());
    }
    EXPECT_EQ(w->ingest(blob_of_all).blocks, 16u);
    const uint64_t bytes = w->published_bytes();
    const uint64_t publications = w->reader().publications();
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(w->ingest(blob_of_all).skipped, 16u);
    EXPECT_EQ(w->published_bytes(), bytes);
    EXPECT_EQ(w->reader().publications(), publications);
    w->add_local(100);
    ASSERT_TRUE(w->commit(100, Records().add("k", blob(64, 2)).list()).ok());
    const uint64_t with_local = w->published_bytes();
    for (int i = 0; i < 10'000; ++i) ASSERT_EQ(w->commit(100, Records().add("k", blob(64, 2)).list()).value(), 1u);
    EXPECT_EQ(w->published_bytes(), with_local);
}

// Part of a chunk is known already: what is taken over is only the rest, and still reads right.
TEST(Writer, PartlyKnownChunks) {
    auto w = make_writer();
    ASSERT_EQ(w->ingest(chunk_of(2, {1, 0, true}, Records().add("k", u32(2)))).blocks, 1u);
    w->add_local(4);
    ChunkBuilder b;
    const Buffer values[] = {text("zero"), text("one"), text("two"), text("three"), text("four"), text("five")};
    for (uint32_t r = 0; r < 6; ++r) {
        b.begin(Owner::proc(r), {1, 0, true});
        b.add(Key("name"), PMIX_GLOBAL, values[r]);
        b.add(Key("name.of." + std::to_string(r)), PMIX_GLOBAL, values[r]);
    }
    const Ingested in = w->ingest(b.finish(0).value());
    EXPECT_EQ(in.status, PMIX_SUCCESS);
    EXPECT_EQ(in.blocks, 4u);
    EXPECT_EQ(in.skipped, 2u);
    for (uint32_t r : {0u, 1u, 3u, 5u}) {
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "name"), values[r]);
        EXPECT_EQ(get(w->reader(), Owner::proc(r), "name.of." + std::to_string(r)), values[r]);
    }
    EXPECT_EQ(get(w->reader(), Owner::proc(2), "name"), Buffer{});
    EXPECT_EQ(get(w->reader(), Owner::proc(2), "k"), u32(2));
    EXPECT_FALSE(w->reader().has_commits(4));
}

TEST(Writer, GapsDoNotAdvance) {
    auto w = make_writer();
    const Reader& r = w->reader();
    auto delta = [](uint64_t base, uint64_t generation) {
        return chunk_of(1, {generation, base, false},
                        Records()
                            .add("g", u32(static_cast<uint32_t>(generation)))
                            .add("from." + std::to_string(generation), u32(1)));
    };
    ASSERT_EQ(w->ingest(chunk_of(1, {2, 0, true}, Records().add("g", u32(2)).add("old", u32(1)))).blocks, 1u);
    ASSERT_EQ(w->ingest(delta(5, 6)).blocks, 1u);  // 3 to 5 are missing
    EXPECT_EQ(r.generation_of(1), 2u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(6));
    EXPECT_EQ(w->ingest(delta(5, 6)).skipped, 1u);
    // They are received late: their values do not hide newer ones, and the gap is closed.
    ASSERT_EQ(w->ingest(delta(2, 5)).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 6u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(6));
    EXPECT_EQ(get(r, Owner::proc(1), "from.5"), u32(1));
    EXPECT_EQ(get(r, Owner::proc(1), "from.6"), u32(1));
    EXPECT_EQ(get(r, Owner::proc(1), "old"), u32(1));
    EXPECT_EQ(w->ingest(delta(3, 4)).skipped, 1u);
    // A gap that a full snapshot from below does not close, and one from above does.
    ASSERT_EQ(w->ingest(delta(9, 10)).blocks, 1u);
    ASSERT_EQ(w->ingest(chunk_of(1, {8, 0, true}, Records().add("g", u32(8)).add("eight", u32(8)))).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 8u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(10));
    EXPECT_EQ(get(r, Owner::proc(1), "eight"), u32(8));
    EXPECT_EQ(get(r, Owner::proc(1), "old"), Buffer{});
    ASSERT_EQ(w->ingest(chunk_of(1, {12, 0, true}, Records().add("g", u32(12)))).blocks, 1u);
    EXPECT_EQ(r.generation_of(1), 12u);
    EXPECT_EQ(get(r, Owner::proc(1), "g"), u32(12));
    EXPECT_EQ(get(r, Owner::proc(1), "eight"), Buffer{});
    EXPECT_EQ(get(r, Owner::proc(1), "from.10"), Buffer{});
}

TEST(Writer, ManyDeltasAreMerged) {
    auto w = make_writer();
    for (uint32_t g = 1; g <= 60; ++g) {
        const Buffer c =
            chunk_of(3, {g, g - 1, false}, Records().add("n", u32(g)).add("k" + std::to_string(g), u32(g)));
        ASSERT_EQ(w->ingest(c).blocks, 1u);
        ASSERT_EQ(w->reader().generation_of(3), g);
        ASSERT_EQ(get(w->reader(), Owner::proc(3), "n"), u32(g));
        for (uint32_t k = 1; k <= g; ++k) ASSERT_EQ(get(w->reader(), Owner::proc(3), "k" + std::to_string(k)), u32(k));
    }
}

TEST(Writer, QuotaIsKept) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    w->add_local(0);
    ASSERT_TRUE(w->commit(0, Records().add("a", blob(2000, 1)).list()).ok());
    EXPECT_EQ(w->commit(0, Records().add("b", blob(3000, 1)).list()).status(), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(w->commit(0, Records().add("r", blob(5000, 1), PMIX_REMOTE).list()).status(), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(w->committed(0), 1u);
    EXPECT_EQ(get(w->reader(), Owner::proc(0), "a"), blob(2000, 1));
    Buffer two = chunk_of(8, {1, 0, true}, Records().add("a", blob(5000, 1)));
    const Buffer small = chunk_of(9, {1, 0, true}, Records().add("a", u32(1)));
    two.insert(two.end(), small.begin(), small.end());
    const Ingested in = w->ingest(two);
    EXPECT_EQ(in.status, PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(in.blocks, 1u);
    EXPECT_FALSE(w->reader().has_commits(8));
    EXPECT_TRUE(w->reader().has_commits(9));
}

TEST(Writer, Quota_CountsAllContributionsOfARank) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    EXPECT_EQ(w->ingest(chunk_of(8, {1, 0, true}, Records().add("a", blob(2000, 1)))).status, PMIX_SUCCESS);
    EXPECT_EQ(w->ingest(chunk_of(8, {2, 1, false}, Records().add("b", blob(3000, 1)))).status,
              PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(get(w->reader(), Owner::proc(8), "b"), Buffer{});
    EXPECT_EQ(w->ingest(chunk_of(9, {2, 1, false}, Records().add("b", blob(3000, 1)))).status, PMIX_SUCCESS);
}

TEST(Writer, Quota_CountsValuesForRemotePeersAsLongAsTheyStand) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    w->add_local(0);
    const auto commit = [&](const char* key, size_t size, uint8_t fill) {
        return w->commit(0, Records().add(key, blob(size, fill), PMIX_REMOTE).list()).status();
    };
    ASSERT_EQ(commit("a", 1500, 1), PMIX_SUCCESS);
    EXPECT_EQ(commit("b", 3000, 1), PMIX_ERR_OUT_OF_RESOURCE);
    // What is replaced counts no longer.
    for (uint8_t i = 2; i < 20; ++i) EXPECT_EQ(commit("a", 1500, i), PMIX_SUCCESS) << unsigned{i};
}

TEST(Writer, Find_OfKeysWithOneHash_TellsThemApart) {
    const auto keys = chosen_keys([](uint32_t) { return 0x1234'5678u; }, 3);
    auto w = make_writer();
    ASSERT_EQ(w->put(Owner::job(), Records().add(keys[0], u32(0)).add(keys[1], u32(1)).list()), PMIX_SUCCESS);
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[0]), u32(0));
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[1]), u32(1));
    EXPECT_EQ(get(w->reader(), Owner::job(), keys[2]), Buffer{});
}

TEST(Writer, ForeignBytesAreRefused) {
    auto w = make_writer();
    const Buffer good = chunk_of(1, {1, 0, true}, Records().add("a", u32(1)));
    Buffer bytes = good;
    const Buffer garbage(64, 0x5a);
    bytes.insert(bytes.end(), garbage.begin(), garbage.end());
    Ingested in = w->ingest(bytes);
    EXPECT_EQ(in.status, PMIX_ERR_NOT_SUPPORTED);
    EXPECT_EQ(in.chunks, 1u);
    EXPECT_EQ(in.blocks, 1u);
    bytes = good;
    bytes.resize(bytes.size() - 8);
    EXPECT_EQ(w->ingest(bytes).status, PMIX_ERR_UNPACK_FAILURE);
    EXPECT_EQ(w->ingest({}).status, PMIX_SUCCESS);
    // Only processes, and only real ones, have contributions.
    ChunkBuilder b;
    b.begin(Owner::job(), {1, 0, true});
    EXPECT_EQ(w->ingest(b.finish(0).value()).status, PMIX_ERR_UNPACK_FAILURE);
    EXPECT_EQ(w->ingest(chunk_of(PMIX_RANK_WILDCARD, {1, 0, true}, Records())).status, PMIX_ERR_UNPACK_FAILURE);
}

TEST(Writer, SparseRanksTakeFewPages) {
    auto w = make_writer();
    const uint64_t before = w->published_bytes();
    for (uint32_t i = 0; i < 32; ++i) {
        ASSERT_EQ(
            w->ingest(chunk_of(i * 100'000'007u % 4'000'000'000u, {1, 0, true}, Records().add("k", u32(i)))).blocks,
            1u);
    }
    EXPECT_LT(w->published_bytes() - before,
              32u * (layout::kLeafEntries + layout::kMiddleEntries) * 4 + 16384 + 32 * 128);
    for (uint32_t i = 0; i < 32; ++i) {
        EXPECT_EQ(get(w->reader(), Owner::proc(i * 100'000'007u % 4'000'000'000u), "k"), u32(i));
    }
}

// The reservation is too small for what comes: writer and reader map the file again, old pointers stay good.
TEST(Writer, OutgrowsItsReservation) {
    WriterOptions options;
    options.reservation = 1 << 20;
    auto w = make_writer(options);
    auto r = open_reader(*w);
    ASSERT_EQ(w->put(Owner::job(), Records().add("first", text("early")).list()), PMIX_SUCCESS);
    Found ours, theirs;
    ASSERT_EQ(w->reader().find(Owner::job(), Key("first"), ours), PMIX_SUCCESS);
    ASSERT_EQ(r->find(Owner::job(), Key("first"), theirs), PMIX_SUCCESS);
    for (uint32_t i = 0; i < 40; ++i) {
        ASSERT_EQ(w->put(Owner::app(i), Records().add("big", blob(300'000, static_cast<uint8_t>(i))).list()),
                  PMIX_SUCCESS);
        ASSERT_EQ(get(*r, Owner::app(i), "big"), blob(300'000, static_cast<uint8_t>(i)));
        ASSERT_EQ(get(w->reader(), Owner::app(i), "big"), blob(300'000, static_cast<uint8_t>(i)));
    }
    EXPECT_EQ(copy_of(ours), text("early"));
    EXPECT_EQ(copy_of(theirs), text("early"));
    EXPECT_EQ(get(*r, Owner::app(0), "big"), blob(300'000, 0));
}

// No memory for more: a status, no signal, and what is there stays as it is.
TEST(Writer, FullIsAStatus) {
    auto w = make_writer();
    w->add_local(0);
    ASSERT_TRUE(w->commit(0, Records().add("k", text("old")).list()).ok());
    const Buffer chunk = chunk_of(9, {1, 0, true}, Records().add("k", blob(4 << 20, 1)));
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    rlimit small = before;
    small.rlim_cur = 1 << 20;
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const Buffer large = blob(4 << 20, 1);
    EXPECT_EQ(w->commit(0, Records().add("k", large).list()).status(), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(w->put(Owner::job(), Records().add("k", large).list()), PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(w->ingest(chunk).status, PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ(w->committed(0), 1u);
    EXPECT_TRUE(w->commit(0, Records().add("small", blob(1000, 3)).list()).ok());
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    auto r = open_reader(*w);
    EXPECT_EQ(get(*r, Owner::proc(0), "k"), text("old"));
    EXPECT_EQ(get(*r, Owner::proc(0), "small"), blob(1000, 3));
    EXPECT_FALSE(r->has_commits(9));
    EXPECT_EQ(w->ingest(chunk).status, PMIX_SUCCESS);
    EXPECT_TRUE(w->commit(0, Records().add("k", large).list()).ok());
    EXPECT_EQ(get(*r, Owner::proc(0), "k"), large);
}

#if !defined(UNDER_ASAN) && !defined(UNDER_TSAN)  // they want all the address space for themselves
// Address space is limited: less of it is taken, and the store works as before.
TEST(Writer, LimitedAddressSpace) {
    const pid_t child = fork();
    if (child == 0) {
        rlimit limit{512u << 20, 512u << 20};
        if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(1);
        WriterOptions options;
        options.job_size = 1'000'000;
        std::vector<std::unique_ptr<Writer>> writers;
        std::vector<std::unique_ptr<Reader>> readers;
        for (int i = 0; i < 8; ++i) {
            auto w = Writer::create(options);
            if (!w.ok()) _exit(2);
            writers.push_back(std::move(w).value());
            auto r = Reader::open(dup(writers.back()->descriptor()));
            if (!r.ok()) _exit(3);
            readers.push_back(std::move(r).value());
        }
        for (uint32_t n = 0; n < 20; ++n) {
            for (size_t i = 0; i < writers.size(); ++i) {
                const Buffer v = blob(200'000, static_cast<uint8_t>(n));
                if (writers[i]->put(Owner::app(n), Records().add("k", v).list()) != PMIX_SUCCESS) _exit(4);
                if (get(*readers[i], Owner::app(n), "k") != v) _exit(5);
            }
        }
        _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}
#endif

TEST(Writer, ServersMappingIsNotInherited) {
    auto w = make_writer();
    ASSERT_EQ(w->put(Owner::job(), Records().add("k", u32(1)).list()), PMIX_SUCCESS);
    Found f;
    ASSERT_EQ(w->reader().find(Owner::job(), Key("k"), f), PMIX_SUCCESS);
    unsigned char state;
    void* page = reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(f.bytes().data()) & ~uintptr_t{4095});
    ASSERT_EQ(mincore(page, 4096, &state), 0);
    const pid_t child = fork();
    if (child == 0) _exit(mincore(page, 4096, &state) != 0 && errno == ENOMEM ? 0 : 1);
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace pmix::dstore
