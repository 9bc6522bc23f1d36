// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/credentials.h"

#include <cstdlib>
#include <cstring>
#include <memory>

#include "client/services/munge.h"
#include "client/services/service.h"
#include "common/protocol/credential_types.h"
#include "common/values/support.h"

namespace pmix::client {
namespace {

using common::Blob;
using common::Bytes;
using common::Command;
using common::CredentialTypes;
using common::InfoList;
using common::Infos;
using common::InfoView;

// A credential and what is said of it.
struct Made {
    pmix_status_t status = PMIX_ERR_NOT_SUPPORTED;
    Blob bytes;
    InfoList infos;
};

Made by_munge() {
    Made made;
    auto bytes = make_munge_credential();
    made.status = bytes ? made.infos.append_string(PMIX_CRED_TYPE, common::kMungeCredential) : bytes.status();
    if (made.status == PMIX_SUCCESS) made.bytes = std::move(bytes).value();
    return made;
}

// Required entries that only the host can meet are not met by munge.
bool knows_all(InfoView infos, common::Function function) noexcept {
    return common::check_required(infos, function, common::level::client | common::level::server) == PMIX_SUCCESS;
}

// How a credential is to be made: by munge first, by the server, by munge in the end.
struct Options {
    std::string types;  // for the server
    InfoList infos;
    int timeout_s = 0;
    bool munge_first = false;
    bool munge_last = false;
    bool server = true;
};

common::Result<Options> read_options(const Session& session, const pmix_info_t infos[], size_t ninfos) {
    Options options;
    std::string_view types;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    const InfoView view(infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &options.timeout_s);
    if (rc == PMIX_SUCCESS) rc = view.get(PMIX_CRED_TYPE, &types);
    if (rc != PMIX_SUCCESS) return rc;
    const CredentialTypes list(types);
    const bool munge = knows_all(view, common::Function::PMIx_Get_credential);
    options.munge_first = munge && list.first() == common::kMungeCredential;
    options.munge_last = munge && !options.munge_first && list.has(common::kMungeCredential);
    if (options.munge_first) options.types = list.after(common::kMungeCredential).text();
    options.server = !options.munge_first || !options.types.empty();
    for (const pmix_info_t& info : view) {
        const bool rest = options.munge_first && common::key_view(info) == PMIX_CRED_TYPE;
        if (rc == PMIX_SUCCESS && info.value.type != PMIX_POINTER)
            rc = rest ? options.infos.append_string(PMIX_CRED_TYPE, options.types) : options.infos.append(info);
    }
    if (rc != PMIX_SUCCESS) return rc;
    return options;
}

common::GetCredentialRequest message(const Options& options) {
    common::GetCredentialRequest request;
    request.directives = Infos::borrow(options.infos.c_array(), options.infos.size());
    return request;
}

Made from_server(pmix_status_t status, common::CredentialReply& reply, bool munge_last) {
    Made made;
    made.status = plain(status);
    made.bytes = std::move(reply.credential);
    made.infos = reply.infos.take();
    if (made.status == PMIX_SUCCESS && made.bytes.empty()) made.status = PMIX_ERR_NOT_SUPPORTED;
    if (munge_last && (made.status == PMIX_ERR_NOT_SUPPORTED || made.status == PMIX_ERR_UNREACH)) return by_munge();
    return made;
}

pmix_status_t hand_out(const Blob& bytes, pmix_byte_object_t* out) {
    out->bytes = static_cast<char*>(std::malloc(bytes.size()));
    if (out->bytes == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(out->bytes, bytes.data(), bytes.size());
    out->size = bytes.size();
    return PMIX_SUCCESS;
}

void call_back(pmix_credential_cbfunc_t callback, void* cbdata, Made& made) {
    if (made.status != PMIX_SUCCESS) return callback(made.status, nullptr, nullptr, 0, cbdata);
    pmix_byte_object_t object{reinterpret_cast<char*>(made.bytes.data()), made.bytes.size()};
    callback(made.status, &object, made.infos.c_array(), made.infos.size(), cbdata);
}

// ---- validation ----

pmix_status_t check_by_munge(Bytes credential, InfoList& infos) {
    uid_t uid = 0;
    gid_t gid = 0;
    pmix_status_t rc = read_munge_credential(credential, &uid, &gid);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<uint32_t>(PMIX_USERID, uid, PMIX_UINT32);
    if (rc == PMIX_SUCCESS) rc = infos.append_number<uint32_t>(PMIX_GRPID, gid, PMIX_UINT32);
    if (rc == PMIX_SUCCESS) rc = infos.append_string(PMIX_CRED_TYPE, common::kMungeCredential);
    return rc;
}

struct Question : Prepared<common::ValidateCredentialRequest> {
    Bytes credential;
    bool is_munge = false;  // and may be answered by it
};

common::Result<Question> read_question(const Session& session, const pmix_byte_object_t* credential,
                                       const pmix_info_t infos[], size_t ninfos) {
    Question q;
    if (credential == nullptr) return PMIX_ERR_BAD_PARAM;
    pmix_status_t rc = check_directives(session, infos, ninfos);
    if (rc == PMIX_SUCCESS) rc = read_timeout(infos, ninfos, &q.timeout_s);
    if (rc != PMIX_SUCCESS) return rc;
    // Nothing proves nothing.
    if (credential->bytes == nullptr || credential->size == 0) return PMIX_ERR_INVALID_CRED;
    if (credential->size > common::kMaxFramePayload / 2) return PMIX_ERR_INVALID_CRED;
    q.credential = Bytes(reinterpret_cast<const uint8_t*>(credential->bytes), credential->size);
    q.request.credential.assign(q.credential.begin(), q.credential.end());
    q.request.directives = Infos::borrow(infos, ninfos);
    q.is_munge =
        is_munge_credential(q.credential) && knows_all({infos, ninfos}, common::Function::PMIx_Validate_credential);
    return q;
}

}  // namespace

pmix_status_t get_credential(Session& session, const pmix_info_t infos[], size_t ninfos,
                             pmix_byte_object_t* credential) {
    auto options = read_options(session, infos, ninfos);
    if (!options) return options.status();
    if (credential == nullptr) return PMIX_ERR_BAD_PARAM;
    Made made;
    if (options->munge_first) made = by_munge();
    if (made.status != PMIX_SUCCESS && options->server) {
        common::CredentialReply reply;
        const pmix_status_t rc = session.ask<Command::get_credential>(message(*options), reply, options->timeout_s);
        made = from_server(rc, reply, options->munge_last);
    }
    return made.status == PMIX_SUCCESS ? hand_out(made.bytes, credential) : made.status;
}

pmix_status_t get_credential_nb(Session& session, const pmix_info_t infos[], size_t ninfos,
                                pmix_credential_cbfunc_t callback, void* cbdata) {
    auto options = read_options(session, infos, ninfos);
    if (!options) return options.status();
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto made = std::make_shared<Made>();
    if (options->munge_first) *made = by_munge();
    if (made->status == PMIX_SUCCESS) {
        session.loop().post([made, callback, cbdata] { call_back(callback, cbdata, *made); });
        return PMIX_SUCCESS;
    }
    if (!options->server) return made->status;
    const auto done = [callback, cbdata, munge_last = options->munge_last](pmix_status_t rc,
                                                                           common::CredentialReply& reply) {
        Made answer = from_server(rc, reply, munge_last);
        call_back(callback, cbdata, answer);
    };
    return session.ask_nb<Command::get_credential>(message(*options), done, options->timeout_s);
}

pmix_status_t validate_credential(Session& session, const pmix_byte_object_t* credential, const pmix_info_t infos[],
                                  size_t ninfos, ResultsOut results) {
    auto q = read_question(session, credential, infos, ninfos);
    if (!q) return q.status();
    if (q->is_munge) {
        InfoList found;
        const pmix_status_t rc = check_by_munge(q->credential, found);
        if (rc == PMIX_SUCCESS && results.infos != nullptr && results.ninfos != nullptr)
            *results.infos = found.release(results.ninfos);
        // Without munge here, the host may know it.
        if (rc != PMIX_ERR_NOT_SUPPORTED) return rc;
    }
    return ask_for_results<Command::validate_credential>(session, *q, results);
}

pmix_status_t validate_credential_nb(Session& session, const pmix_byte_object_t* credential, const pmix_info_t infos[],
                                     size_t ninfos, pmix_validation_cbfunc_t callback, void* cbdata) {
    if (callback == nullptr) return PMIX_ERR_BAD_PARAM;
    auto q = read_question(session, credential, infos, ninfos);
    if (!q) return q.status();
    if (q->is_munge) {
        auto found = std::make_shared<InfoList>();
        const pmix_status_t rc = check_by_munge(q->credential, *found);
        if (rc != PMIX_SUCCESS && rc != PMIX_ERR_NOT_SUPPORTED) return rc;
        if (rc == PMIX_SUCCESS) {
            session.loop().post(
                [found, callback, cbdata] { callback(PMIX_SUCCESS, found->c_array(), found->size(), cbdata); });
            return PMIX_SUCCESS;
        }
    }
    const auto done = [callback, cbdata](pmix_status_t rc, common::ResultsReply& reply) {
        InfoList found = reply.infos.take();
        callback(plain(rc), found.c_array(), found.size(), cbdata);
    };
    return session.ask_nb<Command::validate_credential>(q->request, done, q->timeout_s);
}

}  // namespace pmix::client
