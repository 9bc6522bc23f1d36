// SPDX-License-Identifier: BSD-3-Clause
// Who must come, who came, and which turn it is: the part that fence, connect and disconnect have in common.
//
// A pure state machine: no sockets, clocks, replies or host. The owner enters callers, asks what to do, and ends turns;
// it keeps its own things (replies, blobs, timers) under the TurnId. One instance for each kind of operation. Loop
// thread only.
//
// The same set of processes may run the same collective again before the last one is over everywhere (the _nb forms),
// so each signature has a queue of turns. A caller belongs to the first turn that it is not part of yet. A turn that
// was ended without some members (a timeout, a death) stays in the queue until they have come too or have left, so that
// a late caller gets that turn's status instead of being mixed into the next one. A turn that everybody was in is
// forgotten when it ends, and a signature without turns leaves nothing behind.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <unordered_map>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/protocol/proc_set.h"
#include "server/base/budget.h"
#include "server/base/member.h"

namespace pmix::server {

class Collective {
  public:
    using TurnId = uint64_t;

    enum class State : uint8_t {
        waiting,   // others are missing, or the turn is out of our hands already
        complete,  // everybody is here: run it. Said once for each turn
        broken,    // a member is gone: end it or run it with that status. Said once for each turn, instead of complete
        over,      // the turn had ended before this caller came: status says how
        stranger,  // the caller is not in the set
    };
    struct Entered {
        State state = State::stranger;
        TurnId turn = 0;
        bool first = false;  // opened the turn
        pmix_status_t status = PMIX_SUCCESS;
    };
    struct Event {
        TurnId turn;
        State state;  // complete or broken
    };

    explicit Collective(const MemberView& view) noexcept : view_(view) {}

    // every_clone: the caller's rank is here only when all processes connected under it have come.
    // charge: for a round that this caller opens, until it is forgotten; of one that has ended, memory_of() is kept.
    Entered enter(const Signature& signature, MemberId who, bool every_clone = false, Charge charge = {});
    // What a round takes in memory, about; an open one has, beside it, the array that its host is given.
    static size_t memory_of(const Signature& signature) noexcept;
    static size_t open_memory_of(const Signature& signature) noexcept;

    // A process has left. Turns that it will not come to any more are broken.
    std::vector<Event> member_gone(MemberId who);
    // One of several processes of a rank has ended that had joined this round, which waits for all of them.
    void process_gone(TurnId turn, MemberId who) noexcept;
    // The number of expected members, or of a rank's processes, may have changed (a registration, an end).
    std::vector<Event> recheck();
    // As recheck(), and what was said before of rounds that are open is said again: it may have been lost.
    std::vector<Event> say_again();

    // The turn is over, for those who came and for those who come late. Unknown turns are ignored: an answer that
    // comes twice, or after a timeout, finds nothing.
    void end(TurnId turn, pmix_status_t status);

    // The namespace ends: so do all turns that name it, with this status. Those that were open, for the owner to
    // answer. Members of other namespaces may be late for them; recheck() when the view does not know the namespace any
    // more. number: of the namespace's members.
    std::vector<TurnId> nspace_ended(std::string_view nspace, uint32_t number, pmix_status_t status);
    // A namespace of that name is new: nobody is late for what its namesake left.
    void nspace_new(std::string_view nspace);

    // Whose processes have come, all of them. Unknown: nobody.
    std::vector<MemberId> arrived(TurnId turn) const;
    bool is_open(TurnId turn) const noexcept;
    const Signature* signature_of(TurnId turn) const noexcept;
    size_t signatures() const noexcept { return queues_.size(); }
    size_t turns() const noexcept { return turns_.size(); }

  private:
    struct Came {
        MemberId who;
        uint32_t processes;
        bool whole;
    };
    struct Turn {
        TurnId id;
        std::vector<Came> came;
        bool reported = false;  // complete or broken was said
        bool ended = false;
        pmix_status_t status = PMIX_SUCCESS;
        Charge charge{};
    };
    using Queue = std::deque<Turn>;
    using Queues = std::map<Signature, Queue>;

    static Came* find(Turn& turn, MemberId who) noexcept;
    size_t whole(const Turn& turn) const noexcept;
    bool missing_someone_gone(const Signature& signature, const Turn& turn) const;
    State judge(const Signature& signature, Turn& turn);
    void count_processes(Turn& turn) const;
    void retire(Queues::iterator queue);

    const MemberView& view_;
    Queues queues_;
    std::unordered_map<TurnId, Queues::iterator> turns_;  // open and ended ones, as long as they are in a queue
    TurnId next_ = 1;
};

}  // namespace pmix::server
