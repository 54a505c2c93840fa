"""galley rollback --execution of a run whose transaction is open."""

import json
import unittest

from test_run_views import ViewCase, with_lines


class RunOfAnOpenTransaction(ViewCase):
    def run_it(self, script, *options, expect=0):
        """Makes a run that is kept. Returns its transaction, and the id of its record."""
        self.galley("run", *options, "--", "sh", "-ec", script, expect=expect)
        return self.open_transactions()[0]["tx"], self.executions()[-1]

    def executions(self):
        records = [json.loads(line) for line in (self.work / ".galley/audit.jsonl").read_text().splitlines()]
        return [one["execution_id"] for one in records if (one["kind"], one["tool"]) == ("run", "run")]

    def take_back(self, execution, *options, expect=0):
        return self.galley("rollback", "--execution", execution, *options, expect=expect)

    def test_all_changes_of_the_run_are_reverted(self):
        before = self.tree()
        tx, execution = self.run_it("sed -i s/3/three/ lines; rm gone; mv old moved; mkdir made; echo m > made/m; chmod +x script")
        self.assertIn(execution.encode(), self.take_back(execution).stderr)
        self.assertEqual(self.staged(tx), "")
        self.assertIn(b"taken back already", self.take_back(execution, expect=2).stderr)
        self.assertEqual(self.tree(), before)

    def test_commits_of_others_during_the_run_stay(self):
        tx, execution = self.run_it("sed -i s/3/three/ lines; rm gone; echo mine > open")
        self.apply("sed -i s/9/nine/ lines; echo theirs > gone; echo theirs > open")
        self.take_back(execution)
        self.assertEqual(self.staged(tx), "")
        self.galley("commit", "--tx", tx)
        self.assertEqual((self.read("lines"), self.read("gone"), self.read("open")),
                         (with_lines(l9="nine"), "theirs\n", "theirs\n"))

    def test_changes_staged_before_and_after_the_run_stay(self):
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        self.galley("exec", "--tx", tx, "--", "sh", "-c", "sed -i s/1/one/ lines; echo first > first; echo x > gone", expect=0)
        _, execution = self.run_it("sed -i s/5/five/ lines; rm first; echo run > made; rm gone", "--resume", tx)
        self.galley("exec", "--tx", tx, "--", "sed", "-i", "s/9/nine/", "lines", expect=0)
        self.take_back(execution, "--tx", tx)
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.read("lines"), self.read("first"), self.read("gone")),
                         (with_lines(l1="one", l9="nine"), "first\n", "x\n"))
        self.assertFalse((self.work / "made").exists())

    def test_a_run_that_built_on_it_is_named_and_reverted(self):
        tx, first = self.run_it("sed -i s/3/three/ lines; echo 1 > made")
        _, second = self.run_it("sed -i s/three/THREE/ lines; echo 2 > other", "--resume", tx)
        self.assertIn(second.encode(), self.take_back(first, expect=1).stderr)
        self.assertEqual(self.staged(tx), "M\tlines\nA\tmade\nA\tother\n")
        self.take_back(first, "--with-later")
        self.assertEqual(self.staged(tx), "")

    def test_changes_committed_by_a_checkpoint_stay_and_the_rest_is_reverted(self):
        shell, tx = self.start()
        shell.do("sed -i s/1/one/ lines; echo 1 > made")
        self.galley("commit", "--tx", tx, expect=0)
        shell.do("sed -i s/9/nine/ lines; echo 2 > other")
        self.staged(tx)  # listing the staged changes in between is not a part of it
        shell.do("echo 3 >> made")
        shell.finish()
        self.take_back(self.executions()[-1])
        self.assertEqual(self.staged(tx), "")
        self.assertEqual((self.read("lines"), self.read("made")), (with_lines(l1="one"), "1\n"))
        self.take_back(self.executions()[0])  # this is the part that the checkpoint committed
        self.assertEqual(self.read("lines"), with_lines())
        self.assertFalse((self.work / "made").exists())

    def test_a_run_resumed_after_a_failed_staging_can_be_reverted(self):
        self.galley("run", "--", "sh", "-ec", "sed -i s/1/one/ lines; mkfifo pipe", expect=1)
        tx = self.open_transactions()[0]["tx"]
        _, execution = self.run_it("rm pipe", "--resume", tx)
        self.take_back(execution)
        self.assertEqual(self.staged(tx), "")

    def test_reverting_a_live_run_is_refused_by_name(self):
        shell, tx = self.start()
        shell.do("echo 1 > made")
        self.staged(tx)
        begun = json.loads((self.work / ".galley/audit.jsonl").read_text().splitlines()[0])["execution_id"]
        refused = self.take_back(begun.removesuffix("-begun"), "--tx", tx, expect=1)
        self.assertIn(f"stop {tx}".encode(), refused.stderr)
        self.assertEqual(shell.do("cat made"), "1\n")
        shell.finish()


if __name__ == "__main__":
    unittest.main()
