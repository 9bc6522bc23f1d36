// SPDX-License-Identifier: BSD-3-Clause
// Get: answers a client's request for data that its own stores do not have, or keeps it pending until the data is
// there; direct modex out (the host is asked) and in (the host asks).
//
// Loop thread only. Two tables: `pending_`, requests for processes of this node, waiting for a commit, by process and
// by the key that they wait for; `pulls_`, requests for other nodes, one upcall at a time for each process and distinct
// set of attributes (the key and the identity of the requester are among them), kMostUpcalls for one process, and none
// if the data comes before it is made. A commit, and data of other nodes, looks only at requests that its keys can
// answer. Both are swept when the process, its namespace, the requester or the server goes, so every request ends. Both
// tables are ordered by their keys themselves: no choice of keys makes a search in them slow, as equal hashes would.
//
// Wherever the process runs, the answer is the same. A request without a limit of time waits until the process has
// committed something: a key that is then missing is not found, and a new request asks again. With a limit, or in
// strict mode (common/values/strict.h), it waits until the key exists, the time is over or the process has left; for
// a process of another node the upcall is repeated, in growing steps. Limits are each requester's own: a host's
// PMIX_ERR_TIMEOUT ends only requests that have none.
//
// A process of another node that has only ended may have left data at its server, which the host fetches. Where the
// host has reported the loss of the node, there is none: requests for its processes end with PMIX_ERR_NOT_FOUND, as on
// one node, after the half second in which the host may have another answer (server/base/far_ends.h).
//
// There is no way to take an upcall back. What a host asks here on behalf of a server that no longer waits is answered
// after kModexHoldMs at the latest, with a section for this case (ModexState in modex_blob.h).
#pragma once

#include <algorithm>
#include <cassert>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/base/callback.h"
#include "common/protocol/messages.h"
#include "server/base/far_ends.h"
#include "server/base/lifecycle.h"
#include "server/base/member.h"
#include "server/base/reply.h"
#include "server/base/report_rows.h"
#include "server/base/scheduler.h"
#include "server/data/early_modex.h"
#include "server/host/host.h"
#include "server/namespaces/deletions.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/registry.h"
#include "server/namespaces/segments.h"

namespace pmix::server {

// Longer than the limits of hosts that have one of their own (Slurm: 300 s), which stay in force so.
inline constexpr int64_t kModexHoldMs = 600'000;
// Of one user for one process; where no answer comes, one more after each kMoreMs.
inline constexpr size_t kMostUpcalls = 8;
inline constexpr int64_t kMoreMs = 100;

class Get final : public LifecycleObserver {
  public:
    // The answer to a host's direct modex: the bytes are valid while it runs.
    using Respond = EarlyModex::Respond;

    Get(const LifecycleObservers& observers, Scheduler& scheduler, Host& host, Registry& registry,
        const Segments& segments, const Deletions& deletions)
        : observers_(observers),
          scheduler_(scheduler),
          host_(host),
          registry_(registry),
          segments_(segments),
          deletions_(deletions),
          far_ends_(scheduler, [this](const common::ProcId& proc) { lost_with_its_node(proc); }),
          early_(scheduler, [this](Respond respond) { tell_host(std::move(respond), PMIX_ERR_NOT_FOUND, {}); }) {}
    Get(const Get&) = delete;
    Get& operator=(const Get&) = delete;

    void request(Peer& peer, common::GetRequest& request, Reply reply);

    // PMIx_server_dmodex_request: what a local process has posted for other nodes, once it has; of PMIX_RANK_WILDCARD,
    // what the host registered for the job. Of a job that is not registered yet, then (early_modex.h).
    void modex_request(const common::ProcId& proc, Respond respond);

