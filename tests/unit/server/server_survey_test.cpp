// SPDX-License-Identifier: BSD-3-Clause
// Names that others took, listeners that accept nobody or say nothing: none of them costs the servers behind it their
// time.
#include "client/tool/server_survey.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "support/other_users.h"
#include "support/sockets.h"
#include "transport/unix_socket.h"

namespace pmix::client::server_survey_test {
namespace {

using transport::Deadline;
using transport::Descriptor;
using transport::ListedServer;

// A name in the kernel that claims to be of that user's.
std::string name_of(uid_t uid) {
    static std::atomic<int> number{0};
    return "@wireup/" + std::to_string(uid) + "/" + std::to_string(::getpid()) + "/" + std::to_string(++number);
}

Descriptor socket_at(const std::string& address, bool listens, int backlog) {
    Descriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path + 1, address.data() + 1, address.size() - 1);
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
    auto* where = reinterpret_cast<sockaddr*>(&at);
    if (listens) {
        EXPECT_EQ(0, ::bind(fd.get(), where, length));
        EXPECT_EQ(0, ::listen(fd.get(), backlog));
    } else if (::connect(fd.get(), where, length) != 0) {
        fd.reset();
    }
    return fd;
}

// A listener whose backlog is full, and which accepts nobody.
struct Squatter {
    explicit Squatter(uid_t uid) : address(name_of(uid)), listener(socket_at(address, true, 0)) {
        while (Descriptor one = socket_at(address, false, 0)) queue.push_back(std::move(one));
    }
    ListedServer listed() const { return {address, ::geteuid(), ::getpid()}; }
    std::string address;
    Descriptor listener;
    std::vector<Descriptor> queue;
};

// Another process that answers who it is, in a child: this process itself is left out.
struct Server {
    explicit Server(const char* nspace, uid_t claims = ::geteuid(), uid_t runs_as = ::geteuid(), bool answers = true,
                    unsigned slow_ms = 0)
        : address(name_of(claims)), claimed(claims) {
        int ready[2];
        EXPECT_EQ(0, ::pipe2(ready, O_CLOEXEC));
        child = ::fork();
        if (child == 0) {
            ::signal(SIGPIPE, SIG_IGN);  // a survey that has found enough closes
            if (runs_as != ::geteuid() && ::setuid(runs_as) != 0) ::_exit(1);
            const Descriptor listener = socket_at(address, true, 16);
            ::fcntl(listener.get(), F_SETFL, 0);
            if (::write(ready[1], "x", 1) != 1) ::_exit(1);
            for (;;) {
                const Descriptor one(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
                if (!one || !answers) {
                    ::pause();
                    continue;
                }
                const auto head = test::read_exactly(one.get(), common::kFrameHeaderSize);
                auto question = common::parse_frame_header(head, common::kMaxHelloPayload);
                if (!question || test::read_exactly(one.get(), question->payload).size() != question->payload) continue;
                std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
                common::IdentityReply identity;
                identity.server = common::ProcId(nspace, 0);
                auto body = common::message_bytes(identity);
                const auto frame =
                    test::frame_bytes(common::FrameHeader::reply(question->command, question->id, PMIX_SUCCESS), *body);
                // In two parts, so that a half answer is met.
                (void)!::write(one.get(), frame.data(), 20);
                (void)!::write(one.get(), frame.data() + 20, frame.size() - 20);
                char byte;
                (void)!::read(one.get(), &byte, 1);  // until the other end goes
            }
        }
        char byte;
        EXPECT_EQ(1, ::read(ready[0], &byte, 1));
        ::close(ready[0]);
        ::close(ready[1]);
    }
    ~Server() {
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    ListedServer listed() const { return {address, claimed, child}; }
    std::string address;
    uid_t claimed;
    pid_t child;
};

// So long that servers that answer do so on any machine.
constexpr SurveyLimits kPatient{60'000, 60'000, 250};

std::vector<std::string> survey(std::vector<ListedServer> list, Trust trust = Trust::own_or_root,
                                Visited outcome = Visited::meant, const SurveyLimits& limits = kPatient) {
    std::vector<std::string> names;
    const auto visit = [&](SurveyedServer& server) {
        EXPECT_TRUE(server.socket);
        names.push_back(server.identity.server.nspace);
        return outcome;
    };
    survey_servers(std::move(list), trust, Deadline::never(), transport::kRealIo, visit, limits);
    return names;
}

// rows: T2 T12
TEST(ServerSurveyTest, Survey_FortyNamesAcceptNobody_TheServerBehindThemIsFound) {
    std::vector<std::unique_ptr<Squatter>> squatters;
    std::vector<ListedServer> list;
    for (int i = 0; i < 40; ++i) {
        squatters.push_back(std::make_unique<Squatter>(::geteuid()));
        list.push_back(squatters.back()->listed());
    }
    Server real("real");
    list.push_back(real.listed());
    const auto before = std::chrono::steady_clock::now();
    EXPECT_EQ(std::vector<std::string>{"real"}, survey(list));
    EXPECT_EQ(std::vector<std::string>{"real"}, survey(list, Trust::own_or_root, Visited::enough));
    // One after the other they would take a minute each, in both surveys.
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(20));
}

// rows: T2 T12
TEST(ServerSurveyTest, Survey_SomeNeverAnswer_OthersAreFoundInOrder) {
    Server silent("silent", ::geteuid(), ::geteuid(), false), first("first"), second("second");
    const std::vector<ListedServer> list{first.listed(), silent.listed(), second.listed()};
    EXPECT_EQ((std::vector<std::string>{"first", "second"}),
              survey(list, Trust::own_or_root, Visited::meant, {10'000, 10'000, 250}));
    EXPECT_EQ((std::vector<std::string>{"first"}), survey(list, Trust::own_or_root, Visited::enough));
    ListedServer gone = first.listed();
    gone.address = name_of(::geteuid());
    EXPECT_EQ((std::vector<std::string>{"second"}), survey({gone, second.listed()}));
}

// On a busy node a server that is well may need longer than the others are given. rows: T2 T12
TEST(ServerSurveyTest, Survey_TheOnlyOneThatIsMeantIsLate_IsFound) {
    constexpr unsigned kSlowMs = 300;
    constexpr SurveyLimits kHasty{50, 60'000, 250};
    Server late("late", ::geteuid(), ::geteuid(), true, kSlowMs), other("other");
    EXPECT_EQ((std::vector<std::string>{"late"}), survey({late.listed()}, Trust::own_or_root, Visited::meant, kHasty));
    auto both = survey({late.listed(), other.listed()}, Trust::own_or_root, Visited::not_meant, kHasty);
    std::sort(both.begin(), both.end());
    EXPECT_EQ((std::vector<std::string>{"late", "other"}), both);
}

// rows: T2 T12
TEST(ServerSurveyTest, Survey_OneProcessIsMeant_NobodyElseIsAskedOrWaitedFor) {
    Server silent("silent", ::geteuid(), ::geteuid(), false), other("other"), meant("meant");
    Squatter busy(::geteuid());
    ListedServer of_nobody = busy.listed();
    of_nobody.pid = 1;  // by its name
    const std::vector<ListedServer> list{of_nobody, silent.listed(), other.listed(), meant.listed()};
    const auto before = std::chrono::steady_clock::now();
    std::vector<std::string> names;
    survey_servers(list, Trust::own_or_root, Deadline::never(), transport::kRealIo,
                   [&](SurveyedServer& server) {
                       names.push_back(server.identity.server.nspace);
                       return Visited::meant;
                   },
                   {3'600'000, 3'600'000, 3'600'000}, {"", [&](pid_t pid) { return pid == meant.child; }});
    EXPECT_EQ(std::vector<std::string>{"meant"}, names);
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(20));
}

// A stopped process keeps nobody waiting. rows: T2 T12
TEST(ServerSurveyTest, Survey_OneIsStopped_TheOthersAreNotHeldUp) {
    Server stopped("stopped"), well("well");
    ASSERT_EQ(0, ::kill(stopped.child, SIGSTOP));
    int status = 0;
    ASSERT_EQ(stopped.child, ::waitpid(stopped.child, &status, WUNTRACED));
    const auto before = std::chrono::steady_clock::now();
    const std::vector<ListedServer> list{stopped.listed(), well.listed()};
    EXPECT_EQ(std::vector<std::string>{"well"},
              survey(list, Trust::own_or_root, Visited::meant, {3'600'000, 3'600'000, 250}));
    // Nobody was meant: it is given up with the others.
    EXPECT_EQ(std::vector<std::string>{"well"},
              survey(list, Trust::own_or_root, Visited::not_meant, {1000, 3'600'000, 250}));
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::minutes(20));
    ::kill(stopped.child, SIGCONT);
}

// What a name claims is held against the kernel's word. rows: T2 T12
TEST(ServerSurveyTest, Survey_NameClaimsRoot_OnlyRootsIsTaken) {
    if (!can_be_other_users()) GTEST_SKIP() << "only root can be another user";
    constexpr uid_t kNobody = 65534;
    Server squatter("squatter", 0, kNobody), honest("honest", kNobody, kNobody), roots("roots");
    const std::vector<ListedServer> list{squatter.listed(), roots.listed(), honest.listed()};
    EXPECT_EQ((std::vector<std::string>{"roots", "honest"}), survey(list, Trust::any_for_root));
    EXPECT_EQ((std::vector<std::string>{"roots"}), survey(list, Trust::own_or_root));
}

}  // namespace
}  // namespace pmix::client::server_survey_test
