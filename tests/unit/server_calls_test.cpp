// PMIx_server_init and the calls around it through the public door, in this process: what init takes, what a server may
// call as if it were a client, and the setup calls that a host makes before it starts a job.
//
// The library has its own thread here; whatever it calls back on comes from there.
#include <pmix.h>
#include <pmix_server.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "common/ids.h"
#include "common/value.h"

using pmix::common::InfoList;
using pmix::common::ProcId;

namespace {

// A server in this process until the end of the scope.
class ServerHere {
  public:
    explicit ServerHere(pmix_server_module_t* module = nullptr, InfoList infos = named()) {
        status = PMIx_server_init(module, infos.c_array(), infos.size());
        EXPECT_EQ(PMIX_SUCCESS, status);
    }
    ~ServerHere() {
        if (status == PMIX_SUCCESS) {
            EXPECT_EQ(PMIX_SUCCESS, PMIx_server_finalize());
        }
    }
    ServerHere(const ServerHere&) = delete;
    ServerHere& operator=(const ServerHere&) = delete;

    static InfoList named() {
        InfoList infos;
        infos.append_string(PMIX_SERVER_NSPACE, "here");
        pmix_rank_t rank = 3;
        infos.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
        return infos;
    }
    static pmix_proc_t self() { return ProcId("here", 3).to_c(); }

    pmix_status_t status;
};

struct Text {
    explicit Text(const char* text) {
        PMIx_Value_construct(&value);
        value.type = PMIX_STRING;
        value.data.string = ::strdup(text);
    }
    ~Text() { PMIx_Value_destruct(&value); }
    Text(const Text&) = delete;
    Text& operator=(const Text&) = delete;
    pmix_value_t* get() { return &value; }
    pmix_value_t value;
};

std::string text_of(const pmix_proc_t& proc, const char* key) {
    pmix_value_t* value = nullptr;
    pmix_status_t rc = PMIx_Get(&proc, key, nullptr, 0, &value);
    if (rc != PMIX_SUCCESS) return PMIx_Error_string(rc);
    std::string text = value->type == PMIX_STRING ? value->data.string : "not a string";
    PMIx_Value_free(value, 1);
    return text;
}

// The status that a callback brought.
struct Answer {
    std::promise<pmix_status_t> promise;
    pmix_status_t wait() {
        auto f = promise.get_future();
        return f.wait_for(std::chrono::seconds(10)) == std::future_status::ready ? f.get() : PMIX_ERR_TIMEOUT;
    }
    static void done(pmix_status_t status, void* cbdata) { static_cast<Answer*>(cbdata)->promise.set_value(status); }
};

// What PMIx_server_setup_fork gives a child; "" for a variable that is not there.
class ChildEnvironment {
  public:
    explicit ChildEnvironment(const pmix_proc_t& proc) { status = PMIx_server_setup_fork(&proc, &env_); }
    ~ChildEnvironment() { PMIx_Argv_free(env_); }
    ChildEnvironment(const ChildEnvironment&) = delete;
    ChildEnvironment& operator=(const ChildEnvironment&) = delete;
    std::string get(const std::string& name) const {
        for (char** e = env_; e != nullptr && *e != nullptr; ++e)
            if (std::strncmp(*e, (name + "=").c_str(), name.size() + 1) == 0) return *e + name.size() + 1;
        return "";
    }
    pmix_status_t status;

  private:
    char** env_ = nullptr;
};

void register_job(const char* nspace) {
    pmix_nspace_t name;
    PMIx_Load_nspace(name, nspace);
    ASSERT_EQ(PMIX_SUCCESS, PMIx_server_register_nspace(name, 1, nullptr, 0, nullptr, nullptr));
    pmix_proc_t proc = ProcId(nspace, 0).to_c();
    ASSERT_EQ(PMIX_SUCCESS, PMIx_server_register_client(&proc, ::geteuid(), ::getegid(), nullptr, nullptr, nullptr));
}

}  // namespace

// rows: V1
TEST(ServerCallsTest, InitTakesNoModuleAndAModuleOfNulls) {
    for (bool with_module : {false, true}) {
        pmix_server_module_t nothing{};
        ServerHere server(with_module ? &nothing : nullptr);
        register_job("job");
        pmix_proc_t proc = ProcId("job", 0).to_c();
        EXPECT_EQ("0", ChildEnvironment(proc).get("PMIX_RANK"));
    }
}

