// SPDX-License-Identifier: BSD-3-Clause
// The client's mapped segments: found, replaced, taken away under readers, and unmapped when nobody is inside.
#include "client/state/namespaces.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

#include "client/state/borrowed_values.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::client::namespaces_test {
namespace {

using namespace dstore;
using namespace test;

transport::Descriptor descriptor_of(const Writer& w) {
    return transport::Descriptor(::fcntl(w.descriptor(), F_DUPFD_CLOEXEC, 0));
}

std::unique_ptr<Writer> job_of(uint32_t size) {
    auto w = make_writer();
    EXPECT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("size", u32(size)).list()));
    return w;
}

size_t segments_mapped() {
    std::ifstream maps("/proc/self/maps");
    size_t n = 0;
    for (std::string line; std::getline(maps, line);) n += line.find("wireup-store") != std::string::npos;
    return n;
}

pmix_status_t look(const Namespaces& all, const char* name, Found& found) {
    const Reader* r = all.find(name);
    return r == nullptr ? PMIX_ERR_NOT_FOUND : r->find(Owner::job(), Key("size"), found);
}

const auto nothing_borrowed = [] { return std::span<const common::Bytes>{}; };

TEST(Namespaces, ComeAndGoWithoutATrace) {
    Namespaces all("own");
    auto own = job_of(1);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("own", 1, descriptor_of(*own)));
    const size_t before = segments_mapped();
    for (uint64_t i = 2; i < 202; ++i) {
        auto w = job_of(static_cast<uint32_t>(i));
        const std::string name = "job" + std::to_string(i % 3);
        ASSERT_STATUS(PMIX_SUCCESS, all.add(name, i, descriptor_of(*w)));
        {
            Reading reading;
            Found found;
            EXPECT_STATUS(PMIX_SUCCESS, look(all, name.c_str(), found));
        }
        all.remove(name, i);
        Reading reading;
        EXPECT_EQ(all.find(name), nullptr);
        EXPECT_TRUE(all.reclaim(nothing_borrowed));
        EXPECT_FALSE(all.has_removed());
    }
    EXPECT_EQ(segments_mapped(), before);
    Reading reading;
    EXPECT_EQ(all.own(), all.find("own"));
    ASSERT_NE(all.own(), nullptr);
}

TEST(Namespaces, AReaderInsideKeepsIt) {
    Namespaces all("own");
    auto w = job_of(7);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("job", 1, descriptor_of(*w)));
    std::atomic<int> step{0};
    std::thread reader([&] {
        {
            Reading outer;
            Reading inner;  // reading inside reading
            Found found;
            EXPECT_STATUS(PMIX_SUCCESS, look(all, "job", found));
            step = 1;
            step.notify_all();
            step.wait(1);
            EXPECT_EQ(copy_of(found), u32(7)) << "it is still there";
        }
        step = 3;
        step.notify_all();
        step.wait(3);
    });
    step.wait(0);
    all.remove("job", 1);
    EXPECT_FALSE(all.reclaim(nothing_borrowed));
    EXPECT_TRUE(all.has_removed());
    step = 2;
    step.notify_all();
    step.wait(2);
    EXPECT_TRUE(all.reclaim(nothing_borrowed));
    step = 4;
    step.notify_all();
    reader.join();
}

TEST(Namespaces, BorrowedValues_NamespaceRemoved_StayMapped) {
    const size_t before = segments_mapped();
    auto w = job_of(3);
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::job(), Records().add("text", text("some words")).list()));
    BorrowedValues borrowed;
    const pmix_value_t* value = nullptr;
    {
        Namespaces all("own");
        ASSERT_STATUS(PMIX_SUCCESS, all.add("job", 1, descriptor_of(*w)));
        {
            Reading reading;
            Found found;
            ASSERT_STATUS(PMIX_SUCCESS, all.find("job")->find(Owner::job(), Key("text"), found));
            auto given = borrowed.borrow(found.bytes());
            ASSERT_TRUE(given.ok());
            value = given.value();
        }
        all.remove("job", 1);
        EXPECT_TRUE(all.reclaim([&] { return borrowed.ranges(); }));
        w.reset();
        EXPECT_STREQ(value->data.string, "some words");
        EXPECT_EQ(segments_mapped(), before + 1) << "the page of it";
    }
    EXPECT_EQ(segments_mapped(), before);
}

TEST(Namespaces, Add_OfASecondInstance_ReplacesTheFirst) {
    Namespaces all("own");
    auto first = job_of(1), second = job_of(2);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("own", 1, descriptor_of(*first)));
    ASSERT_STATUS(PMIX_SUCCESS, all.add("own", 2, descriptor_of(*second)));
    EXPECT_TRUE(all.reclaim(nothing_borrowed));
    Reading reading;
    Found found;
    EXPECT_STATUS(PMIX_SUCCESS, look(all, "own", found));
    EXPECT_EQ(copy_of(found), u32(2));
    EXPECT_EQ(all.own(), all.find("own"));
}

// Without this a client of a server that compacts its segments would map one more with each compaction.
TEST(Namespaces, Add_OfANewerInstance_UnmapsTheReplacedSegment) {
    Namespaces all("own");
    const size_t before = segments_mapped();
    for (uint64_t instance = 1; instance <= 5; ++instance) {
        const size_t alone = segments_mapped();
        auto w = job_of(static_cast<uint32_t>(instance));
        const size_t writers = segments_mapped() - alone;
        ASSERT_STATUS(PMIX_SUCCESS, all.add("job", instance, descriptor_of(*w)));
        EXPECT_EQ(all.has_removed(), instance > 1);
        EXPECT_TRUE(all.reclaim(nothing_borrowed));
        EXPECT_EQ(segments_mapped(), before + writers + 1) << instance;
    }
    all.remove("job", 5);
    EXPECT_EQ(all.find("job"), nullptr) << "no replaced segment is found in its place";
}

