// SPDX-License-Identifier: BSD-3-Clause
// runtime: a C++ program with a C++ runtime of its own beside the one in the library. It throws and catches, in its
// threads and in callbacks on the library's thread, writes through iostreams, and has replaced operator new. usage:
// runtime     under pmixrun. As a plug-in it is runtime_main, which guest/opens.c calls.
#include <dlfcn.h>
#include <pmix.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <future>
#include <iostream>
#include <locale>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

namespace {

std::atomic<unsigned long> made{0};  // by the program's operator new

#define CHECK(condition)                                                              \
    do {                                                                              \
        if (!(condition)) {                                                           \
            std::cout << "FAIL line " << __LINE__ << ": " << #condition << std::endl; \
            std::_Exit(1);                                                            \
        }                                                                             \
    } while (0)

struct Refused : std::runtime_error {
    pmix_status_t status;
    explicit Refused(pmix_status_t rc) : std::runtime_error(PMIx_Error_string(rc)), status(rc) {}
};

void must(pmix_status_t rc) {
    if (rc != PMIX_SUCCESS) throw Refused(rc);
}

std::string text_of(const pmix_proc_t& proc, const char* key) {
    pmix_value_t* value = nullptr;
    must(PMIx_Get(&proc, key, nullptr, 0, &value));
    CHECK(value->type == PMIX_STRING);
    std::string text = value->data.string;
    PMIX_VALUE_RELEASE(value);
    return text;
}

// Thread-local objects with destructors, which the runtimes keep in lists of their own.
struct Counted {
    static std::atomic<int> alive;
    Counted() { ++alive; }
    ~Counted() { --alive; }
    int uses = 0;
};
std::atomic<int> Counted::alive{0};
thread_local Counted counted;

extern "C" void on_value(pmix_status_t rc, pmix_value_t* value, void* cbdata) {
    auto* promise = static_cast<std::promise<std::string>*>(cbdata);
    ++counted.uses;
    try {
        must(rc);
        promise->set_value(value->data.string);
    } catch (const std::exception&) {
        promise->set_exception(std::current_exception());
    }
}

// Asked without waiting, answered on the library's thread: the exception made there is thrown here.
std::string text_later(const pmix_proc_t& proc, const char* key, const pmix_info_t* infos, size_t ninfos) {
    std::promise<std::string> promise;
    auto future = promise.get_future();
    must(PMIx_Get_nb(&proc, key, infos, ninfos, on_value, &promise));
    return future.get();
}

void one_thread(const pmix_proc_t& me, unsigned size, int number) {
    std::ostringstream said;
    said.imbue(std::locale::classic());
    for (int pass = 0; pass < 50; ++pass) {
        ++counted.uses;
        pmix_proc_t peer = me;
        peer.rank = (me.rank + static_cast<unsigned>(pass + number)) % size;
        std::ostringstream want;
        want << "rank " << peer.rank;
        CHECK(text_of(peer, "runtime.text") == want.str());
        CHECK(text_later(peer, "runtime.text", nullptr, 0) == want.str());
        bool caught = false;
        try {
            pmix_info_t only = PMIX_INFO_STATIC_INIT;
            PMIX_INFO_LOAD(&only, PMIX_OPTIONAL, nullptr, PMIX_BOOL);
            text_later(peer, "runtime.nothing", &only, 1);
        } catch (const Refused& refused) {
            caught = refused.status == PMIX_ERR_NOT_FOUND;
        }
        CHECK(caught);
        said << want.str() << ' ';
    }
    CHECK(counted.uses == 50 && said.str().size() > 50);
}

// Nothing of the library's runtime may stand in for the program's, however the library was loaded.
void nothing_leaks() {
    for (const char* name : {"_Znwm", "_ZdlPv", "__cxa_throw", "__cxa_begin_catch", "__gxx_personality_v0", "_ZSt4cout",
                             "_ZSt9terminatev", "_Unwind_RaiseException", "_Unwind_Resume", "_ZTISt9exception"}) {
        void* found = dlsym(RTLD_DEFAULT, name);
        Dl_info from;
        if (found && dladdr(found, &from) && from.dli_fname) CHECK(!std::strstr(from.dli_fname, "libpmix"));
    }
}

}  // namespace

void* operator new(std::size_t size) {
    ++made;
    void* memory = std::malloc(size ? size : 1);
    if (!memory) throw std::bad_alloc();
    return memory;
}
void operator delete(void* memory) noexcept {
    std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
    std::free(memory);
}

extern "C" int runtime_main() {
    nothing_leaks();
    pmix_proc_t me, all;
    pmix_value_t value, *size = nullptr;
    pmix_info_t collect = PMIX_INFO_STATIC_INIT;
    char text[32];
    const unsigned long before = made;
    // From here no operator new of this program, though the library uses its own all the time.
    CHECK(PMIx_Init(&me, nullptr, 0) == PMIX_SUCCESS);
    std::snprintf(text, sizeof text, "rank %u", me.rank);
    PMIX_VALUE_LOAD(&value, text, PMIX_STRING);
    CHECK(PMIx_Put(PMIX_GLOBAL, "runtime.text", &value) == PMIX_SUCCESS);
    PMIX_VALUE_DESTRUCT(&value);
    CHECK(PMIx_Commit() == PMIX_SUCCESS);
    PMIX_LOAD_PROCID(&all, me.nspace, PMIX_RANK_WILDCARD);
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, nullptr, PMIX_BOOL);
    CHECK(PMIx_Fence(&all, 1, &collect, 1) == PMIX_SUCCESS);
    CHECK(PMIx_Get(&all, PMIX_JOB_SIZE, nullptr, 0, &size) == PMIX_SUCCESS);
    CHECK(made == before);

    try {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&me, n = size->data.uint32, i] { one_thread(me, n, i); });
        for (auto& thread : threads) thread.join();
        text_of(all, "runtime.nothing");
        CHECK(!"a value that nobody put");
    } catch (const Refused& refused) {
        CHECK(std::string(refused.what()).find("NOT_FOUND") != std::string::npos && typeid(refused) == typeid(Refused));
    }
    PMIX_VALUE_RELEASE(size);
    CHECK(PMIx_Fence(&all, 1, nullptr, 0) == PMIX_SUCCESS);
    CHECK(PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS);
    CHECK(Counted::alive <= 1);  // the main thread's, if it was used there; those of joined threads are gone
    nothing_leaks();
    std::cout << "OK runtime rank " << me.rank << std::endl;
    return 0;
}

#ifndef RUNTIME_PLUGIN
int main() {
    return runtime_main();
}
#endif
