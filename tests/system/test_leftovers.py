"""Folders below $TMPDIR that killed commands left. gc recognizes and removes them, and no other
folders.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import os
import signal
import subprocess

import hostile
from support import GALLEY, ROOT, SystemCase, need_own_mounts
from terminal_session import wait_until

GATE = '[[validator]]\nname = "slow"\ncommand = ["sh", "-c", "sleep 1000"]\n'


class Leftovers(SystemCase):
    def setUp(self):
        super().setUp()
        self.need_walls()
        self.scratch.chmod(0o711)  # `nobody` must reach the copy: otherwise its command ends at once
        self.temporary = self.scratch / "tmp"
        self.temporary.mkdir()
        self.environment["TMPDIR"] = str(self.temporary)
        (self.work / "galley.toml").write_text(GATE)
        self.git("init", "-q")

    def homes(self):
        return {one.name for one in self.temporary.iterdir()}

    def marked_homes(self):
        return {name for name in self.homes() if (self.temporary / name / "held-by-galley").exists()}

    def killed(self, *words, program=(GALLEY,)):
        """Starts a command that hangs in its sandbox. Returns it and the folders that it has made
        and marked: without the mark, a folder may be anybody's."""
        before = self.homes()
        process = subprocess.Popen([*program, "-C", self.work, *words], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env={**os.environ, **self.environment}, start_new_session=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        made = wait_until(lambda: self.marked_homes() - before, "it made no folder")
        return process, made

    def gc(self, *words):
        return self.galley("gc", *words, expect=0).stdout.decode()

    def test_folders_of_killed_commands_are_removed_and_of_live_ones_stay(self):
        (self.work / "change.patch").write_text("--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+n\n")
        for words in (("check", "--worktree"), ("preview", "change.patch")):
            with self.subTest(command=words[0]):
                process, made = self.killed(*words)
                self.gc()
                self.assertLessEqual(made, self.homes(), "a live command was robbed")
                process.send_signal(signal.SIGKILL)
                process.wait()
                self.assertLessEqual(made, self.homes())
                # A child process may hold the folder until the kernel has ended it.
                wait_until(lambda: all(name in self.gc("-n") for name in made), "it is not listed")
                self.assertLessEqual(made, self.homes(), "a dry run removes nothing")
                self.gc()
                self.assertFalse(made & self.homes(), "it was not removed")

    def test_folders_of_commands_on_a_copy_are_removed_also_if_they_ran_as_nobody(self):
        (self.work / "galley.toml").write_text(GATE + '[sandbox]\nfallback = "copy"\n')
        process, _ = self.killed("check", "--worktree", program=(ROOT / "scripts/as-in-docker", GALLEY))
        copies = wait_until(lambda: {one.name for one in self.temporary.iterdir() if (one / "tree").is_dir()}, "no copy")
        for name in copies:
            home = (self.temporary / name).stat()
            self.assertEqual(home.st_uid, os.geteuid(), "what the command owns, it could give a mark to")
            self.assertEqual((self.temporary / name / "tree").stat().st_mode & 0o777, 0o700)
        process.send_signal(signal.SIGKILL)
        process.wait()
        wait_until(lambda: self.gc() is not None and not copies & self.homes(), "it was not removed")

    def test_a_folder_that_cannot_be_removed_now_is_removed_by_a_later_gc(self):
        need_own_mounts()
        home = self.temporary / "galley-AbCdEf"
        mount = home / "run" / "mount"
        mount.mkdir(parents=True)
        home.chmod(0o700)
        (home / "held-by-galley").touch()
        subprocess.run(["unshare", "-Urm", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', mount, GALLEY, "-C", self.work,
                        "gc"], env={**os.environ, **self.environment}, check=True, capture_output=True)
        self.assertTrue(mount.exists())
        self.assertIn(home.name, self.gc())
        self.assertFalse(home.exists())

    def test_a_folder_that_only_looks_like_a_leftover_stays(self):
        process, made = self.killed("check", "--worktree")
        process.send_signal(signal.SIGKILL)
        process.wait()
        (kept,) = made
        mine = self.temporary / "galley-AbCdEf"
        mine.mkdir(0o700)
        (mine / "precious").write_text("x")
        open_to_all = self.temporary / "galley-OpenTo"
        open_to_all.mkdir(0o755)
        (open_to_all / "held-by-galley").write_text("")
        link = self.temporary / "galley-Linked"
        link.symlink_to(mine)
        foreign = self.temporary / "galley-Others"
        foreign.mkdir(0o700)
        (foreign / "held-by-galley").write_text("")
        if os.geteuid() == 0:
            os.chown(foreign / "held-by-galley", 1234, 1234)
            os.chown(foreign, 1234, 1234)
            given = self.temporary / "galley-Nobody"  # a folder of another user with a mark of root
            given.mkdir(0o711)
            (given / "held-by-galley").write_text("")
            os.chown(given, 65534, 65534)
        wait_until(lambda: self.gc() is not None and kept not in self.homes(), "it was not removed")
        stays = {mine.name, open_to_all.name, link.name} | ({foreign.name, "galley-Nobody"} if os.geteuid() == 0 else set())
        self.assertLessEqual(stays, self.homes())
        self.assertEqual((mine / "precious").read_text(), "x")


if __name__ == "__main__":
    hostile.main()
