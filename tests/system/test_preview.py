"""Preview: exactly the effect of apply, and no trace on the disk."""

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


if __name__ == "__main__":
    unittest.main()
