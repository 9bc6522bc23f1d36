// SPDX-License-Identifier: BSD-3-Clause
#include "openpmix/tellable.h"

#include <new>
#include <vector>

#include "common/values/describe.h"
#include "common/values/info_view.h"
#include "openpmix/known_types.h"

namespace pmix::openpmix {
namespace {

common::Infos tellable_infos(const common::Infos& infos, const Traits& traits) {
    common::InfoList kept;
    for (const pmix_info_t& info : infos) {
        if (is_tellable(traits, info.value) && kept.append(info) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    return common::Infos(std::move(kept));
}

}  // namespace

bool is_tellable(const Traits& traits, const pmix_value_t& value) {
    if (!is_known(traits, value)) return false;
    // Nearly all values, which every release has a form for.
    const common::TypeRow* row = common::type_row(value.type);
    const bool text = value.type == PMIX_STRING || value.type == PMIX_BYTE_OBJECT || value.type == PMIX_BOOL;
    if (text || (row != nullptr && row->plain)) return true;
    pmix_info_t info{};
    info.value = value;
    HelloInfosMessage message;
    message.infos.infos = common::Infos::borrow(&info, 1);
    std::vector<uint8_t> calls;
    const pmix_status_t rc = encode(message, traits, &calls);
    if (rc == PMIX_ERR_NOMEM) throw std::bad_alloc();
    return rc == PMIX_SUCCESS;
}

EventMessage tellable_part(const EventMessage& message, const Traits& traits) {
    EventMessage part;
    part.code = message.code;
    part.source = message.source;
    part.range = message.range;
    part.infos.infos = tellable_infos(message.infos.infos, traits);
    return part;
}

InfosReply tellable_part(const InfosReply& message, const Traits& traits) {
    InfosReply part;
    part.status = message.status;
    if (message.infos) part.infos.emplace().infos = tellable_infos(message.infos->infos, traits);
    return part;
}

LookupReply tellable_part(const LookupReply& message, const Traits& traits) {
    LookupReply part;
    part.status = message.status;
    if (!message.data) return part;
    std::vector<const pmix_pdata_t*> kept;
    for (const pmix_pdata_t& item : message.data->elements)
        if (is_tellable(traits, item.value)) kept.push_back(&item);
    if (kept.empty()) {
        part.status.value = PMIX_ERR_NOT_SUPPORTED;
        return part;
    }
    if (kept.size() < message.data->elements.size()) part.status.value = PMIX_ERR_PARTIAL_SUCCESS;
    auto items = common::CArray<pmix_pdata_t>::zeroed(kept.size());
    if (!items.ok()) throw std::bad_alloc();
    for (size_t i = 0; i < kept.size(); ++i) {
        pmix_pdata_t& item = items->data()[i];
        item.proc = kept[i]->proc;
        common::set_key(item.key, {kept[i]->key, common::bounded_length(kept[i]->key, common::kMaxKeyLength)});
        if (common::copy_value(&item.value, kept[i]->value) != PMIX_SUCCESS) throw std::bad_alloc();
    }
    part.data.emplace().elements = std::move(items).value();
    return part;
}

}  // namespace pmix::openpmix
