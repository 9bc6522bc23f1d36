// SPDX-License-Identifier: BSD-3-Clause
// A client that speaks OpenPMIx's protocol, for tests: it blocks, and takes one message at a time.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/ids.h"
#include "common/values/array_value.h"
#include "common/values/info_view.h"
#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "openpmix/messages.h"
#include "support/status.h"
#include "transport/descriptor.h"

namespace pmix::test {

class OpenPmixClient {
  public:
    using Bytes = std::vector<uint8_t>;

    // uri: what a child's PMIX_SERVER_URI41 holds.
    explicit OpenPmixClient(const std::string& uri) {
        const size_t colon = uri.rfind(':');
        EXPECT_NE(std::string::npos, uri.find(";tcp4://127.0.0.1:")) << uri;
        if (colon == std::string::npos) return;
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.sin_port = htons(static_cast<uint16_t>(std::atoi(uri.c_str() + colon + 1)));
        socket = transport::Descriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(0, ::connect(socket.get(), reinterpret_cast<sockaddr*>(&at), sizeof at));
    }

    // Changed before hello().
    openpmix::ConnectRequest request{.security = "native",
                                     .credential = {},
                                     .kind = openpmix::PeerKind::client,
                                     .uid = 0,
                                     .gid = 0,
                                     .id = {},
                                     .version = "4.2.2",
                                     .encoding = "v41",
                                     .buffer_kind = openpmix::kNotDescribed,
                                     .store = "hash",
                                     .has_infos = false,
                                     .infos = {},
                                     .stray_nul = true};

    // True: it was let in. False: the connection has ended.
    bool hello(const common::ProcId& id) {
        request.id = id;
        traits = *openpmix::traits_of(request.version, request.encoding, request.buffer_kind);
        Bytes message;
        EXPECT_STATUS(PMIX_SUCCESS, request.encode(&message));
        write(message);
        const openpmix::ReplyForm form = openpmix::reply_form(request.kind, traits);
        Bytes bytes;
        size_t used = 0;
        while (used == 0) {
            uint8_t byte;
            if (!read(&byte, 1)) return false;
            bytes.push_back(byte);
            EXPECT_STATUS(PMIX_SUCCESS, openpmix::decode_reply(bytes, form, &reply, &used));
        }
        return reply.status == PMIX_SUCCESS;
    }

    void write(common::Bytes bytes) {
        while (!bytes.empty()) {
            const ssize_t n = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0) return;
            bytes = bytes.subspan(static_cast<size_t>(n));
        }
    }
    void write(uint32_t with_tag, common::Bytes payload) {
        Bytes message(16);
        openpmix::build_header({0, with_tag, static_cast<uint32_t>(payload.size())}, message.data());
        message.insert(message.end(), payload.begin(), payload.end());
        write(message);
    }
    // The tag of the request.
    template <class Request>
    uint32_t send(const Request& message) {
        Bytes payload;
        EXPECT_STATUS(PMIX_SUCCESS, openpmix::encode(message, traits, &payload));
        write(++tag, payload);
        return tag;
    }
    // The payload of the next message with this tag; others are kept. False: the connection has ended.
    bool receive(uint32_t wanted, Bytes* payload) {
        for (;;) {
            auto& kept = messages_[wanted];
            if (!kept.empty()) {
                *payload = std::move(kept.front());
                kept.pop_front();
                return true;
            }
            uint8_t bytes[16];
            openpmix::FrameHeader header;
            if (!read(bytes, sizeof bytes)) return false;
            EXPECT_STATUS(PMIX_SUCCESS, openpmix::parse_header(bytes, &header));
            Bytes content(header.payload);
            if (!content.empty() && !read(content.data(), content.size())) return false;
            messages_[header.tag].push_back(std::move(content));
        }
    }
    template <class Reply>
    Reply receive(uint32_t wanted) {
        kept_.emplace_back();
        EXPECT_TRUE(receive(wanted, &kept_.back())) << "the connection has ended";
        Reply message{};
        EXPECT_STATUS(PMIX_SUCCESS, openpmix::decode(kept_.back(), traits, &message));
        return message;
    }
    template <class Reply, class Request>
    Reply ask(const Request& message) {
        return receive<Reply>(send(message));
    }
    template <class Request>
    pmix_status_t status_of(const Request& message) {
        return ask<openpmix::StatusReply>(message).status.value;
    }
    // The server ends the connection, in so many seconds at most.
    bool sees_end() {
        uint8_t byte;
        while (read(&byte, 1)) continue;
        return ended;
    }
    // Nothing is received for a moment.
    bool is_silent(int ms) {
        pollfd waiting{socket.get(), POLLIN, 0};
        return ::poll(&waiting, 1, ms) == 0;
    }

    bool read(uint8_t* to, size_t size) {
        while (size > 0) {
            pollfd waiting{socket.get(), POLLIN, 0};
            if (::poll(&waiting, 1, 60'000) != 1) {
                ADD_FAILURE() << "nothing is received";
                return false;
            }
            const ssize_t n = ::recv(socket.get(), to, size, 0);
            if (n <= 0) {
                ended = true;
                return false;
            }
            to += n;
            size -= static_cast<size_t>(n);
        }
        return true;
    }

    transport::Descriptor socket;
    openpmix::Traits traits;
    openpmix::ConnectReply reply;
    uint32_t tag = openpmix::kFirstRequestTag;
    bool ended = false;

  private:
    std::map<uint32_t, std::deque<Bytes>> messages_;
    std::deque<Bytes> kept_;  // what decoded messages point into
};

// Commits one value for everybody, as their clients do: it is in both sections.
inline pmix_status_t commit_global(OpenPmixClient& client, const char* key, uint32_t number) {
    std::vector<uint8_t> values;
    openpmix::SectionData data;
    data.values.pairs.push_back({key, common::Value::u32(number)});
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::encode(data, client.traits, &values));
    openpmix::CommitRequest commit;
    commit.sections.sections = {{PMIX_LOCAL, values}, {PMIX_REMOTE, values}};
    return client.status_of(commit);
}

inline openpmix::GetRequest get_of(const char* nspace, common::Rank rank, const char* key) {
    openpmix::GetRequest request;
    request.nspace = openpmix::Text(nspace);
    request.rank.value = rank;
    if (key != nullptr) request.key.emplace(openpmix::Text(key));
    return request;
}

// Bytes that the server holds for this user; 0: it does not say.
inline uint64_t held_by_server(OpenPmixClient& client) {
    char key[] = WIREUP_QUERY_COUNTERS;
    char* keys[] = {key, nullptr};
    pmix_query_t query{};
    query.keys = keys;
    openpmix::QueryRequest request;
    request.queries.elements = common::CArray<pmix_query_t>::copy_of(&query, 1).value();
    const auto reply = client.ask<openpmix::InfosReply>(request);
    if (!reply.infos || reply.infos->infos.size() != 1) return 0;
    for (const pmix_info_t& counter : common::infos_in(reply.infos->infos[0].value))
        if (std::string_view(counter.key) == "wireup.cnt.held")
            return common::infos_in(counter.value)[0].value.data.uint64;
    return 0;
}

// The values in a ProcData or JobData's calls, by key.
template <class Blob>
inline std::map<std::string, common::Value> values_in(common::Bytes bytes, const openpmix::Traits& traits, Blob* blob) {
    EXPECT_STATUS(PMIX_SUCCESS, openpmix::decode(bytes, traits, blob));
    std::map<std::string, common::Value> values;
    for (auto& pair : blob->values.pairs) values.insert_or_assign(pair.key, std::move(pair.value));
    return values;
}

}  // namespace pmix::test
