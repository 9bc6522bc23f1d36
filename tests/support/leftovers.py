"""What a job could leave behind, listed: compare two snapshots, one before and one after.

Names that only this machine's other work could have made are not looked at: of the temporary directory only entries
that a PMIx library or pmixrun would make count, unless the directory belongs to the test (then every entry does).
A name in the kernel (socket, memfd) exists as long as a process that holds it, so it is looked for in those that may."""
import os
import re

TEMPORARY_NAMES = re.compile(r"pmix|wireup", re.IGNORECASE)
SOCKET_NAMES = re.compile(r"wireup|pmix", re.IGNORECASE)


def _entries(directory, wanted=None):
    try:
        names = os.listdir(directory)
    except OSError:
        return set()
    return {os.path.join(directory, name) for name in names if wanted is None or wanted.search(name)}


def _tree(directory):
    found = set()
    for top, directories, files in os.walk(directory):
        found.update(os.path.join(top, name) for name in directories + files)
    return found


def ancestors():
    """This process, its parent, and so on."""
    found, pid = [], os.getpid()
    while pid > 1:
        found.append(pid)
        try:
            with open("/proc/%d/stat" % pid, encoding="utf-8", errors="replace") as stat:
                pid = int(stat.read().rpartition(")")[2].split()[1])
        except OSError:
            break
    return found


def _holders(mark):
    """The processes that may hold what a test left: those with the test's mark in their environment (none of them, where
    there is no mark), and those that called it. All others belong to another test that runs beside this one."""
    above = ancestors()
    if not mark:
        yield from above
        return
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            if pid not in above:
                with open("/proc/%d/environ" % pid, "rb") as environment:
                    if mark.encode() not in environment.read().split(b"\0"):
                        continue
        except OSError:
            continue  # it ended, or is not ours to look at
        yield pid


def _names():
    """inode -> name of the sockets that have one of ours."""
    found = {}
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
            for line in table.readlines()[1:]:
                fields = line.split(maxsplit=7)
                if len(fields) == 8 and SOCKET_NAMES.search(fields[7]):
                    found[fields[6]] = fields[7].rstrip("\n")
    except OSError:
        pass
    return found


def _held(mark):
    """Sockets and memory files with a name of ours: in descriptors and in maps."""
    found, sockets = set(), _names()
    for pid in _holders(mark):
        try:
            targets = [os.readlink("/proc/%d/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%d/fd" % pid)]
            with open("/proc/%d/maps" % pid, encoding="utf-8", errors="replace") as maps:
                targets += [line.split(maxsplit=5)[5].strip() for line in maps if "/memfd:" in line]
        except (OSError, IndexError):
            continue
        for target in targets:
            if target.startswith("/memfd:") and SOCKET_NAMES.search(target):
                found.add("memfd %s in process %d" % (target, pid))
            elif target.startswith("socket:[") and target[8:-1] in sockets:
                found.add("socket %s in process %d" % (sockets[target[8:-1]], pid))
    return found


def _system_v():
    found = set()
    for kind in ("shm", "sem", "msg"):
        try:
            with open("/proc/sysvipc/" + kind, encoding="ascii") as table:
                found.update("System V %s %s" % (kind, " ".join(line.split()[:2])) for line in table.readlines()[1:])
        except OSError:
            pass
    return found


def snapshot(own_directory=None, mark=""):
    """The set of names that are there now. own_directory belongs to the test: all in it counts; mark is a setting
    (NAME=VALUE) that is in the environment of the test's processes and of no others; without one, no process of the test's is
    there any more."""
    found = _entries("/dev/shm") | _entries("/tmp", TEMPORARY_NAMES) | _system_v() | _held(mark)
    found.discard(own_directory)
    if own_directory:
        found |= _tree(own_directory)
    return found
