"""The program under the name of the tool `apply_patch`: as models know it, but atomic and through
the gate."""

import os
import subprocess
import unittest
from pathlib import Path

from support import GALLEY, SystemCase, snapshot

RULES = '[[policy.rule]]\npaths = ["keys/"]\ndecision = "deny"\n\n[[validator]]\nbuiltin = "json"\n'
ALL = ("*** Begin Patch\n*** Add File: new/made.txt\n+made\n*** Update File: a.txt\n@@\n-one\n+ONE\n two\n"
       "*** Delete File: gone.txt\n*** Update File: old.txt\n*** Move to: moved.txt\n@@\n-o\n+O\n*** End Patch\n")


class Named(SystemCase):
    def setUp(self):
        super().setUp()
        self.program = self.scratch / "bin" / "apply_patch"
        self.program.parent.mkdir()
        self.program.symlink_to(Path(GALLEY).resolve())
        (self.work / "galley.toml").write_text(RULES)
        for name, text in (("a.txt", "one\ntwo\n"), ("gone.txt", "gone\n"), ("old.txt", "o\n")):
            (self.work / name).write_text(text)

    def patch(self, *words, stdin="", work=None, expect=0):
        ran = subprocess.run([str(self.program), *words], cwd=work or self.work, input=stdin.encode(), capture_output=True,
                             env={**os.environ, **self.environment}, check=False, timeout=60)
        self.assertEqual(ran.returncode, expect, ran.stdout + ran.stderr)
        return ran

    def test_an_argument_and_standard_input_do_the_same(self):
        said = "Success. Updated the following files:\nA new/made.txt\nM a.txt\nM moved.txt\nD gone.txt\n"
        for is_argument in (True, False):
            before = snapshot(self.work)
            ran = self.patch(ALL) if is_argument else self.patch(stdin=ALL)
            self.assertEqual((ran.stdout.decode(), ran.stderr), (said, b""))
            self.assertEqual((self.work / "a.txt").read_text(), "ONE\ntwo\n")
            self.assertEqual((self.work / "moved.txt").read_text(), "O\n")
            self.galley("undo", expect=0)
            self.assertEqual(snapshot(self.work), before)

    def test_a_patch_that_does_not_fit_changes_nothing_and_names_the_line(self):
        before = snapshot(self.work)
        said = self.patch(ALL.replace("-o\n+O", "-other\n+O"), expect=1)
        self.assertEqual(said.stdout, b"")
        self.assertIn(b"old.txt", said.stderr)
        self.assertIn(b"line 12 of the patch", said.stderr)
        self.assertEqual(snapshot(self.work), before)

    def test_the_gate_refuses(self):
        before = snapshot(self.work)
        for patch, word in (("*** Begin Patch\n*** Add File: keys/k\n+k\n*** End Patch", b"keys"),
                            ("*** Begin Patch\n*** Add File: b.json\n+{,\n*** End Patch", b"b.json:1"),
                            ("*** Begin Patch\n*** Add File: ../b\n+x\n*** End Patch", b"../b"),
                            ("*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch", b".git")):
            said = self.patch(patch, expect=1)
            self.assertIn(word, said.stderr)
            self.assertEqual(said.stdout, b"")
        self.assertEqual(snapshot(self.work), before)

    def test_paths_are_relative_to_the_current_directory(self):
        sub = self.work / "sub" / "below"
        sub.mkdir(parents=True)
        (sub / "x.txt").write_text("x\n")
        said = self.patch("*** Begin Patch\n*** Update File: x.txt\n@@\n-x\n+X\n*** Add File: y\n+y\n*** End Patch", work=sub)
        self.assertEqual(said.stdout, b"Success. Updated the following files:\nA y\nM x.txt\n")
        said = self.patch("*** Begin Patch\n*** Update File: ../../a.txt\n@@\n-one\n+ONE\n two\n*** End Patch", work=sub)
        self.assertEqual(said.stdout, b"Success. Updated the following files:\nM ../../a.txt\n")
        self.assertEqual((sub / "x.txt").read_text(), "X\n")

    def test_it_works_without_a_configuration_or_state(self):
        plain = self.scratch / "plain"
        plain.mkdir()
        (plain / "a.txt").write_text("one\ntwo\n")
        self.patch("*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n two\n*** End Patch", work=plain)
        self.assertEqual((plain / "a.txt").read_text(), "1\ntwo\n")

    def test_a_wrong_call_exits_with_2_and_a_bad_patch_with_1(self):
        before = snapshot(self.work)
        for words in (["a", "b"], [""], []):
            self.assertIn(b"Usage", self.patch(*words, expect=2).stderr)
        self.assertIn(b"Usage", self.patch("--help").stdout)
        for patch in ("nothing", "*** Begin Patch\n", "*** Begin Patch\n*** End Patch\n", "*** Begin Patch\n*** What: a\n*** End Patch\n"):
            said = self.patch(patch, expect=1)
            self.assertEqual(said.stdout, b"")
            self.assert_one_clear_message(said)
        self.assertEqual(snapshot(self.work), before)

    def test_the_program_under_its_own_name_is_galley(self):
        self.assertIn(b"galley", self.galley("--version", expect=0).stdout)


if __name__ == "__main__":
    unittest.main()
