# SPDX-License-Identifier: BSD-3-Clause
"""How the results of an example program with two libraries are compared: what is allowed to differ everywhere is made
equal first (normalised), and the differences that are known stand in a table with their reasons."""
import collections
import re

# (pattern, what stands in its place): names, numbers and addresses that two runs of the same program do not share.
SAME = [
    # Context identifiers are the host's to choose: pmixrun counts up, PRRTE counts down.
    (r"\b(CID|cid|CID assigned: T value:) \d+", r"\1 N"),
    (r"\S*/(?:ours|theirs)/", "FOLDER/"),
    (r"\b(?:wireup|prterun|prte|pmixrun)[-.][\w.-]*tool[\w.]*", "TOOL"),
    (r"\bwireup\.\d+\.(\d+)", r"JOB@\1"),  # of pmixrun
    (r"\b(?:prterun|prte|pmixrun)-[\w.-]+@(\d+)", r"JOB@\1"),  # of PRRTE
    # of Open MPI 4.1's mpirun: the job's number is in the low half
    (r"\b(?!429496729)[1-9]\d{7,9}\b", lambda m: "JOB@%d" % (int(m.group()) & 0xFFFF)),
    (r"\[[\w.-]+:\d+\]", "[NODE:PID]"),
    (r"\b([Pp]id[ :=]+)\d+", r"\1PID"),
    (r"^\[\d+\] ", "[PID] "),
    (r"^Client \d+: ", "Client PID: "),
    (r"0x[0-9a-f]+|\(nil\)", "ADDRESS"),
    (r"\b\d{4}-\d\d-\d\dT[\d:.]+", "TIME"),
    (r"after \d+\.\d+ s\b", "after TIME"),
    (r" *-?\d+\.\d+ (us|ns/op)\b", r" TIME \1"),
    (r"^(.*Running on host \S+) \(\d+\)$", r"\1 (PID)"),
    (r"\b(?:node1|debian-1\d|sid)\b", "NODE"),  # pmixrun's nodes have names of their own
    (r"\[(JOB@\d+),(\d+)\]", r"[\1:\2]"),  # how 7.0 prints the name of a process
    (r"\bstatus SUCCESS\b", "status PMIX_SUCCESS"),  # how 4.x names statuses
    (r"\bNOT-FOUND\b", "PMIX_ERR_NOT_FOUND"),
]
SAME = [(re.compile(pattern), by) for pattern, by in SAME]

# Reports of OpenPMIx itself on its standard error. This library reports by status alone.
REPORT = re.compile(r"^\[NODE:PID\] (?:PMIX|PRTE|OPAL|ORTE)[ _]ERROR|^(?:\[NODE:PID\] )?SOMEONE IS NULL: ")


def lines(text):
    """What a run has printed, as {line: count}: the order of lines of several ranks is a matter of time."""
    found = collections.Counter()
    for line in text.splitlines():
        line = line.rstrip()
        for pattern, by in SAME:
            line = pattern.sub(by, line)
        if line and not REPORT.search(line):
            found[line] += 1
    return found


# Both ask for data of processes of another job, which do not wait for them.
ENDED = "processes of the first job end sooner with this library, some before the second has asked for what they have put"

# Six processes here, two names there.
RANKS = "members that are named by a wildcard are listed by their ranks here, as they were named there"

