// SPDX-License-Identifier: BSD-3-Clause
// Files and folders removed at the end of processes: which, when, and what other users cannot have removed.
#include "server/services/cleanup.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>

#include "common/base/limits.h"
#include "server/base/safe_path.h"
#include "support/fake_scheduler.h"
#include "support/fewer_rights.h"
#include "support/other_users.h"
#include "support/status.h"

namespace pmix::server::cleanup_test {
namespace {

constexpr uid_t kOther = 4242, kThird = 4243;

class CleanupTest : public ::testing::Test {
  protected:
    CleanupTest() : blocking_tasks(scheduler), cleanup(blocking_tasks) {
        char name[] = "/tmp/cleanup_test.XXXXXX";
        top = ::mkdtemp(name);
        me = {::geteuid(), ::getegid()};
    }
    ~CleanupTest() override {
        blocking_tasks.finish();
        const std::string command = "rm -rf " + top;
        EXPECT_EQ(0, ::system(command.c_str()));
    }
    std::string path(const std::string& name) const { return top + "/" + name; }
    std::string file(const std::string& name) {
        std::ofstream(path(name)) << "x";
        return path(name);
    }
    std::string folder(const std::string& name) {
        EXPECT_EQ(0, ::mkdir(path(name).c_str(), 0700));
        return path(name);
    }
    static bool there(const std::string& p) {
        struct stat info;
        return ::lstat(p.c_str(), &info) == 0;
    }
    pmix_status_t add(std::vector<std::string> files, std::vector<std::string> folders, CleanupRules rules = {},
                      std::vector<MemberId> holders = {1}, const char* id = "",
                      Rights user = {::geteuid(), ::getegid()}) {
        return cleanup.add({1, id, std::move(holders), user, account}, files, folders, rules);
    }
    void end(MemberId member) {
        cleanup.member_gone(member);
        blocking_tasks.finish();  // all that was begun is done
    }

    test::FakeScheduler scheduler;
    BlockingTasks blocking_tasks;
    Cleanup cleanup;
    std::string top;
    Rights me;
    AccountPtr account;  // none: nothing is charged
};

// rows: J3
TEST_F(CleanupTest, FilesGoWithTheLastOfThoseWhoseEndTheyWaitFor) {
    const std::string one = file("one"), both = file("both");
    ASSERT_STATUS(PMIX_SUCCESS, add({one}, {}));
    ASSERT_STATUS(PMIX_SUCCESS, add({both}, {}, {}, {1, 2}));
    end(1);
    EXPECT_FALSE(there(one));
    EXPECT_TRUE(there(both));
    end(2);
    EXPECT_FALSE(there(both));
    EXPECT_EQ(0u, cleanup.size());
}

// rows: J3
TEST_F(CleanupTest, FoldersByTheirRules) {
    for (const char* d : {"plain", "deep", "deep/a", "deep/a/b", "top", "top/a", "empty", "empty/a", "empty/full"})
        folder(d);
    for (const char* f : {"plain/f", "deep/f", "deep/a/b/f", "deep/keep", "deep/a/keep.too", "top/a/f", "empty/full/f"})
        file(f);
    CleanupRules deep{
        .recursive = true, .only_empty = false, .leave_top = false, .ignore = {path("deep/keep"), "keep.too"}};
    ASSERT_STATUS(PMIX_SUCCESS, add({}, {path("plain")}));
    ASSERT_STATUS(PMIX_SUCCESS, add({}, {path("deep")}, deep));
    ASSERT_STATUS(PMIX_SUCCESS,
                  add({}, {path("top")}, {.recursive = true, .only_empty = false, .leave_top = true, .ignore = {}}));
    ASSERT_STATUS(PMIX_SUCCESS,
                  add({}, {path("empty")}, {.recursive = true, .only_empty = true, .leave_top = false, .ignore = {}}));
    end(1);
    EXPECT_FALSE(there(path("plain")));
    EXPECT_TRUE(there(path("deep/keep")));
    EXPECT_TRUE(there(path("deep/a/keep.too")));
    EXPECT_FALSE(there(path("deep/f")));
    EXPECT_FALSE(there(path("deep/a/b")));
    EXPECT_TRUE(there(path("top")));
    EXPECT_FALSE(there(path("top/a")));
    EXPECT_FALSE(there(path("empty/a")));
    EXPECT_TRUE(there(path("empty/full/f")));
}

// rows: J3
// By what it is, not only by how it is named.
TEST_F(CleanupTest, Ignored_ByAPathThroughALink_Stays) {
    const std::string outer = folder("outer"), kept = file("outer/kept"), other = file("outer/other");
    ASSERT_EQ(0, ::symlink(outer.c_str(), path("link").c_str()));
    CleanupRules rules;
    rules.ignore = {path("link") + "/kept"};
    ASSERT_STATUS(PMIX_SUCCESS, add({}, {outer}, rules));
    end(1);
    EXPECT_TRUE(there(kept));
    EXPECT_FALSE(there(other));
}

TEST_F(CleanupTest, FolderInAFolder_GoesFirst) {
    for (const bool together : {false, true}) {
        const std::string outer = folder("outer"), inner = folder("outer/inner"), kept = file("outer/inner/one");
        ASSERT_STATUS(PMIX_SUCCESS, add({kept}, {outer, inner}));
        if (together) {
            cleanup.everybody_gone();
            blocking_tasks.finish();
        } else {
            end(1);
        }
        EXPECT_FALSE(there(outer)) << together;
    }
}

TEST_F(CleanupTest, ContradictionsAreRefusedAsAWhole) {
    const std::string f = file("f"), d = folder("d"), g = file("g");
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({f}, {f}));
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES,
                  add({f}, {}, {.recursive = false, .only_empty = false, .leave_top = false, .ignore = {f}}));
    ASSERT_STATUS(PMIX_SUCCESS,
                  add({}, {d}, {.recursive = false, .only_empty = false, .leave_top = true, .ignore = {g}}));
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({f}, {d})) << "another rule for the same folder";
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({g}, {})) << "somebody wants to keep it";
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({d}, {})) << "a file now";
    for (const char* bad : {"relative", "/", "", "/tmp/..", "/tmp/."})
        EXPECT_STATUS(PMIX_ERR_BAD_PARAM, add({bad}, {})) << bad;
    EXPECT_EQ(1u, cleanup.size()) << "nothing of what was refused is registered";
}

