// SPDX-License-Identifier: BSD-3-Clause
// Values with qualifiers of clients with OpenPMIx's library: each is kept by itself, asked for by its key and its
// qualifiers, and told as it was put.
#include <gtest/gtest.h>
#include <pmix_server.h>

#include <optional>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "support/fake_client.h"
#include "support/openpmix_client.h"
#include "support/remote_data.h"
#include "support/served_job.h"
#include "support/server_here.h"
#include "support/status.h"

namespace openpmix_served_qualified_test {

using namespace pmix;
using namespace pmix::test;
using common::Value;

namespace {

InfoList which_is(uint32_t which) {
    InfoList infos;
    infos.append_number<uint32_t>("which", which, PMIX_UINT32);
    infos.c_array()[0].flags |= PMIX_INFO_QUALIFIER;
    return infos;
}

void commit_qualified(OpenPmixClient& client, uint32_t which) {
    InfoList infos;
    infos.append_number<uint32_t>("mine", 10 * which, PMIX_UINT32);
    const InfoList qualifier = which_is(which);
    infos.append_all(qualifier.c_array(), qualifier.size());
    auto array = common::array_value(std::move(infos));
    openpmix::SectionData data;
    data.values.pairs.push_back({PMIX_QUALIFIED_VALUE, std::move(array).value()});
    std::vector<uint8_t> values;
    ASSERT_STATUS(PMIX_SUCCESS, openpmix::encode(data, client.traits, &values));
    openpmix::CommitRequest commit;
    for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE}) commit.sections.sections.push_back({scope, values});
    ASSERT_STATUS(PMIX_SUCCESS, client.status_of(commit));
}

}  // namespace

TEST(OpenPmixServedQualified, Values_AreKeptAndToldEachByItself) {
    pmix_server_module_t module{};
    ServerHere server(&module, ServerHere::named());
    const std::string uri = register_served_job(2);
    std::optional<OpenPmixClient> clients[2];
    for (uint32_t rank = 0; rank < 2; ++rank) {
        clients[rank].emplace(uri);
        clients[rank]->request.version = "5.0.7";
        clients[rank]->request.encoding = "v51";
        ASSERT_TRUE(clients[rank]->hello({"job", rank}));
    }
    for (const uint32_t which : {1u, 2u}) commit_qualified(*clients[0], which);
    for (const uint32_t which : {1u, 2u, 3u}) {
        openpmix::GetRequest get = get_of("job", 0, "mine");
        InfoList infos = which_is(which);
        ASSERT_STATUS(PMIX_SUCCESS, infos.append_flag(PMIX_IMMEDIATE, true));
        get.infos.infos = std::move(infos);
        const auto reply = clients[1]->ask<openpmix::GetReply>(get);
        if (which == 3) {
            EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reply.status.value);
            continue;
        }
        ASSERT_STATUS(PMIX_SUCCESS, reply.status.value);
        ASSERT_FALSE(reply.objects.objects.empty());
        openpmix::ProcData proc;
        ASSERT_STATUS(PMIX_SUCCESS, openpmix::decode(reply.objects.objects.back(), clients[1]->traits, &proc));
        size_t told = 0;
        for (const openpmix::KeyValue& pair : proc.values.pairs) {
            EXPECT_EQ(PMIX_QUALIFIED_VALUE, pair.key);
            const common::InfoView all = common::infos_in(pair.value.get());
            ASSERT_EQ(2u, all.size());
            EXPECT_EQ("mine", common::key_view(all.begin()[0]));
            EXPECT_TRUE(PMIX_INFO_IS_QUALIFIER(&all.begin()[1]));
            ++told;
        }
        EXPECT_EQ(2u, told);
    }
}

}  // namespace openpmix_served_qualified_test
