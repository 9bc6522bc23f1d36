// SPDX-License-Identifier: BSD-3-Clause
// What a process learns from a server that speaks OpenPMIx's protocol after its init, and what it tells it: that it
// reaches every caller, is asked for again when it may have changed, and is remembered when it may not.
#include <gtest/gtest.h>
#include <pmix.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "client/openpmix/shadow.h"
#include "client/openpmix/translator.h"
#include "support/long_wait.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_data_test {
namespace {

namespace theirs = openpmix;
using common::Value;

class OpenPmixData : public OpenPmixProcess {
  protected:
    // The job data of a namespace, as a Get of a rank or of the job brings it.
    void send_job(uint32_t tag, const char* nspace, theirs::KeyValues values) {
        theirs::ProcData data;
        data.proc.id = {nspace, PMIX_RANK_WILDCARD};
        data.values = std::move(values);
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    }
    static pmix_info_t flag(const char* key) {
        pmix_info_t info;
        PMIX_INFO_LOAD(&info, key, nullptr, PMIX_BOOL);
        return info;
    }
    static common::InfoView infos_of(const theirs::GetRequest& request) {
        return {request.infos.infos.data(), request.infos.infos.size()};
    }
};

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixData,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.2.2rc2", "v41"),
                                           std::make_pair("5.0.7", "v41"), std::make_pair("7.0.0rc1", "v61")));

// ---- segments ----

TEST(OpenPmixShadow, Grant_HasADescriptorOnceAndWhereItIsLacked) {
    client::Shadow shadow(*theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed), "here");
    ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain("job"));
    EXPECT_TRUE(shadow.grant("job")->descriptor);
    EXPECT_FALSE(shadow.grant("job")->descriptor);
    auto again = shadow.grant("job", true);
    EXPECT_TRUE(again->descriptor);
    EXPECT_TRUE(again->segment.has_descriptor);
}

TEST(OpenPmixShadow, Grant_OfWhatTheOutletDidNotTake_IsTriedAgain) {
    client::Shadow shadow(*theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed), "here");
    ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain("job"));
    int taken = 0;
    pmix_status_t status = PMIX_ERR_NOMEM;
    shadow.set_outlet([&](const common::SegmentRef& segment, transport::Descriptor&& descriptor) {
        EXPECT_EQ("job", segment.nspace);
        EXPECT_TRUE(segment.has_descriptor);
        EXPECT_TRUE(descriptor);
        ++taken;
        return status;
    });
    EXPECT_STATUS(PMIX_ERR_NOMEM, shadow.grant("job").status());
    status = PMIX_SUCCESS;
    auto grant = shadow.grant("job");
    ASSERT_TRUE(grant.ok());
    EXPECT_FALSE(grant->descriptor);
    EXPECT_FALSE(grant->segment.has_descriptor);
    EXPECT_TRUE(shadow.grant("job").ok());
    EXPECT_EQ(2, taken);
}

TEST(OpenPmixShadow, Release_AsOftenAsHeld_GivesTheSegmentBack) {
    client::Shadow shadow(*theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed), "here");
    std::vector<std::pair<std::string, uint64_t>> gone;
    shadow.set_outlet([](const common::SegmentRef&, transport::Descriptor&&) { return PMIX_SUCCESS; },
                      [&](const std::string& nspace, uint64_t instance) { gone.emplace_back(nspace, instance); });
    for (const char* nspace : {"job", "other", "unseen"}) ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain(nspace));
    const uint64_t instance = shadow.grant("other")->segment.instance;
    ASSERT_TRUE(shadow.grant("job").ok());
    shadow.hold("other");
    shadow.hold("other");
    shadow.release("other");
    EXPECT_NE(nullptr, shadow.reader("other"));
    shadow.release("other");
    EXPECT_EQ(nullptr, shadow.reader("other"));
    shadow.release("unseen");
    EXPECT_EQ(nullptr, shadow.reader("unseen"));
    shadow.release("job");
    EXPECT_NE(nullptr, shadow.reader("job")) << "this process's own";
    EXPECT_EQ((std::vector<std::pair<std::string, uint64_t>>{{"other", instance}}), gone);
}

