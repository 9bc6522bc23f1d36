// SPDX-License-Identifier: BSD-3-Clause
// Readers against a publishing writer, and against puts into the private store. Under ThreadSanitizer the readers use
// the writer's own mapping, since it cannot see that two addresses are one memory.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dstore/private_store.h"
#include "support/sanitizers.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore {
namespace {

using namespace test;

constexpr uint64_t kMappedAgain = 1 << 20;  // so little that it is mapped again on the way
constexpr uint64_t kMappedOnce = 1 << 30;   // as it is where all goes well

void readers_against_writer(bool own_mapping, uint64_t reservation) {
    WriterOptions options;
    options.reservation = reservation;
    auto w = make_writer(options);
    w->add_local(0);
    std::atomic<bool> stop{false};
    std::atomic<unsigned> bad{0};
    std::atomic<unsigned> reads{0};
    std::unique_ptr<Reader> shared = own_mapping ? nullptr : open_reader(*w);
    const Reader& r = own_mapping ? w->reader() : *shared;
    auto read = [&] {
        uint32_t last_commit = 0, last_job = 0, last_peer = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            // What was seen once is never older the next time.
            auto check = [&](Owner o, std::string_view key, uint32_t* last) {
                Found f;
                const pmix_status_t rc = r.find(o, Key(key), f);
                uint32_t n = 0;
                if (rc == PMIX_ERR_NOT_FOUND && *last == 0) return;
                if (rc != PMIX_SUCCESS || !told(f.bytes(), &n) || n < *last) bad.fetch_add(1);
                *last = n;
            };
            check(Owner::proc(0), "commit", &last_commit);
            check(Owner::job(), "job", &last_job);
            check(Owner::proc(5000), "peer", &last_peer);
            r.for_each(Owner::proc(0), [&](std::string_view, const Found& f) {
                uint32_t n;
                if (!told(f.bytes(), &n)) bad.fetch_add(1);
            });
            Found f;
            if (const pmix_status_t rc = r.find_any_rank(Key("peer"), f);
                rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_FOUND)
                bad.fetch_add(1);
            reads.fetch_add(1, std::memory_order_relaxed);
        }
    };
    std::thread one(read), two(read);
    for (uint32_t n = 1; n <= 3000 || reads.load() < 100; ++n) {
        const Buffer v = telling(n);
        const Records commit = Records().add("commit", v).add("more." + std::to_string(n % 40), v);
        ASSERT_TRUE(w->commit(0, commit.list()).ok());
        ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("job", v).list()));
        ASSERT_STATUS(
            PMIX_SUCCESS,
            w->ingest(chunk_of(5000, {n, n % 7 == 0 ? 0 : n - 1, n % 7 == 0}, Records().add("peer", v))).status);
        if (n % 100 == 0) {
            ColumnBuilder b(OwnerKind::proc);
            for (uint32_t i = 0; i < n / 10; ++i) b.set(i, "column", v);
            ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
        }
    }
    stop = true;
    one.join();
    two.join();
    EXPECT_EQ(bad.load(), 0u);
}

TEST(StoreStress, ReadersOnTheWritersMapping) {
    readers_against_writer(true, kMappedAgain);
}
TEST(StoreStress, ReadersOnTheWritersOnlyMapping) {
    readers_against_writer(true, kMappedOnce);
}
#ifndef UNDER_TSAN
TEST(StoreStress, ReadersOnTheirOwnMapping) {
    readers_against_writer(false, kMappedAgain);
}
TEST(StoreStress, ReadersOnTheirOwnMappingOfAStoreMappedOnce) {
    readers_against_writer(false, kMappedOnce);
}
#endif

TEST(StoreStress, PrivateStore) {
    PrivateStore s;
    const auto ns = s.intern("job");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> bad{0};
    std::atomic<unsigned> reads{0};
    auto read = [&] {
        uint32_t last = 0;
        while (!stop.load(std::memory_order_relaxed)) {
            if (const auto hit = s.find(s.nspace("job"), 0, Key("hot"))) {
                uint32_t n = 0;
                if (!told(hit.bytes(), &n) || n < last) bad.fetch_add(1);
                last = n;
                if (n % 64 == 0) hit.pin();
            }
            s.find(s.nspace("other"), 1, Key("hot"));
            reads.fetch_add(1, std::memory_order_relaxed);
        }
    };
    auto write = [&](uint32_t thread) {
        for (uint32_t n = 1; n <= 4000; ++n) {
            s.put(ns, thread + 1, Key("k" + std::to_string(n)), PMIX_LOCAL, telling(n));
            if (n % 1000 == 0) s.intern("nspace" + std::to_string(thread) + "." + std::to_string(n));
        }
    };
    std::thread one(read), two(read), other(write, 1);
    for (uint32_t n = 1; n <= 4000 || reads.load() < 1000; ++n) {
        s.put(ns, 0, Key("hot"), PMIX_GLOBAL, telling(n));
        if (n % 100 == 0) {
            s.take_staged([&](std::string_view, pmix_scope_t, common::Bytes v) {
                uint32_t k;
                if (!told(v, &k)) bad.fetch_add(1);
            });
        }
    }
    other.join();
    stop = true;
    one.join();
    two.join();
    EXPECT_EQ(bad.load(), 0u);
    for (uint32_t n = 1; n <= 4000; ++n) ASSERT_TRUE(s.find(ns, 2, Key("k" + std::to_string(n))));
}

}  // namespace
}  // namespace pmix::dstore
