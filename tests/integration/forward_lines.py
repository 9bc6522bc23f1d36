#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads what pmixrun prints of a job that writes numbered lines, checks that each rank's are all there and in order, and
that no process of pmixrun's has grown beyond a bound.

    forward_lines.py RANKS LINES MIB STALL COMMAND...

MIB: the most memory that pmixrun or one of its daemons may have used at any time; 0: not looked at. STALL: 1: reads
nothing until the whole job has come to a stop; it must then have bounded what it keeps."""
import os
import subprocess
import sys


def stat_of(pid):
    with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
        return stat.read().rpartition(")")[2].split()


def family(pid):
    found = [pid]
    for other in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if int(stat_of(other)[1]) == pid:
                found += family(other)
        except OSError:
            continue
    return found


def peak(pid):
    try:
        with open("/proc/%d/status" % pid, encoding="utf-8") as status:
            lines = status.read().splitlines()
    except OSError:
        return 0
    return max([int(line.split()[1]) for line in lines if line.startswith("VmHWM")] + [0])


def ticks(pids):
    total = 0
    for pid in pids:
        try:
            fields = stat_of(pid)
            total += int(fields[11]) + int(fields[12])
        except OSError:
            continue
    return total


def main():
    ranks, lines, mib, stall = map(int, sys.argv[1:5])
    command = subprocess.Popen(sys.argv[5:], stdout=subprocess.PIPE)
    seen, most, good = [0] * ranks, 0, True
    first = command.stdout.readline()
    if stall:
        # Nobody has used the processor for a while: everybody waits for us.
        quiet, before = 0, -1
        while quiet < 5:
            os.waitid(os.P_PID, command.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            now = ticks(family(command.pid))
            quiet, before = (quiet + 1, now) if now == before else (0, now)
            subprocess.run(["sleep", "0.1"], check=True)
    count = 0
    for line in [first] + [None]:
        while line or (line := command.stdout.readline()):
            rank, number = map(int, line.split()[:2])
            good = good and seen[rank] == number and len(line) == 100
            seen[rank] += 1
            count += 1
            if mib and count % 50000 == 1:
                most = max([most] + [peak(pid) for pid in family(command.pid)])
            line = None
    status = command.wait()
    print("%d lines, peak %d KiB, status %d" % (count, most, status))
    if status or not good or seen != [lines] * ranks or (mib and most > mib * 1024):
        print("FAIL", good, seen)
        return 1
    return 0


sys.exit(main())