TEST(OpenPmixShadow, Obtain_MoreThanTheMost_GivesTheOldestBack) {
    client::Shadow shadow(*theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed), "here");
    ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain("job"));
    shadow.hold("held");
    ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain("held"));
    const auto name = [](size_t i) { return "other." + std::to_string(i); };
    const size_t count = client::Shadow::kMostOthers + 10;
    for (size_t i = 0; i < count; ++i) ASSERT_STATUS(PMIX_SUCCESS, shadow.obtain(name(i)));
    size_t kept = 0;
    for (size_t i = 0; i < count; ++i) kept += shadow.reader(name(i)) != nullptr;
    EXPECT_EQ(client::Shadow::kMostOthers - 1, kept) << "and its own";
    EXPECT_EQ(nullptr, shadow.reader(name(0)));
    EXPECT_NE(nullptr, shadow.reader(name(count - 1)));
    EXPECT_NE(nullptr, shadow.reader("held"));
    EXPECT_NE(nullptr, shadow.reader("job"));
}

TEST_P(OpenPmixData, Get_AnsweredTooLate_LeavesTheSegment) {
    std::atomic<uint32_t> held{0};
    std::atomic<bool> holds{true};
    const auto answer = [this](uint32_t tag) {
        theirs::ProcData data;
        data.proc.id = {"other", 1};
        data.values.pairs.push_back({"key", Value::u32(5)});
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    };
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        if (holds.exchange(false)) {
            held = tag;
        } else {
            answer(tag);
        }
    });
    init();
    pmix_info_t limit;
    int seconds = 1;
    PMIX_INFO_LOAD(&limit, PMIX_TIMEOUT, &seconds, PMIX_INT);
    Value value;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, get(proc(1, "other"), "key", &value, &limit, 1));
    answer(held);
    EXPECT_EQ(5u, number(proc(1, "other"), "key"));
}

// ---- get ----

TEST_P(OpenPmixData, Get_Refreshed_AsksForTheValueToo) {
    pmix_status_t refreshed = PMIX_SUCCESS;
    std::atomic<int> refreshes{0};
    std::atomic<bool> flagged{false};
    uint32_t now = 1;
    server_->on(theirs::Command::refresh, [&](uint32_t tag, common::Bytes) {
        ++refreshes;
        server_->send_status(tag, refreshed);
    });
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes payload) {
        flagged = infos_of(server_->decoded<theirs::GetRequest>(payload)).flag(PMIX_GET_REFRESH_CACHE);
        theirs::ProcData data;
        data.proc.id = {"job", 1};
        data.values.pairs.push_back({"key", Value::u32(now)});
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    });
    init();
    EXPECT_EQ(1u, number(proc(1), "key"));
    const pmix_info_t refresh = flag(PMIX_GET_REFRESH_CACHE);
    const bool knows = server_->traits.refreshes;
    for (const pmix_status_t status : {PMIX_SUCCESS, PMIX_OPERATION_SUCCEEDED, PMIX_ERR_NOT_FOUND}) {
        refreshed = status;
        ++now;
        Value value;
        ASSERT_STATUS(PMIX_SUCCESS, get(proc(1), "key", &value, &refresh, 1));
        EXPECT_EQ(now, value.get().data.uint32);
        EXPECT_EQ(!knows || status != PMIX_OPERATION_SUCCEEDED, flagged);
    }
    EXPECT_EQ(knows ? 3 : 0, refreshes);
}

TEST_P(OpenPmixData, Get_KeyThatWasAbsent_IsAskedForAfterAFence) {
    bool there = false;
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        if (!there) return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        theirs::KeyValues values;
        values.pairs.push_back({PMIX_CLUSTER_ID, Value::u32(3)});
        send_job(tag, "job", std::move(values));
    });
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), PMIX_CLUSTER_ID, &value));
    const int asked = server_->requests;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), PMIX_CLUSTER_ID, &value));
    EXPECT_EQ(asked, server_->requests);
    there = true;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD), PMIX_CLUSTER_ID));
}

TEST_P(OpenPmixData, Get_KeyOfAnotherJobThatWasAbsent_IsAskedForAgain) {
    bool there = false;
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        if (!there) return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        theirs::KeyValues values;
        values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(3)});
        send_job(tag, "other", std::move(values));
    });
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD, "other"), PMIX_JOB_SIZE, &value));
    there = true;
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD, "other"), PMIX_JOB_SIZE));
}

