// SPDX-License-Identifier: BSD-3-Clause
// Gets of a session: what the server is asked and what not, callbacks, values that are not copied, and more Get_nb than
// a server takes.
#include "client/services/query.h"
#include "common/values/array_value.h"
#include "support/random_value.h"
#include "support/status.h"
#include "unit/client/session_setting.h"

namespace pmix::client::session_get_test {
namespace {

// What the callbacks of many requests said; the session's end calls those that are still open.
struct Told {
    std::mutex mutex;
    std::vector<pmix_status_t> statuses;
    std::atomic<size_t> calls{0};
    static void on(pmix_status_t rc, pmix_value_t*, void* self) {
        auto* told = static_cast<Told*>(self);
        std::lock_guard lock(told->mutex);
        told->statuses.push_back(rc);
        ++told->calls;
    }
    bool wait(size_t n) const {
        const test::LongWait most(120'000);
        while (calls < n && !most.over()) std::this_thread::yield();
        return calls == n;
    }
};

struct HasTold {
    Told told;
};

// More Get_nb than a server takes from one process: the others wait in the client.
class ManyGetsTest : public HasTold, public SessionTest {
  protected:
    static constexpr size_t kAsked = 70'000;
    void ask(size_t n, int timeout_s = 0) {
        common::InfoList infos;
        if (timeout_s != 0) infos.append_number(PMIX_TIMEOUT, timeout_s, PMIX_INT);
        for (size_t i = 0; i < n; ++i) {
            const pmix_proc_t peer = common::ProcId("job", static_cast<common::Rank>(next_rank++)).to_c();
            ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, &peer, "k", infos.c_array(), infos.size(), &Told::on, &told));
        }
    }
    size_t next_rank = 2;
};

// rows: K33 G4
TEST_F(ManyGetsTest, GetNb_BeyondTheWindow_WaitsAndIsSentInOrder) {
    static_assert(common::kMaxOpenGets < server::kMaxOpenRequests && server::kMaxOpenRequests < kAsked);
    ask(kAsked);
    session->on_loop_and_wait([] {});
    auto sent = channel->sent();
    ASSERT_EQ(sent.size(), common::kMaxOpenGets);
    size_t answered = 0;
    while (answered < kAsked) {
        ASSERT_GT(sent.size(), answered);
        for (; answered < sent.size(); ++answered) {
            channel->answer(sent[answered], PMIX_ERR_NOT_FOUND, common::GetReply());
        }
        session->on_loop_and_wait([] {});
        sent = channel->sent();
    }
    ASSERT_TRUE(told.wait(kAsked));
    ASSERT_EQ(sent.size(), kAsked);
    for (size_t i = 0; i < kAsked; ++i) {
        ASSERT_EQ(FakeChannel::decoded<common::GetRequest>(sent[i]).proc.rank, i + 2);
    }
}

// rows: G11
TEST_F(ManyGetsTest, GetNb_ThatWaitsInTheClient_KeepsItsTimeout) {
    ask(common::kMaxOpenGets);
    ask(2, 1);
    ASSERT_TRUE(told.wait(2));
    EXPECT_EQ(told.statuses, std::vector<pmix_status_t>(2, PMIX_ERR_TIMEOUT));
    // What is asked later takes the place of one that was answered.
    ask(1);
    session->on_loop_and_wait([] {});
    const auto before = channel->sent();
    ASSERT_EQ(before.size(), common::kMaxOpenGets);
    channel->answer(before[0], PMIX_ERR_NOT_FOUND, common::GetReply());
    ASSERT_TRUE(told.wait(3));
    session->on_loop_and_wait([] {});
    ASSERT_EQ(channel->sent().size(), common::kMaxOpenGets + 1);
    EXPECT_EQ(FakeChannel::decoded<common::GetRequest>(channel->sent().back()).proc.rank, next_rank - 1);
}

// rows: G10
TEST_F(ManyGetsTest, LostConnection_EndsWhatWaitsInTheClientToo) {
    ask(kAsked);
    channel->lose();
    ASSERT_TRUE(told.wait(kAsked));
    EXPECT_EQ(told.statuses, std::vector<pmix_status_t>(kAsked, PMIX_ERR_LOST_CONNECTION));
}

// rows: K16 K18 K19
TEST_F(SessionTest, WhatGetAsksTheServerAndWhatNot) {
    common::GetReply reply;
    reply.is_inline = true;
    common::ByteWriter w;
    common::encode_string_value(w, "from afar");
    reply.value = w.take();
    answer_all<common::GetReply>(PMIX_SUCCESS, reply);
    pmix_value_t* value = nullptr;
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();

    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*session, &peer, "pmix.nope", nullptr, 0, &value));
    common::InfoList optional;
    optional.append_flag(PMIX_OPTIONAL, true);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*session, &peer, "k", optional.c_array(), 1, &value));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*session, nullptr, "k", nullptr, 0, &value));
    EXPECT_TRUE(channel->sent().empty());

    ASSERT_STATUS(PMIX_SUCCESS, get(*session, &peer, "k", nullptr, 0, &value));
    EXPECT_STREQ(value->data.string, "from afar");
    common::destroy_value(value);
    free(value);
    const auto request = FakeChannel::decoded<common::GetRequest>(channel->sent().at(0));
    EXPECT_EQ(request.proc, common::ProcId("job", 2));
    EXPECT_EQ(request.key, "k");
}

