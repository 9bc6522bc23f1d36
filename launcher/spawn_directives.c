/* SPDX-License-Identifier: BSD-3-Clause */
#include "spawn_directives.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"
#include "jobio.h"
#include "wire.h"

/* --- values ------------------------------------------------------------------------------------------------------- */

static bool is_text(const pmix_value_t* value) {
    return value->type == PMIX_STRING && value->data.string;
}

static bool is_flag(const pmix_value_t* value) {
    return value->type == PMIX_BOOL || value->type == PMIX_UNDEF; /* naming it is enough */
}

static bool is_number(const pmix_value_t* value) {
    const pmix_info_t info = {.key = "number", .value = *value};
    return info_number(&info, 1, "number", 0) == info_number(&info, 1, "number", 1); /* else one is the default */
}

static bool names_variable(const char* name) {
    return name && *name && !strchr(name, '=');
}

static bool is_name_of_variable(const pmix_value_t* value) {
    return is_text(value) && names_variable(value->data.string);
}

static bool is_variable(const pmix_value_t* value) {
    return value->type == PMIX_ENVAR && names_variable(value->data.envar.envar) && value->data.envar.value;
}

static bool is_binding(const pmix_value_t* value) {
    struct binding binding;
    return is_text(value) && binding_read(value->data.string, &binding);
}

static bool is_any(const pmix_value_t* value) {
    (void)value;
    return true;
}

/* --- what is honoured --------------------------------------------------------------------------------------------- */

enum { FOR_BOTH = FOR_JOB | FOR_APP };

/* Some of it needs no code: the nodes have one file system, none of them is the head, and each has as many slots as it
 * is given processes. */
