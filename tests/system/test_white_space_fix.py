"""Compares apply --whitespace=fix with git apply --whitespace=fix: the same bytes, case by case."""

import os
import shutil
import unittest

from support import SystemCase

CASES = [
    # name, content before, content after, core.whitespace or None, .gitattributes or None
    ("trailing blanks", "a\nb\nc\n", "a\nb  \nc\n", None, None),
    ("trailing tab", "a\nb\nc\n", "a\nB\t\nc\n", None, None),
    ("blank before tab", "a\nb\nc\n", "a\n \tB\nc\n", None, None),
    ("a tab's width before a tab", "a\nb\nc\n", "a\n        \tB\nc\n", None, None),
    ("both", "a\nb\nc\n", "a\n  \tB \t \nc\n", None, None),
    ("blanks between tabs", "a\nb\nc\n", "a\n\t  \t B\nc\n", None, None),
    ("only white space", "a\nb\nc\n", "a\n \t \nb\nc\n", None, None),
    ("a blank line at the end", "a\nb\nc\n", "a\nb\nc\n\n", None, None),
    ("three blank lines at the end", "a\nb\nc\n", "a\nb\nC\n\n \n\t\n", None, None),
    ("a blank line before a blank end", "a\nb\n\n", "a\nB\n\n\n", None, None),
    ("blank lines within", "a\nb\nc\n", "a\n\n\nb\nc\n", None, None),
    ("a new file with blank lines at its end", None, "a \n\tb\n\n\n", None, None),
    ("a new file of nothing else", None, "\n\n", None, None),
    ("no newline at the end", "a\nb\nc", "a\nb\nC  ", None, None),
    ("indent with blanks", "a\nb\nc\n", "a\n        B\n                  C\nc\n", "indent-with-non-tab", None),
    ("blanks behind a tab", "a\nb\nc\n", "a\n\t        B\n\t    C\nc\n", "indent-with-non-tab", None),
    ("tab in indent", "a\nb\nc\n", "a\n\tB\n  \tC\n \t \tD\nc\n", "tab-in-indent", None),
    ("tab in indent of four", "a\nb\nc\n", "a\n\tB\n  \tC\nc\n", "tab-in-indent,tabwidth=4", None),
    ("wide tabs", "a\nb\nc\n", "a\n    B\n     C\nc\n", "indent-with-non-tab,tabwidth=4", None),
    ("trailing allowed", "a\nb\nc\n", "a\nB  \n \tC\nc\n", "-blank-at-eol", None),
    ("end allowed", "a\nb\nc\n", "a\nB  \nc\n\n\n", "-blank-at-eof", None),
    ("trailing-space off", "a\nb\nc\n", "a\nB  \nc\n\n\n", "-trailing-space", None),
    ("before tab allowed", "a\nb\nc\n", "a\n \tB  \nc\n", "-space-before-tab", None),
    ("CR in a file without", "a\nb\nc\n", "a\nB\r\nc\n", None, None),
    ("CR in a file with CRs", "a\r\nb\r\nc\r\n", "a\r\nB \r\nc\r\n", None, None),
    ("CR allowed", "a\nb\nc\n", "a\nB \r\nc\n", "cr-at-eol", None),
    ("attribute off", "a\nb\nc\n", "a\nB  \n \tC\nc\n\n", None, "f -whitespace\n"),
    ("attribute on", "a\nb\nc\n", "a\n        B  \n \tC\nc\n\n", None, "* whitespace\n"),
    ("attribute names rules", "a\nb\nc\n", "a\n\tB  \nc\n", None, "f whitespace=tab-in-indent,tabwidth=2\n"),
    ("attribute over core", "a\nb\nc\n", "a\n\tB  \nc\n", "tab-in-indent", "f whitespace=-blank-at-eol\n"),
    ("attribute unspecified again", "a\nb\nc\n", "a\n\tB  \nc\n", "tab-in-indent", "* -whitespace\nf !whitespace\n"),
    ("attribute of others", "a\nb\nc\n", "a\nB  \nc\n", None, "*.py -whitespace\n"),
]


