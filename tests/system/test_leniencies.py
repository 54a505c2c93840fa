"""Each leniency is reported, and can be refused by name in `[edits] strict`."""

import json
import re
import unittest

from support import SystemCase

TEXT = "".join(f"line {n}\n" for n in range(1, 13))
C = "#include <a.h>\n#include <b.h>\nint f(int a) {\n  int s = a;\n\n  s += 1;\n  return s;\n}\n"
NAMES = "--- a/f\n+++ b/f\n"
HUNK = "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+two\n line 3\n"
PLAIN = NAMES + HUNK
V4A = "*** Update File: f\n@@\n line 1\n-line 2\n+two\n line 3\n"


def block(old, new):
    return f"f\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n"


def c_hunk(body, header="@@ ... @@"):
    return f"{NAMES}{header}\n{body}"


# By name: the file f (text or bytes), the document, and options.
SAMPLES = {
    "bare_blank_lines": (None, "--- /dev/null\n+++ b/new\n@@ -0,0 +1,3 @@\n+one\n\n+two\n", []),
    "bare_context": (TEXT, NAMES + "@@ -1,4 +1,4 @@\n line 1\n-line 2\n+two\nline 3\nline 4\n", []),
    "blank_lines": (C, c_hunk(" int f(int a) {\n-  int s = a;\n+  int s = 2 * a;\n-  s += 1;\n+  s += 2;\n   return s;\n"), []),
    "block_header": (TEXT, block(":start_line:2\n-------\nline 2\n", "two\n"), []),
    "byte_order_mark": ("\ufeff" + TEXT, NAMES + "@@ -1,2 +1,2 @@\n-line 1\n+one\n line 2\n", []),
    "cdata_newline": (TEXT, "<write_to_file>\n<path>new</path>\n<content><![CDATA[\n#!/bin/sh\n]]></content>\n"
                            "</write_to_file>\n", []),
    "color_codes": (TEXT, "\x1b[1m--- a/f\x1b[m\n\x1b[1m+++ b/f\x1b[m\n\x1b[36m@@ -1,3 +1,3 @@\x1b[m\n line 1\n"
                          "\x1b[31m-line 2\x1b[m\n\x1b[32m+\x1b[m\x1b[32mtwo\x1b[m\n line 3\n", []),
    "context_differs": (TEXT, NAMES + "@@ ... @@\n line 1\n line 2\n line other\n-line 4\n+four\n line 5\n line 6\n"
                                      " line 7\n", []),
    "count_mismatch": (TEXT, PLAIN.replace("-1,3 +1,3", "-1,9 +1,9") + "\nThat is all.\n", []),
    "cr_lines": (TEXT.replace("\n", "\r"), PLAIN, []),
    "crlf_patch": (TEXT, PLAIN.replace("\n", "\r\n"), []),
    "elided_context": (TEXT, NAMES + "@@ ... @@\n line 1\n-line 2\n+two\n line 3\n ...\n line 9\n-line 10\n+ten\n"
                                     " line 11\n", []),
    "escaped_markup": (C, c_hunk(" #include &lt;a.h&gt;\n-#include &lt;b.h&gt;\n+#include &lt;c.h&gt;\n int f(int a) {\n"),
                       []),
    "file_guessed": (TEXT, PLAIN.replace("a/f", "a/x/f").replace("b/f", "b/x/f"), []),
    "header_incomplete": (TEXT, "--- a/f\n" + HUNK, []),
    "hunk_order": (TEXT, NAMES + "@@ -8,3 +8,3 @@\n line 8\n-line 9\n+nine\n line 10\n" + HUNK, []),
    "indented_patch": (TEXT, "".join("  " + line for line in f"*** Begin Patch\n{V4A}*** End Patch\n"
                                     .splitlines(keepends=True)), []),
    "joined_hunks": (TEXT, NAMES + "@@ ... @@\n line 1\n-line 2\n+two\n line 3\n line 9\n-line 10\n+ten\n line 11\n", []),
    "json_mended": (TEXT, '{"path": "f", "edits": [{"oldText": "line 2", "newText": "two",}]}', []),
    "last_line_unended": (TEXT, NAMES + "@@ -11,2 +11,3 @@\n line 11\n line 12\n+last", []),
    "line_ends": (TEXT.replace("\n", "\r\n"), block("line 1\nline 2\n", "line 1\ntwo\n"), []),
    "lost_markup": (C, c_hunk("-#include <a.h>\n+#include <c.h>\n #include  b.h\n-int f(int a) {\n+int f(int b) {\n   int s = a;\n"), []),
    "markdown_fence": (TEXT, f"```diff\n{PLAIN}```\n", []),
    "minus_sign": (TEXT, PLAIN.replace("-line 2", "\u2212line 2"), []),
    "names_differ": (TEXT, PLAIN.replace("b/f", "b/other"), []),
    "no_begin": (TEXT, V4A + "*** End Patch\n", []),
    "no_end": (TEXT, "*** Begin Patch\n" + V4A, ["--complete"]),
    "no_file_lines": (TEXT, "In `f`:\n\n" + HUNK, []),
    "no_line_numbers": (TEXT, PLAIN.replace("@@ -1,3 +1,3 @@", "@@"), []),
    "no_prefix": (TEXT, PLAIN.replace("a/", "").replace("b/", ""), []),
    "not_closed": (TEXT, '<tool_call>{"name": "Write", "arguments": {"file": "new", "content": "x"}}\n', []),
    "numbered_lines": (TEXT, block("2|line 2\n3|line 3\n", "2|two\n3|line 3\n"), []),
    "prose_between": (TEXT, PLAIN + "\nAnd further down:\n\n@@ -8,3 +8,3 @@\n line 8\n-line 9\n+nine\n line 10\n", []),
    "quoted_patch": (TEXT, "".join("> " + line for line in PLAIN.splitlines(keepends=True)), []),
    "repeated_hunk": (TEXT, PLAIN + HUNK, []),
    "repeated_lines": ("{\n}\nnext();\n", c_hunk("-}\n+}\n+next();\n"), []),
    "several_parts": (TEXT, PLAIN + "\n" + block("line 9\n", "nine\n"), []),
    "shared_context": (TEXT, NAMES + HUNK + "@@ -3,3 +3,3 @@\n line 3\n-line 4\n+four\n line 5\n", []),
    "shifted_text": ("run() {\n    cat <<EOF\n    one\n    two\nEOF\n}\n", c_hunk(" one\n+more\n two\n"), []),
    "sign_blank": (C, c_hunk("    int s = a;\n  \n-   s += 1;\n+   s += 2;\n    return s;\n"), []),
    "typography": ("say(\u201chello\u201d, 1);\n", block('say("hello", 1);\n', 'say("hello", 2);\n'), []),
    "unbalanced": (TEXT, "<tool_use><tool_name>Write</tool_name><parameters><file>new</file><content><content></content>"
                         "</parameters></tool_use>\n", []),
    "utf16": ("\ufeff".encode("utf-16-le") + TEXT.encode("utf-16-le"), PLAIN, []),
    "white_space": (TEXT, PLAIN.replace("+two", "+two "), ["--whitespace=warn"]),
    "white_space_fixed": (TEXT, PLAIN.replace("+two", "+two "), ["--whitespace=fix"]),
    "whole_file": (TEXT, "f.txt\n```\n" + TEXT.replace("line 2\n", "two\n") + "```\n", []),
}

