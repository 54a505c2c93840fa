"""The streams: results on stdout, messages on stderr, colours only on a terminal."""

import fcntl
import json
import os
import pty
import struct
import subprocess
import termios
import unittest

from support import GALLEY, PATCHES, SystemCase

GOOD = PATCHES / "good" / "01-discounts.patch"
SMALL = PATCHES / "good" / "02-one-line.patch"
ESC = b"\x1b["


class Streams(SystemCase):
    def on_terminal(self, *arguments, env=None):
        """Runs the program with stdout on a pseudo-terminal and returns the output there."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "PAGER": "cat", "GALLEY_PAGER": "cat"}
        environment.pop("NO_COLOR", None)
        environment.update(env or {})
        process = subprocess.Popen(
            [GALLEY, "-C", str(self.work), *map(str, arguments)],
            stdin=subprocess.DEVNULL, stdout=slave, stderr=subprocess.PIPE, env=environment)
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 65536)
            except OSError:
                break
            if not piece:
                break
            shown += piece
        os.close(master)
        process.stderr.read()
        process.stderr.close()
        return process.wait(), shown

    def test_no_colour_in_a_pipe(self):
        result = self.galley("preview", GOOD, expect=0)
        self.assertNotIn(ESC, result.stdout + result.stderr)

    def test_colour_on_a_terminal(self):
        status, shown = self.on_terminal("preview", SMALL)
        self.assertEqual(status, 0)
        self.assertIn(ESC, shown)

    def test_no_color_is_respected(self):
        _, shown = self.on_terminal("preview", SMALL, env={"NO_COLOR": "1"})
        self.assertNotIn(ESC, shown)

    def test_color_option_decides(self):
        self.assertIn(ESC, self.galley("--color", "always", "preview", SMALL, expect=0).stdout)
        _, shown = self.on_terminal("--color", "never", "preview", SMALL)
        self.assertNotIn(ESC, shown)

    def test_long_diff_goes_through_the_pager_only_on_a_terminal(self):
        mark = self.scratch / "paged"
        env = {"PAGER": f"tee {mark}", "GALLEY_PAGER": f"tee {mark}"}
        self.galley("preview", GOOD, expect=0, env=env)
        self.assertFalse(mark.exists())
        self.on_terminal("preview", GOOD, env=env)
        self.assertTrue(mark.exists())

    def test_stdout_of_preview_is_only_a_diff(self):
        result = self.galley("preview", GOOD, expect=0)
        self.assertTrue(result.stdout.startswith(b"diff --git "), result.stdout[:200])

    def test_json_is_one_document_and_nothing_else(self):
        for arguments in (("preview", GOOD), ("apply", GOOD), ("log",), ("show",), ("status",), ("undo",),
                          ("tools", "list"), ("tools", "show", "Write"), ("doctor",), ("log",)):
            with self.subTest(arguments=arguments):
                result = self.galley("--json", *arguments, expect=(0, 1))
                json.loads(result.stdout)

    def test_control_characters_of_a_patch_do_not_control_the_terminal(self):
        patch = b"--- a/none\x1b]0;owned\x07.txt\n+++ b/none\x1b]0;owned\x07.txt\n@@ -1 +1 @@\n-a\n+b\n"
        result = self.galley("apply", "-", stdin=patch, expect=(1, 2))
        self.assertNotIn(b"\x1b]0;", result.stderr + result.stdout)

    def test_a_closed_pipe_does_not_crash(self):
        process = subprocess.Popen(
            [GALLEY, "-C", str(self.work), "preview", str(GOOD)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        said = process.stderr.read()
        process.stderr.close()
        self.assertGreaterEqual(process.wait(), -13)
        self.assertNotIn(b"terminate called", said)

    def test_a_commit_is_named_if_nobody_reads_its_result(self):
        for arguments in (("apply", str(SMALL)), ("undo",), ("--json", "apply", str(SMALL))):
            with self.subTest(arguments=arguments):
                reader, writer = os.pipe()
                os.close(reader)
                result = subprocess.run([GALLEY, "-C", str(self.work), *arguments], stdout=writer,
                                        stderr=subprocess.PIPE, check=False)
                os.close(writer)
                self.assertEqual(result.returncode, 3, result.stderr)
                self.assertRegex(result.stderr, rb"what happened: transaction \d+ is committed")

    def test_a_result_for_a_closed_stdout_is_a_failure(self):
        result = subprocess.run(["/bin/sh", "-c", 'exec "$@" >&-', "sh", GALLEY, "-C", str(self.work), "--json",
                                 "apply", str(SMALL)], stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 3, result.stderr)
        self.assertIn(b"what happened: transaction 1 is committed", result.stderr)

    def test_a_full_stdout_is_a_failure(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run(
                [GALLEY, "-C", str(self.work), "preview", str(GOOD)], stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, 3, result.stderr)
        # A commit that took place may also end with this status.
        said = self.galley("help", expect=0).stdout.decode()
        self.assertIn("nothing was committed, unless only the output failed", said)

    def test_help_and_version(self):
        self.assertIn(b"preview", self.galley("--help", expect=0).stdout)
        self.assertRegex(self.galley("--version", expect=0).stdout, rb"^galley \d+\.\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
