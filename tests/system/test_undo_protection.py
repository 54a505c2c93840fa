"""An undo gives no user more rights than before. It reports what it cannot restore.

Runs as root and as a plain user (`hostile.main`)."""

import os
import struct
import unittest

import hostile
from support import SystemCase


def mode_of(path):
    return oct(path.stat().st_mode & 0o7777)


class Protection(SystemCase):
    def commit(self, script):
        """Commits the changes of a script, behind the sandbox's walls."""
        self.need_walls()
        self.galley("run", "--commit", "--", "sh", "-ec", script, expect=0)

    def test_undo_restores_the_sticky_and_setgid_bits_of_a_folder(self):
        for mode in (0o1777, 0o2770, 0o3775, 0o755):
            with self.subTest(mode=oct(mode)):
                folder = self.work / "shared"
                folder.mkdir(exist_ok=True)
                (folder / "file").write_text("text\n")
                folder.chmod(mode)
                self.commit("rm -r shared")
                self.assertFalse(folder.exists())
                undone = self.galley("undo", expect=0)
                self.assertEqual(mode_of(folder), oct(mode))
                self.assertNotIn(b"could not be given", undone.stderr)
                self.galley("redo", expect=0)
                self.assertFalse(folder.exists())

    @unittest.skipIf(os.geteuid() == 0, "root reads every file")
    def test_undo_of_a_taken_right_to_read_says_the_way_out(self):
        (self.work / "file").write_text("text\n")
        (self.work / "file").chmod(0o640)
        self.commit("echo more >> file; echo new > new; chmod 000 file")
        said = self.galley("undo", expect=3).stderr.decode()
        self.assertIn("cannot open file: Permission denied; make it readable, then repeat the command: chmod 640 file\n", said)
        (self.work / "file").chmod(0o640)
        self.galley("undo", expect=0)
        self.assertEqual(((self.work / "file").read_text(), (self.work / "new").exists()), ("text\n", False))

    def test_a_moved_folder_keeps_its_sticky_and_setgid_bits(self):
        for mode in (0o1777, 0o2770, 0o3775, 0o755):
            with self.subTest(mode=oct(mode)):
                folder, moved = self.work / f"shared{mode}", self.work / f"moved{mode}"
                (folder / "in").mkdir(parents=True)
                (folder / "in" / "file").write_text(f"text {mode}\n")
                (folder / "in").chmod(mode)
                folder.chmod(mode)
                self.commit(f"mv shared{mode} moved{mode}")
                self.assertEqual((mode_of(moved), mode_of(moved / "in")), (oct(mode), oct(mode)))
                self.galley("undo", expect=0)
                self.assertEqual((mode_of(folder), mode_of(folder / "in")), (oct(mode), oct(mode)))

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_a_moved_folder_of_another_user_is_whole_after_a_restart(self):
        folder = self.work / "old"
        (folder / "in").mkdir(parents=True)
        (folder / "in" / "file").write_text("text\n")
        for path in (folder, folder / "in", folder / "in" / "file"):
            os.chown(path, 12345, 12345)
        os.setxattr(folder, "security.note", b"of the system")
        self.galley("begin", expect=0)
        self.galley("call", "Move", '{"source": "old", "destination": "new"}', expect=0)
        self.galley("commit", expect=0)
        self.assertEqual(os.getxattr(self.work / "new", "security.note"), b"of the system")
        self.galley("status", expect=0, env={"GALLEY_BOOT_ID": "another"})
        self.galley("undo", expect=0, env={"GALLEY_BOOT_ID": "another"})
        self.galley("status", expect=0, env={"GALLEY_BOOT_ID": "a third"})
        self.assertEqual((folder.stat().st_uid, os.getxattr(folder, "security.note")), (12345, b"of the system"))

    @unittest.skipUnless(os.geteuid() == 0, "only root can set a capability")
    def test_a_file_capability_goes_only_with_the_content(self):
        tool, capability = self.work / "tool", struct.pack("<5I", 0x02000001, 1 << 13, 0, 0, 0)  # cap_net_raw+ep
        tool.write_text("#!/bin/sh\n")
        os.link(tool, self.work / "other")
        os.setxattr(tool, "security.capability", capability)
        self.galley("begin", expect=0)
        self.galley("call", "Chmod", '{"path": "tool", "mode": "0700"}', expect=0)
        self.galley("commit", expect=0)
        self.assertEqual((mode_of(tool), os.getxattr(tool, "security.capability")), ("0o700", capability))
        self.commit("rm tool")
        self.galley("undo", expect=0)
        self.assertEqual(os.getxattr(tool, "security.capability"), capability)
        self.galley("apply", stdin=b"--- a/tool\n+++ b/tool\n@@ -1 +1 @@\n-#!/bin/sh\n+#!/bin/bash\n", expect=0)
        self.assertEqual(os.listxattr(tool), [])

    def test_undo_reports_a_file_that_lost_its_setuid_bit(self):
        tool = self.work / "tool"
        tool.write_text("#!/bin/sh\n")
        tool.chmod(0o4755)
        self.commit("rm tool")
        undone = self.galley("undo", expect=0)
        self.assertEqual(mode_of(tool), "0o755")
        self.assertIn(b"'tool' could not be given its setuid bit", undone.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "only root can be somebody else")
    def test_a_file_of_a_foreign_group_gets_no_new_readers(self):
        user, own, other = 12345, 12345, 12346
        secret = self.work / "secret"
        secret.write_text("one\ntwo\n")
        os.chown(self.work, user, own)
        os.chown(secret, user, other)
        secret.chmod(0o640)
        os.chmod(self.work.parent, 0o755)
        member = {"user": user, "group": own, "extra_groups": [], "env": {"HOME": str(self.work), "TMPDIR": "/tmp"}}
        patch = b"--- a/secret\n+++ b/secret\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n"
        applied = self.galley("apply", stdin=patch, expect=0, **member)
        self.assertIn(b"its group 12346", applied.stderr)
        self.assertEqual((mode_of(secret), secret.stat().st_gid), ("0o600", own))
        undone = self.galley("undo", expect=0, **member)
        self.assertEqual(secret.read_text(), "one\ntwo\n")
        self.assertEqual((mode_of(secret), secret.stat().st_gid), ("0o600", own))
        self.assertIn(b"its group 12346", undone.stderr)

    def test_an_attribute_set_since_the_commit_stays(self):
        plain = self.work / "plain"
        plain.write_text("one\n")
        plain.chmod(0o644)
        self.galley("apply", stdin=b"--- a/plain\n+++ b/plain\n@@ -1 +1 @@\n-one\n+ONE\n", expect=0)
        os.setxattr(plain, "user.note", b"later")
        undone = self.galley("undo", expect=0)
        self.assertEqual((plain.read_text(), os.getxattr(plain, "user.note")), ("one\n", b"later"))
        self.assertNotIn(b"could not be given", undone.stderr)


if __name__ == "__main__":
    hostile.main()
