// SPDX-License-Identifier: BSD-3-Clause
// Which query an answer of the host belongs to, as hosts group and list them.
#include "common/protocol/query_answers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/values/array_value.h"
#include "common/values/value.h"

namespace pmix::test::query_answers_test {
namespace {

using common::AskedKey;
using common::InfoList;

InfoList of_job(const char* nspace) {
    InfoList infos;
    if (nspace[0] != '\0') infos.append_string(PMIX_NSPACE, nspace);
    return infos;
}

// Queries for keys of jobs, and a host's answers to them.
class Asking {
  public:
    // job: empty: a query without qualifiers.
    void query(const char* job, std::vector<std::string> keys) {
        InfoList qualifiers = of_job(job);
        pmix_query_t& query = queries_.emplace_back();
        query = {};
        query.qualifiers = qualifiers.release(&query.nqual);
        for (std::string& key : keys) also(queries_.size() - 1, std::move(key));
    }
    void also(size_t query, std::string key) { asked_.emplace_back(query, std::move(key)); }
    ~Asking() {
        for (pmix_query_t& query : queries_) InfoList::take_over(query.qualifiers, query.nqual);
    }
    Asking() = default;
    Asking(const Asking&) = delete;
    Asking& operator=(const Asking&) = delete;

    // "1:k=text 2:..." of the keys that have an answer.
    std::string match(const InfoList& answers) const {
        std::vector<AskedKey> asked;
        for (const auto& [query, key] : asked_) asked.push_back({query, key});
        const auto found = common::answers_by_query(queries_, asked, answers);
        EXPECT_EQ(asked.size(), found.size());
        std::string out;
        for (size_t i = 0; i < found.size(); ++i) {
            if (found[i] == nullptr) continue;
            EXPECT_EQ(asked[i].key, common::key_view(*found[i]));
            out += (out.empty() ? "" : " ") + std::to_string(asked[i].query) + ":" + found[i]->key + "=" +
                   found[i]->value.data.string;
        }
        return out;
    }

  private:
    std::vector<pmix_query_t> queries_;
    std::vector<std::pair<size_t, std::string>> asked_;
};

using Texts = std::vector<std::pair<const char*, const char*>>;  // keys and their answers

InfoList list(const Texts& texts) {
    InfoList infos;
    for (const auto& [key, text] : texts) infos.append_string(key, text);
    return infos;
}
// Null: it has no qualifiers in front.
void add_group(InfoList& to, const InfoList* qualifiers, const Texts& texts) {
    InfoList group;
    if (qualifiers != nullptr) {
        InfoList copy;
        copy.append_all(qualifiers->c_array(), qualifiers->size());
        group.append(PMIX_QUERY_QUALIFIERS, std::move(common::array_value(std::move(copy))).value());
    }
    for (const auto& [key, text] : texts) group.append_string(key, text);
    to.append(PMIX_QUERY_RESULTS, std::move(common::array_value(std::move(group))).value());
}
void add_group_of(InfoList& to, const char* job, const Texts& texts) {
    const InfoList qualifiers = of_job(job);
    add_group(to, &qualifiers, texts);
}

}  // namespace

// rows: Q2
TEST(QueryAnswersTest, GroupsWithQualifiers_BelongToTheQueryThatHasThem) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("jb", {"color", "size"});
    InfoList one, both;
    add_group_of(one, "jb", {{"color", "blue"}});
    EXPECT_EQ("1:color=blue", asking.match(one)) << "the other has no answer";
    add_group_of(both, "jb", {{"size", "2"}, {"color", "blue"}});
    add_group_of(both, "ja", {{"color", "red"}});
    EXPECT_EQ("0:color=red 1:color=blue 1:size=2", asking.match(both));
    InfoList foreign;
    add_group_of(foreign, "jc", {{"color", "green"}});
    EXPECT_EQ("", asking.match(foreign)) << "nobody asked for this job";
}

