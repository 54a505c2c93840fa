#!/usr/bin/env python3
"""Paths that no edit may change, under any name: galley.toml in every spelling, and git's
directories under other names."""

import json
import os
import shutil
import subprocess

import hostile

RULES = '[policy]\ndefault = "allow"\n'

# Spellings that some file systems treat as galley.toml (case, ignorable characters of HFS+ and
# ext4, NTFS).
SPELLINGS = ["galley.toml", "Galley.Toml", "GALLEY.TOML", "galley.toml.", "galley.toml ", "galley.toml:x",
             "GALLEY~1.TOM", "gal\u200cley.toml", "galley\u00ad.toml", "\ufeffgalley.toml"]


class Configuration(hostile.HostileCase):
    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.write("galley.toml", RULES)
        self.write("src/a.txt", "one\n")

    def refused(self, *arguments, **options):
        document = json.loads(self.galley("--json", *arguments, expect=1, **options).stdout)
        self.assertEqual(document["reason"], "gate.policy_denied", document)
        return document["message"]

    def test_no_spelling_at_any_depth_can_be_made(self):
        for name in SPELLINGS:
            for path in (name, f"src/{name}", f"{name}/file"):
                if path == "galley.toml/file":
                    continue  # the existing file is in the way
                with self.subTest(path=path):
                    edits = json.dumps([{"path": path, "content": "[policy]\n"}]).encode()
                    said = self.galley("apply", "--format", "edits", stdin=edits, expect=(1, 2))
                    if path == "galley.toml":
                        continue  # it exists, so there is nothing to make
                    self.assertIn(b"never changed by an edit", said.stderr, said)
        self.assertEqual(sorted(os.listdir(self.work)), [".galley", "galley.toml", "src"])
        self.assertEqual(os.listdir(self.work / "src"), ["a.txt"])

    def test_a_patch_cannot_change_delete_or_rename_it(self):
        for name, patch in {
            "modify": '--- a/galley.toml\n+++ b/galley.toml\n@@ -1,2 +1,2 @@\n [policy]\n-default = "allow"\n'
                      '+default = "ask"\n',
            "delete": '--- a/galley.toml\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-[policy]\n-default = "allow"\n',
            "rename": "diff --git a/galley.toml b/x.toml\nsimilarity index 100%\nrename from galley.toml\n"
                      "rename to x.toml\n",
            "mode": "diff --git a/galley.toml b/galley.toml\nold mode 100644\nnew mode 100755\n",
        }.items():
            with self.subTest(name):
                message = self.refused("apply", stdin=patch.encode())
                self.assertIn("edits_configuration = true", message)
        self.assertEqual((self.work / "galley.toml").read_text(), RULES)
        self.assertEqual((self.work / "galley.toml").stat().st_mode & 0o777, 0o644)
        # A copy under another name is an ordinary file.
        self.galley("apply", expect=0, stdin=b"diff --git a/galley.toml b/copy.txt\nsimilarity index 100%\n"
                                             b"copy from galley.toml\ncopy to copy.txt\n")

    def test_a_command_cannot_change_it(self):
        for script in ("echo '[policy]' > galley.toml", "rm galley.toml", "mv galley.toml x", "chmod 600 galley.toml",
                       "rm galley.toml; ln -s src/a.txt galley.toml", "rm galley.toml; mkdir galley.toml",
                       "ln -s src/a.txt src/Galley.toml", "mkdir src/galley.toml"):
            with self.subTest(script):
                self.galley("begin", expect=0)
                self.galley("exec", "--", "sh", "-ec", script, expect=0)
                self.refused("commit")
                self.galley("rollback", expect=0)
        self.assertEqual((self.work / "galley.toml").read_text(), RULES)
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-ec", "cat galley.toml > src/b.txt", expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "src" / "b.txt").read_text(), RULES)

    def test_a_persons_own_configuration_may_let_edits_change_it(self):
        patch = b'--- a/galley.toml\n+++ b/galley.toml\n@@ -1,2 +1,2 @@\n [policy]\n-default = "allow"\n+default = "ask"\n'
        own = self.home / ".config" / "galley"
        own.mkdir(parents=True)
        (own / "config.toml").write_text("edits_configuration = true\n")
        self.galley("apply", stdin=patch, expect=0)
        self.assertIn('"ask"', (self.work / "galley.toml").read_text())

    def test_init_can_write_galley_toml(self):
        (self.work / "galley.toml").unlink()
        self.galley("init", expect=0)
        self.assertTrue((self.work / "galley.toml").exists())

    def test_explain_names_the_fixed_rule_for_galley_toml(self):
        said = self.galley("policy", "explain", "src/Galley.toml").stdout
        self.assertIn(b"always", said)


