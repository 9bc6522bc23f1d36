// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/qualified_values.h"

#include <new>
#include <utility>

#include "common/values/array_value.h"
#include "dstore/qualified.h"
#include "openpmix/known_keys.h"

namespace pmix::client {

using common::InfoList;
using common::InfoView;

namespace {

void take_stored(openpmix::KeyValue& pair, const pmix_value_t& array) {
    auto stored = dstore::stored_form(array);
    if (stored.status() == PMIX_ERR_NOMEM) throw std::bad_alloc();
    if (!stored.ok()) return;
    pair.key = std::move(stored->key);
    pair.value = std::move(stored->value);
}

}  // namespace

bool is_of_qualified(std::string_view key, common::Bytes value, bool deleted) {
    return deleted ? !dstore::primary_in(key).empty() : dstore::is_stored_qualified(key, value);
}

bool are_known(const openpmix::Traits& traits, const openpmix::KeyValues& arrays) {
    for (const openpmix::KeyValue& pair : arrays.pairs)
        for (const pmix_info_t& info : common::infos_in(pair.value.get()))
            if (!openpmix::is_known_key(traits, common::key_view(info))) return false;
    return true;
}

std::optional<QualifiedQuestion> qualified_question(std::string_view stored_key, const InfoView& infos) {
    auto qualifiers = dstore::Qualifiers::marked_in(infos);
    if (!qualifiers.ok() || qualifiers->empty()) return std::nullopt;
    QualifiedQuestion question;
    const std::string_view primary = dstore::primary_in(stored_key);
    if (primary.empty() || qualifiers->key_for(primary) != stored_key) return question;
    InfoList marked;
    for (const pmix_info_t& info : infos)
        if (dstore::is_qualifier(info) && marked.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
    question.primary = primary;
    question.qualifiers = std::make_shared<const InfoList>(std::move(marked));
    return question;
}

void store_qualified(openpmix::KeyValues& values) {
    for (openpmix::KeyValue& pair : values.pairs)
        if (pair.key == PMIX_QUALIFIED_VALUE) take_stored(pair, pair.value.get());
}

void store_answer(openpmix::KeyValues& values, const QualifiedQuestion& question) {
    for (openpmix::KeyValue& pair : values.pairs) {
        if (pair.key != question.primary) continue;
        InfoList one;
        if (one.append(pair.key, std::move(pair.value)) != PMIX_SUCCESS ||
            one.append_all(question.qualifiers->c_array(), question.qualifiers->size()) != PMIX_SUCCESS)
            throw std::bad_alloc();
        auto array = common::array_value(std::move(one));
        if (!array.ok()) throw std::bad_alloc();
        take_stored(pair, array->get());
    }
}

}  // namespace pmix::client
