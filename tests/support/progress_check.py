#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The progress of long runs: a line on a terminal that is gone at the end, and nothing elsewhere. progress.py,
progress.sh, and what uses them: tests/engines/root, with commands that stand for wget and mmdebstrap, and where they
are given, large_job (progress.h) and the programs of a build for tests/fault/campaign/run.

usage: progress_check.py [--large-job FILE] [--campaign BUILD]"""
import argparse
import os
import pty
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "engines", "root")
CAMPAIGN = os.path.join(HERE, "..", "fault", "campaign", "run")
NOT_PERMITTED = 77
GONE = "\r\x1b[K"


def run(command, terminal, **environment):
    """Exit status, standard output, standard error."""
    environment = dict(os.environ, **environment)
    if not terminal:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=300, check=False)
        return done.returncode, done.stdout, done.stderr
    master, slave = pty.openpty()
    job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=slave, env=environment, text=True)
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
    out, _ = job.communicate(timeout=300)
    return job.returncode, out, text.decode()


def check(condition, *what):
    if not condition:
        print("FAIL", *map(repr, what))
        sys.exit(1)


def left(text):
    """What the last line of the terminal shows in the end."""
    return text.replace("\r\n", "\n").split("\n")[-1].split(GONE)[-1]


PYTHON = """
import sys
sys.path.insert(0, %r)
from progress import Progress
with Progress() as progress:
    progress.say("first"), progress.say("x" * 1000), progress.hide()
    print("a word", file=sys.stderr)
    progress.say("last")
""" % HERE

SHELL = """
set -eu
. "$0/progress.sh"
log=$(mktemp)
trap 'progress_hide; rm -f "$log"' EXIT
echo "of the log" >"$log"
progress_say "first" "$log"
if [ -t 2 ]; then sleep 4; fi
progress_say "last"
"""


def long_runs(given):
    """Real ones, small: a job of six processes on three nodes, and seconds of a campaign."""
    runs = []
    if given.large_job:
        runs.append(([given.large_job, "3", "2"], {}, ["large_job: 3 nodes of 2 processes"]))
    if given.campaign:
        # Of what it finds to be wrong fault/campaign is the test, with limits for a run of more than a moment.
        runs.append(([CAMPAIGN, given.campaign, "--seconds", "3", "--kills", "5", "--jobs", "2", "--launches", "1"],
                     {"CAMPAIGN_SLACK_KIB": "4194304"},
                     ["campaign: jobs, 1 s of 3", "campaign: launch 1 of 1, "]))
    for command, environment, said in runs:
        for terminal in True, False:
            status, out, text = run(command, terminal, **environment)
            check(status == 0 and out.count("\n") >= 1, command, terminal, status, out, text)
            check(all((GONE + line in text) == terminal for line in said), command, terminal, text)
            check(left(text) == "" and "\x1b" not in out and (terminal or text == ""), command, terminal, out, text)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--large-job")
    arguments.add_argument("--campaign")
    given = arguments.parse_args()
    for command, first in ([sys.executable, "-c", PYTHON], GONE + "first" + GONE + "xxx"), (["bash", "-c", SHELL, HERE], "first: of the log"):
        status, _, text = run(command, True)
        check(status == 0 and first in text and "last" in text and left(text) == "", command, status, text)
        check(all(len(part) <= 80 for part in text.replace("\r\n", "\n").replace("\n", GONE).split(GONE)), text)
        status, _, text = run(command, False)
        check(status == 0 and text in ("", "a word\n"), command, status, text)

    folder = tempfile.mkdtemp(prefix="progress-check.")
    try:
        commands = os.path.join(folder, "bin")
        os.mkdir(commands)
        stand_ins = {"wget": "exit 0", "id": "echo 0", "unshare": 'while [ "${1#-}" != "$1" ]; do shift; done; exec "$@"',
                     "mmdebstrap": 'while [ $# -gt 2 ]; do shift; done; mkdir -p "$1"; echo "Setting up gcc"; sleep $STAND_IN_SECONDS'}
        for name, body in stand_ins.items():
            path = os.path.join(commands, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + body + "\n")
            os.chmod(path, 0o755)
        for terminal in True, False:
            roots = os.path.join(folder, "roots%d" % terminal)
            status, out, text = run([ROOT, "sid"], terminal, PATH=commands + ":" + os.environ["PATH"], WIREUP_ROOTS=roots,
                                    STAND_IN_SECONDS="4" if terminal else "0")
            may_make = not (status == NOT_PERMITTED and "needs the right to make devices" in text)
            if not may_make:
                break
            check(status == 0 and out == roots + "/sid\n", status, out, text)
            check(("sid: installing packages: Setting up gcc" in text) == terminal, text)
            check(left(text) == "" and ("\x1b" in text) == terminal, text)
            check(text.replace("\r\n", "\n").count("\n") == 1, "one line stays: what is made", text)
    finally:
        shutil.rmtree(folder)
    long_runs(given)
    if not may_make:
        print("not permitted here: devices, for the root of another release; all else passed")
        sys.exit(NOT_PERMITTED)
    print("OK")


if __name__ == "__main__":
    main()