// A host has been given the requester's user, and may repeat it; what it has not looked at it may leave out. rows: Q2
TEST(QueryAnswersTest, Qualifiers_AreComparedWithoutTheUser_AndMayBePartOfTheQuerys) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("jb", {"color"});
    InfoList with_user = of_job("jb"), answers;
    with_user.append_number<uint32_t>(PMIX_USERID, 7, PMIX_UINT32);
    with_user.append_number<uint32_t>(PMIX_GRPID, 8, PMIX_UINT32);
    add_group(answers, &with_user, {{"color", "blue"}});
    EXPECT_EQ("1:color=blue", asking.match(answers));
    InfoList nothing, vague;
    add_group(vague, &nothing, {{"color", "blue"}});
    EXPECT_EQ("", asking.match(vague)) << "it may be that of either";

    Asking plain;
    plain.query("", {"color"});
    plain.query("jb", {"color"});
    EXPECT_EQ("0:color=blue", plain.match(vague));

    Asking alone;
    alone.query("ja", {"color"});
    EXPECT_EQ("0:color=blue", alone.match(vague)) << "there is no other query";
    EXPECT_EQ("", alone.match(answers)) << "this is of another job";
    InfoList more = of_job("ja"), precise;
    more.append_string(PMIX_HOSTNAME, "n0");
    add_group(precise, &more, {{"color", "red"}});
    EXPECT_EQ("0:color=red", alone.match(precise));
}

// rows: Q2
TEST(QueryAnswersTest, QueriesWithTheSameQualifiers_EachKeyToTheFirstThatMissesIt) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("ja", {"size", "color"});
    InfoList answers;
    add_group_of(answers, "ja", {{"color", "red"}, {"size", "1"}});
    EXPECT_EQ("0:color=red 1:size=1", asking.match(answers));
    add_group_of(answers, "ja", {{"color", "dark red"}});
    EXPECT_EQ("0:color=red 1:size=1 1:color=dark red", asking.match(answers));
}

// rows: Q2
TEST(QueryAnswersTest, GroupsWithoutQualifiers_AsManyAsQueries_BelongToThemInOrder) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("jb", {"color", "size"});
    InfoList answers;
    add_group(answers, nullptr, {});
    add_group(answers, nullptr, {{"color", "blue"}});
    EXPECT_EQ("1:color=blue", asking.match(answers));
    InfoList turned;
    add_group(turned, nullptr, {{"size", "2"}});
    add_group(turned, nullptr, {{"color", "blue"}});
    EXPECT_EQ("1:size=2", asking.match(turned)) << "they are not in the order of the queries";
}

// rows: Q2
TEST(QueryAnswersTest, GroupsWithoutQualifiersBesideOthers_BelongToQueriesWithoutAny) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("", {"color"});
    InfoList answers;
    add_group(answers, nullptr, {{"color", "own"}});
    add_group_of(answers, "ja", {{"color", "red"}});
    EXPECT_EQ("0:color=red 1:color=own", asking.match(answers));
}

// Also a host that puts the answers to all queries into one group. rows: Q2
TEST(QueryAnswersTest, ListedAnswers_AreGivenWhereNoQueryMissesOne) {
    Asking asking;
    asking.query("ja", {"color"});
    asking.query("jb", {"size", "color"});
    for (const bool grouped : {false, true}) {
        const auto said = [&](const Texts& texts) {
            if (!grouped) return list(texts);
            InfoList group;
            add_group(group, nullptr, texts);
            return group;
        };
        EXPECT_EQ("0:color=red 1:size=2 1:color=blue",
                  asking.match(said({{"color", "red"}, {"size", "2"}, {"color", "blue"}, {"unasked", "x"}})));
        EXPECT_EQ("1:size=2", asking.match(said({{"color", "of one of them"}, {"size", "2"}})));
    }
    Asking alike;
    alike.query("ja", {"color", "color"});
    alike.query("ja", {"color"});
    EXPECT_EQ("0:color=red", alike.match(list({{"color", "red"}}))) << "they all ask the same";
}

// The keys of samples are found to be missing later than those of other queries. rows: Q2
TEST(QueryAnswersTest, KeysOutOfTheOrderOfQueries_ListedAnswersFollowTheQueries) {
    Asking asking;
    asking.query("ja", {});
    asking.query("jb", {"color"});
    asking.also(0, "color");
    EXPECT_EQ("1:color=blue 0:color=red", asking.match(list({{"color", "red"}, {"color", "blue"}})));
    EXPECT_EQ("", Asking().match(list({{"color", "red"}})));
}

}  // namespace pmix::test::query_answers_test
