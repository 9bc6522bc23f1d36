// SPDX-License-Identifier: BSD-3-Clause
// Fabrics through the public functions: described by the node's devices in a singleton and in a server without a
// host, and by a host, whose description comes with pointers and changes.
#include "common/protocol/fabric.h"

#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "common/values/array_value.h"
#include "support/own_module.h"
#include "support/server_here.h"
#include "support/status.h"
#include "topology/hwloc_library.h"

namespace pmix::test::fabric_test {
namespace {

using common::InfoView;

InfoView description(const pmix_fabric_t& fabric) {
    return {fabric.info, fabric.ninfo};
}

std::string text(InfoView infos, const char* key) {
    std::string_view value = "(none)";
    infos.get(key, &value);
    return std::string(value);
}

size_t number(InfoView infos, const char* key) {
    size_t value = 4711;
    infos.get(key, &value);
    return value;
}

pmix_info_t directive(const char* key, const char* value, bool required = false) {
    pmix_info_t info = PMIX_INFO_STATIC_INIT;
    PMIx_Load_key(info.key, key);
    info.value.type = PMIX_STRING;
    info.value.data.string = const_cast<char*>(value);
    if (required) PMIx_Info_required(&info);
    return info;
}

// A binding frees what it is shown of them.
bool has_arrays_of_infos(const pmix_fabric_t& fabric) {
    const InfoView infos = description(fabric);
    return std::any_of(infos.begin(), infos.end(), [](const pmix_info_t& info) {
        return info.value.type == PMIX_DATA_ARRAY && info.value.data.darray->type == PMIX_INFO;
    });
}

void expect_empty(const pmix_fabric_t& fabric) {
    EXPECT_EQ(nullptr, fabric.info);
    EXPECT_EQ(0u, fabric.ninfo);
    EXPECT_EQ(nullptr, fabric.module);
}

// ---- from devices ----

class FabricOfDevices : public ::testing::Test {
  protected:
    void SetUp() override {
        if (api::Hwloc::open() == nullptr) GTEST_SKIP() << "hwloc is not installed";
        for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) unsetenv(name);
        setenv("HWLOC_XMLFILE", WIREUP_SOURCE_DIR "/tests/support/topologies/two_packages.xml", 1);
    }
    void TearDown() override { unsetenv("HWLOC_XMLFILE"); }

    static void expect_each_way() {
        pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
        fabric.name = const_cast<char*>("mine");
        // The one that jobs' messages go over, where nobody chooses.
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
        EXPECT_STREQ("mine", fabric.name);
        EXPECT_EQ("infiniband", text(description(fabric), PMIX_FABRIC_IDENTIFIER));
        EXPECT_EQ("0x15b3", text(description(fabric), PMIX_FABRIC_VENDOR));
        EXPECT_EQ(1u, number(description(fabric), PMIX_FABRIC_NUM_DEVICES));
        EXPECT_EQ(fabric.index, number(description(fabric), PMIX_FABRIC_INDEX));
        EXPECT_FALSE(has_arrays_of_infos(fabric));
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update(&fabric));
        EXPECT_EQ(1u, number(description(fabric), PMIX_FABRIC_NUM_DEVICES));

