"""The work after a run may take long. The person, or another person with `galley stop`, can still
get the prompt back.

Runs as a plain user and as root, whose runs have other ids in their namespace (`hostile.main`)."""

import fcntl
import os
import signal
import subprocess
from pathlib import Path

import hostile
from support import GALLEY
from terminal_session import wait_until
from test_run import RunCase


def has_children(pid):
    """Returns whether the process has a child that it has not waited for."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(stat.read_text().rsplit(")", 1)[1].split()[1]) == pid:
                return True
        except (FileNotFoundError, ProcessLookupError):
            pass
    return False


class AfterTheProgram(RunCase):
    """The program of a run has ended. Its changes cannot be staged, because another process holds
    the writer lock."""

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text("[commit]\nlock_timeout_ms = 3600000\n")
        self.client = subprocess.Popen(
            [GALLEY, "-C", self.work, "run", "--", "sh", "-c", "echo new > new.txt; echo wrote; read -r line || true"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(self.client.wait)
        self.addCleanup(self.client.kill)
        self.assertEqual(self.client.stdout.readline(), b"wrote\n")
        note = self.only_note()
        self.tx = note["tx"]
        self.lock = open(self.work / ".galley" / "lock", "rb+")
        self.addCleanup(self.lock.close)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.client.stdin.close()
        wait_until(lambda: not has_children(note["supervisor"]["pid"]), "the program did not end")

    def assert_kept(self):
        """The client ends and names the run. Nothing of the run is lost."""
        self.assertEqual(self.client.wait(60), 3)
        said = self.client.stderr.read().decode()
        self.client.stderr.close()
        self.assertIn(f"commit --tx {self.tx}", said)
        self.lock.close()
        self.assertFalse((self.work / "new.txt").exists())
        self.galley("commit", "--tx", self.tx, expect=0)
        self.assertEqual((self.work / "new.txt").read_text(), "new\n")

    def test_a_signal_to_the_client_ends_it(self):
        self.client.send_signal(signal.SIGTERM)
        self.assert_kept()

    def test_a_signal_to_the_supervisor_ends_it(self):
        os.kill(self.only_note()["supervisor"]["pid"], signal.SIGTERM)
        self.assert_kept()

    def test_stop_from_elsewhere_ends_it(self):
        stopped = self.galley("stop", self.tx, expect=3)
        self.assertIn(self.tx.encode(), stopped.stderr)
        self.assert_kept()

    def test_without_a_stop_the_changes_are_staged(self):
        self.lock.close()
        self.assertEqual(self.client.wait(60), 0)
        self.assertEqual(self.staged(self.tx), "A\tnew.txt\n")


if __name__ == "__main__":
    hostile.main()
