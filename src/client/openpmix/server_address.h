// SPDX-License-Identifier: BSD-3-Clause
// The text by which a server that speaks OpenPMIx's protocol is named: its address, and the file that it describes
// itself by.
//
//   NSPACE.RANK;tcp4://A.B.C.D:PORT    the address; given by a user, names of encodings may stand in front ("41:4;...")
//
//   a file: the address; the release of its library ("v5.0.7a1", or without the letter); its process; user and group;
//   the time. Files that a user asks a server for have the first two lines at least, or the first alone. From 7.0 on a
//   line "alturis:" may follow, with the list below.
//
//   tcp4://A.B.C.D:PORT,...            other addresses of the same server
//
// Pure, any thread. The texts are hostile. What can go wrong: PMIX_ERR_BAD_PARAM something is not in its form,
// PMIX_ERR_NOT_SUPPORTED an address that is not IPv4's. A release that is not in its form is one that is not known.
#pragma once

#include <netinet/in.h>
#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"

namespace pmix::client {

struct OpenPmixAddress {
    common::ProcId server;
    sockaddr_in address{};
    std::string uri;                  // without what stood in front
    std::vector<sockaddr_in> others;  // where else it accepts connections, the best first
};

// Is this meant for one? Text that is not may be an address of this library's own.
bool is_openpmix_address(std::string_view text) noexcept;
common::Result<OpenPmixAddress> parse_openpmix_address(std::string_view text);

// PMIX_SERVER_ALT_URIS: a list of other addresses with commas between them. Those of IPv6, which are none of this
// library's, are left out.
common::Result<std::vector<sockaddr_in>> parse_openpmix_others(std::string_view list);

struct OpenPmixContact {
    OpenPmixAddress address;
    std::string version;  // empty: not known
    pid_t pid = 0;        // 0: not known
};

// text: of a whole file. PMIX_ERR_NOT_FOUND: there is no whole line, so its writer has not finished, or never will.
common::Result<OpenPmixContact> parse_openpmix_contact(std::string_view text);

}  // namespace pmix::client
