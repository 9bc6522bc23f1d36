// SPDX-License-Identifier: BSD-3-Clause
// Memory that the processes of one user make this server hold beyond the data of their jobs: one account for each user.
//
// A Charge is bytes taken from an account; destroying it gives them back. Whatever is kept for a process has one: a
// request that waits for its answer (Reply), a large message on its way in (MessageAdmission), what was sent and not
// read (transport/send_queue.h), a registration, a round that some have left. Over the limit nothing more is taken, and
// only that user notices.
//
// Accounts are shared by their charges, so a charge may outlive the Budget. Charges may be given back by any thread;
// they are taken on the loop. One atomic addition for each, no lock. What can go wrong: take() fails, which the caller
// answers with PMIX_ERR_OUT_OF_RESOURCE.
#pragma once

#include <atomic>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "transport/queue_account.h"

namespace pmix::server {

class UserAccount final : public transport::QueueAccount {
  public:
    explicit UserAccount(size_t limit) noexcept : limit_(limit) {}
    UserAccount(const UserAccount&) = delete;
    UserAccount& operator=(const UserAccount&) = delete;

    [[nodiscard]] bool take(size_t bytes) noexcept override {
        const size_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
        if (bytes <= limit_ && before <= limit_ - bytes) return true;
        used_.fetch_sub(bytes, std::memory_order_relaxed);  // a size beyond all limits may have wrapped
        return false;
    }
    void overdraw(size_t bytes) noexcept override { used_.fetch_add(bytes, std::memory_order_relaxed); }
    void give_back(size_t bytes) noexcept override {
        [[maybe_unused]] const size_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
        assert(before >= bytes);  // no more than was taken
    }
    size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
    size_t limit() const noexcept { return limit_; }

  private:
    const size_t limit_;
    std::atomic<size_t> used_{0};
};
// Null: the server's own process, which bounds itself.
using AccountPtr = std::shared_ptr<UserAccount>;

class Charge {
  public:
    Charge() noexcept = default;
    Charge(Charge&& o) noexcept : account_(std::move(o.account_)), bytes_(std::exchange(o.bytes_, 0)) {}
    Charge& operator=(Charge&& o) noexcept {
        if (this != &o) {
            clear();
            account_ = std::move(o.account_);
            bytes_ = std::exchange(o.bytes_, 0);
        }
        return *this;
    }
    ~Charge() { clear(); }

    // In place of what it was. False: the account has no room, and the charge is as before.
    [[nodiscard]] bool set(const AccountPtr& account, size_t bytes) noexcept {
        if (account == nullptr) return true;
        if (!account->take(bytes)) return false;
        clear();
        account_ = account;
        bytes_ = bytes;
        return true;
    }
    [[nodiscard]] bool grow(size_t bytes) noexcept {
        if (account_ == nullptr) return true;
        if (!account_->take(bytes)) return false;
        bytes_ += bytes;
        return true;
    }
    // Less is held than was taken.
    void shrink_to(size_t bytes) noexcept {
        assert(account_ != nullptr || bytes_ == 0);
        if (account_ == nullptr || bytes >= bytes_) return;
        account_->give_back(bytes_ - bytes);
        bytes_ = bytes;
    }
    void clear() noexcept {
        if (account_ != nullptr) account_->give_back(bytes_);
        account_.reset();
        bytes_ = 0;
    }
    size_t bytes() const noexcept { return bytes_; }
    const AccountPtr& account() const noexcept { return account_; }

  private:
    AccountPtr account_;
    size_t bytes_ = 0;
};

class Budget {
  public:
    explicit Budget(size_t limit) noexcept : limit_(limit != 0 ? limit : default_limit()) {}
    Budget(const Budget&) = delete;
    Budget& operator=(const Budget&) = delete;

    AccountPtr of(uint32_t uid);
    size_t limit() const noexcept { return limit_; }
    // By user: those who hold or held something here lately.
    const std::map<uint32_t, AccountPtr>& accounts() const noexcept { return accounts_; }

    // 1 GiB, or a sixteenth of the machine's memory where that is more. The requests, registrations and unfinished
    // messages of 256 ranks with some thousand requests each are a tenth of it; what a job commits is not counted here.
    static size_t default_limit() noexcept;

  private:
    const size_t limit_;
    std::map<uint32_t, AccountPtr> accounts_;
};

}  // namespace pmix::server
