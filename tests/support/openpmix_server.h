// SPDX-License-Identifier: BSD-3-Clause
// A server that speaks OpenPMIx's protocol, for tests: one process's connections, one after the other, on a thread of
// its own. What it answers is the test's to say.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "common/base/ids.h"
#include "common/base/mutex.h"
#include "common/values/array_value.h"
#include "openpmix/frame.h"
#include "openpmix/hello.h"
#include "openpmix/messages.h"
#include "support/status.h"
#include "transport/descriptor.h"
#include "transport/tcp/tcp_socket.h"

namespace pmix::test {

class OpenPmixServer {
  public:
    using Bytes = std::vector<uint8_t>;
    using Answer = std::function<void(uint32_t tag, common::Bytes payload)>;

    explicit OpenPmixServer(const char* version = "4.2.2", const char* encoding = "v41")
        : traits(*openpmix::traits_of(version, encoding, openpmix::kNotDescribed)), version_(version) {
        auto socket = transport::listen_loopback();
        EXPECT_TRUE(socket.ok());
        listener_ = std::move(socket).value();
        uri = "server.0;tcp4://" + transport::tcp_address(listener_.get());
        variable_ = std::string("PMIX_SERVER_URI") + (encoding + 1);
        on(openpmix::Command::job_data, [this](uint32_t tag, common::Bytes) { send_bytes(tag, job()); });
        for (const auto command : {openpmix::Command::commit, openpmix::Command::fence, openpmix::Command::finalize,
                                   openpmix::Command::register_events, openpmix::Command::notify})
            answer_status(command, PMIX_SUCCESS);
    }
    ~OpenPmixServer() { stop(); }

    void on(openpmix::Command command, Answer answer) { answers_[static_cast<uint8_t>(command)] = std::move(answer); }
    void answer_status(openpmix::Command command, pmix_status_t status) {
        on(command, [this, status](uint32_t tag, common::Bytes) { send_status(tag, status); });
    }
    void start() {
        thread_ = std::thread([this] { serve(); });
    }
    void stop() {
        stopping_ = true;
        cut();
        ::shutdown(listener_.get(), SHUT_RDWR);
        if (thread_.joinable()) thread_.join();
    }
    // Ends the connection.
    void cut() {
        common::MutexLock lock(mutex_);
        if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
    }
    // The same as a process that is killed with unread bytes ends it: by a reset.
    void reset() {
        common::MutexLock lock(mutex_);
        const linger at_once{1, 0};
        (void)::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        const sockaddr nobody{AF_UNSPEC, {}};
        (void)::connect(socket_.get(), &nobody, sizeof nobody);
    }
    void set_environment() const {
        ::setenv("PMIX_NAMESPACE", "job", 1);
        ::setenv("PMIX_RANK", "0", 1);
        ::setenv("PMIX_VERSION", version_.c_str(), 1);
        ::setenv("PMIX_SECURITY_MODE", "munge,native", 1);
        ::setenv("PMIX_BFROP_BUFFER_TYPE", "PMIX_BFROP_BUFFER_NON_DESC", 1);
        ::setenv("PMIX_HOSTNAME", "here", 1);
        ::setenv(variable_.c_str(), uri.c_str(), 1);
    }
    static void clear_environment() {
        for (const char* name :
             {"PMIX_NAMESPACE", "PMIX_RANK", "PMIX_VERSION", "PMIX_SECURITY_MODE", "PMIX_BFROP_BUFFER_TYPE",
              "PMIX_HOSTNAME", "PMIX_SERVER_URI61", "PMIX_SERVER_URI51", "PMIX_SERVER_URI41", "PMIX_SERVER_URI4"})
            ::unsetenv(name);
    }

    // The answer to the first request: two ranks on this node, one on another.
    Bytes job() const {
        openpmix::JobData data;
        data.nspace = openpmix::Text("job");
        auto& pairs = data.values.pairs;
        pairs.push_back({PMIX_JOB_SIZE, common::Value::u32(3)});
        pairs.push_back({PMIX_SESSION_INFO_ARRAY, infos({{PMIX_SESSION_ID, common::Value::u32(9)}})});
        pairs.push_back({PMIX_SESSION_INFO_ARRAY, infos({{PMIX_SESSION_ID, common::Value::u32(UINT32_MAX)},
                                                         {PMIX_UNIV_SIZE, common::Value::u32(8)}})});
        pairs.push_back({PMIX_NODE_INFO_ARRAY, infos({{PMIX_HOSTNAME, text("here")},
                                                      {PMIX_NODEID, common::Value::u32(4)},
                                                      {PMIX_LOCAL_PEERS, text("0,1")}})});
        // As older servers write a node.
        pairs.push_back({"there", infos({{PMIX_HOSTNAME, text("there")}, {PMIX_NODEID, common::Value::u32(7)}})});
        for (common::Rank rank = 0; rank < 3; ++rank) {
            openpmix::RankData one;
            one.rank.value = rank;
            one.values.pairs.push_back({PMIX_LOCAL_RANK, common::Value::number<uint16_t>(rank % 2, PMIX_UINT16)});
            one.values.pairs.push_back({PMIX_HOSTNAME, text(rank < 2 ? "here" : "there")});
            pairs.push_back({PMIX_PROC_BLOB, bytes(encoded(one))});
        }
        return encoded(data);
    }

