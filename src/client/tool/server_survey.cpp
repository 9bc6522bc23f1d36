// SPDX-License-Identifier: BSD-3-Clause
#include "client/tool/server_survey.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "client/tool/process_tree.h"

namespace pmix::client {

using common::FrameHeader;
using transport::Deadline;
using transport::Descriptor;
using transport::Io;

namespace {

constexpr int kLongestPauseMs = 50;
// Of users that are neither the caller nor root, together.
constexpr size_t kOthersAtATime = 64;
// A name, a host name, a version and a URI.
constexpr uint32_t kMaxAnswer = 64u << 10;

struct Candidate {
    enum class State : uint8_t { waiting, busy, asked, answered, over };
    State state = State::waiting;
    bool other = false;    // by its name, of a user that is neither the caller nor root
    bool stopped = false;  // by the kernel's word, when it was asked
    SurveyedServer server;
    std::vector<uint8_t> received;
};
using State = Candidate::State;

class Survey {
  public:
    Survey(Trust trust, Deadline deadline, const Io& io, const SurveyLimits& limits, const SurveyQuestion& question)
        : trust_(trust),
          io_(io),
          concerns_(question.concerns),
          patience_(sooner(deadline, Deadline::in_ms(limits.answer_ms))),
          alone_(sooner(deadline, Deadline::in_ms(limits.alone_ms))),
          busy_(sooner(deadline, Deadline::in_ms(limits.busy_ms))) {
        common::IdentityRequest mine;
        mine.magic = common::kHelloMagic;
        mine.nspace = question.nspace;
        auto body = common::message_bytes(mine);
        if (!body) return;
        FrameHeader header = FrameHeader::request(static_cast<uint16_t>(common::Command::identity), 1);
        header.payload = static_cast<uint32_t>(body->size());
        question_.resize(common::kFrameHeaderSize);
        common::build_frame_header(header, question_.data());
        question_.insert(question_.end(), body->begin(), body->end());
    }

    void run(std::vector<transport::ListedServer> servers, const SurveyVisit& visit) {
        const uid_t me = ::geteuid();
        for (transport::ListedServer& listed : servers) {
            Candidate one;
            one.other = listed.uid != me && listed.uid != 0;
            if (one.other && !(me == 0 && trust_ == Trust::any_for_root)) continue;
            one.server.listed = std::move(listed);
            all_.push_back(std::move(one));
        }
        for (int pause_ms = 1;; pause_ms = std::min(pause_ms * 2, kLongestPauseMs)) {
            // Before the answers are read: one that was received while this thread did not run is in time.
            const bool late = patience_.passed(), last = alone_.passed();
            connect_some();
            await(0);
            if (visit_settled(visit, late)) return;
            if (last || (late && (found_ || !waits_for_answers())) || over()) return;
            await(pause_ms);
        }
    }

  private:
    size_t others_asked() const {
        return static_cast<size_t>(std::count_if(
            all_.begin(), all_.end(), [](const Candidate& c) { return c.other && c.state == State::asked; }));
    }

    void connect_some() {
        size_t others = others_asked();
        for (Candidate& c : all_) {
            if (c.state != State::waiting && c.state != State::busy) continue;
            if (c.other && others >= kOthersAtATime) continue;
            connect(c);
            if (c.other && c.state == State::asked) ++others;
        }
    }

    void connect(Candidate& c) {
        auto socket = transport::connect_to(c.server.listed.address, Deadline::in_ms(0), io_);
        if (!socket) {
            // The backlog is full: the server is busy, or will never accept.
            const bool again = socket.status() == PMIX_ERR_TIMEOUT || socket.status() == PMIX_ERR_OUT_OF_RESOURCE;
            c.state = again && may_concern(c.server.listed.pid) ? State::busy : State::over;
            return;
        }
        c.state = State::over;
        auto peer = transport::peer_credentials(socket->get(), io_);
        if (!peer || !is_trusted(socket->get(), trust_, io_)) return;
        if (c.server.listed.uid == 0 && peer->uid != 0) return;
        if (!may_concern(peer->pid)) return;
        c.stopped = is_stopped(peer->pid);
        // A new socket takes the whole of it.
        iovec part{question_.data(), question_.size()};
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        if (io_.sendmsg(socket->get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) != static_cast<ssize_t>(question_.size()))
            return;
        c.server.peer = *peer;
        c.server.socket = std::move(socket).value();
        c.state = State::asked;
    }

