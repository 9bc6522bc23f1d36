# SPDX-License-Identifier: BSD-3-Clause
"""What a case prints beside its own output when it has failed: the command that repeats it, the last lines of the logs of
its processes and, where it did not end in time, their stacks."""
import collections
import os
import re
import shlex
import shutil
import subprocess
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOP_IN_TEXT = re.compile(re.escape(TOP) + r"(?![\w.-])")
# The variables that a case may depend on. The others are those of a shell.
VARIABLES = re.compile(r"(WIREUP|PMIX|OMPI|PRTE|HWLOC|CAMPAIGN|IN_ROOT)_|LD_(LIBRARY_PATH|PRELOAD)$|(A|L|T|UB)SAN_OPTIONS$")
LOGS, LOG_LINES, LINE_LENGTH = 20, 15, 300
STACKS, STACK_LINES = 16, 100
# Seconds; ctest's own limit leaves two minutes. Without lines a stack takes gdb a tenth of the time.
ONE_STACK, STACKS_WITH_LINES, ALL_STACKS = 20, 30, 60
TROUBLE = re.compile(r" (error|warn): ")


def _word(text):
    """As a shell in the top folder of the tree reads it, on this machine or another one."""
    return '"$PWD"'.join(shlex.quote(part) if part else "" for part in TOP_IN_TEXT.split(text)) or "''"


def command_line(words):
    """The command as a line for a shell, which is in the top folder of the tree."""
    settings = ["%s=%s" % (name, _word(value)) for name, value in sorted(os.environ.items()) if VARIABLES.match(name)]
    program = os.path.abspath(words[0]) if os.sep in words[0] else words[0]
    if program.startswith(TOP + os.sep):
        program = os.path.relpath(program, TOP)
    return " ".join(settings + [shlex.quote(program)] + [_word(word) for word in words[1:]])


def _named(pid, command):
    return "process %s%s" % (pid, " (%s)" % command[:LINE_LENGTH] if command else "")


def last_lines(folder, commands):
    """The ends of the logs in the folder, whose names end with the number of a process. Those with a warning go first."""
    logs = []
    for name in os.listdir(folder):
        try:
            pid = int(name.rpartition(".")[2])
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as log:
                end = [line.rstrip("\n")[:LINE_LENGTH] for line in collections.deque(log, LOG_LINES)]
        except (OSError, ValueError):
            continue  # another user's, or no log of the library
        if end:
            logs.append((not any(map(TROUBLE.search, end)), pid, end))
    lines = []
    for _, pid, end in sorted(logs)[:LOGS]:
        lines.append("the log of %s ends with" % _named(pid, commands.get(pid)))
        lines += ["    " + line for line in end]
    if len(logs) > LOGS:
        lines.append("the logs of %d more processes are left out" % (len(logs) - LOGS))
    return lines


def descendants():
    """All processes below this one, parents first: pid -> command."""
    below = collections.defaultdict(list)
    for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
                state, parent = stat.read().rpartition(")")[2].split()[:2]
            with open("/proc/%d/cmdline" % pid, "rb") as command:
                text = command.read().replace(b"\0", b" ").decode(errors="replace").strip()
        except OSError:
            continue  # it has ended
        below[int(parent)].append((pid, text + " [zombie]" if state == "Z" else text))
    found, parents = {}, [os.getpid()]
    for parent in parents:
        found.update(below[parent])
        parents += [pid for pid, _ in below[parent]]
    return found


def _stack(gdb, pid, seconds):
    """What gdb says of one process: its threads and their frames, or why there are none."""
    command = gdb + ["-nx", "-batch", "-iex", "set debuginfod enabled off", "-p", str(pid), "-ex", "thread apply all bt 12"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as problem:
        return ["gdb shows nothing: %s" % problem]
    lines = [line[:LINE_LENGTH] for line in done.stdout.decode(errors="replace").splitlines() if line.strip()]
    start = next((number for number, line in enumerate(lines) if line.startswith("Thread ")), None)
    if start is None:
        return lines[-3:]
    lines = [line for line in lines[start:] if not line.startswith("[Inferior ")]
    return lines[:STACK_LINES] + ["..."] * (len(lines) > STACK_LINES)


def stacks(processes, folder):
    """The stacks of these processes (pid -> command), as far as there is time for them. Those that have a log in the folder
    use the library, and go first."""
    gdb = shutil.which("gdb")
    if processes and not gdb:
        return ["gdb is not installed: the stacks of these processes are not shown"] + [
            "    " + _named(*process) for process in processes.items()]
    logged = {name.rpartition(".")[2] for name in os.listdir(folder)}
    lines, begin = [], time.monotonic()
    for shown, pid in enumerate(sorted(processes, key=lambda pid: str(pid) not in logged)):
        spent = time.monotonic() - begin
        if shown == STACKS or spent >= ALL_STACKS:
            lines.append("the stacks of %d more processes are left out" % (len(processes) - shown))
            break
        lines.append("the stacks of " + _named(pid, processes[pid]))
        how = [gdb] if spent < STACKS_WITH_LINES else [gdb, "--readnever"]
        lines += ["    " + line for line in _stack(how, pid, min(ONE_STACK, ALL_STACKS - spent))]
    return lines
