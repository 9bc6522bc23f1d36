// SPDX-License-Identifier: BSD-3-Clause
#include "client/openpmix/server_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <tuple>
#include <utility>

#include "common/base/limits.h"
#include "common/base/log.h"
#include "transport/descriptor.h"
#include "transport/rendezvous/rendezvous_file.h"

namespace pmix::client {

using transport::Descriptor;

namespace {

constexpr unsigned kMaxDepth = 4;  // of folders below the one that was named
// Names are anybody's: so many are a second of reading. Folders that are entered and files that are read are this
// user's or root's.
constexpr size_t kMaxNames = 1'000'000;
constexpr size_t kMaxFolders = 1'000;
constexpr size_t kMaxFiles = 256;
constexpr size_t kMaxFolderName = 4096;  // bytes

bool is_ours_or_roots(uid_t uid) noexcept {
    return uid == ::geteuid() || uid == 0;
}

std::string bounded_text(const char* text) {
    if (text == nullptr) return {};
    const size_t length = common::bounded_length(text, kMaxFolderName + 1);
    return length > kMaxFolderName ? std::string() : std::string(text, length);
}

struct NameOfFile {
    OpenPmixFile::Of of;
    std::string_view rest;
};

// False: it is no such name of this node.
bool read_name(std::string_view name, const std::vector<std::string>& hosts, NameOfFile* out) {
    constexpr std::string_view kPrefix = "pmix.";
    constexpr std::string_view kTool = ".tool";
    if (!name.starts_with(kPrefix)) return false;
    name.remove_prefix(kPrefix.size());
    using Of = OpenPmixFile::Of;
    for (const std::string& host : hosts) {
        for (const auto& [word, of] : {std::pair<std::string_view, Of>{"sys.", Of::system},
                                       {"sched.", Of::scheduler},
                                       {"sysctrlr.", Of::controller}}) {
            if (!name.starts_with(word) || name.substr(word.size()) != host) continue;
            *out = {of, {}};
            return true;
        }
        if (!name.starts_with(host) || !name.substr(host.size()).starts_with(kTool)) continue;
        std::string_view rest = name.substr(host.size() + kTool.size());
        if (!rest.empty() && rest.front() != '.') continue;
        if (!rest.empty()) rest.remove_prefix(1);
        *out = {Of::tools, rest};
        return true;
    }
    return false;
}

struct Candidate {
    OpenPmixFile file;
    bool own = false;
    timespec changed{};
};

class Walk {
  public:
    explicit Walk(const OpenPmixPlaces& places) : places_(places) {}

    // Files whose whole name is known need no listing. Folders come by their depth: a bound cuts off the deepest.
    void below(const std::string& folder, unsigned depth) {
        for (const std::string& host : places_.hosts) {
            for (const std::string& name :
                 {"pmix.sys." + host, "pmix.sched." + host, "pmix.sysctrlr." + host, "pmix." + host + ".tool"}) {
                NameOfFile meaning{};
                if (read_name(name, places_.hosts, &meaning)) read(folder, name, meaning);
            }
        }
        std::deque<std::pair<std::string, unsigned>> left{{folder, depth}};
        for (; !left.empty(); left.pop_front()) {
            if (folders_ >= kMaxFolders) return cut("folders");
            enter(left.front().first, left.front().second, left);
        }
    }
    bool is_cut() const noexcept { return cut_; }

    std::vector<OpenPmixFile> take() {
        std::stable_sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
            return std::tuple(!a.own, a.changed.tv_sec, a.changed.tv_nsec) <
                   std::tuple(!b.own, b.changed.tv_sec, b.changed.tv_nsec);
        });
        std::vector<OpenPmixFile> out;
        for (Candidate& c : candidates_) {
            const bool known = std::any_of(out.begin(), out.end(), [&](const OpenPmixFile& file) {
                return file.of == c.file.of && file.contact.address.uri == c.file.contact.address.uri;
            });
            if (!known) out.push_back(std::move(c.file));
        }
        return out;
    }

