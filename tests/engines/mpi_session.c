/* SPDX-License-Identifier: BSD-3-Clause */
/* MPI sessions: two sessions in one process, each with a communicator from the group of a process set. Open MPI makes
 * such a communicator by constructing a PMIx group with a context identifier. Rank 0 prints one "OK session ..." line;
 * any wrong result exits non-zero. No MPI_Init anywhere. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void need(int rc, const char* what) {
    if (rc == MPI_SUCCESS) return;
    fprintf(stderr, "FAIL session: %s answers %d\n", what, rc);
    exit(3);
}

static MPI_Comm communicator(MPI_Session session, const char* tag) {
    MPI_Group group;
    MPI_Comm comm;
    need(MPI_Group_from_session_pset(session, "mpi://WORLD", &group), "MPI_Group_from_session_pset");
    need(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), "MPI_Comm_create_from_group");
    need(MPI_Group_free(&group), "MPI_Group_free");
    return comm;
}

/* Returns the number of processes that took part. */
static int sum(MPI_Comm comm) {
    int rank, size, one = 1, all = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    need(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, comm), "MPI_Allreduce");
    if (all != size) {
        fprintf(stderr, "FAIL session rank %d: %d of %d\n", rank, all, size);
        exit(3);
    }
    return all;
}

int main(void) {
    MPI_Session first, second;
    int psets = 0, rank;
    alarm(120);
    need(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &first), "MPI_Session_init");
    need(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &second), "second MPI_Session_init");
    need(MPI_Session_get_num_psets(first, MPI_INFO_NULL, &psets), "MPI_Session_get_num_psets");
    if (psets < 2 || psets > 1000) {
        fprintf(stderr, "FAIL session: %d process sets\n", psets);
        return 3;
    }
    MPI_Comm a = communicator(first, "a"), b = communicator(second, "b");
    int size = sum(a);
    if (sum(b) != size) return 3;
    MPI_Comm_rank(a, &rank);
    MPI_Comm_free(&a);
    MPI_Comm_free(&b);
    need(MPI_Session_finalize(&first), "MPI_Session_finalize");
    need(MPI_Session_finalize(&second), "second MPI_Session_finalize");
    if (rank == 0) printf("OK session of %d ranks, %d process sets\n", size, psets);
    return 0;
}
