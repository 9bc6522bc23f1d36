/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank that is no MPI program itself, as a script is none: it runs two MPI programs one after the other, rank 0
 * with a pause between them. The others are in the second one's MPI_Init by then, and wait there.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Everybody's numbers meet: what a rank put in the first program does not lead anybody astray in the second. */
static int program(const char* number, int* argc, char*** argv) {
    int rank, size, sum = 0;
    if (MPI_Init(argc, argv) != MPI_SUCCESS) return 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int mine = rank + atoi(number);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    const int right = sum == size * (size - 1) / 2 + size * atoi(number);
    if (!right) fprintf(stderr, "FAIL rank %d: the sum is %d in program %s\n", rank, sum, number);
    MPI_Finalize();
    if (rank == 0 && right && strcmp(number, "2") == 0) printf("OK %d ranks\n", size);
    return !right;
}

static int run(char* self, char* number) {
    int status = 1;
    const pid_t pid = fork();
    if (pid == 0) {
        char* const arguments[] = {self, number, NULL};
        execv("/proc/self/exe", arguments);
        _exit(127);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
        fprintf(stderr, "FAIL program %s: wait status %d\n", number, status);
        return 1;
    }
    return 0;
}

int main(int argc, char** argv) {
    const char* rank = getenv("PMIX_RANK");
    if (argc > 1) return program(argv[1], &argc, &argv);
    if (run(argv[0], "1") != 0) return 1;
    if (rank != NULL && strcmp(rank, "0") == 0) sleep(1);
    return run(argv[0], "2");
}
