// SPDX-License-Identifier: BSD-3-Clause
// A client in C++17: a value put, fenced and got, through the headers' own macros. Prints what the test looks for.
#include <pmix.h>

#include <cstdio>

int main() {
    pmix_proc_t me, next;
    pmix_value_t* size = nullptr;
    if (PMIx_Init(&me, nullptr, 0) != PMIX_SUCCESS) return 1;
    PMIX_LOAD_PROCID(&next, me.nspace, PMIX_RANK_WILDCARD);
    if (PMIx_Get(&next, PMIX_JOB_SIZE, nullptr, 0, &size) != PMIX_SUCCESS) return 2;
    pmix_value_t mine;
    PMIX_VALUE_LOAD(&mine, "from C++", PMIX_STRING);
    if (PMIx_Put(PMIX_GLOBAL, "greeting", &mine) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS) return 3;
    PMIX_VALUE_DESTRUCT(&mine);
    bool collect = true;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    if (PMIx_Fence(nullptr, 0, &info, 1) != PMIX_SUCCESS) return 4;
    PMIX_INFO_DESTRUCT(&info);
    next.rank = (me.rank + 1) % size->data.uint32;
    PMIX_VALUE_RELEASE(size);
    pmix_value_t* theirs = nullptr;
    if (PMIx_Get(&next, "greeting", nullptr, 0, &theirs) != PMIX_SUCCESS) return 5;
    std::printf("rank %u: a greeting %s\n", me.rank, theirs->data.string);
    PMIX_VALUE_RELEASE(theirs);
    return PMIx_Finalize(nullptr, 0) == PMIX_SUCCESS ? 0 : 6;
}
