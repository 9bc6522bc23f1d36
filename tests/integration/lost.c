/* lost: the daemon of a node, and with it the PMIx server, dies by SIGKILL while clients wait (run with --continuous
 * and
 * --linger, so that its own clients live long enough to get their answer).
 * usage: lost fence|get|lookup
 *
 * The last rank kills its daemon, which is its parent. Ranks on that node must be told of the lost server, ranks on
 * other nodes of the failed operation. The lost node's output is gone with it: its ranks speak by exit status, which
 * pmixrun prints when it is not zero. */
#include <signal.h>

#include "check.h"

static pmix_status_t wait_in(const char* what) {
    uint32_t number = 0;
    pmix_proc_t last = rank_of_job(job_size - 1);
    if (strcmp(what, "fence") == 0) return PMIx_Fence(NULL, 0, NULL, 0);
    if (strcmp(what, "get") == 0) return get_u32(&last, "never", 0, &number);
    pmix_info_t wait;
    int all = 0;
    PMIX_INFO_LOAD(&wait, PMIX_WAIT, &all, PMIX_INT);
    pmix_status_t status = look_up_string("never", &wait, 1, NULL, 0, NULL);
    PMIX_INFO_DESTRUCT(&wait);
    return status;
}

/* rows: G10 F7 K32 */
int main(int argc, char** argv) {
    CHECK(argc == 2);
    start();
    bool lost = same_node(me.rank, job_size - 1);
    fence(false);
    if (me.rank == job_size - 1) {
        struct timespec moment = {0, 300000000};
        nanosleep(&moment,
                  NULL); /* the others are in their call: or come to it after the loss, which must end as well */
        kill(getppid(), SIGKILL);
        alarm(20);
        pmix_status_t status = PMIx_Fence(NULL, 0, NULL, 0); /* on the lost connection */
        if (status == PMIX_SUCCESS) _exit(3);
        _exit(0);
    }
    alarm(20); /* the answer comes by itself, or this ends the test */
    pmix_status_t status = wait_in(argv[1]);
    if (lost) _exit(status == PMIX_ERR_LOST_CONNECTION || status == PMIX_ERR_UNREACH ? 0 : 4);
    /* A lookup at the store of node 1 is none of the lost node's business: it must still be waited for, so it is not
     * run here. */
    CHECK(status != PMIX_SUCCESS);
    return finish();
}
