// SPDX-License-Identifier: BSD-3-Clause
// What tests of groups ask a server for, as a client library does, and how they read the answers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/protocol/group_calls.h"
#include "common/values/proc_array.h"
#include "support/fake_client.h"
#include "support/info_lists.h"
#include "support/status.h"

namespace pmix::test {

using common::GroupCall;
using common::InfoList;
using common::ProcList;

inline const ProcId kAll("job", PMIX_RANK_WILDCARD);
inline const std::string kName = "myapp-group";

struct Done {
    pmix_status_t status = PMIX_ERR_LOST_CONNECTION;
    InfoList results;
    ProcList members;
};

inline Done done_of(FakeClient& client, uint32_t id) {
    Done done;
    auto reply = client.wait(id);
    if (!reply) return done;
    done.status = reply->header.status;
    common::GroupReply message;
    common::decode_message(reply->payload, message);
    done.results = message.infos.take();
    if (const pmix_info_t* info = done.results.find(PMIX_GROUP_MEMBERSHIP))
        common::read_proc_array(info->value, done.members);
    return done;
}

inline uint32_t start(FakeClient& client, GroupCall call, ProcList procs = {}, InfoList infos = {},
                      const std::string& name = kName) {
    common::GroupRequest request;
    request.call = call;
    request.name = name;
    request.procs = std::move(procs);
    request.infos = std::move(infos);
    return client.start<Command::group>(request);
}
inline uint32_t construct(FakeClient& client, ProcList procs = {kAll}, InfoList infos = {},
                          const std::string& name = kName) {
    return start(client, GroupCall::construct, std::move(procs), std::move(infos), name);
}
// As the client library does when an invitation has been answered: who invites, and the members.
inline uint32_t invited(FakeClient& client, const ProcId& inviter, ProcList members, bool leads = false,
                        InfoList infos = {}) {
    common::GroupRequest request;
    request.call = GroupCall::construct;
    request.name = kName;
    request.procs = std::move(members);
    if (leads) infos.append_flag(PMIX_GROUP_LEADER, true);
    request.infos = std::move(infos);
    InfoList who;
    const pmix_proc_t proc = inviter.to_c();
    who.append(PMIX_GROUP_LEADER, &proc, PMIX_PROC);
    request.directives = std::move(who);
    return client.start<Command::group>(request);
}
inline uint32_t destruct(FakeClient& client, const std::string& name = kName) {
    return start(client, GroupCall::destruct, {}, {}, name);
}

inline InfoList timed(InfoList list) {
    list.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
    return list;
}

inline void listen(FakeClient& client, std::vector<int32_t> codes) {
    common::RegisterEventsRequest request;
    request.codes = std::move(codes);
    request.reference = 7;
    ASSERT_STATUS(PMIX_SUCCESS, client.ask<Command::register_events>(request));
}

// A server with a fake host and the job "job", all processes of this node connected.
struct Setting {
    explicit Setting(unsigned nodes = 1, unsigned ppn = 3, bool with_host = true) {
        module = host.module();
        if (!with_host) module.group = nullptr;
        server = std::make_unique<TestServer>(&module);
        server->job("job", nodes, ppn);
        for (unsigned r = 0; r < ppn; ++r) {
            clients.push_back(std::make_unique<FakeClient>(*server, ProcId("job", r)));
            EXPECT_STATUS(PMIX_SUCCESS, clients.back()->hello());
        }
    }
    FakeClient& operator[](size_t i) { return *clients[i]; }
    void kill(size_t i) {
        clients[i]->kill();
        server->settle();
    }
    FakeHost host;
    pmix_server_module_t module;
    std::unique_ptr<TestServer> server;
    std::vector<std::unique_ptr<FakeClient>> clients;
};

// What a leader of a bootstrap construct says: how many leaders there are, and the processes that it adds.
inline InfoList leading(size_t leaders, const ProcList& added = {}) {
    InfoList list;
    list.append_number<size_t>(PMIX_GROUP_BOOTSTRAP, leaders, PMIX_SIZE);
    if (!added.empty()) common::append_proc_array(list, PMIX_GROUP_ADD_MEMBERS, added);
    return list;
}

}  // namespace pmix::test
