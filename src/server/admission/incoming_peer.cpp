// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/incoming_peer.h"

#include <new>

#include "server/admission/listener.h"

namespace pmix::server {

void IncomingPeer::close() {
    auto self = shared_from_this();
    if (drop_connection()) ended();
}

void IncomingPeer::ended() {
    auto self = shared_from_this();
    listener_.message_admission().done(*this);
    const Stage before = stage_;
    stage_ = Stage::over;
    if (before == Stage::over) return;
    if (before == Stage::admitted) {
        events_.peer_lost(*this);
    } else {
        listener_.forget(*this);
    }
}

bool IncomingPeer::admit_large_message(size_t bytes) noexcept {
    try {
        return listener_.message_admission().admit(*this, bytes);
    } catch (const std::bad_alloc&) {
        return true;  // what it takes is then not counted, and its connection ends if there is no memory for it
    }
}

void IncomingPeer::large_message_complete() noexcept {
    listener_.message_admission().done(*this);
}

}  // namespace pmix::server
