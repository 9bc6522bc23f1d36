// SPDX-License-Identifier: BSD-3-Clause
// The fabric of a job through the public API: the contents of a node's inventory, a host's request answered from it,
// and what the job's processes find.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "support/server_here.h"
#include "support/status.h"
#include "topology/hwloc_library.h"

namespace fabric_allocation_test {

using namespace pmix::test;
using pmix::common::infos_in;
using pmix::common::InfoView;

namespace {

struct SetupAnswer {
    Answer answer;
    InfoList infos;
    static void done(pmix_status_t status, pmix_info_t infos[], size_t n, void* mine, pmix_op_cbfunc_t release,
                     void* release_data) {
        auto* s = static_cast<SetupAnswer*>(mine);
        s->infos.append_all(infos, n);
        if (release != nullptr) release(PMIX_SUCCESS, release_data);
        s->answer.promise.set_value(status);
    }
    pmix_status_t ask(const InfoList& options) {
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        const pmix_status_t rc = PMIx_server_setup_application(job, const_cast<pmix_info_t*>(options.c_array()),
                                                               options.size(), &SetupAnswer::done, this);
        return rc == PMIX_SUCCESS ? answer.wait() : rc;
    }
    InfoView fabric() const {
        const pmix_info_t* info = infos.find(PMIX_ALLOC_FABRIC);
        return info == nullptr ? InfoView(nullptr, 0) : infos_in(info->value);
    }
};

void nest(InfoList& into, const char* key, InfoList&& infos, bool required = false) {
    auto array = pmix::common::array_value(std::move(infos));
    ASSERT_TRUE(array.ok());
    into.append(key, std::move(array).value(), required ? PMIX_INFO_REQD : 0);
}

InfoList device(const char* name, const char* type) {
    InfoList facts;
    facts.append_string(PMIX_FABRIC_DEVICE_NAME, name);
    facts.append_string(PMIX_FABRIC_DEVICE_TYPE, type);
    return facts;
}

void deliver(const char* node, std::initializer_list<std::pair<const char*, const char*>> devices) {
    InfoList list, facts, all;
    for (const auto& [name, type] : devices) nest(list, PMIX_FABRIC_DEVICE, device(name, type));
    facts.append_string(PMIX_HOSTNAME, node);
    nest(facts, PMIX_FABRIC_DEVICES, std::move(list));
    nest(all, PMIX_NODE_INFO_ARRAY, std::move(facts));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deliver_inventory(all.c_array(), all.size(), nullptr, 0, nullptr, nullptr));
}

InfoList request(const char* id, const char* type, bool key = false) {
    InfoList wanted;
    if (id != nullptr) wanted.append_string(PMIX_ALLOC_FABRIC_ID, id);
    if (type != nullptr) wanted.append_string(PMIX_ALLOC_FABRIC_TYPE, type);
    wanted.append_number<size_t>(PMIX_ALLOC_FABRIC_ENDPTS, 1, PMIX_SIZE);
    if (key) wanted.append_flag(PMIX_ALLOC_FABRIC_SEC_KEY, true);
    return wanted;
}

InfoList options(InfoList&& fabric, const char* nodes, bool required = false) {
    InfoList all;
    if (nodes != nullptr) all.append_string(PMIX_NODE_MAP, nodes);
    nest(all, PMIX_ALLOC_FABRIC, std::move(fabric), required);
    return all;
}

// "n0:eth0,eth1;n1:eth0"
std::string by_node(const pmix_value_t& description) {
    std::string out;
    for (const pmix_info_t& node : infos_in(description)) {
        if (!out.empty()) out += ';';
        const InfoView facts = infos_in(node.value);
        out += std::string(facts.find(PMIX_HOSTNAME)->value.data.string) + ":";
        for (const pmix_info_t& one : infos_in(facts.find(PMIX_FABRIC_DEVICES)->value)) {
            if (out.back() != ':') out += ',';
            out += infos_in(one.value).find(PMIX_FABRIC_DEVICE_NAME)->value.data.string;
        }
    }
    return out;
}

}  // namespace

