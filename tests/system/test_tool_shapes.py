#!/usr/bin/env python3
"""Tools in the shapes of other systems, the checklist for a tool, and calls in the text of an
answer."""

import json
import unittest

from mcp_client import McpClient
from support import GALLEY, ROOT, SystemCase

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

    def test_definitions_in_the_shape_of_mcp_are_those_of_the_server(self):
        """Interfaces of models refuse alternatives at the top level."""
        listed = {tool["name"]: tool for tool in json.loads(self.galley("tools", "list", "--format", "mcp", expect=0).stdout)["tools"]}
        client = McpClient([GALLEY, "mcp", "--autocommit"], self.work)
        self.addCleanup(client.close)
        compared = set()
        for tool in client.ask("tools/list")["result"]["tools"]:
            own = listed.get(tool["name"])
            if own is None:
                continue
            compared.add(tool["name"])
            for keyword in ("anyOf", "oneOf", "allOf"):
                self.assertNotIn(keyword, own["inputSchema"])
            for member in ("title", "description", "inputSchema"):
                self.assertEqual(own[member], tool[member], tool["name"])
        self.assertLessEqual({"Read", "Write", "Edit"}, compared)
        self.assertIn("Needs ", "".join(tool["description"] for tool in listed.values()))

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

    def test_a_call_of_no_known_tool_beside_others_stops_all(self):
        text = ANSWER + "\n<insert_content>\n<path>a.txt</path>\n<line>1</line>\n</insert_content>\n"
        line = text.split("<insert_content>")[0].count("\n") + 1
        for options in ((), ("--format", "tool_text")):
            said = self.galley("--json", "apply", *options, "-", stdin=text.encode(), expect=2)
            answer = json.loads(said.stdout)
            self.assertEqual(answer["reason"], "edit.unread")
            self.assertIn(f"line {line}, column 1: <insert_content>", answer["message"])
            self.assertFalse((self.work / "b.txt").exists())

    def test_an_explanation_shows_what_was_understood_of_each_call(self):
        (self.work / "f").write_text("one\ntwo  \nthree\n")
        text = ("I edit.\n<tool_use>\n<tool_name>Edit</tool_name>\n<parameters>\n<file_path>f</file_path>\n"
                "<old_string>two\nthree</old_string>\n<new_string>2\nthree</new_string>\n</parameters>\n</tool_use>\n")
        said = self.galley("edits", "explain", "-", stdin=text.encode(), expect=0).stdout.decode()
        for part in ("  line 1: passed over as prose: 'I edit.'\n", "  line 2: a call of a tool begins: '<tool_use>'\n",
                     "call 1: Edit, from line 2: file_path 'f', new_string of 2 lines, old_string of 2 lines: can be made\n",
                     "f: modify\n", "step white_space at line 2\n", "exact: byte for byte"):
            self.assertIn(part, said)
        self.assertNotIn("<tool_name>", said)
        call = '<tool_call>{"name":"Write","arguments":{"file_path":"b","content":"x"}}</tool_call>\n'
        said = self.galley("edits", "explain", "-", stdin=(call + "Prose behind it.\nAnd more.\n").encode(), expect=0)
        self.assertIn("  lines 2-3: passed over as prose: 'Prose behind it.'\n", said.stdout.decode())
        said = self.galley("--json", "edits", "explain", "-", stdin=(text + "\nI edited.\n").encode(), expect=0)
        items = json.loads(said.stdout)["documents"][0]["items"]
        self.assertEqual([(item["kind"], item["line"], item.get("last_line")) for item in items],
                         [("prose", 1, 1), ("call", 2, None), ("prose", 13, 13)])
        other = "Now.\n<insert_content>\n<path>f</path>\n</insert_content>\nDone.\n"
        said = self.galley("edits", "explain", "-", stdin=(text + other).encode(), expect=1).stdout.decode()
        self.assertIn("  line 12: passed over as prose: 'Now.'\n  line 13: looks like an edit, but is not one: "
                      "'<insert_content>'\n  line 16: passed over as prose: 'Done.'\n", said)
        calls = [{"tool": "Edit", "args": {"file_path": "f", "old_string": "nothing", "new_string": "x"}}]
        said = self.galley("edits", "explain", "-", stdin=json.dumps(calls).encode(), expect=1).stdout.decode()
        self.assertIn("call 1: Edit: file_path 'f', new_string 'x', old_string 'nothing': fails\n", said)
        self.assertIn("  edit 1 (id ", said)
        self.assertIn("): no place\n", said)

    def test_a_text_without_calls_is_an_error(self):
        said = self.galley("--json", "preview", "--format", "tool_text", "-", stdin=b"Nothing to do.\n", expect=2)
        self.assertEqual(json.loads(said.stdout)["reason"], "edit.not_a_patch")


if __name__ == "__main__":
    unittest.main()