// A server that may not act as the user leaves the user's files alone: with its own rights it would be the server that
// removes them. Root sees the difference; of others the kernel would refuse it anyway. rows: J3
TEST_F(CleanupTest, WithoutTheUsersRightsNothingIsRemoved) {
    const Rights other{kOther, kOther};
    const bool many_users = can_be_other_users();
    const auto of_other = [&](const char* name) {
        const std::string d = folder(name), f = file(std::string(name) + "/f");
        if (many_users) {
            EXPECT_EQ(0, ::chmod(top.c_str(), 0755));
            EXPECT_EQ(0, ::chown(d.c_str(), kOther, kOther));
            EXPECT_EQ(0, ::chown(f.c_str(), kOther, kOther));
        }
        return f;
    };
    const std::string refused = of_other("refused"), granted = of_other("granted");
    ASSERT_STATUS(PMIX_SUCCESS, add({refused}, {}, {}, {1}, "", other));
    {
        const test::FewerRights fewer;
        end(1);  // the worker thread begins here
    }
    EXPECT_TRUE(there(refused));
    EXPECT_EQ(0u, cleanup.size());
    if (!many_users) return;
    BlockingTasks able(scheduler);
    Cleanup with_rights(able);
    ASSERT_STATUS(PMIX_SUCCESS, with_rights.add({1, "", {1}, other}, {granted}, {}, {}));
    with_rights.member_gone(1);
    able.finish();
    EXPECT_FALSE(there(granted));
}

TEST_F(CleanupTest, UsersDoNotMeet) {
    const std::string f = file("f"), g = file("g");
    const Rights other{me.uid + 1, me.gid + 1};
    ASSERT_STATUS(
        PMIX_SUCCESS,
        add({f}, {}, {.recursive = false, .only_empty = false, .leave_top = false, .ignore = {g}}, {7}, "", other));
    EXPECT_STATUS(PMIX_SUCCESS, add({}, {f})) << "the same path, another rule, another user";
    EXPECT_STATUS(PMIX_SUCCESS, add({g}, {}));
    EXPECT_EQ(3u, cleanup.size());
    end(7);
    EXPECT_TRUE(there(f)) << "not that user's";
    end(1);
    EXPECT_FALSE(there(g));
    EXPECT_EQ(0u, cleanup.size());
}

TEST_F(CleanupTest, ProtectedPath_RequestCancelled_IsFree) {
    const std::string a = file("a"), b = file("b"), keep = file("keep");
    const CleanupRules rules{.recursive = false, .only_empty = false, .leave_top = false, .ignore = {keep}};
    ASSERT_STATUS(PMIX_SUCCESS, add({a, b}, {}, rules, {1}, "one"));
    ASSERT_STATUS(PMIX_SUCCESS, add({a}, {}, rules, {2}, "two"));
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({keep}, {}));
    const std::string one = "one", two = "two";
    EXPECT_EQ(2u, cleanup.cancel(1, &one));
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({keep}, {}));
    EXPECT_EQ(1u, cleanup.cancel(1, &two));
    EXPECT_STATUS(PMIX_SUCCESS, add({keep}, {}));
}

