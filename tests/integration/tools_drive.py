#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands against a running pmixrun job.

    tools_drive.py CASE --pmixrun FILE --commands DIR [--program FILE] [--mpirun FILE --library DIR]

CASE  across    a job of three nodes: one command names the missing ranks of all, by the resource manager and by a starter
      commands  each command against a job that waits: its output, as text and as JSON, and its exit status
      foreign   each command against a host that serves no tools
      hang      a rank never comes to the fence of the others: wireup-top must name it, and one that never connected
      hang_report  wireup-top --report: what is in the file, and what is not
      loop      the same with a rank that computes, which is told from one that is stopped and from those that wait
      silent    a server is stopped: wireup-top shows it with its process, and its exit status is 1
      stuck     a server whose host never returns from an upcall, asleep or computing: shown like one that is stopped
      servers   on a terminal: keys that choose a server and fold its jobs, and show where the missing wait in the kernel
      keys      on a terminal: wireup-top goes on until q is pressed, and leaves the terminal as it was
      nodes     a job of two nodes: pps says so when it shows one of them
      counters  wireup-top --counters: each line is of Prometheus' format, and counters only go up
      refused   root's servers as another user sees them
      upcalls   a request that the host holds: wireup-top shows it
      invited   an invitation to a group that is open: wireup-top shows it with the processes that have not answered
      none      no server answers: one sentence and status 3; wrong command lines: status 2
      pages     --help and --man say the same options

--mpirun: instead of pmixrun, Open MPI's launcher with the libpmix of that directory.

Prints OK CASE."""
import argparse
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import termios
import time

COMMANDS = ["pmix_info", "pps", "pquery", "pevent", "plookup", "pattrs", "palloc", "pctrl", "wireup-top"]


def check(condition, *what):
    if not condition:
        print("FAIL", *what)
        sys.exit(1)


class Job:
    """A job that waits until it is killed."""

    def __init__(self, options, *arguments):
        command, environment = [options.pmixrun], dict(os.environ)
        if options.mpirun:
            command = [options.mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
            environment["LD_LIBRARY_PATH"] = options.library
        self.process = subprocess.Popen([*command, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env=environment)
        self.uris, self.nspace = [], None

    def lines(self, n):
        return [self.process.stdout.readline().strip() for _ in range(n)]

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=100)


def run(options, command, *arguments, status=0):
    done = subprocess.run([os.path.join(options.commands, command), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    check(done.returncode == status, command, arguments, done.returncode, done.stdout, done.stderr)
    return done.stderr if status != 0 else done.stdout


def start(options, case, ranks, nodes=1):
    """The ranks print the URI of their server and the job's name before they wait."""
    nodes_too = [] if options.mpirun else ["--nodes", str(nodes)]
    job = Job(options, "-n", str(ranks), *nodes_too, options.program, case)
    for line in job.lines(ranks):
        check(line.startswith("READY "), line)
        _, job.nspace, rank, uri = line.split(" ", 3)
        if uri not in job.uris:
            job.uris.append(uri)
    return job


def parameters(options):
    """pmix_info --param: our own variables, those of the page about them and no others."""
    with open(VARIABLES, encoding="utf-8") as page:
        names = [n for row in re.findall(r"^\| (`.*?) \|", page.read(), re.M) for n in re.findall("`([^`]+)`", row)]
    check({"WIREUP_LOG", "PMIX_SERVER_URI41", "HOME"} <= set(names), names)
    os.environ["WIREUP_USER_MEMORY"] = "12345"
    os.environ["PMIX_WIREUP_TOKEN"] = "a proof"
    for operands in [], ["all"], ["all", "all"]:
        text = run(options, "pmix_info", "--param", *operands)
        check(re.findall(r"^(\S+): ", text, re.M) == names, text)
        check('\nWIREUP_USER_MEMORY: "12345"\n' in text and "\nWIREUP_UNMAPPED_USERS: not set\n" in text, text)
        check('\nPMIX_WIREUP_TOKEN: "set"\n' in text and "a proof" not in text, text)
        check("ITEM[,ITEM...][@DESTINATION], an ITEM is" in text, text)
    listed = json.loads(run(options, "pmix_info", "--param", "all", "all", "--json"))
    check(list(listed) == names and listed["WIREUP_USER_MEMORY"]["value"] == "12345", listed)
    check("value" not in listed["WIREUP_UNMAPPED_USERS"] and listed["WIREUP_OPENPMIX"]["read by"] == "servers", listed)
    check(listed["PMIX_WIREUP_TOKEN"]["value"] == "set", listed)
    del os.environ["WIREUP_USER_MEMORY"], os.environ["PMIX_WIREUP_TOKEN"]
    check("only --param takes all" in run(options, "pmix_info", "all", status=2))


