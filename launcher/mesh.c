/* SPDX-License-Identifier: BSD-3-Clause */
/* A frame is a fixed header and a body; both ends are the same program, so nothing is negotiated, but an impossible
 * header still ends the connection instead of this process. */
#include "mesh.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loop.h"

struct header {
    uint32_t kind;
    int32_t status; /* of a reply */
    uint64_t id;    /* of a request, and of its reply; else 0 */
    uint64_t size;  /* of the body */
};

/* No process may put more than a GiB, but all processes of a node together, and what they collect, may have a frame.
 * The memory grows with what is received, not with the size in a header. */
static const uint64_t kMaxBody = UINT64_C(1) << 40;

struct peer {
    int fd; /* -1: gone, or oneself */
    struct buffer out, in;
};

struct request {
    struct request* next;
    uint64_t id;
    int peer;
    struct timer* timer;
    reply_handler done;
    void* argument;
};

struct local_frame { /* a frame to oneself, on its way through the loop */
    struct header header;
    struct buffer body;
};

static struct mesh_setup mesh;
static struct peer* peers;
static struct request* requests;
static uint64_t next_id = 1;

int mesh_self(void) {
    return mesh.self;
}
int mesh_nodes(void) {
    return mesh.nodes;
}
int mesh_head(void) {
    return mesh.nodes;
}
bool mesh_alive(int peer) {
    return peer == mesh.self || peers[peer].fd >= 0;
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static struct request* take_request(uint64_t id) {
    for (struct request** at = &requests; *at; at = &(*at)->next) {
        if ((*at)->id != id) continue;
        struct request* request = *at;
        *at = request->next;
        return request;
    }
    return NULL;
}

static void end_request(struct request* request, pmix_status_t status, struct buffer* body) {
    struct buffer empty = {0};
    loop_cancel(request->timer);
    request->done(status, body ? body : &empty, request->argument);
    free(request);
}

static void request_expired(void* argument) {
    struct request* request = argument;
    request->timer = NULL;
    take_request(request->id);
    end_request(request, PMIX_ERR_TIMEOUT, NULL);
}

static void end_requests_to(int peer) {
    for (;;) {
        struct request* request = requests;
        while (request && request->peer != peer) request = request->next;
        if (!request) return;
        take_request(request->id);
        end_request(request, PMIX_ERR_LOST_CONNECTION, NULL);
    }
}

/* --- frames in ---------------------------------------------------------------------------------------------------- */

static void dispatch(int from, const struct header* header, struct buffer* body) {
    if (header->kind == FRAME_REPLY) {
        struct request* request = take_request(header->id); /* none: it has timed out */
        if (request) end_request(request, header->status, body);
    } else if (header->kind < FRAME_KINDS && mesh.handlers[header->kind]) {
        mesh.handlers[header->kind](from, header->id, body);
    }
}

static void lose(int number) {
    struct peer* peer = &peers[number];
    loop_unwatch(peer->fd);
    close(peer->fd);
    peer->fd = -1;
    wire_free(&peer->out);
    wire_free(&peer->in);
    end_requests_to(number);
    mesh.lost(number);
}

static bool take_frame(int from, struct buffer* in, size_t* used) {
    struct header header;
    if (in->size - *used < sizeof header) return false;
    memcpy(&header, in->data + *used, sizeof header);
    if (in->size - *used - sizeof header < header.size) return false;
    struct buffer body = wire_view(in->data + *used + sizeof header, (size_t)header.size);
    *used += sizeof header + (size_t)header.size;
    dispatch(from, &header, &body);
    return true;
}

static bool sane(const struct buffer* in) {
    struct header header;
    if (in->size < sizeof header) return true;
    memcpy(&header, in->data, sizeof header);
    return header.kind < FRAME_KINDS && header.size <= kMaxBody;
}

static void receive(int number) {
    struct peer* peer = &peers[number];
    uint8_t chunk[65536];
    ssize_t got = recv(peer->fd, chunk, sizeof chunk, MSG_DONTWAIT);
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (got <= 0) {
        lose(number);
        return;
    }
    wire_append(&peer->in, chunk, (size_t)got);
    /* A handler may lose this peer: then the buffer is empty, so it is put aside while it is read. */
    struct buffer in = peer->in;
    memset(&peer->in, 0, sizeof peer->in);
    size_t used = 0;
    while (take_frame(number, &in, &used)) continue;
    wire_consume(&in, used);
    if (peer->fd < 0) {
        wire_free(&in);
        return;
    }
    peer->in = in;
    if (!sane(&in)) lose(number);
}

/* --- frames out --------------------------------------------------------------------------------------------------- */

/* False when the peer is gone; the loop will see that on the read side. */
static bool push(struct peer* peer) {
    struct buffer* out = &peer->out;
    while (out->position < out->size) {
        ssize_t sent =
            send(peer->fd, out->data + out->position, out->size - out->position, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0 && errno == EAGAIN) {
            loop_watch_events(peer->fd, POLLIN | POLLOUT);
            return true;
        }
        if (sent < 0) {
            out->position = out->size = 0;
            return false;
        }
        out->position += (size_t)sent;
    }
    out->position = out->size = 0;
    loop_watch_events(peer->fd, POLLIN);
    return true;
}

static void ready(int fd, short events, void* argument) {
    (void)fd;
    int number = (int)(intptr_t)argument;
    if (events & POLLOUT) push(&peers[number]);
    if (events & (POLLIN | POLLHUP | POLLERR)) receive(number);
}

static void run_local_frame(void* argument) {
    struct local_frame* frame = argument;
    dispatch(mesh.self, &frame->header, &frame->body);
    wire_free(&frame->body);
    free(frame);
}

static void send_frame(int number, const struct header* header, const struct buffer* body) {
    if (number == mesh.self) {
        struct local_frame* frame = xcalloc(1, sizeof *frame);
        frame->header = *header;
        if (body) wire_append(&frame->body, body->data, body->size);
        loop_post(run_local_frame, frame);
        return;
    }
    struct peer* peer = &peers[number];
    if (peer->fd < 0) return;
    bool idle = peer->out.size == 0;
    wire_append(&peer->out, header, sizeof *header);
    if (body) wire_append(&peer->out, body->data, body->size);
    if (idle) push(peer);
}

void mesh_send(int peer, enum frame kind, const struct buffer* body) {
    struct header header = {.kind = kind, .size = body ? body->size : 0};
    send_frame(peer, &header, body);
}

void mesh_reply(int peer, uint64_t id, pmix_status_t status, const struct buffer* body) {
    struct header header = {.kind = FRAME_REPLY, .status = status, .id = id, .size = body ? body->size : 0};
    send_frame(peer, &header, body);
}

static void request_refused(void* argument) {
    struct request* request = argument;
    if (take_request(request->id)) end_request(request, PMIX_ERR_LOST_CONNECTION, NULL);
}

void mesh_request(int peer, enum frame kind, const struct buffer* body, double seconds, reply_handler done,
                  void* argument) {
    struct request* request = xcalloc(1, sizeof *request);
    request->id = next_id++;
    request->peer = peer;
    request->done = done;
    request->argument = argument;
    request->next = requests;
    requests = request;
    if (!mesh_alive(peer)) {
        loop_post(request_refused, request);
        return;
    }
    if (seconds > 0) request->timer = loop_after(seconds, request_expired, request);
    struct header header = {.kind = kind, .id = request->id, .size = body ? body->size : 0};
    send_frame(peer, &header, body);
}

void mesh_flush(void) {
    for (int i = 0; i <= mesh.nodes; i++) {
        while (peers[i].fd >= 0 && peers[i].out.position < peers[i].out.size) {
            struct pollfd wait = {peers[i].fd, POLLOUT, 0};
            if (poll(&wait, 1, 1000) <= 0 || !push(&peers[i])) break;
        }
    }
}

void mesh_start(const struct mesh_setup* setup) {
    mesh = *setup;
    peers = xcalloc((size_t)mesh.nodes + 1, sizeof *peers);
    for (int i = 0; i <= mesh.nodes; i++) {
        peers[i].fd = i == mesh.self ? -1 : mesh.sockets[i];
        if (peers[i].fd >= 0) loop_watch(peers[i].fd, POLLIN, ready, (void*)(intptr_t)i);
    }
}