TEST_F(CleanupTest, ManyPathsAreLookedUpAndBounded) {
    std::vector<std::string> files, folders;
    CleanupRules rules;
    for (int i = 0; i < 20'000; ++i) {
        files.push_back("/nowhere/f" + std::to_string(i));
        folders.push_back("/nowhere/d" + std::to_string(i));
        rules.ignore.push_back("/nowhere/i" + std::to_string(i));
    }
    ASSERT_STATUS(PMIX_SUCCESS, add(files, folders, rules));
    EXPECT_EQ(40'000u, cleanup.size());
    EXPECT_STATUS(PMIX_ERR_CONFLICTING_CLEANUP_DIRECTIVES, add({rules.ignore.back()}, {}));
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE, add({"/nowhere/more"}, {}, {}, std::vector<MemberId>(10'000, 1)));
    EXPECT_STATUS(PMIX_SUCCESS, add({"/nowhere/more"}, {}));
    EXPECT_EQ(40'001u, cleanup.cancel(1, nullptr));
    EXPECT_EQ(0u, cleanup.size());
    EXPECT_STATUS(PMIX_SUCCESS, add(files, folders, rules)) << "taken back, it does not count any more";
    cleanup.cancel(1, nullptr);
}

// One byte of a name or a path is memory for each process and path.
TEST_F(CleanupTest, Add_PathOrNameTooLong_IsRefusedAsAWhole) {
    const auto path_of = [](size_t bytes) { return "/" + std::string(bytes - 1, 'x'); };
    const std::string most = path_of(PATH_MAX - 1), more = path_of(PATH_MAX);
    const auto ignoring = [](std::string what) {
        CleanupRules rules;
        rules.ignore = {std::move(what)};
        return rules;
    };
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, add({"/nowhere/f", more}, {}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, add({}, {"/nowhere/d", more}));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, add({"/nowhere/f"}, {}, ignoring(more)));
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM,
                  add({"/nowhere/f"}, {}, {}, {1}, std::string(common::kMaxCleanupId + 1, 'i').c_str()));
    EXPECT_EQ(0u, cleanup.size());
    EXPECT_STATUS(PMIX_SUCCESS, add({most}, {}, ignoring(path_of(PATH_MAX - 2)), {1},
                                    std::string(common::kMaxCleanupId, 'i').c_str()));
    EXPECT_EQ(1u, cleanup.size());
}

TEST_F(CleanupTest, Memory_IsTheUsersUntilThePathsAreGone) {
    account = std::make_shared<UserAccount>(1u << 20);
    CleanupRules rules;
    std::vector<std::string> files;
    for (int i = 0; i < 100; ++i) {
        files.push_back("/nowhere/f" + std::to_string(i) + std::string(900, 'x'));
        rules.ignore.push_back("/nowhere/i" + std::to_string(i) + std::string(900, 'x'));
    }
    ASSERT_STATUS(PMIX_SUCCESS, add(files, {}, rules, {1, 2}, "large"));
    const size_t large = account->used();
    EXPECT_GT(large, 3 * 100 * 900u) << "what is ignored is kept twice";
    // The same paths once more: their memory outlasts the first request.
    ASSERT_STATUS(PMIX_SUCCESS, add(files, {}, {}, {1, 2}, "second"));
    EXPECT_GT(account->used(), large + 100 * 900);
    const std::string second = "second", name = "large";
    EXPECT_EQ(100u, cleanup.cancel(1, &second));
    EXPECT_EQ(large, account->used());
    EXPECT_STATUS(PMIX_ERR_OUT_OF_RESOURCE,
                  add({"/nowhere/g", "/nowhere/h"}, {}, {}, std::vector<MemberId>(20'000, 1)));
    EXPECT_EQ(large, account->used());
    EXPECT_EQ(100u, cleanup.size()) << "nothing of what was refused is registered";
    end(1);
    EXPECT_EQ(large, account->used());
    EXPECT_EQ(100u, cleanup.cancel(1, &name));
    EXPECT_EQ(0u, account->used());
    ASSERT_STATUS(PMIX_SUCCESS, add(files, {}, rules, {1}, "large"));
    end(1);
    EXPECT_EQ(0u, account->used()) << "all are removed";
    ASSERT_STATUS(PMIX_SUCCESS, add(files, {}, rules, {1}, "large"));
    cleanup.everybody_gone();
    blocking_tasks.finish();
    EXPECT_EQ(0u, account->used());
}

// A file system may not answer for long: what waits to be removed is memory of the user who asked.
TEST_F(CleanupTest, Memory_TaskHangs_StaysCharged) {
    account = std::make_shared<UserAccount>(1u << 20);
    ASSERT_STATUS(PMIX_SUCCESS, add({"/nowhere/f" + std::string(900, 'x')}, {}));
    const size_t taken = account->used();
    std::atomic<bool> go_on{false};
    blocking_tasks.add([&go_on](bool) {
        while (!go_on) ::usleep(100);
    });
    cleanup.member_gone(1);
    EXPECT_EQ(0u, cleanup.size());
    EXPECT_EQ(taken, account->used());
    go_on = true;
    blocking_tasks.finish();
    EXPECT_EQ(0u, account->used());
}

// rows: J2 J3
TEST_F(CleanupTest, Cancel_ByNameOrAll_RemovesTheRequests) {
    const std::string a = file("a"), b = file("b"), c = file("c");
    ASSERT_STATUS(PMIX_SUCCESS, add({a}, {}, {}, {1}, "first"));
    ASSERT_STATUS(PMIX_SUCCESS, add({b}, {}, {}, {1}, "second"));
    ASSERT_STATUS(PMIX_SUCCESS, add({c}, {}, {}, {1}, "second"));
    const std::string first = "first";
    EXPECT_EQ(0u, cleanup.cancel(2, nullptr)) << "another's";
    EXPECT_EQ(1u, cleanup.cancel(1, &first));
    EXPECT_EQ(2u, cleanup.cancel(1, nullptr));
    end(1);
    EXPECT_TRUE(there(a) && there(b) && there(c));
}

// rows: J3
TEST_F(CleanupTest, LinksAreRemovedAndNotFollowed) {
    const std::string outside = folder("outside"), kept = file("outside/kept"), d = folder("d");
    ASSERT_EQ(0, ::symlink(outside.c_str(), path("d/link").c_str()));
    ASSERT_EQ(0, ::symlink(outside.c_str(), path("direct").c_str()));
    ASSERT_STATUS(PMIX_SUCCESS, add({}, {d, path("direct")},
                                    {.recursive = true, .only_empty = false, .leave_top = false, .ignore = {}}));
    ASSERT_STATUS(PMIX_SUCCESS, add({path("direct") + "/../outside"}, {}));
    end(1);
    EXPECT_FALSE(there(d));
    EXPECT_TRUE(there(kept));
    EXPECT_TRUE(there(path("direct"))) << "it is no folder";
}

// A folder of the path was replaced meanwhile by somebody else's link. rows: J3
TEST_F(CleanupTest, SomebodyElsesLinksOnTheWayLeadNowhere) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs several users";
    const std::string home = folder("home"), precious = file("home/f");
    ASSERT_EQ(0, ::chmod(top.c_str(), 0777));
    ASSERT_EQ(0, ::symlink(home.c_str(), path("way").c_str()));
    ASSERT_EQ(0, ::lchown(path("way").c_str(), kThird, kThird));
    ASSERT_STATUS(PMIX_SUCCESS, add({path("way") + "/f"}, {}));
    end(1);
    EXPECT_TRUE(there(precious));
    EXPECT_FALSE(open_folder_of_user(path("way"), kOther));
    EXPECT_TRUE(open_folder_of_user(path("way"), kThird)) << "one's own link is one's own business";
}

// A server that is root removes for a user only what the user could have removed. rows: J3
TEST_F(CleanupTest, RemovedWithTheRightsOfTheUser) {
    if (!can_be_other_users()) GTEST_SKIP() << "needs several users";
    ASSERT_EQ(0, ::chmod(top.c_str(), 0755));
    const std::string locked = folder("locked"), open = folder("open");
    ASSERT_EQ(0, ::chmod(locked.c_str(), 0755));
    ASSERT_EQ(0, ::chmod(open.c_str(), 0777));
    for (const char* f : {"locked/mine", "open/mine", "open/theirs"}) {
        file(f);
        ASSERT_EQ(0, ::chown(path(f).c_str(), f == std::string("open/theirs") ? kThird : kOther, kOther));
    }
    ASSERT_STATUS(PMIX_SUCCESS, add({path("locked/mine"), path("open/mine"), path("open/theirs")}, {}, {}, {1}, "",
                                    {kOther, kOther}));
    end(1);
    EXPECT_TRUE(there(path("locked/mine"))) << "the folder is not theirs to change";
    EXPECT_FALSE(there(path("open/mine")));
    EXPECT_TRUE(there(path("open/theirs")));
    EXPECT_EQ(0u, ::geteuid());
    file("locked/as_root_again");
    EXPECT_TRUE(there(path("locked/as_root_again")));
}

}  // namespace
}  // namespace pmix::server::cleanup_test
