#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon of pmixrun ends, and its keeper's report of that is lost: pmixrun ends all the same. Run below run_clean.

    lost_report.py WITH COMMAND...    WITH: nothing, keeper (killed behind it, at its worst moment) or interrupt

COMMAND is pmixrun with a job whose ranks print a line with the word "up" and then wait for ever; it has --nodes and -n.

The pipe to the head is full while the keeper reports, which it does without waiting: as if it had been killed between
its waitpid() and its write()."""
import os
import signal
import struct
import subprocess
import sys
import time


def children(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % other, encoding="utf-8", errors="replace") as stat:
                parent = stat.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if int(parent) == pid:
            found.append(int(other))
    return sorted(found)


def pipes(pid, access):
    """The pipes of a process that it only reads, or only writes: the path of a descriptor by what it is of."""
    found = {}
    for fd in os.listdir("/proc/%d/fd" % pid):
        path = "/proc/%d/fd/%s" % (pid, fd)
        with open("/proc/%d/fdinfo/%s" % (pid, fd), encoding="ascii") as info:
            flags = int(info.read().split("flags:")[1].split()[0], 8)
        if os.readlink(path).startswith("pipe:") and flags & os.O_ACCMODE == access:
            found[os.readlink(path)] = path
    return found


def fill(path):
    fd = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    nobody = struct.pack("ii", -1, 0) * 512
    try:
        while True:
            os.write(fd, nobody)
    except BlockingIOError:
        os.close(fd)


def main():
    also, command = sys.argv[1], sys.argv[2:]
    ranks = int(command[command.index("-n") + 1])
    head = subprocess.Popen(command, stdout=subprocess.PIPE)
    up = 0
    while up < ranks:
        line = head.stdout.readline()
        if not line:
            sys.exit("the job ended before it was up")
        up += line.startswith(b"up")
    (keeper,) = children(head.pid)
    daemon = children(keeper)[0]
    theirs, its = pipes(head.pid, os.O_RDONLY), pipes(keeper, os.O_WRONLY)
    (line,) = set(theirs) & set(its)
    os.kill(head.pid, signal.SIGSTOP)
    fill(its[line])
    os.kill(daemon, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while os.path.exists("/proc/%d" % daemon):
        if time.monotonic() > deadline:
            sys.exit("the keeper has not reaped the daemon")
        time.sleep(0.01)
    if also == "keeper":
        os.kill(keeper, signal.SIGKILL)
    os.kill(head.pid, signal.SIGCONT)
    if also == "interrupt":
        os.kill(head.pid, signal.SIGINT)
    try:
        status = head.wait(100)
    except subprocess.TimeoutExpired:
        head.kill()
        sys.exit("pmixrun waits for a daemon that has ended")
    wanted = (128 + signal.SIGINT, 128 + signal.SIGKILL) if also == "interrupt" else (128 + signal.SIGKILL,)
    if status not in wanted:
        sys.exit("exit status %d, wanted %s" % (status, wanted))


main()
