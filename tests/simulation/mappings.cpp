// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/mappings.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <map>

#include "simulation/descriptors.h"
#include "simulation/real.h"
#include "simulation/scheduler.h"

namespace pmix::simulation {

namespace {

struct Mapping {
    size_t length;
    uint64_t file, offset;
    const Process* owner;
};
std::map<uint64_t, Mapping> g_mappings;

void forget(uint64_t from, size_t length) {
    const uint64_t to = from + length;
    auto i = g_mappings.upper_bound(from);
    if (i != g_mappings.begin()) --i;
    while (i != g_mappings.end() && i->first < to) {
        const uint64_t begin = i->first, end = begin + i->second.length;
        const Mapping m = i->second;
        if (end <= from) {
            ++i;
            continue;
        }
        i = g_mappings.erase(i);
        if (begin < from) g_mappings[begin] = {from - begin, m.file, m.offset, m.owner};
        if (end > to) g_mappings[to] = {end - to, m.file, m.offset + (to - begin), m.owner};
    }
}

}  // namespace

std::pair<uint64_t, uint64_t> place_of(const void* address) {
    const auto a = reinterpret_cast<uint64_t>(address);
    auto i = g_mappings.upper_bound(a);
    if (i != g_mappings.begin() && (--i, a < i->first + i->second.length))
        return {i->second.file | 1ull << 63, i->second.offset + (a - i->first)};
    return {a, 0};
}

size_t mapped_by(const Process& process) {
    size_t sum = 0;
    for (const auto& [at, m] : g_mappings)
        if (m.owner == &process) sum += m.length;
    return sum;
}

}  // namespace pmix::simulation

using namespace pmix::simulation;

extern "C" {

void* mmap(void* hint, size_t length, int protection, int flags, int fd, off_t offset) {
    void* at = real().mmap(hint, length, protection, flags, fd, offset);
    if (t_self == nullptr || at == MAP_FAILED) return at;
    if ((flags & MAP_FIXED) != 0) forget(reinterpret_cast<uint64_t>(at), length);
    struct stat s;
    if ((flags & MAP_ANONYMOUS) == 0 && (flags & MAP_SHARED) != 0 && fstat(fd, &s) == 0)
        g_mappings[reinterpret_cast<uint64_t>(at)] = {length, s.st_ino ^ s.st_dev << 40, static_cast<uint64_t>(offset),
                                                      t_self->process};
    return at;
}

int munmap(void* at, size_t length) {
    if (t_self != nullptr) forget(reinterpret_cast<uint64_t>(at), length);
    return real().munmap(at, length);
}

}  // extern "C"
