// SPDX-License-Identifier: BSD-3-Clause
// pmixrun's places: which CPUs the processes of a node get on machines of several kinds.
//
// binding.c by itself; a machine is told by the localities of its CPUs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

extern "C" {
#include "binding.h"
}

namespace {

using Texts = std::vector<std::string>;

std::string text_of(const cpu_set_t& cpus) {
    char text[CPUS_TEXT];
    cpus_write(&cpus, text);
    return text;
}

class PmixrunBinding : public ::testing::Test {
  protected:
    // Two packages with a NUMA node and a level 3 cache each, two cores in each, two threads in each core. The kernel
    // counts the second threads after all first ones.
    void SetUp() override {
        places_clear(&places_);
        for (int cpu = 0; cpu < 8; ++cpu) {
            const std::string core = std::to_string(cpu % 4), package = std::to_string(cpu % 4 / 2);
            const std::string locality = "hwloc:SK" + package + ":L3" + package + ":L2" + core + ":L1" + core + ":CR" +
                                         core + ":HT" + std::to_string(cpu % 4 * 2 + cpu / 4) + ":NM" + package;
            places_read(&places_, cpu, locality.c_str());
        }
    }

    // What `count` processes get; empty: they do not fit, or there is no such place.
    Texts deal(const char* to, uint32_t count, const char* list = "0-7") {
        binding binding{};
        cpu_set_t from;
        EXPECT_TRUE(binding_read(to, &binding)) << to;
        EXPECT_TRUE(cpus_read(list, &from)) << list;
        std::vector<cpu_set_t> cpus(count);
        last_ = binding_deal(&places_, &from, binding, count, cpus.data());
        Texts texts;
        for (const cpu_set_t& one : cpus)
            if (last_ == DEALT) texts.push_back(text_of(one));
        return texts;
    }

    places places_{};
    enum deal last_ = DEALT;
};

TEST_F(PmixrunBinding, EachTarget_DealtInTurn) {
    EXPECT_EQ((Texts{"0", "1", "2"}), deal("hwthread", 3));
    EXPECT_EQ((Texts{"0,4", "1,5", "2,6", "3,7"}), deal("core", 4));
    EXPECT_EQ((Texts{"0,4", "1,5"}), deal("l1", 2));
    EXPECT_EQ((Texts{"0,4", "1,5"}), deal("L2Cache", 2));
    EXPECT_EQ((Texts{"0-1,4-5", "2-3,6-7", "0-1,4-5"}), deal("l3cache", 3));
    EXPECT_EQ((Texts{"0-1,4-5", "2-3,6-7"}), deal("numa", 2));
    EXPECT_EQ((Texts{"0-1,4-5", "2-3,6-7", "0-1,4-5", "2-3,6-7"}), deal("package", 4));
    EXPECT_EQ((Texts{"0-1,4-5"}), deal("SOCKET", 1));
}

TEST_F(PmixrunBinding, MoreProcessesThanCores_OverloadOnlyWhereAllowed) {
    EXPECT_EQ((Texts{}), deal("core", 5));
    EXPECT_EQ(DEAL_OVERLOAD, last_);
    EXPECT_EQ((Texts{}), deal("package", 5));
    EXPECT_EQ(DEAL_OVERLOAD, last_);
    EXPECT_EQ((Texts{}), deal("hwthread:no-overload", 9));
    EXPECT_EQ(8U, deal("hwthread", 8).size());
    EXPECT_EQ((Texts{"0,4", "1,5", "2,6", "3,7", "0,4"}), deal("core:overload-allowed", 5));
    EXPECT_EQ((Texts{"0-1,4-5", "2-3,6-7", "0-1,4-5", "2-3,6-7", "0-1,4-5"}), deal("package:Overload-Allowed", 5));
}

TEST_F(PmixrunBinding, PartOfTheMachine_PlacesKeepTheirPart) {
    EXPECT_EQ((Texts{"3", "4"}), deal("core", 2, "3-4"));
    EXPECT_EQ((Texts{"1", "2-3", "2-3"}), deal("package", 3, "1-3")) << "a core takes one";
    EXPECT_EQ((Texts{}), deal("package", 4, "1-3"));
    EXPECT_EQ((Texts{"1", "2-3", "2-3", "1", "2-3"}), deal("package:overload-allowed", 5, "1-3"));
}

TEST_F(PmixrunBinding, NoSuchPlace_IsReported) {
    places_clear(&places_);
    for (int cpu = 0; cpu < 2; ++cpu) places_read(&places_, cpu, cpu == 0 ? "hwloc:CR0:HT0" : "hwloc:CR1:HT1:SKx:L3");
    for (const char* to : {"package", "l3", "l2", "l1", "numa"}) {
        EXPECT_EQ((Texts{}), deal(to, 1, "0-1")) << to;
        EXPECT_EQ(DEAL_NO_PLACE, last_) << to;
    }
    EXPECT_EQ((Texts{"0", "1"}), deal("core", 2, "0-1"));
}

TEST(PmixrunBindingText, Targets_AreReadAndNamed) {
    binding binding{};
    binding.overload = true;
    EXPECT_TRUE(binding_read(nullptr, &binding));
    EXPECT_EQ(BIND_NONE, binding.target);
    EXPECT_TRUE(binding_read("core", &binding));
    EXPECT_TRUE(binding.overload) << "what is not named stays";
    EXPECT_TRUE(binding_read("core:no-overload", &binding));
    EXPECT_FALSE(binding.overload);
    for (const char* text : {"", "fridge", "cor", "cores", "core:", "core:some", ":overload-allowed", "core,numa"}) {
        EXPECT_FALSE(binding_read(text, &binding)) << text;
        EXPECT_EQ(BIND_CORE, binding.target) << text;
    }
    for (int target = BIND_NONE; target < BIND_TARGETS; ++target) {
        EXPECT_TRUE(binding_read(binding_name(static_cast<enum target>(target)), &binding));
        EXPECT_EQ(target, binding.target);
    }
}

TEST(PmixrunBindingText, Lists_AreWrittenAsTheyAreRead) {
    for (const char* text : {"0", "0-3", "0,2,4-7,1023", "1022-1023"}) {
        cpu_set_t cpus;
        EXPECT_TRUE(cpus_read(text, &cpus));
        EXPECT_EQ(text, text_of(cpus));
    }
    cpu_set_t every_other;
    CPU_ZERO(&every_other);
    EXPECT_EQ("", text_of(every_other));
    for (int cpu = 1; cpu < CPU_SETSIZE; cpu += 2) CPU_SET(cpu, &every_other);
    cpu_set_t again;
    EXPECT_TRUE(cpus_read(text_of(every_other).c_str(), &again)) << "the longest text there is";
    EXPECT_TRUE(CPU_EQUAL(&every_other, &again));
}

}  // namespace
