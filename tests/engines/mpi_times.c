/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI_Init to MPI_Finalize: every rank prints when it reached each, in seconds of the machine's monotonic clock, which
 * is one for all virtual nodes. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(void) {
    double before = now(), ready, leaving;
    int rank, size;
    MPI_Init(NULL, NULL);
    ready = now();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    leaving = now();
    MPI_Finalize();
    printf("TIMES %d %d %.6f %.6f %.6f %.6f\n", rank, size, before, ready, leaving, now());
    return 0;
}
