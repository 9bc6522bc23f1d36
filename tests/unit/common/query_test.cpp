// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Query_info through the public API, in a process that is its own server: the client half, the server half and a
// host's upcall in one. What only many processes show is in tests/integration; what qualifiers narrow, in
// query_realms_test.cpp.
#include "support/status.h"
#include "unit/common/query_setting.h"

namespace query_test {

using namespace pmix::test;

// rows: Q6
// proves: PMIx_Query_info PMIX_QUERY_STABLE_ABI_VERSION PMIX_QUERY_PROVISIONAL_ABI_VERSION client
TEST_F(QueryTest, VersionsOfTheBinaryInterfaceBeforeInit) {
    Ask both({PMIX_QUERY_STABLE_ABI_VERSION, PMIX_QUERY_PROVISIONAL_ABI_VERSION});
    EXPECT_STATUS(PMIX_SUCCESS, both.status);
    EXPECT_EQ("5.0", both.text(PMIX_QUERY_STABLE_ABI_VERSION));
    EXPECT_EQ("5.0", both.text(PMIX_QUERY_PROVISIONAL_ABI_VERSION));
    Ask mixed({PMIX_QUERY_STABLE_ABI_VERSION, PMIX_QUERY_NAMESPACES});
    EXPECT_STATUS(PMIX_ERR_INIT, mixed.status);
    EXPECT_EQ(nullptr, mixed.results);
    EXPECT_EQ(0u, mixed.n);
    EXPECT_STATUS(
        PMIX_ERR_INIT,
        PMIx_Query_info_nb(
            &both.query, 1, [](pmix_status_t, pmix_info_t*, size_t, void*, pmix_release_cbfunc_t, void*) {}, nullptr));
}

// rows: Q1 Q8
// proves: PMIx_Query_info PMIX_QUERY_NAMESPACES PMIX_QUERY_NAMESPACE_INFO PMIX_QUERY_JOB_STATUS PMIX_NSPACE server
// proves: PMIx_Query_info PMIX_QUERY_PROC_TABLE PMIX_QUERY_AVAIL_SERVERS PMIX_DAEMON_MEMORY server
// proves: PMIx_server_init PMIX_HOSTNAME
TEST_F(QueryTest, KeysOfTheServer_AreAnsweredWithoutTheHost) {
    start();
    job("one");
    job("two", true);
    Ask names({PMIX_QUERY_NAMESPACES});
    ASSERT_STATUS(PMIX_SUCCESS, names.status);
    EXPECT_EQ("one,two", names.text(PMIX_QUERY_NAMESPACES));

    Ask size({PMIX_JOB_SIZE, PMIX_NUM_NODES}, of_job("two"));
    ASSERT_STATUS(PMIX_SUCCESS, size.status);
    ASSERT_NE(nullptr, size.value(PMIX_JOB_SIZE));
    EXPECT_EQ(2u, size.value(PMIX_JOB_SIZE)->data.uint32);
    EXPECT_EQ(2u, size.value(PMIX_NUM_NODES)->data.uint32);

    Ask table({PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_JOB_STATUS}, of_job("one"));
    ASSERT_STATUS(PMIX_SUCCESS, table.status);
    const pmix_data_array_t* rows = table.value(PMIX_QUERY_PROC_TABLE)->data.darray;
    ASSERT_EQ(PMIX_PROC_INFO, rows->type);
    ASSERT_EQ(2u, rows->size);
    const auto* second = static_cast<const pmix_proc_info_t*>(rows->array) + 1;
    EXPECT_EQ(ProcId("one", 1), ProcId(second->proc));
    EXPECT_STREQ("n0", second->hostname);
    EXPECT_EQ(PMIX_PROC_STATE_LAUNCH_UNDERWAY, second->state);
    EXPECT_STATUS(PMIX_SUCCESS, table.value(PMIX_QUERY_JOB_STATUS)->data.status);

    Ask info({PMIX_QUERY_NAMESPACE_INFO}, of_job("one"));
    ASSERT_STATUS(PMIX_SUCCESS, info.status);
    const InfoView jobs = infos_in(*info.value(PMIX_QUERY_NAMESPACE_INFO));
    ASSERT_EQ(1u, jobs.size());
    EXPECT_STREQ("one", infos_in(jobs[0].value).find(PMIX_NSPACE)->value.data.string);
    EXPECT_STREQ("./a.out -v", infos_in(jobs[0].value).find(PMIX_CMD_LINE)->value.data.string);

    Ask own({PMIX_DAEMON_MEMORY, PMIX_SERVER_URI, PMIX_QUERY_AVAIL_SERVERS, PMIX_AVAIL_PHYS_MEMORY});
    ASSERT_STATUS(PMIX_SUCCESS, own.status);
    EXPECT_GT(own.value(PMIX_DAEMON_MEMORY)->data.fval, 0.5F);
    EXPECT_NE("", own.text(PMIX_SERVER_URI));
    const InfoView servers = infos_in(*own.value(PMIX_QUERY_AVAIL_SERVERS));
    ASSERT_EQ(1u, servers.size());
    EXPECT_STREQ("here", infos_in(servers[0].value).find(PMIX_NSPACE)->value.data.string);
    EXPECT_EQ(1, host.upcalls) << "for the pids of processes that have not connected";
    EXPECT_EQ((std::vector<std::string>{PMIX_QUERY_PROC_TABLE, PMIX_QUERY_LOCAL_PROC_TABLE}), host.keys);

    // Processes of other nodes are the host's business.
    Ask far({PMIX_QUERY_PROC_TABLE}, of_job("two"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, far.status);
    EXPECT_EQ(2, host.upcalls);
    Ask unknown({PMIX_QUERY_PROC_TABLE}, of_job("nobody"));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, unknown.status);
    EXPECT_EQ(nullptr, unknown.results);
}

// A part of a table is no answer: the host is asked, or the query fails. rows: Q16 Q17 Q18
// proves: PMIx_Query_info PMIX_QUERY_MEMORY_USAGE PMIX_QUERY_LOCAL_PROC_TABLE PMIX_HOSTNAME server
// proves: PMIx_Query_info PMIX_SERVER_URI PMIX_HOSTNAME server
// proves: PMIx_Query_info PMIX_DAEMON_MEMORY PMIX_HOSTNAME server
// proves: PMIx_Query_info PMIX_CLIENT_AVG_MEMORY PMIX_HOSTNAME server
TEST_F(QueryTest, Query_OfAnotherNode_IsTheHostsToAnswer) {
    start();
    job("two", true);
    const auto of_node = [](const char* name, const char* nspace) {
        InfoList infos = of_job(nspace);
        infos.append_string(PMIX_HOSTNAME, name);
        return infos;
    };
    int asked = 0;
    for (const char* key : {PMIX_SERVER_URI, PMIX_DAEMON_MEMORY, PMIX_CLIENT_AVG_MEMORY, PMIX_QUERY_MEMORY_USAGE,
                            PMIX_QUERY_LOCAL_PROC_TABLE}) {
        host.keys.clear();
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({key}, of_node("n1", "two")).status) << key;
        EXPECT_EQ(++asked, host.upcalls) << key;
        EXPECT_EQ(std::vector<std::string>{key}, host.keys);
    }
    for (const char* key : {PMIX_QUERY_PROC_TABLE, PMIX_QUERY_MEMORY_USAGE}) {
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({key}, of_job("two")).status) << key << ": the whole job is meant";
        EXPECT_EQ(++asked, host.upcalls) << key;
    }
    // This node by its name.
    Ask own({PMIX_SERVER_URI, PMIX_DAEMON_MEMORY}, of_node("n0", "two"));
    EXPECT_STATUS(PMIX_SUCCESS, own.status);
    EXPECT_EQ(asked, host.upcalls);
    InfoList here = of_node("n0", "two");
    here.append_flag(PMIX_QUERY_LOCAL_ONLY, true);
    Ask table({PMIX_QUERY_LOCAL_PROC_TABLE, PMIX_QUERY_PROC_TABLE}, std::move(here));
    ASSERT_STATUS(PMIX_SUCCESS, table.status) << "no more than this node is asked about";
    EXPECT_EQ(1u, table.value(PMIX_QUERY_LOCAL_PROC_TABLE)->data.darray->size);
    EXPECT_EQ(1u, table.value(PMIX_QUERY_PROC_TABLE)->data.darray->size);
    EXPECT_EQ(asked, host.upcalls);
}