// rows: G7
TEST_F(SessionTest, RequiredAttributeThatOurStoreWouldIgnore) {
    pmix_value_t v;
    v.type = PMIX_BOOL;
    v.data.flag = true;
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "k", &v));
    common::InfoList infos;
    const int n = 1;
    infos.append("site.needs", &n, PMIX_INT, PMIX_INFO_REQD);
    pmix_value_t* value = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, get(*session, nullptr, "k", infos.c_array(), 1, &value));
    Once once;
    const auto got = [](pmix_status_t rc, pmix_value_t* found, void* self) {
        EXPECT_EQ(found, nullptr);
        static_cast<Once*>(self)->fire(rc);
    };
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, nullptr, "k", infos.c_array(), 1, got, &once));
    ASSERT_TRUE(once.wait());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, once.status);
}

// After a refresh, what the stores have is the answer, also where the server has no newer value.
TEST_F(SessionTest, Get_RefreshOfAKeyTheServerHasNot_AnswersFromTheStores) {
    pmix_value_t v;
    v.type = PMIX_INT;
    v.data.integer = 42;
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "k", &v));
    answer_all<common::GetReply>(PMIX_ERR_NOT_FOUND);
    common::InfoList infos;
    infos.append_flag(PMIX_GET_REFRESH_CACHE, true);
    pmix_value_t* value = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "k", infos.c_array(), 1, &value));
    EXPECT_EQ(value->data.integer, 42);
    free(value);
    EXPECT_EQ(channel->sent().size(), 1u) << "the server was asked";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*session, nullptr, "none", infos.c_array(), 1, &value));
}

// rows: K33
TEST_F(SessionTest, GetNbCallsBackOnceForAHitAMissAndARefusal) {
    pmix_value_t v;
    v.type = PMIX_INT;
    v.data.integer = 42;
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "k", &v));
    struct Got {
        Once once;
        int n = 0;
        bool had_value = false;
        static void on(pmix_status_t rc, pmix_value_t* value, void* self) {
            auto* got = static_cast<Got*>(self);
            got->had_value = value != nullptr;
            if (value != nullptr) got->n = value->data.integer;
            got->once.fire(rc);
        }
    } hit, miss, refused;
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, nullptr, "k", nullptr, 0, &Got::on, &hit));
    ASSERT_TRUE(hit.once.wait());
    EXPECT_EQ(hit.n, 42);
    EXPECT_NE(hit.once.thread, std::this_thread::get_id());
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, nullptr, "none", nullptr, 0, &Got::on, &miss));
    ASSERT_TRUE(miss.once.wait());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, miss.once.status);
    EXPECT_FALSE(miss.had_value);
    answer_all<common::GetReply>(PMIX_ERR_EXISTS_OUTSIDE_SCOPE);
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, &peer, "r", nullptr, 0, &Got::on, &refused));
    ASSERT_TRUE(refused.once.wait());
    EXPECT_STATUS(PMIX_ERR_EXISTS_OUTSIDE_SCOPE, refused.once.status);
    common::InfoList infos;
    infos.append_flag(PMIX_GET_STATIC_VALUES, true);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, get_nb(*session, nullptr, "k", infos.c_array(), 1, &Got::on, &hit));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get_nb(*session, nullptr, "k", nullptr, 0, nullptr, nullptr));
    EXPECT_EQ(hit.once.calls, 1);
}

