"""Git's hooks, run by a real git in a client and in a bare repository as the server."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from support import GALLEY, SystemCase, snapshot
from terminal_session import TerminalSession

RULES = """
[[policy.rule]]
name = "no secrets"
paths = ["secret/"]
decision = "deny"

[[validator]]
builtin = "json"
"""


class HookCase(SystemCase):
    """`self.work` is a repository with one commit and these rules. It pushes to the bare repository
    `self.server`."""

    def setUp(self):
        super().setUp()
        programs = self.scratch / "bin"
        programs.mkdir()
        (programs / "galley").symlink_to(Path(GALLEY).resolve())
        home = self.scratch / "home"
        home.mkdir()
        self.path = f"{programs}:{os.environ['PATH']}"
        self.environment |= {
            "PATH": self.path, "HOME": str(home), "GIT_CONFIG_GLOBAL": str(home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CEILING_DIRECTORIES": str(self.scratch), "GIT_EDITOR": "true", "GIT_TERMINAL_PROMPT": "0"}
        (home / "gitconfig").write_text(
            "[user]\n\tname = A\n\temail = a@example.org\n[init]\n\tdefaultBranch = main\n"
            "[commit]\n\tgpgSign = false\n[protocol \"file\"]\n\tallow = always\n")
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.git("init", "-q")
        self.write("galley.toml", RULES)
        self.write("a.json", "{}\n")
        self.write("a.txt", "one\ntwo\nthree\n")
        self.git("add", ".")
        self.git("commit", "-qm", "begin")
        self.server = self.scratch / "server.git"

    def make_server(self):
        self.git("clone", "-q", "--bare", self.work, self.server, work=self.scratch)
        self.git("remote", "add", "origin", self.server)
        self.git("fetch", "-q", "origin")
        self.git("remote", "set-head", "origin", "main")

    def write(self, name, text, work=None):
        path = (work or self.work) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def run_git(self, *arguments, work=None, env=None, stdin=None):
        environment = {**os.environ, **self.environment, **(env or {})}
        for name in list(environment):
            if name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE") and name not in (env or {}):
                del environment[name]
        return subprocess.run(["git", *map(str, arguments)], cwd=work or self.work, capture_output=True,
                              env=environment, check=False, input=stdin, timeout=120)

    def git(self, *arguments, work=None, check=True, stdin=None):
        result = self.run_git(*arguments, work=work, stdin=stdin)
        if check:
            self.assertEqual(result.returncode, 0, result.stderr.decode(errors="replace"))
        return result

    def assert_refused(self, result, *words):
        said = (result.stdout + result.stderr).decode(errors="replace")
        self.assertNotEqual(result.returncode, 0, said)
        for word in words:
            self.assertIn(word, said)

    def assert_done(self, result):
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr).decode(errors="replace"))

    def head(self, work=None, ref="HEAD"):
        return self.git("rev-parse", ref, work=work).stdout.decode().strip()

    def message(self, ref="HEAD"):
        return self.git("log", "-1", "--format=%B", ref).stdout.decode()

    def commit_file(self, name, text, message="change", options=()):
        self.write(name, text)
        self.git("add", name)
        return self.run_git("commit", "-qm", message, *options)


class Committing(HookCase):
    def setUp(self):
        super().setUp()
        self.galley("hook", "install", expect=0)

    def test_only_staged_changes_are_judged(self):
        self.write("a.json", "{}\n\n")
        self.git("add", "a.json")
        self.write("a.json", "{broken")
        before = snapshot(self.work, with_times=True)
        self.assert_done(self.run_git("commit", "-qm", "good"))
        self.assertEqual(snapshot(self.work, with_times=True), before)
        self.git("add", "a.json")
        self.write("a.json", "{}\n")
        index = self.git("ls-files", "-s", "-v").stdout
        before = snapshot(self.work, with_times=True)
        self.assert_refused(self.run_git("commit", "-qm", "bad"), "a.json", "json")
        self.assertEqual(snapshot(self.work, with_times=True), before)
        self.assertEqual(self.git("ls-files", "-s", "-v").stdout, index)
        self.assertEqual(self.git("stash", "list").stdout, b"")

    def test_the_temporary_index_of_commit_all_and_commit_path_is_judged(self):
        self.write("a.json", "{broken")
        for options in (["-a"], ["a.json"], ["--only", "a.json"]):
            with self.subTest(options):
                self.assert_refused(self.run_git("commit", "-qm", "bad", *options), "a.json")
        # Staged changes that are not in this commit are not judged now.
        self.git("add", "a.json")
        self.write("a.txt", "more\n")
        self.assert_done(self.run_git("commit", "-qm", "good", "a.txt"))
        self.assertEqual(self.git("diff", "--cached", "--name-only").stdout, b"a.json\n")

    def test_from_a_folder_below_and_from_a_linked_worktree(self):
        below = self.work / "deep"
        below.mkdir()
        self.write("secret/x", "x")
        self.git("add", ".")
        self.assert_refused(self.run_git("commit", "-qm", "x", work=below), "secret/x")
        other = self.scratch / "other"
        self.git("worktree", "add", "-q", other)
        self.write("a.json", "[", other)
        self.assert_refused(self.run_git("commit", "-qam", "x", work=other), "a.json")
        self.write("a.json", "[]\n", other)
        self.assert_done(self.run_git("commit", "-qam", "x", work=other))

    def test_with_the_repository_named_from_outside(self):
        away = self.scratch / "away"
        away.mkdir()
        self.write("a.json", "[")
        named = ["--git-dir", self.work / ".git", "--work-tree", self.work]
        self.assert_refused(self.run_git(*named, "commit", "-qam", "x", work=away), "a.json")
        self.write("a.json", "[]\n")
        self.assert_done(self.run_git(*named, "commit", "-qam", "x", work=away))

    def test_the_first_commit_of_a_repository(self):
        new = self.scratch / "new"
        new.mkdir()
        self.git("init", "-q", work=new)
        self.galley("hook", "install", work=new, expect=0)
        self.write("galley.toml", RULES, new)
        self.write("a.json", "[", new)
        self.git("add", "a.json", work=new)
        self.assert_refused(self.run_git("commit", "-qm", "x", work=new), "a.json")
        self.write("a.json", "[]", new)
        self.git("add", "a.json", work=new)
        self.assert_done(self.run_git("commit", "-qm", "x", work=new))

    def test_a_merge_and_an_amended_commit(self):
        self.git("checkout", "-qb", "side")
        self.assert_done(self.commit_file("side.txt", "side\n"))
        self.git("checkout", "-q", "main")
        self.assert_done(self.commit_file("main.txt", "main\n"))
        self.assert_done(self.run_git("merge", "-q", "--no-edit", "side"))
        self.assert_done(self.run_git("commit", "-q", "--amend", "-m", "other words"))

    def test_without_rules_it_says_so_every_time(self):
        self.git("rm", "-q", "galley.toml")
        self.git("commit", "-qm", "none", "--no-verify")
        for number in range(2):
            said = self.commit_file("b.txt", f"{number}\n")
            self.assert_done(said)
            self.assertEqual(said.stderr.decode().count("there is no galley.toml, so only"), 1, said.stderr)
        self.write("galley.toml", RULES)
        self.git("add", ".")
        self.git("commit", "-qm", "some", "--no-verify")
        self.assertEqual(self.commit_file("b.txt", "2\n").stderr, b"")

    def diverge(self, ours, theirs):
        """Makes `main` and `side` diverge. `side` is committed without the hook, as another person
        would."""
        self.git("checkout", "-qb", "side")
        for name, text in theirs.items():
            self.write(name, text)
        self.git("add", ".")
        self.git("commit", "-qm", "side", "--no-verify")
        self.git("checkout", "-q", "main")
        for name, text in ours.items():
            self.write(name, text)
        self.git("add", ".")
        self.git("commit", "-qm", "main", "--no-verify")

    def test_a_merge_is_not_judged_by_what_the_other_side_has(self):
        self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"a.txt": "1\ntwo\nthree\n", "secret/x": "x\n", "bad.json": "[\n"})
        self.assertNotEqual(self.run_git("merge", "-q", "side").returncode, 0)
        # Changes that the person makes while they resolve the conflict are judged.
        self.write("a.txt", "both\ntwo\nthree\n")
        self.write("worse.json", "[\n")
        self.git("add", ".")
        self.assert_refused(self.run_git("commit", "-qm", "merge"), "worse.json")
        self.git("rm", "-qf", "worse.json")
        self.assert_done(self.run_git("commit", "-qm", "merge"))
        self.galley("check", "--commit", "HEAD", expect=0)

    def test_a_conflict_settled_with_one_side_is_not_judged(self):
        for keep, expected in (("--theirs", b"[ 2\n"), ("--ours", b"[ 1\n")):
            with self.subTest(keep):
                self.git("branch", "-D", "side", check=False)
                self.write("bad.json", "[ 0\n")
                self.git("add", ".")
                self.git("commit", "-qm", "begin", "--no-verify", "--allow-empty")
                self.diverge({"bad.json": "[ 1\n"}, {"bad.json": "[ 2\n"})
                self.assertNotEqual(self.run_git("merge", "-q", "side").returncode, 0)
                self.git("checkout", keep, "bad.json")
                self.git("add", ".")
                self.assert_done(self.run_git("commit", "-qm", "merge"))
                self.assertEqual(self.git("show", "HEAD:bad.json").stdout, expected)

    def test_a_merge_asks_about_the_rules_of_the_other_side(self):
        self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"a.txt": "1\ntwo\nthree\n", "galley.toml": ""})
        self.assertNotEqual(self.run_git("merge", "-q", "side").returncode, 0)
        self.write("a.txt", "both\n")
        self.git("add", ".")
        self.assert_refused(self.run_git("commit", "-qm", "merge"), "a change of the rules")

    def test_a_merge_without_a_conflict_is_judged(self):
        self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"secret/x": "x\n", "bad.json": "[\n"})
        self.assert_done(self.run_git("merge", "-q", "--no-edit", "side"))
        self.git("reset", "-q", "--hard", "HEAD^1")
        self.git("checkout", "-q", "side")
        self.write("galley.toml", "")
        self.git("commit", "-qam", "no rules", "--no-verify")
        self.git("checkout", "-q", "main")
        merging = self.run_git("merge", "-q", "--no-edit", "side")
        self.assert_refused(merging, "a change of the rules")
        self.assertEqual(self.git("log", "--format=%s", "-1").stdout, b"main\n")

    def test_a_range_in_the_environment_does_not_replace_what_is_committed(self):
        self.environment |= {"PRE_COMMIT": "1", "PRE_COMMIT_FROM_REF": "HEAD", "PRE_COMMIT_TO_REF": "HEAD"}
        self.assert_refused(self.commit_file("bad.json", "[\n"), "bad.json")
        self.git("reset", "-q", "--hard")
        self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"galley.toml": ""})
        self.assert_refused(self.run_git("merge", "-q", "--no-edit", "side"), "a change of the rules")

    def test_a_merge_ignores_the_commits_of_a_merge_in_another_repository(self):
        self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"bad.json": "[\n"})
        self.environment |= {f"GITHEAD_{'1' * 40}": "outer", "GITHEAD_HEAD": "no id"}
        self.assert_done(self.run_git("merge", "-q", "--no-edit", "side"))

    def test_a_patch_of_git_am_is_judged(self):
        self.git("checkout", "-qb", "side")
        self.write("bad.json", "[\n")
        self.git("add", ".")
        self.git("commit", "-qm", "side", "--no-verify")
        mail = self.git("format-patch", "--stdout", "-1").stdout
        self.git("checkout", "-q", "main")
        self.assert_refused(self.run_git("am", "-q", stdin=mail), "bad.json")
        self.git("am", "--abort")

    def test_no_rebase_is_judged(self):
        first = self.head()
        for how in ("--apply", "--merge"):
            with self.subTest(how):
                self.git("checkout", "-q", "-B", "main", first)
                self.git("branch", "-D", "side", check=False)
                self.diverge({"a.txt": "ONE\ntwo\nthree\n"}, {"bad.json": "[\n"})
                self.assert_done(self.run_git("rebase", "-q", how, "main", "side"))

    def test_a_broken_configuration_is_one_clear_error(self):
        self.write("galley.toml", "[[policy.rule\n")
        self.git("add", ".")
        self.run_git("commit", "-qm", "broken", "--no-verify")
        result = self.commit_file("b.txt", "b\n")
        self.assert_refused(result, "galley.toml")
        self.assert_one_clear_message(result)


class Trailers(HookCase):
    def setUp(self):
        super().setUp()
        self.galley("hook", "install", expect=0)

    def put(self, name, text, agent="fixer"):
        document = json.dumps({"path": name, "content": text}).encode()
        self.galley("--agent", agent, "apply", "-", stdin=document, expect=0)

    def trailers(self):
        return self.git("log", "-1", "--format=%(trailers:only,unfold)").stdout.decode().split("\n")[:-1]

    def test_trailers_name_the_transactions_that_wrote_the_commit(self):
        self.put("a.txt", "1\n")
        self.put("a.txt", "2\n")
        self.put("b.txt", "b\n", agent="other")
        self.put("unstaged.txt", "u\n", agent="third")
        self.git("add", "a.txt", "b.txt")
        self.assert_done(self.run_git("commit", "-qm", "subject", "-m", "body"))
        ids = [entry["proposal"][:12] for entry in
               json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]][::-1]
        self.assertEqual([line for line in self.trailers() if line],
                         [f"Galley-Transaction: 1 {ids[0]}", f"Galley-Transaction: 2 {ids[1]}",
                          f"Galley-Transaction: 3 {ids[2]}", "Galley-Agent: fixer", "Galley-Agent: other"])
        self.assertTrue(self.message().startswith("subject\n\nbody\n\nGalley-Transaction: 1 "))

    def test_a_file_that_was_edited_since_gets_no_trailer(self):
        self.put("a.txt", "1\n")
        self.assert_done(self.commit_file("a.txt", "2\n"))
        self.assertEqual(self.message().strip(), "change")

    def test_the_rest_of_a_transaction_gets_no_trailer_of_a_commit_before_it(self):
        self.put("a.txt", "".join(f"{n}\n" for n in "12345"))
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "first"))
        self.put("a.txt", "one\n2\n3\n4\nfive\n", agent="other")
        self.write("a.txt", "one\n2\n3\n4\n5\n")
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "part"))
        self.write("a.txt", "one\n2\n3\n4\nfive\n")
        self.assert_done(self.run_git("commit", "-qam", "rest"))
        self.assertEqual([line.split()[:2] for line in self.trailers() if line],
                         [["Galley-Transaction:", "2"], ["Galley-Agent:", "other"]])

    def test_a_transaction_on_top_of_an_own_change_gets_its_trailer_in_both_commits(self):
        self.commit_file("a.txt", "1\n2\n")
        self.write("a.txt", "1\n2\nown\n")
        document = json.dumps([{"path": "a.txt", "edits": [{"oldText": "1\n", "newText": "one\n"}]},
                               {"path": "b.txt", "content": "b\n"}]).encode()
        self.galley("--agent", "bot", "apply", "-", stdin=document, expect=0)
        for name in ("b.txt", "a.txt"):
            self.git("add", name)
            self.assert_done(self.run_git("commit", "-qm", name))
            self.assertIn("Galley-Transaction: 1", self.message(), name)

    def test_a_file_that_git_converts_gets_trailers(self):
        self.git("config", "core.autocrlf", "true")
        self.put("a.txt", "1\r\n2\r\n")
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "subject"))
        self.assertEqual(self.git("show", "HEAD:a.txt").stdout, b"1\n2\n")
        self.assertEqual([line.split()[0] for line in self.trailers() if line],
                         ["Galley-Transaction:", "Galley-Agent:"])

    def test_the_persons_settings_of_trailers_change_no_message(self):
        ran = self.scratch / "ran"
        for key, value in {"separators": "=:", "sign.key": "Signed-off-by", "sign.ifexists": "doNothing",
                           "sign.command": f"echo ran > {ran}; echo 'A <a@b>'", "where": "start"}.items():
            self.git("config", "--global", f"trailer.{key}", value)
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        own = "subject\n\nCloses: #5\nSee: http://x/y\n"
        self.assert_done(self.run_git("-c", "trailer.sign.key=Acked-by", "commit", "-qF", "-", stdin=own.encode()))
        self.assertRegex(self.message(), f"^{own}Galley-Transaction: .*\nGalley-Agent: fixer\n+$")
        self.assertFalse(ran.exists())

    def test_trailers_are_not_repeated(self):
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "one"))
        first = self.message()
        self.assert_done(self.run_git("commit", "-q", "--amend", "--no-edit"))
        self.assertEqual(self.message(), first)
        self.assertEqual(first.count("Galley-Agent"), 1)

    def test_trailers_are_added_to_the_existing_trailers(self):
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "one\n\nReviewed-by: B <b@example.org>"))
        self.assertRegex(self.message(), r"Reviewed-by: B <b@example.org>\nGalley-Transaction: 1 ")

    def test_trailers_begin_on_a_line_of_their_own(self):
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        message = self.write("message", "subject")
        for _ in range(2):
            self.galley("hook", "run", "commit-msg", "--", str(message), expect=0)
            self.assertRegex(message.read_text(), r"\Asubject\n\nGalley-Transaction: 1 \w+\nGalley-Agent: fixer\n\Z")

    def test_lines_that_git_keeps_are_not_comments(self):
        for number, words in enumerate((["#12 fixed"], ["fix", "body\n#12"])):
            with self.subTest(words):
                self.put("a.txt", f"{number}\n")
                self.git("add", "a.txt")
                self.assert_done(self.run_git("commit", "-q", *[option for word in words for option in ("-m", word)]))
                text = "\n\n".join(words)
                self.assertRegex(self.message(), f"\\A{text}\n\nGalley-Transaction: \\d \\w+\nGalley-Agent: fixer\n")

    def test_a_message_without_text_still_means_no_commit(self):
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        before = self.head()
        for options in ([], ["-v"]):
            result = self.run_git("commit", *options)  # the editor `true` keeps the text
            self.assert_refused(result, "empty commit message")
        self.assertEqual(self.head(), before)

    def test_a_deleted_file_and_a_new_mode_get_trailers(self):
        (self.work / "tool.sh").write_text("#!/bin/sh\n")
        self.git("add", ".")
        self.git("commit", "-qm", "tool")
        patch = b"""diff --git a/a.txt b/a.txt