// rows: Q16
TEST_F(QueryTest, ProcTable_WithProcessesThatHaveNotConnected_IsTheHostsOwn) {
    start();
    job("one");
    host.verdict = PMIX_ERR_NOT_SUPPORTED;  // then the answer is this server's own data
    Ask own({PMIX_QUERY_PROC_TABLE}, of_job("one"));
    ASSERT_STATUS(PMIX_SUCCESS, own.status);
    EXPECT_EQ(1, host.upcalls);
    EXPECT_EQ(2u, own.value(PMIX_QUERY_PROC_TABLE)->data.darray->size);
    host.verdict = PMIX_SUCCESS;
    host.table = true;
    Ask theirs({PMIX_QUERY_NAMESPACES, PMIX_QUERY_PROC_TABLE}, of_job("one"));
    ASSERT_STATUS(PMIX_SUCCESS, theirs.status);
    ASSERT_EQ(2u, theirs.n);
    const pmix_data_array_t* rows = theirs.value(PMIX_QUERY_PROC_TABLE)->data.darray;
    ASSERT_EQ(1u, rows->size);
    EXPECT_EQ(77, static_cast<const pmix_proc_info_t*>(rows->array)[0].pid);
}

// rows: S3 Q8
// proves: PMIx_Query_info PMIX_QUERY_NUM_PSETS PMIX_QUERY_PSET_NAMES PMIX_QUERY_PSET_MEMBERSHIP PMIX_PSET_NAME server
TEST_F(QueryTest, ProcessSets) {
    start(false);
    Ask none({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES});
    ASSERT_STATUS(PMIX_SUCCESS, none.status);
    EXPECT_EQ(0u, none.value(PMIX_QUERY_NUM_PSETS)->data.size);
    const pmix_proc_t members[] = {ProcId("job", 0).to_c(), ProcId("job", 2).to_c()};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_define_process_set(members, 2, "even"));
    InfoList even;
    even.append_string(PMIX_PSET_NAME, "even");
    Ask sets({PMIX_QUERY_NUM_PSETS, PMIX_QUERY_PSET_NAMES, PMIX_QUERY_PSET_MEMBERSHIP}, std::move(even));
    ASSERT_STATUS(PMIX_SUCCESS, sets.status);
    EXPECT_EQ(1u, sets.value(PMIX_QUERY_NUM_PSETS)->data.size);
    EXPECT_EQ("even", sets.text(PMIX_QUERY_PSET_NAMES));
    const pmix_data_array_t* found = sets.value(PMIX_QUERY_PSET_MEMBERSHIP)->data.darray;
    ASSERT_EQ(2u, found->size);
    EXPECT_EQ(ProcId("job", 2), ProcId(static_cast<const pmix_proc_t*>(found->array)[1]));
}