// rows: K11 K12 K15 K35
TEST_F(SessionTest, StaticAndBorrowedValues) {
    pmix_value_t v;
    v.type = PMIX_STRING;
    v.data.string = const_cast<char*>("text");
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "s", &v));
    v.type = PMIX_INT;
    v.data.integer = 7;
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "n", &v));

    common::InfoList by_pointer, statics;
    by_pointer.append_flag(PMIX_GET_POINTER_VALUES, true);
    statics.append_flag(PMIX_GET_STATIC_VALUES, true);
    pmix_value_t *first = nullptr, *again = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "s", by_pointer.c_array(), 1, &first));
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "s", by_pointer.c_array(), 1, &again));
    EXPECT_EQ(first, again);
    // Stays when the key is replaced.
    v.type = PMIX_STRING;
    v.data.string = const_cast<char*>("other");
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "s", &v));
    EXPECT_STREQ(first->data.string, "text");

    pmix_value_t storage;
    pmix_value_t* into = &storage;
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "s", statics.c_array(), 1, &into));
    EXPECT_EQ(into, &storage);
    EXPECT_STREQ(storage.data.string, "other");
    common::destroy_value(&storage);
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "n", statics.c_array(), 1, &into));
    EXPECT_EQ(storage.data.integer, 7);
    into = nullptr;
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get(*session, nullptr, "n", statics.c_array(), 1, &into));
    // What needs memory of its own: the library keeps it.
    const pmix_proc_t peer = common::ProcId("job", 5).to_c();
    common::Value of_peer = std::move(common::Value::load(&peer, PMIX_PROC)).value();
    ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "p", of_peer.c_ptr()));
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "p", by_pointer.c_array(), 1, &first));
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "p", by_pointer.c_array(), 1, &again));
    EXPECT_EQ(first, again);
    ASSERT_EQ(first->type, PMIX_PROC);
    EXPECT_EQ(first->data.proc->rank, 5u);
    // A text that is made for the caller has no place in the store.
    into = &storage;
    ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, PMIX_NSPACE, statics.c_array(), 1, &into));
    EXPECT_STREQ(storage.data.string, "job");
    common::destroy_value(&storage);
}

// rows: K11 K35
TEST_F(SessionTest, StaticValueOfEveryType_IsTheCallersToDestruct) {
    common::InfoList statics;
    statics.append_flag(PMIX_GET_STATIC_VALUES, true);
    for (const pmix_data_type_t type : test::RandomValue::types()) {
        SCOPED_TRACE(type);
        pmix_value_t sample, storage;
        test::RandomValue(type).value(&sample, type);
        ASSERT_STATUS(PMIX_SUCCESS, store_internal(*session, nullptr, "sample", &sample));
        for (int time = 0; time < 2; ++time) {
            std::memset(&storage, 0x5a, sizeof storage);
            pmix_value_t* into = &storage;
            ASSERT_STATUS(PMIX_SUCCESS, get(*session, nullptr, "sample", statics.c_array(), 1, &into));
            EXPECT_EQ(&storage, into);
            EXPECT_EQ(PMIX_EQUAL, common::compare_values(sample, storage));
            // Nothing of it is the store's: it may be written to and freed.
            if (type == PMIX_STRING && storage.data.string != nullptr) storage.data.string[0] ^= 1;
            common::destroy_value(&storage);
        }
        common::destroy_value(&sample);
    }
}

