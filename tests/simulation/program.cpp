// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/program.h"

#include <pmix_common.h>

#include <algorithm>

namespace pmix::simulation {

namespace {

constexpr const char* kNames[] = {"put",      "commit",    "get",     "fence",      "publish",
                                  "lookup",   "unpublish", "connect", "disconnect", "construct",
                                  "destruct", "listen",    "notify",  "again",      "wait"};

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

Program random_program(Dice& dice, const Size& size) {
    Program program;
    uint32_t values = 0;
    int groups = 0, published = 0, units = 0;
    const auto all = all_ranks(size);
    const auto rank = [&] { return static_cast<int>(dice.below(static_cast<uint32_t>(size.ranks()))); };
    while (static_cast<int>(program.size()) < size.steps) {
        Step s;
        s.unit = units++;
        const uint32_t what = dice.below(112);
        if (what < 30) {
            s.kind = Kind::put;
            s.ranks = {rank()};
            s.key = static_cast<int>(dice.below(4));
            constexpr int kScopes[] = {PMIX_GLOBAL, PMIX_GLOBAL, PMIX_GLOBAL, PMIX_LOCAL, PMIX_REMOTE};
            s.scope = kScopes[dice.below(5)];
            s.value = ++values;
        } else if (what < 42) {
            s.kind = Kind::commit;
            s.ranks = dice.one_in(2) ? all : std::vector<int>{rank()};
        } else if (what < 64) {
            s.kind = Kind::get;
            s.ranks = dice.one_in(3) ? all : std::vector<int>{rank()};
            s.target = rank();
            s.key = static_cast<int>(dice.below(5));
            s.optional = dice.one_in(5);
            s.immediate = !s.optional && dice.one_in(4);
            s.refresh = dice.one_in(10);
            s.milliseconds = 1000;
        } else if (what < 84) {
            s.kind = Kind::fence;
            s.ranks = dice.one_in(3) ? some_ranks(dice, size, 1) : all;
            s.collects = dice.one_in(2);
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
            program.push_back(s);
            if (dice.one_in(2)) {
                s.kind = Kind::fence;
                s.by_name = true;
                program.push_back(s);
                s.by_name = false;
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
        } else {
            s.kind = Kind::wait;
            s.ranks = {rank()};
            s.milliseconds = 1 + static_cast<int>(dice.below(400));
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