    template <class Message>
    Bytes encoded(const Message& message) const {
        Bytes out;
        EXPECT_STATUS(PMIX_SUCCESS, openpmix::encode(message, traits, &out));
        return out;
    }
    template <class Message>
    Message decoded(common::Bytes payload) const {
        Message message;
        EXPECT_STATUS(PMIX_SUCCESS, openpmix::decode(payload, traits, &message));
        return message;
    }
    template <class Message>
    void send(uint32_t tag, const Message& message) {
        send_bytes(tag, encoded(message));
    }
    void send_status(uint32_t tag, pmix_status_t status) {
        openpmix::StatusReply reply;
        reply.status.value = status;
        send(tag, reply);
    }
    void send_bytes(uint32_t tag, const Bytes& payload) {
        uint8_t head[openpmix::kHeaderSize];
        openpmix::build_header({0, tag, static_cast<uint32_t>(payload.size())}, head);
        Bytes message(std::begin(head), std::end(head));
        message.insert(message.end(), payload.begin(), payload.end());
        write(message);
    }
    void write(const Bytes& bytes) { (void)!::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL); }

    static common::Value text(const char* text) { return std::move(common::Value::string(text)).value(); }
    static common::Value bytes(const Bytes& content) {
        const pmix_byte_object_t object{reinterpret_cast<char*>(const_cast<uint8_t*>(content.data())), content.size()};
        return std::move(common::Value::load(&object, PMIX_BYTE_OBJECT)).value();
    }
    struct Item {
        const char* key;
        common::Value value;
    };
    template <size_t N>
    static common::Value infos(Item (&&items)[N]) {
        common::InfoList list;
        for (Item& item : items) EXPECT_STATUS(PMIX_SUCCESS, list.append(item.key, std::move(item.value)));
        return std::move(common::array_value(std::move(list))).value();
    }

    const openpmix::Traits traits;
    std::string uri;
    openpmix::ConnectRequest hello;  // the last one
    Bytes hello_answer = Bytes(8);   // accepted, the first peer
    std::atomic<bool> answers_hello{true};
    std::atomic<int> connections{0};
    std::atomic<int> requests{0};
    std::atomic<int> heartbeats{0};

  private:
    void serve() {
        while (!stopping_) {
            pollfd waiting{listener_.get(), POLLIN, 0};
            if (::poll(&waiting, 1, 60'000) < 0 || stopping_) return;
            transport::Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
            if (!socket) return;
            {
                common::MutexLock lock(mutex_);
                if (stopping_) return;  // cut() was before this connection
                socket_ = std::move(socket);
            }
            ++connections;  // what is counted can be cut
            serve_one();
            common::MutexLock lock(mutex_);
            socket_.reset();
        }
    }
    void serve_one() {
        Bytes payload;
        uint8_t head[openpmix::kHeaderSize];
        size_t size = 0;
        if (!read(head, sizeof head) || openpmix::read_connect_header({head, sizeof head}, &size) != PMIX_SUCCESS)
            return;
        payload.resize(size);
        openpmix::Traits known;
        if (!read(payload.data(), size)) return;
        EXPECT_STATUS(PMIX_SUCCESS, openpmix::ConnectRequest::decode(payload, &hello, &known));
        if (answers_hello) write(hello_answer);
        while (read(head, sizeof head)) {
            openpmix::FrameHeader header;
            EXPECT_STATUS(PMIX_SUCCESS, openpmix::parse_header(head, &header));
            payload.resize(header.payload);
            if (!read(payload.data(), payload.size())) return;
            if (header.tag == openpmix::kHeartbeatTag) {
                EXPECT_EQ(0u, header.payload);
                ++heartbeats;
                continue;
            }
            ++requests;
            uint8_t command = 0;
            EXPECT_STATUS(PMIX_SUCCESS, openpmix::read_command(payload, traits, &command));
            const auto answer = answers_.find(command);
            if (answer == answers_.end()) {
                send_status(header.tag, PMIX_ERR_NOT_SUPPORTED);
            } else if (answer->second) {
                answer->second(header.tag, payload);
            }
        }
    }
    bool read(uint8_t* to, size_t size) {
        while (size > 0) {
            const ssize_t n = ::recv(socket_.get(), to, size, 0);
            if (n <= 0) return false;
            to += n;
            size -= static_cast<size_t>(n);
        }
        return true;
    }

    const std::string version_;
    std::string variable_;
    transport::Descriptor listener_;
    common::Mutex mutex_;
    transport::Descriptor socket_;  // written by the thread under the mutex
    std::map<uint8_t, Answer> answers_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

}  // namespace pmix::test
