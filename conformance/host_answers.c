/* SPDX-License-Identifier: BSD-3-Clause */
/* What the small host answers to each upcall, and how it registers a job. */

#include "host.h"

pmix_server_module_t host_module;

extern char** environ;

#ifdef PMIX_ERR_JOB_APP_NOT_EXECUTABLE
#define NOT_EXECUTABLE PMIX_ERR_JOB_APP_NOT_EXECUTABLE
#else
#define NOT_EXECUTABLE PMIX_ERR_JOB_FAILED_TO_START
#endif

static void append(char*** list, const char* text) {
    size_t n = 0;
    while (*list != NULL && (*list)[n] != NULL) ++n;
    *list = realloc(*list, (n + 2) * sizeof(char*));
    (*list)[n] = strdup(text);
    (*list)[n + 1] = NULL;
}

/* ---- answers ---- */

struct reply {
    pmix_op_cbfunc_t op;
    pmix_info_cbfunc_t info;
    pmix_status_t status;
    pmix_info_t* results;
    size_t nresults;
    void* cbdata;
};

static void free_results(void* argument) {
    struct reply* reply = argument;
    for (size_t i = 0; i < reply->nresults; ++i) PMIX_INFO_DESTRUCT(&reply->results[i]);
    free(reply->results);
    free(reply);
}

static void send_reply(void* argument) {
    struct reply* reply = argument;
    if (reply->op != NULL) {
        reply->op(reply->status, reply->cbdata);
        free(reply);
    } else {
        reply->info(reply->status, reply->results, reply->nresults, reply->cbdata, free_results, reply);
    }
}

pmix_status_t host_answer_op(pmix_op_cbfunc_t cbfunc, void* cbdata) {
    if (host_answers_at_once) return host_answer == PMIX_SUCCESS ? PMIX_OPERATION_SUCCEEDED : host_answer;
    struct reply* reply = calloc(1, sizeof(*reply));
    reply->op = cbfunc;
    reply->status = host_answer;
    reply->cbdata = cbdata;
    later(send_reply, reply);
    return PMIX_SUCCESS;
}

static pmix_status_t answer_info(pmix_info_cbfunc_t cbfunc, void* cbdata, pmix_status_t status, pmix_info_t* results,
                                 size_t nresults) {
    struct reply* reply = calloc(1, sizeof(*reply));
    reply->info = cbfunc;
    reply->status = host_answer != PMIX_SUCCESS ? host_answer : status;
    reply->cbdata = cbdata;
    if (nresults > 0) {
        reply->results = calloc(nresults, sizeof(pmix_info_t));
        memcpy(reply->results, results, nresults * sizeof(pmix_info_t));
        reply->nresults = nresults;
    }
    later(send_reply, reply);
    return PMIX_SUCCESS;
}

static void add_procs(struct upcall* upcall, const pmix_proc_t* procs, size_t nprocs) {
    upcall->nprocs = nprocs;
    for (size_t i = 0; i < nprocs && i < 16; ++i) upcall->procs[i] = procs[i];
}

void host_add_text(struct upcall* upcall, const char* text) {
    if (text == NULL || upcall->ntext == 4) return;
    snprintf(upcall->text[upcall->ntext++], sizeof(upcall->text[0]), "%s", text);
}

/* ---- upcalls ---- */

static pmix_status_t client_connected2(const pmix_proc_t* proc, void* object, pmix_info_t info[], size_t ninfo,
                                       pmix_op_cbfunc_t cbfunc, void* cbdata) {
    host_note("client_connected", proc, info, ninfo)->object = object;
    return cbfunc == NULL ? PMIX_SUCCESS : host_answer_op(cbfunc, cbdata);
}

static pmix_status_t client_finalized(const pmix_proc_t* proc, void* object, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    host_note("client_finalized", proc, NULL, 0)->object = object;
    return cbfunc == NULL ? PMIX_SUCCESS : host_answer_op(cbfunc, cbdata);
}

static pmix_status_t abort_procs(const pmix_proc_t* proc, void* object, int status, const char msg[],
                                 pmix_proc_t procs[], size_t nprocs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("abort", proc, NULL, 0);
    upcall->object = object;
    upcall->number = status;
    host_add_text(upcall, msg);
    add_procs(upcall, procs, procs != NULL ? nprocs : 0);
    return host_answer_op(cbfunc, cbdata);
}

struct modex {
    pmix_modex_cbfunc_t cbfunc;
    void* cbdata;
    pmix_status_t status;
};

