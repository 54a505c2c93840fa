"""galley check: the gate's answer about the contents of a git repository, which it must not
change."""

import base64
import hashlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
import unittest

from support import GALLEY, SystemCase, snapshot

RULES = """
[[validator]]
builtin = "json"

[[validator]]
builtin = "conflict_markers"

[[policy.rule]]
name = "keep"
paths = ["/locked/**"]
decision = "deny"
"""

FIXER = """
[[validator]]
name = "upper"
command = ["sed", "-i", "s/lower/UPPER/", "{files}"]
paths = ["*.txt"]
fix = true
"""

WHO = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
       "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}


class CheckCase(SystemCase):
    """`self.repo` is a repository with one commit."""

    def setUp(self):
        super().setUp()
        self.environment["XDG_CACHE_HOME"] = str(self.scratch / "cache")
        self.repo = self.make("repo")

    def make(self, name, rules=RULES, files=None, *options):
        repo = self.scratch / name
        repo.mkdir()
        self.run_git(repo, "init", "-q", "-b", "main", *options)
        self.put(repo, {"galley.toml": rules, "a.txt": "one\ntwo\nthree\n", "sub/b.json": "{}\n", "locked/c": "c\n",
                        **(files or {})})
        self.run_git(repo, "add", "-A")
        self.run_git(repo, "commit", "-qm", "first")
        return repo

    def run_git(self, repo, *arguments, expect=0, stdin=None, **environment):
        done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=False, input=stdin,
                              env={**os.environ, **WHO, **environment})
        if expect is not None:
            self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout

    @staticmethod
    def put(repo, files):
        for name, text in files.items():
            path = repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text if isinstance(text, bytes) else text.encode())

    def commit(self, repo, files, message="more"):
        self.put(repo, files)
        self.run_git(repo, "add", "-A")
        self.run_git(repo, "commit", "-qm", message)

    def check(self, repo, *arguments, expect=0, env=None, stdin=b""):
        """Returns the document of `galley --json check`."""
        done = self.galley("--json", "check", *arguments, work=repo, expect=expect, stdin=stdin,
                           env={**WHO, **(env or {})})
        return json.loads(done.stdout)

    def rules_of(self, document):
        return {(finding["rule"], finding.get("path", "")) for finding in document["verdict"]["findings"]}

    def changes_of(self, document):
        return {(change["operation"], change["path"]) for change in document["changes"]}


