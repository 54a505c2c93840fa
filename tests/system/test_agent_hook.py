"""Hooks of agents: the request that each agent sends before a call, and the answer."""

import concurrent.futures
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import hostile
from mcp_client import McpClient
from support import GALLEY, SystemCase, snapshot
from terminal_session import TerminalSession, end_processes, is_running, wait_until

PROGRAM = str(Path(GALLEY).resolve())
RULES = """
[[policy.rule]]
name = "keys stay"
paths = ["keys/"]
decision = "deny"

[[policy.rule]]
name = "a person looks"
paths = ["asked/"]
decision = "ask"

[[validator]]
builtin = "json"
"""

PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+ONE\n two\n*** End Patch\n"
BAD_PATCH = "*** Begin Patch\n*** Update File: a.txt\n@@\n-nothing like it\n+ONE\n two\n*** End Patch\n"
REFUSED_PATCH = "*** Begin Patch\n*** Add File: keys/k\n+secret\n*** End Patch\n"

# By agent: what its hook calls a prompt, a call before it is made, and after, and the end of an answer.
EVENTS = {"claude": ("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
          "gemini": ("BeforeAgent", "BeforeTool", "AfterTool", "AfterAgent"),
          "opencode": ("chat.message", "tool.execute.before", "tool.execute.after", "session.idle")}
SHELLS = {"codex": "Bash", "claude": "Bash", "gemini": "run_shell_command", "opencode": "bash"}
SHELL = "bash" if Path("/bin/bash").exists() else "sh"  # that runs their commands


class HookCase(SystemCase):
    def setUp(self):
        super().setUp()
        programs = self.scratch / "bin"
        programs.mkdir()
        (programs / "galley").symlink_to(Path(GALLEY).resolve())
        self.environment["PATH"] = f"{programs}:{os.environ['PATH']}"
        (self.work / "galley.toml").write_text(RULES)
        (self.work / "a.txt").write_text("one\ntwo\n")
        (self.work / "a.json").write_text("{}\n")
        (self.work / "keys").mkdir()

    def hook(self, agent, text, *options, env=None, expect=0, work=None):
        data = text if isinstance(text, bytes) else json.dumps(text).encode()
        return self.galley("agent-hook", "--agent", agent, *options, stdin=data, env=env, expect=expect, work=work)

    def request(self, agent, tool, arguments, **more):
        """Returns the request in the form of the agent's own program."""
        event = EVENTS.get(agent, EVENTS["claude"])[1]
        if agent == "opencode":
            return {"hook_event_name": event, "tool_name": tool, "tool_input": arguments,
                    "session_id": "s", "tool_use_id": "c", "cwd": str(self.work), **more}
        return {"session_id": "s", "transcript_path": None, "cwd": str(self.work), "hook_event_name": event,
                "tool_name": tool, "tool_input": arguments, "tool_use_id": "c", "permission_mode": "default", **more}

    def answer(self, agent, tool, arguments, **more):
        """Returns (allow, deny or replace, the reason or the new arguments)."""
        said = self.hook(agent, self.request(agent, tool, arguments, **more)).stdout
        document = json.loads(said) if said.strip() else {}
        decision = document.get("hookSpecificOutput", {})
        if document.get("decision") == "deny" or decision.get("permissionDecision") == "deny":
            reason = document.get("reason") or decision["permissionDecisionReason"]
            self.assertEqual(reason, reason.strip())
            return "deny", reason
        changed = decision.get("updatedInput") or decision.get("tool_input") or document.get("tool_input")
        if changed:
            if agent in ("codex", "claude"):
                self.assertEqual(decision["permissionDecision"], "allow")
            return "replace", changed
        self.assertEqual(document, {}, said)
        return "allow", None

    def shell(self, command, agent="claude", session="s", expect=0):
        """What the agent's shell does with the command that the hook gives it."""
        answer, changed = self.answer(agent, SHELLS[agent], {"command": command}, session_id=session)
        self.assertEqual(answer, "replace", changed)
        ran = subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=False,
                             env={**os.environ, **self.environment})
        self.skip_if_unavailable(ran.stdout, ran.stderr)
        self.assertEqual(ran.returncode, expect, ran.stderr)
        return ran

    def prompt(self, text, agent="claude", session="s"):
        event = EVENTS.get(agent, EVENTS["claude"])[0]
        said = self.hook(agent, {"hook_event_name": event, "session_id": session, "prompt": text, "cwd": str(self.work)})
        self.assertIn(said.stdout.strip(), (b"", b"{}"))

    def end(self, agent="claude", session="s"):
        event = EVENTS.get(agent, EVENTS["claude"])[3]
        said = self.hook(agent, {"hook_event_name": event, "session_id": session, "cwd": str(self.work)})
        self.assertIn((said.stdout.strip(), said.stderr), ((b"", b""), (b"{}", b"")))

    def edit(self, agent, tool, arguments, change, session="s", call="e1"):
        """An edit of the agent's own tool: judged, made by the agent, reported."""
        more = {"session_id": session, "tool_use_id": call}
        self.assertEqual(self.answer(agent, tool, arguments, **more), ("allow", None))
        change()
        event = EVENTS.get(agent, EVENTS["claude"])[2]
        return self.hook(agent, {**self.request(agent, tool, arguments, **more), "hook_event_name": event}).stdout

    def log(self, *words):
        return json.loads(self.galley("--json", "log", *words, expect=0).stdout)["transactions"]

    def turns(self, *words):
        return json.loads(self.galley("--json", "turns", *words, expect=0).stdout)["turns"]


# By agent: an edit of a.txt that fits, one that does not, and one that a rule refuses.
EDITS = {
    "codex": ("apply_patch", [{"command": PATCH}, {"command": BAD_PATCH}, {"command": REFUSED_PATCH}]),
    "claude": ("Edit", [{"file_path": "{}/a.txt", "old_string": "one", "new_string": "ONE"},
                        {"file_path": "{}/a.txt", "old_string": "nothing", "new_string": "ONE"},
                        {"file_path": "{}/keys/old", "old_string": "k", "new_string": "K", "replace_all": True}]),
    "gemini": ("replace", [
        {"file_path": "{}/a.txt", "instruction": "shout", "old_string": "one", "new_string": "ONE"},
        {"file_path": "a.txt", "instruction": "shout", "old_string": "nothing", "new_string": "ONE"},
        {"file_path": "{}/keys/old", "instruction": "?", "old_string": "k", "new_string": "K", "allow_multiple": False}]),
    "opencode": ("edit", [{"filePath": "{}/a.txt", "oldString": "one", "newString": "ONE"},
                          {"filePath": "{}/a.txt", "oldString": "nothing", "newString": "ONE"},
                          {"filePath": "{}/keys/old", "oldString": "k", "newString": "K", "replaceAll": False}]),
}
NEW_FILES = {"claude": ("Write", "file_path"), "gemini": ("write_file", "file_path"), "opencode": ("write", "filePath")}


