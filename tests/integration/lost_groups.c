/* SPDX-License-Identifier: BSD-3-Clause */
/* lost_groups: a node is lost, with its server, on which others wait for a group (three ranks on three nodes, with
 * --continuous). Every wait of the others ends.
 * usage: lost_groups invite|join|uninvited|coordinator|bootstrap
 *
 * The rank of the lost node kills its daemon, and ends with it unless --linger lets it run on. */
#include "group_check.h"

static void group_done(pmix_status_t status, pmix_info_t* info, size_t ninfo, void* cbdata,
                       pmix_release_cbfunc_t release, void* release_cbdata) {
    (void)info, (void)ninfo;
    if (release) release(release_cbdata);
    box_signal(cbdata, status);
}

static _Noreturn void lose_node(void) {
    CHECK(kill(getppid(), SIGKILL) == 0);
    for (;;) pause();
}

static pmix_status_t join_inviter(void) {
    CHECK(box_wait(&invited, 1, 60));
    return PMIx_Group_join(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL);
}

/* An invited process is lost, and has not answered. rows: R13 R14 */
static void invite(void) {
    pmix_proc_t all = all_of_job();
    if (me.rank == 0) CHECK_STATUS(PMIx_Group_invite(name, &all, 1, NULL, 0, NULL, NULL), PMIX_GROUP_CONSTRUCT_ABORT);
    if (me.rank == 1) CHECK_STATUS(join_inviter(), PMIX_GROUP_CONSTRUCT_ABORT);
    if (me.rank < 2) return;
    CHECK(box_wait(&invited, 1, 60));
    lose_node();
}

/* The inviter is lost when one has accepted; the other answers later. rows: R13 R15 */
static void join(void) {
    pmix_proc_t all = all_of_job();
    if (me.rank == 0) {
        listen_to(PMIX_GROUP_INVITE_ACCEPTED, on_event);
        CHECK_OK(PMIx_Group_invite_nb(name, &all, 1, NULL, 0, never, NULL));
        CHECK(box_wait(&seen, 1, 60));
        lose_node();
    }
    if (me.rank == 1) {
        listen_to(PMIX_GROUP_LEADER_FAILED, on_event);
        CHECK(box_wait(&seen, 1, 60));
        CHECK(box_count(&seen) == 1);
    }
    CHECK_STATUS(join_inviter(), PMIX_GROUP_LEADER_FAILED);
}

/* The one that was to invite is lost before it has. rows: R13 R15 */
static void uninvited(void) {
    struct signal_box done = SIGNAL_BOX;
    inviter = rank_of_job(0);
    if (me.rank == 1) CHECK_OK(PMIx_Group_join_nb(name, &inviter, PMIX_GROUP_ACCEPT, NULL, 0, group_done, &done));
    fence(false);
    if (me.rank == 0) lose_node();
    if (me.rank == 2) return;
    CHECK(box_wait(&done, 1, 60));
    CHECK_STATUS(done.status, PMIX_GROUP_LEADER_FAILED);
    /* Nor is one that ended before the join waited for. */
    CHECK_STATUS(PMIx_Group_join("another", &inviter, PMIX_GROUP_ACCEPT, NULL, 0, NULL, NULL),
                 PMIX_GROUP_LEADER_FAILED);
}

/* The node that coordinates the group is no member's, and is lost between the two calls. */
static void without_first_node(const pmix_proc_t* members, size_t count, const pmix_info_t* infos, size_t ninfos) {
    struct signal_box done = SIGNAL_BOX;
    listen_to(PMIX_ERR_PROC_ABORTED_BY_SIG, on_event);
    if (me.rank == 1) CHECK_OK(PMIx_Group_construct_nb(name, members, count, infos, ninfos, group_done, &done));
    fence(false);
    if (me.rank == 0) lose_node();
    CHECK(box_wait(&seen, 1, 60));
    if (me.rank == 2) CHECK_OK(PMIx_Group_construct_nb(name, members, count, infos, ninfos, group_done, &done));
    CHECK(box_wait(&done, 1, 60));
    CHECK_OK(done.status);
    CHECK_OK(PMIx_Group_destruct(name, NULL, 0));
}

/* rows: R1 R8 */
static void coordinator(void) {
    const pmix_proc_t members[2] = {rank_of_job(1), rank_of_job(2)};
    without_first_node(members, 2, NULL, 0);
}

/* rows: R1 R8 */
static void bootstrap(void) {
    size_t leaders = 2;
    pmix_info_t info;
    PMIX_INFO_LOAD(&info, PMIX_GROUP_BOOTSTRAP, &leaders, PMIX_SIZE);
    without_first_node(&me, 1, &info, 1);
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } cases[] = {{"invite", invite},
                 {"join", join},
                 {"uninvited", uninvited},
                 {"coordinator", coordinator},
                 {"bootstrap", bootstrap}};
    CHECK(argc == 2);
    start();
    CHECK(job_size == 3);
    alarm(100);
    listen_to(PMIX_GROUP_INVITED, on_invited);
    fence(false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[1]) == 0) {
            cases[i].run();
            return finish();
        }
    }
    return 2;
}