    // Called after a commit of the rank.
    void committed(Nspace& nspace, common::Rank rank, std::span<const common::CommitEntry> entries);
    // A commit of the rank could not be taken over: nobody waits for what it may have held.
    void refused(Nspace& nspace, common::Rank rank, pmix_status_t status);
    // Takes over data of other nodes, as ingest_blob() does. The next function answers the requests for it.
    pmix_status_t ingest(common::Bytes blob, std::string_view remote = {});
    // Data of other nodes was taken over. The requests for what is now here are answered, and the host's answer is not
    // waited for: Open MPI's daemons hold a direct modex until the next fence ends, and forget one that comes later.
    void received();

    // LifecycleObserver
    void namespace_described(Nspace& nspace) override;
    void member_gone(Nspace& nspace, MemberId member) override;
    void node_lost(const common::ProcId& proc) override;
    void namespace_gone(Nspace& nspace) override;
    void peer_gone(const Peer& peer) override;
    bool uses(const Nspace& nspace) const override;
    void report(ReportRows& rows) const override;
    void recover() override;
    void stop(pmix_status_t status) override;

    // How long a host's direct modex waits for the first commit. For tests.
    void set_modex_hold(int64_t ms) noexcept { modex_hold_ms_ = ms; }
    // And for the registration of the job.
    void set_early_modex(int64_t ms) noexcept { early_.set_limit(ms); }

    // How many pending requests were looked at for what was committed, for what other nodes have sent and for the end
    // of a peer, and of PMIX_RANK_UNDEF also for what the host has registered. For tests.
    uint64_t examined() const noexcept { return examined_; }

    size_t waiting() const noexcept;
    // Does anybody wait for a commit of a process of this namespace?
    bool awaits_commit_of(uint32_t nspace) const noexcept;

  private:
    // Where a request of a peer is kept, by the peer's serial number: the end of a peer looks at its own requests only.
    struct Question;
    struct Awaited;
    struct PullKey;
    struct Place {
        const Awaited* pending = nullptr;  // the keys of the entry that it is in: one of them
        const PullKey* pull = nullptr;
        std::list<Question>::iterator question;
    };
    using Places = std::multimap<uint64_t, Place>;
    class Placed {
      public:
        Placed() noexcept = default;
        Placed(Places& in, uint64_t peer) : in_(&in), at_(in.emplace(peer, Place())) {}
        Placed(Placed&& o) noexcept : in_(std::exchange(o.in_, nullptr)), at_(o.at_) {}
        Placed& operator=(Placed&& o) noexcept {
            clear();
            in_ = std::exchange(o.in_, nullptr);
            at_ = o.at_;
            return *this;
        }
        ~Placed() { clear(); }
        void clear() noexcept {
            if (in_ != nullptr) std::exchange(in_, nullptr)->erase(at_);
        }
        void set(const Place& place) noexcept {
            if (in_ != nullptr) at_->second = place;
        }