// rows: Q1 Q9 U12
TEST_F(QueryTest, OtherKeys_GoToTheHostOnceWithTheRequester) {
    for (bool grouped : {false, true}) {
        start();
        host.grouped = grouped;
        host.upcalls = 0;
        host.keys.clear();
        host.qualifiers.reset();
        Ask ask({"host.queue", PMIX_QUERY_NAMESPACES, "nobody.knows"}, flag("test.qualifier"));
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, ask.status);
        EXPECT_EQ("from the host", ask.text("host.queue"));
        EXPECT_NE(nullptr, ask.value(PMIX_QUERY_NAMESPACES));
        EXPECT_EQ(nullptr, ask.value("nobody.knows"));
        EXPECT_EQ(1, host.upcalls);
        EXPECT_EQ((std::vector<std::string>{"host.queue", "nobody.knows"}), host.keys);
        EXPECT_EQ(ProcId("here", 3), ProcId(host.requester));
        ASSERT_NE(nullptr, host.qualifiers.find(PMIX_USERID));
        EXPECT_EQ(::geteuid(), host.qualifiers.find(PMIX_USERID)->value.data.uint32);
        EXPECT_NE(nullptr, host.qualifiers.find(PMIX_GRPID));
        EXPECT_NE(nullptr, host.qualifiers.find("test.qualifier"));
        TearDown();
        running = false;
    }
}