deleted file mode 100644
--- a/a.txt
+++ /dev/null
@@ -1,3 +0,0 @@
-one
-two
-three
diff --git a/tool.sh b/tool.sh
old mode 100644
new mode 100755
"""
        self.galley("--agent", "m", "apply", "-", stdin=patch, expect=0)
        self.git("add", "-A")
        self.assert_done(self.run_git("commit", "-qm", "x"))
        self.assertIn("Galley-Agent: m", self.trailers())

    def test_a_damaged_state_does_not_prevent_a_commit(self):
        self.put("a.txt", "1\n")
        self.git("add", "a.txt")
        (self.work / ".galley" / "format").write_text("galley 9 x\n")
        self.assert_done(self.run_git("commit", "-qm", "one"))

    def test_the_log_names_the_commits_that_hold_a_transaction(self):
        self.put("a.txt", "1\n")
        self.put("b.txt", "b\n")
        self.git("add", "a.txt")
        self.assert_done(self.run_git("commit", "-qm", "one"))
        listed = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertEqual([entry.get("commits") for entry in listed], [None, [self.head()]])
        self.assertIn(self.head()[:12], self.galley("log", expect=0).stdout.decode())
        self.assertIn(self.head()[:12], self.galley("show", "1", expect=0).stdout.decode())
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        links = [record for record in records if record["kind"] == "link"]
        self.assertEqual([(link["tx"], link["output"]["commit"]) for link in links], [("1", self.head())])
        self.galley("audit", "verify", expect=0)
        # A second run records nothing.
        before = snapshot(self.work / ".galley")
        self.galley("hook", "run", "post-commit", expect=0)
        after = snapshot(self.work / ".galley")
        self.assertEqual(after["audit.jsonl"], before["audit.jsonl"])
        self.assertEqual({name: entry for name, entry in after.items() if name.endswith("git-commits")},
                         {name: entry for name, entry in before.items() if name.endswith("git-commits")})


class Pushing(HookCase):
    def setUp(self):
        super().setUp()
        self.make_server()
        self.galley("hook", "install", "--hook", "pre-push", expect=0)

    def test_commits_that_the_remote_lacks_are_judged(self):
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assert_done(self.commit_file("secret/x", "x"))
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "refs/heads/main", "secret/x", "no secrets")
        self.assertNotEqual(self.head(self.server, "main"), self.head())

    def test_a_beginning_of_its_own_needs_the_rules_of_the_main_branch(self):
        self.git("remote", "set-head", "origin", "--delete")
        self.git("checkout", "-q", "--orphan", "own")
        self.git("rm", "-rfq", ".")
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "origin", "own"), "git remote set-head origin --auto")
        self.git("remote", "set-head", "origin", "--auto")
        self.assert_refused(self.run_git("push", "-q", "origin", "own"), "secret/x", "no secrets")

    def test_a_pushed_revision_may_have_spaces(self):
        self.assert_done(self.commit_file("b.txt", "b\n", "more work"))
        self.assert_done(self.run_git("push", "-q", "origin", ":/more work:refs/heads/x"))

    def at_terminal(self, *arguments, answer="y"):
        """Runs git with a person who answers the one question, or with no question if `answer` is
        empty."""
        session = TerminalSession(["git", *arguments], {**os.environ, **self.environment}, cwd=self.work)
        self.addCleanup(session.close)
        if answer:
            session.expect(r"a change of the rules.*\[y/N/d\] ")
            session.type(answer + "\n")
        return session.finish(), session.screen.decode(errors="replace")

    def test_a_rules_change_approved_at_its_commit_is_pushed_without_a_question(self):
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        for number in range(2):  # two commits, one push
            self.write("galley.toml", f"{RULES}# {number}\n")
            self.git("add", ".")
            self.assertEqual(self.at_terminal("commit", "-qm", "rules")[0], 0)
        # A no is not a yes. A change without a question waits for a person.
        pushed = self.head()
        self.write("galley.toml", f"{RULES}# no\n")
        self.git("add", ".")
        self.assertEqual(self.at_terminal("commit", "-qm", "rules", answer="n")[0], 1)
        self.git("commit", "-qm", "rules", "--no-verify")
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "a change of the rules")
        self.git("reset", "-q", "--hard", pushed)
        status, screen = self.at_terminal("push", "-q", "origin", "main", answer="")
        self.assertEqual((status, self.head(self.server, "main")), (0, pushed), screen)
        # Going back is another change.
        self.write("galley.toml", RULES)
        self.git("add", ".")
        self.git("commit", "-qm", "back", "--no-verify")
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "a change of the rules")

    def test_an_approval_that_cannot_be_stored_is_reported(self):
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        (self.scratch / "state" / "galley").mkdir(parents=True, exist_ok=True)
        (self.scratch / "state" / "galley" / "trust").write_text("no folder\n")
        self.write("galley.toml", f"{RULES}# 1\n")
        self.git("add", ".")
        status, screen = self.at_terminal("commit", "-qm", "rules")
        self.assertEqual(status, 0, screen)
        self.assertIn("could not be kept", screen)

    # Limit: kMaxRulesApprovals of engine/pipeline/trust.h
    def test_approvals_are_listed_and_the_oldest_are_dropped(self):
        self.galley("hook", "install", "--hook", "pre-commit", expect=0)
        trust = self.scratch / "state" / "galley" / "trust"
        trust.mkdir(parents=True, mode=0o700)
        for number in range(1001):
            old = trust / f"{number:064x}"
            old.write_text('{"format":"galley.rules/1","before":""}\n')
            os.utime(old, (number + 1, number + 1))
        self.write("galley.toml", f"{RULES}# 1\n")
        self.git("add", ".")
        self.assertEqual(self.at_terminal("commit", "-qm", "rules")[0], 0)
        listed = json.loads(self.galley("--json", "trust", "--list", expect=0).stdout)["rules"]
        self.assertEqual((len(listed), listed[0]["given_ns"], listed[-1]["root"], listed[-1]["path"]),
                         (1000, 3 * 10**9, str(self.work), "galley.toml"))
        self.assertEqual(len(list(trust.iterdir())), 1000)
        self.assertIn(f"a change of galley.toml in {self.work}", self.galley("trust", "--list", expect=0).stdout.decode())

    def test_a_new_branch_is_judged_from_where_the_remote_knows_it(self):
        self.git("commit", "-q", "--allow-empty", "-m", "empty")
        self.write("secret/old", "known to the server\n")
        self.git("add", ".")
        self.git("commit", "-qm", "old")
        self.run_git("push", "-q", "--no-verify", "origin", "main")
        self.git("checkout", "-qb", "side")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "side"))
        self.assert_done(self.commit_file("secret/new", "x"))
        self.git("branch", "other")
        result = self.run_git("push", "-q", "origin", "other")
        self.assert_refused(result, "refs/heads/other", "secret/new")
        self.assertNotIn(b"secret/old", result.stderr)

    def test_a_deleted_branch_a_tag_and_nothing_new(self):
        self.git("branch", "side")
        self.assert_done(self.run_git("push", "-q", "origin", "side"))
        self.assert_done(self.run_git("push", "-q", "origin", ":side"))
        self.git("tag", "-am", "tagged", "v1")
        self.assert_done(self.run_git("push", "-q", "origin", "v1"))
        self.assert_done(self.commit_file("secret/x", "x"))
        self.git("tag", "-am", "tagged", "v2")
        self.assert_refused(self.run_git("push", "-q", "origin", "v2"), "refs/tags/v2", "secret/x")

    def test_git_is_not_asked_anew_for_each_of_many_tags(self):
        program = self.scratch / "bin" / "git"
        program.write_text(f'#!/bin/sh\necho >> {self.scratch}/calls\nexec {shutil.which("git")} "$@"\n')
        program.chmod(0o755)
        counts = []
        for tags in (2, 40):
            lines = b""
            for number in range(tags):
                self.git("tag", "-f", "-a", f"t{number}", "-m", "a tag")
                ref = f"refs/tags/t{number}"
                lines += f"{ref} {self.head(ref=ref)} {ref} {'0' * 40}\n".encode()
            (self.scratch / "calls").write_text("")
            self.galley("hook", "run", "pre-push", "--", "origin", stdin=lines, expect=0)
            counts.append(len((self.scratch / "calls").read_text()))
        self.assertGreater(counts[0], 0)
        self.assertEqual(counts[0], counts[1])

    def test_git_is_asked_once_for_all_tags_and_once_more_for_each_commit(self):
        program = self.scratch / "bin" / "git"
        program.write_text(f'#!/bin/sh\necho >> {self.scratch}/calls\nexec {shutil.which("git")} "$@"\n')
        program.chmod(0o755)
        lines, counts = b"", []
        for tags in (2, 22):
            for number in range(len(lines.splitlines()), tags):
                self.commit_file(f"f{number}", "x\n", options=["--no-verify"])
                self.git("tag", f"t{number}")
                lines += f"refs/tags/t{number} {self.head()} refs/tags/t{number} {'0' * 40}\n".encode()
            (self.scratch / "calls").write_text("")
            self.galley("hook", "run", "pre-push", "--", "origin", stdin=lines, expect=0)
            counts.append(len((self.scratch / "calls").read_text()))
        self.assertEqual(counts[1] - counts[0], 20)

    def test_each_tag_is_judged_and_what_an_earlier_tag_of_the_push_has_is_not_judged_again(self):
        for options in ([], ["-m", "tagged", "-a"]):
            with self.subTest(options):
                self.git("checkout", "-q", "--detach", "origin/main")
                self.commit_file("secret/x", "x", options=["--no-verify"])
                self.git("tag", *options, "bad")
                self.commit_file("b.txt", "b\n", options=["--no-verify"])
                self.git("tag", *options, "above")
                result = self.run_git("push", "-q", "origin", "--tags")
                self.assert_refused(result, "refs/tags/bad is refused", "secret/x")
                self.assertNotIn(b"refs/tags/above", result.stderr)
                self.assert_refused(self.run_git("push", "-q", "origin", "above"), "refs/tags/above is refused", "secret/x")
                self.git("rm", "-q", "secret/x")
                self.git("commit", "-qm", "away", "--no-verify")
                self.git("tag", *options, "good")
                self.assert_done(self.run_git("push", "-q", "origin", "good"))
                self.git("push", "-q", "--no-verify", "origin", ":good")
                self.git("tag", "-d", "bad", "above", "good")

    def test_a_tag_of_a_commit_that_a_branch_of_the_push_brings_is_not_judged_again(self):
        self.assert_done(self.commit_file("b.txt", "b\n"))
        lines = b"".join(f"{ref} {self.head()} {ref} {old}\n".encode() for ref, old in
                         (("refs/tags/v1", "0" * 40), ("refs/heads/main", self.head(ref="origin/main"))))
        told = json.loads(self.galley("--json", "hook", "run", "pre-push", "--", "origin", stdin=lines, expect=0).stdout)
        self.assertEqual([one.get("note") for one in told["judged"]], ["brings no new commit", None])

    def test_a_tag_brings_the_rules_of_no_earlier_tag(self):
        self.commit_file("galley.toml", "", options=["--no-verify"])
        self.git("tag", "loose")
        self.commit_file("secret/x", "x", options=["--no-verify"])
        self.git("tag", "secret")
        self.assert_refused(self.run_git("push", "-q", "origin", "loose", "secret"), "refs/tags/loose", "refs/tags/secret",
                            "secret/x", "no secrets")

    def test_the_first_push_of_a_branch_and_an_older_tag_is_judged_by_the_rules_of_the_branch(self):
        rules = self.git("show", "main:galley.toml").stdout.decode()
        self.git("checkout", "-q", "--orphan", "own")
        self.git("rm", "-rfq", ".")
        self.commit_file("a.txt", "a\n", options=["--no-verify"])
        self.git("tag", "v0.1")
        self.commit_file("galley.toml", rules, options=["--no-verify"])
        for name in ("one", "two"):
            self.git("init", "-q", "--bare", self.scratch / name)
        self.git("remote", "set-url", "origin", self.scratch / "one")
        self.git("update-ref", "-d", "refs/remotes/origin/main")
        self.git("remote", "set-head", "origin", "--delete")
        self.assert_done(self.run_git("push", "-q", "origin", "own", "v0.1"))
        self.commit_file("secret/x", "x", options=["--no-verify"])
        self.git("remote", "set-url", "origin", self.scratch / "two")
        self.git("update-ref", "-d", "refs/remotes/origin/own")
        self.assert_refused(self.run_git("push", "-q", "origin", "own", "v0.1"), "secret/x", "no secrets")

    def test_the_first_refused_references_are_named_and_the_others_counted(self):
        tree = self.git("mktree", stdin=f"040000 tree {self.secret_tree()}\tsecret\n".encode()).stdout.decode().strip()
        for number in range(13):
            commit = self.git("commit-tree", tree, "-p", "main", "-m", str(number)).stdout.decode().strip()
            self.git("tag", f"t{number:02}", commit)
        result = self.run_git("push", "-q", "origin", "--tags")
        self.assert_refused(result, "refs/tags/t09 is refused", "and 3 more are refused")
        self.assertNotIn(b"refs/tags/t10", result.stderr)

    def secret_tree(self):
        blob = self.git("hash-object", "-w", "--stdin", stdin=b"x").stdout.decode().strip()
        return self.git("mktree", stdin=f"100644 blob {blob}\tx\n".encode()).stdout.decode().strip()

    def test_a_forced_push_is_judged_by_what_it_does_to_the_branch(self):
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.git("reset", "-q", "--hard", "HEAD~")
        self.assert_done(self.commit_file("secret/x", "x"))
        self.assert_refused(self.run_git("push", "-qf", "origin", "main"), "secret/x")
        self.git("reset", "-q", "--hard", "HEAD~")
        self.assert_done(self.commit_file("c.txt", "c\n"))
        self.assert_done(self.run_git("push", "-qf", "origin", "main"))

    def test_a_remote_that_is_a_path(self):
        self.assert_done(self.commit_file("secret/x", "x"))
        self.assert_refused(self.run_git("push", "-q", self.server, "main"), "secret/x")

    def test_a_remote_that_was_never_fetched_is_judged_like_a_url(self):
        self.git("remote", "add", "fork", self.server)
        self.git("checkout", "-qb", "topic")
        self.assert_done(self.commit_file("b.txt", "b\n"))
        self.assert_done(self.run_git("push", "-q", "fork", "topic"))
        self.git("update-ref", "-d", "refs/remotes/fork/topic")
        self.write("galley.toml", "")
        self.write("secret/x", "x")
        self.git("add", ".")
        self.git("commit", "-qm", "no rules")
        self.assert_refused(self.run_git("push", "-q", "fork", "topic:weak"), "secret/x", "a change of the rules", "git fetch fork")

    def test_the_advice_names_the_pushed_remote(self):
        self.git("remote", "rename", "origin", "up")
        self.git("remote", "set-head", "up", "--delete")
        self.git("checkout", "-q", "--orphan", "own")
        self.git("rm", "-rfq", ".")
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "up", "own"), "git remote set-head up --auto")

    def test_a_push_that_did_not_fetch_what_others_pushed(self):
        other = self.scratch / "other"
        self.git("clone", "-q", self.server, other, work=self.scratch)
        self.write("theirs.txt", "t\n", other)
        self.git("add", ".", work=other)
        self.git("commit", "-qm", "theirs", work=other)
        self.git("push", "-q", "origin", "main", work=other)
        self.assert_done(self.commit_file("secret/x", "x"))
        self.assert_refused(self.run_git("push", "-qf", "origin", "main"), "secret/x")

    def let_others_push(self, files, branch="main"):
        """Makes the commit of another person appear on the server, without its rules."""
        other = self.scratch / "others"
        if not other.exists():
            self.git("clone", "-q", self.server, other, work=self.scratch)
        self.git("fetch", "-q", work=other)
        self.git("checkout", "-q", "-B", branch, f"origin/{branch}", work=other)
        for name, text in files.items():
            self.write(name, text, other)
        self.git("add", "-f", ".", work=other)
        self.git("commit", "-qm", "theirs", "--no-verify", work=other)
        self.git("push", "-q", "--no-verify", "origin", branch, work=other)
        self.git("fetch", "-q", "origin")

    def test_commits_that_the_server_already_has_are_not_judged_again(self):
        for number, take in enumerate((["merge", "-q", "--no-edit"], ["rebase", "-q"])):
            for is_known in (False, True):
                with self.subTest(f"{take} of a branch that the server {'has' if is_known else 'lacks'}"):
                    topic = f"topic{number}{is_known}"
                    self.git("checkout", "-qb", topic, "origin/main", "--no-track")
                    self.assert_done(self.commit_file(f"{topic}.txt", "mine\n"))
                    if is_known:
                        self.assert_done(self.run_git("push", "-q", "origin", topic))
                    self.let_others_push({f"secret/{topic}": "x\n", f"{topic}.json": "[\n", "a.txt": f"one\n{topic}\nthree\n"})
                    self.assert_done(self.run_git(*take, "origin/main"))
                    self.assert_done(self.run_git("push", "-q", "--force", "origin", topic))
                    # The person's own changes are judged as always, also in a merge.
                    self.write("secret/own", "x\n")
                    self.git("add", ".")
                    self.git("commit", "-qm", "own", "--no-verify")
                    self.assert_refused(self.run_git("push", "-q", "--force", "origin", topic), "secret/own")

    def test_files_picked_from_the_servers_main_branch_are_not_judged_again(self):
        for is_known in (False, True):
            with self.subTest("the server has the branch" if is_known else "the branch is new"):
                topic = f"picked{is_known}"
                self.git("checkout", "-qb", topic, "origin/main", "--no-track")
                self.assert_done(self.commit_file(f"{topic}.txt", "mine\n"))
                if is_known:
                    self.assert_done(self.run_git("push", "-q", "origin", topic))
                many = {f"secret/{topic}.d/{number}": "x\n" for number in range(200)}
                self.let_others_push({f"secret/{topic}": "x\n", f"{topic}.json": "[\n", **many})
                self.git("-c", "core.hooksPath=/dev/null", "cherry-pick", "origin/main")
                self.assert_done(self.run_git("push", "-q", "origin", topic))
                # A file that differs from the one there is the person's own, like its deletion.
                for own in (f"{topic}.json", f"secret/{topic}"):
                    if own.endswith(".json"):
                        self.write(own, "[[\n")
                    else:
                        self.git("rm", "-q", own)
                    self.git("commit", "-qam", "own", "--no-verify")
                    self.assert_refused(self.run_git("push", "-q", "origin", topic), own)
                    self.git("reset", "-q", "--hard", "HEAD^")

    def test_a_picked_change_of_the_rules_is_asked_about(self):
        self.git("checkout", "-qb", "topic", "origin/main", "--no-track")
        self.assert_done(self.commit_file("topic.txt", "mine\n"))
        self.assert_done(self.run_git("push", "-q", "origin", "topic"))
        for name in ("galley.toml", "sub/galley.toml"):
            self.let_others_push({name: ""})
            self.git("-c", "core.hooksPath=/dev/null", "cherry-pick", "origin/main")
            self.assert_refused(self.run_git("push", "-q", "origin", "topic"), name)
            self.git("reset", "-q", "--hard", "HEAD^")

    def test_a_deletion_is_judged_also_where_the_main_branch_has_a_file_or_folder_instead(self):
        self.git("checkout", "-qb", "topic", "origin/main", "--no-track")
        for name in ("secret/a", "secret/b/c"):
            self.write(name, f"{name}\n")
        self.git("add", ".")
        self.git("commit", "-qm", "of before", "--no-verify")
        self.git("push", "-q", "--no-verify", "origin", "topic")
        self.let_others_push({"secret/b": "file\n", ":!odd": "x\n"})
        self.git("rm", "-rq", "secret/b")
        self.git("checkout", "origin/main", "--", "secret/b", ":(top,literal):!odd")
        self.git("commit", "-qm", "theirs", "--no-verify")
        self.assert_refused(self.run_git("push", "-q", "origin", "topic"), "secret/b/c: error: delete is denied")
        self.git("reset", "-q", "--hard", "HEAD^")
        self.git("checkout", "origin/main", "--", ":(top,literal):!odd")
        self.git("commit", "-qm", "theirs", "--no-verify")
        self.assert_done(self.run_git("push", "-q", "origin", "topic"))

    def test_changes_made_in_a_merge_commit_are_judged(self):
        self.git("checkout", "-qb", "topic", "origin/main", "--no-track")
        self.assert_done(self.commit_file("topic.txt", "mine\n"))
        self.let_others_push({"theirs.json": "[\n"})
        self.git("merge", "-q", "--no-commit", "--no-ff", "origin/main")
        self.write("evil.json", "[\n")
        self.git("add", ".")
        self.git("commit", "-qm", "merge", "--no-verify")
        said = self.run_git("push", "-q", "origin", "topic")
        self.assert_refused(said, "evil.json")
        self.assertNotIn(b"theirs.json", said.stderr)

    def test_a_merged_branch_is_judged_by_the_rules_of_the_target_branch(self):
        """A branch with no rules is on the server. Merged into another branch, it is judged by that
        branch's rules."""
        self.git("checkout", "-qb", "loose", "origin/main", "--no-track")
        self.write("galley.toml", "")
        self.write("secret/x", "x\n")
        self.git("add", ".")
        self.git("commit", "-qm", "loose", "--no-verify")
        self.git("push", "-q", "--no-verify", "origin", "loose")
        self.git("checkout", "-qb", "topic", "origin/main", "--no-track")
        self.assert_done(self.run_git("push", "-q", "origin", "topic"))
        self.git("merge", "-q", "--no-ff", "--no-edit", "origin/loose")
        self.assert_refused(self.run_git("push", "-q", "origin", "topic"), "secret/x")

    def test_a_clone_without_trees_can_push(self):
        self.git("checkout", "-qb", "long")
        for name in "bc":
            self.assert_done(self.commit_file(f"{name}.txt", "x\n"))
        self.git("push", "-q", "origin", "long")
        self.git("config", "uploadpack.allowFilter", "true", work=self.server)
        clone = self.scratch / "clone"
        self.git("clone", "-q", "--filter=tree:0", f"file://{self.server}", clone, work=self.scratch)
        self.git("checkout", "-qb", "topic", "origin/long~1", work=clone)
        self.galley("hook", "install", work=clone, expect=0)
        for name, is_good in (("d.txt", True), ("secret/x", False)):
            self.write(name, "x\n", work=clone)
            self.git("add", name, work=clone)
            self.git("commit", "-qnm", name, work=clone)
            missing = self.git("rev-list", "--objects", "--all", "--missing=print", work=clone).stdout
            self.assertIn(b"\n?", missing)
            result = self.run_git("push", "-q", "origin", "topic", work=clone)
            if is_good:
                self.assert_done(result)
            else:
                self.assert_refused(result, "secret/x", "no secrets")

    def test_input_that_is_not_from_git_is_an_error(self):
        result = self.galley("hook", "run", "pre-push", "origin", "url", stdin=b"nonsense\n", expect=2)
        self.assertIn(b"line 1", result.stderr)
        self.galley("hook", "run", "pre-push", "origin", "url", stdin=b"", expect=0)
        self.galley("hook", "run", "update", "refs/heads/x", expect=2)
        self.galley("hook", "run", "commit-msg", expect=2)


