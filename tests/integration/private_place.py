"""A mount namespace of one's own, where the machine permits one, so that a test may have a /run or a /dev of its own."""
import ctypes
import os

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def _mount(source, target, kind=None, flags=0):
    text = [None if t is None else t.encode() for t in (source, target, kind)]
    if libc.mount(*text, ctypes.c_ulong(flags), None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), target)


def _write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def enter():
    """From here on, what this process and its children mount is theirs alone. OSError: not permitted."""
    uid, gid = os.geteuid(), os.getegid()
    if libc.unshare(CLONE_NEWNS if uid == 0 else CLONE_NEWNS | CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "unshare")
    if uid != 0:
        _write("/proc/self/setgroups", "deny")
        _write("/proc/self/uid_map", "0 %d 1" % uid)
        _write("/proc/self/gid_map", "0 %d 1" % gid)
    _mount("none", "/", flags=MS_REC | MS_PRIVATE)


def empty(directory):
    """Covers it by an empty one."""
    _mount("tmpfs", directory, "tmpfs")


def small_dev(directory):
    """Covers /dev by one without a log, made in that (empty) directory."""
    empty(directory)
    for name in ("null", "zero", "full", "random", "urandom", "tty"):
        place = os.path.join(directory, name)
        _write(place, "")
        _mount("/dev/" + name, place, flags=MS_BIND)
    for name in ("shm", "pts"):
        place = os.path.join(directory, name)
        os.mkdir(place)
        if os.path.isdir("/dev/" + name):
            _mount("/dev/" + name, place, flags=MS_BIND | MS_REC)
    for name, target in (("fd", "/proc/self/fd"), ("ptmx", "pts/ptmx")):
        os.symlink(target, os.path.join(directory, name))
    _mount(directory, "/dev", flags=MS_BIND | MS_REC)
