#!/usr/bin/env python3
"""Line coverage of tools/ is a condition of CI (scripts/coverage)."""

import contextlib
import importlib.machinery
import importlib.util
import io
import re
import sys
import unittest

from support import ROOT


def coverage():
    loader = importlib.machinery.SourceFileLoader("coverage_script", str(ROOT / "scripts" / "coverage"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("coverage_script", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


class Coverage(unittest.TestCase):
    def said_of(self, ran):
        """Returns (status, last line) for 1,000 lines, of which this many ran."""
        times = {("tools/a.cc", line): int(line < ran) for line in range(1000)}
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()):
            status = coverage().report(times, coverage().LEAST)
        return status, out.getvalue().splitlines()[-1]

    def test_below_eighty_per_cent_fails(self):
        status, line = self.said_of(799)
        self.assertEqual(status, 1, line)
        status, line = self.said_of(800)
        self.assertEqual(status, 0, line)
        self.assertIn("800 of  1000", line)

    def test_ci_checks_the_coverage(self):
        self.assertRegex((ROOT / ".ci" / "run").read_text(), r"(?m)^make coverage$")
        rule = re.search(r"(?m)^coverage:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text())[1]
        self.assertIn("scripts/coverage", rule)
        self.assertNotIn("--least", rule)


if __name__ == "__main__":
    unittest.main()
