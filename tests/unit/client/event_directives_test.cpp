// SPDX-License-Identifier: BSD-3-Clause
// What each attribute of a registration does: read from infos as a program gives them, seen in the handlers that a
// chain calls and their order.
#include <gtest/gtest.h>
#include <pmix.h>

#include <algorithm>
#include <string>
#include <vector>

#include "client/events/event_order.h"
#include "client/events/event_spec.h"
#include "common/values/value.h"
#include "support/status.h"

namespace pmix::client::event_directives_test {
namespace {

using common::InfoList;
using common::ProcId;

constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 1, kOther = PMIX_EXTERNAL_ERR_BASE - 2;

// Handlers by their names, registered one after the other.
class Chain {
  public:
    HandlerSpec add(const std::string& name, std::vector<pmix_status_t> codes, InfoList infos = {}) {
        infos.append_string(PMIX_EVENT_HDLR_NAME, name);
        auto read = read_handler_attributes(codes.data(), codes.size(), infos);
        EXPECT_TRUE(read.ok()) << name;
        auto added = order_.add(read->spec);
        EXPECT_TRUE(added.ok()) << name;
        return read->spec;
    }
    // "a b x": the handlers that are called, in order.
    std::string order(pmix_status_t code = kCode) const {
        EventTraits event;
        event.code = code;
        event.source = ProcId("job", 2);
        return order(event);
    }
    std::string order(const EventTraits& event) const {
        std::string text;
        for (size_t reference : order_.chain(event)) text += (text.empty() ? "" : " ") + order_.find(reference)->name;
        return text;
    }

