#!/usr/bin/env python3
"""Names in edits, selections, reports and answers mean exactly one file: quoted ones, names with a
colon and a number, with line breaks, and names that are not text."""

import base64
import json
import os
import shutil
import subprocess
import unittest

from mcp_client import McpClient
from support import GALLEY, ROOT, SystemCase


class Names(SystemCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()

    def write(self, name, text):
        path = os.path.join(os.fsencode(self.work), os.fsencode(name))
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        return (self.work / name).read_text()


class Selection(Names):
    PATCH = b"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+ONE\n--- a/x:1\n+++ b/x:1\n@@ -1 +1 @@\n-two\n+TWO\n"

    def test_a_name_with_a_colon_is_the_file_of_that_name_and_no_hunk_of_another(self):
        for option, expected in (("--only", ("one\n", "TWO\n")), ("--except", ("ONE\n", "two\n"))):
            with self.subTest(option=option):
                self.write("x", "one\n")
                self.write("x:1", "two\n")
                self.galley("apply", option, "x:1", "-", stdin=self.PATCH, expect=0)
                self.assertEqual((self.read("x"), self.read("x:1")), expected)

    def test_without_such_a_file_it_is_the_hunk(self):
        self.write("x", "one\n")
        self.galley("apply", "--only", "x:1", "-", stdin=self.PATCH.split(b"--- a/x:1")[0], expect=0)
        self.assertEqual(self.read("x"), "ONE\n")

    def test_a_hunk_that_is_left_out_does_not_change_which_file_is_meant(self):
        patch = b"--- src/f.c\n+++ src/f.c\n@@ -1 +1 @@\n-one\n+ONE\n@@ -9 +9 @@\n-nine\n+NINE\n"
        text = "one\n2\n3\n4\n5\n6\n7\n8\nnine\n"
        self.write("src/f.c", text)
        self.galley("apply", "--except", "src/f.c:2", "-", stdin=patch, expect=0)
        self.assertEqual(self.read("src/f.c"), text.replace("one", "ONE"))

    def test_numbers_do_not_count_the_lines_of_a_section_that_is_left_out(self):
        lines = ["top", *["item:", "  a: 1", "  b: 2", "  c: 3", ""] * 8]
        self.write("r.yaml", "\n".join(lines) + "\n")
        head = b"--- a/r.yaml\n+++ b/r.yaml\n"
        added = b"".join(b"+n%d\n" % number for number in range(5))
        patch = head + b"@@ -1,2 +1,7 @@\n nowhere\n" + added + b" item:\n" + head + b"@@ -13,3 +18,3 @@\n-  a: 1\n+  a: 9\n   b: 2\n   c: 3\n"
        self.galley("apply", "--reject", "-", stdin=patch, expect=1)
        lines[12] = "  a: 9"
        self.assertEqual(self.read("r.yaml"), "\n".join(lines) + "\n")


class Guesses(Names):
    """A file that an edit does not name is taken only where the options let the edit reach."""

    PATCH = b"--- a/pkg/conf\n+++ b/pkg/conf\n@@ -1,3 +1,3 @@\n a=1\n-b=2\n+b=9\n c=3\n"
    OLD, NEW = "a=1\nb=2\nc=3\n", "a=1\nb=9\nc=3\n"

    def test_a_guess_passes_the_filters_that_the_named_path_passes(self):
        for option, value in (("--include", "pkg/*"), ("--exclude", "conf"), ("--only", "pkg"), ("--directory", "vendor")):
            with self.subTest(option=option):
                self.write("conf", self.OLD)
                self.write("pkg/other", "other\n")
                refused = json.loads(self.galley("--json", "apply", option, value, stdin=self.PATCH, expect=1).stdout)
                self.assertEqual(refused["edits"]["files"][0]["refusal"]["reason"], "patch.file_not_found")
                self.assertEqual(self.read("conf"), self.OLD)

    def test_a_guess_within_them_is_taken(self):
        for options in ([], ["--exclude", "pkg/x"], ["--include", "*"], ["--only", "*"], ["--directory", "."],
                        ["--directory", self.work]):
            with self.subTest(options=options):
                self.write("conf", self.OLD)
                self.galley("apply", *options, stdin=self.PATCH, expect=0)
                self.assertEqual(self.read("conf"), self.NEW)
        (self.work / "conf").unlink()
        for directory in ("vendor", "vendor/", self.work / "vendor"):
            with self.subTest(directory=directory):
                self.write("vendor/conf", self.OLD)
                self.galley("apply", "--directory", directory, stdin=self.PATCH, expect=0)
                self.assertEqual(self.read("vendor/conf"), self.NEW)

    def test_a_directory_above_the_workspace_has_all_of_it(self):
        for directory in (self.work.parent, f"{self.work.parent}/", "/"):
            with self.subTest(directory=directory):
                self.write("conf", self.OLD)
                named = str((self.work / "pkg/conf").relative_to(directory)).encode()
                patch = self.PATCH.replace(b"pkg/conf", named)
                self.galley("apply", "--directory", directory, stdin=patch, expect=0)
                self.assertEqual(self.read("conf"), self.NEW)

    def test_of_two_names_only_the_one_that_the_options_take(self):
        patch = self.PATCH.replace(b"a/pkg", b"src").replace(b"b/pkg", b"src")  # src/conf, or conf with -p1
        for options, expected in ((["--only", "conf"], 1), (["--only", "src/conf"], 0), ([], 0)):
            with self.subTest(options=options):
                self.write("src/conf", self.OLD)
                said = json.loads(self.galley("--json", "apply", *options, stdin=patch, expect=expected).stdout)
                self.assertEqual(self.read("src/conf"), self.OLD if expected else self.NEW)
                if expected:
                    self.assertEqual(said["edits"]["files"][0]["refusal"]["reason"], "patch.file_not_found")

    def test_a_correction_is_one_that_the_options_take(self):
        self.write("src/conf", self.OLD)
        patch = self.PATCH.replace(b"pkg/conf", b"conf")
        for options, has_one in ((["--strict"], True), (["--include", "conf"], False)):
            with self.subTest(options=options):
                said = json.loads(self.galley("--json", "apply", *options, stdin=patch, expect=1).stdout)
                self.assertEqual("correction" in said["edits"], has_one, said)

    def test_hunks_without_a_name_stay_below_the_directory(self):
        self.write("conf", self.OLD)
        self.write("vendor/other", "other\n")
        text = b"In `conf`:\n\n" + self.PATCH[self.PATCH.index(b"@@"):]
        self.galley("apply", "--directory", "vendor", stdin=text, expect=(1, 2))
        self.assertEqual(self.read("conf"), self.OLD)
        self.galley("apply", stdin=text, expect=0)
        self.assertEqual(self.read("conf"), self.NEW)


class Quotes(Names):
    def test_quoted_names_in_an_apply_patch_document(self):
        self.write(" old name", "one\n")
        document = ('*** Begin Patch\n*** Add File: "two words \\303\\244.txt"\n+made\n'
                    '*** Update File: " old name"\n*** Move to: "new\\tname "\n@@\n-one\n+ONE\n*** End Patch\n')
        self.galley("apply", "-", stdin=document.encode(), expect=0)
        self.assertEqual(self.read("two words \u00e4.txt"), "made\n")
        self.assertEqual(self.read("new\tname "), "ONE\n")
        self.assertFalse((self.work / " old name").exists())

    def test_quoted_names_before_search_and_replace_blocks(self):
        self.write("two words.txt", "one\n")
        document = '"two words.txt"\n```\n<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE\n```\n'
        self.galley("apply", "-", stdin=document.encode(), expect=0)
        self.assertEqual(self.read("two words.txt"), "ONE\n")

    def test_a_badly_quoted_name_in_a_patch_is_refused_with_its_line(self):
        for line, patch in ((2, '--- /dev/null\n+++ "b/bad\n@@ -0,0 +1 @@\n+x\n'),
                            (2, '--- /dev/null\n+++ "b/b\\9ad"\n@@ -0,0 +1 @@\n+x\n'),
                            (2, '--- /dev/null\n+++ "b/bad"x\n@@ -0,0 +1 @@\n+x\n'),
                            (3, 'diff --git a/x b/y\nsimilarity index 100%\nrename from "x\nrename to y\n')):
            with self.subTest(patch=patch):
                self.write("x", "one\n")
                refused = json.loads(self.galley("--json", "apply", "-", stdin=patch.encode(), expect=2).stdout)
                self.assertEqual(refused["reason"], "edit.bad_header", refused)
                self.assertIn(f"line {line} of the patch", refused["message"])
        self.assertEqual(sorted(os.listdir(self.work)), ["x"])


class Reports(Names):
    def test_a_report_for_github_has_the_path_of_a_name_with_a_line_break(self):
        (self.work / "galley.toml").write_text('[[validator]]\nbuiltin = "json"\n')
        edits = json.dumps([{"path": "a\nb%0A\x1b.json", "content": "{"}]).encode()
        self.galley("preview", "--format", "edits", "--report", f"github={self.scratch}/report", stdin=edits, expect=1)
        self.assertIn("file=a%0Ab%250A\\x1b.json,", (self.scratch / "report").read_text())


class Answers(Names):
    def test_an_mcp_answer_has_the_bytes_of_names_that_are_not_text(self):
        name = b"caf\xe9.txt"
        with open(os.fsencode(self.work) + b"/" + name, "w", encoding="utf-8") as file:
            file.write("one\n")
        client = McpClient([GALLEY, "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        answer = client.call("Glob", pattern="*")["structuredContent"]
        exact = [base64.b64decode(text) for text in answer["not_utf8"].values()]
        self.assertTrue(any(name in text for text in exact), answer)
        for pointer in answer["not_utf8"]:
            place = answer
            for part in pointer.strip("/").split("/"):
                place = place[int(part) if isinstance(place, list) else part]
            self.assertIn("\ufffd", place)


class Choices(unittest.TestCase):
    def test_each_change_on_the_review_page_has_its_own_key(self):
        if shutil.which("node") is None:
            self.skipTest("there is no node")
        source = (ROOT / "engine" / "review" / "page" / "decide.js").read_text()
        function = source[source.index("function piecesOf"):source.index("async function ask")]
        part = {"piece": 1, "new": 3, "lines": ["-a", "+b"]}
        files = [{"path": "x", "parts": [part, {**part, "piece": 2, "new": 9, "lines": [" c", "-a", "+b"]}]},
                 {"path": "x\n-a", "parts": [{**part, "piece": 3, "lines": ["+b"]}]},
                 {"path": "x", "piece": 4, "status": "M", "parts": []},
                 {"path": "x\nM", "piece": 5, "status": "", "parts": []}]
        program = f"{function}\nconst rows = {json.dumps(files)}.flatMap(piecesOf);\ngiveKeys(rows);\nconsole.log(JSON.stringify(rows))"
        result = subprocess.run(["node", "-e", program], capture_output=True, check=True, timeout=60)
        pieces = json.loads(result.stdout)
        self.assertEqual([piece["piece"] for piece in pieces], [1, 2, 3, 4, 5])
        self.assertEqual(len({piece["key"] for piece in pieces}), 5, pieces)


class Children(SystemCase):
    def test_git_ends_when_galley_is_killed(self):
        programs = self.scratch / "programs"
        programs.mkdir()
        pid_file = self.scratch / "pid"
        (programs / "git").write_text(f"#!/bin/sh\necho $$ > {pid_file}.new\nmv {pid_file}.new {pid_file}\nexec sleep 300\n")
        (programs / "git").chmod(0o755)
        self.git("init", "-q")
        environment = {**os.environ, **self.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
        galley = subprocess.Popen([GALLEY, "-C", str(self.work), "check", "--staged"], env=environment,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(galley.wait)
        self.wait_for(pid_file.exists)
        pid = int(pid_file.read_text())
        galley.kill()
        self.wait_for(lambda: not self.is_alive(pid))

    def wait_for(self, fact):
        for _ in range(2000):
            if fact():
                return
            subprocess.run(["sleep", "0.01"], check=True)
        self.fail("it did not happen in 20 s")

    @staticmethod
    def is_alive(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                return file.read().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