// Callers count the infos and take the first one for the answer to their only key. rows: Q2 Q5
TEST_F(QueryTest, Query_AnyNumberOfKeys_OneInfoForEachAnswerInTheirOrder) {
    for (bool grouped : {false, true}) {
        start();
        host.grouped = grouped;
        Ask one({"host.c"});
        ASSERT_STATUS(PMIX_SUCCESS, one.status);
        ASSERT_EQ(1u, one.n);
        EXPECT_STREQ("host.c", one.results[0].key);

        // From the host, the client half and the server, and one key twice.
        const std::vector<std::string> keys = {"host.a", PMIX_QUERY_STABLE_ABI_VERSION, "host.b", PMIX_QUERY_NAMESPACES,
                                               "host.a"};
        Ask many(keys, flag("test.qualifier"));
        ASSERT_STATUS(PMIX_SUCCESS, many.status);
        ASSERT_EQ(keys.size(), many.n);
        for (size_t i = 0; i < keys.size(); ++i) EXPECT_EQ(keys[i], many.results[i].key);

        Ask some({"nobody.knows", "host.d", PMIX_QUERY_NAMESPACES});
        EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, some.status);
        ASSERT_EQ(2u, some.n);
        EXPECT_STREQ("host.d", some.results[0].key);
        EXPECT_STREQ(PMIX_QUERY_NAMESPACES, some.results[1].key);

        Ask first({"host.a", PMIX_QUERY_NAMESPACES}), second({"host.e"});
        const pmix_query_t both[] = {first.query, second.query};
        pmix_info_t* results = nullptr;
        size_t n = 0;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info(const_cast<pmix_query_t*>(both), 2, &results, &n));
        ASSERT_EQ(3u, n) << "several queries: one list";
        EXPECT_STREQ("host.a", results[0].key);
        EXPECT_STREQ(PMIX_QUERY_NAMESPACES, results[1].key);
        EXPECT_STREQ("host.e", results[2].key);
        PMIx_Info_free(results, n);
        TearDown();
        running = false;
    }
}

// rows: Q2
TEST_F(QueryTest, Query_InStrictMode_OneResultForEachQueryWithItsQualifiers) {
    start(true, true);
    Ask ask({"host.a", "nobody.knows", PMIX_QUERY_NAMESPACES, "host.a"}, flag("test.qualifier"));
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, ask.status);
    ASSERT_EQ(1u, ask.n);
    EXPECT_STREQ(PMIX_QUERY_RESULTS, ask.results[0].key);
    const InfoView inner = infos_in(ask.results[0].value);
    ASSERT_EQ(4u, inner.size());
    EXPECT_STREQ(PMIX_QUERY_QUALIFIERS, inner[0].key);
    EXPECT_STREQ("test.qualifier", infos_in(inner[0].value)[0].key);
    EXPECT_STREQ("host.a", inner[1].key);
    EXPECT_STREQ(PMIX_QUERY_NAMESPACES, inner[2].key);
    EXPECT_STREQ("host.a", inner[3].key);
    Ask bare({"host.c"});
    ASSERT_EQ(1u, bare.n);
    EXPECT_EQ(1u, infos_in(bare.results[0].value).size()) << "no qualifiers, none told";
}

// rows: Q15
TEST_F(QueryTest, Get_AfterAQuery_FindsWhatItReturned) {
    start();
    job("one");
    const auto got = [](const pmix_proc_t* proc, const char* key, InfoList qualifiers = {}) {
        qualifiers.append_flag(PMIX_OPTIONAL, true);
        pmix_value_t* value = nullptr;
        const pmix_status_t rc = PMIx_Get(proc, key, qualifiers.c_array(), qualifiers.size(), &value);
        if (rc != PMIX_SUCCESS) return std::string(PMIx_Error_string(rc));
        const std::string text = value->type == PMIX_STRING ? value->data.string : "no text";
        PMIx_Value_free(value, 1);
        return text;
    };
    const std::string missing = PMIx_Error_string(PMIX_ERR_NOT_FOUND);
    const pmix_proc_t own_job = ProcId("here", PMIX_RANK_WILDCARD).to_c(), other = ProcId("one", 1).to_c();
    EXPECT_EQ(missing, got(nullptr, "host.a"));
    ASSERT_STATUS(PMIX_SUCCESS, Ask({"host.a", PMIX_QUERY_NAMESPACES, PMIX_QUERY_STABLE_ABI_VERSION}).status);
    EXPECT_EQ("from the host", got(nullptr, "host.a"));
    EXPECT_EQ("from the host", got(&own_job, "host.a"));
    EXPECT_EQ("one", got(nullptr, PMIX_QUERY_NAMESPACES)) << "the server's answer too";
    EXPECT_EQ("5.0", got(nullptr, PMIX_QUERY_STABLE_ABI_VERSION));
    EXPECT_EQ(missing, got(&other, "host.a")) << "nobody asked for that process";
    EXPECT_EQ(missing, got(nullptr, "host.a", flag("test.qualifier"))) << "nobody asked it so narrowed";

    host.text = "of rank 1";
    InfoList rank;
    rank.append_string(PMIX_NSPACE, "one");
    rank.append(PMIX_RANK, &other.rank, PMIX_PROC_RANK);
    ASSERT_STATUS(PMIX_SUCCESS, Ask({"host.a"}, std::move(rank)).status);
    EXPECT_EQ("of rank 1", got(&other, "host.a"));
    EXPECT_EQ("from the host", got(nullptr, "host.a"));
    InfoList process;
    process.append(PMIX_PROCID, &other, PMIX_PROC);
    EXPECT_EQ("of rank 1", Ask({"host.a"}, std::move(process)).text("host.a")) << "the same process, named otherwise";
    EXPECT_EQ(2, host.upcalls);

    InfoList on_node;
    on_node.append_string(PMIX_HOSTNAME, "n1");
    host.text = "of n1";
    ASSERT_STATUS(PMIX_SUCCESS, Ask({"host.load"}, std::move(on_node)).status);
    InfoList same;
    same.append_string(PMIX_HOSTNAME, "n1");
    EXPECT_EQ("of n1", got(nullptr, "host.load", std::move(same)));
    EXPECT_EQ(missing, got(nullptr, "host.load"));

    // The answer of a refresh is the one that is found from then on.
    host.text = "new";
    ASSERT_STATUS(PMIX_SUCCESS, Ask({"host.a"}, flag(PMIX_QUERY_REFRESH_CACHE)).status);
    EXPECT_EQ("new", got(nullptr, "host.a"));

    std::promise<std::string> promise;
    const auto told = [](pmix_status_t status, pmix_value_t* value, void* mine) {
        static_cast<std::promise<std::string>*>(mine)->set_value(status == PMIX_SUCCESS ? value->data.string
                                                                                        : PMIx_Error_string(status));
    };
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(nullptr, "host.a", nullptr, 0, told, &promise));
    EXPECT_EQ("new", promise.get_future().get());
}