  private:
    EventOrder order_{ProcId("job", 0)};
};

InfoList flag(const char* key, bool value = true) {
    InfoList infos;
    infos.append_flag(key, value);
    return infos;
}
InfoList word(const char* key, const char* text) {
    InfoList infos;
    infos.append_string(key, text);
    return infos;
}

// Two handlers for one code, x with the attribute, one more for the code; one for several codes, a default one.
std::string place_of(InfoList infos, InfoList of_next = {}) {
    Chain chain;
    chain.add("default", {});
    chain.add("several", {kOther, kCode});
    chain.add("a", {kCode});
    chain.add("b", {kCode});
    chain.add("x", {kCode}, std::move(infos));
    chain.add("c", {kCode}, std::move(of_next));
    return chain.order();
}

// rows: E3 E4 E5
// proves: PMIx_Register_event_handler PMIX_EVENT_HDLR_NAME PMIX_EVENT_HDLR_FIRST PMIX_EVENT_HDLR_LAST
// proves: PMIx_Register_event_handler PMIX_EVENT_HDLR_FIRST_IN_CATEGORY PMIX_EVENT_HDLR_LAST_IN_CATEGORY
// proves: PMIx_Register_event_handler PMIX_EVENT_HDLR_BEFORE PMIX_EVENT_HDLR_AFTER PMIX_EVENT_HDLR_PREPEND
// proves: PMIx_Register_event_handler PMIX_EVENT_HDLR_APPEND PMIX_EVENT_ORDER_PREPEND
TEST(EventDirectives, PlacesInTheChain) {
    EXPECT_EQ("c x b a several default", place_of({})) << "the newest of a category first";
    EXPECT_EQ("c b a x several default", place_of(flag(PMIX_EVENT_HDLR_APPEND)));
    EXPECT_EQ("c b a x several default", place_of(flag(PMIX_EVENT_ORDER_PREPEND, false)));
    EXPECT_EQ("x c b a several default", place_of(flag(PMIX_EVENT_HDLR_FIRST)));
    EXPECT_EQ("c b a several default x", place_of(flag(PMIX_EVENT_HDLR_LAST)));
    EXPECT_EQ("x b a c several default", place_of(flag(PMIX_EVENT_HDLR_PREPEND), flag(PMIX_EVENT_HDLR_APPEND)));
    EXPECT_EQ("c x b a several default", place_of(flag(PMIX_EVENT_ORDER_PREPEND)));
    EXPECT_EQ("b a x c several default", place_of(flag(PMIX_EVENT_HDLR_APPEND), flag(PMIX_EVENT_HDLR_APPEND)));
    EXPECT_EQ("x c b a several default", place_of(flag(PMIX_EVENT_HDLR_FIRST_IN_CATEGORY)));
    EXPECT_EQ("c b a x several default", place_of(flag(PMIX_EVENT_HDLR_LAST_IN_CATEGORY)));
    EXPECT_EQ("x c b a several default", place_of(word(PMIX_EVENT_HDLR_BEFORE, "c")));
    EXPECT_EQ("c b x a several default", place_of(word(PMIX_EVENT_HDLR_AFTER, "b")));
    common::InfoList both;
    both.append_flag(PMIX_EVENT_HDLR_FIRST, true);
    both.append_flag(PMIX_EVENT_HDLR_LAST, true);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, read_handler_attributes(nullptr, 0, common::InfoView(both)).status());
    EXPECT_EQ("c x b a several default", place_of(flag(PMIX_EVENT_HDLR_FIRST, false))) << "said, and not wanted";
}

// rows: E8 E9
// proves: PMIx_Register_event_handler PMIX_RANGE PMIX_EVENT_CUSTOM_RANGE
// proves: PMIx_Register_event_handler PMIX_EVENT_AFFECTED_PROC PMIX_EVENT_AFFECTED_PROCS
TEST(EventDirectives, WhoseEventsAreWanted) {
    Chain chain;
    const pmix_data_range_t mine = PMIX_RANGE_PROC_LOCAL;
    InfoList range, custom, one, several;
    range.append(PMIX_RANGE, &mine, PMIX_DATA_RANGE);
    const pmix_proc_t second = ProcId("job", 2).to_c(), third = ProcId("job", 3).to_c();
    custom.append(PMIX_EVENT_CUSTOM_RANGE, &second, PMIX_PROC);
    one.append(PMIX_EVENT_AFFECTED_PROC, &second, PMIX_PROC);
    pmix_proc_t both[] = {second, third};
    pmix_data_array_t array = {PMIX_PROC, 2, both};
    several.append(PMIX_EVENT_AFFECTED_PROCS, &array, PMIX_DATA_ARRAY);
    EXPECT_EQ(PMIX_RANGE_PROC_LOCAL, chain.add("range", {kCode}, std::move(range)).range);
    chain.add("custom", {kCode}, std::move(custom));
    chain.add("one", {kCode}, std::move(one));
    chain.add("several", {kCode}, std::move(several));
    chain.add("all", {kCode});
    EventTraits event;
    event.code = kCode;
    event.source = ProcId("job", 2);
    EXPECT_EQ("all custom", chain.order(event)) << "of no process; and not of this one";
    event.source = ProcId("job", 0);
    EXPECT_EQ("all range", chain.order(event));
    event.affected = {ProcId("job", 2)};
    EXPECT_EQ("all several one range", chain.order(event));
    event.affected = {ProcId("job", 3)};
    EXPECT_EQ("all several range", chain.order(event));
    event.affected = {ProcId("job", 4)};
    EXPECT_EQ("all range", chain.order(event));
}

// rows: E3 E19
// proves: PMIx_Register_event_handler PMIX_EVENT_JOB_LEVEL PMIX_EVENT_ENVIRO_LEVEL
TEST(EventDirectives, Levels) {
    Chain chain;
    chain.add("jobs", {kCode}, flag(PMIX_EVENT_JOB_LEVEL));
    chain.add("environment", {kCode}, flag(PMIX_EVENT_ENVIRO_LEVEL));
    chain.add("both", {kCode});
    EventTraits event;
    event.code = kCode;
    EXPECT_EQ("both jobs", chain.order(event));
    event.of_environment = true;
    EXPECT_EQ("both environment", chain.order(event));
}

// rows: E3 E20
// proves: PMIx_Register_event_handler PMIX_EVENT_GROUP_COMM PMIX_EVENT_GROUP_MIGRATE PMIX_EVENT_GROUP_PROC
// proves: PMIx_Register_event_handler PMIX_EVENT_GROUP_JOB PMIX_EVENT_GROUP_NODE
// proves: PMIx_Register_event_handler PMIX_EVENT_GROUP_NAME PMIX_EVENT_NAME
TEST(EventDirectives, GroupsAndNamesOfEvents) {
    const struct {
        const char* key;
        pmix_status_t member;
    } groups[] = {{PMIX_EVENT_GROUP_COMM, PMIX_ERR_COMM_FAILURE},
                  {PMIX_EVENT_GROUP_MIGRATE, PMIX_JCTRL_CHECKPOINT},
                  {PMIX_EVENT_GROUP_PROC, PMIX_EVENT_PROC_TERMINATED},
                  {PMIX_EVENT_GROUP_JOB, PMIX_EVENT_JOB_END},
                  {PMIX_EVENT_GROUP_NODE, PMIX_EVENT_NODE_DOWN}};
    for (const auto& wanted : groups) {
        Chain by_flag, by_text;
        by_flag.add("x", {kCode}, flag(wanted.key));
        InfoList text;
        text.append_string(PMIX_EVENT_GROUP_NAME, wanted.key);
        by_text.add("x", {kCode}, std::move(text));
        for (const auto& other : groups) {
            EXPECT_EQ(&other == &wanted ? "x" : "", by_flag.order(other.member)) << wanted.key << " " << other.key;
            EXPECT_EQ(&other == &wanted ? "x" : "", by_text.order(other.member)) << wanted.key << " " << other.key;
        }
    }
    Chain named;
    InfoList infos;
    const pmix_status_t code = kOther;
    infos.append(PMIX_EVENT_NAME, &code, PMIX_STATUS);
    named.add("x", {kCode}, std::move(infos));
    EXPECT_EQ("x", named.order(kOther));
    EXPECT_EQ("x", named.order(kCode));
}

// rows: E3
// proves: PMIx_Register_event_handler PMIX_EVENT_ONESHOT PMIX_EVENT_RETURN_OBJECT
TEST(EventDirectives, OnceAndWithAnObject) {
    int object = 0;
    InfoList infos = flag(PMIX_EVENT_ONESHOT);
    pmix_value_t value{};
    value.type = PMIX_POINTER;
    value.data.ptr = &object;
    infos.append(PMIX_EVENT_RETURN_OBJECT, std::move(common::Value::copy_of(value)).value());
    auto read = read_handler_attributes(&kCode, 1, infos);
    ASSERT_TRUE(read.ok());
    EXPECT_TRUE(read->oneshot);
    EXPECT_EQ(&object, read->return_object);
    auto plain = read_handler_attributes(&kCode, 1, InfoList());
    EXPECT_FALSE(plain->oneshot || plain->has_return_object);
}

}  // namespace
}  // namespace pmix::client::event_directives_test
