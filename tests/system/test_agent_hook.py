"""Hooks of agents: the request that each agent sends before a call, and the answer."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import hostile
from support import GALLEY, SystemCase, snapshot

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
        if agent == "opencode":
            return {"hook_event_name": "tool.execute.before", "tool_name": tool, "tool_input": arguments,
                    "session_id": "s", "tool_use_id": "c", "cwd": str(self.work), **more}
        event = "BeforeTool" if agent == "gemini" else "PreToolUse"
        return {"session_id": "s", "transcript_path": None, "cwd": str(self.work), "hook_event_name": event,
                "tool_name": tool, "tool_input": arguments, "tool_use_id": "c", "permission_mode": "default", **more}

    def answer(self, agent, tool, arguments, **more):
        """Returns (allow, deny or replace, the reason or the new arguments)."""
        said = self.hook(agent, self.request(agent, tool, arguments, **more)).stdout
        document = json.loads(said) if said.strip() else {}
        decision = document.get("hookSpecificOutput", {})
        if document.get("decision") == "deny" or decision.get("permissionDecision") == "deny":
            return "deny", document.get("reason") or decision["permissionDecisionReason"]
        changed = decision.get("updatedInput") or decision.get("tool_input") or document.get("tool_input")
        if changed:
            if agent in ("codex", "claude"):
                self.assertEqual(decision["permissionDecision"], "allow")
            return "replace", changed
        self.assertEqual(document, {}, said)
        return "allow", None


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
SHELLS = {"codex": "Bash", "claude": "Bash", "gemini": "run_shell_command", "opencode": "bash"}


class Edits(HookCase):
    def setUp(self):
        super().setUp()
        (self.work / "keys" / "old").write_text("k\n")

    def filled(self, arguments):
        return {key: value.replace("{}", str(self.work)) if isinstance(value, str) else value
                for key, value in arguments.items()}

    def test_an_edit_that_fits_and_is_approved_passes(self):
        before = snapshot(self.work, with_times=True, skip=())
        for agent, (tool, (good, _, _)) in EDITS.items():
            with self.subTest(agent):
                self.assertEqual(self.answer(agent, tool, self.filled(good)), ("allow", None))
        self.assertEqual(snapshot(self.work, with_times=True, skip=()), before)

    def test_an_edit_that_does_not_fit_is_denied_with_a_suggestion(self):
        for agent, (tool, (_, bad, _)) in EDITS.items():
            with self.subTest(agent):
                answer, reason = self.answer(agent, tool, self.filled(bad))
                self.assertEqual(answer, "deny")
                self.assertIn("a.txt", reason)
                self.assertIn("nothing was written", reason)

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


class Commands(HookCase):
    def test_a_command_runs_staged_with_its_other_arguments_unchanged(self):
        for agent, tool in SHELLS.items():
            with self.subTest(agent):
                answer, changed = self.answer(agent, tool, {"command": "echo 'it''s' > b.txt", "description": "d"})
                self.assertEqual(answer, "replace")
                self.assertEqual(changed["description"], "d")
                self.assertTrue(changed["command"].startswith(f"{PROGRAM} --agent {agent} exec --begin -- sh -c "))

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

    def test_words_of_a_command_stay_words(self):
        _, changed = self.answer("codex", "shell", {"command": ["bash", "-lc", "echo 'x y'"]})
        self.assertEqual(changed["command"],
                         [PROGRAM, "--agent", "codex", "exec", "--begin", "--", "bash", "-lc", "echo 'x y'"])

    def test_commands_of_galley_itself_run_outside_the_sandbox(self):
        for command in ("galley diff", "galley commit", "galley status --json", "galley undo --path=src"):
            _, changed = self.answer("codex", "Bash", {"command": command})
            own = command.replace("galley", f"{PROGRAM} --agent codex", 1)
            self.assertEqual(changed["command"], own)
            # The form that the answer to a staged command shows.
            _, changed = self.answer("codex", "Bash", {"command": command.replace("galley", "galley --agent codex", 1)})
            self.assertEqual(changed["command"], own)
        for command in ("galley commit; rm x", "galley diff --html=/tmp/x", "galley --agent person commit",
                        "galley commit --agent person", "galley run -- sh", "galley trust", "galley diff > x",
                        "galley validate --verdict x", "galley -C / diff", "galley log $(rm x)", "galley"):
            _, changed = self.answer("codex", "Bash", {"command": command})
            self.assertIn("exec --begin -- sh -c", changed["command"], command)

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
        for agent, tools in {"codex": ["update_plan", "view_image", "mcp__galley__Edit"],
                             "claude": ["Read", "Glob", "Grep", "WebFetch", "Task", "ListAgents", "SendMessage",
                                        "ReportFindings", "mcp__galley__Bash"],
                             "gemini": ["read_file", "glob", "google_web_search", "update_topic", "invoke_agent",
                                        "read_background_output", "mcp_galley_replace", "mcp_galley_write_file"],
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
        answer, reason = self.answer("claude", "mcp__github__create_issue", {})
        self.assertEqual(answer, "deny")
        self.assertIn("--allow-tool mcp__github__create_issue", reason)
        request = self.request("claude", "mcp__github__create_issue", {})
        for passed in ("mcp__github__create_issue", "mcp__github__*", "*"):
            self.assertEqual(self.hook("claude", request, "--allow-tool", passed).stdout, b"")
        self.assertIn(b"deny", self.hook("claude", request, "--allow-tool", "mcp__git*b").stdout)
        self.assertEqual(self.answer("claude", "NotebookEdit", {"notebook_path": "x"})[0], "deny")

    def test_the_file_server_of_the_protocol_is_recognized(self):
        good, bad = ({"path": f"{self.work}/{path}", "content": "x"} for path in ("b.txt", "keys/x"))
        for agent, tool in (("claude", "mcp__files__write_file"), ("gemini", "mcp_files_write_file"),
                            ("opencode", "files_write_file")):
            known = [self.hook(agent, self.request(agent, tool, arguments), "--file-server", "files").stdout
                     for arguments in (good, bad)]
            self.assertNotIn(b'"deny"', known[0])
            self.assertIn(b'"deny"', known[1])
            self.assertIn(b"keys", known[1])

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
                        json.dumps({**good, "hook_event_name": "PostToolUse"}).encode(),
                        json.dumps({**good, "hook_event_name": None}).encode()):
            with self.subTest(garbage[:40]):
                said = self.hook("claude", garbage, expect=2)
                self.assertEqual(said.stdout, b"")
                self.assert_one_clear_message(said)
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