// rows: V1
TEST(ServerCallsTest, InitIsCounted) {
    EXPECT_EQ(PMIX_ERR_INIT, PMIx_server_finalize());
    EXPECT_EQ(0, PMIx_Initialized());
    {
        ServerHere server;
        EXPECT_EQ(PMIX_SUCCESS, PMIx_server_init(nullptr, nullptr, 0));
        EXPECT_EQ(PMIX_SUCCESS, PMIx_server_finalize());
        EXPECT_NE(0, PMIx_Initialized()) << "one init is still open";
        EXPECT_EQ(PMIX_SUCCESS, PMIx_Put(PMIX_LOCAL, "k", Text("v").get()));
    }
    EXPECT_EQ(0, PMIx_Initialized());
    EXPECT_EQ(PMIX_ERR_INIT, PMIx_server_finalize());
    ServerHere again;
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(ServerHere::self(), "k")) << "the second life knows nothing of the first";
}

// rows: V1
TEST(ServerCallsTest, InitTakesNameAndFolders) {
    InfoList infos = ServerHere::named();
    infos.append_string(PMIX_SERVER_TMPDIR, "/tmp/of-server");
    infos.append_string(PMIX_SYSTEM_TMPDIR, "/tmp/of-system");
    ServerHere server(nullptr, std::move(infos));
    register_job("job");
    ChildEnvironment child(ProcId("job", 0).to_c());
    ASSERT_EQ(PMIX_SUCCESS, child.status);
    EXPECT_EQ("/tmp/of-server", child.get("PMIX_SERVER_TMPDIR"));
    EXPECT_EQ("/tmp/of-system", child.get("PMIX_SYSTEM_TMPDIR"));
    // What it puts is found under the name and rank that init was given.
    ASSERT_EQ(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "k", Text("v").get()));
    EXPECT_EQ("v", text_of(ServerHere::self(), "k"));
}

// rows: V1
TEST(ServerCallsTest, InitRefusesWhatItCannotRead) {
    InfoList number_as_name;
    number_as_name.append_number<uint32_t>(PMIX_SERVER_NSPACE, 7, PMIX_UINT32);
    EXPECT_NE(PMIX_SUCCESS, PMIx_server_init(nullptr, number_as_name.c_array(), number_as_name.size()));
    InfoList wildcard;
    pmix_rank_t rank = PMIX_RANK_WILDCARD;
    wildcard.append(PMIX_SERVER_RANK, &rank, PMIX_PROC_RANK);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, wildcard.c_array(), wildcard.size()));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_init(nullptr, nullptr, 1));
    EXPECT_EQ(0, PMIx_Initialized());
}

namespace {

// Every directive that the set-up of a server reads, each with a value that it can read.
InfoList all_directives() {
    InfoList infos = ServerHere::named();
    for (const char* key : {PMIX_PROGRAMMING_MODEL, PMIX_MODEL_LIBRARY_NAME, PMIX_MODEL_LIBRARY_VERSION,
                            PMIX_THREADING_MODEL, PMIX_MODEL_CPU_TYPE, PMIX_MODEL_AFFINITY_POLICY, PMIX_HOSTNAME,
                            PMIX_SERVER_TMPDIR, PMIX_SYSTEM_TMPDIR, PMIX_TOPOLOGY_XML, PMIX_HWLOC_XML_V1,
                            PMIX_HWLOC_XML_V2, PMIX_LOCAL_TOPO})
        infos.append_string(key, "/some/text");
    for (const char* key : {PMIX_MODEL_NUM_THREADS, PMIX_MODEL_NUM_CPUS}) infos.append_number<uint32_t>(key, 2, PMIX_UINT32);
    infos.append_number<size_t>(PMIX_SERVER_CACHE_SIZE, 16, PMIX_SIZE);
    infos.append_number<size_t>(PMIX_SERVER_MODULE_SIZE, 0, PMIX_SIZE);
    for (const char* key : {PMIX_EXTERNAL_PROGRESS, PMIX_SERVER_SHARE_TOPOLOGY, PMIX_SINGLE_LISTENER})
        infos.append_flag(key, false);
    for (const char* key : {PMIX_EVENT_BASE, PMIX_TOPOLOGY}) infos.append(key, nullptr, PMIX_POINTER);
    return infos;
}

}  // namespace

