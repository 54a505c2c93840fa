"""Shared code of system tests: a scratch copy of the demo project, and the built program."""

import contextlib
import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GALLEY = os.environ.get("GALLEY", str(ROOT / "build" / "galley"))
PATCHES = ROOT / "fixtures" / "patches"
PROJECT = ROOT / "fixtures" / "demo-project"

# More time than any test needs. A test that hangs then fails by itself, and the other tests of its
# file run.
TEST_LIMIT_S = 240
# If this is set, the machine must have every wall, and a test that lacks one fails.
REQUIRES_SANDBOX = os.environ.get("GALLEY_REQUIRE_SANDBOX") == "1"
# The program's messages if commands cannot be run (the errors `sandbox.unavailable`).
SAYS_UNAVAILABLE = re.compile(
    rb"sandbox\.unavailable|the sandbox could not |no directory can hold a command's layer|needs the namespaces")
# ctest's SKIP_RETURN_CODE, for a file in which no test can run here.
ALL_SKIPPED = 77

# Options that a fixture patch needs, for both git apply and galley apply.
PATCH_OPTIONS = {"16-p0.patch": ["-p0"], "17-unidiff-zero.patch": ["--unidiff-zero"]}


def good_patches():
    return sorted((PATCHES / "good").glob("*.patch"))


def snapshot(root, with_times=False, skip=(".galley", ".git")):
    """Returns all relevant facts about a tree: kind, mode, content or target; on request also times
    and inodes."""
    found = {}
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in skip)
        for name in folders + files:
            path = os.path.join(folder, name)
            info = os.lstat(path)
            kind = stat.S_IFMT(info.st_mode)
            entry = [kind, stat.S_IMODE(info.st_mode)]
            if stat.S_ISREG(info.st_mode):
                with open(path, "rb") as file:
                    entry.append(hashlib.sha256(file.read()).hexdigest())
            elif stat.S_ISLNK(info.st_mode):
                entry = [kind, os.readlink(path)]
            if with_times:
                entry += [info.st_mtime_ns, info.st_ino]
            found[os.path.relpath(path, root)] = tuple(entry)
    return found


class ReasonedResult(unittest.TextTestResult):
    """Prints why a test was skipped. scripts/run-tests counts these lines."""

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.stream.writeln(f"\nskipped: {test.id()}: {reason}")


unittest.TextTestRunner.resultclass = ReasonedResult


@functools.cache
def missing_walls():
    """Returns why this machine cannot run commands behind all walls, as `galley doctor` reports it;
    empty if it can."""
    said = subprocess.run([GALLEY, "-C", "/", "--json", "doctor"], capture_output=True, check=False, timeout=60)
    checks = json.loads(said.stdout)["checks"]
    return "".join(check["message"] for check in checks
                   if check["name"] == "whole sandbox" and check["status"] != "ok")


def need_own_mounts():
    """Skips a test that makes its own file system if that is not possible."""
    probe = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        skip_for_walls(f"no namespaces can be made here: {probe.stderr.decode(errors='replace').strip()}")


def skip_for_walls(reason):
    if REQUIRES_SANDBOX:
        raise AssertionError(f"GALLEY_REQUIRE_SANDBOX=1, but {reason}")
    raise unittest.SkipTest(reason)


class SilentFiles(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_arguments):
        pass


