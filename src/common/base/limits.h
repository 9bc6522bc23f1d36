// SPDX-License-Identifier: BSD-3-Clause
// Every maximum of the library, each with its reason. A length from a socket, a segment or the environment is held
// against one of these before it is used.
#pragma once

#include <limits.h>
#include <pmix_common.h>

#include <cstddef>
#include <cstdint>

namespace pmix::common {

// Key and namespace lengths are the ABI's arrays less their NUL (PMIX_MAX_KEYLEN and PMIX_MAX_NSLEN).
inline constexpr size_t kMaxKeyLength = PMIX_MAX_KEYLEN;
inline constexpr size_t kMaxNspaceLength = PMIX_MAX_NSLEN;

// Data arrays and infos nest; a decoder recurses once per level. 32 is far beyond any use (the Standard's deepest
// structure, job array > app array > node array > proc array > info, needs 6) and keeps a hostile value off the stack.
inline constexpr unsigned kMaxValueDepth = 32;

// One frame on a socket. Larger than any commit seen; a server refuses more so that a client cannot make it allocate
// without bound. Data that is larger than this travels by segment.
inline constexpr uint32_t kMaxFramePayload = 256u << 20;

// Before a peer has said who it is, it is worth one small frame.
inline constexpr uint32_t kMaxHelloPayload = 16u << 10;

// Bytes that may wait unsent. A client's blocking calls then wait for room; a server's own bound is the next.
inline constexpr size_t kMaxQueuedBytes = 512u << 20;

// Beyond this a server drops a peer as a reader that does not read: data of any size goes to peers in segments, so what
// waits here is events (up to server::kMaxQueuedEvents) and answers. One more frame may always come on top.
inline constexpr size_t kMaxQueuedToPeer = 64u << 20;

// Descriptors that may wait unsent towards one peer; frames behind them go without. Each counts in the process's own
// table, and a peer is given one for a namespace that it has not got.
inline constexpr size_t kMaxQueuedDescriptors = 64;

// PMIx_Get_nb that a process sends before one is answered; more wait in the client. Half of what a server lets a
// process have open (kMaxOpenRequests), so that blocking calls and all else have room beside them.
inline constexpr size_t kMaxOpenGets = 32u << 10;

// Connections that have not finished their hello, per server: beyond it the oldest is dropped.
inline constexpr unsigned kMaxHalfOpen = 512;

// How long a peer may take for its hello, on either side.
inline constexpr int kHelloTimeoutMs = 10'000;

// How long a server holds a process whose rank the host has not registered yet. Shorter than the process's own
// patience, so that it is told why.
inline constexpr int kRegistrationWaitMs = 5'000;

// Participants in one collective, keys in one lookup, infos in one request.
inline constexpr uint32_t kMaxListLength = 16u << 20;

// Infos in one message: each takes 544 bytes once decoded, some sixty times what a hostile sender pays for it.
inline constexpr uint32_t kMaxInfosPerMessage = 64u << 10;

// Memory that the elements of a message's lists and arrays may take once decoded, however they are nested: this much,
// and so much more for each byte of the message. A message of kMaxInfosPerMessage infos fits, as does an array of
// process ids with names of usual length.
inline constexpr size_t kMaxDecoded = 40u << 20;
inline constexpr size_t kMaxDecodedPerByte = 16;

// Committed bytes that one rank may hold on a node. Above it a commit is refused with PMIX_ERR_OUT_OF_RESOURCE.
inline constexpr uint64_t kMaxRankBytes = 1ull << 30;

// Numbers of CPUs and other objects in the text of a cpuset or a locality. Sixty times the largest machine built; a
// bitmap up to here takes 128 KiB.
inline constexpr uint32_t kMaxCpuIndex = 1u << 20;

// Hardware topology as XML. A node of 1,000 cores with its devices takes some 2 MiB.
inline constexpr size_t kMaxTopologyText = 64u << 20;

// Forwarded output. A receiver may owe the server credit for so many bytes before no more is sent to it; that is what
// lies in sockets and in its hands. One frame carries at most kIofFrameBytes, and costs so much beside its bytes, so
// that a stream of single characters is bounded too.
inline constexpr size_t kIofWindow = 256u << 10;
inline constexpr size_t kIofFrameBytes = 64u << 10;
inline constexpr size_t kIofFrameCost = 256;
// What the server takes over for one registration and channel, and for one process and channel while nobody has asked,
// where PMIX_IOF_CACHE_SIZE says nothing else.
inline constexpr uint32_t kIofQueueBytes = 256u << 10;
inline constexpr uint32_t kIofCacheBytes = 64u << 10;
// For all processes that nobody reads together.
inline constexpr size_t kIofCacheTotal = 16u << 20;
inline constexpr size_t kIofCacheStreams = 4096;
// From a host that does not wait for its answers: beyond it a delivery is refused.
inline constexpr size_t kIofMaxHeld = 64u << 20;

// Events kept for handlers that register later (the seed's number), when the host gives no other.
inline constexpr size_t kEventCacheSize = 512;

// What they take in memory, all together, and those that outlive them likewise; one that takes more than the second
// number is not kept.
inline constexpr size_t kEventCacheBytes = 16u << 20;
inline constexpr size_t kMaxCachedEvent = 1u << 20;

// Keys in one query request, and encoded bytes of answers after which nothing more is added.
inline constexpr size_t kMaxQueryKeys = 4096;
inline constexpr size_t kMaxQueryAnswer = 16u << 20;

// Paths that one process may have removed at the end of processes, times the processes whose end counts.
inline constexpr size_t kMaxCleanupsPerProcess = 64u << 10;

// Bytes of such a path, with its NUL (a longer one no call of the kernel takes), and of the name under which a request
// for them can be taken back.
inline constexpr size_t kMaxCleanupPath = PATH_MAX;
inline constexpr size_t kMaxCleanupId = 1024;

// Events that outlive that because processes they are for have not connected yet.
inline constexpr size_t kMaxPendingEvents = 4096;

}  // namespace pmix::common
