"""Machines without some features: a container with Docker's defaults, which cannot make
namespaces."""

import json
import subprocess

from everyday import EverydayCase, main
from support import GALLEY, ROOT

AS_IN_DOCKER = ROOT / "scripts" / "as-in-docker"


class InAContainer(EverydayCase):
    is_about_missing_walls = True

    def setUp(self):
        super().setUp()
        # The same program, behind Docker's filter of system calls.
        self.program = (str(AS_IN_DOCKER), GALLEY)
        with open(self.work / "galley.toml", "a", encoding="utf-8") as file:
            file.write('\n[sandbox]\ndeny = ["git push"]\n')

    def allow_copy(self):
        path = self.work / "galley.toml"
        path.write_text(path.read_text() + 'fallback = "copy"\n')

    def test_a_command_without_walls_is_refused_with_a_remedy(self):
        """docker: an operation that a container may not do fails, and an option allows it."""
        self.run_here("begin", expect=0)
        result = self.run_here("exec", "--", "touch", "made", expect=1)
        self.assertIn("could not make the namespaces", result.err)
        self.assertIn('sandbox.fallback = "copy"', result.err)
        self.assertIn("docs/sandbox.md", result.err)
        self.assertEqual(json.loads(self.run_here("diff", "--json", expect=0).out)["changes"], [])
        self.assertFalse((self.work / "made").exists())

    def test_a_command_on_a_copy_names_its_level_and_the_missing_limits(self):
        """docker: `docker info` warns about each protection that the host lacks."""
        self.allow_copy()
        self.run_here("begin", expect=0)
        result = self.run_here("exec", "--", "touch", "made", expect=0)
        self.assertIn("exit 0 in copy", result.err)
        self.assertIn("not guaranteed at this level: it could read the host's files", result.err)
        self.assertIn("the copy has no git repository", result.err)
        self.assertIn("only the first program was checked against: git push", result.err)
        document = json.loads(self.run_here("exec", "--json", "--", "true", expect=0).out)
        self.assertEqual(document["level"], "copy")
        self.assertEqual(document["unchecked"], ["git push"])
        self.run_here("commit", expect=0)
        self.assertTrue((self.work / "made").exists())

    def test_the_memory_limit_applies_on_a_copy(self):
        """docker: `--memory` ends a program that takes more, whatever the container can see."""
        self.allow_copy()
        self.run_here("begin", expect=0)
        greedy = ("import subprocess, sys; one = 'x = bytearray(60 << 20); import time; time.sleep(100)'\n"
                  "all = [subprocess.Popen([sys.executable, '-c', one]) for _ in range(4)]\n"
                  "[each.wait() for each in all]")
        result = self.run_here("exec", "--memory", "150mb", "--timeout", "60", "--", "python3", "-c", greedy, expect=3)
        self.assertIn("memory", result.err)

    def test_doctor_reports_the_protection_of_commands(self):
        """brew: `brew doctor` reports what works here and what does not."""
        self.assertIn("commands are refused", self.run_here("doctor", expect=(0, 1)).out)
        self.allow_copy()
        self.assertIn("commands run on a copy of the tree", self.run_here("doctor", expect=(0, 1)).out)


if __name__ == "__main__":
    main()
