// SPDX-License-Identifier: BSD-3-Clause
// A server in this process, run by the test, and clients that send frames to it over socket pairs.
//
// TestServer owns loop and server; turn_until() runs the loop until something has happened or a minute has passed.
// FakeClient is the other end of one connection: it sends its hello and requests, and collects what it receives.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "common/codec/pack.h"
#include "common/protocol/hello.h"
#include "common/protocol/messages.h"
#include "dstore/reader.h"
#include "server/parts.h"
#include "server/server.h"
#include "support/fake_host.h"
#include "support/long_wait.h"
#include "support/sockets.h"
#include "support/status.h"
#include "transport/event_loop.h"

namespace pmix::test {

using common::Command;
using common::ProcId;

inline common::InfoList infos() {
    return {};
}

class TestServer {
  public:
    explicit TestServer(const pmix_server_module_t* module, server::ServerOptions options = {}) {
        transport::EventLoopOptions drive;
        drive.drive = transport::Drive::caller;
        loop = std::move(transport::EventLoop::create(drive)).value();
        if (options.id.nspace.empty()) options.id = ProcId("test-server", 0);
        if (options.hostname.empty()) options.hostname = "n0";
        transport::LoopRole role(*loop);
        server = std::move(server::Server::create(*loop, module, std::move(options))).value();
    }
    ~TestServer() {
        if (server != nullptr) stop();
        transport::LoopRole role(*loop);
        server.reset();
    }
    void stop() {
        transport::LoopRole role(*loop);
        server->stop();
    }
    server::Server::Parts& parts() { return server->parts(); }
    server::Registration& setup() { return parts().registration; }

    void run_once() { loop->progress(); }
    // False: a minute has passed, which is a failure.
    template <class F>
    bool turn_until(F&& done) {
        const LongWait wait;
        while (!done()) {
            if (wait.over()) return false;
            run_once();
        }
        return true;
    }
    // For what needs this loop alone, no time and no other thread: false after a second, however fast the loop is, and
    // after some thousand rounds of it, however slow the machine is.
    template <class F>
    bool run_at_once_until(F&& done) {
        const auto deadline = transport::Deadline::in_ms(1000);
        for (int round = 0; round < 5000 || !deadline.passed(); ++round) {
            if (done()) return true;
            run_once();
        }
        return done();
    }
    // For "nothing happens": runs the loop as long as there is work.
    void settle() {
        for (int i = 0; i < 20; ++i) run_once();
    }

    // A job of `nodes` equal nodes n0, n1, ... of which this server is n0.
    void job(const std::string& nspace, unsigned nodes, unsigned ppn, bool clients = true) {
        std::string names, ranks;
        for (unsigned n = 0; n < nodes; ++n) {
            names += (n ? ",n" : "n") + std::to_string(n);
            for (unsigned i = 0; i < ppn; ++i) ranks += (i ? "," : n ? ";" : "") + std::to_string(n * ppn + i);
        }
        common::InfoList list;
        list.append_string(PMIX_NODE_MAP, names);
        list.append_string(PMIX_PROC_MAP, ranks);
        list.append_number<uint32_t>(PMIX_JOB_SIZE, nodes * ppn, PMIX_UINT32);
        add_job(nspace, static_cast<int>(ppn), list);
        for (unsigned r = 0; clients && r < ppn; ++r) add_client(nspace, r);
    }
    pmix_status_t add_job(const std::string& nspace, int nlocal, const common::InfoList& list) {
        transport::LoopRole role(*loop);
        auto job = server::read_job(nspace, nlocal, list.c_array(), list.size());
        if (!job.ok()) return job.status();
        return setup().register_nspace(std::move(job).value());
    }
    void add_client(const std::string& nspace, uint32_t rank, uint32_t uid = ::geteuid()) {
        transport::LoopRole role(*loop);
        EXPECT_STATUS(PMIX_SUCCESS, setup().register_client(ProcId(nspace, rank), uid, ::getegid(), object_of(rank)));
    }
    static void* object_of(uint32_t rank) { return reinterpret_cast<void*>(uintptr_t{0x1000} + rank); }
    template <class F>
    auto on_loop(F&& f) {
        transport::LoopRole role(*loop);
        return f();
    }

    std::unique_ptr<transport::EventLoop> loop;
    std::unique_ptr<server::Server> server;
};

class FakeClient {
  public:
    // To the server it is the process that has made the pair.
    FakeClient(TestServer& server, ProcId id, ConnectionEnds ends = socket_pair())
        : server_(server), id_(std::move(id)), socket_(std::move(ends.first)) {
        transport::LoopRole role(*server_.loop);
        EXPECT_STATUS(PMIX_SUCCESS, server_.parts().listener.take_connection(std::move(ends.second)));
    }

