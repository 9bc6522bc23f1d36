// SPDX-License-Identifier: BSD-3-Clause
#include "transport/foreign_file.h"

#include <unistd.h>

#include <cstring>

#include "common/base/log.h"

namespace pmix::transport {

bool is_foreign(const struct stat& info) noexcept {
    return info.st_uid != ::geteuid() && info.st_uid != 0 && !S_ISDIR(info.st_mode);
}

void log_foreign(const std::string& name, const struct stat& info, int error) noexcept {
    if (error == 0) {
        WIREUP_LOG(server, warn, "\"%s\" was user %u's file, and has been replaced", name.c_str(), info.st_uid);
    } else {
        WIREUP_LOG(server, error, "\"%s\" is user %u's file, and cannot be replaced: %s", name.c_str(), info.st_uid,
                   std::strerror(error));
    }
}

}  // namespace pmix::transport
