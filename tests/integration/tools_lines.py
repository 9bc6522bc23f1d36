#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the commands make of unusual values, command lines and environments.

    tools_lines.py CASE --pmixrun FILE --commands DIR --program FILE

CASE  values  NaN, infinite numbers, bytes that are no UTF-8 and arrays: JSON that every reader takes
      inside  a command that is killed in the environment of a rank: the rank connects after it, and is not lost
      wrong   numbers that no int holds, empty names, an address that is none: status 2; a starter that fails: status 1
      closed  stdout is closed: what is printed goes nowhere, and the command says so
      stopped the server is stopped: pps ends in time
      sessions two jobs of one user in two folders: each is found by its folder, its name, its launcher, and from inside
      verbose pmixrun -v: the names and processes by which a job is found

Prints OK CASE."""
import argparse
import json
import os
import re
import signal
import subprocess

from tools_drive import Job, check, pid_of, run, start


def values(options):
    job = start(options, "values", 2)
    of = lambda key: json.loads(run(options, "plookup", "--uri", job.uris[0], "--json", key),
                                parse_constant=lambda word: check(False, key, word))[key]["value"]
    check(of("values.none") is None and of("values.open") == [None, 1.5], of("values.none"), of("values.open"))
    check(of("values.numbers") == [1, -2, 3] and of("values.truths") == [True, False], of("values.numbers"))
    # One replacement for each byte that is in no character; a half of a pair of UTF-16 is none.
    check(of("values.text") == "caf\ufffd \u00e9 \ufffd\ufffd\ufffd", of("values.text"))
    text = run(options, "plookup", "--uri", job.uris[0], "values.numbers")
    check(text.startswith("values.numbers: 1, -2, 3 (from "), text)
    job.end()


def inside(options):
    command = os.path.join(options.commands, "pevent")
    for end in "KILL", "INT":
        script = "exec 3>&2 2>/dev/null; timeout -s %s 1 %s --listen -3999; exec %s serve 2>&3" % (end, command, options.program)
        job = Job(options, "-n", "2", "sh", "-c", script)
        # They have all fenced.
        lines = job.lines(2)
        check(all(line.startswith("READY ") for line in lines), end, lines)
        job.end()


def wrong(options):
    many = "4294967296"
    for command, *arguments in (["pevent", many], ["pevent", "--listen", "--for", "9223372036854775807", "-3001"],
                                ["plookup", "--wait-for-keys", "--wait-seconds", many, "key"],
                                ["pps", "--timeout", many], ["pps", "--pid", many], ["pquery", "--timeout-query", many, "key"],
                                ["pps", "--timeout-query", many], ["wireup-top", "--interval", many], ["pevent", "--target", "", "-3000"],
                                ["pevent", "--target", ":0", "-3000"], ["pevent", "--target", "n" * 256, "-3000"],
                                ["pps", "--uri", ""], ["pps", "--nspace", ""], ["pps", "--nspace="], ["plookup", ""],
                                ["plookup", "k" * 512], ["pctrl", "--kill", ""], ["pquery", "--qualifier", "=1", "key"]):
        said = run(options, command, *arguments, status=2)
        check(said.startswith(command + ": ") and "\nusage: " in said, command, arguments, said)
    check("there is no code " + many in run(options, "pevent", many, status=2))
    for command in "pps", "wireup-top":
        check(command + ": no such server address\n" in run(options, command, "--uri", "nobody", status=2))
    said = run(options, "wireup-top", "--once", "--through", "false", status=1)
    check("no reports come" in said and "no server answers" not in said, said)
    run(options, "wireup-top", "--once", "--through", "true", status=3)


def closed(options):
    job = start(options, "serve", 2)
    for command, *arguments in ["pps"], ["pquery", "PMIX_QUERY_NAMESPACES"], ["wireup-top", "--once"]:
        line = [os.path.join(options.commands, command), "--uri", job.uris[0], *arguments]
        done = subprocess.run(["sh", "-c", 'exec "$@" >&- <&-', "sh", *line], stderr=subprocess.PIPE, text=True, timeout=100,
                              check=False)
        check(done.returncode == 1 and done.stderr == command + ": cannot write: Bad file descriptor\n", command, done)
    # What prints nothing has nothing to lose.
    line = [os.path.join(options.commands, "pevent"), "--uri", job.uris[0], "-3999"]
    check(subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *line], timeout=100, check=False).returncode == 0)
    job.end()


def stopped(options):
    job = start(options, "serve", 2, nodes=2)
    first = {pid_of(uri): uri for uri in job.uris}
    check(len(first) == 2, job.uris)
    for pid, uri in first.items():
        other = [one for one in first if one != pid][0]
        os.kill(other, signal.SIGSTOP)
        said = run(options, "pps", "--uri", uri, "--timeout-query", "1", job.nspace, status=1)
        os.kill(other, signal.SIGCONT)
        check("PMIX_ERR_TIMEOUT" in said, said)
    job.end()


def sessions(options):
    top, jobs = os.environ["TMPDIR"], []
    for name in "a", "b":
        os.environ["TMPDIR"] = os.path.join(top, name)
        os.mkdir(os.environ["TMPDIR"])
        jobs.append(start(options, "serve", 2))
    os.environ["TMPDIR"] = top
    for command in "pps", "pquery", "wireup-top":
        arguments = {"pps": [], "pquery": ["PMIX_QUERY_NAMESPACES"], "wireup-top": ["--once"]}[command]
        for job, other, folder in (*jobs, "a"), (*jobs[::-1], "b"):
            launcher = job.process.pid
            ways = [["--nspace", job.nspace], ["--nspace", job.nspace.rpartition(".")[0]], ["--pid", str(launcher)],
                    ["--pid", str(pid_of(job.uris[0]))], ["--uri", job.uris[0]]]
            for way in ways:
                out = run(options, command, *way, *arguments)
                check(job.nspace in out and other.nspace not in out, command, way, out)
            if command == "wireup-top":  # it shows all servers where none is named
                continue
            for variable in "PMIX_SERVER_TMPDIR", "PMIX_SYSTEM_TMPDIR", "TMPDIR":
                os.environ[variable] = os.path.join(top, folder)
                out = run(options, command, *arguments)
                check(job.nspace in out and other.nspace not in out, command, variable, out)
                del os.environ[variable]
                os.environ["TMPDIR"] = top
    # Without a choice: all jobs, or the list.
    out = run(options, "pps")
    check(all("job %s\n" % job.nspace in out for job in jobs), out)
    check(set(json.loads(run(options, "pps", "--json"))) == {job.nspace for job in jobs})
    said = run(options, "pquery", "PMIX_QUERY_NAMESPACES", status=1)
    check(said.startswith("pquery: several servers may be meant"), said)
    for job, folder in zip(jobs, "ab"):
        line = r"^  %s:0  pid %d  folder %s/" % (job.nspace.rpartition(".")[0], pid_of(job.uris[0]), os.path.join(top, folder))
        check(re.search(line, said, re.M), line, said)
    os.environ["PMIX_SERVER_TMPDIR"] = os.path.join(top, "none")
    check("no server answers" in run(options, "pps", status=3))
    del os.environ["PMIX_SERVER_TMPDIR"]
    check("no server answers" in run(options, "pps", "--nspace", "nobody", status=3))
    # A command that a job's process starts is that job's, with an empty environment too.
    command = "env -i %s" % os.path.join(options.commands, "pps")
    inside = subprocess.run([options.pmixrun, "-n", "1", "sh", "-c", command], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, text=True, timeout=100, check=True).stdout
    check(inside.startswith("job ") and inside.count("job ") == 1, inside)
    check(not any(job.nspace in inside for job in jobs), inside)
    for job, folder in zip(jobs, "ab"):
        job.end()
        os.rmdir(os.path.join(top, folder))


def verbose(options):
    done = subprocess.run([options.pmixrun, "-v", "-n", "2", "--nodes", "2", "sh", "-c", "echo $PMIX_RANK is $$"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=True)
    launcher = re.search(r"^pmixrun: process (\d+), servers (wireup\.\1)$", done.stderr, re.M)
    check(launcher, done.stderr)
    servers = launcher.group(2)
    check("pmixrun: job %s.1: 2 processes\n" % servers in done.stderr, done.stderr)
    for rank in 0, 1:
        daemon = r"^pmixrun: node%d: the daemon is process \d+, its server %s:%d$" % (rank + 1, servers, rank)
        check(re.search(daemon, done.stderr, re.M), daemon, done.stderr)
        process = re.search(r"^%d is (\d+)$" % rank, done.stdout, re.M).group(1)
        check("pmixrun: node%d: %s.1:%d is process %s\n" % (rank + 1, servers, rank, process) in done.stderr, done.stderr)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["closed", "inside", "sessions", "stopped", "values", "verbose", "wrong"])
    for file in "--pmixrun", "--commands", "--program":
        parser.add_argument(file, required=True)
    parser.set_defaults(mpirun=None)
    options = parser.parse_args()
    globals()[options.case](options)
    print("OK", options.case)


if __name__ == "__main__":
    main()