        // A network is none, and its interfaces are devices.
        pmix_fabric_t other = PMIX_FABRIC_STATIC_INIT;
        pmix_info_t ethernet = directive(PMIX_FABRIC_IDENTIFIER, "ethernet", true);
        ASSERT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Fabric_register(&other, &ethernet, 1));
        pmix_value_t* devices = nullptr;
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get(nullptr, PMIX_FABRIC_DEVICES, nullptr, 0, &devices));
        std::vector<std::string> names;
        InfoView first(nullptr, 0);
        for (const pmix_info_t& device : common::infos_in(*devices)) {
            EXPECT_STREQ(PMIX_FABRIC_DEVICE, device.key);
            names.push_back(text(common::infos_in(device.value), PMIX_FABRIC_DEVICE_NAME));
            if (names.back() == "eth0") first = common::infos_in(device.value);
        }
        std::sort(names.begin(), names.end());
        EXPECT_EQ((std::vector<std::string>{"eth0", "eth1", "eth2", "ib0", "mlx5_0"}), names);
        ASSERT_NE(0u, first.size());
        EXPECT_STREQ(PMIX_DEVICE_ID, first[0].key) << "first, by the Standard";
        EXPECT_EQ("ipv4://02:00:00:00:00:10", text(first, PMIX_DEVICE_ID));
        EXPECT_NE("(none)", text(first, PMIX_HOSTNAME));
        EXPECT_EQ("0x15b3", text(first, PMIX_FABRIC_DEVICE_VENDOR));
        EXPECT_EQ("PCI", text(first, PMIX_FABRIC_DEVICE_BUS_TYPE));
        EXPECT_EQ("0000:01:00:00", text(first, PMIX_FABRIC_DEVICE_PCI_DEVID));
        PMIx_Value_free(devices, 1);

        // By number, which is the fabric's for as long as the process knows it.
        pmix_fabric_t again = PMIX_FABRIC_STATIC_INIT;
        pmix_info_t which = PMIX_INFO_STATIC_INIT;
        PMIx_Info_load(&which, PMIX_FABRIC_INDEX, &fabric.index, PMIX_SIZE);
        ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&again, &which, 1));
        EXPECT_EQ("infiniband", text(description(again), PMIX_FABRIC_IDENTIFIER));
        const size_t unknown_number = fabric.index + 7;
        PMIx_Info_load(&which, PMIX_FABRIC_INDEX, &unknown_number, PMIX_SIZE);
        EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Fabric_register(&other, &which, 1));

        // What is not here, each by its directive.
        pmix_fabric_t none = PMIX_FABRIC_STATIC_INIT;
        for (const char* key : {PMIX_FABRIC_PLANE, PMIX_FABRIC_IDENTIFIER, PMIX_FABRIC_VENDOR}) {
            pmix_info_t unknown = directive(key, "nowhere", true);
            EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Fabric_register(&none, &unknown, 1)) << key;
            const int seven = 7;
            pmix_info_t wrong = PMIX_INFO_STATIC_INIT;
            PMIx_Info_load(&wrong, key, &seven, PMIX_INT);
            EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register(&none, &wrong, 1)) << key;
        }
        pmix_info_t vendor = directive(PMIX_FABRIC_VENDOR, "0x15b3");
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&none, &vendor, 1));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&none));
        pmix_info_t strange = directive("site.fabric.color", "green", true);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fabric_register(&none, &strange, 1));
        expect_empty(none);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update(&none)) << "not registered";
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister(&none));

        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
        expect_empty(fabric);
        EXPECT_STREQ("mine", fabric.name);
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister(&fabric)) << "twice";
        // This one stays: the last finalize frees what it holds.
    }
};

// rows: X3 X4
// proves: PMIx_Fabric_register client PMIX_FABRIC_VENDOR PMIX_FABRIC_IDENTIFIER PMIX_FABRIC_PLANE PMIX_FABRIC_INDEX
TEST_F(FabricOfDevices, AProcessAloneSeesItsOwnNode) {
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, nullptr, 0));
    expect_each_way();
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: X3 X4
// proves: PMIx_Fabric_register server PMIX_FABRIC_VENDOR PMIX_FABRIC_IDENTIFIER PMIX_FABRIC_PLANE PMIX_FABRIC_INDEX
TEST_F(FabricOfDevices, AServerWithoutAHostSeesItsNode) {
    ServerHere server;
    expect_each_way();
}

// rows: X3
TEST_F(FabricOfDevices, WhatHostsDeliveredOfOtherNodesCountsToo) {
    ServerHere server;
    InfoList device, devices, node, delivered;
    device.append_string(PMIX_DEVICE_ID, "far");
    device.append_string(PMIX_FABRIC_DEVICE_NAME, "far0");
    device.append_string(PMIX_FABRIC_DEVICE_TYPE, "infiniband");
    devices.append(PMIX_FABRIC_DEVICE, std::move(common::array_value(std::move(device))).value());
    node.append_string(PMIX_HOSTNAME, "another-node");
    node.append(PMIX_FABRIC_DEVICES, std::move(common::array_value(std::move(devices))).value());
    delivered.append(PMIX_NODE_INFO_ARRAY, std::move(common::array_value(std::move(node))).value());
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_server_deliver_inventory(delivered.c_array(), delivered.size(), nullptr, 0, nullptr, nullptr));
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
    EXPECT_EQ(2u, number(description(fabric), PMIX_FABRIC_NUM_DEVICES));
    EXPECT_EQ("unknown", text(description(fabric), PMIX_FABRIC_VENDOR)) << "not all are of one";
}

// rows: X3
TEST(FabricOfNetworks, PlainInterfacesAreNoFabric) {
    for (const char* type : {"ethernet", "network"}) {
        InfoList device, devices;
        device.append_string(PMIX_DEVICE_ID, "one");
        device.append_string(PMIX_FABRIC_DEVICE_TYPE, type);
        devices.append(PMIX_FABRIC_DEVICE, std::move(common::array_value(std::move(device))).value());
        common::FabricNumbers numbers;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, common::describe_fabric(devices, InfoView(nullptr, 0), numbers).status())
            << type;
        const pmix_info_t by_name = directive(PMIX_FABRIC_IDENTIFIER, type);
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, common::describe_fabric(devices, {&by_name, 1}, numbers).status());
    }
}