// rows: V1 G7
TEST(ServerCallsTest, InitRefusesARequiredDirectiveThatItDoesNotFollow) {
    for (const char* key : {"site.needs", PMIX_SERVER_TOOL_SUPPORT, PMIX_SERVER_SYSTEM_SUPPORT, PMIX_TCP_IPV4_PORT}) {
        InfoList infos = ServerHere::named();
        infos.append_flag(key, true);
        {
            ServerHere optional(nullptr, ServerHere::named());
            EXPECT_EQ(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
            EXPECT_EQ(PMIX_SUCCESS, PMIx_server_finalize());
            PMIx_Info_required(infos.find(key));
            EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
        }
        EXPECT_EQ(0, PMIx_Initialized()) << "the refused init was not counted";
        EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_server_init(nullptr, infos.c_array(), infos.size())) << key;
        EXPECT_EQ(0, PMIx_Initialized());
        EXPECT_EQ(PMIX_ERR_INIT, PMIx_server_finalize());
        ServerHere afterwards;
    }
}

// rows: V1 G7
TEST(ServerCallsTest, InitTakesWhatItFollowsAsRequired) {
    InfoList infos = all_directives();
    for (size_t i = 0; i < infos.size(); ++i) PMIx_Info_required(&infos.c_array()[i]);
    ServerHere server(nullptr, std::move(infos));
    EXPECT_EQ(PMIX_SUCCESS, server.status);
}

// rows: G15
TEST(ServerCallsTest, AServerPutsAndGets) {
    ServerHere server;
    pmix_proc_t self = ServerHere::self(), other = ProcId("other", 5).to_c();
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Put(PMIX_GLOBAL, "mine", Text("put").get()));
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Commit());
    EXPECT_EQ("put", text_of(self, "mine"));
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Store_internal(&other, "theirs", Text("stored").get()));
    EXPECT_EQ("stored", text_of(other, "theirs"));
    EXPECT_EQ("PMIX_ERR_NOT_FOUND", text_of(self, "theirs"));
}

namespace {

struct Publisher {
    static inline std::promise<ProcId>* asked = nullptr;
    static inline std::string key;
    static pmix_status_t publish(const pmix_proc_t* proc, const pmix_info_t infos[], size_t n, pmix_op_cbfunc_t done,
                                 void* cbdata) {
        key = n == 0 ? "" : infos[0].key;
        asked->set_value(ProcId(*proc));
        done(PMIX_SUCCESS, cbdata);
        return PMIX_SUCCESS;
    }
};

}  // namespace

// rows: G15
TEST(ServerCallsTest, AServerPublishesThroughItsOwnModule) {
    std::promise<ProcId> asked;
    Publisher::asked = &asked;
    pmix_server_module_t module{};
    module.publish = &Publisher::publish;
    ServerHere server(&module);
    InfoList infos;
    infos.append_string("offer", "here");
    ASSERT_EQ(PMIX_SUCCESS, PMIx_Publish(infos.c_array(), infos.size()));
    EXPECT_EQ(ProcId("here", 3), asked.get_future().get());
    EXPECT_EQ("offer", Publisher::key);
}

namespace {

struct Heard {
    static inline std::promise<ProcId>* source = nullptr;
    static void handler(size_t, pmix_status_t, const pmix_proc_t* from, pmix_info_t[], size_t, pmix_info_t[], size_t,
                        pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
        source->set_value(ProcId(*from));
        done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, cbdata);
    }
};

}  // namespace

