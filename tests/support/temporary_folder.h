// SPDX-License-Identifier: BSD-3-Clause
// A folder under /tmp that goes with the object, and the texts in it. Its name is none that run_clean looks for: a test
// that runs beside this one would take it for its own.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace pmix::test {

class TemporaryFolder {
  public:
    TemporaryFolder() {
        char name[] = "/tmp/unit-test.XXXXXX";
        EXPECT_NE(nullptr, ::mkdtemp(name));
        folder_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    const std::string& name() const { return folder_; }
    std::string path(const std::string& file) const { return folder_ + "/" + file; }
    std::string text(const std::string& file) const {
        std::stringstream all;
        all << std::ifstream(path(file)).rdbuf();
        return all.str();
    }
    size_t files() const {
        const std::filesystem::directory_iterator all(folder_);
        return static_cast<size_t>(std::distance(begin(all), end(all)));
    }

  private:
    std::string folder_;
};

}  // namespace pmix::test
