// SPDX-License-Identifier: BSD-3-Clause
#include "client/data/publish.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "client/session/request.h"
#include "client/session/results.h"
#include "client/session/session.h"
#include "common/codec/pack.h"

namespace pmix::client {
namespace {

using common::Command;
using common::Infos;

struct Checked {
    int timeout_s = 0;
    pmix_status_t status = PMIX_SUCCESS;
};

Checked check(const Session& session, const pmix_info_t infos[], size_t ninfos) noexcept {
    Checked p;
    p.status = check_directives(session, infos, ninfos);
    if (p.status == PMIX_SUCCESS) p.status = read_timeout(infos, ninfos, &p.timeout_s);
    return p;
}

auto teller(pmix_op_cbfunc_t callback, void* cbdata) {
    return [callback, cbdata](pmix_status_t rc, common::Nothing&) { callback(plain(rc), cbdata); };
}

pmix_status_t prepare_publish(const Session& session, const pmix_info_t infos[], size_t ninfos,
                              common::PublishRequest& request, int* timeout_s) {
    if (infos == nullptr || ninfos == 0) return PMIX_ERR_BAD_PARAM;
    const Checked p = check(session, infos, ninfos);
    if (p.status != PMIX_SUCCESS) return p.status;
    for (const pmix_info_t& info : common::InfoView(infos, ninfos)) {
        if (common::bounded_length(info.key, sizeof info.key) > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
        if (info.key[0] == '\0') return PMIX_ERR_BAD_PARAM;
    }
    request.infos = Infos::borrow(infos, ninfos);
    *timeout_s = p.timeout_s;
    return PMIX_SUCCESS;
}

pmix_status_t prepare_unpublish(const Session& session, char** keys, const pmix_info_t infos[], size_t ninfos,
                                common::UnpublishRequest& request, int* timeout_s) {
    const Checked p = check(session, infos, ninfos);
    if (p.status != PMIX_SUCCESS) return p.status;
    request.all = keys == nullptr;
    if (keys != nullptr) {
        auto list = checked_keys(keys);
        if (!list) return list.status();
        request.keys = std::move(list).value();
    }
    request.infos = Infos::borrow(infos, ninfos);
    *timeout_s = p.timeout_s;
    return PMIX_SUCCESS;
}

// For how many of the keys the host is to wait is its matter; that it is a number is ours.
pmix_status_t check_wait(const pmix_info_t infos[], size_t ninfos) noexcept {
    const pmix_info_t* wait = common::InfoView(infos, ninfos).find(PMIX_WAIT);
    int64_t n = 0;
    if (wait == nullptr || wait->value.type == PMIX_BOOL) return PMIX_SUCCESS;
    const bool is_number = common::read_number(wait->value, &n) == PMIX_SUCCESS && n >= 0;
    return is_number ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
}

// The status of a lookup as a whole, by the Standard's "Retrieval rules for published data": PMIX_SUCCESS where all
// was found, PMIX_ERR_PARTIAL_SUCCESS where some was, PMIX_ERR_NOT_FOUND where nothing was. A host that counts
// otherwise is put right by what it has brought; every other status of a host stays.
pmix_status_t lookup_status(pmix_status_t rc, size_t found, size_t asked) noexcept {
    if (!common::succeeded(rc) && rc != PMIX_ERR_PARTIAL_SUCCESS) return rc;
    if (found == 0) return PMIX_ERR_NOT_FOUND;
    return found < asked ? PMIX_ERR_PARTIAL_SUCCESS : PMIX_SUCCESS;
}

}  // namespace

pmix_status_t publish(Session& session, const pmix_info_t infos[], size_t ninfos) {
    common::PublishRequest request;
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(prepare_publish(session, infos, ninfos, request, &timeout_s));
    common::Nothing nothing;
    return plain(session.ask<Command::publish>(request, nothing, timeout_s));
}

pmix_status_t publish_nb(Session& session, const pmix_info_t infos[], size_t ninfos, pmix_op_cbfunc_t callback,
                         void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    common::PublishRequest request;
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(prepare_publish(session, infos, ninfos, request, &timeout_s));
    return session.ask_nb<Command::publish>(request, teller(callback, cbdata), timeout_s);
}

pmix_status_t lookup(Session& session, pmix_pdata_t data[], size_t ndata, const pmix_info_t infos[], size_t ninfos) {
    if (data == nullptr || ndata == 0 || ndata > common::kMaxListLength) return PMIX_ERR_BAD_PARAM;
    const Checked p = check(session, infos, ninfos);
    if (p.status != PMIX_SUCCESS) return p.status;
    common::LookupRequest request;
    for (size_t i = 0; i < ndata; ++i) {
        const size_t length = common::bounded_length(data[i].key, sizeof data[i].key);
        if (length == 0 || length > common::kMaxKeyLength) return PMIX_ERR_BAD_PARAM;
        request.keys.emplace_back(data[i].key, length);
    }
    request.infos = Infos::borrow(infos, ninfos);
    WIREUP_RETURN_IF_ERROR(check_wait(infos, ninfos));
    for (size_t i = 0; i < ndata; ++i) std::memset(&data[i].value, 0, sizeof data[i].value);

    common::LookupReply reply;
    const pmix_status_t rc = session.ask<Command::lookup>(request, reply, p.timeout_s);
    // By key: the host answers in its own order.
    std::vector<const common::PublishedItem*> by_key;
    by_key.reserve(reply.items.size());
    for (const common::PublishedItem& item : reply.items) by_key.push_back(&item);
    std::ranges::stable_sort(by_key, {}, &common::PublishedItem::key);
    size_t found = 0;
    for (size_t i = 0; i < ndata; ++i) {
        const std::string& key = request.keys[i];
        auto it = std::ranges::lower_bound(by_key, key, {}, &common::PublishedItem::key);
        for (; it != by_key.end() && (*it)->key == key; ++it) {
            if (common::decode_value_into((*it)->value, &data[i].value) != PMIX_SUCCESS) {
                std::memset(&data[i].value, 0, sizeof data[i].value);
                continue;
            }
            data[i].proc = (*it)->owner.to_c();
            ++found;
            break;
        }
    }
    return lookup_status(rc, found, ndata);
}

pmix_status_t lookup_nb(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos,
                        pmix_lookup_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr || keys == nullptr || keys[0] == nullptr) return PMIX_ERR_BAD_PARAM;
    const Checked p = check(session, infos, ninfos);
    if (p.status != PMIX_SUCCESS) return p.status;
    auto list = checked_keys(keys);
    if (!list) return list.status();
    common::LookupRequest request;
    request.keys = std::move(list).value();
    request.infos = Infos::borrow(infos, ninfos);
    WIREUP_RETURN_IF_ERROR(check_wait(infos, ninfos));
    const auto done = [callback, cbdata, keys = request.keys](pmix_status_t rc, common::LookupReply& reply) {
        auto items = common::CArray<pmix_pdata_t>::zeroed(reply.items.size());
        if (!items) {
            callback(items.status(), nullptr, 0, cbdata);
            return;
        }
        size_t n = 0;
        std::set<std::string_view> there;
        for (const common::PublishedItem& item : reply.items) {
            pmix_pdata_t& data = (*items)[n];
            if (common::decode_value_into(item.value, &data.value) != PMIX_SUCCESS) continue;
            common::set_key(data.key, item.key);
            data.proc = item.owner.to_c();
            there.insert(item.key);
            ++n;
        }
        const auto found = std::ranges::count_if(keys, [&](const std::string& key) { return there.contains(key); });
        callback(lookup_status(rc, static_cast<size_t>(found), keys.size()), n == 0 ? nullptr : items->data(), n,
                 cbdata);
    };
    return session.ask_nb<Command::lookup>(request, done, p.timeout_s);
}

pmix_status_t unpublish(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos) {
    common::UnpublishRequest request;
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(prepare_unpublish(session, keys, infos, ninfos, request, &timeout_s));
    common::Nothing nothing;
    return plain(session.ask<Command::unpublish>(request, nothing, timeout_s));
}

pmix_status_t unpublish_nb(Session& session, char** keys, const pmix_info_t infos[], size_t ninfos,
                           pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    common::UnpublishRequest request;
    int timeout_s = 0;
    WIREUP_RETURN_IF_ERROR(prepare_unpublish(session, keys, infos, ninfos, request, &timeout_s));
    return session.ask_nb<Command::unpublish>(request, teller(callback, cbdata), timeout_s);
}

}  // namespace pmix::client
