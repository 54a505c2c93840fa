"""Patches from git, mails, GNU diff and a terminal; truncated patches and reversed ones."""

import json
import os
import re
import subprocess

from everyday import EverydayCase, main


class Patches(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "list.txt").write_text("one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n")

    def patch(self, text):
        path = self.scratch / "m.patch"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def read(self, name):
        return (self.work / name).read_bytes()

    def in_git(self):
        self.git("init", "-q")
        self.git("config", "user.name", "Ada")
        self.git("config", "user.email", "ada@example.org")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")

    # --- truncated ------------------------------------------------------------------------------

    def test_a_patch_without_its_last_line_is_refused(self):
        """git: `apply` says "corrupt patch at line 6"."""
        before = self.read("list.txt")
        cut = self.patch("--- a/list.txt\n+++ b/list.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n")
        result = self.run_here("apply", cut, expect=2)
        self.assertIn("line 6 of the patch: the patch ends before", result.err)
        self.assertIn("--recount or --complete takes it", result.err)
        self.assertEqual(self.read("list.txt"), before)
        self.run_here("apply", "--recount", cut, expect=0)
        self.assertTrue(self.read("list.txt").startswith(b"one\nTWO\nthree\n"))

    def test_a_patch_that_ends_after_a_header_is_refused(self):
        """git: "patch with only garbage", "git diff header lacks filename information"."""
        whole = "--- a/list.txt\n+++ b/list.txt\n@@ -1 +1 @@\n-one\n+ONE\n"
        headers = ("diff --git a/README.md b/README.md\n", "--- a/README.md\n",
                   "diff --git a/README.md b/README.md\nindex 1234567..89abcde 100644\n",
                   "--- a/README.md\n+++ b/README.md\n",
                   "diff --git a/README.md b/READ.md\nsimilarity index 90%\nrename from README.md\n",
                   "diff --git a/README.md b/READ.md\nsimilarity index 90%\nrename from README.md\n"
                   "rename to READ.md\n")
        for header in headers:
            with self.subTest(header):
                result = self.run_here("apply", self.patch(whole + header), expect=2)
                self.assertIn("ends before", result.err)

    # --- headers --------------------------------------------------------------------------------

    def test_headers_that_contradict_each_other_name_both_lines(self):
        """git: "inconsistent old filename on line 5", "expected /dev/null", "inconsistent header lines"."""
        hunk = "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"
        cases = (
            ("diff --git a/list.txt b/l\nrename from list.txt\nrename to l\n--- a/README.md\n+++ b/l\n", 2, 4),
            ("diff --git a/list.txt b/l\nrename from list.txt\nrename to l\n--- a/list.txt\n+++ b/x\n", 3, 5),
            ("diff --git a/n b/n\nnew file mode 100644\n--- a/n\n+++ b/n\n", 2, 3),
            ("diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/m\n", 1, 4),
            ("diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ b/n\n", 2, 4),
            ("diff --git a/n b/n\nnew file mode 100644\ndeleted file mode 100644\n--- a/n\n+++ b/n\n", 2, 3),
            ("diff --git a/n b/m\nrename from n\ncopy to m\n--- a/n\n+++ b/m\n", 2, 3),
            ("diff --git a/list.txt b/list.txt\n--- a/README.md\n+++ b/README.md\n", 1, 2),
        )
        for header, first, second in cases:
            with self.subTest(header):
                result = self.run_here("apply", self.patch(header + hunk), expect=2)
                self.assertIn(f"line {second} of the patch", result.err)
                self.assertIn(f"line {first} says", result.err)

    def test_renaming_two_files_to_one_name_is_refused(self):
        """git: the second rename silently wins; here both files are kept."""
        (self.work / "other.txt").write_text("other\n")
        for kind in ("rename", "copy"):
            patch = self.patch(
                f"diff --git a/list.txt b/both.txt\nsimilarity index 100%\n{kind} from list.txt\n"
                f"{kind} to both.txt\ndiff --git a/other.txt b/both.txt\nsimilarity index 100%\n"
                "rename from other.txt\nrename to both.txt\n")
            result = self.run_here("apply", patch, expect=1)
            self.assertIn("'both.txt' is made twice, by line 1 and by line 5", result.err)
            self.assertTrue((self.work / "list.txt").exists() and (self.work / "other.txt").exists())

    # --- from GNU diff --------------------------------------------------------------------------

    def test_diff_of_two_folders_creates_and_deletes(self):
        """patch: `-p1` of `diff -ruN` creates and deletes files, in any time zone."""
        for zone in ("UTC", "Asia/Kolkata", "America/St_Johns"):
            with self.subTest(zone):
                for name in ("old", "new"):
                    (self.scratch / name).mkdir(exist_ok=True)
                (self.scratch / "old" / "gone name.txt").write_text("gone\n")
                (self.work / "gone name.txt").write_text("gone\n")
                (self.scratch / "new" / "new name.txt").write_text("new\n")
                made = subprocess.run(["diff", "-ruN", "old", "new"], cwd=self.scratch, capture_output=True,
                                      env={**os.environ, "TZ": zone}, check=False).stdout
                self.run_here("apply", self.patch(made), expect=0)
                self.assertEqual(self.read("new name.txt"), b"new\n")
                self.assertFalse((self.work / "gone name.txt").exists())
                (self.work / "new name.txt").unlink()

    def test_time_stamps_of_other_diff_programs_are_read(self):
        """patch: reads time stamps of ctime and mail, and a name with blanks before a tab."""
        for stamp in ("Thu Jan  1 00:00:00 1970", "Wed Dec 31 16:00:00 1969", "1970-01-01 05:30 +05:30",
                      "Thu, 01 Jan 1970 01:00:00 +0100"):
            with self.subTest(stamp):
                (self.work / "a b").write_text("x\n")
                self.run_here("apply", self.patch(
                    f"--- a b\t2020-01-01 00:00:00 +0000\n+++ a b\t{stamp}\n@@ -1 +0,0 @@\n-x\n"), expect=0)
                self.assertFalse((self.work / "a b").exists())
        # Some trees give every file this time stamp. Then the hunk tells whether the file is
        # created.
        self.run_here("apply", self.patch(
            "--- list.txt\t1970-01-01 00:00:00 +0000\n+++ list.txt\t1970-01-01 00:00:00 +0000\n"
            "@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"), expect=0)
        self.assertTrue(self.read("list.txt").startswith(b"ONE\n"))

    def test_a_hunk_on_an_empty_file_creates_a_missing_file(self):
        """git, patch: a traditional diff of `@@ -0,0` creates the file that is not there."""
        self.run_here("apply", self.patch("--- a/fresh\n+++ b/fresh\n@@ -0,0 +1 @@\n+x\n"), expect=0)
        self.assertEqual(self.read("fresh"), b"x\n")

    # --- mails ----------------------------------------------------------------------------------

    def test_the_subject_of_a_mail_is_the_reason(self):
        """git: `am` uses the subject, without [PATCH n/m], as the commit's message."""
        self.in_git()
        (self.work / "list.txt").write_text(self.read("list.txt").decode().replace("two", "TWO"))
        self.git("commit", "-qam", "list: the second entry is wr\u00f6ng, and its mail's subject has so many words "
                 "that it is folded")
        mail = self.git("format-patch", "-1", "--stdout", "--numbered").stdout
        self.git("reset", "-q", "--hard", "HEAD~1")
        self.run_here("apply", self.patch(mail), expect=0)
        log = self.run_here("log", expect=0).out
        self.assertIn("list: the second entry is wr\u00f6ng, and its mail's subject has so many words that it is "
                      "folded", log)
        self.assertNotIn("PATCH", log)
        self.run_here("undo", expect=0)
        self.run_here("--reason", "mine", "apply", self.patch(mail), expect=0)
        self.assertIn("mine", self.run_here("log", expect=0).out)
        self.run_here("undo", expect=0)
        # One command stages it, another commits it.
        self.run_here("begin", expect=0)
        self.run_here("stage", self.patch(mail), expect=0)
        self.run_here("commit", expect=0)
        self.assertIn("list: the second entry", self.run_here("log", "-n1", expect=0).out)
        self.run_here("undo", expect=0)
        self.run_here("--reason", "begun for this", "begin", expect=0)
        self.run_here("stage", self.patch(mail), expect=0)
        self.run_here("commit", expect=0)
        self.assertIn("begun for this", self.run_here("log", "-n1", expect=0).out)

    def test_an_edit_quoted_in_a_message_is_not_made(self):
        """git: `apply` ignores it in what `show`, `log -p --stat` and `format-patch` write."""
        self.in_git()
        before = self.read("list.txt")
        changed = before.replace(b"five", b"FIVE")
        quotes = ("*** Begin Patch\n*** Delete File: README.md\n*** End Patch",
                  "list.txt\n<<<<<<< SEARCH\none\n=======\nONE\n>>>>>>> REPLACE",
                  '{"path": "list.txt", "edits": [{"oldText": "one", "newText": "ONE"}]}',
                  '```json\n{"path": "README.md", "content": ""}\n```')
        self.git("branch", "earlier")
        for quote in quotes:
            (self.work / "list.txt").write_bytes(changed)
            self.git("commit", "-qam", f"change\n\nWe sent\n\n{quote}\n\nbefore.")
            self.git("notes", "add", "-fm", quote)
            self.git("tag", "-fam", quote, "v1")
            mail = ("format-patch", "--stdout", "-1")
            commands = (("show",), ("show", "--color=always", "v1"), ("log", "-p", "--stat", "-1"),
                        ("log", "-p", "--pretty=raw", "--abbrev-commit", "--abbrev=4", "-1"),
                        ("log", "-p", "--left-right", "earlier...HEAD"), (*mail, "--notes"),
                        (*mail, "--notes", "--no-stat"), (*mail, "--interdiff=earlier"),
                        (*mail, "--range-diff=earlier~0..earlier"), (*mail, "--cover-letter", "--notes"))
            shown = [self.git(*command).stdout for command in commands]
            self.git("reset", "-q", "--hard", "HEAD~1")
            plain = [text for text in shown if b"\x1b" not in text]
            quoted = [b"Look:\n\n" + re.sub(b"(?m)^", prefix, text) for text in plain for prefix in (b"> ", b"    ")]
            for patch in shown + quoted:
                with self.subTest(patch.decode()):
                    self.run_here("apply", self.patch(patch), expect=0)
                    self.assertEqual(self.read("list.txt"), changed)
                    self.assertEqual(self.git("status", "--porcelain", "--", "README.md", "list.txt").stdout,
                                     b" M list.txt\n")
                    self.run_here("apply", "-R", self.patch(patch), expect=0)
                    self.assertEqual(self.read("list.txt"), before)

    def test_edits_only_in_a_message_are_refused_by_name(self):
        """git: `apply` finds no patch in the message of a commit."""
        self.in_git()
        self.git("commit", "-qm", "s\n\n*** Begin Patch\n*** Delete File: list.txt\n*** End Patch", "--allow-empty")
        result = self.run_here("apply", self.patch(self.git("show").stdout), expect=2)
        self.assertIn("the edits are only in the message of a commit or mail, line 7", result.err)

    def test_a_mail_with_crlf_is_read_as_a_patch_with_lf(self):
        """patch: "(Stripping trailing CRs from patch)"; \\ No newline survives it."""
        (self.work / "short").write_text("a\nb\nc")
        patch = ("From: a@b\nSubject: [PATCH] x\n\n---\n short | 2 +-\n\ndiff --git a/short b/short\n"
                 "--- a/short\n+++ b/short\n@@ -1,3 +1,3 @@\n a\n b\n-c\n\\ No newline at end of file\n+C\n"
                 "\\ No newline at end of file\n-- \n2.39.5\n\n").replace("\n", "\r\n")
        self.run_here("apply", self.patch(patch), expect=0)
        self.assertEqual(self.read("short"), b"a\nb\nC")

    # --- line ends, colors, white space ----------------------------------------------------------

    def test_a_file_with_mixed_line_ends_keeps_them(self):
        """patch: accepts it only with fuzz; here each line keeps its own end."""
        (self.work / "mixed").write_bytes(b"a\r\nb\nc\r\nd\ne\r\nf\n")
        hunks = ("@@ -2,4 +2,5 @@\n b\n c\n-d\n+D\n+E\n e\n", "@@ -2,4 +2,5 @@\n b\r\n c\n-d\r\n+D\r\n+E\r\n e\n",
                 "@@ -2,4 +2,5 @@\n b\n c\r\n-d\n+D\n+E\n e\n")
        for hunk in hunks:
            with self.subTest(hunk):
                (self.work / "mixed").write_bytes(b"a\r\nb\nc\r\nd\ne\r\nf\n")
                self.run_here("apply", self.patch("--- a/mixed\n+++ b/mixed\n" + hunk), expect=0)
                self.assertEqual(self.read("mixed"), b"a\r\nb\nc\r\nD\nE\ne\r\nf\n")
        (self.work / "mixed").write_bytes(b"a\r\nb\nc\r\nd\n")
        self.run_here("apply", self.patch("--- a/mixed\n+++ b/mixed\n@@ -1,4 +1,5 @@\n a\n-b\n-c\n+B\n+C\n d\n+e\n"),
                      expect=0)
        self.assertEqual(self.read("mixed"), b"a\r\nB\nC\r\nd\ne\n")

    def test_a_colored_diff_is_read(self):
        """git: `git diff --color=always | git apply` finds no patch; here the codes are removed."""
        self.in_git()
        text = self.read("list.txt").replace(b"two", b"TWO  ").replace(b"nine", b" \tnine\r").replace(b"ten\n", b"ten")
        (self.work / "list.txt").write_bytes(text)
        colored = self.git("diff", "--color=always").stdout
        self.assertIn(b"\x1b[", colored)
        self.git("checkout", "-q", ".")
        result = self.run_here("apply", self.patch(colored), expect=0)
        self.assertIn("color_codes", result.err)
        self.assertEqual(self.read("list.txt"), text)

    def test_escapes_of_a_file_stay(self):
        """git: a diff is bytes; colors of the diff are never confused with escapes in the file."""
        (self.work / "ansi").write_bytes(b"plain\n\x1b[31mred\x1b[m\n\x1b[1mlast\n")
        self.in_git()
        after = b"plain\n\x1b[32mgreen\x1b[m\n\x1b[1mlast\n\x1b[m\n"
        (self.work / "ansi").write_bytes(after)
        plain = self.git("diff", "--no-color").stdout
        colored = self.git("diff", "--color=always").stdout
        self.git("checkout", "-q", ".")
        refused = self.run_here("apply", self.patch(colored), expect=2)
        self.assertIn("--no-color", refused.err)
        result = self.run_here("apply", self.patch(plain), expect=0)
        self.assertNotIn("color_codes", result.err)
        self.assertEqual(self.read("ansi"), after)

    # --- reversed, partial ----------------------------------------------------------------------

    def test_an_already_reversed_patch_is_reported(self):
        """patch: "Unreversed (or previously applied) patch detected"."""
        create = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"
        delete = "diff --git a/old b/old\ndeleted file mode 100644\n--- a/old\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        result = self.run_here("apply", "-R", self.patch(create), expect=1)
        self.assertIn("'new' is already not there: this patch seems to be reversed already", result.err)
        (self.work / "old").write_text("x\n")
        result = self.run_here("apply", "-R", self.patch(delete), expect=1)
        self.assertIn("this patch seems to be reversed already", result.err)
        (self.work / "old").unlink()
        result = self.run_here("apply", self.patch(delete), expect=1)
        self.assertIn("'old' is already not there: this patch seems to be applied already", result.err)
        change = "--- a/list.txt\n+++ b/list.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
        result = self.run_here("apply", "-R", self.patch(change), expect=1)
        self.assertIn("reversed already", result.err)

    def test_reject_with_rejects_ends_with_1_and_names_them(self):
        """git: `apply --reject` ends with 1 and names each rejected hunk."""
        patch = self.patch("--- a/list.txt\n+++ b/list.txt\n@@ -1,3 +1,3 @@\n-one\n+ONE\n two\n three\n"
                           "@@ -8,3 +8,3 @@\n eight\n-NONE\n+x\n ten\n--- a/README.md\n+++ b/README.md\n"
                           "@@ -1 +1 @@\n-nothing like it\n+y\n")
        said = self.run_here("apply", patch, expect=1).err
        self.assertIn("nothing was written; to take what fits: the same with --reject", said)
        self.assertNotIn("--reject", self.run_here("apply", "--only", "README.md", patch, expect=1).err)
        self.assertIn("Commit what fits, report the rest", self.run_here("apply", "-h", expect=0).out)
        for command in (("apply", "--check"), ("preview",), ("apply",)):
            with self.subTest(command):
                result = self.run_here(*command, "--reject", patch, expect=1)
                self.assertIn("rejected: list.txt: hunk 2; README.md: all", result.err)
        self.assertTrue(self.read("list.txt").startswith(b"ONE\n"))
        self.assertNotIn(".rej`", self.run_here("help", "patch.rejects", expect=0).out)
        report = json.loads(self.run_here("--json", "apply", "--reject", patch, expect=1).out)
        self.assertEqual((report["ok"], report["reason"]), (False, "patch.rejects"))
        good = self.patch("--- a/list.txt\n+++ b/list.txt\n@@ -2,2 +2,2 @@\n-two\n+TWO\n three\n")
        self.assertNotIn("rejected", self.run_here("apply", "--reject", good, expect=0).err)


if __name__ == "__main__":
    main()
