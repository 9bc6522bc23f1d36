// SPDX-License-Identifier: BSD-3-Clause
// Qualifiers of PMIx_Get as they are read from the caller's arguments.
#include "client/data/get_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/values/value.h"
#include "support/status.h"

namespace pmix::client::get_request_test {
namespace {

const common::ProcId kSelf("job", 3);

class Infos {
  public:
    template <class T>
    Infos& number(const char* key, T n, pmix_data_type_t type, pmix_info_directives_t flags = 0) {
        EXPECT_STATUS(PMIX_SUCCESS, list_.append(key, &n, type, flags));
        return *this;
    }
    Infos& flag(const char* key, bool b = true) {
        EXPECT_STATUS(PMIX_SUCCESS, list_.append_flag(key, b));
        return *this;
    }
    Infos& text(const char* key, const char* s) {
        EXPECT_STATUS(PMIX_SUCCESS, list_.append_string(key, s));
        return *this;
    }
    common::Result<GetRequest> parse(const pmix_proc_t* proc = nullptr, const char* key = "pmix.num.nodes") {
        return parse_get(kSelf, proc, key, list_.c_array(), list_.size());
    }

  private:
    common::InfoList list_;
};

pmix_proc_t proc(const char* nspace, pmix_rank_t rank) {
    return common::ProcId(nspace, rank).to_c();
}

// rows: K13
TEST(GetRequest, NullProcIsTheCaller) {
    auto r = Infos().parse(nullptr, "k");
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->nspace, "job");
    EXPECT_EQ(r->rank, 3u);
    EXPECT_EQ(r->key, "k");
    EXPECT_EQ(r->realm, Realm::natural);
    EXPECT_FALSE(r->reserved());
}

// rows: K13
TEST(GetRequest, EmptyNamespaceIsTheCallers) {
    const pmix_proc_t p = proc("", 7);
    auto r = Infos().parse(&p, "k");
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->nspace, "job");
    EXPECT_EQ(r->rank, 7u);
}

// rows: K14
TEST(GetRequest, NullKeyIsAllKeys) {
    auto r = Infos().parse(nullptr, nullptr);
    ASSERT_TRUE(r.ok());
    EXPECT_TRUE(r->all_keys());
}

// rows: G13
TEST(GetRequest, LengthsAtTheirLimits) {
    const std::string longest(511, 'k'), longer(512, 'k');
    EXPECT_TRUE(Infos().parse(nullptr, longest.c_str()).ok());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().parse(nullptr, longer.c_str()).status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().parse(nullptr, "").status());
    pmix_proc_t p = proc("x", 0);
    memset(p.nspace, 'n', sizeof p.nspace);  // 256 characters and no end
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().parse(&p, "k").status());
    p.nspace[255] = '\0';
    EXPECT_TRUE(Infos().parse(&p, "k").ok());
}

// rows: G12
TEST(GetRequest, Ranks) {
    for (const pmix_rank_t good : {0u, 1000000u, PMIX_RANK_WILDCARD, PMIX_RANK_UNDEF}) {
        const pmix_proc_t p = proc("job", good);
        EXPECT_TRUE(Infos().parse(&p, "k").ok()) << good;
    }
    for (const pmix_rank_t bad : {PMIX_RANK_INVALID, PMIX_RANK_LOCAL_NODE, PMIX_RANK_LOCAL_PEERS}) {
        const pmix_proc_t p = proc("job", bad);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().parse(&p, "k").status()) << bad;
    }
}

// rows: G17
TEST(GetRequest, Flags) {
    auto r = Infos()
                 .flag(PMIX_OPTIONAL)
                 .flag(PMIX_IMMEDIATE)
                 .flag(PMIX_GET_REFRESH_CACHE)
                 .flag(PMIX_GET_POINTER_VALUES)
                 .flag(PMIX_GET_STATIC_VALUES)
                 .parse();
    ASSERT_TRUE(r.ok());
    EXPECT_TRUE(r->optional && r->immediate && r->refresh && r->by_pointer && r->into_caller);
    r = Infos().flag(PMIX_OPTIONAL, false).parse();
    ASSERT_TRUE(r.ok());
    EXPECT_FALSE(r->optional);
    // No value at all counts as true.
    pmix_info_t bare;
    memset(&bare, 0, sizeof bare);
    strcpy(bare.key, PMIX_IMMEDIATE);
    r = parse_get(kSelf, nullptr, "k", &bare, 1);
    ASSERT_TRUE(r.ok());
    EXPECT_TRUE(r->immediate);
}

