// SPDX-License-Identifier: BSD-3-Clause
// What each attribute of PMIx_IOF_pull does to output on its way to people: texts of lines, names of files, old names.
#include <gtest/gtest.h>

#include <string>

#include "client/iof/iof_files.h"
#include "client/iof/iof_format.h"
#include "common/values/value.h"

namespace pmix::client::iof_attributes_test {
namespace {

using common::InfoList;
using common::ProcId;

std::string shown(std::initializer_list<const char*> flags, const char* bytes = "a\nb") {
    InfoList infos;
    for (const char* key : flags) infos.append_flag(key, true);
    Lines lines(read_iof_format(infos), ProcId("job", 3), PMIX_FWD_STDOUT_CHANNEL, "n7:42");
    std::string out;
    lines.add(bytes, "NOW", out);
    return out;
}

// Only whole lines, but for raw output. rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_TAG_OUTPUT PMIX_IOF_TAG_FULLNAME_OUTPUT PMIX_IOF_TAG_DETAILED_OUTPUT client
// proves: PMIx_IOF_pull PMIX_IOF_RANK_OUTPUT PMIX_IOF_TIMESTAMP_OUTPUT PMIX_IOF_XML_OUTPUT PMIX_IOF_OUTPUT_RAW client
// proves: PMIx_IOF_pull PMIX_TAG_OUTPUT PMIX_TIMESTAMP_OUTPUT client
TEST(IofAttributes, Formats) {
    EXPECT_EQ("[job,3]<stdout>: a\n", shown({PMIX_IOF_TAG_OUTPUT}));
    EXPECT_EQ("[job,3]<stdout>: a\n", shown({PMIX_IOF_TAG_FULLNAME_OUTPUT}));
    EXPECT_EQ("[job,3]<stdout>: a\n", shown({PMIX_TAG_OUTPUT}));
    EXPECT_EQ("[job,3][n7:42]<stdout>: a\n", shown({PMIX_IOF_TAG_DETAILED_OUTPUT}));
    EXPECT_EQ("[3]<stdout>: a\n", shown({PMIX_IOF_RANK_OUTPUT}));
    EXPECT_EQ("NOW<stdout>: a\n", shown({PMIX_IOF_TIMESTAMP_OUTPUT}));
    EXPECT_EQ("NOW<stdout>: a\n", shown({PMIX_TIMESTAMP_OUTPUT}));
    EXPECT_EQ(0u, shown({PMIX_IOF_XML_OUTPUT}).find("<stdout rank=\"3\">a"));
    EXPECT_EQ("[job,3]<stdout>: a\n[job,3]<stdout>: b", shown({PMIX_IOF_TAG_OUTPUT, PMIX_IOF_OUTPUT_RAW}));
}

std::string path_of(std::initializer_list<std::pair<const char*, const char*>> texts, bool pattern = false) {
    InfoList infos;
    for (const auto& [key, text] : texts) infos.append_string(key, text);
    if (pattern) infos.append_flag(PMIX_IOF_FILE_PATTERN, true);
    IofFileNames names;
    if (read_iof_file_names(infos, names) != PMIX_SUCCESS) return "refused";
    const IofPath path = iof_path(names, ProcId("job", 3), PMIX_FWD_STDERR_CHANNEL);
    std::string all = path.base;
    for (const std::string& part : path.below)
        if (!part.empty()) all += "/" + part;
    return all;
}

// rows: O3
// proves: PMIx_IOF_pull PMIX_IOF_OUTPUT_TO_FILE PMIX_IOF_OUTPUT_TO_DIRECTORY PMIX_IOF_FILE_PATTERN client
// proves: PMIx_IOF_pull PMIX_OUTPUT_TO_FILE PMIX_OUTPUT_TO_DIRECTORY client
TEST(IofAttributes, Files) {
    for (const char* key : {PMIX_IOF_OUTPUT_TO_FILE, PMIX_OUTPUT_TO_FILE})
        EXPECT_EQ("/d/name.job.3.stderr", path_of({{key, "/d/name"}})) << key;
    for (const char* key : {PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_OUTPUT_TO_DIRECTORY})
        EXPECT_EQ("/d/job/rank.3/stderr", path_of({{key, "/d"}})) << key;
    EXPECT_EQ("/d/3-job.stderr", path_of({{PMIX_IOF_OUTPUT_TO_FILE, "/d/%r-%n"}}, true));
    EXPECT_EQ("refused", path_of({{PMIX_IOF_OUTPUT_TO_FILE, "/d/x"}, {PMIX_OUTPUT_TO_DIRECTORY, "/d"}}));
}

}  // namespace
}  // namespace pmix::client::iof_attributes_test