TEST_P(OpenPmixData, Get_SetsOfProcesses_AreAskedForEachTime) {
    const char* sets = nullptr;
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        if (sets == nullptr) return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        theirs::KeyValues values;
        values.pairs.push_back({PMIX_PSET_NAMES, OpenPmixServer::text(sets)});
        send_job(tag, "job", std::move(values));
    });
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD), PMIX_PSET_NAMES, &value));
    sets = "one";
    EXPECT_EQ("one", text(proc(PMIX_RANK_WILDCARD), PMIX_PSET_NAMES));
    sets = "one,two";
    EXPECT_EQ("one,two", text(proc(PMIX_RANK_WILDCARD), PMIX_PSET_NAMES));
    sets = nullptr;
    EXPECT_EQ("one,two", text(proc(PMIX_RANK_WILDCARD), PMIX_PSET_NAMES)) << "what was known last";
}

// The answer is the whole job: the value lies in the array of its node.
TEST_P(OpenPmixData, Get_ValueWithinAnArray_IsFound) {
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes) {
        theirs::KeyValues values;
        values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(3)});
        values.pairs.push_back(
            {PMIX_NODE_INFO_ARRAY, OpenPmixServer::infos({{PMIX_HOSTNAME, OpenPmixServer::text("here")},
                                                          {PMIX_NODEID, Value::u32(0)},
                                                          {PMIX_LOCAL_PEERS, OpenPmixServer::text("0,1,2")}})});
        values.pairs.push_back({PMIX_APP_INFO_ARRAY,
                                OpenPmixServer::infos({{PMIX_APPNUM, Value::u32(0)}, {PMIX_APP_SIZE, Value::u32(3)}})});
        send_job(tag, "other", std::move(values));
    });
    init();
    EXPECT_EQ("0,1,2", text(proc(PMIX_RANK_WILDCARD, "other"), PMIX_LOCAL_PEERS));
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD, "other"), PMIX_APP_SIZE));
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD, "other"), PMIX_JOB_SIZE));
}

TEST_P(OpenPmixData, Get_AllKeysOfAPeer_HasWhatItHasPut) {
    answer_get("job", 1, {{"their.key", 11}});
    init();
    Value value;
    ASSERT_STATUS(PMIX_SUCCESS, get(proc(1), nullptr, &value));
    const common::InfoView all = common::infos_in(value.get());
    uint32_t n = 0;
    EXPECT_STATUS(PMIX_SUCCESS, all.get("their.key", &n));
    EXPECT_EQ(11u, n);
    EXPECT_TRUE(all.has(PMIX_LOCAL_RANK));
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(2), nullptr, &value)) << "what is said of its job";
}

// A job whose placement is known keeps it when a single node is told of again.
TEST_P(OpenPmixData, Get_AnswerWithOneNode_LeavesTheOthers) {
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes) {
        theirs::KeyValues values;
        values.pairs.push_back(
            {PMIX_NODE_INFO_ARRAY, OpenPmixServer::infos({{PMIX_HOSTNAME, OpenPmixServer::text("there")},
                                                          {PMIX_LOCAL_PEERS, OpenPmixServer::text("2")},
                                                          {PMIX_AVAIL_PHYS_MEMORY, Value::u32(77)}})});
        send_job(tag, "job", std::move(values));
    });
    init();
    pmix_info_t node[2] = {flag(PMIX_NODE_INFO), {}};
    PMIX_INFO_LOAD(&node[1], PMIX_HOSTNAME, "there", PMIX_STRING);
    Value value;
    ASSERT_STATUS(PMIX_SUCCESS, get(proc(PMIX_RANK_WILDCARD), PMIX_AVAIL_PHYS_MEMORY, &value, node, 2));
    EXPECT_EQ(77u, value.get().data.uint32);
    PMIX_INFO_DESTRUCT(&node[1]);
    EXPECT_EQ("0,1", text(proc(PMIX_RANK_WILDCARD), PMIX_LOCAL_PEERS));
    EXPECT_EQ("here", text(proc(1), PMIX_HOSTNAME));
    char* nodes = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Resolve_nodes("job", &nodes));
    EXPECT_STREQ("here,there", nodes);
    std::free(nodes);
}

// ---- commit ----