class Staged(CheckCase):
    def test_a_repository_without_rules_is_a_warning_in_the_document(self):
        self.assertNotIn("warnings", self.check(self.repo))
        self.run_git(self.repo, "rm", "-q", "galley.toml")
        self.run_git(self.repo, "commit", "-qm", "none")
        self.assertIn("only the built-in rules are checked", self.check(self.repo)["warnings"][0])

    def test_the_index_is_judged_and_not_the_work_tree(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        self.run_git(self.repo, "add", "-A")
        self.put(self.repo, {"sub/b.json": "{}\n"})
        said = self.check(self.repo, expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "sub/b.json")})
        self.run_git(self.repo, "add", "-A")
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        self.assertEqual(self.check(self.repo)["changes"], [])

    def test_only_what_is_staged_of_a_file_is_judged(self):
        self.put(self.repo, {"sub/b.json": '{"a": 1}\n'})
        self.run_git(self.repo, "add", "-A")
        self.put(self.repo, {"sub/b.json": '{"a": 1\n'})
        said = self.check(self.repo, "--staged")
        self.assertEqual(self.changes_of(said), {("modify", "sub/b.json")})

    def test_an_intent_to_add_entry_is_not_a_change(self):
        self.put(self.repo, {"new.json": "{broken\n"})
        self.run_git(self.repo, "add", "-N", "new.json")
        self.assertEqual(self.check(self.repo)["changes"], [])

    def test_renames_are_reported_as_renames(self):
        self.run_git(self.repo, "mv", "a.txt", "z.txt")
        changes = self.check(self.repo)["changes"]
        self.assertIn(("z.txt", "a.txt"), {(one["path"], one.get("from")) for one in changes})

    def test_a_rule_of_the_configuration_refuses(self):
        self.put(self.repo, {"locked/d": "d\n"})
        self.run_git(self.repo, "add", "-A")
        said = self.check(self.repo, expect=1)
        self.assertEqual(said["verdict"]["reason"], "gate.policy_denied")

    def test_directories_come_and_go_with_their_files(self):
        self.run_git(self.repo, "rm", "-q", "sub/b.json")
        self.put(self.repo, {"deep/er/x": "x\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual({path for _, path in self.changes_of(self.check(self.repo))},
                         {"sub", "sub/b.json", "deep", "deep/er", "deep/er/x"})

    def test_a_file_becomes_a_directory_and_back(self):
        self.run_git(self.repo, "rm", "-q", "a.txt", "sub/b.json")
        self.put(self.repo, {"a.txt/in": "x\n", "sub": "file\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual({path for _, path in self.changes_of(self.check(self.repo))},
                         {"a.txt", "a.txt/in", "sub", "sub/b.json"})

    def test_an_unfinished_merge_is_refused(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"a.txt": "side\n"})
        self.run_git(self.repo, "checkout", "-q", "main")
        self.commit(self.repo, {"a.txt": "main\n"})
        self.run_git(self.repo, "merge", "side", expect=1)
        for options in ((), ("--worktree",)):
            said = self.check(self.repo, *options, expect=1)
            self.assertEqual(said["reason"], "check.unmerged")
            self.assertIn("merge is not finished, so there is nothing to be judged yet: a.txt;", said["message"])
            self.put(self.repo, {"a.txt": "both\n"})
        self.run_git(self.repo, "add", "a.txt")
        self.check(self.repo, "--worktree")

    def test_before_the_first_commit_everything_is_new(self):
        repo = self.scratch / "fresh"
        repo.mkdir()
        self.run_git(repo, "init", "-q")
        self.put(repo, {"galley.toml": RULES, "x.json": "{broken\n"})
        self.run_git(repo, "add", "x.json")
        self.assertEqual(self.rules_of(self.check(repo, expect=1)), {("json.syntax", "x.json")})

    def test_odd_names_are_judged(self):
        self.put(self.repo, {os.fsdecode(b"caf\xe9.json"): "{}\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual(len(self.check(self.repo)["changes"]), 1)
        self.put(self.repo, {"line\nbreak.json": "{\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertIn(("json.syntax", "line\nbreak.json"), self.rules_of(self.check(self.repo, expect=1)))

    def test_an_untracked_repository_is_a_submodule_as_for_git_add(self):
        self.make("repo/inner")
        (self.repo / "empty").mkdir()
        self.run_git(self.repo / "empty", "init", "-q")
        self.assertEqual(self.changes_of(self.check(self.repo, "--worktree")), {("create", "inner")})
        self.put(self.repo, {"galley.toml": '[policy.effects]\nsubmodules = "deny"\n'})
        self.run_git(self.repo, "commit", "-qm", "rules", "galley.toml")
        self.check(self.repo, "--worktree", expect=1)

    def test_a_moved_submodule_is_an_effect(self):
        inner = self.make("inner")
        self.run_git(self.repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "mod")
        self.run_git(self.repo, "commit", "-qm", "module")
        self.commit(inner, {"a.txt": "new\n"})
        self.run_git(self.repo / "mod", "pull", "-q")
        self.run_git(self.repo, "add", "mod")
        self.assertEqual({path for _, path in self.changes_of(self.check(self.repo))}, {"mod"})
        self.run_git(self.repo, "reset", "-q", "mod")
        self.assertEqual({path for _, path in self.changes_of(self.check(self.repo, "--worktree"))}, {"mod"})
        self.run_git(self.repo, "add", "mod")
        strict = self.scratch / "strict.toml"
        strict.write_text('[policy.effects]\nsubmodules = "deny"\n')
        said = json.loads(self.galley("--json", "--config", strict, "check", work=self.repo, expect=1).stdout)
        self.assertIn(("policy.effect", "mod"), self.rules_of(said))

    def test_hooks_of_git_see_their_own_index(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        other = self.scratch / "other-index"
        shutil.copy(self.repo / ".git" / "index", other)
        self.run_git(self.repo, "add", "-A", GIT_INDEX_FILE=str(other))
        self.assertEqual(self.check(self.repo)["changes"], [])
        said = self.check(self.repo, expect=1, env={"GIT_INDEX_FILE": str(other), "GIT_DIR": ".git"})
        self.assertEqual(self.rules_of(said), {("json.syntax", "sub/b.json")})

    def test_programs_of_the_repository_are_not_run(self):
        mark = self.scratch / "mark"
        evil = self.scratch / "evil"
        evil.write_text(f"#!/bin/sh\necho ran >> {mark}\n")
        evil.chmod(0o755)
        for key in ("core.fsmonitor", "core.pager", "diff.external", "filter.evil.clean", "filter.evil.smudge",
                    "diff.evil.textconv", "core.sshCommand"):
            self.run_git(self.repo, "config", key, str(evil))
        hooks = self.repo / ".git" / "hooks"
        hooks.mkdir(exist_ok=True)
        for name in ("post-index-change", "pre-commit", "fsmonitor-watchman", "post-checkout"):
            shutil.copy(evil, hooks / name)
        self.put(self.repo, {".gitattributes": "* filter=evil diff=evil\n"})
        blob = self.run_git(self.repo, "hash-object", "-w", "--no-filters", ".gitattributes").decode().strip()
        mark.unlink(missing_ok=True)
        self.run_git(self.repo, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "update-index",
                     "--add", "--cacheinfo", f"100644,{blob},.gitattributes")
        mark.unlink(missing_ok=True)
        self.assertEqual(len(self.check(self.repo, "--staged")["changes"]), 1)
        self.assertEqual(self.check(self.repo, "--worktree", expect=1)["reason"], "check.filtered")
        self.assertFalse(mark.exists(), "a program that the repository configures ran")


    def test_a_path_that_left_the_index_is_still_a_change(self):
        rules = '[[policy.rule]]\npaths = ["a.txt"]\noperations = ["modify", "delete"]\ndecision = "deny"\n'
        for number, (words, expected) in enumerate(((("rm", "-q", "--cached", "a.txt"), {("modify", "a.txt")}),
                                                    (("mv", "a.txt", "moved.txt"), {("modify", "a.txt"), ("create", "moved.txt")}))):
            with self.subTest(words):
                repo = self.make(f"left-{number}", rules)
                self.run_git(repo, *words)
                self.put(repo, {"a.txt": "one\ntwo\nthree\nfour\n"})
                said = self.check(repo, "--worktree", expect=1)
                self.assertEqual(self.changes_of(said), expected)

    def test_a_folder_in_the_place_of_a_file_deletes_the_file(self):
        rules = '[policy.effects]\nmax_deletes = 0\nover_limit = "deny"\n'
        rules += '[[policy.rule]]\npaths = ["a.txt"]\noperations = ["delete"]\ndecision = "deny"\n'
        repo = self.make("replaced", rules)
        (repo / "a.txt").unlink()
        self.put(repo, {"a.txt/x": "x\n"})
        self.run_git(repo, "add", "-A")
        said = self.check(repo, expect=1)
        self.assertEqual({rule for rule, _ in self.rules_of(said)}, {"policy.effect", "policy.path"})

    def test_each_side_of_an_octopus_merge_is_known(self):
        for name in ("x", "y"):
            self.run_git(self.repo, "checkout", "-qb", name, "main")
            self.commit(self.repo, {f"{name}.txt": f"{name}\n"})
        self.run_git(self.repo, "checkout", "-q", "main")
        self.run_git(self.repo, "merge", "-q", "--no-commit", "x", "y", expect=None)
        self.assertEqual(self.check(self.repo)["changes"], [])


class Ranges(CheckCase):
    def test_the_changes_of_a_branch_are_judged_from_the_merge_base(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"s.json": "{}\n"})
        self.run_git(self.repo, "checkout", "-q", "main")
        self.commit(self.repo, {"m.txt": "m\n"})
        said = self.check(self.repo, "--range", "main..side")
        self.assertEqual(self.changes_of(said), {("create", "s.json")})
        self.assertEqual(self.changes_of(self.check(self.repo, "--range", "main...side")), {("create", "s.json")})

    def test_a_range_is_judged_by_the_rules_of_its_target(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"galley.toml": "", "x.json": "{broken\n"})
        said = self.check(self.repo, "--range", "main..side", expect=1)
        self.assertIn(("json.syntax", "x.json"), self.rules_of(said))

    def test_so_are_its_owners_its_baseline_and_its_secrets(self):
        rules = '[owners]\nrequired = true\n[findings]\nbaseline = "base.json"\n'
        rules += '[[validator]]\nbuiltin = "secrets"\nrules_file = "secrets.toml"\n'
        secret_rules = "[[rules]]\nid = 'none'\nregex = 'nothing-like-it'\n"
        repo = self.make("owned", rules, {"secrets.toml": secret_rules, "base.json": '{"schema": "galley.baseline/2", "findings": []}\n'})
        self.run_git(repo, "branch", "side")
        self.commit(repo, {"CODEOWNERS": "a.txt @alice\n", "secrets.toml": secret_rules.replace("nothing-like-it", "key-[0-9]+")})
        self.run_git(repo, "checkout", "-q", "side")
        self.commit(repo, {"a.txt": "changed\n", "b.txt": "key-42\n"})
        said = self.check(repo, "--range", "main..side", expect=1)
        self.assertIn("b.txt", {path for _, path in self.rules_of(said)})
        self.assertIn("@alice", json.dumps(said))

    def test_paths_of_two_teams_need_one_of_each(self):
        repo = self.make("teams", "[owners]\nrequired = true\n", {"CODEOWNERS": "/docs/ @docs\n/src/ @src\n"})
        self.run_git(repo, "checkout", "-qb", "side")
        self.commit(repo, {"docs/a": "a\n", "src/a": "a\n"})
        proposal = self.check(repo, "--range", "main..side", expect=1)["proposal"]
        for who in ("docs", "docs", "eve"):
            self.galley("approve", proposal, "--by", who, work=repo, expect=0)
            self.assertIn("@src", json.dumps(self.check(repo, "--range", "main..side", expect=1)))
        self.galley("approve", proposal, "--by", "src", work=repo, expect=0)
        self.assertTrue(self.check(repo, "--range", "main..side")["ok"])

    def test_broken_rules_of_the_base_name_the_way_to_repair_them(self):
        repo = self.make("broken", "[[[\n")
        self.put(repo, {"galley.toml": RULES})
        self.run_git(repo, "add", "-A")
        said = self.galley("check", work=repo, expect=2, env=WHO).stderr
        self.assertIn(b"the galley.toml of HEAD; to commit a repair of it, a person runs: git commit --no-verify", said)

    def test_a_change_of_the_rules_waits_for_a_person(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"galley.toml": ""})
        said = self.check(self.repo, "--range", "main..side", expect=1)
        self.assertIn(("policy.path", "galley.toml"), self.rules_of(said))
        self.galley("approve", said["proposal"], work=self.repo, expect=0)
        self.assertTrue(self.check(self.repo, "--range", "main..side")["ok"])

    def test_an_approval_in_the_environment_counts_as_a_persons(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"galley.toml": ""})
        proposal = self.check(self.repo, "--range", "main..side", expect=1)["proposal"]
        given = {"GALLEY_APPROVED": f"{'0' * 64},{proposal}"}
        self.assertTrue(self.check(self.repo, "--range", "main..side", env=given)["ok"])
        self.galley("--agent", "a", "check", "--range", "main..side", work=self.repo, expect=1, env={**WHO, **given})
        self.commit(self.repo, {"galley.toml": "# more\n"})
        self.check(self.repo, "--range", "main..side", expect=1, env=given)

    def test_rules_that_are_not_committed_do_not_count_for_a_range(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"x.json": "{broken\n"})
        self.put(self.repo, {"galley.toml": ""})
        self.check(self.repo, "--range", "main..side", expect=1)

    def test_one_commit_is_judged_against_its_parent(self):
        self.commit(self.repo, {"x.json": "{}\n"})
        self.assertEqual(self.changes_of(self.check(self.repo, "--commit", "HEAD")), {("create", "x.json")})
        paths = {path for _, path in self.changes_of(self.check(self.repo, "--commit", "HEAD~1", expect=1))}
        self.assertIn("sub/b.json", paths, "the first commit has no parent")

    def test_a_bare_repository_has_ranges_and_commits(self):
        self.commit(self.repo, {"x.json": "{broken\n"})
        bare = self.scratch / "bare.git"
        self.run_git(self.scratch, "clone", "-q", "--bare", str(self.repo), str(bare))
        said = self.check(bare, "--range", "HEAD~1..HEAD", expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "x.json")})
        for options in ([], ["--worktree"]):
            self.assertEqual(self.check(bare, *options, expect=2)["reason"], "check.no_worktree")

    def test_a_shallow_clone_says_what_is_missing(self):
        self.commit(self.repo, {"x.json": "{}\n"})
        shallow = self.scratch / "shallow"
        self.run_git(self.scratch, "clone", "-q", "--depth=1", f"file://{self.repo}", str(shallow))
        said = self.check(shallow, "--commit", "HEAD", expect=1)
        self.assertEqual(said["reason"], "git.shallow")
        said = self.check(shallow, "--range", "HEAD~1..HEAD", expect=2)
        self.assertEqual(said["reason"], "git.no_such_revision")
        self.assertIn("shallow", said["message"])

    def test_a_shallow_clone_that_does_not_reach_the_merge_base_says_so(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"s.json": "{}\n"})
        self.run_git(self.repo, "checkout", "-q", "main")
        self.commit(self.repo, {"m.txt": "m\n"})
        shallow = self.scratch / "shallow"
        self.run_git(self.scratch, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{self.repo}", str(shallow))
        said = self.check(shallow, "--range", "origin/main..origin/side", expect=1)
        self.assertEqual(said["reason"], "git.shallow")
        self.assertIn("--unshallow", said["message"])
        self.run_git(shallow, "fetch", "-q", "--unshallow")
        said = self.check(shallow, "--range", "origin/main..origin/side")
        self.assertEqual(self.changes_of(said), {("create", "s.json")})

    def test_a_detached_clone_is_judged_like_any_other(self):
        self.commit(self.repo, {"x.json": "{}\n"})
        clone = self.scratch / "detached"
        self.run_git(self.scratch, "clone", "-q", str(self.repo), str(clone))
        self.run_git(clone, "checkout", "-q", "--detach", "HEAD")
        self.run_git(clone, "branch", "-qD", "main")
        self.put(clone, {"x.json": "{broken\n"})
        self.run_git(clone, "add", "-A")
        self.assertEqual(self.rules_of(self.check(clone, expect=1)), {("json.syntax", "x.json")})
        said = self.check(clone, "--range", "HEAD~1..HEAD")
        self.assertEqual(self.changes_of(said), {("create", "x.json")})

    def test_a_missing_object_is_named_and_nothing_is_fetched(self):
        self.commit(self.repo, {"x.json": "{}\n"})
        self.run_git(self.repo, "config", "uploadpack.allowFilter", "true")
        partial = self.scratch / "partial"
        self.run_git(self.scratch, "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{self.repo}",
                     str(partial))
        before = sorted((partial / ".git" / "objects" / "pack").iterdir())
        said = self.check(partial, "--commit", "HEAD", expect=1)
        self.assertEqual(said["reason"], "git.object_missing")
        self.assertEqual(sorted((partial / ".git" / "objects" / "pack").iterdir()), before)

    def test_an_unknown_revision_is_an_error(self):
        self.assertEqual(self.check(self.repo, "--range", "nowhere..HEAD", expect=2)["reason"], "git.no_such_revision")
        self.assertEqual(self.check(self.repo, "--range", "HEAD", expect=2)["reason"], "check.bad_range")
        self.assertEqual(self.check(self.repo, "--commit", "-x", expect=2)["reason"], "git.no_such_revision")

    def test_a_commit_is_found_by_its_message(self):
        self.commit(self.repo, {"sub/b.json": "{broken\n"}, "fix the parser")
        self.commit(self.repo, {"a.txt": "1\n"}, "later")
        said = self.check(self.repo, "--commit", ":/fix the", expect=1)
        self.assertEqual(self.changes_of(said), {("modify", "sub/b.json")})
        said = self.check(self.repo, "--range", ":/first..:/fix the", expect=1)
        self.assertEqual(self.changes_of(said), {("modify", "sub/b.json")})
        self.assertEqual(self.check(self.repo, "--commit", ":/no such", expect=2)["reason"], "git.no_such_revision")

    def test_an_empty_value_is_an_error_and_does_not_mean_the_index(self):
        """A variable that a CI job did not set."""
        for option in ("--range", "--commit", "--tx"):
            said = self.galley("check", option, "", work=self.repo, expect=2)
            self.assertIn(f"{option}: the value is empty", said.stderr.decode())
        self.galley("check", "", work=self.repo, expect=2)
        for sides in ("..", "...", "..HEAD"):
            self.assertEqual(self.check(self.repo, "--range", sides, expect=2)["reason"], "check.bad_range")

    def test_a_removed_folder_is_an_error(self):
        folder = self.repo / "gone"
        folder.mkdir()
        done = subprocess.run(["sh", "-c", 'rmdir ../gone && exec "$0" --json check', GALLEY], cwd=folder,
                              capture_output=True, check=False, env={**os.environ, **self.environment, **WHO})
        said = json.loads(done.stdout)
        self.assertEqual((done.returncode, said["reason"]), (2, "workspace.not_found"), said)
        self.assertIn("the current folder was removed", said["message"])

    def test_a_missing_repository_is_an_error(self):
        self.assertEqual(self.check(self.work, expect=1)["reason"], "git.no_repository")


class Shapes(CheckCase):
    """Repositories that libgit2 1.5 cannot open, and other unusual repositories."""

    def broken_is_found(self, repo):
        self.put(repo, {"sub/b.json": "{broken\n"})
        self.run_git(repo, "add", "-A")
        self.assertEqual(self.rules_of(self.check(repo, expect=1)), {("json.syntax", "sub/b.json")})

    def test_sha256(self):
        self.broken_is_found(self.make("wide", RULES, None, "--object-format=sha256"))

    def test_split_index(self):
        self.run_git(self.repo, "update-index", "--split-index")
        self.broken_is_found(self.repo)

    def test_sparse_index(self):
        self.run_git(self.repo, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
        self.assertFalse((self.repo / "locked").exists())
        self.broken_is_found(self.repo)
        self.assertEqual(len(self.check(self.repo, expect=1)["changes"]), 1)

    def test_linked_worktree(self):
        linked = self.scratch / "linked"
        self.run_git(self.repo, "worktree", "add", "-q", str(linked))
        self.broken_is_found(linked)
        self.assertEqual(self.check(self.repo)["changes"], [])

    def test_subdirectory(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual(self.rules_of(self.check(self.repo / "sub", expect=1)), {("json.syntax", "sub/b.json")})

    def test_the_pointer_of_a_file_under_lfs_is_judged(self):
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'4' * 64}\nsize 123456789\n"
        self.commit(self.repo, {".gitattributes": "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin": pointer})
        self.run_git(self.repo, "config", "filter.lfs.clean", f"touch {self.scratch}/ran; cat")
        self.run_git(self.repo, "config", "filter.lfs.smudge", f"touch {self.scratch}/ran; cat")
        self.run_git(self.repo, "config", "filter.lfs.required", "true")
        blob = self.run_git(self.repo, "hash-object", "-w", "--stdin", stdin=pointer.replace("4", "5").encode())
        self.run_git(self.repo, "update-index", "--cacheinfo", f"100644,{blob.decode().strip()},x.bin")
        (self.scratch / "ran").unlink(missing_ok=True)
        [change] = self.check(self.repo)["changes"]
        self.assertEqual((change["path"], change["after"]["size"]), ("x.bin", len(pointer)))
        self.assertFalse((self.scratch / "ran").exists())

    def test_another_users_repository(self):
        if os.geteuid() != 0:
            self.skipTest("only root can give files away")
        for folder, folders, files in os.walk(self.repo):
            for name in folders + files + ["."]:
                os.lchown(os.path.join(folder, name), 12345, 12345)
        said = self.check(self.repo, expect=1)
        self.assertEqual(said["reason"], "git.other_owner")
        self.assertIn("safe.directory", said["message"])


class Patches(CheckCase):
    def test_a_patch_is_applied_to_head(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        patch = self.run_git(self.repo, "diff")
        said = self.check(self.repo, "-", stdin=patch, expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "sub/b.json")})
        self.run_git(self.repo, "checkout", "-q", ".")
        (self.scratch / "p.patch").write_bytes(patch)
        self.check(self.repo, self.scratch / "p.patch", expect=1)

    def test_a_patch_that_does_not_apply_is_refused(self):
        patch = b"--- a/a.txt\n+++ b/a.txt\n@@ -1,1 +1,1 @@\n-nothing like it\n+x\n"
        self.assertIn("HEAD", self.check(self.repo, "-", stdin=patch, expect=1)["message"])

    def test_the_caller_says_whether_it_was_cut_off(self):
        head = b"--- a/a.txt\n+++ b/a.txt\n"
        cut = head + b"@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n"
        self.assertEqual(self.check(self.repo, "-", stdin=cut, expect=2)["reason"], "edit.truncated")
        self.assertEqual(self.changes_of(self.check(self.repo, "--complete", "-", stdin=cut)), {("modify", "a.txt")})
        wrong = head + b"@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n three\n"
        self.check(self.repo, "-", stdin=wrong)
        self.assertEqual(self.check(self.repo, "--truncated", "-", stdin=wrong, expect=2)["reason"], "edit.truncated")
        self.assertIn("PATCH", self.check(self.repo, "--complete", expect=2)["message"])

    def test_a_leniency_that_the_rules_forbid_is_refused(self):
        self.commit(self.repo, {"galley.toml": RULES + '\n[edits]\nstrict = ["count_mismatch"]\n'})
        patch = b"--- a/a.txt\n+++ b/a.txt\n@@ -1,9 +1,9 @@\n one\n-two\n+TWO\n three\n"
        self.assertEqual(self.check(self.repo, "-", stdin=patch, expect=1)["reason"], "edit.leniency")

    def test_the_work_tree_includes_untracked_files(self):
        self.put(self.repo, {"sub/b.json": '{"a": 1}\n', "new.json": "{broken\n", ".gitignore": "ignored*\n",
                             "ignored.json": "{broken\n"})
        said = self.check(self.repo, "--worktree", expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "new.json")})
        self.assertEqual(self.changes_of(said), {("modify", "sub/b.json"), ("create", "new.json"),
                                                 ("create", ".gitignore")})

    def test_a_folder_that_may_not_be_read_is_an_error_and_not_a_deletion(self):
        self.put(self.repo, {"new/x.json": "{broken\n"})
        user = []
        if os.geteuid() == 0:
            user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            for folder, folders, files in os.walk(self.scratch):
                for name in ["."] + folders + files:
                    os.lchown(os.path.join(folder, name), 65534, 65534)
        environment = {**os.environ, **self.environment, **WHO, "HOME": str(self.scratch)}
        for folder, mode in (("sub", 0), ("sub", 0o444), ("new", 0), ("new", 0o100)):
            (self.repo / folder).chmod(mode)
            done = subprocess.run([*user, GALLEY, "--json", "check", "--worktree"], cwd=self.repo, env=environment,
                                  capture_output=True, check=False)
            (self.repo / folder).chmod(0o755)
            with self.subTest(folder=folder, mode=oct(mode)):
                said = json.loads(done.stdout)
                self.assertEqual((done.returncode, said["reason"]), (3, "check.unreadable"), said)
                self.assertIn(f"{folder}/", said["message"])

    def test_a_transaction(self):
        tx = self.galley("begin", work=self.repo, expect=0).stdout.decode().strip()
        self.galley("call", "Write", '{"file_path": "y.json", "content": "{broken"}', work=self.repo, expect=0)
        said = self.check(self.repo, "--tx", tx, expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "y.json")})


