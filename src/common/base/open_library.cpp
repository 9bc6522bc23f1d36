// SPDX-License-Identifier: BSD-3-Clause
#include "common/base/open_library.h"

#include <dlfcn.h>
#include <pthread.h>

#include "common/base/log.h"

namespace pmix::common {

void* open_library(const char* name, const char* purpose) noexcept {
    int before = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
    ::pthread_setcancelstate(before, nullptr);
    if (library == nullptr && purpose != nullptr) WIREUP_LOG(api, warn, "%s is not on this machine: %s", name, purpose);
    return library;
}

void* find_symbol(void* library, const char* name) noexcept {
    return ::dlsym(library, name);
}

}  // namespace pmix::common
