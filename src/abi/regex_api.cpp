// SPDX-License-Identifier: BSD-3-Clause
// PMIx_generate_regex, PMIx_generate_ppn and their successors in OpenPMIx 7: a host's node list and process list as the
// text it passes on.
//
// Owns nothing; the caller frees the result. Any thread. A list without an entry, or with something in it that is not
// one, is PMIX_ERR_BAD_PARAM: a host should hear of it here and not when the job is registered from it.
#include <pmix_server.h>

#include <cstdlib>
#include <cstring>

#include "abi/boundary.h"
#include "common/placement/node_map.h"
#include "common/placement/regex2.h"
#include "runtime/library.h"
#include "server/server.h"

namespace {

using pmix::common::Result;

// Both need no library object, so they also serve a host that plans its jobs before it starts the server.
template <class Generate>
pmix_status_t generate(const char* input, char** output, Generate&& make) {
    return pmix::api::guarded([&]() -> pmix_status_t {
        if (output == nullptr) return PMIX_ERR_BAD_PARAM;
        *output = nullptr;
        if (input == nullptr) return PMIX_ERR_BAD_PARAM;
        // A list may come as the result of an earlier call, so it is measured as one.
        const Result<std::string> text = make(std::string_view{input, pmix::common::regex_size(input) - 1});
        if (!text.ok()) return text.status();
        auto* copy = static_cast<char*>(std::malloc(text.value().size() + 1));
        if (copy == nullptr) return PMIX_ERR_NOMEM;
        std::memcpy(copy, text.value().c_str(), text.value().size() + 1);
        *output = copy;
        return PMIX_SUCCESS;
    });
}

}  // namespace

extern "C" pmix_status_t PMIx_generate_regex(const char* input, char** regex) {
    return generate(input, regex, [](std::string_view list) { return pmix::common::generate_node_map(list); });
}

extern "C" pmix_status_t PMIx_generate_ppn(const char* input, char** ppn) {
    return generate(input, ppn, [](std::string_view list) { return pmix::common::generate_proc_map(list); });
}

extern "C" pmix_status_t PMIx_generate_regex2(const char* input, pmix_info_t info[], size_t ninfo,
                                              pmix_regex2_t* regex) {
    return pmix::api::guarded([&]() -> pmix_status_t {
        if (regex == nullptr) return PMIX_ERR_BAD_PARAM;
        *regex = {};
        if (input == nullptr || *input == '\0' || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
        if (pmix::api::Library* library = pmix::api::Library::enter(); library != nullptr) {
            if (auto* server = library->server(); server != nullptr) server->note_call_of_7();
            pmix::api::Library::leave();
        }
        return pmix::common::make_regex2(input, regex);
    });
}

extern "C" pmix_status_t PMIx_parse_regex2(const pmix_regex2_t* regex, pmix_info_t info[], size_t ninfo,
                                           char** output) {
    return pmix::api::guarded([&]() -> pmix_status_t {
        if (output == nullptr) return PMIX_ERR_BAD_PARAM;
        *output = nullptr;
        if (regex == nullptr || (info == nullptr && ninfo != 0)) return PMIX_ERR_BAD_PARAM;
        const Result<std::string> text = pmix::common::read_regex2(*regex);
        if (!text.ok()) return text.status();
        *output = strdup(text.value().c_str());
        return *output == nullptr ? PMIX_ERR_NOMEM : PMIX_SUCCESS;
    });
}