TEST(Namespaces, Add_OfAnOlderInstance_ChangesNothing) {
    Namespaces all("own");
    auto old = job_of(1), fresh = job_of(2);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("job", 2, descriptor_of(*fresh)));
    EXPECT_STATUS(PMIX_SUCCESS, all.add("job", 1, descriptor_of(*old)));
    Reading reading;
    Found found;
    EXPECT_STATUS(PMIX_SUCCESS, look(all, "job", found));
    EXPECT_EQ(copy_of(found), u32(2));
}

TEST(Namespaces, Remove_OfAnotherInstance_LeavesTheMapping) {
    Namespaces all("own");
    auto first = job_of(1), second = job_of(2);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("job", 1, descriptor_of(*first)));
    ASSERT_STATUS(PMIX_SUCCESS, all.add("job", 2, descriptor_of(*second)));
    all.remove("job", 1);
    EXPECT_NE(all.find("job"), nullptr);
    all.remove("job", 2);
    EXPECT_EQ(all.find("job"), nullptr) << "what it replaced has gone before";
}

// The answer that hands a segment out may be read by one thread while another reads of its end.
TEST(Namespaces, WhatHasEndedIsNotTaken) {
    Namespaces all("own");
    auto w = job_of(1);
    all.remove("job", 5);
    EXPECT_STATUS(PMIX_SUCCESS, all.add("job", 5, descriptor_of(*w)));
    EXPECT_EQ(all.find("job"), nullptr);
    EXPECT_STATUS(PMIX_SUCCESS, all.add("job", 6, descriptor_of(*w)));
    EXPECT_NE(all.find("job"), nullptr);
}

// A segment whose descriptor could not be received: what it replaces goes, and it is lacked until it comes again.
TEST(Namespaces, AddAll_DescriptorEmpty_OldSegmentGoesAndIsLackedUntilAdded) {
    Namespaces all("own");
    auto first = job_of(1), second = job_of(2);
    ASSERT_STATUS(PMIX_SUCCESS, all.add("own", 3, descriptor_of(*first)));
    const auto listed = [](uint64_t instance) {
        common::SegmentRef ref;
        ref.nspace = "own";
        ref.instance = instance;
        ref.has_descriptor = true;
        return common::SegmentList{ref};
    };
    std::vector<transport::Descriptor> empty(1);
    EXPECT_STATUS(PMIX_SUCCESS, all.add_all(listed(3), std::move(empty)));
    EXPECT_NE(all.own(), nullptr) << "this instance is mapped";
    EXPECT_FALSE(all.lacks("own"));
    empty = std::vector<transport::Descriptor>(1);
    EXPECT_STATUS(PMIX_SUCCESS, all.add_all(listed(5), std::move(empty)));
    EXPECT_EQ(all.own(), nullptr);
    EXPECT_TRUE(all.lacks("own"));
    EXPECT_FALSE(all.lacks("job"));
    EXPECT_STATUS(PMIX_SUCCESS, all.add("own", 4, descriptor_of(*first)));
    EXPECT_EQ(all.own(), nullptr) << "an older one does not take its place";
    EXPECT_STATUS(PMIX_SUCCESS, all.add("own", 5, descriptor_of(*second)));
    EXPECT_NE(all.own(), nullptr);
    EXPECT_FALSE(all.lacks("own"));
    EXPECT_TRUE(all.reclaim(nothing_borrowed));

    // The server had no room for a copy, so the message has none.
    EXPECT_STATUS(PMIX_SUCCESS, all.add_all(listed(6), {}));
    EXPECT_TRUE(all.lacks("own"));
    all.remove("own", 6);
    EXPECT_FALSE(all.lacks("own")) << "it has ended";
    EXPECT_TRUE(all.reclaim(nothing_borrowed));
}

TEST(Namespaces, ReadersAgainstRemoval) {
    Namespaces all("own");
    std::atomic<bool> stop{false};
    std::atomic<unsigned> hits{0}, bad{0};
    const auto read = [&] {
        while (!stop.load()) {
            Reading reading;
            Found found;
            const pmix_status_t rc = look(all, "job", found);
            if (rc == PMIX_SUCCESS) {
                ++hits;
                if (copy_of(found).size() != u32(1).size()) ++bad;
            } else if (rc != PMIX_ERR_NOT_FOUND) {
                ++bad;
            }
        }
    };
    std::thread one(read), two(read);
    for (uint64_t i = 1; i < 300 || hits.load() < 100; ++i) {
        auto w = job_of(static_cast<uint32_t>(i));
        ASSERT_STATUS(PMIX_SUCCESS, all.add("job", i, descriptor_of(*w)));
        if (i % 2 == 0) all.remove("job", i);
        all.reclaim(nothing_borrowed);
    }
    stop = true;
    one.join();
    two.join();
    EXPECT_EQ(bad.load(), 0u);
    EXPECT_TRUE(all.reclaim(nothing_borrowed));
}

}  // namespace
}  // namespace pmix::client::namespaces_test
