// SPDX-License-Identifier: BSD-3-Clause
#include "transport/libevent.h"

#include <utility>

#include "common/base/mutex.h"
#include "common/base/open_library.h"

extern "C" __attribute__((weak, visibility("hidden"))) const pmix::transport::Libevent wireup_linked_libevent;

namespace pmix::transport {

namespace {

bool find_all(void* library, Libevent& out) noexcept {
    using common::find_function;
    return find_function(library, "event_config_new", out.config_new) &&
           find_function(library, "event_config_set_flag", out.config_set_flag) &&
           find_function(library, "event_config_free", out.config_free) &&
           find_function(library, "event_base_new_with_config", out.base_new) &&
           find_function(library, "event_base_free", out.base_free) &&
           find_function(library, "event_base_get_features", out.base_features) &&
           find_function(library, "event_base_loop", out.base_loop) &&
           find_function(library, "event_base_loopbreak", out.base_break) &&
           find_function(library, "event_base_got_break", out.base_got_break) &&
           find_function(library, "event_assign", out.assign) && find_function(library, "event_add", out.add) &&
           find_function(library, "event_del", out.del) && find_function(library, "event_active", out.activate);
}

}  // namespace

// libevent's layouts, which are compiled in, are those of 2.1 as long as it has this name. A failure is not kept: there
// may have been no memory, or no descriptor, for it at that moment.
const Libevent* Libevent::open() noexcept {
    if (&wireup_linked_libevent != nullptr) return &wireup_linked_libevent;
    static common::Mutex mutex;
    static Libevent functions;
    static bool complete = false, reported = false;
    common::MutexLock lock(mutex);
    if (complete) return &functions;
    void* library = common::open_library("libevent_core-2.1.so.7", nullptr);
    // Where libevent has not been divided into packages, there may be the whole alone.
    const char* purpose = std::exchange(reported, true) ? nullptr : "there is no event loop without libevent";
    if (library == nullptr) library = common::open_library("libevent-2.1.so.7", purpose);
    complete = library != nullptr && find_all(library, functions);
    return complete ? &functions : nullptr;
}

}  // namespace pmix::transport
