// SPDX-License-Identifier: BSD-3-Clause
// Keys and types at a server that speaks OpenPMIx's protocol: what is this library's own inside (the key of a qualified
// value, a number in any integer type) does not cross the connection.
#include <gtest/gtest.h>
#include <pmix.h>

#include <string>
#include <vector>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "support/openpmix_process.h"
#include "support/status.h"

namespace pmix::test::openpmix_qualified_test {
namespace {

namespace theirs = openpmix;
using common::InfoList;
using common::Value;

// The value `n` of the key, for those who name which one.
Value qualified(const char* key, uint32_t n, uint32_t which) {
    InfoList infos;
    infos.append_number<uint32_t>(key, n, PMIX_UINT32);
    infos.append_number<uint32_t>("which", which, PMIX_UINT32);
    infos.c_array()[1].flags |= PMIX_INFO_QUALIFIER;
    auto array = common::array_value(std::move(infos));
    return std::move(array).value();
}

class OpenPmixQualified : public OpenPmixProcess {
  protected:
    void SetUp() override {
        OpenPmixProcess::SetUp();
        server_->on(theirs::Command::commit, [this](uint32_t tag, common::Bytes payload) {
            for (const theirs::Section& section : server_->decoded<theirs::CommitRequest>(payload).sections.sections) {
                if (section.scope != PMIX_REMOTE) continue;
                auto data = server_->decoded<theirs::SectionData>(section.values);
                for (theirs::KeyValue& pair : data.values.pairs) told_.push_back(std::move(pair));
            }
            server_->send_status(tag, PMIX_SUCCESS);
        });
    }
    static pmix_status_t put(const char* key, uint32_t n, uint32_t which) {
        Value value = qualified(key, n, which);
        return PMIx_Put(PMIX_GLOBAL, PMIX_QUALIFIED_VALUE, value.c_ptr());
    }
    void commit() {
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Commit());
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fence(nullptr, 0, nullptr, 0));
    }
    static pmix_status_t get_which(uint32_t which, Value* out) {
        pmix_info_t name;
        PMIX_INFO_LOAD(&name, "which", &which, PMIX_UINT32);
        PMIX_INFO_SET_QUALIFIER(&name);
        return get(proc(1), "mine", out, &name, 1);
    }
    // Answers each Get with this value of rank 1, and keeps what was asked.
    void answer_with(const char* key, uint32_t n, uint32_t which) {
        server_->on(theirs::Command::get, [this, key, n, which](uint32_t tag, common::Bytes payload) {
            auto request = server_->decoded<theirs::GetRequest>(payload);
            asked_ = request.key ? request.key->text : "";
            asked_with_qualifier_ = false;
            for (const pmix_info_t& info : request.infos.infos)
                if (PMIX_INFO_IS_QUALIFIER(&info) && common::key_view(info) == "which") asked_with_qualifier_ = true;
            theirs::ProcData data;
            data.proc.id = {"job", 1};
            if (which != 0) {
                data.values.pairs.push_back({PMIX_QUALIFIED_VALUE, qualified(key, n, which)});
            } else {
                data.values.pairs.push_back({key, Value::u32(n)});
            }
            const auto bytes = server_->encoded(data);
            theirs::GetReply reply;
            reply.objects.objects.push_back(bytes);
            server_->send(tag, reply);
        });
    }

    std::vector<theirs::KeyValue> told_;  // for processes of other nodes
    std::string asked_;
    bool asked_with_qualifier_ = false;
};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixQualified,
                         ::testing::Values(std::make_pair("4.2.2rc2", "v41"), std::make_pair("5.0.7", "v51"),
                                           std::make_pair("7.0.0rc1", "v61")));

TEST_P(OpenPmixQualified, Put_IsToldAsTheArrayThatWasPut) {
    init();
    for (const uint32_t which : {1u, 2u}) EXPECT_STATUS(PMIX_SUCCESS, put("mine", 10 * which, which));
    commit();
    ASSERT_EQ(2u, told_.size());
    for (const theirs::KeyValue& pair : told_) {
        EXPECT_EQ(PMIX_QUALIFIED_VALUE, pair.key);
        const common::InfoView infos = common::infos_in(pair.value.get());
        ASSERT_EQ(2u, infos.size());
        EXPECT_EQ("mine", common::key_view(infos.begin()[0]));
        EXPECT_EQ("which", common::key_view(infos.begin()[1]));
        EXPECT_TRUE(PMIX_INFO_IS_QUALIFIER(&infos.begin()[1]));
    }
    Value value;
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_which(1, &value)) << "of another process";
}

