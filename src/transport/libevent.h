// SPDX-License-Identifier: BSD-3-Clause
// The functions of libevent that the loop calls: of libevent_core, which is opened with the first event base, or, in
// programs that link the static library, of the libevent that they link. A client that needs no loop does not load it.
//
// Any thread. What can go wrong: no libevent on this machine (null).
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

namespace pmix::transport {

struct Libevent {
    decltype(&::event_config_new) config_new = nullptr;
    decltype(&::event_config_set_flag) config_set_flag = nullptr;
    decltype(&::event_config_free) config_free = nullptr;
    decltype(&::event_base_new_with_config) base_new = nullptr;
    decltype(&::event_base_free) base_free = nullptr;
    decltype(&::event_base_get_features) base_features = nullptr;
    decltype(&::event_base_loop) base_loop = nullptr;
    decltype(&::event_base_loopbreak) base_break = nullptr;
    decltype(&::event_base_got_break) base_got_break = nullptr;
    decltype(&::event_assign) assign = nullptr;
    decltype(&::event_add) add = nullptr;
    decltype(&::event_del) del = nullptr;
    decltype(&::event_active) activate = nullptr;

    static const Libevent* open() noexcept;
};

}  // namespace pmix::transport

// Of linked_libevent.cpp, which only the static library has.
extern "C" const pmix::transport::Libevent wireup_linked_libevent;
