"""galley check with commands: the tree that they see, and their fixes of the index.

Runs as root and as a plain user (`hostile.main`)."""

import json
import os
import re
import shutil
from pathlib import Path

import hostile
from support import GALLEY, snapshot
from test_check import FIXER, WHO, CheckCase


class Commands(CheckCase):
    COUNTS = """
[[validator]]
name = "count"
command = ["sh", "-c", "ls; cat a.txt; ! grep -q bad a.txt"]
"""

    # Limit: kMaxTreeBytes of engine/pipeline/tree_cache.h
    def test_a_command_sees_the_proposed_tree(self):
        repo = self.make("commands", self.COUNTS)
        self.put(repo, {"untracked": "x\n", "a.txt": "good\n"})
        self.run_git(repo, "add", "a.txt")
        self.put(repo, {"a.txt": "bad\n"})
        self.assertTrue(self.check(repo)["ok"])
        self.run_git(repo, "add", "a.txt")
        said = self.check(repo, expect=1)
        output = said["verdict"]["findings"][0]["output"]
        self.assertIn("bad", output)
        self.assertNotIn("untracked", output)

    # Limit: kMaxTrees of engine/pipeline/tree_cache.h
    def test_a_second_tree_writes_only_what_changed(self):
        repo = self.make("commands", self.COUNTS, {f"many/{i}": f"{i}\n" for i in range(50)})
        self.put(repo, {"a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        trees = list(self.scratch.glob("cache/galley/repository/*/tree*/files"))
        self.assertEqual(len(trees), 1)
        before = snapshot(trees[0], with_times=True)
        self.assertEqual(len([1 for name in before if name.startswith("many/")]), 50)
        self.run_git(repo, "commit", "-qm", "x")
        self.put(repo, {"a.txt": "better\n", "many/3": "three\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        self.run_git(repo, "commit", "-qm", "y")
        self.put(repo, {"a.txt": "best\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        after = snapshot(trees[0], with_times=True)
        changed = {name for name in before if before[name] != after.get(name)}
        self.assertEqual(changed & {"a.txt", "many/3"}, {"a.txt", "many/3"})
        self.assertLessEqual(len([name for name in changed if name != "many"]), 2)

    def test_an_unfinished_tree_is_written_again(self):
        repo = self.make("commands", self.COUNTS)
        self.put(repo, {"z": "x\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        (tree,) = self.scratch.glob("cache/galley/repository/*/tree0")
        (tree / "tree").unlink()
        (tree / "files" / "a.txt").write_text("bad\n")
        shutil.rmtree(tree.parent / "verdicts")
        self.assertTrue(self.check(repo)["ok"])
        self.assertEqual((tree / "files" / "a.txt").read_text(), "one\ntwo\nthree\n")
        for lost in (tree / "files", tree.parent / "verdicts"):  # to a program that clears caches
            shutil.rmtree(lost)
        self.assertTrue(self.check(repo)["ok"])

    def test_a_damaged_tree_is_written_again(self):
        """Cleaners of caches and temporary folders remove single files."""
        repo = self.make("commands", """
[[validator]]
name = "counts"
command = ["sh", "-c", "test $(find . -type f | wc -l) = 54 && test $(cat many/1) = 1"]
cache = false
""", {f"many/{i}": f"{i}\n" for i in range(50)})
        self.put(repo, {"a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        (files,) = self.scratch.glob("cache/galley/repository/*/tree*/files")
        one = files / "many" / "1"
        def lose_in_a_copy():
            times = one.parent.stat()
            one.unlink()
            os.utime(one.parent, ns=(times.st_atime_ns, times.st_mtime_ns))

        damages = {"lost": one.unlink, "added": (files / "many" / "new").touch, "lost in a copy": lose_in_a_copy,
                   "folder": lambda: shutil.rmtree(files / "many")}
        for name, damage in damages.items():
            with self.subTest(damage=name):
                damage()
                self.assertTrue(self.check(repo)["ok"])
        with self.subTest("before another tree"):
            self.run_git(repo, "commit", "-qm", "x")
            one.unlink()
            self.put(repo, {"a.txt": "better\n"})
            self.run_git(repo, "add", "-A")
            self.assertTrue(self.check(repo)["ok"])

    def test_a_copied_tree_is_used_as_it_is(self):
        """A job of CI restores the cache."""
        repo = self.make("commands", self.COUNTS, {f"many/{i}": f"{i}\n" for i in range(5)})
        self.put(repo, {"a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        self.check(repo)
        (cache,) = self.scratch.glob("cache/galley/repository/*")
        cache.rename(cache.with_name("saved"))
        shutil.copytree(cache.with_name("saved"), cache, symlinks=True)
        shutil.rmtree(cache / "verdicts")
        before = [(path, path.stat().st_ino) for path in sorted(cache.glob("tree0/files/**/*"))]
        self.assertTrue(self.check(repo)["ok"])
        self.assertEqual([(path, path.stat().st_ino) for path in sorted(cache.glob("tree0/files/**/*"))], before)

    def test_a_fixer_changes_contents_only_and_says_what_it_left(self):
        repo = self.make("fixers", """
[[validator]]
name = "fmt"
command = ["sh", "-c", "rm -f gone.txt; chmod +x mode.txt; echo more >> both.txt; chmod +x both.txt; ln -sf gone.txt link.txt"]
paths = ["*.txt"]
fix = true
""")
        self.put(repo, {name: "x\n" for name in ("gone.txt", "mode.txt", "both.txt", "link.txt")})
        self.run_git(repo, "add", "-A")
        judged = self.check(repo, expect=1)
        self.assertEqual(self.rules_of(judged), {("fmt.would_remove", "gone.txt"), ("fmt.would_change", "both.txt"), ("fmt.would_replace", "link.txt")})
        (removed,) = (one for one in judged["verdict"]["findings"] if one["path"] == "gone.txt")
        self.assertIn("sh would remove this file", removed["message"])
        self.assertIn("do it yourself", removed["remedy"])
        (replaced,) = (one for one in judged["verdict"]["findings"] if one["path"] == "link.txt")
        self.assertIn("sh would make a symlink of this file", replaced["message"])
        told = self.galley("check", "--fix", work=repo, expect=1, env=WHO).stderr.decode()
        self.assertIn("fmt removed gone.txt: left out, because a fixer changes contents only", told)
        self.assertIn("fmt changed the mode of mode.txt: left out", told)
        self.assertNotIn("changed the mode of both.txt", told)
        self.assertEqual(self.run_git(repo, "show", ":both.txt"), b"x\nmore\n")
        modes = {line.split()[0] for line in self.run_git(repo, "ls-files", "-s").splitlines()}
        self.assertEqual(modes, {b"100644"})
        left_out = self.check(repo, "--fix", expect=1)["fixed"]["left_out"]
        self.assertIn("fmt changed the mode of mode.txt: left out, because a fixer changes contents only", left_out)

    def test_settings_that_select_nothing_are_named(self):
        """They are not errors: the galley.toml of a base must not refuse its own repair."""
        repo = self.make("idle", """[[policy.rule]]
paths = ["!a.txt"]
decision = "deny"

[[validator]]
builtin = "json"
paths = []

[[validator]]
name = "fmt"
command = ["sh", "-c", "echo {files}"]
inputs = ["!*.txt"]

[[validator]]
name = "sound"
command = ["sh", "-c", "files=$(ls); echo ${files}"]
inputs = ["!*.txt"]
cache = false
""")
        self.put(repo, {"a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        lines = ["galley.toml:1: `paths` of a rule only excludes (`!`), so the rule is never used; put \"*\" before it",
                 "galley.toml:5: `paths` of the validator json is empty, so it never judges",
                 "galley.toml:9: `inputs` of the validator fmt only excludes (`!`), so",
                 "galley.toml:9: `command` of the validator fmt has `{files}` inside a longer argument, so"]
        for words in (("check",), ("doctor",), ("trust", "--show")):
            done = self.galley(*words, work=repo, env=WHO)
            told = (done.stdout + done.stderr).decode()
            for line in lines:
                with self.subTest(command=words[0], line=line):
                    self.assertIn(line, told)
            self.assertNotIn("of the validator sound", told)

    def unattended(self):
        """The environment of a user who trusts nothing beforehand and is asked nothing."""
        own = self.scratch / "own" / "galley"
        own.mkdir(parents=True)
        (own / "config.toml").write_text("unattended = true\n")
        return {"XDG_CONFIG_HOME": str(own.parent)}

    def test_the_rules_that_were_trusted_before_a_change_judge_its_commit(self):
        repo = self.make("trusted", self.COUNTS)
        environment = self.unattended()
        self.galley("trust", work=repo, env=environment, expect=0)
        self.put(repo, {"galley.toml": self.COUNTS.replace("ls;", ":;"), "a.txt": "good\n"})
        self.galley("trust", work=repo, env=environment, expect=0)
        (kept,) = json.loads(self.galley("--json", "trust", "--list", env=environment, expect=0).stdout)["trusted"]
        self.assertNotEqual(kept["before"], kept["hash"])
        listed = self.galley("trust", "--list", env=environment, expect=0).stdout.decode()
        self.assertIn(f"{kept['before']}  the same, before the newest change: only for commits of git", listed)
        self.run_git(repo, "add", "a.txt")
        self.assertTrue(self.check(repo, env=environment)["ok"])
        # The work tree's settings are trusted now, and no others.
        self.put(repo, {"galley.toml": self.COUNTS})
        shown = self.galley("status", work=repo, env=environment).stderr
        self.assertIn(b"no person has trusted", shown)
        self.assertIn(b"changes that one of these validators should judge are refused", shown)

    def test_rules_that_are_not_those_of_the_work_tree_are_trusted_by_their_hash(self):
        repo = self.make("elsewhere", self.COUNTS)
        environment = self.unattended()
        self.put(repo, {"galley.toml": self.COUNTS.replace("ls;", ":;"), "a.txt": "good\n"})
        self.galley("trust", work=repo, env=environment, expect=0)
        self.run_git(repo, "add", "a.txt")
        message = self.check(repo, expect=1, env=environment)["verdict"]["message"]
        way = re.search(r"review it with: git show (\w+):galley.toml, .*GALLEY_TRUST=(\w+)", message)
        self.assertIn(b"ls;", self.run_git(repo, "show", f"{way[1]}:galley.toml"))
        self.assertTrue(self.check(repo, env={**environment, "GALLEY_TRUST": way[2]})["ok"])

    def test_an_untrusted_command_refuses(self):
        repo = self.make("commands", self.COUNTS)
        self.put(repo, {"a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        nobody = self.scratch / "nobody"
        nobody.mkdir()
        said = self.check(repo, expect=1, env={"XDG_CONFIG_HOME": str(nobody)})
        self.assertEqual(said["verdict"]["reason"], "gate.not_trusted")
        self.assertFalse(list(self.scratch.glob("cache/galley/repository/*/tree*/files")))


class IgnoredFolders(CheckCase):
    """The advice of docs/hooks.md about node_modules and similar folders."""

    def test_a_named_ignored_folder_is_visible_in_place_and_read_only(self):
        self.need_walls()
        repo = self.scratch / "commands"
        tool = repo / "tools" / "judge"
        repo = self.make("commands", f"""
[sandbox]
readable = ["{tool.parent}"]

[[validator]]
name = "judge"
command = ["sh", "{tool}", "{{files}}"]
paths = ["*.txt"]
""", {".gitignore": "tools\n"})
        self.put(repo, {"tools/judge": 'echo > "$0" && exit 3\n! grep bad "$@"\n', "a.txt": "good\n"})
        self.run_git(repo, "add", "-A")
        before = tool.read_bytes()
        self.check(repo)
        self.put(repo, {"a.txt": "bad\n"})
        self.run_git(repo, "add", "-A")
        said = self.check(repo, expect=1)
        self.assertEqual(said["verdict"]["reason"], "gate.validator_failed", said)
        self.assertEqual(tool.read_bytes(), before)


class Fixes(CheckCase):
    def setUp(self):
        super().setUp()
        self.need_walls()
        self.repo = self.make("fixes", FIXER)

    def index_of(self, path):
        return self.run_git(self.repo, "show", f":{path}")

    def test_the_index_is_fixed_and_the_same_file_follows(self):
        self.put(self.repo, {"a.txt": "lower\n", "other.md": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        said = self.check(self.repo, "--fix")
        self.assertEqual(said["fixed"], {"staged": ["a.txt"], "followed": ["a.txt"]})
        self.assertEqual(self.index_of("a.txt"), b"UPPER\n")
        self.assertEqual((self.repo / "a.txt").read_bytes(), b"UPPER\n")
        self.assertEqual(self.index_of("other.md"), b"lower\n")
        self.assertEqual(self.run_git(self.repo, "status", "--porcelain"), b"M  a.txt\nA  other.md\n")

    def test_a_fix_that_leaves_nothing_to_commit_is_a_no(self):
        self.commit(self.repo, {"a.txt": "UPPER\n"})
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        self.assertEqual(self.check(self.repo, "--fix", expect=1)["reason"], "check.nothing_left")
        self.assertEqual(self.run_git(self.repo, "status", "--porcelain"), b"")
        self.check(self.repo, "--fix")

    def test_a_file_with_other_changes_of_the_same_lines_is_not_fixed(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        self.put(self.repo, {"a.txt": "lower\nand more\n"})
        said = self.galley("check", "--staged", "--fix", work=self.repo, env=WHO)
        self.assertIn(b"other changes of the same lines", said.stderr)
        self.assertEqual(self.index_of("a.txt"), b"UPPER\n")
        self.assertEqual((self.repo / "a.txt").read_bytes(), b"lower\nand more\n")

    def test_a_fix_of_a_removed_file_is_in_the_index_only(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        (self.repo / "a.txt").unlink()
        said = self.galley("check", "--staged", "--fix", work=self.repo, env=WHO)
        self.assertIn(b"left alone, since it is not there: ", said.stderr)
        self.assertEqual((self.index_of("a.txt"), (self.repo / "a.txt").exists()), (b"UPPER\n", False))

    def test_a_fix_is_merged_into_a_file_with_changes_of_other_lines(self):
        self.put(self.repo, {"a.txt": "lower\n\nkept\nlast\n", "b.txt": "lower\n\nkept\nlast\n"})
        self.run_git(self.repo, "add", "-A")
        self.put(self.repo, {"a.txt": "lower\n\nkept\nlast, changed\n", "b.txt": "lower\r\n\r\nkept\r\nmine\r\n"})
        self.run_git(self.repo, "config", "core.autocrlf", "input")
        said = self.check(self.repo, "--fix")
        self.assertEqual(said["fixed"], {"staged": ["a.txt", "b.txt"], "followed": ["a.txt"]})
        self.assertEqual(self.index_of("a.txt"), b"UPPER\n\nkept\nlast\n")
        self.assertEqual((self.repo / "a.txt").read_bytes(), b"UPPER\n\nkept\nlast, changed\n")
        self.assertEqual((self.repo / "b.txt").read_bytes(), b"lower\r\n\r\nkept\r\nmine\r\n")

    def test_a_clean_file_follows_in_the_form_that_git_gives_it(self):
        """For each (configuration, attributes): the bytes that git writes for
        `lower\\n` and for the fixed text."""
        crlf = (b"lower\r\n", b"UPPER\r\n")
        wide = ("lower\n".encode("utf-16-le"), "UPPER\n".encode("utf-16-le"))
        for number, (autocrlf, attributes, (old, new)) in enumerate((
                ("true", "", crlf), ("false", "*.txt text eol=crlf\n", crlf), ("false", "* text=auto eol=crlf\n", crlf),
                ("false", "*.txt text working-tree-encoding=UTF-16LE\n", wide),
                ("input", "", (b"lower\n", b"UPPER\n")), ("true", "*.txt -text\n", (b"lower\n", b"UPPER\n")))):
            with self.subTest(f"core.autocrlf={autocrlf} {attributes}"):
                repo = self.make(f"ends{number}", FIXER, {".gitattributes": attributes})
                self.run_git(repo, "config", "core.autocrlf", autocrlf)
                self.put(repo, {"a.txt": old, "sub/new.txt": old})
                self.run_git(repo, "add", "-A")
                self.assertEqual(self.run_git(repo, "show", ":a.txt"), b"lower\n")
                said = self.check(repo, "--fix")
                self.assertEqual(said["fixed"], {"staged": ["a.txt", "sub/new.txt"], "followed": ["a.txt", "sub/new.txt"]})
                self.assertEqual(self.run_git(repo, "show", ":a.txt"), b"UPPER\n")
                for name in ("a.txt", "sub/new.txt"):
                    self.assertEqual((repo / name).read_bytes(), new)
                self.assertEqual(self.run_git(repo, "status", "--porcelain"), b"M  a.txt\nA  sub/new.txt\n")
                # One more character is a different change, in every form.
                self.put(repo, {"a.txt": new + new, "sub/new.txt": old})
                self.run_git(repo, "add", "sub/new.txt")
                self.assertEqual(self.check(repo, "--fix")["fixed"]["followed"], ["sub/new.txt"])
                self.assertEqual((repo / "a.txt").read_bytes(), new + new)

    def test_a_file_behind_a_filter_is_left_alone_with_the_reason(self):
        ran = self.scratch / "ran"
        repo = self.make("filtered", FIXER, {".gitattributes": "*.txt filter=up\n"})
        self.put(repo, {"a.txt": "higher\n"})
        self.run_git(repo, "-c", "filter.up.clean=sed s/higher/lower/", "add", "-A")
        self.run_git(repo, "config", "filter.up.clean", f"touch {ran}; sed s/higher/lower/")
        self.run_git(repo, "config", "filter.up.smudge", f"touch {ran}; sed s/lower/higher/")
        self.assertEqual(self.check(repo, "--fix")["fixed"], {"staged": ["a.txt"], "followed": [], "filtered": ["a.txt"]})
        self.assertEqual((repo / "a.txt").read_bytes(), b"higher\n")
        self.assertFalse(ran.exists())

    def test_a_commit_of_paths_is_fixed_in_both_indexes(self):
        """git gives the hook a separate index, and replaces the index with index.lock after the
        commit."""
        hook = self.repo / ".git" / "hooks" / "pre-commit"
        hook.write_text(f"#!/bin/sh\nexec {Path(GALLEY).resolve()} check --fix\n")
        hook.chmod(0o755)
        for options in (["a.txt"], ["-i", "a.txt"], ["-a"], ["-o", "a.txt"]):
            with self.subTest(options):
                self.put(self.repo, {"a.txt": f"{options} lower\n", "staged.txt": f"{options} lower\n", "new.md": "x\n"})
                self.run_git(self.repo, "add", "staged.txt")
                self.run_git(self.repo, "commit", "-qm", "paths", *options, **self.environment)
                fixed = f"{options} UPPER\n".encode()
                self.assertEqual(self.run_git(self.repo, "show", "HEAD:a.txt"), fixed)
                self.assertEqual(self.index_of("a.txt"), fixed)
                self.assertEqual((self.repo / "a.txt").read_bytes(), fixed)
                is_partial = options in (["a.txt"], ["-o", "a.txt"])
                status = self.run_git(self.repo, "status", "--porcelain", "-uno")
                self.assertEqual(status, (b"A  staged.txt\n" if options == ["a.txt"] else b"M  staged.txt\n") if is_partial else b"")
                self.assertEqual([name for name in os.listdir(self.repo / ".git") if "index" in name], ["index"])

    def test_a_held_lock_changes_nothing(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        (self.repo / ".git" / "index.lock").write_bytes(b"")
        before = snapshot(self.repo, skip=("objects", ".galley"))
        said = self.check(self.repo, "--fix", expect=1)
        self.assertEqual(said["reason"], "git.index_locked")
        self.assertEqual(snapshot(self.repo, skip=("objects", ".galley")), before)
        # Reading takes no lock.
        self.check(self.repo, expect=1)

    def test_modes_and_other_entries_stay(self):
        self.put(self.repo, {"a.txt": "lower\n", "run.txt": "lower\n"})
        (self.repo / "run.txt").chmod(0o755)
        self.run_git(self.repo, "add", "-A")
        self.run_git(self.repo, "add", "-N", "galley.toml")
        self.check(self.repo, "--fix")
        self.assertIn(b"100755", self.run_git(self.repo, "ls-files", "-s", "run.txt"))
        self.assertTrue(os.access(self.repo / "run.txt", os.X_OK))

    def test_the_advice_depends_on_the_place_of_the_change(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        staged = self.check(self.repo, expect=1)["verdict"]["findings"][0]
        self.assertEqual(staged["remedy"], "take its changes with: galley check --staged --fix")
        self.galley("check", "--staged", "--fix", work=self.repo, env=WHO, expect=0)
        self.commit(self.repo, {"a.txt": "lower again\n"})
        committed = self.check(self.repo, "--commit", "HEAD", expect=1)["verdict"]["findings"][0]
        self.assertNotIn("--fix", committed["remedy"])

    def test_only_what_is_staged_can_be_fixed(self):
        self.assertEqual(self.check(self.repo, "--commit", "HEAD", "--fix", expect=2)["reason"],
                         "check.fix_staged_only")


    def test_a_fix_is_recorded_in_a_folder_that_git_ignores(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        self.check(self.repo, "--fix")
        records = [json.loads(line) for line in (self.repo / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([one["kind"] for one in records], ["begun", "fix", "begun", "index"])
        self.assertEqual(records[-1]["output"], {"staged": ["a.txt"], "followed": ["a.txt"]})
        self.galley("audit", "verify", work=self.repo, expect=0)
        self.assertNotIn(b".galley", self.run_git(self.repo, "status", "--porcelain", "-uall"))

    def test_a_fix_that_cannot_be_recorded_is_not_made(self):
        self.put(self.repo, {"a.txt": "lower\n"})
        self.run_git(self.repo, "add", "-A")
        (self.repo / ".galley").write_text("no folder\n")
        self.assertEqual(self.check(self.repo, "--fix", expect=1)["reason"], "state.not_believed")
        self.assertEqual(self.index_of("a.txt"), b"lower\n")


if __name__ == "__main__":
    hostile.main()
