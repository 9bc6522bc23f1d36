// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/fabric.h"

#include <utility>
#include <vector>

#include "client/events/events.h"
#include "client/session/request.h"
#include "client/session/session.h"
#include "common/values/support.h"

namespace pmix::client {

using common::Command;
using common::InfoList;
using common::InfoView;
using common::Result;

// What the fields of an object point to.
struct Fabrics::Registered {
    InfoList directives;
    InfoList infos;
    std::vector<uint16_t> costs;
    size_t index = 0;

    // Takes over a description; what it does not speak of stays. Nothing is changed when this fails.
    pmix_status_t take(InfoList&& news);
    void show(pmix_fabric_t* fabric) noexcept {
        fabric->index = index;
        fabric->info = infos.c_array();
        fabric->ninfo = infos.size();
        fabric->module = this;
    }
};

struct Fabrics::Options {
    pmix_fabric_operation_t operation = PMIX_FABRIC_REQUEST_INFO;
    InfoList directives;
    int timeout_s = 0;

    common::FabricRequest message() const {
        common::FabricRequest request;
        request.operation = static_cast<uint32_t>(operation);
        request.directives = common::Infos::borrow(directives.c_array(), directives.size());
        return request;
    }
};

pmix_status_t Fabrics::Registered::take(InfoList&& news) {
    const InfoView view(news);
    std::vector<uint16_t> new_costs;
    if (const pmix_data_array_t* matrix = common::portable_costs(view)) {
        const auto* first = static_cast<const uint16_t*>(matrix->array);
        new_costs.assign(first, first + matrix->size);
    }
    size_t number = index;
    pmix_status_t rc = view.get(PMIX_FABRIC_INDEX, &number);
    InfoList all;
    for (const pmix_info_t& info : view) {
        if (rc == PMIX_SUCCESS && common::key_view(info) != PMIX_FABRIC_COST_MATRIX) rc = all.append(info);
    }
    // Costs between devices of which there are more or fewer now are those of another fabric.
    const bool costs_stay = new_costs.empty() && !view.has(PMIX_FABRIC_NUM_DEVICES);
    for (const pmix_info_t& info : infos) {
        if (rc != PMIX_SUCCESS || view.has(common::key_view(info))) continue;
        if (common::key_view(info) != PMIX_FABRIC_COST_MATRIX) rc = all.append(info);
    }
    std::vector<uint16_t>& kept = costs_stay ? costs : new_costs;
    if (rc == PMIX_SUCCESS && !kept.empty())
        rc = all.append_number<void*>(PMIX_FABRIC_COST_MATRIX, kept.data(), PMIX_POINTER);
    if (rc != PMIX_SUCCESS) return rc;
    if (!costs_stay) costs = std::move(new_costs);  // the numbers stay where they are in memory
    infos = std::move(all);
    index = number;
    return PMIX_SUCCESS;
}

Fabrics::Fabrics(Session& session) : session_(session) {}

Fabrics::~Fabrics() = default;

// ---- asking ----

// Nobody to ask, and nobody to come back. A client whose server is lost hears that instead.
bool Fabrics::alone() const noexcept {
    return !session_.has_server() || (session_.is_tool() && !session_.connected());
}

Result<Fabrics::Options> Fabrics::read(const pmix_info_t directives[], size_t n) {
    Options options;
    pmix_status_t rc = check_directives(session_, directives, n);
    if (rc == PMIX_SUCCESS) rc = read_timeout(directives, n, &options.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    for (const pmix_info_t& info : InfoView(directives, n)) {
        // An address means nothing to another process.
        if (rc == PMIX_SUCCESS && info.value.type != PMIX_POINTER) rc = options.directives.append(info);
    }
    if (rc != PMIX_SUCCESS) return rc;
    return options;
}

// The directives of the registration, and which fabric it has become.
Result<Fabrics::Options> Fabrics::options_of(const pmix_fabric_t* fabric) {
    Options options;
    options.operation = PMIX_FABRIC_UPDATE_INFO;
    common::MutexLock lock(mutex_);
    const auto it = registered_.find(fabric);
    if (it == registered_.end()) return PMIX_ERR_BAD_PARAM;
    const Registered& known = *it->second;
    pmix_status_t rc = InfoView(known.directives).get(PMIX_TIMEOUT, &options.timeout_s);
    for (const pmix_info_t& info : known.directives) {
        if (rc == PMIX_SUCCESS && common::key_view(info) != PMIX_FABRIC_INDEX) rc = options.directives.append(info);
    }
    if (rc == PMIX_SUCCESS) rc = options.directives.append_number(PMIX_FABRIC_INDEX, known.index, PMIX_SIZE);
    if (rc != PMIX_SUCCESS) return rc;
    return options;
}

Result<InfoList> Fabrics::describe_here(const InfoList& directives) {
    const pmix_status_t rc =
        common::check_required(directives, common::Function::PMIx_Fabric_register, common::level::client);
    if (rc != PMIX_SUCCESS) return rc;
    if (!devices_) return PMIX_ERR_UNREACH;
    auto devices = devices_();
    if (!devices) return devices.status();
    common::MutexLock lock(mutex_);
    return common::describe_fabric(*devices, directives, numbers_);
}

pmix_status_t Fabrics::ask(const Options& options, InfoList& description) {
    if (alone()) {
        auto here = describe_here(options.directives);
        if (here) description = std::move(here).value();
        return here.status();
    }
    common::ResultsReply reply;
    const pmix_status_t rc = session_.ask<Command::fabric>(options.message(), reply, options.timeout_s);
    description = reply.infos.take();
    return common::plain(rc);
}

// done(status, description&&) runs on the loop.
template <class Done>
pmix_status_t Fabrics::ask_nb(Options&& options, Done done) {
    if (alone()) {
        auto here = describe_here(options.directives);
        if (!here) return here.status();
        session_.loop().post(
            [done, description = std::move(here).value()]() mutable { done(PMIX_SUCCESS, std::move(description)); });
        return PMIX_SUCCESS;
    }
    const common::FabricRequest request = options.message();
    return session_.ask_nb<Command::fabric>(
        request,
        [done](pmix_status_t rc, common::ResultsReply& reply) mutable { done(common::plain(rc), reply.infos.take()); },
        options.timeout_s);
}

// ---- objects ----

pmix_status_t Fabrics::fill_new(pmix_fabric_t* fabric, InfoList&& directives, InfoList&& description) {
    // A server that calls nothing by a name has said nothing.
    if (description.empty()) return PMIX_ERR_NOT_SUPPORTED;
    auto made = std::make_unique<Registered>();
    made->directives = std::move(directives);
    WIREUP_RETURN_IF_ERROR(made->take(std::move(description)));
    common::MutexLock lock(mutex_);
    made->show(fabric);
    registered_.insert_or_assign(fabric, std::move(made));
    return PMIX_SUCCESS;
}

pmix_status_t Fabrics::fill_again(pmix_fabric_t* fabric, InfoList&& changes) {
    common::MutexLock lock(mutex_);
    const auto it = registered_.find(fabric);
    if (it == registered_.end()) return PMIX_ERR_BAD_PARAM;  // deregistered meanwhile: not ours to touch
    const pmix_status_t rc = it->second->take(std::move(changes));
    if (rc == PMIX_SUCCESS) it->second->show(fabric);
    return rc;
}

pmix_status_t Fabrics::add(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t n) {
    if (fabric == nullptr) return PMIX_ERR_BAD_PARAM;
    auto options = read(directives, n);
    if (!options) return options.status();
    InfoList description;
    const pmix_status_t rc = ask(*options, description);
    return rc == PMIX_SUCCESS ? fill_new(fabric, std::move(options->directives), std::move(description)) : rc;
}

pmix_status_t Fabrics::add_nb(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t n,
                              pmix_op_cbfunc_t callback, void* cbdata) {
    if (fabric == nullptr || callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto options = read(directives, n);
    if (!options) return options.status();
    auto kept = std::make_shared<InfoList>();
    WIREUP_RETURN_IF_ERROR(kept->append_all(options->directives.c_array(), options->directives.size()));
    return ask_nb(std::move(options).value(),
                  [this, fabric, kept, callback, cbdata](pmix_status_t status, InfoList&& description) {
                      if (status == PMIX_SUCCESS) status = fill_new(fabric, std::move(*kept), std::move(description));
                      callback(status, cbdata);
                  });
}

pmix_status_t Fabrics::update(pmix_fabric_t* fabric) {
    auto options = options_of(fabric);
    if (!options) return options.status();
    InfoList changes;
    const pmix_status_t rc = ask(*options, changes);
    return rc == PMIX_SUCCESS ? fill_again(fabric, std::move(changes)) : rc;
}

pmix_status_t Fabrics::update_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto options = options_of(fabric);
    if (!options) return options.status();
    return ask_nb(std::move(options).value(),
                  [this, fabric, callback, cbdata](pmix_status_t status, InfoList&& changes) {
                      if (status == PMIX_SUCCESS) status = fill_again(fabric, std::move(changes));
                      callback(status, cbdata);
                  });
}

pmix_status_t Fabrics::remove(pmix_fabric_t* fabric) {
    common::MutexLock lock(mutex_);
    if (registered_.erase(fabric) == 0) return PMIX_ERR_BAD_PARAM;
    fabric->index = 0;
    fabric->info = nullptr;
    fabric->ninfo = 0;
    fabric->module = nullptr;
    return PMIX_SUCCESS;
}

pmix_status_t Fabrics::remove_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t callback, void* cbdata) {
    WIREUP_RETURN_IF_ERROR(remove(fabric));
    if (callback == nullptr) return PMIX_OPERATION_SUCCEEDED;
    session_.loop().post([callback, cbdata] { callback(PMIX_SUCCESS, cbdata); });
    return PMIX_SUCCESS;
}

// ---- updates by the library ----

void Fabrics::update_all() {
    std::vector<pmix_fabric_t*> all;
    {
        common::MutexLock lock(mutex_);
        for (const auto& [fabric, known] : registered_) all.push_back(const_cast<pmix_fabric_t*>(fabric));
    }
    if (all.empty()) return;
    // When the last reference is dropped, all are done. An object that could not be brought up to date may be read
    // again too.
    const std::shared_ptr<void> end(nullptr, [this](void*) {
        InfoList infos;
        infos.append_flag(PMIX_EVENT_NON_DEFAULT, true);
        infos.append_flag(PMIX_EVENT_DO_NOT_CACHE, true);
        session_.events().raise(PMIX_FABRIC_UPDATED, session_.server(), std::move(infos));
    });
    for (pmix_fabric_t* fabric : all) {
        auto options = options_of(fabric);
        if (!options) continue;
        ask_nb(std::move(options).value(), [this, fabric, end](pmix_status_t status, InfoList&& changes) {
            if (status == PMIX_SUCCESS) fill_again(fabric, std::move(changes));
        });
    }
}

}  // namespace pmix::client