def commands(options):
    job = start(options, "serve", 2)
    uri = ["--uri", job.uris[0]]
    out = run(options, "pps", *uri)
    check(job.nspace in out and len(re.findall(r"^ +[01] node1 +\d+ ", out, re.M)) == 2, out)
    table = json.loads(run(options, "pps", "--json", *uri))[job.nspace]
    check(sorted(row["proc"] for row in table) == [job.nspace + ":0", job.nspace + ":1"], table)
    pids = [int(row["pid"]) for row in table]
    check(run(options, "pquery", *uri, "PMIX_QUERY_NAMESPACES") == "PMIX_QUERY_NAMESPACES: %s\n" % job.nspace)
    size = json.loads(run(options, "pquery", "--json", *uri, "--qualifier", "PMIX_NSPACE=" + job.nspace, "PMIX_JOB_SIZE"))
    check(size == {"PMIX_JOB_SIZE": 2}, size)
    check("NOT" in run(options, "pquery", *uri, "no.such.key", status=1))
    # A value takes the type of its attribute, whatever it looks like.
    for name, value in ("PMIX_NSPACE", "12345"), ("pmix.nspace", "true"):
        said = run(options, "pquery", *uri, "--qualifier", name + "=" + value, "PMIX_JOB_SIZE", status=1)
        check("PMIX_ERR_NOT_FOUND" in said, said)
    for qualifier in ["PMIX_NSPACE=" + job.nspace, "PMIX_RANK=1"], ["PMIX_PROCID=" + job.nspace + ":1"]:
        settings = [word for one in qualifier for word in ("--qualifier", one)]
        row = [row for row in table if row["proc"] == job.nspace + ":1"][0]
        check(run(options, "pquery", *uri, *settings, "PMIX_PROC_PID") == "PMIX_PROC_PID: %s\n" % row["pid"], settings)
    check(run(options, "plookup", *uri, "tools.test") == "tools.test: published (from %s:0)\n" % job.nspace)
    looked = json.loads(run(options, "plookup", "--json", *uri, "tools.test"))
    check(looked["tools.test"] == {"value": "published", "publisher": job.nspace + ":0"}, looked)
    run(options, "plookup", *uri, "no.such.key", status=1)
    check("PMIx_Get" in run(options, "pattrs", "--client"))
    check("PMIX_TIMEOUT" in run(options, "pattrs", "--client", "PMIx_Get"))
    for form in [], ["--json"]:
        said = run(options, "pattrs", *form, "--client", "PMIx_Get", "PMIx_Nothing", status=1)
        check("PMIx_Nothing" in said and "PMIX_ERR_NOT_FOUND" in said, said)
    check("PMIx_server_init" in run(options, "pattrs", *uri, "--server"))
    info = run(options, "pmix_info", "--functions")
    check("Wireup" in info and "PMIx_tool_init" in info, info)
    check("Wireup" in json.loads(run(options, "pmix_info", "--json"))["library"])
    parameters(options)
    run(options, "palloc", *uri, "--nodes", "4", status=1)  # pmixrun has no allocations
    # An event that the ranks wait for; each says so.
    run(options, "pevent", *uri, "--target", job.nspace, "--info", "a.key=a value", "-3107")
    check(sorted(job.lines(2)) == ["HEARD 0", "HEARD 1"])
    listener = subprocess.Popen([os.path.join(options.commands, "pevent"), *uri, "--listen", "--for", "60", "-3108"],
                                stdout=subprocess.PIPE, text=True)
    for _ in range(300):  # until it listens
        run(options, "pevent", *uri, "-3108")
        if listener.poll() is not None:
            break
        time.sleep(0.05)
    check("-3108" in listener.communicate(timeout=100)[0] and listener.returncode == 0)
    # The namespace of a tool is a target as that of a job is. pmixrun numbers its tools: the listener is the one before
    # the first that raises the event.
    listener = subprocess.Popen([os.path.join(options.commands, "pevent"), *uri, "--listen", "--for", "60", "--count", "3", "-3110"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env={**os.environ, "WIREUP_LOG": "api=info@stderr"})
    check("init 1 of a tool" in listener.stderr.readline())
    run(options, "pevent", *uri, "-3110")
    kind, number = re.search(r" from (\S+\.tool\.0\.)(\d+):0 ", listener.stdout.readline()).groups()
    tool = "%s%d" % (kind, int(number) - 1)
    for target in tool, tool + ":0":
        run(options, "pevent", *uri, "--target", target, "-3110")
    check(listener.communicate(timeout=100)[0].count("-3110") == 2 and listener.returncode == 0)
    # Stopped, and let go again.
    run(options, "pctrl", *uri, "--pause", job.nspace + ":1")
    stat = lambda pid: open("/proc/%d/stat" % pid, encoding="utf-8").read().rpartition(")")[2].split()[0]
    stopped = lambda: [p for p in pids if stat(p) == "T"]
    end = time.monotonic() + 60
    while len(stopped()) != 1 and time.monotonic() < end:
        time.sleep(0.01)
    check(len(stopped()) == 1, stopped())
    run(options, "pctrl", *uri, "--resume", job.nspace)
    while stopped() and time.monotonic() < end:
        time.sleep(0.01)
    check(not stopped())
    for name, *arguments in (["pctrl", "--kill", "no-such-job"], ["pctrl", "--pause", job.nspace, "no-such-job:0"],
                             ["pevent", "--target", "no-such-job", "-3109"]):
        said = run(options, name, *uri, *arguments, status=1)
        check(said == "%s: there is no job no-such-job\n" % name, name, arguments, said)
    said = run(options, "pevent", *uri, "--target", job.nspace + ":0,999", "-3109", status=1)
    check(said == "pevent: job %s has no rank 999\n" % job.nspace, said)
    check("nothing waits here" in run(options, "wireup-top", "--once", *uri))
    job.end()


def foreign(options):
    """A host that serves no tools: what only asks gets the library's own answers, the rest says why not."""
    job = start(options, "serve", 2)
    uri = ["--uri", job.uris[0]]
    out = run(options, "pps", *uri)
    check("job %s\n" % job.nspace in out and len(re.findall(r"^ +[01] \S+ +\d+ ", out, re.M)) == 2, out)
    table = json.loads(run(options, "pps", "--json", *uri))[job.nspace]
    check(sorted(row["proc"] for row in table) == [job.nspace + ":0", job.nspace + ":1"], table)
    check(all(os.path.exists("/proc/%s" % row["pid"]) for row in table), table)
    check(job.nspace in run(options, "pquery", *uri, "PMIX_QUERY_NAMESPACES"))
    check("PMIx_server_init" in run(options, "pattrs", *uri, "--server"))
    check("nothing waits here" in run(options, "wireup-top", "--once", *uri))
    state = report(options, job.uris[0])
    check({p["pmix.rank"]: p["wireup.rep.clones"] for p in state["wireup.rep.job"][0]["wireup.rep.proc"]} == {0: 1, 1: 1}, state)
    for command, *arguments in (["pevent", "-3107"], ["plookup", "key"], ["palloc", "--nodes", "1"],
                                ["pctrl", "--kill", job.nspace]):
        said = run(options, command, *uri, *arguments, status=3)
        check(said.count("\n") == 1 and "takes no tools" in said, said)
    job.end()


def ends(options):
    """A job that a user ends by a tool: pmixrun's exit status says by which signal."""
    for arguments, status in (["--kill"], 137), (["--terminate"], 143), (["--signal", "9"], 137), (["--signal", "10"], 138):
        job = start(options, "serve", 2)
        run(options, "pctrl", "--uri", job.uris[0], *arguments, job.nspace)
        job.process.communicate(timeout=200)
        check(job.process.returncode == status, arguments, job.process.returncode)
    # One of its processes.
    job = start(options, "serve", 2)
    run(options, "pctrl", "--uri", job.uris[0], "--kill", job.nspace + ":1")
    run(options, "pctrl", "--uri", job.uris[0], "--kill", job.nspace + ":0")
    job.process.communicate(timeout=200)
    check(job.process.returncode == 137, job.process.returncode)


SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reference", "wireup-top.schema.json")
VARIABLES = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reference", "environment.md")


def conforms(value, schema, where="$"):
    """Checks a value against the schema, of whose language this knows what the schema uses."""
    unknown = set(schema) - {"$schema", "title", "description", "type", "items", "required", "properties", "additionalProperties"}
    check(not unknown, "the test does not know these words of the schema:", unknown)
    kinds = {"array": list, "object": dict, "string": str, "integer": int, "number": (int, float)}
    check(isinstance(value, kinds[schema["type"]]) and not isinstance(value, bool), where, schema["type"], value)
    for i, element in enumerate(value if schema["type"] == "array" else []):
        conforms(element, schema["items"], "%s[%d]" % (where, i))
    if schema["type"] != "object":
        return
    check(set(schema["required"]) <= set(value), where, "lacks", set(schema["required"]) - set(value))
    check(set(value) <= set(schema["properties"]), where, "has", set(value) - set(schema["properties"]))
    for key, part in value.items():
        conforms(part, schema["properties"][key], where + "." + key)


def documented(text):
    with open(SCHEMA, encoding="utf-8") as file:
        schema = json.load(file)
    servers = json.loads(text)
    conforms(servers, schema)
    return servers


def report(options, uri):
    return documented(run(options, "wireup-top", "--json", "--uri", uri))[0]


def condition(pid):
    return open("/proc/%d/stat" % pid, encoding="utf-8").read().rpartition(")")[2].split()[0]


def hang(options):
    """Rank 2 of 4 waits elsewhere, rank 3 never initialises; rank 1 asks for data that rank 0 never puts."""
    job = start(options, "hang", 4)
    end = time.monotonic() + 60
    while True:
        state = report(options, job.uris[0])
        waits = [w for w in state["wireup.rep.coll"] if len(w["wireup.rep.arrived"]) == 1]
        asks = state["wireup.rep.req"]
        if (waits and asks) or time.monotonic() > end:
            break
        time.sleep(0.02)
    name = lambda rank: "%s:%d" % (job.nspace, rank)
    check(waits and waits[0]["wireup.rep.op"] == "fence", state)
    check(waits[0]["wireup.rep.arrived"] == [name(0)], waits)
    check(waits[0]["wireup.rep.missing"] == [name(1), name(2), name(3)], waits)
    check(asks[0]["wireup.rep.op"] == "get" and asks[0]["wireup.rep.asker"] == name(1), asks)
    check(asks[0]["wireup.rep.target"] == name(0) and asks[0]["wireup.rep.key"] == "never.put", asks)
    states = {p["pmix.rank"]: p["wireup.rep.clones"] for p in state["wireup.rep.job"][0]["wireup.rep.proc"]}
    check(states == {0: 1, 1: 1, 2: 1, 3: 0}, states)
    text = run(options, "wireup-top", "--once", "--uri", job.uris[0])
    check(re.search(r"missing: %s:1-3$" % re.escape(job.nspace), text, re.M), text)
    # The process that has not connected comes first, with its pid; then the others, by rank.
    ranks = re.findall(r"^    rank (\d) +(not connected|connected) +pid (\d+), (running|sleeping|in the kernel)$", text, re.M)
    check([rank for rank, *_ in ranks] == ["3", "0", "1", "2"], text)
    check(re.search(r"rank 3 +not connected", text) and re.search(r"rank 0 +connected +pid \d+", text), text)
    pids = {int(rank): int(pid) for rank, _, pid, _ in ranks}
    with open("/proc/%d/environ" % pids[3], encoding="utf-8") as file:
        check("PMIX_RANK=3" in file.read().split("\0"), text)
    check(text.index("  fence of") < text.index("  get of") < text.index("  job "), text)
    # One that is stopped, and one that computes.
    os.kill(pids[1], signal.SIGSTOP)
    while condition(pids[1]) != "T" and time.monotonic() < end:
        time.sleep(0.01)
    text = run(options, "wireup-top", "--once", "--uri", job.uris[0])
    check(re.findall(r"^    rank (\d)", text, re.M) == ["1", "3", "0", "2"], text)
    check(re.search(r"rank 1 +connected +pid %d, stopped$" % pids[1], text, re.M), text)
    state = report(options, job.uris[0])
    check({p["pmix.rank"]: p["condition"] for p in state["wireup.rep.job"][0]["wireup.rep.proc"]}[1] == "stopped", state)
    os.kill(pids[1], signal.SIGCONT)
    check('waits' in text and '"never.put" of %s' % name(0) in text, text)
    # Without a word about which: all servers of this user, this one among them.
    check(job.nspace in run(options, "wireup-top"))
    job.end()


def loop(options):
    """Rank 2 of 4 computes for ever and never comes to the fence of rank 0; rank 1 is stopped."""
    job = start(options, "loop", 4)
    ranks = lambda text: {int(rank): (int(pid), how) for rank, pid, how in
                          re.findall(r"^    rank (\d) +(?:not )?connected +pid (\d+), (.*)$", text, re.M)}
    missing = r"^fence waits [0-9.]+ s for %s:2 on node1: connected, pid %d, running(?: in \S+)?$"
    once = lambda: run(options, "wireup-top", "--once", "--uri", job.uris[0])
    found, end = ranks(once()), time.monotonic() + 60
    check(set(found) == {0, 1, 2, 3}, found)
    os.kill(found[1][0], signal.SIGSTOP)
    # A process that computes is seen in the kernel at moments, and one that is to wait still runs at first.
    wanted = {0: "sleeping", 1: "stopped", 2: "running", 3: "sleeping"}
    while True:
        text = once()
        found = ranks(text)
        good = {rank: how for rank, (_, how) in found.items()} == wanted and \
            re.search(missing % (re.escape(job.nspace), found[2][0]), text, re.M)
        if good or time.monotonic() > end:
            break
        time.sleep(0.02)
    check(good, text)
    state = report(options, job.uris[0])
    states = {p["pmix.rank"]: p["condition"] for p in state["wireup.rep.job"][0]["wireup.rep.proc"]}
    check(states[1] == "stopped" and states[2] in ("running", "in the kernel"), state)
    os.kill(found[1][0], signal.SIGCONT)
    job.end()


def pid_of(uri):
    return int(uri.split("@wireup/")[1].split("/")[1])


def top(options, *arguments):
    done = subprocess.run([os.path.join(options.commands, "wireup-top"), *arguments], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=100, check=False)
    return done.returncode, done.stdout, done.stderr


def silent(options):
    """One of two servers is stopped. It is shown however the server is chosen, and the other one's report with it."""
    job = start(options, "serve", 2, nodes=2)
    stopped, well = sorted(job.uris)
    pid = pid_of(stopped)
    os.kill(pid, signal.SIGSTOP)
    try:
        shown = re.compile(r"^server .*in process %d \(\S+\) does not answer: the process is stopped$" % pid, re.M)
        for choice in ["--pid", str(pid)], ["--uri", stopped, "--timeout", "2"], ["--nspace", "nobody-is-called-that"], []:
            status, out, err = top(options, "--once", *choice)
            check(status == 1 and shown.search(out), choice, status, out, err)
            check("process %d " % pid in err and "stopped" in err, choice, err)
        check(out.index("in process %d" % pid) < out.index("on node"), out)
        check("pid %d\n" % pid_of(well) in out, out)
        status, out, _ = top(options, "--json", "--pid", str(pid))
        status, text, _ = top(options, "--counters", "--pid", str(pid))
        check(status == 1 and 'wireup_up{server="",pid="%d"} 0\n' % pid in text, status, text)
        exposition(text)
        status, out, _ = top(options, "--json", "--pid", str(pid))
        check(status == 1 and documented(out)[0]["condition"] == "stopped" and documented(out)[0]["pmix.srvr.pidinfo"] == pid, out)
        # The other one is well.
        check("does not answer" not in run(options, "wireup-top", "--once", "--pid", str(pid_of(well))))
        check("does not answer" not in run(options, "wireup-top", "--once", "--uri", well))
    finally:
        os.kill(pid, signal.SIGCONT)
    check("nothing waits" in run(options, "wireup-top", "--once", "--pid", str(pid)))
    job.end()


def for_everybody(command, folder):
    """A copy of the command and of its libpmix that any user may run; the folder of a build may be its owner's alone."""
    shown = subprocess.run(["ldd", command], stdout=subprocess.PIPE, text=True, check=True).stdout
    library = re.search(r"libpmix\S* => (\S+)", shown)
    for file in [command] + ([library[1]] if library else []):
        shutil.copy(os.path.realpath(file), folder)
        os.chmod(os.path.join(folder, os.path.basename(os.path.realpath(file))), 0o755)
    if library:
        os.symlink(os.path.basename(os.path.realpath(library[1])), os.path.join(folder, "libpmix.so.2"))
    os.chmod(folder, 0o755)
    return os.path.join(folder, os.path.basename(command))


def refused(options):
    """Root's servers refuse another user, which does not show them as silent for that; one that is silent is shown."""
    if os.geteuid() != 0:
        sys.exit(77)
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        command = for_everybody(os.path.join(options.commands, "wireup-top"), folder)
        nobody = {"user": 65534, "group": 65534, "extra_groups": [],
                  "env": dict(os.environ, LD_LIBRARY_PATH=folder, TMPDIR="/tmp")}
        job = start(options, "serve", 2, nodes=2)
        pids = [pid_of(uri) for uri in job.uris]

        def look():
            done = subprocess.run([command, "--once"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                                  timeout=100, check=False, **nobody)
            return [pid for pid in pids if "in process %d " % pid in done.stdout]

        check(look() == [])
        os.kill(pids[0], signal.SIGSTOP)
        try:
            check(look() == pids[:1])
        finally:
            os.kill(pids[0], signal.SIGCONT)
        job.end()


def stuck(options):
    """A server whose process is there while its loop is not: its host sleeps in an upcall, or computes there. It is looked
    for twice, with seconds each time, because one that is only slow is no such server: so each form is asked for once."""
    def look(how, *arguments):
        host = subprocess.Popen([options.program, "stuck", how], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)
        try:
            check(host.stdout.readline() == "STUCK %d\n" % host.pid, how)
            status, out, err = top(options, *arguments, "--pid", str(host.pid))
            check(status == 1 and "process %d " % host.pid in err, how, arguments, status, out, err)
            return host.pid, out, err
        finally:
            host.kill()
            host.communicate(timeout=100)  # the client's end of the pipe, too

    pid, out, _ = look("sleeps", "--once")
    check(out == "server in process %d (host_zoo) does not answer: the process is sleeping\n" % pid, out)
    pid, out, err = look("spins", "--json")
    (server,) = documented(out)
    check(server["condition"] == "running" and server["pmix.srvr.pidinfo"] == pid, out)
    check("does not answer: the process is running" in err, err)
    pid, out, _ = look("sleeps", "--counters")
    check('wireup_up{server="",pid="%d"} 0\n' % pid in out, out)


def upcalls(options):
    """A lookup waits in the resource manager: it is shown with the process that waits."""
    job = start(options, "wanted", 2)
    end = time.monotonic() + 60
    while True:
        requests = report(options, job.uris[0])["wireup.rep.req"]
        if requests or time.monotonic() > end:
            break
        time.sleep(0.02)
    check(len(requests) == 1, requests)
    expected = {"wireup.rep.op": "lookup", "wireup.rep.asker": job.nspace + ":0", "wireup.rep.for": "host"}
    check(expected.items() <= requests[0].items() and "wireup.rep.target" not in requests[0], requests)
    text = run(options, "wireup-top", "--once", "--uri", job.uris[0])
    shown = r"^  lookup of %s:0: waits [0-9.]+ s for the resource manager$" % re.escape(job.nspace)
    check(re.search(shown, text, re.M) and "nothing waits" not in text, text)
    job.end()


def invited(options):
    """Rank 0 has invited the others, on two nodes: rank 1 has accepted, rank 2 has declined, rank 3 is silent."""
    job = start(options, "invited", 4, nodes=2)
    name = lambda rank: "%s:%d" % (job.nspace, rank)
    heard = {"wireup.rep.op": "group invite few", "wireup.rep.asker": name(0), "wireup.rep.for": "process",
             "wireup.rep.members": [name(1), name(2), name(3)], "wireup.rep.missing": [name(3)]}
    # The inviter's server has every answer, the other one those of its own node's processes.
    by_all, by_own = [name(1), name(2)], [name(2)]
    end = time.monotonic() + 60
    while True:
        rows = [row for uri in job.uris for row in report(options, uri)["wireup.rep.coll"]]
        answers = sorted(row["wireup.rep.arrived"] for row in rows)
        if answers == sorted([by_all, by_own]) or time.monotonic() > end:
            break
        time.sleep(0.02)
    check(len(rows) == 2 and answers == sorted([by_all, by_own]), rows)
    check(all(heard.items() <= row.items() and row["wireup.rep.age"] >= 0 for row in rows), rows)
    shown = r"^  group invite few by %s to %s:1-3 for [0-9.]+ s\n    answered: %s:1-2\n    missing: %s:3$"
    text = "".join(run(options, "wireup-top", "--once", "--uri", uri) for uri in job.uris)
    check(re.search(shown % (re.escape(name(0)), *[re.escape(job.nspace)] * 3), text, re.M), text)
    check("nothing waits" not in text, text)
    text = run(options, "wireup-top", "--once", "--all-nodes", "--uri", job.uris[0])
    check(re.findall(r"^group invite few waits [0-9.]+ s for (\S+) on ", text, re.M) == [name(3)], text)
    job.end()


WAITS = re.compile(r"^fence waits [0-9.]+ s for (\S+):(\d+) on (\S+): (not connected|connected), pid (\d+), ([a-z ]+?)(?: in (\S+))?$", re.M)


def of_kernel(pid, name):
    """What the kernel tells this user of where a process waits."""
    try:
        with open("/proc/%d/%s" % (pid, name), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def across(options):
    """Rank 0 of four is in a fence: the servers of the other two nodes do not know of it, and their ranks are missing."""
    job = start(options, "hang", 4, nodes=3)
    places = {1: "node1", 2: "node2", 3: "node3"}
    ways = [["--all-nodes", "--uri", uri] for uri in job.uris] + [["--all-nodes"], ["--through", "env"]]
    end = time.monotonic() + 60
    while '"wireup.rep.op":"fence"' not in run(options, "wireup-top", "--json", *ways[0]) and time.monotonic() < end:
        time.sleep(0.02)
    for way in ways:
        text = run(options, "wireup-top", "--once", *way)
        found = {int(rank): (nspace, node, state) for nspace, rank, node, state, *_ in WAITS.findall(text) if nspace == job.nspace}
        check({rank: node for rank, (_, node, _) in found.items()} == places, way, text)
        check([found[rank][2] for rank in (1, 2, 3)] == ["connected", "connected", "not connected"], way, text)
        # Where the kernel tells where a process waits, so does its line. The three wait for good, or are about to.
        for _, _, _, _, pid, how, where in WAITS.findall(text):
            check(bool(where) == (of_kernel(int(pid), "wchan") not in ("", "0")) or how == "running", way, text)
        servers = documented(run(options, "wireup-top", "--json", *way))
        mine = [s for s in servers if any(j["pmix.nspace"] == job.nspace for j in s["wireup.rep.job"])]
        check(sorted(s["pmix.hname"] for s in mine) == ["node1", "node2", "node3"], way, servers)
    # What is known of one node alone.
    alone = run(options, "wireup-top", "--once", "--uri", sorted(job.uris)[1])
    check(not WAITS.search(alone), alone)
    # Words before the lines, and a starter that fails.
    script = os.path.join(os.environ.get("TMPDIR", "/tmp"), "starter.%d" % os.getpid())
    with open(script, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho starting\n"$@" | sed "s/^/node7: /"\nexit $STARTER_STATUS\n')
    try:
        for status, says in (0, None), (3, "nodes may be missing"):
            os.environ["STARTER_STATUS"] = str(status)
            code, text, err = top(options, "--once", "--through", "sh " + script)
            check({int(rank) for _, rank, *_ in WAITS.findall(text)} == {1, 2, 3}, text, err)
            check(code == (1 if status else 0) and (says is None or says in err), code, err)
        with open(script, "w", encoding="utf-8") as file:
            file.write('#!/bin/sh\n"$@" | grep -v " end "\n')
        code, text, err = top(options, "--once", "--through", "sh " + script)
        check(code == 1 and "are not all here" in err and WAITS.search(text), code, err)
        code, text, err = top(options, "--once", "--timeout", "1", "--through", "sleep 100; true")
        check(code == 3 and "within 1 s" in err, code, err)
    finally:
        os.unlink(script)
    check("no reports come" in run(options, "wireup-top", "--once", "--through", "true", status=3))
    # A node whose server is stopped is named too.
    first, last = sorted(job.uris)[0], sorted(job.uris)[-1]
    os.kill(pid_of(last), signal.SIGSTOP)
    try:
        # It is one of this machine: all is said of it that is said without the resource manager, once.
        for choice in ["--uri", first], []:
            code, text, err = top(options, "--once", "--all-nodes", *choice)
            check(code == 1 and text.count("does not answer") == 1, choice, text, err)
            stopped = r"^server on node\d in process %d \(\S+\) does not answer: the process is stopped$" % pid_of(last)
            check(re.search(stopped, text, re.M) and WAITS.search(text), choice, text, err)
        code, text, err = top(options, "--json", "--all-nodes", "--uri", first)
        servers = documented(text)
        check(code == 1 and "problem" in servers[0] and sum("problem" in server for server in servers) == 1, text)
    finally:
        os.kill(pid_of(last), signal.SIGCONT)
    job.end()


def hang_report(options):
    job = start(options, "hang", 4, nodes=3)
    end = time.monotonic() + 60
    wanted = '"wireup.rep.op":"get"', '"wireup.rep.op":"fence"'
    while time.monotonic() < end:
        shown = run(options, "wireup-top", "--json")
        if all(word in shown for word in wanted):
            break
        time.sleep(0.02)
    path = os.path.join(os.environ.get("TMPDIR", "/tmp"), "report.%d" % os.getpid())
    # A process that runs at this moment, or is about to, waits nowhere: looked at until all four wait.
    waits_in = r"^%s:(\d) on node\d: (?:sleeping|in the kernel) in \w" % re.escape(job.nspace)
    end = time.monotonic() + 60
    try:
        while True:
            said = run(options, "wireup-top", "--all-nodes", "--report", path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            places = re.findall(waits_in, text, re.M)
            if len(places) == 4 or "none is shown" in text or time.monotonic() > end:
                break
            os.unlink(path)
            time.sleep(0.02)
        check(said.startswith(path + ": written"), said)
        check(os.stat(path).st_mode & 0o777 == 0o600, oct(os.stat(path).st_mode))
        parts = re.split(r"^## (.*)\n", text, flags=re.M)
        parts = dict(zip(parts[1::2], parts[2::2]))
        check(list(parts) == ["versions", "what waits", "where processes wait in the kernel", "counters", "reports"], list(parts))
        check("Wireup" in parts["versions"] and "Linux" in parts["versions"], text)
        check({int(rank) for _, rank, *_ in WAITS.findall(parts["what waits"])} == {1, 2, 3}, text)
        check("never.put" in parts["what waits"], text)
        exposition(parts["counters"].rstrip("\n") + "\n")
        documented(parts["reports"])
        kernel = parts["where processes wait in the kernel"]
        places = re.findall(waits_in, kernel, re.M)
        check(sorted(places) == ["0", "1", "2", "3"] or "none is shown" in kernel, text)
        # No address of a server, no command line, no environment.
        for uri in job.uris:
            check(uri.split("/")[-1] not in text, text)
        for word in "@wireup", "client_waiting", "PMIX_RANK", "TOKEN":
            check(word not in text, word, text)
        check("cannot write %s: File exists\n" % path in run(options, "wireup-top", "--report", path, status=1))
    finally:
        os.unlink(path)
    job.end()


SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\d+(?:\.\d+)?)')
PAGE = os.path.join(os.path.dirname(__file__), "..", "..", "docs", "reference", "counters.md")


def exposition(text):
    """The samples of Prometheus' text format by metric and labels; each line is checked."""
    types, samples, last = {}, {}, None
    check(text.endswith("\n"), text)
    lines = text.split("\n")[:-1]
    for i, line in enumerate(lines):
        if line.startswith("# HELP "):
            last = line.split(" ", 3)[2]
            check(last not in types and line.count(" ") > 3 and lines[i + 1].startswith("# TYPE %s " % last), line)
        elif line.startswith("# TYPE "):
            _, _, name, types[name] = line.split(" ")
            check(name == last and lines[i - 1].startswith("# HELP "), line)
        else:
            found = SAMPLE.fullmatch(line)
            check(found and found[1] == last, line)
            labels = dict(re.findall(r'([a-z]+)="((?:[^"\\]|\\.)*)"', found[2]))
            key = (last, *sorted(labels.items()))
            check(key not in samples and {"server", "pid"} <= set(labels), line)
            check((types[last] == "counter") == last.endswith("_total"), line)
            samples[key] = float(found[3])
    with open(PAGE, encoding="utf-8") as page:
        rows = re.findall(r"^\| `(wireup_[a-z_]+)` \| (counter|gauge) \|", page.read(), re.M)
    check(dict(rows) == types and len(rows) == len(types), "the page has", rows, "the output", types)
    return samples


def counters(options):
    job = start(options, "serve", 2)
    uri, pid = job.uris[0], str(pid_of(job.uris[0]))
    first = exposition(run(options, "wireup-top", "--counters", "--uri", uri))
    check({dict(labels)["pid"] for _, *labels in first} == {pid}, first)
    value = lambda samples, name, **more: [n for (metric, *labels), n in samples.items() if metric == name and
                                           {"pid": pid, **more}.items() <= dict(labels).items()]
    check(value(first, "wireup_up") == [1], first)
    # The registrations are those of two ranks and of pmixrun, which watches connections.
    for kind, n in ("fence", 2), ("publish", 1), ("register_events", 3), ("spawn", 0), ("unknown", 0):
        check(value(first, "wireup_requests_total", kind=kind) == [n], kind, first)
    check(value(first, "wireup_connections", kind="client") == [2], first)
    check(value(first, "wireup_connections", kind="observer")[0] >= 1, first)
    check(value(first, "wireup_refused_total", what="request") == [0], first)
    check(value(first, "wireup_upcalls_total")[0] >= 3, first)
    check(value(first, "wireup_loop_longest_pass_seconds")[0] > 0, first)
    check(len(value(first, "wireup_held_bytes", uid=str(os.geteuid()))) == 1, first)
    # All servers of the user, in one text, in which this one's has one query more at least.
    text = top(options, "--counters")[1]
    second = exposition(text)
    for key, n in first.items():
        check(not key[0].endswith("_total") or second[key] >= n, key, n, second.get(key))
    asked = [value(samples, "wireup_requests_total", kind="query")[0] for samples in (first, second)]
    check(asked[1] >= asked[0] + 1 and value(second, "wireup_requests_total", kind="fence") == [2], asked)
    check("only one of" in run(options, "wireup-top", "--json", "--counters", status=2))
    # By the query itself.
    out = json.loads(run(options, "pquery", "--json", "--uri", uri, "WIREUP_QUERY_COUNTERS"))
    check(out["WIREUP_QUERY_COUNTERS"]["wireup.cnt.req"]["fence"] == 2, out)
    job.end()


class Live:
    """wireup-top on a terminal."""

    def __init__(self, options, *arguments):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.process = subprocess.Popen([os.path.join(options.commands, "wireup-top"), *arguments],
                                        stdin=self.slave, stdout=self.slave, stderr=self.slave)

    def pressed(self, key, shows):
        """The page after a key: read until it shows what it should, and no more comes."""
        os.write(self.master, key)
        page = b""
        while b"\033[2J" not in page or b"server " not in page or not shows(page.replace(b"\r", b"")) or \
                select.select([self.master], [], [], 0.3)[0]:
            check(select.select([self.master], [], [], 100)[0], "not the page", key, page)
            page += os.read(self.master, 65536)

    def ends(self, status):
        check(self.process.wait(timeout=100) == status, self.process.returncode)
        check(termios.tcgetattr(self.slave)[3] == self.before[3], "the terminal is not as it was")
        os.close(self.master)
        os.close(self.slave)


def servers(options):
    """Rank 0 of four on two nodes is in a fence, the others do not come."""
    job = start(options, "hang", 4, nodes=2)
    end = time.monotonic() + 60
    where = ["--all-nodes", "--uri", job.uris[0]]
    while True:
        text = run(options, "wireup-top", "--once", *where)
        pids = {int(rank): int(pid) for _, rank, _, _, pid, *_ in WAITS.findall(text)}
        if set(pids) == {1, 2, 3} or time.monotonic() > end:
            break
        time.sleep(0.02)
    check(set(pids) == {1, 2, 3}, text)
    live = Live(options, *where, "--interval", "3600")

    def sections(page):
        """Of each server: whether it is the chosen one, and how many processes are shown."""
        parts = re.split(rb"^(> )?server ", page.split(b"\033[2J")[-1], flags=re.M)
        return [(bool(mark), len(re.findall(rb"^    rank ", part, re.M))) for mark, part in zip(parts[1::2], parts[2::2])]

    def pressed(key, *wanted):
        live.pressed(key, lambda page: sections(page) == list(wanted))

    pressed(b"x", (False, 2), (False, 2))
    pressed(b" ", (False, 2), (False, 2))  # none is chosen
    pressed(b"n", (True, 2), (False, 2))
    pressed(b" ", (True, 0), (False, 2))
    pressed(b"x", (True, 0), (False, 2))  # with new reports too
    pressed(b"n", (False, 0), (True, 2))
    pressed(b"n", (True, 0), (False, 2))  # round
    pressed(b"p", (False, 0), (True, 2))
    pressed(b"f", (False, 0), (True, 0))
    pressed(b" ", (False, 0), (True, 2))
    pressed(b"f", (False, 2), (True, 2))
    # Where the missing wait in the kernel.
    stacks = {rank: of_kernel(pid, "stack").replace("\n", "\n    ").strip() for rank, pid in pids.items()}
    for rank, stack in stacks.items():
        says = stack or "where it waits in the kernel is not shown to this user"
        wanted = r"^fence waits [0-9.]+ s for %s:%d on .*\n    %s$" % (re.escape(job.nspace), rank, re.escape(says))
        live.pressed(b"k", lambda page: re.search(wanted.encode(), page, re.M) and b"k hides" in page)
        live.pressed(b"k", lambda page: b"k shows" in page and b"[<" not in page and b"not shown" not in page)
    check(all(stacks.values()) or not of_kernel(os.getpid(), "stack"), "this user may read stacks", stacks)
    os.write(live.master, b"q")
    live.ends(0)
    job.end()


def keys(options):
    job = start(options, "serve", 1)
    for end in b"q", signal.SIGINT:
        live = Live(options, "--uri", job.uris[0], "--interval", "3600")
        master, pressed = live.master, live.pressed
        text = b""
        while b"rank 0" not in text:
            check(select.select([master], [], [], 100)[0], "nothing is shown", text)
            text += os.read(master, 4096)
        check(b"q ends it" in text, text)

        if isinstance(end, bytes):
            pressed(b"f", lambda page: b"rank 0" not in page)
            pressed(b"f", lambda page: b"rank 0" in page)
            pressed(b"s", lambda page: b"s sorts by trouble" in page)
            pressed(b"s", lambda page: b"s sorts by rank" in page)
            pressed(b"j", lambda page: b"; job " + job.nspace.encode() in page.split(b"\n")[0] and b"rank 0" in page)
            pressed(b"a", lambda page: b"; job " not in page.split(b"\n")[0])
            pressed(b"x", lambda page: b"rank 0" in page)
            os.write(master, end)
            live.ends(0)
        else:
            live.process.send_signal(end)
            live.ends(-end)
    job.end()


def nodes(options):
    job = start(options, "serve", 3, nodes=2)
    whole = run(options, "pps", "--uri", job.uris[0])
    check("processes: those" not in whole and len(re.findall("^ +[012] node", whole, re.M)) == 3, whole)
    here = run(options, "pps", "--uri", job.uris[0], "--local")
    rows = re.findall(r"^ +\d+ (node\d) ", here, re.M)
    check(here.endswith("  %d of 3 processes: those of %s only\n" % (len(rows), rows[0])) and len(rows) < 3, here)
    done = subprocess.run([os.path.join(options.commands, "pps"), "--uri", job.uris[0], "--local", "--json"], check=True,
                          capture_output=True, text=True, timeout=100)
    check(len(json.loads(done.stdout)[job.nspace]) == len(rows) and "those of %s only" % rows[0] in done.stderr, done)
    job.end()


def none(options):
    folder = tempfile.TemporaryDirectory()
    file = os.path.join(folder.name, "uri")
    with open(file, "w", encoding="utf-8") as address:
        address.write("prte-host-17@0.0;tcp4://127.0.0.1:9\nv5.0.7\n")
    for command in COMMANDS[1:]:
        if command == "pattrs":
            continue
        arguments = {"pps": [], "pquery": ["key"], "pevent": ["-3107"], "plookup": ["key"], "palloc": ["--nodes", "1"],
                     "pctrl": ["--kill", "job"], "wireup-top": ["--once"]}[command]
        said = run(options, command, "--nspace", "nobody-is-called-that", *arguments, status=3)
        check(said.count("\n") == 1 and "no server answers" in said, said)
        # The address of a server that has another library is no wrong command line. It is asked only where there is
        # a file of it.
        for uri, why in ("prte-host-17@0.0;tcp4://127.0.0.1:9", "OpenPMIx's"), ("file:" + file, "no server answers"):
            said = run(options, command, "--uri", uri, *arguments, status=3)
            check(said.count("\n") == 1 and ("no server answers" if command == "wireup-top" else why) in said, said)
    with open(file, "w", encoding="utf-8") as address:
        address.write("nobody\n")
    run(options, "pps", "--uri", "file:" + file, status=2)
    run(options, "pps", "--uri", "nobody", status=2)
    for command in COMMANDS:
        check(run(options, command, "--no-such-option", status=2).startswith(command + ": there is no option"))
    run(options, "pquery", status=2)
    run(options, "pctrl", "job", status=2)
    run(options, "pctrl", "--kill", "--pause", "job", status=2)
    run(options, "pevent", "NO_SUCH_CODE", status=2)
    for wrong in "USR1", "0", "65", "9x":
        check("number of a signal, from 1 to 64, not %s\n" % wrong in run(options, "pctrl", "--signal", wrong, "job", status=2))
    for command, operand in ("pevent", "-3107"), ("pctrl", "job"), ("pps", "job"), ("pquery", "key"):
        action = ["--kill"] if command == "pctrl" else []
        said = run(options, command, "--pid", "abc", *action, operand, status=2)
        check(said.startswith(command + ": --pid needs a number of at least 1, not abc\n"), said)
    for both in ["--json", "--part"], ["--through", "env", "--all-nodes"], ["--counters", "--all-nodes"]:
        run(options, "wireup-top", *both, status=2)
    check("--pid needs" in run(options, "wireup-top", "--pid", "abc", status=2))
    run(options, "palloc", "--nodes", "x", status=2)
    for setting, why in (("PMIX_NSPACE", "PMIX_NSPACE needs a value of type PMIX_STRING\n"),
                         ("PMIX_RANK=one", "PMIX_RANK needs a value of type PMIX_PROC_RANK, not one\n"),
                         ("pmix.timeout=4294967296", "pmix.timeout needs a value of type PMIX_INT, not 4294967296\n"),
                         ("PMIX_COLLECT_DATA=maybe", "PMIX_COLLECT_DATA needs a value of type PMIX_BOOL, not maybe\n"),
                         ("PMIX_PROCID=job:0,1", "PMIX_PROCID needs a value of type PMIX_PROC, not job:0,1\n")):
        for command, option, operand in ("pquery", "--qualifier", "key"), ("pevent", "--info", "-3107"), ("pctrl", "--info", "job"):
            check(why in run(options, command, option, setting, operand, status=2), command, setting)
    check("Wireup" in run(options, "pps", "--version"))


def pages(options):
    for command in COMMANDS:
        text, page = run(options, command, "--help"), run(options, command, "--man").replace("\\-", "-")
        options_of = lambda t: set(re.findall(r"(?:^  |\.B )(--[a-z-]+)", t, re.M))
        check(options_of(text) == options_of(page) and len(options_of(text)) >= 2, command, text, page)
        check(page.startswith(".TH"), page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case", choices=["across", "commands", "counters", "ends", "foreign", "hang", "hang_report", "invited", "keys", "loop", "nodes", "none", "pages", "refused", "servers",
                                         "silent", "stuck", "upcalls"])
    parser.add_argument("--pmixrun")
    parser.add_argument("--commands", required=True)
    parser.add_argument("--program")
    parser.add_argument("--mpirun")
    parser.add_argument("--library")
    options = parser.parse_args()
    globals()[options.case](options)
    print("OK", options.case)


if __name__ == "__main__":
    main()
