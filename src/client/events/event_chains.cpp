// SPDX-License-Identifier: BSD-3-Clause
// Events: how a chain of handlers runs, and goes on where no memory was there for a step. See events.h.
#include <algorithm>
#include <cassert>
#include <new>

#include "client/events/event_runs.h"
#include "client/session/session.h"
#include "common/base/mutex.h"

namespace pmix::client {

using common::InfoList;

namespace {

// The name in the results for the status of a handler without a name.
constexpr std::string_view kNoHandlerName = "UNKNOWN";

void must(pmix_status_t status) {
    if (status == PMIX_ERR_NOMEM) throw std::bad_alloc();
}

}  // namespace

void Events::start(std::shared_ptr<const Event> event, std::vector<size_t> chain, bool replay) {
    assert(session_.loop().on_loop_thread());
    if (shut_) return;
    if (!recovers_) session_.loop().set_recovery(this, [this] { return recover(); });
    recovers_ = true;
    auto run = std::make_unique<Run>();
    run->event = std::move(event);
    run->chain = std::move(chain);
    run->replay = replay;
    run->by_name = std::any_of(run->chain.begin(), run->chain.end(), [&](size_t reference) {
        const HandlerSpec* spec = order_.find(reference);
        return spec != nullptr && !spec->codes.empty();
    });
    const uint64_t id = next_run_++;
    Run& begun = *runs_.emplace(id, std::move(run)).first->second;
    // From the loop's own stack: the event may have been raised by a handler or inside a caller's step.
    begun.posted = true;
    try {
        session_.loop().post([this, id] {
            if (const auto it = runs_.find(id); it != runs_.end()) {
                assert(it->second->posted && !it->second->away && it->second->next == 0);
                it->second->posted = false;
            }
            step(id);
        });
    } catch (const std::bad_alloc&) {
        begun.posted = false;
        session_.loop().step_lost();
    }
}

// The steps that no memory was there for, each from where it stopped.
bool Events::recover() {
    assert(session_.loop().on_loop_thread());
    take_finished();
    while (!shut_) {
        const auto first = std::min_element(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
            const bool waits = a.second->posted || a.second->away, other = b.second->posted || b.second->away;
            return waits != other ? other : a.first < b.first;
        });
        if (first == runs_.end() || first->second->posted || first->second->away) return true;
        step(first->first);
    }
    return true;
}

// Handlers that are done when they return are followed by the next one at once, so that chains of such handlers never
// overlap and every handler is called for the events in the order in which they were received. What throws bad_alloc is
// done again, by recover(): nothing has changed by then.
void Events::step(uint64_t id) {
    assert(session_.loop().on_loop_thread());
    while (!shut_) {
        const auto it = runs_.find(id);
        if (it == runs_.end() || it->second->away) return;
        Run& run = *it->second;
        if (run.done != nullptr) {
            take_results(run);
            continue;  // what it has given back to may have brought the run on
        }
        auto found = handlers_.end();
        while (run.next < run.chain.size() && (found = handlers_.find(run.chain[run.next])) == handlers_.end())
            ++run.next;
        if (found == handlers_.end()) return end(id, run);  // or those that are left were deregistered meanwhile
        assert(!run.posted && run.next < run.chain.size());
        const size_t reference = found->first;
        const Handler h = found->second;
        run.name = h.name;
        run.success_ends = h.success_ends;
        // The handlers' prototype is not const; they share one copy of the event.
        auto* infos = const_cast<pmix_info_t*>(run.event->infos.c_array());
        size_t ninfos = run.event->infos.size();
        // Programs walk the list without a look at its length first: OpenPMIx's libraries never give NULL.
        if (infos == nullptr) infos = &run.no_info;
        if (h.has_object) {
            run.with_object.reset();
            must(run.with_object.append_all(run.event->infos.c_array(), ninfos));
            must(run.with_object.append_number(PMIX_EVENT_RETURN_OBJECT, h.object, PMIX_POINTER));
            infos = run.with_object.c_array();
            ninfos = run.with_object.size();
        }
        auto ticket = std::make_unique<Ticket>(home_, id);
        ++run.next;
        run.away = true;
        if (h.oneshot) deregister_quietly(reference);
        // One handler may be inside another where callers run the loop themselves.
        const uint64_t outer = std::exchange(calling_, id);
        std::unique_ptr<Ticket> outers = std::move(done_);
        h.function(reference, run.event->traits.code, &run.event->source, infos, ninfos, run.results.c_array(),
                   run.results.size(), &Events::on_done, ticket.release());
        assert(calling_ == id);
        calling_ = outer;
        std::unique_ptr<Ticket> done = std::exchange(done_, std::move(outers));
        assert(done == nullptr || done->run == id);
        if (done == nullptr) return;  // it will say so later
        run.done = std::move(done);
        run.away = false;
    }
}