def serve_files(case, folder, address):
    """Serves the folder over HTTP until the test ends. Returns the port."""
    server = http.server.ThreadingHTTPServer((address, 0), functools.partial(SilentFiles, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    case.addCleanup(thread.join)
    case.addCleanup(server.server_close)
    case.addCleanup(server.shutdown)
    return server.server_port


class SystemCase(unittest.TestCase):
    """A test with its own scratch folder. `self.work` is a copy of the demo project.

    If the machine lacks the walls around commands, and the program says so in a test, that test is
    skipped. A test about missing walls sets `is_about_missing_walls`."""

    is_about_missing_walls = False

    def run(self, result=None):
        def give_up(_signal, _frame):
            raise AssertionError(f"still running after {TEST_LIMIT_S} s")

        before = signal.signal(signal.SIGALRM, give_up)
        signal.alarm(TEST_LIMIT_S)
        try:
            return super().run(result)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)

    @contextlib.contextmanager
    def subTest(self, *arguments, **parameters):
        """A missing wall skips the whole test, because later steps depend on the skipped step."""
        lacking = None
        with super().subTest(*arguments, **parameters):
            try:
                yield
            except unittest.SkipTest as skip:
                lacking = skip
        if lacking:
            raise lacking

    def skip_if_unavailable(self, *outputs):
        """Takes the output of the program."""
        if not self.is_about_missing_walls and any(SAYS_UNAVAILABLE.search(output) for output in outputs):
            self.need_walls()

    def need_walls(self):
        """For a test that runs commands without `galley()`."""
        if missing_walls():
            skip_for_walls(missing_walls())

    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="galley-system-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.work = self.scratch / "work"
        shutil.copytree(PROJECT, self.work, symlinks=True)
        # The author of these tests trusts their files, and tests run without a terminal.
        own = self.scratch / "config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'trusted_folders = ["{self.scratch}"]\nunattended = true\n')
        self.environment = {"XDG_CONFIG_HOME": str(self.scratch / "config"),
                            "XDG_STATE_HOME": str(self.scratch / "state")}

    def galley(self, *arguments, work=None, stdin=b"", expect=None, env=None, **options):
        """Runs the program in the workspace. `expect` is the required exit status, or several
        allowed ones."""
        environment = {**os.environ, **self.environment, **(env or {})}
        for name in ("NO_COLOR", "PAGER", "GALLEY_PAGER", "GALLEY_TX"):
            if not env or name not in env:
                environment.pop(name, None)
        result = subprocess.run(
            [GALLEY, "-C", str(work or self.work), *map(str, arguments)],
            input=stdin,
            capture_output=True,
            env=environment,
            timeout=300,
            check=False,
            **options,
        )
        if "doctor" not in arguments:  # doctor also reports walls that a test may not need
            self.skip_if_unavailable(result.stdout, result.stderr)
        if expect is not None:
            allowed = expect if isinstance(expect, tuple) else (expect,)
            self.assertIn(
                result.returncode,
                allowed,
                f"galley {' '.join(map(str, arguments))}\n{result.stdout.decode(errors='replace')}"
                f"{result.stderr.decode(errors='replace')}",
            )
        return result

    def own_state(self, kind):
        """Returns the folder of this kind in `.galley`, below the id of the workspace. Without an
        id it does not exist."""
        state = self.work / ".galley"
        made = (state / "format").read_text().split() if (state / "format").exists() else ["", "", "none"]
        return state / kind / made[2]

    def stage_new(self, name, text):
        """Stages a new file by a patch, which may use names that tool calls may not use."""
        quoted = "".join(chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\' else f"\\{byte:03o}" for byte in name.encode())
        lines = text.split("\n")[:-1]
        patch = (f'diff --git "a/{quoted}" "b/{quoted}"\nnew file mode 100644\n--- /dev/null\n+++ "b/{quoted}"\n'
                 f"@@ -0,0 +1,{len(lines)} @@\n" + "".join(f"+{line}\n" for line in lines))
        self.galley("stage", "-", stdin=patch.encode(), expect=0)

    def assert_one_clear_message(self, result):
        """Checks that stderr has a short message that names galley and shows no internals."""
        text = result.stderr.decode(errors="replace")
        self.assertTrue(text.strip(), "nothing was said on stderr")
        self.assertLess(len(text), 6000, text)
        for bad in ("terminate called", "what():", "Assertion", "Segmentation", "core dumped", "\x00"):
            self.assertNotIn(bad, text)

    def git(self, *arguments, work=None, check=True, stdin=None):
        environment = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
                       "GIT_CEILING_DIRECTORIES": str(self.scratch)}
        return subprocess.run(
            ["git", *map(str, arguments)], cwd=work or self.work, capture_output=True, env=environment,
            check=check, input=stdin)
