/* SPDX-License-Identifier: BSD-3-Clause */
/* munge: credentials of a real munged, which munge_drive.py runs beside this and stops and starts when told.
 * usage: munge proofs|absent DIRECTORY
 *
 * The directory has credentials that others made, each in a file named after what is to be found out about it, and two
 * pipes: a letter written to `control` is something to be done, which is done when `answer` says so. */
#include <fcntl.h>

#include "check.h"

static const char* directory;

static uint32_t number_of(const pmix_info_t* info, size_t ninfo, const char* key) {
    for (size_t i = 0; i < ninfo; i++) {
        if (!PMIX_CHECK_KEY(&info[i], key)) continue;
        CHECK(info[i].value.type == PMIX_UINT32);
        return info[i].value.data.uint32;
    }
    return UINT32_MAX;
}

static bool says_munge(const pmix_info_t* info, size_t ninfo) {
    for (size_t i = 0; i < ninfo; i++) {
        if (PMIX_CHECK_KEY(&info[i], PMIX_CRED_TYPE)) return strcmp(info[i].value.data.string, "munge") == 0;
    }
    return false;
}

static const char* path_of(const char* name) {
    static char path[1024];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

static void tell_driver(char letter) {
    int control = open(path_of("control"), O_WRONLY | O_CLOEXEC);
    CHECK(control >= 0 && write(control, &letter, 1) == 1);
    close(control);
    int answer = open(path_of("answer"), O_RDONLY | O_CLOEXEC);
    char back = 0;
    CHECK(answer >= 0 && read(answer, &back, 1) == 1 && back == letter);
    close(answer);
}

/* --- making ------------------------------------------------------------------------------------------------------- */

static pmix_status_t make(const char* types, pmix_byte_object_t* proof) {
    pmix_info_t type;
    PMIX_INFO_LOAD(&type, PMIX_CRED_TYPE, types, PMIX_STRING);
    pmix_status_t status = PMIx_Get_credential(&type, 1, proof);
    PMIX_INFO_DESTRUCT(&type);
    return status;
}

static bool is_munge(const pmix_byte_object_t* proof) {
    return proof->size > 6 && memcmp(proof->bytes, "MUNGE:", 6) == 0;
}

static void put_proof(const char* key) {
    pmix_value_t value = {.type = PMIX_BYTE_OBJECT};
    CHECK_OK(make("munge", &value.data.bo));
    CHECK(is_munge(&value.data.bo));
    CHECK_OK(PMIx_Put(PMIX_GLOBAL, key, &value));
    PMIX_VALUE_DESTRUCT(&value);
}

static struct signal_box made = SIGNAL_BOX;

/* For munge's own program to judge, when this has ended. */
static void keep_in_file(pmix_status_t status, pmix_byte_object_t* proof, pmix_info_t info[], size_t ninfo,
                         void* cbdata) {
    (void)cbdata;
    if (status == PMIX_SUCCESS) {
        CHECK(proof && is_munge(proof) && says_munge(info, ninfo));
        FILE* file = fopen(path_of("made"), "w");
        CHECK(file && fwrite(proof->bytes, 1, proof->size, file) == proof->size);
        fclose(file);
    }
    box_signal(&made, status);
}

/* --- judging ------------------------------------------------------------------------------------------------------ */

struct verdict {
    struct signal_box box;
    uint32_t uid, gid;
};

static void judged(pmix_status_t status, pmix_info_t info[], size_t ninfo, void* cbdata) {
    struct verdict* verdict = cbdata;
    if (status == PMIX_SUCCESS) {
        CHECK(says_munge(info, ninfo));
        verdict->uid = number_of(info, ninfo, PMIX_USERID);
        verdict->gid = number_of(info, ninfo, PMIX_GRPID);
    }
    box_signal(&verdict->box, status);
}

/* One judgement per credential is all that munge allows. */
static pmix_status_t judge(const pmix_byte_object_t* proof, bool nonblocking, uint32_t* uid, uint32_t* gid) {
    struct verdict verdict = {SIGNAL_BOX, UINT32_MAX, UINT32_MAX};
    pmix_info_t* info = (pmix_info_t*)(uintptr_t)1;
    size_t ninfo = 77;
    if (nonblocking) {
        pmix_status_t status = PMIx_Validate_credential_nb(proof, NULL, 0, judged, &verdict);
        if (status != PMIX_SUCCESS) return status;
        CHECK(box_wait(&verdict.box, 1, 60));
        *uid = verdict.uid;
        *gid = verdict.gid;
        return verdict.box.status;
    }
    pmix_status_t status = PMIx_Validate_credential(proof, NULL, 0, &info, &ninfo);
    if (status != PMIX_SUCCESS) {
        CHECK(info == NULL && ninfo == 0);
        return status;
    }
    CHECK(says_munge(info, ninfo));
    *uid = number_of(info, ninfo, PMIX_USERID);
    *gid = number_of(info, ninfo, PMIX_GRPID);
    PMIX_INFO_FREE(info, ninfo);
    return status;
}

static void is_good(const pmix_byte_object_t* proof, bool nonblocking, uint32_t wanted_uid, uint32_t wanted_gid) {
    uint32_t uid = UINT32_MAX, gid = UINT32_MAX;
    CHECK_OK(judge(proof, nonblocking, &uid, &gid));
    CHECK(uid == wanted_uid && gid == wanted_gid);
}

static void is_bad(const pmix_byte_object_t* proof, bool nonblocking) {
    uint32_t uid, gid;
    CHECK_STATUS(judge(proof, nonblocking, &uid, &gid), PMIX_ERR_INVALID_CRED);
}

static void one_letter_wrong(pmix_byte_object_t* proof, size_t at) {
    char right = proof->bytes[at];
    proof->bytes[at] = right == 'A' ? 'B' : 'A';
    is_bad(proof, false);
    proof->bytes[at] = right;
}

static pmix_value_t* proof_of(pmix_rank_t rank, const char* key) {
    pmix_proc_t other = rank_of_job(rank);
    pmix_value_t* value = NULL;
    CHECK_OK(PMIx_Get(&other, key, NULL, 0, &value));
    CHECK(value->type == PMIX_BYTE_OBJECT);
    return value;
}

/* false: there is no such file */
static bool from_file(const char* name, char* text, size_t size, pmix_byte_object_t* proof) {
    FILE* file = fopen(path_of(name), "r");
    if (!file) return false;
    proof->bytes = text;
    proof->size = fread(text, 1, size, file);
    fclose(file);
    CHECK(is_munge(proof));
    return true;
}

static void judge_those_of_others(void) {
    static const char* bad[] = {"expired", "for-another", "other-key"};
    char text[4096];
    pmix_byte_object_t proof;
    CHECK(from_file("good", text, sizeof text, &proof));
    is_good(&proof, false, geteuid(), getegid());
    is_bad(&proof, true); /* replayed */
    for (int i = 0; i < 3; i++) {
        CHECK(from_file(bad[i], text, sizeof text, &proof));
        is_bad(&proof, i % 2);
    }
    if (!from_file("other-user", text, sizeof text, &proof)) return; /* not root: there is no other user */
    is_good(&proof, true, 64101, 64102);
}

/* --- munged killed, and started again ----------------------------------------------------------------------------- */

static void without_munged(void) {
    pmix_byte_object_t proof = {.bytes = (char*)(uintptr_t)1, .size = 77};
    CHECK_STATUS(make("munge", &proof), PMIX_ERR_NOT_SUPPORTED);
    CHECK(proof.bytes == NULL && proof.size == 0);
    /* The next of the list, in both orders. */
    CHECK_OK(make("munge,native", &proof));
    CHECK(!is_munge(&proof));
    pmix_info_t* info = NULL;
    size_t ninfo = 0;
    CHECK_OK(PMIx_Validate_credential(&proof, NULL, 0, &info, &ninfo));
    CHECK(number_of(info, ninfo, PMIX_USERID) == geteuid() && !says_munge(info, ninfo));
    PMIX_INFO_FREE(info, ninfo);
    free(proof.bytes);
    CHECK_STATUS(make("kerberos,munge", &proof), PMIX_ERR_NOT_SUPPORTED);
}

static void munged_goes_and_comes(void) {
    pmix_byte_object_t before, again;
    CHECK_OK(make("kerberos,munge", &before)); /* the server has no kerberos either */
    CHECK(is_munge(&before));
    tell_driver('k');
    without_munged();
    is_bad(&before, false); /* nobody can tell whose it is */
    is_bad(&before, true);
    tell_driver('s');
    is_good(&before, true, geteuid(), getegid());
    CHECK_OK(make("munge,native", &again));
    CHECK(is_munge(&again));
    is_good(&again, false, geteuid(), getegid());
    free(before.bytes);
    free(again.bytes);
}

/* rows: X1 X2 G16 */
/* proves: PMIx_Get_credential PMIX_CRED_TYPE client */
static void proofs(int argc, char** argv) {
    (void)argc;
    directory = argv[0];
    start();
    if (me.rank == 0) {
        pmix_info_t type;
        put_proof("one");
        put_proof("two");
        CHECK_OK(PMIx_Commit());
        PMIX_INFO_LOAD(&type, PMIX_CRED_TYPE, "munge", PMIX_STRING);
        CHECK_OK(PMIx_Get_credential_nb(&type, 1, keep_in_file, NULL));
        CHECK(box_wait(&made, 1, 60) && made.status == PMIX_SUCCESS);
        PMIX_INFO_DESTRUCT(&type);
    }
    fence(true);
    if (me.rank == 1) {
        pmix_value_t *one = proof_of(0, "one"), *two = proof_of(0, "two");
        is_good(&one->data.bo, false, geteuid(), getegid());
        is_bad(&one->data.bo, false); /* used already */
        is_bad(&one->data.bo, true);
        pmix_byte_object_t half = {.bytes = two->data.bo.bytes, .size = two->data.bo.size / 2};
        is_bad(&half, false);
        one_letter_wrong(&two->data.bo, 6);
        one_letter_wrong(&two->data.bo, two->data.bo.size / 2);
        one_letter_wrong(&two->data.bo, two->data.bo.size - 6);
        is_good(&two->data.bo, true, geteuid(), getegid()); /* none of this has used it */
        PMIX_VALUE_RELEASE(one);
        PMIX_VALUE_RELEASE(two);
        judge_those_of_others();
        munged_goes_and_comes();
    }
    fence(false);
    finish();
}

/* There is munge's library, and no munged. rows: X1 X2 G16 */
static void absent(int argc, char** argv) {
    static char text[] = "MUNGE:AwQFAAABAAAA:";
    pmix_byte_object_t proof = {.bytes = text, .size = sizeof text - 1};
    (void)argc;
    directory = argv[0];
    start();
    without_munged();
    is_bad(&proof, false);
    is_bad(&proof, true);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {{"proofs", proofs}, {"absent", absent}};
    CHECK(argc == 3);
    RUN_CASE(cases);
    return 0;
}
