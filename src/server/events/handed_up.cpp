// SPDX-License-Identifier: BSD-3-Clause
#include "server/events/handed_up.h"

#include <cinttypes>
#include <cstdio>

#include "common/protocol/event_infos.h"
#include "common/values/info_view.h"

namespace pmix::server {

HandedUp::HandedUp(const common::ProcId& server)
    : server_(server.nspace + ":" + std::to_string(server.rank) + ":" + std::to_string(common::event_clock())) {}

pmix_status_t HandedUp::mark(common::InfoList& infos, pmix_status_t code, pmix_data_range_t range,
                             std::optional<uint32_t> user) const {
    std::string text = server_ + " " + std::to_string(code) + " " + std::to_string(range);
    if (user) text += " " + std::to_string(*user);
    pmix_status_t rc = infos.append_flag(kOfClientKey, true);
    // The host is the only one that an event for it alone has reached: where it brings it is news.
    if (rc == PMIX_SUCCESS && range != PMIX_RANGE_RM) rc = infos.append_string(kHandedUpKey, text);
    return rc;
}

std::optional<HandedUp::Before> HandedUp::find(const common::InfoList& infos, pmix_status_t code) const {
    std::string_view text;
    if (common::InfoView(infos).get(kHandedUpKey, &text) != PMIX_SUCCESS) return {};
    // The last part of a server's name is a number; what stands before may hold anything.
    const size_t colon = text.rfind(':');
    const size_t end = colon == text.npos ? text.npos : text.find(' ', colon);
    if (end == text.npos) return {};
    const std::string rest(text.substr(end));
    int was_code = 0;
    unsigned range = 0;
    uint32_t user = 0;
    const int n = std::sscanf(rest.c_str(), " %d %u %" SCNu32, &was_code, &range, &user);
    if (n < 2 || was_code != code || range > PMIX_RANGE_PROC_LOCAL) return {};
    return Before{text.substr(0, end) == server_, static_cast<pmix_data_range_t>(range),
                  n == 3 ? std::optional(user) : std::nullopt};
}

void HandedUp::remove(common::InfoList& infos) {
    infos.remove(kOfClientKey);
    infos.remove(kHandedUpKey);
}

}  // namespace pmix::server
