// SPDX-License-Identifier: BSD-3-Clause
// A folder that looks like /proc and /sys, with processes, disks and interfaces as a test wants them.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "server/base/kernel_figures.h"
#include "support/temporary_folder.h"

namespace pmix::test {

class FakeKernel {
  public:
    FakeKernel() {
        ::chmod(folder_.name().c_str(), 0755);  // as /proc: for all users
        put("proc/uptime", "1000.50 2000.00\n");
        put("proc/loadavg", "0.25 1.50 2.75 1/467 12345\n");
        put("proc/meminfo",
            "MemTotal:        8388608 kB\nMemFree:         1048576 kB\nMemAvailable:    4194304 kB\n"
            "Buffers:           10240 kB\nCached:          2097152 kB\nSwapCached:         1024 kB\n"
            "SwapTotal:       4194304 kB\nSwapFree:        3145728 kB\nMapped:           524288 kB\n");
        put("proc/diskstats",
            "   8       0 sda 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27\n"
            "   8       1 sda1 1 2 3 4 5 6 7 8 9 10 11\n"
            "   7       0 loop0 1 1 1 1 1 1 1 1 1 1 1\n"
            " 259       0 nvme0n1 18446744073709551615 2 3 4 5 6 7 8 9 10 11\n");
        put("sys/class/block/sda1/partition", "1\n");
        put("proc/net/dev",
            "Inter-|   Receive                                                |  Transmit\n"
            " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls "
            "carrier compressed\n"
            "    lo:     100       2    0    0    0     0          0         0      100       2    0    0    0     0  "
            "     0          0\n"
            "  eth0:123456789012 33    3    4    5     6          7         8     2222      22    1    0    0     0  "
            "     0          0\n");
    }
    server::KernelFiles files() const { return {folder_.name() + "/proc", folder_.name() + "/sys"}; }
    void put(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = folder_.name() + "/" + path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file, std::ios::binary) << text;
    }
    // Its user is that of the test.
    void put_process(int pid, uint64_t user_ticks, const std::string& name = "rank") const {
        const std::string folder = "proc/" + std::to_string(pid) + "/";
        put(folder + "stat", std::to_string(pid) + " (" + name + ") S 1 1 1 0 -1 4194304 9 0 0 0 " +
                                 std::to_string(user_ticks) +
                                 " 50 0 0 20 -5 3 0 50 104857600 2560 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 "
                                 "6 0 0 0 0 0\n");
        put(folder + "status", "Name:\trank\nVmPeak:\t  204800 kB\nVmSize:\t  102400 kB\nVmRSS:\t   10240 kB\n");
        put(folder + "smaps_rollup", "5500-7fff ---p 00000000 00:00 0    [rollup]\nRss: 10240 kB\nPss:  5120 kB\n");
        put(folder + "cmdline", std::string("./rank\0--fast\0", 14));
    }
    void end_process(int pid) const { std::filesystem::remove_all(folder_.name() + "/proc/" + std::to_string(pid)); }

  private:
    TemporaryFolder folder_;
};

}  // namespace pmix::test