# By name: as SAMPLES, where the place of the edit shows the leniency.
PLACES = {
    "fuzz": (TEXT, NAMES + "@@ -1,5 +1,5 @@\n line other\n line 2\n-line 3\n+three\n line 4\n line 5\n", []),
    "offset": (TEXT, PLAIN.replace("-1,3 +1,3", "-4,3 +4,3"), []),
    "white_space": (TEXT, PLAIN.replace("-line 2", "-line  2"), []),
}


class Leniencies(SystemCase):
    def put(self, content, document, strict=""):
        name = "f.txt" if document.startswith("f.txt") else "f"
        (self.work / name).write_bytes(content if isinstance(content, bytes) else (content or "").encode())
        (self.work / "galley.toml").write_text(f'[edits]\nstrict = ["{strict}"]\n' if strict else "")

    def test_an_unknown_name_is_an_error_that_lists_all(self):
        self.put(TEXT, PLAIN, "count_mismatches")
        result = self.galley("apply", "-n", stdin=PLAIN.encode(), expect=2)
        said = result.stderr.decode()
        self.assertIn('edits.strict', said)
        self.assertIn('"count_mismatches"', said)
        names = re.search(r"takes ([a-z0-9_, ]+)", said).group(1).split(", ")
        self.assertEqual(sorted(SAMPLES.keys() | PLACES.keys()), sorted(name.strip() for name in names))

    def test_mended_calls_are_reported_as_other_edits_are(self):
        self.put(TEXT, "")
        call = '{"name": "Write", "arguments": {"file": "new", "content": "x"},}'
        result = self.galley("--json", "apply", "-n", "--format", "tool_text", stdin=call.encode(), expect=0)
        report = json.loads(result.stdout)["edits"]
        self.assertEqual([(one["rule"], one["document_line"]) for one in report["leniencies"]], [("json_mended", 1)])
        self.assertTrue(report["staged"])
        said = self.galley("apply", "-n", "--format", "tool_text", stdin=call.encode(), expect=0).stderr.decode()
        self.assertIn("[json_mended]", said)

    def test_a_document_of_calls_is_mended_as_other_json_is(self):
        call = '{"tool": "Edit", "args": {"file_path": "f", "old_string": "line 2\nline 3", "new_string": "two\n"}}'
        for document in (call, f"[{call},]", f"```json\n{call}\n```\n"):
            for options in ([], ["--format", "calls"]):
                if options and document.startswith("`"):
                    continue
                self.put(TEXT, "")
                result = self.galley("--json", "apply", *options, stdin=document.encode(), expect=0)
                report = json.loads(result.stdout)["edits"]
                self.assertEqual([one["rule"] for one in report["leniencies"]], ["json_mended"])
                self.assertIn("line 1\ntwo\n", (self.work / "f").read_text())
                self.put(TEXT, "", "json_mended")
                said = self.galley("apply", *options, stdin=document.encode(), expect=1).stderr.decode()
                self.assertIn("[edits] strict does not allow", said)

    def test_a_call_reports_its_leniencies_as_text(self):
        call = json.dumps({"name": "Edit", "arguments": {"file_path": "f", "old_string": "b", "new_string": "x\ny"}})
        for command in (["preview"], ["stage", "--begin"], ["apply"]):
            (self.work / "f").write_bytes(b"a\r\nb\r\nc\r\n")
            said = self.galley(*command, "-", stdin=call.encode(), expect=0)
            self.assertIn(b"[line_ends]", said.stdout + said.stderr, command)
            self.galley("rollback")
        call = call.replace('"b"', '"A  B"')
        (self.work / "f").write_text("A B\n")
        said = self.galley("apply", "-", stdin=call.encode(), expect=0)
        self.assertIn("f: edit 1 is at line 1, which fits by white_space", (said.stdout + said.stderr).decode())

    def test_the_note_names_the_file_that_was_changed(self):
        (self.work / "a.c").write_text("one\ntwo\n")
        patch = b"--- a.c\n+++ patched_a.c\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"
        said = self.galley("apply", "-", stdin=patch, expect=0)
        self.assertIn("note: a.c: line 1 of the edit: the --- and +++ lines name different files",
                      (said.stdout + said.stderr).decode())
        self.assertNotIn(b"patched_a.c", said.stdout + said.stderr)

    def test_each_is_reported_and_can_be_refused(self):
        for name, (content, document, options) in SAMPLES.items():
            with self.subTest(name):
                self.put(content, document)
                taken = self.galley("apply", "-n", *options, stdin=document.encode())
                said = (taken.stdout + taken.stderr).decode()
                self.assertEqual(taken.returncode, 0, said)
                self.assertIn(f"[{name}]", said)
                report = json.loads(self.galley("--json", "apply", "-n", *options, stdin=document.encode()).stdout)
                self.assertIn(name, [leniency["rule"] for leniency in report["edits"]["leniencies"]])
                self.put(content, document, name)
                refused = self.galley("apply", "-n", *options, stdin=document.encode())
                if refused.returncode == 0:  # another reading fits
                    self.assertNotIn(f"[{name}]", (refused.stdout + refused.stderr).decode())
                    self.assertEqual(name, "sign_blank")

    def test_places_that_are_not_exact_can_be_refused(self):
        for name, (content, document, _) in PLACES.items():
            with self.subTest(name):
                self.put(content, document)
                taken = self.galley("apply", "-n", stdin=document.encode(), expect=0)
                self.assertIn(name, (taken.stdout + taken.stderr).decode())
                self.put(content, document, name)
                said = self.galley("apply", "-n", stdin=document.encode(), expect=1).stderr.decode()
                self.assertIn(f"'{name}'", said)
                self.assertIn("[edits] strict does not allow", said)
        # A hunk that is mended may have another indentation, too.
        mended = NAMES + "@@ ... @@\n line 1\n-   line 2\n+   two\n line 3\n line 9\n-   line 10\n+   ten\n line 11\n"
        self.put(TEXT, mended)
        self.galley("apply", "-n", stdin=mended.encode(), expect=0)
        self.put(TEXT, mended, "white_space")
        self.galley("apply", "-n", stdin=mended.encode(), expect=1)

    def test_a_file_outside_of_a_sparse_checkout_is_not_taken_for_another(self):
        text = '{\n "name": "x",\n "version": "1.0.0"\n}\n'
        patch = PLAIN.split("@@", maxsplit=1)[0].replace("f\n", "libs/package.json\n") + (
            '@@ -1,4 +1,4 @@\n {\n  "name": "x",\n- "version": "1.0.0"\n+ "version": "2.0.0"\n }\n')
        call = {"file_path": "libs/package.json", "edits": [{"old_string": text, "new_string": "{}"}]}
        for name in ("package.json", "libs/package.json", "apps/a"):
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(text)
        self.git("init", "-q")
        self.git("config", "user.name", "P")
        self.git("config", "user.email", "p@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "all")
        for index in ("--no-sparse-index", "--sparse-index"):
            self.git("sparse-checkout", "set", "--cone", index, "apps")
            said = self.galley("apply", stdin=patch.encode(), expect=1).stderr.decode()
            self.assertIn("git sparse-checkout add", said)
            self.galley("call", "--begin", "MultiEdit", json.dumps(call), expect=1)
            self.galley("rollback")
            self.assertEqual((self.work / "package.json").read_text(), text)
        # Of these, none is left out, so another may be meant.
        (self.work / "package.json").rename(self.work / "apps/package.json")
        self.galley("apply", "-n", stdin=patch.replace("libs/", "").encode(), expect=0)
        (self.work / "apps/package.json").rename(self.work / "package.json")
        self.galley("apply", "-n", stdin=patch.replace("libs/", "lib/").encode(), expect=0)

    def test_a_file_of_a_submodule_is_not_taken_for_another(self):
        patch = b"--- a/sub/f\n+++ b/sub/f\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
        me = ("-c", "protocol.file.allow=always", "-c", "user.name=P", "-c", "user.email=p@example.org")
        inner = self.scratch / "inner"
        for place in (inner, self.work):
            place.mkdir(exist_ok=True)
            (place / "f").write_text("one\ntwo\n")
            self.git("init", "-q", work=place)
            if place == self.work:
                self.git(*me, "submodule", "add", "-q", inner, "sub")
            self.git("add", "-A", work=place)
            self.git(*me, "commit", "-qm", "all", work=place)
        branch = self.git("symbolic-ref", "--short", "HEAD").stdout.decode().strip()
        told = "git submodule update --init"
        self.assertIn(told, self.galley("check", "-", stdin=patch, expect=1).stderr.decode())
        self.assertIn(told, self.galley("--repo", self.work, "--ref", branch, "apply", "-n", stdin=patch, expect=1).stderr.decode())
        self.galley("apply", "-n", stdin=patch, expect=0)
        self.git("submodule", "deinit", "-q", "-f", "sub")
        self.assertIn(told, self.galley("apply", stdin=patch, expect=1).stderr.decode())
        self.assertEqual((self.work / "f").read_text(), "one\ntwo\n")


if __name__ == "__main__":
    unittest.main()
