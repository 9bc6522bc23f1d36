// SPDX-License-Identifier: BSD-3-Clause
// What the attributes of PMIx_server_init about events and output do, seen through the C calls of the process itself.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <pmix_tool.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/values/value.h"
#include "support/status.h"

namespace server_init_test {

using pmix::common::InfoList;

namespace {

constexpr pmix_status_t kCode = PMIX_EXTERNAL_ERR_BASE - 50, kLast = PMIX_EXTERNAL_ERR_BASE - 51;

std::mutex g_mutex;
std::vector<int> g_heard;
bool g_over = false;

void take(size_t, pmix_status_t status, const pmix_proc_t*, pmix_info_t infos[], size_t ninfos, pmix_info_t[], size_t,
          pmix_event_notification_cbfunc_fn_t done, void* cbdata) {
    {
        std::lock_guard lock(g_mutex);
        for (size_t i = 0; i < ninfos; ++i)
            if (PMIX_CHECK_KEY(&infos[i], "index")) g_heard.push_back(infos[i].value.data.integer);
        g_over = g_over || status == kLast;
    }
    done(PMIX_EVENT_NO_ACTION_TAKEN, nullptr, 0, nullptr, nullptr, cbdata);
}

template <class Done>
bool wait_for(Done done) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
        {
            std::lock_guard lock(g_mutex);
            if (done()) return true;
        }
        if (std::chrono::steady_clock::now() > until) return false;
        std::this_thread::yield();
    }
}

// What a handler hears that comes after 600 events, when the server was started with these.
std::vector<int> heard_late(InfoList infos) {
    g_heard.clear();
    g_over = false;
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size()));
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, "sources", 0);
    for (int i = 0; i < 600; ++i) {
        InfoList index;
        index.append_number(std::string_view("index"), i, PMIX_INT);
        EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(kCode, &source, PMIX_RANGE_LOCAL, index.c_array(), index.size(),
                                                      nullptr, nullptr));
    }
    pmix_status_t codes[] = {kCode, kLast};
    EXPECT_GE(PMIx_Register_event_handler(codes, 2, nullptr, 0, take, nullptr, nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Notify_event(kLast, &source, PMIX_RANGE_LOCAL, nullptr, 0, nullptr, nullptr));
    EXPECT_TRUE(wait_for([] { return g_over; }));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    return g_heard;
}

std::vector<int> last(int n) {
    std::vector<int> numbers;
    for (int i = 600 - n; i < 600; ++i) numbers.push_back(i);
    return numbers;
}

InfoList ring(size_t size) {
    InfoList infos;
    infos.append_number(PMIX_SERVER_CACHE_SIZE, size, PMIX_SIZE);
    return infos;
}

// Own stdout and stderr in one pipe, while it exists.
class Captured {
  public:
    Captured() {
        EXPECT_EQ(0, ::pipe2(ends_, O_CLOEXEC));
        ::fflush(stdout);
        for (int fd : {1, 2}) {
            before_[fd] = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
            ::dup2(ends_[1], fd);
        }
    }
    ~Captured() {
        restore();
        ::close(ends_[0]);
        ::close(ends_[1]);
    }
    // At least so many bytes, if they come.
    std::string read(size_t wanted) {
        std::string text;
        pollfd p{ends_[0], POLLIN, 0};
        while (text.size() < wanted && ::poll(&p, 1, 60'000) > 0) {
            char chunk[4096];
            const ssize_t got = ::read(ends_[0], chunk, sizeof chunk);
            if (got <= 0) break;
            text.append(chunk, static_cast<size_t>(got));
        }
        return text;
    }
    void restore() {
        for (int fd : {1, 2}) {
            if (before_[fd] < 0) continue;
            ::dup2(before_[fd], fd);
            ::close(before_[fd]);
            before_[fd] = -1;
        }
    }

  private:
    int ends_[2] = {-1, -1};
    int before_[3] = {-1, -1, -1};
};

pmix_status_t deliver(pmix_rank_t rank, pmix_iof_channel_t channel, std::string text, InfoList* infos = nullptr) {
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, "job", rank);
    pmix_byte_object_t bytes{text.data(), text.size()};
    return PMIx_server_IOF_deliver(&source, channel, &bytes, infos == nullptr ? nullptr : infos->c_array(),
                                   infos == nullptr ? 0 : infos->size(), nullptr, nullptr);
}

}  // namespace

