// SPDX-License-Identifier: BSD-3-Clause
#include "server/services/counter_page.h"

#include <unistd.h>

#include "common/protocol/messages.h"
#include "common/values/array_value.h"

namespace pmix::server {
namespace {

using common::InfoList;
using common::Value;

// Collects the status of the first thing that fails.
class Page {
  public:
    void number(std::string_view key, uint64_t n) { keep(infos_.append_number(key, n, PMIX_UINT64)); }
    void group(const char* key, Page&& inner) {
        auto value = inner.status_ == PMIX_SUCCESS ? common::array_value(std::move(inner.infos_)) : inner.status_;
        keep(value ? infos_.append(key, std::move(value).value()) : value.status());
    }
    void keep(pmix_status_t rc) {
        if (status_ == PMIX_SUCCESS) status_ = rc;
    }
    InfoList& infos() noexcept { return infos_; }
    common::Result<Value> done() && {
        if (status_ != PMIX_SUCCESS) return status_;
        return common::array_value(std::move(infos_));
    }

  private:
    InfoList infos_;
    pmix_status_t status_ = PMIX_SUCCESS;
};

struct Kind {
    common::Command command;
    const char* name;
};

// What a client may send after its hello; a kind that is only sent to clients would always be 0.
constexpr Kind kKinds[] = {
#define WIREUP_COMMAND(number, name, request, reply, since) {common::Command::name, #name},
#define WIREUP_NOTIFY(number, name, message, since) {common::Command::name, #name},
#include "common/protocol/commands.def"
};
static_assert([] {
    for (const Kind& kind : kKinds)
        if (static_cast<size_t>(kind.command) >= Counters::kKinds) return false;
    return true;
}());

constexpr bool is_request(common::Command command) noexcept {
    using enum common::Command;
    switch (command) {
        case hello:
        case identity:
        case event:
        case iof:
        case segment_gone:
        case commit_refused:
            return false;
        default:
            return true;
    }
}

Page requests(const Counters& counters) {
    Page page;
    for (const Kind& kind : kKinds)
        if (is_request(kind.command)) page.number(kind.name, counters.requests[static_cast<size_t>(kind.command)]);
    page.number("unknown", counters.requests[0]);
    return page;
}

Page refused(const Counters& counters) {
    Page page;
    page.number("request", counters.refused_requests);
    page.number("connection", counters.refused_connections);
    page.number("commit", counters.refused_commits);
    return page;
}

Page held(const Budget& budget) {
    Page page;
    for (const auto& [uid, account] : budget.accounts()) page.number(std::to_string(uid), account->used());
    return page;
}

Page peers(const Known& known) {
    uint64_t clients = 0, tools = 0, observers = 0;
    for (const auto& [serial, peer] : known.peers) {
        clients += peer->kind() == PeerKind::client;
        tools += peer->kind() == PeerKind::tool;
        observers += peer->kind() == PeerKind::observer;
    }
    Page page;
    page.number("client", clients);
    page.number("tool", tools);
    page.number("observer", observers);
    return page;
}

}  // namespace

common::Result<Value> make_counter_page(const Known& known, const CounterSources& sources) {
    transport::assert_on_loop();
    Page page;
    page.keep(page.infos().append_string(PMIX_SERVER_NSPACE, known.server.nspace));
    page.keep(page.infos().append_number(PMIX_SERVER_RANK, known.server.rank, PMIX_PROC_RANK));
    page.keep(page.infos().append_string(PMIX_HOSTNAME, known.registry.hostname()));
    page.keep(page.infos().append_number(PMIX_SERVER_PIDINFO, ::getpid(), PMIX_PID));
    page.group(WIREUP_COUNTER_REQUESTS, requests(sources.counters));
    page.group(WIREUP_COUNTER_REFUSED, refused(sources.counters));
    page.number(WIREUP_COUNTER_UPCALLS, sources.host.upcalls_made());
    page.number(WIREUP_COUNTER_OPEN, sources.host.upcalls_open());
    page.group(WIREUP_COUNTER_HELD, held(sources.budget));
    page.group(WIREUP_COUNTER_PEERS, peers(known));
    page.number(WIREUP_COUNTER_STALL, sources.loop.longest_pass_us());
    page.number(WIREUP_COUNTER_SLOW, sources.loop.slow_passes());
    return std::move(page).done();
}

}  // namespace pmix::server
