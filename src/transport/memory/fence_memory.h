// SPDX-License-Identifier: BSD-3-Clause
// The memory in which the processes of a job on one node meet for a fence: one word that counts those that
// have joined a round, how the last two rounds ended, and for each process how many commits it has sent, and a mailbox
// for the next one (commit_mailboxes.h).
//
// The server creates it, sealed in size, and gives it to the job's processes of one user. All of them may write there,
// so nobody trusts it for anything but this job's own progress: a word that makes no sense sends a process to the
// server (Joined::refused), every wait has an end, and the server keeps its own notes of the round that it runs.
//
// A round is open (processes join), by request (each process asks the server, which enters those that have joined), or
// at the server (all have joined; the server ends it). An open round that the server has no part in is ended by the
// last one that joins. The upper half of the word, round and mode, is what waiting processes sleep on.
//
// Any thread, without locks. What can go wrong: no memory or no descriptor (PMIX_ERR_OUT_OF_RESOURCE), and a
// descriptor that is no such memory (PMIX_ERR_NOT_SUPPORTED).
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/status.h"
#include "transport/deadline.h"
#include "transport/descriptor.h"
#include "transport/memory/commit_mailboxes.h"

namespace pmix::transport {

class FenceMemory {
  public:
    static constexpr uint32_t kMaxProcesses = 0xffff;

    enum class Mode : uint8_t { open, by_request, at_server };
    struct State {
        uint32_t round = 0;
        Mode mode = Mode::by_request;
        bool collect = false;  // somebody asked for the data of all
        uint32_t joined = 0;
    };

    // ---- server ----

    // For so many processes; by request at first, in the round of that number.
    static common::Result<std::unique_ptr<FenceMemory>> create(uint32_t processes, uint32_t round = 0);
    // Of two rounds that are not far from each other: numbers begin anew some day.
    static bool is_before(uint32_t round, uint32_t other) noexcept;
    int descriptor() const noexcept { return descriptor_.get(); }
    // Does the server take part in every round, because the job has processes elsewhere?
    void set_server_takes_part(bool always) noexcept;
    // Nobody joins any more, until the round ends. state() still has how many have, and whether for data.
    void turn_to_requests() noexcept;
    // Of a round that was turned to requests: has the process joined it, or has it been about to? Either way it asks
    // for it as one that has joined.
    bool has_joined(uint32_t slot, uint32_t round) const noexcept;
    // Ends this round and begins the next one. ask: each process asks the server for the rest of its answer.
    void end_round(uint32_t round, pmix_status_t status, bool ask, Mode next) noexcept;
    // How many commits the process says it has sent.
    uint64_t commits(uint32_t slot) const noexcept;

    // ---- client ----

    static common::Result<std::unique_ptr<FenceMemory>> take_over(Descriptor descriptor, uint32_t processes);

    struct Joined {
        enum class Kind : uint8_t {
            waits,           // others are missing
            ended,           // it was the last one, and the round has ended with success
            last_to_server,  // it was the last one: the server is to be told
            turned,          // turned to requests while it joined: the server may have seen that, and is to be asked
            refused,         // did not join: by request
        };
        Kind kind = Kind::refused;
        uint32_t round = 0;
    };
    // server: the server has something to do in this round for this process. One thread of a process at a time.
    Joined join(uint32_t slot, bool server, bool collect, uint64_t commits) noexcept;

    struct End {
        enum class Kind : uint8_t { ended, by_request, late };
        Kind kind = Kind::late;
        pmix_status_t status = PMIX_SUCCESS;  // ended
        bool ask = false;                     // ended: the server has the rest of the answer
    };
    // After join(). late: the deadline has passed.
    End wait(uint32_t round, Deadline deadline) const noexcept;
    // A process that has joined this round ends its call without the server: the others are not to end it.
    void leave(uint32_t round) noexcept;

    // ---- both ----

    ~FenceMemory();
    FenceMemory(const FenceMemory&) = delete;
    FenceMemory& operator=(const FenceMemory&) = delete;

    State state() const noexcept;
    uint32_t processes() const noexcept { return processes_; }
    CommitMailboxes& mailboxes() noexcept { return mailboxes_; }

  private:
    struct Shared;
    FenceMemory(Shared* shared, uint32_t processes, Descriptor descriptor) noexcept;
    static size_t mailboxes_at(uint32_t processes) noexcept;
    static size_t size_for(uint32_t processes) noexcept;
    void set_end(uint32_t round, pmix_status_t status, bool ask) noexcept;
    void wake_all() const noexcept;

    Shared* const shared_;
    const uint32_t processes_;
    const Descriptor descriptor_;  // the server's
    CommitMailboxes mailboxes_;
};

}  // namespace pmix::transport
