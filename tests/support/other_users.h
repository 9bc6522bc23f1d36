// SPDX-License-Identifier: BSD-3-Clause
/* other_users.h: whether a test can do something as another user. For C and C++.
 *
 * Root in a container that has no other users (a user namespace in which only its own id is mapped), or without the
 * right to become one, is as good as anybody else. It is tried in a child, which is gone afterwards. */
#ifndef WIREUP_TESTS_SUPPORT_OTHER_USERS_H
#define WIREUP_TESTS_SUPPORT_OTHER_USERS_H

#include <stdbool.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static inline bool can_be_other_users(void) {
    if (geteuid() != 0) return false;
    const pid_t pid = fork();
    if (pid == 0) {
        const bool one = setegid(1001) == 0 && seteuid(1001) == 0 && seteuid(0) == 0 && setegid(0) == 0;
        _exit(one && setgid(65534) == 0 && setuid(65534) == 0 ? 0 : 1);
    }
    int status = 1;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

#endif