class HangingGit(CheckCase):
    def pretend(self, line):
        """Puts another `git` first on PATH."""
        folder = self.scratch / "bin"
        folder.mkdir()
        (folder / "git").write_text(f"#!/bin/sh\n{line}\n")
        (folder / "git").chmod(0o755)
        return {"PATH": f"{folder}:{os.environ['PATH']}", "GALLEY_GIT_TIMEOUT": "1"}

    # Limit: kMaxTime of staging/git/git_program.h
    def test_a_hanging_git_is_ended_and_named(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        self.run_git(self.repo, "add", "-A")
        before = snapshot(self.repo, skip=(), with_times=True)
        said = self.check(self.repo, env=self.pretend("exec sleep 1000"), expect=3)
        self.assertEqual(said["reason"], "git.timeout")
        self.assertIn("GALLEY_GIT_TIMEOUT", said["message"])
        self.assertEqual(snapshot(self.repo, skip=(), with_times=True), before)

    def test_a_git_that_hangs_while_reading_objects_is_ended(self):
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        self.run_git(self.repo, "add", "-A")
        real = shutil.which("git")
        env = self.pretend(f'for word; do test "$word" = --batch && exec sleep 1000; done; exec {real} "$@"')
        self.assertEqual(self.check(self.repo, env=env, expect=3)["reason"], "git.timeout")

    def test_an_invalid_number_in_the_environment_is_ignored(self):
        self.check(self.repo, env={"GALLEY_GIT_TIMEOUT": "soon"})


class SpecialFiles(CheckCase):
    HANGS = 60  # seconds, not an assertion about time: only a hang ends here

    def test_a_pipe_in_the_place_of_a_file_of_git_is_named(self):
        self.put(self.repo, {"new.txt": "x\n"})
        self.run_git(self.repo, "add", "-A")
        self.run_git(self.repo, "checkout", "-q", "-b", "a/b")
        for name in (".gitignore", ".gitattributes", ".git/info/exclude", ".git/info/attributes", ".git/packed-refs",
                     ".git/shallow", ".git/objects/info/alternates", ".git/objects/info/commit-graph", ".git/index",
                     ".git/HEAD", ".git/MERGE_HEAD", ".git/commondir", ".git/config", ".git/refs/heads/a/b",
                     ".git/logs/HEAD", ".git/objects/pack/pack-1.idx"):
            pipe = self.repo / name
            kept = pipe.rename(self.scratch / "kept") if pipe.exists() else None
            os.mkfifo(pipe)
            for words in (("check",), ("check", "--worktree"), ("hook", "run", "pre-commit")):
                with self.subTest(pipe=name, command=words):
                    said = subprocess.run([GALLEY, "-C", self.repo, *words], capture_output=True, check=False,
                                          timeout=self.HANGS, env={**os.environ, **self.environment, **WHO})
                    self.assertNotEqual(said.returncode, 0)
                    self.assertIn(str(pipe).encode(), said.stderr)
                    self.assertIn(b"pipe", said.stderr)
            pipe.unlink()
            if kept:
                kept.rename(pipe)
        (self.repo / ".git/info/exclude").unlink(missing_ok=True)
        (self.repo / ".git/info/exclude").symlink_to("/dev/null")  # nothing waits for it
        with socket.socket(socket.AF_UNIX) as monitor:  # of git's own file monitor
            monitor.bind(str(self.repo / ".git" / "fsmonitor--daemon.ipc"))
            self.check(self.repo)


class OnlyNew(CheckCase):
    OLD = "{broken\n"

    def setUp(self):
        super().setUp()
        self.commit(self.repo, {"old.json": self.OLD})

    def test_findings_that_the_file_had_before_are_ignored(self):
        self.put(self.repo, {"old.json": self.OLD + "\n\n", "new.json": self.OLD})
        self.run_git(self.repo, "add", "-A")
        both = {(rule, path) for rule, path in self.rules_of(self.check(self.repo, expect=1))}
        self.assertEqual({path for _, path in both}, {"old.json", "new.json"})
        fresh = self.check(self.repo, "--only-new", expect=1)
        self.assertEqual({path for _, path in self.rules_of(fresh)}, {"new.json"})

    def test_a_range_is_compared_with_the_merge_base_and_a_commit_with_its_parent(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"old.json": self.OLD + "\n"})
        self.check(self.repo, "--range", "main..side", expect=1)
        self.check(self.repo, "--range", "main..side", "--only-new")
        self.check(self.repo, "--commit", "HEAD", "--only-new")
        self.commit(self.repo, {"new.json": self.OLD})
        said = self.check(self.repo, "--range", "main..side", "--only-new", expect=1)
        self.assertEqual(self.rules_of(said), {("json.syntax", "new.json")})

    def test_a_renamed_file_keeps_its_findings(self):
        self.run_git(self.repo, "mv", "old.json", "moved.json")
        self.check(self.repo)
        self.put(self.repo, {"moved.json": self.OLD + "\n"})
        self.run_git(self.repo, "add", "-A")
        self.check(self.repo, expect=1)
        self.check(self.repo, "--only-new")

    def test_a_transaction_is_compared_with_the_work_tree(self):
        tx = self.galley("begin", work=self.repo, expect=0).stdout.decode().strip()
        self.galley("call", "Write", json.dumps({"file_path": "old.json", "content": self.OLD + "\n"}),
                    work=self.repo, expect=0)
        self.check(self.repo, "--tx", tx, expect=1)
        self.check(self.repo, "--tx", tx, "--only-new")

    # The output of a compiler.
    LATER = """
[[validator]]
name = "todo"
command = ["sh", "-c", "grep -Hn LATER \\"$@\\" | sed 's/:LATER.*/:1: error: LATER/'; true", "sh", "{files}"]
paths = ["*.md"]
parser = "gcc"
"""

    def test_a_new_command_finding_counts_although_another_one_disappeared(self):
        self.need_walls()
        repo = self.make("todo", self.LATER, {"x.md": "a\nLATER\nb\nc\n"})
        for text, is_new in (("a\nb\nLATER\nc\n", True), ("LATER\na\nLATER\nb\n", True), ("a\nx\nLATER\nb\nc\n", False),
                             ("LATER\nb\nc\n", False), ("a\nLATER\nb\nc\nLATER\n", True)):
            with self.subTest(text):
                self.put(repo, {"x.md": text})
                self.run_git(repo, "add", "-A")
                self.check(repo, expect=1)
                self.check(repo, "--only-new", expect=1 if is_new else 0)

    def test_a_new_finding_counts_although_another_one_disappeared(self):
        """The number of findings is the same before and after. The author of the line decides."""
        repo = self.make("moves", '[[validator]]\nbuiltin = "json"\n[[validator]]\nbuiltin = "toml"\n',
                         {"x.toml": "a = 1\nb = 2\nc = 3\nd =\n"})
        for text, is_new in (("a = 1\nb =\nc = 3\nd = 4\n", True),
                             ("a = 1\nb = 2\nc =\nd = 4\n", True),
                             ("a = 1\nmore = 5\nb = 2\nc = 3\nd =\n", False),  # moved down
                             ("c = 3\nd =\n", False), ("c = 3\nd =\n# more\n", False)):
            with self.subTest(text):
                self.put(repo, {"x.toml": text})
                self.run_git(repo, "add", "-A")
                self.check(repo, expect=1)
                self.check(repo, "--only-new", expect=1 if is_new else 0)

    def test_only_new_does_not_affect_rules(self):
        self.put(self.repo, {"locked/c": "d\n"})
        self.run_git(self.repo, "add", "-A")
        self.check(self.repo, "--only-new", expect=1)