      private:
        Places* in_ = nullptr;
        Places::iterator at_{};
    };
    // The requester is a peer (reply), or the host (respond).
    struct Question {
        uint64_t id = 0;
        int64_t began_ms = transport::monotonic_ms();
        std::string key;  // empty: everything
        Reply reply;
        Respond respond;
        Timer timer;
        Placed place;
        int timeout_s = 0;
        bool strict = false;   // waits for the key itself, as one with a limit does
        bool refresh = false;  // only the owner's newest value will do
        bool covered = false;  // the upcall that is on its way was made after it asked
        bool patient() const noexcept { return timeout_s > 0 || strict; }
    };
    // What one upcall can stand for: the process, the key, the requesters' user, and all that the host is told of the
    // request, encoded, because an info takes 552 bytes otherwise. In this order, so that data that was received finds
    // the requests that it answers: none that must have the owner's newest value.
    struct PullKey {
        common::ProcId proc;
        bool refresh = false;
        std::string key;
        uid_t uid = 0;
        std::vector<uint8_t> asks;
    };
    struct PullView {
        std::string_view nspace;
        common::Rank rank = 0;
        bool refresh = false;
        std::string_view key = {};
        uid_t uid = 0;
        common::Bytes asks = {};
    };
    struct ByPull {
        using is_transparent = void;
        static PullView view(const PullKey& k) noexcept {
            return {k.proc.nspace, k.proc.rank, k.refresh, k.key, k.uid, k.asks};
        }
        static PullView view(const PullView& v) noexcept { return v; }
        template <class A, class B>
        bool operator()(const A& one, const B& other) const noexcept {
            const PullView a = view(one), b = view(other);
            const auto x = std::tie(a.nspace, a.rank, a.refresh, a.key, a.uid);
            const auto y = std::tie(b.nspace, b.rank, b.refresh, b.key, b.uid);
            if (x != y) return x < y;
            return std::lexicographical_compare(a.asks.begin(), a.asks.end(), b.asks.begin(), b.asks.end());
        }
    };
    // The upcalls for one process and user that are open, and those that wait until one has been answered: each answer
    // brings all that the process has put, and so may answer all of them.
    struct Lane;
    using LaneKey = std::pair<common::ProcId, uid_t>;
    using Lanes = std::map<LaneKey, Lane>;
    struct Lane {
        size_t open = 0;
        std::list<const PullKey*> waiting;
        Timer more;
    };
    // A Pull's place there.
    class InLane {
      public:
        InLane() noexcept = default;
        InLane(Lanes& lanes, Lanes::iterator lane) noexcept : lanes_(&lanes), lane_(lane) {}
        InLane(Lanes& lanes, Lanes::iterator lane, std::list<const PullKey*>::iterator at) noexcept
            : lanes_(&lanes), lane_(lane), at_(at), waits_(true) {}
        InLane(InLane&& o) noexcept
            : lanes_(std::exchange(o.lanes_, nullptr)), lane_(o.lane_), at_(o.at_), waits_(o.waits_) {}
        InLane& operator=(InLane&& o) noexcept {
            if (this == &o) return *this;
            leave();
            lanes_ = std::exchange(o.lanes_, nullptr);
            lane_ = o.lane_;
            at_ = o.at_;
            waits_ = o.waits_;
            return *this;
        }
        ~InLane() { leave(); }
        bool is_in() const noexcept { return lanes_ != nullptr; }
        bool waits() const noexcept { return lanes_ != nullptr && waits_; }
        // One that waits is open from here on.
        void begin() noexcept {
            assert(waits());
            ++lane_->second.open;
            lane_->second.waiting.erase(at_);
            waits_ = false;
        }
        void leave() noexcept;

      private:
        Lanes* lanes_ = nullptr;
        Lanes::iterator lane_{};
        std::list<const PullKey*>::iterator at_{};
        bool waits_ = false;
    };
    struct Pull {
        std::list<Question> questions;
        InLane lane;
        std::weak_ptr<const void> answer_due;  // expired, with a flight: the host's answer was lost
        uint64_t flight = 0;                   // the number of the present upcall; answers to earlier ones are ignored
        int64_t pause_ms = 0;
        Timer again;
    };
    // What a request of a process of this node (of PMIX_RANK_UNDEF: of any rank) waits for: a commit that has the key,
    // or any commit where the key is empty.
    struct Awaited {
        MemberId member = 0;
        std::string key;
    };
    struct AwaitedView {
        MemberId member = 0;
        std::string_view key = {};
    };
    struct ByAwaited {
        using is_transparent = void;
        template <class A, class B>
        bool operator()(const A& a, const B& b) const noexcept {
            return a.member != b.member ? a.member < b.member : std::string_view(a.key) < std::string_view(b.key);
        }
    };
    using PendingGets = std::map<Awaited, std::list<Question>, ByAwaited>;
    using Pulls = std::map<PullKey, Pull, ByPull>;