class HiddenCommits(HookCase):
    """The history of a harmless branch has a denied commit. Nobody judged its content."""

    def setUp(self):
        super().setUp()
        self.make_server()
        self.first = self.head()

    def merge_denied(self, how):
        """Makes the branches `merge`, which merges the denied commit, and `harmless`, whose history
        has it. Returns the denied commit."""
        self.git("checkout", "-q", "--detach", self.first)
        self.commit_file("secret/x", "x\n")
        denied = self.head()
        if how == "revert":
            self.git("checkout", "-qB", "harmless")
            self.git("revert", "--no-edit", "HEAD")
        else:
            self.git("checkout", "-qB", "harmless", self.first)
            self.git("merge", "-q", "-s", "ours", "--no-edit", denied)
        self.git("checkout", "-qB", "merge", self.first)
        self.git("merge", "-q", "--no-ff", "--no-edit", denied)
        return denied

    def test_content_that_only_the_history_of_a_branch_has_is_judged(self):
        for hook in ("pre-receive", "pre-push"):
            for how in ("revert", "ours"):
                with self.subTest(hook=hook, how=how):
                    where = self.server if hook == "pre-receive" else self.work
                    denied = self.merge_denied(how)
                    self.galley("hook", "install", "--hook", hook, work=where, expect=0)
                    self.assert_refused(self.run_git("push", "-q", "origin", "merge:main"), "secret/x")
                    self.assert_done(self.run_git("push", "-q", "origin", "harmless"))
                    self.assert_refused(self.run_git("push", "-q", "origin", "merge:main"), "secret/x")
                    self.assert_refused(self.run_git("push", "-q", "origin", "merge:new"), "secret/x")
                    for name in ("heads/denied", "tags/denied"):
                        self.assert_refused(self.run_git("push", "-q", "origin", f"{denied}:refs/{name}"), "secret/x")
                    self.galley("hook", "uninstall", work=where, expect=0)
                    self.git("push", "-q", "origin", ":harmless")

    def test_a_topic_begins_at_an_older_state_if_the_main_branch_is_not_known(self):
        self.commit_file("a.txt", "1\n")
        self.git("push", "-q", "origin", "main")
        self.git("symbolic-ref", "HEAD", "refs/heads/unborn", work=self.server)
        self.galley("hook", "install", "--hook", "pre-receive", work=self.server, expect=0)
        self.git("checkout", "-qb", "topic", self.first)
        self.commit_file("b.txt", "1\n")
        self.assert_done(self.run_git("push", "-q", "origin", "topic", f"{self.first}:refs/tags/old"))

    def test_a_branch_that_begins_inside_of_another_brings_only_its_own_content(self):
        """The hook is installed after `other` brought a denied file and other rules."""
        self.git("checkout", "-qb", "other")
        self.commit_file("secret/approved", "x\n")
        self.commit_file("galley.toml", RULES + "# other\n")
        self.commit_file("b.txt", "1\n")
        begin = self.head()
        self.commit_file("b.txt", "2\n")
        self.git("checkout", "-qb", "main2", "main")
        self.commit_file("c.txt", "c\n")
        old_main = self.head()
        self.commit_file("secret/of-main", "x\n")
        self.git("push", "-q", "origin", "other", "main2:main")
        self.galley("hook", "install", work=self.server, expect=0)
        self.assert_done(self.run_git("push", "-q", "origin", f"{old_main}:refs/tags/v1"))
        self.git("checkout", "-qb", "topic", old_main)
        self.commit_file("d.txt", "d\n")
        self.assert_done(self.run_git("push", "-q", "origin", "topic"))
        # Another galley.toml is the only thing that a branch of `other` is asked about.
        self.git("checkout", "-qb", "backport", begin)
        said = self.run_git("push", "-q", "origin", "backport")
        self.assert_refused(said, "galley.toml")
        self.assertNotIn(b"secret/approved", said.stderr)

    def test_files_of_a_branch_with_the_same_rules_are_not_new_in_a_branch_that_begins_inside_of_it(self):
        self.git("checkout", "-qb", "other")
        self.commit_file("secret/approved", "x\n")
        begin = self.head()
        self.commit_file("b.txt", "1\n")
        self.git("push", "-q", "origin", "other")
        self.galley("hook", "install", work=self.server, expect=0)
        self.git("checkout", "-qb", "backport", begin)
        self.commit_file("c.txt", "c\n")
        self.assert_done(self.run_git("push", "-q", "origin", "backport"))
        self.git("checkout", "-qb", "merge", "main")
        self.git("merge", "-q", "--no-ff", "--no-edit", begin)
        self.assert_done(self.run_git("push", "-q", "origin", "merge:main"))
        self.assert_refused(self.commit_and_push("secret/own"), "secret/own")

    def test_content_that_other_rules_let_in_is_judged_in_a_branch_that_takes_the_rules_back(self):
        self.git("checkout", "-qb", "loose")
        self.commit_file("galley.toml", "")
        begin = self.head()
        self.commit_file("secret/x", "x\n")
        self.git("push", "-q", "origin", "loose")
        self.galley("hook", "install", work=self.server, expect=0)
        for number, first in enumerate((begin, "loose")):
            self.git("checkout", "-qb", f"strict{number}", first)
            self.write("secret/x", "x\n")
            self.write("galley.toml", RULES)
            self.git("add", ".")
            self.git("commit", "-qm", "strict")
            self.assertNotEqual(self.run_git("push", "-q", "origin", f"strict{number}").returncode, 0)

    def commit_and_push(self, name):
        self.commit_file(name, "x\n")
        return self.run_git("push", "-q", "origin", "merge:main")


