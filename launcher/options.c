/* SPDX-License-Identifier: BSD-3-Clause */
#include "options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxProcesses = 1000000 };

static const char kUsage[] =
    "usage: pmixrun [OPTIONS] PROGRAM [ARG...] [: [-n N] [-x VAR[=VALUE]] [--wdir DIR] [--pset NAME] PROGRAM "
    "[ARG...]]...\n"
    "\n"
    "Runs PROGRAM as a parallel job of PMIx processes on simulated nodes of this machine.\n"
    "\n"
    "  -n N              processes (default 1)\n"
    "  --nodes K         simulated nodes, one daemon with a PMIx server each (default 1)\n"
    "  --map-by HOW      slot: neighbouring ranks share a node (default); node: one to each node in turn\n"
    "  --bind-to WHERE   bind each process to one core, hwthread, l1cache, l2cache, l3cache, numa or package (socket)\n"
    "                    of its node, in turn; none: not at all (default). A node with more processes than cores is "
    "an\n"
    "                    error, unless :overload-allowed follows\n"
    "  --report-bindings print on stderr which CPUs each process is bound to\n"
    "  --timeout S       after S seconds end the job with status 124\n"
    "  -x VAR[=VALUE]    set VAR for the processes and those that they spawn (without VALUE: as in pmixrun's "
    "environment, or unset)\n"
    "  --wdir DIR        their working directory\n"
    "  --pset NAME       define a process set of this name with them\n"
    "  --event-cache N   events that each node keeps for handlers registered later\n"
    "  --share-topology  discover the hardware once on each node, not in each process that asks for it (MPI)\n"
    "  --tag-output      begin each line of output with the job, the rank and the stream: [1,0]<stdout>: \n"
    "  --timestamp-output  begin each line of output with the time\n"
    "  --merge-stderr    write their stderr where their stdout is written (also --merge-stderr-to-stdout)\n"
    "  --output-filename DIR[:nocopy]  write their output to files too, DIR/JOB/rank.N/stdout and stderr; nocopy: only "
    "to files\n"
    "  --stdin HOW       send pmixrun's stdin to the rank of this number (default 0), to all, or to none of them;\n"
    "                    open: to none, but PMIx_IOF_push reaches all\n"
    "  --continuous      a process that fails does not end the job\n"
    "  --linger S        processes of a node whose daemon was lost may run S seconds more (default 0)\n"
    "  --kill-after S    processes that are ended get SIGKILL S seconds after SIGTERM (default 1)\n"
    "  -v                report on stderr what happens\n"
    "\n"
    "What the options ask of the output holds for spawned jobs too, where PMIx_Spawn leaves it open.\n"
    "What a process has started may still write to its streams for 2 seconds after its end, and is killed then.\n"
    "SIGUSR1 and SIGUSR2 are passed on to the processes.\n"
    "Exit status: the first that was not zero, of a process, of PMIx_Abort, 128+N for signal N;\n"
    "124 for the timeout; 2 for a wrong command line; 127 when a program could not be started.\n";

static void wrong(const char* what, const char* argument) {
    fprintf(stderr, "pmixrun: %s%s%s\n%s", what, argument ? ": " : "", argument ? argument : "", kUsage);
    exit(2);
}

static uint32_t read_number(const char* option, const char* text, uint32_t least, uint32_t most) {
    char* end = NULL;
    unsigned long number = text ? strtoul(text, &end, 10) : 0;
    if (!text || !*text || *end || text[0] == '-' || number < least || number > most) wrong(option, text);
    return (uint32_t)number;
}

static double read_seconds(const char* option, const char* text) {
    char* end = NULL;
    double seconds = text ? strtod(text, &end) : 0;
    if (!text || !*text || *end || !(seconds >= 0 && seconds < 1e9)) wrong(option, text);
    return seconds;
}

static void add_string(char*** list, char* text) {
    size_t count = strings_count(*list);
    *list = xrealloc(*list, (count + 2) * sizeof **list);
    (*list)[count] = text;
    (*list)[count + 1] = NULL;
}

