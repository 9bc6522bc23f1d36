/* SPDX-License-Identifier: BSD-3-Clause */
/* The sockets between the daemons: frames of a header, the signature of a fence and data. The event loop's alone.
 * Sending never blocks: what a socket does not take waits in memory. A daemon that is gone is not reported here,
 * because the parent knows why it ended. */
#ifndef BENCH_MESH_H
#define BENCH_MESH_H
#include <poll.h>

#include "buffer.h"

enum { M_FENCE = 1, M_DMREQ, M_DMREP, M_EVENT, M_PUB, M_LOOKUP, M_UNPUB, M_STATUS, M_PDATA };
typedef struct {
    uint32_t type;
    int32_t rank;
    int32_t status;
    uint32_t siglen;
    uint64_t id, len;
} frame_t;

void mesh_set(int node, int fd);       /* -1: this node */
struct pollfd mesh_poll(int node);     /* what the loop has to wait for */
void mesh_ready(int node, short what); /* sends and receives; on_frame (dispatch.h) of each whole frame */
void msend(int node, uint32_t type, int rank, int status, uint64_t id, const buf_t* sig, const void* d, size_t len);
#endif
