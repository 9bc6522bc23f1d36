// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/translator.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "client/data/lookup.h"
#include "client/openpmix/qualified_values.h"
#include "common/base/log.h"
#include "common/codec/pack.h"
#include "common/values/declared_types.h"
#include "common/values/info_view.h"
#include "openpmix/known_keys.h"

namespace pmix::client {

namespace theirs = pmix::openpmix;

using common::Bytes;
using common::Command;
using common::FrameHeader;
using common::FrameKind;
using common::InfoList;
using common::ProcId;

namespace {

// Keys that are remembered as absent; beyond it all are asked for again.
constexpr size_t kMostAbsent = 4096;

// After it a server may know more of this job, or of this process, than before.
bool tells_of_jobs(uint16_t command) noexcept {
    switch (static_cast<Command>(command)) {
        case Command::fence:
        case Command::commit:
        case Command::connect:
        case Command::spawn:
        case Command::group:
            return true;
        default:
            return false;
    }
}

// After it other processes may have put something else for this one.
bool exchanges_data(uint16_t command) noexcept {
    switch (static_cast<Command>(command)) {
        case Command::fence:
        case Command::connect:
        case Command::group:
            return true;
        default:
            return false;
    }
}

// Data of a process that is larger is not asked for before it is wanted.
constexpr size_t kMostAhead = size_t{64} * 1024;

// What a commit's message has around its sections, and more.
constexpr size_t kCommitHeads = 1024;

// Encoded values, as many in a message as it has room for. Servers take sections in their order, so what is deleted and
// what is put for the same scope keep theirs.
class CommitParts {
  public:
    struct Message {
        std::vector<std::pair<pmix_scope_t, std::vector<uint8_t>>> sections;
        size_t size = 0;
    };

    explicit CommitParts(size_t most) : most_(most), messages_(1) {}

    pmix_status_t add(pmix_scope_t scope, Bytes call) {
        if (call.size() > most_) return PMIX_ERR_OUT_OF_RESOURCE;
        if (messages_.back().size + call.size() > most_) messages_.emplace_back();
        Message& last = messages_.back();
        auto& calls = section_of(last, scope);
        calls.insert(calls.end(), call.begin(), call.end());
        last.size += call.size();
        return PMIX_SUCCESS;
    }
    const std::vector<Message>& messages() const noexcept { return messages_; }

  private:
    static bool deletes(pmix_scope_t scope) noexcept { return dstore::deleted_scope(scope) != PMIX_SCOPE_UNDEF; }
    // The newest of this scope with none of the other kind behind it.
    static std::vector<uint8_t>& section_of(Message& message, pmix_scope_t scope) {
        auto& sections = message.sections;
        for (auto it = sections.rbegin(); it != sections.rend() && deletes(it->first) == deletes(scope); ++it)
            if (it->first == scope) return it->second;
        return sections.emplace_back(scope, std::vector<uint8_t>()).second;
    }