// rows: G15
TEST(ServerCallsTest, AServerHearsWhatItNotifies) {
    std::promise<ProcId> source;
    Heard::source = &source;
    ServerHere server;
    pmix_status_t code = PMIX_EXTERNAL_ERR_BASE - 7;
    pmix_status_t reference = PMIx_Register_event_handler(&code, 1, nullptr, 0, &Heard::handler, nullptr, nullptr);
    ASSERT_GE(reference, 0);
    pmix_proc_t self = ServerHere::self();
    ASSERT_EQ(PMIX_SUCCESS, PMIx_Notify_event(code, &self, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    auto heard = source.get_future();
    ASSERT_EQ(std::future_status::ready, heard.wait_for(std::chrono::seconds(10)));
    EXPECT_EQ(ProcId("here", 3), heard.get());
    EXPECT_EQ(PMIX_SUCCESS, PMIx_Deregister_event_handler(static_cast<size_t>(reference), nullptr, nullptr));
}

namespace {

void on_lookup(pmix_status_t status, pmix_pdata_t[], size_t, void* cbdata) { Answer::done(status, cbdata); }

// Of an _nb call: either the return value says it, or the callback.
template <class Call>
pmix_status_t outcome(Call&& call) {
    Answer answer;
    pmix_status_t rc = call(&answer);
    return rc == PMIX_SUCCESS ? answer.wait() : rc;
}

}  // namespace

// rows: P9
TEST(ServerCallsTest, PublishFamilyWithoutHostIsNotSupported) {
    ServerHere server;
    InfoList infos;
    infos.append_string("offer", "here");
    pmix_info_t* array = infos.c_array();
    char key[] = "offer";
    char* keys[] = {key, nullptr};
    pmix_pdata_t wanted;
    PMIx_Pdata_construct(&wanted);
    PMIx_Load_key(wanted.key, key);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Publish(array, 1));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Lookup(&wanted, 1, nullptr, 0));
    EXPECT_EQ(PMIX_UNDEF, wanted.value.type);
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(keys, nullptr, 0));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, PMIx_Unpublish(nullptr, nullptr, 0));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED, outcome([&](void* a) { return PMIx_Publish_nb(array, 1, &Answer::done, a); }));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED,
              outcome([&](void* a) { return PMIx_Lookup_nb(keys, nullptr, 0, &on_lookup, a); }));
    EXPECT_EQ(PMIX_ERR_NOT_SUPPORTED,
              outcome([&](void* a) { return PMIx_Unpublish_nb(keys, nullptr, 0, &Answer::done, a); }));
    PMIx_Pdata_destruct(&wanted);
}

namespace {

struct AppSetup {
    Answer answer;
    pmix_info_t* infos = nullptr;
    size_t ninfos = 99;
    pmix_op_cbfunc_t release = nullptr;
    void* release_data = nullptr;
    static void done(pmix_status_t status, pmix_info_t infos[], size_t n, void* mine, pmix_op_cbfunc_t release,
                     void* release_data) {
        auto* s = static_cast<AppSetup*>(mine);
        s->infos = infos;
        s->ninfos = n;
        s->release = release;
        s->release_data = release_data;
        s->answer.promise.set_value(status);
    }
};

}  // namespace

// rows: V14
TEST(ServerCallsTest, SetupApplicationHasNothingToAdd) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    InfoList wishes;
    wishes.append_flag(PMIX_SETUP_APP_ENVARS, true);
    wishes.append_flag(PMIX_SETUP_APP_ALL, true);
    for (bool with_infos : {false, true}) {
        AppSetup s;
        ASSERT_EQ(PMIX_SUCCESS,
                  PMIx_server_setup_application(job, with_infos ? wishes.c_array() : nullptr,
                                                with_infos ? wishes.size() : 0, &AppSetup::done, &s));
        EXPECT_EQ(PMIX_SUCCESS, s.answer.wait());
        EXPECT_EQ(0u, s.ninfos);
        EXPECT_EQ(nullptr, s.infos);
        ASSERT_NE(nullptr, s.release) << "the host calls it without a look";
        s.release(PMIX_SUCCESS, s.release_data);
    }
    AppSetup s;
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(job, nullptr, 0, nullptr, nullptr));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(job, nullptr, 1, &AppSetup::done, &s));
    pmix_nspace_t nameless = {};
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_setup_application(nameless, nullptr, 0, &AppSetup::done, &s));
}

// rows: V15
TEST(ServerCallsTest, SetupLocalSupportReachesTheChildrensEnvironment) {
    ServerHere server;
    pmix_nspace_t job;
    PMIx_Load_nspace(job, "job");
    EXPECT_EQ(PMIX_ERR_NOT_FOUND, PMIx_server_setup_local_support(job, nullptr, 0, nullptr, nullptr))
        << "no such namespace";
    register_job("job");
    pmix_proc_t proc = ProcId("job", 0).to_c();

    // What setup_application brought, nothing, is taken.
    AppSetup set_up;
    ASSERT_EQ(PMIX_SUCCESS, PMIx_server_setup_application(job, nullptr, 0, &AppSetup::done, &set_up));
    ASSERT_EQ(PMIX_SUCCESS, set_up.answer.wait());
    EXPECT_EQ(PMIX_SUCCESS, PMIx_server_setup_local_support(job, set_up.infos, set_up.ninfos, nullptr, nullptr));
    set_up.release(PMIX_SUCCESS, set_up.release_data);

    char name[] = "WIREUP_TEST_VARIABLE", first[] = "one", second[] = "two";
    pmix_envar_t variable{name, first, ':'};
    InfoList infos;
    infos.append_string("test.nobody.knows", "x");
    infos.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    EXPECT_EQ(PMIX_SUCCESS, PMIx_server_setup_local_support(job, infos.c_array(), infos.size(), nullptr, nullptr));
    EXPECT_EQ("one", ChildEnvironment(proc).get(name)) << "without a callback it is done on return";

    variable.value = second;
    InfoList more;
    more.append(PMIX_SET_ENVAR, &variable, PMIX_ENVAR);
    Answer answer;
    ASSERT_EQ(PMIX_SUCCESS,
              PMIx_server_setup_local_support(job, more.c_array(), more.size(), &Answer::done, &answer));
    EXPECT_EQ(PMIX_SUCCESS, answer.wait());
    EXPECT_EQ("two", ChildEnvironment(proc).get(name));
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_setup_local_support(job, nullptr, 1, nullptr, nullptr));
}

