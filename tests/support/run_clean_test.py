#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""run_clean must see what is left: a check that finds nothing proves nothing until it has been seen to find something."""
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))


def run_clean(*arguments):
    """Its exit status and its output. A name outside the command's directory has the usual time to go: this machine's
    other work may be in the middle of something."""
    done = subprocess.run([os.path.join(HERE, "run_clean"), *arguments], capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout


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