TEST(GetRequest, WrongTypesAreRefused) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().text(PMIX_TIMEOUT, "later").parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().number(PMIX_TIMEOUT, -1, PMIX_INT).parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().flag(PMIX_HOSTNAME).parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().text(PMIX_APPNUM, "one").parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().number(PMIX_SESSION_ID, UINT64_MAX, PMIX_UINT64).parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, Infos().number(PMIX_DATA_SCOPE, 77, PMIX_INT).parse().status());
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, parse_get(kSelf, nullptr, "k", nullptr, 1).status());
}

// rows: G11
TEST(GetRequest, TimeoutOfAnyIntegerType) {
    EXPECT_EQ(Infos().number(PMIX_TIMEOUT, 5, PMIX_INT).parse()->timeout_s, 5);
    EXPECT_EQ(Infos().number(PMIX_TIMEOUT, uint16_t{6}, PMIX_UINT16).parse()->timeout_s, 6);
    EXPECT_EQ(Infos().number(PMIX_TIMEOUT, size_t{7}, PMIX_SIZE).parse()->timeout_s, 7);
}

TEST(GetRequest, RealmFlagsAndTheirQualifiers) {
    EXPECT_EQ(Infos().flag(PMIX_SESSION_INFO).parse()->realm, Realm::session);
    EXPECT_EQ(Infos().flag(PMIX_JOB_INFO).parse()->realm, Realm::job);
    EXPECT_EQ(Infos().flag(PMIX_APP_INFO).parse()->realm, Realm::app);
    EXPECT_EQ(Infos().flag(PMIX_NODE_INFO).parse()->realm, Realm::node);
    auto r = Infos().flag(PMIX_SESSION_INFO).number(PMIX_SESSION_ID, 12345u, PMIX_UINT32).parse();
    EXPECT_EQ(r->session_id, 12345u);
    r = Infos().number(PMIX_APPNUM, 1u, PMIX_UINT32).parse(nullptr, PMIX_APP_SIZE);
    EXPECT_EQ(r->realm, Realm::app);
    EXPECT_EQ(r->appnum, 1u);
    Infos host;
    r = host.text(PMIX_HOSTNAME, "remotehost").parse(nullptr, PMIX_MAX_PROCS);
    EXPECT_EQ(r->realm, Realm::node);
    EXPECT_EQ(r->hostname, "remotehost");
    r = Infos().number(PMIX_NODEID, 4u, PMIX_UINT32).parse();
    EXPECT_EQ(r->realm, Realm::node);
    EXPECT_EQ(r->node_id, 4u);
}

TEST(GetRequest, NamespaceByQualifierReplacesTheProcess) {
    const pmix_proc_t p = proc("elsewhere", 9);
    Infos third, fourth;
    auto r = third.flag(PMIX_APP_INFO).number(PMIX_APPNUM, 0u, PMIX_UINT32).text(PMIX_NSPACE, "third").parse(&p);
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(r->nspace, "third");
    EXPECT_EQ(r->rank, PMIX_RANK_WILDCARD);
    EXPECT_EQ(fourth.text(PMIX_JOBID, "fourth").parse(&p)->nspace, "fourth");
}

// rows: G6 G7
TEST(GetRequest, RequiredAndUnknown) {
    EXPECT_FALSE(Infos().number("site.hint", 1, PMIX_INT).parse()->required_unknown);
    EXPECT_TRUE(Infos().number("site.hint", 1, PMIX_INT, PMIX_INFO_REQD).parse()->required_unknown);
    EXPECT_FALSE(Infos().number(PMIX_TIMEOUT, 1, PMIX_INT, PMIX_INFO_REQD).parse()->required_unknown);
}

// rows: K24 K28
TEST(GetRequest, DefaultRealms) {
    EXPECT_EQ(default_realm(PMIX_JOB_SIZE), Realm::job);
    EXPECT_EQ(default_realm(PMIX_NUM_NODES), Realm::job);
    EXPECT_EQ(default_realm(PMIX_UNIV_SIZE), Realm::session);
    EXPECT_EQ(default_realm(PMIX_LOCAL_PEERS), Realm::node);
    EXPECT_EQ(default_realm(PMIX_LOCALLDR), Realm::node);
    EXPECT_EQ(default_realm(PMIX_NODE_SIZE), Realm::node);
    EXPECT_EQ(default_realm(PMIX_APP_SIZE), Realm::app);
    EXPECT_EQ(default_realm("pmix.whatever"), Realm::job);
}

}  // namespace
}  // namespace pmix::client::get_request_test
