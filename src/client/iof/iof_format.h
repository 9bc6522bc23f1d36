// SPDX-License-Identifier: BSD-3-Clause
// Forwarded output as text for people: whole lines, each with a tag: the process that wrote it, the time, the channel.
//
// Pure; a Lines is used from one thread. It keeps the beginning of a line until its end comes (or
// kMaxLine bytes, or the end of the stream), so that lines of different processes do not mix; a line that comes in
// several deliveries is tagged once. Raw: nothing is kept back, and a tag stands where a line begins.
#pragma once

#include <pmix_common.h>

#include <string>
#include <string_view>

#include "common/base/ids.h"
#include "common/values/info_view.h"

namespace pmix::client {

struct IofFormat {
    bool tag = false;       // [nspace,rank]<channel>
    bool detailed = false;  // [nspace,rank][node:pid]<channel>
    bool rank = false;      // [rank]<channel>
    bool timestamp = false;
    bool xml = false;
    bool raw = false;
    bool any() const noexcept { return tag || detailed || rank || timestamp || xml; }
};

// The attributes under their present and their former names.
IofFormat read_iof_format(common::InfoView infos) noexcept;

// "stdout"
const char* iof_channel_name(pmix_iof_channel_t channel) noexcept;
// Seconds since the epoch, in the time zone of this machine: 2024-05-01T13:00:00.123+0200
std::string iof_timestamp(int64_t seconds, int milliseconds);

class Lines {
  public:
    static constexpr size_t kMaxLine = 64u << 10;

    // where: "node:pid", for a detailed tag; may be empty.
    Lines(IofFormat format, const common::ProcId& source, pmix_iof_channel_t channel, std::string_view where);

    // Appends to out what can be shown of the bytes.
    void add(std::string_view bytes, std::string_view now, std::string& out);
    // And of what was kept back.
    void end(std::string_view now, std::string& out);

  private:
    void begin_line(std::string_view now, std::string& out);
    void text(std::string_view bytes, std::string& out);
    void line(std::string_view bytes, bool complete, std::string_view now, std::string& out);

    IofFormat format_;
    std::string before_;  // of a tag, what is the same for each line
    const char* channel_;
    std::string kept_;
    bool in_line_ = false;
};

}  // namespace pmix::client
