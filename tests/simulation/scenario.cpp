// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/scenario.h"

#include <pmix_common.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

namespace pmix::simulation {

namespace {

constexpr uint32_t kNodes = 3, kRanksPerNode = 3;  // at most

std::string list_of(const std::vector<int>& ranks) {
    std::string text;
    for (int r : ranks) text += (text.empty() ? "" : ",") + std::to_string(r);
    return text;
}

std::vector<int> ranks_in(const std::string& text) {
    std::vector<int> ranks;
    std::istringstream in(text);
    for (std::string one; std::getline(in, one, ',');) ranks.push_back(std::atoi(one.c_str()));
    return ranks;
}

const char* name_of_scope(int scope) {
    return scope == PMIX_GLOBAL     ? "global"
           : scope == PMIX_LOCAL    ? "local"
           : scope == PMIX_INTERNAL ? "internal"
                                    : "remote";
}

struct Flag {
    const char* name;
    bool Step::*of;
};
constexpr Flag kFlags[] = {{"collects", &Step::collects},   {"assigns", &Step::assigns},
                           {"by_one", &Step::by_one},       {"by_name", &Step::by_name},
                           {"immediate", &Step::immediate}, {"optional", &Step::optional},
                           {"refresh", &Step::refresh},     {"pointer", &Step::pointer},
                           {"fixed", &Step::fixed},         {"later", &Step::later}};

bool* flag_of(Step& s, const std::string& word) {
    for (const Flag& f : kFlags)
        if (word == f.name) return &(s.*f.of);
    return nullptr;
}

// "kind ranks unit [words]"
bool read_step(std::istringstream& in, const std::string& kind, Step& s) {
    int k = 0;
    while (k <= static_cast<int>(kLastKind) && kind != name_of(static_cast<Kind>(k))) ++k;
    std::string ranks, word;
    if (k > static_cast<int>(kLastKind) || !(in >> ranks)) return false;
    s.kind = static_cast<Kind>(k);
    s.ranks = ranks_in(ranks);
    while (in >> word) {
        const int number = word.size() > 1 ? std::atoi(word.c_str() + 1) : 0;
        if (bool* flag = flag_of(s, word))
            *flag = true;
        else if (word == "global")
            s.scope = PMIX_GLOBAL;
        else if (word == "local")
            s.scope = PMIX_LOCAL;
        else if (word == "remote")
            s.scope = PMIX_REMOTE;
        else if (word == "internal")
            s.scope = PMIX_INTERNAL;
        else if (word[0] == 'k')
            s.key = number;
        else if (word[0] == '=')
            s.value = static_cast<uint32_t>(number);
        else if (word[0] == '@')
            s.target = number;
        else if (word[0] == 'r')
            s.scope = number;
        else if (word[0] == 't')
            s.milliseconds = number;
        else if (word[0] == 'u')
            s.unit = number;
        else
            return false;
    }
    return !s.ranks.empty();
}

}  // namespace

std::string text_of(const Step& s) {
    std::string text = std::string(name_of(s.kind)) + ' ' + list_of(s.ranks) + " u" + std::to_string(s.unit) + " k" +
                       std::to_string(s.key);
    if (s.value != 0) text += " =" + std::to_string(s.value);
    if (s.kind == Kind::put) text += std::string(" ") + name_of_scope(s.scope);
    if (s.kind == Kind::notify) text += " r" + std::to_string(s.scope);
    if (s.kind == Kind::get || s.kind == Kind::fetch) text += " @" + std::to_string(s.target);
    if (s.milliseconds != 0) text += " t" + std::to_string(s.milliseconds);
    for (const Flag& f : kFlags)
        if (s.*f.of) text += std::string(" ") + f.name;
    return text;
}

Scenario random_scenario(uint64_t seed) {
    Dice dice(seed ^ 0x5eed);
    Scenario s;
    s.seed = seed;
    s.size.nodes = 1 + static_cast<int>(dice.below(kNodes));
    s.size.ranks_per_node = 1 + static_cast<int>(dice.below(kRanksPerNode));
    if (s.size.ranks() == 1) s.size.ranks_per_node = 2;
    s.size.steps = 4 + static_cast<int>(dice.below(24));
    s.program = random_program(dice, s.size);
    s.rare_in = 10 + dice.below(100);
    s.torn_in = 4 + dice.below(40);
    if (dice.one_in(2)) s.host.fails_in = 2 + dice.below(10);
    if (dice.one_in(4)) s.host.late_in = 2 + dice.below(4);
    if (dice.one_in(6)) s.host.lacks = static_cast<Lacks>(1u << dice.below(kLacks));
    if (dice.one_in(4)) {
        s.shortage.process =
            static_cast<int>(dice.below(static_cast<uint32_t>(s.size.ranks() + s.size.nodes))) - s.size.nodes;
        s.shortage.at = 50 + dice.below(800);
        s.shortage.after = dice.below(40);
        s.shortage.fails = 1 + dice.below(3);
        return s;
    }
    if (dice.one_in(2)) return s;
    for (uint32_t n = 1 + dice.below(3); n > 0; --n)
        s.faults.push_back({static_cast<int>(dice.below(static_cast<uint32_t>(s.size.ranks()))), 50 + dice.below(800),
                            dice.one_in(2) ? (1 + dice.below(300)) * kMillisecond : 0});
    std::sort(s.faults.begin(), s.faults.end(), [](const Fault& a, const Fault& b) { return a.at < b.at; });
    return s;
}

std::string text_of(const Scenario& s) {
    std::ostringstream out;
    out << "job " << s.seed << ' ' << s.size.nodes << ' ' << s.size.ranks_per_node << ' ' << s.rare_in << ' '
        << s.torn_in << '\n';
    out << "host " << s.host.fails_in << ' ' << s.host.late_in << ' ' << static_cast<unsigned>(s.host.lacks) << '\n';
    for (const Fault& f : s.faults) out << "fault " << f.rank << ' ' << f.at << ' ' << f.stops / kMillisecond << '\n';
    if (s.shortage.fails != 0)
        out << "shortage " << s.shortage.process << ' ' << s.shortage.at << ' ' << s.shortage.after << ' '
            << s.shortage.fails << '\n';
    for (const Step& step : s.program) out << text_of(step) << '\n';
    return out.str();
}

std::optional<Scenario> read_scenario(const std::string& text) {
    Scenario s;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::string kind;
        if (!(in >> kind) || kind[0] == '#') continue;
        bool good;
        if (kind == "job") {
            good = bool(in >> s.seed >> s.size.nodes >> s.size.ranks_per_node >> s.rare_in >> s.torn_in);
        } else if (kind == "host") {
            unsigned lacks = 0;
            good = bool(in >> s.host.fails_in >> s.host.late_in >> lacks);
            s.host.lacks = static_cast<Lacks>(lacks);
        } else if (kind == "shortage") {
            good = bool(in >> s.shortage.process >> s.shortage.at >> s.shortage.after >> s.shortage.fails);
        } else if (kind == "fault") {
            Fault f;
            good = bool(in >> f.rank >> f.at >> f.stops);
            f.stops *= kMillisecond;
            s.faults.push_back(f);
        } else {
            Step step;
            good = read_step(in, kind, step);
            s.program.push_back(step);
        }
        if (good) continue;
        std::printf("no line of a scenario: %s\n", line.c_str());
        return std::nullopt;
    }
    if (s.size.nodes < 1 || s.size.nodes > static_cast<int>(kNodes) || s.size.ranks_per_node < 1 ||
        s.size.ranks_per_node > static_cast<int>(kRanksPerNode))
        return std::nullopt;
    return s;
}

}  // namespace pmix::simulation