struct Sink final : client::OpenPmixExchange::Ends {
    void send_message(uint32_t, common::Bytes) override { ++messages; }
    void deliver_frame(const common::FrameHeader& header, common::Bytes,
                       std::vector<transport::Descriptor>&&) override {
        frames.push_back(header);
    }
    int messages = 0;
    std::vector<common::FrameHeader> frames;
};

TEST(OpenPmixTranslator, Commit_ThatIsNone_IsAnswered) {
    const theirs::Traits traits = *theirs::traits_of("4.2.2", "v41", theirs::kNotDescribed);
    Sink sink;
    client::OpenPmixTranslator translator(sink, std::make_unique<client::Shadow>(traits, "here"), {"job", 0}, traits);
    const auto header = common::FrameHeader::request(static_cast<uint16_t>(common::Command::commit), 7);
    const uint8_t bytes[] = {0xff, 0xff, 0xff};
    translator.frame(header, bytes);
    EXPECT_EQ(0, sink.messages);
    ASSERT_EQ(1u, sink.frames.size());
    EXPECT_EQ(7u, sink.frames[0].id);
    EXPECT_FALSE(common::succeeded(sink.frames[0].status));
}

// Of a release with a bound of messages.
class OpenPmixCommit : public OpenPmixData {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixCommit, ::testing::Values(std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixCommit, LargerThanAMessage_BecomesSeveral) {
    constexpr size_t kSize = size_t{6} << 20;
    constexpr int kValues = 4;
    std::multiset<std::string> local, remote;
    int commits = 0;
    server_->on(theirs::Command::commit, [&](uint32_t tag, common::Bytes payload) {
        ++commits;
        EXPECT_LE(payload.size(), server_->traits.most_payload);
        const auto commit = server_->decoded<theirs::CommitRequest>(payload);
        for (const theirs::Section& section : commit.sections.sections) {
            const auto data = server_->decoded<theirs::SectionData>(section.values);
            for (const theirs::KeyValue& pair : data.values.pairs)
                (section.scope == PMIX_LOCAL ? local : remote).insert(pair.key);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    const std::vector<uint8_t> content(kSize, 'x');
    Value value = OpenPmixServer::bytes(content);
    std::multiset<std::string> keys;
    for (int i = 0; i < kValues; ++i) {
        const std::string key = "key." + std::to_string(i);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key.c_str(), value.c_ptr()));
        keys.insert(key);
    }
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(2, commits) << "48 MiB, 32 in a message";
    EXPECT_EQ(keys, local);
    EXPECT_EQ(keys, remote);
}

// ---- deletions ----

// Sections of their own, for each kind of peers, in the order of what was done: the server takes them one by one.
TEST_P(OpenPmixCommit, Deletions_HaveTheirSections) {
    std::vector<std::pair<pmix_scope_t, std::vector<std::string>>> sections;
    server_->on(theirs::Command::commit, [&](uint32_t tag, common::Bytes payload) {
        for (const theirs::Section& section : server_->decoded<theirs::CommitRequest>(payload).sections.sections) {
            sections.emplace_back(section.scope, std::vector<std::string>());
            for (const theirs::KeyValue& pair : server_->decoded<theirs::SectionData>(section.values).values.pairs) {
                const bool none = pair.value.get().type == PMIX_UNDEF;
                EXPECT_EQ(section.scope >= PMIX_DEL_LOCAL, none) << pair.key;
                sections.back().second.push_back(pair.key);
            }
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    Value value = Value::u32(7);
    for (const char* key : {"all", "here", "again"})
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key, value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    sections.clear();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_DEL_GLOBAL, "all", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_DEL_LOCAL, "here", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_DEL_GLOBAL, "again", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "again", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    ASSERT_EQ(3u, sections.size());
    EXPECT_EQ(PMIX_DEL_LOCAL, sections[0].first);
    EXPECT_EQ(std::set<std::string>({"all", "here"}),
              std::set<std::string>(sections[0].second.begin(), sections[0].second.begin() + 2));
    EXPECT_EQ(PMIX_DEL_REMOTE, sections[1].first);
    EXPECT_EQ(std::set<std::string>({"all", "again"}),
              std::set<std::string>(sections[1].second.begin(), sections[1].second.end()));
    EXPECT_EQ(PMIX_LOCAL, sections[2].first);
    EXPECT_EQ(std::vector<std::string>{"again"}, sections[2].second);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(self_, "all", &value));
}

// What is put behind a deletion is behind it in the message too, whatever was put before.
TEST_P(OpenPmixCommit, PutBehindADeletion_IsBehindIt) {
    std::vector<std::pair<pmix_scope_t, std::vector<std::string>>> sections;
    server_->on(theirs::Command::commit, [&](uint32_t tag, common::Bytes payload) {
        for (const theirs::Section& section : server_->decoded<theirs::CommitRequest>(payload).sections.sections) {
            sections.emplace_back(section.scope, std::vector<std::string>());
            for (const theirs::KeyValue& pair : server_->decoded<theirs::SectionData>(section.values).values.pairs)
                sections.back().second.push_back(pair.key);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    Value value = Value::u32(7);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "again", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    sections.clear();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "other", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_DEL_GLOBAL, "again", nullptr));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "again", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    const std::vector<std::pair<pmix_scope_t, std::vector<std::string>>> expected = {
        {PMIX_LOCAL, {"other"}}, {PMIX_DEL_LOCAL, {"again"}}, {PMIX_DEL_REMOTE, {"again"}}, {PMIX_LOCAL, {"again"}}};
    EXPECT_EQ(expected, sections);
}

// The server tells of it, and then this process has no copy: it asks, also for what was put since.
TEST_P(OpenPmixCommit, Deletion_OfAnother_IsNotFoundHere) {
    uint32_t said = 11;
    int asked = 0;
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes payload) {
        if (server_->decoded<theirs::GetRequest>(payload).rank.value != 1)
            return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        ++asked;
        theirs::ProcData data;
        data.proc.id = {"job", 1};
        data.values.pairs.push_back({"kept", Value::u32(1)});
        if (said != 0) data.values.pairs.push_back({"key", Value::u32(said)});
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        if (said == 0) return server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        server_->send(tag, reply);
    });
    server_->on(theirs::Command::fence, [&](uint32_t tag, common::Bytes) {
        for (const auto& [rank, key] : {std::pair<pmix_rank_t, const char*>{1, "key"}, {2, "unknown"}}) {
            theirs::DeletionMessage deletion;
            deletion.proc.id = {"job", rank};
            deletion.scope.value = PMIX_DEL_LOCAL;
            deletion.key = theirs::Text(key);
            server_->send(theirs::kDeletionTag, deletion);
        }
        server_->send_bytes(theirs::kDeletionTag, {0xff});
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    EXPECT_EQ("7.0.0", server_->hello.version) << "others are not told";
    Value value;
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(1), "key", &value));
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(1), "key", &value));
    EXPECT_EQ(1, asked);
    said = 0;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "key", &value));
    EXPECT_EQ(2, asked);
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(1), "kept", &value)) << "kept, though the answer lacks it";
    EXPECT_EQ(3, asked) << "it may have been put again before the fence";
    said = 12;
    EXPECT_STATUS(PMIX_SUCCESS, get(proc(1), "key", &value));
    EXPECT_EQ(12u, value.get().data.uint32);
}

