/* SPDX-License-Identifier: BSD-3-Clause */
/* An MPI program whose rank 0 prints how many ranks there are and which libpmix all of them have: "2 ranks with PATH".
 * With an argument the ranks last as many seconds, so that they are seen from outside. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LENGTH 512

/* The file of libpmix that this process has mapped; "several" if there is more than one. */
static void find(char* out) {
    char line[2 * LENGTH];
    FILE* maps = fopen("/proc/self/maps", "r");

    strcpy(out, "none");
    while (NULL != maps && NULL != fgets(line, sizeof line, maps)) {
        char* path = strchr(line, '/');
        if (NULL == path || NULL == strstr(path, "/libpmix.so") || strlen(path) >= LENGTH) continue;
        path[strcspn(path, "\n")] = '\0';
        strcpy(out, 0 == strcmp(out, "none") || 0 == strcmp(out, path) ? path : "several");
    }
    if (NULL != maps) fclose(maps);
}

int main(int argc, char** argv) {
    char mine[LENGTH] = "", first[LENGTH];
    int rank, size, same, all;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    find(mine);
    memcpy(first, mine, LENGTH);
    MPI_Bcast(first, LENGTH, MPI_CHAR, 0, MPI_COMM_WORLD);
    same = 0 == strcmp(first, mine);
    MPI_Allreduce(&same, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (0 == rank) printf("%d ranks with %s\n", size, all ? first : "different ones");
    if (argc > 1) sleep((unsigned)atoi(argv[1]));
    MPI_Finalize();
    return 0;
}
