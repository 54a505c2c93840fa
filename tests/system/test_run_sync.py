"""galley sync: a live run gets what others committed meanwhile."""

import json
import os
import subprocess
import time
import unittest

from support import GALLEY
from test_run import RunCase


class Sync(RunCase):
    def setUp(self):
        super().setUp()
        (self.work / "shared.txt").write_text("a\nb\nc\nd\ne\n")

    def start(self, *options):
        """Starts a shell without a terminal that executes the lines of its input."""
        shell = subprocess.Popen([GALLEY, "-C", str(self.work), "run", *options, "--", "sh"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(shell.kill)
        self.inside(shell, "true")
        return shell

    def inside(self, shell, script):
        """Executes a line in the run and returns its output."""
        shell.stdin.write(f"{script}; echo; echo done\n".encode())
        shell.stdin.flush()
        lines = []
        while True:
            line = shell.stdout.readline()
            self.assertTrue(line, "the run ended")
            if line == b"done\n":
                return b"".join(lines)[:-1].decode()
            lines.append(line)

    def commit(self, path, text):
        self.galley("exec", "--commit", "--", "sh", "-c", f"mkdir -p $(dirname {path}); printf '{text}' > {path}", expect=0)

    def end(self, shell, status=0):
        _, said = shell.communicate(timeout=60)
        self.assertEqual(shell.returncode, status, said)

    def test_commits_of_others_come_in_when_they_are_asked_for(self):
        shell = self.start("--commit")
        self.inside(shell, "sed -i s/a/A/ shared.txt; echo mine > mine.txt")
        self.commit("shared.txt", "a\\nb\\nc\\nd\\nE\\n")
        self.commit("new/deep.txt", "new\\n")
        self.assertEqual(self.inside(shell, "cat shared.txt; ls -d new"), "A\nb\nc\nd\ne\n")
        said = json.loads(self.galley("--json", "sync", expect=0).stdout)
        self.assertEqual(said["merged"], [{"path": "shared.txt", "how": "merged by lines"}])
        self.assertEqual(said["taken"], ["new", "new/deep.txt"])
        records = [json.loads(line) for line in (self.work / ".galley" / "audit.jsonl").read_text().splitlines()]
        self.assertEqual([(one["kind"], one["tx"]) for one in records if one.get("tool") == "sync"][-1:], [("run", said["tx"])])
        self.assertEqual(self.inside(shell, "cat shared.txt new/deep.txt"), "A\nb\nc\nd\nE\nnew\n")
        self.assertEqual(self.staged(said["tx"]), "A\tmine.txt\nM\tshared.txt\n")
        self.assertIn(b"has what is on disk", self.galley("sync", said["tx"], expect=0).stdout)
        self.inside(shell, "echo more >> new/deep.txt")
        self.end(shell)
        self.assertEqual((self.work / "shared.txt").read_text(), "A\nb\nc\nd\nE\n")
        self.assertEqual((self.work / "new" / "deep.txt").read_text(), "new\nmore\n")

    def test_a_run_takes_over_what_another_live_run_committed(self):
        one, two = self.start("--name", "one", "--commit"), self.start("--name", "two", "--commit")
        self.inside(one, "sed -i s/a/A/ shared.txt; echo one > one.txt")
        self.inside(two, "sed -i s/e/E/ shared.txt; echo two > two.txt")
        tx = next(each["tx"] for each in self.open_transactions() if "one.txt" in self.staged(each["tx"]))
        self.galley("commit", "--tx", tx, expect=0)
        said = json.loads(self.galley("--json", "sync", "two", expect=0).stdout)
        self.assertEqual((said["merged"], said["taken"]), ([{"path": "shared.txt", "how": "merged by lines"}], ["one.txt"]))
        self.assertEqual(self.inside(two, "cat shared.txt one.txt"), "A\nb\nc\nd\nE\none\n")
        self.inside(one, "sed -i s/c/C/ shared.txt")
        self.end(two)
        self.assertEqual((self.work / "shared.txt").read_text(), "A\nb\nc\nd\nE\n")
        said = json.loads(self.galley("--json", "sync", "one", expect=0).stdout)
        self.assertEqual((said["merged"], said["taken"]), ([{"path": "shared.txt", "how": "merged by lines"}], ["two.txt"]))
        self.end(one)
        self.assertEqual((self.work / "shared.txt").read_text(), "A\nb\nC\nd\nE\n")
        self.assertEqual((self.work / "two.txt").read_text(), "two\n")

    def test_it_waits_until_the_program_is_idle_and_refuses_if_it_is_not(self):
        shell = self.start("--name", "mine", "--drop")
        self.commit("new.txt", "new\n")
        said = json.loads(self.galley("--json", "sync", "--wait", "60", expect=0).stdout)
        self.assertEqual((said["was_idle"], said["taken"]), (True, ["new.txt"]))
        self.inside(shell, "(until [ -e stop ]; do :; done) & echo $!")
        self.commit("newer.txt", "newer\n")
        began = time.monotonic()
        said = json.loads(self.galley("--json", "sync", "--wait", "1", expect=(1, 3)).stdout)
        self.assertGreaterEqual(time.monotonic() - began, 1)
        self.assertEqual(said["reason"], "run.busy")
        self.assertIn("not idle within 1 second", said["message"])
        said = json.loads(self.galley("--json", "sync", "--wait", "0", expect=0).stdout)
        self.assertEqual((said["was_idle"], said["taken"]), (False, ["newer.txt"]))
        busy = subprocess.Popen([GALLEY, "-C", str(self.work), "--json", "sync", "--wait", "120"], stdout=subprocess.PIPE,
                                env={**os.environ, **self.environment})
        self.inside(shell, "touch stop; wait")
        said, _ = busy.communicate(timeout=200)
        self.assertTrue(json.loads(said)["was_idle"])
        self.end(shell)

    def test_a_conflict_is_named_and_the_file_stays(self):
        shell = self.start("--name", "mine", "--drop")
        self.inside(shell, "echo mine > shared.txt")
        self.commit("shared.txt", "theirs\\n")
        said = self.galley("sync", "mine", expect=1)
        text = (said.stdout + said.stderr).decode()
        self.assertIn("theirs", text)
        self.assertIn("the run keeps these files as they were", text)
        self.assertEqual(self.inside(shell, "cat shared.txt"), "mine\n")
        self.end(shell)

    def test_a_run_that_took_over_everything_and_changed_nothing_leaves_nothing(self):
        shell = self.start()
        self.commit("new/deep.txt", "new\\n")
        self.galley("sync", expect=0)
        self.assertEqual(self.inside(shell, "cat new/deep.txt"), "new\n")
        self.end(shell)
        self.assertEqual(self.open_transactions(), [])

    def test_undo_of_the_run_leaves_what_it_took_over(self):
        shell = self.start("--commit")
        self.inside(shell, "sed -i s/a/A/ shared.txt")
        self.commit("shared.txt", "a\\nb\\nc\\nd\\nE\\n")
        self.galley("sync", expect=0)
        self.end(shell)
        self.galley("undo", expect=0)
        self.assertEqual((self.work / "shared.txt").read_text(), "a\nb\nc\nd\nE\n")

    def test_without_a_run_there_is_nothing_to_sync(self):
        self.assertIn(b"no program runs", self.galley("sync", expect=1).stderr)

    def test_it_is_refused_inside(self):
        refused = self.galley("sync", env={"GALLEY_SANDBOX": "1"}, expect=1)
        self.assertIn(b"not inside a command that Galley runs", refused.stderr)


if __name__ == "__main__":
    unittest.main()