// rows: E10 E22 V1
// proves: PMIx_server_init PMIX_SERVER_CACHE_SIZE
TEST(ServerInitTest, TheRingOfEventsHolds512OrAsManyAsTheHostSays) {
    EXPECT_EQ(last(512), heard_late({}));
    EXPECT_EQ(last(8), heard_late(ring(8)));
    EXPECT_EQ(last(600), heard_late(ring(1000)));
    EXPECT_EQ(last(0), heard_late(ring(0)));
}

namespace {
int g_host_logs = 0;
void host_log(const pmix_proc_t*, const pmix_info_t[], size_t, const pmix_info_t[], size_t, pmix_op_cbfunc_t done,
              void* cbdata) {
    ++g_host_logs;
    done(PMIX_SUCCESS, cbdata);
}
}  // namespace

// A host's log entry may log itself what it does not write: it is not asked again. rows: J8
TEST(ServerInitTest, AServersOwnLogDoesNotGoToItsHost) {
    Captured streams;
    pmix_server_module_t module{};
    module.log = &host_log;
    const pmix_status_t started = PMIx_server_init(&module, nullptr, 0);
    InfoList data, directives;
    data.append_string(PMIX_LOG_STDERR, "a line of the server's");
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, "job", 3);
    directives.append(PMIX_LOG_SOURCE, &source, PMIX_PROC);
    directives.append_flag(PMIX_LOG_TAG_OUTPUT, true);
    const pmix_status_t logged = PMIx_Log(data.c_array(), data.size(), directives.c_array(), directives.size());
    const std::string wanted = "[job,3]<stderr>: a line of the server's\n";
    const std::string shown = streams.read(wanted.size());
    const pmix_status_t ended = PMIx_server_finalize();
    streams.restore();
    EXPECT_STATUS(PMIX_SUCCESS, started);
    EXPECT_STATUS(PMIX_SUCCESS, logged);
    EXPECT_STATUS(PMIX_SUCCESS, ended);
    EXPECT_EQ(wanted, shown);
    EXPECT_EQ(0, g_host_logs);
}

namespace {

// What a server started with these shows of what its host delivers; the two streams are written side by side.
std::string shown(InfoList infos, size_t wanted) {
    Captured streams;
    const pmix_status_t started = PMIx_server_init(nullptr, infos.c_array(), infos.size());
    pmix_status_t delivered = deliver(0, PMIX_FWD_STDOUT_CHANNEL, "one\ntw");
    if (delivered == PMIX_SUCCESS) delivered = deliver(1, PMIX_FWD_STDERR_CHANNEL, "oops\n");
    if (delivered == PMIX_SUCCESS) delivered = deliver(0, PMIX_FWD_STDOUT_CHANNEL, "o\n");
    if (delivered == PMIX_SUCCESS) delivered = deliver(2, PMIX_FWD_STDDIAG_CHANNEL, "why\n");
    const pmix_status_t ended = PMIx_server_finalize();
    std::string text = wanted == 0 ? "" : streams.read(wanted);
    streams.restore();
    EXPECT_STATUS(PMIX_SUCCESS, started);
    EXPECT_STATUS(PMIX_SUCCESS, delivered);
    EXPECT_STATUS(PMIX_SUCCESS, ended);
    return text;
}

InfoList local_output(const char* form = nullptr) {
    InfoList infos;
    infos.append_flag(PMIX_IOF_LOCAL_OUTPUT, true);
    if (form != nullptr) infos.append_flag(form, true);
    return infos;
}

}  // namespace

// rows: V1 O3
// proves: PMIx_server_init PMIX_IOF_LOCAL_OUTPUT PMIX_IOF_RANK_OUTPUT PMIX_IOF_TAG_OUTPUT
TEST(ServerInitTest, LocalOutputShowsWhatTheHostDelivers) {
    const auto lines = [](const InfoList& infos, std::vector<std::string> wanted) {
        size_t size = 0;
        for (const std::string& line : wanted) size += line.size();
        InfoList copy;
        copy.append_all(infos.c_array(), infos.size());
        const std::string text = shown(std::move(copy), size);
        for (const std::string& line : wanted) EXPECT_NE(std::string::npos, text.find(line)) << text;
        EXPECT_EQ(size, text.size()) << text;
    };
    lines(local_output(), {"one\n", "oops\n", "two\n", "why\n"});
    lines(local_output(PMIX_IOF_RANK_OUTPUT),
          {"[0]<stdout>: one\n", "[1]<stderr>: oops\n", "[0]<stdout>: two\n", "[2]<stddiag>: why\n"});
    lines(local_output(PMIX_IOF_TAG_OUTPUT),
          {"[job,0]<stdout>: one\n", "[job,1]<stderr>: oops\n", "[job,0]<stdout>: two\n", "[job,2]<stddiag>: why\n"});
}

