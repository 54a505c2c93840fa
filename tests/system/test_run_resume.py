"""galley run --resume on a layer that could not be staged, after commits of others.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import os
import time

import hostile
from test_run_views import ViewCase, with_lines


class OnALayerThatWasLeft(ViewCase):
    def leave(self, script):
        """Makes a run whose layer stays, because it made a FIFO. Returns its transaction."""
        self.galley("run", "--", "sh", "-ec", f"{script}; mkfifo pipe", expect=1)
        return self.open_transactions()[0]["tx"]

    def resume(self, tx, script, expect=0):
        return self.galley("run", "--resume", tx, "--commit", "--", "sh", "-ec", f"{script}; rm pipe", expect=expect)

    def test_edits_of_others_changes_in_a_resumed_run_are_not_lost(self):
        tx = self.leave("echo mine > mine")
        self.apply("sed -i s/3/three/ lines; echo theirs > theirs; rm gone")
        self.resume(tx, "sed -i s/three/3/ lines; rm theirs; echo back > gone")
        self.assertEqual((self.read("lines"), self.read("gone"), self.read("mine")), (with_lines(), "back\n", "mine\n"))
        self.assertFalse((self.work / "theirs").exists())

    def test_earlier_changes_of_a_run_are_merged_with_changes_of_others(self):
        tx = self.leave("sed -i s/1/one/ lines")
        self.apply("sed -i s/9/nine/ lines")
        shown = self.resume(tx, "cat lines; sed -i s/5/five/ lines").stdout.decode()
        self.assertTrue(shown.startswith(with_lines(l1="one")), shown)
        self.assertEqual(self.read("lines"), with_lines(l1="one", l5="five", l9="nine"))

    def test_changes_of_the_same_lines_conflict_and_both_are_kept(self):
        tx = self.leave("sed -i s/3/mine/ lines; echo mine > made")
        self.apply("sed -i s/3/theirs/ lines; rm open")
        ran = self.resume(tx, "test ! -e open; echo more > more", expect=1)
        self.assertIn(b"lines", ran.stderr)
        self.assertEqual(self.read("lines"), with_lines(l3="theirs"))
        self.assertIn(b"+mine", self.galley("diff", "--tx", tx, expect=0).stdout)
        self.assertFalse((self.work / "made").exists())
        self.assertFalse((self.work / "more").exists())

    def test_a_deletion_of_a_file_that_others_changed_is_a_named_conflict(self):
        tx = self.leave("rm read; rm -r listed; mkdir listed")
        self.apply("echo changed > read; echo changed > listed/a")
        ran = self.resume(tx, "true", expect=1)
        self.assertIn(b"read", ran.stderr)
        self.assertEqual((self.read("read"), self.read("listed/a")), ("changed\n", "changed\n"))

    def test_a_layer_can_be_left_twice_between_commits_of_others(self):
        tx = self.leave("sed -i s/1/one/ lines")
        self.apply("sed -i s/5/five/ lines; sed -i s/r/R/ read")
        self.galley("run", "--resume", tx, "--", "sh", "-ec", "sed -i s/R/r/ read; echo mine >> read", expect=1)
        self.apply("sed -i s/9/nine/ lines; echo n > new")
        self.resume(tx, "test -e new; rm new; sed -i s/3/three/ lines")
        self.assertEqual(self.read("lines"), with_lines(l1="one", l3="three", l5="five", l9="nine"))
        self.assertEqual(self.read("read"), "read\nmine\n")
        self.assertFalse((self.work / "new").exists())

    def test_a_program_that_does_not_start_leaves_the_layer_unchanged(self):
        tx = self.leave("sed -i s/1/one/ lines")
        self.apply("sed -i s/9/nine/ lines; sed -i s/r/R/ read")
        self.galley("run", "--resume", tx, "--", "no-such-program", expect=127)
        self.apply("sed -i s/8/eight/ lines; sed -i s/R/r/ read")
        self.resume(tx, "sed -i s/r/R/ read")
        self.assertEqual(self.read("lines"), with_lines(l1="one", l8="eight", l9="nine"))
        self.assertEqual(self.read("read"), "Read\n")

    def test_a_partly_removed_layer_is_not_used(self):
        tx = self.galley("begin", expect=0).stdout.decode().strip()
        layer = self.own_state("runs") / tx / "upper"
        layer.mkdir(parents=True)
        (layer / "dropped").write_text("dropped\n")
        self.galley("run", "--resume", tx, "--", "sh", "-ec", "test ! -e dropped; echo mine > mine", expect=0)
        self.assertEqual(self.staged(tx), "A\tmine\n")

    def test_gc_keeps_a_recently_written_layer(self):
        tx = self.leave("echo mine > mine")
        stage = self.own_state("stage") / tx
        for path in (stage, *stage.iterdir()):
            os.utime(path, (time.time() - 15 * 86400,) * 2)  # times of a run that took so long
        self.galley("gc", expect=0)
        self.resume(tx, "cat mine")
        self.assertEqual(self.read("mine"), "mine\n")


if __name__ == "__main__":
    hostile.main()
