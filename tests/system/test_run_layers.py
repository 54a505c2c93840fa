"""galley run --layer: folders of the host that a run sees, and whose changes go to a layer.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import json
import os
import shutil
import signal

import hostile
from support import snapshot
from test_run import RunCase


class Layers(RunCase):
    def setUp(self):
        super().setUp()
        self.state = self.scratch / "state of it"
        (self.state / "sessions").mkdir(parents=True)
        (self.state / "config").write_text("old\n")
        (self.state / "sessions/first").write_text("first\n")
        self.state_before = snapshot(self.state)

    def run_in(self, script, *options, expect=0):
        """Runs a shell script whose current directory is the folder with the layer."""
        return self.galley("run", *options, "--", "sh", "-c", f"cd '{self.state}' && {{ {script}; }}", expect=expect)

    def kept(self):
        return self.open_transactions()[0]["tx"]

    # Limit: kMaxHostPathBytes of engine/stages/stored_stage.h
    def test_the_host_keeps_its_own_and_a_resumed_run_finds_the_layer(self):
        ran = self.run_in("cat config; echo new > config; rm -r sessions; mkdir logs; echo line > logs/today; cat config",
                          "--layer", self.state)
        self.assertEqual(ran.stdout, b"old\nnew\n")
        self.assertEqual(snapshot(self.state), self.state_before)
        again = self.run_in("find . ! -name . | sort; cat config logs/today; echo more >> logs/today", "--resume", self.kept())
        self.assertEqual(again.stdout, b"./config\n./logs\n./logs/today\nnew\nline\n")
        third = self.run_in("cat logs/today", "--resume", self.kept(), "--layer", self.state)
        self.assertEqual(third.stdout, b"line\nmore\n")
        self.assertEqual(snapshot(self.state), self.state_before)

    def test_the_summary_has_the_size_and_the_place_of_the_layer(self):
        ran = self.run_in("echo new > config; rm sessions/first; mkdir logs; echo a > logs/a", "--layer", self.state)
        tx = self.kept()
        place = str((self.own_state("stage") / tx / "layers/1/upper").relative_to(self.work))
        self.assertIn(f"4 paths written in {self.state}: in a layer, {place}, which goes with the transaction".encode(), ran.stderr)
        self.assertEqual((self.work / place / "config").read_text(), "new\n")
        document = json.loads(self.galley("--json", "run", "--resume", tx, "--", "true", expect=0).stdout)
        self.assertEqual(document["layers"], [{"path": str(self.state), "written": 4, "place": place}])

    def test_a_layer_that_was_only_read_is_not_mentioned(self):
        ran = self.run_in("cat config", "--layer", self.state)
        self.assertNotIn(b"layer", ran.stderr)
        self.assertEqual(self.open_transactions(), [])

    def test_a_commit_or_a_drop_removes_the_layer(self):
        for end in ("--commit", "--drop"):
            with self.subTest(end=end):
                self.run_in(f"echo new > config; echo {end} > '{self.work}/ended'", "--layer", self.state, end)
                self.assertEqual(self.open_transactions(), [])
                self.assertEqual(list(self.own_state("stage").iterdir()), [])
        self.assertEqual((self.work / "ended").read_text(), "--commit\n")
        self.assertEqual(snapshot(self.state), self.state_before)

    def test_a_resumed_run_finds_the_layer_of_a_killed_run(self):
        shell = self.shell("--layer", self.state)
        shell.type(f"echo new > '{self.state}/config'; echo is written\n")
        shell.expect(r"\nis written\r\n")
        note = self.only_note()
        self.assertEqual(note["layers"], [str(self.state)])
        self.kill_supervisor(shell, note)
        self.assertEqual(self.run_in("cat config", "--resume", note["tx"]).stdout, b"new\n")

    def test_several_layers_and_a_written_through_folder_work_together(self):
        other, through = self.scratch / "other", self.state / "through"
        other.mkdir()
        through.mkdir()
        before = snapshot(self.state)
        self.run_in(f"echo 1 > config; echo 2 > '{other}/two'; echo 3 > through/three",
                    "--layer", self.state, "--layer", other, "--allow-write", through)
        self.assertEqual((through / "three").read_text(), "3\n")
        (through / "three").unlink()
        self.assertEqual((snapshot(self.state), list(other.iterdir())), (before, []))
        self.assertEqual(self.run_in(f"cat config '{other}/two'", "--resume", self.kept()).stdout, b"1\n2\n")

    def test_modes_owners_and_links_are_those_of_the_host(self):
        (self.state / "config").chmod(0o640)
        (self.state / "link").symlink_to("config")
        ran = self.run_in("stat -c '%a %u' . config sessions; readlink link; echo x >> link; stat -c '%a %u' config",
                          "--layer", self.state, "--drop")
        user = os.geteuid()
        folder = oct(self.state.stat().st_mode & 0o7777)[2:]
        self.assertEqual(ran.stdout.decode(), f"{folder} {user}\n640 {user}\n{folder} {user}\nconfig\n640 {user}\n")

    def test_forbidden_folders_cannot_be_layers(self):
        (self.scratch / "link").symlink_to(self.work)
        for path in ("/", "/etc", "/usr", self.work, self.work / ".galley", self.work / "src", self.scratch,
                     self.scratch / "link", self.work / "new"):
            with self.subTest(path=path):
                self.galley("run", "--layer", path, "--", "true", expect=2)
        self.galley("run", *("--layer", self.state) * 17, "--", "true", expect=3)

    def test_one_folder_cannot_be_a_layer_and_written_through(self):
        both = ("--layer", self.state, "--allow-write", self.state)
        self.assertIn(b"is in a layer", self.galley("run", *both, "--", "true", expect=2).stderr)
        self.assertEqual(self.open_transactions(), [])
        self.run_in("echo new > config", "--layer", self.state)
        self.galley("run", "--resume", self.kept(), "--allow-write", self.state, "--", "true", expect=2)

    def test_a_folder_that_is_gone_is_named_when_the_run_is_resumed(self):
        self.run_in("echo new > config", "--layer", self.state)
        shutil.rmtree(self.state)
        ran = self.galley("run", "--resume", self.kept(), "--", "true", expect=1)
        self.assertIn(f"'{self.state}', over which the transaction has a layer".encode(), ran.stderr)

    def test_a_checkpoint_leaves_the_layer_to_the_run(self):
        shell = self.shell("--layer", self.state)
        shell.type(f"echo new > '{self.state}/config'; echo mine > mine.txt; echo is written\n")
        shell.expect(r"\nis written\r\n")
        self.galley("commit", "--tx", self.only_note()["tx"], expect=0)
        shell.type(f"cat '{self.state}/config'; exit 0\n")
        shell.expect(r"\nnew\r\n")
        shell.expect(r"1 path written in .*Commit, keep or drop")
        shell.type("d\n")
        self.assertEqual(shell.finish(), 0)
        self.assertEqual(snapshot(self.state), self.state_before)


if __name__ == "__main__":
    hostile.main()