class WhiteSpaceFix(SystemCase):
    def prepared(self, name, before, core, attributes):
        folder = self.scratch / name
        folder.mkdir()
        self.git("init", "-q", work=folder)
        if core is not None:
            self.git("config", "core.whitespace", core, work=folder)
        if attributes is not None:
            (folder / ".gitattributes").write_text(attributes)
        if before is not None:
            (folder / "f").write_bytes(before.encode())
        return folder

    def patch_of(self, before, after):
        folder = self.prepared("made", before, None, None)
        if before is None:
            (folder / "f").write_bytes(b"")
            self.git("add", "-N", "f", work=folder)
        else:
            self.git("add", "f", work=folder)
        (folder / "f").write_bytes(after.encode())
        patch = self.git("diff", work=folder).stdout
        shutil.rmtree(folder)
        return patch

    def test_fix_writes_the_same_bytes_as_git(self):
        for name, before, after, core, attributes in CASES:
            with self.subTest(name):
                patch = self.patch_of(before, after)
                theirs = self.prepared("theirs", before, core, attributes)
                ours = self.prepared("ours", before, core, attributes)
                try:
                    self.git("apply", "--whitespace=fix", "-", work=theirs, stdin=patch)
                    self.galley("apply", "--whitespace=fix", work=ours, stdin=patch, expect=0)
                    self.assertEqual((ours / "f").read_bytes(), (theirs / "f").read_bytes())
                finally:
                    shutil.rmtree(theirs)
                    shutil.rmtree(ours)

    def test_error_refuses_what_fix_would_change(self):
        for name, before, after, core, attributes in CASES:
            with self.subTest(name):
                patch = self.patch_of(before, after)
                folder = self.prepared("ours", before, core, attributes)
                try:
                    theirs = self.git("apply", "--whitespace=error", "--check", "-", work=folder, stdin=patch,
                                      check=False)
                    ours = self.galley("apply", "--whitespace=error", "--check", work=folder, stdin=patch)
                    self.assertEqual(ours.returncode != 0, theirs.returncode != 0, ours.stderr.decode())
                finally:
                    shutil.rmtree(folder)

    def test_the_nearest_attributes_apply(self):
        folder = self.prepared("ours", None, None, "* whitespace=tab-in-indent\n")
        for name, rules in (("sub", "f -whitespace\n"), ("other", "g -whitespace\n")):
            (folder / name).mkdir()
            (folder / name / "f").write_text("a\nb\n")
            (folder / name / ".gitattributes").write_text(rules)
            patch = f"--- a/{name}/f\n+++ b/{name}/f\n@@ -1,2 +1,2 @@\n a\n-b\n+\tB  \n".encode()
            self.galley("apply", "--whitespace=fix", work=folder, stdin=patch, expect=0)
        self.assertEqual((folder / "sub" / "f").read_text(), "a\n\tB  \n")
        self.assertEqual((folder / "other" / "f").read_text(), "a\n        B\n")

    # Limit: kMaxAttributesBytes of staging/git/white_space_attributes.h
    def test_a_giant_attributes_file_is_ignored(self):
        folder = self.prepared("ours", "a\nb\n", None, "# x\n" * (1 << 18) + "f -whitespace\n")
        patch = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B  \n"
        self.galley("apply", "--whitespace=fix", work=folder, stdin=patch, expect=0)
        self.assertEqual((folder / "f").read_text(), "a\nB\n")

    def test_a_fifo_as_attributes_is_not_waited_for(self):
        folder = self.prepared("ours", "a\nb\n", None, None)
        os.mkfifo(folder / ".gitattributes")
        patch = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+B  \n"
        self.galley("apply", "--whitespace=fix", work=folder, stdin=patch, expect=0)
        self.assertEqual((folder / "f").read_text(), "a\nB\n")


if __name__ == "__main__":
    unittest.main()
