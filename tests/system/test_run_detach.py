"""The keys that return the terminal while the program of galley run continues."""

import unittest

from test_run import PROMPT, RunCase

BYTES = "python3 -c 'import os, sys, tty; tty.setraw(0); print(\"up\\r\"); sys.stdout.flush(); " \
        "print(b\"\".join(iter(lambda: os.read(0, 1), b\".\")), end=\"\\r\\n\")'"


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