static char* env_setting(const char* text) {
    if (!text || !*text || *text == '=') wrong("-x wants VAR or VAR=VALUE", text);
    const char* value = strchr(text, '=') ? NULL : getenv(text);
    if (!value) return xstrdup(text);
    size_t size = strlen(text) + strlen(value) + 2;
    char* setting = xcalloc(size, 1);
    snprintf(setting, size, "%s=%s", text, value);
    return setting;
}

/* Options that belong to one application; false if argv[*at] is none of them. */
static bool app_option(char** argv, int* at, struct app* app) {
    const char* option = argv[*at];
    if (!strcmp(option, "-n") || !strcmp(option, "-np")) {
        app->size = read_number(option, argv[++*at], 1, kMaxProcesses);
    } else if (!strcmp(option, "-x")) {
        add_string(&app->env, env_setting(argv[++*at]));
    } else if (!strcmp(option, "--wdir")) {
        if (!argv[++*at]) wrong("--wdir wants a directory", NULL);
        free(app->wdir);
        app->wdir = xstrdup(argv[*at]);
    } else if (!strcmp(option, "--pset")) {
        if (!argv[++*at] || !*argv[*at]) wrong("--pset wants a name", NULL);
        free(app->pset);
        app->pset = xstrdup(argv[*at]);
    } else {
        return false;
    }
    return true;
}

static void read_output_filename(const char* text, struct options* options) {
    if (!text || !*text) wrong("--output-filename wants a directory", NULL);
    const char* colon = strrchr(text, ':');
    bool alone = colon && colon > text && !strcmp(colon, ":nocopy");
    free(options->output_directory);
    options->output_directory = xstrdup(text);
    options->file_only = alone;
    if (alone) options->output_directory[colon - text] = 0;
}

static void read_input(const char* text, struct options* options) {
    options->input_to = INPUT_TO_RANK;
    if (text && !strcmp(text, "all"))
        options->input_to = INPUT_TO_ALL;
    else if (text && !strcmp(text, "none"))
        options->input_to = INPUT_TO_NONE;
    else if (text && !strcmp(text, "open"))
        options->input_to = INPUT_OPEN;
    else
        options->input_rank = read_number("--stdin", text, 0, 999999);
}

static void job_option(char** argv, int* at, struct options* options) {
    const char* option = argv[*at];
    if (!strcmp(option, "--nodes")) {
        options->nodes = (int)read_number(option, argv[++*at], 1, MAX_NODES);
    } else if (!strcmp(option, "--map-by")) {
        const char* how = argv[++*at];
        if (how && !strcmp(how, "node"))
            options->placement = BY_NODE;
        else if (how && !strcmp(how, "slot"))
            options->placement = BY_SLOT;
        else
            wrong("--map-by wants node or slot", how);
    } else if (!strcmp(option, "--bind-to")) {
        const char* where = argv[++*at];
        if (!where || !binding_read(where, &options->binding))
            wrong("--bind-to wants none, core, hwthread, l1cache, l2cache, l3cache, numa or package", where);
    } else if (!strcmp(option, "--report-bindings")) {
        options->report_bindings = true;
    } else if (!strcmp(option, "--timeout")) {
        options->timeout = read_seconds(option, argv[++*at]);
    } else if (!strcmp(option, "--linger")) {
        options->linger = read_seconds(option, argv[++*at]);
    } else if (!strcmp(option, "--kill-after")) {
        options->kill_after = read_seconds(option, argv[++*at]);
    } else if (!strcmp(option, "--event-cache")) {
        options->event_cache = read_number(option, argv[++*at], 1, 1000000);
    } else if (!strcmp(option, "--share-topology")) {
        options->share_topology = true;
    } else if (!strcmp(option, "--tag-output")) {
        options->tag_output = true;
    } else if (!strcmp(option, "--timestamp-output")) {
        options->timestamp_output = true;
    } else if (!strcmp(option, "--merge-stderr") || !strcmp(option, "--merge-stderr-to-stdout")) {
        options->merge_stderr = true;
    } else if (!strcmp(option, "--output-filename")) {
        read_output_filename(argv[++*at], options);
    } else if (!strcmp(option, "--stdin") || !strcmp(option, "-stdin")) {
        read_input(argv[++*at], options);
    } else if (!strcmp(option, "--continuous")) {
        options->continuous = true;
    } else if (!strcmp(option, "-v") || !strcmp(option, "--verbose")) {
        options->verbose = true;
    } else if (!strcmp(option, "-h") || !strcmp(option, "--help")) {
        fputs(kUsage, stdout);
        exit(0);
    } else {
        wrong("unknown option", option);
    }
}