# program: [(where, pattern of the lines that may differ, why)]; where: "MODE RELEASE...". An empty pattern: the result is
# not compared, status and lines.
KNOWN = {
    "*": [("beside served client all", r"OP CALLBACK CALLED WITH STATUS",
           "to deregister a handler that was never registered is PMIX_ERR_BAD_PARAM here, success there")],
    "abi_no_init": [("beside served debian-12", r"", "4.2.2 knows no version of the ABI"),
                    ("beside served client debian-13 sid", r"", "a query before the initialisation is refused there")],
    "abi_with_init": [("beside debian-12", r"", "fails there: its server answers no query of three keys"),
                      ("beside served client debian-12 sid", r"ABI \(", "the version there is 0.0")],
    "alloc": [("beside sid", r"[Aa]llocation (request |query )?returned|pmix\.alloc\.id", "PRRTE gives allocations, pmixrun has none")],
    "asyncgroup": [("beside served client debian-11 debian-12 debian-13", r"", "does not end there under its own launcher either"),
                   ("beside sid", r"NOTIFIED with status", "the default handler of the inviter is told of each answer there")],
    "client3": [("beside client sid", r"nodeID", "PRRTE gives a rank no number of its node")],
    "client4": [("beside client sid", r"[nN]odeID", "the same")],
    "delete_key": [("beside sid", r"", "a deletion is seen at once here, after the fence there; the program reads on meanwhile")],
    "dynamic": [("beside client debian-13", r"PMIx_Group_(construct|destruct)", "the group's construction fails there")],
    "group": [("beside debian-11 debian-12", r"", "Open MPI 4.1 has no groups: the example does not end, or says so")],
    "group_dmodex": [("beside debian-12", r"", "Open MPI 4.1 has no groups with contexts"),
                     ("beside served client debian-13", r"Group construct complete", "5.0.7 gives the name first, which the program takes for the context")],
    "group_invite_decline": [("beside served sid", r"", "PMIX_ERR_PARTIAL_SUCCESS here (decision R10)")],
    "group_invite_endpts": [("beside sid", r"", "a value of PMIX_REMOTE is for members on other nodes only here")],
    "group_invite_nb": [("beside served sid", r"JOB@1:0 INVITED", "the inviter's own handler is called there")],
    "group_invite_timeout": [("beside served sid", r"", "PMIX_ERR_PARTIAL_SUCCESS here (decision R10)")],
    "group_lcl_cid": [("beside debian-12", r"", "Open MPI 4.1 has no groups with contexts"),
                      ("beside served debian-12 debian-13", r"", "fails there under its own launcher too"),
                      ("client debian-13", r"", "5.0.7 gives the name first, which the program takes for the context, and fails"),
                      ("beside served client sid", r"LOCAL CID|Group construct complete", "the text of a value is each library's own, and so is the order of a group's infos")],
    "hello": [("beside debian-11 debian-12 debian-13", r"Query returned|KEY: |Key |\{key=", "its launcher answers no query for process sets"),
              ("client debian-13", r"Query returned|KEY: |Key ", "of an answer whose status says that nothing was found the values are dropped there"),
              ("beside served client all", r"PSETS?_?|psets?|PMIX_VALUE:|PMIX_INFO_DIRECTIVES|Value: OPTIONAL", "the text of a value is each library's own")],
    "jctrl": [("beside served debian-11", r"PMIx_Process_monitor_nb failed", "4.0 has no heartbeats of this form"),
              ("beside debian-13 sid", r"PMIx_Job_control_nb failed", "PRRTE has no such job control")],
    "modex_attach_fail": [("beside sid", r"PMIX_LOCAL_PEERS", "the order of peers is the launcher's")],
    "multi_nspace_group": [("client sid", r"NOTIFIED with status -200|Get modex for proc|PMIx_Get ", ENDED),
                           ("beside client sid", r"^\tJOB@|Get modex for proc|NUM MEMBERS: [26] ", RANKS),
                           ("beside served sid", r"PMIx_Get job size failed for nspace|Get modex for proc",
                            "the first job may have ended before the second asks for its size")],
    "nodeinfo": [("beside client sid", r"coordinates with directive", "which of its failures PRRTE reports changes")],
    "pset": [("beside debian-13 sid", r"", "no process set is named to mpirun, and the program waits for it")],
    "pubi": [("beside debian-11 debian-12", r"", "its mpirun answers a lookup that is to wait at once")],
    "pubstress": [("beside debian-13", r"", "PRRTE 3.0's data server fails at the purge, and says so")],
    "resolve": [("beside client debian-13", r"", "does not end there")],
    "spawn_group": [("beside sid", r"", "does not end there in some runs"),
                    ("client sid", r"^\tJOB@|NUM MEMBERS: [26] ", RANKS),
                    ("client sid", r"NOTIFIED with status -200|Get modex for proc|PMIx_Get ", ENDED)],
}


def known(mode, release, name):
    for where, pattern, why in KNOWN.get(name, []) + KNOWN["*"]:
        words = where.split()
        if mode in words and (release in words or "all" in words):
            yield pattern, why


def between(mode, release, name, ours, theirs):
    """(problems, reasons of what differs as it may) of two results (status, lines, ...)."""
    (status, said), (other, theirs_said) = ours[:2], theirs[:2]
    problems, reasons = [], []
    if status != other:
        problems.append((None, "ended with %d here, with %d there" % (status, other)))
    # Where a process has failed, the launcher ends the others wherever they are.
    if status == 0 or other == 0:
        problems += [(line, "only here  %d times: %s" % (count, line)) for line, count in sorted((said - theirs_said).items())]
        problems += [(line, "only there %d times: %s" % (count, line)) for line, count in sorted((theirs_said - said).items())]
    for pattern, why in known(mode, release, name):
        left = [p for p in problems if pattern and (p[0] is None or not re.search(pattern, p[0]))]
        if len(left) < len(problems):
            reasons.append(why)
        problems = left
    return [text for _, text in problems], reasons
