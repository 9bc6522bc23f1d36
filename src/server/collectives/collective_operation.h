// SPDX-License-Identifier: BSD-3-Clause
// What fence, connect and disconnect do alike: hold the replies of those who came, watch the clock, start the operation
// when everybody is here or somebody will never be, and answer all with one status.
//
// Who must come and whose turn it is decides Collective; this adds the Reply, the infos and the timer of each turn.
// Loop thread only. Every caller is answered exactly once: by the operation, by the timeout, by the loss of a member,
// by the end of its namespace, or by stop(). A step that was lost for lack of memory ends a round with an error: see
// recover().
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "common/protocol/messages.h"
#include "common/values/support.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/base/report_rows.h"
#include "server/base/scheduler.h"
#include "server/collectives/collective.h"
#include "server/host/host.h"
#include "server/host/required.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

class CollectiveOperation : public LifecycleObserver {
  public:
    using TurnId = Collective::TurnId;

    // name: in reports. function: whose attributes are understood here.
    CollectiveOperation(const char* name, common::Function function, Scheduler& scheduler, Host& host,
                        Registry& registry, const Segments& segments)
        : name_(name),
          scheduler_(scheduler),
          host_(host),
          registry_(registry),
          segments_(segments),
          function_(function),
          collective_(registry) {}
    virtual ~CollectiveOperation() = default;
    CollectiveOperation(const CollectiveOperation&) = delete;
    CollectiveOperation& operator=(const CollectiveOperation&) = delete;

    // local: what this caller adds to the local status of its round.
    void enter(Peer& peer, common::Result<Signature> procs, common::InfoList infos, Reply reply,
               pmix_status_t local = PMIX_SUCCESS);

    // LifecycleObserver
    void member_gone(Nspace& nspace, MemberId who) override;
    void members_changed() override;
    void clone_gone(const Peer& peer) override;
    void namespace_gone(Nspace& nspace) override;
    void namespace_new(std::string_view nspace) override { collective_.nspace_new(nspace); }
    bool uses(const Nspace& nspace) const override;
    void report(ReportRows& rows) const override;
    void recover() override;
    void stop(pmix_status_t status) override;

    size_t open() const noexcept { return turns_.size(); }

  protected:
    struct Turn {
        Signature signature;
        common::InfoList infos;  // of the first caller
        Participants users;      // of all callers
        AccountPtr account;      // of the first caller's user
        std::vector<Reply> replies;
        Timer timer;
        int64_t began_ms = transport::monotonic_ns() / 1'000'000;
        int64_t ends_at_ms = 0;                  // monotonic clock; 0: nobody gave a timeout
        bool launched = false;                   // in the host's hands
        bool handed_over = false;                // the upcall is made, or will be
        bool tried_again = false;                // to make it
        std::weak_ptr<const void> answer_due;    // expired: the host's answer was lost
        bool collect = false;                    // somebody said PMIX_COLLECT_DATA
        Required required = Required::met_here;  // the worst of all callers
        pmix_status_t local_status = PMIX_SUCCESS;
    };

    // Everybody is here, or somebody never will be (local_status says so): end it with finish(), now or later.
    virtual void launch(TurnId id, Turn& turn) = 0;
    virtual void answer(Reply& reply, const Turn& turn, pmix_status_t status) = 0;

    // Which bearers of their names the namespaces of a set are; 0: not known here. What the host answers late is not
    // about the next bearer.
    using Lives = std::vector<uint32_t>;
    Lives lives_of(const Signature& signature) const;
    bool live_on(const Signature& signature, const Lives& lives) const;

    // As Host::of(): what may be called for a round of which the server's own process is one of the participants.
    Host& host_of(const Turn& turn) noexcept;

    // To be held by what waits for the host's answer to a round.
    static std::shared_ptr<const void> due(Turn& turn) {
        auto held = std::make_shared<char>();
        turn.answer_due = held;
        return held;
    }

    void finish(TurnId id, pmix_status_t status);
    Turn* find(TurnId id) noexcept;

    const char* const name_;
    Scheduler& scheduler_;
    Host& host_;
    Registry& registry_;
    const Segments& segments_;
    const common::Function function_;

  private:
    void run(const std::vector<Collective::Event>& events);
    void start(TurnId id, Turn& turn);
    void expire(TurnId id);

    Collective collective_;
    std::map<TurnId, Turn> turns_;
};

// The segments of all namespaces in a signature that the asker may map.
void add_segments(const Segments& segments, Registry& registry, const Signature& signature, Peer& peer,
                  common::SegmentList& list, std::vector<int>& descriptors);

}  // namespace pmix::server