struct job_io options_io(const struct options* options) {
    struct job_io io = {.tag = options->tag_output,
                        .timestamp = options->timestamp_output,
                        .merge = options->merge_stderr,
                        .file_only = options->file_only,
                        .numbered = true,
                        .directory = options->output_directory ? xstrdup(options->output_directory) : NULL,
                        .stdin_to = PMIX_RANK_WILDCARD};
    if (options->input_to == INPUT_TO_NONE) io.stdin_to = PMIX_RANK_INVALID;
    if (options->input_to == INPUT_TO_RANK) io.stdin_to = options->input_rank;
    return io;
}

static bool left_open(const pmix_info_t* spawn, size_t count, const char* key, const char* older) {
    return !info_find(spawn, count, key) && !info_find(spawn, count, older);
}

void options_complete_io(const struct options* options, const pmix_info_t* spawn, size_t count, struct job_io* io) {
    bool marked = io->fullname || io->detailed || io->rank_tag || io->xml || io->raw;
    if (left_open(spawn, count, PMIX_IOF_TAG_OUTPUT, PMIX_TAG_OUTPUT) && !marked) io->tag = options->tag_output;
    if (left_open(spawn, count, PMIX_IOF_TIMESTAMP_OUTPUT, PMIX_TIMESTAMP_OUTPUT) && !io->raw)
        io->timestamp = options->timestamp_output;
    if (left_open(spawn, count, PMIX_IOF_MERGE_STDERR_STDOUT, PMIX_MERGE_STDERR_STDOUT))
        io->merge = options->merge_stderr;
    if (!options->output_directory || jobio_has_files(io)) return;
    io->directory = xstrdup(options->output_directory);
    io->numbered = true;
    io->file_only = info_true(spawn, count, PMIX_IOF_FILE_ONLY) || info_true(spawn, count, PMIX_OUTPUT_NOCOPY) ||
                    (options->file_only && left_open(spawn, count, PMIX_IOF_FILE_ONLY, PMIX_OUTPUT_NOCOPY));
}

void options_read(int argc, char** argv, struct options* options) {
    memset(options, 0, sizeof *options);
    options->nodes = 1;
    options->kill_after = 1;
    options->binding.required = true;
    options->words = argv;
    int at = 1;
    uint64_t processes = 0;
    while (at < argc) {
        struct app app = {.size = 1};
        for (; at < argc && argv[at][0] == '-'; at++) {
            if (!strcmp(argv[at], "--")) {
                at++;
                break;
            }
            if (app_option(argv, &at, &app)) continue;
            if (options->app_count > 0) wrong("only -n, -x, --wdir and --pset may follow a ':'", argv[at]);
            job_option(argv, &at, options);
        }
        for (; at < argc && strcmp(argv[at], ":") != 0; at++) add_string(&app.argv, xstrdup(argv[at]));
        if (!app.argv) wrong("no program", NULL);
        app.binding = options->binding;
        processes += app.size;
        if (processes > kMaxProcesses) wrong("too many processes", app.argv[0]);
        options->apps = xrealloc(options->apps, (options->app_count + 1) * sizeof *options->apps);
        options->apps[options->app_count++] = app;
        if (at < argc && ++at == argc) wrong("no program after ':'", NULL);
    }
    if (options->app_count == 0) wrong("no program", NULL);
    if (options->input_to == INPUT_TO_RANK && options->input_rank >= processes)
        wrong("--stdin names a rank that the job does not have", NULL);
}
