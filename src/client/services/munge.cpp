// SPDX-License-Identifier: BSD-3-Clause
#include "client/services/munge.h"

#include <pthread.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "common/base/open_library.h"

namespace pmix::client {

namespace {

// Of munge.h: contexts are opaque, and the default one is null; 0 is success; these say that there is no answer at all.
using Encode = int(char** credential, void* context, const void* payload, int size);
using Decode = int(const char* credential, void* context, void** payload, int* size, uid_t* uid, gid_t* gid);
constexpr int kSnafu = 1, kNoMemory = 5, kSocket = 6, kTimeout = 7;

constexpr std::string_view kPrefix = "MUNGE:";
constexpr size_t kMaxCredential = 1 << 20;

struct Library {
    Encode* encode = nullptr;
    Decode* decode = nullptr;
};
constinit Library g_library;
constinit pthread_once_t g_once = PTHREAD_ONCE_INIT;

void open_library() {
    void* handle = common::open_library("libmunge.so.2", nullptr);
    if (handle == nullptr) return;
    common::find_function(handle, "munge_encode", g_library.encode);
    common::find_function(handle, "munge_decode", g_library.decode);
}

const Library& library() {
    ::pthread_once(&g_once, &open_library);
    return g_library;
}

bool no_service(int rc) noexcept {
    return rc == kSnafu || rc == kNoMemory || rc == kSocket || rc == kTimeout;
}

}  // namespace

bool is_munge_credential(common::Bytes credential) noexcept {
    return credential.size() > kPrefix.size() && std::memcmp(credential.data(), kPrefix.data(), kPrefix.size()) == 0;
}

common::Result<common::Blob> make_munge_credential() {
    if (library().encode == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    char* text = nullptr;
    const int rc = library().encode(&text, nullptr, nullptr, 0);
    if (rc != 0 || text == nullptr) {
        std::free(text);
        return PMIX_ERR_NOT_SUPPORTED;
    }
    common::Blob blob(text, text + std::strlen(text));
    std::free(text);
    return blob;
}

pmix_status_t read_munge_credential(common::Bytes credential, uid_t* uid, gid_t* gid) {
    if (library().decode == nullptr) return PMIX_ERR_NOT_SUPPORTED;
    if (credential.size() > kMaxCredential) return PMIX_ERR_INVALID_CRED;
    const std::string text(reinterpret_cast<const char*>(credential.data()), credential.size());
    void* payload = nullptr;
    int size = 0;
    const int rc = library().decode(text.c_str(), nullptr, &payload, &size, uid, gid);
    std::free(payload);
    if (rc == 0) return PMIX_SUCCESS;
    return no_service(rc) ? PMIX_ERR_NOT_SUPPORTED : PMIX_ERR_INVALID_CRED;
}

}  // namespace pmix::client
