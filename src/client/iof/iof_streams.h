// SPDX-License-Identifier: BSD-3-Clause
// What a registration for output consists of: its form, its files, and a stream for each process and channel.
//
// Values of Iof; the loop's alone. Nothing can go wrong but the reading of directives.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/iof/iof.h"
#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "transport/descriptor.h"

namespace pmix::client {

inline constexpr pmix_iof_channel_t kIofOutputs =
    PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL | PMIX_FWD_STDDIAG_CHANNEL;

// One process and channel, for one registration.
struct Iof::Stream {
    Stream(IofFormat format, const common::ProcId& s, pmix_iof_channel_t c, std::string_view where)
        : source(s), channel(c), lines(format, s, c, where) {}
    common::ProcId source;
    pmix_iof_channel_t channel;
    Lines lines;
    std::vector<uint8_t> buffered;
    transport::TimerId timer = 0;
    transport::Descriptor file;
    bool file_asked = false;
    bool ended = false;
};

struct Iof::Handler {
    pmix_iof_cbfunc_t function = nullptr;
    IofFormat format;
    IofFileNames files;
    bool console = false;
    bool merge = false;
    pmix_iof_channel_t channels = kIofOutputs;
    std::set<std::string> shared_files;  // that it has made
    uint32_t buffer_bytes = 0;           // 0, with no time either: not buffered
    uint32_t buffer_seconds = 0;
    bool active = false;
    size_t owed = 0;
    std::map<std::pair<common::ProcId, pmix_iof_channel_t>, Stream> streams;

    // shows: what it is given to call is no reason not to write too.
    pmix_status_t read(common::InfoView infos, bool has_function, bool shows = false);
    bool buffers() const noexcept { return buffer_bytes != 0 || buffer_seconds != 0; }
    // The other one of two merged channels may still have output of this process.
    bool other_goes_on(const common::ProcId& source, pmix_iof_channel_t channel) const;
};

}  // namespace pmix::client
