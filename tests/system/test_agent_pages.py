"""Each command of the pages in docs/agents, in their order, with a program in the place of the agent.

The program does what the agent does: it tells its hook of a prompt and of a shell command, and runs
the command that the hook gives it."""

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import hostile
from support import GALLEY, ROOT, SystemCase

PAGES = sorted((ROOT / "docs" / "agents").glob("*.md"))
LONGEST_PAGE = 50  # lines of a screen

AGENT = r'''#!/usr/bin/env python3
import json, os, shutil, subprocess, sys

name = os.path.basename(sys.argv[0])
prompt, before, shell = {"gemini": ("BeforeAgent", "BeforeTool", "run_shell_command"),
                         "opencode": ("chat.message", "tool.execute.before", "bash")}.get(name, ("UserPromptSubmit", "PreToolUse", "Bash"))
command = "echo " + str(len(os.listdir("."))) + " >> made.txt"

def hook(**request):
    request = json.dumps({"session_id": "s", "cwd": os.getcwd(), **request})
    said = subprocess.run(["galley", "agent-hook", "--agent", name], input=request, text=True, check=True, capture_output=True).stdout
    answer = json.loads(said or "{}")
    changed = answer.get("hookSpecificOutput", answer)
    return (changed.get("updatedInput") or changed.get("tool_input") or {}).get("command", command)

if shutil.which("galley"):
    hook(hook_event_name=prompt, prompt="do it")
    command = hook(hook_event_name=before, tool_name=shell, tool_input={"command": command}, tool_use_id="c")
sys.exit(subprocess.run(command, shell=True).returncode)
'''


class Pages(SystemCase):
    def setUp(self):
        super().setUp()
        self.need_walls()
        # A folder with more than programs in it is not shown in a run.
        self.programs = self.scratch / "tools" / "bin"
        self.programs.mkdir(parents=True)
        (self.programs / "galley").symlink_to(Path(GALLEY).resolve())
        home = self.scratch / "home"
        home.mkdir()
        self.environment |= {"HOME": str(home), "PATH": f"{self.programs}:{os.environ['PATH']}", "CODEX_HOME": str(home / ".codex"),
                             "XDG_CONFIG_HOME": str(home / ".config"), "XDG_STATE_HOME": str(home / ".local/state")}
        subprocess.run(["git", "init", "-q"], cwd=self.work, check=True)

    def run_line(self, line):
        words = shlex.split(line, comments=True)
        # The test is no person who could be asked.
        if words[:2] == ["galley", "agents"] and "--yes" not in words:
            words.append("--yes")
        done = subprocess.run(words, cwd=self.work, env={**os.environ, **self.environment}, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=120)
        self.assertEqual(done.returncode, 0, (line, done.stdout, done.stderr))
        return done

    def lines_of(self, page):
        for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.M | re.S):
            yield from block.splitlines()

    def try_page(self, page):
        program = self.programs / page.stem
        program.write_text(AGENT)
        program.chmod(0o755)
        for line in self.lines_of(page):
            before = self.made()
            said = self.run_line(line)
            if line.split()[0] == page.stem or "--commit" in line:
                self.assertNotEqual(self.made(), before, line)
            if line.startswith("galley undo"):
                self.assertNotEqual(self.made(), before, line)
            if line.startswith("galley turns"):
                self.assertIn(b"made.txt", said.stdout)
        self.assertTrue(self.made())

    def made(self):
        file = self.work / "made.txt"
        return file.read_text() if file.exists() else ""

    def test_a_page_is_at_most_a_screen_long(self):
        self.assertEqual({page.stem for page in PAGES}, set(self.names()))
        for page in PAGES:
            self.assertLessEqual(len(page.read_text().splitlines()), LONGEST_PAGE, page)

    def names(self):
        said = self.galley("agents", "install", "nobody", expect=2).stderr.decode()
        table = (ROOT / "server" / "agents" / "agent_programs_table.cc").read_text()
        self.assertIn("nobody", said)
        return re.findall(r'agent\.name = "(\w+)"', table)


def add_test(page):
    setattr(Pages, f"test_the_commands_of_{page.stem}", lambda self: self.try_page(page))


for one in PAGES:
    add_test(one)

if __name__ == "__main__":
    hostile.main()
