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
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from progress_check import check, run  # noqa: E402

LINE = re.compile(r"\r\x1b\[Kpmixrun: (\d+) of (\d+) processes are up")
GONE = "\r\x1b[K"


def started(options, delay_ms, arguments, terminal):
    """Exit status and what is on standard error."""
    status, _, text = run([options.pmixrun, *arguments], terminal, LD_PRELOAD=options.slow, SLOW_EXEC_MS=str(delay_ms))
    return status, text


def slow(options):
    status, text = started(options, 1000, ["-n", "12", "--nodes", "2", "true"], True)
    check(status == 0, status, repr(text))
    shown = [(int(up), int(size)) for up, size in LINE.findall(text)]
    check(all(size == 12 and up <= 12 for up, size in shown), repr(text))
    check(any(0 < up < 12 for up, _ in shown), repr(text))
    check([up for up, _ in shown] == sorted(up for up, _ in shown) and shown[0][0] < 12, shown)
    check("\n" not in text and LINE.sub("", text) == GONE, "a line is left", repr(text))


def failed(options):
    status, text = started(options, 6000, ["-n", "1", "no-such-program"], True)
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
