#!/usr/bin/env python3
"""The program in one file (docs/start.md): what it needs from the machine, and that it works
without other files."""

import os
import re
import shutil
import subprocess
import unittest
from pathlib import Path

from support import GALLEY, ROOT, SystemCase, snapshot

SINGLE = Path(os.environ.get("GALLEY_SINGLE", str(ROOT / "build" / "single" / "galley")))
MOST_BYTES = 12_300_000
# The libraries of libc itself, on any processor.
OWN_LIBRARIES = re.compile(r"libc\.so\.6|libm\.so\.6|ld-linux-[a-z0-9-]+\.so\.[12]")
# The version in docs/start.md: Debian 12 has 2.36, Ubuntu 22.04 has 2.35.
NEWEST_GLIBC = (2, 35)


def said_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class WhatItNeeds(unittest.TestCase):
    def test_it_needs_no_library_beyond_libc(self):
        needed = re.findall(r"NEEDED\s+(\S+)", said_of("objdump", "-p", SINGLE))
        self.assertIn("libc.so.6", needed)
        for name in needed:
            self.assertRegex(name, OWN_LIBRARIES)

    def test_it_needs_no_newer_libc_than_the_page_says(self):
        versions = {tuple(map(int, found.split("."))) for found in
                    re.findall(r"GLIBC_([0-9.]+)", said_of("objdump", "-T", SINGLE))}
        self.assertLessEqual(max(versions), NEWEST_GLIBC)
        page = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
        self.assertIn("glibc {}.{}".format(*NEWEST_GLIBC), page)

    def test_it_is_stripped_and_small(self):
        self.assertLess(SINGLE.stat().st_size, MOST_BYTES)
        self.assertNotIn(" .symtab", said_of("objdump", "-h", SINGLE))

    def test_it_is_the_same_version(self):
        self.assertEqual(said_of(SINGLE, "--version"), said_of(GALLEY, "--version"))


class Alone(SystemCase):
    """The file in its own folder, with an empty HOME."""

    def setUp(self):
        super().setUp()
        self.folder = self.scratch / "bin"
        self.folder.mkdir()
        self.program = self.folder / "galley"
        shutil.copy(SINGLE, self.program)
        self.home = self.scratch / "home"
        self.home.mkdir()

    def run_alone(self, *arguments, expect=0, **environment):
        done = subprocess.run([self.program, "-C", self.work, *arguments], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60,
                              env={"PATH": "/usr/bin:/bin", "HOME": str(self.home), **self.environment, **environment})
        self.skip_if_unavailable(done.stdout.encode(), done.stderr.encode())
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_a_command_runs_in_the_embedded_sandbox(self):
        before = snapshot(self.work)
        self.run_alone("begin")
        said = self.run_alone("exec", "--", "sh", "-c", "echo made > made; ls /proc/self/fd | wc -l")
        # These are the three streams, and the one of ls. The command inherits no descriptor of
        # galley.
        self.assertEqual(said.stdout.split(), ["4"])
        self.assertEqual(snapshot(self.work), before)
        self.run_alone("commit")
        self.assertEqual((self.work / "made").read_text(), "made\n")
        self.assertEqual(os.listdir(self.folder), ["galley"])

    def test_a_helper_next_to_the_program_is_not_used(self):
        fake = self.folder / "galley-sandbox"
        fake.write_text("#!/bin/sh\ntouch " + str(self.scratch / "ran") + "\n")
        fake.chmod(0o755)
        self.run_alone("begin")
        self.run_alone("exec", "--", "true")
        self.assertFalse((self.scratch / "ran").exists())

    def test_no_files_are_left_behind(self):
        places = self.scratch / "temporary"
        places.mkdir()
        self.run_alone("begin")
        self.run_alone("exec", "--", "true", TMPDIR=str(places), XDG_RUNTIME_DIR=str(places))
        self.run_alone("rollback")
        self.assertEqual(os.listdir(places), [])

    def test_missing_grammars_are_reported(self):
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "syntax"\n')
        self.run_alone("begin")
        self.run_alone("call", "Write", '{"file_path": "new.c", "content": "int b;\\n"}')
        said = self.run_alone("validate", expect=None)
        self.assertIn("galley-syntax", said.stdout + said.stderr)


if __name__ == "__main__":
    unittest.main()
