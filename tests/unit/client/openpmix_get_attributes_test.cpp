// SPDX-License-Identifier: BSD-3-Clause
// The attributes of PMIx_Get in a process at a server of OpenPMIx's: what is asked of the server, in which form, and
// what is not; and where the value is handed out.
#include <gtest/gtest.h>
#include <pmix.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_get_attributes_test {
namespace {

namespace theirs = openpmix;
using common::InfoList;
using common::Value;

class OpenPmixGetAttributes : public OpenPmixProcess {
  protected:
    // Answers each question with "not found", and counts it.
    void find_nothing() {
        server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes payload) {
            ++asked_;
            request_ = server_->decoded<theirs::GetRequest>(payload);
            server_->send_status(tag, PMIX_ERR_NOT_FOUND);
        });
    }
    bool asked_with(const char* key) const {
        return common::InfoView(request_.infos.infos.data(), request_.infos.infos.size()).has(key);
    }
    pmix_status_t get_with(const pmix_proc_t& who, const char* key, const InfoList& infos, Value* out) {
        return get(who, key, out, infos.c_array(), infos.size());
    }
    static InfoList flag(const char* key) {
        InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_flag(key, true));
        return infos;
    }

    std::atomic<int> asked_{0};
    theirs::GetRequest request_;
};

INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixGetAttributes,
                         ::testing::Values(std::make_pair("4.0.0", "v4"), std::make_pair("4.1.2", "v41"),
                                           std::make_pair("4.2.2rc2", "v41"), std::make_pair("5.0.7", "v41"),
                                           std::make_pair("6.0.0", "v51"), std::make_pair("6.1.1rc2", "v61"),
                                           std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixGetAttributes, Optional_NothingIsAsked) {
    find_nothing();
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_with(proc(1), "key", flag(PMIX_OPTIONAL), &value));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_with(proc(1), PMIX_PROC_PID, flag(PMIX_OPTIONAL), &value));
    EXPECT_STATUS(PMIX_SUCCESS, get_with(proc(1), PMIX_LOCAL_RANK, flag(PMIX_OPTIONAL), &value))
        << "what is here is found";
    EXPECT_EQ(0, asked_);
}

TEST_P(OpenPmixGetAttributes, Immediate_TheServerIsToldSo) {
    find_nothing();
    init();
    Value value;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_with(proc(1), "key", flag(PMIX_IMMEDIATE), &value));
    EXPECT_EQ(1, asked_);
    EXPECT_TRUE(asked_with(PMIX_IMMEDIATE));
    EXPECT_EQ("job", request_.nspace.text);
    EXPECT_EQ(1u, request_.rank.value);
    ASSERT_TRUE(request_.key);
    EXPECT_EQ("key", request_.key->text);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_with(proc(2), "key", InfoList(), &value));
    EXPECT_FALSE(asked_with(PMIX_IMMEDIATE));
}

TEST_P(OpenPmixGetAttributes, Timeout_IsTheServersAndTheCallersOwn) {
    server_->on(theirs::Command::get, [this](uint32_t, common::Bytes payload) {
        ++asked_;
        request_ = server_->decoded<theirs::GetRequest>(payload);
    });
    init();
    InfoList limit;
    EXPECT_STATUS(PMIX_SUCCESS, limit.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT));
    Value value;
    EXPECT_STATUS(PMIX_ERR_TIMEOUT, get_with(proc(1), "key", limit, &value));
    EXPECT_EQ(1, asked_);
    EXPECT_TRUE(asked_with(PMIX_TIMEOUT));
}

// What the server has said of nodes and sessions is found by the attributes that name them.
TEST_P(OpenPmixGetAttributes, Levels_AreThoseThatAreNamed) {
    find_nothing();
    init();
    const pmix_proc_t all = proc(PMIX_RANK_WILDCARD);
    const auto number_of = [&](const char* key, const InfoList& infos) {
        Value value;
        uint64_t n = UINT64_MAX;
        EXPECT_STATUS(PMIX_SUCCESS, get_with(all, key, infos, &value)) << key;
        (void)common::read_number(value.get(), &n);
        return n;
    };
    InfoList node = flag(PMIX_NODE_INFO);
    EXPECT_STATUS(PMIX_SUCCESS, node.append_string(PMIX_HOSTNAME, "there"));
    EXPECT_EQ(7u, number_of(PMIX_NODEID, node));
    InfoList by_number = flag(PMIX_NODE_INFO);
    EXPECT_STATUS(PMIX_SUCCESS, by_number.append_number<uint32_t>(PMIX_NODEID, 4, PMIX_UINT32));
    Value peers;
    ASSERT_STATUS(PMIX_SUCCESS, get_with(all, PMIX_LOCAL_PEERS, by_number, &peers));
    EXPECT_STREQ("0,1", peers.get().data.string);
    EXPECT_EQ(8u, number_of(PMIX_UNIV_SIZE, flag(PMIX_SESSION_INFO)));
    EXPECT_EQ(3u, number_of(PMIX_JOB_SIZE, flag(PMIX_JOB_INFO)));
    EXPECT_EQ(0, asked_);
}

TEST_P(OpenPmixGetAttributes, Values_AreHandedOutWhereTheCallerWantsThem) {
    answer_get("job", 1, {{"key", 4711}});
    init();
    const pmix_proc_t peer = proc(1);
    const InfoList pointer = flag(PMIX_GET_POINTER_VALUES);
    pmix_value_t *first = nullptr, *second = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&peer, "key", pointer.c_array(), pointer.size(), &first));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&peer, "key", pointer.c_array(), pointer.size(), &second));
    EXPECT_EQ(4711u, first->data.uint32);
    EXPECT_EQ(4711u, second->data.uint32);
    pmix_value_t own{};
    pmix_value_t* there = &own;
    const InfoList in_place = flag(PMIX_GET_STATIC_VALUES);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&peer, "key", in_place.c_array(), in_place.size(), &there));
    EXPECT_EQ(&own, there);
    EXPECT_EQ(PMIX_UINT32, own.type);
    EXPECT_EQ(4711u, own.data.uint32);
}

// Bad input is answered here.
TEST_P(OpenPmixGetAttributes, BadInput_IsNotSent) {
    find_nothing();
    init();
    Value value;
    InfoList wrong;
    EXPECT_STATUS(PMIX_SUCCESS, wrong.append_string(PMIX_TIMEOUT, "a second"));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get_with(proc(1), "key", wrong, &value));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, get_with(proc(1), std::string(PMIX_MAX_KEYLEN + 1, 'k').c_str(), {}, &value));
    const pmix_proc_t peer = proc(1);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Get(&peer, "key", nullptr, 0, nullptr));
    EXPECT_EQ(0, asked_);
}

}  // namespace
}  // namespace pmix::test::openpmix_get_attributes_test
