#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_clean must see what is left: a check that finds nothing proves nothing until it has been seen to find something."""
import os
import re
import signal
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


# A setting of the caller's would be in the line that repeats a case.
PLAIN = {name: value for name, value in os.environ.items() if not name.startswith(("WIREUP_", "ASAN_", "UBSAN_", "TSAN_", "LSAN_"))}


def run_clean(*arguments, **settings):
    """Its exit status and its output. A name outside the command's directory has the usual time to go: this machine's
    other work may be in the middle of something."""
    done = subprocess.run([sys.executable, os.path.join(HERE, "run_clean"), *arguments], capture_output=True, text=True,
                          timeout=120, env=dict(PLAIN, **settings))
    return done.returncode, done.stdout


def repeated(text):
    """What the line does that a failed case has printed: in a shell, in the top folder of the tree."""
    line = text.split("to repeat it, in the top folder of the tree:\n")[1]
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120, cwd=TOP, env=PLAIN)
    return done.returncode, done.stdout


def need_stacks(test, text):
    """Skips the test where processes have none to show."""
    if not shutil.which("gdb") or "ptrace: " in text:
        test.skipTest("gdb is not installed or may not look at processes")


def logging(script):
    """A command that does what the library does: `log NUMBER` appends its input to the log of that process."""
    return ["sh", "-c", 'path=${WIREUP_LOG#*@}; log() { cat >>"${path%%\\%%p}$1"; }; %s' % script]


def run_unclean(*arguments):
    """The same for a command that leaves something: nobody waits for it to go."""
    return run_clean("--beside", "0.1", *arguments)


def python(code):
    return [sys.executable, "-c", code]


def seconds(number):
    """So long to sleep, in a form that no other run of this test on the machine has: it looks for such processes."""
    return "%d.%d" % (number, os.getpid())


