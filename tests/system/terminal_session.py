"""A program on a pseudo-terminal that is its controlling terminal, and a person at the other
end."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time
from pathlib import Path

# More time than anything takes that a test waits for. No test asserts times.
PATIENCE_S = 60


def wait_until(what, said="it never came true"):
    """Polls until the answer is true, and returns that answer."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        answer = what()
        if answer:
            return answer
        time.sleep(0.02)
    raise AssertionError(said)


def is_running(words):
    """Whether a process has these words in its command line, also in a sandbox."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if words.encode() in (folder / "cmdline").read_bytes().replace(b"\0", b" "):
                return True
    return False


def end_processes(*argv):
    """Ends the processes with exactly these arguments, also in a sandbox. Returns whether there was
    one."""
    wanted = b"".join(word.encode() + b"\0" for word in argv)
    found = False
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended
            if (folder / "cmdline").read_bytes() == wanted:
                os.kill(int(folder.name), signal.SIGTERM)
                found = True
    return found


def set_size(descriptor, rows, columns):
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class TerminalSession:
    """`screen` has all output so far. expect() continues after its last match."""

    def __init__(self, argv, env=None, rows=24, columns=80, cwd=None):
        self.screen, self.seen, self.status = b"", 0, None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            try:
                set_size(0, rows, columns)  # before a program runs
                if cwd:
                    os.chdir(cwd)
                os.execvpe(argv[0], argv, env or os.environ)
            finally:
                os._exit(127)

    def resize(self, rows, columns):
        set_size(self.master, rows, columns)

    def type(self, text):
        os.write(self.master, text.encode() if isinstance(text, str) else text)

    def read_some(self, wait_s):
        """Returns False at the end."""
        if not select.select([self.master], [], [], wait_s)[0]:
            return True
        try:
            piece = os.read(self.master, 65536)
        except OSError:
            piece = b""
        self.screen += piece
        return bool(piece)

    def expect(self, pattern):
        wanted = re.compile(pattern.encode() if isinstance(pattern, str) else pattern, re.DOTALL)
        until = time.monotonic() + PATIENCE_S
        while True:
            found = wanted.search(self.screen, self.seen)
            if found:
                self.seen = found.end()
                return found
            if time.monotonic() > until or not self.read_some(0.2):
                raise AssertionError(f"{wanted.pattern!r} did not come; there was {self.screen[self.seen:]!r}")

    def finish(self):
        """Reads to the end and returns the exit status: 128 + n for signal n."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.read_some(0.2):
            pass
        return self.wait()

    def wait(self):
        if self.status is None:
            _, status = os.waitpid(self.pid, 0)
            self.status = os.waitstatus_to_exitcode(status)
            if self.status < 0:
                self.status = 128 - self.status
        return self.status

    def vanish(self):
        """Closes the window: the foreground process gets a SIGHUP."""
        os.close(self.master)
        self.master = -1
        return self.wait()

    def close(self):
        if self.master >= 0:
            os.close(self.master)
        if self.status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self.wait()
