// SPDX-License-Identifier: BSD-3-Clause
// Texts that come from other processes, files or the environment: addresses, cpusets, localities, numbers. No crash, no
// hang, and what is read is the same after it is written again. The first byte chooses what the rest is.
#include <pmix.h>
#include <pmix_server.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "client/openpmix/server_address.h"
#include "common/placement/locality.h"
#include "common/values/real_text.h"
#include "transport/rendezvous/rendezvous.h"
#include "transport/rendezvous/server_list.h"

using namespace pmix;

namespace {

// Aborts in every build: assert() would vanish from a release one.
void must(bool holds) {
    if (!holds) std::abort();
}

void check_uri(std::string_view text) {
    const auto contact = transport::parse_uri(text);
    if (!contact.ok()) return;
    auto parsed = transport::parse_uri(text);
    must(!parsed->addresses.empty());
    auto again = transport::parse_uri(transport::format_uri(*parsed));
    must(again.ok() && again->server == parsed->server && again->addresses == parsed->addresses);
}

void check_indexes(std::string_view text) {
    auto list = common::IndexList::parse(text);
    if (!list.ok()) return;
    std::string written;
    list->append_text(written);
    auto again = common::IndexList::parse(written);
    must(again.ok() && again->ranges() == list->ranges());
    for (size_t i = 1; i < list->ranges().size(); ++i) must(list->ranges()[i - 1].last < list->ranges()[i].first);
    must(list->intersects(*again) != list->empty());
}

void check_cpuset(std::string_view text) {
    (void)common::parse_cpuset_text(text);
    pmix_cpuset_t cpuset;
    PMIx_Cpuset_construct(&cpuset);
    if (PMIx_Parse_cpuset_string(std::string(text).c_str(), &cpuset) == PMIX_SUCCESS) PMIx_Cpuset_destruct(&cpuset);
}

// What a server of OpenPMIx's writes into its file.
void check_contact(std::string_view text) {
    auto contact = client::parse_openpmix_contact(text);
    if (!contact.ok()) return;
    must(client::is_openpmix_address(contact->address.uri) && contact->pid >= 0);
    auto again = client::parse_openpmix_address(contact->address.uri);
    must(again.ok() && again->server == contact->address.server && again->uri == contact->address.uri);
}

// Two localities, with a NUL between them.
void check_locality(std::string_view text) {
    const size_t cut = std::min(text.find('\0'), text.size());
    const std::string_view a = text.substr(0, cut), b = text.substr(std::min(cut + 1, text.size()));
    const auto one = common::relative_locality(a, b), other = common::relative_locality(b, a);
    must(one.ok() == other.ok());
    if (!one.ok()) return;
    auto x = common::relative_locality(a, b), y = common::relative_locality(b, a);
    must(*x == *y);
}

void check_real(std::string_view text) {
    const std::string whole(text);
    double number = 0;
    float small = 0;
    (void)common::parse_real(whole.c_str(), whole.size(), &small);
    if (!common::parse_real(whole.c_str(), whole.size(), &number)) return;
    char written[common::kMaxRealText];
    const size_t length = common::print_real(number, written);
    double again = 0;
    must(common::parse_real(written, length, &again));
    must(std::memcmp(&number, &again, sizeof number) == 0 || (number != number && again != again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size == 0) return 0;
    const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
    transport::ListedServer listed;
    switch (data[0] % 6) {
        case 0:
            check_uri(text);
            break;
        case 1:
            check_indexes(text);
            break;
        case 2:
            check_cpuset(text);
            break;
        case 3:
            check_locality(text);
            break;
        case 4:
            check_real(text);
            break;
        default:
            (void)transport::parse_unix_line(text, listed);
            check_contact(text);
            break;
    }
    return 0;
}