class RunClean(unittest.TestCase):
    def test_clean_command_passes(self):
        self.assertEqual(run_clean("true"), (0, ""))

    def test_output_is_passed_on_and_matched(self):
        self.assertEqual(run_clean("--match", "^hello$", "echo", "hello"), (0, "hello\n"))
        self.assertEqual(run_clean("--match", "good", "echo", "bad")[0], 1)
        self.assertEqual(run_clean("--absent", "bad", "echo", "bad")[0], 1)

    def test_stdin(self):
        self.assertEqual(run_clean("--stdin", "some text", "cat"), (0, "some text"))

    def test_exit_status(self):
        self.assertEqual(run_clean("--expect", "3", "sh", "-c", "exit 3"), (0, ""))
        self.assertEqual(run_clean("--expect", "3", "true")[0], 1)
        self.assertEqual(run_clean("false")[0], 1)
        self.assertEqual(run_clean("--expect", "137", "sh", "-c", "kill -9 $$"), (0, ""))

    def test_skipped_is_neither_passed_nor_failed(self):
        self.assertEqual(run_clean("--match", "^OK", "sh", "-c", "echo no; exit 77"), (77, "no\n"))
        self.assertEqual(run_unclean("sh", "-c", "touch $TMPDIR/f; exit 77")[0], 99)

    def test_left_file_in_own_directory(self):
        code, text = run_unclean("sh", "-c", "mkdir $TMPDIR/d; touch $TMPDIR/d/f")
        self.assertEqual(code, 99)
        self.assertIn("d/f", text)

    def test_left_file_in_tmp(self):
        path = "/tmp/pmix-run-clean-test.%d" % os.getpid()
        try:
            code, text = run_unclean("touch", path)
        finally:
            os.unlink(path)
        self.assertEqual(code, 99)
        self.assertIn(path, text)

    def test_left_shared_memory(self):
        path = "/dev/shm/run-clean-test.%d" % os.getpid()
        try:
            code, text = run_unclean("touch", path)
        finally:
            os.unlink(path)
        self.assertEqual(code, 99)
        self.assertIn(path, text)

    def test_left_system_v_memory(self):
        code, text = run_unclean("ipcmk", "-M", "4096")
        if "id:" not in text:
            self.skipTest("no ipcmk")
        subprocess.run(["ipcrm", "-m", text.split("id:")[1].split()[0]], check=True)
        self.assertEqual(code, 99)
        self.assertIn("System V shm", text)

    def test_left_process(self):
        code, text = run_unclean("--settle", "0.1", "sh", "-c", "sleep %s &" % seconds(4711))
        self.assertEqual(code, 99)
        self.assertIn("sleep " + seconds(4711), text)
        self.assertNotEqual(subprocess.run(["pgrep", "-f", "^sleep %s$" % seconds(4711)]).returncode, 0)

    def test_left_process_in_a_session_of_its_own(self):
        code, text = run_unclean("--settle", "0.1", "sh", "-c", "setsid sh -c 'sleep %s & sleep %s' &" % (seconds(4712), seconds(4712)))
        self.assertEqual(code, 99)
        self.assertNotEqual(subprocess.run(["pgrep", "-f", "^sleep %s$" % seconds(4712)]).returncode, 0)

    def test_process_that_ends_in_time(self):
        self.assertEqual(run_clean("--settle", "60", "sh", "-c", "sleep 0.2 &"), (0, ""))

    def keep_descriptor(self, make):
        """Runs a command that makes a descriptor and hands it to this process, which keeps it: nothing below run_clean
        is left, only the name in the kernel."""
        with tempfile.TemporaryDirectory() as directory, socket.socket(socket.AF_UNIX) as listener:
            path = os.path.join(directory, "s")
            listener.bind(path)
            listener.listen(1)
            listener.settimeout(60)
            code = ("import os,socket\n%s\np=socket.socket(socket.AF_UNIX);p.connect(%r)\n"
                    "socket.send_fds(p,[b'x'],[fd]);p.recv(1)" % (make, path))
            command = subprocess.Popen([os.path.join(HERE, "run_clean"), "--beside", "0.1", *python(code)], stdout=subprocess.PIPE,
                                       text=True)
            connection, _ = listener.accept()
            _, kept, _, _ = socket.recv_fds(connection, 16, 1)
            connection.close()
            text = command.communicate(timeout=60)[0]
            os.close(kept[0])
            return command.returncode, text

    def test_left_socket(self):
        code, text = self.keep_descriptor("s=socket.socket(socket.AF_UNIX);s.bind(b'\\0wireup/run-clean-test');s.listen();"
                                          "fd=s.fileno()")
        self.assertEqual(code, 99, text)
        self.assertIn("@wireup/run-clean-test", text)

    def test_left_memfd(self):
        code, text = self.keep_descriptor("fd=os.memfd_create('wireup-run-clean-test')")
        self.assertEqual(code, 99, text)
        self.assertIn("memfd:wireup-run-clean-test", text)

    def test_timeout(self):
        start = time.monotonic()
        self.assertEqual(run_clean("--timeout", "0.3", "sh", "-c", "sleep %s & sleep %s" % (seconds(4713), seconds(4713)))[0], 124)
        self.assertLess(time.monotonic() - start, 100)
        self.assertNotEqual(subprocess.run(["pgrep", "-f", "^sleep %s$" % seconds(4713)]).returncode, 0)

    def test_failed_case_prints_a_line_that_repeats_it(self):
        words = ["--expect", "3", "--match", "two  words", "sh", "-c", 'echo "$1 in $2 of ${#3}"; exit 5', "-", "it's", TOP + "/tests", ""]
        code, text = run_clean(*words)
        self.assertEqual(code, 1)
        self.assertIn('\ntests/support/run_clean --expect 3 --match \'two  words\' sh -c', text)
        self.assertNotIn(TOP, text.split("to repeat it")[1])
        self.assertIn("it's in %s/tests of 0\n" % TOP, text)
        self.assertEqual(repeated(text), (code, text))

    def test_line_that_repeats_it_has_the_settings_of_the_case(self):
        command = ["sh", "-c", "echo of $WIREUP_FENCE_MEMORY and $HWLOC_XMLFILE; exit 1"]
        code, text = run_clean(*command, WIREUP_FENCE_MEMORY="7 of", HWLOC_XMLFILE=TOP + "/x")
        self.assertEqual(code, 1)
        self.assertIn("of 7 of and %s/x\n" % TOP, text)
        self.assertEqual(repeated(text), (code, text))
        self.assertNotIn("\nWIREUP_FENCE_MEMORY", run_clean(*command)[1])

    def test_case_that_runs_without_run_clean_prints_that_line_too(self):
        def repeatable(*command):
            done = subprocess.run([os.path.join(HERE, "repeatable"), *command], capture_output=True, text=True, timeout=120)
            return done.returncode, done.stdout

        self.assertEqual(repeatable("echo", "well"), (0, "well\n"))
        self.assertEqual(repeatable("sh", "-c", "echo not here; exit 77"), (77, "not here\n"))
        code, text = repeatable("sh", "-c", 'echo "$1"; exit 5', "-", TOP + "/a b")
        self.assertEqual((code, text.count("\n")), (5, 3))
        self.assertEqual(repeated(text), (5, TOP + "/a b\n"))
        self.assertEqual(repeatable("sh", "-c", "kill -9 $$")[0], 137)

    def test_failed_case_prints_the_ends_of_the_logs(self):
        code, text = run_clean(*logging("seq 1000 1200 | log 7; echo info: last | log 8; : | log 9; false"))
        self.assertEqual(code, 1)
        self.assertIn("the log of process 7 ends with\n    1186\n    1187\n", text)
        self.assertIn("    1200\n", text)
        self.assertIn("the log of process 8 ends with\n    info: last\n", text)
        self.assertNotIn("process 9", text)
        self.assertNotIn("left out", text)

    def test_of_many_logs_those_with_a_warning_are_printed(self):
        code, text = run_clean(*logging("for i in $(seq 101 130); do echo text | log $i; done; echo 'x server warn: bad' | log 900; false"))
        self.assertEqual(code, 1)
        self.assertEqual(re.findall(r"the log of process (\d+)", text), ["900"] + [str(n) for n in range(101, 120)])
        self.assertIn("the logs of 11 more processes are left out\n", text)

    def test_passing_case_leaves_no_logs(self):
        code, text = run_clean(*logging('echo text | log 7; echo "$path"'))
        self.assertEqual(code, 0)
        path = text.rstrip("\n")
        self.assertTrue(path.endswith("/log.%p"), text)
        self.assertFalse(os.path.exists(os.path.dirname(path)))

    def test_case_may_have_another_log_or_none(self):
        self.assertEqual(run_clean("sh", "-c", "echo $WIREUP_LOG", WIREUP_LOG="warn@stderr"), (0, "warn@stderr\n"))
        self.assertEqual(run_clean("--no-log", "sh", "-c", "echo ${WIREUP_LOG-none}"), (0, "none\n"))

    def test_logs_of_a_job(self):
        pmixrun, program = os.environ.get("RUN_CLEAN_PMIXRUN"), os.environ.get("RUN_CLEAN_PROGRAM")
        if not pmixrun or not program:
            self.skipTest("no pmixrun is named")
        command = [pmixrun, "-n", "3", "--nodes", "2", program]
        code, text = run_clean("--expect", "5", *command)
        self.assertEqual(code, 1, text)
        self.assertGreaterEqual(len(re.findall(r"the log of process \d+ ends with\n    .* (api|server) ", text)), 5, text)
        for rank in range(3):
            self.assertRegex(text, r"(?m)^    \S+ \S+:%d\[.* api info: finalized$" % rank)
        code, text = run_clean(*command)
        self.assertEqual(code, 0, text)
        self.assertNotIn("run_clean:", text)

    def test_timeout_shows_stacks(self):
        code, text = run_clean("--timeout", "1", *logging("sleep %s & echo text | log $!; sleep %s; :" % (seconds(4715), seconds(4716))))
        self.assertEqual(code, 124)
        self.assertIn("run_clean: did not end within 1 seconds\n", text)
        need_stacks(self, text)
        self.assertRegex(text.split("the stacks of process ")[1], r"^\d+ \(sleep %s\)" % seconds(4715))  # has a log
        for number in (4715, 4716):
            self.assertRegex(text, r"the stacks of process \d+ \(sleep %s\)\n(    .*\n)*    #0 .*sleep" % seconds(number))
        self.assertRegex(text, r"the log of process \d+ \(sleep %s\) ends with\n    text\n" % seconds(4715))
        self.assertNotIn("gdb", text)

    def test_timeout_without_gdb(self):
        code, text = run_clean("--timeout", "0.3", shutil.which("sleep"), seconds(4717), PATH="/nonexistent")
        self.assertEqual(code, 124)
        self.assertEqual(text.count("gdb"), 1)
        self.assertRegex(text, r"gdb is not installed: .*\n    process \d+ \(\S*sleep %s\)\n" % seconds(4717))

    def test_left_process_shows_its_stack(self):
        code, text = run_clean("--settle", "0.5", "sh", "-c", "sleep %s &" % seconds(4718))
        self.assertEqual(code, 99)
        need_stacks(self, text)
        self.assertRegex(text, r"the stacks of process \d+ \(sleep %s\)\n(    .*\n)*    #0 " % seconds(4718))

    def test_command_ends_with_run_clean(self):
        process = subprocess.Popen([os.path.join(HERE, "run_clean"), "sh", "-c", "echo up; sleep " + seconds(4714)],
                                   stdout=subprocess.PIPE)
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 128 + signal.SIGTERM)
        process.stdout.close()
        self.assertNotEqual(subprocess.run(["pgrep", "-f", "^sleep %s$" % seconds(4714)]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