void Events::end(uint64_t id, Run& run) {
    assert(run.next == run.chain.size() && run.done == nullptr && !run.away);
    const std::shared_ptr<const Event> event = run.event;
    run.away = true;
    try {
        if (!run.replay && event->traits.code != PMIX_GROUP_INVITED) tell_groups(*event, run.results, false);
    } catch (const std::bad_alloc&) {
        run.away = false;
        throw;
    }
    const bool by_name = run.by_name;
    runs_.erase(id);
    // The handlers, which may read the old descriptions, are done by now.
    if (by_name && event->traits.code == PMIX_FABRIC_UPDATE_PENDING && observer_ != nullptr)
        observer_->fabric_update_pending();
}

void Events::Ticket::give_back() noexcept {
    if (const auto now = std::exchange(release, nullptr)) now(PMIX_SUCCESS, release_data);
}

void Events::on_done(pmix_status_t status, pmix_info_t* results, size_t nresults, pmix_op_cbfunc_t release,
                     void* release_data, void* cbdata) {
    if (cbdata == nullptr) return;
    std::unique_ptr<Ticket> ticket(static_cast<Ticket*>(cbdata));
    transport::CancelShield shield;
    ticket->status = status;
    ticket->release = release;
    ticket->release_data = release_data;
    // Without memory they are copied later. Those that need not be given back are the handler's again now: lost.
    if (results != nullptr && ticket->results.append_all(results, nresults) == PMIX_ERR_NOMEM && release != nullptr) {
        ticket->given = results;
        ticket->ngiven = nresults;
    }
    const std::shared_ptr<Home> home = ticket->home;
    common::MutexLock lock(home->mutex);
    Events* const events = home->events;
    if (events == nullptr) return;
    transport::EventLoop& loop = events->session_.loop();
    if (loop.on_loop_thread() && events->calling_ == ticket->run) {
        events->done_ = std::move(ticket);
        return;
    }
    std::unique_ptr<Ticket>* const behind = &ticket->next;
    *home->last = std::move(ticket);
    home->last = behind;
    try {
        loop.post([events] { events->take_finished(); });
    } catch (const std::bad_alloc&) {
        loop.step_lost();
    }
}

std::unique_ptr<Events::Ticket> Events::first_finished() {
    common::MutexLock lock(home_->mutex);
    return home_->take_first();
}

void Events::take_finished() {
    while (std::unique_ptr<Ticket> ticket = first_finished()) {
        const auto it = runs_.find(ticket->run);
        if (it == runs_.end()) continue;
        const uint64_t id = ticket->run;
        it->second->done = std::move(ticket);
        it->second->away = false;
        if (shut_) take_results(*it->second);
        step(id);
    }
}

void Events::take_results(Run& run) {
    Ticket& done = *run.done;
    if (!done.taken) {
        must(done.given != nullptr ? run.results.append_all(done.given, done.ngiven)
                                   : run.results.append_all(done.results.c_array(), done.results.size()));
        done.taken = true;
    }
    const std::string_view name = run.name.empty() ? kNoHandlerName : std::string_view(run.name);
    must(run.results.append_number(name, done.status, PMIX_STATUS));
    const pmix_status_t other_end = run.success_ends ? PMIX_SUCCESS : PMIX_EVENT_ACTION_COMPLETE;
    if (done.status == PMIX_EVENT_ACTION_COMPLETE || done.status == other_end) run.next = run.chain.size();
    const std::unique_ptr<Ticket> over = std::move(run.done);
}

}  // namespace pmix::client
