// SPDX-License-Identifier: BSD-3-Clause
// Runs a fuzz target over the files of a corpus, once each, where there is no libFuzzer. An empty or missing corpus is
// a failure: a replay of nothing proves nothing.
#include <dirent.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: %s CORPUS_DIRECTORY\n", argv[0]);
        return 2;
    }
    std::vector<std::string> names;
    DIR* dir = opendir(argv[1]);
    while (dir != nullptr) {
        const dirent* entry = readdir(dir);
        if (entry == nullptr) break;
        if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
    }
    if (dir != nullptr) closedir(dir);
    if (names.empty()) {
        std::fprintf(stderr, "%s: no corpus\n", argv[1]);
        return 1;
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
        std::FILE* file = std::fopen((std::string(argv[1]) + '/' + name).c_str(), "rb");
        if (file == nullptr) {
            std::fprintf(stderr, "%s: cannot be read\n", name.c_str());
            return 1;
        }
        // Named before it runs, so that a crash says which.
        std::printf("%s\n", name.c_str());
        std::fflush(stdout);
        std::vector<uint8_t> bytes;
        uint8_t buffer[4096];
        for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) != 0;)
            bytes.insert(bytes.end(), buffer, buffer + n);
        std::fclose(file);
        bytes.shrink_to_fit();  // so that a sanitizer sees the end
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    return 0;
}
