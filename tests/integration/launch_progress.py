#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What pmixrun writes to a terminal while it launches a job, and that it writes nothing elsewhere.

usage: launch_progress.py CASE --pmixrun FILE --slow FILE
cases: slow    a launch of some seconds: a line rewritten in place, and gone at the end
       failed  one whose program is not there: the reason has a line of its own
       quick   a launch of an instant: nothing
       piped   a launch of some seconds, standard error is a pipe: nothing
slow_exec is preloaded in each: it delays every program's start by a fixed time."""
import argparse
import os
import pty
import re
import subprocess
import sys
import time

LINE = re.compile(r"\r\x1b\[Kpmixrun: (\d+) of (\d+) processes are up")
GONE = "\r\x1b[K"


def check(condition, *what):
    if not condition:
        print("FAIL", *what)
        sys.exit(1)


def started(options, delay_ms, arguments, terminal):
    """Exit status and what is on standard error."""
    environment = dict(os.environ, LD_PRELOAD=options.slow, SLOW_EXEC_MS=str(delay_ms))
    command = [options.pmixrun, *arguments]
    if not terminal:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              text=True, env=environment, timeout=300, check=False)
        return done.returncode, done.stderr
    master, slave = pty.openpty()
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave, env=environment)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 65536)
        except OSError:  # the last descriptor of the other end is closed
            break
        if not part:
            break
        text += part
    os.close(master)
    return job.wait(300), text.decode()


def slow(options):
    status, text = started(options, 400, ["-n", "12", "--nodes", "2", "true"], True)
    check(status == 0, status, repr(text))
    shown = [(int(up), int(size)) for up, size in LINE.findall(text)]
    check(shown and all(size == 12 and 0 < up <= 12 for up, size in shown), repr(text))
    check([up for up, _ in shown] == sorted(up for up, _ in shown) and shown[0][0] < 12, shown)
    check("\n" not in text and LINE.sub("", text) == GONE, "a line is left", repr(text))


def failed(options):
    status, text = started(options, 3000, ["-n", "1", "no-such-program"], True)
    check(status == 127, status, repr(text))
    check(LINE.search(text) and LINE.sub("", text).startswith(GONE + "pmixrun: cannot run no-such-program:"), repr(text))
    check(text.endswith("\r\n"), repr(text))


def quick(options):
    begin = time.monotonic()
    status, text = started(options, 0, ["-n", "2", "true"], True)
    took = time.monotonic() - begin
    check(status == 0 and (text == "" or took > 2), status, took, repr(text))


def piped(options):
    status, text = started(options, 3000, ["-n", "1", "true"], False)
    check(status == 0 and text == "", status, repr(text))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["slow", "failed", "quick", "piped"])
    parser.add_argument("--pmixrun", required=True)
    parser.add_argument("--slow", required=True)
    options = parser.parse_args()
    globals()[options.case](options)
    print("OK", options.case)


if __name__ == "__main__":
    main()
