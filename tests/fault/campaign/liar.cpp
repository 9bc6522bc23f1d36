// SPDX-License-Identifier: BSD-3-Clause
// liar: a process of a campaign that is let in as what it is, a rank of its own job, and then tells its server lies:
// torn frames, other bytes than it announces, requests about anybody, connections that say nothing, answers that nobody
// reads.
//
// usage: liar JOB ROUNDS SEED   (as worker.c). It ends by itself, mostly without finalizing; whatever its server
// answers is right, as long as the server goes on and everybody else does not notice.
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <random>
#include <vector>

#include "client/session/handshake.h"
#include "common/protocol/frame.h"
#include "fault/campaign/place.h"
#include "support/sample_message.h"
#include "transport/io.h"
#include "transport/rendezvous/rendezvous.h"

using namespace pmix;

namespace {

struct Sample {
    uint16_t command;
    common::FrameKind kind;
    std::vector<uint8_t> payload;
};

template <class M>
void add(std::vector<Sample>& all, common::Command command, common::FrameKind kind) {
    // The samples name jobs that do not exist, so that an abort or a job control ends nobody.
    if (auto bytes = common::message_bytes(test::sample_message<M>()); bytes.ok()) {
        all.push_back({static_cast<uint16_t>(command), kind, std::move(bytes).value()});
    }
}

std::vector<Sample> samples() {
    using namespace common;
    std::vector<Sample> all;
    constexpr auto kRequest = FrameKind::request, kNotify = FrameKind::notify;
#define WIREUP_COMMAND(number, name, request, reply, since) add<request>(all, Command::name, kRequest);
#define WIREUP_NOTIFY(number, name, message, since) add<message>(all, Command::name, kNotify);
#include "common/protocol/commands.def"
    return all;
}

class Liar {
  public:
    Liar(transport::ClientEnvironment environment, uint64_t seed)
        : environment_(std::move(environment)), random_(seed), samples_(samples()) {}

    void lie() {
        switch (pick(5)) {
            case 0:
                return half_open();
            case 1:
                return never_reads();
            default:
                return talk(pick(200));
        }
    }

  private:
    size_t pick(size_t n) { return random_() % n; }

    // The connection of one who was let in; -1: there is no server any more, or it has had enough of us.
    transport::Descriptor greet() {
        const auto deadline = transport::Deadline::in_ms(20'000);
        auto greeting = client::shake_hands(environment_, nullptr, 0, deadline, transport::kRealIo);
        return greeting.ok() ? std::move(greeting->socket) : transport::Descriptor();
    }

    bool send(int fd, const uint8_t* bytes, size_t size) {
        pollfd space{fd, POLLOUT, 0};
        while (size > 0) {
            const ssize_t n = ::send(fd, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno != EAGAIN || ::poll(&space, 1, 200) <= 0)) return false;
            if (n > 0) bytes += n, size -= static_cast<size_t>(n);
        }
        return true;
    }

    std::vector<uint8_t> frame() {
        Sample sample = samples_[pick(samples_.size())];
        for (size_t i = pick(4); i > 0 && !sample.payload.empty(); --i) {
            sample.payload[pick(sample.payload.size())] ^= static_cast<uint8_t>(1u << pick(8));
        }
        if (pick(6) == 0) sample.payload.resize(pick(sample.payload.size() + 40));
        common::FrameHeader header = common::FrameHeader::request(sample.command, static_cast<uint32_t>(1 + pick(50)));
        if (sample.kind == common::FrameKind::notify) header = common::FrameHeader::notify(sample.command);
        header.payload = static_cast<uint32_t>(sample.payload.size() + (pick(60) == 0 ? pick(100'000) : 0));
        std::vector<uint8_t> bytes(common::kFrameHeaderSize);
        common::build_frame_header(header, bytes.data());
        if (pick(50) == 0) bytes[pick(bytes.size())] ^= static_cast<uint8_t>(1 + pick(255));
        bytes.insert(bytes.end(), sample.payload.begin(), sample.payload.end());
        return bytes;
    }

    void talk(size_t frames) {
        const transport::Descriptor socket = greet();
        if (!socket) return;
        for (size_t i = 0; i < frames; ++i) {
            const auto bytes = frame();
            if (!send(socket.get(), bytes.data(), pick(40) == 0 ? pick(bytes.size()) : bytes.size())) return;
            drain(socket.get());
        }
    }

    void drain(int fd) {
        uint8_t answers[4096];
        while (::recv(fd, answers, sizeof answers, MSG_DONTWAIT) > 0) {
        }
    }

    void never_reads() {
        const transport::Descriptor socket = greet();
        if (!socket) return;
        for (size_t i = 0; i < 3000; ++i) {
            const auto bytes = frame();
            if (!send(socket.get(), bytes.data(), bytes.size())) return;
        }
    }

    // Connections that never send a hello, or only half of it.
    void half_open() {
        std::vector<transport::Descriptor> open;
        for (size_t i = 0; i < 30; ++i) {
            auto socket = client::connect_any(environment_.contact.addresses, transport::Deadline::in_ms(500),
                                              transport::kRealIo);
            if (!socket.ok()) break;
            const auto bytes = frame();
            send(socket->get(), bytes.data(), pick(bytes.size()));
            open.push_back(std::move(socket).value());
        }
        const timespec moment{0, static_cast<long>(pick(100)) * 1'000'000};
        ::nanosleep(&moment, nullptr);
    }

    transport::ClientEnvironment environment_;
    std::mt19937_64 random_;
    std::vector<Sample> samples_;
};

}  // namespace

int main(int argc, char** argv) {
    auto environment =
        transport::read_client_environment([](const char* name) -> const char* { return ::getenv(name); });
    if (argc < 4 || !environment.ok() || !board_begin(std::atoi(argv[1]))) return 2;
    Liar liar(std::move(environment).value(), std::strtoull(argv[3], nullptr, 10));
    for (int i = std::atoi(argv[2]); i > 0; --i) liar.lie();
    board_end(std::atoi(argv[1]));
    return 0;
}