    // The status of the hello; PMIX_ERR_LOST_CONNECTION for a hang-up.
    pmix_status_t hello(common::Token token = {}, common::PeerRole role = common::PeerRole::client) {
        common::HelloRequest mine;
        mine.role = role;
        mine.nspace = id_.nspace;
        mine.rank = id_.rank;
        hello_ = std::make_unique<common::HelloClient>(std::move(mine), token);
        auto& shown = const_cast<common::HelloRequest&>(hello_->request());
        shown.features &= features;
        uint32_t id = start<Command::hello>(shown);
        auto reply = wait(id);
        if (!reply) return PMIX_ERR_LOST_CONNECTION;
        pmix_status_t rc = hello_->receive(reply->header, reply->payload, true);
        if (rc == PMIX_SUCCESS) take_segments(hello_->reply().segments);
        // epoll lists a descriptor that it has reported until the next look. In that place it would be before others
        // that become ready earlier, and what tests send one after the other is to be received so.
        server_.run_once();
        return rc;
    }

    template <Command C, class M>
    uint32_t start(const M& message) {
        auto bytes = common::message_bytes(message);
        EXPECT_TRUE(bytes.ok());
        uint32_t id = next_++;
        write_all(socket_.get(), frame_bytes(common::FrameHeader::request(static_cast<uint16_t>(C), id), *bytes));
        return id;
    }
    template <Command C, class M>
    void tell(const M& message) {
        auto bytes = common::message_bytes(message);
        EXPECT_TRUE(bytes.ok());
        write_all(socket_.get(), frame_bytes(common::FrameHeader::notify(static_cast<uint16_t>(C)), *bytes));
    }
    void send_raw(const std::vector<uint8_t>& bytes) { write_all(socket_.get(), bytes); }

    // Runs the server until the reply is here. Nothing: the connection ended first, or there was no answer.
    std::optional<common::Frame> wait(uint32_t id) {
        std::optional<common::Frame> out;
        server_.turn_until([&] {
            out = take(id);
            return out || hung_up_;
        });
        if (!out) out = take(id);
        return out;
    }
    // For an answer that takes no time and no other thread: where it is missing the test fails at once.
    std::optional<common::Frame> wait_at_once(uint32_t id) {
        std::optional<common::Frame> out;
        server_.run_at_once_until([&] {
            out = take(id);
            return out || hung_up_;
        });
        if (!out) out = take(id);
        return out;
    }
    template <Command C, class M>
    pmix_status_t ask(const M& message) {
        auto reply = wait(start<C>(message));
        return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
    }
    // Is there an answer by now?
    std::optional<common::Frame> take(uint32_t id) {
        read();
        for (auto it = frames_.begin(); it != frames_.end(); ++it) {
            if (it->header.kind != common::FrameKind::reply || it->header.id != id) continue;
            common::Frame frame = std::move(*it);
            frames_.erase(it);
            return frame;
        }
        return std::nullopt;
    }
    std::optional<common::EventNotify> take_event() { return take_notify<Command::event, common::EventNotify>(); }
    template <Command C, class M>
    std::optional<M> take_notify() {
        read();
        for (auto it = frames_.begin(); it != frames_.end(); ++it) {
            if (it->header.kind != common::FrameKind::notify || it->header.command != static_cast<uint16_t>(C))
                continue;
            M message;
            EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(it->payload, message));
            frames_.erase(it);
            return message;
        }
        return std::nullopt;
    }
    // The next part of forwarded output; what it points to is valid until the next call.
    std::optional<common::IofNotify> take_output() {
        read();
        for (auto it = frames_.begin(); it != frames_.end(); ++it) {
            if (it->header.kind != common::FrameKind::notify ||
                it->header.command != static_cast<uint16_t>(Command::iof))
                continue;
            output_ = std::move(*it);
            frames_.erase(it);
            common::IofNotify output;
            EXPECT_STATUS(PMIX_SUCCESS, common::decode_message(output_.payload, output));
            return output;
        }
        return std::nullopt;
    }
    bool hung_up() {
        read();
        return hung_up_;
    }
    // What the hello says that it can do, of what this library can.
    uint64_t features = common::kFeatures;

    // What a good hello was answered with.
    const common::HelloReply& hello_reply() const { return hello_->reply(); }
    void kill() { socket_.reset(); }
    int fd() const { return socket_.get(); }

