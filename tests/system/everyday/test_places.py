"""Names and commands in a subdirectory, and -C, with git's meaning."""

import json
import os

from everyday import EverydayCase, main


class Places(EverydayCase):
    def setUp(self):
        super().setUp()
        self.sub = self.work / "sub" / "inner"
        self.sub.mkdir(parents=True)
        (self.sub / "a.txt").write_text("one\ntwo\n")
        (self.work / "a.txt").write_text("another\n")
        # A directory that is not a root itself, so that the program must find the root from inside.
        self.run_here("begin", expect=0)
        self.run_here("rollback", expect=0)

    def edit(self, name="sub/inner/a.txt"):
        return f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n"

    def json_here(self, *arguments, cwd=None):
        return json.loads(self.run_here("--json", *arguments, cwd=cwd, expect=0).out)

    def test_blame_takes_names_of_the_current_directory(self):
        """git: `blame NAME` is relative to the current directory."""
        self.run_here("apply", "-", stdin=self.edit(), expect=0)
        found = self.json_here("blame", "a.txt", cwd=self.sub)
        self.assertEqual(found["path"], "sub/inner/a.txt")
        self.assertEqual(found["lines"][1]["id"], "1")
        self.assertEqual(self.json_here("blame", "../../a.txt", cwd=self.sub)["path"], "a.txt")
        self.assertEqual(self.json_here("blame", ":/a.txt", cwd=self.sub)["path"], "a.txt")
        self.assertEqual(self.json_here("blame", self.work / "a.txt", cwd=self.sub)["path"], "a.txt")

    def test_a_name_outside_the_workspace_is_refused(self):
        """git: `'../../../x' is outside repository`."""
        said = self.run_here("blame", "../../../x", cwd=self.sub, expect=1).err
        self.assertIn("outside the workspace", said)

    def test_log_and_diff_take_the_current_directory(self):
        """git: `log .` and `diff .` show the current directory and everything below it."""
        self.run_here("apply", "-", stdin="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-another\n+other\n", expect=0)
        self.run_here("apply", "-", stdin=self.edit(), expect=0)
        numbers = [entry["id"] for entry in self.json_here("log", ".", cwd=self.sub)["transactions"]]
        self.assertEqual(numbers, ["2"])
        numbers = [entry["id"] for entry in self.json_here("log", "--path", "a.txt", cwd=self.sub)["transactions"]]
        self.assertEqual(numbers, ["2"])
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", "echo x > top.txt; echo y > sub/inner/low.txt", expect=0)
        self.assertEqual(self.run_here("diff", "--name-status", ".", cwd=self.sub, expect=0).out,
                         "A\tsub/inner/low.txt\n")
        self.assertEqual(self.run_here("diff", "--name-status", "--", "../../top.txt", cwd=self.sub, expect=0).out,
                         "A\ttop.txt\n")

    def test_undo_takes_names_of_the_current_directory(self):
        """git: `restore NAME` is relative to the current directory."""
        both = self.edit() + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-another\n+other\n"
        self.run_here("apply", "-", stdin=both, expect=0)
        self.run_here("undo", "1", "--path", "a.txt", cwd=self.sub, expect=0)
        self.assertEqual((self.sub / "a.txt").read_text(), "one\ntwo\n")
        self.assertEqual((self.work / "a.txt").read_text(), "other\n")
        self.run_here("redo", expect=0)
        self.run_here("undo", "1", "--hunk", "a.txt:1", cwd=self.sub, expect=0)
        self.assertEqual((self.sub / "a.txt").read_text(), "one\ntwo\n")

    def test_only_takes_names_of_the_current_directory(self):
        """git: `add NAME` is relative to the current directory."""
        both = self.edit() + "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-another\n+other\n"
        self.run_here("apply", "--only", "a.txt", "-", stdin=both, cwd=self.sub, expect=0)
        self.assertEqual((self.sub / "a.txt").read_text(), "one\nTWO\n")
        self.assertEqual((self.work / "a.txt").read_text(), "another\n")

    def test_policy_explain_takes_names_of_the_current_directory(self):
        """git: `check-ignore NAME` is relative to the current directory."""
        self.assertEqual(self.json_here("policy", "explain", "a.txt", cwd=self.sub)["path"], "sub/inner/a.txt")

    def test_a_command_runs_in_the_current_directory(self):
        """sh: a command runs in the current directory."""
        self.run_here("begin", expect=0)
        self.assertIn("/sub/inner\n", self.run_here("exec", "--", "pwd", cwd=self.sub, expect=0).out)
        self.run_here("exec", "--", "sh", "-c", "cat a.txt > copy.txt", cwd=self.sub, expect=0)
        self.run_here("commit", expect=0)
        self.assertEqual((self.sub / "copy.txt").read_text(), "one\ntwo\n")
        said = self.run_here("at", "1", "--", "ls", cwd=self.sub, expect=0)
        self.assertEqual(said.out, "a.txt\ncopy.txt\n")

    def test_a_command_needs_the_directory_in_the_staged_tree(self):
        """sh: `cd` into a missing directory fails and names it."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "rm", "-r", "sub", expect=0)
        said = self.run_here("exec", "--", "pwd", cwd=self.sub, expect=1).err
        self.assertIn("'sub/inner'", said)
        self.assertIn(str(self.work), said)

    def test_dash_C_changes_the_base_of_file_names(self):
        """git: `git -C sub apply ../m.patch` reads sub/../m.patch."""
        (self.work / "m.patch").write_text(self.edit())
        self.run_here("-C", "sub", "apply", "../m.patch", expect=0)
        self.assertEqual((self.sub / "a.txt").read_text(), "one\nTWO\n")
        self.run_here("apply", "m.patch", cwd=self.scratch, expect=2)

    def test_each_dash_C_is_relative_to_the_one_before(self):
        """git: each -C is relative to the one before it."""
        found = json.loads(self.run_here("-C", "work", "-C", "sub/inner", "--json", "policy", "explain", "a.txt",
                                         cwd=self.scratch, expect=0).out)
        self.assertEqual(found["path"], "sub/inner/a.txt")
        said = self.run_here("-C", "sub", "-C", "nowhere", "log", expect=2).err
        self.assertIn("there is no directory 'nowhere'", said)

    def test_a_configuration_named_with_dash_C_is_found_from_there(self):
        """make: `make -C sub -f other.mk` reads sub/other.mk."""
        (self.sub / "own.toml").write_text("[limits]\n")
        self.run_here("-C", "sub/inner", "--config", "own.toml", "status", expect=0)

    def test_a_patch_from_the_current_directory_gets_a_hint_about_its_directory(self):
        """git: `apply --directory=sub` puts it in front of every name."""
        patch = "--- a/low.txt\n+++ b/low.txt\n@@ -1 +1 @@\n-low\n+LOW\n"
        (self.sub / "low.txt").write_text("low\n")
        said = self.run_here("apply", "-", stdin=patch, cwd=self.sub, expect=1).err
        self.assertIn("--directory=sub/inner", said)
        message = json.loads(self.run_here("--json", "apply", "-", stdin=patch, cwd=self.sub, expect=1).out)["message"]
        self.assertIn("--directory=sub/inner", message)
        self.run_here("apply", "--directory=sub/inner", "-", stdin=patch, cwd=self.sub, expect=0)
        self.assertEqual((self.sub / "low.txt").read_text(), "LOW\n")
        self.assertNotIn("--directory", self.run_here("apply", "-", stdin=patch, cwd=self.work, expect=1).err)

    def test_a_workspace_reached_through_a_link_is_the_same_workspace(self):
        """git: a directory that is reached through a link is the same directory."""
        os.symlink(self.sub, self.scratch / "way")
        found = self.json_here("policy", "explain", "a.txt", cwd=self.scratch / "way")
        self.assertEqual(found["path"], "sub/inner/a.txt")


if __name__ == "__main__":
    main()
