// SPDX-License-Identifier: BSD-3-Clause
// What of a message a release of OpenPMIx can be told: values that it cannot read or keep cost themselves alone.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "common/values/array_value.h"
#include "openpmix/hello.h"
#include "openpmix/tellable.h"
#include "support/status.h"

namespace pmix::test {
namespace {

using common::InfoList;
using common::Value;

openpmix::Traits release(const char* version, const char* encoding) {
    return *openpmix::traits_of(version, encoding, openpmix::kNotDescribed);
}

pmix_value_t without_data(pmix_data_type_t type) {
    pmix_value_t value{};
    value.type = type;
    return value;
}

// "fine", a proc that is none, and an info by itself.
InfoList some_odd() {
    InfoList infos;
    EXPECT_STATUS(PMIX_SUCCESS, infos.append_number<uint32_t>("fine", 1, PMIX_UINT32));
    EXPECT_STATUS(PMIX_SUCCESS, infos.append_number<uint32_t>("proc", 0, PMIX_UINT32));
    EXPECT_STATUS(PMIX_SUCCESS, infos.append_number<uint32_t>("info", 0, PMIX_UINT32));
    infos[1].value = without_data(PMIX_PROC);
    infos[2].value = without_data(PMIX_INFO);
    return infos;
}

std::vector<std::string> keys_of(const common::Infos& infos) {
    std::vector<std::string> keys;
    for (const pmix_info_t& info : infos) keys.emplace_back(info.key);
    return keys;
}

TEST(OpenPmixTellable, Values_ThatAReleaseReadsAndCannotKeep_AreNot) {
    for (const auto& traits : {release("4.2.2", "v41"), release("7.0.0", "v61")}) {
        for (const pmix_data_type_t type : {PMIX_VALUE, PMIX_APP, PMIX_INFO, PMIX_PDATA, PMIX_KVAL, PMIX_COMMAND,
                                            PMIX_INFO_DIRECTIVES, PMIX_DATA_TYPE, PMIX_QUERY, PMIX_IOF_CHANNEL})
            EXPECT_FALSE(openpmix::is_tellable(traits, without_data(type))) << type;
        for (const pmix_data_type_t type : {PMIX_UNDEF, PMIX_BOOL, PMIX_STRING, PMIX_PROC_STATE, PMIX_BYTE_OBJECT})
            EXPECT_TRUE(openpmix::is_tellable(traits, without_data(type))) << type;
        InfoList inner;
        ASSERT_STATUS(PMIX_SUCCESS, inner.append_number<uint32_t>("key", 1, PMIX_UINT32));
        EXPECT_TRUE(openpmix::is_tellable(traits, common::array_value(std::move(inner))->get())) << "an array of infos";
        EXPECT_FALSE(openpmix::is_tellable(traits, common::array_value(some_odd())->get())) << "with one that is not";
        EXPECT_FALSE(openpmix::is_tellable(traits, without_data(PMIX_PROC))) << "a proc that is none";
    }
    EXPECT_FALSE(openpmix::is_tellable(release("4.2.2", "v41"), without_data(PMIX_RESOURCE_UNIT))) << "newer than it";
}

TEST(OpenPmixTellable, Messages_LoseNothingElse) {
    const auto traits = release("4.2.2", "v41");
    openpmix::EventMessage event;
    event.code.value = -3001;
    event.source.id = {"job", 1};
    event.range.emplace().value = PMIX_RANGE_LOCAL;
    event.infos.infos = common::Infos(some_odd());
    const auto told = openpmix::tellable_part(event, traits);
    EXPECT_EQ(-3001, told.code.value);
    EXPECT_EQ(common::ProcId("job", 1), told.source.id);
    EXPECT_EQ(PMIX_RANGE_LOCAL, told.range->value);
    EXPECT_EQ(std::vector<std::string>{"fine"}, keys_of(told.infos.infos));

    openpmix::InfosReply answers;
    answers.status.value = PMIX_SUCCESS;
    EXPECT_FALSE(openpmix::tellable_part(answers, traits).infos);
    answers.infos.emplace().infos = common::Infos(some_odd());
    EXPECT_EQ(std::vector<std::string>{"fine"}, keys_of(openpmix::tellable_part(answers, traits).infos->infos));
}

TEST(OpenPmixTellable, Lookup_ThatLosesSomeOrAll_IsToldByItsStatus) {
    const auto traits = release("4.2.2", "v41");
    openpmix::LookupReply found;
    found.status.value = PMIX_SUCCESS;
    EXPECT_FALSE(openpmix::tellable_part(found, traits).data);
    auto items = std::move(common::CArray<pmix_pdata_t>::zeroed(2)).value();
    PMIx_Load_procid(&items[0].proc, "job", 3);
    PMIx_Load_key(items[0].key, "fine");
    items[0].value = without_data(PMIX_UINT32);
    items[0].value.data.uint32 = 9;
    items[1].value = without_data(PMIX_UINT32);
    found.data.emplace().elements = std::move(items);
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::tellable_part(found, traits).status.value);
    found.data->elements[1].value = without_data(PMIX_PROC);
    const auto some = openpmix::tellable_part(found, traits);
    EXPECT_STATUS(PMIX_ERR_PARTIAL_SUCCESS, some.status.value);
    ASSERT_EQ(1u, some.data->elements.size());
    EXPECT_STREQ("fine", some.data->elements[0].key);
    EXPECT_EQ(3u, some.data->elements[0].proc.rank);
    EXPECT_EQ(9u, some.data->elements[0].value.data.uint32);
    found.data->elements[0].value = without_data(PMIX_INFO);
    const auto none = openpmix::tellable_part(found, traits);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, none.status.value);
    EXPECT_FALSE(none.data);
}

}  // namespace
}  // namespace pmix::test
