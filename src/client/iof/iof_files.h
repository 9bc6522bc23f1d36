// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output in files: their names, and making them safely.
//
// Any thread; an IofFile has one owner. What a name holds of a namespace cannot leave the folder the user named, and
// the parts of the path that are ours are not followed through symbolic links: the user's folder may be one that others
// can write to. Only regular files are written.
//
// What can go wrong: PMIX_ERR_BAD_PARAM for a name that cannot be, PMIX_ERR_NO_PERMISSIONS or PMIX_ERR_IOF_FAILURE for
// what the file system says, PMIX_ERR_IOF_FAILURE for a write that fails (a full disk).
#pragma once

#include <pmix_common.h>

#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/values/info_view.h"
#include "transport/descriptor.h"

namespace pmix::client {

struct IofFileNames {
    std::string file;       // PMIX_IOF_OUTPUT_TO_FILE
    std::string directory;  // PMIX_IOF_OUTPUT_TO_DIRECTORY
    bool pattern = false;   // the file's name has %n and %r
    bool any() const noexcept { return !file.empty() || !directory.empty(); }
    // The name does not say the rank: all processes of a namespace, or of all, are in one file per channel.
    bool shared() const noexcept;
};

pmix_status_t read_iof_file_names(common::InfoView infos, IofFileNames& names);

// Where a stream goes: a base that is the user's word, and the parts below it that are ours.
struct IofPath {
    std::string base;
    std::string below[3];  // empty ones do not count; the last is the file
};
IofPath iof_path(const IofFileNames& names, const common::ProcId& source, pmix_iof_channel_t channel);

// Makes missing folders, and the file. What was in it is dropped, or kept. Each write goes to its end.
enum class Before { dropped, kept };
common::Result<transport::Descriptor> create_iof_file(const IofPath& path, Before before = Before::dropped);
pmix_status_t write_iof_file(int fd, std::string_view bytes) noexcept;

}  // namespace pmix::client
