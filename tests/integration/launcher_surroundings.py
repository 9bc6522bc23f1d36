#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What pmixrun does with the streams, signals, children and limits that it is started with.

usage: launcher_surroundings.py CASE PMIXRUN [PROGRAM]
cases: full_stderr   nobody reads stderr: --timeout ends the job all the same
       full_both     nor the one pipe that stdout and stderr are
       own_children  a shell's children that were there before it became pmixrun by exec are left alone
       ignored       signals that were ignored at its start (nohup) end nothing
       closed        its standard streams are closed
       kill_after    processes that do not end by SIGTERM have the seconds that were granted
       descriptors   a job whose node needs more descriptors than the soft limit, which its processes have as it was
       many_apps     numbers of processes whose sum no machine could start
       passed_on     signals that are the application's own
       full_disk     what it writes cannot be kept
       many_logs     a process logs faster than anybody reads"""
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

CASE, PMIXRUN = sys.argv[1:3]


def check(right, *what):
    if not right:
        print("FAIL", CASE, *what, flush=True)
        sys.exit(1)


def without_reader(command, both):
    """Its exit status; what it writes goes into a pipe that nobody reads."""
    read, write = os.pipe()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=write if both else subprocess.DEVNULL, stderr=write,
                          timeout=120)
    os.close(read)
    os.close(write)
    return done.returncode


def full_stderr():
    check(without_reader([PMIXRUN, "--timeout", "1", "sh", "-c", "yes >&2"], False) == 124)


def full_both():
    check(without_reader([PMIXRUN, "--timeout", "1", "sh", "-c", "yes >&2 & yes"], True) == 124)


def own_children():
    with tempfile.TemporaryDirectory() as folder:
        script = "(sleep 2; echo here >%s/late) & exec %s -n 1 true" % (folder, PMIXRUN)
        check(subprocess.run(["bash", "-c", script], timeout=120).returncode == 0)
        for _ in range(600):
            if os.path.exists(folder + "/late"):
                return
            time.sleep(0.1)
        check(False, "the shell's own child was ended")


def ignored():
    for number in (signal.SIGHUP, signal.SIGINT):
        run = subprocess.Popen([PMIXRUN, "-n", "2", "sh", "-c", "echo up; sleep 1"], stdout=subprocess.PIPE,
                               preexec_fn=lambda n=number: signal.signal(n, signal.SIG_IGN))
        run.stdout.readline()  # it has started
        run.send_signal(number)
        run.stdout.read()
        check(run.wait(120) == 0, number, run.returncode)
    run = subprocess.Popen([PMIXRUN, "sh", "-c", "echo up; sleep 60"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    run.stdout.readline()
    run.send_signal(signal.SIGHUP)
    check(run.wait(120) == 128 + signal.SIGHUP, run.returncode)


def closed():
    script = "%s -n 2 sh -c 'echo out; echo err >&2' <&- >&- 2>&-" % PMIXRUN
    check(subprocess.run(["bash", "-c", script], timeout=120).returncode == 0)


def kill_after():
    # Both are on its way: 12 seconds are more than the nodes have to quit.
    stubborn = "trap 'echo asked' TERM; while :; do sleep 0.2; done"
    begin = time.monotonic()
    done = subprocess.run([PMIXRUN, "--kill-after", "12", "--timeout", "1", "bash", "-c", stubborn],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=240)
    check(done.returncode == 124 and b"asked" in done.stdout, done)
    check(time.monotonic() - begin >= 13, "it was ended before")
    check(b"badly" not in done.stderr, done.stderr)


def descriptors():
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = 256
    if hard != resource.RLIM_INFINITY and hard < 2048:
        sys.exit(77)
    done = subprocess.run([PMIXRUN, "-n", "150", "sh", "-c", "ulimit -Sn"], stdout=subprocess.PIPE, timeout=240,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard)))
    check(done.returncode == 0 and done.stdout.split() == [b"%d" % soft] * 150, done)
    few = 24
    done = subprocess.run([PMIXRUN, "-n", "8", "true"], stderr=subprocess.PIPE, timeout=240,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (few, few)))
    check(done.returncode != 0 and b"Too many open files" in done.stderr, done)


def many_apps():
    apps = []
    for _ in range(5000):
        apps += [":", "-n", "1000000", "true"]
    done = subprocess.run([PMIXRUN, *apps[1:]], stderr=subprocess.PIPE, timeout=120)
    check(done.returncode == 2 and b"too many processes" in done.stderr, done)


def passed_on():
    script = "trap 'echo one; exit 0' USR1; trap 'echo two; exit 0' USR2; echo up; while :; do sleep 0.1; done"
    for number, word in ((signal.SIGUSR1, b"one\n"), (signal.SIGUSR2, b"two\n")):
        run = subprocess.Popen([PMIXRUN, "-n", "3", "--nodes", "2", "bash", "-c", script], stdout=subprocess.PIPE)
        for _ in range(3):
            check(run.stdout.readline() == b"up\n")
        run.send_signal(number)
        check(run.stdout.read() == word * 3)
        check(run.wait(120) == 0, number, run.returncode)


def full_disk():
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([PMIXRUN, "echo", "lost"], stdout=full, stderr=subprocess.PIPE, timeout=120)
        check(done.returncode == 1 and b"No space left" in done.stderr, done)
        done = subprocess.run([PMIXRUN, "sh", "-c", "echo lost >&2"], stderr=full, timeout=120)
        check(done.returncode == 1, done)


def memory_of(pid):
    with open("/proc/%d/status" % pid, encoding="ascii") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def many_logs():
    # 100 MB, of which two nodes may have one each on their way.
    entries, size, bound = 5000, 20000, 32 << 10
    read, write = os.pipe()
    run = subprocess.Popen([PMIXRUN, "-n", "1", sys.argv[3], "flood", str(entries), str(size)], stdout=write)
    os.close(write)
    time.sleep(3)
    check(run.poll() is None, "nobody has read it")
    check(memory_of(run.pid) < bound, memory_of(run.pid))
    got = 0
    while chunk := os.read(read, 1 << 16):
        got += chunk.count(b"x")
    check(run.wait(120) == 0 and got == entries * size, run.returncode, got)


globals()[CASE]()
print("OK", CASE)