// rows: G5
TEST_F(SessionTest, QueryNb_ReadsNothingOfTheCallersAfterItHasReturned) {
    auto queries = std::move(common::CArray<pmix_query_t>::zeroed(1)).value();
    queries[0].keys = static_cast<char**>(std::calloc(3, sizeof(char*)));
    queries[0].keys[0] = ::strdup("a.key");
    queries[0].keys[1] = ::strdup("b.key");
    common::InfoList qualifiers;
    qualifiers.append_string(PMIX_HOSTNAME, "node");
    queries[0].qualifiers = qualifiers.release(&queries[0].nqual);
    struct Answer {
        Once once;
        std::vector<std::string> keys;
    } answer;
    const auto on_results = [](pmix_status_t rc, pmix_info_t* infos, size_t n, void* self,
                               pmix_release_cbfunc_t release, void* release_data) {
        auto* into = static_cast<Answer*>(self);
        for (size_t i = 0; i < n; ++i) into->keys.emplace_back(infos[i].key);
        if (release != nullptr) release(release_data);
        into->once.fire(rc);
    };
    ASSERT_STATUS(PMIX_SUCCESS, query_nb(*session, queries.data(), 1, on_results, &answer));
    queries[0].keys[0][0] = 'x';
    queries[0].qualifiers[0].value.data.string[0] = 'x';
    queries.reset();
    const auto sent = channel->sent();
    ASSERT_EQ(1u, sent.size());
    common::InfoList found, all;
    found.append_string("b.key", "of b");
    found.append_string("a.key", "of a");
    auto array = common::array_value(std::move(found));
    ASSERT_TRUE(array.ok());
    all.append(PMIX_QUERY_RESULTS, std::move(array).value());
    common::ResultsReply reply;
    reply.infos = common::Infos(std::move(all));
    channel->answer(sent[0], PMIX_SUCCESS, reply);
    ASSERT_TRUE(answer.once.wait());
    EXPECT_STATUS(PMIX_SUCCESS, answer.once.status);
    EXPECT_EQ((std::vector<std::string>{"a.key", "b.key"}), answer.keys);
}

// A process that reads when it makes a call, with a segment that the server has replaced meanwhile.
class ReplacedSegmentTest : public SessionTest {
  protected:
    ReplacedSegmentTest() {
        put("old");
        EXPECT_STATUS(PMIX_SUCCESS,
                      session->namespaces().add("job", 1, transport::Descriptor(::dup(store->descriptor()))));
        EXPECT_TRUE(store->compact().ok());
        put("new");
    }
    void put(const char* text) {
        common::ByteWriter w;
        common::encode_string_value(w, text);
        const dstore::Record record{PMIX_JOBID, w.view(), PMIX_GLOBAL};
        ASSERT_STATUS(PMIX_SUCCESS, store->put(dstore::Owner::job(), std::span(&record, 1)));
    }
    // As its reply would bring it.
    void answer_with(pmix_status_t status) {
        channel->on_send = [this, status](const Frame& frame) {
            EXPECT_EQ(static_cast<uint16_t>(Command::attach_nspace), frame.header.command);
            ++asked;
            if (status == PMIX_SUCCESS) {
                EXPECT_STATUS(PMIX_SUCCESS,
                              session->namespaces().add("job", 2, transport::Descriptor(::dup(store->descriptor()))));
            }
            channel->answer(frame, status, common::AttachNspaceReply());
        };
    }
    std::string got(pmix_status_t* status = nullptr) {
        pmix_value_t* value = nullptr;
        const pmix_status_t rc = get(*session, &job, PMIX_JOBID, nullptr, 0, &value);
        if (status != nullptr) *status = rc;
        if (rc != PMIX_SUCCESS) return "";
        std::string text = value->data.string;
        PMIx_Value_free(value, 1);
        return text;
    }
    std::unique_ptr<dstore::Writer> store = dstore::Writer::create({}).value();
    const pmix_proc_t job = common::ProcId("job", PMIX_RANK_WILDCARD).to_c();
    std::atomic<int> asked{0};
};

// rows: K4
TEST_F(ReplacedSegmentTest, Get_AsksForTheNewOneOnce) {
    answer_with(PMIX_SUCCESS);
    EXPECT_EQ("new", got());
    EXPECT_EQ("new", got());
    EXPECT_EQ(1, asked);
}

TEST_F(ReplacedSegmentTest, Get_NewOneIsNotToBeHad_ReadsTheOld) {
    answer_with(PMIX_ERR_OUT_OF_RESOURCE);
    EXPECT_EQ("old", got());
    EXPECT_EQ(1, asked);
}

