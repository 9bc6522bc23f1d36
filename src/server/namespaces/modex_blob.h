// SPDX-License-Identifier: BSD-3-Clause
// What a host carries between nodes: sections, one per namespace, each with a header of our own around dstore chunks.
//
//   u32 magic "WUPB" · u8 version · u8 flags · u16 name bytes · u32 payload bytes · u32 raw bytes · name · payload
//                                                                                       all little-endian
//   flags   1: the payload is compressed
//           2: no chunks but names: u32 rank, u32 count, then the keys (u32 length, bytes) that the rank has put for
//           its
//              own node only. In the answer to a direct modex, so that a requester of one of them is told that it
//              exists (PMIX_ERR_EXISTS_OUTSIDE_SCOPE) instead of waiting for it.
//           8: no chunks but the host's data about the job as a whole, as infos (job_section.h)
//           4: no chunks but what the servers exchange while a group forms (group_section.h); name is the
//           group's. 16: empty, without a name: a node takes part in a fence and has no data for it. Some hosts
//           exchange a fence
//              between nodes only if it has data (docs/reference/engines.md). A reader that does not know the flag
//              skips the section as one of an unknown namespace.
//           34: (32, and 2 for readers that do not know it) no chunks but whose the namespace is: u32
//           PMIX_RANK_INVALID,
//              u32 0, u32 user. In the answer to a direct modex and in a group's data, so that the user's processes of
//              the other node may read it and those of other users may not.
//           66: (64, and 2 likewise) no chunks but how the rank of a direct modex stands: u32 PMIX_RANK_INVALID, u32 0,
//              u32 rank, u8 ModexState. So that the server that asks knows whether to ask again.
//
// Self-delimiting, because hosts just concatenate. Pure, any thread. Bytes that are no section: PMIX_ERR_NOT_SUPPORTED
// for another magic or version (another library at the other end), PMIX_ERR_UNPACK_FAILURE for the rest. More than one
// section may hold (kMaxBlobPayload): PMIX_ERR_OUT_OF_RESOURCE; a namespace may have several sections.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/compress.h"
#include "common/base/limits.h"
#include "common/base/status.h"

namespace pmix::server {

inline constexpr uint32_t kBlobMagic = 0x42505557;  // "WUPB"
inline constexpr uint8_t kBlobVersion = 1;
inline constexpr size_t kBlobHeader = 16;
// Of one section, packed or not. Both sizes have 32 bits.
inline constexpr size_t kMaxBlobPayload = size_t{1} << 31;

common::Result<std::vector<uint8_t>> wrap_section(std::string_view nspace, common::Bytes chunks);

// Keys that a rank keeps to its node; empty bytes when there are none.
std::vector<uint8_t> wrap_kept(std::string_view nspace, uint32_t rank, const std::vector<std::string>& keys);
// True if a section of the blob lists this key as kept.
bool says_kept(common::Bytes blob, std::string_view nspace, uint32_t rank, std::string_view key) noexcept;

std::vector<uint8_t> wrap_owner(std::string_view nspace, uint32_t uid);
// not_yet: it has committed nothing, and the server would not wait longer. over: it has left and puts nothing any more.
enum class ModexState : uint8_t { none = 0, not_yet = 1, over = 2 };
std::vector<uint8_t> wrap_state(std::string_view nspace, uint32_t rank, ModexState state);
ModexState state_of(common::Bytes blob, std::string_view nspace, uint32_t rank) noexcept;

common::Result<std::vector<uint8_t>> wrap_group(std::string_view group, common::Bytes payload);

common::Result<std::vector<uint8_t>> wrap_job(std::string_view nspace, common::Bytes infos);

// The section of a node that takes part in a fence without data.
std::vector<uint8_t> wrap_presence();
// True if a blob consists of such sections only, or is empty.
bool is_presence_only(common::Bytes blob) noexcept;

struct Section {
    std::string_view nspace;
    common::Bytes payload;
    bool compressed = false;
    bool kept = false;      // names, no chunks
    bool owner = false;     // the user whose it is, no chunks
    bool group = false;     // a group_section, no chunks
    bool job = false;       // a description, no chunks
    bool presence = false;  // empty
    bool state = false;     // a ModexState, no chunks
    uint32_t raw_size = 0;
    size_t size = 0;  // where the next section starts
};
common::Result<Section> read_section(common::Bytes blob);
// The user that an owner section names.
std::optional<uint32_t> section_owner(const Section& section) noexcept;
// The chunks: the payload itself, or unpacked into `storage`.
common::Result<common::Bytes> section_chunks(const Section& section, std::vector<uint8_t>& storage);

}  // namespace pmix::server
