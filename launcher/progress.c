/* SPDX-License-Identifier: BSD-3-Clause */
#include "progress.h"

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job.h"
#include "loop.h"

static const double kQuiet = 2, kInterval = 0.2; /* seconds: nothing is shown before, and how often it is then */

static struct {
    uint32_t up_on[MAX_NODES];
    uint32_t size;
    bool open, shown;
    struct timer* timer;
} progress;

static bool put(const char* text) {
    struct pollfd terminal = {STDERR_FILENO, POLLOUT, 0};
    size_t size = strlen(text);
    if (poll(&terminal, 1, 0) != 1 || !(terminal.revents & POLLOUT)) return false;
    return write(STDERR_FILENO, text, size) == (ssize_t)size;
}

static void show(void* argument) {
    (void)argument;
    char line[96];
    uint32_t up = 0;
    for (int i = 0; i < MAX_NODES; i++) up += progress.up_on[i];
    snprintf(line, sizeof line, "\r\033[Kpmixrun: %u of %u processes are up", up, progress.size);
    if (put(line)) progress.shown = true;
    progress.timer = loop_after(kInterval, show, NULL);
}

void progress_begin(uint32_t processes) {
    progress.open = isatty(STDERR_FILENO);
    if (!progress.open) return;
    progress.size = processes;
    progress.timer = loop_after(kQuiet, show, NULL);
}

void progress_node(int node, uint32_t up) {
    if (node >= 0 && node < MAX_NODES) progress.up_on[node] = up;
}

void progress_hide(void) {
    if (!progress.shown) return;
    put("\r\033[K");
    progress.shown = false;
}

void progress_end(void) {
    if (!progress.open) return;
    progress.open = false;
    loop_cancel(progress.timer);
    progress.timer = NULL;
    progress_hide();
}
