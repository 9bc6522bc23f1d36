#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills a part of a running job, and waits until nothing of it is there any more. Run below run_clean, which then looks
whether that is so.

    kill_launcher.py WHAT SIGNAL STATUS COMMAND...    WHAT: some of head, keeper, daemon, daemons, rank, as head+daemon

COMMAND is pmixrun with a job whose ranks print a line with the word "up" and then wait for ever; it has --nodes and -n.
What the ranks started by then is looked at as well. STATUS: pmixrun's wanted exit status (128+N for a signal).

All victims are stopped before the first of them is killed, so that none sees another go: as if it were one moment."""
import os
import signal
import subprocess
import sys
import time


def children(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % other, encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if int(parent) == pid and state != "Z":
            found.append(int(other))
    return sorted(found)


def descendants(pid):
    found = children(pid)
    return found + [below for child in found for below in descendants(child)]


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def stop(pid):
    """Stops a process; all of its threads stand still when this returns."""
    os.kill(pid, signal.SIGSTOP)
    for thread in os.listdir("/proc/%d/task" % pid):
        while True:
            try:
                with open("/proc/%d/task/%s/stat" % (pid, thread), encoding="utf-8", errors="replace") as stat:
                    if stat.read().rpartition(")")[2].split()[0] in "TZX":
                        break
            except OSError:
                break
            os.sched_yield()


def main():
    what, number, wanted, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    ranks, nodes = (int(command[command.index(option) + 1]) for option in ("-n", "--nodes"))
    head = subprocess.Popen(command, stdout=subprocess.PIPE)
    up = 0
    while up < ranks:
        line = head.stdout.readline()
        if not line:
            sys.exit("the job ended before it was up")
        up += line.startswith(b"up")
    keepers = children(head.pid)
    assert len(keepers) == 1, keepers
    daemons = children(keepers[0])
    processes = [rank for daemon in daemons for rank in children(daemon)]
    assert len(daemons) == nodes and len(processes) >= ranks, (daemons, processes)
    started = [process for rank in processes for process in descendants(rank)]
    groups = {"head": [head.pid], "keeper": keepers, "daemon": daemons[:1], "daemons": daemons, "rank": processes[:1]}
    victims = [pid for name in what.split("+") for pid in groups[name]]
    if len(victims) > 1:
        for pid in victims:
            stop(pid)
    for pid in victims:
        os.kill(pid, number)
    status = head.wait(100)
    status = 128 - status if status < 0 else status
    deadline = time.monotonic() + 60
    everything = keepers + daemons + processes + started
    while any(map(alive, everything)) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = [pid for pid in everything if alive(pid)]
    if left or status != wanted:
        sys.exit("left: %s; exit status %d, wanted %d" % (left, status, wanted))


main()
