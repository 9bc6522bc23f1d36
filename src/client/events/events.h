// SPDX-License-Identifier: BSD-3-Clause
// Event handlers of this process and the chains that run through them.
//
// All state belongs to the loop. The public calls may come from any thread: they post themselves there (blocking forms
// wait, save on the loop, where they run inline). A chain calls one handler after the other; each must say that it is
// done, at once or later, from any thread, and then the next one is called from the loop, never on the stack of the
// one that finished. event_order decides on order and match. Events that the process notifies itself are
// sent back by the server like any other, so all its events have one order.
//
// Events that stay in the process (its own PROC_LOCAL ones, a declared model, the loss of the server) are kept in a
// small ring for handlers that come later; those of the server are kept by the server and come again marked for the
// handler that registered.
//
// What can go wrong: PMIX_ERR_EVENT_REGISTRATION for a registration that cannot be, PMIX_ERR_BAD_PARAM for an unknown
// reference. A handler that never says it is done holds up its chain and nothing else. Without memory a step of a chain
// waits for some: the library's own part in an event of a group comes all the same.
#pragma once

#include <pmix.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "client/events/event_observer.h"
#include "client/events/event_order.h"
#include "common/protocol/messages.h"
#include "common/values/value.h"
#include "transport/event_loop.h"

namespace pmix::client {

class Session;

class Events {
  public:
    explicit Events(Session& session);
    // Before the first event. Null: nobody.
    void set_observer(EventObserver* observer) noexcept { observer_ = observer; }
    ~Events();
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;

    // PMIx_Register_event_handler: without a callback the reference (>= 0) or a status.
    pmix_status_t register_handler(const pmix_status_t codes[], size_t ncodes, const pmix_info_t infos[], size_t ninfos,
                                   pmix_notification_fn_t handler, pmix_hdlr_reg_cbfunc_t callback, void* cbdata);
    pmix_status_t deregister_handler(size_t reference, pmix_op_cbfunc_t callback, void* cbdata);
    // PMIx_Notify_event.
    pmix_status_t notify(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                         const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback, void* cbdata);

    // An event that never leaves this process. Any thread.
    void raise(pmix_status_t code, common::ProcId source, common::InfoList infos);
    void raise_lost_connection(const common::ProcId& server);
    // A message of the server could not be read, or one to it could not be written.
    void raise_failed_comm();

    // From the server. Loop.
    void on_notify(common::EventNotify&& event);
    // No handler is called any more. Loop.
    void shut() noexcept;

  private:
    struct Event;
    struct Handler;
    struct Run;
    struct Home;
    struct Ticket;
    struct Registration;

    // All of these on the loop.
    common::Result<size_t> add(Registration& registration);
    void activate(size_t reference);
    pmix_status_t settle(size_t reference, pmix_status_t status);
    bool drop(size_t reference);
    void refused(size_t reference, pmix_status_t status);
    void deregister_at_server(size_t reference);
    void register_on_loop(Registration&& registration, pmix_hdlr_reg_cbfunc_t callback, void* cbdata);
    void deregister_quietly(size_t reference) noexcept;
    pmix_status_t deregister_on_loop(size_t reference);
    void deliver(const std::shared_ptr<const Event>& event);
    void deliver_to(size_t reference, const std::shared_ptr<const Event>& event);
    void start(std::shared_ptr<const Event> event, std::vector<size_t> chain, bool replay = false);
    bool recover();
    void step(uint64_t id);
    void end(uint64_t id, Run& run);
    std::unique_ptr<Ticket> first_finished();
    void take_finished();
    void take_results(Run& run);
    void tell_groups(const Event& event, const common::InfoList& results, bool replayed);
    void keep(std::shared_ptr<const Event> event);
    std::shared_ptr<const Event> make_event(pmix_status_t code, common::ProcId source, uint8_t nearness,
                                            common::InfoList infos) const;

    static void on_done(pmix_status_t status, pmix_info_t* results, size_t nresults, pmix_op_cbfunc_t release,
                        void* release_data, void* ticket);

    Session& session_;
    EventObserver* observer_ = nullptr;
    std::shared_ptr<Home> home_;
    EventOrder order_;
    std::unordered_map<size_t, Handler> handlers_;
    std::unordered_map<uint64_t, std::unique_ptr<Run>> runs_;
    uint64_t next_run_ = 1;
    // The run whose handler is on the stack, 0: none, and what that handler handed back before it returned.
    uint64_t calling_ = 0;
    std::unique_ptr<Ticket> done_;
    std::deque<std::shared_ptr<const Event>> ring_;
    bool recovers_ = false;  // the loop has recover()
    bool shut_ = false;
};

}  // namespace pmix::client