// The server is asked behind the new segment, with what the call was given.
// rows: G5
TEST_F(ReplacedSegmentTest, GetNb_ReadsNothingOfTheCallersAfterItHasReturned) {
    std::vector<Frame> held;
    channel->on_send = [&](const Frame& frame) { held.push_back(frame); };
    char key[] = "k";
    pmix_proc_t peer = common::ProcId("job", 2).to_c();
    common::InfoList infos;
    infos.append_string(PMIX_REQUIRED_KEY, "needed");
    Once done;
    const auto on_value = [](pmix_status_t rc, pmix_value_t*, void* self) { static_cast<Once*>(self)->fire(rc); };
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, &peer, key, infos.c_array(), infos.size(), on_value, &done));
    key[0] = 'x';
    std::memset(&peer, 0x5a, sizeof peer);
    std::memset(infos[0].value.data.string, 'x', 6);
    infos.reset();
    ASSERT_EQ(1u, held.size());
    answer_all<common::GetReply>(PMIX_ERR_NOT_FOUND);
    channel->answer(held[0], PMIX_ERR_OUT_OF_RESOURCE, common::AttachNspaceReply());
    ASSERT_TRUE(done.wait());
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, done.status);
    const auto request = FakeChannel::decoded<common::GetRequest>(channel->sent().back());
    EXPECT_EQ("k", request.key);
    EXPECT_EQ(common::ProcId("job", 2), request.proc);
    ASSERT_EQ(1u, request.infos.size());
    EXPECT_STREQ("needed", request.infos[0].value.data.string);
}

TEST_F(ReplacedSegmentTest, GetNb_AsksForTheNewOneOnce) {
    for (const pmix_status_t status : {PMIX_ERR_OUT_OF_RESOURCE, PMIX_SUCCESS}) {
        answer_with(status);
        asked = 0;
        struct Got {
            Once once;
            std::string text;
        } one;
        const auto done = [](pmix_status_t rc, pmix_value_t* value, void* self) {
            auto* into = static_cast<Got*>(self);
            if (rc == PMIX_SUCCESS) into->text = value->data.string;
            into->once.fire(rc);
        };
        ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, &job, PMIX_JOBID, nullptr, 0, done, &one));
        ASSERT_TRUE(one.once.wait());
        EXPECT_STATUS(PMIX_SUCCESS, one.once.status);
        EXPECT_EQ(status == PMIX_SUCCESS ? "new" : "old", one.text);
        EXPECT_EQ(1, asked);
    }
}

// Its server has gone silent: the wait for the new segment is all of the call's time. rows: G11
TEST_F(ReplacedSegmentTest, Get_WaitsForTheSegmentAndTheValue_HaveOneLimit) {
    common::InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    const pmix_proc_t peer = common::ProcId("job", 2).to_c();
    pmix_value_t* value = nullptr;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, get(*session, &peer, "k", infos.c_array(), 1, &value));
    EXPECT_EQ(1u, channel->sent().size());
    Once done;
    const auto back = [](pmix_status_t rc, pmix_value_t*, void* self) { static_cast<Once*>(self)->fire(rc); };
    ASSERT_STATUS(PMIX_SUCCESS, get_nb(*session, &peer, "k", infos.c_array(), 1, back, &done));
    ASSERT_TRUE(done.wait());
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, done.status);
    const auto sent = channel->sent();
    ASSERT_EQ(2u, sent.size());
    for (const Frame& frame : sent) EXPECT_EQ(static_cast<uint16_t>(Command::attach_nspace), frame.header.command);
}