static const struct directive {
    const char* key;
    bool (*is)(const pmix_value_t* value);
    unsigned levels;
} kDirectives[] = {
    {PMIX_WDIR, is_text, FOR_BOTH},
    {PMIX_SET_SESSION_CWD, is_flag, FOR_BOTH},
    {PMIX_PREFIX, is_text, FOR_BOTH},
    {PMIX_HOST, is_text, FOR_BOTH},
    {PMIX_HOSTFILE, is_text, FOR_BOTH},
    {PMIX_ADD_HOST, is_text, FOR_BOTH},
    {PMIX_ADD_HOSTFILE, is_text, FOR_BOTH},
    {PMIX_MAPBY, is_text, FOR_JOB},
    {PMIX_PPR, is_text, FOR_JOB},
    {PMIX_RANKBY, is_text, FOR_JOB},
    {PMIX_CPU_LIST, is_text, FOR_BOTH},
    {PMIX_BINDTO, is_text, FOR_BOTH},
    {PMIX_REPORT_BINDINGS, is_flag, FOR_BOTH},
    {PMIX_INDEX_ARGV, is_flag, FOR_BOTH},
    {PMIX_PRELOAD_BIN, is_flag, FOR_BOTH},
    {PMIX_NO_PROCS_ON_HEAD, is_flag, FOR_BOTH},
    {PMIX_NO_OVERSUBSCRIBE, is_flag, FOR_BOTH},
    {PMIX_PSET_NAME, is_text, FOR_APP},
    {PMIX_JOB_RECOVERABLE, is_flag, FOR_JOB},
    {PMIX_ENVARS_HARVESTED, is_flag, FOR_BOTH},
    {PMIX_SET_ENVAR, is_variable, FOR_BOTH},
    {PMIX_UNSET_ENVAR, is_name_of_variable, FOR_BOTH},
    {PMIX_ADD_ENVAR, is_variable, FOR_BOTH},
    {PMIX_PREPEND_ENVAR, is_variable, FOR_BOTH},
    {PMIX_APPEND_ENVAR, is_variable, FOR_BOTH},
    {PMIX_FIRST_ENVAR, is_variable, FOR_BOTH},
    {PMIX_TIMEOUT, is_number, FOR_JOB},
    {PMIX_SPAWN_TIMEOUT, is_number, FOR_JOB},
    {PMIX_JOB_TIMEOUT, is_number, FOR_JOB},
    {PMIX_NOTIFY_JOB_EVENTS, is_flag, FOR_JOB},
    {PMIX_NOTIFY_COMPLETION, is_flag, FOR_JOB},
    {PMIX_NOTIFY_PROC_TERMINATION, is_flag, FOR_JOB},
    {PMIX_NOTIFY_PROC_ABNORMAL_TERMINATION, is_flag, FOR_JOB},
    {PMIX_EVENT_SILENT_TERMINATION, is_flag, FOR_JOB},
    {PMIX_LOG_JOB_EVENTS, is_flag, FOR_JOB},
    {PMIX_LOG_COMPLETION, is_flag, FOR_JOB},
    {PMIX_LOG_PROC_TERMINATION, is_flag, FOR_JOB},
    {PMIX_LOG_PROC_ABNORMAL_TERMINATION, is_flag, FOR_JOB},
    {PMIX_LOG_STDOUT, is_any, FOR_JOB}, /* a channel's name; its value would be the message */
    {PMIX_LOG_STDERR, is_any, FOR_JOB},
    {PMIX_LOG_SYSLOG, is_any, FOR_JOB},
    {PMIX_LOG_TIMESTAMP_OUTPUT, is_flag, FOR_JOB},
    {PMIX_LOG_GENERATE_TIMESTAMP, is_flag, FOR_JOB},
    {PMIX_FWD_STDIN, is_any, FOR_JOB}, /* a flag, and a process in older versions of the Standard */
    {PMIX_STDIN_TGT, is_any, FOR_JOB},
    {PMIX_FWD_STDOUT, is_flag, FOR_JOB},
    {PMIX_FWD_STDERR, is_flag, FOR_JOB},
    {PMIX_FWD_STDDIAG, is_flag, FOR_JOB},
    {PMIX_IOF_INHERIT, is_any, FOR_JOB},
    {PMIX_TAG_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_TAG_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_TAG_FULLNAME_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_TAG_DETAILED_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_RANK_OUTPUT, is_flag, FOR_JOB},
    {PMIX_TIMESTAMP_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_TIMESTAMP_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_XML_OUTPUT, is_flag, FOR_JOB},
    {PMIX_IOF_OUTPUT_RAW, is_flag, FOR_JOB},
    {PMIX_MERGE_STDERR_STDOUT, is_flag, FOR_JOB},
    {PMIX_IOF_MERGE_STDERR_STDOUT, is_flag, FOR_JOB},
    {PMIX_OUTPUT_TO_FILE, is_text, FOR_JOB},
    {PMIX_IOF_OUTPUT_TO_FILE, is_text, FOR_JOB},
    {PMIX_OUTPUT_TO_DIRECTORY, is_text, FOR_JOB},
    {PMIX_IOF_OUTPUT_TO_DIRECTORY, is_text, FOR_JOB},
    {PMIX_IOF_FILE_PATTERN, is_flag, FOR_JOB},
    {PMIX_IOF_FILE_ONLY, is_flag, FOR_JOB},
    {PMIX_OUTPUT_NOCOPY, is_flag, FOR_JOB},
    {PMIX_DEBUG_STOP_ON_EXEC, is_any, FOR_BOTH}, /* debug.c looks at these, required or not */
    {PMIX_DEBUG_STOP_IN_INIT, is_any, FOR_BOTH},
    {PMIX_DEBUG_STOP_IN_APP, is_any, FOR_BOTH},
    {PMIX_DEBUGGER_DAEMONS, is_flag, FOR_BOTH},
    {PMIX_DEBUG_TARGET, is_any, FOR_BOTH},
    {PMIX_DEBUG_JOB, is_text, FOR_BOTH},
    {PMIX_DEBUG_DAEMONS_PER_NODE, is_number, FOR_BOTH},
    {PMIX_DEBUG_DAEMONS_PER_PROC, is_number, FOR_BOTH},
    {PMIX_COSPAWN_APP, is_flag, FOR_APP},
    {PMIX_LAUNCH_DIRECTIVES, is_any, FOR_JOB},
    {PMIX_SPAWN_CHILD_SEP, is_flag, FOR_JOB},
    {PMIX_USERID, is_any, FOR_BOTH}, /* from here on what the library adds */
    {PMIX_GRPID, is_any, FOR_BOTH},
    {PMIX_SPAWNED, is_any, FOR_BOTH},
    {PMIX_PARENT_ID, is_any, FOR_BOTH},
    {PMIX_REQUESTOR_IS_CLIENT, is_any, FOR_BOTH},
    {PMIX_REQUESTOR_IS_TOOL, is_any, FOR_BOTH},
};