class LineEnds(CheckCase):
    """--worktree judges the bytes that git would store."""

    def setUp(self):
        super().setUp()
        self.commit(self.repo, {"crlf.txt": "one\r\ntwo\r\n", "bin.dat": b"\0a\r\n"})

    def worktree(self, expect=0):
        return self.check(self.repo, "--worktree", expect=expect)

    def test_line_ends_of_autocrlf_are_not_a_change(self):
        self.run_git(self.repo, "config", "core.autocrlf", "true")
        self.put(self.repo, {"a.txt": "one\r\ntwo\r\nthree\r\n"})
        self.assertEqual(self.worktree()["changes"], [])
        self.put(self.repo, {"a.txt": "one\r\ntwo\r\nthree\r\nfour\r\n", "bin.dat": b"\0b\r\n"})
        sizes = {one["path"]: one["after"]["size"] for one in self.worktree()["changes"]}
        self.assertEqual(sizes, {"a.txt": len("one\ntwo\nthree\nfour\n"), "bin.dat": 4})

    def test_stored_line_ends_stay(self):
        self.run_git(self.repo, "config", "core.autocrlf", "true")
        self.put(self.repo, {"crlf.txt": "one\r\ntwo\r\nthree\r\n"})
        sizes = {one["path"]: one["after"]["size"] for one in self.worktree()["changes"]}
        self.assertEqual(sizes, {"crlf.txt": len("one\r\ntwo\r\nthree\r\n")})

    def test_line_ends_of_attributes_agree_with_git(self):
        self.commit(self.repo, {".gitattributes": "*.txt text\n*.lf eol=lf\n*.raw -text\n*.auto text=auto\n"})
        names = ["x.txt", "x.lf", "x.raw", "x.auto"]
        self.put(self.repo, {name: "one\r\ntwo\r\n" for name in names})
        said = {one["path"]: one["after"]["size"] for one in self.worktree()["changes"]}
        self.run_git(self.repo, "add", "-A")
        staged = {one["path"]: one["after"]["size"] for one in self.check(self.repo)["changes"]}
        self.assertEqual(said, staged)
        self.assertEqual(said, {"x.txt": 8, "x.lf": 8, "x.raw": 10, "x.auto": 8})

    def test_a_link_that_the_file_system_does_not_have_is_judged_as_the_link_that_git_stores(self):
        (self.repo / "link").symlink_to("a.txt")
        self.commit(self.repo, {})
        self.run_git(self.repo, "config", "core.symlinks", "false")
        (self.repo / "link").unlink()
        self.put(self.repo, {"link": "../../etc/passwd"})
        [said] = self.worktree(expect=1)["changes"]
        self.run_git(self.repo, "add", "link")
        [staged] = self.check(self.repo, expect=1)["changes"]
        self.assertEqual(said, staged)
        self.assertEqual(said["after"]["kind"], "symlink")

    def test_a_filter_is_named_and_not_run(self):
        self.commit(self.repo, {".gitattributes": "*.bin filter=lfs\n", "x.bin": "pointer\n"})
        self.put(self.repo, {"x.bin": "large\n"})
        self.assertEqual(len(self.worktree()["changes"]), 1)
        self.run_git(self.repo, "config", "filter.lfs.clean", f"touch {self.scratch}/ran; cat")
        said = self.worktree(expect=1)
        self.assertEqual(said["reason"], "check.filtered")
        self.assertIn("--staged", said["message"])
        self.assertIn("git status", said["message"])
        self.assertFalse((self.scratch / "ran").exists())


