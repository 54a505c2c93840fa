"""Completions in the three real shells, each on its own terminal, and the manual page."""

import fcntl
import json
import os
import pty
import select
import shutil
import signal
import subprocess
import termios
import time
import unittest

from everyday import DEADLINE_S, EverydayCase, main
from support import GALLEY

PROMPT = "READY> "

# How each shell starts without any user's configuration and loads the output of galley.
SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "source <(galley completions bash)"),
    "zsh": (["zsh", "-f", "-i"],
            "autoload -Uz compinit && compinit -u -D && source <(galley completions zsh)"),
    "fish": (["fish", "--no-config", "-i"], "galley completions fish | source"),
}
PROMPTS = {"bash": "PS1='READY''> '", "zsh": "PS1='READY''> '",
           "fish": "function fish_prompt; echo -n 'READY''> '; end"}


def take_terminal():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


class Shell:
    """A shell on a terminal. `type` waits for expected text and gives up after a while."""

    def __init__(self, case, name):
        self.case = case
        command, load = SHELLS[name]
        if shutil.which(command[0]) is None:
            raise unittest.SkipTest(f"{command[0]} is not installed (scripts/packages.txt)")
        bin = case.scratch / "bin"
        bin.mkdir(exist_ok=True)
        if not (bin / "galley").exists():
            (bin / "galley").symlink_to(GALLEY)
        environment = {**case.environment_of({}), "PATH": f"{bin}:{os.environ['PATH']}", "TERM": "dumb",
                       "HOME": str(case.scratch), "PAGER": "cat"}
        self.person, terminal = pty.openpty()
        self.process = subprocess.Popen(command, cwd=case.work, stdin=terminal, stdout=terminal, stderr=terminal,
                                        env=environment, preexec_fn=take_terminal)
        os.close(terminal)
        case.addCleanup(self.close)
        self.type(f"{PROMPTS[name]}\n", PROMPT)
        self.type(f"{load}; echo load''ed\n", "loaded")

    def close(self):
        os.close(self.person)
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def type(self, text, awaited):
        """Types the text and reads until `awaited` appears. Returns the text on the screen."""
        os.write(self.person, text.encode())
        seen, ends = "", time.monotonic() + DEADLINE_S
        while awaited not in seen:
            if not select.select([self.person], [], [], max(0, ends - time.monotonic()))[0]:
                self.case.fail(f"{awaited!r} is not seen after {text!r}; seen:\n{seen}")
            try:
                seen += os.read(self.person, 65536).decode(errors="replace")
            except OSError:
                self.case.fail(f"the shell went away after {text!r}; seen:\n{seen}")
        return seen