// rows: X3
TEST_F(FabricOfDevices, NoDeviceIsNoFabric) {
    unsetenv("HWLOC_XMLFILE");
    setenv("HWLOC_SYNTHETIC", "Core:2 PU:1", 1);
    {
        ServerHere server;
        pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fabric_register(&fabric, nullptr, 0));
        expect_empty(fabric);
    }
    unsetenv("HWLOC_SYNTHETIC");
}

// ---- from a host ----

// A host with one fabric of two devices, and with three after it has grown. What the library borrows is freed by
// release.
struct FabricHost {
    static inline FabricHost* current = nullptr;
    FabricHost() { current = this; }
    ~FabricHost() { current = nullptr; }

    pmix_status_t returns = PMIX_SUCCESS, status = PMIX_SUCCESS;
    bool says_nothing = false;
    std::atomic<size_t> devices{2};
    std::atomic<int> requests{0}, updates{0}, released{0};
    InfoList seen;

    struct Borrowed {
        std::vector<uint16_t> costs;
        std::vector<uint32_t> place{3, 5};
        InfoList infos;
    };
    static pmix_status_t fabric(const pmix_proc_t*, pmix_fabric_operation_t operation, const pmix_info_t directives[],
                                size_t n, pmix_info_cbfunc_t done, void* cbdata) {
        FabricHost& host = *current;
        (operation == PMIX_FABRIC_UPDATE_INFO ? host.updates : host.requests)++;
        host.seen.reset();
        host.seen.append_all(directives, n);
        if (host.returns != PMIX_SUCCESS) return host.returns;
        auto* borrowed = new Borrowed;
        if (!host.says_nothing) host.describe(*borrowed);
        done(host.status, borrowed->infos.c_array(), borrowed->infos.size(), cbdata, &release, borrowed);
        return PMIX_SUCCESS;
    }
    void describe(Borrowed& borrowed) {
        const size_t n = devices;
        for (size_t i = 0; i < n * n; ++i)
            borrowed.costs.push_back(static_cast<uint16_t>(i / n == i % n ? 0 : 10 * n + i));
        InfoList& infos = borrowed.infos;
        infos.append_string(PMIX_FABRIC_VENDOR, "Loom");
        infos.append_string(PMIX_FABRIC_IDENTIFIER, "warp-1");
        infos.append_string(PMIX_FABRIC_GROUPS, "0:a,b;1:c");
        infos.append_number(PMIX_FABRIC_NUM_DEVICES, n, PMIX_SIZE);
        infos.append_number<void*>(PMIX_FABRIC_COST_MATRIX, borrowed.costs.data(), PMIX_POINTER);
        infos.append_number<void*>("host.own", this, PMIX_POINTER);
        pmix_coord_t at{PMIX_COORD_PHYSICAL_VIEW, borrowed.place.data(), borrowed.place.size()};
        pmix_geometry_t geometry{7, const_cast<char*>("uuid-0"), const_cast<char*>("warp0"), &at, 1};
        const pmix_data_array_t places{PMIX_GEOMETRY, 1, &geometry};
        infos.append(PMIX_FABRIC_COORDINATES, &places, PMIX_DATA_ARRAY);
    }
    static void release(void* borrowed) {
        auto* gone = static_cast<Borrowed*>(borrowed);
        std::fill(gone->costs.begin(), gone->costs.end(), 0xdead);
        delete gone;
        current->released++;
    }
    static pmix_server_module_t module() {
        pmix_server_module_t m{};
        m.fabric = &fabric;
        return m;
    }
};

void expect_costs(const pmix_fabric_t& fabric, size_t n) {
    void* costs = nullptr;
    EXPECT_STATUS(PMIX_SUCCESS, description(fabric).get(PMIX_FABRIC_COST_MATRIX, &costs));
    ASSERT_NE(nullptr, costs);
    EXPECT_EQ(n, number(description(fabric), PMIX_FABRIC_NUM_DEVICES));
    const auto* matrix = static_cast<const uint16_t*>(costs);
    for (size_t i = 0; i < n * n; ++i) EXPECT_EQ(i / n == i % n ? 0 : 10 * n + i, matrix[i]) << i;
}

class FabricOfAHost : public ::testing::Test {
  protected:
    FabricHost host;
    pmix_server_module_t module = FabricHost::module();
    ServerHere server{&module};
    pmix_fabric_t fabric = PMIX_FABRIC_STATIC_INIT;
    void SetUp() override { ask_own_module(); }
};

