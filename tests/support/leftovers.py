"""What a job could leave behind, listed: compare two snapshots, one before and one after.

Names that only this machine's other work could have made are not looked at: of the temporary directory only entries
that a PMIx library or launcher would make count, unless the directory belongs to the test (then every entry does).
A name in the kernel (socket, memfd) cannot outlive every process that holds it, so it is looked for in full."""
import os
import re

TEMPORARY_NAMES = re.compile(r"pmix|wireup|ompi|prte|orte|lab-", re.IGNORECASE)
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


def _sockets():
    found = set()
    try:
        with open("/proc/net/unix", encoding="utf-8", errors="replace") as table:
            for line in table.readlines()[1:]:
                fields = line.split(maxsplit=7)
                if len(fields) == 8 and SOCKET_NAMES.search(fields[7]):
                    found.add("socket " + fields[7].rstrip("\n") + " inode " + fields[6])
    except OSError:
        pass
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


def _memfds():
    """Memory files with a name of ours: in the descriptors and in the maps of every process that may be looked at."""
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            targets = [os.readlink("/proc/%s/fd/%s" % (pid, fd)) for fd in os.listdir("/proc/%s/fd" % pid)]
            with open("/proc/%s/maps" % pid, encoding="utf-8", errors="replace") as maps:
                targets += [line.split(maxsplit=5)[5].strip() for line in maps if "/memfd:" in line]
        except (OSError, IndexError):
            continue  # it ended, or is not ours to look at
        found.update("memfd %s in process %s" % (target, pid) for target in targets
                     if target.startswith("/memfd:") and SOCKET_NAMES.search(target))
    return found


def snapshot(own_directory=None):
    """The set of names that are there now; own_directory belongs to the test, and all in it counts."""
    found = _entries("/dev/shm") | _entries("/tmp", TEMPORARY_NAMES) | _sockets() | _system_v() | _memfds()
    found.discard(own_directory)
    if own_directory:
        found |= _tree(own_directory)
    return found