// Information of a session or of a node that is named by itself is that of the caller's where the process is of a
// namespace that nobody knows: the Standard ignores the process there.
class NamedRealmTest : public SessionTest {
  protected:
    NamedRealmTest() {
        describe(*store, {100, 101});
        put(dstore::Owner::session(5), PMIX_UNIV_SIZE, 64);
        put(dstore::Owner::node(1), PMIX_MAX_PROCS, 8);
        EXPECT_STATUS(PMIX_SUCCESS,
                      session->namespaces().add("job", 1, transport::Descriptor(::dup(store->descriptor()))));
        channel->on_send = [this](const Frame& frame) {
            if (frame.header.command == static_cast<uint16_t>(Command::get)) {
                ++host_asked;
                channel->answer(frame, answer_of_host, common::GetReply());
            } else if (known) {
                share("nobody", 2);
                channel->answer(frame, PMIX_SUCCESS, common::AttachNspaceReply());
            } else {
                channel->answer(frame, PMIX_ERR_NOT_FOUND, common::AttachNspaceReply());
            }
        };
    }
    // Both ranks' nodes, with these numbers.
    static void describe(dstore::Writer& job, const std::vector<uint32_t>& ids) {
        auto map = common::parse_proc_map("0;1").value();
        const std::vector<std::string> nodes = {"n0", "n1"};
        dstore::Placement placement;
        placement.procs = &map;
        placement.nodes = nodes;
        placement.node_ids = ids;
        EXPECT_STATUS(PMIX_SUCCESS, job.set_placement(placement));
    }
    void put(dstore::Owner owner, const char* key, uint32_t number) { put(*store, owner, key, number); }
    static void put(dstore::Writer& job, dstore::Owner owner, const char* key, uint32_t number) {
        common::ByteWriter w;
        EXPECT_STATUS(PMIX_SUCCESS, common::encode_value(w, common::Value::u32(number).get()));
        const dstore::Record record{key, w.view(), PMIX_GLOBAL};
        EXPECT_STATUS(PMIX_SUCCESS, job.put(owner, std::span(&record, 1)));
    }
    // The server gives this process the segment of the other job.
    void share(const char* name, uint64_t instance) {
        EXPECT_STATUS(PMIX_SUCCESS,
                      session->namespaces().add(name, instance, transport::Descriptor(::dup(known->descriptor()))));
    }
    void know_the_job() {
        known = dstore::Writer::create({}).value();
        describe(*known, {101, 201});
        put(*known, dstore::Owner::node(1), PMIX_MAX_PROCS, 9);
    }
    // The number that both forms of the call find; -1: nothing.
    int64_t number(const char* key, const common::InfoList& infos, pmix_status_t* why = nullptr) {
        const pmix_proc_t nobody = common::ProcId("nobody", 7).to_c();
        pmix_value_t* value = nullptr;
        const pmix_status_t rc = get(*session, &nobody, key, infos.c_array(), infos.size(), &value);
        if (why != nullptr) *why = rc;
        const int64_t n = rc == PMIX_SUCCESS ? int64_t{value->data.uint32} : -1;
        if (rc == PMIX_SUCCESS) PMIx_Value_free(value, 1);
        struct Late {
            Once done;
            int64_t number = -1;
        } late;
        const auto back = [](pmix_status_t status, pmix_value_t* found, void* cbdata) {
            if (status == PMIX_SUCCESS) static_cast<Late*>(cbdata)->number = found->data.uint32;
            static_cast<Late*>(cbdata)->done.fire(status);
        };
        EXPECT_STATUS(PMIX_SUCCESS, get_nb(*session, &nobody, key, infos.c_array(), infos.size(), back, &late));
        EXPECT_TRUE(late.done.wait());
        EXPECT_EQ(n, late.number);
        return n;
    }
    static common::InfoList named(const char* key, uint32_t number, bool optional = false) {
        common::InfoList infos;
        infos.append_number(key, number, PMIX_UINT32);
        if (optional) infos.append_flag(PMIX_OPTIONAL, true);
        return infos;
    }
    std::unique_ptr<dstore::Writer> store = dstore::Writer::create({}).value(), known;
    std::atomic<int> host_asked{0};
    pmix_status_t answer_of_host = PMIX_ERR_NOT_FOUND;
};

// rows: K25 K27
TEST_F(NamedRealmTest, Get_OfASessionOrANode_IgnoresTheProcess) {
    for (const bool optional : {false, true}) {
        EXPECT_EQ(64, number(PMIX_UNIV_SIZE, named(PMIX_SESSION_ID, 5, optional)));
        EXPECT_EQ(-1, number(PMIX_UNIV_SIZE, named(PMIX_SESSION_ID, 6, optional)));
        EXPECT_EQ(8, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 101, optional)));
        EXPECT_EQ(-1, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 100, optional)));
    }
    common::InfoList by_name;
    by_name.append_string(PMIX_HOSTNAME, "n1");
    EXPECT_EQ(8, number(PMIX_MAX_PROCS, by_name));
    // Without a session or a node the process counts, and so does a namespace that a qualifier names.
    EXPECT_EQ(-1, number(PMIX_UNIV_SIZE, {}));
    common::InfoList of_nobody = named(PMIX_SESSION_ID, 5);
    of_nobody.append_string(PMIX_NSPACE, "nobody");
    EXPECT_EQ(-1, number(PMIX_UNIV_SIZE, of_nobody));
}

