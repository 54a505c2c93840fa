#!/usr/bin/env python3
"""Real agents in Galley's sandbox, with their own tools and unchanged. One diff has their edits and
the changes of their shells. The gate refuses it and the tree is untouched; the fixed version is
committed. The model is a script on loopback."""

import json
import re
import shutil
from pathlib import Path

from agent_case import AgentCase, main
from agents import Amp, Claude, Cline, Codex, Continue, Gemini, Goose, OpenCode, Qwen
from model_server import ModelServer, Say
from support import GALLEY

RULES = """
[sandbox]
network = true
readable = {folders}
environment = {variables}

[[validator]]
builtin = "json"

[[validator]]
name = "tests"
command = ["python3", "-B", "-m", "unittest"]
paths = ["*.py", "data/"]
"""

RATE = '    "DE": { "base": 3.90, "per_kg": 0.80 },\n'
DEARER = RATE.replace("3.90", "3.80")
WITHOUT_COMMA = DEARER.replace("},", "}")
NAME = "agent"  # of a run
NOTE = "The rate of DE was 3.90 before.\n"
CARELESSLY_CHANGED = {"data/rates.json": "modify", "docs/note.txt": "create", "docs/old.txt": "rename",
                      "docs/rates-2019.txt": "delete", "bin/tidy": "mode"}


class InSandbox:
    """The story of all agents. Each has its own tools."""

    kind = None

    def setUp(self):
        super().setUp()
        self.need_walls()

    def trust_rules(self, agent):
        self.write_rules([agent.programs(), agent.home], [])

    def write_rules(self, folders, variables):
        (self.work / "galley.toml").write_text(RULES.format(folders=json.dumps([str(folder) for folder in folders]),
                                                            variables=json.dumps(variables)))

    def loses_a_comma(self):
        """The model edits a file and drops a comma. Its shell makes a note, moves a file and makes
        another one executable."""
        kind = self.kind
        shown = yield kind.shell("cat data/rates.json")
        assert RATE in shown, shown
        yield from kind.edits(self.work, "data/rates.json", RATE, WITHOUT_COMMA)
        shown = yield kind.shell(f"printf '{NOTE.strip()}\\n' > docs/note.txt && mv docs/rates-2019.txt docs/old.txt && "
                                  "chmod a-x bin/tidy && python3 -B bin/quote 1.2 DE || echo status $?")
        assert "Expecting ',' delimiter" in shown, "the shell sees what the edit did\n" + shown

    def mends_it(self):
        """After the refusal, the model fixes what the validator named."""
        kind = self.kind
        shown = yield kind.shell("cat docs/note.txt; python3 -B -m json.tool data/rates.json || true")
        assert NOTE in shown and "line 5" in shown, shown
        yield from kind.edits(self.work, "data/rates.json", WITHOUT_COMMA, DEARER)
        shown = yield kind.shell("sed -i 's/1.2), 5.5)/1.2), 5.4)/' tests/test_quote.py && python3 -B -m unittest 2>&1")
        assert "OK" in shown, shown

    def careless(self):
        yield from self.loses_a_comma()
        yield Say("The rate is changed.")

    def mending(self):
        yield from self.mends_it()
        yield Say("Mended.")

    def known_trees(self):
        """Returns the tree before the commit and after it."""
        self.trust_rules(self.agent(self.kind, "http://127.0.0.1:1/v1"))
        original = self.scratch / "original"
        shutil.copytree(self.work, original, symlinks=True)
        expected = self.scratch / "expected"
        shutil.copytree(self.work, expected, symlinks=True)
        rates, test = expected / "data/rates.json", expected / "tests/test_quote.py"
        rates.write_text(rates.read_text().replace(RATE, DEARER))
        test.write_text(test.read_text().replace("1.2), 5.5)", "1.2), 5.4)"))
        (expected / "docs/note.txt").write_text(NOTE)
        (expected / "docs/rates-2019.txt").rename(expected / "docs/old.txt")
        (expected / "bin/tidy").chmod(0o644)
        return original, expected

    def model(self, script, prompt):
        """Makes one run of the agent inside, with this script as its model."""
        with ModelServer(self.reading(script, self.kind.text)) as model:
            agent = self.agent(self.kind, model.url)
            agent.configure()
            self.trust_rules(agent)
            ran = self.run_inside(agent, prompt)
        self.check(model, ran)

    def proposed(self, *options):
        """Returns the changes of each path that `galley diff` lists."""
        shown = json.loads(self.galley("--json", "diff", *options, expect=0).stdout)
        return {each["path"]: each["operation"] for each in shown["changes"]}


