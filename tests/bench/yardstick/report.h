/* SPDX-License-Identifier: BSD-3-Clause */
/* The figures of a run: those of the daemons as they come, those of the clients from their files. The parent's one
 * thread. A figure that several processes took is their median and ".max", their sum or their maximum. */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

void report_add(const char* name, double v, const char* unit, const char* aggregation);
/* The clients' lines: those that begin with # are printed. How many files there were. */
int report_read(void);
/* Prints all; the sum of the metric errors, -1 without it. */
double report_print(void);
#endif
