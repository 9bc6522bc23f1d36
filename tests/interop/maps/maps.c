/* SPDX-License-Identifier: BSD-3-Clause */
/* maps: node lists and process maps through the public interface of whichever libpmix.so.2 is loaded (LD_LIBRARY_PATH).
 * Built with our headers, on functions that release 4.2.2 has. Lines in, lines out.
 *   maps generate        a node list, then a process list, and so on: the maps that the library makes of them
 *   maps read TYPE       a node map, then a process map, and so on: registers a job from each pair, given as string or
 *                        regex, and prints what a client of that job finds: NODE=RANK,RANK;NODE=... or an error
 *   maps client          that client
 */
#define PMIX_SERVER_INIT_PLAIN
#include <pmix.h>
#include <pmix_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

/* The next line of stdin without its end, NULL at the end; "x:6e31" stands for bytes. Ends in a NUL that *length
 * counts. The caller frees it. */
static char* next_line(size_t* length) {
    char* line = NULL;
    size_t capacity = 0;
    ssize_t n = getline(&line, &capacity, stdin);
    if (n <= 0) {
        free(line);
        return NULL;
    }
    if (line[n - 1] == '\n') line[--n] = '\0';
    if (strncmp(line, "x:", 2) == 0) {
        n = n / 2 - 1;
        for (ssize_t i = 0; i < n; i++) {
            unsigned byte = 0;
            sscanf(line + 2 * i + 2, "%2x", &byte);
            line[i] = (char)byte;
        }
        line[n] = '\0';
    }
    *length = (size_t)n + 1;
    return line;
}

static int generate(void) {
    char* list;
    size_t length;
    for (int i = 0; (list = next_line(&length)) != NULL; i++) {
        char* text = NULL;
        pmix_status_t rc = i % 2 == 0 ? PMIx_generate_regex(list, &text) : PMIx_generate_ppn(list, &text);
        printf("%s\n", rc == PMIX_SUCCESS ? text : "refused");
        free(text);
        free(list);
    }
    return 0;
}

static int client(void) {
    pmix_proc_t me;
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS) return 3;
    char* nodes = NULL;
    if (PMIx_Resolve_nodes(me.nspace, &nodes) != PMIX_SUCCESS || nodes == NULL) return 4;
    char *rest = nodes, *node;
    while ((node = strsep(&rest, ",")) != NULL) {
        pmix_proc_t* procs = NULL;
        size_t n = 0;
        pmix_status_t rc = PMIx_Resolve_peers(node, me.nspace, &procs, &n);
        printf("%s=", node);
        if (rc != PMIX_SUCCESS && n != 0) return 5;
        for (size_t i = 0; i < n; i++) printf("%s%u", i == 0 ? "" : ",", procs[i].rank);
        printf("%s", rest == NULL ? "\n" : ";");
        free(procs);
    }
    free(nodes);
    fflush(stdout);
    return PMIx_Finalize(NULL, 0) == PMIX_SUCCESS ? 0 : 6;
}

static void done(pmix_status_t status, void* cbdata) {
    int* end = cbdata;
    if (write(end[1], &status, sizeof status) != sizeof status) abort();
}

/* What a call said, or the callback that it promised. */
static pmix_status_t wait_for(pmix_status_t rc, int* end) {
    if (rc == PMIX_OPERATION_SUCCEEDED) return PMIX_SUCCESS;
    if (rc == PMIX_SUCCESS && read(end[0], &rc, sizeof rc) != sizeof rc) abort();
    return rc;
}

static char** copy_of_environ(void) {
    size_t n = 0;
    while (environ[n] != NULL) n++;
    char** env = calloc(n + 1, sizeof *env);
    if (env == NULL) abort();
    for (size_t i = 0; i < n; i++) env[i] = strdup(environ[i]);
    return env;
}

static int read_maps(const char* program, pmix_data_type_t type) {
    pmix_server_module_t module;
    memset(&module, 0, sizeof module);
    if (PMIx_server_init(&module, NULL, 0) != PMIX_SUCCESS) return 1;
    char *nodes, *procs;
    size_t length[2];
    int end[2];
    if (pipe(end) != 0) return 1;
    for (int job = 0; (nodes = next_line(&length[0])) != NULL && (procs = next_line(&length[1])) != NULL; job++) {
        pmix_proc_t first;
        char name[32];
        snprintf(name, sizeof name, "job%d", job);
        memset(&first, 0, sizeof first);
        strcpy(first.nspace, name);
        pmix_info_t infos[2];
        pmix_value_t value;
        for (int i = 0; i < 2; i++) {
            char* map = i == 0 ? nodes : procs;
            memset(&infos[i], 0, sizeof infos[i]);
            strcpy(infos[i].key, i == 0 ? PMIX_NODE_MAP : PMIX_PROC_MAP);
            memset(&value, 0, sizeof value);
            value.type = type;
            if (type == PMIX_STRING) {
                value.data.string = map;
            } else {
                value.data.bo = (pmix_byte_object_t){map, length[i]};
            }
            infos[i].value = value; /* borrowed for the call */
        }
        pmix_status_t rc = wait_for(PMIx_server_register_nspace(first.nspace, 1, infos, 2, done, end), end);
        if (rc == PMIX_SUCCESS)
            rc = wait_for(PMIx_server_register_client(&first, geteuid(), getegid(), NULL, done, end), end);
        char** env = copy_of_environ();
        if (rc == PMIX_SUCCESS) rc = PMIx_server_setup_fork(&first, &env);
        if (rc != PMIX_SUCCESS) {
            printf("error %d\n", rc);
        } else {
            fflush(stdout);
            const pid_t child = fork();
            if (child == 0) {
                char* argv[] = {(char*)program, (char*)"client", NULL};
                execve(program, argv, env);
                _exit(127);
            }
            int status = 0;
            if (waitpid(child, &status, 0) != child || status != 0) printf("client %d\n", status);
        }
        fflush(stdout);
        for (char** e = env; *e != NULL; e++) free(*e);
        free(env);
        wait_for(PMIX_SUCCESS, (PMIx_server_deregister_nspace(first.nspace, done, end), end));
        free(nodes);
        free(procs);
    }
    PMIx_server_finalize();
    return 0;
}

int main(int argc, char** argv) {
    fprintf(stderr, "library %s\n", PMIx_Get_version());
    if (argc == 2 && strcmp(argv[1], "client") == 0) return client();
    if (argc == 3 && strcmp(argv[1], "read") == 0)
        return read_maps(argv[0], strcmp(argv[2], "regex") == 0 ? PMIX_REGEX : PMIX_STRING);
    if (argc != 2) return 2;
    pmix_server_module_t module; /* the other library's generators need one to be up */
    memset(&module, 0, sizeof module);
    if (PMIx_server_init(&module, NULL, 0) != PMIX_SUCCESS) return 1;
    generate();
    PMIx_server_finalize();
    return 0;
}