void directives_register(void) {
    enum { COUNT = sizeof kDirectives / sizeof *kDirectives };
    char *names[COUNT + 1], function[] = "spawn";
    size_t count = 0;
    for (size_t i = 0; i < COUNT && strcmp(kDirectives[i].key, PMIX_USERID) != 0; i++) {
        names[count++] = (char*)PMIx_Get_attribute_name(kDirectives[i].key); /* which is only read */
    }
    names[count] = NULL;
    PMIx_Register_attributes(function, names);
}

static pmix_status_t check(const pmix_info_t* info, unsigned level) {
    for (size_t i = 0; i < sizeof kDirectives / sizeof *kDirectives; i++) {
        const struct directive* directive = &kDirectives[i];
        if (!PMIX_CHECK_KEY(info, directive->key)) continue;
        if (!(directive->levels & level)) return PMIX_ERR_NOT_SUPPORTED;
        if (!directive->is(&info->value)) return PMIX_ERR_BAD_PARAM;
        bool unknown = PMIX_CHECK_KEY(info, PMIX_BINDTO) && !is_binding(&info->value);
        return unknown ? PMIX_ERR_NOT_SUPPORTED : PMIX_SUCCESS;
    }
    return PMIX_ERR_NOT_SUPPORTED;
}

pmix_status_t directives_check(const pmix_info_t* info, size_t ninfo, unsigned level) {
    pmix_status_t status = PMIX_SUCCESS;
    for (size_t i = 0; i < ninfo && status == PMIX_SUCCESS; i++) {
        if (PMIX_INFO_IS_REQUIRED(&info[i])) status = check(&info[i], level);
    }
    return status;
}

/* --- the environment ---------------------------------------------------------------------------------------------- */

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

/* The value at the front, and nowhere else. */
static void put_first(char*** env, const pmix_envar_t* envar, const char* old) {
    struct buffer rest = {0};
    for (const char* part = old; *old && part;) {
        const char* end = envar->separator ? strchr(part, envar->separator) : NULL;
        size_t length = end ? (size_t)(end - part) : strlen(part);
        /* An empty part means something: in a path, the working directory. */
        if (length != strlen(envar->value) || strncmp(part, envar->value, length) != 0) {
            if (envar->separator) wire_append(&rest, &envar->separator, 1);
            wire_append(&rest, part, length);
        }
        part = end ? end + 1 : NULL;
    }
    wire_append(&rest, "", 1);
    struct buffer all = {0};
    wire_append(&all, envar->value, strlen(envar->value));
    wire_append(&all, rest.data, rest.size);
    add_setting(env, envar->envar, (const char*)all.data, 0, "");
    wire_free(&all);
    wire_free(&rest);
}

void directives_apply(char*** env, const pmix_info_t* info, size_t ninfo) {
    for (size_t i = 0; i < ninfo; i++) {
        const pmix_value_t* value = &info[i].value;
        if (PMIX_CHECK_KEY(&info[i], PMIX_UNSET_ENVAR) && is_name_of_variable(value)) unset(env, value->data.string);
        if (!is_variable(value)) continue;
        const pmix_envar_t* envar = &value->data.envar;
        const char* old = current_value(*env, envar->envar);
        if (PMIX_CHECK_KEY(&info[i], PMIX_SET_ENVAR) || (PMIX_CHECK_KEY(&info[i], PMIX_ADD_ENVAR) && !old)) {
            add_setting(env, envar->envar, envar->value, 0, "");
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_PREPEND_ENVAR)) {
            add_setting(env, envar->envar, envar->value, envar->separator, old ? old : "");
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_APPEND_ENVAR)) {
            add_setting(env, envar->envar, old ? old : "", envar->separator, envar->value);
        } else if (PMIX_CHECK_KEY(&info[i], PMIX_FIRST_ENVAR)) {
            put_first(env, envar, old ? old : "");
        }
    }
}
