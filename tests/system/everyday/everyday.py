"""Shared code of the everyday tasks: the program runs in the person's current directory, with the
arguments that a person types, and on a terminal if that matters.

A task is a test method `test_<what is done>` of an EverydayCase. The first line of its docstring
names the tool whose habit the task follows, and that habit: `git: -n shows what would happen`."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from support import GALLEY, SystemCase  # noqa: E402

# A task that runs longer is considered to hang.
DEADLINE_S = 120


class EverydayCase(SystemCase):
    """Runs commands with `self.work` as the current directory, as a person would."""

    program = (GALLEY,)

    def environment_of(self, env):
        environment = {**os.environ, **self.environment, **(env or {})}
        for name in ("NO_COLOR", "PAGER", "GALLEY_PAGER", "GALLEY_TX", "EDITOR", "VISUAL"):
            if not env or name not in env:
                environment.pop(name, None)
        return environment

    def run_here(self, *arguments, cwd=None, stdin=b"", expect=None, env=None):
        """Runs `galley ARGUMENTS` in `cwd` with pipes. Returns out and err as text."""
        result = subprocess.run(
            [*self.program, *map(str, arguments)], cwd=cwd or self.work, capture_output=True, timeout=DEADLINE_S,
            input=stdin if isinstance(stdin, bytes) else stdin.encode(), env=self.environment_of(env),
            check=False)
        if "doctor" not in arguments:
            self.skip_if_unavailable(result.stdout, result.stderr)
        result.out = result.stdout.decode(errors="replace")
        result.err = result.stderr.decode(errors="replace")
        if expect is not None:
            allowed = expect if isinstance(expect, tuple) else (expect,)
            self.assertIn(result.returncode, allowed,
                          f"galley {' '.join(map(str, arguments))}\n{result.out}{result.err}")
        return result

    def on_terminal(self, *arguments, typed=(), cwd=None, env=None, expect=None):
        """Runs `galley ARGUMENTS` with all three streams on its own terminal, 100 columns wide.
        `typed` is a list of (text to wait for, text to type then or a function to call, which may
        return it). Returns the result; `.screen` is the text on the screen."""
        person, terminal = pty.openpty()
        rows_and_columns = struct.pack("HHHH", 40, 100, 0, 0)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, rows_and_columns)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        environment = {"TERM": "xterm", **self.environment_of(env)}
        process = subprocess.Popen([*self.program, *map(str, arguments)], cwd=cwd or self.work, stdin=terminal,
                                   stdout=terminal, stderr=terminal, env=environment,
                                   preexec_fn=take_terminal)
        os.close(terminal)
        screen, unread, to_type = b"", b"", list(typed)
        ends = time.monotonic() + DEADLINE_S
        while True:
            if not select.select([person], [], [], max(0, ends - time.monotonic()))[0]:
                process.send_signal(signal.SIGKILL)
                process.wait()
                os.close(person)
                self.fail(f"still running after {DEADLINE_S} s; seen so far:\n{screen.decode(errors='replace')}")
            try:
                chunk = os.read(person, 65536)
            except OSError:  # EIO: the last process on the terminal has ended
                break
            if not chunk:
                break
            screen += chunk
            unread += chunk
            if to_type and to_type[0][0].encode() in unread:
                _, answer = to_type.pop(0)
                answer = answer() if callable(answer) else answer
                os.write(person, (answer or "").encode())
                unread = b""
        os.close(person)
        returncode = process.wait(timeout=DEADLINE_S)
        self.skip_if_unavailable(screen)
        result = subprocess.CompletedProcess(process.args, returncode)
        result.screen = screen.decode(errors="replace").replace("\r\n", "\n")
        self.assertFalse(to_type, f"never asked for {to_type}; seen:\n{result.screen}")
        if expect is not None:
            allowed = expect if isinstance(expect, tuple) else (expect,)
            self.assertIn(returncode, allowed, f"galley {' '.join(map(str, arguments))}\n{result.screen}")
        return result


def main():
    unittest.main(verbosity=1)
