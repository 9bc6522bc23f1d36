/* SPDX-License-Identifier: BSD-3-Clause */
#include "jobio.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job.h"

/* --- the attributes of a spawn ------------------------------------------------------------------------------------ */

static bool any_true(const pmix_info_t* infos, size_t count, const char* key, const char* older) {
    return info_true(infos, count, key) || info_true(infos, count, older);
}

static char* any_string(const pmix_info_t* infos, size_t count, const char* key, const char* older) {
    const char* text = info_string(infos, count, key);
    if (!text) text = info_string(infos, count, older);
    return text ? xstrdup(text) : NULL;
}

/* A rank; from older callers a truth value, which means the first. */
static pmix_rank_t input_target(const pmix_info_t* infos, size_t count) {
    const pmix_value_t* value = info_find(infos, count, PMIX_FWD_STDIN);
    if (!value) value = info_find(infos, count, PMIX_STDIN_TGT);
    if (!value) return PMIX_RANK_INVALID;
    if (value->type == PMIX_PROC_RANK) return value->data.rank;
    if (value->type == PMIX_PROC) return value->data.proc ? value->data.proc->rank : PMIX_RANK_INVALID;
    if (value->type == PMIX_BOOL) return value->data.flag ? 0 : PMIX_RANK_INVALID;
    return (pmix_rank_t)info_number(
        infos, count, info_find(infos, count, PMIX_FWD_STDIN) ? PMIX_FWD_STDIN : PMIX_STDIN_TGT, PMIX_RANK_INVALID);
}

void jobio_of_spawn(struct job_io* io, const pmix_info_t* infos, size_t count) {
    memset(io, 0, sizeof *io);
    io->tag = any_true(infos, count, PMIX_IOF_TAG_OUTPUT, PMIX_TAG_OUTPUT);
    io->fullname = info_true(infos, count, PMIX_IOF_TAG_FULLNAME_OUTPUT);
    io->detailed = info_true(infos, count, PMIX_IOF_TAG_DETAILED_OUTPUT);
    io->rank_tag = info_true(infos, count, PMIX_IOF_RANK_OUTPUT);
    io->timestamp = any_true(infos, count, PMIX_IOF_TIMESTAMP_OUTPUT, PMIX_TIMESTAMP_OUTPUT);
    io->xml = info_true(infos, count, PMIX_IOF_XML_OUTPUT);
    io->raw = info_true(infos, count, PMIX_IOF_OUTPUT_RAW);
    io->merge = any_true(infos, count, PMIX_IOF_MERGE_STDERR_STDOUT, PMIX_MERGE_STDERR_STDOUT);
    io->pattern = info_true(infos, count, PMIX_IOF_FILE_PATTERN);
    io->file = any_string(infos, count, PMIX_IOF_OUTPUT_TO_FILE, PMIX_OUTPUT_TO_FILE);
    io->directory = any_string(infos, count, PMIX_IOF_OUTPUT_TO_DIRECTORY, PMIX_OUTPUT_TO_DIRECTORY);
    io->file_only = jobio_has_files(io) && any_true(infos, count, PMIX_IOF_FILE_ONLY, PMIX_OUTPUT_NOCOPY);
    io->diagnostics = info_true(infos, count, PMIX_FWD_STDDIAG);
    io->apart = info_find(infos, count, PMIX_IOF_INHERIT) && !info_true(infos, count, PMIX_IOF_INHERIT);
    io->stdin_to = input_target(infos, count);
}

/* --- in a frame --------------------------------------------------------------------------------------------------- */

static bool* flag_at(struct job_io* io, size_t i) {
    bool* const flags[] = {&io->tag,   &io->rank_tag,  &io->timestamp, &io->xml,      &io->raw,
                           &io->merge, &io->file_only, &io->pattern,   &io->numbered, &io->diagnostics,
                           &io->apart, &io->fullname,  &io->detailed};
    return i < sizeof flags / sizeof *flags ? flags[i] : NULL;
}

void jobio_put(struct buffer* b, const struct job_io* io) {
    struct job_io copy = *io;
    for (size_t i = 0; flag_at(&copy, i); i++) wire_put_u8(b, *flag_at(&copy, i));
    wire_put_string(b, io->file);
    wire_put_string(b, io->directory);
    wire_put_u32(b, io->stdin_to);
}

void jobio_get(struct buffer* b, struct job_io* io) {
    memset(io, 0, sizeof *io);
    for (size_t i = 0; flag_at(io, i); i++) *flag_at(io, i) = wire_get_u8(b);
    io->file = wire_get_string(b);
    io->directory = wire_get_string(b);
    io->stdin_to = wire_get_u32(b);
}

void jobio_destruct(struct job_io* io) {
    free(io->file);
    free(io->directory);
    io->file = io->directory = NULL;
}

/* --- what it means ------------------------------------------------------------------------------------------------ */

bool jobio_has_stdin(const struct job_io* io, pmix_rank_t rank) {
    return io->stdin_to == PMIX_RANK_WILDCARD || io->stdin_to == rank;
}

bool jobio_has_files(const struct job_io* io) {
    return io->file || io->directory;
}