  private:
    void enter(const std::string& folder, unsigned depth, std::deque<std::pair<std::string, unsigned>>& left) {
        // The folder that was named may be anybody's, as /tmp is root's; a symbolic link may lead to it.
        const int link = depth == kMaxDepth ? 0 : O_NOFOLLOW;
        const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK | link);
        if (fd < 0) return;
        const std::unique_ptr<DIR, int (*)(DIR*)> listing(::fdopendir(fd), ::closedir);
        if (listing == nullptr) {
            ::close(fd);
            return;
        }
        ++folders_;
        while (const dirent* entry = ::readdir(listing.get())) {
            const std::string_view name = entry->d_name;
            if (name == "." || name == "..") continue;
            if (++names_ > kMaxNames) return cut("names");
            NameOfFile meaning{};
            if (read_name(name, places_.hosts, &meaning)) read(folder, std::string(name), meaning);
            if (depth == 0 || (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)) continue;
            struct stat info {};
            if (::fstatat(fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) continue;
            if (is_ours_or_roots(info.st_uid)) left.emplace_back(folder + '/' + entry->d_name, depth - 1);
        }
    }

    void read(const std::string& folder, const std::string& name, const NameOfFile& meaning) {
        const std::string path = folder + '/' + name;
        struct stat info {};
        if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || !is_ours_or_roots(info.st_uid)) return;
        if (candidates_.size() >= kMaxFiles || ++read_ > 4 * kMaxFiles) return cut("files");
        auto contact = read_openpmix_file(path);
        if (!contact) return;
        Candidate one;
        one.file.of = meaning.of;
        one.file.name = meaning.rest;
        one.file.contact = std::move(*contact);
        one.own = info.st_uid == ::geteuid();
        one.changed = info.st_mtim;
        candidates_.push_back(std::move(one));
    }

    void cut(const char* what) {
        if (std::exchange(cut_, true)) return;
        WIREUP_LOG(client, warn, "the search for servers' files in %s ends early: too many %s", places_.system.c_str(),
                   what);
    }

    const OpenPmixPlaces& places_;
    size_t folders_ = 0, names_ = 0, read_ = 0;
    bool cut_ = false;
    std::vector<Candidate> candidates_;
};

}  // namespace

OpenPmixPlaces read_openpmix_places(common::InfoView infos, transport::EnvironmentReader read) {
    OpenPmixPlaces out;
    const auto folder = [&](const char* attribute, std::initializer_list<const char*> variables) {
        std::string_view given;
        if (infos.get(attribute, &given) == PMIX_SUCCESS && !given.empty() && given.size() <= kMaxFolderName)
            return std::string(given);
        for (const char* variable : variables)
            if (std::string text = bounded_text(read(variable)); !text.empty()) return text;
        return std::string();
    };
    out.session = folder(PMIX_SERVER_TMPDIR, {"PMIX_SERVER_TMPDIR"});
    out.system = folder(PMIX_SYSTEM_TMPDIR, {"PMIX_SYSTEM_TMPDIR", "TMPDIR", "TEMP", "TMP"});
    if (out.system.empty()) out.system = "/tmp";
    const auto add = [&out](std::string name) {
        if (name.empty() || name.find('/') != std::string::npos) return;
        if (std::find(out.hosts.begin(), out.hosts.end(), name) == out.hosts.end())
            out.hosts.push_back(std::move(name));
    };
    add(bounded_text(read("PMIX_HOSTNAME")));
    char kernel[256] = {};
    if (::gethostname(kernel, sizeof kernel - 1) == 0) {
        const std::string whole = kernel;
        add(whole);
        add(whole.substr(0, whole.find('.')));
    }
    return out;
}

OpenPmixPlaces read_openpmix_places(common::InfoView infos) {
    return read_openpmix_places(infos, [](const char* name) -> const char* { return ::secure_getenv(name); });
}

std::vector<OpenPmixFile> list_openpmix_files(const OpenPmixPlaces& places, bool* cut) {
    Walk walk(places);
    if (!places.session.empty()) walk.below(places.session, kMaxDepth);
    if (places.system != places.session) walk.below(places.system, kMaxDepth);
    if (cut != nullptr) *cut = walk.is_cut();
    return walk.take();
}

common::Result<OpenPmixContact> read_openpmix_file(const std::string& path) {
    auto text = transport::read_rendezvous_text(path);
    if (!text) return text.status();
    return parse_openpmix_contact(*text);
}

}  // namespace pmix::client
