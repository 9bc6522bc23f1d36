# SPDX-License-Identifier: BSD-3-Clause
"""The example programs that are tools: beside a job of pmixrun, and where there is no server at all, in a network of their own, so
that they find no other server of this machine."""
import collections
import os
import re
import subprocess

# name, arguments, beside a job, exit status, {pattern: count}. @JOB@ is the job's name. With 4.2.2 none but launcher ends
# within five seconds without a server, and there is none in Debian 12 that takes them.
Tool = collections.namedtuple("Tool", "name arguments beside status want")
NO_SERVER = {r"PMIx_tool_init failed: (-25|UNREACHABLE|PMIX_ERR_UNREACH)$": 1}
TOOLS = [Tool(*one) for one in (
    ("tool", [], True, 0, {r"ACTIVE NSPACES:$": 1, r"^\t(@JOB@(\t.*sh -c .*)?|.*\"@JOB@\".?)$": 1}),
    ("tool", ["--nspace", "@JOB@"], True, 0, {r"JOB SIZE FOR NSPACE @JOB@: 2$": 1}),
    ("tool", ["--nspace", "other"], True, 0, {r"Query returned error: PMIX_ERR_NOT_FOUND$": 1}),
    # pmixrun's nodes have names of their own; of any other node it has no server to tell of
    ("tool", ["--uri", "node1"], True, 0, {r"PMIx server URI for node \S+: \S+;wireup:@": 1}),
    ("tool", [], False, 231, NO_SERVER),
    # What it does start it waits for in vain, with 4.2.2 too: for the end of a job of its own name.
    ("tool", ["--spawn", "/no/such/program"], False, 256 - 190, {r"Failed to spawn PMIX_ERR_JOB_EXE_NOT_FOUND$": 1}),
    ("debugger", ["--attach", "@JOB@"], True, 0, {r"Query returned @JOB@$": 1}),
    # Without --attach it waits for ever beside pmixrun: where a host can start jobs beside each other it starts none.
    ("debugger", [], False, 231, NO_SERVER),
    ("launcher", [], True, 231, NO_SERVER),  # it wants the system's server
    ("launcher", [], False, 231, NO_SERVER),
)]
# Since 5.0 this one has no server and starts the example hello, which lies beside it, itself.
STARTED = {r"^Client ns \S+ rank 0 pid \d+: Running on host": 1}
STARTS = [Tool("launcher", [], beside, 0, STARTED) for beside in (True, False)]
# What it looks for in the names of jobs is in PRRTE's alone. A tool is the leader of its own job, which has no applications.
QUERIES = [Tool("toolqry", [], True, 0, {r"^APPNUM RETURN: PMIX_ERR_NOT_FOUND$": 1, r"^LOCALLDR RETURN: PMIX_SUCCESS$": 1}),
           Tool("toolqry", [], False, 231, NO_SERVER)]


def of(release):
    """Those of that release's examples."""
    if release in ("debian-11", "debian-12"):
        return TOOLS
    return [tool for tool in TOOLS if tool.name != "launcher"] + STARTS + (QUERIES if release == "sid" else [])

BESIDE = r"""
set -e
pmixrun=$1; shift
mkfifo up
$pmixrun -n 2 sh -c 'echo $PMIX_NAMESPACE; exec sleep 300' >up & job=$!
exec 3<up
read -r nspace <&3
echo "job $nspace"
rc=0
timeout 100 sh -c 'n=$1; shift; for a; do shift; test "$a" != @JOB@ || a=$n; set -- "$@" "$a"; done; exec "$@"' - "$nspace" "$@" || rc=$?
kill $job
wait $job || :
rm up
exit $rc
"""


def failed(tool, folder, library, pmixrun):
    """Runs it, says so, and answers whether something is not as it should be."""
    command = ["unshare", "--net"] + (["bash", "-c", BESIDE, "-", pmixrun] if tool.beside else ["timeout", "100"])
    done = subprocess.run(command + [os.path.join(folder, tool.name)] + tool.arguments, cwd=folder, text=True, errors="replace",
                          stdin=subprocess.DEVNULL, env=dict(os.environ, LD_LIBRARY_PATH=library), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    text = done.stdout
    job = re.search(r"^job (\S+)$", text, re.MULTILINE)
    problems = [] if done.returncode == tool.status else ["ended with %s, not %s" % (done.returncode, tool.status)]
    for pattern, count in tool.want.items():
        if job:
            pattern = pattern.replace("@JOB@", re.escape(job.group(1)))
        found = len(re.findall(pattern, text, re.MULTILINE))
        if found != count:
            problems.append("%d times %r, not %d" % (found, pattern, count))
    what = "%s %s" % ("beside a job:" if tool.beside else "alone:", " ".join([tool.name] + tool.arguments))
    print("FAIL" if problems else "ok  ", what, *problems, sep="\n      " if problems else " ", flush=True)
    if problems:
        print("\n".join("     | " + line for line in text.splitlines()[-60:]))
    return bool(problems)