class InTwoTurns(InSandbox):
    """The changes of the agent are refused, and another run in the same transaction fixes them."""

    def test_edits_and_shell_changes_are_refused_then_fixed_and_committed_together(self):
        original, expected = self.known_trees()
        self.begin()

        self.model(self.careless, "Lower the rate of DE to 3.80.")
        self.assert_same_tree(self.work, original)
        self.assertEqual(self.proposed(), CARELESSLY_CHANGED)
        refused = json.loads(self.galley("--json", "commit", expect=1).stdout)
        self.assertEqual(refused["reason"], "gate.validator_failed")
        self.assert_same_tree(self.work, original)

        self.model(self.mending, f"The commit was refused: {refused['message']}")
        self.assert_same_tree(self.work, original)
        self.galley("commit", expect=0)
        self.assert_same_tree(self.work, expected)
        self.galley("undo", expect=0)
        self.assert_same_tree(self.work, original)
        self.galley("audit", "verify", expect=0)


class InExec(InTwoTurns):
    """`galley exec`: the agent without a terminal. Its home is a copy that is removed."""

    def begin(self):
        self.galley("begin", expect=0)

    def run_inside(self, agent, prompt):
        inside = "/tmp/agent"
        values = [f"{name}={value}" for name, value in agent.environment(inside).items()]
        return agent.run_command(
            [str(word) for word in (*self.program, "exec", "--network", "--", "sh", "-c",
                                    'cp -r "$0" "$1" && shift && exec env "$@"', agent.home, inside, *values,
                                    *agent.command(self.work, prompt))], self.work, self.environment_of({}))


class InRun(InTwoTurns):
    """`galley run`: the agent keeps its files in a separate folder, which is not part of the
    change."""

    tx = ""

    def begin(self):
        pass

    def run_inside(self, agent, prompt):
        values = [f"{name}={value}" for name, value in agent.environment().items()]
        resumed = ("--resume", self.tx) if self.tx else ()
        ran = agent.run_command(
            [str(word) for word in (*self.program, "run", "--name", NAME, "--network", "--keep", *resumed, "--allow-write", agent.home, "--",
                                    "env", *values, *agent.command(self.work, prompt))], self.work, self.environment_of({}))
        kept = re.search(r"kept in transaction ([0-9a-f]+)", ran.stderr)
        self.assertTrue(kept, f"{ran.stdout}\n{ran.stderr}")
        self.tx = kept[1]
        return ran


class InRunBesideAPerson(InRun):
    def test_a_person_commits_the_changes_of_a_working_agent(self):
        """The agent keeps working while a person, on another terminal, reviews its changes so far
        and commits them."""
        original, expected = self.known_trees()

        def script():
            yield from self.loses_a_comma()
            assert self.proposed("--tx", NAME) == CARELESSLY_CHANGED, self.proposed("--tx", NAME)
            refused = json.loads(self.galley("--json", "commit", "--tx", NAME, expect=1).stdout)
            assert refused["reason"] == "gate.validator_failed", refused
            self.assert_same_tree(self.work, original)
            yield from self.mends_it()
            self.galley("commit", "--tx", NAME, expect=0)
            self.assert_same_tree(self.work, expected)
            shown = yield self.kind.shell("cat data/rates.json && echo later > docs/later.txt")
            assert DEARER in shown, shown
            yield Say("Done.")

        self.model(script, "Lower the rate of DE to 3.80.")
        self.assert_same_tree(self.work, expected)
        self.assertEqual(self.proposed(), {"docs/later.txt": "create"})
        self.galley("commit", expect=0)
        self.assertEqual((self.work / "docs/later.txt").read_text(), "later\n")
        self.galley("undo", expect=0)
        self.galley("undo", expect=0)
        self.assert_same_tree(self.work, original)
        self.galley("audit", "verify", expect=0)


class Wrapped(InSandbox):
    """`galley run NAME`, by the script that `galley agents install NAME --wrapper` writes: without a setting of the project
    but for what the scripted model needs."""

    own = ()  # variables of the scripted model, or that keep the agent from the internet

    def trust_rules(self, agent):
        (self.work / "galley.toml").write_text(RULES.format(folders="[]", variables=json.dumps(self.own))
                                               .replace("network = true\n", ""))

    def run_inside(self, agent, prompt):
        programs = self.scratch / "bin"
        programs.mkdir()
        (programs / "galley").symlink_to(Path(GALLEY).resolve())
        places = {**agent.environment(), "PATH": f"{programs}:{agent.search_path()}:/usr/local/bin:/usr/bin:/bin"}
        places.pop("TMPDIR")
        self.galley("agents", "install", agent.name, "--wrapper", "--run", "--yes", expect=0, env=places)
        script = agent.home / ".local" / "bin" / f"galley-{agent.name}"
        words = [str(word) for word in agent.arguments(self.work, prompt)]
        ran = agent.run_command([str(script), *words], self.work, self.environment_of(places))
        self.galley("agents", "uninstall", agent.name, "--wrapper", "--run", "--yes", expect=0, env=places)
        self.assertFalse(script.exists())
        return ran

    def test_wrapper_script_starts_the_agent_in_a_run(self):
        original, expected = self.known_trees()

        def script():
            yield from self.loses_a_comma()
            yield from self.mends_it()
            yield Say("Mended.")

        self.model(script, "Lower the rate of DE to 3.80.")
        self.assert_same_tree(self.work, original)
        own, = json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"]
        self.assertEqual(own["agent"], self.kind.name)
        self.galley("commit", "--tx", own["tx"], expect=0)
        self.assert_same_tree(self.work, expected)


