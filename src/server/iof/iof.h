// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output and input: the readers' registrations, the output that the host delivers, the input that processes
// push.
//
// Owns the registrations with their queues, and the cache of output without a reader. Loop thread only. A reader is
// sent as much as its window allows (kIofWindow), and returns credit for what it has processed. The rest waits in its
// queue (iof_queue). Beyond the queue's limit the delivery is not answered, so that a host which waits for its answers
// reads no more from that process: a slow reader blocks the processes that it reads, and nothing else. A reader that
// asked for PMIX_IOF_DROP_OLDEST or _NEWEST blocks nothing, and is sent the number of bytes that it lost.
//
// A spawned job's output goes to its own readers, and beside them to the tools that read the processes which have
// spawned it (spawners.h) and do not read it themselves; not to processes, whose own output it might become. A spawn
// that said what is to be forwarded (PMIX_FWD_STDOUT, _STDERR or _STDDIAG, true or false) has settled it. What only
// those tools have been sent stays in the cache for a reader of the job's own.
//
// What can go wrong: a host without the entries (PMIX_ERR_NOT_SUPPORTED), a host that refuses, a reader whose
// connection ends: its queue is dropped and the deliveries that waited for it are answered.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/callback.h"
#include "common/protocol/messages.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/base/scheduler.h"
#include "server/host/host.h"
#include "server/iof/input_flow.h"
#include "server/iof/iof_cache.h"
#include "server/iof/iof_queue.h"
#include "server/namespaces/registry.h"

namespace pmix::server {

// PMIx_server_IOF_deliver.
struct IofDelivery {
    common::ProcId source;
    pmix_iof_channel_t channel = 0;
    common::Blob data;
    common::InfoList infos;
    common::Callback<void(pmix_status_t)> done;  // once, on the loop, later
};

class Iof final : public LifecycleObserver {
  public:
    // cache: the limit of each process and channel without a reader.
    Iof(Scheduler& scheduler, Host& host, const Registry& registry, IofLimit cache)
        : scheduler_(scheduler), host_(host), registry_(registry), default_cache_(cache), input_(host) {}
    Iof(const Iof&) = delete;
    Iof& operator=(const Iof&) = delete;

    void pull(Peer& peer, common::IofPullRequest& request, Reply reply);
    void deregister(Peer& peer, common::IofDeregisterRequest& request, Reply reply);
    void push(Peer& peer, common::IofPushRequest& request, Reply reply);
    void credit(Peer& peer, common::IofCredit& request, Reply reply);

    void deliver(IofDelivery delivery);
    // Drops output of the namespace that has no reader. Not when a local job ends: a tool may ask for it afterwards.
    void forget_output(std::string_view nspace) { cache_.forget_nspace(nspace); }
    // The spawn of this namespace has said where its output goes.
    void spawned_with_forwarding(std::string_view nspace);

    // LifecycleObserver
    void peer_gone(const Peer& peer) override;
    void namespace_gone(Nspace& nspace) override;
    void stop(pmix_status_t) override;

    // Whether the processes that push input may go on.
    InputFlow& input() noexcept { return input_; }

    size_t registrations() const noexcept { return pulls_.size(); }
    const IofCache& cache() const noexcept { return cache_; }

  private:
    using Key = std::pair<uint64_t, uint64_t>;  // the peer's serial number, its reference
    struct Pull {
        std::weak_ptr<Peer> peer;
        common::ProcList procs;  // none: every process (the server's own process only)
        pmix_iof_channel_t channels = 0;
        IofQueue queue;
        size_t in_flight = 0;
        Reply leaving;  // open: no more is taken, and this is answered when the queue is empty
        bool asked_host = false;
        bool inherits = false;  // a tool's, of processes that it names
        bool copies = false;    // PMIX_IOF_COPY
        Charge charge{};
        bool wants(const common::ProcId& source, pmix_iof_channel_t channel) const noexcept;
    };
    using Pulls = std::map<Key, Pull>;

    void deliver_to_heirs(const common::ProcId& source, pmix_iof_channel_t channel,
                          const std::vector<IofBufferPtr>& buffers, const IofReceiptPtr& receipt);
    bool has_enough(uint64_t serial) const noexcept;
    void settle(Key key, Pull pull, Reply reply, pmix_status_t status);
    void pump(Pulls::iterator it);
    void send(Pull& pull, uint64_t reference, IofQueue::Part part);
    static pmix_status_t append_requester(common::InfoList& infos, const Peer& peer);
    void tell_host_end(const Pull& pull);

    Scheduler& scheduler_;
    Host& host_;
    const Registry& registry_;
    IofLimit default_cache_;
    IofCache cache_;
    Pulls pulls_;
    std::deque<std::string> settled_;  // namespaces spawned with forwarding, the newest
    InputFlow input_;
};

}  // namespace pmix::server