// The process would keep the answer for the query that it was given to. rows: Q2 Q15
TEST_F(QueryTest, TwoQueriesForOneKey_HostAnswersTheSecond_ItIsNotTheAnswerToTheFirst) {
    start();
    host.answers_of = [](const pmix_query_t* queries, size_t n) {
        InfoList answers;
        for (size_t i = 0; i < n; ++i) {
            std::string_view nspace;
            InfoView(queries[i].qualifiers, queries[i].nqual).get(PMIX_NSPACE, &nspace);
            if (nspace != "two") continue;
            InfoList group, qualifiers = of_job("two");
            group.append(PMIX_QUERY_QUALIFIERS, std::move(array_value(std::move(qualifiers))).value());
            group.append_string("site.color", "blue");
            answers.append(PMIX_QUERY_RESULTS, std::move(array_value(std::move(group))).value());
        }
        return answers;
    };
    std::string key = "site.color";
    char* keys[] = {key.data(), nullptr};
    InfoList of_one = of_job("one"), of_two = of_job("two");
    pmix_query_t queries[2] = {{keys, of_one.c_array(), of_one.size()}, {keys, of_two.c_array(), of_two.size()}};
    pmix_info_t* results = nullptr;
    size_t n = 0;
    ASSERT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, PMIx_Query_info(queries, 2, &results, &n));
    ASSERT_EQ(1u, n);
    EXPECT_STREQ("blue", results[0].value.data.string);
    PMIx_Info_free(results, n);
    EXPECT_EQ("blue", Ask({key}, of_job("two")).text("site.color"));
    EXPECT_EQ(1, host.upcalls) << "kept for the second";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({key}, of_job("one")).status);
    EXPECT_EQ(2, host.upcalls) << "and not for the first";
}

// rows: Q7
// proves: PMIx_Query_info PMIX_QUERY_REFRESH_CACHE client
TEST_F(QueryTest, ARefreshAsksAgainAndReplacesWhatWasKept) {
    start();
    host.text = "first";
    EXPECT_EQ("first", Ask({"host.a"}).text("host.a"));
    host.text = "second";
    EXPECT_EQ("first", Ask({"host.a"}).text("host.a")) << "kept";
    for (const char* now : {"second", "third"}) {  // the refresh itself is asked each time too
        host.text = now;
        EXPECT_EQ(now, Ask({"host.a"}, flag(PMIX_QUERY_REFRESH_CACHE)).text("host.a"));
        EXPECT_EQ(now, Ask({"host.a"}).text("host.a")) << "the new answer is the one that is kept";
    }
    EXPECT_EQ(3, host.upcalls);
    // What the host does not know any more is not known here either.
    host.verdict = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({"host.a"}, flag(PMIX_QUERY_REFRESH_CACHE)).status);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({"host.a"}).status);
}

