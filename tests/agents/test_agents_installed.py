#!/usr/bin/env python3
"""Real agents as `galley agents install` configures them: the server answers, and the hook denies an edit that validators
refuse before it is on disk, and has commands run staged. The model is a script on loopback."""

import json
from pathlib import Path

from agent_case import AgentCase, main
from model_server import ModelServer, Say
from test_agents_in_run import DEARER, RATE, WITHOUT_COMMA, CodexTools, OpenCodeTools
from test_agents_over_mcp import CodexView, OpenCodeView

RULES = """
[[validator]]
builtin = "json"
"""


class Installed:
    """What both agents do."""

    tools = None
    view = None

    def prepare(self, url):
        """The agent, with `galley` on its PATH and a home in which a person trusts the workspace."""
        agent = self.agent(self.tools.agent, url)
        programs = agent.home / "bin"
        if not programs.exists():
            programs.mkdir()
            (programs / "galley").symlink_to(self.program[0])
            folder = agent.environment().get("XDG_CONFIG_HOME", agent.home / ".config")
            own = Path(folder) / "galley" / "config.toml"
            own.parent.mkdir(parents=True)
            own.write_text(f'trusted_folders = ["{self.scratch}"]\n')
        return agent

    def environment_for(self, agent):
        values = agent.environment()
        return {**values, "PATH": f"{agent.home / 'bin'}:{values['PATH']}"}

    def script(self):
        tools, view, rates = self.tools, self.view, self.work / "data" / "rates.json"
        before = rates.read_text()
        # An edit with the agent's own tool, which a validator refuses: it never reaches the disk.
        shown = yield tools.edit(self.work, "data/rates.json", RATE, WITHOUT_COMMA)
        assert "json.syntax" in shown and "data/rates.json:5" in shown, shown
        assert rates.read_text() == before
        # One that is approved passes as without a hook.
        yield tools.edit(self.work, "data/rates.json", RATE, DEARER)
        assert rates.read_text() == before.replace(RATE, DEARER)
        # What a command changes is staged, and committed by a command.
        shown = yield tools.shell("echo new > new.txt && cat new.txt")
        assert "new" in shown, shown
        assert not (self.work / "new.txt").exists()
        shown = yield tools.shell("galley diff")
        assert "+new" in shown, shown
        shown = yield tools.shell("galley commit")
        assert (self.work / "new.txt").read_text() == "new\n", shown
        # The server is there, too, and its commit is the next one of the same history.
        if view.opening():
            yield view.opening()
        shown = yield view.tool("Bash", command="echo note > docs/note.txt")
        view.staged(shown)
        shown = yield view.tool("galley_commit")
        assert view.committed(shown) == ("2", ["docs/note.txt"]), shown
        shown = yield view.tool("galley_log")
        assert view.logged(shown) == ["2", "1"], shown
        yield Say("Done.")

    def is_installed_and_holds(self):
        (self.work / "galley.toml").write_text(RULES)
        with ModelServer(self.script) as model:
            agent = self.prepare(model.url)
            agent.configure()
            environment = self.environment_for(agent)
            installed = agent.run_command([self.program[0], "agents", "install", agent.name, "--user", "--yes"],
                                          self.work, environment)
            self.assertEqual(installed.returncode, 0, f"{installed.stdout}\n{installed.stderr}")
            ran = agent.run_command([*map(str, self.command(agent))], self.work, environment)
        self.check(model, ran)
        log = json.loads(self.galley("--json", "log", expect=0).stdout)["transactions"]
        self.assertEqual([each["agent"] for each in log], [agent.name] * 2)


class CodexInstalled(Installed, AgentCase):
    tools = CodexTools()
    view = CodexView()

    def command(self, agent):
        """A person trusts hooks on codex's screen; here the option says it."""
        program, *words = agent.command(self.work, "Lower the rate of DE.")
        return [program, "--dangerously-bypass-hook-trust", *words]

    def test_the_hook_denies_and_stages_and_the_server_answers(self):
        self.is_installed_and_holds()


class OpenCodeInstalled(Installed, AgentCase):
    tools = OpenCodeTools()
    view = OpenCodeView()

    def command(self, agent):
        return agent.command(self.work, "Lower the rate of DE.")

    def test_the_hook_denies_and_stages_and_the_server_answers(self):
        self.is_installed_and_holds()


if __name__ == "__main__":
    main()
