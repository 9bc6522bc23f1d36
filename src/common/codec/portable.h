// SPDX-License-Identifier: BSD-3-Clause
// The portable encoding of values: what PMIx_Data_pack writes and PMIx_Data_unpack reads, byte for byte what OpenPMIx's
// v4, v41, v51 and v61 forms are, so that processes with different libraries exchange buffers.
//
//   a call        [9, if described] count; [data type, if described]; the values
//   number        8 bits: the byte itself. Else 7 bits a byte, the lowest first, the top bit set on all but the last; a
//                 ninth byte is whole. Signed ones are folded first: 0, -1, 1, -2 are 0, 1, 2, 3. Counts, unless said
//                 otherwise, and string lengths are signed; sizes, ranks, flags and data types unsigned
//   unsigned int  as a signed number; time_t as an unsigned one (theirs does)
//   bool          one byte
//   real          text that strtod() reads, as a string
//   pid           the data type of the number that follows (PMIX_UINT32), once for all values of a call or array
//   string        length with its NUL, then the bytes; 0 is NULL. Keys and namespaces likewise
//   argv          count, then strings; NULL and no string are the same
//   byte object   size, then bytes; NULL and empty are the same. A data buffer likewise: its whole content
//   map (regex)   its own bytes, which say where they end: text that starts with "pmix" and its NUL, or a "blob:". Any
//                 other text as count 1 and a string ("raw:" is read without them too, as OpenPMIx 5 writes it)
//   pointer       one byte 1 for all of them: it reads back as NULL
//   value         data type, then what it holds. Info, pdata: their fields, and the value so
//   data array    data type, size, then the elements; nothing there is type 0, size 0
//   other structs their fields in the ABI's order, the size of a list before its elements. Not there: a process's
//                 exit code and a process statistic's percent_cpu. A process statistic's peak_vsize is not written by
//                 OpenPMIx though it insists on reading it: it is written here, and read if it is there
//   cpuset        the list of its bits as text. Topology: XML as text, then how hwloc supports it, a byte for each
//   thing:
//                 as many as the writer's hwloc and release have, which is written nowhere (kSupportBytes)
//
// In the usual form nothing says what a value is: reading with another type than was written with gives nonsense or an
// error. A described buffer (debug builds of theirs write them) is told by its first byte, since a count is never odd:
// both are read, and what is appended follows what is there.
//
// Reals are written with six decimals where that is the exact number, as theirs are. Otherwise theirs cut them, and
// here they are written in hexadecimal, which strtod() reads too.
//
// Owns nothing; any thread. pack_values may throw std::bad_alloc; the buffer is then as it was, and on every error too.
// Buffers are hostile: each size is held against the bytes left, nesting against kMaxValueDepth, strings must end in
// their NUL; on failure nothing leaks, outputs are zero and unpack_ptr has not moved.
#pragma once

#include <pmix_common.h>

#include "common/base/bytes.h"
#include "common/base/opaque.h"
#include "common/base/portable_bytes.h"
#include "common/values/describe.h"

namespace pmix::common {

// The bytes start as a described call does.
bool is_described(Bytes bytes) noexcept;

// What hwloc 2 tells of discovery, cpu binding and memory binding, one byte each, 0 or 1: 32 up to 2.10, 33 since 2.11.
// OpenPMIx 4.0 to 6.1 write as many as their hwloc has, 7.0 writes none. Written here are as many as this machine's
// hwloc has, unless the writer was told otherwise. All three are read: first what the reader was told or what this
// machine has, then the others, where the call cannot be read so, or no call can begin behind it (a call begins with
// the number of its values, and none without values is written behind a topology). What was found holds for the
// reader's next calls.
inline constexpr size_t kSupportBytes = 32;
inline constexpr size_t kSupportBytesSince211 = 33;
// Those of this machine's hwloc, NULL where nothing is known of it.
size_t support_bytes(const OpaqueOps* ops) noexcept;

// n elements behind `src`, one after another: the struct of the type, char* for strings and maps.
// PMIX_ERR_BAD_PARAM: a buffer whose pointers disagree, a value that points to nothing, nesting too deep.
// PMIX_ERR_UNKNOWN_DATA_TYPE. PMIX_ERR_NOT_SUPPORTED: an hwloc object while hwloc is not open.
pmix_status_t pack_values(pmix_data_buffer_t* buffer, const void* src, size_t n, pmix_data_type_t type);

// *n: capacity of `dest`, then the number of values stored. PMIX_ERR_UNPACK_INADEQUATE_SPACE: as many as fit were
// stored, and the next call starts with the first of them again. PMIX_ERR_UNPACK_READ_PAST_END_OF_BUFFER: no bytes
// left, or the data is truncated. PMIX_ERR_PACK_MISMATCH: described as another type. PMIX_ERR_UNPACK_FAILURE: not such
// values.
pmix_status_t unpack_values(pmix_data_buffer_t* buffer, void* dest, int32_t* n, pmix_data_type_t type) noexcept;

// How the calls of a connection are written. fixed: numbers have the width of their type, the highest byte first, as
// OpenPMIx 3 writes them (a size, an int and an unsigned int come with their data type, once for a call or array).
// described: each call names its types.
struct CallForm {
    bool fixed = false;
    bool described = false;
};

// The head of a call and its values, at the end of the writer, which the caller commits; what a failed one has written
// is the caller's to drop. Statuses and exceptions: as pack_values.
pmix_status_t begin_call(BufferWriter& w, size_t n, pmix_data_type_t type, CallForm form);
pmix_status_t write_elements(BufferWriter& w, const void* src, size_t n, pmix_data_type_t type, CallForm form);

// The head of a call: the number of its values, 0 and r not ok() where there is no such call. `least` bytes at least
// are taken by each value of a type that has no row.
size_t open_call(PortableReader& r, pmix_data_type_t type, CallForm form) noexcept;
size_t open_call(PortableReader& r, pmix_data_type_t type, size_t least, CallForm form) noexcept;
// A byte object's content, as a view.
Bytes view_bytes(PortableReader& r, CallForm form) noexcept;
// n values behind one another into uninitialised memory, all or none; on failure dest is zero.
pmix_status_t read_elements(PortableReader& r, void* dest, size_t n, pmix_data_type_t type, CallForm form) noexcept;

// Appends what src has unread. PMIX_ERR_BAD_PARAM: one of them is described and the other is not.
pmix_status_t append_unread(pmix_data_buffer_t* dest, const pmix_data_buffer_t& src);

// Bytes of one element in the public functions: a map is a char* there, and a byte object everywhere else.
inline size_t element_size(const TypeRow& row, pmix_data_type_t type) noexcept {
    return type == PMIX_REGEX ? sizeof(char*) : row.size;
}

}  // namespace pmix::common
