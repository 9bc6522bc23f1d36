// SPDX-License-Identifier: BSD-3-Clause
// Modules of every release, each against an unreadable page: the right entries are taken, and no byte more is read.
#include "server/host/host_module.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

namespace pmix::server::host_module_test {
namespace {

using Slot = void (*)();
constexpr size_t kSlot = sizeof(Slot);

// Entries 1, 2, 3, ... that end where the readable memory ends.
class AtTheEdge {
  public:
    explicit AtTheEdge(size_t slots) {
        size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
        size_ = 2 * page;
        base_ = static_cast<unsigned char*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        EXPECT_NE(base_, MAP_FAILED);
        EXPECT_EQ(mprotect(base_ + page, page, PROT_NONE), 0);
        module_ = base_ + page - slots * kSlot;
        for (size_t i = 0; i < slots; ++i) {
            size_t value = i + 1;
            std::memcpy(module_ + i * kSlot, &value, kSlot);
        }
    }
    ~AtTheEdge() { munmap(base_, size_); }
    AtTheEdge(const AtTheEdge&) = delete;
    AtTheEdge& operator=(const AtTheEdge&) = delete;

    const pmix_server_module_t* get() const { return reinterpret_cast<const pmix_server_module_t*>(module_); }

  private:
    unsigned char* base_ = nullptr;
    unsigned char* module_ = nullptr;
    size_t size_ = 0;
};

std::vector<size_t> entries(const pmix_server_module_t& module) {
    std::vector<size_t> all(sizeof module / kSlot);
    std::memcpy(all.data(), &module, sizeof module);
    return all;
}

std::vector<size_t> first28(std::vector<size_t> tail) {
    std::vector<size_t> all;
    for (size_t i = 1; i <= 28; ++i) all.push_back(i);
    all.insert(all.end(), tail.begin(), tail.end());
    return all;
}

// rows: U18
TEST(HostModule, WithoutASizeReadsWhatAllReleasesShare) {
    AtTheEdge module(28);
    EXPECT_EQ(entries(read_module(module.get(), 0)), first28({0, 0, 0, 0}));
    EXPECT_EQ(entries(read_module(module.get(), 224)), first28({0, 0, 0, 0}));
}

// rows: U18
TEST(HostModule, OfRelease50) {
    AtTheEdge module(29);
    EXPECT_EQ(entries(read_module(module.get(), 232)), first28({0, 0, 29, 0}));
}

// rows: U18
TEST(HostModule, OfRelease60) {
    AtTheEdge module(30);
    EXPECT_EQ(entries(read_module(module.get(), 240)), first28({0, 0, 29, 30}));
}

// rows: U18
TEST(HostModule, OfRelease61) {
    AtTheEdge module(32);
    EXPECT_EQ(entries(read_module(module.get(), 256)), first28({29, 30, 31, 32}));
}

// rows: U18
TEST(HostModule, OfASizeThatNoReleaseHad) {
    AtTheEdge module(28);
    for (size_t size : {size_t{1}, size_t{223}, size_t{225}, size_t{248}, size_t{257}, size_t{1} << 40, SIZE_MAX})
        EXPECT_EQ(entries(read_module(module.get(), size)), first28({0, 0, 0, 0})) << size;
}

// rows: U18
TEST(HostModule, None) {
    EXPECT_EQ(entries(read_module(nullptr, 0)), std::vector<size_t>(32, 0));
    EXPECT_EQ(entries(read_module(nullptr, 256)), std::vector<size_t>(32, 0));
}

}  // namespace
}  // namespace pmix::server::host_module_test