// Nothing else is lost by it: what is put beside it is committed.
TEST_P(OpenPmixData, ValueWithATypeThatTheServerLacks_IsNotSupported) {
    const bool has_all = server_->traits.knows(PMIX_NODE_PID);
    std::vector<std::string> committed;
    server_->on(theirs::Command::commit, [&](uint32_t tag, common::Bytes payload) {
        theirs::CommitRequest request;
        EXPECT_STATUS(PMIX_SUCCESS, theirs::decode(payload, server_->traits, &request));
        for (const theirs::Section& section : request.sections.sections) {
            theirs::SectionData data;
            EXPECT_STATUS(PMIX_SUCCESS, theirs::decode(section.values, server_->traits, &data));
            for (const theirs::KeyValue& pair : data.values.pairs) committed.push_back(pair.key);
        }
        server_->send_status(tag, PMIX_SUCCESS);
    });
    init();
    pmix_node_pid_t pid{};
    pmix_data_array_t inner{PMIX_NODE_PID, 1, &pid};
    pmix_data_array_t outer{PMIX_DATA_ARRAY, 1, &inner};
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    PMIX_LOAD_KEY(info.key, "key");
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = &outer;
    if (!has_all) {
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(&info, 1));
    }
    const pmix_status_t expected = has_all ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
    ASSERT_EQ(expected, PMIx_Put(PMIX_REMOTE, "key", &info.value));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_INTERNAL, "mine", &info.value)) << "which no server is told";
    // No release keeps an info by itself, nor a proc that is none.
    pmix_value_t odd{};
    odd.type = PMIX_INFO;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(PMIX_REMOTE, "info", &odd));
    odd.type = PMIX_PROC;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(PMIX_REMOTE, "proc", &odd));
    const Value good = Value::u32(7);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_REMOTE, "good", const_cast<pmix_value_t*>(&good.get())));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_EQ(has_all ? (std::vector<std::string>{"key", "good"}) : std::vector<std::string>{"good"}, committed);
}