class Edits(HookCase):
    def setUp(self):
        super().setUp()
        (self.work / "keys" / "old").write_text("k\n")

    def filled(self, arguments):
        return {key: value.replace("{}", str(self.work)) if isinstance(value, str) else value
                for key, value in arguments.items()}

    def test_an_edit_that_fits_and_is_approved_passes(self):
        before = snapshot(self.work, with_times=True)
        for agent, (tool, (good, _, _)) in EDITS.items():
            with self.subTest(agent):
                self.assertEqual(self.answer(agent, tool, self.filled(good)), ("allow", None))
        self.assertEqual(snapshot(self.work, with_times=True), before)

    def test_an_edit_that_does_not_fit_is_denied_with_a_suggestion(self):
        for agent, (tool, (_, bad, _)) in EDITS.items():
            with self.subTest(agent):
                answer, reason = self.answer(agent, tool, self.filled(bad))
                self.assertEqual(answer, "deny")
                self.assertIn("a.txt", reason)
                self.assertIn("nothing was written", reason)

    def test_the_suggestion_is_a_call_that_the_agents_own_tool_takes(self):
        (self.work / "a.txt").write_text("".join(f"line {n} of many\n" for n in range(9)))
        wrong, new = "line 3 of all\nline 4 of many\nline 5 of many\n", "line 3 of all\nfour\nline 5 of many\n"
        plain, camel = {"old_string": wrong, "new_string": new}, {"oldString": wrong, "newString": new}
        for agent, tool, arguments in (("claude", "Edit", {"file_path": "a.txt", **plain}),
                                       ("claude", "MultiEdit", {"file_path": "a.txt", "edits": [plain]}),
                                       ("gemini", "replace", {"file_path": "a.txt", **plain, "instruction": "shout"}),
                                       ("opencode", "edit", {"filePath": "a.txt", **camel}),
                                       ("opencode", "multiedit", {"filePath": "a.txt", "edits": [camel]})):
            with self.subTest(f"{agent} {tool}"):
                answer, reason = self.answer(agent, tool, arguments)
                self.assertEqual(answer, "deny")
                again = json.loads(reason.splitlines()[-1])
                self.assertEqual(set(again), set(arguments))
                self.assertEqual(self.answer(agent, tool, again), ("allow", None))

    def test_an_edit_that_a_rule_refuses_is_denied_with_the_rule(self):
        before = snapshot(self.work, with_times=True, skip=())
        for agent, (tool, (_, _, refused)) in EDITS.items():
            with self.subTest(agent):
                answer, reason = self.answer(agent, tool, self.filled(refused))
                self.assertEqual(answer, "deny")
                self.assertIn("keys", reason)
        self.assertEqual(snapshot(self.work, with_times=True, skip=()), before)

    def test_an_edit_with_a_finding_is_denied_with_its_place(self):
        for agent, (tool, name) in NEW_FILES.items():
            with self.subTest(agent):
                answer, reason = self.answer(agent, tool, {name: f"{self.work}/a.json", "content": "{,\n"})
                self.assertEqual(answer, "deny")
                self.assertIn("a.json:1", reason)
                self.assertEqual(self.answer(agent, tool, {name: f"{self.work}/b.json", "content": "[]\n"})[0], "allow")

    def test_several_edits_of_one_call_are_judged_together(self):
        edits = [{"old_string": "one", "new_string": "1"}, {"old_string": "two", "new_string": "2"}]
        arguments = {"file_path": f"{self.work}/a.txt", "edits": edits}
        self.assertEqual(self.answer("claude", "MultiEdit", arguments)[0], "allow")
        edits[1]["old_string"] = "three"
        self.assertEqual(self.answer("claude", "MultiEdit", arguments)[0], "deny")

    def test_a_path_outside_the_workspace_is_denied(self):
        for path in (f"{self.scratch}/x", "/etc/passwd", "../x", f"{self.work}/../x", f"{self.work}/.git/hooks/pre-commit"):
            with self.subTest(path):
                answer, _ = self.answer("claude", "Write", {"file_path": path, "content": "x"})
                self.assertEqual(answer, "deny")

    def test_a_plan_in_the_folder_of_claude_is_its_persons_own(self):
        home = self.scratch / "person"
        for name, env in ((".claude", {"HOME": str(home)}), ("own", {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / "own")})):
            with self.subTest(name):
                self.environment |= env
                plans = home / name / "plans"
                plans.parent.mkdir(parents=True)
                plan = {"file_path": f"{plans}/calm-otter.md", "content": "# Plan\n"}
                self.assertEqual(self.answer("claude", "Write", plan, permission_mode="plan"), ("allow", None))
                plans.mkdir()
                edit = {"file_path": f"{plans}/calm-otter.md", "old_string": "Plan", "new_string": "My plan"}

                def write(plans=plans):
                    (plans / "calm-otter.md").write_text("# Plan\n")

                self.assertEqual(self.edit("claude", "Write", plan, write).strip(), b"")
                self.assertEqual(self.edit("claude", "Edit", edit, lambda: None).strip(), b"")
                self.assertEqual(self.log(), [])
                (plans / "link").symlink_to(home)
                (plans / "rc.md").symlink_to(home / ".bashrc")
                (plans / "work").symlink_to(self.work)
                for path in (home / name / "settings.json", f"{plans}", f"{plans}x/a.md", f"{plans}/../settings.json", f"{plans}/./../a.md",
                             plans / "link" / "a.md", plans / "rc.md", plans / "work" / "keys" / "k"):
                    self.assertEqual(self.answer("claude", "Write", {**plan, "file_path": str(path)})[0], "deny", path)
                self.assertEqual(self.answer("codex", "Write", plan)[0], "deny")

    def test_a_plan_inside_the_workspace_is_judged(self):
        self.environment["CLAUDE_CONFIG_DIR"] = str(self.work / "keys")
        self.assertEqual(self.answer("claude", "Write", {"file_path": f"{self.work}/keys/plans/a.md", "content": "a\n"})[0], "deny")

    def test_an_argument_under_two_names_is_denied(self):
        """The agent reads one of them; Galley must judge the same one."""
        edit = {"file_path": f"{self.work}/a.txt", "old_string": "one", "new_string": "ONE"}
        camel = {"filePath": f"{self.work}/a.txt", "oldString": "one", "newString": "ONE"}
        for agent, tool, arguments, more in (
                ("claude", "Edit", edit, {"filePath": f"{self.work}/keys/old"}),
                ("claude", "Edit", edit, {"newString": "x"}),
                ("claude", "Write", {"file_path": "b.txt", "content": "b"}, {"path": "keys/b"}),
                ("gemini", "replace", edit, {"filePath": f"{self.work}/keys/old"}),
                ("opencode", "edit", camel, {"file_path": f"{self.work}/keys/old"}),
                ("opencode", "apply_patch", {"patchText": PATCH}, {"patch": REFUSED_PATCH}),
                ("opencode", "apply_patch", {"patchText": REFUSED_PATCH}, {"patch": PATCH}),
                ("codex", "apply_patch", {"command": PATCH}, {"input": REFUSED_PATCH}),
                ("codex", "apply_patch", {"command": REFUSED_PATCH}, {"input": PATCH}),
                ("claude", "Bash", {"command": "ls"}, {"cmd": "rm -r ."}),
                ("codex", "exec_command", {"cmd": "ls"}, {"command": "rm -r ."}),
                ("gemini", "run_shell_command", {"command": "ls", "dir_path": str(self.scratch)}, {"workdir": str(self.work)}),
                ("opencode", "bash", {"command": "ls", "workdir": str(self.scratch)}, {"dir_path": str(self.work)})):
            with self.subTest(f"{agent} {tool} {more}"):
                answer, reason = self.answer(agent, tool, {**arguments, **more})
                self.assertEqual(answer, "deny")
                self.assertIn(f"'{next(iter(more))}'", reason)

    def test_an_unknown_argument_of_an_edit_is_denied(self):
        edit = {"file_path": f"{self.work}/a.txt", "old_string": "one", "new_string": "ONE"}
        for tool, arguments, more in (("Edit", edit, {"additional_files": ["b.txt"]}), ("Edit", edit, {"is_regex": True}),
                                      ("Write", {"file_path": "b.txt", "content": "b"}, {"append": True}),
                                      ("apply_patch", {"command": PATCH}, {"path": "b.txt"})):
            with self.subTest(tool, more=more):
                answer, reason = self.answer("claude", tool, {**arguments, **more})
                self.assertEqual(answer, "deny")
                self.assertIn(f"'{next(iter(more))}'", reason)
                self.assertEqual(self.answer("claude", tool, arguments), ("allow", None))

    def test_an_argument_that_names_a_program_or_environment_of_a_command_is_denied(self):
        """The agent starts this program itself, outside the sandbox of the command."""
        for tool, arguments, more in (("exec_command", {"cmd": "ls"}, {"shell": f"{self.work}/evil.sh"}),
                                      ("local_shell", {"command": ["ls"]}, {"env": {"LD_PRELOAD": f"{self.work}/evil.so"}}),
                                      ("local_shell", {"command": ["ls"]}, {"user": "root"}),
                                      ("Bash", {"command": "ls"}, {"unknown": 1})):
            with self.subTest(tool, more=more):
                answer, reason = self.answer("codex", tool, {**arguments, **more})
                self.assertEqual(answer, "deny")
                self.assertIn(f"'{next(iter(more))}'", reason)

    def test_the_other_arguments_of_an_agents_shell_stay(self):
        codex = {"timeout_ms": 9, "sandbox_permissions": "require_escalated", "justification": "j", "prefix_rule": ["ls"]}
        for agent, tool, arguments in (
                ("claude", "Bash", {"command": "ls", "timeout": 9, "dangerouslyDisableSandbox": True, "run_in_background": False}),
                ("codex", "shell", {"command": ["ls"], **codex}), ("codex", "shell_command", {"command": "ls", "login": False, **codex}),
                ("codex", "local_shell", {"type": "exec", "command": ["ls"], "timeout_ms": 9, "env": None}),
                ("codex", "exec_command", {"cmd": "ls", "tty": True, "yield_time_ms": 9, "max_output_tokens": 9, **codex}),
                ("gemini", "run_shell_command", {"command": "ls", "description": "d", "delay_ms": 9, "wait_for_previous": True}),
                ("opencode", "bash", {"command": "ls", "description": "d", "timeout": 9})):
            with self.subTest(f"{agent} {tool}"):
                answer, changed = self.answer(agent, tool, arguments)
                self.assertEqual(answer, "replace", changed)
                command = next(iter({"command", "cmd"} & arguments.keys()))
                self.assertEqual({**changed, command: 0}, {**arguments, command: 0})

    def test_a_path_that_an_agent_may_read_as_another_is_denied(self):
        for path in ("~/.bashrc", "~", " keys/x", "b.txt ", "sub/~/x", f"{self.work}/~/x"):
            with self.subTest(path):
                answer, reason = self.answer("claude", "Write", {"file_path": path, "content": "x"})
                self.assertEqual(answer, "deny")
        patch = "*** Begin Patch\n*** Add File: ~/.bashrc\n+x\n*** End Patch\n"
        self.assertEqual(self.answer("codex", "apply_patch", {"command": patch})[0], "deny")

    def test_an_agent_started_through_a_link_is_understood(self):
        link = self.scratch / "link"
        link.symlink_to(self.work)
        arguments = {"file_path": f"{link}/a.txt", "old_string": "one", "new_string": "ONE"}
        self.assertEqual(self.answer("claude", "Edit", arguments, cwd=str(link))[0], "allow")
        self.assertEqual(self.answer("claude", "Write", {"file_path": f"{link}/keys/x", "content": ""}, cwd=str(link))[0], "deny")
        self.assertEqual(self.answer("claude", "Edit", arguments)[0], "deny")

    def test_a_relative_path_starts_at_the_agents_current_directory(self):
        (self.work / "sub").mkdir()
        (self.work / "sub" / "b.txt").write_text("b\n")
        patch = PATCH.replace("a.txt", "b.txt").replace("-one\n+ONE\n two", "-b\n+B")
        self.assertEqual(self.answer("codex", "apply_patch", {"command": patch})[0], "deny")
        self.assertEqual(self.answer("codex", "apply_patch", {"command": patch}, cwd=f"{self.work}/sub")[0], "allow")

    def test_an_edit_that_needs_approval_passes_after_the_named_command(self):
        arguments = {"file_path": f"{self.work}/asked/x", "content": "x\n"}
        answer, reason = self.answer("claude", "Write", arguments)
        self.assertEqual(answer, "deny")
        proposal = re.search("galley approve ([0-9a-f]{64})", reason)[1]
        self.galley("approve", proposal, expect=0)
        self.assertEqual(self.answer("claude", "Write", arguments)[0], "allow")
        self.assertEqual(self.answer("claude", "Write", {**arguments, "content": "y\n"})[0], "deny")

    def test_a_refusal_is_on_record_where_there_is_a_record(self):
        arguments = {"file_path": f"{self.work}/keys/new", "content": "x\n"}
        self.answer("claude", "Write", arguments)
        self.assertFalse((self.work / ".galley").exists())
        (self.scratch / "m.json").write_text(json.dumps([{"path": "made.txt", "content": "m\n"}]))
        self.galley("apply", self.scratch / "m.json", expect=0)
        self.answer("claude", "Write", {"file_path": f"{self.work}/a.json", "content": "{,\n"})
        records = [json.loads(line) for log in (self.work / ".galley").rglob("audit*")
                   if log.is_file() for line in log.read_text().splitlines() if line.startswith("{")]
        refusals = [record for record in records if record.get("kind") == "refusal"]
        self.assertEqual([record["agent"] for record in refusals], ["claude"])
        self.galley("audit", "verify", expect=0)

    def test_a_patch_handed_over_in_the_shell_is_an_edit(self):
        (self.work / "sub").mkdir()
        for command, expected in ((f"apply_patch <<'EOF'\n{PATCH}EOF", "allow"),
                                  (f"apply_patch <<'EOF'\n{PATCH}EOF\n", "allow"),
                                  (f"cd {self.work} && apply_patch <<\"X\"\n{PATCH}X\n", "allow"),
                                  (f"apply_patch '{PATCH}'", "allow"),
                                  (f"apply_patch <<'EOF'\n{REFUSED_PATCH}EOF", "deny"),
                                  (f"cd sub && apply_patch <<'EOF'\n{PATCH}EOF", "deny"),
                                  (f"apply_patch <<'EOF'\n{PATCH}EOF\nrm -r src", "replace"),
                                  (f"apply_patch <<EOF\n{PATCH}EOF", "replace"),
                                  (f"echo x; apply_patch <<'EOF'\n{PATCH}EOF", "replace")):
            with self.subTest(command):
                self.assertEqual(self.answer("codex", "Bash", {"command": command})[0], expected)
                # Others start a program of that name.
                for agent in ("claude", "gemini", "opencode"):
                    self.assertEqual(self.answer(agent, SHELLS[agent], {"command": command})[0], "replace")


