// SPDX-License-Identifier: BSD-3-Clause
// For programs that link the static library: the libevent that they link, too.
#include "transport/libevent.h"

extern "C" constinit const pmix::transport::Libevent wireup_linked_libevent = {
    &::event_config_new,
    &::event_config_set_flag,
    &::event_config_free,
    &::event_base_new_with_config,
    &::event_base_free,
    &::event_base_get_features,
    &::event_base_loop,
    &::event_base_loopbreak,
    &::event_base_got_break,
    &::event_assign,
    &::event_add,
    &::event_del,
    &::event_active,
};
