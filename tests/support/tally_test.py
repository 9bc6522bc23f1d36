#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""tally must not take a skip for a pass, nor a failure for anything else."""
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PASSED = '<testcase name="unit/a" status="run"><system-out>[  PASSED  ] 1 test.</system-out></testcase>'
FAILED = '<testcase name="unit/b" status="fail"><failure message=""/><system-out>no</system-out></testcase>'
SKIPPED = ('<testcase name="places/c" status="notrun"><skipped message="SKIP_RETURN_CODE=77"/>'
           '<system-out>one line\nnot permitted here: unshare\n</system-out></testcase>')
MISSING = '<testcase name="unit/e" status="notrun"><skipped message="Unable to find executable"/></testcase>'
INNER = ('<testcase name="unit/d" status="run"><system-out>[ RUN      ] S.One\nd_test.cpp:3: Skipped\nneeds root\n\n'
         '[  SKIPPED ] S.One (0 ms)\n[ RUN      ] S.Two\n[       OK ] S.Two (0 ms)\n[  SKIPPED ] 1 test, listed below:\n'
         '[  SKIPPED ] S.One\n</system-out></testcase>')


class Tally(unittest.TestCase):
    def tally(self, cases, allowed="", strict=False, preset="dev"):
        with tempfile.TemporaryDirectory() as folder:
            report, listed = os.path.join(folder, "r.xml"), os.path.join(folder, "allowed")
            for path, text in ((report, "<testsuite>%s</testsuite>" % "".join(cases)), (listed, allowed)):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            command = [os.path.join(HERE, "tally"), "--allowed", listed] + ["--strict"] * strict
            done = subprocess.run(command + ["%s=%s" % (preset, report)], capture_output=True, text=True, timeout=60)
            return done.returncode, done.stdout.splitlines()

    def test_pass_and_failure_are_counted(self):
        self.assertEqual(self.tally([PASSED, PASSED]), (0, ["2 passed, 0 failed, 0 skipped"]))
        self.assertEqual(self.tally([PASSED, FAILED]), (1, ["failed: dev unit/b", "    no", "1 passed, 1 failed, 0 skipped"]))

    def test_failure_is_printed_with_the_end_of_its_output(self):
        text = "\n".join(["line %d" % i for i in range(100)] + ["x" * 1000])
        lines = self.tally([PASSED, FAILED.replace(">no<", ">%s<" % text)])[1]
        self.assertEqual(lines[:2], ["failed: dev unit/b", "    line 61"])
        self.assertEqual((len(lines), len(lines[-2])), (42, 304))

    def test_program_that_is_missing_is_a_failure(self):
        self.assertEqual(self.tally([PASSED, MISSING]), (1, ["failed: dev unit/e", "1 passed, 1 failed, 0 skipped"]))
        self.assertEqual(self.tally([PASSED, '<testcase name="unit/f" status="notrun"/>'])[1][-1], "1 passed, 1 failed, 0 skipped")

    def test_nothing_passed_is_a_failure(self):
        self.assertEqual(self.tally([])[0], 1)
        self.assertEqual(self.tally([SKIPPED])[0], 1)

    def test_skip_is_named_with_its_reason(self):
        code, lines = self.tally([PASSED, SKIPPED])
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("dev places/c: not permitted here: unshare", lines[0])

    def test_case_that_skipped_itself_is_counted_once(self):
        code, lines = self.tally([INNER])
        self.assertEqual((code, lines[-1]), (0, "1 passed, 0 failed, 1 skipped"))
        self.assertIn("unit/d:S.One: needs root", lines[0])

    def test_strict_fails_on_a_skip_that_is_not_listed(self):
        self.assertEqual(self.tally([PASSED, SKIPPED], strict=True)[0], 1)
        self.assertEqual(self.tally([PASSED, SKIPPED], strict=True)[1][-1], "1 passed, 1 failed, 0 skipped")
        self.assertEqual(self.tally([PASSED, SKIPPED], "dev places/* no namespaces\n", strict=True)[0], 0)
        self.assertEqual(self.tally([PASSED, SKIPPED], "asan places/* no namespaces\n", strict=True)[0], 1)

    def test_unreadable_report_is_an_error(self):
        self.assertEqual(self.tally(["<"])[0], 2)
        self.assertEqual(self.tally([PASSED], "dev only-two\n")[0], 2)


if __name__ == "__main__":
    unittest.main()
