// SPDX-License-Identifier: BSD-3-Clause
// Process ids, namespaces, keys and ranks in the ABI's arrays.
//
// Owns nothing; needs no library; any thread. Loads cut what is too long and keep the NUL, as the inlined versions do;
// NULL loads as empty. In checks a wildcard rank, or no namespace, equals any.
#include <pmix.h>
#include <pmix_deprecated.h>

#include <cstring>

#include "common/base/ids.h"

namespace {

using namespace pmix::common;

template <size_t N>
void load(char (&dst)[N], const char* src) noexcept {
    size_t n = src == nullptr ? 0 : bounded_length(src, N - 1);
    if (n != 0) std::memmove(dst, src, n);
    std::memset(dst + n, 0, N - n);
}

}  // namespace

extern "C" {

void PMIx_Load_key(pmix_key_t key, const char* src) {
    if (key != nullptr) load(*reinterpret_cast<pmix_key_t*>(key), src);
}

void PMIx_Load_nspace(pmix_nspace_t nspace, const char* str) {
    if (nspace != nullptr) load(*reinterpret_cast<pmix_nspace_t*>(nspace), str);
}

void PMIx_Load_procid(pmix_proc_t* p, const char* ns, pmix_rank_t rk) {
    if (p == nullptr) return;
    load(p->nspace, ns);
    p->rank = rk;
}

void PMIx_Proc_load(pmix_proc_t* p, const char* nspace, pmix_rank_t rank) {
    PMIx_Load_procid(p, nspace, rank);
}

void PMIx_Xfer_procid(pmix_proc_t* dst, const pmix_proc_t* src) {
    if (dst != nullptr && src != nullptr) std::memmove(dst, src, sizeof *dst);
}

bool PMIx_Check_key(const char* key, const char* str) {
    return key != nullptr && str != nullptr && std::strncmp(key, str, PMIX_MAX_KEYLEN) == 0;
}

bool PMIx_Check_reserved_key(const char* key) {
    return key != nullptr && std::strncmp(key, "pmix", 4) == 0;
}

bool PMIx_Nspace_invalid(const char* nspace) {
    return nspace == nullptr || nspace[0] == '\0';
}

bool PMIx_Check_nspace(const char* key1, const char* key2) {
    return PMIx_Nspace_invalid(key1) || PMIx_Nspace_invalid(key2) || std::strncmp(key1, key2, PMIX_MAX_NSLEN) == 0;
}

bool PMIx_Check_nspace_strict(const char* key1, const char* key2) {
    return !PMIx_Nspace_invalid(key1) && !PMIx_Nspace_invalid(key2) && std::strncmp(key1, key2, PMIX_MAX_NSLEN) == 0;
}

bool PMIx_Check_rank(pmix_rank_t a, pmix_rank_t b) {
    return a == b || a == PMIX_RANK_WILDCARD || b == PMIX_RANK_WILDCARD;
}

bool PMIx_Check_procid(const pmix_proc_t* a, const pmix_proc_t* b) {
    if (a == nullptr || b == nullptr) return false;
    return PMIx_Check_nspace(a->nspace, b->nspace) && PMIx_Check_rank(a->rank, b->rank);
}

bool PMIx_Check_procid_strict(const pmix_proc_t* a, const pmix_proc_t* b) {
    if (a == nullptr || b == nullptr) return false;
    return PMIx_Check_nspace_strict(a->nspace, b->nspace) && a->rank == b->rank;
}

bool PMIx_Rank_valid(pmix_rank_t a) {
    return is_real_rank(a);
}

bool PMIx_Procid_invalid(const pmix_proc_t* p) {
    return p == nullptr || PMIx_Nspace_invalid(p->nspace) || p->rank == PMIX_RANK_INVALID;
}

// "cluster:nspace", or empty when that does not fit.
void PMIx_Multicluster_nspace_construct(pmix_nspace_t target, char cluster[], char nspace[]) {
    if (target == nullptr) return;
    std::string_view first = nspace_view(cluster);
    std::string_view second = nspace_view(nspace);
    pmix_nspace_t joined = {};
    if (first.size() + second.size() + 1 <= kMaxNspaceLength) {
        std::memcpy(joined, first.data(), first.size());
        joined[first.size()] = ':';
        if (!second.empty()) std::memcpy(joined + first.size() + 1, second.data(), second.size());
    }
    PMIx_Load_nspace(target, joined);
}

// Without a colon everything is the cluster.
void PMIx_Multicluster_nspace_parse(pmix_nspace_t target, pmix_nspace_t cluster, pmix_nspace_t nspace) {
    std::string_view whole = nspace_view(target);
    size_t colon = whole.find(':');
    pmix_nspace_t first = {};
    pmix_nspace_t second = {};
    std::string_view head = whole.substr(0, colon);
    std::memcpy(first, head.data(), head.size());
    if (colon != std::string_view::npos) {
        std::string_view tail = whole.substr(colon + 1);
        std::memcpy(second, tail.data(), tail.size());
    }
    PMIx_Load_nspace(cluster, first);
    PMIx_Load_nspace(nspace, second);
}

}  // extern "C"
