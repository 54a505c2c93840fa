"""Git commits that are made inside a run: named at its end, and kept or dropped as a person
decides.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json
import os
import re

import hostile
from live_shell import PipedShell
from support import GALLEY
from test_run import RunCase

COMMIT = ("git config user.name A; git config user.email a@example.com; echo two > file; git add -A; "
          "git commit -qm second; git commit -qm third --allow-empty")


class NewRepository(RunCase):
    def test_a_repository_that_a_run_makes_is_dropped_by_name(self):
        script = "git init -q; echo q > q; git add -A; git -c user.name=A -c user.email=a@example.com commit -qm q"
        ran = self.galley("run", "--commit", "--git-commits", "keep", "--", "sh", "-c", script, expect=0)
        self.assertIn(b"the git repository that it made here is dropped, with its commits", ran.stderr)
        self.assertNotIn(b"no branch, tag or stash", ran.stderr)
        self.assertFalse((self.work / ".git").exists())
        self.assertTrue((self.work / "q").exists())


class GitCommits(RunCase):
    def setUp(self):
        super().setUp()
        (self.work / "file").write_text("one\n")
        self.git("init", "-q", "-b", "main")
        self.commit_outside("first")
        self.first = self.rev("main")

    def commit_outside(self, subject, work=None):
        self.git("add", "-A", work=work)
        self.git("-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "-qm", subject, work=work)

    def rev(self, name, work=None):
        return self.git("rev-parse", "--verify", name, work=work).stdout.decode().strip()

    def subjects(self, name="main", work=None):
        return self.git("log", "--format=%s", name, work=work).stdout.decode().split()

    def run_inside(self, *options, script=COMMIT, expect=0, **more):
        return self.galley("run", *options, "--", "sh", "-c", script, expect=expect, **more)

    def test_they_are_named_and_the_repository_stays_as_it_was(self):
        said = self.run_inside().stderr.decode()
        self.assertRegex(said, r"git: refs/heads/main has 2 new commits made inside\n  [0-9a-f]{12} third\n  [0-9a-f]{12} second\n")
        self.assertEqual((self.rev("main"), self.git("fsck", "--unreachable").stdout), (self.first, b""))
        # The commits stay as long as the transaction.
        tx = self.open_transactions()[0]["tx"]
        document = json.loads(self.galley("--json", "commit", "--tx", tx, "--git-commits", "keep", expect=0).stdout)
        [kept] = document["git_commits"]
        self.assertEqual((kept["ref"], kept["count"], kept["kept"], kept["kept_as"]),
                         ("refs/heads/main", 2, True, "refs/heads/main"))
        self.assertEqual([one["subject"] for one in kept["commits"]], ["third", "second"])
        self.assertEqual(self.subjects(), ["third", "second", "first"])

    def other_branch(self):
        self.git("checkout", "-q", "-b", "other")
        (self.work / "theirs").write_text("theirs\n")
        self.commit_outside("other")
        self.git("checkout", "-q", "main")

    def test_a_branch_that_the_program_switched_to_is_named_and_not_mixed_in(self):
        self.other_branch()
        told = "git: the program switched to branch other; your files stay on your own branch, so the changes contain " \
               "what differs between the two\n"
        for script in ("git checkout -q other; echo new > new", "git checkout -q other; " + COMMIT):
            said = self.run_inside("--commit", script=script, expect=1).stderr.decode()
            self.assertIn(told, said)
            self.assertIn("not committed, because the program switched the git branch", said)
            self.assertEqual(self.git("status", "--porcelain").stdout, b"")
            [one] = self.open_transactions()
            self.assertRegex(said, f"look at the changes, then galley .*commit --tx {one['tx']}\n")
            self.galley("rollback", "--tx", one["tx"], expect=0)
        document = json.loads(self.run_inside("--commit", "--json", script="git checkout -q other", expect=1).stdout)
        self.assertEqual((document["ok"], document["reason"], document["end"]), (False, "run.other_branch", "kept"))
        self.assertIn(told, self.run_inside("--keep", script="git checkout -q --detach other; git checkout -q other").stderr.decode())

    def test_a_new_branch_of_the_program_is_named_and_its_files_are_committed(self):
        self.other_branch()
        plain = "git: the program switched to branch topic; your files stay on your own branch\n"
        for script in ("git checkout -q -b topic; echo new > new", "git checkout -q -b topic; " + COMMIT):
            self.assertIn(plain, self.run_inside("--commit", script=script).stderr.decode())
            self.galley("undo", expect=0)
        for script in ("git checkout -q other; git checkout -q main; echo new > new", "echo new > new"):
            self.assertNotIn("switched", self.run_inside("--commit", script=script).stderr.decode())
            self.galley("undo", expect=0)

    def test_kept_with_the_files_the_work_tree_is_clean(self):
        document = json.loads(self.run_inside("--commit", "--git-commits", "keep", "--json").stdout)
        self.assertEqual((document["end"], document["git_commits"][0]["kept"]), ("committed", True))
        self.assertEqual(self.subjects(), ["third", "second", "first"])
        self.assertEqual(self.git("status", "--porcelain").stdout, b"")
        self.git("fsck", "--strict")
        self.assertEqual(self.open_transactions(), [])

    def test_in_a_subfolder_they_are_kept_as_well(self):
        (self.work / "sub").mkdir()
        (self.work / "sub" / "file").write_text("one\n")
        self.commit_outside("sub")
        sub = self.work / "sub"
        for words, where in (["-C", sub], None), ([], sub):
            with self.subTest(words=words):
                self.galley(*words, "run", "--commit", "--git-commits", "keep", "--", "sh", "-c", COMMIT.replace("two", str(where)),
                            expect=0, cwd=where)
                self.assertEqual(self.subjects()[:2], ["third", "second"])
                self.assertEqual([one.name for one in sub.iterdir()], ["file"])
        self.galley("run", "--", "sh", "-c", COMMIT.replace("two", "four"), expect=0, cwd=sub)
        self.galley("commit", "--git-commits", "keep", expect=0, cwd=sub)
        self.assertEqual((self.git("status", "--porcelain").stdout, self.open_transactions()), (b"", []))

    def test_dropped_commits_are_removed_with_a_message(self):
        for words in (["--commit", "--git-commits", "drop"], ["--drop"], ["--commit"]):
            with self.subTest(words=words):
                said = self.run_inside(*words).stderr.decode()
                self.assertIn("these commits are dropped", said)
                self.assertEqual((self.rev("main"), self.git("fsck", "--unreachable").stdout), (self.first, b""))

    def test_commits_alone_keep_the_transaction_open(self):
        script = COMMIT.replace("echo two > file; ", "").replace("git commit -qm second; ", "")
        self.run_inside(script=script)
        [tx] = [one["tx"] for one in self.open_transactions()]
        self.galley("rollback", "--tx", tx, expect=0)
        self.run_inside("--git-commits", "keep", script=script)
        self.assertEqual((self.subjects(), self.open_transactions()), (["third", "first"], []))

    def test_a_branch_that_went_on_is_not_moved(self):
        self.run_inside()
        (self.work / "other").write_text("outside\n")
        self.commit_outside("outside")
        tx = self.open_transactions()[0]["tx"]
        said = self.galley("commit", "--tx", tx, "--git-commits", "keep", expect=0).stderr.decode()
        kept = f"refs/galley/{tx}/heads/main"
        self.assertIn(f"commit the files first (git add, git commit), then: git merge {kept}", said)
        self.assertEqual((self.subjects(), self.subjects(kept)), (["outside", "first"], ["third", "second", "first"]))

    def live(self):
        shell = PipedShell([GALLEY, "-C", str(self.work), "run", "--keep", "--", "sh"], {**os.environ, **self.environment})
        self.addCleanup(shell.close)
        return shell

    def kept_aside(self):
        return self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()

    def test_a_commit_made_meanwhile_is_not_reverted_by_the_index_of_the_run(self):
        self.other_branch()
        (self.work / "new").write_text("new\n")
        for meanwhile in ("commit", "checkout"):
            with self.subTest(meanwhile):
                shell = self.live()
                shell.do("echo two >> file; git add file")
                if meanwhile == "commit":
                    self.commit_outside("outside")
                else:
                    self.git("checkout", "-q", "other")
                before = self.rev("main"), self.rev("other")
                shell.do("git -c user.name=A -c user.email=a@example.com commit -qm inside")
                shell.finish()
                said = self.galley("commit", "--git-commits", "keep", expect=0).stderr.decode()
                self.assertRegex(said, "it may take back commits that came meanwhile: look first, with: git diff refs/heads/")
                self.assertEqual((self.rev("main"), self.rev("other")), before)
                [kept] = self.kept_aside()
                self.assertEqual(self.subjects(kept)[0], "inside")
                self.git("update-ref", "-d", kept)

    def test_a_branch_that_a_person_deleted_stays_deleted(self):
        self.git("branch", "feat")
        self.run_inside("--keep", script="git checkout -q feat; " + COMMIT + "; git checkout -q main; echo 1 > other")
        self.git("branch", "-D", "feat")
        said = self.galley("commit", "--git-commits", "keep", expect=0).stderr.decode()
        self.assertIn("is gone", said)
        self.assertNotEqual(self.git("rev-parse", "--verify", "-q", "refs/heads/feat", check=False).returncode, 0)
        self.assertEqual([self.subjects(kept) for kept in self.kept_aside()], [["third", "second", "first"]])

    def test_the_index_follows_only_if_nothing_of_it_is_lost(self):
        script = "git -c user.name=A -c user.email=a@example.com commit -qm inside file"
        (self.work / "other").write_text("mine\n")
        self.git("add", "other")
        self.run_inside("--commit", "--git-commits", "keep", script="echo two >> file; " + script)
        second = self.rev("main")
        self.assertEqual((self.subjects(), self.git("diff", "--cached", "--name-only").stdout), (["inside", "first"], b"other\n"))
        (self.work / "file").write_text("mine\n")
        self.git("add", "file")
        said = self.run_inside("--commit", "--git-commits", "keep", script="echo three >> file; " + script).stderr.decode()
        self.assertIn("refs/heads/main could not be moved: the index has other changes", said)
        self.assertEqual((self.rev("main"), self.git("show", ":file").stdout), (second, b"mine\n"))
        self.assertEqual([self.subjects(kept)[0] for kept in self.kept_aside()], ["inside"])

    def test_commits_of_a_transaction_without_changes_are_kept(self):
        self.run_inside("--keep", script="git checkout -q -b feat; " + COMMIT + "; git checkout -q main")
        said = self.galley("commit", expect=0).stderr.decode()
        self.assertRegex(said, "which drops its git commits; to keep them: galley .*commit --git-commits keep --tx")
        document = json.loads(self.galley("--json", "commit", "--git-commits", "keep", expect=0).stdout)
        self.assertTrue(document["git_commits"][0]["kept"])
        self.assertEqual((self.subjects("feat"), self.rev("main")), (["third", "second", "first"], self.first))

    def test_while_the_run_lives_its_commits_cannot_be_settled(self):
        shell = self.live()
        shell.do(COMMIT)
        for word in ("keep", "drop"):
            said = self.galley("commit", "--git-commits", word, expect=1).stderr.decode()
            self.assertIn("a program still runs", said)
        self.galley("commit", expect=0)
        shell.finish()
        self.galley("commit", "--git-commits", "keep", expect=0)
        self.assertEqual(self.subjects(), ["third", "second", "first"])

    def test_the_repository_of_the_workspace_counts_and_not_git_dir(self):
        other = self.scratch / "other.git"
        self.git("clone", "-q", "--bare", self.work, other)
        self.run_inside("--commit", "--git-commits", "keep", env={"GIT_DIR": str(other)})
        self.assertEqual((self.subjects(), self.subjects(work=other)), (["third", "second", "first"], ["first"]))
        self.assertEqual(self.git("status", "--porcelain").stdout, b"")

    def test_an_ignored_file_that_the_run_adds_and_commits_is_in_the_work_tree(self):
        (self.work / ".gitignore").write_text("dist/\n")
        self.commit_outside("ignore")
        tree = self.scratch / "tree"
        self.git("worktree", "add", "-q", tree)
        for work in (self.work, tree):
            self.galley("run", "--commit", "--git-commits", "keep", "--", "sh", "-c",
                        "mkdir dist; echo d > dist/x; echo e > dist/y; git add -f dist/x; "
                        "git -c user.name=A -c user.email=a@example.com commit -qm dist", work=work, expect=0)
            self.assertEqual([path.name for path in (work / "dist").iterdir()], ["x"])
            self.assertEqual(self.git("status", "--porcelain", work=work).stdout, b"")

    def test_an_amended_commit_is_kept_aside_and_the_reason_is_true(self):
        (self.work / "file").write_text("two\n")
        self.commit_outside("second")
        second = self.rev("main")
        script = "git -c user.name=A -c user.email=a@example.com commit -q --amend -m other"
        said = self.run_inside("--git-commits", "keep", script=script).stderr.decode()
        self.assertIn("refs/heads/main was rewritten (as by git commit --amend) or has moved meanwhile", said)
        self.assertEqual(self.rev("main"), second)

    def test_commits_of_a_run_and_of_its_resumption_are_both_kept(self):
        self.run_inside("--keep")
        tx = self.open_transactions()[0]["tx"]
        self.run_inside("--resume", tx, "--keep", script="git config user.name A; git config user.email a@example.com; "
                        "git commit -q --allow-empty -m again")
        document = json.loads(self.galley("--json", "commit", "--tx", tx, "--git-commits", "keep", expect=0).stdout)
        [earlier] = [one["kept_as"] for one in document["git_commits"] if one["ref"] != "refs/heads/main"]
        self.assertRegex(earlier, r"^refs/heads/main-[0-9a-f]{12}$")
        self.assertEqual((self.subjects(earlier), self.subjects()), (["third", "second", "first"], ["again", "first"]))

    def test_commits_in_a_submodule_are_named_as_dropped(self):
        self.submodule()
        said = self.run_inside("--commit", "--git-commits", "drop",
                               script="cd lib/sub; echo 3 > three; git add three; git -c user.name=A -c user.email=a@example.com commit -qm inside")
        self.assertIn("commits in a submodule are dropped, so leave out commits that name them (lib/sub)", said.stderr.decode())
        self.assertEqual((self.work / "lib" / "sub" / "three").read_text(), "3\n")

    def submodule(self):
        inner = self.scratch / "inner"
        inner.mkdir()
        (inner / "one").write_text("1\n")
        self.git("init", "-q", "-b", "main", work=inner)
        self.commit_outside("inner", work=inner)
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "lib/sub")
        self.commit_outside("with it")
        return self.work / "lib" / "sub"

    def test_a_commit_that_names_a_dropped_commit_of_a_submodule_is_not_kept(self):
        sub = self.submodule()
        before = self.rev("main")
        said = self.run_inside("--commit", "--git-commits", "keep", expect=1, script=(
            "git config user.name A; git config user.email a@example.com; cd lib/sub; git config user.name A; "
            "git config user.email a@example.com; echo 3 > three; git add three; git commit -qm inside; "
            "cd ../..; git commit -qam bump"))
        self.assertIn(b"refs/heads/main is not kept: it names commit", said.stderr)
        self.assertEqual((self.rev("main"), (sub / "three").read_text()), (before, "3\n"))

    def test_a_commit_that_names_a_known_commit_of_a_submodule_is_kept(self):
        sub = self.submodule()
        (sub / "two").write_text("2\n")
        self.commit_outside("known", work=sub)
        self.run_inside("--commit", "--git-commits", "keep",
                        script="git -c user.name=A -c user.email=a@example.com commit -qam bump")
        self.assertEqual(self.rev("main:lib/sub"), self.rev("main", work=sub))

    def test_new_branches_and_a_detached_head_are_kept(self):
        self.run_inside("--commit", "--git-commits", "keep",
                        script=COMMIT + "; git branch side; git pack-refs --all; git gc -q; git checkout -q --detach; "
                        "git commit -q --allow-empty -m fourth")
        self.assertEqual(self.subjects(), ["third", "second", "first"])
        self.assertEqual(self.rev("side"), self.rev("main"))
        refs = self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()
        self.assertEqual([self.subjects(ref)[0] for ref in refs], ["fourth"])

    def test_a_tag_on_an_earlier_commit_is_kept(self):
        script = "git -c user.name=A -c user.email=a@example.com tag -a v1 -m one; git tag plain"
        said = self.run_inside("--commit", "--git-commits", "keep", script=script).stderr.decode()
        for name in ("plain", "v1"):
            self.assertIn(f"git: refs/tags/{name} is a tag made inside\n", said)
            self.assertEqual(self.rev(name + "^{commit}"), self.first)
        self.assertEqual(self.git("cat-file", "-t", "v1").stdout, b"tag\n")
        self.assertEqual(self.git("fsck", "--strict").returncode, 0)

    def test_a_lightweight_tag_is_kept_without_any_new_object(self):
        self.git("tag", "known")
        said = self.run_inside("--git-commits", "keep", script="git tag v1; git pack-refs --all").stderr.decode()
        self.assertIn("git: kept as refs/tags/v1\n", said)
        self.assertNotIn("known", said)
        self.assertEqual(self.rev("v1"), self.first)
        self.assertNotIn("git:", self.run_inside("--git-commits", "keep", script="git tag -f v1").stderr.decode())

    def test_a_tag_that_a_refused_commit_left_is_kept_by_the_next(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["no"]\ndecision = "deny"\n')
        script = "git -c user.name=A -c user.email=a@example.com tag -a v1 -m one; echo x > no"
        self.run_inside("--keep", script=script)
        self.galley("commit", "--git-commits", "keep", expect=1)
        (self.work / "galley.toml").unlink()
        self.galley("commit", "--git-commits", "keep", expect=0)
        self.assertEqual(self.rev("v1^{commit}"), self.first)

    def test_references_above_the_limit_are_named_as_left_out(self):
        said = self.run_inside("--commit", "--git-commits", "drop", script=COMMIT + "; for i in $(seq 1001); do "
                               "echo create refs/heads/b$i HEAD; done | git update-ref --stdin; git pack-refs --all").stderr.decode()
        self.assertIn("2 references of git above the first 1000 are left out", said)

    def test_the_gate_judges_them_as_a_push(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["secret/"]\ndecision = "deny"\n')
        self.commit_outside("rules")
        before = self.rev("main")
        said = self.run_inside("--git-commits", "keep", expect=1,
                               script="mkdir secret; echo x > secret/x; " + COMMIT + "; git rm -qr --cached secret; rm -r secret")
        self.assertIn(b"secret/x", said.stderr)
        self.assertEqual(self.rev("main"), before)

    def test_a_branch_that_was_just_kept_does_not_bring_what_its_history_has(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["secret/"]\ndecision = "deny"\n')
        self.commit_outside("rules")
        before = self.rev("main")
        said = self.run_inside("--git-commits", "keep", expect=1, script=(
            "git config user.name A; git config user.email a@example.com; git checkout -q -b aaa; "
            "mkdir secret; echo x > secret/x; git add secret; git commit -qm denied; git revert --no-edit HEAD; "
            "git checkout -q main; git commit -q --allow-empty -m own; git merge -q --no-ff -m merge aaa~1; rm -r secret"))
        self.assertIn(b"secret/x", said.stderr)
        self.assertEqual((self.rev("main"), self.subjects("aaa~1")[0]), (before, "denied"))

    def test_commits_that_need_an_approval_after_the_files_are_committed_name_the_way_to_keep_them(self):
        (self.work / "galley.toml").write_text('[[policy.rule]]\npaths = ["asked/"]\ndecision = "ask"\n')
        self.commit_outside("rules")
        said = self.run_inside("--commit", "--git-commits", "keep", expect=1, script=(
            "git config user.name A; git config user.email a@example.com; git checkout -q -b topic; "
            "mkdir asked; echo x > asked/x; git add asked; git commit -qm wanted; git checkout -q main; echo more >> file"))
        kept = re.search(r"approval cannot help[^\n]*git branch NAME ([0-9a-f]{40})\n", said.stderr.decode())
        self.git("branch", "topic", kept.group(1))
        self.assertEqual(self.subjects("topic")[0], "wanted")

    def test_an_agent_moves_no_reference(self):
        (self.work / "galley.toml").write_text('[agents.bot]\ncapabilities = ["fs:read", "fs:write", "exec:*"]\n')
        ran = self.galley("--agent", "bot", "run", "--git-commits", "keep", "--", "sh", "-c", "echo it ran; " + COMMIT)
        self.assertIn(b"only a person may", ran.stderr)
        self.assertEqual(ran.stdout, b"")
        self.assertEqual(self.rev("main"), self.first)

    def test_nothing_of_the_layer_is_trusted(self):
        """Objects of another repository that a commit names, and hooks and configuration that the
        run wrote."""
        victim, mark = self.scratch / "private", self.scratch / "mark"
        victim.mkdir()
        (victim / "key").write_text("private\n")
        self.git("init", "-q", "-b", "main", work=victim)
        self.commit_outside("private", work=victim)
        tree, blob = self.rev("main^{tree}", work=victim), self.rev("main:key", work=victim)
        hook = f"#!/bin/sh\\ntouch {mark}\\n"
        said = self.run_inside("--git-commits", "keep", expect=(1, 3), script=(
            "git config user.name A; git config user.email a@example.com; "
            f"id=$(printf 'tree {tree}\\nparent {self.first}\\nauthor A <a@b> 1 +0000\\ncommitter A <a@b> 1 +0000\\n\\nstolen\\n' "
            "| git hash-object -w -t commit --literally --stdin); "
            "echo $id > .git/refs/heads/main; mkdir -p .git/objects/info; "
            f"echo {victim}/.git/objects > .git/objects/info/alternates; "
            f"for h in reference-transaction post-index-change; do printf '{hook}' > .git/hooks/$h; chmod 755 .git/hooks/$h; done; "
            f"git config core.fsmonitor 'touch {mark}'"))
        self.assertEqual(self.rev("main"), self.first, said.stderr)
        self.assertNotEqual(self.git("cat-file", "-e", blob, check=False).returncode, 0)
        self.assertFalse(mark.exists())

    def test_a_reference_that_git_refuses_does_not_block_the_others(self):
        said = self.run_inside("--commit", "--git-commits", "keep", expect=1,
                               script=COMMIT + "; git rev-parse main > .git/refs/heads/a..b; git commit -q --allow-empty -m more")
        self.assertRegex(said.stderr, rb"refs/heads/a\.\.b is not kept[^\n]*\n[^\n]*git branch NAME [0-9a-f]{40}\n")
        self.assertIn(b"committed ", said.stdout)
        self.assertEqual(self.subjects(), ["more", "third", "second", "first"])

    def test_a_person_is_asked(self):
        session = self.on_terminal("run", "--", "sh", "-c", COMMIT)
        session.expect(r"Commit, keep or drop what it changed\? \[c/K/d, v shows it\] ")
        session.type("c\n")
        session.expect(r"Keep its git commits, too\? \[y/N\] ")
        session.type("y\n")
        self.assertEqual(session.finish(), 0, session.screen)
        self.assertEqual(self.subjects(), ["third", "second", "first"])

    def test_commits_of_a_linked_work_tree_are_kept(self):
        tree = self.scratch / "tree"
        self.git("worktree", "add", "-q", tree)
        ran = self.galley("run", "--commit", "--git-commits", "keep", "--", "sh", "-c", COMMIT, work=tree, expect=0)
        self.assertIn(b"git: kept as refs/heads/tree", ran.stderr)
        self.assertEqual(self.subjects("tree"), ["third", "second", "first"])
        self.assertEqual(self.git("status", "--porcelain", work=tree).stdout, b"")

    def test_a_branch_of_another_work_tree_is_not_moved_under_it(self):
        tree = self.scratch / "tree"
        self.git("worktree", "add", "-q", tree)
        said = self.run_inside("--commit", "--git-commits", "keep",
                               script="git symbolic-ref HEAD refs/heads/tree; " + COMMIT).stderr.decode()
        [kept] = self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()
        self.assertIn(f"git merge {kept}", said)
        self.assertEqual((self.rev("tree"), self.subjects(kept)), (self.first, ["third", "second", "first"]))
        self.assertEqual(self.git("status", "--porcelain", work=tree).stdout, b"")

    def test_a_branch_whose_name_git_refuses_is_kept_aside(self):
        self.run_inside("--keep", script="git checkout -q -b feat/x; " + COMMIT)
        self.git("branch", "feat")
        said = self.galley("commit", "--git-commits", "keep", expect=0).stderr.decode()
        [kept] = self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()
        self.assertTrue(kept.endswith("/heads/feat/x"), kept)
        self.assertIn("could not be moved", said)
        self.assertEqual(self.subjects(kept), ["third", "second", "first"])

    def test_a_branch_that_git_branch_refuses_is_kept_aside(self):
        said = self.run_inside("--git-commits", "keep", script=COMMIT + (
            "; for name in HEAD -x; do git update-ref refs/heads/$name main; done; git update-ref refs/heads/main HEAD~2"))
        kept = self.git("for-each-ref", "--format=%(refname)").stdout.decode().split()
        self.assertEqual([name.split("/", 3)[-1] for name in kept if name.startswith("refs/galley/")], ["heads/-x", "heads/HEAD"])
        self.assertEqual([name for name in kept if name.startswith("refs/heads/")], ["refs/heads/main"])
        self.assertIn(b"git branch refuses", said.stderr)

    def test_they_are_kept_in_the_repository_of_the_workspace_whatever_the_environment_names(self):
        self.git("clone", "-q", "--bare", self.work, self.scratch / "clone.git", work=self.scratch)
        self.git("init", "-q", self.scratch / "unrelated", work=self.scratch)
        for number, other in enumerate(("clone.git", "unrelated/.git")):
            named = {"GIT_DIR": str(self.scratch / other)}
            self.run_inside("--commit", "--git-commits", "keep", env=named,
                            script=COMMIT.replace("two", f"two {number}"))
            self.assertEqual(self.git("status", "--porcelain").stdout, b"")
        self.assertEqual(self.subjects(), ["third", "second"] * 2 + ["first"])
        self.assertEqual(self.rev("main", work=self.scratch / "clone.git"), self.first)

    def test_a_commit_on_a_detached_head_is_no_switch_of_the_branch(self):
        self.git("checkout", "-q", "--detach")
        said = self.run_inside("--commit", "--git-commits", "keep").stderr.decode()
        self.assertRegex(said, "git: the program moved HEAD to commit [0-9a-f]{12}; yours stays where it is\n")
        self.assertNotIn("your own branch", said)

    def test_with_a_locked_index_the_branch_stays(self):
        self.run_inside()
        lock = self.work / ".git" / "index.lock"
        lock.touch()
        said = self.galley("commit", "--git-commits", "keep", expect=0).stderr.decode()
        lock.unlink()
        self.assertIn("index.lock", said)
        self.assertNotIn("Nothing was changed", said)
        [kept] = self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()
        self.assertEqual((self.rev("main"), self.subjects(kept)), (self.first, ["third", "second", "first"]))

    def test_what_git_began_outside_and_a_run_finishes_is_ended(self):
        me = ("-c", "user.name=A", "-c", "user.email=a@example.com")
        for words, state in ((("merge", "--no-ff", "--no-commit"), "MERGE_HEAD"), (("cherry-pick",), "CHERRY_PICK_HEAD")):
            for has_conflict in (False, True):
                if words[0] == "cherry-pick" and not has_conflict:
                    continue
                with self.subTest(words=words, has_conflict=has_conflict):
                    self.git("checkout", "-q", "-f", "-B", "side", self.first)
                    (self.work / "file").write_text("side\n")
                    self.commit_outside("side")
                    self.git("checkout", "-q", "-B", "main", self.first)
                    (self.work / ("file" if has_conflict else "other")).write_text("main\n")
                    self.commit_outside("outside")
                    self.git(*me, *words, "side", check=False)
                    self.assertTrue((self.work / ".git" / state).exists())
                    said = self.run_inside("--commit", "--git-commits", "keep",
                                           script="git config user.name A; git config user.email a@example.com; "
                                           "echo both > file; git add -A; git commit -qm both")
                    self.assertFalse((self.work / ".git" / state).exists(), said.stderr)
                    self.assertEqual((self.git("status", "--porcelain").stdout, self.subjects()[0]), (b"", "both"))

    def test_a_stash_is_kept_aside(self):
        said = self.run_inside("--keep", script="git config user.name A; git config user.email a@example.com; "
                               "echo work > file; git stash -q; echo 1 > other").stderr.decode()
        self.assertIn("git: refs/stash has", said)
        said = self.galley("commit", "--git-commits", "keep", expect=0).stderr.decode()
        [kept] = self.git("for-each-ref", "--format=%(refname)", "refs/galley").stdout.decode().split()
        self.assertTrue(kept.endswith("/stash"), kept)
        self.assertIn("git stash apply " + kept, said)
        self.git("stash", "apply", kept)
        self.assertEqual((self.work / "file").read_text(), "work\n")

    def test_commits_in_a_nested_repository_are_named_as_dropped(self):
        said = self.run_inside("--commit", script="mkdir app; cd app; git init -q; " + COMMIT).stderr.decode()
        self.assertIn("repositories below the workspace's own are dropped: app/.git", said)
        self.assertNotIn("no commits", said)

    def test_links_to_repositories_are_named_as_dropped(self):
        said = self.run_inside("--commit", script="git worktree add -q --no-checkout inner; echo 1 > inner/f; mkdir k; echo gitdir: x > k/.git; echo 1 > k/f").stderr.decode()
        self.assertRegex(said, r"dropped, since no change contains a \.git, \.galley or \.sage: (inner/\.git, k/\.git|k/\.git, inner/\.git)")
        self.assertTrue((self.work / "k" / "f").exists())

    def test_a_folder_of_git_that_the_sandbox_does_not_show_is_named(self):
        shared = self.scratch / "shared"
        self.git("clone", "-q", "--shared", self.work, shared)
        ran = self.galley("run", "--drop", "--", "git", "status", work=shared, expect=128)
        self.assertIn(f"git needs '{self.work}/.git/objects', which the sandbox does not show", ran.stderr.decode())
        (shared / "galley.toml").write_text(f'[sandbox]\nreadable = ["{self.work}/.git/objects"]\n')
        self.galley("trust", work=shared, expect=0)
        self.galley("run", "--drop", "--", "git", "status", work=shared, expect=0)
        linked = self.scratch / "linked"
        linked.mkdir()
        (linked / ".git").symlink_to(self.work / ".git")
        ran = self.galley("run", "--drop", "--", "git", "status", work=linked, expect=128)
        self.assertIn(f"git needs '{self.work}/.git', which", ran.stderr.decode())

    def test_commits_in_a_submodule_that_is_the_workspace_are_kept(self):
        module = self.scratch / "above" / "module"
        self.git("init", "-q", "-b", "main", self.scratch / "above")
        self.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", self.work, "module", work=self.scratch / "above")
        ran = self.galley("run", "--commit", "--git-commits", "keep", "--", "sh", "-c", COMMIT, work=module, expect=0)
        self.assertIn(b"git: kept as refs/heads/main", ran.stderr)
        self.assertEqual(self.git("log", "--format=%s", work=module).stdout.split(), [b"third", b"second", b"first"])
        self.assertEqual(self.git("status", "--porcelain", work=module).stdout, b"")


if __name__ == "__main__":
    hostile.main()