static void release_bytes(void* bytes) {
    free(bytes);
}

static void fence_done(pmix_status_t status, char* data, size_t size, void* state) {
    struct modex* modex = state;
    if (modex->status != PMIX_SUCCESS) status = modex->status;
    modex->cbfunc(status, data, size, modex->cbdata, release_bytes, data);
    free(modex);
}

static pmix_status_t fence_nb(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                              char* data, size_t ndata, pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("fence_nb", NULL, info, ninfo);
    add_procs(upcall, procs, nprocs);
    upcall->had_data = data != NULL && ndata > 0;
    upcall->number = (long)ndata;
    struct modex* modex = calloc(1, sizeof(*modex));
    modex->cbfunc = cbfunc;
    modex->cbdata = cbdata;
    modex->status = host_answer;
    host_collective("fence", procs, nprocs, data, ndata, fence_done, modex);
    free(data);
    return PMIX_SUCCESS;
}

static void modex_failed(void* argument) {
    struct modex* modex = argument;
    modex->cbfunc(modex->status, NULL, 0, modex->cbdata, NULL, NULL);
    free(modex);
}

static pmix_status_t direct_modex(const pmix_proc_t* proc, const pmix_info_t info[], size_t ninfo,
                                  pmix_modex_cbfunc_t cbfunc, void* cbdata) {
    host_note("direct_modex", proc, info, ninfo);
    if (host_has_two_nodes()) {
        host_ask_other_node(proc, cbfunc, cbdata);
        return PMIX_SUCCESS;
    }
    struct modex* modex = calloc(1, sizeof(*modex));
    modex->cbfunc = cbfunc;
    modex->cbdata = cbdata;
    modex->status = host_answer != PMIX_SUCCESS ? host_answer : PMIX_ERR_NOT_FOUND;
    later(modex_failed, modex);
    return PMIX_SUCCESS;
}

struct spawned {
    pmix_spawn_cbfunc_t cbfunc;
    void* cbdata;
    pmix_status_t status;
    char nspace[PMIX_MAX_NSLEN + 1];
    char** argv;
    char** env;
    int ranks;
};

/* A spawned job runs the same program and row; the rank of a child begins with 100. */
static void start_spawned(void* argument) {
    struct spawned* s = argument;
    if (s->status == PMIX_SUCCESS) {
        host_register_job(s->nspace, s->ranks);
        for (int i = 0; i < s->ranks; ++i) {
            pmix_proc_t proc = proc_of(s->nspace, (pmix_rank_t)i);
            char** env = NULL;
            for (size_t k = 0; s->env != NULL && s->env[k] != NULL; ++k) append(&env, s->env[k]);
            (void)PMIx_server_setup_fork(&proc, &env);
            (void)host_start(s->nspace, 100 + i, s->argv, env);
        }
    }
    s->cbfunc(s->status, s->nspace, s->cbdata);
}

static pmix_status_t spawn(const pmix_proc_t* proc, const pmix_info_t job_info[], size_t ninfo, const pmix_app_t apps[],
                           size_t napps, pmix_spawn_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("spawn", proc, job_info, ninfo);
    upcall->number = (long)napps;
    struct spawned* s = calloc(1, sizeof(*s));
    s->cbfunc = cbfunc;
    s->cbdata = cbdata;
    static int number;
    snprintf(s->nspace, sizeof(s->nspace), "conformance-child-%d", ++number);
    s->status = host_answer;
    for (size_t a = 0; a < napps; ++a) {
        host_add_text(upcall, apps[a].cmd);
        s->ranks += apps[a].maxprocs;
    }
    if (napps > 0 && (apps[0].cmd == NULL || access(apps[0].cmd, X_OK) != 0)) s->status = NOT_EXECUTABLE;
    append(&s->argv, napps > 0 && apps[0].cmd != NULL ? apps[0].cmd : "");
    for (size_t k = 1; napps > 0 && apps[0].argv != NULL && apps[0].argv[0] != NULL && apps[0].argv[k] != NULL; ++k)
        append(&s->argv, apps[0].argv[k]);
    for (size_t k = 0; environ[k] != NULL; ++k) append(&s->env, environ[k]);
    for (size_t k = 0; napps > 0 && apps[0].env != NULL && apps[0].env[k] != NULL; ++k) append(&s->env, apps[0].env[k]);
    later(start_spawned, s);
    return PMIX_SUCCESS;
}