    bool may_concern(pid_t pid) const { return !concerns_ || concerns_(pid); }

    // Reads what is there, no more than the answer.
    void read(Candidate& c) {
        for (;;) {
            size_t whole = common::kFrameHeaderSize;
            common::Result<FrameHeader> header = PMIX_ERR_UNPACK_FAILURE;
            if (c.received.size() >= common::kFrameHeaderSize) {
                header = common::parse_frame_header(c.received, kMaxAnswer);
                if (!header) return end(c);
                whole += header->payload;
            }
            if (header && c.received.size() == whole) return take(c, *header);
            const size_t had = c.received.size();
            c.received.resize(whole);
            iovec part{c.received.data() + had, whole - had};
            msghdr message{};  // without room for descriptors: the kernel gives none
            message.msg_iov = &part;
            message.msg_iovlen = 1;
            const ssize_t n = io_.recvmsg(c.server.socket.get(), &message, MSG_DONTWAIT);
            c.received.resize(had + (n > 0 ? static_cast<size_t>(n) : 0));
            if (n > 0 || (n < 0 && errno == EINTR)) continue;
            if (n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) end(c);
            return;
        }
    }

    void take(Candidate& c, const FrameHeader& header) {
        const common::Bytes payload(c.received.data() + common::kFrameHeaderSize, header.payload);
        const bool good = header.kind == common::FrameKind::reply && common::succeeded(header.status) &&
                          common::decode_message(payload, c.server.identity) == PMIX_SUCCESS;
        if (!good) return end(c);
        c.received.clear();
        c.state = State::answered;
    }

    static void end(Candidate& c) {
        c.server.socket.reset();
        c.state = State::over;
    }

    // Those that nobody before them in the list may still overtake. True: enough.
    bool visit_settled(const SurveyVisit& visit, bool last_call) {
        for (Candidate& c : all_) {
            if (c.state == State::answered) {
                c.state = State::over;
                const Visited outcome = visit(c.server);
                if (outcome == Visited::enough) return true;
                found_ = found_ || outcome == Visited::meant;
                c.server.socket.reset();
            } else if (c.state == State::asked && !last_call && !c.stopped) {
                break;
            } else if (c.state == State::busy && !busy_.passed()) {
                break;
            } else if (c.state == State::waiting && !c.other) {
                break;
            }
        }
        return false;
    }

    bool waits_for_answers() const {
        return std::any_of(all_.begin(), all_.end(),
                           [](const Candidate& c) { return c.state == State::asked && !c.stopped; });
    }

    // Nothing is left that would be worth waiting for.
    bool over() const {
        return std::none_of(all_.begin(), all_.end(), [this](const Candidate& c) {
            return (c.state == State::asked && (!found_ || !c.stopped)) || c.state == State::answered ||
                   c.state == State::waiting || (c.state == State::busy && (!found_ || !busy_.passed()));
        });
    }

    // pause_ms 0: reads what is there already.
    void await(int pause_ms) {
        std::vector<pollfd> ready;
        std::vector<Candidate*> whose;
        bool retry = false;
        for (Candidate& c : all_) {
            retry = retry || c.state == State::busy;
            if (c.state != State::asked) continue;
            ready.push_back({c.server.socket.get(), POLLIN, 0});
            whose.push_back(&c);
        }
        const Deadline& end = patience_.passed() ? alone_ : patience_;
        const int limit = retry || pause_ms == 0 ? std::min(pause_ms, end.poll_ms()) : end.poll_ms();
        if (io_.poll(ready.data(), ready.size(), limit) <= 0) return;
        for (size_t i = 0; i < ready.size(); ++i)
            if (ready[i].revents != 0) read(*whose[i]);
    }

    const Trust trust_;
    const Io& io_;
    const std::function<bool(pid_t)>& concerns_;
    const Deadline patience_, alone_, busy_;
    std::vector<uint8_t> question_;
    std::vector<Candidate> all_;
    bool found_ = false;
};

}  // namespace

void survey_servers(std::vector<transport::ListedServer> servers, Trust trust, Deadline deadline, const Io& io,
                    const SurveyVisit& visit, const SurveyLimits& limits, const SurveyQuestion& question) {
    Survey(trust, deadline, io, limits, question).run(std::move(servers), visit);
}

}  // namespace pmix::client
