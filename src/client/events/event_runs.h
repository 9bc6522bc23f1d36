// SPDX-License-Identifier: BSD-3-Clause
// The parts of a chain of event handlers: events.cpp begins chains, event_chains.cpp runs them. For these two alone.
//
// Everything belongs to the loop, save Home, which any thread's completion of a handler looks into.
#pragma once

#include <pmix.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/events/events.h"
#include "common/base/mutex.h"

namespace pmix::client {

struct Events::Event {
    EventTraits traits;
    bool do_not_cache = false;
    pmix_proc_t source;
    common::InfoList infos;
};

struct Events::Handler {
    pmix_notification_fn_t function = nullptr;
    std::string name;
    void* object = nullptr;
    bool has_object = false;
    bool oneshot = false;
    bool success_ends = false;
    // Events are for it only after its registration has been answered.
    bool active = false;
};

// One event on its way through its chain.
struct Events::Run {
    std::shared_ptr<const Event> event;
    std::vector<size_t> chain;
    size_t next = 0;
    // The name of the handler that runs. The handler may be gone when it is done.
    std::string name;
    bool success_ends = false;
    bool replay = false;   // for one handler, of an event raised before its registration
    bool by_name = false;  // one of the chain has asked for this very code
    bool posted = false;   // its next step is among the loop's tasks
    bool away = false;     // it is a handler's, or the library's own part is under way
    common::InfoList results;
    // What a handler has handed back, until it is among the results.
    std::unique_ptr<Ticket> done;
    // What the running handler was given besides: freed when the handler has reported that it is done.
    common::InfoList with_object;
    pmix_info_t no_info{};  // where an event without infos points to
};

// A handler's way back, and what it hands back, once: it allocates nothing then, for a chain must not end by that.
struct Events::Ticket {
    Ticket(std::shared_ptr<Home> to, uint64_t of) : home(std::move(to)), run(of) {}
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket() { give_back(); }
    // Once, also where nobody takes the results any more.
    void give_back() noexcept;

    const std::shared_ptr<Home> home;
    const uint64_t run;
    pmix_status_t status = PMIX_SUCCESS;
    common::InfoList results;
    const pmix_info_t* given = nullptr;  // of results that there was no memory to copy, until give_back()
    size_t ngiven = 0;
    bool taken = false;  // they are among the run's
    pmix_op_cbfunc_t release = nullptr;
    void* release_data = nullptr;
    std::unique_ptr<Ticket> next;
};

// Where a handler that finishes finds us; survives us, because a handler may finish after the last finalize.
struct Events::Home {
    common::Mutex mutex;
    Events* events GUARDED_BY(mutex) = nullptr;
    // Of handlers that were done later, or on another thread: the oldest first.
    std::unique_ptr<Ticket> finished GUARDED_BY(mutex);
    std::unique_ptr<Ticket>* last GUARDED_BY(mutex) = &finished;

    std::unique_ptr<Ticket> take_first() REQUIRES(mutex) {
        std::unique_ptr<Ticket> first = std::move(finished);
        if (first != nullptr) finished = std::move(first->next);
        if (finished == nullptr) last = &finished;
        return first;
    }
};

}  // namespace pmix::client