@unittest.skipUnless(shutil.which("openssl"), "there is no program openssl")
class Together(CheckCase):
    """--report, --verdict and --verify together on one change, for every source."""

    FORMATS = ["text", "json", "sarif", "junit", "github", "github-summary", "gitlab", "rdjson", "baseline", "html"]

    def sources(self):
        """Every kind of source for the same broken file: the arguments, and the standard input."""
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.put(self.repo, {"sub/b.json": "{broken\n"})
        patch = self.run_git(self.repo, "diff")
        tx = self.galley("begin", work=self.repo, expect=0).stdout.decode().strip()
        self.galley("call", "Write", '{"file_path": "sub/b.json", "content": "{worse"}', work=self.repo, expect=0)
        yield ["--worktree"], b""
        yield ["--tx", tx], b""
        self.run_git(self.repo, "add", "-A")
        yield ["--staged"], b""
        self.run_git(self.repo, "commit", "-qm", "broken")
        yield ["--commit", "HEAD"], b""
        yield ["--range", "main..side"], b""
        self.run_git(self.repo, "checkout", "-q", "main")
        yield ["-"], patch

    def test_every_source_is_reported_written_and_verified(self):
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.scratch / "key.pem"], check=True)
        subprocess.run(["openssl", "pkey", "-in", self.scratch / "key.pem", "-pubout", "-out",
                        self.scratch / "key.pub"], check=True)
        seen = set()
        for number, (words, stdin) in enumerate(self.sources()):
            with self.subTest(words[0]):
                out = self.scratch / f"out{number}"
                out.mkdir()
                reports = [word for name in self.FORMATS for word in ("--report", f"{name}={out}/{name}")]
                said = self.check(self.repo, *words, *reports, "--verdict", out / "verdict",
                                  "--key", self.scratch / "key.pem", stdin=stdin, expect=1)
                self.assertEqual(self.rules_of(said), {("json.syntax", "sub/b.json")})
                self.assertEqual(sorted(os.listdir(out)), sorted([*self.FORMATS, "verdict"]))
                written = json.loads((out / "json").read_text())
                self.assertEqual(written["proposal"], said["proposal"])
                (result,) = json.loads((out / "sarif").read_text())["runs"][0]["results"]
                self.assertEqual(result["ruleId"], "json.syntax")
                self.assertIn("sub/b.json", (out / "html").read_text())
                verified = self.check(self.repo, *words, "--verify", out / "verdict", "--key",
                                      self.scratch / "key.pub", stdin=stdin, expect=1)
                self.assertEqual(verified["proposal"], said["proposal"])
                self.assertTrue(verified["signed"])
                self.assertEqual(self.check(self.repo, *words, "--verify", out / "verdict", stdin=stdin,
                                            expect=1)["reason"], "verdict.signature")
                seen.add(words[0])
        self.assertEqual(seen, {"--worktree", "--tx", "--staged", "--commit", "--range", "-"})

    def test_a_verdict_on_another_change_does_not_count(self):
        self.put(self.repo, {"sub/b.json": '{"a": 1}\n'})
        self.run_git(self.repo, "add", "-A")
        verdict = self.scratch / "verdict"
        self.check(self.repo, "--verdict", verdict)
        self.assertTrue(self.check(self.repo, "--verify", verdict)["ok"])
        self.assertEqual(self.check(self.repo, "--only-new", "--verify", verdict, expect=1)["reason"],
                         "verdict.other_subject")
        self.put(self.repo, {"sub/b.json": '{"a": 2}\n'})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual(self.check(self.repo, "--verify", verdict, expect=1)["reason"], "verdict.other_subject")

    def test_a_verdict_under_other_rules_or_about_another_agent_does_not_count(self):
        rules = '[[validator]]\nbuiltin = "secrets"\nrules_file = "secrets.toml"\n'
        lax = "[[rules]]\nid = 'none'\nregex = 'nothing-like-it'\n"
        repo = self.make("ruled", rules, {"secrets.toml": lax})
        self.run_git(repo, "branch", "before")
        self.run_git(repo, "checkout", "-qb", "topic")
        self.commit(repo, {"b.txt": "key-42\n"})
        self.run_git(repo, "checkout", "-q", "-")
        self.commit(repo, {"secrets.toml": lax.replace("nothing-like-it", "key-[0-9]+")})
        head = self.run_git(repo, "rev-parse", "HEAD").decode().strip()
        verdict = self.scratch / "verdict"
        self.check(repo, "--range", "before..topic", "--verdict", verdict)
        self.assertTrue(self.check(repo, "--range", "before..topic", "--verify", verdict)["ok"])
        for words in (("--range", f"{head}..topic"), ("--agent", "bot", "--range", "before..topic")):
            self.assertEqual(self.check(repo, *words, "--verify", verdict, expect=1)["reason"], "verdict.other_subject", words)

    def test_openssl_itself_verifies_the_signature(self):
        key, verdict = self.scratch / "key.pem", self.scratch / "verdict"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", key], check=True)
        self.check(self.repo, "--verdict", verdict, "--key", key)
        envelope = json.loads(verdict.read_text())
        payload = base64.b64decode(envelope["payload"])
        kind = envelope["payloadType"].encode()
        signed, signature = self.scratch / "signed", self.scratch / "signature"
        signed.write_bytes(b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload))
        signature.write_bytes(base64.b64decode(envelope["signatures"][0]["sig"]))
        subprocess.run(["openssl", "pkeyutl", "-verify", "-inkey", key, "-rawin", "-in", signed, "-sigfile",
                        signature], check=True, stdout=subprocess.DEVNULL)