bool jobio_shares_file(const struct job_io* io) {
    return !io->directory && io->file && io->pattern && !strstr(io->file, "%r");
}

bool jobio_marks_lines(const struct job_io* io) {
    return io->tag || io->fullname || io->detailed || io->rank_tag || io->timestamp || io->xml;
}

static void append_text(struct buffer* b, const char* text) {
    wire_append(b, text, strlen(text));
}

static void append_number(struct buffer* b, uint32_t number) {
    char text[16];
    snprintf(text, sizeof text, "%u", number);
    append_text(b, text);
}

static void append_pattern(struct buffer* path, const char* pattern, const struct job* job, pmix_rank_t rank) {
    for (; *pattern; pattern++) {
        if (pattern[0] == '%' && pattern[1] == 'n')
            append_text(path, job->nspace);
        else if (pattern[0] == '%' && pattern[1] == 'r')
            append_number(path, rank);
        else
            wire_append(path, pattern, 1);
        pattern += pattern[0] == '%' && (pattern[1] == 'n' || pattern[1] == 'r');
    }
}

char* jobio_path(const struct job_io* io, const struct job* job, pmix_rank_t rank, const char* stream) {
    struct buffer path = {0};
    if (io->directory) {
        append_text(&path, io->directory);
        append_text(&path, "/");
        if (io->numbered)
            append_number(&path, job->number);
        else
            append_text(&path, job->nspace);
        append_text(&path, "/rank.");
        append_number(&path, rank);
        append_text(&path, "/");
    } else if (io->pattern) {
        append_pattern(&path, io->file, job, rank);
        append_text(&path, ".");
    } else {
        append_text(&path, io->file);
        append_text(&path, ".");
        append_text(&path, job->nspace);
        append_text(&path, ".");
        append_number(&path, rank);
        append_text(&path, ".");
    }
    wire_append(&path, stream, strlen(stream) + 1);
    return (char*)path.data;
}

void jobio_empty_shared_file(const struct job_io* io, const struct job* job) {
    static const char* const streams[] = {"stdout", "stderr", "stddiag"};
    for (size_t i = 0; jobio_shares_file(io) && i < sizeof streams / sizeof *streams; i++) {
        char* path = jobio_path(io, job, 0, streams[i]);
        int file = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
        if (file >= 0) close(file);
        free(path);
    }
}

static void append_time(const time_t* at, struct buffer* text) {
    char date[64], fraction[16];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) now = (struct timespec){.tv_sec = *at};
    if (!localtime_r(&now.tv_sec, &parts)) memset(&parts, 0, sizeof parts); /* a year beyond an int */
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(fraction, sizeof fraction, ".%03d", (int)(now.tv_nsec / 1000000));
    append_text(text, date);
    append_text(text, fraction);
}

/* As the library's own tag: [node:pid]. */
static void append_place(struct buffer* text, const struct job* job, pmix_rank_t rank) {
    append_text(text, "[node");
    append_number(text, job_node_of(job, rank) + 1);
    append_text(text, ":");
    append_number(text, (uint32_t)job->procs[rank].pid);
    append_text(text, "]");
}

void jobio_begin_line(const struct job_io* io, const struct job* job, pmix_rank_t rank, const char* stream,
                      struct buffer* text) {
    if (io->xml) {
        append_text(text, "<");
        append_text(text, stream);
        append_text(text, " nspace=\"");
        append_text(text, job->nspace);
        append_text(text, "\" rank=\"");
        append_number(text, rank);
        if (io->timestamp) {
            append_text(text, "\" timestamp=\"");
            append_time(io->at, text);
        }
        append_text(text, "\">");
        return;
    }
    if (!jobio_marks_lines(io)) return;
    if (io->timestamp) append_time(io->at, text);
    bool named = io->fullname || io->detailed;
    if (named || io->tag || io->rank_tag) append_text(text, "[");
    if (named) append_text(text, job->nspace);
    if (!named && io->tag) append_number(text, job->number);
    if (named || io->tag) append_text(text, ",");
    if (named || io->tag || io->rank_tag) {
        append_number(text, rank);
        append_text(text, "]");
    }
    if (io->detailed) append_place(text, job, rank);
    append_text(text, "<");
    append_text(text, stream);
    append_text(text, ">: ");
}

void jobio_text(const struct job_io* io, const uint8_t* bytes, size_t size, struct buffer* text) {
    if (!io->xml) {
        wire_append(text, bytes, size);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        char number[8];
        snprintf(number, sizeof number, "&#%03d;", bytes[i]);
        if (bytes[i] < ' ' || bytes[i] == 0x7f || strchr("&<>", bytes[i]))
            append_text(text, number);
        else
            wire_append(text, &bytes[i], 1);
    }
}

size_t jobio_whole_lines(const uint8_t* bytes, size_t size) {
    while (size > 0 && bytes[size - 1] != '\n') size--;
    return size;
}

void jobio_end_line(const struct job_io* io, const char* stream, struct buffer* text) {
    if (io->xml) {
        append_text(text, "</");
        append_text(text, stream);
        append_text(text, ">");
    }
    append_text(text, "\n");
}