namespace {

struct Inventory {
    Answer answer;
    size_t ninfos = 99;
    static void done(pmix_status_t status, pmix_info_t*, size_t n, void* mine, pmix_release_cbfunc_t release,
                     void* release_data) {
        auto* self = static_cast<Inventory*>(mine);
        self->ninfos = n;
        if (release != nullptr) release(release_data);
        self->answer.promise.set_value(status);
    }
};

}  // namespace

// Nothing is collected or kept yet; the calls end as they should.
TEST(ServerCallsTest, InventoryCallsComplete) {
    ServerHere server;
    Inventory collected;
    ASSERT_EQ(PMIX_SUCCESS, PMIx_server_collect_inventory(nullptr, 0, &Inventory::done, &collected));
    EXPECT_EQ(PMIX_SUCCESS, collected.answer.wait());
    EXPECT_EQ(0u, collected.ninfos);
    EXPECT_EQ(PMIX_ERR_BAD_PARAM, PMIx_server_collect_inventory(nullptr, 0, nullptr, nullptr));
    InfoList infos;
    infos.append_string("test.inventory", "x");
    EXPECT_EQ(PMIX_SUCCESS, PMIx_server_deliver_inventory(infos.c_array(), 1, nullptr, 0, nullptr, nullptr));
    Answer answer;
    ASSERT_EQ(PMIX_SUCCESS, PMIx_server_deliver_inventory(infos.c_array(), 1, nullptr, 0, &Answer::done, &answer));
    EXPECT_EQ(PMIX_SUCCESS, answer.wait());
}

namespace {

size_t segments_mapped() {
    std::ifstream maps("/proc/self/maps");
    size_t n = 0;
    for (std::string line; std::getline(maps, line);) n += line.find("wireup-store") != std::string::npos;
    return n;
}

template <class F>
bool soon(F&& f) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!f()) {
        if (std::chrono::steady_clock::now() > deadline) return false;
        std::this_thread::yield();
    }
    return true;
}

}  // namespace

// Jobs come and go under a long-lived server, which looks into each: nothing of them stays but what it was lent.
TEST(ServerCallsTest, JobsThatEndAreUnmapped) {
    ServerHere server;
    size_t before = 0;
    pmix_value_t* lent = nullptr;
    for (int i = 0; i < 200; ++i) {
        const std::string name = "job" + std::to_string(i);
        pmix_nspace_t job;
        PMIx_Load_nspace(job, name.c_str());
        InfoList infos;
        infos.append_string("test.name", name);
        ASSERT_EQ(PMIX_SUCCESS, PMIx_server_register_nspace(job, 1, infos.c_array(), infos.size(), nullptr, nullptr));
        const pmix_proc_t all = ProcId(name, PMIX_RANK_WILDCARD).to_c();
        EXPECT_EQ(name, text_of(all, "test.name"));
        if (i == 5) {
            InfoList pointer;
            pointer.append_flag(PMIX_GET_POINTER_VALUES, true);
            ASSERT_EQ(PMIX_SUCCESS, PMIx_Get(&all, "test.name", pointer.c_array(), pointer.size(), &lent));
        }
        PMIx_server_deregister_nspace(job, nullptr, nullptr);
        // This thread may be faster than the notice.
        EXPECT_TRUE(soon([&] { return text_of(all, "test.name") == "PMIX_ERR_NOT_FOUND"; }));
        if (i == 10) before = segments_mapped();
    }
    EXPECT_TRUE(soon([&] { return segments_mapped() <= before; }));
    ASSERT_NE(nullptr, lent);
    EXPECT_STREQ("job5", lent->data.string);
}
