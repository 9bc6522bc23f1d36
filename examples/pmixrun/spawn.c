/* spawn.c: PMIx_Spawn: a further job on the same nodes.
 *
 * What this owns: nothing; it turns the upcall's apps into a wish and sends it to the head, which names the job, has
 * every node register it, starts it and answers. Which thread calls it: up_spawn a thread of the library; the reply
 * comes in the loop. What can go wrong: no apps, no program (PMIX_ERR_JOB_NO_EXE_SPECIFIED), and whatever launch.c
 * reports. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "node.h"

struct wish {
    struct buffer body;
    pmix_spawn_cbfunc_t cbfunc;
    void* cbdata;
};

/* --- environment directives: resolved here into settings, over what the application gets anyway --------------------
 */

static const char* current_value(char* const* env, const char* name) {
    size_t length = strlen(name);
    const char* value = getenv(name);
    for (size_t i = 0; env && env[i]; i++) {
        if (strncmp(env[i], name, length) == 0 && (env[i][length] == '=' || env[i][length] == 0)) {
            value = env[i][length] ? env[i] + length + 1 : NULL;
        }
    }
    return value;
}

static void add_setting(char*** env, const char* name, const char* first, char separator, const char* second) {
    size_t size = strlen(name) + strlen(first) + strlen(second) + 3, count = strings_count(*env);
    char* setting = xcalloc(size, 1);
    char between[2] = {second[0] && first[0] ? separator : 0, 0};
    snprintf(setting, size, "%s=%s%s%s", name, first, between, second);
    *env = xrealloc(*env, (count + 2) * sizeof **env);
    (*env)[count] = setting;
    (*env)[count + 1] = NULL;
}

static void unset(char*** env, const char* name) {
    size_t count = strings_count(*env);
    *env = xrealloc(*env, (count + 2) * sizeof **env);
    (*env)[count] = xstrdup(name);
    (*env)[count + 1] = NULL;
}

static void apply_directives(char*** env, const pmix_info_t* info, size_t ninfo) {
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t* value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_UNSET_ENVAR) && value->type == PMIX_STRING) unset(env, value->data.string);
        if (value->type != PMIX_ENVAR || !value->data.envar.envar || !value->data.envar.value) continue;
        const pmix_envar_t* envar = &value->data.envar;
        const char* old = current_value(*env, envar->envar);
        if (PMIX_CHECK_KEY(&info[i], PMIX_SET_ENVAR) || (PMIX_CHECK_KEY(&info[i], PMIX_ADD_ENVAR) && !old)) {
            add_setting(env, envar->envar, envar->value, 0, "");
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_PREPEND_ENVAR)) {
            add_setting(env, envar->envar, envar->value, envar->separator, old ? old : "");
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_APPEND_ENVAR)) {
            add_setting(env, envar->envar, old ? old : "", envar->separator, envar->value);
        }
    }
}

/* --- the wish ------------------------------------------------------------------------------------------------------
 */

static char** copy_strings(char* const* list) {
    size_t count = strings_count(list);
    char** copy = xcalloc(count + 1, sizeof *copy);
    for (size_t i = 0; i < count; i++) copy[i] = xstrdup(list[i]);
    return copy;
}

static pmix_status_t put_app(struct buffer* body, const pmix_app_t* from, const pmix_info_t* job_info, size_t ninfo) {
    bool has_argv = from->argv && from->argv[0];
    if (!from->cmd && !has_argv) return PMIX_ERR_JOB_NO_EXE_SPECIFIED;
    if (from->maxprocs <= 0) return PMIX_ERR_BAD_PARAM;
    char* only_name[2] = {from->cmd, NULL};
    struct app app = {.size = (uint32_t)from->maxprocs};
    const char* wdir = from->cwd;
    if (!wdir) wdir = info_string(from->info, from->ninfo, PMIX_WDIR);
    if (!wdir) wdir = info_string(job_info, ninfo, PMIX_WDIR);
    app.wdir = wdir ? xstrdup(wdir) : NULL;
    const char* pset = info_string(from->info, from->ninfo, PMIX_PSET_NAME);
    app.pset = pset ? xstrdup(pset) : NULL;
    app.program = from->cmd ? xstrdup(from->cmd) : NULL;
    app.argv = copy_strings(has_argv ? from->argv : only_name);
    app.env = copy_strings(from->env);
    apply_directives(&app.env, job_info, ninfo);
    apply_directives(&app.env, from->info, from->ninfo);
    app_put(body, &app);
    app_destruct(&app);
    return PMIX_SUCCESS;
}

/* Which events about the new job somebody wants. */
static uint32_t wanted_events(const pmix_info_t* info, size_t ninfo) {
    static const struct {
        const char* key;
        uint32_t flag;
    } keys[] = {
        {PMIX_NOTIFY_JOB_EVENTS, WANTS_JOB_EVENTS},
        {PMIX_NOTIFY_COMPLETION, WANTS_JOB_END},
        {PMIX_NOTIFY_PROC_TERMINATION, WANTS_PROC_ENDS},
        {PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, WANTS_ABNORMAL_ENDS},
        {PMIX_EVENT_SILENT_TERMINATION, WANTS_SILENT_END},
    };
    uint32_t wanted = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (info_true(info, ninfo, keys[i].key)) wanted |= keys[i].flag;
    }
    return wanted;
}

static void replied(pmix_status_t status, struct buffer* body, void* argument) {
    struct wish* wish = argument;
    pmix_nspace_t name = "";
    char* nspace = body->size ? wire_get_string(body) : NULL;
    if (nspace) snprintf(name, sizeof name, "%s", nspace);
    wish->cbfunc(status, name, wish->cbdata);
    free(nspace);
    free(wish);
}

static void run_wish(void* argument) {
    struct wish* wish = argument;
    mesh_request(mesh_head(), FRAME_SPAWN, &wish->body, 0, replied, wish);
    wire_free(&wish->body);
}

pmix_status_t up_spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                       size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    const char* how = info_string(job_info, ninfo, PMIX_MAPBY);
    struct wish* wish = xcalloc(1, sizeof *wish);
    pmix_status_t status = napps > 0 ? PMIX_SUCCESS : PMIX_ERR_BAD_PARAM;
    wish->cbfunc = cbfunc;
    wish->cbdata = cbdata;
    wire_put_proc(&wish->body, proc);
    wire_put_u32(&wish->body, how && strncmp(how, "node", 4) == 0 ? BY_NODE : BY_SLOT);
    wire_put_u32(&wish->body, wanted_events(job_info, ninfo));
    struct job_io io;
    jobio_of_spawn(&io, job_info, ninfo);
    jobio_put(&wish->body, &io);
    jobio_destruct(&io);
    wire_put_u32(&wish->body, (uint32_t)napps);
    for (size_t i = 0; i < napps && status == PMIX_SUCCESS; i++)
        status = put_app(&wish->body, &apps[i], job_info, ninfo);
    if (status == PMIX_SUCCESS) {
        loop_post(run_wish, wish);
    } else {
        wire_free(&wish->body);
        free(wish);
    }
    return status;
}
