"""Shells that keep running during a test, and answer when they have executed a command."""

import subprocess

from terminal_session import TerminalSession


class PipedShell:
    """A shell in a live run that gets its commands on standard input."""

    def __init__(self, argv, environment):
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        env=environment)
        self.asked = 0

    def do(self, script):
        """Runs a command and returns its output, errors included."""
        self.asked += 1
        mark = f"done {self.asked}:"
        self.process.stdin.write(f"{{ {script}\n}} 2>&1; printf '%s\\n' '{mark}'\n".encode())
        self.process.stdin.flush()
        said = []
        for line in iter(self.process.stdout.readline, b""):
            if line.decode() == mark + "\n":
                return "".join(said)
            said.append(line.decode())
        raise AssertionError(f"the shell has ended; it said {said}")

    def finish(self):
        self.process.stdin.close()
        self.process.stdout.read()
        return self.process.wait()

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            stream.close()


class TypedShell(TerminalSession):
    """The same on a terminal."""

    def __init__(self, argv, environment):
        super().__init__(argv, environment)
        self.asked = 0
        self.type("stty -echo -onlcr; PS1=; PS2=\n")
        self.do(":")

    def do(self, script):
        self.asked += 1
        self.type(f"{{ printf '%s:\\n' 'begin'' {self.asked}'; {script}\n}} 2>&1; printf '%s:\\n' 'done'' {self.asked}'\n")
        return self.expect(f"begin {self.asked}:\n(.*)done {self.asked}:\n").group(1).decode()

    def finish(self):
        self.type("exit\n")
        return super().finish()
