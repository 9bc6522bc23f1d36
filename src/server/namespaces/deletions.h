// SPDX-License-Identifier: BSD-3-Clause
// Keys that their processes have deleted, for those who keep what they have read by themselves: clients of OpenPMIx,
// which map no segment.
//
// Owned by the server. Loop thread only. A watcher takes itself out before it goes, and may do so while it is told.
// What can go wrong: no memory to note what may go (std::bad_alloc).
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/ids.h"

namespace pmix::server {

class Peer;
class Registry;
struct Nspace;

class Deletions {
  public:
    class Watcher {
      public:
        // A process has deleted the key for the processes of this node. by: whose request it was; null: it is of
        // another node.
        virtual void key_deleted(const Nspace& nspace, common::Rank rank, std::string_view key, const Peer* by) = 0;

      protected:
        ~Watcher() = default;
    };

    void add(Watcher& watcher) { watchers_.push_back(&watcher); }
    void remove(const Watcher& watcher) noexcept { std::erase(watchers_, &watcher); }
    bool watched() const noexcept { return !watchers_.empty(); }
    void tell(const Nspace& nspace, common::Rank rank, std::string_view key, const Peer* by) const;

  private:
    std::vector<Watcher*> watchers_;
};

// What data of other nodes may delete here: noted before it is taken over, and told afterwards of what has gone.
class ReceivedDeletions {
  public:
    // Chunks that are to be taken over into the namespace's data.
    void note(const Nspace& nspace, common::Bytes chunks);
    void tell(const Registry& registry, const Deletions& deletions) const;

  private:
    std::set<std::tuple<std::string, common::Rank, std::string>> present_;
};

}  // namespace pmix::server
