// SPDX-License-Identifier: BSD-3-Clause
// Opening the folder of a path that a user named, when other users may have changed what lies on the way.
//
// Free function, owns nothing; any thread (it may block on a slow file system: for blocking tasks). A symbolic link on
// the way is followed only if it is the user's own, this process's, or root's: no other user can redirect the path.
// What can go wrong: -1, with errno (EPERM for such a link).
#pragma once

#include <sys/types.h>

#include <string_view>

#include "transport/descriptor.h"

namespace pmix::server {

// Absolute paths only. The descriptor is good for openat() and its like.
transport::Descriptor open_folder_of_user(std::string_view path, uid_t user);

}  // namespace pmix::server
