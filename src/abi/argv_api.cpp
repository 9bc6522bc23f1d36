// SPDX-License-Identifier: BSD-3-Clause
// Lists of strings (argv, environments): NULL-terminated arrays in one malloc block, each string a block of its own.
//
// Owns nothing; needs no library; any thread (PMIx_Setenv on `environ` is setenv and as thread-safe as that). A NULL
// list is the empty list. When memory runs out, lists stay as they were.
#include <pmix.h>
#include <pmix_deprecated.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

namespace {

size_t count(char* const* argv) noexcept {
    size_t n = 0;
    if (argv != nullptr) {
        while (argv[n] != nullptr) ++n;
    }
    return n;
}

char* duplicate(std::string_view text) noexcept {
    auto* p = static_cast<char*>(std::malloc(text.size() + 1));
    if (p == nullptr) return nullptr;
    if (!text.empty()) std::memcpy(p, text.data(), text.size());
    p[text.size()] = '\0';
    return p;
}

// Puts a string that is ours (or NULL: there was no memory for it) at the end or the front.
pmix_status_t insert(char*** argv, char* owned, bool front) noexcept {
    if (owned == nullptr) return PMIX_ERR_NOMEM;
    size_t n = count(*argv);
    auto** grown = static_cast<char**>(std::realloc(static_cast<void*>(*argv), (n + 2) * sizeof(char*)));
    if (grown == nullptr) {
        std::free(owned);
        return PMIX_ERR_NOMEM;
    }
    if (front) {
        std::memmove(static_cast<void*>(grown + 1), grown, n * sizeof(char*));
        grown[0] = owned;
    } else {
        grown[n] = owned;
    }
    grown[n + 1] = nullptr;
    *argv = grown;
    return PMIX_SUCCESS;
}

// The entry "name=..." of an environment, or NULL.
char** find_variable(char** env, std::string_view name) noexcept {
    for (; env != nullptr && *env != nullptr; ++env) {
        if (std::strncmp(*env, name.data(), name.size()) == 0 && (*env)[name.size()] == '=') return env;
    }
    return nullptr;
}

}  // namespace

extern "C" {

int PMIx_Argv_count(char** a) {
    return static_cast<int>(count(a));
}

pmix_status_t PMIx_Argv_append_nosize(char*** argv, const char* arg) {
    if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
    return insert(argv, duplicate(arg), false);
}

pmix_status_t PMIx_Argv_prepend_nosize(char*** argv, const char* arg) {
    if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
    return insert(argv, duplicate(arg), true);
}

pmix_status_t PMIx_Argv_append_unique_nosize(char*** argv, const char* arg) {
    if (argv == nullptr || arg == nullptr) return PMIX_ERR_BAD_PARAM;
    for (char** p = *argv; p != nullptr && *p != nullptr; ++p) {
        if (std::strcmp(*p, arg) == 0) return PMIX_SUCCESS;
    }
    return insert(argv, duplicate(arg), false);
}

void PMIx_Argv_free(char** argv) {
    if (argv == nullptr) return;
    for (char** p = argv; *p != nullptr; ++p) std::free(*p);
    std::free(argv);
}

// A delimiter at the very end adds no empty entry, at the very start it does.
char** PMIx_Argv_split_inter(const char* src_string, int delimiter, bool include_empty) {
    if (src_string == nullptr) return nullptr;
    std::string_view rest = src_string;
    auto separates = [&](char c) { return c == static_cast<char>(delimiter); };
    size_t entries = 1;
    for (char c : rest) entries += separates(c);
    auto** argv = static_cast<char**>(std::calloc(entries + 1, sizeof(char*)));
    if (argv == nullptr) return nullptr;
    size_t n = 0;
    while (!rest.empty()) {
        size_t length = 0;
        while (length < rest.size() && !separates(rest[length])) ++length;
        if (length != 0 || include_empty) {
            argv[n] = duplicate(rest.substr(0, length));
            if (argv[n] == nullptr) {
                PMIx_Argv_free(argv);
                return nullptr;
            }
            ++n;
        }
        rest.remove_prefix(length < rest.size() ? length + 1 : length);
    }
    if (n != 0) return argv;
    std::free(argv);
    return nullptr;
}

char** PMIx_Argv_split_with_empty(const char* src_string, int delimiter) {
    return PMIx_Argv_split_inter(src_string, delimiter, true);
}

char** PMIx_Argv_split(const char* src_string, int delimiter) {
    return PMIx_Argv_split_inter(src_string, delimiter, false);
}

char* PMIx_Argv_join(char** argv, int delimiter) {
    size_t total = 0;
    size_t n = count(argv);
    for (size_t i = 0; i < n; ++i) total += std::strlen(argv[i]) + 1;
    auto* joined = static_cast<char*>(std::malloc(total == 0 ? 1 : total));
    if (joined == nullptr) return nullptr;
    char* at = joined;
    for (size_t i = 0; i < n; ++i) {
        size_t length = std::strlen(argv[i]);
        std::memcpy(at, argv[i], length);
        at += length;
        if (i + 1 < n) *at++ = static_cast<char>(delimiter);
    }
    *at = '\0';
    return joined;
}

// An empty list is copied as an empty list, no list as none.
char** PMIx_Argv_copy(char** argv) {
    if (argv == nullptr) return nullptr;
    size_t n = count(argv);
    auto** copy = static_cast<char**>(std::calloc(n + 1, sizeof(char*)));
    if (copy == nullptr) return nullptr;
    for (size_t i = 0; i < n; ++i) {
        copy[i] = duplicate(argv[i]);
        if (copy[i] == nullptr) {
            PMIx_Argv_free(copy);
            return nullptr;
        }
    }
    return copy;
}

// *env may be NULL (an empty environment) or `environ`. A NULL value removes the variable from `environ`, and sets it
// to nothing in any other list. PMIX_ERR_EXISTS: it is there and may not be replaced.
pmix_status_t PMIx_Setenv(const char* name, const char* value, bool overwrite, char*** env) {
    if (env == nullptr || name == nullptr || name[0] == '\0' || std::strchr(name, '=') != nullptr) {
        return PMIX_ERR_BAD_PARAM;
    }
    if (*env != nullptr && *env == environ) {
        int failed = value == nullptr ? unsetenv(name) : setenv(name, value, overwrite);
        return failed == 0 ? PMIX_SUCCESS : PMIX_ERR_NOMEM;
    }
    char** there = find_variable(*env, name);
    if (there != nullptr && !overwrite) return PMIX_ERR_EXISTS;
    size_t name_length = std::strlen(name);
    size_t value_length = value == nullptr ? 0 : std::strlen(value);
    auto* entry = static_cast<char*>(std::malloc(name_length + value_length + 2));
    if (entry == nullptr) return PMIX_ERR_NOMEM;
    std::memcpy(entry, name, name_length);
    entry[name_length] = '=';
    if (value_length != 0) std::memcpy(entry + name_length + 1, value, value_length);
    entry[name_length + 1 + value_length] = '\0';
    if (there == nullptr) return insert(env, entry, false);
    std::free(*there);
    *there = entry;
    return PMIX_SUCCESS;
}

}  // extern "C"
