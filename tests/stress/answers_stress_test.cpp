// SPDX-License-Identifier: BSD-3-Clause
// Answers that hosts give from threads of their own: publish, lookup and unpublish are answered from there directly,
// without the loop. Each request has exactly one answer, whatever else happens meanwhile: clients that die, clients
// that do not read, answers given twice, a server that ends.
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <thread>

#include "support/fake_client.h"
#include "support/status.h"

using namespace pmix;
using namespace pmix::test;
using common::InfoList;

namespace {

// A host that answers from several threads, in any order, one answer in four twice.
class Answerers {
  public:
    explicit Answerers(unsigned threads) {
        current() = this;
        for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this, i] { run(i); });
    }
    ~Answerers() {
        end();
        current() = nullptr;
    }
    void end() {
        {
            std::lock_guard lock(mutex_);
            over_ = true;
        }
        more_.notify_all();
        for (auto& t : threads_) t.join();
        threads_.clear();
    }
    pmix_server_module_t module() const {
        pmix_server_module_t m{};
        m.publish = [](const pmix_proc_t*, const pmix_info_t*, size_t, pmix_op_cbfunc_t cb, void* cbdata) {
            return current()->push([cb, cbdata] { cb(PMIX_SUCCESS, cbdata); });
        };
        m.unpublish = [](const pmix_proc_t*, char**, const pmix_info_t*, size_t, pmix_op_cbfunc_t cb, void* cbdata) {
            return current()->push([cb, cbdata] { cb(PMIX_ERR_NOT_FOUND, cbdata); });
        };
        m.lookup = [](const pmix_proc_t* proc, char** keys, const pmix_info_t*, size_t, pmix_lookup_cbfunc_t cb,
                      void* cbdata) {
            return current()->push([owner = *proc, key = std::string(keys[0]), cb, cbdata] {
                pmix_pdata_t data;
                PMIx_Pdata_construct(&data);
                data.proc = owner;
                common::set_key(data.key, key);
                const std::string text(20'000, 'x');
                common::load_value(&data.value, text.c_str(), PMIX_STRING);
                cb(PMIX_SUCCESS, &data, 1, cbdata);
                PMIx_Pdata_destruct(&data);
            });
        };
        return m;
    }
    void hold(bool held) {
        {
            std::lock_guard lock(mutex_);
            held_ = held;
        }
        more_.notify_all();
    }

  private:
    static Answerers*& current() {
        static Answerers* host = nullptr;
        return host;
    }
    pmix_status_t push(std::function<void()> answer) {
        {
            std::lock_guard lock(mutex_);
            queue_.push_back(std::move(answer));
        }
        more_.notify_one();
        return PMIX_SUCCESS;
    }
    void run(unsigned seed) {
        std::minstd_rand random(seed + 1);
        for (;;) {
            std::function<void()> answer;
            {
                std::unique_lock lock(mutex_);
                more_.wait(lock, [&] { return over_ || (!held_ && !queue_.empty()); });
                if (queue_.empty()) return;
                const size_t i = random() % queue_.size();
                std::swap(queue_[i], queue_.back());
                answer = std::move(queue_.back());
                queue_.pop_back();
            }
            answer();
            if (random() % 4 == 0) answer();
        }
    }

    std::mutex mutex_;
    std::condition_variable more_;
    std::vector<std::function<void()>> queue_;
    bool over_ = false;
    bool held_ = false;
    std::vector<std::thread> threads_;
};

// Asks for one thing of three; the status that the host gives.
pmix_status_t ask(FakeClient& client, unsigned which, std::vector<uint32_t>& ids) {
    if (which % 3 == 0) {
        common::PublishRequest request;
        InfoList list;
        list.append_string("k", "v");
        request.infos = std::move(list);
        ids.push_back(client.start<Command::publish>(request));
        return PMIX_SUCCESS;
    }
    if (which % 3 == 1) {
        common::LookupRequest request;
        request.keys = {"k"};
        ids.push_back(client.start<Command::lookup>(request));
        return PMIX_SUCCESS;
    }
    common::UnpublishRequest request;
    request.keys = {"k"};
    ids.push_back(client.start<Command::unpublish>(request));
    return PMIX_ERR_NOT_FOUND;
}

}  // namespace