class Serving(HookCase):
    """There is no hook in the client: only the server refuses."""

    def setUp(self):
        super().setUp()
        self.make_server()
        self.galley("hook", "install", work=self.server, expect=0)

    def names(self):
        return {path.name for path in self.server.iterdir()}

    def objects(self):
        return {str(path) for path in (self.server / "objects").rglob("*") if path.is_file()}

    def test_a_push_is_accepted_or_refused_and_leaves_no_files(self):
        names, objects = self.names(), self.objects()
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "remote: ", "secret/x", "no secrets")
        self.assertEqual(self.objects(), objects)
        self.assertEqual(self.names(), names)
        self.git("reset", "-q", "--hard", "HEAD~")
        self.commit_file("b.txt", "b\n")
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        self.assertEqual(self.head(self.server, "main"), self.head())
        self.assertEqual(self.names(), names)

    def test_a_whole_push_is_judged_at_once(self):
        self.git("checkout", "-qb", "good")
        self.commit_file("b.txt", "b\n")
        self.git("checkout", "-qb", "bad", "main")
        self.commit_file("secret/x", "x")
        self.git("checkout", "-qb", "worse", "main")
        self.commit_file("a.json", "[")
        result = self.run_git("push", "origin", "good", "bad", "worse", "main")
        self.assert_refused(result, "refs/heads/bad", "secret/x", "refs/heads/worse", "a.json")
        self.assertEqual(self.git("branch", work=self.server).stdout, b"* main\n")
        self.assert_done(self.run_git("push", "-q", "origin", "good"))

    def test_a_change_of_the_rules_waits_for_a_person(self):
        self.write("galley.toml", "")
        self.git("add", ".")
        self.git("commit", "-qm", "no rules")
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "galley.toml", "secret/x")

    def test_a_rewound_branch_cannot_bring_old_rules_back(self):
        self.write("galley.toml", RULES + '\n[[policy.rule]]\npaths = ["new/"]\ndecision = "deny"\n')
        self.git("add", ".")
        self.git("commit", "-qm", "stricter")
        self.assert_refused(self.run_git("push", "-q", "origin", "main"), "galley.toml")
        (self.scratch / "config" / "galley" / "config.toml").write_text("edits_configuration = true\n")
        self.assert_done(self.run_git("push", "-q", "origin", "main"))
        (self.scratch / "config" / "galley" / "config.toml").write_text("")
        self.git("reset", "-q", "--hard", "HEAD~")
        self.assert_refused(self.run_git("push", "-qf", "origin", "main"), "galley.toml")

    def test_a_push_with_an_own_beginning_brings_no_rules_of_its_own(self):
        self.git("symbolic-ref", "HEAD", "refs/heads/unborn", work=self.server)
        self.git("checkout", "-q", "--orphan", "own")
        self.git("rm", "-rfq", ".")
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "origin", "own"), "refs/heads/own", "git symbolic-ref HEAD")
        self.git("symbolic-ref", "HEAD", "refs/heads/main", work=self.server)
        self.assert_refused(self.run_git("push", "-q", "origin", "own"), "secret/x", "no secrets")

    def test_a_branch_without_rules_is_judged_by_those_of_the_main_branch(self):
        self.git("checkout", "-q", "--orphan", "pages")
        self.git("rm", "-rfq", ".")
        self.commit_file("index.html", "page")
        self.assert_done(self.run_git("push", "-q", "origin", "pages"))
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", "origin", "pages"), "secret/x", "no secrets")
        self.git("reset", "-q", "--hard", "HEAD~")
        self.commit_file("more.html", "page")
        self.assert_done(self.run_git("push", "-q", "origin", "pages"))

    def test_update_judges_one_reference(self):
        self.galley("hook", "uninstall", work=self.server, expect=0)
        self.galley("hook", "install", "--hook", "update", work=self.server, expect=0)
        self.git("checkout", "-qb", "good")
        self.commit_file("b.txt", "b\n")
        self.git("checkout", "-q", "main")
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "origin", "main", "good"), "secret/x")
        self.assertEqual(self.head(self.server, "good"), self.head(ref="good"))

    def test_an_old_id_that_the_reference_does_not_have_counts_for_nothing(self):
        """The pusher names the old ids, and git compares them only after the hook."""
        self.git("checkout", "-qb", "side")
        self.commit_file("secret/x", "x")
        evil = self.head()
        self.commit_file("ok", "ok")
        top, zero = self.head(), "0" * 40
        self.git("fetch", "-q", self.work, "side", work=self.server)
        main = self.head(self.server, "main")
        # git reads a name like the last one as that commit, if there is no such reference.
        for old, new, ref in ((evil, top, "refs/heads/aa"), (evil, evil, "refs/heads/aa"), (evil, zero, "refs/heads/aa"),
                              (evil, top, "refs/heads/main"), (evil, top, f"refs/heads/aa-g{evil}")):
            pushed = evil if new == zero else new
            with self.subTest(old=old, new=new, ref=ref):
                lines = f"{old} {new} {ref}\n{zero} {pushed} refs/heads/b\n"
                result = self.galley("hook", "run", "pre-receive", work=self.server, stdin=lines.encode(), expect=1)
                self.assert_refused(result, "refs/heads/b is refused", "secret/x", "no secrets")
                if new != zero:
                    self.assertIn(f"{ref} is refused", result.stderr.decode())
        self.commit_file("b.txt", "b\n")
        self.galley("hook", "run", "pre-receive", work=self.server, stdin=f"{main} {main} refs/heads/main\n".encode(), expect=0)

    def test_the_first_push_to_an_empty_repository(self):
        empty = self.scratch / "empty.git"
        self.git("init", "-q", "--bare", empty, work=self.scratch)
        self.galley("hook", "install", work=empty, expect=0)
        self.assert_done(self.run_git("push", "-q", empty, "main"))
        self.commit_file("secret/x", "x")
        self.assert_refused(self.run_git("push", "-q", empty, "main"), "secret/x")
        self.assert_refused(self.run_git("push", "-q", empty, "main:other"), "secret/x")


if __name__ == "__main__":
    unittest.main()
