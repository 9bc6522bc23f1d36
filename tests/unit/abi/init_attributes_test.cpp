// SPDX-License-Identifier: BSD-3-Clause
// What the attributes of PMIx_Init about time, threads, sockets and the log do, in a process that has no server, or one
// that never says a word.
#include <event2/event.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "common/values/value.h"
#include "support/listening.h"
#include "support/status.h"
#include "support/temporary_folder.h"
#include "transport/unix_socket.h"

namespace init_attributes_test {

using pmix::common::InfoList;
using namespace pmix::test;

namespace {

class InitAttributes : public ::testing::Test {
  protected:
    void SetUp() override { forget(); }
    void TearDown() override { forget(); }
    static void forget() {
        for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP", "PMIX_WIREUP_STRICT"})
            ::unsetenv(name);
    }
    static pmix_status_t init(InfoList infos) { return PMIx_Init(nullptr, infos.c_array(), infos.size()); }
};

}  // namespace

// rows: G11 I1
// proves: PMIx_Init PMIX_TIMEOUT client
TEST_F(InitAttributes, ASilentServerIsGivenUpWhenTheTimeIsOver) {
    const std::string address = pmix::transport::make_abstract_address();
    auto silent = pmix::transport::listen_abstract(address);
    ASSERT_TRUE(silent.ok());
    ::setenv("PMIX_NAMESPACE", "job", 1);
    ::setenv("PMIX_RANK", "0", 1);
    ::setenv("PMIX_SERVER_URI_WIREUP", ("server.0;wireup:" + address).c_str(), 1);
    // A machine that stops this process makes it longer, but not each time.
    std::chrono::steady_clock::duration least = std::chrono::seconds(60);
    for (int i = 0; i < 5 && least >= std::chrono::seconds(8); ++i) {
        InfoList infos;
        infos.append_number<int>(PMIX_TIMEOUT, 1, PMIX_INT);
        const auto before = std::chrono::steady_clock::now();
        EXPECT_STATUS(PMIX_ERR_TIMEOUT, init(std::move(infos)));
        const auto took = std::chrono::steady_clock::now() - before;
        EXPECT_GE(took, std::chrono::milliseconds(900));
        least = std::min(least, took);
        EXPECT_EQ(0, PMIx_Initialized());
    }
    EXPECT_LT(least, std::chrono::seconds(8)) << "without the attribute it is ten";
}

// A client connects and is not connected to. rows: I7
// proves: PMIx_Init PMIX_SINGLE_LISTENER client
TEST_F(InitAttributes, AClientListensNowhere) {
    const size_t before = listening_sockets();
    InfoList infos;
    infos.append_flag(PMIX_SINGLE_LISTENER, true);
    PMIx_Info_required(&infos.c_array()[0]);
    ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::move(infos)));
    EXPECT_EQ(before, listening_sockets());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: I7
// proves: PMIx_Init PMIX_WIREUP_LOG client
TEST_F(InitAttributes, TheLogGoesWhereItIsSent) {
    TemporaryFolder folder;
    for (bool asked : {false, true}) {
        InfoList infos;
        if (asked) infos.append_string(PMIX_WIREUP_LOG, "info@" + folder.path("log"));
        ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::move(infos)));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        EXPECT_EQ(asked, folder.text("log").find("init 1 of a client") != std::string::npos) << folder.text("log");
    }
    InfoList nonsense;
    nonsense.append_string(PMIX_WIREUP_LOG, "louder");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init(std::move(nonsense)));
    EXPECT_EQ(0, PMIx_Initialized());
}

// What strict mode does stands with the operations that have one. rows: I1
// proves: PMIx_Init PMIX_WIREUP_STRICT client
TEST_F(InitAttributes, StrictMode_AnInitThatContradictsTheFirst_IsRefused) {
    const auto says = [](bool strict) {
        InfoList infos;
        infos.append_flag(PMIX_WIREUP_STRICT, strict);
        return init(std::move(infos));
    };
    for (const char* variable : {"", "0", "1"}) {
        const bool on = *variable == '1';
        ::setenv("PMIX_WIREUP_STRICT", variable, 1);
        EXPECT_STATUS(PMIX_ERR_UNREACH, init({}));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, says(!on)) << variable;
        EXPECT_STATUS(PMIX_ERR_UNREACH, says(on)) << variable;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        // The attribute of the first init counts more than the variable.
        EXPECT_STATUS(PMIX_ERR_UNREACH, says(!on));
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, says(on)) << variable;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    }
    ::unsetenv("PMIX_WIREUP_STRICT");
    InfoList nonsense;
    nonsense.append_string(PMIX_WIREUP_STRICT, "perhaps");
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, init(std::move(nonsense)));
    EXPECT_EQ(0, PMIx_Initialized());
}

