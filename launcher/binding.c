/* SPDX-License-Identifier: BSD-3-Clause */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool binding_read(const char* text, enum binding* binding) {
    static const char* const names[] = {[BIND_NONE] = "none", [BIND_HWTHREAD] = "hwthread", [BIND_CORE] = "core"};
    *binding = BIND_NONE;
    if (!text) return true;
    for (int i = BIND_NONE; i <= BIND_CORE; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *binding = (enum binding)i;
        return true;
    }
    return false;
}

static bool read_cpu(const char** text, unsigned* cpu) {
    char* end;
    if (**text < '0' || **text > '9') return false;
    unsigned long number = strtoul(*text, &end, 10);
    if (number >= CPU_SETSIZE) return false;
    *cpu = (unsigned)number;
    *text = end;
    return true;
}

bool cpus_read(const char* text, cpu_set_t* cpus) {
    CPU_ZERO(cpus);
    for (;;) {
        unsigned first, last;
        if (!read_cpu(&text, &first)) return false;
        last = first;
        if (*text == '-' && (text++, !read_cpu(&text, &last) || last < first)) return false;
        for (unsigned cpu = first; cpu <= last; cpu++) CPU_SET(cpu, cpus);
        if (*text == 0 || *text == '\n') return true;
        if (*text++ != ',') return false;
    }
}

/* What shares a core with that CPU, itself included; itself alone where the kernel does not say. */
static void core_of(int cpu, cpu_set_t* core) {
    char path[96], text[4096];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
    FILE* file = fopen(path, "re");
    bool known = file && fgets(text, sizeof text, file) && cpus_read(text, core) && CPU_ISSET(cpu, core);
    if (file) fclose(file);
    if (known) return;
    CPU_ZERO(core);
    CPU_SET(cpu, core);
}

/* Takes the first CPU, or the core of it, out of `from`. */
static void take_one(cpu_set_t* from, enum binding binding, cpu_set_t* taken) {
    int cpu = 0;
    while (!CPU_ISSET(cpu, from)) cpu++;
    CPU_ZERO(taken);
    CPU_SET(cpu, taken);
    if (binding == BIND_CORE) core_of(cpu, taken);
    CPU_AND(taken, taken, from);
    CPU_XOR(from, from, taken);
}

void binding_make(const char* list, enum binding binding, uint32_t number, cpu_set_t* cpus) {
    cpu_set_t listed, left, taken;
    if (sched_getaffinity(0, sizeof *cpus, cpus) != 0) CPU_ZERO(cpus);
    if (list && cpus_read(list, &listed)) CPU_AND(cpus, cpus, &listed);
    if (binding == BIND_NONE || CPU_COUNT(cpus) == 0) return;
    uint32_t places = 0;
    for (left = *cpus; CPU_COUNT(&left) > 0; places++) take_one(&left, binding, &taken);
    left = *cpus;
    for (uint32_t i = 0; i <= number % places; i++) take_one(&left, binding, &taken);
    *cpus = taken;
}