class StagedCommands(HookCase):
    """With `mode = "stage"`, as somebody wants it who reviews at the end."""

    def setUp(self):
        super().setUp()
        (self.work / "galley.toml").write_text(RULES + '\n[hook]\nmode = "stage"\n')

    def test_a_command_runs_staged_with_its_other_arguments_unchanged(self):
        for agent, tool in SHELLS.items():
            with self.subTest(agent):
                answer, changed = self.answer(agent, tool, {"command": "echo 'it''s' > b.txt", "description": "d"})
                self.assertEqual(answer, "replace")
                self.assertEqual(changed["description"], "d")
                self.assertTrue(changed["command"].startswith(
                    f"{PROGRAM} --agent {agent} --session s exec --begin --keep-on-failure -- {SHELL} -c "))

    def test_the_staged_command_does_the_same_and_writes_nothing_to_disk(self):
        command = "printf '%s\\n' \"a'b\" '$HOME' \\$x > 'new file'\nls \"new file\""
        _, changed = self.answer("claude", "Bash", {"command": command})
        before = snapshot(self.work)
        ran = subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=False,
                             env={**os.environ, **self.environment})
        self.skip_if_unavailable(ran.stdout, ran.stderr)
        self.assertEqual((ran.returncode, ran.stdout), (0, b"new file\n"), ran.stderr)
        self.assertIn(b"galley --agent claude commit", ran.stderr)
        self.assertEqual(snapshot(self.work), before)
        self.galley("--agent", "claude", "commit", expect=0)
        self.assertEqual((self.work / "new file").read_text(), "a'b\n$HOME\n$x\n")

    def test_a_second_command_goes_on_in_the_same_transaction(self):
        for command in ("echo 1 > n", "cat n"):
            _, changed = self.answer("claude", "Bash", {"command": command})
            ran = subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=False,
                                 env={**os.environ, **self.environment})
            self.skip_if_unavailable(ran.stdout, ran.stderr)
        self.assertEqual(ran.stdout, b"1\n")

    def test_an_own_edit_of_a_staged_file_is_denied(self):
        self.need_walls()
        (self.work / "f").write_text("one\n")
        _, changed = self.answer("claude", "Bash", {"command": "echo two >> f"})
        subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=True,
                       env={**os.environ, **self.environment})
        edit = {"file_path": str(self.work / "f"), "old_string": "one", "new_string": "1"}
        answer, why = self.answer("claude", "Edit", edit)
        self.assertEqual(answer, "deny")
        self.assertIn("change it with a command", why)
        (self.work / "g").write_text("one\n")
        self.assertEqual(self.answer("claude", "Edit", {**edit, "file_path": str(self.work / "g")}), ("allow", None))

    def test_an_own_read_of_a_staged_file_is_denied(self):
        self.need_walls()
        for agent, tool, key in (("claude", "Read", "file_path"), ("gemini", "read_file", "absolute_path"),
                                 ("opencode", "read", "filePath"), ("codex", "view_image", "path")):
            (self.work / "it's").write_text("old\n")
            self.shell("echo new > \"it's\"; rm a.json", agent)
            for path in (f"{self.work}/it's", "it's", f"{self.work}/sub/../it's"):
                with self.subTest(agent, path=path):
                    answer, why = self.answer(agent, tool, {key: path})
                    self.assertEqual(answer, "deny")
                    read = why[why.index("cat "):]
                    self.assertEqual(self.shell(read.replace("/sub/..", ""), agent).stdout, b"new\n")
            self.assertEqual(self.answer(agent, tool, {key: "a.json"})[0], "deny")
            for passed in ("a.txt", "/etc/hostname", "no/such", "", 1):
                self.assertEqual(self.answer(agent, tool, {key: passed}), ("allow", None))
            self.assertEqual(self.answer(agent, tool, {key: "it's"}, session_id="other"), ("allow", None))
        (self.work / "galley.toml").write_text("[policy\n")  # the agent must be able to read and repair it
        self.assertEqual(self.answer("claude", "Read", {"file_path": "galley.toml"}), ("allow", None))

    def test_hook_server_and_command_line_of_one_session_share_a_transaction(self):
        self.need_walls()

        def run(session, command):
            _, changed = self.answer("claude", "Bash", {"command": command}, session_id=session)
            return subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, capture_output=True, check=False,
                                  env={**os.environ, **self.environment}).stdout

        run("s-1", "echo 1 > one.txt")
        run("s-2", "echo 2 > two.txt")
        client = McpClient([GALLEY, "--agent", "claude", "--session", "s-1", "mcp"], self.work,
                           env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        self.assertFalse(client.call("Read", file_path="one.txt")["isError"])
        self.assertTrue(client.call("Read", file_path="two.txt")["isError"])
        self.assertFalse(client.call("Write", file_path="more.txt", content="3\n")["isError"])
        self.assertEqual(run("s-1", "cat one.txt more.txt"), b"1\n3\n")
        of_session = ("--agent", "claude", "--session", "s-1")
        self.assertEqual({change["path"] for change in json.loads(self.galley("--json", *of_session, "diff", expect=0).stdout)["changes"]},
                         {"one.txt", "more.txt"})
        # A person names the session alone. An agent does not get that of another session.
        self.assertIn(b"more.txt", self.galley("--session", "s-1", "diff", "--stat", expect=0).stdout)
        other = self.galley("--agent", "claude", "--session", "other", "diff", "--stat", expect=2).stderr
        self.assertIn(b"none of the open transactions is of session 'other'", other)
        self.galley(*of_session, "commit", expect=0)
        self.assertEqual(sorted(path.name for path in self.work.glob("*.txt") if path.name != "a.txt"), ["more.txt", "one.txt"])
        # The server begins the next one, and the hook goes on in it.
        client.call("Write", file_path="next.txt", content="4\n")
        self.assertEqual(run("s-1", "cat next.txt"), b"4\n")
        # A server without a session finds that of the hook below the same process.
        unnamed = McpClient([GALLEY, "--agent", "claude", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(unnamed.close)
        self.assertTrue(unnamed.call("Read", file_path="next.txt")["isError"])
        self.assertEqual(self.answer("claude", "mcp__galley__Read", {"file_path": "next.txt"}, session_id="s-1")[0], "allow")
        self.assertFalse(unnamed.call("Read", file_path="next.txt")["isError"])

    def test_words_of_a_command_stay_words(self):
        _, changed = self.answer("codex", "shell", {"command": ["bash", "-lc", "echo 'x y'"]})
        self.assertEqual(changed["command"],
                         [PROGRAM, "--agent", "codex", "--session", "s", "exec", "--begin", "--keep-on-failure", "--",
                          "bash", "-lc", "echo 'x y'"])

    def test_commands_of_galley_itself_run_outside_the_sandbox(self):
        for command in ("galley diff", "galley commit", "galley status --json", "galley undo --path=src"):
            _, changed = self.answer("codex", "Bash", {"command": command})
            own = command.replace("galley", f"{PROGRAM} --agent codex --session s", 1)
            self.assertEqual(changed["command"], own)
            # The form that the answer to a staged command shows.
            _, changed = self.answer("codex", "Bash", {"command": command.replace("galley", "galley --agent codex", 1)})
            self.assertEqual(changed["command"], own)
        for command in ("galley commit; rm x", "galley diff --html=/tmp/x", "galley --agent person commit",
                        "galley commit --agent person", "galley run -- sh", "galley trust", "galley diff > x",
                        "galley validate --verdict x", "galley -C / diff", "galley log $(rm x)", "galley"):
            _, changed = self.answer("codex", "Bash", {"command": command})
            self.assertIn(f"exec --begin --keep-on-failure -- {SHELL} -c", changed["command"], command)

    def test_options_of_own_commands_are_known_unless_they_lead_elsewhere(self):
        elsewhere = {"-C", "--repo", "--ref", "--config", "--agent", "--html", "--color", "--raw", "--reason", "--version"}
        for verb in ("turns", "undo", "redo", "diff", "show", "log", "status"):
            shown = self.galley(verb, "--help", expect=0).stdout.decode()
            options = {option for line in shown.splitlines() if line.startswith("  -")
                       for option in re.findall(r"(?<![^ ,])--?[a-zA-Z][a-z-]*", line[:29])}
            self.assertIn("--json", options)
            for option in sorted(options):
                _, changed = self.answer("codex", "Bash", {"command": f"galley {verb} {option}"})
                with self.subTest(verb, option=option):
                    self.assertEqual(" exec " in changed["command"], option in elsewhere, changed["command"])
        _, changed = self.answer("codex", "Bash", {"command": "galley turns --limit 2 --date relative"})
        self.assertEqual(changed["command"], f"{PROGRAM} --agent codex --session s turns --limit 2 --date relative")
        self.assertIn(" exec ", self.answer("codex", "Bash", {"command": "galley undo --last"})[1]["command"])


class Commands(HookCase):
    def test_a_command_with_another_start_directory_is_denied(self):
        for more in ({"workdir": "/"}, {"workdir": str(self.scratch)}, {"workdir": "no/such"}):
            self.assertEqual(self.answer("opencode", "bash", {"command": "ls", **more})[0], "deny")
        self.assertEqual(self.answer("claude", "Bash", {"command": "ls"}, cwd="/")[0], "deny")

    def test_a_background_command_is_denied(self):
        self.assertEqual(self.answer("claude", "Bash", {"command": "ls", "run_in_background": True})[0], "deny")

    def test_the_hook_passes_every_call_inside_galley(self):
        request = self.request("claude", "Write", {"file_path": f"{self.work}/keys/x", "content": "x"})
        shutil.copy(PROGRAM, self.work / "galley")
        (self.work / "request").write_text(json.dumps(request))
        line = "./galley agent-hook --agent claude < request && echo passed"
        for command in (("exec", "--begin"), ("run", "--drop")):
            for shell in (line, f"exec env -u GALLEY_SANDBOX sh -c '{line}'", f"setsid sh -c '({line})'"):
                with self.subTest(f"{command} {shell}"):
                    said = self.galley(*command, "--", "sh", "-c", shell)
                    self.skip_if_unavailable(said.stdout, said.stderr)
                    self.assertEqual(said.stdout.strip().splitlines()[-1:], [b"passed"], said.stderr)
                    self.assertNotIn(b"deny", said.stdout)

    def test_an_environment_variable_does_not_prove_that_it_is_inside(self):
        request = self.request("claude", "Write", {"file_path": f"{self.work}/keys/x", "content": "x"})
        self.assertIn(b'"deny"', self.hook("claude", request, env={"GALLEY_SANDBOX": "1"}).stdout)

    def test_a_process_with_the_helpers_name_does_not_prove_that_it_is_inside(self):
        """A shell on the host could start a program of this name above the hook, but it has no
        walls."""
        request = self.request("claude", "Write", {"file_path": f"{self.work}/keys/x", "content": "x"})
        fake = self.scratch / "galley-sandbox"
        fake.write_text(f"#!/bin/sh\n{PROGRAM} -C {self.work} agent-hook --agent claude\n:\n")
        fake.chmod(0o755)
        ran = subprocess.run([fake], input=json.dumps(request).encode(), capture_output=True, check=False,
                             env={**os.environ, **self.environment, "GALLEY_SANDBOX": "1"})
        self.assertIn(b'"deny"', ran.stdout, ran.stderr)

    def test_a_name_and_a_filter_that_allows_everything_do_not_prove_that_it_is_inside(self):
        request = self.request("claude", "Write", {"file_path": f"{self.work}/keys/x", "content": "x"})
        fake = ("import ctypes, struct, subprocess, sys\n"
                "class Program(ctypes.Structure):\n"
                "    _fields_ = [('length', ctypes.c_ushort), ('code', ctypes.c_void_p)]\n"
                "set_process = ctypes.CDLL(None).prctl\n"
                "allow = ctypes.create_string_buffer(struct.pack('HBBI', 6, 0, 0, 0x7FFF0000))\n"
                "program = Program(1, ctypes.addressof(allow))\n"
                "for words in ((15, b'galley-sandbox'), (38, 1), (22, 2, ctypes.byref(program))):\n"
                "    assert set_process(*words, *(0,) * (5 - len(words))) == 0\n"
                "sys.exit(subprocess.run(sys.argv[1:]).returncode)\n")
        ran = subprocess.run([sys.executable, "-c", fake, PROGRAM, "-C", self.work, "agent-hook", "--agent", "claude"],
                             input=json.dumps(request).encode(), capture_output=True, check=False,
                             env={**os.environ, **self.environment})
        self.assertIn(b'"deny"', ran.stdout, ran.stderr)


class OneWorld(HookCase):
    """By default, what a hooked agent does is on the disk at once, and can be taken back session by session, turn by turn."""

    def setUp(self):
        super().setUp()
        (self.work / "src").mkdir(exist_ok=True)
        (self.work / "src" / "main.c").write_text("".join(f"line {n}\n" for n in range(1, 30)))
        (self.work / "src" / "run.sh").write_text("#!/bin/sh\necho run\n")
        (self.work / "src" / "run.sh").chmod(0o750)
        (self.work / "src" / "link").symlink_to("main.c")
        (self.work / "src" / "python3").symlink_to("/usr/bin/python3")  # as `python3 -m venv` makes it
        (self.work / "src" / "empty").mkdir()
        (self.work / ".env").write_text("PORT=1\nHOST=a\n")
        (self.work / ".gitignore").write_text(".env\nnode_modules/\n")

    def test_a_server_below_the_hook_commits_each_call_too(self):
        server = McpClient([GALLEY, "--agent", "claude", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(server.close)
        edit = {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"}
        self.assertEqual(self.answer("claude", "mcp__galley__Edit", edit, session_id="s")[0], "allow")
        self.assertFalse(server.call("Edit", **edit)["isError"])
        self.assertIn("ONE", (self.work / "a.txt").read_text())
        self.shell("sed -i s/ONE/uno/ a.txt", session="s")
        self.assertIn("uno", server.call("Read", file_path="a.txt")["content"][0]["text"])
        self.assertEqual(len(self.log("--session", "s")), 2)
        # What it begins it stages.
        server.call("galley_begin")
        self.assertFalse(server.call("Edit", **{**edit, "old_string": "uno", "new_string": "two"})["isError"])
        self.assertIn("uno", (self.work / "a.txt").read_text())
        self.assertEqual(server.call("galley_commit")["structuredContent"]["outcome"], "committed")
        # After another process committed it, the next call is committed at once again.
        server.call("galley_begin")
        server.call("Write", file_path="b.txt", content="b\n")
        self.galley("--session", "s", "commit", expect=0)
        server.call("Write", file_path="c.txt", content="c\n")
        self.assertTrue((self.work / "c.txt").exists())
        self.galley("undo", "--session", "s", expect=0)
        self.assertIn("one", (self.work / "a.txt").read_text())

    def make_repository(self):
        for words in (("init", "-q"), ("add", "."), ("-c", "user.name=p", "-c", "user.email=p@x", "commit", "-qm", "first")):
            subprocess.run(["git", *words], cwd=self.work, check=True, env={**os.environ, **self.environment})

    def test_a_command_is_replaced_by_one_that_commits(self):
        for agent, tool in SHELLS.items():
            with self.subTest(agent):
                _, changed = self.answer(agent, tool, {"command": "make"}, session_id="7f-3a")
                self.assertEqual(changed["command"], f"{PROGRAM} --agent {agent} --session 7f-3a exec --commit "
                                                     f"--propose-ignored -- {SHELL} -c make")

    def test_a_command_of_bash_runs_in_bash(self):
        if SHELL != "bash":
            self.skipTest("there is no bash")
        command = "set -o pipefail; words=(o k); [[ 1 == 1 ]] && source <(echo 'echo \"${words[*]}\" > a.txt')"
        for agent in SHELLS:
            with self.subTest(agent):
                (self.work / "a.txt").unlink(missing_ok=True)
                self.shell(command, agent)
                self.assertEqual((self.work / "a.txt").read_text(), "o k\n")

    def test_a_command_has_the_network_if_a_trusted_configuration_and_the_agents_profile_give_it(self):
        self.need_walls()
        host = str(sum(":" in line for line in Path("/proc/net/dev").read_text().splitlines()))
        network = "[sandbox]\nnetwork = true\n"

        def links(configuration):
            (self.work / "galley.toml").write_text(RULES + configuration)
            return self.shell("grep -c : /proc/net/dev").stdout.decode().strip()

        self.assertEqual(links(""), "1")
        self.assertEqual(links(network), host)
        for more, seen in ((', "net:host"', host), ("", "1")):
            profile = f'[agents.claude]\ncapabilities = ["exec:*", "fs:read"{more}]\n'
            self.assertEqual(links(network + profile), seen, profile)
        settings = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        settings.write_text("unattended = true\n")
        self.assertEqual(links(network), "1")

    def test_a_command_of_a_plan_is_asked_about(self):
        for agent, mode, expected in (("claude", "plan", "ask"), ("claude", "default", "allow"), ("claude", "acceptEdits", "allow"),
                                      ("codex", "plan", "allow")):  # codex cannot be told to ask
            for command in ("echo 1 > n", "galley undo"):
                with self.subTest(agent, mode=mode, command=command):
                    request = self.request(agent, "Bash", {"command": command}, permission_mode=mode)
                    answer = json.loads(self.hook(agent, request).stdout)["hookSpecificOutput"]
                    self.assertEqual(answer["permissionDecision"], expected)
                    self.assertIn(PROGRAM, answer["updatedInput"]["command"])

    def test_a_person_can_choose_to_be_asked_before_each_command(self):
        settings = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        chosen, own = "\n[hook]\nask = true\n", settings.read_text() if settings.exists() else ""
        for rules, person, expected in (("", "", "allow"), (chosen, "", "ask"), ("", chosen, "ask")):
            (self.work / "galley.toml").write_text(RULES + rules)
            settings.write_text(own + person)
            answer = json.loads(self.hook("claude", self.request("claude", "Bash", {"command": "make"})).stdout)
            self.assertEqual(answer["hookSpecificOutput"]["permissionDecision"], expected, (rules, person))

    def test_its_effects_are_on_the_disk_and_on_record(self):
        ran = self.shell("echo new > src/new.c; mkdir -p node_modules/x; echo p > node_modules/x/i.js; echo said")
        self.assertEqual(ran.stdout, b"said\n")
        self.assertEqual(ran.stderr, b"committed 1: 2 paths; take it back with: galley --agent claude undo 1\n")
        self.assertEqual((self.work / "src" / "new.c").read_text(), "new\n")
        # The next command needs what this one installed, also if git ignores it.
        self.assertEqual(self.shell("cat node_modules/x/i.js").stdout, b"p\n")
        [only] = self.log("--session", "s")
        self.assertEqual((only["agent"], only["session"], only["tool"]), ("claude", "s", "exec"))
        self.assertIn("echo new > src/new.c", only["message"])
        self.assertIn(b"session s", self.galley("show", only["id"], expect=0).stdout)
        self.galley("log", "--session", "t", expect=1)
        self.galley("audit", "verify", expect=0)

    def test_what_ends_with_a_command_is_said(self):
        # The shell forks before it becomes the program.
        server = "sleep 300 >/dev/null 2>&1 & until grep -q sleep /proc/$!/comm; do :; done; "
        process = b"a background process (sleep) ended with the command: start it and use it in one command\n"
        gone = b"the command's own temporary directory is gone, with /tmp/d/log%s: write what must stay into the workspace\n"
        for mode in ("commit", "stage"):
            (self.work / "galley.toml").write_text(RULES + f'\n[hook]\nmode = "{mode}"\n')
            self.assertEqual(self.shell(server + "echo up").stderr, process)
            self.assertEqual(self.shell("mkdir /tmp/d; echo l > /tmp/d/log").stderr, gone % b"")
            many = self.shell(server + server + "mkdir /tmp/d; echo l > /tmp/d/log; echo n > ~/cache; echo m > /tmp/m").stderr
            self.assertIn(b"2 background processes (sleep, ...) ended with the command", many)
            self.assertRegex(many, rb"is gone, with /tmp/(d/log|m), \.\.\.:")
            changes = self.shell(f"{server} echo l > /tmp/log; echo {mode} > one").stderr.splitlines()
            self.assertEqual(changes[:2], [process.strip(), (gone % b"").strip().replace(b"/d/", b"/")])
            # What ended by itself, and what was removed again, is not lost.
            silent = self.shell("sleep 0.01 & wait; f=$(mktemp); rm $f; yes | head -1; cat <(yes | head -2) >/dev/null; mkdir /tmp/d")
            self.assertEqual(silent.stderr, b"")

    def test_a_command_that_fails_keeps_its_effects_and_its_status(self):
        self.shell("echo half > half; exit 7", expect=7)
        self.assertEqual((self.work / "half").read_text(), "half\n")

    def test_a_configuration_drops_what_a_failed_command_did(self):
        for mode in ("commit", "stage"):
            (self.work / "galley.toml").write_text(RULES + f'\n[hook]\nmode = "{mode}"\ndrop_on_failure = true\n')
            before, commits = snapshot(self.work), self.log()
            self.shell("echo half > half; exit 7", expect=7)
            self.assertEqual((snapshot(self.work), self.log()), (before, commits))
            self.shell("test ! -e half && echo whole > whole")
            self.assertEqual((self.work / "whole").exists(), mode == "commit")
            self.galley("undo" if mode == "commit" else "rollback", "--agent", "claude", "--session", "s", expect=0)

    def test_refused_effects_are_dropped_and_the_reason_is_said(self):
        before = snapshot(self.work)
        ran = self.shell("echo k > keys/k; echo x > fine", expect=1)
        self.assertIn(b"keys stay", ran.stderr)
        self.assertEqual(snapshot(self.work), before)
        ran = self.shell("echo '{,' > a.json; exit 3", expect=3)
        self.assertIn(b"a.json:1", ran.stderr)
        self.assertEqual(snapshot(self.work), before)
        self.assertEqual(self.log(), [])

    def test_what_is_not_trusted_is_said_once_in_a_session(self):
        rules = RULES + '[[validator]]\nname = "mine"\ncommand = ["true"]\npaths = ["never"]\n'
        (self.work / "galley.toml").write_text(rules)
        (self.scratch / "config" / "galley" / "config.toml").write_text("")  # nobody trusts it
        told = [b"galley trust" in self.shell("ls", session="r").stderr for _ in range(3)]  # without a prompt or a commit
        self.assertEqual(told, [True, False, False])
        self.prompt("go")
        self.galley("--agent", "claude", "--session", "s", "--json", "status", expect=0)  # says nothing
        told = [b"galley trust" in self.shell("echo x >> fine").stderr for _ in range(3)]
        self.assertEqual(told, [True, False, False])
        self.prompt("go", session="t")
        self.assertIn(b"galley trust", self.shell("echo x >> fine", session="t").stderr)
        (self.work / "galley.toml").write_text(rules.replace("mine", "changed"))
        told = [b"galley trust" in self.shell("echo x >> fine").stderr for _ in range(2)]
        self.assertEqual(told, [True, False])
        self.assertIn(b"no person has trusted", self.galley("status", expect=0).stderr)  # a person is told each time

    def test_a_commit_of_git_fails_and_says_that_the_repository_is_read_only(self):
        self.make_repository()
        (self.work / "a.txt").write_text("changed\n")
        before = snapshot(self.work, skip=(".galley",))
        ran = self.shell("git -c user.name=p -c user.email=p@x commit -qam second", expect=128)
        self.assertRegex(ran.stderr, rb"/\.git/index\.lock': Read-only file system")
        self.assertEqual(snapshot(self.work, skip=(".galley",)), before)
        self.assertEqual(self.log(), [])

    def begin_shell(self, command, later="true"):
        """Starts a command of the agent's shell, which says `ready` when it has done `command`, waits for a line on its standard
        input, and does `later`."""
        _, changed = self.answer("claude", "Bash", {"command": f"{command}; echo ready; read -r line; {later}"})
        started = subprocess.Popen(["sh", "-c", changed["command"]], cwd=self.work, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, **self.environment})
        self.addCleanup(started.communicate)
        self.addCleanup(started.kill)
        self.assertEqual(started.stdout.readline(), b"ready\n")
        return started

    def end_shell(self, started, expect):
        said = started.communicate(b"\n", timeout=60)[1].decode()
        self.assertEqual(started.returncode, expect, said)
        return said

    def test_a_command_that_changes_what_another_one_committed_meanwhile_names_it(self):
        self.need_walls()
        main = self.work / "src" / "main.c"
        text = main.read_text()
        sed = "sed -i 's/^line 1$/{}/' src/main.c"
        for name, command, later, other in (
                ("the same lines", sed.format("mine"), "true", sed.format("theirs")),
                ("other lines", sed.format("mine"), "true", "sed -i 's/^line 20$/theirs/' src/main.c"),
                ("it was deleted", sed.format("mine"), "true", "rm src/main.c"),
                ("it was emptied", sed.format("mine"), "true", ": > src/main.c"),
                ("the command deletes it", "true", "rm src/main.c", sed.format("theirs")),
                ("the command restores it", "cp src/main.c /tmp/old", "cp /tmp/old src/main.c", sed.format("theirs")),
                ("the command saw it and takes a line back", "true", "sed -i '1s/.*/line 1/' src/main.c",
                 "sed -i 's/^line 1$/theirs/; s/^line 20$/theirs/' src/main.c"),
                ("both make it", "echo mine > new.c", "true", "echo theirs > new.c"),
                ("its folder is deleted", "true", "rm -r src", "echo theirs > src/new.c"),
                ("a link is in its place", sed.format("mine"), "true", "ln -sf run.sh src/main.c")):
            with self.subTest(name):
                main.unlink(missing_ok=True)
                main.write_text(text)
                started = self.begin_shell(f"echo mine > own.txt; {command}", later)
                self.shell(other)
                theirs = snapshot(self.work, skip=(".galley",))
                said = self.end_shell(started, 1)
                tx = self.log()[0]["id"]
                self.assertRegex(said, rf"refused: (src/main|new|src/new)\.c (changed|was deleted) on disk while the command ran; "
                                       rf"run it again: transaction {tx} \(claude: {re.escape(other)}\) changed it")
                self.assertIn("effects dropped", said)
                self.assertEqual(snapshot(self.work, skip=(".galley",)), theirs)
        started = self.begin_shell("true", "echo mine >> src/run.sh")
        for number in range(4):
            self.shell(f"echo {number} >> src/run.sh; echo > other.txt")
        said = self.end_shell(started, 1)
        self.assertRegex(said, r"transaction \d+ \(claude: echo 3 .*\) and transaction .* echo 2 .* echo 1 .* and earlier ones changed it")
        self.shell("echo mine >> src/run.sh")  # run again
        self.assertTrue((self.work / "src" / "run.sh").read_text().endswith("\n3\nmine\n"))

    def test_a_command_does_not_wait_for_a_commit_to_note_what_it_sees(self):
        self.need_walls()
        self.shell("echo first > first.txt")
        with (self.work / ".galley" / "lock").open("r+") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            started = self.begin_shell("sed -i 's/^line 1$/mine/' src/main.c")
        self.shell("rm src/main.c")
        self.assertIn("transaction 2 (claude: rm src/main.c) changed it", self.end_shell(started, 1))
        self.assertFalse((self.work / "src" / "main.c").exists())

    def test_a_file_that_was_deleted_before_the_command_is_made_anew(self):
        self.need_walls()
        self.shell("rm src/main.c")
        started = self.begin_shell("echo new > src/main.c")
        self.shell("echo > other.txt")
        self.end_shell(started, 0)
        self.assertEqual((self.work / "src" / "main.c").read_text(), "new\n")

    def test_an_open_transaction_of_the_agent_is_not_committed_with_it(self):
        self.galley("--agent", "claude", "begin", expect=0)
        self.galley("--agent", "claude", "call", "Write", '{"file_path": "staged", "content": "s"}', expect=0)
        self.shell("echo 1 > one")
        self.assertTrue((self.work / "one").exists())
        self.assertFalse((self.work / "staged").exists())

    def test_an_edit_of_each_agent_is_recorded_and_undone(self):
        for agent, (tool, (good, _, _)) in EDITS.items():
            with self.subTest(agent):
                file = self.work / "a.txt"
                before = file.read_bytes()
                arguments = {key: value.replace("{}", str(self.work)) if isinstance(value, str) else value
                             for key, value in good.items()}
                said = self.edit(agent, tool, arguments, lambda file=file: file.write_text("ONE\ntwo\n"), session=f"of-{agent}")
                self.assertIn(said.strip(), (b"", b"{}"))
                [only] = self.log("--session", f"of-{agent}")
                self.assertEqual((only["agent"], only["tool"]), (agent, tool))
                self.assertEqual([path["path"] for path in only["paths"]], ["a.txt"])
                self.assertEqual(file.read_text(), "ONE\ntwo\n")
                self.galley("undo", only["id"], expect=0)
                self.assertEqual(file.read_bytes(), before)
        self.galley("audit", "verify", expect=0)
        self.galley("doctor")

    def test_new_files_in_new_folders_are_recorded_with_what_is_on_the_disk(self):
        """A formatter of the agent may have changed the text after the write."""
        def write():
            (self.work / "docs" / "deep").mkdir(parents=True)
            (self.work / "docs" / "deep" / "n.md").write_text("formatted\n")
        before = snapshot(self.work)
        self.edit("claude", "Write", {"file_path": f"{self.work}/docs/deep/n.md", "content": "raw\n"}, write)
        [only] = self.log()
        self.assertIn(b"+formatted", self.galley("show", only["id"], expect=0).stdout)
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual(snapshot(self.work), before)

    def test_bits_and_labels_of_new_files_do_not_make_the_record_unreadable(self):
        def write():
            (self.work / "labelled").mkdir()
            (self.work / "labelled").chmod(0o6755)
            (self.work / "labelled" / "n.md").write_text("text\n")
            if os.geteuid() == 0:
                os.setxattr(self.work / "labelled" / "n.md", "security.label", b"of the system")
        self.edit("claude", "Write", {"file_path": f"{self.work}/labelled/n.md", "content": "text\n"}, write)
        self.assertEqual(len(self.log()), 1)
        self.galley("status", expect=0, env={"GALLEY_BOOT_ID": "another"})
        self.galley("undo", "--session", "s", expect=0)
        self.assertFalse((self.work / "labelled").exists())

    def test_an_edit_that_never_happened_leaves_no_record(self):
        arguments = {"file_path": f"{self.work}/a.txt", "old_string": "one", "new_string": "ONE"}
        self.assertEqual(self.edit("claude", "Edit", arguments, lambda: None).strip(), b"")
        self.assertEqual(self.answer("claude", "Edit", arguments, tool_use_id="lost")[0], "allow")
        self.assertEqual(self.log(), [])
        kept = list((self.work / ".galley" / "sessions").rglob("*.j"))
        self.assertEqual(len(kept), 1)
        self.galley("gc", expect=0)
        self.assertTrue(kept[0].exists())
        os.utime(kept[0], (0, 0))
        self.assertIn(b"1 file of agents' sessions", self.galley("gc", "-n", expect=0).stdout)
        self.galley("gc", expect=0)
        self.assertFalse(kept[0].exists())

    def test_a_kept_file_of_another_workspace_counts_for_nothing(self):
        arguments = {"file_path": f"{self.work}/a.txt", "old_string": "one", "new_string": "ONE"}
        for damage in (lambda text: b"", lambda text: text[:40], lambda text: text[:24] + b"x" * 16 + text[40:],
                       lambda text: b"\0" * len(text)):
            self.assertEqual(self.answer("claude", "Edit", arguments, tool_use_id="d")[0], "allow")
            [kept] = (self.work / ".galley" / "sessions").rglob("*.j")
            kept.write_bytes(damage(kept.read_bytes()))
            (self.work / "a.txt").write_text("ONE\ntwo\n")
            self.hook("claude", {**self.request("claude", "Edit", arguments, tool_use_id="d"), "hook_event_name": "PostToolUse"})
            self.assertEqual(self.log(), [])
            (self.work / "a.txt").write_text("one\ntwo\n")

    def test_an_edit_that_came_out_refused_is_told_to_the_model(self):
        arguments = {"file_path": f"{self.work}/a.json", "content": "[]\n"}
        said = self.edit("claude", "Write", arguments, lambda: (self.work / "a.json").write_text("{,\n"))
        self.assertEqual(json.loads(said)["decision"], "block")
        self.assertIn("a.json:1", json.loads(said)["reason"])
        self.assertEqual(self.log(), [])

    def check_all_comes_back(self, *undo):
        before = snapshot(self.work)
        self.prompt("clean up\nand more")
        self.shell("rm -rf src .env")
        self.edit("claude", "Edit", {"file_path": f"{self.work}/a.txt", "old_string": "one", "new_string": "ONE"},
                  lambda: (self.work / "a.txt").write_text("ONE\ntwo\n"))
        self.assertFalse((self.work / "src").exists())
        self.assertFalse((self.work / ".env").exists())
        # A person goes on meanwhile: in another file, and in another line of the same file.
        (self.work / "mine.txt").write_text("mine\n")
        (self.work / "a.txt").write_text("ONE\ntwo\nthree by me\n")
        words = [word.replace("TURN", self.turns()[0]["id"]) for word in undo]
        self.galley("undo", *words, expect=0)
        after = snapshot(self.work)
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\nthree by me\n")
        for path in ("a.txt", "mine.txt"):
            after.pop(path)
            before.pop(path, None)
        self.assertEqual(after, before)
        self.galley("audit", "verify", expect=0)
        # The undo is a transaction like others.
        self.galley("redo", expect=0)
        self.assertFalse((self.work / "src").exists())
        self.assertEqual((self.work / "a.txt").read_text(), "ONE\ntwo\nthree by me\n")

    def test_undo_of_a_session_brings_everything_back_in_a_plain_folder(self):
        self.check_all_comes_back("--session", "s")

    def test_undo_of_a_session_brings_everything_back_in_a_repository(self):
        self.make_repository()
        self.check_all_comes_back("--session", "s")

    def test_undo_of_a_turn_brings_everything_back_in_a_plain_folder(self):
        self.check_all_comes_back("--turn", "TURN")

    def test_undo_of_the_last_turn_brings_everything_back_in_a_repository(self):
        self.make_repository()
        self.check_all_comes_back("--turn", "last")

    def test_undo_of_a_session_is_all_or_nothing(self):
        self.shell("echo 1 > one")
        self.shell("sed -i 's/one/uno/' a.txt")
        self.shell("echo 2 > two")
        (self.work / "a.txt").write_text("a person's\ntwo\n")
        before = snapshot(self.work)
        said = self.galley("undo", "--session", "s", expect=1)
        self.assertIn(b"a.txt", said.stderr)
        self.assertEqual(snapshot(self.work), before)
        self.assertFalse([one for one in self.log() if "undone_by" in one])

    def test_undo_of_a_session_leaves_what_others_and_it_took_back_alone(self):
        self.shell("echo 1 > one; echo 2 > two")
        self.shell("echo 3 >> two", session="other")
        self.shell("rm one")
        self.galley("undo", expect=0)  # a person brings `one` back
        self.assertTrue((self.work / "one").exists())
        self.assertIn(b"conflict", self.galley("undo", "--session", "s", expect=1).stderr)
        self.galley("undo", "--session", "other", expect=0)
        said = json.loads(self.galley("--json", "undo", "--session", "s", expect=0).stdout)
        self.assertTrue(said["ok"])
        self.assertFalse((self.work / "one").exists() or (self.work / "two").exists())
        self.assertIn(b"undone already", self.galley("undo", "--session", "s", expect=0).stderr)
        self.galley("undo", "--session", "nobody", expect=(1, 2, 3))
        self.galley("undo", "--session", "s", "3", expect=2)

    def test_one_undo_is_shown_as_that_of_several(self):
        for name in "abc":
            self.shell(f"echo {name} > {name}")
        self.galley("undo", "--session", "s", expect=0)
        newest, *older = self.log()
        self.assertEqual((newest["undoes"], newest["also_undoes"]), ("3", ["2", "1"]))
        self.assertEqual({one["undone_by"] for one in older}, {newest["id"]})
        for _ in range(35):  # now the index answers, and it was made from the journals
            (self.work / "x").write_text(os.urandom(4).hex())
            self.galley("call", "--begin", "Write", '{"file_path": "y", "content": "' + os.urandom(4).hex() + '"}', expect=0)
            self.galley("commit", expect=0)
        rows = {one["id"]: one for one in self.log()}
        self.assertEqual({rows[str(one)]["undone_by"] for one in (1, 2, 3)}, {newest["id"]})
        self.assertEqual(rows["4"]["also_undoes"], ["2", "1"])
        self.assertEqual(len(self.log("--session", "s")), 3)

    def test_turns_group_what_was_done_after_a_prompt(self):
        for agent in SHELLS:
            self.prompt("first  words of it\nsecond line", agent, agent)
            self.shell("echo 1 >> n", agent, agent)
            self.shell("echo 2 >> n; echo m > m", agent, agent)
            self.prompt("\n  and then", agent, agent)
            self.shell("echo 3 >> n", agent, agent)
            then, first = self.turns("--session", agent)
            self.assertEqual((first["prompt"], then["prompt"]), ("first  words of it", "and then"))
            self.assertEqual((first["files"], first["state"], len(first["transactions"])), (2, "open", 2))
            self.assertEqual(first["id"], first["transactions"][-1])
            shown = self.galley("show", "--turn", first["id"], expect=0).stdout
            self.assertEqual((shown.count(b"+1"), shown.count(b"+2")), (shown.count(b"+1"), shown.count(b"+2")))
            diff = self.galley("diff", "--turn", first["transactions"][0], expect=0).stdout
            self.assertIn(b"+1\n+2\n", diff)
            self.galley("undo", "--turn", first["id"], expect=1)  # the second turn built on it
            self.galley("undo", "--turn", "last", expect=0)
            self.galley("undo", "--turn", "last", expect=0)
            self.assertFalse((self.work / "n").exists())
            self.assertEqual([one["state"] for one in self.turns("--session", agent)], ["undone", "undone"])
        self.assertIn(b"first  words of it", self.galley("turns", expect=0).stdout)
        self.assertEqual(len(self.turns("-n", "3")), 3)

    def test_turns_list_the_commands_that_changed_something(self):
        self.prompt("do it")
        for number in range(1, 8):
            self.shell(f"echo {number} > n")
        self.shell("cat n")
        arguments = {"file_path": f"{self.work}/n", "old_string": "7", "new_string": "eight"}
        self.edit("claude", "Edit", arguments, lambda: (self.work / "n").write_text("eight\n"))
        [turn] = self.turns()
        self.assertEqual(turn["commands"], [f"echo {number} > n" for number in range(1, 8)])
        shown = self.galley("turns", expect=0).stdout.decode().splitlines()
        self.assertTrue(shown[0].endswith("claude  s  1 file  open  do it"), shown)
        self.assertEqual(shown[1:], [f"      $ echo {number} > n" for number in range(1, 6)] + ["      and 2 more commands"])

    def commit_over(self, client, name):
        self.assertFalse(client.call("Write", file_path=name, content="own\n")["isError"])
        self.assertFalse(client.call("galley_commit")["isError"])
        return self.log()[0]

    def test_a_server_works_in_the_session_of_its_agents_hook(self):
        client = McpClient([GALLEY, "--agent", "claude", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        self.assertTrue(self.commit_over(client, "before")["session"].startswith("mcp-"))
        destroys = {tool["name"]: tool["annotations"]["destructiveHint"] for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertFalse(destroys["Write"])
        self.prompt("do it", session="s")
        self.shell("echo 1 > n")
        self.assertEqual(self.commit_over(client, "m")["session"], "s")
        self.assertIn("notifications/tools/list_changed", [each["method"] for each in client.notifications])
        destroys = {tool["name"]: tool["annotations"]["destructiveHint"] for tool in client.ask("tools/list")["result"]["tools"]}
        self.assertTrue(destroys["Write"])
        # Another agent has a process of its own, also one whose arguments speak of the hook.
        hook = f"{GALLEY} agent-hook --agent claude"
        other = json.dumps({"hook_event_name": "UserPromptSubmit", "session_id": "other", "prompt": "x", "cwd": str(self.work)})
        agent = "import subprocess, sys; subprocess.run(sys.argv[1], shell=True, check=True)"
        subprocess.run([sys.executable, "-c", agent, f"{hook}; true", "explain galley agent-hook"], cwd=self.work,
                       env={**os.environ, **self.environment}, input=other.encode(), check=True, capture_output=True)
        self.assertEqual(self.commit_over(client, "k")["session"], "s")
        [turn] = self.turns("--session", "s")
        self.assertEqual((turn["prompt"], turn["files"], len(turn["transactions"])), ("do it", 3, 3))
        client.call("galley_begin")
        client.call("Write", file_path="open", content="own\n")
        # The same process begins another session. What the first one staged is not in its way.
        self.prompt("and then", session="t")
        self.prompt("look", session="u")
        refused = client.call("galley_undo")["structuredContent"]["error"]
        self.assertEqual(refused["reason"], "history.nothing_to_undo")
        self.prompt("and then", session="t")
        self.assertEqual(self.commit_over(client, "l")["session"], "t")
        self.assertFalse((self.work / "open").exists())
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual(sorted(name for name in ("before", "n", "m", "k", "l") if (self.work / name).exists()), ["before", "l"])

    def test_calls_of_two_sessions_of_one_process_do_not_mix(self):
        self.need_walls()
        (self.work / "galley.toml").write_text(RULES + '\n[hook]\nmode = "stage"\n')
        client = McpClient([GALLEY, "--agent", "opencode", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)

        def begin(session, tool, **arguments):
            self.answer("opencode", f"galley_{tool}", arguments, session_id=session)
            return client.request("tools/call", {"name": tool, "arguments": arguments})

        slow = begin("b", "Bash", command="sleep 1; echo b > b.txt")
        other = begin("a", "Write", file_path="a_new.txt", content="a\n")
        last = begin("b", "Write", file_path="b_new.txt", content="b\n")
        answers = {}
        for request in (other, slow, last):
            self.assertFalse(client.answer_to(request, answers)["result"]["isError"])
        commit = begin("b", "galley_commit")
        self.assertFalse(client.answer_to(commit)["result"]["isError"])
        [only] = self.log()
        self.assertEqual((only["session"], [path["path"] for path in only["paths"]]), ("b", ["b.txt", "b_new.txt"]))
        self.assertFalse(client.answer_to(begin("a", "galley_commit"))["result"]["isError"])
        self.assertEqual((self.log()[0]["session"], [path["path"] for path in self.log()[0]["paths"]]), ("a", ["a_new.txt"]))

    def test_a_prompt_makes_no_workspace(self):
        (self.work / "galley.toml").unlink()
        for prompt in ("look around", "do it"):
            self.prompt(prompt)
            self.assertFalse((self.work / ".galley").exists())
        self.shell("rm a.txt; echo 1 > n")
        self.shell("echo 2 > m")
        self.prompt("and then")
        self.shell("echo 3 > m")
        self.assertEqual([(turn["prompt"], len(turn["transactions"])) for turn in self.turns()], [("and then", 1), ("do it", 2)])
        self.assertEqual([*(self.scratch / "state" / "galley" / "turns").iterdir()], [])
        self.galley("undo", "--turn", "last", expect=0)
        self.galley("undo", "--turn", "last", expect=0)
        self.assertEqual((self.work / "a.txt").read_text(), "one\ntwo\n")

    def test_the_first_commit_of_a_server_in_a_plain_folder_is_of_the_agents_session(self):
        (self.work / "galley.toml").unlink()
        client = McpClient([GALLEY, "--agent", "claude", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        self.prompt("look around", session="t")
        self.end(session="t")
        self.prompt("do it")
        self.assertEqual(self.commit_over(client, "n")["session"], "s")
        self.assertEqual(self.commit_over(client, "m")["session"], "s")
        [turn] = self.turns()
        self.assertEqual((turn["prompt"], len(turn["transactions"])), ("do it", 2))
        self.assertEqual([*(self.scratch / "state" / "galley" / "turns").iterdir()], [])

    def test_the_call_of_a_hooked_server_says_its_session_in_a_plain_folder(self):
        (self.work / "galley.toml").unlink()
        client = McpClient([GALLEY, "--agent", "opencode", "mcp"], self.work, env={**os.environ, **self.environment})
        self.addCleanup(client.close)
        self.answer("opencode", "galley_Write", {"file_path": "n", "content": "own\n"}, session_id="b")
        self.assertEqual(self.commit_over(client, "n")["session"], "b")

    def test_notes_of_a_session_that_never_ended_are_removed_after_30_days(self):
        notes = self.scratch / "state" / "galley" / "turns"
        for name in ("old", "late", "new"):
            folder = self.scratch / name
            folder.mkdir()
            before = {*notes.iterdir()} if notes.exists() else set()
            self.hook("claude", {"hook_event_name": "UserPromptSubmit", "session_id": "s", "prompt": "x", "cwd": str(folder)},
                      work=folder)
            [made] = {*notes.iterdir()} - before
            past = time.time() - {"old": 31, "late": 29, "new": 0}[name] * 24 * 3600
            os.utime(made, (past, past))
        self.assertEqual(len([*notes.iterdir()]), 2)

    def test_an_answer_without_a_change_ends_the_first_turn(self):
        (self.work / "galley.toml").unlink()
        self.prompt("look around")
        self.prompt("that of another session", session="t")
        self.end()
        self.shell("echo 1 > n")
        self.shell("echo 2 > m", session="t")
        self.assertEqual([turn["prompt"] for turn in self.turns()], ["that of another session", "echo 1 > n"])

    def test_a_turn_ends_with_the_agents_answer(self):
        for agent in SHELLS:
            with self.subTest(agent):
                self.end(agent, agent)  # no turn is known yet
                for prompt in ("do it", "ended", ""):
                    self.prompt(prompt, agent, agent)
                    self.shell("echo 1 >> n", agent, agent)
                    self.shell("echo 2 >> n", agent, agent)
                    self.end(agent, agent)
                    self.end(agent, agent)
                    self.shell("echo 3 >> n", agent, agent)
                    self.shell("echo 4 >> n", agent, agent)
                turns = self.turns("--session", agent)
                self.assertEqual([len(turn["transactions"]) for turn in turns], [1, 1, 2] * 3)
                self.assertEqual([turn["prompt"] for turn in turns],
                                 [words for prompt in ("echo 1 >> n", "ended", "do it") for words in ("echo 4 >> n", "echo 3 >> n", prompt)])

    def test_without_prompts_a_commit_is_a_turn(self):
        self.shell("echo 1 > n")
        self.shell("echo 2 > m")
        self.assertEqual([one["id"] for one in self.turns()], ["2", "1"])
        self.galley("undo", "--turn", "1", expect=0)
        self.assertFalse((self.work / "n").exists())
        self.assertTrue((self.work / "m").exists())

    def judge(self, arguments, session="s", call="e1"):
        self.assertEqual(self.answer("claude", "Edit", arguments, session_id=session, tool_use_id=call)[0], "allow")

    def report(self, arguments, session="s", call="e1", tool="Edit"):
        request = self.request("claude", tool, arguments, session_id=session, tool_use_id=call)
        return self.hook("claude", {**request, "hook_event_name": "PostToolUse"})

    def edit_of_line_3(self):
        main = self.work / "src" / "main.c"
        arguments = {"file_path": str(main), "old_string": "line 3\n", "new_string": "agent 3\n"}
        return main, arguments, lambda: main.write_text(main.read_text().replace("line 3\n", "agent 3\n"))

    def test_undo_of_a_session_keeps_what_others_did_before_the_edit_was_made(self):
        """The agent's own question about the edit may stand there for minutes."""
        main, arguments, make = self.edit_of_line_3()
        self.judge(arguments)
        self.shell("sed -i 's/^line 25$/B 25/' src/main.c", session="B")
        main.write_text(main.read_text().replace("line 12\n", "by hand 12\n"))
        make()
        self.assertEqual(self.report(arguments).stdout, b"")
        [only] = self.log("--session", "s")
        shown = self.galley("show", only["id"], expect=0).stdout
        self.assertIn(b"+agent 3", shown)
        self.assertNotIn(b"B 25", shown)  # the time of the commit may contain a 25
        self.galley("undo", "--session", "s", expect=0)
        text = main.read_text()
        for line in ("line 3\n", "B 25\n", "by hand 12\n"):
            self.assertIn(line, text)
        self.galley("undo", "--session", "B", expect=0)
        self.assertIn("line 25\n", main.read_text())

    def test_two_edits_of_one_file_at_once_are_both_recorded(self):
        main, first, make_first = self.edit_of_line_3()
        before = main.read_text()
        second = {"file_path": str(main), "old_string": "line 20\n", "new_string": "agent 20\n"}
        self.judge(first, call="1")
        self.judge(second, call="2")
        make_first()
        main.write_text(main.read_text().replace("line 20\n", "agent 20\n"))
        self.report(first, call="1")
        self.report(second, call="2")
        self.assertEqual(len(self.log("--session", "s")), 2)
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual(main.read_text(), before)

    def test_two_hooks_record_an_edit_once(self):
        """One of the project and one of the person."""
        main, arguments, make = self.edit_of_line_3()
        before = main.read_text()
        for number in range(1, 6):
            with concurrent.futures.ThreadPoolExecutor() as pool:
                for judged in [pool.submit(self.judge, arguments, call=str(number)) for _ in range(2)]:
                    judged.result()
                make()
                reports = [pool.submit(self.report, arguments, call=str(number)) for _ in range(2)]
                self.assertEqual([report.result().stdout for report in reports], [b"", b""])
            self.assertEqual(len(self.log("--session", "s")), number)
            self.galley("undo", expect=0)
            self.assertEqual(main.read_text(), before)
        self.galley("audit", "verify", expect=0)

    def test_an_edit_is_recorded_though_another_call_changes_the_file_meanwhile(self):
        self.need_walls()
        main, arguments, make = self.edit_of_line_3()
        self.judge(arguments)
        make()
        sleep = ("sleep", f"300.{os.getpid()}")
        (self.work / "galley.toml").write_text(
            f'[[validator]]\nname = "slow"\ncommand = ["sh", "-c", "{" ".join(sleep)}; true"]\n')
        with concurrent.futures.ThreadPoolExecutor() as pool:
            report = pool.submit(self.report, arguments)
            wait_until(lambda: is_running(" ".join(sleep)))
            main.write_text(main.read_text().replace("line 20\n", "other 20\n"))
            while not report.done():
                end_processes(*sleep)
                time.sleep(0.02)
            self.assertEqual(report.result().stdout, b"")
        (self.work / "galley.toml").write_text(RULES)
        [only] = self.log("--session", "s")
        self.assertNotIn(b"+other 20", self.galley("show", only["id"], expect=0).stdout)
        self.galley("undo", "--session", "s", expect=0)
        self.assertIn("line 3\n", main.read_text())
        self.assertIn("other 20\n", main.read_text())

    def test_an_edit_that_cannot_be_told_from_others_work_is_counted_and_not_recorded(self):
        main, arguments, _ = self.edit_of_line_3()
        self.judge(arguments)
        before = main.read_bytes()
        main.write_text(main.read_text().replace("line 3\n", "a person's 3\n"))
        said = json.loads(self.report(arguments).stdout)
        self.assertIn("did not record", said["reason"])
        kept = said["reason"].rpartition("rescue show ")[2]
        self.assertEqual(self.galley("rescue", "show", kept, expect=0).stdout, before)
        self.assertEqual(self.log("--session", "s"), [])
        self.assertFalse(list((self.work / ".galley" / "sessions").rglob("*.j")))
        self.shell("echo 1 > one")
        lost = b"1 edit of session s is not on record"
        self.assertIn(lost, self.galley("turns", expect=0).stderr)
        self.assertIn(lost, self.galley("undo", "--session", "s", expect=0).stderr)
        self.assertIn("a person's 3\n", main.read_text())

    def test_turns_tell_the_unreported_edit_of_a_session_without_turns(self):
        _main, arguments, make = self.edit_of_line_3()
        self.judge(arguments)
        self.assertNotIn(b"session s ", self.galley("turns", expect=0).stderr, "the edit is not made yet")
        make()
        for words in ([], ["-n", "1"], ["--session", "s"]):
            said = self.galley("turns", *words, expect=0).stderr
            self.assertIn(b"1 edit of session s is not on record yet", said)
            self.assertIn(b"undo --session s", said)
        self.assertNotIn(b"session s ", self.galley("--agent", "codex", "turns", expect=0).stderr)
        self.galley("undo", "--session", "s", expect=0)
        self.assertNotIn(b"not on record", self.galley("turns", expect=0).stderr)

    def test_an_edit_that_was_not_reported_is_recorded_at_the_end_of_its_turn(self):
        main, arguments, make = self.edit_of_line_3()
        before = main.read_text()
        for number, finish in enumerate((self.end, lambda: self.prompt("go on"))):
            self.prompt("first")
            self.judge(arguments)  # another call that is still to be made is not touched
            self.judge({**arguments, "old_string": "line 20\n", "new_string": "later\n"}, call="pending")
            make()
            finish()
            [turn] = self.turns()[:1]
            self.assertEqual((turn["prompt"], turn["agent"], turn["files"]), ("first", "claude", 1))
            self.assertEqual(len(self.log("--session", "s")), 1 + number)
            self.assertEqual(self.report(arguments).stdout.strip(), b"")  # it comes after all
            self.galley("undo", "--session", "s", expect=0)
            self.assertEqual(main.read_text(), before)
        self.assertEqual(len(list((self.work / ".galley" / "sessions").rglob("*.j"))), 1)

    def test_undo_of_a_session_knows_edits_that_were_not_reported(self):
        main, arguments, make = self.edit_of_line_3()
        before = snapshot(self.work)
        for with_shell in (False, True):
            self.judge(arguments)
            make()
            new = {"file_path": f"{self.work}/new.md", "content": "new\n"}
            self.assertEqual(self.answer("claude", "Write", new, tool_use_id="n")[0], "allow")
            (self.work / "new.md").write_text("new\n")
            if with_shell:
                self.shell("echo 1 > one")
                told = self.galley("turns", expect=0).stderr
                self.assertRegex(told, rb"2 edits of session s are not on record yet, because the agent did not report them: "
                                       rb"galley .*undo --session s records and reverts them\n")
            self.galley("undo", "--session", "s", expect=0)
            self.assertEqual(snapshot(self.work), before)

    def test_a_persons_file_is_not_taken_for_an_unreported_edit(self):
        new = {"file_path": f"{self.work}/new.md", "content": "the agent's\n"}
        self.assertEqual(self.answer("claude", "Write", new, tool_use_id="n")[0], "allow")
        (self.work / "new.md").write_text("a person's\n")
        self.end()
        self.assertEqual(self.log(), [])
        self.shell("echo 1 > one")
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual((self.work / "new.md").read_text(), "a person's\n")

    def test_a_mode_that_the_agent_lost_is_recorded_and_comes_back(self):
        main, arguments, make = self.edit_of_line_3()
        main.chmod(0o755)
        self.judge(arguments)
        make()
        main.chmod(0o644)  # as a program that writes a new file and renames it
        self.assertEqual(self.report(arguments).stdout, b"")
        self.assertIn(b"new mode 100644", self.galley("show", "1", expect=0).stdout)
        self.galley("undo", "--session", "s", expect=0)
        self.assertEqual(main.stat().st_mode & 0o777, 0o755)

    def test_what_is_kept_stays_until_the_edit_is_on_record(self):
        main, arguments, make = self.edit_of_line_3()
        self.judge(arguments)
        make()
        (self.work / "galley.toml").write_text("[policy\n")  # so that it fails
        self.assertIn(b"galley.toml", self.report(arguments).stdout)
        (self.work / "galley.toml").write_text(RULES)
        self.assertEqual(self.log("--session", "s"), [])
        self.report(arguments)
        self.assertEqual(len(self.log("--session", "s")), 1)
        self.assertFalse(list((self.work / ".galley" / "sessions").rglob("*.j")))

    def test_contents_that_an_edit_needs_survive_a_gc(self):
        big = self.work / "big.txt"
        big.write_text("".join(f"row {n}\n" for n in range(200_000)))
        arguments = {"file_path": str(big), "old_string": "row 7\n", "new_string": "agent 7\n"}
        self.shell("echo 1 > one")
        self.judge(arguments)
        self.galley("gc", expect=0)
        big.write_text(big.read_text().replace("row 7\n", "agent 7\n"))
        self.assertEqual(self.report(arguments).stdout, b"")
        self.assertEqual([path["path"] for path in self.log("--session", "s")[0]["paths"]], ["big.txt"])

    def test_undo_and_redo_of_a_hooked_agent_mean_its_own_session(self):
        own = ("--agent", "claude", "--session", "s")
        self.shell("echo mine > mine")
        self.shell("echo theirs > theirs", session="other")
        (self.work / "by_person").write_text("")
        self.galley("apply", self.document(), expect=0)
        self.galley(*own, "undo", expect=0)
        self.assertFalse((self.work / "mine").exists())
        self.assertTrue((self.work / "theirs").exists() and (self.work / "made.txt").exists())
        for words in (("undo",), ("undo", "--turn", "last")):
            said = self.galley(*own, *words, expect=(1, 2, 3))
            self.assertIn(b"this session has no transaction in effect", said.stderr)
        self.galley("undo", expect=0)  # a person: the newest of all
        self.assertFalse((self.work / "made.txt").exists())
        self.galley(*own, "redo", expect=0)
        self.assertTrue((self.work / "mine").exists())
        self.assertFalse((self.work / "made.txt").exists())
        self.assertIn(b"made no undo", self.galley(*own, "redo", expect=(1, 2, 3)).stderr)
        self.galley(*own, "undo", "--turn", "last", expect=0)
        self.assertFalse((self.work / "mine").exists())
        self.assertTrue((self.work / "theirs").exists())

    def test_undo_of_a_session_names_a_redo_that_works(self):
        for name in "ab":
            self.shell(f"echo {name} > {name}")
        said = self.galley("undo", "--session", "s", expect=0).stderr.decode()
        redo = re.search("`galley (?:-C [^ ]+ )?(redo [0-9]+)`", said)[1]
        self.galley("apply", self.document(), expect=0)
        self.galley("undo", expect=0)  # another undo is the newest now
        self.galley(*redo.split(), expect=0)
        self.assertTrue((self.work / "a").exists() and (self.work / "b").exists())

    def commits(self, *command):
        return ("--agent", "claude", "--session", "s", "exec", "--commit", *command)

    def start_commit(self, script, *options):
        """Starts a command that prints a line when it has written."""
        process = subprocess.Popen([GALLEY, *self.commits(*options, "--", "sh", "-c", script)], cwd=self.work,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env={**os.environ, **self.environment})
        if process.stdout.readline() != b"made\n":
            self.skip_if_unavailable(b"", process.communicate()[1])
        return process

    def test_a_command_at_its_time_limit_keeps_what_it_wrote(self):
        process = self.start_commit("echo x > f; echo made; sleep 60", "--timeout", "3")
        process.send_signal(signal.SIGSTOP)  # as on a busy machine
        time.sleep(3.5)
        process.send_signal(signal.SIGCONT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGKILL, errors)
        self.assertIn(b"the time limit stopped the command", errors)
        self.assertEqual((self.work / "f").read_text(), "x\n")
        self.assertEqual(len(self.log("--session", "s")), 1)

    def test_a_command_that_is_told_to_end_keeps_what_it_wrote(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number):
                name = f"f{int(number)}"
                process = self.start_commit(f"echo x > {name}; echo made; sleep 60")
                process.send_signal(number)
                process.send_signal(number)  # timeout(1) sends it to the process and to its group
                _, errors = process.communicate(timeout=60)
                self.assertEqual(process.returncode, 128 + number, errors)
                self.assertEqual((self.work / name).read_text(), "x\n")
                self.assertIn(b"committed", errors)

    def test_a_commit_of_a_command_takes_no_transaction(self):
        tx = self.galley("--agent", "claude", "begin", expect=0).stdout.decode().strip()
        self.galley("--agent", "claude", "call", "--tx", tx, "Write", '{"file_path": "staged", "content": "s"}', expect=0)
        for option in (("--tx", tx), ("--begin",)):
            said = self.galley(*self.commits(*option, "--", "true"), expect=2)
            self.assert_one_clear_message(said)
        said = self.galley(*self.commits("--", "sh", "-c", "echo 1 > one"), env={"GALLEY_TX": tx})
        self.skip_if_unavailable(said.stdout, said.stderr)
        self.assertTrue((self.work / "one").exists())
        self.assertFalse((self.work / "staged").exists())

    def test_an_agent_does_not_answer_on_its_own_terminal(self):
        command = [GALLEY, *self.commits("--", "sh", "-c", "mkdir -p asked; echo x > asked/x")]
        terminal = TerminalSession(command, {**os.environ, **self.environment}, cwd=self.work)
        terminal.type("y\n")
        terminal.finish()
        self.skip_if_unavailable(terminal.screen, b"")
        self.assertNotIn(b"[y/N", terminal.screen)
        self.assertFalse((self.work / "asked").exists())
        self.assertIn(b"approve", terminal.screen)

    def test_a_persons_own_configuration_decides_about_the_mode(self):
        settings = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        for mode, word in (("stage", "--begin"), ("commit", "--commit")):
            other = "commit" if mode == "stage" else "stage"
            settings.write_text(f'[hook]\nmode = "{mode}"\n')
            for pulled in ("", f'\n[hook]\nmode = "{other}"\n'):
                (self.work / "galley.toml").write_text(RULES + pulled)
                _, changed = self.answer("claude", "Bash", {"command": "make"})
                self.assertIn(f"exec {word}", changed["command"])

    def test_a_report_is_not_called_denied(self):
        arguments = {"file_path": "a.txt", "old_string": "one", "new_string": "x"}
        for event in ("PostToolUse", "UserPromptSubmit"):
            request = self.request("claude", "Edit", arguments, session_id="a b", prompt="p")
            said = self.hook("claude", {**request, "hook_event_name": event})
            self.assertNotIn(b"denied", said.stderr)
            self.assertIn(b"not on record", said.stderr)

    def test_the_agent_takes_its_own_session_back(self):
        self.shell("echo 1 > n")
        answer, changed = self.answer("claude", "Bash", {"command": "galley undo --session s"})
        self.assertEqual(changed["command"], f"{PROGRAM} --agent claude --session s undo --session s")
        subprocess.run(["sh", "-c", changed["command"]], cwd=self.work, check=True, capture_output=True,
                       env={**os.environ, **self.environment})
        self.assertFalse((self.work / "n").exists())

    def test_an_end_and_a_prompt_without_a_session_change_nothing(self):
        before = snapshot(self.work, skip=())
        for event in ("Stop", "UserPromptSubmit"):
            said = self.hook("claude", {"hook_event_name": event, "prompt": "p", "cwd": str(self.work)})
            self.assertEqual(said.stdout.strip(), b"")
        self.assertEqual(snapshot(self.work, skip=()), before)

    # Limit: kMaxSessionBytes of engine/commit/outcome.h
    def test_the_id_of_a_session_is_bounded(self):
        self.galley("--session", "x" * 128, "apply", self.document(), expect=0)
        for bad in ("x" * 129, "a b", "a\nb", "\u00e4", "\x1b[31m"):
            said = self.galley("--session", bad, "apply", self.document(), expect=2)
            self.assert_one_clear_message(said)
        self.assertEqual(len(self.log()), 1)

    # Limit: kMaxPromptBytes of engine/commit/outcome.h
    def test_a_long_prompt_is_cut_between_characters(self):
        self.prompt("\u00e4" * 1000)
        self.shell("echo 1 > n")
        self.assertEqual(self.turns()[0]["prompt"], "\u00e4" * 100)
        self.prompt("\x1b[31mred\u202e" + "y" * 9)
        self.shell("echo 2 > n")
        self.assertNotIn(b"\x1b", self.galley("turns", expect=0).stdout)

    # Limit: kMaxKeptEditBytes of engine/pipeline/agent_session.h
    def test_an_edit_of_a_huge_file_passes_and_is_not_recorded(self):
        (self.work / "big").touch()
        os.truncate(self.work / "big", 65 << 20)
        arguments = {"file_path": f"{self.work}/big", "content": "small\n"}
        self.edit("claude", "Write", arguments, lambda: (self.work / "big").write_text("small\n"))
        self.assertEqual(self.log(), [])

    def document(self):
        path = self.scratch / "d.json"
        path.write_text(json.dumps([{"path": "made.txt", "content": os.urandom(4).hex()}]))
        return path


class OwnConfiguration(HookCase):
    """The hook judges the agent, so the agent must not edit the files that install the hook."""

    def test_an_agent_cannot_edit_the_configuration_of_agents(self):
        for path in (".claude/settings.json", ".claude/settings.local.json", "sub/.claude/settings.json", ".mcp.json",
                     ".gemini/settings.json", ".opencode/plugin/galley.js", "opencode.json", "opencode.jsonc",
                     ".codex/config.toml", ".CLAUDE/settings.json"):
            with self.subTest(path):
                answer, reason = self.answer("claude", "Write", {"file_path": path, "content": "{}"})
                self.assertEqual(answer, "deny")
                self.assertIn("the configuration of agents", reason)
        self.assertEqual(self.answer("claude", "Write", {"file_path": "CLAUDE.md", "content": "x"})[0], "allow")

    def test_files_behind_a_link_are_configuration_too(self):
        for name in ("shared", "servers", ".gemini", "far"):
            (self.work / name).mkdir()
        (self.work / "shared" / "settings.json").write_text("{}\n")
        (self.work / ".claude").symlink_to("shared")
        (self.work / ".gemini" / "settings.json").symlink_to("../servers/gemini.json")
        (self.work / ".mcp.json").symlink_to(self.work / "servers" / "link")
        (self.work / "servers" / "link").symlink_to("../far/mcp.json")
        for path in ("shared/settings.json", "shared/hooks/new", "servers/gemini.json", "far/mcp.json"):
            with self.subTest(path):
                answer, reason = self.answer("claude", "Write", {"file_path": path, "content": "{\"a\": 1}\n"})
                self.assertEqual(answer, "deny")
                self.assertIn("the configuration of agents", reason)
        self.assertEqual(self.answer("claude", "Write", {"file_path": "far/other.json", "content": "{}\n"})[0], "allow")

    def test_an_agent_cannot_commit_a_change_of_the_configuration_of_agents(self):
        (self.work / ".claude").mkdir()
        (self.work / ".claude" / "settings.json").write_text("{}\n")
        before = snapshot(self.work, skip=(".galley",))
        patch = self.scratch / "p.json"
        patch.write_text(json.dumps([{"path": ".claude/settings.json", "content": "{\"disableAllHooks\": true}\n"}]))
        said = self.galley("--agent", "bot", "apply", patch, expect=1)
        self.assertIn(b"the configuration of agents", said.stderr)
        said = self.galley("--agent", "bot", "exec", "--begin", "--", "sh", "-c", "rm -r .claude")
        self.skip_if_unavailable(said.stdout, said.stderr)
        self.assertEqual(said.returncode, 0, said.stderr)
        said = self.galley("--agent", "bot", "commit", expect=1)
        self.assertIn(b"the configuration of agents", said.stderr)
        self.assertEqual(snapshot(self.work, skip=(".galley",)), before)
        # A person may change it, also through Galley, and can allow it for agents in their own
        # configuration.
        self.galley("apply", patch, expect=0)
        settings = Path(self.environment["XDG_CONFIG_HOME"]) / "galley" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text("edits_configuration = true\n")
        patch.write_text(json.dumps([{"path": ".claude/settings.json", "content": "{}\n"}]))
        self.galley("--agent", "bot", "apply", patch, expect=0)


class Others(HookCase):
    def test_tools_that_read_pass(self):
        for agent, tools in {"codex": ["update_plan", "view_image", "get_goal", "create_goal", "update_goal", "list_agents", "send_message",
                                       "followup_task", "interrupt_agent", "get_context_remaining", "new_context",
                                       "wait_for_environment", "request_permissions", "mcp__galley__Edit"],
                             "claude": ["Read", "Glob", "Grep", "WebFetch", "Task", "ListAgents", "SendMessage",
                                        "ReportFindings", "Workflow", "LSP", "ExitWorktree", "StructuredOutput", "ScheduleWakeup",
                                        "PushNotification", "mcp__galley__Bash"],
                             "gemini": ["read_file", "glob", "google_web_search", "update_topic", "invoke_agent",
                                        "tracker_create_task", "tracker_visualize", "read_background_output", "list_mcp_resources", "read_mcp_resource", "mcp_galley_replace", "mcp_galley_write_file"],
                             "opencode": ["read", "grep", "todowrite", "galley_galley_commit"]}.items():
            for tool in tools:
                with self.subTest(tool):
                    self.assertEqual(self.answer(agent, tool, {"x": 1}), ("allow", None))

    def test_a_server_with_galley_as_a_name_prefix_is_not_galley(self):
        for agent, tool in (("claude", "mcp__galley__x__Bash"), ("gemini", "mcp_galley_x_run"), ("opencode", "galley_x_Bash"),
                            ("codex", "mcp__galley__Teleport")):
            with self.subTest(tool):
                answer, reason = self.answer(agent, tool, {"x": 1})
                self.assertEqual(answer, "deny")
                self.assertIn(f"--allow-tool {tool}", reason)

    def test_an_unknown_tool_is_denied_until_a_person_allows_it(self):
        # Without its context it is not known where the server's name ends.
        answer, reason = self.answer("gemini", "mcp_github_create_issue", {})
        self.assertEqual(answer, "deny")
        self.assertIn("--allow-tool mcp_github_create_issue", reason)
        request = self.request("claude", "mcp__github__create_issue", {})
        for passed in ("mcp__github__create_issue", "mcp__github__*", "*"):
            self.assertEqual(self.hook("claude", request, "--allow-tool", passed).stdout, b"")
        self.assertIn(b"ask", self.hook("claude", request, "--allow-tool", "mcp__git*b").stdout)
        self.assertEqual(self.answer("claude", "NotebookEdit", {"notebook_path": "x"})[0], "deny")

    def test_a_tool_of_another_server_is_asked_about_until_a_rule_decides(self):
        tools = {"claude": "mcp__github__{}", "codex": "mcp__github__{}", "gemini": "mcp_github_{}"}

        def of_server(agent, tool):
            more = {"mcp_context": {"server_name": "github", "tool_name": tool}} if agent == "gemini" else {}
            return self.request(agent, tools[agent].format(tool), {}, **more)

        request = {agent: of_server(agent, "create_issue") for agent in tools}
        output = json.loads(self.hook("claude", request["claude"]).stdout)["hookSpecificOutput"]
        self.assertEqual(output["permissionDecision"], "ask")
        self.assertIn("grant claude 'mcp:github/create_issue'", output["permissionDecisionReason"])
        asked = json.loads(self.hook("gemini", request["gemini"]).stdout)
        self.assertEqual(asked["decision"], "ask")
        self.assertIn("grant gemini 'mcp:github/create_issue'", asked["reason"])
        # codex cannot be told to ask.
        answer, reason = self.answer("codex", "mcp__github__create_issue", {})
        self.assertEqual(answer, "deny")
        self.assertIn("grant codex 'mcp:github/create_issue'", reason)
        for agent in request:
            self.galley("grant", agent, "mcp:github/*", expect=0)
            self.assertIn(self.hook(agent, request[agent]).stdout, (b"", b"{}\n"), agent)
            self.galley("revoke", agent, "mcp:github/create_*", expect=0)
            self.assertIn(b'"deny"', self.hook(agent, request[agent]).stdout, agent)
            self.assertIn(self.hook(agent, of_server(agent, "search")).stdout, (b"", b"{}\n"), agent)
            # Where the server's name ends is not certain.
            self.assertEqual(self.answer(agent, "mcp__github__x__search", {})[0], "deny")

    def test_the_file_server_of_the_protocol_is_recognized(self):
        good, bad = ({"path": f"{self.work}/{path}", "content": "x"} for path in ("b.txt", "keys/x"))
        for agent, tool in (("claude", "mcp__files__write_file"), ("gemini", "mcp_files_write_file"),
                            ("opencode", "files_write_file")):
            known = [self.hook(agent, self.request(agent, tool, arguments), "--file-server", "files").stdout
                     for arguments in (good, bad)]
            self.assertNotIn(b'"deny"', known[0])
            self.assertIn(b'"deny"', known[1])
            self.assertIn(b"keys", known[1])

    def test_events_that_are_not_calls_stop_no_agent(self):
        # Claude Code goes on working when a hook of Stop ends with status 2.
        for agent, events in (("claude", ("SessionStart", "SessionEnd", "Stop", "SubagentStop", "Notification", "PreCompact")),
                              ("gemini", ("SessionStart", "SessionEnd", "Notification", "PreCompress", "BeforeModel"))):
            for event in events:
                with self.subTest(agent, event=event):
                    said = self.hook(agent, {"hook_event_name": event, "session_id": "s", "cwd": str(self.work)}, expect=0)
                    self.assertEqual((said.stdout, said.stderr), (b"", b""))
        self.assertFalse((self.work / ".galley").exists())

    def test_tools_of_galleys_server_with_a_prefix_are_known(self):
        for tool, options, expected in (("mcp__galley__g_Write", ("--prefix", "g_"), b""), ("mcp__galley__galley_commit", ("--prefix", "g_"), b""),
                                        ("mcp__galley__g_Write", (), b"deny"), ("mcp__galley__g_Other", ("--prefix", "g_"), b"deny")):
            with self.subTest(tool, options=options):
                said = self.hook("claude", self.request("claude", tool, {"file_path": "x", "content": ""}), *options).stdout
                self.assertIn(expected, said)
                self.assertEqual(said == b"", expected == b"")

    def test_a_server_that_a_person_did_not_name_is_not_the_file_server(self):
        request = self.request("claude", "mcp__other__write_file", {"path": "b.txt", "content": "x"})
        for options in ((), ("--file-server", "files")):
            said = self.hook("claude", request, *options).stdout
            self.assertIn(b"deny", said)
            self.assertIn(b"--file-server other", said)

    def test_garbage_is_denied_in_a_format_that_every_agent_reads(self):
        good = self.request("claude", "Edit", {"file_path": "a.txt", "old_string": "one", "new_string": "ONE"})
        for garbage in (b"", b"null", b"[]", b"{", b"\xff\xfe", b"[" * 100000, b'{"a":' * 100000, b"{} {}",
                        json.dumps({**good, "tool_input": "x"}).encode(), json.dumps({**good, "tool_name": 1}).encode(),
                        json.dumps({**good, "hook_event_name": "BeforeToolUse"}).encode(),
                        json.dumps({**good, "session_id": "a b"}).encode(), json.dumps({**good, "session_id": "x" * 129}).encode(),
                        json.dumps({**good, "hook_event_name": None}).encode()):
            with self.subTest(garbage[:40]):
                said = self.hook("claude", garbage, expect=2)
                self.assertEqual(said.stdout, b"")
                self.assert_one_clear_message(said)
                if b'"a b"' not in garbage and b"x" * 129 not in garbage:
                    self.assertRegex(said.stderr, rb"\(galley [0-9.]+, tested with Claude Code 2[0-9.]+\)\n")
        for agent, tool, versions in (("claude", "Edit", "Claude Code 2."), ("claude", "New", "Claude Code 2."), ("codex", "New", "codex 0."),
                                      ("gemini", "new", "Gemini CLI 0."), ("opencode", "new", "opencode 1.")):
            reason = self.answer(agent, tool, {"new": 1})[1]
            self.assertRegex(reason, rf"\(galley [0-9.]+, tested with {versions}[0-9.]+\)$")
        for arguments in ({}, {"file_path": 1}, {"file_path": "a.txt"}, {"file_path": "a.txt", "old_string": "one"},
                          {"file_path": "a\0b", "old_string": "one", "new_string": "x"}):
            self.assertEqual(self.answer("claude", "Edit", arguments)[0], "deny")
        for arguments in ({}, {"command": 1}, {"command": []}, {"command": [1]}):
            self.assertEqual(self.answer("codex", "Bash", arguments)[0], "deny")
        self.assertEqual(self.answer("codex", "apply_patch", {"command": 7})[0], "deny")

    def test_a_request_of_another_agent_is_denied(self):
        request = self.request("gemini", "read_file", {})
        self.hook("claude", request, expect=2)
        self.hook("opencode", request, expect=2)
        self.hook("claude", {"hook_event_name": "BeforeAgent", "session_id": "s", "prompt": "p"}, expect=2)
        self.hook("somebody", request, expect=0)

    # Limit: kMaxHookBytes of server/agents/hook_request.h
    def test_a_hundred_megabytes_are_read_and_denied(self):
        said = self.hook("codex", b'{"tool_input": "' + b"x" * 100_000_000 + b'"}', expect=2)
        self.assert_one_clear_message(said)

    def test_a_broken_workspace_is_denied(self):
        edit = self.request("claude", "Write", {"file_path": "b.txt", "content": "x"})
        command = self.request("claude", "Bash", {"command": "ls"})
        (self.work / "galley.toml").write_text("[policy\n")
        for request in (edit, command):
            self.assertIn(b"galley.toml", self.hook("claude", request).stdout)
            self.assertIn(b'"deny"', self.hook("claude", request).stdout)
        self.hook("claude", edit, work=self.scratch / "no" / "such", expect=2)
        self.galley("agent-hook", "--no-such-option", expect=2)

    # Limit: kMaxHookTime of server/agents/hook_request.h
    def test_a_validator_that_exceeds_the_hooks_time_limit_denies(self):
        (self.work / "galley.toml").write_text('[[validator]]\nname = "slow"\ncommand = ["sleep", "100"]\n')
        request = self.request("claude", "Write", {"file_path": "b.txt", "content": "x"})
        said = self.hook("claude", request, env={"GALLEY_HOOK_TIMEOUT": "1"})
        self.skip_if_unavailable(said.stdout, said.stderr)
        self.assertIn(b'"deny"', said.stdout)

    # Limit: kMaxHookTime of server/agents/hook_request.h
    def test_an_endless_input_is_denied(self):
        reading, writing = os.pipe()
        try:
            ran = subprocess.run([GALLEY, "agent-hook"], stdin=reading, capture_output=True, timeout=60, check=False,
                                 env={**os.environ, **self.environment, "GALLEY_HOOK_TIMEOUT": "1"}, cwd=self.work)
        finally:
            os.close(reading)
            os.close(writing)
        self.assertEqual(ran.returncode, 2)
        self.assertIn(b"denied", ran.stderr)

    def test_an_answer_that_cannot_be_written_denies(self):
        request = self.request("gemini", "read_file", {})
        with open("/dev/full", "wb") as full:
            ran = subprocess.run([GALLEY, "agent-hook"], input=json.dumps(request).encode(), stdout=full,
                                 stderr=subprocess.PIPE, cwd=self.work, check=False,
                                 env={**os.environ, **self.environment})
        self.assertEqual(ran.returncode, 2)


if __name__ == "__main__":
    hostile.main()
