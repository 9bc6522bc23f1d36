#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands that wait end when there is nothing left to wait for, and take along what they have started.

usage: commands_end.py CASE PMIXRUN PEVENT WIREUP_TOP
cases: gone         the server of pevent --listen has gone: exit status 3
       full         what they print cannot be written: exit status 1
       interrupted  wireup-top --through ends by a signal: so does what it has started"""
import os
import signal
import subprocess
import sys
import time

CASE, PMIXRUN, PEVENT, TOP = sys.argv[1:5]


def check(right, *what):
    if not right:
        print("FAIL", CASE, *what, flush=True)
        sys.exit(1)


def gone():
    job = subprocess.Popen([PMIXRUN, "sh", "-c", "echo up; cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    job.stdout.readline()
    command = subprocess.Popen([PEVENT, "--listen", "--wait", "PMIX_EVENT_JOB_START"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    time.sleep(1)
    check(command.poll() is None, command.poll())
    job.stdin.close()
    check(job.wait(120) == 0, job.returncode)
    out, error = command.communicate(timeout=120)
    check(command.returncode == 3 and b"the server has gone" in error, command.returncode, out, error)


def full():
    for command in ([PEVENT, "--help"], [TOP, "--version"], [TOP, "--help"]):
        with open("/dev/full", "w") as disk:
            done = subprocess.run(command, stdout=disk, stderr=subprocess.PIPE, timeout=120)
        check(done.returncode == 1 and b"cannot write" in done.stderr, done)


def interrupted():
    for number in (signal.SIGINT, signal.SIGTERM):
        read, write = os.pipe()
        os.set_inheritable(write, True)
        command = subprocess.Popen([TOP, "--through", "echo up >&%d; sleep 100; :" % write], pass_fds=[write],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write)
        check(os.read(read, 3) == b"up\n")
        command.send_signal(number)
        check(command.wait(120) == -number, command.returncode)
        check(os.read(read, 1) == b"", "it goes on")  # by its end alone
        os.close(read)


globals()[CASE]()
print("OK", CASE)
