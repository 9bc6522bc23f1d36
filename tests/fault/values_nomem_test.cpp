// SPDX-License-Identifier: BSD-3-Clause
// The n-th allocation fails, for every n: each operation on values answers PMIX_ERR_NOMEM (or does without), and what
// it allocated before is freed again. Counts every block by standing in front of malloc, which a sanitizer does itself:
// the test is not built with one.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstdlib>
#include <cstring>

#include "common/codec/pack.h"
#include "common/values/value.h"
#include "support/random_value.h"
#include "support/status.h"

namespace {
bool g_armed = false;       // count and fail only while the operation runs
long g_until_failure = -1;  // -1: never
long g_live = 0;
bool g_failed = false;
long g_failures = 0;  // in all, so that a test that failed nothing is seen

bool fails() noexcept {
    if (!g_armed || g_until_failure < 0) return false;
    if (g_until_failure-- > 0) return false;
    g_failed = true;
    ++g_failures;
    return true;
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void __libc_free(void*);

void* malloc(size_t n) {
    if (fails()) return nullptr;
    void* p = __libc_malloc(n);
    if (g_armed && p != nullptr) ++g_live;
    return p;
}
void* calloc(size_t n, size_t m) {
    if (fails()) return nullptr;
    void* p = __libc_calloc(n, m);
    if (g_armed && p != nullptr) ++g_live;
    return p;
}
void* realloc(void* old, size_t n) {
    if (fails()) return nullptr;
    void* p = __libc_realloc(old, n);
    if (g_armed && old == nullptr && p != nullptr) ++g_live;
    return p;
}
void free(void* p) {
    if (g_armed && p != nullptr) --g_live;
    __libc_free(p);
}
}

namespace pmix::common {
namespace {

// Runs `operation` with the first, second, ... allocation failing until it runs through. The operation returns its
// status and leaves nothing allocated.
template <class F>
void fail_everywhere(F&& operation) {
    for (long n = 0; n < 2000; ++n) {
        g_until_failure = n;
        g_failed = false;
        g_live = 0;
        g_armed = true;
        pmix_status_t rc = operation();
        g_armed = false;
        EXPECT_EQ(g_live, 0) << "after failure " << n;
        if (!g_failed) {
            EXPECT_STATUS(PMIX_SUCCESS, rc);
            return;
        }
        EXPECT_STATUS(PMIX_ERR_NOMEM, rc) << "failure " << n;
    }
    FAIL() << "never ran through";
}

TEST(ValuesWithoutMemory, Copy) {
    for (pmix_data_type_t type : test::RandomValue::types()) {
        for (uint32_t seed = 0; seed < 4; ++seed) {
            test::RandomValue random(seed * 13 + type);
            pmix_value_t v;
            random.value(&v, type, 2);
            fail_everywhere([&] {
                pmix_value_t copy;
                pmix_status_t rc = copy_value(&copy, v);
                if (rc != PMIX_SUCCESS) {
                    EXPECT_EQ(copy.type, PMIX_UNDEF);
                }
                destroy_value(&copy);
                return rc;
            });
            destroy_value(&v);
        }
    }
    EXPECT_GT(g_failures, 100);
}

TEST(ValuesWithoutMemory, Decode) {
    for (pmix_data_type_t type : test::RandomValue::types()) {
        for (uint32_t seed = 0; seed < 4; ++seed) {
            test::RandomValue random(seed * 17 + type);
            pmix_value_t v;
            random.value(&v, type, 2);
            ByteWriter w;
            ASSERT_STATUS(PMIX_SUCCESS, encode_value(w, v));
            destroy_value(&v);
            fail_everywhere([&] {
                pmix_value_t out;
                pmix_status_t rc = decode_value_into(w.view(), &out);
                destroy_value(&out);
                return rc;
            });
        }
    }
}

TEST(ValuesWithoutMemory, InfoLists) {
    fail_everywhere([] {
        void* list = PMIx_Info_list_start();
        if (list == nullptr) return pmix_status_t{PMIX_ERR_NOMEM};
        pmix_data_array_t array = {};
        pmix_status_t rc = PMIx_Info_list_add(list, "a", "text", PMIX_STRING);
        if (rc == PMIX_SUCCESS) rc = PMIx_Info_list_add_unique(list, "a", "other", PMIX_STRING, true);
        if (rc == PMIX_SUCCESS) rc = PMIx_Info_list_prepend(list, "b", "text", PMIX_STRING);
        if (rc == PMIX_SUCCESS) rc = PMIx_Info_list_convert(list, &array);
        PMIx_Info_list_release(list);
        PMIx_Data_array_destruct(&array);
        return rc;
    });
    fail_everywhere([] {
        InfoList list;
        pmix_status_t rc = PMIX_SUCCESS;
        for (int i = 0; i < 6 && rc == PMIX_SUCCESS; ++i) rc = list.append_string("key", "text");
        if (rc != PMIX_SUCCESS) return rc;
        auto copy = InfoList::from_c(list.c_array(), list.size());
        return copy.ok() ? pmix_status_t{PMIX_SUCCESS} : copy.status();
    });
}

TEST(ValuesWithoutMemory, ListsOfStrings) {
    fail_everywhere([] {
        char** argv = PMIx_Argv_split("a,b", ',');
        if (argv == nullptr) return pmix_status_t{PMIX_ERR_NOMEM};
        pmix_status_t rc = PMIx_Argv_append_nosize(&argv, "c");
        if (rc == PMIX_SUCCESS) rc = PMIx_Argv_prepend_nosize(&argv, "_");
        if (rc == PMIX_SUCCESS) rc = PMIx_Setenv("A", "1", true, &argv);
        if (rc == PMIX_SUCCESS) rc = PMIx_Setenv("A", "2", true, &argv);
        char** copy = rc == PMIX_SUCCESS ? PMIx_Argv_copy(argv) : nullptr;
        if (rc == PMIX_SUCCESS && copy == nullptr) rc = PMIX_ERR_NOMEM;
        PMIx_Argv_free(copy);
        PMIx_Argv_free(argv);
        return rc;
    });
}

TEST(ValuesWithoutMemory, EncodersThrowAndLeakNothing) {
    Result<Value> text = Value::string("text");
    fail_everywhere([&]() -> pmix_status_t {
        try {
            ByteWriter w;
            return encode_value(w, text->get());
        } catch (const std::bad_alloc&) {
            return PMIX_ERR_NOMEM;
        }
    });
}

}  // namespace
}  // namespace pmix::common