// rows: X3 X4 U17
TEST_F(FabricOfAHost, ItsDescriptionIsTheCallersAndIsBroughtUpToDate) {
    pmix_info_t required = directive("site.fabric.color", "green", true);
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Fabric_register(&fabric, &required, 1))
        << "nobody registered it as supported";
    pmix_info_t directives[] = {directive(PMIX_FABRIC_PLANE, "p1", true),
                                directive("site.fabric.color", "green", false)};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, directives, 2));
    EXPECT_EQ("p1", text(host.seen, PMIX_FABRIC_PLANE)) << "the host's to read, like what only the host has";
    EXPECT_EQ("green", text(host.seen, "site.fabric.color"));
    EXPECT_EQ(::geteuid(), number(host.seen, PMIX_USERID));
    EXPECT_EQ(1, host.released);
    EXPECT_EQ("Loom", text(description(fabric), PMIX_FABRIC_VENDOR));
    EXPECT_EQ("0:a,b;1:c", text(description(fabric), PMIX_FABRIC_GROUPS));
    EXPECT_FALSE(description(fabric).has("host.own")) << "an address that means nothing elsewhere";
    expect_costs(fabric, 2);
    const pmix_info_t* places = description(fabric).find(PMIX_FABRIC_COORDINATES);
    ASSERT_NE(nullptr, places);
    ASSERT_EQ(PMIX_GEOMETRY, places->value.data.darray->type);
    const auto* geometry = static_cast<const pmix_geometry_t*>(places->value.data.darray->array);
    EXPECT_STREQ("warp0", geometry->osname);
    EXPECT_EQ(PMIX_COORD_PHYSICAL_VIEW, geometry->coordinates[0].view);
    EXPECT_EQ(5u, geometry->coordinates[0].coord[1]);

    host.devices = 3;
    const size_t index = fabric.index;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update(&fabric));
    EXPECT_EQ(1, host.updates);
    EXPECT_EQ(index, number(host.seen, PMIX_FABRIC_INDEX)) << "which one is meant";
    EXPECT_EQ("p1", text(host.seen, PMIX_FABRIC_PLANE));
    EXPECT_EQ(index, fabric.index);
    expect_costs(fabric, 3);

    // Nothing has changed, and nothing can be said: the contents stay.
    host.says_nothing = true;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update(&fabric));
    expect_costs(fabric, 3);
    host.returns = PMIX_ERR_NOT_FOUND;
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, PMIx_Fabric_update(&fabric));
    expect_costs(fabric, 3);
    host.returns = PMIX_OPERATION_SUCCEEDED;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update(&fabric));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
    expect_empty(fabric);

    // Zeroed without a deregistration, and registered anew.
    host.returns = PMIX_SUCCESS;
    host.says_nothing = false;
    host.devices = 2;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
    fabric = PMIX_FABRIC_STATIC_INIT;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
    expect_costs(fabric, 2);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
}

// rows: X3 U17
TEST_F(FabricOfAHost, WhatItRefusesIsRefusedAndWhatItDoesNotKnowTheDevicesTell) {
    for (const pmix_status_t refusal : {PMIX_ERR_NO_PERMISSIONS, PMIX_ERR_NOT_FOUND}) {
        host.returns = refusal;
        EXPECT_EQ(refusal, PMIx_Fabric_register(&fabric, nullptr, 0));
        host.returns = PMIX_SUCCESS;
        host.status = refusal;
        EXPECT_EQ(refusal, PMIx_Fabric_register(&fabric, nullptr, 0));
        host.status = PMIX_SUCCESS;
    }
    expect_empty(fabric);
    pmix_info_t nowhere = directive(PMIX_FABRIC_PLANE, "nowhere");
    for (const pmix_status_t silent : {PMIX_ERR_NOT_SUPPORTED, PMIX_OPERATION_SUCCEEDED}) {
        host.returns = silent;
        const pmix_status_t rc = PMIx_Fabric_register(&fabric, &nowhere, 1);
        // By whether this machine has a device that hwloc sees.
        EXPECT_TRUE(rc == PMIX_ERR_NOT_FOUND || rc == PMIX_ERR_NOT_SUPPORTED) << rc;
    }
}

