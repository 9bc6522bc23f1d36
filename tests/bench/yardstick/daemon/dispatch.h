/* SPDX-License-Identifier: BSD-3-Clause */
/* Which operation an item or a frame is for. The event loop's; an unknown frame ends the daemon. */
#ifndef BENCH_DISPATCH_H
#define BENCH_DISPATCH_H
#include "mesh.h"
#include "queue.h"

void on_item(item_t* it); /* takes it */
void on_frame(int from, const frame_t* f, uint8_t* sig, uint8_t* data);
#endif
