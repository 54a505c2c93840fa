"""A truncated patch is never accepted as a smaller change. Every fixture is cut after every line,
and compared with git apply on the same pieces."""

import os
import shutil
import subprocess
import unittest

from support import GALLEY, PATCH_OPTIONS, PROJECT, SystemCase, good_patches, snapshot


class CutPatches(SystemCase):
    def run_in(self, folder, program, text):
        environment = {**os.environ, **self.environment, "GIT_CEILING_DIRECTORIES": str(self.scratch)}
        return subprocess.run(program, cwd=folder, input=text, capture_output=True, env=environment,
                              timeout=120, check=False)

    def tree_after(self, name, program, text):
        """Returns the tree that the program makes of the demo project, or None if it refuses."""
        folder = self.scratch / name
        shutil.copytree(PROJECT, folder, symlinks=True)
        result = self.run_in(folder, program, text)
        tree = snapshot(folder) if result.returncode == 0 else None
        shutil.rmtree(folder)
        return tree

    def test_a_piece_is_accepted_only_if_it_is_a_whole_patch(self):
        for patch in good_patches():
            options = PATCH_OPTIONS.get(patch.name, [])
            lines = patch.read_bytes().splitlines(keepends=True)
            pieces = [b"".join(lines[:count]) for count in range(1, len(lines) + 1)]
            allowed = []
            for piece in pieces:
                if self.run_in(self.work, ["git", "apply", "--check", *options], piece).returncode == 0:
                    allowed.append(self.tree_after("git", ["git", "apply", *options], piece))
            self.assertTrue(allowed)
            for count, piece in enumerate(pieces, start=1):
                with self.subTest(patch=patch.name, lines=f"{count} of {len(lines)}"):
                    check = self.run_in(self.work, [GALLEY, "apply", "--check", *options], piece)
                    if check.returncode == 0:
                        self.assertIn(self.tree_after("ours", [GALLEY, "apply", *options], piece), allowed)
                    elif count == len(lines):
                        self.fail(check.stderr.decode())
                    elif b"@@" in piece or b"GIT binary" in piece:
                        self.assertIn(b"line ", check.stderr, "the message names no line")

    def test_a_new_file_does_not_end_at_its_first_blank_line(self):
        text = b"*** Add File: n.py\n+def f():\n+    return 1\n\n\ndef g():\n+    return 2\n"
        said = self.galley("apply", stdin=text, expect=2)
        self.assertIn(b"line 7", said.stderr)
        self.assertFalse((self.work / "n.py").exists())
        self.galley("apply", stdin=text.split(b"\n\n")[0] + b"\n\nThat is all.\n", expect=0)
        self.assertEqual((self.work / "n.py").read_text(), "def f():\n    return 1\n")

    def test_a_message_names_the_line_of_blanks_in_a_new_file(self):
        text = b"*** Begin Patch\n*** Add File: n.py\n+a = 1\n   \n+b = 2\n*** End Patch\n"
        said = self.galley("apply", stdin=text, expect=2)
        self.assertIn(b"line 4 of the patch: each line of a new file begins with '+'", said.stderr)

    def test_a_patch_that_ends_inside_a_context_line_is_not_mended(self):
        (self.work / "m.py").write_text("import a\n\ndef f(x):\n    one(x)\n    two(x)\n    check_version(session, options)\n")
        hunk = b" def f(x):\n     one(x)\n-    two(x)\n+    two(y)\n     check_version(sess"
        for head in (b"@@\n", b"@@ -3,4 +3,4 @@\n"):
            self.galley("apply", stdin=b"--- a/m.py\n+++ b/m.py\n" + head + hunk, expect=(1, 2))
        self.assertIn("two(x)", (self.work / "m.py").read_text())

    def test_the_message_names_the_line_and_the_remedy(self):
        whole = ("--- a/data/rates.json\n+++ b/data/rates.json\n@@ -1,3 +1,3 @@\n {\n"
                 '-  "currency": "EUR",\n+  "currency": "USD",\n').encode()
        result = self.galley("apply", stdin=whole, expect=2)
        self.assertIn(b"line 6 of the patch: the patch ends before the hunk of line 3 does", result.stderr)
        self.assertIn(b"--complete takes it", result.stderr)
        self.assertIn(b"nothing tells whether it was cut off or its counts are wrong", result.stderr)
        cut = self.galley("apply", stdin=whole[:-1], expect=2)
        self.assertIn(b"the rest of the patch shows that it was cut off", cut.stderr)
        self.galley("apply", "--recount", stdin=whole, expect=0)
        of_v4a = b"*** Begin Patch\n*** Add File: n.py\n+a = 1\n"
        self.assertIn(b"--complete takes it", self.galley("apply", stdin=of_v4a, expect=2).stderr)
        self.galley("apply", "--complete", stdin=of_v4a, expect=0)

    def test_text_after_a_hunk_proves_that_its_counts_are_wrong(self):
        hunk = b'@@ -1,7 +1,7 @@\n {\n-  "currency": "EUR",\n+  "currency": "USD",\n'
        names = b"--- a/data/rates.json\n+++ b/data/rates.json\n"
        result = self.galley("apply", stdin=b"```diff\n" + names + hunk + b"```\n", expect=0)
        self.assertIn(b"count_mismatch", result.stderr)

    NAMES = "--- a/rates.txt\n+++ b/rates.txt\n"
    FIRST = "@@ -1,{n} +1,{n} @@\n {{\n-  currency EUR\n+  currency USD\n   rates [\n"
    LAST = "@@ -4,{n} +4,{n} @@\n     1,\n     2,\n     3,\n-    4,\n+    40,\n"

    def judged(self, text, *options):
        """Whether the patch is taken, and what the program says."""
        lines = ["{", "  currency EUR", "  rates [", *[f"    {n}," for n in range(1, 20)], "  ]", "}"]
        lines[8] = '    6, "six'
        (self.work / "rates.txt").write_text("".join(line + "\n" for line in lines))
        result = self.galley("apply", "-n", *options, stdin=text.encode())
        return result.returncode == 0, (result.stdout + result.stderr).decode()

    def test_each_row_of_the_table_of_evidence(self):
        """The rows of "Cut off" in docs/edits.md."""
        right, wrong = self.FIRST.format(n=3), self.FIRST.format(n=8)
        change = self.LAST.format(n=9)
        short = change + "     5,\n"
        taken, cut_off, open_ = "taken", "shows that it was cut off", "nothing tells"
        rows = (
            # for wrong counts
            ("a closing fence follows", f"```diff\n{self.NAMES}{right}{short}```\n", [], taken),
            ("another file follows", self.NAMES + short + self.NAMES + right, [], taken),
            ("all others are wrong", self.NAMES + wrong + short, [], taken),
            ("--complete", self.NAMES + right + short, ["--complete"], taken),
            ("--recount", self.NAMES + right + short, ["--recount"], taken),
            # for a cut
            ("the others are right", self.NAMES + right + short, [], cut_off),
            ("it ends without a line end", self.NAMES + short[:-2], [], cut_off),
            ("it ends in a text", self.NAMES + short + '     6, "six\n', [], cut_off),
            ("a fence is open", f"```diff\n{self.NAMES}{short}", [], cut_off),
            ("it ends in a change, the others in context", self.NAMES + right + change, [], cut_off),
            ("--truncated", self.NAMES + wrong + short, ["--truncated"], "--truncated"),
            # evidence for both, or for none
            ("none", self.NAMES + short, [], open_),
            ("none, of a diff -U1", self.NAMES + "@@ -3,6 +3,6 @@\n   rates [\n-    1,\n+    10,\n     2,\n", [], open_),
            ("none, of a diff -U2 in its context",
             self.NAMES + "@@ -4,5 +4,5 @@\n     1,\n     2,\n-    3,\n+    30,\n     4,\n", [], open_),
            ("a form that no cut diff has",
             self.NAMES + "@@ -4,7 +4,7 @@\n     1,\n     2,\n-    3,\n+    30,\n     4,\n     5,\n", [], taken),
            ("all wrong, but a fence is open", f"```diff\n{self.NAMES}{wrong}{short}", [], open_),
            ("all wrong, but it ends in a text", self.NAMES + wrong + short + '     6, "six\n', [], open_),
            ("all wrong, but it ends in a word", self.NAMES + wrong + short[:-2], [], open_),
            ("all wrong, but it ends in a change", self.NAMES + wrong + change, [], open_),
        )
        for name, text, options, expected in rows:
            with self.subTest(name):
                is_taken, said = self.judged(text, *options)
                self.assertEqual(is_taken, expected == taken, said)
                if not is_taken:
                    self.assertIn(expected, said)


if __name__ == "__main__":
    unittest.main()
