/* SPDX-License-Identifier: BSD-3-Clause */
/* spawn_env: what the processes of a spawned job have in their environment beside what PMIx_Spawn is given: the
 * settings of pmixrun's -x, as children by fork have them; and an environment that is large.
 * usage: spawn_env inherited|many, the first below `pmixrun -x FROM_X=outer -x TAKEN=outer` */
#include "spawn_check.h"

static void expect(const char* name, const char* wanted) {
    const char* value = getenv(name);
    if (!value || strcmp(value, wanted) != 0)
        fprintf(stderr, "%s is %s, not %s\n", name, value ? value : "unset", wanted);
    CHECK(value && strcmp(value, wanted) == 0);
}

/* grandchild FLAG: what the spawned parent was given is its children's, too. */
static void grandchild(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    expect("FROM_X", "outer");
    expect("TAKEN", "own");
    fence(false);
    child_done(argv[0]);
}

static void env_child(int argc, char** argv) {
    CHECK(argc == 1);
    start();
    expect("FROM_X", "outer");
    expect("TAKEN", "own");
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        app_of(&app, 1, "grandchild", "grand", NULL);
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children("grand", 1);
    }
    fence(false);
    child_done(argv[0]);
}

/* rows: C8 */
static void inherited(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    expect("FROM_X", "outer");
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        app_of(&app, 2, "child", "env", NULL);
        set_env(&app, "TAKEN=own");
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children("env", 2);
    }
    fence(false);
    finish();
}

enum { MANY = 24000 };

static void many_child(int argc, char** argv) {
    char name[32];
    CHECK(argc == 1);
    start();
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "MANY_%d", i);
        expect(name, "last");
    }
    fence(false);
    child_done(argv[0]);
}

/* The last setting of a name counts, also of very many: rows: C8 */
static void many(int argc, char** argv) {
    (void)argc, (void)argv;
    start();
    if (me.rank == 0) {
        pmix_nspace_t nspace;
        pmix_app_t app;
        char setting[48];
        app_of(&app, 1, "many_child", "many", NULL);
        app.env = calloc(2 * MANY + 1, sizeof *app.env);
        for (int i = 0; i < 2 * MANY; i++) {
            snprintf(setting, sizeof setting, "MANY_%d=%s", i % MANY, i < MANY ? "first" : "last");
            app.env[i] = strdup(setting);
        }
        CHECK_OK(spawn(NULL, 0, &app, 1, nspace));
        await_children("many", 1);
    }
    fence(false);
    finish();
}

int main(int argc, char** argv) {
    static const struct test_case cases[] = {
        {"inherited", inherited},   {"many", many}, {"child", env_child}, {"grandchild", grandchild},
        {"many_child", many_child},
    };
    program = argv[0];
    RUN_CASE(cases);
    return 0;
}
