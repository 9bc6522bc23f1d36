// SPDX-License-Identifier: BSD-3-Clause
// The texts that say where a process runs: cpusets ("hwloc:0-3,8") and localities ("hwloc:SK0:L30:CR1:HT2-3:NM0"), and
// what two of the latter have in common.
//
// Owns nothing; pure; any thread. The numbers in a locality are logical indexes per kind of object, those of a cpuset
// the system's. Texts are hostile: an index beyond kMaxCpuIndex, an inverted range or anything that is no list of
// numbers is PMIX_ERR_BAD_PARAM.
#pragma once

#include <pmix_common.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace pmix::common {

inline constexpr std::string_view kHwlocSource = "hwloc";

// A source is compared without case; a version may follow ("hwloc:2.9.0"), and no source at all is taken as hwloc's.
bool is_hwloc_source(const char* source) noexcept;

// A set of small numbers as ranges, in rising order, without overlap.
class IndexList {
  public:
    struct Range {
        uint32_t first;
        uint32_t last;  // inclusive; kOpenEnd: no end
        bool operator==(const Range&) const = default;
    };
    static constexpr uint32_t kOpenEnd = UINT32_MAX;

    // "0-3,8" or "4-" (no end); commas or blanks between items; "" is the empty set.
    static Result<IndexList> parse(std::string_view text);

    void add(uint32_t first, uint32_t last);
    bool intersects(const IndexList& other) const noexcept;
    bool empty() const noexcept { return ranges_.empty(); }
    const std::vector<Range>& ranges() const noexcept { return ranges_; }
    void append_text(std::string& out) const;

  private:
    std::vector<Range> ranges_;
};

// "SOURCE:LIST". PMIX_ERR_BAD_PARAM without a colon or with a bad list, PMIX_ERR_NOT_SUPPORTED for another source.
Result<IndexList> parse_cpuset_text(std::string_view text);

// Kinds of places that a locality names.
enum class Place : uint8_t { package, l3cache, l2cache, l1cache, core, hwthread, numa };
inline constexpr size_t kPlaces = 7;

struct PlaceList {
    Place kind;
    IndexList which;
};

// In the order given, which is from the top of the machine down, with NUMA nodes last because they stand beside that
// tree. Lists without a number are left out; empty when there is no other.
std::string locality_text(const std::vector<PlaceList>& places);

// PMIX_LOCALITY_* of two processes on one node. Also texts without a source, as other libraries make them.
// PMIX_ERR_BAD_PARAM: empty or not readable; PMIX_ERR_NOT_SUPPORTED: of a source that is not hwloc.
Result<pmix_locality_t> relative_locality(std::string_view a, std::string_view b);

}  // namespace pmix::common