// ---- services ----

TEST_P(OpenPmixData, Connect_WithDataThatCannotBeRead_HasConnected) {
    server_->on(theirs::Command::connect, [this](uint32_t tag, common::Bytes) {
        const std::vector<uint8_t> none{0xff, 0xff, 0xff, 0xff};
        theirs::ConnectReplyMessage reply;
        reply.objects.objects.push_back(none);
        server_->send(tag, reply);
    });
    init();
    const pmix_proc_t procs[] = {proc(0), proc(0, "other")};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Connect(procs, 2, nullptr, 0));
}

// Segments of this process: as descriptors and as mappings.
size_t segments() {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code none;
        count += std::filesystem::read_symlink(entry.path(), none).string().rfind("/memfd:", 0) == 0;
    }
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) count += line.find("/memfd:") != std::string::npos;
    return count;
}
bool falls_to(size_t count) {
    const LongWait wait;
    while (segments() > count && !wait.over()) ::usleep(1000);
    return segments() <= count;
}

// What is said of a job that takes no part is not kept, and of one that did, no longer than it is connected.
TEST_P(OpenPmixData, Disconnect_GivesSegmentsBack) {
    std::atomic<int> gets{0};
    server_->on(theirs::Command::get, [&](uint32_t tag, common::Bytes) {
        ++gets;
        server_->send_status(tag, PMIX_ERR_NOT_FOUND);
    });
    server_->on(theirs::Command::connect, [this](uint32_t tag, common::Bytes) {
        std::vector<std::vector<uint8_t>> jobs;
        for (const char* nspace : {"other", "unasked"}) {
            theirs::JobData job;
            job.nspace = theirs::Text(nspace);
            job.values.pairs.push_back({PMIX_JOB_SIZE, Value::u32(7)});
            jobs.push_back(server_->encoded(job));
        }
        theirs::ConnectReplyMessage reply;
        for (const auto& job : jobs) reply.objects.objects.push_back(job);
        server_->send(tag, reply);
    });
    server_->answer_status(theirs::Command::disconnect, PMIX_SUCCESS);
    init();
    const size_t before = segments();
    const pmix_proc_t procs[] = {proc(0), proc(0, "other")};
    for (int round = 0; round < 3; ++round) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Connect(procs, 2, nullptr, 0));
        gets = 0;
        EXPECT_EQ(7u, number(proc(PMIX_RANK_WILDCARD, "other"), PMIX_JOB_SIZE));
        EXPECT_EQ(0, gets) << "it was said at the connect";
        Value value;
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(PMIX_RANK_WILDCARD, "unasked"), PMIX_JOB_SIZE, &value));
        EXPECT_NE(0, gets);
        EXPECT_GT(segments(), before);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Disconnect(procs, 2, nullptr, 0));
        EXPECT_TRUE(falls_to(before)) << segments() << " of " << before;
    }
}

// What has been mapped can still be read. A process without a thread for the loop learns of the end when it calls.
TEST_P(OpenPmixData, ConnectionEnds_GivesSegmentsBack) {
    init();
    const size_t before = segments();
    server_->stop();
    const pmix_status_t first = PMIx_Fence(nullptr, 0, nullptr, 0);
    EXPECT_TRUE(first == PMIX_ERR_LOST_CONNECTION || first == PMIX_ERR_UNREACH) << first;
    EXPECT_STATUS(PMIX_ERR_UNREACH, PMIx_Fence(nullptr, 0, nullptr, 0));
    EXPECT_TRUE(falls_to(before - 1)) << segments() << " of " << before;
    EXPECT_EQ(3u, number(proc(PMIX_RANK_WILDCARD), PMIX_JOB_SIZE));
}

}  // namespace
}  // namespace pmix::test::openpmix_data_test
