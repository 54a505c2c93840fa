"""What every system test needs: a scratch copy of the demo project and the built program."""

import hashlib
import os
import shutil
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
GALLEY = os.environ.get("GALLEY", str(ROOT / "build" / "galley"))
PATCHES = ROOT / "fixtures" / "patches"
PROJECT = ROOT / "fixtures" / "demo-project"

# Options that a fixture patch needs, for git apply and galley apply alike.
PATCH_OPTIONS = {"16-p0.patch": ["-p0"], "17-unidiff-zero.patch": ["--unidiff-zero"]}


def good_patches():
    return sorted((PATCHES / "good").glob("*.patch"))


def snapshot(root, with_times=False, skip=(".galley", ".git")):
    """Everything about a tree that counts: kind, mode, content or target; on request times and inodes too."""
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


class SystemCase(unittest.TestCase):
    """A test with its own scratch folder; `self.work` is a copy of the demo project."""

    def setUp(self):
        self.scratch = Path(tempfile.mkdtemp(prefix="galley-system-"))
        self.addCleanup(shutil.rmtree, self.scratch, ignore_errors=True)
        self.work = self.scratch / "work"
        shutil.copytree(PROJECT, self.work, symlinks=True)
        # Whoever runs these tests trusts what they write, and no terminal is there to ask at.
        own = self.scratch / "config" / "galley" / "config.toml"
        own.parent.mkdir(parents=True)
        own.write_text(f'trusted_folders = ["{self.scratch}"]\nunattended = true\n')
        self.environment = {"XDG_CONFIG_HOME": str(self.scratch / "config"),
                            "XDG_STATE_HOME": str(self.scratch / "state")}

    def galley(self, *arguments, work=None, stdin=b"", expect=None, env=None, **options):
        """Runs the program in the workspace; `expect` is the exit status or statuses it must have."""
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
        if expect is not None:
            allowed = expect if isinstance(expect, tuple) else (expect,)
            self.assertIn(
                result.returncode,
                allowed,
                f"galley {' '.join(map(str, arguments))}\n{result.stdout.decode(errors='replace')}"
                f"{result.stderr.decode(errors='replace')}",
            )
        return result

    def assert_one_clear_message(self, result):
        """Something on stderr that names galley, is short, and shows no bowels."""
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