    const size_t most_;
    std::vector<Message> messages_;
};

theirs::Text text_or_null(const std::string& text) {
    return text.empty() ? theirs::Text() : theirs::Text(text);
}

}  // namespace

struct OpenPmixTranslator::Wanted {
    FrameHeader header;
    ProcId proc;
    std::string key;
    std::optional<QualifiedQuestion> question;
    bool has_limit = false;  // of time
    bool can_be_absent = false;
    bool lacks = false;  // the session has no segment of the namespace
    uint64_t exchanges = 0;
};

OpenPmixTranslator::OpenPmixTranslator(OpenPmixExchange::Ends& ends, std::unique_ptr<Shadow> shadow, ProcId self,
                                       const theirs::Traits& traits)
    : ends_(ends),
      exchange_(*this, traits),
      shadow_(std::move(shadow)),
      self_(std::move(self)),
      services_(exchange_, *shadow_, self_) {
    shadow_->set_outlet(
        [this](const common::SegmentRef& segment, transport::Descriptor&& descriptor) {
            return deliver_segment(segment, std::move(descriptor));
        },
        [this](const std::string& nspace, uint64_t instance) { deliver_end(nspace, instance); });
}

OpenPmixTranslator::~OpenPmixTranslator() = default;

// ---- from the server ----

void OpenPmixTranslator::message(const theirs::FrameHeader& header, Bytes payload) {
    if (header.tag >= theirs::kFirstRequestTag) return exchange_.answered(header.tag, payload);
    if (header.tag == theirs::kEventTag) return services_.event(payload);
    if (header.tag == theirs::kOutputTag) return services_.output(payload);
    if (header.tag == theirs::kFlowTag) return services_.control_input(payload);
    if (header.tag == theirs::kDeletionTag) return deleted(payload);
}

// Of whichever scope: what this process has a copy of was meant for it.
void OpenPmixTranslator::deleted(Bytes payload) {
    theirs::DeletionMessage got;
    if (exchange_.decode(payload, &got) != PMIX_SUCCESS) return;
    const pmix_status_t rc = shadow_->take_deletion(got.proc.id, got.key.text);
    if (rc == PMIX_SUCCESS) return;
    WIREUP_LOG(client, error, "what %s.%u has deleted is still found here: %d", got.proc.id.nspace.c_str(),
               static_cast<unsigned>(got.proc.id.rank), rc);
}

// ---- to the session ----

void OpenPmixTranslator::deliver_frame(const FrameHeader& header, Bytes payload,
                                       std::vector<transport::Descriptor>&& descriptors) {
    if (tells_of_jobs(header.command) && common::succeeded(header.status)) absent_.clear();
    if (exchanges_data(header.command) && common::succeeded(header.status)) {
        shadow_->freshness()->note_exchange();
        ahead_.emplace(self_.rank, shadow_->job_size(self_.nspace), openpmix::ReadAhead::By::client);
    }
    ends_.deliver_frame(header, payload, std::move(descriptors));
    if (static_cast<Command>(header.command) == Command::fence && common::succeeded(header.status)) ask_the_only_peer();
}

pmix_status_t OpenPmixTranslator::deliver_segment(const common::SegmentRef& segment,
                                                  transport::Descriptor&& descriptor) {
    common::AttachNspaceReply message;
    message.segments.push_back(segment);
    auto payload = common::message_bytes(message);
    if (!payload.ok()) return payload.status();
    FrameHeader header = FrameHeader::notify(static_cast<uint16_t>(Command::attach_nspace));
    header.payload = static_cast<uint32_t>(payload->size());
    header.descriptors = 1;
    std::vector<transport::Descriptor> descriptors;
    descriptors.push_back(std::move(descriptor));
    ends_.deliver_frame(header, *payload, std::move(descriptors));
    return PMIX_SUCCESS;
}

void OpenPmixTranslator::deliver_end(const std::string& nspace, uint64_t instance) {
    common::SegmentGoneNotify gone;
    gone.nspace = nspace;
    gone.instance = instance;
    exchange_.notify(Command::segment_gone, gone);
}

// ---- from the session ----

void OpenPmixTranslator::frame(const FrameHeader& header, Bytes payload) {
    if (!request(header, payload)) exchange_.refuse(header, PMIX_ERR_NOT_SUPPORTED);
}

bool OpenPmixTranslator::request(const FrameHeader& header, Bytes payload) {
    switch (static_cast<Command>(header.command)) {
        case Command::commit:
            commit(header, payload);
            return true;
        case Command::fence:
            fence(header, payload);
            return true;
        case Command::get:
            get(header, payload);
            return true;
        case Command::attach_nspace:
            attach(header, payload);
            return true;
        case Command::finalize:
            exchange_.relay_status<common::FinalizeRequest>(
                header, payload, [](common::FinalizeRequest&) { return theirs::FinalizeRequest{}; });
            return true;
        case Command::abort:
            exchange_.relay_status<common::AbortRequest>(header, payload, [](common::AbortRequest& ours) {
                theirs::AbortRequest request;
                request.status.value = ours.status;
                request.message = theirs::Text(ours.message);
                request.procs.procs = std::move(ours.procs);
                return request;
            });
            return true;
        default:
            return services_.request(header, payload);
    }
}

// What is put for everybody stands in both sections. A commit that is larger than a message becomes several.
void OpenPmixTranslator::commit(const FrameHeader& header, Bytes payload) {
    common::CommitRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    const uint64_t generation = ours.generation;
    const auto refuse = [this, header, generation](pmix_status_t status) {
        if (header.kind == FrameKind::request) return exchange_.refuse(header, status);
        common::CommitRefusedNotify refused;
        refused.generation = generation;
        refused.status = status;
        exchange_.notify(Command::commit_refused, refused);
    };
    const size_t most =
        exchange_.traits().most_payload == 0 ? common::kMaxFramePayload : exchange_.traits().most_payload;
    CommitParts parts(most - kCommitHeads);
    for (const common::CommitEntry& entry : ours.entries) {
        theirs::SectionData data;
        // A deletion has a value that is none, in a section of its own.
        const pmix_scope_t deleted = dstore::deleted_scope(entry.scope);
        const bool deletes = deleted != PMIX_SCOPE_UNDEF;
        const pmix_scope_t meant = deletes ? deleted : entry.scope;
        // The key under which such a value is stored here is no key of theirs, and no deletion can name the value.
        const bool qualified = is_of_qualified(entry.key, entry.value, deletes);
        data.values.pairs.emplace_back().key = qualified ? std::string_view(PMIX_QUALIFIED_VALUE) : entry.key;
        pmix_status_t rc = PMIX_SUCCESS;
        if (!deletes) rc = common::decode_value_into(entry.value, data.values.pairs[0].value.c_ptr());
        if (deletes && (qualified || !exchange_.traits().deletes_keys)) rc = PMIX_ERR_NOT_SUPPORTED;
        const bool known = qualified ? exchange_.traits().qualifies && are_known(exchange_.traits(), data.values)
                                     : theirs::is_known_key(exchange_.traits(), entry.key);
        if (!deletes && !known) rc = PMIX_ERR_NOT_SUPPORTED;
        std::vector<uint8_t> call;
        if (rc == PMIX_SUCCESS) rc = theirs::encode(data, exchange_.traits(), &call);
        for (const pmix_scope_t scope : {PMIX_LOCAL, PMIX_REMOTE})
            if (rc == PMIX_SUCCESS && (meant == scope || meant == PMIX_GLOBAL))
                rc = parts.add(deletes ? dstore::deletion_for(scope) : scope, call);
        if (rc == PMIX_ERR_OUT_OF_RESOURCE || rc == PMIX_ERR_NOMEM) return refuse(rc);
        // PMIx_Put has refused a value that this server cannot be told, unless it was put before this was the server.
        if (rc != PMIX_SUCCESS)
            WIREUP_LOG(client, error, "%s is left out of a commit: %s", std::string(entry.key).c_str(),
                       common::log_status(rc));
    }
    // Their servers are not told of a commit without data.
    if (parts.messages().front().size == 0) {
        if (header.kind == FrameKind::request) exchange_.reply(header, PMIX_SUCCESS, common::CommitReply{});
        return;
    }
    has_put_ = true;
    for (const common::CommitEntry& entry : ours.entries) {
        const pmix_scope_t deleted = dstore::deleted_scope(entry.scope);
        if (deleted != PMIX_SCOPE_UNDEF && deleted != PMIX_LOCAL) services_.note_deletion(entry.key);
        if (deleted == PMIX_SCOPE_UNDEF && entry.scope != PMIX_LOCAL && !is_of_qualified(entry.key, entry.value, false))
            services_.note_put(entry.key, entry.value);
    }
    struct Progress {
        size_t left;
        pmix_status_t status = PMIX_SUCCESS;  // the first failure
    };
    const auto progress = std::make_shared<Progress>();
    progress->left = parts.messages().size();
    const auto done = [this, header, refuse, progress](pmix_status_t status) {
        if (!common::succeeded(status) && progress->status == PMIX_SUCCESS) progress->status = status;
        if (--progress->left != 0) return;
        if (progress->status != PMIX_SUCCESS) return refuse(progress->status);
        absent_.clear();
        if (header.kind == FrameKind::request) exchange_.reply(header, PMIX_SUCCESS, common::CommitReply{});
    };
    for (const CommitParts::Message& message : parts.messages()) {
        theirs::CommitRequest request;
        for (const auto& [scope, calls] : message.sections) request.sections.sections.push_back({scope, calls});
        const pmix_status_t rc = exchange_.ask(request, [this, done](Bytes answer) {
            theirs::StatusReply got;
            done(exchange_.status_of(answer, &got));
        });
        if (rc != PMIX_SUCCESS) done(rc);
    }
}

// What others have put stays with the server: the first Get of a process brings it here.
void OpenPmixTranslator::fence(const FrameHeader& header, Bytes payload) {
    exchange_.take<common::FenceRequest>(header, payload, [&](common::FenceRequest& ours) {
        services_.replace_groups(ours.procs);
        theirs::FenceRequest request;
        request.procs.procs = std::move(ours.procs);
        request.infos.infos = std::move(ours.infos);
        return exchange_.ask_for<theirs::StatusReply>(header, request,
                                                      [this, header](pmix_status_t status, const theirs::StatusReply&) {
                                                          exchange_.reply(header, status, common::FenceReply{});
                                                      });
    });
}

// ---- get ----

template <class Reply>
void OpenPmixTranslator::reply_with_segment(const FrameHeader& header, Reply&& reply, const std::string& nspace,
                                            bool lacks) {
    auto grant = shadow_->grant(nspace, lacks);
    if (!grant.ok() && grant.status() != PMIX_ERR_NOT_FOUND) return exchange_.refuse(header, grant.status());
    if (grant.ok()) {
        if constexpr (requires { reply.generation; }) reply.generation = grant->segment.generation;
        reply.segments.push_back(std::move(grant->segment));
    }
    exchange_.reply(header, PMIX_SUCCESS, reply);
}

void OpenPmixTranslator::get(const FrameHeader& header, Bytes payload) {
    common::GetRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    const common::InfoView infos(ours.infos.data(), ours.infos.size());
    const bool reserved = common::is_reserved_key(ours.key);
    if (infos.flag(PMIX_GET_REFRESH_CACHE) && exchange_.traits().refreshes && !reserved)
        return refresh(header, std::move(ours));
    const bool is_plain = std::all_of(infos.begin(), infos.end(),
                                      [](const pmix_info_t& info) { return common::key_view(info) == PMIX_IMMEDIATE; });
    const bool is_ordinary =
        !reserved && is_plain && ours.proc.nspace == self_.nspace && common::is_real_rank(ours.proc.rank);
    if (is_ordinary && settle_here(header, ours)) return;
    ask_for(header, ours, true);
    if (is_ordinary && ahead_) read_ahead(ours.proc.rank);
}

// What was asked for ahead has come meanwhile, or is on its way.
bool OpenPmixTranslator::settle_here(const FrameHeader& header, common::GetRequest& ours) {
    if (has_new(ours)) {
        reply_with_segment(header, common::GetReply{}, ours.proc.nspace, ours.generation == 0);
        return true;
    }
    const auto asked = asked_ahead_.find(ours.proc.rank);
    if (asked == asked_ahead_.end()) return false;
    asked->second.push_back({header, std::move(ours)});
    return true;
}

void OpenPmixTranslator::read_ahead(common::Rank wanted) {
    const openpmix::ReadAhead::Range range = ahead_->missed(wanted);
    for (common::Rank rank = range.first; rank < range.first + range.count; ++rank)
        if (rank != self_.rank) ask_ahead(rank);
}

// A process that has put something and fenced reads what the other one has put: its first Get finds the question
// asked, or the answer here.
void OpenPmixTranslator::ask_the_only_peer() {
    if (!std::exchange(has_put_, false) || has_large_data_ || shadow_->job_size(self_.nspace) != 2) return;
    ask_ahead(1 - self_.rank);
}

// With PMIX_IMMEDIATE: nobody waits for what is not there, and no host is asked for it. Without a key: all that it has.
// Without memory for it nothing is asked, and nothing is lost: the Get asks.
void OpenPmixTranslator::ask_ahead(common::Rank rank) noexcept try {
    const Freshness& freshness = *shadow_->freshness();
    if (asked_ahead_.size() >= openpmix::ReadAhead::kMost || asked_ahead_.count(rank) != 0) return;
    if (freshness.is_new(self_.nspace, rank)) return;
    InfoList at_once;
    if (at_once.append_flag(PMIX_IMMEDIATE, true) != PMIX_SUCCESS) return;
    theirs::GetRequest request;
    request.nspace = theirs::Text(self_.nspace);
    request.rank.value = rank;
    request.infos.infos = std::move(at_once);
    const auto take = [this, rank, exchanges = freshness.exchanges()](Bytes answer) {
        take_ahead(rank, exchanges, answer);
    };
    if (exchange_.ask(request, take) == PMIX_SUCCESS) asked_ahead_.try_emplace(rank);
} catch (const std::bad_alloc&) {
}

// A Get that waits for it is answered, or asked for by itself where its key did not come.
void OpenPmixTranslator::take_ahead(common::Rank rank, uint64_t exchanges, Bytes payload) {
    if (payload.size() > kMostAhead) {
        ahead_.reset();
        has_large_data_ = true;
    }
    std::vector<Waiting> waiting;
    if (const auto asked = asked_ahead_.find(rank); asked != asked_ahead_.end()) {
        waiting = std::move(asked->second);
        asked_ahead_.erase(asked);
    }
    theirs::GetReply got;
    if (common::succeeded(exchange_.status_of(payload, &got)) &&
        take_objects(self_.nspace, got.objects, exchanges, nullptr, nullptr) == PMIX_SUCCESS)
        (void)shadow_->grant(self_.nspace);
    for (const Waiting& each : waiting) {
        if (has_new(each.request)) {
            reply_with_segment(each.header, common::GetReply{}, self_.nspace, each.request.generation == 0);
        } else {
            ask_for(each.header, each.request, true);
        }
    }
}

// fetches_anew: as the request says it.
void OpenPmixTranslator::ask_for(const FrameHeader& header, const common::GetRequest& ours, bool fetches_anew) {
    const common::InfoView infos(ours.infos.data(), ours.infos.size());
    const bool reserved = common::is_reserved_key(ours.key);
    Wanted wanted;
    wanted.header = header;
    wanted.proc = ours.proc;
    wanted.key = ours.key;
    wanted.question = qualified_question(ours.key, infos);
    if (wanted.question && (wanted.question->primary.empty() || !exchange_.traits().qualifies))
        return exchange_.refuse(header, PMIX_ERR_NOT_FOUND);
    wanted.has_limit = infos.has(PMIX_TIMEOUT);
    wanted.lacks = ours.generation == 0;
    wanted.exchanges = shadow_->freshness()->exchanges();
    // What says which level is meant makes another question of it. Sets of processes are defined at any time.
    wanted.can_be_absent = reserved && infos.size() == 0 && ours.key != PMIX_PSET_NAMES &&
                           ours.proc.nspace == self_.nspace &&
                           (ours.proc.rank == PMIX_RANK_WILDCARD || ours.proc.rank == self_.rank);
    if (wanted.can_be_absent && absent_.count({ours.proc.rank, ours.key}) != 0)
        return exchange_.refuse(header, PMIX_ERR_NOT_FOUND);

    InfoList told;
    for (const pmix_info_t& info : infos) {
        const std::string_view key = common::key_view(info);
        // How this process wants to have the value is nothing to the server.
        if (key == PMIX_GET_POINTER_VALUES || key == PMIX_GET_STATIC_VALUES || info.value.type == PMIX_POINTER)
            continue;
        if (key == PMIX_GET_REFRESH_CACHE && !fetches_anew) continue;
        if (told.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    // Nobody will put it: what the server does not have now, it never has. The clients of newer servers leave it to
    // them.
    const bool at_once = reserved && exchange_.traits().reserved_at_once && !infos.has(PMIX_IMMEDIATE);
    // What is here and may be old is kept if the server has none: its job may be gone there.
    const bool renews = !reserved && common::is_real_rank(ours.proc.rank) && !infos.has(PMIX_IMMEDIATE) && has(wanted);
    if ((at_once || renews) && told.append_flag(PMIX_IMMEDIATE, true) != PMIX_SUCCESS) throw std::bad_alloc();
    theirs::GetRequest request;
    request.nspace = theirs::Text(ours.proc.nspace);
    request.rank.value = ours.proc.rank;
    request.infos.infos = std::move(told);
    if (!ours.key.empty()) request.key = theirs::Text(wanted.question ? wanted.question->primary : ours.key);
    const pmix_status_t rc = exchange_.ask(request, [this, wanted](Bytes answer) { take_get_reply(wanted, answer); });
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// Whatever the answer is, the value itself is asked for afterwards.
void OpenPmixTranslator::refresh(const FrameHeader& header, common::GetRequest&& ours) {
    theirs::RefreshRequest request;
    request.nspace = theirs::Text(ours.proc.nspace);
    request.rank.value = ours.proc.rank;
    const auto kept = std::make_shared<const common::GetRequest>(std::move(ours));
    const uint64_t exchanges = shadow_->freshness()->exchanges();
    const pmix_status_t rc = exchange_.ask(request, [this, header, kept, exchanges](Bytes answer) {
        theirs::RefreshReply got;
        const pmix_status_t status = exchange_.status_of(answer, &got);
        const ProcId& proc = kept->proc;
        if (common::succeeded(status) && !got.values.pairs.empty()) {
            const pmix_status_t taken = common::is_real_rank(proc.rank)
                                            ? shadow_->take_proc(proc, std::move(got.values), exchanges)
                                            : shadow_->take_job(proc.nspace, got.values);
            if (taken != PMIX_SUCCESS) return exchange_.refuse(header, taken);
        }
        // Done at once: a process of the server's own, of which it has the newest there is.
        ask_for(header, *kept, status != PMIX_OPERATION_SUCCEEDED);
    });
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

// found: the value that was asked for, encoded, if it is among them.
pmix_status_t OpenPmixTranslator::take_objects(const std::string& nspace, const theirs::ByteObjects& objects,
                                               uint64_t exchanges, const Wanted* wanted,
                                               common::Result<common::Blob>* found) {
    for (const Bytes& object : objects.objects) {
        theirs::ProcData data;
        WIREUP_RETURN_IF_ERROR(exchange_.decode_data(object, &data));
        // A server that speaks of other jobs than the one it was asked for is not believed.
        if (data.proc.id.nspace != nspace) return PMIX_ERR_UNPACK_FAILURE;
        if (wanted != nullptr && wanted->question) store_answer(data.values, *wanted->question);
        for (const theirs::KeyValue& pair : data.values.pairs) {
            if (wanted == nullptr || pair.key != wanted->key || wanted->question) continue;
            common::ByteWriter w;
            const pmix_value_t declared = common::DeclaredTypes().as_declared(pair.key, pair.value.get());
            if (common::encode_value(w, declared) == PMIX_SUCCESS) *found = w.take();
        }
        if (common::is_real_rank(data.proc.id.rank)) {
            WIREUP_RETURN_IF_ERROR(shadow_->take_proc(data.proc.id, std::move(data.values), exchanges));
        } else if (data.proc.id.rank == PMIX_RANK_WILDCARD) {
            WIREUP_RETURN_IF_ERROR(shadow_->take_job(nspace, data.values));
        }
    }
    return PMIX_SUCCESS;
}

// Somewhere in what was said of its job.
bool OpenPmixTranslator::has(const Wanted& wanted) const {
    const dstore::Reader* reader = shadow_->reader(wanted.proc.nspace);
    if (reader == nullptr) return false;
    GetRequest request;
    request.nspace = wanted.proc.nspace;
    request.own_nspace = wanted.proc.nspace == self_.nspace;
    request.rank = wanted.proc.rank;
    request.key = wanted.key;
    const Sources from{self_, reader, shadow_->reader(self_.nspace), nothing_, dstore::PrivateStore::kNone, false};
    Hit hit;
    return look_up(from, request, hit) == PMIX_SUCCESS;
}

// It has been fetched since the last exchange.
bool OpenPmixTranslator::has_new(const common::GetRequest& ours) const {
    Wanted wanted;
    wanted.proc = ours.proc;
    wanted.key = ours.key;
    return shadow_->freshness()->is_new(ours.proc.nspace, ours.proc.rank) && has(wanted);
}

void OpenPmixTranslator::take_get_reply(const Wanted& wanted, Bytes payload) {
    theirs::GetReply got;
    pmix_status_t rc = exchange_.status_of(payload, &got);
    common::Result<common::Blob> found = PMIX_ERR_NOT_FOUND;
    if (common::succeeded(rc)) rc = take_objects(wanted.proc.nspace, got.objects, wanted.exchanges, &wanted, &found);
    // Servers wait for a key that its process may still put, and report a limit of their own.
    if (rc == PMIX_ERR_TIMEOUT && !wanted.has_limit) rc = PMIX_ERR_NOT_FOUND;
    if (rc == PMIX_SUCCESS && got.objects.objects.empty() && !wanted.key.empty()) rc = PMIX_ERR_NOT_FOUND;
    const bool absent = rc == PMIX_ERR_NOT_FOUND || (rc == PMIX_SUCCESS && !found.ok() && !has(wanted));
    if (absent && wanted.can_be_absent) {
        if (absent_.size() >= kMostAbsent) absent_.clear();
        absent_.emplace(wanted.proc.rank, wanted.key);
    }
    if (rc != PMIX_SUCCESS) {
        // What has come in spite of it, the session finds.
        (void)shadow_->grant(wanted.proc.nspace, wanted.lacks);
        return exchange_.refuse(wanted.header, rc);
    }
    common::GetReply reply;
    // Of a level that the key alone does not say, or of nobody in particular: this is the answer.
    if (found.ok() && (common::is_reserved_key(wanted.key) || !common::is_real_rank(wanted.proc.rank))) {
        reply.is_inline = true;
        reply.value = std::move(found).value();
    }
    reply_with_segment(wanted.header, std::move(reply), wanted.proc.nspace, wanted.lacks);
}

// ---- a whole namespace ----

void OpenPmixTranslator::attach(const FrameHeader& header, Bytes payload) {
    common::AttachNspaceRequest ours;
    if (const pmix_status_t rc = common::decode_message(payload, ours); rc != PMIX_SUCCESS)
        return exchange_.refuse(header, rc);
    if (shadow_->reader(ours.nspace) != nullptr)
        return reply_with_segment(header, common::AttachNspaceReply{}, ours.nspace, true);
    InfoList at_once;
    if (at_once.append_flag(PMIX_IMMEDIATE, true) != PMIX_SUCCESS) throw std::bad_alloc();
    theirs::GetRequest request;
    request.nspace = text_or_null(ours.nspace);
    request.rank.value = PMIX_RANK_WILDCARD;
    request.infos.infos = std::move(at_once);
    const pmix_status_t rc =
        exchange_.ask(request, [this, header, nspace = ours.nspace, exchanges = shadow_->freshness()->exchanges()](
                                   Bytes answer) { take_attach_reply(header, nspace, exchanges, answer); });
    if (rc != PMIX_SUCCESS) exchange_.refuse(header, rc);
}

void OpenPmixTranslator::take_attach_reply(const FrameHeader& header, const std::string& nspace, uint64_t exchanges,
                                           Bytes payload) {
    theirs::GetReply got;
    pmix_status_t rc = exchange_.status_of(payload, &got);
    if (common::succeeded(rc)) rc = take_objects(nspace, got.objects, exchanges, nullptr, nullptr);
    if (rc == PMIX_SUCCESS && shadow_->reader(nspace) == nullptr) rc = PMIX_ERR_NOT_FOUND;
    if (rc != PMIX_SUCCESS) return exchange_.refuse(header, rc);
    reply_with_segment(header, common::AttachNspaceReply{}, nspace, true);
}

}  // namespace pmix::client
