// SPDX-License-Identifier: BSD-3-Clause
// Rows of the checklist that no other test proves by itself: what the row says, through the function that it names.
#include <gtest/gtest.h>
#include <pmix.h>

#include <cstring>
#include <string>

#include "client/data/publish.h"
#include "client/data/put.h"
#include "client/modules.h"
#include "client/session/session.h"
#include "support/alone.h"
#include "support/fake_channel.h"
#include "support/fake_client.h"
#include "support/status.h"

namespace pmix::test::rows_test {
namespace {

using common::InfoList;

std::string text_of(const pmix_proc_t* proc, const char* key) {
    pmix_value_t* value = nullptr;
    const pmix_status_t rc = PMIx_Get(proc, key, nullptr, 0, &value);
    if (rc != PMIX_SUCCESS) return PMIx_Error_string(rc);
    const std::string text = value->type == PMIX_STRING ? value->data.string : "no text";
    PMIx_Value_free(value, 1);
    return text;
}

pmix_value_t words(const char* text) {
    pmix_value_t value{};
    value.type = PMIX_STRING;
    value.data.string = const_cast<char*>(text);
    return value;
}

// Consumers put and store reserved keys. (Which value wins where the host provided one: lookup_test.) rows: K2 K7
TEST_F(Alone, PutAndStore_ReservedKeys_AreAcceptedAndFound) {
    pmix_value_t mine = words("mine");
    for (const char* key : {PMIX_HOSTNAME, "pmix.of.my.own"}) {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, key, &mine)) << key;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(&self, key, &mine)) << key;
    }
    EXPECT_EQ("mine", text_of(&self, "pmix.of.my.own"));
    const pmix_proc_t peer = proc(self.nspace, 7);
    pmix_value_t theirs = words("theirs");
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(&peer, PMIX_CPUSET, &theirs));
    EXPECT_EQ("theirs", text_of(&peer, PMIX_CPUSET));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
}

// What is stored internally is in no commit. rows: K7
TEST(RowsTest, StoreInternal_ThenCommit_NothingOfItIsSent) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    client::Session& session = *owned;
    auto made = std::make_unique<FakeChannel>(*loop, session);
    FakeChannel* channel = made.get();
    session.set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    pmix_value_t value = words("for me alone");
    const pmix_proc_t self = ProcId("job", 1).to_c();
    ASSERT_STATUS(PMIX_SUCCESS, client::store_internal(session, &self, "mine", &value));
    ASSERT_STATUS(PMIX_SUCCESS, client::commit(session));
    ASSERT_EQ(1u, channel->sent().size());
    EXPECT_TRUE(FakeChannel::decoded<common::CommitRequest>(channel->sent()[0]).entries.empty())
        << "that there was a commit, and nothing to commit";
    value = words("for all");
    ASSERT_STATUS(PMIX_SUCCESS, client::put(session, PMIX_GLOBAL, "ours", &value));
    ASSERT_STATUS(PMIX_SUCCESS, client::commit(session));
    const auto sent = channel->sent();
    ASSERT_EQ(2u, sent.size());
    const std::string bytes(sent.back().payload.begin(), sent.back().payload.end());
    EXPECT_NE(std::string::npos, bytes.find("for all"));
    EXPECT_EQ(std::string::npos, bytes.find("for me alone"));
    loop->post([&] { session.shut(PMIX_ERR_INIT); });
    loop->stop();
}

// A blocking call that has ended by its limit has done with the caller's arrays, also when the answer comes later.
// rows: G5
TEST(RowsTest, Lookup_AnsweredAfterItsTimeout_LeavesTheCallersMemoryAlone) {
    auto loop = std::move(transport::EventLoop::create()).value();
    const auto owned = client::make_session(*loop, ProcId("job", 1), ProcId("server", 0));
    client::Session& session = *owned;
    auto made = std::make_unique<FakeChannel>(*loop, session);
    FakeChannel* channel = made.get();
    session.set_channel(std::move(made));
    ASSERT_STATUS(PMIX_SUCCESS, loop->start());
    InfoList infos;
    infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    pmix_pdata_t wanted{};
    std::snprintf(wanted.key, sizeof wanted.key, "%s", "late");
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, client::lookup(session, &wanted, 1, infos.c_array(), infos.size()));
    std::memset(&wanted, 0x5a, sizeof wanted);
    infos.reset();
    common::LookupReply reply;
    common::PublishedItem item;
    item.owner = ProcId("job", 0);
    item.key = "late";
    common::ByteWriter w;
    pmix_value_t value = words("too late");
    ASSERT_STATUS(PMIX_SUCCESS, common::encode_value(w, value));
    item.value = w.take();
    reply.items.push_back(std::move(item));
    ASSERT_EQ(1u, channel->sent().size());
    channel->answer(channel->sent().front(), PMIX_SUCCESS, reply);
    session.on_loop_and_wait([] {});
    const auto* bytes = reinterpret_cast<const unsigned char*>(&wanted);
    for (size_t i = 0; i < sizeof wanted; ++i) ASSERT_EQ(0x5a, bytes[i]) << i;
    loop->post([&] { session.shut(PMIX_ERR_INIT); });
    loop->stop();
}

// A namespace without a process of this node takes part in collectives, and is known by what the host said of it.
// rows: V5
TEST(RowsTest, Fence_WithANamespaceOfOtherNodesAlone_IsCompleteWithTheLocalMembers) {
    FakeHost host;
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 1);
    InfoList by_name;
    by_name.append_number<uint32_t>(PMIX_JOB_SIZE, 2, PMIX_UINT32);
    by_name.append_string(PMIX_NODE_MAP, "n1");
    by_name.append_string(PMIX_PROC_MAP, "0,1");
    ASSERT_STATUS(PMIX_SUCCESS, server.add_job("far", 0, by_name));
    FakeClient a(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, a.hello());
    const std::vector<ProcId> both = {{"far", PMIX_RANK_WILDCARD}, {"job", PMIX_RANK_WILDCARD}};
    common::FenceRequest request;
    request.procs = both;
    const uint32_t id = a.start<common::Command::fence>(request);
    ASSERT_TRUE(server.turn_until([&] { return host.count("fence") == 1; })) << "nobody else of this node is missing";
    EXPECT_EQ(both, host.last("fence")->procs);
    auto reply = a.wait(id);
    ASSERT_TRUE(reply);
    EXPECT_STATUS(PMIX_SUCCESS, reply->header.status);
    // More is said of it later.
    InfoList more;
    more.append_string("later", "v");
    EXPECT_STATUS(PMIX_SUCCESS, server.add_job("far", 0, more));
    common::FenceRequest again;
    again.procs = both;
    auto second = a.wait(a.start<common::Command::fence>(again));
    ASSERT_TRUE(second);
    EXPECT_STATUS(PMIX_SUCCESS, second->header.status);
    EXPECT_EQ(2u, host.count("fence"));
}

}  // namespace
}  // namespace pmix::test::rows_test
