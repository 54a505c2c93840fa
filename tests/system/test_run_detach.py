"""The keys that return the terminal while the program of galley run continues."""

import os
import socket
import unittest

from test_run import PROMPT, RunCase

BYTES = "python3 -c 'import os, sys, tty; tty.setraw(0); print(\"up\\r\"); sys.stdout.flush(); " \
        "print(b\"\".join(iter(lambda: os.read(0, 1), b\".\")), end=\"\\r\\n\")'"


class OtherUsers(RunCase):
    @unittest.skipUnless(os.geteuid() == 0, "only root can be another user")
    def test_a_run_obeys_its_own_user_only(self):
        for folder in (self.scratch, *self.scratch.rglob("*")):
            if folder.is_dir() and ".galley" not in folder.parts:
                folder.chmod(0o777)
        shell = self.shell("--name", "mine")
        other = {"user": 12345, "group": 12345, "extra_groups": [], "env": {"HOME": str(self.work), "TMPDIR": "/tmp"}}
        for verb in ("attach", "stop", "sync"):
            refused = self.galley(verb, "mine", **other)
            self.assertNotEqual(refused.returncode, 0, verb)
            self.assert_one_clear_message(refused)
        # Not by its socket, either, when the folders let everybody through.
        sockets = [path for path in (self.work / ".galley").rglob("*") if path.is_socket()]
        self.assertTrue(sockets)
        for path in sockets:
            for parent in (self.work / ".galley", *(self.work / ".galley").rglob("*")):
                parent.chmod(0o777)
            self.assertEqual(self.asked_by(12345, path), b"")
        shell.type("echo still $((40 + 2))\n")
        shell.expect("still 42")
        shell.type("exit\n")

    def asked_by(self, user, path):
        """What a client of another user gets that asks the run to stop."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            try:
                os.chdir(path.parent)
                client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                client.settimeout(5)
                client.connect(path.name)
                client.sendall(b"\x03\0\0\0\0" * 4)
                theirs.sendall(client.recv(100))
            except OSError:
                pass
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        theirs.close()
        return ours.recv(100)


class DetachKeys(RunCase):
    def test_the_keys_leave_the_run_running_and_show_how_to_attach(self):
        shell = self.shell()
        shell.type("echo first line; kept=here\n")
        shell.expect(r"\nfirst line\r\n")
        shell.type("\x10\x11")
        self.assertEqual(shell.finish(), 0)
        note = self.only_note()
        self.assertIn(f"attach {note['tx']}".encode(), shell.screen)
        self.assertTrue(self.is_supervisor(note["supervisor"]["pid"]))
        again = self.on_terminal("attach", note["tx"][:6])
        again.expect("first line")
        again.type("echo is $kept\n")
        again.expect(r"\nis here\r\n")
        again.type("\x10\x11")
        self.assertEqual(again.finish(), 0)
        self.assertIn(f"attach {note['tx'][:6]}".encode(), again.screen)
        self.galley("stop", note["tx"], expect=0)

    def test_a_program_that_stops_itself_goes_on(self):
        shell = self.shell()
        shell.type("kill -STOP $$; echo on $((40 + 2))\n")
        shell.expect(r"\non 42\r\n")
        shell.type("exit\n")

    def test_the_name_of_the_run_is_in_the_line(self):
        shell = self.shell("--name", "mine")
        shell.type("\x10\x11")
        shell.finish()
        self.assertIn(b"attach mine", shell.screen)
        self.galley("stop", "mine", expect=0)

    def test_an_incomplete_key_sequence_reaches_the_program_unchanged(self):
        shell = self.on_terminal("run", "--drop", "--", "sh", "-c", BYTES)
        shell.expect("up\r\n")
        for piece in ("\x10", "x", "\x10", "\x10", "y\x11."):
            shell.type(piece)
        shell.expect(r"b'\\x10x\\x10\\x10y\\x11'")
        self.assertEqual(shell.finish(), 0)

    def test_the_keys_can_be_changed_or_disabled(self):
        shell = self.shell("--name", "mine", "--detach-keys", "ctrl-a,d")
        shell.type("\x01d")
        self.assertEqual(shell.finish(), 0)
        other = self.on_terminal("attach", "--detach-keys", "none", "mine")
        other.expect(PROMPT)
        other.type(f"{BYTES}\n")
        other.expect("up\r\n")
        other.type("\x10\x11.")
        other.expect(r"b'\\x10\\x11'")
        other.type("exit 4\n")
        self.assertEqual(other.finish(), 4)
        self.galley("run", "--detach-keys", "ctrl-", "--", "true", expect=2)

    def test_the_terminal_gets_back_what_the_program_switched_on(self):
        shell = self.shell("--name", "mine")
        shell.type("printf '\\033[?1049h\\033[?25l\\033[>1u'; echo switched\n")
        shell.expect(r"uswitched\r\n")
        shell.type("\x1b[112;5u\x1b[113;5u")
        self.assertEqual(shell.finish(), 0)
        self.assertIn(b"\x1b[<1u\x1b[?25h\x1b[?1049l\x1b[0m\r\n", shell.screen)
        self.galley("stop", "mine", expect=0)


if __name__ == "__main__":
    unittest.main()