// As in the Standard: new memory for each copy, and PMIX_ERR_BAD_PARAM of no payload and of an unknown type.
// The
// default is what OpenPMIx does. rows: D4 D6 D9
TEST_F(InitAttributes, StrictMode_FunctionsOfData_FollowTheStandard) {
    pmix_value_t number, proc_value;
    const uint32_t seven = 7;
    pmix_proc_t proc;
    PMIx_Load_procid(&proc, "job", 3);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&number, &seven, PMIX_UINT32));
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Value_load(&proc_value, &proc, PMIX_PROC));
    const auto check = [&](bool strict) {
        const pmix_status_t refused = strict ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
        void* data = nullptr;
        size_t size = 0;
        EXPECT_EQ(refused, PMIx_Value_unload(&number, &data, &size)) << strict;
        EXPECT_EQ(strict, data != nullptr);
        if (data != nullptr) {
            EXPECT_EQ(7u, *static_cast<uint32_t*>(data));
        }
        std::free(data);
        data = nullptr;
        EXPECT_EQ(refused, PMIx_Value_unload(&proc_value, &data, &size)) << strict;
        if (data != nullptr) {
            EXPECT_EQ(0, std::memcmp(data, &proc, sizeof proc));
        }
        std::free(data);
        uint32_t place = 0;
        data = &place;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Value_unload(&number, &data, &size));
        EXPECT_EQ(7u, place);
        EXPECT_EQ(&place, data);
        pmix_data_buffer_t buffer;
        PMIx_Data_buffer_construct(&buffer);
        EXPECT_EQ(strict ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS, PMIx_Data_embed(&buffer, nullptr)) << strict;
        char* text = nullptr;
        EXPECT_EQ(strict ? PMIX_ERR_BAD_PARAM : PMIX_ERR_UNKNOWN_DATA_TYPE,
                  PMIx_Data_print(&text, nullptr, &proc, 499));
    };
    check(false);
    for (const bool strict : {true, false}) {
        InfoList infos;
        infos.append_flag(PMIX_WIREUP_STRICT, strict);
        ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::move(infos)));
        check(strict);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
        check(false);
    }
    PMIx_Value_destruct(&proc_value);
}

// rows: K2 K7
TEST_F(InitAttributes, StrictMode_PutAndStoreOfAReservedKey_AreRefused) {
    pmix_value_t value;
    PMIx_Value_construct(&value);
    value.type = PMIX_UINT32;
    value.data.uint32 = 1;
    for (const bool strict : {false, true}) {
        InfoList infos;
        infos.append_flag(PMIX_WIREUP_STRICT, strict);
        ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::move(infos)));
        const pmix_status_t reserved = strict ? PMIX_ERR_BAD_PARAM : PMIX_SUCCESS;
        EXPECT_EQ(reserved, PMIx_Put(PMIX_GLOBAL, "pmix.hname", &value)) << strict;
        EXPECT_EQ(reserved, PMIx_Store_internal(nullptr, "pmix.hname", &value)) << strict;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "own.key", &value)) << strict;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Store_internal(nullptr, "own.key", &value)) << strict;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, PMIx_Put(PMIX_SCOPE_UNDEF, "own.key", &value)) << strict;
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    }
}

// Callbacks run on the thread that runs the host's loop, and only while it does. rows: I13
// proves: PMIx_Init PMIX_EVENT_BASE client
TEST_F(InitAttributes, TheCallersEventBaseIsTheLoop) {
    event_base* base = event_base_new();
    InfoList infos;
    infos.append(PMIX_EVENT_BASE, base, PMIX_POINTER);
    ASSERT_STATUS(PMIX_ERR_UNREACH, init(std::move(infos)));
    pmix_value_t value;
    PMIx_Value_construct(&value);
    value.type = PMIX_INT;
    value.data.integer = 5;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "k", &value));
    struct Got {
        event_base* base;
        int calls = 0;
        std::thread::id thread;
    } got{base, 0, {}};
    const auto on_got = [](pmix_status_t, pmix_value_t*, void* self) {
        auto* g = static_cast<Got*>(self);
        ++g->calls;
        g->thread = std::this_thread::get_id();
        event_base_loopbreak(g->base);
    };
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Get_nb(nullptr, "k", nullptr, 0, on_got, &got));
    EXPECT_EQ(0, got.calls);
    event_base_dispatch(base);
    EXPECT_EQ(1, got.calls);
    EXPECT_EQ(std::this_thread::get_id(), got.thread);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
    event_base_free(base);
}

}  // namespace init_attributes_test
