/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include "daemon/daemon.h"

typedef struct {
    char name[96], unit[16], agg[8];
    double* v;
    size_t n, cap;
} metric_t;
static metric_t* metrics;
static size_t nmetrics;

void report_add(const char* name, double v, const char* unit, const char* agg) {
    size_t i;
    for (i = 0; i < nmetrics; i++)
        if (strcmp(metrics[i].name, name) == 0) break;
    if (i == nmetrics) {
        metrics = realloc(metrics, (nmetrics + 1) * sizeof *metrics);
        memset(&metrics[nmetrics], 0, sizeof *metrics);
        snprintf(metrics[i].name, sizeof metrics[i].name, "%s", name);
        snprintf(metrics[i].unit, sizeof metrics[i].unit, "%s", unit);
        snprintf(metrics[i].agg, sizeof metrics[i].agg, "%s", agg);
        nmetrics++;
    }
    metric_t* m = &metrics[i];
    if (m->n == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 16;
        m->v = realloc(m->v, m->cap * sizeof *m->v);
    }
    m->v[m->n++] = v;
}
double report_print(void) {
    double errors = -1;
    for (size_t i = 0; i < nmetrics; i++) {
        metric_t* m = &metrics[i];
        double sum = 0, max = m->v[0];
        for (size_t j = 0; j < m->n; j++) {
            sum += m->v[j];
            if (m->v[j] > max) max = m->v[j];
        }
        if (strcmp(m->agg, "sum") == 0) {
            printf("%s %.10g %s\n", m->name, sum, m->unit);
            if (strcmp(m->name, "errors") == 0) errors = sum;
        } else if (strcmp(m->agg, "max") == 0) {
            printf("%s %.10g %s\n", m->name, max, m->unit);
        } else {
            printf("%s %.10g %s\n", m->name, median_(m->v, m->n), m->unit);
            if (m->n > 1) printf("%s.max %.10g %s\n", m->name, max, m->unit);
        }
    }
    return errors;
}
int report_read(void) {
    int got = 0;
    for (int r = 0; r < job.procs; r++) {
        char path[PATH_MAX + 64], line[256], name[96], unit[16], agg[8];
        double v;
        snprintf(path, sizeof path, "%s/rank.%d", run.results, r);
        FILE* f = fopen(path, "r");
        if (!f) continue;
        got++;
        while (fgets(line, sizeof line, f)) {
            if (line[0] == '#') {
                printf("%s", line);
                continue;
            }
            if (sscanf(line, "%95s %lf %15s %7s", name, &v, unit, agg) == 4) report_add(name, v, unit, agg);
        }
        fclose(f);
    }
    return got;
}
