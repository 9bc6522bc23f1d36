/* SPDX-License-Identifier: BSD-3-Clause */
#include "control.h"

#include <stdarg.h>
#include <sys/socket.h>

#include "daemon.h"

int control_fd = -1, me = -1;

void to_parent(int type, int rank, int val, double d, const char* fmt, ...) {
    ctrl_t c = {.type = type, .node = me, .rank = rank, .val = val, .d = d};
    if (fmt) {
        va_list ap;
        va_start(ap, fmt);
        vsnprintf(c.text, sizeof c.text, fmt, ap);
        va_end(ap);
    }
    while (send(control_fd, &c, sizeof c, MSG_NOSIGNAL) < 0 && errno == EINTR)
        ;
}
void stat_since(unsigned long long t0, int count, const char* name) {
    to_parent(C_STAT, 0, 0, (double)(now_ns() - t0) / 1e3 / count, "%s us", name);
}
_Noreturn void fatal(const char* fmt, ...) {
    char t[200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(t, sizeof t, fmt, ap);
    va_end(ap);
    if (control_fd >= 0)
        to_parent(C_FATAL, -1, 0, 0, "%s", t);
    else
        fprintf(stderr, "host: %s\n", t);
    _exit(1);
}