class OnScreen(InSandbox):
    """`galley run` on a terminal: the agent's own screen, a person who types, and the question at
    the end."""

    def at_terminal(self, script, prompt, answer, *options):
        """The person waits for the end of the turn, leaves the agent, and decides about its
        changes."""
        with ModelServer(script) as model:
            agent = self.agent(self.kind, model.url)
            agent.configure()
            agent.trust(self.work)
            self.trust_rules(agent)
            values = [f"{name}={value}" for name, value in {**agent.environment(), "TERM": "xterm-256color"}.items()]
            ran = self.on_terminal(
                "run", "--network", *options, "--allow-write", agent.home, "--", "env", *values,
                *agent.screen_command(self.work, prompt),
                typed=[("\x1b[6n", "\x1b[1;1R"), ("Worked", "\x03"), ("[c/K/d", f"{answer}\n")])
        try:
            model.check()
        except AssertionError as error:
            self.fail(f"{error}\n{ran.screen[-4000:]}")
        return ran

    def test_after_the_agent_ends_the_person_decides_about_its_changes(self):
        original, expected = self.known_trees()

        def careless():
            yield from self.loses_a_comma()
            yield Say("Done.")

        def mending():
            yield from self.mends_it()
            yield Say("Done.")

        ran = self.at_terminal(careless, "Lower the rate of DE to 3.80.", "c")
        self.assertIn("json.syntax", ran.screen)
        self.assert_same_tree(self.work, original)
        tx = json.loads(self.galley("--json", "status", expect=0).stdout)["transactions"][0]["tx"]
        self.assertEqual(self.proposed("--tx", tx), CARELESSLY_CHANGED)
        self.at_terminal(mending, "It was refused: the JSON is broken.", "c", "--resume", tx)
        self.assert_same_tree(self.work, expected)


class CodexOnScreen(OnScreen, AgentCase):
    kind = Codex


class CodexInExec(InExec, AgentCase):
    kind = Codex


class OpenCodeInExec(InExec, AgentCase):
    kind = OpenCode


class CodexInRun(InRunBesideAPerson, AgentCase):
    kind = Codex


class OpenCodeInRun(InRunBesideAPerson, AgentCase):
    kind = OpenCode


class GeminiInRun(InRun, AgentCase):
    kind = Gemini


class QwenInRun(InRun, AgentCase):
    kind = Qwen


class ClineInRun(InRun, AgentCase):
    kind = Cline


class ContinueInRun(InRun, AgentCase):
    kind = Continue


class ClaudeInRun(InRun, AgentCase):
    kind = Claude


class CodexWrapped(Wrapped, AgentCase):
    kind = Codex
    own = ("SCRIPTED_KEY",)


class OpenCodeWrapped(Wrapped, AgentCase):
    kind = OpenCode
    own = ("npm_config_offline", "OPENCODE_DISABLE_MODELS_FETCH", "OPENCODE_DISABLE_DEFAULT_PLUGINS",
           "OPENCODE_DISABLE_AUTOUPDATE", "OPENCODE_DISABLE_LSP_DOWNLOAD")

    def run_inside(self, agent, prompt):
        # The configuration is at its default place, because OPENCODE_CONFIG is not set in the run.
        place = agent.home / "config" / "opencode" / "opencode.json"
        place.parent.mkdir(parents=True, exist_ok=True)
        (agent.home / "opencode.json").rename(place)
        return super().run_inside(agent, prompt)


class GeminiWrapped(Wrapped, AgentCase):
    kind = Gemini


class QwenWrapped(Wrapped, AgentCase):
    kind = Qwen


class ClineWrapped(Wrapped, AgentCase):
    """A daemon of Cline runs outside, as its ordinary use leaves it there. Cline in the run must not use it: the daemon would
    make the edits and run the commands outside of the sandbox."""

    kind = Cline
    own = ("CLINE_NO_AUTO_UPDATE",)

    def run_inside(self, agent, prompt):
        outside = {key: value for key, value in agent.environment().items() if key != "CLINE_SESSION_BACKEND_MODE"}
        started = agent.run_command([str(agent.path()), "hub", "start"], self.work, outside)
        self.assertEqual(started.returncode, 0, started.stderr)
        try:
            return super().run_inside(agent, prompt)
        finally:
            agent.run_command([str(agent.path()), "hub", "stop"], self.work, outside)


class ContinueWrapped(Wrapped, AgentCase):
    kind = Continue
    own = ("CONTINUE_CLI_AUTO_UPDATED", "CONTINUE_CLI_ENABLE_TELEMETRY")


class AmpWrapped(Wrapped, AgentCase):
    kind = Amp


class GooseWrapped(Wrapped, AgentCase):
    kind = Goose


class ClaudeWrapped(Wrapped, AgentCase):
    kind = Claude
    own = ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING")


if __name__ == "__main__":
    main()
