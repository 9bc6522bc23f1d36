// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "simulation/memory.h"

namespace pmix::simulation {

namespace {

void note_code_of(void* handle) {
    const link_map* map = nullptr;
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0) std::abort();
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* of) {
            if (info->dlpi_addr != static_cast<const link_map*>(of)->l_addr) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const auto& part = info->dlpi_phdr[i];
                const uint64_t begin = info->dlpi_addr + part.p_vaddr;
                if (part.p_type == PT_LOAD && (part.p_flags & PF_X) != 0) add_code(begin, begin + part.p_memsz);
            }
            return 1;
        },
        const_cast<link_map*>(map));
}

}  // namespace

Library load_copy(const std::string& file) {
    // The loader takes files of one number for one library.
    const int from = open(file.c_str(), O_RDONLY | O_CLOEXEC), copy = memfd_create("libpmix", MFD_CLOEXEC);
    struct stat s {};
    fstat(from, &s);
    for (off_t at = 0; at < s.st_size;)
        if (sendfile(copy, from, &at, static_cast<size_t>(s.st_size - at)) <= 0) break;
    close(from);
    void* handle = dlopen(("/proc/self/fd/" + std::to_string(copy)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        std::fprintf(stderr, "cannot load %s: %s\n", file.c_str(), dlerror());
        std::exit(2);
    }
    note_code_of(handle);
    Library all{};
#define LOOK_UP(name)                                                              \
    all.name = reinterpret_cast<decltype(all.name)>(dlsym(handle, "PMIx_" #name)); \
    if (all.name == nullptr) {                                                     \
        std::fprintf(stderr, "%s has no PMIx_%s\n", file.c_str(), #name);          \
        std::exit(2);                                                              \
    }
    SIMULATED_FUNCTIONS(LOOK_UP)
#undef LOOK_UP
    return all;
}

}  // namespace pmix::simulation
