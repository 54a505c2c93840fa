#!/usr/bin/env python3
"""[tools.NAME] of galley.toml, and checks of arguments without a call (docs/tools.md)."""

import json
import shutil

import unittest

from support import SystemCase

RULES = """
[tools.Bash]
enabled = false

[tools.Read]
calls_per_minute = 60
"""


class ToolRuns(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        (self.work / "galley.toml").write_text(RULES)
        (self.work / "a.txt").write_text("one\n")

    def test_arguments_are_checked_without_a_call(self):
        good = self.galley("tools", "validate", "Read", '{"file_path": "a.txt"}', expect=0)
        self.assertEqual(good.stdout, b"valid\n")
        good = json.loads(self.galley("--json", "tools", "validate", "Read", '{"file_path": "a.txt"}', expect=0).stdout)
        self.assertEqual((good["valid"], good["errors"]), (True, []))
        bad = self.galley("--json", "tools", "validate", "Write", '{"file": "a.txt"}', expect=2)
        document = json.loads(bad.stdout)
        self.assertEqual((document["ok"], document["valid"], document["tool"]), (False, False, "Write"))
        self.assertIn("'content' is missing", document["errors"][0])
        self.assertFalse((self.work / ".galley").exists(), "nothing was run, nothing is on record")

    def test_arguments_can_come_from_standard_input(self):
        self.galley("tools", "validate", "Read", "-", stdin=b'{"file_path": "a.txt"}', expect=0)
        self.galley("tools", "validate", "Read", "-", stdin=b'{"file_path": 7}', expect=2)

    def test_an_unknown_tool_gets_a_suggestion(self):
        said = self.galley("tools", "validate", "Raed", "{}", expect=2)
        self.assertIn(b"did you mean 'Read'?", said.stderr)

    def test_a_disabled_tool_is_refused_and_the_list_says_so(self):
        self.galley("begin", expect=0)
        said = self.galley("--json", "call", "Bash", '{"command": "true"}', expect=1)
        self.assertEqual(json.loads(said.stdout)["error"]["reason"], "tool.disabled")
        line = [one for one in self.galley("tools", "list", expect=0).stdout.splitlines()
                if one.startswith(b"Bash ")]
        self.assertIn(b"[disabled]", line[0])

    def test_an_error_in_a_tools_table_is_reported(self):
        (self.work / "galley.toml").write_text("[tools.Raed]\ntimeout_ms = 1000\n")
        self.assertIn(b"did you mean 'Read'?", self.galley("status", expect=0).stderr)
        (self.work / "galley.toml").write_text("[tools.Read]\ntimeout = 1000\n")
        said = self.galley("begin", expect=2)
        self.assertIn(b"unknown key `tools.Read.timeout`", said.stderr)


if __name__ == "__main__":
    unittest.main()
