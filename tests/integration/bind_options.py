#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""pmixrun --bind-to and --report-bindings: a line for each process that says what the process finds, and sentences for
what cannot be had.

usage: bind_options.py PMIXRUN"""
import os
import re
import subprocess
import sys

PMIXRUN = sys.argv[1]
CPUS = sorted(os.sched_getaffinity(0))
SAY = "import os; print('HAS', ','.join(map(str, sorted(os.sched_getaffinity(0)))), flush=True)"
LINE = re.compile(r"pmixrun: \[1,(\d+)\] on node(\d+) is (not bound|bound to (?:(\w+) (\d+), )?CPUs? ([0-9,-]+))")


def check(right, *what):
    if not right:
        print("FAIL", *what, flush=True)
        sys.exit(1)


def run(*options, ranks, env=None):
    return subprocess.run([PMIXRUN, "-n", str(ranks), *options, "--tag-output", sys.executable, "-c", SAY],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120,
                          env={**os.environ, **(env or {})})


def numbers(text):
    found = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def bound(to, *options, ranks, env=None):
    """What each rank reports; it is what the rank has."""
    done = run("--report-bindings", "--bind-to", to, *options, ranks=ranks, env=env)
    check(done.returncode == 0, to, done)
    has = {int(rank): numbers(cpus) for rank, cpus in re.findall(r"\[1,(\d+)\]<stdout>: ?HAS ([0-9,]+)", done.stdout)}
    lines = [LINE.fullmatch(line) for line in done.stderr.splitlines()]
    check(len(lines) == ranks and all(lines), to, done)
    report = {int(line[1]): line for line in lines}
    check(sorted(report) == list(range(ranks)) == sorted(has), to, done)
    for rank, line in report.items():
        check(has[rank] == (CPUS if line[3] == "not bound" else numbers(line[6])), to, rank, done)
    return report


def refused(sentence, *options, ranks=1, status=127, env=None):
    done = run(*options, ranks=ranks, env=env)
    check(done.returncode == status and sentence in done.stderr and "HAS" not in done.stdout, options, done)


quiet = run("--bind-to", "hwthread", ranks=1)
check(quiet.returncode == 0 and quiet.stderr == "", quiet)
check(all(line[3] == "not bound" for line in bound("none", ranks=2).values()))
threads = bound("hwthread:overload-allowed", ranks=len(CPUS) + 1) if len(CPUS) < 64 else bound("hwthread", ranks=64)
for rank, line in threads.items():
    check(numbers(line[6]) == [CPUS[rank % len(CPUS)]], rank, line[0])
for rank, line in bound("Core", "--nodes", "2", ranks=2).items():
    check(line[4] == "core" and numbers(line[6])[0] == CPUS[0] and int(line[2]) == rank + 1, line[0])

refused("--bind-to wants", "--bind-to", "fridge", status=2)
refused("--bind-to wants", "--bind-to", "core:some", status=2)
if len(CPUS) < 64:
    refused("too many processes to bind; hwthread:overload-allowed", "--bind-to", "hwthread", ranks=len(CPUS) + 1)
    refused("too many processes to bind", "--nodes", "2", "--bind-to", "package", ranks=2 * len(CPUS) + 1)

# A machine with a package for each of the first processors, and no caches.
made = {"HWLOC_SYNTHETIC": "pack:%d core:1 pu:1" % (CPUS[-1] + 1)}
for rank, line in bound("socket", ranks=min(len(CPUS), 8), env=made).items():
    check(line[4] == "package" and int(line[5]) == CPUS[rank] and numbers(line[6]) == [CPUS[rank]], line[0])
refused("this machine has no l3cache", "--bind-to", "l3", env=made)
print("OK")
