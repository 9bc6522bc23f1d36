// SPDX-License-Identifier: BSD-3-Clause
// Get: which pending requests data of other nodes, and the host's description of a job, answers. See get.h.
#include <utility>

#include "dstore/contribution.h"
#include "server/data/get.h"

namespace pmix::server {

using common::Bytes;
using common::ProcId;
using dstore::Owner;

// What other nodes send may hold many keys, and many may be awaited: only keys that are in both are looked for.
pmix_status_t Get::ingest(Bytes blob, std::string_view remote) {
    ReceivedDeletions deleted;
    const bool watched = deletions_.watched();
    const pmix_status_t rc = ingest_blob(registry_, blob, remote, [&](const Nspace& nspace, Bytes chunks) {
        if (watched) deleted.note(nspace, chunks);
        note_pulls(nspace, chunks);
        const MemberId any = member_id(nspace.number, PMIX_RANK_UNDEF);
        if (!is_awaited(any)) return;
        dstore::for_each_key(chunks, [this, any](std::string_view key) {
            if (pending_.find(AwaitedView{any, key}) != pending_.end()) noted_.insert({any, std::string(key)});
        });
    });
    if (watched) deleted.tell(registry_, deletions_);
    return rc;
}

void Get::note_pulls(const Nspace& nspace, Bytes chunks) {
    const auto first_of_job = pulls_.lower_bound(PullView{nspace.name});
    if (first_of_job == pulls_.end() || first_of_job->first.proc.nspace != nspace.name) return;
    bool of_this_rank = false;
    dstore::for_each_record(chunks, [&](Owner owner, std::string_view key) {
        if (owner.kind != dstore::OwnerKind::proc || (!key.empty() && !of_this_rank)) return;
        if (key.empty()) {
            const auto it = pulls_.lower_bound(PullView{nspace.name, owner.index});
            of_this_rank = it != pulls_.end() && it->first.proc == ProcId(nspace.name, owner.index);
            if (!of_this_rank) return;
        }
        const auto it = pulls_.lower_bound(PullView{nspace.name, owner.index, false, key});
        if (it != pulls_.end() && is_for(it->first, {nspace.name, owner.index}, key))
            noted_pulls_.insert({it->first.proc, it->first.key});
    });
}

void Get::received() {
    answer_noted();
    answer_noted_pulls(std::nullopt);
}

void Get::answer_noted_pulls(std::optional<uid_t> of_user) {
    const auto noted = std::exchange(noted_pulls_, {});
    for (const auto& [proc, key] : noted) {
        Nspace* nspace = registry_.find(proc.nspace);
        if (nspace == nullptr || nspace->data == nullptr) continue;
        std::list<Question> ready;
        for (auto it = pulls_.lower_bound(PullView{proc.nspace, proc.rank, false, key, of_user.value_or(0)});
             it != pulls_.end() && is_for(it->first, proc, key) && (!of_user || it->first.uid == *of_user);)
            it = take_answerable(*nspace, it, ready);
        for (Question& q : ready) answer_found(q, *nspace);
    }
}

// After the host has said more about the job: it may hold any key of any process.
void Get::answer_pulls(Nspace& nspace) {
    std::list<Question> ready;
    for (auto it = pulls_.lower_bound(PullView{nspace.name});
         it != pulls_.end() && it->first.proc.nspace == nspace.name;) {
        const bool real = common::is_real_rank(it->first.proc.rank);
        it = real && !it->first.refresh ? take_answerable(nspace, it, ready) : std::next(it);
    }
    for (Question& q : ready) answer_found(q, nspace);
}

Get::Pulls::iterator Get::take_answerable(Nspace& nspace, Pulls::iterator it, std::list<Question>& to) {
    examined_ += it->second.questions.size();
    if (!nspace.data->has(it->first.proc.rank, it->first.key)) return std::next(it);
    take(it->second.questions, to);
    // With nobody left to ask for it the upcall's answer may come or not.
    return pulls_.erase(it);
}

// Requests for a key of any rank, after the host has said more about the job: it may hold any key.
void Get::answer_anyone(Nspace& nspace) {
    const MemberId any = member_id(nspace.number, PMIX_RANK_UNDEF);
    std::list<Question> ready;
    for (auto it = pending_.lower_bound(AwaitedView{any}); it != pending_.end() && it->first.member == any;) {
        examined_ += it->second.size();
        it = nspace.data->has_anywhere(it->first.key) ? take(it, ready) : std::next(it);
    }
    for (Question& q : ready) answer_found(q, nspace);
}

void Get::answer_noted() {
    const auto noted = std::exchange(noted_, {});
    for (const Awaited& what : noted) {
        const auto it = pending_.find(what);
        Nspace* nspace = registry_.find(nspace_number_of(what.member));
        if (it == pending_.end() || nspace == nullptr || nspace->data == nullptr) continue;
        examined_ += it->second.size();
        // A block that was not taken over brings nothing.
        if (!nspace->data->has_anywhere(what.key)) continue;
        std::list<Question> ready;
        take(it, ready);
        for (Question& q : ready) answer_found(q, *nspace);
    }
}

}  // namespace pmix::server
