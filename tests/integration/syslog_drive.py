#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a job whose ranks write to the system's log, and is that log.

    syslog_drive.py CASE COMMAND...     said: compared with what was to be said; lost: nobody listens;
                                        silent: somebody listens and does not read

libc's syslog() writes to /dev/log. In a namespace this test has a /dev of its own; where none is permitted, root takes
/dev/log itself if nobody has it. Else: a line "skipped: ..."."""
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import threading

import private_place

LOG = "/dev/log"
# As RFC 3164 has it and as libc writes it: priority, time, program.
LINE = re.compile(r"<(\d+)>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [^:]+: (.*)", re.DOTALL)
USER = 1 << 3  # the facility


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def own_dev(work):
    try:
        private_place.enter()
        private_place.small_dev(work)
        return
    except OSError as error:
        if os.geteuid() != 0 or os.path.lexists(LOG) or not os.access("/dev", os.W_OK):
            skip("no namespaces here: %s" % error)


class Log:
    def __init__(self, reads):
        self.lines = []
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            self.socket.bind(LOG)
        except OSError as error:
            skip("%s: %s" % (LOG, error))
        os.chmod(LOG, 0o666)
        self.end, self.stop = os.pipe()
        self.reader = threading.Thread(target=self.read if reads else lambda: None)
        self.reader.start()

    def read(self):
        """Until it is told to stop and has taken all that was sent: a datagram lies here when its sender goes on."""
        while True:
            ready = select.select([self.socket, self.end], [], [])[0]
            if self.socket in ready:
                self.lines.append(self.socket.recv(1 << 16).rstrip(b"\0\n").decode(errors="replace"))
            elif self.end in ready:
                return

    def finish(self):
        os.close(self.stop)
        self.reader.join()
        os.unlink(LOG)
        return self.lines


def wanted(source, gateway):
    me = "[%s,1] " % source
    return ([(USER | 3, me + "no priority")] + [(USER | n, me + "priority %d" % n) for n in range(8)] +
            [(USER | 3, me + "100%s %n of <0>a line")] + [(USER | 3, me + "for all nodes")] * gateway +
            [(USER | 3, me + "the first"), (USER | 3, me + "the second"), (USER | 3, me + "the first")])


def run(case, command, work):
    own_dev(work)
    log = Log(case == "said") if case != "lost" else None
    try:
        job = subprocess.run([*command, case], stdout=subprocess.PIPE, encoding="utf-8", check=False)
    finally:
        lines = log.finish() if log else []
    print(job.stdout)
    if job.returncode != 0:
        sys.exit("FAIL: exit status %d" % job.returncode)
    if case == "said":
        source = re.search(r"^source: (.*)$", job.stdout, re.MULTILINE)[1]
        parsed = [LINE.fullmatch(line) for line in lines]
        got = [(int(m[1]), m[2]) for m in parsed if m]
        got = [line for line in got if line[1].startswith("[" + source + ",")]  # another may have spoken
        right = wanted(source, "global: written" in job.stdout)
        if got != right:
            sys.exit("FAIL: the log has\n%s\nnot\n%s" % ("\n".join(lines), "\n".join(map(str, right))))
    elif os.path.lexists(LOG):
        sys.exit("FAIL: somebody made " + LOG)
    print("OK syslog")


def main():
    # In a process of its own, because what it mounts on cannot be removed from inside.
    work = tempfile.mkdtemp()
    child = os.fork()
    if child == 0:
        run(sys.argv[1], sys.argv[2:], work)
        sys.exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.rmdir(work)
    sys.exit(status)


main()