static void connect_done(pmix_status_t status, char* data, size_t size, void* state) {
    (void)size;
    free(data);
    struct reply* reply = state;
    if (reply->status != PMIX_SUCCESS) status = reply->status;
    reply->op(status, reply->cbdata);
    free(reply);
}

static pmix_status_t join(const char* name, const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[],
                          size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    add_procs(host_note(name, NULL, info, ninfo), procs, nprocs);
    struct reply* reply = calloc(1, sizeof(*reply));
    reply->op = cbfunc;
    reply->cbdata = cbdata;
    reply->status = host_answer;
    host_collective(name, procs, nprocs, NULL, 0, connect_done, reply);
    return PMIX_SUCCESS;
}

static pmix_status_t connect_procs(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                                   pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return join("connect", procs, nprocs, info, ninfo, cbfunc, cbdata);
}

static pmix_status_t disconnect_procs(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t info[], size_t ninfo,
                                      pmix_op_cbfunc_t cbfunc, void* cbdata) {
    return join("disconnect", procs, nprocs, info, ninfo, cbfunc, cbdata);
}

static pmix_status_t register_events(pmix_status_t* codes, size_t ncodes, const pmix_info_t info[], size_t ninfo,
                                     pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("register_events", NULL, info, ninfo);
    upcall->number = ncodes > 0 && codes != NULL ? codes[0] : 0;
    return host_answer_op(cbfunc, cbdata);
}

static pmix_status_t deregister_events(pmix_status_t* codes, size_t ncodes, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("deregister_events", NULL, NULL, 0);
    upcall->number = ncodes > 0 && codes != NULL ? codes[0] : 0;
    return host_answer_op(cbfunc, cbdata);
}

static pmix_status_t notify_event(pmix_status_t code, const pmix_proc_t* source, pmix_data_range_t range,
                                  pmix_info_t info[], size_t ninfo, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("notify_event", source, info, ninfo);
    upcall->number = code;
    snprintf(upcall->text[upcall->ntext++], sizeof(upcall->text[0]), "%d", (int)range);
    return host_notify_callback ? host_answer_op(cbfunc, cbdata) : PMIX_OPERATION_SUCCEEDED;
}

static pmix_status_t query(pmix_proc_t* proc, pmix_query_t* queries, size_t nqueries, pmix_info_cbfunc_t cbfunc,
                           void* cbdata) {
    struct upcall* upcall =
        host_note("query", proc, nqueries > 0 ? queries[0].qualifiers : NULL, nqueries > 0 ? queries[0].nqual : 0);
    upcall->number = (long)nqueries;
    pmix_info_t results[16];
    size_t n = 0, asked = 0;
    for (size_t q = 0; q < nqueries; ++q) {
        for (size_t k = 0; queries[q].keys != NULL && queries[q].keys[k] != NULL; ++k, ++asked) {
            const char* key = queries[q].keys[k];
            host_add_text(upcall, key);
            if (n < 16 && strcmp(key, "conformance.answer") == 0) {
                int number = 42;
                results[n++] = info_of(key, &number, PMIX_INT);
            } else if (n < 16 && strcmp(key, PMIX_QUERY_NAMESPACES) == 0) {
                results[n++] = info_of(key, row_nspace, PMIX_STRING);
            }
        }
    }
    return answer_info(cbfunc, cbdata,
                       n == asked ? PMIX_SUCCESS
                       : n > 0    ? PMIX_ERR_PARTIAL_SUCCESS
                                  : PMIX_ERR_NOT_FOUND,
                       results, n);
}

struct tool_answer {
    pmix_tool_connection_cbfunc_t cbfunc;
    void* cbdata;
    pmix_proc_t proc;
    pmix_status_t status;
};

static void send_tool_answer(void* argument) {
    struct tool_answer* answer = argument;
    answer->cbfunc(answer->status, &answer->proc, answer->cbdata);
    free(answer);
}

static void tool_connected(pmix_info_t* info, size_t ninfo, pmix_tool_connection_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("tool_connected", NULL, info, ninfo);
    /* The name that a tool has given itself; releases differ in the attribute. */
    const pmix_info_t* nspace = upcall_info(upcall, PMIX_TOOL_NSPACE);
    if (nspace == NULL) nspace = upcall_info(upcall, PMIX_NSPACE);
    const pmix_info_t* rank = upcall_info(upcall, PMIX_TOOL_RANK);
    if (rank == NULL) rank = upcall_info(upcall, PMIX_RANK);
    struct tool_answer* answer = calloc(1, sizeof(*answer));
    static int number;
    char name[60];
    snprintf(name, sizeof(name), "conformance-tool-%d", number++);
    answer->proc = proc_of(nspace != NULL && nspace->value.type == PMIX_STRING ? nspace->value.data.string : name,
                           rank != NULL ? rank->value.data.rank : 0);
    answer->cbfunc = cbfunc;
    answer->cbdata = cbdata;
    answer->status = host_answer;
    later(send_tool_answer, answer);
}

