#!/usr/bin/env python3
"""Tools in the shapes of other systems, the checklist for a tool, and calls in the text of an
answer."""

import json
import unittest

from support import ROOT, SystemCase

SHAPES = ("anthropic", "openai", "mcp", "sage", "aios", "nachos", "tenex", "faultmaven")

HEADINGS = "# Read\n" + "".join(f"## {name}\nx\n" for name in (
    "Purpose", "When Used", "Parameters", "Returns", "Configuration", "Limitations", "Performance"))

ANSWER = """I will change two files.

<tool_use>
<tool_name>Write</tool_name>
<parameters>
<file>a.txt</file>
<content>if (a < b) { "&amp;" }
</content>
</parameters>
</tool_use>

<function_calls>
<invoke name="Write"><parameter name="file">b.txt</parameter><parameter name="content">b</parameter></invoke>
</function_calls>
"""


class ToolShapes(SystemCase):
    def test_a_list_and_a_result_in_every_shape(self):
        own = json.loads(self.galley("--json", "tools", "list", expect=0).stdout)["tools"]
        self.galley("begin", expect=0)
        for shape in SHAPES:
            with self.subTest(shape=shape):
                listed = json.loads(self.galley("tools", "list", "--format", shape, expect=0).stdout)
                self.assertEqual(len(listed["tools"] if isinstance(listed, dict) else listed), len(own))
                for words in (("--format", shape), ("--format", shape, "--manifest"), ("--manifest",)):
                    self.assertIsInstance(json.loads(self.galley("tools", "show", "Read", *words, expect=0).stdout),
                                          dict)
                good = json.loads(self.galley("call", "Read", '{"file": "README.md"}', "--format", shape,
                                              expect=0).stdout)
                bad = json.loads(self.galley("call", "Read", '{"file": "none"}', "--format", shape, expect=1).stdout)
                for key, value in (("success", True), ("ok", True), ("isError", False), ("is_error", False)):
                    if key in good:
                        self.assertEqual((good[key], bad[key]), (value, not value))

    def test_errors_before_a_call_have_the_requested_shape(self):
        said = self.galley("call", "Read", '{"file": "README.md"}', "--format", "sage", expect=(1, 2, 3))
        document = json.loads(said.stdout)
        self.assertEqual((document["ok"], set(document["error"])), (False, {"code", "message"}))
        self.assertIn("galley begin", document["error"]["message"])
        said = self.galley("call", "Bash", "{}", "--format", "nachos", "--profile", "nachos", expect=2)
        self.assertEqual(json.loads(said.stdout)["success"], False)
        for words, text in ((("call", "--format", "sage", "--bogus", "Read", "{}"), "--bogus"),
                            (("--json", "call", "--format=sage", "Read"), "ARGS is required"),
                            (("call", "--format", "sage", "-C", "/none", "Read", "{}"), "'/none'")):
            document = json.loads(self.galley(*words, expect=2).stdout)
            self.assertEqual((document["ok"], document["error"]["code"]), (False, "EVALIDATION"))
            self.assertIn(text, document["error"]["message"])
        self.assertEqual(self.galley("call", "--format", "sage", expect=2).stderr, b"")

    def test_an_unknown_shape_is_an_error_of_usage(self):
        said = self.galley("tools", "list", "--format", "anthropc", expect=2)
        self.assertIn(b"anthropic", said.stderr)

    def test_check_reports_the_missing_parts_of_a_tool(self):
        (self.work / "docs" / "tools").mkdir(parents=True)
        (self.work / "docs" / "tools" / "Read.md").write_text("# Read\n")
        said = self.galley("tools", "check", "Read", expect=1)
        self.assertIn(b"NO   Purpose: the heading is missing", said.stdout)
        (self.work / "docs" / "tools" / "Read.md").write_text(HEADINGS)
        document = json.loads(self.galley("--json", "tools", "check", "Read").stdout)
        self.assertEqual((document["schema"], document["tool"], len(document["points"])),
                         ("galley.tool-check/1", "Read", 12))
        self.assertEqual({point["outcome"] for point in document["documentation"]}, {"met"})
        self.assertEqual([point["name"] for point in document["points"]
                          if point["outcome"] == "not_met" and "example" not in point["message"]], [])
        self.assertFalse((self.work / ".galley").exists(), "a check made something")
        self.galley("tools", "check", "Raed", expect=2)


    def test_every_built_in_tool_meets_the_list(self):
        names = {page.stem for page in (ROOT / "docs" / "tools").iterdir()}
        listed = {tool["name"] for tool in json.loads(self.galley("--json", "tools", "list", expect=0).stdout)["tools"]}
        self.assertLessEqual(listed, names)
        for name in sorted(names):
            with self.subTest(tool=name):
                document = json.loads(self.galley("--json", "tools", "check", name).stdout)
                missed = [point for part in ("points", "documentation") for point in document[part]
                          if point["outcome"] == "not_met"]
                self.assertEqual((document["ok"], missed), (True, []))

    def test_the_list_says_which_tools_cannot_be_called_and_why(self):
        (self.work / "galley.toml").write_text("[tools.Bash]\nenabled = false\n")
        listed = json.loads(self.galley("--json", "tools", "list", expect=0).stdout)["tools"]
        states = {tool["name"]: tool["state"] for tool in listed}
        self.assertEqual(states["Read"], {"callable": True, "enabled": True, "health": "healthy"})
        self.assertEqual((states["Bash"]["callable"], states["Bash"]["enabled"], states["Bash"]["reason"]),
                         (False, False, "tool.disabled"))


class ToolText(SystemCase):
    def test_all_calls_are_staged_or_none(self):
        self.galley("apply", "--format", "tool_text", "-", stdin=ANSWER.encode(), expect=0)
        self.assertEqual((self.work / "a.txt").read_text(), 'if (a < b) { "&amp;" }\n')
        self.assertEqual((self.work / "b.txt").read_text(), "b")
        self.galley("begin", expect=0)
        for wrong, reason in ((ANSWER.replace("</content>", ""), "call_text.not_closed"),
                              (ANSWER.replace('name="Write"', 'name="Wriet"'), "tool.unknown"),
                              (ANSWER.replace("b.txt", ".git/config"), "policy.always")):
            with self.subTest(reason=reason):
                said = self.galley("--json", "stage", "--format", "tool_text", "-", stdin=wrong.encode())
                self.assertNotEqual(said.returncode, 0)
                self.assertEqual(json.loads(said.stdout)["reason"], reason)
                changes = json.loads(self.galley("--json", "diff", expect=0).stdout)["changes"]
                self.assertEqual(changes, [])

    def test_a_text_without_calls_is_an_error(self):
        said = self.galley("--json", "preview", "--format", "tool_text", "-", stdin=b"Nothing to do.\n", expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "edit.not_a_patch")


if __name__ == "__main__":
    unittest.main()
