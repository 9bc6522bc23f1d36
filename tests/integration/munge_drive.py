#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs munge.c's cases beside a munged of its own.

    munge_drive.py PLACE CASE PMIXRUN CLIENT LIBRARY-PATH      run below run_clean, which gives TMPDIR

libmunge has the name of its socket compiled in. PLACE says how the two come together:
  copy     a copy of the system's libmunge with another name in the place of that one: needs no rights at all
  system   the system's own libmunge and the name that it has, below a /run of this test's own: needs a namespace

Where one of the two parties is not installed, or namespaces are not permitted: a line "skipped: ..."."""
import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import private_place

OTHER_UID, OTHER_GID = 64101, 64102
SOCKET_NAME = re.compile(rb"/[\x21-\x7e]*munge\.socket\.2\0")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def system_library():
    try:
        ctypes.CDLL("libmunge.so.2")
    except OSError:
        skip("no libmunge")
    with open("/proc/self/maps", encoding="utf-8") as maps:
        return next(line.split()[-1] for line in maps if "libmunge.so" in line)


class Munged:
    def __init__(self, work, name, socket):
        self.work, self.name, self.socket = work, name, socket
        with open(self._path("key"), "wb") as key:
            key.write(os.urandom(128))
        os.chmod(self._path("key"), 0o600)
        self.process = None

    def _path(self, what):
        return os.path.join(self.work, self.name + "." + what)

    def start(self):
        # --force: the directories of a test are not those of a daemon
        self.process = subprocess.Popen(
            ["munged", "--foreground", "--force", "--num-threads=2", "--socket=" + self.socket,
             "--key-file=" + self._path("key"), "--pid-file=" + self._path("pid"),
             "--log-file=" + self._path("log"), "--seed-file=" + self._path("seed")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 60
        while subprocess.run(["munge", "--socket", self.socket, "-n", "-o", os.devnull],
                             stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if self.process.poll() is not None or time.monotonic() > until:
                sys.exit("FAIL: munged does not run")
            time.sleep(0.01)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None

    def credential(self, work, name, *options, user=None):
        with open(os.path.join(work, name), "wb") as file:
            subprocess.run(["munge", "--socket", self.socket, "-n", *options], stdout=file, check=True, **user or {})

    def verdict(self, path):
        """What munge's own program makes of it."""
        return subprocess.run(["unmunge", "--socket", self.socket, "-i", path], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=False).stdout


def has_other_users():
    """Root can be the other user, unless a container has no such user."""
    def in_map(which, number):
        with open("/proc/self/%s_map" % which, encoding="ascii") as ranges:
            return any(int(first) <= number < int(first) + int(count) for first, _, count in map(str.split, ranges))
    return os.geteuid() == 0 and in_map("uid", OTHER_UID) and in_map("gid", OTHER_GID)


def made_by_others(munged, other, work, many_users):
    munged.credential(work, "good")
    munged.credential(work, "for-another", "--restrict-uid=%d" % OTHER_UID)
    other.credential(work, "other-key")
    if many_users:
        munged.credential(work, "other-user", user={"user": OTHER_UID, "group": OTHER_GID, "extra_groups": []})
    munged.credential(work, "expired", "--ttl=1")
    # By the nature of the thing: this waits for the clock, and only the clock. Then munge itself must say so.
    munged.credential(work, "expired.witness", "--ttl=1")
    over = time.time() + 2.5
    while time.time() < over:
        time.sleep(0.1)
    if "xpired" not in munged.verdict(os.path.join(work, "expired.witness")):
        sys.exit("FAIL: munge does not call it expired")


def obey(munged, work):
    """Kills and starts munged as the client says."""
    while True:
        with open(os.path.join(work, "control"), encoding="ascii") as control:
            letter = control.read(1)
        if letter == "k":
            munged.kill()
        elif letter == "s":
            munged.start()
        with open(os.path.join(work, "answer"), "w", encoding="ascii") as answer:
            answer.write(letter)


def patched(library, socket, directory):
    with open(library, "rb") as file:
        image = file.read()
    names = SOCKET_NAME.findall(image)
    if len(names) != 1 or len(socket) >= len(names[0]):
        sys.exit("FAIL: %s has the names %s" % (library, names))
    with open(os.path.join(directory, "libmunge.so.2"), "wb") as file:
        file.write(image.replace(names[0], socket.encode().ljust(len(names[0]), b"\0")))


def main():
    place, case, pmixrun, client, library_path = sys.argv[1:]
    for program in ("munged", "munge", "unmunge"):
        if shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin") is None:
            skip("no " + program)
    os.environ["PATH"] += ":/usr/sbin"
    library = system_library()
    many_users = has_other_users()
    short = None
    if place == "copy":
        work = tempfile.mkdtemp()
        short = tempfile.mkdtemp(prefix="m.", dir="/tmp")  # TMPDIR may be too long
        os.chmod(short, 0o755)
        socket = os.path.join(short, "socket")
        patched(library, socket, work)
        options = ["-x", "LD_LIBRARY_PATH=%s:%s" % (work, library_path)]
    else:
        try:
            private_place.enter()
            private_place.empty("/run")
        except OSError as error:
            skip("no namespaces here: %s" % error)
        with open(library, "rb") as file:
            socket = os.path.realpath(SOCKET_NAME.search(file.read())[0][:-1].decode())
        if not socket.startswith("/run/"):
            skip("this libmunge looks for " + socket)
        work = tempfile.mkdtemp()
        os.makedirs(os.path.dirname(socket), 0o755)
        options = ["-x", "LD_LIBRARY_PATH=" + library_path]
    munged, other = Munged(work, "own", socket), Munged(work, "other", os.path.join(work, "s"))
    status = 1
    try:
        if case == "proofs":
            munged.start()
            other.start()
            made_by_others(munged, other, work, many_users)
            for name in ("control", "answer"):
                os.mkfifo(os.path.join(work, name))
            threading.Thread(target=obey, args=(munged, work), daemon=True).start()
        status = subprocess.run([pmixrun, "-n", "2", *options, client, case, work], check=False).returncode
        if status == 0 and case == "proofs":
            said = munged.verdict(os.path.join(work, "made"))
            if "STATUS:" not in said or "Success (0)" not in said or "(%d)" % os.geteuid() not in said:
                sys.exit("FAIL: unmunge says " + said)
            print("OK munge")
    finally:
        munged.kill()
        other.kill()
        shutil.rmtree(work)
        if short:
            shutil.rmtree(short)
    sys.exit(status)


main()
