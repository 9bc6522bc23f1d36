// SPDX-License-Identifier: BSD-3-Clause
// The engine of all collective operations: what fence, connect, disconnect and the group calls do alike with a round,
// from its first caller to the answers.
//
// A round holds the replies of the callers, their clock, and what goes up to the host; the operation decides which
// round a call belongs to, when it is complete (start()), what is asked of the host (launch()) and what each caller is
// answered (answer()). Loop thread only. Every caller is answered exactly once: by the operation (finish()), by its
// timeout, by the end of a member or of its namespace, or by stop(). A step that was lost for lack of memory ends a
// round with an error: see recover().
//
// A further collective operation is a class like Fence with launch() and answer(), a member of Server::Parts that is in
// the list of observers there, and a row of the command table in dispatch.cpp.
#pragma once

#include <cassert>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/values/info_view.h"
#include "server/base/lifecycle.h"
#include "server/base/reply.h"
#include "server/base/report_rows.h"
#include "server/base/scheduler.h"
#include "server/host/host.h"
#include "server/host/required.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

class CollectiveEngine : public LifecycleObserver {
  public:
    using RoundId = uint64_t;

    CollectiveEngine(Scheduler& scheduler, Host& host, Registry& registry, const Segments& segments)
        : scheduler_(scheduler), host_(host), registry_(registry), segments_(segments) {}
    virtual ~CollectiveEngine() = default;
    CollectiveEngine(const CollectiveEngine&) = delete;
    CollectiveEngine& operator=(const CollectiveEngine&) = delete;

    // LifecycleObserver
    bool uses(const Nspace& nspace) const override;
    void report(ReportRows& rows) const override;
    void recover() override;
    void stop(pmix_status_t status) override;

    size_t open() const noexcept { return rounds_.size(); }

  protected:
    struct Round {
        virtual ~Round() = default;

        Signature signature;     // of the processes that must join
        common::InfoList infos;  // for the host
        Participants users;      // of all callers
        AccountPtr account;      // of the first caller's user
        std::vector<Reply> replies;
        Timer timer;
        int64_t began_ms = transport::monotonic_ms();
        int64_t ends_at_ms = 0;                  // monotonic clock; 0: nobody gave a timeout
        bool launched = false;                   // nobody can join any more
        bool handed_over = false;                // the upcall is made, or will be
        bool tried_again = false;                // to make it
        std::weak_ptr<const void> answer_due;    // expired: the host's answer was lost
        bool collect = false;                    // a caller has given PMIX_COLLECT_DATA
        Required required = Required::met_here;  // the worst of all callers
        pmix_status_t local_status = PMIX_SUCCESS;
    };
    using Rounds = std::map<RoundId, std::unique_ptr<Round>>;

    // All have joined, or some never will (local_status says so): end it with finish(), now or later.
    virtual void launch(RoundId id, Round& round) = 0;
    virtual void answer(Reply& reply, const Round& round, pmix_status_t status) = 0;
    // The round is closed; its callers are answered next.
    virtual void ended(RoundId id, Round& round, pmix_status_t status) = 0;
    virtual std::string name_of(const Round& round) const = 0;
    virtual std::vector<MemberId> joined(RoundId id, const Round& round) const = 0;
    // The time limit is over. Hosts match the rounds of a set by counting upcalls: one that fails here before all have
    // joined is one of them, and the upcall's local status ends it for the other nodes. Our own members do not wait for
    // the host's answer.
    virtual void expire(RoundId id);
    // Rounds that may be complete, but whose last step was lost, are looked at once more.
    virtual void judge_again() = 0;

    // PMIX_TIMEOUT, 0 where it is not given. Below 0: the value is no timeout.
    static int timeout_in(common::InfoView infos);
    // The caller takes part. The shortest of several timeouts counts, each measured from when it was given.
    void join(RoundId id, Round& round, const Peer& peer, int timeout, Required required, Reply&& reply);
    void start(RoundId id, Round& round);
    void finish(RoundId id, pmix_status_t status);

    // As Host::of(): what may be called for a round of which the server's own process is one of the participants.
    Host& host_of(const Round& round) noexcept;
    // To be held by what waits for the host's answer to a round.
    static std::shared_ptr<const void> due(Round& round);
    // Null: it has ended.
    Round* find(RoundId id) noexcept;
    Round& add(RoundId id, std::unique_ptr<Round> round) {
        assert(id != 0 && !rounds_.contains(id));
        return *rounds_.emplace(id, std::move(round)).first->second;
    }
    // A round to be added once its id is known, when nothing may fail any more.
    using Prepared = typename Rounds::node_type;
    static Prepared prepare() {
        Rounds made;
        made.emplace(RoundId{0}, std::make_unique<Round>());
        return made.extract(made.begin());
    }
    Round& add(RoundId id, Prepared prepared) noexcept {
        assert(id != 0 && !rounds_.contains(id));
        prepared.key() = id;
        return *rounds_.insert(std::move(prepared)).position->second;
    }

    Scheduler& scheduler_;
    Host& host_;
    Registry& registry_;
    const Segments& segments_;
    Rounds rounds_;
};

// The segments of all namespaces in a signature that the requester may map.
void add_segments(const Segments& segments, Registry& registry, const Signature& signature, Peer& peer,
                  common::SegmentList& list, std::vector<int>& descriptors);

}  // namespace pmix::server
