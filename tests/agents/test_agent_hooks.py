#!/usr/bin/env python3
"""Real agents with the hook that `galley agents install` writes: their own edits are judged before they are made, and their
commands run staged. The model is a script on loopback, everything else is the agent as npm has it."""

import unittest
from pathlib import Path

from agent_case import AgentCase, main
from agents import Codex, OpenCode
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
    """Its person has looked at the hook: `codex exec` skips one that nobody trusted."""

    def command(self, work, prompt):
        words = super().command(work, prompt)
        words.insert(words.index("exec") + 1, "--dangerously-bypass-hook-trust")
        return words

    @staticmethod
    def edit(path, old, new):
        return Call("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n", "custom")

    @staticmethod
    def write(path, text):
        return Call("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n+{text}\n*** End Patch\n", "custom")

    @staticmethod
    def shell(command):
        return Call("exec_command", {"cmd": command})


class HookedOpenCode(OpenCode):
    def environment(self):
        environment = super().environment()
        return {**environment, "XDG_CONFIG_HOME": str(self.home / "config")}

    @staticmethod
    def edit(path, old, new):
        return Call("edit", {"filePath": path, "oldString": old, "newString": new})

    @staticmethod
    def write(path, text):
        return Call("write", {"filePath": path, "content": text + "\n"})

    @staticmethod
    def shell(command):
        return Call("bash", {"command": command, "description": "a command"})


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

    def run_agent(self, kind, script, *parts):
        """One run with what is installed."""
        with ModelServer(script) as model:
            agent = self.agent(kind, model.url)
            agent.configure()
            usual = agent.environment()
            # Galley's own settings are those of this test, whatever the agent's home is.
            own = {"PATH": self.path, "XDG_STATE_HOME": self.environment["XDG_STATE_HOME"],
                   "XDG_CONFIG_HOME": self.environment["XDG_CONFIG_HOME"]}
            agent.environment = lambda: {**usual, **own}
            scope = "--user" if kind is HookedCodex else "--project"
            self.galley("agents", "install", kind.name, *parts, scope, "--yes", expect=0,
                        env={"CODEX_HOME": str(agent.home), "HOME": str(agent.home)})
            ran = agent.run(self.work, "Do what the model says.")
            self.model = model
            self.check(model, ran)

    def edits_and_commands(self, kind):
        def script():
            shown = yield kind.edit("a.txt", "one", "ONE")
            assert (self.work / "a.txt").read_text() == "ONE\ntwo\n", shown
            shown = yield kind.write("keys/k", "secret")
            assert "keys/k" in shown and "policy" in shown, shown
            assert not (self.work / "keys").exists()
            shown = yield kind.write("b.json", "{,")
            assert "b.json:1" in shown, shown
            assert not (self.work / "b.json").exists()
            shown = yield kind.shell("printf 'made\\n' > made.txt; cat made.txt a.txt")
            assert "made\nONE\ntwo" in shown and "commit" in shown, shown
            assert not (self.work / "made.txt").exists()
            shown = yield kind.shell("galley diff --name-status")
            assert "made.txt" in shown, shown
            yield kind.shell("galley commit")
            assert (self.work / "made.txt").read_text() == "made\n"
            yield Say("done")

        return script

    def test_codex_is_held_to_the_rules_by_its_hook(self):
        self.run_agent(HookedCodex, self.edits_and_commands(HookedCodex), "--hook")

    def test_opencode_is_held_to_the_rules_by_its_plugin(self):
        self.run_agent(HookedOpenCode, self.edits_and_commands(HookedOpenCode), "--hook")

    def test_codex_starts_the_server_that_is_installed_and_the_hook_lets_it_pass(self):
        def script():
            yield Call("tool_search", {"query": "read write files", "limit": 20}, "tool_search")
            shown = yield Call("Read", {"file_path": "a.txt"}, namespace="mcp__galley")
            assert "one" in shown and "two" in shown, shown
            yield Say("done")

        self.run_agent(HookedCodex, script)

    def test_opencode_starts_the_server_that_is_installed_and_the_plugin_lets_it_pass(self):
        def script():
            shown = yield Call("galley_Read", {"file_path": "a.txt"})
            assert "one\ntwo" in shown, shown
            yield Say("done")

        self.run_agent(HookedOpenCode, script)


if __name__ == "__main__":
    main()
