// SPDX-License-Identifier: BSD-3-Clause
// A file that says where a server listens, for hosts that ask for one. Tools need none: see server_list.
//
// The owner keeps the RendezvousFile as long as it serves; the file goes with it. Any thread. It is made whole under
// another name and then given its own, readable by its owner only, through a descriptor of its directory, so that
// nobody can exchange the path between two steps. What is there already and names a server that still listens is left
// alone (PMIX_ERR_EXISTS), as is everything that is no such file; one that a killed server left is replaced. So is what
// another user, who is not root, has put there, with a line in the log: nobody would believe it. In a folder that does
// not permit it, this is PMIX_ERR_NO_PERMISSIONS, and the log names the user.
//
// A reader believes a file only if it is a plain one of its own user's or root's that others cannot write. Text that
// is no URI of ours is PMIX_ERR_BAD_PARAM; no such file, or one without a whole line, PMIX_ERR_NOT_FOUND; not to be
// trusted or read PMIX_ERR_NO_PERMISSIONS.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "transport/descriptor.h"
#include "transport/rendezvous/rendezvous.h"

namespace pmix::transport {

class RendezvousFile {
  public:
    static common::Result<RendezvousFile> create(const std::string& path, const std::string& uri);
    // The same with any text and mode. It is locked while it is kept; one that is there already gives way if it is a
    // plain file of our own user's, nobody holds its lock, and is_dead is true of its text.
    using IsDead = std::function<bool(std::string_view text)>;
    static common::Result<RendezvousFile> create_text(const std::string& path, std::string_view text, mode_t mode,
                                                      const IsDead& is_dead);
    // Removes all such files of a folder whose names begin so.
    static void remove_stale(const std::string& folder, std::string_view prefix, const IsDead& is_dead);
    RendezvousFile() = default;
    RendezvousFile(RendezvousFile&& o) noexcept;
    RendezvousFile& operator=(RendezvousFile&& o) noexcept;
    // Removes the file, if it is still this one.
    ~RendezvousFile();

  private:
    static RendezvousFile hold(Descriptor directory, Descriptor file, std::string name);

    Descriptor directory_;
    Descriptor file_;  // open, so that no other file gets its inode's number meanwhile
    std::string name_;
};

common::Result<Contact> read_rendezvous_file(const std::string& path);
// The two halves of it, for a file that may be another library's: the whole text, which is bounded, and the contact in
// it.
common::Result<std::string> read_rendezvous_text(const std::string& path);
common::Result<Contact> parse_rendezvous_text(std::string_view text);

}  // namespace pmix::transport