static void log_data(const pmix_proc_t* proc, const pmix_info_t data[], size_t ndata, const pmix_info_t directives[],
                     size_t ndirs, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("log", proc, directives, ndirs);
    for (size_t i = 0; i < ndata; ++i) host_add_text(upcall, data[i].key);
    struct reply* reply = calloc(1, sizeof(*reply));
    reply->op = cbfunc;
    reply->status = host_answer;
    reply->cbdata = cbdata;
    later(send_reply, reply);
}

static pmix_status_t allocate(const pmix_proc_t* proc, pmix_alloc_directive_t directive, const pmix_info_t data[],
                              size_t ndata, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    host_note("allocate", proc, data, ndata)->number = directive;
    pmix_info_t result = info_of(PMIX_ALLOC_ID, "conformance-allocation", PMIX_STRING);
    return answer_info(cbfunc, cbdata, PMIX_SUCCESS, &result, 1);
}

static pmix_status_t job_control(const pmix_proc_t* proc, const pmix_proc_t targets[], size_t ntargets,
                                 const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc,
                                 void* cbdata) {
    add_procs(host_note("job_control", proc, directives, ndirs), targets, targets != NULL ? ntargets : 0);
    return answer_info(cbfunc, cbdata, PMIX_SUCCESS, NULL, 0);
}

static pmix_status_t monitor(const pmix_proc_t* proc, const pmix_info_t* what, pmix_status_t error,
                             const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("monitor", proc, directives, ndirs);
    upcall->number = error;
    host_add_text(upcall, what->key);
    return answer_info(cbfunc, cbdata, PMIX_SUCCESS, NULL, 0);
}

struct credential {
    pmix_credential_cbfunc_t get;
    pmix_validation_cbfunc_t validate;
    void* cbdata;
    pmix_status_t status;
};

static void send_credential(void* argument) {
    struct credential* credential = argument;
    if (credential->get != NULL) {
        char text[] = "conformance-credential";
        pmix_byte_object_t bytes = {text, sizeof(text)};
        credential->get(credential->status, &bytes, NULL, 0, credential->cbdata);
    } else {
        uint32_t uid = (uint32_t)geteuid();
        pmix_info_t info = info_of(PMIX_USERID, &uid, PMIX_UINT32);
        credential->validate(credential->status, &info, 1, credential->cbdata);
    }
    free(credential);
}

static pmix_status_t get_credential(const pmix_proc_t* proc, const pmix_info_t directives[], size_t ndirs,
                                    pmix_credential_cbfunc_t cbfunc, void* cbdata) {
    host_note("get_credential", proc, directives, ndirs);
    struct credential* credential = calloc(1, sizeof(*credential));
    credential->get = cbfunc;
    credential->cbdata = cbdata;
    credential->status = host_answer;
    later(send_credential, credential);
    return PMIX_SUCCESS;
}

static pmix_status_t validate_credential(const pmix_proc_t* proc, const pmix_byte_object_t* bytes,
                                         const pmix_info_t directives[], size_t ndirs, pmix_validation_cbfunc_t cbfunc,
                                         void* cbdata) {
    struct upcall* upcall = host_note("validate_credential", proc, directives, ndirs);
    struct credential* credential = calloc(1, sizeof(*credential));
    credential->validate = cbfunc;
    credential->cbdata = cbdata;
    bool ours = bytes->size == sizeof("conformance-credential") &&
                memcmp(bytes->bytes, "conformance-credential", bytes->size) == 0;
    upcall->number = ours;
    credential->status = host_answer != PMIX_SUCCESS ? host_answer : ours ? PMIX_SUCCESS : PMIX_ERR_INVALID_CRED;
    later(send_credential, credential);
    return PMIX_SUCCESS;
}

static pmix_status_t iof_pull(const pmix_proc_t procs[], size_t nprocs, const pmix_info_t directives[], size_t ndirs,
                              pmix_iof_channel_t channels, pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("iof_pull", NULL, directives, ndirs);
    add_procs(upcall, procs, nprocs);
    upcall->number = channels;
    return host_answer_op(cbfunc, cbdata);
}

