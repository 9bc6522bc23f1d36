#!/usr/bin/env python3
"""Kills a part of a running job, and waits until nothing of it is there any more. Run below run_clean, which then looks
whether that is so.

    kill_launcher.py WHAT SIGNAL STATUS COMMAND...    WHAT: head, daemon, rank, all

COMMAND is pmixrun with a job whose ranks print a line with the word "up" and then wait for ever; it has --nodes and -n
so that there are at least two of each. STATUS: pmixrun's wanted exit status (128+N for a signal)."""
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


def alive(pid):
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def main():
    what, number, wanted, command = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
    ranks = int(command[command.index("-n") + 1])
    head = subprocess.Popen(command, stdout=subprocess.PIPE)
    up = 0
    while up < ranks:
        line = head.stdout.readline()
        if not line:
            sys.exit("the job ended before it was up")
        up += line.startswith(b"up")
    daemons = children(head.pid)
    processes = [rank for daemon in daemons for rank in children(daemon)]
    assert len(daemons) > 1 and len(processes) == ranks, (daemons, processes)
    victims = {"head": [head.pid], "daemon": daemons[:1], "rank": processes[:1], "all": [head.pid] + daemons}[what]
    for pid in victims:
        os.kill(pid, number)
    status = head.wait(30)
    status = 128 - status if status < 0 else status
    deadline = time.monotonic() + 20
    everything = daemons + processes
    while any(map(alive, everything)) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = [pid for pid in everything if alive(pid)]
    if left or status != wanted:
        sys.exit("left: %s; exit status %d, wanted %d" % (left, status, wanted))


main()