// A delivery that another server writes too: the daemon where the job was asked for gets all of its output.
// rows: V1 O3
// proves: PMIx_server_IOF_deliver PMIX_IOF_LOCAL_OUTPUT server
TEST(ServerInitTest, DeliveryThatIsNotToBeShown_GoesToReadersAlone) {
    InfoList infos = local_output(), not_here;
    not_here.append_flag(PMIX_IOF_LOCAL_OUTPUT, false);
    Captured streams;
    const pmix_status_t started = PMIx_server_init(nullptr, infos.c_array(), infos.size());
    pmix_status_t delivered = deliver(0, PMIX_FWD_STDOUT_CHANNEL, "first\n", &not_here);
    if (delivered == PMIX_SUCCESS) delivered = deliver(0, PMIX_FWD_STDOUT_CHANNEL, "second\n");
    const pmix_status_t ended = PMIx_server_finalize();
    const std::string text = streams.read(7);
    streams.restore();
    EXPECT_STATUS(PMIX_SUCCESS, started);
    EXPECT_STATUS(PMIX_SUCCESS, delivered);
    EXPECT_STATUS(PMIX_SUCCESS, ended);
    EXPECT_EQ("second\n", text);
}

// rows: V1 O3
// proves: PMIx_server_init PMIX_IOF_XML_OUTPUT PMIX_IOF_TIMESTAMP_OUTPUT
TEST(ServerInitTest, LocalOutputWithTheTimeAndAsXml) {
    EXPECT_NE(std::string::npos, shown(local_output(PMIX_IOF_XML_OUTPUT), 60).find("<stdout"));
    const std::string timed = shown(local_output(PMIX_IOF_TIMESTAMP_OUTPUT), 60);
    int year = 0, month = 0;
    EXPECT_EQ(2, std::sscanf(timed.c_str(), "%d-%d-", &year, &month)) << timed;
    EXPECT_GT(year, 2000);
}

namespace {

// What a late reader is given of 32 bytes in two parts, of which a server with these keeps 16.
std::string kept(const char* what_goes) {
    InfoList infos;
    infos.append_number<uint32_t>(PMIX_IOF_CACHE_SIZE, 16, PMIX_UINT32);
    if (what_goes != nullptr) infos.append_flag(what_goes, true);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, infos.c_array(), infos.size()));
    for (const char* part : {"0123456789abcdef", "ghijklmnopqrstuv"})
        EXPECT_STATUS(PMIX_SUCCESS, deliver(0, PMIX_FWD_STDOUT_CHANNEL, part));
    static std::string text;
    text.clear();
    g_over = false;
    const auto take_text = [](size_t, pmix_iof_channel_t, pmix_proc_t*, pmix_byte_object_t* bytes, pmix_info_t*,
                              size_t) {
        std::lock_guard lock(g_mutex);
        if (bytes != nullptr && bytes->bytes != nullptr) text.append(bytes->bytes, bytes->size);
        g_over = g_over || (bytes != nullptr && bytes->size == 3);
    };
    pmix_proc_t source;
    PMIX_LOAD_PROCID(&source, "job", PMIX_RANK_WILDCARD);
    EXPECT_GE(PMIx_IOF_pull(&source, 1, nullptr, 0, PMIX_FWD_STDOUT_CHANNEL, take_text, nullptr, nullptr), 0);
    EXPECT_STATUS(PMIX_SUCCESS, deliver(0, PMIX_FWD_STDOUT_CHANNEL, "end"));
    EXPECT_TRUE(wait_for([] { return g_over; }));
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
    return text;
}

}  // namespace

// rows: V1 O4
// proves: PMIx_server_init PMIX_IOF_CACHE_SIZE PMIX_IOF_DROP_OLDEST PMIX_IOF_DROP_NEWEST
TEST(ServerInitTest, OutputThatNobodyReadsIsKeptInBounds) {
    EXPECT_EQ("0123456789abcdefend", kept(PMIX_IOF_DROP_NEWEST));
    EXPECT_EQ("ghijklmnopqrstuvend", kept(PMIX_IOF_DROP_OLDEST));
}

}  // namespace server_init_test