// rows: X3 X4 G3
TEST_F(FabricOfAHost, EachCallWithACallback) {
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register_nb(&fabric, nullptr, 0, nullptr, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_register_nb(nullptr, nullptr, 0, Answer::done, nullptr));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_update_nb(&fabric, Answer::done, nullptr)) << "not registered";
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, PMIx_Fabric_deregister_nb(&fabric, Answer::done, nullptr));
    Answer registered, updated, gone;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register_nb(&fabric, nullptr, 0, Answer::done, &registered));
    ASSERT_STATUS(PMIX_SUCCESS, registered.wait());
    expect_costs(fabric, 2);
    host.devices = 3;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_update_nb(&fabric, Answer::done, &updated));
    ASSERT_STATUS(PMIX_SUCCESS, updated.wait());
    expect_costs(fabric, 3);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister_nb(&fabric, Answer::done, &gone));
    ASSERT_STATUS(PMIX_SUCCESS, gone.wait());
    expect_empty(fabric);
    Answer refused;
    host.status = PMIX_ERR_NOT_FOUND;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register_nb(&fabric, nullptr, 0, Answer::done, &refused));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, refused.wait());
    expect_empty(fabric);
    host.status = PMIX_SUCCESS;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
    EXPECT_STATUS(PMIX_OPERATION_SUCCEEDED, PMIx_Fabric_deregister_nb(&fabric, nullptr, nullptr));
}

// What the handler for a coming update saw, and the word that it is over.
struct Watcher {
    static inline Watcher* current = nullptr;
    const pmix_fabric_t* fabric = nullptr;
    size_t before = 0;
    Answer over;
    static void pending(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t*, size_t, pmix_info_t*, size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        current->before = number(description(*current->fabric), PMIX_FABRIC_NUM_DEVICES);
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
    static void updated(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, size_t n, pmix_info_t*, size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        EXPECT_TRUE(common::InfoView(infos, n).flag(PMIX_EVENT_NON_DEFAULT)) << "news, no failure";
        current->over.promise.set_value(PMIX_SUCCESS);
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
};

// rows: X4
TEST_F(FabricOfAHost, WhoWatchesForUpdatesGetsThemAfterItsHandlers) {
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Fabric_register(&fabric, nullptr, 0));
    Watcher watcher;
    Watcher::current = &watcher;
    watcher.fabric = &fabric;
    pmix_proc_t self = ServerHere::self();
    host.devices = 3;
    // A caller that does not watch for it is left alone: it may be reading.
    ASSERT_STATUS(PMIX_SUCCESS,
                  PMIx_Notify_event(PMIX_FABRIC_UPDATE_PENDING, &self, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    pmix_status_t code = PMIX_FABRIC_UPDATED;
    ASSERT_LE(0, PMIx_Register_event_handler(&code, 1, nullptr, 0, Watcher::updated, nullptr, nullptr));
    EXPECT_EQ(0, host.updates);
    expect_costs(fabric, 2);
    code = PMIX_FABRIC_UPDATE_PENDING;
    // The handler gets the event above too: events are kept for their handlers.
    ASSERT_LE(0, PMIx_Register_event_handler(&code, 1, nullptr, 0, Watcher::pending, nullptr, nullptr));
    ASSERT_STATUS(PMIX_SUCCESS, watcher.over.wait());
    EXPECT_EQ(2u, watcher.before) << "untouched until the handler was done";
    EXPECT_EQ(1, host.updates);
    expect_costs(fabric, 3);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Fabric_deregister(&fabric));
    Watcher::current = nullptr;
}

// ---- a matrix on its way ----

TEST(PortableFabric, CostsThatDoNotFitAreNone) {
    uint16_t costs[4] = {0, 1, 1, 0};
    InfoList host;
    host.append_number<void*>(PMIX_FABRIC_COST_MATRIX, costs, PMIX_POINTER);
    auto none = common::portable_fabric(host.c_array(), host.size());
    ASSERT_TRUE(none.ok());
    EXPECT_EQ(0u, none->size()) << "of how many devices nobody says";
    host.append_number<size_t>(PMIX_FABRIC_NUM_DEVICES, SIZE_MAX / 2, PMIX_SIZE);
    none = common::portable_fabric(host.c_array(), host.size());
    ASSERT_TRUE(none.ok());
    EXPECT_FALSE(InfoView(*none).has(PMIX_FABRIC_COST_MATRIX)) << "more than a message carries";
    // From a message: as many as the number of devices asks for, or none.
    for (const size_t n : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{1} << 63}) {
        const pmix_data_array_t array{PMIX_UINT16, 4, costs};
        InfoList message;
        message.append(PMIX_FABRIC_COST_MATRIX, &array, PMIX_DATA_ARRAY);
        message.append_number(PMIX_FABRIC_NUM_DEVICES, n, PMIX_SIZE);
        EXPECT_EQ(n == 2, common::portable_costs(message) != nullptr) << n;
    }
}

}  // namespace
}  // namespace pmix::test::fabric_test
