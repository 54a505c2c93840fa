"""Recovery, undo and new files for all users: root and another user, unusual modes, groups and
ACLs."""

import itertools
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import unittest

import hostile
from hostile import IS_ROOT
from support import GALLEY, snapshot

SOMEBODY = 12345
SOME_GROUP = 23456

USER_OBJECT, USER, GROUP_OBJECT, MASK, OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
NO_ID = 0xFFFFFFFF
ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"


def acl(*entries):
    """Returns the bytes of an ACL, as in linux/posix_acl_xattr.h."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


SHARED = acl((USER_OBJECT, 7, NO_ID), (USER, 7, SOMEBODY), (GROUP_OBJECT, 5, NO_ID), (MASK, 7, NO_ID),
             (OTHER, 0, NO_ID))
OF_FILE = acl((USER_OBJECT, 6, NO_ID), (USER, 6, SOMEBODY), (GROUP_OBJECT, 4, NO_ID), (MASK, 6, NO_ID),
              (OTHER, 0, NO_ID))

NEW_FILES = """diff --git a/new.txt b/new.txt
new file mode 100644
--- /dev/null
+++ b/new.txt
@@ -0,0 +1 @@
+text
diff --git a/run.sh b/run.sh
new file mode 100755
--- /dev/null
+++ b/run.sh
@@ -0,0 +1 @@
+true
diff --git a/made/below/deep.txt b/made/below/deep.txt
new file mode 100644
--- /dev/null
+++ b/made/below/deep.txt
@@ -0,0 +1 @@
+deep
"""


def facts(path):
    """Returns all facts that decide who may access a path."""
    info = os.lstat(path)
    names = sorted(os.listxattr(path, follow_symlinks=False))
    values = {name: os.getxattr(path, name, follow_symlinks=False) for name in names
              if name.startswith(("system.posix_acl", "user."))}
    return {"mode": oct(stat.S_IMODE(info.st_mode)), "uid": info.st_uid, "gid": info.st_gid, **values}


def facts_below(root):
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in (".git", ".galley")]
        for name in folders + files:
            path = os.path.join(folder, name)
            found[os.path.relpath(path, root)] = facts(path)
    return found


class NewFiles(hostile.HostileCase):
    """galley apply makes files with the same rights as git apply: umask, set-group-id folders,
    default ACLs."""

    def compare(self, umask, prepare):
        made = {}
        for program in ("git", "galley"):
            work = self.scratch / program
            work.mkdir()
            prepare(work)
            patch = self.scratch / "new.patch"
            patch.write_text(NEW_FILES)
            if program == "git":
                subprocess.run(["git", "apply", patch], cwd=work, check=True, umask=umask)
            else:
                self.galley("apply", patch, work=work, umask=umask, expect=0)
            made[program] = facts_below(work)
            shutil.rmtree(work)
        self.assertEqual(sorted(made["git"]), ["made", "made/below", "made/below/deep.txt", "new.txt", "run.sh"])
        self.assertEqual(made["galley"], made["git"])

    def test_files_of_runs_and_commands_follow_the_umask(self):
        for number, words in enumerate((["run", "--commit", "--"], ["exec", "--commit", "--"])):
            for umask in (0o022, 0o002, 0o077):
                with self.subTest(words=words, umask=oct(umask)):
                    work = self.scratch / f"umask-{number}-{umask:o}"
                    work.mkdir()
                    if words[0] == "exec":
                        self.galley("begin", work=work, umask=umask, expect=0)
                    self.galley(*words, "sh", "-c", "echo 1 > new; mkdir folder; echo 1 > folder/x",
                                work=work, umask=umask, expect=0)
                    modes = [(work / name).stat().st_mode & 0o777 for name in ("new", "folder")]
                    self.assertEqual(modes, [0o666 & ~umask, 0o777 & ~umask])

    def test_new_files_follow_the_umask(self):
        for umask in (0o022, 0o002, 0o027, 0o077, 0):
            with self.subTest(umask=oct(umask)):
                self.compare(umask, lambda work: None)

    def test_new_files_follow_a_set_group_id_folder(self):
        def prepare(work):
            if IS_ROOT:
                os.chown(work, -1, SOME_GROUP)
            work.chmod(0o2775)
        for umask in (0o022, 0o002):
            with self.subTest(umask=oct(umask)):
                self.compare(umask, prepare)

    def test_new_files_follow_a_default_acl(self):
        def prepare(work):
            os.setxattr(work, DEFAULT, SHARED)
        for umask in (0o022, 0o077):
            with self.subTest(umask=oct(umask)):
                self.compare(umask, prepare)

    def test_new_files_follow_a_default_acl_without_names(self):
        def prepare(work):
            os.setxattr(work, DEFAULT, acl((USER_OBJECT, 7, NO_ID), (GROUP_OBJECT, 5, NO_ID), (OTHER, 1, NO_ID)))
        self.compare(0o077, prepare)


class UndoOfADeletion(hostile.HostileCase):
    def delete(self, path):
        self.galley("begin", expect=0)
        self.galley("call", "Delete", json.dumps({"path": path}), expect=0)
        self.galley("commit", expect=0)

    def test_undo_restores_owner_group_acl_and_attributes(self):
        path = self.work / "kept.txt"
        path.write_text("kept\n")
        if IS_ROOT:
            os.chown(path, SOMEBODY, SOME_GROUP)
        path.chmod(0o640)
        os.setxattr(path, ACCESS, OF_FILE)
        os.setxattr(path, "user.note", b"mine")
        before = facts(path)
        self.delete("kept.txt")
        self.assertFalse(path.exists())
        result = self.galley("undo", expect=0)
        self.assertEqual(facts(path), before, result.stderr)
        self.assertEqual(path.read_text(), "kept\n")

    def test_undo_restores_an_attribute_of_a_read_only_file(self):
        path = self.work / "kept.txt"
        path.write_text("kept\n")
        os.setxattr(path, "user.note", b"mine")
        os.setxattr(path, ACCESS, acl((USER_OBJECT, 4, NO_ID), (USER, 4, SOMEBODY), (GROUP_OBJECT, 4, NO_ID),
                                      (MASK, 4, NO_ID), (OTHER, 0, NO_ID)))
        before = facts(path)
        self.delete("kept.txt")
        self.galley("undo", expect=0)
        self.assertEqual(facts(path), before)


class ReadOnly(hostile.HostileCase):
    def commit(self, *calls):
        for tool, arguments in calls:
            self.galley("call", tool, json.dumps(arguments), expect=0)
        self.galley("commit", expect=0)

    def test_a_folder_that_a_commit_closed_can_be_undone(self):
        folder = self.work / "d"
        folder.mkdir()
        (folder / "f").write_text("f\n")
        before = snapshot(self.work)
        self.galley("begin", expect=0)
        self.commit(("Write", {"file_path": "d/n", "content": "n\n"}), ("Chmod", {"path": "d", "mode": "0500"}))
        self.assertEqual(stat.S_IMODE(folder.stat().st_mode), 0o500)
        self.assertTrue((folder / "n").exists())
        self.galley("undo", expect=0)
        self.assertEqual(snapshot(self.work), before)

    def test_a_new_closed_folder_can_be_undone_and_redone(self):
        before = snapshot(self.work)
        self.galley("begin", expect=0)
        self.commit(("Write", {"file_path": "d/e/n", "content": "n\n"}), ("Chmod", {"path": "d/e", "mode": "0500"}),
                    ("Chmod", {"path": "d", "mode": "0555"}))
        after = snapshot(self.work)
        self.galley("undo", expect=0)
        self.assertEqual(snapshot(self.work), before)
        self.galley("redo", expect=0)
        self.assertEqual(snapshot(self.work), after)

    def test_the_remedy_for_a_folder_without_rights_makes_its_undo_work(self):
        if IS_ROOT:
            return  # root can access everything
        for mode, is_new in itertools.product(("0000", "0600", "0100"), (True, False)):
            with self.subTest(mode=mode, is_new=is_new):
                subprocess.run(["chmod", "-R", "u+rwx", self.work], check=True)
                shutil.rmtree(self.work)
                self.work.mkdir()
                if not is_new:
                    self.write("d/f", "old\n")
                    (self.work / "d").chmod(0o755)
                before = snapshot(self.work)
                self.galley("begin", expect=0)
                self.commit(("Write", {"file_path": "d/n", "content": "n\n"}), ("Chmod", {"path": "d", "mode": mode}))
                undone = self.galley("undo", expect=(0, 3)).stderr.decode()
                remedy = re.search(r"then repeat the command: (chmod .*)", undone)
                if remedy:
                    subprocess.run(["sh", "-c", remedy[1]], cwd=self.work, check=True)
                    self.galley("undo", expect=0)
                self.assertEqual(snapshot(self.work), before, undone)

    def test_a_closed_folder_that_stays_closed_is_refused_beforehand(self):
        if IS_ROOT:
            return  # root can access everything
        folder = self.work / "d"
        folder.mkdir()
        (folder / "f").write_text("old\n")
        folder.chmod(0o500)
        before = snapshot(self.work)
        result = self.galley("apply", "-", stdin=b"--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-old\n+new\n", expect=3)
        self.assertIn("d", result.stderr.decode())
        self.assertEqual(snapshot(self.work), before)
        self.galley("status", expect=0)
        folder.chmod(0o700)
        self.galley("apply", "-", stdin=b"--- a/d/f\n+++ b/d/f\n@@ -1 +1 @@\n-old\n+new\n", expect=0)


FILES = 300
KILLS = 8


class Killed(hostile.HostileCase):
    """SIGKILL during a commit: at any call, the next command finds the old tree or the new one."""

    def test_a_killed_commit_with_read_only_files_leaves_the_old_or_the_new_tree(self):
        shutil.rmtree(self.work)
        self.work.mkdir()
        patch = []
        for i in range(FILES):
            name = f"d{i % 5}/f{i}"
            path = self.write(name, f"file {i}\nold\n")
            path.chmod((0o444, 0o555, 0o400, 0o500)[i % 4])
            patch.append(f"--- a/{name}\n+++ b/{name}\n@@ -1,2 +1,2 @@\n file {i}\n-old\n+new\n")
        file = self.scratch / "all.patch"
        file.write_text("".join(patch))
        old = snapshot(self.work)
        self.galley("apply", file, expect=0)
        new = snapshot(self.work)
        self.galley("undo", expect=0)
        self.assertEqual(snapshot(self.work), old)
        for kill in range(KILLS):
            process = subprocess.Popen(
                [GALLEY, "-C", str(self.work), "apply", str(file)], env={**os.environ, **self.environment},
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                process.wait(0.01 * (kill + 1))
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            self.galley("log", expect=0)
            tree = snapshot(self.work)
            self.assertIn(tree, (old, new), f"kill {kill}: a mix")
            if tree == new:
                self.galley("undo", expect=0)
                self.assertEqual(snapshot(self.work), old)


if __name__ == "__main__":
    hostile.main()
