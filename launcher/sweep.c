/* SPDX-License-Identifier: BSD-3-Clause */
#include "sweep.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "waits.h"

/* What a shell had started before it made itself pmixrun by exec. */
static pid_t* spared;
static size_t spared_count;

static bool is_child(pid_t pid, pid_t parent);

/* Runs for each child. False: there is no /proc to know them by. */
static bool each_child(void (*act)(pid_t pid, void* argument), void* argument) {
    DIR* all = opendir("/proc");
    pid_t self = getpid();
    if (!all) return false;
    bool any = false;
    for (struct dirent* entry; (entry = readdir(all));) {
        pid_t pid = (pid_t)atoi(entry->d_name);
        any = any || pid == self;
        if (pid > 0 && is_child(pid, self)) act(pid, argument);
    }
    closedir(all);
    return any;
}

static void spare(pid_t pid, void* argument) {
    (void)argument;
    pid_t* more = realloc(spared, (spared_count + 1) * sizeof *spared);
    if (!more) return;
    spared = more;
    spared[spared_count++] = pid;
}

void sweep_spare_children(void) {
    each_child(spare, NULL);
}

void sweep_become_subreaper(void) {
    prctl(PR_SET_CHILD_SUBREAPER, 1);
}

static bool is_child(pid_t pid, pid_t parent) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE* file = fopen(path, "re");
    if (!file) return false;
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = 0;
    /* pid (name) state ppid: a name may hold anything, so look from its last parenthesis on */
    char* after = text + size;
    while (after > text && *after != ')') after--;
    int ppid = 0;
    return sscanf(after, ") %*c %d", &ppid) == 1 && ppid == parent;
}

static void kill_child(pid_t pid, void* count) {
    for (size_t i = 0; i < spared_count; i++)
        if (spared[i] == pid) return;
    kill(pid, SIGKILL);
    ++*(size_t*)count;
}

/* For the end of a child, where SIGCHLD is blocked; for a moment otherwise. */
static void wait_for_a_child(double seconds) {
    const double moment = seconds < 0.1 ? seconds : 0.1;
    const struct timespec time = {0, (long)(moment * 1e9)};
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &time);
}

bool sweep_processes(double seconds) {
    const double until = waits_until(seconds);
    for (;;) {
        size_t found = 0;
        bool known = each_child(kill_child, &found);
        if (known && found == 0) return true;
        const pid_t first = waitpid(-1, NULL, WNOHANG);
        while (first > 0 && waitpid(-1, NULL, WNOHANG) > 0) continue;
        if (first > 0) continue;
        if (!known || first < 0) return true;
        if (waits_left(until) <= 0) return false;
        wait_for_a_child(waits_left(until));
    }
}

static int remove_entry(const char* path, const struct stat* what, int type, struct FTW* where) {
    (void)what;
    (void)type;
    (void)where;
    remove(path);
    return 0;
}

/* A walk ends where another process has just removed what it was about to enter, and a node that starts late may still
 * make its own directory: so more than one walk, until nothing is there. */
void sweep_directory(const char* path) {
    const struct timespec pause = {0, 10000000};
    for (int i = 0; i < 200; i++) {
        nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
        if (access(path, F_OK) != 0) return;
        nanosleep(&pause, NULL);
    }
}
