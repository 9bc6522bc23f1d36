#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs jobs by pmixrun and looks at the shape of what it prints of them: see the functions of the cases.

    forward_shapes.py CASE PMIXRUN CLIENT_FORWARD"""
import re
import signal
import subprocess
import sys


def run(arguments, **streams):
    command = [sys.argv[2]] + arguments
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True, **streams).stdout


def prompt():
    """A part of a line that nothing follows is shown, or the user would not see what is asked."""
    script = "printf 'name? '; read name; echo hello $name"
    command = [sys.argv[2], "-n", "1", "sh", "-c", script]
    job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
    seen = b""
    while not seen.endswith(b"? "):
        part = job.stdout.read(1)
        if not part:
            return False
        seen += part
    job.stdin.write(b"you\n")
    seen += job.stdout.read()
    return job.wait() == 0 and seen == b"name? hello you\n"


def tags():
    """A last line without its newline does not run into another's."""
    lines = run(["-n", "3", "--nodes", "2", "--tag-output", "printf", "x"]).splitlines()
    return sorted(lines) == [b"[1,%d]<stdout>: x" % rank for rank in range(3)]


def long():
    """Lines that are too long to be kept are shown in parts, of which each has its tag and a line of its own."""
    script = "for i in 1 2 3; do head -c 1000000 /dev/zero | tr '\\000' $PMIX_RANK; echo; done"
    count = [0, 0]
    for line in run(["-n", "2", "--nodes", "2", "--tag-output", "sh", "-c", script]).splitlines():
        shape = re.fullmatch(rb"\[1,([01])\]<stdout>: (0+|1+)", line)
        if not shape or shape[2][:1] != shape[1]:
            print(line[:40], line[-40:])
            return False
        count[int(shape[1])] += len(shape[2])
    print(count)
    return count == [3000000, 3000000]


def together():
    """No line of stdout is cut by one of stderr that goes to the same pipe."""
    script = "exec %s lines 2000000 >&$((PMIX_RANK + 1))" % sys.argv[3]
    lines = run(["-n", "2", "--nodes", "2", "sh", "-c", script], stderr=subprocess.STDOUT).splitlines()
    wrong = [line for line in lines if len(line) != 99]
    print(len(lines), wrong[:3])
    return len(lines) == 40000 and not wrong


def merged():
    """Merged streams keep the order in which they were written, and their lines."""
    script = "for i in 1 2 3; do echo out$i; echo err$i >&2; done; printf wh; printf o >&2; echo le"
    text = run(["-n", "1", "--merge-stderr", "sh", "-c", script])
    return text == b"out1\nerr1\nout2\nerr2\nout3\nerr3\nwhole\n"


signal.alarm(200)
good = {"prompt": prompt, "tags": tags, "long": long, "together": together, "merged": merged}[sys.argv[1]]()
print("OK" if good else "FAIL")
sys.exit(0 if good else 1)
