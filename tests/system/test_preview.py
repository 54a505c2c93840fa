"""Preview: exactly the effect of apply, and no trace on the disk."""

import fcntl
import json
import os
import subprocess
import unittest

from support import GALLEY, PATCH_OPTIONS, PATCHES, SystemCase, good_patches, need_own_mounts, snapshot


class ShownFile(SystemCase):
    def test_an_earlier_file_does_not_depend_on_what_is_there_today(self):
        self.galley("apply", stdin=b'{"path": "p", "content": "earlier\\n"}', expect=0)
        (self.work / "p").unlink()
        os.mkfifo(self.work / "p")
        self.assertEqual(self.galley("show", "1:p", expect=0).stdout, b"earlier\n")


class Preview(SystemCase):
    def everything(self):
        return snapshot(self.work, with_times=True, skip=())

    def test_preview_leaves_the_tree_bit_identical(self):
        before = self.everything()
        for patch in good_patches() + sorted((PATCHES / "refused").glob("*.patch")):
            with self.subTest(patch=patch.name):
                self.galley("preview", *PATCH_OPTIONS.get(patch.name, []), patch, expect=(0, 1))
                self.assertEqual(self.everything(), before)
                self.assertFalse((self.work / ".galley").exists())

    def test_diff_is_what_apply_commits(self):
        for patch in good_patches():
            with self.subTest(patch=patch.name):
                options = PATCH_OPTIONS.get(patch.name, [])
                shown = self.galley("preview", *options, patch, expect=0).stdout.decode()
                asked = json.loads(self.galley("--json", "preview", *options, patch, expect=0).stdout)
                applied = json.loads(self.galley("--json", "apply", *options, patch, expect=0).stdout)
                shown_later = self.galley("show", applied["receipt"]["id"], expect=0).stdout
                self.galley("undo", expect=0)
                self.assertEqual(asked["diff"], shown)
                self.assertEqual(applied["diff"], shown)
                self.assertEqual(applied["proposal"], asked["proposal"])
                self.assertIn(shown, shown_later.decode())

    def test_preview_works_in_a_tree_that_cannot_be_written(self):
        # Root may write anywhere, so the test uses a read-only mount instead of mode bits.
        script = f"mount --bind {self.work} {self.work} && mount -o remount,ro,bind {self.work} && exec \"$@\""
        need_own_mounts()
        result = subprocess.run(
            ["unshare", "-Urm", "sh", "-c", script, "sh", GALLEY, "-C", str(self.work), "preview",
             str(PATCHES / "good" / "01-discounts.patch")],
            capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn(b"parcels/discount.py", result.stdout)

    def test_a_read_only_history_can_be_read_unless_a_commit_needs_recovery(self):
        need_own_mounts()
        self.galley("apply", PATCHES / "good" / "01-discounts.patch", expect=0)
        self.assertTrue((self.work / ".galley/j/1.j").exists())
        other_boot = self.scratch / "boot"
        other_boot.write_text("01234567-89ab-cdef-0123-456789abcdef\n")
        read_only = f"mount --bind {self.work} {self.work} && mount -o remount,ro,bind {self.work} && "
        crashed = f"mount --bind {other_boot} /proc/sys/kernel/random/boot_id && "

        def run(script, *command):
            return subprocess.run(["unshare", "-Urm", "sh", "-c", script + 'exec "$@"', "sh", GALLEY, "-C", str(self.work),
                                   *command], capture_output=True, check=False)

        tx = self.galley("begin", expect=0).stdout.decode().strip()
        self.galley("call", "Write", '{"file_path": "new.txt", "content": "new"}', expect=0)
        for command, text in ((["status"], "A\tnew.txt"), (["agents", "status"], "stages 1 file"), (["diff"], "+new")):
            with self.subTest(command):
                result = run(read_only, *command)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertIn(text, result.stdout.decode())
        self.assertNotEqual(run(read_only, "commit").returncode, 0)
        self.galley("rollback", "--tx", tx, expect=0)
        for command in (["log"], ["status"], ["show", "1"], ["blame", "parcels/discount.py"], ["turns"],
                        ["doctor"], ["audit", "verify"], ["recover", "-n"]):
            with self.subTest(command):
                result = run(read_only, *command)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        result = run(read_only + crashed, "log")  # after a reboot
        self.assertEqual(result.returncode, 0, result.stderr)
        journal = self.work / ".galley/j/1.j"
        whole = journal.read_bytes()
        journal.write_bytes(whole[:-1])  # without the note that the commit is completed
        refused = run(read_only + crashed, "log")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn(b"'.galley/j/1.j' is on a read-only file system", refused.stderr)
        with open(self.work / ".galley/lock", "rb") as lock:  # a writer that sees the disk elsewhere
            fcntl.flock(lock, fcntl.LOCK_EX)
            result = run(read_only + crashed, "log")
            self.assertEqual(result.returncode, 0, result.stderr)
        journal.write_bytes(whole[:100] + bytes([whole[100] ^ 1]) + whole[101:])
        refused = run(read_only + crashed, "log")
        self.assertEqual(refused.returncode, 3, refused.stderr)
        self.assertIn(b"the journal of transaction 1 was committed and is damaged now", refused.stderr)


if __name__ == "__main__":
    unittest.main()