// rows: V14 V16
// proves: PMIx_server_setup_application PMIX_ALLOC_FABRIC PMIX_ALLOC_FABRIC_ID PMIX_ALLOC_FABRIC_TYPE PMIX_NODE_MAP
// proves: PMIx_server_deliver_inventory PMIX_NODE_INFO_ARRAY PMIX_HOSTNAME PMIX_FABRIC_DEVICES
TEST(FabricAllocationTest, DevicesOfTheWantedKindByNode) {
    ServerHere server;
    deliver("n0", {{"eth0", "ethernet"}, {"mlx5_0", "openfabrics"}, {"eth1", "ethernet"}});
    deliver("n1", {{"ib0", "infiniband"}, {"mlx5_1", "openfabrics"}});
    deliver("n2", {{"nv0", "nvlink"}});
    SetupAnswer sockets, verbs, all, own;
    ASSERT_STATUS(PMIX_SUCCESS, sockets.ask(options(request("my.net", "tcp"), "n0,n1")));
    ASSERT_EQ(2u, sockets.fabric().size());
    EXPECT_STREQ("my.net", sockets.fabric()[0].key);
    EXPECT_EQ("n0:eth0,eth1;n1:ib0", by_node(sockets.fabric()[0].value));
    EXPECT_STREQ("tcp", sockets.fabric().find(PMIX_ALLOC_FABRIC_TYPE)->value.data.string);
    EXPECT_EQ(nullptr, sockets.fabric().find(PMIX_ALLOC_FABRIC_ENDPTS)) << "none was reserved";
    ASSERT_STATUS(PMIX_SUCCESS, verbs.ask(options(request("v", "verbs"), "pmix[n[1:0-1]]")));
    EXPECT_EQ("n0:mlx5_0;n1:mlx5_1", by_node(verbs.fabric()[0].value));
    ASSERT_STATUS(PMIX_SUCCESS, own.ask(options(request("o", "nvlink"), "n2")));
    EXPECT_EQ("n2:nv0", by_node(own.fabric()[0].value)) << "kinds of the host's own";
    // Without a map: every node that is known, and one of them has no such device.
    ASSERT_STATUS(PMIX_SUCCESS, all.ask(options(request("a", "tcp"), nullptr)));
    EXPECT_EQ(0u, all.fabric().size());
}

// rows: V14
TEST(FabricAllocationTest, WhatCannotBeMet) {
    ServerHere server;
    deliver("n0", {{"eth0", "ethernet"}});
    struct Case {
        InfoList options;
        pmix_status_t status;
    };
    Case cases[] = {{options(request("f", "tcp"), "n0,n9"), PMIX_SUCCESS},  // nobody insists
                    {options(request("f", "tcp"), "n0,n9", true), PMIX_ERR_NOT_SUPPORTED},
                    {options(request("f", "verbs"), "n0", true), PMIX_ERR_NOT_SUPPORTED},
                    {options(request(nullptr, "tcp"), "n0"), PMIX_ERR_BAD_PARAM},
                    {options(request("f", nullptr), "n0"), PMIX_ERR_BAD_PARAM},
                    {options(request("f", "tcp"), "pmix["), PMIX_ERR_BAD_PARAM}};
    for (Case& c : cases) {
        SetupAnswer s;
        EXPECT_EQ(c.status, s.ask(c.options)) << &c - cases;
        EXPECT_EQ(0u, s.fabric().size());
    }
    // A required option inside the request that the library cannot meet.
    InfoList strict = request("f", "tcp");
    PMIx_Info_required(strict.find(PMIX_ALLOC_FABRIC_ENDPTS));
    SetupAnswer s;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, s.ask(options(std::move(strict), "n0", true)));
}

