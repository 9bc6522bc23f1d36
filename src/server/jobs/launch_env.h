// SPDX-License-Identifier: BSD-3-Clause
// What a child process finds in its environment: one immutable block per registered rank, behind one atomic pointer. A
// rank that is not registered yet gets what all children get, what its namespace asks for, and its name; no token,
// which is made when the rank is registered.
//
// set() and remove(): loop thread. apply(): any thread, and a child forked from a host with many threads: it takes no
// lock, asks no loop and allocates only what becomes the caller's. Ranks that come in order are appended to the table
// that readers have, and ranks that leave are marked in it; another change replaces it, and what was replaced is kept
// until no apply() can be inside. What can go wrong: no memory (PMIX_ERR_NOMEM); an unknown rank before set_for_all()
// (PMIX_ERR_NOT_FOUND).
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/values/info_view.h"

namespace pmix::server {

using Variables = std::vector<std::pair<std::string, std::string>>;

// Puts variables into an environment as PMIx_server_setup_fork gets it: a malloc'ed, NULL-terminated array of malloc'ed
// strings, or NULL, or the process's own. A variable that is there is replaced.
pmix_status_t set_variables(char*** env, const Variables& variables, const std::vector<std::string>& unset = {});

class LaunchEnv {
  public:
    // One change that a host asked for a job's processes (PMIX_SET_ENVAR and its like).
    struct Edit {
        enum class How : uint8_t { set, add, unset, prepend, append, first } how;
        std::string name;
        std::string value;
        char separator = ',';
        // Not where one of these variables is set already, unless it has this value (empty: whatever its value is).
        struct Unless {
            std::string name, value;
        };
        std::vector<Unless> unless = {};
    };

    LaunchEnv() = default;
    ~LaunchEnv();
    LaunchEnv(const LaunchEnv&) = delete;
    LaunchEnv& operator=(const LaunchEnv&) = delete;

    using Edits = std::vector<Edit>;
    // Those among some infos, in their order. Null: none.
    static std::shared_ptr<const Edits> read_edits(common::InfoView infos);
    static pmix_status_t apply_edits(const Edits& edits, char*** env);

    // What one process gets. shared: what every child does; own: this one's, over the shared; edits: before both, its
    // job's and then its own. Either pointer may be null.
    struct Block {
        common::ProcId proc;
        std::shared_ptr<const Variables> shared;
        Variables own;
        std::shared_ptr<const Edits> edits;
        Edits own_edits;
    };
    void set(Block block) { insert(ranks_, std::make_shared<Block>(std::move(block))); }
    // Those of many processes, in the order of these, at the cost of one change.
    void set_all(std::vector<Block> blocks);
    void remove(const common::ProcId& proc);
    void remove(std::string_view nspace);
    // What a child gets whose rank is not registered. Once, before anybody can call apply().
    void set_for_all(std::shared_ptr<const Variables> shared) { for_all_ = std::move(shared); }
    const std::shared_ptr<const Variables>& for_all() const noexcept { return for_all_; }
    // In addition, for ranks of one namespace. No edits: nothing in addition.
    void set_for_unregistered(std::string_view nspace, std::shared_ptr<const Edits> edits);

    pmix_status_t apply(std::string_view nspace, common::Rank rank, char*** env) const noexcept;

    // The one of this process's server, for a forked child that finds no library of its own. Null: no server.
    static const LaunchEnv* current() noexcept;
    static void set_current(const LaunchEnv* launch_env) noexcept;

  private:
    // By proc. The slots below `used` are readers' too and do not change.
    struct Table {
        explicit Table(size_t n) : capacity(n), slots(n), gone(n) {}
        const size_t capacity;
        std::vector<std::shared_ptr<const Block>> slots;  // never more or fewer than capacity
        std::atomic<size_t> used{0};
        // Whose blocks count no more. They are left out of the next table, which is made when they are the half.
        std::vector<std::atomic<bool>> gone;
        size_t removed = 0;  // how many these are; the loop's

        bool has_left(size_t at) const noexcept { return gone[at].load(std::memory_order_acquire); }
    };
    using Published = std::atomic<Table*>;
    static size_t place_of(const Table& table, std::string_view nspace, common::Rank rank) noexcept;
    static const Block* find(const Published& table, std::string_view nspace, common::Rank rank) noexcept;
    void insert(Published& table, std::shared_ptr<const Block> block);
    void publish(Published& table, std::unique_ptr<Table> next);
    template <class Goes>
    void remove_if(Published& table, Goes goes);

    Published ranks_{nullptr};
    Published nspaces_{nullptr};  // rank PMIX_RANK_WILDCARD: of those that are not registered
    std::shared_ptr<const Variables> for_all_;
    mutable std::atomic<int> inside_{0};
    std::vector<std::unique_ptr<const Table>> retired_;
};

}  // namespace pmix::server
