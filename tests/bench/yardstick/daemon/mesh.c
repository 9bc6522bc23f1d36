/* SPDX-License-Identifier: BSD-3-Clause */
#include "mesh.h"

#include <sys/socket.h>

#include "daemon.h"
#include "dispatch.h"

static int mesh[MAXNODES];
static buf_t out[MAXNODES], in[MAXNODES];

static void flush_out(int n) {
    buf_t* b = &out[n];
    while (b->r < b->n) {
        ssize_t w = send(mesh[n], b->p + b->r, b->n - b->r, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (w < 0) {
            if (errno == EINTR) continue;
            if (errno == EAGAIN) return;
            b->n = b->r = 0; /* the peer is gone; the parent reports it */
            return;
        }
        b->r += (size_t)w;
    }
    b->n = b->r = 0;
}
void msend(int n, uint32_t type, int rank, int status, uint64_t id, const buf_t* sig, const void* d, size_t len) {
    frame_t f = {
        .type = type, .rank = rank, .status = status, .siglen = sig ? (uint32_t)sig->n : 0, .id = id, .len = len};
    b_put(&out[n], &f, sizeof f);
    if (sig) b_put(&out[n], sig->p, sig->n);
    b_put(&out[n], d, len);
    flush_out(n);
}
static void read_mesh(int n) {
    buf_t* b = &in[n];
    for (;;) {
        b_need(b, 65536);
        ssize_t r = recv(mesh[n], b->p + b->n, b->cap - b->n, MSG_DONTWAIT);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0 && errno == EAGAIN) break;
        if (r <= 0) { /* the peer ended; the parent knows why */
            close(mesh[n]);
            mesh[n] = -1;
            return;
        }
        b->n += (size_t)r;
        if (b->n < b->cap) break;
    }
    size_t o = 0;
    while (b->n - o >= sizeof(frame_t)) {
        frame_t f;
        memcpy(&f, b->p + o, sizeof f);
        size_t tot = sizeof f + f.siglen + f.len;
        if (b->n - o < tot) break;
        on_frame(n, &f, b->p + o + sizeof f, b->p + o + sizeof f + f.siglen);
        o += tot;
    }
    if (o) {
        memmove(b->p, b->p + o, b->n - o);
        b->n -= o;
    }
}

void mesh_set(int node, int fd) {
    mesh[node] = fd;
}
struct pollfd mesh_poll(int node) {
    return (struct pollfd){.fd = mesh[node], .events = (short)(POLLIN | (out[node].r < out[node].n ? POLLOUT : 0))};
}
void mesh_ready(int node, short what) {
    if (what & POLLOUT) flush_out(node);
    if (what & (POLLIN | POLLHUP | POLLERR)) read_mesh(node);
}