class GitDirectories(hostile.HostileCase):
    """`.git` names the directory. Its contents belong to git, and git's configuration can run
    programs."""

    def setUp(self):
        super().setUp()
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.write("galley.toml", RULES)
        self.write("a.txt", "one\n")
        self.git("init", "-q", "--separate-git-dir", "repo.git", ".")
        self.git("add", "a.txt")
        self.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-qm", "first")

    def make(self, path, text, expect):
        edits = json.dumps([{"path": path, "content": text}]).encode()
        return self.galley("--json", "apply", "--format", "edits", stdin=edits, expect=expect)

    def test_a_directory_that_a_git_file_names_cannot_be_written(self):
        marker = self.scratch / "ran"
        before = (self.work / "repo.git" / "config").read_text()
        self.make("repo.git/hooks/post-checkout", f"#!/bin/sh\ntouch {marker}\n", 1)
        self.galley("begin", expect=0)
        self.galley("exec", "--", "sh", "-ec",
                    f"printf '[core]\\nfsmonitor = touch {marker}\\n' >> repo.git/config", expect=0)
        said = json.loads(self.galley("--json", "commit", expect=1).stdout)
        self.assertIn("belongs to the git directory repo.git", said["message"])
        self.assertEqual((self.work / "repo.git" / "config").read_text(), before)
        self.assertFalse((self.work / "repo.git" / "hooks" / "post-checkout").exists())
        self.git("status")
        self.assertFalse(marker.exists())
        self.make("b.txt", "two\n", 0)
        self.assertEqual(self.git("status", "--porcelain", "b.txt").stdout, b"?? b.txt\n")

    def test_a_directory_behind_an_absolute_gitdir_or_a_link_is_protected(self):
        (self.work / ".git").write_text(f"gitdir: {self.work}/repo.git\n")
        self.make("repo.git/config.worktree", "x", 1)
        (self.work / ".git").unlink()
        (self.work / ".git").symlink_to("repo.git")
        self.make("repo.git/config.worktree", "x", 1)
        self.assertFalse((self.work / "repo.git" / "config.worktree").exists())

    def test_a_folder_that_comes_to_look_like_a_repository_is_asked_about(self):
        self.galley("begin", expect=0)
        self.galley("exec", "--", "git", "init", "-q", "--bare", "innocent", expect=0)
        said = json.loads(self.galley("--json", "commit", expect=1).stdout)
        self.assertEqual(said["reason"], "gate.approval_missing", said)
        self.assertIn("git_directories", said["message"])
        self.assertFalse((self.work / "innocent").exists())
        self.galley("rollback", expect=0)
        self.make("guilty/HEAD", "ref: refs/heads/main\n", 0)  # a name alone is not a git directory
        self.make("guilty/objects/x", "x", 0)
        self.make("guilty/refs/x", "x", 1)
        self.assertNotEqual(0, subprocess.run(
            ["git", "--git-dir", str(self.work / "guilty"), "rev-parse"], capture_output=True, check=False).returncode)


if __name__ == "__main__":
    hostile.main()
