// SPDX-License-Identifier: BSD-3-Clause
// The programming model that a process declares in its init, as client and as server: each of its attributes reaches
// the process's own handlers.
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_server.h>

#include <cstdlib>
#include <future>
#include <set>
#include <string>

#include "common/values/info_view.h"
#include "common/values/value.h"
#include "support/server_here.h"
#include "support/status.h"

namespace model_test {

using namespace pmix::test;

namespace {

const std::set<std::string> kTexts = {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION,
                                      PMIX_THREADING_MODEL,   PMIX_MODEL_CPU_TYPE,     PMIX_MODEL_AFFINITY_POLICY};
const std::set<std::string> kNumbers = {PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS};

void declare(InfoList& infos) {
    for (const std::string& key : kTexts) infos.append_string(key, "of " + key);
    for (const std::string& key : kNumbers) infos.append_number<uint32_t>(key, 3, PMIX_UINT32);
    infos.append_string("test.other", "x");
}

struct Heard {
    static inline std::promise<std::set<std::string>>* keys = nullptr;
    static void handler(size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t infos[], size_t n, pmix_info_t[], size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        EXPECT_TRUE(pmix::common::InfoView(infos, n).flag(PMIX_EVENT_NON_DEFAULT)) << "news, no failure";
        std::set<std::string> seen;
        for (size_t i = 0; i < n; ++i) {
            const std::string key = infos[i].key;
            const bool text = kTexts.contains(key) && infos[i].value.data.string == "of " + key;
            if (text || (kNumbers.contains(key) && infos[i].value.data.uint32 == 3) || key == "test.other")
                seen.insert(key);
        }
        keys->set_value(seen);
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
};

std::set<std::string> heard() {
    std::promise<std::set<std::string>> promise;
    Heard::keys = &promise;
    pmix_status_t code = PMIX_MODEL_DECLARED;
    EXPECT_GE(PMIx_Register_event_handler(&code, 1, nullptr, 0, &Heard::handler, nullptr, nullptr), 0);
    auto keys = promise.get_future();
    return keys.wait_for(std::chrono::seconds(60)) == std::future_status::ready ? keys.get() : std::set<std::string>();
}

std::set<std::string> all() {
    std::set<std::string> keys = kTexts;
    keys.insert(kNumbers.begin(), kNumbers.end());
    return keys;
}

}  // namespace

// rows: I6
// proves: PMIx_Init PMIX_PROGRAMMING_MODEL PMIX_MODEL_LIBRARY_NAME PMIX_MODEL_LIBRARY_VERSION PMIX_THREADING_MODEL
// proves: PMIx_Init PMIX_MODEL_NUM_THREADS PMIX_MODEL_NUM_CPUS PMIX_MODEL_CPU_TYPE PMIX_MODEL_AFFINITY_POLICY
TEST(ModelTest, OfAClient) {
    for (const char* name : {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_SERVER_URI_WIREUP"}) ::unsetenv(name);
    InfoList infos;
    declare(infos);
    ASSERT_STATUS(PMIX_ERR_UNREACH, PMIx_Init(nullptr, infos.c_array(), infos.size())) << "alone";
    EXPECT_EQ(all(), heard());
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Finalize(nullptr, 0));
}

// rows: V1
// proves: PMIx_server_init PMIX_PROGRAMMING_MODEL PMIX_MODEL_LIBRARY_NAME
// proves: PMIx_server_init PMIX_MODEL_LIBRARY_VERSION PMIX_THREADING_MODEL
// proves: PMIx_server_init PMIX_MODEL_NUM_THREADS PMIX_MODEL_NUM_CPUS PMIX_MODEL_CPU_TYPE PMIX_MODEL_AFFINITY_POLICY
TEST(ModelTest, OfAServer) {
    InfoList infos = ServerHere::named();
    declare(infos);
    ServerHere server(nullptr, std::move(infos));
    EXPECT_EQ(all(), heard());
}

}  // namespace model_test
