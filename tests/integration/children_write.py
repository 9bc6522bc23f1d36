# SPDX-License-Identifier: BSD-3-Clause
"""What a rank has started writes on when the rank itself has ended: no line of it is lost. What does not end is ended.

    children_write.py CASE NODES PMIXRUN"""
import os
import subprocess
import sys
import tempfile

LINES, RANKS = 5000, 2
wanted = [str(i + 1) for i in range(LINES)]


def run(script, status=0):
    """Of a job whose ranks are this script: stdout and stderr, as lines."""
    nodes, pmixrun = sys.argv[2:]
    done = subprocess.run([pmixrun, "--continuous", "-n", str(RANKS), "--nodes", nodes, "bash", "-c", script], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != status:
        fail("ended with %d, not %d: %s" % (done.returncode, status, done.stderr[-2000:]))
    return done.stdout.splitlines(), done.stderr.splitlines()


def fail(why):
    print("FAIL", why)
    sys.exit(1)


def expect_all(lines, what):
    for rank in range(RANKS):
        got = [line.split(":")[1] for line in lines if line.startswith("%d:" % rank)]
        if got != wanted:
            fail("%s of rank %d: %d lines, the last is %s" % (what, rank, len(got), got[-1:]))


def filtered():
    out, err = run('exec > >(sed "s/^/$PMIX_RANK:/"); seq %d' % LINES)
    expect_all(out, "stdout")
    out, err = run('exec 2> >(sed "s/^/$PMIX_RANK:/" >&2); seq %d >&2; exit $((PMIX_RANK * 3))' % LINES, status=3)
    expect_all(err, "stderr before a failure")


def copied():
    with tempfile.TemporaryDirectory() as folder:
        out, _ = run('exec > >(tee "%s/$PMIX_RANK"); seq -f "$PMIX_RANK:%%.0f" %d' % (folder, LINES))
        expect_all(out, "stdout")
        for rank in range(RANKS):
            with open(os.path.join(folder, str(rank)), encoding="ascii") as file:
                if file.read() != "".join("%d:%s\n" % (rank, line) for line in wanted):
                    fail("the file of rank %d is not complete" % rank)


def endless():
    """One that has the stream, and one that has let go of it; neither is stopped by asking. None of them is left."""
    stubborn = '(trap "" TERM HUP; while :; do sleep 1000; done) %s & echo $!; '
    out, _ = run(stubborn % "" + stubborn % "< /dev/null > /dev/null 2>&1" + "echo end")
    if out.count("end") != RANKS:
        fail("what the ranks wrote is %s" % out)
    for pid in set(out) - {"end"}:
        if os.path.exists("/proc/" + pid):
            fail("process %s is there" % pid)


{"filtered": filtered, "copied": copied, "endless": endless}[sys.argv[1]]()
print("OK")
