// SPDX-License-Identifier: BSD-3-Clause
// What queries have returned: named by key and process, told apart by both.
#include "client/state/query_cache.h"

#include <gtest/gtest.h>

#include "common/values/info_view.h"

namespace pmix::client::query_cache_test {
namespace {

using common::InfoList;
using common::InfoView;
using common::ProcId;
using common::Value;

const ProcId kSelf("job", 1);
const InfoView kNothing(nullptr, 0);

std::string name(const ProcId& proc) {
    return QueryCache::name_of("key", proc, kNothing);
}

TEST(QueryCache, NameOf_TellsKeysAndProcessesApart) {
    EXPECT_NE(name({"job", 0}), name({"job", 1}));
    EXPECT_NE(name({"job", 0}), name({"other", 0}));
    EXPECT_NE(QueryCache::name_of("a", kSelf, kNothing), QueryCache::name_of("b", kSelf, kNothing));
    EXPECT_EQ(name({"job", 0}), name({"job", 0}));
}

TEST(QueryCache, NameOf_IgnoresDirectivesAndOrder) {
    InfoList one, other;
    one.append_string("a", "1");
    one.append_string("b", "2");
    other.append_string("b", "2");
    other.append_number<int>(PMIX_TIMEOUT, 3, PMIX_INT);
    other.append_string("a", "1");
    EXPECT_EQ(QueryCache::name_of("key", ProcId(), InfoView(one)),
              QueryCache::name_of("key", ProcId(), InfoView(other)));
    InfoList third;
    third.append_string("a", "1");
    EXPECT_NE(QueryCache::name_of("key", ProcId(), InfoView(one)),
              QueryCache::name_of("key", ProcId(), InfoView(third)));
}

TEST(QueryCache, ProcessOf_ProcessWithoutANamespace_IsOfTheOwnJob) {
    pmix_proc_t proc;
    PMIX_LOAD_PROCID(&proc, "", 4);
    InfoList infos;
    infos.append(PMIX_PROCID, &proc, PMIX_PROC);
    EXPECT_EQ(QueryCache::process_of(kSelf, InfoView(infos)), ProcId("job", 4));
}

TEST(QueryCache, Find_OfAnAnswerThatNamedNoProcess_IsForTheOwnJobOnly) {
    QueryCache cache;
    EXPECT_FALSE(cache.used());
    cache.keep(QueryCache::name_of("key", ProcId(), kNothing), Value::u32(7).get());
    EXPECT_TRUE(cache.used());
    Value found;
    EXPECT_TRUE(cache.find(kSelf, kSelf, "key", kNothing, found));
    EXPECT_EQ(found.get().data.uint32, 7u);
    EXPECT_TRUE(cache.find(kSelf, {"job", PMIX_RANK_WILDCARD}, "key", kNothing, found));
    EXPECT_FALSE(cache.find(kSelf, {"job", 2}, "key", kNothing, found));
    EXPECT_FALSE(cache.find(kSelf, {"other", 1}, "key", kNothing, found));
    cache.forget(QueryCache::name_of("key", ProcId(), kNothing));
    EXPECT_FALSE(cache.find(kSelf, kSelf, "key", kNothing, found));
}

TEST(QueryCache, Keep_OfManyAnswers_DropsTheOldest) {
    QueryCache cache;
    for (common::Rank r = 0; r < 65; ++r) cache.keep(name({"job", r}), Value::u32(r).get());
    Value found;
    EXPECT_FALSE(cache.find(name({"job", 0}), found));
    EXPECT_TRUE(cache.find(name({"job", 1}), found));
    EXPECT_TRUE(cache.find(name({"job", 64}), found));
}

}  // namespace
}  // namespace pmix::client::query_cache_test
