// SPDX-License-Identifier: BSD-3-Clause
#include "server/admission/message_admission.h"

#include <cassert>
#include <new>
#include <vector>

#include "common/base/log.h"

namespace pmix::server {

bool MessageAdmission::admit(Sender& sender, size_t bytes) {
    Ticket ticket;
    ticket.sender = &sender;
    ticket.bytes = bytes;
    ticket.since_ms = clock_ms_;
    ticket.admitted = ticket.charge.set(sender.sender_account(), bytes);
    const bool admitted = ticket.admitted;
    assert(!numbers_.contains(&sender));  // a connection has one message under way
    const uint64_t number = next_++;
    const auto at = tickets_.emplace(number, std::move(ticket)).first;
    try {
        numbers_.emplace(&sender, number);
        if (admitted) return true;
        ++waiting_;
        if (bytes > sender.sender_account()->limit()) look_now();
        tick();
    } catch (...) {  // nothing of it stays
        if (numbers_.erase(&sender) != 0) --waiting_;
        tickets_.erase(at);
        throw;
    }
    return false;
}

void MessageAdmission::done(Sender& sender) noexcept {
    const auto at = numbers_.find(&sender);
    if (at == numbers_.end()) return;
    const auto ticket = tickets_.find(at->second);
    assert(ticket != tickets_.end() && ticket->second.sender == &sender);
    assert(ticket->second.admitted || waiting_ != 0);
    if (!ticket->second.admitted) --waiting_;
    tickets_.erase(ticket);
    numbers_.erase(at);
    if (waiting_ == 0) return;
    try {
        look_now();
    } catch (const std::bad_alloc&) {  // the next tick looks
    }
}

void MessageAdmission::look_now() {
    deferred_ = Timer(scheduler_, 0, [this] { look(); });
}

// Nobody waits most of the time, and then there are no ticks.
void MessageAdmission::tick() {
    if (ticking_) return;
    ticks_ = Timer(scheduler_, kTickMs, [this] {
        ticking_ = false;
        clock_ms_ += kTickMs;
        look();
    });
    ticking_ = true;
}

void MessageAdmission::look() {
    std::vector<Sender*> admitted, ended;
    std::map<const UserAccount*, bool> over_budget;
    for (auto& [number, t] : tickets_) {
        if (t.admitted) continue;
        const AccountPtr& account = t.sender->sender_account();
        // In order: a large message is not overtaken for ever by small ones of the same user.
        bool& full = over_budget[account.get()];
        if (!full && t.charge.set(account, t.bytes)) {
            t.admitted = true;
            t.seen = t.sender->received();
            t.since_ms = clock_ms_;
            --waiting_;
            admitted.push_back(t.sender);
            continue;
        }
        full = true;
        if (t.bytes > account->limit() || clock_ms_ - t.since_ms >= 2 * kStalledMs) ended.push_back(t.sender);
    }
    assert(numbers_.size() == tickets_.size());
    assert(waiting_ == static_cast<size_t>(std::ranges::count_if(
                           tickets_, [](const auto& ticket) { return !ticket.second.admitted; })));
    for (auto& [number, t] : tickets_) {
        if (!t.admitted) continue;
        const size_t now = t.sender->received();
        if (now != t.seen) {
            t.seen = now;
            t.since_ms = clock_ms_;
        }
        const auto account = over_budget.find(t.sender->sender_account().get());
        if (account != over_budget.end() && account->second && clock_ms_ - t.since_ms >= kStalledMs)
            ended.push_back(t.sender);
    }
    if (waiting_ != 0) tick();
    for (Sender* sender : admitted) sender->read_on();
    for (Sender* sender : ended) {
        if (numbers_.find(sender) == numbers_.end()) continue;  // ended by what the last one's end has led to
        WIREUP_LOG(server, warn, "a connection is ended: its message of %zu bytes has no room in its user's memory",
                   tickets_.at(numbers_.at(sender)).bytes);
        sender->end();
    }
}

}  // namespace pmix::server