// rows: U1
TEST(AnswersStressTest, EveryRequestHasOneAnswer) {
    Answerers host(3);
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 4);
    std::vector<std::unique_ptr<FakeClient>> clients;
    for (unsigned r = 0; r < 4; ++r) {
        clients.push_back(std::make_unique<FakeClient>(server, ProcId("job", r)));
        ASSERT_STATUS(PMIX_SUCCESS, clients.back()->hello());
    }
    for (unsigned round = 0; round < 40; ++round) {
        std::vector<std::vector<uint32_t>> ids(clients.size());
        std::vector<std::vector<pmix_status_t>> expected(clients.size());
        // Nobody reads meanwhile, and what comes back is more than a socket holds: sending has to wait for the loop.
        for (unsigned i = 0; i < 30; ++i) {
            for (size_t c = 0; c < clients.size(); ++c) expected[c].push_back(ask(*clients[c], i + round, ids[c]));
            server.run_once();
        }
        for (size_t c = 0; c < clients.size(); ++c) {
            for (size_t i = 0; i < ids[c].size(); ++i) {
                auto reply = clients[c]->wait(ids[c][i]);
                ASSERT_TRUE(reply);
                ASSERT_EQ(expected[c][i], reply->header.status);
                if (reply->payload.size() < 100) continue;
                common::LookupReply found;
                ASSERT_STATUS(PMIX_SUCCESS, common::decode_message(reply->payload, found));
                ASSERT_EQ(1u, found.items.size());
                ASSERT_EQ("k", found.items[0].key);
            }
        }
        for (size_t c = 0; c < clients.size(); ++c) {
            for (uint32_t id : ids[c]) ASSERT_FALSE(clients[c]->take(id)) << "answered twice";
        }
    }
    EXPECT_TRUE(server.turn_until([&] { return server.parts().host.open() == 0; }));
}

// rows: U1
TEST(AnswersStressTest, ClientsDieWhileTheyAreAnswered) {
    Answerers host(3);
    auto module = host.module();
    TestServer server(&module);
    server.job("job", 1, 2);
    FakeClient stays(server, {"job", 0});
    ASSERT_STATUS(PMIX_SUCCESS, stays.hello());
    for (unsigned round = 0; round < 60; ++round) {
        FakeClient dies(server, {"job", 1});
        ASSERT_STATUS(PMIX_SUCCESS, dies.hello());
        std::vector<uint32_t> lost, ids;
        std::vector<pmix_status_t> expected;
        for (unsigned i = 0; i < 12; ++i) {
            ask(dies, i, lost);
            expected.push_back(ask(stays, i, ids));
            if (i % 3 == round % 3) server.run_once();
        }
        dies.kill();
        for (size_t i = 0; i < ids.size(); ++i) {
            auto reply = stays.wait(ids[i]);
            ASSERT_TRUE(reply);
            ASSERT_EQ(expected[i], reply->header.status);
        }
        ASSERT_TRUE(server.turn_until([&] { return server.parts().peers.size() == 1; }));
    }
    EXPECT_TRUE(server.turn_until([&] { return server.parts().host.open() == 0; }));
}

// rows: U1
TEST(AnswersStressTest, TheServerEndsWhileTheHostAnswers) {
    Answerers host(3);
    auto module = host.module();
    for (unsigned round = 0; round < 60; ++round) {
        host.hold(true);
        TestServer server(&module);
        server.job("job", 1, 1);
        FakeClient client(server, {"job", 0});
        ASSERT_STATUS(PMIX_SUCCESS, client.hello());
        std::vector<uint32_t> ids;
        for (unsigned i = 0; i < 24; ++i) ask(client, i, ids);
        ASSERT_TRUE(server.turn_until([&] { return server.parts().host.open() == ids.size(); }));
        host.hold(false);
        for (unsigned i = 0; i < round % 5; ++i) std::this_thread::yield();
        // The server goes now, with some answers given, some in the middle of being sent, some to come.
    }
}
