// SPDX-License-Identifier: BSD-3-Clause
// Included before each C++ file that is compiled for musl: libstdc++ was configured for glibc, whose functions of these
// kinds musl has not.
#pragma once

#include <bits/c++config.h>

#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK
