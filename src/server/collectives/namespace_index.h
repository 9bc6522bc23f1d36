// SPDX-License-Identifier: BSD-3-Clause
// Which collective operations name which namespace, so that an event about one namespace looks at these only.
//
// Owned by those who keep the operations; an Entry removes its operation at its end, and may outlive the index. Loop
// thread only. What can go wrong: bad_alloc, with nothing entered.
#pragma once

#include <cassert>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/base/member.h"

namespace pmix::server {

class NamespaceIndex {
    using Table = std::map<std::string, std::set<uint64_t>, std::less<>>;

  public:
    class Entry {
      public:
        Entry() noexcept = default;
        Entry(Entry&& o) noexcept : table_(std::move(o.table_)), places_(std::move(o.places_)), id_(o.id_) {
            o.places_.clear();
        }
        Entry& operator=(Entry&& o) noexcept {
            if (this != &o) {
                clear();
                table_ = std::move(o.table_);
                places_ = std::exchange(o.places_, {});
                id_ = o.id_;
            }
            return *this;
        }
        ~Entry() { clear(); }

      private:
        friend class NamespaceIndex;
        void clear() noexcept {
            for (const Table::iterator at : places_) {
                at->second.erase(id_);
                if (at->second.empty()) table_->erase(at);
            }
            places_.clear();
        }
        std::shared_ptr<Table> table_;
        std::vector<Table::iterator> places_;
        uint64_t id_ = 0;
    };

    // What an entry takes in memory for each namespace, about, beside the name.
    static constexpr size_t kMemoryOfName = 192;

    [[nodiscard]] Entry add(const Signature& signature, uint64_t id) {
        Entry entry;
        entry.table_ = table_;
        entry.id_ = id;
        entry.places_.reserve(signature.parts().size());
        for (const Signature::Part& part : signature.parts()) {
            const auto at = table_->try_emplace(part.nspace).first;
            entry.places_.push_back(at);
            [[maybe_unused]] const bool is_new = at->second.insert(id).second;
            assert(is_new);  // an operation has one entry, and a signature one part for each namespace
        }
        return entry;
    }
    // Ascending.
    std::vector<uint64_t> of(std::string_view nspace) const {
        const auto at = table_->find(nspace);
        if (at == table_->end()) return {};
        return {at->second.begin(), at->second.end()};
    }

  private:
    const std::shared_ptr<Table> table_ = std::make_shared<Table>();
};

}  // namespace pmix::server
