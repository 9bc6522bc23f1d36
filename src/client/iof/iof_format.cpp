// SPDX-License-Identifier: BSD-3-Clause
#include "client/iof/iof_format.h"

#include <time.h>

#include <cstdio>

#include "common/base/xml.h"

namespace pmix::client {

IofFormat read_iof_format(common::InfoView infos) noexcept {
    IofFormat f;
    f.tag = infos.flag(PMIX_IOF_TAG_OUTPUT) || infos.flag(PMIX_TAG_OUTPUT) || infos.flag(PMIX_IOF_TAG_FULLNAME_OUTPUT);
    f.detailed = infos.flag(PMIX_IOF_TAG_DETAILED_OUTPUT);
    f.rank = infos.flag(PMIX_IOF_RANK_OUTPUT);
    f.timestamp = infos.flag(PMIX_IOF_TIMESTAMP_OUTPUT) || infos.flag(PMIX_TIMESTAMP_OUTPUT);
    f.xml = infos.flag(PMIX_IOF_XML_OUTPUT);
    f.raw = infos.flag(PMIX_IOF_OUTPUT_RAW);
    return f;
}

const char* iof_channel_name(pmix_iof_channel_t channel) noexcept {
    switch (channel) {
        case PMIX_FWD_STDIN_CHANNEL:
            return "stdin";
        case PMIX_FWD_STDOUT_CHANNEL:
            return "stdout";
        case PMIX_FWD_STDERR_CHANNEL:
            return "stderr";
        default:
            return "stddiag";
    }
}

std::string iof_timestamp(int64_t seconds, int milliseconds) {
    const time_t t = static_cast<time_t>(seconds);
    tm parts{};
    char date[40] = "", zone[8] = "", text[64];
    if (localtime_r(&t, &parts) != nullptr) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
        strftime(zone, sizeof zone, "%z", &parts);
    }
    std::snprintf(text, sizeof text, "%s.%03d%s", date, milliseconds, zone);
    return text;
}

Lines::Lines(IofFormat format, const common::ProcId& source, pmix_iof_channel_t channel, std::string_view where)
    : format_(format), channel_(iof_channel_name(channel)) {
    const std::string rank = std::to_string(source.rank);
    if (format.xml) {
        before_ = std::string("<") + channel_;
        if (format.tag || format.detailed || format.rank) {
            if (!format.rank || format.tag || format.detailed) {
                before_ += " nspace=\"";
                common::append_xml(source.nspace, before_);
                before_ += '"';
            }
            before_ += " rank=\"" + rank + '"';
        } else {
            before_ += " rank=\"" + rank + '"';
        }
        if (format.detailed && !where.empty()) {
            before_ += " where=\"";
            common::append_xml(where, before_);
            before_ += '"';
        }
    } else if (format.detailed) {
        before_ = '[' + source.nspace + ',' + rank + ']';
        if (!where.empty()) before_ += '[' + std::string(where) + ']';
    } else if (format.tag) {
        before_ = '[' + source.nspace + ',' + rank + ']';
    } else if (format.rank) {
        before_ = '[' + rank + ']';
    }
}

void Lines::begin_line(std::string_view now, std::string& out) {
    in_line_ = true;
    if (!format_.any()) return;
    if (format_.xml) {
        out += before_;
        if (format_.timestamp) out.append(" timestamp=\"").append(now) += '"';
        out += '>';
        return;
    }
    if (format_.timestamp) out.append(now);
    out.append(before_).append("<").append(channel_).append(">: ");
}

void Lines::text(std::string_view bytes, std::string& out) {
    if (format_.xml) {
        common::append_xml(bytes, out);
    } else {
        out += bytes;
    }
}

// A line or, where complete is false, a part of one.
void Lines::line(std::string_view bytes, bool complete, std::string_view now, std::string& out) {
    if (!in_line_) begin_line(now, out);
    text(bytes, out);
    if (!complete) return;
    in_line_ = false;
    if (format_.xml) out.append("</").append(channel_).append(">\n");
}

void Lines::add(std::string_view bytes, std::string_view now, std::string& out) {
    while (!bytes.empty()) {
        const size_t newline = bytes.find('\n');
        const bool complete = newline != std::string_view::npos;
        const std::string_view part = bytes.substr(0, complete ? newline + 1 : bytes.size());
        bytes.remove_prefix(part.size());
        if (complete || format_.raw || kept_.size() + part.size() > kMaxLine) {
            if (!kept_.empty()) line(kept_, false, now, out);
            kept_.clear();
            line(part, complete, now, out);
        } else {
            kept_ += part;
        }
    }
}

void Lines::end(std::string_view now, std::string& out) {
    if (!kept_.empty()) line(kept_, false, now, out);
    kept_.clear();
    if (!in_line_) return;
    in_line_ = false;
    // What is tagged is told apart by lines; what is not stays as it was.
    if (format_.xml) {
        out.append("</").append(channel_).append(">\n");
    } else if (format_.any()) {
        out += '\n';
    }
}

}  // namespace pmix::client
