// SPDX-License-Identifier: BSD-3-Clause
// A test that is a process under a launcher with OpenPMIx's library: rank 0 of "job" at an OpenPmixServer. The
// parameter is the server's version and encoding.
#pragma once

#include <gtest/gtest.h>
#include <pmix.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "support/openpmix_server.h"
#include "support/status.h"

namespace pmix::test {

class OpenPmixProcess : public ::testing::TestWithParam<std::pair<const char*, const char*>> {
  protected:
    void SetUp() override { server_ = std::make_unique<OpenPmixServer>(GetParam().first, GetParam().second); }
    void TearDown() override {
        if (PMIx_Initialized()) PMIx_Finalize(nullptr, 0);
        OpenPmixServer::clear_environment();
        if (server_) server_->stop();  // its thread uses what derived fixtures have
    }
    void init() {
        server_->start();
        server_->set_environment();
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Init(&self_, nullptr, 0));
    }
    static pmix_proc_t proc(pmix_rank_t rank, const char* nspace = "job") {
        pmix_proc_t p;
        PMIX_LOAD_PROCID(&p, nspace, rank);
        return p;
    }
    static pmix_status_t get(const pmix_proc_t& who, const char* key, common::Value* out,
                             const pmix_info_t* infos = nullptr, size_t ninfos = 0) {
        pmix_value_t* value = nullptr;
        const pmix_status_t rc = PMIx_Get(&who, key, infos, ninfos, &value);
        out->reset();
        if (rc == PMIX_SUCCESS) *out = common::Value(*value);
        std::free(value);
        return rc;
    }
    static uint64_t number(const pmix_proc_t& who, const char* key) {
        common::Value value;
        uint64_t n = UINT64_MAX;
        EXPECT_STATUS(PMIX_SUCCESS, get(who, key, &value)) << key;
        (void)common::read_number(value.get(), &n);
        return n;
    }
    static std::string text(const pmix_proc_t& who, const char* key) {
        common::Value value;
        EXPECT_STATUS(PMIX_SUCCESS, get(who, key, &value)) << key;
        return value.type() == PMIX_STRING ? value.get().data.string : "";
    }
    // Answers a Get for a rank with these values.
    void answer_get(const char* nspace, pmix_rank_t rank, std::vector<std::pair<std::string, uint32_t>> values) {
        server_->on(openpmix::Command::get, [this, nspace, rank, values](uint32_t tag, common::Bytes) {
            openpmix::ProcData data;
            data.proc.id = {nspace, rank};
            for (const auto& [key, n] : values) data.values.pairs.push_back({key, common::Value::u32(n)});
            const auto bytes = server_->encoded(data);
            openpmix::GetReply reply;
            reply.objects.objects.push_back(bytes);
            server_->send(tag, reply);
        });
    }

    std::unique_ptr<OpenPmixServer> server_;
    pmix_proc_t self_{};
};

}  // namespace pmix::test
