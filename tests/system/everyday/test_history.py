"""The history: log, show, blame, undo, redo, and the effects of commands."""

import json
import os
import shutil
import subprocess
import unittest
from pathlib import Path

from everyday import DEADLINE_S, EverydayCase, main
from terminal_session import wait_until


def new_file(name, text="made\n"):
    lines = text.splitlines()
    return (f"--- /dev/null\n+++ b/{name}\n@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines))


class History(EverydayCase):
    def commit(self, name, text="made\n", *options):
        return self.run_here(*options, "apply", "-", stdin=new_file(name, text), expect=0)

    def document(self, *arguments, expect=0):
        return json.loads(self.run_here("--json", *arguments, expect=expect).out)

    def exec(self, script, **options):
        """Runs a command in its own transaction, and commits it."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", script, expect=0, **options)
        return self.run_here("commit", expect=0)

    # --- ids ------------------------------------------------------------------------------------

    def test_the_tenth_transaction_is_called_10(self):
        """svn: revisions are decimal numbers: 9, 10, 11."""
        for number in range(1, 13):
            self.assertIn(f"committed {number}\n", self.commit(f"f{number}.txt").out)
        self.assertIn("transaction 12  ", self.run_here("log", "-n", "1", expect=0).out)
        ids = [entry["id"] for entry in self.document("log")["transactions"]]
        self.assertEqual(ids, [str(number) for number in range(12, 0, -1)])
        self.assertIn("f10.txt", self.run_here("show", "10", expect=0).out)
        self.run_here("undo", "10", expect=0)
        self.assertFalse((self.work / "f10.txt").exists())
        self.assertTrue((self.work / "f12.txt").exists())
        self.assertEqual(self.document("log", "-n", "1")["transactions"][0]["message"], "undo 10")
        self.assertEqual(self.document("query", "SELECT id FROM log LIMIT 1")["rows"], [[13]])
        self.run_here("show", "b", expect=2)
        # The journals on disk keep their names, so that older states stay readable.
        journals = {path.name for folder in ("j", "undo") for path in (self.work / ".galley" / folder).iterdir()}
        self.assertIn("a.j", journals)

    def test_sums_of_lines_are_whole_numbers(self):
        """git: `--numstat` prints whole numbers."""
        self.commit("a.txt", "one\ntwo\n")
        (self.work / "d").mkdir()
        self.assertEqual(self.run_here("query", "SELECT sum(added), sum(removed) FROM log", expect=0).out.splitlines()[1],
                         "2\t0")
        for view in ("log", "agents", "files"):
            row = self.document("query", f"SELECT added, removed FROM {view}")["rows"][0]
            self.assertEqual([type(cell) for cell in row], [int, int], view)

    def test_status_of_several_transactions_names_their_first_paths(self):
        """git: `stash list` says what each stash is about."""
        ids = []
        for count in (2, 5):
            tx = self.run_here("begin", expect=0).out.strip()
            ids.append(tx)
            self.run_here("exec", "--tx", tx, "--", "sh", "-c", f"for i in $(seq {count}); do echo x > f{count}$i; done", expect=0)
        said = self.run_here("status", expect=0).out
        for name in ("f21", "f22", "f51", "f52", "f53"):
            self.assertIn(f"A\t{name}\n", said)
        self.assertNotIn("f54", said)
        self.assertIn(f"all: galley status --tx {ids[1]}\n", said)

    def test_every_command_counts_the_paths_that_a_diff_lists(self):
        """git: a directory is no path of its own when a file in it changed."""
        script = "mkdir -p new/deep; echo x > new/deep/f; rm -r old; echo x > kept/f"
        for folder in ("old", "kept"):
            (self.work / folder).mkdir()
            (self.work / folder / "f").write_text("f\n")
        self.run_here("begin", expect=0)
        self.assertIn("3 paths staged", self.run_here("exec", "-v", "--", "sh", "-c", script, expect=0).err)
        self.run_here("savepoint", "s", expect=0)
        self.assertIn("  3 paths\n", self.run_here("status", expect=0).out)
        self.assertIn("3 paths staged, 0 would be left", self.run_here("rollback", "-n", expect=0).err)
        self.assertEqual(len(self.run_here("diff", "--name-status", expect=0).out.splitlines()), 3)
        self.run_here("rollback", expect=0)
        said = self.run_here("exec", "--commit", "--", "sh", "-c", script, expect=0).err
        self.assertIn("committed 1: 3 paths;", said)

    def test_an_open_transaction_may_be_named_by_its_first_digits(self):
        """git: an abbreviated object name works if it is unique."""
        first = self.run_here("begin", expect=0).out.strip()
        ids = [first]
        while not any(other != first and other[0] == first[0] for other in ids):
            ids.append(self.run_here("begin", expect=0).out.strip())
        longest = max(len(os.path.commonprefix([first, other])) for other in ids if other != first)
        self.assertIn(first, self.run_here("status", "--tx", first[: longest + 1], expect=0).out)
        self.run_here("rollback", "--tx", first[: longest + 1], expect=0)
        self.assertNotIn(first, self.run_here("status", expect=0).out)
        second = next(other for other in ids if other != first)
        self.run_here("begin", expect=0)
        while True:
            fork = self.run_here("fork", "--tx", second, expect=0).out.strip()
            if fork[0] == second[0]:
                break
        said = self.run_here("rollback", "--tx", second[0], expect=2).err
        self.assertIn(second, said)
        self.assertIn(fork, said)

    # --- effects of commands ----------------------------------------------------------------------

    def test_a_rename_by_a_command_is_recorded_as_a_rename(self):
        """git: `git mv` and `mv` both show as a rename in status, log, show and blame."""
        self.commit("a/one.txt", "one\ntwo\nthree\n", "--reason", "first", "--agent", "writer")
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "mv", "a/one.txt", "b.txt", expect=0)
        diff = self.run_here("diff", expect=0).out
        self.assertIn("rename from a/one.txt\nrename to b.txt\n", diff)
        changes = {change["path"]: change for change in self.document("diff")["changes"]}
        self.assertEqual((changes["b.txt"]["operation"], changes["b.txt"]["from"]), ("rename", "a/one.txt"))
        self.run_here("commit", expect=0)
        self.assertIn("R a/one.txt => b.txt", self.run_here("log", "-n", "1", expect=0).out)
        self.assertEqual({line["id"] for line in self.document("blame", "b.txt")["lines"]}, {"1"})
        self.assertEqual(len(self.document("log", "--path", "a/one.txt")["transactions"]), 2)
        # Later changes in the moved file return to the old name.
        with open(self.work / "b.txt", "a") as file:
            file.write("four\n")
        self.run_here("undo", expect=0)
        self.assertEqual((self.work / "a" / "one.txt").read_text(), "one\ntwo\nthree\nfour\n")

    def test_a_rename_with_an_edit_by_a_command_is_recorded_as_a_rename(self):
        """git: a rename is found if half of the file is the same."""
        text = "".join(f"line {number}\n" for number in range(20))
        self.commit("old.txt", text)
        self.exec("mv old.txt new.txt && echo more >> new.txt")
        paths = self.document("show")["transaction"]["paths"]
        self.assertEqual([(path["status"], path.get("from"), path["path"]) for path in paths],
                         [("R", "old.txt", "new.txt")])
        self.run_here("undo", "--path", "new.txt", expect=0)
        self.assertEqual((self.work / "old.txt").read_text(), text)
        self.assertFalse((self.work / "new.txt").exists())

    def test_an_empty_directory_is_listed_and_undone(self):
        """sh: `mkdir` makes a directory, and the change set shows it."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "mkdir", "-p", "empty/inner", "full", expect=0)
        self.run_here("exec", "--", "sh", "-c", "echo x > full/x", expect=0)
        shown = self.run_here("diff", expect=0).out
        self.assertIn("new directory empty/inner/\n", shown)
        self.assertNotIn("new directory full/", shown)
        self.assertIn("A\tempty/inner/\n", self.run_here("diff", "--name-status", expect=0).out)
        self.assertIn(" new directory empty/inner/\n", self.run_here("commit", expect=0).out)
        self.assertIn("A empty/inner/\n", self.run_here("log", expect=0).out)
        self.assertIn("new directory empty/inner/\n", self.run_here("show", expect=0).out)
        self.exec("rm -r empty")
        self.assertIn("deleted directory empty/\n", self.run_here("show", expect=0).out)
        self.assertIn("new directory empty/inner/\n", self.run_here("undo", "-n", expect=0).out)
        self.run_here("undo", expect=0)
        self.assertTrue((self.work / "empty" / "inner").is_dir())
        self.run_here("undo", "1", expect=0)
        self.assertFalse((self.work / "empty").exists())

    @unittest.skipUnless(shutil.which("git"), "needs git")
    def test_git_applies_a_diff_with_directories(self):
        """git: `apply` skips lines that are not part of a diff."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", "mkdir empty; echo x >> README.md", expect=0)
        diff = self.run_here("diff", expect=0).out
        self.assertIn("new directory empty/", diff)
        self.git("apply", "--check", "-", stdin=diff.encode())
        self.run_here("preview", "--check", "-", stdin=diff, expect=0)

    # --- reasons ----------------------------------------------------------------------------------

    def test_a_reason_given_with_the_commit_is_kept(self):
        """git: `commit -m` gives the reason."""
        self.run_here("begin", expect=0)
        self.run_here("call", "write_file", json.dumps({"path": "n.txt", "content": "n\n"}), expect=0)
        self.run_here("commit", "--reason", "because", expect=0)
        self.assertEqual(self.document("show")["transaction"]["message"], "because")
        self.run_here("undo", "-m", "it was wrong", expect=0)
        self.assertEqual(self.document("show")["transaction"]["message"], "it was wrong")
        self.run_here("begin", "--message", "again", expect=0)
        self.run_here("call", "write_file", json.dumps({"path": "m.txt", "content": "m\n"}), expect=0)
        self.run_here("commit", "-m", "as git has it", expect=0)
        self.assertEqual(self.document("show")["transaction"]["message"], "as git has it")

    def test_a_reason_of_a_call_is_recorded_and_used_if_the_commit_has_none(self):
        """git: a message is given once."""
        self.run_here("begin", expect=0)
        self.run_here("call", "write_file", json.dumps({"path": "n.txt", "content": "n\n"}),
                      "--reason", "needs an n", expect=0)
        self.assertIn("needs an n", self.run_here("status", expect=0).out)
        self.run_here("commit", expect=0)
        self.assertEqual(self.document("show")["transaction"]["message"], "needs an n")
        calls = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([call["reason"] for call in calls if call["kind"] == "call"], ["needs an n"])

    def test_a_fork_has_its_own_reason(self):
        """git: a branch has its own description."""
        self.run_here("--reason", "one way", "begin", expect=0)
        fork = self.run_here("fork", "--reason", "another way", expect=0).out.strip()
        reasons = {stage["tx"]: stage["message"] for stage in self.document("status")["transactions"]}
        self.assertEqual(reasons.pop(fork), "another way")
        self.assertEqual(list(reasons.values()), ["one way"])

    # --- log --------------------------------------------------------------------------------------

    def test_log_takes_the_options_of_git_log(self):
        """git: `log -2 -p --stat --oneline`, `-n2`, several paths, `-- PATH`."""
        for name in ("a.txt", "b.txt", "c.txt"):
            self.commit(name, f"text of {name}\n", "--reason", f"adds {name}")
        self.assertEqual(self.run_here("log", "-2", "--oneline", expect=0).out, "3 adds c.txt\n2 adds b.txt\n")
        self.assertEqual(self.run_here("log", "-n2", "--oneline", expect=0).out, "3 adds c.txt\n2 adds b.txt\n")
        both = self.run_here("log", "-1", "-p", "--stat", expect=0).out
        self.assertIn(" c.txt | 1 +\n", both)
        self.assertIn("+text of c.txt\n", both)
        self.assertIn("+text of b.txt\n", self.run_here("log", "-p", expect=0).out)
        few = self.run_here("log", "--oneline", "--path", "a.txt", "--path", "b.txt", expect=0).out
        self.assertEqual(few, "2 adds b.txt\n1 adds a.txt\n")
        self.assertEqual(self.run_here("log", "--oneline", "--", "c.txt", expect=0).out, "3 adds c.txt\n")
        self.assertEqual(self.run_here("log", "--name-status", "-1", "--oneline", expect=0).out,
                         "3 adds c.txt\nA\tc.txt\n")

    def test_log_can_show_one_agent(self):
        """git: `log --author=NAME`."""
        self.commit("a.txt", "a\n", "--agent", "one", "--reason", "by one")
        self.commit("b.txt", "b\n", "--agent", "two", "--reason", "by two")
        self.assertEqual(self.run_here("log", "--agent", "two", "--oneline", expect=0).out, "2 by two  by two\n")
        self.assertIn("no transaction is like that", self.run_here("log", "--agent", "three", expect=0).err)

    def test_show_prints_an_old_version_of_a_file(self):
        """git: `show COMMIT:PATH` prints the file, `show COMMIT -- PATH` its part of the change."""
        self.commit("a.txt", "first\n")
        self.run_here("apply", "-", stdin="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-first\n+second\n", expect=0)
        self.assertEqual(self.run_here("show", "1:a.txt", expect=0).out, "first\n")
        self.assertEqual(self.run_here("show", "@:a.txt", expect=0).out, "second\n")
        self.assertEqual(self.document("show", "1:a.txt")["content"], "first\n")
        self.assertIn("'never.txt' did not exist just after transaction 1\n",
                      self.run_here("show", "1:never.txt", expect=(1, 2)).err)
        self.assertNotIn("second", self.run_here("show", "2", "--", "README.md", expect=0).out)
        refused = self.run_here("show", "2", "--", "never.txt", expect=2).err
        self.assertIn("transaction 2 did not change 'never.txt', and nothing is there", refused)
        self.run_here("exec", "--commit", "--", "mv", "a.txt", "b.txt", expect=0)
        self.run_here("exec", "--commit", "--", "sh", "-c", "mkdir d; echo c >d/c; ln -s d link", expect=0)
        for name in ("a.txt", "link/c"):
            said = self.run_here("show", "4" if name == "a.txt" else "2", "--", name, expect=0).err
            self.assertIn("changes nothing at the paths that were named", said)
        refused = self.run_here("show", "1", "--", ":/a.txT", cwd=self.work / "d", expect=2).err
        self.assertIn("did you mean ':/a.txt'?", refused)

    def test_show_of_a_whole_file_takes_no_options_of_a_diff(self):
        """git: `show COMMIT:PATH --stat` ignores the option."""
        self.commit("a.txt", "first\n")
        for option in ("--stat", "-U3", "--html=page.html", "b.txt"):
            said = self.run_here("show", "1:a.txt", option, expect=2)
            self.assertIn("prints a whole file", said.err)
            self.assertEqual(said.out, "")
        self.assertFalse((self.work / "page.html").exists())

    # --- undo -------------------------------------------------------------------------------------

    def test_a_redo_that_is_given_twice_changes_nothing_the_second_time(self):
        """git: reverting a revert twice is an empty commit. A redo of an undo that no longer holds would be an undo."""
        self.commit("new.txt", "n\n")
        self.run_here("undo", expect=0)
        self.run_here("redo", "2", expect=0)
        self.run_here("redo", "2", expect=2)
        self.assertEqual((self.work / "new.txt").read_text(), "n\n")
        self.run_here("undo", expect=0)
        self.run_here("redo", expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "n\n")

    def test_an_agent_takes_back_its_own_commit_unless_it_names_one(self):
        """git: `git revert` names its commit. Without a name, nobody means the commit of somebody else."""
        self.commit("bot.txt", "b\n", "--agent", "bot")
        self.commit("mine.txt", "m\n")
        self.run_here("--agent", "bot", "undo", expect=0)
        self.assertTrue((self.work / "mine.txt").exists())
        self.assertFalse((self.work / "bot.txt").exists())
        self.run_here("undo", "2", expect=0)
        self.run_here("--agent", "bot", "redo", expect=0)
        self.assertTrue((self.work / "bot.txt").exists())
        self.assertFalse((self.work / "mine.txt").exists(), "a person undid it")
        self.run_here("--agent", "bot", "undo", expect=0)
        refused = self.run_here("--agent", "bot", "undo", expect=1)
        for text in ("nothing of the agent 'bot' to undo", "`galley log`", "`galley --agent bot undo ID`"):
            self.assertIn(text, refused.err)
        self.assertIn(" redo ID`", self.run_here("--agent", "cat", "redo", expect=1).err)

    def test_permissions_that_git_does_not_store_are_told(self):
        """cp -p: all permission bits are a part of a file."""
        (self.work / "f.txt").write_text("f\n")
        (self.work / "f.txt").chmod(0o644)
        (self.work / "g.txt").write_text("g\n")
        (self.work / "g.txt").chmod(0o644)
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", "chmod 666 f.txt; chmod 755 g.txt", expect=0)
        line = "mode change 644 => 666 f.txt\n"
        said = self.run_here("diff", expect=0).out
        self.assertEqual(said, line + "diff --git a/g.txt b/g.txt\nold mode 100644\nnew mode 100755\n")
        self.assertIn(" " + line, self.run_here("diff", "--stat", expect=0).out)
        self.assertEqual(self.run_here("diff", "--name-status", expect=0).out, "M\tg.txt\nM\tf.txt\n")
        self.assertEqual(self.run_here("diff", "--numstat", expect=0).out, "0\t0\tg.txt\n0\t0\tf.txt\n")
        self.assertIn(line, self.run_here("commit", "-n", expect=0).out)
        self.run_here("commit", expect=0)
        self.assertEqual((self.work / "f.txt").stat().st_mode & 0o777, 0o666)
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", "mv f.txt h.txt; chmod 644 h.txt", expect=0)
        self.assertIn("mode change 666 => 644 h.txt\n", self.run_here("diff", expect=0).out)
        self.run_here("rollback", expect=0)

    def test_status_claims_no_count_for_a_transaction_that_is_open_elsewhere(self):
        """apt: a lock of another process is named."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "true", expect=0)
        writer = subprocess.Popen([*self.program, "exec", "--", "sh", "-c", "echo b > b.txt; echo ready; cat"],
                                  cwd=self.work, env=self.environment_of(None), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(writer.stdout.close)
        self.assertEqual(writer.stdout.readline(), b"ready\n")
        said = self.run_here("status", expect=0).out
        self.assertIn("(another process has it open)", said)
        self.assertNotIn("0 paths", said)
        writer.stdin.close()
        self.assertEqual(writer.wait(), 0)
        self.assertIn("1 path\n", self.run_here("status", expect=0).out)

    def test_a_rollback_names_the_process_that_had_the_transaction_open(self):
        """apt: a lock of another process is named."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "true", expect=0)
        writer = subprocess.Popen([*self.program, "exec", "--", "sh", "-c", "echo b > b.txt; echo ready; cat"],
                                  cwd=self.work, env=self.environment_of(None), stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(writer.stdout.close)
        self.assertEqual(writer.stdout.readline(), b"ready\n")
        rollback = subprocess.Popen([*self.program, "rollback"], cwd=self.work, env=self.environment_of(None),
                                    stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        # It sleeps between two looks at the transaction.
        wait_until(lambda: "nanosleep" in Path(f"/proc/{rollback.pid}/wchan").read_text())
        writer.stdin.close()
        said = rollback.communicate(timeout=DEADLINE_S)[1].decode()
        self.assertEqual((rollback.returncode, writer.wait()), (0, 0), said)
        self.assertIn("another process had it open; what that process staged is dropped, too", said)
        self.run_here("begin", expect=0)
        self.assertNotIn("another process", self.run_here("rollback", expect=0).err)

    def test_an_undo_says_what_it_reverted(self):
        """hg: says what it took back and how to have it again."""
        self.commit("a.txt")
        self.assertIn("undid 1; `galley redo` brings it back", self.run_here("undo", expect=0).err)
        self.assertIn("redid 1; `galley undo 3` takes it back again", self.run_here("redo", expect=0).err)
        self.assertTrue((self.work / "a.txt").exists())
        self.run_here("undo", "3", expect=0)
        self.assertFalse((self.work / "a.txt").exists())

    def test_undo_can_revert_some_paths(self):
        """git: `restore -s COMMIT PATH` restores one path; here the commit may be omitted."""
        self.run_here("apply", "-", stdin=new_file("a.txt") + new_file("b.txt") + new_file("c.txt"), expect=0)
        self.run_here("undo", "1", "a.txt", "b.txt", expect=0)
        self.assertFalse((self.work / "a.txt").exists() or (self.work / "b.txt").exists())
        self.assertTrue((self.work / "c.txt").exists())
        self.assertIn("galley undo --path c.txt", self.run_here("undo", "c.txt", expect=2).err)
        self.assertIn("undid a part of 1; `galley redo", self.run_here("undo", "--path", "c.txt", expect=0).err)

    def test_a_folder_that_became_a_link_comes_back_with_its_session(self):
        """git: `revert` brings a folder back where a link is."""
        docs = self.work / "papers"
        docs.mkdir()
        (docs / "e").write_text("1\n")
        self.run_here("--agent", "bot", "--session", "s", "exec", "--commit", "--", "sh", "-c",
                      "mv papers real; ln -s real papers", expect=0)
        self.run_here("undo", "--session", "s", expect=0)
        self.assertEqual((docs.is_symlink(), (docs / "e").read_text()), (False, "1\n"))
        self.assertFalse((self.work / "real").exists())
        self.run_here("redo", expect=0)
        self.assertTrue(docs.is_symlink() and (self.work / "real" / "e").is_file())

    def test_a_name_that_exists_is_no_pattern(self):
        """ls: a quoted name with brackets is that file."""
        paths = [self.work / folder / "p" for folder in ("[i]", "i")]
        for path in paths:
            path.parent.mkdir()
            path.write_text("1\n")
        self.run_here("exec", "--commit", "--", "sh", "-c", "echo 2 > '[i]/p'; echo 2 > i/p", expect=0)
        self.run_here("undo", "1", "[i]/p", expect=0)
        self.assertEqual([path.read_text() for path in paths], ["1\n", "2\n"])
        self.run_here("redo", expect=0)
        self.run_here("undo", "1", "[j-z]/p", expect=2)
        self.run_here("undo", "1", "[h-k]/p", expect=0)
        self.assertEqual([path.read_text() for path in paths], ["2\n", "1\n"])

    def test_show_of_a_deleted_file_names_the_way_back(self):
        """git: `show COMMIT:PATH` says that the path exists on disk, but not in the commit."""
        self.commit("a b.txt", "first\n")
        self.run_here("apply", "-", stdin='--- "a/a b.txt"\n+++ /dev/null\n@@ -1 +0,0 @@\n-first\n', expect=0)
        said = self.run_here("show", "2:a b.txt", expect=(1, 2)).err
        self.assertIn("transaction 2, which deleted it; bring it back with: galley undo 2 'a b.txt'\n", said)
        self.run_here("undo", "2", "a b.txt", expect=0)
        self.assertEqual((self.work / "a b.txt").read_text(), "first\n")
        self.run_here("apply", "-", expect=0, stdin="diff --git a/a b.txt b/c.txt\nsimilarity index 100%\n"
                      "rename from a b.txt\nrename to c.txt\n")
        said = self.run_here("show", "4:a b.txt", expect=(1, 2)).err
        self.assertIn("did not exist just after transaction 4, which moved it to 'c.txt'\n", said)

    def test_blame_shows_the_reason_in_its_line(self):
        """git: `log --oneline` shows the first line of a message."""
        self.commit("a.txt", "one\ntwo\n", "--reason", "why it is here\nmore", "--agent", "writer")
        self.commit("b.txt", "one\n", "--reason", "x" * 99 + "\x1b[31m")
        self.assertRegex(self.run_here("blame", "a.txt", expect=0).out,
                         r"^1 writer 20\d\d-\d\d-\d\d  why it is here +1\) one\n1 .*  why it is here +2\) two\n$")
        self.assertRegex(self.run_here("blame", "b.txt", expect=0).out, r"^2 20\S+  x+… +1\) one\n$")
        self.commit("c.txt", "one\n", "--reason", "ähü 中")
        self.assertRegex(self.run_here("blame", "c.txt", expect=0).out, r"^3 20\S+  ähü 中     1\) one\n$")

    def test_an_empty_history_is_reported(self):
        """git: says `your current branch does not have any commits yet`."""
        self.assertIn("nothing to undo yet", self.run_here("undo", expect=1).err)
        self.assertIn("nothing to redo yet", self.run_here("redo", expect=1).err)
        self.assertIn("nothing was committed here yet", self.run_here("log", expect=0).err)
        self.commit("a.txt")
        self.assertIn("nothing to redo", self.run_here("redo", expect=1).err)
        self.run_here("undo", expect=0)
        said = self.run_here("undo", expect=1).err
        self.assertIn("nothing to undo: every transaction was undone; `galley redo` brings", said)
        self.assertIn("; if git restored one, ", said)

    # --- open transactions ----------------------------------------------------------------------------

    def test_status_shows_every_open_transaction_and_its_owner(self):
        """gh: `pr status` shows your pull requests and those of others."""
        mine = self.run_here("begin", expect=0).out.strip()
        theirs = self.run_here("--agent", "bot", "--reason", "their work", "begin", expect=0).out.strip()
        said = self.run_here("status", expect=0).out
        self.assertIn(f"transaction {mine}  yours", said)
        self.assertIn(f"transaction {theirs}  of bot", said)
        self.assertIn("their work", said)
        seen = {stage["tx"]: stage["own"] for stage in self.document("status", "--agent", "bot")["transactions"]}
        self.assertEqual(seen, {mine: False, theirs: True})

    def test_diff_names_what_changed_on_disk_below_it(self):
        """git: `status` names a file that was modified after it was staged."""
        (self.work / "a.txt").write_text("one\n")
        self.run_here("begin", expect=0)
        self.run_here("stage", "-", stdin="--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n", expect=0)
        self.run_here("stage", "-", stdin=new_file("new.txt", "new\n"), expect=0)
        (self.work / "a.txt").touch()
        self.assertEqual(self.run_here("diff", expect=0).err, "")
        (self.work / "a.txt").write_text("six\n")
        (self.work / "new.txt").write_text("other\n")
        said = "changed on disk since the transaction read it: {}; galley commit -n shows what the commit makes of it\n"
        self.assertEqual(self.run_here("diff", expect=0).err, said.format("a.txt, new.txt"))
        self.assertEqual(self.run_here("diff", "new.txt", expect=0).err, said.format("new.txt"))
        self.assertEqual(self.run_here("diff", "--json", expect=0).err, "")

    def test_diff_can_show_some_paths(self):
        """git: `diff -- PATH`."""
        self.run_here("begin", expect=0)
        self.run_here("exec", "--", "sh", "-c", "mkdir d; echo a > d/a; echo b > d/b; echo c > c", expect=0)
        shown = self.run_here("diff", "--name-status", "--", "d/a", "c", expect=0).out
        self.assertEqual(shown, "A\tc\nA\td/a\n")
        self.assertEqual(self.run_here("diff", "--name-status", "d", expect=0).out, "A\td/a\nA\td/b\n")

    # --- after a crash --------------------------------------------------------------------------------

    def power_cut(self):
        """Commits a change, restores the old file and keeps the journal, as a power cut could."""
        before = (self.work / "README.md").read_text()
        times = os.stat(self.work / "README.md")
        patch = f"--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-{before.splitlines()[0]}\n+changed\n"
        self.run_here("apply", "--recount", "-", stdin=patch, expect=0, env={"GALLEY_BOOT_ID": "one"})
        (self.work / "README.md").write_text(before)
        os.utime(self.work / "README.md", ns=(times.st_atime_ns, times.st_mtime_ns))
        return {"GALLEY_BOOT_ID": "two"}

    def test_a_command_reports_the_repair_that_it_made(self):
        """fsck: reports what it repaired."""
        later = self.power_cut()
        said = self.run_here("status", expect=0, env=later).err
        self.assertIn("transaction 1, which a crash interrupted, was finished: 1 path\n", said)
        self.assertTrue((self.work / "README.md").read_text().startswith("changed\n"))
        self.assertNotIn("crash", self.run_here("status", expect=0, env=later).err)

    def test_a_dry_run_reports_the_repair(self):
        """fsck: -n only reports what it would repair."""
        later = self.power_cut()
        said = self.run_here("recover", "-n", expect=0, env=later).out
        self.assertIn("transaction 1, which a crash interrupted, would be finished: 1 path\n", said)
        self.assertFalse((self.work / "README.md").read_text().startswith("changed\n"))
        self.run_here("recover", expect=0, env=later)
        self.assertTrue((self.work / "README.md").read_text().startswith("changed\n"))

    def test_a_restart_alone_repairs_nothing_and_says_nothing(self):
        """fsck: prints nothing about a clean file system."""
        self.run_here("apply", "-", stdin=new_file("a.txt"), expect=0, env={"GALLEY_BOOT_ID": "one"})
        self.assertNotIn("crash", self.run_here("log", expect=0, env={"GALLEY_BOOT_ID": "two"}).err)


if __name__ == "__main__":
    main()
