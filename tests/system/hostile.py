"""Shared code of tests with a hostile workspace: their own namespace, two users, a home for each.

A test file that ends in `hostile.main()` runs twice if root starts it: as root and as another user.
Both runs have their own mount namespace, in which the whole machine is read-only except for one new
tmpfs. If another user starts it, it runs once, as that user.
"""

import fcntl
import os
import pty
import subprocess
import sys
import tempfile
import termios
import threading
import unittest
from pathlib import Path

from support import ALL_SKIPPED, GALLEY, REQUIRES_SANDBOX, ROOT, SystemCase

OTHER_USER = 54321  # an id that no account has
IS_ROOT = os.geteuid() == 0

_INSIDE = "GALLEY_HOSTILE_TEST_INSIDE"
# From here on, nothing outside the new tmpfs can be written, whatever a test makes a program do.
# The sources and the program are also mounted below it, because the other user may not be able to
# reach their folders.
_ENTER = """
set -e
scratch=$1 sources=$2 programs=$3; shift 3
mount -t tmpfs -o mode=1777,size=4g tmpfs "$scratch"
mkdir "$scratch/sources" "$scratch/programs"
mount --bind "$sources" "$scratch/sources"
mount --bind "$programs" "$scratch/programs"
while read -r _ point _; do
  case $point in "$scratch" | /proc | /proc/* | /sys | /sys/* | /dev | /dev/*) ;;
    *) mount -o remount,bind,ro "$point" ;;
  esac
done < /proc/self/mounts
cd "$scratch"
exec "$@"
"""


def main():
    if not IS_ROOT or os.environ.get(_INSIDE):
        unittest.main()
        return
    probe = subprocess.run(["unshare", "--mount", "--propagation", "private", "true"], capture_output=True,
                           check=False)
    if probe.returncode != 0 and not REQUIRES_SANDBOX:
        # Root must not run hostile tests that could reach the machine.
        print(f"skipped: {Path(sys.argv[0]).stem}: no mount namespace can be made here: "
              f"{probe.stderr.decode(errors='replace').strip()}", file=sys.stderr)
        sys.exit(ALL_SKIPPED)
    with tempfile.TemporaryDirectory(prefix="galley-hostile-") as scratch:
        os.chmod(scratch, 0o755)
        script = Path(scratch) / "sources" / Path(sys.argv[0]).resolve().relative_to(ROOT)
        environment = {**os.environ, _INSIDE: "1", "HOME": scratch, "TMPDIR": scratch,
                       "GALLEY": str(Path(scratch) / "programs" / Path(GALLEY).name)}
        other = ["setpriv", f"--reuid={OTHER_USER}", f"--regid={OTHER_USER}", "--clear-groups"]
        statuses = []
        for name, user in (("root", []), ("another user", other)):
            print(f"--- as {name}", file=sys.stderr, flush=True)
            command = ["unshare", "--mount", "--propagation", "private", "sh", "-c", _ENTER, "sh", scratch,
                       str(ROOT), str(Path(GALLEY).parent), *user, "/usr/bin/python3", "-B", str(script),
                       *sys.argv[1:]]
            statuses.append(subprocess.run(command, env=environment, check=False).returncode)
    sys.exit(1 if any(statuses) else 0)


class HostileCase(SystemCase):
    """A SystemCase whose user has their own home below the scratch folder. The home is empty at
    first."""

    def setUp(self):
        super().setUp()
        self.home = self.scratch / "home"
        self.home.mkdir(mode=0o700)
        self.environment = {
            "HOME": str(self.home),
            "XDG_STATE_HOME": str(self.home / ".local" / "state"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
        }

    def write(self, name, text, mode=0o644):
        """Writes a file of the workspace without Galley."""
        path = self.work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path

    def at_terminal(self, *arguments, answer="", env=None, expect=None, work=None, agent_input=b""):
        """Runs the program with its own terminal, on which a person types `answer`. Its streams
        stay pipes. Returns the result; `.terminal` is the text that the person saw."""
        person, terminal = pty.openpty()
        seen = []

        def take_terminal():
            os.setsid()
            fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

        environment = {**os.environ, **self.environment, **(env or {})}
        process = subprocess.Popen(
            [GALLEY, "-C", str(work or self.work), *map(str, arguments)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment, preexec_fn=take_terminal,
            pass_fds=[terminal])

        def be_the_person():
            asked = b""
            while True:
                try:
                    chunk = os.read(person, 4096)
                except OSError:  # EIO: the program has ended
                    return
                if not chunk:
                    return
                seen.append(chunk)
                asked += chunk
                if asked.rstrip().endswith(b"]"):
                    os.write(person, answer.encode() + b"\n")
                    asked = b""

        watcher = threading.Thread(target=be_the_person)
        watcher.start()
        out, err = process.communicate(input=agent_input, timeout=120)
        os.close(terminal)
        watcher.join()
        os.close(person)
        if "doctor" not in arguments:
            self.skip_if_unavailable(out, err)
        result = subprocess.CompletedProcess(process.args, process.returncode, out, err)
        result.terminal = b"".join(seen).decode(errors="replace").replace("\r\n", "\n")
        if expect is not None:
            self.assertEqual(result.returncode, expect, f"{result.terminal}\n{err.decode(errors='replace')}")
        return result
