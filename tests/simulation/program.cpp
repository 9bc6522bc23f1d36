// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/program.h"

#include <pmix_common.h>

#include <algorithm>
#include <set>

namespace pmix::simulation {

namespace {

constexpr const char* kNames[] = {"put",       "commit",  "get",        "fence",     "publish",  "lookup",
                                  "unpublish", "connect", "disconnect", "construct", "destruct", "listen",
                                  "notify",    "again",   "wait",       "fetch",     "peers",    "deaf"};

std::vector<int> all_ranks(const Size& size) {
    std::vector<int> all;
    for (int r = 0; r < size.ranks(); ++r) all.push_back(r);
    return all;
}

std::vector<int> some_ranks(Dice& dice, const Size& size, int least) {
    std::vector<int> some;
    while (static_cast<int>(some.size()) < least) {
        some.clear();
        for (int r = 0; r < size.ranks(); ++r)
            if (dice.one_in(2)) some.push_back(r);
    }
    return some;
}

}  // namespace

const char* name_of(Kind kind) {
    return kNames[static_cast<int>(kind)];
}

bool has_sound_gets(const Program& program, const Size& size) {
    std::vector<char> has_put(static_cast<size_t>(size.ranks())), has_committed(has_put.size());
    for (const Step& s : program) {
        if (s.kind == Kind::get && s.milliseconds == 0 && !has_committed[static_cast<size_t>(s.target)]) return false;
        for (int r : s.ranks) {
            const auto i = static_cast<size_t>(r);
            if (s.kind == Kind::put) has_put[i] = true;
            if (s.kind == Kind::commit) has_committed[i] |= has_put[i];
        }
    }
    return true;
}

Program random_program(Dice& dice, const Size& size) {
    Program program;
    uint32_t values = 0;
    int groups = 0, published = 0, units = 0;
    std::set<std::vector<int>> limited;  // a fence that has ended early leaves other nodes waiting in it
    const auto all = all_ranks(size);
    std::vector<char> has_put(all.size()), has_committed(all.size());
    const auto rank = [&] { return static_cast<int>(dice.below(static_cast<uint32_t>(size.ranks()))); };
    // So many that the rest is done by fences in memory.
    constexpr int kManyFences = 20;
    if (dice.one_in(3)) {
        for (int i = 0; i < kManyFences; ++i) {
            Step s;
            s.kind = Kind::fence;
            s.ranks = all;
            s.unit = units++;
            s.collects = dice.one_in(3);
            program.push_back(s);
        }
    }
    const size_t most = program.size() + static_cast<size_t>(size.steps);
    while (program.size() < most) {
        Step s;
        s.unit = units++;
        const uint32_t what = dice.below(124);
        // One member comes after the limit, or all come in time.
        const auto limit = [&] {
            s.milliseconds = 1000;
            if (dice.one_in(2)) return;
            Step late = s;
            late.kind = Kind::wait;
            late.ranks = {s.ranks[dice.below(static_cast<uint32_t>(s.ranks.size()))]};
            late.milliseconds = 1600 + static_cast<int>(dice.below(1500));
            program.push_back(late);
        };
        if (what < 30) {
            s.kind = Kind::put;
            s.ranks = {rank()};
            s.key = static_cast<int>(dice.below(4));
            constexpr int kScopes[] = {PMIX_GLOBAL, PMIX_GLOBAL, PMIX_GLOBAL, PMIX_GLOBAL,
                                       PMIX_LOCAL,  PMIX_LOCAL,  PMIX_REMOTE, PMIX_INTERNAL};
            s.scope = kScopes[dice.below(8)];
            s.value = ++values;
            has_put[static_cast<size_t>(s.ranks[0])] = true;
        } else if (what < 42) {
            s.kind = Kind::commit;
            s.ranks = dice.one_in(2) ? all : std::vector<int>{rank()};
            for (int r : s.ranks) has_committed[static_cast<size_t>(r)] |= has_put[static_cast<size_t>(r)];
        } else if (what < 64) {
            s.kind = Kind::get;
            s.ranks = dice.one_in(3) ? all : std::vector<int>{rank()};
            s.target = rank();
            s.key = static_cast<int>(dice.below(5));
            s.optional = dice.one_in(5);
            s.immediate = !s.optional && dice.one_in(4);
            s.refresh = dice.one_in(10);
            s.later = dice.one_in(4);
            s.pointer = dice.one_in(6);
            s.fixed = !s.pointer && !s.later && dice.one_in(6);
            // Without a limit where the target commits before it can wait for the reader.
            s.milliseconds = has_committed[static_cast<size_t>(s.target)] && dice.one_in(2) ? 0 : 1000;
        } else if (what < 84) {
            s.kind = Kind::fence;
            s.ranks = dice.one_in(3) ? some_ranks(dice, size, 1) : all;
            s.collects = dice.one_in(2);
            s.by_one = s.collects && dice.one_in(4);
            if (s.ranks.size() > 1 && s.ranks != all && dice.one_in(3) && limited.insert(s.ranks).second)
                limit();
            else if (limited.count(s.ranks) != 0)
                continue;
        } else if (what < 88) {
            s.kind = Kind::publish;
            s.ranks = {rank()};
            s.key = published++;
            s.value = ++values;
        } else if (what < 92) {
            s.kind = dice.one_in(4) ? Kind::unpublish : Kind::lookup;
            s.ranks = {rank()};
            s.key = static_cast<int>(dice.below(static_cast<uint32_t>(published + 1)));
        } else if (what < 95) {
            s.kind = Kind::connect;
            s.ranks = some_ranks(dice, size, 2);
            program.push_back(s);
            s.kind = Kind::disconnect;
        } else if (what < 98) {
            s.kind = Kind::construct;
            s.ranks = some_ranks(dice, size, 2);
            s.key = groups++;
            s.assigns = dice.one_in(2);
            s.by_one = s.assigns && dice.one_in(3);
            // Some members may have a group and others not: no more is done with it.
            if (dice.one_in(4)) {
                limit();
                program.push_back(s);
                continue;
            }
            program.push_back(s);
            s.assigns = s.by_one = false;
            if (dice.one_in(2) && limited.count(s.ranks) == 0) {
                s.kind = Kind::fence;
                s.by_name = true;
                s.collects = dice.one_in(2);
                program.push_back(s);
                s.by_name = s.collects = false;
            }
            s.kind = Kind::destruct;
        } else if (what < 102) {
            s.kind = Kind::listen;
            s.ranks = some_ranks(dice, size, 1);
            s.key = static_cast<int>(dice.below(2));
        } else if (what < 108) {
            constexpr int kRanges[] = {PMIX_RANGE_NAMESPACE, PMIX_RANGE_LOCAL, PMIX_RANGE_SESSION, PMIX_RANGE_GLOBAL,
                                       PMIX_RANGE_PROC_LOCAL};
            s.kind = Kind::notify;
            s.ranks = {rank()};
            s.key = static_cast<int>(dice.below(2));
            s.scope = kRanges[dice.below(5)];
            s.value = ++values;
        } else if (what < 110) {
            s.kind = Kind::again;
            s.ranks = {rank()};
        } else if (what < 112) {
            s.kind = Kind::wait;
            s.ranks = {rank()};
            s.milliseconds = 1 + static_cast<int>(dice.below(400));
        } else if (what < 118) {
            s.kind = Kind::fetch;
            s.ranks = dice.one_in(2) ? all : std::vector<int>{rank()};
            s.key = static_cast<int>(dice.below(kJobData));
            s.target = rank();
        } else if (what < 121) {
            s.kind = Kind::peers;
            s.ranks = {rank()};
            s.key = static_cast<int>(dice.below(static_cast<uint32_t>(size.nodes)));
        } else {
            s.kind = Kind::deaf;
            s.ranks = some_ranks(dice, size, 1);
            s.key = static_cast<int>(dice.below(2));
        }
        program.push_back(s);
    }
    Step last;
    last.kind = Kind::fence;
    last.ranks = all;
    last.unit = units;
    program.push_back(last);
    return program;
}

}  // namespace pmix::simulation
