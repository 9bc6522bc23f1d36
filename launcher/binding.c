/* SPDX-License-Identifier: BSD-3-Clause */
#include "binding.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "wire.h"

/* --- texts -------------------------------------------------------------------------------------------------------- */

/* The tag is what the place is called in a locality. */
static const struct name {
    const char *name, *other_name, *tag;
} kNames[BIND_TARGETS] = {
    [BIND_NONE] = {"none", "none", "  "}, [BIND_HWTHREAD] = {"hwthread", "hwthread", "HT"},
    [BIND_CORE] = {"core", "core", "CR"}, [BIND_L1] = {"l1cache", "l1", "L1"},
    [BIND_L2] = {"l2cache", "l2", "L2"},  [BIND_L3] = {"l3cache", "l3", "L3"},
    [BIND_NUMA] = {"numa", "numa", "NM"}, [BIND_PACKAGE] = {"package", "socket", "SK"},
};

const char* binding_name(enum target target) {
    return kNames[target].name;
}

static bool is_name(const char* text, size_t length, const char* name) {
    return strlen(name) == length && strncasecmp(text, name, length) == 0;
}

bool binding_read(const char* text, struct binding* binding) {
    if (!text) text = kNames[BIND_NONE].name;
    const size_t length = strcspn(text, ":");
    int target = 0;
    while (target < BIND_TARGETS && !is_name(text, length, kNames[target].name) &&
           !is_name(text, length, kNames[target].other_name))
        target++;
    if (target == BIND_TARGETS) return false;
    const char* how = text[length] ? text + length + 1 : NULL;
    const bool allowed = how && strcasecmp(how, "overload-allowed") == 0;
    if (how && !allowed && strcasecmp(how, "no-overload") != 0) return false;
    binding->target = (enum target)target;
    if (how) binding->overload = allowed;
    return true;
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

void cpus_write(const cpu_set_t* cpus, char text[CPUS_TEXT]) {
    size_t used = 0;
    text[0] = 0;
    for (int first = 0, last; first < CPU_SETSIZE; first = last + 1) {
        last = first;
        if (!CPU_ISSET(first, cpus)) continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, cpus)) last++;
        used += (size_t)snprintf(text + used, CPUS_TEXT - used, "%s%d", used ? "," : "", first);
        if (last > first) used += (size_t)snprintf(text + used, CPUS_TEXT - used, "-%d", last);
    }
}

/* --- places ------------------------------------------------------------------------------------------------------- */

void places_clear(struct places* places) {
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        for (int target = 0; target < BIND_TARGETS; target++) places->of[cpu][target] = kNoPlace;
        places->of[cpu][BIND_HWTHREAD] = (int16_t)cpu;
    }
}

void places_read(struct places* places, int cpu, const char* locality) {
    for (const char* item = strchr(locality, ':'); item; item = strchr(item + 1, ':')) {
        for (int target = BIND_CORE; target < BIND_TARGETS; target++) {
            const char* number = item + 1 + strlen(kNames[target].tag);
            if (strncmp(item + 1, kNames[target].tag, strlen(kNames[target].tag)) != 0) continue;
            if (*number < '0' || *number > '9') continue;
            const unsigned long place = strtoul(number, NULL, 10);
            if (place <= INT16_MAX) places->of[cpu][target] = (int16_t)place;
        }
    }
}

struct share { /* one of the places */
    cpu_set_t cpus;
    uint32_t most, used; /* processes */
};

static uint32_t cores_of(const struct places* places, const cpu_set_t* cpus) {
    uint32_t count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, cpus)) continue;
        const int16_t core = places->of[cpu][BIND_CORE];
        bool seen = false;
        for (int before = 0; before < cpu && core != kNoPlace && !seen; before++)
            seen = CPU_ISSET(before, cpus) && places->of[before][BIND_CORE] == core;
        count += !seen;
    }
    return count;
}

/* The places in the order of their first CPUs. */
static uint32_t divide(const struct places* places, const cpu_set_t* from, enum target target, struct share* shares) {
    uint32_t count = 0;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        const int16_t place = places->of[cpu][target];
        if (!CPU_ISSET(cpu, from) || place == kNoPlace) continue;
        uint32_t i = 0;
        while (i < count && !CPU_ISSET(cpu, &shares[i].cpus)) i++;
        if (i < count) continue;
        CPU_ZERO(&shares[count].cpus);
        for (int other = cpu; other < CPU_SETSIZE; other++) {
            if (CPU_ISSET(other, from) && places->of[other][target] == place) CPU_SET(other, &shares[count].cpus);
        }
        shares[count].most = cores_of(places, &shares[count].cpus);
        count++;
    }
    return count;
}

enum deal binding_deal(const struct places* places, const cpu_set_t* from, struct binding binding, uint32_t count,
                       cpu_set_t* cpus) {
    struct share* shares = xcalloc(CPU_SETSIZE, sizeof *shares);
    const uint32_t all = divide(places, from, binding.target, shares);
    uint32_t most = 0, left = 0, next = 0;
    for (uint32_t i = 0; i < all; i++) most += shares[i].most;
    const bool fits = all > 0 && (count <= most || binding.overload);
    for (uint32_t i = 0; fits && i < count; i++, left--) {
        if (left == 0) { /* all are full, and begin again */
            for (uint32_t k = 0; k < all; k++) shares[k].used = 0;
            left = most;
            next = 0;
        }
        while (shares[next].used == shares[next].most) next = (next + 1) % all;
        cpus[i] = shares[next].cpus;
        shares[next].used++;
        next = (next + 1) % all;
    }
    free(shares);
    return all == 0 ? DEAL_NO_PLACE : fits ? DEALT : DEAL_OVERLOAD;
}
