"""galley gc during runs: files that a run needs stay, leftovers of a killed run are removed.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json

import hostile
from test_run_views import ViewCase


class Garbage(ViewCase):
    @property
    def graveyard(self):
        return self.own_state("runs") / "graveyard"

    def gc(self, *options):
        cleared = json.loads(self.galley("--json", "gc", *options, expect=0).stdout)["cleared"]
        # Other programs on this machine kill commands too.
        return [one["what"] for one in cleared if "left by a command" not in one["what"]]

    def kill(self, shell, tx):
        note = next(one for one in self.notes() if one["tx"] == tx)
        self.assertEqual(self.kill_supervisor(shell, note), 3)

    def test_a_live_run_loses_nothing(self):
        shell, tx = self.start()
        shell.do("echo mine > mine; sed -i s/3/three/ lines")
        self.apply("rm -r tree")
        self.assertEqual(self.gc(), [])
        self.assertEqual(shell.do("cat tree/deep/x mine"), "x\nmine\n")
        self.assertEqual(self.staged(tx), "M\tlines\nA\tmine\n")

    def test_changes_of_a_killed_run_are_staged_and_its_garbage_is_removed(self):
        shell, tx = self.start()
        shell.do("echo mine > mine")
        self.apply("rm -r tree")
        self.kill(shell, tx)
        self.assertTrue(any(self.graveyard.iterdir()))
        said = self.gc("--dry-run")
        self.assertIn("removed directories that runs had shown", said)
        self.assertTrue(any(self.graveyard.iterdir()))
        self.assertEqual(self.gc(), said)
        self.assertFalse(self.graveyard.exists())
        self.assertEqual(self.staged(tx), "A\tmine\n")
        self.galley("commit", "--tx", tx, expect=0)
        self.assertEqual((self.read("mine"), (self.work / "tree").exists()), ("mine\n", False))

    def test_directories_that_another_run_still_shows_stay(self):
        (shell, tx), (other, _) = self.start(name="mine"), self.start(name="other")
        self.apply("rm -r tree")
        self.kill(shell, tx)
        self.assertEqual(self.gc(), [])
        self.assertEqual(other.do("cat tree/deep/x"), "x\n")


if __name__ == "__main__":
    hostile.main()