    void put(const std::string& key, const std::string& text, pmix_scope_t scope = PMIX_GLOBAL) {
        common::ByteWriter w;
        common::encode_string_value(w, text);
        common::CommitRequest request;
        request.entries.push_back({static_cast<uint8_t>(scope), key, w.view()});
        tell<Command::commit>(request);
    }
    uint32_t start_get(const ProcId& proc, const std::string& key, int timeout_s = 0, bool immediate = false,
                       bool refresh = false) {
        common::GetRequest request;
        request.proc = proc;
        request.key = key;
        request.generation = 1;
        common::InfoList list;
        if (timeout_s != 0) list.append_number<int>(PMIX_TIMEOUT, timeout_s, PMIX_INT);
        if (immediate) list.append_flag(PMIX_IMMEDIATE, true);
        if (refresh) list.append_flag(PMIX_GET_REFRESH_CACHE, true);
        request.infos = std::move(list);
        return start<Command::get>(request);
    }
    uint32_t start_fence(std::vector<ProcId> procs, bool collect = false, int timeout_s = 0) {
        common::FenceRequest request;
        request.procs = std::move(procs);
        common::InfoList list;
        if (collect) list.append_flag(PMIX_COLLECT_DATA, true);
        if (timeout_s != 0) list.append_number<int>(PMIX_TIMEOUT, timeout_s, PMIX_INT);
        request.infos = std::move(list);
        return start<Command::fence>(request);
    }
    // What this client can read in its own namespace's segment.
    std::optional<std::string> read_text(uint32_t rank, const std::string& key) {
        if (reader_ == nullptr) return std::nullopt;
        dstore::Found found;
        if (reader_->find(dstore::Owner::proc(rank), dstore::Key(key), found) != PMIX_SUCCESS) return std::nullopt;
        common::Value value;
        if (common::decode_value_into(found.bytes(), value.c_ptr()) != PMIX_SUCCESS || value.type() != PMIX_STRING)
            return std::nullopt;
        return std::string(value.get().data.string);
    }
    const dstore::Reader* reader() const { return reader_.get(); }
    size_t descriptors_received() const { return received_; }
    // The next one that nothing has taken yet; none: an empty one.
    transport::Descriptor take_descriptor() {
        read();
        if (descriptors_.empty()) return {};
        transport::Descriptor first = std::move(descriptors_.front());
        descriptors_.pop_front();
        return first;
    }
    // Of segments that nobody will look into.
    void drop_descriptors() {
        read();
        descriptors_.clear();
    }

  private:
    void take_segments(const common::SegmentList& segments) {
        for (const auto& s : segments) {
            if (!s.has_descriptor || descriptors_.empty()) continue;
            auto reader = dstore::Reader::open(descriptors_.front().release());
            descriptors_.pop_front();
            if (s.nspace == id_.nspace && reader.ok()) reader_ = std::move(reader).value();
        }
    }
    void read() {
        if (!socket_ || hung_up_) return;
        for (;;) {
            uint8_t chunk[65536];
            alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * common::kMaxFrameDescriptors)];
            iovec io{chunk, sizeof chunk};
            msghdr message{};
            message.msg_iov = &io;
            message.msg_iovlen = 1;
            message.msg_control = control;
            message.msg_controllen = sizeof control;
            ssize_t n = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) hung_up_ = true;
            if (n <= 0) break;
            for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
                if (c->cmsg_type != SCM_RIGHTS) continue;
                size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                for (size_t i = 0; i < count; ++i) {
                    int fd;
                    std::memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
                    descriptors_.emplace_back(fd);
                    ++received_;
                }
            }
            bytes_.insert(bytes_.end(), chunk, chunk + n);
        }
        common::Bytes rest(bytes_);
        while (rest.size() >= common::kFrameHeaderSize) {
            auto header = common::parse_frame_header(rest, common::kMaxFramePayload);
            ASSERT_TRUE(header.ok());
            size_t size = common::kFrameHeaderSize + header->payload;
            if (rest.size() < size) break;
            auto payload = rest.subspan(common::kFrameHeaderSize, header->payload);
            frames_.push_back({*header, {payload.begin(), payload.end()}});
            rest = rest.subspan(size);
        }
        bytes_.erase(bytes_.begin(), bytes_.end() - static_cast<long>(rest.size()));
    }

    TestServer& server_;
    ProcId id_;
    transport::Descriptor socket_;
    std::unique_ptr<common::HelloClient> hello_;
    std::vector<uint8_t> bytes_;
    std::deque<common::Frame> frames_;
    common::Frame output_;
    std::deque<transport::Descriptor> descriptors_;
    std::unique_ptr<dstore::Reader> reader_;
    size_t received_ = 0;
    uint32_t next_ = 1;
    bool hung_up_ = false;
};

// Of the reply to a request; PMIX_ERR_LOST_CONNECTION for a hang-up.
inline pmix_status_t status_of(FakeClient& client, uint32_t id) {
    auto reply = client.wait(id);
    return reply ? reply->header.status : PMIX_ERR_LOST_CONNECTION;
}

// For FakeHost::data: the answer to a direct modex is the data that another node's server has of the process.
inline auto modex_from(TestServer& there) {
    return [&there](const Seen& seen) {
        std::vector<uint8_t> out;
        there.on_loop([&] {
            there.parts().get.modex_request(
                seen.proc, [&](pmix_status_t, common::Bytes bytes) { out.assign(bytes.begin(), bytes.end()); });
            there.parts().host.flush();
            return 0;
        });
        return out;
    };
}

// The jobs of other nodes that this server has data of.
inline size_t foreign_jobs(TestServer& server) {
    size_t n = 0;
    for (const auto& [name, nspace] : server.parts().registry.nspaces()) n += nspace->is_remote;
    return n;
}

// The value of an info as a number, or -1.
inline int64_t number_of(const common::InfoList& list, const char* key) {
    const pmix_info_t* info = list.find(key);
    int64_t n = -1;
    if (info != nullptr) common::read_number(info->value, &n);
    return n;
}

}  // namespace pmix::test
