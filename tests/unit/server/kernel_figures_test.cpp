// SPDX-License-Identifier: BSD-3-Clause
// The kernel's figures: what is read from files as the kernel writes them, from files that nobody would write, and from
// those of this machine.
#include "server/base/kernel_figures.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "support/fake_kernel.h"

namespace pmix::server::kernel_figures_test {
namespace {

constexpr double kMiB = 1024.0 * 1024.0;
constexpr ProcessParts kAllParts{true, true, true};

class KernelFiguresTest : public ::testing::Test {
  protected:
    test::FakeKernel kernel;
    const KernelFiles files = kernel.files();
};

TEST_F(KernelFiguresTest, ReadProcess_AllParts_AsInItsFiles) {
    kernel.put_process(42, 150);
    const auto p = read_process(files, 42, ::getuid(), kAllParts);
    ASSERT_TRUE(p);
    EXPECT_EQ('S', p->state);
    EXPECT_EQ("./rank --fast", p->command);
    EXPECT_EQ(200u, p->cpu_ticks);
    EXPECT_EQ(50u, p->start_ticks);
    EXPECT_EQ(20, p->priority);
    EXPECT_EQ(3u, p->threads);
    EXPECT_EQ(6u, p->cpu);
    EXPECT_DOUBLE_EQ(100 * kMiB, p->virtual_now);
    EXPECT_DOUBLE_EQ(200 * kMiB, p->virtual_peak.value());
    EXPECT_DOUBLE_EQ(10 * kMiB, p->resident.value());
    EXPECT_DOUBLE_EQ(5 * kMiB, p->proportional.value());
}

TEST_F(KernelFiguresTest, ReadProcess_PartsThatAreNotWanted_AreNotRead) {
    kernel.put_process(42, 150);
    const auto p = read_process(files, 42, {}, {});
    ASSERT_TRUE(p);
    EXPECT_EQ("[rank]", p->command);
    EXPECT_FALSE(p->virtual_peak || p->resident || p->proportional);
}

// A process names itself as it likes.
TEST_F(KernelFiguresTest, ReadProcess_NameLooksLikeTheRestOfTheLine_FiguresAreTheKernels) {
    kernel.put_process(42, 150, "a) R 9 9 9 (b");
    kernel.put("proc/42/cmdline", "");
    const auto p = read_process(files, 42, {}, kAllParts);
    ASSERT_TRUE(p);
    EXPECT_EQ('S', p->state);
    EXPECT_EQ(200u, p->cpu_ticks);
    EXPECT_EQ("[a) R 9 9 9 (b]", p->command) << "without arguments, as a process that has ended and is still there";
}

TEST_F(KernelFiguresTest, ReadProcess_OfAnotherUserOrNotThere_Nothing) {
    kernel.put_process(42, 150);
    EXPECT_FALSE(read_process(files, 42, ::getuid() + 1, kAllParts));
    EXPECT_FALSE(read_process(files, 43, {}, kAllParts));
    EXPECT_FALSE(read_process(files, 0, {}, kAllParts));
    EXPECT_FALSE(read_process(files, -1, {}, kAllParts));
}

TEST_F(KernelFiguresTest, ReadProcess_StatIsNotUnderstood_Nothing) {
    kernel.put_process(42, 150);
    for (const char* text :
         {"", "42", "42 (rank", "42 rank) S", ")(", "42 (rank)", "42 (rank) S 1 2 3",
          "42 (rank) S 1 1 1 0 -1 4194304 9 0 0 0 x 50 0 0 20 -5 3 0 50 104857600 2560 1 1 1 0 0 0 0 0 0 0 0 0 0 17 6",
          "42 (rank) S 1 1 1 0 -1 4194304 9 0 0 0 99999999999999999999999 50 0 0 20 -5 3 0 50 1 1 1 1 1 0 0 0 0 0 0 0 "
          "0 "
          "0 0 17 6"}) {
        kernel.put("proc/42/stat", text);
        EXPECT_FALSE(read_process(files, 42, {}, kAllParts)) << text;
    }
}

TEST_F(KernelFiguresTest, ReadProcess_CommandWithoutEnd_IsCut) {
    kernel.put_process(42, 150);
    kernel.put("proc/42/cmdline", std::string(1 << 20, 'x'));
    const auto p = read_process(files, 42, {}, kAllParts);
    ASSERT_TRUE(p);
    EXPECT_EQ(4096u, p->command.size());
}

TEST_F(KernelFiguresTest, ReadProcess_SizesAreMissing_TheRestIsThere) {
    kernel.put_process(42, 150);
    kernel.put("proc/42/status", "VmPeakX: 1 kB\nVmRSS\nVmRSS: many kB");
    kernel.put("proc/42/smaps_rollup", "");
    const auto p = read_process(files, 42, {}, kAllParts);
    ASSERT_TRUE(p);
    EXPECT_FALSE(p->virtual_peak || p->resident || p->proportional);
    EXPECT_EQ(3u, p->threads);
}

TEST_F(KernelFiguresTest, ReadNode_AsInItsFiles) {
    const NodeFigures n = read_node(files);
    const double expected[NodeFigures::kCount] = {0.25,        1.5,         2.75,        8192 * kMiB,
                                                  1024 * kMiB, 10 * kMiB,   2048 * kMiB, 1 * kMiB,
                                                  4096 * kMiB, 3072 * kMiB, 512 * kMiB};
    for (size_t i = 0; i < NodeFigures::kCount; ++i) {
        ASSERT_TRUE(n.figures[i]) << i;
        EXPECT_DOUBLE_EQ(expected[i], *n.figures[i]) << i;
    }
    EXPECT_DOUBLE_EQ(1000.5, read_uptime(files).value());
}

TEST_F(KernelFiguresTest, ReadNode_FilesAreNotUnderstood_FiguresAreNotKnown) {
    kernel.put("proc/loadavg", "0.5 high");
    kernel.put("proc/meminfo", "MemTotal 5\nMemFree:\nBuffers: -1 kB\n:::\n\n");
    kernel.put("proc/uptime", "");
    const NodeFigures n = read_node(files);
    EXPECT_DOUBLE_EQ(0.5, n.figures[0].value());
    for (size_t i = 1; i < NodeFigures::kCount; ++i) EXPECT_FALSE(n.figures[i]) << i;
    EXPECT_FALSE(read_uptime(files));
}

TEST_F(KernelFiguresTest, ReadUptime_NumbersAsTheKernelWritesThem_AndNoOthers) {
    const std::pair<const char*, double> good[] = {
        {"0.00 1.00\n", 0}, {"12.05 1.00", 12.05}, {"7 1", 7}, {"18446744073709551615.99", 18446744073709551615.99}};
    for (const auto& [text, seconds] : good) {
        kernel.put("proc/uptime", text);
        EXPECT_DOUBLE_EQ(seconds, read_uptime(files).value_or(-1)) << text;
    }
    for (const char* text :
         {".5", "1.", "-1.5", "1.-5", "1.0.5", "1e5", "1,5", "nan", "1.0123456789", "18446744073709551616.0"}) {
        kernel.put("proc/uptime", text);
        EXPECT_FALSE(read_uptime(files)) << text;
    }
}

TEST_F(KernelFiguresTest, ReadDisks_Unnamed_WholeDisksOfTheMachine) {
    const auto disks = read_disks(files, {});
    ASSERT_EQ(2u, disks.size());
    EXPECT_EQ("sda", disks[0].name);
    for (size_t i = 0; i < DiskFigures::kCount; ++i) EXPECT_EQ(11 + i, disks[0].figures[i]) << i;
    EXPECT_EQ("nvme0n1", disks[1].name);
    EXPECT_EQ(UINT64_MAX, disks[1].figures[0]);
}

TEST_F(KernelFiguresTest, ReadDisks_Named_PartitionsToo) {
    const auto disks = read_disks(files, {"sda1", "loop0", "none"});
    ASSERT_EQ(2u, disks.size());
    EXPECT_EQ("sda1", disks[0].name);
    EXPECT_EQ("loop0", disks[1].name);
}

TEST_F(KernelFiguresTest, ReadNets_AllOrNamed) {
    EXPECT_EQ(2u, read_nets(files, {}).size());
    const auto nets = read_nets(files, {"eth0"});
    ASSERT_EQ(1u, nets.size());
    EXPECT_EQ("eth0", nets[0].name);
    const uint64_t expected[NetFigures::kCount] = {123456789012, 33, 3, 2222, 22, 1};
    for (size_t i = 0; i < NetFigures::kCount; ++i) EXPECT_EQ(expected[i], nets[0].figures[i]) << i;
}

TEST_F(KernelFiguresTest, ReadDevices_LinesAreShort_AreLeftOut) {
    kernel.put("proc/diskstats", "8\n8 0\n8 0 sda\n8 0 sdb 1 2 3 4 5 6 7 8 9 10\n8 0 sdc 1 2 3 4 5 6 7 8 9 10 x\n");
    EXPECT_TRUE(read_disks(files, {}).empty());
    kernel.put("proc/net/dev", ":\n: 1 2 3\neth0:\neth1: 1 2 3 4 5 6 7 8 9 10\neth2 1 2 3 4 5 6 7 8 9 10 11\n");
    EXPECT_TRUE(read_nets(files, {}).empty());
    kernel.put("proc/net/dev", "eth3: 1 2 3 4 5 6 7 8 9 10 11");
    EXPECT_EQ(1u, read_nets(files, {}).size()) << "no more than it needs";
}

TEST_F(KernelFiguresTest, ReadDevices_ThereIsNoEnd_HasOne) {
    std::string disks, nets;
    for (int i = 0; i < 3000; ++i) {
        disks += "8 0 sd" + std::to_string(i) + " 1 2 3 4 5 6 7 8 9 10 11\n";
        nets += "e" + std::to_string(i) + ": 1 2 3 4 5 6 7 8 9 10 11\n";
    }
    kernel.put("proc/diskstats", disks);
    kernel.put("proc/net/dev", nets);
    EXPECT_EQ(1024u, read_disks(files, {}).size());
    EXPECT_EQ(1024u, read_nets(files, {}).size());
    kernel.put("proc/diskstats", std::string(1 << 20, ' ') + disks);
    EXPECT_TRUE(read_disks(files, {}).empty()) << "too far behind";
}

TEST_F(KernelFiguresTest, ReadDevices_NoFiles_None) {
    const KernelFiles none{"/nowhere", "/nowhere"};
    EXPECT_TRUE(read_disks(none, {}).empty());
    EXPECT_TRUE(read_nets(none, {}).empty());
    EXPECT_FALSE(read_node(none).figures[0]);
    EXPECT_FALSE(read_process(none, ::getpid(), {}, kAllParts));
}

TEST(KernelFigures, OfThisMachine) {
    const KernelFiles files;
    const auto p = read_process(files, ::getpid(), {}, kAllParts);
    ASSERT_TRUE(p);
    EXPECT_EQ('R', p->state);
    EXPECT_GE(p->threads, 1u);
    EXPECT_GT(p->resident.value_or(0), 0);
    EXPECT_GE(p->virtual_peak.value_or(0), p->resident.value_or(0));
    EXPECT_TRUE(p->command.starts_with(program_invocation_name)) << p->command;
    EXPECT_GT(read_uptime(files).value_or(0), 0);
    const NodeFigures node = read_node(files);
    for (size_t i = 0; i < NodeFigures::kCount; ++i) EXPECT_TRUE(node.figures[i]) << i;
    EXPECT_GT(node.figures[NodeFigures::kLoads].value_or(0), 0);
    EXPECT_GE(node.figures[NodeFigures::kLoads], node.figures[NodeFigures::kLoads + 1]) << "not all of it is free";
}

// The numbers of each line of a file, by the name in it. Read apart from the code under test.
using Lines = std::map<std::string, std::vector<uint64_t>>;
Lines lines_of(const char* path, size_t before_name) {
    Lines out;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string name, word;
        for (size_t i = 0; i <= before_name; ++i) words >> name;
        if (!name.empty() && name.back() == ':') name.pop_back();
        std::vector<uint64_t>& numbers = out[name];
        for (uint64_t n = 0; words >> n;) numbers.push_back(n);
        if (numbers.size() < 11) out.erase(name);  // a heading
    }
    return out;
}

TEST(KernelFigures, OfThisMachinesDisks) {
    const KernelFiles files;
    const Lines before = lines_of("/proc/diskstats", 2);
    std::vector<std::string> names;
    for (const auto& [name, numbers] : before) names.push_back(name);
    if (names.empty()) GTEST_SKIP() << "the kernel shows no disks here";
    const std::vector<DiskFigures> disks = read_disks(files, names);
    const Lines after = lines_of("/proc/diskstats", 2);
    EXPECT_EQ(names.size(), disks.size());
    constexpr size_t kUnderWay = 8;  // goes down too
    for (const DiskFigures& disk : disks) {
        ASSERT_EQ(1u, before.count(disk.name)) << disk.name;
        if (after.count(disk.name) == 0) continue;
        for (size_t i = 0; i < DiskFigures::kCount; ++i) {
            if (i == kUnderWay) continue;
            EXPECT_LE(before.at(disk.name)[i], disk.figures[i]) << disk.name << ' ' << i;
            EXPECT_GE(after.at(disk.name)[i], disk.figures[i]) << disk.name << ' ' << i;
        }
    }
    for (const DiskFigures& disk : read_disks(files, {})) {
        EXPECT_TRUE(std::filesystem::exists("/sys/block/" + disk.name)) << disk.name << " is a part of another";
        EXPECT_FALSE(disk.name.starts_with("loop") || disk.name.starts_with("ram")) << disk.name;
    }
}

TEST(KernelFigures, OfThisMachinesInterfaces) {
    const KernelFiles files;
    const Lines before = lines_of("/proc/net/dev", 0);
    const std::vector<NetFigures> nets = read_nets(files, {});
    const Lines after = lines_of("/proc/net/dev", 0);
    ASSERT_EQ(1u, before.count("lo"));
    EXPECT_EQ(before.size(), nets.size());
    constexpr size_t kColumns[NetFigures::kCount] = {0, 1, 2, 8, 9, 10};
    for (const NetFigures& net : nets) {
        if (before.count(net.name) == 0 || after.count(net.name) == 0) continue;
        for (size_t i = 0; i < NetFigures::kCount; ++i) {
            EXPECT_LE(before.at(net.name)[kColumns[i]], net.figures[i]) << net.name << ' ' << i;
            EXPECT_GE(after.at(net.name)[kColumns[i]], net.figures[i]) << net.name << ' ' << i;
        }
    }
    const std::vector<NetFigures> lo = read_nets(files, {"lo"});
    ASSERT_EQ(1u, lo.size());
    EXPECT_EQ("lo", lo[0].name);
}

}  // namespace
}  // namespace pmix::server::kernel_figures_test