class Diffs(CheckCase):
    def test_the_diff_of_a_range_is_text_json_or_a_page(self):
        self.run_git(self.repo, "checkout", "-qb", "side")
        self.commit(self.repo, {"sub/b.json": "{broken\n"})
        text = self.galley("diff", "main..side", work=self.repo, expect=0).stdout
        self.assertEqual(text, self.run_git(self.repo, "diff", "main..side"))
        said = json.loads(self.galley("--json", "diff", "main..side", work=self.repo, expect=0).stdout)
        self.assertEqual(said["range"], "main..side")
        self.assertEqual([one["path"] for one in said["files"]], ["sub/b.json"])
        page = self.galley("diff", "--html", "main..side", work=self.repo, expect=0).stdout.decode()
        self.assertIn("Range main..side", page)
        self.assertIn("json.syntax", page)
        self.assertEqual(self.galley("diff", "nowhere..side", work=self.repo, expect=2).stdout, b"")

    def test_the_diff_of_a_moved_submodule_is_the_diff_of_git(self):
        module = "1" * 40, "2" * 40
        for commit in module:
            self.run_git(self.repo, "update-index", "--add", "--cacheinfo", f"160000,{commit},mod")
            self.run_git(self.repo, "commit", "-qm", "module")
        self.run_git(self.repo, "rm", "-q", "--cached", "mod")
        self.run_git(self.repo, "commit", "-qm", "gone")
        for sides in ("HEAD~2..HEAD~1", "HEAD~3..HEAD~2", "HEAD~1..HEAD"):
            with self.subTest(sides):
                ours = self.galley("diff", sides, work=self.repo, expect=0).stdout
                self.assertEqual(ours, self.run_git(self.repo, "diff", *sides.split("..")))
                stat = self.galley("diff", "--name-status", sides, work=self.repo, expect=0).stdout
                self.assertEqual(stat, self.run_git(self.repo, "diff", "--name-status", *sides.split("..")))