// rows: Q7
// proves: PMIx_Query_info PMIX_QUERY_LOCAL_ONLY server
TEST_F(QueryTest, TheHostsAnswersAreKeptInBounds) {
    start();
    for (int i = 0; i < 3; ++i) EXPECT_EQ("from the host", Ask({"host.a"}).text("host.a"));
    EXPECT_EQ(1, host.upcalls);
    EXPECT_EQ("from the host", Ask({"host.a"}, flag("test.qualifier")).text("host.a"));
    EXPECT_EQ(2, host.upcalls) << "other qualifiers, another question";
    for (int i = 0; i < 200; ++i) Ask({"host." + std::to_string(i)});
    Ask({"host.a"});
    EXPECT_EQ(203, host.upcalls) << "the cache is bounded";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, Ask({"host.local"}, flag(PMIX_QUERY_LOCAL_ONLY)).status);
    EXPECT_EQ(203, host.upcalls);
}

// rows: Q4 Q10
// proves: PMIx_Query_info PMIX_PROCID PMIX_NSPACE client
TEST_F(QueryTest, BadInputAndHostsThatCannot) {
    start(false);
    pmix_info_t* results = nullptr;
    size_t n = 0;
    pmix_query_t empty{};
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Query_info(nullptr, 1, &results, &n));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Query_info(&empty, 0, &results, &n));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Query_info(&empty, 1, &results, &n)) << "no keys";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Query_info_nb(nullptr, 0, nullptr, nullptr));
    const pmix_proc_t proc = ProcId("here", 3).to_c();
    InfoList twice;
    twice.append(PMIX_PROCID, &proc, PMIX_PROC);
    twice.append_string(PMIX_NSPACE, "here");
    Ask ambiguous({PMIX_JOB_SIZE}, std::move(twice));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, ambiguous.status);

    Ask ask({"nobody.knows"});
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, ask.status) << "there is no host to ask";
    EXPECT_EQ(nullptr, ask.results);
    EXPECT_EQ(0u, ask.n);
    std::promise<pmix_status_t> promise;
    const auto told = [](pmix_status_t status, pmix_info_t* infos, size_t count, void* mine, pmix_release_cbfunc_t,
                         void*) {
        EXPECT_EQ(nullptr, infos);
        EXPECT_EQ(0u, count);
        static_cast<std::promise<pmix_status_t>*>(mine)->set_value(status);
    };
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info_nb(&ask.query, 1, told, &promise));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, promise.get_future().get());
}

// rows: Q10
TEST_F(QueryTest, CallbackGetsResultsThatItReleases) {
    start();
    host.verdict = PMIX_SUCCESS;
    struct Told {
        std::promise<pmix_status_t> promise;
        std::string text;
        pmix_release_cbfunc_t release = nullptr;
        void* borrowed = nullptr;
        pmix_info_t* infos = nullptr;
        size_t n = 0;
    };
    for (const char* key : {"host.x", PMIX_QUERY_STABLE_ABI_VERSION}) {  // by way of the server, and at once
        Ask ask({"nothing"});
        std::string name = key;
        char* keys[] = {name.data(), nullptr};
        pmix_query_t query{};
        query.keys = keys;
        Told told;
        const auto done = [](pmix_status_t status, pmix_info_t* infos, size_t n, void* mine,
                             pmix_release_cbfunc_t release, void* borrowed) {
            auto* t = static_cast<Told*>(mine);
            t->infos = infos;
            t->n = n;
            t->release = release;
            t->borrowed = borrowed;
            t->promise.set_value(status);
        };
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Query_info_nb(&query, 1, done, &told));
        ASSERT_STATUS(PMIX_SUCCESS, told.promise.get_future().get());
        EXPECT_NE(nullptr, InfoView(told.infos, told.n).find(key)) << "they stay until they are released";
        ASSERT_NE(nullptr, told.release);
        told.release(told.borrowed);
    }
}

// The host's own refusal is told, where nothing else was found.
TEST_F(QueryTest, TheHostsVerdict) {
    start();
    host.verdict = PMIX_ERR_NO_PERMISSIONS;
    EXPECT_STATUS(PMIX_ERR_NO_PERMISSIONS, Ask({"host.secret"}).status);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, Ask({"host.secret", PMIX_QUERY_NAMESPACES}).status);
    host.verdict = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, Ask({"host.secret"}).status);
}

}  // namespace query_test
