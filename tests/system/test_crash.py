"""kill -9 in the middle of an apply: the next command finds the old tree or the new one."""

import os
import random
import shutil
import signal
import subprocess
import time
import unittest

from support import GALLEY, SystemCase, snapshot

FILES = 1000


class KillNine(SystemCase):
    def make_tree(self):
        for path in list(self.work.iterdir()):
            if path.is_symlink() or path.is_file():
                path.unlink()
            else:
                shutil.rmtree(path)
        patch = []
        for i in range(FILES):
            folder = self.work / f"d{i % 20}"
            folder.mkdir(exist_ok=True)
            (folder / f"f{i}.txt").write_text(f"file {i}\nold\n")
            patch.append(f"--- a/d{i % 20}/f{i}.txt\n+++ b/d{i % 20}/f{i}.txt\n@@ -1,2 +1,2 @@\n file {i}\n-old\n+new\n")
        for i in range(50):
            patch.append(f"--- /dev/null\n+++ b/new{i % 5}/g{i}.txt\n@@ -0,0 +1 @@\n+made\n")
        file = self.scratch / "thousand.patch"
        file.write_text("".join(patch))
        return file

    def test_leaves_the_old_tree_or_the_new(self):
        patch = self.make_tree()
        old = snapshot(self.work)
        began = time.monotonic()
        self.galley("apply", patch, expect=0)
        whole = time.monotonic() - began
        new = snapshot(self.work)
        self.galley("undo", expect=0)
        self.assertEqual(snapshot(self.work), old)
        seed = int(os.environ.get("GALLEY_SEED", random.SystemRandom().randrange(1 << 32)))
        chance = random.Random(seed)
        rounds = 100 if os.environ.get("GALLEY_STRESS") else 10
        seen = []
        for number in range(rounds):
            process = subprocess.Popen(
                [GALLEY, "-C", str(self.work), "apply", str(patch)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(chance.uniform(0, whole))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            self.galley("log", expect=0)
            tree = snapshot(self.work)
            self.assertIn(tree, (old, new), f"seed {seed}, round {number}: a mix")
            seen.append(tree == new)
            if tree == new:
                self.galley("undo", expect=0)
                self.assertEqual(snapshot(self.work), old, f"seed {seed}, round {number}: undo")
        # For some seconds, files that the commit caught are kept for late writers. No other files
        # may be left.
        self.galley("gc", expect=0)
        state = self.work / ".galley"
        kept = {path.stem for path in (state / "j").iterdir()}
        slots = {path.name for path in (state / "slot").iterdir()} if (state / "slot").exists() else set()
        self.assertLessEqual(slots, kept, f"seed {seed}")

    def test_a_stage_that_lost_its_contents_is_named(self):
        for name in ("overlay", "about"):
            transaction = self.galley("begin", expect=0).stdout.decode().strip()
            self.galley("stage", stdin=b"--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n", expect=0)
            for path in (self.work / ".galley" / "stage").rglob(name):
                path.write_bytes(b"")  # as after a power cut
            command = f"rollback --tx {transaction}"
            self.assertIn(command, self.galley("status", expect=0).stderr.decode())
            self.assertIn(command, self.galley("doctor", expect=1).stdout.decode())
            self.galley(*command.split(), expect=0)
            self.galley("doctor", expect=0)

    def test_a_killed_stager_leaves_nothing_but_what_gc_clears(self):
        before = snapshot(self.work)
        self.galley("begin", expect=0)
        stages = self.own_state("stage")
        process = subprocess.Popen(
            [GALLEY, "-C", str(self.work), "call", "Write", "-"], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.stdin.write(b'{"file_path": "README.md",')
        process.stdin.flush()
        process.kill()
        process.wait()
        process.stdin.close()
        self.galley("rollback", expect=0)
        self.assertEqual(snapshot(self.work), before)
        self.assertEqual(list(stages.iterdir()) if stages.exists() else [], [])


if __name__ == "__main__":
    unittest.main()