// What a job has on a node is not another job's. PMIX_LOCAL_PROCS is of all jobs of the node. rows: K27 K28
TEST_F(NamedRealmTest, Get_OfAJobsPartOfANode_IsNeverTheCallers) {
    common::InfoList by_name;
    by_name.append_string(PMIX_HOSTNAME, "n1");
    for (const char* key :
         {PMIX_LOCAL_PEERS, PMIX_LOCAL_SIZE, PMIX_LOCALLDR, PMIX_LOCAL_CPUSETS, PMIX_NODE_OVERSUBSCRIBED}) {
        put(dstore::Owner::node(1), key, 3);
        EXPECT_EQ(-1, number(key, named(PMIX_NODEID, 101))) << key;
        EXPECT_EQ(-1, number(key, by_name)) << key;
    }
    put(dstore::Owner::node(1), PMIX_LOCAL_PROCS, 3);
    EXPECT_EQ(3, number(PMIX_LOCAL_PROCS, by_name));
    // Nor is all that there is of a node, which has these.
    by_name.append_flag(PMIX_NODE_INFO, true);
    const pmix_proc_t nobody = common::ProcId("nobody", PMIX_RANK_WILDCARD).to_c();
    pmix_value_t* value = nullptr;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(*session, &nobody, nullptr, by_name.c_array(), 2, &value));
}

// Each job has numbers of its own for its nodes, and the host has said of a known job what it has to say. A session is
// the same for all. rows: K25 K27
TEST_F(NamedRealmTest, Get_JobIsKnown_HasTheWordAboutItsNodes) {
    know_the_job();
    EXPECT_EQ(9, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 201))) << "its segment is at the server";
    EXPECT_EQ(-1, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 101))) << "its first node, the caller's second";
    put(dstore::Owner::node(1), PMIX_AVAIL_PHYS_MEMORY, 4);
    EXPECT_EQ(-1, number(PMIX_AVAIL_PHYS_MEMORY, named(PMIX_NODEID, 201)));
    EXPECT_EQ(64, number(PMIX_UNIV_SIZE, named(PMIX_SESSION_ID, 5)));
    EXPECT_EQ(0, host_asked);
}

// The host, which may take its time or refuse, is asked only about what is not here. rows: K25 K27
TEST_F(NamedRealmTest, Get_JobIsUnknown_DoesNotWaitForTheHost) {
    answer_of_host = PMIX_ERR_NOT_SUPPORTED;
    EXPECT_EQ(64, number(PMIX_UNIV_SIZE, named(PMIX_SESSION_ID, 5)));
    EXPECT_EQ(8, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 101)));
    EXPECT_EQ(0, host_asked);
    pmix_status_t status = PMIX_SUCCESS;
    EXPECT_EQ(-1, number(PMIX_MAX_PROCS, named(PMIX_NODEID, 100), &status));
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, status);
    EXPECT_EQ(2, host_asked) << "by both forms";
    // A refresh asks it first.
    common::InfoList anew = named(PMIX_SESSION_ID, 5);
    anew.append_flag(PMIX_GET_REFRESH_CACHE, true);
    EXPECT_EQ(64, number(PMIX_UNIV_SIZE, anew));
    EXPECT_EQ(4, host_asked);
    // Where a call must not wait, the server cannot be asked about the job.
    const common::InfoList infos = named(PMIX_SESSION_ID, 5);
    const pmix_proc_t nobody = common::ProcId("nobody", 7).to_c();
    session->on_loop_and_wait([&] {
        pmix_value_t* value = nullptr;
        ASSERT_STATUS(PMIX_SUCCESS, get(*session, &nobody, PMIX_UNIV_SIZE, infos.c_array(), 1, &value));
        EXPECT_EQ(64u, value->data.uint32);
        PMIx_Value_free(value, 1);
    });
}

}  // namespace
}  // namespace pmix::client::session_get_test