TEST_P(OpenPmixQualified, Get_NamesTheKeyAndTheQualifiers) {
    answer_with("mine", 20, 2);
    init();
    Value value;
    ASSERT_STATUS(PMIX_SUCCESS, get_which(2, &value));
    EXPECT_EQ(20u, value.get().data.uint32);
    EXPECT_EQ("mine", asked_);
    EXPECT_TRUE(asked_with_qualifier_);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_which(3, &value)) << "another one than was asked for";
}

// Some servers leave out of the answer what was asked for.
TEST_P(OpenPmixQualified, Get_AnsweredWithTheKeyAlone_IsNoValueOfTheKey) {
    answer_with("mine", 20, 0);
    init();
    Value value;
    ASSERT_STATUS(PMIX_SUCCESS, get_which(2, &value));
    EXPECT_EQ(20u, value.get().data.uint32);
    server_->answer_status(theirs::Command::get, PMIX_ERR_NOT_FOUND);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get(proc(1), "mine", &value));
}

// 4.2 numbers the reserved keys that it has, and a commit with another one makes the fence of the whole job fail.
TEST_P(OpenPmixQualified, Put_OfAReservedKeyThatTheServerLacks_IsLeftOut) {
    init();
    const bool numbers = server_->traits.numbers_keys;
    Value value = Value::u32(1);
    EXPECT_STATUS(PMIX_SUCCESS, put("pmix.mine", 1, 1));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "pmix.other", value.c_ptr()));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, PMIX_HOSTNAME, value.c_ptr()));
    commit();
    EXPECT_EQ(numbers ? 1u : 3u, told_.size());
    Value own;
    EXPECT_STATUS(PMIX_SUCCESS, get(self_, "pmix.other", &own)) << "the process itself has it";
}

// Releases that know nothing of them would keep one of several, under a key that nobody asks for.
class OpenPmixUnqualified : public OpenPmixQualified {};
INSTANTIATE_TEST_SUITE_P(Releases, OpenPmixUnqualified, ::testing::Values(std::make_pair("4.0.0", "v4")));

TEST_P(OpenPmixUnqualified, Put_IsLeftOut) {
    init();
    Value value = Value::u32(1);
    EXPECT_STATUS(PMIX_SUCCESS, put("mine", 1, 1));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "other", value.c_ptr()));
    commit();
    ASSERT_EQ(1u, told_.size());
    EXPECT_EQ("other", told_[0].key);
    answer_with("mine", 20, 0);
    Value got;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, get_which(1, &got));
    EXPECT_EQ("", asked_);
}

// Callers read the type that the attribute is declared with, whichever integer the host has used.
TEST_P(OpenPmixQualified, JobData_HasTheDeclaredTypes) {
    server_->on(theirs::Command::get, [this](uint32_t tag, common::Bytes) {
        theirs::ProcData data;
        data.proc.id = {"other", PMIX_RANK_WILDCARD};
        auto& pairs = data.values.pairs;
        pairs.push_back({PMIX_SERVER_RANK, Value::u32(3)});
        pairs.push_back({PMIX_JOB_SIZE, Value::number(int64_t{4}, PMIX_INT64)});
        pairs.push_back({PMIX_UNIV_SIZE, Value::number(int64_t{-1}, PMIX_INT64)});
        const auto bytes = server_->encoded(data);
        theirs::GetReply reply;
        reply.objects.objects.push_back(bytes);
        server_->send(tag, reply);
    });
    init();
    Value value;
    const pmix_proc_t job = proc(PMIX_RANK_WILDCARD, "other");
    ASSERT_STATUS(PMIX_SUCCESS, get(job, PMIX_SERVER_RANK, &value));
    EXPECT_EQ(PMIX_PROC_RANK, value.type());
    EXPECT_EQ(3u, value.get().data.rank);
    ASSERT_STATUS(PMIX_SUCCESS, get(job, PMIX_JOB_SIZE, &value));
    EXPECT_EQ(PMIX_UINT32, value.type());
    EXPECT_EQ(4u, value.get().data.uint32);
    ASSERT_STATUS(PMIX_SUCCESS, get(job, PMIX_UNIV_SIZE, &value));
    EXPECT_EQ(PMIX_INT64, value.type()) << "what has no form in the declared type is left as it is";
}

}  // namespace
}  // namespace pmix::test::openpmix_qualified_test
