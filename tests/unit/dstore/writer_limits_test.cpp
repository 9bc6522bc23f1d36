// SPDX-License-Identifier: BSD-3-Clause
// The writer at its limits: quotas, a full store, growth beyond the reservation, and what a child inherits.
#include "support/status.h"
#include "unit/dstore/writer_setting.h"

namespace pmix::dstore::writer_limits_test {
namespace {

TEST(Writer, SealedAgainstClients) {
    auto w = make_writer();
    const int fd = w->descriptor();
    EXPECT_EQ(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    char c = 1;
    EXPECT_LT(pwrite(fd, &c, 1, 0), 0);
    EXPECT_NE(ftruncate(fd, 0), 0);
    EXPECT_NE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
    EXPECT_NE(fcntl(fd, F_ADD_SEALS, F_SEAL_GROW), 0);
    EXPECT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("x", blob(1 << 20, 1)).list()));
    // Growing harms nobody.
    ASSERT_EQ(ftruncate(fd, 64 << 20), 0);
    EXPECT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("y", blob(1 << 20, 2)).list()));
    EXPECT_EQ(get(*open_reader(*w), Owner::job(), "y"), blob(1 << 20, 2));
}

TEST(Writer, QuotaIsKept) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    w->add_local(0);
    ASSERT_TRUE(w->commit(0, Records().add("a", blob(2000, 1)).list()).ok());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->commit(0, Records().add("b", blob(3000, 1)).list()).status());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  w->commit(0, Records().add("r", blob(5000, 1), PMIX_REMOTE).list()).status());
    EXPECT_EQ(w->committed(0), 1u);
    EXPECT_EQ(get(w->reader(), Owner::proc(0), "a"), blob(2000, 1));
    Buffer two = chunk_of(8, {1, 0, true}, Records().add("a", blob(5000, 1)));
    const Buffer small = chunk_of(9, {1, 0, true}, Records().add("a", u32(1)));
    two.insert(two.end(), small.begin(), small.end());
    const Ingested in = w->ingest(two);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, in.status);
    EXPECT_EQ(in.blocks, 1u);
    EXPECT_FALSE(w->reader().has_commits(8));
    EXPECT_TRUE(w->reader().has_commits(9));
}

TEST(Writer, Quota_CountsAllContributionsOfARank) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    EXPECT_STATUS(PMIX_SUCCESS, w->ingest(chunk_of(8, {1, 0, true}, Records().add("a", blob(2000, 1)))).status);
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  w->ingest(chunk_of(8, {2, 1, false}, Records().add("b", blob(3000, 1)))).status);
    EXPECT_EQ(get(w->reader(), Owner::proc(8), "b"), Buffer{});
    EXPECT_STATUS(PMIX_SUCCESS, w->ingest(chunk_of(9, {2, 1, false}, Records().add("b", blob(3000, 1)))).status);
}

TEST(Writer, Quota_CountsValuesForRemotePeersAsLongAsTheyStand) {
    WriterOptions options;
    options.rank_quota = 4096;
    auto w = make_writer(options);
    w->add_local(0);
    const auto commit = [&](const char* key, size_t size, uint8_t fill) {
        return w->commit(0, Records().add(key, blob(size, fill), PMIX_REMOTE).list()).status();
    };
    ASSERT_STATUS(PMIX_SUCCESS, commit("a", 1500, 1));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, commit("b", 3000, 1));
    // What is replaced counts no longer.
    for (uint8_t i = 2; i < 20; ++i) EXPECT_STATUS(PMIX_SUCCESS, commit("a", 1500, i)) << unsigned{i};
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
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("first", text("early")).list()));
    Found ours, theirs;
    ASSERT_STATUS(PMIX_SUCCESS, w->reader().find(Owner::job(), Key("first"), ours));
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::job(), Key("first"), theirs));
    for (uint32_t i = 0; i < 40; ++i) {
        ASSERT_STATUS(PMIX_SUCCESS,
                      w->put(Owner::app(i), Records().add("big", blob(300'000, static_cast<uint8_t>(i))).list()));
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
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->commit(0, Records().add("k", large).list()).status());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->put(Owner::job(), Records().add("k", large).list()));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, w->ingest(chunk).status);
    EXPECT_EQ(w->committed(0), 1u);
    EXPECT_TRUE(w->commit(0, Records().add("small", blob(1000, 3)).list()).ok());
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
    auto r = open_reader(*w);
    EXPECT_EQ(get(*r, Owner::proc(0), "k"), text("old"));
    EXPECT_EQ(get(*r, Owner::proc(0), "small"), blob(1000, 3));
    EXPECT_FALSE(r->has_commits(9));
    EXPECT_STATUS(PMIX_SUCCESS, w->ingest(chunk).status);
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
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("k", u32(1)).list()));
    Found f;
    ASSERT_STATUS(PMIX_SUCCESS, w->reader().find(Owner::job(), Key("k"), f));
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
}  // namespace pmix::dstore::writer_limits_test
