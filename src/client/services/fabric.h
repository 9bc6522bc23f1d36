// SPDX-License-Identifier: BSD-3-Clause
// PMIx_Fabric_register, _update, _deregister: descriptions of fabrics in objects of the caller's, and keeping them
// fresh.
//
// Owns, for each registered object, what its fields point to, under a lock; it is found by the object's address and
// freed with its registration, or at the last finalize. Callers' threads; callbacks come from the loop. By the
// interface nobody reads an object while an update of it is under way, so its fields have no lock. A process without a
// server describes what it sees of its own node. With a handler of its own for PMIX_FABRIC_UPDATE_PENDING, a process
// agrees to updates by the library: after the handlers are done all its objects are brought up to date, and
// PMIX_FABRIC_UPDATED follows. What can go wrong: an object that is not registered (PMIX_ERR_BAD_PARAM), the
// server's status. An update that fails leaves the contents as they were.
#pragma once

#include <pmix.h>

#include <functional>
#include <memory>
#include <unordered_map>

#include "common/base/mutex.h"
#include "common/base/status.h"
#include "common/protocol/fabric.h"
#include "common/protocol/messages.h"
#include "common/values/value.h"

namespace pmix::client {

class Session;

class Fabrics {
  public:
    // This node's devices: PMIX_FABRIC_DEVICE each. Any thread.
    using Devices = std::function<common::Result<common::InfoList>()>;

    explicit Fabrics(Session& session);
    ~Fabrics();
    Fabrics(const Fabrics&) = delete;
    Fabrics& operator=(const Fabrics&) = delete;

    // Before the first call.
    void set_devices(Devices devices) { devices_ = std::move(devices); }

    // The object may have been registered before: it is registered anew.
    pmix_status_t add(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t n);
    pmix_status_t add_nb(pmix_fabric_t* fabric, const pmix_info_t directives[], size_t n, pmix_op_cbfunc_t callback,
                         void* cbdata);
    pmix_status_t update(pmix_fabric_t* fabric);
    pmix_status_t update_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t callback, void* cbdata);
    pmix_status_t remove(pmix_fabric_t* fabric);
    pmix_status_t remove_nb(pmix_fabric_t* fabric, pmix_op_cbfunc_t callback, void* cbdata);

    // The process's own handlers for PMIX_FABRIC_UPDATE_PENDING are done. Loop.
    void update_all();

  private:
    struct Registered;
    struct Options;

    common::Result<Options> read(const pmix_info_t directives[], size_t n);
    common::Result<Options> options_of(const pmix_fabric_t* fabric);
    bool alone() const noexcept;
    // What is known without a server.
    common::Result<common::InfoList> describe_here(const common::InfoList& directives);
    pmix_status_t ask(const Options& options, common::InfoList& description);
    template <class Done>
    pmix_status_t ask_nb(Options&& options, Done done);
    pmix_status_t fill_new(pmix_fabric_t* fabric, common::InfoList&& directives, common::InfoList&& description);
    pmix_status_t fill_again(pmix_fabric_t* fabric, common::InfoList&& changes);

    Session& session_;
    Devices devices_;
    common::Mutex mutex_;
    common::FabricNumbers numbers_ GUARDED_BY(mutex_);
    std::unordered_map<const pmix_fabric_t*, std::unique_ptr<Registered>> registered_ GUARDED_BY(mutex_);
};

}  // namespace pmix::client
