// SPDX-License-Identifier: BSD-3-Clause
// What happens to peers, members, namespaces and the server itself, for the modules that keep something about them.
//
// A module overrides the events that concern it and is named once in the list, in the constructor of Server::Parts;
// nobody else enumerates modules. The list is an order: a module that answers requests stands before the ones that it
// uses to do so (a collective before the events that it announces), and what takes something away from everybody (a
// segment) stands last. Every observer is told, also when one before it had no memory: bad_alloc is thrown at the end.
// Loop thread only; a handler may cause further events, which are delivered before it returns.
#pragma once

#include <cassert>
#include <new>
#include <set>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/protocol/messages.h"
#include "server/base/member.h"

namespace pmix::server {

class Peer;
struct JobInfo;
struct Nspace;
struct ReportRows;

class LifecycleObserver {
  public:
    // A connection has ended.
    virtual void peer_gone(const Peer&) {}
    // One of several connections of a rank has ended; the rank has not.
    virtual void clone_gone(const Peer&) {}
    // A process of this node has ended, or will not take part in anything any more (Registration::client_gone).
    virtual void member_gone(Nspace&, MemberId) {}
    // A process of another node has ended, as the host has reported (server/events/process_ends.h). Its own server, if
    // that still runs, tells of it too.
    virtual void ended_elsewhere(const common::ProcId&) {}
    // The host has reported the loss of the node of this process: it has ended, and its own server answers nobody.
    virtual void node_lost(const common::ProcId&) {}
    // A process connects under a rank of which an earlier one has ended. What that one had taken part in is not this
    // one's. (Where the host has registered the rank anew, client_registered comes first.)
    virtual void member_begins(const Nspace&, MemberId) {}
    // Ranks or maps of a namespace were registered, or have gone, perhaps with the namespace: the number of processes
    // that a set with this name means here may be another.
    virtual void members_changed(std::string_view /*nspace*/) {}

    // The host registers a name that was not known here before.
    virtual void namespace_new(std::string_view) {}
    // The host has registered data of a namespace.
    virtual void namespace_described(Nspace&) {}
    // A namespace of another node was created, for data that was received. See server/remote_namespaces.h.
    virtual void remote_namespace_new() {}
    // Much of its segment is superseded. See server/segment_compaction.h.
    virtual void compaction_due(const Nspace&) {}
    // It ends. The registry still has it; its connections have ended.
    virtual void namespace_gone(Nspace&) {}

    // Another server has described a job that is not known here: to be registered.
    virtual void job_received(JobInfo&) {}
    // The host has registered this rank.
    virtual void client_registered(const common::ProcId&) {}
    // The host gives this name (PMIX_RANK_WILDCARD: each rank of the namespace) to others, or takes it back: its
    // connections are to end.
    virtual void name_withdrawn(const common::ProcId&) {}
    // A process of this node, or the host, has notified an event.
    virtual void event_notified(pmix_status_t, const common::ProcId&, const common::InfoList&, bool /*from_host*/) {}

    // Something is in progress, or kept, that is about this namespace.
    virtual bool uses(const Nspace&) const { return false; }
    // Adds what waits here.
    virtual void report(ReportRows&) const {}
    // A step was lost for lack of memory, here or elsewhere: what cannot go on without it is done again, or ended with
    // an error. May throw bad_alloc: it is called once more then.
    virtual void recover() {}
    // Answers all that waits, with this status. Nothing is asked of the module afterwards.
    virtual void stop(pmix_status_t) {}

  protected:
    ~LifecycleObserver() = default;
};

class LifecycleObservers {
  public:
    void set(std::vector<LifecycleObserver*> observers) {
        assert(std::set(observers.begin(), observers.end()).size() == observers.size());  // each is named once
        observers_ = std::move(observers);
    }

    template <class... Params, class... Args>
    void notify(void (LifecycleObserver::*event)(Params...), Args&&... args) const {
        bool failed = false;
        for (LifecycleObserver* observer : observers_) {
            try {
                (observer->*event)(args...);
            } catch (const std::bad_alloc&) {
                failed = true;
            }
        }
        if (failed) throw std::bad_alloc();
    }
    bool uses(const Nspace& nspace) const {
        for (const LifecycleObserver* observer : observers_)
            if (observer->uses(nspace)) return true;
        return false;
    }
    void report(ReportRows& rows) const {
        for (const LifecycleObserver* observer : observers_) observer->report(rows);
    }

  private:
    std::vector<LifecycleObserver*> observers_;
};

}  // namespace pmix::server
