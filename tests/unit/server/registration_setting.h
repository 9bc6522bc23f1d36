// SPDX-License-Identifier: BSD-3-Clause
// What the tests of registrations share: a host's arrays, and what a client reads of them.
#pragma once

#include <gtest/gtest.h>

#include "common/codec/pack.h"
#include "server/namespaces/job_info.h"
#include "server/namespaces/namespace_data.h"
#include "server/namespaces/registry.h"
#include "support/fake_client.h"

namespace pmix::test::registration {

using common::InfoList;
using dstore::Key;
using dstore::Owner;

inline InfoList list_of(std::initializer_list<std::pair<const char*, common::Value>> entries) {
    InfoList list;
    for (const auto& [key, value] : entries) {
        auto copy = common::Value::copy_of(value.get());
        list.append(key, std::move(copy).value());
    }
    return list;
}
inline common::Value text(const char* s) {
    return std::move(common::Value::string(s)).value();
}
inline common::Value u32(uint32_t n) {
    return common::Value::u32(n);
}
inline common::Value rank(uint32_t n) {
    return common::Value::number<pmix_rank_t>(n, PMIX_PROC_RANK);
}
// An array of infos as a value.
inline common::Value array(const InfoList& inner) {
    pmix_data_array_t a;
    a.type = PMIX_INFO;
    a.size = inner.size();
    a.array = const_cast<pmix_info_t*>(inner.c_array());
    return std::move(common::Value::load(&a, PMIX_DATA_ARRAY)).value();
}

// What a client reads.
struct Answer {
    pmix_status_t status = PMIX_ERR_NOT_FOUND;
    common::Value value;
    int64_t number() const {
        int64_t n = -1;
        common::read_number(value.get(), &n);
        return n;
    }
    std::string string() const {
        return value.type() == PMIX_STRING && value.get().data.string != nullptr ? value.get().data.string : "<none>";
    }
};
inline Answer read(TestServer& server, const char* nspace, Owner owner, const char* key) {
    Answer a;
    server::Nspace* n = server.parts().registry.find(nspace);
    if (n == nullptr || n->data == nullptr) return a;
    dstore::Found found;
    a.status = n->data->reader().find(owner, Key(key), found);
    if (a.status == PMIX_SUCCESS) a.status = common::decode_value_into(found.bytes(), a.value.c_ptr());
    return a;
}

}  // namespace pmix::test::registration