static pmix_status_t push_stdin(const pmix_proc_t* source, const pmix_proc_t targets[], size_t ntargets,
                                const pmix_info_t directives[], size_t ndirs, const pmix_byte_object_t* bytes,
                                pmix_op_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("push_stdin", source, directives, ndirs);
    add_procs(upcall, targets, ntargets);
    upcall->number = bytes != NULL ? (long)bytes->size : 0;
    if (bytes != NULL && bytes->size > 0) {
        char text[200];
        snprintf(text, sizeof(text), "%.*s", (int)bytes->size, bytes->bytes);
        host_add_text(upcall, text);
    }
    return host_answer_op(cbfunc, cbdata);
}

struct group {
    pmix_info_cbfunc_t cbfunc;
    void* cbdata;
    pmix_status_t status;
    bool assign;
    size_t context;
    pmix_proc_t procs[16];
    size_t nprocs;
};

static void group_done(pmix_status_t status, char* data, size_t size, void* state) {
    (void)size;
    free(data);
    struct group* group = state;
    struct reply* reply = calloc(1, sizeof(*reply));
    reply->info = group->cbfunc;
    reply->cbdata = group->cbdata;
    reply->status = group->status != PMIX_SUCCESS ? group->status : status;
    if (reply->status == PMIX_SUCCESS) {
        reply->results = calloc(2, sizeof(pmix_info_t));
        if (group->assign)
            reply->results[reply->nresults++] = info_of(PMIX_GROUP_CONTEXT_ID, &group->context, PMIX_SIZE);
        pmix_data_array_t members = {PMIX_PROC, group->nprocs, group->procs};
        reply->results[reply->nresults++] = info_of(PMIX_GROUP_MEMBERSHIP, &members, PMIX_DATA_ARRAY);
    }
    free(group);
    send_reply(reply);
}

static pmix_status_t group(pmix_group_operation_t op, char grp[], const pmix_proc_t procs[], size_t nprocs,
                           const pmix_info_t directives[], size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    struct upcall* upcall = host_note("group", NULL, directives, ndirs);
    upcall->number = op;
    host_add_text(upcall, grp);
    add_procs(upcall, procs, nprocs);
    struct group* group = calloc(1, sizeof(*group));
    group->cbfunc = cbfunc;
    group->cbdata = cbdata;
    group->status = host_answer;
    const pmix_info_t* assign = upcall_info(upcall, PMIX_GROUP_ASSIGN_CONTEXT_ID);
    group->assign = assign != NULL && PMIX_INFO_TRUE(assign);
    group->context = 1000;
    for (const char* p = grp; *p != '\0'; ++p) group->context = group->context * 31 + (unsigned char)*p;
    group->nprocs = nprocs < 16 ? nprocs : 16;
    if (group->nprocs > 0) memcpy(group->procs, procs, group->nprocs * sizeof(procs[0]));
    char kind[600];
    snprintf(kind, sizeof(kind), "group %d %s", (int)op, grp);
    host_collective(kind, procs, nprocs, NULL, 0, group_done, group);
    return PMIX_SUCCESS;
}

static pmix_status_t fabric(const pmix_proc_t* proc, pmix_fabric_operation_t op, const pmix_info_t directives[],
                            size_t ndirs, pmix_info_cbfunc_t cbfunc, void* cbdata) {
    host_note("fabric", proc, directives, ndirs)->number = op;
    return answer_info(cbfunc, cbdata, PMIX_SUCCESS, NULL, 0);
}

void host_fill_module(void) {
    host_module.client_connected2 = client_connected2;
    host_module.client_finalized = client_finalized;
    host_module.abort = abort_procs;
    host_module.fence_nb = fence_nb;
    host_module.direct_modex = direct_modex;
    host_module.publish = host_publish;
    host_module.lookup = host_lookup;
    host_module.unpublish = host_unpublish;
    host_module.spawn = spawn;
    host_module.connect = connect_procs;
    host_module.disconnect = disconnect_procs;
    host_module.register_events = register_events;
    host_module.deregister_events = deregister_events;
    host_module.notify_event = notify_event;
    host_module.query = query;
    host_module.tool_connected = tool_connected;
    host_module.log = log_data;
    host_module.allocate = allocate;
    host_module.job_control = job_control;
    host_module.monitor = monitor;
    host_module.get_credential = get_credential;
    host_module.validate_credential = validate_credential;
    host_module.iof_pull = iof_pull;
    host_module.push_stdin = push_stdin;
    host_module.group = group;
    host_module.fabric = fabric;
}
