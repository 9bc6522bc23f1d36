// SPDX-License-Identifier: BSD-3-Clause
#include "client/groups/group_limits.h"

#include <algorithm>
#include <string_view>

#include "common/values/info_view.h"

namespace pmix::client {

using common::InfoList;
using common::InfoView;
using transport::Deadline;

namespace {

// Directives that the collective at the end must have from all.
constexpr std::string_view kForAll[] = {PMIX_GROUP_OPTIONAL,
                                        PMIX_GROUP_NOTIFY_TERMINATION,
                                        PMIX_GROUP_FT_COLLECTIVE,
                                        PMIX_GROUP_ASSIGN_CONTEXT_ID,
                                        PMIX_RANGE,
                                        PMIX_TIMEOUT};

}  // namespace

InfoList for_all(const InfoList& infos) {
    InfoList out;
    for (const pmix_info_t& info : infos)
        for (std::string_view key : kForAll)
            if (common::key_view(info) == key) out.append(info);
    return out;
}

int limit_s(const InfoList& infos) noexcept {
    int seconds = 0;
    return InfoView(infos).get(PMIX_TIMEOUT, &seconds) == PMIX_SUCCESS && seconds > 0 ? seconds : 0;
}

Deadline limit_of(const InfoList& infos) noexcept {
    const int seconds = limit_s(infos);
    return seconds == 0 ? Deadline::never() : Deadline::in_ms(int64_t{seconds} * 1000);
}

int64_t left_ms(Deadline limit) noexcept {
    return limit.remaining_ns() / 1'000'000 + 1;
}

void append_limited(InfoList& out, const InfoList& infos, Deadline limit) {
    for (const pmix_info_t& info : infos)
        if (common::key_view(info) != PMIX_TIMEOUT) out.append(info);
    int seconds = limit_s(infos);
    if (!limit.is_never()) {
        const int64_t left = std::max<int64_t>((limit.remaining_ns() + 999'999'999) / 1'000'000'000, 1);
        if (seconds == 0 || left < seconds) seconds = static_cast<int>(left);
    }
    if (seconds != 0) out.append_number<int>(PMIX_TIMEOUT, seconds, PMIX_INT);
}

}  // namespace pmix::client