class Completions(EverydayCase):
    def setUp(self):
        super().setUp()
        (self.work / "a.txt").write_text("one\n")
        (self.work / "change-of-a.patch").write_text("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+the-new-line\n")
        (self.work / "folder").mkdir()

    def try_in(self, name):
        shell = Shell(self, name)
        shell.type("galley --versi\t\n", "galley 0.")
        shell.type("galley complet\tfi\t\n", "__galley_complete")
        shell.type("galley apply --name-st\tchange-of\t\n", "committed ")
        shell.type("galley tools show MultiE\t\n", '"MultiEdit"')
        shell.type("galley --color=nev\tundo \t\n", "committed ")
        self.assertEqual((self.work / "a.txt").read_text(), "one\n")
        shell.type("galley -C fold\tinit -n\n", "[")
        return shell

    def test_bash_completes_commands_options_values_files_and_ids(self):
        """git: `git che<TAB>` in bash."""
        self.try_in("bash")

    def test_zsh_completes_commands_options_values_files_and_ids(self):
        """git: `git che<TAB>` in zsh."""
        self.try_in("zsh")

    def test_fish_completes_commands_options_values_files_and_ids(self):
        """git: `git che<TAB>` in fish."""
        self.try_in("fish")

    def test_completion_never_runs_text_from_a_workspace(self):
        """git: a branch named `$(id)` is completed but not run."""
        bait = "$(touch${IFS}taken)`touch${IFS}taken`;touch taken"
        self.run_here("--reason", bait, "--agent", "x;touch taken", "apply", "change-of-a.patch", expect=0)
        self.run_here("--reason", bait, "begin", expect=0)
        stage = self.own_state("stage")
        shutil.copytree(next(path for path in stage.iterdir() if path.is_dir()), stage / "$(touch taken)")
        (self.work / "$(touch taken).patch").write_text("")
        (self.work / "`touch taken`").write_text("")
        for name in SHELLS:
            with self.subTest(shell=name):
                shell = Shell(self, name)
                for line in ("galley show ", "galley pick ", "galley commit --tx ", "galley call ", "galley apply "):
                    # Control-U deletes the line.
                    shell.type(f"{line}\t\t\x15echo do''ne\n", "done")
                self.assertFalse((self.work / "taken").exists())

    def test_completion_only_reads_and_never_recovers(self):
        """git: completing a branch name writes nothing."""
        self.run_here("apply", "change-of-a.patch", expect=0)
        newest = json.loads(self.run_here("--json", "log", expect=0).out)["transactions"][0]["id"]
        state = self.work / ".galley"
        before = sorted((str(path), path.lstat().st_mtime_ns) for path in state.rglob("*"))
        ids = self.run_here("complete", "--", "undo", "", expect=0).out.split("\n")
        self.assertEqual(ids[0].split("\t")[0], newest)
        self.run_here("complete", "--", "pick", "", expect=0)
        self.assertEqual(before, sorted((str(path), path.lstat().st_mtime_ns) for path in state.rglob("*")))

    def test_completion_in_a_broken_workspace_is_empty_and_silent(self):
        """git: outside a repository `git checkout <TAB>` prints nothing."""
        (self.work / "galley.toml").write_text("this is [no toml\n")
        result = self.run_here("complete", "--", "undo", "", expect=0)
        self.assertEqual((result.out, result.err), ("", ""))
        self.assertIn("undo\t", self.run_here("complete", "--", "und", expect=0).out)

    def test_each_shell_can_parse_its_script(self):
        """gh: `gh completion -s bash`."""
        for name, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            with self.subTest(shell=name):
                if shutil.which(name) is None:
                    self.skipTest(f"{name} is not installed")
                script = self.scratch / f"completions.{name}"
                script.write_text(self.run_here("completions", name, expect=0).out)
                done = subprocess.run([*check, script], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))


class ManualPage(EverydayCase):
    def test_mandoc_accepts_the_manual_page(self):
        """git: git-apply(1) is a manual page that man shows."""
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed (scripts/packages.txt)")
        page = self.scratch / "galley.1"
        page.write_text(self.run_here("help", "--man", expect=0).out)
        done = subprocess.run(["mandoc", "-Tlint", page], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_the_manual_page_has_every_command_and_option(self):
        """cargo: `cargo help build` and cargo-build(1) have the same text."""
        if shutil.which("mandoc") is None:
            self.skipTest("mandoc is not installed (scripts/packages.txt)")
        page = self.run_here("help", "--man", expect=0).out
        text = subprocess.run(["mandoc", "-Tascii"], input=page, capture_output=True, text=True, check=True).stdout
        while "\b" in text:  # overstriking
            at = text.index("\b")
            text = text[:at - 1] + text[at + 1:]
        commands = [line.split()[0] for line in self.run_here("-h", expect=0).out.splitlines()
                    if line.startswith("  ") and line[2:3].isalpha()]
        self.assertIn("apply", commands)
        for command in commands:
            self.assertIn(f"galley {command}", text)
            for line in self.run_here(command, "-h", expect=0).out.splitlines():
                if line.startswith("  -"):
                    self.assertIn(line.split()[0].rstrip(","), text)


if __name__ == "__main__":
    main()