// rows: V14 V15
// proves: PMIx_server_setup_application PMIX_ALLOC_FABRIC_SEC_KEY
// proves: PMIx_server_setup_local_support PMIX_ALLOC_FABRIC
TEST(FabricAllocationTest, TheJobFindsItsFabricAndItsKey) {
    ServerHere server;
    deliver("n0", {{"eth0", "ethernet"}});
    register_job("job");
    std::string keys[2];
    for (std::string& key : keys) {
        SetupAnswer s;
        ASSERT_STATUS(PMIX_SUCCESS, s.ask(options(request("net", "tcp", true), "n0")));
        ASSERT_NE(nullptr, s.fabric().find(PMIX_ALLOC_FABRIC_SEC_KEY));
        pmix_nspace_t job;
        PMIx_Load_nspace(job, "job");
        ASSERT_STATUS(PMIX_OPERATION_SUCCEEDED,
                      PMIx_server_setup_local_support(job, s.infos.c_array(), s.infos.size(), nullptr, nullptr));
        const pmix_proc_t all = ProcId("job", PMIX_RANK_WILDCARD).to_c();
        pmix_value_t* found = nullptr;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(&all, "net", nullptr, 0, &found));
        const InfoView fabric = infos_in(*found);
        ASSERT_EQ(3u, fabric.size());
        EXPECT_EQ("n0:eth0", by_node(fabric[0].value));
        const pmix_value_t& secret = fabric.find(PMIX_ALLOC_FABRIC_SEC_KEY)->value;
        ASSERT_EQ(PMIX_BYTE_OBJECT, secret.type);
        key.assign(secret.data.bo.bytes, secret.data.bo.size);
        PMIx_Value_free(found, 1);
    }
    EXPECT_EQ(32u, keys[0].size());
    EXPECT_NE(keys[0], keys[1]) << "another request, another key";
    // What no server of this library made.
    InfoList bent;
    nest(bent, PMIX_ALLOC_FABRIC, InfoList());
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  PMIx_server_setup_local_support(job, bent.c_array(), bent.size(), nullptr, nullptr));
}

namespace {

struct Collected {
    Answer answer;
    InfoList infos;
    static void done(pmix_status_t status, pmix_info_t* infos, size_t n, void* mine, pmix_release_cbfunc_t release,
                     void* release_data) {
        auto* self = static_cast<Collected*>(mine);
        self->infos.append_all(infos, n);
        if (release != nullptr) release(release_data);
        self->answer.promise.set_value(status);
    }
};

}  // namespace

// From the node's own topology, over the scheduler's server, to a job. rows: V14 V16
TEST(FabricAllocationTest, WhatANodeCollectsServesARequest) {
    if (pmix::api::Hwloc::open() == nullptr) GTEST_SKIP() << "hwloc is not installed";
    std::ifstream file(WIREUP_SOURCE_DIR "/tests/support/topologies/two_packages.xml");
    const std::string xml{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    InfoList infos = ServerHere::named();
    infos.append_string(PMIX_HOSTNAME, "n0");
    infos.append_string(PMIX_TOPOLOGY_XML, xml);
    ServerHere server(nullptr, std::move(infos));
    Collected collected;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_collect_inventory(nullptr, 0, &Collected::done, &collected));
    ASSERT_STATUS(PMIX_SUCCESS, collected.answer.wait());
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_deliver_inventory(collected.infos.c_array(), collected.infos.size(),
                                                              nullptr, 0, nullptr, nullptr));
    SetupAnswer sockets, verbs;
    ASSERT_STATUS(PMIX_SUCCESS, sockets.ask(options(request("net", "tcp"), "n0")));
    EXPECT_EQ("n0:eth0,ib0,eth1,eth2", by_node(sockets.fabric()[0].value));
    ASSERT_STATUS(PMIX_SUCCESS, verbs.ask(options(request("net", "verbs"), "n0")));
    EXPECT_EQ("n0:mlx5_0", by_node(verbs.fabric()[0].value));
}

}  // namespace fabric_allocation_test
