// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace pmix::simulation {

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
