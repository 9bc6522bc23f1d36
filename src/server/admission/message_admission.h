// SPDX-License-Identifier: BSD-3-Clause
// Large messages on their way in: whose memory they take, and which connections wait until there is room.
//
// A message that is larger than a connection's usual buffer is admitted as a whole before more of it is read, so that
// whatever has been admitted can be completed: messages that are sent together and would not fit together are read one
// after the other. Loop thread only. Borrowed: the connections, which call done() before they are destroyed.
//
// Every wait ends. A sender that was admitted and sends nothing for kStalledMs while another of its user's waits is
// ended; one that has waited twice as long is ended too, as is one whose message is larger than its user's whole
// account.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "server/base/budget.h"
#include "server/base/scheduler.h"

namespace pmix::server {

class MessageAdmission {
  public:
    static constexpr int64_t kStalledMs = 30'000;
    static constexpr int64_t kTickMs = 1000;

    // A connection, as far as this is concerned.
    class Sender {
      public:
        virtual const AccountPtr& sender_account() const noexcept = 0;
        virtual size_t received() const noexcept = 0;  // bytes of the unfinished message
        virtual void read_on() = 0;                    // its message is admitted
        virtual void end() = 0;                        // says done()

      protected:
        ~Sender() = default;
    };

    explicit MessageAdmission(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}
    MessageAdmission(const MessageAdmission&) = delete;
    MessageAdmission& operator=(const MessageAdmission&) = delete;

    // False: not yet. read_on() or end() comes later, never from here.
    bool admit(Sender& sender, size_t bytes);
    // The message is complete, or its sender goes. Nothing happens where there was none.
    void done(Sender& sender) noexcept;
    size_t waiting() const noexcept { return waiting_; }

  private:
    struct Ticket {
        Sender* sender = nullptr;
        size_t bytes = 0;
        Charge charge;
        bool admitted = false;
        size_t seen = 0;       // of what had been received when it was looked at last
        int64_t since_ms = 0;  // it waits, or nothing has come
    };
    void look();
    void look_now();
    void tick();

    Scheduler& scheduler_;
    std::map<uint64_t, Ticket> tickets_;  // in the order in which they were asked for
    std::map<Sender*, uint64_t> numbers_;
    size_t waiting_ = 0;
    uint64_t next_ = 1;
    int64_t clock_ms_ = 0;  // time that was waited here, in ticks
    bool ticking_ = false;
    Timer ticks_;
    Timer deferred_;
};

}  // namespace pmix::server
