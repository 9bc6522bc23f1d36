/* SPDX-License-Identifier: BSD-3-Clause */
#include "client.h"

uint8_t pat(int r, int k, size_t j) {
    return (uint8_t)(r * 131 + k * 17 + (int)j * 7 + 3);
}
static uint64_t pat64(int r, int k) {
    return 0x9e3779b97f4a7c15ull * (uint64_t)(r * 1000003 + k + 1);
}
void put_one(const char* key, int k, size_t sz, uint8_t* scratch) {
    pmix_value_t v;
    memset(&v, 0, sizeof v);
    if (sz == 8) {
        v.type = PMIX_UINT64;
        v.data.uint64 = pat64(rank_, k);
    } else {
        for (size_t j = 0; j < sz; j++) scratch[j] = pat(rank_, k, j);
        v.type = PMIX_BYTE_OBJECT;
        v.data.bo.bytes = (char*)scratch;
        v.data.bo.size = sz;
    }
    must(PMIx_Put(PMIX_GLOBAL, key, &v), "PMIx_Put");
}
void check_val(const pmix_value_t* v, int r, int k, size_t sz, const char* what) {
    if (!v) {
        bad("%s: no value for rank %d key %d", what, r, k);
        return;
    }
    if (sz == 8) {
        if (v->type != PMIX_UINT64 || v->data.uint64 != pat64(r, k))
            bad("%s: wrong value for rank %d key %d (type %d)", what, r, k, v->type);
        return;
    }
    if (v->type != PMIX_BYTE_OBJECT || v->data.bo.size != sz) {
        bad("%s: wrong type or size for rank %d key %d (type %d, size %zu)", what, r, k, v->type,
            v->type == PMIX_BYTE_OBJECT ? v->data.bo.size : (size_t)0);
        return;
    }
    for (size_t j = 0; j < sz; j++)
        if ((uint8_t)v->data.bo.bytes[j] != pat(r, k, j)) {
            bad("%s: wrong byte %zu for rank %d key %d", what, j, r, k);
            return;
        }
}
void proc_of(pmix_proc_t* p, int r) {
    memset(p, 0, sizeof *p);
    memcpy(p->nspace, me.nspace, sizeof p->nspace);
    p->rank = (pmix_rank_t)r;
}
void fence(bool collect) {
    pmix_info_t i;
    memset(&i, 0, sizeof i);
    snprintf(i.key, sizeof i.key, "%s", PMIX_COLLECT_DATA);
    i.value.type = PMIX_BOOL;
    i.value.data.flag = true;
    must(PMIx_Fence(NULL, 0, collect ? &i : NULL, collect ? 1 : 0), "PMIx_Fence");
}
