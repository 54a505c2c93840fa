#!/usr/bin/env python3
"""Real agents with the hook that `galley agents install` writes: their own edits are judged before they are made and recorded
after, their commands are committed, and one undo takes a session back. The model is a script on loopback, everything else is the agent as npm has it."""

import json
from pathlib import Path

from agent_case import AgentCase, main
from agents import Claude, Codex, Gemini, OpenCode
from model_server import Call, ModelServer, Say
from support import GALLEY

RULES = """
[[policy.rule]]
paths = ["keys/"]
decision = "deny"

[[validator]]
builtin = "json"
"""


class HookedCodex(Codex):
    """Its person has reviewed the hook, because `codex exec` skips a hook that is not trusted."""

    trusts_hooks = ("--dangerously-bypass-hook-trust",)


class TypingOpenCode(OpenCode):
    """Without a terminal it takes a typed command only as an option."""

    def arguments(self, work, prompt):
        name, *words = prompt.removeprefix("/").split()
        return super().arguments(work, prompt)[:-1] + (["--command", name, *words] if prompt.startswith("/") else [prompt])


class Hooked(AgentCase):
    def setUp(self):
        super().setUp()
        programs = self.scratch / "bin"
        programs.mkdir()
        (programs / "galley").symlink_to(Path(GALLEY).resolve())
        self.path = f"{programs}:/usr/local/bin:/usr/bin:/bin"
        (self.work / "galley.toml").write_text(RULES)
        (self.work / "a.txt").write_text("one\ntwo\n")
        self.git("init", "-q")

    def run_agent(self, kind, script, *parts, prompts=("Do what the model says.",)):
        """Makes a run for each prompt with the installed parts. Then uninstalls them, and checks
        that the agent's files are as before."""
        with ModelServer(script) as model:
            self.model = model
            agent = self.agent(kind, model.url)
            agent.configure()
            usual = agent.environment()
            # Galley's own settings are those of this test, whatever home the agent has.
            own = {"PATH": self.path, "XDG_STATE_HOME": self.environment["XDG_STATE_HOME"],
                   "XDG_CONFIG_HOME": self.environment["XDG_CONFIG_HOME"]}
            agent.environment = lambda: {**usual, **own}
            scope = "user" if kind is HookedCodex else "project"
            entries = (kind.name, *parts, f"--{scope}")
            before = self.configured(agent, scope)
            self.galley("agents", "install", *entries, "--yes", expect=0, env={**usual, "PATH": self.path})
            self.assertNotEqual(self.configured(agent, scope), before)
            for prompt in prompts:
                self.check(model, agent.run(self.work, prompt))
            self.galley("agents", "uninstall", *entries, "--yes", expect=0, env=usual)
            self.assertEqual(self.configured(agent, scope), before)

    def configured(self, agent, scope):
        """Returns the contents of each file that Galley may write for the agent."""
        listed = json.loads(self.galley("--json", "agents", "list", expect=0, env=agent.environment()).stdout)
        files = {Path(each["file"]) for each in listed["entries"]
                 if (each["agent"], each["scope"]) == (agent.name, scope)}
        return {file: file.read_bytes() if file.exists() else None for file in files}

    def edits_and_commands(self, kind):
        def script():
            shown = yield from kind.edits(self.work, "a.txt", "one\n", "ONE\n")
            assert (self.work / "a.txt").read_text() == "ONE\ntwo\n", shown
            shown = yield kind.write(self.work, "keys/k", "secret\n")
            assert "keys/k" in shown and "policy" in shown, shown
            assert not (self.work / "keys").exists()
            shown = yield kind.write(self.work, "b.json", "{,\n")
            assert "b.json:1" in shown, shown
            assert not (self.work / "b.json").exists()
            shown = yield kind.shell("printf 'made\\n' > made.txt; cat made.txt a.txt")
            assert "made\nONE\ntwo" in shown, shown
            assert (self.work / "made.txt").read_text() == "made\n"
            [turn] = json.loads(self.galley("--json", "turns", expect=0).stdout)["turns"]
            assert (turn["agent"], turn["files"], turn["state"]) == (kind.name, 2, "open"), turn
            assert "Do what the model says." in turn["prompt"], turn  # opencode keeps the quotes
            shown = yield kind.shell(f"galley undo --session {turn['session']}")
            assert (self.work / "a.txt").read_text() == "one\ntwo\n", shown
            assert not (self.work / "made.txt").exists(), shown
            yield Say("done")

        return script

    def test_the_hook_applies_the_rules_to_codex(self):
        self.run_agent(HookedCodex, self.edits_and_commands(HookedCodex), "--hook")

    def test_the_plugin_applies_the_rules_to_opencode(self):
        self.run_agent(OpenCode, self.edits_and_commands(OpenCode), "--hook")

    def test_the_hook_applies_the_rules_to_gemini(self):
        self.run_agent(Gemini, self.edits_and_commands(Gemini), "--hook")

    def test_the_hook_applies_the_rules_to_claude(self):
        self.run_agent(Claude, self.edits_and_commands(Claude), "--hook")

    def test_the_hook_applies_the_rules_to_qwen(self):
        self.skipTest("Galley has no hook for Qwen Code")

    def types_undo(self, kind, sign="/"):
        """The text of the typed command reaches the model, and the hook lets it take back exactly
        the named turn."""
        def script():
            shown = yield kind.shell("printf 'made\\n' > made.txt; rm a.txt")
            assert (self.work / "made.txt").exists() and not (self.work / "a.txt").exists(), shown
            yield Say("done")
            asked = json.dumps(self.model.requests[-1])
            assert "Run `galley undo --turn last` once in the shell" in asked, asked[-4000:]
            shown = yield kind.shell("galley undo --turn 1")
            assert not (self.work / "made.txt").exists(), shown
            assert (self.work / "a.txt").read_text() == "one\ntwo\n", shown
            yield Say("undone")

        self.run_agent(kind, script, "--hook", "--commands", prompts=("Do what the model says.", f"{sign}galley-undo 1"))

    def test_a_person_types_the_skill_in_codex(self):
        self.types_undo(HookedCodex, "$")

    def test_a_person_types_the_command_in_opencode(self):
        self.types_undo(TypingOpenCode)

    def test_a_person_types_the_command_in_gemini(self):
        self.types_undo(Gemini)

    def test_a_person_types_the_command_in_claude(self):
        self.types_undo(Claude)

    def with_its_server(self, kind, mistake, mend, opening=None):
        """The installed server, which the hook allows, commits each call as the hook does: a refusal, the fix."""
        file = self.work / "b.json"

        def script():
            if opening:
                yield opening
            shown = yield mistake
            assert "json.syntax" in shown and not file.exists(), shown
            shown = yield mend
            assert "committed" in shown and file.read_text() == "{}\n", shown
            yield Say("done")

        self.run_agent(kind, script)

    def test_codex_starts_the_installed_server_and_the_hook_allows_it(self):
        def patch(change):
            return Call("apply_patch", {"input": f"*** Begin Patch\n{change}*** End Patch\n"}, namespace="mcp__galley")

        self.with_its_server(HookedCodex, patch("*** Add File: b.json\n+{,\n"),
                             patch("*** Add File: b.json\n+{}\n"),
                             Call("tool_search", {"query": "write files", "limit": 20}, "tool_search"))

    def writes_over_its_server(self, kind, write, opening=None):
        mistake, mend = (Call(write, {"file_path": "b.json", "content": text}) for text in ("{,\n", "{}\n"))
        self.with_its_server(kind, mistake, mend, opening)

    def test_opencode_starts_the_installed_server_and_the_plugin_allows_it(self):
        # opencode adds that line to the file of a project that lacks it.
        (self.work / "opencode.json").write_text('{"$schema": "https://opencode.ai/config.json"}\n')
        self.writes_over_its_server(OpenCode, "galley_Write")

    def test_gemini_starts_the_installed_server_and_the_hook_allows_it(self):
        self.writes_over_its_server(Gemini, "mcp_galley_write_file")

    def test_claude_starts_the_installed_server_and_the_hook_allows_it(self):
        search = Call("ToolSearch", {"query": "+galley write", "max_results": 20})
        self.writes_over_its_server(Claude, "mcp__galley__Write", search)


if __name__ == "__main__":
    main()