class LeavesAlone(CheckCase):
    """Fifty generated repositories with staged, unstaged, renamed, deleted, binary and executable files."""

    def everything(self, repo):
        index = (repo / ".git" / "index").read_bytes()
        return (hashlib.sha256(index).hexdigest(), os.stat(repo / ".git" / "index").st_mtime_ns,
                snapshot(repo, with_times=True), self.run_git(repo, "stash", "list"),
                self.run_git(repo, "for-each-ref"), sorted(os.listdir(repo / ".git")))

    def generated(self, number):
        draw = random.Random(number)
        repo = self.make(f"case{number}", RULES, {f"d{i % 3}/f{i}": f"{i}\n" * draw.randint(1, 9) for i in range(12)})
        if draw.random() < 0.5:
            self.put(repo, {"d0/f0": "stashed\n"})
            self.run_git(repo, "stash", "-q")
        for step in range(draw.randint(3, 10)):
            name = f"d{draw.randint(0, 2)}/f{draw.randint(0, 14)}"
            path = repo / name
            kind = draw.choice(["write", "binary", "delete", "rename", "mode", "json", "link", "intend"])
            if kind == "write":
                self.put(repo, {name: f"step {step}\n"})
            elif kind == "binary":
                self.put(repo, {name: draw.randbytes(3000)})
            elif kind == "json":
                self.put(repo, {f"{name}.json": "{broken" if draw.random() < 0.3 else "{}\n"})
                path = repo / f"{name}.json"
            elif kind == "delete" and path.exists():
                path.unlink()
            elif kind == "rename" and path.exists():
                path.rename(repo / f"moved{step}")
                self.run_git(repo, "add", "-A", f"moved{step}")
            elif kind == "mode" and path.exists():
                path.chmod(0o755)
            elif kind == "link" and not path.exists():
                path.parent.mkdir(exist_ok=True)
                path.symlink_to("../a.txt")
            elif kind == "intend":
                self.put(repo, {f"intended{step}": "x\n"})
                self.run_git(repo, "add", "-N", f"intended{step}")
            if draw.random() < 0.6:
                self.run_git(repo, "add", "-A", "--", os.path.relpath(path, repo), expect=None)
        return repo

    def stay_as_they_were(self, numbers):
        judged = 0
        for number in numbers:
            repo = self.generated(number)
            # git's first status refreshes the index.
            self.run_git(repo, "status")
            before = self.everything(repo)
            said = json.loads(self.galley("--json", "check", "--staged", work=repo, expect=(0, 1)).stdout)
            judged += len(said["changes"]) > 0
            self.assertEqual(self.everything(repo), before, f"case {number}")
            paths = {os.fsencode(one["path"]) for one in said["changes"] if one["after"]["kind"] != "directory"
                     and one["before"]["kind"] != "directory"}
            named = self.run_git(repo, "diff", "--cached", "--name-only", "-z", "--no-renames",
                                 "--ita-invisible-in-index")
            self.assertEqual(paths, set(named.split(b"\0")) - {b""}, f"case {number}")
        self.assertGreater(judged, len(numbers) / 2)

    def test_index_work_tree_and_stash_stay_as_they_were(self):
        self.stay_as_they_were(range(10))

    def test_index_work_tree_and_stash_stay_in_ten_more_repositories(self):
        self.stay_as_they_were(range(10, 20))

    def test_index_work_tree_and_stash_stay_in_thirty_repositories(self):
        self.stay_as_they_were(range(20, 30))

    def test_index_work_tree_and_stash_stay_in_forty_repositories(self):
        self.stay_as_they_were(range(30, 40))

    def test_index_work_tree_and_stash_stay_in_fifty_repositories(self):
        self.stay_as_they_were(range(40, 50))

    def test_index_work_tree_and_stash_stay_when_check_is_killed(self):
        draw = random.Random(7)
        repo = self.generated(3)
        self.run_git(repo, "status")
        before = self.everything(repo)
        ended = 0
        for _ in range(60):
            child = subprocess.Popen([GALLEY, "--json", "check", "--staged"], cwd=repo, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL,
                                     env={**os.environ, **self.environment, **WHO, "TMPDIR": str(self.scratch)})
            time.sleep(draw.random() * 0.03)
            child.send_signal(signal.SIGKILL)
            ended += child.wait() != -signal.SIGKILL
            self.assertEqual(self.everything(repo), before)
        self.assertLess(ended, 60, "never killed while it ran")

    def test_a_killed_fix_is_finished_or_reverted(self):
        """Index and file agree after any next command, and nothing of the fix is left."""
        self.need_walls()
        repo = self.make("fixed", FIXER)
        self.put(repo, {"a.txt": "lower\n"})
        self.run_git(repo, "add", "-A")
        old = (repo / ".git" / "index").read_bytes()
        names = sorted(os.listdir(repo / ".git"))
        draw = random.Random(11)
        began = time.monotonic()
        self.check(repo, "--fix")
        whole = time.monotonic() - began
        for number in range(24):
            (repo / ".git" / "index").write_bytes(old)
            (repo / "a.txt").write_bytes(b"lower\n")
            child = subprocess.Popen([GALLEY, "check", "--fix"], cwd=repo, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL,
                                     env={**os.environ, **self.environment, **WHO, "TMPDIR": str(self.scratch)})
            # Most of the time passes before anything is written, so half of the rounds wait for the
            # lock.
            if number % 2 == 0:
                while child.poll() is None and not (repo / ".git" / "index.lock").exists():
                    pass
            wait = 0.02 * draw.random() if number % 2 == 0 else whole * (0.4 + 0.6 * draw.random())
            try:
                child.wait(wait)
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
                child.wait()
            self.galley(*(["status"], ["check"], ["log"])[number % 3], work=repo, env=WHO)
            held = self.run_git(repo, "show", ":a.txt")
            self.assertIn(held, (b"lower\n", b"UPPER\n"))
            self.assertEqual((repo / "a.txt").read_bytes(), held)
            self.assertEqual(self.run_git(repo, "status", "--porcelain"), b"M  a.txt\n")
            self.assertEqual(sorted(os.listdir(repo / ".git")), names)


if __name__ == "__main__":
    unittest.main()