    void ask_local(Nspace& nspace, common::Rank rank, Question&& question);
    void ask_anyone(Nspace& nspace, Question&& question, bool immediate);
    void answer_anyone(Nspace& nspace);
    void end_anyone(Nspace& nspace);
    // Requests for keys of any rank that ingest() has noted.
    void answer_noted();
    // Notes the requests for processes of other nodes that these chunks may answer.
    void note_pulls(const Nspace& nspace, common::Bytes chunks);
    // Those that were noted, of one user or of all, and of all whose keys are here now.
    void answer_noted_pulls(std::optional<uid_t> of_user);
    void answer_pulls(Nspace& nspace);
    // Moves the requests of one upcall to the end of `to` if their key is here now. The entry behind it.
    Pulls::iterator take_answerable(Nspace& nspace, Pulls::iterator it, std::list<Question>& to);
    // An upcall for this key of the process that any value answers, an old one too.
    static bool is_for(const PullKey& at, const common::ProcId& proc, std::string_view key) noexcept {
        return at.proc == proc && !at.refresh && at.key == key;
    }
    void ask_host(const common::ProcId& proc, common::InfoList&& infos, Question&& question);
    void lost_with_its_node(const common::ProcId& proc);
    // Makes the upcall, or leaves it for later. pulls_ has the key.
    void pull(const PullKey& at);
    InLane enter_lane(const PullKey& at);
    void let_more_in_later(Lanes::iterator lane);
    void let_in(const LaneKey& which);
    void start_first(Lane& lane);
    void start(const PullKey& at, Pull& p);
    void upcall(const PullKey& at, uint64_t flight, std::shared_ptr<const void> due);
    void pulled(const PullKey& at, uint64_t flight, HostAnswer& answer);
    void add_pending(Awaited&& what, Question&& question, int64_t limit_ms);
    void expire_pending(const Awaited& what, uint64_t id);
    bool is_awaited(MemberId member) const noexcept;
    // Notes whose request it is, before it is kept.
    void note_peer(Question& question);
    // Moves requests out of where they are kept, to the end of `to`.
    static void take(std::list<Question>& from, std::list<Question>& to) noexcept;
    PendingGets::iterator take(PendingGets::iterator it, std::list<Question>& to);
    void expire_pull(const PullKey& at, uint64_t id);
    static void hold(Question& question, size_t encoded_bytes) noexcept;
    void answer_found(Question& question, Nspace& nspace);
    void answer(Question& question, pmix_status_t status);
    void learn(const common::ProcId& proc, common::Bytes blob);
    // What a host's direct modex is answered with; several may share the bytes.
    struct Answer {
        pmix_status_t status;
        std::shared_ptr<const std::vector<uint8_t>> blob;
    };
    // The last one that was written is kept while the rank commits nothing more: a host asks often.
    struct Written {
        MemberId member{};
        uint64_t commits = 0;
        bool over = false;
        Answer answer{PMIX_ERR_NOT_FOUND, nullptr};
    };
    Answer answer_of(Nspace& nspace, common::Rank rank);
    Answer write_answer(Nspace& nspace, common::Rank rank) const;
    Written written_;
    void tell_host(Respond respond, pmix_status_t status, std::vector<uint8_t> blob);
    void tell_host(Respond respond, Answer answer);

    const LifecycleObservers& observers_;
    Scheduler& scheduler_;
    Host& host_;
    Registry& registry_;
    const Segments& segments_;
    const Deletions& deletions_;
    Places places_;  // outlives the requests
    PendingGets pending_;
    // Awaited keys of any rank that ingest() has met since they were last looked for.
    std::set<Awaited, ByAwaited> noted_;
    // Likewise, keys of one process.
    std::set<std::pair<common::ProcId, std::string>> noted_pulls_;
    Lanes lanes_;  // outlive the upcalls
    Pulls pulls_;
    FarEnds far_ends_;
    EarlyModex early_;
    uint64_t next_ = 1;
    uint64_t examined_ = 0;
    int64_t modex_hold_ms_ = kModexHoldMs;
};

}  // namespace pmix::server
