/* SPDX-License-Identifier: BSD-3-Clause */
/* A library that looks like munge's to a program that opens it: credentials name the user and carry a sum of their
 * letters. With FAKE_MUNGE=silent, as if there were no service. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int munge_encode(char** credential, void* context, const void* payload, int size);
int munge_decode(const char* credential, void* context, void** payload, int* size, uid_t* uid, gid_t* gid);

enum { NO_SERVICE = 6, INVALID = 10 };

static int silent(void) {
    const char* how = getenv("FAKE_MUNGE");
    return how && strcmp(how, "silent") == 0;
}

static unsigned sum(unsigned uid, unsigned gid) {
    return uid * 31u + gid * 17u + 4242u;
}

int munge_encode(char** credential, void* context, const void* payload, int size) {
    (void)context, (void)payload, (void)size;
    *credential = NULL;
    if (silent()) return NO_SERVICE;
    *credential = malloc(100);
    if (!*credential) return NO_SERVICE;
    unsigned uid = (unsigned)geteuid(), gid = (unsigned)getegid();
    snprintf(*credential, 100, "MUNGE:%u:%u:%u:", uid, gid, sum(uid, gid));
    return 0;
}

int munge_decode(const char* credential, void* context, void** payload, int* size, uid_t* uid, gid_t* gid) {
    unsigned u, g, s;
    int end = 0;
    (void)context;
    *payload = NULL;
    *size = 0;
    if (silent()) return NO_SERVICE;
    if (sscanf(credential, "MUNGE:%u:%u:%u:%n", &u, &g, &s, &end) != 3 || end == 0 || credential[end] || s != sum(u, g))
        return INVALID;
    *uid = u;
    *gid = g;
    return 0;
}
