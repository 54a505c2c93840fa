"""The effect of a patch on a tree, compared with git."""

import shutil
import unittest

from support import PATCH_OPTIONS, PATCHES, PROJECT, SystemCase, good_patches, snapshot


class Patches(SystemCase):
    def fresh(self, name):
        work = self.scratch / name
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(PROJECT, work, symlinks=True)
        return work

    def test_git_apply_and_galley_apply_give_the_same_tree(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                options = PATCH_OPTIONS.get(patch.name, [])
                ours, theirs = self.fresh("ours"), self.fresh("theirs")
                self.git("apply", *options, patch, work=theirs)
                self.galley("apply", *options, patch, work=ours, expect=0)
                self.assertNotEqual(snapshot(ours), snapshot(PROJECT))
                self.assertEqual(snapshot(ours), snapshot(theirs))

    def test_a_link_to_a_folder_becomes_a_folder_as_with_git(self):
        gone = ("diff --git a/to b/to\ndeleted file mode 120000\nindex 7ce4fa3..0000000\n--- a/to\n+++ /dev/null\n"
                "@@ -1 +0,0 @@\n-data\n\\ No newline at end of file\n")
        made = "".join(f"diff --git a/to/{name} b/to/{name}\nnew file mode 100644\nindex 0000000..d00491f\n"
                       f"--- /dev/null\n+++ b/to/{name}\n@@ -0,0 +1 @@\n+1\n"
                       # one name that exists behind the link, one that does not
                       for name in ("deep/er/new.txt", "rates.json"))
        for patch in (gone + made, made + gone):
            ours, theirs = self.fresh("ours"), self.fresh("theirs")
            for work in (ours, theirs):
                (work / "to").symlink_to("data")
            before = snapshot(ours)
            self.git("apply", "-", work=theirs, stdin=patch.encode())
            self.galley("apply", "-", work=ours, stdin=patch.encode(), expect=0)
            self.assertTrue((ours / "to" / "deep" / "er" / "new.txt").is_file())
            self.assertEqual(snapshot(ours), snapshot(theirs))
            self.assertEqual(snapshot(ours / "data"), snapshot(PROJECT / "data"))
            self.galley("undo", work=ours, expect=0)
            self.assertEqual(snapshot(ours), before)
            # Without the deletion of the link, the link stays, and nothing is written through it.
            self.galley("apply", "-", work=ours, stdin=made.encode(), expect=1)
            self.assertEqual(snapshot(ours), before)

    def test_undo_gives_the_tree_back(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                work = self.fresh("ours")
                self.galley("apply", *PATCH_OPTIONS.get(patch.name, []), patch, work=work, expect=0)
                self.galley("undo", work=work, expect=0)
                self.assertEqual(snapshot(work), snapshot(PROJECT))

    def test_undo_of_undo_gives_the_change_back(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                work = self.fresh("ours")
                self.galley("apply", *PATCH_OPTIONS.get(patch.name, []), patch, work=work, expect=0)
                changed = snapshot(work)
                self.galley("undo", work=work, expect=0)
                self.galley("redo", work=work, expect=0)
                self.assertEqual(snapshot(work), changed)

    def test_reversed_patch_gives_the_tree_back(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                options = PATCH_OPTIONS.get(patch.name, [])
                work = self.fresh("ours")
                self.galley("apply", *options, patch, work=work, expect=0)
                # git does not reverse a copy. Here its index line proves what is deleted.
                self.galley("apply", "-R", *options, patch, work=work, expect=0)
                self.assertEqual(snapshot(work), snapshot(PROJECT))

    def test_printed_diff_applied_by_git_gives_the_committed_tree(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                options = PATCH_OPTIONS.get(patch.name, [])
                ours, theirs = self.fresh("ours"), self.fresh("theirs")
                preview = self.galley("preview", *options, patch, work=ours, expect=0)
                self.git("apply", "-", work=theirs, stdin=preview.stdout)
                self.galley("apply", *options, patch, work=ours, expect=0)
                self.assertEqual(snapshot(ours), snapshot(theirs))

    def test_patch_from_stdin_is_the_same(self):
        patch = PATCHES / "good" / "01-discounts.patch"
        a, b = self.fresh("a"), self.fresh("b")
        self.galley("apply", patch, work=a, expect=0)
        self.galley("apply", "-", work=b, stdin=patch.read_bytes(), expect=0)
        self.assertEqual(snapshot(a), snapshot(b))

    def test_the_same_patch_twice_does_not_fit(self):
        patch = PATCHES / "good" / "01-discounts.patch"
        self.galley("apply", patch, expect=0)
        after = snapshot(self.work, with_times=True)
        self.assert_one_clear_message(self.galley("apply", patch, expect=1))
        self.assertEqual(snapshot(self.work, with_times=True), after)

    def test_refused_patches_leave_the_tree_alone(self):
        before = snapshot(self.work, with_times=True)
        for patch in sorted((PATCHES / "refused").glob("*.patch")):
            for command in ("preview", "apply"):
                with self.subTest(patch=patch.name, command=command):
                    result = self.galley(command, patch, expect=1)
                    self.assert_one_clear_message(result)
                    self.assertEqual(snapshot(self.work, with_times=True), before)

    def test_a_refusal_names_file_line_and_rule(self):
        for name, words in {
            "broken-json.patch": ["data/rates.json", "json"],
            "broken-toml.patch": ["pyproject.toml", "toml"],
            "conflict-markers.patch": ["src/quote.cc", "conflict"],
            "policy-protected.patch": ["deploy/production.env", "protected"],
            "policy-rule.patch": ["LICENSE", "licence"],
            "stale-context.patch": ["data/rates.json"],
        }.items():
            with self.subTest(patch=name):
                result = self.galley("apply", PATCHES / "refused" / name, expect=1)
                said = result.stderr.decode()
                for word in words:
                    self.assertIn(word, said)

    def test_a_refusal_has_a_correction_whether_the_last_line_ends_or_not(self):
        text = b"int f(int a) {\n  int s = a;\n  s += 1;\n  return s;\n}"
        block = (b"a.c\n<<<<<<< SEARCH\nint f(int a) {\n  int s = a; // init\n  s += 1;\n=======\n"
                 b"int f(int a) {\n  int s = a; // init\n  s += 2;\n>>>>>>> REPLACE\n")
        for content in (text, text + b"\n"):
            with self.subTest(content=content):
                (self.work / "a.c").write_bytes(content)
                said = self.galley("apply", stdin=block, expect=1).stderr
                _, found, correction = said.partition(b"ready to send again:\n")
                self.assertTrue(found, said)
                self.galley("apply", stdin=correction, expect=0)
                self.assertEqual((self.work / "a.c").read_bytes(), content.replace(b"+= 1", b"+= 2"))


if __name__ == "__main__":
    unittest.main()
